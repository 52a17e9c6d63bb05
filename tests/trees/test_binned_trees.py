"""Trees over binned columns."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory._compat import TREES_TRY_BOTH_SIDES
from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled
from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._binned.growth import grow_tree
from sklearn_ensemble_theory.trees._binned.growth_options import GrowthOptions


@pytest.fixture(params=["numba", "no numba"])
def route(request):
    if request.param == "numba":
        yield
    else:
        with numba_disabled():
            yield


def few_values(n=300, p=4, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, p)) / 3.0
    signal = X[:, 0] + np.sin(X[:, 1]) + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal


CASES = [("squared_error", 0), ("poisson", 0), ("gini", 3), ("log_loss", 3), ("gini", 2)]


@pytest.mark.parametrize(("criterion", "n_classes"), CASES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("limits", [{"max_depth": 3}, {"max_leaf_nodes": 9}, {}])
def test_the_tree_of_the_codes_is_the_tree_of_the_values(
    criterion, n_classes, missing, limits, route
):
    if missing and not TREES_TRY_BOTH_SIDES:
        pytest.skip("this scikit-learn does not try all splits of missing values")
    X, signal = few_values(missing=missing)
    y = np.digitize(signal, [5, 9][: n_classes - 1]) if n_classes else np.exp(signal / 5)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    exact = kind(criterion=criterion, random_state=0, **limits).fit(X, y, weight)
    options = GrowthOptions(criterion=criterion, n_classes=n_classes, **limits)
    arrays = grow_tree(BinnedColumns.of(X, 255), y, weight, None, options)
    tree = arrays.sklearn_tree(X.shape[1], max(n_classes, 1))
    X32 = X.astype(np.float32)
    leaf, leaf_exact = tree.apply(X32), exact.tree_.apply(X32)
    total = weight @ arrays.impurity[leaf]
    assert total == pytest.approx(weight @ exact.tree_.impurity[leaf_exact], rel=1e-6, abs=1e-6)
    if limits:
        np.testing.assert_allclose(tree.predict(X32), exact.tree_.predict(X32), rtol=1e-9)
    assert arrays.depth == tree.max_depth
