"""A round of AdaBoost over one chunk of rows: its weights, and their sums in bins, in one pass."""

import numpy as np

from sklearn_ensemble_theory._hot_loops._stumps.vote_loops import _exponentials
from sklearn_ensemble_theory._hot_loops.compilation import jit

BLOCK_ROWS = 2048


@jit
def _move_block(codes, slot, features, cuts, moves, score):
    """Add all moves to the scores of some rows, of one slot, in place."""
    for t in range(len(features)):
        side, cut = codes[features[t]], cuts[t]
        left, right = moves[t, slot, 0], moves[t, slot, 1]
        for i in range(len(score)):
            score[i] += left if side[i] <= cut else right


@jit
def moved_scores(codes, starts, slots, scores, features, cuts, moves, moved):
    """Write the scores of rows after some moves to `moved`.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (p, n)
        Rows by class.
    starts : int64 array of shape (K + 1,)
        Where the rows of each class begin.
    slots : int64 array of shape (K, m)
        The sums that the weight of a class's row and score belongs to.
    scores : float64 array of shape (m, n)
    features, cuts : int64 arrays of shape (T,)
        Rows whose code of the feature is at most the cut are on the left.
    moves : float64 array of shape (T, n_slots, 2)
        What to add to the scores of a slot, left of a threshold and right of it.
    moved : float64 array of shape (m, n)
        The result.
    """
    n_classes, m = slots.shape
    for c in range(n_classes):
        for start in range(starts[c], starts[c + 1], BLOCK_ROWS):
            stop = min(starts[c + 1], start + BLOCK_ROWS)
            for k in range(m):
                score = moved[k, start:stop]
                score[:] = scores[k, start:stop]
                _move_block(codes[:, start:stop], slots[c, k], features, cuts, moves, score)


@jit
def moved_sums(codes, starts, slots, scores, features, cuts, moves, shift, unit, sums):
    """Add the weights of rows after some moves to the sums of the bins.

    The weight of a score is exp(-score - shift), times `unit` and rounded to an integer. Exponents
    below -700 count as -700.

    Parameters
    ----------
    codes, starts, slots, scores, features, cuts, moves : as in `moved_scores`
    shift, unit : float
    sums : int64 array of shape (n_slots, p, B)
        Changed.
    """
    p = codes.shape[0]
    n_classes, m = slots.shape
    scores_here, weight = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    whole = np.empty(BLOCK_ROWS, dtype=np.int64)
    for c in range(n_classes):
        for start in range(starts[c], starts[c + 1], BLOCK_ROWS):
            stop = min(starts[c + 1], start + BLOCK_ROWS)
            n = stop - start
            for k in range(m):
                slot = slots[c, k]
                x = scores_here[:n]
                x[:] = scores[k, start:stop]
                _move_block(codes[:, start:stop], slot, features, cuts, moves, x)
                for i in range(n):
                    exponent = -x[i] - shift
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
