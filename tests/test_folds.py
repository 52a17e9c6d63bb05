"""Splits of `cv` that no estimator can use."""

import numpy as np
import pytest

from sklearn_ensemble_theory import (
    FrankWolfeRegressor,
    L2BoostingRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
)

X = np.linspace(-1.0, 1.0, 12)[:, None]
y = X[:, 0] ** 2
ESTIMATORS = [
    FrankWolfeRegressor(radius="cv"),
    L2BoostingRegressor("cv"),
    LinearL2BoostingRegressor(time="cv"),
    MatchingPursuitRegressor(early_stopping="cv"),
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
    with pytest.raises(ValueError, match=message):
        estimator.set_params(cv=splits).fit(X, y)
    assert not estimator.__sklearn_is_fitted__()
