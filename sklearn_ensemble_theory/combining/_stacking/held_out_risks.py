"""Risks of weighted candidates on held-out rows: one class for each loss.

Each has the candidates' losses row by row, the weights that its rules find, and the losses of
mixtures that grow by one candidate, for the greedy selection.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from sklearn_ensemble_theory._numerics.scaling import largest_magnitude, power_of_two
from sklearn_ensemble_theory.combining._stacking.absolute_weights import (
    ABSOLUTE_RULES,
    least_absolute_weights,
)
from sklearn_ensemble_theory.combining._stacking.constrained_squares import (
    SQUARED_RULES,
    residual_factor,
)
from sklearn_ensemble_theory.combining._stacking.mixture_weights import best_mixture

__all__ = ["HELD_OUT_RISKS", "HeldOutRisk"]

SMALLEST_PROBABILITY = np.finfo(np.float64).eps


class HeldOutRisk(ABC):
    """The mean loss of weighted predictions on n held-out rows.

    Parameters
    ----------
    predictions : array of shape (n, k) or (n, k, K)
        Of k candidates: numbers, or probabilities of K classes.
    y : array of shape (n,)
        Targets, or positions of the classes.
    weight : array of shape (n,)
        Of sum 1.
    """

    rules: tuple[str, ...] = ()

    @classmethod
    def largest_loss(cls, of_classes: bool) -> float | None:
        """The largest possible loss, where there is one."""
        return None

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        self.predictions, self.y, self.weight = predictions, y, weight
        self.given = predictions  # as they came, where a loss needs another form of them
        self.unit = 1.0

    @abstractmethod
    def losses(self, mixed: np.ndarray) -> np.ndarray:
        """The losses of the rows of predictions of shape (n, j) or (n, j, K), of shape (n, j)."""

    @abstractmethod
    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        """(the weights of a rule, the bound on the distance of their risk to the minimum)."""

    def candidate_losses(self) -> np.ndarray:
        """The losses of the candidates, of shape (n, k), in units of `unit`."""
        return self.losses(self.predictions)

    def in_units(self, losses: Any) -> Any:
        """Losses in the units of y; inf or 0 beyond the range of floats, without a warning."""
        return losses

    def risks_with_one_more(self, total: np.ndarray, count: int) -> np.ndarray:
        """The risks of (total + candidate j) / (count + 1) for all j."""
        mixed = (total[:, None] + self.predictions) / (count + 1)
        return self.weight @ self.losses(mixed)


class SquaredRisk(HeldOutRisk):
    """Squared differences of numbers, or of probabilities and the indicators of the classes."""

    rules = tuple(SQUARED_RULES)

    @classmethod
    def largest_loss(cls, of_classes: bool) -> float | None:
        return 2.0 if of_classes else None

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        if predictions.ndim == 3:
            super().__init__(predictions, y, weight)
            self.target = np.eye(predictions.shape[2])[y]
            return
        # In units in which squares neither overflow nor vanish.
        unit = power_of_two(max(largest_magnitude(predictions), largest_magnitude(y)))
        super().__init__(predictions / unit, y / unit, weight)
        self.given, self.unit, self.target = predictions, unit, self.y

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        squares = np.square(mixed - self.target[:, None])
        return squares.sum(axis=2) if squares.ndim == 3 else squares

    def in_units(self, losses: Any) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            return losses * self.unit * self.unit

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        P, y, weight = self.predictions, self.target, self.weight
        if P.ndim == 3:  # a row for each row and class
            weight = np.repeat(weight, P.shape[2])
            P, y = P.swapaxes(1, 2).reshape(-1, P.shape[1]), y.ravel()
        factor = residual_factor(P, y, weight)
        v = SQUARED_RULES[rule](factor, radius, positive)
        return v, _squared_gap(factor, v, rule, radius, positive)


class AbsoluteRisk(HeldOutRisk):
    """Absolute differences."""

    rules = ABSOLUTE_RULES

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        unit = power_of_two(max(largest_magnitude(predictions), largest_magnitude(y)))
        super().__init__(predictions / unit, y / unit, weight)
        self.given, self.unit = predictions, unit

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        return np.abs(mixed - self.y[:, None])

    def in_units(self, losses: Any) -> Any:
        return losses * self.unit

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        v, gap = least_absolute_weights(
            self.predictions, self.y, self.weight, rule, radius, positive
        )
        size = float(self.weight @ np.abs(self.y))
        return v, gap / size if size > 0 else gap


class LogRisk(HeldOutRisk):
    """Minus the logarithm of the probability of the class, probabilities at least 2e-16."""

    rules = ("simplex",)

    @classmethod
    def largest_loss(cls, of_classes: bool) -> float | None:
        return float(-np.log(SMALLEST_PROBABILITY))

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        own = predictions[np.arange(len(y)), :, y]
        super().__init__(np.clip(own, SMALLEST_PROBABILITY, 1.0), y, weight)
        self.given = predictions

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        return -np.log(mixed)

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        return best_mixture(self.predictions, self.weight)


HELD_OUT_RISKS = {
    "squared_error": SquaredRisk,
    "absolute_error": AbsoluteRisk,
    "log_loss": LogRisk,
}


def _squared_gap(
    factor: np.ndarray, v: np.ndarray, rule: str, radius: float, positive: bool
) -> float:
    """max <-F'(v), u - v> over the set of weights u, by the mean square of y.

    It bounds F(v) - min F, because F is convex. For "nnls", whose set is not bounded, u has a sum
    of at most twice that of v, or 1.
    """
    E, y = factor[:, :-1], factor[:, -1]
    downhill = 2 * (y[:, None] - E).T @ (E @ v + (1 - v.sum()) * y)
    kept = np.maximum(downhill, 0.0)
    support = {
        "nnls": max(1.0, 2 * v.sum()) * kept.max(),
        "simplex": downhill.max(),
        "l1": radius * (kept if positive else np.abs(downhill)).max(),
        "l2": radius * np.linalg.norm(kept if positive else downhill),
    }[rule]
    size = float(y @ y)
    gap = max(float(support - downhill @ v), 0.0)
    return gap / size if size > 0 else gap
