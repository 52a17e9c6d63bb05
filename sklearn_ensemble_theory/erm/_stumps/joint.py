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

from sklearn_ensemble_theory._roots import group_sums, root_of_increasing
from sklearn_ensemble_theory.erm._stumps.joint_bounds import Array, Cells, Maxima, RowFalls
from sklearn_ensemble_theory.erm._stumps.split_search import (
    PLAIN_ROWS,
    SEARCH_BINS,
    TIE_TOLERANCE,
    ColumnIndex,
    Split,
)

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
    """The search of one round.

    Parameters
    ----------
    index : ColumnIndex
        With cells (`search_bins`), or with the bins of `max_bins`.
    rows : RowFalls
    """

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
        chunks = np.column_stack([rank, np.cumsum(2.0**rank) // ROWS_AT_ONCE])
        nothing = Maxima(np.empty((3, 0)), np.empty((3, 0)))
        found = [Thresholds(feature[:0], code[:0], nothing, nothing)]
        for chunk in np.unique(chunks, axis=0):
            some = (chunks == chunk).all(axis=1) & (bound >= self.reached - self.slack)
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
