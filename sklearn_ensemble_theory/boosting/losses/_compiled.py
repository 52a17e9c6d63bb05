"""The compiled loops of a loss: its value and gradient in one pass, and its leaf values.

A loss that has them defines a method ``_compiled()``, which returns an instance of `CompiledLoss`.
A subclass does not inherit it, because it may override what the loops compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._native.losses import Loss, huber_slopes, residual_ranges
from ._base import Array, bounded_steps

# Newton's method for the leaves of Huber's loss ends where no step would change by a larger share.
HUBER_TOLERANCE = 1e-14
MAX_HUBER_STEPS = 200
# Rows whose distance from delta is less than this share of it count as rows at delta.
FLAT_TOLERANCE = 1e-9

# y, u, weight and target, as the loops take them: C-contiguous, `y` of doubles or of 64-bit codes.
# `weight` has one entry where all rows weigh the same.
Arrays = tuple[Array, Array, Array, Array]


class CompiledLoss:
    """The loops of a loss; the arguments are those of `_native.losses.Loss`."""

    # Whether the targets are the codes of classes, and a row has a score for each class.
    takes_codes = False
    # Whether its loops are enough for rounds of boosting.
    boosts = True

    def __init__(self, kind: str, **options: Any) -> None:
        self.kind = kind
        self.loops: Any = Loss(kind, **options)

    def known_targets(self, y: Array) -> Array | None:
        """Targets in the type of the loops; None where they do not take them."""
        kinds, dtype = ("iu", np.int64) if self.takes_codes else ("fiu", np.float64)
        if y.ndim != 1 or not len(y) or y.dtype.kind not in kinds:
            return None
        return np.ascontiguousarray(y, dtype=dtype)

    def takes(self, u: Array, n: int) -> bool:
        """Whether the scores are those of n rows."""
        return u.shape == (n,) and u.dtype == np.float64

    def value(self, arrays: Arrays, n_threads: int) -> float:
        """F(u) for weights of sum 1; fills in the target."""
        y, u, weight, target = arrays
        return float(self.loops.value(y, u.ravel(), weight, target.ravel(), n_threads))

    def leaf_values(
        self,
        arrays: Arrays,
        leaf: Array,
        n_leaves: int,
        score: int,
        n_threads: int,
        *,
        rate: float = 1.0,
        longest: float = np.inf,
    ) -> Array:
        """What `Loss.leaf_values` returns; steps above `longest` are shortened if need be."""
        y, u, weight, target = arrays
        steps = np.empty(n_leaves)
        self.loops.leaf_steps(
            y, u.ravel(), weight, target, leaf, score, steps, rate, longest, n_threads
        )
        return steps

    def leaf_sums(
        self, arrays: Arrays, leaf: Array, n_leaves: int, score: int, n_threads: int
    ) -> Array:
        """The sums of `Loss.leaf_terms` and of the weights in each leaf, of shape (n_leaves, 3)."""
        y, u, weight, target = arrays
        sums = np.zeros((n_leaves, 3))
        self.loops.add_leaf_sums(y, u.ravel(), weight, target, leaf, score, sums, n_threads)
        return sums

    def hessian(self, u: Array, target: Array, n_threads: int) -> Array | None:
        """The second derivatives by the negative gradient, to rounding of 1; None for none."""
        if self.kind in ("huber", "kink"):
            return None
        second = np.empty(u.shape)
        self.loops.curvatures(np.ascontiguousarray(u), target, second, n_threads)
        return second


def compiled_loss(loss: Any) -> CompiledLoss | None:
    """The compiled loops that the class of a loss defines itself, or None."""
    if "_compiled" not in vars(type(loss)):
        return None
    return loss._compiled()


# --- kinds of losses ------------------------------------------------------------------------------


class LogLoops(CompiledLoss):
    def shortened_steps(
        self,
        arrays: Arrays,
        leaf: Array,
        steps: Array,
        score: int,
        n_threads: int,
        rate: float,
        longest: float,
    ) -> Array:
        """Steps of leaves of a class; those above `longest` are shortened if need be."""
        y, u, weight, target = arrays
        found = steps.copy()
        self.loops.shorten_steps(
            y, u.ravel(), weight, target, leaf, score, found, rate, longest, n_threads
        )
        # With the logarithm of `lowering_steps`, to the bit.
        return np.where(found == steps, steps, bounded_steps(steps))

    def hessian(self, u: Array, target: Array, n_threads: int) -> Array | None:
        # p (1 - p), where the negative gradient is 1 - p or -p.
        size = np.abs(target)
        second = 1.0 - size
        second *= size
        return np.maximum(second, 0.0, out=second)


class MultinomialLoops(LogLoops):
    takes_codes = True
    largest_code = -1

    def __init__(self) -> None:
        super().__init__("multinomial")

    def known_targets(self, y: Array) -> Array | None:
        codes = super().known_targets(y)
        if codes is None or codes.min() < 0:
            return None
        self.largest_code = int(codes.max())
        return codes

    def takes(self, u: Array, n: int) -> bool:
        fits = u.ndim == 2 and u.shape[0] == n and u.shape[1] > self.largest_code
        return fits and u.dtype == np.float64

    def leaf_sums(
        self, arrays: Arrays, leaf: Array, n_leaves: int, score: int, n_threads: int
    ) -> Array:
        sums = super().leaf_sums(arrays, leaf, n_leaves, score, n_threads)
        n_classes = arrays[1].shape[1]
        sums[:, 0] *= (n_classes - 1) / n_classes  # the scores that are free
        return sums


class HuberLoops(CompiledLoss):
    boosts = False  # delta changes with the rounds

    def __init__(self, delta: float) -> None:
        super().__init__("huber", delta=delta)
        self.delta = delta

    def leaf_values(
        self, arrays: Arrays, leaf: Array, n_leaves: int, score: int, n_threads: int, **_: float
    ) -> Array:
        """Newton's method on the derivative, which is piecewise linear, inside brackets."""

        def slopes(delta: float, steps: Array) -> Array:
            sums = np.zeros((n_leaves, 2))
            huber_slopes(y, u, weight, leaf, delta, steps, sums, n_threads)
            return sums.T

        y, u, weight, _ = arrays
        low, high = np.empty(n_leaves), np.empty(n_leaves)
        residual_ranges(y, u, leaf, low, high)
        low, high = np.where(low <= high, (low, high), 0.0)
        steps = np.clip(0.0, low, high)
        settled = np.zeros(n_leaves, dtype=bool)
        for _ in range(MAX_HUBER_STEPS):
            slope, curvature = slopes(self.delta, steps)
            low, high = np.where(slope < 0, steps, low), np.where(slope > 0, steps, high)
            safe = np.where(curvature > 0, curvature, 1.0)
            change = np.where(curvature > 0, -slope / safe, np.inf)
            settled |= (slope == 0) | (np.abs(change) <= HUBER_TOLERANCE * np.abs(steps))
            trial = steps + change
            inside = (trial > low) & (trial < high)
            trial = np.where(inside, trial, low + (high - low) / 2)
            settled |= (trial == low) | (trial == high)
            if settled.all():
                break
            steps = np.where(settled, steps, trial)
        _, near = slopes(self.delta * (1 - FLAT_TOLERANCE), steps)
        return middle_of_flat(self.delta, y - u, leaf, steps, near == 0)


def middle_of_flat(delta: float, residual: Array, leaf: Array, steps: Array, flat: Array) -> Array:
    """Steps that minimise Huber's risk, moved to the middle of the `flat` interval that does."""
    rows = np.flatnonzero(flat[leaf])
    if not len(rows):
        return steps
    leaf, residual = leaf[rows], residual[rows]
    slack = FLAT_TOLERANCE * (delta + np.abs(steps))[leaf]
    start, stop = residual + delta, residual - delta
    low, high = np.full(len(steps), -np.inf), np.full(len(steps), np.inf)
    before, after = start <= steps[leaf] + slack, stop >= steps[leaf] - slack
    np.maximum.at(low, leaf[before], start[before])
    np.minimum.at(high, leaf[after], stop[after])
    known = flat & np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, (low, high), steps)
    return 0.5 * low + 0.5 * high
