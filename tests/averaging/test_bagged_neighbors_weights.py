"""The closed-form weights against enumeration, simulation, integers and Stone's conditions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights as weights


def padded(n, *args):
    """All n weights, zeros included."""
    w = weights(n, *args, weight_tol=0)
    return np.pad(w, (0, n - len(w)))


def enumerated(n, k, draws):
    """The weights from (probability, sorted draws) pairs: each of the k nearest gets 1/k."""
    w = np.zeros(n)
    for probability, rows in draws:
        for row in sorted(rows)[:k]:
            w[row] += probability / k
    return w


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n", range(1, 11))
def test_every_subset(n, k):
    for s in range(k, n + 1):
        subsets = list(itertools.combinations(range(n), s))
        expected = enumerated(n, k, [(1 / len(subsets), rows) for rows in subsets])
        np.testing.assert_allclose(padded(n, s, k, False), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("n", "s"), [(1, 3), (2, 8), (3, 3), (4, 6), (5, 5), (6, 4), (10, 3)])
def test_every_draw_with_replacement(n, s, k):
    draws = itertools.product(range(n), repeat=s)
    expected = enumerated(n, k, [(n**-s, rows) for rows in draws])
    np.testing.assert_allclose(padded(n, s, k, True), expected, rtol=1e-11, atol=1e-15)


def patterns(n, q):
    for pattern in itertools.product([False, True], repeat=n):
        m = sum(pattern)
        yield q**m * (1 - q) ** (n - m), list(itertools.compress(range(n), pattern))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [3, 6, 10])
def test_every_bernoulli_pattern(n, q, k):
    expected = enumerated(n, k, patterns(n, q))
    np.testing.assert_allclose(padded(n, q, k, "bernoulli"), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("k", [2, 3])
def test_two_readings_of_too_few_bernoulli_rows_predict_the_same(k):
    """Empty places to the overall mean, or the mean of the rows that were drawn."""
    n, q = 7, 0.25
    y = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0])
    mean_of_drawn = sum(
        probability * (y[rows[:k]].mean() if rows else y.mean())
        for probability, rows in patterns(n, q)
    )
    w = padded(n, q, k, "bernoulli")
    assert 1 - w.sum() > 0.05  # so that the difference would show
    assert w @ y + (1 - w.sum()) * y.mean() == pytest.approx(mean_of_drawn, rel=1e-12)


def test_printed_formulas_for_one_neighbor():
    n, s, q = 30, 7, 0.2
    i = np.arange(1, n + 1)
    subsets = [math.comb(n - j, s - 1) / math.comb(n, s) for j in i]
    np.testing.assert_allclose(padded(n, s, 1, False), subsets, rtol=1e-13)
    draws = (1 - (i - 1) / n) ** s - (1 - i / n) ** s
    np.testing.assert_allclose(padded(n, s, 1, True), draws, rtol=1e-9)
    bernoulli = (1 - q) ** (i - 1) * q
    np.testing.assert_allclose(padded(n, q, 1, "bernoulli"), bernoulli, rtol=1e-13)
    assert 1 - padded(n, q, 1, "bernoulli").sum() == pytest.approx((1 - q) ** n)


@pytest.mark.parametrize(
    ("s", "k", "bootstrap"),
    [(12, 1, False), (12, 4, False), (60, 1, True), (15, 4, True), (0.3, 1, "bernoulli")]
    + [(0.1, 4, "bernoulli")],
)
def test_simulation(s, k, bootstrap):
    """Every weight within five standard errors, below 5 % for the weights that matter."""
    n, replications = 40, 100_000
    rng = np.random.default_rng(0)
    if bootstrap == "bernoulli":
        counts = (rng.random((replications, n)) < s).astype(int)
    elif bootstrap:
        counts = rng.multinomial(s, np.full(n, 1 / n), size=replications)
    else:
        order = rng.random((replications, n)).argsort(axis=1)
        counts = (order < s).astype(int)
    nearer = np.cumsum(counts, axis=1) - counts
    shares = np.clip(k - nearer, 0, counts) / k
    errors = shares.std(axis=0) / math.sqrt(replications)
    w = padded(n, s, k, bootstrap)
    assert (np.abs(shares.mean(axis=0) - w) <= 5 * errors + 1e-4).all()
    assert errors[0] < 0.01 * w[0]


MILLIONS = 10**7


@pytest.mark.slow
@pytest.mark.parametrize(("s", "k"), [(10, 3), (2_000, 1), (2_000, 5)])
def test_ten_million_rows_against_integers_without_replacement(s, k):
    w = weights(MILLIONS, s, k, False)
    for i in [1, 2, len(w) // 5, len(w) // 2, len(w)]:
        ways = sum(math.comb(i - 1, b) * math.comb(MILLIONS - i, s - 1 - b) for b in range(k))
        exact = Fraction(s * ways, k * MILLIONS * math.comb(MILLIONS - 1, s - 1))
        assert w[i - 1] == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize(("s", "k"), [(1_000, 1), (1_000, 4), (10_000, 2)])
def test_ten_million_rows_against_integers_with_replacement(s, k):
    def beyond(i):  # n^s E[(k - Bin(s, i/n))_+]
        return sum((k - a) * math.comb(s, a) * i**a * (MILLIONS - i) ** (s - a) for a in range(k))

    w = weights(MILLIONS, s, k, True)
    for i in [1, 2, len(w) // 2, len(w)]:
        exact = Fraction(beyond(i - 1) - beyond(i), k * MILLIONS**s)
        assert w[i - 1] == pytest.approx(float(exact), rel=1e-10)


def test_ten_million_rows_bernoulli_against_exact_fractions():
    q = 2.0**-10
    for k in (1, 4):
        w = weights(MILLIONS, q, k, "bernoulli")
        for i in [1, 2, len(w) // 2, len(w)]:
            tail = sum(
                math.comb(i - 1, b) * 1023 ** (i - 1 - b) for b in range(min(k, i))
            )  # times 1024^(1-i) is P(Bin(i-1, 1/1024) < k)
            exact = Fraction(tail, k * 1024**i)
            assert w[i - 1] == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize(
    ("s", "k", "bootstrap"),
    [
        (MILLIONS, 1, False),
        (MILLIONS // 2, 3, False),
        (1_000, 7, False),
        (MILLIONS, 1, True),
        (10**9, 3, True),
        (10**4, 5, True),
        (0.999, 2, "bernoulli"),
        (1e-4, 5, "bernoulli"),
    ],
)
def test_ten_million_rows_sum_to_one_and_never_increase(s, k, bootstrap):
    w = weights(MILLIONS, s, k, bootstrap)
    assert (w > 0).all()
    assert (np.diff(w) <= 0).all()
    assert math.fsum(w) == pytest.approx(1, abs=1.1e-12)


def test_ratio_from_rank_to_rank():
    n, s = 10**6, 5_000
    w = weights(n, s)
    i = np.arange(1, len(w))
    np.testing.assert_allclose(w[1:] / w[:-1], (n - i - s + 1) / (n - i), rtol=1e-12)


@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-12])
def test_cut_at_the_first_rank_beyond_which_the_weights_sum_to_the_tolerance(bootstrap, k, tol):
    n, size = 2_000, 0.05
    every = padded(n, size, k, bootstrap)
    w = weights(n, size, k, bootstrap, tol)
    np.testing.assert_allclose(w, every[: len(w)], rtol=1e-13)
    beyond = math.fsum(every[len(w) :])
    assert beyond <= tol * (1 + 1e-3)
    assert beyond + w[-1] > tol * (1 - 1e-3)


def test_weights_of_a_bagged_nearest_neighbor_on_all_rows():
    np.testing.assert_array_equal(weights(50, 50), [1.0])
    np.testing.assert_allclose(weights(50, 50, 4), np.full(4, 0.25), rtol=1e-12)
    np.testing.assert_allclose(weights(50, 1), np.full(50, 1 / 50), rtol=1e-12)
    np.testing.assert_array_equal(weights(50, 50, 1, "bernoulli"), [1.0])


def test_a_share_is_rounded_down_as_in_scikit_learn():
    np.testing.assert_array_equal(weights(25, 0.5), weights(25, 12))
    np.testing.assert_array_equal(weights(25, 0.01), weights(25, 1))
    np.testing.assert_array_equal(weights(25, 5, 1, "bernoulli"), weights(25, 0.2, 1, "bernoulli"))


@pytest.mark.parametrize("n", [10**2, 10**4, 10**6])
def test_stones_conditions_on_the_weights(n):
    """Theorem En.2 with q = n^(-1/2): weights that decrease, a tail and a maximum that vanish."""
    q = n**-0.5
    w = padded(n, q, 1, "bernoulli")
    empty = 1 - math.fsum(w)
    assert (np.diff(w) <= 0).all()  # condition (i), by Stone's lemma
    k_n = math.ceil(math.sqrt(n / q))
    assert math.fsum(w[k_n:]) <= math.exp(-math.sqrt(q * n))  # condition (ii)
    assert max(w[0], empty) == pytest.approx(max(q, (1 - q) ** n), abs=1e-12)  # condition (iii)
    assert max(w[0], empty) <= n**-0.5 * (1 + 1e-12)


@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
@pytest.mark.parametrize("k", [1, 5])
def test_stones_conditions_hold_for_every_scheme(bootstrap, k):
    tails, maxima = [], []
    for n in (10**3, 10**5, 10**7):
        s = max(k, round(n**0.6))
        w = weights(n, s, k, bootstrap)
        assert (np.diff(w) <= 0).all()
        tails.append(1 - math.fsum(w[: math.ceil(n**0.8)]))  # n^0.8 = o(n) ranks hold all but this
        maxima.append(w[0])
    assert tails[0] > tails[1] + 1e-12 or tails[0] < 1e-12
    assert tails[-1] < 1e-6
    assert maxima == sorted(maxima, reverse=True)
    assert maxima[-1] < 1e-2


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"n_samples": 0}, ValueError, "n_samples"),
        ({"n_samples": 2.5}, TypeError, "n_samples"),
        ({"n_samples": True}, TypeError, "n_samples"),
        ({"max_samples": 11}, ValueError, "max_samples=11 must be at most n_samples=10"),
        ({"max_samples": 0}, ValueError, "max_samples"),
        ({"max_samples": 1.5}, ValueError, "max_samples"),
        ({"max_samples": "rate"}, TypeError, "max_samples"),
        ({"max_samples": 11, "bootstrap": "bernoulli"}, ValueError, "max_samples"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"n_neighbors": 1.0}, TypeError, "n_neighbors"),
        ({"n_neighbors": 6}, ValueError, "n_neighbors=6 must be at most the number of rows drawn"),
        ({"n_neighbors": 11, "bootstrap": "bernoulli"}, ValueError, "n_neighbors"),
        ({"bootstrap": "poisson"}, ValueError, "bootstrap"),
        ({"weight_tol": -1e-9}, ValueError, "weight_tol"),
        ({"weight_tol": 1}, ValueError, "weight_tol"),
        ({"weight_tol": "small"}, TypeError, "weight_tol"),
    ],
)
def test_bad_arguments_are_named(kwargs, error, message):
    with pytest.raises(error, match=message):
        weights(**{"n_samples": 10, "max_samples": 5, **kwargs})
