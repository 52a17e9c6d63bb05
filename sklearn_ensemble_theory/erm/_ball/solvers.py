"""The minimum over a ball: Newton's method in memory and in blocks, and descents by gradients.

Each round of Newton's method minimises a quadratic model of F over the ball and goes towards its
minimum. For the l1 norm the model has the active coefficients and those that miss the conditions
of an optimum; the gap is over all of them. The hinge is approached by smoothed hinges, whose gaps
include what they are below the hinge. In memory the scores of the rows are kept and line searches
are free; for rows in blocks one pass over them gives everything at one point, for all problems at
a time. The rules (how well the model is minimised, where a step is flat enough, when rounding ends
the search) are the same.

Accelerated gradients take over where there are too many columns for Newton's method. Averaged
subgradient steps are the algorithms of the theorems [Shah, algorithms 1 and 2].
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._blocks import SummedFields
from sklearn_ensemble_theory._margin_losses import MarginFunction
from sklearn_ensemble_theory._rows import ChunkedRows, Rows, check_same_kind, labels_of_block

from .balls import Ball, Matrix
from .descent import Descent, descend, onto_product
from .interior_point import interior_descent
from .problem import BallPoint, BallProblem, BallSet, Slope, without_rounding

# More columns than that: the matrix of second derivatives costs more than gradient steps.
MAX_COLUMNS = 1_500
# Then so many gradient steps, before the number of columns is looked at again.
GRADIENT_STEPS = 200
# With more columns than that, gradient steps find out first which of them count.
FEW_COLUMNS, FIRST_STEPS = 200, 60
# The model is minimised to this share of the gap, or to the smaller one if that lowers nothing.
INNER_SHARES = 0.02, 1e-5
# A step ends where the slope along it is at most this share of that at its start, or after so many
# trials of its length.
FLAT_SHARE, TRIALS = 0.1, 40
# Where no step lowers the risk, gaps of so many rounding errors are accepted. Larger ones are left
# where the risk is flat up to rounding, because it depends on squares of the distance to the
# optimum, and the gap on the distance: full steps go on while each lowers the gap to this share.
STALLED, FLAT_FALL = 100, 0.5
# A stage ends, without convergence, after so many steps in which the gap has not fallen by 1 %: the
# scores are so large that the steps are lost in rounding.
STUCK = 300
# So many smoothed hinges further after a stage of a few steps.
FEW_STEPS, SKIPPED = 3, 3
# A smoothed hinge is left where its gap is below this share of its width.
STAGE_SHARE = 0.1
# Of a mean over rows: what weights of one row to 1e-290 of another could still lower is rounding.
SMALLEST_GAP = 1e-290
# The gap of gradient steps is computed after so many; it costs a product with the matrix.
GAP_EVERY = 10


# --- Newton's method in memory --------------------------------------------------------------------


def solve_in_ball(
    problem: BallProblem, tol: float, max_iter: int, start: BallPoint | None = None
) -> BallPoint:
    """Minimise F to a duality gap of `tol`, as a share of what can be gained at most.

    That is the risk of the best constant, or the duality gap there if it is smaller. `max_iter`
    counts Newton steps, and gradient steps where there are too many columns. For a smooth function
    Newton's method goes on from `start`, a point of the set.
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
    if not best.converged and not problem.phi.is_piecewise_linear:
        if start is not None:
            best = replace(start, gap=np.inf, n_iter=0, converged=False)
        elif problem.p > FEW_COLUMNS:
            first, last = replace(best, gap=np.inf), min(max_iter, FIRST_STEPS)
            best = accelerated_descent(problem, problem.phi, first, end, last)
    # A smooth function is its own only stage; the hinge has ever narrower smoothed ones.
    stages = list(problem.phi.smoothed())
    stage = 0
    while stage < len(stages) and not best.converged and best.n_iter < max_iter:
        before = best.n_iter
        is_last = stage == len(stages) - 1
        best = _newton_stage(problem, stages[stage], best, end, max_iter, is_last)
        # A few steps only: the rows at the kink hardly change any more.
        stage += SKIPPED if stage and best.n_iter - before <= FEW_STEPS else 1
    return best


def _newton_stage(
    problem: BallProblem,
    phi: MarginFunction,
    best: BallPoint,
    end: float,
    max_iter: int,
    is_last: bool,
) -> BallPoint:
    """Newton steps for one smooth function, until its optimum or the gap that is asked for."""
    y, weight = problem.y, problem.weight
    # Where the hinge is the goal, its own gap decides, and which point is kept.
    exact = phi is problem.phi
    beta, b, n_iter = best.beta.copy(), best.intercept, best.n_iter
    u = problem.scores(beta, b)
    least, last_fall, flat_gap = np.inf, n_iter, np.inf
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
            return replace(best, n_iter=n_iter)
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
        Z, curvature = problem.columns(chosen), weight * phi.curvature(m)
        for share in INNER_SHARES:
            hessian = problem.gram(Z, curvature)  # which the step overwrites
            step, db = problem.model_step(hessian, slope, chosen, beta[chosen], own * share)
            change = Z @ step + db
            t = line_search(phi, m, y * change, weight)
            if t > 0:
                break
        else:  # not even a small step lowers the risk
            done = best.converged or best.gap <= STALLED * problem.rounding(a)
            if done or not own < FLAT_FALL * flat_gap:
                return replace(best, n_iter=n_iter, converged=done)
            flat_gap, t = own, 1.0
        n_iter += 1
        beta[chosen] += t * step
        beta = problem.ball.project(beta)
        b += t * db
        # Anew from time to time, before rounding adds up.
        u = u + t * change if n_iter % 10 else problem.scores(beta, b)


def line_search(
    phi: MarginFunction, m: np.ndarray, change: np.ndarray, weight: np.ndarray
) -> float:
    """A t in [0, 1] where the risk along a direction is about least; 0 if it does not fall.

    By the derivative only, which has digits left where the values of the risk have none.
    """
    moving = weight * change

    def slope(t: float) -> float:
        return float(moving @ phi.slope(m + t * change))

    first = slope(0.0)
    if not first < 0:
        return 0.0
    low, at_low, high, at_high = 0.0, first, 1.0, slope(1.0)
    if at_high <= -FLAT_SHARE * first:
        return 1.0
    for _ in range(TRIALS):
        t = _between(low, at_low, high, at_high)
        at_t = slope(t)
        if abs(at_t) <= -FLAT_SHARE * first:
            return t
        if at_t < 0:
            low, at_low = t, at_t
        else:
            high, at_high = t, at_t
    return low


def _between(low: float, at_low: float, high: float, at_high: float) -> float:
    """Where the line through two slopes is 0, at least a tenth of the way from either end."""
    return low + (high - low) * min(max(at_low / (at_low - at_high), 0.1), 0.9)


# --- Newton's method in blocks --------------------------------------------------------------------


@dataclass
class BallRows:
    """What a first pass finds: the classes and their weights, and how large the rows are.

    `squares` is the sum of squares of the weights, `size` the largest dual norm of a row and
    `largest` the largest absolute value of a feature.
    """

    classes: np.ndarray
    weights: np.ndarray
    squares: float
    size: float
    largest: float

    @classmethod
    def of(cls, block: Rows, ball: Ball) -> "BallRows":
        labels_of_block(block.y)  # are classes
        classes, codes = np.unique(block.y, return_inverse=True)
        w = block.weights()
        X = block.X.astype(np.float64, copy=False)
        largest = float(np.abs(X).max(initial=0.0))
        unit = largest or 1.0
        size = ball.row_size(X / unit) * unit
        return cls(classes, np.bincount(codes, w), float(w @ w), size, largest)

    def __add__(self, other: "BallRows") -> "BallRows":
        check_same_kind(self.classes, other.classes)
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
class Derivatives(SummedFields):
    """Sums over rows at one point, with weights that sum to 1 over all.

    - mass, size: the mean of -phi'; the sum of the absolute terms of `total`.
    - beta, total: the derivatives by the coefficients and by the intercept.
    - H, h, curvature: the second derivatives, as `BallProblem.gram` returns them.
    """

    risk: float
    mass: float
    size: float
    beta: np.ndarray
    total: float
    H: np.ndarray
    h: np.ndarray
    curvature: float

    def slope(self, fit_intercept: bool) -> Slope:
        return Slope(self.beta, without_rounding(self.total, self.size) if fit_intercept else 0.0)


@dataclass
class DerivativesOfAll(SummedFields):
    """The derivatives of several problems."""

    found: list[Derivatives]


Point = tuple[np.ndarray, float]


def derivatives_of_block(
    block: Rows, points: dict[int, Point], phi: MarginFunction, total: float, scale: float
) -> DerivativesOfAll:
    """At a point (beta, b) of the problem of each class in `points`, in units of X / scale."""
    X = block.X.astype(np.float64, copy=False)
    X = X if scale == 1 else X / scale
    w = np.full(len(X), 1 / total) if block.weight is None else block.weight / total
    found = []
    for k, (beta, b) in points.items():
        y = np.where(block.y == k, 1.0, -1.0)
        m = y * (X @ beta + b)
        a = -phi.slope(m)
        r = -w * y * a
        found.append(
            Derivatives(
                float(w @ phi.value(m)),
                float(w @ a),
                float(np.abs(r).sum()),
                X.T @ r,
                float(r.sum()),
                *BallProblem.gram(X, w * phi.curvature(m)),
            )
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
    n_iter, flat_gap = 0, np.inf
    while not best.converged and n_iter < max_iter:
        chosen = problem.ball.working_set(beta, slope.beta)
        gap = problem.linear_gap(slope, beta, b)
        first = 0.0
        for share in INNER_SHARES:
            hessian = at.H[np.ix_(chosen, chosen)], at.h[chosen], at.curvature  # copies
            step, db = problem.model_step(hessian, slope, chosen, beta[chosen], gap * share)
            first = float(slope.beta[chosen] @ step) + slope.intercept * db
            if first < 0:
                break
        is_flat = not first < 0
        if is_flat:
            is_small = best.gap <= STALLED * problem.rounding_of(at.mass)
            if is_small or not gap < FLAT_FALL * flat_gap:
                return replace(best, n_iter=n_iter, converged=is_small)
            flat_gap = gap
        # Every trial of a length is a pass, after which all is known for the next step.
        low, at_low, high, at_high, t = 0.0, first, 1.0, 0.0, 1.0
        for _ in range(TRIALS):
            moved = beta.copy()
            moved[chosen] += t * step
            moved = problem.ball.project(moved)
            at = yield moved, b + t * db
            slope = at.slope(problem.fit_intercept)
            along = float(slope.beta[chosen] @ step) + slope.intercept * db
            if is_flat or abs(along) <= -FLAT_SHARE * first or (t == 1 and along < 0):
                break
            if along < 0:
                low, at_low = t, along
            else:
                high, at_high = t, along
            t = _between(low, at_low, high, at_high)
        beta, b, n_iter = moved, b + t * db, n_iter + 1
        gap = problem.linear_gap(slope, beta, b)
        done = gap <= end or gap <= problem.rounding_of(at.mass)
        if gap <= best.gap or done:
            best = BallPoint(beta, b, gap, n_iter, done)
    return replace(best, n_iter=n_iter)


def solve_in_blocks(
    rows: ChunkedRows,
    problems: dict[int, BallSet],
    total: float,
    scale: float,
    tol: float,
    max_iter: int,
) -> list[BallPoint]:
    """Solve the problems of some classes side by side: a pass has a point of each.

    `total` is the sum of the weights, and X is divided by `scale`; `tol` and `max_iter` as for
    `solve_in_ball`.
    """
    p = rows.checks.n_features
    solvers = {k: newton_points(problem, p, tol, max_iter) for k, problem in problems.items()}
    points = {k: next(solver) for k, solver in solvers.items()}
    phi = next(iter(problems.values())).phi
    solved: dict[int, BallPoint] = {}
    while points:
        found = rows.sum(derivatives_of_block, points, phi, total, scale).found
        asked, points = list(points), {}
        for k, derivatives in zip(asked, found, strict=True):
            try:
                points[k] = solvers[k].send(derivatives)
            except StopIteration as end:
                solved[k] = end.value
    return [solved[k] for k in problems]


# --- accelerated gradients ------------------------------------------------------------------------


def accelerated_descent(
    problem: BallProblem, phi: MarginFunction, best: BallPoint, end: float, max_iter: int
) -> BallPoint:
    """Accelerated projected gradients with restarts, from a point on.

    `phi` is smooth: the function of the problem, or a smoothed one. The result is the point with
    the least gap for the function of the problem; the steps end at a gap of `end`.
    """
    y, weight, X = problem.y, problem.weight, problem.X
    # The intercept as the coefficient of a column along which the risk is about as curved as along
    # the direction of the features where it is most so.
    square = problem.largest_square
    unit = float(np.sqrt(square)) if problem.fit_intercept else 0.0
    wide = problem.reach / unit if unit else 0.0

    def product(x: np.ndarray) -> np.ndarray:
        return X @ x[:-1] + unit * x[-1]

    def gradient(m: np.ndarray) -> np.ndarray:
        r = weight * y * phi.slope(m)
        return np.append(X.T @ r, unit * r.sum())

    project = onto_product(problem.ball, wide)
    x = np.append(best.beta, best.intercept / unit if unit else 0.0)
    m = y * product(x)
    look, m_look, t = x, m, 1.0
    g = gradient(m_look)
    L = float(weight @ phi.curvature(m)) * square or square
    n_iter = best.n_iter
    since = 0
    while n_iter < max_iter:
        at_look = phi.value(m_look)
        # 1/L is short enough where the risk stays below its quadratic bound, up to rounding.
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
        if float((look - new) @ (new - x)) > 0:  # the momentum goes uphill
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
    return replace(best, n_iter=n_iter)


# --- averaged subgradient steps -------------------------------------------------------------------
# Both algorithms start from (0, 0), in the set |beta| <= lambda and |b| <= B; b is the last entry.


def averaged_gradient_descent(problem: BallProblem, n_steps: int) -> tuple[BallPoint, float]:
    """The mean of k iterates with the step of [Shah, theorem 26], and the bound 2 L R / sqrt(k).

    The gap is that of the mean and of the mean of the dual variables. By the proof of the theorem
    it is below the bound, too: for every z of the set the mean of F(beta_s) + g_s'(z - beta_s) is
    at least the mean of F(beta_s) minus the bound, and at most the value of the mean dual variables
    at z.
    """
    # A subgradient is -sum_i w_i y_i a_i (x_i, 1) with a_i at most the Lipschitz constant of phi on
    # the scores that can occur.
    L = problem.phi.lipschitz(problem.largest_score) * float(problem.weight @ problem.row_norms)
    R = problem.largest_point
    sum_a = np.zeros(problem.n)

    def gradient(x: np.ndarray, _: int) -> np.ndarray:
        nonlocal sum_a
        a = -problem.phi.slope(problem.y * problem.scores(x[:-1], x[-1]))
        sum_a += a
        return np.append(*problem.slope(a))

    # L is 0 where all rows are 0 and there is no intercept: all gradients are 0.
    step = 2 * R / (L * np.sqrt(n_steps)) if L > 0 else 0.0
    project = onto_product(problem.ball, problem.reach)
    start = Descent.first(np.zeros(problem.p + 1))
    x = descend(start, gradient, project, lambda *_: step, range(n_steps)).mean
    beta, b = x[:-1], float(x[-1])
    gap = problem.gap(beta, b, problem.y * problem.scores(beta, b), sum_a / n_steps)
    return BallPoint(beta, b, gap, n_steps, True), 2 * L * R / float(np.sqrt(n_steps))


def stochastic_steps(
    X: Matrix,
    y: np.ndarray,
    phi: MarginFunction,
    ball: Ball,
    reach: float,
    state: Descent,
    *,
    rows: np.ndarray,
    weight: np.ndarray | None = None,
    step: float | None = None,
    fit_intercept: bool = True,
) -> Descent:
    """One step for each of the given rows, in their order [Shah, algorithm 2].

    `weight` are factors of the losses, in the order of the steps; None is 1. `step` is the length
    of all steps; None is sqrt(2) R / sqrt(sum_{r <= s} |g_r|²), which does not need the number of
    steps.

    With steps eta_s that do not increase, the proof of [Shah, theorem 27] gives

        sum_s w_s (f_s(beta_s) - f_s(z)) <= (2R)²/(2 eta_k) + sum_s eta_s |g_s|²/2,

    and sum_s |g_s|²/sqrt(sum_{r <= s} |g_r|²) <= 2 sqrt(sum_s |g_s|²). For eta_s as above both
    terms are sqrt(2) R sqrt(sum_s |g_s|²), so that the mean iterate is within
    2 sqrt(2) R sqrt(sum_s |g_s|²) / sum_s w_s of the optimum, in expectation.
    """
    longest = np.sqrt(2) * float(np.hypot(ball.radius, reach))
    is_sparse, one = sp.issparse(X), np.empty(1)

    def gradient(beta: np.ndarray, place: tuple[int, float]) -> np.ndarray:
        i, w = place
        columns: slice | np.ndarray = slice(0, -1)
        if is_sparse:
            where = slice(X.indptr[i], X.indptr[i + 1])
            columns, x = X.indices[where], X.data[where]
        else:
            x = X[i]
        one[0] = y[i] * (x @ beta[columns] + beta[-1])
        factor = w * y[i] * float(phi.slope(one)[0])  # 0 beyond the kink of the hinge
        g = np.zeros(len(beta))
        g[columns] = factor * x
        g[-1] = factor * fit_intercept
        return g

    def length(_: int, sum_squares: float) -> float:
        return longest / np.sqrt(sum_squares) if step is None else step

    places = zip(rows, repeat(1.0) if weight is None else weight)
    return descend(state, gradient, onto_product(ball, reach), length, places, weight)


def stochastic_bound(state: Descent, largest_point: float) -> float:
    """The bound of `stochastic_steps` for these rows."""
    root = float(np.sqrt(2 * state.sum_squares))
    return 2 * largest_point * root / state.sum_weight if state.sum_weight else np.inf


def averaged_stochastic_descent(
    problem: BallProblem, n_steps: int, rng: np.random.RandomState
) -> tuple[BallPoint, float, Descent]:
    """The mean of k iterates with the step of [Shah, theorem 27], and the bound 2 L R / sqrt(k).

    Rows are drawn with probabilities equal to their weights. The gap is that of the mean.
    """
    # The root of the mean square of the gradient of one row that is drawn by its weight.
    root_mean_square = float(np.sqrt(problem.weight @ problem.row_norms**2))
    L, R = problem.phi.lipschitz(problem.largest_score) * root_mean_square, problem.largest_point
    step = 2 * R / (L * np.sqrt(n_steps)) if L > 0 else 0.0
    ends = np.cumsum(problem.weight)
    rows = np.searchsorted(ends, rng.uniform(0, ends[-1], n_steps), side="right")
    state = stochastic_steps(
        problem.X,
        problem.y,
        problem.phi,
        problem.ball,
        problem.reach,
        Descent.first(np.zeros(problem.p + 1)),
        rows=np.minimum(rows, problem.n - 1),
        step=step,
        fit_intercept=problem.fit_intercept,
    )
    beta, b = state.mean[:-1], float(state.mean[-1])
    m = problem.y * problem.scores(beta, b)
    gap = problem.gap(beta, b, m, -problem.phi.slope(m))
    return BallPoint(beta, b, gap, n_steps, True), 2 * L * R / float(np.sqrt(n_steps)), state
