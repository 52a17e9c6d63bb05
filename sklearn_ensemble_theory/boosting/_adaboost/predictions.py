"""The predictions of a fitted AdaBoost: scores, classes, probabilities, margins, in each round."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._hot_loops.array_loops import two_valued
from sklearn_ensemble_theory._learners import (
    half_log_odds,
    has_fast_path,
    predict_codes,
    predict_validated,
)
from sklearn_ensemble_theory.boosting._adaboost.counterpart import VotesCounterpart
from sklearn_ensemble_theory.boosting._weak_classifiers import WeakClassifiersMixin
from sklearn_ensemble_theory.boosting._weak_learners import probability_score
from sklearn_ensemble_theory.trees._packed import PackedCache, TreeSums, packed_trees

# Stumps read columns, so X in C order is copied: so many rows of it.
ROWS_AT_A_TIME = 2**16


class VotesMixin(VotesCounterpart, WeakClassifiersMixin):
    """Predictions by weighted votes (discrete) and by sums of confidences (real, gentle)."""

    def _running_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The sum of the coefficients times the outputs after each round, in one array."""
        K = self.n_classes_
        scores = np.zeros(X.shape[0] if K <= 2 else (X.shape[0], K))
        trees = self._tree_sums(X)
        if trees is not None:
            # Each tree adds to all columns: a round is one tree.
            for _ in trees.rounds(X, scores.reshape(len(scores), -1)):
                yield scores
            return
        if has_fast_path(self.estimator_):
            X = np.asfortranarray(X)  # every stump reads one column
        for member, alpha in zip(self.estimators_, self.estimator_weights_):
            if self.algorithm_ == "discrete":
                codes = predict_codes(member, X, self.classes_)
                if K <= 2:
                    scores += two_valued(codes == 1, alpha, -alpha) if K == 2 else 0.0
                else:
                    votes = codes[:, None] == np.arange(K)
                    scores += np.where(votes, alpha, -alpha / (K - 1))
            else:
                scores += alpha * self._confidences(member, X)
            yield scores

    def _sum_of_scores(self, X: Any) -> np.ndarray:
        """The scores after the last round."""
        trees = self._tree_sums(X)
        if trees is None:
            n = X.shape[0]
            step = ROWS_AT_A_TIME if has_fast_path(self.estimator_) else n
            blocks = [slice(start, start + step) for start in range(0, n, step)] or [slice(None)]
            parts = [self._last_scores(X if n <= step else X[rows]) for rows in blocks]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)
        scores = np.zeros((len(X), trees.width))
        trees.add(X, scores)
        return scores[:, 0] if self.n_classes_ == 2 else scores

    def _last_scores(self, X: Any) -> np.ndarray:
        (scores,) = deque(self._running_scores(X), maxlen=1)
        return scores

    def _tree_sums(self, X: Any) -> TreeSums | None:
        """The scores as sums over trees; None where the members are no trees, or X is not dense."""
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub":
            return None
        if self.n_classes_ != 2 and self.algorithm_ != "discrete":
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(np.sum(X, dtype=np.float32)):  # the members report what is too large
                return None
        cache = vars(self).get("_packed") or PackedCache()
        return cache.get(
            "scores",
            self.estimators_,
            len(X),
            lambda n_rows: packed_trees(
                self.estimators_,
                width=1 if self.n_classes_ == 2 else self.n_classes_,
                leaf_outputs=self._leaf_scores,
                n_rows=n_rows,
            ),
        )

    def _leaf_scores(self, t: int, value: np.ndarray) -> np.ndarray:
        """What member t adds to the scores of rows in leaves of these values, if it is a tree."""
        member, alpha, K = self.estimators_[t], self.estimator_weights_[t], self.n_classes_
        if self.algorithm_ == "discrete":
            known = np.searchsorted(self.classes_, member.classes_)
            codes = known.take(value.argmax(axis=1))
            if K > 2:
                return np.where(codes[:, None] == np.arange(K), alpha, -alpha / (K - 1))
            return np.where(codes[:, None] == 1, alpha, -alpha)
        if not hasattr(member, "classes_"):
            return alpha * value
        second = member.classes_ == self.classes_[-1]
        return alpha * half_log_odds(value[:, second].sum(axis=1, keepdims=True))

    def _confidences(self, member: Any, X: Any) -> np.ndarray:
        if self.algorithm_ == "real" and hasattr(member, "predict_proba"):
            return probability_score(member, X, self.classes_)
        return predict_validated(member, X)

    def _norms(self) -> np.ndarray:
        """The divisors of the scores after each round; 1 for confidences.

        As in scikit-learn, the scores of two classes are added up and lie in [-2, 2].
        """
        if self.algorithm_ in ("discrete", "mh"):
            return np.cumsum(self.estimator_weights_) / (2.0 if self.n_classes_ == 2 else 1.0)
        return np.ones(len(self.estimators_))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """The decision function after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        score : ndarray
            As returned by `decision_function`.
        """
        X = self._check_X(X)
        if self.n_classes_ == 1:
            for _ in self.estimators_:
                yield np.zeros((X.shape[0], 1))
            return
        for scores, norm in zip(self._running_scores(X), self._norms()):
            yield scores / norm

    @by_chunks
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the score of each row; for two classes, positive predicts the second class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        score : ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            For ``"discrete"`` the weighted mean of the votes, and twice that for two classes, as
            in scikit-learn; `margins` uses the scale of the literature. For ``"mh"`` the weighted
            mean of the votes for (+1) and against (-1) each class. For ``"real"`` and ``"gentle"``
            the sum of the confidences, an estimate of half the log-odds; for more than two classes
            of each class against the others, weighted so that both have the same prior weight.
        """
        X = self._check_X(X)
        if self.n_classes_ == 1:
            return np.zeros((X.shape[0], 1))
        return self._sum_of_scores(X) / self._norms()[-1]

    def _to_proba(self, score: np.ndarray, norm: float) -> np.ndarray:
        K = self.n_classes_
        if K == 1:
            return np.ones((len(score), 1))
        if self.algorithm_ == "discrete":
            if K == 2:
                return softmax(np.column_stack([-score, score]) / 2, copy=False)
            return softmax(score / (K - 1), copy=False)
        if K == 2:
            return np.column_stack([expit(-2 * score), expit(2 * score)])
        # The exponential risk over rows and classes is least at F_k = log((K-1) P_k/(1-P_k))/2.
        twice = score * norm if self.algorithm_ == "mh" else 2 * score
        return softmax(log_expit(twice - np.log(K - 1)), copy=False)

    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of each row.

        For ``"real"`` and ``"gentle"`` these are 1 / (1 + exp(-2 F)), the inverse link of the
        exponential loss. For ``"discrete"`` they are scikit-learn's softmax of the normalised
        votes, which orders the rows as the decision function does and is not calibrated. For more
        than two classes and any algorithm but ``"discrete"`` they are 1 / (1 + (K-1) exp(-2 F_k)),
        the inverse link for each class, divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        return self._to_proba(self.decision_function(X), self._norms()[-1])

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """The class probabilities after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities after the round, in the order of `classes_`.
        """
        for score, norm in zip(self.staged_decision_function(X), self._norms()):
            yield self._to_proba(score, norm)

    @by_chunks
    def predict_log_proba(self, X: Any) -> np.ndarray:
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

    def margins(self, X: Any, y: ArrayLike) -> np.ndarray:
        """The normalised margin of each row, in [-1, 1]; positive where it is classified correctly.

        For two classes it is y f(x), divided by the sum of the coefficients (for confidences, times
        the largest outputs of the learners). For more classes it is the score of y minus the
        largest score of another class, divided by the largest possible difference; with
        ``"discrete"`` this is the share of votes for y minus the largest share of another class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with known classes.
        y : array-like of shape (n_samples,)
            True classes, among `classes_`.

        Returns
        -------
        margins : ndarray of shape (n_samples,)
            Margins.
        """
        score = self.decision_function(X)
        y = np.asarray(y)
        codes = np.searchsorted(self.classes_, y)
        known = codes < len(self.classes_)
        if len(y) != len(score) or not np.all(known) or np.any(self.classes_[codes] != y):
            raise ValueError("y must contain one of `classes_` for each row of X.")
        K = self.n_classes_
        if K == 1:
            return np.ones(len(score))
        if K == 2:
            gap = (2.0 * codes - 1.0) * score
        else:
            own = score[np.arange(len(y)), codes]
            gap = own - np.where(codes[:, None] == np.arange(K), -np.inf, score).max(axis=1)
        return np.clip(gap / self._largest_gaps()[-1], -1.0, 1.0)

    def _largest_gaps(self) -> np.ndarray:
        """How far the scores of two classes can be apart in each round; of two the score itself."""
        K = self.n_classes_
        if self.algorithm_ in ("discrete", "mh"):
            largest = K / (K - 1) if self.algorithm_ == "discrete" else 2.0
            return np.full(len(self.estimators_), largest)
        reach = np.cumsum(self.estimator_weights_ * self._reaches)
        return np.maximum(reach, np.finfo(float).tiny) * (1.0 if K == 2 else 2.0)

    def _staged_margin_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after each round in the scale of `margins`."""
        for score, gap in zip(self.staged_decision_function(X), self._largest_gaps()):
            yield score / gap

    def _training_error_bounds(self) -> dict[str, np.ndarray]:
        """Bounds on the training error after each round, by their names; {} if there are none."""
        K = self.n_classes_
        if K == 1 or (K > 2 and self.algorithm_ == "discrete"):
            return {}
        # For more than two classes the risk bounds the Hamming loss.
        factor = 1.0 if K == 2 else np.sqrt(K - 1.0)
        if self.algorithm_ not in ("discrete", "mh") or self.learning_rate != 1:
            return {"exponential risk": factor * self.training_error_bounds_}
        bounds = {"product of 2 sqrt(eps (1 - eps))": factor * self.training_error_bounds_}
        least = float(self.edges_.min())
        if least > 0:
            rounds = np.arange(1, len(self.edges_) + 1)
            bounds["exp(-2 gamma² T)"] = factor * np.exp(-2.0 * least**2 * rounds)
        return bounds

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weak learners' importances, averaged with their coefficients as weights."""
        check_is_fitted(self)
        return self._mean_importances()
