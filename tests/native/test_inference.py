"""The loops of inference against NumPy, and arrays that do not fit.

tests/averaging/test_intervals.py has the order statistics of whole ensembles.
"""

import numpy as np
import pytest

from .loops import (
    BYTES,
    byte_tables,
    exact_order_statistics,
    fill_leaves,
    leaf_quantiles,
    most_shared,
    rows_near_rank,
    turn,
    undecided,
)
from .loops import add_tables_of_inference as add_tables

LANES = 128


def in_leaves(**wrong):
    """Arguments of `leaf_quantiles`: a query, and T trees with two leaves of n / 2 rows each."""
    T, n = 3, 6
    known = {
        "leaves": 2 * np.arange(T)[None] + 1,
        "first": np.arange(2 * T + 1) * (n // 2),
        "rank": np.tile(np.arange(n, dtype=np.int32), T),
        "share": np.full(n * T, 2 / (n * T)),
        "n": n,
        "levels": np.array([0.1, 0.5, 0.9]),
        "out": np.zeros((1, 3), dtype=np.int64),
    }
    return {**known, **wrong}


def ranks_of(kind, shape, n, rng):
    if kind == "spread":
        return rng.integers(0, n, shape)
    if kind == "one":
        return np.full(shape, n // 2)
    # Nearly all in one range of those that they are divided into, and again in one of its ranges.
    near = n // 3 + rng.integers(0, 3 if kind == "ties" else 300, shape)
    far = rng.random(shape) < 0.02
    near[far] = rng.integers(0, n, far.sum())
    return near


@pytest.mark.parametrize("T", [1, 2, 7])
@pytest.mark.parametrize("size", [1, 4, 60])
@pytest.mark.parametrize("kind", ["spread", "narrow", "ties", "one"])
@pytest.mark.parametrize("n", [1000, 2**31 - 1])
def test_quantiles_of_rows_in_leaves(T, size, kind, n):
    rng = np.random.default_rng(T)
    rank = np.sort(ranks_of(kind, (20, T, size), n, rng), axis=2).astype(np.int32)
    rank[0, 0, -1] = n - 1
    share = rng.random(rank.shape)
    share /= share.sum(axis=(1, 2), keepdims=True)
    levels = np.array([0.0, 0.2, 0.2, 0.7, 1.5])
    found = np.zeros((20, 5), dtype=np.int64)
    leaves = np.arange(20 * T).reshape(20, T)
    first = np.arange(20 * T + 1) * size
    leaf_quantiles(leaves, first, rank.ravel(), share.ravel(), n, levels, found)
    for i in range(20):
        order = np.argsort(rank[i], axis=None, kind="stable")
        below = np.cumsum(share[i].ravel()[order])
        places = np.minimum(np.searchsorted(below, levels), T * size - 1)
        np.testing.assert_array_equal(found[i], rank[i].ravel()[order][places])


@pytest.mark.parametrize(
    "wrong",
    [
        {"leaves": np.array([[1, 3, 6]])},
        {"leaves": np.array([[1, 3, -1]])},
        {"first": np.array([0, 3, 6, 9, 12, 15, 19])},
        {"first": np.array([0, 3, 2, 9, 12, 15, 18])},
        {"first": np.array([0, -3, 6, 9, 12, 15, 18])},
        {"rank": np.full(18, 6, dtype=np.int32)},
        {"rank": np.full(18, -1, dtype=np.int32)},
        {"rank": np.zeros(18, dtype=np.int64)},
        {"share": np.ones(17)},
        {"out": np.zeros((1, 2), dtype=np.int64)},
        {"out": np.zeros((2, 3), dtype=np.int64)},
        {"n": 5},
        {"n": -1},
    ],
)
def test_leaves_that_do_not_fit(wrong):
    arguments = in_leaves()
    leaf_quantiles(**arguments)
    np.testing.assert_array_equal(arguments["out"], [[3, 4, 5]])
    with pytest.raises(ValueError):
        leaf_quantiles(**in_leaves(**wrong))


def drawn_rows(n=50, n_nodes=7, **wrong):
    """Arguments of `fill_leaves`: some rows of one tree."""
    rng = np.random.default_rng(n)
    rows = rng.permutation(n)[: n // 2]
    known = {
        "leaves": rng.integers(0, n_nodes, n).astype(np.int32),
        "rows": rows,
        "weights": rng.integers(1, 4, len(rows)).astype(float),
        "rank": rng.permutation(n).astype(np.int32),
        "n_trees": 3,
        "sizes": np.zeros(n_nodes, dtype=np.int64),
        "ranks": np.zeros(len(rows), dtype=np.int32),
        "shares": np.zeros(len(rows)),
    }
    return {**known, **wrong}


@pytest.mark.parametrize("n", [0, 1, 2, 50, 1000])
def test_rows_are_put_into_their_leaves(n):
    given = drawn_rows(n)
    fill_leaves(**given)
    leaf, rank = (given[name][given["rows"]] for name in ("leaves", "rank"))
    order = np.lexsort((rank, leaf))
    totals = np.bincount(leaf, weights=given["weights"], minlength=7)
    np.testing.assert_array_equal(given["sizes"], np.bincount(leaf, minlength=7))
    np.testing.assert_array_equal(given["ranks"], rank[order])
    expected = (given["weights"] / (3 * totals[leaf]))[order]
    np.testing.assert_array_equal(given["shares"], expected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"leaves": np.full(50, 7, dtype=np.int32)},
        {"leaves": np.full(50, -1, dtype=np.int32)},
        {"leaves": np.zeros(49, dtype=np.int32)},
        {"rows": np.zeros(25, dtype=np.int64)},
        {"rows": np.arange(26, 51)},
        {"rows": np.arange(-1, 24)},
        {"rows": np.arange(24)},
        {"weights": np.ones(24)},
        {"rank": np.zeros(50, dtype=np.int32)},
        {"rank": np.arange(1, 51, dtype=np.int32)[::-1].copy(), "rows": np.arange(25)},
        {"rank": np.arange(-1, 49, dtype=np.int32), "rows": np.arange(25)},
        {"n_trees": 0},
        {"ranks": np.zeros(24, dtype=np.int32)},
        {"shares": np.zeros(24)},
    ],
)
def test_rows_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        fill_leaves(**drawn_rows(**wrong))


# --- order statistics -----------------------------------------------------------------------------


def near_a_rank(sums=None, rank=3, n=10, q=2, **wrong):
    rng = np.random.default_rng(0)
    known = {
        "sums": rng.random((q, n), dtype=np.float32) if sums is None else sums,
        "inverse": np.ones(n, dtype=np.float32),
        "residuals": np.zeros(n, dtype=np.float32),
        "rank": rank,
        "start": 0.0,
        "error": np.zeros(q, dtype=np.float32),
        "below": np.zeros(q, dtype=np.int64),
        "near": np.zeros(q, dtype=np.int64),
        "rows": np.zeros((q, 4), dtype=np.int64),
    }
    return {**known, **wrong}


@pytest.mark.parametrize("n", [10, 1003])
def test_rows_near_a_rank(n):
    error = np.float32(0.1)
    rows = np.zeros((2, n), dtype=np.int64)
    arguments = near_a_rank(n=n, error=np.full(2, error), rows=rows)
    rows_near_rank(**arguments)
    for j, numbers in enumerate(arguments["sums"]):
        found = np.sort(numbers)[2]
        below, near = arguments["below"][j], arguments["near"][j]
        assert below == np.sum(numbers < found - error)
        rows = np.flatnonzero(np.abs(numbers - found) <= error)
        assert near == len(rows)
        np.testing.assert_array_equal(arguments["rows"][j, :near], rows[:near])


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -np.inf])
def test_a_search_among_equal_or_infinite_numbers_ends(value):
    arguments = near_a_rank(np.full((2, 10), value, dtype=np.float32))
    rows_near_rank(**arguments)
    assert (arguments["near"] > arguments["rows"].shape[1]).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": 0},
        {"rank": 11},
        {"inverse": np.ones(9, dtype=np.float32)},
        {"residuals": np.ones(11, dtype=np.float32)},
        {"error": np.zeros(1, dtype=np.float32)},
        {"below": np.zeros(1, dtype=np.int64)},
        {"near": np.zeros(3, dtype=np.int64)},
        {"rows": np.zeros((1, 4), dtype=np.int64)},
        {"rows": np.zeros((2, 0), dtype=np.int64)},
        {"sums": np.zeros((2, 10))},
    ],
)
def test_numbers_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        rows_near_rank(**near_a_rank(**wrong))


def exact(**wrong):
    known = {
        "bits": np.array([[255], [1], [128]], dtype=np.uint8),
        "t": np.arange(16.0).reshape(2, 8),
        "signed": np.array([1.0, -1.0, 2.0]),
        "residuals": np.array([0.0, 0.5, 1.0]),
        "kept": np.array([2, 0, 1]),
        "rows": np.array([[0, 1, 2], [2, 9, 9]]),
        "count": np.array([3, 1]),
        "rank": np.array([1, 0]),
        "ends": np.zeros(2),
    }
    return {**known, **wrong}


def test_order_statistics_of_half_bytes():
    arguments = exact()
    exact_order_statistics(**arguments)
    # First query: 2 t_0 + 1, the sum of all, -t_7 + .5; second: -t_7 + .5.
    np.testing.assert_array_equal(arguments["ends"], [1.0, -14.5])


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": np.array([[0, 1, 3], [2, 9, 9]])},
        {"rows": np.array([[0, 1, -1], [2, 9, 9]])},
        {"kept": np.array([2, 0, 3])},
        {"kept": np.array([-1, 0, 1])},
        {"count": np.array([4, 1])},
        {"count": np.array([-1, 1])},
        {"rank": np.array([3, 0])},
        {"rank": np.array([-1, 0])},
        {"t": np.zeros((2, 9))},
        {"signed": np.zeros(2)},
        {"residuals": np.zeros(4)},
        {"ends": np.zeros(1)},
    ],
)
def test_order_statistics_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        exact_order_statistics(**exact(**wrong))


# --- sums from tables -----------------------------------------------------------------------------


def tables_and_codes(n=70, n_members=30, unit=1e-3):
    """Predictions and masks, their tables and codes in lines for 8 members, 4 of them at a time."""
    assert BYTES == 4
    rng = np.random.default_rng(0)
    outside = rng.random((n, n_members)) < 0.4
    bits = np.packbits(outside, axis=1)
    t = np.zeros((32, LANES))
    t[:n_members] = rng.standard_normal((n_members, LANES))
    tables, codes = np.zeros((4, 256, LANES), np.int16), np.ascontiguousarray(bits.T)
    byte_tables(t, unit, tables)
    return outside @ t[:n_members], tables, codes


def test_sums_from_tables():
    unit = 1e-3
    expected, tables, codes = tables_and_codes(unit=unit)
    n = len(expected)
    sums, rows = np.zeros((n, LANES), np.int16), np.arange(0, n, 2)
    add_tables(tables, codes, rows, 0, 4, sums)
    np.testing.assert_allclose(unit * sums[rows], expected[rows], atol=2.1 * unit)
    assert not sums[1::2].any()
    out = np.zeros((5, len(rows)), np.float32)
    turn(sums, rows, unit, out)
    np.testing.assert_array_equal(out, np.float32(unit) * sums[rows, :5].T.astype(np.float32))
    inverse, residuals = np.full(n, 0.1), np.linspace(0, 1, n)
    for up, down, bands in ((0, 0, [[0.5, 0.6], [0.2, 0.3]]), (0.1, 0.2, [[-9, -8], [8, 9]])):
        below, left = np.zeros(2, np.int64), rows.copy()
        bands = np.array(bands, dtype=float)
        n_left = undecided(sums, left, unit, inverse, residuals, up, down, bands, below)
        own, r = unit * sums[rows], residuals[rows]
        low, high = 0.1 * (own.min(axis=1) - down), 0.1 * (own.max(axis=1) + up)
        is_below = high + r < bands[0, 0], r - low < bands[1, 0]
        is_above = low + r > bands[0, 1], r - high > bands[1, 1]
        out_of_both = (is_below[0] | is_above[0]) & (is_below[1] | is_above[1])
        np.testing.assert_array_equal(left[:n_left], rows[~out_of_both])
        np.testing.assert_array_equal(below, [np.sum(part & out_of_both) for part in is_below])


def test_tables_that_do_not_fit():
    _, tables, codes = tables_and_codes()
    n = codes.shape[1]
    sums, rows = np.zeros((n, LANES), np.int16), np.arange(n)
    numbers = np.ones(n)
    bands, below = np.zeros((2, 2)), np.zeros(2, np.int64)
    out = np.zeros((3, n), np.float32)
    for wrong in (np.zeros((31, LANES)), np.zeros((32, 64))):
        with pytest.raises(ValueError):
            byte_tables(wrong, 1.0, tables)
    with pytest.raises(ValueError):
        byte_tables(np.zeros((32, LANES)), 1.0, np.zeros((4, 255, LANES), np.int16))
    for arguments in (
        (tables[:3], codes, rows, 0, 0, sums),
        (tables, codes[:, 1:].copy(), rows, 0, 4, sums),
        (tables, codes, rows + 1, 0, 4, sums),
        (tables, codes, rows - 1, 0, 4, sums),
        (tables, codes, rows, 0, 8, sums),
        (tables, codes, rows, 0, 3, sums),
        (tables, codes, rows, -4, 4, sums),
        (tables, codes, rows, 0, 4, sums[:, :64].copy()),
    ):
        with pytest.raises(ValueError):
            add_tables(*arguments)
    for arguments in (
        (sums, rows + 1, 1.0, numbers, numbers, 0.0, 0.0, bands, below),
        (sums, rows, 1.0, numbers[1:], numbers, 0.0, 0.0, bands, below),
        (sums, rows, 1.0, numbers, numbers[1:], 0.0, 0.0, bands, below),
        (sums, rows, 1.0, numbers, numbers, 0.0, 0.0, bands[:1], below),
        (sums, rows, 1.0, numbers, numbers, 0.0, 0.0, bands, below[:1]),
        (sums[:, :64].copy(), rows, 1.0, numbers, numbers, 0.0, 0.0, bands, below),
    ):
        with pytest.raises(ValueError):
            undecided(*arguments)
    for arguments in (
        (sums, rows - 1, 1.0, out),
        (sums, rows[1:], 1.0, out),
        (sums, rows, 1.0, np.zeros((129, n), np.float32)),
        (sums[:, :64].copy(), rows, 1.0, out),
    ):
        with pytest.raises(ValueError):
            turn(*arguments)


def in_shared_leaves(n, T, n_leaves, m, k, **wrong):
    """Arguments of `most_shared`: T trees, each of which divides n rows among its leaves."""
    rng = np.random.default_rng(n + T)
    of_rows = rng.integers(0, n_leaves, (n, T)) + n_leaves * np.arange(T)
    order = np.argsort(of_rows, axis=None, kind="stable")
    known = {
        "leaves": rng.integers(0, n_leaves, (m, T)) + n_leaves * np.arange(T),
        "first": np.searchsorted(of_rows.ravel()[order], np.arange(n_leaves * T + 1)),
        "rows": (order // T).astype(np.int32),
        "excluded": np.arange(m) % n - (np.arange(m) % 2) * (np.arange(m) % n + 1),
        "counts": np.empty(n, dtype=np.int32),
        "places": np.empty(T + 1, dtype=np.int64),
        "shared": np.empty((m, k), dtype=np.int32),
        "found": np.empty((m, k), dtype=np.int64),
    }
    return of_rows, {**known, **wrong}


@pytest.mark.parametrize(
    ("n", "T", "n_leaves", "k"), [(2, 1, 1, 1), (50, 7, 3, 5), (50, 2, 2, 49), (300, 40, 60, 10)]
)
def test_the_rows_of_most_shared_leaves(n, T, n_leaves, k):
    of_rows, known = in_shared_leaves(n, T, n_leaves, 20, k)
    most_shared(**known)
    for i in range(20):
        count = (of_rows == known["leaves"][i]).sum(axis=1)
        if known["excluded"][i] >= 0:
            count[known["excluded"][i]] = -1
        expected = np.argsort(-count, kind="stable")[:k]
        np.testing.assert_array_equal(known["found"][i], expected)
        np.testing.assert_array_equal(known["shared"][i], count[expected])


@pytest.mark.parametrize(
    "wrong",
    [
        {"leaves": np.full((3, 2), 8)},
        {"first": np.arange(9) * 20},
        {"rows": np.full(40, 20, dtype=np.int32)},
        {"rows": np.zeros(40, dtype=np.int32)},  # a row more than once in a leaf
        {"excluded": np.array([0, 20, 1])},
        {"counts": np.empty(3, dtype=np.int32)},
        {"places": np.empty(2, dtype=np.int64)},
        {"shared": np.empty((3, 2), dtype=np.int32)},
        {"found": np.empty((3, 21), dtype=np.int64), "shared": np.empty((3, 21), dtype=np.int32)},
    ],
)
def test_shared_leaves_that_do_not_fit(wrong):
    with pytest.raises(ValueError, match="do not fit"):
        most_shared(**in_shared_leaves(20, 2, 4, 3, 4, **wrong)[1])
