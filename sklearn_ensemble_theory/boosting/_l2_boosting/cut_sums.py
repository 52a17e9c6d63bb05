"""The sums over rows from which L2-boosting by stumps is computed without the rows.

A *cut* is a pair (feature, threshold); its indicator L is 1 where the feature's bin is at or below
the cut. With weights w and targets y the sums are, for each cut and each pair of cuts,

    w'L,   L'Wy,   L'WL*        (and w'1, w'y, y'Wy)

Each pair of features needs one pass over the rows: a count of their combined bins, cumulated in
both directions. All sums are kept fold by fold: those of a training set are the total minus those
of the fold held out, so that k folds cost no more passes than none.

Cuts are numbered consecutively: feature j's are `offsets[j]`, ..., `offsets[j + 1] - 1`. P is their
number, m_j that of feature j; k is the number of folds.
"""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba

__all__ = ["CountedGram", "CutSums", "StoredGram", "cut_offsets", "cut_sums"]

# Rows whose combined bins are counted at a time: the codes stay in cache, the table is small.
_BLOCK_ROWS = 2**15
# Rough costs, in nanoseconds, that decide between counting a cut and counting its feature: for each
# row and other feature (by compiled loops), for each product of two cuts, and for the calls that
# count a cut.
_ROW_OF_TABLE, _ROW_OF_COMPILED_TABLE, _ROW_OF_CUT, _CELL, _CALLS = 2, 0.5, 4, 15, 3e5


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

    def moderate(self):
        """Whether products of two sums are safe from overflow."""
        return all((np.abs(a) < 1e150).all() for a in self._sums())

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

    used = np.flatnonzero(n_cuts)
    if uses_numba():
        fold = np.zeros(len(y), np.uint32) if folds is None else folds.astype(np.uint32)
        for values, sums in [(sample_weight, left_weight), (wy, left_y)]:
            tables = _compiled_tables(fold, n_folds, codes, used, n_cuts + 1, values)
            for j, table in zip(used, tables):
                sums[:, offsets[j] : offsets[j + 1]] = np.cumsum(table, axis=1)[:, :-1]
        used = used[:0]
    for j in used:
        n_bins = n_cuts[j] + 1
        bins = codes[:, j].astype(np.intp)
        if folds is not None:
            bins += n_bins * folds.astype(np.intp)
        for values, sums in [(sample_weight, left_weight), (wy, left_y)]:
            of_bin = np.bincount(bins, weights=values, minlength=n_folds * n_bins)
            cumulated = np.cumsum(of_bin.reshape(n_folds, n_bins), axis=1)
            sums[:, offsets[j] : offsets[j + 1]] = cumulated[:, :-1]
    return CutSums(per_fold(sample_weight), per_fold(wy), per_fold(wy * y), left_weight, left_y)


def _compiled_tables(first, n_first, codes, others, n_bins, weight):
    """The weight (None: the number) of the rows by `first` and by the bin of each other column.

    A list of arrays of shape (n_first, B).
    """
    from sklearn_ensemble_theory._hot_loops.table_loops import add_counts, add_weights

    others = np.asarray(others, dtype=np.intp)
    widths = n_bins[others]
    starts = np.concatenate([[0], np.cumsum(n_first * widths)]).astype(np.intp)
    tables = np.zeros(starts[-1], dtype=np.int64 if weight is None else np.float64)
    if weight is None:
        add_counts(first, codes.T, others, widths, starts, tables)
    else:
        add_weights(first, codes.T, others, widths, weight, starts, tables)
    return [t.reshape(n_first, -1) for t in np.split(tables, starts[1:-1])]


class _Groups:
    """Cuts whose products with all cuts are computed together.

    Group k < P is the single cut k; group P + j is all cuts of feature j.
    """

    def __init__(self, offsets):
        self.offsets = offsets
        self.n_cuts = int(offsets[-1])

    def feature_of(self, cut):
        return int(np.searchsorted(self.offsets, cut, side="right")) - 1

    def cuts_of(self, group):
        if group < self.n_cuts:
            return slice(group, group + 1)
        j = group - self.n_cuts
        return slice(self.offsets[j], self.offsets[j + 1])


class CountedGram(_Groups):
    """The sums with two cuts, counted when they are first needed.

    All cuts of a feature at once cost one table of combined bins for each other feature; with few
    rows and many bins most of such a table is empty. So the first cuts of a feature that are
    needed are counted one by one, and once that has cost as much as the whole feature would have,
    the whole feature is counted. This costs at most about twice as much as the cheaper way.

    Parameters
    ----------
    codes, offsets, sample_weight, folds
        As for `cut_sums`.
    left_weight : ndarray of shape (k, P)
        From `cut_sums`.
    patience : int, default=None
        How many cuts of a feature are counted one by one; None compares the costs.
    max_cuts : int, default=None
        Of how many cuts the sums are kept; the group used least recently is dropped first.
    """

    def __init__(
        self,
        codes,
        offsets,
        left_weight,
        sample_weight=None,
        folds=None,
        patience=None,
        max_cuts=None,
    ):
        super().__init__(offsets)
        self.codes = codes
        self.left_weight = left_weight
        self.sample_weight = sample_weight
        self.folds = folds
        self.max_cuts = self.n_cuts if max_cuts is None else max_cuts
        n_rows, p = codes.shape
        m = np.diff(offsets)
        if patience is None:
            one_cut = _CALLS + _ROW_OF_CUT * n_rows * p + _CELL * self.n_cuts
            row = _ROW_OF_COMPILED_TABLE if uses_numba() else _ROW_OF_TABLE
            patience = (row * n_rows * p + _CELL * m * self.n_cuts) / one_cut
        self.patience = np.where(m > self.max_cuts, np.inf, patience)
        self.n_single = np.zeros(p, dtype=np.intp)
        self.blocks = OrderedDict()

    def group_for(self, cut):
        """The group of which the block is needed for the products of `cut`."""
        j = self.feature_of(cut)
        whole = self.n_cuts + j
        if whole in self.blocks:
            return whole
        if cut not in self.blocks:
            if self.n_single[j] + 1 > self.patience[j]:
                return whole
            self.n_single[j] += 1
        return cut

    def block(self, group):
        """L'WL* of the g cuts of a group with all cuts: (k, g, P). O(n p) the first time."""
        if group in self.blocks:
            self.blocks.move_to_end(group)
            return self.blocks[group]
        if group < self.n_cuts:
            block = self._count_cut(group)
        else:
            block = self._count_feature(group - self.n_cuts)
            cuts = self.cuts_of(group)
            for cut in range(cuts.start, cuts.stop):
                self.blocks.pop(cut, None)
        if self.max_cuts < self.n_cuts:
            n_kept = sum(kept.shape[1] for kept in self.blocks.values())
            while self.blocks and n_kept + block.shape[1] > self.max_cuts:
                n_kept -= self.blocks.popitem(last=False)[1].shape[1]
        self.blocks[group] = block
        return block

    def _count_feature(self, j):
        own = self.cuts_of(self.n_cuts + j)
        block = np.empty((len(self.left_weight), own.stop - own.start, self.n_cuts))
        # Two cuts of one feature: the rows left of both are those left of the lower.
        number = np.arange(block.shape[1])
        block[:, :, own] = self.left_weight[:, own][:, np.minimum.outer(number, number)]
        uncounted = []
        for other in np.flatnonzero(np.diff(self.offsets)):
            if self.n_cuts + other in self.blocks:  # the Gram matrix is symmetric
                known = self.blocks[self.n_cuts + other][:, :, own]
                block[:, :, self.cuts_of(self.n_cuts + other)] = np.swapaxes(known, 1, 2)
            elif other != j:
                uncounted.append(other)
        for other, table in zip(uncounted, self._tables(j, uncounted)):
            cumulated = table.cumsum(axis=1).cumsum(axis=2)
            block[:, :, self.cuts_of(self.n_cuts + other)] = cumulated[:, :-1, :-1]
        return block

    def _tables(self, j, others):
        """The weight of the rows in each bin of j and each of each other feature: (k, B_j, B)."""
        n_bins = np.diff(self.offsets) + 1
        n_folds = len(self.left_weight)
        if uses_numba():
            first = self.codes[:, j].astype(np.uint32)
            if self.folds is not None:
                first += self.folds.astype(np.uint32) * np.uint32(n_bins[j])
            found = _compiled_tables(
                first, n_folds * n_bins[j], self.codes, others, n_bins, self.sample_weight
            )
            return [t.reshape(n_folds, n_bins[j], -1) for t in found]
        counted = np.intp if self.sample_weight is None else np.float64
        tables = [np.zeros(n_folds * n_bins[j] * n_bins[other], counted) for other in others]
        bins = np.empty(min(_BLOCK_ROWS, len(self.codes)), dtype=np.intp)
        for start in range(0, len(self.codes), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            first = self.codes[rows, j].astype(np.intp)
            if self.folds is not None:
                first += n_bins[j] * self.folds[rows].astype(np.intp)
            bins = bins[: len(first)]
            w = None if self.sample_weight is None else self.sample_weight[rows]
            stride, scaled = None, np.empty_like(first)
            for other, table in zip(others, tables):
                if n_bins[other] != stride:
                    stride = n_bins[other]
                    np.multiply(first, stride, out=scaled)
                np.add(scaled, self.codes[rows, other], out=bins)
                table += np.bincount(bins, weights=w, minlength=len(table))
        return [t.reshape(n_folds, n_bins[j], n_bins[other]) for other, t in zip(others, tables)]

    def _count_cut(self, k):
        """The weight left of cut k and of each other cut, from the bins of the rows left of k."""
        n_folds, p = len(self.left_weight), len(self.offsets) - 1
        j = self.feature_of(k)
        first_bin = self.offsets + np.arange(p + 1)
        n_bins = int(first_bin[-1])
        weight_in_bin = np.zeros(n_folds * n_bins)
        step = max(_BLOCK_ROWS // p, 1024)
        for start in range(0, len(self.codes), step):
            codes = self.codes[start : start + step].T
            left = np.flatnonzero(codes[j] <= k - self.offsets[j])
            bins = codes.take(left, axis=1) + first_bin[:-1, None]
            if self.folds is not None:
                bins += n_bins * self.folds[start + left].astype(np.intp)
            w = None
            if self.sample_weight is not None:
                w = np.tile(self.sample_weight[start + left], p)
            weight_in_bin += np.bincount(bins.ravel(), weights=w, minlength=len(weight_in_bin))
        weight_in_bin = weight_in_bin.reshape(n_folds, n_bins)
        # The sums run on from feature to feature: subtract those of the features before.
        cumulated = np.cumsum(weight_in_bin, axis=1)
        before = cumulated[:, first_bin[:-1]] - weight_in_bin[:, first_bin[:-1]]
        cumulated -= np.repeat(before, np.diff(first_bin), axis=1)
        return np.delete(cumulated, first_bin[1:] - 1, axis=1)[:, None, :]


class StoredGram(_Groups):
    """The sums with two cuts that were accumulated before: an array of shape (k, P, P)."""

    def __init__(self, gram, offsets):
        super().__init__(offsets)
        self.gram = gram

    def group_for(self, cut):
        return self.n_cuts + self.feature_of(cut)

    def block(self, group):
        return self.gram[:, self.cuts_of(group)]
