"""The steps of AdaBoost: the exact line search for votes, and that of confidences."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from sklearn_ensemble_theory._hot_loops.array_loops import inner
from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._learners import ClassTask, HammingTask
from sklearn_ensemble_theory.boosting._adaboost.margins import is_votes
from sklearn_ensemble_theory.boosting._risk import MarginRisk, RiskState
from sklearn_ensemble_theory.boosting._steps import LearningRate, Step, StepResult

# An edge below this is rounding: after a step the learner's own edge is 0 up to 1e-16.
SMALLEST_EDGE = 1e-12


class VoteDetails(NamedTuple):
    """Details of a round of AdaBoost.

    Attributes
    ----------
    error : float
        eps, the weighted error.
    alpha : float
        The coefficient in scikit-learn's scale; 0 where the loop ends without a step.
    stop_reason : {"perfect", "no edge"} or None
        "perfect": no row is misclassified, so that only this learner is kept.
    """

    error: float
    alpha: float
    stop_reason: str | None = None


PERFECT = StepResult(1.0, VoteDetails(0.0, 1.0, "perfect"))


class VotingStep(Step):
    """The exact line search for votes: b = (K-1)²/K alpha, alpha = log((1-eps)/eps) + log(K-1).

    K is the number of answers of a vote, two for a vote for or against each class; b is then
    alpha/2 = log((1+g)/(1-g))/2, where g = 1 - 2 eps (Schapire and Singer 1999).

    Parameters
    ----------
    learning_rate : float
    task : ClassTask or HammingTask
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
        if error > 1e-6:
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

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        if is_votes(psi) and uses_numba():
            from sklearn_ensemble_theory._hot_loops._stumps import vote_loops

            vote_loops.add_votes(u.ravel(), psi.ravel(), b)
        else:
            super().move(u, psi, b)


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
