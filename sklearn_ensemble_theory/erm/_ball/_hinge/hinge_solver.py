"""The optimum for the hinge loss: interior-point steps, certified in all columns."""

import numpy as np

from sklearn_ensemble_theory.erm._ball._hinge.interior_point import InteriorPoint
from sklearn_ensemble_theory.erm._ball.ball_problem import BallPoint, BallProblem

# Systems with more unknowns take too much memory.
MAX_UNKNOWNS = 4_000
# Columns in the first working set, twice as many new ones in each further one.
FIRST_COLUMNS = 300
# The first working set is solved to this share of the gap of the best constant; then it goes on.
FIRST_GOAL, NEXT_GOAL = 1e-2, 0.1
# Zeros are worth steps to this share of the gap that is asked for.
LAST_GOAL = 1e-2
# The steps end where so many have lowered neither the gap nor the products, or at one this short.
PATIENCE, SHORT = 8, 1e-10


def interior_descent(
    problem: BallProblem, best: BallPoint, end: float, max_iter: int
) -> tuple[BallPoint, bool]:
    """The optimum for the hinge loss, up to a duality gap or to rounding.

    Parameters
    ----------
    problem : BallProblem
    best : BallPoint
        A point to beat, the best constant.
    end : float
        The gap that is asked for.
    max_iter : int
        Steps at most.

    Returns
    -------
    BallPoint
    bool
        Whether the systems were small enough.
    """
    a = -problem.phi.slope(problem.y * problem.scores(best.beta, best.intercept))
    n_new = FIRST_COLUMNS
    chosen = problem.ball.program_columns(problem.slope(a).beta, np.zeros(0, dtype=int), n_new)
    goal = max(end, FIRST_GOAL * best.gap) if len(chosen) < problem.p else end
    n_iter = 0
    while min(problem.n, len(chosen)) <= MAX_UNKNOWNS:
        point = InteriorPoint(problem, chosen)
        least, since = np.inf, 0
        while True:
            length = point.step()
            n_iter += 1
            gap = point.gap()
            left = min(gap, point.width())
            least, since = (left, 0) if left < least else (least, since + 1)
            stalled = length <= SHORT or since >= PATIENCE
            last = stalled or n_iter >= max_iter
            if not (last or gap <= goal):
                continue
            found, g = _certified(problem, point, chosen, end, goal <= LAST_GOAL * end or last)
            found = found._replace(n_iter=n_iter)
            if found.gap <= best.gap or found.converged:
                best = found
            if best.converged or n_iter >= max_iter:
                return best._replace(n_iter=n_iter), True
            missed = problem.ball.dual_norm(g) - problem.ball.dual_norm(g[chosen])
            if problem.ball.radius * missed > found.gap / 2:
                break
            if stalled:
                return best._replace(n_iter=n_iter), True
            goal *= NEXT_GOAL
        outside = np.setdiff1d(np.arange(problem.p), chosen)
        is_narrow = np.sum(np.abs(g[outside]) > np.abs(g[chosen]).max()) > len(outside) / 3
        # More at a time: the same columns do not leave and enter forever.
        n_new = problem.p if is_narrow else 2 * n_new
        chosen = problem.ball.program_columns(g, chosen[point.barrier.active()], n_new)
    return best._replace(n_iter=n_iter), False


def _certified(problem, point, chosen, end, takes_dense):
    """The point in all columns with its gap, and the derivatives.

    Coefficients that go to 0 are set to 0 if the gap is small enough then. Otherwise it is only
    taken for the optimum if `takes_dense`.
    """
    a, active = np.clip(point.a, 0.0, 1.0), point.barrier.active()
    slope = problem.slope(a)
    rounding, dense = problem.rounding(a), point.unit * point.barrier.beta
    for is_sparse in (True, False):
        beta = np.zeros(problem.p)
        if is_sparse:
            kept = dense * active
            norm = problem.ball.norm(kept)
            beta[chosen] = kept * (problem.ball.norm(dense) / norm) if norm > 0 else kept
        else:
            beta[chosen] = dense
        beta = problem.ball.project(beta)
        u = problem.scores(beta, 0.0)
        b = best_intercept(problem, u, point.b) if problem.fit_intercept else 0.0
        gap = problem.gap(beta, b, problem.y * (u + b), a)
        done = gap <= end or gap <= rounding
        if done or active.all():
            return BallPoint(beta, b, gap, 0, done), -slope.beta
    return BallPoint(beta, b, gap, 0, done and takes_dense), -slope.beta


def best_intercept(problem: BallProblem, u: np.ndarray, near: float) -> float:
    """The intercept of least hinge risk for scores u, the nearest one of several.

    The derivative is -W_+ at first and rises by w_i at y_i - u_i.
    """
    kinks = problem.y - u
    order = np.argsort(kinks)
    rise = np.cumsum(problem.weight[order]) - problem.weight[problem.y > 0].sum()
    slack = 4 * np.finfo(np.float64).eps
    low = min(int(np.searchsorted(rise, -slack)), problem.n - 1)
    high = min(int(np.searchsorted(rise, slack, side="right")), problem.n - 1)
    return float(min(max(near, kinks[order[low]]), kinks[order[high]]))
