"""The contract of step rules: how far to go along the weak learner's outputs.

A rule is a subclass of `Step`; those that users choose are in `steps`. It is called in each round
and returns a `StepResult`; it keeps no result of a round in itself. Each coefficient is multiplied
by `learning_rate`, a float or a callable of the round t = 0, 1, ...
"""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._learners import LeastSquaresTask, Task
from sklearn_ensemble_theory.trees._tree_arrays import add_multiple

from ._risk import EmpiricalRisk, RiskState

LearningRate = float | Callable[[int], float]


class StepResult(NamedTuple):
    """What a step rule decided.

    Attributes
    ----------
    coefficient : float or None
        b of u + b psi; None ends the loop, without a step.
    details : object
        Further results of the round, which are stored in its record.
    """

    coefficient: float | None
    details: Any = None


class Step:
    """Base of the step rules: b = learning_rate * length.

    A subclass overrides `length`; one that ends the loop or has details overrides `__call__`.

    Parameters
    ----------
    learning_rate : float or callable, default=1.0

    Attributes
    ----------
    reoptimizes_leaves : bool
        Whether the leaf values of trees may be changed before the step, to lower the risk itself.
    fits_some_rows : bool
        Whether the weak learner may be fitted to a part of the rows.
    is_newton : bool
        Whether the weak learner is fitted to Newton steps (see `SecondOrderRisk`).
    is_joint : bool
        Whether trees get leaves that minimise the risk exactly.
    needs_outputs : bool
        Whether `length` reads the outputs of the weak learner or their first-order gain, which
        takes a pass over the rows. Otherwise the outputs may be `LeafOutputs` and the gain is nan.
    """

    reoptimizes_leaves: bool = False
    fits_some_rows: bool = True
    is_newton: bool = False
    is_joint: bool = False
    needs_outputs: bool = True
    learning_rate: LearningRate = 1.0
    # Where members are monotonic: a negative coefficient would turn them round.
    only_forwards = False

    def __init__(self, learning_rate: LearningRate = 1.0) -> None:
        self.learning_rate = learning_rate

    def at_rate(self, learning_rate: LearningRate, only_forwards: bool = False) -> Self:
        """The rule of one fit: a copy with this learning rate."""
        rule = copy(self)
        rule.learning_rate, rule.only_forwards = learning_rate, only_forwards
        return rule

    def checked(self) -> Self:
        """This rule, once its options are valid."""
        if isinstance(self, BaseEstimator):
            self._validate_params()
        return self

    def check(self, risk: EmpiricalRisk, n_scores: int = 1) -> None:
        """Raise a ValueError where the rule cannot be used with this risk."""
        return

    def task(self, risk: EmpiricalRisk, **options: Any) -> Task:
        """What the weak learner is fitted to; `options` are those of `LeastSquaresTask`."""
        return LeastSquaresTask(risk, **options)

    def prepare(self, learner: Any) -> None:
        """Get what the rule needs from the weak learner, before the first round."""
        return

    def rate(self, t: int) -> float:
        """The learning rate of round t."""
        if not callable(self.learning_rate):
            return self.learning_rate
        try:
            rate = float(self.learning_rate(t))
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"learning_rate({t}): {error}") from error
        if not 0 <= rate < np.inf:
            raise ValueError(f"learning_rate({t}) must be non-negative and finite, got {rate}.")
        return rate

    def constant(self) -> float | None:
        """The coefficient of all rounds, where it depends on nothing."""
        return None

    def length(
        self, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> float:
        """The coefficient before the learning rate; not needed where `__call__` is overridden."""
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
        length = self.length(risk, u, psi, state, gain)
        return StepResult(self.rate(t) * (max(length, 0.0) if self.only_forwards else length))

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        """Change u in place: u <- u + b psi."""
        add_multiple(u, psi, b)
