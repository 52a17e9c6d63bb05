"""Targets of gradient boosting: as the loss needs them, their initial scores and predictions."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._typing import MatrixLike, available_if
from sklearn_ensemble_theory.boosting.losses._registry import loss_gives_probabilities

# A larger target cannot be squared and summed.
LARGEST_TARGET = 1e150


class RealTargets:
    """Targets that are numbers."""

    loss_: Any
    n_features_in_: int
    _raw: Callable[[MatrixLike], np.ndarray]
    _staged_raw: Callable[[MatrixLike], Iterator[np.ndarray]]

    def _encode(self, y):
        return self._encode_known(y, {}), {}

    def _encode_known(self, y, description):
        # Writable, because numba compiles its loops once more for arrays that are not.
        y = np.require(y, np.float64, ["C", "W"])
        if np.max(np.abs(y), initial=0.0) > LARGEST_TARGET:
            raise ValueError(f"y has values above {LARGEST_TARGET:g}, which cannot be squared.")
        return y

    def _decode(self, y, description):
        return y

    def _check_kept(self, y):
        """Whether the targets of positive weight can be fitted."""

    def _dummy_init(self, start):
        """The constant prediction for the constant score that the rounds start from."""
        mean = np.asarray(self.loss_.inverse_link(np.asarray(start)))
        dummy = DummyRegressor(strategy="constant", constant=mean)
        return dummy.fit(np.zeros((1, self.n_features_in_)), [float(mean)])

    def _predict_init(self, init, loss, X):
        return np.ravel(init.predict(X))

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the target, by the inverse link of the loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        u = self._raw(X)
        return self.loss_.inverse_link(u)

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict the target after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """
        for u in self._staged_raw(X):
            yield np.array(self.loss_.inverse_link(u))


class ClassTargets:
    """Classes: -1 and +1 where there are two, otherwise 0 ... K-1."""

    classes_: np.ndarray
    loss_: Any
    n_features_in_: int
    _raw: Callable[[MatrixLike], np.ndarray]
    _staged_raw: Callable[[MatrixLike], Iterator[np.ndarray]]

    def _encode(self, y):
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, {classes[0]}; at least 2 classes are required.")
        description = {"classes_": classes, "n_classes_": len(classes)}
        return self._encode_known(y, description), description

    def _encode_known(self, y, description):
        classes = description["classes_"]
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        if np.any(classes[codes] != y):
            raise ValueError("y_val has classes that are not in y.")
        return 2.0 * codes - 1.0 if len(classes) == 2 else codes

    def _decode(self, y, description):
        classes = description["classes_"]
        return classes[(y > 0).astype(int) if len(classes) == 2 else y]

    def _check_kept(self, y):
        """Whether the targets of positive weight can be fitted."""
        if (y == y[0]).all():
            raise ValueError(
                "y contains 1 class after sample_weight trimmed classes with zero weights, while a "
                "minimum of 2 classes are required."
            )

    def _dummy_init(self, start):
        """The constant prediction for the constant scores that the rounds start from."""
        X = np.zeros((len(self.classes_), self.n_features_in_))
        u = np.asarray(start, dtype=float)[None]
        if not self.loss_.probability:
            dummy = DummyClassifier(strategy="constant", constant=self._decide(u)[0])
            return dummy.fit(X, self.classes_)
        shares = self.loss_.class_probabilities(u)[0]
        return DummyClassifier(strategy="prior").fit(X, self.classes_, sample_weight=shares)

    def _predict_init(self, init, loss, X):
        if not loss.probability:
            raise ValueError(
                f"init: {type(loss).__name__} gives no probabilities, so the scores cannot start "
                f"from the probabilities of {type(init).__name__}; use init=None or 'zero'."
            )
        proba = init.predict_proba(X)
        return proba[:, 1] if proba.shape[1] == 2 else proba

    @by_chunks
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the scores.

        For two classes a positive score predicts the second class; for more, the class with the
        largest score is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self._raw(X)

    def staged_decision_function(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Compute the scores after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores after the round.
        """
        for u in self._staged_raw(X):
            yield u.copy()

    def _decide(self, u):
        return self.classes_.take(u > 0 if u.ndim == 1 else u.argmax(axis=1))

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class with the largest score; ties go to the first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        return self._decide(self._raw(X))

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict the class after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """
        for u in self._staged_raw(X):
            yield self._decide(u)

    @available_if(loss_gives_probabilities)
    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Class probabilities after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities after the round, in the order of `classes_`.
        """
        for u in self._staged_raw(X):
            yield self.loss_.class_probabilities(u)
