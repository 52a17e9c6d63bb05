"""Convex functions phi of the margin m = y u, which bound the 0-1 loss up to a factor.

The letters are those of [Shah, §3.3]. phi* is the convex conjugate; the dual of a risk
sum_i w_i phi(m_i) has one variable a_i for each row, and a_i = -phi'(m_i) at the optimum.

References
----------
R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, xlogy

Array = NDArray[Any]

# exp of more is no float; margins as negative as that do not come up at a point of a descent.
LARGEST_EXPONENT = 700.0


class MarginFunction(ABC):
    """A convex phi >= 0 that does not increase, with phi'(0) < 0.

    `has_link`: a score determines a probability. `width`: of the smoothing; 0 for a function that
    is not an approximation of another one.
    """

    has_link = True
    is_piecewise_linear = False
    width = 0.0

    @abstractmethod
    def value(self, m: Array) -> Array:
        """phi(m)."""

    @abstractmethod
    def slope(self, m: Array) -> Array:
        """phi'(m), or an element of the subdifferential."""

    def curvature(self, m: Array) -> Array:
        """phi''(m), or an element of the generalised second derivative."""
        raise NotImplementedError("A piecewise linear function has no curvature; see `smoothed`.")

    @abstractmethod
    def fenchel(self, m: Array, a: Array) -> Array:
        """phi(m) + phi*(-a) + a m >= 0, the loss of a dual variable a; 0 for a = -phi'(m)."""

    def lipschitz(self, r: float) -> float:
        """The largest |phi'| on [-r, r]; inf where it is no float."""
        return float(-self.slope(np.array([-r]))[0])

    def largest(self, r: float) -> float:
        """M = phi(-r), the largest value on [-r, r]; inf where it is no float."""
        return float(self.value(np.array([-r]))[0])

    @abstractmethod
    def best_constant(self, log_odds: float) -> float:
        """The score that minimises the risk of a constant, for the log-odds of +1."""

    def intercept_offset(self, log_odds: float) -> float:
        """The best intercept for scores of at most r is at most r plus this, in absolute value."""
        return abs(self.best_constant(log_odds))

    def smoothed(self) -> Iterator["MarginFunction"]:
        """Smooth functions that approach this one, to minimise in this order."""
        yield self

    def probability(self, u: Array) -> Array:
        """P(y = 1), for a score u that minimises the expected loss."""
        raise NotImplementedError("Without `has_link` a score determines no probability.")


class LogisticMargin(MarginFunction):
    """phi(m) = log(1 + exp(-m)), natural logarithm."""

    def value(self, m: Array) -> Array:
        return -log_expit(m)

    def slope(self, m: Array) -> Array:
        return -expit(-m)

    def curvature(self, m: Array) -> Array:
        p = expit(-m)
        return p * (1 - p)

    def fenchel(self, m: Array, a: Array) -> Array:
        return np.maximum(self.value(m) + xlogy(a, a) + xlogy(1 - a, 1 - a) + a * m, 0.0)

    def best_constant(self, log_odds: float) -> float:
        return log_odds

    def probability(self, u: Array) -> Array:
        return expit(u)


class ExponentialMargin(MarginFunction):
    """phi(m) = exp(-m)."""

    def value(self, m: Array) -> Array:
        return np.exp(np.minimum(-m, LARGEST_EXPONENT))

    def slope(self, m: Array) -> Array:
        return -self.value(m)

    def curvature(self, m: Array) -> Array:
        return self.value(m)

    def fenchel(self, m: Array, a: Array) -> Array:
        return np.maximum(self.value(m) + xlogy(a, a) - a + a * m, 0.0)

    def lipschitz(self, r: float) -> float:
        return self.largest(r)

    def largest(self, r: float) -> float:
        return float(np.exp(r)) if r <= LARGEST_EXPONENT else np.inf

    def best_constant(self, log_odds: float) -> float:
        return log_odds / 2

    def probability(self, u: Array) -> Array:
        with np.errstate(over="ignore"):
            return expit(2 * u)


class HingeMargin(MarginFunction):
    """phi(m) = (1 - m)+."""

    has_link = False
    is_piecewise_linear = True

    def value(self, m: Array) -> Array:
        return np.maximum(1 - m, 0.0)

    def slope(self, m: Array) -> Array:
        return np.where(m < 1, -1.0, 0.0)

    def fenchel(self, m: Array, a: Array) -> Array:
        return np.maximum(np.maximum(1 - m, 0.0) - a + a * m, 0.0)

    def best_constant(self, log_odds: float) -> float:
        return float(np.sign(log_odds))

    def intercept_offset(self, log_odds: float) -> float:
        return 1.0

    def smoothed(self) -> Iterator[MarginFunction]:
        for k in range(0, 44, 2):
            yield SmoothedHinge(2.0**-k)


class SmoothedHinge(HingeMargin):
    """The hinge with a parabola instead of its kink, at most width/2 below it.

    phi(m) = sup over a in [0, 1] of a (1 - m) - width a²/2.
    """

    is_piecewise_linear = False

    def __init__(self, width: float):
        self.width = width

    def value(self, m: Array) -> Array:
        a = -self.slope(m)
        return a * (1 - m) - self.width * a * a / 2

    def slope(self, m: Array) -> Array:
        return -np.clip((1 - m) / self.width, 0.0, 1.0)

    def curvature(self, m: Array) -> Array:
        return np.where((m > 1 - self.width) & (m < 1), 1 / self.width, 0.0)


MARGIN_FUNCTIONS: dict[str, MarginFunction] = {
    "exponential": ExponentialMargin(),
    "hinge": HingeMargin(),
    "logistic": LogisticMargin(),
}
