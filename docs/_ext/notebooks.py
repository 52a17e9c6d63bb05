"""The notebooks of the gallery as Markdown that Jupyter shows.

Sphinx-Gallery converts headings, formulas and links of a script, but roles stay as they are. Here
they become links to the pages of the published site.

Code that begins with the comment `# Solution`, as in the exercises of the lectures, is hidden until
the reader opens it: by Jupyter in a notebook, by `<details>` on a page.
"""

import json
import re
from pathlib import Path
from zipfile import ZipFile

from sklearn_ensemble_theory._version import DOCUMENTATION

OBJECT = re.compile(r":(?:class|func|meth|attr|mod):`~?([\w.]+)`")
PAGE = re.compile(r":doc:`([^`<]+?)\s+</([\w/]+)>`")
# Sphinx-Gallery has taken `:ref:` away before.
SCRIPT = re.compile(r"`(?:([^`<]+?)\s+<)?sphx_glr_(auto_[a-z]+)_(?:([a-z]+)_)?(plot_\w+)\.py>?`")


def link_to_object(found):
    name = found[1].rsplit(".", 1)[-1]
    return f"[`{name}`]({DOCUMENTATION}/generated/{found[1]}.html)"


def link_to_page(found):
    return f"[{found[1]}]({DOCUMENTATION}/{found[2]}.html)"


def link_to_script(found):
    text, *folders, script = found.groups()
    page = "/".join([*filter(None, folders), script])
    return f"[{text or script}]({DOCUMENTATION}/{page}.html)"


def markdown(text):
    """The text of a cell with links for roles."""
    text = OBJECT.sub(link_to_object, text)
    text = PAGE.sub(link_to_page, text)
    return SCRIPT.sub(link_to_script, text)


def is_solution(code):
    return code.lstrip().startswith("# Solution")


def hide_solutions(app, doctree):
    """Code and output of a solution on a page."""
    from docutils import nodes  # here, as the tests need no Sphinx

    for code in [
        node for node in doctree.findall(nodes.literal_block) if is_solution(node.astext())
    ]:
        start = end = code.parent.index(code)
        following = code.next_node(nodes.literal_block, descend=False, siblings=True)
        if following is not None and "sphx-glr-script-out" in following["classes"]:
            end = code.parent.index(following)
        opening = '<details class="solution"><summary>Solution</summary>'
        code.parent.insert(end + 1, nodes.raw("", "</details>", format="html"))
        code.parent.insert(start, nodes.raw("", opening, format="html"))


def rewrite(path):
    """A second time changes nothing: where a script did not change its notebook is kept."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            cell["source"] = [markdown(text)]
        elif is_solution(text):
            cell["metadata"] |= {"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    with ZipFile(path.with_suffix(".zip"), "w") as archive:  # of the page's third link
        for member in (path.with_suffix(".py"), path):
            archive.write(member, member.name)


def rewrite_all(app):
    """After the gallery has been run, and before its files are copied to the site."""
    for folder in app.config.sphinx_gallery_conf["gallery_dirs"]:
        for path in Path(app.srcdir, folder).rglob("*.ipynb"):
            rewrite(path)


def setup(app):
    app.connect("builder-inited", rewrite_all, priority=900)
    app.connect("doctree-read", hide_solutions)
    return {"parallel_read_safe": True}
