"""The variance of the mean of an ensemble over training sets, from one fit.

Three quantities, three functions. The spread of the members measures how much they differ from each
other, which does not decrease as members are added; the standard error measures how much their mean
would differ on fresh data; the decomposition relates the two.

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
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory.ensembles._members import FittedEnsemble, prediction_blocks
from sklearn_ensemble_theory.ensembles._training_rows import check_rows_outside

# Weights that are dense at once: 64 MB.
DENSE = 2**23


# --- of a fitted ensemble -------------------------------------------------------------------------


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


def standard_error(ensemble: FittedEnsemble, X, method: str) -> np.ndarray:
    """Estimate the standard deviation of the mean over training sets, at the points X."""
    if not isinstance(method, str) or method not in ("infinitesimal", "jackknife"):
        raise ValueError(f"method must be one of ['infinitesimal', 'jackknife'], got {method!r}.")
    variance, spread, level = jackknife_variance(ensemble, X, method)
    # Members that agree to rounding leave a difference of rounding errors, not of noise.
    below = np.count_nonzero((variance < 0) & (spread > 1e-24 * level))
    if below:
        warn_user(
            f"Monte Carlo noise exceeds the estimated variance at {below} of "
            f"{variance.size} points, where the standard error is given as 0; more members "
            f"than n_estimators={len(ensemble.estimators_)} are needed there."
        )
    return np.sqrt(np.maximum(variance, 0.0))


def spread_of_members(ensemble: FittedEnsemble, X) -> np.ndarray:
    """Return the standard deviation of the members' predictions around their mean."""
    blocks = member_blocks(ensemble, X)
    return np.concatenate([predictions.std(axis=0, ddof=1) for predictions in blocks])


def variance_decomposition(ensemble: FittedEnsemble, X) -> VarianceDecomposition:
    """Estimate the variance and correlation of members, and the variance of their mean."""
    variance, spread, _ = jackknife_variance(ensemble, X)
    return decompose(variance, spread, len(ensemble.estimators_))


def member_blocks(ensemble: FittedEnsemble, X) -> Iterator[np.ndarray]:
    """Check X and the number of members; their predictions, (B, m, ...), in blocks of rows."""
    check_is_fitted(ensemble)
    if len(ensemble.estimators_) < 2:
        raise ValueError("The spread of the members requires n_estimators >= 2.")
    return map(with_squares, prediction_blocks(ensemble, ensemble._validate_X(X)))


def with_squares(predictions: np.ndarray) -> np.ndarray:
    """Return predictions whose squares are in the range of floats; an error for others."""
    top = float(np.abs(predictions).max(initial=0.0))
    if top > 0 and not 1e-150 < top < 1e150:
        raise ValueError(
            "y is so large, or so small, that squares of the members' predictions overflow or "
            "vanish; scale y."
        )
    return predictions


def jackknife_variance(
    ensemble: FittedEnsemble, X, method: str = "infinitesimal"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the estimated variance of the mean, the members' variance and mean square, at X."""
    blocks, scheme = member_blocks(ensemble, X), ensemble._member_spec.scheme
    scale: float = 1.0
    noise: float | None = None
    if method == "infinitesimal":
        scale = scheme.jackknife_scale
        # Weights that never vary have no covariance with the predictions.
        if not np.isfinite(scale):
            raise ValueError(
                f"With bootstrap={scheme.bootstrap!r} and max_samples={ensemble.max_samples} every "
                "member is fitted to every row with the same weight, so that the variance over "
                "training sets cannot be estimated."
            )
        draws = scheme.influence_draws(drawn_weights(ensemble))
        squares = SquaredInfluences(covariance_vectors(draws, scheme.unit_shares), draws.shape[1])
        noise = scheme.noise / draws.shape[0] if scheme.noise_is_known else None
    else:
        check_rows_outside(ensemble, "Standard errors by the jackknife")
        if not scheme.leaves_units_out:
            raise ValueError(
                f"The jackknife after bootstrap is not defined for bootstrap={scheme.bootstrap!r}, "
                'where units overlap; use method="infinitesimal".'
            )
        draws = drawn_weights(ensemble)
        squares = SquaredInfluences(left_out_vectors(draws, scheme.unit_shares), draws.shape[1])
    # Blocks of points bound the memory: the vectors are made once, for all of them.
    variance, spread, level = [], [], []
    for predictions in blocks:
        flat = predictions.reshape(len(predictions), -1)
        part = corrected(squares, flat, scale=scale, noise=noise)
        variance.append(part.reshape(predictions.shape[1:]))
        spread.append(predictions.var(axis=0, ddof=1))
        level.append((predictions**2).mean(axis=0))
    return np.concatenate(variance), np.concatenate(spread), np.concatenate(level)


def drawn_weights(ensemble: FittedEnsemble) -> sp.csr_array:
    """Draw the weights v of the units in the members again: a sparse array of shape (B, n)."""
    n = ensemble._member_spec.scheme.n_units
    # Rows of weight 0 are most of them: sparse, with the shortest integers that hold the rows.
    rows, weights = [], []
    for seed in ensemble._seeds:
        drawn, v = ensemble._member_spec.draw_units(seed)
        rows.append(drawn.astype(np.int32 if n < 2**31 else np.int64))
        weights.append(v.astype(np.float64))
    indptr = np.cumsum([0] + [len(drawn) for drawn in rows])
    shape = len(rows), n
    return sp.csr_array((np.concatenate(weights), np.concatenate(rows), indptr), shape=shape)


# --- of arrays ------------------------------------------------------------------------------------


class SquaredInfluences:
    """sum_i (u_i t)² for any predictions t, from the vectors u_i of all rows, given in blocks.

    With G = sum_i u_i u_i' this is t' G t: B² multiplications for a point instead of n B. Where
    B > n the vectors themselves are kept. `noise` is sum_i |u_i|².
    """

    def __init__(self, blocks: Iterator[np.ndarray], n_rows: int) -> None:
        self.gram: np.ndarray | None = None
        self.vectors: list[np.ndarray] = []
        self.noise = 0.0
        for u in blocks:
            self.noise += float(np.einsum("ib,ib->", u, u))
            # The smaller of the two ways: B x B numbers for all rows, or B numbers for each row.
            if u.shape[1] > n_rows:
                self.vectors.append(u)
            elif self.gram is None:
                self.gram = u.T @ u
            else:
                self.gram += u.T @ u

    def of(self, predictions: np.ndarray) -> np.ndarray:
        """Return the sum for the columns of `predictions`, (B, m) -> (m,)."""
        if self.gram is not None:
            return np.einsum("bm,bm->m", predictions, self.gram @ predictions)
        total = np.zeros(predictions.shape[1])
        for u in self.vectors:
            products = u @ predictions
            total += np.einsum("im,im->m", products, products)
        return total


def _dense_blocks(
    weights: sp.csr_array, shares: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Iterate over the weights of some rows, dense of shape (rows, B), and the rows' shares p_i."""
    B, n = weights.shape
    step = max(1, DENSE // B)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        v = weights[:, rows].toarray().T
        yield v, np.full((v.shape[0], 1), 1 / n) if shares is None else shares[rows, None]


def covariance_vectors(
    weights: sp.csr_array, shares: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """u_i with u_i t = Cov_b(v_bi - p_i sum_j v_bj, t_b), from the weights v of shape (B, n).

    The total is subtracted because independent weights (Poisson, Bernoulli) also vary in it, which
    is not the influence of any row.
    """
    totals = np.asarray(weights.sum(axis=1)).ravel()
    for v, share in _dense_blocks(weights, shares):
        u = v - share * totals
        u -= u.mean(axis=1, keepdims=True)
        u /= weights.shape[0]
        yield u


def left_out_vectors(
    weights: sp.csr_array, shares: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """u_i with u_i t = sqrt(1 - p_i) (mean of t over the members without row i - mean of t).

    0 for a row that all members are fitted to, or none.
    """
    for v, share in _dense_blocks(weights, shares):
        outside = (v == 0).astype(float)
        counts = outside.sum(axis=1, keepdims=True)
        # The mean over the members without the row, as a product with the predictions.
        u = np.divide(outside, counts, out=np.zeros_like(outside), where=counts > 0)
        u -= (counts > 0) / weights.shape[0]
        u *= np.sqrt(1 - share)
        yield u


def infinitesimal_jackknife(
    weights: np.ndarray | sp.csr_array, predictions: np.ndarray, *, scale: float, noise: float
) -> np.ndarray:
    """Bias-corrected Var_IJ of m points, which Monte Carlo noise may leave below 0.

    From the (B, n) weights and (B, m) predictions; `scale` and `noise` are those of the scheme.
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
    # The vectors have sum 0, so that centring changes nothing but the rounding errors.
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
