"""Columns as codes of one or two bytes."""

import numpy as np
import pytest

from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..surroundings import bin_edges_from_quantiles
from .engine import MISSING, MOST_BINS, BinnedColumns


def columns_of_all_kinds(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.standard_cauchy(n),
            rng.integers(0, 4, n),
            np.full(n, 3.0),
            rng.exponential(size=n) * 1e-30,
            rng.normal(size=n) * 1e30,
            np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
            1 + 1e-7 * rng.normal(size=n),
            np.full(n, np.nan),
        ]
    )
    X[rng.random(n) < 0.2, 0] = np.nan
    X[rng.random(n) < 0.9, 2] = np.nan
    return X


@pytest.mark.parametrize(
    ("max_bins", "wide"),
    [(2, False), (3, True), (255, False), (255, True), (400, True)],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_code_counts_the_edges_below(max_bins, wide, dtype, order):
    X = np.array(columns_of_all_kinds(), dtype=dtype, order=order)
    columns = BinnedColumns.of(X, max_bins, two_bytes=wide)
    assert columns.codes.flags.f_contiguous
    assert columns.codes.dtype == (np.uint16 if wide else np.uint8)
    assert columns.missing == max(max_bins, MISSING)
    assert (columns.n_rows, columns.n_features) == X.shape
    # Single precision does not tell the values 1 + 1e-7 z apart.
    wide_columns = [] if columns.wide is None else np.flatnonzero(columns.wide).tolist()
    assert wide_columns == ([7] if dtype == np.float64 else [])
    for j, edges in enumerate(columns.edges):
        x = X[:, j].astype(dtype if j in wide_columns else np.float32)
        missing = np.isnan(x)
        assert edges.dtype == np.float64
        assert (np.diff(edges) > 0).all()
        assert columns.n_bins[j] == len(edges) + 1 <= max_bins
        assert columns.has_missing[j] == missing.any()
        expected = (x[:, None].astype(np.float64) > edges).sum(axis=1)
        expected[missing] = columns.missing
        np.testing.assert_array_equal(columns.codes[:, j], expected)
        if not missing.all():  # no bin is empty
            assert len(np.unique(expected[~missing])) == columns.n_bins[j]


@pytest.mark.parametrize("max_bins", [100, 255, 1000, 2999])
def test_codes_of_other_rows_and_of_weighted_ones(max_bins):
    X = columns_of_all_kinds(3000)
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    for sample_weight in (None, weight):
        columns = BinnedColumns.of(X, max_bins, sample_weight, two_bytes=max_bins != 255)
        x = np.where(columns.wide, X, X.astype(np.float32))
        expected = np.column_stack([np.searchsorted(*each) for each in zip(columns.edges, x.T)])
        expected[np.isnan(X)] = columns.missing
        np.testing.assert_array_equal(columns.codes, expected)
        other = columns.coded(X[::-1])
        np.testing.assert_array_equal(other.codes[::-1], expected)
        np.testing.assert_array_equal(columns.has_missing, np.isnan(X).any(axis=0))
        np.testing.assert_array_equal(other.has_missing, columns.has_missing)


def test_edges_are_those_of_the_quantiles():
    X = np.random.default_rng(2).normal(size=(5000, 3)).astype(np.float32)
    weight = np.random.default_rng(3).random(5000)
    for sample_weight in (None, weight):
        columns = BinnedColumns.of(X, 100, sample_weight)
        expected = bin_edges_from_quantiles(X.astype(np.float64), 100, sample_weight)
        for edges, reference in zip(columns.edges, expected, strict=True):
            np.testing.assert_array_equal(edges, reference)


def test_few_values_get_a_bin_each():
    X = np.random.default_rng(4).integers(0, 255, (4000, 2)) / 7.0
    columns = BinnedColumns.of(X, 255)
    for j in range(2):
        _, inverse = np.unique(X[:, j], return_inverse=True)
        np.testing.assert_array_equal(columns.codes[:, j], inverse)


@pytest.mark.parametrize("n_values", [2**11, 2**12, 2**13, 2**15, 2**16 - 1])
def test_many_values_get_a_bin_each(n_values):
    """One more or less than a power of two; the last is the largest number of bins."""
    for some in (n_values - 1, n_values, n_values + 1):
        if some > MOST_BINS:
            with pytest.raises(ValueError, match="65535"):
                BinnedTreeRegressor(max_bins=some).fit([[0.0], [1.0]], [0.0, 1.0])
            continue
        x = np.random.default_rng(some).permutation(some)
        X = np.append(np.cbrt(x - 1000.0), np.nan)[:, None]
        columns = BinnedColumns.of(X, some, two_bytes=True)
        np.testing.assert_array_equal(columns.codes[:-1, 0], x)
        assert columns.codes[-1, 0] == columns.missing == some


def test_integer_weights_are_repeated_rows():
    X = columns_of_all_kinds(500)
    weight = np.random.default_rng(5).integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    by_weight = BinnedColumns.of(X, 20, weight)
    by_rows = BinnedColumns.of(X[repeated], 20)
    for edges, reference in zip(by_weight.edges, by_rows.edges, strict=True):
        np.testing.assert_array_equal(edges, reference)
    np.testing.assert_array_equal(by_weight.codes[repeated], by_rows.codes)


def test_missing_only_where_the_weight_is_zero():
    X = np.array([[1.0], [2.0], [np.nan]])
    columns = BinnedColumns.of(X, 255, np.array([1.0, 1.0, 0.0]))
    assert columns.has_missing.all()
    np.testing.assert_array_equal(columns.codes[:, 0], [0, 1, MISSING])


def test_parts_of_the_columns():
    columns = BinnedColumns.of(columns_of_all_kinds(), 30)
    np.testing.assert_array_equal(columns.row_codes, columns.codes)
    assert columns.row_codes.flags.c_contiguous
    assert columns.row_codes is columns.row_codes
    some = columns.take_features([2, 0])
    np.testing.assert_array_equal(some.codes, columns.codes[:, [2, 0]])
    assert some.edges[1] is columns.edges[0]
    assert some.codes.flags.f_contiguous
    np.testing.assert_array_equal(some.n_bins, columns.n_bins[[2, 0]])
    few = columns.take_rows([5, 1])
    np.testing.assert_array_equal(few.codes, columns.codes[[5, 1]])
    assert few.codes.flags.f_contiguous
    wide = BinnedColumns.of(columns_of_all_kinds(), 30, two_bytes=True)
    np.testing.assert_array_equal(wide.in_one_byte().codes, columns.codes)
    assert wide.in_one_byte().codes.dtype == np.uint8
    assert columns.in_two_bytes() is columns.in_two_bytes()
    np.testing.assert_array_equal(columns.in_two_bytes().codes, wide.codes)
    assert wide.in_two_bytes() is wide
    assert wide.take_rows([3]).codes.dtype == np.uint16
    more = BinnedColumns.of(columns_of_all_kinds(), 300, two_bytes=True)
    assert more.in_one_byte() is more
    assert {more.missing} == {more.take_rows([3]).missing, more.take_features([3]).missing}
    assert more.coded(np.array([[np.nan] * 9])).codes[0, 0] == 300


def test_thresholds_part_single_precision_neighbours():
    low = np.float32(0.1)
    X = np.array([[low], [np.nextafter(low, np.float32(1))]])
    np.testing.assert_array_equal(BinnedColumns.of(X, 2).codes[:, 0], [0, 1])
    # So do those of double precision.
    X = np.array([[0.1], [np.nextafter(0.1, 1)], [0.2]])
    np.testing.assert_array_equal(BinnedColumns.of(X, 255).codes[:, 0], [0, 1, 2])


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39, -1e300])
def test_infinite_values_are_refused(value):
    X = np.array([[0.0], [value]])
    if np.isinf(value):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            BinnedColumns.of(X, 255)
    else:
        np.testing.assert_array_equal(BinnedColumns.of(X, 255).codes, np.argsort(X, axis=0))
    columns = BinnedColumns.of(np.array([[0.0], [1.0]]), 255)
    assert columns.coded(np.array([[value]])).codes[0, 0] == (value > 0)


def test_one_row_and_no_row():
    columns = BinnedColumns.of(np.array([[2.0, np.nan]]), 255)
    np.testing.assert_array_equal(columns.codes, [[0, MISSING]])
    np.testing.assert_array_equal(columns.n_bins, [1, 1])
    assert columns.coded(np.empty((0, 2))).n_rows == 0


def test_threads_do_not_change_the_bins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2**16, 5))
    X[::7, 2] = np.nan
    one, three = (BinnedColumns.of(X, 50, n_threads=k) for k in (1, 3))
    np.testing.assert_array_equal(one.codes, three.codes)
    np.testing.assert_array_equal(one.has_missing, three.has_missing)
    for a, b in zip(one.edges, three.edges):
        np.testing.assert_array_equal(a, b)
    X[5, 4] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        BinnedColumns.of(X, 50, n_threads=3)
