"""Averages of nearest neighbours: Stone's conditions and lemma, rows of subsamples, variances."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights as weights

from ..errata_parts import within


def test_conditions_by_hand():
    distances = [[0.9, 0.1, 0.2, 4.0], [0.1, 0.2, 0.3, 0.4]]
    found = bounds.stone_conditions([0.5, 0.3, 0.2], distances, radius=0.5)
    np.testing.assert_allclose(found, [1.0, 0.1, 0.5], rtol=1e-12)  # 0.2 and 0 are far
    found = bounds.stone_conditions([0.5, 0.3, 0.2], distances, radius=0.15)
    np.testing.assert_allclose(found, [1.0, 0.5, 0.5], rtol=1e-12)
    # The second weight is above the first: the least decreasing majorant is 0.5, 0.5, 0.3.
    found = bounds.stone_conditions([0.2, 0.5, 0.3], n_nearest=2)
    np.testing.assert_allclose(found, [1.3, 0.3, 0.5], rtol=1e-12)
    # 0.6 is missing, the weight of a constant prediction.
    found = bounds.stone_conditions([0.2, 0.2], n_nearest=9)
    np.testing.assert_allclose(found, [0.4, 0.0, 0.6], rtol=1e-12)


def test_conditions_of_bernoulli_draws():
    """The three quantities of the proof of theorem En.2, and its bounds on them."""
    for n, q in ((20, 0.3), (500, 0.01), (500, 0.1)):
        w = bagged_nearest_neighbors_weights(n, q, bootstrap="bernoulli", weight_tol=0.0)
        k = int(np.ceil(np.sqrt(n / q)))
        total, far, largest = bounds.stone_conditions(w, n_nearest=k)
        assert total == pytest.approx(1 - (1 - q) ** n, rel=1e-10)
        assert far == pytest.approx(max(0.0, (1 - q) ** k - (1 - q) ** n), rel=1e-9, abs=1e-15)
        assert far <= (1 - q) ** k <= np.exp(-np.sqrt(q * n))
        assert largest == pytest.approx(max(q, (1 - q) ** n), rel=1e-10)


def test_conditions_tell_consistent_weights_from_others():
    sizes = (100, 10_000, 1_000_000)

    def path(weights):
        found = [bounds.stone_conditions(weights(n), n_nearest=int(n**0.75)) for n in sizes]
        return np.array(found)

    def bernoulli(power):
        def weights(n):
            return bagged_nearest_neighbors_weights(n, float(n**power), bootstrap="bernoulli")

        return weights

    neighbors = path(lambda n: np.full(int(n**0.5), n**-0.5))
    bagged = path(bernoulli(-0.5))
    for consistent in (neighbors, bagged):
        assert np.all(consistent[:, 0] <= 1 + 1e-12)
        assert np.all(consistent[-1, 1:] < 2e-3)
    # One neighbour: the largest weight stays. q = 1/n: too often no row is drawn.
    assert np.all(path(lambda n: np.array([1.0]))[:, 2] == 1)
    assert np.all(path(bernoulli(0))[:, 2] == 1)
    assert path(bernoulli(-1.0))[-1, 2] == pytest.approx(np.exp(-1), rel=1e-4)
    # The mean of all rows: the weight of far rows stays.
    assert np.all(path(lambda n: np.full(n, 1 / n))[:, 1] > 0.6)


def test_far_weight_by_simulation_tends_to_zero():
    """(ii) by distances, for points on the unit square and draws of sqrt(n) rows."""
    rng = np.random.default_rng(0)
    far = []
    for n in (50, 5_000):
        X, x = rng.random((n, 2)), rng.random((40, 2))
        distances = np.sqrt(((x[:, None] - X) ** 2).sum(axis=2))
        w = bagged_nearest_neighbors_weights(n, int(n**0.5))
        far.append(bounds.stone_conditions(w, distances, radius=0.2)[1])
        # By its definition: sort, and add the weights of the rows that are far.
        ranked = np.sort(distances, axis=1)[:, : len(w)]
        assert far[-1] == pytest.approx(np.mean((ranked > 0.2) @ w), rel=1e-12)
    assert far[0] > 0.1
    assert far[1] < 0.01


def test_stones_lemma_holds_for_every_point():
    """How many points have a point among their k nearest neighbours."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 3):
        constant = bounds.stone_lemma_constant(d)
        for X in (rng.standard_normal((120, d)), rng.random((120, d)) ** 6):
            distances = ((X[:, None] - X) ** 2).sum(axis=2) + np.diag(np.full(120, np.inf))
            for k in (1, 4):
                nearest = np.argsort(distances, axis=1)[:, :k]
                most = np.bincount(nearest.ravel()).max()
                assert k < most <= constant * k
    # In one dimension the k points on each side: twice k, of the 3.86 k of the bound.
    assert bounds.stone_lemma_constant(1) == pytest.approx(1 / np.sin(np.pi / 12), rel=1e-12)
    assert bounds.stone_lemma_constant(10**6) == np.inf


def test_first_condition_holds_with_the_constant_of_the_lemma():
    """E[sum w_i f(x_(i))] for an f that is large at few points."""
    rng = np.random.default_rng(0)
    n, draws = 60, 1000
    X, x = rng.random((draws, n, 2)), rng.random((draws, 2))

    def f(points):
        return 1 / (0.01 + (points**2).sum(axis=-1))

    order = ((X - x[:, None]) ** 2).sum(axis=2).argsort(axis=1)
    values = np.take_along_axis(f(X), order, axis=1)
    expected = f(rng.random((200_000, 2))).mean()
    for w in (bagged_nearest_neighbors_weights(n, 10), np.array([0.0, 0.2, 0.0, 0.8])):
        total = bounds.stone_conditions(w, n_nearest=5)[0]
        bound = bounds.stone_lemma_constant(2) * total * expected
        assert (values[:, : len(w)] @ w).mean() <= bound


def vote_error(n, q, eta, replications, seed=0):
    """Error of the averaged 1-NN of Bernoulli draws where P(y = 1 | x) = eta for every x."""
    w = bagged_nearest_neighbors_weights(n, q, bootstrap="bernoulli", weight_tol=0.0)
    y = np.random.default_rng(seed).random((replications, len(w))) < eta  # by rank
    return np.mean(np.where(y @ w >= 0.5, 1 - eta, eta))


def test_averaged_nearest_neighbors_are_consistent_and_one_neighbor_is_not():
    """Theorem En.2, with labels of 1 with probability 0.8: the smallest error is 0.2."""
    eta = 0.8
    one = vote_error(100, 1.0, eta, 20_000)
    assert one == pytest.approx(2 * eta * (1 - eta), rel=0.05)  # for every n
    errors = [vote_error(n, n**-0.5, eta, 2000) for n in (25, 100, 2500)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.201


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([-0.1, 0.5],), {"n_nearest": 1}, "weights"),
        (([0.6, 0.5],), {"n_nearest": 1}, "weights"),
        (([],), {"n_nearest": 1}, "weights"),
        (([[0.5]],), {"n_nearest": 1}, "weights"),
        (([0.5],), {}, "n_nearest"),
        (([0.5], [[1.0]]), {}, "radius"),
        (([0.5],), {"radius": 1.0}, "distances"),
        (([0.5], [[1.0]]), {"radius": 1.0, "n_nearest": 1}, "n_nearest"),
        (([0.5], [[1.0]]), {"radius": 0.0}, "radius"),
        (([0.5], [1.0]), {"radius": 1.0}, "distances"),
        (([0.5, 0.5], [[1.0]]), {"radius": 1.0}, "distances"),
        (([0.5], [[-1.0]]), {"radius": 1.0}, "distances"),
        (([0.5],), {"n_nearest": -1}, "n_nearest"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        bounds.stone_conditions(*arguments, **options)


def test_bad_dimension():
    with pytest.raises(ValueError, match="n_features"):
        bounds.stone_lemma_constant(0)


def test_distinct_fraction_of_a_bootstrap_sample():
    rng = np.random.default_rng(0)
    for n, s in ((10, 10), (10, 25), (40, 12)):
        drawn = np.sort(rng.integers(n, size=(10_000, s)), axis=1)
        distinct = 1 + np.count_nonzero(np.diff(drawn, axis=1), axis=1)
        assert within(distinct / n, bounds.bootstrap_distinct_fraction(n, ratio=s / n))


def test_distinct_fraction_by_all_samples():
    for n in range(1, 6):
        samples = itertools.product(range(n), repeat=n)
        expected = np.mean([len(set(sample)) / n for sample in samples])
        assert bounds.bootstrap_distinct_fraction(n) == pytest.approx(expected, rel=1e-12)
    # By hand, and no rows or draws at all.
    found = bounds.bootstrap_distinct_fraction([1, 2, 3, 1, 5], ratio=[1, 1, 1, 0, 1 / 5])
    np.testing.assert_allclose(found, [1.0, 3 / 4, 19 / 27, 0.0, 1 / 5], rtol=1e-14)


def test_limit_of_the_distinct_fraction():
    assert bounds.bootstrap_distinct_fraction() == pytest.approx(1 - 1 / math.e, rel=1e-15)
    assert bounds.bootstrap_distinct_fraction(ratio=0.0) == 0.0
    ratio = np.array([0.1, 1.0, 3.0])
    limit = bounds.bootstrap_distinct_fraction(ratio=ratio)
    previous = np.inf
    for n in (10, 1000, 10**12):
        fraction = bounds.bootstrap_distinct_fraction(n, ratio)
        assert np.all(fraction > limit * (1 - 1e-14))
        assert np.all(fraction < previous)
        previous = fraction
    np.testing.assert_allclose(previous, limit, rtol=1e-11)


def schemes(n):
    """(max_samples, bootstrap) of several schemes for n rows."""
    sizes = sorted({1, 2, n // 3 or 1, n // 2 or 1, n})
    yield from ((s, False) for s in sizes if s <= n)
    yield from ((s, True) for s in [*sizes, 3 * n])
    yield from ((q, "bernoulli") for q in (1e-6, 0.01, 0.3, 0.999, 1.0))


def test_variance_of_bagged_neighbors_is_that_of_their_weights():
    """Two ways: the closed forms, and the weights by rank of the estimators."""
    for n in (1, 2, 3, 10, 101, 1000):
        for size, bootstrap in schemes(n):
            V = weights(n, size, bootstrap=bootstrap, weight_tol=0.0)
            found = bounds.bagged_neighbors_variance(n, size, 4.0, bootstrap)
            assert found == pytest.approx(4.0 * np.sum(V**2), rel=1e-10)


def test_variance_of_bagged_neighbors_by_rational_numbers():
    n, s = 12, 5
    without = sum(Fraction(math.comb(n - i, s - 1), math.comb(n, s)) ** 2 for i in range(1, n + 1))
    with_them = sum(
        (Fraction(n - i + 1, n) ** s - Fraction(n - i, n) ** s) ** 2 for i in range(1, n + 1)
    )
    q = Fraction(1, 4)
    bernoulli = sum((q * (1 - q) ** (i - 1)) ** 2 for i in range(1, n + 1))
    for exact, size, bootstrap in (
        (without, s, False),
        (with_them, s, True),
        (bernoulli, 0.25, "bernoulli"),
    ):
        found = bounds.bagged_neighbors_variance(n, size, bootstrap=bootstrap)
        assert found == pytest.approx(float(exact), rel=1e-13)
    # All rows: one nearest neighbour. One draw: the mean of all targets.
    assert bounds.bagged_neighbors_variance(n, n, 3.0) == pytest.approx(3.0)
    assert bounds.bagged_neighbors_variance(n, 1, bootstrap=True) == pytest.approx(1 / n)
    assert bounds.bagged_neighbors_variance(n, 3, bootstrap="bernoulli") == pytest.approx(
        bounds.bagged_neighbors_variance(n, 0.25, bootstrap="bernoulli")
    )


def nearest_of_a_draw(rng, n, size, bootstrap, n_draws):
    """The rank of the nearest row of each subsample of n rows; n where it is empty."""
    if bootstrap == "bernoulli":
        taken = rng.random((n_draws, n)) < size
        return np.where(taken.any(axis=1), taken.argmax(axis=1), n)
    if bootstrap:
        return rng.integers(n, size=(n_draws, size)).min(axis=1)
    return rng.random((n_draws, n)).argpartition(size - 1, axis=1)[:, :size].min(axis=1)


def test_variance_is_the_chance_that_two_subsamples_have_the_same_nearest_row():
    n, rng = 15, np.random.default_rng(0)
    for size, bootstrap in ((6, False), (6, True), (0.4, "bernoulli")):
        first, second = (nearest_of_a_draw(rng, n, size, bootstrap, 30_000) for _ in range(2))
        same = ((first == second) & (first < n)).astype(float)
        assert within(same, bounds.bagged_neighbors_variance(n, size, bootstrap=bootstrap))


def test_variance_bounds_hold_for_all_schemes():
    for n in (1, 2, 10, 101, 5000):
        for size, bootstrap in schemes(n):
            exact = bounds.bagged_neighbors_variance(n, size, 2.0, bootstrap)
            bound = bounds.bagged_neighbors_variance_bound(n, size, 2.0, bootstrap)
            assert exact <= bound * (1 + 1e-12)
    # Equal for one draw, and sharp for many draws of a small share of the rows.
    for bootstrap in (False, True):
        assert bounds.bagged_neighbors_variance_bound(9, 1, 2.0, bootstrap) == pytest.approx(2 / 9)
    n, s = 10**6, 1000
    for bootstrap, size in ((True, s), ("bernoulli", s / n)):
        bound = bounds.bagged_neighbors_variance_bound(n, size, bootstrap=bootstrap)
        exact = bounds.bagged_neighbors_variance(n, size, bootstrap=bootstrap)
        assert exact == pytest.approx(bound, rel=1e-5)
        assert bound < s / n


def test_variance_of_bagged_neighbors_at_ten_million_rows():
    n = 10**7
    for size, bootstrap in ((10**5, False), (10**5, True), (0.01, "bernoulli")):
        V = weights(n, size, bootstrap=bootstrap, weight_tol=1e-15)
        found = bounds.bagged_neighbors_variance(n, size, bootstrap=bootstrap)
        assert found == pytest.approx(np.sum(V**2), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("bootstrap_distinct_fraction", (0,), "n_samples"),
        ("bootstrap_distinct_fraction", (2.5,), "n_samples"),
        ("bootstrap_distinct_fraction", (2, -1), "ratio"),
        ("bootstrap_distinct_fraction", (math.inf, math.nan), "ratio"),
        ("bootstrap_distinct_fraction", (-math.inf,), "n_samples"),
        ("bagged_neighbors_variance", (10, 11), "max_samples"),
        ("bagged_neighbors_variance", (10, 0.5), "max_samples"),
        ("bagged_neighbors_variance", (10, 0, 1.0, True), "max_samples"),
        ("bagged_neighbors_variance", (10, 1.5, 1.0, "bernoulli"), "max_samples"),
        ("bagged_neighbors_variance", (10, 0.0, 1.0, "bernoulli"), "max_samples"),
        ("bagged_neighbors_variance", (10, 11, 1.0, "bernoulli"), "max_samples"),
        ("bagged_neighbors_variance", (10, 2, -1.0), "noise_variance"),
        ("bagged_neighbors_variance", (10, 2, 1.0, "block"), "bootstrap"),
        ("bagged_neighbors_variance_bound", (10, 2, 1.0, None), "bootstrap"),
        ("bagged_neighbors_variance_bound", (10, 11, 1.0, "bernoulli"), "max_samples"),
    ],
)
def test_bad_arguments_of_subsamples_are_named(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(bounds, name)(*arguments)
