"""Boosting over pairs of features on rows in chunks.

A visit of a pair needs the sums of the residuals in its cells. One pass over the chunks subtracts
what the visit before has added to a table and sums the residuals that are left. Where a visit makes
no steps the residuals are the same for the next pair: so a pass after one without steps sums for
twice as many pairs as the one before, in the order in which they will be visited.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._blocks import Blocks, PassCount, SummedFields
from sklearn_ensemble_theory.boosting._pairs.coarse_bins import CoarseBins
from sklearn_ensemble_theory.boosting._pairs.pair_cells import sums_of_cells, take_from_cells
from sklearn_ensemble_theory.boosting._pairs.pair_rounds import (
    PairPath,
    TableMember,
    boost_members,
)


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
