"""A round of AdaBoost over one chunk of rows: scores, weights, and their sums in bins, at once."""

import numpy as np

from sklearn_ensemble_theory._hot_loops._stumps.vote_loops import _exponentials
from sklearn_ensemble_theory._hot_loops.compilation import jit

__all__ = ["moved_sums"]

BLOCK_ROWS = 2048


@jit
def moved_sums(codes, starts, slots, scores, moves, at, shift, unit, moved, sums):
    """Move the scores of rows, and add their weights to the sums of the bins.

    The weight of a score is exp(-score - shift), times `unit` and rounded to an integer. Exponents
    below -700 count as -700.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (p, n)
        Rows by class.
    starts : int64 array of shape (K + 1,)
        Where the rows of each class begin.
    slots : int64 array of shape (K, m)
        The sums that the weight of a class's row and score belongs to.
    scores : float64 array of shape (m, n)
    moves : float64 array of shape (n_slots, 2)
        What to add to the scores of a slot, left of a threshold and right of it.
    at : (feature, code)
        Rows with at most this code are on the left.
    shift, unit : float
    moved : float64 array of shape (m, n)
        The new scores.
    sums : int64 array of shape (n_slots, p, B)
        Changed.
    """
    p = codes.shape[0]
    n_classes, m = slots.shape
    feature, cut = at
    work, weight = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    whole = np.empty(BLOCK_ROWS, dtype=np.int64)
    for c in range(n_classes):
        for start in range(starts[c], starts[c + 1], BLOCK_ROWS):
            stop = min(starts[c + 1], start + BLOCK_ROWS)
            n = stop - start
            side = codes[feature, start:stop]
            for k in range(m):
                slot = slots[c, k]
                left, right = moves[slot, 0], moves[slot, 1]
                before, after = scores[k, start:stop], moved[k, start:stop]
                x = work[:n]
                for i in range(n):
                    score = before[i] + (left if side[i] <= cut else right)
                    after[i] = score
                    exponent = -score - shift
                    x[i] = exponent if exponent > -700.0 else -700.0
                _exponentials(x, weight[:n])
                for i in range(n):
                    whole[i] = np.int64(weight[i] * unit + 0.5)
                for j in range(0, p - 1, 2):  # two columns at a time read the weights once
                    first, second = codes[j, start:stop], codes[j + 1, start:stop]
                    firsts, seconds = sums[slot, j], sums[slot, j + 1]
                    for i in range(n):
                        value = whole[i]
                        firsts[first[i]] += value
                        seconds[second[i]] += value
                if p % 2:
                    last, lasts = codes[p - 1, start:stop], sums[slot, p - 1]
                    for i in range(n):
                        lasts[last[i]] += whole[i]
