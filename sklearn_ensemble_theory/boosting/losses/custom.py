"""Custom losses: any object with `value` and `gradient`, completed to a `Loss`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sklearn_ensemble_theory.boosting.losses.base import SMALLEST_PROBABILITY, Array, Loss


class ValueAndGradient(Protocol):
    """The methods that a loss must have."""

    def value(self, y: Array, u: Array) -> Array: ...

    def gradient(self, y: Array, u: Array) -> Array: ...


class UserLoss(Loss):
    """Any object with `value` and `gradient`, completed by the numerical defaults.

    Other attributes and methods of the object with a name of `Loss` replace the defaults.

    Parameters
    ----------
    loss : object with ``value(y, u)`` and ``gradient(y, u)``
    """

    def __init__(self, loss: ValueAndGradient) -> None:
        self.loss = loss

    def _of_loss(self, name: str) -> Any:
        """The object's own attribute or method; the default of `Loss` where it has none."""
        found = getattr(self.loss, name, None)
        return getattr(super(), name) if found is None else found

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

    def check_target(self, y: np.ndarray) -> None:
        self._of_loss("check_target")(y)

    def n_scores(self, n_classes: int) -> int:
        return self._of_loss("n_scores")(n_classes)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        constant = self._of_loss("optimal_constant")(y, sample_weight)
        return float(constant) if np.ndim(constant) == 0 else np.asarray(constant, dtype=float)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return np.asarray(self._of_loss("inverse_link")(u))

    def link(self, mean: np.ndarray) -> np.ndarray:
        own = getattr(self.loss, "link", None)
        if own is None and getattr(self.loss, "inverse_link", None) is not None:
            raise ValueError(
                f"loss: {type(self.loss).__name__} needs a method link(mean), the inverse of its "
                "inverse_link(u), to start from the predictions of an estimator."
            )
        return mean if own is None else own(mean)

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        return self._of_loss("smoothness")

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        return self._of_loss("lipschitz")

    @property
    def margin(self) -> bool:  # type: ignore[override]
        return self._of_loss("margin")

    @property
    def probability(self) -> bool:  # type: ignore[override]
        return self._of_loss("probability")

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        return self._of_loss("differentiable")

    @property
    def link_domain(self) -> tuple[float, float]:  # type: ignore[override]
        inside = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
        return inside if self.probability else self._of_loss("link_domain")


def as_loss(loss: Any) -> Loss:
    """A `Loss`: itself, or any object with `value` and `gradient` completed to one."""
    if isinstance(loss, Loss):
        return loss
    if not all(callable(getattr(loss, name, None)) for name in ("value", "gradient")):
        raise TypeError(f"loss must have the methods value(y, u) and gradient(y, u), got {loss!r}.")
    wrapped = UserLoss(loss)
    if wrapped.probability and not callable(getattr(loss, "inverse_link", None)):
        raise TypeError(
            f"loss: {type(loss).__name__} has probability=True, so it needs a method "
            "inverse_link(u), which returns the probability of the second class."
        )
    return wrapped
