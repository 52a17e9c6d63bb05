r"""Sums of a compact kernel over one sorted feature, from moments: O(log n) a point.

A compact kernel is a polynomial in u = |z - z_i| on its support, so its sum over rows is a
combination of their moments. With :math:`d = z - c` and :math:`\delta_i = z_i - c`,

.. math:: \sum_i w_i (d - \delta_i)^p = \sum_k \binom{p}{k} (-1)^k d^{p-k} \sum_i w_i \delta_i^k.

The rows are cut into cells a little narrower than a bandwidth, each with its own centre c, so no
power is of a large number, wherever the data are. The window of a point consists of beginnings and
ends of cells: cumulative sums from the left and from the right of each cell are added, and nothing
is subtracted, so rows outside the window have no part in the rounding errors. One power is held at
a time.
"""

from math import comb
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory.smoothing._kernel.points_within import SortedPoints

__all__ = ["FEW_ROWS", "WindowSums", "can_use_moments"]

# K(u) on [0, 1] as {power: coefficient}.
POLYNOMIALS = {
    "uniform": {0: 1.0},
    "epanechnikov": {0: 1.0, 2: -1.0},
    "tricube": {0: 1.0, 3: -3.0, 6: 3.0, 9: -1.0},
}

FEW_ROWS = 64
"""Windows of no more rows are summed row by row."""

# Each half of a window has the boundary of a cell in it (cells are narrower than 1), and touches
# at most three cells.
CELL = 15 / 16
# Cells are numbered by whole numbers, and their boundaries are exact to this share of a cell.
LARGEST_RANGE = 2.0**36

# Rounding errors are about 1e-14 of the plain sum over the window. Where the kernel leaves less
# than this share of it, because most of the rows are at the edge, rows are summed one by one.
SMALLEST_SHARE = 1e-3


def can_use_moments(points: SortedPoints) -> bool:
    """Whether the range, in bandwidths, is small enough for cells with numbers."""
    return bool(points.values[-1] - points.values[0] < LARGEST_RANGE)


class _Piece(NamedTuple):
    """Rows from one end of a cell, for some of the points.

    Attributes
    ----------
    asked : int array of shape (m,)
        The numbers of the points.
    at : int array of shape (m,)
        The last row of a beginning of a cell, or the first row of an end.
    d : float array of shape (m,)
        The point minus the centre of the cell.
    from_left : bool
        Whether the rows are the beginning of the cell.
    side : {1, -1}
        u = side * (d - delta): 1 for rows left of the point.
    """

    asked: np.ndarray
    at: np.ndarray
    d: np.ndarray
    from_left: bool
    side: int


class WindowSums:
    """Sums of a kernel over the windows of points.

    Parameters
    ----------
    kernel : str
        A compact kernel.
    points : SortedPoints
        The training points.
    """

    def __init__(self, kernel: str, points: SortedPoints) -> None:
        self.kernel, self.values = kernel, points.values
        values = points.values
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
        """Sums over the windows with the kernel, and the plain sums.

        Parameters
        ----------
        z : float array of shape (m,)
            Within the range of the training points. Only the rows between the first window and the
            last are read, so points that are near each other should come together.
        windows : pair of int arrays of shape (m,)
            First and last + 1 of the sorted rows within 1.
        columns : list of float arrays of shape (n,)
            What is summed, in the order of the sorted rows.

        Returns
        -------
        kernel_sums, plain_sums : ndarray of shape (n_columns, m)
        """
        pieces = self._pieces(z, *windows)
        cells = self._cells_of(pieces)
        out = np.zeros((len(columns), len(z)))
        plain = np.zeros_like(out)
        if not len(cells):
            return out, plain
        low, high = self.starts[cells[0]], self.starts[cells[-1] + 1]
        bounds = list(
            zip((self.starts[cells] - low).tolist(), (self.starts[cells + 1] - low).tolist())
        )
        pieces = [piece._replace(at=piece.at - low) for piece in pieces]
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
        """The windows as beginnings and ends of cells."""
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

        add(first < before, first, -2, False, 1)
        add(np.maximum(first, before) < start, np.maximum(first, before), -1, False, 1)
        add(start < middle, middle - 1, 0, True, 1)
        add(middle < end, middle, 0, False, -1)
        add(end < np.minimum(stop, after), np.minimum(stop, after) - 1, 1, True, -1)
        add(after < stop, stop - 1, 2, True, -1)
        return found

    def _start(self, cells: np.ndarray) -> np.ndarray:
        """The first row in cells of these numbers or higher."""
        return self.starts[np.searchsorted(self.cell_numbers, cells)]

    def _cells_of(self, pieces: list[_Piece]) -> np.ndarray:
        """The positions of the cells that the pieces are taken from."""
        needed = np.zeros(len(self.starts) - 1, dtype=bool)
        for piece in pieces:
            needed[np.searchsorted(self.starts, piece.at, side="right") - 1] = True
        return np.flatnonzero(needed)


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
    """The factor of the k-th moment, a polynomial in d."""
    factors = np.zeros(max(polynomial) - k + 1)
    for p, a in polynomial.items():
        if p >= k:
            factors[p - k] = a * side**p * comb(p, k) * (-1) ** k
    if len(factors) == 1:
        return factors[0]
    return np.polynomial.polynomial.polyval(d, factors)
