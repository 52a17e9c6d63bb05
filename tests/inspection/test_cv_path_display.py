"""The path of the folds: what is drawn is what the models say, and the rules by hand."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
)
from sklearn_ensemble_theory.inspection import CVPathDisplay

X, Y = make_friedman1(123, 5, noise=1.0, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("rule", ["minimum", "one_standard_error"])
def test_path_of_gradient_boosting(rule):
    model = GradientBoostingRegressor(
        n_estimators="cv", cv_rule=rule, learning_rate=0.3, random_state=0
    )
    display = CVPathDisplay.from_estimator(model.fit(X, Y))
    results = model.cv_results_
    np.testing.assert_allclose(display.mean_[1:], results["mean_score"])
    np.testing.assert_allclose(display.standard_error_[1:], results["standard_error"])
    n_by_rule = {
        "minimum": display.n_best_,
        "one_standard_error": display.n_one_standard_error_,
    }
    assert n_by_rule[rule] == model.n_rounds_
    best = 1 + np.argmin(results["mean_score"])
    limit = display.mean_[best] + display.standard_error_[best]
    fewest = next(t for t in range(1, best + 1) if display.mean_[t] <= limit)
    assert (display.n_best_, display.n_one_standard_error_) == (best, fewest)
    lines = {line.get_label(): line for line in display.ax_.lines}
    np.testing.assert_array_equal(lines["mean of the folds"].get_ydata(), display.mean_)
    assert lines[f"minimum: {best}"].get_xdata()[0] == best
    low, high = display.ax_.get_ylim()
    drawn = model.cv_path_[max(1, model.n_rounds_ // 4) :]
    assert low < drawn.min()
    assert drawn.max() < high


def test_metrics_are_greater_for_better_models():
    labels = (np.median(Y) < Y).astype(int)
    model = GradientBoostingClassifier(
        n_estimators="cv", scoring="roc_auc", learning_rate=0.3, random_state=0
    ).fit(X, labels)
    _, ax = plt.subplots()
    display = CVPathDisplay.from_estimator(model, ax=ax, show_folds=False)
    assert display.ax_ is ax
    assert display.n_best_ == model.n_rounds_
    best = display.mean_[display.n_best_]
    assert best == display.mean_[1:].max()
    fewest = display.n_one_standard_error_
    assert display.mean_[fewest] >= best - display.standard_error_[display.n_best_]
    assert (display.mean_[1:fewest] < best - display.standard_error_[display.n_best_]).all()
    assert f"maximum: {display.n_best_}" in ax.get_legend_handles_labels()[1]


def test_path_of_an_additive_model():
    model = L2BoostingRegressor("cv", max_estimators=400, smoothing_rounds=0).fit(X, Y)
    display = CVPathDisplay.from_estimator(model)
    assert display.n_best_ == model.n_estimators_
    assert len(display.path) <= 401
    np.testing.assert_array_equal(display.path, model.cv_path_[: len(display.path)])


def test_a_model_without_folds_is_refused():
    model = GradientBoostingRegressor(n_estimators=5).fit(X, Y)
    with pytest.raises(TypeError, match=r"n_estimators=\"cv\" makes; GradientBoostingRegressor"):
        CVPathDisplay.from_estimator(model)
