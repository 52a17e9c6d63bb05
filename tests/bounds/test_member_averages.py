"""Averages of members: correlated ones, nearest neighbours and ridge regression, and their cost."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import bounds

from ..errata_parts import within


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
        ("averaged_ridge_risk", ([1.0], [1.0], 0.0, 10), {}, "penalty"),
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
            {"eigenvalue_decay": 2.0, "noise_variance": 0.0},
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
def test_bad_arguments_are_named(name, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(bounds, name)(*arguments, **options)
