"""Kernel machines in a ball of the RKHS, as linear functions of n features [Shah, §3.5].

With K = Z Z' the coefficients alpha of the functions k(x_i, .) and beta = Z'alpha of the columns of
Z give the same scores K alpha = Z beta and the same norm alpha'K alpha = |beta|²: the ball of the
RKHS is the Euclidean one, and all solvers, bounds and gaps for linear functions apply.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import pairwise_kernels

from .balls import Matrix

# More rows than that: the matrix of all pairs takes 200 MB, and its eigenvectors half a minute.
MAX_KERNEL_ROWS = 5_000
# Values of the matrix of new rows and training rows that are held at a time.
BLOCK = 2**22
# What rounding may change in a kernel matrix, as a share of its largest value.
KERNEL_TOL = 1e-8


def kernel_values(X: Matrix, Y: Matrix, kernel: str | Callable, params: dict[str, Any]) -> Matrix:
    """k(x, y) for all pairs; a ValueError unless all are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = pairwise_kernels(X, Y, metric=kernel, filter_params=not callable(kernel), **params)
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={kernel!r} has values that are not finite; scale X.")
    return K


def kernel_scores(
    X: Matrix, Y: Matrix, dual: np.ndarray, kernel: str | Callable, params: dict[str, Any]
) -> np.ndarray:
    """sum_i k(x, y_i) alpha_i for each row x, a block of them at a time."""
    scores = np.empty((X.shape[0], len(dual)))
    step = max(1, BLOCK // Y.shape[0])
    for start in range(0, len(scores), step):
        part = slice(start, start + step)
        scores[part] = kernel_values(X[part], Y, kernel, params) @ dual.T
    return scores


def kernel_features(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z with orthogonal columns and Z Z' = K, and the positive eigenvalues of K, their squares.

    Then alpha = Z (beta / eigenvalues) has Z'alpha = beta.
    """
    size = float(np.abs(K).max())
    if np.abs(K - K.T).max() > KERNEL_TOL * size:
        raise ValueError("kernel must be symmetric.")
    values, vectors = eigh(K, check_finite=False)
    if values[0] < -KERNEL_TOL * len(K) * size:
        raise ValueError(
            f"kernel must be positive semi-definite; its matrix has the eigenvalue {values[0]:.3g}."
        )
    # Smaller ones are rounding errors of K. At least one column remains, of zeros where K is 0.
    positive = values > len(K) * np.finfo(np.float64).eps * values[-1]
    positive[-1] = True
    values = np.maximum(values[positive], np.finfo(np.float64).tiny)
    return vectors[:, positive] * np.sqrt(values) * (size > 0), values
