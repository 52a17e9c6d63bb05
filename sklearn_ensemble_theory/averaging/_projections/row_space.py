"""The singular value decomposition A = U D V' by the smaller of the two Gram matrices."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd

from sklearn_ensemble_theory.averaging._projections.centred_rows import CentredRows

# Squared singular values below this share of the largest are not accurate in a Gram matrix.
_ACCURATE = 1e-8


@dataclass(frozen=True)
class RowSpace:
    """A = U D V', with one of U and V in memory; the other one is a product with A.

    Attributes
    ----------
    rows : CentredRows
    singular_values : ndarray of shape (r,)
        Positive.
    left : ndarray of shape (n, r) or None
    right : ndarray of shape (d, r) or None
    """

    rows: CentredRows
    singular_values: np.ndarray
    left: np.ndarray | None
    right: np.ndarray | None

    @property
    def rank(self) -> int:
        return len(self.singular_values)

    def from_coordinates(self, C: np.ndarray) -> np.ndarray:
        """V C: shape (d, k)."""
        if self.right is not None:
            return self.right @ C
        assert self.left is not None
        return self.rows.transposed_times(self.left @ (C / self.singular_values[:, None]))

    def left_vectors(self) -> np.ndarray:
        """U: shape (n, r)."""
        if self.left is not None:
            return self.left
        return self.rows.times(self.right) / self.singular_values

    def project(self, Z: np.ndarray) -> np.ndarray:
        """U'Z: shape (r, k)."""
        if self.left is not None:
            return self.left.T @ Z
        assert self.right is not None
        return (self.right.T @ self.rows.transposed_times(Z)) / self.singular_values[:, None]

    def in_basis(self, S: np.ndarray) -> np.ndarray:
        """V'S, for S of shape (d, k)."""
        if self.right is not None:
            return self.right.T @ S
        assert self.left is not None
        return (self.left.T @ self.rows.times(S)) / self.singular_values[:, None]


def row_space(rows: CentredRows) -> RowSpace:
    """Decompose A in O(n d min(n, d)) operations.

    The signs of the singular vectors are such that V'h is positive for a fixed vector h, so that
    they do not depend on the order or the repetition of rows.
    """
    n, d = rows.shape
    by_rows = n < d
    gram = rows.row_gram() if by_rows else rows.column_gram()
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = max(values[0], 0.0)
    n_small = int(np.sum(values <= _ACCURATE * largest))
    expected = int(by_rows and rows.is_centred)  # centred rows are linearly dependent
    dense = rows.dense()
    if n_small > expected and dense is not None and largest > 0:
        U, singular, Vt = svd(dense, full_matrices=False, check_finite=False)
        kept = singular > max(n, d) * np.finfo(float).eps * singular[0]
        space = RowSpace(rows, singular[kept], U[:, kept], Vt[kept].T)
    else:
        kept = values > max(n, d) * np.finfo(float).eps * largest
        kept &= np.cumsum(kept) <= len(values) - expected
        chosen, singular = vectors[:, kept], np.sqrt(values[kept])
        space = RowSpace(rows, singular, *((chosen, None) if by_rows else (None, chosen)))
    direction = np.random.default_rng(0).standard_normal((d, 1))
    sign = np.where(space.in_basis(direction)[:, 0] < 0, -1.0, 1.0)
    left = None if space.left is None else space.left * sign
    right = None if space.right is None else space.right * sign
    return RowSpace(rows, space.singular_values, left, right)
