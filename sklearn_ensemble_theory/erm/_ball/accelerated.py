"""Accelerated projected gradients with restarts, for problems with too many columns for Newton."""

import numpy as np

from sklearn_ensemble_theory._margin_losses import MarginFunction
from sklearn_ensemble_theory.erm._ball.ball_problem import BallPoint, BallProblem

# The gap is computed after so many steps; it costs a product with the matrix.
GAP_EVERY = 10


def accelerated_descent(
    problem: BallProblem, phi: MarginFunction, best: BallPoint, end: float, max_iter: int
) -> BallPoint:
    """Minimise the risk of a smooth function from a point on.

    Parameters
    ----------
    problem : BallProblem
    phi : MarginFunction
        Smooth; the one of the problem, or a smoothed one.
    best : BallPoint
        Where to start.
    end : float
        The gap at which the steps end.
    max_iter : int

    Returns
    -------
    BallPoint
        The point with the least gap for the function of the problem.
    """
    y, weight, X = problem.y, problem.weight, problem.X
    # The intercept as the coefficient of a column along which the risk is about as curved as along
    # the direction of the features where it is most so.
    square = problem.largest_square
    unit = float(np.sqrt(square)) if problem.fit_intercept else 0.0
    wide = problem.reach / unit if unit else 0.0

    def product(x):
        return X @ x[:-1] + unit * x[-1]

    def gradient(m):
        r = weight * y * phi.slope(m)
        return np.append(X.T @ r, unit * r.sum())

    def project(x):
        return np.append(problem.ball.project(x[:-1]), min(max(x[-1], -wide), wide))

    x = np.append(best.beta, best.intercept / unit if unit else 0.0)
    m = y * product(x)
    look, m_look, t = x, m, 1.0
    g = gradient(m_look)
    L = float(weight @ phi.curvature(m)) * square or square
    n_iter = best.n_iter
    since = 0
    while n_iter < max_iter:
        at_look = phi.value(m_look)
        for _ in range(100):
            new = project(look - g / L)
            step = new - look
            m_new = y * product(new)
            rise = float(weight @ (phi.value(m_new) - at_look))
            square = float(step @ step)
            if rise <= float(g @ step) + L / 2 * square + 1e-15 * float(weight @ at_look):
                break
            L *= 2
        n_iter += 1
        since += 1
        if float((look - new) @ (new - x)) > 0:
            t = 1.0
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = (t - 1) / t_new
        look, m_look = new + ahead * (new - x), m_new + ahead * (m_new - m)
        x, m, t = new, m_new, t_new
        L *= 0.95
        if since % GAP_EVERY == 0 or n_iter == max_iter:
            m = y * product(x)
            a = -phi.slope(m)
            beta, b = x[:-1], float(unit * x[-1])
            slope = problem.slope(a)
            own = problem.linear_gap(slope, beta, b)
            gap = own + float(weight @ problem.phi.fenchel(m, a)) if phi.width else own
            done = gap <= end or gap <= problem.rounding(a)
            if gap <= best.gap or done:
                best = BallPoint(beta.copy(), b, gap, n_iter, done)
            if done or (phi.width and own <= 0.1 * phi.width):
                break
        g = gradient(m_look)
    return best._replace(n_iter=n_iter)
