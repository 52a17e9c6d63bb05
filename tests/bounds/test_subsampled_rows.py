"""Distinct rows of a bootstrap sample, and the variance of bagged nearest neighbours."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sklearn_ensemble_theory import bagged_nearest_neighbors_weights as weights
from sklearn_ensemble_theory import bounds

from ..errata_parts import within


def test_distinct_fraction_of_a_bootstrap_sample():
    rng = np.random.default_rng(0)
    for n, s in ((10, 10), (10, 25), (40, 12)):
        drawn = np.sort(rng.integers(n, size=(10_000, s)), axis=1)
        distinct = 1 + np.count_nonzero(np.diff(drawn, axis=1), axis=1)
        assert within(distinct / n, bounds.bootstrap_distinct_fraction(n, s))


def test_distinct_fraction_by_all_samples():
    for n in range(1, 6):
        samples = itertools.product(range(n), repeat=n)
        expected = np.mean([len(set(sample)) / n for sample in samples])
        assert bounds.bootstrap_distinct_fraction(n) == pytest.approx(expected, rel=1e-12)
    # By hand, and no rows or draws at all.
    found = bounds.bootstrap_distinct_fraction([1, 2, 3, 1, 5], [1, 2, 3, 0, 1])
    np.testing.assert_allclose(found, [1.0, 3 / 4, 19 / 27, 0.0, 1 / 5], rtol=1e-14)


def test_limit_of_the_distinct_fraction():
    assert bounds.bootstrap_distinct_fraction_limit() == pytest.approx(1 - 1 / math.e, rel=1e-15)
    assert bounds.bootstrap_distinct_fraction_limit(0.0) == 0.0
    ratio = np.array([0.1, 1.0, 3.0])
    limit = bounds.bootstrap_distinct_fraction_limit(ratio)
    previous = np.inf
    for n in (10, 1000, 10**12):
        fraction = bounds.bootstrap_distinct_fraction(n, ratio * n)
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
    """Two routes: the closed forms, and the weights by rank of the estimators."""
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
        ("bootstrap_distinct_fraction", (2, -1), "n_draws"),
        ("bootstrap_distinct_fraction_limit", (-0.1,), "ratio"),
        ("bootstrap_distinct_fraction_limit", (math.nan,), "ratio"),
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
def test_bad_arguments_are_named(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(bounds, name)(*arguments)
