"""The fit of smoothing splines: sums of splines, one for each feature.

In the basis used, the data and the penalty are both diagonal. All functions are centred: their
weighted mean over the training rows is zero. The constant is orthogonal to them and is kept
separately, so that the smoother matrix is

    S = 1 1'W / sum(w) + Phi diag(s) Phi'W,    Phi'W Phi = diag(gamma),    Phi'W 1 = 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from sklearn_ensemble_theory._numerics.ties import collapse_rows
from sklearn_ensemble_theory._parallel import one_blas_thread, threads_for_size
from sklearn_ensemble_theory._scaling import (
    feature_ranges,
    largest_magnitude,
    within_range,
)
from sklearn_ensemble_theory.smoothing._smoothers import SpectralForm
from sklearn_ensemble_theory.smoothing._spline.additive_design import AdditiveDesign
from sklearn_ensemble_theory.smoothing._spline.basis import (
    DENSE_VALUES,
    Factors,
    SplineBasis,
    demmler_reinsch,
    penalty_for_df,
)

PILOT_DF = 5.0
"""With several features and `penalty="gcv"`, their penalties keep the ratio that gives each
feature's own spline this many degrees of freedom; their common factor is chosen."""


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
    def of_one_feature(self) -> "PenaltySpec":
        """The same, with as many knots for a feature as where it is the only one."""
        return replace(self, max_knots=self.knots(1))

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
    moments : ndarray of shape (n_functions, n_outputs)
        Phi'W Y.
    """

    form: CentredForm
    penalties: np.ndarray
    moments: np.ndarray


class SplineFit(NamedTuple):
    """A fitted additive spline: mean + form.design(x) @ coefficients."""

    form: CentredForm
    penalties: np.ndarray
    eigenvalues: np.ndarray
    mean: np.ndarray
    coefficients: np.ndarray


class SumsOverRows(Protocol):
    """What the fit reads of the rows, whose targets are scaled and about their means."""

    def factors(self, spec: PenaltySpec) -> list[Factors]:
        """The basis of Demmler and Reinsch of each feature."""
        ...

    def gram(self, design: AdditiveDesign) -> np.ndarray:
        """D'WD, dense."""
        ...

    def moments(self, design: AdditiveDesign) -> np.ndarray:
        """D'W Y."""
        ...

    def observations(self) -> tuple[float, int]:
        """The sum of squares of the means over equal rows, and the number of different rows."""
        ...


class RowsInMemory:
    """The sums over rows of positive weight.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    w : ndarray of shape (n,)
    Y : ndarray of shape (n, n_outputs)
        Not needed for a form without moments.
    """

    def __init__(self, X: np.ndarray, w: np.ndarray, Y: np.ndarray | None = None):
        feature_ranges(X)
        self.X, self.w, self.Y = X, w, np.empty((len(X), 0)) if Y is None else Y

    def factors(self, spec: PenaltySpec) -> list[Factors]:
        max_knots = spec.knots(self.X.shape[1])
        return [feature_factors(x, self.w, spec, max_knots) for x in self.X.T]

    def gram(self, design: AdditiveDesign) -> np.ndarray:
        return design.gram(self.X, self.w)

    def moments(self, design: AdditiveDesign) -> np.ndarray:
        return design.moments(self.X, self.w, self.Y)

    def observations(self) -> tuple[float, int]:
        distinct, means, weights, _ = collapse_rows(self.X, self.Y, self.w)
        return float((weights[:, None] * means**2).sum()), len(distinct)


def fit_splines(X: np.ndarray, Y: np.ndarray, w: np.ndarray, spec: PenaltySpec) -> SplineFit:
    """Fit the columns of Y, on rows of positive weight."""
    # In units of the largest |y|, so that squares neither overflow nor vanish.
    scale = largest_magnitude(Y)
    Y = Y / scale
    mean = w @ Y / w.sum()
    Y -= mean
    return fit_sums(RowsInMemory(X, w, Y), spec, mean, scale)


def fit_sums(rows: SumsOverRows, spec: PenaltySpec, mean: np.ndarray, scale: float) -> SplineFit:
    """The fit, from sums over rows with the targets y / scale - mean."""
    form, penalties, moments = penalised_form(rows, spec)
    s = form.shrinkage(1.0)
    eigenvalues = np.r_[1.0, np.sort(form.gamma * s)[::-1]]
    with np.errstate(over="ignore"):
        coefficients = form.T @ (s[:, None] * moments) * scale
    if not np.isfinite(coefficients).all():
        raise ValueError("y is so large that coefficients overflow; scale y.")
    with np.errstate(over="ignore"):  # by rounding, of the largest float
        mean = within_range(mean * scale)
    return SplineFit(form, penalties, eigenvalues, mean, coefficients)


def penalised_form(rows: SumsOverRows, spec: PenaltySpec) -> PenalisedForm:
    """Diagonalise the data and the penalty; choose the penalty if `spec` gives none."""
    with one_blas_thread():  # many small decompositions
        factors = rows.factors(spec)
    penalties = [spec.on_unit_interval(f) for f in factors]
    form = joint_form(factors, penalties, rows)
    moments = form.T.T @ rows.moments(form.design)
    if spec.is_chosen:
        kappa = gcv_factor(form, moments, *rows.observations())
        penalties = [nu * kappa for nu in penalties]
        # once more, because the numbers are most accurate at a factor near 1
        form = joint_form(factors, penalties, rows)
        if len(factors) > 1:
            moments = form.T.T @ rows.moments(form.design)
    own_units = np.array([_rescaled(nu, f.basis, 1) for nu, f in zip(penalties, factors)])
    return PenalisedForm(form, own_units, moments)


def form_at(X: np.ndarray, w: np.ndarray, spec: PenaltySpec, penalties: np.ndarray) -> CentredForm:
    """The form of a fit whose penalties, in the units of the features, are known."""
    rows = RowsInMemory(X, w)
    with one_blas_thread():
        factors = rows.factors(spec)
    unit = [_rescaled(nu, f.basis, -1) for nu, f in zip(penalties, factors)]
    return joint_form(factors, unit, rows)


def spectral_form(rows: SumsOverRows, spec: PenaltySpec, one_feature_each: bool) -> SpectralForm:
    """The smoother matrix of all features together, or the average of those of one feature each."""
    if one_feature_each:
        forms = one_feature_forms(rows, spec.of_one_feature)
        design = AdditiveDesign(tuple(form.design.bases[0] for form in forms))
        return average_form(forms, rows.gram(design))
    form = penalised_form(rows, spec).form
    s = form.shrinkage(1.0)
    return SpectralForm(form.design, form.T * np.sqrt(s), form.gamma * s)


def one_feature_forms(rows: SumsOverRows, spec: PenaltySpec) -> list[CentredForm]:
    """The spline of each feature alone, with the penalty that `spec` gives it."""
    with one_blas_thread():
        factors = rows.factors(spec)
    return [single_form(each, spec.on_unit_interval(each)) for each in factors]


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
    all_factors: Sequence[Factors], penalties: Sequence[float], rows: SumsOverRows
) -> CentredForm:
    """Several features fitted together: their cross products diagonalised with their penalties."""
    singles = [single_form(f, nu) for f, nu in zip(all_factors, penalties)]
    if len(singles) == 1:
        return singles[0]
    design = AdditiveDesign(tuple(f.basis for f in all_factors))
    # An infinite penalty (a straight line) leaves the penalised functions out altogether.
    keep = [np.isfinite(form.roughness) for form in singles]
    T = scipy.linalg.block_diag(*(form.T[:, k] for form, k in zip(singles, keep)))
    roughness = np.concatenate([form.roughness[k] for form, k in zip(singles, keep)])
    if not T.shape[1]:
        return CentredForm(design, T, roughness, roughness)
    with threads_for_size(len(T)):
        G = T.T @ rows.gram(design) @ T
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


def average_form(forms: Sequence[CentredForm], gram: np.ndarray) -> SpectralForm:
    """The average of one-feature smoothers, (1/p) sum_j S_j [Dombry and Esstafa, example 3.3].

    Each S_j = 1 1'W / sum(w) + Psi_j Psi_j'W. The eigenvalues of the average besides the constant's
    are those of the cross products of all Psi_j / sqrt(p). `gram` is D'WD of the B-splines of all.
    """
    design = AdditiveDesign(tuple(form.design.bases[0] for form in forms))
    blocks = [form.T * np.sqrt(form.shrinkage(1.0) / len(forms)) for form in forms]
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
