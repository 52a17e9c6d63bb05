"""Rows with equal features, replaced by one row with their total weight and mean target."""

import numpy as np


def tie_groups(X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (order, starts): rows X[order] are sorted, and runs of equal rows begin at `starts`.

    None when no two rows are equal, which is the usual case; X is not copied then.
    """
    order = np.argsort(X[:, 0], kind="stable")
    new = np.zeros(len(X), dtype=bool)
    new[0] = True
    if X.shape[1] > 1:
        # Rows that differ in the first feature are not equal: the others need not be sorted.
        column = X[order, 0]
        if (column[1:] != column[:-1]).all():
            return None
        order = np.lexsort(X.T[::-1])
    for j in range(X.shape[1]):
        column = X[order, j]
        new[1:] |= column[1:] != column[:-1]
    return None if new.all() else (order, np.flatnonzero(new))


def collapse_rows(
    X: np.ndarray, Y: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of X, the weighted means of Y over each, and their total weights.

    Returns
    -------
    first : ndarray of int
        For every distinct row of X, the index of one of its copies.
    means : ndarray of shape (n_distinct, n_outputs)
    weights : ndarray of shape (n_distinct,)
    within : ndarray of shape (n_outputs,)
        Weighted sum of squares of Y about the means. It is part of the residual sum of squares of
        every function of X.
    """
    groups = tie_groups(X)
    if groups is None:
        return np.arange(len(X)), Y, w, np.zeros(Y.shape[1])
    order, starts = groups
    weights = np.add.reduceat(w[order], starts)
    means = np.add.reduceat((w[:, None] * Y)[order], starts, axis=0) / weights[:, None]
    run = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(order)]))
    gaps = Y[order] - means[run]
    within = (w[order, None] * gaps**2).sum(axis=0)
    return order[starts], means, weights, within
