"""The minimum of a convex risk along a line, for many lines at once.

Everything that boosting minimises in one variable is of one form: with rows grouped, find for each
group g the b_g that minimises sum_{i in g} w_i l(y_i, u_i + b_g psi_i). One group is an exact line
search, psi = 1 an optimal constant, psi = 1 with the leaves of a tree as groups the re-optimised
leaf values. Two pure functions solve it: one for losses with a derivative, one for losses with a
kink.
"""

import numpy as np

# The infimum of a convex risk may lie at infinity (a separating direction of the logistic loss).
# The search ends where the slope has fallen to this share of its value at 0.
VANISHING_SLOPE = 1e-8
MAX_EXPANSIONS = 100
MAX_ITERATIONS = 200


def group_sums(values, group, n_groups):
    """Sum of `values` in each group; `group=None` is one group of all rows."""
    if group is None:
        return np.array([values.sum()])
    return np.bincount(group, values, n_groups)


def root_of_increasing(slope, n_groups, first=1.0, rtol=1e-12):
    """Roots of n_groups increasing functions, evaluated together.

    Parameters
    ----------
    slope : callable
        Maps b of shape (n_groups,) to the derivatives at b, shape (n_groups,).
    n_groups : int
    first : float or array of shape (n_groups,)
        Length of the first step tried.
    rtol : float
        Width of the final bracket, relative to the root.

    Returns
    -------
    b : ndarray of shape (n_groups,)
        Where a function has no root, the point where it has fallen below VANISHING_SLOPE of its
        value at 0.
    """
    at_zero = slope(np.zeros(n_groups))
    b = np.zeros(n_groups)
    sign = -np.sign(at_zero)
    near, near_slope = np.zeros(n_groups), at_zero
    length = np.broadcast_to(np.asarray(first, dtype=float), (n_groups,)).copy()
    far, far_slope = sign * length, np.zeros(n_groups)
    seeking = sign != 0
    settled = ~seeking
    for tried in range(MAX_EXPANSIONS):
        if not seeking.any():
            break
        values = slope(np.where(seeking, far, b))
        crossed = seeking & (values * sign >= 0)
        far_slope = np.where(crossed, values, far_slope)
        vanished = seeking & ~crossed & (np.abs(values) <= VANISHING_SLOPE * np.abs(at_zero))
        found = vanished | (crossed & (values == 0))
        b = np.where(found, far, b)
        settled |= found
        seeking &= ~(crossed | vanished)
        near = np.where(seeking, far, near)
        near_slope = np.where(seeking, values, near_slope)
        # Doubling first, then faster, so that 1e150 is reached as well.
        far = np.where(seeking, far * 2.0 ** min(1 + tried // 8, 16), far)
    b = np.where(seeking, near, b)  # it never turns: the last point seen
    settled |= seeking

    # Illinois' false position; a bisection whenever the bracket has not halved in two steps.
    width = np.abs(far - near)
    for iteration in range(MAX_ITERATIONS):
        span = np.abs(far - near)
        settled_now = ~settled & (span <= rtol * np.maximum(np.abs(near), np.abs(far)))
        b = np.where(settled_now, near + (far - near) / 2, b)
        settled |= settled_now
        if settled.all():
            break
        gap = far_slope - near_slope
        safe = np.where(gap == 0, 1.0, gap)
        middle = near + (far - near) / 2
        trial = np.where(gap == 0, middle, far - far_slope / safe * (far - near))
        low, high = np.minimum(near, far), np.maximum(near, far)
        trial = np.where((trial <= low) | (trial >= high), middle, trial)
        if iteration % 3 == 2:
            trial = np.where(span > width / 2, middle, trial)
            width = span
        trial = np.where(settled, b, trial)
        values = slope(trial)
        exact = ~settled & (values == 0)
        b = np.where(exact, trial, b)
        settled |= exact
        opposite = values * far_slope < 0  # the root lies between trial and far
        near = np.where(opposite, far, near)
        near_slope = np.where(opposite, far_slope, near_slope / 2)
        far, far_slope = trial, values
    return np.where(settled, b, near + (far - near) / 2)


def root_of_jumps(position, jump, start, group, n_groups):
    """Where a sum of step functions passes through 0, in each group.

    The derivative of a piecewise linear convex risk starts at `start` (at minus infinity) and
    jumps up by `jump` at `position`. Where it is 0 on a whole interval the middle is returned, so
    that the median of four numbers is the usual one.

    Parameters
    ----------
    position, jump : arrays of shape (n,)
        `jump` is at least 0; rows with jump 0 are ignored.
    start : array of shape (n_groups,)
    group : int array of shape (n,) or None
    n_groups : int

    Returns
    -------
    b : ndarray of shape (n_groups,)
        0 for a group without jumps.
    """
    if group is None:
        group = np.zeros(len(position), dtype=np.intp)
    keep = jump > 0
    position, jump, group = position[keep], jump[keep], group[keep]
    order = np.lexsort((position, group))
    position, jump, group = position[order], jump[order], group[order]
    total = np.bincount(group, jump, n_groups)
    running = np.cumsum(jump)
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    before = np.concatenate([[0.0], running])[ends - np.bincount(group, minlength=n_groups)]
    after = start[group] + (running - before[group])
    # One kink more or less by rounding would move the minimum by a whole gap.
    tolerance = 1e-12 * (total + np.abs(start))
    b = np.zeros(n_groups)
    if not len(position):
        return b
    for offset, bound in ((0.5, -tolerance), (0.5, tolerance)):
        first = np.flatnonzero(after > bound[group])
        leaders, where = np.unique(group[first], return_index=True)
        at = first[where]
        b[leaders] += offset * position[at]
        # The derivative never rises above the bound: the minimum is at the last kink.
        rest = np.setdiff1d(np.unique(group), leaders)
        b[rest] += offset * position[ends[rest] - 1]
    return b
