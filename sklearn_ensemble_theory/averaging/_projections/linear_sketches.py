"""Random linear projections S of the d variables: what they draw, and what theory says of them.

All have E[S S'] = I, so that a ridge penalty has the units of an ordinary ridge regression.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory.averaging._projections.centred_rows import CentredRows
from sklearn_ensemble_theory.averaging._projections.row_space import RowSpace, row_space
from sklearn_ensemble_theory.bounds import (
    coordinate_projection_bound,
    gaussian_projection_bound,
)


@dataclass(frozen=True)
class LinearModel:
    """x -> (x - mean)'coef."""

    coef: np.ndarray
    mean: np.ndarray
    is_linear: ClassVar[bool] = True

    def __call__(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef) - self.mean @ self.coef


@dataclass(frozen=True)
class BoundTerms:
    """What the bound on the risk of a fitted model needs, in units of X.

    Attributes
    ----------
    n_samples : float
        The sum of the weights.
    n_components : int
    size : float
        The constant of the squared norm of theta; see `kind`.
    kind : callable
        The function of `bounds`.
    intercept : bool
    """

    n_samples: float
    n_components: int
    size: float
    kind: Any
    intercept: bool

    def bound(self, squared_norm: float, noise_variance: float) -> float:
        size = self.n_components
        bound = self.kind(self.n_samples, size, self.size, squared_norm, noise_variance)
        return bound + noise_variance / self.n_samples * self.intercept


class LinearSketch(ABC):
    """A projection of the variables: x -> S'x, for centred and weighted rows A.

    Parameters
    ----------
    rows : CentredRows
    n_components : int
        The number s of columns of S.
    alpha : float
        The penalty of the small problems.
    """

    def __init__(self, rows: CentredRows, n_components: int, alpha: float):
        self.rows, self.n_components, self.alpha = rows, n_components, alpha
        self.root = rows.root

    def targets(self, Z: np.ndarray) -> np.ndarray:
        """The targets of the small problem min ||targets - design eta||."""
        return Z

    def n_distinct(self, n_members: int) -> int:
        """How many of the members differ."""
        return n_members

    @abstractmethod
    def draw(self, seed: int) -> tuple[np.ndarray, Any]:
        """The design A S of one member, in the basis of `targets`, and S."""

    def lift(self, S: Any, eta: np.ndarray) -> np.ndarray:
        """S eta, what a member adds to the coefficients."""
        return np.asarray(S @ eta)

    def coefficients(self, total: np.ndarray) -> np.ndarray:
        """The coefficients of the variables from the mean of S eta."""
        return total

    def combine(self, lifted: Any, n_members: int) -> LinearModel:
        """The average of the members."""
        total = next(lifted)
        for part in lifted:
            total += part
        with np.errstate(over="ignore", invalid="ignore"):  # checked in units of y
            coef = self.coefficients(total / n_members) / self.rows.scale
        return LinearModel(coef, self.rows.mean)

    def expand(self, M: np.ndarray) -> np.ndarray:
        """A matrix of the space of `targets` as one of the rows, of shape (n, n)."""
        return M

    @abstractmethod
    def bound_terms(self, n_samples: float) -> BoundTerms:
        """The terms of the bound, for `n_samples` rows."""

    def _terms(self, kind: Any, size: float, n_samples: float) -> BoundTerms:
        with np.errstate(over="ignore"):
            size = float(size * n_samples * self.rows.scale * np.float64(self.rows.scale))
        return BoundTerms(n_samples, self.n_components, size, kind, self.rows.is_centred)


class GaussianProjection(LinearSketch):
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
        return self._terms(gaussian_projection_bound, self.rows.squared_norms.sum(), n_samples)


class SparseSketch(LinearSketch):
    """Entries that are 0 except with probability p = 1/sqrt(d), and then +-1/sqrt(s p)."""

    def __init__(self, rows: CentredRows, n_components: int, alpha: float):
        super().__init__(rows.by_columns(), n_components, alpha)

    @property
    def density(self) -> float:
        return 1 / np.sqrt(self.rows.shape[1])

    def draw(self, seed: int) -> tuple[np.ndarray, Any]:
        d, size = self.rows.shape[1], self.n_components
        rng = np.random.default_rng(seed)
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
        return self._terms(gaussian_projection_bound, norms.sum() + excess, n_samples)


class CoordinateSketch(LinearSketch):
    """s of the d variables, drawn without replacement; all of them where s is at least d."""

    def n_distinct(self, n_members: int) -> int:
        return 1 if self.n_components >= self.rows.shape[1] else n_members

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        d = self.rows.shape[1]
        size = min(self.n_components, d)
        rng = np.random.default_rng(seed)
        chosen = np.arange(d) if size == d else rng.choice(d, size, replace=False, shuffle=False)
        design = self.rows.columns(chosen)
        design *= np.sqrt(d / size)
        return design, chosen

    def lift(self, S: np.ndarray, eta: np.ndarray) -> np.ndarray:
        d = self.rows.shape[1]
        coef = np.zeros((d, eta.shape[1]))
        coef[S] = eta * np.sqrt(d / len(S))
        return coef

    def bound_terms(self, n_samples: float) -> BoundTerms:
        d = self.rows.shape[1]
        size = d * self.rows.squared_norms.max(initial=0.0)
        return replace(
            self._terms(coordinate_projection_bound, size, n_samples),
            n_components=min(self.n_components, d),
        )


def _bernoulli_places(rng: np.random.Generator, size: int, probability: float) -> np.ndarray:
    """The indices of the successes of `size` independent trials, in increasing order."""
    places = np.zeros(0, dtype=np.int64)
    last = -1
    while last < size:
        expected = (size - last) * probability
        gaps = rng.geometric(probability, int(expected + 4 * np.sqrt(expected) + 4))
        places = np.concatenate([places, last + np.cumsum(gaps)])
        last = int(places[-1])
    return places[places < size]


LINEAR_SKETCHES: dict[str, Callable[[CentredRows, int, float], LinearSketch]] = {
    "gaussian": GaussianProjection,
    "sparse": SparseSketch,
    "coordinate": CoordinateSketch,
}
