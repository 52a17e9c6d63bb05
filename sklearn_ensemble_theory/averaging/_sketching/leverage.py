"""Probabilities of rows in proportion to their estimated leverage scores."""

import numpy as np
from scipy.linalg import solve_triangular

from sklearn_ensemble_theory.averaging._sketching.row_chunks import CentredRows, RowChunks
from sklearn_ensemble_theory.averaging._sketching.sketch_sums import add_rows, centred_sketch
from sklearn_ensemble_theory.averaging._sketching.sketched_solutions import (
    SketchedGram,
    sketched_solution,
)
from sklearn_ensemble_theory.averaging._sketching.sketches import CountSketch

# Leverage scores are estimated up to a constant factor: more columns than these are projected.
LEVERAGE_COLUMNS = 16
# Share of the draws by leverage that is uniform, so that no factor of a row is very large.
UNIFORM_SHARE = 0.1


def leverage_probabilities(chunks: RowChunks, fit_intercept: bool, seed: int) -> np.ndarray:
    """Probabilities of the rows in proportion to their estimated leverage scores.

    The scores ||R^-T x||^2 with R of a count sketch of 4 d rows; for more than 16 columns the norms
    are those of 16 Gaussian projections. O(n d + d^3 + 16 n d).
    """
    d = chunks.X.shape[1]
    sketch = leverage_sketch(seed, d)
    empty = RowChunks(chunks.X, np.empty((len(chunks.y), 0)), chunks.root_weight, chunks.shift)
    add_rows([sketch], empty)
    weight, x_sum, _ = empty.sums()
    x_mean = x_sum / weight if fit_intercept else np.zeros(d)
    scores = leverage_scores(empty, x_mean, inverse_root(sketch, x_mean, seed))
    total = scores.sum()
    uniform = np.full(len(scores), 1 / len(scores))
    return uniform if total <= 0 else scores / total * (1 - UNIFORM_SHARE) + uniform * UNIFORM_SHARE


def leverage_sketch(seed: int | list[int], d: int) -> CountSketch:
    """The count sketch of X from which scores are estimated; without targets."""
    return CountSketch(seed, max(4 * d, LEVERAGE_COLUMNS), d, 1)


def inverse_root(sketch: CountSketch, x_mean: np.ndarray, seed: int) -> np.ndarray:
    """M with about ||M'x||^2 the leverage score of a row x; at most `LEVERAGE_COLUMNS` columns."""
    _, gram = sketched_solution(*centred_sketch(sketch, x_mean, np.zeros(0)), 0.0)
    M = inverse_factor(gram)
    if M.shape[1] > LEVERAGE_COLUMNS:
        M = M @ np.random.default_rng(seed).standard_normal((M.shape[1], LEVERAGE_COLUMNS))
        M /= LEVERAGE_COLUMNS**0.5
    return M


def leverage_scores(chunks: RowChunks, x_mean: np.ndarray, M: np.ndarray) -> np.ndarray:
    """The scores of these rows, at most 1."""
    no_targets = np.zeros(chunks.y.shape[1])
    return np.minimum(CentredRows(chunks, x_mean, no_targets).squared_norms(M), 1.0)


def inverse_factor(gram: SketchedGram) -> np.ndarray:
    """M with M M' the (pseudo)inverse of the matrix."""
    with np.errstate(over="ignore"):
        if gram.triangular:
            M = solve_triangular(gram.factor, np.eye(gram.rank)) / gram.scale[:, None]
        else:
            M = gram.V.T / gram.values[:, 0] / gram.unit
    if not np.isfinite(M).all():
        raise ValueError("X is so small that its leverage scores overflow; scale X.")
    return M
