"""Newton's method over a ball for rows in chunks: one pass over them for each point."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS, MarginFunction
from sklearn_ensemble_theory._rows import ChunkedRows, Rows
from sklearn_ensemble_theory.erm._ball.ball_newton import (
    INNER_SHARE,
    LEAST_SHARE,
    MAX_COLUMNS,
    SMALLEST_GAP,
    STALLED,
)
from sklearn_ensemble_theory.erm._ball.ball_problem import (
    BallPoint,
    BallProblem,
    BallSet,
    Slope,
    without_rounding,
)

# Points tried along one step, at most.
TRIALS = 40
# A point is accepted where the slope along the step is at most this share of that at its start.
FLAT_SHARE = 0.1


def check_chunked_options(loss: str, solver: str, n_features: int) -> None:
    """ValueError for what needs all rows in memory."""
    if solver != "auto":
        raise ValueError(f"solver={solver!r} needs all rows in memory; use solver='auto'.")
    if MARGIN_FUNCTIONS[loss].is_piecewise_linear:
        raise ValueError(
            f"loss={loss!r}, which has no second derivatives, needs all rows in memory; use "
            "loss='logistic' or loss='exponential'."
        )
    if n_features > MAX_COLUMNS:
        raise ValueError(
            f"X has {n_features} features; with Dask collections at most {MAX_COLUMNS} are "
            "possible, because each chunk sends a matrix of second derivatives."
        )


@dataclass
class BallRows:
    """What a first pass finds.

    Attributes
    ----------
    classes : array of shape (K,)
    weights : float array of shape (K,)
        The weight of each class.
    squares : float
        The sum of squares of the weights of the rows.
    size, largest : float
        The largest dual norm of a row, and absolute value of a feature.
    """

    classes: np.ndarray
    weights: np.ndarray
    squares: float
    size: float
    largest: float

    @classmethod
    def of(cls, chunk: Rows, ball: Any) -> "BallRows":
        check_classification_targets(chunk.y)
        classes, codes = np.unique(chunk.y, return_inverse=True)
        w = np.ones(len(codes)) if chunk.weight is None else chunk.weight
        X = chunk.X.astype(np.float64, copy=False)
        largest = float(np.abs(X).max(initial=0.0))
        unit = largest or 1.0
        size = ball.row_size(X / unit) * unit
        return cls(classes, np.bincount(codes, w), float(w @ w), size, largest)

    def __add__(self, other: "BallRows") -> "BallRows":
        both = np.concatenate([self.classes, other.classes])
        classes, codes = np.unique(both, return_inverse=True)
        return BallRows(
            classes,
            np.bincount(codes, np.concatenate([self.weights, other.weights])),
            self.squares + other.squares,
            max(self.size, other.size),
            max(self.largest, other.largest),
        )

    def log_odds(self, k: int) -> float:
        """Of class k against the others."""
        others = np.delete(self.weights, k).sum()
        return float(np.log(self.weights[k]) - np.log(others))


@dataclass
class Derivatives:
    """Sums over rows at one point, with weights that sum to 1 over all.

    Attributes
    ----------
    risk, mass, size : float
        The risk; the mean of -phi'; the sum of the absolute terms of `total`.
    beta : float array of shape (p,)
    total : float
        The derivatives by the coefficients and by the intercept.
    hessian : tuple
        As `BallProblem.gram` returns it.
    """

    risk: float
    mass: float
    size: float
    beta: np.ndarray
    total: float
    hessian: tuple[np.ndarray, np.ndarray, float]

    def __add__(self, other: "Derivatives") -> "Derivatives":
        (H, h, d), (H2, h2, d2) = self.hessian, other.hessian
        return Derivatives(
            self.risk + other.risk,
            self.mass + other.mass,
            self.size + other.size,
            self.beta + other.beta,
            self.total + other.total,
            (H + H2, h + h2, d + d2),
        )

    def slope(self, fit_intercept: bool) -> Slope:
        return Slope(self.beta, without_rounding(self.total, self.size) if fit_intercept else 0.0)

    def hessian_of(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Of these coefficients, and the intercept; a copy."""
        H, h, total = self.hessian
        return H[np.ix_(chosen, chosen)], h[chosen], total


@dataclass
class DerivativesOfAll:
    """The derivatives of several problems, by their numbers."""

    found: dict[int, Derivatives]

    def __add__(self, other: "DerivativesOfAll") -> "DerivativesOfAll":
        return DerivativesOfAll({k: one + other.found[k] for k, one in self.found.items()})


Point = tuple[np.ndarray, float]


def derivatives_of_chunk(
    chunk: Rows,
    points: dict[int, Point],
    phi: MarginFunction,
    total: float,
    scale: float,
) -> DerivativesOfAll:
    """At a point (beta, b) of the problem of each class in `points`, in units of X / scale."""
    X = chunk.X.astype(np.float64, copy=False)
    X = X if scale == 1 else X / scale
    w = np.full(len(X), 1 / total) if chunk.weight is None else chunk.weight / total
    found = {}
    for k, (beta, b) in points.items():
        y = np.where(chunk.y == k, 1.0, -1.0)
        m = y * (X @ beta + b)
        a = -phi.slope(m)
        r = -w * y * a
        found[k] = Derivatives(
            float(w @ phi.value(m)),
            float(w @ a),
            float(np.abs(r).sum()),
            X.T @ r,
            float(r.sum()),
            BallProblem.gram(X, w * phi.curvature(m)),
        )
    return DerivativesOfAll(found)


def newton_points(
    problem: BallSet, n_features: int, tol: float, max_iter: int
) -> Generator[Point, Derivatives, BallPoint]:
    """The points whose derivatives are to be sent, and the solution at the end."""
    beta, b = np.zeros(n_features), problem.start
    at = yield beta, b
    slope = at.slope(problem.fit_intercept)
    gap = problem.linear_gap(slope, beta, b)
    end = max(tol * min(at.risk, gap), SMALLEST_GAP)
    best = BallPoint(beta, b, gap, 0, gap <= end)
    n_iter = 0
    while not best.converged and n_iter < max_iter:
        chosen = problem.ball.working_set(beta, slope.beta)
        gap = problem.linear_gap(slope, beta, b)
        first = 0.0
        for share in (INNER_SHARE, LEAST_SHARE):
            model = at.hessian_of(chosen), slope, chosen, beta[chosen]
            step, db = problem.model_step(*model, gap * share)
            first = float(slope.beta[chosen] @ step) + slope.intercept * db
            if first < 0:
                break
        if not first < 0:
            is_small = best.gap <= STALLED * problem.rounding_of(at.mass)
            return best._replace(n_iter=n_iter, converged=is_small)
        low, at_low, high, at_high, t = 0.0, first, 1.0, 0.0, 1.0
        for _ in range(TRIALS):
            moved = beta.copy()
            moved[chosen] += t * step
            moved = problem.ball.project(moved)
            at = yield moved, b + t * db
            slope = at.slope(problem.fit_intercept)
            along = float(slope.beta[chosen] @ step) + slope.intercept * db
            if abs(along) <= -FLAT_SHARE * first or (t == 1 and along < 0):
                break
            if along < 0:
                low, at_low = t, along
            else:
                high, at_high = t, along
            t = low + (high - low) * min(max(at_low / (at_low - at_high), 0.1), 0.9)
        beta, b, n_iter = moved, b + t * db, n_iter + 1
        gap = problem.linear_gap(slope, beta, b)
        done = gap <= end or gap <= problem.rounding_of(at.mass)
        if gap <= best.gap or done:
            best = BallPoint(beta, b, gap, n_iter, done)
    return best._replace(n_iter=n_iter)


def points_of_chunks(
    rows: ChunkedRows,
    problems: dict[int, BallSet],
    total: float,
    scale: float,
    tol: float,
    max_iter: int,
) -> list[BallPoint]:
    """Solve the problems of some classes side by side: a pass has a point of each.

    Parameters
    ----------
    rows : ChunkedRows
        With `classes`.
    problems : dict
        By the number of the class.
    total : float
        The sum of the weights.
    scale : float
        What X is divided by.
    tol, max_iter : as for `solve_in_ball`
    """
    p = rows.checks.n_features
    solvers = {k: newton_points(problem, p, tol, max_iter) for k, problem in problems.items()}
    points = {k: next(solver) for k, solver in solvers.items()}
    phi = next(iter(problems.values())).phi
    solved: dict[int, BallPoint] = {}
    while points:
        found = rows.sum(derivatives_of_chunk, points, phi, total, scale).found
        points = {}
        for k, derivatives in found.items():
            try:
                points[k] = solvers[k].send(derivatives)
            except StopIteration as end:
                solved[k] = end.value
    return [solved[k] for k in problems]
