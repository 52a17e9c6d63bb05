"""The sums over rows with two cuts, counted when they are first needed.

Each pair of features needs one pass over the rows: a count of their combined bins, cumulated in
both directions where the features are ordered. P is the number of cuts, m_j that of feature j; k is
the number of folds.
"""

from collections import OrderedDict

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import tables_of_pairs

# Rows whose combined bins are counted at a time: the codes stay in cache, the table is small.
_BLOCK_ROWS = 2**15
# Rough costs, in nanoseconds, that decide between counting a cut and counting its feature: for each
# row and other feature (by compiled loops), for each product of two cuts, and for the calls that
# count a cut.
_ROW_OF_TABLE, _ROW_OF_COMPILED_TABLE, _ROW_OF_CUT, _CELL, _CALLS = 2, 0.5, 4, 15, 3e5


class _Groups:
    """Cuts whose products with all cuts are computed together.

    Group k < P is the single cut k; group P + j is all cuts of feature j.
    """

    def __init__(self, layout):
        self.layout = layout
        self.n_cuts = layout.n_cuts

    def cuts_of(self, group):
        if group < self.n_cuts:
            return slice(group, group + 1)
        return self.layout.cuts_of(group - self.n_cuts)

    def whole(self, j):
        """The group of all cuts of feature j."""
        return self.n_cuts + j


class CountedGram(_Groups):
    """The sums with two cuts, counted when they are first needed.

    All cuts of a feature at once cost one table of combined bins for each other feature; with few
    rows and many bins most of such a table is empty. So the first cuts of a feature that are
    needed are counted one by one, and once that has cost as much as the whole feature would have,
    the whole feature is counted. This costs at most about twice as much as the cheaper way.

    Parameters
    ----------
    codes, layout, sample_weight, folds
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
        layout,
        left_weight,
        sample_weight=None,
        folds=None,
        patience=None,
        max_cuts=None,
    ):
        super().__init__(layout)
        self.codes = codes
        self.left_weight = left_weight
        self.sample_weight = sample_weight
        self.folds = folds
        self.max_cuts = self.n_cuts if max_cuts is None else max_cuts
        n_rows, p = codes.shape
        m = layout.n_bins - 1
        if patience is None:
            one_cut = _CALLS + _ROW_OF_CUT * n_rows * p + _CELL * self.n_cuts
            row = _ROW_OF_COMPILED_TABLE if uses_numba() else _ROW_OF_TABLE
            patience = (row * n_rows * p + _CELL * m * self.n_cuts) / one_cut
        # The best categories differ from round to round: all of them are needed.
        patience = np.where(layout.categorical, 0, patience)
        self.patience = np.where(m > self.max_cuts, np.inf, patience)
        self.n_single = np.zeros(p, dtype=np.intp)
        self.blocks = OrderedDict()
        self.totals = {}

    def group_for(self, cut):
        """The group of which the block is needed for the products of `cut`."""
        j = self.layout.feature_of(cut)
        whole = self.whole(j)
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

    def total(self, group):
        """The block of a group summed over the folds: (g, P)."""
        if group not in self.totals or group not in self.blocks:
            for known in [g for g in self.totals if g not in self.blocks]:
                del self.totals[known]
            self.totals[group] = self.block(group).sum(axis=0)
        return self.totals[group]

    def _count_feature(self, j):
        layout, own = self.layout, self.layout.cuts_of(j)
        block = np.empty((len(self.left_weight), own.stop - own.start, self.n_cuts))
        block[:, :, own] = layout.products_of_own_cuts(j, self.left_weight[:, own])
        uncounted = []
        for other in np.flatnonzero(layout.n_bins > 1):
            if self.whole(other) in self.blocks:  # the Gram matrix is symmetric
                known = self.blocks[self.whole(other)][:, :, own]
                block[:, :, layout.cuts_of(other)] = np.swapaxes(known, 1, 2)
            elif other != j:
                uncounted.append(other)
        for other, table in zip(uncounted, self._tables(j, uncounted)):
            table = layout.sums_of_cuts(j, table, axis=-2)
            block[:, :, layout.cuts_of(other)] = layout.sums_of_cuts(other, table)
        return block

    def _tables(self, j, others):
        """The weight of the rows in each bin of j and each of each other feature: (k, B_j, B)."""
        n_bins = self.layout.n_bins
        n_folds = len(self.left_weight)
        if uses_numba():
            first = self.codes[:, j].astype(np.uint32)
            if self.folds is not None:
                first += self.folds.astype(np.uint32) * np.uint32(n_bins[j])
            found = tables_of_pairs(
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
        layout, n_folds = self.layout, len(self.left_weight)
        p, j = len(layout.n_bins), layout.feature_of(k)
        first_bin = layout.offsets + np.arange(p + 1)
        n_bins = int(first_bin[-1])
        weight_in_bin = np.zeros(n_folds * n_bins)
        own, code = layout.cuts_of(j), k - layout.offsets[j]
        step = max(_BLOCK_ROWS // p, 1024)
        for start in range(0, len(self.codes), step):
            codes = self.codes[start : start + step].T
            is_left = codes[j] == code if layout.categorical[j] else codes[j] <= code
            left = np.flatnonzero(is_left)
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
        cumulated -= np.repeat(before, layout.n_bins, axis=1)
        for other in np.flatnonzero(layout.categorical):
            bins = slice(first_bin[other], first_bin[other + 1])
            cumulated[:, bins] = weight_in_bin[:, bins]
        block = np.delete(cumulated, first_bin[1:] - 1, axis=1)[:, None, :]
        # Of one feature the rows left of both are those left of the lower cut: the same sums.
        block[:, :, own] = layout.products_of_own_cuts(j, self.left_weight[:, own])[:, code, None]
        return block


class StoredGram(_Groups):
    """The sums with two cuts that were accumulated before: an array of shape (k, P, P)."""

    def __init__(self, gram, layout):
        super().__init__(layout)
        self.gram = gram

    def group_for(self, cut):
        return self.whole(self.layout.feature_of(cut))

    def block(self, group):
        return self.gram[:, self.cuts_of(group)]

    def total(self, group):
        return self.block(group).sum(axis=0)
