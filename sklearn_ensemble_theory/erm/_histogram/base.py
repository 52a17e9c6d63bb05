"""The fit of histograms: the box, the number of bins, and the cells, in one call or in several."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._data.validation import validate_data
from sklearn_ensemble_theory._numerics.scaling import power_of_two
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.erm._histogram.cell_index import (
    CellIndex,
    bin_numbers,
    edges_of_box,
)

# Numbers of bins times numbers of features; the edges take 1 GB.
MOST_EDGES = 2**27


@dataclass
class _WeightSums:
    """Sums of the weights so far, in units of a power of 2, so that they do not overflow."""

    unit: float
    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, weight: np.ndarray) -> tuple["_WeightSums", np.ndarray]:
        """The sums with these weights, and the weights in their units.

        Raises
        ------
        ValueError
            If the weights are too large for the units of the first call.
        """
        with np.errstate(over="ignore", under="ignore"):
            weight = np.maximum(weight / self.unit, np.finfo(np.float64).tiny)
            squares = self.squares + float(weight @ weight)
        if not math.isfinite(squares):
            raise ValueError(
                "sample_weight must not be more than 1e150 times as large as in the first call."
            )
        total = self.total + float(weight.sum())
        return _WeightSums(self.unit, self.n + len(weight), total, squares), weight

    @property
    def effective_n(self) -> float:
        return self.total**2 / self.squares


class BaseHistogram(BaseEstimator):
    """The partition of a box into cells, and what is learned in each cell."""

    _parameter_constraints: ClassVar[dict] = {
        "n_bins": [Interval(Integral, 1, None, closed="left"), StrOptions({"rate"})],
        "box": ["array-like", None],
    }

    def __init__(
        self, n_bins: int | Literal["rate"] = "rate", *, box: ArrayLike | None = None
    ) -> None:
        self.n_bins = n_bins
        self.box = box

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cells_")

    def _learn(
        self,
        X: np.ndarray,
        target: np.ndarray,
        sample_weight: ArrayLike | None,
        *,
        first: bool,
        table_of: Callable[..., Any],
    ) -> Any:
        """Add validated rows to the cells, and return their table; `first` begins again.

        ``table_of(cell, n_cells, target, weight)`` is the table of rows in these cells.
        """
        kept = rows_of_positive_weight(sample_weight, X, as_given=True)
        X, target = kept.take(X, target)
        weights = _WeightSums(power_of_two(kept.weight.max())) if first else self._weights
        weights, weight = weights.add(kept.weight)
        if first:
            low, high = self._box_of(X)
            n_bins = self._n_bins_of(weights.effective_n, X.shape[1])
            if n_bins * X.shape[1] > MOST_EDGES:
                raise ValueError(
                    f"n_bins={n_bins} for {X.shape[1]} features makes more than {MOST_EDGES:,} "
                    "bins; use fewer."
                )
            edges = edges_of_box(low, high, n_bins)
        else:
            n_bins, edges = self.n_bins_, self.bin_edges_

        numbers = bin_numbers(X, edges)
        if first:
            index, cell = CellIndex.of(numbers, n_bins)
            cells = _cells(numbers, cell, index.n_cells)
            table = table_of(cell, index.n_cells, target, weight)
        else:
            index, cells, table = self._index, self.cells_, self._cell_table
            cell = index.find(numbers)
            if cell.min() < 0:
                both = np.concatenate([cells, np.asarray(numbers[cell < 0], cells.dtype)])
                index, position = CellIndex.of(both, n_bins)
                table = table.renumbered(position[: len(cells)], index.n_cells)
                cells = _cells(both, position, index.n_cells)
                cell = index.find(numbers)
            table = table.plus(table_of(cell, index.n_cells, target, weight))

        self.n_bins_, self.bin_edges_, self.cells_ = n_bins, edges, cells
        self._index, self._cell_table, self._weights = index, table, weights
        self.n_samples_seen_, self.effective_n_samples_ = weights.n, weights.effective_n
        self.cell_shares_ = table.weight / table.weight.sum()
        return table

    def _box_of(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper ends of the box, in double precision."""
        if self.box is None:
            return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        p = X.shape[1]
        try:
            box = check_array(self.box, dtype=np.float64, ensure_2d=False, input_name="box")
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"box must have finite numbers: {error}") from None
        if box.shape not in ((2,), (p, 2)):
            raise ValueError(
                f"box must have the shape (2,), or ({p}, 2) for X with {p} features, got the "
                f"shape {box.shape}."
            )
        low, high = np.broadcast_to(box, (p, 2)).T
        if not (low < high).all():
            raise ValueError("box must have lower ends that are less than the upper ends.")
        return low.copy(), high.copy()

    def _n_bins_of(self, n: float, p: int) -> int:
        """The number m of bins of each feature."""
        if self.n_bins != "rate":
            return int(self.n_bins)
        # The power is correct to rounding only: 1000^(1/3) is 9.999...
        m = max(1, math.floor(n ** (1 / (p + 1))) - 1)
        # From 2^64 on, any n is less.
        while m ** min(p + 1, 64) < n * (1 - 1e-12):
            m += 1
        return m

    def _cell_of(self, X: ArrayLike) -> np.ndarray:
        """The position in `cells_` of each row's cell, or -1."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._index.find(bin_numbers(X, self.bin_edges_))

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Find the cell of each row.

        O(p log n_bins + log n_cells) operations a row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        cell : ndarray of shape (n_samples,)
            Position of the cell in `cells_`, or -1 for a cell without training rows.
        """
        return self._cell_of(X)


def _cells(numbers: np.ndarray, cell: np.ndarray, n_cells: int) -> np.ndarray:
    """The bin numbers of each cell."""
    row = np.empty(n_cells, dtype=np.intp)
    row[cell] = np.arange(len(cell))
    return np.ascontiguousarray(numbers[row])
