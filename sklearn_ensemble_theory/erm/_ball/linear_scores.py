"""Predictions of a linear classifier with one score, or one for each class."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS
from sklearn_ensemble_theory._rows import finite_predictions, validate_data
from sklearn_ensemble_theory._typing import MatrixLike, available_if


def _has_link(model):
    if not MARGIN_FUNCTIONS[model.loss].has_link:
        raise AttributeError(f"predict_proba: loss={model.loss!r} gives no probabilities.")
    return True


class LinearScoresMixin:
    """For a classifier with the parameter `loss` and the attributes `coef_`, `intercept_`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features)
    intercept_ : ndarray of shape (n_problems,)
    """

    loss: str
    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray

    @finite_predictions
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores x'beta + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive for the second class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores[:, 0] if len(self.intercept_) == 1 else scores

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row: the largest score, the first class for ties.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @available_if(_has_link)
    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Class probabilities, by the link of the logistic or exponential loss.

        With more than two classes, those of the problems divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`.
        """
        scores = self.decision_function(X)
        proba = MARGIN_FUNCTIONS[self.loss].probability(scores)
        if proba.ndim == 1:
            return np.column_stack([1 - proba, proba])
        proba = np.maximum(proba, np.finfo(np.float64).tiny)
        return proba / proba.sum(axis=1, keepdims=True)

    @available_if(_has_link)
    @by_chunks
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Logarithms, in the order of `classes_`.
        """
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
