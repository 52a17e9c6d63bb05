"""Targets by rank of distance, equal distances averaged.

Weights by rank need an order of the training rows around each point; where distances are equal the
order is an accident of storage. Averaging over all orders of equal rows gives each rank that a tie
covers the mean target of the tied rows. What comes out here is therefore a matrix "target at rank
1, 2, ..., R" that depends on the data only, not on the order of its rows.

Equal rows are equally far from everything and are merged once, before any query: `counts` rows
stand at each point, and the targets of a point are the sums over its rows.
"""

import numpy as np

# Two neighbours whose distances differ by less than this share of the larger one are tied: rounding
# of a few units in the last place, and of decimal grids, is far below it; the gap of two rows
# that are not tied falls below it about R^2 d / 2 times in 10^10 points (R ranks, d features), and
# then merely averages two neighbouring weights.
TIE_RTOL = 1e-10


def merge_equal_rows(X):
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


class RankedBlock:
    """The neighbours of a block of rows, whose targets can be read rank by rank."""

    def __init__(self, distances, points, n_ranks, counts=None, own=None):
        own_place = None if own is None else points == own[:, None]
        if own is not None and counts is None:
            # Where a row is not among its own nearest, as many others are as near: any may go.
            own_place[:, -1] |= ~own_place.any(axis=1)
            shape = len(points), points.shape[1] - 1
            distances, points = (
                distances[~own_place].reshape(shape),
                points[~own_place].reshape(shape),
            )
            own_place = None
        starts = np.ones(points.shape, dtype=bool)
        np.less(distances[:, :-1], (1 - TIE_RTOL) * distances[:, 1:], out=starts[:, 1:])
        self.points, self.starts, self.n_ranks, self.own_place = points, starts, n_ranks, own_place
        self.counts = None if counts is None else counts[points]
        if own_place is not None:
            self.counts -= own_place
        self._index()

    def _index(self):
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

    def take(self, mask):
        """The block of the rows in `mask`."""
        block = object.__new__(RankedBlock)
        block.n_ranks = self.n_ranks
        for name in ("points", "starts", "counts", "own_place"):
            value = getattr(self, name)
            setattr(block, name, None if value is None else value[mask])
        block._index()
        return block

    def targets(self, sums, own_targets=None):
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
            if self.own_place is not None:
                place = self.own_place[self.slow]
                values -= np.where(place, own_targets[self.slow][:, None], 0.0)
            group_sums = np.add.reduceat(values.ravel(), self.heads)
            means = group_sums / np.maximum(self.group_counts, 1)  # an empty group covers no rank
            ranked[self.slow] = np.repeat(means, self.ranks_covered).reshape(-1, self.n_ranks)
        return ranked
