"""Functions of two variables without the parts that depend on one of them.

A table T over cells of weight N is split into

    T[a, b] = constant + f[a] + g[b] + U[a, b],    N-weighted sums of U over each row and column = 0

which is the functional ANOVA of the table under the distribution N [Lengerich et al. 2020]. f and g
are the additive least-squares fit to T with weights N: a linear system of the size of one axis,
solved at once. Alternating subtraction of row and column means, the algorithm of the source,
converges to it, slowly where the two variables are correlated.

References
----------
B. Lengerich, S. Tan, C.-H. Chang, G. Hooker, R. Caruana (2020). "Purifying interaction effects with
the functional ANOVA". AISTATS.
"""

from typing import NamedTuple

import numpy as np

# Directions in which the rows and the columns are correlated up to this distance from 1 count as
# cells that are not connected: the additive fit is not unique there.
_CONNECTED = 1e-13
# How often the remaining margins are fitted again, against the rounding of the first solution.
_REFINEMENTS = 3


class PureTable(NamedTuple):
    """The parts of a table.

    Attributes
    ----------
    table : ndarray of shape (A, B)
        U, with weighted means 0 along both axes.
    row : ndarray of shape (A,)
        f, with weighted mean 0.
    column : ndarray of shape (B,)
        g, with weighted mean 0.
    constant : float
    """

    table: np.ndarray
    row: np.ndarray
    column: np.ndarray
    constant: float


def purify(table: np.ndarray, weight: np.ndarray) -> PureTable:
    """Split a table into a constant, two functions of one variable and the rest.

    Parameters
    ----------
    table : ndarray of shape (A, B)
        Finite values, also in cells without weight.
    weight : ndarray of shape (A, B)
        Non-negative, not all zero.

    Returns
    -------
    PureTable
        Its parts add up to `table` in every cell, also in those of weight 0. A row without any
        weight gives its mean over the distribution of the columns to `row`, and the same for
        columns.

    Raises
    ------
    ValueError
        If no cell has weight.

    Notes
    -----
    O(A B min(A, B)). [Lengerich et al. 2020]
    """
    row_weight, column_weight = weight.sum(axis=1), weight.sum(axis=0)
    total = row_weight.sum()
    if not total > 0:
        raise ValueError("weight must be positive in some cell.")
    row, column = np.zeros(len(row_weight)), np.zeros(len(column_weight))
    rest = table.astype(np.float64)
    additive = AdditiveFit(weight)
    for _ in range(1 + _REFINEMENTS):
        f, g = additive(rest * weight)
        rest = rest - f[:, None] - g
        row, column = row + f, column + g
    empty = row_weight == 0
    means = rest[empty] @ column_weight / total
    row[empty] += means
    rest[empty] -= means[:, None]
    empty = column_weight == 0
    means = row_weight @ rest[:, empty] / total
    column[empty] += means
    rest[:, empty] -= means
    constant = 0.0
    for effect, own in ((row, row_weight), (column, column_weight)):
        mean = effect @ own / total
        effect -= mean
        constant += mean
    return PureTable(rest, row, column, float(constant))


class AdditiveFit:
    """Least squares by a function of the row plus a function of the column.

    Parameters
    ----------
    weight : ndarray of shape (A, B)
        Weights of the cells.

    Notes
    -----
    With r and c the weights of rows and columns, the normal equations in ``sqrt(r) f`` and
    ``sqrt(c) g`` have the matrix ``[[1, K], [K', 1]]``, where ``K = N / sqrt(r c')``. Its singular
    values are the correlations of the variables; those equal to 1 belong to constants, one for each
    connected set of cells.
    """

    def __init__(self, weight: np.ndarray) -> None:
        self.weight = weight
        self.row_unit = _inverse_root(weight.sum(axis=1))
        self.column_unit = _inverse_root(weight.sum(axis=0))
        correlation = self.row_unit[:, None] * weight * self.column_unit
        self.u, self.sigma, self.vt = np.linalg.svd(correlation, full_matrices=False)

    def __call__(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The functions f and g for the weighted sums of a target in the cells.

        Parameters
        ----------
        sums : ndarray of shape (..., A, B)
            Of one table or of several.

        Returns
        -------
        row : ndarray of shape (..., A)
        column : ndarray of shape (..., B)
            Of all solutions a small one; 0 for rows and columns without weight.
        """
        y = sums.sum(axis=-1) * self.row_unit
        z = sums.sum(axis=-2) * self.column_unit
        # In the basis of the singular vectors: f + sigma g = y, sigma f + g = z.
        y_u, z_v = y @ self.u, z @ self.vt.T
        unique = 1 - self.sigma > _CONNECTED
        rest = np.where(unique, 1 - self.sigma**2, 1.0)
        f = np.where(unique, (y_u - self.sigma * z_v) / rest, y_u / 2)
        g = np.where(unique, (z_v - self.sigma * y_u) / rest, z_v / 2)
        # Orthogonal to all singular vectors f = y and g = z: neither depends on the other.
        row = (y + (f - y_u) @ self.u.T) * self.row_unit
        column = (z + (g - z_v) @ self.vt) * self.column_unit
        return row, column

    def rest(self, sums: np.ndarray) -> np.ndarray:
        """The weighted sums of the target minus its additive fit."""
        row, column = self(sums)
        return sums - self.weight * (row[..., :, None] + column[..., None, :])


def _inverse_root(weight):
    return np.where(weight > 0, 1 / np.sqrt(np.where(weight > 0, weight, 1.0)), 0.0)
