"""The variance of a bagged ensemble, from one fit: functions on arrays.

With v the (B, n) weights of the rows in the B members and t their (B, m) predictions at m points,
two estimates of the variance, over fresh data sets, of the mean of infinitely many members are

    infinitesimal jackknife:    c sum_i Cov_b(v_bi, t_b)²
    jackknife after bootstrap:  sum_i (1 - p_i) (mean of t_b over the members without i - mean)²

[Efron, 1992 and 2014; Wager, Hastie and Efron, 2014]; c is the scheme's `jackknife_scale`, and p_i
the share of row i of the total weight, 1/n. Both are sum_i (u_i t)² for vectors u_i of B numbers of
sum 0. If the predictions did not depend on the rows, the sum would be sum_i |u_i|² Var(t), the
Monte Carlo noise of B members, which is subtracted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

# Weights that are dense at once: 64 MB.
BLOCK = 2**23


@dataclass(frozen=True)
class VarianceDecomposition:
    """Variance of an ensemble's mean, rho sigma² + (1 - rho) sigma² / B [Shah, §4.5].

    Attributes
    ----------
    sigma2 : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Variance of a single member over fresh data sets and fresh draws.

    rho : ndarray of the same shape
        Correlation between two members fitted to the same data set; 0 where `sigma2` is 0.

    variance : ndarray of the same shape
        Variance of the ensemble's mean over fresh data sets and fresh draws.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.
    """

    sigma2: np.ndarray
    rho: np.ndarray
    variance: np.ndarray


class SquaredInfluences:
    """sum_i (u_i t)² for any predictions t, from the vectors u_i of all rows.

    With G = sum_i u_i u_i' this is t' G t: B² multiplications for a point instead of n B. Where
    B > n the vectors themselves are kept.

    Parameters
    ----------
    blocks : iterable of float arrays of shape (rows, B)
        The vectors u_i, in blocks.
    n_rows : int
        Their number n.

    Attributes
    ----------
    noise : float
        sum_i |u_i|².
    """

    def __init__(self, blocks: Iterator[np.ndarray], n_rows: int) -> None:
        self.gram: np.ndarray | None = None
        self.vectors: list[np.ndarray] = []
        self.noise = 0.0
        for u in blocks:
            self.noise += float(np.einsum("ib,ib->", u, u))
            if u.shape[1] > n_rows:
                self.vectors.append(u)
            elif self.gram is None:
                self.gram = u.T @ u
            else:
                self.gram += u.T @ u

    def of(self, predictions: np.ndarray) -> np.ndarray:
        """The sum for the columns of `predictions`, (B, m) -> (m,)."""
        if self.gram is not None:
            return np.einsum("bm,bm->m", predictions, self.gram @ predictions)
        total = np.zeros(predictions.shape[1])
        for u in self.vectors:
            products = u @ predictions
            total += np.einsum("im,im->m", products, products)
        return total


def _dense_blocks(weights: sp.csr_array) -> Iterator[tuple[slice, np.ndarray]]:
    """The weights of blocks of rows, dense of shape (rows, B)."""
    B, n = weights.shape
    step = max(1, BLOCK // B)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows, weights[:, rows].toarray().T


def covariance_vectors(
    weights: sp.csr_array, shares: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """u_i with u_i t = Cov_b(v_bi - p_i sum_j v_bj, t_b).

    The total is subtracted because independent weights (Poisson, Bernoulli) also vary in it, which
    is not the influence of any row.

    Parameters
    ----------
    weights : sparse matrix of shape (B, n)
    shares : array of shape (n,) or None
        p_i, of sum 1; None for 1/n.
    """
    B, n = weights.shape
    totals = np.asarray(weights.sum(axis=1)).ravel()
    for rows, v in _dense_blocks(weights):
        share = np.full((v.shape[0], 1), 1 / n) if shares is None else shares[rows, None]
        u = v - share * totals
        u -= u.mean(axis=1, keepdims=True)
        u /= B
        yield u


def left_out_vectors(
    weights: sp.csr_array, shares: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """u_i with u_i t = sqrt(1 - p_i) (mean of t over the members without row i - mean of t).

    0 for a row that all members are fitted to, or none.
    """
    B, n = weights.shape
    for rows, v in _dense_blocks(weights):
        share = np.full((v.shape[0], 1), 1 / n) if shares is None else shares[rows, None]
        outside = (v == 0).astype(float)
        counts = outside.sum(axis=1, keepdims=True)
        u = np.divide(outside, counts, out=np.zeros_like(outside), where=counts > 0)
        u -= (counts > 0) / B
        u *= np.sqrt(1 - share)
        yield u


def infinitesimal_jackknife(
    weights: np.ndarray | sp.csr_array, predictions: np.ndarray, *, scale: float, noise: float
) -> np.ndarray:
    """Bias-corrected Var_IJ, which Monte Carlo noise may leave below 0.

    Parameters
    ----------
    weights : matrix of shape (B, n)
    predictions : ndarray of shape (B, m)
    scale, noise : float
        The scheme's `jackknife_scale` and `noise`.

    Returns
    -------
    variance : ndarray of shape (m,)
    """
    B, n = weights.shape
    squares = SquaredInfluences(covariance_vectors(sp.csr_array(weights)), n)
    return corrected(squares, predictions, scale=scale, noise=noise / B)


def corrected(
    squares: SquaredInfluences,
    predictions: np.ndarray,
    *,
    scale: float = 1.0,
    noise: float | None = None,
) -> np.ndarray:
    """scale (sum_i (u_i t)² - noise Var(t)); `noise` is sum_i |u_i|² where it is not known exactly.

    O(m B min(n, B)).
    """
    centred = predictions - predictions.mean(axis=0)
    spread = np.einsum("bm,bm->m", centred, centred) / len(centred)
    return scale * (squares.of(centred) - (squares.noise if noise is None else noise) * spread)


def decompose(
    jackknife_variance: np.ndarray, spread: np.ndarray, n_members: int
) -> VarianceDecomposition:
    """sigma², rho and the ensemble's variance from Var_IJ and the spread of the members.

    The law of total variance: a member's variance is the variance of its mean over draws, given
    the data (which the jackknife estimates), plus its mean variance over draws (which the spread of
    the members estimates without bias).
    """
    between = np.maximum(jackknife_variance, 0.0)
    sigma2 = between + spread
    rho = np.divide(between, sigma2, out=np.zeros_like(sigma2), where=sigma2 > 0)
    return VarianceDecomposition(sigma2, rho, rho * sigma2 + (1 - rho) * sigma2 / n_members)
