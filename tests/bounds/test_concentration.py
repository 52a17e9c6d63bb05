"""Concentration inequalities: exact probabilities, simulations, cases of equality."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, norm

from sklearn_ensemble_theory import bounds

# Every frequency of a simulation is of this many draws.
N_DRAWS = 20_000
DEVIATIONS = np.array([0.0, 0.3, 1.0, 2.0, 3.0])


def frequencies(values, thresholds):
    """The frequency of values >= t for each t, and its standard error."""
    found = (np.asarray(values) >= np.asarray(thresholds)[:, None]).mean(axis=1)
    return found, np.sqrt(found * (1 - found) / len(values))


def holds(values, thresholds, bound):
    """Whether the frequencies do not contradict the bound: below it up to 3 standard errors."""
    found, error = frequencies(values, thresholds)
    return bool((found <= bound + 3 * error).all())


# Markov and Chernoff


def test_markov_holds_and_is_attained():
    rng = np.random.default_rng(0)
    t = np.array([0.5, 1.0, 2.0, 5.0])
    assert holds(rng.exponential(2.0, N_DRAWS), t, bounds.markov_tail(t, 2.0))
    # W = t with probability p and 0 otherwise has mean p t.
    assert bounds.markov_tail(4.0, 0.3 * 4.0) == pytest.approx(0.3, abs=1e-12)
    assert bounds.markov_tail(1e-320, 1.0) == 1.0
    assert bounds.markov_tail(1.0, 0.0) == 0.0


def test_chernoff_of_known_variables():
    """Normal, Bernoulli sums and exponential variables have the infimum in closed form."""
    t = np.array([0.1, 1.0, 2.5, 6.0])
    for scale in (1e-30, 1.0, 1e30):
        found = bounds.chernoff_tail(t * scale, lambda a, s=scale: (a * s) ** 2 / 2)
        np.testing.assert_allclose(found, np.exp(-(t**2) / 2), rtol=1e-10)

    def log_mgf(alpha, n=50, p=0.2):
        return n * np.logaddexp(np.log1p(-p), np.log(p) + alpha)

    # exp(-n KL(k/n, p)) above the mean, p^n at k = n, and 1 below the mean.
    k = np.array([15.0, 30.0])
    q = k / 50
    divergence = q * np.log(q / 0.2) + (1 - q) * np.log((1 - q) / 0.8)
    np.testing.assert_allclose(
        bounds.chernoff_tail(k, log_mgf), np.exp(-50 * divergence), rtol=1e-10
    )
    assert bounds.chernoff_tail(50, log_mgf) == pytest.approx(0.2**50, rel=1e-9)
    assert bounds.chernoff_tail(8, log_mgf) == pytest.approx(1, rel=1e-10)
    # E exp(alpha W) = 1 / (1 - alpha) below 1; the infimum is t exp(1 - t).
    found = bounds.chernoff_tail([2.0, 5.0], lambda a: -math.log1p(-a), alpha_max=1.0)
    np.testing.assert_allclose(found, [2 * math.exp(-1), 5 * math.exp(-4)], rtol=1e-10)


def test_chernoff_holds_for_exact_tails():
    """It is above the exact probability, never more than the bound of Hoeffding."""
    n, p = 40, 0.3
    k = np.arange(13, 41)
    bound = bounds.chernoff_tail(k, lambda a: n * np.logaddexp(np.log1p(-p), np.log(p) + a))
    assert (binom.sf(k - 1, n, p) <= bound).all()
    assert (bound <= bounds.hoeffding_tail(k / n - p, n) * (1 + 1e-10)).all()
    sums = np.random.default_rng(0).binomial(n, p, N_DRAWS)
    assert holds(sums, k, bound)


def test_chernoff_survives_functions_that_overflow():
    """A sign, by functions that raise an error or warn for large alpha."""
    for log_mgf in (lambda a: math.log(math.cosh(a)), lambda a: np.log(np.cosh(a))):
        assert bounds.chernoff_tail(1.0, log_mgf) == pytest.approx(0.5, rel=1e-10)


# Sub-Gaussian variables


def test_sub_gaussian_tail_of_normal_and_bounded_variables():
    t = np.linspace(0, 5, 30)
    bound = bounds.sub_gaussian_tail(3 * t, 3.0)
    assert (norm.sf(t) <= bound).all()
    np.testing.assert_allclose(bound, np.exp(-(t**2) / 2), rtol=1e-12)
    # The exponent is right: log P(W >= t) / (-t²/2) tends to 1.
    assert norm.logsf(200) / (-(200**2) / 2) == pytest.approx(1, abs=1e-3)
    two_sided = bounds.sub_gaussian_tail(t, 1.0, two_sided=True)
    np.testing.assert_allclose(two_sided, np.minimum(1, 2 * np.exp(-(t**2) / 2)), rtol=1e-12)
    rng = np.random.default_rng(0)
    uniform = rng.uniform(-1, 1, N_DRAWS)
    assert holds(uniform, t / 5, bounds.sub_gaussian_tail(t / 5, 1.0))
    assert holds(np.abs(uniform), t / 5, bounds.sub_gaussian_tail(t / 5, 1.0, two_sided=True))
    assert bounds.sub_gaussian_tail(1e300, 1e-300) == 0.0


def test_parameter_of_bounded_variables():
    """E exp(alpha (W - E W)) <= exp(alpha² sigma²/2) for all two-point variables, and no less."""
    alpha = np.linspace(-30, 30, 601)
    for p in (0.01, 0.2, 0.5, 0.9):
        sigma = bounds.bounded_sub_gaussian_parameter(-1.0, 2.0)
        log_mgf = np.logaddexp(np.log1p(-p) - alpha, np.log(p) + 2 * alpha) - alpha * (3 * p - 1)
        assert (log_mgf <= alpha**2 * sigma**2 / 2 + 1e-12).all()
    # p = 1/2: the variance is a lower bound on sigma², and reached.
    assert bounds.bounded_sub_gaussian_parameter(-1.0, 2.0) == pytest.approx(1.5, abs=1e-12)
    assert np.std([-1.0, 2.0]) == pytest.approx(sigma, abs=1e-12)
    assert bounds.bounded_sub_gaussian_parameter(-1e308, 1e308) == 1e308
    # The tail of proposition 2 with it, simulated.
    W = np.random.default_rng(0).beta(0.3, 0.6, N_DRAWS)
    t = np.array([0.1, 0.3, 0.6])
    assert holds(W - 1 / 3, t, bounds.sub_gaussian_tail(t, 0.5))


def test_parameter_of_sums():
    """Equal to the standard deviation for normal variables; bounds a sum of bounded ones."""
    rng = np.random.default_rng(0)
    sigmas, gamma = np.array([1.0, 2.0, 0.5]), np.array([2.0, -1.0, 4.0])
    found = bounds.sub_gaussian_sum_parameter(sigmas, gamma)
    assert found == pytest.approx(math.sqrt(12), rel=1e-10)
    sums = (rng.standard_normal((N_DRAWS, 3)) * sigmas) @ gamma
    assert found == pytest.approx(sums.std(), rel=3 / math.sqrt(2 * N_DRAWS))
    signs = rng.choice([-1.0, 1.0], (N_DRAWS, 3)) @ gamma
    sigma = bounds.sub_gaussian_sum_parameter(np.ones(3), gamma)
    assert holds(signs, DEVIATIONS * sigma, bounds.sub_gaussian_tail(DEVIATIONS * sigma, sigma))
    assert bounds.sub_gaussian_sum_parameter([1e200, 1e200]) == pytest.approx(math.sqrt(2) * 1e200)
    np.testing.assert_allclose(bounds.sub_gaussian_sum_parameter(np.ones((2, 4)), 0.25), [0.5, 0.5])


def test_parameter_of_martingale_sums():
    """Lemma 8: the scale of a difference depends on the sum so far; its bound does not."""
    rng = np.random.default_rng(1)
    total = np.zeros(N_DRAWS)
    gamma = np.array([1.0, 0.5, 2.0, 1.0, 1.0])
    for weight in gamma:
        scale = np.where(total > 0, 1.0, 0.3)
        total += weight * scale * rng.choice([-1.0, 1.0], N_DRAWS)
    sigma = bounds.sub_gaussian_sum_parameter(np.ones(5), gamma)
    assert abs(total.mean()) < 3 * total.std() / math.sqrt(N_DRAWS)
    assert holds(total, DEVIATIONS * sigma, bounds.sub_gaussian_tail(DEVIATIONS * sigma, sigma))
    # With scale 1 throughout it is the standard deviation.
    constant = rng.choice([-1.0, 1.0], (N_DRAWS, 5)) @ gamma
    assert constant.std() == pytest.approx(sigma, rel=0.02)


def test_expected_maximum():
    rng = np.random.default_rng(0)
    for d in (1, 2, 50):
        normal = rng.standard_normal((N_DRAWS // 10, d)).max(axis=1)
        error = normal.std() / math.sqrt(len(normal))
        assert normal.mean() <= bounds.sub_gaussian_maximum_bound(d, 1.0) + 3 * error
    # Dependent ones: a sign and its negative have the maximum 1 <= sqrt(2 log 2).
    assert bounds.sub_gaussian_maximum_bound(2, 1.0) >= 1
    assert bounds.sub_gaussian_maximum_bound(1, 5.0) == 0
    assert bounds.sub_gaussian_maximum_bound(math.e**8, 0.5) == pytest.approx(2, abs=1e-12)


def test_expected_maximum_is_attained_in_the_limit():
    """E max of d independent normal variables, by quantiles of its law, over sqrt(2 log d)."""
    u = (np.arange(4000) + 0.5) / 4000
    ratios = []
    for exponent in (10.0, 1e3, 1e6, 1e9):
        # Quantiles of the maximum: Phi(x)^d = u, with d = exp(exponent).
        log_tail = np.log(-np.log(u)) - exponent
        low, high = np.zeros(4000), np.full(4000, 3 * math.sqrt(exponent))
        for _ in range(80):
            middle = (low + high) / 2
            above = norm.logsf(middle) > log_tail
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        ratios.append(low.mean() / (math.sqrt(2) * math.sqrt(exponent)))
    assert all(a < b <= 1 for a, b in pairwise(ratios))
    assert ratios[-1] == pytest.approx(1, abs=1e-6)
    expected = ratios[0] * math.sqrt(20)
    assert expected <= bounds.sub_gaussian_maximum_bound(math.exp(10), 1.0)
    assert expected == pytest.approx(bounds.sub_gaussian_maximum_bound(math.exp(10), 1.0), rel=0.2)


# Hoeffding


def test_hoeffding_holds_for_exact_tails():
    """Sums of independent trials of probability p, and a simulation of means in [-1, 3]."""
    for n, p in [(1, 0.5), (20, 0.1), (300, 0.5)]:
        k = np.arange(n + 1)
        t = np.maximum(k / n - p, 0)
        assert (binom.sf(k - 1, n, p)[t > 0] <= bounds.hoeffding_tail(t, n)[t > 0]).all()
        far = np.abs(np.arange(n + 1) / n - p)
        mass = binom.pmf(np.arange(n + 1), n, p)
        exact = np.array([mass[far >= s - 1e-12].sum() for s in t])
        assert (exact <= bounds.hoeffding_tail(t, n, two_sided=True) + 1e-12).all()
    means = np.random.default_rng(0).uniform(-1, 3, (N_DRAWS, 10)).mean(axis=1) - 1
    t = np.array([0.2, 0.5, 1.0])
    assert holds(means, t, bounds.hoeffding_tail(t, 10, -1, 3))


def test_hoeffding_by_hand():
    assert bounds.hoeffding_tail(0.5, 8, 0, 2) == pytest.approx(math.exp(-1), abs=1e-12)
    assert bounds.hoeffding_tail(0.5, 8, 0, 2, two_sided=True) == pytest.approx(2 / math.e)
    assert bounds.hoeffding_tail(0.0, 8) == 1.0
    # The exponent is that of fair coins.
    n, t = 10**6, 0.018
    exact = binom.logsf(int(n * (0.5 + t)) - 1, n, 0.5)
    assert exact / math.log(bounds.hoeffding_tail(t, n)) == pytest.approx(1, abs=0.01)


def test_hoeffding_and_its_inverses():
    delta, low, high = 0.03, -2.0, 5.0
    for two_sided in (False, True):
        options = {"low": low, "high": high, "two_sided": two_sided}
        t = bounds.hoeffding_deviation(123, delta, **options)
        assert bounds.hoeffding_tail(t, 123, **options) == pytest.approx(delta, rel=1e-10)
        n = bounds.hoeffding_n_samples(0.4, delta, **options)
        assert bounds.hoeffding_tail(0.4, n, **options) <= delta
        assert bounds.hoeffding_tail(0.4, n - 1, **options) > delta
    assert bounds.hoeffding_n_samples(1e-200) == np.inf
    assert bounds.hoeffding_n_samples(10.0, 1.0) == 1
    assert bounds.hoeffding_deviation(5, 1.0) == 0


def test_hoeffding_deviation_holds_with_its_probability():
    """Means of coins stay below the deviation with frequency 1 - delta, for the n of the bound."""
    rng = np.random.default_rng(0)
    for delta in (0.3, 0.05):
        t = bounds.hoeffding_deviation(60, delta)
        assert (rng.binomial(60, 0.5, N_DRAWS) / 60 - 0.5 < t).mean() >= 1 - delta
        n = int(bounds.hoeffding_n_samples(0.1, delta, two_sided=True))
        assert (np.abs(rng.binomial(n, 0.5, N_DRAWS) / n - 0.5) < 0.1).mean() >= 1 - delta


def test_number_of_samples_by_hand():
    """For t = 1/2 it is 2 log(1/delta), rounded up."""
    for k in (3, 100, 1000):
        assert bounds.hoeffding_n_samples(0.5, math.exp(-(k - 0.5) / 2)) == k


# Bounded differences and martingales


def test_mcdiarmid_is_hoeffding_for_means():
    L = np.full(30, 2.0 / 30)
    t = np.array([0.1, 0.4])
    np.testing.assert_allclose(
        bounds.mcdiarmid_tail(t, L), bounds.hoeffding_tail(t, 30, -1, 1), rtol=1e-10
    )
    # (2.4) with different intervals: their root mean square length in `hoeffding_tail`.
    ranges = np.array([1.0, 2.0, 3.0])
    rms = math.sqrt(np.mean(ranges**2))
    for two_sided in (False, True):
        assert bounds.mcdiarmid_tail(0.9, ranges / 3, two_sided=two_sided) == pytest.approx(
            bounds.hoeffding_tail(0.9, 3, 0, rms, two_sided=two_sided), rel=1e-10
        )
    assert bounds.mcdiarmid_tail(3.0, ranges) == pytest.approx(math.exp(-18 / 14), rel=1e-10)


def test_mcdiarmid_holds():
    """Empty cells of an occupancy problem, and the sup over thresholds of F_n - F."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 25, (5000, 50))
    occupied = np.zeros((5000, 25), dtype=bool)
    occupied[np.arange(5000)[:, None], cells] = True
    empty = 25 - occupied.sum(axis=1)
    expected = 25 * (24 / 25) ** 50
    t = np.array([1.0, 3.0, 6.0])
    assert holds(empty - expected, t, bounds.mcdiarmid_tail(t, np.ones(50)))
    assert holds(np.abs(empty - expected), t, bounds.mcdiarmid_tail(t, np.ones(50), two_sided=True))
    deviation = bounds.mcdiarmid_deviation(np.ones(50), 0.05)
    assert (empty - expected < deviation).mean() >= 0.95
    uniform = np.sort(rng.random((5000, 40)), axis=1)
    G = (np.arange(1, 41) / 40 - uniform).max(axis=1)
    t = np.array([0.05, 0.1, 0.2])
    assert holds(G - G.mean(), t, bounds.mcdiarmid_tail(t, np.full(40, 1 / 40)))


def test_expectations_given_more_and_more_variables_are_a_martingale():
    """[Shah, eq. (2.5)], by all 2^10 results, for the number of runs of equal coins."""
    coins = np.indices((2,) * 10).reshape(10, -1)
    f = 1.0 + np.count_nonzero(np.diff(coins, axis=0), axis=0)
    L = np.array([1.0, *[2.0] * 8, 1.0])
    given = [f.reshape((2,) * i + (-1,)).mean(axis=-1) for i in range(11)]
    D = [given[i + 1] - given[i][..., None] for i in range(10)]
    for i in range(10):
        other = coins.copy()
        other[i] = 1 - other[i]
        changed = 1 + np.count_nonzero(np.diff(other, axis=0), axis=0)
        assert np.abs(f - changed).max() == L[i]  # definition 2
        np.testing.assert_allclose(D[i].mean(axis=-1), 0, atol=1e-12)  # definition 3
        assert np.ptp(D[i], axis=-1).max() <= L[i]
    total = sum(D[i].reshape(D[i].shape + (1,) * (9 - i)) for i in range(10))
    np.testing.assert_allclose(total.ravel(), f - f.mean(), atol=1e-12)
    for t in np.linspace(0, 5, 21):
        assert (f - f.mean() >= t).mean() <= bounds.mcdiarmid_tail(t, L)


def test_mcdiarmid_and_its_inverse():
    L = np.array([[1.0, 2.0, 0.0], [3.0, 3.0, 3.0]])
    for two_sided in (False, True):
        t = bounds.mcdiarmid_deviation(L, 0.2, two_sided=two_sided)
        found = bounds.mcdiarmid_tail(t, L, two_sided=two_sided)
        np.testing.assert_allclose(found, [0.2, 0.2], rtol=1e-10)
    assert bounds.mcdiarmid_deviation([2.0], math.exp(-2)) == pytest.approx(2, abs=1e-12)
    assert bounds.mcdiarmid_deviation([1e200, 1e200]) < np.inf


def test_azuma_holds_for_differences_that_depend_on_the_past():
    """A stake of 1 after gains and of 1/4 after losses: |D_i| <= 1, so that L_i = 2."""
    rng = np.random.default_rng(0)
    total = np.zeros(N_DRAWS)
    for _ in range(30):
        stake = np.where(total >= 0, 1.0, 0.25)
        # The ends of the interval depend on the past; its length does not: -1/2, 3/2 or -1, 1.
        skewed = total > 2
        low, high = np.where(skewed, -0.5, -1.0), np.where(skewed, 1.5, 1.0)
        up = rng.random(N_DRAWS) < -low / (high - low)
        total += stake * np.where(up, high, low)
    t = np.array([0.0, 3.0, 8.0, 15.0])
    assert abs(total.mean()) < 3 * total.std() / math.sqrt(N_DRAWS)
    assert holds(total, t, bounds.azuma_hoeffding_tail(t, np.full(30, 2.0)))
    assert holds(np.abs(total), t, bounds.azuma_hoeffding_tail(t, np.full(30, 2.0), two_sided=True))


def test_azuma_by_hand():
    """sum L_i² = 400: exp(-2 * 400 / 400); and the exponent of sums of signs."""
    found = bounds.azuma_hoeffding_tail(20.0, np.full(100, 2.0))
    assert found == pytest.approx(math.exp(-2), rel=1e-12)
    n = 10**6
    exact = binom.logsf(n // 2 + 18_000 - 1, n, 0.5)  # a sum of n signs of at least 36,000
    bound = bounds.azuma_hoeffding_tail(36_000.0, np.full(n, 2.0))
    assert exact / math.log(bound) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("markov_tail", (-1.0, 1.0), "t"),
        ("markov_tail", (1.0, -1.0), "mean"),
        ("chernoff_tail", (np.nan, lambda a: a), "t"),
        ("sub_gaussian_tail", (-1.0, 1.0), "t"),
        ("sub_gaussian_tail", (1.0, -1.0), "sigma"),
        ("bounded_sub_gaussian_parameter", (1.0, 0.9), "low"),
        ("bounded_sub_gaussian_parameter", (0.0, np.inf), "high"),
        ("sub_gaussian_sum_parameter", ([-1.0],), "sigmas"),
        ("sub_gaussian_sum_parameter", (1.0,), "sigmas"),
        ("sub_gaussian_sum_parameter", ([1.0], np.nan), "weights"),
        ("sub_gaussian_maximum_bound", (0, 1.0), "n_variables"),
        ("sub_gaussian_maximum_bound", (2, -1.0), "sigma"),
        ("hoeffding_tail", (-0.1, 5), "t"),
        ("hoeffding_tail", (0.1, 0), "n_samples"),
        ("hoeffding_tail", (0.1, 5, 2, 1), "low"),
        ("hoeffding_deviation", (0,), "n_samples"),
        ("hoeffding_deviation", (5, 0.0), "delta"),
        ("hoeffding_n_samples", (0.0,), "t"),
        ("hoeffding_n_samples", (0.1, 1.5), "delta"),
        ("mcdiarmid_tail", (-1.0, [1.0]), "t"),
        ("mcdiarmid_tail", (1.0, [-1.0]), "differences"),
        ("mcdiarmid_tail", (1.0, 1.0), "differences"),
        ("mcdiarmid_deviation", ([1.0], 0.0), "delta"),
        ("mcdiarmid_deviation", ([], 0.5), "differences"),
        ("azuma_hoeffding_tail", (1.0, [-1.0]), "ranges"),
    ],
)
def test_arguments_out_of_range_are_named(name, arguments, parameter):
    with pytest.raises(ValueError, match=parameter):
        getattr(bounds, name)(*arguments)


def test_arguments_of_the_chernoff_bound():
    with pytest.raises(TypeError, match="log_mgf"):
        bounds.chernoff_tail(1.0, 2.0)
    with pytest.raises(ValueError, match="alpha_max"):
        bounds.chernoff_tail(1.0, lambda a: a, alpha_max=0.0)
