"""Boosting of two classes under weights that are bounded: the rounds, once for all such algorithms.

A plan (`BinaryPlan`) is a frozen record of parameters with one method: `start(problem)` wires a
risk, whose slope gives the weights of the rows, a learner, which makes a `Move` of the weak
learner's vote under them, and a step (`.._loop.boost`). The functions at the end choose among
plans, hold out rows, and take the rounds into `BinaryVotes`.

The risk of all but LPBoost is the mean of

    phi(z) = 1 - z for z <= 0, exp(-z) for z > 0

of the margin z. It is convex, its slope -phi' = min(1, exp(-z)) is at most 1, and so is its second
derivative (Kalai and Kanade 2009). A row of a wrong label has a weight of at most 1, however large
its negative margin, while its weight in AdaBoost is exp(-z).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.dummy import DummyClassifier

from sklearn_ensemble_theory._arrays import inner
from sklearn_ensemble_theory._compat import check_method_params
from sklearn_ensemble_theory._copies import warn_of_copies
from sklearn_ensemble_theory._folds import split_off
from sklearn_ensemble_theory._learners import (
    ClassTask,
    PreparedRounds,
    predict_codes,
    predictions_of,
    prepare_rounds,
)
from sklearn_ensemble_theory._native.stumps import exponential_weights
from sklearn_ensemble_theory._rows import Rows, positive_rows

from .._base_learners import Clones
from .._loop import BoostingRounds
from .._risk import RiskState
from ..steps import StepResult
from .votes import ALL, Votes, VoteStep, signs_of, vote_product

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
            member = self.fitted(rows, y, **{**params, "sample_weight": weight})
        return member, np.where(predictions_of(member, self.X) == self.y, 1.0, -1.0)


@dataclass(frozen=True)
class BinaryProblem:
    """Two classes to be told apart, by a weak learner whose clones have this seed.

    The y of the rows is 0 or 1, and their weights have the sum 1. `labels` are the classes of the
    members, and `fit_params` are passed to every `fit` of a clone.
    """

    rows: Rows
    labels: np.ndarray
    learner: Any
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
        """The weak learner's fast path, or clones, with margins -1 and +1 as outputs."""
        X, codes, weight, params = self.rows.X, self.rows.y, self.weight, self.fit_params
        if both_labels:
            params = check_method_params(X, params, indices=np.tile(np.arange(len(codes)), 2))
            X = vstack([X, X], format="csr") if issparse(X) else np.concatenate([X, X])
            codes, weight = np.concatenate([codes, 1 - codes]), np.tile(weight / 2, 2)
        task = ClassTask(codes, self.labels, random_state=self.seed)
        known = None if self.fit_params else prepare_rounds(self.learner, X, weight, task)
        if known is not None:
            return known
        return VoteClones(self.learner, X, None, task, params)


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
    """The mean of phi(c u_i) / c over the rows, where u_i are margins and the weights have sum 1.

    Its slope is the measure M = min(1, exp(-c u)); that of SmoothBoost (Servedio 2003) has c =
    -log(1 - gamma) / 2. c is `rate`, which may be changed between two rounds.
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
    """What the learner of a round decided: a `member`, None to "shrink", and for which rows.

    `edge` is 1/2 minus the member's error under the distribution that it was fitted to, NaN for
    "shrink"; `density` is that of the measure to which this distribution is proportional.
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

    - threshold: scores of at least this size are confident.
    - by_mean: the decision function is the mean of the votes instead of their weighted sum.
    - edges, densities, gains, risks: of the moves; the first-order gain of each round, and the risk
      after it.
    - details: what the step rule tells of each round (`StepResult.details`), also of those that are
      forgotten.
    - potentials: (n_plans, n_splits), those by which the plan was chosen, or None.
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
        self.plan: Any = None
        self.potentials: np.ndarray | None = None
        self.stop_reason = "n_estimators"

    def divisors(self) -> np.ndarray:
        return np.arange(1.0, len(self.members) + 1) if self.by_mean else super().divisors()

    def append(
        self, move: Move, step: float, gain: float, risk: float, details: Any = None
    ) -> None:
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


# --- plans, and the rounds of one -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BinaryPlan(ABC):
    """What is done with a problem of two classes.

    Rounds end when the error on held-out rows, the share `validation_fraction`, has not decreased
    for `patience` of them.
    """

    n_rounds: int
    patience: int | None = None
    validation_fraction: float = 0.1

    @abstractmethod
    def start(self, problem: BinaryProblem) -> tuple[BoostingRounds, BinaryVotes]:
        """The loop over the rows of a problem, and the votes that its rounds are kept in."""

    def split(self, rows: Rows, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows to fit and the rows that decide when to stop."""
        stratify = rows.y if np.bincount(rows.y, minlength=2).min() > 1 else None
        train, test = split_off(len(rows), self.validation_fraction, seed, stratify, rows.groups)
        warn_of_copies(rows.X, rows.y, [(train, test)])
        return np.sort(train), np.sort(test)


# Told of each round: a function that returns the votes so far, and figures; True ends the rounds.
EndRound = Callable[..., bool]
Splits = list[tuple[np.ndarray, np.ndarray]]


def boosted(
    plan: BinaryPlan,
    problem: BinaryProblem,
    held_out: BinaryProblem | None = None,
    end_round: EndRound | None = None,
) -> BinaryVotes:
    """The rounds until there are enough, the learner ends the loop, or errors stay."""
    rounds, votes = plan.start(problem)
    votes.plan, learner = plan, cast(VotesWithEdge, rounds.learner)
    if held_out is not None:
        signs, scores = held_out.signs, np.zeros(len(held_out.rows))
    for t, record in enumerate(islice(rounds, plan.n_rounds)):
        votes.append(
            record.predictor, record.step, record.first_order_gain, record.risk, record.details
        )
        figures = {"edge": record.predictor.edge, "potential": record.risk}
        if held_out is not None:
            votes.add(t, scores, held_out.rows.X)
            error = float(held_out.weight[signs_of(scores) != signs].sum())
            votes.held_out_errors.append(error)
            figures["validation error"] = error
        if end_round is not None and end_round(so_far=lambda: [votes], **figures):
            votes.stop_reason = "callback"
            break
        if plan.patience is not None and held_out is not None:
            best = int(np.argmin(votes.held_out_errors))
            if t - best >= plan.patience:
                votes.stop_reason = "early stopping"
                break
    else:
        if len(votes.members) < plan.n_rounds:
            # A step that ends the loop says why by its details.
            votes.stop_reason = rounds.stop_details or learner.stop_reason
    if votes.held_out_errors:
        votes.keep(int(np.argmin(votes.held_out_errors)) + 1)
    if not votes.members:  # the member alone, if it was the best of its class
        weak = learner.weak
        found = weak.best(None, problem.weight) if weak.is_exact else None
        if found is None:
            raise ValueError(
                f"estimator: in the first round {type(problem.learner).__name__} is as bad "
                "as or worse than random guessing, so there is nothing to boost."
            )
        risk = rounds.risk.at(rounds.u).value
        votes.append(Move(found[0], ALL, 0.0, 1.0), 1.0, 0.0, risk)
    return votes


def best_plan(
    plans: Sequence[BinaryPlan], problem: BinaryProblem, splits: Splits
) -> tuple[BinaryPlan, np.ndarray]:
    """The plan of the least mean potential on the test rows of the splits, and all of these."""
    potentials = np.empty((len(plans), len(splits)))
    for fold, (train, test) in enumerate(splits):
        fitted, tested = problem.take(train), problem.take(test)
        for k, plan in enumerate(plans):
            margins = tested.signs * boosted(plan, fitted).decision(tested.rows.X)
            potentials[k, fold] = CappedExponentialRisk(tested.weight).value(margins)
    return plans[int(potentials.mean(axis=1).argmin())], potentials


def votes_of_problem(
    plans: Sequence[BinaryPlan],
    problem: BinaryProblem,
    splits: Splits | None,
    seed: int,
    end_round: EndRound | None = None,
) -> BinaryVotes:
    """Choose the plan by all rows, hold some of them out, and boost."""
    plan, potentials, held_out = plans[0], None, None
    if splits is not None:
        plan, potentials = best_plan(plans, problem, splits)
    if plan.patience is not None:
        problem, held_out = map(problem.take, plan.split(problem.rows, seed))
    votes = boosted(plan, problem, held_out, end_round)
    votes.potentials = potentials
    return votes
