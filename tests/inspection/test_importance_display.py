"""The display of importances draws what the model returns."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import ImportanceDisplay


def test_bars_are_the_importances():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((80, 3)), columns=["a", "b", "c"])
    forest = RandomForestRegressor(20, random_state=0).fit(X, X["b"] + 0.3 * X["c"])
    display = ImportanceDisplay.from_estimator(forest)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, np.sort(forest.unbiased_feature_importances_)[::-1])
    result = forest.oob_permutation_importances(random_state=0)
    _, ax = plt.subplots()
    display = ImportanceDisplay.from_estimator(
        forest, result, feature_names=["x", "y", "z"], max_features=2, ax=ax
    )
    assert display.ax_ is ax
    assert len(display.bars_) == 2
    segment = display.bars_.errorbar.lines[2][0].get_segments()[0]
    np.testing.assert_allclose(np.diff(segment[:, 0])[0] / 2, result.standard_error[1])
    named = ImportanceDisplay.from_estimator(forest, "feature_importances_")
    assert named.ax_.get_xlabel() == "feature importances"
    with pytest.raises(ValueError, match="must have 3 entries"):
        ImportanceDisplay.from_estimator(forest, [1.0, 2.0])
    plt.close("all")
