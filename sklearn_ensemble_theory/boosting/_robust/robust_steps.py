"""The steps of boosting for noisy labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._robust.potentials import PotentialRisk
from sklearn_ensemble_theory.boosting._steps import Step, StepResult


class _VoteStep(Step):
    """Steps along votes, which may be of one byte."""

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        if psi.dtype == np.int8 and uses_numba():
            from sklearn_ensemble_theory._hot_loops._stumps import vote_loops

            vote_loops.add_votes(u, psi, b)
        else:
            super().move(u, psi, b)


class CorrelationStep(_VoteStep):
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


class EqualVotesStep(_VoteStep):
    """SmoothBoost: N_t = N_{t-1} + y h_t - theta, where theta = gamma / (2 + gamma).

    The details of a round are the largest weight of a row divided by its weight in the data.

    Parameters
    ----------
    risk : PotentialRisk
        Its rate is set to -log(1 - gamma) / 2.
    gamma : float or None
        None for the least edge so far.
    """

    def __init__(self, risk: PotentialRisk, gamma: float | None) -> None:
        super().__init__()
        self.risk, self.adaptive = risk, gamma is None
        self._set(0.5 if gamma is None else gamma)

    def _set(self, gamma: float) -> None:
        self.gamma = gamma
        self.risk.rate = -0.5 * math.log1p(-gamma)

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float
    ) -> StepResult:
        largest = math.exp(-risk.rate * max(float(u.min()), 0.0))
        smoothness = largest / state.density
        if self.adaptive:
            self._set(min(self.gamma, 0.5 * gain / state.density))
        return StepResult(1.0, smoothness)

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        super().move(u, psi, b)
        u -= self.gamma / (2.0 + self.gamma)
