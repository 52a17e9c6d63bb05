"""The cells of some rows with their tables, which add up, and the box that rows in chunks have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory.erm._histogram.cell_index import CellIndex, bin_numbers


@dataclass(frozen=True)
class WeightSums:
    """The number of rows, the sum of their weights and that of the squares."""

    n: int
    total: float
    squares: float

    @classmethod
    def of(cls, weight: np.ndarray) -> "WeightSums":
        return cls(len(weight), float(weight.sum()), float(weight @ weight))

    def __add__(self, other: "WeightSums") -> "WeightSums":
        return WeightSums(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def effective_n(self) -> float:
        return self.total**2 / self.squares


@dataclass
class CellSums:
    """What is known of the cells that hold rows.

    Attributes
    ----------
    cells : int array of shape (n_cells, p)
        The bin numbers of each cell, in lexicographic order.
    table : ClassTable or MeanTable
    n_bins : int
    weights : WeightSums
    target_ndim : int
    """

    cells: np.ndarray
    table: Any
    n_bins: int
    weights: WeightSums
    target_ndim: int

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
        edges: np.ndarray,
        table_of: Callable[..., Any],
    ) -> "CellSums":
        """Of some rows, with `table_of(cell, n_cells, target, weight)`; O(n p log m + n log n)."""
        numbers, n_bins = bin_numbers(X, edges), edges.shape[1] - 1
        index, cell = CellIndex.of(numbers, n_bins)
        table = table_of(cell, index.n_cells, target, weight)
        cells = _cells(numbers, cell, index.n_cells)
        return cls(cells, table, n_bins, WeightSums.of(weight), target.ndim)

    def __add__(self, other: "CellSums") -> "CellSums":
        weights = self.weights + other.weights
        both = np.concatenate([self.cells, other.cells])
        index, place = CellIndex.of(both, self.n_bins)
        n, first = index.n_cells, len(self.cells)
        table = self.table.renumbered(place[:first], n)
        table = table.plus(other.table.renumbered(place[first:], n))
        return CellSums(_cells(both, place, n), table, self.n_bins, weights, self.target_ndim)


def _cells(numbers: np.ndarray, cell: np.ndarray, n_cells: int) -> np.ndarray:
    """The bin numbers of each cell."""
    row = np.empty(n_cells, dtype=np.intp)
    row[cell] = np.arange(len(cell))
    return np.ascontiguousarray(numbers[row])


@dataclass
class RowRange:
    """What a first pass over chunks finds.

    Attributes
    ----------
    low, high : arrays of shape (p,)
    weights : WeightSums
    classes : array
        The distinct labels of a classifier; otherwise empty.
    """

    low: np.ndarray
    high: np.ndarray
    weights: WeightSums
    classes: np.ndarray

    @classmethod
    def of(cls, chunk: Rows, labels_of: Callable[..., Any] | None) -> "RowRange":
        classes = chunk.y[:0].ravel() if labels_of is None else labels_of(chunk.y)
        low, high = chunk.X.min(axis=0), chunk.X.max(axis=0)
        return cls(low, high, WeightSums.of(_weight(chunk)), classes)

    def __add__(self, other: "RowRange") -> "RowRange":
        return RowRange(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.weights + other.weights,
            np.union1d(self.classes, other.classes),
        )


def distinct_labels(y: np.ndarray) -> np.ndarray:
    """The distinct labels."""
    check_classification_targets(y)
    return np.unique(y)


def _weight(chunk: Rows) -> np.ndarray:
    return np.ones(len(chunk.X)) if chunk.weight is None else chunk.weight


def cells_of_chunk(chunk: Rows, edges: np.ndarray, table_of: Callable[..., Any]) -> CellSums:
    """The cells of one chunk."""
    return CellSums.of(chunk.X, chunk.y, _weight(chunk), edges, table_of)
