"""The losses: of real targets, of two classes by their margin, and of many classes; their names.

A new loss is a class here and a line in `REGISTRY`, and `losses/__init__.py` imports it. Where it
overrides nothing but `value` and `gradient`, all else is computed numerically (see `Loss`).
"""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Any, Literal, Protocol, get_args

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from ..._blocks import by_chunks
from ..._documentation import documented
from ..._roots import group_sums, root_of_increasing, root_of_jumps
from ..._scaling import mean_from_first
from ..._typing import available_if
from ._base import (
    SMALLEST_PROBABILITY,
    Array,
    Loss,
    as_loss,
    bounded_exp,
    log_ratio_steps,
)
from ._compiled import (
    FLAT_TOLERANCE,
    CompiledLoss,
    HuberLoops,
    LogLoops,
    MultinomialLoops,
    compiled_loss,
    middle_of_flat,
)

Target = Literal["real", "two classes", "many classes"]

# A mean that has vanished still has a deviation, of which a target is no infinite multiple.
SMALLEST_MEAN = 1e-150

# --- real targets ---------------------------------------------------------------------------------


@documented()
class SquaredLoss(Loss):
    """l(y, u) = (y - u)² / 2, with G2 = 1 [Bach, §10.3.1].

    The factor 1/2 makes the negative gradient the residual.

    %(references_Bach)s

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
    constant_of_mean = True
    deviance_factor = 2.0

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
        return CompiledLoss("squared")


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
        leaf = np.zeros(len(y), dtype=np.int32)
        return float(loops.leaf_values(arrays, leaf, 1, 0, 1)[0])


class AbsoluteLoss(PiecewiseLinearLoss):
    """l(y, u) = |y - u|, with G1 = 1; the optimal constant is the weighted median."""

    lipschitz = 1.0

    def kinks(self, y: np.ndarray) -> tuple[Any, Any, Any]:
        return y, -1.0, 1.0

    def _compiled(self) -> CompiledLoss:
        return CompiledLoss("kink", above=(-1.0, 1.0), below=(-1.0, 1.0))


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
    def _of_parameters(cls, alpha: float = 0.5, **parameters: float) -> QuantileLoss:
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
        return CompiledLoss("kink", above=slopes, below=slopes)


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
    def _of_parameters(cls, alpha: float | None = None, **parameters: float) -> HuberLoss:
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

    def optimal_shift(
        self, y: np.ndarray, u: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        loss: Any = super() if self.quantile is None else AbsoluteLoss()
        return loss.optimal_shift(y, u, sample_weight)

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
        # Where the minimum is an interval, its middle, as the compiled loops return.
        steps = super().leaf_values(y, u, weight, leaf, n_leaves, score)
        near = np.abs(y - u - steps[leaf]) < self.delta * (1 - FLAT_TOLERANCE)
        flat = np.bincount(leaf[near], minlength=n_leaves) == 0
        return middle_of_flat(self.delta, y - u, leaf, steps, flat)

    def _compiled(self) -> CompiledLoss:
        return HuberLoops(float(self.delta))


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


class LogLinkLoss(Loss):
    """What likelihoods with the mean exp(u) and a variance of its power p share.

    The derivative is exp((2 - p) u) - y exp((1 - p) u), and a step b of a leaf multiplies its sums
    S and T of both terms by powers of exp(b) whose quotient is exp(b): b = log(T / S) is exact.
    """

    link_domain = (float(np.finfo(float).eps), np.inf)
    support = (0.0, np.inf)
    constant_of_mean = True
    power: float  # p

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return bounded_exp(u)

    def deviation(self, mean: np.ndarray) -> np.ndarray:
        return np.maximum(mean, SMALLEST_MEAN) ** (self.power / 2)

    def link(self, mean: np.ndarray) -> np.ndarray:
        return np.log(mean)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return float(np.log(np.average(y, weights=sample_weight)))

    def optimal_shift(
        self, y: np.ndarray, u: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        # Exponentials of large scores that are nearly the same need not overflow.
        centre = np.mean(u)
        steps = self.leaf_values(y, u - centre, weight, np.zeros(len(y), dtype=int), 1)
        return float(steps[0] - centre)

    def terms(self, y: Array, u: Array) -> tuple[Array, Array]:
        """The terms of the negative gradient: y exp((1 - p) u) and exp((2 - p) u)."""
        raise NotImplementedError

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        events, expected = self.terms(y, u)
        return expected - events

    def leaf_values(
        self,
        y: np.ndarray,
        u: np.ndarray,
        weight: np.ndarray,
        leaf: np.ndarray,
        n_leaves: int,
        score: int | None = None,
    ) -> np.ndarray:
        sums = (group_sums(weight * term, leaf, n_leaves) for term in self.terms(y, u))
        return log_ratio_steps(*sums)

    def leaf_terms(self, y: np.ndarray, u: np.ndarray, score: int | None = None) -> tuple | None:
        return self.terms(y, u)

    def leaf_steps(self, first: np.ndarray, second: np.ndarray, total: np.ndarray) -> np.ndarray:
        return log_ratio_steps(first, second)


class PoissonLoss(LogLinkLoss):
    """l(y, u) = exp(u) - y u, the Poisson likelihood with logarithmic link, for y >= 0."""

    power = 1.0
    _is_self_concordant = True  # of this class alone: a subclass may have another value

    def check_target(self, y: np.ndarray) -> None:
        check_counts(y, "poisson")

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(u) - y * u

    def terms(self, y: Array, u: Array) -> tuple[Array, Array]:
        return y, bounded_exp(u)

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(u)

    def _compiled(self) -> CompiledLoss:
        return CompiledLoss("poisson")


def check_counts(y: Array, name: str) -> None:
    """Raise a ValueError unless y has no negative values and is not 0 everywhere."""
    if np.min(y, initial=0) < 0 or not np.max(y, initial=0) > 0:
        raise ValueError(f"loss={name!r} requires non-negative y and sum(y) > 0.")


class GammaLoss(LogLinkLoss):
    """l(y, u) = u + y exp(-u), the gamma likelihood with logarithmic link, for y > 0."""

    power = 2.0
    _is_self_concordant = True  # of this class alone: a subclass may have another value

    def check_target(self, y: np.ndarray) -> None:
        if not np.min(y, initial=np.inf) > 0:
            raise ValueError("loss='gamma' requires strictly positive y.")

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return u + ratio_to_mean(y, u)

    def terms(self, y: Array, u: Array) -> tuple[Array, Array]:
        return ratio_to_mean(y, u), np.ones(len(y))

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return ratio_to_mean(y, u)

    def _compiled(self) -> CompiledLoss:
        return CompiledLoss("tweedie", power=2.0)


def ratio_to_mean(y: Array, u: Array) -> Array:
    """y exp(-u), kept finite."""
    with np.errstate(over="ignore"):
        return np.minimum(y * bounded_exp(-u), np.finfo(float).max)


class TweedieLoss(LogLinkLoss):
    """l(y, u) = exp((2 - p) u) / (2 - p) + y exp((1 - p) u) / (p - 1), for y >= 0.

    Half the unit deviance at the mean exp(u), up to a function of y, of the distribution whose
    variance is proportional to the power p of its mean: for 1 < p < 2 a Poisson number of gamma
    variables, such as the claims of a year, with a positive probability of 0. The limits of the
    derivatives are those of `PoissonLoss` (p = 1) and of `GammaLoss` (p = 2).

    Parameters
    ----------
    power : float, default=1.5
        p, strictly between 1 and 2.

    References
    ----------
    B. Jorgensen (1997). *The Theory of Dispersion Models*, chapter 4. Chapman & Hall.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import mean_tweedie_deviance
    >>> from sklearn_ensemble_theory.boosting.losses import TweedieLoss
    >>> y, u = np.array([0.0, 1.0, 5.0]), np.log([0.5, 2.0, 4.0])
    >>> loss = TweedieLoss(power=1.5)
    >>> gap = loss.risk(y, u) - loss.risk(y, u + 1)
    >>> deviances = [mean_tweedie_deviance(y, np.exp(v), power=1.5) for v in (u, u + 1)]
    >>> bool(np.isclose(2 * gap, deviances[0] - deviances[1]))
    True
    """

    _is_self_concordant = True  # of this class alone: a subclass may have another value

    def __init__(self, power: float = 1.5) -> None:
        self.power = power

    @classmethod
    def _of_parameters(cls, power: float = 1.5, **parameters: float) -> TweedieLoss:
        return cls(power)

    def check_target(self, y: np.ndarray) -> None:
        if not (isinstance(self.power, Real) and 1 < self.power < 2):
            raise ValueError(f"power must be strictly between 1 and 2, got {self.power!r}.")
        check_counts(y, "tweedie")

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        events, expected = self.terms(y, u)
        return expected / (2 - self.power) + events / (self.power - 1)

    def terms(self, y: Array, u: Array) -> tuple[Array, Array]:
        return y * bounded_exp((1 - self.power) * u), bounded_exp((2 - self.power) * u)

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        events, expected = self.terms(y, u)
        return (2 - self.power) * expected + (self.power - 1) * events

    def _compiled(self) -> CompiledLoss:
        return CompiledLoss("tweedie", power=float(self.power))


class BinomialLoss(Loss):
    """l(y, u) = log(1 + exp(u)) - y u for a share y of successes; u is the log-odds of one.

    With the numbers of trials as weights, the binomial likelihood of counts, up to a factor: that
    of `LogisticLoss` for a row of each trial. G1 = 1 and G2 = 1/4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.boosting.losses import BinomialLoss
    >>> successes, trials = np.array([1, 30]), np.array([1, 99])
    >>> u = BinomialLoss().optimal_constant(successes / trials, trials)
    >>> round(float(BinomialLoss().inverse_link(u)), 2)
    0.31
    """

    smoothness = 0.25
    lipschitz = 1.0
    link_domain = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    support = (0.0, 1.0)
    _is_self_concordant = True
    constant_of_mean = True

    def deviation(self, mean: np.ndarray) -> np.ndarray:
        mean = np.clip(mean, *self.link_domain)
        return np.sqrt(mean * (1 - mean))

    def check_target(self, y: np.ndarray) -> None:
        low, high = np.min(y, initial=np.inf), np.max(y, initial=-np.inf)
        if not (low >= 0 and high <= 1):
            raise ValueError(
                "loss='binomial' requires y between 0 and 1, the shares of successes; the numbers "
                "of trials are sample weights."
            )
        if high == 0 or low == 1:
            raise ValueError("loss='binomial' requires y that is not 0 everywhere, nor 1.")

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -y * log_expit(u) - (1 - y) * log_expit(-u)

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return (1 - y) * expit(u) - y * expit(-u)

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return expit(u) * expit(-u)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return expit(u)

    def link(self, mean: np.ndarray) -> np.ndarray:
        return np.log(mean) - np.log1p(-mean)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return log_odds(y, sample_weight)

    def _compiled(self) -> CompiledLoss:
        return CompiledLoss("binomial")


# --- classes --------------------------------------------------------------------------------------


class MarginLoss(Loss):
    """Losses of the margin m = y u, with targets -1 and +1."""

    margin = True

    def check_target(self, y: np.ndarray) -> None:
        if not np.all(np.abs(y) == 1):
            raise ValueError(f"{type(self).__name__} needs targets that are -1 or +1.")


@documented()
class LogisticLoss(MarginLoss):
    """l(y, u) = log(1 + exp(-y u)), natural logarithm; u is the log-odds of +1.

    G1 = 1 and G2 = 1/4 [Bach, §10.3.1].

    %(references_Bach)s
    """

    smoothness = 0.25
    lipschitz = 1.0
    probability = True
    link_domain = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    _is_self_concordant = True
    deviance_factor = 2.0

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -log_expit(y * u)

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -y * expit(-y * u)

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return expit(u) * expit(-u)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return expit(u)

    def link(self, mean: np.ndarray) -> np.ndarray:
        return np.log(mean) - np.log1p(-mean)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return log_odds(y > 0, sample_weight)

    def _compiled(self) -> CompiledLoss:
        return LogLoops("logistic")


def log_odds(share: Array, sample_weight: Array | None) -> float:
    """log of the odds of the mean share, kept finite (|.| <= 36.04) where that is 0 or 1."""
    share = np.average(share, weights=sample_weight)
    share = np.clip(share, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return float(np.log(share) - np.log1p(-share))


@documented()
class ExponentialLoss(MarginLoss):
    """l(y, u) = exp(-y u); u is half the log-odds of +1. Neither smooth nor Lipschitz.

    With weak learners of two values the line search is closed: for outputs in {-1, 1} it is
    AdaBoost's b = log((1 - eps) / eps) / 2 [Bach, §10.3.4].

    %(references_Bach)s
    """

    probability = True
    link_domain = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    _is_self_concordant = True

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(-y * u)

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -y * bounded_exp(-y * u)

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(-y * u)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return expit(2 * u)

    def link(self, mean: np.ndarray) -> np.ndarray:
        return 0.5 * (np.log(mean) - np.log1p(-mean))

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return 0.5 * log_odds(y > 0, sample_weight)

    def line_search(
        self,
        y: np.ndarray,
        u: np.ndarray,
        psi: np.ndarray,
        weight: np.ndarray,
        group: np.ndarray | None = None,
        n_groups: int = 1,
    ) -> np.ndarray:
        if group is not None:
            return super().line_search(y, u, psi, weight, group, n_groups)
        # The minimum does not change when all weights are multiplied: nothing overflows.
        log_weight = -y * u
        scaled = weight * np.exp(log_weight - np.max(log_weight, initial=-np.inf))
        return np.array([exponential_step(scaled, y * psi)])

    def _compiled(self) -> CompiledLoss:
        return CompiledLoss("exponential")


def exponential_step(weight: Array, margins: Array) -> float:
    """The b that minimises sum weight exp(-b margins).

    Closed when the margins take two values p > 0 > -q: setting the derivative to 0 gives
    b = log(p W_p / (q W_q)) / (p + q). p = q = 1 is AdaBoost; p = 1/(K-1), q = 1/(K-1)² is SAMME.
    """
    high, low = np.max(margins, initial=0.0), np.min(margins, initial=0.0)
    if high <= 0 or low >= 0:
        # One sign only: the risk has no minimum, or does not depend on b.
        size = max(high, -low)
        return 0.0 if size == 0 else np.sign(high + low) * -np.log(1e-8) / size
    above = margins == high
    if np.all(above | (margins == low)):
        up, down = weight[above].sum(), weight[~above].sum()
        if up > 0 and down > 0:
            return float((np.log(up * high) - np.log(-low * down)) / (high - low))

    def slope(b: Array) -> Array:
        z = -b[0] * margins
        each = weight * np.exp(z - z.max()) * margins
        return np.array([-each.sum()])

    return float(root_of_increasing(slope, 1, first=1.0 / max(high, -low))[0])


class HingeLoss(PiecewiseLinearLoss, MarginLoss):
    """l(y, u) = (1 - y u)+, with G1 = 1; not smooth."""

    lipschitz = 1.0

    def kinks(self, y: np.ndarray) -> tuple[Any, Any, Any]:
        positive = y > 0
        return y, np.where(positive, -1.0, 0.0), np.where(positive, 0.0, 1.0)

    def _compiled(self) -> CompiledLoss:
        return CompiledLoss("kink", above=(-1.0, 0.0), below=(0.0, 1.0))


class MultinomialLoss(Loss):
    """l(y, u) = log sum_k exp(u_k) - u_y, scores of shape (n, K), targets 0 ... K-1.

    G1 = sqrt(2) and G2 = 1/2, for the Euclidean norm of the K scores.
    """

    smoothness = 0.5
    lipschitz = float(np.sqrt(2.0))
    probability = True
    link_domain = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    _is_self_concordant = True

    def n_scores(self, n_classes: int) -> int:
        return max(n_classes, 2)

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -log_softmax(u, axis=1)[np.arange(len(u)), y]

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        p = softmax(u, axis=1)
        p[np.arange(len(u)), y] -= 1
        return p

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        p = softmax(u, axis=1)
        return p * (1 - p)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return softmax(u, axis=1)

    def link(self, mean: np.ndarray) -> np.ndarray:
        logs = np.log(mean)
        return logs - logs.mean(axis=-1, keepdims=True)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None, n_classes: int | None = None
    ) -> np.ndarray:
        share = np.bincount(y, sample_weight, n_classes or 0).astype(float)
        share = np.clip(share / share.sum(), SMALLEST_PROBABILITY, None)
        return self.link(share)

    def initial_scores(
        self, y: np.ndarray, sample_weight: np.ndarray | None, n_classes: int
    ) -> np.ndarray:
        return self.optimal_constant(y, sample_weight, n_classes)

    def newton_share(self, u: np.ndarray) -> float:
        # One class at a time, with the K-1 free scores spread over K (Friedman 2001, equation 34).
        return (u.shape[1] - 1) / u.shape[1]

    def leaf_terms(self, y: np.ndarray, u: np.ndarray, score: int | None = None) -> tuple | None:
        p = softmax(u, axis=1)[:, score]
        return self.newton_share(u) * ((y == score) - p), p * (1 - p)

    def _compiled(self) -> CompiledLoss:
        return MultinomialLoops()


# --- losses by name -------------------------------------------------------------------------------


# One line for each name: estimators, the folder's public names and docstring, and tests read it.
REGISTRY: tuple[tuple[str, Target, type[Loss]], ...] = (
    ("squared_error", "real", SquaredLoss),
    ("absolute_error", "real", AbsoluteLoss),
    ("huber", "real", HuberLoss),
    ("quantile", "real", QuantileLoss),
    ("poisson", "real", PoissonLoss),
    ("gamma", "real", GammaLoss),
    ("tweedie", "real", TweedieLoss),
    ("binomial", "real", BinomialLoss),
    ("log_loss", "two classes", LogisticLoss),
    ("log_loss", "many classes", MultinomialLoss),
    ("exponential", "two classes", ExponentialLoss),
    ("hinge", "two classes", HingeLoss),
)


def loss_names(target: Target, differentiable: bool = False) -> set[str]:
    """The names for a kind of target, or those whose gradient exists everywhere."""
    return {
        name
        for name, kind, loss in REGISTRY
        if kind == target and (loss.differentiable or not differentiable)
    }


def make_loss(loss: Any, n_classes: int = 0, **parameters: float) -> Loss:
    """The loss of an estimator's parameter `loss`, for a target of so many classes; 0 if real.

    `parameters` are others of the estimator, for losses by name that read them
    (`Loss._of_parameters`). A ValueError if the loss has another number of scores than the target
    needs: one for real targets and two classes, one a class otherwise.
    """
    target = get_args(Target)[(n_classes > 0) + (n_classes > 2)]
    if isinstance(loss, str):
        for name, kind, cls in REGISTRY:
            if (name, kind) == (loss, target):
                return cls._of_parameters(**parameters)
    found = None if isinstance(loss, str) else as_loss(loss)
    needed = n_classes if n_classes > 2 else 1
    if found is not None and found.n_scores(n_classes) == needed:
        return found
    if n_classes > 2:
        raise ValueError(
            f"loss={loss!r} is only suitable for a binary classification problem, with two "
            f"classes, but y has {n_classes} classes; use loss='log_loss', or OneVsRestClassifier "
            "around this estimator."
        )
    if found is None:
        raise ValueError(f"loss={loss!r} is not one of {sorted(loss_names(target))}.")
    raise ValueError(
        f"loss: {type(found).__name__} has one score for each class; the target ({target}) "
        "requires a loss with one score."
    )


# --- probabilities --------------------------------------------------------------------------------
# Methods of classifiers with the parameter `loss`, the fitted attribute `loss_` and a
# `decision_function`, as in ``predict_proba = predict_proba``.


class HasLoss(Protocol):
    """A classifier with the parameter `loss`, and `loss_` once it is fitted."""

    loss: Any


def loss_gives_probabilities(model: HasLoss) -> bool:
    """For `available_if`: the loss of a classifier has a link to probabilities, or AttributeError.

    That of the fit, `loss_`; before a fit that of the parameter `loss`, for two classes.
    """
    loss = getattr(model, "loss_", None) or make_loss(model.loss, n_classes=2)
    if not loss.probability:
        raise AttributeError(f"predict_proba: {type(loss).__name__} gives no probabilities.")
    return True


@available_if(loss_gives_probabilities)
@by_chunks
def predict_proba(self: Any, X: Any) -> np.ndarray:
    """Class probabilities, by the inverse link of the loss.

    Only for losses with `probability`: not for the hinge loss, for instance.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to predict.

    %(returns_probabilities)s
    """
    u = self.decision_function(X)
    return self.loss_.class_probabilities(u)


@available_if(loss_gives_probabilities)
@by_chunks
def predict_log_proba(self: Any, X: Any) -> np.ndarray:
    """Logarithms of the class probabilities.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to predict.

    %(returns_log_probabilities)s
    """
    return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
