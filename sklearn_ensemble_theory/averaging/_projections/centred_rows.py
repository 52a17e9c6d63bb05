"""The rows of X about their mean, times the roots of their weights: dense or sparse.

Weights sum to 1. Sparse rows are never made dense: the mean is subtracted from the products.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._scaling import (
    feature_ranges,
    largest_magnitude,
    power_of_two,
)

# A column whose deviations are below this share of its mean is constant to rounding.
_CONSTANT = 1e-13
# Between these, squares of norms and their sums neither overflow nor vanish.
_SAFE = (1e-100, 1e100)


@dataclass(frozen=True)
class DenseRows:
    """A = W^(1/2) (X - 1 mean') / scale, for dense X.

    Attributes
    ----------
    matrix : ndarray of shape (n, d)
    root : ndarray of shape (n,)
        The square roots of the weights.
    mean : ndarray of shape (d,)
        In units of X; 0 without an intercept.
    scale : float
        A power of 2.
    squared_norms : ndarray of shape (d,)
        The squared norms of the columns of A.
    is_centred : bool
    """

    matrix: np.ndarray
    root: np.ndarray
    mean: np.ndarray
    scale: float
    squared_norms: np.ndarray
    is_centred: bool

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def times(self, S: Any) -> np.ndarray:
        """A S, for dense or sparse S."""
        return np.asarray(self.matrix @ S)

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """A'V."""
        return self.matrix.T @ V

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        return self.matrix[:, chosen]

    def by_columns(self) -> "DenseRows":
        """The same with the values of each column side by side in memory."""
        return replace(self, matrix=np.asfortranarray(self.matrix))

    def row_gram(self) -> np.ndarray:
        """A A'."""
        return self.matrix @ self.matrix.T

    def column_gram(self) -> np.ndarray:
        """A'A."""
        return self.matrix.T @ self.matrix

    def dense(self) -> np.ndarray | None:
        return self.matrix


@dataclass(frozen=True)
class SparseRows:
    """The same for sparse X, with `matrix` X / scale itself in CSC format."""

    matrix: Any
    root: np.ndarray
    mean: np.ndarray
    scale: float
    squared_norms: np.ndarray
    is_centred: bool

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def _scaled_mean(self) -> np.ndarray:
        return self.mean / self.scale

    def times(self, S: Any) -> np.ndarray:
        """A S, for dense or sparse S."""
        product = self.matrix @ S
        product = product.toarray() if sp.issparse(product) else np.asarray(product)
        return self.root[:, None] * (product - self._scaled_mean @ S)

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """A'V."""
        weighted = self.root[:, None] * V
        return self.matrix.T @ weighted - np.outer(self._scaled_mean, weighted.sum(axis=0))

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        part = self.matrix[:, chosen].toarray() - self._scaled_mean[chosen]
        return self.root[:, None] * part

    def by_columns(self) -> "SparseRows":
        return self

    def row_gram(self) -> np.ndarray:
        """A A'."""
        mean = self._scaled_mean
        products = self.matrix @ mean
        gram = (self.matrix @ self.matrix.T).toarray()
        gram += mean @ mean - products - products[:, None]
        return gram * self.root * self.root[:, None]

    def column_gram(self) -> np.ndarray:
        """A'A."""
        weighted = self.matrix.multiply(self.root[:, None]).tocsc()
        mean = self._scaled_mean
        return (weighted.T @ weighted).toarray() - np.outer(mean, mean)

    def dense(self) -> np.ndarray | None:
        return None


CentredRows = DenseRows | SparseRows


def centred_rows(X: Any, weight: np.ndarray, fit_intercept: bool) -> CentredRows:
    """The rows of X for least squares with an intercept, or without.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
    weight : ndarray of shape (n,)
        Positive, with sum 1.
    fit_intercept : bool

    Raises
    ------
    ValueError
        If a difference of two values of X overflows.
    """
    # Equal weights have one root, which takes no memory.
    is_even = weight.min() == weight.max()
    root = np.broadcast_to(np.sqrt(weight[0]), weight.shape) if is_even else np.sqrt(weight)
    if sp.issparse(X):
        return _sparse_rows(X, weight, root, fit_intercept)
    mean = weight @ X if fit_intercept else np.zeros(X.shape[1])
    with np.errstate(over="ignore", under="ignore"):
        matrix = X - mean
        scale, norms = 1.0, np.einsum("ij,ij->j", matrix, matrix)
        if not _SAFE[0] < norms.max() < _SAFE[1]:
            feature_ranges(X)
            scale = power_of_two(max(matrix.max(), -matrix.min()))
    if scale != 1:
        matrix /= scale
    matrix *= root[:, None]
    if scale != 1 or not is_even:
        norms = np.einsum("ij,ij->j", matrix, matrix)
    else:
        norms *= weight[0]
    with np.errstate(over="ignore"):
        constant = np.sqrt(norms) <= _CONSTANT * np.abs(mean) / scale
    if constant.any():
        matrix[:, constant] = 0.0
        norms[constant] = 0.0
    return DenseRows(matrix, root, mean, scale, norms, fit_intercept)


def _sparse_rows(X: Any, weight: np.ndarray, root: np.ndarray, fit_intercept: bool) -> SparseRows:
    scale = power_of_two(largest_magnitude(X.data))
    matrix = (X / scale).tocsc()
    mean = matrix.T @ weight if fit_intercept else np.zeros(X.shape[1])
    second = matrix.multiply(matrix).T @ weight
    norms = np.maximum(second - mean**2, 0.0)
    norms[norms <= 1e-15 * second] = 0.0
    return SparseRows(matrix, root, mean * scale, scale, norms, fit_intercept)
