"""Selection and aggregation of candidates: the steps of the proofs, and simulated excess risks."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.model_selection import KFold

from sklearn_ensemble_theory import bounds
from sklearn_ensemble_theory.combining import WeightedMean
from sklearn_ensemble_theory.erm import project_simplex

# Selection


def test_selection_by_hand():
    # L = log(8)/log(8) = 1, a = 1: 2 (0.5 + 16/3 + 4/3) for M = 1, and 2 (0.5 + 3 + 2) for B = 3.
    m = math.log(8)
    found = bounds.oracle_selection_bound(8, m, 0.5, inflation=1.0)
    assert found == pytest.approx(2 * (0.5 + 16 / 3 + 4 / 3), rel=1e-12)
    found = bounds.oracle_selection_bound(8, m, 0.5, loss_constants=(3.0, 6.0), inflation=1.0)
    assert found == pytest.approx(2 * (0.5 + 3 + 2), rel=1e-12)
    # The best a without an excess of the oracle and b = 0 is 1: B (1 + 1) L.
    found = bounds.oracle_selection_bound(8, m, 0.0, loss_constants=(3.0, 0.0))
    assert found == pytest.approx(6.0, rel=1e-12)
    # One candidate is the oracle; and the bound is in units of M².
    assert bounds.oracle_selection_bound(1, 10, 0.3) == 0.3
    found = bounds.oracle_selection_bound(5, 100, 9 * 0.3, value_bound=3.0)
    assert found == pytest.approx(9 * bounds.oracle_selection_bound(5, 100, 0.3), rel=1e-12)


@pytest.mark.parametrize("constants", [None, (16.0, 4.0), (5.0, 1.0), (1.0, 50.0)])
@pytest.mark.parametrize("excess", [0.0, 0.01, 3.0])
def test_the_best_inflation_by_numeric_minimisation(constants, excess):
    def value(log_a):
        return bounds.oracle_selection_bound(
            20, 300, excess, loss_constants=constants, inflation=math.exp(log_a)
        )

    least = minimize_scalar(value, bounds=(-12, 2), method="bounded", options={"xatol": 1e-10})
    found = bounds.oracle_selection_bound(20, 300, excess, loss_constants=constants)
    assert found == pytest.approx(least.fun, rel=1e-8)


def constant_c(a, **constants):
    """c of the bound (1 + a) D + c log(K)/m."""
    return bounds.oracle_selection_bound(8, math.log(8), 0.0, inflation=a, **constants)


def squared_errors():
    """(values of Z, probabilities, d): y = -1 or 1 of mean s, f - f* = v on a share of the rows."""
    for s in np.linspace(-1, 1, 21):
        for v in np.linspace(-1 - s, 1 - s, 40):
            for share in (0.01, 0.3, 1.0):
                y = np.array([-1.0, 1.0, 0.0])
                p = np.array([share * (1 - s) / 2, share * (1 + s) / 2, 1 - share])
                Z = np.append(v**2 - 2 * v * (y[:2] - s), 0.0)
                yield Z, p, share * v**2


def wrong_labels(h):
    """The same for the misclassification loss, and labels that are right with (1 + h)/2."""
    for share in (0.01, 0.3, 1.0):
        p = share * np.array([(1 + h) / 2, (1 - h) / 2, 0.0]) + np.array([0, 0, 1 - share])
        yield np.array([1.0, -1.0, 0.0]), p, share * h


def largest_mgf(cases, a, c, sign):
    return max(
        p @ np.exp((d - (1 + a) * Z if sign > 0 else (1 + a) * Z - (1 + 2 * a) * d) / c)
        for Z, p, d in cases
    )


@pytest.mark.parametrize("a", [0.03, 0.3, 1.0, 4.0])
def test_moment_generating_function_of_the_proof(a):
    """It is at most 1 in both directions, and not with half of the constant and a small a."""
    cases = list(squared_errors())
    for Z, p, d in cases:
        assert p @ Z == pytest.approx(d, abs=1e-12)
        assert p @ Z**2 <= 16 / 3 * d + 1e-12
        assert abs(Z).max() <= 4 + 1e-12
    # A y of mean 1/3 and v = -4/3 attain B.
    assert max(p @ Z**2 / d for Z, p, d in cases if d > 1e-9) > 0.99 * 16 / 3
    c = constant_c(a)
    for sign in (-1, 1):
        assert largest_mgf(cases, a, c, sign) <= 1 + 1e-12
        if a < 0.1:
            assert largest_mgf(cases, a, 0.7 * c, sign) > 1
    for h in (0.1, 0.7):
        c = constant_c(a, loss_constants=(1 / h, 1.0))
        for sign in (-1, 1):
            assert largest_mgf(wrong_labels(h), a, c, sign) <= 1 + 1e-12
            if a < 0.1:
                assert largest_mgf(wrong_labels(h), a, 0.7 * c, sign) > 1


def test_selection_among_orthogonal_candidates():
    """f* and 60 candidates r s_k(x) of random signs: the excess is at most 1, and above 0.1, of it.

    The excess r² is that which makes the selection hardest.
    """
    rng = np.random.default_rng(0)
    m, K, draws = 400, 61, 400
    most = []
    for r in (0.1, 0.2, 0.25, 0.3):
        # The mean of Z on the rows is r² - 2 r mean(s_k y), for y = -1 or 1 of mean 0.
        signs = 2 * rng.binomial(m, 0.5, (draws, K - 1)) / m - 1
        selected = (r**2 - 2 * r * signs).min(axis=1) < 0
        most.append(r**2 * selected.mean())
    bound = bounds.oracle_selection_bound(K, m, 0.0)
    assert 0.1 * bound < max(most) <= bound


def test_selection_over_folds_with_fits():
    """Shrunken means in five folds: the selected one against the oracle, and that of each data set.

    The excess risk of the prediction b mean(y) is its squared distance to the mean of y.
    """
    rng = np.random.default_rng(0)
    shrunk, mean, n = np.array([0.0, 0.2, 0.5, 0.8, 1.0]), 0.25, 100
    found, all_excess = [], []
    for _ in range(300):
        y = np.where(rng.random(n) < (1 + mean) / 2, 1.0, -1.0)
        excess, loss = [], []
        for train, test in KFold(5).split(y):
            f = shrunk * y[train].mean()
            excess.append((f - mean) ** 2)
            loss.append(((y[test] - f[:, None]) ** 2).mean(axis=1))
        excess = np.mean(excess, axis=0)
        found.append(excess[np.argmin(np.mean(loss, axis=0))])
        all_excess.append(excess)
    best, best_of_each = np.mean(all_excess, axis=0).min(), np.min(all_excess, axis=1).mean()
    assert best_of_each < best < np.mean(found)
    assert np.mean(found) <= bounds.oracle_selection_bound(5, n / 5, best)
    # (1 + 2a) D' + 2c log(K)/m, as the notes of the function have it.
    value = bounds.oracle_selection_bound(5, n / 5, best_of_each, inflation=0.5)
    c = constant_c(0.5)
    assert 2 * value - best_of_each == pytest.approx(
        2 * best_of_each + 2 * c * math.log(5) / (n / 5), rel=1e-12
    )
    assert np.mean(found) <= 2 * value - best_of_each


# Exponential weights


def mixtures(losses, predictions, rate):
    """The progressive mixtures before each row, by their definition: one more than the rows."""
    sums = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)])
    weights = np.exp(-rate * (sums - sums.min(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    return (weights * predictions).sum(axis=1)


def test_exponential_weights_by_hand():
    assert bounds.exponential_weights_bound(7, 0) == pytest.approx(8 * math.log(7), rel=1e-12)
    found = bounds.exponential_weights_bound(7, 9, 3.0)
    assert found == pytest.approx(7.2 * math.log(7), rel=1e-12)
    found = bounds.exponential_weights_bound(7, 9, exp_concavity=1.0)
    assert found == pytest.approx(math.log(7) / 10, rel=1e-12)


def test_losses_are_exp_concave():
    """By second differences, and not for a larger constant."""

    def largest_difference(loss, rate, f):
        values = np.exp(-rate * loss(f))
        return np.diff(values, 2, axis=0).max()

    f = np.linspace(-1, 1, 401)[:, None]
    y = np.linspace(-1, 1, 21)
    assert largest_difference(lambda f: (f - y) ** 2, 1 / 8, f) <= 1e-15
    assert largest_difference(lambda f: (f - y) ** 2, 1 / 7, f) > 1e-9
    p = np.linspace(0.001, 0.999, 400)[:, None]
    assert largest_difference(lambda p: -np.log(p), 1.0, p) <= 1e-15
    assert largest_difference(lambda p: -np.log(p), 1.1, p) > 1e-9


def test_exponential_weights_never_lose_more_than_the_logarithm():
    """The step of the proof, for any rows: squared errors and the log-loss of two classes."""
    rng = np.random.default_rng(0)
    for K, n in [(2, 1), (5, 30), (40, 30)]:
        for _ in range(50):
            f, y = rng.uniform(-1, 1, (n, K)), rng.uniform(-1, 1, n)
            if rng.random() < 0.5:
                f, y = np.sign(f), np.sign(y)
            losses = (f - y[:, None]) ** 2
            total = np.sum((mixtures(losses[:-1], f, 1 / 8) - y) ** 2)
            limit = n * bounds.exponential_weights_bound(K, n - 1)
            assert total <= losses.sum(axis=0).min() + limit + 1e-9
            p = rng.beta(0.5, 0.5, (n, K))
            losses = -np.log(p)
            total = -np.log(mixtures(losses[:-1], p, 1.0)).sum()
            # The log-loss of the mixtures is that of the mean of the products of the probabilities.
            assert total == pytest.approx(-np.log(np.exp(-losses.sum(axis=0)).mean()), rel=1e-9)
            limit = n * bounds.exponential_weights_bound(K, n - 1, exp_concavity=1.0)
            assert total <= losses.sum(axis=0).min() + limit + 1e-9


def test_the_constant_of_exponential_weights_is_attained():
    """y = 1, one candidate is 1 and all others are -1: the mixtures of n rows are known."""
    K = math.exp(300)
    n = round(2 * math.log(K)) - 20
    wrong = 1 / (1 + np.exp(np.arange(n + 1) / 2) / (K - 1))
    excess = (2 * wrong.mean()) ** 2
    bound = 8 * math.log(K) / (n + 1)
    assert bounds.exponential_weights_bound(int(K), n) == pytest.approx(bound, rel=1e-12)
    assert 0.96 * bounds.exponential_weights_bound(int(K), n) < excess <= bound


def test_exponential_weights_are_better_than_selection():
    """Two candidates of almost equal risk: the simulated excess of the mean of the mixtures.

    That of the selected candidate is of the order 1/sqrt(n) and exceeds the bound for mixtures.
    """
    rng = np.random.default_rng(0)
    n, draws, f = 2_000, 1_500, np.array([-1.0, 1.0])
    mean = 0.6 / math.sqrt(n)
    mixed, selected = [], []
    for _ in range(draws):
        y = np.where(rng.random(n) < (1 + mean) / 2, 1.0, -1.0)
        losses = (f - y[:, None]) ** 2
        risk = 1 + mixtures(losses, f, 1 / 8).mean() ** 2
        risk -= 2 * mean * mixtures(losses, f, 1 / 8).mean()
        mixed.append(risk - (2 - 2 * mean))
        selected.append(4 * mean * (y.sum() < 0))
    bound = bounds.exponential_weights_bound(2, n)
    assert np.mean(mixed) <= bound < np.mean(selected)
    assert np.mean(selected) <= 4 * math.sqrt(2 * math.log(2) / n)


# Convex aggregation


def test_convex_aggregation_by_hand():
    # h = 4/64: 4 (1 - (15/16)²) = 31/64, for M² = 4.
    assert bounds.convex_aggregation_bound(5, 63, 2.0) == pytest.approx(31 / 16, rel=1e-12)
    # 10 pairs of 4 candidates: the square root is 1.
    n = 2 * math.log(10)
    found = bounds.convex_aggregation_bound(4, n)
    assert found == pytest.approx(2.5, rel=1e-12)
    assert found < 4 * (1 - (1 - 3 / (n + 1)) ** 2)
    assert bounds.convex_aggregation_bound(1, 10) == 0
    # The maximal inequality, by its own function.
    K, n = 500, 3000
    largest = bounds.sub_gaussian_maximum_bound(K * (K + 1) // 2, 2.5 / math.sqrt(n))
    assert bounds.convex_aggregation_bound(K, n) == pytest.approx(largest, rel=1e-12)
    assert bounds.convex_aggregation_bound(10, 10**6) < 8 * 9 / 10**6


def learned(P, y):
    return WeightedMean("simplex").fit(P, y).estimator_weights_


def leverages(P):
    """Of each row, among the weights of sum 0."""
    K = P.shape[1]
    basis = np.linalg.svd(np.ones((1, K)))[2][1:].T
    directions = P @ basis
    return np.einsum("ij,ij->i", directions @ np.linalg.pinv(directions.T @ directions), directions)


@pytest.mark.parametrize(("n", "K"), [(12, 3), (25, 6), (6, 9)])
def test_leaving_a_row_out_of_a_mixture(n, K):
    """|e| >= (1 - h) |v| for every row, with the weights of two solvers; and the mean of h."""
    rng = np.random.default_rng(n)
    P, y = rng.uniform(-1, 1, (n, K)), rng.uniform(-1, 1, n)
    w, h = learned(P, y), leverages(P)
    assert h.sum() <= K - 1 + 1e-9
    assert h.max() <= 1 + 1e-9
    other = minimize(
        lambda w: np.sum((P @ w - y) ** 2),
        np.full(K, 1 / K),
        bounds=[(0, 1)] * K,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    assert np.sum((P @ w - y) ** 2) <= other.fun + 1e-6
    gaps = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        e, v = P[i] @ w - y[i], P[i] @ learned(P[rest], y[rest]) - y[i]
        assert abs(e) >= (1 - h[i]) * abs(v) - 1e-8
        gaps.append(v**2 - e**2)
    assert np.mean(gaps) <= 4 * (1 - (1 - min(1, (K - 1) / n)) ** 2)


def test_excess_of_learned_mixtures():
    """Independent signs as candidates and targets: the excess is |w - 1/K|², within a factor of 10.

    The risk of a mixture is 1 + |w|², and equal weights are best.
    """
    rng = np.random.default_rng(0)
    for K, n in [(3, 100), (8, 500)]:
        excess = []
        for _ in range(150):
            P, y = rng.choice([-1.0, 1.0], (n, K)), rng.choice([-1.0, 1.0], n)
            excess.append(np.sum((learned(P, y) - 1 / K) ** 2))
        bound = bounds.convex_aggregation_bound(K, n)
        assert bound / 10 < np.mean(excess) <= bound


def test_excess_of_mixtures_of_many_candidates():
    """More candidates than rows, of which the bound by the leverages says nothing."""
    rng = np.random.default_rng(1)
    K, n = 120, 60
    bound = bounds.convex_aggregation_bound(K, n)
    assert bound < 4
    excess, largest = [], []
    for _ in range(20):
        P, y = rng.choice([-1.0, 1.0], (n, K)), rng.choice([-1.0, 1.0], n)
        w = project_simplex(learned(P, y))
        excess.append(np.sum((w - 1 / K) ** 2))
        errors = P - y[:, None]
        # Expectations of the products of errors: 2 for a candidate and itself, and 1 for a pair.
        largest.append((1 + np.eye(K) - errors.T @ errors / n).max())
    assert bound / 20 < np.mean(excess) <= np.mean(largest) <= bound


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("oracle_selection_bound", (0, 10, 0.1), "n_candidates"),
        ("oracle_selection_bound", (2, 0.5, 0.1), "fold_size"),
        ("oracle_selection_bound", (2, 10, -0.1), "oracle_excess"),
        ("exponential_weights_bound", (2, -1), "n_samples"),
        ("convex_aggregation_bound", (2, 0), "n_samples"),
        ("convex_aggregation_bound", (2, 5, -1.0), "value_bound"),
    ],
)
def test_arguments_out_of_range_are_named(name, arguments, parameter):
    with pytest.raises(ValueError, match=parameter):
        getattr(bounds, name)(*arguments)


@pytest.mark.parametrize("constants", [3.0, (1.0,), (1.0, 2.0, 3.0), [[1.0, 2.0]]])
def test_constants_of_a_loss_are_two(constants):
    with pytest.raises(ValueError, match="loss_constants must be two numbers"):
        bounds.oracle_selection_bound(2, 10, 0.1, loss_constants=constants)
