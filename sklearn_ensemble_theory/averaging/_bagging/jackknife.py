"""The variance of a bagged ensemble, from one fit: functions on arrays.

With v the (B, n) weights of the rows in the B members and t their (B, m) predictions at m points,

    Var_IJ = c sum_i Cov_b(v_bi, t_b)²

estimates the variance, over fresh data sets, of the mean of infinitely many members [Efron, 2014;
Wager, Hastie and Efron, 2014]; c is the scheme's `jackknife_scale`. With B members each covariance
carries noise of variance Var(v_i) Var(t) / B; summed over the rows this is a bias of
c sum_i Var(v_i) Var(t) / B, subtracted here.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


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


def infinitesimal_jackknife(
    weights: np.ndarray | sp.csr_array, predictions: np.ndarray, *, scale: float, noise: float
) -> np.ndarray:
    """Bias-corrected Var_IJ, which Monte Carlo noise may leave below 0.

    Parameters
    ----------
    weights : sparse matrix of shape (B, n)
    predictions : ndarray of shape (B, m)
    scale, noise : float
        The scheme's `jackknife_scale` and `noise`.

    Returns
    -------
    variance : ndarray of shape (m,)

    Notes
    -----
    Cost: O(m nnz(weights)) time, O(n m) memory.
    """
    B = len(predictions)
    centred = predictions - predictions.mean(axis=0)
    # The predictions are centred, so the weights need not be. The mean over rows is subtracted
    # because independent weights (Poisson, Bernoulli) also vary in their total, which is not the
    # influence of any row.
    covariance = (weights.T @ centred) / B
    covariance -= covariance.mean(axis=0)
    raw = np.einsum("im,im->m", covariance, covariance)
    spread = np.einsum("bm,bm->m", centred, centred) / B
    return scale * (raw - noise * spread / B)


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
