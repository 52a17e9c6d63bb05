"""A fit in a ball, and the radius with the smallest held-out risk.

A plan and the rows of all classes become a problem for each class against the others (one problem
for two classes). A radius that is to be chosen is chosen before the fit, for all problems at a
time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sklearn_ensemble_theory._folds import lost_class
from sklearn_ensemble_theory._margin_losses import MarginFunction
from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory._scaling import largest_entry, power_of_two

from .balls import Ball, Matrix
from .descent import Descent
from .problem import BallPoint, BallProblem, BallSet
from .solvers import (
    MAX_COLUMNS,
    BallRows,
    averaged_gradient_descent,
    averaged_stochastic_descent,
    solve_in_ball,
    solve_in_blocks,
)

# Features between these are used as they are; others are divided by a power of two.
SMALLEST_SCALE, LARGEST_SCALE = 1e-50, 1e50
# The radii that "cv" compares, as multiples of `norm_of_one_direction`.
RADII = np.geomspace(1 / 8, 64, 16)


@dataclass(frozen=True)
class BallPlan:
    """What a fit minimises, and how."""

    phi: MarginFunction
    ball: type[Ball]
    solver: Literal["auto", "gd", "sgd"]
    fit_intercept: bool
    tol: float
    max_iter: int | None

    @property
    def max_steps(self) -> int:
        """Of the solver "auto"."""
        return self.max_iter or 10_000


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The rows of a fit, numbers of their classes, and weights of sum 1.

    X is divided by `scale`, a power of two: the ball grows by the same factor, no digit changes,
    and squares neither overflow nor vanish.
    """

    X: Matrix
    codes: np.ndarray
    weight: np.ndarray
    n_classes: int
    scale: float

    @classmethod
    def of(cls, X: Matrix, codes: np.ndarray, weight: np.ndarray, n_classes: int) -> "ClassRows":
        """Of rows in their own units."""
        scale = scale_of(largest_entry(X))
        return cls(X if scale == 1 else X / scale, codes, weight, n_classes, scale)

    def part(self, chosen: np.ndarray) -> "ClassRows":
        """Some of the rows."""
        weight = self.weight[chosen]
        shares = weight / weight.sum()
        return ClassRows(self.X[chosen], self.codes[chosen], shares, self.n_classes, self.scale)

    def signs(self, k: int) -> np.ndarray:
        """+1 for the rows of class k, and -1 for the others."""
        return np.where(self.codes == k, 1.0, -1.0)


def scale_of(largest: float) -> float:
    """The power of two that X is divided by; `largest` is its largest absolute value."""
    return 1.0 if SMALLEST_SCALE < largest < LARGEST_SCALE else power_of_two(largest)


def positive_classes(n_classes: int) -> Sequence[int]:
    """The class that is +1 in each problem: one against the others, and one of two only."""
    return [1] if n_classes == 2 else range(n_classes)


def scaled_ball(plan: BallPlan, radius: float, scale: float) -> Ball:
    """The ball in units of 1 / (X / scale)."""
    if not 1e-290 < radius * scale < 1e290:
        raise ValueError(f"radius={radius!r} times the largest value of X is no float.")
    return plan.ball(radius * scale)


@dataclass(frozen=True, eq=False)
class BallFit:
    """The solutions of all problems.

    `bounds` are what is known of each solution before the fit, or its gap, and `states` what
    further stochastic steps go on from.
    """

    problems: Sequence[BallSet]
    points: Sequence[BallPoint]
    bounds: Sequence[float]
    states: Sequence[Descent | None]


def fit_in_ball(
    plan: BallPlan,
    rows: ClassRows,
    radius: float,
    rng: np.random.RandomState,
    start: Sequence[BallPoint] | None = None,
) -> BallFit:
    """Solve each problem; "auto" goes on from `start`, solutions in a smaller ball."""
    ball = scaled_ball(plan, radius, rows.scale)
    problems, points, bounds, states = [], [], [], []
    for number, k in enumerate(positive_classes(rows.n_classes)):
        problem = BallProblem(
            rows.X, rows.signs(k), rows.weight, plan.phi, ball, fit_intercept=plan.fit_intercept
        )
        if plan.solver != "auto" and not np.isfinite(plan.phi.lipschitz(problem.largest_score)):
            raise ValueError(
                f"The exponential loss overflows in the ball: with radius={radius!r} scores can be "
                f"{problem.largest_score:.3g}. Scale X, reduce radius, or use solver='auto'."
            )
        state = None
        if plan.solver == "auto":
            first = None if start is None else start[number]
            point = solve_in_ball(problem, plan.tol, plan.max_steps, first)
            bound = point.gap
        elif plan.solver == "gd":
            point, bound = averaged_gradient_descent(problem, plan.max_iter or 1_000)
        else:
            n_steps = plan.max_iter or problem.n
            point, bound, state = averaged_stochastic_descent(problem, n_steps, rng)
        problems.append(problem)
        points.append(point)
        bounds.append(bound)
        states.append(state)
    return BallFit(problems, points, bounds, states)


def fit_blocks(
    plan: BallPlan, rows: ChunkedRows, seen: BallRows, radius: float
) -> tuple[BallFit, float]:
    """The same with "auto" for rows in blocks, of which a first pass has `seen`; and the scale."""
    scale, total = scale_of(seen.largest), float(seen.weights.sum())
    ball, problems = scaled_ball(plan, radius, scale), {}
    for k in positive_classes(len(seen.classes)):
        log_odds = seen.log_odds(k) if plan.fit_intercept else None
        problems[k] = BallSet(plan.phi, ball, seen.size / scale, log_odds)
    rows = rows.knowing(classes=seen.classes)
    points = solve_in_blocks(rows, problems, total, scale, plan.tol, plan.max_steps)
    bounds = [point.gap for point in points]
    return BallFit(list(problems.values()), points, bounds, [None] * len(points)), scale


def check_blocks(plan: BallPlan, n_features: int) -> None:
    """Refuse what needs all rows in memory."""
    if plan.solver != "auto":
        raise ValueError(f"solver={plan.solver!r} needs all rows in memory; use solver='auto'.")
    if plan.phi.is_piecewise_linear:
        raise ValueError(
            "loss='hinge', which has no second derivatives, needs all rows in memory; use "
            "loss='logistic' or loss='exponential'."
        )
    if n_features > MAX_COLUMNS:
        raise ValueError(
            f"X has {n_features} features; with Dask collections at most {MAX_COLUMNS} are "
            "possible, because each chunk sends a matrix of second derivatives."
        )


# --- the radius by held-out risks -----------------------------------------------------------------


def usual_radii(plan: BallPlan, rows: ClassRows) -> np.ndarray:
    """The radii that "cv" compares, in units of 1/X."""
    norms = [
        norm_of_one_direction(rows, k, plan.ball(1.0), plan.fit_intercept)
        for k in positive_classes(rows.n_classes)
    ]
    return max(norms) / rows.scale * RADII


def norm_of_one_direction(rows: ClassRows, k: int, ball: Ball, fit_intercept: bool) -> float:
    """How far least squares go from 0 along the point of the unit ball where they fall fastest."""
    y, w = rows.signs(k), rows.weight
    if fit_intercept:
        y = y - w @ y
    c = rows.X.T @ (w * y)
    size = ball.dual_norm(c)
    # Of columns without a slope, such as constants, rounding leaves so much.
    noise = len(y) * np.finfo(float).eps * ball.dual_norm(abs(rows.X).T @ (w * abs(y)))
    if not size > noise:
        return 1.0
    s = rows.X @ ball.steepest(c)
    if fit_intercept:
        s = s - w @ s
    return size / float(w @ s**2)


def held_out_risks(
    plan: BallPlan,
    rows: ClassRows,
    radii: np.ndarray,
    splits: list[tuple[np.ndarray, np.ndarray]],
    rng: np.random.RandomState,
    labels: np.ndarray,
) -> np.ndarray:
    """The risk of each radius on the rows that each split holds out, (n_radii, n_splits).

    That is the mean over the problems. The radii of a split are fitted in increasing order, because
    the solution in a ball is a start in the next larger one. Errors name one of the `labels`.
    """
    risks = np.empty((len(radii), len(splits)))
    for fold, (train, held) in enumerate(splits):
        part, held_out, start = rows.part(train), rows.part(held), None
        if len(np.unique(part.codes)) < rows.n_classes:
            raise lost_class(f"Split {fold} of radius__cv", labels[train], labels)
        for number, radius in enumerate(radii):
            start = fit_in_ball(plan, part, float(radius), rng, start).points
            found = [
                held_out.weight @ plan.phi.value(held_out.signs(k) * (held_out.X @ beta + b))
                for k, (beta, b) in zip(
                    positive_classes(rows.n_classes), ((at.beta, at.intercept) for at in start)
                )
            ]
            risks[number, fold] = np.mean(found)
    return risks
