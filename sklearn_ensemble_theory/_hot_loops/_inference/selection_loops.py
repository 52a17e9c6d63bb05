"""Order statistics of sums * inverse + residuals, without writing them down for all queries."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit, jit_lean

# A search by halves ends where so few numbers are left.
FEW = 128
# Rows of which none is collected are passed over in blocks.
BLOCK = 32


@jit_lean
def values_of(sums, inverse, residuals, value):
    for i in range(len(value)):
        value[i] = sums[i] * inverse[i] + residuals[i]


@jit_lean
def n_at_most(value, limit):
    count = np.int32(0)
    for i in range(len(value)):
        count += np.int32(value[i] <= limit)
    return np.int64(count)


@jit_lean
def bracket(value, rank, guess, width):
    """(low, high) with few numbers between them, among them the rank-th smallest.

    Many where numbers tie. `high` is infinite where the number looked for is.
    """
    four, half, top = np.float32(4), np.float32(0.5), np.float32(1e30)
    low, high = guess - width, guess + width
    n_low, n_high = n_at_most(value, low), n_at_most(value, high)
    grown = width
    while n_low >= rank:
        grown = grown * four
        high, n_high = low, n_low
        low = low - grown
        n_low = n_at_most(value, low)
    grown = width
    while n_high < rank:
        if high > top:
            return high, np.float32(np.inf)
        grown = grown * four
        low, n_low = high, n_high
        high = high + grown
        n_high = n_at_most(value, high)
    while n_high - n_low > FEW:
        middle = low + (high - low) * half
        if middle <= low or middle >= high:
            break
        count = n_at_most(value, middle)
        if count >= rank:
            high, n_high = middle, count
        else:
            low, n_low = middle, count
    return low, high


@jit_lean
def collect(value, low, high, rows):
    """Write the first rows with low <= value <= high; returns how many there are."""
    n, size = len(value), 0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        count = np.int32(0)
        for i in range(start, stop):
            count += np.int32(value[i] >= low) & np.int32(value[i] <= high)
        if count == 0:
            continue
        for i in range(start, stop):
            if value[i] >= low and value[i] <= high:
                if size < len(rows):
                    rows[size] = i
                size += 1
    return size


@jit_lean
def smallest(value, n, rank):
    """The number of this rank, from 0 on, among the first n, which are put into another order."""
    first, last = 0, n - 1
    while first < last:
        pivot = value[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while value[i] < pivot:
                i += 1
            while value[j] > pivot:
                j -= 1
            if i <= j:
                value[i], value[j] = value[j], value[i]
                i += 1
                j -= 1
        if rank <= j:
            last = j
        elif rank >= i:
            first = i
        else:
            break
    return value[rank]


@jit
def rows_near_rank(sums, weights, rank, search, counts, rows):
    """The rows whose numbers are within an error of the rank-th smallest number of a query.

    Parameters
    ----------
    sums : float32 array of shape (q, n)
    weights : tuple of two float32 arrays of shape (n,)
        `inverse` and `residuals`.
    rank : int
    search : tuple (start, error, value, own)
        A first guess, float; the error of each query, float32 of shape (q,); memory for n float32
        numbers and for as many float32 numbers as `rows` has columns.
    counts : tuple of two int64 arrays of shape (q,)
        Output: the numbers that are certainly smaller, and the rows near it.
    rows : int64 array of shape (q, most)
        Output: these rows in increasing order. Where the second count is larger than `most` they
        are not complete.
    """
    inverse, residuals = weights
    start, error, value, own = search
    below, near = counts
    guess, width = np.float32(start), np.float32(1 / 256)
    half = np.float32(0.5)
    for j in range(len(sums)):
        values_of(sums[j], inverse, residuals, value)
        low, high = bracket(value, rank, guess, width)
        low, high = low - error[j], high + error[j]
        size = collect(value, low, high, rows[j])
        if size > rows.shape[1]:
            near[j] = size
            continue
        n_below = n_at_most(value, high) - size
        for at in range(size):
            own[at] = value[rows[j, at]]
        found = smallest(own, size, rank - 1 - n_below)
        if found < np.float32(1e30):
            # The width follows how far the numbers of successive queries are apart.
            width = max(half * width + np.abs(found - guess), error[j])
            guess = found
        kept = 0
        for at in range(size):
            number = value[rows[j, at]]
            if number < found - error[j]:
                n_below += 1
            elif number <= found + error[j]:
                rows[j, kept] = rows[j, at]
                kept += 1
        below[j], near[j] = n_below, kept
