"""The growth by histograms against a search of all cuts, written out, and scikit-learn's trees."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory.trees import _histograms as bin_sums
from sklearn_ensemble_theory.trees._columns import MISSING, BinnedColumns
from sklearn_ensemble_theory.trees._compiled_growth import CompiledHistogramGrower
from sklearn_ensemble_theory.trees._growth import NumpyHistogramGrower
from sklearn_ensemble_theory.trees._histograms import BinSums, GridTargets, GridWeights
from sklearn_ensemble_theory.trees._options import GrowthOptions

from ..routes import uses_native

pytestmark = pytest.mark.routes

needs_native = pytest.mark.skipif(not uses_native(), reason="nothing is compiled")
every_grower = pytest.mark.parametrize(
    "grower",
    [
        pytest.param(NumpyHistogramGrower, id="numpy"),
        pytest.param(CompiledHistogramGrower, id="native", marks=needs_native),
    ],
)


def every_cut(codes, rows):
    """(feature, missing left, code, mask of the left rows) of all cuts, in the order of ties."""
    for j in range(codes.shape[1]):
        column = codes[rows, j]
        missing = column == MISSING
        values = np.unique(column[~missing]).tolist()
        for with_missing in (False, True):
            for c, following in zip(values, [*values[1:], None]):
                left = (column <= c) | (missing & with_missing)
                if 0 < left.sum() < len(rows):
                    yield j, with_missing, 254 if following is None else (c + following) // 2, left


def best_cut(data, node):
    codes, t, w, o, cst = data.codes, data.t, data.w, data.options, data.cst
    rows, l2 = node.rows, o.l2_regularization

    def mean(some):
        return np.sum(w[some] * t[some]) / (w[some].sum() + l2)

    def size(some):
        return mean(some) * np.sum(w[some] * t[some])

    best, best_size = None, -np.inf
    for cut in every_cut(codes, rows):
        j, _, _, left = cut
        a, b = rows[left], rows[~left]
        low, high = node.bounds
        if (
            min(len(a), len(b)) < o.min_samples_leaf
            or min(w[a].sum(), w[b].sum()) < o.min_weight_leaf
            or (mean(a) - mean(b)) * cst[j] > 0
            or (cst[j] and not low <= min(mean(a), mean(b)) <= max(mean(a), mean(b)) <= high)
        ):
            continue
        if size(a) + size(b) > best_size:
            best, best_size = cut, size(a) + size(b)
    if best is None:
        return None
    gain = best_size - size(rows)
    if gain + 1e-14 * best_size < o.min_impurity_decrease * w.sum():
        return None
    j, missing_left, code, left = best
    if not (codes[rows, j] == MISSING).any():
        missing_left = 2 * left.sum() > len(rows)
    low, high = node.bounds
    middle = (mean(rows[left]) + mean(rows[~left])) / 2
    bounds = [(low, high)] * 2
    if cst[j]:
        bounds = [(low, middle), (middle, high)][:: int(cst[j])]
    kids = [
        SimpleNamespace(rows=part, depth=node.depth + 1, bounds=side, cut=None)
        for part, side in zip((rows[left], rows[~left]), bounds)
    ]
    return SimpleNamespace(j=j, code=code, missing_left=missing_left, kids=kids, gain=gain)


def may_split(data, node):
    o, rows = data.options, node.rows
    return (
        node.depth < o.max_depth
        and len(rows) >= max(o.min_samples_split, 2 * o.min_samples_leaf)
        and np.ptp(data.t[rows]) > 0
    )


def brute_force(codes, t, w, options):
    """The nodes of the tree, in its order."""
    data = SimpleNamespace(codes=codes, t=t, w=w, options=options)
    data.cst = options.constraints(codes.shape[1])
    root = SimpleNamespace(rows=np.arange(len(t)), depth=0, bounds=(-np.inf, np.inf), cut=None)
    nodes = [root]
    if options.max_leaf_nodes:
        seen = []
        for _ in range(1, options.max_leaf_nodes):
            seen += [(node, best_cut(data, node)) for node in nodes[len(seen) :]]
            open_ones = [
                (cut.gain, -i, node, cut)
                for i, (node, cut) in enumerate(seen)
                if node.cut is None and cut is not None and may_split(data, node)
            ]
            if not open_ones:
                break
            _, _, node, node.cut = max(open_ones, key=lambda one: one[:2])
            nodes += node.cut.kids
        return nodes, data

    def grow(node):
        node.cut = best_cut(data, node) if may_split(data, node) else None
        if node.cut is not None:
            for kid in node.cut.kids:
                nodes.append(kid)
                grow(kid)

    grow(root)
    return nodes, data


def check_equal(tree, node, nodes, data, rtol):
    number = {id(one): i for i, one in enumerate(nodes)}
    assert len(tree) == len(nodes)
    assert tree.depth == max(one.depth for one in nodes)
    for i, one in enumerate(nodes):
        rows, cut = one.rows, one.cut
        w, t = data.w[rows], data.t[rows]
        assert tree.n_rows[i] == len(rows)
        assert tree.weight[i] == pytest.approx(w.sum(), rel=1e-12)
        regularised = w.sum() + data.options.l2_regularization
        value = np.clip(w @ t / regularised, *one.bounds)
        assert tree.value[i, 0] == pytest.approx(value, rel=rtol, abs=rtol)
        variance = np.average((t - np.average(t, weights=w)) ** 2, weights=w)
        assert tree.impurity[i] == pytest.approx(variance, rel=1e-9, abs=1e-12)
        if cut is None:
            assert tree.left[i] == tree.right[i] == -1
            assert np.all(node[rows] == i)
            continue
        kids = [number[id(kid)] for kid in cut.kids]
        assert [tree.left[i], tree.right[i]] == kids
        found = tree.feature[i], tree.code[i], bool(tree.missing_left[i])
        assert found == (cut.j, cut.code, bool(cut.missing_left))


def random_problem(seed):
    """Few rows with ties, repeated and constant columns, weights, missing values and options."""
    rng = np.random.default_rng(seed)
    n, p = rng.integers(1, 30), rng.integers(1, 4)
    X = rng.integers(0, rng.integers(1, 9), (n, p)).astype(float)
    if seed % 3 == 0:
        X[rng.random((n, p)) < 0.3] = np.nan
    t = rng.integers(-4, 5, n) / 8.0
    w = rng.integers(1, 6, n) / (4.0 if seed % 2 else 1.0)
    options = GrowthOptions(
        criterion="squared_error",
        max_depth=int(rng.integers(1, 6)),
        max_leaf_nodes=int(rng.choice([0, 0, 2, 5])),
        min_samples_split=int(rng.choice([2, 2, 6])),
        min_samples_leaf=int(rng.choice([1, 1, 3])),
        min_weight_leaf=float(rng.choice([0.0, 0.0, 2.5])),
        min_impurity_decrease=float(rng.choice([0.0, 0.0, 0.01])),
        l2_regularization=float(rng.choice([0.0, 0.0, 0.5])),
        monotonic_cst=rng.integers(-1, 2, p) if seed % 5 == 0 else None,
    )
    return BinnedColumns.of(X, 255), t, w if seed % 4 else None, options


@every_grower
@pytest.mark.parametrize("block", range(10))
def test_every_split_is_the_one_of_all_cuts(block, grower):
    for seed in range(40 * block, 40 * block + 40):
        columns, t, w, options = random_problem(seed)
        tree, node = grower(columns, options).grow(t, w, None)
        weight = np.ones(len(t)) if w is None else w
        nodes, data = brute_force(columns.codes, t, weight, options)
        check_equal(tree, node, nodes, data, rtol=1e-12)


@needs_native
@pytest.mark.parametrize("leaves", [0, 12])
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_threads_do_not_change_a_bit(weights, leaves):
    X, y, rng = rows_of(7, 40_000, 5, 0.1)
    whole, real = rng.integers(1, 4, 40_000) * 1.0, rng.random(40_000)
    w = {"none": None, "whole": whole, "real": real}[weights]
    options = GrowthOptions(criterion="squared_error", max_depth=6, max_leaf_nodes=leaves)
    columns = BinnedColumns.of(X, 255)
    rows = np.flatnonzero(rng.random(len(y)) < 0.7)
    for some in (None, rows):
        a, leaf = CompiledHistogramGrower(columns, options).grow(y, w, some)
        reference, _ = NumpyHistogramGrower(columns, options).grow(y, w, some)
        assert_same_tree(a, reference, rtol=1e-5)
        for n_threads in (2, 4, 40):
            threaded = CompiledHistogramGrower(columns, options, n_threads)
            threaded.trees.least_shared = 0
            b, other = threaded.grow(y, w, some)
            np.testing.assert_array_equal(leaf, other)
            for field in dataclasses.fields(a):
                one, two = getattr(a, field.name), getattr(b, field.name)
                np.testing.assert_array_equal(one, two, err_msg=field.name)


def assert_same_tree(a, b, rtol=1e-12):
    for name in ("left", "right", "feature", "code", "missing_left"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ("value", "impurity", "weight"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=1e-12)


def rows_of(seed, n=300, p=4, missing=0.0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, p)), 1)
    X[rng.random((n, p)) < missing] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 1]) + rng.standard_normal(n)
    return X, y, rng


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_builder_of_histograms_sums_exactly(weighted, missing, monkeypatch):
    X, y, rng = rows_of(0, 5000, 3, missing)
    w = rng.uniform(0.5, 2, len(y)) if weighted else None
    columns = BinnedColumns.of(X, 255)
    rows = np.flatnonzero(rng.random(len(y)) < 0.4)
    found = []
    for limit, joint in ((1, 1), (10**6, 10**6), (10**6, 1)):
        monkeypatch.setattr(bin_sums, "_BUILDER_ROWS", limit)
        monkeypatch.setattr(bin_sums, "_JOINT_CODES", joint)
        sums = BinSums(columns.codes, int(columns.n_bins.max()), missing > 0)
        weights = GridWeights(w) if weighted else None
        sums.set_values(GridTargets(y, weights), weights)
        for some in (None, rows):
            sums.of(some, out := np.empty((2 + weighted, 3, sums.width)))
            found.append(out)
    for a, b in zip(found, found[2:]):
        np.testing.assert_array_equal(a, b)


def test_both_ways_to_the_histograms_grow_the_same_tree(monkeypatch):
    X, y, rng = rows_of(1, 3000, missing=0.1)
    columns = BinnedColumns.of(X, 255)
    for options in ({"max_depth": 8}, {"max_leaf_nodes": 20}):
        options = GrowthOptions(criterion="squared_error", min_samples_leaf=5, **options)
        for w in (None, rng.uniform(0, 1, len(y))):
            trees = []
            for limit in (1, 10**6):
                monkeypatch.setattr(bin_sums, "_BUILDER_ROWS", limit)
                trees.append(NumpyHistogramGrower(columns, options).grow(y, w, None))
            (a, leaf), (b, other) = trees
            assert_same_tree(a, b, rtol=0)
            np.testing.assert_array_equal(leaf, other)
            np.testing.assert_array_equal(leaf, a.leaves(columns))


@pytest.mark.parametrize("limit", [1, 10**6])
def test_whole_weights_are_repeated_rows(limit, monkeypatch):
    monkeypatch.setattr(bin_sums, "_BUILDER_ROWS", limit)
    for seed in range(10):
        X, y, rng = rows_of(seed, 60, 3, 0.1 * (seed % 2))
        w = rng.integers(1, 5, len(y))
        again = np.repeat(np.arange(len(y)), w)
        options = GrowthOptions(
            criterion="squared_error", max_depth=6, l2_regularization=0.5 * (seed % 3)
        )
        columns = BinnedColumns.of(X, 255)
        a, _ = NumpyHistogramGrower(columns, options).grow(y, w.astype(float), None)
        repeated = columns.take_rows(again)
        b, _ = NumpyHistogramGrower(repeated, options).grow(y[again], None, None)
        np.testing.assert_array_equal(a.value, b.value)
        np.testing.assert_array_equal(a.code, b.code)
        np.testing.assert_array_equal(a.feature, b.feature)


@every_grower
def test_some_rows_are_those_rows_alone(grower):
    X, y, rng = rows_of(2, missing=0.2)
    w = rng.uniform(0.5, 2, len(y))
    rows = np.sort(rng.permutation(len(y))[:120]).astype(np.intp)
    columns = BinnedColumns.of(X, 255)
    for depth in (3, 30):
        options = GrowthOptions(criterion="squared_error", max_depth=depth)
        a, leaf = grower(columns, options).grow(y, w, rows)
        b, _ = grower(columns.take_rows(rows), options).grow(y[rows], w[rows], None)
        assert_same_tree(a, b, rtol=0)
        np.testing.assert_array_equal(leaf, a.leaves(columns))
        of_leaf = np.bincount(leaf[rows], w[rows], len(a))
        np.testing.assert_allclose(of_leaf[a.is_leaf], a.weight[a.is_leaf])


@pytest.mark.parametrize("leaves", [None, 12])
def test_draws_of_features_are_those_of_scikit_learn(leaves):
    """On codes without gaps at the root and a target without ties."""
    for seed in range(12):
        X, y, rng = rows_of(seed, 200, 6)
        X[:, 4] = 1.0  # constant columns are not counted as drawn
        X[:, 5] = rng.integers(0, 2, 200)  # constant below its first cut
        columns = BinnedColumns.of(X, 255)
        cap = {"min_samples_leaf": 8, **({} if leaves is None else {"max_leaf_nodes": leaves})}
        state = np.random.RandomState(seed)
        theirs = DecisionTreeRegressor(max_features=2, random_state=state, **cap)
        theirs.fit(columns.codes.astype(np.float32), y)
        options = GrowthOptions(
            criterion="squared_error",
            max_features=2,
            seed=int(np.random.RandomState(seed).randint(2**31 - 1)),
            **cap,
        )
        ours, _ = NumpyHistogramGrower(columns, options).grow(y, None, None)
        reference = theirs.tree_
        np.testing.assert_array_equal(ours.feature, reference.feature)
        np.testing.assert_array_equal(ours.left, reference.children_left)
        inner = ~ours.is_leaf
        np.testing.assert_array_equal(ours.code[inner], np.floor(reference.threshold[inner]))
        np.testing.assert_allclose(ours.value[:, 0], reference.value[:, 0, 0], atol=1e-9)
        np.testing.assert_allclose(ours.impurity, reference.impurity, atol=1e-9)


@every_grower
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_targets_of_any_size(scale, grower):
    X, y, _ = rows_of(3)
    options = GrowthOptions(criterion="squared_error", max_depth=4)
    a, _ = grower(BinnedColumns.of(X, 20), options).grow(y, None, None)
    b, _ = grower(BinnedColumns.of(X, 20), options).grow(scale * y, None, None)
    np.testing.assert_array_equal(a.code, b.code)
    np.testing.assert_allclose(scale * a.value, b.value, rtol=1e-9)


@every_grower
def test_constant_targets_and_columns_give_one_leaf(grower):
    options = GrowthOptions(criterion="squared_error")
    for X, y in (
        (np.arange(5.0)[:, None], np.full(5, 0.3)),
        (np.ones((5, 2)), np.arange(5.0)),
        (np.full((5, 1), np.nan), np.arange(5.0)),
        (np.ones((1, 1)), np.ones(1)),
        (np.arange(5.0)[:, None], np.zeros(5)),
    ):
        tree, node = grower(BinnedColumns.of(X, 255), options).grow(y, None, None)
        assert len(tree) == 1
        assert tree.value[0, 0] == pytest.approx(y.mean())
        assert not node.any()


@every_grower
def test_monotonic_constraints_hold(grower):
    for seed in range(5):
        X, y, _ = rows_of(seed, missing=0.1)
        cst = np.array([1, -1, 0, 1])
        options = GrowthOptions(criterion="squared_error", max_depth=6, monotonic_cst=cst)
        columns = BinnedColumns.of(X, 255)
        tree, _ = grower(columns, options).grow(y, None, None)
        for j in np.flatnonzero(cst):
            grid = np.repeat(X[:50, None], 15, axis=1)
            grid[:, :, j] = np.linspace(-3, 3, 15)
            leaf = tree.leaves(columns.coded(grid.reshape(-1, 4)))
            steps = np.diff(tree.value[leaf, 0].reshape(50, 15), axis=1)
            assert (cst[j] * steps).min() >= 0
