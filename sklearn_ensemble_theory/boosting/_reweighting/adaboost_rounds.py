"""The rounds of AdaBoost for classes: the exponential risk of margins, the steps, what is kept.

Rows in memory have exact thresholds and a weight each; rows in blocks (`adaboost_blocks.py`) have
bins whose weights are sums of integers. Both share the step, the loop's records and `kept_rounds`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from sklearn_ensemble_theory._arrays import inner
from sklearn_ensemble_theory._learners import ClassTask, HammingTask
from sklearn_ensemble_theory._native.stumps import exponential_weights
from sklearn_ensemble_theory._typing import RandomStateLike

from .._loop import LARGE, BoostingRounds, Round
from .._risk import Array, MarginRisk, MarginState, RiskState
from ..steps import LearningRate, Step, StepResult
from .adaboost_blocks import SummedRounds
from .votes import VoteStep, vote_product

# What the weak learner minimises in each variant, as `ClassTask` names it.
CRITERION_OF = {
    "discrete": "error",
    "mh": "error",
    "real": "log_odds",
    "gentle": "least_squares",
}
# What the members return in each variant, as `Votes` names it.
OUTPUTS_OF = {"discrete": "votes", "mh": "values", "real": "log_odds", "gentle": "values"}
# The variants whose weak learners vote; the others return confidences.
VOTING = ("discrete", "mh")
# An edge below this is rounding: after a step the learner's own edge is 0 up to 1e-16.
SMALLEST_EDGE = 1e-12
# Errors that are not above this are computed from logarithms.
SMALL_ERROR = 1e-6
# Below so many margins NumPy's passes cost as little as the compiled loops, unless these make whole
# rounds; these look after so many values whether the user has interrupted them.
FEW_MARGINS = 2**13
UNINTERRUPTED_VALUES = 2**25
# The sum of the weights divided by their largest possible value; below it they may be rounded to 0.
SMALLEST_TOTAL = 1e-50


# --- the plan -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdaBoostPlan:
    """A variant of AdaBoost, "discrete", "mh", "real" or "gentle", and its number of rounds."""

    variant: str
    n_rounds: int
    learning_rate: LearningRate

    @property
    def votes(self) -> bool:
        """Whether the weak learners vote; their outputs are confidences otherwise."""
        return self.variant in VOTING

    def task(
        self, codes: np.ndarray, classes: np.ndarray, random_state: RandomStateLike = None
    ) -> ClassTask | HammingTask:
        """What a weak learner is fitted to: classes, or the weights of rows and classes."""
        criterion = CRITERION_OF[self.variant]
        if len(classes) > 2 and self.variant != "discrete":
            return HammingTask(codes, classes, criterion)
        return ClassTask(codes, classes, criterion, random_state)

    def step(self, task: ClassTask | HammingTask) -> Step:
        if self.votes:
            return VotingStep(self.learning_rate, task)
        return ConfidenceStep(self.learning_rate)


def variant_of(variant: str, n_classes: int) -> str:
    """The variant that "auto" is, and "mh" for two classes."""
    if n_classes > 2 and variant != "discrete":
        return "mh" if variant == "auto" else variant
    return "discrete" if variant in ("auto", "mh") else variant


# --- the risk and the steps -----------------------------------------------------------------------


class OnePassMarginRisk(MarginRisk):
    """The same risk in one pass over the rows. O(n)."""

    def __init__(self, sample_weight: Array) -> None:
        super().__init__(sample_weight)
        start = self.log_start.ravel()
        self.largest = float(start.max())
        self.start: float | Array = self.largest if start.min() == self.largest else start

    def at(self, u: Array) -> MarginState:
        weight = np.empty_like(u)
        top = self.largest - float(u.min())
        total = exponential_weights(self.start, u.ravel(), top, weight.ravel())
        if not total > SMALLEST_TOTAL:  # the largest start and the smallest score are far apart
            return super().at(u)
        weight *= 1.0 / total
        value = top + math.log(total)
        value = math.exp(value) if value < 709 else math.inf
        return VoteState(value, self.target, weight, scale=value)


class VoteState(MarginState):
    """The state of a `OnePassMarginRisk`, for votes of one byte too."""

    def first_order_gain(self, psi: Array) -> float:
        return vote_product(self.weight, psi)


def margin_risk(weight: Array, learner: Any = None) -> MarginRisk:
    """The risk for initial weights of shape (n,) or (n, K), and the learner of all rounds."""
    many = weight.size >= FEW_MARGINS or getattr(learner, "boosts", False)
    return OnePassMarginRisk(weight) if many else MarginRisk(weight)


class VoteDetails(NamedTuple):
    """Details of a round of AdaBoost: the weighted error eps and the coefficient `alpha`.

    The coefficient is in scikit-learn's scale, 0 where the loop ends without a step. It ends by "no
    edge", or as "perfect": no row is misclassified, so that only this learner is kept.
    """

    error: float
    alpha: float
    stop_reason: str | None = None


class KeptRound(NamedTuple):
    """What a fitted model keeps of a round."""

    member: Any
    alpha: float
    error: float
    risk: float
    reach: float  # the largest output


PERFECT = StepResult(1.0, VoteDetails(0.0, 1.0, "perfect"))


class VotingStep(VoteStep):
    """The exact line search for votes: b = (K-1)²/K alpha, alpha = log((1-eps)/eps) + log(K-1).

    K is the number of answers of a vote, two for a vote for or against each class; b is then
    alpha/2 = log((1+g)/(1-g))/2, where g = 1 - 2 eps (Schapire and Singer 1999).
    """

    def __init__(self, learning_rate: LearningRate, task: ClassTask | HammingTask) -> None:
        super().__init__(learning_rate)
        self.K = task.n_answers
        self.right, self.wrong = task.vote_values

    def __call__(
        self,
        t: int,
        risk: MarginRisk,
        u: np.ndarray,
        psi: np.ndarray,
        state: RiskState,
        gain: float,
    ) -> StepResult:
        error = (self.right - gain) / (self.right - self.wrong)
        if error >= 1 - 1 / self.K - SMALLEST_EDGE:
            return StepResult(None, VoteDetails(error, 0.0, "no edge"))
        if error > SMALL_ERROR:
            log_error = math.log(error)
        else:  # too small for a difference, perhaps for a float
            mistakes = psi < 0
            if not mistakes.any():
                return PERFECT
            error = float(state.weight[mistakes].sum())
            log_error = float(logsumexp(risk.log_weight(u)[mistakes])) - risk.log_value(u)
        alpha = math.log1p(-error) - log_error + math.log(self.K - 1)
        alpha = self.rate(t) * alpha
        return StepResult(alpha * (self.K - 1) ** 2 / self.K, VoteDetails(error, alpha))


class VotingRounds(BoostingRounds):
    """Rounds of votes; those that nobody looks at are made in one piece where the learner can."""

    def _make_several(self) -> bool:
        risk, step, u = self.risk, self.step, self.u
        learner: Any = self.learner
        if self.unseen < 2 or not getattr(learner, "boosts", False):
            return False
        assert isinstance(risk, OnePassMarginRisk)
        if self.state is None:
            self.state = risk.at(u)
        at_once = max(UNINTERRUPTED_VALUES // (learner.index.n * learner.index.p), 2)
        n_rounds = min(self.unseen, at_once)
        limits = SMALL_ERROR, 0.5 - SMALLEST_EDGE, SMALLEST_TOTAL, LARGE
        given = self.state.weight, u, risk.start, risk.largest, step.rate(self.index), limits
        made = list(learner.vote_rounds(n_rounds, *given))
        self.state = None
        if not made:  # the general loop makes this round and those after it
            self.unseen = 0
            return False
        self.unseen -= len(made)
        # The last value may be one that needs logarithms.
        with np.errstate(over="ignore", invalid="ignore"):
            self.state = risk.at(u)
        made[-1][1][-1] = self.state.value
        for stump, (gain, error, alpha, b, value) in made:
            details = VoteDetails(error, alpha)
            self._made.append(Round(self.index, stump, b, value, gain, None, details))
            self.index += 1
        last = self._made[-1]
        if not (last.risk < LARGE and abs(last.step) < LARGE):
            self._check_scores(0.0, last.index)
        return True


class ConfidenceStep(Step):
    """Outputs that are confidences already: b is the learning rate."""

    def __call__(
        self,
        t: int,
        risk: MarginRisk,
        u: np.ndarray,
        psi: np.ndarray,
        state: RiskState,
        gain: float,
    ) -> StepResult:
        wrong = psi <= 0
        if not wrong.any():
            return PERFECT
        # A row with output 0 counts as half an error, like a vote by the toss of a coin.
        weight = state.weight.ravel()
        error = inner(weight, wrong.ravel()) - 0.5 * inner(weight, psi.ravel() == 0)
        if not gain > SMALLEST_EDGE:
            return StepResult(None, VoteDetails(error, 0.0, "no edge"))
        alpha = self.rate(t)
        return StepResult(alpha, VoteDetails(error, alpha))


# --- the rounds that are kept ---------------------------------------------------------------------


def kept_rounds(
    plan: AdaBoostPlan,
    rounds: BoostingRounds | SummedRounds,
    first: Callable[[], tuple[Any, Any] | None],
    found: list[KeptRound],
    end_round: Callable[..., bool],
) -> str | None:
    """Append the rounds to `found`, and return why there were no more; None if there is none.

    `first()` is what the weak learner finds in the first round, None if it is not exact;
    `end_round(error=, bound=)` is told of each round, and ends them by True.
    """
    # A perfect learner ends the rounds: its coefficient would be infinite.
    for record in islice(rounds, plan.n_rounds):
        error, alpha, reason = record.details
        if reason is not None:  # only this learner is kept
            found[:] = [KeptRound(record.predictor, 1.0, 0.0, 0.0, 1.0)]
            end_round(error=0.0, bound=0.0)
            return reason
        reach = 1.0 if plan.votes else float(np.abs(record.outputs).max())
        found.append(KeptRound(record.predictor, alpha, error, record.risk, reach))
        if end_round(error=error, bound=record.risk):
            return "callback"
    if len(found) == plan.n_rounds:
        return "n_estimators"
    if not found:
        # No round at all: only the constant is kept, if the learner was the best of its class.
        best, stopped = first(), rounds.stop_details
        if stopped is None or best is None:
            return None
        found.append(KeptRound(best[0], 1.0, stopped.error, 1.0, 1.0))
    return "no edge"
