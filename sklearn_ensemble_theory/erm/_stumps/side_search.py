"""The search for a stump of two classes by compiled loops: the same result in less time.

Rows have a side, 0 or 1, and a weight. One pass sums the weights of both sides in the bins of every
column (`stump_loops`). With `max_bins` these sums are the whole search. The exact search uses many
coarse bins, whose edges may lie anywhere, and bounds the gains inside each: the narrower the bins,
the fewer are left. Only columns and bins that are looked into are ever sorted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._bins import (
    bin_edges_from_quantiles,
    columns_in_one_piece,
)
from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.erm._stumps.split_search import (
    PLAIN_ROWS,
    ROUGH_TOLERANCE,
    TIE_TOLERANCE,
    Split,
)

Array = NDArray[np.float64]

# Rows in a coarse bin, and the most bins: their sums lie in the processor's first cache.
BIN_ROWS = 64
MAX_SEARCH_BINS = 1024
# Rows of the sample for each edge of the coarse bins.
SAMPLE_ROWS = 8
# Cells of the table that finds a value's bin, for each edge.
CELLS_PER_EDGE = 8


def side_index(
    X: np.ndarray, weight: np.ndarray | None, max_bins: int | None, side: NDArray[np.bool_]
) -> SideIndex | BinnedSideIndex | None:
    """The columns for compiled searches; None where the other search serves."""
    n_bins = MAX_SEARCH_BINS if max_bins is None else max_bins
    if len(X) <= PLAIN_ROWS or len(X) >= 2**31 or n_bins > 2**15 or not uses_numba():
        return None
    return SideIndex(X, side) if max_bins is None else BinnedSideIndex(X, side, weight, max_bins)


class _SideColumns:
    """What both searches share.

    Parameters
    ----------
    X : float array of shape (n, p)
        Kept by reference.
    side : bool array of shape (n,)
    n_bins : int

    Attributes
    ----------
    by_sides : bool
        That the rows have sides.
    codes : uint16 array of shape (p, n)
        Twice the bin, plus the side.
    is_edge, inside : bool arrays of shape (p, n_bins)
        Whether there is a threshold at the upper end of a bin, and whether others may be in it.
    """

    by_sides = True
    is_edge: NDArray[np.bool_]
    inside: NDArray[np.bool_]

    def __init__(self, X: np.ndarray, side: NDArray[np.bool_], n_bins: int) -> None:
        self.X = X
        self.n, self.p = X.shape
        self.n_bins = n_bins
        self.codes = np.empty((self.p, self.n), dtype=np.uint16)
        # Not a view: in NumPy 1.24 the bytes of `a ^ b` and of `a == b` may be 0 and 254.
        self.side = side.astype(np.uint8)

    def set_sides(self, side: NDArray[np.bool_]) -> None:
        """Give the rows other sides."""
        self.codes &= np.uint16(2**16 - 2)
        self.codes |= side.astype(np.uint8)

    def _code(self, j: int, column: Array, edges: Array, counts: NDArray[np.int64]) -> None:
        """Write the codes of a column and the numbers of rows in its bins."""
        from sklearn_ensemble_theory._hot_loops._stumps import stump_loops

        codes = self.codes[j]
        if not len(edges):
            codes[:] = self.side
            counts[0] = len(column)
            return
        first = np.empty(CELLS_PER_EDGE * len(edges) + 2, dtype=np.uint16)
        scale = stump_loops.edge_table(edges, first)
        closed = np.append(edges, np.inf)
        stump_loops.search_codes(column, self.side, closed, first, scale, codes, counts)

    def _tables(self) -> None:
        """The arrays that every search fills again."""
        self.sums = np.empty((self.p, 2 * self.n_bins))
        self.low = np.empty_like(self.sums)
        self.gains = np.empty((self.p, self.n_bins))
        self.bounds = np.empty_like(self.gains)
        self.places = np.empty(self.gains.size, dtype=np.int64)

    def _scan(self, weight: Array) -> tuple[Array, float, float]:
        """The weights of both sides, T, and the best gain at an edge."""
        from sklearn_ensemble_theory._hot_loops._stumps import stump_loops

        stump_loops.side_sums(self.codes, weight, self.sums)
        best = stump_loops.scan_bins(
            self.sums, self.is_edge, self.inside, (self.low, self.gains, self.bounds)
        )
        total = self.sums[0].reshape(-1, 2).sum(axis=0)
        return total, float(total[1] - total[0]), best

    def _constant(self, total: Array, base: float) -> Split:
        return Split(0, np.inf, total, np.zeros(2), base, -1, self.n - 1)

    def _below_edge(self, j: int, c: int) -> Array:
        at = slice(2 * c, 2 * c + 2)
        return self.low[j, at] + self.sums[j, at]


class BinnedSideIndex(_SideColumns):
    """Thresholds at the edges of the bins only.

    Parameters
    ----------
    X, side : as in `_SideColumns`
    weight : array of shape (n,) or None
        For the quantiles of the bins.
    max_bins : int
    """

    def __init__(
        self,
        X: np.ndarray,
        side: NDArray[np.bool_],
        weight: np.ndarray | None,
        max_bins: int,
    ) -> None:
        self.edges = bin_edges_from_quantiles(X, max_bins, weight)
        n_edges = np.array([len(e) for e in self.edges])
        super().__init__(X, side, int(n_edges.max(initial=0)) + 1)
        counts = np.zeros(self.n_bins, dtype=np.int64)
        for j, column in enumerate(columns_in_one_piece(X)):
            self._code(j, column, self.edges[j], counts)
        self.is_edge = np.arange(self.n_bins) < n_edges[:, None]
        self.inside = np.zeros_like(self.is_edge)
        self._tables()

    def best(self, weight: Array) -> Split:
        """The best split, as `SideIndex.best` returns it, with the tolerance of rough sums."""
        total, signed_total, best = self._scan(weight)
        base = abs(signed_total)
        if not best > base + ROUGH_TOLERANCE:
            return self._constant(total, base)
        from sklearn_ensemble_theory._hot_loops._stumps import stump_loops

        at = stump_loops.first_place(self.gains.ravel(), best - ROUGH_TOLERANCE)
        j, c = divmod(at, self.n_bins)
        left = self._below_edge(j, c)
        gain = float(self.gains[j, c])
        return Split(j, float(self.edges[j][c]), left, np.maximum(total - left, 0), gain, c, -1)

    def is_left(self, split: Split) -> NDArray[np.bool_]:
        """Which rows are at or below the threshold."""
        if not np.isfinite(split.threshold):
            return np.ones(self.n, dtype=bool)
        return self.codes[split.feature] <= 2 * split.code + 1


class SideIndex(_SideColumns):
    """All thresholds between two values.

    Parameters
    ----------
    X, side : as in `_SideColumns`

    Notes
    -----
    Memory beside X: 2 n p bytes, and 5 more for each row of a column that a search looked into.
    """

    def __init__(self, X: np.ndarray, side: NDArray[np.bool_]) -> None:
        n, p = X.shape
        super().__init__(X, side, max(2, min(MAX_SEARCH_BINS, n // BIN_ROWS)))
        self.starts = np.zeros((p, self.n_bins + 1), dtype=np.int64)
        counts = np.zeros((p, self.n_bins), dtype=np.int64)
        # Always the same rows, in no pattern that the data may have too.
        sample = np.random.default_rng(0).integers(0, n, size=SAMPLE_ROWS * self.n_bins)
        for j, column in enumerate(columns_in_one_piece(X)):
            self._code(j, column, self._edges(np.sort(column[sample])), counts[j])
        np.cumsum(counts, axis=1, out=self.starts[:, 1:])
        self.is_edge = (counts > 0) & (self.starts[:, 1:] < n)
        self.inside = counts > 1
        # Memory that is never written to is never taken.
        self.order = np.empty((p, n), dtype=np.int32)
        self.is_cut = np.empty((p, n), dtype=bool)
        self.is_placed = np.zeros(p, dtype=bool)
        self.is_sorted = np.zeros((p, self.n_bins), dtype=bool)
        self._tables()

    def _edges(self, sample: Array) -> Array:
        """The values of a sorted sample at which bins end; one for each value if they are few."""
        changes = sample[1:] != sample[:-1]
        if np.count_nonzero(changes) >= self.n_bins:
            sample = sample[np.arange(1, self.n_bins + 1) * len(sample) // self.n_bins - 1]
            changes = sample[1:] != sample[:-1]
        return sample[:-1][changes]

    def best(self, weight: Array) -> Split:
        """The best split; its masses are the weights of sides 0 and 1.

        Parameters
        ----------
        weight : float64 array of shape (n,)
            Not negative, of sum 1.
        """
        from sklearn_ensemble_theory._hot_loops._stumps import stump_loops

        total, signed_total, best = self._scan(weight)
        base, slack = abs(signed_total), TIE_TOLERANCE
        # No bin whose bound is the constant's gain holds a threshold that is better. Where the
        # constant is the best, these may be all bins.
        wanted = max(base + 0.5 * slack, best - 2 * slack)
        best = max(base, best)
        near = stump_loops.places_near(self.bounds.ravel(), wanted, self.places)
        features, bins = np.divmod(self.places[:near], self.n_bins)
        rows = weight, self.low
        reached = np.empty(0)
        if len(features):
            features, bins, reached, best = self._look_inside(
                features, bins, rows, (signed_total, best, slack)
            )
        if not best > base + slack:
            return self._constant(total, base)
        wanted = best - slack
        # Thresholds inside a bin come before the one at its end.
        at_edge = stump_loops.first_place(self.gains.ravel(), wanted)
        places = features * self.n_bins + bins
        at_inside = int(np.min(places[reached >= wanted], initial=self.gains.size))
        j, c = divmod(min(at_edge, at_inside), self.n_bins)
        if at_inside > at_edge:
            left = self._below_edge(j, c)
            position = int(self.starts[j, c + 1]) - 1
        else:
            columns = self.codes, self.order, self.is_cut, self.starts
            position, minus, plus = stump_loops.first_inside(
                j, c, columns, rows, (signed_total, wanted)
            )
            left = np.array([minus, plus])
        gain = abs(left[1] - left[0]) + abs(signed_total - (left[1] - left[0]))
        threshold = self._middle(j, c, position)
        right = np.maximum(total - left, 0.0)
        code = c if at_inside > at_edge else -1
        return Split(j, threshold, left, right, float(gain), code, position)

    def _look_inside(
        self,
        features: np.ndarray,
        bins: np.ndarray,
        rows: tuple[Array, Array],
        limits: tuple[float, float, float],
    ) -> tuple[np.ndarray, np.ndarray, Array, float]:
        """These bins and the best gains inside them, and the best gain of all.

        `rows` and `limits` are those of `stump_loops.gains_inside`.
        """
        from sklearn_ensemble_theory._hot_loops._stumps import stump_loops

        self._sort(features, bins)
        bounds = self.bounds[features, bins]
        # The most promising first: the best that they reach may rule out others.
        ranked = np.argsort(-bounds)
        features, bins, bounds = features[ranked], bins[ranked], bounds[ranked]
        columns = self.codes, self.order, self.is_cut, self.starts
        best = stump_loops.gains_inside(features, bins, bounds, columns, rows, limits)
        return features, bins, bounds, best

    def _place(self, features: np.ndarray) -> None:
        """Rows of these columns bin by bin, where they are not yet."""
        from sklearn_ensemble_theory._hot_loops._stumps import stump_loops

        for j in features[~self.is_placed[features]]:
            if self.is_placed[j]:  # the same feature again
                continue
            stump_loops.place_rows(self.codes[j], self.starts[j], self.order[j])
            self.is_placed[j] = True

    def _sort(self, features: np.ndarray, bins: np.ndarray) -> None:
        """Sort these bins, where they are not yet."""
        from sklearn_ensemble_theory._hot_loops._stumps import stump_loops

        new = ~self.is_sorted[features, bins]
        if not new.any():
            return
        features, bins = features[new], bins[new]
        self._place(features)
        lengths = self.starts[features, bins + 1] - self.starts[features, bins]
        rows = np.empty(lengths.sum(), dtype=np.int64)
        stump_loops.rows_of_bins(features, bins, self.order, self.starts, rows)
        values = self.X[rows, np.repeat(features, lengths)]
        columns = self.order, self.is_cut, self.starts, self.inside
        stump_loops.sort_bins(values.astype(np.float64), features, bins, columns)
        self.is_sorted[features, bins] = True

    def _middle(self, j: int, c: int, position: int) -> float:
        """The threshold between the row at a place of a sorted column and the next."""
        self._place(np.array([j]))
        after = int(np.searchsorted(self.starts[j], position + 1, side="right")) - 1
        if c == after:  # inside a sorted bin
            below, above = (float(self.X[self.order[j, position + i], j]) for i in (0, 1))
        else:
            below = float(self._values(j, c).max())
            above = float(self._values(j, after).min())
        middle = 0.5 * below + 0.5 * above  # the sum first could overflow
        return middle if below <= middle < above else below

    def _values(self, j: int, c: int) -> np.ndarray:
        """The values in a bin."""
        return self.X[self.order[j, self.starts[j, c] : self.starts[j, c + 1]], j]

    def is_left(self, split: Split) -> NDArray[np.bool_]:
        """Which rows are at or below the threshold."""
        if not np.isfinite(split.threshold):
            return np.ones(self.n, dtype=bool)
        j, codes = split.feature, self.codes[split.feature]
        if split.code >= 0:
            return codes <= 2 * split.code + 1
        c = int(np.searchsorted(self.starts[j], split.position, side="right")) - 1
        left = codes < 2 * c
        left[self.order[j, self.starts[j, c] : split.position + 1]] = True
        return left
