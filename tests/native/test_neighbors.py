"""The loops over neighbours refuse arrays that do not fit.

tests/averaging/test_neighbor_search.py compares what they find with brute force.
"""

import sys

import numpy as np
import pytest

from .loops import PointTree, leave_out, tie_starts


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((0, 2)),
        np.zeros((3, 0)),
        np.array([[0.0, np.nan]]),
        np.array([[np.inf, 0.0]]),
        np.zeros((3, 2), np.float32),
        np.zeros((2, 3)).T,
        np.zeros(3),
    ],
)
def test_points_without_a_tree(points):
    with pytest.raises(ValueError):
        PointTree(points, 1)


def test_a_tree_needs_room_in_its_leaves():
    PointTree(np.zeros((3, 1)), sys.maxsize)
    for leaf_size in (0, -1):
        with pytest.raises(ValueError):
            PointTree(np.zeros((3, 1)), leaf_size)


@pytest.mark.parametrize(
    "wrong",
    [
        {"queries": np.zeros((4, 3))},
        {"queries": np.full((4, 2), np.nan)},
        {"queries": np.full((4, 2), -np.inf)},
        {"distances": np.zeros((3, 5))},
        {"distances": np.zeros((4, 4))},
        {"found": np.zeros((4, 5), np.int32)},
        {"found": np.zeros((4, 0), np.int64), "distances": np.zeros((4, 0))},
        {"found": np.zeros((4, 9), np.int64), "distances": np.zeros((4, 9))},
    ],
)
def test_queries_that_do_not_fit(wrong):
    points = np.random.default_rng(0).random((8, 2))
    arguments = {
        "queries": points[:4],
        "distances": np.zeros((4, 5)),
        "found": np.zeros((4, 5), np.int64),
    }
    tree = PointTree(points, 1)
    tree.nearest(**arguments)
    np.testing.assert_array_equal(arguments["found"][:, 0], range(4))
    with pytest.raises(ValueError):
        tree.nearest(**{**arguments, **wrong})


def test_one_neighbor_of_each_row_is_left_out():
    points = np.array([[5, 3, 8], [3, 8, 5], [8, 5, 3], [1, 2, 4]])
    distances = np.arange(12.0).reshape(4, 3)
    own = np.array([5, 5, 5, 5])
    kept = np.zeros((4, 2)), np.zeros((4, 2), np.int64)
    leave_out(distances, points, own, *kept)
    np.testing.assert_array_equal(kept[1], [[3, 8], [3, 8], [8, 3], [1, 2]])
    np.testing.assert_array_equal(kept[0], [[1, 2], [3, 4], [6, 8], [9, 10]])
    leave_out(distances[:, :1].copy(), points[:, :1].copy(), own, kept[0][:, :0], kept[1][:, :0])
    for wrong in (own[:3], own.astype(np.int32)):
        with pytest.raises(ValueError):
            leave_out(distances, points, wrong, *kept)
    for wrong in (np.zeros((4, 3)), np.zeros((3, 2))):
        with pytest.raises(ValueError):
            leave_out(distances, points, own, wrong, kept[1])
    with pytest.raises(ValueError):
        leave_out(distances[:, :2].copy(), points, own, *kept)


def test_where_ties_start():
    distances = np.random.default_rng(0).random((3, 40)).cumsum(axis=1)
    distances[:, 7] = distances[:, 6]
    starts = np.zeros((3, 40), bool)
    tie_starts(distances, 0.99, starts)
    assert starts[:, 0].all()
    assert not starts[:, 7].any()
    np.testing.assert_array_equal(starts[:, 1:], distances[:, :-1] < 0.99 * distances[:, 1:])
    for wrong in (np.zeros((3, 39), bool), np.zeros((2, 40), bool), np.zeros((3, 40), int)):
        with pytest.raises(ValueError):
            tie_starts(distances, 0.99, wrong)
    with pytest.raises(ValueError):
        tie_starts(np.zeros((3, 0)), 0.99, np.zeros((3, 0), bool))
