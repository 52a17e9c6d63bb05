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

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory.boosting._pairs.coarse_bins import coarse_bins
from sklearn_ensemble_theory.boosting._pairs.pair_cells import (
    coarse_columns,
    sums_of_cells,
    take_from_cells,
)
from sklearn_ensemble_theory.boosting._pairs.purification import AdditiveFit
from sklearn_ensemble_theory.boosting._pairs.quadrant_steps import (
    LEARNING_RATES,
    inverse_weights,
    ordered_bins,
    quadrant_steps,
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
