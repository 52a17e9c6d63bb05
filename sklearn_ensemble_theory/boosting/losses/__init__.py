"""Losses: with the weak learner and the step rule, the three parts of a boosting algorithm.

A loss l(y, u) compares a target with a score. All functions work row by row, on arrays of shape
(n,), or (n, K) for the scores of the multinomial loss; the weighted mean over the rows is taken by
the estimators. Targets of the margin losses (logistic, exponential, hinge) are -1 and +1.

A custom loss needs two methods, ``value(y, u)`` and ``gradient(y, u)``; everything else has a
numerical default. Subclass `Loss`, or pass any object that has the two methods.

The constants are those of [Bach, §10.3.1]: each l(y, .) is `smoothness`-smooth (G2) and
`lipschitz`-Lipschitz (G1), inf where there is no such constant.

References
----------
F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.
"""

from ._base import Loss
from ._base import as_loss as as_loss
from ._classification import (
    ExponentialLoss,
    HingeLoss,
    LogisticLoss,
    MultinomialLoss,
)
from ._regression import (
    AbsoluteLoss,
    HuberLoss,
    PoissonLoss,
    QuantileLoss,
    SquaredLoss,
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
