"""Least squares and ridge regression on the few columns of a projected design."""

import numpy as np
from scipy.linalg import cho_solve, svd
from scipy.linalg.lapack import dpocon, dpotrf

# The least reciprocal condition number of a Gram matrix that is solved by Cholesky.
_WELL_CONDITIONED = 1e-8


def ridge_coefficients(B: np.ndarray, Z: np.ndarray, alpha: float) -> np.ndarray:
    """The eta with the least ||Z - B eta||^2 + alpha ||eta||^2, of least norm for alpha = 0.

    By the normal equations where they are well conditioned, otherwise by singular values.

    Parameters
    ----------
    B : ndarray of shape (n, s)
    Z : ndarray of shape (n, n_outputs)
    alpha : float
        Non-negative; infinity gives 0.

    Returns
    -------
    eta : ndarray of shape (s, n_outputs)
    """
    n, s = B.shape
    if alpha == np.inf or s == 0:
        return np.zeros((s, Z.shape[1]))
    if s <= n or alpha > 0:
        wide = s > n
        gram = B @ B.T if wide else B.T @ B
        gram.flat[:: len(gram) + 1] += alpha
        norm = np.abs(gram).sum(axis=0).max()
        factor, failed = dpotrf(gram, lower=1)
        if not failed and dpocon(factor, norm, uplo="L")[0] > _WELL_CONDITIONED:
            if wide:
                return B.T @ cho_solve((factor, True), Z, check_finite=False)
            return cho_solve((factor, True), B.T @ Z, check_finite=False)
    U, sigma, Vt = _thin_svd(B)
    shrunk = (sigma / (sigma**2 + alpha))[:, None]
    return Vt.T @ (shrunk * (U.T @ Z))


def hat_factors(B: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """(U, f) with U diag(f) U' the matrix that maps targets to the fitted values."""
    if alpha == np.inf:
        return np.zeros((len(B), 0)), np.zeros(0)
    U, sigma, _ = _thin_svd(B)
    return U, sigma**2 / (sigma**2 + alpha)


def _thin_svd(B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular value decomposition without values that are 0 to rounding."""
    U, sigma, Vt = svd(B, full_matrices=False, check_finite=False)
    kept = sigma > max(B.shape) * np.finfo(float).eps * sigma.max(initial=0.0)
    return U[:, kept], sigma[kept], Vt[kept]
