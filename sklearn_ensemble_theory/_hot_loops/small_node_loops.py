"""The best cut of one feature at a node of few rows, which are sorted by their codes.

Most nodes of a full tree have two or three rows. What does not depend on the feature is therefore
done once for a node, by `place_rows`.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit
from sklearn_ensemble_theory._hot_loops.cut_loops import (
    CLASSES,
    CUT,
    MISSING,
    NO_CUT,
    PACKED,
    SQUARED_ERROR,
    UNKNOWN,
    class_score,
    cut_score,
    moved,
)

# Nodes of at most so many rows are small.
SMALL_ROWS = 40
# A key is a code times this plus the row's place in the node.
PLACES, PLACE_BITS = 63, 6
# A cut whose score, computed without a division, is below the best by more than this is worse.
NEARLY = 1 - 1e-12


@jit
def place_rows(start, stop, part, form, bits, p, small):
    """Where the codes of the rows begin, and the rows' sums as numbers."""
    rows, q, r, _ = part
    places, _, s, w = small
    low = (1 << bits) - 1
    for k in range(stop - start):
        i = start + k
        places[k] = np.uint64(rows[i]) * np.uint64(p)
        if form == PACKED:
            s[k], w[k] = float(q[i] >> bits), float(q[i] & low)
        else:
            s[k] = float(q[i]) if form != CLASSES else 0.0
            w[k] = float(r[i] >> bits)


@jit
def sorted_keys(by_row, j, size, small):
    """Sort the rows by their codes; False if all codes are equal."""
    places, keys = small[0], small[1]
    shift = np.uint64(j)
    first = by_row[places[0] + shift]
    differs = False
    for k in range(size):
        code = by_row[places[k] + shift]
        differs |= code != first
        key = (np.int32(code) << PLACE_BITS) | k
        i = k
        while i > 0 and keys[i - 1] > key:
            keys[i] = keys[i - 1]
            i -= 1
        keys[i] = key
    return differs


@jit
def cut_of_small_node(size, small, label, start, form, total, masses, rules, constraint, best):
    """The best cut of the sorted rows, if it beats `best`; see `cut_loops.cut_of_histogram`."""
    _, keys, s, w = small
    criterion, l2, min_leaf, min_weight = rules
    last = keys[size - 1] >> PLACE_BITS
    if (
        form != CLASSES
        and last != MISSING
        and criterion == SQUARED_ERROR
        and l2 == 0
        and min_leaf == 1
        and min_weight <= 0
        and constraint[0] == 0
    ):
        return least_squares_cut(keys, size, s, w, total, best)
    n_known = size
    while n_known > 0 and keys[n_known - 1] >> PLACE_BITS == MISSING:
        n_known -= 1
    has_missing = n_known < size
    whole, left, right = masses
    found, at, to_left = NO_CUT, 0, 0
    for search in range(2 if has_missing else 1):
        s1 = w1 = f_left = f_right = 0.0
        n1 = 0
        if form == CLASSES:
            for k in range(whole.size):
                left[k] = 0.0
                right[k] = whole[k]
                f_right = moved(0.0, f_right, criterion, whole[k], 1)
        # With missing values on the left, these come first.
        for step in range(size):
            k = step
            if search == 1:
                k = n_known + step if step < size - n_known else step - (size - n_known)
            if search == 0 and k >= n_known:
                break
            i = keys[k] & PLACES
            n1 += 1
            w1 += w[i]
            if form == CLASSES:
                c = label[start + i]
                f_left = moved(left[c], f_left, criterion, w[i], 1)
                f_right = moved(right[c], f_right, criterion, w[i], -1)
                left[c] += w[i]
                right[c] -= w[i]
            else:
                s1 += s[i]
            if k >= n_known:
                continue
            code = keys[k] >> PLACE_BITS
            after = MISSING if k + 1 == n_known else keys[k + 1] >> PLACE_BITS
            if after == code:
                continue
            if k + 1 == n_known and (search == 1 or not has_missing):
                break
            # A packed integer counts a row as often as its weight.
            n = int(w1) if form == PACKED else n1
            if form == CLASSES:
                score = class_score(f_left, f_right, w1, n, total, rules)
            else:
                score = cut_score(s1, w1, n, total, rules, constraint)
            if score > best:
                best, found = score, CUT
                at = MISSING - 1 if after == MISSING else (code + after) // 2
                to_left = search if has_missing else UNKNOWN
    return found, best, at, to_left


@jit
def least_squares_cut(keys, size, s, w, total, best):
    """The most frequent case: squared error, no missing value, no rule."""
    found, at = NO_CUT, 0
    s1 = w1 = 0.0
    key = keys[0]
    for k in range(1, size):
        i = key & PLACES
        s1 += s[i]
        w1 += w[i]
        after = keys[k]
        if after >> PLACE_BITS != key >> PLACE_BITS:
            s2, w2 = total[0] - s1, total[1] - w1
            if s1 * s1 * w2 + s2 * s2 * w1 >= best * (w1 * w2) * NEARLY:
                score = s1 * s1 / w1 + s2 * s2 / w2
                if score > best:
                    best, found = score, CUT
                    at = ((key >> PLACE_BITS) + (after >> PLACE_BITS)) // 2
        key = after
    return found, best, at, UNKNOWN
