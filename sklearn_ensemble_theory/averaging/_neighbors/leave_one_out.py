"""The leave-one-out error of every subsample size, from one neighbour query.

Leaving row i out leaves n-1 rows, whose order around x_i is the order of all n rows without x_i
itself. One query of the training rows among themselves therefore gives the targets by rank for
every i, and the leave-one-out predictions of all sizes s at once are these n x R targets times an
R x sizes matrix of weights.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.averaging._neighbors.rank_laws import RankLaw
from sklearn_ensemble_theory.averaging._neighbors.rank_weights import count_ranks, rank_weights
from sklearn_ensemble_theory.averaging._neighbors.ranked_targets import TrainingPoints
from sklearn_ensemble_theory.averaging._neighbors.search import NeighborSearch

GRID_SIZE = 32
# The default grid of large problems starts where this many ranks carry the weight: smaller sizes
# need more ranks, up to all n rows at s = 1, and the cost of the query is in proportion.
GRID_RANKS = 1000


def rate_max_samples(n: int, n_features: int, k: int) -> int:
    """s = n^(d/(d+2)), which balances the bound of [Bach, §10.1.2]; no less than k."""
    return min(n, max(k, int(n ** (n_features / (n_features + 2)))))


def default_grid(
    law: type[RankLaw], n: int, k: int, tol: float, n_features: int | None = None
) -> tuple[list[int | float], bool]:
    """About 32 sizes in geometric progression up to n, and the size of the theory's rate.

    Returns
    -------
    sizes : list
        Ascending; as `law.size_from` returns them.

    truncated : bool
        Whether sizes below the first were left out for their cost.
    """

    def affordable(s):
        return count_ranks(law(n - 1, law.size_from(s, n, k), k), tol) <= GRID_RANKS

    low, high = k - 1, n  # at n few ranks carry the weight
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if affordable(middle) else (middle, high)
    sizes = np.round(np.geomspace(high, n, GRID_SIZE)).astype(int).tolist()
    if n_features is not None and (rate := rate_max_samples(n, n_features, k)) >= high:
        sizes.append(rate)
    return [law.size_from(s, n, k) for s in sorted(set(sizes))], high > k


def grid_from_user(law: type[RankLaw], grid: ArrayLike, n: int, k: int) -> list[int | float]:
    """The sizes of a user's grid, resolved as `max_samples` is, sorted and each once."""
    grid = np.asarray(grid)
    if grid.ndim != 1 or len(grid) == 0 or grid.dtype.kind not in "iuf":
        raise ValueError("max_samples_grid must be a one-dimensional array-like of numbers.")
    integral = grid.dtype.kind in "iu"
    if not (grid > 0).all() or (not integral and not (grid <= 1).all()):
        raise ValueError(
            "max_samples_grid must contain ints of at least 1 or floats in (0, 1], "
            f"got {grid.tolist()}."
        )
    try:
        return sorted({law.size_from(size, n, k) for size in grid.tolist()})
    except ValueError as error:
        raise ValueError(f"max_samples_grid: {error}") from error


def loo_weights(
    law: type[RankLaw], sizes: Sequence[int | float], n: int, k: int, tol: float
) -> np.ndarray:
    """Weights by rank among n-1 rows, a column for each of the sizes (given for n rows)."""
    columns = [
        rank_weights(law(n - 1, law.size_without_a_row(size, n, k), k), tol) for size in sizes
    ]
    W = np.zeros((max(map(len, columns)), len(sizes)))
    for j, column in enumerate(columns):
        W[: len(column), j] = column
    return W


def loo_errors(
    search: NeighborSearch, X: Any, targets: np.ndarray, points: TrainingPoints, W: np.ndarray
) -> np.ndarray:
    """Mean over the rows of the squared leave-one-out error, summed over the outputs.

    Parameters
    ----------
    search : NeighborSearch
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows, or their distances where those are precomputed.
    targets : ndarray of shape (n_outputs, n_samples)
    points : TrainingPoints
    W : ndarray of shape (n_ranks, n_sizes)

    Returns
    -------
    errors : ndarray of shape (n_sizes,)
    """
    n = targets.shape[1]
    mean_weights = np.maximum(0.0, 1 - W.sum(axis=0))
    errors = np.zeros(W.shape[1])
    totals = targets.sum(axis=1)
    for rows, block in search.blocks(X, len(W), own=points.of_row):
        for target, sums, total in zip(targets, points.sums, totals):
            own = target[rows]
            prediction = block.targets(sums, own) @ W
            prediction += np.multiply.outer((total - own) / (n - 1), mean_weights)
            errors += ((prediction - own[:, None]) ** 2).sum(axis=0)
    return errors / n


def best_size(errors: np.ndarray) -> int:
    """Index of the smallest error; of the smallest size where others agree up to rounding."""
    return int(np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[0])
