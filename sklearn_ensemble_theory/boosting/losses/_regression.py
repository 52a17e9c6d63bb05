"""Losses of real targets: squared, absolute, quantile, Huber and Poisson."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Any

import numpy as np

from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory._roots import group_sums, root_of_jumps
from sklearn_ensemble_theory._scaling import mean_from_first

from ._base import (
    Array,
    Loss,
    bounded_exp,
    poisson_steps,
)
from ._compiled import (
    FLAT_TOLERANCE,
    CompiledLoss,
    compiled_loss,
    huber_loops,
    kink_loops,
    middle_of_flat,
    poisson_loops,
    squared_loops,
)


class SquaredLoss(Loss):
    """l(y, u) = (y - u)² / 2, with G2 = 1 [Bach, §10.3.1].

    The factor 1/2 makes the negative gradient the residual.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.boosting.losses import SquaredLoss
    >>> loss = SquaredLoss()
    >>> loss.value(np.array([1.0, 2.0]), np.array([0.0, 0.0]))
    array([0.5, 2. ])
    >>> loss.smoothness, loss.lipschitz
    (1.0, inf)
    """

    smoothness = 1.0
    is_quadratic = True
    _constant_of_mean = True
    _deviance_factor = 2.0

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return 0.5 * (y - u) ** 2

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return u - y

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.ones_like(u)

    def line_search(
        self,
        y: np.ndarray,
        u: np.ndarray,
        psi: np.ndarray,
        weight: np.ndarray,
        group: np.ndarray | None = None,
        n_groups: int = 1,
    ) -> np.ndarray:
        size = np.max(np.abs(psi), initial=0.0)
        if size == 0:
            return np.zeros(n_groups)
        psi = psi / size  # so that the squares neither overflow nor vanish
        num = group_sums(weight * (y - u) * psi, group, n_groups)
        den = group_sums(weight * psi**2, group, n_groups)
        return np.where(den > 0, num / np.where(den > 0, den, 1.0), 0.0) / size

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return float(mean_from_first(y, sample_weight))

    def _compiled(self) -> CompiledLoss:
        return squared_loops()


class PiecewiseLinearLoss(Loss):
    """Losses with one kink, linear on both sides: every line search is a weighted quantile."""

    differentiable = False

    def kinks(self, y: Array) -> tuple[Array, Any, Any]:
        """Position of the kink of each row and the slopes on its left and right."""
        raise NotImplementedError

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        at, left, right = self.kinks(y)
        return np.where(u < at, left, right) * (u - at)

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        # A subgradient: the middle of the two slopes at the kink itself.
        at, left, right = self.kinks(y)
        return np.where(u < at, left, np.where(u > at, right, (left + right) / 2))

    def line_search(
        self,
        y: np.ndarray,
        u: np.ndarray,
        psi: np.ndarray,
        weight: np.ndarray,
        group: np.ndarray | None = None,
        n_groups: int = 1,
    ) -> np.ndarray:
        at, left, right = (np.broadcast_to(part, np.shape(u)) for part in self.kinks(y))
        moving = psi != 0
        position = (at - u) / np.where(moving, psi, 1.0)
        jump = np.where(moving, weight * np.abs(psi) * (right - left), 0.0)
        # At b = -inf a row with psi > 0 is left of its kink, one with psi < 0 right of it.
        start = group_sums(weight * psi * np.where(psi > 0, left, right), group, n_groups)
        return root_of_jumps(position, jump, start, group, n_groups)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        loops = compiled_loss(self)
        known = None if loops is None else loops.known_targets(y)
        if loops is None or known is None:
            return super().optimal_constant(y, sample_weight)
        # All rows are one leaf: without the sort of all rows.
        weight = np.ones(1) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        arrays = (known, np.zeros(len(y)), np.ascontiguousarray(weight), known)
        leaf = np.zeros(len(y), dtype=np.uint16)
        return float(loops.leaf_values(arrays, leaf, 1, None, ThreadTeam(1))[0])


class AbsoluteLoss(PiecewiseLinearLoss):
    """l(y, u) = |y - u|, with G1 = 1; the optimal constant is the weighted median."""

    lipschitz = 1.0

    def kinks(self, y: np.ndarray) -> tuple[Any, Any, Any]:
        return y, -1.0, 1.0

    def _compiled(self) -> CompiledLoss:
        return kink_loops(-1.0, 1.0, -1.0, 1.0)


class QuantileLoss(PiecewiseLinearLoss):
    """l(y, u) = q (y - u)+ + (1 - q) (u - y)+; the optimal constant is the weighted q-quantile.

    Parameters
    ----------
    quantile : float, default=0.5
        q, strictly between 0 and 1.
    """

    def __init__(self, quantile: float = 0.5) -> None:
        self.quantile = quantile

    @classmethod
    def _of_alpha(cls, alpha: float) -> QuantileLoss:
        return cls(alpha)

    def check_target(self, y: np.ndarray) -> None:
        if not (isinstance(self.quantile, Real) and 0 < self.quantile < 1):
            raise ValueError(f"quantile must be strictly between 0 and 1, got {self.quantile!r}.")

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        return max(self.quantile, 1 - self.quantile)

    def kinks(self, y: np.ndarray) -> tuple[Any, Any, Any]:
        return y, -self.quantile, 1 - self.quantile

    def _compiled(self) -> CompiledLoss:
        slopes = -float(self.quantile), 1 - float(self.quantile)
        return kink_loops(*slopes, *slopes)


class HuberLoss(Loss):
    """Half the square up to `delta`, linear beyond: G2 = 1, G1 = delta.

    Parameters
    ----------
    delta : float, default=1.0
        Residual, in units of y, at which the square turns into a line.
    quantile : float, default=None
        If given, gradient boosting sets delta before every round to this quantile of the absolute
        residuals, and starts from the median (Friedman 2001, algorithm 4).
    """

    smoothness = 1.0

    def __init__(self, delta: float = 1.0, quantile: float | None = None) -> None:
        self.delta = delta
        self.quantile = quantile

    @classmethod
    def _of_alpha(cls, alpha: float) -> HuberLoss:
        return cls(quantile=alpha)

    def check_target(self, y: np.ndarray) -> None:
        if not (isinstance(self.delta, Real) and 0 < self.delta < np.inf):
            raise ValueError(f"delta must be a positive number, got {self.delta!r}.")
        q = self.quantile
        if q is not None and not (isinstance(q, Real) and 0 < q < 1):
            raise ValueError(f"quantile must be strictly between 0 and 1, got {self.quantile!r}.")

    def adapted(
        self, y: np.ndarray, u: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> HuberLoss:
        """Return the loss for a round that starts from the scores u.

        Parameters
        ----------
        y, u : ndarray of shape (n,)
            Targets and scores.
        sample_weight : ndarray of shape (n,), default=None
            Weights of the rows; equal weights by default.

        Returns
        -------
        loss : HuberLoss
            With the delta of `quantile`; the loss itself without it.
        """
        if self.quantile is None:
            return self
        found = copy(self)
        found.delta = lower_quantile(np.abs(y - u), self.quantile, sample_weight)
        return found

    def initial_scores(
        self, y: np.ndarray, sample_weight: np.ndarray | None, n_classes: int
    ) -> Any:
        loss = self if self.quantile is None else AbsoluteLoss()
        return loss.optimal_constant(y, sample_weight)

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        return self.delta

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        r = np.abs(y - u)
        near = np.minimum(r, self.delta)
        return near * (r - near / 2)

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.clip(u - y, -self.delta, self.delta)

    def leaf_values(
        self,
        y: np.ndarray,
        u: np.ndarray,
        weight: np.ndarray,
        leaf: np.ndarray,
        n_leaves: int,
        score: int | None = None,
    ) -> np.ndarray:
        # Where the minimum is an interval, its middle: the same by every route.
        steps = super().leaf_values(y, u, weight, leaf, n_leaves, score)
        near = np.abs(y - u - steps[leaf]) < self.delta * (1 - FLAT_TOLERANCE)
        flat = np.bincount(leaf[near], minlength=n_leaves) == 0
        return middle_of_flat(self.delta, y - u, leaf, steps, flat)

    def _compiled(self) -> CompiledLoss:
        return huber_loops(float(self.delta))


def lower_quantile(values: Array, q: float, weight: Array | None) -> float:
    """The smallest value at or below which there is a share q of the weight. O(n log n)."""
    n = len(values)
    slack = 1e-12  # q * n is not exact
    if weight is None or weight.min() == weight.max():
        place = min(max(int(np.ceil(q * n * (1 - slack))), 1), n) - 1
        return float(np.partition(values, place)[place])
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    place = min(int(np.searchsorted(below, q * below[-1] * (1 - slack))), n - 1)
    return float(values[order[place]])


class PoissonLoss(Loss):
    """l(y, u) = exp(u) - y u, the Poisson likelihood with logarithmic link, for y >= 0."""

    link_domain = (float(np.finfo(float).eps), np.inf)
    _constant_of_mean = True

    def check_target(self, y: np.ndarray) -> None:
        if np.min(y, initial=0) < 0 or not np.max(y, initial=0) > 0:
            raise ValueError("PoissonLoss requires non-negative targets y that are not all zero.")

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(u) - y * u

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(u) - y

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(u)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return bounded_exp(u)

    def link(self, mean: np.ndarray) -> np.ndarray:
        return np.log(mean)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return float(np.log(np.average(y, weights=sample_weight)))

    def leaf_values(
        self,
        y: np.ndarray,
        u: np.ndarray,
        weight: np.ndarray,
        leaf: np.ndarray,
        n_leaves: int,
        score: int | None = None,
    ) -> np.ndarray:
        events = group_sums(weight * y, leaf, n_leaves)
        return poisson_steps(events, group_sums(weight * bounded_exp(u), leaf, n_leaves))

    def leaf_terms(self, y: np.ndarray, u: np.ndarray, score: int | None = None) -> tuple | None:
        return y, bounded_exp(u)

    def leaf_steps(self, first: np.ndarray, second: np.ndarray, total: np.ndarray) -> np.ndarray:
        return poisson_steps(first, second)

    def _compiled(self) -> CompiledLoss:
        return poisson_loops()
