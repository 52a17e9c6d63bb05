"""The loops of `_native.additive` by their definitions, with the same arguments."""

from itertools import pairwise, product

import numpy as np


def add_tables(first, n_first, codes, others, n_bins, weight, tables):
    start = 0
    for j in others:
        table = tables[start : start + n_first * n_bins[j]].reshape(n_first, n_bins[j])
        np.add.at(table, (first, codes[j]), 1 if weight is None else weight)
        start += table.size


def add_stump_sums(codes, n_bins, y, weight, fold, moments, targets, tables):
    fold = np.zeros(len(y), int) if fold is None else fold
    w = np.ones(len(y)) if weight is None else weight
    for row, values in zip(moments, (w, w * y, w * y * y)):
        np.add.at(row, fold, values)
    used = np.flatnonzero(n_bins > 1)
    n_folds = moments.shape[1]
    add_tables(fold, n_folds, codes, used, n_bins, w * y, targets)
    start = 0
    for place, i in enumerate(used):
        others = used[place + 1 :]
        size = n_folds * n_bins[i] * n_bins[others].sum()
        both, own = fold * n_bins[i] + codes[i], tables[start : start + size]
        add_tables(both, n_folds * n_bins[i], codes, others, n_bins, weight, own)
        start += size


def cumulate_tables(tables, n_rows, cumulate_rows, others, offsets, categorical, sums):
    n_groups, n_kept, _ = sums.shape
    start = 0
    for j in others:
        n_bins = offsets[j + 1] - offsets[j] + 1
        table = tables[start : start + n_groups * n_rows * n_bins].reshape(n_groups, n_rows, -1)
        start += table.size
        for k, a, b in product(range(n_groups), range(n_kept), range(n_bins - 1)):
            rows = slice(0 if cumulate_rows else a, a + 1)
            columns = slice(b if categorical[j] else 0, b + 1)
            sums[k, a, offsets[j] + b] = table[k, rows, columns].sum()


def sum_over_cuts(codes, is_held, values, offsets, categorical, sums):
    group = np.zeros(len(values), int) if is_held is None else is_held
    for j, column in enumerate(codes):
        for b in range(offsets[j + 1] - offsets[j]):
            left = column == b if categorical[j] else column <= b
            sums[:, offsets[j] + b] = np.bincount(group[left], values[left], len(sums))


def best_smoothing(values, starts, stops, n_used, single, offsets, cuts, factor, floor):
    squares = values**2
    gains = [squares[a:b].sum() / n for a, b, n in zip(starts, stops, n_used)]
    gains += [squares[k] for k in single]
    gains += [squares[cuts[a:b]] @ factor[a:b] for a, b in pairwise(offsets)]
    return int(np.argmax(gains)) if max(gains) > floor else -1


def boost_stumps(values, rows, rate, signs, sets, floor, chosen, steps, held):
    """Every set of categories is tried."""
    n = len(rate) - 1
    has_held = len(values) > n
    for t in range(len(chosen)):
        size = np.abs(values[:n]) if signs is None else (signs * values[:n]).max(axis=0)
        k = int(size.argmax())
        best, step, of_held = size[k], rate[k] * values[k], values[n + k] if has_held else 0.0
        name = None
        for q in range(0 if sets is None else len(sets.rest)):
            for members, value, shrunk in products_of_sets(sets, q, values):
                if abs(shrunk) > best:
                    best, step, name = abs(shrunk), rate[n] * value, (q, members)
        if abs(step) <= floor or not best > 0:
            return t
        if name is not None:
            q, members = name
            k = sets.numbers[q].get(members.tobytes()) or sets.add(q, members.tobytes())
            of_set = sets.found[k - n]
            if has_held:
                scale = dict(zip(sets.cuts, sets.scale))
                parts = [values[n + cut] / scale[cut] for cut in of_set.cuts]
                of_held = of_set.scale * sum(parts)
        chosen[t], steps[t], held[t] = k, step, of_held
        values -= step * rows(k)
    return len(chosen)


def products_of_sets(sets, q, values):
    """The members of each set of categories of a feature, and its product with the residuals.

    Also with residuals whose means in the categories are shrunk, about the mean of all of them.
    Of a set and its complement the one without the rest, or without the first category.
    """
    own = slice(sets.offsets[q], sets.offsets[q + 1])
    sums, weight = values[sets.cuts[own]] / sets.unit[own], sets.weight[own]
    total = weight.sum() + sets.rest[q]
    shrunk = sums * weight / (weight + sets.smooth)
    of_rest = -sums.sum() * sets.rest[q] / (sets.rest[q] + sets.smooth)
    mean = (shrunk.sum() + of_rest) / total
    for members in product([False, True], repeat=len(sums)):
        members = np.array(members)
        if not members.any() or (sets.rest[q] == 0 and members[0]):
            continue
        left = weight[members].sum()
        scale = np.sqrt(total / (left * (total - left)))
        yield members, sums[members].sum() * scale, (shrunk[members].sum() - mean * left) * scale


def add_pair_tables(codes, maps, n_bins, pairs, u, v, w, tables):
    start = 0
    for a, b in pairs:
        cells = start + maps[a][codes[a]].astype(int) * n_bins[b] + maps[b][codes[b]]
        np.add.at(tables, cells, np.column_stack([u, v, w]))
        start += n_bins[a] * n_bins[b]
