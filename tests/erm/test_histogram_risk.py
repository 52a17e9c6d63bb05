"""The bound on the excess risk of the histogram classifier, and the rate of its cells."""

import math

import numpy as np
import pytest

from sklearn_ensemble_theory import HistogramClassifier
from sklearn_ensemble_theory.bounds import finite_class_bound

# P(Y = 1 | x) = 0.2 + 0.6 x_1 for x uniform on the unit square: its mean over a cell is its value
# at the centre, so the risk of every classifier that is constant on cells is known.
LOW, SLOPE = 0.2, 0.6


def centres(m):
    """The centres of m x m squares."""
    return (np.stack(np.meshgrid(np.arange(m), np.arange(m)), -1).reshape(-1, 2) + 0.5) / m


def draw(rng, n):
    X = rng.random((n, 2))
    return X, (rng.random(n) < LOW + SLOPE * X[:, 0]).astype(int)


def excess_risks(model, m):
    """The risk of the model minus the least of a classifier with these cells."""
    centre = centres(m)
    share = LOW + SLOPE * centre[:, 0]
    risk = np.where(model.predict(centre) == 1, 1 - share, share)
    return np.mean(risk) - np.mean(np.minimum(share, 1 - share))


@pytest.mark.parametrize(("n", "m", "delta"), [(200, 6, 0.05), (1000, 10, 0.1), (60, 2, 0.5)])
def test_bound_holds_in_500_samples(n, m, delta):
    rng = np.random.default_rng(0)
    model = HistogramClassifier(n_bins="rate" if m**3 == n else m, box=(0, 1))
    found = np.array([excess_risks(model.fit(*draw(rng, n)), m) for _ in range(500)])
    assert model.n_bins_ == m
    bound = model.error_bound(delta=delta)
    assert np.mean(found <= bound) >= 1 - delta
    assert bound == pytest.approx(math.sqrt((2 * m**2 * math.log(2) + 2 * math.log(1 / delta)) / n))
    assert (found >= -1e-12).all()
    assert found.mean() > 0


def test_bound_holds_for_weighted_risks():
    """Weights that do not depend on the labels: the effective number of rows takes the place of n.

    One cell and two labels, so that the bound is almost attained.
    """
    rng = np.random.default_rng(0)
    n, delta, repetitions = 400, 0.05, 500
    weight = rng.uniform(size=n) ** 3
    model = HistogramClassifier(n_bins=1, box=(0, 1))
    gap = finite_class_bound(weight.sum() ** 2 / (weight**2).sum(), math.log(2), delta)
    # The worse label is by (a little more than) the bound worse.
    share = 0.5 - 1.001 * gap / 2
    wrong = 0
    for _ in range(repetitions):
        X, y = rng.random((n, 1)), (rng.random(n) < share).astype(int)
        model.fit(X, np.r_[0, 1, y[2:]], weight)
        assert model.error_bound(delta=delta) == pytest.approx(gap)
        wrong += model.predict([[0.5]])[0] == 1
    assert wrong <= delta * repetitions


def test_bound_with_more_classes_and_features():
    rng = np.random.default_rng(0)
    X, y = rng.random((500, 3)), rng.integers(0, 4, 500)
    model = HistogramClassifier(n_bins=2, box=(0, 1)).fit(X, y)
    expected = math.sqrt(2 * (8 * math.log(4) + math.log(20)) / 500)
    assert model.error_bound() == pytest.approx(expected)
    only = HistogramClassifier(n_bins=2, box=(0, 1)).fit(X, np.zeros(500))
    assert only.error_bound(delta=1.0) == 0.0


def test_bound_requires_a_box_and_a_probability():
    X, y = [[0.0], [1.0]], [0, 1]
    model = HistogramClassifier().fit(X, y)
    assert not hasattr(model, "error_bound")
    with pytest.raises(AttributeError) as error:
        model.error_bound()
    assert "set box" in str(error.value.__cause__)
    model = HistogramClassifier(box=(0, 1)).fit(X, y)
    for delta in (0, 1.5, np.nan):
        with pytest.raises(ValueError, match="delta must be"):
            model.error_bound(delta=delta)


def test_the_rate_approaches_the_bayes_risk():
    """n^(1/3) intervals: the excess over the Bayes risk decreases; with n^(1/2) it does not."""

    def share(X):
        return np.where(np.hypot(*(X.T - 0.5)) < 0.4, 0.9, 0.1)

    rng = np.random.default_rng(0)
    grid = centres(240)
    excess = {"rate": [], "root": []}
    for n in (1_000, 8_000, 64_000):
        X = rng.random((n, 2))
        y = rng.random(n) < share(X)
        for name, n_bins in (("rate", "rate"), ("root", int(n**0.5))):
            predicted = HistogramClassifier(n_bins, box=(0, 1)).fit(X, y).predict(grid)
            excess[name].append(0.8 * np.mean(predicted != (share(grid) > 0.5)))
    assert excess["rate"][2] < 0.75 * excess["rate"][1] < 0.6 * excess["rate"][0]
    assert excess["root"][2] > 0.8 * excess["root"][0]
    assert excess["rate"][0] < excess["root"][0]
