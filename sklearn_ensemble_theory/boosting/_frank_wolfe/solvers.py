"""Minimisation over a ball of the variation norm, for one radius or a path of them."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from sklearn_ensemble_theory._learners import PreparedRounds, predict_validated
from sklearn_ensemble_theory._scaling import TargetScale
from sklearn_ensemble_theory.boosting._dictionary import (
    ColumnDictionary,
    GramRows,
    coefficients_in_units,
)
from sklearn_ensemble_theory.boosting._frank_wolfe.atoms import Atoms
from sklearn_ensemble_theory.boosting._frank_wolfe.frank_wolfe_steps import (
    ActiveAtoms,
    CorrectiveStep,
    FrankWolfeStep,
)
from sklearn_ensemble_theory.boosting._frank_wolfe.l1_ball import (
    Ball,
    QuadraticBall,
    RowsBall,
    SolverOptions,
    conditional_gradients,
)
from sklearn_ensemble_theory.boosting._frank_wolfe.risks import ProfiledRisk, RiskWithoutIntercept
from sklearn_ensemble_theory.boosting._loop import RoundReports, boost
from sklearn_ensemble_theory.boosting.losses import Loss

# radius * scale of X, over the size of y. Beyond it the ball is no constraint in floating point,
# and its square overflows.
LARGEST_RADIUS = 1e140
LARGEST_PRODUCT = 1e290


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised: a risk over rows.

    Attributes
    ----------
    loss : Loss
    X : {array, sparse matrix} of shape (n, d)
    y : array of shape (n,)
    weight : array of shape (n,)
        Positive.
    fit_intercept : bool
    """

    loss: Loss
    X: Any
    y: np.ndarray
    weight: np.ndarray
    fit_intercept: bool

    def rows(self, chosen: np.ndarray) -> "Problem":
        """The problem over some of the rows."""
        return Problem(
            self.loss, self.X[chosen], self.y[chosen], self.weight[chosen], self.fit_intercept
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """A minimiser over one ball, in the units of the data.

    Attributes
    ----------
    intercept : float
    gaps, risks : float arrays of shape (T + 1,)
    stop_reason : str
    variation_norm : float
    start : object
        Where the solver may start from for a larger ball.
    """

    intercept: float
    gaps: np.ndarray
    risks: np.ndarray
    stop_reason: str
    variation_norm: float
    start: Any

    def scores(self, X: Any) -> np.ndarray:
        """The scores of any rows."""
        raise NotImplementedError

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes that depend on the dictionary."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ColumnSolution(Solution):
    """Over the columns of X."""

    coef: np.ndarray

    def scores(self, X):
        return np.asarray(X @ self.coef) + self.intercept

    def attributes(self):
        return {"coef_": self.coef}


@dataclass(frozen=True, eq=False)
class AtomSolution(Solution):
    """Over the atoms of a weak learner."""

    members: list
    member_weights: np.ndarray

    def scores(self, X):
        return sum_of_members(X, self.members, self.member_weights, self.intercept)

    def attributes(self):
        return {"estimators_": self.members, "estimator_weights_": self.member_weights}


def sum_of_members(X: Any, members: list, weights: np.ndarray, intercept: float) -> np.ndarray:
    """The intercept plus the weighted sum of the members' predictions: (n,)."""
    u = np.full(X.shape[0], intercept)
    for member, weight in zip(members, weights):
        u += weight * np.asarray(predict_validated(member, X), dtype=float).reshape(len(u))
    return u


class Solver:
    """What both solvers share: the risk, and the units of the targets.

    Attributes
    ----------
    is_exact : bool
        Whether the dual gaps are bounds.
    """

    is_exact: bool

    def __init__(self, problem: Problem, options: SolverOptions):
        y, loss = problem.y, problem.loss
        # The squared loss is fitted in units of y, in which nothing overflows.
        self.target = TargetScale(0.0, 1.0)
        if loss.is_quadratic:
            mean = loss.optimal_constant(y, problem.weight) if problem.fit_intercept else 0.0
            self.target = TargetScale.about(y, mean)
            y = self.target(y)
        kind = ProfiledRisk if problem.fit_intercept else RiskWithoutIntercept
        self.risk = kind(loss, y, problem.weight)
        self.options = options

    def norm_of_one_atom(self) -> float:
        """The norm of the best single atom, in the units of the data."""
        raise NotImplementedError

    def solve(
        self, radius: float, start: Any = None, reports: RoundReports | None = None
    ) -> Solution:
        """Minimise over the ball of this radius, from the `start` of a smaller one."""
        raise NotImplementedError

    def _intercept(self):
        return self.target.scale * self.risk.intercept + self.target.mean


class ColumnSolver(Solver):
    """Over the columns of X: the l1-constrained linear model."""

    is_exact = True

    def __init__(self, problem: Problem, options: SolverOptions):
        super().__init__(problem, options)
        w, y = self.risk.weight, self.risk.y
        dictionary = ColumnDictionary(problem.X, w, problem.fit_intercept)
        # One scale for all columns: the ball is that of the coefficients in X's own units.
        scale = float(np.max(dictionary.scale * dictionary.usable, initial=0.0))
        self.scale = scale if scale > 0 else 1.0
        dictionary.scale = np.full(dictionary.d, self.scale)
        self.dictionary = dictionary
        if not self.scale * float(np.max(np.abs(y))) < LARGEST_PRODUCT:
            raise ValueError("X and y are so large that their products overflow; scale them.")
        if problem.loss.is_quadratic:
            rows = GramRows(dictionary)
            self.ball: Ball = QuadraticBall(rows, dictionary.products(y), float(w @ y**2))
        else:
            self.ball = RowsBall(self.risk, dictionary)

    def norm_of_one_atom(self):
        self.ball.start(np.zeros(self.dictionary.d))
        k = int(np.argmax(np.abs(self.ball.c)))
        if self.ball.c[k] == 0:
            return 1.0
        psi = self.dictionary.columns(np.array([k]))[0]
        state = self.risk.at(np.zeros(len(psi)))
        step = abs(self.risk.line_search(np.zeros(len(psi)), psi, state))
        return step * self.target.scale / self.scale

    def solve(self, radius, start=None, reports=None):
        unit = self.target.scale
        inner_radius = radius * self.scale / unit
        if not inner_radius <= LARGEST_RADIUS:
            raise ValueError(
                f"radius={radius!r} times the scale of X, {self.scale:.1e}, does not constrain a "
                f"target of size {unit:.1e}; scale X, or choose a smaller radius."
            )
        beta = np.zeros(self.dictionary.d) if start is None else start
        end_round = None
        if reports is not None:

            def end_round(gap, so_far):
                return reports.end_round(so_far=lambda: self._solution(radius, so_far()), gap=gap)

        path = conditional_gradients(self.ball, inner_radius, beta, self.options, end_round)
        return self._solution(radius, path)

    def _solution(self, radius, path):
        unit = self.target.scale
        coef = coefficients_in_units(path.beta * unit, self.scale)
        norm = np.abs(coef).sum()
        if norm > radius:  # by rounding
            coef *= radius / norm * (1 - 1e-16)
        return ColumnSolution(
            intercept=float(self._intercept() - self.dictionary.offset @ coef),
            gaps=self.target.squares_in_units(path.gaps),
            risks=self.target.squares_in_units(path.risks),
            stop_reason=path.stop_reason,
            variation_norm=float(np.abs(coef).sum()),
            start=path.beta,
            coef=coef,
        )


@dataclass(frozen=True, eq=False)
class _Start:
    """Atoms with their weights and outputs, and the scores that they give."""

    atoms: list
    active: ActiveAtoms
    u: np.ndarray


class AtomSolver(Solver):
    """Over the convex hull of a weak learner's outputs, by the boosting loop.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
    learner : PreparedRounds
        The weak learner.
    """

    def __init__(self, problem: Problem, options: SolverOptions, learner: PreparedRounds):
        super().__init__(problem, options)
        self.n = len(problem.y)
        self.atoms = Atoms(learner, problem.fit_intercept)
        self.is_exact = self.atoms.is_exact

    def norm_of_one_atom(self):
        u = np.zeros(self.n)
        state = self.risk.at(u)
        found = self.atoms.best(state.target, state.weight, u)
        if found is None:
            return 1.0
        return max(self.risk.line_search(u, found[1], state), 1e-300) * self.target.scale

    def solve(self, radius, start=None, reports=None):
        risk_at_zero = self.risk.value(np.zeros(self.n))
        end = self.options.smallest_gap(risk_at_zero)
        atoms, active, u = [], ActiveAtoms(), np.zeros(self.n)
        if start is not None:
            known = start.active
            atoms, u = list(start.atoms), start.u.copy()
            active = ActiveAtoms(known.weights.copy(), list(known.outputs))
        step = self._step(radius / self.target.scale, end, active)
        rounds = boost(self.risk, self.atoms, step, u)
        gaps, risks, ended = [], [], False

        def so_far():
            # The gap after the round needs the next atom, which is not looked for twice.
            path = [*gaps, np.nan], [*risks, rounds.state.value], "n_estimators"
            return self._solution(radius, atoms, active, u.copy(), path)

        for record in islice(rounds, self.options.n_rounds):
            atoms.append(record.predictor)
            gaps.append(record.details.gap)
            risks.append(record.details.risk)
            if reports is not None and reports.end_round(
                so_far=so_far, gap=gaps[-1] / risk_at_zero
            ):
                ended = True
                break
        gap, risk, reason = self._end(step, rounds, u, len(gaps), ended)
        path = [*gaps, gap], [*risks, risk], reason
        return self._solution(radius, atoms, active, u, path)

    def _step(self, radius, smallest_gap, active):
        if self.options.variant == "corrective":
            return CorrectiveStep(radius, smallest_gap, active, self.risk)
        return FrankWolfeStep(radius, self.options.step, smallest_gap, active)

    def _end(self, step, rounds, u, n_rounds, ended):
        """The dual gap and the risk that were reached, and why the rounds ended."""
        details = rounds.stop_details
        if details is not None:
            return details.gap, details.risk, details.stop_reason
        state, gain, reason = rounds.state, 0.0, "stalled"
        if ended or n_rounds == self.options.n_rounds:
            reason = "callback" if ended else "n_estimators"
            found = self.atoms.best(state.target, state.weight, u)
            gain = 0.0 if found is None else state.first_order_gain(found[1])
        gap = step.dual_gap(u, state, gain)
        return max(gap, 0.0), state.value, "tol" if gap <= step.smallest_gap else reason

    def _solution(self, radius, atoms, active, u, path):
        weights, unit = active.weights, self.target.scale
        kept = np.flatnonzero(weights)
        atoms = [atoms[k] for k in kept]
        factors = np.array([atom.factor for atom in atoms])
        offsets = np.array([atom.offset for atom in atoms])
        member_weights = unit * (weights[kept] * factors)
        shift = float(member_weights @ offsets)
        gaps, risks, reason = path
        outputs = [active.outputs[k] for k in kept] if active.outputs else []
        return AtomSolution(
            intercept=self._intercept() - shift,
            gaps=self.target.squares_in_units(np.array(gaps)),
            risks=self.target.squares_in_units(np.array(risks)),
            stop_reason=reason,
            variation_norm=min(float(np.abs(weights).sum()) * unit, radius),
            start=_Start(atoms, ActiveAtoms(weights[kept], outputs), u),
            members=[atom.member for atom in atoms],
            member_weights=member_weights,
        )
