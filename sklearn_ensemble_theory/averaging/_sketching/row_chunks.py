"""The rows of X, in chunks, as the sketches and the refinement need them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

# Numbers of X in a chunk, at least: 2 MB, so that a chunk stays in the cache for all sketches.
CHUNK_NUMBERS = 2**18
# A column is shifted by its first value where that is so many times its range in the first rows.
FAR_FROM_ZERO = 100


def first_shift(X: Any, fit_intercept: bool) -> np.ndarray:
    """A constant for each column near its values, where they are far from zero; otherwise 0.

    Sums about it do not lose the digits that sums about zero would, and a column that is constant
    is zero exactly. Only for dense X with an intercept.
    """
    shift = np.zeros(X.shape[1])
    if fit_intercept and not sp.issparse(X):
        first = np.asarray(X[:1000], dtype=np.float64)
        low, high = first.min(axis=0), first.max(axis=0)
        far = np.maximum(np.abs(low), np.abs(high)) / FAR_FROM_ZERO > high / 2 - low / 2
        shift[far] = first[0, far]
    return shift


@dataclass
class RowChunks:
    """Rows sqrt(w) (x - shift), in double precision, and the columns that go with them.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, d)
    y : float array of shape (n, q)
        About its shift.
    root_weight : float array of shape (n,) or None
        The square roots of the weights; None for ones.
    shift : float array of shape (d,)
    """

    X: Any
    y: np.ndarray
    root_weight: np.ndarray | None
    shift: np.ndarray

    def __post_init__(self) -> None:
        self.is_shifted = bool(self.shift.any())

    def slices(self, n_rows: int = 1) -> Iterator[slice]:
        """Slices of at least so many rows."""
        n, d = self.X.shape
        step = max(n_rows, -(-CHUNK_NUMBERS // max(d, 1)))
        return (slice(start, start + step) for start in range(0, n, step))

    def rows(self, part: slice) -> Any:
        """The rows of X; a view where they need not be changed."""
        X = self.X[part]
        if sp.issparse(X):
            X = X.astype(np.float64, copy=False)
            if self.root_weight is not None:
                X = sp.csr_matrix(X.multiply(self.root_weight[part, None]))
            return X
        # One copy at most.
        if self.is_shifted:
            X = np.subtract(X, self.shift, dtype=np.float64, order="C")
            if self.root_weight is not None:
                X *= self.root_weight[part, None]
            return X
        if self.root_weight is not None:
            return np.multiply(X, self.root_weight[part, None], dtype=np.float64, order="C")
        return np.ascontiguousarray(X, dtype=np.float64)

    def roots(self, part: slice) -> np.ndarray:
        """The square roots of the weights, a column."""
        n = len(self.y[part])
        return np.ones((n, 1)) if self.root_weight is None else self.root_weight[part, None]

    def targets(self, part: slice) -> np.ndarray:
        """The columns sqrt(w) and sqrt(w) y."""
        roots = self.roots(part)
        return np.hstack([roots, roots * self.y[part]])

    def sums(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Sum of the weights, weighted sums of x - shift and of y."""
        total, x_sum, y_sum = 0.0, np.zeros(self.X.shape[1]), np.zeros(self.y.shape[1])
        for part in self.slices():
            roots = self.roots(part)[:, 0]
            total += float(roots @ roots)
            with np.errstate(over="ignore", invalid="ignore"):  # refused with the sketches
                x_sum += self.rows(part).T @ roots
                y_sum += (roots**2) @ self.y[part]
        return total, x_sum, y_sum


class CentredRows:
    """Products with the matrix Phi of rows sqrt(w) (x - mean), for the refinement."""

    def __init__(self, chunks: RowChunks, x_mean: np.ndarray, y_mean: np.ndarray) -> None:
        self.chunks = chunks
        self.mean = x_mean  # about the shift
        roots = self.chunks.roots(slice(None))
        self.targets = roots * (chunks.y - y_mean)
        self.residual = self.moved = np.empty(0)

    def start(self, theta: np.ndarray) -> np.ndarray:
        """Phi'(y - Phi theta)."""
        self.residual = self.targets - self.times(theta)
        return self.transposed_times(self.residual)

    def squares(self, direction: np.ndarray) -> np.ndarray:
        """||Phi direction||^2, for each target."""
        self.moved = self.times(direction)
        return (self.moved**2).sum(axis=0)

    def step(self, length: np.ndarray) -> np.ndarray:
        """Phi'(y - Phi theta) at `length` further along the last direction."""
        self.residual -= length * self.moved
        return self.transposed_times(self.residual)

    def times(self, theta: np.ndarray) -> np.ndarray:
        out = np.empty((self.chunks.X.shape[0], theta.shape[1]))
        offset = self.mean @ theta
        for part in self.chunks.slices():
            out[part] = self.chunks.rows(part) @ theta - self.chunks.roots(part) * offset
        return out

    def transposed_times(self, r: np.ndarray) -> np.ndarray:
        out = np.zeros((self.chunks.X.shape[1], r.shape[1]))
        total = np.zeros(r.shape[1])
        for part in self.chunks.slices():
            out += self.chunks.rows(part).T @ r[part]
            total += self.chunks.roots(part)[:, 0] @ r[part]
        return out - np.outer(self.mean, total)

    def squared_norms(self, M: np.ndarray) -> np.ndarray:
        """||row M||^2 of every row of Phi."""
        out = np.empty(self.chunks.X.shape[0])
        offset = self.mean @ M
        for part in self.chunks.slices():
            turned = self.chunks.rows(part) @ M - self.chunks.roots(part) * offset
            out[part] = np.einsum("ij,ij->i", turned, turned)
        return out
