"""Categories in trees of vectors: against all sets of categories, and trees of one target."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_ensemble_theory import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.inspection import compact
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .engine import (
    BinnedColumns,
    GrowthOptions,
    HistogramGrower,
    VectorGrower,
    _vector_growth,
    nodes_of,
)
from .walks import leaves_by_walks

N = 300
WEIGHINGS = ("equal", "whole", "real", "of each target")


@pytest.fixture(autouse=True)
def small_nodes(monkeypatch):
    """Nodes of at most 60 rows are searched by their rows, others by the sums of their bins."""
    monkeypatch.setattr(_vector_growth, "FEW_ROWS", 60)


def options(**given):
    return GrowthOptions(**{"criterion": "squared_error", **given})


def rows(seed, weighing="equal", n=N, k=7, q=3, flags=(True, False, True)):
    """Two columns of categories around one of numbers, some missing; targets, and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.integers(0, k, n), rng.standard_normal(n), rng.integers(0, 4, n)]
    ).astype(float)
    effect = rng.standard_normal((k, q))
    target = effect[X[:, 0].astype(int)] + 0.5 * X[:, 1:2] + 0.5 * rng.standard_normal((n, q))
    X[rng.random(n) < 0.1, 0] = np.nan
    weight = {
        "equal": None,
        "whole": rng.integers(1, 4, n).astype(float),
        "real": rng.random(n) + 0.1,
        "of each target": rng.random((n, q)) + 0.1,
    }[weighing]
    return BinnedColumns.of(X, 255, None, categorical=np.array(flags)), target, weight


def assert_same(tree, other):
    for name in ("left", "right", "feature", "code", "missing_left", "n_rows", "left_bins"):
        assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
    assert_allclose(tree.value, other.value, rtol=1e-9, atol=1e-12)
    assert_allclose(tree.impurity, other.impurity, rtol=1e-6, atol=1e-9)


# --- all sets of categories -----------------------------------------------------------------------


def best_gain(codes, gain):
    """Of the 2^(k-1) - 1 ways to part k categories; missing ones are one more."""
    values, number = np.unique(codes, return_inverse=True)
    # Bit j of a row's number says where category j goes; the first one stays.
    sets = 2 * np.arange(1, 2 ** (len(values) - 1))
    return gain((sets[:, None] >> number) % 2 == 1).max()


def squared_gain(target, weight, l2=0.0):
    """The gain of sending the rows of a mask, or those of each of several masks, to one side."""
    weight = np.ones(target.shape) if weight is None else weight.reshape(len(target), -1)
    weight = weight * np.ones(target.shape)

    def gain(goes):
        parts = [(s @ (weight * target)) ** 2 / (s @ weight + l2) for s in (goes, ~goes)]
        whole = (weight * target).sum(0) ** 2 / (weight.sum(0) + l2)
        return (parts[0] + parts[1] - whole).sum(axis=-1)

    return gain


def root_of(columns, target, weight, **given):
    tree, leaf = VectorGrower(columns, options(max_depth=1, **given)).grow(target, weight, None)
    return leaf == tree.left[0]


@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("weighing", ["equal", "whole", "real"])
def test_the_best_of_all_sets_is_found_where_means_lie_on_a_line(weighing, l2):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        columns, target, weight = rows(seed, weighing, n=int(rng.choice([12, 40, 150])))
        columns = columns.take_features([0])
        line = target[:, :1] * rng.standard_normal(4)
        if l2 == 0:
            line = line + rng.standard_normal(4)
        gain = squared_gain(line - line.mean(axis=0) if l2 else line, weight, l2)
        best = best_gain(columns.codes[:, 0], gain)
        centred = line - line.mean(axis=0) if l2 else line
        goes = root_of(columns, centred, weight, l2_regularization=l2)
        assert_allclose(gain(goes), best, rtol=1e-9)


def test_other_means_lose_little_to_the_best_of_all_sets():
    """Distances without any structure in up to 6 dimensions, the hardest for a line."""
    ratios = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        weighing = WEIGHINGS[seed % 4]
        columns, target, weight = rows(seed, weighing, n=60, k=8, q=int(rng.integers(2, 7)))
        columns = columns.take_features([0])
        gain = squared_gain(target, weight)
        best = best_gain(columns.codes[:, 0], gain)
        ratios.append(gain(root_of(columns, target, weight)) / best)
    assert max(ratios) <= 1 + 1e-9
    assert np.mean(ratios) > 0.97
    assert min(ratios) > 0.8


@pytest.mark.parametrize("criterion", ["gini", "log_loss"])
def test_sets_of_two_outputs_of_classes(criterion):
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 7, 60)
        y = np.column_stack([rng.integers(0, 3, 60), rng.integers(0, 2, 60)])
        shift = rng.random((7, 2)) < 0.5
        y = np.where((rng.random((60, 2)) < 0.5) & shift[x], 0, y)

        def impurity(part, y=y):
            found = 0.0
            for column in y.T:
                shares = part @ np.eye(3)[column] / part.sum(axis=-1, keepdims=True)
                logs = np.log2(np.where(shares > 0, shares, 1.0))
                found += -(shares * (shares - 1 if criterion == "gini" else logs)).sum(axis=-1)
            return part.sum(axis=-1) * found / 2

        def gain(goes, impurity=impurity):
            return impurity(goes | ~goes) - impurity(goes) - impurity(~goes)

        tree = BinnedTreeClassifier(
            criterion=criterion, max_depth=1, categorical_features=[0], cat_smooth=0
        ).fit(x[:, None].astype(float), y)
        nodes = tree.tree_
        if nodes.node_count > 1:
            goes = tree.apply(x[:, None]) == nodes.children_left[0]
            ratios.append(gain(goes) / best_gain(x, gain))
            lowered = (
                nodes.impurity[0] - (nodes.weighted_n_node_samples[1:] @ nodes.impurity[1:]) / 60
            )
            assert_allclose(60 * lowered, gain(goes))
    assert len(ratios) > 50
    assert max(ratios) <= 1 + 1e-9
    assert np.mean(ratios) > 0.95
    assert min(ratios) > 0.7


# --- trees of one target, and of numbers ----------------------------------------------------------


@pytest.mark.parametrize("smooth", [0.0, 10.0])
@pytest.mark.parametrize("weighing", ["equal", "whole", "real"])
@pytest.mark.parametrize(
    "given",
    [{"max_depth": 4}, {"max_leaf_nodes": 9, "l2_regularization": 2.0}, {"min_samples_leaf": 5}],
    ids=str,
)
def test_one_target_and_equal_targets_have_the_tree_of_one(given, weighing, smooth):
    columns, target, weight = rows(1, weighing)
    given = options(cat_smooth=smooth, **given)
    one = np.ascontiguousarray(target[:, 0])
    expected, leaf = HistogramGrower(columns, given).grow(one, weight, None)
    tree, own_leaf = VectorGrower(columns, given).grow(target[:, :1], weight, None)
    assert expected.left_bins.any()
    assert_same(tree, expected)
    assert_array_equal(own_leaf, leaf)
    repeated, _ = VectorGrower(columns, given).grow(np.repeat(one[:, None], 5, 1), weight, None)
    for name in ("left", "feature", "code", "missing_left", "left_bins"):
        assert_array_equal(getattr(repeated, name), getattr(tree, name))
    assert_allclose(repeated.value, np.repeat(tree.value, 5, axis=1), rtol=1e-12)


def test_equal_weights_of_each_target_are_weights_of_rows():
    columns, target, weight = rows(2, "real")
    given = options(cat_smooth=4.0, max_depth=5)
    tree, _ = VectorGrower(columns, given).grow(target, weight, None)
    of_each = np.repeat(weight[:, None], 3, axis=1)
    assert_same(tree, VectorGrower(columns, given).grow(target, of_each, None)[0])


def test_an_output_twice_is_the_tree_of_one_output():
    """Two classes, by the loops of trees of one output, with shrunk means and missing values."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 9, N), rng.standard_normal(N)])
    y = np.where(X[:, 0] * 5 % 9 + 2 * X[:, 1] + rng.standard_normal(N) > 5, "b", "a")
    X[::11, 0] = np.nan
    for criterion in ("gini", "entropy"):
        for smooth in (0.0, 5.0):
            tree = BinnedTreeClassifier(
                criterion=criterion, max_depth=4, categorical_features=[0], cat_smooth=smooth
            )
            expected = tree.fit(X, y).predict_proba(X)
            impurity = tree.tree_.impurity
            first, second = tree.fit(X, np.column_stack([y, y])).predict_proba(X)
            assert_allclose(first, expected, atol=1e-12)
            assert_array_equal(first, second)
            assert_allclose(tree.tree_.impurity, impurity, atol=1e-12)


@pytest.mark.parametrize("kind", [BinnedTreeRegressor, BinnedTreeClassifier])
def test_two_categories_are_two_numbers(kind):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(0, 2, (N, 3)), rng.standard_normal(N)]).astype(float)
    Y = (X[:, :2] + X[:, 3:] + rng.standard_normal((N, 2))).round()
    numbers = kind(max_depth=6).fit(X, Y)
    sets = kind(max_depth=6, categorical_features=[0, 1, 2], cat_smooth=0).fit(X, Y)
    assert_allclose(sets.predict(X), numbers.predict(X))
    assert_allclose(np.sort(sets.tree_.impurity), np.sort(numbers.tree_.impurity), atol=1e-12)
    assert_allclose(sets.feature_importances_, numbers.feature_importances_)


# --- threads, rows and bins -----------------------------------------------------------------------


GROWN = [
    {"max_depth": 6, "cat_smooth": 3.0},
    {"min_samples_leaf": 3, "min_samples_split": 6},
    {"max_leaf_nodes": 12, "cat_smooth": 1.0, "l2_regularization": 1.0},
    {"max_features": 2, "seed": 7, "cat_smooth": 3.0},
    {"max_features": 1, "seed": 8, "random_splits": True, "cat_smooth": 3.0},
    {"random_splits": True, "seed": 9},
]


# Every two of the three together: a component of the targets to choose by every second time.
@pytest.mark.parametrize(
    ("given", "weighing", "n_components"),
    [
        pytest.param(given, weighing, (None, 2)[(i + j) % 2], id=f"{given}-{weighing}")
        for i, given in enumerate(GROWN)
        for j, weighing in enumerate(WEIGHINGS)
    ],
)
def test_threads_grow_the_same_tree(given, weighing, n_components):
    columns, target, weight = rows(5, weighing, n=200)
    given = options(**given)
    tree, leaf = VectorGrower(columns, given, n_components).grow(target, weight, None)
    several, _ = VectorGrower(columns, given, n_components, 3).grow(target, weight, None)
    assert tree.left_bins.any()
    assert_array_equal(leaf, tree.leaves(columns))
    assert_array_equal(leaf, leaves_by_walks(tree, columns))
    assert_same(tree, several)


@pytest.mark.parametrize("max_features", [0, 1, 2])
@pytest.mark.parametrize("few", [0, N])
def test_rows_and_bins_tell_the_same(few, max_features, monkeypatch):
    columns, target, _ = rows(6, n=200)
    given = options(cat_smooth=3.0, max_features=max_features, seed=3)
    tree, _ = VectorGrower(columns, given).grow(target, None, None)
    monkeypatch.setattr(_vector_growth, "FEW_ROWS", few)
    assert_same(tree, VectorGrower(columns, given).grow(target, None, None)[0])


def test_random_cuts_are_uniform_over_codes_and_over_places():
    """Of the codes 0 to 4 and of the 4 cuts of 5 categories, by the share of the rows."""
    x = np.repeat(np.arange(5.0), 20)[:, None]
    Y = np.column_stack([x[:, 0] ** 2, x[:, 0]])
    for categorical in (None, [0]):
        shares = []
        for seed in range(400):
            tree = BinnedTreeRegressor(
                max_depth=1, splitter="random", random_state=seed, categorical_features=categorical
            ).fit(x, Y)
            shares.append(tree.tree_.n_node_samples[1] // 20)
        counts = np.bincount(shares, minlength=5)
        assert counts[0] == 0
        # Four binomial numbers of mean 100 and standard deviation 9.
        assert (np.abs(counts[1:] - 100) < 35).all()


# --- ensembles ------------------------------------------------------------------------------------

FORESTS = [
    RandomForestRegressor,
    RandomForestClassifier,
    ExtraTreesRegressor,
    ExtraTreesClassifier,
]


def table(seed=0, n=400):
    """Three outputs that are functions of 12 categories and a number."""
    rng = np.random.default_rng(seed)
    effect = 2 * rng.standard_normal((12, 3))
    X = np.column_stack([rng.integers(0, 12, n), rng.standard_normal((n, 2))])
    Y = effect[X[:, 0].astype(int)] + X[:, 1:2] + 0.5 * rng.standard_normal((n, 3))
    return X, Y


def outputs(model, X):
    return np.hstack(model.predict_proba(X)) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("kind", FORESTS)
def test_forests_of_several_outputs_have_sets(kind):
    X, Y = table(n=150)
    labels = np.where(Y > 0, "yes", "no")
    y = labels if "Classifier" in kind.__name__ else Y
    given = {"n_estimators": 20, "random_state": 1, "bootstrap": True}
    model = kind(categorical_features=[0], oob_score="Reg" in kind.__name__, **given).fit(X, y)
    assert model.estimator_.max_bins == 255
    assert all(nodes_of(tree).sets is not None for tree in model.estimators_)
    if y is Y:
        assert model.oob_score_ > 0.6
    else:
        assert (model.predict(X) == y).mean() > 0.95
        hard = kind(categorical_features=[0], voting="hard", **given).fit(X, y)
        votes = np.mean([np.hstack(votes_of(tree, X)) for tree in hard.estimators_], axis=0)
        assert_allclose(np.hstack(hard.predict_proba(X)), votes)
    means = np.mean([outputs(tree, X) for tree in model.estimators_], axis=0)
    assert_allclose(outputs(model, X), means)
    again = kind(categorical_features=[0], n_jobs=2, **given).fit(X, y)
    assert_array_equal(outputs(again, X), outputs(model, X))
    before = outputs(model, X)
    assert_array_equal(outputs(compact(model), X), before)


def votes_of(tree, X):
    """1 for the label of each output that a tree predicts."""
    return [
        np.equal.outer(column, classes).astype(float)
        for column, classes in zip(tree.predict(X).T, tree.classes_)
    ]


def test_forests_beat_those_of_dummies():
    """50 categories of 10 rows."""
    rng = np.random.default_rng(0)
    effect = rng.standard_normal((50, 2))
    X = np.column_stack([np.repeat(np.arange(50), 20), rng.standard_normal((1000, 2))])
    F = effect[X[:, 0].astype(int)] + X[:, 1:2]
    Y = F + rng.standard_normal(F.shape)
    hot = np.column_stack([X[:, :1] == np.arange(50), X[:, 1:]])
    errors = []
    for given, names in ((hot, None), (X, [0])):
        model = RandomForestRegressor(10, random_state=0, categorical_features=names)
        errors.append(np.mean((model.fit(given[::2], Y[::2]).predict(given[1::2]) - F[1::2]) ** 2))
    assert errors[1] < errors[0]


def test_boosting_of_several_targets_has_sets():
    X, Y = table(2)
    given = {"n_estimators": 40, "random_state": 0}
    trees = BinnedTreeRegressor(max_depth=3, categorical_features=[0], cat_smooth=1.0)
    numbers = GradientBoostingRegressor(**given).fit(X, Y)
    model = GradientBoostingRegressor(trees, **given).fit(X, Y)
    assert model.score(X, Y) > max(0.9, numbers.score(X, Y))
    # One target repeated is one target.
    one = GradientBoostingRegressor(trees, **given).fit(X, Y[:, 0])
    twice = GradientBoostingRegressor(trees, **given).fit(X, Y[:, [0, 0]])
    assert_allclose(twice.predict(X), np.repeat(one.predict(X)[:, None], 2, axis=1), rtol=1e-6)
    y = Y.argmax(axis=1)
    tree = GradientBoostingClassifier(trees, multi_output="one_tree", **given).fit(X, y)
    assert tree.score(X, y) > 0.9
