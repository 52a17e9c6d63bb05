"""AdaBoost of rows in blocks: one pass over the codes of the rows a round.

All that a round needs of the rows is the weight of each slot (see `erm._stumps`) in the bins of
each column: the outputs of a stump are the same within a bin. A block keeps the codes of its rows
and their scores. The score of a row is minus the logarithm of its weight, so that a round adds the
outputs of its weak learner to it. Weights are summed as integers: their sums do not depend on the
order of the rows, nor on the blocks.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sklearn_ensemble_theory._bins import QuantileSketch, bin_codes
from sklearn_ensemble_theory._blocks import GivenBlocks, added, first_of
from sklearn_ensemble_theory._native.stumps import moved_scores, moved_sums
from sklearn_ensemble_theory._rows import ChunkedRows, Rows, joined_labels, labels_of_block
from sklearn_ensemble_theory._scaling import power_of_two

from .._loop import Round, RoundIterator
from .._risk import Array, MarginRisk
from ..steps import Step

# Weights are multiples of 2^-62 of their sum, so that sums are below 2^63.
UNIT_BITS = 62
# Masses below this share are summed again, in units of their own.
SMALL_MASS = 1e-5
# After so many rounds the scores are computed anew; a pass adds those since then to the last ones.
KEPT_ROUNDS = 8
# Rows whose sums are made at a time.
BLOCK_ROWS = 2**16
FEW_BLOCKS = 8
LOG_2 = math.log(2.0)


# --- what a block knows ---------------------------------------------------------------------------


@dataclass
class ClassSummary:
    """What a first pass finds of blocks: the classes, the rows of positive weight, their range."""

    classes: np.ndarray
    n_rows: int
    low_weight: float
    high_weight: float
    sketch: QuantileSketch

    def __add__(self, other: "ClassSummary") -> "ClassSummary":
        return ClassSummary(
            joined_labels(self.classes, other.classes),
            self.n_rows + other.n_rows,
            min(self.low_weight, other.low_weight),
            max(self.high_weight, other.high_weight),
            self.sketch + other.sketch,
        )


def class_summary(block: Rows) -> ClassSummary:
    labels, weight = labels_of_block(block.y), block.weight
    low, high = (1.0, 1.0) if weight is None else (float(weight.min()), float(weight.max()))
    sketch = QuantileSketch.of(block.X, weight, np.random.default_rng(block.block))
    return ClassSummary(labels, len(block.y), low, high, sketch)


@dataclass(frozen=True)
class CodedRows:
    """The bins (p, n) of the rows of a block by class, which begin at `starts` (K + 1,)."""

    codes: np.ndarray
    starts: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]


class ScoreMoves(NamedTuple):
    """T rounds of AdaBoost, as blocks need them.

    - features, codes: rows with at most this code are on the left.
    - moves: (T, n_slots, 2), what to add to the scores of a slot on the left and on the right.
    - slots: (K, m), the slot of each class of rows and score; see `erm._stumps.stump_rounds`.
    """

    features: NDArray[np.int64]
    codes: NDArray[np.int64]
    moves: Array
    slots: NDArray[np.int64]


def coded_rows(block: Rows, edges: list[Array], n_classes: int) -> tuple[CodedRows, Array | None]:
    """The rows of a block and minus the logarithms of their weights (None: all are 1)."""
    order = np.argsort(block.y, kind="stable")
    codes = bin_codes(block.X, edges).T
    codes = np.stack([column.take(order) for column in codes]) if len(codes) else codes
    counts = np.bincount(block.y, minlength=n_classes)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    scores = None if block.weight is None else -np.log(block.weight[order])
    return CodedRows(codes, starts), scores


def start_scores(pair: tuple[CodedRows, Array | None], m: int) -> Array:
    """The scores before the first round, of shape (m, n)."""
    rows, scores = pair
    found = np.zeros((m, rows.n_rows))
    if scores is not None:
        found += scores
    return found


def weight_sum(rows: CodedRows, scores: Array, least: float, bits: int) -> int:
    """The sum of the weights exp(least - score) in units of 2^-bits."""
    return int(np.rint(np.exp(least - scores[0]) * 2.0**bits).astype(np.int64).sum())


def class_counts(rows: CodedRows, n_bins: int) -> NDArray[np.int64]:
    """The numbers of rows of each class in the bins of all columns: (K, p, B)."""
    pairs = list(pairwise(rows.starts))
    counts = np.empty((len(pairs), len(rows.codes), n_bins), dtype=np.int64)
    for k, (start, stop) in enumerate(pairs):
        for j, column in enumerate(rows.codes):
            counts[k, j] = np.bincount(column[start:stop], minlength=n_bins)
    return counts


def moved_scores_of(rows: CodedRows, scores: Array, moves: ScoreMoves) -> Array:
    """The scores after some rounds. O(n m T)."""
    moved = np.empty_like(scores)
    given = rows.codes, rows.starts, moves.slots, scores, *moves[:3]
    moved_scores(*given, moved)
    return moved


def moved_sums_of(
    rows: CodedRows, scores: Array, moves: ScoreMoves, shift: float, n_bins: int
) -> NDArray[np.int64]:
    """The weights of the slots in all bins, (n_slots, p, B), in units of 2^-62 of exp(shift)."""
    sums = np.zeros((moves.moves.shape[1], len(rows.codes), n_bins), dtype=np.int64)
    given = rows.codes, rows.starts, moves.slots, scores, *moves[:3]
    moved_sums(*given, shift, 2.0**UNIT_BITS, sums)
    return sums


def rows_of_slots(
    starts: NDArray[np.int64], slots: NDArray[np.int64]
) -> Iterator[tuple[slice, int, int]]:
    """(rows, score, slot) of some rows of one class at a time."""
    for c, (first, last) in enumerate(pairwise(starts)):
        for start in range(first, last, BLOCK_ROWS):
            for k, slot in enumerate(slots[c]):
                yield slice(start, min(last, start + BLOCK_ROWS)), k, slot


def slot_tops(rows: CodedRows, scores: Array, sides: ScoreMoves) -> Array:
    """The logarithm of the largest weight of each slot on both sides; -inf for none."""
    tops = np.full(sides.moves.shape[1:], -np.inf)
    for part, k, slot in rows_of_slots(rows.starts, sides.slots):
        right = (rows.codes[sides.features[0], part] > sides.codes[0]).astype(np.intp)
        np.maximum.at(tops[slot], right, -scores[k, part])
    return tops


def slot_masses(
    rows: CodedRows, scores: Array, sides: ScoreMoves, tops: Array, bits: int
) -> NDArray[np.int64]:
    """The weight of each slot on both sides, in units of 2^-bits of the largest weight there."""
    masses = np.zeros(tops.shape, dtype=np.int64)
    for part, k, slot in rows_of_slots(rows.starts, sides.slots):
        right = (rows.codes[sides.features[0], part] > sides.codes[0]).astype(np.intp)
        whole = np.rint(np.exp(-scores[k, part] - tops[slot][right]) * 2.0**bits)
        np.add.at(masses[slot], right, whole.astype(np.int64))
    return masses


# --- the rounds -----------------------------------------------------------------------------------


class GroupRisk(MarginRisk):
    """The exponential risk of groups of rows, given the logarithms of their shares."""

    def __init__(self, log_weight: np.ndarray) -> None:
        super().__init__(np.exp(log_weight))
        self.log_start = log_weight - logsumexp(log_weight)


class SummedRounds(RoundIterator):
    """Iterator of `Round` records like `loop.BoostingRounds`; the outputs are those of the groups.

    - blocks, scores: `CodedRows`, and minus the logarithms of their weights, of shape (m, n).
    - start: what the scores of each slot get before the first round.
    - shift: about the logarithm of the sum of the weights after that.
    - member: the stump that was found last.
    - stop_details: as of `loop.BoostingRounds`.
    """

    def __init__(
        self,
        blocks: GivenBlocks,
        scores: GivenBlocks,
        stumps: Any,
        step: Step,
        start: np.ndarray,
        shift: float,
    ) -> None:
        self.blocks, self.scores, self.stumps, self.step = blocks, scores, stumps, step
        self.n_bins = stumps.counts.shape[2]
        # The rounds that the scores do not have yet, and the sum of the weights after them, about.
        self.since = [(0, 0, np.column_stack([start, start]))]
        self.shift = shift
        self.index = 0
        self.log_start: float | None = None
        self.member: Any = None
        self.stop_details: Any = None
        self._ended = False

    def next_round(self) -> Round | None:
        if self._ended:
            return None
        if len(self.since) > KEPT_ROUNDS:
            self._keep_scores()
        moves = self._moves(*self.since)
        given = moved_sums_of, self.scores, moves, self.shift, self.n_bins
        # Of few blocks the sums come as they are: a task that adds them would wait for all.
        few = len(self.blocks) <= FEW_BLOCKS
        sums = added(self.blocks.each(*given)) if few else self.blocks.sum(*given)
        log_total = self.shift + math.log(int(sums[:, 0].sum())) - UNIT_BITS * LOG_2
        if self.log_start is None:
            self.log_start = log_total
        found = self.stumps.best(sums)
        self.member = found.member
        here = found.n_rows > 0
        psi = found.margins[here]
        risk = GroupRisk(self._log_masses(found, log_total)[here])
        zero = np.zeros(len(psi))
        state = risk.at(zero)
        gain = state.first_order_gain(psi)
        b, details = self.step(self.index, risk, zero, psi, state, gain)
        if b is None:
            self._ended, self.stop_details = True, details
            return None
        self.shift = log_total + risk.log_value(b * psi)
        self.since.append((found.feature, found.code, b * found.margins))
        self.index += 1
        value = self.shift - self.log_start
        value = math.exp(value) if value < 709 else math.inf
        return Round(self.index - 1, found.member, b, value, gain, psi, details)

    def _moves(self, *rounds: tuple[int, int, np.ndarray]) -> ScoreMoves:
        """Rounds (feature, code, moves) as blocks take them."""
        shape = (len(rounds), self.stumps.n_slots, 2)
        features, codes = (np.array([one[i] for one in rounds], np.int64) for i in (0, 1))
        moves = np.array([one[2] for one in rounds]).reshape(shape)
        return ScoreMoves(features, codes, moves, self.stumps.slots)

    def _keep_scores(self) -> None:
        """Compute the scores after all rounds so far; the earlier ones are not needed any more."""
        self.scores = self.blocks.map(moved_scores_of, self.scores, self._moves(*self.since))
        self.since = []

    def _log_masses(self, found: Any, log_total: float) -> np.ndarray:
        """The logarithms of the shares of the groups.

        Where the mistakes have almost no weight, the logarithm of their mass is that of a sum of
        its own: two more passes over the blocks, for two numbers of each group.
        """
        mistakes = (found.margins < 0) & (found.n_rows > 0)
        with np.errstate(divide="ignore"):
            logs = np.log(found.masses)
        if not mistakes.any() or found.masses[mistakes].sum() > SMALL_MASS:
            return logs
        self._keep_scores()
        here = self._moves((found.feature, found.code, found.margins))
        each = self.blocks.each(slot_tops, self.scores, here)
        tops = np.max([one for one in each if one is not None], axis=0)
        bits = UNIT_BITS - int(found.n_rows.sum()).bit_length()
        masses = self.blocks.sum(slot_masses, self.scores, here, tops, bits)
        with np.errstate(divide="ignore"):
            exact = np.log(masses) - bits * LOG_2 + tops - log_total
        return np.where(mistakes, exact, logs)


# --- from rows in blocks to the rounds ------------------------------------------------------------


def summary_of_blocks(rows: ChunkedRows) -> tuple[ClassSummary, ChunkedRows]:
    """What one pass over the rows finds, and the rows with that knowledge."""
    summary: ClassSummary = rows.sum(class_summary)
    return summary, rows.knowing(
        classes=summary.classes,
        weight_unit=power_of_two(summary.high_weight),
        equal_weights=summary.low_weight == summary.high_weight,
    )


def rounds_of_blocks(
    rows: ChunkedRows, summary: ClassSummary, stumps: Any, step: Step
) -> SummedRounds:
    """The rounds; one pass over the rows, after which their codes and scores are kept."""
    edges = summary.sketch.edges(stumps.max_bins)
    n_bins = max((len(e) for e in edges), default=0) + 1
    pairs = rows.map(coded_rows, edges, len(summary.classes))
    blocks, scores = pairs.map(first_of), pairs.map(start_scores, stumps.slots.shape[1])
    del pairs
    stumps.set_columns(edges, blocks.sum(class_counts, n_bins))
    if rows.checks.equal_weights:
        total = math.log(summary.n_rows)
    else:
        # Not the sum of the weights itself, which would depend on the order of the rows.
        bits = UNIT_BITS - summary.n_rows.bit_length()
        least = -math.log(summary.high_weight / rows.checks.weight_unit)
        total = math.log(blocks.sum(weight_sum, scores, least, bits)) - bits * math.log(2.0) - least
    return SummedRounds(blocks, scores, stumps, step, stumps.start_scores(), total)
