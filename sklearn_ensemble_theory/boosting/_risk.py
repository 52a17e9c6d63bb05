"""The empirical risk F(u) of a vector of scores, as the boosting loop needs it.

`EmpiricalRisk` serves every loss. AdaBoost uses a `MarginRisk`, which holds the exponential loss as
a logarithm. With a `SecondOrderRisk` weak learners are fitted to the Newton
steps of the rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .._arrays import inner
from .._native.losses import mean_curvature, newton_targets
from .._rows import normalised_weights
from ..trees._growth import RiskArrays
from ..trees._tree_arrays import LeafOutputs
from .losses import Loss, as_loss
from .losses._base import (
    ROUNDING,
    group_totals,
    leaf_codes,
    loss_name,
    lowering_steps,
    newton_leaves,
    safe_length,
)
from .losses._compiled import CompiledLoss, LogLoops, compiled_loss
from .losses._derivatives import check_numbers, is_of_the_user

Array = NDArray[np.float64]


class RiskState(NamedTuple):
    """The risk F(u) = `value` at the current scores, as a round needs it.

    weight * target is -F'(u), up to the positive factor `scale`; a weak learner fits target by
    weighted least squares, or maximises the inner product with weight * target. The weights have
    sum 1; in rounds of the second order they are positive, of the shape of the target.
    """

    value: float
    target: Array
    weight: Array
    scale: float = 1.0

    def first_order_gain(self, psi: Array) -> float:
        """-F'(u)' psi / scale: the first-order gain of a step along psi."""
        if psi.ndim == 1:
            return inner(self.weight * self.target, psi)
        if self.weight.ndim == 2:
            return float(np.einsum("ik,ik,ik->", self.weight, self.target, psi))
        return float(np.einsum("i,ik,ik->", self.weight, self.target, psi))


class _ByMethods:
    """The loss of the rows by the methods of the loss."""

    def __init__(self, loss: Loss, y: NDArray[Any], weight: Array) -> None:
        self.loss, self.y, self.weight = loss, y, weight
        # Leaves that the loss does not solve itself get Newton steps from the known gradient.
        own = "leaf_values" in vars(loss) or type(loss).leaf_values is not Loss.leaf_values
        self.takes_newton_steps = not own
        self.losses: Array | None = None  # of the rows, at the scores of `value_and_target`
        self.is_of_the_user = is_of_the_user(loss)

    def value(self, u: Array) -> float:
        return inner(self.weight, self.loss.value(self.y, u))

    def value_and_target(self, u: Array) -> tuple[float, Array]:
        self.losses, gradient = self.loss.value(self.y, u), self.loss.gradient(self.y, u)
        if self.is_of_the_user:
            check_numbers(self.loss, self.y, u, self.losses, gradient)
        return inner(self.weight, self.losses), -gradient

    def arrays(self, u: Array, target: Array) -> None:
        return None

    def curvatures(self, u: Array, target: Array) -> Array:
        return np.array(self.loss.hessian(self.y, u), dtype=np.float64)

    def newton_targets(self, first: Array, given: Array | None, means: Any) -> None:
        return None

    def leaf_values(
        self,
        u: Array,
        target: Array,
        leaf: NDArray[Any],
        n_leaves: int,
        rows: NDArray[Any] | None,
        score: int | None,
        rate: float,
        longest: float,
    ) -> Array:
        seen: Any = slice(None) if rows is None else rows
        y, u, weight, leaf = self.y[seen], u[seen], self.weight[seen], leaf[seen]
        second = self.loss.hessian(y, u) if self.takes_newton_steps else None
        if second is None:
            # A loss with one score need not know of the argument `score`.
            which = {} if score is None else {"score": score}
            return self.loss.leaf_values(y, u, weight, leaf, n_leaves, **which)
        second = second if score is None else second[:, score]
        before = None if self.losses is None else self.losses[seen]
        given = self.loss, y, u, weight, leaf, n_leaves, score, -target[seen], second
        return newton_leaves(*given, rate=rate, before=before)

    def leaf_sums(
        self, u: Array, target: Array, leaf: NDArray[Any], n_leaves: int, score: int | None
    ) -> Array:
        totals = group_totals(self.weight, leaf, n_leaves)
        terms = self.loss.leaf_terms(self.y, u, score)
        assert terms is not None
        return np.column_stack([totals(np.asarray(t)) for t in (*terms, np.ones(len(leaf)))])


class _ByLoops:
    """The same by the compiled loops of the loss, for scores that these take."""

    def __init__(self, loss: CompiledLoss, y: Array, weight: Array, n_threads: int) -> None:
        self.loss, self.y, self.weight, self.n_threads = loss, y, weight, n_threads

    def value(self, u: Array) -> float:
        return self.value_and_target(u)[0]

    def value_and_target(self, u: Array) -> tuple[float, Array]:
        target = np.empty(u.shape)
        arrays = self.y, np.ascontiguousarray(u), self.weight, target
        return self.loss.value(arrays, self.n_threads), target

    def arrays(self, u: Array, target: Array) -> RiskArrays | None:
        if not (self.loss.boosts and u.flags.c_contiguous and target.flags.c_contiguous):
            return None
        return RiskArrays(self.loss.loops, self.y, self.weight, u, target)

    def curvatures(self, u: Array, target: Array) -> Array:
        # They are only inexact where they are far below the first derivative, and replaced.
        second = self.loss.hessian(u, target, self.n_threads)
        assert second is not None  # as `SecondOrderRisk.check` has found
        return second

    def newton_targets(
        self, first: Array, given: Array | None, means: tuple[float, float] | None
    ) -> tuple[Array, Array] | None:
        """The targets and weights of rounds of the second order; None where NumPy computes them."""
        if not self.loss.takes_codes:
            return None
        mean, mean_size = means or mean_curvature(first, self.weight, self.n_threads)
        unit = LARGEST_TARGET * mean_size
        ratio = mean / unit if unit > 0 else math.inf
        if not (mean >= SMALLEST_CURVATURE and ratio < math.inf):
            return None
        target, weight = np.empty(first.shape, order="F"), np.empty(first.shape, order="F")
        least = SMALLEST_WEIGHT * mean
        newton_targets(first, given, ratio, least, target.T, weight.T, self.n_threads)
        return target, weight

    def leaf_values(
        self,
        u: Array,
        target: Array,
        leaf: NDArray[Any],
        n_leaves: int,
        rows: NDArray[Any] | None,
        score: int | None,
        rate: float,
        longest: float,
    ) -> Array:
        arrays: Any = self._arrays(u, target)
        if rows is not None:
            arrays = tuple(part if part.size == 1 else part.take(rows, axis=0) for part in arrays)
            leaf = leaf.take(rows)
        given = arrays, leaf_codes(leaf), n_leaves, score or 0, self.n_threads
        return self.loss.leaf_values(*given, rate=rate, longest=longest)

    def leaf_sums(
        self, u: Array, target: Array, leaf: NDArray[Any], n_leaves: int, score: int | None
    ) -> Array:
        given = leaf_codes(leaf), n_leaves, score or 0, self.n_threads
        return self.loss.leaf_sums(self._arrays(u, target), *given)

    def _arrays(self, u: Array, target: Array) -> tuple[Array, Array, Array, Array]:
        return self.y, np.ascontiguousarray(u), self.weight, np.ascontiguousarray(target)


class EmpiricalRisk:
    """F(u) = sum_i w_i l(y_i, u_i), with weights that sum to 1 [Bach, §10.3.1]."""

    largest_score = 1e151  # squares of larger residuals, summed, may be no floats

    def __init__(
        self,
        loss: Any,
        y: NDArray[Any],
        sample_weight: Array | None = None,
        n_threads: int = 1,
    ) -> None:
        self.y = y
        self.weight = normalised_weights(sample_weight, len(y))
        self.n_threads = n_threads
        self.same_weights = sample_weight is None
        self.rate = 1.0  # what is taken of the steps of leaves: see `share_taken`
        # Whether the loss may change with the scores, and the one whose risk was reported last.
        self.adapts = False
        self._use(as_loss(loss))
        self.scored_loss = self.loss

    def _use(self, loss: Loss) -> None:
        self.loss = loss
        self._by_methods = _ByMethods(loss, self.y, self.weight)
        self._by_loops: _ByLoops | None = None
        loops = compiled_loss(loss)
        known = None if loops is None else loops.known_targets(np.asarray(self.y))
        if loops is not None and known is not None:
            weight = self.weight[:1].copy() if self.same_weights else self.weight
            self._by_loops = _ByLoops(loops, known, weight, self.n_threads)

    def _at_rows(self, u: Array) -> _ByMethods | _ByLoops:
        """What computes the loss of the rows at scores u: its compiled loops, if it has any."""
        loops = self._by_loops
        takes = loops is not None and loops.loss.takes(u, len(self.y))
        return loops if loops is not None and takes else self._by_methods

    def at(self, u: Array) -> RiskState:
        before = None
        if self.adapts:
            # The value is that of the loss of the round that ends, the target that of the next.
            loss = self.loss.adapted(self.y, u, None if self.same_weights else self.weight)
            self.scored_loss = self.loss
            if loss is not self.loss:
                before = self.value(u)
                self._use(loss)
        value, target = self._at_rows(u).value_and_target(u)
        return RiskState(value if before is None else before, target, self.weight)

    def value(self, u: Array) -> float:
        """F(u)."""
        return self._at_rows(u).value(u)

    def arrays(self, u: Array, target: Array) -> RiskArrays | None:
        """The risk at the scores u, for rounds without Python; None where its loss needs that."""
        return self._at_rows(u).arrays(u, target)

    def leaf_values(
        self,
        u: Array,
        target: Array,
        leaf: NDArray[Any],
        n_leaves: int,
        rows: NDArray[Any] | None = None,
        score: int | None = None,
    ) -> Array:
        """The steps of the leaves of a tree, as `Loss.leaf_values` computes them: (n_leaves,)."""
        longest = self.longest_step
        return self._at_rows(u).leaf_values(
            u, target, leaf, n_leaves, rows, score, self.rate, longest
        )

    @property
    def longest_step(self) -> float:
        """The length up to which no Newton step raises the loss of a leaf; see `safe_length`."""
        return safe_length(self.loss, self.rate)

    def leaf_sums(
        self, u: Array, target: Array, leaf: NDArray[Any], n_leaves: int, score: int | None = None
    ) -> Array:
        """Weighted sums of `Loss.leaf_terms`, and of the weights, in leaves: (n_leaves, 3)."""
        return self._at_rows(u).leaf_sums(u, target, leaf, n_leaves, score)

    def second_derivatives(self, u: Array, target: Array) -> Array | None:
        """Those of the losses of the rows at the scores u, where there are any.

        `target` is the negative gradient there.
        """
        rows = self._at_rows(u)
        if isinstance(rows, _ByLoops):
            return rows.loss.hessian(u, target, self.n_threads)
        return self.loss.hessian(self.y, u)

    def line_search(
        self, u: Array, psi: Array, state: RiskState, longest: float = math.inf
    ) -> float:
        """The b that minimises F(u + b psi); any b from `longest` on, if this one is beyond it."""
        return float(self.loss.line_search(self.y, u, psi, self.weight)[0])

    def length_of(self, u: Array, psi: Any, state: RiskState, rate: float) -> float:
        """The length of a fixed step, before the rate."""
        return 1.0

    def mean_square(self, psi: Array) -> float:
        """The weighted mean of psi_i², or of |psi_i|² for several scores; |psi|²/n unweighted."""
        weight = self.weight if psi.ndim == 1 else self.weight[:, None]
        return float(np.sum(weight * psi**2))

    def curvature(self, psi: Array) -> float:
        """L |psi|²: F(u + b psi) <= F(u) + b F'(u)'psi + b² (L |psi|²) / 2 for every u and b.

        In [Bach, eq. (10.8)] L = G2/n; with weights L |psi|² is G2 sum w_i psi_i².
        """
        return self.loss.smoothness * self.mean_square(psi)


class MarginRisk:
    """The exponential risk of margins, with everything that could overflow kept as a logarithm.

    pi_i = w_i exp(-u_i) / sum_j w_j exp(-u_j) is the weight of the weak learner, F(u) the
    normaliser [Bach, §10.3.4]. u_i is y_i times the score, so that every target is +1. Weights and
    margins have shape (n,), or (n, K) for a margin for each row and class.
    """

    def __init__(self, sample_weight: Array) -> None:
        self.target = np.ones(len(sample_weight))
        with np.errstate(divide="ignore"):
            self.log_start = np.log(normalised_weights(sample_weight, len(sample_weight)))

    def log_weight(self, u: Array) -> Array:
        """log w_i - u_i: the logarithms of the weights before they are normalised."""
        return self.log_start - u

    def log_value(self, u: Array) -> float:
        """log F(u), finite however far the risk has fallen."""
        return float(logsumexp(self.log_weight(u)))

    def at(self, u: Array) -> MarginState:
        """The value and the weights at the margins u. O(n)."""
        logs = self.log_weight(u)
        # The largest weight becomes 1: none overflows, and what vanishes beside it is rounding.
        top = logs.max()
        logs -= top
        pi = np.exp(logs, out=logs)
        total = pi.sum()
        pi *= 1.0 / total
        log_value = top + math.log(total)
        value = math.exp(log_value) if log_value < 709 else math.inf
        return MarginState(value, self.target, pi, scale=value)


class MarginState(RiskState):
    """The state of a `MarginRisk`: the gain of votes is the mean of their margins."""

    def first_order_gain(self, psi: Array) -> float:
        return inner(self.weight.ravel(), psi.ravel())


# --- rounds of the second order -------------------------------------------------------------------

# No leaf of a tree has less curvature, in units of the user's weights. The bound of
# HistGradientBoosting and LightGBM.
LEAST_CURVATURE = 1e-3
# No target is larger than so many times the mean of their sizes; and no weight is below this share
# of the mean, so that weights are positive where the curvature of a row underflows.
LARGEST_TARGET, SMALLEST_WEIGHT = 1e4, 1e-10
# A mean curvature below this is none: so far from all targets it underflows.
SMALLEST_CURVATURE = 1e-290


class SecondOrderRisk(EmpiricalRisk):
    """The empirical risk, with the second derivatives h of the losses in the weights.

    The target of a row is its Newton step -g/h, and its weight w h, so that the weighted mean in a
    leaf is the Newton step of the leaf, -sum w g / sum w h (Friedman, Hastie and Tibshirani 2000).
    Weights of rows are those of the user, 1 by default; for several scores they have a column for
    each. The product of weight and target is -F'(u) up to `scale`, as in the first order.

    Where h is close to 0 it is replaced by a larger number in both places, which leaves the product
    as it is. A row with a step far beyond those of the others would otherwise determine how targets
    are rounded in the search for splits. LogitBoost bounds the target alone, by 4, which changes
    the gradient that the learner sees, and is no bound for scores in other units.
    """

    def __init__(
        self, loss: Any, y: NDArray[Any], sample_weight: Array | None = None, n_threads: int = 1
    ) -> None:
        super().__init__(loss, y, sample_weight, n_threads)
        self.user_weight = sample_weight
        self.total = float(len(y) if sample_weight is None else np.sum(sample_weight))
        self._is_flat = False  # no curvature in any row
        # The means over all rows of the second derivatives, and of the sizes of the first ones; to
        # be set where these rows are a part of them.
        self.means: tuple[float, float] | None = None

    @staticmethod
    def has_curvature(loss: Any, y: NDArray[Any], n_scores: int) -> bool:
        shape = (1,) if n_scores == 1 else (1, n_scores)
        return loss.hessian(y[:1], np.zeros(shape)) is not None

    @classmethod
    def check(cls, loss: Any, y: NDArray[Any], n_scores: int) -> None:
        """Raise the ValueError for a loss without second derivative."""
        if not cls.has_curvature(loss, y, n_scores):
            raise ValueError(
                "step='newton' requires a loss with a second derivative; "
                f"{loss_name(loss)} has none."
            )

    def at(self, u: Array) -> RiskState:
        value, first, _, _ = super().at(u)
        known = self._at_rows(u).newton_targets(first, self.user_weight, self.means)
        self._is_flat = False
        if known is not None:
            return RiskState(value, *known, 1.0 / self.total)
        second = self._curvatures(u, first)
        target = first / second
        if self.user_weight is not None:
            second *= self.user_weight if u.ndim == 1 else self.user_weight[:, None]
        return RiskState(value, target, second, 1.0 / self.total)

    def derivatives(self, u: Array) -> tuple[float, Array, Array]:
        """The risk, the negative gradients and the second derivatives, as they are."""
        value, first, _, _ = super().at(u)
        return value, first, self._convex(u, first)

    def _convex(self, u: Array, first: Array) -> Array:
        """The second derivatives, a new array."""
        second = self._at_rows(u).curvatures(u, first)
        if not second.min() >= 0:
            raise ValueError(
                "step='newton', and step='joint' with trees, require a convex loss; the second "
                f"derivative of {loss_name(self.loss)} is negative or NaN in some rows."
            )
        return second

    def _curvatures(self, u: Array, first: Array) -> Array:
        """The second derivatives, a new array; see the class for the smallest ones."""
        second, size = self._convex(u, first), np.abs(first)
        mean, mean_size = self.means or (self._mean(second), self._mean(size))
        self._is_flat = mean < SMALLEST_CURVATURE
        if self._is_flat:  # a round of the first order
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

    def lowering_values(
        self,
        u: Array,
        target: Array,
        weight: Array,
        leaf: NDArray[Any],
        values: Array,
        rows: NDArray[Any] | None = None,
        score: int | None = None,
    ) -> Array:
        """The values of the leaves of a tree, replaced as `lowering_steps` says."""
        if (np.abs(values) <= self.longest_step).all():
            return values
        loops = self._by_loops
        if loops is not None and isinstance(loops.loss, LogLoops) and not self._is_flat:
            first = target * weight
            if self.user_weight is not None:
                first /= self.user_weight
            own = loops.weight
            if rows is not None:  # the others do not count
                own = np.zeros(len(u))
                own[rows] = self.weight[rows]
            arrays = loops.y, np.ascontiguousarray(u), own, first
            given = leaf_codes(leaf), values, score or 0, self.n_threads
            return loops.loss.shortened_steps(arrays, *given, self.rate, self.longest_step)
        if rows is not None:
            u, target, weight, leaf = (part[rows] for part in (u, target, weight, leaf))
        y, own = (part if rows is None else part[rows] for part in (self.y, self.weight))
        first = group_totals(weight / self.total, leaf, len(values))(target)
        steps = np.zeros(len(values)) if self._is_flat else values
        found = lowering_steps(
            self.loss, y, u, own, leaf, steps, score, first, self.rate, is_whole=False
        )
        return np.where(found == steps, values, found)

    def minimising_values(self, u: Array, leaf: NDArray[Any], n_leaves: int) -> Array:
        """The values of the leaves of a tree that minimise the risk: the exact one of each leaf."""
        ones = np.ones(len(u))
        return self.loss.line_search(self.y, u, ones, self.weight, leaf, n_leaves)

    def length_of(self, u: Array, psi: Any, state: RiskState, rate: float) -> float:
        """1, or the best length where outputs would raise the risk; leaves of trees do not."""
        if isinstance(psi, LeafOutputs):
            return 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            lowers = self.value(u + rate * psi) <= state.value + ROUNDING * abs(state.value)
        return 1.0 if lowers else self.line_search(u, psi, state)

    def _mean(self, values: Array) -> float:
        """The mean over rows and scores under the sample weights."""
        if values.ndim == 1:
            return inner(self.weight, values)
        return inner(self.weight, values.mean(axis=1))


def largest_totals(
    curvature: Array, size: Array, means: tuple[float, float], weight: float
) -> Array:
    """Bounds of the sums of the weights of a `SecondOrderRisk` in each score.

    Of the sums of the second derivatives and of the sizes of the first ones over all rows, of this
    weight together.
    """
    mean, mean_size = means
    if mean < SMALLEST_CURVATURE:
        return np.full(len(curvature), weight)
    shares = size / mean_size if mean_size > 0 else np.zeros(len(size))
    return curvature + mean * (shares / LARGEST_TARGET + SMALLEST_WEIGHT * weight)
