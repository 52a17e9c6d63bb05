"""The fit of histograms: the box, the number of bins, and the cells, in one call or in several."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._rows import ChunkedRows, rows_of_positive_weight, validate_data
from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory.erm._histogram.cell_index import (
    CellIndex,
    bin_numbers,
    edges_of_box,
)
from sklearn_ensemble_theory.erm._histogram.cell_sums import (
    CellSums,
    RowRange,
    WeightSums,
    cells_of_chunk,
    distinct_labels,
)

# Numbers of bins times numbers of features; the edges take 1 GB.
MOST_EDGES = 2**27


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
        unit = power_of_two(kept.weight.max()) if first else self._weight_unit
        with np.errstate(over="ignore", under="ignore"):
            weight = np.maximum(kept.weight / unit, np.finfo(np.float64).tiny)
            squares = float(weight @ weight) + (0.0 if first else self._cell_sums.weights.squares)
        if not math.isfinite(squares):
            raise ValueError(
                "sample_weight must not be more than 1e150 times as large as in the first call."
            )
        if first:
            low, high = self._box_of(X.min(axis=0), X.max(axis=0))
            edges = self._edges_of(low, high, WeightSums.of(weight).effective_n)
        else:
            edges = self.bin_edges_
        sums = CellSums.of(X, target, weight, edges, table_of)
        return self._store(sums if first else self._cell_sums + sums, edges, unit)

    def _store(self, sums: CellSums, edges: np.ndarray, weight_unit: float) -> Any:
        """Set what all histograms know of the cells; their table."""
        self.n_bins_, self.bin_edges_, self.cells_ = sums.n_bins, edges, sums.cells
        self._index, _ = CellIndex.of(sums.cells, sums.n_bins)
        self._cell_sums, self._weight_unit = sums, weight_unit
        self.n_samples_seen_ = sums.weights.n
        self.effective_n_samples_ = sums.weights.effective_n
        self.cell_shares_ = sums.table.weight / sums.table.weight.sum()
        return sums.table

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks: for the box, the number of rows and the labels, if they are not
        given; and for the cells."""
        p, is_classifier = rows.checks.n_features, rows.checks.is_classifier
        box = self._box_of(np.zeros(p), np.zeros(p))  # refused before the rows are read
        rows, n = rows.knowing(multi_output=not is_classifier), 1.0
        classes = np.empty(0)
        if is_classifier or self.box is None or self.n_bins == "rate":
            seen = rows.sum(RowRange.of, distinct_labels if is_classifier else None)
            box, n = self._box_of(seen.low, seen.high), seen.weights.effective_n
            classes = seen.classes
        edges = self._edges_of(*box, n)
        if is_classifier:
            rows = rows.knowing(classes=classes)
        sums = rows.sum(cells_of_chunk, edges, self._table_of(classes))
        self._learned(self._store(sums, edges, 1.0), classes)

    def _table_of(self, classes: np.ndarray) -> Callable[..., Any]:
        """The function that makes the table of some rows; see `CellSums.of`."""
        raise NotImplementedError("A histogram knows what it learns in a cell.")

    def _learned(self, table: Any, classes: np.ndarray) -> Self:
        """Set what is learned in the cells, from their table."""
        raise NotImplementedError("A histogram knows what it learns in a cell.")

    def _edges_of(self, low: np.ndarray, high: np.ndarray, n: float) -> np.ndarray:
        """The edges of the bins of each feature."""
        n_bins = self._n_bins_of(n, len(low))
        if n_bins * len(low) > MOST_EDGES:
            raise ValueError(
                f"n_bins={n_bins} for {len(low)} features makes more than {MOST_EDGES:,} bins; use "
                "fewer."
            )
        return edges_of_box(low, high, n_bins)

    def _box_of(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper ends of the box, in double precision, for rows of this range."""
        if self.box is None:
            return low.astype(np.float64), high.astype(np.float64)
        p = len(low)
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
