"""The tables of the page "How loose is it?" are those that docs/_ext/how_loose.py computes."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from sklearn_ensemble_theory import bounds

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
how_loose = importlib.import_module("how_loose")
sys.path.remove(str(DOCS / "_ext"))

LINE = re.compile(
    r"^\| \{func\}`~sklearn_ensemble_theory\.bounds\.(\w+)` \| (.*) \|$", re.MULTILINE
)
LINES = dict(LINE.findall(how_loose.PAGE.read_text(encoding="utf-8")))


def test_every_function_has_a_line():
    assert sorted(LINES) == bounds.__all__ == sorted([*how_loose.ROWS, *how_loose.OTHERS])
    for name, text in how_loose.OTHERS.items():
        assert LINES[name].split(" | ")[0] == text


@pytest.mark.parametrize("name", how_loose.ROWS)
def test_the_numbers_of_a_line(name):
    setting, *cells, _ = LINES[name].split(" | ")
    assert setting == how_loose.ROWS[name].setting
    coarse, sharper, truth = how_loose.numbers(name)
    for cell, value in zip(cells, (coarse, sharper, truth)):
        if value is None:
            assert not cell.strip()
        else:
            assert float(cell.strip("≈ ")) == pytest.approx(value, rel=0.02)
    is_lower = "a lower bound" in setting
    for value in (coarse, sharper):
        if value is not None:
            assert value <= truth if is_lower else value >= truth * (1 - 1e-9)
    if sharper is not None:
        assert sharper > coarse if is_lower else sharper < coarse
