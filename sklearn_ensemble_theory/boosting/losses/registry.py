"""The losses that have a name: one table for every estimator with a parameter `loss`.

A new loss is a class and a line here.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from sklearn_ensemble_theory.boosting.losses.base import Loss
from sklearn_ensemble_theory.boosting.losses.classification import (
    ExponentialLoss,
    HingeLoss,
    LogisticLoss,
    MultinomialLoss,
)
from sklearn_ensemble_theory.boosting.losses.custom import as_loss
from sklearn_ensemble_theory.boosting.losses.regression import (
    AbsoluteLoss,
    HuberLoss,
    PoissonLoss,
    QuantileLoss,
    SquaredLoss,
)

Target = Literal["real", "two classes", "many classes"]

REGISTRY: tuple[tuple[str, Target, type[Loss]], ...] = (
    ("squared_error", "real", SquaredLoss),
    ("absolute_error", "real", AbsoluteLoss),
    ("huber", "real", HuberLoss),
    ("quantile", "real", QuantileLoss),
    ("poisson", "real", PoissonLoss),
    ("log_loss", "two classes", LogisticLoss),
    ("log_loss", "many classes", MultinomialLoss),
    ("exponential", "two classes", ExponentialLoss),
    ("hinge", "two classes", HingeLoss),
)


def loss_names(target: Target, differentiable: bool = False) -> set[str]:
    """The names of the losses for a kind of target.

    Parameters
    ----------
    target : {"real", "two classes", "many classes"}
    differentiable : bool, default=False
        Only those whose gradient exists everywhere.
    """
    return {
        name
        for name, kind, loss in REGISTRY
        if kind == target and (loss.differentiable or not differentiable)
    }


def target_of(n_classes: int) -> Target:
    """The kind of target of so many classes; 0 is a real target."""
    return get_args(Target)[(n_classes > 0) + (n_classes > 2)]


def make_loss(loss: Any, n_classes: int = 0) -> Loss:
    """The loss of an estimator's parameter `loss`, for a target of so many classes.

    Parameters
    ----------
    loss : str or object with `value` and `gradient`
    n_classes : int, default=0
        0 for a real target.

    Raises
    ------
    ValueError
        If the loss has another number of scores than the target needs: one for real targets and
        two classes, one a class otherwise.
    """
    target = target_of(n_classes)
    if isinstance(loss, str):
        for name, kind, cls in REGISTRY:
            if (name, kind) == (loss, target):
                return cls()
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
