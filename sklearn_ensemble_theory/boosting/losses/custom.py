"""Custom losses: any object with `value` and `gradient`, completed to a `Loss`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sklearn_ensemble_theory.boosting.losses.base import SMALLEST_PROBABILITY, Array, Loss


class ValueAndGradient(Protocol):
    """The methods that a loss must have."""

    def value(self, y: Array, u: Array) -> Array: ...

    def gradient(self, y: Array, u: Array) -> Array: ...


# What a `UserLoss` takes from the object as it is.
FROM_THE_OBJECT = (
    "check_target",
    "class_probabilities",
    "differentiable",
    "initial_scores",
    "is_quadratic",
    "leaf_values",
    "line_search",
    "lipschitz",
    "margin",
    "n_scores",
    "probability",
    "risk",
    "scores_from",
    "smoothness",
)


class UserLoss(Loss):
    """Any object with `value` and `gradient`, completed by the numerical defaults.

    Other attributes and methods of the object with a name of `Loss` replace the defaults.

    Parameters
    ----------
    loss : object with ``value(y, u)`` and ``gradient(y, u)``
    """

    def __init__(self, loss: ValueAndGradient) -> None:
        self.loss = loss
        for name in FROM_THE_OBJECT:
            own = getattr(loss, name, None)
            if own is not None:
                setattr(self, name, own)

    def _checked(self, name: str, y: Array, u: Array, shape: tuple[int, ...]) -> Array:
        result = np.asarray(getattr(self.loss, name)(y, u), dtype=float)
        if result.shape != shape:
            raise ValueError(
                f"loss: {type(self.loss).__name__}.{name}(y, u) must have shape "
                f"{shape}, got {result.shape}."
            )
        return result

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self._checked("value", y, u, (len(y),))

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self._checked("gradient", y, u, np.shape(u))

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray | None:
        if getattr(self.loss, "hessian", None) is None:
            return None
        return self._checked("hessian", y, u, np.shape(u))

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        own = getattr(self.loss, "optimal_constant", None) or super().optimal_constant
        constant = own(y, sample_weight)
        return float(constant) if np.ndim(constant) == 0 else np.asarray(constant, dtype=float)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        own = getattr(self.loss, "inverse_link", None)
        return u if own is None else np.asarray(own(u))

    def link(self, mean: np.ndarray) -> np.ndarray:
        own = getattr(self.loss, "link", None)
        if own is None and getattr(self.loss, "inverse_link", None) is not None:
            raise ValueError(
                f"loss: {type(self.loss).__name__} needs a method link(mean), the inverse of its "
                "inverse_link(u), to start from the predictions of an estimator."
            )
        return mean if own is None else own(mean)

    @property
    def link_domain(self) -> tuple[float, float]:  # type: ignore[override]
        inside = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
        own = getattr(self.loss, "link_domain", None)
        return own or (inside if self.probability else Loss.link_domain)


def as_loss(loss: Any) -> Loss:
    """A `Loss`: itself, or any object with `value` and `gradient` completed to one."""
    if not all(callable(getattr(loss, method, None)) for method in ("value", "gradient")):
        raise TypeError(f"loss must have the methods value(y, u) and gradient(y, u), got {loss!r}.")
    own_link = getattr(type(loss), "inverse_link", None) is not Loss.inverse_link
    if getattr(loss, "probability", False) and not (
        own_link and callable(getattr(loss, "inverse_link", None))
    ):
        raise TypeError(
            f"loss: {type(loss).__name__} has probability=True, so it needs a method "
            "inverse_link(u), which returns the probability of the second class."
        )
    return loss if isinstance(loss, Loss) else UserLoss(loss)
