"""The minimum of a convex risk along a line, for many lines at once.

Everything that boosting minimises in one variable is of one form: with rows grouped, find for each
group g the b_g that minimises sum_{i in g} w_i l(y_i, u_i + b_g psi_i). One group is an exact line
search, psi = 1 an optimal constant, psi = 1 with the leaves of a tree as groups the re-optimised
leaf values. Two pure functions solve it: one for losses with a derivative, one for losses with a
kink.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# The infimum of a convex risk may lie at infinity (a separating direction of the logistic loss).
# The search ends where the slope has fallen to this share of its value at 0.
VANISHING_SLOPE = 1e-8
MAX_EXPANSIONS = 100
MAX_ITERATIONS = 200
# Width of the final bracket, relative to the root.
CLOSE = 1e-12


def group_sums(values: Array, group: Array | None, n_groups: int) -> Array:
    """Sum of `values` in each group; `group=None` is one group of all rows."""
    if group is None:
        return np.array([values.sum()])
    return np.bincount(group, values, n_groups)


def expanded(length: Any, tried: int) -> Any:
    """The next length after `tried` others: doubled at first, then faster, to reach 1e150."""
    return length * 2.0 ** min(1 + tried // 8, 16)


class _Search:
    """The state of a search for the roots of many increasing functions.

    Its methods are generators, which yield arguments and are sent the functions' values there.
    `near` and `far` are the ends of the brackets with these values, `b` the roots of the functions
    that are `settled`.
    """

    def __init__(self, n_groups: int) -> None:
        self.b, self.settled = np.zeros(n_groups), np.zeros(n_groups, dtype=bool)
        self.near = self.near_slope = self.far = self.far_slope = self.b

    def settle(self, which: Array, b: Array) -> None:
        self.b = np.where(which, b, self.b)
        self.settled = self.settled | which

    def expand(self, first: Any) -> Generator[Array, Array, None]:
        """Bracket each root by going from 0 against the sign of the function there."""
        at_zero = yield self.b
        sign = -np.sign(at_zero)
        self.near_slope = at_zero
        self.far = sign * np.broadcast_to(np.asarray(first, dtype=float), sign.shape)
        seeking = sign != 0
        self.settled = ~seeking
        for tried in range(MAX_EXPANSIONS):
            if not seeking.any():
                break
            values = yield np.where(seeking, self.far, self.b)
            crossed = seeking & (values * sign >= 0)
            self.far_slope = np.where(crossed, values, self.far_slope)
            vanished = seeking & ~crossed & (np.abs(values) <= VANISHING_SLOPE * np.abs(at_zero))
            self.settle(vanished | (crossed & (values == 0)), self.far)
            seeking = seeking & ~(crossed | vanished)
            self.near = np.where(seeking, self.far, self.near)
            self.near_slope = np.where(seeking, values, self.near_slope)
            self.far = np.where(seeking, expanded(self.far, tried), self.far)
        self.settle(seeking, self.near)  # it never turns: the last point seen

    def start_from(self, low: Array, high: Array) -> Generator[Array, Array, None]:
        """Brackets that are known."""
        self.near, self.far = low, high
        self.near_slope = yield low
        self.far_slope = yield high
        self.settle((self.near_slope >= 0) | (low == high), low)
        self.settle(~self.settled & (self.far_slope <= 0), high)

    def close(self) -> Generator[Array, Array, Array]:
        """The roots, by false position in Illinois' variant, with bisections in between."""
        near, far = self.near, self.far
        near_slope, far_slope = self.near_slope, self.far_slope
        width = np.abs(far - near)
        for iteration in range(MAX_ITERATIONS):
            span = np.abs(far - near)
            narrow = ~self.settled & (span <= CLOSE * np.maximum(np.abs(near), np.abs(far)))
            self.settle(narrow, near + (far - near) / 2)
            if self.settled.all():
                break
            gap = far_slope - near_slope
            safe = np.where(gap == 0, 1.0, gap)
            middle = near + (far - near) / 2
            trial = np.where(gap == 0, middle, far - far_slope / safe * (far - near))
            # Not nearer to an end than the tolerance: once the root is found, the next point is on
            # its other side and closes the bracket.
            least = np.sign(far - near) * CLOSE / 2 * np.maximum(np.abs(near), np.abs(far))
            trial = np.where(np.abs(trial - far) < np.abs(least), far - least, trial)
            trial = np.where(np.abs(trial - near) < np.abs(least), near + least, trial)
            low, high = np.minimum(near, far), np.maximum(near, far)
            trial = np.where((trial <= low) | (trial >= high), middle, trial)
            if iteration % 3 == 2:
                trial = np.where(span > width / 2, middle, trial)
                width = span
            trial = np.where(self.settled, self.b, trial)
            values = yield trial
            self.settle(~self.settled & (values == 0), trial)
            # The root lies between trial and far; a product of the two might overflow or vanish.
            opposite = np.sign(values) * far_slope < 0
            near = np.where(opposite, far, near)
            near_slope = np.where(opposite, far_slope, near_slope / 2)
            far, far_slope = trial, values
        return np.where(self.settled, self.b, near + (far - near) / 2)


def _root_of_one(
    slope: Callable[[float], float], first: float, bracket: tuple[float, float] | None
) -> float:
    """The root of one function: the steps of `_Search` in plain numbers, with the same bits."""
    near = near_slope = far = far_slope = 0.0
    if bracket is None:
        at_zero = near_slope = slope(0.0)
        if not (at_zero > 0 or at_zero < 0):
            return abs(at_zero)
        far = first if at_zero < 0 else -first
        for tried in range(MAX_EXPANSIONS):
            far_slope = slope(far)
            crossed = far_slope <= 0 if at_zero > 0 else far_slope >= 0
            vanished = abs(far_slope) <= VANISHING_SLOPE * abs(at_zero)
            if far_slope == 0 or (vanished and not crossed):
                return far
            if crossed:
                break
            near, near_slope = far, far_slope
            far = expanded(far, tried)
        else:
            return near
    else:
        near, far = bracket
        near_slope, far_slope = slope(near), slope(far)
        if near_slope >= 0 or near == far:
            return near
        if far_slope <= 0:
            return far
    width = abs(far - near)
    for iteration in range(MAX_ITERATIONS):
        span, largest = abs(far - near), max(abs(near), abs(far))
        middle = near + (far - near) / 2
        if span <= CLOSE * largest:
            return middle
        gap = far_slope - near_slope
        trial = middle if gap == 0 else far - far_slope / gap * (far - near)
        least = (1.0 if far > near else -1.0) * CLOSE / 2 * largest
        if abs(trial - far) < abs(least):
            trial = far - least
        if abs(trial - near) < abs(least):
            trial = near + least
        if trial <= min(near, far) or trial >= max(near, far):
            trial = middle
        if iteration % 3 == 2:
            if span > width / 2:
                trial = middle
            width = span
        value = slope(trial)
        if value == 0:
            return trial
        if value < 0 < far_slope or far_slope < 0 < value:
            near, near_slope = far, far_slope
        else:
            near_slope /= 2
        far, far_slope = trial, value
    return near + (far - near) / 2


def root_of_increasing(
    slope: Callable[[Array], Array],
    n_groups: int,
    first: Any = 1.0,
    bracket: tuple[Array, Array] | None = None,
) -> Array:
    """Roots of n_groups increasing functions, all of which `slope` evaluates at (n_groups,).

    `first` is the length of the first step tried from 0. Instead `bracket` has ends between which
    the roots lie; where both are on one side of a root, the end that is nearer is returned. Where a
    function has no root, it is the point where it has fallen below VANISHING_SLOPE of its value at
    0.
    """
    if n_groups == 1:  # as in every line search: arrays of one number take eight times as long

        def of_one(b: float) -> float:
            return float(slope(np.array([b]))[0])

        length = float(np.broadcast_to(first, 1)[0])
        ends = None if bracket is None else (float(bracket[0][0]), float(bracket[1][0]))
        return np.array([_root_of_one(of_one, length, ends)])
    search = root_search(n_groups, first, bracket)
    b = next(search)
    while True:
        values = slope(b)  # outside of `try`: a StopIteration of it is not the end of the search
        try:
            b = search.send(values)
        except StopIteration as end:
            root: Array = end.value
            return root


def root_search(
    n_groups: int, first: Any = 1.0, bracket: tuple[Array, Array] | None = None
) -> Generator[Array, Array, Array]:
    """`root_of_increasing` as a generator, for functions that are evaluated with others."""
    search = _Search(n_groups)
    yield from search.expand(first) if bracket is None else search.start_from(*bracket)
    return (yield from search.close())


def root_of_jumps(
    position: Array, jump: Array, start: Array, group: Array | None, n_groups: int
) -> Array:
    """Where a sum of step functions passes through 0, in each group; 0 for a group without jumps.

    The derivative of a piecewise linear convex risk starts at `start` (at minus infinity) and jumps
    up by `jump` >= 0 at `position`. Where it is 0 on a whole interval the middle is returned, so
    that the median of four numbers is the usual one.
    """
    if group is None:
        group = np.zeros(len(position), dtype=np.intp)
    keep = jump > 0
    position, jump, group = position[keep], jump[keep], group[keep]
    order = np.lexsort((position, group))
    position, jump, group = position[order], jump[order], group[order]
    total = np.bincount(group, jump, n_groups)
    n_jumps = np.bincount(group, minlength=n_groups)
    ends = np.cumsum(n_jumps)
    # Differences of sums over all groups would have the rounding of the largest sum.
    after = start[group]
    for first, last in zip((ends - n_jumps).tolist(), ends.tolist()):
        after[first:last] += np.cumsum(jump[first:last])
    # One kink more or less by rounding would move the minimum by a whole gap.
    tolerance = (1e-12 + 2.3e-16 * n_jumps) * (total + np.abs(start))
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
