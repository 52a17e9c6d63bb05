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


def count_cut(codes, column, code, group, weight, offsets, categorical, left_weight, sums):
    """`left_weight` is known from the rows themselves."""
    weight = np.ones(codes.shape[1]) if weight is None else weight
    group = np.zeros(codes.shape[1], int) if group is None else group

    def left(j, b):
        return codes[j] == b if categorical[j] else codes[j] <= b

    for j in range(len(codes)):
        for b in range(offsets[j + 1] - offsets[j]):
            both = left(column, code) & left(j, b)
            sums[:, offsets[j] + b] = np.bincount(group[both], weight[both], len(sums))


def columns_of_cuts(codes, scale, share, valid_share, offsets, categorical, missing):
    """The columns of all cuts at the rows, (n, P)."""
    columns = []
    for j, code in enumerate(codes):
        own, last = range(offsets[j], offsets[j + 1]), offsets[j + 1] - 1
        for k in own:
            b = k - offsets[j]
            u = (code == b if categorical[j] else code <= b).astype(float)
            if missing[j] and not categorical[j] and k < last:
                u -= valid_share[k] * (code <= last - offsets[j])
            columns.append(scale[k] * (u - share[k]))
    return np.array(columns).T


def tabulate_cuts(coefficients, scale, share, valid_share, offsets, categorical, missing, tables):
    """The value of each feature at a row in each of its bins."""
    start = 0
    for j, (first, last) in enumerate(pairwise(offsets)):
        n_bins, own = last - first + 1, slice(first, last)
        bins = np.arange(n_bins)[None]
        given = scale[own], share[own], valid_share[own], [0, n_bins - 1]
        columns = columns_of_cuts(bins, *given, categorical[j : j + 1], missing[j : j + 1])
        tables[start : start + n_bins] = columns.reshape(n_bins, -1) @ coefficients[own]
        start += n_bins


class Residuals:
    """Residuals of rows and columns at the rows; held-out rows are the last ones of `values`."""

    def __init__(self, columns, residual, weight, is_held, preference):
        self.columns, self.residual, self.weight = columns, residual.copy(), weight
        self.preference = preference
        self.groups = [is_held == 0, is_held == 1][: 1 + is_held.max()]

    @property
    def values(self):
        parts = [(self.weight[own] * self.residual[own]) @ self.columns[own] for own in self.groups]
        parts[0] = parts[0] * self.preference
        return np.concatenate(parts)

    def squares(self):
        squares = [self.weight[own] @ self.residual[own] ** 2 for own in self.groups]
        return np.array([*squares, 0.0][:2])


def smooth(
    residuals,
    starts,
    features,
    offsets,
    gain,
    rate,
    floor,
    chosen,
    steps,
    falls,
    held,
    coefficients,
):
    """Falls and changes are differences of sums of squares over the rows."""
    n_steps = 0
    for t in range(len(chosen)):
        values, before, gains = residuals.values, residuals.squares(), []
        own = [slice(k, k + n) for k, n in zip(starts, np.diff(offsets))]
        factors = [slice(*ends) for ends in pairwise(offsets)]
        gains = [values[a] ** 2 @ gain[b] for a, b in zip(own, factors)]
        best = int(np.argmax(gains))
        if not gains[best] > floor:
            return t
        step = rate[factors[best]] * values[own[best]]
        residuals.residual -= residuals.columns[:, own[best]] @ step
        change = residuals.squares() - before
        chosen[t], falls[t], held[t] = best, -change[0], change[1]
        steps[n_steps : n_steps + len(step)] = step
        coefficients[own[best]] += step
        n_steps += len(step)
    return len(chosen)


def boost_stumps(values, views, rows, rate, signs, sets, floor, chosen, steps, held):
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
        values -= step * (rows(k) if k >= n or views[k] is None else views[k])
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
