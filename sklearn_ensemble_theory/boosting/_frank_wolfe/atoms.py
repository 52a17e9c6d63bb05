"""Frank-Wolfe boosting as a wiring of the loop: the risk, the atoms and the step (000 10.3.6).

    u_t = (1 - eta_t) u_{t-1} + eta_t D psi(w_t)

stays in D times the convex hull of the atoms, and the weak learner's answer is a certificate as
well: F(u) - F* <= D gamma*(-F'(u)) + F'(u)'u, the dual gap.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from sklearn_ensemble_theory._numerics.hot_loops import inner
from sklearn_ensemble_theory._weak_learners import LeastSquaresTask, SignTask
from sklearn_ensemble_theory.boosting._core.learners import CloneOptions, weak_learner
from sklearn_ensemble_theory.boosting._core.risk import EmpiricalRisk, RiskState
from sklearn_ensemble_theory.boosting._core.steps import Step, StepResult
from sklearn_ensemble_theory.boosting._frank_wolfe.l1_ball import INNER_SHARE, RowsBall, descend

NEWTON_STEPS = 30
# Inner steps after each new atom; the outer gap tells whether they were enough.
CORRECTIONS = 100
# Squares of larger outputs could overflow.
LARGEST_OUTPUT = 1e140


class ProfiledRisk(EmpiricalRisk):
    """min over b of F(u + b): the risk of the scores once the intercept is the best one.

    As convex and as smooth as F is; its gradient is that of F at the best intercept, and sums to
    zero. `intercept` is the b of the last point looked at.
    """

    intercept = 0.0

    def at(self, u):
        scores = u + self._best_intercept(u)
        target = -self.loss.gradient(self.y, scores)
        return RiskState(inner(self.weight, self.loss.value(self.y, scores)), target, self.weight)

    def value(self, u):
        return self.at(u).value

    def line_search(self, u, psi, state):
        return super().line_search(u + self.intercept, psi, state)

    def _best_intercept(self, u):
        """Newton's method from the last intercept; a bracketing search where that fails."""
        b = self.intercept
        size = np.inf
        for _ in range(NEWTON_STEPS):
            scores = u + b
            second = self.loss.hessian(self.y, scores)
            if second is None:
                break
            slope = inner(self.weight, self.loss.gradient(self.y, scores))
            curvature = inner(self.weight, second)
            if abs(slope) >= size or not curvature > 0:
                break
            size = abs(slope)
            change = slope / curvature
            b -= change
            if abs(change) <= 1e-14 * max(abs(b), 1e-300):
                break
        ones = np.ones(len(u))
        if second is None or (abs(slope) > 1e-9 * (1 + abs(b))):
            b = self.intercept
            b += float(self.loss.line_search(self.y, u + b, ones, self.weight)[0])
        self.intercept = b
        return b


class Atom(NamedTuple):
    """psi = factor * (member's outputs - offset); offsets cancel against the intercept."""

    member: Any
    factor: float
    offset: float


class Atoms:
    """Turns a weak learner's answers into atoms of a symmetric dictionary.

    Parameters
    ----------
    learner : object with ``best(target, weight)``
    normalise : bool
        Divide outputs by their root mean square: then the least-squares fit is the best atom,
        wherever the class of predictors is closed under multiplication.
    centre : bool
        Subtract the mean, which the intercept makes good.
    """

    def __init__(self, learner, normalise, centre):
        self.learner, self.normalise, self.centre = learner, normalise, centre

    def best(self, target, weight, scores=None):
        member, outputs = self.learner.best(target, weight, scores)
        largest = np.max(np.abs(outputs), initial=0.0)
        if largest == 0:
            return None
        if not largest < LARGEST_OUTPUT and not self.normalise:
            raise ValueError(
                f"X: a weak learner's outputs reach {largest:.1e}; scale the features."
            )
        size = largest * np.sqrt(inner(weight, (outputs / largest) ** 2)) if self.normalise else 1.0
        sign = -1.0 if inner(weight * target, outputs / largest) < 0 else 1.0
        factor = sign / size
        offset = inner(weight, outputs) if self.centre else 0.0
        return Atom(member, factor, offset), factor * (outputs - offset)


def atoms_of(estimator, X, sample_weight, centre, random_state, fit_params):
    """The dictionary of an estimator, and whether its oracle is exact."""
    task = SignTask() if is_classifier(estimator) else LeastSquaresTask()
    options = CloneOptions(random_state, fit_params)
    learner = weak_learner(estimator, X, sample_weight, task, options)
    return Atoms(learner, not learner.has_scale, centre), learner.is_exact


class FrankWolfeStep(Step):
    """u <- (1 - eta) u + eta D psi.

    Parameters
    ----------
    radius : float
        D.
    rule : {"open_loop", "line_search", "short"}
        eta = 2/(t + 2); the best in [0, 1]; or the best for the quadratic upper bound (10.8).
    end : float
        The loop ends when the dual gap is at most this.
    start : array of shape (m,)
        Weights of the atoms that make up the scores to start from.

    Attributes
    ----------
    gaps, risks : list of float
        The dual gap and F before each step.
    weights : ndarray
        u is the sum of weights times atoms, in the order in which the atoms came; the weights'
        absolute values sum to at most D.
    """

    def __init__(self, radius, rule, end, start=()):
        super().__init__()
        self.radius, self.rule, self.end = radius, rule, end
        self.weights = np.array(start, dtype=float)
        self.gaps, self.risks = [], []
        self.ended = "n_estimators"

    def __call__(self, t, risk, u, psi, state, gain):
        gap = self.radius * gain - inner(state.weight * state.target, u)
        self.gaps.append(max(gap, 0.0))
        self.risks.append(state.value)
        if gap <= self.end:
            self.ended = "tol"
            return StepResult(None)
        self.eta = self._eta(t, risk, u, psi, state, gap)
        if not self.eta > 0:
            self.ended = "stalled"
            return StepResult(None)
        return StepResult(self.eta * self.radius)

    def _eta(self, t, risk, u, psi, state, gap):
        if self.rule == "open_loop":
            return 2.0 / (t + 2)
        direction = self.radius * psi - u
        if self.rule == "line_search":
            eta = risk.line_search(u, direction, state)
        else:
            bound = risk.curvature(direction)
            eta = gap / bound if bound > 0 else 1.0
        return min(max(eta, 0.0), 1.0)

    def move(self, u, psi, b):
        u *= 1 - self.eta
        u += b * psi
        self.weights = np.append((1 - self.eta) * self.weights, b)


class _Outputs:
    """Outputs of the atoms found so far, as a dictionary for `RowsBall`."""

    def __init__(self, rows, weight):
        self.rows, self.weight = rows, weight
        self.d = len(rows)

    def columns(self, chosen):
        return self.rows[chosen]

    def products(self, values):
        return self.rows @ (self.weight * values)


class CorrectiveStep(FrankWolfeStep):
    """After each new atom the risk is minimised over the ball of all atoms so far.

    Parameters
    ----------
    outputs : list of arrays of shape (n,)
        Of the atoms to start from.
    """

    def __init__(self, radius, rule, end, start=(), outputs=()):
        super().__init__(radius, rule, end, start)
        self.outputs = list(outputs)

    def _eta(self, t, risk, u, psi, state, gap):
        self.risk = risk
        return 1.0

    def move(self, u, psi, b):
        self.outputs.append(psi)
        ball = RowsBall(self.risk, _Outputs(np.array(self.outputs), self.risk.weight))
        start = np.append(self.weights, 0.0)
        tol = INNER_SHARE * self.gaps[-1] / max(ball.risk_at_zero, 1e-300)
        path = descend(ball, self.radius, start, "line_search", "pairwise", CORRECTIONS, tol)
        self.weights = path.beta
        u[:] = ball.u
