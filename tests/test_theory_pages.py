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
        if len(cells) == 3 and cells[0].startswith("["):
            yield cells[0], ROLE.findall(cells[1]), TEST.findall(cells[2])


ROWS = [row for page in PAGES for row in rows(page)]


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
