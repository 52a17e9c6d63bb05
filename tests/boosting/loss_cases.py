"""The losses with a name, a row each: what the tests of losses and of boosting read.

A new loss has a row here: its name, an instance, and the kind of targets that it is tested with.
"""

import numpy as np

from sklearn_ensemble_theory.boosting import losses

ROWS = [
    ("squared_error", losses.SquaredLoss(), "real"),
    ("absolute_error", losses.AbsoluteLoss(), "real"),
    ("huber", losses.HuberLoss(delta=0.7), "real"),
    ("quantile", losses.QuantileLoss(quantile=0.3), "real"),
    ("poisson", losses.PoissonLoss(), "count"),
    ("log_loss", losses.LogisticLoss(), "sign"),
    ("log_loss", losses.MultinomialLoss(), "code"),
    ("exponential", losses.ExponentialLoss(), "sign"),
    ("hinge", losses.HingeLoss(), "sign"),
]
CASES = [(loss, kind) for _, loss, kind in ROWS]
ONE_SCORE = [(loss, kind) for loss, kind in CASES if kind != "code"]
REGRESSION = [name for name, _, kind in ROWS if kind in ("real", "count")]
BINARY = [name for name, _, kind in ROWS if kind == "sign"]
BY_NAME = {name: loss for name, loss, kind in ROWS if kind != "code"}


def targets(kind, n, rng):
    """Random targets of a kind; the codes are those of four classes."""
    if kind == "real":
        return rng.standard_normal(n)
    if kind == "count":
        return rng.poisson(1.5, n).astype(float)
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
