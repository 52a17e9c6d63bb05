"""The leave-one-out error of every subsample size, from one neighbour query [000, section 10.1.2].

Leaving row i out leaves n-1 rows, whose order around x_i is the order of all n rows with x_i itself
taken away. One query of the training rows among themselves therefore gives the targets by rank for
every i, and the leave-one-out predictions of all sizes s at once are these n x R targets times an
R x sizes matrix of weights.
"""

import numpy as np

from sklearn_ensemble_theory.averaging._neighbors.rank_weights import (
    count_ranks,
    rank_weights,
    resolve_max_samples,
)

GRID_SIZE = 32
# The default grid of large problems starts where this many ranks carry the weight: smaller sizes
# look farther, down to all n rows at s = 1, and the cost of the query is in proportion.
GRID_RANKS = 1000


def rate_max_samples(n, n_features, k):
    """s = n^(d/(d+2)), which balances the bound of [000, section 10.1.2]; no less than k."""
    return min(n, max(k, int(n ** (n_features / (n_features + 2)))))


def default_grid(n, k, bootstrap, tol, n_features=None):
    """About 32 sizes in geometric progression up to n, and the size of the theory's rate.

    Returns
    -------
    sizes : list
        Ascending; as `resolve_max_samples` gives them.
    truncated : bool
        Whether sizes below the first were left out for their cost.
    """

    def affordable(s):
        drawn = resolve_max_samples(n, s, k, bootstrap)
        return count_ranks(n - 1, drawn, k, bootstrap, tol) <= GRID_RANKS

    low, high = k - 1, n  # at n few ranks carry the weight
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if affordable(middle) else (middle, high)
    sizes = np.round(np.geomspace(high, n, GRID_SIZE)).astype(int).tolist()
    if n_features is not None and (rate := rate_max_samples(n, n_features, k)) >= high:
        sizes.append(rate)
    return [resolve_max_samples(n, s, k, bootstrap) for s in sorted(set(sizes))], high > k


def check_grid(grid, n, k, bootstrap):
    """The sizes of a user's grid, resolved as `max_samples` is, sorted and each once."""
    grid = np.asarray(grid)
    if grid.ndim != 1 or len(grid) == 0 or grid.dtype.kind not in "iuf":
        raise ValueError("max_samples_grid must be a one-dimensional array-like of numbers.")
    integral = grid.dtype.kind in "iu"
    if not (grid > 0).all() or (not integral and not (grid <= 1).all()):
        raise ValueError(
            "max_samples_grid must hold ints of at least 1 or floats in (0, 1], "
            f"got {grid.tolist()}."
        )
    try:
        return sorted({resolve_max_samples(n, size, k, bootstrap) for size in grid.tolist()})
    except ValueError as error:
        raise ValueError(f"max_samples_grid: {error}") from error


def left_out_size(drawn, n, k, bootstrap):
    """What a size stands for among n-1 rows: the same share, s (n-1)/n to the nearest int.

    So that s = n, no subsampling, is all of the n-1 rows. Rounding changes s by at most one.
    """
    if bootstrap == "bernoulli":
        return drawn
    return max(k, round(drawn * (n - 1) / n))


def loo_weights(n, sizes, k, bootstrap, tol):
    """Weights by rank among n-1 rows, a column for each of the sizes (given for n rows)."""
    columns = [
        rank_weights(n - 1, left_out_size(size, n, k, bootstrap), k, bootstrap, tol)
        for size in sizes
    ]
    W = np.zeros((max(map(len, columns)), len(sizes)))
    for j, column in enumerate(columns):
        W[: len(column), j] = column
    return W


def loo_errors(search, X, point_of_row, targets, point_sums, W):
    """Mean over the rows of the squared leave-one-out error, summed over the outputs.

    Parameters
    ----------
    search : NeighborSearch
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows, or their distances where those are precomputed.
    point_of_row : ndarray of shape (n_samples,)
    targets : ndarray of shape (n_outputs, n_samples)
    point_sums : ndarray of shape (n_outputs, n_points)
    W : ndarray of shape (n_ranks, n_sizes)

    Returns
    -------
    errors : ndarray of shape (n_sizes,)
    """
    n = targets.shape[1]
    mean_weights = np.maximum(0.0, 1 - W.sum(axis=0))
    errors = np.zeros(W.shape[1])
    totals = targets.sum(axis=1)
    for rows, block in search.blocks(X, len(W), own=point_of_row):
        for target, sums, total in zip(targets, point_sums, totals):
            own = target[rows]
            prediction = block.targets(sums, own) @ W
            prediction += np.multiply.outer((total - own) / (n - 1), mean_weights)
            errors += ((prediction - own[:, None]) ** 2).sum(axis=0)
    return errors / n


def choose(errors):
    """Index of the smallest error; of the smallest size where others agree up to rounding."""
    return int(np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[0])
