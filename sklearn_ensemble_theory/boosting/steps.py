"""Step rules of gradient boosting: the length of the step along the outputs of a round.

Parameter `step` of `GradientBoosting*`: an instance of a class here, or its name, one of
``"fixed"``, ``"line_search"``, ``"newton"``, ``"joint"``, ``"quadratic_bound"`` and ``"smooth"``.
A rule of your own is a subclass of `Step` with a method `length`.

All boosting loops call a rule in each round. It keeps no result of a round in itself.
"""

from collections.abc import Callable
from copy import copy
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._addresses import publish
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._learners import JointTask, LeastSquaresTask, Task
from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk, RiskState
from sklearn_ensemble_theory.boosting.losses._base import loss_name
from sklearn_ensemble_theory.trees._tree_arrays import add_multiple

__all__ = [
    "FixedStep",
    "JointStep",
    "LineSearchStep",
    "NewtonStep",
    "QuadraticBoundStep",
    "SmoothStep",
    "Step",
    "StepResult",
]

# Outputs may exceed a given bound by rounding.
OUTPUT_TOLERANCE = 1e-9

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
    reoptimize_leaves : bool
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

    reoptimize_leaves: bool = False
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


# --- the rules ------------------------------------------------------------------------------------


@documented()
class FixedStep(BaseEstimator, Step):
    """Steps of the length `learning_rate`: plain gradient boosting [Shah, algorithm 3].

    Parameters
    ----------
    reoptimize_leaves : bool, default=True
        Whether the values of the leaves of trees are re-optimised for the loss before the step
        (Friedman 2001). With False they keep the values fitted to the negative gradient.

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import GradientBoostingRegressor
    >>> from sklearn_ensemble_theory.boosting.steps import FixedStep
    >>> X, y = load_diabetes(return_X_y=True)
    >>> step = FixedStep(reoptimize_leaves=False)
    >>> model = GradientBoostingRegressor(loss="huber", step=step, random_state=0).fit(X, y)
    """

    _parameter_constraints: ClassVar[dict] = {"reoptimize_leaves": ["boolean"]}
    needs_outputs = False

    def __init__(self, reoptimize_leaves: bool = True) -> None:
        self.reoptimize_leaves = reoptimize_leaves

    def constant(self) -> float | None:
        return None if callable(self.learning_rate) else self.learning_rate

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> StepResult:
        rate = self.rate(t)
        return StepResult(rate * risk.length_of(u, psi, state, rate))


class LineSearchStep(BaseEstimator, Step):
    """Steps that minimise the risk along the outputs, exactly, times `learning_rate`.

    Parameters
    ----------
    reoptimize_leaves : bool, default=True
        As in `FixedStep`.
    """

    _parameter_constraints: ClassVar[dict] = {"reoptimize_leaves": ["boolean"]}

    def __init__(self, reoptimize_leaves: bool = True) -> None:
        self.reoptimize_leaves = reoptimize_leaves

    def length(self, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float) -> float:
        return risk.line_search(u, psi, state)


class NewtonStep(FixedStep):
    """Rounds of the second order, as in LightGBM, XGBoost and HistGradientBoosting.

    The base learner is fitted to the Newton steps -g/h of the rows under the weights w h, instead
    of to the negative gradients -g under the sample weights w; g and h are the first and second
    derivatives of the loss (Friedman, Hastie and Tibshirani 2000). With G and H the sums of w g and
    w h, trees are split by G²/H, and the values of their leaves are -G/H. For the squared error h
    is 1, and nothing changes.

    Parameters
    ----------
    line_search : bool, default=False
        Whether the steps minimise the risk along the outputs, instead of having the length
        `learning_rate`.

    Notes
    -----
    It requires a convex loss with a second derivative, and a base learner that supports
    `sample_weight`. No leaf of a tree has H below 0.001, or the `min_weight_leaf` of a
    `BinnedTreeRegressor`, so sample weights should be of the order of 1. Steps that would raise
    the loss of a leaf are replaced. For classes the test error is often lower where most rows are
    classified well, and often higher where errors are frequent; for the Poisson loss rounds of the
    first order have the exact minimum in each leaf.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28(2), 337-407.
    """

    _parameter_constraints: ClassVar[dict] = {"line_search": ["boolean"]}
    reoptimize_leaves = False
    is_newton = True

    def __init__(self, line_search: bool = False) -> None:
        self.line_search = line_search

    @property
    def needs_outputs(self) -> bool:  # type: ignore[override]
        return self.line_search

    def constant(self) -> float | None:
        return None if self.line_search else super().constant()

    def length(self, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float) -> float:
        return risk.line_search(u, psi, state)

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> StepResult:
        rule = Step if self.line_search else FixedStep
        return rule.__call__(self, t, risk, u, psi, state, gain)


@documented()
class JointStep(FixedStep):
    """The risk is minimised jointly over the step and the base learner [Bach, eq. (10.6)].

    This is forward stagewise additive modelling [DS-GA 1003, lecture 8]. For
    `DecisionStumpRegressor` it is the minimum over all stumps. The splits of a larger tree are
    chosen first, by G²/H as with `NewtonStep` (by least squares of the negative gradient if the
    loss has no second derivative); the risk is then minimised exactly over the step and the values
    of the leaves together, before the regularisation of the tree.

    Notes
    -----
    It requires one of these base learners, all rows in memory, ``subsample=1.0`` and a loss with
    one score. The algorithm of the sources has ``learning_rate=1``.

    %(references_Bach)s

    %(DSGA)s
    """

    _parameter_constraints: ClassVar[dict] = {}
    reoptimize_leaves = False
    fits_some_rows = False
    is_joint = True

    def __init__(self) -> None:
        return

    def check(self, risk: Any, n_scores: int = 1) -> None:
        if n_scores > 1:
            raise ValueError(
                f"step={name_of(self)!r} requires a loss with one score; there are {n_scores} "
                "here; use OneVsRestClassifier, or for several targets "
                "MultiOutputRegressor, around this estimator."
            )

    def task(self, risk: Any, **options: Any) -> Task:
        return super().task(risk, **options) if options["exact_leaves"] else JointTask(risk)


class _QuadraticStep(BaseEstimator, Step):
    """Steps that minimise a quadratic upper bound of the risk."""

    def check(self, risk: Any, n_scores: int = 1) -> None:
        if not np.isfinite(risk.loss.smoothness):
            raise ValueError(
                f"step={name_of(self)!r} requires a loss with a finite smoothness constant; "
                f"{loss_name(risk.loss)} has none. Use step='line_search' or step='fixed'."
            )


@documented()
class QuadraticBoundStep(_QuadraticStep):
    """b = -F'(u)'psi / (L |psi|²): the minimum of the bound [Bach, eq. (10.8)], second line.

    The outputs of the round determine the curvature. For a base learner whose outputs have no
    scale of their own it is (10.9) over the dictionary of outputs divided by their root mean
    square, of which C²/n = 1. It requires a loss with a finite `smoothness`.

    %(references_Bach)s
    """

    _parameter_constraints: ClassVar[dict] = {}

    def length(self, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float) -> float:
        curvature = risk.curvature(psi)
        return 0.0 if curvature == 0 else state.scale * gain / curvature


@documented()
class SmoothStep(_QuadraticStep):
    """b = -F'(u)'psi / (L C²), with one constant C for all rounds [Bach, eq. (10.9)].

    The source prints (10.9) without the factor psi at its end; see the errata. It requires a loss
    with a finite `smoothness`.

    Parameters
    ----------
    output_bound : float, default=None
        R, a bound on the root mean square over the training rows of the outputs of every base
        learner; a bound on their absolute values can be used. C² is n R². If None, the base learner
        must provide the bound, as ``ReLUUnitRegressor("inner_product")`` does.

    Notes
    -----
    With ``init="zero"``, ``learning_rate=1`` and a base learner that maximises -F'(u)'psi over a
    fixed set of outputs, the risk and the variation norm satisfy `bounds.greedy_boosting_bound` and
    `bounds.greedy_boosting_gauge_bound`.

    %(references_Bach)s
    """

    _parameter_constraints: ClassVar[dict] = {
        "output_bound": [Interval(Real, 0, None, closed="neither"), None]
    }
    bound: float | None = None  # R of a fit, see `prepare`

    def __init__(self, output_bound: float | None = None) -> None:
        self.output_bound = output_bound

    def prepare(self, learner: Any) -> None:
        self.bound = self.output_bound
        if self.bound is None:
            self.bound = getattr(learner, "outputs_bound", None)
        if self.bound is None:
            raise ValueError(
                f"step={name_of(self)!r} requires output_bound, a bound on the root mean square of "
                "the outputs of every weak learner: step=SmoothStep(output_bound=...). "
                "step='quadratic_bound' does not need it."
            )

    def length(self, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float) -> float:
        mean_square = risk.mean_square(psi)
        bound = self.output_bound if self.bound is None else self.bound
        assert bound is not None  # see `prepare`
        if mean_square > bound**2 * (1 + OUTPUT_TOLERANCE):
            raise ValueError(
                f"output_bound={bound:g} is too small: the outputs of a weak learner have a root "
                f"mean square of {np.sqrt(mean_square):g}."
            )
        return state.scale * gain / (risk.loss.smoothness * bound**2)


# The names of the rules with their default options.
STEPS: dict[str, type[Step]] = {
    "fixed": FixedStep,
    "line_search": LineSearchStep,
    "newton": NewtonStep,
    "joint": JointStep,
    "quadratic_bound": QuadraticBoundStep,
    "smooth": SmoothStep,
}
# What the parameter `step` may be.
STEP_CONSTRAINTS = [StrOptions(set(STEPS)), Step]


def step_of(step: str | Step) -> Step:
    """The rule that the parameter `step` asks for, its options checked."""
    return STEPS[step]() if isinstance(step, str) else step.checked()


def name_of(step: Step) -> str:
    """The name of a rule, as it is written for the parameter `step`."""
    names = {rule: name for name, rule in STEPS.items()}
    return names.get(type(step), type(step).__name__)


publish(__name__, globals(), __all__)
