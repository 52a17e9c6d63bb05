"""What AdaBoost keeps of a chunk of rows, where the chunk is: codes and scores.

The score of a row is minus the logarithm of its weight, so that a round adds the outputs of its
weak learner to it. Weights are summed as integers: their sums do not depend on the order of the
rows, nor on the chunks.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._bins import QuantileSketch, bin_codes
from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._rows import Rows

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


def class_summary(chunk: Rows) -> ClassSummary:
    """The summary of one chunk."""
    check_classification_targets(chunk.y)
    weight = chunk.weight
    low, high = (1.0, 1.0) if weight is None else (float(weight.min()), float(weight.max()))
    sketch = QuantileSketch.of(chunk.X, weight, np.random.default_rng(chunk.block))
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


class ScoreMoves(NamedTuple):
    """Some rounds of AdaBoost, as chunks need them.

    Attributes
    ----------
    features, codes : int64 arrays of shape (T,)
        Rows with at most this code are on the left.
    moves : array of shape (T, n_slots, 2)
        What to add to the scores of a slot on the left and on the right.
    slots : int64 array of shape (K, m)
        The slot of each class of rows and score; see `erm._stumps._summed`.
    """

    features: NDArray[np.int64]
    codes: NDArray[np.int64]
    moves: Array
    slots: NDArray[np.int64]


def coded_rows(chunk: Rows, edges: list[Array], n_classes: int) -> tuple[CodedRows, Array | None]:
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
    pairs = list(pairwise(rows.starts))
    counts = np.empty((len(pairs), len(rows.codes), n_bins), dtype=np.int64)
    for k, (start, stop) in enumerate(pairs):
        for j, column in enumerate(rows.codes):
            counts[k, j] = np.bincount(column[start:stop], minlength=n_bins)
    return counts


def moved_scores_of(rows: CodedRows, scores: Array, moves: ScoreMoves) -> Array:
    """The scores after some rounds. O(n m T)."""
    moved = np.empty_like(scores)
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._stumps import weight_loops

        given = rows.codes, rows.starts, moves.slots, scores, *moves[:3]
        weight_loops.moved_scores(*given, moved)
        return moved
    for part, k, slot in _rows_of_slots(rows.starts, moves.slots):
        moved[k, part] = _moved_part(rows, scores, moves, part, k, slot)
    return moved


def moved_sums_of(
    rows: CodedRows, scores: Array, moves: ScoreMoves, shift: float, n_bins: int
) -> NDArray[np.int64]:
    """The weights of the slots in all bins after some rounds: (n_slots, p, B).

    In units of 2^-62 of exp(shift), which is about the sum of all weights. O(n m (p + T)).
    """
    sums = np.zeros((moves.moves.shape[1], len(rows.codes), n_bins), dtype=np.int64)
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._stumps import weight_loops

        given = rows.codes, rows.starts, moves.slots, scores, *moves[:3]
        weight_loops.moved_sums(*given, shift, 2.0**UNIT_BITS, sums)
        return sums
    for part, k, slot in _rows_of_slots(rows.starts, moves.slots):
        exponent = np.maximum(-_moved_part(rows, scores, moves, part, k, slot) - shift, -700.0)
        whole = np.rint(np.exp(exponent) * 2.0**UNIT_BITS)
        high = np.floor(whole / _HALF)
        low = whole - high * _HALF
        for j, column in enumerate(rows.codes[:, part]):
            for half, size in ((high, int(_HALF)), (low, 1)):
                found = np.bincount(column, half, n_bins)
                sums[slot, j] += found.astype(np.int64) * size
    return sums


def _moved_part(rows, scores, moves, part, k, slot):
    """The scores of some rows of a slot after some rounds, by NumPy."""
    moved = scores[k, part].copy()
    for feature, code, move in zip(moves.features, moves.codes, moves.moves):
        moved += np.where(rows.codes[feature, part] <= code, *move[slot])
    return moved


def _rows_of_slots(starts, slots):
    """(rows, score, slot) of some rows of one class at a time."""
    for c, (first, last) in enumerate(pairwise(starts)):
        for start in range(first, last, _BLOCK):
            for k, slot in enumerate(slots[c]):
                yield slice(start, min(last, start + _BLOCK)), k, slot


def slot_tops(rows: CodedRows, scores: Array, sides: ScoreMoves) -> Array:
    """The logarithm of the largest weight of each slot on both sides; -inf for none.

    `sides` is one round, whose threshold is meant.
    """
    tops = np.full(sides.moves.shape[1:], -np.inf)
    for part, k, slot in _rows_of_slots(rows.starts, sides.slots):
        np.maximum.at(tops[slot], _is_right(rows, sides, part), -scores[k, part])
    return tops


def slot_masses(
    rows: CodedRows, scores: Array, sides: ScoreMoves, tops: Array, bits: int
) -> NDArray[np.int64]:
    """The weight of each slot on both sides, in units of 2^-bits of the largest weight there."""
    masses = np.zeros(tops.shape, dtype=np.int64)
    for part, k, slot in _rows_of_slots(rows.starts, sides.slots):
        right = _is_right(rows, sides, part)
        whole = np.rint(np.exp(-scores[k, part] - tops[slot][right]) * 2.0**bits)
        np.add.at(masses[slot], right, whole.astype(np.int64))
    return masses


def _is_right(rows, sides, part):
    return (rows.codes[sides.features[0], part] > sides.codes[0]).astype(np.intp)
