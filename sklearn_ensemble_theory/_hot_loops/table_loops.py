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


@jit
def add_moments(fold, y, weight, sums):
    """Add the sums by fold of weights, weighted targets and weighted squares.

    Parameters
    ----------
    fold : uint32 array of shape (n,)
    y : float64 array of shape (n,)
    weight : float64 array of shape (n,) or (0,)
        Without entries all weights are 1.
    sums : float64 array of shape (3, k)
    """
    for i in range(len(y)):
        w = weight[i] if len(weight) else 1.0
        wy = w * y[i]
        sums[0, fold[i]] += w
        sums[1, fold[i]] += wy
        sums[2, fold[i]] += wy * y[i]


@jit
def scale_cut_products(total, held, weights, left, scale, held_left, first, out):
    """Products of centred and scaled columns z = s (u - a), from those of the columns u.

    Parameters
    ----------
    total : array of shape (g, P)
        u'Wu* of some columns with all, over all rows.
    held : array of shape (g, P) or (0, P)
        The same over the held-out rows, where there are any: they are no training rows.
    weights : array of shape (2,)
        The weights of the training rows and of the held-out ones.
    left, scale : arrays of shape (P,)
        w'u over the training rows, of which a is the mean; and s.
    held_left : array of shape (P,) or (0,)
        w'u over the held-out rows.
    first : int
        The number of the first of the columns.
    out : array of shape (g, P) or (g, 2 P)
        Products over the training rows, then over the held-out ones.
    """
    n_all = len(scale)
    weight, held_weight = weights[0], weights[1]
    with_held = len(held) > 0
    for i in range(len(total)):
        own = left[first + i]
        factor = scale[first + i] / weight
        for k in range(n_all):
            product = total[i, k]
            if with_held:
                product -= held[i, k]
            out[i, k] = (product * weight - own * left[k]) * factor * scale[k]
        if with_held:
            share, own_held = own / weight, held_left[first + i]
            for k in range(n_all):
                of_other = left[k] / weight
                centred = held[i, k] - share * (held_left[k] - of_other * held_weight)
                centred -= own_held * of_other
                out[i, n_all + k] = centred * scale[first + i] * scale[k]


@jit
def sum_over_cuts(codes, group, values, offsets, categorical, sums):
    """Sums of the values of the rows left of each cut, for two groups of rows.

    Parameters
    ----------
    codes : unsigned array of shape (p, n)
    group : uint8 array of shape (n,)
        0 or 1.
    values : float64 array of shape (n,)
    offsets : int array of shape (p + 1,)
        Where the cuts of each feature begin; a feature with B - 1 cuts has B bins.
    categorical : bool array of shape (p,)
        The cuts of these features are single bins.
    sums : float64 array of shape (2, P)
        The result.
    """
    widest = 0
    for j in range(len(codes)):
        widest = max(widest, offsets[j + 1] - offsets[j] + 1)
    table = np.zeros((2, widest))
    for j in range(len(codes)):
        first, n_cuts = offsets[j], offsets[j + 1] - offsets[j]
        if n_cuts == 0:
            continue
        table[:, : n_cuts + 1] = 0.0
        column = codes[j]
        for i in range(len(values)):
            table[group[i], column[i]] += values[i]
        for g in range(2):
            total = 0.0
            for c in range(n_cuts):
                total = table[g, c] if categorical[j] else total + table[g, c]
                sums[g, first + c] = total
