"""The fit of boosting for noisy labels: one loop for two classes, one against the rest for more."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import CallbackSupportMixin, HasMethods, Interval
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._folds import split_off
from sklearn_ensemble_theory._learners import ClassTask, has_fast_path, is_tree
from sklearn_ensemble_theory._rows import rows_of_positive_weight, validate_data
from sklearn_ensemble_theory.boosting._loop import BoostingRounds, RoundReports, rows_for_callbacks
from sklearn_ensemble_theory.boosting._robust.candidates import VoteOptions, vote_rounds
from sklearn_ensemble_theory.boosting._robust.moves import ALL, BinaryVotes, Move, signs_of
from sklearn_ensemble_theory.boosting._weak_classifiers import WeakClassifiersMixin
from sklearn_ensemble_theory.trees._sklearn_trees import check_single_precision

# The classes of the members where one class is told from the rest.
REST_AND_ONE = np.array([-1, 1])


class BinaryRows(NamedTuple):
    """The rows of a problem of two classes; `labels` are the classes of the members."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    labels: np.ndarray

    def take(self, part: np.ndarray) -> "BinaryRows":
        weight = self.weight[part]
        return BinaryRows(self.X[part], self.codes[part], weight / weight.sum(), self.labels)

    @property
    def signs(self) -> np.ndarray:
        return 2.0 * self.codes - 1.0

    @property
    def task(self) -> ClassTask:
        return ClassTask(self.codes, self.labels)


class HeldOutRows(NamedTuple):
    """The rows that decide when to stop."""

    rows: BinaryRows
    scores: np.ndarray

    def error_after(self, votes: BinaryVotes, move: Move, step: float) -> float:
        """The share of errors once a round has been added to the scores."""
        votes.advance(self.scores, self.rows.X, move, step)
        return float(self.rows.weight[signs_of(self.scores) != self.rows.signs].sum())


def by_class(values: Iterable) -> Any:
    """The value of the only problem, or the list of those of all classes."""
    values = list(values)
    return values[0] if len(values) == 1 else values


def _refuse_probabilities(model: Any) -> NoReturn:
    name = type(model).__name__
    raise AttributeError(
        f"predict_proba: the scores of {name} are not calibrated. Use "
        f"sklearn.calibration.CalibratedClassifierCV({name}(...))."
    )


class BaseRobustBoosting(
    WeakClassifiersMixin,
    ClassifierMixin,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # Whether the decision function is the mean of the votes instead of their weighted sum.
    _by_mean: ClassVar[bool] = False

    @abstractmethod
    def _wired(
        self, rows: BinaryRows, options: VoteOptions, setting: Any
    ) -> tuple[BoostingRounds, BinaryVotes]:
        """The loop over the rows, and the rounds to fill, with the threshold of their moves."""

    def _splits(self, X: Any, y: np.ndarray, kept: Any) -> list | None:
        """The splits of the kept rows that `_setting` chooses by, if there is a choice."""
        return None

    def _setting(self, rows: BinaryRows, options: VoteOptions, splits: list | None) -> Any:
        """What is chosen by the data, before the rounds."""
        return None

    def _check_parameters(self) -> None:
        """Raise a ValueError where parameters do not fit each other."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Boost the weak learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows. Sparse matrices are accepted if the weak learner accepts them;
            decision stumps do not.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter. Rows of weight 0 are left out.
        **fit_params : dict
            Passed to the `fit` of the weak learners if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If parameters do not fit each other, the weak learner is no classifier or does not
            support weights, or it is no better than guessing in the first round.
        """
        self._check_parameters()
        routed = self._routed(fit_params)
        estimator = self._boosted_learner()
        self._check_estimator(estimator)
        given = X
        X, y = validate_data(self, X, y, **self._data_checks())
        if is_tree(estimator):
            check_single_precision(X)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        kept = rows_of_positive_weight(sample_weight, X)
        splits = self._splits(X, codes, kept.rows) if len(classes) > 1 else None
        (X, codes), weight = kept.take(X, codes), kept.normalised
        problems = [BinaryRows(X, codes, weight, classes)] if len(classes) == 2 else []
        if len(classes) > 2:
            ones = (codes == k for k in range(len(classes)))
            problems = [BinaryRows(X, one.astype(np.intp), weight, REST_AND_ONE) for one in ones]
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=(len(problems), 2))

        def data() -> dict:
            # With more than two classes each of them holds out its own rows.
            alone = len(problems) == 1 and self.n_iter_no_change is not None
            part = self._split(problems[0].codes, int(seeds[0, 1]))[0] if alone else None
            return rows_for_callbacks(given, y, kept, sample_weight is not None, part)

        def attributes(fitted: list[BinaryVotes]) -> dict:
            return {
                "classes_": classes,
                "n_classes_": len(classes),
                "estimator_": estimator,
                **self._vote_attributes(fitted),
            }

        reports = RoundReports(
            self, self.n_estimators, len(problems), data=data, attributes=attributes
        )
        # Threads also where a context asks for processes: all classes report to the same callbacks.
        fitted = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._fit_binary)(rows, splits, routed, pair, reports)
            for rows, pair in zip(problems, seeds)
        )
        fitted = list(fitted)
        reports.finish(
            ", ".join(dict.fromkeys(votes.stop_reason for votes in fitted)), lambda: fitted
        )
        # Everything has been fitted: from here on nothing fails.
        for name in ("validation_errors_", "cv_potentials_"):
            vars(self).pop(name, None)
        vars(self).update(attributes(fitted))
        return self

    def _check_estimator(self, estimator: Any) -> None:
        name = type(estimator).__name__
        if not has_fast_path(estimator) and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(f"estimator: {name} doesn't support sample_weight.")
        if is_regressor(estimator) and not is_classifier(estimator):
            raise ValueError(f"estimator must be a classifier; {name} is a regressor.")

    def _fit_binary(
        self,
        rows: BinaryRows,
        splits: list | None,
        routed: dict,
        seeds: np.ndarray,
        reports: RoundReports,
    ) -> BinaryVotes:
        """Boost for two classes."""
        options = VoteOptions(random_state=int(seeds[0]), fit_params=routed)
        setting = self._setting(rows, options, splits)
        train, held_out = rows, None
        if self.n_iter_no_change is not None:
            train, test = map(rows.take, self._split(rows.codes, int(seeds[1])))
            held_out = HeldOutRows(test, np.zeros(len(test.codes)))
        return self._boosted(train, options, setting, held_out, reports)

    def _split(self, codes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows to fit and the rows that decide when to stop."""
        stratify = codes if np.bincount(codes, minlength=2).min() > 1 else None
        train, test = split_off(len(codes), self.validation_fraction, seed, stratify)
        return np.sort(train), np.sort(test)

    def _boosted(
        self,
        rows: BinaryRows,
        options: VoteOptions,
        setting: Any,
        held_out: HeldOutRows | None = None,
        reports: RoundReports | None = None,
    ) -> BinaryVotes:
        """The rounds until there are enough, the learner ends the loop, or errors stay."""
        rounds, votes = self._wired(rows, options, setting)
        votes.setting = setting
        for record in islice(rounds, self.n_estimators):
            votes.moves.append(record.predictor)
            votes.steps.append(record.step)
            votes.gains.append(record.first_order_gain)
            votes.risks.append(record.risk)
            if record.details is not None:
                votes.smoothness = max(votes.smoothness, record.details)
            figures = {"edge": record.predictor.edge, "potential": record.risk}
            if held_out is not None:
                error = held_out.error_after(votes, record.predictor, record.step)
                votes.held_out_errors.append(error)
                figures["validation error"] = error
            if reports is not None and reports.end_round(so_far=lambda: [votes], **figures):
                votes.stop_reason = "callback"
                break
            if held_out is not None:
                best = int(np.argmin(votes.held_out_errors)) + 1
                if len(votes.moves) - best >= self.n_iter_no_change:
                    votes.stop_reason = "early stopping"
                    break
        else:
            if len(votes.moves) < self.n_estimators:
                votes.stop_reason = rounds.learner.stop_reason
        if votes.held_out_errors:
            votes.keep(int(np.argmin(votes.held_out_errors)) + 1)
        if not votes.moves:
            self._add_constant(votes, rows, rounds)
        return votes

    def _add_constant(self, votes: BinaryVotes, rows: BinaryRows, rounds: BoostingRounds) -> None:
        """No round at all: the member alone, if it was the best of its class."""
        learner: Any = rounds.learner
        found = learner.rounds.best(None, rows.weight) if learner.rounds.is_exact else None
        if found is None:
            name = type(self._boosted_learner()).__name__
            raise ValueError(
                f"estimator: in the first round {name} is as bad as or worse than random "
                "guessing, so there is nothing to boost."
            )
        votes.moves.append(Move(found[0], ALL, 0.0, 1.0))
        votes.steps.append(1.0)
        votes.gains.append(0.0)
        votes.risks.append(rounds.risk.at(rounds.u).value)

    def _vote_attributes(self, fitted: list[BinaryVotes]) -> dict:
        """The attributes of the rounds: those of two classes, or a list of each class."""
        found = {
            "_votes": [votes.copy() for votes in fitted],
            "estimators_": by_class(votes.members for votes in fitted),
            "moves_": by_class(np.array([m.kind for m in v.moves]) for v in fitted),
            "steps_": by_class(np.array(votes.steps) for votes in fitted),
            "edges_": by_class(np.array([m.edge for m in v.moves]) for v in fitted),
            "densities_": by_class(np.array([m.density for m in v.moves]) for v in fitted),
            "gains_": by_class(np.array(votes.gains) for votes in fitted),
            "train_scores_": by_class(np.array(votes.risks) for votes in fitted),
            "n_estimators_": by_class(len(votes.moves) for votes in fitted),
            "stop_reason_": by_class(v.stop_reason for v in fitted) if fitted else "one class",
        }
        if self.n_iter_no_change is not None:
            found["validation_errors_"] = by_class(np.array(v.held_out_errors) for v in fitted)
        return found

    # --- predictions ------------------------------------------------------------------------

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
            For more than two classes the score of each class against the rest.
        """
        X = self._check_X(X)
        if self.n_classes_ == 1:
            return np.zeros((X.shape[0], 1))
        columns = [votes.scores(X) for votes in self._votes]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """The decision function after each round.

        For more than two classes, a class whose rounds have ended keeps its last score.

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
            return
        columns = [votes.staged_scores(X) for votes in self._votes]
        if len(columns) == 1:
            yield from columns[0]
            return
        score = np.zeros((X.shape[0], len(columns)))
        for _ in range(max(len(votes.moves) for votes in self._votes)):
            for k, column in enumerate(columns):
                score[:, k] = next(column, score[:, k])
            yield score.copy()

    def _staged_margin_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after each round divided by the sum of the coefficients so far.

        With a column for each class, half of it: two scores then differ by at most 1.
        """
        reaches = [votes.reaches() for votes in self._votes]
        for t, score in enumerate(self.staged_decision_function(X)):
            # A class whose rounds have ended keeps its last score.
            reach = np.array([r[min(t, len(r) - 1)] for r in reaches])
            yield score / reach[0] if len(reach) == 1 else score / (2.0 * reach)

    @available_if(_refuse_probabilities)
    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Not available, because the scores are not calibrated.

        Use :class:`sklearn.calibration.CalibratedClassifierCV` around this estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Nothing is returned; the attribute does not exist.
        """
        raise NotImplementedError

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weak learners' importances, averaged with their coefficients as weights."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        try:
            for votes in self._votes:
                for move, step in zip(votes.moves, votes.steps):
                    if move.member is not None:
                        total += step * move.member.feature_importances_
        except AttributeError as error:
            raise AttributeError(
                f"{type(self.estimator_).__name__} does not have `feature_importances_`."
            ) from error
        return total / total.sum() if total.any() else total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags


def make_rounds(model: BaseRobustBoosting, rows: BinaryRows, options: VoteOptions) -> Any:
    """The rounds of the model's weak learner over the rows."""
    return vote_rounds(model._boosted_learner(), rows.X, rows.weight, rows.task, options)
