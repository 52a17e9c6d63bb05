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

Members that come in groups with disjoint rows have a third one, without bias for any size of the
subsamples: two members of a group are independent, so that half their mean squared difference is
the variance of a member; for members of different groups it is less, by the covariance of two
members, which is the variance of the mean [Xu, Zhu and Shao, 2022].

What is left has a noise of its own, which at a single point is larger than the variance itself
unless B is about n. But its ratio to the spread of the members, rho / (1 - rho), differs little
between points. The mean and variance of this ratio over training rows, each predicted by the
members that it is outside of, are a prior law, and the noise is known: the estimate is the mean of
the normal posterior law given that the ratio is positive. Ratios are shrunk to their mean where
noise prevails, and are left alone where there are members enough (the empirical Bayes estimate of
normal means [Efron and Morris, 1973]).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import log_ndtr

from sklearn_ensemble_theory._rows import rows_of
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_rows_outside,
    warn_of_copies_in,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    prediction_blocks,
)
from sklearn_ensemble_theory.trees._compact import rows_are_alone

# Weights that are dense at once: 64 MB.
DENSE = 2**23
# Training rows at which the ratio of the variances is computed.
PRIOR_ROWS = 500
METHODS = ("auto", "infinitesimal", "jackknife", "u-statistic")
# Members whose variance is a smaller share of their mean square agree to rounding.
AGREEMENT = 1e-24


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


class StandardErrorWarning(UserWarning):
    """Warning: a standard error is too small because of the draws, or has too few members."""


def standard_error(ensemble: Ensemble, X, method: str) -> np.ndarray:
    """Estimate the standard deviation of the mean over training sets, at the points X."""
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {list(METHODS)}, got {method!r}.")
    return np.sqrt(positive_variance(ensemble, X, method)[0])


def spread_of_members(ensemble: Ensemble, X) -> np.ndarray:
    """Return the standard deviation of the members' predictions around their mean."""
    blocks = member_blocks(ensemble, X)
    return np.concatenate([predictions.std(axis=0, ddof=1) for predictions in blocks])


def variance_decomposition(ensemble: Ensemble, X) -> VarianceDecomposition:
    """Estimate the variance and correlation of members, and the variance of their mean."""
    variance, spread = positive_variance(ensemble, X, "auto")
    return decompose(variance, spread, len(ensemble.members))


def member_blocks(ensemble: Ensemble, X) -> Iterator[np.ndarray]:
    """The predictions of at least 2 members, (B, m, ...), in blocks of rows."""
    if len(ensemble.members) < 2:
        raise ValueError("The spread of the members requires n_estimators >= 2.")
    return map(with_squares, prediction_blocks(ensemble, X))


def with_squares(predictions: np.ndarray) -> np.ndarray:
    """Return predictions whose squares are in the range of floats; an error for others."""
    top = float(np.abs(predictions).max(initial=0.0))
    if top > 0 and not 1e-150 < top < 1e150:
        raise ValueError(
            "y is so large, or so small, that squares of the members' predictions overflow or "
            "vanish; scale y."
        )
    return predictions


def positive_variance(ensemble: Ensemble, X, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimated variance of the mean, 0 only if members agree, and of members, at X."""
    blocks, jackknife = member_blocks(ensemble, X), jackknife_of(ensemble, method)
    scheme = ensemble.draws.scheme
    if jackknife.is_infinitesimal and scheme.repeats_units and _ignores_counts(ensemble):
        has_other = scheme.leaves_rows_out and scheme.leaves_units_out
        cure = 'method="auto"' if has_other else "bootstrap=True if rows are independent"
        warn_user(
            "Members that reproduce the targets of their rows do not notice how often a row was "
            f"drawn: with bootstrap={scheme.bootstrap!r} the infinitesimal jackknife is too "
            f"small. Use larger leaves, or {cure}.",
            StandardErrorWarning,
        )
    variance, spread, level = variances_at(jackknife, blocks)
    prior_mean, prior_variance = prior_of_ratios(ensemble, jackknife, method)
    # Members that agree to rounding differ by rounding errors, which no draw has caused.
    differ = spread > AGREEMENT * level
    ratio = np.divide(variance, spread, out=np.zeros_like(variance), where=differ)
    noise = jackknife.noise_of_ratio(len(ensemble.members), prior_mean)
    mean, error = positive_posterior(ratio, noise, prior_mean, prior_variance)
    below = np.count_nonzero(differ & (2 * mean < 3 * error))
    if below:
        warn_user(
            f"Monte Carlo noise exceeds two thirds of the estimated variance at {below} of "
            f"{variance.size} points, where the standard error is a rough guess; more members "
            f"than n_estimators={len(ensemble.members)} are needed there.",
            StandardErrorWarning,
        )
    return np.where(differ, mean * spread, 0.0), spread


def jackknife_variance(
    ensemble: Ensemble, X, method: str = "infinitesimal"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the unbiased variance of the mean, the members' variance and mean square, at X.

    Monte Carlo noise may leave the first below 0.
    """
    blocks = member_blocks(ensemble, X)
    return variances_at(jackknife_of(ensemble, method), blocks)


def variances_at(
    jackknife: "Jackknife | UStatistic", blocks: Iterator[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Variance of the mean, variance and mean square of the members, (B, m, ...) -> (m, ...)."""
    variance, spread, level = [], [], []
    for predictions in blocks:
        part = jackknife.variance(predictions.reshape(len(predictions), -1))
        variance.append(part.reshape(predictions.shape[1:]))
        spread.append(predictions.var(axis=0, ddof=1))
        level.append((predictions**2).mean(axis=0))
    return np.concatenate(variance), np.concatenate(spread), np.concatenate(level)


def jackknife_of(ensemble: Ensemble, method: str) -> "Jackknife | UStatistic":
    """Return the squared influences of the rows, from the draws of the members.

    Of members with disjoint rows, the differences within and between their groups.
    """
    warn_of_copies_in(ensemble)
    scheme = ensemble.draws.scheme
    if scheme.bootstrap == "disjoint":
        if method not in ("auto", "u-statistic"):
            raise ValueError(
                f"method={method!r} is for members that are drawn by themselves; use "
                "method='u-statistic' with bootstrap='disjoint'."
            )
        return UStatistic(len(ensemble.members), scheme.group_size)
    if method == "u-statistic":
        raise ValueError(
            "method='u-statistic' requires members with disjoint rows: bootstrap='disjoint', got "
            f"bootstrap={scheme.bootstrap!r}."
        )
    if method == "auto":
        both = scheme.repeats_units and scheme.leaves_rows_out and scheme.leaves_units_out
        method = "both" if both else "infinitesimal"
    # Weights that never vary have no covariance with the predictions.
    if method != "jackknife" and not np.isfinite(scheme.jackknife_scale):
        raise ValueError(
            f"With bootstrap={scheme.bootstrap!r} and max_samples={ensemble.max_samples} every "
            "member is fitted to every row with the same weight, so the variance over training "
            "sets cannot be estimated."
        )
    if method != "infinitesimal":
        check_rows_outside(ensemble, "Standard errors by the jackknife")
        if not scheme.leaves_units_out:
            raise ValueError(
                f"The jackknife after bootstrap is not defined for bootstrap={scheme.bootstrap!r}, "
                'where units overlap; use method="infinitesimal".'
            )
    draws, shares = drawn_weights(ensemble), scheme.unit_shares
    n = draws.shape[1]
    if method == "jackknife":
        return Jackknife(SquaredInfluences(left_out_vectors(draws, shares), n))
    vectors = covariance_vectors(scheme.influence_draws(draws), shares)
    if method == "infinitesimal":
        noise = scheme.noise / draws.shape[0] if scheme.noise_is_known else None
        return Jackknife(SquaredInfluences(vectors, n), scheme.jackknife_scale, noise, True)
    # The mean of both is one more sum of squares.
    root = np.sqrt(scheme.jackknife_scale)
    both_vectors = chain((root * u for u in vectors), left_out_vectors(draws, shares))
    return Jackknife(SquaredInfluences(both_vectors, n), scale=0.5)


def _ignores_counts(ensemble: Ensemble) -> bool:
    """Whether most rows of the first member are in leaves that are pure, or hold fewer than 5."""
    tree = getattr(ensemble.members[0], "tree_", None)
    return tree is not None and rows_are_alone(tree)


def prior_of_ratios(
    ensemble: Ensemble, jackknife: "Jackknife | UStatistic", method: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the law of the ratio over training rows, for each output.

    The variance is infinite where no rows are kept, or none is outside of a member.
    """
    spec, rows = ensemble.draws, ensemble.rows
    X = getattr(rows, "X", None)  # there is none either where the rows are those of chunks
    if rows is None or X is None or not spec.scheme.leaves_rows_out:
        return np.zeros(1), np.full(1, np.inf)

    def make() -> tuple[np.ndarray, np.ndarray]:
        n = X.shape[0]
        # A few hundred rows tell a mean and a variance; the same ones in each call.
        chosen = np.arange(n)
        if n > PRIOR_ROWS:
            chosen = np.sort(np.random.RandomState(0).permutation(n)[:PRIOR_ROWS])
        drawn = (spec.draw(seed)[1] for seed in ensemble.seeds)
        outside = np.stack([spec.scheme.is_outside(d)[chosen] for d in drawn]).astype(float)
        blocks = prediction_blocks(ensemble, rows_of(X, chosen))
        t = np.concatenate(list(blocks), axis=1).reshape(*outside.shape, -1)
        found = [jackknife.law_of_ratios(t[:, :, k], outside) for k in range(t.shape[2])]
        return tuple(np.array(found).T)

    return rows.derived(f"law of ratios, {method}", ensemble.members, make)


def drawn_weights(ensemble: Ensemble) -> sp.csr_array:
    """Draw the weights v of the units in the members again: a sparse array of shape (B, n)."""
    n = ensemble.draws.scheme.n_units
    # Rows of weight 0 are most of them: sparse, with the shortest integers that hold the rows.
    rows, weights = [], []
    for seed in ensemble.seeds:
        drawn, v = ensemble.draws.draw_units(seed)
        rows.append(drawn.astype(np.int32 if n < 2**31 else np.int64))
        weights.append(v.astype(np.float64))
    indptr = np.cumsum([0] + [len(drawn) for drawn in rows])
    shape = len(rows), n
    return sp.csr_array((np.concatenate(weights), np.concatenate(rows), indptr), shape=shape)


# --- of arrays ------------------------------------------------------------------------------------


class SquaredInfluences:
    """sum_i (u_i t)² for any predictions t, from the vectors u_i of all rows, given in blocks.

    With G = sum_i u_i u_i' this is t' G t: B² multiplications for a point instead of n B. Where
    B > n the vectors themselves are kept.
    """

    def __init__(self, blocks: Iterator[np.ndarray], n_rows: int) -> None:
        self.n_rows = n_rows
        self.gram: np.ndarray | None = None
        self.vectors: list[np.ndarray] = []
        # |u|² for each member: the diagonal of G.
        self.diagonal: np.ndarray = np.zeros(0)
        for u in blocks:
            own = np.einsum("ib,ib->b", u, u)
            self.diagonal = own + (self.diagonal if len(self.diagonal) else 0.0)
            # The smaller of the two ways: B x B numbers for all rows, or B numbers for each row.
            if u.shape[1] > n_rows:
                self.vectors.append(u)
            elif self.gram is None:
                self.gram = u.T @ u
            else:
                self.gram += u.T @ u

    @property
    def noise(self) -> float:
        """sum_i |u_i|², the trace of G."""
        return float(self.diagonal.sum())

    @property
    def norm2(self) -> float:
        """The sum of the squares of the entries of G."""
        if self.gram is not None:
            return float(np.einsum("bc,bc->", self.gram, self.gram))
        return _gram_norm2(np.concatenate(self.vectors))

    def of(self, predictions: np.ndarray) -> np.ndarray:
        """Return the sum for the columns of `predictions`, (B, m) -> (m,)."""
        if self.gram is not None:
            return np.einsum("bm,bm->m", predictions, self.gram @ predictions)
        total = np.zeros(predictions.shape[1])
        for u in self.vectors:
            products = u @ predictions
            total += np.einsum("im,im->m", products, products)
        return total


def _gram_norm2(a: np.ndarray) -> float:
    """Sum of the squares of the entries of a a', which is that of a' a."""
    gram = a @ a.T if a.shape[0] < a.shape[1] else a.T @ a
    return float(np.einsum("ij,ij->", gram, gram))


@dataclass(frozen=True)
class Jackknife:
    """An estimate of the variance of the mean: squared influences, their scale and their noise."""

    squares: SquaredInfluences
    scale: float = 1.0
    known_noise: float | None = None
    is_infinitesimal: bool = False

    def variance(self, t: np.ndarray) -> np.ndarray:
        """The unbiased variance of the mean, from (B, m) predictions."""
        return corrected(self.squares, t, scale=self.scale, noise=self.known_noise)

    def noise_of_ratio(self, n_members: np.ndarray | int, ratio: np.ndarray | float) -> np.ndarray:
        """Variance over draws of the estimated ratio, for predictions by so many of the B members.

        That of t' G t for normal t of given length, and what the influences add where the true
        ratio is not 0: four times their squares by the noise of one.
        """
        B = len(self.squares.diagonal)
        trace = self.squares.noise
        # Two members have only one direction.
        pure = self.squares.norm2 - (B > 2) * trace**2 / (B - 1)
        pure *= 2 * self.scale**2 * (B - 1) / (B + 1)
        share = B / n_members
        both = 4 * self.scale * trace / self.squares.n_rows * np.maximum(ratio, 0.0)
        return share**2 * pure + share * both

    def law_of_ratios(self, t: np.ndarray, outside: np.ndarray) -> tuple[float, float]:
        """Mean and variance of the law of the true ratio at m rows, from (B, m) predictions.

        Each row by the members that it is `outside` of, whose draws are those of a fit without it.
        """
        B, counts = len(t), outside.sum(axis=0)
        mean = (t * outside).sum(axis=0) / np.maximum(counts, 1)
        z = (t - mean) * outside
        spread = np.einsum("bm,bm->m", z, z) / np.maximum(counts - 1, 1)
        rows = (counts >= 5) & (spread > AGREEMENT * mean**2)
        if np.count_nonzero(rows) < 2:
            return 0.0, np.inf
        counts, outside = counts[rows], outside[:, rows]
        # In units of the spread; and covariances of fewer members are means over fewer.
        z = z[:, rows] * (B / counts / np.sqrt(spread[rows]))
        own = self.squares.diagonal @ outside - self.squares.of(outside) / counts
        ratio = self.scale * (self.squares.of(z) - own * (B / counts) ** 2)
        # Rows count by the inverse of their noise.
        weight = counts**2 / np.sum(counts**2)
        mean_ratio = float(weight @ ratio)
        noise = self.noise_of_ratio(counts, mean_ratio)
        spread_of_ratio = float(weight @ ((ratio - mean_ratio) ** 2 - noise))
        share = shared_noise(z * np.sqrt(weight))
        return mean_ratio, float(max(spread_of_ratio, 0.0) + share * self.noise_of_ratio(B, 0.0))


@dataclass(frozen=True)
class UStatistic:
    """The variance of a mean of subsampled members, from groups of members with disjoint rows.

    The variance of the mean of infinitely many members is the covariance of two members with
    independent draws. Let D be the mean of (t_b - t_c)²/2 over some pairs of members. Over pairs
    with disjoint rows, which are independent, it estimates the variance of a member; over pairs of
    different groups it estimates the same without this covariance. The difference has no bias. With
    M = `group_size` members 0, ..., M - 1 are a group, then M, ..., 2M - 1; the last group may have
    fewer.
    """

    n_members: int
    group_size: int
    is_infinitesimal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_members < self.group_size + 2:
            raise ValueError(
                "method='u-statistic' requires two groups of members with disjoint rows: "
                f"n_estimators={self.group_size + 2} at least where max_samples makes groups of "
                f"{self.group_size}, got {self.n_members}."
            )

    def variance(self, t: np.ndarray) -> np.ndarray:
        """As `Jackknife.variance`."""
        return self.covariance(t, np.ones_like(t))[0]

    def covariance(self, t: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The difference of both D at m points by the members of count 1, and its noise.

        The noise is the variance of the difference for independent members, in units of their
        variance squared. nan where there are no pairs of one kind.
        """
        starts = np.arange(0, self.n_members, self.group_size)
        # Sums of squared differences of all pairs are those of squares and squared sums.
        z = (t - (t * counts).sum(axis=0) / np.maximum(counts.sum(axis=0), 1)) * counts
        sizes, sums = np.add.reduceat(counts, starts), np.add.reduceat(z, starts)
        squares = np.add.reduceat(z * z, starts)
        within = squares - np.divide(sums**2, sizes, out=np.zeros_like(sums), where=sizes > 0)
        n_within = np.maximum(sizes - 1, 0).sum(axis=0)
        B = sizes.sum(axis=0)
        n_pairs = B**2 - (sizes**2).sum(axis=0)
        known = (n_within > 0) & (n_pairs > 0)
        n_within, n_pairs = np.where(known, n_within, 1), np.where(known, n_pairs, 1)
        across = (B * squares.sum(axis=0) - (sizes * within).sum(axis=0)) / n_pairs
        found = within.sum(axis=0) / n_within - across
        # For normal members: twice the squared eigenvalues, of which each group has one of its
        # own space size - 1 times, and the means of the groups have the others.
        own = np.maximum(sizes - 1, 0) * (1 / n_within - (B - sizes) / n_pairs) ** 2
        noise = 2 * (own.sum(axis=0) + ((sizes > 0).sum(axis=0) - 1) * (B / n_pairs) ** 2)
        return np.where(known, found, np.nan), np.where(known, noise, np.nan)

    def noise_of_ratio(self, n_members: np.ndarray | int, ratio: np.ndarray | float) -> np.ndarray:
        """As `Jackknife.noise_of_ratio`; it is largest where the ratio is 0, which is taken."""
        ones = np.ones((self.n_members, 1))
        return self.covariance(ones, ones)[1] * self.n_members / n_members + 0 * np.asarray(ratio)

    def law_of_ratios(self, t: np.ndarray, outside: np.ndarray) -> tuple[float, float]:
        """As `Jackknife.law_of_ratios`; unknown for groups of two, of which a row is in one."""
        counts = outside.sum(axis=0)
        mean = (t * outside).sum(axis=0) / np.maximum(counts, 1)
        z = (t - mean) * outside
        spread = np.einsum("bm,bm->m", z, z) / np.maximum(counts - 1, 1)
        variance, noise = self.covariance(t, outside)
        rows = (counts >= 5) & (spread > AGREEMENT * mean**2) & np.isfinite(variance)
        if self.group_size < 3 or np.count_nonzero(rows) < 2:
            return 0.0, np.inf
        ratio, noise = variance[rows] / spread[rows], noise[rows]
        weight = (1 / noise) / np.sum(1 / noise)
        mean_ratio = float(weight @ ratio)
        spread_of_ratio = float(weight @ ((ratio - mean_ratio) ** 2 - noise))
        a = z[:, rows] * np.sqrt(weight / spread[rows])
        return mean_ratio, max(spread_of_ratio, 0.0) + shared_noise(a) * float(noise.min())


def shared_noise(a: np.ndarray) -> float:
    """The share of the noise of a mean over rows that more rows do not remove.

    Rows in the same leaves share their noise: as many rows count as there are directions in their
    predictions, which are the columns of (B, m), with mean 0.
    """
    B = len(a)
    isotropic = np.einsum("bm,bm->", a, a) ** 2 / (B - 1)
    return float((_gram_norm2(a) - isotropic) / max(1, (B - 1) * (B - 2)))


def positive_posterior(
    estimate: np.ndarray, noise: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a normal law given that it is positive, and the law's standard deviation."""
    noise = np.maximum(noise, 0.0)  # below 0 by rounding where all members agree
    trust = 1.0 - noise / np.maximum(variance + noise, np.finfo(float).tiny)
    centre = mean + trust * (estimate - mean)
    error = np.sqrt(trust * noise)
    z = np.divide(centre, error, out=np.full_like(centre, np.inf), where=error > 0)
    z = np.minimum(z, 1e150)  # its square is a number, and the tail 0
    tail = np.exp(-0.5 * z**2 - log_ndtr(z)) / np.sqrt(2 * np.pi)
    return np.maximum(centre, 0.0) * (error == 0) + (error > 0) * (centre + error * tail), error


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
    """u_i with u_i t = sqrt(1 - p_i) (mean of t over members without row i - mean), or 0."""
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
    """scale (sum_i (u_i t)² - noise Var(t)) in O(m B min(n, B)); noise None is sum_i |u_i|²."""
    # The vectors have sum 0, so that centring changes nothing but the rounding errors.
    centred = predictions - predictions.mean(axis=0)
    spread = np.einsum("bm,bm->m", centred, centred) / (len(centred) - 1)
    # Covariances of B draws have 1 - 1/B of the noise of independent products.
    trace = squares.noise if noise is None else noise * (1 - 1 / len(centred))
    return scale * (squares.of(centred) - trace * spread)


def decompose(
    jackknife_variance: np.ndarray, spread: np.ndarray, n_members: int
) -> VarianceDecomposition:
    """sigma², rho and the ensemble's variance from Var_IJ and the spread of the members.

    The law of total variance: a member's variance is the variance of its mean over draws, given
    the data (which the jackknife estimates), plus its mean variance over draws (which the spread of
    the members estimates without bias).
    """
    between = jackknife_variance
    sigma2 = between + spread
    rho = np.divide(between, sigma2, out=np.zeros_like(sigma2), where=sigma2 > 0)
    return VarianceDecomposition(sigma2, rho, rho * sigma2 + (1 - rho) * sigma2 / n_members)
