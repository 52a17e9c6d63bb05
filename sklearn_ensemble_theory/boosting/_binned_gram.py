"""Sums over rows from which L2-boosting by stumps needs no row any more.

A *cut* is a pair (feature, threshold); its indicator L is 1 where the feature's bin is at or below
the cut. With weights w and targets y the sums are, for each cut and each pair of cuts,

    w'L,   L'Wy,   L'WL*        (and w'1, w'y, y'Wy)

Each pair of features needs one pass over the rows: a count of their combined bins, cumulated in
both directions. All sums are kept fold by fold: those of a training set are the total minus the
fold held out, so that k folds cost no more than none.

Cuts are numbered through: feature j's are `offsets[j]`, ..., `offsets[j + 1] - 1`. P is their
number, m_j that of feature j; k is the number of folds.
"""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

__all__ = ["CountedGram", "CutSums", "StoredGram", "cut_offsets", "cut_sums"]

# Rows whose combined bins are counted at a time: the codes stay in cache, the table is small.
_BLOCK_ROWS = 2**15


def cut_offsets(edges):
    """Where each feature's cuts begin, and at the end their number P."""
    return np.concatenate([[0], np.cumsum([len(e) for e in edges])]).astype(np.intp)


@dataclass
class CutSums:
    """The sums with one cut or none, fold by fold."""

    weight: np.ndarray  # (k,)
    y: np.ndarray  # (k,)
    yy: np.ndarray  # (k,)
    left_weight: np.ndarray  # (k, P)
    left_y: np.ndarray  # (k, P)

    def __add__(self, other):
        return CutSums(*(mine + theirs for mine, theirs in zip(self._sums(), other._sums())))

    def _sums(self):
        return self.weight, self.y, self.yy, self.left_weight, self.left_y

    def finite(self):
        return all(np.isfinite(a).all() for a in self._sums())

    def of_fold(self, fold):
        """Sums over the rows of one fold."""
        return CutSums(*(a[fold] for a in self._sums()))

    def without(self, fold):
        """Sums over the rows of all other folds; over all rows if `fold` is None."""
        if fold is None:
            return CutSums(*(a.sum(axis=0) for a in self._sums()))
        return CutSums(*(np.delete(a, fold, axis=0).sum(axis=0) for a in self._sums()))


def cut_sums(codes, offsets, y, sample_weight=None, folds=None, n_folds=1):
    """`CutSums` of n rows.

    Parameters
    ----------
    codes : integer ndarray of shape (n, p), in Fortran order
        Bins, from `bin_codes`.
    offsets : ndarray of shape (p + 1,)
        From `cut_offsets`.
    y : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,), default=None
    folds : integer ndarray of shape (n,), default=None
        The fold of each row, below `n_folds`.
    """
    n_cuts = np.diff(offsets)
    wy = y if sample_weight is None else sample_weight * y
    left_weight = np.zeros((n_folds, offsets[-1]))
    left_y = np.zeros((n_folds, offsets[-1]))

    def per_fold(values):
        if folds is None:
            return np.atleast_1d(len(y) if values is None else values.sum()).astype(float)
        return np.bincount(folds, weights=values, minlength=n_folds).astype(float)

    for j in np.flatnonzero(n_cuts):
        n_bins = n_cuts[j] + 1
        bins = codes[:, j].astype(np.intp)
        if folds is not None:
            bins += n_bins * folds.astype(np.intp)
        for values, sums in [(sample_weight, left_weight), (wy, left_y)]:
            of_bin = np.bincount(bins, weights=values, minlength=n_folds * n_bins)
            cumulated = np.cumsum(of_bin.reshape(n_folds, n_bins), axis=1)
            sums[:, offsets[j] : offsets[j + 1]] = cumulated[:, :-1]
    return CutSums(per_fold(sample_weight), per_fold(wy), per_fold(wy * y), left_weight, left_y)


class CountedGram:
    """The sums with two cuts, feature by feature, the first time that each is asked for.

    Parameters
    ----------
    codes, offsets, sample_weight, folds, n_folds
        As for `cut_sums`.
    left_weight : ndarray of shape (k, P)
        From `cut_sums`.
    max_blocks : int or None
        How many features' blocks are kept; the one that was not asked for longest goes first.
    """

    def __init__(
        self, codes, offsets, left_weight, sample_weight=None, folds=None, max_blocks=None
    ):
        self.codes = codes
        self.offsets = offsets
        self.left_weight = left_weight
        self.sample_weight = sample_weight
        self.folds = folds
        self.max_blocks = max_blocks
        self.blocks = OrderedDict()

    def block(self, j):
        """L'WL* of feature j's cuts with all cuts: (k, m_j, P). O(n p) the first time."""
        if j in self.blocks:
            self.blocks.move_to_end(j)
        else:
            block = self._count(j)
            while self.max_blocks is not None and len(self.blocks) >= self.max_blocks:
                self.blocks.popitem(last=False)
            self.blocks[j] = block
        return self.blocks[j]

    def _cuts(self, j):
        return slice(self.offsets[j], self.offsets[j + 1])

    def _count(self, j):
        n_folds, n_all = self.left_weight.shape
        n_cuts = np.diff(self.offsets)
        block = np.zeros((n_folds, n_cuts[j], n_all))
        # Two cuts of one feature: the rows left of both are those left of the lower.
        cuts = np.arange(n_cuts[j])
        lower = np.minimum.outer(cuts, cuts)
        block[:, :, self._cuts(j)] = self.left_weight[:, self._cuts(j)][:, lower]
        uncounted = []
        for other in np.flatnonzero(n_cuts):
            if other in self.blocks:  # the Gram matrix is symmetric
                block[:, :, self._cuts(other)] = np.swapaxes(
                    self.blocks[other][:, :, self._cuts(j)], 1, 2
                )
            elif other != j:
                uncounted.append(other)
        for other, table in zip(uncounted, self._tables(j, uncounted)):
            cumulated = table.cumsum(axis=1).cumsum(axis=2)
            block[:, :, self._cuts(other)] = cumulated[:, :-1, : n_cuts[other]]
            # what lies beyond the last bin of `other` is the padding of the table
        return block

    def _tables(self, j, others):
        """The weight of the rows in each bin of j and each of each other feature: (k, B_j, B)."""
        n_cuts = np.diff(self.offsets)
        n_bins, stride = n_cuts[j] + 1, n_cuts.max() + 1
        size = len(self.left_weight) * n_bins * stride
        counted = np.intp if self.sample_weight is None else np.float64
        tables = np.zeros((len(others), size), dtype=counted)
        combined = np.empty(min(_BLOCK_ROWS, len(self.codes)), dtype=np.intp)
        for start in range(0, len(self.codes), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            first = self.codes[rows, j].astype(np.intp)
            if self.folds is not None:
                first += n_bins * self.folds[rows].astype(np.intp)
            first *= stride
            w = None if self.sample_weight is None else self.sample_weight[rows]
            for other, table in zip(others, tables):
                bins = np.add(first, self.codes[rows, other], out=combined[: len(first)])
                table += np.bincount(bins, weights=w, minlength=size)
        return tables.reshape(len(others), len(self.left_weight), n_bins, stride)


class StoredGram:
    """The sums with two cuts where they have been accumulated already: (k, P, P)."""

    def __init__(self, gram, offsets):
        self.gram = gram
        self.offsets = offsets

    def block(self, j):
        return self.gram[:, self.offsets[j] : self.offsets[j + 1]]
