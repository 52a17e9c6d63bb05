"""The path of the folds: what is drawn is what the models say, and the rules by hand."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    StackingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import CVPathDisplay

X, Y = make_friedman1(123, 5, noise=1.0, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("rule", ["minimum", "one_standard_error"])
def test_path_of_gradient_boosting(rule):
    model = GradientBoostingRegressor(
        n_estimators=CVRounds(rule=rule), learning_rate=0.3, random_state=0
    )
    display = CVPathDisplay.from_estimator(model.fit(X, Y))
    results = model.cv_results_
    n_by_rule = {"minimum": display.best_, "one_standard_error": display.one_standard_error_}
    assert n_by_rule[rule] == display.chosen == model.n_estimators_
    assert display.parameter_ == "n_estimators"
    mean, error = results["mean_score"], results["standard_error"]
    best = 1 + np.argmin(results["mean_score"])
    limit = mean[best - 1] + error[best - 1]
    fewest = next(t for t in range(1, best + 1) if mean[t - 1] <= limit)
    assert (display.best_, display.one_standard_error_) == (best, fewest)
    lines = {line.get_label(): line for line in display.ax_.lines}
    np.testing.assert_array_equal(lines["mean of the folds"].get_ydata(), mean)
    assert lines[f"minimum: {best}"].get_xdata()[0] == best
    low, high = display.ax_.get_ylim()
    drawn = np.array([results["split0_score"], results["split4_score"]])
    drawn = drawn[:, max(1, model.n_estimators_ // 4) - 1 :]
    assert low < drawn.min()
    assert drawn.max() < high


def test_metrics_are_greater_for_better_models():
    labels = (np.median(Y) < Y).astype(int)
    model = GradientBoostingClassifier(
        n_estimators=CVRounds(scoring="roc_auc"), learning_rate=0.3, random_state=0
    ).fit(X, labels)
    _, ax = plt.subplots()
    display = CVPathDisplay.from_estimator(model, ax=ax, show_folds=False)
    assert display.ax_ is ax
    assert display.best_ == model.n_estimators_
    mean = model.cv_results_["mean_score"]
    best = mean[display.best_ - 1]
    assert best == mean.max()
    fewest, limit = (
        display.one_standard_error_,
        best - model.cv_results_["standard_error"][display.best_ - 1],
    )
    assert mean[fewest - 1] >= limit
    assert (mean[: fewest - 1] < limit).all()
    assert f"maximum: {display.best_}" in ax.get_legend_handles_labels()[1]


def test_path_of_an_additive_model():
    model = L2BoostingRegressor(CVRounds(max_estimators=400), smoothing_rounds=0).fit(X, Y)
    display = CVPathDisplay.from_estimator(model)
    assert display.best_ == model.n_estimators_
    n = len(display.results["n_estimators"])
    assert model.n_estimators_ <= n <= 401  # from 0 to 400
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert len(lines["mean of the folds"].get_ydata()) == n


def test_any_parameter_without_folds():
    """The curve of a criterion: its values, the best one, and that of the model."""
    results = {"radius": np.array([0.1, 1.0, 10.0]), "mean_score": np.array([3.0, 1.0, 2.0])}
    display = CVPathDisplay(results, chosen=10.0).plot()
    assert (display.parameter_, display.best_, display.one_standard_error_) == ("radius", 1.0, None)
    assert display.ax_.get_xlabel() == "radius"
    assert display.ax_.get_xscale() == "log"
    lines = display.ax_.lines
    assert [line.get_label() for line in lines[:2]] == ["mean of the folds", "minimum: 1"]
    assert set(lines[2].get_xdata()) == {10.0}
    with pytest.raises(ValueError, match=r"results must have .*; got \['mean_score'\]"):
        CVPathDisplay({"mean_score": results["mean_score"]}).plot()


def test_a_model_without_folds_is_refused():
    model = GradientBoostingRegressor(n_estimators=5).fit(X, Y)
    with pytest.raises(
        TypeError, match=r"must have cv_results_, .*; GradientBoostingRegressor has none"
    ):
        CVPathDisplay.from_estimator(model)
    members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=2))]
    stack = StackingRegressor(members, final_estimator="simplex", cv=3).fit(X, Y)
    with pytest.raises(TypeError, match=r"StackingRegressor is a table .*: use LeaderboardDisplay"):
        CVPathDisplay.from_estimator(stack)


def test_radius_of_frank_wolfe():
    model = FrankWolfeRegressor(radius=[0.5, 2.0, 8.0]).fit(X, Y)
    display = CVPathDisplay.from_estimator(model)
    results = model.cv_results_
    assert display.parameter_ == "radius"
    assert display.best_ == results["radius"][np.argmin(results["mean_score"])]
    assert display.chosen == model.radius_
