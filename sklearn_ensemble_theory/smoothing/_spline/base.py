"""Sums of splines, one a feature, in a basis where the data and the penalty are both diagonal.

All functions here are centred: their weighted mean over the training rows is zero. The constant is
orthogonal to them and is carried separately, so that a smoother reads

    S = 1 1'W / sum(w) + Phi diag(s) Phi'W,    Phi'W Phi = diag(gamma),    Phi'W 1 = 0.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from sklearn_ensemble_theory.smoothing._spline.basis import (
    _DENSE_VALUES,
    SplineBasis,
    demmler_reinsch,
)

__all__ = ["AdditiveDesign", "CentredForm", "feature_factors", "joint_form", "single_form"]

CHUNK = 50_000
"""Rows looked at together: no matrix of basis functions is longer than this."""


@dataclass(frozen=True)
class AdditiveDesign:
    """The B-splines of all features side by side."""

    bases: tuple

    @property
    def slices(self):
        """The columns of each feature."""
        ends = np.cumsum([0, *(basis.size for basis in self.bases)])
        return [slice(a, b) for a, b in pairwise(ends)]

    def matrix(self, X):
        """Sparse (len(X), columns)."""
        parts = [basis.design(X[:, j]) for j, basis in enumerate(self.bases)]
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")

    def gram(self, X, w):
        """D'WD, dense."""
        total = None
        for rows in chunks(len(X)):
            D = self.matrix(X[rows])
            part = D.T @ _scaled(D, w[rows])
            total = part if total is None else total + part
        return total.toarray()

    def moments(self, X, w, Y):
        """D'W Y for a matrix Y."""
        total = 0.0
        for rows in chunks(len(X)):
            total = total + self.matrix(X[rows]).T @ (w[rows, None] * Y[rows])
        return total

    def evaluate(self, X, coefficients):
        """D(X) @ coefficients, in chunks of rows."""
        out = np.empty((len(X), coefficients.shape[1]))
        for rows in chunks(len(X)):
            out[rows] = self.matrix(X[rows]) @ coefficients
        return out


def chunks(n_rows):
    """Slices of at most `CHUNK` rows."""
    return [slice(i, min(i + CHUNK, n_rows)) for i in range(0, n_rows, CHUNK)]


def _scaled(D, w):
    scaled = D.copy()
    scaled.data = scaled.data * np.repeat(w, np.diff(D.indptr))
    return scaled


@dataclass(frozen=True)
class CentredForm:
    """phi(x) = design(x) @ T, with gamma and roughness (at penalty factor 1) on the diagonals."""

    design: AdditiveDesign
    T: np.ndarray
    gamma: np.ndarray
    roughness: np.ndarray

    def shrinkage(self, kappa):
        """1 / (gamma + kappa * roughness), and 0 for functions that vanish on the data."""
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.where(self.roughness > 0, kappa * self.roughness, 0.0)
        total = self.gamma + ratio
        live = (self.gamma > 0) & np.isfinite(total)
        return np.where(live, 1.0 / np.where(live, total, 1.0), 0.0)

    def project(self, X, w, Y):
        """Phi'W Y."""
        return self.T.T @ self.design.moments(X, w, Y)


def feature_factors(x, w, order, max_knots, target_df):
    """The basis of Demmler and Reinsch of one feature's spline."""
    values = np.unique(x)
    basis = SplineBasis.from_values(values, order, max_knots)
    if len(values) > _DENSE_VALUES:
        gram = AdditiveDesign((basis,)).gram(x[:, None], w)
        return demmler_reinsch(basis, None, None, gram=gram, target_df=target_df)
    weights = np.bincount(np.searchsorted(values, x), w, minlength=len(values))
    return demmler_reinsch(basis, values, weights, target_df=target_df)


def without_constant(factors, w):
    """T, gamma and roughness of one feature with the constant rotated out.

    The polynomials of degree below r come first, orthonormal on the data, and every other function
    is orthogonal to them: once they are turned so that the constant is one of them, it can go.
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


def single_form(factors, w, penalty):
    """One feature: already diagonal."""
    T, gamma, roughness = without_constant(factors, w)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(roughness > 0, roughness * (penalty / factors.theta), 0.0)
    return CentredForm(AdditiveDesign((factors.basis,)), T, gamma, scaled)


def joint_form(all_factors, penalties, X, w):
    """Several features fitted together: their cross products diagonalised with their penalties."""
    singles = [single_form(f, w, nu) for f, nu in zip(all_factors, penalties)]
    design = AdditiveDesign(tuple(f.basis for f in all_factors))
    # An infinite penalty (a straight line) leaves the penalised functions out altogether.
    keep = [np.isfinite(form.roughness) for form in singles]
    T = scipy.linalg.block_diag(*(form.T[:, k] for form, k in zip(singles, keep)))
    roughness = np.concatenate([form.roughness[k] for form, k in zip(singles, keep)])
    if not T.shape[1]:
        return CentredForm(design, T, roughness, roughness)
    G = T.T @ design.gram(X, w) @ T
    total = G + np.diag(roughness)
    scale = 1.0 / np.sqrt(total.diagonal())
    eigenvalues, vectors = scipy.linalg.eigh(total * scale * scale[:, None], check_finite=False)
    # Features that repeat each other share an unpenalised line: it is counted once.
    live = eigenvalues > 1e-11 * eigenvalues[-1]
    half = scale[:, None] * vectors[:, live] / np.sqrt(eigenvalues[live])
    gamma, turn = scipy.linalg.eigh(half.T @ G @ half, check_finite=False)
    gamma = np.clip(gamma, 0.0, 1.0)
    return CentredForm(design, T @ (half @ turn), gamma, 1.0 - gamma)
