"""The boosting loop, written once [Bach, §10.3.2].

    u_t = u_{t-1} + b_t psi(w_t)                                        [Bach, eq. (10.5)]

A weak learner, prepared with the rows beforehand, is an object with

    best(target, weight, scores) -> (predictor, psi), or None

(see `_weak_learners.PreparedRounds`) that fits `target` by least squares under `weight`: psi holds
the predictor's outputs on the rows. For outputs of fixed weighted norm, such as -1 and +1, that is
the same as maximising the inner product of psi with weight * target = -F'(u), the weak learner of
[Bach, §10.3.1]. Where it returns None the loop ends.

A step rule (`steps.Step`) chooses b_t and makes the move; Frank-Wolfe's also shrinks the scores so
far.

The loop depends on no algorithm: AdaBoost, gradient boosting and matching pursuit are choices of
the risk, the learner and the step rule.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from sklearn_ensemble_theory.boosting._core.risk import RiskState
from sklearn_ensemble_theory.boosting._core.steps import Step

# Scores are looked at where the risk or a step is not below: a pass over the rows is not free.
LARGE = 1e100


class Risk(Protocol):
    """What the loop needs of a risk."""

    def at(self, u: np.ndarray) -> RiskState: ...


class WeakLearner(Protocol):
    """What the loop needs of a weak learner.

    For scores of shape (n, K) the target has that shape too, and so have the outputs.
    """

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray] | None: ...


class Round(NamedTuple):
    """One round of boosting.

    Attributes
    ----------
    index : int
        t, counted from 0 over all fits of a warm-started model.
    predictor : object
        The member that the weak learner returned.
    step : float
        b_t.
    risk : float
        F(u_t), after the step.
    first_order_gain : float
        -F'(u_{t-1})' psi(w_t) over the risk's scale. With an exact weak learner over a symmetric
        dictionary it is the polar gauge gamma*(F'(u_{t-1})), which bounds the distance to the
        optimum [Bach, eq. (10.11)]; for AdaBoost it is e_t = 2 gamma_t, twice the edge. nan where
        the step does not need it (`Step.needs_outputs`).
    outputs : ndarray, or LeafOutputs where the step does not need them as an array
        psi(w_t) on the training rows.
    details : object
        The step's `StepResult.details`.
    """

    index: int  # type: ignore[assignment]
    predictor: Any
    step: float
    risk: float
    first_order_gain: float
    outputs: Any
    details: Any = None


class BoostingRounds:
    """Iterator of `Round` records, without end unless the learner or the step ends it.

    Attributes
    ----------
    state : RiskState or None
        The risk at the current scores; None before the first round.
    stop_details : object
        The `StepResult.details` of the step that ended the loop; None while it goes on, and where
        the learner had nothing to offer.
    """

    def __init__(
        self, risk: Risk, learner: WeakLearner, step: Step, u: np.ndarray, start: int
    ) -> None:
        self.risk, self.learner, self.step, self.u = risk, learner, step, u
        self.index = start
        self.state: RiskState | None = None
        self.stop_details: Any = None
        self._ended = False

    def __iter__(self) -> "BoostingRounds":
        return self

    def __next__(self) -> Round:
        if self._ended:
            raise StopIteration
        risk, u = self.risk, self.u
        if self.state is None:
            self.state = risk.at(u)
        state = self.state
        found = self.learner.best(state.target, state.weight, u)
        if found is None:
            self._ended = True
            raise StopIteration
        predictor, psi = found
        gain = math.nan
        if getattr(self.step, "needs_outputs", True):
            psi = np.asarray(psi)
            gain = state.first_order_gain(psi)
        b, details = self.step(self.index, risk, u, psi, state, gain)
        if b is None:
            self._ended, self.stop_details = True, details
            raise StopIteration
        self.state = state = None  # its arrays are free for those of the next one
        with np.errstate(over="ignore", invalid="ignore"):
            self.step.move(u, psi, b)
            self.state = risk.at(u)
        if not (self.state.value < LARGE and abs(float(b)) < LARGE):
            self._check_scores(psi)
        self.index += 1
        return Round(self.index - 1, predictor, b, self.state.value, gain, psi, details)

    def _check_scores(self, psi: Any) -> None:
        """ValueError for scores that overflow, or beyond what the risk's next targets need."""
        if np.isnan(np.asarray(psi)).any():  # of the learner's own: the ensemble says so
            return
        largest = getattr(self.risk, "largest_score", np.finfo(float).max)
        if not np.abs(self.u).max() <= largest:  # nan neither
            rate = self.step.rate(self.index)
            raise ValueError(
                f"learning_rate={rate:g} makes scores that overflow in round {self.index + 1}; use "
                "a smaller one."
            )


def boost(
    risk: Risk, learner: WeakLearner, step: Step, u: np.ndarray, start: int = 0
) -> BoostingRounds:
    """Rounds of boosting, as many as are taken from the iterator.

    Parameters
    ----------
    risk : EmpiricalRisk
        Or any object with ``at(u)`` that returns a `RiskState`.
    learner : object with ``best(target, weight, scores)``
    step : Step
        Or any callable ``step(t, risk, u, psi, state, gain)`` that returns a `StepResult`, with a
        method ``move(u, psi, b)``.
    u : float array of shape (n,) or (n, K)
        Scores on the training rows to start from; changed in place, so that it holds u_t when the
        t-th record is returned.
    start : int, default=0
        Index of the first round.

    Returns
    -------
    BoostingRounds
    """
    return BoostingRounds(risk, learner, step, u, start)
