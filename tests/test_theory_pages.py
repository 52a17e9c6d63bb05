"""Every result listed on the pages of the theory has a public object and a test."""

import ast
import importlib
import itertools
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "user_guide").glob("theory_*.md"))
ROLE = re.compile(r"\{(?:func|class|meth|attr)\}`~?([\w.]+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows(page):
    """The rows of the tables of results: (result, objects, tests)."""
    for line in page.read_text(encoding="utf-8").split("\n"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[0].startswith("["):
            yield cells[0], ROLE.findall(cells[1]), TEST.findall(cells[2])


ROWS = [row for page in PAGES for row in rows(page)]
# What a source numbers: "eq. (10.5) to (10.7)" are three, "footnotes 1 to 3" as well.
NUMBERED = {
    "Bach": {
        "eq.": [f"10.{i}" for i in range(1, 17)],
        "proposition": ["10.1", "10.2"],
        "lemma": ["10.1"],
        "exercise": [f"10.{i}" for i in range(1, 8)],
        "figure": ["10.1", "10.2", "10.3"],
        "footnote": ["1", "2", "3", "4"],
    },
    "Ghoshdastidar": {"theorem": [f"En.{i}" for i in range(1, 6)]},
    "Dombry and Esstafa": {
        "proposition": ["2.2", "2.5", "2.11", "2.12", "2.13", "2.15", "3.4"],
        "corollary": ["2.6", "3.5"],
        "theorem": ["2.7", "3.6"],
        "example": ["2.3", "2.4", "3.2", "3.3"],
        "remark": ["2.8", "2.14"],
        "figure": [str(i) for i in range(1, 7)],
    },
    "Shah": {
        "eq.": [f"{k}.{i}" for k, n in enumerate((2, 10, 11, 8), 1) for i in range(1, n + 1)],
        "proposition": ["1", "2", "4", "5", "14", "17", "22", "23", "24", "25"],
        "lemma": ["3", "8", "12", "13", "15", "16", "19", "21"],
        "theorem": ["6", "7", "9", "10", "11", "18", "26", "27"],
        "corollary": ["20"],
        "definition": [str(i) for i in range(1, 10)],
        "algorithm": ["1", "2", "3"],
        "footnote": ["1", "5"],  # the others are remarks
    },
}
ITEM = re.compile(r"(eq\.|[a-z]+?)s? ((?:\(?(?:En\.)?[\d.]*\d\)?(?:, | and | to )?)+)")


def numbers_of(text):
    """`(kind, number)` of the items that a citation lists."""
    for kind, listed in ITEM.findall(text):
        for first, last in re.findall(r"((?:En\.)?[\d.]*\d)\)?(?: to \(?([\d.]*\d))?", listed):
            *head, start = first.split(".")
            end = int((last or first).split(".")[-1])
            for number in range(int(start), end + 1):
                yield kind, ".".join([*head, str(number)])


def resolved(address):
    """The object of a dotted address, through modules and attributes."""
    parts = address.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(address)


@cache
def functions_of(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_result_has_an_object_and_a_test(row):
    result, objects, tests = row
    assert objects, f"no public object for {result}"
    assert tests, f"no test for {result}"
    for address in objects:
        assert resolved(address) is not None
    for path, name in tests:
        assert name in functions_of(path)


def pages_of_sources():
    text = (ROOT / "docs" / "user_guide" / "theory.md").read_text(encoding="utf-8")
    for author, cell in re.findall(r"^\| \[([^\]]+)\] \| (.+) \|$", text, re.MULTILINE):
        scripts = re.findall(r"\(\.\./(lectures/\w+\.py)\)", cell)
        text = "".join((ROOT / "docs" / s).read_text(encoding="utf-8") for s in scripts)
        yield author, text.replace("\n# ", " ")


@pytest.mark.parametrize("author", NUMBERED)
def test_all_that_a_source_numbers_has_a_row_and_a_place_on_its_page(author):
    cited = re.findall(rf"\[{author}, ([^\]]+)\]", "\n".join(row[0] for row in ROWS))
    listed = {item for text in cited for item in numbers_of(text)}
    page = dict(pages_of_sources())[author].lower()
    for kind, numbers in NUMBERED[author].items():
        for number in numbers:
            assert (kind, number) in listed
            if kind not in ("eq.", "footnote"):
                assert f"{kind} {number}".lower() in page


def test_back_propagation_on_the_page_of_networks():
    """[Shah, eq. (4.7) and (4.8)] against finite differences, for a random network of depth 4."""
    script = ROOT / "docs" / "lectures" / "plot_networks.py"
    tree = ast.parse(script.read_text(encoding="utf-8"))
    page = {"np": np, "expit": expit}
    for node in tree.body:
        named = ast.unparse(node).split(" ")[0].startswith(("psi", "surrogates"))
        if isinstance(node, ast.FunctionDef) or named:
            exec(compile(ast.Module([node], []), script.name, "exec"), page)
    rng = np.random.default_rng(0)
    sizes = [3, 5, 4, 3, 1]
    coefs = [rng.standard_normal(shape) for shape in itertools.pairwise(sizes)]
    intercepts = [rng.standard_normal(size) for size in sizes[1:]]
    x = rng.standard_normal(3)
    for activation, loss in itertools.product(page["psi"], page["surrogates"]):
        h = page["forward"](coefs, intercepts, x, activation)[0][-1][0]
        for label in (-1.0, 1.0):
            if loss == "hinge":
                assert abs(1 - label * h) > 1e-3  # off its kink
            given = (coefs, intercepts, x, label, loss, activation)
            exact = [part.ravel() for kind in page["gradients"](*given) for part in kind]
            other = page["by_differences"](*given, 1e-6)
            np.testing.assert_allclose(np.concatenate(exact), other, rtol=1e-5, atol=1e-7)
