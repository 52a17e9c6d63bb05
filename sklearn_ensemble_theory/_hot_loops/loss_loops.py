"""Losses in one pass over the rows: value, negative gradient, and what leaf values need.

Every loop takes a chunk of rows, (start, stop), so that threads can share the chunks out and the
sums over chunks do not depend on how many threads there are. `weight` has one entry where all rows
weigh the same. The exponential function is written out, because the compiler then takes several
rows at a time; it is exact to two units in the last place.
"""

import math

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

LOG2_E = 1.4426950408889634
# log 2 in two parts: the product of the first with an integer below 2^11 is exact.
LOG_2_HIGH, LOG_2_LOW = 0.693145751953125, 1.42860682030941723212e-6
# A double beside this number has no fraction, and its integer stands in the lowest bits.
ROUNDER = 6755399441055744.0
EXPONENT_BIAS = 1023
BLOCK = 256
# With more leaves than this, neighbouring rows are mostly in different ones.
MAX_LANED = 256
SMALLEST_EXPONENT = -708.0
LARGEST_EXPONENT = 700.0  # as MAX_EXPONENT of the losses


@jit
def vector_exp(x):
    """exp(x) for x <= 709; exp(-708) below -708."""
    x = max(x, SMALLEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDER
    whole = shifted - ROUNDER
    r = (x - whole * LOG_2_HIGH) - whole * LOG_2_LOW
    # Taylor's series to the 13th power: |r| <= log(2) / 2.
    p = r * (1 / 6227020800) + 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    power = (np.float64(shifted).view(np.int64) + EXPONENT_BIAS) << 52
    return p * np.int64(power).view(np.float64)


@jit
def vector_log1p(e):
    """log(1 + e) for 0 <= e <= 1: twice the series of artanh(e / (2 + e))."""
    s = e / (2.0 + e)
    z = s * s
    p = z * (1 / 35) + 1 / 33
    p = p * z + 1 / 31
    p = p * z + 1 / 29
    p = p * z + 1 / 27
    p = p * z + 1 / 25
    p = p * z + 1 / 23
    p = p * z + 1 / 21
    p = p * z + 1 / 19
    p = p * z + 1 / 17
    p = p * z + 1 / 15
    p = p * z + 1 / 13
    p = p * z + 1 / 11
    p = p * z + 1 / 9
    p = p * z + 1 / 7
    p = p * z + 1 / 5
    p = p * z + 1 / 3
    return 2.0 * s + 2.0 * s * z * p


@jit
def _weighted_sum(values, weight, start):
    """sum_i w_i v_i over a chunk, with four sums at a time, as the processor can add them."""
    n = values.size
    a = b = c = d = 0.0
    whole = n - n % 4
    if weight.size == 1:
        for i in range(0, whole, 4):
            a += values[i]
            b += values[i + 1]
            c += values[i + 2]
            d += values[i + 3]
        for i in range(whole, n):
            a += values[i]
        return weight[0] * ((a + b) + (c + d))
    w = weight[start : start + n]
    for i in range(0, whole, 4):
        a += w[i] * values[i]
        b += w[i + 1] * values[i + 1]
        c += w[i + 2] * values[i + 2]
        d += w[i + 3] * values[i + 3]
    for i in range(whole, n):
        a += w[i] * values[i]
    return (a + b) + (c + d)


# Value and negative gradient ----------------------------------------------------------------------
# Each returns the weighted sum of the losses of a chunk and writes its part of `target`.


@jit
def squared_rows(y, u, weight, target, rows, options):
    start, stop = rows
    known, scores, to = y[start:stop], u[start:stop], target[start:stop]
    values = np.empty(stop - start)
    for i in range(values.size):
        r = known[i] - scores[i]
        to[i] = r
        values[i] = 0.5 * (r * r)
    return _weighted_sum(values, weight, start)


@jit
def huber_rows(y, u, weight, target, rows, options):
    """`options`: delta."""
    delta = options[0]
    start, stop = rows
    known, scores, to = y[start:stop], u[start:stop], target[start:stop]
    values = np.empty(stop - start)
    for i in range(values.size):
        r = known[i] - scores[i]
        size = abs(r)
        near = min(size, delta)
        to[i] = min(max(r, -delta), delta)
        values[i] = near * (size - near / 2)
    return _weighted_sum(values, weight, start)


@jit
def kink_rows(y, u, weight, target, rows, options):
    """`options`: the slopes on the left and right of the kink for y > 0, then for the others."""
    above_left, above_right, below_left, below_right = options
    start, stop = rows
    known, scores, to = y[start:stop], u[start:stop], target[start:stop]
    values = np.empty(stop - start)
    for i in range(values.size):
        at = known[i]
        left = above_left if at > 0 else below_left
        right = above_right if at > 0 else below_right
        gap = scores[i] - at
        values[i] = (left if gap < 0 else right) * gap
        slope = left if gap < 0 else right
        to[i] = -slope if gap != 0 else -(left + right) / 2
    return _weighted_sum(values, weight, start)


@jit
def poisson_rows(y, u, weight, target, rows, options):
    start, stop = rows
    known, scores, to = y[start:stop], u[start:stop], target[start:stop]
    values = np.empty(stop - start)
    for i in range(values.size):
        rate = vector_exp(min(scores[i], LARGEST_EXPONENT))
        to[i] = known[i] - rate
        values[i] = rate - known[i] * scores[i]
    return _weighted_sum(values, weight, start)


@jit
def logistic_rows(y, u, weight, target, rows, options):
    start, stop = rows
    known, scores, to = y[start:stop], u[start:stop], target[start:stop]
    values = np.empty(stop - start)
    for i in range(values.size):
        margin = known[i] * scores[i]
        e = vector_exp(-abs(margin))
        share = 1.0 / (1.0 + e)
        to[i] = known[i] * (share if margin < 0 else e * share)
        values[i] = vector_log1p(e) + max(-margin, 0.0)
    return _weighted_sum(values, weight, start)


@jit
def exponential_rows(y, u, weight, target, rows, options):
    start, stop = rows
    known, scores, to = y[start:stop], u[start:stop], target[start:stop]
    values = np.empty(stop - start)
    for i in range(values.size):
        e = vector_exp(min(-known[i] * scores[i], LARGEST_EXPONENT))
        to[i] = known[i] * e
        values[i] = e
    return _weighted_sum(values, weight, start)


@jit
def multinomial_rows(y, u, weight, target, rows, options):
    start, stop = rows
    n_classes = u.shape[1]
    values = np.empty(stop - start)
    # A few rows at a time with the classes outside, so that the inner loops are over rows.
    shares, top, total = np.empty((n_classes, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for first in range(start, stop, BLOCK):
        n = min(BLOCK, stop - first)
        known = y[first : first + n]
        scores, to = u[first : first + n], target[first : first + n]
        for i in range(n):
            top[i] = scores[i, 0]
            total[i] = 0.0
        for k in range(1, n_classes):
            for i in range(n):
                top[i] = max(top[i], scores[i, k])
        for k in range(n_classes):
            share = shares[k]
            for i in range(n):
                share[i] = scores[i, k] - top[i]
            for i in range(n):
                share[i] = vector_exp(share[i])
            for i in range(n):
                total[i] += share[i]
        for k in range(n_classes):
            share = shares[k]
            for i in range(n):
                to[i, k] = -(share[i] / total[i])
        for i in range(n):
            own = known[i]
            to[i, own] += 1.0
            values[first - start + i] = math.log(total[i]) - (scores[i, own] - top[i])
    return _weighted_sum(values, weight, start)


# Sums in the leaves -------------------------------------------------------------------------------
# Each adds the sums of a chunk to `sums`, of shape (n_leaves, 3): weight times the first of two
# numbers of a row, weight times the second, and the weight. `target` is the negative gradient in
# the score that the leaves belong to.


@jit
def _add_by_leaf(first, second, weight, leaf, start, sums):
    which = leaf[start : start + first.size]
    n_leaves = sums.shape[0]
    # Four sums of each leaf in turn: one must not wait for the other where neighbours are in the
    # same leaf.
    lanes = 3 if n_leaves <= MAX_LANED else 0
    parts = np.zeros((lanes + 1, n_leaves, 3))
    if weight.size == 1:
        for i in range(first.size):
            row = parts[i & lanes, which[i]]
            row[0] += first[i]
            row[1] += second[i]
            row[2] += 1.0
        parts *= weight[0]
    else:
        w = weight[start : start + first.size]
        for i in range(first.size):
            row = parts[i & lanes, which[i]]
            row[0] += w[i] * first[i]
            row[1] += w[i] * second[i]
            row[2] += w[i]
    for part in parts:
        for k in range(n_leaves):
            for j in range(3):
                sums[k, j] += part[k, j]


@jit
def unit_curvatures(y, u, weight, target, leaf, rows, options, sums):
    """Negative gradients and second derivatives, which are 1."""
    start, stop = rows
    _add_by_leaf(target[start:stop], np.ones(stop - start), weight, leaf, start, sums)


@jit
def logistic_curvatures(y, u, weight, target, leaf, rows, options, sums):
    """Negative gradients and second derivatives."""
    start, stop = rows
    scores = u[start:stop]
    second = np.empty(stop - start)
    for i in range(second.size):
        e = vector_exp(-abs(scores[i]))
        second[i] = e / ((1.0 + e) * (1.0 + e))
    _add_by_leaf(target[start:stop], second, weight, leaf, start, sums)


@jit
def exponential_curvatures(y, u, weight, target, leaf, rows, options, sums):
    """Negative gradients and second derivatives, which are their absolute values."""
    start, stop = rows
    first = target[start:stop]
    second = np.empty(stop - start)
    for i in range(second.size):
        second[i] = abs(first[i])
    _add_by_leaf(first, second, weight, leaf, start, sums)


@jit
def multinomial_curvatures(y, u, weight, target, leaf, rows, options, sums):
    """Negative gradients and second derivatives of the score of one class, `options`."""
    start, stop = rows
    column = options[0]
    first, second = np.empty(stop - start), np.empty(stop - start)
    for i in range(second.size):
        t = target[start + i]
        p = 1.0 - t if y[start + i] == column else -t
        if t > 0.99:
            # The difference from 1 has lost its digits.
            scores = u[start + i]
            total = 0.0
            for k in range(scores.size):
                total += math.exp(min(scores[k] - scores[column], LARGEST_EXPONENT))
            p = 1.0 / total
        first[i] = t
        second[i] = p * (1.0 - p)
    _add_by_leaf(first, second, weight, leaf, start, sums)


@jit
def poisson_rates(y, u, weight, target, leaf, rows, options, sums):
    """Events and expected events."""
    start, stop = rows
    scores = u[start:stop]
    second = np.empty(stop - start)
    for i in range(second.size):
        second[i] = vector_exp(min(scores[i], LARGEST_EXPONENT))
    _add_by_leaf(y[start:stop], second, weight, leaf, start, sums)
