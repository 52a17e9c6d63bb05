"""Rounds of AdaBoost: the loops against NumPy, and arrays that do not fit.

tests/erm/test_side_search.py has the searches for stumps.
"""

import numpy as np
import pytest

from .loops import (
    SideSearch,
    add_votes,
    exponential_weights,
    moved_scores,
    moved_sums,
    weighted_votes,
)

BLOCK_ROWS = 2048


@pytest.mark.parametrize("n", [1, 7, BLOCK_ROWS + 3])
def test_exponential_weights_are_exponentials(n):
    rng = np.random.default_rng(0)
    u, start = rng.normal(scale=50, size=n), rng.normal(size=n)
    for starts in (start, float(start[0])):
        top = float((starts - u).max()) + 1.0
        weight = np.empty(n)
        total = exponential_weights(starts, u, top, weight)
        expected = np.exp(starts - u - top)
        assert weight == pytest.approx(expected, rel=1e-14)
        assert total == pytest.approx(expected.sum(), rel=1e-14)
    assert exponential_weights(start[:0], u[:0], 0.0, np.empty(0)) == 0.0
    with pytest.raises(ValueError):
        exponential_weights(start, u, 0.0, np.empty(n + 1))
    with pytest.raises(ValueError):
        exponential_weights(np.zeros(n + 1), u, 0.0, np.empty(n))


@pytest.mark.parametrize("n", [0, 1, 7, BLOCK_ROWS + 3])
def test_sums_and_moves_of_votes(n):
    rng = np.random.default_rng(0)
    weight, u = rng.random(n), rng.normal(size=n)
    votes = np.where(rng.random(n) < 0.4, 1, -1).astype(np.int8)
    assert weighted_votes(weight, votes) == pytest.approx(weight @ votes, rel=1e-12)
    expected = u + 0.3 * votes
    add_votes(u, votes, 0.3)
    np.testing.assert_array_equal(u, expected)
    with pytest.raises(ValueError):
        weighted_votes(weight, np.ones(n + 1, np.int8))
    with pytest.raises(ValueError):
        add_votes(u, np.ones(n + 1, np.int8), 0.3)


# --- rounds over rows in blocks -------------------------------------------------------------------


def rounds(dtype=np.uint8, n=BLOCK_ROWS + 9, p=3, T=2):
    """Arguments of `moved_scores`, but for the result: 2 classes, 2 scores, 3 slots, 5 bins."""
    rng = np.random.default_rng(0)
    return {
        "codes": rng.integers(0, 5, (p, n)).astype(dtype),
        "starts": np.array([0, n // 3, n]),
        "slots": np.array([[0, 1], [2, 1]]),
        "scores": rng.random((2, n)),
        "features": rng.integers(0, p, T),
        "cuts": rng.integers(-1, 6, T),
        "moves": rng.random((T, 3, 2)),
    }


def test_no_rounds_move_no_scores():
    given = rounds(T=0)
    moved = np.empty_like(given["scores"])
    moved_scores(**given, moved=moved)
    np.testing.assert_array_equal(moved, given["scores"])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_scores_and_sums_after_moves(dtype, p):
    """Of a row of class c, `slots[c, k]` says what is added to score k, and where it is summed."""
    given = rounds(dtype, 2 * BLOCK_ROWS + 9, p)  # more than a block of the second class
    codes, starts, slots = given["codes"], given["starts"], given["slots"]
    n, of_class = codes.shape[1], np.repeat([0, 1], np.diff(starts))
    expected, sums = given["scores"].copy(), np.zeros((3, p, 5), np.int64)
    for k in range(2):
        slot = slots[of_class, k]
        for feature, cut, move in zip(given["features"], given["cuts"], given["moves"]):
            is_right = (codes[feature] > cut).astype(int)
            expected[k] += move[slot, is_right]
        whole = np.rint(np.exp(-expected[k] - 1.0) * 2.0**20).astype(np.int64)
        for j in range(p):
            np.add.at(sums, (slot, j, codes[j]), whole)
    moved, found = np.empty((2, n)), np.zeros((3, p, 5), np.int64)
    moved_scores(**given, moved=moved)
    np.testing.assert_array_equal(moved, expected)
    moved_sums(**given, shift=1.0, unit=2.0**20, sums=found)
    np.testing.assert_array_equal(found, sums)


@pytest.mark.parametrize(
    "wrong",
    [
        {"features": np.array([0, 3])},
        {"features": np.array([-1, 0])},
        {"cuts": np.zeros(1, int)},
        {"starts": np.array([0, BLOCK_ROWS, BLOCK_ROWS + 10])},
        {"starts": np.array([0, 9, 8])},
        {"starts": np.array([0, 8])},
        {"slots": np.array([[0, 1], [3, 1]])},
        {"slots": np.array([[0, -1], [2, 1]])},
        {"moves": np.zeros((2, 3, 3))},
        {"scores": np.zeros((1, BLOCK_ROWS + 9))},
        {"codes": np.zeros((3, BLOCK_ROWS + 9), np.int64)},
    ],
)
def test_rounds_that_do_not_fit(wrong):
    given = {**rounds(), **wrong}
    error = TypeError if "codes" in wrong else ValueError
    with pytest.raises(error):
        moved_scores(**given, moved=np.empty_like(given["scores"]))
    with pytest.raises(error):
        moved_sums(**given, shift=0.0, unit=1.0, sums=np.zeros((3, 3, 5), np.int64))


@pytest.mark.parametrize("shape", [(3, 3, 4), (2, 3, 5), (3, 2, 5)])
def test_sums_that_do_not_fit(shape):
    """Codes beyond the last bin raise too, which are looked at block by block."""
    with pytest.raises(ValueError):
        moved_sums(**rounds(), shift=0.0, unit=1.0, sums=np.zeros(shape, np.int64))


# --- the search for a stump -----------------------------------------------------------------------


def test_searches_that_do_not_fit():
    x, side = np.arange(6.0), np.array([0, 0, 1, 1, 1, 1], np.uint8)
    for shape in ((0, 1, 3), (6, 0, 3), (6, 1, 0), (6, 1, 2**15 + 1), (2**31, 1, 3)):
        with pytest.raises(ValueError):
            SideSearch(*shape)
    for X in (np.zeros((5, 1)), np.zeros((6, 2)), np.zeros((6, 1), int)):
        with pytest.raises(ValueError):
            SideSearch(6, 1, 3, X)
    search = SideSearch(6, 1, 3, x[:, None])
    edges = np.array([1.0, 3.0])
    for given in (
        (1, x, edges, side),
        (-1, x, edges, side),
        (0, x[1:], edges, side),
        (0, x, np.arange(3.0), side),
        (0, x, edges, side[1:]),
    ):
        with pytest.raises(ValueError):
            search.code_column(*given)
    left = np.empty(6, np.uint8)
    search.code_column(0, x, edges, side)
    with pytest.raises(ValueError):
        search.best(np.ones(5), 0.0)
    with pytest.raises(ValueError):
        search.set_sides(side[1:])
    for at in ((1, 0, -1), (0, 3, -1), (0, -1, -1), (0, 0, 6)):
        with pytest.raises(ValueError):
            search.rows_left(*at, left)
    with pytest.raises(ValueError):  # nothing is sorted yet
        search.rows_left(0, 0, 0, left)
    j, c, position, threshold, gain, sides, total = search.best(np.ones(6), 0.0)
    assert (j, threshold, gain, sides, total) == (0, 1.5, 6.0, (2.0, 0.0), (2.0, 4.0))
    search.rows_left(j, c, position, left)
    np.testing.assert_array_equal(left, x < 1.5)
    with pytest.raises(ValueError):
        search.rows_left(0, 0, -1, left[1:])


# --- rounds of AdaBoost ---------------------------------------------------------------------------


def test_rounds_of_stumps_that_do_not_fit():
    """What they are is tested in tests/boosting/test_adaboost_margins.py."""
    rng = np.random.default_rng(0)
    n, column = 90, rng.normal(size=90)
    columns = SideSearch(n, 1, 3, column[:, None])
    columns.code_column(0, column, np.array([-0.5, 0.5]), (rng.random(n) < 0.5).astype(np.uint8))
    arguments = {
        "weight": np.full(n, 1 / n),
        "u": np.zeros(n),
        "start": np.full(n, -np.log(n)),
        "largest": -np.log(n),
        "rate": 1.0,
        "limits": (1e-6, 0.5, 1e-50, 1e100),
        "slack": 1e-12,
        "found": np.zeros((3, 12)),
    }
    assert columns.boost(**arguments) == 3
    wrongs = [
        {"weight": np.ones(n - 1)},
        {"weight": None},
        {"u": np.zeros(n + 1)},
        {"start": np.zeros(n - 1)},
        {"limits": (0.0, 0.5)},
        {"found": np.zeros((3, 11))},
        {"found": np.zeros((12, 3)).T},
    ]
    for wrong in wrongs:
        with pytest.raises((ValueError, TypeError)):
            columns.boost(**{**arguments, **wrong})
