"""Honest trees against trees that are grown and pruned by hand."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.averaging._honesty import drawn_for_leaves
from sklearn_ensemble_theory.inspection import (
    compact,
    training_weights,
    unbiased_feature_importances,
)

from ..estimators import TREES_TRY_BOTH_SIDES
from ..surroundings import prepare_members
from ..trees.engine import member_nodes
from .test_forest_weights import indicators, outside_of


def value_by_hand(nodes, i, x, X, targets, weights):
    """The mean of the rows (X, targets) in the leaf of x, below node i; sides without rows go."""
    if nodes.left[i] < 0:
        return weights @ targets / weights.sum()
    j = nodes.feature[i]

    def goes_left(rows):
        is_below = rows[:, j] <= nodes.threshold[i]
        return np.where(np.isnan(rows[:, j]), nodes.missing_left[i] > 0, is_below)

    left, x_left = goes_left(X), goes_left(x[None])[0]
    if not left.any() or left.all():
        x_left = left.any()
    inside = left if x_left else ~left
    child = nodes.left[i] if x_left else nodes.right[i]
    return value_by_hand(nodes, child, x, X[inside], targets[inside], weights[inside])


def predictions_by_hand(forest, X, targets, new):
    """Grow each tree on one part of its rows again, and predict by the other part."""
    X32, new32 = X.astype(np.float32), new.astype(np.float32)
    is_sparse = sp.issparse(forest.ensemble_.rows.X)
    grown_on = sp.csr_array(X32) if is_sparse else X32
    prepared = None if is_sparse else prepare_members(forest.estimator_, X, None)
    y, spec, total = forest.ensemble_.rows.y, forest.ensemble_.draws, 0.0
    for seed in forest.ensemble_.seeds:
        (rows, weights), (others, other_weights) = spec.draw_parts(seed)
        tree = clone(forest.estimator_).set_params(random_state=seed)
        weights = spec.fit_weights(weights, y[rows])
        if prepared is None:
            tree.fit(grown_on[rows], y[rows], sample_weight=weights)
        else:
            tree = prepared.fit(tree, rows, y[rows], weights, None)
        (nodes,) = member_nodes([tree], of_any_output=True)
        given = X32[others], targets[others], spec.fit_weights(other_weights, y[others])
        total = total + np.array([value_by_hand(nodes, 0, x, *given) for x in new32])
    return total / len(forest)


HONEST = {
    "exact": RandomForestRegressor(6, honesty=True, random_state=0),
    "share": RandomForestRegressor(6, honesty=0.2, max_features=0.5, random_state=0),
    "binned": RandomForestRegressor(6, honesty=0.4, max_bins=20, random_state=0),
    "subsample": RandomForestRegressor(
        6, honesty=True, bootstrap=False, max_samples=0.6, min_samples_leaf=2, random_state=0
    ),
    "disjoint": RandomForestRegressor(6, honesty=True, bootstrap="disjoint", random_state=0),
    "bayesian": RandomForestRegressor(6, honesty=0.7, bootstrap="bayesian", random_state=0),
    "extra": ExtraTreesRegressor(6, honesty=True, random_state=0),
    "pruned": RandomForestRegressor(6, honesty=True, ccp_alpha=0.1, max_bins=20, random_state=0),
}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("has_missing", [False, True])
def test_leaves_have_the_means_of_the_other_rows(regression, name, has_missing):
    X, y = regression
    new, forest = make_friedman1(25, random_state=1)[0], HONEST[name]
    if has_missing:
        if not TREES_TRY_BOTH_SIDES or name == "extra":
            pytest.skip("not with this scikit-learn")
        X, new = X.copy(), new.copy()
        X[::4, 3], new[::5, :4] = np.nan, np.nan
    forest.fit(X, y)
    found = forest.predict(new)
    weights = training_weights(forest, new)
    quantile = forest.predict_quantiles(new, 0.7)
    expected = predictions_by_hand(forest, X, y, new)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(weights @ y, found, rtol=1e-10)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert (
        forest.predict_distribution(new).cdf(quantile)[np.arange(25), np.arange(25)] >= 0.7 - 1e-12
    ).all()


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(6, honesty=True, random_state=0),
        RandomForestClassifier(6, honesty=0.3, max_bins=16, random_state=0),
        RandomForestClassifier(
            6, honesty=True, class_weight="balanced_subsample", max_depth=4, random_state=0
        ),
        ExtraTreesClassifier(6, honesty=0.3, random_state=0),
    ],
)
def test_shares_of_classes_are_those_of_the_other_rows(classification, forest):
    X, y = classification
    y = np.where(np.arange(len(y)) < 4, 7, y)  # a class that most parts of the rows lack
    proba = forest.fit(X, y).predict_proba(X[:30])
    targets = indicators(y, forest.classes_)
    np.testing.assert_allclose(proba, predictions_by_hand(forest, X, targets, X[:30]), atol=1e-12)
    np.testing.assert_allclose(training_weights(forest, X[:30]) @ targets, proba, atol=1e-12)
    votes = clone(forest).set_params(voting="hard").fit(X, y).predict_proba(X[:30])
    labels = np.stack([t.classes_.take(t.predict_proba(X[:30]).argmax(1)) for t in forest])
    np.testing.assert_allclose(votes, np.mean(labels[..., None] == np.arange(4), axis=0))


@pytest.mark.parametrize("bins", [None, 16])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "gini", "entropy"])
def test_nodes_are_those_of_the_rows_in_the_leaves(regression, criterion, bins):
    X, y = regression
    classes = criterion in ("gini", "entropy")
    kind = RandomForestClassifier if classes else RandomForestRegressor
    forest = kind(8, honesty=True, criterion=criterion, max_bins=bins, random_state=0)
    y = np.digitize(y, [12.0, 16.0]) if classes else y + 1e3 * (criterion == "squared_error")
    forest.fit(X, y)
    for member, seed in zip(forest, forest.ensemble_.seeds):
        rows, weights = forest.ensemble_.draws.draw_parts(seed)[1]
        tree = member.tree_
        inside = member.decision_path(X[rows].astype(np.float32)).toarray().astype(bool)
        assert inside.any(axis=0).all()  # no node is without rows
        inner = tree.children_left >= 0
        assert tree.max_depth == inside.sum(axis=1).max() - 1 == member.get_depth()
        assert (tree.n_node_samples[inner] > tree.n_node_samples[tree.children_left[inner]]).all()
        np.testing.assert_array_equal(tree.n_node_samples, inside.sum(axis=0))
        np.testing.assert_allclose(tree.weighted_n_node_samples, weights @ inside)
        for i in range(tree.node_count):
            w, part = weights[inside[:, i]], y[rows][inside[:, i]]
            if classes:
                shares = np.array([w @ (part == label) for label in range(3)]) / w.sum()
                known = shares[shares > 0]
                gini, entropy = 1 - shares @ shares, -known @ np.log2(known)
                expected = gini if criterion == "gini" else entropy
            else:
                mean = w @ part / w.sum()
                np.testing.assert_allclose(tree.value[i].ravel(), mean, rtol=1e-12)
                expected = w @ (part - mean) ** 2 / w.sum()
                if criterion == "poisson":
                    expected = w @ (part * np.log(part / mean)) / w.sum()
            np.testing.assert_allclose(tree.impurity[i], expected, atol=1e-8)


def test_several_outputs_sparse_rows_and_categories(regression):
    X, y = regression
    Y = np.column_stack([y, X[:, 0]])
    forest = RandomForestRegressor(6, honesty=True, random_state=0).fit(sp.csr_array(X), Y)
    found = forest.predict(sp.csr_array(X[:9]))
    np.testing.assert_allclose(found, predictions_by_hand(forest, X, Y, X[:9]), rtol=1e-10)
    np.testing.assert_allclose(training_weights(forest, sp.csr_array(X[:9])) @ Y, found, rtol=1e-9)
    labels = np.column_stack([y > 14, np.arange(120) % 3])
    classes = RandomForestClassifier(6, honesty=True, random_state=0).fit(X, labels)
    weights = training_weights(classes, X[:9])
    for k, proba in enumerate(classes.predict_proba(X[:9])):
        targets = indicators(labels[:, k], classes.classes_[k])
        np.testing.assert_allclose(weights @ targets, proba, atol=1e-12)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["c"] = pd.Categorical(np.array(list("uvwxyz"))[np.arange(120) % 6])
    y = y + np.arange(120) % 6
    forest = RandomForestRegressor(6, honesty=True, random_state=0).fit(frame, y)
    assert any(member_nodes([tree])[0].sets is not None for tree in forest)
    np.testing.assert_allclose(training_weights(forest, frame) @ y, forest.predict(frame))


def test_rows_out_of_bag_are_in_neither_part(regression):
    X, y = regression
    forest = RandomForestRegressor(40, honesty=True, oob_score=True, random_state=0).fit(X, y)
    for seed, drawn in zip(forest.ensemble_.seeds, forest.estimators_samples_):
        parts = [rows for rows, _ in forest.ensemble_.draws.draw_parts(seed)]
        assert not np.intersect1d(*parts).size
        np.testing.assert_array_equal(np.union1d(*parts), np.unique(drawn))
        assert abs(len(parts[0]) - len(parts[1])) <= 1
    outside = outside_of(forest, len(y))
    each = np.column_stack([tree.predict(X) for tree in forest])
    expected = np.where(outside, each, 0).sum(axis=1) / outside.sum(axis=1)
    np.testing.assert_allclose(forest.oob_prediction_, expected, rtol=1e-12)
    np.testing.assert_allclose(training_weights(forest) @ y, expected, rtol=1e-10)


def test_splits_do_not_depend_on_the_targets_in_the_leaves(regression):
    X, y = regression
    forest = RandomForestRegressor(1, honesty=True, random_state=0).fit(X, y)
    in_leaves = forest.ensemble_.draws.draw_parts(forest.ensemble_.seeds[0])[1][0]
    other = y.copy()
    other[in_leaves] = np.random.default_rng(0).standard_normal(len(in_leaves))
    again = clone(forest).fit(X, other)
    np.testing.assert_array_equal(again.apply(X), forest.apply(X))
    assert np.abs(again.predict(X) - forest.predict(X)).min() > 0


def test_groups_and_copies_are_on_one_side(regression):
    X, y = regression
    groups = np.arange(120) // 5
    forest = RandomForestRegressor(5, honesty=True, random_state=0).fit(X, y, groups=groups)
    for seed in forest.ensemble_.seeds:
        grows, in_leaves = (groups[rows] for rows, _ in forest.ensemble_.draws.draw_parts(seed))
        assert not np.intersect1d(grows, in_leaves).size
    np.testing.assert_allclose(training_weights(forest, X) @ y, forest.predict(X), rtol=1e-10)


def test_shares_of_the_rows():
    rng = np.random.RandomState(0)
    for n, share, expected in [
        (10, 0.5, 5),
        (10, 0.01, 1),
        (10, 0.99, 9),
        (2, 0.5, 1),
        (1, 0.5, 1),
    ]:
        assert drawn_for_leaves(np.arange(n) * 3, None, share, rng).sum() == expected
    counts = sum(drawn_for_leaves(np.arange(6), None, 0.5, rng) for _ in range(2000))
    np.testing.assert_allclose(counts / 2000, 0.5, atol=0.04)


def test_one_row_far_targets_and_large_ones(regression):
    X, y = regression
    forest = RandomForestRegressor(5, honesty=True, max_samples=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(training_weights(forest, X) @ y, forest.predict(X))
    for targets in (y + 1e9, y * 1e300, y * 1e-300, np.zeros(120)):
        for bins in (None, 30):
            forest = RandomForestRegressor(5, honesty=True, max_bins=bins, random_state=0)
            found = forest.fit(X, targets).predict(X)
            expected = training_weights(forest, X) @ targets
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_compact_pickled_and_converted_forests(regression):
    X, y = regression
    for bins in (None, 30):
        forest = RandomForestRegressor(5, honesty=True, max_bins=bins, random_state=0).fit(X, y)
        expected, importances = forest.predict(X), forest.feature_importances_
        for other in (export.sklearn(forest), compact(forest), pickle.loads(pickle.dumps(forest))):
            np.testing.assert_allclose(other.predict(X), expected, rtol=1e-14)
            np.testing.assert_allclose(other.feature_importances_, importances, rtol=1e-12)
        assert unbiased_feature_importances(forest).shape == (10,)
    forest = RandomForestRegressor(5, honesty=True, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=9).fit(X, y)
    whole = RandomForestRegressor(9, honesty=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), whole.predict(X))


def test_errors(regression):
    X, y = regression
    for parameters, message in [
        ({"criterion": "absolute_error"}, "honesty requires leaves that predict means"),
        ({"monotonic_cst": [1] + 9 * [0]}, "honesty requires monotonic_cst=None"),
        ({"bootstrap": "moving_block"}, "honesty requires independent rows"),
        ({"honesty": 1.0}, "The 'honesty' parameter of RandomForestRegressor must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            RandomForestRegressor(3, **{"honesty": True, **parameters}).fit(X, y)
    forest = RandomForestRegressor(3, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="must be the same as in the previous fit"):
        forest.set_params(n_estimators=5, honesty=True).fit(X, y)


@pytest.mark.slow
def test_intervals_cover_the_conditional_mean():
    """At n = 5,000; with half of the rows in a tree the bias is small beside the standard error."""
    points = np.random.default_rng(0).uniform(size=(100, 4))
    true, covered = points[:, 0] + points[:, 1], []
    for seed in range(3):
        rng = np.random.default_rng([1, seed])
        X = rng.uniform(size=(5000, 4))
        y = X[:, 0] + X[:, 1] + rng.standard_normal(5000)
        forest = RandomForestRegressor(
            600, honesty=True, bootstrap=False, max_samples=0.5, random_state=seed
        ).fit(X, y)
        with warnings.catch_warnings():
            # Single standard errors are noisy, and right on average.
            warnings.simplefilter("ignore", StandardErrorWarning)
            error = forest.standard_error(points)
        covered.append(np.mean(np.abs(forest.predict(points) - true) <= 1.96 * error))
    assert 0.9 <= np.mean(covered) <= 0.99, covered
