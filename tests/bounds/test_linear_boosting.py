"""Linear L2-boosting on eigenvalues and matrices, and its random rounds: loops, simulations."""

from functools import cache

import numpy as np
import pytest
import scipy.linalg

from sklearn_ensemble_theory import LinearL2BoostingRegressor, NadarayaWatsonRegressor, bounds
from sklearn_ensemble_theory.smoothing import stochastic_variance_bound

N, N_DRAWS = 8, 20_000


def smoother(symmetric=True, seed=0, n=N):
    """A matrix with rows that sum to 1 and eigenvalues in (0, 1], and outputs at three points."""
    x = np.sort(np.random.default_rng(seed).uniform(size=n))
    kernel = np.exp(-8 * np.abs(x[:, None] - x))
    new = np.exp(-8 * np.abs(np.array([[0.1], [0.5], [0.8]]) - x))
    if not symmetric:
        return kernel / kernel.sum(axis=1, keepdims=True), new / new.sum(axis=1, keepdims=True), x
    for _ in range(200):  # Sinkhorn's scaling, so that S is symmetric
        root = np.sqrt(kernel.sum(axis=1))
        kernel = kernel / root / root[:, None]
    return kernel, new / new.sum(axis=1, keepdims=True), x


def loop(S, y, rate, m, G=None, init="mean"):
    """[Dombry and Esstafa, eq. (2)] for targets y (n, ...); with outputs G, at new points."""
    start = y.mean(axis=0) if init == "mean" else 0 * y.mean(axis=0)
    fitted = np.zeros_like(y) + start
    at_new = None if G is None else np.zeros((len(G), *y.shape[1:])) + start
    for _ in range(m):
        residuals = y - fitted
        fitted = fitted + rate * (S @ residuals)
        at_new = None if G is None else at_new + rate * (G @ residuals)
    return fitted if G is None else at_new


# The filters


def test_residual_filter_is_what_the_loop_leaves_of_an_eigenvector():
    S, _, _ = smoother()
    mu, U = np.linalg.eigh(S)
    for rate, m in [(0.5, 3), (0.1, 25), (1.0, 1)]:
        left = U - loop(S, U, rate, m, init="zero")
        share = bounds.l2_boosting_filter(mu, m * rate, rate)
        np.testing.assert_allclose(left, U * share, rtol=0, atol=1e-10)
    limit = bounds.l2_boosting_filter(mu, [0.0, 2.0])
    E = scipy.linalg.expm(-2 * S)
    np.testing.assert_allclose(U @ np.diag(limit[:, 1]) @ U.T, E, atol=1e-10)
    assert (limit[:, 0] == 1).all()
    # By hand, and the number of rounds of a time between two of them.
    assert bounds.l2_boosting_filter(0.5, np.log(4)) == pytest.approx(0.5)
    assert bounds.l2_boosting_filter(0.5, 2.9, 1.0) == pytest.approx(0.25)


def test_coefficients_of_the_smoothed_projection():
    """[Dombry and Esstafa, eq. (27)]: 1 - the filter is what the estimator reports."""
    X = np.random.default_rng(1).uniform(size=(20, 1))
    model = LinearL2BoostingRegressor(time=1.0, init="zero").fit(X, X[:, 0] ** 2)
    times = [0.5, 20.0]
    found = 1 - bounds.l2_boosting_filter(model.eigenvalues_, times)
    np.testing.assert_allclose(found, model._path.coefficients(np.array(times)), atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=0), model.degrees_of_freedom(times), rtol=1e-10)


def test_weight_filter_sums_the_residuals():
    """w = lambda sum_k (I - lambda S)^k y, and the integral of exp(-s S) y in the limit."""
    mu = np.array([1.0, 0.3, 1e-9, 0.0])
    for rate, m in [(0.5, 3), (0.1, 25)]:
        by_hand = rate * sum((1 - rate * mu) ** k for k in range(m))
        found = bounds.l2_boosting_filter(mu, m * rate, rate, of="weights")
        np.testing.assert_allclose(found, by_hand, rtol=1e-10)
    s, w = np.polynomial.legendre.leggauss(30)
    by_integral = 2.0 * np.exp(-np.outer(mu, 2.0 * (1 + s))) @ w
    np.testing.assert_allclose(
        bounds.l2_boosting_filter(mu, 4.0, of="weights"), by_integral, rtol=1e-10
    )
    assert bounds.l2_boosting_filter(0.0, 7.0, of="weights") == 7
    assert bounds.l2_boosting_filter(2.0, 1e3, of="weights") == pytest.approx(0.5)


# Convergence in the learning rate


def test_distance_of_the_weights_to_their_limit():
    """1000 targets, any t, three norms; the order is lambda."""
    rng = np.random.default_rng(2)
    for symmetric in (True, False):
        S, _, _ = smoother(symmetric)
        y = rng.standard_normal((N, 1000))
        y -= y.mean(axis=0)
        norms = {p: np.linalg.norm(S, p) for p in (1, 2, np.inf)}
        for rate in (0.5, 0.1, 0.03):
            for t in (0.02, 0.9, 1.0, 2.5):
                m = int(np.floor(t / rate + 1e-9))
                w = rate * sum(
                    (np.linalg.matrix_power(np.eye(N) - rate * S, k) @ y for k in range(m)), 0 * y
                )
                limit = np.linalg.solve(S, y - scipy.linalg.expm(-t * S) @ y)
                for p, s in norms.items():
                    gap = np.linalg.norm(w - limit, p if p != 2 else None, axis=0)
                    size = np.linalg.norm(y, p if p != 2 else None, axis=0)
                    bound = bounds.vanishing_learning_rate_bound(t, rate, s)
                    assert (gap <= bound * size * (1 + 1e-9)).all()
    # S = 0 has w = lambda floor(t / lambda) y: attained as t approaches a whole round from below.
    assert bounds.vanishing_learning_rate_bound(0.999999, 1.0, 0.0) == 1
    ratio = bounds.vanishing_learning_rate_bound(3.0, [0.2, 0.02], 1.0)
    assert ratio[0] / ratio[1] == pytest.approx(10)


def test_distance_of_the_fitted_values_to_their_limit():
    """All symmetric S with eigenvalues in [0, 1/lambda], 1000 times."""
    rng = np.random.default_rng(3)
    for rate in (1.0, 0.1):
        mu = np.linspace(0, 1 / rate, 3000)
        t = np.sort(np.r_[rng.uniform(0, 40 * rate, 1000), rate * np.arange(1, 20)])
        limit = bounds.l2_boosting_filter(mu, t)
        gap = np.abs(limit - bounds.l2_boosting_filter(mu, t, rate)).max(axis=0)
        bound = bounds.vanishing_learning_rate_bound(t, rate)
        assert (gap <= bound * (1 + 1e-12)).all()
        assert (gap > 0.5 * bound).mean() > 0.5
    # Attained after one round for mu = 1/lambda: 1/e - 0.
    assert bounds.vanishing_learning_rate_bound(0.5, 0.5) == pytest.approx(1 / np.e)
    found = bounds.vanishing_learning_rate_bound([0.0, 0.3], 0.5)
    np.testing.assert_allclose(found, [0, 1 - np.exp(-0.6)])
    S, _, _ = smoother()
    y = rng.standard_normal((N, 1000))
    y -= y.mean(axis=0)
    gap = y - loop(S, y, 0.5, 3, init="zero") - scipy.linalg.expm(-1.5 * S) @ y
    bound = bounds.vanishing_learning_rate_bound(1.5, 0.5)
    assert (np.linalg.norm(gap, axis=0) <= bound * np.linalg.norm(y, axis=0)).all()


# The training error


def jordan(*blocks):
    """A matrix with these Jordan blocks (eigenvalue, size), in a random basis."""
    J = scipy.linalg.block_diag(*(mu * np.eye(s) + np.diag(np.ones(s - 1), 1) for mu, s in blocks))
    Q = np.random.default_rng(0).standard_normal(J.shape)
    return Q @ J @ np.linalg.inv(Q)


def test_decay_rate_is_the_slope_of_the_logarithm():
    """Proposition 2.12 i) in numbers: for the worst y, far out, and zero or not in the limit."""
    cases = [
        (smoother()[0], 1e-9),
        (smoother(symmetric=False)[0], 1e-9),
        (jordan((1.0, 1), (0.4, 1), (0.7, 2)), 1e-9),
        (jordan((1.0, 1), (-0.2, 1)), 1e-9),
        (np.array([[1.0, 0.0, 0.0], [0.0, 0.3, -0.8], [0.0, 0.8, 0.3]]), 1e-9),  # 0.3 +- 0.8i
    ]
    for S, tol in cases:
        rate = bounds.l2_boosting_decay_rate(S)
        t = 40 / np.abs(rate)
        sizes = [np.linalg.norm(scipy.linalg.expm(-k * t * S), 2) ** 2 for k in (1, 2)]
        assert np.log(sizes[0] / sizes[1]) / t == pytest.approx(rate, rel=max(tol, 1e-6))
        assert (sizes[1] < 1e-12) == (rate > 0)
    # A Jordan block: up to a power of t.
    S = jordan((1.0, 1), (0.5, 3))
    assert bounds.l2_boosting_decay_rate(S) == pytest.approx(1, abs=1e-4)
    # By hand, and at the boundary: a zero eigenvalue or an imaginary one leaves an error.
    assert bounds.l2_boosting_decay_rate([[0.75, 0.25], [0.25, 0.75]]) == pytest.approx(1.0)
    for S in (np.ones((2, 2)) / 2, np.array([[0.0, -1.0], [1.0, 0.0]])):
        assert bounds.l2_boosting_decay_rate(S) == pytest.approx(0, abs=1e-12)
        assert np.linalg.norm(scipy.linalg.expm(-100 * S), 2) > 0.5


def test_share_of_the_training_error_that_is_left():
    """1000 targets, and an eigenvector of the least eigenvalue, for which it is attained."""
    S, _, _ = smoother()
    mu, U = np.linalg.eigh(S)
    rng = np.random.default_rng(4)
    y = rng.standard_normal((N, 1000))
    y[:, 0] = 3 + U[:, 0]
    centred = y - y.mean(axis=0)
    for t, rate, m in [(0.5, 0.0, 0), (6.0, 0.0, 0), (2.0, 0.5, 4)]:
        E = np.linalg.matrix_power(np.eye(N) - rate * S, m) if m else scipy.linalg.expm(-t * S)
        share = np.mean((E @ centred) ** 2, axis=0) / np.mean(centred**2, axis=0)
        bound = bounds.l2_boosting_training_error_bound(mu, t, rate)
        assert (share <= bound * (1 + 1e-10)).all()
        assert share[0] == pytest.approx(bound, rel=1e-10)
    rate = bounds.l2_boosting_decay_rate(S)
    assert bounds.l2_boosting_training_error_bound(mu, 6.0) == pytest.approx(np.exp(-6 * rate))


# Expected errors


@cache  # several tests compare them
def simulated(symmetric, init, rate, sigma, t):
    """Training, test and new-point errors of N_DRAWS samples; in the limit with tiny steps."""
    S, G, f, f_new = signal(symmetric)
    rng = np.random.default_rng(5)
    n = len(S)
    steps = (round(t / rate), rate) if rate else (4000, t / 4000)
    H = loop(S, np.eye(n), steps[1], steps[0], init=init)
    H_new = loop(S, np.eye(n), steps[1], steps[0], G, init=init)
    y = f[:, None] + sigma * rng.standard_normal((n, N_DRAWS))
    fitted, at_new = H @ y, H_new @ y
    again = f[:, None] + sigma * rng.standard_normal(y.shape)
    new = f_new[:, None] + sigma * rng.standard_normal(at_new.shape)
    pairs = [(y, fitted), (again, fitted), (new, at_new)]
    return [((a - b) ** 2).mean(axis=0) for a, b in pairs]


def signal(symmetric):
    """A smoother, for new points as well, and a signal that is not centred."""
    S, G, x = smoother(symmetric)
    return S, G, 0.3 + np.sin(5 * x), 0.3 + np.sin(5 * np.array([0.1, 0.5, 0.8]))


SETTINGS = [
    (symmetric, init, rate)
    for symmetric in (True, False)
    for init, rate in [("mean", 0.0), ("zero", 0.0), ("mean", 0.5)]
]


def compare_with_simulations(sigma):
    """Yield each expected error and the simulated ones."""
    t = 3.0
    for symmetric, init, rate in SETTINGS:
        S, G, f, f_new = signal(symmetric)
        given = {"learning_rate": rate, "init": init}
        bias2 = bounds.l2_boosting_squared_bias(S, f, [t], **given)[0]
        train = bounds.l2_boosting_variance(S, [t], sigma=sigma, error="training", **given)[0]
        test = bounds.l2_boosting_variance(S, [t], sigma=sigma, **given)[0]
        new = bounds.l2_boosting_new_point_error(S, G, f, f_new, [t], sigma=sigma, **given)[0]
        samples = simulated(symmetric, init, rate, sigma, t)
        yield from zip((bias2 + train, bias2 + test, new), samples)


def test_expected_errors_are_those_of_simulations():
    """Much noise, and little, where all but the bias is small."""
    for sigma in (0.4, 0.02):
        for value, sample in compare_with_simulations(sigma):
            error = sample.std() / np.sqrt(N_DRAWS)
            assert abs(value - sample.mean()) < 3.5 * error + 1e-3 * value  # 36 comparisons
            assert error < 0.01 * value


def test_expected_errors_are_those_of_the_estimator():
    """To 1e-10 the numbers of `bias_variance`, from the decomposition of a fitted learner."""
    rng = np.random.default_rng(6)
    X, X_new = rng.uniform(-1, 1, (15, 1)), rng.uniform(-1, 1, (6, 1))
    times = np.array([0.0, 0.5, 4.0])

    def f(X):
        return 1 + np.sin(4 * X[:, 0])

    learner = NadarayaWatsonRegressor(0.3)
    S = np.column_stack([learner.fit(X, e).predict(X) for e in np.eye(15)])
    G = np.column_stack([learner.fit(X, e).predict(X_new) for e in np.eye(15)])
    for init, rate in [("mean", 0.0), ("zero", 0.0), ("mean", 0.5)]:
        model = LinearL2BoostingRegressor(learner, time=1.0, init=init, learning_rate=rate)
        out = model.fit(X, f(X)).bias_variance(f, 0.7, times, X_new)
        given = {"learning_rate": rate, "init": init}
        found = {
            "bias2": bounds.l2_boosting_squared_bias(S, f(X), times, **given),
            "variance_train": bounds.l2_boosting_variance(
                S, times, sigma=0.7, error="training", **given
            ),
            "variance_test": bounds.l2_boosting_variance(S, times, sigma=0.7, **given),
            "test_new": bounds.l2_boosting_new_point_error(
                S, G, f(X), f(X_new), times, sigma=0.7, **given
            ),
        }
        for name, values in found.items():
            np.testing.assert_allclose(values, out[name], rtol=1e-8, atol=1e-10, err_msg=name)


def test_squared_bias_of_an_eigenvector():
    """By hand: (u'f)² exp(-2 t mu) / n, and 0 for a constant f from the mean."""
    S, _, _ = smoother()
    mu, U = np.linalg.eigh(S)
    times = np.array([0.0, 1.0, 5.0])
    for j in (0, 3):
        found = bounds.l2_boosting_squared_bias(S, 2 * U[:, j] + 1.0, times)
        np.testing.assert_allclose(found, 4 * np.exp(-2 * times * mu[j]) / N, rtol=1e-8)
    constant = bounds.l2_boosting_squared_bias(S, np.ones(N), times, init="zero")
    np.testing.assert_allclose(constant, np.exp(-2 * times), rtol=1e-8)


def test_variances_at_the_ends_and_their_eigenvalues():
    """Sums over eigenvalues [propositions 2.12 iii) and 2.13 ii)], at 0 and at infinity."""
    S, _, _ = smoother()
    mu, U = np.linalg.eigh(S)
    weight = ((U - U.mean(axis=0)) ** 2).sum(axis=0)  # |J u|²
    times = np.array([0.0, 2.0, 1e6])
    e = np.exp(-np.outer(mu, times))
    sigma = 0.5
    train = bounds.l2_boosting_variance(S, times, sigma=sigma, error="training")
    test = bounds.l2_boosting_variance(S, times, sigma=sigma)
    np.testing.assert_allclose(train, sigma**2 * weight @ e**2 / N, rtol=1e-8, atol=1e-15)
    by_sum = sigma**2 * (1 + 1 / N + weight @ (1 - e) ** 2 / N)
    np.testing.assert_allclose(test, by_sum, rtol=1e-10)
    assert train[0] == pytest.approx(sigma**2 * (1 - 1 / N))
    assert test[0] == pytest.approx(sigma**2 * (1 + 1 / N))
    assert test[2] == pytest.approx(2 * sigma**2)
    zero = bounds.l2_boosting_variance(S, times, sigma=sigma, init="zero")
    np.testing.assert_allclose(zero, sigma**2 * (1 + ((1 - e) ** 2).sum(axis=0) / N), rtol=1e-10)


def test_new_point_error_at_the_training_points_is_the_test_error():
    for symmetric in (True, False):
        S, _, x = smoother(symmetric)
        f = np.cos(3 * x)
        times = [0.0, 1.5, 30.0]
        for given in ({}, {"init": "zero"}, {"learning_rate": 0.5}):
            new = bounds.l2_boosting_new_point_error(S, S, f, f, times, sigma=0.3, **given)
            test = bounds.l2_boosting_variance(S, times, sigma=0.3, **given)
            bias2 = bounds.l2_boosting_squared_bias(S, f, times, **given)
            np.testing.assert_allclose(new, bias2 + test, rtol=1e-8)


def test_shapes_of_the_errors_in_time():
    """The bias falls and is convex, the variance rises, their sum falls first [2.13 ii)]."""
    S, _, x = smoother()
    times = np.linspace(0, 60, 600)
    bias2 = bounds.l2_boosting_squared_bias(S, np.sin(5 * x), times)
    variance = bounds.l2_boosting_variance(S, times, sigma=0.4)
    assert (np.diff(bias2) < 0).all()
    assert (np.diff(bias2, 2) > -1e-14).all()
    assert (np.diff(variance) > 0).all()
    total = bias2 + variance
    assert total[1] < total[0]
    assert total[-1] > total.min()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: bounds.l2_boosting_filter(1.0, -1.0), "times"),
        (lambda: bounds.l2_boosting_filter(np.nan, 1.0), "eigenvalues"),
        (lambda: bounds.l2_boosting_filter(1.0, 1.0, 1.5, of="weights"), "learning_rate"),
        (lambda: bounds.l2_boosting_decay_rate(np.ones((2, 3))), "matrix must be a square"),
        (lambda: bounds.l2_boosting_training_error_bound(0.5, 1.0), "eigenvalues"),
        (lambda: bounds.vanishing_learning_rate_bound(1.0, -0.1, 1.0), "learning_rate"),
        (lambda: bounds.vanishing_learning_rate_bound(1.0, 0.1, -1.0), "matrix_norm"),
        (lambda: bounds.vanishing_learning_rate_bound(-1.0, 0.1), "times must"),
        (lambda: bounds.vanishing_learning_rate_bound(1.0, 2.0), "learning_rate"),
        (lambda: bounds.l2_boosting_squared_bias(np.eye(2), [1.0], [1.0]), "f must have shape"),
        (lambda: bounds.l2_boosting_squared_bias(-np.eye(2), [1.0, 2.0], [1e4]), "unstable"),
        (
            lambda: bounds.l2_boosting_squared_bias(np.eye(2), [1.0, 2.0], [1.0], init="one"),
            "init",
        ),
        (lambda: bounds.l2_boosting_variance(np.eye(2), [[1.0]], error="training"), "times"),
        (
            lambda: bounds.l2_boosting_variance(np.eye(2), [1.0], sigma=-1.0, error="training"),
            "sigma",
        ),
        (lambda: bounds.l2_boosting_variance(np.eye(2), [np.inf]), "times"),
        (lambda: bounds.l2_boosting_variance(np.eye(2), [1.0], init="one"), "init"),
        (
            lambda: bounds.l2_boosting_new_point_error(
                np.eye(2), np.eye(3), [0.0, 1.0], [0.0, 1.0, 2.0], [1.0]
            ),
            "outputs",
        ),
        (
            lambda: bounds.l2_boosting_new_point_error(
                np.eye(2), np.eye(2), [0.0, 1.0], [0.0], [1.0]
            ),
            "f_new",
        ),
    ],
)
def test_arguments_outside_the_assumptions(call, match):
    with pytest.raises(ValueError, match=match):
        call()


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
        mean = bounds.stochastic_boosting_moments(matrices, y, time=m * rate, learning_rate=rate)[0]
        error = runs.std(axis=0) / np.sqrt(N_RUNS)
        assert (np.abs(runs.mean(axis=0) - mean) < 3.5 * error).all()
        assert (error < 0.05 * np.abs(mean)).any()
        products = (runs - mean)[:, :, None] * (runs - mean)[:, None, :]
        C = bounds.stochastic_boosting_moments(matrices, y, time=m * rate, learning_rate=rate)[1]
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
        found = bounds.stochastic_boosting_moments(matrices, y, time=m * rate, learning_rate=rate)[
            0
        ]
        np.testing.assert_allclose(found, by_hand, rtol=1e-10)
    assert (
        bounds.stochastic_boosting_moments(matrices, y, time=0.0, learning_rate=0.5)[0] == y.mean()
    ).all()


def test_covariance_by_enumeration():
    """All 4^3 sequences of three rounds; one round is rate² Cov(G y~)."""
    matrices, y = learners()
    rate, n = 0.4, len(y)
    ends = [np.full(matrices.shape[1], y.mean())]
    for m in range(1, 4):
        ends = [F + rate * G @ (y - F[:n]) for F in ends for G in matrices]
        C = bounds.stochastic_boosting_moments(matrices, y, time=m * rate, learning_rate=rate)[1]
        np.testing.assert_allclose(C, np.cov(np.array(ends).T, bias=True), rtol=1e-9, atol=1e-12)
    one = bounds.stochastic_boosting_moments(matrices, y, time=1 * rate, learning_rate=rate)[1]
    fits = matrices @ (y - y.mean())
    np.testing.assert_allclose(one, rate**2 * np.cov(fits.T, bias=True), rtol=1e-10, atol=1e-14)
    assert (
        bounds.stochastic_boosting_moments(matrices[:1], y, time=5 * rate, learning_rate=rate)[1]
        == 0
    ).all()


def test_limit_covariance_is_the_leading_term():
    """C / lambda for small lambda, extrapolated; and the integral of the differential equation."""
    matrices, y = learners()
    t = 1.5
    V = bounds.stochastic_boosting_moments(matrices, y, t)[1]
    rates = (t / 400, t / 800)
    coarse, fine = (
        bounds.stochastic_boosting_moments(matrices, y, time=round(t / r) * r, learning_rate=r)[1]
        / r
        for r in rates
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
    flat = bounds.stochastic_boosting_moments(S, [1.0, -1.0], 3.0)[1]
    np.testing.assert_allclose(flat, np.full((2, 2), 3.0), rtol=1e-9)
    assert (bounds.stochastic_boosting_moments(matrices, y, 0.0)[1] == 0).all()
    assert (bounds.stochastic_boosting_moments(matrices, np.ones(5), 1.0)[1] == 0).all()


def test_fluctuations_are_of_order_the_root_of_the_rate():
    """Corollary 3.5: the simulated mean square distance to the limit, for two rates."""
    matrices, y = learners()
    t, n = 1.0, len(y)
    average = matrices.mean(axis=0)
    w = np.linalg.solve(average[:n], (np.eye(n) - scipy.linalg.expm(-t * average[:n])))
    limit = y.mean() + average @ w @ (y - y.mean())
    V = np.diag(bounds.stochastic_boosting_moments(matrices, y, t)[1])
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
        (lambda G, y: bounds.stochastic_boosting_moments(G[0], y, 0.3, 0.1), "matrices"),
        (lambda G, y: bounds.stochastic_boosting_moments(G, y[:-1], 0.3, 0.1), "matrices"),
        (lambda G, y: bounds.stochastic_boosting_moments(G, y, 0.3, 1.1), "learning_rate"),
        (lambda G, y: bounds.stochastic_boosting_moments(G, y * np.nan, 0.2, 0.1), "y must"),
        (lambda G, y: bounds.stochastic_boosting_moments(-G, y, 2000.0, 1.0), "unstable"),
        (lambda G, y: bounds.stochastic_boosting_moments(G, y, -1.0)[1], "time"),
        (lambda G, y: bounds.stochastic_boosting_moments(G, [], 1.0)[1], "y must"),
        (lambda G, y: bounds.stochastic_boosting_moments(-3 * G, y, 400.0)[1], "unstable"),
    ],
)
def test_random_rounds_outside_the_assumptions(call, match):
    with pytest.raises(ValueError, match=match):
        call(*learners())
