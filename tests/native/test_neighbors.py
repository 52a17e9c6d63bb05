"""The loops over neighbours refuse arrays that do not fit.

tests/averaging/test_neighbor_search.py compares what they find with brute force.
"""

import sys

import numpy as np
import pytest

from .loops import PointTree, count_nearer, leave_out, means_by_rank, tie_starts


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


# --- means by rank --------------------------------------------------------------------------------


def neighbours(counted=True, has_own=True, **wrong):
    """Arguments of `means_by_rank`: 30 rows with 6 of 9 points, many of them tied."""
    rng = np.random.default_rng(4)
    points = np.array([rng.permutation(9)[:6] for _ in range(30)])
    starts = rng.random(points.shape) < 0.5
    starts[:, 0] = True
    known = {
        "points": points,
        "starts": starts,
        "counts": rng.integers(1, 4, 9) if counted else None,
        "own": points[:, 2].copy() if counted and has_own else None,
        "sums": rng.random(9),
        "own_targets": rng.random(30) if counted and has_own else None,
        "means": np.zeros((30, 5)),
    }
    return {**known, **wrong}


@pytest.mark.parametrize(("counted", "has_own"), [(True, True), (True, False), (False, False)])
def test_means_by_rank(counted, has_own):
    given = neighbours(counted, has_own)
    nearer = np.zeros(30, dtype=np.int64)
    means_by_rank(**given)
    count_nearer(*(given[name] for name in ("points", "starts", "counts", "own")), nearer)
    for i in range(30):
        counts, sums = given["counts"], given["sums"].copy()
        counts = np.ones(9, dtype=int) if counts is None else counts.copy()
        if has_own:
            counts[given["own"][i]] -= 1
            sums[given["own"][i]] -= given["own_targets"][i]
        ties = np.split(given["points"][i], np.flatnonzero(given["starts"][i])[1:])
        expected = []
        for tie in ties:
            n = counts[tie].sum()
            expected += n * [sums[tie].sum() / max(n, 1)]
        assert nearer[i] == sum(counts[tie].sum() for tie in ties[:-1])
        np.testing.assert_allclose(given["means"][i], expected[:5], rtol=1e-14)


@pytest.mark.parametrize(
    "wrong",
    [
        {"points": np.full((30, 6), 9)},
        {"points": np.full((30, 6), -1)},
        {"points": np.zeros((29, 6), dtype=np.int64)},
        {"starts": np.ones((30, 5), bool)},
        {"counts": np.ones(8, dtype=np.int64)},
        {"counts": None},
        {"counts": np.zeros(9, dtype=np.int64)},
        {"own": np.zeros(29, dtype=np.int64)},
        {"own_targets": None},
        {"own_targets": np.zeros(29)},
        {"sums": np.zeros(8)},
        {"means": np.zeros((29, 5))},
        {"means": np.zeros((30, 99))},
    ],
)
def test_neighbours_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        means_by_rank(**neighbours(**wrong))


def test_numbers_of_nearer_rows_that_do_not_fit():
    given = [neighbours()[name] for name in ("points", "starts", "counts", "own")]
    with pytest.raises(ValueError):
        count_nearer(*given, np.zeros(29, dtype=np.int64))
    with pytest.raises(ValueError):
        count_nearer(given[0][:, :0].copy(), given[1][:, :0].copy(), None, None, np.zeros(30, int))
