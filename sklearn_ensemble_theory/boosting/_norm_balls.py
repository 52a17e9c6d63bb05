"""Minimisation of a risk over a ball of the variation norm, for one radius or a path of them.

Over the columns of X the ball is that of the l1 norm (`ColumnSolver`, by `_conditional_gradients`).
Over the outputs of a weak learner (`AtomSolver`) it is the boosting loop with the steps

    u_t = (1 - eta_t) u_{t-1} + eta_t D psi(w_t)                             [Bach, §10.3.6],

which stay in D times the convex hull of the atoms. In both, the best atom gives a bound as well:
F(u) - F* <= D gamma*(-F'(u)) + F'(u)'u, the dual gap.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from sklearn_ensemble_theory._arrays import inner
from sklearn_ensemble_theory._compat import check_method_params
from sklearn_ensemble_theory._learners import (
    LeastSquaresTask,
    PreparedRounds,
    SignTask,
    predict_validated,
)
from sklearn_ensemble_theory._running import one_blas_thread
from sklearn_ensemble_theory._scaling import TargetScale, power_of_two, within_range

from ._base_learners import weak_learner
from ._conditional_gradients import (
    INNER_SHARE,
    STEP_SIZES,
    Ball,
    BallPath,
    Direction,
    QuadraticBall,
    RowsBall,
    SolverOptions,
    conditional_gradients,
)
from ._dictionary import ColumnDictionary, GramRows, coefficients_in_units
from ._loop import BoostingRounds, RoundReports
from ._risk import EmpiricalRisk, RiskState
from .losses import Loss
from .steps import Step, StepResult

# radius * scale of X, over the size of y. Beyond it the ball is no constraint in floating point,
# and its square overflows.
LARGEST_RADIUS = 1e140
LARGEST_PRODUCT = 1e290
# Squares of larger outputs could overflow.
LARGEST_OUTPUT = 1e140
# Outputs that are normalised count as 0 below this: their inverse could overflow.
SMALLEST_OUTPUT = 1e-290
# Inner steps after each new atom; the outer gap tells whether they were enough.
CORRECTIONS = 100
NEWTON_STEPS = 30
# Searches for an intercept. Each goes about 32 units far; one that goes less than FAR ends
# at a minimum.
SEARCHES, FAR = 100, 8.0
# A Newton step of this share of the point leaves an error of about its square.
CLOSE_STEP = 1e-7
CLOSE_INTERCEPT = 1e-14
# A risk may rise by this share through rounding. With less of its curvature left by an intercept, a
# direction is nearly constant.
ROUNDING_OF_RISK = 1e-14
LEAST_CURVATURE_SHARE = 1e-10
# "cv" compares these multiples of the norm of the best single atom.
RADII = np.geomspace(1 / 8, 64, 16)

# --- the problem and its solution -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows of positive weight, and what a weak learner's `fit` gets beside them."""

    X: Any
    y: np.ndarray
    weight: np.ndarray
    fit_params: dict[str, Any] = field(default_factory=dict)

    def rows(self, chosen: np.ndarray) -> "Problem":
        params = check_method_params(self.X, self.fit_params, indices=chosen)
        return Problem(self.X[chosen], self.y[chosen], self.weight[chosen], params)


@dataclass(frozen=True, eq=False)
class BallPlan:
    """What is minimised over a ball, and how.

    The outputs of `learner`, which gets the weights of the rows where it is `weighted`, are the
    atoms; None for the columns of X.
    """

    loss: Loss
    learner: Any
    options: SolverOptions
    fit_intercept: bool
    weighted: bool
    rng: np.random.RandomState


@dataclass(frozen=True, eq=False)
class Solution:
    """A minimiser over one ball, in the units of the data."""

    intercept: float
    gaps: np.ndarray
    risks: np.ndarray
    stop_reason: str
    variation_norm: float
    start: Any
    coef: np.ndarray | None = None
    members: list = field(default_factory=list)
    member_weights: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def scores(self, X: Any) -> np.ndarray:
        if self.coef is not None:
            return np.asarray(X @ self.coef) + self.intercept
        return sum_of_members(X, self.members, self.member_weights, self.intercept)


def sum_of_members(X: Any, members: list, weights: np.ndarray, intercept: float) -> np.ndarray:
    """Add the intercept and the weighted predictions of the members: (n,)."""
    u = np.full(X.shape[0], intercept)
    for member, weight in zip(members, weights):
        u += weight * np.asarray(predict_validated(member, X), dtype=float).reshape(len(u))
    return u


class RiskOfBall(EmpiricalRisk):
    """F(u + b) with a constant b, the `intercept`; 0 here, and the best one in a `ProfiledRisk`."""

    intercept = 0.0
    has_intercept = False
    _known: tuple = (None, None)

    def line_search(
        self, u: np.ndarray, psi: np.ndarray, state: RiskState, longest: float = np.inf
    ) -> float:
        found = self._newton_search(u, psi, state, longest)
        if found is None:  # no second derivatives, or too far away for Newton's method
            return super().line_search(u + self.intercept, psi, state)
        return found

    def _newton_search(
        self, u: np.ndarray, psi: np.ndarray, state: RiskState, longest: float
    ) -> float | None:
        """Run Newton's method for the length and the intercept together, from 0 and the last one.

        O(n) a step, of which three or so are enough. None unless it converges.
        """
        length, b = 0.0, self.intercept
        scores = u + b
        for _ in range(NEWTON_STEPS):
            second = self._curvatures(scores, state.target)
            change = (
                None
                if second is None
                else self._newton_change(psi, state.target, second, longest - length)
            )
            if change is None:
                return None
            # At the end of the range, beyond which the risk falls: `at` finds the intercept there.
            is_end = length == longest and change[0] == 0.0
            length, b = length + change[0], b + change[1]
            is_close = abs(change[0]) <= CLOSE_STEP * abs(length)
            if is_end or (is_close and abs(change[1]) <= CLOSE_STEP * abs(b)):
                self.intercept = b
                return length
            scores = length * psi
            scores += u
            scores += b
            before, state = state.value, super().at(scores)
            if not state.value <= before + ROUNDING_OF_RISK * abs(before):
                return None
        return None

    def _curvatures(self, scores: np.ndarray, target: np.ndarray) -> np.ndarray | None:
        """The second derivatives of the losses, kept for the next call with this target."""
        if self._known[0] is not target:
            self._known = target, self.second_derivatives(scores, target)
        return self._known[1]

    def _newton_change(
        self, psi: np.ndarray, target: np.ndarray, second: np.ndarray, longest: float
    ) -> tuple[float, float] | None:
        """Newton's step in a length, of at most `longest`, and in the intercept.

        None where the curvature is no more than rounding.
        """
        if not self.same_weights:
            target, second = self.weight * target, self.weight * second
        curved = second * psi
        slope, along = inner(target, psi), inner(curved, psi)
        if not self.has_intercept:
            return (min(slope / along, longest), 0.0) if along > 0 else None
        rise, mixed, constant = float(target.sum()), float(curved.sum()), float(second.sum())
        if not constant > 0:
            return None
        # The curvature of the risk at the best intercept.
        profiled = along - mixed * mixed / constant
        if not profiled > LEAST_CURVATURE_SHARE * along:
            return None
        length = min((slope - mixed / constant * rise) / profiled, longest)
        return length, (rise - mixed * length) / constant


class ProfiledRisk(RiskOfBall):
    """min over b of F(u + b): the risk of the scores at the best intercept.

    It is as convex and as smooth as F; its gradient is that of F at the best intercept, and sums to
    zero. `intercept` is the b of the last scores that were evaluated.
    """

    has_intercept = True

    def at(self, u: np.ndarray) -> RiskState:
        """Run Newton's method from the last intercept, and bracketing searches where that fails."""
        # Where F is least over b its derivative by b is 0: the gradient by u is that of F there.
        for _ in range(SEARCHES):
            state = self._by_newton(u)
            if state is not None:
                return state
            scores = u + self.intercept
            change = float(self.loss.line_search(self.y, scores, np.ones(len(u)), self.weight)[0])
            self.intercept += change
            # A search has an end: beyond it the next one goes on.
            if abs(change) < FAR:
                break
        return super().at(u + self.intercept)

    def _by_newton(self, u: np.ndarray) -> RiskState | None:
        """The state at the best intercept, which is kept; None where Newton's method fails."""
        b, size = self.intercept, np.inf
        for _ in range(NEWTON_STEPS):
            scores = u + b
            state = super().at(scores)
            second = self._curvatures(scores, state.target)
            slope = inner(state.weight, state.target)
            curvature = 0.0 if second is None else inner(state.weight, second)
            if not curvature > 0:
                return None
            # A slope that no longer falls is rounding, or too far away for Newton's method.
            if abs(slope) >= size and abs(slope) > 1e-9 * (1 + abs(b)):
                return None
            change = slope / curvature
            if abs(slope) >= size or abs(change) <= CLOSE_INTERCEPT * abs(b):
                self.intercept = b
                return state
            size = abs(slope)
            b += change
        return None

    def value(self, u: np.ndarray) -> float:
        return self.at(u).value


def risk_in_units(plan: BallPlan, problem: Problem) -> tuple[RiskOfBall, TargetScale]:
    """The risk of a problem, and the units of its targets, in which nothing overflows."""
    y, loss, target = problem.y, plan.loss, TargetScale(0.0, 1.0)
    if loss.is_quadratic:
        mean = loss.optimal_constant(y, problem.weight) if plan.fit_intercept else 0.0
        target = TargetScale.about(y, mean)
        y = target(y)
    kind = ProfiledRisk if plan.fit_intercept else RiskOfBall
    return kind(loss, y, problem.weight), target


# --- over the columns of X ------------------------------------------------------------------------


class ColumnSolver:
    """Over the columns of X: the l1-constrained linear model."""

    is_exact = True  # the dual gaps are bounds

    def __init__(self, plan: BallPlan, problem: Problem) -> None:
        self.options = plan.options
        self.risk, self.target = risk_in_units(plan, problem)
        self.unit = float(self.target.scale)
        w, y = self.risk.weight, self.risk.y
        dictionary = ColumnDictionary(problem.X, w, plan.fit_intercept)
        # One scale for all columns: the ball is that of the coefficients in X's own units.
        scale = float(np.max(dictionary.scale * dictionary.usable, initial=0.0))
        self.scale = scale if scale > 0 else 1.0
        dictionary.scale = np.full(dictionary.d, self.scale)
        self.dictionary = dictionary
        if not self.scale * float(np.max(np.abs(y))) < LARGEST_PRODUCT:
            raise ValueError("X and y are so large that their products overflow; scale them.")
        if plan.loss.is_quadratic:
            rows = GramRows(dictionary)
            self.ball: Ball = QuadraticBall(rows, dictionary.products(y), float(w @ y**2))
        else:
            self.ball = RowsBall(self.risk, dictionary)

    def usual_radii(self) -> np.ndarray:
        """The radii that "cv" compares."""
        return multiples_of_one_atom(self.norm_of_one_atom())

    def norm_of_one_atom(self) -> float:
        """The norm of the best single atom, in the units of the data."""
        self.ball.start(np.zeros(self.dictionary.d))
        k = int(np.argmax(np.abs(self.ball.c)))
        if self.ball.c[k] == 0:
            return 1.0
        psi = self.dictionary.columns(np.array([k]))[0]
        state = self.risk.at(np.zeros(len(psi)))
        step = abs(self.risk.line_search(np.zeros(len(psi)), psi, state))
        return step * self.unit / self.scale

    def solve(
        self, radius: float, start: Any = None, reports: RoundReports | None = None
    ) -> Solution:
        """Minimise over the ball of this radius, from the `start` of a smaller one."""
        unit = self.unit
        inner_radius = radius * self.scale / unit
        if not inner_radius <= LARGEST_RADIUS:
            raise ValueError(
                f"radius={radius!r} times the scale of X, {self.scale:.1e}, does not constrain a "
                f"target of size {unit:.1e}; scale X, or choose a smaller radius."
            )
        beta = np.zeros(self.dictionary.d) if start is None else start
        end_round: Callable[[float, Callable[[], BallPath]], bool] | None = None
        if reports is not None:

            def end_round(gap: float, so_far: Callable[[], BallPath]) -> bool:
                return reports.end_round(so_far=lambda: self._solution(radius, so_far()), gap=gap)

        path = conditional_gradients(self.ball, inner_radius, beta, self.options, end_round)
        return self._solution(radius, path)

    def _solution(self, radius: float, path: BallPath) -> Solution:
        unit = self.unit
        coef = coefficients_in_units(path.beta * unit, self.scale)
        norm = np.abs(coef).sum()
        # By rounding the norm may exceed the radius, which users may rely on.
        if norm > radius:
            coef *= radius / norm * (1 - 1e-16)
        return Solution(
            intercept=float(
                unit * self.risk.intercept + self.target.mean - self.dictionary.offset @ coef
            ),
            gaps=self.target.squares_in_units(path.gaps),
            risks=self.target.squares_in_units(path.risks),
            stop_reason=path.stop_reason,
            variation_norm=float(np.abs(coef).sum()),
            start=path.beta,
            coef=coef,
        )


# --- over the outputs of a weak learner -----------------------------------------------------------


class Atom(NamedTuple):
    """psi = factor * (the member's outputs - offset); offsets cancel against the intercept."""

    member: Any
    factor: float
    offset: float


class Atoms:
    """Turns the members of a weak learner into atoms of a symmetric dictionary.

    With `centre` the mean of the outputs is subtracted; the intercept compensates for it. The dual
    gap is a bound if `is_exact`: the best atom is found exactly. With `normalise` outputs are
    divided by their root mean square, because the learner's outputs have no scale: then the
    least-squares fit is the best atom, wherever the class of predictors is closed under
    multiplication.
    """

    def __init__(self, learner: PreparedRounds, centre: bool) -> None:
        self.learner, self.centre = learner, centre
        self.is_exact, self.normalise = learner.is_exact, not learner.has_scale

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Atom, np.ndarray] | None:
        """The best atom and its outputs, of positive inner product with weight * target."""
        found = self.learner.best(target, weight, scores)
        if found is None:
            return None
        member, outputs = found
        largest = np.max(np.abs(outputs), initial=0.0)
        if largest <= (SMALLEST_OUTPUT if self.normalise else 0.0):
            return None
        if not largest < LARGEST_OUTPUT and not self.normalise:
            raise ValueError(
                f"The outputs of a weak learner are as large as {largest:.1e}; scale the features "
                "of X."
            )
        # Products are taken of outputs divided by the largest, which neither overflow nor vanish.
        size = largest * np.sqrt(inner(weight, (outputs / largest) ** 2)) if self.normalise else 1.0
        sign = -1.0 if inner(weight * target, outputs / largest) < 0 else 1.0
        factor = sign / size
        offset = inner(weight, outputs) if self.centre else 0.0
        return Atom(member, factor, offset), factor * (outputs - offset)


class FrankWolfeDetails(NamedTuple):
    """What a Frank-Wolfe step knows about a round.

    `gap` and `risk` are the dual gap and F before the step, `eta` the share of the way to the atom;
    None if no step was taken, for the reason `stop_reason`.
    """

    gap: float
    risk: float
    eta: float | None
    stop_reason: str | None = None


@dataclass
class ActiveAtoms:
    """The atoms that make up the scores, in the order in which they were found.

    - atoms: appended by the solver after each round.
    - weights: u is the sum of weights times atoms; the absolute weights sum to at most D.
    - outputs: the atoms on the training rows; kept by `CorrectiveStep` only.
    - gap: the dual gap of the round in progress, to which `CorrectiveStep` adapts its precision.
    """

    atoms: list[Atom] = field(default_factory=list)
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))
    outputs: list = field(default_factory=list)
    gap: float = np.inf


class _Place(NamedTuple):
    """The current scores and the atom, as the step sizes need them."""

    risk: EmpiricalRisk
    u: np.ndarray
    state: RiskState
    psi: np.ndarray
    radius: float

    def line_search(self, direction: Direction) -> float:
        change = self.radius * self.psi - self.u
        return self.risk.line_search(self.u, change, self.state, direction.longest)

    def short_step(self, direction: Direction) -> float:
        curvature = self.risk.curvature(self.radius * self.psi - self.u)
        return direction.gain / curvature if curvature > 0 else np.inf


class FrankWolfeStep(Step):
    """u <- (1 - eta) u + eta D psi.

    `radius` is D and `step_size` a key of `STEP_SIZES`; the loop ends when the dual gap is at most
    `smallest_gap`. `active` are the atoms that make up the scores to start from, brought up to date
    by every step.
    """

    def __init__(
        self, radius: float, step_size: str, smallest_gap: float, active: ActiveAtoms
    ) -> None:
        super().__init__()
        self.radius, self.step_size, self.smallest_gap = radius, step_size, smallest_gap
        self.active = active

    def dual_gap(self, u: np.ndarray, state: RiskState, gain: float) -> float:
        """D gamma*(-F'(u)) + F'(u)'u for an atom of this first-order gain."""
        return self.radius * gain - inner(state.weight * state.target, u)

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gain: float
    ) -> StepResult:
        # By rounding the gap may be negative at the minimum; what is reported is a bound.
        gap = self.dual_gap(u, state, gain)
        certified = max(gap, 0.0)
        if gap <= self.smallest_gap:
            return StepResult(None, FrankWolfeDetails(certified, state.value, None, "tol"))
        eta = self._eta(t, risk, u, psi, state, gap)
        if not eta > 0:
            return StepResult(None, FrankWolfeDetails(certified, state.value, None, "stalled"))
        self.active.gap = certified
        return StepResult(eta * self.radius, FrankWolfeDetails(certified, state.value, eta))

    def _eta(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: RiskState, gap: float
    ) -> float:
        size, towards_atom = STEP_SIZES[self.step_size], Direction(1.0, (), (), 1.0, gap)
        return size(t, _Place(risk, u, state, psi, self.radius), towards_atom)

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        # A convex combination stays in the ball: all atoms lose the share that the new one gets.
        eta = b / self.radius
        u *= 1 - eta
        u += b * psi
        self.active.weights = np.append((1 - eta) * self.active.weights, b)


class _Outputs:
    """Outputs of the atoms found so far, as a dictionary for `RowsBall`."""

    def __init__(self, rows: np.ndarray, weight: np.ndarray) -> None:
        self.rows, self.weight = rows, weight
        self.d = len(rows)

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        return self.rows[chosen]

    def products(self, values: np.ndarray) -> np.ndarray:
        return self.rows @ (self.weight * values)


class CorrectiveStep(FrankWolfeStep):
    """After each new atom the risk is minimised over the ball of all atoms so far."""

    def __init__(
        self, radius: float, smallest_gap: float, active: ActiveAtoms, risk: RiskOfBall
    ) -> None:
        super().__init__(radius, "line_search", smallest_gap, active)
        self.risk = risk

    def _eta(self, *where: Any) -> float:
        return 1.0  # the new atom only joins those over which `move` minimises

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        active = self.active
        active.outputs.append(psi)
        start = np.append(active.weights, 0.0)
        with one_blas_thread():  # many short products
            ball = RowsBall(self.risk, _Outputs(np.array(active.outputs), self.risk.weight))
            # The inner gap need not be below a share of the outer one: the next atom moves the
            # minimum.
            tol = INNER_SHARE * active.gap / max(ball.risk_at_zero, 1e-300)
            options = SolverOptions("line_search", "pairwise", CORRECTIONS, tol)
            path = conditional_gradients(ball, self.radius, start, options)
        active.weights = path.beta
        u[:] = ball.u


class AtomSolver:
    """Over the convex hull of a weak learner's outputs, by the boosting loop."""

    def __init__(self, plan: BallPlan, problem: Problem) -> None:
        self.n, self.options = len(problem.y), plan.options
        weight = problem.weight if plan.weighted else None
        # A classifier is fitted to signs, a regressor to the gradient.
        kind = SignTask if is_classifier(plan.learner) else LeastSquaresTask
        task = kind(random_state=plan.rng)
        learner = weak_learner(plan.learner, problem.X, weight, task, problem.fit_params)
        self.risk, self.target = risk_in_units(plan, problem)
        self.unit = float(self.target.scale)
        self.atoms = Atoms(learner, plan.fit_intercept)
        self.is_exact = self.atoms.is_exact

    def usual_radii(self) -> np.ndarray:
        """The radii that "cv" compares."""
        return multiples_of_one_atom(self.norm_of_one_atom())

    def norm_of_one_atom(self) -> float:
        """The norm of the best single atom, in the units of the data."""
        u = np.zeros(self.n)
        state = self.risk.at(u)
        found = self.atoms.best(state.target, state.weight, u)
        if found is None:
            return 1.0
        return max(self.risk.line_search(u, found[1], state), 1e-300) * self.unit

    def solve(
        self, radius: float, start: Any = None, reports: RoundReports | None = None
    ) -> Solution:
        """Minimise over the ball of this radius, from the `start` of a smaller one."""
        risk_at_zero, n_rounds = self.risk.value(np.zeros(self.n)), self.options.n_rounds
        inner_radius = radius / self.unit
        end = self.options.smallest_gap(risk_at_zero)
        active, u = ActiveAtoms(), np.zeros(self.n)
        # Steps change atoms and scores in place, and the start belongs to another solution.
        if start is not None:
            known, u = start[0], start[1].copy()
            active = ActiveAtoms(list(known.atoms), known.weights.copy(), list(known.outputs))
        if self.options.variant == "fully_corrective":
            step: FrankWolfeStep = CorrectiveStep(inner_radius, end, active, self.risk)
        else:
            step = FrankWolfeStep(inner_radius, self.options.step, end, active)
        rounds = BoostingRounds(self.risk, self.atoms, step, u)
        gaps: list[float] = []
        risks: list[float] = []
        reason = "stalled"

        def so_far() -> Solution:
            # The gap after the round needs the next atom, which is not looked for twice.
            assert rounds.state is not None
            path = [*gaps, np.nan], [*risks, rounds.state.value]
            return self._solution(radius, active, u.copy(), *path, "n_estimators")

        # The rounds are those of boosting; only the step knows of the ball.
        for record in islice(rounds, n_rounds):
            active.atoms.append(record.predictor)
            gaps.append(record.details.gap)
            risks.append(record.details.risk)
            if reports is not None and reports.end_round(
                so_far=so_far, gap=gaps[-1] / risk_at_zero
            ):
                reason = "callback"
                break
        details = rounds.stop_details
        if details is not None:  # of the round in which no step was taken
            gap, risk, reason = details.gap, details.risk, details.stop_reason
        else:
            # The gap at the end is that of one more atom, where the rounds did not run out of them.
            assert rounds.state is not None
            state, gain = rounds.state, 0.0
            if reason == "callback" or len(gaps) == n_rounds:
                reason = "callback" if reason == "callback" else "n_estimators"
                found = self.atoms.best(state.target, state.weight, u)
                gain = 0.0 if found is None else state.first_order_gain(found[1])
            gap, risk = step.dual_gap(u, state, gain), state.value
            reason = "tol" if gap <= end else reason
        return self._solution(radius, active, u, [*gaps, max(gap, 0.0)], [*risks, risk], reason)

    def _solution(
        self,
        radius: float,
        active: ActiveAtoms,
        u: np.ndarray,
        gaps: list[float],
        risks: list[float],
        reason: str,
    ) -> Solution:
        weights, unit = active.weights, self.unit
        kept = np.flatnonzero(weights)
        atoms = [active.atoms[k] for k in kept]
        factors = np.array([atom.factor for atom in atoms])
        offsets = np.array([atom.offset for atom in atoms])
        member_weights = unit * (weights[kept] * factors)
        shift = float(member_weights @ offsets)
        outputs = [active.outputs[k] for k in kept] if active.outputs else []
        return Solution(
            intercept=unit * self.risk.intercept + float(self.target.mean) - shift,
            gaps=self.target.squares_in_units(np.array(gaps)),
            risks=self.target.squares_in_units(np.array(risks)),
            stop_reason=reason,
            variation_norm=min(float(np.abs(weights).sum()) * unit, radius),
            start=(ActiveAtoms(atoms, weights[kept], outputs), u),
            members=[atom.member for atom in atoms],
            member_weights=member_weights,
        )


# --- one radius, or the best of several -----------------------------------------------------------


def solver_of(plan: BallPlan, problem: Problem) -> ColumnSolver | AtomSolver:
    """The solver of a problem, prepared once for all radii."""
    return ColumnSolver(plan, problem) if plan.learner is None else AtomSolver(plan, problem)


def multiples_of_one_atom(norm: float) -> np.ndarray:
    """The radii that "cv" compares, from an eighth to 64 times the norm of the best single atom."""
    with np.errstate(over="ignore"):
        return within_range(norm * RADII)


def held_out_risks(
    plan: BallPlan,
    problem: Problem,
    radii: np.ndarray,
    splits: list[tuple[np.ndarray, np.ndarray]],
    unit: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The risk of each radius on the rows that each split holds out, (n_radii, n_splits)."""
    # Squares of the targets themselves might overflow or vanish; powers of two are exact.
    unit = power_of_two(unit)
    risks = np.empty((len(radii), len(splits)))
    # The radii of a fold in increasing order: the minimiser over one ball is in the next larger
    # one, and a few rounds from there are enough.
    for fold, (train, held) in enumerate(splits):
        solver, start, held_out = solver_of(plan, problem.rows(train)), None, problem.rows(held)
        y = held_out.y / unit
        for k, radius in enumerate(radii):
            solution = solver.solve(float(radius), start)
            start = solution.start
            scores = solution.scores(held_out.X) / unit
            risks[k, fold] = plan.loss.risk(y, scores, held_out.weight)
    return risks, TargetScale(0.0, unit).squares_in_units(risks)
