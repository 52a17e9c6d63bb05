"""Training points within a distance: sorted for one feature, in a k-d tree for several."""

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import KDTree, NearestNeighbors

__all__ = ["SortedPoints", "TreePoints", "concatenated_ranges", "index_rows"]

# A k-d tree does not help above so many features, as in scikit-learn.
_MOST_TREE_FEATURES = 15


def index_rows(Z: np.ndarray) -> "SortedPoints | TreePoints":
    """The index of the rows of Z that suits their number of features."""
    return SortedPoints(Z) if Z.shape[1] == 1 else TreePoints(Z)


class SortedPoints:
    """Rows of one feature, in order.

    Attributes
    ----------
    order : int array of shape (n,)
        The numbers of the rows, from the smallest value to the largest.
    values : float array of shape (n,)
        The sorted values.
    is_sorted : bool
        That these are here.
    """

    is_sorted: ClassVar[Literal[True]] = True

    def __init__(self, Z: np.ndarray) -> None:
        self.order = np.argsort(Z[:, 0], kind="stable")
        self.values = Z[self.order, 0]

    def windows(self, z: np.ndarray, radius: Any = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """First and last + 1 of the sorted rows with ``abs(z - value) <= radius`` in floats."""
        values, n = self.values, len(self.values)
        radius = np.broadcast_to(radius, z.shape)
        first = np.searchsorted(values, z - radius, side="left")
        stop = np.searchsorted(values, z + radius, side="right")
        # The ends above are rounded, the distances below are those that the kernel gets. Only
        # values within rounding of an end are judged again, a group of equal values at a time.
        _move(values, first, "left", lambda i, at: (at > 0) & _near(values, at - 1, z, radius, i))
        _move(values, first, "right", lambda i, at: (at < n) & _below(values, at, z, radius, i))
        _move(values, stop, "right", lambda i, at: (at < n) & _near(values, at, z, radius, i))
        _move(values, stop, "left", lambda i, at: (at > 0) & _above(values, at - 1, z, radius, i))
        return first, np.maximum(stop, first)

    def counts(self, Z: np.ndarray) -> np.ndarray:
        """The number of rows within 1 of each row of Z."""
        first, stop = self.windows(Z[:, 0])
        return stop - first

    def within(self, Z: np.ndarray, radius: Any = 1.0) -> sp.csr_matrix:
        """Distances to the rows within a radius, which may differ among the rows of Z."""
        first, stop = self.windows(Z[:, 0], radius)
        sizes = stop - first
        found = concatenated_ranges(first, sizes)
        distances = np.abs(np.repeat(Z[:, 0], sizes) - self.values[found])
        return _csr(distances, self.order[found], sizes, len(self.order))

    def nearest(self, Z: np.ndarray) -> np.ndarray:
        """The distance from each row of Z to the nearest of the rows."""
        after = np.searchsorted(self.values, Z[:, 0])
        left = np.abs(Z[:, 0] - self.values[np.maximum(after - 1, 0)])
        right = np.abs(Z[:, 0] - self.values[np.minimum(after, len(self.values) - 1)])
        return np.minimum(left, right)


class TreePoints:
    """Rows of several features, in a k-d tree or, for many features, by brute force."""

    is_sorted: ClassVar[Literal[False]] = False

    def __init__(self, Z: np.ndarray) -> None:
        self.n_points = len(Z)
        few = Z.shape[1] <= _MOST_TREE_FEATURES
        self.tree: Any = KDTree(Z, leaf_size=30) if few else None
        self.brute: Any = None if few else NearestNeighbors(algorithm="brute").fit(Z)

    def counts(self, Z: np.ndarray) -> np.ndarray:
        """The number of rows within 1 of each row of Z; by brute force, the largest possible."""
        if self.brute is not None:
            return np.full(len(Z), self.n_points)
        return self.tree.query_radius(Z, 1.0, count_only=True)

    def within(self, Z: np.ndarray, radius: Any = 1.0) -> sp.csr_matrix:
        """Distances to the rows within a radius, which may differ among the rows of Z."""
        if self.brute is not None:
            parts = [
                self.brute.radius_neighbors(Z[rows], radius=one)
                for rows, one in _equal_radii(Z, radius)
            ]
            distances, found = (np.concatenate(part) for part in zip(*parts))
        else:
            found, distances = self.tree.query_radius(Z, radius, return_distance=True)
        sizes = np.array([len(part) for part in found], dtype=np.intp)
        return _csr(np.concatenate(distances), np.concatenate(found), sizes, self.n_points)

    def nearest(self, Z: np.ndarray) -> np.ndarray:
        """The distance from each row of Z to the nearest of the rows."""
        if self.brute is not None:
            return self.brute.kneighbors(Z, n_neighbors=1)[0][:, 0]
        return self.tree.query(Z, k=1)[0][:, 0]


def concatenated_ranges(first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """first[0], ..., first[0] + sizes[0] - 1, first[1], ..."""
    steps = np.arange(sizes.sum())
    return steps + np.repeat(first - np.cumsum(sizes) + sizes, sizes)


def _csr(distances: np.ndarray, found: np.ndarray, sizes: np.ndarray, n: int) -> sp.csr_matrix:
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sp.csr_matrix((distances, found, indptr), shape=(len(sizes), n))


def _equal_radii(Z: np.ndarray, radius: Any) -> list[tuple[slice, float]]:
    if np.ndim(radius) == 0:
        return [(slice(None), radius)]
    return [(slice(i, i + 1), radius[i]) for i in range(len(Z))]


def _near(values, at, z, radius, i):
    return np.abs(z[i] - values[np.clip(at, 0, len(values) - 1)]) <= radius[i]


def _below(values, at, z, radius, i):
    return z[i] - values[np.clip(at, 0, len(values) - 1)] > radius[i]


def _above(values, at, z, radius, i):
    return values[np.clip(at, 0, len(values) - 1)] - z[i] > radius[i]


def _move(values, ends, side, moves):
    """Move ends by whole groups of equal values, in place, while ``moves(numbers, ends)``."""
    rows = np.arange(len(ends))
    while len(rows):
        rows = rows[moves(rows, ends[rows])]
        passed = values[ends[rows] - (side == "left")]
        ends[rows] = np.searchsorted(values, passed, side=side)
