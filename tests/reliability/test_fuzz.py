"""Odd inputs end in the right kind of output or in an error that names them.

A few cases of every estimator in each run; with `pytest -m fuzz` 500 of each, of which the seed is
that of the environment variable FUZZ_SEED (default: 0).
"""

import os

import pytest

from ..estimators import estimator_classes, make
from . import fuzzing

SLICE = range(12)
WHOLE = range(500)
CLASSES = estimator_classes()
every_estimator = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)


@every_estimator
def test_a_few_odd_inputs(cls):
    check(cls, 0, SLICE)


@pytest.mark.fuzz
@every_estimator
def test_many_odd_inputs(cls):
    check(cls, int(os.environ.get("FUZZ_SEED", "0")), WHOLE)


def check(cls, seed, numbers):
    _, failures, _ = fuzzing.run(make(cls), seed, numbers)
    assert not failures, "\n".join(f"{n}: {v.kind}: {odd}: {v.details}" for n, odd, v in failures)
