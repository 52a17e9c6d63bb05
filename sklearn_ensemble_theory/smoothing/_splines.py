"""Smoothing splines: sums of splines, one for each feature [Dombry and Esstafa, example 2.4].

In the basis used, the data and the penalty are both diagonal. All functions are centred: their
weighted mean over the training rows is zero. The constant is orthogonal to them and is kept
separately, so that the smoother matrix is

    S = 1 1'W / sum(w) + Phi diag(s) Phi'W,    Phi'W Phi = diag(gamma),    Phi'W 1 = 0.

A fit reads the rows through sums only: the basis of each feature, the Gram matrix of all B-splines
and their moments with y. `MemorySums` and `BlockSums` have them, of rows in memory and of a Dask
collection; what follows from them is written once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.optimize import brentq
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._batches import FitsBatches
from sklearn_ensemble_theory._bins import QuantileSketch
from sklearn_ensemble_theory._blocks import added
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._folds import FoldSums, first_rows_of, folds_by_hash, sums_by_fold
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    Rows,
    checked_rows,
    finite_predictions,
    validate_data,
)
from sklearn_ensemble_theory._running import one_blas_thread, threads_for
from sklearn_ensemble_theory._scaling import feature_ranges, largest_magnitude, within_range
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike

from ._smoothers import DENSE_ROWS, NotLinearError, SpectralForm, distinct_rows
from ._spline_basis import (
    DENSE_VALUES,
    AdditiveDesign,
    Factors,
    SplineBasis,
    demmler_reinsch,
    factor_for_df,
    scaled_rows,
)

PILOT_DF = 5.0
"""With several features and `penalty="gcv"`, their penalties keep the ratio that gives each
feature's own spline this many degrees of freedom; their common factor is chosen."""

FAR_FACTOR = 1e4
"""Splines are decomposed anew for a penalty further from the first one than this factor."""

MOST_ODDS = 1e3
"""Up to this ratio of length to roughness a decomposition of n rows is accurate to 1e-11."""

LEAST_RCOND = 1e-8
"""Down to this reciprocal condition number a Cholesky factor is as good as eigenvectors."""


@dataclass(frozen=True)
class PenaltySpec:
    """How much to smooth, as the parameters of `SmoothingSplineRegressor` state it."""

    df: float | None
    penalty: float | np.ndarray | Literal["gcv"]
    order: int
    max_knots: int | Literal["auto"]
    is_natural: bool

    def for_each_of(self, n_features: int) -> "PenaltySpec":
        """The same, with the knots of features of which each has a spline of its own."""
        if self.max_knots != "auto":
            return self
        # As for one feature. The cost is cubic in their total, which does not exceed 1,500 soon.
        return replace(self, max_knots=min(self.knots(1), max(50, 1500 // n_features)))

    def knots(self, n_features: int) -> int:
        """Return the largest number of knots for a feature."""
        if self.max_knots == "auto":
            return 200 if n_features <= 3 else max(20, min(200, 600 // n_features))
        return self.max_knots

    def basis(self, values: np.ndarray, n_features: int) -> SplineBasis:
        """Return the basis for sorted distinct values of one of some features."""
        return SplineBasis.from_values(values, self.order, self.knots(n_features), self.is_natural)

    @property
    def by_gcv(self) -> bool:
        """Whether one factor of all penalties is chosen by generalised cross-validation."""
        return self.df is None and isinstance(self.penalty, str)

    def on_unit_interval(self, factors: Factors, j: int) -> float:
        """Return the penalty of feature j, mapped to [0, 1]."""
        if self.df is None and not isinstance(self.penalty, str):
            penalties = np.ravel(self.penalty)
            return rescaled(float(penalties[j if len(penalties) > 1 else 0]), factors.basis, -1)
        df = self.df or PILOT_DF
        penalty = factor_for_df(factors.gamma, factors.roughness, df) * factors.theta
        if self.df is None and not 0 < penalty < math.inf:
            return factors.theta  # zero and infinity have no multiples to choose among
        return penalty


def rescaled(penalty: float, basis: SplineBasis, sign: int) -> float:
    """Return a penalty for a feature mapped to [0, 1] (sign -1), or back in its own units (sign 1).

    Integrals of squared r-th derivatives scale with the width to the power of 1 - 2r.
    """
    if basis.knots is None or penalty == 0:
        return 0.0
    # By logarithms: the power of a width may overflow where its product with the penalty does not.
    with np.errstate(over="ignore", under="ignore"):
        power = sign * (2 * basis.order - 1)
        return float(np.exp(np.log(np.float64(penalty)) + power * np.log(basis.width)))


# --- the sums over rows, in memory and in blocks --------------------------------------------------


class MemorySums:
    """The sums over rows of positive weight, computed when they are asked for.

    The targets Y are scaled and about their means; they are not needed for a form without moments.
    """

    def __init__(self, X: np.ndarray, w: np.ndarray, Y: np.ndarray | None = None) -> None:
        # Refuses features whose range overflows.
        feature_ranges(X)
        self.X, self.w, self.Y = X, w, np.empty((len(X), 0)) if Y is None else Y
        self._root: tuple[AdditiveDesign, sp.csr_matrix] | None = None

    def factors(self, spec: PenaltySpec) -> list[Factors]:
        """Return the basis of Demmler and Reinsch of each feature."""
        found, df = [], spec.df or PILOT_DF
        for x in self.X.T:
            values = np.unique(x)
            basis = spec.basis(values, self.X.shape[1])
            # A dense matrix of splines at so many values would be large, and their Gram matrix is
            # well conditioned.
            if len(values) > DENSE_VALUES:
                gram = AdditiveDesign((basis,)).gram(x[:, None], self.w)
                found.append(demmler_reinsch(basis, None, None, gram=gram, target_df=df))
            else:
                number = np.searchsorted(values, x)
                weights = np.bincount(number, self.w, minlength=len(values))
                found.append(demmler_reinsch(basis, values, weights, target_df=df))
        return found

    def gram(self, design: AdditiveDesign) -> np.ndarray:
        return design.gram(self.X, self.w)

    def moments(self, design: AdditiveDesign) -> np.ndarray:
        if self._root is not None and self._root[0] is design:
            return self._root[1].T @ (np.sqrt(self.w)[:, None] * self.Y)
        return design.moments(self.X, self.w, self.Y)

    def short_root(self, design: AdditiveDesign) -> sp.csr_matrix | None:
        """W^(1/2) D, sparse, where it has fewer rows than columns; otherwise None."""
        if len(self.X) >= design.slices[-1].stop:
            return None
        self._root = design, scaled_rows(design.matrix(self.X), np.sqrt(self.w))
        return self._root[1]

    def observations(self) -> tuple[float, int]:
        """The sum of squares of the means over equal rows, and the number of different rows."""
        _, means, weights, _ = distinct_rows(self.X, self.Y, self.w)
        return float((weights[:, None] * means**2).sum()), len(weights)


@dataclass
class ValueSummary:
    """What a first pass finds of the features and the targets.

    `lengths` has the number of rows of each block, `distinct` the distinct values of each feature,
    None for more than `DENSE_VALUES` of them, `largest` the largest absolute value of the targets;
    `single` says that y has no axis of targets.
    """

    lengths: dict[int, int]
    weight: float
    mean: np.ndarray
    largest: float
    low: np.ndarray
    high: np.ndarray
    distinct: list[np.ndarray | None]
    sketch: QuantileSketch
    single: bool

    @classmethod
    def of(cls, block: Rows) -> "ValueSummary":
        X, w = block.X.astype(np.float64, copy=False), block.weight
        Y = block.y.reshape(len(block.y), -1)
        largest = largest_magnitude(Y)
        return cls(
            {block.block: len(X)},
            float(len(X) if w is None else w.sum()),
            np.average(Y / largest, axis=0, weights=w) * largest,
            largest if Y.any() else 0.0,
            X.min(axis=0),
            X.max(axis=0),
            [_few(np.unique(x)) for x in X.T],
            QuantileSketch.of(X, None, np.random.default_rng(block.block)),
            block.y.ndim == 1,
        )

    def __add__(self, other: "ValueSummary") -> "ValueSummary":
        weight = self.weight + other.weight
        mean = self.weight / weight * self.mean + other.weight / weight * other.mean
        # A mean times its share of the weight, summed over blocks, never exceeds the largest float.
        pairs = zip(self.distinct, other.distinct)
        return ValueSummary(
            self.lengths | other.lengths,
            weight,
            mean,
            max(self.largest, other.largest),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            # Once one side has too many values to be listed, so has the union.
            [None if a is None or b is None else _few(np.union1d(a, b)) for a, b in pairs],
            self.sketch + other.sketch,
            self.single,
        )

    def values(self, j: int) -> np.ndarray:
        """Distinct values of feature j, sorted: all of them, or those of the sketch."""
        known = self.distinct[j]
        if known is not None:
            return known
        # The sketch may have missed the ends, where polynomials begin.
        return np.unique(np.r_[self.low[j], self.sketch.values[j], self.high[j]])


def _few(values: np.ndarray) -> np.ndarray | None:
    return values if len(values) <= DENSE_VALUES else None


@dataclass
class SplineSums:
    """The sums of some blocks, with targets that are scaled and about their means.

    `gram` is empty for a single feature of few distinct values, unless it was asked for; `squares`
    is the sum of w y^2 over all targets; `value_weights` has the weight of each distinct value of
    each feature, empty for features of many, and `value_sums`, for a single feature, the sums of
    w y at each value.
    """

    gram: np.ndarray
    moments: np.ndarray
    squares: float
    value_weights: list[np.ndarray]
    value_sums: np.ndarray

    def __add__(self, other: "SplineSums") -> "SplineSums":
        weights = [a + b for a, b in zip(self.value_weights, other.value_weights)]
        return SplineSums(
            self.gram + other.gram,
            self.moments + other.moments,
            self.squares + other.squares,
            weights,
            self.value_sums + other.value_sums,
        )


def sums_of_splines(
    block: Rows,
    design: AdditiveDesign,
    distinct: list[np.ndarray | None],
    mean: np.ndarray,
    scale: float,
    with_gram: bool,
) -> SplineSums:
    """Return the sums of one block; `mean` is that of y / scale."""
    X = block.X.astype(np.float64, copy=False)
    w = block.weights()
    Y = block.y.reshape(len(X), -1) / scale - mean
    weights: list[np.ndarray] = []
    value_sums = np.zeros((0, Y.shape[1]))
    for x, values in zip(X.T, distinct):
        if values is None:
            weights.append(np.zeros(0))
            continue
        number = np.searchsorted(values, x)
        weights.append(np.bincount(number, w, minlength=len(values)))
        if len(distinct) == 1:
            sums = [np.bincount(number, w * y, minlength=len(values)) for y in Y.T]
            value_sums = np.column_stack(sums)
    # The weights at each value take the place of the Gram matrix of a single feature.
    gram = design.gram(X, w) if with_gram or not len(value_sums) else np.zeros((0, 0))
    return SplineSums(
        gram, design.moments(X, w, Y), float(w @ (Y**2).sum(axis=1)), weights, value_sums
    )


class BlockSums:
    """The sums over the rows of a Dask collection, in the form of `MemorySums`.

    `folds` are those over the rows that each fold tests on, of those folds that have rows; `mean`
    is that of y / scale.
    """

    def __init__(
        self,
        by_fold: FoldSums,
        design: AdditiveDesign,
        summary: ValueSummary,
        scale: float,
        spec: PenaltySpec,
    ) -> None:
        self.folds = [fold for fold in by_fold.folds if fold is not None]
        self.sums: SplineSums = added(self.folds)
        self.design, self.distinct = design, summary.distinct
        self.n_rows, self.weight = sum(summary.lengths.values()), summary.weight
        self.scale, self.mean, self.single = scale, summary.mean / scale, summary.single
        self.spec = spec

    def factors(self, spec: PenaltySpec) -> list[Factors]:
        found, df = [], spec.df or PILOT_DF
        parts = zip(self.design.bases, self.design.slices, self.distinct, self.sums.value_weights)
        for basis, own, values, weights in parts:
            gram = self.sums.gram[own, own] if values is None else None
            found.append(demmler_reinsch(basis, values, weights, gram=gram, target_df=df))
        return found

    def gram(self, design: AdditiveDesign) -> np.ndarray:
        return self.sums.gram

    def moments(self, design: AdditiveDesign) -> np.ndarray:
        return self.sums.moments

    def short_root(self, design: AdditiveDesign) -> None:
        """None: blocks send no rows."""
        return None

    def observations(self) -> tuple[float, int]:
        sums = self.sums.value_sums
        if not len(sums):
            return self.sums.squares, self.n_rows
        return float((sums**2 / self.sums.value_weights[0][:, None]).sum()), len(sums)


def sums_of_blocks(
    rows: ChunkedRows, spec: PenaltySpec, *, with_gram: bool = False, n_splits: int = 1
) -> BlockSums:
    """Return the sums for the splines of all features, by two passes over the rows.

    The first one finds the knots and the mean of y. The Gram matrix of a single feature is needed
    `with_gram` only; the sums are taken by `n_splits` folds, into which rows are drawn by a hash.
    """
    summary = rows.sum(ValueSummary.of)
    feature_ranges(np.vstack([summary.low, summary.high]))
    p = len(summary.low)
    bases = [spec.basis(summary.values(j), p) for j in range(p)]
    design, scale = AdditiveDesign(tuple(bases)), summary.largest or 1.0
    args = (design, summary.distinct, summary.mean / scale, scale, with_gram)
    # Rows are hashed by their number in the whole collection, so that folds do not depend on how it
    # is cut into blocks.
    rows = rows.knowing(first_rows=first_rows_of(summary.lengths))
    fold_of = partial(folds_by_hash, n_splits=n_splits)
    by_fold = rows.sum(sums_by_fold, n_splits, fold_of, sums_of_splines, *args)
    return BlockSums(by_fold, design, summary, scale, spec)


# --- data and penalty, diagonalised together ------------------------------------------------------


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
        # An infinite penalty times a roughness of zero is no penalty, not NaN.
        total = self.gamma + ratio
        live = (self.gamma > 0) & np.isfinite(total)
        return np.where(live, 1.0 / np.where(live, total, 1.0), 0.0)

    def rescaled(self, kappa: float) -> "CentredForm":
        """The same functions in other lengths, with the roughness at kappa times the penalty."""
        total = self.gamma + kappa * self.roughness
        gamma, roughness = self.gamma / total, kappa * self.roughness / total
        return CentredForm(self.design, self.T / np.sqrt(total), gamma, roughness)


def penalised_form(
    sums: MemorySums | BlockSums, spec: PenaltySpec
) -> tuple[CentredForm, np.ndarray, np.ndarray]:
    """The form at the penalties of `spec`, or at those that GCV chooses, which are its factor 1.

    Also the penalties, in the units of the features, and the moments Phi'W Y.
    """
    with one_blas_thread():  # many small decompositions
        factors = sums.factors(spec)
    penalties = [spec.on_unit_interval(f, j) for j, f in enumerate(factors)]
    form = joint_form(factors, penalties, sums)
    moments = form.T.T @ sums.moments(form.design)
    # The ratio of the penalties is that of the pilot fits: one factor is left to choose, on one
    # diagonal form.
    if spec.by_gcv:
        kappa = gcv_factor(form, moments, *sums.observations())
        penalties = [nu * kappa for nu in penalties]
        if len(factors) > 1 and 1.0 / FAR_FACTOR <= kappa <= FAR_FACTOR:
            total = form.gamma + kappa * form.roughness
            form, moments = form.rescaled(kappa), moments / np.sqrt(total)[:, None]
        else:
            # The gammas near 0 or 1 have lost digits that count at a penalty this far away.
            form = joint_form(factors, penalties, sums)
            # A single feature keeps its functions whatever the penalty is, and so its moments.
            if len(factors) > 1:
                moments = form.T.T @ sums.moments(form.design)
    own_units = np.array([rescaled(nu, f.basis, 1) for nu, f in zip(penalties, factors)])
    return form, own_units, moments


def one_feature_forms(sums: MemorySums | BlockSums, spec: PenaltySpec) -> list[CentredForm]:
    """Return the spline of each feature alone, with the penalty that `spec` gives it."""
    with one_blas_thread():
        factors = sums.factors(spec)
    return [single_form(each, spec.on_unit_interval(each, j)) for j, each in enumerate(factors)]


def single_form(factors: Factors, penalty: float) -> CentredForm:
    """One feature: already diagonal, once the constant is rotated out.

    The polynomials of degree below r come first, orthonormal on the data, and every other function
    is orthogonal to them: they are rotated so that the constant is one of them, which is left out.
    """
    r, T = factors.basis.order, factors.T
    # B-splines sum to one: the constant has all coefficients 1. Solve T[:, :r] c = 1.
    c = np.linalg.lstsq(T[:, :r], np.ones(len(T)), rcond=None)[0]
    complement = np.linalg.qr(np.column_stack([c, np.eye(r)]))[0][:, 1:r]
    turned = np.column_stack([T[:, :r] @ complement, T[:, r:]])
    live = np.r_[np.ones(r - 1, dtype=bool), factors.gamma[r:] > 0]
    roughness = factors.roughness[1:][live]
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(roughness > 0, roughness * (penalty / factors.theta), 0.0)
    design = AdditiveDesign((factors.basis,))
    return CentredForm(design, turned[:, live], factors.gamma[1:][live], scaled)


def joint_form(
    all_factors: Sequence[Factors],
    penalties: Sequence[float],
    sums: MemorySums | BlockSums,
) -> CentredForm:
    """Several features fitted together: their cross products diagonalised with their penalties."""
    singles = [single_form(f, nu) for f, nu in zip(all_factors, penalties)]
    if len(singles) == 1:
        return singles[0]
    design = AdditiveDesign(tuple(f.basis for f in all_factors))
    # An infinite penalty (a straight line) leaves the penalised functions out altogether.
    keep = [np.isfinite(form.roughness) for form in singles]
    parts = [form.T[:, k] for form, k in zip(singles, keep)]
    gamma = np.concatenate([form.gamma[k] for form, k in zip(singles, keep)])
    roughness = np.concatenate([form.roughness[k] for form, k in zip(singles, keep)])
    if not len(roughness):
        return CentredForm(design, scipy.linalg.block_diag(*parts), roughness, roughness)
    # Eigenvalues of n rows are those of gamma / roughness. Beside far larger ones they lose digits.
    root = (
        sums.short_root(design) if (gamma <= MOST_ODDS * roughness)[roughness > 0].all() else None
    )
    with threads_for(min(len(roughness), math.inf if root is None else root.shape[0]) ** 3):
        if root is None:
            G = cross_products(parts, sums.gram(design), design.slices)
            turn, gamma = simultaneous_diagonal(G, roughness)
        else:
            Phi = functions_at_rows(root, design.slices, parts)
            turn, gamma = dual_diagonal(Phi, roughness)
        return CentredForm(design, each_times(parts, turn), gamma, 1.0 - gamma)


def cross_products(
    parts: Sequence[np.ndarray], gram: np.ndarray, columns: Sequence[slice]
) -> np.ndarray:
    """A'GA for A = diag(parts), of which part j has the rows of `columns[j]`, in Fortran's order.

    Only what is above the diagonal of blocks is computed: LAPACK reads no more, and another copy
    would be as large as all the rest.
    """
    own = part_columns(parts)
    C = np.zeros((own[-1].stop,) * 2, order="F")
    for i, (a, rows) in enumerate(zip(parts, own)):
        # One product for all features to the right of this one.
        left = a.T @ gram[columns[i], columns[i].start :]
        for b, j, others in zip(parts[i:], columns[i:], own[i:]):
            start = columns[i].start
            C[rows, others] = left[:, j.start - start : j.stop - start] @ b
    return C


def each_times(parts: Sequence[np.ndarray], V: np.ndarray) -> np.ndarray:
    """diag(parts) @ V."""
    ends = np.cumsum([0, *map(len, parts)])
    out = np.empty((ends[-1], V.shape[1]))
    for part, rows, start, stop in zip(parts, part_columns(parts), ends[:-1], ends[1:]):
        np.matmul(part, V[rows], out=out[start:stop])
    return out


def functions_at_rows(
    root: sp.csr_matrix, columns: Sequence[slice], parts: Sequence[np.ndarray]
) -> np.ndarray:
    """The sparse matrix times diag(parts), of which part j has the rows of `columns[j]`."""
    own = part_columns(parts)
    out = np.empty((root.shape[0], own[-1].stop))
    for part, rows, j in zip(parts, columns, own):
        out[:, j] = root[:, rows] @ part
    return out


def part_columns(parts: Sequence[np.ndarray]) -> list[slice]:
    """The columns of each part of diag(parts)."""
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *(part.shape[1] for part in parts)]))]


def simultaneous_diagonal(G: np.ndarray, roughness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """V with V'(G + R)V = I and V'GV = diag(gamma), for R = diag(roughness); and gamma.

    G is read above its diagonal. Functions without length and without roughness are left out.
    """
    diagonal = G.diagonal() + roughness
    if not diagonal.any():
        return np.zeros((len(G), 0)), np.zeros(0)
    # Scaled to a unit diagonal: what counts as rounding must not depend on units of the features.
    scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    G = G * scale * scale[:, None]
    total = G.copy(order="F")
    np.fill_diagonal(total, G.diagonal() + roughness * scale**2)
    above = np.abs(np.triu(total, 1))
    norm = (above.sum(axis=0) + above.sum(axis=1) + total.diagonal()).max()
    factor, failed = lapack.dpotrf(total)
    if not failed and lapack.dpocon(factor, norm)[0] > LEAST_RCOND:
        gamma, turn = scipy.linalg.eigh(G, total, lower=False, check_finite=False)
        turn *= scale[:, None]
    else:
        # Features that are copies of each other share an unpenalised line: it is counted once.
        eigenvalues, vectors = scipy.linalg.eigh(total, lower=False, check_finite=False)
        live = eigenvalues > 1e-11 * eigenvalues[-1]
        # Whitened by G + R, whose eigenvectors then diagonalise G, and R = I - G with it.
        half = vectors[:, live] / np.sqrt(eigenvalues[live])
        G = np.triu(G) + np.triu(G, 1).T
        gamma, turn = scipy.linalg.eigh(half.T @ G @ half, check_finite=False)
        turn = scale[:, None] * (half @ turn)
    return turn, np.clip(gamma, 0.0, 1.0)


def dual_diagonal(Phi: np.ndarray, roughness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for G = Phi'Phi where Phi has fewer rows than columns.

    What has no roughness is fitted without a penalty, by a basis Q of its span. With N the other
    functions, each divided by the root of its roughness and without its part in Q, the eigenvalues
    s^2 of NN' are gamma / (1 - gamma), and N'u / s the coefficients of the function of u.
    """
    free = roughness == 0
    P = Phi[:, free]
    lengths = np.sqrt((P**2).sum(axis=0))
    scale = np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)
    Q, to_free = np.zeros((len(Phi), 0)), np.zeros((P.shape[1], 0))
    if scale.any():
        U, s, Vt = scipy.linalg.svd(P * scale, full_matrices=False, check_finite=False)
        # Features that are copies of each other share an unpenalised line: it is counted once.
        live = s**2 > 1e-11 * s[0] ** 2
        Q, to_free = U[:, live], scale[:, None] * Vt[live].T / s[live]
    per_root = 1.0 / np.sqrt(roughness[~free])
    N = Phi[:, ~free] * per_root
    inside, rounding = Q.T @ N, 1e-10 * np.sqrt((N**2).sum())
    N -= Q @ inside
    squares, U = scipy.linalg.eigh(N @ N.T, check_finite=False, overwrite_a=True)
    live = squares > max(1e-14 * squares[-1], rounding**2)
    squares = squares[live]
    turned = (N.T @ U[:, live]) / np.sqrt(squares * (1.0 + squares))
    V = np.zeros((Phi.shape[1], len(squares) + Q.shape[1]))
    V[~free, : len(squares)] = per_root[:, None] * turned
    V[free, : len(squares)] = -to_free @ (inside @ turned)
    V[free, len(squares) :] = to_free
    return V, np.r_[squares / (1.0 + squares), np.ones(Q.shape[1])]


def spectral_form(
    sums: MemorySums | BlockSums, spec: PenaltySpec, one_feature_each: bool
) -> SpectralForm:
    """The smoother matrix of all features together, or the average of those of one feature each.

    That is (1/p) sum_j S_j [Dombry and Esstafa, example 3.3], with S_j = 1 1'W / sum(w) + Psi_j
    Psi_j'W. Its eigenvalues besides the constant's are those of the cross products of all
    Psi_j / sqrt(p).
    """
    forms = one_feature_forms(sums, spec) if one_feature_each else [penalised_form(sums, spec)[0]]
    if len(forms) == 1:
        form, s = forms[0], forms[0].shrinkage(1.0)
        return SpectralForm(form.design, form.T * np.sqrt(s), form.gamma * s)
    design = AdditiveDesign(tuple(form.design.bases[0] for form in forms))
    parts = [form.T * np.sqrt(form.shrinkage(1.0) / len(forms)) for form in forms]
    root = sums.short_root(design)
    if root is not None:
        # The average of the smoothers itself has fewer rows.
        with threads_for(root.shape[0] ** 2 * root.shape[1]):
            Psi = functions_at_rows(root, design.slices, parts)
            mu, U = scipy.linalg.eigh(Psi @ Psi.T, check_finite=False, overwrite_a=True)
            live = mu > 1e-14 * mu[-1]
            mu, V = mu[live], Psi.T @ (U[:, live] / np.sqrt(mu[live]))
    else:
        gram = sums.gram(design)
        with threads_for(len(gram) ** 3):
            C = cross_products(parts, gram, design.slices)
            del gram
            # The small matrix Psi'W Psi has the eigenvalues of the n x n average of the smoothers.
            mu, V = scipy.linalg.eigh(C, lower=False, check_finite=False, overwrite_a=True)
            del C
    return SpectralForm(design, each_times(parts, V), np.clip(mu, 0.0, 1.0))


def gcv_factor(form: CentredForm, moments: np.ndarray, total: float, n: int) -> float:
    """Return the factor of the penalty that minimises generalised cross-validation.

    The n observations are the distinct rows, with their mean and total weight: otherwise weights
    and repeated rows would be taken for evidence that there is no noise. The best point of a grid
    brackets the minimum, a root of the derivative. Fits with more than 99 % of n degrees of
    freedom, where the score is 0/0, are not considered.
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

    def left_over(log_kappa):
        ratio = np.exp(log_kappa) * rho
        return ratio / (gamma + ratio)  # 1 - gamma s

    def derivative(log_kappa):
        left = left_over(log_kappa)
        rss, df = floor + weight @ left**2, base_df + (1.0 - left).sum()
        slope = left * (1.0 - left)  # d left / d log kappa
        return 2.0 * weight @ (left * slope) * (n - df) - 2.0 * rss * slope.sum()

    odds = np.log(gamma) - np.log(rho)
    grid = np.linspace(max(odds.min() - 5.0, -60.0), min(odds.max() + 10.0, 60.0), 200)
    left = left_over(grid[:, None])
    rss, df = floor + left**2 @ weight, base_df + (1.0 - left).sum(axis=1)
    scores = np.where(df <= 0.99 * n, rss / np.maximum(n - df, 0.01 * n) ** 2, math.inf)
    if not np.isfinite(scores).any():
        return math.inf
    # The score may have several minima: a root finder alone would take the first one it meets.
    best = int(np.argmin(scores))
    if 0 < best < len(grid) - 1 and derivative(grid[best - 1]) < 0 < derivative(grid[best + 1]):
        return math.exp(brentq(derivative, grid[best - 1], grid[best + 1], xtol=1e-13))
    return math.exp(grid[best])


def gcv_score(form: CentredForm, moments: np.ndarray, total: float, n: int) -> float:
    """The generalised cross-validation score of the penalties of a form; see `gcv_factor`."""
    live = form.gamma > 0
    gamma, rho = form.gamma[live], form.roughness[live]
    reach = (moments[live] ** 2).sum(axis=1) / gamma
    left = np.where(np.isfinite(rho), rho / (gamma + np.where(np.isfinite(rho), rho, 0.0)), 1.0)
    df = 1.0 + float((1.0 - left).sum())
    rss = max(total - reach.sum(), 0.0) + float((reach * left**2).sum())
    return rss / (n - df) ** 2 if df <= 0.99 * n else math.inf


# --- the estimator --------------------------------------------------------------------------------


@documented()
class SmoothingSplineRegressor(RegressorMixin, FitsBatches, ReadsOnce, BaseEstimator):
    r"""Smoothing splines for one or several features: least squares with a penalty on roughness.

    Minimises, over f = constant + f_1(x_1) + ... + f_p(x_p),

    .. math:: \sum_i w_i (Y_i - f(x_i))^2 + \sum_j \nu_j \int f_j^{(r)}(u)^2 \, du

    ([Dombry and Esstafa, example 2.4], for one feature). The f_j are splines of degree 2r - 1 with
    a knot at every distinct value, or at quantiles of the distinct values when there are more of
    them than `max_knots`. Outside the range of the training data each f_j is a polynomial of degree
    r - 1, which has no penalty. With a knot at every value, this is the minimiser over any larger
    interval.

    Parameters
    ----------
    df : float or array-like, default=None
        Degrees of freedom of each feature's spline, including the constant. They are between
        `order` (a polynomial of degree `order` - 1) and the number of distinct values (an
        interpolation). Larger numbers are reduced to the number of distinct values. It determines
        the penalty, which must not be given, too. A list is a grid, of which the number with the
        least generalised cross-validation score is taken.
    penalty : "gcv", float or array-like, default="gcv"
        The nu of the formula, in units of weight times (units of the feature)^(2r-1): a number for
        all features, or an array of shape (n_features,). An array of shape (n_penalties, 1) or
        (n_penalties, n_features) is a grid, as for `df`. `"gcv"` minimises the generalised
        cross-validation score over one factor common to all features; rows that are equal in all
        features count as one observation there, their weighted mean.
    order : int, default=2
        The r of the formula; 2 is the cubic spline.
    max_knots : "auto" or int, default="auto"
        Maximum number of knots for each feature. `"auto"`: 200 for up to 3 features,
        600 / n_features for more, and at least 20.
    extrapolation : {"natural", "linear"}, default="natural"
        How the f_j continue outside the range of the training data: by their Taylor polynomials of
        degree r - 1, or by their tangents. Both are constants for r = 1 and lines for r = 2. For a
        larger r the tangents stay nearer to the data, but are not the minimiser.

    Attributes
    ----------
    penalty_ : ndarray of shape (n_features,)
        The nu of each feature, in the units above.
    df_ : float
        The `df` that was given or chosen, if there is one.
    cv_results_ : dict of ndarrays
        Only with a grid: the candidates "df" or "penalty", and their generalised cross-validation
        scores "mean_score".
    degrees_of_freedom_ : float
        The trace of the smoother matrix.
    eigenvalues_ : ndarray of shape (n_eigenvalues,)
        The nonzero eigenvalues of the smoother matrix, in decreasing order. The first one belongs
        to the constant.
    intercept_ : float or ndarray of shape (n_outputs,)
        The weighted mean of y; the f_j have mean zero over the training rows.
    %(names_in_fit)s

    Raises
    ------
    ValueError
        If `df` is below `order`, or the range of a feature overflows.

    See Also
    --------
    NadarayaWatsonRegressor : Local averages in any dimension, with interactions.
    LinearL2BoostingRegressor : Boosts this estimator in closed form.

    Notes
    -----
    Of several knots that are closer than 1e-6 of the range, one is kept. For `order` 3, 4 and 5
    this limit is 1e-4, 1e-3 and 5e-3.

    With K knots in total, a fit costs O(n log n + n p^2 + K^3), or O(n^2 K) for fewer rows than
    knots. Dask collections are read twice. The model is the same as from all rows in memory, up to
    rounding, if the knots are the same, as for features of at most 4000 distinct values. See
    :ref:`costs-of-smoothers` in the user guide, also for ``penalty="gcv"``.

    %(references_Dombry)s

    A. Demmler and C. Reinsch (1975). "Oscillation matrices with spline smoothing". Numerische
    Mathematik 24, 375-382.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import SmoothingSplineRegressor
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = SmoothingSplineRegressor(df=8).fit(X, y)
    >>> float(round(model.degrees_of_freedom_, 6))
    8.0
    >>> model.predict([[0.25]]).round(2)
    array([0.99])
    """

    _parameter_constraints: ClassVar[dict] = {
        "df": [Interval(Real, 1, None, closed="left"), "array-like", None],
        "penalty": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"gcv"}),
            "array-like",
        ],
        "order": [Interval(Integral, 1, 5, closed="both")],
        "max_knots": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "extrapolation": [StrOptions({"natural", "linear"})],
    }

    def __init__(
        self,
        df: float | ArrayLike | None = None,
        *,
        penalty: float | ArrayLike | Literal["gcv"] = "gcv",
        order: int = 2,
        max_knots: int | Literal["auto"] = "auto",
        extrapolation: Literal["natural", "linear"] = "natural",
    ) -> None:
        self.df = df
        self.penalty = penalty
        self.order = order
        self.max_knots = max_knots
        self.extrapolation = extrapolation

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_coefficients")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "SmoothingSplineRegressor":
        """Fit the splines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, or a Dask array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Integer weights are equivalent to repeating rows.

        Returns
        -------
        self : SmoothingSplineRegressor
            The fitted estimator.
        """
        self._specs()
        rows = checked_rows(
            self, X, y, sample_weight, dtype=np.float64, multi_output=True, y_numeric=True
        )
        X, w = rows.X, rows.weights()
        Y = rows.y.astype(np.float64, copy=False).reshape(len(rows), -1)
        # In units of the largest |y|, so that squares neither overflow nor vanish.
        scale = largest_magnitude(Y)
        Y = Y / scale
        mean = w @ Y / w.sum()
        Y -= mean
        specs = self._specs(X.shape[1])
        spec = self._fit_sums(MemorySums(X, w, Y), specs, mean, scale, rows.y.ndim == 1)
        # Enough for the smoother matrix; the functions that it is made of are 1,000 times as large.
        few = len(rows) <= DENSE_ROWS
        self._training = (X.copy(), w, spec) if few else None
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """Fit a Dask collection, of which the rows are read twice."""
        specs = self._specs(rows.n_features)
        sums = sums_of_blocks(rows.knowing(multi_output=True), specs[0])
        self._fit_sums(sums, specs, sums.mean, sums.scale, sums.single)
        self._training = None

    def _fit_sums(
        self,
        sums: MemorySums | BlockSums,
        specs: list[PenaltySpec],
        mean: np.ndarray,
        scale: float,
        is_1d: bool,
    ) -> PenaltySpec:
        """Fit from sums over rows with the targets y / scale - mean; the specification of "
        "least GCV."""
        for name in ("df_", "cv_results_"):
            self.__dict__.pop(name, None)
        best, found = 0, [penalised_form(sums, spec) for spec in specs]
        if len(specs) > 1:
            total, n = sums.observations()
            scores = np.array([gcv_score(form, moments, total, n) for form, _, moments in found])
            best = int(np.argmin(scores))
            with np.errstate(over="ignore"):
                in_units = scores * n * scale * scale
            name = "penalty" if specs[0].df is None else "df"
            values = np.array([getattr(spec, name) for spec in specs])
            self.cv_results_ = {name: values, "mean_score": in_units}
        spec, (form, self.penalty_, moments) = specs[best], found[best]
        if spec.df is not None:
            self.df_ = float(spec.df)
        s = form.shrinkage(1.0)
        with np.errstate(over="ignore"):
            coefficients = form.T @ (s[:, None] * moments) * scale
        if not np.isfinite(coefficients).all():
            raise ValueError("y is so large that coefficients overflow; scale y.")
        with np.errstate(over="ignore"):  # by rounding, of the largest float
            mean = within_range(mean * scale)
        self.eigenvalues_ = np.r_[1.0, np.sort(form.gamma * s)[::-1]]
        self.degrees_of_freedom_ = float(self.eigenvalues_.sum())
        self.intercept_ = mean[0] if is_1d else mean
        self._design, self._coefficients, self._is_1d = form.design, coefficients, is_1d
        return spec

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Evaluate the splines.

        %(rows_to_predict)s

        %(returns_outputs)s
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        out = self._design.evaluate(X, self._coefficients) + self.intercept_
        return out[:, 0] if self._is_1d else out

    @finite_predictions
    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the f_j of each feature; the prediction is `intercept_` plus their sum.

        %(rows_to_predict)s

        Returns
        -------
        terms : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
            The terms, one column for each feature. Each has a weighted mean of zero over the
            training rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        out = self._design.terms(X, self._coefficients)
        return out[:, :, 0] if self._is_1d else out

    def smoother_matrix(self, X: ArrayLike | None = None) -> np.ndarray:
        """Return the matrix that maps the training targets to predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows to predict; the training rows by default.

        Returns
        -------
        S : ndarray of shape (n_samples, n_training_rows)
            The matrix. Training rows of weight zero are left out.

        Raises
        ------
        ValueError
            If there were more than 5,000 training rows, or a Dask collection of them.
        """
        check_is_fitted(self)
        if self._training is None:
            raise ValueError(
                f"The smoother matrix is available for at most {DENSE_ROWS} training rows in "
                "memory."
            )
        X_train, w, spec = self._training
        sums = MemorySums(X_train, w)
        with one_blas_thread():
            factors = sums.factors(spec)
        # The penalties found are applied anew, so that the matrix has the smoothing that GCV chose.
        unit = [rescaled(nu, f.basis, -1) for nu, f in zip(self.penalty_, factors)]
        form = joint_form(factors, unit, sums)
        if X is None:
            X = X_train
        else:
            X = validate_data(self, X, dtype=np.float64, reset=False)
        right = form.design.evaluate(X_train, form.T * form.shrinkage(1.0))
        S = form.design.evaluate(X, form.T) @ (w[:, None] * right).T
        return S + w / w.sum()

    def _specs(self, n_features: int | None = None) -> list[PenaltySpec]:
        """What is to be compared, one specification without a grid; a ValueError where it is "
        "wrong."""
        if isinstance(self.order, bool):
            raise TypeError(f"order must be an integer from 1 to 5, got {self.order}.")
        if self.df is not None and not isinstance(self.penalty, str):
            raise ValueError(
                "df and penalty must not both be given: df determines the penalty. Set df=None, or "
                "leave penalty='gcv'."
            )
        is_natural = self.extrapolation == "natural"
        given: list[tuple] = [(None, self.penalty)]
        if self.df is not None:
            given = [(df, "gcv") for df in _numbers("df", self.df, 1, 1).ravel().tolist()]
        elif not isinstance(self.penalty, str | Real):
            penalties = _numbers("penalty", self.penalty, 0, 2)
            rows = np.atleast_2d(penalties)
            if n_features is not None and rows.shape[1] not in (
                {1, n_features} if penalties.ndim == 2 else {n_features}
            ):
                raise ValueError(
                    f"penalty must have {n_features} numbers, one for each feature of X, or one "
                    f"column as a grid; got the shape {penalties.shape}."
                )
            given = [(None, np.array(np.broadcast_to(row, n_features or len(row)))) for row in rows]
        for df, _ in given:
            if df is not None and df < self.order:
                raise ValueError(
                    f"df={df:g} is below order={self.order}, the degrees of freedom of a "
                    "polynomial of degree order - 1, which has no penalty."
                )
        return [
            PenaltySpec(df, penalty, self.order, self.max_knots, is_natural)
            for df, penalty in given
        ]

    def linear_smoother(self) -> "SplineSmoother":
        """The smoother that `LinearL2BoostingRegressor` boosts in closed form.

        Returns
        -------
        smoother : object
            With the methods `check` and `form`, and others for single features and for rows in
            blocks.
        """
        self._validate_params()
        return SplineSmoother(self._specs())


class SplineSmoother:
    """The smoother of a `SmoothingSplineRegressor`; see `_smoothers.Smoother`."""

    counts_rows = False

    def __init__(self, specs: list[PenaltySpec]) -> None:
        self.specs, self.spec = specs, specs[0]

    def check(self) -> None:
        if self.spec.by_gcv or len(self.specs) > 1:
            raise NotLinearError(
                "SmoothingSplineRegressor with penalty='gcv' or a grid is not linear in y, because "
                "the penalty depends on y. Set df or penalty to a number."
            )

    def form(self, X: np.ndarray, weight: np.ndarray, one_feature_each: bool) -> SpectralForm:
        """The functions and eigenvalues of the smoother matrix."""
        spec = self.spec.for_each_of(X.shape[1]) if one_feature_each else self.spec
        return spectral_form(MemorySums(X, weight), spec, one_feature_each)

    def feature_forms(
        self, X: np.ndarray, weight: np.ndarray
    ) -> tuple[list[CentredForm], float | None]:
        """Each feature's own spline, and its degrees of freedom if they are given."""
        return one_feature_forms(MemorySums(X, weight), self.spec), self.spec.df

    def sums_of_blocks(self, rows: ChunkedRows, variant: str, n_splits: int) -> BlockSums:
        """Sums over rows in blocks, from which both of these follow."""
        spec = self.spec
        if variant == "random_feature":
            spec = spec.for_each_of(rows.n_features)
        return sums_of_blocks(rows, spec, with_gram=variant != "all_features", n_splits=n_splits)


def _numbers(name: str, values: ArrayLike, least: float, most_dimensions: int) -> np.ndarray:
    """An array of finite numbers of at least `least`; or a ValueError."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must have numbers only: {error}.") from None
    if (
        not found.size
        or found.ndim > most_dimensions
        or not (np.isfinite(found) & (found >= least)).all()
    ):
        raise ValueError(f"{name} must be a list of finite numbers of at least {least}.")
    return found
