"""Would the tests of equalities notice a constant that is wrong by 5 %?"""

import importlib
from pathlib import Path

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("mutations_*.py"))
EQUALITIES = [
    pair for name in MODULES for pair in importlib.import_module(f".{name}", __package__).EQUALITIES
]


@pytest.mark.parametrize(
    ("name", "test"), EQUALITIES, ids=[f"{name}-{test.__name__}" for name, test in EQUALITIES]
)
def test_a_constant_wrong_by_five_percent_is_noticed(name, test, monkeypatch):
    """Each entry is a function of `bounds` and a test, which passes without, that calls it so."""
    function = getattr(bounds, name)
    calls = []

    def mutated(*args, **kwargs):
        calls.append(args)
        return 1.05 * np.asarray(function(*args, **kwargs))

    monkeypatch.setattr(bounds, name, mutated)
    with pytest.raises(AssertionError):
        test()
    assert calls


def test_every_function_that_returns_numbers_is_mutated():
    others = {"gauge", "is_classification_calibrated"}  # a Bunch and a bool
    assert {name for name, _ in EQUALITIES} == set(bounds.__all__) - others
