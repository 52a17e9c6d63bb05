"""Smoothing splines of Dask collections: the model of the same rows in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import SmoothingSplineRegressor
from sklearn_ensemble_theory.smoothing import _splines

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

CHUNKS = {"even": (1200,) * 5, "uneven": (1, 0, 5000, 999)}
SPECS = {"gcv": {}, "df": {"df": 7}, "penalty": {"penalty": 1e-3, "order": 1}}


def rows(p, n=6000, decimals=None):
    rng = np.random.default_rng(0)
    X = rng.random((n, p)) * np.arange(1, p + 1) + 5
    if decimals is not None:
        X[:, 0] = X[:, 0].round(decimals)
    Y = np.column_stack([np.sin(6 * X[:, 0]) + X[:, -1], X[:, 0] ** 2])
    return X, 10 + Y + 0.3 * rng.standard_normal((n, 2)), rng.integers(0, 4, n).astype(float)


def lazily(chunks, *arrays):
    return [da.from_array(a, chunks=(CHUNKS[chunks], *a.shape[1:])) for a in arrays]


def assert_same(model, expected, X, rtol=1e-10):
    np.testing.assert_allclose(model.penalty_, expected.penalty_, rtol=100 * rtol)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-12)
    for one, other in zip(model._design.bases, expected._design.bases):
        np.testing.assert_array_equal(one.knots, other.knots)
    found, wanted = model.predict(X), expected.predict(X)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * 10)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("p", "decimals"), [(1, None), (1, 2), (2, 2)])
def test_model_in_memory(chunks, spec, p, decimals):
    X, Y, weight = rows(p, decimals=decimals)
    X_lazy, Y_lazy, w_lazy = lazily(chunks, X, Y, weight)
    model = SmoothingSplineRegressor(**SPECS[spec]).fit(X_lazy, Y_lazy, w_lazy)
    assert_same(model, SmoothingSplineRegressor(**SPECS[spec]).fit(X, Y, weight), X)
    model = SmoothingSplineRegressor(**SPECS[spec]).fit(X_lazy, Y_lazy[:, 0])
    assert_same(model, SmoothingSplineRegressor(**SPECS[spec]).fit(X, Y[:, 0]), X)
    with pytest.raises(ValueError, match="in memory"):
        model.smoother_matrix()


def test_data_frames_of_unknown_lengths_and_a_constant_feature():
    X, Y, _ = rows(2, n=800)
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b"]).assign(c=np.float32(3.0))
    lazy, y = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(Y[:, 0]), 3)
    keep = lazy["a"] > 5.2
    model = SmoothingSplineRegressor(df=5).fit(lazy[keep], y[keep])
    kept = (frame["a"] > 5.2).to_numpy()
    expected = SmoothingSplineRegressor(df=5).fit(frame[kept], Y[kept, 0])
    assert_same(model, expected, frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_gcv_counts_every_row_where_equal_rows_cannot_be_found():
    """The model is the one that memory has for all rows as observations: none of them is equal."""
    X, Y, _ = rows(2, n=1000)
    doubled = np.r_[X, X]
    targets = np.r_[Y[:, 0], Y[::-1, 0]]
    lazy = da.from_array(doubled, chunks=(500, 2)), da.from_array(targets, chunks=500)
    model = SmoothingSplineRegressor().fit(*lazy)
    apart = doubled + 1e-12 * np.r_[np.zeros(1000), np.ones(1000)][:, None]
    expected = SmoothingSplineRegressor().fit(apart, targets)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-6)


def test_knots_of_large_chunks_are_quantiles_of_a_sample(monkeypatch):
    monkeypatch.setattr("sklearn_ensemble_theory._bins.SAMPLE", 1500)
    monkeypatch.setattr(_splines, "DENSE_VALUES", 1000)
    X, Y, _ = rows(1)
    model = SmoothingSplineRegressor(df=8).fit(*lazily("uneven", X, Y[:, 0]))
    expected = SmoothingSplineRegressor(df=8).fit(X, Y[:, 0])
    basis, exact = model._design.bases[0], expected._design.bases[0]
    assert (basis.low, basis.width) == (exact.low, exact.width)
    assert 0 < np.abs(basis.knots - exact.knots).max() < 0.05
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=2e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_of_y(scale):
    X, Y, _ = rows(1, n=300)
    Y[:100] = 0.0
    lazy = da.from_array(X, chunks=(100, 1)), da.from_array(scale * Y, chunks=(100, 2))
    model = SmoothingSplineRegressor(df=6).fit(*lazy)
    expected = SmoothingSplineRegressor(df=6).fit(X, Y)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), atol=1e-9)


def test_rows_are_read_twice():
    X, Y, _ = rows(1, n=300)
    seen = []

    def read(block):
        seen.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(100, 1)).map_blocks(read, meta=X[:0])
    with dask.config.set(scheduler="synchronous"):
        SmoothingSplineRegressor().fit(lazy, da.from_array(Y, chunks=(100, 2)))
    assert sum(seen) == 600
    with pytest.raises(ValueError, match="df=1"):
        SmoothingSplineRegressor(df=1).fit(lazy, Y)
    assert sum(seen) == 600


@pytest.mark.parametrize("extrapolation", ["natural", "linear"])
def test_outside_of_the_data(extrapolation):
    X, Y, _ = rows(2)
    model = SmoothingSplineRegressor(df=6, order=3, max_knots=30, extrapolation=extrapolation)
    x = X.mean(axis=0) + np.array([[-1.0, 2.0], [0.9, -1.5], [3.0, 3.0]])
    expected = clone(model).fit(X, Y).predict(x)
    found = model.fit(*lazily("uneven", X, Y)).predict(da.from_array(x, chunks=(2, 2)))
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-6)
