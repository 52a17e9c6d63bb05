"""Margin bounds on votes: values by loops, probabilities by enumeration, events by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import AdaBoostClassifier, bounds


def test_rademacher_margin_bound_by_hand():
    margins, complexity, delta = np.array([0.9, 0.5, 0.2, -0.1] * 2000), 0.01, 0.1
    values = []
    for k in range(1, 42):
        t = 2 ** (-(k - 1) / 4)
        loss = sum(min(1, max(0, 1 - m / t)) for m in margins[:4]) / 4
        deviation = math.sqrt(math.log(math.pi**2 * k**2 / (6 * delta)) / (2 * 8000))
        values.append(loss + 2 * complexity / t + deviation)
    found = bounds.rademacher_margin_bound(margins, complexity, delta)
    assert found == pytest.approx(min(values))
    assert 0.25 < found < 0.6
    # The failure probabilities of all thresholds sum to delta.
    assert sum(6 / (math.pi * k) ** 2 for k in range(1, 10**5)) < 1


def test_pac_bayes_margin_bound_by_hand():
    """By binomial distributions of another library, with the numbers of the grid in a loop."""
    margins, divergence, delta, n = np.array([0.9, 0.5, 0.2]), math.log(20), 0.1, 3000
    values = []
    for N in np.unique(np.round(np.logspace(0, 4, 40)).astype(int)).tolist():
        for k in range(N):
            if not N / 2 - 0.6 * math.sqrt(N) - 1 <= k <= N / 2 + 2.6 * math.sqrt(N) + 1:
                continue
            if len(values) and N > 300 and k % 7:
                continue
            mean = binom.cdf(k, N, (1 + margins) / 2).mean()
            epsilon = math.log(2 * math.sqrt(n) * N * (N + 1) ** 2 / delta) + N * divergence
            values.append(bounds.kl_inverse(mean, epsilon / n) / binom.cdf(k, N, 0.5))
    found = bounds.pac_bayes_margin_bound(np.repeat(margins, n // 3), divergence, delta)
    assert found >= min(values) * (1 - 1e-3)
    assert found == pytest.approx(min(values), rel=0.02)
    assert found < 0.5


def test_where_the_vote_errs_the_draws_err():
    """P(Bin(N, p) <= k) >= P(Bin(N, 1/2) <= k) for p <= 1/2, and falls with the margin."""
    for N in (1, 2, 7, 50):
        k = np.arange(N + 1)
        chance = binom.cdf(k[:, None], N, np.linspace(0, 1, 41))
        assert (np.diff(chance, axis=1) <= 1e-12).all()
        assert (chance[:, :21] >= chance[:, [20]] - 1e-12).all()


def test_both_bounds_fall_with_margins_and_rows():
    few, many = np.full(500, 0.4), np.full(50_000, 0.4)
    for bound, number in [
        (bounds.rademacher_margin_bound, 0.02),
        (bounds.pac_bayes_margin_bound, math.log(50)),
    ]:
        assert bound(many, number) < bound(few, number)
        assert bound(many + 0.3, number) < bound(many, number)
        assert bound(many, 2 * number) > bound(many, number)
        assert bound(many, number, 0.5) < bound(many, number, 0.01)
        assert bound(-many, number) == 1.0
    # Without a square root where all margins are large.
    assert bounds.pac_bayes_margin_bound(many + 0.4, math.log(50)) < 0.006


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_bounds_hold_for_the_worst_of_many_votes(every):
    """1,000 draws of rows: the error of any of 300 votes of 12 classifiers is below its bound."""
    rng, n, delta = np.random.default_rng(0), 800, 0.1
    outputs = np.where(rng.random((60, 12)) < 0.8, 1.0, -1.0)  # y h(x): right or wrong
    votes = rng.dirichlet(np.full(12, 0.5), 300).T
    margins = np.clip(outputs @ votes, -1, 1)
    errors = np.mean(margins <= 0, axis=0)
    complexity = bounds.finite_behaviours_rademacher_bound(n, math.log(24))
    counts = rng.multinomial(n, np.full(60, 1 / 60), 1000)
    # The vote whose error exceeds that on the rows most.
    worst = np.argmax(errors - counts @ (margins <= 0) / n, axis=1)
    failures, found = np.zeros(2), []
    for b in range(1000):
        seen = np.repeat(margins[:, worst[b]], counts[b])
        found.append(bounds.rademacher_margin_bound(seen, complexity, delta))
        failures[0] += errors[worst[b]] > found[-1]
        if b % every == 0:  # 20 times the time of the other bound
            limit = bounds.pac_bayes_margin_bound(seen, math.log(12), delta)
            failures[1] += errors[worst[b]] > limit
    assert (failures <= [delta * 1000, delta * 1000 / every]).all()
    assert np.mean(found) < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.rademacher_margin_bound([], 0.1), "margins"),
        (lambda: bounds.rademacher_margin_bound([1.5], 0.1), "margins"),
        (lambda: bounds.rademacher_margin_bound([0.5], -0.1), "rademacher_complexity"),
        (lambda: bounds.rademacher_margin_bound([0.5], 0.1, 0.0), "delta"),
        (lambda: bounds.pac_bayes_margin_bound([[0.5]], 1.0), "margins"),
        (lambda: bounds.pac_bayes_margin_bound([0.5], -1.0), "divergence"),
        (lambda: bounds.pac_bayes_margin_bound([0.5], 1.0, 2.0), "delta"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- of a fitted AdaBoost -------------------------------------------------------------------------


def interval(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, (np.abs(X[:, 0] - 0.5) < 0.25).astype(int)


def test_margin_bound_of_adaboost():
    X, y = interval(20_000)
    model = AdaBoostClassifier(n_estimators=40).fit(X, y)
    found = model.error_bound(X, y, delta=0.1)
    # Stumps that differ on the rows, and those of the other sign.
    complexity = math.sqrt(2 * math.log(2 * (2 * 19_999 + 1)) / 20_000)
    margins = model.margins(X, y)
    assert found == pytest.approx(bounds.rademacher_margin_bound(margins, complexity, 0.1))
    new, labels = interval(5000, seed=1)
    assert np.mean(model.predict(new) != labels) <= found < 0.6
    assert found < model.error_bound(X, y, method="vc", delta=0.1)
    exact = bounds.stump_rademacher_complexity(X[:2000], n_draws=50, random_state=0)
    assert exact <= math.sqrt(2 * math.log(2 * (2 * 1999 + 1)) / 2000)
    tree = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5)
    tree.fit(X[:500], y[:500])
    complexity = bounds.vc_rademacher_bound(500, 3)
    expected = bounds.rademacher_margin_bound(tree.margins(X[:500], y[:500]), complexity)
    assert tree.error_bound(X[:500], y[:500], vc_dimension=3) == expected
    with pytest.raises(ValueError, match="vc_dimension must be given"):
        tree.error_bound(X[:500], y[:500])


def test_order_of_the_pac_bayes_bound_for_equal_margins():
    """a log(1/a), without a logarithm of the rows, up to a factor between 2.5 and 3.6."""
    for n, size, t in [
        (10**4, 100, 0.5),
        (10**5, 100, 0.1),
        (10**5, 10**6, 0.2),
        (10**6, 10**6, 0.1),
    ]:
        a = np.log(size) / (n * t**2)
        bound = bounds.pac_bayes_margin_bound(np.full(n, t), np.log(size))
        assert 2.5 < bound / (a * np.log(1 / a)) < 3.6
