"""The few loops that touch every row in every round, as pure functions on arrays."""

import numpy as np

from sklearn_ensemble_theory._compat import HistogramBuilder

# Below so many rows bincount is as fast.
_BUILDER_ROWS = 2**14
_BUILDER_BINS = 256
_BUILDER_CELL = np.dtype(
    [("sum_gradients", np.float64), ("sum_hessians", np.float64), ("count", np.uint32)]
)
# Several columns share one table while their joint codes stay below this many cells: a table of
# doubles of that size lies in the processor's second cache.
_TABLE_CELLS = 2**16


def pack_columns(codes, n_bins, rows=slice(None)):
    """Joint codes of neighbouring columns, so that one pass counts several of them.

    `codes` are p integer arrays (n,) of values below `n_bins`. Each item of the list is (number of
    columns, codes): the code of the columns j, j+1, ... is (c_j B + c_{j+1}) B + ..., in the
    smallest type that holds it.
    """
    width = 1
    while n_bins > 1 and n_bins ** (width + 1) <= _TABLE_CELLS:
        width += 1
    packs = []
    for first in range(0, len(codes), width):
        columns = codes[first : first + width]
        dtype = np.min_scalar_type(n_bins ** len(columns) - 1)
        joint = columns[0][rows].astype(dtype)
        for column in columns[1:]:
            joint *= dtype.type(n_bins)
            joint += column[rows].astype(dtype, copy=False)
        packs.append((len(columns), joint))
    return packs


def bin_masses(packs, rows, weight, n_bins, out):
    """out[j, c] = sum of `weight`, that of the slice `rows`, over the rows with code j = c."""
    j = 0
    for n_columns, joint in packs:
        table = np.bincount(joint[rows], weight, n_bins**n_columns)
        # Sum the others out, one column at a time from the left: half the work for each.
        for left in range(n_columns, 0, -1):
            table = table.reshape(n_bins, -1)
            out[j] = table.sum(axis=1)
            j += 1
            if left > 1:
                table = table.sum(axis=0)


def has_signed_sums(codes):
    return HistogramBuilder is not None and codes.dtype == np.uint8 and len(codes) >= _BUILDER_ROWS


def signed_sums(codes, values, n_bins, all_rows, rough=False):
    """Sums of `values` in every bin of every column, by scikit-learn's histograms: (p, n_bins).

    These hold two sums of single precision numbers, in double precision: one is given the values
    rounded, the other what the rounding lost, and together they are as good as doubles. `rough`
    leaves out what the rounding lost: half the time, and sums that are wrong by at most 2^-24 of
    the sum of the absolute values.

    `codes` are uint8 (n, p) in Fortran order, `values` at most 1 in absolute value, `all_rows` the
    uint32 numbers 0 ... n-1, so that they are not allocated in every round. It runs in one thread:
    on a busy machine two that wait for each other are slower than one.
    """
    high = values.astype(np.float32)
    low = np.zeros(1, np.float32) if rough else (values - high).astype(np.float32)
    builder = HistogramBuilder(codes, _BUILDER_BINS, high, low, rough, 1)
    found = builder.compute_histograms_brute(all_rows)
    # With its type: NumPy needs a fifth of a millisecond to read it from the buffer.
    found = np.frombuffer(found, dtype=_BUILDER_CELL).reshape(codes.shape[1], _BUILDER_BINS)
    sums = found["sum_gradients"]
    return (sums if rough else sums + found["sum_hessians"])[:, :n_bins]


def two_valued(mask, yes, no):
    """np.where for two finite numbers, three times as fast for long masks without a pattern."""
    if len(mask) < 512:
        return np.where(mask, float(yes), float(no))
    chosen = np.multiply(mask, float(yes))
    chosen += np.multiply(~mask, float(no))
    return chosen


def inner(a, b):
    """a'b; of long vectors without BLAS, whose threads cost more than they save here."""
    return float(np.dot(a, b) if len(a) < 4096 else np.einsum("i,i->", a, b))


def ranges(starts, stops):
    """The integers of each range [start, stop), one range after the other; where each begins."""
    lengths = stops - starts
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    positions = np.arange(lengths.sum()) + np.repeat(starts - first, lengths)
    return positions, first
