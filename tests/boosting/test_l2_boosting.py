"""L2-boosting from sums against the plain loop over residuals, and against scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import (
    KFold,
)

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds

from .l2_boosting_data import PLAIN, additive_data, left_of_cuts, plain_l2_boosting, quantile_edges

# --- the rounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("learning_rate", [0.01, 0.1, 1.0])
def test_rounds_are_those_of_the_plain_loop(learning_rate, weighted):
    X, y = additive_data()
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    model = L2BoostingRegressor(1000, learning_rate=learning_rate, max_bins=16, **PLAIN)
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
    np.testing.assert_allclose(model.train_scores_, errors, rtol=1e-9)


def test_same_as_scikit_learns_boosting_of_stumps():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 8, (500, 4)).astype(float)
    y = rng.standard_normal(8)[X[:, 0].astype(int)] + np.abs(X[:, 1] - 4)
    y += 0.1 * rng.standard_normal(500)
    theirs = GradientBoostingRegressor(n_estimators=300, learning_rate=0.1, max_depth=1).fit(X, y)
    ours = L2BoostingRegressor(300, learning_rate=0.1, **PLAIN).fit(X, y)
    new = rng.uniform(-1, 8, (200, 4))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.train_scores_[1:], theirs.train_score_, rtol=1e-9)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, rtol=0, atol=1e-2
    )  # theirs averages shares over trees, ours shares the total


def test_no_drift_in_many_rounds():
    """After 300,000 rounds each is still least squares on the residuals of the rows."""
    X, y = additive_data(n=200, p=4)
    n_rounds, rate = 300_000, 1e-3
    model = L2BoostingRegressor(n_rounds, learning_rate=rate, max_bins=8, **PLAIN).fit(X, y)
    assert model.n_estimators_ == n_rounds
    left, names = left_of_cuts(X, model.bin_edges_)
    z = left - left.mean(axis=0)
    z /= np.linalg.norm(z, axis=0)
    checked = [1, 1000, 30_000, 100_000, 299_999]
    for before, prediction in zip(checked, model.predict_path(X, checked)):
        residual = y - prediction
        np.testing.assert_allclose(np.mean(residual**2), model.train_scores_[before], rtol=1e-11)
        correlations = np.abs(z.T @ residual)
        k = names.index((model.stump_features_[before], model.stump_cuts_[before]))
        step = abs(model.stump_left_[before] - model.stump_right_[before])
        step *= np.linalg.norm(left[:, k] - left[:, k].mean()) / rate
        assert abs(step - correlations.max()) < 1e-12 * np.linalg.norm(y)


def test_the_limit_is_the_least_squares_fit():
    X, y = additive_data(n=200, p=4)
    model = L2BoostingRegressor(10**6, learning_rate=1.0, max_bins=8, **PLAIN).fit(X, y)
    assert model.n_estimators_ < 10**5  # then the residuals were orthogonal to every stump
    left, _ = left_of_cuts(X, model.bin_edges_)
    basis = np.column_stack([np.ones(len(X)), left])
    fitted = basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-11)


def test_ends_when_nothing_is_left():
    X = np.arange(6.0)[:, None]
    y = np.where(X[:, 0] > 2.5, 2.0, -1.0)
    model = L2BoostingRegressor(1000, learning_rate=1.0, **PLAIN).fit(X, y)
    assert model.n_estimators_ == len(model.stump_left_) == 1
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-14)
    np.testing.assert_allclose(model.train_scores_, [2.25, 0], atol=1e-15)
    slow = L2BoostingRegressor(10_000, learning_rate=0.1, **PLAIN).fit(X, y)
    assert 250 < slow.n_estimators_ < 400  # 0.9^306 is 1e-14
    np.testing.assert_allclose(slow.predict(X), y, rtol=1e-12)


def test_matching_pursuit_bound():
    """[Bach, §10.3.3]: with steps of 1 the risk is at most gauge(y)^2 t^(-1/3)."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 6))
    left, _ = left_of_cuts(X, quantile_edges(X, 10))
    columns = left - left.mean(axis=0)
    columns *= np.sqrt(len(X)) / np.linalg.norm(columns, axis=0)
    coefficients = rng.standard_normal(left.shape[1]) * (rng.random(left.shape[1]) < 0.3)
    y = columns @ coefficients
    model = L2BoostingRegressor(500, learning_rate=1.0, max_bins=10, **PLAIN).fit(X, y)
    t = np.arange(1, model.n_estimators_ + 1)
    assert (model.train_scores_[1:] <= np.abs(coefficients).sum() ** 2 * t ** (-1 / 3)).all()


def test_duplicate_features_tie_to_the_first():
    X, y = additive_data(p=3)
    twice = np.column_stack([X, X[:, ::-1], -X])
    model = L2BoostingRegressor(2000, learning_rate=0.05, max_bins=12, **PLAIN).fit(twice, y)
    alone = L2BoostingRegressor(2000, learning_rate=0.05, max_bins=12, **PLAIN).fit(X, y)
    assert set(model.stump_features_) <= {0, 1, 2}
    np.testing.assert_array_equal(model.stump_cuts_, alone.stump_cuts_)
    np.testing.assert_allclose(model.predict(twice), alone.predict(X), atol=1e-12)


# --- the model --------------------------------------------------------------------------------


def test_shape_functions_are_centred_and_add_up():
    X, y = additive_data(decimals=1)
    X = np.column_stack([X, np.ones(len(X))])
    weight = np.random.default_rng(5).integers(0, 4, len(y))
    model = L2BoostingRegressor(500, learning_rate=0.1, max_bins=20, **PLAIN).fit(X, y, weight)
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
    model = L2BoostingRegressor(60, learning_rate=0.3, **PLAIN).fit(X, y)
    rounds = [0, 1, 1, 7, 60]
    path = model.predict_path(X, rounds)
    for prediction, n_rounds in zip(path[1:], rounds[1:]):
        shorter = clone(model).set_params(n_estimators=n_rounds).fit(X, y)
        np.testing.assert_allclose(prediction, shorter.predict(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(path[0], np.full(len(X), model.intercept_), rtol=1e-14)
    for bad in ([61], [-1], [3, 2], [[1]], [1.5], [], 3):
        with pytest.raises(ValueError, match="n_estimators must"):
            model.predict_path(X, bad)


def test_training_depends_on_the_order_of_values_alone():
    X, y = additive_data()
    model = L2BoostingRegressor(200, learning_rate=0.1, max_bins=32, **PLAIN)
    plain = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(np.exp(3 * X), y).predict(np.exp(3 * X)), plain, atol=1e-9)


@pytest.mark.parametrize("max_bins", [8, 255])
def test_weights_are_repetitions_and_zeros_are_absences(max_bins):
    X, y = additive_data(n=150)
    weight = np.random.default_rng(6).integers(0, 4, len(y))
    model = L2BoostingRegressor(300, learning_rate=0.1, max_bins=max_bins, **PLAIN)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(weighted.stump_cuts_, repeated.stump_cuts_)
    np.testing.assert_allclose(weighted.train_scores_, repeated.train_scores_, rtol=1e-10)
    for scale in (1e-300, 1e300, 0.1):
        scaled = clone(model).fit(X, y, sample_weight=scale * weight)
        np.testing.assert_allclose(scaled.predict(X), weighted.predict(X), rtol=0, atol=1e-10)
        equal = clone(model).fit(X, y, sample_weight=np.full(len(y), scale))
        np.testing.assert_array_equal(equal.predict(X), clone(model).fit(X, y).predict(X))


def test_given_edges():
    X, y = additive_data(p=3)
    edges = [[-1, 0, 1], [], [0.5]]
    model = L2BoostingRegressor(100, learning_rate=0.1, max_bins=edges, **PLAIN).fit(X, y)
    assert set(model.stump_features_) == {0, 2}
    np.testing.assert_array_equal(model.bin_edges_[0], [-1.0, 0.0, 1.0])
    path, _ = plain_l2_boosting(X, y, [np.array(e) for e in edges], 0.1, 100)
    np.testing.assert_allclose(model.predict(X), path[-1], atol=1e-9)
    # an edge beyond the data is no cut; one without rows between it and the next is the same cut
    model.set_params(max_bins=[[-1, -0.9999999, 0, 1, 99.0], [77.0], [0.5]]).fit(X, y)
    np.testing.assert_allclose(model.predict(X), path[-1], atol=1e-9)
    with pytest.raises(ValueError, match="max_bins has edges for 2 features"):
        model.set_params(max_bins=[[0.0], [1.0]]).fit(X, y)


# --- hard data --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_units_of_y(size, offset):
    X, y = additive_data()
    y = y + offset
    expected = L2BoostingRegressor(100, learning_rate=0.1, **PLAIN).fit(X, y).predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L2BoostingRegressor(100, learning_rate=0.1, **PLAIN).fit(X, y * size)
        prediction = model.predict(X)
    np.testing.assert_allclose(prediction / size, expected, rtol=1e-9, atol=1e-9)
    assert not np.isnan(model.train_scores_).any()


def test_cv_with_huge_targets():
    X, y = additive_data()
    model = L2BoostingRegressor(
        CVRounds(KFold(3), max_estimators=900), learning_rate=0.05, max_bins=64, smoothing_rounds=0
    )
    rounds = clone(model).fit(X, y).n_estimators_
    assert 0 < rounds < 900
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(model).fit(X, y * 1e200).n_estimators_ == rounds


@pytest.mark.parametrize("n_estimators", [10, "cv"])
def test_nothing_to_learn(n_estimators):
    model = L2BoostingRegressor(CVRounds(3))
    X, y = additive_data(n=40)
    flat = model.fit(np.ones((40, 2)), y)
    assert flat.n_estimators_ == 0
    np.testing.assert_allclose(flat.predict(np.zeros((3, 2))), y.mean())
    np.testing.assert_array_equal(flat.feature_importances_, [0, 0])
    constant = model.fit(X, np.full(40, 1e5 / 3))
    assert constant.n_estimators_ == 0
    np.testing.assert_allclose(constant.predict(X), 1e5 / 3, rtol=1e-14)
    np.testing.assert_allclose(constant.train_scores_, [0], atol=1e-20)


def test_one_and_two_rows():
    one = L2BoostingRegressor().fit([[1.0, 2.0]], [3.0])
    np.testing.assert_array_equal(one.predict([[0.0, 0.0], [9.0, 9.0]]), [3.0, 3.0])
    two = L2BoostingRegressor(1, learning_rate=1.0, **PLAIN).fit([[1.0], [2.0]], [3.0, 5.0])
    np.testing.assert_allclose(two.predict([[1.0], [1.5], [1.6], [2.0]]), [3, 3, 5, 5])


def test_rows_of_very_different_weight():
    X, y = additive_data(n=100)
    weight = np.where(np.arange(100) % 2 == 0, 1.0, 1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L2BoostingRegressor(500, learning_rate=0.1, **PLAIN).fit(X, y, weight)
    without = L2BoostingRegressor(500, learning_rate=0.1, **PLAIN).fit(X[::2], y[::2])
    np.testing.assert_allclose(model.train_scores_, without.train_scores_, rtol=1e-8)


def test_bad_weights_are_refused():
    X, y = additive_data(n=20)
    for bad in (-np.ones(20), np.zeros(20), np.full(20, np.nan), np.ones(19)):
        with pytest.raises(ValueError, match=r"[Ww]eight|NaN"):
            L2BoostingRegressor().fit(X, y, sample_weight=bad)
