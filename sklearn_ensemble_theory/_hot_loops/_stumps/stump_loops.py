"""Loops of the search for a stump of two classes: coarse bins, their sums, the rows inside them.

Every row has a side, 0 or 1 (its class, or the sign of its target), and a weight that is not
negative. The code of a row in a column is twice its bin plus its side, so that one addition
puts its weight where it belongs. With P and N the weights of sides 1 and 0 at or below a threshold,
S = P - N, and T the same over all rows, the gain is |S| + |T - S|.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

# So many rows are summed for all columns before the next: their weights stay in the cache.
BLOCK_ROWS = 2**14


# --- bins ----------------------------------------------------------------------------------------


@jit
def _cell(value, low, scale, last):
    """The cell of a value in an even grid; grows with the value, also after rounding."""
    place = (value - low) * scale
    if place >= 1.0:  # false for nan: infinity times 0, where all values have cell 0
        return last if place >= last else np.int64(place)
    return 0


@jit
def edge_table(edges, first):
    """Fill a table by which `search_codes` finds the edges around a value.

    Parameters
    ----------
    edges : float64 array of shape (m,)
        Increasing, at least one.
    first : uint16 array of shape (size + 1,)
        The result: cell k of an even grid holds the edges first[k] ... first[k + 1] - 1.

    Returns
    -------
    scale : float
        Cells for a unit.
    """
    last = len(first) - 2
    span = edges[-1] - edges[0]
    scale = 0.0
    if 0.0 < span < np.inf:
        scale = last / span
    first[:] = 0
    for c in range(len(edges)):
        first[_cell(edges[c], edges[0], scale, last) + 1] += 1
    for k in range(last + 1):
        first[k + 1] += first[k]
    return scale


@jit
def search_codes(x, side, edges, first, scale, codes, counts):
    """Twice the number of edges below every value of a column, plus the row's side.

    An edge in a lower cell than the value's is below it and one in a higher cell above it; the
    edges in the same cell, at most one in most cells, are searched.

    Parameters
    ----------
    x : float64 array of shape (n,)
    side : uint8 array of shape (n,)
    edges : float64 array of shape (m + 1,)
        The edges of `edge_table`, and infinity.
    first, scale : as in `edge_table`
    codes : uint16 array of shape (n,)
        The result.
    counts : int64 array of shape (B,)
        The rows of every bin, to be filled.
    """
    low, last = edges[0], len(first) - 2
    counts[:] = 0
    for i in range(len(x)):
        value = x[i]
        k = _cell(value, low, scale, last)
        a, b = np.intp(first[k]), np.intp(first[k + 1])
        while b > a + 1:
            middle = (a + b) >> 1
            if value > edges[middle]:
                a = middle + 1
            else:
                b = middle
        # Without a branch, whose outcome the processor could not predict.
        a += (a < b) & (value > edges[a])
        codes[i] = 2 * a + side[i]
        counts[a] += 1


@jit
def place_rows(codes, starts, order):
    """The rows of a column, bin by bin.

    Parameters
    ----------
    codes : uint16 array of shape (n,)
    starts : int64 array of shape (B + 1,)
        Where each bin begins.
    order : int32 array of shape (n,)
        The result.
    """
    place = starts.copy()
    for i in range(len(codes)):
        c = codes[i] >> 1
        order[place[c]] = i
        place[c] += 1


@jit
def rows_of_bins(features, bins, order, starts, rows):
    """The rows of some bins, one bin after the other.

    Parameters
    ----------
    features, bins : int64 arrays
    order : int32 array of shape (p, n)
    starts : int64 array of shape (p, B + 1)
    rows : int64 array
        The result.
    """
    filled = 0
    for k in range(len(features)):
        j, c = features[k], bins[k]
        for i in range(starts[j, c], starts[j, c + 1]):
            rows[filled] = order[j, i]
            filled += 1


@jit
def sort_bins(values, features, bins, columns):
    """Sort the rows inside some bins by their values and mark where the values change.

    Parameters
    ----------
    values : float64 array
        The values of the rows of these bins, one bin after the other, as they lie in `order`;
        overwritten.
    features, bins : int64 arrays
    columns : (order, is_cut, starts, inside)
        `order` and `is_cut` (p, n), `starts` (p, B + 1), `inside` (p, B): whether a bin may hold a
        threshold below its end. All but `starts` are changed.
    """
    order, is_cut, starts, inside = columns
    offset = 0
    for k in range(len(features)):
        j, c = features[k], bins[k]
        start = starts[j, c]
        m = starts[j, c + 1] - start
        x = values[offset : offset + m]
        rows = order[j, start : start + m]
        offset += m
        gap = 1
        while gap < m // 3:
            gap = 3 * gap + 1
        while gap > 0:  # Shell's sort: bins are small
            for i in range(gap, m):
                value, row, at = x[i], rows[i], i
                while at >= gap and x[at - gap] > value:
                    x[at] = x[at - gap]
                    rows[at] = rows[at - gap]
                    at -= gap
                x[at] = value
                rows[at] = row
            gap //= 3
        found = False
        for i in range(m - 1):
            cut = x[i] != x[i + 1]
            is_cut[j, start + i] = cut
            found = found or cut
        inside[j, c] = found


# --- sums and gains ------------------------------------------------------------------------------


@jit
def side_sums(codes, weight, sums):
    """The weight of both sides in every bin of every column.

    Parameters
    ----------
    codes : uint16 array of shape (p, n)
    weight : float64 array of shape (n,)
    sums : float64 array of shape (p, 2 B)
        The result, by code.
    """
    p, n = codes.shape
    sums[:] = 0.0
    for start in range(0, n, BLOCK_ROWS):
        stop = min(n, start + BLOCK_ROWS)
        values = weight[start:stop]
        for j in range(0, p - 1, 2):  # two columns at a time read the weights once
            first, second = codes[j, start:stop], codes[j + 1, start:stop]
            firsts, seconds = sums[j], sums[j + 1]
            for i in range(len(values)):
                value = values[i]
                firsts[first[i]] += value
                seconds[second[i]] += value
        if p % 2:
            last, lasts = codes[p - 1, start:stop], sums[p - 1]
            for i in range(len(values)):
                lasts[last[i]] += values[i]


@jit
def scan_bins(sums, is_edge, inside, results):
    """The gains at the edges of the bins, and bounds of those inside them.

    While a threshold moves through a bin, S stays between its value at the lower end less the
    bin's weight of side 0, and that value plus the weight of side 1. The gain is convex in S.

    Parameters
    ----------
    sums : result of `side_sums`
    is_edge, inside : bool arrays of shape (p, B)
        Whether there is a threshold at the upper end of a bin, and whether there may be others.
    results : (low, gains, bounds)
        Float64 arrays to be filled: the weights of both sides below each bin, (p, 2 B); the gains
        at the edges, (p, B), and the bounds, (p, B), -inf where there is no threshold.

    Returns
    -------
    best : float
        The largest gain at an edge, -inf if there is none.
    """
    low, gains, bounds = results
    p, n_bins = is_edge.shape
    total = 0.0
    for c in range(n_bins):
        total += sums[0, 2 * c + 1] - sums[0, 2 * c]
    best = -np.inf
    for j in range(p):
        minus = plus = 0.0
        for c in range(n_bins):
            low[j, 2 * c], low[j, 2 * c + 1] = minus, plus
            most = plus + sums[j, 2 * c + 1] - minus
            least = plus - minus - sums[j, 2 * c]
            minus += sums[j, 2 * c]
            plus += sums[j, 2 * c + 1]
            gain = bound = -np.inf
            if is_edge[j, c]:
                gain = abs(plus - minus) + abs(total - (plus - minus))
                best = max(best, gain)
            if inside[j, c]:
                bound = max(abs(most) + abs(total - most), abs(least) + abs(total - least))
            gains[j, c] = gain
            bounds[j, c] = bound
    return best


@jit
def places_near(values, wanted, places):
    """The places of the values that are at least `wanted`, in order, and how many they are.

    Parameters
    ----------
    values : float64 array of shape (m,)
    wanted : float
    places : int64 array of shape (m,)
        Its beginning is the result.
    """
    found = 0
    for i in range(len(values)):
        places[found] = i
        found += values[i] >= wanted
    return found


@jit
def first_place(values, wanted):
    """The first place of a value that is at least `wanted`; their number if there is none."""
    for i in range(len(values)):
        if values[i] >= wanted:
            return i
    return len(values)


@jit
def gains_inside(features, bins, bounds, columns, rows, limits):
    """The largest gain at a threshold inside each of some bins.

    Parameters
    ----------
    features, bins : int64 arrays of shape (m,)
        Bins that are sorted (`sort_bins`).
    bounds : float64 array of shape (m,)
        Overwritten by the gains; by -inf where a bin holds nothing near the best.
    columns : (codes, order, is_cut, starts)
    rows : (weight, low)
    limits : (total, best, slack)
        T, the best gain so far, and what counts as equal.

    Returns
    -------
    best : float
    """
    codes, order, is_cut, starts = columns
    weight, low = rows
    total, best, slack = limits
    for k in range(len(features)):
        if bounds[k] < best - 2 * slack:
            bounds[k] = -np.inf
            continue
        j, c = features[k], bins[k]
        minus, plus = low[j, 2 * c], low[j, 2 * c + 1]
        most = -np.inf
        for i in range(starts[j, c], starts[j, c + 1] - 1):
            row = order[j, i]
            if codes[j, row] & 1:
                plus += weight[row]
            else:
                minus += weight[row]
            if is_cut[j, i]:
                most = max(most, abs(plus - minus) + abs(total - (plus - minus)))
        bounds[k] = most
        best = max(best, most)
    return best


@jit
def first_inside(j, c, columns, rows, limits):
    """The first threshold inside a bin that reaches a gain.

    Parameters
    ----------
    j, c : int
        Feature and bin.
    columns, rows : as in `gains_inside`
    limits : (total, wanted)

    Returns
    -------
    position : int
        In the sorted column; -1 if there is none.
    minus, plus : float
        The weights of both sides at or below the threshold.
    """
    codes, order, is_cut, starts = columns
    weight, low = rows
    total, wanted = limits
    minus, plus = low[j, 2 * c], low[j, 2 * c + 1]
    for i in range(starts[j, c], starts[j, c + 1] - 1):
        row = order[j, i]
        if codes[j, row] & 1:
            plus += weight[row]
        else:
            minus += weight[row]
        if is_cut[j, i] and abs(plus - minus) + abs(total - (plus - minus)) >= wanted:
            return i, minus, plus
    return -1, minus, plus
