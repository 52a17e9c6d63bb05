"""Calibration displays: what is drawn against counts, random transforms and uniform samples."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import ReliabilityDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


class NormalRidge(BayesianRidge):
    def predict_distribution(self, X, factor=1.0):
        mean, scale = self.predict(X, return_std=True)
        return stats.norm(mean, factor * scale)


def linear_data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.normal(size=n)


def test_pit_histogram_of_a_density_is_a_histogram():
    rng = np.random.default_rng(0)
    mu, y, w = rng.normal(size=150), rng.normal(size=150), rng.integers(0, 4, 150)
    law = stats.norm(mu, 1.3)
    display = ReliabilityDisplay.from_predictions(y, law, n_bins=7, method="pit")
    expected = np.histogram(law.cdf(y), 7, (0, 1), density=True)[0]
    np.testing.assert_allclose(display.reliability.heights, expected)
    weighted = ReliabilityDisplay.from_predictions(y, law, sample_weight=w, n_bins=7, method="pit")
    expected = np.histogram(law.cdf(y), 7, (0, 1), weights=w, density=True)[0]
    np.testing.assert_allclose(weighted.reliability.heights, expected)
    # The ends count too: these transforms are exactly 0 and 1.
    ends = ReliabilityDisplay.from_predictions(
        [-1.0, 0.0, 2.0, 1.0], stats.uniform(), n_bins=2, method="pit"
    )
    np.testing.assert_allclose(ends.reliability.heights, [1, 1])


def test_pit_histogram_of_counts_is_the_mean_of_random_ones():
    rng = np.random.default_rng(1)
    mu = rng.uniform(0.2, 6, 80)
    y, law = rng.poisson(mu).astype(float), stats.poisson(mu)
    display = ReliabilityDisplay.from_predictions(y, law, n_bins=8, method="pit")
    u = rng.uniform(law.cdf(y - 1), law.cdf(y), (4000, 80))
    expected = np.histogram(u, 8, (0, 1), density=True)[0]
    np.testing.assert_allclose(display.reliability.heights, expected, atol=0.02)
    assert display.reliability.heights.mean() == pytest.approx(1)


@pytest.mark.parametrize("n", [60, 700])
def test_uniform_samples_stay_in_the_band(n):
    rng = np.random.default_rng(n)
    low, high = ReliabilityDisplay.from_predictions(
        rng.uniform(size=n), stats.uniform(), method="pit"
    ).reliability.band
    counts = rng.multinomial(n, np.full(10, 0.1), 4000) * 10 / n
    inside = ((counts >= low) & (counts <= high)).all(axis=1).mean()
    assert 0.945 < inside < 0.995  # at least .95; counts are discrete


def test_equal_weights_do_not_change_the_band():
    y = np.linspace(0.01, 0.99, 50)
    one = ReliabilityDisplay.from_predictions(y, stats.uniform(), method="pit")
    other = ReliabilityDisplay.from_predictions(
        np.r_[y, 9], stats.uniform(), sample_weight=[3.0] * 50 + [0], method="pit"
    )
    assert one.reliability.band == other.reliability.band
    np.testing.assert_allclose(one.reliability.heights, other.reliability.heights)


def test_displays_of_an_estimator():
    X, y = linear_data()
    model = NormalRidge().fit(X[:100], y[:100])
    found = ReliabilityDisplay.from_estimator(
        model, X[100:], y[100:], factor=1.2, n_bins=5, method="pit"
    )
    law = model.predict_distribution(X[100:], 1.2)
    np.testing.assert_allclose(found.reliability.upper, law.cdf(y[100:]))
    assert len(found.reliability.heights) == 5
    pipeline = make_pipeline(StandardScaler(), NormalRidge()).fit(X[:100], y[:100])
    levels = [0.1, 0.5, 0.9]
    found = ReliabilityDisplay.from_estimator(pipeline, X, y, levels=levels, method="quantiles")
    law = pipeline[-1].predict_distribution(pipeline[0].transform(X))
    expected = [np.mean(y <= law.ppf(level)) for level in levels]
    np.testing.assert_allclose(found.reliability.observed, expected)


def test_reliability_of_predicted_quantiles():
    X, y = linear_data()
    forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X[:100], y[:100])
    levels, w = [0.1, 0.5, 0.9], np.arange(100.0)
    found = ReliabilityDisplay.from_estimator(
        forest, X[100:], y[100:], levels=levels, sample_weight=w, method="quantiles"
    )
    quantiles = forest.predict_quantiles(X[100:], levels)
    below = y[100:, None] <= quantiles
    np.testing.assert_allclose(found.reliability.observed, np.average(below, axis=0, weights=w))
    assert found.reliability.n == pytest.approx(w.sum() ** 2 / (w**2).sum())
    points = found.ax_.containers[0].lines[0]
    np.testing.assert_allclose(points.get_ydata(), found.reliability.observed)
    _, ax = plt.subplots()
    assert found.plot(ax).ax_ is ax


def test_counts_of_a_true_law_are_on_the_diagonal():
    y = stats.poisson(0.7).rvs(size=40_000, random_state=0)
    levels = np.linspace(0.05, 0.95, 10)
    found = ReliabilityDisplay.from_predictions(
        y, stats.poisson(0.7), levels=levels, method="quantiles"
    )
    np.testing.assert_allclose(found.reliability.observed, levels, atol=0.01)


def test_binomial_intervals():
    """Of Clopper and Pearson: each end is a level of a binomial tail."""
    y, levels = np.arange(20.0), [0.1, 0.5, 0.9]
    quantiles = np.tile([-1.0, 6.0, 99.0], (20, 1))
    found = ReliabilityDisplay.from_predictions(y, quantiles, levels=levels, method="quantiles")
    np.testing.assert_allclose(found.reliability.observed, [0, 0.35, 1])
    expected = [stats.binomtest(k, 20).proportion_ci(0.95) for k in (0, 7, 20)]
    np.testing.assert_allclose(found.reliability.intervals, expected, atol=1e-12)


def test_bad_input():
    X, y = linear_data(20)
    law = stats.norm(np.zeros(20))
    with pytest.raises(TypeError, match=r"predict_distribution; LinearRegression does not"):
        ReliabilityDisplay.from_estimator(LinearRegression().fit(X, y), X, y, method="pit")
    with pytest.raises(TypeError, match=r"predict_distribution; LinearRegression does not"):
        ReliabilityDisplay.from_estimator(LinearRegression().fit(X, y), X, y, method="quantiles")
    with pytest.raises(ValueError, match="n_bins must be an int of at least 2"):
        ReliabilityDisplay.from_predictions(y, law, n_bins=1, method="pit")
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        ReliabilityDisplay.from_predictions(y, law, confidence=95, method="pit")
    with pytest.raises(ValueError, match="parameters for the 3 values of y"):
        ReliabilityDisplay.from_predictions(y[:3], stats.norm(np.zeros((2, 1))), method="pit")
    with pytest.raises(ValueError, match="outside of their range in row 0"):
        ReliabilityDisplay.from_predictions(y, stats.norm(0, -1), method="pit")
    with pytest.raises(ValueError, match="method must be 'mean', 'quantiles' or 'pit'; got 'all'"):
        ReliabilityDisplay.from_predictions(y, law, method="all")
    with pytest.raises(ValueError, match="levels is for method='quantiles'; it must be None"):
        ReliabilityDisplay.from_predictions(y, law, method="pit", levels=[0.5])
    with pytest.raises(ValueError, match="n_bins is for method='mean' or 'pit'"):
        ReliabilityDisplay.from_predictions(y, law, method="quantiles", n_bins=5)
    with pytest.raises(ValueError, match="target is for method='mean'"):
        ReliabilityDisplay.from_estimator(None, X, y, method="quantiles", target=1)
    with pytest.raises(ValueError, match="levels must increase"):
        ReliabilityDisplay.from_predictions(y, law, levels=[0.5, 0.1], method="quantiles")
    with pytest.raises(ValueError, match="levels must be numbers between 0 and 1"):
        ReliabilityDisplay.from_predictions(y, law, levels=[0.5, 1.0], method="quantiles")
    with pytest.raises(ValueError, match=r"\(20, 2\); got \(20, 3\)"):
        ReliabilityDisplay.from_predictions(
            y, np.zeros((20, 3)), levels=[0.1, 0.5], method="quantiles"
        )
    with pytest.raises(ValueError, match=r"(?i)weight"):
        ReliabilityDisplay.from_predictions(y, law, sample_weight=np.zeros(20), method="pit")
