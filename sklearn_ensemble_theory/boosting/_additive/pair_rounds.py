"""Boosting by quadrants over chosen pairs of features, on the tables of the pairs.

A *visit* of a pair sums the residuals of the rows in the cells of its table, makes some steps on
the table alone and subtracts their sum from the residuals of the rows: the rows are read once
and written once a visit, whatever the number of steps. Boosting that touches the rows in every step
gives the same function.

Several members, the models of the folds or of bags, make their visits together, each with its own
residuals. In a visit steps of both kinds are computed (`quadrant_steps`). The kind that lowers the
mean held-out error of the members more is made by all of them, and none if neither does: then the
number of steps is reduced, and after a visit with a single step the pair is left alone. Held-out
errors change by

    sum over cells of   N_held D^2 - 2 D S_held

if D is added to the table, so that they need no pass over the rows either. A pair that is not
needed in the model gets no or few steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._blocks import Blocks, PassCount, SummedFields
from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory.boosting._additive.pair_tables import (
    LEARNING_RATES,
    AdditiveFit,
    CoarseBins,
    coarse_bins,
    coarse_columns,
    inverse_weights,
    ordered_bins,
    quadrant_steps,
    sums_of_cells,
    take_from_cells,
)

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

    Attributes
    ----------
    tables : list of P ndarrays of shape (K, A, B)
        The functions of the pairs, not purified: they may contain parts that depend on one of the
        two features.
    schedule : list of Visit
        All visits in which steps were made.
    held_path, train_path : ndarray of shape (n_sweeps + 1, K)
        Mean squared residual of the held-out and of the training rows of each member after 0, 1,
        ... sweeps over the pairs; nan for a member without held-out rows.
    stages : dict of lists of P ndarrays of shape (K, A, B)
        The tables after the numbers of sweeps that were asked for.
    """

    tables: list[np.ndarray]
    schedule: list[Visit]
    held_path: np.ndarray
    train_path: np.ndarray
    stages: dict[int, list[np.ndarray]] = field(default_factory=dict)


class PairBoost:
    """Boosting over chosen pairs, for any number of members.

    Parameters
    ----------
    codes : unsigned ndarray of shape (n, p), in Fortran order
    n_bins : int ndarray of shape (p,)
        The codes of feature j are below ``n_bins[j]``.
    pairs : sequence of P tuples (a, b)
    sample_weight : ndarray of shape (n,), default=None
        Positive weights of the rows.
    bins : CoarseBins, default=None
        By default those of `max_bins`.
    max_bins : int, default=64
        Bins of a feature in the tables, at most; categories and missing values are not counted.
    missing, categorical : bool ndarray of shape (p,), default=None
        See `coarse_bins`.
    pure : bool, default=True
        Whether the steps of a visit are fitted to the residuals minus their additive fit in the
        table of the pair. What is left of the main effects then stays in the residuals, for a
        model of main effects that is fitted again to the targets minus the pairs: this is more
        precise than main effects from steps on pairs, and pairs without an interaction get fewer
        steps. With False the pairs also correct the main effects.
    n_threads : int, default=1
        Members that are computed at the same time. The results do not depend on it.

    Attributes
    ----------
    bins : CoarseBins
        ``tables[t][maps[a][code of a], maps[b][code of b]]`` is the value of pair t = (a, b).

    Notes
    -----
    Memory: one byte per row for each feature in `pairs` whose bins are merged, and the residuals of
    the members. A visit costs O(n) and O(A B) a step for each member.
    """

    def __init__(
        self,
        codes,
        n_bins,
        pairs,
        sample_weight=None,
        *,
        bins=None,
        max_bins=64,
        missing=None,
        categorical=None,
        pure=True,
        n_threads=1,
    ):
        self.pure = pure
        self.pairs = [(int(a), int(b)) for a, b in pairs]
        if bins is None:
            bins = coarse_bins(
                codes, n_bins, max_bins, sample_weight, missing=missing, categorical=categorical
            )
        self.bins = bins
        self.sample_weight = sample_weight
        self.team = ThreadTeam(n_threads)
        self.n_rows = len(codes)
        self._columns = coarse_columns(codes, n_bins, self.pairs, bins)

    def shape(self, t):
        """The shape (A, B) of the table of pair t."""
        return tuple(int(self.bins.n_bins[j]) for j in self.pairs[t])

    def columns(self, t):
        """The coarse bins of all rows along both axes of the table of pair t."""
        a, b = self.pairs[t]
        return self._columns[a], self._columns[b]

    def cell_weights(self, t):
        """The weight of all rows in each cell of pair t: (A, B), the weights for `purify`."""
        return _RowMember(self, np.ones(self.n_rows), None, 0, None).weights(t)[0]

    def run(self, residuals, folds=None, *, held_out=None, counts=None, max_sweeps=200, stages=()):
        """Boost until no pair lowers the mean held-out error any further.

        Parameters
        ----------
        residuals : sequence of K float64 ndarrays of shape (n,)
            The residuals of each member's own model of main effects, on all rows, or an array of
            shape (K, n). They are replaced by the residuals after all visits.
        folds : int ndarray of shape (n,), default=None
            Member k trains on the rows of other folds than k, and holds out fold k.
        held_out : bool ndarray of shape (K, n), default=None
            Instead of `folds`: the rows that each member holds out.
        counts : int ndarray of shape (K, n), default=None
            How often each row is in the training set of each member, for bootstrap samples. Rows
            that are not held out must be there at least once.
        max_sweeps : int, default=200
        stages : collection of int, default=()
            Numbers of sweeps after which the tables are kept.

        Returns
        -------
        PairPath

        Raises
        ------
        ValueError
            If no row of a member is held out, or all of them are.
        """
        members = []
        for k, residual in enumerate(residuals):
            if held_out is None:
                group, own = folds, k
            else:
                group, own = np.asarray(held_out[k]).view(np.uint8), 1
            count = None if counts is None else counts[k]
            members.append(self._member(residual, group, own, count))
        return boost_members(members, self._shapes(), max_sweeps, stages, self.team)

    def replay(self, residual, schedule):
        """Make the visits of a schedule on all rows, for instance after `run` on folds.

        `residual` is replaced by the residuals after them.

        Returns
        -------
        tables : list of P ndarrays of shape (A, B)
        """
        member = self._member(residual, None, 0, None)
        tables = [np.zeros(shape) for shape in self._shapes()]
        for visit in schedule:
            step = member.proposal(visit)
            tables[visit.pair] += step.table
            member.accept(visit.pair, step)
        member.settle()
        return tables

    def _member(self, residual, group, own, count):
        rows = _RowMember(self, residual, group, own, count)
        return TableMember(rows, self.pairs, self.bins, self.pure)

    def _shapes(self):
        return [self.shape(t) for t in range(len(self.pairs))]


def boost_members(members, shapes, max_sweeps=200, stages=(), team=None):
    """Boost until no pair lowers the mean held-out error any further.

    Parameters
    ----------
    members : sequence of K TableMember
    shapes : list of P tuples (A, B)
    max_sweeps : int, default=200
    stages : collection of int, default=()
        Numbers of sweeps after which the tables are kept.
    team : ThreadTeam, default=None

    Returns
    -------
    PairPath

    Raises
    ------
    ValueError
        If no row of a member is held out, or all of them are.
    """
    team = ThreadTeam(1) if team is None else team
    for k, member in enumerate(members):
        if not (member.totals > 0).all():
            raise ValueError(f"Member {k} has no row to train on, or holds out none.")
    tables = [np.zeros((len(members), *shape)) for shape in shapes]
    path = [np.array([member.squares for member in members])]
    totals = np.array([member.totals for member in members])
    least = MIN_FALL * (path[0] / totals)[:, 1].mean()
    level = dict.fromkeys(range(len(shapes)), 0)
    schedule, kept = [], {}
    if 0 in stages:
        kept[0] = [table.copy() for table in tables]
    for sweep in range(1, max_sweeps + 1):
        if not level:
            break
        for t in list(level):
            best, least_change = None, -least
            for kind in LEARNING_RATES:
                visit = Visit(t, kind, STEPS[level[t]])
                steps = team.run(TableMember.proposal, [(member, visit) for member in members])
                change = np.mean([s.changes[1] for s in steps] / totals[:, 1])
                if change < least_change:
                    best, least_change = (visit, steps), change
            if best is None:
                level[t] += 1
                if level[t] == len(STEPS):
                    del level[t]
                    for member in members:
                        member.forget(t)
                continue
            visit, steps = best
            schedule.append(visit)
            for k, step in enumerate(steps):
                tables[t][k] += step.table
            team.run(TableMember.accept, [(m, t, s) for m, s in zip(members, steps)])
        path.append(np.array([member.squares for member in members]))
        if sweep in stages:
            kept[sweep] = [table.copy() for table in tables]
    team.run(TableMember.settle, [(member,) for member in members])
    errors = np.maximum(path, 0) / totals
    return PairPath(tables, schedule, errors[:, :, 1], errors[:, :, 0], kept)


class _Step(NamedTuple):
    """What would be added to a table, and the changes of the squares of training, held-out rows."""

    table: np.ndarray
    changes: np.ndarray


class TableMember:
    """One model, on the tables of its pairs.

    Parameters
    ----------
    rows : object
        Has `totals` and `squares`, the weight and the sum of squares of the training rows and of
        the held-out ones; `weights(t)` and `sums(t)`, the weights and the sums of the residuals in
        the cells of pair t, of both; `subtract(t, table)` from the residuals; `settle()` and
        `forget(t)`, after which the pair is not asked for again.
    pairs : sequence of P tuples (a, b)
    bins : CoarseBins
    pure : bool, default=True
        See `PairBoost`.
    """

    def __init__(self, rows, pairs, bins, pure=True):
        self.rows, self.pairs, self.bins, self.pure = rows, pairs, bins, pure
        self.totals, self.squares = rows.totals, rows.squares
        self.weights, self.inverses, self.additive = {}, {}, {}
        self.visited, self.current = None, None

    def sums(self, t):
        """Sums of the residuals in the cells: of the training rows and of the held-out ones."""
        if self.visited != t:
            self.current = self.rows.sums(t)
            self.visited = t
        if t not in self.weights:
            self.weights[t] = self.rows.weights(t)
        return self.current

    def proposal(self, visit):
        """The steps of a visit, not yet made."""
        t = visit.pair
        sums, held = self.sums(t)
        weight, held_weight = self.weights[t]
        target = sums
        if self.pure:
            if t not in self.additive:
                self.additive[t] = AdditiveFit(weight)
            target = self.additive[t].rest(sums)
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
        changes = [
            np.sum(table * (of_weight * table - 2 * of_sums))
            for of_weight, of_sums in [(weight, sums), (held_weight, held)]
        ]
        return _Step(table, np.array(changes))

    def accept(self, t, step):
        """Make the steps; the rows follow when another pair is visited."""
        self.squares = self.squares + step.changes
        self.current = tuple(s - w * step.table for s, w in zip(self.current, self.weights[t]))
        self.rows.subtract(t, step.table)

    def forget(self, t):
        """Free the memory of a pair that is not visited any more."""
        self.settle()
        self.rows.forget(t)
        self.weights.pop(t, None)
        self.inverses.pop(t, None)
        self.additive.pop(t, None)

    def settle(self):
        """Let the residuals of the rows follow."""
        self.rows.settle()
        self.visited = None


class _RowMember:
    """The rows of one model in memory: its residuals and its weights."""

    def __init__(self, boost, residual, group, own, count):
        self.boost = boost
        self.residual = residual
        self.group = np.zeros(len(residual), dtype=np.uint8) if group is None else group
        self.own = 1 if group is None else own
        weight = boost.sample_weight
        if count is not None:
            times = np.maximum(count, 1)  # held-out rows count once
            weight = times.astype(np.float64) if weight is None else weight * times
        self.weight = weight
        self.pair, self.pending = None, None
        is_held = self.group == self.own
        w = np.ones(len(residual)) if weight is None else weight
        self.totals = np.array([w[~is_held].sum(), w[is_held].sum()])
        w = w * residual**2
        self.squares = np.array([w[~is_held].sum(), w[is_held].sum()])

    def weights(self, t):
        return self._summed(np.ones(len(self.residual)), t)

    def sums(self, t):
        self.settle()
        return self._summed(self.residual, t)

    def _summed(self, values, t):
        a, b = self.boost.columns(t)
        shape = self.boost.shape(t)
        return sums_of_cells(values, self.weight, self.group, self.own, a, b, shape)

    def subtract(self, t, table):
        self.pair, self.pending = t, table if self.pending is None else self.pending + table

    def settle(self):
        if self.pending is not None:
            take_from_cells(self.residual, *self.boost.columns(self.pair), self.pending)
        self.pending = None

    def forget(self, t):
        pass


class PairColumns(NamedTuple):
    """The rows of a chunk, which stay the same.

    Attributes
    ----------
    columns : dict of unsigned arrays of shape (n,)
        The coarse bins of the features that are in pairs.
    folds : unsigned array of shape (n,)
        The member that holds out the row.
    """

    columns: dict[int, np.ndarray]
    folds: np.ndarray


class PairResiduals(NamedTuple):
    """What changes: 8 K bytes a row.

    Attributes
    ----------
    residuals : float64 array of shape (K, n)
        Of the members.
    weight : float64 array of shape (n,) or None
    """

    residuals: np.ndarray
    weight: np.ndarray | None


@dataclass
class ResidualSums(SummedFields):
    """The sums before the first visit, of K members.

    Attributes
    ----------
    totals, squares : array of shape (K, 2)
        The weight and the sum of squares of the training rows and of the held-out ones.
    weights : list of P arrays of shape (K, A, B)
        The weight of the rows of each fold in the cells of the pairs.
    """

    totals: np.ndarray
    squares: np.ndarray
    weights: list[np.ndarray]


@dataclass
class _CellSums(SummedFields):
    """The sums of the residuals in the cells of some pairs: (K, 2, A, B) each."""

    tables: list[np.ndarray]


class PairPasses:
    """`PairBoost` on rows in chunks; the same steps.

    Parameters
    ----------
    columns : Blocks
        Of `PairColumns`.
    residuals : Blocks
        Of `PairResiduals`.
    sums : ResidualSums
        Over all chunks.
    pairs : sequence of P tuples (a, b)
    bins : CoarseBins
    passes : PassCount
    """

    def __init__(
        self,
        columns: Blocks,
        residuals: Blocks,
        sums: ResidualSums,
        pairs: Sequence[tuple[int, int]],
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
        n_members = len(self.of_start.totals)
        members = [
            TableMember(_MemberOfPasses(self, k), self.pairs, self.bins) for k in range(n_members)
        ]
        return boost_members(members, [table_shape(pair, self.bins) for pair in self.pairs])

    def sums(self, t: int) -> np.ndarray:
        """Sums of the residuals in the cells of pair t: (K, 2, A, B)."""
        if t not in self.found:
            self._pass(t)
        return self.found[t]

    def subtract(self, t: int, k: int, table: np.ndarray) -> None:
        """Subtract a table from the residuals of member k, in the next pass."""
        self.found.clear()
        if self.pending is None:
            self.pending = t, np.zeros((len(self.of_start.totals), *table.shape))
        self.pending[1][k] += table

    def _pass(self, t: int) -> None:
        self.passes.n += 1
        first, n_active = self.active.index(t), len(self.active)
        self.ahead = min(2 * self.ahead, n_active) if self.pending is None else 1
        wanted = [self.active[(first + i) % n_active] for i in range(self.ahead)]
        pairs = [self.pairs[each] for each in wanted]
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


class _MemberOfPasses:
    """The rows of one model in chunks."""

    def __init__(self, passes, k):
        self.passes, self.k = passes, k
        self.totals, self.squares = passes.of_start.totals[k], passes.of_start.squares[k]

    def weights(self, t):
        # Added, not subtracted from those of all rows: a cell without training rows has exactly 0.
        of_folds = self.passes.of_start.weights[t]
        return np.delete(of_folds, self.k, axis=0).sum(axis=0), of_folds[self.k]

    def sums(self, t):
        return tuple(self.passes.sums(t)[self.k])

    def subtract(self, t, table):
        self.passes.subtract(t, self.k, table)

    def settle(self):
        pass

    def forget(self, t):
        self.passes.active = [each for each in self.passes.active if each != t]


def table_shape(pair: tuple[int, int], bins: CoarseBins) -> tuple[int, int]:
    """The shape (A, B) of the table of a pair."""
    a, b = pair
    return int(bins.n_bins[a]), int(bins.n_bins[b])


def cell_weights(
    columns: PairColumns,
    weight: np.ndarray | None,
    n_folds: int,
    pairs: Sequence[tuple[int, int]],
    bins: CoarseBins,
) -> list[np.ndarray]:
    """The weight of the rows of a chunk by fold and cell: (n_folds, A, B) for each pair."""
    found = []
    for a, b in pairs:
        n_rows, n_columns = table_shape((a, b), bins)
        cell = (columns.folds.astype(np.intp) * n_rows + columns.columns[a]) * n_columns
        cell += columns.columns[b]
        total = np.bincount(cell, weight, n_folds * n_rows * n_columns).astype(float)
        found.append(total.reshape(n_folds, n_rows, n_columns))
    return found


def residual_sums(
    state: PairResiduals,
    columns: PairColumns,
    pairs: Sequence[tuple[int, int]],
    bins: CoarseBins,
) -> ResidualSums:
    """The sums over the rows of one chunk before the first visit."""
    n_members, n = state.residuals.shape
    weight = np.ones(n) if state.weight is None else state.weight
    totals, squares = np.empty((n_members, 2)), np.empty((n_members, 2))
    for k, residual in enumerate(state.residuals):
        is_held = columns.folds == k
        for sums, values in ((totals, weight), (squares, weight * residual**2)):
            sums[k] = values[~is_held].sum(), values[is_held].sum()
    weights = cell_weights(columns, state.weight, n_members, pairs, bins)
    return ResidualSums(totals, squares, weights)


def _cell_sums(
    state: PairResiduals, columns: PairColumns, pairs: Any, bins: CoarseBins
) -> _CellSums:
    """The sums over one chunk for some pairs."""
    tables = []
    for a, b in pairs:
        where = columns.columns[a], columns.columns[b], table_shape((a, b), bins)
        tables.append(
            np.array(
                [
                    sums_of_cells(residual, state.weight, columns.folds, k, *where)
                    for k, residual in enumerate(state.residuals)
                ]
            )
        )
    return _CellSums(tables)


def _moved_and_summed(
    state: PairResiduals, columns: PairColumns, change: Any, pairs: Any, bins: CoarseBins
) -> tuple[PairResiduals, _CellSums]:
    """The residuals minus the change of the table of a pair, and their sums for other pairs."""
    (a, b), tables = change
    residuals = state.residuals.copy()
    for residual, table in zip(residuals, tables):
        take_from_cells(residual, columns.columns[a], columns.columns[b], table)
    state = PairResiduals(residuals, state.weight)
    return state, _cell_sums(state, columns, pairs, bins)
