"""Trees of vectors: against a loop over all cuts, and the tree of one target."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from .engine import (
    LEAF,
    BinnedColumns,
    GrowthOptions,
    HistogramGrower,
    VectorGrower,
    _vector_growth,
)
from .walks import leaves_by_walks

N, P, Q = 400, 4, 3
STRUCTURE = ("left", "right", "feature", "code", "missing_left", "n_rows")


def options(**given):
    return GrowthOptions(criterion="squared_error", **given)


OPTIONS = [
    options(max_depth=3),
    options(max_depth=8, min_samples_leaf=2, min_samples_split=4, l2_regularization=1.0),
    options(max_depth=5, max_leaf_nodes=9, min_weight_leaf=8.0),
    options(max_depth=4, max_features=2, seed=5, min_impurity_decrease=0.01),
]


@pytest.fixture(autouse=True)
def small_nodes(monkeypatch):
    """Nodes of at most 60 rows are searched by their rows, others by the sums of their bins."""
    monkeypatch.setattr(_vector_growth, "FEW_ROWS", 60)


each = pytest.mark.parametrize("given", OPTIONS, ids=str)
weighted = pytest.mark.parametrize("weighing", ["equal", "whole", "real", "of each target"])


def rows(seed=0, weighing="equal", n_missing=30):
    """Columns in bins, targets of different sizes, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    shape = np.sin(3 * X[:, :1]) + X[:, 1:2] * np.array([1.0, 0.0, -1.0])
    target = (shape + 0.3 * rng.standard_normal((N, Q))) * np.array([1.0, 10.0, 0.1])
    X[rng.integers(0, N, n_missing), rng.integers(0, P, n_missing)] = np.nan
    weight = {
        "equal": None,
        "whole": rng.integers(1, 4, N).astype(float),
        "real": rng.random(N) + 0.1,
        "of each target": rng.random((N, Q)) + 0.01,
    }[weighing]
    return BinnedColumns.of(X, 40), target, weight


def assert_same(tree, other, rtol=1e-10):
    for name in STRUCTURE:
        assert_array_equal(getattr(tree, name), getattr(other, name))
    assert_allclose(tree.value, other.value, rtol=rtol, atol=1e-10)
    assert_allclose(tree.weight, other.weight)
    assert_allclose(tree.impurity, other.impurity, rtol=1e-6, atol=1e-9)


@each
@weighted
@pytest.mark.parametrize("n_components", [None, 2])
def test_threads_grow_the_same_tree(given, weighing, n_components):
    columns, target, weight = rows(1, weighing)
    tree, leaf = VectorGrower(columns, given, n_components).grow(target, weight, None)
    several, _ = VectorGrower(columns, given, n_components, 3).grow(target, weight, None)
    assert len(tree) > 5
    assert_array_equal(leaf, tree.leaves(columns))
    assert_array_equal(leaf, leaves_by_walks(tree, columns))
    assert_same(tree, several, rtol=0)


def gain_of(target, weight, goes, l2):
    scores = []
    for side in (goes, ~goes, np.ones_like(goes)):
        sums, masses = (weight * target)[side].sum(axis=0), weight[side].sum(axis=0)
        scores.append(float((sums**2 / (masses + l2)).sum()))
    return scores[0] + scores[1] - scores[2]


@weighted
@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_leaf_nodes": 9}], ids=str)
@pytest.mark.parametrize("l2", [0.0, 5.0])
def test_every_split_is_the_best_of_all_cuts(weighing, l2, limits):
    """Of nodes with a table of sums and of small ones, whose rows are counted."""
    columns, target, weight = rows(2, weighing)
    given = options(min_samples_leaf=7, l2_regularization=l2, **limits)
    tree, _ = VectorGrower(columns, given).grow(target, weight, None)
    weight = np.ones((N, Q)) if weight is None else weight.reshape(N, -1) * np.ones(Q)
    codes, missing = columns.codes.astype(int), columns.missing
    inside = {0: np.ones(N, dtype=bool)}
    for i in range(len(tree)):
        rows_of = inside[i]
        assert tree.n_rows[i] == rows_of.sum()
        sums = (weight * target)[rows_of].sum(axis=0)
        assert_allclose(tree.value[i], sums / (weight[rows_of].sum(axis=0) + l2), rtol=1e-9)
        mean = np.average(target[rows_of], axis=0, weights=weight[rows_of])
        error = (weight * (target - mean) ** 2)[rows_of].sum() / weight[rows_of].sum()
        assert_allclose(tree.impurity[i], error, rtol=1e-7)
        if tree.left[i] == LEAF:
            continue
        best = 0.0
        for j in range(P):
            for cut in range(columns.n_bins[j]):
                for left in {False, bool((codes[rows_of, j] == missing).any())}:
                    goes = (codes[:, j] <= cut) | ((codes[:, j] == missing) & left)
                    if 7 <= (goes & rows_of).sum() <= rows_of.sum() - 7:
                        of_node = goes[rows_of]
                        gain = gain_of(target[rows_of], weight[rows_of], of_node, l2)
                        best = max(best, gain)
        code = codes[:, tree.feature[i]]
        goes = (code <= tree.code[i]) | ((code == missing) & (tree.missing_left[i] > 0))
        assert_allclose(gain_of(target[rows_of], weight[rows_of], goes[rows_of], l2), best)
        inside[tree.left[i]], inside[tree.right[i]] = rows_of & goes, rows_of & ~goes


@each
@pytest.mark.parametrize("weighing", ["equal", "whole", "real"])
def test_one_target_and_equal_targets_have_the_tree_of_one(given, weighing):
    columns, target, weight = rows(3, weighing)
    one = np.ascontiguousarray(target[:, 0])
    expected, leaf = HistogramGrower(columns, given).grow(one, weight, None)
    tree, own_leaf = VectorGrower(columns, given).grow(target[:, :1], weight, None)
    assert_same(tree, expected, rtol=1e-8)
    assert_array_equal(own_leaf, leaf)
    repeated, _ = VectorGrower(columns, given).grow(np.repeat(one[:, None], 4, 1), weight, None)
    assert_array_equal(repeated.left, tree.left)
    assert_allclose(repeated.value, np.repeat(tree.value, 4, axis=1), rtol=1e-12)
    # With 4 equal targets each counts: the mean of their impurities is that of one.
    assert_allclose(repeated.impurity, tree.impurity, atol=1e-9)


def test_equal_weights_of_each_target_are_weights_of_rows():
    columns, target, weight = rows(4, "real")
    of_each = np.repeat(weight[:, None], Q, axis=1)
    tree, _ = VectorGrower(columns, OPTIONS[1]).grow(target, weight, None)
    other, _ = VectorGrower(columns, OPTIONS[1]).grow(target, of_each, None)
    assert_same(tree, other)


@weighted
def test_some_rows_are_as_if_they_were_all(weighing):
    columns, target, weight = rows(5, weighing)
    some = np.sort(np.random.default_rng(0).choice(N, N // 2, replace=False))
    tree, leaf = VectorGrower(columns, OPTIONS[0]).grow(target, weight, some)
    part = None if weight is None else weight[some]
    alone, _ = VectorGrower(columns.take_rows(some), OPTIONS[0]).grow(target[some], part, None)
    assert_same(tree, alone)
    assert len(leaf) == N


def test_whole_weights_are_repeated_rows():
    columns, target, weight = rows(6, "whole")
    again = np.repeat(np.arange(N), weight.astype(int))
    tree, _ = VectorGrower(columns, OPTIONS[0]).grow(target, weight, None)
    repeated, _ = VectorGrower(columns.take_rows(again), OPTIONS[0]).grow(target[again], None, None)
    for name in ("left", "feature", "code"):
        assert_array_equal(getattr(tree, name), getattr(repeated, name))
    assert_allclose(tree.value, repeated.value, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e140])
def test_targets_of_any_size(size):
    columns, target, _ = rows(7)
    tree, _ = VectorGrower(columns, OPTIONS[0]).grow(target, None, None)
    scaled, _ = VectorGrower(columns, OPTIONS[0]).grow(size * target, None, None)
    assert_array_equal(scaled.left, tree.left)
    assert_allclose(scaled.value, size * tree.value, rtol=1e-9)


def test_no_split_of_equal_targets():
    columns, *_ = rows(8)
    constant = np.tile([0.1, 0.2, 0.3], (N, 1))
    for n_drawn in (0, 2):
        given = options(max_features=n_drawn)
        tree, leaf = VectorGrower(columns, given).grow(constant, None, None)
        assert len(tree) == 1
        assert_allclose(tree.value[0], constant[0])
        assert not leaf.any()


def test_all_components_are_all_targets_and_one_is_the_direction_of_the_targets():
    columns, target, _ = rows(9)
    tree, _ = VectorGrower(columns, OPTIONS[0]).grow(target, None, None)
    same, _ = VectorGrower(columns, OPTIONS[0], Q).grow(target, None, None)
    assert_same(tree, same)
    # Targets on a line have one component, which decides as all of them do.
    line = target[:, :1] * np.array([3.0, -4.0, 12.0])
    tree, _ = VectorGrower(columns, OPTIONS[0]).grow(line, None, None)
    by_one, _ = VectorGrower(columns, OPTIONS[0], 1).grow(line, None, None)
    assert_array_equal(tree.code, by_one.code)
    assert_allclose(tree.value, by_one.value, rtol=1e-9)


@pytest.mark.parametrize("few", [0, N])
def test_rows_and_bins_tell_the_same(few, monkeypatch):
    columns, target, _ = rows(10)
    tree, _ = VectorGrower(columns, options(max_depth=9)).grow(target, None, None)
    monkeypatch.setattr(_vector_growth, "FEW_ROWS", few)
    other, _ = VectorGrower(columns, options(max_depth=9)).grow(target, None, None)
    assert_same(tree, other, rtol=0)
