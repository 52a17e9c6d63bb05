"""What the checks add to a fit of 300 rows: a few calls, whatever the estimator."""

import inspect
import sys

import numpy as np
import pytest
from sklearn.utils.validation import _check_sample_weight

import sklearn_ensemble_theory
from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    HistogramRegressor,
    MatchingPursuitRegressor,
    VotingRegressor,
)

from ..estimators import estimator_classes
from ..surroundings import one_blas_thread

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 10))
Y = X[:, 0] + 0.3 * RNG.standard_normal(300)
WEIGHT = RNG.uniform(0.5, 1.5, 300)


def n_calls(function):
    """Calls of functions of Python and of C."""
    found = 0

    def count(frame, event, argument):
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


def only_scikit_learns_check(sample_weight, X):
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


@pytest.fixture
def without_checks(monkeypatch):
    """A function that takes out what fits do for reliability, until the end of the test."""

    def start():
        for cls in {base for each in estimator_classes() for base in each.__mro__}:
            fit = vars(cls).get("fit")
            if inspect.isfunction(fit) and fit.__code__.co_filename.endswith("_door.py"):
                monkeypatch.setattr(cls, "fit", fit.__wrapped__)
        name = sklearn_ensemble_theory.__name__
        for module in [m for key, m in list(sys.modules.items()) if key.startswith(name)]:
            if hasattr(module, "checked_weights"):
                monkeypatch.setattr(module, "checked_weights", only_scikit_learns_check)
            if hasattr(module, "in_usual_units"):
                monkeypatch.setattr(module, "in_usual_units", lambda weight: weight)

    return start


MEMBERS = [("stump", DecisionStumpRegressor()), ("cells", HistogramRegressor(n_bins=2))]


@pytest.mark.parametrize("params", [{}, {"sample_weight": WEIGHT}], ids=["alone", "weights"])
@pytest.mark.parametrize(
    ("model", "n_fits"),
    [
        (DecisionStumpRegressor(), 1),
        (HistogramRegressor(n_bins=2), 1),
        (MatchingPursuitRegressor(), 1),
        (VotingRegressor(MEMBERS), 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_calls_that_the_checks_add(model, n_fits, params, without_checks):
    """At most 160 for each `fit` that is called: about 25 microseconds.

    Beside what threadpoolctl takes to limit the threads of BLAS.
    """

    def fit():
        model.fit(X, Y, **params)

    with one_blas_thread():
        fit()
        with_checks = n_calls(fit)
        without_checks()
        fit()
        added = with_checks - n_calls(fit)
    assert 0 < added <= 160 * n_fits, added
