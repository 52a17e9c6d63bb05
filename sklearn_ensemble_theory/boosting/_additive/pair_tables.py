"""Coarse bins of pairs, merged from the bins of the main effects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba


@dataclass(frozen=True)
class CoarseBins:
    """The coarse bin of every code.

    Attributes
    ----------
    maps : list of p uint16 arrays
        ``maps[j][code]`` is the coarse bin of a code of feature j.
    n_bins : int ndarray of shape (p,)
        Numbers of coarse bins.
    unordered : bool ndarray of shape (p,)
        Features whose bins are categories, in no order.
    """

    maps: list[np.ndarray]
    n_bins: np.ndarray
    unordered: np.ndarray

    def lookup(self) -> np.ndarray:
        """All maps in one array (p, m), filled up with zeros."""
        table = np.zeros((len(self.maps), max(map(len, self.maps), default=0)), dtype=np.uint16)
        for row, lookup in zip(table, self.maps):
            row[: len(lookup)] = lookup
        return table


def coarse_bins(codes, n_bins, max_bins, sample_weight=None, *, missing=None, categorical=None):
    """Merge neighbouring bins until a feature has at most `max_bins` ordered ones.

    The merged bins have about the same weight each; a feature that has no more bins keeps them.

    Parameters
    ----------
    codes : unsigned ndarray of shape (n, p), in Fortran order
    n_bins : int ndarray of shape (p,)
        The codes of feature j are below ``n_bins[j]``.
    max_bins : int
    sample_weight : ndarray of shape (n,), default=None
    missing : bool ndarray of shape (p,), default=None
        Features whose last code means a missing value. It keeps a bin of its own, the last one.
    categorical : bool ndarray of shape (p,), default=None
        Features whose codes are categories. All of them keep a bin of their own.

    Returns
    -------
    CoarseBins

    Notes
    -----
    O(n) for each feature that has bins to merge.
    """

    def weight_of(j):
        return np.bincount(codes[:, j], weights=sample_weight, minlength=n_bins[j])

    return merged_bins(weight_of, n_bins, max_bins, missing=missing, categorical=categorical)


def merged_bins(
    weight_of: Callable[[int], np.ndarray],
    n_bins: np.ndarray,
    max_bins: int,
    *,
    missing: np.ndarray | None = None,
    categorical: np.ndarray | None = None,
) -> CoarseBins:
    """`coarse_bins`, from the weight of the rows in each bin.

    Parameters
    ----------
    weight_of : callable
        Of the number of a feature; asked only for those that have bins to merge.
    n_bins, max_bins, missing, categorical
        See `coarse_bins`.
    """
    p = len(n_bins)
    missing = np.zeros(p, dtype=bool) if missing is None else np.asarray(missing)
    unordered = np.zeros(p, dtype=bool) if categorical is None else np.asarray(categorical)
    maps = []
    for j in range(p):
        n_ordered = int(n_bins[j]) - bool(missing[j])
        if unordered[j] or n_ordered <= max_bins:
            maps.append(np.arange(n_bins[j], dtype=np.uint16))
            continue
        weight = weight_of(j)[:n_ordered]
        middle = np.cumsum(weight) - weight / 2
        group = np.minimum(max_bins * middle / max(weight.sum(), 1e-300), max_bins - 1)
        _, merged = np.unique(group.astype(np.intp), return_inverse=True)
        last = [merged[-1] + 1] * bool(missing[j])
        maps.append(np.concatenate([merged, last]).astype(np.uint16))
    # Not the codes that occur: a test row may have another one.
    found = np.array([int(m[-1]) + 1 if len(m) else 0 for m in maps], dtype=np.intp)
    return CoarseBins(maps, found, unordered)


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


# A quadrant below this share of the weight is not fitted.
MIN_SHARE = 1e-4
# The fits of one cut are projections; so their mean has eigenvalues between 0 and 1, and steps by
# all of it do not overshoot.
LEARNING_RATES = {"averaged": 1.0, "best": 0.1}


def inverse_weights(weight: np.ndarray, min_share: float = MIN_SHARE) -> np.ndarray:
    """One over the weight of the four quadrants of each cut: (4, A - 1, B - 1).

    0 for cuts with a quadrant below `min_share` of all weight. The quadrants are: before the cut in
    both directions, before it along the first only, along the second only, and in neither.
    """
    quadrants = quadrant_sums(weight)
    smallest = np.min(quadrants, axis=0, initial=np.inf)
    valid = (smallest > 0) & (smallest >= min_share * weight.sum())
    return np.where(valid, 1 / np.where(valid, quadrants, 1.0), 0.0)


def quadrant_sums(sums: np.ndarray) -> np.ndarray:
    """Sums over the four quadrants of each cut, of tables (..., A, B): (4, ..., A - 1, B - 1)."""
    cumulated = sums.cumsum(axis=-1).cumsum(axis=-2)
    a = cumulated[..., :-1, :-1]
    row, column = cumulated[..., :-1, -1:], cumulated[..., -1:, :-1]
    everything = cumulated[..., -1:, -1:]
    return np.stack([a, row - a, column - a, everything - row - column + a])


def quadrant_steps(kind, sums, weight, inverse, n_steps, rate=None):
    """The sum of `n_steps` steps on the residuals of a table.

    Parameters
    ----------
    kind : {"averaged", "best"}
    sums : ndarray of shape (A, B)
        Weighted sums of the residuals in the cells.
    weight : ndarray of shape (A, B)
        Weights of the cells.
    inverse : ndarray of shape (4, A - 1, B - 1)
        From `inverse_weights`.
    n_steps : int
    rate : float, default=None
        Share of each fit that is added; by default that of `LEARNING_RATES`.

    Returns
    -------
    added : ndarray of shape (A, B)
    """
    rate = LEARNING_RATES[kind] if rate is None else rate
    added = np.zeros(sums.shape)
    if not inverse.any():
        return added
    sums = sums.copy()
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._pairs import quadrant_loops as loops
    else:
        loops = _ArraySteps
    steps = {"averaged": loops.averaged_steps, "best": loops.best_steps}[kind]
    steps(sums, weight, inverse, rate, n_steps, added)
    return added


class _ArraySteps:
    """The other route of `quadrant_loops`."""

    @staticmethod
    def averaged_steps(sums, weight, inverse, rate, n_steps, added):
        share = rate / np.count_nonzero(inverse[0])
        for _ in range(n_steps):
            a, b, c, d = quadrant_sums(sums) * inverse
            step = np.full(sums.shape, d.sum())
            step[:-1] += _from_the_end((b - d).sum(axis=1), 0)[:, None]
            step[:, :-1] += _from_the_end((c - d).sum(axis=0), 0)
            step[:-1, :-1] += _from_the_end(_from_the_end(a - b - c + d, 1), 0)
            step *= share
            added += step
            sums -= weight * step

    @staticmethod
    def best_steps(sums, weight, inverse, rate, n_steps, added):
        for _ in range(n_steps):
            quadrants = quadrant_sums(sums)
            a, b, c, d = quadrants * quadrants * inverse
            gains = a + b + c + d
            i, j = np.unravel_index(gains.argmax(), gains.shape)
            if not gains[i, j] > 0:
                return
            values = rate * quadrants[:, i, j] * inverse[:, i, j]
            first, second = np.arange(len(sums)) > i, np.arange(sums.shape[1]) > j
            step = values.reshape(2, 2)[first.astype(int)[:, None], second.astype(int)]
            added += step
            sums -= weight * step


def _from_the_end(values, axis):
    """Cumulative sums that begin at the end of an axis."""
    return np.flip(np.flip(values, axis).cumsum(axis), axis)


def ordered_bins(sums, weight, unordered):
    """The order of the bins of both axes in which cuts are made.

    Categories have no order; for one axis, the best one for a cut is that of the mean residuals
    [Fisher 1958]. But the residuals of an interaction have mean zero along each axis: here the
    order is that of the functions in the best product f(a) g(b), the first singular vectors of the
    residuals.

    Parameters
    ----------
    sums : ndarray of shape (A, B)
        Weighted sums of the residuals in the cells.
    weight : ndarray of shape (A, B)
        Weights of the cells.
    unordered : sequence of two bool
        Axes whose bins are categories. The others keep their order.

    Returns
    -------
    list of two int ndarrays
    """
    orders = [np.arange(n) for n in sums.shape]
    if any(unordered):
        masses = [weight.sum(axis=1), weight.sum(axis=0)]
        units = [np.where(m > 0, 1 / np.sqrt(np.where(m > 0, m, 1.0)), 0.0) for m in masses]
        u, _, vt = np.linalg.svd(units[0][:, None] * sums * units[1], full_matrices=False)
        for axis, vector in enumerate([u[:, 0], vt[0]]):
            if unordered[axis]:
                orders[axis] = np.argsort(vector * units[axis], kind="stable")
    return orders
