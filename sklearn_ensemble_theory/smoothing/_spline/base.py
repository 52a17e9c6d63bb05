"""The fit of smoothing splines: sums of splines, one for each feature.

In the basis used, the data and the penalty are both diagonal. All functions are centred: their
weighted mean over the training rows is zero. The constant is orthogonal to them and is kept
separately, so that the smoother matrix is

    S = 1 1'W / sum(w) + Phi diag(s) Phi'W,    Phi'W Phi = diag(gamma),    Phi'W 1 = 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import brentq

from sklearn_ensemble_theory._numerics.scaling import feature_ranges, largest_magnitude
from sklearn_ensemble_theory._numerics.threads import one_blas_thread, threads_for_size
from sklearn_ensemble_theory._numerics.ties import collapse_rows
from sklearn_ensemble_theory.smoothing._smoothers import SpectralForm
from sklearn_ensemble_theory.smoothing._spline.basis import (
    DENSE_VALUES,
    Factors,
    SplineBasis,
    demmler_reinsch,
    penalty_for_df,
)

__all__ = [
    "AdditiveDesign",
    "AdditivePredictor",
    "CentredForm",
    "PenaltySpec",
    "SplineFit",
    "average_form",
    "chunks",
    "fit_splines",
    "form_at",
    "scaled_rows",
    "simultaneous_diagonal",
]

PILOT_DF = 5.0
"""With several features and `penalty="gcv"`, their penalties keep the ratio that gives each
feature's own spline this many degrees of freedom; their common factor is chosen."""

CHUNK = 50_000
"""Rows processed together with one feature; with more features fewer, down to a tenth, so that the
matrices of basis functions are of bounded size."""


@dataclass(frozen=True)
class AdditiveDesign:
    """The B-splines of all features side by side."""

    bases: tuple[SplineBasis, ...]

    @property
    def slices(self) -> list[slice]:
        """The columns of each feature."""
        ends = np.cumsum([0, *(basis.size for basis in self.bases)])
        return [slice(a, b) for a, b in pairwise(ends)]

    def feature(self, j: int) -> "AdditiveDesign":
        """The design of one feature alone."""
        return AdditiveDesign((self.bases[j],))

    def matrix(self, X: np.ndarray) -> sp.csr_matrix:
        """Sparse (len(X), columns)."""
        parts = [basis.design(X[:, j]) for j, basis in enumerate(self.bases)]
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")

    def gram(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        """D'WD, dense."""
        total: Any = None
        for rows in chunks(*X.shape):
            D = self.matrix(X[rows])
            part = D.T @ scaled_rows(D, w[rows])
            total = part if total is None else total + part
        return total.toarray()

    def moments(self, X: np.ndarray, w: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """D'W Y for a matrix Y."""
        total: Any = 0.0
        for rows in chunks(*X.shape):
            total = total + self.matrix(X[rows]).T @ (w[rows, None] * Y[rows])
        return total

    def terms(self, X: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """The part of each feature: shape (len(X), n_features, coefficients.shape[1])."""
        parts = [
            self.feature(j).evaluate(X[:, [j]], coefficients[columns])
            for j, columns in enumerate(self.slices)
        ]
        return np.stack(parts, axis=1)

    def evaluate(self, X: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """D(X) @ coefficients, in chunks of rows."""
        out = np.empty((len(X), coefficients.shape[1]))
        for rows in chunks(*X.shape):
            out[rows] = self.matrix(X[rows]) @ coefficients
        return out


def chunks(n_rows: int, n_features: int = 1) -> list[slice]:
    """Slices of at most `CHUNK` rows, of fewer for several features."""
    step = max(CHUNK // n_features, CHUNK // 10)
    return [slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step)]


def scaled_rows(D: sp.csr_matrix, w: np.ndarray) -> sp.csr_matrix:
    """diag(w) D."""
    scaled = D.copy()
    scaled.data = scaled.data * np.repeat(w, np.diff(D.indptr))
    return scaled


class AdditivePredictor:
    """constant + design(x) @ coefficients, with one column for each time."""

    is_centred = True  # each feature's functions have mean zero over the training rows

    def __init__(self, design: AdditiveDesign, coefficients: np.ndarray, constants: np.ndarray):
        self.design, self.coefficients, self.constants = design, coefficients, constants

    @property
    def constant(self) -> float:
        """At the first time."""
        return float(self.constants[0])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.design.evaluate(X, self.coefficients) + self.constants

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """The part of feature j at x: shape (len(x), number of times)."""
        block = self.coefficients[self.design.slices[j]]
        return self.design.feature(j).evaluate(x[:, None], block)


@dataclass(frozen=True)
class CentredForm:
    """phi(x) = design(x) @ T, with gamma and roughness (at penalty factor 1) on the diagonals."""

    design: AdditiveDesign
    T: np.ndarray
    gamma: np.ndarray
    roughness: np.ndarray

    def shrinkage(self, kappa: float) -> np.ndarray:
        """1 / (gamma + kappa * roughness), and 0 for functions that vanish on the data."""
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.where(self.roughness > 0, kappa * self.roughness, 0.0)
        total = self.gamma + ratio
        live = (self.gamma > 0) & np.isfinite(total)
        return np.where(live, 1.0 / np.where(live, total, 1.0), 0.0)

    def project(self, X: np.ndarray, w: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Phi'W Y."""
        return self.T.T @ self.design.moments(X, w, Y)


@dataclass(frozen=True)
class PenaltySpec:
    """How much to smooth, as the parameters of `SmoothingSplineRegressor` state it."""

    df: float | None
    penalty: float | Literal["gcv"]
    order: int
    max_knots: int | Literal["auto"]

    @property
    def is_chosen(self) -> bool:
        """Whether the penalty depends on y."""
        return self.df is None and self.penalty == "gcv"

    @property
    def target_df(self) -> float:
        """The degrees of freedom of each feature's own spline, at first where GCV chooses."""
        return self.df if self.df is not None else PILOT_DF

    def knots(self, n_features: int) -> int:
        """The largest number of knots for a feature."""
        if self.max_knots == "auto":
            return 200 if n_features <= 3 else max(20, min(200, 600 // n_features))
        return self.max_knots

    def on_unit_interval(self, factors: Factors) -> float:
        """The penalty of a feature that is mapped to [0, 1]."""
        if self.df is None and self.penalty != "gcv":
            return _rescaled(self.penalty, factors.basis, -1)
        penalty = penalty_for_df(factors, self.target_df)
        if self.is_chosen and not 0 < penalty < math.inf:
            return factors.theta  # zero and infinity have no multiples to choose among
        return penalty


class PenalisedForm(NamedTuple):
    """The form at the chosen penalties, which are its factor 1.

    Attributes
    ----------
    form : CentredForm
    penalties : ndarray of shape (n_features,)
        In the units of the features.
    moments : ndarray of shape (n_functions, n_outputs) or None
        Phi'W Y; None without Y.
    """

    form: CentredForm
    penalties: np.ndarray
    moments: np.ndarray | None


class SplineFit(NamedTuple):
    """A fitted additive spline: mean + form.design(x) @ coefficients."""

    form: CentredForm
    penalties: np.ndarray
    eigenvalues: np.ndarray
    mean: np.ndarray
    coefficients: np.ndarray


def fit_splines(X: np.ndarray, Y: np.ndarray, w: np.ndarray, spec: PenaltySpec) -> SplineFit:
    """Fit the columns of Y, on rows of positive weight."""
    # In units of the largest |y|, so that squares neither overflow nor vanish.
    scale = largest_magnitude(Y)
    Y = Y / scale
    mean = w @ Y / w.sum()
    Y -= mean
    form, penalties, moments = penalised_form(X, w, spec, Y)
    s = form.shrinkage(1.0)
    eigenvalues = np.r_[1.0, np.sort(form.gamma * s)[::-1]]
    with np.errstate(over="ignore"):
        coefficients = form.T @ (s[:, None] * moments) * scale
    if not np.isfinite(coefficients).all():
        raise ValueError("y is so large that coefficients overflow; scale y.")
    return SplineFit(form, penalties, eigenvalues, mean * scale, coefficients)


def penalised_form(
    X: np.ndarray, w: np.ndarray, spec: PenaltySpec, Y: np.ndarray | None = None
) -> PenalisedForm:
    """Diagonalise the data and the penalty; with Y, choose the penalty if `spec` gives none."""
    feature_ranges(X)
    p = X.shape[1]
    with one_blas_thread():  # many small decompositions
        factors = [feature_factors(X[:, j], w, spec, spec.knots(p)) for j in range(p)]
    penalties = [spec.on_unit_interval(f) for f in factors]
    form = single_form(factors[0], penalties[0]) if p == 1 else joint_form(factors, penalties, X, w)
    moments = None if Y is None else form.project(X, w, Y)
    if spec.is_chosen:
        assert Y is not None
        assert moments is not None
        distinct, means, weights, _ = collapse_rows(X, Y, w)
        total = float((weights[:, None] * means**2).sum())
        kappa = gcv_factor(form, moments, total, len(distinct))
        penalties = [nu * kappa for nu in penalties]
        if p == 1:
            form = single_form(factors[0], penalties[0])
        else:  # once more, because the numbers are most accurate at a factor near 1
            form = joint_form(factors, penalties, X, w)
            moments = form.project(X, w, Y)
    own_units = np.array([_rescaled(nu, f.basis, 1) for nu, f in zip(penalties, factors)])
    return PenalisedForm(form, own_units, moments)


def form_at(X: np.ndarray, w: np.ndarray, spec: PenaltySpec, penalties: np.ndarray) -> CentredForm:
    """The form of a fit whose penalties, in the units of the features, are known."""
    p = X.shape[1]
    with one_blas_thread():
        factors = [feature_factors(X[:, j], w, spec, spec.knots(p)) for j in range(p)]
    unit = [_rescaled(nu, f.basis, -1) for nu, f in zip(penalties, factors)]
    return single_form(factors[0], unit[0]) if p == 1 else joint_form(factors, unit, X, w)


def spectral_form(
    X: np.ndarray, w: np.ndarray, spec: PenaltySpec, one_feature_each: bool
) -> SpectralForm:
    """The smoother matrix of all features together, or the average of those of one feature each."""
    if one_feature_each:
        return average_form(
            [penalised_form(X[:, [j]], w, spec).form for j in range(X.shape[1])], X, w
        )
    form = penalised_form(X, w, spec).form
    s = form.shrinkage(1.0)
    return SpectralForm(form.design, form.T * np.sqrt(s), form.gamma * s)


def feature_factors(x: np.ndarray, w: np.ndarray, spec: PenaltySpec, max_knots: int) -> Factors:
    """The basis of Demmler and Reinsch of one feature's spline."""
    values = np.unique(x)
    basis = SplineBasis.from_values(values, spec.order, max_knots)
    if len(values) > DENSE_VALUES:
        gram = AdditiveDesign((basis,)).gram(x[:, None], w)
        return demmler_reinsch(basis, None, None, gram=gram, target_df=spec.target_df)
    weights = np.bincount(np.searchsorted(values, x), w, minlength=len(values))
    return demmler_reinsch(basis, values, weights, target_df=spec.target_df)


def without_constant(factors: Factors) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T, gamma and roughness of one feature with the constant rotated out.

    The polynomials of degree below r come first, orthonormal on the data, and every other function
    is orthogonal to them: they are rotated so that the constant is one of them, which is left out.
    """
    r, T = factors.basis.order, factors.T
    # B-splines sum to one: the constant has all coefficients 1. Solve T[:, :r] c = 1.
    c = np.linalg.lstsq(T[:, :r], np.ones(len(T)), rcond=None)[0]
    complement = np.linalg.qr(np.column_stack([c, np.eye(r)]))[0][:, 1:r]
    turned = np.column_stack([T[:, :r] @ complement, T[:, r:]])
    live = np.r_[np.ones(r - 1, dtype=bool), factors.gamma[r:] > 0]
    return (
        turned[:, live],
        factors.gamma[1:][live],
        factors.roughness[1:][live],
    )


def single_form(factors: Factors, penalty: float) -> CentredForm:
    """One feature: already diagonal."""
    T, gamma, roughness = without_constant(factors)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(roughness > 0, roughness * (penalty / factors.theta), 0.0)
    return CentredForm(AdditiveDesign((factors.basis,)), T, gamma, scaled)


def joint_form(
    all_factors: Sequence[Factors], penalties: Sequence[float], X: np.ndarray, w: np.ndarray
) -> CentredForm:
    """Several features fitted together: their cross products diagonalised with their penalties."""
    singles = [single_form(f, nu) for f, nu in zip(all_factors, penalties)]
    design = AdditiveDesign(tuple(f.basis for f in all_factors))
    # An infinite penalty (a straight line) leaves the penalised functions out altogether.
    keep = [np.isfinite(form.roughness) for form in singles]
    T = scipy.linalg.block_diag(*(form.T[:, k] for form, k in zip(singles, keep)))
    roughness = np.concatenate([form.roughness[k] for form, k in zip(singles, keep)])
    if not T.shape[1]:
        return CentredForm(design, T, roughness, roughness)
    with threads_for_size(len(T)):
        G = T.T @ design.gram(X, w) @ T
        turn, gamma = simultaneous_diagonal(G, roughness)
    return CentredForm(design, T @ turn, gamma, 1.0 - gamma)


def simultaneous_diagonal(G: np.ndarray, roughness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """V with V'(G + R)V = I and V'GV = diag(gamma), for R = diag(roughness); and gamma.

    Functions without length and without roughness are left out.
    """
    total = G + np.diag(roughness)
    if not np.any(total):
        return np.zeros((len(G), 0)), np.zeros(0)
    diagonal = total.diagonal()
    scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    eigenvalues, vectors = scipy.linalg.eigh(total * scale * scale[:, None], check_finite=False)
    # Features that are copies of each other share an unpenalised line: it is counted once.
    live = eigenvalues > 1e-11 * eigenvalues[-1]
    half = scale[:, None] * vectors[:, live] / np.sqrt(eigenvalues[live])
    gamma, turn = scipy.linalg.eigh(half.T @ G @ half, check_finite=False)
    return half @ turn, np.clip(gamma, 0.0, 1.0)


def average_form(forms: Sequence[CentredForm], X: np.ndarray, w: np.ndarray) -> SpectralForm:
    """The average of one-feature smoothers, (1/p) sum_j S_j [Dombry and Esstafa, example 3.3].

    Each S_j = 1 1'W / sum(w) + Psi_j Psi_j'W. The eigenvalues of the average besides the constant's
    are those of the cross products of all Psi_j / sqrt(p).
    """
    design = AdditiveDesign(tuple(form.design.bases[0] for form in forms))
    blocks = [form.T * np.sqrt(form.shrinkage(1.0) / len(forms)) for form in forms]
    gram = design.gram(X, w)
    columns = design.slices
    with threads_for_size(len(gram)):
        C = np.block(
            [
                [a.T @ gram[i, j] @ b for b, j in zip(blocks, columns)]
                for a, i in zip(blocks, columns)
            ]
        )
        mu, V = scipy.linalg.eigh((C + C.T) / 2, check_finite=False, overwrite_a=True)
    ends = np.cumsum([0, *(b.shape[1] for b in blocks)])
    T = np.vstack([b @ V[s:e] for b, s, e in zip(blocks, ends[:-1], ends[1:])])
    return SpectralForm(design, T, np.clip(mu, 0.0, 1.0))


def _rescaled(penalty: float, basis: SplineBasis, sign: int) -> float:
    """A penalty for a feature mapped to [0, 1] (sign -1), or back in its own units (sign 1).

    Integrals of squared r-th derivatives scale with the width to the power of 1 - 2r.
    """
    if basis.knots is None or penalty == 0:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        power = sign * (2 * basis.order - 1)
        return float(np.exp(np.log(np.float64(penalty)) + power * np.log(basis.width)))


def gcv_factor(form: CentredForm, moments: np.ndarray, total: float, n: int) -> float:
    """The factor of the penalty that minimises generalised cross-validation.

    The n observations are the distinct rows, each the mean of its copies with their total weight:
    otherwise weights and repeated rows would be taken for evidence that there is no noise.

    The best point of a grid brackets the minimum, which is then a root of the derivative. Fits with
    more than 99 % of n degrees of freedom, where the score is 0/0, are not considered.
    """
    live = (form.gamma > 0) & (form.roughness > 0)
    gamma, rho = form.gamma[live], form.roughness[live]
    if not len(gamma) or total == 0.0:
        return math.inf
    explained = (moments**2).sum(axis=1)
    # The residual of the unpenalised fit is below that of any penalty.
    reach = np.divide(explained, form.gamma, out=np.zeros_like(explained), where=form.gamma > 0)
    floor = max(total - reach.sum(), 0.0)
    weight = reach[live]
    base_df = 1.0 + np.count_nonzero(form.gamma) - len(gamma)

    def parts(log_kappa):
        ratio = np.exp(log_kappa) * rho
        left = ratio / (gamma + ratio)  # 1 - gamma s
        rss = floor + (weight * left**2).sum()
        df = base_df + (1.0 - left).sum()
        slope = left * (1.0 - left)  # d left / d log kappa
        return rss, df, 2.0 * (weight * left * slope).sum(), -slope.sum()

    def score(log_kappa):
        rss, df, _, _ = parts(log_kappa)
        return rss / (n - df) ** 2 if df <= 0.99 * n else math.inf

    def derivative(log_kappa):
        rss, df, d_rss, d_df = parts(log_kappa)
        return d_rss * (n - df) + 2.0 * rss * d_df

    odds = np.log(gamma) - np.log(rho)
    grid = np.linspace(max(odds.min() - 5.0, -60.0), min(odds.max() + 10.0, 60.0), 200)
    scores = np.array([score(g) for g in grid])
    if not np.isfinite(scores).any():
        return math.inf
    best = int(np.argmin(scores))
    if 0 < best < len(grid) - 1 and derivative(grid[best - 1]) < 0 < derivative(grid[best + 1]):
        return math.exp(brentq(derivative, grid[best - 1], grid[best + 1], xtol=1e-13))
    return math.exp(grid[best])
