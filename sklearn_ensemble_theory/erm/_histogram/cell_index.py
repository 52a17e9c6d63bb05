"""The cells of a partition that hold rows: their numbers, and the search for the cell of a row.

A cell is a row of bin numbers, one for each feature. Only the cells that hold rows are stored, in
lexicographic order, so the memory does not depend on the number of all cells.
"""

from typing import NamedTuple, Self

import numpy as np

# Keys of cells are at most this, which int64 holds.
_MAX_KEY = 2**63 - 1


def edges_of_box(low: np.ndarray, high: np.ndarray, n_bins: int) -> np.ndarray:
    """The edges of `n_bins` intervals of equal length between `low` and `high`.

    Parameters
    ----------
    low, high : float arrays of shape (p,)
        Where they are equal, there is one bin for all numbers.
    n_bins : int

    Returns
    -------
    edges : float array of shape (p, n_bins + 1)
        Increasing.
    """
    t = np.arange(n_bins + 1) / n_bins
    # The difference high - low could overflow.
    edges = low[:, None] * (1 - t) + high[:, None] * t
    edges = np.maximum.accumulate(edges, axis=1)
    edges[:, -1] = high
    one_bin = low == high
    edges[one_bin, 0] = -np.inf
    edges[one_bin, 1:] = np.inf
    return edges


def bin_dtype(n_bins: int) -> np.dtype:
    """The smallest type of integers that holds the numbers 0, ..., n_bins - 1."""
    return np.min_scalar_type(n_bins - 1)


def bin_numbers(X: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each value: ``edges[j, r] <= x < edges[j, r + 1]`` is bin r of feature j.

    Values below the first edge are in the first bin, those from the last edge on in the last.

    Parameters
    ----------
    X : array of shape (n, p)
        Finite.
    edges : array of shape (p, m + 1)

    Returns
    -------
    numbers : array of unsigned integers of shape (n, p), by columns
    """
    n_bins = edges.shape[1] - 1
    numbers = np.empty(X.shape, dtype=bin_dtype(n_bins), order="F")
    for j in range(X.shape[1]):
        inner = edges[j, 1:-1]
        numbers[:, j] = np.searchsorted(inner, np.ascontiguousarray(X[:, j]), side="right")
    return numbers


class _Stage(NamedTuple):
    """A search by some of the features: the keys of the cells' numbers up to there, sorted."""

    first: int
    last: int
    keys: np.ndarray


class CellIndex:
    """The search for the cell of a row, among the cells that hold rows.

    The bin numbers of a cell are the digits of its key in base `n_bins`. Where the key of all
    features would exceed 63 bits, it is cut into stages: the digits of the first features are
    replaced by their rank among those that occur, and the next digits appended to that rank.

    Attributes
    ----------
    n_bins : int
    stages : list of _Stage
    n_cells : int
    """

    def __init__(self, n_bins: int, stages: list[_Stage]) -> None:
        self.n_bins, self.stages = n_bins, stages
        self.n_cells = len(stages[-1].keys)

    @classmethod
    def of(cls, numbers: np.ndarray, n_bins: int) -> tuple[Self, np.ndarray]:
        """The index of the cells that hold the rows of `numbers`, and the cell of each row.

        O(n p + n log n) operations, and O(n log n) more for every further stage.
        """
        n, p = numbers.shape
        rank, n_ranks, first, stages = np.zeros(n, dtype=np.int64), 1, 0, []
        while first < p:
            last, capacity = first + 1, n_ranks * n_bins
            while last < p and capacity * n_bins <= _MAX_KEY:
                last, capacity = last + 1, capacity * n_bins
            keys, rank = np.unique(
                _append_digits(rank, numbers[:, first:last], n_bins), return_inverse=True
            )
            stages.append(_Stage(first, last, keys))
            first, n_ranks = last, len(keys)
        return cls(n_bins, stages), rank

    def find(self, numbers: np.ndarray) -> np.ndarray:
        """The number of each row's cell, or -1 where the index does not have the cell.

        O(p + log n_cells) operations a row.
        """
        rank = np.zeros(len(numbers), dtype=np.int64)
        known = np.ones(len(numbers), dtype=bool)
        for first, last, keys in self.stages:
            key = _append_digits(rank, numbers[:, first:last], self.n_bins)
            rank = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            known &= keys[rank] == key
        rank[~known] = -1
        return rank


def _append_digits(rank, numbers, n_bins):
    key = rank
    for j in range(numbers.shape[1]):
        key = key * n_bins + numbers[:, j].astype(np.int64)
    return key
