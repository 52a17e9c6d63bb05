r"""Sums of the Gaussian kernel over many rows of one feature, without a number for each pair.

In coordinates z = x / h, the sorted rows are cut into cells of half a bandwidth. With c the centre
of a cell, :math:`d = z - c` and :math:`\delta_i = z_i - c`,

.. math::
    \sum_i w_i e^{-(z - z_i)^2 / 2}
    = e^{-d^2 / 2} \sum_k d^k \sum_i w_i e^{-\delta_i^2 / 2} \frac{\delta_i^k}{k!},

where the inner sums are moments of the cell, computed once for all points z. The series is that of
:math:`e^{d \delta_i}`, and :math:`|d \delta_i|` is at most 2.7 in the cells that are summed: each
cell's part has small relative errors, also far from the point, where it is tiny.
"""

import numpy as np

CELL = 0.5
# Cells up to this number of cells from the point's own are summed: all rows within 10 bandwidths.
REACH = 20
# The kernel of all other rows is smaller than this.
BEYOND = np.exp(-((REACH * CELL) ** 2) / 2)
# 2.7^26 / 26! is 4e-16.
N_TERMS = 26
# Sums are exact where the rows beyond the reach are at most this share of them.
LARGEST_LOSS = 1e-14
# Sums over cells take as long as those over pairs with some so many rows.
MANY_ROWS = 3_000
# Pairs of a point and a row, or a cell, in memory together: they stay in the processor's cache.
PAIRS_AT_A_TIME = 2**16
# Cells whose moments are in memory together.
CELLS_AT_A_TIME = 2**12


class GaussianSums:
    """Sums over the rows with the sorted coordinates `values`, whose range is finite."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        cells = np.floor((values - values[0]) / CELL).astype(np.int64)
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        self.cell_numbers = cells[starts]
        self.starts = np.append(starts, len(values))
        self.centres = values[0] + CELL * (self.cell_numbers + 0.5)

    def at(self, z: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
        """Sums of each column times the kernel at points z, of shape (n_columns, len(z)).

        The columns are in the order of the values, and the points within their range. Rows beyond
        10 bandwidths are left out. O(n) for the moments of the cells that are needed, and at most
        41 cells for each point.
        """
        out = np.zeros((len(columns), len(z)))
        if not len(z):
            return out
        order = np.argsort(z, kind="stable")
        z = z[order]
        own = np.floor((z - self.values[0]) / CELL).astype(np.int64)
        first = np.searchsorted(self.cell_numbers, own - REACH)
        stop = np.searchsorted(self.cell_numbers, own + REACH, side="right")
        start = 0
        while start < len(z):
            low = first[start]
            end = int(np.searchsorted(stop, low + CELLS_AT_A_TIME, side="right"))
            part = slice(start, end)
            cells = first[part] - low, stop[part] - low
            moments = self._moments(low, stop[end - 1], columns)
            centres = self.centres[low : stop[end - 1]]
            out[:, order[part]] = _series(z[part], *cells, centres, moments)
            start = end
        return out

    def _moments(self, low: int, high: int, columns: list[np.ndarray]) -> np.ndarray:
        """Moments of the cells from `low` to `high`, of shape (n_columns, N_TERMS, n_cells)."""
        rows = slice(self.starts[low], self.starts[high])
        starts = self.starts[low:high] - self.starts[low]
        sizes = np.diff(self.starts[low : high + 1])
        delta = self.values[rows] - np.repeat(self.centres[low:high], sizes)
        factor = np.exp(-0.5 * delta**2)
        moments = np.empty((len(columns), N_TERMS, high - low))
        for k in range(N_TERMS):
            for of_column, column in zip(moments, columns):
                of_column[k] = np.add.reduceat(column[rows] * factor, starts)
            factor *= delta / (k + 1)
        return moments


def _series(
    z: np.ndarray, first: np.ndarray, stop: np.ndarray, centres: np.ndarray, moments: np.ndarray
) -> np.ndarray:
    """Sums at points z over the cells from `first` to `stop` of each, (n_columns, len(z))."""
    out = np.empty((len(moments), len(z)))
    step = PAIRS_AT_A_TIME // (8 * REACH)
    for start in range(0, len(z), step):
        part = slice(start, start + step)
        cells = first[part, None] + np.arange((stop[part] - first[part]).max())
        inside = cells < stop[part, None]
        cells[~inside] = 0
        d = z[part, None] - centres[cells]
        d[~inside] = 0.0
        kernel = np.exp(-0.5 * d**2)
        kernel *= inside
        for total, of_column in zip(out, moments):
            series = of_column[-1][cells]
            for moment in of_column[-2::-1]:
                series *= d
                series += moment[cells]
            series *= kernel
            total[part] = series.sum(axis=1)
    return out
