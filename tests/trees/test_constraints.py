"""Interaction and monotonic constraints of trees and of what is made of them."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from sklearn_ensemble_theory import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..surroundings import Features
from .engine import (
    BinnedColumns,
    GrowthOptions,
    HistogramGrower,
    grow_tree,
    isotonic_regression,
    leaf_order,
    monotonic_after_growth,
    nodes_of,
)
from .reference_growth import ReferenceGrower

# --- interactions ---------------------------------------------------------------------------------


def paths(tree):
    """The set of features on the path to each leaf."""
    found, stack = set(), [(0, frozenset())]
    while stack:
        i, path = stack.pop()
        if tree.left[i] < 0:
            found.add(path)
        else:
            below = path | {int(tree.feature[i])}
            stack += [(tree.left[i], below), (tree.right[i], below)]
    return found


def random_groups(rng, p):
    kind = rng.integers(4)
    if kind < 2:
        return ["pairwise", "no_interactions"][kind]
    size = max(p // (kind - 1), 1)
    return [rng.choice(p, size, replace=False).tolist() for _ in range(3)]


def in_a_group(path, groups, p):
    if groups == "pairwise":
        return len(path) <= 2
    if groups == "no_interactions":
        return len(path) <= 1
    rest = set(range(p)) - set().union(*groups)
    return any(path <= set(group) for group in [*groups, rest])


@pytest.mark.parametrize("seed", range(24))
def test_trees_are_those_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 400)), 70 if seed % 10 == 0 else int(rng.integers(2, 8))
    X = rng.normal(size=(n, p)).round(2)
    if seed % 3 == 0:
        X[rng.random((n, p)) < 0.1] = np.nan
    flags = np.zeros(p, dtype=bool)
    if seed % 4 == 0:
        flags[1], X[:, 1] = True, rng.integers(0, 6, n)
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + rng.normal(size=n)
    weight = None if seed % 2 else rng.uniform(0.5, 2.0, n)
    groups = random_groups(rng, p)
    options = GrowthOptions(
        criterion="squared_error",
        max_depth=int(rng.integers(2, 7)),
        max_leaf_nodes=8 if seed % 5 == 0 else 0,
        min_samples_leaf=8,
        max_features=2 if seed % 7 < 3 else 0,
        interactions=Features(p).interactions(groups),
        monotonic_cst=rng.integers(-1, 2, p) * ~flags if seed % 6 == 0 else None,
        seed=seed,
    )
    columns = BinnedColumns.of(
        X, 32, weight, two_bytes=False, categorical=flags if any(flags) else None
    )
    tree, leaf = ReferenceGrower(columns, options).grow(y, weight, None, seed)
    assert all(in_a_group(path, groups, p) for path in paths(tree))
    grower = HistogramGrower(columns, options, 2)
    if grower.trees is not None and seed % 2:  # two threads, also for few rows
        grower.trees.least_shared = 1
    other, its_leaf = grower.grow(y, weight, None, seed)
    deep = grow_tree(columns, y, weight, None, options)
    for found in (other, deep):
        assert all(in_a_group(path, groups, p) for path in paths(found))
    np.testing.assert_array_equal(leaf, its_leaf)
    np.testing.assert_allclose(tree.value, other.value, atol=1e-9)
    np.testing.assert_allclose(tree.value[leaf], deep.value[deep.leaves(columns)], atol=1e-9)


def greedy(X, y, groups, depth, path=frozenset()):
    """Predictions of the tree that tries every cut that the groups allow."""
    allowed = [j for j in range(X.shape[1]) if in_a_group(path | {j}, groups, X.shape[1])]
    best, cut = -np.inf, None
    for j in allowed:
        for threshold in np.unique(X[:, j])[:-1]:
            goes = X[:, j] <= threshold
            score = y[goes].sum() ** 2 / goes.sum() + y[~goes].sum() ** 2 / (~goes).sum()
            if score > best:
                best, cut = score, (j, goes)
    if depth == 0 or cut is None:
        return np.full(len(y), y.mean())
    j, goes = cut
    out = np.empty(len(y))
    for side in (goes, ~goes):
        out[side] = greedy(X[side], y[side], groups, depth - 1, path | {j})
    return out


@pytest.mark.parametrize("groups", ["pairwise", "no_interactions", [[0, 1], [1, 2]], [[3]]])
def test_trees_are_those_of_all_allowed_cuts(groups):
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(40.0), (4, 1)), axis=1).T
    y = X[:, 0] * X[:, 1] / 40 + 2 * X[:, 2] + rng.normal(size=40)
    expected = greedy(X, y, groups, 3)
    tree = BinnedTreeRegressor(max_depth=3, interaction_cst=groups).fit(X, y)
    np.testing.assert_allclose(tree.predict(X), expected)
    one = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, interaction_cst=groups)
    np.testing.assert_allclose(one.fit(X, y).predict(X), expected)


def test_words_are_sets_of_features():
    rng = np.random.default_rng(0)
    for p in (3, 64, 65, 200):
        given = [rng.choice(p, 3, replace=False).tolist() for _ in range(4)]
        interactions = Features(p).interactions(given)
        if interactions is None:  # a group with all
            continue
        bits = np.unpackbits(interactions.words().astype("<u8").view(np.uint8), bitorder="little")
        bits = bits.reshape(len(interactions.groups), -1)
        np.testing.assert_array_equal(bits[:, :p], interactions.groups)
        assert not bits[:, p:].any()


@pytest.mark.parametrize(
    ("name", "size"), [("pairwise", 2), ("no_interactions", 1)], ids=["pairwise", "none"]
)
def test_names_stand_for_all_groups_of_a_size(name, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=300)
    model = GradientBoostingRegressor(n_estimators=20, max_depth=4, random_state=0)
    named = clone(model).set_params(interaction_cst=name).fit(X, y)
    groups = list(combinations(range(5), size))
    listed = clone(model).set_params(interaction_cst=groups).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), listed.predict(X))
    assert max(len(path) for t in named.estimators_.ravel() for path in paths(nodes_of(t))) == size
    # mixed differences of a sum of functions of one feature vanish
    a, b, both, none = X[:100].copy(), X[:100].copy(), X[:100].copy(), X[:100]
    a[:, 0] = both[:, 0] = X[100:200, 0]
    b[:, 1] = both[:, 1] = X[100:200, 1]
    mixed = named.predict(both) - named.predict(a) - named.predict(b) + named.predict(none)
    assert (np.abs(mixed).max() < 1e-12) == (size == 1)


def test_only_features_that_may_follow_are_drawn():
    """With one feature drawn at a node, a tree of groups of one is a full tree of one feature."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), rng.normal(size=60)
    y[:30] += 3
    for seed in range(10):
        tree = BinnedTreeRegressor(
            max_features=1, interaction_cst="no_interactions", random_state=seed
        )
        tree.fit(X, y)
        assert len(set(tree.tree_.feature) - {-2}) == 1
        assert tree.get_n_leaves() == 60


@pytest.mark.parametrize(
    "kind",
    [RandomForestRegressor, RandomForestClassifier, ExtraTreesRegressor, ExtraTreesClassifier],
)
def test_forests(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    y = X["a"] * X["b"] + X["c"]
    y = y if kind.__name__.endswith("Regressor") else (y > 0).astype(int)
    model = kind(10, interaction_cst=[["a", "b"], {"b", "c"}], monotonic_cst={"a": 1})
    model.set_params(random_state=0)
    model.fit(X, y)
    found = set().union(*(paths(nodes_of(t)) for t in model.estimators_))
    assert all(in_a_group(path, [[0, 1], [1, 2]], 4) for path in found)
    assert max(map(len, found)) == 2
    assert model.interaction_cst == [["a", "b"], {"b", "c"}]
    method = "predict" if y.dtype == float else "predict_proba"
    np.testing.assert_allclose(
        getattr(export.sklearn(model), method)(X), getattr(model, method)(X), atol=1e-12
    )
    for wrong in ({"max_bins": None}, {"n_estimators": 2, "interaction_cst": [["z"]]}):
        with pytest.raises(ValueError, match="interaction_cst"):
            clone(model).set_params(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="interaction_cst requires trees in bins"):
        clone(model).set_params(monotonic_cst=None).fit(X, np.column_stack([y, y]))


def test_members_of_some_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=150)
    groups, cst = [[0, 3, 5], [1, 2]], [0, 0, 1, 0, 0, 0]
    tree = BinnedTreeRegressor(interaction_cst=groups, monotonic_cst=cst, max_depth=5)
    bagged = BaggingRegressor(tree, 12, max_features=0.6, random_state=0).fit(X, y)
    for member, features in zip(bagged.estimators_, bagged.estimators_features_):
        for path in paths(nodes_of(member)):
            assert in_a_group({features[j] for j in path}, groups, 6)
    assert_monotonic(bagged.predict, X[:30], cst)
    boosted = AdaBoostRegressor(tree, n_estimators=5, random_state=0).fit(X, y)
    for member in boosted.estimators_:
        assert all(in_a_group(path, groups, 6) for path in paths(nodes_of(member)))


# --- the order of leaves --------------------------------------------------------------------------


def brute_force_regression(values, weight, order):
    """The largest over upper sets U of the smallest over lower sets L of the mean of U and L."""
    k = len(values)
    above = order.copy()
    for _ in range(k):
        above |= (above.astype(int) @ above.astype(int)) > 0
    sets = [np.array(s, dtype=bool) for s in product([0, 1], repeat=k)]
    upper = [s for s in sets if not (above & s[:, None] & ~s).any()]
    x = np.empty(k)
    for i in range(k):
        x[i] = max(
            min(np.average(values[u & ~v], weights=weight[u & ~v]) for v in upper if not v[i])
            for u in upper
            if u[i]
        )
    return x


@pytest.mark.parametrize("seed", range(12))
def test_isotonic_regression(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    order = np.triu(rng.random((k, k)) < rng.uniform(0.2, 0.9), 1)
    order = order[np.ix_(*[rng.permutation(k)] * 2)] if seed % 2 == 0 else order
    values, weight = rng.normal(size=k).round(1), rng.uniform(0.2, 5.0, k)
    order = order & ~order.T
    x = isotonic_regression(values, weight, order) if is_acyclic(order) else None
    if x is None:
        return
    np.testing.assert_allclose(x, brute_force_regression(values, weight, order), atol=1e-12)
    assert (x[:, None] <= x)[order].all()


@pytest.mark.parametrize("decades", [1, 6, 13, 15])
def test_isotonic_regression_of_weights_of_many_sizes(decades):
    """The weighted means of pools keep all digits: k rounding errors of the largest value."""
    rng = np.random.default_rng(decades)
    for _ in range(25):
        k = int(rng.integers(2, 7))
        order = np.triu(rng.random((k, k)) < 0.5, 1)
        values, weight = rng.normal(size=k).round(1), 10.0 ** -rng.uniform(0, decades, k)
        x = isotonic_regression(values, weight, order)
        rounding = k * np.finfo(float).eps * np.abs(values).max()
        expected = brute_force_regression(values, weight, order)
        np.testing.assert_allclose(x, expected, rtol=0, atol=2 * rounding)  # one for each side


def test_isotonic_regression_ends():
    """Multipliers that are 0 and stay 0 once kept the search from ending."""
    order = np.triu(np.ones((6, 6), dtype=bool), 1)
    order[1, 2] = order[4, 5] = False
    values = np.array([0.2, -0.8, 0.3, 0.1, -0.6, 1.3])
    weight = 10.0 ** np.array([-1, -7, -12, -2, -11, -14])
    x = isotonic_regression(values, weight, order)
    mean = np.average(values[:5], weights=weight[:5])
    np.testing.assert_allclose(x, [*[mean] * 5, 1.3], rtol=1e-14)


def is_acyclic(order):
    power = order.astype(int)
    return not any(np.trace(np.linalg.matrix_power(power, k)) for k in range(1, len(order) + 1))


@pytest.mark.parametrize("seed", range(8))
def test_order_of_leaves_is_that_of_rows(seed):
    """Two leaves are in order where two rows of a grid are, missing values and sets included."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (300, 3)).astype(float)
    X[rng.random((300, 3)) < 0.15] = np.nan
    flags = np.array([False, False, seed % 2 == 1])
    signs = np.array([1, [-1, 0, 1][seed % 3], 0])
    y = np.nan_to_num(X @ [1.0, -1.0, 0.3]) + rng.normal(size=300)
    columns = BinnedColumns.of(
        X, 16, None, two_bytes=False, categorical=flags if any(flags) else None
    )
    options = GrowthOptions(
        criterion="squared_error", max_depth=4, min_samples_leaf=5, monotonic_cst=signs
    )
    options = monotonic_after_growth(options, 300)
    assert not options.bounded
    tree, _ = HistogramGrower(columns, options).grow(y, None, None)
    values = [-1.0, *np.arange(0.25, 3.6, 0.25), np.nan]
    grid = np.array(list(product(values, values, [0.0, 1.0, 2.0, 3.0, np.nan])))
    leaves = np.flatnonzero(tree.left < 0)
    place = np.searchsorted(leaves, tree.leaves_of_rows(grid.astype(np.float32)))
    expected = np.zeros((len(leaves), len(leaves)), dtype=bool)
    for x, at in zip(grid, place):
        same = (grid == x) | (np.isnan(grid) & np.isnan(x))
        may = np.where(signs == 0, same, same | ((grid - x) * signs > 0))
        expected[at, place[may.all(axis=1)]] = True
    np.fill_diagonal(expected, False)
    order = leaf_order(tree, signs)
    # values between those of the data are on the grid, so that it sees all of the order
    np.testing.assert_array_equal(order, expected)


# --- monotonic models -----------------------------------------------------------------------------


def assert_monotonic(predict, X, signs):
    """On a grid of values of one feature, at the rows of X for the others."""
    size = np.abs(predict(X)).max()
    for j in np.flatnonzero(signs):
        rows, n = np.tile(X, (80, 1)), len(X)
        rows[:, j] = np.repeat(np.linspace(-2.5, 2.5, 80), n)
        steps = np.diff(predict(rows).reshape(80, n), axis=0)
        assert (steps * signs[j] >= -1e-13 * size).all()


def hard_data(n=250):
    """Neither of the constraints [1, -1, 0, 0] is true; the last column holds categories."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 4))
    X[:, 3] = rng.integers(0, 5, n)
    y = (
        np.sin(3 * X[:, 0])
        + X[:, 0] * X[:, 2]
        - X[:, 1]
        + (X[:, 3] == 2)
        + 0.3 * rng.normal(size=n)
    )
    X[rng.random((n, 4)) < 0.05] = np.nan
    return X, y, rng.uniform(0.5, 2.0, n)


SETTINGS = {
    "default": {},
    "leaves": {"max_depth": None, "max_leaf_nodes": 12},
    "deep": {"max_depth": 8},
    "drawn": {"max_features": 2, "subsample": 0.6},
    "search": {"step": "line_search"},
    "joint": {"step": "joint"},
    "interactions": {"interaction_cst": "pairwise", "max_depth": 4},
    "stopping": {"n_iter_no_change": 3, "random_state": 0},
    "many bins": {"max_bins": 300},
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_boosting_is_monotonic(setting):
    X, y, weight = hard_data()
    signs = [1, -1, 0, 0]
    options = {"n_estimators": 12, "learning_rate": 0.5, "categorical_features": [3]}
    if setting == "deep":
        options.pop("categorical_features")
    at = X[:25].copy()
    for loss in ("squared_error", "absolute_error", "huber"):
        model = GradientBoostingRegressor(loss=loss, monotonic_cst=signs, **options)
        model.set_params(**SETTINGS[setting]).fit(X, y, weight)
        assert_monotonic(model.predict, at, signs)
    model = GradientBoostingClassifier(monotonic_cst=signs, **options, **SETTINGS[setting])
    for step in ("fixed", "newton" if setting in ("default", "leaves", "drawn") else "fixed"):
        model.set_params(step=step).fit(X, y > 0, weight)
        assert_monotonic(model.decision_function, at, signs)
    model.set_params(warm_start=True, n_estimators=17).fit(X, y > 0, weight)
    assert_monotonic(model.decision_function, at, signs)


def test_exact_trees_are_monotonic():
    X, y, _ = hard_data()
    X = np.nan_to_num(X)
    signs = [1, -1, 0, 0]
    for loss in ("absolute_error", "squared_error", "poisson"):
        target = np.exp(y / 2) if loss == "poisson" else y
        model = GradientBoostingRegressor(
            loss=loss, monotonic_cst=signs, max_bins=None, n_estimators=20, max_depth=4
        )
        assert_monotonic(model.fit(X, target).predict, X[:25], signs)


def test_least_squares_of_leaves_is_better_than_bounds():
    """The training error of boosting, and that of scikit-learn's bounds, on a true constraint."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (800, 4))
    y = 3 * np.maximum(X[:, 0], X[:, 1]) + np.exp(X[:, 2]) * (X[:, 0] + 1)
    y += 0.3 * rng.normal(size=800)
    cst = [1, 1, 1, 0]
    theirs = HistGradientBoostingRegressor(
        max_iter=50, monotonic_cst=cst, early_stopping=False, max_depth=3
    )
    ours = GradientBoostingRegressor(n_estimators=50, min_samples_leaf=20, monotonic_cst=cst)
    errors = [np.mean((m.fit(X, y).predict(X) - y) ** 2) for m in (ours, theirs)]
    assert errors[0] < 0.97 * errors[1]


def test_large_trees_keep_bounds():
    options = GrowthOptions(criterion="squared_error", monotonic_cst=np.array([1]))
    assert monotonic_after_growth(options, 1000).bounded
    assert not monotonic_after_growth(options, 50).bounded
    assert not monotonic_after_growth(replace(options, max_leaf_nodes=31), 1000).bounded


def test_refusals():
    X, y, _ = hard_data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    tree = BinnedTreeRegressor()
    for params, message in [
        ({"monotonic_cst": [1, 0]}, r"has the shape \(2,\), but X has 4"),
        ({"monotonic_cst": {"z": 1}}, "monotonic_cst has the name 'z'"),
        ({"monotonic_cst": [0, 0, 0, 1], "categorical_features": [3]}, "'d', which is categ"),
        ({"interaction_cst": [["a", "z"]]}, "interaction_cst has the name 'z'"),
        ({"interaction_cst": [[0, 4]]}, "has the index 4 in group 0, but X has 4 features"),
        ({"interaction_cst": [[0], []]}, "has no feature in group 1"),
        ({"interaction_cst": ["ab"]}, "its group 0 is 'ab'"),
        ({"interaction_cst": [[0, True]]}, "got True in group 0"),
        ({"interaction_cst": [[0]], "max_bins": None}, "interaction_cst requires trees in bins"),
        ({"interaction_cst": [[0]], "ccp_alpha": 0.1}, "interaction_cst requires trees in bins"),
        ({"interaction_cst": [[0, 1], [2]], "estimator": tree}, "interaction_cst=.* set it there"),
        ({"monotonic_cst": [1, 0, 0, 0], "estimator": tree}, "monotonic_cst=.* set it there"),
    ]:
        with pytest.raises(ValueError, match=message):
            GradientBoostingRegressor(**params).fit(frame, y)
    with pytest.raises(ValueError, match="two classes only"):
        GradientBoostingClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="interaction_cst has names, but X has no feature names"):
        BinnedTreeClassifier(interaction_cst=[["a"]]).fit(X, y > 0)


# --- impurities of nodes whose values have moved --------------------------------------------------


def losses_at(criterion, y, value):
    """The losses of rows whose mean is the impurity of a node of this value, or these shares."""
    if criterion == "squared_error":
        return (y - value[0]) ** 2
    if criterion == "poisson":
        return xlogy(y, y / value[0]) - y + value[0]
    if criterion == "gini":
        return ((np.eye(2)[y] - value) ** 2).sum(axis=1)
    return -np.log2(value[y])


BY_CRITERION = pytest.mark.parametrize(
    ("make", "criterion"),
    [
        (BinnedTreeRegressor, "squared_error"),
        (BinnedTreeRegressor, "poisson"),
        (BinnedTreeClassifier, "gini"),
        (BinnedTreeClassifier, "entropy"),
    ],
)


def moved_data(make):
    """Rows of which single ones are far above the others: nodes below are outside their bounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.exp(0.5 * X[:, 0] + rng.normal(size=400))
    return X, (y > 1).astype(int) if make is BinnedTreeClassifier else y, rng.uniform(1, 2, 400)


@BY_CRITERION
def test_impurities_are_those_of_the_values_that_predict(make, criterion):
    X, y, weight = moved_data(make)
    tree = make(criterion=criterion, min_samples_leaf=3, monotonic_cst=[1, 0, -1])
    tree = tree.fit(X, y, weight)
    nodes = tree.tree_
    passed = tree.decision_path(X).toarray() > 0
    expected, own = np.empty((2, nodes.node_count))
    for i, rows in enumerate(passed.T):
        loss = losses_at(criterion, y[rows], nodes.value[i, 0])
        expected[i] = np.average(loss, weights=weight[rows])
        mean = np.average(
            np.eye(2)[y[rows]] if criterion in ("gini", "entropy") else y[rows, None],
            axis=0,
            weights=weight[rows],
        )
        with np.errstate(divide="ignore"):
            own[i] = np.average(losses_at(criterion, y[rows], mean), weights=weight[rows])
    moved = expected > own + 1e-6
    assert moved.sum() > 10
    np.testing.assert_allclose(nodes.impurity, expected, rtol=1e-9, atol=1e-12)
    # What is made of them: no cut makes the values worse, and leaves add up.
    left, right = nodes.children_left, nodes.children_right
    inner, mass = np.flatnonzero(left >= 0), expected * nodes.weighted_n_node_samples
    gains = mass[inner] - mass[left[inner]] - mass[right[inner]]
    assert gains.min() > -1e-9
    sums = np.bincount(nodes.feature[inner], gains, 3)
    np.testing.assert_allclose(tree.feature_importances_, sums / sums.sum(), rtol=1e-9)
    path = tree.cost_complexity_pruning_path(X, y, weight)
    total = nodes.weighted_n_node_samples[0]
    assert path.impurities[0] == pytest.approx(mass[left < 0].sum() / total, rel=1e-9)
    assert path.impurities[-1] == pytest.approx(expected[0], rel=1e-9)


@BY_CRITERION
def test_pure_nodes_whose_value_moves_are_leaves(make, criterion):
    X, y, weight = moved_data(make)
    y = np.round(y)
    options = {"criterion": criterion, "monotonic_cst": [1, 0, -1]}
    model = make(**options).fit(X, y, weight)
    tree, passed = model.tree_, model.decision_path(X).toarray() > 0
    pure = np.array([np.ptp(y[rows]) == 0 for rows in passed.T])
    assert (tree.impurity[pure] > 0).any()
    assert (tree.children_left[pure] < 0).all()


@pytest.mark.parametrize("max_leaf_nodes", [None, 100])
def test_impurities_of_trees_in_blocks_and_levels(max_leaf_nodes):
    """Grown by level, the trees have the impurities that rows give."""
    X, y, weight = moved_data(BinnedTreeRegressor)
    options = GrowthOptions(
        criterion="squared_error",
        max_depth=9,
        max_leaf_nodes=max_leaf_nodes or 0,
        min_samples_leaf=3,
        monotonic_cst=np.array([1, 0, -1]),
    )
    columns = BinnedColumns.of(X, 64, weight, two_bytes=False)
    tree, leaf = HistogramGrower(columns, options, 1).grow(y, weight, None, 0)
    for i in np.unique(leaf):
        rows = leaf == i
        expected = np.average((y[rows] - tree.value[i, 0]) ** 2, weights=weight[rows])
        assert tree.impurity[i] == pytest.approx(expected, rel=1e-9, abs=1e-12)
