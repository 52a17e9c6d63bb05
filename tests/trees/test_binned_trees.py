"""Trees over binned columns."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory._compat import TREES_TRY_BOTH_SIDES
from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled, uses_numba
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor
from sklearn_ensemble_theory.trees._columns import BinnedColumns
from sklearn_ensemble_theory.trees._growth import grow_tree
from sklearn_ensemble_theory.trees._options import GrowthOptions


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
    arrays = grow_tree(BinnedColumns.of(X, 255, wide=True), y, weight, None, options)
    tree = arrays.sklearn_tree(X.shape[1], max(n_classes, 1))
    X32 = X.astype(np.float32)
    leaf, leaf_exact = tree.apply(X32), exact.tree_.apply(X32)
    total = weight @ arrays.impurity[leaf]
    assert total == pytest.approx(weight @ exact.tree_.impurity[leaf_exact], rel=1e-6, abs=1e-6)
    if limits:
        np.testing.assert_allclose(tree.predict(X32), exact.tree_.predict(X32), rtol=1e-9)
    assert arrays.depth == tree.max_depth


def many_values(n=3000, p=6, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32)
    signal = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("limits", [{}, {"max_features": 2}, {"max_leaf_nodes": 30}])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_a_bin_for_each_of_thousands_of_values(n_classes, limits, missing, route):
    """The rows are parted as by scikit-learn's exact tree."""
    if missing and not TREES_TRY_BOTH_SIDES:
        pytest.skip("this scikit-learn does not try all splits of missing values")
    X, signal = many_values(missing=missing)
    y = np.digitize(signal, [0, 1, 2][: n_classes - 1]) if n_classes else signal
    binned, exact = (
        (BinnedTreeClassifier, DecisionTreeClassifier)
        if n_classes
        else (BinnedTreeRegressor, DecisionTreeRegressor)
    )
    # Rounding decides between equally good cuts, which small nodes of classes have often.
    depth = 6 if n_classes else None
    params = {"min_samples_leaf": 5, "max_depth": depth, "random_state": 4, **limits}
    ours = binned(max_bins=4095, **params).fit(X, y)
    theirs = exact(**params).fit(X, y)
    assert ours.tree_.node_count == theirs.tree_.node_count > 30
    assert np.mean(ours.apply(X) == theirs.apply(X)) > 0.99


CRITERIA = [("squared_error", 0), ("poisson", 0), ("gini", 2), ("gini", 5), ("log_loss", 3)]


@pytest.mark.skipif(not uses_numba(), reason="one route only")
@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("max_bins", [255, 700, 5000])
def test_the_two_routes_grow_the_same_tree(criterion, n_classes, weights, max_bins):
    """Nodes of few and of many rows, for the number of bins, missing values, features drawn."""
    missing = 0.1 if TREES_TRY_BOTH_SIDES else 0.0
    X, signal = many_values(missing=missing, seed=1)
    y = np.digitize(signal, [-1, 0, 1, 2][-n_classes + 1 :]) if n_classes else np.exp(signal)
    rng = np.random.default_rng(2)
    weight = {"none": None, "whole": rng.integers(1, 4, len(y)) * 1.0, "real": rng.random(len(y))}
    columns = BinnedColumns.of(X, max_bins, weight[weights], wide=True)
    rows = np.flatnonzero(rng.random(len(y)) < 0.8)
    some = None if weights == "none" else weight[weights][rows]
    limits = {"min_samples_leaf": 6, "max_features": 3, "seed": 7}
    if criterion != "squared_error":
        # Below, rounding decides between equally good cuts.
        limits["max_depth"] = 4
    options = GrowthOptions(criterion=criterion, n_classes=n_classes, **limits)
    compiled = grow_tree(columns, y[rows], some, rows, options)
    with numba_disabled():
        other = grow_tree(columns, y[rows], some, rows, options)
    assert (compiled.code > 255).any() == (max_bins > 255)
    for name in ("left", "right", "feature", "code", "missing_left", "n_rows"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(other, name), err_msg=name)
    for name in ("threshold", "value", "impurity", "weight"):
        a, b = getattr(compiled, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-9, err_msg=name)
