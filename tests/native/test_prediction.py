"""Loops of prediction refuse arrays that do not fit (tests/trees has the sums of trees)."""

import numpy as np
import pytest

from sklearn_ensemble_theory.trees import BinnedTreeClassifier

from ..trees.engine import BinnedColumns, nodes_of
from ..trees.walks import leaf_of_row, leaves_by_walks
from .loops import (
    EdgeTable,
    LooseNodes,
    add_coded_trees,
    add_deep_values,
    add_leaf_values,
    add_small_trees,
    check_nodes,
    coded_nodes,
    codes_of_blocks,
    leaves_of_codes,
    small_nodes,
)


def small(n=5, T=2, width=1):
    """Arguments of `add_small_trees` for trees of one inner node, which cuts column 0 at 0."""
    nodes = np.zeros((T, 4), np.uint32)
    nodes[:, 2] = 1
    return {
        "columns": np.zeros((3, n), np.float32),
        "nodes": nodes,
        "starts": np.arange(T + 1),
        "values": np.ones((2 * T, 1)),
        "first": 0,
        "stop": T,
        "out": np.zeros((n, width)),
    }


def deep(n=5):
    """Arguments of `add_deep_values` for one tree that is a leaf."""
    return {
        "rows": np.zeros((n, 3), np.float32),
        "nodes": np.zeros((1, 2), np.uint32),
        "starts": np.array([0, 1]),
        "shift": 3,
        "values": np.ones(1),
        "out": np.zeros((n, 1)),
    }


def stored(starts=(0, 1, 1, 2), rows=(4, 0), zero=(0, 0, 0)):
    """Where these rows have values that may not be 0."""
    return np.int32(starts), np.int32(rows), np.float32(zero)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": np.array([[3, 0, 1, 0], [0, 0, 1, 0]], np.uint32)},  # no such column
        {"nodes": np.array([[0, 0, 1, 0], [2**31, 0, 1, 0]], np.uint32)},
        {"nodes": np.array([[0, 0, 2, 0], [0, 0, 1, 0]], np.uint32)},  # passes the last leaf
        {"nodes": np.zeros((2, 3), np.uint32)},
        {"starts": np.array([0, 1, 3])},
        {"starts": np.array([0, -1, 2])},
        {"values": np.ones((3, 1))},
        {"values": np.ones((4, 2))},
        {"first": -1},
        {"stop": 3},
        {"out": np.zeros((4, 1))},
        {"out": np.zeros((5, 0))},
        {"columns": np.zeros((5, 3), np.float32).T},  # not contiguous
        {"columns": np.zeros((3, 5))},  # of another type
        {"nodes": np.array([[0, 0, 1, 2], [0, 0, 1, 0]], np.uint32)},  # no such set
        {"sets": np.zeros((1, 31), np.uint8)},
    ],
)
def test_small_trees_that_do_not_fit(wrong):
    arguments = small()
    add_small_trees(**arguments)
    np.testing.assert_array_equal(arguments["out"], np.full((5, 1), 2.0))
    with pytest.raises(ValueError):
        add_small_trees(**{**small(), **wrong})


def test_sets_of_small_trees():
    """Bit k of a set is category k; what is no category has the last bit."""
    given = small(n=7, T=1)
    given["columns"][0] = [0, 1, 8, 254, np.nan, -1, 1e30]
    given["nodes"][:, 3] = 3
    given["values"] = np.array([[1.0], [2.0]])  # on the left, on the right
    sets = np.zeros((2, 32), np.uint8)
    sets[1, 0], sets[1, 1], sets[1, 31] = 0b10, 0b1, 0b10000000
    add_small_trees(**given, sets=sets)
    assert given["out"].ravel().tolist() == [2, 1, 1, 2, 1, 1, 1]


def loose_tree(**changes):
    """A tree that cuts column 1 at 0, and on the right column 0 at 1; its leaves are 1, 3 and 4."""
    fields = {
        "left": np.array([1, -1, 3, -1, -1], np.int32),
        "right": np.array([2, -1, 4, -1, -1], np.int32),
        "feature": np.array([1, -2, 0, -2, -2], np.int32),
        "threshold": np.array([0.0, -2, 1, -2, -2]),
        "missing_left": np.zeros(5, np.uint8),
        "value": np.arange(10.0).reshape(5, 2),
        "left_bins": None,
        "is_wide": None,
        "columns": None,
        "places": None,
        **changes,
    }
    return tuple(fields.values())


def wide(array):
    """As a field of larger records."""
    records = np.zeros(
        len(array), dtype=np.dtype([("pad", "u1"), ("field", array.dtype)], align=True)
    )
    records["field"] = array
    return records["field"]


ROWS = np.array([[0, -1], [0, 1], [2, 1], [np.nan, 1]], np.float32)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("stride", [np.asarray, wide])
def test_loose_nodes_are_read_where_they_are(index, stride):
    links = [stride(each.astype(index)) for each in loose_tree()[:3]]
    cuts, directions = map(stride, loose_tree()[3:5])
    trees = [(*links, cuts, directions, *loose_tree()[5:]), loose_tree(places=np.array([1, -1]))]
    nodes, leaves, out = LooseNodes(trees), np.empty((2, 4), np.int32), np.zeros((4, 3))
    nodes.leaves(ROWS, 0, 2, leaves)
    np.testing.assert_array_equal(leaves, [[1, 3, 4, 4]] * 2)
    nodes.add(ROWS, 0, 2, np.array([1.0, 10.0]), out)
    np.testing.assert_array_equal(out[:, 0], [2, 6, 8, 8])
    np.testing.assert_array_equal(out[:, 1], [20, 60, 80, 80])
    assert not out[:, 2].any()
    nodes.leaves(ROWS.astype(np.float64), 0, 2, found := np.empty((2, 4), np.int32))
    np.testing.assert_array_equal(found, leaves)


def test_columns_of_loose_nodes_in_double_precision():
    tree = loose_tree(threshold=np.array([0.0, -2, 1 - 1e-12, -2, -2]))
    wide = loose_tree(threshold=tree[3], is_wide=np.array([1], np.uint8))
    rows = np.array([[1 - 1e-9, 1], [1 - 1e-11, 1], [1.0, 1], [1e99, 1e99]])
    LooseNodes([tree, wide]).leaves(rows, 0, 2, leaves := np.empty((2, 4), np.int32))
    assert leaves.tolist() == [[4, 4, 4, 4], [3, 3, 4, 4]]
    top = loose_tree(feature=np.array([1, -2, 1, -2, -2], np.int32), threshold=wide[3] + 3.5e38)
    LooseNodes([top]).leaves(rows, 0, 1, leaves[:1])
    assert leaves[0].tolist() == [1, 1, 1, 1]  # no number of single precision is larger


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("left", 2, 5), ("right", 2, -1), ("left", 2, 0), ("feature", 2, 2), ("feature", 2, -2)],
)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_damaged_nodes_on_the_way_of_a_row(name, place, value, index):
    names = "left", "right", "feature"
    links = {each: array.astype(index) for each, array in zip(names, loose_tree())}
    links[name][place] = value
    nodes, leaves = LooseNodes([loose_tree(**links)]), np.empty((1, 4), np.int32)
    nodes.leaves(ROWS[:1], 0, 1, leaves[:, :1])  # does not pass the node
    assert leaves[0, 0] == 1
    with pytest.raises(ValueError, match="lead to no leaf"):
        nodes.leaves(ROWS, 0, 1, leaves)
    with pytest.raises(ValueError, match="no tree over 2 columns"):
        check_nodes(*(each.astype(np.int32) for each in links.values()), np.array([0, 5]), 2)
    with pytest.raises(ValueError, match="no tree over 1 col"):
        check_nodes(*loose_tree()[:3], np.array([0, 5]), 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"left": np.zeros(4, np.int32)},
        {"left": np.zeros(5, np.int64)},  # of another type than the others
        {"threshold": np.zeros(4)},
        {"threshold": np.zeros(5, np.float32)},
        {"missing_left": np.zeros(6, np.uint8)},
        {"value": np.zeros((4, 2))},
        {"value": np.zeros((5, 0))},
        {"left_bins": np.zeros((5, 31), np.uint8)},
        {"left_bins": np.zeros((4, 32), np.uint8)},
        {"is_wide": np.zeros(0, np.uint8)},
        {"columns": np.array([0, -1])},
        {"columns": np.array([], np.int64)},
        {"columns": np.array([0, 2])},
        {"places": np.array([0])},
        {"places": np.array([0, 3])},
    ],
)
def test_loose_trees_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        LooseNodes([loose_tree(**wrong)]).add(ROWS, 0, 1, np.ones(1), np.zeros((4, 3)))


@pytest.mark.parametrize(
    "wrong", [{"first": -1}, {"stop": 2}, {"scale": np.ones(2)}, {"out": np.zeros((3, 1))}]
)
def test_calls_of_loose_trees_that_do_not_fit(wrong):
    given = {"first": 0, "stop": 1, "scale": np.ones(1), "out": np.zeros((4, 1))}
    LooseNodes([loose_tree()]).add(ROWS, **given)
    with pytest.raises(ValueError):
        LooseNodes([loose_tree()]).add(ROWS, **{**given, **wrong})


@pytest.mark.parametrize("shape", [(2, 32), (3, 31)])
def test_sets_of_single_trees_that_do_not_fit(shape):
    left, right = np.array([1, -1, -1], np.int32), np.array([2, -1, -1], np.int32)
    feature, missing_left = np.array([0, -2, -2], np.int32), np.zeros(3, np.uint8)
    sets, leaf = np.zeros(shape, np.uint8), np.zeros(4, np.int32)
    codes, code = np.zeros((4, 1), np.uint8, order="F"), np.full(3, -3, np.int32)
    with pytest.raises(ValueError):
        leaves_of_codes(codes, left, right, feature, code, missing_left, 255, leaf, sets)


def one_small_tree(**changes):
    """Arguments of `small_nodes` for a tree of three leaves."""
    return {
        "left": np.array([1, -1, 3, -1, -1], np.int32),
        "right": np.array([2, -1, 4, -1, -1], np.int32),
        "feature": np.array([1, -2, 0, -2, -2], np.int32),
        "cuts": np.arange(5, dtype=np.float32),
        "missing_left": np.zeros(5, np.uint8),
        "first": np.array([0, 5]),
        "starts": np.full(2, -1),
        "nodes": np.zeros((2, 4), np.uint32),
        "leaf": np.full(3, -1),
        **changes,
    }


def test_leaves_on_the_left_are_passed():
    given = one_small_tree()
    small_nodes(**given)
    assert given["starts"].tolist() == [0, 2]
    assert given["leaf"].tolist() == [1, 3, 4]
    assert given["nodes"][:, [0, 2]].tolist() == [[1, 0b001], [0, 0b010]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"left": np.array([0, -1, 3, -1, -1], np.int32)},
        {"right": np.array([5, -1, 4, -1, -1], np.int32)},
        {"left": np.array([1, 2, 3, -1, -1], np.int32)},
        {"first": np.array([0, 6])},
        {"first": np.array([-1, 4])},
        {"leaf": np.full(4, -1)},
        {"nodes": np.zeros((3, 4), np.uint32)},
        {"cuts": np.zeros(4, np.float32)},
    ],
)
def test_nodes_that_are_no_small_tree(wrong):
    with pytest.raises(ValueError):
        small_nodes(**one_small_tree(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"starts": np.array([0, 2])},
        {"starts": np.array([0, 0])},
        {"starts": np.array([-1, 1])},
        {"starts": np.zeros(0, np.int64)},
        {"nodes": np.zeros((1, 3), np.uint32)},
        {"shift": 0},
        {"shift": 32},
        {"values": np.ones(2)},
        {"out": np.zeros((4, 1))},
        {"stored": stored(starts=[0, 1, 2])},
        {"stored": stored(starts=[1, 1, 1, 2])},
        {"stored": stored(starts=[0, 2, 1, 2])},
        {"stored": stored(starts=[0, 1, 1, 3])},
        {"stored": stored(rows=[0, 5])},
        {"stored": stored(rows=[-1, 0])},
        {"stored": stored(zero=[0])},
        {"rows": np.zeros((1025, 3), np.float32), "out": np.zeros((1025, 1)), "stored": stored()},
    ],
)
def test_deep_trees_that_do_not_fit(wrong):
    for right in ({}, {"stored": stored()}):
        arguments = {**deep(), **right}
        add_deep_values(**arguments)
        np.testing.assert_array_equal(arguments["out"], np.ones((5, 1)))
    with pytest.raises(ValueError):
        add_deep_values(**{**deep(), **wrong})


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int32, np.int64])
def test_leaf_values_are_added_for_every_type_of_leaf(dtype):
    u, leaf = np.ones(4), np.array([0, 1, 1, 0], dtype=dtype)
    add_leaf_values(u, np.array([0.5, 2.0]), leaf)
    np.testing.assert_array_equal(u, [1.5, 3.0, 3.0, 1.5])
    with pytest.raises(ValueError):
        add_leaf_values(u, np.array([0.5, 2.0]), leaf[:3])


@pytest.mark.parametrize("options", [{"min_samples_leaf": 2000}, {"max_depth": 3}, {}])
@pytest.mark.parametrize("wide", [False, True])
def test_leaves_are_those_of_walks(options, wide):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.isnan(X[:, 0]) ^ (X[:, 1] > rng.normal(size=3000))
    tree = nodes_of(BinnedTreeClassifier(max_bins=200, **options).fit(X, y))
    columns = BinnedColumns.of(X, 200, two_bytes=wide)
    leaf = tree.leaves(columns)
    assert leaf.dtype == np.min_scalar_type(len(tree) - 1)
    np.testing.assert_array_equal(leaf, leaves_by_walks(tree, columns))
    np.testing.assert_array_equal(tree.leaves_of_rows(X), [leaf_of_row(tree, x) for x in X])
    for n in (0, 1, 7, 8, 9, 1023, 1024, 1025, 2048, 2049):
        few = columns.take_rows(np.arange(n))
        np.testing.assert_array_equal(tree.leaves(few), leaf[:n])
        np.testing.assert_array_equal(tree.leaves_of_rows(X[:n]), leaf[:n])


def test_codes_that_do_not_fit():
    ints = {
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "feature": [1, -2, -2],
        "code": [3, 0, 0],
    }
    given = {
        "codes": np.array([[9, 3], [0, 4]], dtype=np.uint8, order="F"),
        **{name: np.array(values, np.int32) for name, values in ints.items()},
        "missing_left": np.zeros(3, np.uint8),
        "missing": 255,
        "leaf": np.empty(2, np.int32),
    }
    leaves_of_codes(**given)
    assert given["leaf"].tolist() == [1, 2]
    for name, value in {
        "codes": np.zeros((2, 2), np.uint8),  # in C order
        "left": np.array([3, -1, -1], np.int32),
        "right": np.array([0, -1, -1], np.int32),
        "feature": np.array([2, -2, -2], np.int32),
        "code": np.zeros(2, np.int32),
        "missing_left": np.zeros(2, np.uint8),
        "leaf": np.empty(3, np.int32),
    }.items():
        with pytest.raises(ValueError):
            leaves_of_codes(**{**given, name: value})


def one_coded_tree(**changes):
    """Arguments of `coded_nodes` for a tree of three leaves."""
    return {
        "left": np.array([1, -1, 3, -1, -1], np.int32),
        "right": np.array([2, -1, 4, -1, -1], np.int32),
        "column": np.array([1, 0, 0, 0, 0], np.int32),
        "code": np.array([7, 0, 253, 0, 0], np.uint8),
        "missing_left": np.array([0, 0, 1, 0, 0], np.uint8),
        "first": np.array([0, 5]),
        "starts": np.full(2, -1),
        "leaves": np.full(2, -1),
        "nodes": np.zeros((2, 2), np.uint32),
        "leaf": np.full(5, -1),
        **changes,
    }


def records(*fields):
    """Of the fields column, cut, shift, group and bits."""
    names = ("cut", "u1"), ("shift", "u1"), ("group", "u1"), ("bits", "u1")
    return np.array(list(fields), dtype=[("column", "u4"), *names]).view(np.uint32).reshape(-1, 2)


def test_records_of_bytes():
    given = one_coded_tree(nodes=np.zeros((0, 2), np.uint32))
    coded_nodes(**given)
    assert given["starts"].tolist() == [0, 2]
    given = one_coded_tree()
    coded_nodes(**given)
    assert given["leaves"].tolist() == [0, 3]
    assert given["leaf"][:3].tolist() == [1, 3, 4]
    assert given["nodes"].tolist() == records((1, 7, 0, 0, 1), (0, 254, 1, 0, 2)).tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"left": np.array([0, -1, 3, -1, -1], np.int32)},
        {"right": np.array([5, -1, 4, -1, -1], np.int32)},
        {"left": np.array([1, 2, 3, -1, -1], np.int32)},
        {"code": np.array([7, 0, 254, 0, 0], np.uint8)},
        {"first": np.array([0, 6])},
        {"first": np.array([-1, 4])},
        {"leaf": np.full(4, -1)},
        {"leaves": np.full(3, -1)},
        {"nodes": np.zeros((2, 4), np.uint32)},
    ],
)
def test_nodes_that_are_no_coded_tree(wrong):
    with pytest.raises(ValueError):
        coded_nodes(**one_coded_tree(**wrong))


def coded(**changes):
    """Arguments of `add_coded_trees` for two trees of two leaves and one record."""
    return {
        "codes": np.zeros((2, 3, 512), np.uint8),
        "nodes": record(),
        "starts": np.arange(3),
        "leaves": np.array([0, 2, 4]),
        "values": np.ones(4),
        "first": 0,
        "stop": 2,
        "out": np.zeros((513, 1)),
        **changes,
    }


def record(column=0, group=0, bits=1):
    """The records of `coded`, and in the second one something else."""
    return records((0, 3, 0, 0, 1), (column, 3, 0, group, bits))


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": record(column=3)},
        {"nodes": record(group=1)},
        {"nodes": record(bits=2)},  # passes the last leaf
        {"nodes": record()[:1]},
        {"starts": np.array([0, 1, 3])},
        {"starts": np.array([0, -1, 2])},
        {"leaves": np.array([0, 0, 2])},
        {"leaves": np.array([0, 2, 5])},
        {"leaves": np.array([0, 257, 259]), "values": np.ones(259)},
        {"first": -1},
        {"stop": 3},
        {"out": np.zeros((512, 1))},
        {"out": np.zeros((513, 0))},
        {"codes": np.zeros((2, 3, 500), np.uint8)},
    ],
)
def test_coded_trees_that_do_not_fit(wrong):
    arguments = coded(nodes=record())
    add_coded_trees(**arguments)
    np.testing.assert_array_equal(arguments["out"], np.full((513, 1), 2.0))
    with pytest.raises(ValueError):
        add_coded_trees(**coded(**wrong))


def test_codes_in_blocks():
    columns = np.zeros((2, 513), np.float32)
    columns[1, [0, 1, 512]] = np.nan, 1, 2
    given = np.array([1], np.int32), [EdgeTable(np.array([0.5, 1.0, 1.5]), 255)]
    codes = np.zeros((2, 1, 512), np.uint8)
    codes_of_blocks(columns, *given, codes)
    assert codes[0, 0, :3].tolist() == [255, 1, 0]
    assert codes[1, 0, 0] == 3
    for used, tables, shape in [
        ([2], given[1], (2, 1, 512)),
        ([1], [], (2, 1, 512)),
        ([1], [EdgeTable(np.arange(256.0), 255)], (2, 1, 512)),
        ([1], [EdgeTable(np.arange(3.0), 3)], (2, 1, 512)),
        ([1], given[1], (1, 1, 512)),
        ([1], given[1], (2, 1, 511)),
    ]:
        with pytest.raises(ValueError):
            codes_of_blocks(columns, np.int32(used), tables, np.zeros(shape, np.uint8))
