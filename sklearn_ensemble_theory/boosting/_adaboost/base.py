"""The fit of AdaBoost: the exponential risk of margins, a weak learner, and the step of votes."""

from collections.abc import Callable
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._compat import CallbackSupportMixin, HasMethods, Interval, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._learners import (
    ClassTask,
    HammingTask,
    PreparedRounds,
    has_fast_path,
    prepare_rounds,
    prepare_sums,
)
from sklearn_ensemble_theory._rows import ChunkedRows, rows_of_positive_weight, validate_data
from sklearn_ensemble_theory.boosting._adaboost._chunked.chunk_preparation import (
    rounds_of_chunks,
    summary_of_chunks,
)
from sklearn_ensemble_theory.boosting._adaboost._chunked.summed_rounds import SummedRounds
from sklearn_ensemble_theory.boosting._adaboost.coefficients import ConfidenceStep, VotingStep
from sklearn_ensemble_theory.boosting._adaboost.margins import margin_risk
from sklearn_ensemble_theory.boosting._adaboost.predictions import VotesMixin
from sklearn_ensemble_theory.boosting._loop import (
    BoostingRounds,
    RoundReports,
    boost,
    rows_for_callbacks,
)
from sklearn_ensemble_theory.boosting._steps import Step
from sklearn_ensemble_theory.boosting._weak_classifiers import (
    MOST_DENSE_VALUES,
    WeakLearnersMixin,
)
from sklearn_ensemble_theory.boosting._weak_learners import clone_learner
from sklearn_ensemble_theory.trees._packed import PackedCache

# What the weak learner minimises in each algorithm, as `ClassTask` names it.
CRITERION_OF = {
    "discrete": "error",
    "mh": "error",
    "real": "log_odds",
    "gentle": "least_squares",
}
# Coefficients times a smaller learning rate vanish.
SMALLEST_RATE = 1e-290
# The algorithms whose weak learners vote; the others return confidences.
VOTES = ("discrete", "mh")


class _Classes(NamedTuple):
    """The classes of the rows, as positions in the labels."""

    codes: np.ndarray
    labels: np.ndarray


class _KeptRound(NamedTuple):
    """What a fitted model keeps of a round."""

    member: Any
    alpha: float
    error: float
    risk: float
    reach: float  # the largest output


class BaseAdaBoost(
    VotesMixin, ClassifierMixin, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator
):
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, SMALLEST_RATE, None, closed="left")],
        "algorithm": [StrOptions({"auto", "discrete", "mh", "real", "gentle"})],
        "resample": ["boolean", StrOptions({"auto"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Boost the weak learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows. For decision stumps and binned trees, sparse matrices become dense
            arrays of at most 2**28 values. Or a Dask array or data frame, for decision stumps only.
        y : array-like of shape (n_samples,)
            Class labels; or a Dask collection.
        sample_weight : array-like of shape (n_samples,), default=None
            Initial weights; only their ratios matter. Or a Dask collection.
        **fit_params : dict
            Passed to the `fit` of the weak learners if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the weak learner cannot be used with the algorithm, or a given one is no better than
            guessing in the first round. With Dask collections also for other learners than decision
            stumps, for ``resample=True`` and for callbacks.
        """
        routed = self._routed(fit_params)
        estimator = self._boosted_learner()
        given = X
        X, y = validate_data(self, X, y, **self._data_checks())
        X = self._as_learner_takes_it(X)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        kept = rows_of_positive_weight(sample_weight, X)
        (X, codes), weight = kept.take(X, codes), kept.normalised
        self.algorithm_, task, learner = self._weak_learner(
            estimator, X, weight, _Classes(codes, classes), routed
        )
        weight = task.initial_weights(weight)
        rounds = boost(margin_risk(weight), learner, self._step(task), np.zeros(weight.shape))
        self._learn(
            rounds,
            estimator,
            classes,
            lambda: learner.best(None, weight) if learner.is_exact else None,
            lambda: rows_for_callbacks(given, y, kept, sample_weight is not None),
        )
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks, which are read twice; a round passes over their codes."""
        estimator = self._boosted_learner()
        self._check_chunked(estimator)
        summary, rows = summary_of_chunks(rows)
        each = _Classes(np.arange(len(summary.classes)), summary.classes)
        self.algorithm_, task = self._task(each)
        stumps = prepare_sums(estimator, task)
        rounds = rounds_of_chunks(rows, summary, stumps, self._step(task))
        self._learn(rounds, estimator, summary.classes, lambda: (rounds.member, None))

    def _check_chunked(self, estimator: Any) -> None:
        """Refuse what needs all rows in memory, before any pass over them."""
        name = type(estimator).__name__
        two = _Classes(np.arange(2), np.arange(2))
        if prepare_sums(estimator, ClassTask(*two)) is None:
            raise ValueError(
                f"estimator: {name} cannot be fitted to rows in chunks; use "
                "DecisionStumpClassifier, or rows in memory."
            )
        if self.resample is True:
            raise ValueError("resample=True draws rows, which must be in memory for it.")
        if getattr(self, "_skl_callbacks", None):
            raise ValueError(
                "Callbacks (set_callbacks) are given all rows, which must be in memory."
            )

    def _task(self, classes: _Classes) -> tuple[str, ClassTask | HammingTask]:
        """The algorithm, and what a weak learner with weights of rows and classes is fitted to."""
        if len(classes.labels) > 2 and self.algorithm != "discrete":
            algorithm = "mh" if self.algorithm == "auto" else self.algorithm
            return algorithm, HammingTask(*classes, CRITERION_OF[algorithm])
        algorithm = "discrete" if self.algorithm in ("auto", "mh") else self.algorithm
        return algorithm, ClassTask(*classes, CRITERION_OF[algorithm], self.random_state)

    def _step(self, task: ClassTask | HammingTask) -> Step:
        if self.algorithm_ in VOTES:
            return VotingStep(self.learning_rate, task)
        return ConfidenceStep(self.learning_rate)

    def _learn(
        self,
        rounds: BoostingRounds | SummedRounds,
        estimator: Any,
        classes: np.ndarray,
        first: Callable[[], Any],
        data: Callable[[], dict] | None = None,
    ) -> None:
        """Take the rounds and set what is learned.

        `first()` is what the weak learner finds in the first round, None if it is not exact;
        `data()` the rows for callbacks.
        """
        found: list[_KeptRound] = []

        def attributes() -> dict:
            errors = np.array([one.error for one in found])
            return {
                "classes_": classes,
                "n_classes_": len(classes),
                "estimator_": estimator,
                "estimator_weights_": np.array([one.alpha for one in found]),
                "estimator_errors_": errors,
                "edges_": 0.5 - errors,
                "training_error_bounds_": np.array([one.risk for one in found]),
                "estimators_": [one.member for one in found],
                "_reaches": np.array([one.reach for one in found]),
                "_packed": PackedCache(),
            }

        reports = RoundReports(self, self.n_estimators, data=data, attributes=attributes)
        stop_reason = self._take(rounds, found, reports)
        if not found:
            found.append(self._without_edge(first(), rounds.stop_details))
        vars(self).update(attributes(), stop_reason_=stop_reason)
        reports.finish(stop_reason)

    def _weak_learner(
        self, estimator: Any, X: Any, weight: np.ndarray, classes: _Classes, routed: dict
    ) -> tuple[str, ClassTask | HammingTask, PreparedRounds]:
        """The algorithm, what the weak learner is fitted to, and the weak learner."""
        resample = self._resamples(estimator)
        algorithm, task = self._task(classes)
        learner = None if resample else prepare_rounds(estimator, X, weight, task)
        if learner is not None:
            return algorithm, task, learner
        if task.kind.startswith("hamming"):
            if self.algorithm != "auto":
                name = type(estimator).__name__
                has = "rows are drawn" if resample else f"{name} has one weight for each row"
                raise ValueError(
                    f"estimator: algorithm={algorithm!r} with more than two classes (y has "
                    f"{len(classes.labels)}) requires a weak learner with a weight for each "
                    f"row and class, such as DecisionStumpClassifier, and no resampling; {has}. "
                    "Use algorithm='discrete' (SAMME), or OneVsRestClassifier around "
                    "this estimator."
                )
            algorithm, task = "discrete", ClassTask(*classes, "error", self.random_state)
            learner = None if resample else prepare_rounds(estimator, X, weight, task)
        if learner is None:
            self._check_estimator(estimator, resample)
            learner = clone_learner(estimator, X, None, task, routed, resample)
        return algorithm, task, learner

    def _take(
        self,
        rounds: BoostingRounds | SummedRounds,
        kept: list[_KeptRound],
        reports: RoundReports,
    ) -> str:
        """Fill in the rounds to keep; why there were no more."""
        votes = self.algorithm_ in VOTES
        for record in islice(rounds, self.n_estimators):
            details = record.details
            if details.stop_reason is not None:  # perfect: only this learner is kept
                kept[:] = [_KeptRound(record.predictor, 1.0, 0.0, 0.0, 1.0)]
                reports.end_round(error=0.0, bound=0.0)
                return str(details.stop_reason)
            reach = 1.0 if votes else float(np.abs(record.outputs).max())
            kept.append(
                _KeptRound(record.predictor, details.alpha, details.error, record.risk, reach)
            )
            if reports.end_round(error=details.error, bound=record.risk):
                return "callback"
        return "n_estimators" if len(kept) == self.n_estimators else "no edge"

    def _without_edge(self, found: Any, stopped: Any) -> _KeptRound:
        """No round at all: only the constant is kept, if the learner was the best of its class."""
        if stopped is None or found is None:
            name = type(self.estimator).__name__
            error = "" if stopped is None else f" (weighted error {stopped.error:.3g})"
            raise ValueError(
                f"estimator: in the first round {name} is as bad as or worse than random "
                f"guessing{error}, so there is nothing to boost."
            )
        return _KeptRound(found[0], 1.0, stopped.error, 1.0, 1.0)

    def _resamples(self, estimator: Any) -> bool:
        """Whether the weak learners are fitted to rows drawn by the weights."""
        if self.resample == "auto":
            return not has_fit_parameter(estimator, "sample_weight")
        return bool(self.resample)

    def _check_estimator(self, estimator: Any, resample: bool) -> None:
        """Raise a ValueError where clones of the estimator cannot be used with the algorithm."""
        name = type(estimator).__name__
        if not resample and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"estimator: {name} doesn't support sample_weight, which resample=False requires."
            )
        if self.algorithm == "gentle":
            needed, fits = "regressor", is_regressor(estimator)
        else:
            needed, fits = "classifier", is_classifier(estimator) or not is_regressor(estimator)
        if not fits:
            raise ValueError(
                f"estimator: algorithm={self.algorithm!r} requires a {needed}; {name} is not a "
                f"{needed}."
            )
        if self.algorithm == "real" and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator: algorithm='real' requires predict_proba, which {name} does not have."
            )

    def _takes_sparse(self) -> bool:
        return self._becomes_dense() or super()._takes_sparse()

    def _becomes_dense(self) -> bool:
        """Whether a sparse X becomes dense: for fast paths, which store all values anyway."""
        learner = self._boosted_learner()
        return has_fast_path(learner) and not get_tags(learner).input_tags.sparse

    def _as_learner_takes_it(self, X: Any) -> Any:
        if not sp.issparse(X) or not self._becomes_dense():
            return X
        n, p = X.shape
        if n * p > MOST_DENSE_VALUES:
            raise ValueError(
                f"X is sparse of shape {(n, p)}, too large for the dense array that "
                f"{type(self._boosted_learner()).__name__} needs. Use a learner that takes sparse "
                "X, such as estimator=DecisionTreeClassifier(max_depth=1), or fewer rows at once."
            )
        return X.toarray()

    def _check_X(self, X: Any) -> Any:
        return self._as_learner_takes_it(WeakLearnersMixin._check_X(self, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.classifier_tags.multi_class = (
            self.algorithm in ("auto", "discrete")
            or self.estimator is None
            or has_fast_path(self.estimator)
        )
        return tags
