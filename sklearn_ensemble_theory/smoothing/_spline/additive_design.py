"""The B-splines of all features side by side, and products of them summed over rows."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory.smoothing._spline.basis import SplineBasis

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
