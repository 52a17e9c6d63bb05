"""The growth of one tree by one thread, over binned columns.

Features are drawn as scikit-learn's splitter draws them, and nodes are numbered as its builders
number them, so that the tree is the one that scikit-learn grows on the codes, up to ties.
"""

from math import log

import numpy as np

from sklearn_ensemble_theory._hot_loops._growth.cell_loops import (
    SHARE_OF_CELLS,
    cut_of_cells,
    full_cells,
    mark,
    marked_cells,
)
from sklearn_ensemble_theory._hot_loops._growth.cut_loops import (
    CLASSES,
    CONSTANT,
    CUT,
    GINI,
    LOG_LOSS,
    NO_CUT,
    PACKED,
    POISSON,
    UNKNOWN,
    WIDE,
    class_score,
    cut_of_class_histogram,
    cut_of_classes,
    cut_score,
    moved,
    unpack,
    x_log_x,
)
from sklearn_ensemble_theory._hot_loops.compilation import jit_inside, jit_part

# Impurities below it count as 0, as in scikit-learn.
EPSILON = 2.220446049250313e-16
LOG_2 = log(2.0)
LEAF, NO_FEATURE = -1, -2
RANDOM_MAX = 0x7FFFFFFF


@jit_part
def next_random(state):
    """scikit-learn's generator: xorshift of 32 bits, without the sign."""
    x = state[0] if state[0] != 0 else 1
    x ^= (x << 13) & 0xFFFFFFFF
    x ^= x >> 17
    x ^= (x << 5) & 0xFFFFFFFF
    state[0] = x
    return x & 0x7FFFFFFF


@jit_part
def split_rows(column, missing, cut, to_left, start, stop, part, spare):
    """Bring the rows of the left child before those of the right one, both in their order.

    Returns the first place of the right child. Both sides are written in every step, so that no
    branch has to be predicted.
    """
    rows, q, r, label = part
    spare_rows, spare_q, spare_r, spare_label = spare
    with_q, with_r, with_label = q.size > 1, r.size > 1, label.size > 1
    a, z = start, 0
    for k in range(start, stop):
        i = rows[k]
        code = column[i]
        left = to_left if code == missing else int(code <= cut)
        rows[a] = i
        spare_rows[z] = i
        if with_q:
            v = q[k]
            q[a] = v
            spare_q[z] = v
        if with_r:
            v = r[k]
            r[a] = v
            spare_r[z] = v
        if with_label:
            one = label[k]
            label[a] = one
            spare_label[z] = one
        a += left
        z += 1 - left
    for k in range(z):
        rows[a + k] = spare_rows[k]
        if with_q:
            q[a + k] = spare_q[k]
        if with_r:
            r[a + k] = spare_r[k]
        if with_label:
            label[a + k] = spare_label[k]
    return a


@jit_part
def node_totals(part, targets, start, stop, form, bits, criterion, masses):
    """What a node is before it is cut.

    Returns
    -------
    total : (float, float, int)
        Sums of the weighted target and of the weight in the units of the integers, and the rows.
    value : float
        The mean of the target; for classes 0.
    impurity : float
        0 where all targets are equal.
    """
    rows, q, r, label = part
    y, weight = targets
    if form == CLASSES:
        for k in range(masses.size):
            masses[k] = 0.0
        low = (1 << bits) - 1
        for k in range(start, stop):
            masses[label[k]] += float(r[k] >> bits)
        w = 0.0
        for k in range(masses.size):
            w += masses[k]
        impurity = 1.0 if criterion == GINI else 0.0
        for k in range(masses.size):
            share = masses[k] / w
            impurity -= share * share if criterion == GINI else x_log_x(share) / LOG_2
        return (0.0, w, stop - start), 0.0, impurity
    sum_q = sum_r = 0
    for k in range(start, stop):
        sum_q += q[k]
        if form == WIDE:
            sum_r += r[k]
    total = unpack(form, bits, sum_q, sum_r)
    if criterion in (GINI, LOG_LOSS):
        share = total[0] / total[1]
        if criterion == GINI:
            return total, share, 2.0 * share * (1.0 - share)
        return total, share, -(x_log_x(share) + x_log_x(1.0 - share)) / LOG_2
    w = s = square = 0.0
    low = high = y[rows[start]]
    for k in range(start, stop):
        i = rows[k]
        v = weight[i] if weight.size > 1 else 1.0
        t = y[i]
        w += v
        s += v * t
        square += v * (x_log_x(t) if criterion == POISSON else t * t)
        low = min(low, t)
        high = max(high, t)
    mean = s / w
    if low == high:
        return total, low, 0.0
    if criterion == POISSON:
        return total, mean, max((square - s * log(mean)) / w, 0.0) if mean > 0 else np.inf
    return total, mean, max(square / w - mean * mean, 0.0)


@jit_part
def random_cut(column, start, stop, part, plan, total, masses, rules, constraint, best, state):
    """One random cut of a feature, as in extremely randomised trees."""
    rows, q, r, label = part
    form, bits, criterion, missing = plan[0], plan[1], plan[2], plan[5]
    low, high, n_missing = missing, -1, 0
    for k in range(start, stop):
        code = int(column[rows[k]])
        if code == missing:
            n_missing += 1
        else:
            low, high = min(low, code), max(high, code)
    if high < 0 or (low == high and n_missing == 0):
        return CONSTANT, best, 0, 0
    threshold = (high - low) * float(next_random(state)) / RANDOM_MAX + low
    cut = low if threshold == high else int(threshold)
    to_left = next_random(state) % 2 if n_missing > 0 else 0
    whole, left, _ = masses
    for k in range(left.size):
        left[k] = 0.0
    sum_q = sum_r = n = 0
    for k in range(start, stop):
        code = column[rows[k]]
        if (to_left == 1) if code == missing else code <= cut:
            n += 1
            if form != CLASSES:
                sum_q += q[k]
            if form != PACKED:
                sum_r += r[k]
            if form == CLASSES:
                left[label[k]] += float(r[k] >> bits)
    if n == 0 or n == stop - start:
        return NO_CUT, best, 0, 0
    if form == CLASSES:
        f_left = f_right = 0.0
        for k in range(whole.size):
            f_left = moved(0.0, f_left, criterion, left[k], 1)
            f_right = moved(0.0, f_right, criterion, whole[k] - left[k], 1)
        score = class_score(f_left, f_right, float(sum_r >> bits), n, total, rules)
    else:
        s, w, counted = unpack(form, bits, sum_q, sum_r)
        score = cut_score(s, w, counted, total, rules, constraint)
    if n_missing == 0:
        to_left = UNKNOWN
    return CUT if score > best else NO_CUT, max(score, best), cut, to_left


@jit_inside
def cut_of_large_node(j, by_column, start, stop, part, plan, total, work, rules, constraint, best):
    """The best cut of one feature at a node, if it beats `best`; see `cell_loops.cut_of_cells`."""
    rows, q, r, label = part
    form, bits, missing, n_cells = plan[0], plan[1], plan[5], plan[6]
    h, g, class_h, order, codes, masses, cells, words = work
    size = stop - start
    column = by_column[j]
    if form == CLASSES and size * SHARE_OF_CELLS >= n_cells * masses[0].size:
        for c in range(missing + 1):
            if c < n_cells or c == missing:
                for k in range(class_h.shape[1]):
                    class_h[c, k] = 0
        for k in range(start, stop):
            class_h[column[rows[k]], label[k]] += r[k]
        return cut_of_class_histogram(class_h, n_cells, missing, bits, total, masses, rules, best)
    dense = size * SHARE_OF_CELLS >= n_cells
    if form == PACKED and not dense:  # the most frequent case
        for k in range(start, stop):
            code = column[rows[k]]
            mark(words, code)
            h[code] += q[k]
    elif form == PACKED:
        for k in range(start, stop):
            h[column[rows[k]]] += q[k]
    else:
        for k in range(start, stop):
            code = column[rows[k]]
            mark(words, code)
            h[code] += 1 if form == CLASSES else q[k]
            if form == WIDE:
                g[code] += r[k]
    dense = dense and form == PACKED
    if dense:
        n_full = full_cells(h, n_cells, missing, cells)
    else:
        n_full = marked_cells(words, n_cells, missing, cells)
    if n_full == 1:
        h[cells[0]] = g[cells[0]] = 0
        return CONSTANT, best, 0, 0
    if form != CLASSES:
        full = (cells, n_full, missing)
        return cut_of_cells(h, g, full, form, bits, total, rules, constraint, best)
    place = 0
    for k in range(n_full):
        c = cells[k]
        g[c] = place
        place += h[c]
        h[c] = 0
    for k in range(start, stop):
        code = column[rows[k]]
        order[g[code]] = k
        codes[g[code]] = code
        g[code] += 1
    for k in range(n_full):
        g[cells[k]] = 0
    sorted_rows = (order, codes, size, missing)
    return cut_of_classes(sorted_rows, label, r, bits, total, masses, rules, best)


@jit_inside
def drawn_place(features, state, f_i, n_found, n_drawn, n_known):
    """Draw a feature: its place in `features`, or -1 for one that is known to be constant."""
    f_j = n_drawn + next_random(state) % (f_i - n_found - n_drawn)
    if f_j < n_known:
        features[n_drawn], features[f_j] = features[f_j], features[n_drawn]
        return -1
    return f_j + n_found


@jit_inside
def find_cut(data, start, stop, part, plan, total, work, settings):
    """The best cut over the features of a node, drawn as scikit-learn's splitter draws them.

    Parameters
    ----------
    plan : (form, bits, criterion, max_features, random_splits, missing, n_cells)
    settings : (rules, constraints, bounds, drawing, n_known)
        `drawing` holds scikit-learn's arrays `features` and `constant_features` and the state of
        the generator; `n_known` is the number of features known to be constant.

    Returns
    -------
    (found, score, feature, code, missing_left, number of constant features)
    """
    by_column = data[1]
    rules, constraints, bounds, drawing, n_known = settings
    features, constants, state, _ = drawing
    max_features, random_splits = plan[3], plan[4]
    masses = work[5]
    found, best, feature, cut, to_left = NO_CUT, -np.inf, 0, 0, 0
    f_i, n_visited, n_found, n_drawn, n_total = features.size, 0, 0, 0, n_known
    while f_i > n_total and (n_visited < max_features or n_visited <= n_found + n_drawn):
        n_visited += 1
        f_j = drawn_place(features, state, f_i, n_found, n_drawn, n_known)
        if f_j < 0:
            n_drawn += 1
            continue
        j = features[f_j]
        constraint = (int(constraints[j]), bounds[0], bounds[1])
        if random_splits != 0:
            one = random_cut(
                by_column[j], start, stop, part, plan, total, masses, rules, constraint, best, state
            )
        else:
            one = cut_of_large_node(
                j, by_column, start, stop, part, plan, total, work, rules, constraint, best
            )
        if one[0] == CONSTANT:
            features[f_j], features[n_total] = features[n_total], features[f_j]
            n_found += 1
            n_total += 1
            continue
        f_i -= 1
        features[f_i], features[f_j] = features[f_j], features[f_i]
        if one[0] == CUT:
            found, best, cut, to_left = one
            feature = j
    restore(features, constants, n_known, n_total)
    return found, best, feature, cut, to_left, n_total


@jit_inside
def restore(features, constants, n_known, n_total):
    """Known constant features come first and in one order in every node; keep the new ones."""
    for k in range(n_known):
        features[k] = constants[k]
    for k in range(n_known, n_total):
        constants[k] = features[k]


@jit_part
def bounds_of_children(constraint, low, high, middle):
    """(low, high) of the left child's mean, then of the right one's."""
    if constraint > 0:
        return low, middle, middle, high
    if constraint < 0:
        return middle, high, low, middle
    return low, high, low, high
