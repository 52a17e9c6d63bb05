"""Leaf values of losses without a second derivative: quantiles and Huber's means in every leaf."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

# Rows of a leaf are counted in so many intervals; only those of one interval are looked at closely.
N_INTERVALS = 512
# At most so many intervals in all leaves together: their tables must stay in the cache.
MAX_INTERVALS = 2**17
# With more groups than this, neighbouring rows are mostly in different ones.
MAX_LANED = 256
# One kink more or less by rounding would move the minimum by a whole gap. As in `root_of_jumps`.
JUMP_TOLERANCE, ROUNDING = 1e-12, 2.3e-16


@jit
def add_leaf_values(u, values, leaf):
    """u += values[leaf]."""
    for i in range(u.size):
        u[i] += values[leaf[i]]


@jit
def add_group_sums(values, weight, group, sums):
    """sums[g] += the sum of weight * values in group g."""
    # Four sums of each group in turn: one must not wait for the other where neighbours are in the
    # same group.
    lanes = 3 if sums.size <= MAX_LANED else 0
    parts = np.zeros((lanes + 1, sums.size))
    for i in range(values.size):
        parts[i & lanes, group[i]] += weight[i] * values[i]
    for part in parts:
        for k in range(sums.size):
            sums[k] += part[k]


@jit
def residual_ranges(y, u, leaf, low, high):
    """The smallest and the largest y - u of each leaf; inf and -inf for a leaf without rows."""
    low[:] = np.inf
    high[:] = -np.inf
    for i in range(y.size):
        r = y[i] - u[i]
        k = leaf[i]
        low[k] = min(low[k], r)
        high[k] = max(high[k], r)


@jit
def huber_slopes(y, u, weight, target, leaf, rows, options, sums):
    """Derivatives of Huber's risk of a chunk along each leaf's step.

    `options` is (delta, steps); `sums`, of shape (n_leaves, 2), gets the first derivative at the
    leaf's step and the weight of the rows that are within delta there.
    """
    delta, steps = options
    for i in range(rows[0], rows[1]):
        k = leaf[i]
        w = weight[0] if weight.size == 1 else weight[i]
        r = u[i] + steps[k] - y[i]
        sums[k, 0] += w * min(max(r, -delta), delta)
        sums[k, 1] += w if abs(r) < delta else 0.0


@jit
def _interval(position, low, scale, n_intervals):
    """The interval that a position is in: never decreasing in the position."""
    where = (position - low) * scale
    return min(int(where), n_intervals - 1) if where > 0 else 0


@jit
def _scale(low, high, n_intervals):
    """Intervals a unit; 0, which is one interval, where this is no usable number."""
    width = high - low
    scale = n_intervals / width if width > 0 else 0.0
    return scale if scale < 1e300 and width < 1e300 else 0.0


@jit
def _passing_position(position, jump, start, bound):
    """The smallest position at which start plus the jumps so far exceeds the bound.

    The largest position where it never does. Reorders both arrays. Also returns the sum there.
    """
    first, last, before = 0, position.size, start
    while True:
        a, b, c = position[first], position[(first + last) // 2], position[last - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        # below: [first, i), at the pivot: [i, k), above: [m, last)
        i, k, m = first, first, last
        below = at = 0.0
        while k < m:
            x, step = position[k], jump[k]
            if x < pivot:
                below += step
                position[k], jump[k] = position[i], jump[i]
                position[i], jump[i] = x, step
                i += 1
                k += 1
            elif x > pivot:
                m -= 1
                position[k], jump[k] = position[m], jump[m]
                position[m], jump[m] = x, step
            else:
                at += step
                k += 1
        if i > first and before + below > bound:
            last = i
        elif before + below + at > bound or m == last:
            return pivot, before + below + at
        else:
            before += below + at
            first = m


@jit
def kink_leaves(y, u, weight, leaf, options, steps):
    """The step that minimises the risk in each leaf, for a loss with one kink at y.

    It is a weighted quantile of y - u: where the derivative, which jumps up at each of these,
    passes 0. Where the derivative is 0 on an interval, its middle.

    Parameters
    ----------
    y, u : float arrays of shape (n,)
    weight : float array of shape (n,) or (1,)
    leaf : int array of shape (n,)
    options : tuple
        Slopes as for `kink_rows`.
    steps : float array of shape (n_leaves,)
        Filled in; 0 for a leaf without rows that jump.

    Notes
    -----
    Two passes over the rows count the jumps in intervals, and the rows of the interval in which the
    derivative passes 0 are partitioned further: O(n) on average.
    """
    above_left, above_right, below_left, below_right = options
    n, n_leaves = y.size, steps.size
    same = weight.size == 1  # then every row weighs 1, and the sums are exact
    low, high = np.full(n_leaves, np.inf), np.full(n_leaves, -np.inf)
    sums = np.zeros((n_leaves, 2))  # weights of the rows with y <= 0 and y > 0
    n_rows = np.zeros(n_leaves)
    for i in range(n):
        w = 1.0 if same else weight[i]
        k = leaf[i]
        sums[k, int(y[i] > 0)] += w
        n_rows[k] += 1
        if w > 0:
            r = y[i] - u[i]
            low[k] = min(low[k], r)
            high[k] = max(high[k], r)
    below, above = sums[:, 0], sums[:, 1]
    start = above * above_left + below * below_left
    total = above * (above_right - above_left) + below * (below_right - below_left)
    bound = (JUMP_TOLERANCE + ROUNDING * n_rows) * (total + np.abs(start))

    n_intervals = max(2, min(N_INTERVALS, MAX_INTERVALS // n_leaves))
    scale = np.empty(n_leaves)
    for k in range(n_leaves):
        scale[k] = _scale(low[k], high[k], n_intervals)
    mass = np.zeros((n_leaves, n_intervals))
    count = np.zeros((n_leaves, n_intervals), np.int32)
    for i in range(n):
        w = 1.0 if same else weight[i]
        jump = above_right - above_left if y[i] > 0 else below_right - below_left
        k = leaf[i]
        if w > 0:
            j = _interval(y[i] - u[i], low[k], scale[k], n_intervals)
            mass[k, j] += w * jump
            count[k, j] += 1

    # The intervals in which the derivative rises above -bound and above +bound.
    chosen, last = np.full(n_leaves, -1), np.full(n_leaves, -1)
    first = np.zeros(n_leaves + 1, np.int64)
    for k in range(n_leaves):
        so_far = before = start[k]
        for j in range(n_intervals):
            if count[k, j] == 0:
                continue
            if not so_far > -bound[k]:
                chosen[k], before = j, so_far
                first[k + 1] = 0
            last[k] = j
            first[k + 1] += count[k, j]
            so_far += mass[k, j]
            if so_far > bound[k]:
                break
        start[k] = before
    for k in range(n_leaves):
        first[k + 1] += first[k]
    position, jumps = np.empty(first[n_leaves]), np.empty(first[n_leaves])
    filled = first[:-1].copy()
    for i in range(n):
        w = 1.0 if same else weight[i]
        jump = above_right - above_left if y[i] > 0 else below_right - below_left
        k = leaf[i]
        if w > 0:
            r = y[i] - u[i]
            j = _interval(r, low[k], scale[k], n_intervals)
            # chosen <= j <= last by one comparison, which the processor predicts: rarely true.
            if np.uint32(j - chosen[k]) <= np.uint32(last[k] - chosen[k]):
                position[filled[k]], jumps[filled[k]] = r, w * jump
                filled[k] += 1

    for k in range(n_leaves):
        steps[k] = 0.0
        if first[k] < first[k + 1]:
            part = position[first[k] : first[k + 1]]
            of_part = jumps[first[k] : first[k + 1]]
            steps[k], after = _passing_position(part, of_part, start[k], -bound[k])
            if not after > bound[k]:
                further, after = _passing_position(part, of_part, start[k], bound[k])
                steps[k] = 0.5 * steps[k] + 0.5 * further
