"""The compiled loops of prediction refuse arrays that do not fit (tests/trees compares routes)."""

import numpy as np
import pytest

from ..routes import uses_native

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
