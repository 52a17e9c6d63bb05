"""Tables of the combined bins of one column with others, in one pass over the rows."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

# The codes of so many rows stay in the processor's cache while all columns are counted.
BLOCK_ROWS = 2**14


@jit
def add_counts(first, codes, others, n_bins, starts, tables):
    """Count the rows in every pair of bins.

    Parameters
    ----------
    first : uint32 array of shape (n,)
        Bins of the one column.
    codes : unsigned array of shape (p, n)
    others : int array of shape (k,)
        The other columns.
    n_bins : int array of shape (k,)
        Their numbers of bins.
    starts : int array of shape (k + 1,)
        Where the table of each of them begins.
    tables : int64 array of shape (starts[k],)
        Added to: cell ``first * n_bins + code`` of each table.
    """
    for start in range(0, len(first), BLOCK_ROWS):
        rows = first[start : start + BLOCK_ROWS]
        for k in range(len(others)):
            code = codes[others[k], start : start + BLOCK_ROWS]
            table = tables[starts[k] : starts[k + 1]]
            stride = np.uint64(n_bins[k])
            for i in range(len(rows)):
                table[np.uint64(rows[i]) * stride + np.uint64(code[i])] += 1


@jit
def add_weights(first, codes, others, n_bins, weight, starts, tables):
    """Sum the weights of the rows in every pair of bins; see `add_counts`, tables of floats."""
    for start in range(0, len(first), BLOCK_ROWS):
        rows, w = first[start : start + BLOCK_ROWS], weight[start : start + BLOCK_ROWS]
        for k in range(len(others)):
            code = codes[others[k], start : start + BLOCK_ROWS]
            table = tables[starts[k] : starts[k + 1]]
            stride = np.uint64(n_bins[k])
            for i in range(len(rows)):
                table[np.uint64(rows[i]) * stride + np.uint64(code[i])] += w[i]
