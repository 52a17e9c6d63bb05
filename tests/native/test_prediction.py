"""The compiled loops of prediction refuse arrays that do not fit (tests/trees compares routes)."""

import numpy as np
import pytest

from sklearn_ensemble_theory.trees import BinnedTreeClassifier
from sklearn_ensemble_theory.trees._columns import BinnedColumns

from ..routes import native_disabled, uses_native

pytestmark = pytest.mark.skipif(not uses_native(), reason="nothing is compiled")


def shallow(n=5, T=2, width=1):
    """Arguments of `add_shallow_trees` for trees whose nodes all cut the first column at 0."""
    return {
        "columns": np.zeros((3, n), np.float32),
        "feature": np.zeros((T, 7), np.int32),
        "threshold": np.zeros((T, 7), np.float32),
        "missing_left": np.zeros((T, 7), np.uint8),
        "table": np.ones((T, 128)),
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"feature": np.full((2, 7), 3, np.int32)},
        {"feature": np.full((2, 7), -1, np.int32)},
        {"threshold": np.zeros((1, 7), np.float32)},
        {"table": np.ones((2, 127))},
        {"out": np.zeros((4, 1))},
        {"out": np.zeros((5, 0))},
        {"columns": np.zeros((5, 3), np.float32).T},  # not contiguous
        {"columns": np.zeros((3, 5))},  # of another type
    ],
)
def test_shallow_trees_that_do_not_fit(wrong):
    from sklearn_ensemble_theory._native.prediction import add_shallow_trees

    arguments = shallow()
    add_shallow_trees(**arguments)
    np.testing.assert_array_equal(arguments["out"], np.full((5, 1), 2.0))
    with pytest.raises(ValueError):
        add_shallow_trees(**{**shallow(), **wrong})


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
    ],
)
def test_deep_trees_that_do_not_fit(wrong):
    from sklearn_ensemble_theory._native.prediction import add_deep_values

    arguments = deep()
    add_deep_values(**arguments)
    np.testing.assert_array_equal(arguments["out"], np.ones((5, 1)))
    with pytest.raises(ValueError):
        add_deep_values(**{**deep(), **wrong})


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int32, np.int64])
def test_leaf_values_are_added_for_every_type_of_leaf(dtype):
    from sklearn_ensemble_theory._native.prediction import add_leaf_values

    u, leaf = np.ones(4), np.array([0, 1, 1, 0], dtype=dtype)
    add_leaf_values(u, np.array([0.5, 2.0]), leaf)
    np.testing.assert_array_equal(u, [1.5, 3.0, 3.0, 1.5])
    with pytest.raises(ValueError):
        add_leaf_values(u, np.array([0.5, 2.0]), leaf[:3])


@pytest.mark.parametrize("options", [{"min_samples_leaf": 2000}, {"max_depth": 3}, {}])
@pytest.mark.parametrize("wide", [False, True])
def test_leaves_of_codes_are_those_of_the_other_route(options, wide):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.isnan(X[:, 0]) ^ (X[:, 1] > rng.normal(size=3000))
    tree = BinnedTreeClassifier(max_bins=200, **options).fit(X, y)._node_arrays()
    columns = BinnedColumns.of(X, 200, wide=wide)
    with native_disabled():
        expected = tree.leaves(columns)
    leaf = tree.leaves(columns)
    assert leaf.dtype == expected.dtype
    np.testing.assert_array_equal(leaf, expected)
    assert len(tree.leaves(columns.take_rows(np.arange(0)))) == 0


def test_codes_that_do_not_fit():
    from sklearn_ensemble_theory._native.prediction import leaves_of_codes

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
