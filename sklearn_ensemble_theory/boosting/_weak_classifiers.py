"""What ensembles of weak classifiers share: checks of X, metadata routing, predictions by stage.

AdaBoost and the boosting algorithms for noisy labels have the parameter `estimator`, whose default
is a decision stump, the fitted attributes `estimator_` and `classes_`, and the methods
`decision_function` and `staged_decision_function`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import raise_for_params, routing_enabled
from sklearn_ensemble_theory._learners import has_fast_path, reads_single_precision
from sklearn_ensemble_theory._rows import validate_data
from sklearn_ensemble_theory.erm import DecisionStumpClassifier
from sklearn_ensemble_theory.trees._sklearn_trees import check_single_precision

# A sparse X of at most so many values, 2 GB, becomes dense for learners that need or prefer that.
MOST_DENSE_VALUES = 2**28


class WeakLearnersMixin(ABC):
    """Input and routing of an ensemble that boosts clones of `estimator`."""

    estimator: Any
    estimator_: Any
    estimators_: Any
    estimator_weights_: np.ndarray

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    @abstractmethod
    def _boosted_learner(self) -> Any:
        """The learner to boost: `estimator`, or the default."""

    @abstractmethod
    def _data_checks(self) -> dict:
        """What `validate_data` checks of X."""

    def _routed(self, fit_params: dict) -> dict:
        """The parameters of `fit` that belong to the weak learner."""
        raise_for_params(fit_params, self, "fit")
        if not routing_enabled():
            return {}
        found: dict = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        return found

    def _takes_sparse(self) -> bool:
        learner = self.estimator if hasattr(self.estimator, "__sklearn_tags__") else None
        return learner is not None and bool(get_tags(learner).input_tags.sparse)

    def _check_X(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._data_checks())
        if reads_single_precision(self.estimator_):
            check_single_precision(X)
        return X

    def _mean_importances(self) -> np.ndarray:
        total = 0.0
        try:
            for member, alpha in zip(self.estimators_, self.estimator_weights_):
                total = total + alpha * member.feature_importances_
        except AttributeError as error:
            raise AttributeError(
                f"{type(self.estimator_).__name__} does not have `feature_importances_`."
            ) from error
        return np.asarray(total / self.estimator_weights_.sum())

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing of this estimator and of its weak learner."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._boosted_learner(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )


class WeakClassifiersMixin(WeakLearnersMixin):
    """Input, routing and predictions of a classifier that boosts weak classifiers."""

    classes_: np.ndarray
    n_classes_: int

    def _boosted_learner(self) -> Any:
        return DecisionStumpClassifier() if self.estimator is None else self.estimator

    def _data_checks(self) -> dict:
        if self.estimator is None or has_fast_path(self.estimator):
            formats = ["csr", "csc"] if self._takes_sparse() else False
            return {"dtype": [np.float64, np.float32], "accept_sparse": formats}
        # Any other learner validates X itself, as in scikit-learn.
        return {"accept_sparse": ["csr", "csc"], "allow_nd": True, "dtype": None}

    def _check_X(self, X: Any) -> Any:
        X = super()._check_X(X)
        # Every stump reads one column.
        return np.asfortranarray(X) if has_fast_path(self.estimator_) else X

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row and class, of which `predict` takes the largest."""

    @abstractmethod
    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """`decision_function` after each round."""

    def _decide(self, score: np.ndarray) -> np.ndarray:
        codes = score > 0 if self.n_classes_ == 2 else score.argmax(axis=1)
        return self.classes_.take(codes, axis=0)

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; ties go to the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        return self._decide(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predictions after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """
        for score in self.staged_decision_function(X):
            yield self._decide(score)

    def staged_score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Iterator[float]:
        """The accuracy after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with known classes.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.

        Yields
        ------
        score : float
            Accuracy after the round.
        """
        for prediction in self.staged_predict(X):
            yield accuracy_score(y, prediction, sample_weight=sample_weight)
