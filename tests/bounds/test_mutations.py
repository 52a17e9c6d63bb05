"""Would the tests of equalities notice a constant that is wrong by 5 %?"""

import importlib

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds

from .table import TABLE

PAIRS = [(name, test) for name, row in TABLE.items() for test in row.noticed_by]


@pytest.mark.parametrize(("name", "test"), PAIRS, ids=[f"{name}-{test}" for name, test in PAIRS])
def test_a_constant_wrong_by_five_percent_is_noticed(name, test, monkeypatch):
    """A test that passes without the change calls the function as `bounds.name`, and fails."""
    function = getattr(bounds, name)
    calls = []

    def mutated(*args, **kwargs):
        calls.append(args)
        return 1.05 * np.asarray(function(*args, **kwargs))

    monkeypatch.setattr(bounds, name, mutated)
    file, _, test_name = test.partition("::")
    with pytest.raises(AssertionError):
        getattr(importlib.import_module(f".{file}", __package__), test_name)()
    assert calls


def test_every_function_that_returns_numbers_is_mutated():
    others = {"gauge", "is_classification_calibrated"}  # a Bunch and a bool
    assert {name for name, row in TABLE.items() if not row.noticed_by} == others
