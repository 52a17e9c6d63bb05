"""Rounds of the second order: weak learners are fitted to Newton steps of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._hot_loops.array_loops import inner
from sklearn_ensemble_theory.boosting._core.risk import Array, EmpiricalRisk, RiskState

__all__ = ["LEAST_CURVATURE", "SecondOrderRisk"]

# No leaf of a tree has less curvature, in units of the user's weights. The bound of
# HistGradientBoosting and LightGBM.
LEAST_CURVATURE = 1e-3
# No target is larger than so many times the mean of their sizes; and no weight is below this share
# of the mean, so that weights are positive where the curvature of a row underflows.
LARGEST_TARGET, SMALLEST_WEIGHT = 1e4, 1e-10


class SecondOrderRisk(EmpiricalRisk):
    """The empirical risk, with the second derivatives h of the losses in the weights.

    The target of a row is its Newton step -g/h, and its weight w h, so that the weighted mean in a
    leaf is the Newton step of the leaf, -sum w g / sum w h (Friedman, Hastie and Tibshirani 2000).
    Weights of rows are those of the user, 1 by default; for several scores they have a column for
    each. The product of weight and target is -F'(u) up to `scale`, as in the first order.

    Where h is close to 0 it is replaced by a larger number in both places, which leaves the product
    as it is. A row with a step far beyond those of the others would otherwise determine how
    targets are rounded in the search for splits. LogitBoost bounds the target alone, by 4, which
    changes the gradient that the learner sees, and is no bound for scores in other units.

    Raises
    ------
    ValueError
        If the loss has no second derivative; from `at`, if that is negative, or 0 in all rows while
        the first one is not.
    """

    def __init__(
        self, loss: Any, y: NDArray[Any], sample_weight: Array | None = None, n_threads: int = 1
    ) -> None:
        super().__init__(loss, y, sample_weight, n_threads)
        self.user_weight = sample_weight
        self.total = float(len(y) if sample_weight is None else np.sum(sample_weight))

    @classmethod
    def check(cls, loss: Any, y: NDArray[Any], n_scores: int) -> None:
        """Raise the ValueError for a loss without second derivative."""
        shape = (1,) if n_scores == 1 else (1, n_scores)
        if loss.hessian(y[:1], np.zeros(shape)) is None:
            raise ValueError(
                f"second_order=True requires a loss with a second derivative; {_name(loss)} has "
                "none."
            )

    def at(self, u: Array) -> RiskState:
        """The `RiskState` at the scores u."""
        value, first, _, _ = super().at(u)
        second = self._curvatures(u, first)
        target = first / second
        if self.user_weight is not None:
            second *= self.user_weight if u.ndim == 1 else self.user_weight[:, None]
        return RiskState(value, target, second, 1.0 / self.total)

    def _curvatures(self, u: Array, first: Array) -> Array:
        """The second derivatives, a new array; see the class for the smallest ones."""
        second = self._known_curvatures(u, first)
        if second is None:
            second = np.array(self.loss.hessian(self.y, u), dtype=np.float64)
        if not second.min() >= 0:
            raise ValueError(
                f"second_order=True requires a convex loss; the second derivative of "
                f"{_name(self.loss)} is negative or NaN in some rows."
            )
        size = np.abs(first)
        mean, mean_size = self._mean(second), self._mean(size)
        if mean == 0:
            if mean_size > 0:
                raise ValueError(
                    f"second_order=True requires a loss with a second derivative; that of "
                    f"{_name(self.loss)} is 0 in all rows."
                )
            return np.ones_like(second)
        if mean_size > 0:
            with np.errstate(over="ignore"):
                ratio = mean / (LARGEST_TARGET * mean_size)
            if np.isfinite(ratio):
                size *= ratio
            else:  # derivatives that are nearly 0
                size = size / mean_size * (mean / LARGEST_TARGET)
            np.maximum(second, size, out=second)
        return np.maximum(second, SMALLEST_WEIGHT * mean, out=second)

    def _known_curvatures(self, u: Array, first: Array) -> Array | None:
        # They are only inexact where they are far below the first derivative, and replaced.
        loops = self._compiled
        return loops.hessian(first) if loops is not None and loops.takes(u, len(self.y)) else None

    def _mean(self, values: Array) -> float:
        """The mean over rows and scores under the sample weights."""
        if values.ndim == 1:
            return inner(self.weight, values)
        return inner(self.weight, values.mean(axis=1))


def _name(loss: Any) -> str:
    return type(getattr(loss, "loss", loss)).__name__
