"""Additive models for any loss of Dask collections: the model in memory with the same edges."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from sklearn_ensemble_theory import AdditiveBoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting.losses import HuberLoss, QuantileLoss

from ..boosting.additive_data import cv_path
from ..local_blocks import hashed_folds

da = pytest.importorskip("dask.array")

EDGES = [np.linspace(0.1, 0.9, 9)] * 3


@pytest.mark.parametrize("interactions", [0, 1])
@pytest.mark.parametrize(
    "loss", ["squared_error", "poisson", "gamma", "tweedie", "quantile", HuberLoss(0.5)]
)
def test_model_in_memory(loss, interactions):
    rng = np.random.default_rng(0)
    X = rng.random((1200, 3))
    X[rng.random(1200) < 0.1, 2] = np.nan
    y = rng.poisson(np.exp(np.sin(6 * X[:, 0]) + X[:, 1] + (X[:, 0] > 0.5) * (X[:, 1] > 0.5)))
    y = y + 0.5 if loss == "gamma" else y + (loss not in ("poisson",)) * rng.random(1200)
    model = AdditiveBoostingRegressor(
        n_estimators=CVRounds(3, max_estimators=1000),
        loss=QuantileLoss(0.901) if loss == "quantile" else loss,
        max_bins=EDGES,
        interactions=interactions,
    )
    chunks = (500, 1, 0, 699)
    model.fit(da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=(chunks,)))
    cv = PredefinedSplit(hashed_folds(1200, 3))
    same = clone(model).set_params(n_estimators__cv=cv).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-6)
    np.testing.assert_allclose(cv_path(model), cv_path(same), rtol=1e-6)
    assert model.n_passes_ >= 2
    lazy = model.predict(da.from_array(X, chunks=(chunks, 3)))
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))


def test_what_needs_all_rows():
    X, y = da.random.random((100, 2), chunks=50), da.random.random(100, chunks=50)
    with pytest.raises(ValueError, match="requires all rows in memory"):
        AdditiveBoostingRegressor(loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="requires non-negative y"):
        AdditiveBoostingRegressor(loss="poisson").fit(X, -y)
