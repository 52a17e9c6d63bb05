"""Pairs of features of Dask collections: found and fitted as in memory with the same bins."""

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory._chunks.row_folds import folds_by_hash

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CHUNKS = {"even": (300,) * 4, "uneven": (1, 0, 900, 299)}
MODELS = {
    "values": L2BoostingRegressor(40, learning_rate=0.2, max_bins=12),
    "folds": L2BoostingRegressor("cv", learning_rate=0.2, max_bins=12, max_estimators=30, cv=3),
    "labels": LogitBoostClassifier(20, learning_rate=0.3, max_bins=8),
    "classes": LogitBoostClassifier(
        "cv", learning_rate=0.3, max_bins=6, smoothing_rounds=3, max_estimators=8, cv=3
    ),
}


def rows(kind, n=1200, seed=0):
    """A product of features 0 and 1, a quadrant of 2 and 3; missing values in 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 5))
    score = 3 * X[:, 0] * X[:, 1] + 2 * ((X[:, 2] > 0) & (X[:, 3] > 0.2)) + np.sin(3 * X[:, 0])
    X[rng.random(n) < 0.1, 2] = np.nan
    score += 0.4 * rng.logistic(size=n)
    y = score
    if kind in ("labels", "classes"):
        y = np.digitize(score, np.quantile(score, [0.5] if kind == "labels" else [0.3, 0.6]))
    return X, y, rng.integers(0, 4, n).astype(float)


def in_memory(model, X, y, weight=None):
    kept = slice(None) if weight is None else weight > 0
    parameters = model.get_params() | {"bin_edges": model.bin_edges_}
    if model.n_estimators == "cv":
        folds = folds_by_hash(np.arange(len(y[kept])), model.cv)
        parameters["cv"] = PredefinedSplit(folds)
    return type(model)(**parameters).fit(X[kept], y[kept], None if weight is None else weight[kept])


def assert_same(model, expected, X):
    assert model.term_features_ == expected.term_features_
    assert len(model.term_features_) > X.shape[1]
    assert model.n_estimators_ == expected.n_estimators_
    assert model.n_smoothing_rounds_ == expected.n_smoothing_rounds_
    assert any(np.abs(table).max() > 0.01 for _, table in model.shape_functions_[X.shape[1] :])
    np.testing.assert_allclose(model.train_path_, expected.train_path_, rtol=0, atol=1e-10)
    terms, others = model.predict_terms(X), expected.predict_terms(X)
    np.testing.assert_allclose(terms, others, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=0, atol=1e-10)
    for name in ("bin_weights_", "shape_standard_errors_"):
        for one, other in zip(getattr(model, name, []), getattr(expected, name, [])):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)
    if hasattr(expected, "cv_path_"):
        np.testing.assert_allclose(model.cv_path_, expected.cv_path_, rtol=0, atol=1e-10)


def lazy(chunks, *arrays):
    return [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("chunks", "weighted", "interactions"),
    [("even", False, 2), ("uneven", True, [(3, 2), (0, 1), (1, 4)]), ("uneven", False, "auto")],
)
def test_model_in_memory(kind, chunks, weighted, interactions):
    X, y, weight = rows(kind)
    model = MODELS[kind].__class__(**MODELS[kind].get_params() | {"interactions": interactions})
    parts = lazy(CHUNKS[chunks], X, y, weight)
    model.fit(*(parts if weighted else parts[:2]))
    assert (0, 1) in model.term_features_
    assert_same(model, in_memory(model, X, y, weight if weighted else None), X)
