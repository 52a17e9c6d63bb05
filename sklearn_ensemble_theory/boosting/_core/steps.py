"""Step rules: how far to go along the weak learner's outputs.

A rule is a subclass of `Step`, with one line in `STEP_RULES` if users may choose it by name. It is
called in each round with what is known then and returns a `StepResult`; it keeps no result of a
round in itself. Each coefficient is multiplied by `learning_rate`, a float or a callable of the
round t = 0, 1, ...
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory.boosting._core.risk import EmpiricalRisk, RiskState

LearningRate = float | Callable[[int], float]


class StepResult(NamedTuple):
    """What a step rule decided.

    Attributes
    ----------
    coefficient : float or None
        b of u + b psi; None ends the loop, without a step.
    details : object
        What else is known about the round, for whoever reads the records.
    """

    coefficient: float | None
    details: Any = None


class Step:
    """Base of the step rules: b = learning_rate * length.

    A subclass overrides `length`; one that ends the loop or has details overrides `__call__`.
    """

    def __init__(self, learning_rate: LearningRate = 1.0) -> None:
        self.learning_rate = learning_rate

    def check(self, risk: EmpiricalRisk) -> None:
        """Raise a ValueError where the rule cannot be used with this risk."""
        return

    def rate(self, t: int) -> float:
        """The learning rate of round t."""
        return self.learning_rate(t) if callable(self.learning_rate) else self.learning_rate

    def length(
        self, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> float:
        """The coefficient before the learning rate."""
        raise NotImplementedError

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> StepResult:
        """The coefficient of a round.

        Parameters
        ----------
        t : int
            The round.
        risk : EmpiricalRisk
        u : array of shape (n,) or (n, K)
            The current scores; not to be changed here.
        psi : array of the same shape
            The outputs of the weak learner.
        state : RiskState
            The risk at u.
        gain : float
            ``state.first_order_gain(psi)``.
        """
        return StepResult(self.rate(t) * self.length(risk, u, psi, state, gain))

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        """Change u in place: u <- u + b psi [Bach, eq. (10.5)]."""
        u += b * psi


class FixedStep(Step):
    """b = learning_rate: plain gradient boosting [Shah, §4.3]."""

    def length(self, risk, u, psi, state, gain):
        return 1.0


class LineSearchStep(Step):
    """b minimises F(u + b psi), for the psi that the weak learner has chosen before."""

    def length(self, risk, u, psi, state, gain):
        return risk.line_search(u, psi, state)


class SmoothStep(Step):
    """b = -F'(u)'psi / (L C²), the minimum of the quadratic upper bound [Bach, eq. (10.8)].

    The source prints (10.9) without the factor psi at its end; see the errata. With `radius=None`
    C² is |psi|² of the round itself, the tightest that (10.8) allows; a number is a bound R on
    the weak learner's outputs, and C² = n R² as in [Bach, §10.3.1].
    """

    def __init__(self, learning_rate: LearningRate = 1.0, radius: float | None = None) -> None:
        super().__init__(learning_rate)
        self.radius = radius

    def check(self, risk):
        if not np.isfinite(risk.loss.smoothness):
            raise ValueError(
                f"step='smooth' needs a loss with a finite smoothness constant; "
                f"{type(risk.loss).__name__} has none. Use step='line_search' or step='fixed'."
            )

    def length(self, risk, u, psi, state, gain):
        reach = psi if self.radius is None else np.full_like(psi, self.radius)
        bound = risk.curvature(reach)
        return 0.0 if bound == 0 else state.scale * gain / bound


STEP_RULES: dict[str, type[Step]] = {
    "fixed": FixedStep,
    "line_search": LineSearchStep,
    "smooth": SmoothStep,
}
