"""The best threshold over all features: sort or bin once, then search in O(n p) a round.

Three searches give the same result where more than one applies.

- *plain*: masses in sorted order, cumulative sums, every threshold considered.
- *binned* (`max_bins`): thresholds at the bins' edges only; one histogram a round.
- *bound and search*: histograms of coarse bins, then only the bins that can still contain the best
  threshold are searched row by row (see `split_criteria`).

Among thresholds within rounding of the best the first is taken, by feature and then from the left,
so that integer weights are equivalent to repeating rows.
"""

from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._bins import bin_codes, bin_edges_from_quantiles
from sklearn_ensemble_theory._hot_loops.array_loops import (
    bin_masses,
    has_signed_sums,
    pack_columns,
    ranges,
    signed_sums,
)

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


class Split(NamedTuple):
    """A threshold, ``x[feature] <= threshold``, and the masses on its two sides.

    The constant stump is feature 0 with threshold inf: everything is on the left.
    """

    feature: int
    threshold: float
    left: np.ndarray
    right: np.ndarray
    gain: float
    code: int  # in `ColumnIndex.is_left`
    position: int


class _SplitSearch(NamedTuple):
    """One search: the criterion, the rows' masses and their sums, the gain of the constant."""

    criterion: object
    columns: np.ndarray
    total: np.ndarray
    base: float
    slack: float

    @classmethod
    def of(cls, criterion, columns, total, size, tolerance=TIE_TOLERANCE):
        base = float(criterion.gain(total, total))
        return cls(criterion, columns, total, base, tolerance * size)

    def first_best(self, gains):
        """Index of the first gain within rounding of the best; None if none beats the constant."""
        best = gains.max() if gains.size else -np.inf
        if not best > self.base + self.slack:
            return None
        return int(np.argmax(gains >= best - self.slack))


class ColumnIndex:
    """The columns of X sorted or binned once, for many searches.

    Parameters
    ----------
    X : float array of shape (n, p)
        Kept by reference, not copied.
    max_bins : int, default=None
        None for the exact search.
    sample_weight : array of shape (n,), default=None
        Positive; for the bins' quantiles.
    classes : int array of shape (n,), default=None
        Class of each row where it stays the same in all rounds: the masses of all classes then
        cost one pass.
    n_classes : int, default=None
    search_bins : int, default=None
        Coarse bins of the exact search; None chooses by n, 0 is the plain search.

    Attributes
    ----------
    least_gain : float
        The exact search may miss thresholds whose gains are smaller; -inf at first.

    Notes
    -----
    Memory beside X: 2 n p bytes for the exact search of large X, and 5 n more for each column that
    a search looked into; 7 n p for small X. 1 to 3 n p for the binned search.
    """

    by_sides = False  # `side_search` has the columns of which this is true

    def __init__(
        self, X, max_bins=None, sample_weight=None, classes=None, n_classes=None, search_bins=None
    ):
        self.X = X
        self.n, self.p = X.shape
        self.classes, self.n_classes = classes, n_classes
        self.exact = max_bins is None
        self.least_gain = -np.inf
        self.packs = self.rows = self.blocks = self.all_rows = None  # made when first needed
        if self.exact:
            self._sort(SEARCH_BINS if search_bins is None and self.n > PLAIN_ROWS else search_bins)
        else:
            self._bin(max_bins, sample_weight)

    def _bin(self, max_bins, sample_weight):
        edges = bin_edges_from_quantiles(self.X, max_bins, sample_weight)
        self.codes = bin_codes(self.X, edges).T
        self.n_bins = max(len(e) for e in edges) + 1
        self.edges = edges
        self.is_edge = np.arange(self.n_bins - 1) < np.array([len(e) for e in edges])[:, None]
        self.binned = True

    def _sort(self, search_bins):
        n, p = self.n, self.p
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
        self.binned = bool(search_bins)

    def _sorted(self, j):
        """A column in increasing order, its rows, and which are the last of their value."""
        column = np.ascontiguousarray(self.X[:, j])
        order = np.argsort(column)
        values = column[order]
        is_cut = np.zeros(self.n, dtype=bool)
        np.not_equal(values[1:], values[:-1], out=is_cut[:-1])
        return values, order, is_cut

    def _keep(self, j, order, is_cut):
        self.order[j], self.is_cut[j] = order, is_cut
        self.is_sorted[j] = True

    def sort_columns(self, features):
        """Have `order` and `is_cut` of these columns."""
        if self.is_sorted[features].all():
            return
        for j in np.unique(features):
            if not self.is_sorted[j]:
                self._keep(j, *self._sorted(j)[1:])

    def _bin_ends(self, values, is_cut, search_bins):
        """Where the bins of a sorted column end, but for the last: after equal parts of the rows.

        `is_cut` marks the rows that are the last of their value.
        """
        targets = np.arange(1, search_bins) * self.n // search_bins - 1
        ends = np.unique(np.searchsorted(values, values[targets], side="right"))
        return ends[ends < self.n]

    def _pack(self):
        """Rows of a class one after the other, so that each class is a slice of the packs."""
        if self.packs is not None:
            return
        order = slice(None)
        if self.classes is not None:
            order = self.rows = np.argsort(self.classes, kind="stable")
            ends = np.cumsum(np.bincount(self.classes, minlength=self.n_classes))
            self.blocks = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends)]
        self.packs = pack_columns(self.codes, self.n_bins, order)

    def class_masses(self, weight):
        """(K, p, B): the weight of each class in each bin."""
        self._pack()
        weight = weight[self.rows]
        out = np.zeros((self.n_classes, self.p, self.n_bins))
        for k, block in enumerate(self.blocks):
            bin_masses(self.packs, block, weight[block], self.n_bins, out[k])
        return out

    def column_masses(self, columns, rough=False):
        """(m, p, B): the sums of each of m columns, of values in [-1, 1], in each bin."""
        codes = self.codes.T
        if has_signed_sums(codes):
            if self.all_rows is None:
                self.all_rows = np.arange(self.n, dtype=np.uint32)
            return np.stack(
                [signed_sums(codes, c, self.n_bins, self.all_rows, rough) for c in columns]
            )
        self._pack()
        out = np.empty((len(columns), self.p, self.n_bins))
        for k, column in enumerate(columns):
            column = column if self.rows is None else column[self.rows]
            bin_masses(self.packs, slice(None), column, self.n_bins, out[k])
        return out

    # --- the searches -----------------------------------------------------------------------

    def best(self, criterion, columns, masses=None, size=None, rough=False):
        """The best split under a criterion.

        Parameters
        ----------
        criterion : one of `split_criteria`
        columns : float array of shape (m, n)
            The masses of each row that the gain needs.
        masses : float array of shape (m', p, B), default=None
            The sums by bin that the bound needs, none negative; `merge` gives those of `columns`.
            None where they are those of `columns` themselves.
        size : float, default=None
            The scale of the gains, for rounding; None is the sum of all masses.
        rough : bool, default=False
            Let the sums of a binned search be of weights in single precision: thresholds within
            2^-22 of the best count as equally good.

        Returns
        -------
        Split
        """
        if size is None:
            size = np.abs(columns).sum()
        if not self.binned:
            return self._plain(_SplitSearch.of(criterion, columns, columns.sum(axis=1), size))
        merged = masses is None
        if merged:
            masses = self.column_masses(columns, rough and not self.exact)
        high = np.cumsum(masses, axis=2)
        left = high if merged else criterion.merge(high)
        tolerance = ROUGH_TOLERANCE if rough and not self.exact else TIE_TOLERANCE
        task = _SplitSearch.of(criterion, columns, left[:, 0, -1], size, tolerance)
        gains = criterion.gain(left[:, :, :-1], task.total[:, None, None])
        gains[~self.is_edge] = -np.inf
        if not self.exact:
            return self._choose_edge(task, left, gains)
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

    def _plain(self, task):
        left = np.cumsum(task.columns[:, self.order], axis=2)
        gains = task.criterion.gain(left, task.total[:, None, None])
        gains[~self.is_cut] = -np.inf
        at = task.first_best(gains.ravel())
        if at is None:
            return self._constant(task)
        j, position = divmod(at, self.n)
        return self._split(task, j, position, left[:, j, position], gains[j, position])

    def _search(self, task, low, feature, code, bounds):
        """Search the rows of bins that can contain the best, some at a time, fewer as it rises."""
        best = max(task.base, self.least_gain)
        found = []  # (gains, flat positions, masses left) that were within rounding of the best
        sizes = self.starts[feature, code + 1] - self.starts[feature, code]
        part = np.cumsum(sizes) // SEARCH_ROWS
        for chunk in range(int(part[-1]) + 1 if len(part) else 0):
            bins = np.flatnonzero((part == chunk) & (bounds >= best - 2 * task.slack))
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

    def _gains_inside(self, task, low, feature, code):
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

    def _choose_edge(self, task, left, gains):
        at = task.first_best(gains.ravel())
        if at is None:
            return self._constant(task)
        j, c = divmod(at, gains.shape[1])
        side = left[:, j, c]
        threshold, gain = float(self.edges[j][c]), float(gains[j, c])
        return Split(int(j), threshold, side, task.total - side, gain, int(c), -1)

    def _constant(self, task):
        nothing = np.zeros_like(task.total)
        return Split(0, np.inf, task.total, nothing, task.base, -1, self.n - 1)

    def _split(self, task, j, position, left, gain):
        j, position = int(j), int(position)
        right = task.total - left
        return Split(j, self.middle(j, position), left, right, float(gain), -1, position)

    def middle(self, j, position):
        """The threshold between two neighbouring rows of a sorted column."""
        self.sort_columns(j)
        below, above = (self.X[self.order[j, position + i], j] for i in (0, 1))
        middle = 0.5 * float(below) + 0.5 * float(above)  # the sum first could overflow
        return middle if below <= middle < above else float(below)

    def is_left(self, split):
        """Which rows are at or below the threshold: bool array of shape (n,)."""
        if not np.isfinite(split.threshold):
            return np.ones(self.n, dtype=bool)
        if split.code >= 0:
            return self.codes[split.feature] <= split.code
        left = np.zeros(self.n, dtype=bool)
        self.sort_columns(split.feature)
        left[self.order[split.feature, : split.position + 1]] = True
        return left
