"""The optimum over a ball to a given duality gap, by Newton's method over a working set.

Each round minimises a quadratic model of F over the ball and goes towards its minimum. For the l1
norm the model has the active coefficients and those that miss the conditions of an optimum; the
gap is over all of them. The hinge is approached by smoothed hinges, whose gaps include what they
are below the hinge.
"""

import numpy as np

from sklearn_ensemble_theory._margin_losses import MarginFunction
from sklearn_ensemble_theory.erm._ball._hinge.hinge_solver import interior_descent
from sklearn_ensemble_theory.erm._ball.accelerated import accelerated_descent
from sklearn_ensemble_theory.erm._ball.ball_problem import BallPoint, BallProblem

# More columns than that: the matrix of second derivatives costs more than gradient steps.
MAX_COLUMNS = 1_500
# Then so many gradient steps, before the number of columns is looked at again.
GRADIENT_STEPS = 200
# With more columns than that, gradient steps find out first which of them count.
FEW_COLUMNS, FIRST_STEPS = 200, 60
# The model is minimised to this share of the gap, or to the smaller one if that lowers nothing.
INNER_SHARE, LEAST_SHARE = 0.02, 1e-5
# Where no step lowers the risk, gaps of so many rounding errors are accepted.
STALLED = 100
# A stage ends, without convergence, after so many steps in which the gap has not fallen by 1 %: the
# scores are so large that the steps are lost in rounding.
STUCK = 300
# So many smoothed hinges further after a stage of a few steps.
FEW_STEPS, SKIPPED = 3, 3
# A smoothed hinge is left where its gap is below this share of its width.
STAGE_SHARE = 0.1
# Of a mean over rows: what weights of one row to 1e-290 of another could still lower is rounding.
SMALLEST_GAP = 1e-290


def solve_in_ball(problem: BallProblem, tol: float, max_iter: int) -> BallPoint:
    """Minimise F to a duality gap of `tol`, as a share of what can be gained at most.

    Parameters
    ----------
    problem : BallProblem
    tol : float
        As a share of the risk of the best constant, or of the duality gap there if it is smaller.
    max_iter : int
        Newton steps, or gradient steps where there are too many columns.

    Returns
    -------
    BallPoint
    """
    beta, b = np.zeros(problem.p), problem.start
    u = problem.scores(beta, b)
    m = problem.y * u
    a = -problem.phi.slope(m)
    risk = float(problem.weight @ problem.phi.value(m))
    gap = problem.gap(beta, b, m, a)
    end = max(tol * min(risk, gap), SMALLEST_GAP)
    best = BallPoint(beta, b, gap, 0, gap <= end)
    if not best.converged and problem.phi.is_piecewise_linear:
        best, is_small = interior_descent(problem, best, end, max_iter)
        if is_small:
            return best
    if not best.converged and not problem.phi.is_piecewise_linear and problem.p > FEW_COLUMNS:
        start = best._replace(gap=np.inf)
        last = min(max_iter, FIRST_STEPS)
        best = accelerated_descent(problem, problem.phi, start, end, last)
    stages = list(problem.phi.smoothed())
    stage = 0
    while stage < len(stages) and not best.converged and best.n_iter < max_iter:
        before = best.n_iter
        is_last = stage == len(stages) - 1
        best = _newton_stage(problem, stages[stage], best, end, max_iter, is_last)
        # A few steps only: the rows at the kink hardly change any more.
        stage += SKIPPED if stage and best.n_iter - before <= FEW_STEPS else 1
    return best


def _newton_stage(problem, phi, best, end, max_iter, is_last):
    """Newton steps for one smooth function, until its optimum or the gap that is asked for."""
    y, weight = problem.y, problem.weight
    # Where the hinge is the goal, its own gap decides, and which point is kept.
    exact = phi is problem.phi
    beta, b, n_iter = best.beta.copy(), best.intercept, best.n_iter
    u = problem.scores(beta, b)
    least, last_fall = np.inf, n_iter
    while True:
        m = y * u
        a = -phi.slope(m)
        slope = problem.slope(a)
        own = problem.linear_gap(slope, beta, b)
        gap = own if exact else own + float(weight @ problem.phi.fenchel(m, a))
        # The first point is not taken for an optimum because of rounding.
        done = gap <= end or (n_iter > 0 and gap <= problem.rounding(a))
        if gap <= best.gap or done:
            best = BallPoint(beta.copy(), b, gap, n_iter, done)
        stage_ends = own <= max(STAGE_SHARE * phi.width, problem.rounding(a))
        if own < 0.99 * least:
            least, last_fall = own, n_iter
        is_over = n_iter >= max_iter or n_iter - last_fall >= STUCK
        if done or is_over or (stage_ends and not exact and not is_last):
            return best._replace(n_iter=n_iter)
        chosen = problem.ball.working_set(beta, slope.beta)
        if len(chosen) > MAX_COLUMNS:
            start = BallPoint(beta, b, np.inf, n_iter, False)
            last = min(max_iter, n_iter + GRADIENT_STEPS)
            found = accelerated_descent(problem, phi, start, end, last)
            if found.gap <= best.gap or found.converged:
                best = found
            n_iter, beta, b = found.n_iter, found.beta.copy(), found.intercept
            u = problem.scores(beta, b)
            if found.converged:
                return best
            continue
        Z = problem.columns(chosen)
        model = (problem, phi, m, slope, Z, chosen, beta[chosen])
        step, db = _model_step(*model, own * INNER_SHARE)
        change = Z @ step + db
        t = _line_search(phi, m, y * change, weight)
        if t == 0:  # the model was perhaps not minimised well enough
            step, db = _model_step(*model, own * LEAST_SHARE)
            change = Z @ step + db
            t = _line_search(phi, m, y * change, weight)
        if t == 0:  # not even a small step lowers the risk
            done = best.converged or best.gap <= STALLED * problem.rounding(a)
            return best._replace(n_iter=n_iter, converged=done)
        n_iter += 1
        beta[chosen] += t * step
        beta = problem.ball.project(beta)
        b += t * db
        u = u + t * change if n_iter % 10 else problem.scores(beta, b)


def _model_step(problem, phi, m, slope, Z, chosen, beta, target):
    """The step to the minimum of the quadratic model up to `target`, without the intercept."""
    hessian = problem.gram(Z, problem.weight * phi.curvature(m))
    return problem.model_step(hessian, slope, chosen, beta, target)


def _line_search(phi: MarginFunction, m, change, weight):
    """A t in [0, 1] where the risk along a direction is about least; 0 if it does not fall.

    By the derivative only, which has digits left where the values of the risk have none.
    """
    moving = weight * change

    def slope(t):
        return float(moving @ phi.slope(m + t * change))

    first = slope(0.0)
    if not first < 0:
        return 0.0
    low, at_low, high, at_high = 0.0, first, 1.0, slope(1.0)
    if at_high <= -0.1 * first:
        return 1.0
    for _ in range(40):
        t = low + (high - low) * min(max(at_low / (at_low - at_high), 0.1), 0.9)
        at_t = slope(t)
        if abs(at_t) <= -0.1 * first:
            return t
        if at_t < 0:
            low, at_low = t, at_t
        else:
            high, at_high = t, at_t
    return low
