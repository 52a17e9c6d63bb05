"""Losses: with the weak learner and the step rule, the three parts of a boosting algorithm.

A loss l(y, u) compares a target with a score. All functions work row by row, on arrays of shape
(n,), or (n, K) for the scores of the multinomial loss; the weighted mean over the rows is taken by
the estimators. Targets of the margin losses (logistic, exponential, hinge) are -1 and +1.

A custom loss needs two methods, ``value(y, u)`` and ``gradient(y, u)``; everything else has a
numerical default. Subclass `Loss`, or pass any object that has the two methods.

The constants are those of [Bach, §10.3.1]: each l(y, .) is `smoothness`-smooth (G2) and
`lipschitz`-Lipschitz (G1), inf where there is no such constant.

Estimators with a parameter `loss` take these by name:

{names}

References
----------
F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.
"""

from sklearn_ensemble_theory._addresses import publish

from ._base import Loss as Loss
from ._base import as_loss as as_loss
from ._losses import REGISTRY
from ._losses import AbsoluteLoss as AbsoluteLoss
from ._losses import BinomialLoss as BinomialLoss
from ._losses import ExponentialLoss as ExponentialLoss
from ._losses import GammaLoss as GammaLoss
from ._losses import HingeLoss as HingeLoss
from ._losses import HuberLoss as HuberLoss
from ._losses import LogisticLoss as LogisticLoss
from ._losses import MultinomialLoss as MultinomialLoss
from ._losses import PoissonLoss as PoissonLoss
from ._losses import QuantileLoss as QuantileLoss
from ._losses import SquaredLoss as SquaredLoss
from ._losses import TweedieLoss as TweedieLoss

__all__ = ["Loss", *sorted({loss.__name__ for _, _, loss in REGISTRY})]

publish(__name__, globals(), __all__)

if __doc__ is not None:  # it is with python -OO
    __doc__ = __doc__.format(
        names="\n".join(
            f'- ``"{name}"`` ({target}): `{loss.__name__}`' for name, target, loss in REGISTRY
        )
    )
