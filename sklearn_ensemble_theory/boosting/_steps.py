"""Step rules: how far to go along the weak learner's outputs.

A rule is a subclass of `Step`; one that users may choose by name stands in `STEP_RULES`. It is
called in each round and returns a `StepResult`; it keeps no result of a round in itself. Each
coefficient is multiplied by `learning_rate`, a float or a callable of the round t = 0, 1, ...
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sklearn_ensemble_theory._learners import JointTask, LeastSquaresTask, Task
from sklearn_ensemble_theory.trees._tree_arrays import add_multiple

from ._risk import EmpiricalRisk, RiskState, loss_name

LearningRate = float | Callable[[int], float]
# Outputs may exceed a given bound by rounding.
OUTPUT_TOLERANCE = 1e-9


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
    name : str
        What users call it.
    reoptimizes_leaves : bool
        Whether the leaf values of trees may be changed before the step, to lower the risk itself.
    fits_some_rows : bool
        Whether the weak learner may be fitted to a part of the rows.
    takes_newton_targets : bool
        Whether the weak learner may be fitted to Newton steps (see `SecondOrderRisk`).
    needs_outputs : bool
        Whether `length` reads the outputs of the weak learner or their first-order gain, which
        takes a pass over the rows. Otherwise the outputs may be `LeafOutputs` and the gain is nan.
    """

    name: ClassVar[str]
    reoptimizes_leaves = False
    fits_some_rows = True
    takes_newton_targets = False
    needs_outputs = True
    # Where members are monotonic: a negative coefficient would turn them round.
    only_forwards = False

    def __init__(self, learning_rate: LearningRate = 1.0) -> None:
        self.learning_rate = learning_rate

    @classmethod
    def of(cls, estimator: Any) -> "Step":
        """The rule with the parameters of an estimator."""
        return cls(estimator.learning_rate)

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
        """Change u in place: u <- u + b psi [Bach, eq. (10.5)]."""
        add_multiple(u, psi, b)


class FixedStep(Step):
    """b = learning_rate: plain gradient boosting [Shah, algorithm 3].

    Only where Newton steps would raise the risk, b is shorter: see `SecondOrderRisk.length_of`.
    """

    name = "fixed"
    reoptimizes_leaves = True
    takes_newton_targets = True
    needs_outputs = False

    def constant(self) -> float | None:
        return None if callable(self.learning_rate) else self.learning_rate

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> StepResult:
        rate = self.rate(t)
        return StepResult(rate * risk.length_of(u, psi, state, rate))


class LineSearchStep(Step):
    """b minimises F(u + b psi), for the psi that was fitted to the negative gradient before."""

    name = "line_search"
    reoptimizes_leaves = True
    takes_newton_targets = True

    def length(self, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float) -> float:
        return risk.line_search(u, psi, state)


class JointStep(FixedStep):
    """b and psi minimise F(u + b psi) together [Bach, eq. (10.6)].

    This is forward stagewise additive modelling. The minimum is the weak learner's work; it
    multiplies its coefficient into the outputs. Trees are split as least squares says, and minimise
    over the values of their leaves: each leaf has a minimum of its own.
    """

    name = "joint"
    reoptimizes_leaves = False
    fits_some_rows = False
    takes_newton_targets = False

    def check(self, risk: Any, n_scores: int = 1) -> None:
        if n_scores > 1:
            raise ValueError(
                f"step={self.name!r} requires a loss with one score; there are {n_scores} "
                "here; use OneVsRestClassifier, or for several targets "
                "MultiOutputRegressor, around this estimator."
            )

    def task(self, risk: Any, **options: Any) -> Task:
        return super().task(risk, **options) if options["exact_leaves"] else JointTask(risk)


class _QuadraticStep(Step):
    """Steps that minimise a quadratic upper bound of the risk [Bach, eq. (10.8)]."""

    def check(self, risk: Any, n_scores: int = 1) -> None:
        if not np.isfinite(risk.loss.smoothness):
            raise ValueError(
                f"step={self.name!r} requires a loss with a finite smoothness constant; "
                f"{loss_name(risk.loss)} has none. Use step='line_search' or step='fixed'."
            )


class QuadraticBoundStep(_QuadraticStep):
    """b = -F'(u)'psi / (L |psi|²), the minimum of the second line of [Bach, eq. (10.8)].

    The outputs of the round determine the curvature. For a weak learner whose outputs have no
    scale of their own it is (10.9) over the dictionary of outputs divided by their root mean
    square, of which C²/n = 1.
    """

    name = "quadratic_bound"

    def length(self, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float) -> float:
        curvature = risk.curvature(psi)
        return 0.0 if curvature == 0 else state.scale * gain / curvature


class SmoothStep(_QuadraticStep):
    """b = -F'(u)'psi / (L C²) with one C for all weak learners [Bach, eq. (10.9)].

    The source prints (10.9) without the factor psi at its end; see the errata.

    Parameters
    ----------
    learning_rate : float or callable, default=1.0
    output_bound : float, default=None
        R, a bound on the root mean square of every weak learner's outputs: C² = n R². None takes
        the `outputs_bound` of the weak learner.
    """

    name = "smooth"

    def __init__(
        self, learning_rate: LearningRate = 1.0, output_bound: float | None = None
    ) -> None:
        super().__init__(learning_rate)
        self.output_bound = output_bound

    @classmethod
    def of(cls, estimator: Any) -> "SmoothStep":
        return cls(estimator.learning_rate, estimator.output_bound)

    def prepare(self, learner: Any) -> None:
        if self.output_bound is None:
            self.output_bound = getattr(learner, "outputs_bound", None)
        if self.output_bound is None:
            raise ValueError(
                f"step={self.name!r} requires output_bound, a bound on the root mean square of the "
                "outputs of every weak learner. step='quadratic_bound' does not need it."
            )

    def length(self, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float) -> float:
        mean_square, bound = risk.mean_square(psi), self.output_bound
        assert bound is not None  # see `prepare`
        if mean_square > bound**2 * (1 + OUTPUT_TOLERANCE):
            raise ValueError(
                f"output_bound={bound:g} is too small: the outputs of a weak learner have a root "
                f"mean square of {np.sqrt(mean_square):g}."
            )
        return state.scale * gain / (risk.loss.smoothness * bound**2)


# Those that users may choose by name.
STEP_RULES = {
    rule.name: rule
    for rule in (FixedStep, LineSearchStep, JointStep, QuadraticBoundStep, SmoothStep)
}
