"""The risk that Frank-Wolfe minimises, with or without an intercept outside the ball."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.array_loops import inner
from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk, RiskState

NEWTON_STEPS = 30


class RiskWithoutIntercept(EmpiricalRisk):
    """F(u), as it is; `intercept` is 0."""

    intercept = 0.0


class ProfiledRisk(EmpiricalRisk):
    """min over b of F(u + b): the risk of the scores at the best intercept.

    It is as convex and as smooth as F; its gradient is that of F at the best intercept, and sums to
    zero.

    Attributes
    ----------
    intercept : float
        The b of the last scores that were evaluated.
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
