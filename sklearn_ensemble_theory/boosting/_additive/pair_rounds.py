"""Boosting by quadrants over chosen pairs of features, on the tables of the pairs.

A *visit* of a pair sums the residuals of the rows in the cells of its table, makes some steps on
the table alone and subtracts their sum from the residuals of the rows: the rows are read once and
written once a visit, whatever the number of steps, with the same result.

Several members, the models of the folds, make their visits together, each with its own residuals.
In a visit steps of both kinds are computed (`quadrant_steps`). The kind that lowers the mean
held-out error of the members more is made by all of them, and none if neither does: then the number
of steps is reduced, and after a visit with a single step the pair is left alone. If D is added to
the table, held-out errors change by the sum over cells of N_held D^2 - 2 D S_held, so that they
need no pass over the rows either.

Steps are fitted to the residuals minus their additive fit in the table of the pair. What is left of
the main effects then stays in the residuals, for a model of main effects that is fitted again to
the targets minus the pairs: this is more precise than main effects from steps on pairs, and pairs
without an interaction get fewer steps.

The loop over visits, `boost_members`, is the same wherever the rows are. In memory each member has
its residuals at hand (`boost_rows`). Of rows in blocks one pass subtracts what the visit before has
added to a table and sums the residuals that are left (`PairPasses`). Where a visit makes no steps
the residuals are the same for the next pair: so a pass after one without steps sums for twice as
many pairs as the one before, in the order in which they will be visited.

*Coarse bins* are merged from the bins of the main effects, and every row is in a cell (a, b).

*Additive parts.* A table T over cells of weight N is split into

    T[a, b] = constant + f[a] + g[b] + U[a, b],    N-weighted sums of U over each row and column = 0

which is the functional ANOVA of the table under the distribution N [Lengerich et al. 2020]. f and g
are the additive least-squares fit to T with weights N: a linear system of the size of one axis, to
which the alternating subtraction of means of the source converges, slowly where the two variables
are correlated.

*Quadrants.* A cut (i, j) divides the cells into the four quadrants ``a <= i`` or not, ``b <= j`` or
not. Least squares on the residuals by a constant in each of them is the learner of FAST [Lou et al.
2013]. Two kinds of steps are made of it, both at a cost of O(A B) on a table of A x B cells:

- ``"best"``: the cut that lowers the squares most, as in boosting of trees with two levels, which
  follows jumps.
- ``"averaged"``: the mean of the fits over all cuts, that is the expected step by a random cut. It
  is linear in the residuals, and fits smooth functions with less variance.

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
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from ..._blocks import Blocks, PassCount, SummedFields
from ..._native.additive import (
    add_pair_tables,
    averaged_steps,
    best_steps,
    change_of_squares,
    subtract_cells,
    sum_cells,
)

# --- tables of pairs ------------------------------------------------------------------------------

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
    """The coarse bin of every code: ``maps[j][code]`` for feature j.

    The bins of `unordered` features are categories, in no order.
    """

    maps: list[np.ndarray]
    n_bins: np.ndarray
    unordered: np.ndarray

    def shape(self, pair: Pair) -> tuple[int, int]:
        return int(self.n_bins[pair[0]]), int(self.n_bins[pair[1]])


# Shares of the weight that are nearer to the end of a group are there.
ROUNDING = 1e-9


def coarse_bins(
    weights: Sequence[np.ndarray],
    n_bins: np.ndarray,
    max_bins: int,
    missing: np.ndarray,
    categorical: np.ndarray,
) -> CoarseBins:
    """Merge neighbouring bins until a feature has at most `max_bins` ordered ones.

    They have about the same weight each. A bin of missing values, the last one, and categories
    stay.
    """
    maps = []
    for j, weight in enumerate(weights):
        n_ordered = int(n_bins[j]) - bool(missing[j])
        if categorical[j] or n_ordered <= max_bins:
            maps.append(np.arange(n_bins[j], dtype=np.uint16))
            continue
        weight = weight[:n_ordered]
        middle = np.cumsum(weight) - weight / 2
        # Whole weights put bins exactly between two groups; rounding must not choose in any unit.
        group = max_bins * middle / max(weight.sum(), 1e-300) + ROUNDING
        group = np.minimum(group, max_bins - 1)
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
    """Split a table (A, B) into a constant, two functions of one variable and the rest.

    Its parts add up to `table` in every cell, also in those of weight 0, where it has to be finite
    too. A row without any weight gives its mean over the distribution of the columns to `row`, and
    the same for columns. O(A B min(A, B)). [Lengerich et al. 2020]
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
    """Least squares by a function of the row plus a function of the column, for weights (A, B).

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


def additive_rest(sums: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weighted sums (..., A, B) of targets minus their additive fits.

    For many tables at once, with one table of weights (A, B) or one for each. The normal equations
    are solved for the functions of the row, those of the column eliminated. A little is added to
    their diagonal: constants, by which a fit is not unique, cancel in the sum of both.
    """
    matrix, shares, of_column = _normal_equations(weight)
    own = matrix.shape[-1]
    y, z = sums.sum(axis=-1), sums.sum(axis=-2)
    target = y - (shares @ z[..., None])[..., 0]
    if weight.ndim == 2:
        f = np.linalg.solve(matrix, target.reshape(-1, own).T).T.reshape(target.shape)
    else:
        f = np.linalg.solve(matrix, target[..., None])[..., 0]
    g = (z - (np.swapaxes(weight, -1, -2) @ f[..., None])[..., 0]) * of_column
    return sums - weight * (f[..., :, None] + g[..., None, :])


class AdditiveRest:
    """`additive_rest` of one target after another, with the same weights (A, B)."""

    def __init__(self, weight: np.ndarray) -> None:
        self.weight = weight
        matrix, self.shares, self.of_column = _normal_equations(weight)
        # LAPACK itself: what SciPy does about its calls would take longer than these.
        *self.factors, _ = dgetrf(matrix)

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        y, z = sums.sum(axis=1), sums.sum(axis=0)
        f, _ = dgetrs(*self.factors, y - self.shares @ z)
        g = (z - f @ self.weight) * self.of_column
        return sums - self.weight * (f[:, None] + g)


def _normal_equations(weight):
    """Those of the functions of the row, and what eliminates the functions of the column."""
    rows, columns = weight.sum(axis=-1), weight.sum(axis=-2)
    of_column = np.where(columns > 0, 1 / np.where(columns > 0, columns, 1.0), 0.0)
    shares = weight * of_column[..., None, :]
    matrix = -shares @ np.swapaxes(weight, -1, -2)
    own = np.arange(rows.shape[-1])
    matrix[..., own, own] += np.where(rows > 0, (1 + _RIDGE) * rows, 1.0)
    return matrix, shares, of_column


def _units(weight):
    """One over the roots of the weights of rows and columns; 0 for those without weight."""
    margins = weight.sum(axis=1), weight.sum(axis=0)
    return [np.where(m > 0, 1 / np.sqrt(np.where(m > 0, m, 1.0)), 0.0) for m in margins]


# --- quadrants ------------------------------------------------------------------------------------


def inverse_weights(weight: np.ndarray) -> np.ndarray:
    """One over the weight of the four quadrants of each cut: (4, ..., A - 1, B - 1).

    Before the cut in both directions, along the first only, along the second only, in neither. 0
    for cuts with a quadrant below `MIN_SHARE` of all weight.
    """
    cumulated = weight.cumsum(axis=-1).cumsum(axis=-2)
    a = cumulated[..., :-1, :-1]
    row, column = cumulated[..., :-1, -1:], cumulated[..., -1:, :-1]
    everything = cumulated[..., -1:, -1:]
    found = np.empty((4, *a.shape))
    found[0] = a
    np.subtract(row, a, out=found[1])
    np.subtract(column, a, out=found[2])
    np.subtract(everything - row, found[2], out=found[3])
    smallest = np.min(found, axis=0, initial=np.inf)
    total = weight.sum(axis=(-2, -1), keepdims=True)
    invalid = ~((smallest > 0) & (smallest >= MIN_SHARE * total))
    found[:, invalid] = np.inf
    return np.divide(1.0, found, out=found)


def quadrant_steps(
    kind: str, sums: np.ndarray, weight: np.ndarray, inverse: np.ndarray, n_steps: int
) -> np.ndarray:
    """The sum of `n_steps` steps of a kind on the residuals in the cells of a table (A, B)."""
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

    For one axis the best order is that of the mean residuals [Fisher 1958]. Those of an interaction
    have mean zero: here it is that of the functions in the best product f(a) g(b), the first
    singular vectors of the residuals. `sums` are of one table (A, B) or of several.
    """
    orders = [np.broadcast_to(np.arange(n), (*sums.shape[:-2], n)) for n in sums.shape[-2:]]
    if any(unordered):
        units = _units(weight)
        u, _, vt = np.linalg.svd(units[0][:, None] * sums * units[1], full_matrices=False)
        for axis, vector in enumerate([u[..., 0], vt[..., 0, :]]):
            if unordered[axis]:
                orders[axis] = np.argsort(vector * units[axis], axis=-1, kind="stable")
    return orders


# --- rounds on the tables -------------------------------------------------------------------------

# Steps of a visit, in the order in which a pair whose held-out error does not fall is given them.
STEPS = (10, 3, 1)
# A fall of the held-out error below this share of it counts as none.
MIN_FALL = 1e-6


class Visit(NamedTuple):
    """Steps that were made: on which pair, of which kind, how many."""

    pair: int
    kind: str
    n_steps: int


@dataclass
class PairPath:
    """What boosting over P pairs has learned for K members.

    - tables: (K, A, B) for each pair, not purified: they may contain parts of one feature.
    - schedule: all visits in which steps were made.
    - held_path, train_path: (n_sweeps + 1, K), the mean squared residual of the held-out and of the
      training rows of each member after 0, 1, ... sweeps over the pairs.
    """

    tables: list[np.ndarray]
    schedule: list[Visit]
    held_path: np.ndarray
    train_path: np.ndarray


class MemberRows(Protocol):
    """The rows of one member, wherever they are; pairs of values are of training, held-out rows."""

    totals: np.ndarray  # their weight, (2,)
    squares: np.ndarray  # their sums of squared residuals, (2,)

    def weights(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Their weight in the cells of pair t: (A, B) each."""
        ...

    def sums(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """The sums of their residuals there."""
        ...

    def subtract(self, t: int, table: np.ndarray) -> None:
        """Subtract a table from their residuals, at the latest when sums are asked for."""

    def forget(self, t: int) -> None:
        """Know that the pair is not asked for again."""


def boost_members(
    rows: Sequence[MemberRows], pairs: Sequence[Pair], bins: CoarseBins, max_sweeps: int = 200
) -> PairPath:
    """Boost until no pair lowers the mean held-out error any further.

    A ValueError if no row of a member is held out, or all of them are.
    """
    for k, member in enumerate(rows):
        if not (member.totals > 0).all():
            raise ValueError(f"Member {k} has no row to train on, or holds out none.")
    members = [_Member(own, pairs, bins) for own in rows]
    tables = [np.zeros((len(members), *bins.shape(pair))) for pair in pairs]
    path = [np.array([member.squares for member in members])]
    totals = np.array([own.totals for own in rows])
    least = MIN_FALL * (path[0] / totals)[:, 1].mean()
    level = dict.fromkeys(range(len(pairs)), 0)
    schedule = []
    for _ in range(max_sweeps):
        if not level:
            break
        # A visit of each pair that is not done, with the number of steps that it has come to.
        for t in list(level):
            best, steps, least_change = None, [], -least
            for kind in LEARNING_RATES:
                visit = Visit(t, kind, STEPS[level[t]])
                proposed = [member.proposal(visit) for member in members]
                change = np.mean([changes[1] for _, changes in proposed] / totals[:, 1])
                if change < least_change:
                    best, steps, least_change = visit, proposed, change
            if best is None:  # no kind helps: fewer steps the next time, or none any more
                level[t] += 1
                if level[t] == len(STEPS):
                    del level[t]
                    for member in members:
                        member.forget(t)
                continue
            schedule.append(best)
            for k, (member, (table, changes)) in enumerate(zip(members, steps)):
                tables[t][k] += table
                member.accept(t, table, changes)
        path.append(np.array([member.squares for member in members]))
    errors = np.maximum(path, 0) / totals
    return PairPath(tables, schedule, errors[:, :, 1], errors[:, :, 0])


class _Member:
    """One model, on the tables of its pairs."""

    def __init__(self, rows: MemberRows, pairs: Sequence[Pair], bins: CoarseBins) -> None:
        self.rows, self.pairs, self.bins = rows, pairs, bins
        self.squares = rows.squares
        self.weights: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.inverses: dict[int, np.ndarray] = {}
        self.additive: dict[int, AdditiveRest] = {}
        self.visited: int | None = None
        self.current: tuple[np.ndarray, ...] = ()  # sums of the residuals in its cells
        self.target: np.ndarray | None = None  # those without what main effects explain

    def proposal(self, visit: Visit) -> tuple[np.ndarray, np.ndarray]:
        """Tell what the steps of a visit, not yet made, would add to the table and squares."""
        t = visit.pair
        if self.visited != t:
            self.current, self.visited, self.target = self.rows.sums(t), t, None
        if t not in self.weights:
            self.weights[t] = self.rows.weights(t)
            self.additive[t] = AdditiveRest(self.weights[t][0])
        weight = self.weights[t][0]
        if self.target is None:
            self.target = self.additive[t](self.current[0])
        target = self.target
        unordered = self.bins.unordered[list(self.pairs[t])]
        if unordered.any():
            # The order changes from visit to visit, and the quadrants with it.
            order = np.ix_(*ordered_bins(target, weight, unordered))
            inverse = inverse_weights(weight[order])
        else:
            order = ...
            if t not in self.inverses:
                self.inverses[t] = inverse_weights(weight)
            inverse = self.inverses[t]
        added = quadrant_steps(visit.kind, target[order], weight[order], inverse, visit.n_steps)
        table = np.empty_like(added)
        table[order] = added
        # |r - D|^2 - |r|^2 of training and held-out rows, from the sums in the cells.
        changes = [
            change_of_squares(table, of_weight, of_sums)
            for of_weight, of_sums in zip(self.weights[t], self.current)
        ]
        return table, np.array(changes)

    def accept(self, t: int, table: np.ndarray, changes: np.ndarray) -> None:
        """Make the steps; the rows follow when another pair is visited."""
        self.squares = self.squares + changes
        self.current = tuple(s - w * table for s, w in zip(self.current, self.weights[t]))
        self.target = None
        self.rows.subtract(t, table)

    def forget(self, t: int) -> None:
        """Free the memory of a pair that is not visited any more."""
        self.visited = None
        self.rows.forget(t)
        for known in (self.weights, self.inverses, self.additive):
            known.pop(t, None)


class PairColumns(NamedTuple):
    """Rows in the tables of pairs, in memory or of one block: what stays the same.

    The coarse bins of the features that are in pairs, and the member that holds out each row.
    """

    columns: dict[int, np.ndarray]
    folds: np.ndarray

    def of(self, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
        """The coarse bins of all rows along both axes of the table of a pair."""
        return self.columns[pair[0]], self.columns[pair[1]]


class PairResiduals(NamedTuple):
    """What changes: residuals of K members, 8 K bytes a row."""

    residuals: np.ndarray | list[np.ndarray]
    weight: np.ndarray | None


def cell_weights(
    rows: PairColumns,
    weight: np.ndarray | None,
    n_folds: int,
    pairs: Sequence[Pair],
    bins: CoarseBins,
) -> list[np.ndarray]:
    """Sum the weight of rows by fold and cell: (n_folds, A, B) for each pair."""
    found = []
    for pair in pairs:
        (a, b), (n_rows, n_columns) = rows.of(pair), bins.shape(pair)
        cell = (rows.folds.astype(np.intp) * n_rows + a) * n_columns
        cell += b
        total = np.bincount(cell, weight, n_folds * n_rows * n_columns).astype(float)
        found.append(total.reshape(n_folds, n_rows, n_columns))
    return found


# --- rows in memory -------------------------------------------------------------------------------


def boost_rows(
    rows: PairColumns,
    state: PairResiduals,
    pairs: Sequence[Pair],
    bins: CoarseBins,
    max_sweeps: int = 200,
) -> PairPath:
    """`boost_members` of rows in memory, whose residuals are replaced by those after all visits.

    A visit costs O(n) and O(A B) a step for each member.
    """
    members = [
        _MemberInMemory(rows, residual, state.weight, k, pairs, bins)
        for k, residual in enumerate(state.residuals)
    ]
    path = boost_members(members, pairs, bins, max_sweeps)
    for member in members:
        member.settle()
    return path


class _MemberInMemory:
    """The rows of one model in memory; they follow the tables when another pair is visited."""

    def __init__(
        self,
        rows: PairColumns,
        residual: np.ndarray,
        weight: np.ndarray | None,
        k: int,
        pairs: Sequence[Pair],
        bins: CoarseBins,
    ) -> None:
        self.rows, self.residual, self.weight = rows, residual, weight
        self.pairs, self.bins = pairs, bins
        self.moved = 0
        self.pending: np.ndarray | None = None  # what is to be subtracted, of that pair
        w = np.ones(len(residual)) if weight is None else weight
        self.is_held, squares = rows.folds == k, w * residual**2
        self.totals, self.squares = (
            np.array([of[~self.is_held].sum(), of[self.is_held].sum()]) for of in (w, squares)
        )

    def weights(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        return self._sums_of(np.ones(len(self.residual)), t)

    def sums(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        self.settle()
        return self._sums_of(self.residual, t)

    def _sums_of(self, values, t):
        pair = self.pairs[t]
        where = *self.rows.of(pair), self.bins.shape(pair)
        return sums_of_cells(values, self.weight, self.is_held, *where)

    def subtract(self, t: int, table: np.ndarray) -> None:
        self.moved, self.pending = t, table if self.pending is None else self.pending + table

    def settle(self) -> None:
        """Let the residuals of the rows follow."""
        if self.pending is not None:
            subtract_cells(self.residual, *self.rows.of(self.pairs[self.moved]), self.pending)
        self.pending = None

    def forget(self, t: int) -> None:
        self.settle()


# --- rows in blocks -------------------------------------------------------------------------------


@dataclass
class ResidualSums(SummedFields):
    """The sums before the first visit, of K members.

    - totals, squares: (K, 2), the weight and the sum of squares of training and held-out rows.
    - weights: (K, A, B) for each pair, of the rows of each fold in its cells.
    """

    totals: np.ndarray
    squares: np.ndarray
    weights: list[np.ndarray]


def residual_sums(
    state: PairResiduals, rows: PairColumns, pairs: Sequence[Pair], bins: CoarseBins
) -> ResidualSums:
    """Sum over the rows of one block before the first visit."""
    n_members = len(state.residuals)
    weight = np.ones(len(rows.folds)) if state.weight is None else state.weight
    totals, squares = np.empty((n_members, 2)), np.empty((n_members, 2))
    for k, residual in enumerate(state.residuals):
        is_held = rows.folds == k
        for sums, values in ((totals, weight), (squares, weight * residual**2)):
            sums[k] = values[~is_held].sum(), values[is_held].sum()
    weights = cell_weights(rows, state.weight, n_members, pairs, bins)
    return ResidualSums(totals, squares, weights)


@dataclass
class SummedTables(SummedFields):
    """Sums in the cells of some pairs, of any kind."""

    tables: list[np.ndarray]


class PairPasses:
    """`boost_members` of rows in blocks (`PairColumns`, `PairResiduals`), by passes over them."""

    def __init__(
        self,
        columns: Blocks,
        residuals: Blocks,
        sums: ResidualSums,
        pairs: Sequence[Pair],
        bins: CoarseBins,
        passes: PassCount,
    ) -> None:
        self.columns, self.residuals, self.of_start = columns, residuals, sums
        self.pairs, self.bins, self.passes = list(pairs), bins, passes
        self.active = list(range(len(self.pairs)))
        self.ahead = 1
        self.found: dict[int, np.ndarray] = {}
        self.pending: tuple[int, np.ndarray] | None = None

    def run(self) -> PairPath:
        """Boost until no pair lowers the mean held-out error any further."""
        members = [_MemberOfPasses(self, k) for k in range(len(self.of_start.totals))]
        return boost_members(members, self.pairs, self.bins)

    def sums(self, t: int) -> np.ndarray:
        """Sum the residuals in the cells of pair t: (K, 2, A, B)."""
        if t in self.found:
            return self.found[t]
        self.passes.n += 1
        first, n_active = self.active.index(t), len(self.active)
        self.ahead = min(2 * self.ahead, n_active) if self.pending is None else 1
        wanted = [self.active[(first + i) % n_active] for i in range(self.ahead)]
        pairs = [self.pairs[each] for each in wanted]
        # Without steps since the last pass, nothing is written.
        if self.pending is None:
            sums = self.residuals.sum(_cell_sums, self.columns, pairs, self.bins)
        else:
            moved, table = self.pending
            change = self.pairs[moved], table
            self.residuals, sums = self.residuals.step(
                _moved_and_summed, self.columns, change, pairs, self.bins
            )
            self.pending = None
        self.found.update(zip(wanted, sums.tables))
        return self.found[t]

    def subtract(self, t: int, k: int, table: np.ndarray) -> None:
        """Subtract a table from the residuals of member k, in the next pass."""
        self.found.clear()  # the sums of all other pairs have changed too
        if self.pending is None:
            self.pending = t, np.zeros((len(self.of_start.totals), *table.shape))
        self.pending[1][k] += table


class _MemberOfPasses:
    """The rows of one model in blocks."""

    def __init__(self, passes: PairPasses, k: int) -> None:
        self.passes, self.k = passes, k
        self.totals, self.squares = passes.of_start.totals[k], passes.of_start.squares[k]

    def weights(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        # Added, not subtracted from those of all rows: a cell without training rows has exactly 0.
        of_folds = self.passes.of_start.weights[t]
        return np.delete(of_folds, self.k, axis=0).sum(axis=0), of_folds[self.k]

    def sums(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        of_train, of_held = self.passes.sums(t)[self.k]
        return of_train, of_held

    def subtract(self, t: int, table: np.ndarray) -> None:
        self.passes.subtract(t, self.k, table)

    def forget(self, t: int) -> None:
        self.passes.active = [each for each in self.passes.active if each != t]


def _cell_sums(
    state: PairResiduals, rows: PairColumns, pairs: Sequence[Pair], bins: CoarseBins
) -> SummedTables:
    """Sum the residuals of one block in the cells of some pairs: (K, 2, A, B) each."""
    tables, held = [], [rows.folds == k for k in range(len(state.residuals))]
    for pair in pairs:
        where = *rows.of(pair), bins.shape(pair)
        members = [
            sums_of_cells(residual, state.weight, is_held, *where)
            for residual, is_held in zip(state.residuals, held)
        ]
        tables.append(np.array(members))
    return SummedTables(tables)


def _moved_and_summed(
    state: PairResiduals,
    rows: PairColumns,
    change: tuple[Pair, np.ndarray],
    pairs: Sequence[Pair],
    bins: CoarseBins,
) -> tuple[PairResiduals, SummedTables]:
    """The residuals minus the change of the table of a pair, and their sums for other pairs."""
    moved, tables = change
    residuals = np.array(state.residuals)  # a copy: a block may be computed again
    for residual, table in zip(residuals, tables):
        subtract_cells(residual, *rows.of(moved), table)
    state = PairResiduals(residuals, state.weight)
    return state, _cell_sums(state, rows, pairs, bins)
