"""Steps of boosting by quadrants on the table of a pair.

The arguments of both loops:

sums : float array of shape (A, B)
    Sums of the residuals in the cells; replaced by those after the steps.
weight : float array of shape (A, B)
    Weights of the cells.
inverse : float array of shape (4, A - 1, B - 1)
    One over the weight of each quadrant of each cut, 0 for cuts that may not be used.
rate : float
n_steps : int
added : float array of shape (A, B)
    The sum of all steps is added to it.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit, jit_part


@jit_part
def cumulate(sums, cumulated):
    """Sums over all cells at or before each cell, in both directions."""
    n_rows, n_columns = sums.shape
    for x in range(n_rows):
        total = 0.0
        for y in range(n_columns):
            total += sums[x, y]
            cumulated[x, y] = total if x == 0 else cumulated[x - 1, y] + total


@jit
def averaged_steps(sums, weight, inverse, rate, n_steps, added):
    """Steps by `rate` times the mean of the four means over all cuts."""
    n_rows, n_columns = sums.shape
    n_cuts = 0
    for x in range(n_rows - 1):
        for y in range(n_columns - 1):
            n_cuts += inverse[0, x, y] > 0
    if n_cuts == 0:
        return
    share = rate / n_cuts
    cumulated, corner = np.empty(sums.shape), np.zeros((n_rows, n_columns))
    left, top, below = np.empty(n_rows), np.empty(n_columns), np.empty(n_columns)
    for _ in range(n_steps):
        cumulate(sums, cumulated)
        last, everything = cumulated[n_rows - 1], cumulated[n_rows - 1, n_columns - 1]
        # A cut's four values are d everywhere, b - d in the rows before it, c - d in the columns
        # before it, and a - b - c + d where both are.
        constant = 0.0
        left[:], top[:] = 0.0, 0.0
        for x in range(n_rows - 1):
            row = cumulated[x, n_columns - 1]
            in_row, const_row = 0.0, 0.0
            for y in range(n_columns - 1):
                s = cumulated[x, y]
                a = s * inverse[0, x, y]
                b = (row - s) * inverse[1, x, y]
                c = (last[y] - s) * inverse[2, x, y]
                d = (everything - row - last[y] + s) * inverse[3, x, y]
                corner[x, y] = a - b - c + d
                top[y] += c - d
                in_row += b - d
                const_row += d
            left[x] = in_row
            constant += const_row
        total = 0.0
        for y in range(n_columns - 1, -1, -1):
            total += top[y]
            top[y] = total + constant
        below[:] = 0.0
        before = 0.0
        for x in range(n_rows - 1, -1, -1):
            before += left[x]
            total = 0.0
            for y in range(n_columns - 1, -1, -1):
                total += corner[x, y]
                below[y] += total
            for y in range(n_columns):
                step = share * (below[y] + before + top[y])
                added[x, y] += step
                sums[x, y] -= weight[x, y] * step


@jit
def best_steps(sums, weight, inverse, rate, n_steps, added):
    """Steps by `rate` times the four means of the cut that lowers the squares most."""
    n_rows, n_columns = sums.shape
    cumulated, gains = np.empty(sums.shape), np.empty(n_columns)
    for _ in range(n_steps):
        cumulate(sums, cumulated)
        last, everything = cumulated[n_rows - 1], cumulated[n_rows - 1, n_columns - 1]
        best, cut_x, cut_y = 0.0, -1, -1
        for x in range(n_rows - 1):
            row = cumulated[x, n_columns - 1]
            for y in range(n_columns - 1):
                a = cumulated[x, y]
                b, c = row - a, last[y] - a
                d = everything - row - last[y] + a
                gains[y] = (
                    a * a * inverse[0, x, y]
                    + b * b * inverse[1, x, y]
                    + c * c * inverse[2, x, y]
                    + d * d * inverse[3, x, y]
                )
            for y in range(n_columns - 1):
                if gains[y] > best:
                    best, cut_x, cut_y = gains[y], x, y
        if cut_x < 0:
            return
        a, row = cumulated[cut_x, cut_y], cumulated[cut_x, n_columns - 1]
        d = everything - row - last[cut_y] + a
        a *= rate * inverse[0, cut_x, cut_y]
        b = rate * (row - cumulated[cut_x, cut_y]) * inverse[1, cut_x, cut_y]
        c = rate * (last[cut_y] - cumulated[cut_x, cut_y]) * inverse[2, cut_x, cut_y]
        d *= rate * inverse[3, cut_x, cut_y]
        for x in range(n_rows):
            before, after = (a, b) if x <= cut_x else (c, d)
            for y in range(cut_y + 1):
                added[x, y] += before
                sums[x, y] -= weight[x, y] * before
            for y in range(cut_y + 1, n_columns):
                added[x, y] += after
                sums[x, y] -= weight[x, y] * after
