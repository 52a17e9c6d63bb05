r"""Kernels that vanish beyond one bandwidth: weights and averages from the neighbours of a point.

All coordinates are in bandwidths, z = x / h, so that a kernel is a function of one distance u and
the neighbours are the training points with u <= 1. They are found by two searches in the sorted
values of one feature, or in a k-d tree. What is computed from them goes one of two ways:

- by pairs of a point and a neighbour, in blocks of bounded memory (`CompactWeights`);
- for one feature by moments, O(log n) a point however many neighbours it has (`WindowSums`). A
  compact kernel is a polynomial in u on its support, so its sum over rows is a combination of
  their moments. With :math:`d = z - c` and :math:`\delta_i = z_i - c`,

  .. math:: \sum_i w_i (d - \delta_i)^p = \sum_k \binom{p}{k} (-1)^k d^{p-k} \sum_i w_i \delta_i^k.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.neighbors import KDTree, NearestNeighbors

from sklearn_ensemble_theory._scaling import largest_magnitude, power_of_two

# K(u) on [0, 1] as {power: coefficient}. There is no normalising constant, as weights are
# normalised.
POLYNOMIALS = {
    "epanechnikov": {0: 1.0, 2: -1.0},
    "tricube": {0: 1.0, 3: -3.0, 6: 3.0, 9: -1.0},
    "uniform": {0: 1.0},
}

# A pair is a distance, a number, a kernel's value and what is computed on the way.
BYTES_PER_PAIR = 80
MOST_PAIRS = 1_000_000
MOST_QUERIES = 20_000
# Many, as all rows near them are read for their moments.
POINTS_AT_A_TIME = 2**16
# A k-d tree does not help above so many features, as in scikit-learn.
MOST_TREE_FEATURES = 15

# Windows of no more rows are summed row by row.
FEW_ROWS = 64
# Each half of a window has the boundary of a cell in it (cells are narrower than 1), and touches
# at most three cells.
CELL = 15 / 16
# Cells are numbered by whole numbers, and their boundaries are exact to this share of a cell.
LARGEST_RANGE = 2.0**36
# Rounding errors are about 1e-14 of the plain sum over the window. Where the kernel leaves less
# than this share of it, because most of the rows are at the edge, rows are summed one by one.
SMALLEST_SHARE = 1e-3
# So are averages that are a smaller part of the mean of all targets.
SMALLEST_PART = 1e-4


def kernel_value(kernel: str, u2: np.ndarray) -> np.ndarray:
    """K(u) as a function of u^2."""
    if kernel == "uniform":
        return np.where(u2 <= 1.0, 1.0, 0.0)
    inside = np.minimum(u2, 1.0)
    if kernel == "epanechnikov":
        return 1.0 - inside
    return (1.0 - inside * np.sqrt(inside)) ** 3


def kernel_slope(kernel: str, u2: np.ndarray) -> np.ndarray:
    """K'(u) / u as a function of u^2: the gradient of K(|z - z_i|) is this times z - z_i."""
    if kernel == "uniform":
        return np.zeros_like(u2)
    if kernel == "epanechnikov":
        return np.where(u2 < 1.0, -2.0, 0.0)
    inside = np.minimum(u2, 1.0)
    u = np.sqrt(inside)
    return -9.0 * u * (1.0 - inside * u) ** 2


# Squares of coordinates in bandwidths up to this do not overflow.
FAR = 1e150
# A search for the nearest points of one far outside starts from so many widths of the data away:
# there the distances to all that may be the nearest differ by less than the radius is widened by,
# and those to others by more than rounding.
REACH = 1e7


def shortened(Z: np.ndarray, longest: float) -> np.ndarray:
    """Return the rows of Z, those with a larger coordinate than `longest` divided to have it."""
    size = np.abs(Z).max(axis=1, keepdims=True)
    return Z * (longest / np.maximum(size, longest or 1.0))


# --- training points within a distance ------------------------------------------------------------


class SortedPoints:
    """Training points of one feature: `values` in order, and `order`, the numbers of their rows."""

    is_sorted: ClassVar[Literal[True]] = True

    def __init__(self, Z: np.ndarray) -> None:
        self.order = np.argsort(Z[:, 0], kind="stable")
        self.values = Z[self.order, 0]

    def windows(self, z: np.ndarray, radius: Any = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """First and last + 1 of the sorted points with ``abs(z - value) <= radius`` in floats."""
        values, n = self.values, len(self.values)
        radius = np.broadcast_to(radius, z.shape)
        first = np.searchsorted(values, z - radius, side="left")
        stop = np.searchsorted(values, z + radius, side="right")

        def gap(i, at):  # a position beyond the ends stands for the end, and is not used
            return z[i] - values[np.clip(at, 0, n - 1)]

        # z - radius above is rounded, and so is the distance that the kernel gets. Values within
        # rounding of an end are therefore judged again by that distance.
        _move(values, first, "left", lambda i, at: (at > 0) & (abs(gap(i, at - 1)) <= radius[i]))
        _move(values, first, "right", lambda i, at: (at < n) & (gap(i, at) > radius[i]))
        _move(values, stop, "right", lambda i, at: (at < n) & (abs(gap(i, at)) <= radius[i]))
        _move(values, stop, "left", lambda i, at: (at > 0) & (-gap(i, at - 1) > radius[i]))
        return first, np.maximum(stop, first)

    def counts(self, Z: np.ndarray) -> np.ndarray:
        """Return the number of points within 1 of each row of Z."""
        first, stop = self.windows(Z[:, 0])
        return stop - first

    def within(self, Z: np.ndarray, radius: Any = 1.0) -> sp.csr_matrix:
        """Distances to the points within a radius, which may differ among the rows of Z."""
        first, stop = self.windows(Z[:, 0], radius)
        sizes = stop - first
        # All windows one after the other: first[0], ..., stop[0] - 1, first[1], ...
        found = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        distances = np.abs(np.repeat(Z[:, 0], sizes) - self.values[found])
        return _sparse_rows(distances, self.order[found], sizes, len(self.order))

    def nearest(self, Z: np.ndarray) -> np.ndarray:
        """Return the distance from each row of Z to the nearest point."""
        after = np.searchsorted(self.values, Z[:, 0])
        left = np.abs(Z[:, 0] - self.values[np.maximum(after - 1, 0)])
        right = np.abs(Z[:, 0] - self.values[np.minimum(after, len(self.values) - 1)])
        return np.minimum(left, right)


def _move(values, ends, side, moves):
    """Move ends by whole groups of equal values, in place, while ``moves(numbers, ends)``."""
    rows = np.arange(len(ends))
    while len(rows):
        rows = rows[moves(rows, ends[rows])]
        passed = values[ends[rows] - (side == "left")]
        ends[rows] = np.searchsorted(values, passed, side=side)


class TreePoints:
    """Training points of several features, in a k-d tree or, for many features, by brute force."""

    is_sorted: ClassVar[Literal[False]] = False

    def __init__(self, Z: np.ndarray) -> None:
        self.n_points = len(Z)
        few = Z.shape[1] <= MOST_TREE_FEATURES
        self.tree: Any = KDTree(Z, leaf_size=30) if few else None
        self.brute: Any = None if few else NearestNeighbors(algorithm="brute").fit(Z)

    def counts(self, Z: np.ndarray) -> np.ndarray:
        """The number of points within 1 of each row of Z; by brute force, the largest possible."""
        if self.brute is not None:
            return np.full(len(Z), self.n_points)
        return self.tree.query_radius(Z, 1.0, count_only=True)

    def within(self, Z: np.ndarray, radius: Any = 1.0) -> sp.csr_matrix:
        if self.brute is None:
            found, distances = self.tree.query_radius(Z, radius, return_distance=True)
        elif np.ndim(radius) == 0:
            distances, found = self.brute.radius_neighbors(Z, radius=radius)
        else:  # brute force takes one radius at a time
            parts = [
                self.brute.radius_neighbors(Z[i : i + 1], radius=radius[i]) for i in range(len(Z))
            ]
            distances, found = (np.concatenate(part) for part in zip(*parts))
        sizes = np.array([len(part) for part in found], dtype=np.intp)
        return _sparse_rows(np.concatenate(distances), np.concatenate(found), sizes, self.n_points)

    def nearest(self, Z: np.ndarray) -> np.ndarray:
        if self.brute is not None:
            return self.brute.kneighbors(Z, n_neighbors=1)[0][:, 0]
        return self.tree.query(Z, k=1)[0][:, 0]


def pair_blocks(points: SortedPoints | TreePoints, Z: np.ndarray) -> Iterator[slice]:
    """Slices of the rows of Z by the number of their neighbours within 1.

    A block has at most as many pairs as scikit-learn's `working_memory` has room for, but at least
    one row of Z.
    """
    limit = min(MOST_PAIRS, int(get_config()["working_memory"] * 2**20) // BYTES_PER_PAIR)
    for start in range(0, len(Z), MOST_QUERIES):
        totals = np.cumsum(points.counts(Z[start : start + MOST_QUERIES]))
        first, done = 0, 0
        while first < len(totals):
            stop = max(first + 1, int(np.searchsorted(totals, done + limit, side="right")))
            yield slice(start + first, start + stop)
            first, done = stop, totals[stop - 1]


# --- weights and averages -------------------------------------------------------------------------


class CompactWeights:
    """Weighs the training points Z at any point, by a kernel and the weights of their rows."""

    is_sparse: ClassVar[Literal[True]] = True

    def __init__(self, kernel: str, Z: np.ndarray, sample_weight: np.ndarray) -> None:
        self.kernel, self.Z, self.sample_weight = kernel, Z, sample_weight
        self.box = Z.min(axis=0), Z.max(axis=0)
        self.points: Any = SortedPoints(Z) if Z.shape[1] == 1 else TreePoints(Z)

    def blocks(self, X: np.ndarray) -> Iterator[slice | np.ndarray]:
        """Rows of X to be predicted together; those of one feature in the order of their values.

        A block of neighbouring points reads few rows for their moments, and its points with few
        neighbours make few pairs.
        """
        step = POINTS_AT_A_TIME
        if not self.points.is_sorted:
            yield from (slice(start, start + step) for start in range(0, len(X), step))
            return
        order = np.argsort(X[:, 0], kind="stable")
        step = max(step, len(self.Z) // 10)
        for start in range(0, len(X), step):
            yield order[start : start + step]

    def at(self, Z: np.ndarray, shift: np.ndarray | None = None) -> sp.csr_matrix:
        """Rows of weights at Z, (len(Z), n), extrapolated linearly by `shift`.

        A point without neighbours within the bandwidth takes the mean of its nearest training
        points. `shift` has the vectors from the points of evaluation to those of prediction.
        """
        graph = self.points.within(Z)
        values = kernel_value(self.kernel, graph.data**2)
        K = _with_data(graph, values * self.sample_weight[graph.indices])
        totals = _row_sums(K)
        isolated = totals <= 0.0
        inverse = 1.0 / np.where(isolated, 1.0, totals)
        weights = _scale_rows(K, inverse)
        if shift is not None:
            rows = np.repeat(np.arange(len(Z)), np.diff(graph.indptr))
            step = np.zeros(len(rows))
            for j in range(Z.shape[1]):  # a feature at a time, for memory
                step += (Z[rows, j] - self.Z[graph.indices, j]) * shift[rows, j]
            step *= kernel_slope(self.kernel, graph.data**2) * self.sample_weight[graph.indices]
            # (K_i / sum K)' = K'_i / sum K - (K_i / sum K) (sum K') / sum K
            slope = _scale_rows(_with_data(graph, step), np.where(isolated, 0.0, inverse))
            weights = sp.csr_matrix(weights + slope - _scale_rows(weights, _row_sums(slope)))
        if isolated.any():
            near = self._nearest(Z[isolated])
            places = np.argsort(np.r_[np.flatnonzero(~isolated), np.flatnonzero(isolated)])
            weights = sp.csr_matrix(sp.vstack([weights[~isolated], near]))[places]
        return weights

    def _nearest(self, Z: np.ndarray) -> sp.csr_matrix:
        """Weights of the training points nearest to each row of Z, of all that are up to rounding.

        Outside of the box of the training points, |z - z_i|^2 is the squared distance to the
        nearest point c of the box, which all z_i share, and |c - z_i|^2 + 2 (z - c)(c - z_i), all
        terms of which are positive: far away it still has all digits.
        """
        inside = np.clip(Z, *self.box)
        shift = Z - inside
        start = inside + shortened(shift, REACH * (self.box[1] - self.box[0]).max())
        graph = self.points.within(start, self.points.nearest(start) * (1.0 + 1e-12))
        sizes = np.diff(graph.indptr)
        gap = np.repeat(inside, sizes, axis=0) - self.Z[graph.indices]
        distance = (gap**2 + 2.0 * np.repeat(shift, sizes, axis=0) * gap).sum(axis=1)
        least = np.repeat(np.minimum.reduceat(distance, graph.indptr[:-1]), sizes)
        is_nearest = distance <= least * (1.0 + 2e-12)
        weights = _with_data(graph, self.sample_weight[graph.indices] * is_nearest)
        return _scale_rows(weights, 1.0 / _row_sums(weights))

    def averages(
        self, targets: np.ndarray, Z: np.ndarray, shift: np.ndarray | None = None
    ) -> np.ndarray:
        """Return `at(Z, shift) @ targets`, for targets of shape (n, n_outputs)."""
        if self.points.is_sorted and shift is not None:
            return self._beyond_the_ends(targets, Z, shift)
        out = np.empty((len(Z), targets.shape[1]))
        if self._has_moments:
            rest = self._averages_by_moments(targets, Z, out)
        else:
            rest = np.arange(len(Z))
        for part in pair_blocks(self.points, Z[rest]):
            asked = rest[part]
            out[asked] = self.at(Z[asked], None if shift is None else shift[asked]) @ targets
        return out

    def trace(self) -> float:
        """Return the sum of the weights of the training points at themselves."""
        totals = np.empty(len(self.Z))  # the kernel's sums over all rows
        rest = np.arange(len(self.Z))
        if self._has_moments:
            sums, z = WindowSums(self.kernel, self.points.values), self.Z[:, 0]
            weight, left = self.sample_weight[self.points.order], []
            for rows in self.blocks(self.Z):
                many, few, windows = self._by_size(z, rows)
                (found,), (plain,) = sums.sums(z[many], windows, [weight])
                totals[many] = found
                left += [few, many[found < SMALLEST_SHARE * plain]]
            rest = np.concatenate(left)
        for part in pair_blocks(self.points, self.Z[rest]):
            graph = self.points.within(self.Z[rest[part]])
            values = kernel_value(self.kernel, graph.data**2) * self.sample_weight[graph.indices]
            totals[rest[part]] = _row_sums(_with_data(graph, values))
        return float((self.sample_weight / totals).sum())  # K(0) = 1

    @property
    def _has_moments(self) -> bool:
        """Whether there is one feature, of a range that is small enough for cells with numbers."""
        points = self.points
        return points.is_sorted and bool(points.values[-1] - points.values[0] < LARGEST_RANGE)

    def _by_size(self, z, rows):
        """Points with many rows in their windows, those with few, and the windows of the former."""
        first, stop = self.points.windows(z[rows])
        many = stop - first > FEW_ROWS
        return rows[many], rows[~many], (first[many], stop[many])

    def _averages_by_moments(self, targets, Z, out):
        """Set averages of one feature; return the points left, for a sum over pairs."""
        points, weight, z = self.points, self.sample_weight, Z[:, 0]
        sums = WindowSums(self.kernel, points.values)
        top = power_of_two(weight.max())
        weight_in_order = weight[points.order] / top
        # About the mean, so that rounding errors are relative to the deviations from it.
        sizes = [power_of_two(largest_magnitude(y)) for y in targets.T]
        means = [
            (weight / top) @ (y / size) / weight_in_order.sum() for y, size in zip(targets.T, sizes)
        ]
        many, few, windows = self._by_size(z, np.arange(len(z)))
        (totals,), (plain,) = sums.sums(z[many], windows, [weight_in_order])
        safe = totals >= SMALLEST_SHARE * plain
        totals[~safe] = 1.0
        for j, (size, mean) in enumerate(zip(sizes, means)):
            values = targets[points.order, j] / size
            values -= mean
            values *= weight_in_order
            (found,), _ = sums.sums(z[many], windows, [values])
            (magnitude,), (plain,) = sums.sums(z[many], windows, [np.abs(values, out=values)])
            safe &= magnitude >= SMALLEST_SHARE * plain
            average = mean + found / totals
            safe &= np.abs(average) >= SMALLEST_PART * abs(mean)
            out[many, j] = size * average
        return np.concatenate([few, many[~safe]])

    def _beyond_the_ends(self, targets, Z, shift):
        """Averages outside the range of one feature: a line from each of its two ends."""
        out = np.empty((len(Z), targets.shape[1]))
        for side in (-1.0, 1.0):
            asked = np.flatnonzero(np.sign(shift[:, 0]) == side)
            if len(asked):
                level = self.at(Z[asked[:1]])
                moved = self.at(Z[asked[:1]], np.ones((1, 1)))
                out[asked] = level @ targets + shift[asked] * ((moved - level) @ targets)
        return out


def _sparse_rows(data: np.ndarray, columns: np.ndarray, sizes: np.ndarray, n: int) -> sp.csr_matrix:
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sp.csr_matrix((data, columns, indptr), shape=(len(sizes), n))


def _row_sums(matrix: sp.spmatrix) -> np.ndarray:
    return np.asarray(matrix.sum(axis=1)).ravel()


def _scale_rows(matrix: sp.csr_matrix, factors: np.ndarray) -> sp.csr_matrix:
    return _with_data(matrix, matrix.data * np.repeat(factors, np.diff(matrix.indptr)))


def _with_data(pattern: sp.csr_matrix, data: np.ndarray) -> sp.csr_matrix:
    return sp.csr_matrix((data, pattern.indices, pattern.indptr), shape=pattern.shape)


# --- sums by moments ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Piece:
    """The points `asked` sum the rows from one end of a cell, its beginning or its end."""

    asked: np.ndarray
    at: np.ndarray  # the last row of a beginning, or the first row of an end
    d: np.ndarray  # the point minus the centre of the cell
    from_left: bool  # whether the rows are the beginning of the cell
    side: int  # u = side * (d - delta): 1 for rows left of the point, else -1


class WindowSums:
    """Sums of a compact kernel over the sorted values within 1 of points.

    The values are cut into cells a little narrower than a bandwidth, each with its own centre c, so
    no power is of a large number, wherever the data are. The window of a point consists of
    beginnings and ends of cells: cumulative sums from the left and from the right of each cell are
    added, and nothing is subtracted, so values outside the window have no part in the rounding
    errors. One power is held at a time.
    """

    def __init__(self, kernel: str, values: np.ndarray) -> None:
        self.kernel, self.values = kernel, values
        cells = np.floor((values - values[0]) / CELL).astype(np.int64)
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        self.cell_numbers = cells[starts]
        self.starts = np.append(starts, len(values))
        del cells
        centres = self._centre(self.cell_numbers)
        self.delta = values - np.repeat(centres, np.diff(self.starts))

    def _centre(self, cells: np.ndarray) -> np.ndarray:
        return self.values[0] + CELL * (cells + 0.5)

    def sums(
        self, z: np.ndarray, windows: tuple[np.ndarray, np.ndarray], columns: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sum each column over the windows of z, with the kernel and plainly: both (n_columns, m).

        `windows` has the first and last + 1 of the values within 1 of each z; the columns are in
        the order of the values.
        """
        pieces = self._pieces(z, *windows)
        out = np.zeros((len(columns), len(z)))
        plain = np.zeros_like(out)
        # Only the rows from the first cell that a piece is taken from to the last one are read, so
        # that points which are near each other should come together.
        needed = np.zeros(len(self.starts) - 1, dtype=bool)
        for piece in pieces:
            needed[np.searchsorted(self.starts, piece.at, side="right") - 1] = True
        cells = np.flatnonzero(needed)
        if not len(cells):
            return out, plain
        low, high = self.starts[cells[0]], self.starts[cells[-1] + 1]
        bounds = list(
            zip((self.starts[cells] - low).tolist(), (self.starts[cells + 1] - low).tolist())
        )
        pieces = [replace(piece, at=piece.at - low) for piece in pieces]
        columns = [column[low:high] for column in columns]
        delta = self.delta[low:high]
        polynomial = POLYNOMIALS[self.kernel]
        power = np.ones_like(delta)
        for k in range(max(polynomial) + 1):
            factors = [_coefficient(polynomial, k, piece.d, piece.side) for piece in pieces]
            for total, simple, column in zip(out, plain, columns):
                moments = column * power
                for from_left in (True, False):
                    cumulative = _cumulative(moments, from_left, bounds)
                    for piece, factor in zip(pieces, factors):
                        if piece.from_left is from_left:
                            at = cumulative[piece.at]
                            total[piece.asked] += factor * at
                            if k == 0:
                                simple[piece.asked] += at
            power *= delta
        return out, plain

    def _pieces(self, z: np.ndarray, first: np.ndarray, stop: np.ndarray) -> list[_Piece]:
        """Return the windows as beginnings and ends of cells."""
        own = np.floor((z - self.values[0]) / CELL).astype(np.int64)
        middle = np.searchsorted(self.values, z, side="right")
        start, end = self._start(own), self._start(own + 1)
        before, after = self._start(own - 1), self._start(own + 2)
        found = []

        def add(nonempty, at, cell, from_left, side):
            asked = np.flatnonzero(nonempty)
            if len(asked):
                d = z[asked] - self._centre(own[asked] + cell)
                found.append(_Piece(asked, at[asked], d, from_left, side))

        # From left to right; the cell of the point itself is cut at the point.
        add(first < before, first, -2, False, 1)
        add(np.maximum(first, before) < start, np.maximum(first, before), -1, False, 1)
        add(start < middle, middle - 1, 0, True, 1)
        add(middle < end, middle, 0, False, -1)
        add(end < np.minimum(stop, after), np.minimum(stop, after) - 1, 1, True, -1)
        add(after < stop, stop - 1, 2, True, -1)
        return found

    def _start(self, cells: np.ndarray) -> np.ndarray:
        """Return the first row in cells of these numbers or higher."""
        return self.starts[np.searchsorted(self.cell_numbers, cells)]


def _cumulative(moments: np.ndarray, from_left: bool, bounds: list[tuple[int, int]]) -> np.ndarray:
    """Cumulative sums from one end of each of the cells; other rows have no meaning."""
    out = np.empty_like(moments)
    add = np.add.accumulate
    if not from_left:  # mirrored views: every cell is then summed from its left
        n = len(moments)
        moments, mirrored = moments[::-1], out[::-1]
        for a, b in bounds:
            add(moments[n - b : n - a], out=mirrored[n - b : n - a])
        return out
    for a, b in bounds:
        add(moments[a:b], out=out[a:b])
    return out


def _coefficient(
    polynomial: dict[int, float], k: int, d: np.ndarray, side: int
) -> np.ndarray | float:
    """Return the factor of the k-th moment, a polynomial in d."""
    factors = np.zeros(max(polynomial) - k + 1)
    for p, a in polynomial.items():
        if p >= k:
            factors[p - k] = a * side**p * comb(p, k) * (-1) ** k
    if len(factors) == 1:
        return factors[0]
    return np.polynomial.polynomial.polyval(d, factors)
