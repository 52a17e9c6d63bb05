"""Targets by rank of distance, equal distances averaged.

Weights by rank need an order of the training rows around each point; where distances are equal
their order is arbitrary. Averaging over all orders of tied rows gives each rank that a tie covers
the mean target of the tied rows. The matrix of targets at ranks 1, 2, ..., R computed here
therefore depends on the data only, not on the order of the rows.

Equal rows have equal distances to every point and are merged once, before any query: `counts` rows
share each point, and the targets of a point are the sums over its rows.
"""

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba

# Two neighbours whose distances differ by less than this share of the larger one are tied: rounding
# of a few units in the last place, and of decimal grids, is far below it; the gap of two rows
# that are not tied falls below it about R^2 d / 2 times in 10^10 points (R ranks, d features), and
# then only averages two neighbouring weights.
TIE_RTOL = 1e-10


class TrainingPoints(NamedTuple):
    """The distinct training rows.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_points, n_features)
    counts : ndarray of shape (n_points,) or None
        Training rows that share each point, or the sum of their weights; None if every point is
        one row.
    of_row : ndarray of shape (n_samples,)
        The point of each training row.
    sums : ndarray of shape (n_outputs, n_points)
        Sums of the targets, times the weights, over the rows of each point.
    """

    X: Any
    counts: np.ndarray | None
    of_row: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, X: Any, targets: np.ndarray, merge: bool, weight: np.ndarray | None = None) -> Self:
        """The points of the rows of X; equal rows are merged if X is dense and `merge` is True."""
        if weight is not None:
            targets = targets * weight
        merged = None
        if merge and not sp.issparse(X):
            first, merged = merge_equal_rows(X)
        if merged is None:
            return cls(X, weight, np.arange(X.shape[0]), targets)
        sums = np.array([np.bincount(merged, target) for target in targets])
        return cls(X[first], np.bincount(merged, weight), merged, sums)


def merge_equal_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """First row of every distinct row of X and the point of each row; (None, None) if all differ.

    Rows are compared by their bits, through a hash of each row that is sorted in O(n log n); -0.0
    is 0.0. Should two different rows share a hash, they are sorted in full.
    """
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)
    key = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        key ^= column
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, point = np.unique(key, return_index=True, return_inverse=True)
    if len(first) == len(X):
        return None, None
    if not (bits == bits[first[point]]).all():
        _, first, point = np.unique(bits, axis=0, return_index=True, return_inverse=True)
        point = point.reshape(-1)
        if len(first) == len(X):
            return None, None
    return first, point


def _without(distances, points, own):
    """The neighbours without the row's own point, which is a point of one row only.

    A row may be missing among its own nearest, if as many others are at distance 0: then any of
    them can be left out.
    """
    shape = len(points), points.shape[1] - 1
    if uses_numba() and points.dtype == np.int64:
        from sklearn_ensemble_theory._hot_loops.neighbor_loops import leave_out

        kept = np.empty(shape), np.empty(shape, dtype=np.int64)
        leave_out(distances, points, own, kept)
        return kept
    is_own = points == own[:, None]
    is_own[:, -1] |= ~is_own.any(axis=1)
    return distances[~is_own].reshape(shape), points[~is_own].reshape(shape)


def new_distances(distances: np.ndarray) -> np.ndarray:
    """Whether each neighbour is farther than the one before, of shape (rows, k)."""
    starts = np.ones(distances.shape, dtype=bool)
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops.neighbor_loops import tie_starts

        tie_starts(distances, 1 - TIE_RTOL, starts)
    else:
        np.less(distances[:, :-1], (1 - TIE_RTOL) * distances[:, 1:], out=starts[:, 1:])
    return starts


class RankedBlock:
    """The neighbours of a block of rows, and their targets by rank."""

    def __init__(
        self,
        distances: np.ndarray,
        points: np.ndarray,
        n_ranks: int,
        counts: np.ndarray | None = None,
        own: np.ndarray | None = None,
    ):
        own_place = None
        if own is not None and counts is None:
            distances, points = _without(distances, points, own)
        elif own is not None:
            own_place = points == own[:, None]
        starts = new_distances(distances)
        self.points, self.starts, self.n_ranks, self.own_place = points, starts, n_ranks, own_place
        self.counts = None if counts is None else counts[points]
        if own_place is not None:
            self.counts -= own_place
        self._index()

    def _index(self) -> None:
        """Which rows are complete, and the groups of the rows that cannot be read off directly."""
        n_columns = self.points.shape[1]
        last = n_columns - 1 - np.argmax(self.starts[:, ::-1], axis=1)  # where the last tie starts
        nearer = last
        if self.counts is not None:
            before = np.cumsum(self.counts, axis=1) - self.counts
            nearer = np.take_along_axis(before, last[:, None], axis=1)[:, 0]
        self.complete = nearer >= self.n_ranks

        slow = ~self.starts[:, : self.n_ranks + 1].all(axis=1)
        if self.counts is not None:
            slow |= (self.counts != 1).any(axis=1)
        if self.own_place is not None:
            slow |= self.own_place.any(axis=1)
        self.slow = np.flatnonzero(slow)
        if not len(self.slow):
            return
        shape = len(self.slow), n_columns
        counts = np.ones(shape, dtype=np.intp) if self.counts is None else self.counts[self.slow]
        self.heads = np.flatnonzero(self.starts[self.slow])
        self.group_counts = np.add.reduceat(counts.ravel(), self.heads)
        ends = np.cumsum(self.group_counts)
        row = self.heads // n_columns
        ends -= np.concatenate([[0], np.cumsum(counts.sum(axis=1))[:-1]])[row]
        begins = ends - self.group_counts
        self.ranks_covered = np.minimum(ends, self.n_ranks) - np.minimum(begins, self.n_ranks)

    def take(self, mask: np.ndarray) -> Self:
        """The block of the rows in `mask`."""
        block = object.__new__(type(self))
        block.n_ranks = self.n_ranks
        for name in ("points", "starts", "counts", "own_place"):
            value = getattr(self, name)
            setattr(block, name, None if value is None else value[mask])
        block._index()
        return block

    def targets(self, sums: np.ndarray, own_targets: np.ndarray | None = None) -> np.ndarray:
        """The mean target at each rank, an array of shape (rows, n_ranks).

        Parameters
        ----------
        sums : ndarray of shape (n_points,)
            Sum of the targets of each point's rows.
        own_targets : ndarray of shape (rows,), optional
            Targets of the rows that are left out.
        """
        if len(self.slow) < len(self.points):
            ranked = sums[self.points[:, : self.n_ranks]]
        else:
            ranked = np.empty((len(self.points), self.n_ranks))
        if len(self.slow):
            values = sums[self.points[self.slow]]
            if self.own_place is not None and own_targets is not None:
                place = self.own_place[self.slow]
                values -= np.where(place, own_targets[self.slow][:, None], 0.0)
            group_sums = np.add.reduceat(values.ravel(), self.heads)
            means = group_sums / np.maximum(self.group_counts, 1)  # an empty group covers no rank
            ranked[self.slow] = np.repeat(means, self.ranks_covered).reshape(-1, self.n_ranks)
        return ranked
