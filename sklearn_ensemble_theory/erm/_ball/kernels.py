"""Kernel machines in a ball of the RKHS, as linear functions of n features [Shah, §3.5].

With K = Z Z' the coefficients alpha of the functions k(x_i, .) and beta = Z'alpha of the columns of
Z give the same scores K alpha = Z beta and the same norm alpha'K alpha = |beta|²: the ball of the
RKHS is the Euclidean one, and all solvers, bounds and gaps for linear functions apply.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import pairwise_kernels

from .balls import Matrix

# More rows than that: the matrix of all pairs takes 200 MB, and its decomposition seconds.
MAX_KERNEL_ROWS = 5_000
# Values of the matrix of new rows and training rows that are held at a time.
BLOCK = 2**22
# What rounding may change in a kernel matrix, as a share of its largest value.
KERNEL_TOL = 1e-8
# What pivots may leave, in units of the rounding errors at which they end.
LEFT_BY_PIVOTS = 4


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
    """sum_i k(x, y_i) alpha_i for each row x, a block of them at a time, without alpha of 0."""
    used = dual.any(axis=0)
    if not used.all():
        Y, dual = Y[used], dual[:, used]
    scores = np.empty((X.shape[0], len(dual)))
    step = max(1, BLOCK // max(Y.shape[0], 1))
    for start in range(0, len(scores), step):
        part = slice(start, start + step)
        scores[part] = kernel_values(X[part], Y, kernel, params) @ dual.T if dual.size else 0.0
    return scores


@dataclass(frozen=True)
class KernelFeatures:
    """Z with Z Z' = K, and how coefficients beta of its columns become alpha: Z'alpha = beta."""

    Z: np.ndarray
    dual: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, K: np.ndarray) -> "KernelFeatures":
        """By pivots in O(n r²) for a matrix of rank r; by eigenvalues where K has larger errors.

        A ValueError if K is not symmetric or not positive semi-definite.
        """
        size = float(np.abs(K).max())
        if np.abs(K - K.T).max() > KERNEL_TOL * size:
            raise ValueError("kernel must be symmetric.")
        return (cls._by_pivots(K, size) if size else None) or cls._by_eigenvalues(K, size)

    @classmethod
    def _by_pivots(cls, K: np.ndarray, size: float) -> "KernelFeatures | None":
        """Z by the Cholesky decomposition with pivots; None where it leaves more than rounding.

        What is left of a positive semi-definite matrix is not larger than on its diagonal.
        """
        found, pivots, rank, _ = dpstrf(K, lower=1)
        order = pivots - 1
        factor = np.tril(found[:rank, :rank])
        Z = np.empty((len(K), rank))
        Z[order[:rank]], Z[order[rank:]] = factor, found[rank:, :rank]
        rounding = len(K) * np.finfo(np.float64).eps * size
        if rank < len(K) and np.abs(K - Z @ Z.T).max() > LEFT_BY_PIVOTS * rounding:
            return None

        def dual(beta: np.ndarray) -> np.ndarray:
            alpha = np.zeros((len(beta), len(K)))
            alpha[:, order[:rank]] = solve_triangular(factor, beta.T, trans="T", lower=True).T
            return alpha

        return cls(Z, dual)

    @classmethod
    def _by_eigenvalues(cls, K: np.ndarray, size: float) -> "KernelFeatures":
        """Z with orthogonal columns, whose squares are the positive eigenvalues."""
        values, vectors = eigh(K, check_finite=False)
        if values[0] < -KERNEL_TOL * len(K) * size:
            raise ValueError(
                "kernel must be positive semi-definite; its matrix has the eigenvalue "
                f"{values[0]:.3g}."
            )
        # Smaller ones are rounding errors of K. At least one column remains, of zeros where K is 0.
        positive = values > len(K) * np.finfo(np.float64).eps * values[-1]
        positive[-1] = True
        values = np.maximum(values[positive], np.finfo(np.float64).tiny)
        Z = vectors[:, positive] * np.sqrt(values) * (size > 0)
        return cls(Z, lambda beta: beta @ (Z / values).T)
