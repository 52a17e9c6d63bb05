"""Random linear projections S of the d variables: what they draw, and what theory says of them.

All have E[S S'] = I, so that a ridge penalty has the units of an ordinary ridge regression. They
are applied to the rows of X about their mean, times the roots of their weights, which sum to 1:
A = W^(1/2) (X - 1 mean') / scale. Sparse rows are never made dense: the mean is subtracted from the
products.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import svd

from sklearn_ensemble_theory._running import threads_for
from sklearn_ensemble_theory._scaling import feature_ranges, largest_magnitude, power_of_two
from sklearn_ensemble_theory.bounds import projection_risk_bound

# A column whose deviations are below this share of its mean is constant to rounding.
_CONSTANT = 1e-13
# Between these, squares of norms and their sums neither overflow nor vanish.
_SAFE = (1e-100, 1e100)
# Squared singular values below this share of the largest are not accurate in a Gram matrix.
_ACCURATE = 1e-8


# --- centred rows ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class DenseRows:
    """A = W^(1/2) (X - 1 mean') / scale, for dense X."""

    matrix: np.ndarray
    root: np.ndarray  # the square roots of the weights
    mean: np.ndarray  # in units of X; 0 without an intercept
    scale: float  # a power of 2
    squared_norms: np.ndarray  # of the columns of A
    is_centred: bool

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def times(self, S: Any) -> np.ndarray:
        """Return A S, for dense or sparse S."""
        return np.asarray(self.matrix @ S)

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """Return A'V."""
        return self.matrix.T @ V

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        return self.matrix[:, chosen]

    def by_columns(self) -> "DenseRows":
        """Return the same with the values of each column side by side in memory."""
        return replace(self, matrix=np.asfortranarray(self.matrix))

    def row_gram(self) -> np.ndarray:
        """Return A A'."""
        return self.matrix @ self.matrix.T

    def column_gram(self) -> np.ndarray:
        """Return A'A."""
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

    def times(self, S: Any) -> np.ndarray:
        """Return A S, for dense or sparse S."""
        product = self.matrix @ S
        product = product.toarray() if sp.issparse(product) else np.asarray(product)
        return self.root[:, None] * (product - (self.mean / self.scale) @ S)

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """Return A'V."""
        weighted = self.root[:, None] * V
        return self.matrix.T @ weighted - np.outer(self.mean / self.scale, weighted.sum(axis=0))

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        part = self.matrix[:, chosen].toarray() - (self.mean / self.scale)[chosen]
        return self.root[:, None] * part

    def by_columns(self) -> "SparseRows":
        return self

    def row_gram(self) -> np.ndarray:
        """Return A A'."""
        mean = self.mean / self.scale
        products = self.matrix @ mean
        # (x - m)'(z - m) = x'z + m'm - x'm - z'm: only the products are dense.
        gram = (self.matrix @ self.matrix.T).toarray()
        gram += mean @ mean - products - products[:, None]
        return gram * self.root * self.root[:, None]

    def column_gram(self) -> np.ndarray:
        """Return A'A."""
        weighted = self.matrix.multiply(self.root[:, None]).tocsc()
        mean = self.mean / self.scale
        return (weighted.T @ weighted).toarray() - np.outer(mean, mean)

    def dense(self) -> np.ndarray | None:
        return None


CentredRows = DenseRows | SparseRows


def centred_rows(X: Any, weight: np.ndarray, fit_intercept: bool) -> CentredRows:
    """Centre the rows of X for least squares with an intercept; without one, only weigh them."""
    # Equal weights have one root, which takes no memory.
    is_even = weight.min() == weight.max()
    root = np.broadcast_to(np.sqrt(weight[0]), weight.shape) if is_even else np.sqrt(weight)
    if sp.issparse(X):
        scale = power_of_two(largest_magnitude(X.data))
        matrix = (X / scale).tocsc()
        mean = matrix.T @ weight if fit_intercept else np.zeros(X.shape[1])
        second = matrix.multiply(matrix).T @ weight
        norms = np.maximum(second - mean**2, 0.0)
        # The difference of two equal sums is rounding: such a column is constant.
        norms[norms <= 1e-15 * second] = 0.0
        return SparseRows(matrix, root, mean * scale, scale, norms, fit_intercept)
    mean = weight @ X if fit_intercept else np.zeros(X.shape[1])
    # Units are changed only where squares would overflow or vanish: most data pass over X once.
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
        # What subtracting the mean leaves of a constant column is rounding, which a fit would take
        # for data.
        constant = np.sqrt(norms) <= _CONSTANT * np.abs(mean) / scale
    if constant.any():
        matrix[:, constant] = 0.0
        norms[constant] = 0.0
    return DenseRows(matrix, root, mean, scale, norms, fit_intercept)


@dataclass(frozen=True)
class RowSpace:
    """A = U D V', with one of U and V in memory; the other one is a product with A."""

    rows: CentredRows
    singular_values: np.ndarray  # the r positive ones
    left: np.ndarray | None  # (n, r)
    right: np.ndarray | None  # (d, r)

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
    # The smaller of the two Gram matrices has all singular values that are not zero.
    by_rows = n < d
    with threads_for(float(n) * d * min(n, d)):
        gram = rows.row_gram() if by_rows else rows.column_gram()
        values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = max(values[0], 0.0)
    # Squares lose half of the digits: for small directions the matrix itself is decomposed.
    n_small = int(np.sum(values <= _ACCURATE * largest))
    expected = int(by_rows and rows.is_centred)  # centred rows are linearly dependent
    dense = rows.dense()
    if n_small > expected and dense is not None and largest > 0:
        with threads_for(float(n) * d * min(n, d)):
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


# --- projections ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundTerms:
    """What the bound on the risk of a fitted model needs, in units of X."""

    n_samples: float  # the sum of the weights
    n_components: int
    size: float  # the constant of the squared norm of theta; see `kind`
    kind: Callable[..., float]  # the function of `bounds`
    intercept: bool

    def bound(self, squared_norm: float, noise_variance: float) -> float:
        size = self.n_components
        bound = self.kind(self.n_samples, size, self.size, squared_norm, noise_variance)
        return bound + noise_variance / self.n_samples * self.intercept


class Projection(ABC):
    """A random map of the rows to few variables, linear or not, and the models that it gives."""

    root: np.ndarray  # the square roots of the weights of the rows

    def targets(self, Z: np.ndarray) -> np.ndarray:
        """Return the targets of the small problem min ||targets - design eta||."""
        return Z

    def n_distinct(self, n_members: int) -> int:
        """How many of the members differ."""
        return n_members

    @abstractmethod
    def draw(self, seed: int) -> tuple[np.ndarray, Any]:
        """The design of one member, in the basis of `targets`, and what gives it at any x."""

    @abstractmethod
    def lift(self, S: Any, eta: np.ndarray) -> Any:
        """Return what a member with the coefficients eta adds to the model."""

    @abstractmethod
    def combine(self, lifted: Iterator, n_members: int) -> Any:
        """Return the average of the members, a function of X."""

    def expand(self, M: np.ndarray) -> np.ndarray:
        """Return a matrix of the space of `targets` as one of the rows, of shape (n, n)."""
        return M

    @abstractmethod
    def bound_terms(self, n_samples: float) -> BoundTerms | None:
        """The terms of the bound on the risk, for `n_samples` rows; None where there is none."""


@dataclass(frozen=True)
class LinearModel:
    """x -> (x - mean)'coef."""

    coef: np.ndarray
    mean: np.ndarray
    is_linear: ClassVar[bool] = True

    def __call__(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef) - self.mean @ self.coef


class LinearProjection(Projection):
    """A projection of the variables, x -> S'x, with the design A S."""

    def __init__(self, rows: CentredRows, n_components: int, alpha: float):
        self.rows, self.n_components, self.alpha = rows, n_components, alpha
        self.root = rows.root

    def lift(self, S: Any, eta: np.ndarray) -> np.ndarray:
        """S eta, what a member adds to the coefficients."""
        return np.asarray(S @ eta)

    def coefficients(self, total: np.ndarray) -> np.ndarray:
        """Return the coefficients of the variables from the mean of S eta."""
        return total

    def combine(self, lifted: Iterator, n_members: int) -> LinearModel:
        # Added up as they come: one member is in memory at a time.
        total = next(lifted)
        for part in lifted:
            total += part
        with np.errstate(over="ignore", invalid="ignore"):  # checked in units of y
            coef = self.coefficients(total / n_members) / self.rows.scale
        return LinearModel(coef, self.rows.mean)

    def _terms(self, kind: Callable[..., float], size: float, n_samples: float) -> BoundTerms:
        with np.errstate(over="ignore"):
            size = float(size * n_samples * self.rows.scale * np.float64(self.rows.scale))
        return BoundTerms(n_samples, self.n_components, size, kind, self.rows.is_centred)


class GaussianProjection(LinearProjection):
    """Independent Gaussian entries, drawn in the row space of A only.

    With A = U D V', the fit depends on S by V'S alone, and V'S has independent Gaussian entries.
    What the other part of S adds to S eta has mean 0 given V'S, and is left out.
    """

    def __init__(self, rows: CentredRows, n_components: int, alpha: float):
        super().__init__(rows, n_components, alpha)
        self.space: RowSpace = row_space(rows)
        # Without a penalty, s at least the rank is least squares on all variables.
        self.is_exhaustive = alpha == 0 and n_components >= self.space.rank

    def targets(self, Z: np.ndarray) -> np.ndarray:
        return self.space.project(Z)

    def n_distinct(self, n_members: int) -> int:
        return 1 if self.is_exhaustive else n_members

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        space, size = self.space, self.n_components
        if self.is_exhaustive:
            return np.diag(space.singular_values), np.eye(space.rank)
        rng = np.random.default_rng(seed)
        if space.rank < self.rows.shape[1]:
            S = rng.standard_normal((space.rank, size))
        else:  # V is square: the draws do not depend on it
            S = space.in_basis(rng.standard_normal((space.rank, size)))
        return (space.singular_values / np.sqrt(size))[:, None] * S, S

    def lift(self, S: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return S @ (eta if self.is_exhaustive else eta / np.sqrt(self.n_components))

    def coefficients(self, total: np.ndarray) -> np.ndarray:
        return self.space.from_coordinates(total)

    def expand(self, M: np.ndarray) -> np.ndarray:
        U = self.space.left_vectors()
        return U @ M @ U.T

    def bound_terms(self, n_samples: float) -> BoundTerms:
        return self._terms(projection_risk_bound, self.rows.squared_norms.sum(), n_samples)


class SparseProjection(LinearProjection):
    """Entries that are 0 except with probability p = 1/sqrt(d), and then +-1/sqrt(s p)."""

    def __init__(self, rows: CentredRows, n_components: int, alpha: float):
        super().__init__(rows.by_columns(), n_components, alpha)

    @property
    def density(self) -> float:
        return 1 / np.sqrt(self.rows.shape[1])

    def draw(self, seed: int) -> tuple[np.ndarray, Any]:
        d, size = self.rows.shape[1], self.n_components
        rng = np.random.default_rng(seed)
        # Column after column of S, so that the places of its entries are in the order of CSC.
        places = _bernoulli_places(rng, d * size, self.density)
        signs = rng.choice([-1.0, 1.0], size=len(places)) / np.sqrt(size * self.density)
        column, row = np.divmod(places, d)
        starts = np.searchsorted(column, np.arange(size + 1))
        S = sp.csc_matrix((signs, row, starts), shape=(d, size))
        return self.rows.times(S), S

    def bound_terms(self, n_samples: float) -> BoundTerms:
        """Entries with a fourth moment 1/p instead of 3 add (1/p - 3) diag(A'A) to the moment."""
        norms = self.rows.squared_norms
        excess = max(1 / self.density - 3, 0.0) * norms.max(initial=0.0)
        return self._terms(projection_risk_bound, norms.sum() + excess, n_samples)


class CoordinateProjection(LinearProjection):
    """s of the d variables, drawn without replacement; all of them where s is at least d."""

    def n_distinct(self, n_members: int) -> int:
        return 1 if self.n_components >= self.rows.shape[1] else n_members

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        d = self.rows.shape[1]
        size = min(self.n_components, d)
        rng = np.random.default_rng(seed)
        chosen = np.arange(d) if size == d else rng.choice(d, size, replace=False, shuffle=False)
        design = self.rows.columns(chosen)
        design *= np.sqrt(d / size)  # E[S S'] = I
        return design, chosen

    def lift(self, S: np.ndarray, eta: np.ndarray) -> np.ndarray:
        d = self.rows.shape[1]
        coef = np.zeros((d, eta.shape[1]))
        # The factor of the design once more: E[S S'] = I on the way back too.
        coef[S] = eta * np.sqrt(d / len(S))
        return coef

    def bound_terms(self, n_samples: float) -> BoundTerms:
        d = self.rows.shape[1]
        size = d * self.rows.squared_norms.max(initial=0.0)
        return replace(
            self._terms(partial(projection_risk_bound, projection="coordinate"), size, n_samples),
            n_components=min(self.n_components, d),
        )


def _bernoulli_places(rng: np.random.Generator, size: int, probability: float) -> np.ndarray:
    """Return the indices of the successes of `size` independent trials, in increasing order."""
    places = np.zeros(0, dtype=np.int64)
    last = -1
    # Distances between successes are geometric: O(successes) random numbers instead of O(size).
    while last < size:
        expected = (size - last) * probability
        gaps = rng.geometric(probability, int(expected + 4 * np.sqrt(expected) + 4))
        places = np.concatenate([places, last + np.cumsum(gaps)])
        last = int(places[-1])
    return places[places < size]


LINEAR_PROJECTIONS: dict[str, Callable[[CentredRows, int, float], LinearProjection]] = {
    "gaussian": GaussianProjection,
    "sparse": SparseProjection,
    "coordinate": CoordinateProjection,
}
