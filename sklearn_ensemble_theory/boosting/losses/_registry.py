"""What estimators with a parameter `loss` share: losses by name, probabilities by their link."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._typing import available_if

from . import _classification, _regression
from ._base import Loss, as_loss

Target = Literal["real", "two classes", "many classes"]

# One line for each name. The parameters of the estimators, the table of the module's docstring and
# the tests read it.
REGISTRY: tuple[tuple[str, Target, type[Loss]], ...] = (
    ("squared_error", "real", _regression.SquaredLoss),
    ("absolute_error", "real", _regression.AbsoluteLoss),
    ("huber", "real", _regression.HuberLoss),
    ("quantile", "real", _regression.QuantileLoss),
    ("poisson", "real", _regression.PoissonLoss),
    ("log_loss", "two classes", _classification.LogisticLoss),
    ("log_loss", "many classes", _classification.MultinomialLoss),
    ("exponential", "two classes", _classification.ExponentialLoss),
    ("hinge", "two classes", _classification.HingeLoss),
)


def loss_names(target: Target, differentiable: bool = False) -> set[str]:
    """The names for a kind of target, or those whose gradient exists everywhere."""
    return {
        name
        for name, kind, loss in REGISTRY
        if kind == target and (loss.differentiable or not differentiable)
    }


def make_loss(loss: Any, n_classes: int = 0, alpha: float | None = None) -> Loss:
    """The loss of an estimator's parameter `loss`, for a target of so many classes; 0 if real.

    `alpha` is the parameter of this name, for losses by name that read it (`Loss._of_alpha`).

    Raises
    ------
    ValueError
        If the loss has another number of scores than the target needs: one for real targets and
        two classes, one a class otherwise.
    """
    target = get_args(Target)[(n_classes > 0) + (n_classes > 2)]
    if isinstance(loss, str):
        for name, kind, cls in REGISTRY:
            if (name, kind) == (loss, target):
                return cls() if alpha is None else cls._of_alpha(alpha)
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


def loss_gives_probabilities(model: Any) -> bool:
    """For `available_if`: whether the loss of a classifier has a link to probabilities.

    That of the fit, `loss_`; before a fit that of the parameter `loss`, for two classes.

    Raises
    ------
    AttributeError
        If it has not.
    """
    loss = getattr(model, "loss_", None) or make_loss(model.loss, n_classes=2)
    if not loss.probability:
        raise AttributeError(f"predict_proba: {type(loss).__name__} gives no probabilities.")
    return True


@available_if(loss_gives_probabilities)
@by_chunks
def predict_proba(self: Any, X: Any) -> NDArray[np.float64]:
    """Class probabilities, by the inverse link of the loss.

    Only for losses with `probability`: not for the hinge loss, for instance.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to predict.

    Returns
    -------
    proba : ndarray of shape (n_samples, n_classes)
        The columns are in the order of `classes_`.
    """
    u = self.decision_function(X)
    return self.loss_.class_probabilities(u)


@available_if(loss_gives_probabilities)
@by_chunks
def predict_log_proba(self: Any, X: Any) -> NDArray[np.float64]:
    """Logarithms of the class probabilities.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to predict.

    Returns
    -------
    log_proba : ndarray of shape (n_samples, n_classes)
        Logarithms of the class probabilities, in the order of `classes_`.
    """
    return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
