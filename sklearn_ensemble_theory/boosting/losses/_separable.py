"""The loss of several targets: the sum of their losses, one score each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base import Array, Loss, leaf_codes
from ._compiled import compiled_loss
from ._losses import AbsoluteLoss, HuberLoss, QuantileLoss, SquaredLoss

# Their values and gradients are those of numbers, whatever the shape of the arrays.
SEPARABLE = {
    SquaredLoss: "squared_error",
    AbsoluteLoss: "absolute_error",
    HuberLoss: "huber",
    QuantileLoss: "quantile",
}


class SeparableLoss(Loss):
    """l(y, u) = sum_k l_k(y_k, u_k) of losses of one class; targets and scores are (n, q)."""

    def __init__(self, losses: list[Loss]) -> None:
        self.losses = losses

    @classmethod
    def of(cls, loss: Loss, n_targets: int) -> SeparableLoss:
        """The same loss, which must be one of the separable losses, for each target."""
        if type(loss) not in SEPARABLE:
            names = ", ".join(SEPARABLE.values())
            raise ValueError(
                f"loss: y has {n_targets} columns, and {type(loss).__name__} takes one; for "
                f"several targets use one of {names}, or MultiOutputRegressor around this "
                "estimator."
            )
        return cls([loss] * n_targets)

    @property
    def is_quadratic(self) -> bool:  # type: ignore[override]
        return self.losses[0].is_quadratic

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        return self.losses[0].smoothness

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        return float(np.sqrt(sum(loss.lipschitz**2 for loss in self.losses)))

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        return self.losses[0].differentiable

    @property
    def deviance_factor(self) -> float:  # type: ignore[override]
        return self.losses[0].deviance_factor

    def n_scores(self, n_classes: int) -> int:
        return len(self.losses)

    def check_target(self, y: Array) -> None:
        for k, loss in enumerate(self.losses):
            loss.check_target(y[:, k])

    def value(self, y: Array, u: Array) -> Array:
        if self.is_quadratic:
            r = y - u
            return 0.5 * np.einsum("ij,ij->i", r, r)
        found = np.zeros(len(y))
        for k, loss in enumerate(self.losses):
            found += loss.value(y[:, k], u[:, k])
        return found

    def gradient(self, y: Array, u: Array) -> Array:
        if self._is_one:
            return self.losses[0].gradient(y, u)
        found = np.empty(u.shape)
        for k, loss in enumerate(self.losses):
            found[:, k] = loss.gradient(y[:, k], u[:, k])
        return found

    def hessian(self, y: Array, u: Array) -> Array | None:
        return np.ones_like(u) if self.is_quadratic else None

    @property
    def _is_one(self) -> bool:
        """Whether all targets have the same loss, with the same parameters."""
        return all(loss is self.losses[0] for loss in self.losses)

    def adapted(self, y: Array, u: Array, sample_weight: Array | None = None) -> SeparableLoss:
        if getattr(self.losses[0], "quantile", None) is None or self.differentiable is False:
            return self
        columns = enumerate(self.losses)
        return SeparableLoss([loss.adapted(y[:, k], u[:, k], sample_weight) for k, loss in columns])

    def optimal_constant(self, y: Array, sample_weight: Array | None = None) -> Any:
        return self._of_each("optimal_constant", y, sample_weight)

    def initial_scores(self, y: Array, sample_weight: Array | None, n_classes: int) -> Any:
        return self._of_each("initial_scores", y, sample_weight, 0)

    def _of_each(self, method: str, y: Array, *arguments: Any) -> Array:
        columns = [np.ascontiguousarray(y[:, k]) for k in range(len(self.losses))]
        return np.array(
            [getattr(loss, method)(y, *arguments) for loss, y in zip(self.losses, columns)]
        )

    def leaf_values(
        self,
        y: Array,
        u: Array,
        weight: Array,
        leaf: Array,
        n_leaves: int,
        score: int | None = None,
    ) -> Array:
        assert score is not None
        loss = self.losses[score]
        y, u = np.ascontiguousarray(y[:, score]), np.ascontiguousarray(u[:, score])
        loops = compiled_loss(loss)
        known = None if loops is None else loops.known_targets(y)
        if loops is None or known is None or not loops.takes(u, len(y)):
            return loss.leaf_values(y, u, weight, leaf, n_leaves)
        arrays = (known, u, np.ascontiguousarray(weight), -loss.gradient(y, u))
        return loops.leaf_values(arrays, leaf_codes(leaf), n_leaves, 0, 1)
