"""Minimisation over a ball of the variation norm, for one radius or a path of them."""

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory.boosting._core.columns import (
    ColumnDictionary,
    coefficients_in_units,
)
from sklearn_ensemble_theory.boosting._core.gram_rows import GramRows
from sklearn_ensemble_theory.boosting._core.loop import boost
from sklearn_ensemble_theory.boosting._core.risk import EmpiricalRisk
from sklearn_ensemble_theory.boosting._frank_wolfe.atoms import (
    CorrectiveStep,
    FrankWolfeStep,
    ProfiledRisk,
    atoms_of,
)
from sklearn_ensemble_theory.boosting._frank_wolfe.l1_ball import (
    SMALLEST_GAP,
    QuadraticBall,
    RowsBall,
    descend,
)
from sklearn_ensemble_theory.boosting.losses import SquaredLoss

# radius * scale of X, over the size of y. Beyond it the ball is no constraint in floating point,
# and its square overflows.
LARGEST_RADIUS = 1e140
LARGEST_PRODUCT = 1e290


class Solution(NamedTuple):
    """A minimiser over one ball, in the units of the data.

    `coef` is None for a dictionary of weak learners; `members` and `member_weights` are None for
    the columns of X.
    """

    coef: Any
    members: Any
    member_weights: Any
    intercept: float
    gaps: np.ndarray
    risks: np.ndarray
    stop_reason: str
    variation_norm: float
    state: Any  # where a larger ball may start from

    def scores(self, X):
        if self.coef is not None:
            return np.asarray(X @ self.coef) + self.intercept
        u = np.full(X.shape[0], self.intercept)
        for member, weight in zip(self.members, self.member_weights):
            u += weight * np.asarray(member.predict(X), dtype=float).reshape(len(u))
        return u


class _Solver:
    """What both solvers share: the risk, and the unit that squared errors are counted in."""

    def __init__(self, loss, y, weight, fit_intercept):
        # The squared loss is homogeneous: in units of y nothing overflows.
        self.unit, self.mean = 1.0, 0.0
        if isinstance(loss, SquaredLoss):
            self.mean = loss.optimal_constant(y, weight) if fit_intercept else 0.0
            size = float(np.abs(y - self.mean).max())
            self.unit = size if size > 1e-14 * abs(self.mean) else 1.0
            y = (y - self.mean) / self.unit if size > 1e-14 * abs(self.mean) else np.zeros(len(y))
        self.risk = (ProfiledRisk if fit_intercept else EmpiricalRisk)(loss, y, weight)
        # F is in squared units of y for the squared loss, in those of the loss otherwise.
        self.risk_unit = self.unit**2 if isinstance(loss, SquaredLoss) else 1.0

    def _intercept(self):
        return self.unit * getattr(self.risk, "intercept", 0.0) + self.mean


class ColumnSolver(_Solver):
    """Over the columns of X: the l1-constrained linear model."""

    def __init__(self, loss, X, y, weight, fit_intercept, rule, variant, n_rounds, tol):
        super().__init__(loss, y, weight, fit_intercept)
        self.rule, self.variant, self.n_rounds, self.tol = rule, variant, n_rounds, tol
        w = self.risk.weight
        dictionary = ColumnDictionary(X, w, fit_intercept)
        # One scale for all columns: the ball is that of the coefficients in X's own units.
        scale = float(np.max(dictionary.scale * dictionary.usable, initial=0.0))
        self.scale = scale if scale > 0 else 1.0
        dictionary.scale = np.full(dictionary.d, self.scale)
        self.dictionary = dictionary
        if not self.scale * float(np.max(np.abs(self.risk.y))) < LARGEST_PRODUCT:
            raise ValueError("X and y are so large that their products overflow; scale them.")
        if isinstance(loss, SquaredLoss):
            y = self.risk.y
            rows = GramRows(dictionary)
            self.ball = QuadraticBall(rows, dictionary.products(y), float(w @ y**2))
        else:
            self.ball = RowsBall(self.risk, dictionary)

    def first_step(self):
        """The l1 norm of the best single column."""
        self.ball.start(np.zeros(self.dictionary.d))
        k = int(np.argmax(np.abs(self.ball.c)))
        if self.ball.c[k] == 0:
            return 1.0
        psi = self.dictionary.columns(np.array([k]))[0]
        state = self.risk.at(np.zeros(len(psi)))
        step = abs(self.risk.line_search(np.zeros(len(psi)), psi, state))
        return step * self.unit / self.scale

    def solve(self, radius, start=None):
        inner_radius = radius * self.scale / self.unit
        if not inner_radius <= LARGEST_RADIUS:
            raise ValueError(
                f"radius={radius!r} times the scale of X, {self.scale:.1e}, is no constraint on a "
                f"target of size {self.unit:.1e}: scale X, or lower the radius."
            )
        beta = np.zeros(self.dictionary.d) if start is None else start
        path = descend(
            self.ball, inner_radius, beta, self.rule, self.variant, self.n_rounds, self.tol
        )
        coef = coefficients_in_units(path.beta * self.unit, self.scale)
        norm = np.abs(coef).sum()
        if norm > radius:  # by rounding
            coef *= radius / norm * (1 - 1e-16)
        return Solution(
            coef,
            None,
            None,
            float(self._intercept() - self.dictionary.offset @ coef),
            path.gaps * self.risk_unit,
            path.risks * self.risk_unit,
            path.stop_reason,
            float(np.abs(coef).sum()),
            path.beta,
        )


class _Start(NamedTuple):
    """Atoms, their weights and outputs, and the scores that they give."""

    atoms: list
    weights: np.ndarray
    outputs: list
    u: np.ndarray


class AtomSolver(_Solver):
    """Over the hull of a weak learner's outputs, by the boosting loop."""

    def __init__(
        self,
        loss,
        X,
        y,
        weight,
        fit_intercept,
        rule,
        variant,
        n_rounds,
        tol,
        estimator,
        sample_weight,
        random_state,
        fit_params,
    ):
        super().__init__(loss, y, weight, fit_intercept)
        self.rule, self.n_rounds, self.tol = rule, n_rounds, tol
        self.corrective = variant == "corrective"
        self.n = len(y)
        self.atoms, self.exact = atoms_of(
            estimator, X, sample_weight, fit_intercept, random_state, fit_params
        )

    def first_step(self):
        u = np.zeros(self.n)
        state = self.risk.at(u)
        found = self.atoms.best(state.target, state.weight)
        if found is None:
            return 1.0
        return max(self.risk.line_search(u, found[1], state), 1e-300) * self.unit

    def solve(self, radius, start=None):
        inner_radius = radius / self.unit
        if start is None:
            start = _Start([], np.array([]), [], np.zeros(self.n))
        at_zero = self.risk.value(np.zeros(self.n))
        end = max(self.tol, SMALLEST_GAP) * at_zero
        u, atoms, outputs = start.u.copy(), list(start.atoms), list(start.outputs)
        args = (inner_radius, self.rule, end, start.weights)
        step = CorrectiveStep(*args, outputs) if self.corrective else FrankWolfeStep(*args)
        for record in islice(boost(self.risk, self.atoms, step, u), self.n_rounds):
            atoms.append(record.predictor)
            if self.corrective:
                outputs.append(record.outputs)
        state = self.risk.at(u)
        if step.ended == "n_estimators":  # the certificate of what was reached last
            found = self.atoms.best(state.target, state.weight)
            if found is not None:
                step(self.n_rounds, self.risk, u, found[1], state, state.first_order_gain(found[1]))
            if step.ended == "stalled":
                step.ended = "n_estimators"
        weights = step.weights
        kept = np.flatnonzero(weights)
        factors = np.array([atom.factor for atom in atoms])
        offsets = np.array([atom.offset for atom in atoms])
        member_weights = self.unit * (weights * factors)[kept] if len(kept) else np.array([])
        shift = float(member_weights @ offsets[kept]) if len(kept) else 0.0
        gaps = step.gaps if step.gaps else [0.0]
        risks = step.risks if step.risks else [state.value]
        return Solution(
            None,
            [atoms[k].member for k in kept],
            member_weights,
            self._intercept() - shift,
            np.array(gaps) * self.risk_unit,
            np.array(risks) * self.risk_unit,
            step.ended,
            min(float(np.abs(weights).sum()) * self.unit, radius),
            _Start(
                [atoms[k] for k in kept],
                weights[kept],
                [outputs[k] for k in kept] if self.corrective else [],
                u,
            ),
        )
