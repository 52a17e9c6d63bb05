"""The losses with a name, a row each: what the tests of losses and of boosting read.

A new loss has a row here: its name, an instance, and the kind of targets that it is tested with.
"""

import numpy as np
from scipy.special import log_ndtr

from sklearn_ensemble_theory.boosting import losses

ROWS = [
    ("squared_error", losses.SquaredLoss(), "real"),
    ("absolute_error", losses.AbsoluteLoss(), "real"),
    ("huber", losses.HuberLoss(delta=0.7), "real"),
    ("quantile", losses.QuantileLoss(quantile=0.3), "real"),
    ("poisson", losses.PoissonLoss(), "count"),
    ("gamma", losses.GammaLoss(), "positive"),
    ("tweedie", losses.TweedieLoss(power=1.3), "claims"),
    ("binomial", losses.BinomialLoss(), "share"),
    ("log_loss", losses.LogisticLoss(), "sign"),
    ("log_loss", losses.MultinomialLoss(), "code"),
    ("exponential", losses.ExponentialLoss(), "sign"),
    ("hinge", losses.HingeLoss(), "sign"),
]
CASES = [(loss, kind) for _, loss, kind in ROWS]
ONE_SCORE = [(loss, kind) for loss, kind in CASES if kind != "code"]
OF_REALS = ("real", "count", "positive", "claims", "share")
REGRESSION = [name for name, _, kind in ROWS if kind in OF_REALS]
BINARY = [name for name, _, kind in ROWS if kind == "sign"]
BY_NAME = {name: loss for name, loss, kind in ROWS if kind != "code"}


def targets(kind, n, rng):
    """Random targets of a kind; the codes are those of four classes."""
    if kind == "real":
        return rng.standard_normal(n)
    if kind == "count":
        return rng.poisson(1.5, n).astype(float)
    if kind == "positive":
        return rng.gamma(2.0, 1.0, n)
    if kind == "claims":
        return rng.gamma(2.0 * rng.poisson(1.0, n) + 1e-300, 1.0)
    if kind == "share":
        return rng.integers(0, 4, n) / 3
    return rng.choice([-1.0, 1.0], n) if kind == "sign" else rng.integers(0, 4, n)


class LogCosh:
    """The guide's example; the second derivative is `share` times the right one, or absent."""

    def __init__(self, share=None):
        if share is not None:
            self.hessian = lambda y, u: share * (1 - np.tanh(u - y) ** 2)

    def value(self, y, u):
        return np.logaddexp(u - y, y - u) - np.log(2)

    def gradient(self, y, u):
        return np.tanh(u - y)


class PseudoHuber:
    def value(self, y, u):
        return np.hypot(1, u - y) - 1

    def gradient(self, y, u):
        return (u - y) / np.hypot(1, u - y)

    def hessian(self, y, u):
        return np.hypot(1, u - y) ** -3


class Gamma:
    """Deviance of y + 1 at the mean exp(u): Newton steps are 1 far below y, and huge far above."""

    def value(self, y, u):
        return (y + 1) * np.exp(-u) + u

    def gradient(self, y, u):
        return 1 - (y + 1) * np.exp(-u)

    def hessian(self, y, u):
        return (y + 1) * np.exp(-u)


class SoftAbsolute:
    """The absolute error, rounded so near to 0 that most rows have no curvature."""

    def value(self, y, u):
        return np.hypot(0.01, u - y) - 0.01

    def gradient(self, y, u):
        return (u - y) / np.hypot(0.01, u - y)

    def hessian(self, y, u):
        return 1e-4 * np.hypot(0.01, u - y) ** -3


class Probit:
    """Newton steps are too short by a tenth to a sixth."""

    margin = True

    def value(self, y, u):
        return -log_ndtr(y * u)

    def gradient(self, y, u):
        return -y * np.exp(-u * u / 2 - log_ndtr(y * u)) / np.sqrt(2 * np.pi)

    def hessian(self, y, u):
        slope = -y * self.gradient(y, u)
        return slope * (slope + y * u)


class SquaredHinge:
    """No second derivative beyond a margin of 1."""

    margin = True

    def value(self, y, u):
        return np.maximum(0, 1 - y * u) ** 2

    def gradient(self, y, u):
        return -2 * y * np.maximum(0, 1 - y * u)

    def hessian(self, y, u):
        return 2.0 * (y * u < 1)


class OwnMultinomial(losses.MultinomialLoss):
    """Without what is known of its parent's third derivative."""


def without_loops(loss):
    """The same loss as a subclass, which has no compiled loops."""
    known = vars(type(loss)).get("_is_self_concordant", False)
    return type("Plain", (type(loss),), {"_is_self_concordant": known})(**loss.get_params())


OF_USERS = [
    (LogCosh(), "real"),
    (LogCosh(1.0), "real"),
    (LogCosh(0.01), "real"),
    (LogCosh(100.0), "real"),
    (LogCosh(0.0), "real"),
    (PseudoHuber(), "real"),
    (Gamma(), "count"),
    (SoftAbsolute(), "real"),
    (Probit(), "sign"),
    (SquaredHinge(), "sign"),
    (OwnMultinomial(), "code"),
]


def far_problem(kind, seed=0, n=300):
    """Few columns that explain little; targets from far away."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)).round(1)
    y = targets(kind, n, rng)
    if kind == "real":
        y = 5 * X[:, 0] + y
    if kind in OF_REALS and kind != "share":
        y[::50] = 1e6
    return X, y
