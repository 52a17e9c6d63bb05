"""Rounds of gradient boosting on one chunk of rows: pure functions of its state.

A round is `start_round`, which moves the scores by the trees of the round before; `grow_on_chunk`
for each level of the trees; and `leaf_tables`. Each returns the new state and what is summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._blocks import in_tree_order
from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk
from sklearn_ensemble_theory.boosting.losses import Loss
from sklearn_ensemble_theory.boosting.losses._base import group_totals
from sklearn_ensemble_theory.trees._columns import BinnedColumns
from sklearn_ensemble_theory.trees._histograms import (
    GridUnits,
    IntegerRows,
    TreeRequest,
    answered,
    integer_rows,
)
from sklearn_ensemble_theory.trees._tree_arrays import LeafOutputs


class BinnedChunk(NamedTuple):
    """The rows of a chunk, which stay the same: p + 8 or p + 16 bytes a row.

    Attributes
    ----------
    codes : uint8 array of shape (n, p)
    y : array of shape (n,)
        As the loss takes it.
    weight : float64 array of shape (n,) or None
    number : int
        That of the chunk.
    """

    codes: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    number: int

    @property
    def total(self) -> float:
        return float(len(self.y) if self.weight is None else self.weight.sum())


class ScoredChunk(NamedTuple):
    """What changes: 17 bytes a row and 8 for the scores of each of K trees, with at most 255 nodes.

    Attributes
    ----------
    u : float64 array of shape (n,) or (n, K)
    target : float64 array of shape (K, n)
    rows : list of K IntegerRows
    nodes : list of K integer arrays of shape (n,)
        The node of each row in the trees of the round.
    """

    u: np.ndarray
    target: np.ndarray
    rows: list[IntegerRows]
    nodes: list[np.ndarray]


class ScoreMove(NamedTuple):
    """The trees of a round as steps: the values of their nodes, and the coefficient."""

    values: list[np.ndarray]
    step: float


@dataclass
class Parts:
    """Sums for several trees; None for those that asked nothing."""

    parts: list[Any]

    def __add__(self, other: Parts) -> Parts:
        pairs = zip(self.parts, other.parts, strict=True)
        return Parts([None if a is None else a + b for a, b in pairs])


@dataclass
class OfChunks:
    """Sums over single chunks, by their numbers.

    They are rounded, so that their total depends on the order in which they are added: always the
    same one, wherever the chunks are.
    """

    parts: dict[int, np.ndarray]

    def __add__(self, other: OfChunks) -> OfChunks:
        return OfChunks(self.parts | other.parts)

    def total(self, n_chunks: int) -> np.ndarray:
        """The sum over `n_chunks` chunks, of which some may have no rows."""
        total: np.ndarray = in_tree_order(self.parts, n_chunks)
        return total


@dataclass
class RoundStart:
    """The sums at the start of a round.

    Attributes
    ----------
    sizes : OfChunks
        Arrays of shape (1 + K,) of the weighted losses and of the weighted sizes of the targets.
    replies : Parts
        What the trees asked of their roots; of no tree where the units were not known.
    """

    sizes: OfChunks
    replies: Parts

    def __add__(self, other: RoundStart) -> RoundStart:
        return RoundStart(self.sizes + other.sizes, self.replies + other.replies)


def binned_chunk(chunk: Rows, columns: BinnedColumns, as_signs: bool) -> BinnedChunk:
    """The codes of the rows, and targets -1 and +1 where there are two classes. O(n p)."""
    y = 2.0 * chunk.y - 1.0 if as_signs else chunk.y
    codes = columns.coded(chunk.X).codes
    return BinnedChunk(codes, np.require(y, None, ["C", "W"]), chunk.weight, chunk.block)


def scored_chunk(data: BinnedChunk, start: Any, n_scores: int) -> ScoredChunk:
    """The state before the first round."""
    n = len(data.y)
    shape = (n,) if n_scores == 1 else (n, n_scores)
    u = np.broadcast_to(np.asarray(start, dtype=np.float64), shape).copy()
    return ScoredChunk(u, np.empty((0, n)), [], [])


def start_round(
    state: ScoredChunk,
    data: BinnedChunk,
    loss: Loss,
    move: ScoreMove | None,
    units: GridUnits | None,
    requests: list[TreeRequest],
) -> tuple[ScoredChunk, RoundStart]:
    """Move the scores, compute the negative gradients, and answer the requests. O(n p).

    Where the units of the integers are not known yet, no request is answered.
    """
    u = _moved(state, move)
    found = EmpiricalRisk(loss, data.y, data.weight).at(u)
    target = np.ascontiguousarray(found.target.T.reshape(-1, len(u)))
    size = np.abs(target)
    sizes = size.sum(axis=1) if data.weight is None else size @ data.weight
    new, replies = ScoredChunk(u, target, [], []), Parts([])
    if units is not None:
        new, replies = grow_on_chunk(new, data, units, list(requests))
    sizes = np.append(found.value * data.total, sizes)
    return new, RoundStart(OfChunks({data.number: sizes}), replies)


def grow_on_chunk(
    state: ScoredChunk,
    data: BinnedChunk,
    units: GridUnits,
    requests: list[TreeRequest | None],
) -> tuple[ScoredChunk, Parts]:
    """Answer the requests of the trees of the round; O(n p) for each."""
    rows, nodes, replies = state.rows, list(state.nodes), []
    if not rows:
        pairs = zip(state.target, units.targets)
        rows = [integer_rows(target, data.weight, e, units) for target, e in pairs]
        nodes = [np.zeros(len(data.y), np.uint8) for _ in rows]
    for k, request in enumerate(requests):
        reply = None
        if request is not None:
            nodes[k], reply = answered(
                data.codes, rows[k], state.target[k], nodes[k], request, units
            )
        replies.append(reply)
    return state._replace(rows=rows, nodes=nodes), Parts(replies)


def leaf_tables(
    state: ScoredChunk,
    data: BinnedChunk,
    units: GridUnits,
    requests: list[TreeRequest],
    n_nodes: list[int],
    loss: Loss | None,
) -> tuple[ScoredChunk, Parts]:
    """Sums over the leaves of each tree, `OfChunks`; the last splits are in the requests. O(n).

    The columns of a table are the sums of weights, of targets and of their squares and, where a
    loss is given, those of its `leaf_terms` and again of the weights.
    """
    state, _ = grow_on_chunk(state, data, units, list(requests))
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    risk = None if loss is None else EmpiricalRisk(loss, data.y, data.weight)
    tables = []
    for k, (target, leaf, size) in enumerate(zip(state.target, state.nodes, n_nodes)):
        totals = group_totals(weight, leaf, size)
        columns = [totals(np.ones(len(leaf))), totals(target), totals(target * target)]
        if risk is not None:
            score = None if state.u.ndim == 1 else k
            sums = risk.leaf_sums(state.u, target, leaf, size, score)
            columns += list(data.total * sums.T)
        tables.append(OfChunks({data.number: np.column_stack(columns)}))
    return state._replace(rows=[]), Parts(tables)


def loss_of_chunk(state: ScoredChunk, data: BinnedChunk, loss: Loss, move: ScoreMove) -> OfChunks:
    """The sum of the weighted losses after a move."""
    value = EmpiricalRisk(loss, data.y, data.weight).value(_moved(state, move)) * data.total
    return OfChunks({data.number: np.array([value])})


def _moved(state: ScoredChunk, move: ScoreMove | None) -> np.ndarray:
    u = state.u
    if move is not None:
        u = u.copy()
        LeafOutputs(move.values, state.nodes, u.shape).add_to(u, move.step)
    return u
