"""Matching pursuit of Dask collections: the model of the same rows in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_ensemble_theory import MatchingPursuitRegressor
from sklearn_ensemble_theory.boosting import CVRounds

from ..local_blocks import hashed_folds

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


def each_target(values):
    return values if isinstance(values, list) else [values]


def assert_same(model, expected):
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-10)
    for one, other in zip(each_target(model.selected_), each_target(expected.selected_)):
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


def splits_in_memory(n_splits, weight):
    """The splits of all rows, by the numbers of those of positive weight."""
    kept = np.flatnonzero(weight)
    fold = hashed_folds(len(kept), n_splits)
    return [(kept[fold != k], kept[fold == k]) for k in range(n_splits)]


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rounds_by_folds_are_those_in_memory(chunks, variant, fit_intercept):
    X, Y, weight = rows()
    psi = X - X.mean(axis=0) + 1
    psi /= psi.std(axis=0) + (psi.std(axis=0) == 0)
    psi[:100, 1] = 0.0  # this chunk has another unit
    X, Y = psi * np.logspace(-2, 2, 12), psi[:, [0, 2, 4, 6]] @ [[3, 1], [2, 1], [1, 1], [0.5, 2]]
    Y += 4 * np.random.default_rng(1).standard_normal(Y.shape) + 5
    options = {"variant": variant, "fit_intercept": fit_intercept}
    if variant == "plain":
        options["learning_rate"] = 0.5
    for y, w in ((Y, weight), (Y[:, 0], None)):
        model = MatchingPursuitRegressor(CVRounds(4, max_estimators=25), **options)
        model.fit(*lazily(CHUNKS[chunks], X, y), None if w is None else da.from_array(w))
        splits = splits_in_memory(4, np.ones(len(X)) if w is None else w)
        expected = MatchingPursuitRegressor(CVRounds(splits, max_estimators=25), **options)
        expected.fit(X, y, w)
        for one, other in zip(each_target(model.cv_results_), each_target(expected.cv_results_)):
            np.testing.assert_allclose(one["mean_score"], other["mean_score"], rtol=1e-10)
        np.testing.assert_array_equal(model.n_estimators_, expected.n_estimators_)
        assert np.all(np.array(model.n_estimators_) > 0)
        assert model.stop_reason_ == expected.stop_reason_
        assert_same(model, expected)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_rounds_by_folds_do_not_depend_on_units(scale):
    X, Y, _ = rows()
    model = MatchingPursuitRegressor(CVRounds(4, max_estimators=25))
    X, y = lazily(CHUNKS["even"], X, Y[:, 0])
    plain = clone(model).fit(X, y)
    for moved in (clone(model).fit(scale * X, y), clone(model).fit(X, scale * y)):
        assert moved.n_estimators_ == plain.n_estimators_
        np.testing.assert_array_equal(moved.selected_, plain.selected_)


def test_targets_that_are_constant_where_they_train():
    X, _, _ = rows()
    fold = hashed_folds(len(X), 2)
    y = np.where(fold == 0, 5.0, X[:, 1])
    model = MatchingPursuitRegressor(CVRounds(2, max_estimators=5))
    splits = [(fold == 1, fold == 0), (fold == 0, fold == 1)]
    expected = clone(model).set_params(n_estimators__cv=splits)
    expected.fit(X, y)
    model.fit(*lazily(CHUNKS["uneven"], X, y))
    found, other = model.cv_results_["mean_score"], expected.cv_results_["mean_score"]
    np.testing.assert_allclose(found, other, rtol=1e-10)
    assert_same(model, expected)


def test_columns_far_beyond_those_of_training_stop_the_rounds_early():
    X, Y, _ = rows()
    held = hashed_folds(len(X), 2) == 0
    X[:, 5] = np.where(held, 1e200, 1e-200) * X[:, 5]
    model = MatchingPursuitRegressor(CVRounds(2, max_estimators=25), fit_intercept=False)
    model.fit(*lazily(CHUNKS["even"], X, Y[:, 0]))
    assert np.isfinite(model.cv_results_["mean_score"][[0, model.n_estimators_]]).all()
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("rounds", [5, CVRounds(4, max_estimators=5)], ids=str)
def test_how_often_the_rows_are_read(rounds):
    read = []

    def counted(block):
        if len(block):
            read.append(len(block))
        return block

    X, Y, _ = rows()
    X, y = lazily(CHUNKS["even"], X, Y[:, 0])
    X = X.map_blocks(counted, meta=np.empty((0, 0)))
    MatchingPursuitRegressor(rounds).fit(X, y)
    assert len(read) == 4 * (1 if rounds == 5 else 2)


def test_folds_without_rows_are_left_out():
    X, Y, _ = rows()
    X, y = lazily((1, 2), X[:3], Y[:3, 0])
    model = MatchingPursuitRegressor(CVRounds(100, max_estimators=5)).fit(X, y)
    assert np.isfinite(model.cv_results_["mean_score"]).all()
    with pytest.raises(ValueError, match="cv=5 of 1 rows leaves no row"):
        MatchingPursuitRegressor("cv").fit(X[:1], y[:1])


def test_folds_are_by_hash():
    X, Y, _ = rows()
    with pytest.raises(ValueError, match="cv must be an integer"):
        MatchingPursuitRegressor(CVRounds([([0], [1])])).fit(refused(X), Y)


def test_too_many_columns_are_refused():
    X = da.zeros((10, 8193)).map_blocks(pytest.fail, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="8193 features"):
        MatchingPursuitRegressor().fit(X, da.zeros(10))
    X = da.zeros((10, 4097)).map_blocks(pytest.fail, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="4097 features; with Dask collections at most 4096"):
        MatchingPursuitRegressor(CVRounds(4)).fit(X, da.zeros(10))
