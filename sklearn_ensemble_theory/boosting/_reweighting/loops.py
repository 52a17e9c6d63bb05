"""The loops of AdaBoost over rows, by NumPy, and the choice of the compiled ones.

`reweighting_loops()` has these functions either way: the module `_native.stumps`, which documents
their arguments, or this one. Its callers do not know which.
"""

import sys
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._native import uses_native

# Rows at a time, of integers below 2^31, whose sums are exact in doubles.
BLOCK_ROWS = 2**16
HALF = 2.0**31


def reweighting_loops() -> ModuleType:
    """The loops that run now; asked for where the rows are, which may be on another machine."""
    if uses_native():
        from sklearn_ensemble_theory._native import stumps

        return stumps
    return sys.modules[__name__]


def exponential_weights(start, u, shift, weight):
    np.exp(start - u - shift, out=weight)


def rows_of_slots(
    starts: NDArray[np.int64], slots: NDArray[np.int64]
) -> Iterator[tuple[slice, int, int]]:
    """(rows, score, slot) of some rows of one class at a time."""
    for c, (first, last) in enumerate(pairwise(starts)):
        for start in range(first, last, BLOCK_ROWS):
            for k, slot in enumerate(slots[c]):
                yield slice(start, min(last, start + BLOCK_ROWS)), k, slot


def moved_scores(codes, starts, slots, scores, features, cuts, moves, moved):
    for part, k, slot in rows_of_slots(starts, slots):
        moved[k, part] = scores[k, part]
        for feature, cut, move in zip(features, cuts, moves):
            moved[k, part] += np.where(codes[feature, part] <= cut, *move[slot])


def moved_sums(codes, starts, slots, scores, features, cuts, moves, shift, unit, sums):
    moved = np.empty_like(scores)
    moved_scores(codes, starts, slots, scores, features, cuts, moves, moved)
    for part, k, slot in rows_of_slots(starts, slots):
        whole = np.rint(np.exp(np.maximum(-moved[k, part] - shift, -700.0)) * unit)
        high = np.floor(whole / HALF)
        low = whole - high * HALF
        for j, column in enumerate(codes[:, part]):
            for half, size in ((high, int(HALF)), (low, 1)):
                found = np.bincount(column, half, sums.shape[2])
                sums[slot, j] += found.astype(np.int64) * size
