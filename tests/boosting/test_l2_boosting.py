"""L2-boosting from sums against the plain loop over residuals, and against scikit-learn."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled
from sklearn_ensemble_theory._numerics.binning import bin_codes, bin_edges_from_quantiles
from sklearn_ensemble_theory.boosting._l2_boosting.cut_sums import (
    CountedGram,
    cut_offsets,
    cut_sums,
)


def left_of_cuts(X, edges):
    """Indicators of all cuts in all features (n, P), with each cut's feature and number."""
    names = [(j, c) for j, e in enumerate(edges) for c in range(len(e))]
    return np.column_stack([X[:, j] <= edges[j][c] for j, c in names]).astype(float), names


def plain_l2_boosting(X, y, edges, learning_rate, n_rounds, sample_weight=None):
    """Least squares on residuals over all stumps, round by round, over the rows.

    Returns the predictions on X after 0, 1, ... rounds and the stumps (j, c, left, right).
    """
    w = np.ones(len(y)) if sample_weight is None else sample_weight
    left, names = left_of_cuts(X, edges)
    left_weight = w @ left
    right_weight = w.sum() - left_weight
    prediction = np.full(len(y), np.average(y, weights=w))
    path, stumps = [prediction], []
    for _ in range(n_rounds):
        residual = w * (y - prediction)
        left_sum = residual @ left
        right_sum = residual.sum() - left_sum
        explained = left_sum**2 / left_weight + right_sum**2 / right_weight
        k = np.argmax(explained >= explained.max() * (1 - 1e-10))  # the first of those that tie
        a = learning_rate * left_sum[k] / left_weight[k]
        b = learning_rate * right_sum[k] / right_weight[k]
        prediction = prediction + np.where(left[:, k] == 1, a, b)
        path.append(prediction)
        stumps.append((*names[k], a, b))
    return np.array(path), stumps


def additive_data(n=300, p=5, decimals=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if decimals is not None:
        X = np.round(X, decimals)
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - np.maximum(X[:, 2], 0) + 0.5 * rng.standard_normal(n)
    return X, y


# --- the rounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("learning_rate", [0.01, 0.1, 1.0])
def test_rounds_are_those_of_the_plain_loop(learning_rate, weighted):
    X, y = additive_data()
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    model = L2BoostingRegressor(1000, learning_rate=learning_rate, max_bins=16)
    model.fit(X, y, sample_weight=weight)
    path, stumps = plain_l2_boosting(X, y, model.bin_edges_, learning_rate, 1000, weight)
    np.testing.assert_allclose(model.predict(X), path[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(list(model.staged_predict(X)), path[1:], rtol=0, atol=1e-8)
    features, cuts, left, right = zip(*stumps)
    np.testing.assert_array_equal(model.stump_features_, features)
    np.testing.assert_array_equal(model.stump_cuts_, cuts)
    np.testing.assert_allclose(model.stump_left_, left, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.stump_right_, right, rtol=0, atol=1e-10)
    errors = np.average((y - path) ** 2, axis=1, weights=weight)
    np.testing.assert_allclose(model.train_path_, errors, rtol=1e-9)


def test_same_as_scikit_learns_boosting_of_stumps():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 8, (500, 4)).astype(float)
    y = rng.standard_normal(8)[X[:, 0].astype(int)] + np.abs(X[:, 1] - 4)
    y += 0.1 * rng.standard_normal(500)
    theirs = GradientBoostingRegressor(n_estimators=300, learning_rate=0.1, max_depth=1).fit(X, y)
    ours = L2BoostingRegressor(300, learning_rate=0.1).fit(X, y)
    new = rng.uniform(-1, 8, (200, 4))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.train_path_[1:], theirs.train_score_, rtol=1e-9)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, rtol=0, atol=1e-2
    )  # theirs averages shares over trees, ours shares the total


def test_no_drift_in_many_rounds():
    """After 300,000 rounds each is still least squares on the residuals of the rows."""
    X, y = additive_data(n=200, p=4)
    n_rounds, rate = 300_000, 1e-3
    model = L2BoostingRegressor(n_rounds, learning_rate=rate, max_bins=8).fit(X, y)
    assert model.n_estimators_ == n_rounds
    left, names = left_of_cuts(X, model.bin_edges_)
    z = left - left.mean(axis=0)
    z /= np.linalg.norm(z, axis=0)
    checked = [1, 1000, 30_000, 100_000, 299_999]
    for before, prediction in zip(checked, model.predict_path(X, checked)):
        residual = y - prediction
        np.testing.assert_allclose(np.mean(residual**2), model.train_path_[before], rtol=1e-11)
        correlations = np.abs(z.T @ residual)
        k = names.index((model.stump_features_[before], model.stump_cuts_[before]))
        step = abs(model.stump_left_[before] - model.stump_right_[before])
        step *= np.linalg.norm(left[:, k] - left[:, k].mean()) / rate
        assert abs(step - correlations.max()) < 1e-12 * np.linalg.norm(y)


def test_the_limit_is_the_least_squares_fit():
    X, y = additive_data(n=200, p=4)
    model = L2BoostingRegressor(10**6, learning_rate=1.0, max_bins=8).fit(X, y)
    assert model.n_estimators_ < 10**5  # then the residuals were orthogonal to every stump
    left, _ = left_of_cuts(X, model.bin_edges_)
    basis = np.column_stack([np.ones(len(X)), left])
    fitted = basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-11)


def test_ends_when_nothing_is_left():
    X = np.arange(6.0)[:, None]
    y = np.where(X[:, 0] > 2.5, 2.0, -1.0)
    model = L2BoostingRegressor(1000, learning_rate=1.0).fit(X, y)
    assert model.n_estimators_ == len(model.stump_left_) == 1
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-14)
    np.testing.assert_allclose(model.train_path_, [2.25, 0], atol=1e-15)
    slow = L2BoostingRegressor(10_000, learning_rate=0.1).fit(X, y)
    assert 250 < slow.n_estimators_ < 400  # 0.9^306 is 1e-14
    np.testing.assert_allclose(slow.predict(X), y, rtol=1e-12)


def test_matching_pursuit_bound():
    """[Bach, §10.3.3]: with steps of 1 the risk is at most gauge(y)^2 t^(-1/3)."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 6))
    left, _ = left_of_cuts(X, bin_edges_from_quantiles(X, 10))
    columns = left - left.mean(axis=0)
    columns *= np.sqrt(len(X)) / np.linalg.norm(columns, axis=0)
    coefficients = rng.standard_normal(left.shape[1]) * (rng.random(left.shape[1]) < 0.3)
    y = columns @ coefficients
    model = L2BoostingRegressor(500, learning_rate=1.0, max_bins=10).fit(X, y)
    t = np.arange(1, model.n_estimators_ + 1)
    assert (model.train_path_[1:] <= np.abs(coefficients).sum() ** 2 * t ** (-1 / 3)).all()


def test_duplicate_features_tie_to_the_first():
    X, y = additive_data(p=3)
    twice = np.column_stack([X, X[:, ::-1], -X])
    model = L2BoostingRegressor(2000, learning_rate=0.05, max_bins=12).fit(twice, y)
    alone = L2BoostingRegressor(2000, learning_rate=0.05, max_bins=12).fit(X, y)
    assert set(model.stump_features_) <= {0, 1, 2}
    np.testing.assert_array_equal(model.stump_cuts_, alone.stump_cuts_)
    np.testing.assert_allclose(model.predict(twice), alone.predict(X), atol=1e-12)


# --- the model --------------------------------------------------------------------------------


def test_shape_functions_are_centred_and_add_up():
    X, y = additive_data(decimals=1)
    X = np.column_stack([X, np.ones(len(X))])
    weight = np.random.default_rng(5).integers(0, 4, len(y))
    model = L2BoostingRegressor(500, learning_rate=0.1, max_bins=20).fit(X, y, weight)
    assert model.intercept_ == pytest.approx(np.average(y, weights=weight))
    total = np.full(len(X), model.intercept_)
    terms = model.predict_terms(X)
    for j, (edges, values) in enumerate(model.shape_functions_):
        assert len(values) == len(edges) + 1
        own = values[np.searchsorted(edges, X[:, j])]
        np.testing.assert_array_equal(terms[:, j], own)
        assert np.average(own, weights=weight) == pytest.approx(0, abs=1e-12)
        total += own
    np.testing.assert_allclose(model.predict(X), total, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.shape_functions_[5][1], [0.0])
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[5] == 0
    assert set(np.argsort(model.feature_importances_)[-3:]) == {0, 1, 2}


def test_any_rounds_of_the_path():
    X, y = additive_data()
    model = L2BoostingRegressor(60, learning_rate=0.3).fit(X, y)
    rounds = [0, 1, 1, 7, 60]
    path = model.predict_path(X, rounds)
    for prediction, n_rounds in zip(path[1:], rounds[1:]):
        shorter = clone(model).set_params(n_estimators=n_rounds).fit(X, y)
        np.testing.assert_allclose(prediction, shorter.predict(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(path[0], np.full(len(X), model.intercept_))
    for bad in ([61], [-1], [3, 2], [[1]], [1.5], [], 3):
        with pytest.raises(ValueError, match="n_estimators must"):
            model.predict_path(X, bad)


def test_training_depends_on_the_order_of_values_alone():
    X, y = additive_data()
    model = L2BoostingRegressor(200, learning_rate=0.1, max_bins=32)
    plain = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(np.exp(3 * X), y).predict(np.exp(3 * X)), plain, atol=1e-9)


@pytest.mark.parametrize("max_bins", [8, 255])
def test_weights_are_repetitions_and_zeros_are_absences(max_bins):
    X, y = additive_data(n=150)
    weight = np.random.default_rng(6).integers(0, 4, len(y))
    model = L2BoostingRegressor(300, learning_rate=0.1, max_bins=max_bins)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(weighted.stump_cuts_, repeated.stump_cuts_)
    np.testing.assert_allclose(weighted.train_path_, repeated.train_path_, rtol=1e-10)
    for scale in (1e-300, 1e300, 0.1):
        scaled = clone(model).fit(X, y, sample_weight=scale * weight)
        np.testing.assert_allclose(scaled.predict(X), weighted.predict(X), rtol=0, atol=1e-10)
        equal = clone(model).fit(X, y, sample_weight=np.full(len(y), scale))
        np.testing.assert_array_equal(equal.predict(X), clone(model).fit(X, y).predict(X))


def test_given_edges():
    X, y = additive_data(p=3)
    edges = [[-1, 0, 1], [], [0.5]]
    model = L2BoostingRegressor(100, learning_rate=0.1, bin_edges=edges).fit(X, y)
    assert set(model.stump_features_) == {0, 2}
    np.testing.assert_array_equal(model.bin_edges_[0], [-1.0, 0.0, 1.0])
    path, _ = plain_l2_boosting(X, y, [np.array(e) for e in edges], 0.1, 100)
    np.testing.assert_allclose(model.predict(X), path[-1], atol=1e-9)
    # an edge beyond the data is no cut; one without rows between it and the next is the same cut
    model.set_params(bin_edges=[[-1, -0.9999999, 0, 1, 99.0], [77.0], [0.5]]).fit(X, y)
    np.testing.assert_allclose(model.predict(X), path[-1], atol=1e-9)
    with pytest.raises(ValueError, match="bin_edges has edges for 2 features"):
        model.set_params(bin_edges=[[0.0], [1.0]]).fit(X, y)


# --- hard data --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_units_of_y(size, offset):
    X, y = additive_data()
    y = y + offset
    expected = L2BoostingRegressor(100, learning_rate=0.1).fit(X, y).predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L2BoostingRegressor(100, learning_rate=0.1).fit(X, y * size)
        prediction = model.predict(X)
    np.testing.assert_allclose(prediction / size, expected, rtol=1e-9, atol=1e-9)
    assert not np.isnan(model.train_path_).any()


def test_cv_with_huge_targets():
    X, y = additive_data()
    model = L2BoostingRegressor("cv", max_estimators=300, learning_rate=0.05, cv=KFold(3))
    rounds = clone(model).fit(X, y).n_estimators_
    assert 0 < rounds < 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(model).fit(X, y * 1e200).n_estimators_ == rounds


@pytest.mark.parametrize("n_estimators", [10, "cv"])
def test_nothing_to_learn(n_estimators):
    model = L2BoostingRegressor(n_estimators, cv=3)
    X, y = additive_data(n=40)
    flat = model.fit(np.ones((40, 2)), y)
    assert flat.n_estimators_ == 0
    np.testing.assert_allclose(flat.predict(np.zeros((3, 2))), y.mean())
    np.testing.assert_array_equal(flat.feature_importances_, [0, 0])
    constant = model.fit(X, np.full(40, 1e5 / 3))
    assert constant.n_estimators_ == 0
    np.testing.assert_allclose(constant.predict(X), 1e5 / 3, rtol=1e-14)
    np.testing.assert_allclose(constant.train_path_, [0], atol=1e-20)


def test_one_and_two_rows():
    one = L2BoostingRegressor().fit([[1.0, 2.0]], [3.0])
    np.testing.assert_array_equal(one.predict([[0.0, 0.0], [9.0, 9.0]]), [3.0, 3.0])
    two = L2BoostingRegressor(1, learning_rate=1.0).fit([[1.0], [2.0]], [3.0, 5.0])
    np.testing.assert_allclose(two.predict([[1.0], [1.5], [1.6], [2.0]]), [3, 3, 5, 5])


def test_rows_of_very_different_weight():
    X, y = additive_data(n=100)
    weight = np.where(np.arange(100) % 2 == 0, 1.0, 1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L2BoostingRegressor(500, learning_rate=0.1).fit(X, y, weight)
    without = L2BoostingRegressor(500, learning_rate=0.1).fit(X[::2], y[::2])
    np.testing.assert_allclose(model.train_path_, without.train_path_, rtol=1e-8)


def test_bad_weights_are_refused():
    X, y = additive_data(n=20)
    for bad in (-np.ones(20), np.zeros(20), np.full(20, np.nan), np.ones(19)):
        with pytest.raises(ValueError, match=r"[Ww]eight|NaN"):
            L2BoostingRegressor().fit(X, y, sample_weight=bad)


# --- cross-validation -------------------------------------------------------------------------


def test_cv_path_is_that_of_refits():
    X, y = additive_data()
    edges = bin_edges_from_quantiles(X, 16)
    folds = KFold(4, shuffle=True, random_state=0)
    model = L2BoostingRegressor(
        "cv", cv=folds, max_estimators=400, learning_rate=0.1, bin_edges=edges
    ).fit(X, y)
    assert model.cv_path_.shape == (401, 4)
    for n_rounds in (1, 2, 50, model.n_estimators_, 400):
        refit = clone(model).set_params(n_estimators=n_rounds)
        scores = cross_val_score(refit, X, y, cv=folds, scoring="neg_mean_squared_error")
        np.testing.assert_allclose(model.cv_path_[n_rounds], -scores, rtol=1e-9)
    assert model.n_estimators_ == model.cv_path_.mean(axis=1).argmin()
    alone = clone(model).set_params(n_estimators=model.n_estimators_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-12)
    for fold, (train, test) in enumerate(folds.split(X)):
        variance = np.mean((y[test] - y[train].mean()) ** 2)
        assert model.cv_path_[0, fold] == pytest.approx(variance)
    assert not hasattr(alone, "cv_path_")
    assert not hasattr(model.set_params(n_estimators=3).fit(X, y), "cv_path_")


def test_weighted_cv_path_with_rows_never_held_out():
    X, y = additive_data()
    rng = np.random.default_rng(7)
    weight = rng.exponential(size=len(y)) * (rng.random(len(y)) < 0.8)
    number = rng.integers(-1, 3, len(y))
    model = L2BoostingRegressor(
        "cv",
        cv=PredefinedSplit(number),
        max_estimators=200,
        learning_rate=0.1,
        bin_edges=bin_edges_from_quantiles(X, 10),
    ).fit(X, y, weight)
    for fold in range(3):
        train, test = number != fold, number == fold
        refit = clone(model).set_params(n_estimators=200)
        refit.fit(X[train], y[train], weight[train])
        for n_rounds, prediction in zip(range(1, 201), refit.staged_predict(X[test])):
            error = np.average((y[test] - prediction) ** 2, weights=weight[test])
            assert model.cv_path_[n_rounds, fold] == pytest.approx(error, rel=1e-9)


def test_path_of_a_fold_that_is_learned_before_the_end():
    X = np.tile(np.arange(6.0), 4)[:, None]
    y = (X[:, 0] > 2.5).astype(float)
    model = L2BoostingRegressor("cv", learning_rate=1.0, max_estimators=50, cv=4)
    path = model.fit(X, y).cv_path_
    assert path.shape == (51, 4)
    np.testing.assert_allclose(path[1:], 0, atol=1e-14)
    assert model.n_estimators_ == 1


def test_an_integer_does_not_shuffle_and_a_splitter_may():
    X, y = additive_data(n=120)
    model = L2BoostingRegressor("cv", max_estimators=100, learning_rate=0.1)
    by_count = clone(model).set_params(cv=4).fit(X, y).cv_path_
    np.testing.assert_array_equal(clone(model).set_params(cv=KFold(4)).fit(X, y).cv_path_, by_count)
    shuffled = KFold(4, shuffle=True, random_state=1)
    assert not np.array_equal(clone(model).set_params(cv=shuffled).fit(X, y).cv_path_, by_count)


def test_rows_of_weight_0_are_in_no_fold_of_an_integer():
    X, y = additive_data(n=120)
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    weight[:40] = 0  # a whole fold of all the rows
    kept = np.flatnonzero(weight)
    model = L2BoostingRegressor("cv", max_estimators=50, learning_rate=0.1, cv=3)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    dropped = clone(model).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(weighted.cv_path_, dropped.cv_path_, rtol=1e-12)
    np.testing.assert_allclose(weighted.predict(X), dropped.predict(X), rtol=1e-12)


def test_folds_by_groups():
    X, y = additive_data(n=120)
    model = L2BoostingRegressor("cv", max_estimators=100, learning_rate=0.1)
    groups = np.arange(120) // 10
    splits = list(GroupKFold(4).split(X, y, groups))
    by_group = clone(model).set_params(cv=splits).fit(X, y)
    number = np.zeros(120, dtype=int)
    for fold, (_, test) in enumerate(splits):
        number[test] = fold
    predefined = clone(model).set_params(cv=PredefinedSplit(number)).fit(X, y)
    np.testing.assert_array_equal(by_group.cv_path_, predefined.cv_path_)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (TimeSeriesSplit(3), "must train on exactly the rows that it does not test on"),
        (ShuffleSplit(20, random_state=0), "must not test on a row in more than one split"),
        ([([0, 1], [2, 999])], "out of bounds for X with 40 rows"),
        (41, "n_splits=41"),
        (PredefinedSplit([0] * 20 + [-1] * 20), "has no weight to train or to test on"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    X, y = additive_data(n=40)
    weight = None
    if isinstance(cv, PredefinedSplit):  # which then trains on no row
        weight = (np.arange(40) < 20).astype(float)
    model = L2BoostingRegressor("cv", cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, weight)
    with pytest.raises(NotFittedError):
        model.predict(X)


# --- chunks and memory ------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_make_the_model_of_one_fit(weighted):
    X, y = additive_data(n=500)
    weight = np.random.default_rng(8).exponential(size=500) if weighted else None
    model = L2BoostingRegressor(500, learning_rate=0.1, bin_edges=bin_edges_from_quantiles(X, 20))
    whole = clone(model).fit(X, y, weight)
    chunked = clone(model)
    for rows in np.split(np.arange(500), [50, 51, 300]):
        part = None if weight is None else weight[rows]
        assert chunked.partial_fit(X[rows], y[rows], part) is chunked
    np.testing.assert_array_equal(chunked.stump_features_, whole.stump_features_)
    np.testing.assert_array_equal(chunked.stump_cuts_, whole.stump_cuts_)
    np.testing.assert_allclose(chunked.predict(X), whole.predict(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(chunked.train_path_, whole.train_path_, rtol=1e-10)
    assert chunked.intercept_ == pytest.approx(whole.intercept_, rel=1e-12)


def test_chunks_with_cross_validation():
    X, y = additive_data(n=300)
    edges = bin_edges_from_quantiles(X, 12)
    model = L2BoostingRegressor(
        "cv", cv=KFold(3), max_estimators=200, learning_rate=0.1, bin_edges=edges
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
    whole = clone(model).set_params(cv=PredefinedSplit(number)).fit(X, y)
    np.testing.assert_allclose(chunked.cv_path_, whole.cv_path_, rtol=1e-9)
    assert chunked.n_estimators_ == whole.n_estimators_
    with pytest.raises(ValueError, match="same number of folds"):
        chunked.set_params(cv=4).partial_fit(X, y)


def test_chunks_keep_the_bins_of_the_first(tmp_path):
    X, y = additive_data(n=200)
    model = L2BoostingRegressor(50, max_bins=9, learning_rate=0.1)
    model.partial_fit(X[:100], y[:100])
    np.testing.assert_equal(model.bin_edges_, bin_edges_from_quantiles(X[:100], 9))
    resumed = pickle.loads(pickle.dumps(model))
    for each in (model, resumed):
        each.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(resumed.predict(X), model.predict(X))
    whole = clone(model).set_params(bin_edges=model.bin_edges_).fit(X, y)
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
    model = L2BoostingRegressor(100, learning_rate=0.1, max_bins=8)
    scaled, plain = clone(model), clone(model)
    for rows in (slice(0, 50), slice(50, 100)):
        scaled.partial_fit(X[rows], y[rows], size * weight[rows])
        plain.partial_fit(X[rows], y[rows], weight[rows])
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=0, atol=1e-12)


def test_a_chunk_that_is_refused_changes_nothing():
    X, y = additive_data(n=100)
    model = L2BoostingRegressor(20).partial_fit(X, y)
    expected = clone(model).partial_fit(X, y).partial_fit(X, y).predict(X)
    with pytest.raises(ValueError, match="too large compared with the first chunk"):
        model.partial_fit(X, y * 1e300)
    with pytest.raises(ValueError, match="too large compared with the first chunk"):
        model.partial_fit(X, y, np.full(100, 1e200))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, y * np.nan)
    np.testing.assert_array_equal(model.partial_fit(X, y).predict(X), expected)


@pytest.fixture
def counted(monkeypatch):
    """The groups that have been counted, in order."""
    groups = []
    by_cut, by_feature = CountedGram._count_cut, CountedGram._count_feature

    def count_cut(self, k):
        groups.append(k)
        return by_cut(self, k)

    def count_feature(self, j):
        groups.append(self.n_cuts + j)
        return by_feature(self, j)

    monkeypatch.setattr(CountedGram, "_count_cut", count_cut)
    monkeypatch.setattr(CountedGram, "_count_feature", count_feature)
    return groups


@pytest.mark.parametrize("n_estimators", [500, "cv"])
@pytest.mark.parametrize("cuts_kept", [1, 20, 40])
def test_little_memory_makes_the_same_model(n_estimators, cuts_kept, counted):
    X, y = additive_data(p=6)
    model = L2BoostingRegressor(
        n_estimators, max_estimators=500, learning_rate=0.1, max_bins=16, cv=3
    )
    ample = clone(model).fit(X, y)
    assert len(counted) == len(set(counted)) <= 6
    once = len(counted)
    copies = 2 if n_estimators == 500 else 5
    tight = clone(model).set_params(max_memory=(cuts_kept + 0.5) * copies * 90 * 8 / 2**20)
    tight.fit(X, y)
    assert len(counted) > 2 * once + 5
    np.testing.assert_array_equal(tight.stump_cuts_, ample.stump_cuts_)
    np.testing.assert_array_equal(tight.predict(X), ample.predict(X))
    with pytest.raises(ValueError, match=r"max_memory=0\.001 MiB is less than"):
        clone(model).set_params(max_memory=0.001).fit(X, y)
    with pytest.raises(ValueError, match="sums over all pairs of the 90 cuts"):
        clone(tight).partial_fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_counted_by_feature_by_cut_and_over_rows(n_folds, weighted):
    rng = np.random.default_rng(10)
    X = np.column_stack([rng.standard_normal((80, 3)), np.ones(80), rng.random(80) < 0.3])
    edges = [*bin_edges_from_quantiles(X[:, :3], 6), *bin_edges_from_quantiles(X[:, 3:], 9)]
    edges[1] = edges[1][:2]
    weight = rng.exponential(size=80) if weighted else None
    folds = rng.integers(0, n_folds, 80) if n_folds > 1 else None
    codes, offsets = bin_codes(X, edges), cut_offsets(edges)
    rows = {"sample_weight": weight, "folds": folds}
    y = rng.standard_normal(80)
    sums = cut_sums(codes, offsets, y, n_folds=n_folds, **rows)
    left, _ = left_of_cuts(X, edges)
    for fold in range(n_folds):
        w = np.ones(80) if weight is None else weight
        w = w if folds is None else w * (folds == fold)
        np.testing.assert_allclose(sums.left_weight[fold], w @ left, rtol=1e-12)
        np.testing.assert_allclose(sums.left_y[fold], (w * y) @ left, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            [sums.weight[fold], sums.y[fold], sums.yy[fold]], [w.sum(), w @ y, w @ y**2]
        )
        gram = CountedGram(codes, offsets, sums.left_weight, **rows)
        products = left.T @ (w[:, None] * left)
        for group in range(gram.n_cuts + len(edges)):
            expected = products[gram.cuts_of(group)]
            np.testing.assert_allclose(gram.block(group)[fold], expected, rtol=1e-10, atol=1e-12)


def test_whole_features_are_counted_once_that_pays(counted):
    X, y = additive_data(n=400, p=10)
    left, right = (L2BoostingRegressor(n, learning_rate=0.1, max_bins=255) for n in (3, 2000))
    left.fit(X, y)
    assert counted
    assert all(group < 2540 for group in counted)
    counted.clear()
    right.fit(X, y)
    whole = [group - 2540 for group in counted if group >= 2540]
    assert set(whole) & {0, 1, 2}
    for j in whole:  # no cut of its own after that
        after = counted[counted.index(2540 + j) + 1 :]
        assert not any(254 * j <= group < 254 * (j + 1) for group in after)


@pytest.mark.parametrize("n_estimators", [300, "cv"])
def test_few_rows_and_many_cuts(n_estimators):
    """More columns than rows: cuts are counted one by one, here few at a time."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((60, 200))
    y = np.sign(X[:, 7]) + X[:, 70] + 0.1 * rng.standard_normal(60)
    model = L2BoostingRegressor(n_estimators, max_estimators=300, learning_rate=0.1, cv=3).fit(X, y)
    path, _ = plain_l2_boosting(X, y, model.bin_edges_, 0.1, model.n_estimators_)
    np.testing.assert_allclose(model.predict(X), path[-1], rtol=0, atol=1e-8)
    tight = clone(model).set_params(max_memory=2.0).fit(X, y)
    np.testing.assert_array_equal(tight.predict(X), model.predict(X))


def test_features_that_are_never_chosen_are_never_counted(counted):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((400, 10))
    y = 10 * X[:, 3] + rng.standard_normal(400)
    L2BoostingRegressor(20, learning_rate=0.1, max_bins=16).fit(X, y)
    assert counted == [150 + 3]


def test_memory_beside_X():
    """No copy of X, in either order: bins of one byte and a few columns at a time."""
    X, y = additive_data(n=60_000, p=20)
    L2BoostingRegressor(2).fit(X[:50], y[:50])
    for order in "CF":
        data = np.asarray(X, order=order)
        tracemalloc.start()
        L2BoostingRegressor(1000, max_bins=16).fit(data, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.8 * X.nbytes


def test_verbose_prints_progress(capsys):
    X, y = additive_data(n=60)
    model = L2BoostingRegressor("cv", max_estimators=20, cv=2)
    model.fit(X, y)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert err == ""  # scikit-learn prints to standard output
    assert "L2BoostingRegressor, fold 2 of 2: 20/20 rounds" in out
    assert "rounds have the least mean error over the folds" in out
    X = np.arange(6.0)[:, None]
    L2BoostingRegressor(50, learning_rate=1.0, verbose=1).fit(X, (X[:, 0] > 2.5) * 1.0)
    assert "1/50 rounds" in capsys.readouterr().out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_compiled_and_array_loops_give_the_same_sums(weighted, n_folds):
    rng = np.random.default_rng(0)
    n, n_cuts = 500, np.array([3, 0, 7, 300])
    codes = np.asfortranarray(rng.integers(n_cuts + 1, size=(n, 4)).astype(np.uint16))
    offsets = np.concatenate([[0], np.cumsum(n_cuts)])
    y = rng.standard_normal(n)
    options = {
        "sample_weight": rng.random(n) if weighted else None,
        "folds": rng.integers(n_folds, size=n, dtype=np.uint8) if n_folds > 1 else None,
    }

    def sums_and_tables():
        sums = cut_sums(codes, offsets, y, n_folds=n_folds, **options)
        gram = CountedGram(codes, offsets, sums.left_weight, **options)
        return sums.left_weight, sums.left_y, *gram._tables(0, [2, 3]), *gram._tables(3, [0])

    fast = sums_and_tables()
    with numba_disabled():
        slow = sums_and_tables()
    for mine, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)
