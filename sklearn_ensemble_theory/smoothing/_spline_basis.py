"""B-splines, and splines of one feature in the basis of Demmler and Reinsch (1975).

A smoothing spline of order r minimises sum_i w_i (y_i - f(x_i))^2 + nu * int (f^(r))^2 over the
splines of degree 2r - 1 on given knots; with a knot at every point this is the natural smoothing
spline. (The minimiser is of degree 2r - 1; [Dombry and Esstafa, example 2.4] prints r + 1.)

In the basis that diagonalises both terms, every penalty, every number of degrees of freedom and
every criterion is a function of one list of numbers. The basis is computed from an orthogonal
decomposition of the stacked square roots of the two terms, not from their products, so that it is
accurate where knots nearly coincide.

`AdditiveDesign` has the B-splines of all features side by side, and products of them over rows.
"""

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import BSpline
from scipy.linalg import qr, solve_triangular, svd
from scipy.optimize import brentq

MIN_GAPS = {1: 1e-6, 2: 1e-6, 3: 1e-4, 4: 1e-3, 5: 5e-3}
"""Knots closer than this, as a fraction of the range, are merged, by the order r: rounding errors
of about 1e-16 / gap^(r-1/2) then stay below 1e-6. Two knots instead of one matter for fits close to
an interpolation only."""

DENSE_VALUES = 4000
"""Up to this many distinct values the square root of the data's term is used itself, above it the
Gram matrix, which is well conditioned where every interval between knots has many points."""

BLOCK = 50_000
"""Rows processed together with one feature; with more features fewer, down to a tenth, so that the
matrices of basis functions are of bounded size."""


@dataclass(frozen=True)
class SplineBasis:
    """B-splines of degree 2r - 1 on [low, low + width], continued as polynomials outside.

    With one distinct value, `knots` is None and the basis is the constant. `padded` are the knots
    with the multiplicities that a B-spline basis has at the ends; `size` is the number of splines;
    `outer_degree` is that of the polynomials outside.
    """

    low: float
    width: float
    order: int
    knots: np.ndarray | None
    padded: np.ndarray
    size: int
    outer_degree: int

    @classmethod
    def from_values(
        cls, values: np.ndarray, order: int, max_knots: int, is_natural: bool
    ) -> "SplineBasis":
        """A basis for sorted distinct `values`: a knot at each of them, or at their quantiles.

        The order is lowered when there are fewer knots. Polynomials outside have the degree below
        the order where `is_natural`, and at most 1 otherwise.
        """
        low, width = float(values[0]), float(values[-1] - values[0])
        if len(values) == 1:
            return cls(low, 0.0, 1, None, np.empty(0), 1, 0)
        values = (values - low) / width
        if len(values) > max_knots:
            positions = np.linspace(0, len(values) - 1, max_knots).round().astype(np.intp)
            values = values[positions]
        # Of a run of near ties the first one is kept, and the last value of all.
        keep, gap = [0], MIN_GAPS[order]
        for i in range(1, len(values) - 1):
            if values[i] - values[keep[-1]] >= gap and values[-1] - values[i] >= gap:
                keep.append(i)
        knots = np.r_[values[keep], values[-1]]
        order = min(order, len(knots))
        degree = 2 * order - 1
        padded = np.r_[np.zeros(degree), knots, np.ones(degree)]
        outer_degree = order - 1 if is_natural else min(order - 1, 1)
        return cls(low, width, order, knots, padded, len(knots) + degree - 1, outer_degree)

    def design(self, x: np.ndarray) -> sp.csr_matrix:
        """Values of the basis at x (in the feature's own units): sparse, (len(x), size)."""
        if self.knots is None:
            return sp.csr_matrix(np.ones((len(x), 1)))
        z = (x - self.low) / self.width
        inside = np.clip(z, 0.0, 1.0)
        values = sp.csr_matrix(BSpline.design_matrix(inside, self.padded, 2 * self.order - 1))
        outside = np.flatnonzero(inside != z)
        if not len(outside):
            return values
        # The Taylor polynomial at the nearer end. To degree r - 1 it has no penalty, and is what
        # the minimiser over a larger interval is there.
        shift, side = z[outside] - inside[outside], (z[outside] > 0).astype(np.intp)
        for k in range(1, self.outer_degree + 1):
            edge = sp.csr_matrix(self.derivative(np.array([0.0, 1.0]), k))
            with np.errstate(over="ignore"):
                power = shift**k / math.factorial(k)
            values = values + sp.csr_matrix((power, (outside, side)), shape=(len(x), 2)) @ edge
        return values

    def derivative(self, z: np.ndarray, k: int) -> np.ndarray:
        """k-th derivatives of the basis at z in [0, 1], dense (len(z), size)."""
        coefficients = BSpline(self.padded, np.eye(self.size), 2 * self.order - 1)
        return coefficients.derivative(k)(z)

    def penalty_root(self) -> np.ndarray:
        """A matrix whose Gram matrix is the integral over [0, 1] of products of r-th derivatives.

        The r-th derivatives are polynomials of degree r - 1 between knots, so that r Gauss points
        in each interval integrate their products exactly.
        """
        assert self.knots is not None  # a constant has no penalty
        nodes, weights = gauss_points(self.order)
        left, gap = self.knots[:-1, None], np.diff(self.knots)[:, None]
        z = left + gap * (nodes + 1) / 2
        root = np.sqrt(gap * weights / 2)
        return root.reshape(-1, 1) * self.derivative(z.ravel(), self.order)


@cache
def gauss_points(number: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights of the quadrature by Gauss on [-1, 1]."""
    return np.polynomial.legendre.leggauss(number)


@dataclass(frozen=True)
class Factors:
    """The basis of Demmler and Reinsch: phi_j(x) = design(x) @ T[:, j].

    sum_i w_i phi_j phi_k = gamma_j delta_jk and theta * int phi_j^(r) phi_k^(r) = roughness_j
    delta_jk (on [0, 1]), with gamma + roughness = 1. The smoother with penalty kappa * theta has
    the eigenvalues gamma / (gamma + kappa * roughness).
    """

    basis: SplineBasis
    T: np.ndarray
    gamma: np.ndarray
    roughness: np.ndarray
    theta: float


def demmler_reinsch(
    basis: SplineBasis,
    values: np.ndarray | None,
    weights: np.ndarray | None,
    *,
    gram: np.ndarray | None = None,
    theta: float | None = None,
    target_df: float | None = None,
) -> Factors:
    """Diagonalise data and penalty together.

    The data are distinct values with the total weight of each, or `gram`, B'WB, where there are too
    many values to be stacked. `theta` is the penalty at which both terms are of the same size, and
    accuracy is best around it: by default one at which there are about `target_df` degrees of
    freedom.
    """
    if gram is None:
        assert values is not None
        assert weights is not None
        total = weights.sum()
        data_root = np.sqrt(weights)[:, None] * basis.design(values).toarray()
    else:
        # A square root, scaled to a unit diagonal first.
        total, lengths = gram[0, 0], np.sqrt(np.maximum(gram.diagonal(), 1e-300))
        eigenvalues, vectors = np.linalg.eigh(gram / lengths / lengths[:, None])
        data_root = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T * lengths
    if basis.knots is None:
        T = np.full((1, 1), 1.0 / math.sqrt(total))
        return Factors(basis, T, np.ones(1), np.zeros(1), 1.0)
    if len(data_root) > basis.size:
        data_root = qr(data_root, mode="r", check_finite=False)[0][: basis.size]
    D = basis.penalty_root()
    if theta is None:
        assert target_df is not None
        # A first penalty by asymptotic eigenvalues, then the one that the last basis finds for the
        # degrees of freedom, until it moves little. Not an infinite penalty, at which the
        # polynomials would be inaccurate.
        reached = min(max(target_df, basis.order + 0.1), len(basis.knots) - 0.5)
        factors = _stacked(basis, data_root, D, asymptotic_penalty(basis, total, reached))
        for _ in range(3):
            theta = factor_for_df(factors.gamma, factors.roughness, reached) * factors.theta
            if not 0 < theta < math.inf or abs(math.log(theta / factors.theta)) < 2.0:
                break
            factors = _stacked(basis, data_root, D, theta)
        return factors
    return _stacked(basis, data_root, D, theta)


def asymptotic_penalty(basis: SplineBasis, total: float, df: float) -> float:
    """The penalty, on [0, 1], at which a spline has about df degrees of freedom [Speckman 1985].

    The j-th ratio of roughness to squared length is about (pi (j - (r + 1) / 2) / I)^(2r) / total,
    I the integral of q^(1/(2r)) with q the density of the knots: for a uniform one, those of a free
    beam.
    """
    assert basis.knots is not None
    r, m = basis.order, len(basis.knots)
    integral = (np.diff(basis.knots) ** (1 - 0.5 / r)).sum() * (m - 1) ** (-0.5 / r)
    return _factor_of_beam(r, m, df) * total * integral ** (2 * r)


@lru_cache(100)
def _factor_of_beam(r: int, m: int, df: float) -> float:
    """The penalty of a free beam with m knots that has these degrees of freedom."""
    number = np.arange(1, m + 1)
    waves = np.where(number > r, np.pi * (number - (r + 1) / 2), 0.0) ** (2 * r)
    factor = factor_for_df(np.ones(m), waves, df)
    # Polynomials and interpolations have any penalty of this size.
    return factor if 0 < factor < math.inf else 1.0


def _stacked(
    basis: SplineBasis, data_root: np.ndarray, penalty_root: np.ndarray, theta: float
) -> Factors:
    """Return the generalised singular values of (data_root, sqrt(theta) * penalty_root)."""
    # Each B-spline is scaled to unit length, so that unequal spacing of knots does not matter.
    stack = np.vstack([data_root, math.sqrt(theta) * penalty_root])
    lengths = np.sqrt((stack**2).sum(axis=0))
    Q, R = qr(stack / lengths, mode="economic", check_finite=False)
    n = len(data_root)
    # With fewer distinct values than basis functions the last cosines are zero.
    _, cosines, Vt = svd(Q[:n], full_matrices=n < basis.size, check_finite=False)
    cosines = np.r_[cosines, np.zeros(basis.size - len(cosines))]
    V = Vt.T
    sines = np.sqrt(((Q[n:] @ V) ** 2).sum(axis=0))
    gamma, roughness = cosines**2, sines**2
    # Polynomials of degree below r are not penalised at all, and the singular values of the data
    # that are rounding errors belong to functions that vanish on it.
    r = basis.order
    gamma[:r], roughness[:r] = 1.0, 0.0
    dead = gamma < 1e-28
    gamma[dead], roughness[dead] = 0.0, 1.0
    T = solve_triangular(R, V, check_finite=False) / lengths[:, None]
    return Factors(basis, T, gamma, roughness, float(theta))


def factor_for_df(gamma: np.ndarray, roughness: np.ndarray, df: float) -> float:
    """Return the factor kappa at which gamma / (gamma + kappa * roughness) sums to `df`.

    Infinity for no more than the functions without roughness (a polynomial), 0 for all functions
    (an interpolation).
    """
    free, most = np.count_nonzero((roughness == 0) & (gamma > 0)), np.count_nonzero(gamma)
    if df <= free + 1e-9:
        return math.inf
    if df >= most - 1e-9:
        return 0.0
    live = (gamma > 0) & (roughness > 0)
    # In logarithms, as eigenvalues span tens of powers of ten.
    odds = np.log(roughness[live]) - np.log(gamma[live])

    def excess(log_kappa):
        return free + (1.0 / (1.0 + np.exp(np.minimum(log_kappa + odds, 700.0)))).sum() - df

    # Fifty units beyond the extremes every function is fitted, or none, up to rounding.
    low, high = -odds.max() - 50.0, -odds.min() + 50.0
    if excess(low) <= 0:
        return 0.0
    log_kappa = brentq(excess, low, high, xtol=1e-13, rtol=1e-14)
    return float(np.exp(min(log_kappa, 700.0)))


# --- several features -----------------------------------------------------------------------------


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
        return AdditiveDesign((self.bases[j],))

    def matrix(self, X: np.ndarray) -> sp.csr_matrix:
        """Sparse (len(X), columns)."""
        parts = [basis.design(X[:, j]) for j, basis in enumerate(self.bases)]
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")

    def gram(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        """D'WD, dense."""
        # Feature by feature, above the diagonal: of several features most products are not zero,
        # and a sparse sum of all of them would be larger than the result.
        columns = self.slices
        total = np.zeros((columns[-1].stop,) * 2)
        for rows in row_blocks(*X.shape):
            D = scaled_rows(self.matrix(X[rows]), np.sqrt(w[rows]))
            if len(columns) == 1:
                total += (D.T @ D).toarray()
                continue
            D = D.tocsc()
            for own in columns:
                total[own, own.start :] += (D[:, own].T @ D[:, own.start :]).toarray()
        for own in columns:
            total[own.start :, own] = total[own, own.start :].T
        return total

    def moments(self, X: np.ndarray, w: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """D'W Y for a matrix Y."""
        total = np.zeros((sum(basis.size for basis in self.bases), Y.shape[1]))
        for rows in row_blocks(*X.shape) if Y.shape[1] else []:
            total += self.matrix(X[rows]).T @ (w[rows, None] * Y[rows])
        return total

    def terms(self, X: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return the part of each feature: shape (len(X), n_features, coefficients.shape[1])."""
        parts = [
            self.feature(j).evaluate(X[:, [j]], coefficients[columns])
            for j, columns in enumerate(self.slices)
        ]
        return np.stack(parts, axis=1)

    def evaluate(self, X: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """D(X) @ coefficients, in blocks of rows."""
        out = np.empty((len(X), coefficients.shape[1]))
        for rows in row_blocks(*X.shape):
            out[rows] = self.matrix(X[rows]) @ coefficients
        return out


def row_blocks(n_rows: int, n_features: int = 1) -> list[slice]:
    """Slices of at most `BLOCK` rows, of fewer for several features."""
    step = max(BLOCK // n_features, BLOCK // 10)
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
        """Return the part of feature j at x: shape (len(x), number of times)."""
        block = self.coefficients[self.design.slices[j]]
        return self.design.feature(j).evaluate(x[:, None], block)
