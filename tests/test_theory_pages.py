"""Every result listed on the pages of the theory has a public object and a test."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "user_guide").glob("theory_*.md"))
ROLE = re.compile(r"\{(?:func|class|meth|attr)\}`~?([\w.]+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows(page):
    """The rows of the tables of results: (result, objects, tests)."""
    for line in page.read_text(encoding="utf-8").split("\n"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) in {3, 4} and cells[0].startswith("["):  # with or without a page
            yield cells[0], ROLE.findall(cells[1]), TEST.findall(cells[-1])


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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_result_has_an_object_and_a_test(row):
    result, objects, tests = row
    assert objects, f"no public object for {result}"
    assert tests, f"no test for {result}"
    for address in objects:
        assert resolved(address) is not None
    for path, name in tests:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def pages_of_sources():
    text = (ROOT / "docs" / "user_guide" / "theory.md").read_text(encoding="utf-8")
    for author, cell in re.findall(r"^\| \[([^\]]+)\] \| (.+) \|$", text, re.MULTILINE):
        scripts = re.findall(r"\(\.\./(lectures/\w+\.py)\)", cell)
        yield author, "".join((ROOT / "docs" / s).read_text(encoding="utf-8") for s in scripts)


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
