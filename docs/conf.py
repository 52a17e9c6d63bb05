"""Sphinx configuration: `python -m sphinx -W --keep-going -b html docs docs/_build/html`.

The build needs no network and no installed package: it documents the package of this checkout.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
# The package of this checkout and the extension that writes the reference pages. Examples run in
# this process; workers that they start import the package through PYTHONPATH.
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
)
os.environ.setdefault("MPLBACKEND", "Agg")

import published  # noqa: E402
import stored_inventories  # noqa: E402
from numpydoc.xref import DEFAULT_LINKS  # noqa: E402
from source_links import SOURCE, linkcode_resolve  # noqa: E402, F401

from sklearn_ensemble_theory import __version__  # noqa: E402
from sklearn_ensemble_theory._version import DOCUMENTATION  # noqa: E402

project = "sklearn_ensemble_theory"
author = "The sklearn_ensemble_theory developers"
project_copyright = "The sklearn_ensemble_theory developers, BSD-3-Clause"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "figures",
    "differences",
    "estimator_map",
    "theorems",
    "mathml",
    "narrow_screens",
    "notebooks",
    "page_checks",
    "page_sources",
    "play",
    "published",
    "write_pages",
]
exclude_patterns = [
    *("_build", "_ext", "examples", "lectures"),
    *("generated/backreferences", "**/.*"),
]
# A reference to one of our own names has to resolve. Names of other projects are links where a
# stored inventory has them (tests/test_site.py), and code otherwise.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!sklearn_ensemble_theory\.).*")]
intersphinx_mapping = stored_inventories.mapping()
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

default_role = "literal"  # `None` in a docstring is code
toc_object_entries_show_parents = "hide"
autosummary_generate = False  # write_pages does that
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # the docstrings say it, with shapes
numpydoc_show_class_members = True  # one table of methods; each is described below it
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = True
DEFAULT_LINKS.clear()  # to glossaries
numpydoc_xref_aliases = stored_inventories.TYPES
numpydoc_xref_ignore = "all"  # all words but these names

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": ["examples", "lectures"],
    "gallery_dirs": ["auto_examples", "auto_lectures"],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("sklearn_ensemble_theory",),
    "backreferences_dir": "generated/backreferences",
    "download_all_examples": False,
    "remove_config_comments": True,
    "first_notebook_cell": published.CELL,
    "show_signature": False,
    "image_scrapers": ("figures.scrape",),
    "capture_repr": ("_repr_html_",),  # of estimators and frames; the others print
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "sklearn_ensemble_theory"
html_baseurl = f"{DOCUMENTATION}/"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
# Light or dark as the reader's system. (Named in the page itself, as `default_mode`, it would take
# the colours from readers without JavaScript; without a name the theme reports an error.)
html_js_files = [(None, {"body": "document.documentElement.dataset.mode ||= 'auto';"})]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "icon_links": [
        # The address of the repository is that of pyproject.toml.
        {"name": "Source code", "url": SOURCE, "icon": "fa-brands fa-github"},
    ],
    "navbar_persistent": ["search-button"],
    "logo": {"text": f"sklearn_ensemble_theory {version}"},
    "footer_start": ["copyright"],
    "footer_end": [],
    **published.theme_options(os.environ.get("SITE_VERSION")),
}
# Pages without pages of their own beside them.
alone = ["api", "design", "errata", "getting_started", "reliability", "which_estimator"]
html_sidebars = {page: [] for page in alone}
