"""Boosting of two classes under weights that are bounded: the fit, once for all such algorithms.

A booster is a subclass of `BinaryBooster`, in a file of its own, with one method `_start`: it wires
a risk, whose slope gives the weights of the rows, a learner, which makes a `Move` of the weak
learner's vote under them, and a step (`.._loop.boost`). `fit` here checks the data, tells each of
several classes from the rest, holds out rows, and takes the rounds into `BinaryVotes`.

The risk of all but LPBoost is the mean of

    phi(z) = 1 - z for z <= 0, exp(-z) for z > 0

of the margin z. It is convex, its slope -phi' = min(1, exp(-z)) is at most 1, and so is its second
derivative (Kalai and Kanade 2009). A row of a wrong label has a weight of at most 1, however large
its negative margin, while its weight in AdaBoost is exp(-z).
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, cast

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_ensemble_theory._arrays import inner
from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import fitted_encoder, numbered_learner
from sklearn_ensemble_theory._compat import Interval, check_method_params
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._folds import split_off
from sklearn_ensemble_theory._learners import (
    ClassTask,
    PreparedRounds,
    has_fast_path,
    is_tree,
    predict_codes,
    predictions_of,
    prepare_rounds,
    with_groups,
)
from sklearn_ensemble_theory._native.stumps import exponential_weights
from sklearn_ensemble_theory._rows import (
    Rows,
    checked_groups,
    kept_rows,
    positive_rows,
    validate_data,
)
from sklearn_ensemble_theory._typing import ArrayLike, available_if
from sklearn_ensemble_theory.trees._sklearn_trees import check_single_precision

from .._loop import BoostingRounds, RoundReports, rows_for_callbacks
from .._risk import RiskState
from .._steps import StepResult
from .._weak_learners import Clones
from .votes import ALL, Votes, VoteStep, WeightedVotes, signs_of, vote_product

# The classes of the members where one class is told from the rest.
REST_AND_ONE = np.array([-1, 1])
# An edge below this is rounding.
SMALLEST_EDGE = 1e-12
# Below so many rows NumPy's passes cost as little as the compiled loops.
FEW_ROWS = 2**12


# --- the weak learner under weights ---------------------------------------------------------------


class VoteClones(Clones):
    """Classifiers fitted to the rows of positive weight; weights have the mean 1."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.y = self.task.classes.take(self.task.codes)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        rows = positive_rows(weight)
        y, weight = self.y[rows], weight[rows]
        if (y == y[0]).all():
            member = DummyClassifier(strategy="most_frequent").fit(self.X[rows], y)
        else:
            weight = weight / weight.mean()
            params = check_method_params(self.X, self.fit_params, indices=rows)
            member = self.fitted(self.X[rows], y, **{**params, "sample_weight": weight})
        return member, np.where(predictions_of(member, self.X) == self.y, 1.0, -1.0)


@dataclass(frozen=True)
class BinaryProblem:
    """Two classes to be told apart.

    Attributes
    ----------
    rows : Rows
        Their y is 0 or 1, and their weights have the sum 1.
    labels : array of shape (2,)
        The classes of the members.
    estimator : estimator
        The weak learner.
    seed : int
        Of its clones.
    fit_params : dict
        Passed to every `fit` of a clone.
    """

    rows: Rows
    labels: np.ndarray
    estimator: Any
    seed: int
    fit_params: dict

    @property
    def weight(self) -> np.ndarray:
        return self.rows.weights()

    @property
    def signs(self) -> np.ndarray:
        """y in -1 and +1."""
        return 2.0 * self.rows.y - 1.0

    def take(self, part: np.ndarray) -> "BinaryProblem":
        rows = self.rows.take(part)
        weight = rows.weights()
        params = check_method_params(self.rows.X, self.fit_params, indices=part)
        return replace(self, rows=replace(rows, weight=weight / weight.sum()), fit_params=params)

    def weak_learner(self, *, both_labels: bool = False) -> PreparedRounds:
        """The weak learner's fast path, or clones; outputs are margins, -1 and +1.

        With `both_labels` it is fitted to each row twice, with its own label and the other one.
        """
        X, codes, weight, params = self.rows.X, self.rows.y, self.weight, self.fit_params
        if both_labels:
            params = check_method_params(X, params, indices=np.tile(np.arange(len(codes)), 2))
            X = vstack([X, X], format="csr") if issparse(X) else np.concatenate([X, X])
            codes, weight = np.concatenate([codes, 1 - codes]), np.tile(weight / 2, 2)
        task = ClassTask(codes, self.labels, random_state=self.seed)
        known = None if self.fit_params else prepare_rounds(self.estimator, X, weight, task)
        if known is not None:
            return known
        return VoteClones(self.estimator, X, None, task, params)


# --- the risk, and what a round does --------------------------------------------------------------


class CappedState(RiskState):
    """The state of a `CappedExponentialRisk`.

    `weight` is the distribution of the weak learner, w M / density, and every target is the density
    sum w M of the measure M, so that weight * target is -F'(u).
    """

    @property
    def density(self) -> float:
        return float(self.target[0])

    def first_order_gain(self, psi: np.ndarray) -> float:
        return self.density * vote_product(self.weight, psi)


class CappedExponentialRisk:
    """The mean of phi(c u_i) / c over the rows, where u_i are margins.

    Its slope is the measure M = min(1, exp(-c u)); that of SmoothBoost (Servedio 2003) has
    c = -log(1 - gamma) / 2.

    Parameters
    ----------
    weight : array of shape (n,)
        The weights of the rows, of sum 1.
    rate : float, default=1.0
        c, which may be changed between two rounds.
    """

    def __init__(self, weight: np.ndarray, rate: float = 1.0) -> None:
        self.weight, self.rate = weight, rate
        same = len(weight) > 0 and weight.min() == weight.max()
        self._common = float(weight[0]) if same else None

    def measure(self, u: np.ndarray) -> np.ndarray:
        """M = min(1, exp(-c u))."""
        z = np.maximum(u, 0.0)
        if self.rate != 1.0:
            z *= self.rate
        if len(u) < FEW_ROWS:
            return np.exp(-z)
        found = np.empty_like(z)
        exponential_weights(0.0, z, 0.0, found)
        return found

    def at(self, u: np.ndarray) -> CappedState:
        """The value and the distribution at the margins u. O(n)."""
        mass = self.measure(u)
        # Where u > 0, phi is the measure; elsewhere it is 1 - c u.
        if self._common is None:
            mass *= self.weight
            density = float(mass.sum())
            linear = inner(self.weight, np.minimum(u, 0.0))
        else:
            total = float(mass.sum())
            mass *= self._common
            density = self._common * total
            linear = self._common * float(np.minimum(u, 0.0).sum())
        value = density / self.rate - linear
        if density > 0:
            mass *= 1.0 / density
        target = np.broadcast_to(density, mass.shape)
        return CappedState(value, target, mass)

    def value(self, u: np.ndarray) -> float:
        """F(u)."""
        return self.at(u).value


class Move(NamedTuple):
    """What the learner of a round decided.

    Attributes
    ----------
    member : fitted classifier, or None for "shrink"
    kind : {"all", "unconfident", "shrink"}
    edge : float
        1/2 minus the member's error under the distribution that it was fitted to; nan for "shrink".
    density : float
        The density of the measure that this distribution is proportional to.
    """

    member: Any
    kind: str
    edge: float
    density: float


class VotesWithEdge:
    """The learner of the loop: the weak learner's vote, as long as it is better than guessing.

    A subclass may end the loop earlier, by `ends`, or make other moves. Where no move is worth it,
    `best` returns None and `stop_reason` says why.
    """

    stop_reason = "n_estimators"

    def __init__(self, weak: PreparedRounds) -> None:
        self.weak = weak

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        """The move under the weights, and its margins; `target` holds the density, row by row."""
        density = float(target[0])
        found = self.weak.best(None, weight, scores)
        edge = 0.0 if found is None else 0.5 * vote_product(weight, found[1])
        if found is None or edge <= SMALLEST_EDGE:
            self.stop_reason = "no edge"
            return None
        return Move(found[0], ALL, edge, density), found[1]


class CorrelationStep(VoteStep):
    """b = learning_rate times the correlation sum w M y h, at most `longest`.

    The second derivative of the potential is at most 1, so that the step b along the correlation c
    lowers it by at least b c - b²/2.
    """

    def __init__(self, learning_rate: float, longest: float = math.inf) -> None:
        super().__init__(learning_rate)
        self.longest = longest

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float
    ) -> StepResult:
        return StepResult(min(self.rate(t) * gain, self.longest))


class BinaryVotes(Votes):
    """The rounds of a problem of two classes: their votes, and how the fit went.

    Parameters
    ----------
    labels : array of shape (2,)
    threshold : float, default=inf
        Scores of at least this size are confident.
    by_mean : bool, default=False
        Whether the decision function is the mean of the votes instead of their weighted sum.

    Attributes
    ----------
    edges, densities, gains, risks : lists of float
        Of the moves; the first-order gain of each round, and the risk after it.
    details : list
        What the step rule tells of each round (`StepResult.details`), also of those that are
        forgotten.
    held_out_errors : list of float
    setting : object
        What was chosen by the data before the rounds.
    stop_reason : str
    """

    kinds: list[str]
    coefficients: list[float]

    def __init__(
        self, labels: np.ndarray, threshold: float = np.inf, by_mean: bool = False
    ) -> None:
        super().__init__(labels, [], [], kinds=[], threshold=threshold)
        self.by_mean = by_mean
        self.edges: list[float] = []
        self.densities: list[float] = []
        self.gains: list[float] = []
        self.risks: list[float] = []
        self.details: list[Any] = []
        self.held_out_errors: list[float] = []
        self.setting: Any = None
        self.stop_reason = "n_estimators"

    def divisors(self) -> np.ndarray:
        return np.arange(1.0, len(self.members) + 1) if self.by_mean else super().divisors()

    def append(
        self, move: Move, step: float, gain: float, risk: float, details: Any = None
    ) -> None:
        """Keep a round."""
        self.members.append(move.member)
        self.kinds.append(move.kind)
        self.edges.append(move.edge)
        self.densities.append(move.density)
        self.coefficients.append(step)
        self.gains.append(gain)
        self.risks.append(risk)
        if details is not None:
            self.details.append(details)

    def keep(self, n_rounds: int) -> None:
        """Forget the rounds after the first `n_rounds`."""
        of_moves = self.members, self.kinds, self.edges, self.densities
        for values in (*of_moves, self.coefficients, self.gains, self.risks):
            del values[n_rounds:]

    def copy(self) -> "BinaryVotes":
        """The rounds so far, to which later ones are not added."""
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(other, name, value.copy())
        return other


class CorrectedVotes(BinaryVotes):
    """Votes of which each round sets all coefficients: its details, of sum 1."""

    def append(
        self, move: Move, step: float, gain: float, risk: float, details: Any = None
    ) -> None:
        super().append(move, step, gain, risk, [1.0] if details is None else details)
        self.coefficients[:] = self.details[-1]

    def gaps(self) -> np.ndarray:
        return np.ones(len(self.members))

    def staged_decision(self, X: Any) -> Iterator[np.ndarray]:
        votes: list[np.ndarray] = []
        for member, alphas in zip(self.members, self.details):
            votes.append(np.where(predict_codes(member, X, self.classes) == 1, 1.0, -1.0))
            yield sum((a * v for a, v in zip(alphas, votes)), np.zeros(X.shape[0]))


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


# --- the fit --------------------------------------------------------------------------------------


class BinaryBooster(WeightedVotes):
    """A booster of two classes, by one method `_start`; more classes are told from the rest.

    A new one is a subclass in a file of its own with `_parameter_constraints`, `__init__` and

        def _start(self, problem, setting):
            risk = CappedExponentialRisk(problem.weight)     # .at(margins): value, target, weight
            learner = VotesWithEdge(problem.weak_learner())  # .best(...): the move of a round
            step = CorrelationStep(self.learning_rate)       # its coefficient
            rounds = boost(risk, learner, step, np.zeros(len(problem.rows)))
            return rounds, BinaryVotes(problem.labels)

    Each part may be one of its own: `smooth.py` has a learner and a step; `lp.py` has a risk that
    is its own step, and votes whose coefficients all change. A learner that ends the rounds says
    why by its `stop_reason`, a step by `StepResult(None, reason)`; what a step tells of all other
    rounds is kept in the votes' `details`. A subclass may also choose a setting by the data
    (`_splits`, `_setting`), refuse parameters (`_check_parameters`) and add attributes
    (`_attributes`). The class is then exported by `boosting` and by the package, and has a row in
    tests/reliability/equivariances.py.
    """

    n_estimators: int
    n_iter_no_change: int | None
    validation_fraction: float
    n_jobs: int | None
    random_state: Any
    _fitted_votes: list[BinaryVotes]

    _parameter_constraints: ClassVar[dict] = {
        **WeightedVotes._parameter_constraints,
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
    }

    @abstractmethod
    def _start(self, problem: BinaryProblem, setting: Any) -> tuple[BoostingRounds, BinaryVotes]:
        """The loop over the rows of a problem, and the votes that its rounds are kept in."""

    def _check_parameters(self) -> None:
        """Raise a ValueError where parameters do not fit each other."""

    def _splits(
        self, X: Any, codes: np.ndarray, rows: Rows, groups: np.ndarray | None
    ) -> list | None:
        """The splits of the kept rows that `_setting` chooses by, if there is a choice."""
        return None

    def _setting(self, problem: BinaryProblem, splits: list | None) -> Any:
        """What is chosen by the data, before the rounds."""
        return None

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
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter. Rows of weight 0 are left out.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient. Where rows are
            held out, `validation_fraction` of the groups are, and all rows of a group are on the
            same side; so they are in the splits of `cv`, where the class has it.
        **fit_params : dict
            Passed to the `fit` of the weak learners if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If parameters do not fit each other, the weak learner is no classifier, does not support
            weights or the missing values of X, or is no better than guessing in the first round.
        """
        self._check_parameters()
        estimator = self._boosted_learner()
        routed = self._routed(with_groups(fit_params, groups, estimator))
        name = type(estimator).__name__
        if not has_fast_path(estimator) and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(f"estimator: {name} doesn't support sample_weight.")
        if is_regressor(estimator) and not is_classifier(estimator):
            raise ValueError(f"estimator must be a classifier; {name} is a regressor.")

        given = X
        X, y = validate_data(self, X, y, **self._data_checks())
        estimator = numbered_learner(estimator, fitted_encoder(self))
        if is_tree(estimator):
            check_single_precision(X)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        rows, groups = kept_rows(X, codes, sample_weight), checked_groups(groups, X)
        splits = self._splits(X, codes, rows, groups) if len(classes) > 1 else None
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
                Rows(X, one, weight, range(len(one)), groups), labels, estimator, seed, routed
            )
            for one, (seed, _) in zip(targets, seeds)
        ]

        def data() -> dict:
            # With more than two classes each of them holds out its own rows.
            alone = len(problems) == 1 and self.n_iter_no_change is not None
            part = self._split(problems[0].rows, seeds[0][1])[0] if alone else None
            return rows_for_callbacks(given, y, rows, sample_weight is not None, part)

        def attributes(fitted: list[BinaryVotes]) -> dict:
            return {
                "classes_": classes,
                "n_classes_": len(classes),
                "estimator_": estimator,
                **self._attributes(fitted),
            }

        n_parts = len(problems)
        reports = RoundReports(self, self.n_estimators, n_parts, data=data, attributes=attributes)
        # Threads also where a context asks for processes: all classes report to the same callbacks.
        fitted = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._fit_problem)(problem, splits, seed, reports)
            for problem, (_, seed) in zip(problems, seeds)
        )
        fitted = list(fitted)
        reports.finish(
            ", ".join(dict.fromkeys(votes.stop_reason for votes in fitted)), lambda: fitted
        )
        # Everything has been fitted: from here on nothing fails.
        for name in ("validation_errors_", "cv_potentials_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes(fitted))
        return self

    def _split(self, rows: Rows, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows to fit and the rows that decide when to stop."""
        stratify = rows.y if np.bincount(rows.y, minlength=2).min() > 1 else None
        train, test = split_off(len(rows), self.validation_fraction, seed, stratify, rows.groups)
        return np.sort(train), np.sort(test)

    def _fit_problem(
        self, problem: BinaryProblem, splits: list | None, seed: int, reports: RoundReports
    ) -> BinaryVotes:
        """Choose the setting by all rows, hold some of them out, and boost."""
        setting, held_out = self._setting(problem, splits), None
        if self.n_iter_no_change is not None:
            problem, held_out = map(problem.take, self._split(problem.rows, seed))
        return self._boosted(problem, setting, held_out, reports)

    def _boosted(
        self,
        problem: BinaryProblem,
        setting: Any,
        held_out: BinaryProblem | None = None,
        reports: RoundReports | None = None,
    ) -> BinaryVotes:
        """The rounds until there are enough, the learner ends the loop, or errors stay."""
        rounds, votes = self._start(problem, setting)
        votes.setting, learner = setting, cast(VotesWithEdge, rounds.learner)
        if held_out is not None:
            signs, scores = held_out.signs, np.zeros(len(held_out.rows))
        for t, record in enumerate(islice(rounds, self.n_estimators)):
            votes.append(
                record.predictor, record.step, record.first_order_gain, record.risk, record.details
            )
            figures = {"edge": record.predictor.edge, "potential": record.risk}
            if held_out is not None:
                votes.add(t, scores, held_out.rows.X)
                error = float(held_out.weight[signs_of(scores) != signs].sum())
                votes.held_out_errors.append(error)
                figures["validation error"] = error
            if reports is not None and reports.end_round(so_far=lambda: [votes], **figures):
                votes.stop_reason = "callback"
                break
            if self.n_iter_no_change is not None and held_out is not None:
                best = int(np.argmin(votes.held_out_errors))
                if t - best >= self.n_iter_no_change:
                    votes.stop_reason = "early stopping"
                    break
        else:
            if len(votes.members) < self.n_estimators:
                # A step that ends the loop says why by its details.
                votes.stop_reason = rounds.stop_details or learner.stop_reason
        if votes.held_out_errors:
            votes.keep(int(np.argmin(votes.held_out_errors)) + 1)
        if not votes.members:  # the member alone, if it was the best of its class
            weak = learner.weak
            found = weak.best(None, problem.weight) if weak.is_exact else None
            if found is None:
                raise ValueError(
                    f"estimator: in the first round {type(problem.estimator).__name__} is as bad "
                    "as or worse than random guessing, so there is nothing to boost."
                )
            risk = rounds.risk.at(rounds.u).value
            votes.append(Move(found[0], ALL, 0.0, 1.0), 1.0, 0.0, risk)
        return votes

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
        if self.n_iter_no_change is not None:
            found["validation_errors_"] = by_class(np.array(v.held_out_errors) for v in fitted)
        return found

    # --- predictions ------------------------------------------------------------------------

    @property
    def _votes(self) -> Sequence[Votes]:
        return self._fitted_votes

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
        rounds = (pair for v in self._votes for pair in zip(v.members, v.coefficients))
        total = self._summed_importances(pair for pair in rounds if pair[0] is not None)
        return total / total.sum() if total.any() else total
