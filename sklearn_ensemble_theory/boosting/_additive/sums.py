"""Cuts of binned features: their numbers, and how sums over bins become sums over cuts.

A *cut* of an ordered feature is a threshold c; its indicator L is 1 where the feature's bin is at
or below c. If the feature has a bin for missing values, that is its last bin, and its last cut V is
the indicator of the values that are present. A *cut* of a categorical feature is one of its
categories, with the indicator of that category; the last bin, of missing and unseen values, has
none.

A feature of B bins therefore has B - 1 cuts. They are numbered consecutively: those of feature j
are `offsets[j]`, ..., `offsets[j + 1] - 1`. P is the number of all cuts.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba


class CutLayout:
    """Which cuts there are.

    Parameters
    ----------
    n_bins : int array of shape (p,)
        The bins of each feature, that of missing values included.
    missing : bool array of shape (p,), default=None
        Which features have a bin for missing values, their last one.
    categorical : bool array of shape (p,), default=None
        Which features are categorical; they have such a bin.

    Attributes
    ----------
    offsets : int array of shape (p + 1,)
    valid_cut : int array of shape (P,)
        For each cut of an ordered feature with missing values, other than V, the number of V;
        -1 for all other cuts.
    """

    def __init__(self, n_bins, missing=None, categorical=None):
        self.n_bins = np.asarray(n_bins, dtype=np.intp)
        p = len(self.n_bins)
        self.missing = np.zeros(p, bool) if missing is None else np.asarray(missing, bool)
        self.categorical = (
            np.zeros(p, bool) if categorical is None else np.asarray(categorical, bool)
        )
        self.offsets = np.concatenate([[0], np.cumsum(self.n_bins - 1)]).astype(np.intp)
        self.valid_cut = np.full(self.offsets[-1], -1, dtype=np.intp)
        for j in np.flatnonzero(self.missing & ~self.categorical):
            last = self.offsets[j + 1] - 1
            self.valid_cut[self.offsets[j] : last] = last

    @property
    def n_cuts(self) -> int:
        return int(self.offsets[-1])

    def feature_of(self, cut: int) -> int:
        return int(np.searchsorted(self.offsets, cut, side="right")) - 1

    def cuts_of(self, j: int) -> slice:
        return slice(int(self.offsets[j]), int(self.offsets[j + 1]))

    def thresholds_of(self, j: int) -> slice:
        """The cuts of an ordered feature at its thresholds: all but V."""
        cuts = self.cuts_of(j)
        return slice(cuts.start, cuts.stop - bool(self.missing[j]))

    def sums_of_cuts(self, j: int, table: np.ndarray, axis: int = -1) -> np.ndarray:
        """Sums over the cuts of feature j from sums over its bins, along an axis of `table`.

        `table` may be overwritten.
        """
        if not self.categorical[j]:
            np.cumsum(table, axis=axis, out=table)
        return table[..., :-1] if axis == -1 else table[..., :-1, :]

    def products_of_own_cuts(self, j: int, left_weight: np.ndarray) -> np.ndarray:
        """L'WL* for two cuts of feature j, from w'L: shape (..., m, m)."""
        number = np.arange(left_weight.shape[-1])
        if self.categorical[j]:
            return left_weight[..., None] * (number[:, None] == number)
        return left_weight[..., np.minimum.outer(number, number)]


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


def cut_sums(
    codes: np.ndarray,
    layout: CutLayout,
    y: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
    folds: np.ndarray | None = None,
    n_folds: int = 1,
    left_weight: np.ndarray | None = None,
) -> CutSums:
    """`CutSums` of n rows.

    Parameters
    ----------
    codes : integer ndarray of shape (n, p), in Fortran order
        Bins.
    layout : CutLayout
    y : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,), default=None
    folds : integer ndarray of shape (n,), default=None
        The fold of each row, below `n_folds`.
    n_folds : int, default=1
    left_weight : ndarray of shape (k, P), default=None
        w'L by fold, where it is known.
    """
    wy = y if sample_weight is None else sample_weight * y
    left_y = np.zeros((n_folds, layout.n_cuts))
    wanted = [(wy, left_y)]
    if left_weight is None:
        left_weight = np.zeros((n_folds, layout.n_cuts))
        wanted.append((sample_weight, left_weight))

    def per_fold(values):
        if folds is None:
            return np.atleast_1d(len(y) if values is None else values.sum()).astype(float)
        return np.bincount(folds, weights=values, minlength=n_folds).astype(float)

    used = np.flatnonzero(layout.n_bins > 1)
    for values, sums in wanted:
        for j, table in _tables_of_folds(codes, layout.n_bins, used, values, folds, n_folds):
            sums[:, layout.cuts_of(j)] = layout.sums_of_cuts(j, table)
    return CutSums(per_fold(sample_weight), per_fold(wy), per_fold(wy * y), left_weight, left_y)


def _tables_of_folds(codes, n_bins, used, values, folds, n_folds):
    """For each feature that is used, the sums of `values` by fold and bin: (k, B)."""
    if uses_numba():
        fold = np.zeros(len(codes), np.uint32) if folds is None else folds.astype(np.uint32)
        yield from zip(used, tables_of_pairs(fold, n_folds, codes, used, n_bins, values))
        return
    for j in used:
        bins = codes[:, j].astype(np.intp)
        if folds is not None:
            bins += n_bins[j] * folds.astype(np.intp)
        of_bin = np.bincount(bins, weights=values, minlength=n_folds * n_bins[j])
        yield j, of_bin.reshape(n_folds, n_bins[j])


def tables_of_pairs(first, n_first, codes, others, n_bins, weight):
    """The weight (None: the number) of the rows by `first` and by the bin of each other column.

    A list of arrays of shape (n_first, B). By compiled loops.
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


# Of codes, targets, weights or None, and folds or None, each of n rows.
RowsInBins = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]


@dataclass
class StumpSums:
    """The sums over rows from which the model is fitted without the rows.

    Attributes
    ----------
    sums : CutSums
        With one cut or none.
    tables : array
        The weight of the rows by fold and by the bins of two features, for one pair of features
        after the other; integers where all weights are 1.
    layout : CutLayout
    """

    sums: CutSums
    tables: np.ndarray
    layout: CutLayout

    @classmethod
    def of(cls, blocks: Iterable[RowsInBins], layout: CutLayout, n_groups: int) -> "StumpSums":
        """The sums over some rows in bins; O(n p^2).

        Parameters
        ----------
        blocks : iterable of RowsInBins
            Blocks of rows, so few in each that their codes stay in the processor's cache; weights
            in all of them or in none.
        layout : CutLayout
        n_groups : int
            The number of folds; 1 where there are none.
        """
        counter = _Counter(layout, n_groups)
        with np.errstate(over="ignore", invalid="ignore"):
            for block in blocks:
                counter.add(*block)
            return cls(counter.sums(), counter.tables, layout)

    def __add__(self, other: "StumpSums") -> "StumpSums":
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.sums + other.sums
            counts = np.result_type(self.tables, other.tables).kind == "i"
            kind = _kind_of(sums.weight.sum(), counts)
            return StumpSums(sums, np.add(self.tables, other.tables, dtype=kind), self.layout)

    def gram(self) -> np.ndarray:
        """The sums with two cuts: (k, P, P)."""
        layout, left_weight = self.layout, self.sums.left_weight
        pairs = _Pairs(layout, len(left_weight))
        gram = np.empty((len(left_weight), layout.n_cuts, layout.n_cuts))
        with np.errstate(over="ignore", invalid="ignore"):
            for j in pairs.used:
                own = layout.cuts_of(j)
                gram[:, own, own] = layout.products_of_own_cuts(j, left_weight[:, own])
            for (i, j), table in pairs.split(self.tables):
                one, other = layout.cuts_of(i), layout.cuts_of(j)
                table = layout.sums_of_cuts(i, table.astype(np.float64), axis=-2)
                table = layout.sums_of_cuts(j, table)
                gram[:, one, other] = table
                gram[:, other, one] = np.swapaxes(table, 1, 2)
        return gram


class _Pairs:
    """Where the table of each pair of features is."""

    def __init__(self, layout, n_groups):
        self.layout, self.n_groups = layout, n_groups
        self.used = np.flatnonzero(layout.n_bins > 1)
        n_bins = layout.n_bins[self.used]
        first, second = np.triu_indices(len(self.used), 1)
        self.stops = np.concatenate([[0], np.cumsum(n_groups * n_bins[first] * n_bins[second])])
        self.first, self.second = self.used[first], self.used[second]

    def __len__(self):
        return len(self.first)

    def split(self, tables):
        """The features of each pair, and their table of shape (k, B_i, B_j)."""
        n_bins = self.layout.n_bins
        for number, (i, j) in enumerate(zip(self.first.tolist(), self.second.tolist())):
            table = tables[self.stops[number] : self.stops[number + 1]]
            yield (i, j), table.reshape(self.n_groups, n_bins[i], n_bins[j])

    def by_first(self, tables):
        """Features with those after them: the tables of both, and where each of them begins."""
        stop = 0
        for number, i in enumerate(self.used[:-1].tolist()):
            others = self.used[number + 1 :]
            start, stop = stop, stop + len(others)
            part = tables[self.stops[start] : self.stops[stop]]
            yield i, others, part, self.stops[start : stop + 1] - self.stops[start]

    def left_weight(self, tables):
        """w'L by fold, from one table of each feature."""
        found = np.zeros((self.n_groups, self.layout.n_cuts))
        last = self.used[-1]
        for (i, j), table in self.split(tables):
            if j == last:
                _write_cuts(self.layout, i, table.sum(axis=2), found)
        _write_cuts(self.layout, last, table.sum(axis=1), found)
        return found


class _Counter:
    """The sums over the rows so far; O(n p^2) for n more rows.

    Without new arrays for every block of rows: that costs as much time as counting them.
    """

    def __init__(self, layout, n_groups):
        self.layout, self.pairs = layout, _Pairs(layout, n_groups)
        self.tables = np.zeros(self.pairs.stops[-1], np.int32)
        self.total = None
        self.left_weight = np.zeros((n_groups, layout.n_cuts)) if len(self.pairs) else None
        used = self.pairs.used
        self.n_bins = layout.n_bins[used]
        self.stops = np.concatenate([[0], np.cumsum(n_groups * self.n_bins)]).astype(np.intp)
        # By compiled loops: targets by feature, fold and bin, and moments of targets by fold.
        self.targets, self.moments = np.zeros(self.stops[-1]), np.zeros((3, n_groups))
        self.n_rows, self.buffers = 0, np.empty((2, 0), np.uint32)

    def add(self, codes, y, weight, folds):
        self.n_rows += len(y)
        kind = _kind_of(self.n_rows, weight is None and self.tables.dtype.kind == "i")
        self.tables = self.tables.astype(kind, copy=False)
        if uses_numba() and len(self.pairs):
            self._add_compiled(codes, y, weight, folds)
        else:
            self._add(codes, y, weight, folds)

    def sums(self):
        """The sums with one cut or none."""
        if self.total is None:
            left_y = np.zeros_like(self.left_weight)
            for i, table in zip(self.pairs.used, np.split(self.targets, self.stops[1:-1])):
                _write_cuts(self.layout, i, table.reshape(len(left_y), -1), left_y)
            self.total = CutSums(*self.moments, self.left_weight, left_y)
        if len(self.pairs):
            self.total.left_weight = self.pairs.left_weight(self.tables)
        return self.total

    def _add_compiled(self, codes, y, weight, folds):
        from sklearn_ensemble_theory._hot_loops import table_loops

        if len(y) > self.buffers.shape[1]:
            self.buffers = np.empty((2, len(y)), np.uint32)
        fold, cells = self.buffers[:, : len(y)]
        fold[:] = 0 if folds is None else folds
        columns, n_bins = codes.T, self.layout.n_bins
        table_loops.add_moments(fold, y, y[:0] if weight is None else weight, self.moments)
        wy = y if weight is None else weight * y
        table_loops.add_weights(
            fold, columns, self.pairs.used, self.n_bins, wy, self.stops, self.targets
        )
        for i, others, part, starts in self.pairs.by_first(self.tables):
            np.multiply(fold, np.uint32(n_bins[i]), out=cells)
            np.add(cells, columns[i], out=cells)
            if weight is None:
                table_loops.add_counts(cells, columns, others, n_bins[others], starts, part)
            else:
                table_loops.add_weights(
                    cells, columns, others, n_bins[others], weight, starts, part
                )

    def _add(self, codes, y, weight, folds):
        known = {} if self.left_weight is None else {"left_weight": self.left_weight}
        n_folds, n_bins = self.pairs.n_groups, self.layout.n_bins
        options = {"sample_weight": weight, "folds": folds, "n_folds": n_folds, **known}
        sums = cut_sums(codes, self.layout, y, **options)
        self.total = sums if self.total is None else self.total + sums
        for i, others, part, starts in self.pairs.by_first(self.tables):
            cells = codes[:, i].astype(np.intp)
            if folds is not None:
                cells += folds.astype(np.intp) * n_bins[i]
            for k, j in enumerate(others):
                both = cells * n_bins[j] + codes[:, j]
                table = part[starts[k] : starts[k + 1]]
                table += np.bincount(both, weight, len(table)).astype(part.dtype, copy=False)


def _write_cuts(layout, j, of_bin, out):
    """Sums over the cuts of feature j, from those over its bins."""
    out[:, layout.cuts_of(j)] = layout.sums_of_cuts(j, of_bin.astype(np.float64))


def _kind_of(n_rows, counts):
    """Numbers that hold the sums, of as few bytes as possible: chunks are sent to be added."""
    if not counts:
        return np.dtype(np.float64)
    return np.dtype(np.int32 if n_rows < 2**31 else np.int64)
