"""Means of predictions against means of what was observed."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import beta, t
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_ensemble_theory.inspection import ReliabilityDisplay

draw = ReliabilityDisplay.from_predictions


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_groups_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=1000)
    y = (rng.uniform(size=1000) < p) * 1
    display = draw(y, p, n_bins=10)
    observed, predicted = calibration_curve(y, p, n_bins=10, strategy="quantile")
    (curve,) = display.reliability.curves
    np.testing.assert_allclose(curve.observed, observed)
    np.testing.assert_allclose(curve.predicted, predicted)
    np.testing.assert_allclose(curve.share, 0.1)
    n, k = 100, np.round(100 * observed)
    np.testing.assert_allclose(curve.intervals[:, 0], beta.ppf(0.025, k, n - k + 1))
    np.testing.assert_allclose(curve.intervals[:, 1], beta.ppf(0.975, k + 1, n - k))
    assert display.reliability.calibration_error == pytest.approx(
        np.abs(observed - predicted).mean()
    )
    points = display.ax_.containers[0].lines[0].get_xydata()
    np.testing.assert_allclose(points, np.column_stack([predicted, observed]))


def test_intervals_of_means_are_those_of_student():
    rng = np.random.default_rng(1)
    found = np.repeat([1.0, 2.0, 5.0], [20, 30, 10])
    y = found + rng.normal(size=60)
    (curve,) = draw(y, found, n_bins=10).reliability.curves  # equal predictions stay together
    np.testing.assert_allclose(curve.predicted, [1, 2, 5])
    for g, value in enumerate([1.0, 2.0, 5.0]):
        own = y[found == value]
        law = t(len(own) - 1, own.mean(), own.std(ddof=1) / np.sqrt(len(own)))
        np.testing.assert_allclose(curve.intervals[g], law.interval(0.95))


def test_weights_are_copies_of_rows():
    rng = np.random.default_rng(2)
    y, found = rng.normal(size=(2, 40))
    copies = rng.integers(0, 4, 40)
    (weighted,) = draw(y, found, n_bins=5, sample_weight=copies).reliability.curves
    (repeated,) = draw(np.repeat(y, copies), np.repeat(found, copies), n_bins=5).reliability.curves
    np.testing.assert_allclose(weighted.predicted, repeated.predicted)
    np.testing.assert_allclose(weighted.observed, repeated.observed)


def test_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = LogisticRegression(max_iter=1000).fit(X, names)
    display = ReliabilityDisplay.from_estimator(model, X, names)
    assert [c.label for c in display.reliability.curves] == model.classes_.tolist()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][1:] == names[
        ::50
    ].tolist()
    one = ReliabilityDisplay.from_estimator(model, X, names, target="virginica")
    assert one.ax_.get_xlabel() == "predicted probability of virginica"
    np.testing.assert_array_equal(
        one.reliability.curves[0].observed, display.reliability.curves[2].observed
    )
    two = ReliabilityDisplay.from_estimator(LogisticRegression().fit(X, y > 0), X, y > 0)
    assert [c.label for c in two.reliability.curves] == ["True"]
    two.figure_.draw_without_rendering()


def test_regressor_on_given_axes():
    X, y = np.random.default_rng(0).normal(size=(2, 50))
    _, ax = plt.subplots()
    model = LinearRegression().fit(X[:, None], y)
    display = ReliabilityDisplay.from_estimator(model, X[:, None], y, ax=ax, n_bins=50)
    assert display.ax_ is ax
    assert np.isnan(display.reliability.curves[0].intervals).all()  # of single rows
    display.figure_.draw_without_rendering()
    constant = draw(np.ones(5), np.ones(5))  # no width of anything
    constant.figure_.draw_without_rendering()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_bins": 0}, "n_bins"),
        ({"n_bins": 2.5}, "n_bins"),
        ({"confidence": 1.0}, "confidence"),
        ({"predicted": [0.5]}, "predicted must be 3 finite numbers"),
        ({"predicted": [0.5, np.nan, 1]}, "predicted must be 3 finite numbers"),
        ({"sample_weight": [0, 0, 0]}, "at least one non-zero|must not be all 0"),
    ],
)
def test_refusals(options, match):
    with pytest.raises(ValueError, match=match):
        draw(**{"y": [0, 1, 1], "predicted": [0.1, 0.5, 0.9], **options})


def test_refusals_of_classes():
    X = np.arange(4.0)[:, None]
    model = LogisticRegression().fit(X, ["a", "a", "b", "b"])
    with pytest.raises(ValueError, match="not classes of the estimator: \\['c'\\]"):
        ReliabilityDisplay.from_estimator(model, X, ["a", "b", "c", "a"])
    with pytest.raises(ValueError, match="target must be one of"):
        ReliabilityDisplay.from_estimator(model, X, ["a", "b", "b", "a"], target="c")
    with pytest.raises(ValueError, match="target is for classifiers"):
        ReliabilityDisplay.from_estimator(LinearRegression().fit(X, X[:, 0]), X, X[:, 0], target=1)
