"""Growth of trees over binned columns: every split has the gain of a search over all partitions,
and the tree is that of scikit-learn."""

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..estimators import TREES_TRY_BOTH_SIDES
from .engine import BinnedColumns, GrowthOptions, grow_tree, on_grid

N_PROBLEMS = 250  # of each criterion
CRITERIA = ("squared_error", "poisson", "gini", "log_loss")


def problem(criterion, seed):
    """Small data with ties, constant columns, weights, missing values, sometimes one row."""
    rng = np.random.default_rng([seed, CRITERIA.index(criterion)])
    n, p = int(rng.choice([1, 2, 3, 8, 20, 60])), int(rng.integers(1, 4))
    X = rng.integers(0, rng.integers(1, 7), (n, p)).astype(float)
    X *= rng.integers(0, 4, p) > 0  # constant columns
    if rng.random() < 0.5:
        X[rng.random((n, p)) < rng.choice([0.1, 0.5])] = np.nan
    n_classes = 0
    if criterion in ("gini", "log_loss"):
        n_classes = int(rng.integers(1, 4))
        y = rng.integers(0, n_classes, n)
    elif rng.random() < 0.5:
        y = rng.integers(0, 4, n).astype(float)
    else:
        y = rng.exponential(size=n)
    if criterion == "poisson":
        y[rng.integers(n)] += 1.0
    weight = [None, rng.integers(1, 4, n).astype(float), rng.uniform(0.1, 3, n)][rng.integers(3)]
    limits = {
        "max_depth": int(rng.integers(1, 4)),
        "min_samples_leaf": int(rng.integers(1, 4)),
        "max_leaf_nodes": int(rng.choice([0, 0, 3, 6])),
    }
    return X, y, weight, GrowthOptions(criterion=criterion, n_classes=n_classes, **limits)


def statistics(y, weight, options):
    """What is summed over the rows of a node: the number first, then the weight."""
    one = np.ones(len(y))
    if options.n_classes:
        classes = y[:, None] == np.arange(options.n_classes)
        return np.column_stack([one, weight, weight[:, None] * classes])
    square = y**2 if options.criterion == "squared_error" else xlogy(y, y)
    return np.column_stack([one, weight, weight * y, weight * square])


def impurity(sums, options):
    """Weight times impurity, for sums of `statistics` along the last axis."""
    weight = sums[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        if options.criterion == "squared_error":
            found = sums[..., 3] - sums[..., 2] ** 2 / weight
        elif options.criterion == "poisson":
            found = sums[..., 3] - xlogy(sums[..., 2], sums[..., 2] / weight)
        elif options.criterion == "gini":
            found = weight - (sums[..., 2:] ** 2).sum(axis=-1) / weight
        else:
            shares = sums[..., 2:] / weight[..., None]
            found = -weight * (xlogy(shares, shares) / np.log(2)).sum(axis=-1)
    return np.where(weight > 0, found, 0.0)


def columns_of(X, weight, seed):
    """The columns in bins: 255 at most, or thousands of which few hold rows."""
    columns = BinnedColumns.of(X, 255, weight, two_bytes=True)
    if seed % 2:
        return columns
    rng = np.random.default_rng(seed)
    known = np.sort(rng.choice(3000, 255, replace=False))
    codes = np.append(known, 3001)[columns.codes].astype(np.uint16)
    edges = [np.arange(2999) + 0.5] * X.shape[1]
    return BinnedColumns(np.asfortranarray(codes), edges, columns.has_missing, 3001)


def best_gain(codes, missing, sums, options):
    """The largest decrease of impurity by any feature, cut and side of the missing values.

    Twice: with what the criterion excludes, and without.
    """
    total = sums.sum(axis=0)
    best = largest = -np.inf
    for column in codes.T:
        is_missing = column == missing
        values = np.unique(column[~is_missing])
        left = np.array([sums[column <= c].sum(axis=0) for c in values]).reshape(-1, len(total))
        if is_missing.any():
            left = np.concatenate([left, left[:-1] + sums[is_missing].sum(axis=0)])
        right = total - left
        if options.n_classes:
            right = np.maximum(right, 0.0)  # after rounding
        allowed = np.minimum(left[:, 0], right[:, 0]) >= options.min_samples_leaf
        if allowed.any():
            left, right = left[allowed], right[allowed]
            gains = impurity(total, options) - impurity(left, options) - impurity(right, options)
            largest = max(largest, gains.max())
            # A side without a positive mean has no Poisson deviance. scikit-learn finds out by a
            # sum that may be off by rounding.
            if options.criterion == "poisson":
                gains = gains[np.minimum(left[:, 2], right[:, 2]) > 1e-9]
            best = max(best, gains.max(initial=-np.inf))
    return best, largest


def check_tree(seed, X, y, weight, options):
    columns = columns_of(X, weight, seed)
    tree = grow_tree(columns, y, weight, None, options)
    sums = statistics(y, np.ones(len(y)) if weight is None else weight, options)
    size = 1e-7 * (1 + impurity(sums.sum(axis=0), options))
    stack = [(0, np.arange(len(y)), 0)]
    n_leaves = 0
    while stack:
        i, rows, depth = stack.pop()
        total = sums[rows].sum(axis=0)
        assert tree.n_rows[i] == len(rows) >= 1
        assert tree.weight[i] == pytest.approx(total[1])
        assert tree.impurity[i] * total[1] == pytest.approx(impurity(total, options), abs=size)
        expected = total[2:] / total[1] if options.n_classes else total[2:3] / total[1]
        np.testing.assert_allclose(tree.value[i], expected, rtol=1e-7, atol=1e-9)
        best, largest = best_gain(columns.codes[rows], columns.missing, sums[rows], options)
        if tree.left[i] < 0:
            n_leaves += 1
            may_split = depth < options.max_depth and not options.max_leaf_nodes
            if may_split and tree.impurity[i] > 1e-9 and best > -np.inf:
                assert len(rows) < 2 * options.min_samples_leaf
            continue
        column = columns.codes[rows, tree.feature[i]]
        is_missing = column == columns.missing
        goes_left = np.where(is_missing, tree.missing_left[i] > 0, column <= tree.code[i])
        edges = columns.edges[tree.feature[i]]
        expected = edges[tree.code[i]] if tree.code[i] < len(edges) else np.inf
        assert tree.threshold[i] == (expected if tree.code[i] >= 0 else -np.inf)
        if not is_missing.any():
            assert tree.missing_left[i] == (goes_left.sum() > (~goes_left).sum())
        parts = rows[goes_left], rows[~goes_left]
        assert min(len(part) for part in parts) >= options.min_samples_leaf
        gain = impurity(total, options) - sum(
            impurity(sums[part].sum(axis=0), options) for part in parts
        )
        assert best - size <= gain <= largest + size
        assert min(tree.left[i], tree.right[i]) > i
        stack += [(tree.left[i], parts[0], depth + 1), (tree.right[i], parts[1], depth + 1)]
    assert tree.depth <= options.max_depth
    assert n_leaves == tree.is_leaf.sum() <= (options.max_leaf_nodes or n_leaves)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_split_has_the_best_gain(criterion):
    for seed in range(N_PROBLEMS):
        check_tree(seed, *problem(criterion, seed))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_rows_of_weight_zero_are_left_out(n_classes):
    rng = np.random.default_rng(0)
    columns = BinnedColumns.of(rng.normal(size=(200, 3)), 255, two_bytes=True)
    y = rng.integers(0, n_classes, 200) if n_classes else rng.normal(size=200)
    weight = rng.integers(0, 3, 200) / 2
    options = GrowthOptions(criterion="gini" if n_classes else "squared_error", n_classes=n_classes)
    tree = grow_tree(columns, y, weight, None, options)
    kept = np.flatnonzero(weight)
    other = grow_tree(columns, y[kept], weight[kept], kept, options)
    for name in ("left", "feature", "code", "n_rows", "weight", "value"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)


# --- against other trees --------------------------------------------------------------------------


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
def test_the_tree_of_the_codes_is_the_tree_of_the_values(criterion, n_classes, missing, limits):
    if missing and not TREES_TRY_BOTH_SIDES:
        pytest.skip("this scikit-learn does not try all splits of missing values")
    X, signal = few_values(missing=missing)
    y = np.digitize(signal, [5, 9][: n_classes - 1]) if n_classes else np.exp(signal / 5)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    exact = kind(criterion=criterion, random_state=0, **limits).fit(X, y, weight)
    options = GrowthOptions(criterion=criterion, n_classes=n_classes, **limits)
    arrays = grow_tree(BinnedColumns.of(X, 255, two_bytes=True), y, weight, None, options)
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
def test_a_bin_for_each_of_thousands_of_values(n_classes, limits, missing):
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


CRITERIA_AND_CLASSES = [
    ("squared_error", 0),
    ("poisson", 0),
    ("gini", 2),
    ("gini", 5),
    ("log_loss", 3),
]


class GivenSeed(np.random.RandomState):
    """Gives scikit-learn's splitter the seed of its own generator, which it draws by `randint`."""

    def __init__(self, seed):
        super().__init__(0)
        self.given = seed

    def randint(self, *args, **kwargs):
        return self.given


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA_AND_CLASSES)
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("max_bins", [255, 700, 5000])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_the_tree_is_scikit_learns_on_the_codes(criterion, n_classes, weights, max_bins, splitter):
    """Nodes of few and of many rows, for the number of bins, missing values, features drawn."""
    missing = 0.1 if TREES_TRY_BOTH_SIDES else 0.0
    X, signal = many_values(missing=missing, seed=1)
    y = np.digitize(signal, [-1, 0, 1, 2][-n_classes + 1 :]) if n_classes else np.exp(signal)
    rng = np.random.default_rng(2)
    weight = {"none": None, "whole": rng.integers(1, 4, len(y)) * 1.0, "real": rng.random(len(y))}
    columns = BinnedColumns.of(X, max_bins, weight[weights], two_bytes=True)
    rows = np.flatnonzero(rng.random(len(y)) < 0.8)
    some = None if weights == "none" else weight[weights][rows]
    limits = {"min_samples_leaf": 6, "max_features": 3}
    if criterion != "squared_error":
        # Below, rounding decides between equally good cuts.
        limits["max_depth"] = 4
    growth = {"random_splits": splitter == "random", "seed": 7, **limits}
    options = GrowthOptions(criterion=criterion, n_classes=n_classes, **growth)
    tree = grow_tree(columns, y[rows], some, rows, options)
    codes = columns.codes[rows].astype(np.float32)
    codes[codes == columns.missing] = np.nan
    kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    theirs = kind(criterion=criterion, splitter=splitter, random_state=GivenSeed(7), **limits)
    theirs = theirs.fit(codes, y[rows] if n_classes else on_grid(y[rows]), some).tree_
    inner = tree.left >= 0
    assert (tree.code > 255).any() == (max_bins > 255)
    for ours, expected in [
        (tree.left, theirs.children_left),
        (tree.right, theirs.children_right),
        (tree.feature, theirs.feature),
        (tree.missing_left[inner], theirs.missing_go_to_left[inner]),
        (tree.n_rows, theirs.n_node_samples),
    ]:
        np.testing.assert_array_equal(ours, expected)
    # A threshold is between two codes; a missing value alone is above all of them, or below.
    cuts = np.nan_to_num(theirs.threshold[inner], nan=-1.0)
    np.testing.assert_array_equal(
        tree.code[inner], np.clip(np.floor(cuts), -1, columns.missing - 1)
    )
    for ours, expected in [
        (tree.value, theirs.value[:, 0]),
        (tree.impurity, theirs.impurity),
        (tree.weight, theirs.weighted_n_node_samples),
    ]:
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-9)
