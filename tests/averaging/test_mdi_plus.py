"""MDI+: ridge regression on a tree's splits and the features, each row left out."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.ensembles._mdi_plus import partial_gains
from sklearn_ensemble_theory.inspection import (
    ImportanceDisplay,
    compact,
    forget_training_rows,
    mdi_plus_importances,
    shrink,
    unbiased_feature_importances,
)
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..trees.engine import member_nodes

PENALTIES = [3.0, 30.0, 300.0]


def data(n=60, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(float)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, np.digitize(y, [-0.5, 0.5]) if classes else y


def targets_of(tree, y):
    return np.eye(3)[y] if hasattr(tree, "classes_") else y[:, None]


def splits_of(tree, X, weight):
    """The features psi of the theory, and the columns that they split on."""
    links = tree.tree_
    inner = np.flatnonzero(links.children_left >= 0)
    passed = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    left, right = passed[:, links.children_left[inner]], passed[:, links.children_right[inner]]
    n_left, n_right = weight @ left, weight @ right
    both = (n_left > 0) & (n_right > 0)
    left, right, inner = left[:, both], right[:, both], inner[both]
    n_left, n_right = n_left[both], n_right[both]
    psi = (n_right * left - n_left * right) / np.sqrt(n_left * n_right)
    return psi, links.feature[inner]


def gains_by_refits(tree, X, y, fitted, weight, reg_param):
    """One regression for each row that is left out."""
    psi, of = splits_of(tree, X, fitted)
    mean = np.average(X, axis=0, weights=fitted)
    Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=fitted))
    Y, p = targets_of(tree, y), X.shape[1]
    design = np.hstack([np.ones((len(X), 1)), psi, Z])
    part = np.concatenate([[-1], of, np.arange(p)])
    penalty = np.diag(np.where(part >= 0, reg_param, 0.0))
    errors = np.zeros((p + 1, *Y.shape))
    whole = np.zeros(Y.shape)
    for i in range(len(X)):
        w = fitted.copy()
        w[i] = 0.0
        gram = design.T @ (w[:, None] * design) + penalty
        coef = np.linalg.solve(gram, design.T @ (w[:, None] * Y))
        whole[i] = Y[i] - design[i] @ coef
        for k in range(p):
            used = (part == -1) | (part == k)
            errors[k, i] = Y[i] - design[i, used] @ coef[used]
        errors[p, i] = Y[i] - coef[0]
    squares = np.einsum("i,kij->k", weight, errors**2)
    return 1 - squares[:p] / squares[p], np.einsum("i,ij->", weight, whole**2)


@pytest.mark.parametrize("classes", [0, 3])
def test_gains_are_those_of_a_regression_without_each_row(classes):
    X, y = data(classes=classes)
    rng = np.random.default_rng(1)
    # Rows of weight 0 in the fit are out-of-bag rows.
    fitted = rng.integers(0, 3, len(y)) * rng.uniform(0.5, 2.0, len(y))
    weight = rng.uniform(0.5, 2.0, len(y))
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    tree = kind(max_depth=4, random_state=0).fit(X, y, sample_weight=fitted)
    (nodes,) = member_nodes([tree])
    args = nodes, tree.apply(X), fitted, targets_of(tree, y), X, weight
    losses = []
    for reg_param in (0.3, 5.0, 80.0):
        expected, loss = gains_by_refits(tree, X, y, fitted, weight, reg_param)
        found, chosen = partial_gains(*args, np.array([reg_param]))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
        assert chosen == reg_param
        losses.append(loss)
    chosen = partial_gains(*args, np.array([0.3, 5.0, 80.0]))[1]
    assert chosen == (0.3, 5.0, 80.0)[np.argmin(losses)]


@pytest.mark.parametrize("seed", range(3))
def test_splits_with_rows_on_one_side_are_passed(seed):
    """As in honest trees, which send all rows to the side that has some."""
    X, y = data(seed=seed)
    tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
    links, leaf = tree.tree_, tree.apply(X)
    # No rows right of the root, and none on the left of the second split below it.
    fitted = np.where(X[:, links.feature[0]] <= links.threshold[0], 1.0, 0.0)
    second = links.children_right[links.children_left[0]]
    path = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    fitted[path[:, links.children_left[second]]] = 0.0
    rows = np.flatnonzero(fitted)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(rows))
    (nodes,) = member_nodes([tree])
    expected, _ = gains_by_refits(tree, X[rows], y[rows], fitted[rows], weight, 2.0)
    Y = y[rows][:, None]
    args = nodes, leaf[rows], fitted[rows], Y, X[rows], weight, np.array([2.0])
    np.testing.assert_allclose(partial_gains(*args)[0], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("classes", [0, 3])
def test_without_penalty_columns_and_left_out_rows_it_is_the_decrease_of_impurity(classes):
    """The mean decrease of impurity is the R² of least squares on the splits."""
    X, y = data(classes=classes)
    fitted = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    tree = kind(max_depth=4, random_state=0).fit(X, y, sample_weight=fitted)
    (nodes,) = member_nodes([tree])
    # Each row twice: one of them is fitted, the errors are of the other.
    leaf, Y = np.tile(tree.apply(X), 2), np.tile(targets_of(tree, y), (2, 1))
    nothing = np.zeros(len(y))
    gains, _ = partial_gains(
        nodes,
        leaf,
        np.append(fitted, nothing),
        Y,
        np.zeros((len(Y), 4)),
        np.append(nothing, fitted),
        np.array([1e-9]),
    )
    decrease = tree.tree_.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(gains, decrease / tree.tree_.impurity[0], atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(6, min_samples_leaf=3, random_state=0),
        RandomForestRegressor(6, max_bins=32, random_state=0),
        RandomForestRegressor(6, max_bins=32, honesty=True, random_state=0),
        ExtraTreesRegressor(6, min_samples_leaf=2, random_state=0),
        BaggingRegressor(n_estimators=6, max_features=3, bootstrap_features=True, random_state=0),
    ],
)
def test_importances_are_means_over_the_trees(model):
    X, y = data()
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    model.fit(X, np.where(weight > 0, y, 1e6), sample_weight=weight)
    result = mdi_plus_importances(model, reg_params=[2.0])
    expected = np.zeros(4)
    rows = np.flatnonzero(weight)
    for tree, seed in zip(model, model.ensemble_.seeds):
        columns, drawn, times = model.ensemble_.draws.draw(seed)
        fitted = np.zeros(len(y))
        fitted[drawn] = times
        (nodes,) = member_nodes([tree])
        own = X[rows][:, columns]
        leaf = tree.apply(own)
        Y = y[rows][:, None]
        gains, _ = partial_gains(nodes, leaf, fitted[rows], Y, own, weight[rows], np.array([2.0]))
        np.add.at(expected, columns, gains / len(model))
    np.testing.assert_allclose(result.importances_mean, expected, atol=1e-12)
    np.testing.assert_array_equal(result.reg_params, np.full(6, 2.0))


def test_irrelevant_features_are_about_0_and_unused_ones_are_0():
    found, decreases = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 6))
        X[:, 5] = 0.0
        y = X[:, 0] + 2.0 * rng.normal(size=150)
        forest = RandomForestRegressor(20, min_samples_leaf=5, max_features=2, random_state=seed)
        found.append(mdi_plus_importances(forest.fit(X, y), PENALTIES).importances_mean)
        decreases.append(forest.feature_importances_)
    found, decreases = np.mean(found, axis=0), np.mean(decreases, axis=0)
    assert found[5] == 0.0
    assert np.abs(found[1:5]).max() < 0.02 < 0.08 < found[0]
    assert decreases[1:5].min() > 0.1


def test_relevant_features_rank_first_where_noise_is_large():
    """Among correlated features, better than by impurities or out-of-bag rows."""
    areas = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        blocks = rng.normal(size=(150, 6))
        X = 0.7 * blocks[:, np.arange(30) % 6] + 0.7 * rng.normal(size=(150, 30))
        relevant = rng.choice(30, 6, replace=False)
        mean = X[:, relevant].sum(axis=1)
        y = mean + 3.0 * mean.std() * rng.normal(size=150)
        forest = RandomForestRegressor(20, min_samples_leaf=5, max_features=1 / 3, random_state=0)
        forest.fit(X, y)
        is_relevant = np.isin(np.arange(30), relevant)
        scores = (
            mdi_plus_importances(forest, PENALTIES).importances_mean,
            forest.feature_importances_,
            unbiased_feature_importances(forest),
        )
        areas.append([roc_auc_score(is_relevant, score) for score in scores])
    plus, decrease, unbiased = np.mean(areas, axis=0)
    assert plus > max(decrease, unbiased) + 0.03


def test_units_and_missing_values():
    X, y = data()
    forest = RandomForestRegressor(10, max_bins=64, random_state=0).fit(X, y)
    expected = mdi_plus_importances(forest).importances_mean
    for exponent in (-500, 500):
        forest.fit(X * 2.0**5, y * 2.0**exponent)
        found = mdi_plus_importances(forest).importances_mean
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.nan
    found = mdi_plus_importances(forest.fit(X, y)).importances_mean
    assert np.isfinite(found).all()
    assert found[3] == 0.0


def test_categories_have_their_splits_only():
    X, y = data(200)
    X[:, 0] = np.floor(3 * X[:, 0]) + 10
    codes = np.unique(X[:, 0], return_inverse=True)[1]
    y = y + np.array([3, -3, 2, -2, 4] * 10)[codes]
    forest = RandomForestRegressor(10, categorical_features=[0], random_state=0).fit(X, y)
    importances = mdi_plus_importances(forest).importances_mean
    # Other numbers of the categories, in the same order, say the same.
    X[:, 0] = X[:, 0] ** 3
    again = mdi_plus_importances(forest.fit(X, y)).importances_mean
    np.testing.assert_allclose(again, importances)
    assert np.argmax(importances) == 0


def test_classes_and_compact_trees():
    X, y = data(150, classes=3)
    forest = RandomForestClassifier(20, class_weight="balanced_subsample", random_state=0)
    importances = mdi_plus_importances(forest.fit(X, y)).importances_mean
    assert np.argmax(importances) == 0
    found = mdi_plus_importances(compact(forest)).importances_mean
    np.testing.assert_allclose(found, importances, atol=1e-12)
    # Shrinkage changes values, and MDI+ reads rows.
    forest = RandomForestRegressor(10, random_state=0).fit(*data())
    np.testing.assert_array_equal(
        mdi_plus_importances(shrink(forest, 3.0)).importances_mean,
        mdi_plus_importances(forest).importances_mean,
    )


def test_it_is_drawn_as_other_importances_are():
    pytest.importorskip("matplotlib")
    forest = RandomForestRegressor(5, random_state=0).fit(*data())
    importances = mdi_plus_importances(forest)
    display = ImportanceDisplay.from_estimator(forest, importances)
    np.testing.assert_array_equal(display.importances, importances.importances_mean)


def test_what_cannot_be_computed_is_named():
    X, y = data()
    forest = RandomForestRegressor(3, random_state=0)
    with pytest.raises(ValueError, match="not fitted"):
        mdi_plus_importances(forest)
    forest.fit(X, y)
    for wrong in ([0.0, 1.0], -1.0, [np.nan], []):
        with pytest.raises(ValueError, match="reg_params must"):
            mdi_plus_importances(forest, wrong)
    with pytest.raises(ValueError, match="mdi_plus_importances requires a single output"):
        mdi_plus_importances(RandomForestRegressor(3).fit(X, np.column_stack([y, y])))
    with pytest.raises(ValueError, match="mdi_plus_importances requires members that are trees"):
        mdi_plus_importances(BaggingRegressor(KNeighborsRegressor()).fit(X, y))
    with pytest.raises(ValueError, match="mdi_plus_importances requires the training rows"):
        mdi_plus_importances(forget_training_rows(forest))
    stump = BaggingRegressor(BinnedTreeRegressor(max_depth=1), 3).fit(X, np.ones(len(y)))
    np.testing.assert_array_equal(mdi_plus_importances(stump).importances_mean, np.zeros(4))
