"""Steps of Frank-Wolfe for the boosting loop [Bach, §10.3.6].

    u_t = (1 - eta_t) u_{t-1} + eta_t D psi(w_t)

stays in D times the convex hull of the atoms, and the weak learner's atom gives a bound as well:
F(u) - F* <= D gamma*(-F'(u)) + F'(u)'u, the dual gap.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.array_loops import inner
from sklearn_ensemble_theory.boosting._frank_wolfe.l1_ball import (
    INNER_SHARE,
    RowsBall,
    SolverOptions,
    conditional_gradients,
)
from sklearn_ensemble_theory.boosting._frank_wolfe.step_sizes import STEP_SIZES
from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk, RiskState
from sklearn_ensemble_theory.boosting._steps import Step, StepResult

# Inner steps after each new atom; the outer gap tells whether they were enough.
CORRECTIONS = 100


class FrankWolfeDetails(NamedTuple):
    """What a Frank-Wolfe step knows about a round.

    Attributes
    ----------
    gap : float
        The dual gap before the step.
    risk : float
        F before the step.
    eta : float or None
        The share of the way to the atom; None if no step was taken.
    stop_reason : {"tol", "stalled"} or None
        Why no step was taken.
    """

    gap: float
    risk: float
    eta: float | None
    stop_reason: str | None = None


@dataclass
class ActiveAtoms:
    """The atoms that make up the scores, in the order in which they were found.

    Attributes
    ----------
    weights : float array of shape (m,)
        u is the sum of weights times atoms; the absolute weights sum to at most D.
    outputs : list of m arrays of shape (n,)
        The atoms on the training rows; kept by `CorrectiveStep` only.
    gap : float
        The dual gap of the round in progress, to which `CorrectiveStep` adapts its precision.
    """

    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))
    outputs: list = field(default_factory=list)
    gap: float = np.inf


class _TowardsAtom(NamedTuple):
    """The direction D psi - u."""

    gain: float
    longest: float = 1.0


class _Place(NamedTuple):
    """The current scores and the atom, as the step sizes need them."""

    risk: EmpiricalRisk
    u: np.ndarray
    state: RiskState
    psi: np.ndarray
    radius: float

    def line_search(self, direction):
        return self.risk.line_search(self.u, self.radius * self.psi - self.u, self.state)

    def short_step(self, direction):
        curvature = self.risk.curvature(self.radius * self.psi - self.u)
        return direction.gain / curvature if curvature > 0 else np.inf


class FrankWolfeStep(Step):
    """u <- (1 - eta) u + eta D psi.

    Parameters
    ----------
    radius : float
        D.
    step_size : str
        A key of `STEP_SIZES`.
    smallest_gap : float
        The loop ends when the dual gap is at most this.
    active : ActiveAtoms, default=None
        The atoms that make up the scores to start from; brought up to date by every step. None if
        they are not needed, for scores of 0.
    """

    def __init__(
        self,
        radius: float,
        step_size: str,
        smallest_gap: float,
        active: ActiveAtoms | None = None,
    ):
        super().__init__()
        self.radius, self.step_size, self.smallest_gap = radius, step_size, smallest_gap
        self.active = ActiveAtoms() if active is None else active

    def dual_gap(self, u: np.ndarray, state: RiskState, gain: float) -> float:
        """D gamma*(-F'(u)) + F'(u)'u for an atom of this first-order gain."""
        return self.radius * gain - inner(state.weight * state.target, u)

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> StepResult:
        gap = self.dual_gap(u, state, gain)
        certified = max(gap, 0.0)
        if gap <= self.smallest_gap:
            return StepResult(None, FrankWolfeDetails(certified, state.value, None, "tol"))
        eta = self._eta(t, risk, u, psi, state, gap)
        if not eta > 0:
            return StepResult(None, FrankWolfeDetails(certified, state.value, None, "stalled"))
        self.active.gap = certified
        return StepResult(eta * self.radius, FrankWolfeDetails(certified, state.value, eta))

    def _eta(self, t, risk, u, psi, state, gap):
        size = STEP_SIZES[self.step_size]
        return size(t, _Place(risk, u, state, psi, self.radius), _TowardsAtom(gap))

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        eta = b / self.radius
        u *= 1 - eta
        u += b * psi
        self.active.weights = np.append((1 - eta) * self.active.weights, b)


class _Outputs:
    """Outputs of the atoms found so far, as a dictionary for `RowsBall`."""

    def __init__(self, rows: np.ndarray, weight: np.ndarray):
        self.rows, self.weight = rows, weight
        self.d = len(rows)

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        return self.rows[chosen]

    def products(self, values: np.ndarray) -> np.ndarray:
        return self.rows @ (self.weight * values)


class CorrectiveStep(FrankWolfeStep):
    """After each new atom the risk is minimised over the ball of all atoms so far.

    Parameters
    ----------
    radius, smallest_gap, active
        As for `FrankWolfeStep`; `active` with the outputs.
    risk : EmpiricalRisk
        The risk of the loop.
    """

    def __init__(
        self, radius: float, smallest_gap: float, active: ActiveAtoms, risk: EmpiricalRisk
    ):
        super().__init__(radius, "line_search", smallest_gap, active)
        self.risk = risk

    def _eta(self, t, risk, u, psi, state, gap):
        return 1.0

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        active = self.active
        active.outputs.append(psi)
        ball = RowsBall(self.risk, _Outputs(np.array(active.outputs), self.risk.weight))
        tol = INNER_SHARE * active.gap / max(ball.risk_at_zero, 1e-300)
        options = SolverOptions("line_search", "pairwise", CORRECTIONS, tol)
        path = conditional_gradients(ball, self.radius, np.append(active.weights, 0.0), options)
        active.weights = path.beta
        u[:] = ball.u
