"""The sums over rows with no cut, one and two: all that boosting by stumps needs of the rows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import CutSums, cut_sums
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout

__all__ = ["RowsInBins", "StumpSums"]

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
        pairs = _Pairs(layout, n_groups)
        tables, total = np.zeros(pairs.stops[-1], np.int32), None
        no_weights = np.zeros((n_groups, layout.n_cuts))
        with np.errstate(over="ignore", invalid="ignore"):
            for codes, y, weight, folds in blocks:
                sums = cut_sums(
                    codes,
                    layout,
                    y,
                    sample_weight=weight,
                    folds=folds,
                    n_folds=n_groups,
                    left_weight=None if pairs.n == 0 else no_weights,
                )
                total = sums if total is None else total + sums
                tables = tables.astype(_kind_of(total, weight is None), copy=False)
                pairs.add(codes, weight, folds, tables)
        assert total is not None
        if pairs.n:
            total = replace(total, left_weight=pairs.left_weight(tables))
        return cls(total, tables, layout)

    def __add__(self, other: "StumpSums") -> "StumpSums":
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.sums + other.sums
            kind = _kind_of(sums, np.result_type(self.tables, other.tables).kind == "i")
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
        self.n = len(first)
        self.stops = np.concatenate([[0], np.cumsum(n_groups * n_bins[first] * n_bins[second])])
        self.first, self.second = self.used[first], self.used[second]

    def split(self, tables):
        """The features of each pair, and their table of shape (k, B_i, B_j)."""
        n_bins = self.layout.n_bins
        for number, (i, j) in enumerate(zip(self.first.tolist(), self.second.tolist())):
            table = tables[self.stops[number] : self.stops[number + 1]]
            yield (i, j), table.reshape(self.n_groups, n_bins[i], n_bins[j])

    def add(self, codes, weight, folds, tables):
        """Count some rows."""
        n_bins, stop = self.layout.n_bins, 0
        for number, i in enumerate(self.used[:-1]):
            others = self.used[number + 1 :]
            start, stop = stop, stop + len(others)
            cells = codes[:, i].astype(np.uint32)
            if folds is not None:
                cells += folds.astype(np.uint32) * np.uint32(n_bins[i])
            starts = self.stops[start : stop + 1] - self.stops[start]
            part = tables[self.stops[start] : self.stops[stop]]
            if uses_numba():
                from sklearn_ensemble_theory._hot_loops.table_loops import add_counts, add_weights

                if weight is None:
                    add_counts(cells, codes.T, others, n_bins[others], starts, part)
                else:
                    add_weights(cells, codes.T, others, n_bins[others], weight, starts, part)
                continue
            for k, j in enumerate(others):
                both = cells.astype(np.intp) * n_bins[j] + codes[:, j]
                table = part[starts[k] : starts[k + 1]]
                table += np.bincount(both, weight, len(table)).astype(part.dtype, copy=False)

    def left_weight(self, tables):
        """w'L by fold, from the first table of each feature."""
        found = np.zeros((self.n_groups, self.layout.n_cuts))
        seen = set()
        for (i, j), table in self.split(tables):
            for feature, axis in ((i, 2), (j, 1)):
                if feature not in seen:
                    seen.add(feature)
                    of_bin = table.sum(axis=axis).astype(np.float64)
                    found[:, self.layout.cuts_of(feature)] = self.layout.sums_of_cuts(
                        feature, of_bin
                    )
        return found


def _kind_of(sums, counts):
    """Numbers that hold the sums, of as few bytes as possible: chunks are sent to be added."""
    if not counts:
        return np.dtype(np.float64)
    return np.dtype(np.int32 if sums.weight.sum() < 2**31 else np.int64)
