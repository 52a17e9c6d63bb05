"""Averages of members: bounds in simulations, and equalities and optima in other ways."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import pdist
from scipy.stats import binom
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor, bounds
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights as weights
from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators

from ..errata_parts import within

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
        (lambda: bounds.bagged_neighbors_risk_bound(10, 5, 2, diameter=-1), "diameter"),
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


def test_sketch_risk_by_simulation():
    """Least squares on S X and S y for an orthonormal X: any X of this rank has the same risk."""
    n, d, s, m, sigma, draws = 12, 3, 8, 3, 1.5, 15_000
    rng = np.random.default_rng(0)
    X = np.eye(n)[:, :d]
    noise = sigma * rng.standard_normal((draws, 1, n, 1))
    S = rng.standard_normal((draws, m, s, n))
    SX = S @ X
    # X w = 0 without loss of generality: the estimator is linear and unbiased.
    normal = SX.swapaxes(2, 3) @ SX
    fits = np.linalg.solve(normal, SX.swapaxes(2, 3) @ (S @ noise)).mean(axis=1)[..., 0]
    errors = np.sum(fits**2, axis=1) / n
    assert within(errors, bounds.gaussian_sketch_risk(n, d, s, m, sigma**2))
    assert np.std(errors) / np.sqrt(draws) < 0.01 * errors.mean()


def test_sketch_risk_by_hand():
    # sigma^2 d/n = 0.4, and 90 / (10 m) times that.
    assert bounds.gaussian_sketch_risk(100, 10, 21, 9, 4.0) == pytest.approx(0.8, rel=1e-12)
    # All rows: about twice least squares with one sketch.
    assert bounds.gaussian_sketch_risk(100, 10, 100) == pytest.approx(0.1 * (1 + 90 / 89))


def test_number_of_sketches_is_the_smallest():
    for n, d, s, excess in ((1000, 10, 101, 1.0), (1000, 10, 40, 0.1), (50, 50, 60, 1.0)):
        m = bounds.gaussian_sketch_n_estimators(n, d, s, excess)
        assert m == int(m)
        allowed = (1 + excess) * d / n * (1 + 1e-12)
        assert bounds.gaussian_sketch_risk(n, d, s, int(m)) <= allowed
        assert m == 1 or bounds.gaussian_sketch_risk(n, d, s, int(m) - 1) > allowed
    assert bounds.gaussian_sketch_n_estimators(1000, 10, 101) == 11  # 990 / 90
    assert bounds.gaussian_sketch_n_estimators(100, 10, 20, 0.1) == 100  # 90 / 9 / 0.1
    for arguments, message in (
        ((10, 11, 20), "n_features"),
        ((100, 10, 11), "sketch_size"),
        ((100, 10, 20, 0.0), "excess"),
        ((100, 10, 20, 5e-324), "excess"),
    ):
        with pytest.raises(ValueError, match=message):
            bounds.gaussian_sketch_n_estimators(*arguments)


def test_distortion_is_the_largest_relative_error():
    rng = np.random.default_rng(0)
    X, S = rng.standard_normal((40, 12)), rng.standard_normal((12, 6)) / np.sqrt(6)
    ratios = pdist(X @ S, "sqeuclidean") / pdist(X, "sqeuclidean")
    found = bounds.johnson_lindenstrauss_distortion(X, X @ S)
    assert found == pytest.approx(np.abs(ratios - 1).max(), rel=1e-10)


def test_dimension_is_the_smallest_of_the_lemma():
    s = bounds.johnson_lindenstrauss_dimension(100, 0.25, 0.01)
    assert s == math.ceil(96 * math.log(10**6))  # 6 / eps^2 = 96 and n^2 / delta = 10^6


def test_best_subsample_size_by_search_over_all():
    for n, d, variance in ((200, 2, 0.5), (200, 4, 10.0)):
        sizes = range(1, n + 1)
        values = [
            bounds.bagged_neighbors_risk_bound(n, s, d, noise_variance=variance) for s in sizes
        ]
        best = bounds.bagged_neighbors_optimal_max_samples(n, d, noise_variance=variance)
        assert best == 1 + int(np.argmin(values))


def test_number_of_blocks_that_keeps_the_rate():
    assert bounds.divide_and_conquer_n_blocks(10_000, 2) == 100
    assert bounds.divide_and_conquer_n_blocks(4**12, 10) == 16  # n^(1/6)


def test_best_number_of_voting_blocks_by_search_over_all():
    for n, classes, lipschitz in ((400, 2, 0.2), (400, 5, 1.0)):
        options = {"n_classes": classes, "lipschitz": lipschitz}
        values = [
            bounds.independent_neighbors_vote_bound(n, k, 2, **options) for k in range(1, n + 1)
        ]
        assert bounds.neighbors_vote_n_blocks(n, 2, **options) == 1 + int(np.argmin(values))


def test_pac_members_by_hand():
    # 2 n / delta = e^4 within rounding: T = 72.
    assert bounds.bagging_pac_n_estimators(1, 2 * math.exp(-4) * (1 + 1e-12)) == 72
    assert bounds.bagging_pac_n_estimators(1000, 0.05) == math.ceil(18 * math.log(40_000))


def test_pac_members_learn_thresholds():
    """Bagged thresholds, d = 1: epsilon is (d + ln(1/delta)) / n up to a constant, here 1."""
    n, delta, rng = 60, 0.1, np.random.default_rng(0)
    T = bounds.bagging_pac_n_estimators(n, delta)
    risks = []
    for _ in range(1000):
        x = np.sort(rng.random(n))
        drawn = x[rng.integers(n, size=(T, n))]
        # Of the thresholds without an error, the one that is farthest from 0.5 on the right.
        thresholds = np.where(drawn > 0.5, drawn, 1.0).min(axis=1)
        risks.append(np.median(thresholds) - 0.5)
    assert np.mean(np.array(risks) <= (1 + math.log(1 / delta)) / n) >= 1 - delta


def test_steps_of_theorem_en_1():
    """The exercises (1.1) to (3.1), with the exact law of a vote in which ties are votes for 1."""
    for eta in (0.1, 0.5, 0.8):
        p = np.linspace(0, 1, 101)  # of the class 1
        error, least = (1 - p) * eta + p * (1 - eta), min(eta, 1 - eta)
        assert (error >= least - 1e-12).all()  # (1.1)
        wrong = p if eta < 0.5 else 1 - p
        np.testing.assert_allclose(error - least, abs(2 * eta - 1) * wrong, atol=1e-12)  # (1.2)
    for share in (p, 1 - p):  # (2.1), for the classes 1 and 0
        says = share >= 0.5 if share is p else share > 0.5
        assert (says <= bounds.voting_error_bound(share) + 1e-12).all()
    for T in (1, 2, 3, 10, 101):  # (3.1)
        one = binom.sf(math.ceil(T / 2) - 1, T, p)
        assert (one <= 2 * p + 1e-12).all()
        assert (1 - one <= 2 * (1 - p) + 1e-12).all()
    # Without the factor it fails: two members tie on the class 1 more often than one says 1.
    assert binom.sf(0, 2, 0.3) > 1.05 * 0.3


def test_vote_of_equal_errors_attains_twice_the_error():
    """The averaged classifier errs where half of the members do."""
    chance = np.where(np.arange(1000) < 140, 0.5, 0.0)
    assert (chance >= 0.5).mean() == bounds.voting_error_bound(chance.mean())


def correlated_members(n_draws, n_members, rho, variance, seed=0):
    """Draws of members that share a normal variable: any two have the correlation rho >= 0."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n_draws, 1))
    own = rng.standard_normal((n_draws, n_members))
    return np.sqrt(variance) * (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own)


def test_variance_of_an_average_of_correlated_members():
    for members, rho in ((1, 0.3), (5, 0.0), (5, 0.3), (20, 0.8)):
        means = correlated_members(50_000, members, rho, 4.0).mean(axis=1)
        # The standard error is 0.6 % of the variance.
        assert within(means**2, bounds.correlated_average_variance(members, rho, 4.0))


def test_variance_of_an_average_by_its_covariance_matrix():
    for members, rho in ((2, -1.0), (3, -0.5), (3, -0.2), (7, 0.4), (7, 1.0)):
        covariance = 2.0 * (rho + (1 - rho) * np.eye(members))
        expected = np.full(members, 1 / members) @ covariance @ np.full(members, 1 / members)
        found = bounds.correlated_average_variance(members, rho, 2.0)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)
    # Members that cancel, members that are equal, and independent ones.
    assert bounds.correlated_average_variance(3, -0.5) == pytest.approx(0.0, abs=1e-15)
    assert bounds.correlated_average_variance(9, 1.0, 3.0) == 3.0
    assert bounds.correlated_average_variance(4, 0.0, 3.0) == 0.75
    grid = bounds.correlated_average_variance([[1], [10]], [0.0, 0.5])
    np.testing.assert_allclose(grid, [[1.0, 1.0], [0.1, 0.55]])


def test_number_of_correlated_members_is_the_smallest():
    for excess, rho, variance in ((0.3, 0.1, 1.0), (0.01, 0.5, 3.0), (1e-5, 0.9, 1.0)):
        members = bounds.correlated_average_n_estimators(excess, rho, variance)
        assert members == int(members)
        sizes = [int(members), int(members) - 1]
        found = bounds.correlated_average_variance(sizes, rho, variance) - rho * variance
        assert found[0] <= excess * (1 + 1e-9) < found[1]
    assert bounds.correlated_average_n_estimators(0.3, 0.1) == 3  # 0.9 / 0.3
    assert bounds.correlated_average_n_estimators(5.0) == 1
    assert bounds.correlated_average_n_estimators(1e-9, 1.0) == 1


def test_members_of_a_bag_have_the_variance_of_their_correlation():
    """The mean of m nearest neighbours of subsamples, whose correlation is sum V_i^2."""
    n, s, m, draws = 30, 6, 5, 20_000
    rng = np.random.default_rng(0)
    # Rows sorted by distance: the nearest row of a subsample is the smallest of its ranks.
    ranks = rng.random((draws, m, n)).argpartition(s, axis=2)[:, :, :s].min(axis=2)
    noise = rng.standard_normal((draws, n))
    means = np.take_along_axis(noise, ranks, axis=1).mean(axis=1)
    rho = bounds.bagged_neighbors_variance(n, s)
    assert within(means**2, bounds.correlated_average_variance(m, rho))
    assert not within(means**2, bounds.correlated_average_variance(m, 0.0))


def ridge_problem(n=30, d=8, seed=0):
    """A design with eigenvalues of X X'/n that decay, and the means of the targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.arange(1, d + 1)
    f = X @ rng.standard_normal(d)
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    return X, f, values**2 / n, left.T @ f / np.sqrt(n)


def test_risk_of_averaged_ridge_regressions():
    X, f, mu, b = ridge_problem()
    n, sigma, penalty = len(X), 1.5, 0.05
    rng = np.random.default_rng(1)
    for m in (1, 4):
        # All targets as outputs of one fit; the average is over groups of m of them.
        Y = f[:, None] + sigma * rng.standard_normal((n, 4_000 * m))
        fitted = Ridge(alpha=n * penalty, fit_intercept=False).fit(X, Y).predict(X)
        averages = fitted.reshape(n, 4_000, m).mean(axis=2)
        errors = np.mean((averages - f[:, None]) ** 2, axis=0)
        assert within(errors, bounds.averaged_ridge_risk(mu, b, penalty, n, m, sigma**2))


def test_risk_of_averaged_ridge_by_its_matrix():
    """Bias and trace of the matrix of the fitted values, with a part of f outside of its range."""
    X, f, mu, b = ridge_problem()
    n, penalty, m = len(X), 0.2, 3
    H = X @ np.linalg.solve(X.T @ X + n * penalty * np.eye(X.shape[1]), X.T)
    outside = np.random.default_rng(2).standard_normal(n)
    outside -= X @ np.linalg.lstsq(X, outside, rcond=None)[0]
    target = f + outside
    expected = np.mean((H @ target - target) ** 2) + 2.0 / (n * m) * np.sum(H**2)
    values = np.append(mu, 0.0), np.append(b, np.sqrt(np.mean(outside**2)))
    assert bounds.averaged_ridge_risk(*values, penalty, n, m, 2.0) == pytest.approx(
        expected, rel=1e-10
    )
    risks = bounds.averaged_ridge_risk(*values, [[0.1], [0.2]], n, [1, m, 9], 2.0)
    assert risks.shape == (2, 3)
    assert risks[1, 1] == pytest.approx(expected, rel=1e-10)
    # Without regularisation least squares, and with very much of it 0.
    assert bounds.averaged_ridge_risk(mu, b, 1e-12, n) == pytest.approx(len(mu) / n)
    assert bounds.averaged_ridge_risk(mu, b, 1e12, n) == pytest.approx(np.mean(f**2))


def test_averaged_ridge_stays_below_its_bound():
    """Spectra C j^(-a), and functions whose source condition holds with equality."""
    n, rng = 400, np.random.default_rng(0)
    j, penalties = np.arange(1.0, n + 1), np.geomspace(1e-5, 10, 40)
    for a, r, C, R in ((0.7, 0.3, 1.0, 1.0), (2.0, 1.0, 3.0, 0.5), (4.0, 2.0, 1.0, 2.0)):
        mu = C * j**-a
        assumption = {"eigenvalue_decay": a, "source_exponent": r}
        assumption |= {"eigenvalue_scale": C, "source_norm": R, "noise_variance": 2.0}
        for m in (1, 10):
            bound = bounds.averaged_ridge_risk_bound(n, penalties, m, **assumption)
            for _ in range(20):
                b = rng.standard_normal(n) * j ** -rng.uniform(0, 3)
                b *= R / np.sqrt(np.sum(b**2 * mu**-r))
                risk = bounds.averaged_ridge_risk(mu, b, penalties, n, m, 2.0)
                assert np.all(risk <= bound)


def test_constants_of_the_ridge_bound():
    # The variance: the integral that bounds the sum, which many small eigenvalues attain.
    for a in (0.6, 1.0, 2.0, 5.0):
        expected = quad(lambda x, a=a: (1 + x**a) ** -2.0, 0, np.inf)[0]
        found = bounds.averaged_ridge_risk_bound(1, 1.0, eigenvalue_decay=a, source_norm=0.0)
        assert found == pytest.approx(expected, rel=1e-6)
    assert bounds.averaged_ridge_risk_bound(
        10, 0.25, eigenvalue_decay=2.0, source_norm=0.0, noise_variance=4.0
    ) == pytest.approx(4 / 10 * np.pi / 4 * 2)  # by hand: c_2 = pi/4 and lambda^(-1/2) = 2
    mu = np.arange(1.0, 200_001) ** -2.0
    risk = bounds.averaged_ridge_risk(mu, np.zeros(len(mu)), 1e-6, 1)
    bound = bounds.averaged_ridge_risk_bound(1, 1e-6, eigenvalue_decay=2.0)
    assert 0.998 * bound < risk < bound
    # The bias: attained by one coefficient at mu = lambda r / (2 - r).
    for r in (0.2, 1.0, 1.7):
        mu, penalty = 0.3, 0.3 * (2 - r) / r
        worst = bounds.averaged_ridge_risk([mu], [mu ** (r / 2)], penalty, 1, 1, 0.0)
        options = {"eigenvalue_decay": 1.0, "source_exponent": r, "noise_variance": 0.0}
        assert bounds.averaged_ridge_risk_bound(1, penalty, **options) == pytest.approx(worst)
    options = {"eigenvalue_decay": 1.0, "source_exponent": 2.0, "noise_variance": 0.0}
    assert bounds.averaged_ridge_risk_bound(7, 0.1, **options) == pytest.approx(0.01)


def test_best_penalty_of_averaged_ridge():
    for a, r, n, m in ((2.0, 1.0, 1000, 1), (1.5, 0.4, 200, 7), (3.0, 2.0, 50, 100)):
        options = {"eigenvalue_decay": a, "source_exponent": r, "eigenvalue_scale": 2.0}
        options |= {"source_norm": 3.0, "noise_variance": 0.5}

        def bound(log_penalty, n=n, m=m, options=options):
            return bounds.averaged_ridge_risk_bound(n, float(np.exp(log_penalty)), m, **options)

        found = minimize_scalar(bound, bounds=(-30, 5), method="bounded", options={"xatol": 1e-9})
        best = bounds.averaged_ridge_optimal_penalty(n, m, **options)
        assert best == pytest.approx(np.exp(found.x), rel=1e-4)
        # One data set of n m rows has the same penalty and the same bound.
        assert best == pytest.approx(bounds.averaged_ridge_optimal_penalty(n * m, **options))
    penalties = bounds.averaged_ridge_optimal_penalty(100, [1, 16], eigenvalue_decay=2.0)
    assert penalties[0] / penalties[1] == pytest.approx(16 ** (1 / 1.5))


def test_best_number_of_neighbors_by_search_over_all():
    for n, d, m, sigma2 in ((300, 2, 1, 1.0), (300, 2, 9, 1.0), (50, 6, 3, 100.0), (80, 2, 1, 0.0)):
        options = {"lipschitz": 0.5, "diameter": 2.0, "noise_variance": sigma2}
        values = [
            bounds.independent_neighbors_risk_bound(n, k, d, m, **options) for k in range(1, n + 1)
        ]
        best = bounds.independent_neighbors_optimal_n_neighbors(n, d, m, **options)
        assert best == 1 + int(np.argmin(values))
    # B = 0: only the variance is left, and all rows are averaged.
    assert bounds.independent_neighbors_optimal_n_neighbors(40, 3, 2, lipschitz=0.0) == 40
    # The number of data sets from which on one neighbour is the best.
    n, d = 1_000_000, 2
    limit = d * (n / 2) ** (2 / d) / 16
    assert bounds.independent_neighbors_optimal_n_neighbors(n, d, int(2 * limit)) == 1
    assert bounds.independent_neighbors_optimal_n_neighbors(n, d, int(limit / 10)) > 2


def test_cost_of_blocks_counts_operations():
    """Loops over all pairs and triples of rows of a block, as in a kernel method."""
    n = 24
    for m in (1, 2, 3, 8, 24):
        block = range(n // m)
        pairs = sum(1 for _ in range(m) for _ in block for _ in block)
        assert bounds.divide_and_conquer_cost(n, m, 2) == pytest.approx(pairs, rel=1e-12)
        triples = sum(1 for _ in range(m) for _ in block for _ in block for _ in block)
        assert bounds.divide_and_conquer_cost(n, m, 3.0) == pytest.approx(triples, rel=1e-12)
    assert bounds.divide_and_conquer_cost(n, 5, 1) == pytest.approx(n)
    costs = bounds.divide_and_conquer_cost(n, np.arange(1, n + 1), 1.5)
    assert np.all(np.diff(costs) < 0)
    assert bounds.divide_and_conquer_cost(10**6, 1, 400.0) == np.inf


@pytest.mark.parametrize(
    ("name", "arguments", "options", "message"),
    [
        ("correlated_average_variance", (0,), {}, "n_estimators"),
        ("correlated_average_variance", (2.5,), {}, "n_estimators"),
        ("correlated_average_variance", (3, -0.6), {}, "correlation"),
        ("correlated_average_variance", ([2, 3], [-1.0, -1.0]), {}, "correlation"),
        ("correlated_average_variance", (3, 1.1), {}, "correlation"),
        ("correlated_average_variance", (3, 0.1, -1.0), {}, "member_variance"),
        ("correlated_average_n_estimators", (0.0,), {}, "excess"),
        ("correlated_average_n_estimators", (1e-300, 0.0, 1e300), {}, "excess"),
        ("correlated_average_n_estimators", (0.1, -0.1), {}, "correlation"),
        ("averaged_ridge_risk", ([1.0], [1.0, 2.0], 0.1, 10), {}, "eigenvalues and coefficients"),
        ("averaged_ridge_risk", (1.0, 1.0, 0.1, 10), {}, "eigenvalues and coefficients"),
        ("averaged_ridge_risk", ([-1.0], [1.0], 0.1, 10), {}, "eigenvalues"),
        ("averaged_ridge_risk", ([1.0], [1.0], -0.1, 10), {}, "penalty"),
        ("averaged_ridge_risk", ([1.0], [1.0], 0.1, 0), {}, "n_samples"),
        ("averaged_ridge_risk_bound", (10, 0.1), {"eigenvalue_decay": 0.5}, "eigenvalue_decay"),
        (
            "averaged_ridge_risk_bound",
            (10, 0.1),
            {"eigenvalue_decay": 2.0, "source_exponent": 2.1},
            "source_exponent",
        ),
        ("averaged_ridge_risk_bound", (10, -0.1), {"eigenvalue_decay": 2.0}, "penalty"),
        (
            "averaged_ridge_optimal_penalty",
            (10,),
            {"eigenvalue_decay": 2.0, "noise_variance": -1.0},
            "noise_variance",
        ),
        ("averaged_ridge_optimal_penalty", (0,), {"eigenvalue_decay": 2.0}, "n_samples"),
        ("independent_neighbors_optimal_n_neighbors", (10, 1), {}, "n_features"),
        ("independent_neighbors_optimal_n_neighbors", (10, 2, 0), {}, "n_estimators"),
        ("divide_and_conquer_cost", (10, 11, 2.0), {}, "n_blocks"),
        ("divide_and_conquer_cost", (10, 2, 0.9), {}, "exponent"),
        ("divide_and_conquer_cost", ("many", 2, 2.0), {}, "n_samples"),
    ],
)
def test_bad_arguments_of_member_averages_are_named(name, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(bounds, name)(*arguments, **options)
