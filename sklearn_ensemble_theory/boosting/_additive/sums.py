"""Sums over binned rows with no cut, one and two: all that boosting by stumps needs of the rows.

A *cut* of an ordered feature is a threshold c; its indicator L is 1 where the feature's bin is at
or below c. If the feature has a bin for missing values, that is its last bin, and its last cut V is
the indicator of the values that are present. A *cut* of a categorical feature is one of its
categories, with the indicator of that category; the last bin, of missing and unseen values, has
none.

With weights w and targets y the sums are, for each cut and each pair of cuts,

    w'L,   L'Wy,   L'WL*        (and w'1, w'y, y'Wy)

All of them are kept fold by fold: those of a training set are the total minus those of the fold
held out, so that k folds cost no more passes than none. A pair of features needs one pass over the
rows for its products L'WL*: a count of their combined bins, cumulated in both directions where the
features are ordered.

P is the number of cuts, m_j that of feature j; k is the number of folds.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sklearn_ensemble_theory._native.additive import add_stump_sums, add_tables, cumulate_tables

# Rows whose combined bins are counted at a time: the codes stay in cache, the table is small.
_BLOCK_ROWS = 2**15
# Rough costs, in nanoseconds, that decide between counting a cut and counting its feature: for each
# row and other feature of either, for each product of two cuts in a fold (counted and scaled), and
# for the calls that count a cut.
_ROW_OF_CUT, _ROW_OF_TABLE, _CELL, _CALLS = 1, 0.5, 4, 1e5

# Of codes, targets, weights or None, and folds or None, each of n rows.
RowsInBins = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]


class CutLayout:
    """Which cuts there are: a feature of B bins has B - 1, numbered consecutively.

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
    n_cuts : int
    offsets : int array of shape (p + 1,)
        The cuts of feature j are ``offsets[j]``, ..., ``offsets[j + 1] - 1``.
    spans : list of p slices
        The same as slices.
    feature : int array of shape (P,)
        The feature of each cut.
    valid_cut : int array of shape (P,)
        For each cut of an ordered feature with missing values, other than V, the number of V;
        -1 for all other cuts.
    """

    def __init__(
        self,
        n_bins: Sequence[int] | np.ndarray,
        missing: np.ndarray | Sequence[bool] | None = None,
        categorical: np.ndarray | Sequence[bool] | None = None,
    ) -> None:
        self.n_bins = np.asarray(n_bins, dtype=np.intp)
        none = np.zeros(len(self.n_bins), dtype=bool)
        self.missing = none if missing is None else np.asarray(missing, bool)
        self.categorical = none if categorical is None else np.asarray(categorical, bool)
        self.offsets = np.concatenate([[0], np.cumsum(self.n_bins - 1)]).astype(np.intp)
        self.n_cuts = int(self.offsets[-1])
        ends = self.offsets.tolist()
        self.spans = [slice(first, last) for first, last in pairwise(ends)]
        self.feature = np.repeat(np.arange(len(self.n_bins)), self.n_bins - 1)
        self.valid_cut = np.full(self.n_cuts, -1, dtype=np.intp)
        for j in np.flatnonzero(self.missing & ~self.categorical):
            last = self.offsets[j + 1] - 1
            self.valid_cut[self.offsets[j] : last] = last

    def cuts_of(self, group: int) -> slice:
        """The cuts whose products are counted together: group k < P is cut k, P + j feature j."""
        return slice(group, group + 1) if group < self.n_cuts else self.spans[group - self.n_cuts]

    def thresholds_of(self, j: int | np.integer) -> slice:
        """The cuts of an ordered feature at its thresholds: all but V."""
        cuts = self.spans[j]
        return slice(cuts.start, cuts.stop - bool(self.missing[j]))

    def sums_of_cuts(self, j: int | np.integer, table: np.ndarray, axis: int = -1) -> np.ndarray:
        """Turn sums over the bins of feature j into those over its cuts, maybe in place."""
        if not self.categorical[j]:
            np.cumsum(table, axis=axis, out=table)
        return table[..., :-1] if axis == -1 else table[..., :-1, :]

    def cumulate(
        self,
        tables: np.ndarray,
        n_rows: int,
        cumulate_rows: bool,
        others: np.ndarray,
        sums: np.ndarray,
    ) -> None:
        """Turn the tables of `count_bins` for `others` into the sums over their cuts, (k, g, P).

        A table has k times n_rows rows, of which g are kept, cumulated or as they are.
        """
        given = tables, n_rows, cumulate_rows, others, self.offsets, self.categorical
        cumulate_tables(*given, sums)

    def products_of_own_cuts(self, j: int | np.integer, left_weight: np.ndarray) -> np.ndarray:
        """L'WL* for two cuts of feature j, from w'L: shape (..., m, m)."""
        number = np.arange(left_weight.shape[-1])
        if self.categorical[j]:
            return left_weight[..., None] * (number[:, None] == number)
        # The rows left of two thresholds are those left of the lower one.
        return left_weight[..., np.minimum.outer(number, number)]


def count_bins(
    first: np.ndarray,
    n_first: int,
    codes: np.ndarray,
    others: np.ndarray,
    n_bins: np.ndarray,
    weight: np.ndarray | None,
    block_rows: int | None = None,
) -> np.ndarray:
    """The weight (None: the number) of rows by `first` and by the bin of each of other columns.

    A table (n_first, B) for each of `others`, one after the other in a flat array. `block_rows` are
    read at a time, so that their codes stay in cache while they are counted for one column after
    the other.
    """
    size = n_first * int(n_bins[others].sum())
    found = np.zeros(size, dtype=np.int64 if weight is None else np.float64)
    first = first.astype(np.uint32, copy=False)
    for start in range(0, len(codes), block_rows or max(len(codes), 1)):
        rows = slice(start, None if block_rows is None else start + block_rows)
        w = None if weight is None else weight[rows]
        add_tables(first[rows], n_first, codes[rows].T, others, n_bins, w, found)
    return found


# --- sums with one cut or none --------------------------------------------------------------------


@dataclass
class CutSums:
    """The sums with one cut or none, fold by fold."""

    weight: np.ndarray  # (k,)
    y: np.ndarray  # (k,)
    yy: np.ndarray  # (k,)
    left_weight: np.ndarray  # (k, P)
    left_y: np.ndarray  # (k, P)

    def __add__(self, other: "CutSums") -> "CutSums":
        pairs = zip(vars(self).values(), vars(other).values())
        return CutSums(*(mine + theirs for mine, theirs in pairs))

    def split(self, fold: int | None) -> tuple["CutSums", "CutSums | None"]:
        """Add up all other folds, and return them and this one; without a fold all rows."""
        arrays = vars(self).values()
        if fold is None:
            return CutSums(*(a.sum(axis=0) for a in arrays)), None
        # The other folds are added: the difference from the sum of all would lose digits.
        others = np.arange(len(self.weight)) != fold
        train = CutSums(*(a[others].sum(axis=0) for a in arrays))
        return train, CutSums(*(a[fold] for a in arrays))

    def bin_weights(self, layout: CutLayout) -> list[np.ndarray]:
        """Recover the weight of the rows of each fold in each bin of each feature: (k, B)."""
        total, none = self.weight[:, None], np.zeros((len(self.weight), 1))
        weights = []
        for j, span in enumerate(layout.spans):
            left = self.left_weight[:, span]
            if layout.categorical[j]:
                weights.append(np.hstack([left, total - left.sum(axis=1, keepdims=True)]))
            else:
                weights.append(np.diff(np.hstack([none, left, total])))
        return [np.maximum(weight, 0.0) for weight in weights]


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
    """Sum n rows in bins; `left_weight` is w'L by fold where it is known."""
    wy = y if sample_weight is None else sample_weight * y
    left_y = np.zeros((n_folds, layout.n_cuts))
    wanted = [(wy, left_y)]
    if left_weight is None:
        left_weight = np.zeros((n_folds, layout.n_cuts))
        wanted.append((sample_weight, left_weight))
    used = np.flatnonzero(layout.n_bins > 1)
    fold = np.zeros(len(codes), np.uint32) if folds is None else folds
    # Each feature is counted by fold and bin, and cumulated over its bins.
    for values, sums in wanted:
        found = count_bins(fold, n_folds, codes, used, layout.n_bins, values)
        layout.cumulate(found, 1, False, used, sums[:, None])

    def per_fold(values):
        if folds is None:
            return np.atleast_1d(len(y) if values is None else values.sum()).astype(float)
        return np.bincount(folds, weights=values, minlength=n_folds).astype(float)

    return CutSums(per_fold(sample_weight), per_fold(wy), per_fold(wy * y), left_weight, left_y)


# --- sums with two cuts, of rows in memory: counted when they are first needed --------------------


class CountedGram:
    """The sums with two cuts, in groups of cuts (`CutLayout.cuts_of`), counted when needed.

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
    max_cuts : int, default=None
        Of how many cuts the sums are kept; the group used least recently is dropped first.
    """

    def __init__(
        self,
        codes: np.ndarray,
        layout: CutLayout,
        left_weight: np.ndarray,
        sample_weight: np.ndarray | None = None,
        folds: np.ndarray | None = None,
        max_cuts: int | None = None,
    ) -> None:
        self.codes, self.layout, self.left_weight = codes, layout, left_weight
        self.sample_weight, self.folds = sample_weight, folds
        self.max_cuts = layout.n_cuts if max_cuts is None else max_cuts
        n_rows, p = codes.shape
        m = layout.n_bins - 1
        cell = _CELL * len(left_weight) * layout.n_cuts
        one_cut = _CALLS + _ROW_OF_CUT * n_rows * p + cell
        patience = (_ROW_OF_TABLE * n_rows * p + m * cell) / one_cut
        # The best categories differ from round to round: all of them are needed.
        patience = np.where(layout.categorical, 0, patience)
        self.patience = np.where(m > self.max_cuts, np.inf, patience)
        self.used = np.flatnonzero(m)
        self.n_single = np.zeros(p, dtype=np.intp)
        self.blocks: OrderedDict[int, np.ndarray] = OrderedDict()
        self.totals: dict[int, np.ndarray] = {}

    def group_for(self, cut: int) -> int:
        """Choose what is counted for the products of `cut`: itself, or its whole feature."""
        j = int(self.layout.feature[cut])
        whole = self.layout.n_cuts + j
        if whole in self.blocks:
            return whole
        if cut not in self.blocks:
            if self.n_single[j] + 1 > self.patience[j]:
                return whole
            self.n_single[j] += 1
        return cut

    def block(self, group: int) -> np.ndarray:
        """L'WL* of the g cuts of a group with all cuts: (k, g, P). O(n p) the first time."""
        if group in self.blocks:
            self.blocks.move_to_end(group)
            return self.blocks[group]
        n_cuts = self.layout.n_cuts
        if group < n_cuts:
            block = self._count_cut(group)
        else:
            block = self._count_feature(group - n_cuts)
            cuts = self.layout.cuts_of(group)
            for cut in range(cuts.start, cuts.stop):
                self.blocks.pop(cut, None)
        # Least recently used groups make room; one group is always kept, however large it is.
        if self.max_cuts < n_cuts:
            n_kept = sum(kept.shape[1] for kept in self.blocks.values())
            while self.blocks and n_kept + block.shape[1] > self.max_cuts:
                n_kept -= self.blocks.popitem(last=False)[1].shape[1]
        self.blocks[group] = block
        return block

    def total(self, group: int) -> np.ndarray:
        """The block of a group summed over the folds: (g, P)."""
        if group not in self.totals or group not in self.blocks:
            for known in [g for g in self.totals if g not in self.blocks]:
                del self.totals[known]
            self.totals[group] = self.block(group).sum(axis=0)
        return self.totals[group]

    def _count_feature(self, j):
        """Count the products of all cuts of a feature, in tables of its and other bins."""
        layout, own = self.layout, self.layout.spans[j]
        n_folds, n_bins, n_cuts = len(self.left_weight), layout.n_bins, layout.n_cuts
        block = np.empty((n_folds, own.stop - own.start, n_cuts))
        block[:, :, own] = layout.products_of_own_cuts(j, self.left_weight[:, own])
        uncounted = []
        for other in self.used:
            if n_cuts + other in self.blocks:  # the Gram matrix is symmetric
                known = self.blocks[n_cuts + other][:, :, own]
                block[:, :, layout.spans[other]] = known.transpose(0, 2, 1)
            elif other != j:
                uncounted.append(other)
        first = self.codes[:, j].astype(np.uint32)
        if self.folds is not None:
            first += self.folds.astype(np.uint32) * np.uint32(n_bins[j])
        others = np.array(uncounted, dtype=np.intp)
        count = first, n_folds * int(n_bins[j]), self.codes, others, n_bins, self.sample_weight
        tables = count_bins(*count, _BLOCK_ROWS)
        layout.cumulate(tables, int(n_bins[j]), not layout.categorical[j], others, block)
        return block

    def _count_cut(self, k):
        """Count the products of a single cut, in the bins of the rows left of it."""
        layout, n_folds = self.layout, len(self.left_weight)
        j = int(layout.feature[k])
        own, code = layout.spans[j], k - layout.offsets[j]
        block, step = np.zeros((n_folds, 1, layout.n_cuts)), _BLOCK_ROWS
        tables = 0
        for start in range(0, len(self.codes), step):
            codes = self.codes[start : start + step].T
            left = np.flatnonzero(codes[j] == code if layout.categorical[j] else codes[j] <= code)
            codes, left = codes.take(left, axis=1).T, left + start
            fold = np.zeros(len(left), np.uint32) if self.folds is None else self.folds[left]
            weight = None if self.sample_weight is None else self.sample_weight[left]
            counted = count_bins(fold, n_folds, codes, self.used, layout.n_bins, weight)
            tables = tables + counted
        layout.cumulate(tables, 1, False, self.used, block)
        # Of one feature the rows left of both are those left of the lower cut: the same sums.
        block[:, :, own] = layout.products_of_own_cuts(j, self.left_weight[:, own])[:, code, None]
        return block


class StoredGram:
    """The sums with two cuts that were accumulated before: an array of shape (k, P, P)."""

    def __init__(self, gram: np.ndarray, layout: CutLayout) -> None:
        self.gram, self.layout = gram, layout

    def group_for(self, cut: int) -> int:
        return self.layout.n_cuts + int(self.layout.feature[cut])

    def block(self, group: int) -> np.ndarray:
        return self.gram[:, self.layout.cuts_of(group)]

    def total(self, group: int) -> np.ndarray:
        return self.block(group).sum(axis=0)


# --- all sums at once, of rows that are read a few at a time --------------------------------------


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
        """The sums over rows in bins, with n_groups folds (1 for none); O(n p^2).

        So few rows should be in each block that their codes stay in the processor's cache; weights
        in all of them or in none.
        """
        pairs, n_bins = _PairsOfFeatures(layout, n_groups), layout.n_bins
        tables, total = np.zeros(pairs.stops[-1], np.int32), None
        sizes = n_groups * n_bins[pairs.used]
        targets, moments = np.zeros(sizes.sum()), np.zeros((3, n_groups))
        n_rows = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for codes, y, weight, folds in blocks:
                n_rows += len(y)
                kind = _kind_of(n_rows, weight is None and tables.dtype.kind == "i")
                tables = tables.astype(kind, copy=False)
                if not len(pairs.first):  # no table has w'L
                    sums = cut_sums(
                        codes, layout, y, sample_weight=weight, folds=folds, n_folds=n_groups
                    )
                    total = sums if total is None else total + sums
                    continue
                fold = None if folds is None else folds.astype(np.uint32, copy=False)
                add_stump_sums(codes.T, n_bins, y, weight, fold, moments, targets, tables)
            if len(pairs.first):
                left_y = np.zeros((n_groups, layout.n_cuts))
                for i, table in zip(pairs.used, np.split(targets, np.cumsum(sizes)[:-1])):
                    own = table.reshape(n_groups, -1)
                    left_y[:, layout.spans[i]] = layout.sums_of_cuts(i, own)
                # w'L from one table of each feature: with the last one, and of that with another.
                left_weight = np.zeros((n_groups, layout.n_cuts))
                for (i, j), table in pairs.split(tables):
                    if j == pairs.used[-1]:
                        for feature, axis in ((i, 2), (j, 1)):
                            own = table.sum(axis=axis).astype(np.float64)
                            left_weight[:, layout.spans[feature]] = layout.sums_of_cuts(
                                feature, own
                            )
                total = CutSums(moments[0], moments[1], moments[2], left_weight, left_y)
        assert total is not None  # there is a block
        return cls(total, tables, layout)

    def __add__(self, other: "StumpSums") -> "StumpSums":
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.sums + other.sums
            counts = np.result_type(self.tables, other.tables).kind == "i"
            kind = _kind_of(sums.weight.sum(), counts)
            return StumpSums(sums, np.add(self.tables, other.tables, dtype=kind), self.layout)

    def moderate(self) -> bool:
        """Tell whether products of two sums are safe from overflow."""
        return all((np.abs(a) < 1e150).all() for a in vars(self.sums).values())

    def gram(self) -> np.ndarray:
        """The sums with two cuts: (k, P, P)."""
        layout, left_weight = self.layout, self.sums.left_weight
        pairs = _PairsOfFeatures(layout, len(left_weight))
        gram = np.empty((len(left_weight), layout.n_cuts, layout.n_cuts))
        with np.errstate(over="ignore", invalid="ignore"):
            for j in pairs.used:
                own = layout.spans[j]
                gram[:, own, own] = layout.products_of_own_cuts(j, left_weight[:, own])
            for (i, j), table in pairs.split(self.tables):
                one, other = layout.spans[i], layout.spans[j]
                table = layout.sums_of_cuts(i, table.astype(np.float64), axis=-2)
                table = layout.sums_of_cuts(j, table)
                gram[:, one, other] = table
                gram[:, other, one] = np.swapaxes(table, 1, 2)
        return gram


class _PairsOfFeatures:
    """Where the table of each pair of features is, in one array of them all."""

    def __init__(self, layout: CutLayout, n_groups: int) -> None:
        self.layout, self.n_groups = layout, n_groups
        self.used = np.flatnonzero(layout.n_bins > 1)
        n_bins = layout.n_bins[self.used]
        first, second = np.triu_indices(len(self.used), 1)
        self.stops = np.concatenate([[0], np.cumsum(n_groups * n_bins[first] * n_bins[second])])
        self.first, self.second = self.used[first], self.used[second]

    def split(self, tables: np.ndarray) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
        """Yield the features of each pair, and their table of shape (k, B_i, B_j)."""
        n_bins = self.layout.n_bins
        for number, (i, j) in enumerate(zip(self.first.tolist(), self.second.tolist())):
            table = tables[self.stops[number] : self.stops[number + 1]]
            yield (i, j), table.reshape(self.n_groups, n_bins[i], n_bins[j])


def _kind_of(n_rows: float, counts: bool) -> np.dtype:
    """Choose numbers that hold the sums, of few bytes: chunks are sent to be added."""
    if not counts:
        return np.dtype(np.float64)
    return np.dtype(np.int32 if n_rows < 2**31 else np.int64)
