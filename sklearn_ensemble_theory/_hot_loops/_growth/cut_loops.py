"""The best cut of one feature at one node of a binned tree.

Rows enter in one of three forms, each an array in the order of the node's rows:

- PACKED: one integer, the weighted target in the upper bits and the weight in the lower ones. One
  addition sums both. For integer weights, each of which counts as one row.
- WIDE: two integers, the weighted target; and the weight in the upper bits with a 1 in the lower
  ones, which count the rows.
- CLASSES: the class of the row, and the second integer of WIDE.

Sums of integers do not depend on their order. Small nodes, whose rows are sorted
instead of being counted in cells, are in `small_node_loops`.
"""

from math import log

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit_part

PACKED, WIDE, CLASSES = 0, 1, 2
SQUARED_ERROR, POISSON, GINI, LOG_LOSS = 0, 1, 2, 3
MISSING = 255
CONSTANT, NO_CUT, CUT = -1, 0, 1
# Where the node has no missing value: they would go where most of its rows go.
UNKNOWN = 2


@jit_part
def x_log_x(x):
    return x * log(x) if x > 0 else 0.0


@jit_part
def node_score(s, w, criterion, l2):
    """What a cut maximises in sum over both children; -inf where a child must not be."""
    if criterion in (SQUARED_ERROR, GINI):
        # Of two classes: (s² + (w - s)²) / w is twice this, less what all cuts have in common.
        return s * s / (w + l2)
    if criterion == POISSON:
        return s * log(s / w) if s > 0 else -np.inf
    return x_log_x(s) + x_log_x(w - s) - x_log_x(w)


@jit_part
def cut_score(s, w, n, total, rules, constraint):
    """The score of a cut, from what is to its left; -inf where a rule forbids it.

    Parameters
    ----------
    s, w : float
        Sums of the weighted target and of the weight to the left, in the units of the integers.
    n : int
        Number of rows to the left.
    total : (float, float, int)
        The same of the node.
    rules : (int criterion, float l2, int min_samples_leaf, float min_weight_leaf)
    constraint : (int, float, float)
        The monotonic constraint of the feature and the bounds of the node's value, a mean.
    """
    criterion, l2, min_leaf, min_weight = rules
    s2, w2, n2 = total[0] - s, total[1] - w, total[2] - n
    if n < min_leaf or n2 < min_leaf or w < min_weight or w2 < min_weight:
        return -np.inf
    if constraint[0] != 0:
        a, b = s / (w + l2), s2 / (w2 + l2)
        if (a - b) * constraint[0] > 0:
            return -np.inf
        if min(a, b) < constraint[1] or max(a, b) > constraint[2]:
            return -np.inf
    return node_score(s, w, criterion, l2) + node_score(s2, w2, criterion, l2)


@jit_part
def comparable(score):
    """A score rounded to 33 bits, so that rounding errors break no tie; -inf becomes nan."""
    above = (2.0**20 + 1) * score  # Veltkamp's splitting
    return above - (above - score)


@jit_part
def unpack(form, bits, q, r):
    """(target, weight, rows) of a sum of integers."""
    low = (1 << bits) - 1
    if form == PACKED:
        return float(q >> bits), float(q & low), q & low
    return float(q), float(r >> bits), r & low


@jit_part
def cut_of_histogram(h, g, form, bits, total, rules, constraint, best):
    """The best cut of a histogram, if it beats `best`, a score as `comparable` returns it.

    Parameters
    ----------
    h, g : int64 arrays of shape (256,)
        The sums in each bin of the integers of the form; the last bin is that of missing values.
        g is not read for PACKED.

    Returns
    -------
    status : int
        CONSTANT, NO_CUT or CUT.
    score : float
    code : int
        Rows with at most this code go to the left.
    missing_left : int
        1, 0 or UNKNOWN.
    """
    found, at, to_left = NO_CUT, 0, 0
    missing_q, missing_r = h[MISSING], g[MISSING]
    has_missing = missing_q != 0 if form == PACKED else missing_r != 0
    n_bins = 0
    for search in range(2 if has_missing else 1):
        q = missing_q if search == 1 else 0
        r = missing_r if search == 1 else 0
        before = -1
        n_bins = 0
        for c in range(MISSING):
            cell = h[c] if form == PACKED else g[c]
            if cell == 0:
                continue
            n_bins += 1
            if before >= 0:
                s, w, n = unpack(form, bits, q, r)
                score = comparable(cut_score(s, w, n, total, rules, constraint))
                if score > best:
                    best, found, at = score, CUT, (before + c) // 2
                    to_left = search if has_missing else UNKNOWN
            before = c
            q += h[c]
            if form != PACKED:
                r += g[c]
        if has_missing and search == 0 and before >= 0:
            s, w, n = unpack(form, bits, q, r)
            score = comparable(cut_score(s, w, n, total, rules, constraint))
            if score > best:
                best, found, at, to_left = score, CUT, MISSING - 1, 0
    if n_bins == 0 or (n_bins == 1 and not has_missing):
        found = CONSTANT
    return found, best, at, to_left


# --- several classes -----------------------------------------------------------------------------


@jit_part
def moved(mass, sums, criterion, w, direction):
    """sum_k f(S_k) of one child after weight w of a class with S_k = mass has moved."""
    after = mass + direction * w
    if criterion == GINI:
        return sums + after * after - mass * mass
    return sums + x_log_x(after) - x_log_x(mass)


@jit_part
def class_score(f_left, f_right, w, n, total, rules):
    """As `cut_score`, from the sums of f(S_k) of both children."""
    criterion, _, min_leaf, min_weight = rules
    w2, n2 = total[1] - w, total[2] - n
    if n < min_leaf or n2 < min_leaf or w < min_weight or w2 < min_weight:
        return -np.inf
    if criterion == GINI:
        return f_left / w + f_right / w2
    return f_left + f_right - x_log_x(w) - x_log_x(w2)


@jit_part
def cut_of_classes(sorted_rows, label, r, bits, total, masses, rules, best):
    """The best cut for K classes, from rows sorted by their codes.

    Parameters
    ----------
    sorted_rows : (int32 array, uint16 array, int m, int missing)
        Places of the m rows, sorted by code, and the codes in this order; at least two different
        ones. `missing` is the code of a missing value.
    label, r : arrays
        By place.
    masses : (float64 array (K,), two buffers of that shape)
        The weights of the classes in the node.
    """
    criterion = rules[0]
    order, codes, m, missing = sorted_rows
    whole, left, right = masses
    low = (1 << bits) - 1
    found, at, to_left = NO_CUT, 0, 0
    n_known = m
    while n_known > 0 and codes[n_known - 1] == missing:
        n_known -= 1
    has_missing = n_known < m
    for search in range(2 if has_missing else 1):
        f_left = f_right = 0.0
        for k in range(whole.size):
            left[k] = 0.0
            right[k] = whole[k]
            f_right = moved(0.0, f_right, criterion, whole[k], 1)
        sum_r = 0
        first = n_known if search == 1 else 0
        # With missing values on the left they are moved first, without a cut after them.
        for step in range(m - first + n_known if search == 1 else m):
            place = first + step if first + step < m else first + step - m
            i = order[place]
            w = float(r[i] >> bits)
            k = label[i]
            f_left = moved(left[k], f_left, criterion, w, 1)
            f_right = moved(right[k], f_right, criterion, w, -1)
            left[k] += w
            right[k] -= w
            sum_r += r[i]
            if search == 1 and place >= n_known:
                continue
            if search == 0 and place >= n_known:
                break
            last = place + 1 == n_known
            if last and (search == 1 or not has_missing):
                break
            if not last and codes[place + 1] == codes[place]:
                continue
            score = class_score(f_left, f_right, float(sum_r >> bits), sum_r & low, total, rules)
            if score > best:
                best, found = score, CUT
                at = missing - 1 if last else (int(codes[place]) + int(codes[place + 1])) // 2
                to_left = search if has_missing else UNKNOWN
    return found, best, at, to_left


@jit_part
def cut_of_class_histogram(h, n_cells, missing, bits, total, masses, rules, best):
    """The same from a histogram.

    Parameters
    ----------
    h : int64 array of shape (missing + 1, K)
        Sums of the integers r in each bin, by class; the bins of values are the first `n_cells`.
    """
    criterion = rules[0]
    whole, left, right = masses
    n_classes = whole.size
    low = (1 << bits) - 1
    found, at, to_left = NO_CUT, 0, 0
    has_missing = False
    for k in range(n_classes):
        has_missing |= h[missing, k] != 0
    n_bins = 0
    for search in range(2 if has_missing else 1):
        f_left = f_right = 0.0
        sum_r = 0
        for k in range(n_classes):
            w = float(h[missing, k] >> bits) if search == 1 else 0.0
            left[k] = w
            right[k] = whole[k] - w
            f_left = moved(0.0, f_left, criterion, left[k], 1)
            f_right = moved(0.0, f_right, criterion, right[k], 1)
            if search == 1:
                sum_r += h[missing, k]
        before = -1
        n_bins = 0
        for cell in range(n_cells + 1):
            after_all = cell == n_cells
            if after_all and (not has_missing or search == 1):
                break
            c = missing if after_all else cell
            any_row = after_all
            for k in range(n_classes):
                any_row |= h[c, k] != 0
            if not any_row:
                continue
            if before >= 0:
                score = class_score(
                    f_left, f_right, float(sum_r >> bits), sum_r & low, total, rules
                )
                if score > best:
                    best, found = score, CUT
                    at = missing - 1 if after_all else (before + c) // 2
                    to_left = search if has_missing else UNKNOWN
            if after_all:
                break
            n_bins += 1
            before = c
            for k in range(n_classes):
                one = h[c, k]
                if one == 0:
                    continue
                w = float(one >> bits)
                f_left = moved(left[k], f_left, criterion, w, 1)
                f_right = moved(right[k], f_right, criterion, w, -1)
                left[k] += w
                right[k] -= w
                sum_r += one
    if n_bins == 0 or (n_bins == 1 and not has_missing):
        found = CONSTANT
    return found, best, at, to_left


@jit_part
def score_before(total, masses, criterion, l2, form):
    """The score of a node that is not cut."""
    if form != CLASSES:
        return node_score(total[0], total[1], criterion, l2)
    f = 0.0
    for k in range(masses.size):
        f = moved(0.0, f, criterion, masses[k], 1)
    return f / total[1] if criterion == GINI else f - x_log_x(total[1])
