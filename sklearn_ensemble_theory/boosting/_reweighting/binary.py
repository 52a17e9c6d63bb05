"""The estimators of two classes under bounded weights: the fit, once for all of them.

A booster is a plan (`binary_rounds.BinaryPlan`) and a subclass of `BinaryBooster`, in a file of
their own. `fit` here checks the data and tells each of several classes from the rest.
"""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import fitted_encoder, numbered_learner
from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory._cv_choice import CVChoice
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import (
    GROUPS_ON_REQUEST,
    has_fast_path,
    is_tree,
    takes_weights,
    with_groups,
    without_weights,
)
from sklearn_ensemble_theory._rows import (
    Rows,
    check_single_precision,
    checked_groups,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._typing import ArrayLike, available_if
from sklearn_ensemble_theory.trees._binned_tree import told_apart

from .._loop import RoundReports, rows_for_callbacks
from .binary_rounds import BinaryPlan, BinaryProblem, BinaryVotes, by_class, votes_of_problem
from .votes import CONSTRAINTS as OF_ENSEMBLES
from .votes import TEXTS, Votes, WeightedVotes

# The classes of the members where one class is told from the rest.
REST_AND_ONE = np.array([-1, 1])
CONSTRAINTS: dict[str, list] = {**OF_ENSEMBLES, "n_jobs": [Integral, None]}
EARLY_STOPPING: dict[str, list] = {
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
}


def _refuse_probabilities(model: "BinaryBooster") -> NoReturn:
    name = type(model).__name__
    raise AttributeError(
        f"predict_proba: the scores of {name} are not calibrated. Use "
        f"sklearn.calibration.CalibratedClassifierCV({name}(...))."
    )


@documented(TEXTS)
class BinaryBooster(WeightedVotes):
    """A booster of two classes by plans; more classes are told from the rest.

    A new one is a file with a plan,

        @dataclass(frozen=True, kw_only=True)
        class MyPlan(BinaryPlan):
            learning_rate: float

            def start(self, problem):
                risk = CappedExponentialRisk(problem.weight)  # .at(margins): value, target, weight
                learner = VotesWithEdge(problem.weak_learner())  # .best(...): the move of a round
                step = CorrelationStep(self.learning_rate)       # its coefficient
                rounds = BoostingRounds(risk, learner, step, np.zeros(len(problem.rows)))
                return rounds, BinaryVotes(problem.labels)

    and a subclass with `_parameter_constraints`, `__init__`, and `_plans`, which makes the plan of
    the parameters. Each part may be one of its own: `smooth.py` has a learner and a step; `lp.py`
    has a risk that is its own step, and votes whose coefficients all change. A learner that ends
    the rounds says why by its `stop_reason`, a step by `StepResult(None, reason)`; what a step
    tells of all other rounds is kept in the votes' `details`. A subclass may also make several
    plans, among which `_choice` says how to choose, and add attributes (`_attributes`). The class
    is then exported by `boosting` and by the package, and has a row in
    tests/reliability/equivariances.py.
    """

    n_estimators: int
    n_jobs: int | None
    random_state: Any
    _fitted_votes: list[BinaryVotes]
    _chosen: ClassVar[str] = ""  # the parameter that `_choice` is about

    @abstractmethod
    def _plans(self) -> Sequence[BinaryPlan]:
        """The plan, or those to choose from; a ValueError where parameters do not fit."""

    def _choice(self) -> CVChoice | None:
        """How to choose among the plans, if there is a choice."""
        return None

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Boost the weak learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows. Sparse matrices are accepted if the weak learner accepts them;
            decision stumps do not. A dense X may have missing values (NaN) where the weak learner
            takes them, as binned trees do.
        %(y_classification)s
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter. Rows of weight 0 are left out.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient. If rows are held
            out, `validation_fraction` of the groups are, and all rows of a group are on the same
            side. The same holds for the splits that choose a parameter.
        %(learner_params)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If parameters do not fit each other. If the weak learner is not a classifier, does not
            support weights or the missing values of X, or is no better than guessing in the first
            round.
        """
        plans, choice = self._plans(), self._choice()
        learner = self._boosted_learner()
        routed = self._routed(with_groups(fit_params, groups, learner))
        name = type(learner).__name__
        if not has_fast_path(learner) and not takes_weights(learner):
            raise ValueError(f"estimator: {without_weights(learner)}")
        if is_regressor(learner) and not is_classifier(learner):
            raise ValueError(f"estimator must be a classifier; {name} is a regressor.")

        given = X
        X, y = validate_data(self, X, y, **self._data_checks())
        learner = numbered_learner(learner, fitted_encoder(self))
        if is_tree(learner) and not routed:
            learner = told_apart(learner, X, y)
        if is_tree(learner):
            check_single_precision(X)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        rows, groups = kept_rows(X, codes, sample_weight), checked_groups(groups, X)
        splits = None
        if choice is not None and len(classes) > 1:
            cv = 3 if choice.cv is None else choice.cv
            splits = splits_of_rows(
                cv, X, codes, rows.numbers, True, parameter=f"{self._chosen}__cv", groups=groups
            )
        routed = rows.params_of(X, routed)
        X, codes, weight = rows.X, rows.y, rows.shares()
        groups = None if groups is None else rows.of(groups)

        # One problem for two classes, none for one, otherwise each class against the rest.
        labels, targets = classes, [codes] if len(classes) == 2 else []
        if len(classes) > 2:
            labels = REST_AND_ONE
            targets = [(codes == k).astype(np.intp) for k in range(len(classes))]
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=(len(targets), 2)).tolist()
        problems = [
            BinaryProblem(
                Rows(X, one, weight, range(len(one)), groups), labels, learner, seed, routed
            )
            for one, (seed, _) in zip(targets, seeds)
        ]

        def data() -> dict:
            # With more than two classes each of them holds out its own rows.
            part = None
            if len(problems) == 1 and plans[0].patience is not None:
                part = plans[0].split(problems[0].rows, seeds[0][1])[0]
            return rows_for_callbacks(given, y, rows, sample_weight is not None, part)

        def attributes(fitted: list[BinaryVotes]) -> dict:
            return {
                "classes_": classes,
                "n_classes_": len(classes),
                "estimator_": learner,
                **self._attributes(fitted),
            }

        n_parts = len(problems)
        reports = RoundReports(self, self.n_estimators, n_parts, data=data, attributes=attributes)
        # Threads also where a context asks for processes: all classes report to the same callbacks.
        fitted = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(votes_of_problem)(plans, problem, splits, seed, reports.end_round)
            for problem, (_, seed) in zip(problems, seeds)
        )
        fitted = list(fitted)
        reports.finish(
            ", ".join(dict.fromkeys(votes.stop_reason for votes in fitted)), lambda: fitted
        )
        # Everything has been fitted: from here on nothing fails.
        for name in ("validation_scores_", "cv_results_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes(fitted))
        return self

    def _attributes(self, fitted: list[BinaryVotes]) -> dict:
        """The attributes of the rounds: those of two classes, or a list of each class."""
        found = {
            "_fitted_votes": [votes.copy() for votes in fitted],
            "estimators_": by_class([m for m in v.members if m is not None] for v in fitted),
            "moves_": by_class(np.array(votes.kinds) for votes in fitted),
            "steps_": by_class(np.array(votes.coefficients) for votes in fitted),
            "edges_": by_class(np.array(votes.edges) for votes in fitted),
            "densities_": by_class(np.array(votes.densities) for votes in fitted),
            "gains_": by_class(np.array(votes.gains) for votes in fitted),
            "train_scores_": by_class(np.array(votes.risks) for votes in fitted),
            "n_estimators_": by_class(len(votes.members) for votes in fitted),
            "stop_reason_": by_class(v.stop_reason for v in fitted) if fitted else "one class",
        }
        if any(votes.held_out_errors for votes in fitted):
            found["validation_scores_"] = by_class(np.array(v.held_out_errors) for v in fitted)
        return found

    # --- predictions ------------------------------------------------------------------------

    @property
    def votes_(self) -> Sequence[Votes]:
        """The weighted votes of the members."""
        check_is_fitted(self)
        return self._fitted_votes

    @available_if(_refuse_probabilities)
    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Not available, because the scores are not calibrated.

        Use :class:`sklearn.calibration.CalibratedClassifierCV` around this estimator.

        %(sparse_rows_to_predict)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Nothing is returned; the attribute does not exist.
        """
        raise NotImplementedError

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weak learners' importances, averaged with their coefficients as weights."""
        rounds = (pair for v in self.votes_ for pair in zip(v.members, v.coefficients))
        total = self._summed_importances(pair for pair in rounds if pair[0] is not None)
        return total / total.sum() if total.any() else total
