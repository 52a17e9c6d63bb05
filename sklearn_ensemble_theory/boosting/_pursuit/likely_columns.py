"""The columns that orthogonal pursuit is likely to choose next, by pursuit among a few of them."""

import numpy as np
from scipy.linalg import solve_triangular

from sklearn_ensemble_theory.boosting._dictionary import ColumnDictionary

# Pursuit among so many columns costs a fifth of the rows of the Gram matrix that it selects.
MOST_CANDIDATES = 256
COLUMNS_PER_CANDIDATE = 8
# Fewer rows of the Gram matrix at a time cost as much, because X is read as a whole; later, when
# the residuals change less from round to round, more are worth their cost.
FEWEST, FEWEST_LATER = 16, 64
DEPENDENT_CANDIDATE = 1e-5


def likely_columns(
    dictionary: ColumnDictionary,
    correlations: np.ndarray,
    factor: np.ndarray,
    rows: np.ndarray,
    n_most: int,
    n_kept: int,
) -> np.ndarray:
    """Columns in the order in which pursuit among those of large correlation chooses them.

    Nothing depends on whether the guess is right but the time.

    Parameters
    ----------
    dictionary : ColumnDictionary
    correlations : array of shape (d,)
        With the residuals; 0 for columns that must not be chosen.
    factor : array of shape (t, t)
        Lower Cholesky factor of the active columns' Gram matrix.
    rows : array of shape (t, d)
        The active columns' rows of the Gram matrix.
    n_most : int
        The number of rounds that are left.
    n_kept : int
        How many rows of the Gram matrix are known already.

    Returns
    -------
    int array
        At most `n_most` columns.
    """
    size, d = np.abs(correlations), len(correlations)
    n_candidates = min(MOST_CANDIDATES, max(d // COLUMNS_PER_CANDIDATE, 1))
    order = np.argpartition(-size, n_candidates)[: n_candidates + 1]
    order = order[np.argsort(-size[order], kind="stable")]
    candidates, outside = order[:-1], size[order[-1]]
    psi = dictionary.columns(candidates)
    psi *= np.sqrt(dictionary.weight)
    psi = psi.astype(np.float32)
    gram = (psi @ psi.T).astype(np.float64)
    if len(factor):
        inner = solve_triangular(factor, rows[:, candidates], lower=True, check_finite=False)
        gram -= inner.T @ inner
    c, free = correlations[candidates], np.ones(n_candidates, dtype=bool)
    chosen: list[int] = []
    steps = np.empty((min(n_most, n_candidates), n_candidates))
    fewest = min(FEWEST + n_kept, FEWEST_LATER)
    while len(chosen) < len(steps) and free.any():
        k, t = int(np.abs(c).argmax()), len(chosen)
        # Below `outside`, columns that are no candidates had larger correlations.
        if c[k] == 0 or (t >= fewest and not abs(c[k]) > outside):
            break
        free[k] = False
        step = gram[k] - steps[:t, k] @ steps[:t]
        if step[k] > DEPENDENT_CANDIDATE:
            steps[t] = step / np.sqrt(step[k])
            c = c - steps[t] * (c[k] / np.sqrt(step[k]))
            chosen.append(k)
        c[~free] = 0.0
    return candidates[chosen]
