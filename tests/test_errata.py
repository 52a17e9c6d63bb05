"""The errors in the sources listed in docs/errata.md: the corrected form holds, the printed fails.

All tests are plain NumPy and SciPy computations on the formulas themselves and use no estimator of
the package. The sources are those of docs/sources.md. Where a formula has to be simulated, the
corrected form must be within three standard errors of the simulation and the printed form well
outside.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gammaln
from scipy.stats import chi2
from sklearn.tree import DecisionTreeRegressor

from .errata_parts import within

# --- averaging -----------------------------------------------------------------------------------


def test_averaged_neighbours_variance():
    """[Bach, §10.1.1] prints variance sigma^2/k for m averaged k-NN fits; it is sigma^2/(mk)."""
    rng = np.random.default_rng(0)
    n, k, m, sigma, repetitions = 50, 3, 7, 2.0, 4000
    x, noise = rng.uniform(size=(repetitions, m, n)), rng.normal(0, sigma, (repetitions, m, n))
    nearest = np.argpartition(abs(x - 0.5), k, axis=2)[:, :, :k]
    bagged = np.take_along_axis(noise, nearest, axis=2).mean(axis=(1, 2))
    assert within(bagged**2, sigma**2 / (m * k))
    assert not within(bagged**2, sigma**2 / k)

    # The text's own choice, k^(1 + 2/d) proportional to n^(2/d) / m, follows from the second.
    d, size, grid = 4, 1e6, np.exp(np.linspace(0, 12, 20001))

    def best_k(replications, printed):
        variance = 1 / grid if printed else 1 / (replications * grid)
        return grid[np.argmin(variance + (2 * grid / size) ** (2 / d))]

    exponent = -1 / (1 + 2 / d)
    assert best_k(64, printed=False) / best_k(1, printed=False) == pytest.approx(
        64**exponent, rel=0.01
    )
    assert best_k(64, printed=True) == best_k(1, printed=True)


def test_bagged_neighbour_variance_carries_noise():
    """[Bach, §10.1.2] prints the variance term (s/n) (...); it is sigma^2 times that."""
    rng = np.random.default_rng(0)
    n, s, sigma = 60, 6, 5.0
    rank = np.arange(1, n - s + 2)
    log_binomial = gammaln(n - rank + 1) - gammaln(s) - gammaln(n - rank - s + 2)
    weights = np.zeros(n)
    weights[: len(rank)] = np.exp(
        log_binomial - gammaln(n + 1) + gammaln(s + 1) + gammaln(n - s + 1)
    )
    assert weights.sum() == pytest.approx(1)
    predictions = rng.normal(0, sigma, (20000, n)) @ weights  # the target is 0, so all is variance
    bound = (s / n) / (1 + 1 / n - s / n) ** 2
    assert within(predictions**2, sigma**2 * (weights**2).sum())
    assert np.var(predictions) < sigma**2 * bound
    assert np.var(predictions) > 5 * bound


def test_forest_average_is_the_unbiased_one():
    """[Shah, §4.5] prints the sum of the T_{D_b} as unbiased for their mean; the average is."""
    n_trees, repetitions, n = 5, 100, 40

    def prediction(rng):
        X = rng.uniform(size=(n, 1))
        y = 3 + X[:, 0] + rng.normal(0, 0.5, n)
        return DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y).predict([[0.3]])[0]

    rng = np.random.default_rng(0)
    single = [prediction(rng) for _ in range(500)]
    trees = np.array([[prediction(rng) for _ in range(n_trees)] for _ in range(repetitions)])
    spread = np.std(single) / np.sqrt(len(single)) + trees.mean(axis=1).std() / np.sqrt(repetitions)
    assert abs(trees.mean(axis=1).mean() - np.mean(single)) < 3 * spread
    assert trees.sum(axis=1).mean() > 4.5 * np.mean(single)


# --- random projections --------------------------------------------------------------------------


@pytest.fixture
def cosine_features():
    """A Gaussian kernel on 40 points and draws of its random cosine features, at most R^2 = 2."""
    n, bandwidth, s, draws = 40, 0.1, 10, 4000
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, n)

    def kernel(distance):
        return np.exp(-(distance**2) / (2 * bandwidth**2))

    frequency = rng.standard_normal((draws, 1, s)) / bandwidth
    phase = rng.uniform(0, 2 * np.pi, (draws, 1, s))
    features = np.sqrt(2) * np.cos(x[:, None] * frequency + phase)
    return x, kernel, features


def test_random_feature_second_moment(cosine_features):
    """[Bach, §10.2.2] prints E[P P' P P'] <= s(s-1) K + n s R^2 K; the first K is K^2."""
    x, kernel, features = cosine_features
    draws, n, s = features.shape
    K = kernel(x[:, None] - x)
    squares = features @ features.transpose(0, 2, 1)
    simulated = np.einsum("bij,bjk->ik", squares, squares) / draws
    # One column phi: E[|phi|^2 phi_i phi_j] = n K_ij + (1/2) sum_k kernel(2 x_k - x_i - x_j).
    pairs = x[:, None] + x
    column = n * K + 0.5 * sum(kernel(2 * x_k - pairs) for x_k in x)
    exact = s * (s - 1) * K @ K + s * column
    assert np.linalg.norm(simulated - exact) < 0.02 * np.linalg.norm(exact)

    remainder = n * s * 2 * K
    corrected = s * (s - 1) * K @ K + remainder - exact
    printed = s * (s - 1) * K + remainder - exact
    top = np.linalg.eigvalsh(exact)[-1]
    assert np.linalg.eigvalsh(corrected)[0] > -1e-8 * top
    assert np.linalg.eigvalsh(printed)[0] < -0.1 * top


def test_random_feature_bias_bound(cosine_features):
    """[Bach, §10.2.2] prints the bias (2/n) R^2 y'K^-1 y / (s+1); it is R^2 y'K^-1 y / s."""
    x, kernel, features = cosine_features
    s, n = 3, len(x)
    basis, _ = np.linalg.qr(features[:, :, :s])
    projection = np.einsum("bis,bjs->ij", basis, basis) / len(basis)
    eigenvalues, vectors = np.linalg.eigh(kernel(x[:, None] - x))
    root = vectors * np.sqrt(np.clip(eigenvalues, 0, None))  # y = root v has y'K^-1 y = |v|^2
    worst = np.linalg.eigvalsh(root.T @ (np.eye(n) - projection) @ root / n)[-1]
    assert worst < 2 / s
    assert worst > 3 * (2 / n) * 2 / (s + 1)
    # From the second moment to the bound: with a = eigenvalue/(n R^2) in [0, 1], the bias is at
    # most R^2 times a (1 - a) / (1 + (s - 1) a), whose largest value 1 / (1 + sqrt(s))^2 < 1/s.
    a = np.linspace(0, 1, 100001)
    for size in (1, 2, 3, 10, 1000):
        largest = np.max(a * (1 - a) / (1 + (size - 1) * a))
        assert largest == pytest.approx(1 / (1 + np.sqrt(size)) ** 2, rel=1e-4)
        assert largest < 1 / size


def test_random_projections_run_over_replications():
    """[Bach, §10.2.2] prints S^(j) for j in {1, ..., n}; the average is over j = 1, ..., m.

    Exact: S picks two of four columns, all six pairs with equal probability, and the error of the
    average of m projections is computed over all 6^m choices.
    """
    n, d, s, sigma = 3, 4, 2, 0.7
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((n, d))
    target = Phi @ rng.standard_normal(d)
    chosen = [Phi[:, columns] for columns in itertools.combinations(range(d), s)]
    projections = [A @ np.linalg.pinv(A) for A in chosen]
    Delta = sum(projections) / len(projections)

    def error_of_average(m):
        averages = [sum(choice) / m for choice in itertools.product(projections, repeat=m)]
        errors = [
            np.sum((average @ target - target) ** 2) + sigma**2 * np.sum(average**2)
            for average in averages
        ]
        return np.mean(errors) / n

    def formula(m):
        """The text's value before its last bound."""
        bias = np.eye(n) - Delta
        spread = Delta - Delta @ Delta
        noise = (1 - 1 / m) * np.trace(Delta @ Delta) + s / m
        return (sigma**2 * noise + target @ (bias @ bias + spread / m) @ target) / n

    for m in (1, 2, 4):
        assert error_of_average(m) == pytest.approx(formula(m), rel=1e-12)
        assert abs(error_of_average(m) - formula(n)) > 0.01 * formula(n)


def test_johnson_lindenstrauss_tail():
    """[Bach, lemma 10.1], proof, prints a tail of 2 exp(-s e^2 / 3); it is 2 exp(-s e^2 / 6)."""

    def tail(s, e):
        return chi2.cdf(s * (1 - e), s) + chi2.sf(s * (1 + e), s)

    sizes, widths = [1, 3, 10, 30, 100, 300, 1000, 3000], [0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
    for s, e in itertools.product(sizes, widths):
        assert tail(s, e) <= 2 * np.exp(-s * e**2 / 6)
    assert tail(400, 0.5) > 1000 * 2 * np.exp(-400 * 0.5**2 / 3)
    # log(1 + u) <= u - u^2 / 3 under the exponent s/2 gives the 6, and the lemma's s with it.
    n, delta, e = 50, 0.01, 0.3
    s = 6 / e**2 * np.log(n**2 / delta)
    assert n * (n - 1) / 2 * 2 * np.exp(-s * e**2 / 6) <= delta


# --- boosting ------------------------------------------------------------------------------------


def adaboost(candidates, y, rounds):
    """Scores after each round of AdaBoost over the rows of `candidates`, and each round's edge."""
    scores, edges = [np.zeros(len(y))], []
    for _ in range(rounds):
        weight = np.exp(-y * scores[-1])
        edge = candidates @ (y * weight) / weight.sum()
        best = np.argmax(edge)
        edges.append(edge[best])
        step = 0.5 * np.log((1 + edge[best]) / (1 - edge[best]))
        scores.append(scores[-1] + step * candidates[best])
    return scores, edges


@pytest.fixture
def stumps():
    """Every stump of 40 points on a line, and labels of an interval, which no stump gets right."""
    x = np.arange(40)
    y = np.where((x >= 12) & (x < 28), 1.0, -1.0)
    cuts = np.where(x <= np.arange(-1, 40)[:, None], -1.0, 1.0)
    return np.vstack([cuts, -cuts]), y


def test_adaboost_risk_factor(stumps):
    """[Bach, §10.3.4] prints F(u_t) = F(u_{t-1}) (1 - e^2); it is F(u_{t-1}) sqrt(1 - e^2)."""
    candidates, y = stumps
    scores, edges = adaboost(candidates, y, 8)
    risks = [np.mean(np.exp(-y * u)) for u in scores]
    for before, after, e in zip(risks, risks[1:], edges):
        assert e > 0.1
        assert after == pytest.approx(before * np.sqrt(1 - e**2), rel=1e-12)
        error = (1 - e) / 2
        assert after == pytest.approx(before * 2 * np.sqrt(error * (1 - error)), rel=1e-12)
        assert after > before * (1 - e**2) * 1.005
    assert np.sqrt(1 - 0.3**2) == pytest.approx(0.95394, abs=5e-6)


def test_adaboost_proof_bounds_the_score_not_its_sign(stumps):
    """[Ghoshdastidar, theorem En.4], proof, prints f_T = h_ada, its sign; Z_T needs f_T itself."""
    candidates, y = stumps
    score = adaboost(candidates, y, 40)[0][-1]
    assert np.mean(np.sign(score) != y) <= np.mean(np.exp(-y * score)) < 0.1
    assert np.mean(np.exp(-y * np.sign(score))) >= np.exp(-1)  # a sum that no T can bring down


def test_matching_pursuit_absolute_value():
    """[Bach, §10.3.3] prints |(u - y)'psi| in the step; the product has to keep its sign."""
    y = np.array([1.0, 2.0, -1.0, 0.5])
    psi = np.array([1.0, 1.0, -1.0, 1.0])  # squared norm n = 4, and (0 - y)'psi < 0

    def risk(u):
        return np.mean((y - u) ** 2) / 2

    product = (0 - y) @ psi / 4
    assert risk(-product * psi) == pytest.approx(risk(0) - product**2 / 2)
    assert risk(-abs(product) * psi) > risk(0)
    # After a choice of sign that makes the product positive, the two are the same step.
    assert risk(-abs((0 - y) @ -psi / 4) * -psi) == pytest.approx(risk(0) - product**2 / 2)


@pytest.fixture
def gradient_boosting_run():
    """Ten rounds of (10.9) with its factor psi(w_t): F(u) = |u - y|^2 / 2, L = C = 1, unit vectors.

    Large residuals, so that the products of the proof are far from 1; the gauge is the sum of
    absolute values, the comparison point v is the minimiser y.
    """
    y = np.array([40.0, -25.0, 10.0, 5.0, -3.0])
    u, gauge, rows = np.zeros(5), np.abs(y).sum(), []
    for _ in range(10):
        gradient = u - y
        w = np.argmax(np.abs(gradient))
        polar = abs(gradient[w])
        psi = np.zeros(5)
        psi[w] = np.sign(gradient[w])
        after = u - gradient @ psi * psi
        rows.append((gradient @ psi, psi, u, after, gauge, polar))
        u, gauge = after, gauge + polar
        if np.allclose(u, y):
            break
    return y, rows


def test_gradient_boosting_step_direction(gradient_boosting_run):
    """[Bach, eq. (10.9)] prints u - (1/(L C^2)) F'(u)'psi, vector less number; times psi(w_t)."""
    y, rows = gradient_boosting_run

    def risk(u):
        return np.sum((u - y) ** 2) / 2

    for _, _, before, after, _, polar in rows:
        assert risk(after) <= risk(before) - polar**2 / 2 + 1e-12  # (10.10)
    product, _, before, *_ = rows[0]
    assert risk(before - product) > risk(before)  # the printed step: the same shift for every row


def test_gradient_boosting_proof_divides_by_the_gap(gradient_boosting_run):
    """[Bach, proposition 10.1], proof: p = polar^2/(L C^2) in (1 + p)(1 - p/2)^2 lacks 1/gap."""
    y, rows = gradient_boosting_run
    gaps = [np.sum((before - y) ** 2) / 2 for _, _, before, *_ in rows]
    gauges = [gauge for *_, gauge, _ in rows]
    failures = 0
    for t, (*_, polar) in enumerate(rows[:-1]):
        product, following = gauges[t] * gaps[t] ** 2, gauges[t + 1] * gaps[t + 1] ** 2
        p = polar**2 / gaps[t]
        assert following <= product * (1 + p) * max(1 - p / 2, 0) ** 2 * (1 + 1e-12)
        failures += following > product * (1 + polar**2) * max(1 - polar**2 / 2, 0) ** 2
    assert failures > 0


def test_sequence_lemma_constant():
    """[Bach, footnote 4]: a_t <= a_{t-1} - c a_{t-1}^2 gives 1/(ct + 1/a_0), t/c is printed."""
    for c, first in [(0.1, 1.0), (0.5, 1.5), (2.0, 0.4)]:
        a, printed_fails = first, False
        for t in range(1, 50):
            a = max(a - c * a**2, 0.0)
            assert a <= 1 / (c * t + 1 / first)
            printed_fails |= a > 1 / (t / c + 1 / first)
        assert printed_fails == (c < 1)


def test_gradient_descent_comparison_is_squared():
    """[Bach, §10.3.5] prints L |u|^2 <= L C^2 gauge(u); the gauge is squared."""
    C, multiple = 3.0, 2.0
    u, gauge = multiple * np.array([C, 0.0]), multiple  # twice an atom of norm C
    assert u @ u <= C**2 * gauge**2
    assert u @ u > C**2 * gauge


def test_bound_of_boosting_has_the_class_in_both_terms():
    """[Bach, §10.3.6], below (10.16), prints sqrt(t)/sqrt(n) without rho; it is a factor of both.

    "Up to constants" their ratio to (10.16), here for G_0 = G_1 = G_2 = 1, is within fixed limits.
    """
    corrected, printed = [], []
    for t, n, rho, gauge in itertools.product(
        [1, 100, 1e4], [10, 1e4, 1e7], [1e-2, 1, 100], [0.1, 1, 10]
    ):
        bound = (np.sqrt(2 * t) + gauge) * 2 * rho / np.sqrt(n) + (2 * gauge**2 / t) ** 0.2
        rest = gauge * rho / np.sqrt(n) + gauge**0.4 / t**0.2
        corrected.append(bound / (rho * np.sqrt(t / n) + rest))
        printed.append(bound / (np.sqrt(t / n) + rest))
    assert min(corrected) > 2**0.2 - 1e-12
    assert max(corrected) < 2**1.5 + 1e-12
    assert min(printed) < 0.1
    assert max(printed) > 100


def test_unconstrained_steps_are_added_up():
    """[DS-GA 1003, lecture 8] prints f^(T) as the sum of f^(0) to f^(T), not of the steps."""
    rng = np.random.default_rng(0)
    y, start = rng.choice([-1.0, 1.0], 6), rng.standard_normal(6)
    rates = [0.5, 0.2, 0.1]
    f, steps = [start], []
    for rate in rates:  # the logistic loss
        steps.append(-y / (1 + np.exp(y * f[-1])))
        f.append(f[-1] - rate * steps[-1])
    np.testing.assert_allclose(f[-1], start - rates @ np.array(steps))
    assert np.abs(f[-1] - sum(f)).max() > 1

    def risk(f):
        return np.sum(np.logaddexp(0, -y * f))

    assert risk(f[-1]) < risk(start) < risk(sum(f))


def test_squared_loss_pseudo_residual_sign():
    """[DS-GA 1003, lecture 8], squared loss: h is fitted to -g = 2 (y - f), printed as g."""
    rng = np.random.default_rng(0)
    y, f = rng.standard_normal((2, 6))

    def loss(f):
        return np.sum((y - f) ** 2)

    step = 1e-6 * np.eye(6)
    g = np.array([loss(f + e) - loss(f - e) for e in step]) / 2e-6
    np.testing.assert_allclose(-g, 2 * (y - f), atol=1e-6)
    features = rng.standard_normal((6, 2))
    fit = features @ np.linalg.pinv(features)  # h, by least squares on two features
    assert loss(f + 0.1 * fit @ -g) < loss(f) < loss(f + 0.1 * fit @ g)


def test_the_rate_of_matching_pursuit_is_proportional_to_the_squared_gauge():
    """[Bach, §10.3.3]: "a rate proportional to gamma(y)"; the formula has its square, as it must.

    The residuals of c y are c times those of y, and so is the gauge: no multiple of it is a bound.
    """
    rng = np.random.default_rng(0)
    psi = rng.standard_normal((20, 30))
    psi *= np.sqrt(20) / np.linalg.norm(psi, axis=0)
    coefficients = rng.standard_normal(30) / 30
    found = []
    for c in (1.0, 1e4):
        u, y = np.zeros(20), c * psi @ coefficients
        for _ in range(10):
            products = psi.T @ (y - u) / 20
            j = np.argmax(np.abs(products))
            u = u + products[j] * psi[:, j]
        above = c * np.abs(coefficients).sum()  # the gauge is at most that
        error = np.mean((y - u) ** 2)
        assert error <= above**2 * 10 ** (-1 / 3)
        found.append(error / above)
    assert found[1] == pytest.approx(1e4 * found[0])


def test_convergence_of_gradient_boosting_needs_convexity():
    """[Bach, proposition 10.1] assumes an L-smooth F only; its proof uses that F is convex.

    F(u) = 1 - cos(u) with L = C = 1, from u_0 = pi, where the gradient is 0, and v = 0.
    """

    def run(slope, u, t):
        for _ in range(t):
            u = u - slope(u)  # (10.9) for psi = -1 and 1
        return u

    def bound(gauge, excess, t):
        return (2 * gauge**2 * excess**4 / t) ** 0.2

    t = 10_000
    stays = run(np.sin, np.pi, t)
    assert 1 - np.cos(stays) == pytest.approx(2)
    assert bound(np.pi, 2, t) == pytest.approx(0.501, abs=5e-4)

    def slope(u):  # of log(cosh(u)), which is convex and 1-smooth
        return np.tanh(u)

    for rounds in (1, 2, 10):
        left = np.log(np.cosh(run(slope, np.pi, rounds)))
        assert left <= bound(np.pi, np.log(np.cosh(np.pi)), rounds)


# --- empirical risk minimisation -----------------------------------------------------------------


def test_kernel_machine_sums_over_the_rows():
    """[Shah, eq. (3.4) and (3.6)] print l(Y_i, .) / n; the empirical risk is its sum over i.

    With the squared loss: the sum's minimiser is the constrained empirical risk minimiser (its
    risk's gradient is parallel to it), and the two forms agree. For a single i they agree as well,
    on something else.
    """
    rng = np.random.default_rng(0)
    n, d, gamma = 6, 4, 0.1
    Phi, Y = rng.standard_normal((n, d)), rng.standard_normal(n)
    K = Phi @ Phi.T

    def minimiser(rows):
        """Of (3.4) with the sum over `rows`, and Phi^T of (3.6)'s."""
        A, target, k = Phi[rows], Y[rows], K[rows]
        beta = np.linalg.solve(A.T @ A / n + gamma * np.eye(d), A.T @ target / n)
        alpha = np.linalg.pinv(k.T @ k / n + gamma * K) @ k.T @ target / n
        np.testing.assert_allclose(Phi.T @ alpha, beta, atol=1e-10)
        return beta

    def cosine_with_descent(beta):
        descent = Phi.T @ (Y - Phi @ beta) / n
        return descent @ beta / np.linalg.norm(descent) / np.linalg.norm(beta)

    assert cosine_with_descent(minimiser(np.arange(n))) == pytest.approx(1, abs=1e-12)
    for i in range(n):
        assert cosine_with_descent(minimiser([i])) < 0.95


def test_affine_maps_have_as_many_arguments_as_columns():
    """[Shah, proposition 17 (ii)]: f(Ax - b), A of d rows and m columns, is on R^m, not R^d."""
    A, b = np.arange(6.0).reshape(2, 3), np.ones(2)
    x, z = np.random.default_rng(0).standard_normal((2, 3))

    def g(x):
        return np.linalg.norm(A @ x - b)

    assert g((x + z) / 2) <= (g(x) + g(z)) / 2
    with pytest.raises(ValueError, match="mismatch"):
        g(np.zeros(2))


def test_calibration_needs_tangents_and_not_sublevel_sets():
    """[Shah, theorem 18], proof: C(a) >= C(0) + C'(0) a is (v) of proposition 17, printed as (iv).

    (iv), that sublevel sets are convex, holds for the sigmoid too, for which the line fails.
    """
    alpha = np.linspace(-8, 8, 1601)
    losses = {
        "hinge": (lambda u: np.maximum(1 - u, 0), -1.0),
        "exponential": (lambda u: np.exp(-u), -1.0),
        "logistic": (lambda u: np.logaddexp(0, -u) / np.log(2), -0.5 / np.log(2)),
        "sigmoid": (lambda u: 1 / (1 + np.exp(u)), -0.25),
    }
    for name, (phi, slope) in losses.items():
        assert (phi(1e-6) - phi(-1e-6)) / 2e-6 == pytest.approx(slope, rel=1e-6)
        for eta in (0.6, 0.9, 1.0):
            risk = eta * phi(alpha) + (1 - eta) * phi(-alpha)
            for level in risk:  # (iv): the scores of a sublevel set are neighbours
                inside = np.flatnonzero(risk <= level)
                assert len(inside) == inside[-1] - inside[0] + 1
            line = phi(0.0) + (2 * eta - 1) * slope * alpha
            assert (risk >= line - 1e-12)[alpha <= 0].all() == (name != "sigmoid")


@pytest.mark.parametrize("x", [0.7, -0.3])
def test_subgradient_sign(x):
    """[Shah, proposition 23], proof, ends with f(z) + g'z >= f(x) + g'x; it is f(z) - g'z.

    The proof's own construction, for f(z) = |z| + z^2 / 2: v_k = w_k - projection of w_k on the
    epigraph, for w_k just below (x, f(x)); v = (-g~, alpha) and g = g~ / alpha.
    """

    def f(z):
        return np.abs(z) + z**2 / 2

    below = np.array([x, f(x) - 1e-4])

    def nearness(z):  # derivative of half the squared distance from `below` to (z, f(z))
        return (z - x) + (f(z) - below[1]) * (np.sign(z) + z)

    projected = brentq(nearness, x - 0.1, x + 0.1, xtol=1e-15)
    v = below - [projected, f(projected)]
    g_tilde, alpha = -v[0], v[1]
    assert alpha < 0
    g = g_tilde / alpha
    assert g == pytest.approx(np.sign(x) + x, abs=1e-3)
    z = np.linspace(-3, 3, 601)
    assert np.all(f(z) - g * z >= f(x) - g * x - 1e-3)
    assert np.any(f(z) + g * z < f(x) + g * x - 0.5)
