"""The best hinge over all columns: sums over bins, gains at their edges, rows of the best bins.

The loops of `erm._hinges`, which explains the notation and has the other route.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

# Knots whose bound is below this share under the best gain are not looked at; far above rounding.
KNOT_MARGIN = 1e-9
# So many bins are searched in the order of their bounds; then the best gain hardly changes.
IN_ORDER_OF_BOUNDS = 64


@jit
def bin_moments(codes, below, values, out):
    """Sums of values, values * below and values * below² in every bin: out[j, bin, 0 ... 2].

    Parameters
    ----------
    codes, below : arrays of shape (p, n)
    values : array of shape (n,)
    out : array of shape (p, n_bins, 3), zeros
    """
    for j in range(len(codes)):
        for i in range(len(values)):
            cell, u = out[j, codes[j, i]], below[j, i]
            first = values[i] * u
            cell[0] += values[i]
            cell[1] += first
            cell[2] += first * u


@jit
def _signed_sums(codes, below, values, out):
    """Positive and negative parts of the sums of values, and sums of values * below, by bin."""
    out[:] = 0.0
    for i in range(len(values)):
        value, cell = values[i], out[codes[i]]
        cell[0] += max(value, 0.0)
        cell[1] += max(-value, 0.0)
        cell[2] += value * below[i]


@jit
def _best_between(N, S, D, E, Q, h):
    """Where N(u)²/D(u) is largest in [0, h]; see `_hinges.best_between`."""
    bottom = N * Q - S * E
    if D <= 0 or abs(bottom) <= 1e-14 * (abs(N) * Q + abs(S) * E):
        return h
    return min(max((S * D - N * E) / bottom, 0.0), h)


@jit
def _edge(edges, j, mirrored, k):
    return 1 - edges[j, edges.shape[1] - 1 - k] if mirrored else edges[j, k]


@jit
def _in_atomic_bin(squares, mass, first, row, b, atom, width):
    """u, N and D of the best knot of a bin whose rows lie at edge `atom`."""
    weight, lever, square = squares
    N, D, S = first[row, b + 1], square[row, b + 1], mass[row, atom]
    E, Q = lever[row, b + 1], weight[row, atom]
    u = _best_between(N, S, D, E, Q, width)
    return u, N + S * u, D + (2 * E + Q * u) * u


@jit
def _inside_least_squares(rows_of_bin, sums, squares, width, data, limits):
    """Distance below the upper edge, N, D and gain of the best knot inside a bin.

    The gain is -inf if none reaches `limits[1]`; `limits[0]` is the least D that is not rounding.
    `rows_of_bin` are (rows, distances below the upper edge of the column's own orientation,
    whether they are mirrored); `sums` and `squares` the sums above the upper edge.
    """
    rows, below, mirrored = rows_of_bin
    S_upper, N_upper = sums
    Q_upper, E_upper, D_upper = squares
    moment, weight = data
    floor, enough = limits
    m = len(rows)
    S = NV = Q = E = V = knot = 0.0
    best_gain, best_knot, best_N, best_D = -np.inf, 0.0, 0.0, 0.0
    for i in range(m + 1):
        next_row = 0
        end = width
        if i < m:
            next_row = rows[i] if mirrored else rows[m - 1 - i]
            end = max(width - below[next_row], 0.0) if mirrored else below[next_row]
        N = N_upper + knot * (S_upper + S) - NV
        level = E_upper + knot * (Q_upper + Q) - E
        D = D_upper + knot * (2 * E_upper + knot * Q_upper)
        D += max(knot * (knot * Q - 2 * E) + V, 0.0)
        S_here, Q_here, room = S_upper + S, Q_upper + Q, max(end - knot, 0.0)
        to_end = N + S_here * room
        # N² is largest at an end and D least here, which excludes most knots without a division.
        if not floor < D or max(N * N, to_end * to_end) >= enough * D:
            u = _best_between(N, S_here, D, level, Q_here, room)
            N, D = N + S_here * u, D + (2 * level + Q_here * u) * u
            gain = N * N / D if floor < D else 0.0
            if gain > best_gain:
                best_gain, best_knot, best_N, best_D = gain, knot + u, N, D
        if i < m:
            w, wt, knot = weight[next_row], moment[next_row], end
            S += wt
            NV += wt * knot
            Q += w
            E += w * knot
            V += w * (knot * knot)
    return best_knot, best_N, best_D, best_gain


@jit
def _inside_inner_product(rows_of_bin, sums, width, moment):
    """Distance below the upper edge, N and |N| of the best knot inside a bin."""
    rows, below, mirrored = rows_of_bin
    S_upper, N_upper = sums
    m = len(rows)
    S = NV = 0.0
    best_knot, best_N, best_gain = 0.0, 0.0, -1.0
    for i in range(m):
        row = rows[i] if mirrored else rows[m - 1 - i]
        knot = max(width - below[row], 0.0) if mirrored else below[row]
        S += moment[row]
        NV += moment[row] * knot
        N = N_upper + knot * S_upper + (knot * S - NV)
        if abs(N) > best_gain:
            best_knot, best_N, best_gain = knot, N, abs(N)
    return best_knot, best_N, best_gain


@jit
def _gains_of_row(columns, squares, row, sums, tables, options):
    """Fill in the sums above the edges, the gains at them and the bounds inside the bins."""
    edges, inside, span = columns[4], columns[5], columns[6]
    mass, first, gains, bounds = tables
    floor, is_square = options[0], options[3]
    p, n_bins = len(span), len(sums)
    mirrored = row >= p
    j = row - p if mirrored else row
    factor = 1.0 if is_square else span[j]
    square = squares[2]
    mass[row, n_bins] = first[row, n_bins] = 0.0
    for b in range(n_bins - 1, -1, -1):
        bin_ = n_bins - 1 - b if mirrored else b
        width = edges[j, bin_ + 1] - edges[j, bin_]
        own = sums[bin_, 0] - sums[bin_, 1]
        lift = sums[bin_, 2] if mirrored else width * own - sums[bin_, 2]
        mass[row, b] = mass[row, b + 1] + own
        first[row, b] = first[row, b + 1] + (lift + width * mass[row, b + 1])
        bounds[row, b] = -np.inf
        if inside[row, b]:
            size = max(abs(first[row, b]), abs(first[row, b + 1]))
            size += max(sums[bin_, 0], sums[bin_, 1]) * width / 4
            if not is_square:
                bounds[row, b] = size * factor
            elif floor < square[row, b + 1]:
                bounds[row, b] = size * size / square[row, b + 1]
            else:
                bounds[row, b] = np.inf
    for k in range(n_bins + 1):
        N = first[row, k]
        if not is_square:
            gains[row, k] = abs(N) * factor
            continue
        gains[row, k] = N * N / square[row, k] if floor < square[row, k] else 0.0
        if k == n_bins:
            continue
        gains[row, n_bins + 1 + k] = -1.0
        if not inside[row, k]:
            bin_ = n_bins - 1 - k if mirrored else k
            width = edges[j, bin_ + 1] - edges[j, bin_]
            atom = k + 1 if mirrored else k
            N, D = _in_atomic_bin(squares, mass, first, row, k, atom, width)[1:]
            gains[row, n_bins + 1 + k] = N * N / D if floor < D else 0.0


@jit
def _search_bin(columns, squares, row, b, tables, data, limits):
    """(z, N, D, gain) of the best knot inside a bin; the gain -inf if it is below `limits[1]`."""
    order, _, below, starts, edges, _, span = columns
    mass, first = tables[0], tables[1]
    p, n_bins = len(span), edges.shape[1] - 1
    mirrored = row >= p
    j, bin_ = (row - p, n_bins - 1 - b) if mirrored else (row, b)
    rows_of_bin = order[j, starts[j, bin_] : starts[j, bin_ + 1]], below[j], mirrored
    width = edges[j, bin_ + 1] - edges[j, bin_]
    sums = mass[row, b + 1], first[row, b + 1]
    upper = _edge(edges, j, mirrored, b + 1)
    if limits[2]:
        above = squares[0][row, b + 1], squares[1][row, b + 1], squares[2][row, b + 1]
        u, N, D, gain = _inside_least_squares(rows_of_bin, sums, above, width, data, limits[:2])
        return upper - u, N, D, gain
    u, N, gain = _inside_inner_product(rows_of_bin, sums, width, data[0])
    return upper - u, N, 1.0, gain * span[j]


@jit
def _at_edge(columns, squares, row, k, tables):
    """(z, N, D, gain) of an edge, or of a bin without an inside."""
    edges, p = columns[4], len(columns[6])
    mass, first, gains = tables[0], tables[1], tables[2]
    n_bins = edges.shape[1] - 1
    mirrored = row >= p
    j = row - p if mirrored else row
    if k <= n_bins:
        z, N, D = _edge(edges, j, mirrored, k), first[row, k], squares[2][row, k]
        return z, N, D, gains[row, k]
    b = k - n_bins - 1
    bin_ = n_bins - 1 - b if mirrored else b
    atom = b + 1 if mirrored else b
    width = edges[j, bin_ + 1] - edges[j, bin_]
    u, N, D = _in_atomic_bin(squares, mass, first, row, b, atom, width)
    return _edge(edges, j, mirrored, b + 1) - u, N, D, gains[row, k]


@jit
def best_hinge(columns, squares, moment, weight, options):
    """(row, z, N, D, gain) of the best hinge; row -1 if none beats the constant.

    Parameters
    ----------
    columns : tuple
        `order`, `codes`, `below`, `starts`, `edges` and `inside` of a `HingeIndex`, and the spans
        of its columns.
    squares : tuple of three arrays of shape (2 p, n_bins + 1)
        Weight, lever and D at every edge; ones for the largest inner product.
    moment, weight : arrays of shape (n,)
    options : (float, float, float, bool)
        The least D that is not rounding; the gain of the constant; the relative tolerance of ties;
        whether N²/D is maximised, not |N|.
    """
    codes, below, edges, p = columns[1], columns[2], columns[4], len(columns[6])
    n_bins = edges.shape[1] - 1
    constant, tolerance, is_square = options[1], options[2], options[3]
    mass, first = np.empty((2 * p, n_bins + 1)), np.empty((2 * p, n_bins + 1))
    gains = np.empty((2 * p, 2 * n_bins + 1 if is_square else n_bins + 1))
    bounds = np.empty((2 * p, n_bins))
    tables = mass, first, gains, bounds
    sums = np.empty((n_bins, 3))
    for j in range(p):
        _signed_sums(codes[j], below[j], moment, sums)
        _gains_of_row(columns, squares, j, sums, tables, options)
        _gains_of_row(columns, squares, j + p, sums, tables, options)
    best = constant
    for row in range(2 * p):
        for k in range(gains.shape[1]):
            best = max(best, gains[row, k])
    likely, size = np.empty(2 * p * n_bins, np.int64), np.empty(2 * p * n_bins)
    n_likely = 0
    for row in range(2 * p):
        for b in range(n_bins):
            likely[n_likely], size[n_likely] = row * n_bins + b, bounds[row, b]
            n_likely += bounds[row, b] > best
    found = np.empty((n_likely, 5))
    n_found = 0
    for turn in range(n_likely):
        k = turn
        if turn < IN_ORDER_OF_BOUNDS:
            for other in range(turn + 1, n_likely):
                if size[other] > size[k]:
                    k = other
            likely[turn], likely[k] = likely[k], likely[turn]
            size[turn], size[k] = size[k], size[turn]
            k = turn
        if size[k] < best:
            continue
        row, b = likely[k] // n_bins, likely[k] % n_bins
        limits = options[0], best - KNOT_MARGIN * abs(best), is_square
        z, N, D, gain = _search_bin(columns, squares, row, b, tables, (moment, weight), limits)
        here = found[n_found]
        here[0], here[1], here[2], here[3], here[4] = row, z, N, D, gain
        n_found += 1
        best = max(best, gain)
    slack = tolerance * abs(best)
    chosen = (-1, 0.0, 0.0, 0.0, 0.0)
    if not best > constant + slack:
        return chosen
    for row in range(2 * p):
        for k in range(gains.shape[1]):
            if chosen[0] < 0 and gains[row, k] >= best - slack:
                z, N, D, gain = _at_edge(columns, squares, row, k, tables)
                chosen = (row, z, N, D, gain)
    for k in range(n_found):
        row, z, N, D, gain = found[k]
        earlier = chosen[0] < 0 or row < chosen[0] or (row == chosen[0] and z < chosen[1])
        if gain >= best - slack and earlier:
            chosen = (int(row), z, N, D, gain)
    return chosen
