"""The growth by histograms against a search of all cuts, written out, and scikit-learn's trees.

Trees over codes of two bytes are grown as those of a forest: ties are decided by another rule.
"""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from ..surroundings import Features
from .engine import BinnedColumns, GrowthOptions, HistogramGrower
from .reference_growth import ReferenceGrower

both_widths = pytest.mark.parametrize("wide", [False, True], ids=["one byte", "two bytes"])


def every_cut(columns, rows):
    """(feature, missing left, code, mask of the left rows) of all cuts, in the order of ties."""
    for j in range(columns.n_features):
        column = columns.codes[rows, j]
        missing = column == columns.missing
        values = np.unique(column[~missing]).tolist()
        for with_missing in (False, True):
            for c, following in zip(values, [*values[1:], None]):
                left = (column <= c) | (missing & with_missing)
                if 0 < left.sum() < len(rows):
                    after = columns.missing - 1 if following is None else (c + following) // 2
                    yield j, with_missing, after, left


def best_cut(data, node):
    columns, t, w, o, cst = data.columns, data.t, data.w, data.options, data.cst
    rows, l2 = node.rows, o.l2_regularization
    may_follow = np.ones(columns.n_features, dtype=bool)
    if o.interactions is not None:
        may_follow = o.interactions.allowed(node.path)

    def mean(some):
        return np.sum(w[some] * t[some]) / (w[some].sum() + l2)

    def size(some):
        return mean(some) * np.sum(w[some] * t[some])

    best, best_size = None, -np.inf
    for cut in every_cut(columns, rows):
        j, _, _, left = cut
        a, b = rows[left], rows[~left]
        low, high = node.bounds
        if (
            not may_follow[j]
            or min(len(a), len(b)) < o.min_samples_leaf
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
    if not (columns.codes[rows, j] == columns.missing).any():
        missing_left = 2 * left.sum() > len(rows)
    kids = parts(data, node, j, left)
    return SimpleNamespace(j=j, code=code, missing_left=missing_left, kids=kids, gain=gain)


def parts(data, node, j, left):
    """The children of a node that feature j divides."""
    rows, (low, high) = node.rows, node.bounds
    sides, bounds = (rows[left], rows[~left]), [(low, high)] * 2
    if data.cst[j] and data.options.bounded:
        l2 = data.options.l2_regularization
        middle = sum(data.w[s] @ data.t[s] / (data.w[s].sum() + l2) for s in sides) / 2
        bounds = [(low, middle), (middle, high)][:: int(data.cst[j])]
    return [
        SimpleNamespace(
            rows=part, depth=node.depth + 1, bounds=side, path=node.path | {j}, cut=None
        )
        for part, side in zip(sides, bounds)
    ]


def root_of(columns, t, w, options):
    data = SimpleNamespace(
        columns=columns, t=t, w=np.ones(len(t)) if w is None else w, options=options
    )
    data.cst = options.constraints(columns.n_features)
    unbounded = -np.inf, np.inf
    rows = np.arange(len(t))
    return data, SimpleNamespace(rows=rows, depth=0, bounds=unbounded, path=frozenset(), cut=None)


def may_split(data, node):
    o, rows = data.options, node.rows
    return (
        node.depth < o.max_depth
        and len(rows) >= max(o.min_samples_split, 2 * o.min_samples_leaf)
        and np.ptp(data.t[rows]) > 0
    )


def brute_force(columns, t, w, options):
    """The nodes of the tree, in its order."""
    data, root = root_of(columns, t, w, options)
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
        moved = value - w @ t / regularised
        assert tree.impurity[i] == pytest.approx(variance + moved**2, rel=1e-9, abs=1e-12)
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
        bounded=seed % 10 == 0,
        interactions=Features(p).interactions("no_interactions") if seed % 7 == 0 else None,
    )
    return X, t, w if seed % 4 else None, options


@pytest.mark.parametrize("grower", [HistogramGrower, ReferenceGrower])
@pytest.mark.parametrize("block", range(10))
def test_every_split_is_the_one_of_all_cuts(block, grower):
    for seed in range(40 * block, 40 * block + 40):
        X, t, w, options = random_problem(seed)
        columns = BinnedColumns.of(X, 255)
        tree, node = grower(columns, options).grow(t, w, None)
        nodes, data = brute_force(columns, t, w, options)
        check_equal(tree, node, nodes, data, rtol=1e-12)


def many_bins(X, seed):
    """Columns of 3000 bins, few of which have rows, with a code of missing values above them."""
    columns = BinnedColumns.of(X, 255, two_bytes=True)
    codes = np.full(256, 3001, dtype=np.uint16)
    codes[:16] = np.sort(np.random.default_rng(seed).choice(3000, 16, replace=False))
    edges = [np.arange(2999) + 0.5] * X.shape[1]
    codes = np.asfortranarray(codes[columns.codes])
    return BinnedColumns(codes, edges, columns.has_missing, 3001)


def gains_of(tree, node, data, root):
    """The gain of each node, and the best one that is allowed, if there is one."""
    columns, l2 = data.columns, data.options.l2_regularization
    found, best = np.full((2, len(tree)), -np.inf)
    stack = [(0, root)]
    while stack:
        i, at = stack.pop()
        rows, w, t = at.rows, data.w[at.rows], data.t[at.rows]
        assert tree.n_rows[i] == len(rows)
        assert tree.weight[i] == pytest.approx(w.sum(), rel=1e-9)
        value = np.clip(w @ t / (w.sum() + l2), *at.bounds)
        assert tree.value[i, 0] == pytest.approx(value, rel=1e-9, abs=1e-9)
        cut = best_cut(data, at) if may_split(data, at) else None
        best[i] = -np.inf if cut is None else cut.gain
        if tree.left[i] < 0:
            assert (node[rows] == i).all()
            continue
        j = int(tree.feature[i])
        column = columns.codes[rows, j]
        is_missing = column == columns.missing
        left = np.where(is_missing, tree.missing_left[i] > 0, column <= tree.code[i])
        if not is_missing.any():
            assert tree.missing_left[i] == (2 * left.sum() > len(rows))
        kids = parts(data, at, j, left)
        sums = [(data.w[k.rows] @ data.t[k.rows], data.w[k.rows].sum()) for k in (at, *kids)]
        whole, *sides = [s * s / (weight + l2) for s, weight in sums]
        found[i] = sum(sides) - whole
        stack += zip((tree.left[i], tree.right[i]), kids)
    return found, best


@pytest.mark.parametrize("block", range(4))
def test_every_split_over_codes_of_two_bytes_has_the_best_gain(block):
    """Also with constraints and limits; and the next leaf to be split is the best one."""
    n_wide = 0
    for seed in range(60 * block, 60 * block + 60):
        X, t, w, options = random_problem(seed)
        columns = many_bins(X, seed)
        grower = HistogramGrower(columns, options)
        assert grower.trees is None
        tree, node = grower.grow(t, w, None)
        found, best = gains_of(tree, node, *root_of(columns, t, w, options))
        n_wide += (tree.code > 255).sum()
        inner = tree.left >= 0
        np.testing.assert_allclose(found[inner], best[inner], rtol=1e-9, atol=1e-9)
        if not options.max_leaf_nodes:
            # Where a cut gains nothing, rounding says whether it is made.
            assert (best[~inner] <= 1e-9).all()
            continue
        leaves = {0}
        for first in range(1, len(tree), 2):
            (parent,) = np.flatnonzero(tree.left == first)
            assert best[parent] >= max(best[i] for i in leaves) - 1e-9
            leaves = leaves - {parent} | {first, first + 1}
        assert len(leaves) == options.max_leaf_nodes or max(best[i] for i in leaves) <= 1e-9
    assert n_wide > 50


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
        a, leaf = HistogramGrower(columns, options).grow(y, w, some)
        reference, _ = ReferenceGrower(columns, options).grow(y, w, some)
        assert_same_tree(a, reference, rtol=1e-5)
        for n_threads in (2, 4, 40):
            threaded = HistogramGrower(columns, options, n_threads)
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


@both_widths
def test_whole_weights_are_repeated_rows(wide):
    for seed in range(10):
        X, y, rng = rows_of(seed, 60, 3, 0.1 * (seed % 2))
        w = rng.integers(1, 5, len(y))
        again = np.repeat(np.arange(len(y)), w)
        options = GrowthOptions(
            criterion="squared_error", max_depth=6, l2_regularization=0.5 * (seed % 3)
        )
        columns = BinnedColumns.of(X, 255, two_bytes=wide)
        a, _ = HistogramGrower(columns, options).grow(y, w.astype(float), None)
        repeated = columns.take_rows(again)
        b, _ = HistogramGrower(repeated, options).grow(y[again], None, None)
        np.testing.assert_allclose(a.value, b.value, rtol=1e-13)
        np.testing.assert_array_equal(a.code, b.code)
        np.testing.assert_array_equal(a.feature, b.feature)


@both_widths
def test_some_rows_are_those_rows_alone(wide):
    X, y, rng = rows_of(2, missing=0.2)
    w = rng.uniform(0.5, 2, len(y))
    rows = np.sort(rng.permutation(len(y))[:120]).astype(np.intp)
    columns = BinnedColumns.of(X, 255, two_bytes=wide)
    for depth in (3, 30):
        options = GrowthOptions(criterion="squared_error", max_depth=depth)
        a, leaf = HistogramGrower(columns, options).grow(y, w, rows)
        b, _ = HistogramGrower(columns.take_rows(rows), options).grow(y[rows], w[rows], None)
        assert_same_tree(a, b, rtol=0)
        np.testing.assert_array_equal(leaf, a.leaves(columns))
        of_leaf = np.bincount(leaf[rows], w[rows], len(a))
        np.testing.assert_allclose(of_leaf[a.is_leaf], a.weight[a.is_leaf])


@pytest.mark.parametrize("grower", [HistogramGrower, ReferenceGrower])
@pytest.mark.parametrize("leaves", [None, 12])
def test_draws_of_features_are_those_of_scikit_learn(leaves, grower):
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
        ours, _ = grower(columns, options).grow(y, None, None)
        reference = theirs.tree_
        np.testing.assert_array_equal(ours.feature, reference.feature)
        np.testing.assert_array_equal(ours.left, reference.children_left)
        inner = ~ours.is_leaf
        np.testing.assert_array_equal(ours.code[inner], np.floor(reference.threshold[inner]))
        np.testing.assert_allclose(ours.value[:, 0], reference.value[:, 0, 0], atol=1e-9)
        np.testing.assert_allclose(ours.impurity, reference.impurity, atol=1e-9)


@both_widths
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_targets_of_any_size(scale, wide):
    X, y, _ = rows_of(3)
    options = GrowthOptions(criterion="squared_error", max_depth=4)
    grower = HistogramGrower(BinnedColumns.of(X, 20, two_bytes=wide), options)
    a, _ = grower.grow(y, None, None)
    b, _ = grower.grow(scale * y, None, None)
    np.testing.assert_array_equal(a.code, b.code)
    np.testing.assert_allclose(scale * a.value, b.value, rtol=1e-9)


@both_widths
def test_constant_targets_and_columns_give_one_leaf(wide):
    options = GrowthOptions(criterion="squared_error")
    for X, y in (
        (np.arange(5.0)[:, None], np.full(5, 0.3)),
        (np.ones((5, 2)), np.arange(5.0)),
        (np.full((5, 1), np.nan), np.arange(5.0)),
        (np.ones((1, 1)), np.ones(1)),
        (np.arange(5.0)[:, None], np.zeros(5)),
    ):
        grower = HistogramGrower(BinnedColumns.of(X, 255, two_bytes=wide), options)
        tree, node = grower.grow(y, None, None)
        assert len(tree) == 1
        assert tree.value[0, 0] == pytest.approx(y.mean())
        assert not node.any()


@both_widths
def test_monotonic_constraints_hold(wide):
    for seed in range(5):
        X, y, _ = rows_of(seed, missing=0.1)
        cst = np.array([1, -1, 0, 1])
        options = GrowthOptions(criterion="squared_error", max_depth=6, monotonic_cst=cst)
        columns = BinnedColumns.of(X, 255, two_bytes=wide)
        tree, _ = HistogramGrower(columns, options).grow(y, None, None)
        for j in np.flatnonzero(cst):
            grid = np.repeat(X[:50, None], 15, axis=1)
            grid[:, :, j] = np.linspace(-3, 3, 15)
            leaf = tree.leaves(columns.coded(grid.reshape(-1, 4)))
            steps = np.diff(tree.value[leaf, 0].reshape(50, 15), axis=1)
            assert (cst[j] * steps).min() >= 0
