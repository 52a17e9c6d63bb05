"""The hinge loss over an l1 ball as a linear program, solved by HiGHS in its dual form.

    max sum_i a_i - lambda t
    over |sum_i a_i y_i x_ij| <= t, sum_i a_i y_i = 0, 0 <= a_i <= w_i

The multipliers of the constraints are the coefficients. Columns come in as they are violated.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from sklearn_ensemble_theory.erm._ball.ball_problem import BallPoint, BallProblem

# All columns up to this number are in the first program.
FIRST_COLUMNS = 100
ROUNDS = 30
# Beyond, the coefficients of the program are too far apart for its tolerances.
LARGEST_LAMBDA = 1e7


def solve_hinge_program(problem: BallProblem, best: BallPoint, end: float) -> BallPoint:
    """The optimum, or `best` where the program has no accurate solution.

    Parameters
    ----------
    problem : BallProblem
        The hinge loss and the l1 ball.
    best : BallPoint
        A point to beat.
    end : float
        The gap at which columns stop to come in.

    Returns
    -------
    BallPoint
    """
    beta, m = best.beta, problem.y * problem.scores(best.beta, best.intercept)
    a = -problem.phi.slope(m)
    n_iter = best.n_iter
    scale = 1 / problem.C if problem.C else 1.0
    if not 1 / LARGEST_LAMBDA < problem.ball.radius * problem.C < LARGEST_LAMBDA:
        return best
    chosen = np.zeros(0, dtype=int)
    for _ in range(ROUNDS):
        missed = np.abs(problem.slope(a).beta)
        missed[chosen] = -1.0
        n_new = min(max(FIRST_COLUMNS, len(chosen)), problem.p - len(chosen))
        if n_new == 0:
            break
        new = np.argpartition(-missed, n_new - 1)[:n_new]
        chosen = np.union1d(chosen, new)
        program = _solve_program(problem, problem.columns(chosen), scale)
        if program is None:
            break
        values, b, a, steps = program
        beta = np.zeros(problem.p)
        beta[chosen] = values
        beta = problem.ball.project(beta)
        n_iter += steps
        m = problem.y * problem.scores(beta, b)
        gap = problem.gap(beta, b, m, a)
        if gap < best.gap:
            best = BallPoint(beta, b, gap, n_iter, gap <= max(end, problem.rounding(a)))
        if best.converged:
            break
    return best._replace(n_iter=n_iter)


def _solve_program(problem: BallProblem, Z: Any, scale: float) -> tuple | None:
    """Coefficients, intercept and dual variables; None if there is no solution."""
    n, y, top = problem.n, problem.y, problem.n * problem.weight
    A = sp.csr_matrix(Z).T.multiply(y * scale).tocsr()
    t = -np.ones((A.shape[0], 1))
    constraints = sp.vstack([sp.hstack([A, t]), sp.hstack([-A, t])], format="csc")
    cost = np.append(-np.ones(n), problem.ball.radius / scale)
    equality = np.append(y, 0.0)[None] if problem.fit_intercept else None
    found = linprog(
        cost,
        A_ub=constraints,
        b_ub=np.zeros(constraints.shape[0]),
        A_eq=equality,
        b_eq=None if equality is None else np.zeros(1),
        bounds=np.column_stack([np.zeros(n + 1), np.append(top, np.inf)]),
        method="highs-ds",
    )
    if found.status != 0:
        return None
    up, down = np.split(found.ineqlin.marginals, 2)
    b = -float(found.eqlin.marginals[0]) if problem.fit_intercept else 0.0
    a = np.clip(found.x[:n] / top, 0.0, 1.0)
    return (down - up) * scale, b, a, int(found.nit)
