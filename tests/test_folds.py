"""Splits of `cv` that no estimator can use, and folds by a hash of the row's number."""

import numpy as np
import pytest
from scipy import stats

from sklearn_ensemble_theory import (
    FrankWolfeRegressor,
    L2BoostingRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
)
from sklearn_ensemble_theory.boosting import CVChoice, CVRounds

from .surroundings import folds_by_hash

X = np.linspace(-1.0, 1.0, 12)[:, None]
y = X[:, 0] ** 2
ESTIMATORS = [
    FrankWolfeRegressor(radius=CVChoice()),
    L2BoostingRegressor(CVRounds()),
    LinearL2BoostingRegressor(time=CVChoice()),
    MatchingPursuitRegressor(CVRounds()),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([], "cv must yield at least one split"),
        ([([0, 1, 2], [])], "has no weight to train or to test on"),
        ([([0, 1, 2], [12])], "out of bounds for X with 12 rows"),
    ],
)
def test_unusable_splits_are_refused(estimator, splits, message):
    names = {"radius__cv", "time__cv", "n_estimators__cv", "cv"} & set(estimator.get_params())
    estimator.set_params(**dict.fromkeys(names, splits))
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)
    assert not estimator.__sklearn_is_fitted__()


# Folds by a hash


def test_folds_are_uniform_and_unrelated_to_those_of_neighbours():
    folds = folds_by_hash(np.arange(50_000), 5).astype(int)
    assert stats.chisquare(np.bincount(folds)).pvalue > 1e-3
    for lag in (1, 2, 5):
        pairs = np.bincount(5 * folds[lag:] + folds[:-lag], minlength=25)
        assert stats.chisquare(pairs).pvalue > 1e-3


def test_folds_depend_on_the_number_of_the_row_alone():
    rows = np.arange(1000)
    parts = [folds_by_hash(rows[a:b], 7) for a, b in ((0, 10), (10, 700), (700, 1000))]
    np.testing.assert_array_equal(np.concatenate(parts), folds_by_hash(rows, 7))
