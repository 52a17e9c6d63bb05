"""Random features: nonlinear projections, by cosines, rectified linear units or a transformer."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import gen_batches

from sklearn_ensemble_theory._running import random_state_names
from sklearn_ensemble_theory._scaling import largest_magnitude, power_of_two
from sklearn_ensemble_theory.bounds import random_features_bound

from ._linear_projections import BoundTerms, Projection

# The features of so many (row, unit) pairs are computed at a time.
_BLOCK = 1 << 21
# Weights of features of smaller numbers overflow.
SMALLEST_SCALE = 1e-300
TOO_SMALL = "X is so small that the weights of random features overflow; scale X."
_ACTIVATIONS: dict[str, Any] = {"cos": np.cos, "relu": lambda Z, out: np.maximum(Z, 0.0, out=out)}


def _outputs_of_units(X: Any, W: np.ndarray, b: np.ndarray, activation: str) -> np.ndarray:
    """activation(x'W + b): shape (n, number of units)."""
    Z = np.asarray(X @ W)
    Z += b
    return np.asarray(_ACTIVATIONS[activation](Z, out=Z))


@dataclass(frozen=True)
class UnitsModel:
    """x -> activation(x'W + b)'eta - offset, with the units of all members side by side."""

    activation: str
    W: np.ndarray
    b: np.ndarray
    eta: np.ndarray
    offset: np.ndarray
    is_linear: ClassVar[bool] = False

    @classmethod
    def average(cls, activation: str, members: Iterator, n_members: int) -> Self:
        """Return the average of members (W, b, mean of the features, eta)."""
        # Side by side, the units of all members are one product with the rows.
        W, b, mean, eta = zip(*members)
        offset = sum(m @ e for m, e in zip(mean, eta)) / n_members
        stacked = np.concatenate(eta) / n_members
        return cls(activation, np.hstack(W), np.concatenate(b), stacked, np.asarray(offset))

    def __call__(self, X: Any) -> np.ndarray:
        out = np.empty((X.shape[0], self.eta.shape[1]))
        # In blocks of rows: the units of all members at all rows may be far larger than X.
        for part in gen_batches(X.shape[0], max(1, _BLOCK // len(self.b))):
            out[part] = _outputs_of_units(X[part], self.W, self.b, self.activation) @ self.eta
        return out - self.offset


@dataclass(frozen=True)
class TransformersModel:
    """The mean over members of transform(x)'eta - offset."""

    members: list[tuple[Any, np.ndarray, np.ndarray]]
    is_linear: ClassVar[bool] = False

    def __call__(self, X: Any) -> np.ndarray:
        total: Any = 0.0
        for transformer, mean, eta in self.members:
            total = total + (_array(transformer.transform(X)) - mean) @ eta
        return np.asarray(total / len(self.members))


class RandomFeatures(Projection):
    """A random nonlinear map to features of rows whose weights are positive, with sum 1."""

    def __init__(self, X: Any, weight: np.ndarray, fit_intercept: bool):
        self.X, self.weight, self.root = X, weight, np.sqrt(weight)
        self.fit_intercept = fit_intercept

    def lift(self, S: Any, eta: np.ndarray) -> Any:
        return (*S, eta)

    def _design(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The features about their weighted means, times the roots of the weights; the means."""
        mean = np.zeros(features.shape[1])
        # An intercept is a fit about the means; what is left of a constant feature is rounding.
        if self.fit_intercept:
            mean = self.weight @ features
            features = features - mean
            constant = np.abs(features).max(axis=0) <= 1e-13 * np.abs(mean)
            features[:, constant] = 0.0
        return self.root[:, None] * features, mean


class _Units(RandomFeatures):
    """s features activation(x'w + b) with random w and b."""

    activation: ClassVar[str]

    def __init__(self, X: Any, weight: np.ndarray, fit_intercept: bool, n_components: int):
        super().__init__(X, weight, fit_intercept)
        self.n_components = n_components

    @abstractmethod
    def units(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """W of shape (d, s) and b of shape (s,)."""

    @property
    @abstractmethod
    def amplitude(self) -> float:
        """What the units are multiplied by; the kernel is the mean of the squares times s."""

    @property
    @abstractmethod
    def squared_radius(self) -> float:
        """R^2: the largest possible mean square of a feature over the rows, times s."""

    def draw(self, seed: int) -> tuple[np.ndarray, Any]:
        W, b = self.units(np.random.default_rng(seed))
        features = self.amplitude * _outputs_of_units(self.X, W, b, self.activation)
        design, mean = self._design(features)
        return design, (W, b, mean)

    def combine(self, lifted: Iterator, n_members: int) -> UnitsModel:
        # The amplitude moves into the coefficients, so that predictions need not multiply the
        # units.
        scaled = ((W, b, mean / self.amplitude, self.amplitude * e) for W, b, mean, e in lifted)
        return UnitsModel.average(self.activation, scaled, n_members)

    def bound_terms(self, n_samples: float) -> BoundTerms:
        return BoundTerms(
            n_samples,
            self.n_components,
            self.squared_radius,
            random_features_bound,
            self.fit_intercept,
        )


class FourierFeatures(_Units):
    """sqrt(2/s) cos(w'x + b): E[phi(x)'phi(x')] = exp(-gamma ||x - x'||^2)."""

    activation = "cos"

    def __init__(
        self,
        X: Any,
        weight: np.ndarray,
        fit_intercept: bool,
        n_components: int,
        root_gamma: float,
    ):
        super().__init__(X, weight, fit_intercept, n_components)
        self.root_gamma = root_gamma

    amplitude = property(lambda self: np.sqrt(2 / self.n_components))
    squared_radius = property(lambda self: 2.0)

    def units(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        W = rng.standard_normal((self.X.shape[1], self.n_components))
        W *= np.sqrt(2) * self.root_gamma
        return W, rng.uniform(0, 2 * np.pi, self.n_components)


class ReLUFeatures(_Units):
    """Rectified linear units of z = (x - mean) / rms with (w, b) uniform on a sphere.

    rms is the root mean square distance of the rows from their mean, and the radius of the sphere
    sqrt(2 (d + 1)), so that the kernel on the diagonal is ||z||^2 + 1.
    """

    activation = "relu"

    def __init__(self, X: Any, weight: np.ndarray, fit_intercept: bool, n_components: int):
        super().__init__(X, weight, fit_intercept, n_components)
        size = _magnitude(X)  # squares in this unit neither overflow nor vanish
        scaled = X / size
        mean = np.asarray(scaled.T @ weight)
        if sp.issparse(X):
            squares = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
            # Multiplied out, as differences from the mean would be dense.
            squares = np.maximum(squares - 2 * (scaled @ mean) + mean @ mean, 0.0)
        else:
            squares = np.square(scaled - mean).sum(axis=1)
        spread = np.sqrt(weight @ squares)
        # No spread: all rows are equal to rounding, and the units are those of z = 0.
        self.mean, self.rms = mean * size, (spread if spread > 1e-13 else 1.0) * size

    amplitude = property(lambda self: 1 / np.sqrt(self.n_components))
    # The mean over the rows of (v'z)^2 with ||v||^2 = 2 (d + 1), and a mean of ||z||^2 of 2.
    squared_radius = property(lambda self: 4.0 * (self.X.shape[1] + 1))

    def units(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        d = self.X.shape[1]
        directions = rng.standard_normal((d + 1, self.n_components))
        directions *= np.sqrt(2 * (d + 1)) / np.linalg.norm(directions, axis=0)
        if not self.rms > SMALLEST_SCALE:
            raise ValueError(TOO_SMALL)
        W = directions[:d] / self.rms
        # The rows are centred by the bias: X is used as it is, sparse or not.
        return W, directions[d] - self.mean @ W


class TransformerFeatures(RandomFeatures):
    """The output of a clone of a transformer, each with its own `random_state`."""

    def __init__(self, X: Any, weight: np.ndarray, fit_intercept: bool, transformer: Any):
        super().__init__(X, weight, fit_intercept)
        self.transformer = transformer

    def draw(self, seed: int) -> tuple[np.ndarray, Any]:
        # Nested transformers too, in a fixed order of their parameters.
        transformer = clone(self.transformer)
        rng = np.random.RandomState(seed)
        names = random_state_names(transformer)
        transformer.set_params(**{name: int(rng.randint(2**31 - 1)) for name in names})
        design, mean = self._design(_array(transformer.fit(self.X).transform(self.X)))
        return design, (transformer, mean)

    def combine(self, lifted: Iterator, n_members: int) -> TransformersModel:
        return TransformersModel(list(lifted))

    def bound_terms(self, n_samples: float) -> None:
        return None


def check_random(transformer: Any) -> None:
    """ValueError where all clones of the transformer would be the same."""
    if not random_state_names(transformer):
        raise ValueError(
            f"projection={type(transformer).__name__} has no parameter random_state, so all "
            "members would be the same; use it as the first step of a Pipeline instead."
        )


def scale_root_gamma(X: Any, weight: np.ndarray) -> float:
    """1 / sqrt(d times the variance of all values of X), as gamma="scale" of scikit-learn's SVC."""
    size = _magnitude(X)
    if sp.issparse(X):
        scaled = X / size
        mean = float((scaled.T @ weight).mean())
        variance = float((scaled.multiply(scaled).T @ weight).mean()) - mean**2
    else:
        mean = float((weight @ (X / size)).mean())
        variance = float((weight @ np.square(X / size - mean)).mean())
    # Constant features, to rounding: any gamma would do.
    if not variance > 1e-26:
        return 1.0
    if not size > SMALLEST_SCALE:
        raise ValueError(TOO_SMALL)
    return float(1 / np.sqrt(X.shape[1] * variance) / size)


def _magnitude(X: Any) -> float:
    return power_of_two(largest_magnitude(X.data if sp.issparse(X) else X))


def _array(features: Any) -> np.ndarray:
    features = features.toarray() if sp.issparse(features) else features
    return np.asarray(features, dtype=np.float64)
