"""Errors in the sources on smoothing and vanishing learning rates, listed in docs/errata.md."""

import itertools
from math import comb, factorial

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.linalg import expm
from scipy.optimize import brentq

from .errata_parts import within


@pytest.fixture
def linear_boosting():
    """A symmetric smoother S with eigenvalues in (0, 1), a target f, and draws of both samples."""
    rng = np.random.default_rng(0)
    n, sigma, t, draws = 10, 0.3, 1.5, 20000
    vectors, _ = np.linalg.qr(rng.standard_normal((n, n)))
    mu = np.linspace(0.02, 0.9, n)
    f = np.sin(np.arange(n))
    f -= f.mean()
    Y, fresh = f + sigma * rng.standard_normal((2, draws, n))
    return vectors, mu, f, sigma, t, Y, fresh


def boosted(vectors, mu, t, Y, start):
    """The limit of linear L2-boosting on the training rows: start + (I - exp(-tS)) (Y - start)."""
    residual = (Y - start) @ vectors * np.exp(-t * mu) @ vectors.T
    return Y - residual


def test_vanishing_rate_proof_takes_a_power_of_each_term():
    """[Dombry and Esstafa, proposition 2.5], proof: T^j - (T - lambda j)^j, not a power of both.

    The printed (T^j - (T - lambda j))^j is below what it is to bound.
    """
    T, rate = 1.0, 0.1
    for t in (0.4, 0.75, 1.0):
        m = int(t / rate + 1e-9)
        for j in range(1, m + 1):
            first = t**j / factorial(j) - comb(m, j) * rate**j
            second = (t**j - (t - rate * j) ** j) / factorial(j)
            third = (T**j - (T - rate * j) ** j) / factorial(j)
            assert 0 <= first + 1e-15 <= second + 2e-15 <= third + 3e-15

    j = 3  # at t = T
    assert T**j - (T - rate * j) ** j == pytest.approx(0.657)
    printed = (T**j - (T - rate * j)) ** j
    assert printed == pytest.approx(0.027)
    assert T**j / factorial(j) - comb(10, j) * rate**j > printed / factorial(j)


def test_vanishing_rate_proof_sums_from_epsilon():
    """[Dombry and Esstafa, proposition 2.5], proof: II is a sum from [epsilon/lambda] on.

    A delta that is none but epsilon does not do: where it is larger, the sum is below II.
    """
    T, epsilon, rate, norm = 1.0, 0.2, 0.05, 1.5

    def tail(time, first):
        """sum over j >= first of time^j norm^(j-1) / j!"""
        return sum(time**j * norm ** (j - 1) / factorial(j) for j in range(first, first + 60))

    II = {t: tail(t, int(t / rate + 1e-9) + 1) for t in np.arange(0.2, 1.01, 0.05)}
    assert max(II.values()) <= tail(T, int(epsilon / rate + 1e-9))
    assert max(II.values()) > tail(T, int(T / rate + 1e-9))
    assert tail(T, int(epsilon / (rate / 10))) < 1e-40  # and it tends to 0 with lambda


def test_limit_follows_from_the_first_point_of_the_theorem(linear_boosting):
    """[Dombry and Esstafa, theorem 2.7], proof of ii), cites ii) for the solution that i) has.

    i) holds for every Z_0: with the mean it is the limit of boosting, with others it is not, so
    that ii), which is the case of the mean, cannot be what it follows from.
    """
    vectors, mu, _, _, t, Y, _ = linear_boosting
    Y, rng = Y[0], np.random.default_rng(1)
    n = len(Y)
    S = (vectors * mu) @ vectors.T
    new = rng.dirichlet(np.ones(n), size=4) @ S  # (g_1, ..., g_n) at four more points
    G = np.vstack([S, new])
    L = np.hstack([G, np.zeros((n + 4, 4))])  # L(Z) = sum_i Z(x_i) g_i at all n + 4 points
    values = np.r_[Y, np.zeros(4)]  # one of the functions with the values Y_i at the x_i

    def first_point(start):
        decay = expm(-t * L)
        return decay @ start + (np.eye(n + 4) - decay) @ values

    weights = np.linalg.solve(S, (np.eye(n) - expm(-t * S)) @ (Y - Y.mean()))  # (11)
    limit = Y.mean() + G @ weights
    np.testing.assert_allclose(first_point(np.full(n + 4, Y.mean())), limit, atol=1e-12)
    other = rng.standard_normal(n + 4)
    assert np.abs(first_point(other) - limit).max() > 0.1
    # (13) at another start: the derivative by differences.
    later, earlier = (
        expm(-s * L) @ other + (np.eye(n + 4) - expm(-s * L)) @ values for s in (t + 1e-5, t - 1e-5)
    )
    slope = G @ (Y - first_point(other)[:n])
    np.testing.assert_allclose((later - earlier) / 2e-5, slope, atol=1e-8)


def test_linear_boosting_training_error_is_squared(linear_boosting):
    """[Dombry and Esstafa, proposition 2.12 i)], proof, prints (1/n)|exp(-tS) Y~|, not squared."""
    vectors, mu, _, _, t, Y, _ = linear_boosting
    Y = Y[0]
    residual = Y - boosted(vectors, mu, t, Y, Y.mean())
    decayed = expm(-t * (vectors * mu) @ vectors.T) @ (Y - Y.mean())
    training_error = np.mean(residual**2)
    assert training_error == pytest.approx(np.sum(decayed**2) / len(Y), rel=1e-12)
    assert abs(training_error - np.linalg.norm(decayed) / len(Y)) > 0.1 * training_error


def test_linear_boosting_prediction_variance(linear_boosting):
    """[Dombry and Esstafa, proposition 2.15], proof, prints Var without sigma^2 in one term."""
    vectors, mu, f, sigma, t, Y, _ = linear_boosting
    n = len(f)
    g = np.random.default_rng(1).dirichlet(np.ones(n))  # (g_i(x'))_i, of sum 1
    weights = vectors @ ((1 - np.exp(-t * mu)) / mu * (vectors.T @ g))  # S^-1 (I - e^{-tS}) g
    mean = Y.mean(axis=1, keepdims=True)
    predictions = mean[:, 0] + (Y - mean) @ weights
    expectation = f.mean() + (f - f.mean()) @ weights
    term = np.sum((weights - weights.mean()) ** 2)  # with the centring J
    squares = (predictions - expectation) ** 2
    assert within(squares, sigma**2 / n + sigma**2 * term)
    assert not within(squares, sigma**2 / n + term, 30)


def test_linear_boosting_test_error(linear_boosting):
    """[Dombry and Esstafa, proposition 2.13 i)] prints var_test without the sigma^2 of Y'."""
    vectors, mu, f, sigma, t, Y, fresh = linear_boosting
    n = len(f)
    S, J = (vectors * mu) @ vectors.T, np.eye(n) - 1 / n
    decay = expm(-t * S)
    centred = f - f.mean()
    fitted = boosted(vectors, mu, t, Y, Y.mean(axis=1, keepdims=True))
    errors = np.mean((fresh - fitted) ** 2, axis=1)
    growth = np.eye(n) - decay
    printed = np.sum((decay @ centred) ** 2) / n
    printed += sigma**2 / n * (1 + np.trace(growth @ J @ growth.T))
    assert within(errors, printed + sigma**2)
    assert not within(errors, printed, 30)

    # ii), in the eigenbasis, is the corrected i).
    spectral = np.sum((vectors.T @ centred) ** 2 * np.exp(-2 * t * mu)) / n
    norms = np.sum((J @ vectors) ** 2, axis=0)
    spectral += sigma**2 * (1 + 1 / n + np.sum(norms * (1 - np.exp(-t * mu)) ** 2) / n)
    assert spectral == pytest.approx(printed + sigma**2)


def test_constant_functions_have_no_early_decrease():
    """[Dombry and Esstafa, proposition 2.13 ii)]: no decrease near 0 where f is constant."""
    n, sigma, t = 20, 0.5, np.array([0.0, 0.01, 0.1])
    frame = np.random.default_rng(0).standard_normal((n, n))
    frame[:, 0] = 1.0
    u, _ = np.linalg.qr(frame)  # u_1 is constant, of eigenvalue 1, as S 1 = 1
    mu = np.r_[1.0, np.linspace(0.9, 0.02, n - 1)]
    S, J = (u * mu) @ u.T, np.eye(n) - 1 / n

    def expected_errors(f):
        found = []
        for time in t:
            decay = expm(-time * S)
            growth = np.eye(n) - decay
            variance = sigma**2 * (1 + 1 / n + np.trace(growth @ J @ growth.T) / n)
            found.append(np.sum((decay @ (f - f.mean())) ** 2) / n + variance)
        return np.array(found)

    constant, other = expected_errors(np.ones(n)), expected_errors(np.linspace(0, 1, n))
    assert (np.diff(constant) > 0).all()
    np.testing.assert_allclose(constant, [0.26250, 0.262507, 0.263128], atol=6e-7)
    assert (np.diff(other) < 0).all()

    # The slope at 0 is that of the squared bias, as the variance has none.
    slope = np.diff(other)[0] / t[1]
    f = np.linspace(0, 1, n) - 0.5
    assert slope == pytest.approx(-2 / n * f @ S @ f, rel=0.02)


def test_linear_boosting_residual_sign(linear_boosting):
    """[Dombry and Esstafa, proposition 2.13], proof, prints R' = Y' + mean(Y); it is - mean(Y)."""
    vectors, mu, _, _, t, Y, fresh = linear_boosting
    Y, fresh = Y[:5] + 2, fresh[:5] + 2
    mean = Y.mean(axis=1, keepdims=True)
    decayed = (Y - mean) @ expm(-t * (vectors * mu) @ vectors.T)
    residual = fresh - boosted(vectors, mu, t, Y, mean)
    np.testing.assert_allclose(residual, fresh - mean + decayed - (Y - mean), atol=1e-12)
    assert np.abs(residual - (fresh + mean + decayed - (Y - mean))).min() > 3


def test_linear_boosting_from_zero(linear_boosting):
    """[Dombry and Esstafa, remark 2.14] prints sigma^2/n and a sum of exp(-2t mu), from zero.

    The new observation brings sigma^2, and the fit (sigma^2/n) sum (1 - exp(-t mu))^2. The start
    from the mean is then not always the better one: here f has mean 0, and the zero start wins.
    """
    vectors, mu, f, sigma, t, Y, fresh = linear_boosting
    n = len(f)
    errors = np.mean((fresh - boosted(vectors, mu, t, Y, 0.0)) ** 2, axis=1)
    bias = np.sum((vectors.T @ f) ** 2 * np.exp(-2 * t * mu)) / n
    corrected = bias + sigma**2 + sigma**2 / n * np.sum((1 - np.exp(-t * mu)) ** 2)
    printed = bias + sigma**2 / n + sigma**2 / n * np.sum(np.exp(-2 * t * mu))
    assert within(errors, corrected)
    assert not within(errors, printed, 30)

    from_mean = boosted(vectors, mu, t, Y, Y.mean(axis=1, keepdims=True))
    difference = np.mean((fresh - from_mean) ** 2, axis=1) - errors
    exact = sigma**2 / n * (1 - np.sum(vectors.sum(axis=0) ** 2 / n * (1 - np.exp(-t * mu)) ** 2))
    assert exact > 0
    assert within(difference, exact)


def test_stochastic_boosting_matrix_orientation():
    """[Dombry and Esstafa, eq. (20)] prints S_ij = g_i(x_j); it is g_j(x_i), as in (6)."""
    rng = np.random.default_rng(0)
    x, new = np.array([0.1, 0.2, 0.35, 0.6, 0.9]), 0.5
    Y, rate, rounds = rng.standard_normal(5), 0.4, 6
    rows = [[0, 2, 3], [1, 2, 4]]  # the two values of xi, equally likely

    def weights_at(points, kept):
        """(g_1, ..., g_n)(point, xi) of Nadaraya-Watson on the rows `kept`, one row a point."""
        kernel = np.zeros((len(points), len(x)))
        kernel[:, kept] = np.exp(-((points[:, None] - x[kept]) ** 2) / 0.02)
        return kernel / kernel.sum(axis=1, keepdims=True)

    points = np.append(x, new)
    G = [weights_at(points, kept) for kept in rows]
    average = np.zeros(len(points))
    for path in itertools.product([0, 1], repeat=rounds):  # every sequence of subsamples
        F = np.full(len(points), Y.mean())
        for xi in path:
            F = F + rate * G[xi] @ (Y - F[:-1])
        average += F / 2**rounds

    mean_G = (G[0] + G[1]) / 2
    S = mean_G[:-1]  # S_ij = g_j(x_i)

    def expected(S):
        powers = [np.linalg.matrix_power(np.eye(5) - rate * S, j) for j in range(rounds)]
        return Y.mean() + mean_G @ (rate * sum(powers) @ (Y - Y.mean()))  # (21) with (7)

    np.testing.assert_allclose(expected(S), average, atol=1e-12)
    assert np.abs(expected(S.T) - average).max() > 0.05


def penalised_spline(x, y, r, nu, degree, continuity):
    """The least of sum (y - L(x))^2 + nu int (L^(r))^2 over splines with knots at x, and its L."""
    inside = np.repeat(x, degree - continuity)
    knots = np.r_[np.zeros(degree + 1), inside, np.ones(degree + 1)]
    basis = BSpline(knots, np.eye(len(knots) - degree - 1), degree)
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    ends = np.r_[0.0, x, 1.0]
    half = np.diff(ends) / 2
    u = (half[:, None] * nodes + (ends[:-1] + half)[:, None]).ravel()
    scale = np.sqrt(nu * (half[:, None] * weights).ravel())
    system = np.vstack([basis(x), scale[:, None] * basis.derivative(r)(u)])
    target = np.r_[y, np.zeros(len(u))]
    coefficients = np.linalg.lstsq(system, target, rcond=1e-14)[0]
    return np.sum((system @ coefficients - target) ** 2), BSpline(knots, coefficients, degree)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_smoothing_spline_degree(r):
    """[Dombry and Esstafa, example 2.4] prints degree r + 1; a smoothing spline has 2r - 1.

    The least value over a space that holds both (degree 2r + 1, no smoother than the penalty asks)
    is reached with degree 2r - 1. At r = 2 the two numbers are one; at r = 3 pieces of degree 4
    cannot reach it, however roughly they are joined; at r = 1 the pieces are straight lines.
    """
    x = np.linspace(0.05, 0.95, 7)
    y = np.random.default_rng(0).standard_normal(7)
    nu = {1: 1e-2, 2: 1e-4, 3: 1e-7}[r]
    least, _ = penalised_spline(x, y, r, nu, 2 * r + 1, r - 1)
    corrected, _ = penalised_spline(x, y, r, nu, 2 * r - 1, 2 * r - 2)
    printed, spline = penalised_spline(x, y, r, nu, r + 1, r - 1)
    assert least > 0.01
    assert corrected == pytest.approx(least, rel=1e-8)
    if r == 3:
        assert printed > 1.01 * least
    if r == 1:
        thirds = x[:-1] + np.outer([0.1, 0.5, 0.9], np.diff(x))
        first, middle, last = spline(thirds)
        np.testing.assert_allclose(first + last - 2 * middle, 0, atol=1e-10)


def test_training_error_decays_at_twice_the_smallest_eigenvalue(linear_boosting):
    """[Dombry and Esstafa, §4] prints the rate e^{-t mu_n} of the training error: e^{-2 t mu_n}."""
    vectors, mu, _, _, _, Y, _ = linear_boosting
    Y, times = Y[0], np.array([400.0, 500.0])
    residuals = [Y - boosted(vectors, mu, t, Y, Y.mean()) for t in times]
    errors = np.mean(np.square(residuals), axis=1)
    rate = np.log(errors[0] / errors[1]) / np.diff(times)
    assert rate == pytest.approx(2 * mu.min(), rel=1e-3)
    assert rate > 1.9 * mu.min()


def test_smoothing_spline_sixtieth_eigenvalue():
    """[Dombry and Esstafa, §4] prints mu_60 near 6e-7; a knot at every point gives about 6e-6."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(15):
        x = np.sort(rng.uniform(-1, 1, 100))
        gap = np.diff(x)
        second = np.zeros((100, 98))  # second differences, and Reinsch's matrix of the integrals
        for j in range(98):
            second[j : j + 3, j] = 1 / gap[j], -1 / gap[j] - 1 / gap[j + 1], 1 / gap[j + 1]
        integrals = np.diag((gap[:-1] + gap[1:]) / 3) + np.diag(gap[1:-1] / 6, 1)
        integrals += np.diag(gap[1:-1] / 6, -1)
        penalty = np.linalg.eigvalsh(second @ np.linalg.solve(integrals, second.T))
        penalty[:2] = 0.0  # constants and straight lines

        def degrees_of_freedom(log_nu, penalty=penalty):
            return np.sum(1 / (1 + np.exp(log_nu) * penalty))

        log_nu = brentq(lambda v: degrees_of_freedom(v) - 5, -25, 10)
        found.append(1 / (1 + np.exp(log_nu) * penalty[59]))
    assert min(found) > 4 * 6e-7
    assert np.median(found) == pytest.approx(6e-6, rel=0.3)


def test_kernels_are_rescaled_by_the_dimension_p():
    """[Dombry and Esstafa, example 2.3] prints K_h(z) = h^-d K(z/h) on [0, 1]^p: h^-p."""
    grid = np.linspace(-8, 8, 201)
    for p, h in itertools.product((1, 2), (0.5, 2.0)):
        z = np.stack(np.meshgrid(*[h * grid] * p), axis=-1)
        K = np.exp(-np.sum((z / h) ** 2, axis=-1) / 2) / (2 * np.pi) ** (p / 2)
        volume = (h * (grid[1] - grid[0])) ** p
        assert h**-p * K.sum() * volume == pytest.approx(1)  # a density again
        for d in {1, 2, 3} - {p}:
            assert abs(h**-d * K.sum() * volume - 1) > 0.4


def test_the_variance_of_stochastic_boosting_is_that_of_its_own_recursion():
    """[Dombry and Esstafa, proposition 3.4 ii)], proof: (19), not (2), with the decomposition.

    Two learners, all draws of three rounds: with (2), whose learner is fixed, the second term is 0.
    """
    learners = np.array([[[0.9, 0.1], [0.2, 0.5]], [[0.1, 0.3], [0.0, 0.7]]])
    Y, rate = np.array([1.0, -2.0]), 0.4

    def rounds(matrices):
        """The fits after each round, a row for each sequence of draws."""
        fits = [np.full((1, 2), Y.mean())]
        for _ in range(3):
            steps = np.einsum("lij,dj->dli", matrices, Y - fits[-1])
            fits.append((fits[-1][:, None] + rate * steps).reshape(-1, 2))
        return fits

    fits = rounds(learners)
    for before, after in itertools.pairwise(fits):
        given = after.reshape(len(before), 2, 2)  # the two draws that follow a fit
        within_draws = given.var(axis=1).mean(axis=0)
        between = given.mean(axis=1).var(axis=0)
        np.testing.assert_allclose(after.var(axis=0), between + within_draws)
        assert (within_draws > 0.005).all()
    assert all(np.ptp(fit, axis=0).max() == 0 for fit in rounds(learners.mean(axis=0)[None]))
