"""Laws of residuals and means: parameters by certificates, the smoothed law by its parts."""

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from sklearn_ensemble_theory.ensembles._distributions import (
    FREEDOM,
    LEAST_SPREAD,
    LOCATION_SCALE_FAMILIES,
    check_support,
    frozen_location_scale,
    frozen_of_mean,
    smoothed_law,
)
from sklearn_ensemble_theory.metrics import crps, log_score


def equal(n):
    return np.full(n, 1 / n)


SAMPLES = {
    "normal": stats.norm.rvs(size=300, random_state=0),
    "heavy": stats.t(2.5).rvs(size=2000, random_state=1),
    "skewed": stats.gamma(2).rvs(size=400, random_state=2),
    "ties": stats.poisson(2).rvs(size=150, random_state=3).astype(float),
    "two values": np.r_[np.zeros(9), 1.0],
    "mostly one value": np.r_[np.zeros(50), stats.norm.rvs(size=30, random_state=4)],
    "far from 0": 1e6 + stats.norm.rvs(size=80, random_state=5),
    "one row": np.array([0.7]),
    "constant": np.zeros(30),
}
every_sample = pytest.mark.parametrize("name", SAMPLES)


# --- the smoothed law -----------------------------------------------------------------------------


@every_sample
def test_quantiles_are_the_inverse_of_the_distribution_function(name):
    z = SAMPLES[name]
    law = smoothed_law(z, equal(len(z)))
    q = np.r_[1e-12, 1e-6, np.linspace(0.001, 0.999, 400), 1 - 1e-6]
    x = law.ppf(q)
    assert (np.diff(x) >= 0).all()
    # As well as x has digits: where all z are equal the law is 1e-8 wide.
    step = np.spacing(np.abs(x).max()) * law.pdf(x).max()
    np.testing.assert_allclose(law.cdf(x), q, rtol=1e-9, atol=4 * step)
    np.testing.assert_allclose(law.sf(law.isf(q)), q, rtol=1e-9, atol=4 * step)
    np.testing.assert_allclose(law.cdf(x) + law.sf(x), 1, atol=1e-14)


@pytest.mark.parametrize("name", ["normal", "heavy", "skewed", "ties", "two values", "far from 0"])
def test_moments_and_entropy_are_integrals_of_the_density(name):
    z = SAMPLES[name]
    law = smoothed_law(z, equal(len(z)))
    first, last = law.knots[[0, -1]]
    tails = np.linspace(law.isf(1 - 1e-14), first, 40), np.linspace(last, law.isf(1e-14), 40)
    parts = np.r_[tails[0][:-1], law.knots, tails[1][1:]]
    nodes, weights = np.polynomial.legendre.leggauss(30)
    x = (parts[1:, None] + parts[:-1, None] + np.diff(parts)[:, None] * nodes) / 2
    weights = np.outer(np.diff(parts) / 2, weights) * law.pdf(x)

    def integral(function):
        return (function(x) * weights).sum()

    assert integral(np.ones_like) == pytest.approx(1, abs=1e-9)
    assert law.mean() == pytest.approx(integral(lambda x: x), rel=1e-8, abs=1e-8)
    assert law.var() == pytest.approx(integral(lambda x: (x - law.mean()) ** 2), rel=1e-7)
    assert law.entropy() == pytest.approx(-integral(law.logpdf), rel=1e-7, abs=1e-8)


def test_density_is_the_derivative_of_the_distribution_function():
    z = SAMPLES["skewed"]
    law = smoothed_law(z, equal(len(z)))
    middle = (law.knots[1:] + law.knots[:-1]) / 2
    x = np.r_[law.knots[0] - [3.0, 0.5], middle, law.knots[-1] + [0.1, 5.0]]
    h = 1e-7
    slope = (law.cdf(x + h) - law.cdf(x - h)) / (2 * h)
    np.testing.assert_allclose(law.pdf(x), slope, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(np.exp(law.logpdf(x)), law.pdf(x))
    assert np.isfinite(law.logpdf([-1e6, 1e6])).all()  # far below where the density underflows


def test_smoothed_law_is_a_mean_of_histograms():
    """Written out: histograms of bins of mass n^(-1/3) at quantiles, moved by eighths of a bin."""
    z = SAMPLES["normal"]
    n = len(z)
    law = smoothed_law(z, equal(n))
    size = n ** (-1 / 3)
    low, high = size / 2, 1 - size / 2
    positions, ordered = (np.arange(n) + 0.5) / n, np.sort(z)
    x = np.linspace(*np.interp([low, high], positions, ordered), 99)
    expected = []
    for k in range(8):
        edges = low + size * (k / 8 + np.arange(-1, 1 / size + 2))
        edges = np.r_[low, edges[(edges > low) & (edges < high - size / 16)], high]
        expected.append(np.interp(x, np.interp(edges, positions, ordered), edges))
    np.testing.assert_allclose(law.cdf(x), np.mean(expected, axis=0), atol=1e-12)
    # Tails have the mean excess.
    last = np.interp(high, positions, ordered)
    assert law.tails[1] == pytest.approx(np.mean(z[z > last] - last))
    mirrored = smoothed_law(-z, equal(n))
    assert mirrored.tails == pytest.approx(law.tails[::-1])


def test_smoothed_law_converges_to_the_law():
    """Quantiles, and the excess of the log score, over samples of four laws."""
    laws = [stats.norm(), stats.t(3), stats.gamma(2), stats.laplace()]
    for n, excess in [(300, 0.05), (20_000, 0.006)]:
        for law in laws:
            rng = np.random.default_rng(n)
            found = smoothed_law(law.rvs(n, random_state=rng), equal(n))
            q = np.linspace(0.01, 0.99, 99)
            assert np.abs(found.cdf(law.ppf(q)) - q).max() < 1.63 / np.sqrt(n)  # Kolmogorov's 1 %
            y = law.rvs(20_000, random_state=rng)
            assert np.mean(law.logpdf(y) - found.logpdf(y)) < excess


def test_density_between_neighbours_costs_one_minus_euler_gamma():
    """Why the law has bins: a new value falls into longer gaps, of twice the mean."""
    rng = np.random.default_rng(0)
    costs = []
    for _ in range(200):
        z, y = np.sort(rng.uniform(size=200)), rng.uniform(size=500)
        y = y[(y > z[0]) & (y < z[-1])]
        gap = np.diff(z)[np.searchsorted(z, y) - 1]
        costs.append(np.log(200 * gap).mean())
    assert np.mean(costs) == pytest.approx(1 - np.euler_gamma, abs=0.02)


@every_sample
def test_integer_weights_repeat_residuals(name):
    """In the distribution function at the z, up to the effective number of rows."""
    z = SAMPLES[name][:150]
    whole = frozen_location_scale("empirical", 0.0, 1.0, z)
    twice = frozen_location_scale(
        "empirical", 0.0, 1.0, np.r_[z, 99.0], np.r_[np.full(len(z), 2), 0]
    )
    x = np.linspace(z.min() - 1, z.max() + 1, 50)
    np.testing.assert_array_equal(whole.cdf(x), twice.cdf(x))
    w = np.random.default_rng(6).integers(1, 4, len(z)).astype(float)
    weighted = frozen_location_scale("empirical", 0.0, 1.0, z, w)
    repeated = frozen_location_scale("empirical", 0.0, 1.0, np.repeat(z, w.astype(int)))
    gap = np.abs(weighted.cdf(x) - repeated.cdf(x)).max()
    assert gap < 0.06  # the bins are wider: their mass is by sum(w)^2 / sum(w^2) rows


def test_constant_residuals_have_nearly_the_law_of_a_point():
    for family in ("normal", "student-t", "laplace", "empirical"):
        found = frozen_location_scale(
            family, np.array([3.0, 4.0]), np.array([1.0, 0.1]), np.zeros(30)
        )
        np.testing.assert_allclose(found.mean(), [3.0, 4.0], atol=1e-7)
        assert (found.std() < 2 * LEAST_SPREAD).all()
        assert (found.std() > 0).all()
        np.testing.assert_allclose(found.ppf([0.01, 0.99]), [3.0, 4.0], atol=1e-6)
        assert np.isfinite(log_score([3.0, 4.0], found))


# --- location and scale ---------------------------------------------------------------------------


@pytest.mark.parametrize("family", LOCATION_SCALE_FAMILIES)
def test_frozen_laws_have_the_methods_and_shapes_of_scipy(family):
    z = SAMPLES["heavy"]
    location, scale = np.linspace(-1, 1, 5), np.linspace(0.1, 2, 5)
    found = frozen_location_scale(family, location, scale, z)
    for name in ("mean", "std", "var", "median"):
        assert getattr(found, name)().shape == (5,)
    assert found.cdf(np.zeros(5)).shape == (5,)
    assert found.cdf(np.zeros((3, 1))).shape == found.ppf(np.full((3, 1), 0.3)).shape == (3, 5)
    assert np.shape(found.interval(0.9)) == (2, 5)
    sample = found.rvs((20_000, 5), random_state=np.random.default_rng(0))
    middle = np.median(sample, axis=0)
    np.testing.assert_allclose(found.cdf(middle), 0.5, atol=0.02)
    low, high = found.interval(0.8)
    np.testing.assert_allclose(((sample > low) & (sample < high)).mean(axis=0), 0.8, atol=0.02)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.ppf(0.2), found.ppf(0.2))
    assert np.isfinite(crps(np.ones(5), found))
    np.testing.assert_allclose(found.logpdf(middle), np.log(found.pdf(middle)))


def test_location_and_scale_of_the_smoothed_law():
    z = SAMPLES["skewed"]
    one = smoothed_law(z, equal(len(z)))
    found = frozen_location_scale("empirical", np.array([5.0, -2.0]), np.array([0.1, 3.0]), z)
    np.testing.assert_allclose(found.ppf(0.3), [5 + 0.1 * one.ppf(0.3), -2 + 3 * one.ppf(0.3)])
    np.testing.assert_allclose(found.std(), [0.1 * one.std(), 3 * one.std()])
    np.testing.assert_allclose(found.pdf([5.1, 1.0]), [one.pdf(1.0) / 0.1, one.pdf(1.0) / 3])


def loss_of(family, z, weight, spread, *shape):
    law = {"normal": stats.norm, "laplace": stats.laplace, "student-t": stats.t}[family]
    return log_score(z, law(*shape, scale=spread), sample_weight=weight)


@pytest.mark.parametrize("family", ["normal", "laplace", "student-t"])
def test_spread_has_the_largest_likelihood(family):
    rng = np.random.default_rng(0)
    z, weight = SAMPLES["heavy"], rng.uniform(0, 2, 2000)
    found = frozen_location_scale(family, 0.0, 1.0, z, weight)
    shape = found.args
    at = np.array([found.kwds["scale"], *shape])
    best = loss_of(family, z, weight, *at)
    for step in 0.02 * np.vstack([np.eye(len(at)), -np.eye(len(at))]):
        assert loss_of(family, z, weight, *(at * (1 + step))) > best
    # And a search of its own ends at the same place.
    search = minimize(
        lambda logs: loss_of(family, z, weight, *np.exp(logs)),
        np.zeros(len(at)),
        method="Nelder-Mead",
    )
    np.testing.assert_allclose(np.exp(search.x), at, rtol=2e-3)


def test_degrees_of_freedom_stay_where_there_is_a_variance():
    cauchy = stats.cauchy.rvs(size=500, random_state=0)
    found = frozen_location_scale("student-t", 0.0, 1.0, cauchy)
    assert found.args[0] == pytest.approx(FREEDOM[0])
    assert np.isfinite(found.std())
    light = frozen_location_scale("student-t", 0.0, 1.0, np.linspace(-1, 1, 100))
    assert light.args[0] == pytest.approx(FREEDOM[1])
    zeros = frozen_location_scale("student-t", 0.0, 1.0, SAMPLES["mostly one value"])
    assert 0 < zeros.std() < 1  # its likelihood has no largest value


def test_lognormal_is_the_law_of_the_exponential():
    z = SAMPLES["normal"]
    location, scale = np.array([0.0, 2.0]), np.array([0.3, 0.8])
    logs = frozen_location_scale("normal", location, scale, z)
    found = frozen_location_scale("lognormal", location, scale, z)
    np.testing.assert_allclose(found.cdf([1.1, 5.0]), logs.cdf(np.log([1.1, 5.0])))
    np.testing.assert_allclose(found.median(), np.exp(location))


# --- means ----------------------------------------------------------------------------------------


def counts_of(alpha, n, seed=0):
    rng = np.random.default_rng(seed)
    mu = np.exp(rng.normal(1, 0.7, n))
    y = rng.poisson(mu) if alpha == 0 else rng.negative_binomial(1 / alpha, 1 / (1 + alpha * mu))
    return y.astype(float), mu


@pytest.mark.parametrize("alpha", [0.05, 0.5, 4.0])
def test_overdispersion_has_the_largest_likelihood(alpha):
    y, mu = counts_of(alpha, 4000)
    weight = np.random.default_rng(1).uniform(0, 2, len(y))
    found = frozen_of_mean("negative-binomial", np.array([2.0, 7.0]), y, mu, weight)
    np.testing.assert_allclose(found.mean(), [2.0, 7.0])
    estimate = 1 / found.args[0]
    np.testing.assert_allclose(found.var(), [2 + 4 * estimate, 7 + 49 * estimate])

    def loss(a):
        return log_score(y, stats.nbinom(1 / a, 1 / (1 + a * mu)), sample_weight=weight)

    assert loss(estimate) < min(loss(0.98 * estimate), loss(1.02 * estimate))
    assert estimate == pytest.approx(alpha, rel=0.25)


def test_counts_without_overdispersion_are_poisson():
    y, mu = counts_of(0.0, 400, seed=2)
    y = np.minimum(y, np.ceil(mu))  # less dispersed than Poisson's
    found = frozen_of_mean("negative-binomial", mu, y, mu)
    assert found.dist.name == "poisson"
    np.testing.assert_array_equal(found.var(), frozen_of_mean("poisson", mu, y, mu).var())


@pytest.mark.parametrize("shape", [0.4, 3.0, 5e3, 1e9])
def test_gamma_has_the_dispersion_of_the_largest_likelihood(shape):
    rng = np.random.default_rng(0)
    mu = np.exp(rng.normal(size=3000))
    y = rng.gamma(shape, mu / shape)
    found = frozen_of_mean("gamma", np.array([2.0, 5.0]), y, mu)
    np.testing.assert_allclose(found.mean(), [2.0, 5.0])
    a = float(found.args[0])
    assert a == pytest.approx(shape, rel=0.1)

    def loss(b):
        return log_score(y, stats.gamma(b, scale=mu / b))

    assert loss(a) < min(loss(0.98 * a), loss(1.02 * a))


def test_gamma_of_exact_means():
    found = frozen_of_mean("gamma", np.array([2.0]), np.ones(5), np.ones(5))
    assert 0 < found.std()[0] < 1e-5


def test_rows_of_weight_0_take_no_part():
    y, mu = counts_of(0.5, 200)
    weight = np.r_[np.ones(200), 0.0]
    # What they hold may be anything.
    y1, mu1 = np.r_[y, -3.5], np.r_[mu, 1.0]
    one = frozen_of_mean("negative-binomial", mu, y, mu)
    two = frozen_of_mean("negative-binomial", mu, y1, mu1, weight)
    np.testing.assert_allclose(one.var(), two.var())


@pytest.mark.parametrize(
    ("family", "y", "what"),
    [
        ("poisson", [1.0, 0.5], "non-negative integers; y has 0.5"),
        ("negative-binomial", [1.0, -1.0], "non-negative integers; y has -1"),
        ("gamma", [1.0, 0.0], "positive; y has 0"),
    ],
)
def test_targets_that_a_family_cannot_have(family, y, what):
    with pytest.raises(ValueError, match=what):
        frozen_of_mean(family, np.ones(2), np.array(y), np.ones(2))
    with pytest.raises(ValueError, match="positive"):
        check_support("lognormal", np.array([0.0]))
    check_support("normal", np.array([-1.0]))


def test_unknown_families():
    with pytest.raises(ValueError, match=r"family must be one of .*'student-t'.*got 'cauchy'"):
        frozen_location_scale("cauchy", 0.0, 1.0, np.ones(3))
    with pytest.raises(ValueError, match=r"family must be one of .*'poisson'.*got None"):
        frozen_of_mean(None, np.ones(3), np.ones(3), np.ones(3))
