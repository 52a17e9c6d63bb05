"""Odd inputs end in the right kind of output or in an error that names them.

A few cases of every estimator in each run; with `pytest -m fuzz` 500 of each, and as many with
numbers of odd sizes only, and with valid arguments in other types. The seed is the environment
variable FUZZ_SEED (default: 0).
"""

import os

import pytest

from ..estimators import estimator_classes, make
from . import fuzzing
from .odd_inputs import draw_case, draw_columns, draw_dressed, draw_magnitudes, known_to

SLICE = range(8)
WHOLE = range(500)
CLASSES = estimator_classes()
OF_COLUMNS = [cls for cls in CLASSES if "categorical_features" in known_to(make(cls))]
every_estimator = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)


@every_estimator
def test_a_few_odd_inputs(cls):
    check(cls, 0, SLICE)


@every_estimator
def test_a_few_odd_magnitudes(cls):
    check(cls, 0, range(4), draw_magnitudes)


@every_estimator
def test_a_few_dressed_arguments(cls):
    check(cls, 0, range(4), draw_dressed)


@pytest.mark.parametrize("cls", OF_COLUMNS, ids=lambda c: c.__name__)
def test_a_few_odd_columns(cls):
    check(cls, 0, range(5), draw_columns)


@pytest.mark.fuzz
@pytest.mark.parametrize("cls", OF_COLUMNS, ids=lambda c: c.__name__)
def test_many_odd_columns(cls):
    check(cls, int(os.environ.get("FUZZ_SEED", "0")), WHOLE, draw_columns)


@pytest.mark.fuzz
@pytest.mark.parametrize("draw", [draw_case, draw_magnitudes, draw_dressed])
@every_estimator
def test_many_odd_inputs(cls, draw):
    check(cls, int(os.environ.get("FUZZ_SEED", "0")), WHOLE, draw)


def check(cls, seed, numbers, draw=draw_case):
    _, failures, _ = fuzzing.run(make(cls), seed, numbers, draw)
    assert not failures, "\n".join(f"{n}: {v.kind}: {odd}: {v.details}" for n, odd, v in failures)
