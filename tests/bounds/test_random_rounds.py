"""Mean, covariance and fluctuations of stochastic boosting, against simulated runs."""

import numpy as np
import pytest
import scipy.linalg

from sklearn_ensemble_theory import bounds
from sklearn_ensemble_theory.smoothing import stochastic_variance_bound

N_RUNS = 20_000


def learners(n=5, seed=0):
    """Kernel smoothers on each half of the rows and at two new points; targets."""
    rng = np.random.default_rng(seed)
    x, new = np.sort(rng.uniform(size=n)), np.array([0.2, 0.7])
    points = np.r_[x, new]
    matrices = []
    for _ in range(4):
        rows = rng.choice(n, size=3, replace=False)
        G = np.zeros((len(points), n))
        kernel = np.exp(-4 * np.abs(points[:, None] - x[rows]))
        G[:, rows] = kernel / kernel.sum(axis=1, keepdims=True)
        matrices.append(G)
    return np.array(matrices), np.sin(6 * x) + rng.standard_normal(n)


def simulate(matrices, y, rate, m, rng):
    """[Dombry and Esstafa, eq. (19)] in N_RUNS copies."""
    F = np.full((N_RUNS, matrices.shape[1]), y.mean())
    for _ in range(m):
        fits = np.einsum("lpj,rj->lrp", matrices, y - F[:, : len(y)])
        F += rate * fits[rng.integers(len(matrices), size=N_RUNS), np.arange(N_RUNS)]
    return F


def test_mean_and_covariance_are_those_of_simulations():
    matrices, y = learners()
    for rate, m in [(0.5, 4), (0.2, 12)]:
        runs = simulate(matrices, y, rate, m, np.random.default_rng(1))
        mean = bounds.stochastic_boosting_mean(matrices, y, rate, m)
        error = runs.std(axis=0) / np.sqrt(N_RUNS)
        assert (np.abs(runs.mean(axis=0) - mean) < 3.5 * error).all()
        assert (error < 0.05 * np.abs(mean)).any()
        products = (runs - mean)[:, :, None] * (runs - mean)[:, None, :]
        C = bounds.stochastic_boosting_covariance(matrices, y, rate, m)
        error = products.std(axis=0) / np.sqrt(N_RUNS)
        assert (np.abs(products.mean(axis=0) - C) < 4 * error).all()  # 49 comparisons
        assert (5 * error < 0.5 * np.diag(C).max()).all()
        assert (np.diag(C) <= stochastic_variance_bound(matrices, y, rate, m)).all()
        assert np.linalg.eigvalsh(C).min() > -1e-12


def test_mean_is_boosting_of_the_average_learner():
    """[Dombry and Esstafa, proposition 3.4 i)]: the weights of proposition 2.2 with G-bar."""
    matrices, y = learners()
    average, n = matrices.mean(axis=0), len(y)
    for rate, m in [(1.0, 1), (0.1, 20)]:
        step = np.eye(n) - rate * average[:n]
        powers = rate * sum(np.linalg.matrix_power(step, k) for k in range(m))
        by_hand = y.mean() + average @ powers @ (y - y.mean())
        found = bounds.stochastic_boosting_mean(matrices, y, rate, m)
        np.testing.assert_allclose(found, by_hand, rtol=1e-10)
    assert (bounds.stochastic_boosting_mean(matrices, y, 0.5, 0) == y.mean()).all()


def test_covariance_by_enumeration():
    """All 4^3 sequences of three rounds; one round is rate² Cov(G y~)."""
    matrices, y = learners()
    rate, n = 0.4, len(y)
    ends = [np.full(matrices.shape[1], y.mean())]
    for m in range(1, 4):
        ends = [F + rate * G @ (y - F[:n]) for F in ends for G in matrices]
        C = bounds.stochastic_boosting_covariance(matrices, y, rate, m)
        np.testing.assert_allclose(C, np.cov(np.array(ends).T, bias=True), rtol=1e-9, atol=1e-12)
    one = bounds.stochastic_boosting_covariance(matrices, y, rate, 1)
    fits = matrices @ (y - y.mean())
    np.testing.assert_allclose(one, rate**2 * np.cov(fits.T, bias=True), rtol=1e-10, atol=1e-14)
    assert (bounds.stochastic_boosting_covariance(matrices[:1], y, rate, 5) == 0).all()


def test_limit_covariance_is_the_leading_term():
    """C / lambda for small lambda, extrapolated; and the integral of the differential equation."""
    matrices, y = learners()
    t = 1.5
    V = bounds.stochastic_boosting_limit_covariance(matrices, y, t)
    rates = (t / 400, t / 800)
    coarse, fine = (
        bounds.stochastic_boosting_covariance(matrices, y, r, round(t / r)) / r for r in rates
    )
    np.testing.assert_allclose(2 * fine - coarse, V, rtol=1e-3, atol=1e-4 * V.max())
    assert np.abs(fine - V).max() < 0.6 * np.abs(coarse - V).max()
    # V(t) = integral of exp(-(t - s) A) Cov(G r_s) exp(-(t - s) A') with A = [G-bar, 0].
    n, p = len(y), matrices.shape[1]
    A = np.hstack([matrices.mean(axis=0), np.zeros((p, p - n))])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    by_integral = np.zeros((p, p))
    for s, w in zip(t * (1 + nodes) / 2, t * weights / 2):
        residuals = scipy.linalg.expm(-s * A[:n, :n]) @ (y - y.mean())
        move = scipy.linalg.expm(-(t - s) * A)
        by_integral += w * move @ np.cov((matrices @ residuals).T, bias=True) @ move.T
    np.testing.assert_allclose(V, by_integral, rtol=1e-7, atol=1e-9)
    # By hand: an average that fits nothing leaves the residuals, and V = t Cov.
    S = np.array([[[0.5, -0.5]] * 2, [[-0.5, 0.5]] * 2])
    flat = bounds.stochastic_boosting_limit_covariance(S, [1.0, -1.0], 3.0)
    np.testing.assert_allclose(flat, np.full((2, 2), 3.0), rtol=1e-9)
    assert (bounds.stochastic_boosting_limit_covariance(matrices, y, 0.0) == 0).all()
    assert (bounds.stochastic_boosting_limit_covariance(matrices, np.ones(5), 1.0) == 0).all()


def test_fluctuations_are_of_order_the_root_of_the_rate():
    """Corollary 3.5: the simulated mean square distance to the limit, for two rates."""
    matrices, y = learners()
    t, n = 1.0, len(y)
    average = matrices.mean(axis=0)
    w = np.linalg.solve(average[:n], (np.eye(n) - scipy.linalg.expm(-t * average[:n])))
    limit = y.mean() + average @ w @ (y - y.mean())
    V = np.diag(bounds.stochastic_boosting_limit_covariance(matrices, y, t))
    for rate in (0.1, 0.02):
        runs = simulate(matrices, y, rate, round(t / rate), np.random.default_rng(2))
        square = np.mean((runs - limit) ** 2, axis=0)
        np.testing.assert_allclose(square, rate * V, rtol=6 * rate + 0.05)


def test_paths_converge_uniformly_in_time():
    """[Dombry and Esstafa, theorem 3.6]: the largest distance on [0, 2] is of order root lambda.

    Convergence in the Skorokhod space to a continuous deterministic path is uniform convergence on
    bounded intervals, in probability.
    """
    matrices, y = learners()
    average, n, rng = matrices.mean(axis=0), len(y), np.random.default_rng(3)
    sizes = []
    for rate in (0.04, 0.01, 0.0025):
        F = np.full((1000, len(average)), y.mean())
        largest = np.zeros(1000)
        for m in range(1, round(2 / rate) + 1):
            fits = np.einsum("lpj,rj->lrp", matrices, y - F[:, :n])
            F += rate * fits[rng.integers(4, size=1000), np.arange(1000)]
            if m % 4 == 0:
                E = scipy.linalg.expm(-m * rate * average[:n])
                w = np.linalg.solve(average[:n], (y - y.mean()) - E @ (y - y.mean()))
                gap = np.abs(F - y.mean() - average @ w).max(axis=1)
                largest = np.maximum(largest, gap)
        sizes.append(np.quantile(largest, 0.95))
    np.testing.assert_allclose(np.divide(sizes[:-1], sizes[1:]), 2, rtol=0.1)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda G, y: bounds.stochastic_boosting_mean(G[0], y, 0.1, 3), "matrices"),
        (lambda G, y: bounds.stochastic_boosting_mean(G, y[:-1], 0.1, 3), "matrices"),
        (lambda G, y: bounds.stochastic_boosting_mean(G, y, 0.0, 3), "learning_rate"),
        (lambda G, y: bounds.stochastic_boosting_covariance(G, y, 0.1, 2.5), "n_rounds"),
        (lambda G, y: bounds.stochastic_boosting_covariance(G, y * np.nan, 0.1, 2), "y must"),
        (lambda G, y: bounds.stochastic_boosting_limit_covariance(G, y, -1.0), "time"),
        (lambda G, y: bounds.stochastic_boosting_limit_covariance(G, [], 1.0), "y must"),
        (lambda G, y: bounds.stochastic_boosting_mean(-G, y, 1.0, 2000), "unstable"),
        (lambda G, y: bounds.stochastic_boosting_covariance(-G, y, 1.0, 1000), "unstable"),
        (lambda G, y: bounds.stochastic_boosting_limit_covariance(-3 * G, y, 400.0), "unstable"),
    ],
)
def test_arguments_outside_the_assumptions(call, match):
    with pytest.raises(ValueError, match=match):
        call(*learners())
