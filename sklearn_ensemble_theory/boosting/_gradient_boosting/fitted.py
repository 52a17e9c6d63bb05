"""A fitted model of gradient boosting: its predictions and attributes."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._scores import (
    ClassifierMixin,
    RegressorMixin,
    accuracy_of,
    r2_of,
)

from ..._blocks import by_chunks
from ..._categories import fitted_categories
from ..._documentation import documented
from ..._door import ReadsOnce
from ..._learners import grows_leaves, reads_single_precision
from ..._offsets import known_offset, offset_to_predict, offset_to_score
from ..._rows import Rows
from ..._typing import ArrayLike, MatrixLike, available_if
from ...trees._packed import PackedCache
from ...trees._pickled import PickledInBlocks
from ...trees._tree_arrays import dense_blocks, rows_as_read
from ..losses import Loss
from ..losses._losses import loss_gives_probabilities
from .model import AdditiveModel
from .texts import TEXTS


def check_one_score(n_scores: int) -> None:
    """Raise a ValueError for an offset of rows with several scores."""
    if n_scores > 1:
        raise ValueError(
            f"offset requires one score for each row, of one target or two classes; here are "
            f"{n_scores}."
        )


@documented(TEXTS)
class FittedBoosting(PickledInBlocks, ReadsOnce, BaseEstimator, metaclass=ABCMeta):
    """What fitted models of gradient boosting have, of real targets and of classes."""

    estimators_: np.ndarray
    estimator_: Any
    loss_: Loss
    steps_: np.ndarray
    n_features_in_: int
    n_jobs: int | None = None
    _start: Any
    _packed: PackedCache
    _n_scores: int
    _has_offset: bool = False  # of the fit

    categories_ = property(fitted_categories)

    @abstractmethod
    def _base_learner(self, X: Any = None) -> Any:
        """The base learner, for X."""

    @abstractmethod
    def _validate(self, X: Any, *y: Any, learner: Any = None, **options: Any) -> Any:
        """X, and y where it is given, checked."""

    def _has_trees(self) -> bool:
        """For `available_if`: whether the base learner is a tree, or an AttributeError."""
        learner = self._base_learner()
        if not reads_single_precision(learner):
            raise AttributeError(f"{type(learner).__name__} is not a tree.")
        return True

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> np.ndarray:
        """The members of this round."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[np.ndarray]:
        """Iterate over the members of the rounds."""
        return iter(self.estimators_)

    def _model(self) -> AdditiveModel:
        """The additive model, to predict from."""
        has_vectors = self.estimators_.shape[1] < self._n_scores
        of_classes = isinstance(self, ClassifierMixin)
        model = AdditiveModel(self.loss_, self._start, self._n_scores, of_classes, has_vectors)
        model.members, model.steps = self.estimators_.tolist(), self.steps_.tolist()
        model.n_jobs, model.packed = self.n_jobs, self._packed
        return model

    def _scores(self, X, offset=None) -> np.ndarray:
        check_is_fitted(self)
        known = vars(self).get("_known_scores")  # of a model that a metric looks at
        if known is not None and X is known[0]:
            scores: np.ndarray = known[1].copy()
            return scores
        return self._model().scores_of(self._rows_with(X, offset))

    def _staged_scores(self, X, offset=None) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        rows = self._rows_with(X, offset)
        for u in islice(self._model().staged_scores(rows.X), 1, None):
            yield u if rows.offset is None else u + rows.offset

    def _rows_with(self, X, offset) -> Rows:
        offset = known_offset(self, X, offset)
        X = self._validate(X, reset=False)
        known = offset_to_predict(self, offset, X, self._has_offset)
        if known is not None:
            check_one_score(self._n_scores)
        return Rows(X, np.empty(0), None, range(X.shape[0]), offset=known)

    @property
    def init_(self) -> Any:
        """The fitted estimator that predicts the initial scores, or "zero"."""
        check_is_fitted(self)
        start = self._start
        if hasattr(start, "predict") or isinstance(start, str):
            return start
        # A dummy whose constant prediction is that of the constant scores.
        p, loss = self.n_features_in_, self.loss_
        if isinstance(self, RegressorMixin):
            mean = np.asarray(loss.inverse_link(np.asarray(start)))
            return DummyRegressor(strategy="constant", constant=mean).fit(
                np.zeros((1, p)), [mean.tolist()]
            )
        assert isinstance(self, BoostedClassifier)
        X, u = np.zeros((len(self.classes_), p)), np.asarray(start, dtype=float)[None]
        if not loss.probability:
            dummy = DummyClassifier(strategy="constant", constant=self._decide(u)[0])
            return dummy.fit(X, self.classes_)
        shares = loss.class_probabilities(u)[0]
        return DummyClassifier(strategy="prior").fit(X, self.classes_, sample_weight=shares)

    @property
    def initial_scores_(self) -> Any:
        """The constant scores before the first round; None where `init` is an estimator."""
        check_is_fitted(self)
        if hasattr(self._start, "predict"):
            return None
        return 0.0 if isinstance(self._start, str) else self._start

    @property
    def max_features_(self) -> int:
        """The number of features that the trees consider at each node."""
        check_is_fitted(self)
        first: Any = next(iter(self.estimators_.flat), None)
        return int(first.max_features_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature over the members, of sum 1.

        Trees are weighted by the reduction of the squared error by their splits, as in
        scikit-learn. Other members with importances have equal weights.
        """
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        try:
            for member in self.estimators_.ravel():
                if grows_leaves(member):
                    total += member.tree_.compute_feature_importances(normalize=False)
                else:
                    total += member.feature_importances_
        except AttributeError as error:
            raise AttributeError(
                f"feature_importances_ is not available, because {type(self.estimator_).__name__} "
                "does not have it."
            ) from error
        return total / total.sum() if total.any() else total

    @available_if(lambda self: self._has_trees())
    @documented(TEXTS)
    @by_chunks
    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf of each tree that a row falls into; for trees as base learners only.

        %(of_X)s

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_rounds) or (n_samples, n_rounds, K)
            Indices of nodes. The third axis, for classifiers, is as long as the second axis of
            `estimators_`.

        %(cost_of_walks)s
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        leaves = np.empty((X.shape[0], *self.estimators_.shape), dtype=np.int64)
        for part, given in dense_blocks(X):
            rows = rows_as_read(given, None)
            for t, members in enumerate(self.estimators_):
                for k, member in enumerate(members):
                    tree = member.tree_
                    is_wide = getattr(tree, "wide", None) is not None
                    leaves[part, t, k] = tree.apply(given if is_wide else rows)
        is_alone = isinstance(self, RegressorMixin) and leaves.shape[2] == 1
        return leaves[:, :, 0] if is_alone else leaves


@documented(TEXTS)
class BoostedRegressor(RegressorMixin, FittedBoosting):
    """Predictions of real targets."""

    @by_chunks
    def predict(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the target, by the inverse link of the loss.

        %(rows_to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        u = self._scores(X, offset)
        return self.loss_.inverse_link(u)

    def staged_predict(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Predict the target after each round.

        %(rows_to_predict)s

        Yields
        ------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions after the round.
        """
        for u in self._staged_scores(X, offset):
            yield np.array(self.loss_.inverse_link(u))

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """R² of `predict`, the mean over several targets.

        %(of_X)s
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        %(weights_of_rows)s
        %(offset_to_score)s

        Returns
        -------
        score : float
            R², at most 1.

        %(raises_without_offset)s
        """
        offset = offset_to_score(self, offset, X, self._has_offset)
        return r2_of(self, X, y, sample_weight, offset)


@documented(TEXTS)
class BoostedClassifier(ClassifierMixin, FittedBoosting):
    """Predictions of classes."""

    classes_: np.ndarray

    @by_chunks
    def decision_function(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Compute the scores.

        For two classes a positive score predicts the second class; for more, the class with the
        largest score is predicted.

        %(rows_to_predict)s

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self._scores(X, offset)

    def staged_decision_function(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Compute the scores after each round.

        %(rows_to_predict)s

        Yields
        ------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores after the round.
        """
        for u in self._staged_scores(X, offset):
            yield u.copy()

    def _decide(self, u: np.ndarray) -> np.ndarray:
        return self.classes_.take(u > 0 if u.ndim == 1 else u.argmax(axis=1))

    @by_chunks
    def predict(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the class with the largest score; ties go to the first.

        %(rows_to_predict)s

        %(returns_predictions)s
        """
        return self._decide(self._scores(X, offset))

    def staged_predict(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Predict the class after each round.

        %(rows_to_predict)s

        %(yields_predictions)s
        """
        for u in self._staged_scores(X, offset):
            yield self._decide(u)

    @available_if(loss_gives_probabilities)
    @documented(TEXTS)
    @by_chunks
    def predict_proba(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Class probabilities, by the inverse link of the loss.

        Only for losses with `probability`: not for the hinge loss, for instance.

        %(rows_to_predict)s

        %(returns_probabilities)s
        """
        u = self._scores(X, offset)
        return self.loss_.class_probabilities(u)

    @available_if(loss_gives_probabilities)
    @documented(TEXTS)
    @by_chunks
    def predict_log_proba(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Logarithms of the class probabilities.

        %(rows_to_predict)s

        %(returns_log_probabilities)s
        """
        return np.log(np.maximum(self.predict_proba(X, offset), np.finfo(float).tiny))

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Accuracy of `predict`.

        %(of_X)s
        y : array-like of shape (n_samples,)
            Their labels.
        %(weights_of_rows)s
        %(offset_to_score)s

        Returns
        -------
        score : float
            The share of right labels.

        %(raises_without_offset)s
        """
        offset = offset_to_score(self, offset, X, self._has_offset)
        return accuracy_of(self, X, y, sample_weight, offset)

    @available_if(loss_gives_probabilities)
    @documented(TEXTS)
    def staged_predict_proba(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Class probabilities after each round.

        %(rows_to_predict)s

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities after the round, in the order of `classes_`.
        """
        for u in self._staged_scores(X, offset):
            yield self.loss_.class_probabilities(u)
