"""Matching pursuit of Dask collections: the model of the same rows in memory."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_ensemble_theory import MatchingPursuitRegressor
from sklearn_ensemble_theory.boosting._pursuit.column_moments import ColumnMoments

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CHUNKS = {"even": (100,) * 4, "uneven": (1, 0, 300, 99)}
VARIANTS = {
    "plain": {"learning_rate": 0.5},
    "weak": {"weakness": 0.5},
    "orthogonal": {"tol": 0.1},
}


def rows(n=400, d=12):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.logspace(-2, 2, d) + 10 * rng.standard_normal(d)
    X[:, 3] = 7.0  # constant
    Y = X[:, :2] @ [[30.0, 2.0], [1.0, 5.0]] + rng.standard_normal((n, 2)) + 100
    return X, Y, rng.integers(0, 4, n).astype(float)


def lazily(chunks, *arrays):
    return [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


def assert_same(model, expected):
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-10)
    for one, other in zip(np.atleast_2d(model.selected_), np.atleast_2d(expected.selected_)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(model.column_offset_, expected.column_offset_, atol=1e-12)
    np.testing.assert_allclose(model.column_scale_, expected.column_scale_, rtol=1e-12)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_model_in_memory(chunks, variant, fit_intercept):
    X, Y, weight = rows()
    options = {"variant": variant, "fit_intercept": fit_intercept, **VARIANTS[variant]}
    for y, w in ((Y, weight), (Y[:, 0], None)):
        model = MatchingPursuitRegressor(9, **options)
        model.fit(*lazily(CHUNKS[chunks], X, y), None if w is None else da.from_array(w))
        expected = MatchingPursuitRegressor(9, **options).fit(X, y, w)
        assert_same(model, expected)
        np.testing.assert_allclose(model.gauge_, expected.gauge_, rtol=1e-10)
        np.testing.assert_allclose(
            np.ravel(model.residual_norms_), np.ravel(expected.residual_norms_), rtol=1e-9
        )
        assert model.stop_reason_ == expected.stop_reason_


def test_data_frames_of_unknown_lengths_and_single_precision():
    X, Y, _ = rows()
    X = X.astype(np.float32)
    frame = pd.DataFrame(X).add_prefix("x")
    lazy, y = dd.from_pandas(frame, npartitions=5), dd.from_pandas(pd.Series(Y[:, 0]), 5)
    keep = lazy["x0"] > 0
    model = MatchingPursuitRegressor(20).fit(lazy[keep], y[keep])
    kept = X[:, 0] > 0
    assert_same(model, MatchingPursuitRegressor(20).fit(X[kept], Y[kept, 0]))
    assert model.feature_names_in_[1] == "x1"


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_units_do_not_matter(scale):
    X, Y, _ = rows()
    X[:100, 1] = 0.0  # this chunk has another unit
    model = MatchingPursuitRegressor(9).fit(*lazily(CHUNKS["even"], scale * X, Y))
    assert_same(model, MatchingPursuitRegressor(9).fit(scale * X, Y))
    model = MatchingPursuitRegressor(9).fit(*lazily(CHUNKS["even"], X, scale * Y))
    expected = MatchingPursuitRegressor(9).fit(X, scale * Y)
    np.testing.assert_allclose(model.coef_ / scale, expected.coef_ / scale, rtol=1e-10)


def test_moments_add_up_whatever_the_order():
    X, Y, weight = rows()
    whole = ColumnMoments.of(X, Y, weight, True)
    cuts = [0, 1, 50, 400]
    parts = [
        ColumnMoments.of(X[a:b], Y[a:b], weight[a:b] + 1e-9, True)
        for a, b in itertools.pairwise(cuts)
    ]
    for total in (parts[0] + parts[1] + parts[2], parts[2] + (parts[1] + parts[0])):
        assert total.n_rows == 400
        np.testing.assert_array_equal(total.unit, whole.unit)
        np.testing.assert_allclose(total.mean, whole.mean, atol=1e-8)
        np.testing.assert_allclose(total.gram, whole.gram, atol=1e-6)


def test_skipped_columns_are_reported_where_fit_is_called():
    X, _, _ = rows()
    e = np.random.default_rng(1).standard_normal(len(X))
    X[:, 5] = X[:, 1] + 1e-8 * e
    y = X[:, 1] + e
    for data in ((X, y), lazily(CHUNKS["even"], X, y)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            MatchingPursuitRegressor(12, variant="orthogonal").fit(*data)
        (warning,) = [one for one in caught if one.category is ConvergenceWarning]
        assert warning.filename == __file__


def refused(X):
    return da.from_array(X).map_blocks(pytest.fail, meta=X[:0])


@pytest.mark.parametrize("early_stopping", [True, "cv"])
def test_early_stopping_is_refused(early_stopping):
    X, Y, _ = rows()
    with pytest.raises(ValueError, match="early_stopping"):
        MatchingPursuitRegressor(early_stopping=early_stopping).fit(refused(X), Y)


def test_too_many_columns_are_refused():
    X = da.zeros((10, 8193)).map_blocks(pytest.fail, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="8193 features"):
        MatchingPursuitRegressor().fit(X, da.zeros(10))
