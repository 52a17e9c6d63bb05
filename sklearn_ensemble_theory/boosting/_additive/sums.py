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
features are ordered. P is the number of cuts, m_j that of feature j; k is the number of folds.

Least squares on residuals r of mean zero by a stump with a given cut is a regression on one column,
the indicator L of the cut, centred and scaled to length 1; where the feature has missing values, a
threshold separates the present values only, and is 0 for missing ones:

    z = s (L - a),     a = w'L / w'1,   s = 1 / sqrt(w'1 a (1 - a));
    z = s (L - a V),   a = w'L / w'V,   s = 1 / sqrt(w'V a (1 - a)).

The effect of a missing value is therefore that of no value, and the cut V alone separates them from
the others. Every z has mean zero over the training rows.

Rounds of boosting need ``z'Wr`` for every cut and nothing else of the rows. `TableState` changes
these products by rows of the Gram matrix ``Z'WZ``: O(P) a step for P cuts, whatever the number of
rows. `RowState` sums the residuals of n rows again in all bins, O(n p + P): with few rows and many
cuts that is less, and no products of cuts are counted or kept.
"""

import copy
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..._native.additive import (
    RowResiduals,
    TableResiduals,
    add_stump_sums,
    add_tables,
    count_cut,
    cumulate_tables,
    scale_cut_products,
    tabulate_cuts,
)
from .._dictionary import RowCache

# Rows whose combined bins are counted at a time: the codes stay in cache, the table is small.
_BLOCK_ROWS = 2**15
# Rough costs, in nanoseconds, that decide between counting a cut and counting its feature: for each
# row and other feature of either, for each product of two cuts in a fold (counted and scaled), and
# for the calls that count a cut.
_ROW_OF_CUT, _ROW_OF_TABLE, _CELL, _CALLS = 0.5, 0.5, 8, 2e4

# Of codes, targets, weights or None, and folds or None, each of n rows.
RowsInBins = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]


class CutLayout:
    """Which cuts there are: a feature of B bins has B - 1, numbered consecutively.

    Features that have a bin for missing values, their last one, are `missing`; categorical ones
    are.

    - offsets: the cuts of feature j are ``offsets[j]``, ..., ``offsets[j + 1] - 1``; as slices,
      `spans`.
    - feature: of each cut.
    - starts_of_tables: where the table of each feature begins, of B values, in an array of them
      all.
    - valid_cut: for each cut of an ordered feature with missing values, other than V, the number of
      V; -1 for all other cuts.
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
        self.starts_of_tables = self.offsets + np.arange(len(self.offsets))
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

    A table (n_first, B) for each of `others`, in a flat array. `block_rows` are read at a time:
    their codes stay in cache while they are counted for one column after the other.
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
    rows and many bins most of such a table is empty. So the first cuts of a feature that are needed
    are counted one by one, and once that has cost as much as the whole feature would have, the
    whole feature is counted. This costs at most about twice as much as the cheaper way. The sums of
    `max_cuts` are kept; the group used least recently is dropped first.
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
        # Of few rows a single cut is counted again for each model, which costs less than to keep
        # its products by fold.
        self.keeps_cuts = _ROW_OF_CUT * n_rows * p > cell
        one_cut = _CALLS + _ROW_OF_CUT * n_rows * p + (cell if self.keeps_cuts else 0)
        patience = (_ROW_OF_TABLE * n_rows * p + m * cell) / one_cut
        # The best categories differ from round to round: all of them are needed.
        patience = np.where(layout.categorical, 0, patience)
        self.patience = np.where(m > self.max_cuts, np.inf, patience)
        self.used = np.flatnonzero(m)
        self.n_single = np.zeros(p, dtype=np.intp)
        self.blocks: OrderedDict[int, np.ndarray] = OrderedDict()
        self.totals: dict[int, np.ndarray] = {}
        self.folds_16: np.ndarray | None = None
        self.groups: dict[int | None, tuple[np.ndarray | None, np.ndarray]] = {}

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

    def products(self, group: int, fold: int | None) -> list[np.ndarray]:
        """L'WL* of the g cuts of a group with all cuts, (g, P).

        Over all rows, and those of a fold if there is one.
        """
        if group < self.layout.n_cuts and not self.keeps_cuts:
            if fold not in self.groups:
                self.groups[fold] = self._train_and_held(fold)
            counted = self._count_cut(group, *self.groups[fold])
            return [counted.sum(axis=0, keepdims=True), *counted[1:, None]]
        total = self.total(group)
        return [total] if fold is None else [total, self.block(group)[fold]]

    def _train_and_held(self, fold: int | None) -> tuple[np.ndarray | None, np.ndarray]:
        """Which rows are in a fold, and w'L of the others and of these."""
        if fold is None:
            return None, self.left_weight.sum(axis=0, keepdims=True)
        assert self.folds is not None
        of_others = np.delete(self.left_weight, fold, axis=0).sum(axis=0)
        is_held = (self.folds == fold).astype(np.uint16)
        return is_held, np.array([of_others, self.left_weight[fold]])

    def block(self, group: int) -> np.ndarray:
        """L'WL* of the g cuts of a group with all cuts: (k, g, P). O(n p) the first time."""
        if group in self.blocks:
            self.blocks.move_to_end(group)
            return self.blocks[group]
        n_cuts = self.layout.n_cuts
        if group < n_cuts:
            if self.folds is not None and self.folds_16 is None:
                self.folds_16 = self.folds.astype(np.uint16)
            block = self._count_cut(group, self.folds_16, self.left_weight)[:, None]
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

    def _count_cut(self, k: int, group: np.ndarray | None, left_weight: np.ndarray) -> np.ndarray:
        """Count the products of a single cut by groups of rows: (k, P)."""
        layout = self.layout
        j, sums = int(layout.feature[k]), np.empty_like(left_weight)
        rows = self.codes.T, j, k - int(layout.offsets[j]), group, self.sample_weight
        count_cut(*rows, layout.offsets, layout.categorical, left_weight, sums)
        return sums


class StoredGram:
    """The sums with two cuts that were accumulated before: an array of shape (k, P, P)."""

    def __init__(self, gram: np.ndarray, layout: CutLayout) -> None:
        self.gram, self.layout = gram, layout

    def group_for(self, cut: int) -> int:
        return self.layout.n_cuts + int(self.layout.feature[cut])

    def block(self, group: int) -> np.ndarray:
        return self.gram[:, self.layout.cuts_of(group)]

    def products(self, group: int, fold: int | None) -> list[np.ndarray]:
        block = self.block(group)
        total = block.sum(axis=0)
        return [total] if fold is None else [total, block[fold]]


# --- all sums at once, of rows that are read a few at a time --------------------------------------


@dataclass
class StumpSums:
    """The sums over rows from which the model is fitted without the rows.

    `tables` has the weight of the rows by fold and by the bins of two features, for one pair of
    features after the other; integers where all weights are 1.
    """

    sums: CutSums
    tables: np.ndarray
    layout: CutLayout

    @classmethod
    def of(cls, blocks: Iterable[RowsInBins], layout: CutLayout, n_groups: int) -> "StumpSums":
        """The sums over rows in bins, with n_groups folds (1 for none); O(n p^2).

        So few rows should be in each block that their codes stay in cache; weights in all or in
        none.
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


# --- cuts as columns: centred and scaled ----------------------------------------------------------

# A cut that leaves less than this share of the weight on one side is ignored: its correlations
# would be rounding errors.
_MIN_SHARE = 1e-12
# Cuts that separate the same rows, in two features, tie in every round, and rounding would choose
# among them. So that the first is taken, the correlation of each cut is multiplied by a little less
# than that of the cut before it; over all cuts the factor falls by this share.
_TIE = 1e-10

Tables = Sequence[np.ndarray | None]  # of each feature: its value in each bin, None for 0


class NormalizedCuts:
    """The columns z over one training set, and their products, from the sums over its rows.

    - fold: the fold held out; None trains on all rows.
    - known: those of another target with the same weights.
    - products: z'W(y - mean) over the training rows, (P,); then, if a fold is held out, over its
      rows.
    - preference: 1, 1 - tie, 1 - 2 tie, ...: the factors by which the first of equal cuts is
      preferred.
    - fitted_weight: of the training rows of a split that is no fold.
    """

    fitted_weight: float | None = None

    def __init__(
        self,
        sums: CutSums,
        gram: CountedGram | StoredGram,
        fold: int | None = None,
        known: "NormalizedCuts | None" = None,
    ) -> None:
        train, held = sums.split(fold)
        if known is None:
            self.gram, self.layout, self.fold = gram, gram.layout, fold
            self._set_columns(train)
        else:
            vars(self).update(vars(known))
        self.mean = train.y / train.weight
        self.squares = max(train.yy - train.y * self.mean, 0.0)
        self.products = self.scale * (self._sums_of_columns(train.left_y) - self.share * train.y)
        if held is not None:
            if known is None:
                self.held_weight, self.held_raw = held.weight, held.left_weight
                self.held_left = self._sums_of_columns(self.held_raw)
            # The same columns, and the same mean of y, over rows that have not made them.
            held_products = self.scale * (
                self._sums_of_columns(held.left_y)
                - self.share * held.y
                - self.mean * (self.held_left - self.share * held.weight)
            )
            self.products = np.concatenate([self.products, held_products])
            self.held_squares = held.yy - 2 * self.mean * held.y + self.mean**2 * held.weight

    def _set_columns(self, train: CutSums) -> None:
        self.n_cuts = self.layout.n_cuts
        self.preference = 1 - _TIE * np.arange(self.n_cuts) / max(self.n_cuts, 1)
        self.valid_cut = self.layout.valid_cut
        self.weight, self.raw_left = train.weight, train.left_weight
        left, total, of_valid = self.raw_left, train.weight, 1.0
        present = self.valid_cut >= 0
        self.has_present = bool(present.any())
        if self.has_present:
            of_valid = left[self.valid_cut]
            total = np.where(present, of_valid, train.weight)
        # The share among the present values, 0 for cuts that also separate the missing ones.
        self.valid_share = np.where(present, left / np.where(of_valid > 0, of_valid, 1.0), 0.0)
        right = total - left
        product = left * right
        # the weight of a fold may be too small for products
        valid = (np.minimum(left, right) > _MIN_SHARE * train.weight) & (product > 0)
        product = np.where(valid, product, 1.0)
        self.scale = np.where(valid, np.sqrt(np.where(valid, total, 1.0) / product), 0.0)
        self.left_weight = np.where(present, 0.0, left)  # w'u, where z = s (u - share)
        self.share = self.left_weight / train.weight

    def _sums_of_columns(self, sums: np.ndarray) -> np.ndarray:
        """Sums with u = L - a V, from those with L."""
        return sums - self.valid_share * sums[self.valid_cut] if self.has_present else sums

    def without_products(self) -> "NormalizedCuts":
        """Keep only what makes tables of coefficients, for rounds that are over."""
        kept = copy.copy(self)
        for name in ("gram", "products", "preference", "held_left", "held_raw"):
            vars(kept).pop(name, None)
        return kept

    def rows(self, group: int) -> np.ndarray:
        """Multiply the z of a group of cuts with every z: training rows, then held-out ones."""
        cuts, n_all = self.layout.cuts_of(group), self.n_cuts
        total, *of_fold = self._products_of_indicators(group)
        out = np.empty((len(total), n_all if self.fold is None else 2 * n_all))
        held, held_weight, held_left = None, 0.0, None
        if self.fold is not None:
            held = np.ascontiguousarray(of_fold[0])
            held_weight, held_left = self.held_weight, self.held_left
        left, scale = self.left_weight, self.scale
        given = total, held, self.weight, held_weight, left, scale, held_left, cuts.start
        scale_cut_products(*given, out)
        return out

    def _products_of_indicators(self, group):
        """u'Wu* of the cuts of a group with all cuts, (g, P): all rows, then those of the fold."""
        # u = L - a V for thresholds of features with missing values, on both sides of the product.
        blocks = self.gram.products(group, self.fold)
        if not self.has_present:
            return blocks
        cuts = self.layout.cuts_of(group)
        valid = self.valid_cut[cuts]
        if (valid >= 0).any():
            own, first, of_all = int(valid.max()), cuts.start, blocks
            if not cuts.start <= own < cuts.stop:
                other = self.gram.group_for(own)
                first, of_all = (
                    self.layout.cuts_of(other).start,
                    self.gram.products(other, self.fold),
                )
            share = self.valid_share[cuts, None]
            blocks = [
                block - share * of_valid[own - first] for block, of_valid in zip(blocks, of_all)
            ]
        columns = np.flatnonzero(self.valid_cut >= 0)
        corrected = [block.copy() for block in blocks]
        for block, given in zip(corrected, blocks):
            block[:, columns] -= self.valid_share[columns] * given[:, self.valid_cut[columns]]
        return corrected

    def tables(self, coefficients: np.ndarray) -> list[np.ndarray | None]:
        """Tabulate sum_k coefficients[k] z_k, of mean 0 over the training rows."""
        moved = np.zeros(len(self.layout.spans), dtype=bool)
        moved[self.layout.feature[coefficients != 0]] = True
        tables = self.values_in_bins(coefficients)
        return [
            tables[span.start + j : span.stop + j + 1] if moved[j] else None
            for j, span in enumerate(self.layout.spans)
        ]

    def values_in_bins(self, coefficients: np.ndarray) -> np.ndarray:
        """Tabulate all features, one after the other."""
        tables = np.empty(self.n_cuts + len(self.layout.spans))
        tabulate_cuts(coefficients, *self.columns, tables)
        return tables

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """What makes a table of the coefficients of columns."""
        layout = self.layout
        of_features = layout.offsets, layout.categorical, layout.missing
        return self.scale, self.share, self.valid_share, *of_features

    def coefficients_of(self, tables: Tables) -> np.ndarray:
        """Find the coefficients of the z of which `tables` are the sum, up to constants."""
        jumps = np.zeros(self.n_cuts)
        for j, table in enumerate(tables):
            if table is None or len(table) < 2:
                continue
            cuts = self.layout.spans[j]
            if self.layout.categorical[j]:
                jumps[cuts] = table[:-1] - table[-1]
                continue
            jumps[cuts] = table[:-1] - table[1:]
            if self.layout.missing[j]:
                last = cuts.stop - 1
                share = self.valid_share[cuts.start : last]
                jumps[last] = table[-2] + jumps[cuts.start : last] @ share - table[-1]
        positive = self.scale > 0
        return np.where(positive, jumps / np.where(positive, self.scale, 1.0), 0.0)


class TableState:
    """The residuals of one model, as their products with all cuts.

    - max_cuts: of how many cuts the rows of products are kept.
    - tables: the functions that the model has already.
    - rows: of products, where another state has computed them with the same weights.
    - values: z'Wr for every cut over the training rows, times `cuts.preference`; then, if a fold is
      held out, z'Wr over its rows. It is changed in place only, by `residuals`, which subtracts
      steps.
    - start_squares, start_held: the sums of squares of the residuals over the training rows and
      over the held-out ones.
    """

    def __init__(
        self,
        cuts: NormalizedCuts,
        max_cuts: int | None = None,
        tables: Tables | None = None,
        rows: "CutRows | None" = None,
    ) -> None:
        self.cuts = cuts
        self.n_cuts = n_cuts = cuts.n_cuts
        self.values = cuts.products.copy()
        self.values[:n_cuts] *= cuts.preference
        self.rows = CutRows(cuts, max_cuts) if rows is None else rows
        given = self.values, cuts.layout.offsets, self.rows.of_cut, self.rows.of_feature
        self.residuals = TableResiduals(*given)
        self.has_held = cuts.fold is not None
        self.start_squares = cuts.squares
        self.start_held = cuts.held_squares if self.has_held else 0.0
        if tables is None:
            return
        # The model's own functions are subtracted, each as a sum of columns.
        coefficients = cuts.coefficients_of(tables)
        correlations = self.values[:n_cuts] / cuts.preference
        held, before = self.values[n_cuts:].copy(), self.values.copy()
        for j, span in enumerate(cuts.layout.spans):
            if coefficients[span].any():
                self.values -= coefficients[span] @ self.rows.of_feature(j)
        moved = (before - self.values)[:n_cuts] / cuts.preference
        # |r - Zb|^2 = |r|^2 - 2 b'c + b'Qb
        self.start_squares += coefficients @ moved - 2 * coefficients @ correlations
        if self.has_held:
            moved = (before - self.values)[n_cuts:]
            self.start_held += coefficients @ moved - 2 * coefficients @ held


class CutRows(RowCache):
    """`NormalizedCuts.rows` by cut: products over the training rows, then the held-out ones."""

    def __init__(self, cuts: NormalizedCuts, max_cuts: int | None) -> None:
        super().__init__(cuts.n_cuts, max_cuts)
        self.cuts = cuts
        self.of_group: dict[int, np.ndarray] = {}

    def load(self, k: int, recent: Sequence[int] = ()) -> np.ndarray:
        """Compute the row of cut k with its group; `recent` are the cuts of the rounds before."""
        self._load_group(self.cuts.gram.group_for(k), recent)
        return self.views[k]

    def of_cut(self, k: int) -> np.ndarray:
        row = self.views[k]
        return self.load(k) if row is None else row

    def of_feature(self, j: int) -> np.ndarray:
        """The rows of all cuts of feature j: (m_j, P) or (m_j, 2 P)."""
        group = self.cuts.n_cuts + j
        if group not in self.groups:
            self._load_group(group)
        return self.of_group[group]

    def _load_group(self, group, recent=()):
        # The values of a state have these factors, and so must what is subtracted from them.
        rows = self.cuts.rows(group)
        rows[:, : self.cuts.n_cuts] *= self.cuts.preference
        cuts = self.cuts.layout.cuts_of(group)
        self.make_room(len(rows), recent)
        for number in [g for g in self.of_group if g not in self.groups]:
            del self.of_group[number]
        self.keep(group, range(cuts.start, cuts.stop), rows)
        self.of_group[group] = rows


class RowState:
    """The residuals of one model at the rows; the interface of `TableState`.

    `codes` (n, p) are in Fortran order. `residual` has weighted mean 0 over the training rows and
    is changed in place. The rows of the fold that is held out are `is_held`.
    """

    def __init__(
        self,
        cuts: NormalizedCuts,
        codes: np.ndarray,
        residual: np.ndarray,
        weight: np.ndarray | None,
        is_held: np.ndarray | None,
    ) -> None:
        self.cuts, self.n_cuts = cuts, cuts.n_cuts
        self.has_held = is_held is not None
        n = len(residual)
        weight = np.ones(n) if weight is None else weight
        group = np.zeros(n, np.uint8) if is_held is None else is_held.astype(np.uint8)
        squares = np.bincount(group, weight * residual**2, minlength=2)
        self.start_squares, self.start_held = float(squares[0]), float(squares[1])
        self.values = np.empty(self.n_cuts * (1 + self.has_held))
        scale, share, valid_share, offsets, *of_features = cuts.columns
        given = self.values, offsets, codes.T, residual, weight, group, cuts.preference
        self.residuals = RowResiduals(*given, scale, share, valid_share, *of_features)
