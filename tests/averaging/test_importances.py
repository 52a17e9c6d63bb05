"""Importances by out-of-bag rows, against their definitions and for irrelevant features."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.ensembles._out_of_bag_importances import node_means, unbiased_gains
from sklearn_ensemble_theory.inspection import (
    forget_training_rows,
    oob_permutation_importances,
    unbiased_feature_importances,
)

from ..trees.engine import member_nodes


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_gains_of_the_fitted_rows_are_the_mean_decreases_of_impurity(kind, request):
    X, y = request.getfixturevalue(kind)
    weight = np.random.default_rng(0).random(len(y))
    if kind == "regression":
        tree, targets = DecisionTreeRegressor(max_depth=6, random_state=0), (y - y.mean())[:, None]
    else:
        tree, targets = DecisionTreeClassifier(max_depth=6, random_state=0), np.eye(3)[y]
    tree.fit(X, y, sample_weight=weight)
    (nodes,) = member_nodes([tree])
    rows = node_means(nodes, tree.apply(X), weight, targets)
    np.testing.assert_allclose(rows[0], tree.tree_.weighted_n_node_samples)
    gains = unbiased_gains(nodes, rows, rows, X.shape[1])
    expected = tree.tree_.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(gains, expected, rtol=1e-9, atol=1e-12)


def term(passed, targets, drawn, outside):
    """Weight times the products of the means of a node's own and other rows."""
    own, other = drawn[passed[drawn]], outside[passed[outside]]
    if not len(other):
        return None
    return len(own) * (targets[own].mean(axis=0) @ targets[other].mean(axis=0))


def gains_by_definition(model, X, y, targets):
    """Sums over all trees and nodes, by loops."""
    total = np.zeros(X.shape[1])
    for tree, drawn, columns in zip(
        model.estimators_, model.estimators_samples_, model.estimators_features_
    ):
        outside = np.setdiff1d(np.arange(len(y)), drawn)
        passed = tree.decision_path(X[:, columns].astype(np.float32)).toarray().astype(bool)
        nodes = tree.tree_
        rows = targets, drawn, outside
        for node in np.flatnonzero(nodes.children_left >= 0):
            left = term(passed[:, nodes.children_left[node]], *rows)
            right = term(passed[:, nodes.children_right[node]], *rows)
            if left is not None and right is not None:
                gain = left + right - term(passed[:, node], *rows)
                total[columns[nodes.feature[node]]] += gain / len(drawn) / len(model)
    return total


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(8, random_state=0),
        RandomForestRegressor(8, max_bins=30, min_samples_leaf=5, random_state=0),
        BaggingRegressor(n_estimators=8, max_features=4, random_state=0),
        BaggingRegressor(n_estimators=8, bootstrap=False, max_samples=0.5, random_state=0),
    ],
)
def test_unbiased_importances_are_those_of_the_definition(regression, model):
    X, y = regression
    expected = gains_by_definition(model.fit(X, y), X, y, (y - y.mean())[:, None])
    found = unbiased_feature_importances(model)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    scaled = unbiased_feature_importances(model.fit(X, y * 2.0**400))
    np.testing.assert_allclose(scaled / 2.0**800, found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", [RandomForestClassifier, BaggingClassifier])
def test_unbiased_importances_of_classifiers(classification, cls):
    X, y = classification
    model = cls(n_estimators=8, random_state=0).fit(X, y)
    expected = gains_by_definition(model, X, y, np.eye(3)[y])
    np.testing.assert_allclose(unbiased_feature_importances(model), expected, atol=1e-12)


def irrelevant_features(rng, n=100):
    """A relevant feature, then irrelevant ones of 2, 10 and n values."""
    X = np.column_stack(
        [rng.random(n), rng.integers(0, 2, n), rng.integers(0, 10, n), rng.standard_normal(n)]
    )
    return X, X[:, 0] + 0.5 * rng.standard_normal(n)


@pytest.mark.slow
def test_irrelevant_features_have_importances_of_mean_zero_whatever_their_number_of_values():
    rng = np.random.default_rng(0)
    biased, unbiased, permuted, errors = [], [], [], []
    for r in range(40):
        X, y = irrelevant_features(rng)
        forest = RandomForestRegressor(25, max_features=2, random_state=r).fit(X, y)
        biased.append(forest.feature_importances_)
        unbiased.append(unbiased_feature_importances(forest))
        result = oob_permutation_importances(forest, random_state=r)
        permuted.append(result.importances_mean)
        errors.append(result.standard_error)
    for found in (unbiased, permuted):
        mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(40)
        assert (np.abs(mean[1:]) < 3 * error[1:]).all()
        assert mean[0] > 10 * error[0]
    biased = np.mean(biased, axis=0)
    assert biased[3] > 3 * biased[1] > 0
    # The standard error measures how much importances vary over data sets: within a factor.
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.std(permuted, axis=0, ddof=1)
    assert ((ratio > 0.5) & (ratio < 2)).all()


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_permutation_importances_against_all_exchanges(kind, request):
    """The mean over all permutations: each row has the value of each other one equally often."""
    X, y = request.getfixturevalue(kind)
    X, y = X[:60].astype(np.float32), y[:60]
    cls = RandomForestRegressor if kind == "regression" else RandomForestClassifier
    model = cls(6, max_depth=3, random_state=0).fit(X, y)
    increase, counts = np.zeros((X.shape[1], 60)), np.zeros(60)

    def loss(found, true):
        return (found - true) ** 2 if kind == "regression" else (found != true).astype(float)

    for tree, drawn in zip(model.estimators_, model.estimators_samples_):
        rows = np.setdiff1d(np.arange(60), drawn)
        counts[rows] += 1
        before = loss(tree.predict(X[rows]), y[rows])
        for j in range(X.shape[1]):
            for other in rows:
                changed = X[rows].copy()
                changed[:, j] = X[other, j]
                increase[j, rows] += (loss(tree.predict(changed), y[rows]) - before) / len(rows)
    means = (increase / np.maximum(counts, 1))[:, counts > 0]
    result = oob_permutation_importances(model, n_repeats=150, random_state=0)
    size = np.abs(means.mean(axis=1)).max()
    np.testing.assert_allclose(result.importances_mean, means.mean(axis=1), atol=0.06 * size)
    expected = means.std(axis=1, ddof=1) / np.sqrt(means.shape[1])
    np.testing.assert_allclose(result.standard_error, expected, rtol=0.1, atol=0.03 * size)
    again = oob_permutation_importances(model.set_params(n_jobs=2), 150, random_state=0)
    np.testing.assert_array_equal(again.importances_mean, result.importances_mean)


def test_features_are_selected_by_either_importance():
    X, y = irrelevant_features(np.random.default_rng(0), 300)
    forest = RandomForestRegressor(30, max_features=2, random_state=0)
    for getter in (
        unbiased_feature_importances,
        lambda model: oob_permutation_importances(model, random_state=0).importances_mean,
    ):
        selected = SelectFromModel(forest, importance_getter=getter).fit(X, y).get_support()
        np.testing.assert_array_equal(selected, [True, False, False, False])


def test_rows_of_weight_zero_are_left_out(regression):
    X, y = regression
    weight = np.ones(len(y))
    weight[:30] = 0
    wrong = y.copy()
    wrong[:30] = 1e6
    models = [RandomForestRegressor(10, random_state=0) for _ in range(2)]
    found = [m.fit(X, t, sample_weight=weight) for m, t in zip(models, (y, wrong))]
    for result in zip(*(oob_permutation_importances(m, random_state=0).values() for m in found)):
        np.testing.assert_allclose(*result)
    np.testing.assert_allclose(*(unbiased_feature_importances(m) for m in found), rtol=1e-6)


def test_errors_name_the_reason(regression):
    X, y = regression
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    for wrong in (0, 1.5, "a", True):
        with pytest.raises(ValueError, match="n_repeats must be"):
            oob_permutation_importances(forest, wrong)
    linear = BaggingRegressor(LinearRegression()).fit(X, y)
    for importances in (oob_permutation_importances, unbiased_feature_importances):
        with pytest.raises(ValueError, match="members that are trees, got LinearRegression"):
            importances(linear)
    with pytest.raises(ValueError, match="requires a dense X"):
        oob_permutation_importances(RandomForestRegressor(5).fit(sp.csr_array(X), y))
    with pytest.raises(ValueError, match="require rows that are not drawn for every member"):
        oob_permutation_importances(RandomForestRegressor(5, bootstrap=False).fit(X, y))
    with pytest.raises(ValueError, match="which were removed"):
        unbiased_feature_importances(forget_training_rows(forest))
