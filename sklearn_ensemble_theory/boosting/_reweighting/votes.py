"""Weighted votes of weak learners: what AdaBoost and the boosters of two classes predict with.

`Votes` are the members of a fitted ensemble with their coefficients: sums of scores on any rows,
after each round or after the last one. An ensemble has one for all of its classes (AdaBoost) or one
for each class, told from the rest (`binary.py`). `ReweightedEnsemble` is what the estimators share
about their weak learner, `WeightedVotes` the predictions of those that classify.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._arrays import inner, two_valued
from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce
from sklearn_ensemble_theory._learners import (
    half_log_odds,
    has_fast_path,
    has_input_tag,
    is_tree,
    predict_codes,
    predict_validated,
)
from sklearn_ensemble_theory._native.stumps import add_votes, weighted_votes
from sklearn_ensemble_theory._rows import (
    are_wrong,
    checked_weights,
    normalised_weights,
    validate_data,
    within_single_precision,
)
from sklearn_ensemble_theory._scores import ClassifierMixin
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.erm import DecisionStumpClassifier
from sklearn_ensemble_theory.trees._packed import PackedCache, TreeSums, packed_trees

from .._base_learners import probability_score
from ..steps import Step

# A sparse X of at most so many values, 2 GB, becomes dense for learners that need or prefer that.
MOST_DENSE_VALUES = 2**28
# Rows of X in C order that are copied at a time.
ROWS_AT_A_TIME = 2**16
# To which rows a round adds its vote: to all, or to those that are not confident yet. A round that
# shrinks has no member and moves confident scores towards 0.
ALL, UNCONFIDENT, SHRINK = "all", "unconfident", "shrink"


def signs_of(scores: np.ndarray) -> np.ndarray:
    """The predictions -1 and +1; a score of 0 predicts the first class."""
    return np.where(scores > 0, 1.0, -1.0)


def vote_product(weight: np.ndarray, votes: np.ndarray) -> float:
    """weight'votes; votes of one byte, as searches by sides return them, are not converted."""
    weight, votes = weight.ravel(), votes.ravel()
    if votes.dtype == np.int8:
        return weighted_votes(weight, votes)
    return inner(weight, votes)


class VoteStep(Step):
    """A step along votes, which may be of one byte."""

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        if psi.dtype == np.int8:
            add_votes(u.ravel(), psi.ravel(), b)
        else:
            super().move(u, psi, b)


class Votes:
    """Members with coefficients, and the scores of rows by them: one score for two classes, else K.

    - members: fitted estimators; None for a round that shrinks.
    - outputs: "votes" for a class, which are +1 for it and -1/(K-1) for the others; the "values" of
      `predict` as they are; or "log_odds", half those of the second class by `predict_proba`.
    - kinds: what each round does, "all", "unconfident" or "shrink"; "all" by default.
    - threshold: scores of at least this size are confident.
    - divisors: the decision function after each round is the score divided by this; 1 by default.
    - gaps: how far the decision functions of two classes can be apart after each round, and of two
      classes the size of the only one; the sum of the coefficients over the divisor by default.
    """

    def __init__(
        self,
        classes: np.ndarray,
        members: list,
        coefficients: Sequence[float] | np.ndarray,
        *,
        outputs: str = "votes",
        kinds: list[str] | None = None,
        threshold: float = np.inf,
        divisors: np.ndarray | None = None,
        gaps: np.ndarray | None = None,
        packed: PackedCache | None = None,
    ) -> None:
        self.classes, self.members, self.coefficients = classes, members, coefficients
        self.outputs, self.kinds, self.threshold = outputs, kinds, threshold
        self.given_divisors, self.given_gaps = divisors, gaps
        self.packed = PackedCache() if packed is None else packed
        self.width = 1 if len(classes) == 2 else len(classes)

    def divisors(self) -> np.ndarray:
        return np.ones(len(self.members)) if self.given_divisors is None else self.given_divisors

    def gaps(self) -> np.ndarray:
        if self.given_gaps is not None:
            return self.given_gaps
        sums = np.maximum(np.cumsum(np.abs(self.coefficients)), np.finfo(float).tiny)
        return sums / self.divisors()

    def add(self, t: int, scores: np.ndarray, X: Any) -> None:
        """Add round t to the scores of the rows of X, in place."""
        member, alpha = self.members[t], self.coefficients[t]
        kind = ALL if self.kinds is None else self.kinds[t]
        if kind == SHRINK:
            scores -= alpha * signs_of(scores) * (np.abs(scores) >= self.threshold)
            return
        if self.outputs == "log_odds" and hasattr(member, "predict_proba"):
            scores += alpha * probability_score(member, X, self.classes)
            return
        if self.outputs != "votes":
            scores += alpha * predict_validated(member, X)
            return
        codes, K = predict_codes(member, X, self.classes), len(self.classes)
        if K > 2:
            scores += np.where(codes[:, None] == np.arange(K), alpha, -alpha / (K - 1))
            return
        votes = two_valued(codes == 1, alpha, -alpha)
        # All moves are odd functions of the scores, so that margins y F and scores F move alike.
        if kind == UNCONFIDENT:
            votes *= np.abs(scores) < self.threshold
        scores += votes

    def staged_decision(self, X: Any) -> Iterator[np.ndarray]:
        """The decision function after each round; the arrays are the caller's."""
        for scores, divisor in zip(self._running_scores(X), self.divisors()):
            yield scores / divisor

    def decision(self, X: Any) -> np.ndarray:
        """The decision function after the last round."""
        n, trees = X.shape[0], self._trees(X)
        if trees is not None:
            scores = np.zeros((n, trees.width))
            trees.add(X, scores)
            return (scores[:, 0] if self.width == 1 else scores) / self.divisors()[-1]
        # Stumps read columns: rows in C order are copied, some at a time.
        by_columns = has_fast_path(self.members[0]) and not issparse(X)
        step = ROWS_AT_A_TIME if by_columns and n > ROWS_AT_A_TIME else n
        parts = []
        for start in range(0, n, step):
            part = X[start : start + step] if step < n else X
            part = np.asfortranarray(part) if by_columns else part
            scores = np.zeros(part.shape[0] if self.width == 1 else (part.shape[0], self.width))
            for t in range(len(self.members)):
                self.add(t, scores, part)
            parts.append(scores)
        scores = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return scores / self.divisors()[-1]

    def _running_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The sum of the coefficients times the outputs after each round, in one array."""
        scores = np.zeros(X.shape[0] if self.width == 1 else (X.shape[0], self.width))
        # All rows of a sparse X become dense at once for the rounds of packed trees.
        trees = None if issparse(X) else self._trees(X)
        if trees is not None:
            # Each tree adds to all columns: a round is one tree.
            for _ in trees.rounds(X, scores.reshape(len(scores), -1)):
                yield scores
            return
        if has_fast_path(self.members[0]) and not issparse(X):
            X = np.asfortranarray(X)
        for t in range(len(self.members)):
            self.add(t, scores, X)
            yield scores

    def _trees(self, X: Any) -> TreeSums | None:
        """The scores as sums over trees; None where the members are no trees."""
        is_sparse = issparse(X)
        if not (isinstance(X, np.ndarray) or is_sparse):
            return None
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            return None
        if (self.width > 1 and self.outputs != "votes") or set(self.kinds or ()) - {ALL}:
            return None

        def laid_out(n_rows: int) -> TreeSums | None:
            return packed_trees(
                self.members,
                width=self.width,
                leaf_outputs=self.leaf_scores,
                n_rows=n_rows,
                for_sparse=is_sparse,
            )

        kind = "scores of sparse rows" if is_sparse else "scores"
        return self.packed.get(kind, self.members, X.shape[0], laid_out)

    def leaf_scores(self, t: int, value: np.ndarray) -> np.ndarray:
        """What member t adds to the scores of rows in leaves of these values, if it is a tree."""
        member, alpha, K = self.members[t], self.coefficients[t], len(self.classes)
        if self.outputs == "votes":
            codes = np.searchsorted(self.classes, member.classes_).take(value.argmax(axis=1))
            if K > 2:
                return np.where(codes[:, None] == np.arange(K), alpha, -alpha / (K - 1))
            return np.where(codes[:, None] == 1, alpha, -alpha)
        if not hasattr(member, "classes_"):
            return alpha * value
        second = member.classes_ == self.classes[-1]
        return alpha * half_log_odds(value[:, second].sum(axis=1, keepdims=True))


CONSTRAINTS: dict[str, list] = {
    "estimator": [HasMethods(["fit", "predict"]), None],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
TEXTS = {
    "classifier": """
        estimator : object, default=None
            The weak learner, a classifier whose `fit` supports `sample_weight`. If None, it is
            ``DecisionStumpClassifier()``, which sorts the features once for all rounds.
        """,
    "n_estimators": """
        n_estimators : int, default=100
            The maximum number of rounds.
        """,
    "of_classifier": """
        Parameters
        ----------
        %(classifier)s
        %(n_estimators)s
        """,
    "seed": """
        random_state : int, RandomState instance or None, default=None
            Seed of the weak learners that have a `random_state`, and of rows that are drawn or held
            out.
        """,
    "progress": """
        verbose : int, default=0
            1 prints progress every few seconds, 2 after every round. Callbacks of
            `sklearn.callback` (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor`
            records the score on the training rows after each round.
        """,
    "several_classes": """
        n_jobs : int, default=None
            The number of threads for more than two classes, which are fitted one against the rest.
        %(seed)s
        verbose : int, default=0
            1 prints progress every few seconds, 2 after every round. Callbacks of
            `sklearn.callback` (scikit-learn 1.9) are set by `set_callbacks`; they see the rounds of
            all classes.
            `ScoringMonitor` records the score on the rows fitted after each round; for more than
            two classes, which are fitted one after another, at the end of the fit only.
        """,
    "early_stopping": """
        n_iter_no_change : int, default=None
            If given, a part of the rows is held out. Boosting ends when their error has not
            decreased for so many rounds, and keeps the rounds up to the least error.
        validation_fraction : float, default=0.1
            The share of rows to hold out for `n_iter_no_change`.
        """,
    "fitted": """
        classes_ : ndarray of shape (n_classes,)
            The class labels.
        n_classes_ : int
            The number of classes.
        votes_ : list of Votes
            The weighted votes of the members: one for all classes, or one for each class that is
            told from the rest.
        feature_importances_ : ndarray of shape (n_features,)
            Mean of the weak learners' importances, weighted by their coefficients.
        %(names_in_fit)s
        """,
    "votes_of_two_classes": """
        Attributes
        ----------
        %(fitted)s
        %(fitted_members)s
        """,
    "fitted_members": """
        estimator_ : estimator
            The weak learner that was cloned.
        estimators_ : list of estimators
            The fitted weak learners, of the rounds that are not "shrink". For more than two
            classes, this and what follows are lists of one entry for each class, which is told from
            the rest.
        n_estimators_ : int
            The number of rounds.
        train_scores_ : ndarray of shape (n_rounds,)
            The potential after each round.
        """,
    "validation_scores_": """
        validation_scores_ : ndarray of shape (n_rounds,)
            The error on the rows held out after each round; only with `n_iter_no_change`.
        """,
    "cost": """
        For n rows and p features a round of stumps costs O(n p) operations after O(n p log n) once.
        A prediction costs O(n_rounds) for each row.
        """,
    "known_rows": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with known classes.
        y : array-like of shape (n_samples,)
            True classes, among `classes_`.
        """,
}


class ReweightedEnsemble(CallbackSupportMixin, MetaEstimatorMixin, ReadsOnce, BaseEstimator):
    """An ensemble that boosts clones of `estimator`: input, routing of metadata, importances."""

    estimator: Any
    estimator_: Any
    estimators_: list
    estimator_weights_: np.ndarray

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def _boosted_learner(self) -> Any:
        return DecisionStumpClassifier() if self.estimator is None else self.estimator

    def _data_checks(self) -> dict:
        """What `validate_data` checks of X: as in scikit-learn, the learner validates it itself."""
        learner = self._boosted_learner()
        return {
            "accept_sparse": ["csr", "csc"],
            "allow_nd": True,
            "dtype": None,
            "learner": learner,
        }

    def _takes_sparse(self) -> bool:
        return has_input_tag(self.estimator, "sparse")

    def _check_X(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._data_checks())
        return within_single_precision(X) if is_tree(self.estimator_) else X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.input_tags.allow_nan = has_input_tag(self._boosted_learner(), "allow_nan")
        return tags

    def _routed(self, fit_params: dict) -> dict:
        """The parameters of `fit` that belong to the weak learner."""
        raise_for_params(fit_params, self, "fit")
        if not routing_enabled():
            return {}
        found: dict = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        return found

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

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weak learners' importances, averaged with their coefficients as weights."""
        check_is_fitted(self)
        pairs = zip(self.estimators_, self.estimator_weights_)
        total = self._summed_importances(pairs)
        weight = self.estimator_weights_.sum()
        return total / weight if weight > 0 else total  # 0 by a tiny learning rate

    def _summed_importances(self, pairs: Iterable[tuple[Any, float]]) -> np.ndarray:
        """The sum of the importances of members times their coefficients."""
        total = np.zeros(self.n_features_in_)
        try:
            for member, alpha in pairs:
                total += alpha * member.feature_importances_
        except AttributeError as error:
            raise AttributeError(
                f"{type(self.estimator_).__name__} does not have `feature_importances_`."
            ) from error
        return total


@documented(TEXTS)
class WeightedVotes(ClassifierMixin, ReweightedEnsemble, metaclass=ABCMeta):
    """A classifier that predicts by `Votes`: decisions, classes and scores after each round."""

    classes_: np.ndarray
    n_classes_: int

    @property
    @abstractmethod
    def votes_(self) -> Sequence[Votes]:
        """Those of all classes, or of each class told from the rest; none or any for one class."""

    def _data_checks(self) -> dict:
        if self.estimator is not None and not has_fast_path(self.estimator):
            return super()._data_checks()
        formats = ["csr", "csc"] if self._takes_sparse() else False
        learner = self._boosted_learner()
        return {
            "dtype": [np.float64, np.float32],
            "accept_sparse": formats,
            "learner": learner,
        }

    @by_chunks
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the score of each row; for two classes, positive predicts the second class.

        %(sparse_rows_to_predict)s

        Returns
        -------
        score : ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            The scores, in the order of `classes_`; the notes of the class say in which scale.
        """
        X = self._check_X(X)
        if self.n_classes_ == 1:
            return np.zeros((X.shape[0], 1))
        columns = [votes.decision(X) for votes in self.votes_]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """The decision function after each round.

        If each class is told from the rest, a class whose rounds have ended keeps its last score.

        %(sparse_rows_to_predict)s

        Yields
        ------
        score : ndarray
            As returned by `decision_function`.
        """
        X = self._check_X(X)
        if self.n_classes_ == 1:
            yield from (np.zeros((X.shape[0], 1)) for _ in self.estimators_)
            return
        columns = [votes.staged_decision(X) for votes in self.votes_]
        if len(columns) == 1:
            yield from columns[0]
            return
        score = np.zeros((X.shape[0], len(columns)))
        for _ in range(max(len(votes.members) for votes in self.votes_)):
            for k, column in enumerate(columns):
                score[:, k] = next(column, score[:, k])
            yield score.copy()

    def _staged_margin_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after each round, so that those of two classes differ by at most 1."""
        gaps = [votes.gaps() for votes in self.votes_]
        for t, score in enumerate(self.staged_decision_function(X)):
            # A class whose rounds have ended keeps its last score.
            gap = np.array([each[min(t, len(each) - 1)] for each in gaps])
            yield score / gap[0] if len(gap) == 1 else score / (2.0 * gap)

    def _decide(self, score: np.ndarray) -> np.ndarray:
        codes = score > 0 if self.n_classes_ == 2 else score.argmax(axis=1)
        return self.classes_.take(codes, axis=0)

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; ties go to the first class.

        %(sparse_rows_to_predict)s

        %(returns_predictions)s
        """
        return self._decide(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predictions after each round.

        %(sparse_rows_to_predict)s

        %(yields_predictions)s
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
        %(weights_or_equal)s

        Yields
        ------
        score : float
            Accuracy after the round.
        """
        weight = sample_weight
        if weight is not None:
            weight = normalised_weights(checked_weights(weight, X), 0)
        for prediction in self.staged_predict(X):
            right = ~are_wrong(y, prediction, self.classes_)
            yield float(np.average(right, weights=weight))


def votes_of(ensemble: WeightedVotes) -> Sequence[Votes]:
    """The votes of a fitted ensemble: of all classes, or of each class told from the rest."""
    return ensemble.votes_
