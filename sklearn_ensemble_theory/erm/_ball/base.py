"""The fit of a linear classifier in a ball: a problem for each class, by one of the solvers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS
from sklearn_ensemble_theory._parallel import one_blas_thread
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory._scaling import largest_entry, power_of_two
from sklearn_ensemble_theory.erm._ball.averaged_descent import (
    StochasticState,
    averaged_gradient_descent,
    averaged_stochastic_descent,
    stochastic_steps,
)
from sklearn_ensemble_theory.erm._ball.ball_newton import solve_in_ball
from sklearn_ensemble_theory.erm._ball.ball_problem import BallPoint, BallProblem, BallSet
from sklearn_ensemble_theory.erm._ball.balls import BALLS
from sklearn_ensemble_theory.erm._ball.chunked_newton import (
    BallRows,
    check_chunked_options,
    points_of_chunks,
)

# Features between these are used as they are; others are divided by a power of two.
SMALLEST_SCALE, LARGEST_SCALE = 1e-50, 1e50


class BallOptions(NamedTuple):
    """The parameters of a fit."""

    loss: str
    norm: str
    radius: float
    solver: str
    fit_intercept: bool
    max_iter: int | None
    tol: float


class BallFit(NamedTuple):
    """The solution of one problem in units of X, with the constants of the guarantees.

    Attributes
    ----------
    coef : float array of shape (p,)
    intercept : float
    gap : float
    bound : float
        The bound on F - min F that the solver has.
    n_iter : int
    converged : bool
    feature_bound : float
        C, the largest dual norm of a row.
    intercept_bound : float
        B, no smaller than the best intercept.
    state : StochasticState or None
        What `partial_fit` goes on from.
    """

    coef: np.ndarray
    intercept: float
    gap: float
    bound: float
    n_iter: int
    converged: bool
    feature_bound: float
    intercept_bound: float
    state: StochasticState | None


def _solve_exactly(problem: BallProblem, options: BallOptions, rng: Any):
    solution = solve_in_ball(problem, options.tol, options.max_iter or 10_000)
    return solution, solution.gap, None


def _solve_by_gradients(problem: BallProblem, options: BallOptions, rng: Any):
    check_range(problem)
    return *averaged_gradient_descent(problem, options.max_iter or 1_000), None


def _solve_by_rows(problem: BallProblem, options: BallOptions, rng: Any):
    check_range(problem)
    return averaged_stochastic_descent(problem, options.max_iter or problem.n, rng)


Solver = Callable[[BallProblem, BallOptions, Any], tuple[BallPoint, float, StochasticState | None]]
SOLVERS: dict[str, Solver] = {
    "auto": _solve_exactly,
    "gd": _solve_by_gradients,
    "sgd": _solve_by_rows,
}


def check_range(problem: BallProblem) -> None:
    """Raise a ValueError where the largest slope of the loss in the ball is no number."""
    if not np.isfinite(problem.phi.lipschitz(problem.largest_score)):
        raise ValueError(
            f"The exponential loss overflows in the ball: with this radius scores can be "
            f"{problem.largest_score:.3g}. Scale X, reduce radius, or use solver='auto'."
        )


def fit_in_ball(
    X: Any, codes: np.ndarray, n_classes: int, weight: np.ndarray, options: BallOptions, rng: Any
) -> list[BallFit]:
    """Fit one problem for two classes, one for each class against the rest for more.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, p)
    codes : int array of shape (n,)
        The classes, 0 ... n_classes - 1, all of them.
    n_classes : int
    weight : float array of shape (n,)
        Positive, of sum 1.
    options : BallOptions
    rng : RandomState

    Returns
    -------
    list of BallFit

    Raises
    ------
    ValueError
        Where the numbers are too large.
    """
    ball, scale = scaled_ball(options, largest_entry(X))
    X = X if scale == 1 else X / scale
    phi = MARGIN_FUNCTIONS[options.loss]
    fits = []
    for k in [1] if n_classes == 2 else range(n_classes):
        y = np.where(codes == k, 1.0, -1.0)
        problem = BallProblem(X, y, weight, phi, ball, fit_intercept=options.fit_intercept)
        with one_blas_thread():  # thousands of short products: waiting for threads costs more
            solution, bound, state = SOLVERS[options.solver](problem, options, rng)
        fits.append(
            BallFit(
                solution.beta / scale,
                solution.intercept,
                solution.gap,
                bound,
                solution.n_iter,
                solution.converged,
                problem.C * scale,
                problem.reach,
                state if scale == 1 else None,
            )
        )
    warn_of_gaps(fits)
    return fits


def scaled_ball(options: BallOptions, largest: float) -> tuple[Any, float]:
    """The ball for X in units of `scale`, and this power of 2; `largest` is that of X."""
    scale = 1.0 if SMALLEST_SCALE < largest < LARGEST_SCALE else power_of_two(largest)
    radius = options.radius * scale
    if not 1e-290 < radius < 1e290:
        raise ValueError(f"radius={options.radius!r} times the largest value of X is no float.")
    return BALLS[options.norm](radius), scale


def warn_of_gaps(fits: list[BallFit]) -> None:
    """ConvergenceWarning if a gap is above tol."""
    if not all(fit.converged for fit in fits):
        warn_user(
            f"The fit ended at a duality gap of {max(f.gap for f in fits):.3g}, above tol. Scale "
            "the features, or increase max_iter or tol.",
            ConvergenceWarning,
        )


def check_labels(classes: np.ndarray, name: str) -> None:
    """ValueError for fewer than two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"{name} needs rows of at least two classes; y has one class only, {classes[0]!r}."
        )


def fit_chunks_in_ball(
    rows: ChunkedRows, options: BallOptions, name: str
) -> tuple[np.ndarray, list[BallFit], float]:
    """The fit of rows in chunks; see `chunked_newton`.

    Returns
    -------
    classes : array of shape (K,)
    fits : list of BallFit
    n_effective : float
        The square of the sum of the weights over the sum of their squares.
    """
    check_chunked_options(options.loss, options.solver, rows.checks.n_features)
    seen = rows.sum(BallRows.of, BALLS[options.norm](1.0))
    check_labels(seen.classes, name)
    ball, scale = scaled_ball(options, seen.largest)
    phi, total = MARGIN_FUNCTIONS[options.loss], float(seen.weights.sum())
    problems = {}
    for k in [1] if len(seen.classes) == 2 else range(len(seen.classes)):
        log_odds = seen.log_odds(k) if options.fit_intercept else None
        problems[k] = BallSet(phi, ball, seen.size / scale, log_odds)
    rows = rows.knowing(classes=seen.classes)
    max_iter = options.max_iter or 10_000
    points = points_of_chunks(rows, problems, total, scale, options.tol, max_iter)
    fits = [
        BallFit(
            point.beta / scale,
            point.intercept,
            point.gap,
            point.gap,
            point.n_iter,
            point.converged,
            seen.size,
            problem.reach,
            None,
        )
        for point, problem in zip(points, problems.values())
    ]
    warn_of_gaps(fits)
    return seen.classes, fits, total**2 / seen.squares


def first_states(
    X: Any, codes: np.ndarray, n_classes: int, weight: np.ndarray, options: BallOptions
) -> list[StochasticState]:
    """The states before the first step of `partial_fit`; the rows set B.

    A class that the first rows do not have counts as half a row.
    """
    ball, phi = BALLS[options.norm](options.radius), MARGIN_FUNCTIONS[options.loss]
    states = []
    for k in [1] if n_classes == 2 else range(n_classes):
        reach = 0.0
        if options.fit_intercept:
            half = 0.5 * weight.mean()
            up, down = weight[codes == k].sum(), weight[codes != k].sum()
            log_odds = float(np.log(max(up, half)) - np.log(max(down, half)))
            reach = phi.intercept_offset(log_odds) + options.radius * ball.row_size(X)
        states.append(StochasticState.first(X.shape[1], reach))
    return states


def further_steps(
    X: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    options: BallOptions,
    states: list[StochasticState],
) -> list[StochasticState]:
    """One step for each row, in the order of the rows."""
    if largest_entry(X) > LARGEST_SCALE:
        raise ValueError(f"partial_fit needs features of at most {LARGEST_SCALE:g}; scale X.")
    ball, phi = BALLS[options.norm](options.radius), MARGIN_FUNCTIONS[options.loss]
    n_problems = len(states)
    rows = np.arange(X.shape[0])
    return [
        stochastic_steps(
            X,
            np.where(codes == (k if n_problems > 1 else 1), 1.0, -1.0),
            phi,
            ball,
            state,
            rows=rows,
            weight=weight,
            fit_intercept=options.fit_intercept,
        )
        for k, state in enumerate(states)
    ]


def as_csr_or_array(X: Any) -> Any:
    """CSR matrices, whose products with vectors are vectors, and arrays."""
    return sp.csr_matrix(X) if sp.issparse(X) else X
