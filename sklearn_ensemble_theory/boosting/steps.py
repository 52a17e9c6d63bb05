"""Step rules of gradient boosting: the length of the step along the outputs of a round.

Parameter `step` of `GradientBoosting*`: an instance of a class here, or its name, one of
``"fixed"``, ``"line_search"``, ``"newton"``, ``"joint"``, ``"quadratic_bound"`` and ``"smooth"``.
A rule of your own is a subclass of `Step` with a method `length`.
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._addresses import publish
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._learners import JointTask, Task
from sklearn_ensemble_theory.boosting._risk import RiskState, loss_name
from sklearn_ensemble_theory.boosting._steps import Step, StepResult

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


@documented()
class FixedStep(BaseEstimator, Step):
    """Steps of the length `learning_rate`: plain gradient boosting [Shah, algorithm 3].

    Parameters
    ----------
    reoptimize_leaves : bool, default=True
        Whether the values of the leaves of trees are re-optimised for the loss before the step
        (Friedman 2001). With False they keep the values fitted to the negative gradient.

    References
    ----------
    %(Shah)s

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

    @property
    def reoptimizes_leaves(self) -> bool:  # type: ignore[override]
        return self.reoptimize_leaves

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

    @property
    def reoptimizes_leaves(self) -> bool:  # type: ignore[override]
        return self.reoptimize_leaves

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
    reoptimizes_leaves = False
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

    References
    ----------
    %(Bach)s

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.
    """

    _parameter_constraints: ClassVar[dict] = {}
    reoptimizes_leaves = False
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

    References
    ----------
    %(Bach)s
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

    References
    ----------
    %(Bach)s
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
