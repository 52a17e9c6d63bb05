"""Losses: the first of the three parts that every boosting algorithm chooses.

A loss l(y, u) compares a target with a score. All functions work row by row, on arrays of shape
(n,), or (n, K) for the scores of the multinomial loss; the weighted mean over the rows is taken by
whoever uses them. Targets of the margin losses (logistic, exponential, hinge) are -1 and +1.

A loss of your own needs two methods, ``value(y, u)`` and ``gradient(y, u)``; everything else below
has a numerical default. Subclass `Loss`, or pass any object that has the two.

The constants are those of 000, section 10.3.1: each l(y, .) is `smoothness`-smooth (G2) and
`lipschitz`-Lipschitz (G1), inf where there is no such constant.
"""

from numbers import Real

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._numerics.root_finding import (
    group_sums,
    root_of_increasing,
    root_of_jumps,
)

__all__ = [
    "AbsoluteLoss",
    "ExponentialLoss",
    "HingeLoss",
    "HuberLoss",
    "LogisticLoss",
    "Loss",
    "MultinomialLoss",
    "PoissonLoss",
    "QuantileLoss",
    "SquaredLoss",
]

# exp(700) = 1e304: a weighted mean of such numbers is still finite.
MAX_EXPONENT = 700.0


def _exp(z):
    return np.exp(np.minimum(z, MAX_EXPONENT))


class Loss(BaseEstimator):
    """Base class of the losses, with a numerical default for everything but value and gradient.

    Subclassing `BaseEstimator` gives parameters by name (``loss__delta`` in a grid search),
    `clone` and a readable representation.

    Attributes
    ----------
    smoothness : float
        G2: the largest second derivative in u; inf where there is none.
    lipschitz : float
        G1: the largest absolute (Euclidean, for several scores) derivative in u; inf where there
        is none.
    """

    smoothness = np.inf
    lipschitz = np.inf
    #: Whether the targets are -1 and +1 and the sign of the score is the decision.
    margin = False
    #: Whether `inverse_link` gives P(y = +1), or the probabilities of all classes.
    probability = False

    def value(self, y, u):
        """The loss of each row: array of shape (n,)."""
        raise NotImplementedError(f"{type(self).__name__} needs a method value(y, u).")

    def gradient(self, y, u):
        """Derivative in u of the loss of each row: array of the shape of u."""
        raise NotImplementedError(f"{type(self).__name__} needs a method gradient(y, u).")

    def hessian(self, y, u):
        """Second derivative in u (its diagonal for several scores), or None where not offered."""
        return None

    def check_target(self, y):
        """Raise a ValueError where y is outside the loss's domain."""
        return

    def inverse_link(self, u):
        """The prediction that belongs to a score: a mean, or P(y = +1)."""
        return u

    def link(self, mean):
        """The score that belongs to a prediction: inverse of `inverse_link`."""
        return mean

    def risk(self, y, u, sample_weight=None):
        """F(u): the weighted mean of the values; a float."""
        return float(np.average(self.value(y, u), weights=sample_weight))

    def line_search(self, y, u, psi, weight, group=None, n_groups=1):
        """The b that minimises the sum of weight * l(y, u + b psi), in each group of rows.

        Parameters
        ----------
        y : array of shape (n,)
        u, psi : arrays of shape (n,) or (n, K)
        weight : array of shape (n,)
        group : int array of shape (n,), default=None
            None is one group of all the rows.
        n_groups : int, default=1

        Returns
        -------
        b : ndarray of shape (n_groups,)
            Where the infimum is at infinity, the point where the slope has fallen to 1e-8 of its
            value at 0.
        """
        direction = psi if psi.ndim == 1 else None

        def slope(b):
            at = b[0] if group is None else b[group]
            if direction is None:
                at = np.asarray(at).reshape(-1, 1)
            each = self.gradient(y, u + at * psi) * psi
            each = each if direction is not None else each.sum(axis=1)
            return group_sums(weight * each, group, n_groups)

        size = np.max(np.abs(psi), initial=0.0)
        if size == 0:
            return np.zeros(n_groups)
        # The first length that is tried moves the largest score by 1, or as far as the targets
        # themselves reach, whichever is smaller: y of 1e-150 must not be searched from 1 down.
        reach = np.max(np.abs(self.gradient(y, u)), initial=0.0)
        first = min(1.0, reach) / size if reach > 0 else 1.0 / size
        return root_of_increasing(slope, n_groups, first=first)

    def optimal_constant(self, y, sample_weight=None):
        """The constant score with the least risk; a float (or (K,) for several scores)."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        return float(self.line_search(y, np.zeros(len(y)), np.ones(len(y)), weight)[0])

    def leaf_values(self, y, u, weight, leaf, n_leaves):
        """What to add to the scores of each leaf: one Newton step, or the exact minimum.

        One Newton step where there is a second derivative (Friedman 2001, TreeBoost): exact
        minima of pure leaves are infinite for the logistic loss. The exact minimum in the leaf
        otherwise.
        """
        second = self.hessian(y, u)
        if second is None:
            return self.line_search(y, u, np.ones(len(u)), weight, leaf, n_leaves)
        return newton_leaves(self.gradient(y, u), second, weight, leaf, n_leaves)


def newton_leaves(gradient, hessian, weight, leaf, n_leaves):
    """-sum(w g) / sum(w h) in each leaf, 0 where the curvature has vanished."""
    first = group_sums(weight * gradient, leaf, n_leaves)
    second = group_sums(weight * hessian, leaf, n_leaves)
    total = group_sums(weight, leaf, n_leaves)
    flat = second <= 1e-150 * total
    return np.where(flat, 0.0, -first / np.where(flat, 1.0, second))


class SquaredLoss(Loss):
    """l(y, u) = (y - u)² / 2 (000 section 10.3.1).

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

    def value(self, y, u):
        return 0.5 * (y - u) ** 2

    def gradient(self, y, u):
        return u - y

    def hessian(self, y, u):
        return np.ones_like(u)

    def line_search(self, y, u, psi, weight, group=None, n_groups=1):
        size = np.max(np.abs(psi), initial=0.0)
        if size == 0:
            return np.zeros(n_groups)
        psi = psi / size  # so that the squares neither overflow nor vanish
        num = group_sums(weight * (y - u) * psi, group, n_groups)
        den = group_sums(weight * psi**2, group, n_groups)
        return np.where(den > 0, num / np.where(den > 0, den, 1.0), 0.0) / size

    def optimal_constant(self, y, sample_weight=None):
        # The mean of offsets from one row: exact for constant y, whatever its size.
        return float(y[0] + np.average(y - y[0], weights=sample_weight))


class _MarginLoss(Loss):
    """Losses of the margin m = y u, with targets -1 and +1."""

    margin = True

    def check_target(self, y):
        if not np.all(np.abs(y) == 1):
            raise ValueError(f"{type(self).__name__} needs targets that are -1 or +1.")


class LogisticLoss(_MarginLoss):
    """l(y, u) = log(1 + exp(-y u)), natural logarithm; u is the log-odds of +1.

    G1 = 1 and G2 = 1/4 (000 section 10.3.1).
    """

    smoothness = 0.25
    lipschitz = 1.0
    probability = True

    def value(self, y, u):
        return -log_expit(y * u)

    def gradient(self, y, u):
        return -y * expit(-y * u)

    def hessian(self, y, u):
        return expit(u) * expit(-u)

    def inverse_link(self, u):
        return expit(u)

    def link(self, mean):
        return np.log(mean) - np.log1p(-mean)

    def optimal_constant(self, y, sample_weight=None):
        return _log_odds(y, sample_weight)


def _log_odds(y, sample_weight):
    """log of the odds of +1, kept finite (|.| <= 36.04) where only one class is there."""
    share = np.average(y > 0, weights=sample_weight)
    share = np.clip(share, np.finfo(float).eps, 1 - np.finfo(float).eps)
    return float(np.log(share) - np.log1p(-share))


class ExponentialLoss(_MarginLoss):
    """l(y, u) = exp(-y u); u is half the log-odds of +1. Neither smooth nor Lipschitz.

    With weak learners of two values the line search is closed: for outputs in {-1, 1} it is
    AdaBoost's b = log((1 - eps) / eps) / 2 (000 section 10.3.4).
    """

    probability = True

    def value(self, y, u):
        return _exp(-y * u)

    def gradient(self, y, u):
        return -y * _exp(-y * u)

    def hessian(self, y, u):
        return _exp(-y * u)

    def inverse_link(self, u):
        return expit(2 * u)

    def link(self, mean):
        return 0.5 * (np.log(mean) - np.log1p(-mean))

    def optimal_constant(self, y, sample_weight=None):
        return 0.5 * _log_odds(y, sample_weight)

    def line_search(self, y, u, psi, weight, group=None, n_groups=1):
        if group is not None:
            return super().line_search(y, u, psi, weight, group, n_groups)
        # The minimum does not change when all weights are multiplied: nothing overflows.
        log_weight = -y * u
        scaled = weight * np.exp(log_weight - np.max(log_weight, initial=-np.inf))
        return np.array([exponential_step(scaled, y * psi)])


def exponential_step(weight, margins):
    """The b that minimises sum weight exp(-b margins).

    Closed when the margins take two values p > 0 > -q: setting the derivative to 0 gives
    b = log(p W_p / (q W_q)) / (p + q). p = q = 1 is AdaBoost; p = 1/(K-1), q = 1/(K-1)² is SAMME.
    """
    high, low = np.max(margins, initial=0.0), np.min(margins, initial=0.0)
    if high <= 0 or low >= 0:
        # One sign only: the risk falls for ever, or there is nothing to choose.
        size = max(high, -low)
        return 0.0 if size == 0 else np.sign(high + low) * -np.log(1e-8) / size
    above = margins == high
    if np.all(above | (margins == low)):
        up, down = weight[above].sum(), weight[~above].sum()
        if up > 0 and down > 0:
            return float((np.log(up * high) - np.log(-low * down)) / (high - low))

    def slope(b):
        z = -b[0] * margins
        each = weight * np.exp(z - z.max()) * margins
        return np.array([-each.sum()])

    return float(root_of_increasing(slope, 1, first=1.0 / max(high, -low))[0])


class MultinomialLoss(Loss):
    """l(y, u) = log sum_k exp(u_k) - u_y, scores of shape (n, K), targets 0 ... K-1.

    G1 = sqrt(2) and G2 = 1/2, for the Euclidean norm of the K scores.
    """

    smoothness = 0.5
    lipschitz = float(np.sqrt(2.0))
    probability = True

    def value(self, y, u):
        return -log_softmax(u, axis=1)[np.arange(len(u)), y]

    def gradient(self, y, u):
        p = softmax(u, axis=1)
        p[np.arange(len(u)), y] -= 1
        return p

    def hessian(self, y, u):
        p = softmax(u, axis=1)
        return p * (1 - p)

    def inverse_link(self, u):
        return softmax(u, axis=1)

    def link(self, mean):
        logs = np.log(mean)
        return logs - logs.mean(axis=-1, keepdims=True)

    def optimal_constant(self, y, sample_weight=None, n_classes=None):
        share = np.bincount(y, sample_weight, n_classes or 0).astype(float)
        share = np.clip(share / share.sum(), np.finfo(float).eps, None)
        return self.link(share)

    def leaf_values(self, y, u, weight, leaf, n_leaves):
        raise NotImplementedError("Multinomial leaves are updated one class at a time.")


class _PiecewiseLinearLoss(Loss):
    """Losses with one kink, linear on both sides: every line search is a weighted quantile."""

    def kinks(self, y):
        """Position of the kink of each row and the slopes on its left and right."""
        raise NotImplementedError

    def value(self, y, u):
        at, left, right = self.kinks(y)
        return np.where(u < at, left, right) * (u - at)

    def gradient(self, y, u):
        """A subgradient: the middle of the two slopes at the kink itself."""
        at, left, right = self.kinks(y)
        return np.where(u < at, left, np.where(u > at, right, (left + right) / 2))

    def line_search(self, y, u, psi, weight, group=None, n_groups=1):
        at, left, right = (np.broadcast_to(part, np.shape(u)) for part in self.kinks(y))
        moving = psi != 0
        position = (at - u) / np.where(moving, psi, 1.0)
        jump = np.where(moving, weight * np.abs(psi) * (right - left), 0.0)
        # At b = -inf a row with psi > 0 is left of its kink, one with psi < 0 right of it.
        start = group_sums(weight * psi * np.where(psi > 0, left, right), group, n_groups)
        return root_of_jumps(position, jump, start, group, n_groups)


class AbsoluteLoss(_PiecewiseLinearLoss):
    """l(y, u) = |y - u|; the optimal constant is the weighted median."""

    lipschitz = 1.0

    def kinks(self, y):
        return y, -1.0, 1.0


class QuantileLoss(_PiecewiseLinearLoss):
    """l(y, u) = q (y - u)+ + (1 - q) (u - y)+; the optimal constant is the weighted q-quantile.

    Parameters
    ----------
    quantile : float, default=0.5
        q, strictly between 0 and 1.
    """

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def check_target(self, y):
        if not (isinstance(self.quantile, Real) and 0 < self.quantile < 1):
            raise ValueError(f"quantile must lie strictly between 0 and 1, got {self.quantile!r}.")

    @property
    def lipschitz(self):
        return max(self.quantile, 1 - self.quantile)

    def kinks(self, y):
        return y, -self.quantile, 1 - self.quantile


class HingeLoss(_PiecewiseLinearLoss, _MarginLoss):
    """l(y, u) = (1 - y u)+, G1 = 1, not smooth."""

    lipschitz = 1.0

    def kinks(self, y):
        positive = y > 0
        return y, np.where(positive, -1.0, 0.0), np.where(positive, 0.0, 1.0)


class HuberLoss(Loss):
    """Half the square up to `delta`, linear beyond: G2 = 1, G1 = delta.

    Parameters
    ----------
    delta : float, default=1.0
        Residual, in units of y, at which the square turns into a line.
    """

    smoothness = 1.0

    def __init__(self, delta=1.0):
        self.delta = delta

    def check_target(self, y):
        if not (isinstance(self.delta, Real) and 0 < self.delta < np.inf):
            raise ValueError(f"delta must be a positive number, got {self.delta!r}.")

    @property
    def lipschitz(self):
        return self.delta

    def value(self, y, u):
        r = np.abs(y - u)
        near = np.minimum(r, self.delta)
        return near * (r - near / 2)

    def gradient(self, y, u):
        return np.clip(u - y, -self.delta, self.delta)


class PoissonLoss(Loss):
    """l(y, u) = exp(u) - y u, the Poisson likelihood with logarithmic link, for y >= 0."""

    def check_target(self, y):
        if np.min(y, initial=0) < 0 or not np.sum(y) > 0:
            raise ValueError("PoissonLoss needs targets y that are not negative and not all zero.")

    def value(self, y, u):
        return _exp(u) - y * u

    def gradient(self, y, u):
        return _exp(u) - y

    def hessian(self, y, u):
        return _exp(u)

    def inverse_link(self, u):
        return _exp(u)

    def link(self, mean):
        return np.log(mean)

    def optimal_constant(self, y, sample_weight=None):
        return float(np.log(np.average(y, weights=sample_weight)))

    def leaf_values(self, y, u, weight, leaf, n_leaves):
        """log(sum w y / sum w exp(u)): exact; a leaf without events takes one Newton step, -1."""
        events = group_sums(weight * y, leaf, n_leaves)
        expected = group_sums(weight * _exp(u), leaf, n_leaves)
        known = (events > 0) & (expected > 0)
        ratio = np.where(known, events, 1.0) / np.where(known, expected, 1.0)
        return np.where(known, np.log(ratio), np.where(expected > 0, -1.0, 0.0))


class _UserLoss(Loss):
    """Any object with `value` and `gradient`, completed by the numerical defaults."""

    def __init__(self, loss):
        self.loss = loss

    def value(self, y, u):
        return self._checked("value", y, u, len(y))

    def gradient(self, y, u):
        return self._checked("gradient", y, u, np.shape(u))

    def hessian(self, y, u):
        if getattr(self.loss, "hessian", None) is None:
            return None
        return self._checked("hessian", y, u, np.shape(u))

    def _checked(self, name, y, u, shape):
        result = np.asarray(getattr(self.loss, name)(y, u), dtype=float)
        if result.shape != np.empty(shape).shape:
            raise ValueError(
                f"loss: {type(self.loss).__name__}.{name}(y, u) must have shape "
                f"{np.empty(shape).shape}, got {result.shape}."
            )
        return result

    def optimal_constant(self, y, sample_weight=None):
        if hasattr(self.loss, "optimal_constant"):
            return float(self.loss.optimal_constant(y, sample_weight))
        return super().optimal_constant(y, sample_weight)

    def inverse_link(self, u):
        return self.loss.inverse_link(u) if hasattr(self.loss, "inverse_link") else u

    @property
    def smoothness(self):
        return getattr(self.loss, "smoothness", np.inf)

    @property
    def lipschitz(self):
        return getattr(self.loss, "lipschitz", np.inf)

    @property
    def margin(self):
        return getattr(self.loss, "margin", False)

    @property
    def probability(self):
        return getattr(self.loss, "probability", False)


def as_loss(loss):
    """A `Loss`: itself, or any object with `value` and `gradient` completed to one."""
    if isinstance(loss, Loss):
        return loss
    if all(callable(getattr(loss, name, None)) for name in ("value", "gradient")):
        return _UserLoss(loss)
    raise TypeError(f"loss must have the methods value(y, u) and gradient(y, u), got {loss!r}.")
