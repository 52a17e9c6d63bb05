"""The loops of additive models over rows and tables, by NumPy, and the choice of the compiled ones.

`additive_loops()` has these functions either way: the module `_native.additive`, which documents
their arguments, or this one. Its callers do not know which.
"""

import sys
from types import ModuleType

import numpy as np
from scipy.linalg.blas import daxpy, idamax

from sklearn_ensemble_theory._native import uses_native

# Nanoseconds that a table takes for each row.
ROW_OF_TABLE = 2.0
# Cells of rows by features that are counted at once: they stay in cache.
_COUNTED_CELLS = 2**18


def additive_loops() -> ModuleType:
    """The loops that run now."""
    if uses_native():
        import sklearn_ensemble_theory._native.additive as compiled

        return compiled
    return sys.modules[__name__]


def add_tables(first, n_first, codes, others, n_bins, weight, tables):
    own, stride, start = first.astype(np.intp), None, 0
    cells, scaled = np.empty_like(own), np.empty_like(own)
    for j in others:
        table = tables[start : start + n_first * n_bins[j]]
        start += len(table)
        if n_first == 1:  # no products of bins
            table += np.bincount(codes[j], weight, len(table))
            continue
        if n_bins[j] != stride:
            stride = n_bins[j]
            np.multiply(own, stride, out=scaled)
        np.add(scaled, codes[j], out=cells)
        table += np.bincount(cells, weight, len(table))


def cumulate_tables(tables, n_rows, cumulate_rows, others, offsets, categorical, sums):
    n_groups, n_kept, _ = sums.shape
    start = 0
    for j in others:
        n_bins = offsets[j + 1] - offsets[j] + 1
        stop = start + n_groups * n_rows * n_bins
        table = tables[start:stop].reshape(n_groups, n_rows, n_bins)[:, :n_kept]
        if cumulate_rows:
            table = table.cumsum(axis=1)
        if not categorical[j]:
            table = table.cumsum(axis=2)
        sums[:, :, offsets[j] : offsets[j + 1]] = table[:, :, :-1]
        start = stop


def cumulated_by_feature(
    in_bin: np.ndarray, offsets: np.ndarray, categorical: np.ndarray
) -> np.ndarray:
    """Turn sums over all bins, feature after feature, into those over all cuts: (k, P)."""
    first = offsets + np.arange(len(offsets))
    # The sums run on from feature to feature: subtract those of the features before.
    cumulated = np.cumsum(in_bin, axis=1)
    before = cumulated[:, first[:-1]] - in_bin[:, first[:-1]]
    cumulated -= np.repeat(before, np.diff(first), axis=1)
    for j in np.flatnonzero(categorical):
        cumulated[:, first[j] : first[j + 1]] = in_bin[:, first[j] : first[j + 1]]
    # `np.delete` alone returns columns one after the other, and compiled loops read by rows.
    return np.ascontiguousarray(np.delete(cumulated, first[1:] - 1, axis=1))


def sum_over_cuts(codes, is_held, values, offsets, categorical, sums):
    first = offsets + np.arange(len(offsets))
    in_bin = np.zeros((len(sums), int(first[-1])))
    # All features in one count.
    step = max(_COUNTED_CELLS // max(len(codes), 1), 1)
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        bins = codes[:, rows] + first[:-1, None]
        if is_held is not None:
            bins += in_bin.shape[1] * is_held[rows].astype(np.intp)
        each = np.broadcast_to(values[rows], bins.shape)
        in_bin += np.bincount(bins.ravel(), each.ravel(), in_bin.size).reshape(in_bin.shape)
    sums[:] = cumulated_by_feature(in_bin, offsets, categorical)


def scale_cut_products(total, held, weight, held_weight, left, scale, held_left, first, out):
    cuts, n_all = slice(first, first + len(total)), len(left)
    # Counts make both products below whole numbers: their difference is exact.
    train = out[:, :n_all]
    np.copyto(train, total) if held is None else np.subtract(total, held, out=train)
    train *= weight
    train -= left[cuts, None] * left
    train *= scale[cuts, None] / weight
    train *= scale
    if held is not None:
        share, of_held = left / weight, out[:, n_all:]
        centred = held_left - share * held_weight
        np.subtract(held, share[cuts, None] * centred, out=of_held)
        of_held -= held_left[cuts, None] * share
        of_held *= scale[cuts, None]
        of_held *= scale


def add_pair_tables(codes, maps, n_bins, pairs, u, v, w, tables):
    start = 0
    for a, b in pairs:
        size = int(n_bins[a]) * int(n_bins[b])
        cells = maps[a].astype(np.intp).take(codes[a]) * int(n_bins[b])
        cells += maps[b].take(codes[b])
        for column, values in enumerate((u, v, w)):
            tables[start : start + size, column] += np.bincount(cells, values, size)
        start += size


def sum_cells(values, weight, is_held, a, b, sums):
    _, n_rows, n_columns = sums.shape
    cells = (is_held * n_rows + a.astype(np.intp)) * n_columns + b
    weighted = values if weight is None else values * weight
    sums += np.bincount(cells, weighted, sums.size).reshape(sums.shape)


def subtract_cells(values, a, b, table):
    values -= table.ravel().take(a.astype(np.intp) * table.shape[1] + b)


def best_smoothing(values, starts, stops, n_used, single, offsets, cuts, factor, floor):
    squares = values[
        : int(max(stops.max(initial=0), single.max(initial=0), cuts.max(initial=0))) + 1
    ]
    squares = squares**2
    # Sums over features are differences of cumulated squares.
    cumulated = np.concatenate([[0.0], np.cumsum(squares)])
    of_categories = np.concatenate([[0.0], np.cumsum(squares[cuts] * factor)])
    gains = np.concatenate(
        [
            (cumulated[stops] - cumulated[starts]) / n_used,
            squares[single],
            of_categories[offsets[1:]] - of_categories[offsets[:-1]],
        ]
    )
    best = int(gains.argmax()) if len(gains) else -1
    return best if len(gains) and gains[best] > floor else -1


def boost_stumps(values, rows, rate, signs, sets, floor, chosen, steps, held):
    n, n_all, item, rates = len(rate) - 1, len(values), values.item, rate.tolist()
    for t in range(len(chosen)):
        if signs is None:
            k = idamax(values, n)
            best = abs(item(k))
        else:
            size = np.maximum(values[:n] * signs[0], values[:n] * signs[1])
            k = int(size.argmax())
            best = size[k]
        b, of_held = rates[k] * item(k), item(n + k) if n_all > n else 0.0
        for q in range(0 if sets is None else len(sets.rest)):
            value, members = sets.best(q, values)
            if abs(value) > best:
                best, b, of_set = abs(value), rates[n] * value, (q, members.tobytes())
                k = n
        if -floor <= b <= floor or not best > 0:
            return t
        if k == n:
            q, members = of_set
            k = sets.numbers[q].get(members) or sets.add(q, members)
            if n_all > n:
                found = sets.found[k - n]
                own = np.searchsorted(sets.cuts, found.cuts)
                of_held = found.scale * (values[n + found.cuts] / sets.scale[own]).sum()
        chosen[t], steps[t], held[t] = k, b, of_held
        daxpy(rows(k), values, n_all, -b)
    return len(chosen)


def quadrant_sums(sums: np.ndarray) -> np.ndarray:
    """Sums over the four quadrants of each cut, of tables (..., A, B): (4, ..., A - 1, B - 1).

    They are: before the cut in both directions, before it along the first only, along the second
    only, and in neither.
    """
    cumulated = sums.cumsum(axis=-1).cumsum(axis=-2)
    a = cumulated[..., :-1, :-1]
    row, column = cumulated[..., :-1, -1:], cumulated[..., -1:, :-1]
    everything = cumulated[..., -1:, -1:]
    return np.stack([a, row - a, column - a, everything - row - column + a])


def averaged_steps(sums, weight, inverse, rate, n_steps, added):
    def from_the_end(values, axis):
        return np.flip(np.flip(values, axis).cumsum(axis), axis)

    share = rate / np.count_nonzero(inverse[0])
    for _ in range(n_steps):
        # The mean over cuts of the fit at a cell: each of its four terms is a sum over the cuts on
        # one side of the cell, so cumulated sums from the end give all cells at once.
        a, b, c, d = quadrant_sums(sums) * inverse
        step = np.full(sums.shape, d.sum())
        step[:-1] += from_the_end((b - d).sum(axis=1), 0)[:, None]
        step[:, :-1] += from_the_end((c - d).sum(axis=0), 0)
        step[:-1, :-1] += from_the_end(from_the_end(a - b - c + d, 1), 0)
        step *= share
        added += step
        sums -= weight * step


def best_steps(sums, weight, inverse, rate, n_steps, added):
    for _ in range(n_steps):
        quadrants = quadrant_sums(sums)
        a, b, c, d = quadrants * quadrants * inverse
        gains = a + b + c + d
        i, j = np.unravel_index(gains.argmax(), gains.shape)
        if not gains[i, j] > 0:
            break
        values = rate * quadrants[:, i, j] * inverse[:, i, j]
        first, second = np.arange(len(sums)) > i, np.arange(sums.shape[1]) > j
        step = values.reshape(2, 2)[first.astype(int)[:, None], second.astype(int)]
        added += step
        sums -= weight * step
