"""The steps of growing a tree by histograms, for boosting.

A leaf that may be cut holds the histogram of its rows. When it is cut, only its smaller child is
counted; the histogram of the other child is what remains, in the same place. The rows enter as
integers (see `cut_loops`), so that these differences are exact, and so that features and rows can
be shared out among threads without a change of a bit.

Arrays that all steps use:

- data: (codes by column (p, n), number of bins (p,), constraints (p,), rank of each feature (p,)).
  Of equally good cuts, up to rounding, the one of the lowest rank is taken.
- integers: (q, r) of all rows; r has one element for packed integers
- rows: three arrays; the rows of a leaf are a range in one of the first two, of shape (n,). The
  third one has one element: all rows, in their order.
- tables: int64 array of shape (leaves, forms, p, 256)
- nodes: `spans` (int64, see the names of its columns), `sums` (int64: target, weight and rows),
  `reals` (bounds of the mean, by how much the best cut increases the score) and `lefts` (int64, the
  sums on the left of the best cut)
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops._growth.cut_loops import (
    CUT,
    MISSING,
    NO_CUT,
    PACKED,
    UNKNOWN,
    comparable,
    cut_of_histogram,
)
from sklearn_ensemble_theory._hot_loops.compilation import jit_lean, jit_part

START, STOP, WHICH, TABLE, DEPTH, LEFT, RIGHT, FEATURE, CUT_AT = 0, 1, 2, 3, 4, 5, 6, 7, 8
N_SPANS = 9
# A cut whose score, computed without a division, is below the best by more than this is worse, also
# after rounding (see `comparable`).
NEARLY = 1 - 2.0**-31


@jit_lean
def sum_of_sizes(gradient, weight, start, stop):
    """The sums of weight times size and of weight times square of some gradients."""
    size = square = 0.0
    for i in range(start, stop):
        g = gradient[i]
        w = weight[i] if weight.size > 1 else 1.0
        size += w * abs(g)
        square += w * g * g
    return size, square


@jit_lean
def to_integers(gradient, weight, counts, scale, bits, form, q, start, stop):
    """The integers q of some rows. `counts` are whole weights, of one element where all are 1."""
    if form != PACKED:
        for i in range(start, stop):
            q[i] = np.int64(np.rint(weight[i] * gradient[i] * scale))
    elif counts.size > 1:
        for i in range(start, stop):
            q[i] = ((np.int64(np.rint(gradient[i] * scale)) * counts[i]) << bits) + counts[i]
    else:
        for i in range(start, stop):
            q[i] = (np.int64(np.rint(gradient[i] * scale)) << bits) + 1


@jit_lean
def count_all(codes, values, table, first, last):
    """Histograms of all rows, for the features from `first` to `last`; two at a time."""
    n = values.size
    j = first
    while j < last:
        pair = j + 1 < last
        h1, c1 = table[j], codes[j]
        h2, c2 = (table[j + 1], codes[j + 1]) if pair else (table[j], codes[j])
        for b in range(MISSING + 1):
            h1[b] = 0
            h2[b] = 0
        if pair:
            for i in range(n):
                v = values[i]
                h1[c1[i]] += v
                h2[c2[i]] += v
        else:
            for i in range(n):
                h1[c1[i]] += values[i]
        j += 2


@jit_lean
def count_rows(codes, rows, values, table, first, last):
    """The same of some rows; `values` are in the order of `rows`."""
    j = first
    while j < last:
        pair = j + 1 < last
        h1, c1 = table[j], codes[j]
        h2, c2 = (table[j + 1], codes[j + 1]) if pair else (table[j], codes[j])
        for b in range(MISSING + 1):
            h1[b] = 0
            h2[b] = 0
        if pair:
            for k in range(rows.size):
                i, v = rows[k], values[k]
                h1[c1[i]] += v
                h2[c2[i]] += v
        else:
            for k in range(rows.size):
                h1[c1[rows[k]]] += values[k]
        j += 2


@jit_part
def plain_cut(h, n_bins, bits, total, l2, best):
    """`cut_of_histogram` for packed integers, no missing value and no rule."""
    found, at = NO_CUT, 0
    low = (1 << bits) - 1
    s_all, w_all = total[0], total[1]
    acc, before = 0, -1
    for c in range(n_bins):
        cell = h[c]
        if cell == 0:
            continue
        if before >= 0:
            s1, w1 = float(acc >> bits), float(acc & low)
            s2, w2 = s_all - s1, w_all - w1 + l2
            w1 += l2
            if s1 * s1 * w2 + s2 * s2 * w1 >= best * (w1 * w2) * NEARLY:
                score = comparable(s1 * s1 / w1 + s2 * s2 / w2)
                if score > best:
                    best, found, at = score, CUT, (before + c) // 2
        before = c
        acc += cell
    return found, best, at, UNKNOWN


@jit_lean
def find_cuts(data, tables, nodes, node, plan, rules, first, last, found):
    """The best cut of a leaf over the features from `first` to `last`.

    It is written to found: (int64 (feature, code, missing_left, sums on the left), float64 score,
    rounded for comparisons).
    """
    _, n_bins, constraints, rank = data
    form, bits = plan
    cuts, scores = found
    sums, real, at = nodes[1][node], nodes[2][node], nodes[0][node, TABLE]
    h, g = tables[at, 0], tables[at, tables.shape[1] - 1]
    total = (float(sums[0]), float(sums[1]), sums[2])
    unbounded = real[0] == -np.inf and real[1] == np.inf
    plain = form == PACKED and rules[2] <= 1 and rules[3] <= 0 and unbounded
    best, feature, cut, to_left = -np.inf, -1, 0, 0
    for j in range(first, last):
        least = best
        if feature >= 0 and rank[j] < rank[feature]:
            least = np.nextafter(best, -np.inf)  # an equally good cut is better, too
        if plain and constraints[j] == 0 and h[j, MISSING] == 0:
            one = plain_cut(h[j], n_bins[j], bits, total, rules[1], least)
        else:
            constraint = (int(constraints[j]), real[0], real[1])
            one = cut_of_histogram(h[j], g[j], form, bits, total, rules, constraint, least)
        if one[0] == CUT:
            _, best, cut, to_left = one
            feature = j
    scores[0] = best
    cuts[0], cuts[1], cuts[2] = feature, cut, to_left
    if feature < 0:
        return
    q = r = 0
    for c in range(cut + 1):
        q += h[feature, c]
        r += g[feature, c]
    if to_left == 1:
        q += h[feature, MISSING]
        r += g[feature, MISSING]
    low = (1 << bits) - 1
    if form == PACKED:
        cuts[3], cuts[4], cuts[5] = q >> bits, q & low, q & low
    else:
        cuts[3], cuts[4], cuts[5] = q, r >> bits, r & low


@jit_lean
def count_left(column, cut, to_left, rows, start, stop):
    """How many rows go to the left."""
    n_left = 0
    for k in range(start, stop):
        code = column[rows[k] if rows.size > 1 else k]
        n_left += to_left if code == MISSING else int(code <= cut)
    return n_left


@jit_lean
def part_rows(column, cut, to_left, rows, start, stop, to_rows, a, z):
    """Write the rows of the left child from place a upwards, of the right one from z downwards.

    Rows stay in the order of their indices, or in its reverse; sums do not depend on it. There is
    one write in every step and no branch to be predicted.
    """
    for k in range(start, stop):
        i = rows[k] if rows.size > 1 else k
        code = column[i]
        left = to_left if code == MISSING else int(code <= cut)
        to_rows[z + left * (a - z)] = i
        a += left
        z -= 1 - left
    return a


@jit_lean
def gather(values, rows, start, stop, out):
    """The integers of the rows of a range, in their order, from the beginning of `out` on."""
    for k in range(start, stop):
        out[k - start] = values[rows[k]]


@jit_lean
def fill_leaf(rows, start, stop, leaf, node, gradient, weight):
    """Write the number of the leaf of some rows; the sums of weights, gradients and squares."""
    total = moment = square = 0.0
    for k in range(start, stop):
        i = rows[k] if rows.size > 1 else k
        node[i] = leaf
        g = gradient[i]
        w = weight[i] if weight.size > 1 else 1.0
        total += w
        moment += w * g
        square += w * g * g
    return total, moment, square


@jit_lean
def fill_leaves(column, cut, to_left, rows, start, stop, leaves, node, gradient, weight):
    """The same for two leaves whose rows have not been parted: on the left, on the right."""
    left_weight = left_moment = left_square = 0.0
    right_weight = right_moment = right_square = 0.0
    left_leaf, right_leaf = leaves
    for k in range(start, stop):
        i = rows[k] if rows.size > 1 else k
        code = column[i]
        left = to_left if code == MISSING else int(code <= cut)
        node[i] = left_leaf if left == 1 else right_leaf
        g = gradient[i]
        w = weight[i] if weight.size > 1 else 1.0
        # Without a branch, which could not be predicted. Not by differences from the sums of both,
        # in which the digits of a leaf of little weight are lost.
        v = w * (1 - left)
        right_weight += v
        right_moment += v * g
        right_square += v * g * g
        w *= left
        left_weight += w
        left_moment += w * g
        left_square += w * g * g
    left_sums = left_weight, left_moment, left_square
    return left_sums, (right_weight, right_moment, right_square)
