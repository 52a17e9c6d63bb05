"""Kernel weights of Nadaraya and Watson: for each point a row of non-negative weights with sum 1.

All functions use scaled coordinates z = x / h, so that a kernel is a function of one distance u.
Kernels have no normalising constant here, because the weights are normalised.
"""

import numpy as np
from scipy.spatial.distance import cdist

from sklearn_ensemble_theory._numerics.scaling import largest_magnitude

__all__ = [
    "BLOCK_SIZE",
    "COMPACT_KERNELS",
    "KERNELS",
    "gaussian_weights",
    "kernel_slope",
    "kernel_value",
    "loo_errors_of_factors",
    "scott_bandwidth",
]

COMPACT_KERNELS = ("epanechnikov", "tricube", "uniform")
KERNELS = ("gaussian", *COMPACT_KERNELS)

BLOCK_SIZE = 2_000_000
"""Numbers in one block of weights."""

LOO_ROWS = 1000
"""The leave-one-out error of a bandwidth is computed at no more rows than this, evenly spread."""


def kernel_value(kernel: str, u2: np.ndarray) -> np.ndarray:
    """K(u) as a function of u^2; the compact kernels are zero beyond u = 1."""
    if kernel == "gaussian":
        return np.exp(-0.5 * u2)
    if kernel == "uniform":
        return np.where(u2 <= 1.0, 1.0, 0.0)
    inside = np.minimum(u2, 1.0)
    if kernel == "epanechnikov":
        return 1.0 - inside
    return (1.0 - inside * np.sqrt(inside)) ** 3


def kernel_slope(kernel: str, u2: np.ndarray) -> np.ndarray:
    """K'(u) / u as a function of u^2: the gradient of K(|z - z_i|) is this times z - z_i."""
    if kernel == "gaussian":
        return -np.exp(-0.5 * u2)
    if kernel == "uniform":
        return np.zeros_like(u2)
    inside = np.minimum(u2, 1.0)
    if kernel == "epanechnikov":
        return np.where(u2 < 1.0, -2.0, 0.0)
    u = np.sqrt(inside)
    return -9.0 * u * (1.0 - inside * u) ** 2


def scott_bandwidth(X: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """Scott's rule: n^(-1/(p+4)) standard deviations of each feature, infinite for a constant one.

    With an infinite bandwidth the feature is ignored.
    """
    n, p = sample_weight.sum(), X.shape[1]
    # Standard deviations of numbers near 1e150 overflow, so the range is the unit.
    low = X.min(axis=0)
    width = X.max(axis=0) - low
    safe = np.where(width > 0, width, 1.0)
    variance = np.empty(p)
    for j in range(p):  # one column at a time: no copy of X
        z = (X[:, j] - low[j]) / safe[j]
        mean = sample_weight @ z / n
        variance[j] = sample_weight @ (z - mean) ** 2 / n
    return np.where(width > 0, np.sqrt(variance) * safe * n ** (-1.0 / (p + 4)), np.inf)


def gaussian_weights(
    Z: np.ndarray,
    Z_train: np.ndarray,
    sample_weight: np.ndarray,
    shift: np.ndarray | None = None,
) -> np.ndarray:
    """Rows of Gaussian weights at Z, dense (len(Z), n), extrapolated linearly by `shift`.

    Distances are relative to the nearest training point, so that a point far from all of them
    gets the value of the nearest one instead of 0/0. `shift` is None or the (len(Z), p) vectors
    from the points of evaluation to the points of prediction.
    """
    u2 = cdist(Z, Z_train, "sqeuclidean")
    u2 -= u2.min(axis=1, keepdims=True)
    K = np.exp(-0.5 * u2, out=u2)
    K *= sample_weight
    K /= K.sum(axis=1, keepdims=True)
    if shift is None:
        return K
    # d/dz of K_i / sum K along the shift, with K'_i = -K_i (z - z_i).
    along = (Z * shift).sum(axis=1, keepdims=True) - shift @ Z_train.T
    along -= (K * along).sum(axis=1, keepdims=True)
    return K * (1.0 - along)


def loo_errors_of_factors(
    kernel: str, Z: np.ndarray, Y: np.ndarray, w: np.ndarray, factors: np.ndarray
) -> tuple[np.ndarray, float]:
    """Mean squared leave-one-out error for bandwidths times each factor, and the best factor.

    One unit of weight is left out of row i (the whole row where its weight is smaller), and the
    rest is averaged. For a row without neighbours, that is the mean of the nearest rows.
    """
    n = len(Z)
    scale = largest_magnitude(Y)  # squares of 1e150 overflow
    Y = Y / scale
    rows = np.arange(n) if n <= LOO_ROWS else np.linspace(0, n - 1, LOO_ROWS).astype(int)
    errors = np.zeros(len(factors))
    step = max(1, BLOCK_SIZE // n)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        u2 = cdist(Z[block], Z, "sqeuclidean")
        weights = np.broadcast_to(w, u2.shape).copy()
        own = (np.arange(len(block)), block)
        weights[own] -= np.minimum(1.0, w[block])
        others = np.where(weights > 0, u2, np.inf)
        nearest = others.min(axis=1, keepdims=True)
        alone = ~np.isfinite(nearest[:, 0])  # a single row
        nearest[alone] = 0.0
        for k, factor in enumerate(factors):
            if kernel == "gaussian":
                K = np.exp(-0.5 * np.maximum(u2 - nearest, 0.0) / factor**2) * weights
            else:
                K = kernel_value(kernel, u2 / factor**2) * weights
                isolated = K.sum(axis=1) <= 0
                K[isolated] = (others[isolated] <= nearest[isolated] * (1 + 1e-12)) * weights[
                    isolated
                ]
            total = K.sum(axis=1, keepdims=True)
            total[total == 0] = 1.0
            residual = Y[block] - (K / total) @ Y
            errors[k] += (w[block, None] * residual**2)[~alone].sum()
    with np.errstate(over="ignore", under="ignore"):
        return errors / w[rows].sum() * scale * scale, factors[np.argmin(errors)]
