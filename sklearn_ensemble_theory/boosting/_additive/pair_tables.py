"""Tables of pairs of features: their coarse bins and cells, their additive parts, their quadrants.

*Coarse bins* are merged from the bins of the main effects, and every row is in a cell (a, b).

*Additive parts.* A table T over cells of weight N is split into

    T[a, b] = constant + f[a] + g[b] + U[a, b],    N-weighted sums of U over each row and column = 0

which is the functional ANOVA of the table under the distribution N [Lengerich et al. 2020]. f and g
are the additive least-squares fit to T with weights N: a linear system of the size of one axis,
solved at once. Alternating subtraction of row and column means, the algorithm of the source,
converges to it, slowly where the two variables are correlated.

*Quadrants.* A cut (i, j) divides the cells into the four quadrants ``a <= i`` or not, ``b <= j`` or
not. Least squares on the residuals by a constant in each of them is the learner of FAST [Lou et al.
2013]. Two kinds of steps are made of it:

- ``"best"``: the cut that lowers the squares most, as in boosting of trees with two levels.
- ``"averaged"``: the mean of the fits over all cuts, that is the expected step by a random cut. It
  is linear in the residuals, and smoother than any single fit.

The first kind follows jumps, the second smooth functions with less variance. Both cost O(A B) on a
table of A x B cells, whatever the number of rows.

References
----------
Y. Lou, R. Caruana, J. Gehrke, G. Hooker (2013). "Accurate intelligible models with pairwise
interactions". KDD.

B. Lengerich, S. Tan, C.-H. Chang, G. Hooker, R. Caruana (2020). "Purifying interaction effects with
the functional ANOVA". AISTATS.

W. D. Fisher (1958). "On grouping for maximum homogeneity". *Journal of the American Statistical
Association* 53.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._native.additive import (
    add_pair_tables,
    averaged_steps,
    best_steps,
    sum_cells,
)

# Directions in which the rows and the columns are correlated up to this distance from 1 count as
# cells that are not connected: the additive fit is not unique there.
_CONNECTED = 1e-13
# What is added to normal equations, as a share of their diagonal, where a fit need not be unique.
_RIDGE = 1e-12
# How often the remaining margins are fitted again, against the rounding of the first solution.
_REFINEMENTS = 3
# A quadrant below this share of the weight is not fitted.
MIN_SHARE = 1e-4
# The fits of one cut are projections; so their mean has eigenvalues between 0 and 1, and steps by
# all of it do not overshoot.
LEARNING_RATES = {"averaged": 1.0, "best": 0.1}

Pair = tuple[int, int]


# --- coarse bins and cells ------------------------------------------------------------------------


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

    def shape(self, pair: Pair) -> tuple[int, int]:
        return int(self.n_bins[pair[0]]), int(self.n_bins[pair[1]])


def coarse_bins(
    weights: Sequence[np.ndarray],
    n_bins: np.ndarray,
    max_bins: int,
    missing: np.ndarray,
    categorical: np.ndarray,
) -> CoarseBins:
    """Merge neighbouring bins until a feature has at most `max_bins` ordered ones.

    The merged bins have about the same weight each; a feature that has no more bins keeps them, as
    a bin of missing values (the last one) and categories do. `weights` are those of the rows in
    each bin of each feature.
    """
    maps = []
    for j, weight in enumerate(weights):
        n_ordered = int(n_bins[j]) - bool(missing[j])
        if categorical[j] or n_ordered <= max_bins:
            maps.append(np.arange(n_bins[j], dtype=np.uint16))
            continue
        weight = weight[:n_ordered]
        middle = np.cumsum(weight) - weight / 2
        group = np.minimum(max_bins * middle / max(weight.sum(), 1e-300), max_bins - 1)
        _, merged = np.unique(group.astype(np.intp), return_inverse=True)
        last = [merged[-1] + 1] * bool(missing[j])
        maps.append(np.concatenate([merged, last]).astype(np.uint16))
    # Not the codes that occur: a test row may have another one.
    found = np.array([int(m[-1]) + 1 if len(m) else 0 for m in maps], dtype=np.intp)
    return CoarseBins(maps, found, np.asarray(categorical, dtype=bool))


def coarse_columns(
    codes: np.ndarray, n_bins: np.ndarray, pairs: Sequence[Pair], bins: CoarseBins
) -> dict[int, np.ndarray]:
    """Put the rows into the coarse bins of each feature that is in a pair."""
    columns: dict[int, np.ndarray] = {}
    for j in sorted({j for pair in pairs for j in pair}):
        columns[j] = np.ascontiguousarray(codes[:, j])
        if bins.n_bins[j] < n_bins[j]:
            lookup = bins.maps[j].astype(np.uint8 if bins.n_bins[j] <= 2**8 else np.uint16)
            columns[j] = lookup.take(codes[:, j])
    return columns


def pair_tables(
    codes: np.ndarray, bins: CoarseBins, pairs: Sequence[Pair], values: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Sum three values in the cells of each pair: a list of arrays of shape (3, A, B)."""
    shapes = [bins.shape(pair) for pair in pairs]
    maps = np.zeros((len(bins.maps), max(map(len, bins.maps), default=0)), dtype=np.uint16)
    for row, lookup in zip(maps, bins.maps):
        row[: len(lookup)] = lookup
    sizes = [a * b for a, b in shapes]
    tables = np.zeros((sum(sizes), 3))
    given = codes.T, maps, bins.n_bins, np.array(pairs, np.intp)
    add_pair_tables(*given, *values, tables)
    found = np.split(tables, np.cumsum(sizes)[:-1])
    return [np.ascontiguousarray(t.T).reshape(3, *s) for t, s in zip(found, shapes)]


def sums_of_cells(
    values: np.ndarray,
    weight: np.ndarray | None,
    is_held: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    shape: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Sum, weighted, in the cells (A, B): rows that are not held out, then those that are."""
    sums = np.zeros((2, *shape))
    sum_cells(values, weight, is_held, a, b, sums)
    return sums[0], sums[1]


# --- additive parts -------------------------------------------------------------------------------


class PureTable(NamedTuple):
    """The parts of a table: U (A, B), f (A,) and g (B,), of weighted means 0, and the constant."""

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
        self.row_unit, self.column_unit = _units(weight)
        correlation = self.row_unit[:, None] * weight * self.column_unit
        self.u, self.sigma, self.vt = np.linalg.svd(correlation, full_matrices=False)

    def __call__(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The functions f (..., A) and g (..., B), for weighted sums (..., A, B) of a target.

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


def additive_rest(sums: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weighted sums (..., A, B) of targets minus their additive fits.

    For many tables at once, with one table of weights (A, B) or one for each. The normal equations
    are solved for the functions of the row, those of the column eliminated. A little is added to
    their diagonal: constants, by which a fit is not unique, cancel in the sum of both.
    """
    rows, columns = weight.sum(axis=-1), weight.sum(axis=-2)
    of_column = np.where(columns > 0, 1 / np.where(columns > 0, columns, 1.0), 0.0)
    shares = weight * of_column[..., None, :]
    matrix = -shares @ np.swapaxes(weight, -1, -2)
    own = np.arange(rows.shape[-1])
    matrix[..., own, own] += np.where(rows > 0, (1 + _RIDGE) * rows, 1.0)
    y, z = sums.sum(axis=-1), sums.sum(axis=-2)
    target = y - (shares @ z[..., None])[..., 0]
    if weight.ndim == 2:
        f = np.linalg.solve(matrix, target.reshape(-1, len(own)).T).T.reshape(target.shape)
    else:
        f = np.linalg.solve(matrix, target[..., None])[..., 0]
    g = (z - (np.swapaxes(weight, -1, -2) @ f[..., None])[..., 0]) * of_column
    return sums - weight * (f[..., :, None] + g[..., None, :])


def _units(weight):
    """One over the roots of the weights of rows and columns; 0 for those without weight."""
    margins = weight.sum(axis=1), weight.sum(axis=0)
    return [np.where(m > 0, 1 / np.sqrt(np.where(m > 0, m, 1.0)), 0.0) for m in margins]


# --- quadrants ------------------------------------------------------------------------------------


def inverse_weights(weight: np.ndarray, min_share: float = MIN_SHARE) -> np.ndarray:
    """One over the weight of the four quadrants of each cut: (4, ..., A - 1, B - 1).

    They are: before the cut in both directions, before it along the first only, along the second
    only, and in neither. 0 for cuts with a quadrant below `min_share` of all weight.
    """
    cumulated = weight.cumsum(axis=-1).cumsum(axis=-2)
    a = cumulated[..., :-1, :-1]
    row, column = cumulated[..., :-1, -1:], cumulated[..., -1:, :-1]
    everything = cumulated[..., -1:, -1:]
    quadrants = np.stack([a, row - a, column - a, everything - row - column + a])
    smallest = np.min(quadrants, axis=0, initial=np.inf)
    total = weight.sum(axis=(-2, -1), keepdims=True)
    valid = (smallest > 0) & (smallest >= min_share * total)
    return np.where(valid, 1 / np.where(valid, quadrants, 1.0), 0.0)


def quadrant_steps(
    kind: str, sums: np.ndarray, weight: np.ndarray, inverse: np.ndarray, n_steps: int
) -> np.ndarray:
    """The sum of `n_steps` steps of a kind on the residuals of a table: (A, B).

    `sums` and `weight` are those of the residuals in the cells, `inverse` is from
    `inverse_weights`.
    """
    added = np.zeros(sums.shape)
    if not inverse.any():
        return added
    steps = {"averaged": averaged_steps, "best": best_steps}[kind]
    steps(sums.copy(), weight, inverse, LEARNING_RATES[kind], n_steps, added)
    return added


def ordered_bins(
    sums: np.ndarray, weight: np.ndarray, unordered: Sequence[bool] | np.ndarray
) -> list[np.ndarray]:
    """The order of the bins of both axes in which cuts are made: a new one for `unordered` axes.

    Categories have no order; for one axis, the best one for a cut is that of the mean residuals
    [Fisher 1958]. But the residuals of an interaction have mean zero along each axis: here the
    order is that of the functions in the best product f(a) g(b), the first singular vectors of the
    residuals. `sums` (..., A, B) are the weighted sums of the residuals in the cells, of one table
    or of several, which have orders (..., A) and (..., B).
    """
    orders = [np.broadcast_to(np.arange(n), (*sums.shape[:-2], n)) for n in sums.shape[-2:]]
    if any(unordered):
        units = _units(weight)
        u, _, vt = np.linalg.svd(units[0][:, None] * sums * units[1], full_matrices=False)
        for axis, vector in enumerate([u[..., 0], vt[..., 0, :]]):
            if unordered[axis]:
                orders[axis] = np.argsort(vector * units[axis], axis=-1, kind="stable")
    return orders
