"""How the labels and probabilities of classifiers become one prediction."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._chunks.chunked_predictions import by_chunks
from sklearn_ensemble_theory._numerics.class_columns import aligned_columns
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, available_if


def _is_soft(ensemble: Any) -> bool:
    if ensemble.voting == "hard":
        raise AttributeError(f"predict_proba is not available when voting={ensemble.voting!r}")
    return True


class ClassVotesMixin:
    """The predictions of a fitted vote of classifiers."""

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict labels by the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The label with most votes or the largest mean probability, of equal ones the first in
            `classes_`.

        Notes
        -----
        Cost: a prediction of each member, and O(n K) for n rows and K classes.
        """
        check_is_fitted(self)
        if self.voting == "soft":
            winner = np.argmax(self.predict_proba(X), axis=1)
        else:
            winner = np.argmax(self._votes(X), axis=1)
        return self.le_.inverse_transform(winner)

    def _codes(self, X: MatrixLike) -> list[np.ndarray]:
        """The classes that each member predicts, as positions in `classes_`."""
        labels = [member.predict(X) for member in self.estimators_]
        return [self.le_.transform(found) for found in labels] if self.prefit else labels

    def _votes(self, X: MatrixLike) -> np.ndarray:
        """The sum of the weights of the members that vote for each class."""
        codes = self._codes(X)
        weights = self._kept_weights()
        votes = np.zeros((len(codes[0]), len(self.classes_)))
        for code, weight in zip(codes, np.ones(len(codes)) if weights is None else weights):
            votes[np.arange(len(votes)), np.asarray(code, dtype=np.intp)] += weight
        return votes

    def _probabilities(self, X: MatrixLike) -> list[np.ndarray]:
        found = [member.predict_proba(X) for member in self.estimators_]
        if not self.prefit:
            return found
        places = [self.le_.transform(member.classes_) for member in self.estimators_]
        n_classes = len(self.classes_)
        return [aligned_columns(proba, place, n_classes) for proba, place in zip(found, places)]

    @available_if(_is_soft)
    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the mean of the members' probabilities; with `voting="soft"`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Weighted mean probabilities, with columns in the order of `classes_`.

        Notes
        -----
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        return self._average(self._probabilities(X))

    def _staged_margin_scores(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The mean probabilities, or shares of votes, of all members."""
        check_is_fitted(self)
        if self.voting == "soft":
            yield self.predict_proba(X)
        else:
            votes = self._votes(X)
            yield votes / votes.sum(axis=1, keepdims=True)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the labels or probabilities that each member predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        predictions : ndarray
            With `voting="hard"` the positions in `classes_` of the labels, of shape (n_samples,
            n_classifiers); with `"soft"` the probabilities, of shape (n_samples, n_classifiers *
            n_classes), or with `flatten_transform=False` (n_classifiers, n_samples, n_classes).

        Notes
        -----
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        if self.voting == "hard":
            return np.asarray(self._codes(X)).T
        proba = self._probabilities(X)
        return np.hstack(proba) if self.flatten_transform else np.asarray(proba)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used, except that it has to agree with `feature_names_in_`.

        Returns
        -------
        names : ndarray of str
            Class and member, with `voting="soft"` followed by the number of the class.
        """
        if self.voting == "soft" and not self.flatten_transform:
            check_is_fitted(self, "n_features_in_")
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and "
                "`flatten_transform=False`"
            )
        numbered = self.voting == "soft"
        return self._names_out(input_features, len(self.classes_) if numbered else None)
