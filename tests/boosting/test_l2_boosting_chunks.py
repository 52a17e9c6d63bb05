"""L2-boosting of stumps: data in chunks, memory, and what it refuses."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    KFold,
    PredefinedSplit,
)

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds

from .additive_data import cv_path
from .l2_boosting_data import PLAIN, additive_data, plain_l2_boosting, quantile_edges


@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_make_the_model_of_one_fit(weighted):
    X, y = additive_data(n=500)
    weight = np.random.default_rng(8).exponential(size=500) if weighted else None
    model = L2BoostingRegressor(500, learning_rate=0.1, max_bins=quantile_edges(X, 20), **PLAIN)
    whole = clone(model).fit(X, y, weight)
    chunked = clone(model)
    for rows in np.split(np.arange(500), [50, 51, 300]):
        part = None if weight is None else weight[rows]
        assert chunked.partial_fit(X[rows], y[rows], part) is chunked
    np.testing.assert_array_equal(chunked.stump_features_, whole.stump_features_)
    np.testing.assert_array_equal(chunked.stump_cuts_, whole.stump_cuts_)
    np.testing.assert_allclose(chunked.predict(X), whole.predict(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(chunked.train_scores_, whole.train_scores_, rtol=1e-10)
    assert chunked.intercept_ == pytest.approx(whole.intercept_, rel=1e-12)


def test_chunks_with_cross_validation():
    X, y = additive_data(n=300)
    edges = quantile_edges(X, 12)
    model = L2BoostingRegressor(
        CVRounds(KFold(3), max_estimators=200),
        learning_rate=0.1,
        max_bins=edges,
        smoothing_rounds=0,
    )
    number = np.empty(300, dtype=int)
    chunked = clone(model)
    for rows in np.split(np.arange(300), [90, 150]):
        for fold, (_, test) in enumerate(KFold(3).split(rows)):
            number[rows[test]] = fold
        chunked.partial_fit(X[rows], y[rows], refit=False)
        with pytest.raises(NotFittedError):
            chunked.predict(X)
    chunked.partial_fit(X[:3], y[:3], np.array([1e-30] * 3))  # the first call that fits
    whole = clone(model).set_params(n_estimators__cv=PredefinedSplit(number)).fit(X, y)
    np.testing.assert_allclose(cv_path(chunked), cv_path(whole), rtol=1e-9)
    assert chunked.n_estimators_ == whole.n_estimators_
    with pytest.raises(ValueError, match="same number of folds"):
        chunked.set_params(n_estimators__cv=4).partial_fit(X, y)


def test_chunks_keep_the_bins_of_the_first(tmp_path):
    X, y = additive_data(n=200)
    model = L2BoostingRegressor(50, max_bins=9, learning_rate=0.1, **PLAIN)
    model.partial_fit(X[:100], y[:100])
    np.testing.assert_equal(model.bin_edges_, quantile_edges(X[:100], 9))
    resumed = pickle.loads(pickle.dumps(model))
    for each in (model, resumed):
        each.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(resumed.predict(X), model.predict(X))
    whole = clone(model).set_params(max_bins=model.bin_edges_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-10)
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :3], y)
    assert clone(model).fit(X, y).fit(X, y) is not None
    fitted = clone(model).fit(X[:50], y[:50])
    with pytest.warns(UserWarning, match="starts again with this chunk"):
        fitted.partial_fit(X[100:], y[100:])
    anew = clone(model).partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(fitted.predict(X), anew.predict(X))


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_chunks_with_huge_and_tiny_weights(size):
    X, y = additive_data(n=100)
    weight = np.random.default_rng(12).exponential(size=100)
    model = L2BoostingRegressor(100, learning_rate=0.1, max_bins=8, **PLAIN)
    scaled, plain = clone(model), clone(model)
    for rows in (slice(0, 50), slice(50, 100)):
        scaled.partial_fit(X[rows], y[rows], size * weight[rows])
        plain.partial_fit(X[rows], y[rows], weight[rows])
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=0, atol=1e-12)


def test_a_chunk_that_is_refused_changes_nothing():
    X, y = additive_data(n=100)
    model = L2BoostingRegressor(20, **PLAIN).partial_fit(X, y)
    expected = clone(model).partial_fit(X, y).partial_fit(X, y).predict(X)
    with pytest.raises(ValueError, match="too large compared with the first chunk"):
        model.partial_fit(X, y * 1e300)
    with pytest.raises(ValueError, match="too large compared with the first chunk"):
        model.partial_fit(X, y, np.full(100, 1e200))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, y * np.nan)
    np.testing.assert_array_equal(model.partial_fit(X, y).predict(X), expected)


@pytest.mark.parametrize("n_estimators", [300, "cv"])
def test_few_rows_and_many_cuts(n_estimators):
    """More columns than rows: cuts are counted one by one, here few at a time."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((60, 200))
    y = np.sign(X[:, 7]) + X[:, 70] + 0.1 * rng.standard_normal(60)
    model = L2BoostingRegressor(
        CVRounds(3, max_estimators=300), learning_rate=0.1, smoothing_rounds=0
    ).fit(X, y)
    path, _ = plain_l2_boosting(X, y, model.bin_edges_, 0.1, model.n_estimators_)
    np.testing.assert_allclose(model.predict(X), path[-1], rtol=0, atol=1e-8)
    with config_context(working_memory=2.0):
        tight = clone(model).fit(X, y)
    np.testing.assert_array_equal(tight.predict(X), model.predict(X))


def test_memory_beside_X():
    """No copy of X, in either order: bins of one byte and a few columns at a time."""
    X, y = additive_data(n=60_000, p=20)
    L2BoostingRegressor(2, **PLAIN).fit(X[:50], y[:50])
    for order in "CF":
        data = np.asarray(X, order=order)
        tracemalloc.start()
        L2BoostingRegressor(1000, max_bins=16, **PLAIN).fit(data, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.8 * X.nbytes


def test_verbose_prints_progress(capsys):
    X, y = additive_data(n=60)
    model = L2BoostingRegressor(CVRounds(2, max_estimators=20))
    model.fit(X, y)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert err == ""  # scikit-learn prints to standard output
    assert "L2BoostingRegressor: 20/20 rounds" in out
    assert "smoothing rounds" in out
    assert "rounds have the least mean error over the folds" in out
    X = np.arange(6.0)[:, None]
    L2BoostingRegressor(50, learning_rate=1.0, verbose=1, **PLAIN).fit(X, (X[:, 0] > 2.5) * 1.0)
    assert "1/50 rounds" in capsys.readouterr().out
