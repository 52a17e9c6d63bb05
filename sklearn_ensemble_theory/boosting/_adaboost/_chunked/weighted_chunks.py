"""What AdaBoost keeps of a chunk of rows, where the chunk is: codes and scores.

The score of a row is minus the logarithm of its weight, so that a round adds the outputs of its
weak learner to it. Weights are summed as integers: their sums do not depend on the order of the
rows, nor on the chunks.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._chunks.quantile_sketch import QuantileSketch
from sklearn_ensemble_theory._chunks.row_checks import CheckedChunk
from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._numerics.binning import bin_codes

__all__ = [
    "UNIT_BITS",
    "ClassSummary",
    "CodedRows",
    "ScoreMove",
    "class_counts",
    "class_summary",
    "coded_rows",
    "first_part",
    "moved_rows",
    "slot_masses",
    "slot_tops",
    "start_scores",
    "weight_sum",
]

Array = NDArray[np.float64]
# Weights are multiples of 2^-62 of their sum, so that sums are below 2^63.
UNIT_BITS = 62
# Without numba: rows at a time, of integers below 2^31, whose sums are exact in doubles.
_BLOCK = 2**16
_HALF = 2.0**31


@dataclass
class ClassSummary:
    """What a first pass finds of one or several chunks.

    Attributes
    ----------
    classes : array
        The labels, in increasing order.
    n_rows : int
        Rows of positive weight.
    low_weight, high_weight : float
        Of these rows.
    sketch : QuantileSketch
    """

    classes: np.ndarray
    n_rows: int
    low_weight: float
    high_weight: float
    sketch: QuantileSketch

    def __add__(self, other: "ClassSummary") -> "ClassSummary":
        return ClassSummary(
            np.union1d(self.classes, other.classes),
            self.n_rows + other.n_rows,
            min(self.low_weight, other.low_weight),
            max(self.high_weight, other.high_weight),
            self.sketch + other.sketch,
        )


def class_summary(chunk: CheckedChunk) -> ClassSummary:
    """The summary of one chunk."""
    check_classification_targets(chunk.y)
    weight = chunk.weight
    low, high = (1.0, 1.0) if weight is None else (float(weight.min()), float(weight.max()))
    sketch = QuantileSketch.of(chunk.X, weight, np.random.default_rng(chunk.number))
    return ClassSummary(np.unique(chunk.y), len(chunk.y), low, high, sketch)


@dataclass(frozen=True)
class CodedRows:
    """The rows of a chunk, in the order of their classes.

    Attributes
    ----------
    codes : uint8 or uint16 array of shape (p, n)
        The bin of each value.
    starts : int64 array of shape (K + 1,)
        Where the rows of each class begin.
    """

    codes: np.ndarray
    starts: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]


class ScoreMove(NamedTuple):
    """One round of AdaBoost, as chunks need it.

    Attributes
    ----------
    feature, code : int
        Rows with at most this code are on the left.
    moves : array of shape (n_slots, 2)
        What to add to the scores of a slot on the left and on the right.
    shift : float
        The logarithm of the sum of the weights after the move, about.
    slots : int64 array of shape (K, m)
        The slot of each class of rows and score; see `erm._stumps._summed`.
    n_bins : int
    """

    feature: int
    code: int
    moves: Array
    shift: float
    slots: NDArray[np.int64]
    n_bins: int


def coded_rows(
    chunk: CheckedChunk, edges: list[Array], n_classes: int
) -> tuple[CodedRows, Array | None]:
    """The rows of a chunk and minus the logarithms of their weights (None: all are 1)."""
    order = np.argsort(chunk.y, kind="stable")
    codes = bin_codes(chunk.X, edges).T
    codes = np.stack([column.take(order) for column in codes]) if len(codes) else codes
    counts = np.bincount(chunk.y, minlength=n_classes)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    scores = None if chunk.weight is None else -np.log(chunk.weight[order])
    return CodedRows(codes, starts), scores


def first_part(pair: tuple[Any, Any]) -> Any:
    """The rows of `coded_rows`."""
    return pair[0]


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
    pairs = list(zip(rows.starts, rows.starts[1:]))
    counts = np.empty((len(pairs), len(rows.codes), n_bins), dtype=np.int64)
    for k, (start, stop) in enumerate(pairs):
        for j, column in enumerate(rows.codes):
            counts[k, j] = np.bincount(column[start:stop], minlength=n_bins)
    return counts


def moved_rows(rows: CodedRows, scores: Array, move: ScoreMove) -> tuple[Array, NDArray[np.int64]]:
    """The new scores, and the weights of the slots in all bins, in units of 2^-62: (n_slots, p, B).

    O(n p m) in one pass.
    """
    sums = np.zeros((len(move.moves), len(rows.codes), move.n_bins), dtype=np.int64)
    moved = np.empty_like(scores)
    if not uses_numba():
        _move_by_blocks(rows, scores, move, moved, sums)
        return moved, sums
    from sklearn_ensemble_theory._hot_loops._stumps import weight_loops

    weight_loops.moved_sums(
        rows.codes,
        rows.starts,
        move.slots,
        scores,
        move.moves,
        (move.feature, move.code),
        move.shift,
        2.0**UNIT_BITS,
        moved,
        sums,
    )
    return moved, sums


def _move_by_blocks(rows, scores, move, moved, sums):
    """`weight_loops.moved_sums` by NumPy."""
    for part, k, slot in _rows_of_slots(rows.starts, move.slots):
        on_left = rows.codes[move.feature, part] <= move.code
        moved[k, part] = scores[k, part] + np.where(on_left, *move.moves[slot])
        exponent = np.maximum(-moved[k, part] - move.shift, -700.0)
        whole = np.rint(np.exp(exponent) * 2.0**UNIT_BITS)
        high = np.floor(whole / _HALF)
        low = whole - high * _HALF
        for j, column in enumerate(rows.codes[:, part]):
            for half, size in ((high, int(_HALF)), (low, 1)):
                found = np.bincount(column, half, move.n_bins)
                sums[slot, j] += found.astype(np.int64) * size


def _rows_of_slots(starts, slots):
    """(rows, score, slot) of some rows of one class at a time."""
    for c, (first, last) in enumerate(zip(starts, starts[1:])):
        for start in range(first, last, _BLOCK):
            for k, slot in enumerate(slots[c]):
                yield slice(start, min(last, start + _BLOCK)), k, slot


def slot_tops(rows: CodedRows, scores: Array, move: ScoreMove) -> Array:
    """The logarithm of the largest weight of each slot on both sides; -inf for none."""
    tops = np.full((len(move.moves), 2), -np.inf)
    for part, k, slot in _rows_of_slots(rows.starts, move.slots):
        right = (rows.codes[move.feature, part] > move.code).astype(np.intp)
        np.maximum.at(tops[slot], right, -scores[k, part])
    return tops


def slot_masses(
    rows: CodedRows, scores: Array, move: ScoreMove, tops: Array, bits: int
) -> NDArray[np.int64]:
    """The weight of each slot on both sides, in units of 2^-bits of the largest weight there."""
    masses = np.zeros((len(move.moves), 2), dtype=np.int64)
    for part, k, slot in _rows_of_slots(rows.starts, move.slots):
        right = (rows.codes[move.feature, part] > move.code).astype(np.intp)
        whole = np.rint(np.exp(-scores[k, part] - tops[slot][right]) * 2.0**bits)
        np.add.at(masses[slot], right, whole.astype(np.int64))
    return masses
