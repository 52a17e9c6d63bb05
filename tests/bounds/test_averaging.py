"""The bounds on averaged predictors, each against a simulation that it has to hold for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor, bounds
from sklearn_ensemble_theory import bagged_nearest_neighbors_weights as weights
from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators

LIPSCHITZ, DIAMETER = 3.0, math.sqrt(2)  # of `linear` on the unit square


def linear(X):
    return X @ np.array([1.8, 2.4])


def squared_errors(n, noise, predict, draws=2_000, seed=0):
    """(prediction - f)^2 of each of many data sets at one point of the unit square.

    `predict` gets the targets of a data set, the nearest row first, along the last axis.
    """
    rng = np.random.default_rng(seed)
    X, x = rng.random((draws, n, 2)), rng.random((draws, 1, 2))
    y = linear(X) + noise * rng.standard_normal((draws, n))
    order = np.argsort(((X - x) ** 2).sum(axis=2), axis=1)
    return (predict(np.take_along_axis(y, order, axis=1)) - linear(x[:, 0])) ** 2


@pytest.mark.parametrize("n", [2, 10, 100, 10_000])
def test_variance_bound_holds_for_the_weights(n):
    for s in sorted({1, 2, n // 10 or 1, n // 3 or 1, n // 2, n - 1, n}):
        bound = bounds.bagged_neighbors_variance_bound(n, s)
        assert np.sum(weights(n, s) ** 2) <= bound * (1 + 1e-12)  # equal at s = 1


def test_variance_bound_is_twice_the_variance_of_small_shares():
    n, s = 10**6, 2_000
    bound = bounds.bagged_neighbors_variance_bound(n, s, noise_variance=4.0)
    assert bound / (4 * np.sum(weights(n, s) ** 2)) == pytest.approx(2, rel=0.01)


def test_variance_of_predictions_over_fresh_noise():
    """Simulated variance = sigma^2 sum V_i^2, and the bound without sigma^2 is below it."""
    n, s, sigma = 400, 40, 3.0
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    Y = sigma * rng.standard_normal((n, 4_000))  # an output for every draw of the noise
    predictions = BaggedNearestNeighborsRegressor(max_samples=s).fit(X, Y).predict([[0.4, 0.6]])
    simulated = predictions.var()
    assert simulated == pytest.approx(sigma**2 * np.sum(weights(n, s) ** 2), rel=0.07)
    assert simulated <= bounds.bagged_neighbors_variance_bound(n, s, sigma**2)
    assert simulated > bounds.bagged_neighbors_variance_bound(n, s)  # as printed


@pytest.mark.parametrize("sigma", [0.3, 5.0])
@pytest.mark.parametrize("s", [5, 40, 200])
def test_risk_bound_holds(s, sigma):
    n, w = 400, weights(400, s)
    errors = squared_errors(n, sigma, lambda y: y[:, : len(w)] @ w)
    constants = {"lipschitz": LIPSCHITZ, "diameter": DIAMETER}
    bound = bounds.bagged_neighbors_risk_bound(n, s, 2, noise_variance=sigma**2, **constants)
    assert errors.mean() + 3 * errors.std() / np.sqrt(len(errors)) <= bound


def test_weights_on_sorted_rows_are_the_estimator():
    rng = np.random.default_rng(0)
    X, x = rng.random((50, 2)), rng.random((1, 2))
    y = rng.standard_normal(50)
    order = np.argsort(((X - x) ** 2).sum(axis=1))
    model, w = BaggedNearestNeighborsRegressor(max_samples=10).fit(X, y), weights(50, 10)
    assert model.predict(x)[0] == pytest.approx(y[order][: len(w)] @ w)


def test_printed_risk_bound_without_the_noise_variance_fails():
    """A constant function (B = 0) leaves the variance alone: 12.5 s/n against s/n printed."""
    n, s, sigma = 400, 20, 5.0
    rng = np.random.default_rng(0)
    Y = sigma * rng.standard_normal((n, 500))
    model = BaggedNearestNeighborsRegressor(max_samples=s).fit(rng.random((n, 2)), Y)
    simulated = np.mean(model.predict(rng.random((50, 2))) ** 2)
    printed = bounds.bagged_neighbors_risk_bound(n, s, 2, lipschitz=0.0)
    corrected = bounds.bagged_neighbors_risk_bound(n, s, 2, lipschitz=0.0, noise_variance=25.0)
    assert 5 * printed < simulated <= corrected


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("sigma2", [0.0, 0.1, 10.0, 1e4])
def test_optimal_size_is_the_best_of_all(d, sigma2):
    n = 300
    values = [
        bounds.bagged_neighbors_risk_bound(n, s, d, diameter=2.0, noise_variance=sigma2)
        for s in range(1, n + 1)
    ]
    best = bounds.bagged_neighbors_optimal_max_samples(n, d, diameter=2.0, noise_variance=sigma2)
    assert best == 1 + int(np.argmin(values))


def test_optimal_size_grows_at_the_rate():
    d, sigma2 = 5, 4.0
    for n in (10**6, 10**9):
        best = bounds.bagged_neighbors_optimal_max_samples(n, d, noise_variance=sigma2)
        expected = (8 * n / (d * sigma2)) ** (d / (d + 2))
        assert best == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("m", [1, 6])
def test_independent_data_sets_divide_the_variance_and_keep_the_bias(m):
    n, k, sigma, draws = 100, 4, 2.0, 1_500
    rng = np.random.default_rng(0)
    X, x = rng.random((draws, m, n, 2)), np.array([0.3, 0.6])
    y = linear(X) + sigma * rng.standard_normal((draws, m, n))
    nearest = np.argpartition(((X - x) ** 2).sum(axis=3), k, axis=2)[:, :, :k]
    runs = np.take_along_axis(y, nearest, axis=2).mean(axis=(1, 2))
    one = KNeighborsRegressor(k).fit(X[0, 0], y[0, 0]).predict([x])[0]
    assert one == pytest.approx(y[0, 0, nearest[0, 0]].mean())
    # The noise gives sigma^2 / (k m); the places of the rows add a little.
    variance = runs.var()
    assert sigma**2 / (k * m) * 0.9 < variance < sigma**2 / (k * m) * 1.2
    errors = (runs - linear(x)) ** 2
    constants = {"lipschitz": LIPSCHITZ, "diameter": DIAMETER, "noise_variance": sigma**2}
    bound = bounds.independent_neighbors_risk_bound(n, k, 2, m, **constants)
    assert errors.mean() + 3 * errors.std() / np.sqrt(draws) <= bound


def test_best_number_of_neighbors_falls_with_the_number_of_data_sets():
    """k^(1+2/d) = const n^(2/d) / m, derived in the text; the printed bound has no m to give it."""
    n, d = 10**7, 2
    best = {}
    for m in (1, 16):
        values = [bounds.independent_neighbors_risk_bound(n, k, d, m) for k in range(1, 3_000)]
        best[m] = 1 + int(np.argmin(values))
    assert best[1] / best[16] == pytest.approx(16 ** (d / (d + 2)), rel=0.02)
    pooled = bounds.independent_neighbors_risk_bound(16 * n, round(best[1] * 16**0.5), d)
    split = bounds.independent_neighbors_risk_bound(n, best[16], d, 16)
    assert split == pytest.approx(pooled, rel=0.02)  # no statistical gain or loss from splitting


def test_voting_errs_at_most_twice_as_often():
    """Votes of 11 over errors that vary from point to point, and the case of equality."""
    rng = np.random.default_rng(0)
    chance = rng.beta(0.5, 1.5, size=20_000)  # of an error, at each point
    votes = rng.random((11, len(chance))) < chance
    voted = (votes.mean(axis=0) >= 0.5).mean()
    assert voted <= bounds.voting_error_bound(chance.mean())
    half = np.where(np.arange(1_000) < 300, 0.5, 0.0)  # averaged: wrong where >= 1/2 are wrong
    assert (half >= 0.5).mean() == bounds.voting_error_bound(half.mean())
    np.testing.assert_array_equal(bounds.voting_error_bound([0.0, 0.2, 0.9]), [0.0, 0.4, 1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.bagged_neighbors_variance_bound(10, 11), "max_samples"),
        (lambda: bounds.bagged_neighbors_variance_bound(0, 1), "n_samples"),
        (lambda: bounds.bagged_neighbors_variance_bound(10, 1, -1.0), "noise_variance"),
        (lambda: bounds.bagged_neighbors_risk_bound(10, 5, 1), "n_features"),
        (lambda: bounds.bagged_neighbors_risk_bound(10, 5, 2, lipschitz=-1), "lipschitz"),
        (lambda: bounds.bagged_neighbors_risk_bound(10, 5, 2, diameter=0), "diameter"),
        (lambda: bounds.bagged_neighbors_optimal_max_samples(10, 1), "n_features"),
        (lambda: bounds.bagged_neighbors_optimal_max_samples(0, 2), "n_samples"),
        (lambda: bounds.independent_neighbors_risk_bound(10, 11, 2), "n_neighbors"),
        (lambda: bounds.independent_neighbors_risk_bound(10, 5, 2, 0), "n_estimators"),
        (lambda: bounds.voting_error_bound(1.1), "error"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n_samples", [1, 2, 10, 1000, 10**7])
@pytest.mark.parametrize("delta", [0.9, 0.5, 0.05, 1e-9])
def test_pac_members_are_the_least_that_the_theorem_allows(n_samples, delta):
    """T >= 18 ln(2 n / delta) [Ghoshdastidar, theorem En.3]: exp(T / 18) >= 2 n / delta."""
    T = bagging_pac_n_estimators(n_samples, delta)
    needed = Fraction(2 * n_samples) / Fraction(delta)
    assert math.exp(T / 18) >= needed > math.exp((T - 1) / 18)


def test_pac_members_grow_with_the_logarithm():
    assert bagging_pac_n_estimators(1000) == bagging_pac_n_estimators(1000, 0.05) == 191
    growth = bagging_pac_n_estimators(10**9) - bagging_pac_n_estimators(10**6)
    assert abs(growth - 18 * math.log(1000)) <= 1
    assert bagging_pac_n_estimators(1, 1e-310) == math.ceil(
        18 * math.log(2) + 18 * 310 * math.log(10)
    )


@pytest.mark.parametrize("n_samples", [0, -3, 2.5, "many"])
def test_pac_members_refuse_a_bad_number_of_rows(n_samples):
    with pytest.raises(ValueError, match="n_samples"):
        bagging_pac_n_estimators(n_samples)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), "small"])
def test_pac_members_refuse_a_bad_probability(delta):
    with pytest.raises(ValueError, match="delta"):
        bagging_pac_n_estimators(100, delta)
