"""Stumps that minimise a convex risk jointly over the split and its two values, for any loss.

For a set S of rows let

    D(S, b) = sum_{i in S} w_i (l(y_i, u_i) - l(y_i, u_i + b)),     D(S) = max_b D(S, b),

what the risk falls by if b is added to the scores in S. The best stump has the largest
D(left) + D(right) over all features and thresholds. Two optimal values for each of n p thresholds
are too many searches; bounds leave a few.

- *Tangents.* D(S, .) is concave. Its values and slopes at a few b, the *grid*, bound its maximum
  from below (the largest value) and from above (where the tangents left and right of the maximum
  meet). The sums over all sets "left of a threshold" are cumulative sums.
- *Cells.* A threshold inside a cell C of neighbouring rows divides it. By convexity a row with
  slope s_i = -w_i l'(y_i, u_i) adds at most s_i b to the side with value b, and at most d_i, the
  most that its own loss can fall by. With N = sum (s_i)+, P = sum (-s_i)+ over C, L and R the rows
  to the left and right of C, and M_N, M_P the sums of the d_i of the same rows,

      D(left) + D(right) <= max of A(L, N) + B(R, P) and B(L, P) + A(R, N),
      A(S, N) = min(max_b [D(S, b) + N b], D(S) + M_N),
      B(S, P) = min(max_b [D(S, b) - P b], D(S) + M_P),

  because max(s_i b, s_i b') summed over C is N max(b, b') - P min(b, b'). These maxima are bounded
  by tangents as well. A cell whose bound is below a sum that is reached elsewhere holds no better
  threshold.
- *Rows.* The thresholds inside the other cells are bounded one by one, by tangents.
- *Cuts.* The two values of the most promising threshold are found exactly and join the grid. The
  maxima of its competitors lie close by, where the tangents touch: few remain.

The values b are searched where a row can still gain: the grid ends where the slopes of the rows
that would go further have fallen to 1e-8 of those at 0, as the root search does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._roots import (
    MAX_EXPANSIONS,
    VANISHING_SLOPE,
    expanded,
    group_sums,
    root_of_increasing,
)
from sklearn_ensemble_theory._typing import LossLike

from .split_search import PLAIN_ROWS, SEARCH_BINS, TIE_TOLERANCE, ColumnIndex, Split

Array = np.ndarray
Numbers = float | np.ndarray

# With few rows, a cell holds so many of them.
CELL_ROWS = 16
# So many rows of cells are looked at at a time.
ROWS_AT_ONCE = 2**14
# Refinements of the grid before the rows are looked at, and the new points of each.
REFINEMENTS = 6
NEW_POINTS = 6
# Bounds by tangents are too wide from this share of what the bound of a cell exceeds the best by.
WIDE = 0.1
# So many edges are looked at one by one.
FEW_EDGES = 8
# A split found here has no masses.
NONE = np.empty(0)


def cells_of(n: int) -> int:
    """How many cells a column of n rows is cut into."""
    return SEARCH_BINS if n > PLAIN_ROWS else max(2, min(SEARCH_BINS, n // CELL_ROWS))


# --- bounds of the maxima of sums of concave functions --------------------------------------------


class RowFalls:
    """What the loss of each row falls by as b is added to its score u."""

    def __init__(self, loss: LossLike, y: Array, u: Array, weight: Array) -> None:
        self.loss, self.y, self.u, self.weight = loss, y, u, weight
        self.start = loss.value(y, u)
        self.size = float(weight @ np.abs(self.start))
        self.slopes_at_zero = -weight * loss.gradient(y, u)

    def slopes(self, b: Numbers) -> Array:
        """The slopes in b of the falls."""
        return -self.weight * self.loss.gradient(self.y, self.u + b)

    def at(self, b: Numbers, rows: slice | Array = slice(None)) -> tuple[Array, Array]:
        """The falls of some rows and their slopes in b."""
        y, u, weight = self.y[rows], self.u[rows] + b, self.weight[rows]
        falls = weight * (self.start[rows] - self.loss.value(y, u))
        return falls, -weight * self.loss.gradient(y, u)

    def rough_grid(self) -> tuple[list[float], Array]:
        """Values of b, of which the outermost are those beyond which no row gains.

        Also the most that each row can fall by there, from above.
        """
        s = self.slopes_at_zero
        first = min(1.0, float(np.max(np.abs(self.loss.gradient(self.y, self.u)), initial=0.0)))
        grid, most = [0.0], np.zeros(len(s))
        for sign in (-1.0, 1.0):
            gaining = sign * s > 0
            enough = VANISHING_SLOPE * float(np.abs(s[gaining]).sum())
            before, falls, slopes, b = 0.0, np.zeros(len(s)), s, sign * first
            # Away from 0 in growing steps, until what the rows still gain is nothing.
            for tried in range(MAX_EXPANSIONS if gaining.any() else 0):
                with np.errstate(over="ignore", invalid="ignore"):
                    new_falls, new_slopes = self.at(b)
                if not (np.isfinite(new_falls).all() and np.isfinite(new_slopes).all()):
                    break
                grid.append(b)
                turned = gaining & (sign * new_slopes <= 0)
                top = meeting(before, falls, slopes, b, new_falls, new_slopes)[1]
                most[turned] = np.maximum(top, new_falls)[turned]
                gaining &= ~turned
                before, falls, slopes = b, new_falls, new_slopes
                if np.abs(slopes[gaining]).sum() <= enough:
                    break
                b = expanded(b, tried)
            most[gaining] = falls[gaining]
        return grid, most


def meeting(
    a: Numbers, value_a: Array, slope_a: Array, b: Numbers, value_b: Array, slope_b: Array
) -> tuple[Array, Array]:
    """Where two tangents of a concave function meet, and the height there."""
    gap = slope_a - slope_b
    flat = gap == 0
    along = np.where(flat, 0.0, (value_b - value_a - slope_b * (b - a)) / np.where(flat, 1.0, gap))
    place = np.clip(a + along, np.minimum(a, b), np.maximum(a, b))
    return place, value_a + slope_a * (place - a)


class Maxima:
    """Bounds of the maxima of concave functions, from the two points next to each maximum.

    `low` and `high`, of shape (3, ...), are place, value and slope at the last point before the
    maximum and the first one after it; the same point twice for a maximum at an end of the grid.
    """

    def __init__(self, low: Array, high: Array) -> None:
        self.low, self.high = low, high

    @classmethod
    def on_grid(cls, grid: Array, values: Array, slopes: Array, tilt: Numbers = 0.0) -> Maxima:
        """Those of f(b) + tilt b, for values and slopes of f of shape (M, ...)."""
        b = grid.reshape(-1, *[1] * (values.ndim - 1))
        values, slopes = values + tilt * b, slopes + tilt
        after = np.count_nonzero(slopes > 0, axis=0)
        ends = []
        for at in (np.maximum(after - 1, 0), np.minimum(after, len(grid) - 1)):
            parts = (np.take_along_axis(part, at[None], axis=0)[0] for part in (values, slopes))
            ends.append(np.stack([grid[at], *parts]))
        return cls(ends[0], ends[1])

    @property
    def lower(self) -> Array:
        """The larger of the two values."""
        return np.maximum(self.low[1], self.high[1])

    @property
    def place(self) -> Array:
        """Where the tangents meet."""
        return meeting(*self.low, *self.high)[0]

    @property
    def upper(self) -> Array:
        """The height at which the tangents meet."""
        return np.maximum(meeting(*self.low, *self.high)[1], self.lower)

    def take(self, which: Array) -> Maxima:
        """Those of some of the functions."""
        return Maxima(self.low[:, which], self.high[:, which])

    def insert(self, b: float, values: Array, slopes: Array) -> None:
        """Use a further point of every function."""
        new = np.stack([np.full_like(values, b), values, slopes])
        inside = (self.low[0] < b) & (b < self.high[0])
        self.low = np.where(inside & (slopes > 0), new, self.low)
        self.high = np.where(inside & (slopes <= 0), new, self.high)


class Sums(NamedTuple):
    """Falls and slopes of sets of rows on the grid: arrays of shape (M, p, B + 1)."""

    falls: Array
    slopes: Array

    def maxima(self, grid: Array, tilt: Numbers = 0.0, at: slice = np.s_[:]) -> Maxima:
        return Maxima.on_grid(grid, self.falls[:, :, at], self.slopes[:, :, at], tilt)


class Cells:
    """Sums over the rows on the two sides of each edge of a cell, on a grid of b that grows.

    `before` and `after` are summed from either end of a column: at a large b a row that loses may
    outweigh all others, and the sums over sets without it must not contain its rounding errors.
    """

    def __init__(self, index: ColumnIndex, rows: RowFalls) -> None:
        self.index, self.rows = index, rows
        empty = np.empty((0, index.p, index.n_bins + 1))
        self.grid = np.empty(0)
        self.before = self.after = Sums(empty, empty)
        grid, most = rows.rough_grid()
        self.add(grid)
        up = rows.slopes_at_zero > 0
        s = np.abs(rows.slopes_at_zero)
        parts = self._sums([np.where(side, part, 0.0) for side in (up, ~up) for part in (s, most)])
        # Slopes at 0 and most falls of the rows that gain by b > 0, and of those that do by b < 0.
        self.rise_slope, self.rise_most, self.sink_slope, self.sink_most = parts

    def _sums(self, columns: list[Array]) -> Array:
        scales = [float(np.max(np.abs(c), initial=0.0)) or 1.0 for c in columns]
        sums = self.index.column_masses([c / scale for c, scale in zip(columns, scales)])
        return sums * np.reshape(scales, (-1, 1, 1))

    def add(self, points: list[float]) -> None:
        """Let the grid have further points."""
        shape = (2, len(points), self.index.p, self.index.n_bins + 1)
        before, after = np.zeros(shape), np.zeros(shape)
        # A pass over the rows for each point: its sums stay for all later bounds.
        for m, b in enumerate(points):
            sums = self._sums(list(self.rows.at(b)))
            np.cumsum(sums, axis=2, out=before[:, m, :, 1:])
            np.cumsum(sums[:, :, ::-1], axis=2, out=after[:, m, :, -2::-1])
        grid = np.concatenate([self.grid, points])
        order = np.argsort(grid)
        self.grid = grid[order]
        self.before, self.after = (
            Sums(*(np.concatenate([old, new])[order] for old, new in zip(known, found)))
            for known, found in ((self.before, before), (self.after, after))
        )

    def sides(self) -> tuple[Maxima, Maxima]:
        """The maxima of D over the rows before and after each edge: of shape (p, B + 1)."""
        return self.before.maxima(self.grid), self.after.maxima(self.grid)

    def bounds(self, left: Maxima, right: Maxima) -> tuple[Array, list[Maxima]]:
        """What no threshold inside each cell exceeds, and the maxima that it is made of."""
        tilted, bounds = [], []
        for sums, at, side in (
            (self.before, np.s_[:-1], left.upper[:, :-1]),
            (self.after, np.s_[1:], right.upper[:, 1:]),
        ):
            for tilt, most in (
                (self.rise_slope, self.rise_most),
                (-self.sink_slope, self.sink_most),
            ):
                tilted.append(sums.maxima(self.grid, tilt, at))
                bounds.append(np.minimum(tilted[-1].upper, side + most))
        return np.maximum(bounds[0] + bounds[3], bounds[1] + bounds[2]), tilted


# --- the search -----------------------------------------------------------------------------------


class Thresholds(NamedTuple):
    """Some thresholds, with the maxima of D on their two sides."""

    feature: Array
    place: Array  # of the last row on the left in the sorted column, or of the last bin
    left: Maxima
    right: Maxima

    @property
    def lower(self) -> Array:
        return self.left.lower + self.right.lower

    @property
    def upper(self) -> Array:
        return self.left.upper + self.right.upper

    def take(self, which: Array) -> Thresholds:
        return Thresholds(
            self.feature[which], self.place[which], self.left.take(which), self.right.take(which)
        )

    @classmethod
    def together(cls, parts: list[Thresholds]) -> Thresholds:
        """Those of several parts, one after the other."""

        def joined(side: str) -> Maxima:
            ends = [(getattr(part, side).low, getattr(part, side).high) for part in parts]
            return Maxima(*(np.hstack(end) for end in zip(*ends)))

        feature = np.concatenate([part.feature for part in parts])
        place = np.concatenate([part.place for part in parts])
        return cls(feature, place, joined("left"), joined("right"))


class JointSearch:
    """The search of one round; the index has cells (`search_bins`), or the bins of `max_bins`."""

    def __init__(self, index: ColumnIndex, rows: RowFalls) -> None:
        self.index, self.rows = index, rows
        self.slack = TIE_TOLERANCE * rows.size
        self.reached = -np.inf  # the largest sum that is known to be reached

    def best(self) -> Split:
        """The best split; the constant stump where no split is better than it."""
        if not self.rows.slopes_at_zero.any():
            return constant_split(self.index)
        self.cells = Cells(self.index, self.rows)
        candidates = self._inside_cells() if self.index.exact else self._at_edges()
        return self._choose(candidates)

    # --- cells ------------------------------------------------------------------------------

    def _edges(self, left: Maxima, right: Maxima) -> tuple[Array, Array]:
        """Bounds of the sums at the edges of the cells, -inf where there is no threshold."""
        inner = np.s_[:, 1:-1]
        bounds = ((left.lower + right.lower)[inner], (left.upper + right.upper)[inner])
        lower, upper = (np.where(self.index.is_edge, part, -np.inf) for part in bounds)
        self.reached = max(self.reached, float(np.max(lower, initial=-np.inf)))
        return lower, upper

    def _refine(self, left: Maxima, right: Maxima, lower: Array, wide: list[Array]) -> bool:
        """Points where bounds are too wide, and at the maxima of the best edge."""
        places = list(wide)
        if lower.size:
            j, c = np.unravel_index(int(lower.argmax()), lower.shape)
            places += [side.place[j, c + 1 : c + 2] for side in (left, right)]
        grid = self.cells.grid
        place = np.concatenate(places)
        interval = np.searchsorted(grid, place) - 1
        inside = (interval >= 0) & ~np.isin(place, grid)
        place, interval = place[inside], interval[inside]
        points = []
        numbers, counts = np.unique(interval, return_counts=True)
        for k in numbers[np.argsort(-counts, kind="stable")]:
            here = place[interval == k]
            shares = (0.2, 0.5, 0.8) if len(here) > 8 else (0.5,)
            points += list(np.quantile(here, shares, method="nearest"))
            if len(points) >= NEW_POINTS:
                break
        points = np.setdiff1d(points, grid)
        if len(points):
            self.cells.add(list(points))
        return len(points) > 0

    def _inside_cells(self) -> Thresholds:
        """The thresholds that may be best, by cells and then by rows."""
        sizes = np.diff(self.index.starts)
        for tried in range(REFINEMENTS + 1):
            left, right = self.cells.sides()
            lower, _ = self._edges(left, right)
            bounds, tilted = self.cells.bounds(left, right)
            alive = (sizes > 0) & (bounds >= self.reached - self.slack)
            # Row by row the cells that are left cost less than further points for all rows.
            cheap = sizes[alive].sum() * len(self.cells.grid) <= 3 * NEW_POINTS * self.index.n
            if cheap or tried == REFINEMENTS:
                break
            excess = WIDE * (bounds - self.reached) + self.slack
            wide = [
                part.place[alive & (part.upper - part.lower > excess)]
                for part in (
                    *tilted,
                    Maxima(left.low[:, :, :-1], left.high[:, :, :-1]),
                    Maxima(right.low[:, :, 1:], right.high[:, :, 1:]),
                )
            ]
            if not self._refine(left, right, lower, wide):
                break
        return self._search_cells(alive, bounds)

    def _search_cells(self, alive: Array, bounds: Array) -> Thresholds:
        """The thresholds inside the cells that are left."""
        starts = self.index.starts
        feature, code = np.nonzero(alive)
        self.index.sort_columns(feature)
        ranges = zip(feature, starts[feature, code], starts[feature, code + 1])
        cut = np.array([self.index.is_cut[j, a:b].any() for j, a, b in ranges], dtype=bool)
        feature, code = feature[cut], code[cut]
        bound = bounds[feature, code]
        # Cells of similar sizes together, because shorter ones are filled up.
        rank = np.ceil(np.log2(starts[feature, code + 1] - starts[feature, code]))
        order = np.lexsort((-bound, rank))
        feature, code, bound, rank = feature[order], code[order], bound[order], rank[order]
        parts = np.column_stack([rank, np.cumsum(2.0**rank) // ROWS_AT_ONCE])
        nothing = Maxima(np.empty((3, 0)), np.empty((3, 0)))
        found = [Thresholds(feature[:0], code[:0], nothing, nothing)]
        for part in np.unique(parts, axis=0):
            some = (parts == part).all(axis=1) & (bound >= self.reached - self.slack)
            if some.any():
                found.append(self._by_rows(feature[some], code[some]))
        return Thresholds.together(found)

    def _by_rows(self, feature: Array, code: Array) -> Thresholds:
        """The thresholds inside some cells that may be best."""
        index, cells = self.index, self.cells
        starts, stops = index.starts[feature, code], index.starts[feature, code + 1]
        inside = np.arange((stops - starts).max())
        position = starts[:, None] + inside
        real = position < stops[:, None]
        place = np.where(real, position, starts[:, None])
        rows = index.order[feature[:, None], place].ravel()
        cut = real & index.is_cut[feature[:, None], place]
        sums = np.empty((4, len(cells.grid), np.count_nonzero(cut)))
        for m, b in enumerate(cells.grid):
            tables = zip(cells.before, cells.after, self.rows.at(b, rows))
            for k, (before, after, values) in enumerate(tables):
                values = np.where(real, values.reshape(real.shape), 0.0)
                left = np.cumsum(values, axis=1) + before[m, feature, code][:, None]
                right = np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
                right = np.hstack([right, np.zeros((len(right), 1))])
                right += after[m, feature, code + 1][:, None]
                sums[k, m], sums[2 + k, m] = left[cut], right[cut]
        left, right = (Maxima.on_grid(cells.grid, *sums[k : k + 2]) for k in (0, 2))
        which = np.nonzero(cut)[0]
        return self._promising(Thresholds(feature[which], position[cut], left, right))

    def _at_edges(self) -> Thresholds:
        """The edges of the bins that may be best."""
        for tried in range(REFINEMENTS + 1):
            left, right = self.cells.sides()
            lower, upper = self._edges(left, right)
            alive = upper >= self.reached - self.slack
            wide = [side.place[:, 1:-1][alive] for side in (left, right)]
            few = np.count_nonzero(alive) <= FEW_EDGES or tried == REFINEMENTS
            if few or not self._refine(left, right, lower, wide):
                break
        feature, code = np.nonzero(alive)
        at = np.s_[:, feature, code + 1]
        sides = (Maxima(side.low[at], side.high[at]) for side in (left, right))
        return self._promising(Thresholds(feature, code, *sides))

    def _promising(self, found: Thresholds) -> Thresholds:
        self.reached = max(self.reached, float(np.max(found.lower, initial=-np.inf)))
        return found.take(found.upper >= self.reached - self.slack)

    # --- thresholds one by one --------------------------------------------------------------

    def _choose(self, found: Thresholds) -> Split:
        """The best of some thresholds: the first, by feature and from the left, of equal ones."""
        found = self._promising(found)
        cells = self.cells
        constant = Maxima.on_grid(cells.grid, *(part[:, 0, -1] for part in cells.before))
        if not np.max(found.upper, initial=-np.inf) > constant.lower + self.slack:
            return constant_split(self.index)
        solved = np.zeros(len(found.feature), dtype=bool)
        while True:
            unsure = ~solved & (found.upper - found.lower > self.slack)
            if not unsure.any():
                break
            at = int(np.argmax(np.where(unsure, found.upper, -np.inf)))
            solved[at] = True
            for b in self._solve(found, at):
                self._insert(found, float(b))
            self.reached = max(self.reached, float(found.lower.max()))
            kept = found.upper >= self.reached - self.slack
            found, solved = found.take(kept), solved[kept]
        if constant.upper + self.slack >= self.reached:  # the bounds do not tell
            ends = constant.low[:1], constant.high[:1]
            (b,) = root_of_increasing(
                lambda b: -self.rows.slopes(b).sum(keepdims=True), 1, bracket=ends
            )
            if not self.reached > float(self.rows.at(b)[0].sum()) + self.slack:
                return constant_split(self.index)
        near = np.flatnonzero(found.lower >= self.reached - self.slack)
        first = near[np.lexsort((found.place[near], found.feature[near]))[0]]
        return self._split(int(found.feature[first]), int(found.place[first]))

    def _solve(self, found: Thresholds, at: int) -> Array:
        """The two optimal values of one threshold."""
        j, place = found.feature[at], found.place[at]
        if self.index.exact:
            side = np.ones(self.index.n, dtype=np.intp)
            side[self.index.order[j, : place + 1]] = 0
        else:
            side = (self.index.codes[j] > place).astype(np.intp)
        ends = (
            np.array([found.left.low[0, at], found.right.low[0, at]]),
            np.array([found.left.high[0, at], found.right.high[0, at]]),
        )
        return root_of_increasing(
            lambda b: -group_sums(self.rows.slopes(b[side]), side, 2), 2, bracket=ends
        )

    def _insert(self, found: Thresholds, b: float) -> None:
        """Let the bounds of these thresholds know their sums at b."""
        index, parts = self.index, self.rows.at(b)
        left, right = (np.empty((2, len(found.feature))) for _ in range(2))
        for j in np.unique(found.feature):
            which = found.feature == j
            place = found.place[which]
            for k, part in enumerate(parts):
                if index.exact:
                    ordered = part[index.order[j]]
                else:
                    ordered = np.bincount(index.codes[j], part, index.n_bins)
                left[k, which] = np.cumsum(ordered)[place]
                right[k, which] = np.cumsum(ordered[:0:-1])[-1 - place]
        found.left.insert(b, *left)
        found.right.insert(b, *right)

    def _split(self, j: int, place: int) -> Split:
        if self.index.exact:
            return Split(j, self.index.middle(j, place), NONE, NONE, self.reached, -1, place)
        threshold = float(self.index.edges[j][place])
        return Split(j, threshold, NONE, NONE, self.reached, place, -1)


def constant_split(index: ColumnIndex) -> Split:
    """Everything on the left."""
    return Split(0, np.inf, NONE, NONE, 0.0, -1, index.n - 1)
