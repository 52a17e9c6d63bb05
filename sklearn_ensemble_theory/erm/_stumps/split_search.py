"""The best threshold over all features: sort or bin once, then search in O(n p) a round.

Four searches give the same result where more than one applies.

- *plain*: masses in sorted order, cumulative sums, every threshold considered.
- *binned* (`max_bins`): thresholds at the bins' edges only; one histogram a round.
- *bound and search*: histograms of coarse bins, then only the bins that can still contain the best
  threshold are searched row by row.
- *by sides*: bound and search for two classes. Its many coarse bins have edges that may lie
  anywhere; only columns and bins that are looked into are ever sorted.

Among thresholds within rounding of the best the first is taken, by feature and then from the left,
so that integer weights are equivalent to repeating rows.

A *criterion* is a function of the masses on the two sides of a threshold, to be maximised. It takes
the masses left of a threshold and in total, one row for each kind of mass (the weight of each
class, say), and returns a gain. Each gain is a sum of one convex function of the masses on each
side; so, while the threshold moves through a bin and each mass left of it grows from `low` to
`high`, the gain stays below its largest value on the corners of that box. A bin whose bound is
below the best gain found elsewhere need not be searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._arrays import (
    bin_masses,
    has_signed_sums,
    pack_columns,
    ranges,
    signed_sums,
)
from sklearn_ensemble_theory._bins import (
    bin_codes,
    bin_edges_from_quantiles,
    columns_in_one_piece,
)
from sklearn_ensemble_theory._native.stumps import SideSearch

Array = NDArray[np.float64]

# Below this many rows a histogram costs more than it saves.
PLAIN_ROWS = 2048
# Bins of the bound-and-search: two columns share a table, and a bin is a small part of the rows.
SEARCH_BINS = 128
# So many rows are searched at a time: their masses stay in the processor's cache.
SEARCH_ROWS = 2**16
# Columns of more values in all are sorted again when their rows are first looked into.
KEPT_VALUES = 2**22
TIE_TOLERANCE = 1e-12
ROUGH_TOLERANCE = 2.0**-22
# By sides. Rows in a coarse bin, and the most bins: their sums lie in the processor's first cache.
SIDE_BIN_ROWS = 64
MAX_SIDE_BINS = 1024
# Rows of the sample for each edge of the coarse bins.
SAMPLE_ROWS = 8


class Split(NamedTuple):
    """A threshold, ``x[feature] <= threshold``, and the masses on its two sides.

    The constant stump is feature 0 with threshold inf: everything is on the left.
    """

    feature: int
    threshold: float
    left: np.ndarray
    right: np.ndarray
    gain: float
    code: int  # the last bin on the left, or -1; of an index's own
    position: int  # the last row on the left in the sorted column, or -1

    def of_feature(self, feature: int) -> Split:
        """The same threshold, of the feature with this number among all."""
        return self._replace(feature=feature)


# --- criteria -------------------------------------------------------------------------------------


class Criterion:
    """What a threshold is chosen by; masses have the shape (m, ...), one row for each kind."""

    @staticmethod
    def gain(left: Array, total: Array) -> Array:
        """The gain of thresholds with these masses on the left."""
        raise NotImplementedError

    @classmethod
    def bound(cls, low: Array, high: Array, total: Array) -> Array:
        """At least the gain of every threshold with masses between `low` and `high`."""
        raise NotImplementedError

    @staticmethod
    def merge(masses: Array) -> Array:
        """The masses that `gain` needs, from those that `bound` needs."""
        return masses


class ZeroOne(Criterion):
    """Mass classified correctly when each side predicts its heaviest class [Shah, §4.2].

    Masses: the weight of each class, shape (K, ...).
    """

    @staticmethod
    def gain(left: Array, total: Array) -> Array:
        return left.max(axis=0) + (total - left).max(axis=0)

    @classmethod
    def bound(cls, low: Array, high: Array, total: Array) -> Array:
        # The left side is heaviest at the bin's right end, the right side at its left end.
        return high.max(axis=0) + (total - low).max(axis=0)


class SignedZeroOne(Criterion):
    """The same for two classes, from the one mass S = W+ - W-: |S_left| + |S_right|.

    Twice the mass classified correctly, less the total mass.
    """

    @staticmethod
    def merge(masses: Array) -> Array:
        return masses[1:] - masses[:1]

    @staticmethod
    def gain(left: Array, total: Array) -> Array:
        return np.abs(left[0]) + np.abs(total[0] - left[0])

    @classmethod
    def bound(cls, low: Array, high: Array, total: Array) -> Array:
        # The gain is convex in S, which lies between these two in the bin.
        most, least, whole = high[1] - low[0], low[1] - high[0], total[1] - total[0]
        return np.maximum(
            np.abs(most) + np.abs(whole - most), np.abs(least) + np.abs(whole - least)
        )


class _TwoClasses(Criterion):
    """Criteria of the masses of two classes: the bound is the largest of four corners."""

    @classmethod
    def bound(cls, low: Array, high: Array, total: Array) -> Array:
        mixed = [np.stack([low[0], high[1]]), np.stack([high[0], low[1]])]
        return np.max([cls.gain(corner, total) for corner in (low, high, *mixed)], axis=0)


class PartitionFunction(_TwoClasses):
    """-Z / 2, where Z = 2 sum over the sides of sqrt(W+ W-), of confidence-rated stumps.

    sqrt(ab) is concave, so the gain is convex. Masses: W- and W+.
    """

    @staticmethod
    def gain(left: Array, total: Array) -> Array:
        right = np.maximum(total - left, 0.0)
        return -(np.sqrt(left[0] * left[1]) + np.sqrt(right[0] * right[1]))


class ClassSquares(_TwoClasses):
    """Reduction of the weighted squared error of targets -1 and +1. Masses: W- and W+."""

    @staticmethod
    def gain(left: Array, total: Array) -> Array:
        return moment_squares(left[1] - left[0], left[1] + left[0]) + moment_squares(
            total[1] - total[0] - (left[1] - left[0]),
            np.maximum(total.sum(axis=0) - left.sum(axis=0), 0.0),
        )


def moment_squares(moment: Array, mass: Array) -> Array:
    """moment² / mass, 0 where there is no mass."""
    empty = mass <= 0
    return np.where(empty, 0.0, moment**2 / np.where(empty, 1.0, mass))


class LeastSquares(Criterion):
    """Reduction of the residual sum of squares [Shah, eq. (4.6)].

    For targets t in [-1, 1] of weighted mean 0. Masses: sum w t+, sum w t-, sum w.
    """

    @staticmethod
    def gain(left: Array, total: Array) -> Array:
        moment = left[0] - left[1]
        rest = total[0] - total[1] - moment
        return moment_squares(moment, left[2]) + moment_squares(
            rest, np.maximum(total[2] - left[2], 0.0)
        )

    @classmethod
    def bound(cls, low: Array, high: Array, total: Array) -> Array:
        # Two bounds, each good where the other is not. First, by the analysis of variance: at most
        # the two outer parts by themselves and all the squares inside, where |t| <= 1.
        inside = (high[0] - low[0]) + (high[1] - low[1])
        parts = moment_squares(low[0] - low[1], low[2]) + inside
        beyond = np.maximum(total - high, 0.0)
        parts = parts + moment_squares(beyond[0] - beyond[1], beyond[2])
        # Second, by the box: (moment, mass) -> moment²/mass is convex, and infinite at mass 0 only.
        rise, fall = high[0] - low[1], low[0] - high[1]
        moment = np.maximum(np.abs(rise), np.abs(fall))
        offset = total[0] - total[1]
        rest = np.maximum(np.abs(offset - rise), np.abs(offset - fall))
        outer = np.maximum(total[2] - high[2], 0.0)
        closed = (low[2] > 0) & (outer > 0)
        box = np.where(closed, moment_squares(moment, low[2]) + moment_squares(rest, outer), np.inf)
        return np.minimum(parts, box)


# --- the search by arrays -------------------------------------------------------------------------


class _Search:
    """One search: the criterion, the rows' masses and their sums, the gain of the constant."""

    def __init__(
        self, criterion: type[Criterion], columns: Array, total: Array, slack: float
    ) -> None:
        self.criterion, self.columns, self.total, self.slack = criterion, columns, total, slack
        self.base = float(criterion.gain(total, total))

    def first_best(self, gains: Array) -> int | None:
        """Index of the first gain within rounding of the best; None if none beats the constant."""
        best = gains.max() if gains.size else -np.inf
        if not best > self.base + self.slack:
            return None
        return int(np.argmax(gains >= best - self.slack))


class ColumnIndex:
    """The columns of X, which are not copied, sorted or binned once, for many searches.

    - max_bins: None for the exact search, whose coarse bins are `search_bins`: None chooses by n, 0
      is the plain search.
    - sample_weight: for the bins' quantiles.
    - classes: of the rows where they stay the same: the masses of all classes cost one pass.
    - least_gain: gains below it do not count, and may be missed by the exact search.

    Memory beside X: 2 n p bytes for the exact search of large X, and 5 n more for each column that
    a search looked into; 7 n p for small X. 1 to 3 n p for the binned search.
    """

    by_sides = False  # `SideIndex` is the one of which this is true
    codes: np.ndarray
    n_bins: int

    def __init__(
        self,
        X: np.ndarray,
        max_bins: int | None = None,
        sample_weight: np.ndarray | None = None,
        classes: np.ndarray | None = None,
        n_classes: int = 0,
        search_bins: int | None = None,
    ) -> None:
        self.X = X
        self.n, self.p = X.shape
        self.classes, self.n_classes = classes, n_classes
        self.exact = max_bins is None
        self.least_gain = -np.inf
        # Made when first needed.
        self.packs: list | None = None
        self.rows: np.ndarray | None = None
        self.class_slices: list[slice] = []
        self.all_rows: np.ndarray | None = None
        if max_bins is not None:
            self.edges = edges = bin_edges_from_quantiles(X, max_bins, sample_weight)
            self.codes = bin_codes(X, edges).T
            self.n_bins = max(len(e) for e in edges) + 1
            self.is_edge = edge_places(edges, self.n_bins)
            self.binned = True
            return

        # Sort each column and cut it into coarse bins, if there are any.
        n, p = X.shape
        if search_bins is None:
            search_bins = SEARCH_BINS if n > PLAIN_ROWS else 0
        self.binned = search_bins > 0
        # Memory that is never written to is never taken.
        self.order = np.empty((p, n), dtype=np.int32 if n < 2**31 else np.int64)
        self.is_cut = np.zeros((p, n), dtype=bool)  # the last row of its value, but for the largest
        self.is_sorted = np.zeros(p, dtype=bool)  # whether these two are known
        if search_bins:
            self.codes = np.empty((p, n), dtype=np.uint8)
            self.n_bins = search_bins
            self.starts = np.full((p, search_bins + 1), n)
            self.is_edge = np.zeros((p, search_bins - 1), dtype=bool)
            self.n_cuts = np.zeros((p, search_bins), dtype=np.int64)
        keep = not search_bins or n * p <= KEPT_VALUES
        # Of a large X only the codes are kept: few columns are ever searched row by row, and these
        # are sorted again then.
        for j in range(p):
            values, order, is_cut = self._sorted(j)
            if keep:
                self._keep(j, order, is_cut)
            if search_bins:
                ends = self._bin_ends(values, is_cut, search_bins)
                self.starts[j, 0] = 0
                self.starts[j, 1 : len(ends) + 1] = ends
                self.is_edge[j, : len(ends)] = True
                lengths = np.diff(self.starts[j])
                self.codes[j, order] = np.repeat(np.arange(search_bins, dtype=np.uint8), lengths)
                until = np.concatenate([[0], np.cumsum(is_cut)])
                self.n_cuts[j] = np.diff(until[self.starts[j]])
                del until, lengths
            del values, order, is_cut  # before those of the next column

    def _sorted(self, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A column in increasing order, its rows, and which are the last of their value."""
        column = np.ascontiguousarray(self.X[:, j])
        order = np.argsort(column)
        values = column[order]
        is_cut = np.zeros(self.n, dtype=bool)
        np.not_equal(values[1:], values[:-1], out=is_cut[:-1])
        return values, order, is_cut

    def _keep(self, j: int, order: np.ndarray, is_cut: np.ndarray) -> None:
        self.order[j], self.is_cut[j] = order, is_cut
        self.is_sorted[j] = True

    def sort_columns(self, features: np.ndarray | int) -> None:
        """Have `order` and `is_cut` of these columns."""
        if self.is_sorted[features].all():
            return
        for j in np.unique(features):
            if not self.is_sorted[j]:
                self._keep(j, *self._sorted(j)[1:])

    def _bin_ends(self, values: np.ndarray, is_cut: np.ndarray, search_bins: int) -> np.ndarray:
        """Where the bins of a sorted column end, but for the last: after equal parts of the rows.

        `is_cut` marks the rows that are the last of their value.
        """
        targets = np.arange(1, search_bins) * self.n // search_bins - 1
        ends = np.unique(np.searchsorted(values, values[targets], side="right"))
        return ends[ends < self.n]

    def _packed(self) -> list:
        """The packs of columns; rows of a class come one after the other, so that it is a slice."""
        if self.packs is not None:
            return self.packs
        order: slice | np.ndarray = slice(None)
        if self.classes is not None:
            order = self.rows = np.argsort(self.classes, kind="stable")
            ends = np.cumsum(np.bincount(self.classes, minlength=self.n_classes))
            self.class_slices = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends)]
        self.packs = pack_columns(self.codes, self.n_bins, order)
        return self.packs

    def class_masses(self, weight: Array) -> Array:
        """(K, p, B): the weight of each class in each bin."""
        packs = self._packed()
        weight = weight[self.rows]
        out = np.zeros((len(self.class_slices), self.p, self.n_bins))
        for k, rows in enumerate(self.class_slices):
            bin_masses(packs, rows, weight[rows], self.n_bins, out[k])
        return out

    def column_masses(self, columns: Array | list[Array], rough: bool = False) -> Array:
        """(m, p, B): the sums of each of m columns, of values in [-1, 1], in each bin."""
        codes = self.codes.T
        if has_signed_sums(codes):
            if self.all_rows is None:
                self.all_rows = np.arange(self.n, dtype=np.uint32)
            return np.stack(
                [signed_sums(codes, c, self.n_bins, self.all_rows, rough) for c in columns]
            )
        packs = self._packed()
        out = np.empty((len(columns), self.p, self.n_bins))
        for k, column in enumerate(columns):
            column = column if self.rows is None else column[self.rows]
            bin_masses(packs, slice(None), column, self.n_bins, out[k])
        return out

    def best(
        self,
        criterion: type[Criterion],
        columns: Array,
        masses: Array | None = None,
        size: float | None = None,
        rough: bool = False,
    ) -> Split:
        """The best split under a criterion.

        `columns` are the masses of each row that the gain needs, of shape (m, n). `masses` are the
        sums by bin that the bound needs, (m', p, B), none negative; None where they are those of
        `columns` themselves. `size` is the scale of the gains, for rounding; None is the sum of all
        masses. With `rough` the sums of a binned search may be of weights in single precision:
        thresholds within 2^-22 of the best then count as equally good.
        """
        if size is None:
            size = np.abs(columns).sum()
        if not self.binned:  # few rows: every threshold by itself
            task = _Search(criterion, columns, columns.sum(axis=1), TIE_TOLERANCE * size)
            left = np.cumsum(columns[:, self.order], axis=2)
            gains = criterion.gain(left, task.total[:, None, None])
            gains[~self.is_cut] = -np.inf
            at = task.first_best(gains.ravel())
            if at is None:
                return self._constant(task)
            j, position = divmod(at, self.n)
            return self._split(task, j, position, left[:, j, position], gains[j, position])
        # Sums by bin: those at the bins' upper ends are the masses left of the edges.
        merged = masses is None
        if masses is None:
            masses = self.column_masses(columns, rough and not self.exact)
        high = np.cumsum(masses, axis=2)
        left = high if merged else criterion.merge(high)
        tolerance = ROUGH_TOLERANCE if rough and not self.exact else TIE_TOLERANCE
        task = _Search(criterion, columns, left[:, 0, -1], tolerance * size)
        gains = criterion.gain(left[:, :, :-1], task.total[:, None, None])
        gains[~self.is_edge] = -np.inf
        if not self.exact:
            at = task.first_best(gains.ravel())
            if at is None:
                return self._constant(task)
            j, c = divmod(at, gains.shape[1])
            side = left[:, j, c]
            threshold, gain = float(self.edges[j][c]), float(gains[j, c])
            return Split(int(j), threshold, side, task.total - side, gain, int(c), -1)
        low = np.concatenate([np.zeros_like(high[:, :, :1]), high[:, :, :-1]], axis=2)
        # Sums by bin and sums by row differ by rounding: one slack for that and one for ties.
        wanted = np.max(gains, initial=-np.inf) - 2 * task.slack
        # No bin whose bound is the constant's gain holds a threshold that is better. Where the
        # constant is the best, these may be all bins.
        wanted = max(task.base + 0.5 * task.slack, wanted, self.least_gain - 2 * task.slack)
        bounds = criterion.bound(low, high, high[:, :1, -1:])
        feature, code = np.nonzero((bounds >= wanted) & (np.diff(self.starts) > 0))
        low = low if merged else criterion.merge(low)
        return self._search(task, low, feature, code, bounds[feature, code])

    def _search(
        self, task: _Search, low: Array, feature: np.ndarray, code: np.ndarray, bounds: Array
    ) -> Split:
        """Search the rows of bins that can contain the best, some at a time, fewer as it rises."""
        best = max(task.base, self.least_gain)
        found = []  # (gains, flat positions, masses left) that were within rounding of the best
        sizes = self.starts[feature, code + 1] - self.starts[feature, code]
        part = np.cumsum(sizes) // SEARCH_ROWS
        for block in range(int(part[-1]) + 1 if len(part) else 0):
            bins = np.flatnonzero((part == block) & (bounds >= best - 2 * task.slack))
            if not len(bins):
                continue
            gains, flat, left = self._gains_inside(task, low, feature[bins], code[bins])
            best = max(best, gains.max())
            near = np.flatnonzero(gains >= best - task.slack)
            found.append((gains[near], flat[near], left[:, near]))
        if not found:
            return self._constant(task)
        gains, flat = (np.concatenate([f[i] for f in found]) for i in (0, 1))
        at = task.first_best(gains)
        if at is None:
            return self._constant(task)
        left = np.concatenate([f[2] for f in found], axis=1)[:, at]
        j, position = divmod(int(flat[at]), self.n)
        return self._split(task, j, position, left, gains[at])

    def _gains_inside(
        self, task: _Search, low: Array, feature: np.ndarray, code: np.ndarray
    ) -> tuple[Array, np.ndarray, Array]:
        """The gains at every row of these bins, their places in `order`, the masses left."""
        starts, stops = self.starts[feature, code], self.starts[feature, code + 1]
        positions, first = ranges(starts, stops)
        flat = positions + np.repeat(feature * self.n, stops - starts)
        self.sort_columns(feature)
        rows = self.order.ravel().take(flat)
        sums = np.cumsum(task.columns.take(rows, axis=1), axis=1)
        before = np.where(first > 0, sums[:, first - 1], 0.0)
        left = sums + np.repeat(low[:, feature, code] - before, stops - starts, axis=1)
        gains = task.criterion.gain(left, task.total[:, None])
        gains[~self.is_cut.ravel().take(flat)] = -np.inf
        return gains, flat, left

    def _constant(self, task: _Search) -> Split:
        nothing = np.zeros_like(task.total)
        return Split(0, np.inf, task.total, nothing, task.base, -1, self.n - 1)

    def _split(self, task: _Search, j: int, position: int, left: Array, gain: float) -> Split:
        j, position = int(j), int(position)
        right = task.total - left
        return Split(j, self.middle(j, position), left, right, float(gain), -1, position)

    def middle(self, j: int, position: int) -> float:
        """The threshold between two neighbouring rows of a sorted column."""
        self.sort_columns(j)
        below, above = (self.X[self.order[j, position + i], j] for i in (0, 1))
        middle = 0.5 * float(below) + 0.5 * float(above)  # the sum first could overflow
        return middle if below <= middle < above else float(below)

    def is_left(self, split: Split) -> NDArray[np.bool_]:
        """Which rows are at or below the threshold: bool array of shape (n,)."""
        if not np.isfinite(split.threshold):
            return np.ones(self.n, dtype=bool)
        if split.code >= 0:
            return self.codes[split.feature] <= split.code
        left = np.zeros(self.n, dtype=bool)
        self.sort_columns(split.feature)
        left[self.order[split.feature, : split.position + 1]] = True
        return left


def edge_places(edges: list, n_bins: int) -> NDArray[np.bool_]:
    """Which of the places between bins are edges, (p, n_bins - 1)."""
    return np.arange(n_bins - 1) < np.array([len(e) for e in edges])[:, None]


# --- the search by sides --------------------------------------------------------------------------


def side_index(
    X: np.ndarray, weight: np.ndarray | None, max_bins: int | None, side: NDArray[np.bool_]
) -> SideIndex | None:
    """The columns by sides; None for more rows or bins than `SideSearch` can have."""
    n_bins = MAX_SIDE_BINS if max_bins is None else max_bins
    if len(X) >= 2**31 or n_bins > 2**15:
        return None
    return SideIndex(X, side, max_bins, weight)


class SideIndex:
    """The columns of X in bins, for rows that have a side, 0 or 1, and a weight.

    Thresholds are at the edges of `max_bins` bins, or (None) anywhere between two values.

    Memory beside X: 2 n p bytes, and 5 more for each row of a column that an exact search looked
    into.
    """

    by_sides = True

    def __init__(
        self,
        X: np.ndarray,
        side: NDArray[np.bool_],
        max_bins: int | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> None:
        if X.dtype != np.float32:
            X = np.asarray(X, dtype=np.float64)
        self.n, self.p = X.shape
        if max_bins is None:
            n_bins = max(2, min(MAX_SIDE_BINS, self.n // SIDE_BIN_ROWS))
            # Always the same rows, in no pattern that the data may have too.
            sample = np.random.default_rng(0).integers(0, self.n, size=SAMPLE_ROWS * n_bins)
            self.slack = TIE_TOLERANCE
            self.columns = SideSearch(self.n, self.p, n_bins, X)
        else:
            self.edges = bin_edges_from_quantiles(X, max_bins, sample_weight)
            self.slack = ROUGH_TOLERANCE
            self.columns = SideSearch(self.n, self.p, max(map(len, self.edges)) + 1)
        side = _bytes(side)
        for j, x in enumerate(columns_in_one_piece(X)):
            edges = self.edges[j] if max_bins else _sampled_edges(np.sort(x[sample]), n_bins)
            self.columns.code_column(j, x, edges, side)

    def set_sides(self, side: NDArray[np.bool_]) -> None:
        """Give the rows other sides."""
        self.columns.set_sides(_bytes(side))

    def best(self, weight: Array) -> Split:
        """The best split for weights of sum 1; its masses are the weights of sides 0 and 1."""
        j, code, position, threshold, gain, *masses = self.columns.best(weight, self.slack)
        left, total = map(np.array, masses)
        return Split(j, threshold, left, np.maximum(total - left, 0.0), gain, code, position)

    def boost(self, n_rounds: int, *given: Any) -> Iterator[tuple[Split, int, list[float]]]:
        """The splits of rounds of AdaBoost, the rows on the left, and figures of each round."""
        found = np.empty((n_rounds, 12))
        n_rounds = self.columns.boost(*given, self.slack, found)
        for j, threshold, *masses, n_left, gain, error, alpha, b, risk in found[:n_rounds].tolist():
            left, right = np.array(masses).reshape(2, 2)
            split = Split(int(j), threshold, left, right, gain, -1, -1)
            yield split, int(n_left), [gain, error, alpha, b, risk]

    def is_left(self, split: Split) -> NDArray[np.bool_]:
        left = np.empty(self.n, dtype=bool)
        self.columns.rows_left(split.feature, split.code, split.position, left.view(np.uint8))
        return left


def _bytes(side: NDArray[np.bool_]) -> NDArray[np.uint8]:
    # Not a view: in NumPy 1.24 the bytes of `a ^ b` and of `a == b` may be 0 and 254.
    return side.astype(np.uint8)


def _sampled_edges(sample: Array, n_bins: int) -> Array:
    """The values of a sorted sample at which bins end; one for each value if they are few."""
    changes = sample[1:] != sample[:-1]
    if np.count_nonzero(changes) >= n_bins:
        sample = sample[np.arange(1, n_bins + 1) * len(sample) // n_bins - 1]
        changes = sample[1:] != sample[:-1]
    return sample[:-1][changes]
