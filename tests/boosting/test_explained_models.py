"""Displays and Shapley values of the fitted additive estimators, with all kinds of features."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import (
    ImportanceDisplay,
    LocalExplanationDisplay,
    ShapeFunctionDisplay,
)

from ..inspection.mixed_data import mixed_rows
from .test_explanations import interventional_values, shapley_values


@pytest.fixture(scope="module")
def rows():
    X = mixed_rows(80, seed=1)
    return X.assign(city=X["city"].astype("category"))


def fitted(name, X):
    rng = np.random.default_rng(0)
    effect = X["age"].fillna(70) / 10 + (X["city"] == "Rome") + np.log(X["income"])
    if name == "regressor":
        y = effect + rng.normal(size=len(X))
        return L2BoostingRegressor(CVRounds(max_estimators=100), learning_rate=0.1).fit(X, y)
    if name == "counts":
        y = rng.poisson(np.exp((effect - effect.mean()) / 3))
        return AdditiveBoostingRegressor(
            n_estimators=CVRounds(max_estimators=100), loss="poisson"
        ).fit(X, y)
    ranks = np.argsort(np.argsort(effect + rng.normal(size=len(X))))
    y = np.array(["a", "b", "c"])[(2 if name == "two classes" else 3) * ranks // len(X)]
    return LogitBoostClassifier(CVRounds(max_estimators=100), learning_rate=0.1).fit(X, y)


@pytest.fixture(scope="module", params=["regressor", "counts", "two classes", "three classes"])
def model(request, rows):
    return fitted(request.param, rows)


def scores_of(model):
    """The function that is the sum of the terms."""
    if model.link_ == "log":
        return lambda X: np.log(model.predict(X))
    return model.decision_function if hasattr(model, "classes_") else model.predict


@pytest.mark.slow
def test_displays(model, rows):
    display = ShapeFunctionDisplay.from_estimator(model, ["age", "city", "income"], X=rows)
    display.figure_.draw_without_rendering()
    steps, categories, _ = display.shapes
    assert categories.axes[0].categorical
    assert steps.axes[0].missing
    assert steps.errors is not None
    assert steps.weights.sum() == len(rows)
    assert ImportanceDisplay.from_estimator(model).importances.shape == (4,)
    row = LocalExplanationDisplay.from_estimator(model, rows.iloc[[0]])
    scores = scores_of(model)
    assert np.isclose(row.intercept + row.contributions.sum(), scores(rows.iloc[[0]])).any()
    plt.close("all")


def test_values_are_those_of_the_definition(model, rows):
    scores = scores_of(model)

    def predict(X):
        return scores(X.astype({"city": "category"}))

    new = mixed_rows(2, seed=9)
    values, base = shapley_values(model, new.astype({"city": "category"}))
    background = rows.assign(city=rows["city"].astype(object))
    for i in range(len(new)):
        row = new.iloc[i].to_list()
        expected, mean = interventional_values(predict, row, background, np.ones(len(rows)))
        np.testing.assert_allclose(values[i], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(base, mean, rtol=0, atol=1e-12)
