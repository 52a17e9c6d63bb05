"""What the documentation promises, as far as it can be checked without building it."""

import ast
import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier

import sklearn_ensemble_theory as package

from .estimators import estimator_classes, make

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# A source by its number on docs/sources.md, or by the names that stand there.
SOURCE = r"\b00[0-4]\b|\bBach\b|Ghoshdastidar|Dombry|R(\. D\.|ajen D\.) Shah|DS-GA 1003"
every_estimator = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)


def load_page_writer():
    path = DOCS / "_ext" / "write_pages.py"
    spec = importlib.util.spec_from_file_location("write_pages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


write_pages = load_page_writer()
PUBLIC = [pair for names in write_pages.public_names().values() for pair in names]
EXPORTED = [name for name in package.__all__ if not name.startswith("__")]
FUNCTIONS = [(address, member) for address, member in PUBLIC if inspect.isfunction(member)]


def read(path):
    return path.read_text(encoding="utf-8")


def names_missing_in(text, names):
    words = set(re.findall(r"\w+", text))
    return sorted(name for name in names if name not in words)


def sections(docstring):
    """`{title: text}` of a numpydoc docstring; what comes before the first section is ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def described(section):
    """The names that a Parameters or Attributes section describes, in order."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*) : ", section, flags=re.MULTILINE)
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


def test_every_public_name_belongs_to_one_folder():
    addresses = [address for address, _ in PUBLIC]
    assert len(addresses) == len(set(addresses))
    exported = {f"{package.__name__}.{name}" for name in EXPORTED}
    assert exported <= set(addresses)


def test_every_public_name_is_in_the_user_guide():
    guide = "\n".join(map(read, (DOCS / "user_guide").glob("*.md")))
    assert names_missing_in(guide, [address.rsplit(".", 1)[1] for address, _ in PUBLIC]) == []


def test_every_public_name_is_in_the_changelog():
    assert names_missing_in(read(ROOT / "CHANGELOG.md"), EXPORTED) == []


def test_every_public_name_has_a_page_and_a_line_in_its_table():
    tables = write_pages.tables(write_pages.public_names())
    for address, member in PUBLIC:
        name = address.rsplit(".", 1)[1]
        assert f"   ~{address}\n" in tables
        assert f"   {name} <generated/{address}>\n" in tables
        page = write_pages.page(address, member)
        assert page.startswith(f"{name}\n{'=' * len(name)}\n")
        assert f":: {name}\n" in page


def test_every_page_of_the_guide_is_in_its_tree(tmp_path):
    tree = write_pages.guide(DOCS / "user_guide").split("\n")
    for page in (DOCS / "user_guide").glob("*.md"):
        assert (page.stem in tree) == (page.stem != "index")
        assert read(page).startswith("# ")
    for name in [
        "index",
        "zoo",
        "benchmarks",
        "boosting",
        "l2_boosting",
        "averaging_b",
        "averaging",
    ]:
        (tmp_path / f"{name}.md").touch()
    ordered = write_pages.guide(tmp_path).split("\n")[3:-2]
    assert ordered == ["averaging", "averaging_b", "boosting", "l2_boosting", "benchmarks", "zoo"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("See :ref:`the guide <metadata_routing>`, :term:`fit`.", "See the guide, fit."),
        (
            "importances_ : ndarray of shape (n_features_in_,)",
            r"importances_ : ... (n_features_in\_,)",
        ),
        (".. [2] L. Breiman, 1996.", r".. [2] \L. Breiman, 1996."),
        (
            "The absolute loss |y - u|, as `|y|` has it.",
            r"The absolute loss \|y - u\|, as `|y|` has it.",
        ),
        ("(n_iter_, p), see [2]_ for `n_iter_`", r"(n_iter\_, p), see [2]_ for `n_iter_`"),
        ("coef_", "coef_"),
        ("||y - u||^2", r"\|\|y - u\|\|^2"),
        ("| a_ | b |", "| a_ | b |"),
        (">>> abs(a_ | b_) # |a|", ">>> abs(a_ | b_) # |a|"),
        (".. math:: |x| + |y_|", ".. math:: |x| + |y_|"),
    ],
)
def test_what_looks_like_markup_in_a_docstring(line, expected):
    expected = expected.replace("...", "ndarray of shape")
    assert list(write_pages.plain([line])) == [expected]


def test_formulas_end_where_their_indentation_does():
    lines = ["A.", "", ".. math::", "", "   |x|", "", "   |y|", "", "Then |z|."]
    assert list(write_pages.plain(lines)) == [*lines[:-1], r"Then \|z\|."]


@every_estimator
def test_docstring_has_all_its_parts(cls):
    found = sections(cls.__doc__)
    assert {"Parameters", "Attributes", "Examples"} <= set(found)
    assert re.search(SOURCE, cls.__doc__), "no source of docs/sources.md"
    assert "O(" in cls.__doc__, "no cost"
    assert len(found[""].split("\n\n")[0].split("\n")) == 1, "the summary is one line"
    assert ">>> " in found["Examples"]


@every_estimator
def test_docstring_describes_the_parameters_in_order(cls):
    assert described(sections(cls.__doc__)["Parameters"]) == list(inspect.signature(cls).parameters)


@every_estimator
def test_docstring_describes_the_fitted_attributes(cls):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    estimator = make(cls)
    estimator.fit(X, (y > 0).astype(int) if is_classifier(estimator) else y)
    fitted = {n for n in vars(estimator) if n.endswith("_") and not n.startswith("_")}
    missing = fitted - set(described(sections(cls.__doc__)["Attributes"]))
    assert missing == set()


@pytest.mark.parametrize(("address", "function"), FUNCTIONS, ids=[a for a, _ in FUNCTIONS])
def test_docstring_of_a_function(address, function):
    found = sections(function.__doc__)
    assert {"Parameters", "Returns", "Examples"} <= set(found)
    assert described(found["Parameters"]) == list(inspect.signature(function).parameters)


def test_errata_and_their_tests_name_each_other():
    page = read(DOCS / "errata.md")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) == len(set(named)) == page.count("\n### ")
    for path, name in named:
        functions = [n.name for n in ast.walk(ast.parse(read(ROOT / path))) if hasattr(n, "name")]
        assert name in functions, f"{path}::{name} is named in docs/errata.md and does not exist"
    tests = re.findall(r"^def (test_\w+)", read(ROOT / "tests/test_errata.py"), flags=re.MULTILINE)
    assert set(tests) <= {name for _, name in named}


def test_left_out_tests_of_scikit_learn_have_a_reason():
    left_out = []
    for path in (ROOT / "tests").rglob("test_sklearn_*.py"):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.keyword) and node.arg == "left_out":
                left_out += ast.literal_eval(node.value)
    rows = re.findall(r"^\| `(test_\w+)` \| (.+) \|$", read(DOCS / "scikit_learn_tests.md"), re.M)
    assert sorted(left_out) == sorted(name for name, _ in rows)


def test_gallery_groups_have_a_title_and_scripts_a_name_that_runs():
    for script in (DOCS / "examples").rglob("*.py"):
        assert script.name.startswith("plot_")
        assert (script.parent / "README.rst").exists()
        assert ast.get_docstring(ast.parse(read(script))).split("\n")[1].startswith("===")


def pages_with_sessions():
    pages = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    return sorted(page for page in pages if "```pycon" in read(page))


@pytest.mark.parametrize("page", pages_with_sessions(), ids=lambda page: page.stem)
def test_sessions_on_the_pages_print_what_they_say(page):
    sessions = re.findall(r"^```pycon\n(.*?)^```$", read(page), flags=re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, page.name, str(page), 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    results = doctest.DocTestRunner(optionflags=flags).run(test)
    assert results.attempted > 0
    assert results.failed == 0
