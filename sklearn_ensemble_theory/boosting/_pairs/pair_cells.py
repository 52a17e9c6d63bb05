"""Rows in the cells of pairs: their coarse bins, sums over them, and tables taken from them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._pairs.coarse_bins import CoarseBins


def coarse_columns(
    codes: np.ndarray, n_bins: np.ndarray, pairs: Sequence[tuple[int, int]], bins: CoarseBins
) -> dict[int, np.ndarray]:
    """The coarse bins of all rows, of each feature that is in a pair."""
    columns: dict[int, Any] = {}
    for j in sorted({j for pair in pairs for j in pair}):
        column: Any = codes[:, j]
        if bins.n_bins[j] < n_bins[j]:
            dtype = np.uint8 if bins.n_bins[j] <= 2**8 else np.uint16
            column = bins.maps[j].astype(dtype).take(column)
        columns[j] = column
    return columns


def sums_of_cells(
    values: np.ndarray,
    weight: np.ndarray | None,
    group: np.ndarray,
    held: int,
    a: np.ndarray,
    b: np.ndarray,
    shape: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums in the cells (A, B): of the rows of other groups, and of those of `held`.

    Parameters
    ----------
    values : array of shape (n,)
    weight : array of shape (n,) or None
    group : unsigned array of shape (n,)
    held : int
    a, b : unsigned arrays of shape (n,)
        Coarse bins.
    shape : tuple (A, B)
    """
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._pairs.pair_row_loops import sum_cells

        sums = np.zeros((*shape, 2))
        sum_cells(values, np.empty(0) if weight is None else weight, group, held, a, b, sums)
    else:
        cells = 2 * _cell_numbers(a, b, shape) + (group == held)
        weighted = values if weight is None else values * weight
        sums = np.bincount(cells, weighted, 2 * shape[0] * shape[1]).reshape(*shape, 2)
    return np.ascontiguousarray(sums[:, :, 0]), np.ascontiguousarray(sums[:, :, 1])


def take_from_cells(residual: np.ndarray, a: np.ndarray, b: np.ndarray, table: np.ndarray) -> None:
    """Subtract from the residual of each row the entry of its cell, in place."""
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._pairs.pair_row_loops import subtract_cells

        subtract_cells(residual, a, b, table)
    else:
        residual -= table.ravel().take(_cell_numbers(a, b, table.shape))


def _cell_numbers(a, b, shape):
    """The number of each row's cell in a table."""
    return a.astype(np.intp) * shape[1] + b
