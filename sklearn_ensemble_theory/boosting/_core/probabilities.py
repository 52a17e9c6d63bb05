"""Probabilities of classifiers whose loss gives them: the methods exist where they have a value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from sklearn_ensemble_theory._chunks.chunked_predictions import by_chunks
from sklearn_ensemble_theory.boosting.losses.registry import make_loss

__all__ = ["ProbabilitiesMixin", "loss_gives_probabilities"]


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


class ProbabilitiesMixin:
    """`predict_proba` and `predict_log_proba` by the loss's inverse link.

    For a classifier with the parameter `loss`, the fitted attribute `loss_` and
    `decision_function`.
    """

    @available_if(loss_gives_probabilities)
    @by_chunks
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
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
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
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
