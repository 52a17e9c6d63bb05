"""The sums over rows with no cut, one and two: all that boosting by stumps needs of the rows."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import CutSums, cut_sums
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout

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
