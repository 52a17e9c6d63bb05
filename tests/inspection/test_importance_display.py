"""The display of importances draws what the model returns."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import GradientBoostingRegressor, RandomForestRegressor
from sklearn_ensemble_theory.inspection import (
    ImportanceDisplay,
    oob_permutation_importances,
    unbiased_feature_importances,
)


def test_bars_are_the_importances():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((80, 3)), columns=["a", "b", "c"])
    forest = RandomForestRegressor(20, random_state=0).fit(X, X["b"] + 0.3 * X["c"])
    display = ImportanceDisplay.from_estimator(forest)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, np.sort(unbiased_feature_importances(forest))[::-1])
    result = oob_permutation_importances(forest, random_state=0)
    _, ax = plt.subplots()
    display = ImportanceDisplay.from_estimator(
        forest, result, names=["x", "y", "z"], max_bars=2, ax=ax
    )
    assert display.ax_ is ax
    assert len(display.bars_) == 2
    segment = display.bars_.errorbar.lines[2][0].get_segments()[0]
    np.testing.assert_allclose(np.diff(segment[:, 0])[0] / 2, result.standard_error[1])
    named = ImportanceDisplay.from_estimator(forest, "feature_importances_")
    assert named.ax_.get_xlabel() == "feature importances"
    with pytest.raises(ValueError, match="must have 3 entries"):
        ImportanceDisplay.from_estimator(forest, [1.0, 2.0])
    with pytest.raises(ValueError, match="max_bars must be an integer of at least 1; got 0"):
        ImportanceDisplay.from_estimator(forest, max_bars=0)
    plt.close("all")


def test_models_without_rows_out_of_bag():
    """Impurity importances instead, also of scikit-learn's models; others have none."""
    X = np.random.default_rng(0).random((60, 4))
    y = X[:, 1]
    for model in (
        RandomForestRegressor(5, bootstrap=False, random_state=0),
        GradientBoostingRegressor(n_estimators=5),
        DecisionTreeRegressor(max_depth=2),
    ):
        display = ImportanceDisplay.from_estimator(model.fit(X, y), max_bars=3)
        widths = [bar.get_width() for bar in display.bars_]
        np.testing.assert_array_equal(widths, np.sort(model.feature_importances_)[:0:-1])
        assert display.ax_.get_title() == "Importance of the features, 3 of 4"
    with pytest.raises(TypeError, match="LinearRegression has no importances"):
        ImportanceDisplay.from_estimator(LinearRegression().fit(X, y))
    plt.close("all")


def test_numbers_do_not_cover_the_names():
    """The names are on the left of zero, where the bars of negative importances are."""
    forest = RandomForestRegressor(3, random_state=0).fit(np.eye(3), [0.0, 1.0, 2.0])
    display = ImportanceDisplay.from_estimator(forest, [2.0, -0.3, -0.5], names=["x", "y", "z"])
    display.figure_.canvas.draw()
    zero = display.ax_.transData.transform((0.0, 0.0))[0]
    numbers = [text for text in display.ax_.texts if text.get_text()]
    assert [text.get_text()[-4:] for text in numbers] == ["2.00", "0.30", "0.50"]
    assert all(text.get_window_extent().x0 > zero for text in numbers)
    plt.close(display.figure_)
