"""The hinge loss over a ball, by an interior-point method with the columns of a working set.

    min sum_i w_i xi_i  over |beta| <= 1, b, s >= 0, xi >= 0, s_i - xi_i = m_i - 1
    max sum_i w_i a_i - |sum_i w_i a_i y_i x_i|*  over sum_i w_i a_i y_i = 0, 0 <= a_i <= 1

where m_i = y_i (x_i'beta + b). Products s_i a_i and xi_i (1 - a_i) go to 0 together, by the
predictor and corrector of [Mehrotra, 1992]. Each step solves one system in min(n, p) unknowns. The
constraint on the norm is a barrier, one for each norm; the optimum is certified in all columns.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve

from .balls import L1Ball, factored
from .problem import BallPoint, BallProblem

# Systems with more unknowns take too much memory.
MAX_UNKNOWNS = 4_000
# Systems of rows are cheaper from so many columns on, as a share of the rows.
SHARE_OF_ROWS = 0.5
# Columns in the first working set, twice as many new ones in each further one.
FIRST_COLUMNS = 300
# The first working set is solved to this share of the gap of the best constant; then it goes on.
FIRST_GOAL, NEXT_GOAL = 1e-2, 0.1
# Zeros are worth steps to this share of the gap that is asked for.
LAST_GOAL = 1e-2
# The steps end where so many have lowered neither the gap nor the products, or at one this short.
PATIENCE, TOO_SHORT = 8, 1e-10
# Lengths |beta| |x_i| beyond have no digits left. The certificate is about the true radius.
RANGE = (1e-8, 1e10)
# Steps go to this share of the way to the boundary.
TO_BOUNDARY = 0.995
# Steps shorter than this are replaced by steps to products that are this much smaller.
SHORT, CENTRED = 0.1, 0.5
# The multiplier at the start, in units of the least feasible one.
FIRST_MULTIPLIER = 2.0
EPS = float(np.finfo(np.float64).eps)

# The changes (da, d beta, db) of a step, by k and shift; see `InteriorPoint`.
StepSolver = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, float]]


def interior_descent(
    problem: BallProblem, best: BallPoint, end: float, max_iter: int
) -> tuple[BallPoint, bool]:
    """The optimum up to a duality gap of `end`, or to rounding, if it beats the best constant.

    The second result tells whether the systems were small enough.
    """
    a = -problem.phi.slope(problem.y * problem.scores(best.beta, best.intercept))
    n_new = FIRST_COLUMNS
    chosen = _working_set(problem, problem.slope(a).beta, np.zeros(0, dtype=int), n_new)
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
            stalled = length <= TOO_SHORT or since >= PATIENCE
            last = stalled or n_iter >= max_iter
            if not (last or gap <= goal):
                continue
            found, g = _certified(problem, point, chosen, end, goal <= LAST_GOAL * end or last)
            found = replace(found, n_iter=n_iter)
            if found.gap <= best.gap or found.converged:
                best = found
            if best.converged or n_iter >= max_iter:
                return replace(best, n_iter=n_iter), True
            # Where the columns outside are what the gap consists of, they have to enter.
            missed = problem.ball.dual_norm(g) - problem.ball.dual_norm(g[chosen])
            if problem.ball.radius * missed > found.gap / 2:
                break
            if stalled:
                return replace(best, n_iter=n_iter), True
            goal *= NEXT_GOAL
        outside = np.setdiff1d(np.arange(problem.p), chosen)
        is_narrow = np.sum(np.abs(g[outside]) > np.abs(g[chosen]).max()) > len(outside) / 3
        # More at a time: the same columns do not leave and enter forever.
        n_new = problem.p if is_narrow else 2 * n_new
        chosen = _working_set(problem, g, chosen[point.barrier.active()], n_new)
    return replace(best, n_iter=n_iter), False


def _working_set(problem: BallProblem, g: np.ndarray, active: np.ndarray, n_new: int) -> np.ndarray:
    """The active columns and the next candidates for the l1 norm; all columns for the l2 norm."""
    if not isinstance(problem.ball, L1Ball) or len(active) + n_new >= len(g):
        return np.arange(len(g))
    size = np.abs(g)
    size[active] = -1.0
    return np.union1d(active, np.argpartition(-size, n_new)[:n_new])


def _certified(
    problem: BallProblem, point: "InteriorPoint", chosen: np.ndarray, end: float, takes_dense: bool
) -> tuple[BallPoint, np.ndarray]:
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
    slack = 4 * EPS
    low = min(int(np.searchsorted(rise, -slack)), problem.n - 1)
    high = min(int(np.searchsorted(rise, slack, side="right")), problem.n - 1)
    return float(min(max(near, kinks[order[low]]), kinks[order[high]]))


# --- primal-dual steps ----------------------------------------------------------------------------


class InteriorPoint:
    """A strictly feasible point of both problems, in columns Z of X.

    In units of `unit` (the radius, unless that is extreme) the radius is 1 and Z are columns of X;
    `barrier` has beta.
    """

    da: np.ndarray
    ds: np.ndarray
    dxi: np.ndarray

    def __init__(self, problem: BallProblem, chosen: np.ndarray):
        self.problem = problem
        self.weight, self.y = problem.weight, problem.y
        lengths = np.clip(problem.ball.radius * problem.C, *RANGE)
        self.unit = float(lengths / problem.C) if problem.C else problem.ball.radius
        self.Z = problem.columns(chosen) * self.unit
        n, p = problem.n, len(chosen)
        self.centre = np.zeros(p)
        if problem.fit_intercept and not sp.issparse(self.Z):
            # The intercept takes it up. Large means would cost digits.
            self.centre = self.weight @ self.Z
            self.Z = self.Z - self.centre
        barrier = L1Barrier if isinstance(problem.ball, L1Ball) else L2Barrier
        # With products of rows that are computed once, a step has no product of matrices.
        some = SHARE_OF_ROWS if barrier.is_uniform and n <= MAX_UNKNOWNS else 1.0
        self.by_rows = p > some * n
        self.kernel: np.ndarray | None = None
        up, down = self.weight[self.y > 0].sum(), self.weight[self.y < 0].sum()
        half = min(up, down) / 2
        self.a = np.full(n, 0.5)
        if problem.fit_intercept:
            self.a = np.where(self.y > 0, half / up, half / down)
        self.rest = 1 - self.a  # kept by itself: near 0 it has no digits as a difference
        self.offset = 0.0
        self.s, self.xi = np.ones(n), np.full(n, 2.0)
        g = self.Z.T @ (problem.signed * self.a)
        self.barrier = barrier(g, 1 / n)
        self.total = 2.0 + self.barrier.n_products * self.barrier.unit

    @property
    def b(self) -> float:
        """The intercept."""
        return self.offset - float(self.centre @ self.barrier.beta)

    def width(self) -> float:
        """The mean of the products."""
        rows = self.weight @ (self.s * self.a + self.xi * self.rest)
        return (float(rows) + self.barrier.products()) / self.total

    def gap(self) -> float:
        """The duality gap in the chosen columns."""
        risk = self.weight @ np.maximum(self.xi - self.s, 0.0)
        return float(risk - self.weight @ self.a) + self.problem.ball.dual_norm(self.barrier.g)

    def step(self) -> float:
        """One step; its length, 0 where rounding leaves no direction."""
        if not self.barrier.is_interior():
            return 0.0
        self.barrier.linearise()
        D = self.weight / (self.s / self.a + self.xi / self.rest)
        solve = self._solver_by_rows(D) if self.by_rows else self._solver_by_columns(D)
        # The predictor goes for products of 0, and tells how far they may be lowered.
        self._direction(solve, 0.0, corrected=False)
        primal, dual = (min(t, 1.0) for t in self._largest_steps())
        width = self.width()
        # What the products would be after this step. For the rows their changes are known, and the
        # sum over the ball is what remains of the linear function.
        s, xi = self.s + primal * self.ds, self.xi + primal * self.dxi
        a, rest = self.a + dual * self.da, self.rest - dual * self.da
        rows = float(self.weight @ (s * a + xi * rest))
        after = (rows + self.barrier.products_after(primal, dual)) / self.total
        centring = min(max(after / width, 0.0), 1.0) ** 3
        self._direction(solve, centring * width, corrected=True)
        primal, dual = (min(TO_BOUNDARY * t, 1.0) for t in self._largest_steps())
        if min(primal, dual) < SHORT:  # towards the middle, without terms of second order
            self._direction(solve, CENTRED * width, corrected=False)
            primal, dual = (min(TO_BOUNDARY * t, 1.0) for t in self._largest_steps())
        if not (np.isfinite(self.da).all() and np.isfinite(self.dm).all()):
            return 0.0
        self.s = self.s + primal * self.ds
        self.xi = self.xi + primal * self.dxi
        self.offset += primal * self.db
        self.a = self.a + dual * self.da
        self.rest = self.rest - dual * self.da
        self.barrier.move(primal, dual)
        return min(primal, dual)

    # A solver solves the equations of a step for (da, d beta, db), given k and shift:
    #     w da = D (k - dm),  dm = y (Z d beta + db),  d beta = shift + G dg,  dg = Z'(y w da),
    # and sum y w da = 0.

    def _solver_by_columns(self, D: np.ndarray) -> StepSolver:
        """(G^-1 + Z'DZ) d beta + Z'D 1 db = G^-1 shift + Z'(D y k)."""
        Z, y, barrier = self.Z, self.y, self.barrier
        H, h, total = self.problem.gram(Z, D)
        u = barrier.f / barrier.e
        H += barrier.inverse * np.outer(u, u)
        H[np.diag_indices_from(H)] += 1 / barrier.e
        factor = factored(H)
        border = cho_solve(factor, h, check_finite=False)
        schur = total - float(h @ border)

        def solve(k: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            Dk = D * y * k
            right = shift / barrier.e + barrier.inverse * float(u @ shift) * u + Z.T @ Dk
            change = cho_solve(factor, right, check_finite=False)
            db = 0.0
            if self.problem.fit_intercept and schur > 0:
                db = (float(Dk.sum()) - float(h @ change)) / schur
                change = change - db * border
            da = D * (k - y * (Z @ change + db)) / self.weight
            return self._balanced(da), change, db

        return solve

    def _solver_by_rows(self, D: np.ndarray) -> StepSolver:
        """(1/D + y Z G Z' y) (w da) + y db = k - y Z shift."""
        Z, y, barrier = self.Z, self.y, self.barrier
        e = barrier.e
        # Z diag(e) Z' is computed once where e is a multiple of 1.
        if self.kernel is None or not barrier.is_uniform:
            is_sparse = sp.issparse(Z)
            half = Z @ sp.diags(np.sqrt(e)) if is_sparse else Z * np.sqrt(e)
            product = half @ half.T
            self.kernel, self.kernel_unit = product.toarray() if is_sparse else product, e[0]
        N = self.kernel * (e[0] / self.kernel_unit)
        u = Z @ barrier.f
        N -= barrier.c * np.outer(u, u)
        N[np.diag_indices_from(N)] += 1 / D
        factor = factored(N)
        border = cho_solve(factor, np.ones(len(y)), check_finite=False)
        schur = float(border.sum())

        def solve(k: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            change = cho_solve(factor, y * k - Z @ shift, check_finite=False)
            db = 0.0
            if self.problem.fit_intercept and schur > 0:
                db = float(change.sum()) / schur
                change = change - db * border
            da = self._balanced(y * change / self.weight)
            change = shift + barrier.times(Z.T @ (self.problem.signed * da))
            return da, change, db

        return solve

    def _balanced(self, da: np.ndarray) -> np.ndarray:
        """Without what rounding adds to sum y w da."""
        if not self.problem.fit_intercept:
            return da
        room = np.minimum(self.a, self.rest)
        error = float(self.problem.signed @ da) / float(self.weight @ room)
        return da - self.y * error * room

    def _direction(self, solve: StepSolver, width: float, *, corrected: bool) -> None:
        """Set the changes of all variables towards products of this width."""
        y, a, rest, s, xi = self.y, self.a, self.rest, self.s, self.xi
        to_s, to_xi = width / a - s, width / rest - xi
        if corrected:
            to_s -= self.ds * self.da / a
            to_xi += self.dxi * self.da / rest
        shift = self.barrier.shift(width, corrected=corrected)
        self.da, change, self.db = solve(to_s - to_xi, shift)
        dg = self.Z.T @ (self.problem.signed * self.da)
        self.barrier.direction(change, dg)
        self.dm = y * (self.Z @ change + self.db)
        self.ds = to_s - s / a * self.da
        self.dxi = to_xi + xi / rest * self.da
        # Exactly feasible: rounding goes to the larger one.
        error = self.ds - self.dxi - self.dm
        larger = s > xi
        self.ds = np.where(larger, self.ds - error, self.ds)
        self.dxi = np.where(larger, self.dxi, self.dxi + error)

    def _largest_steps(self) -> tuple[float, float]:
        primal, dual = self.barrier.largest_steps()
        primal = min(primal, longest_step(self.s, self.ds), longest_step(self.xi, self.dxi))
        dual = min(dual, longest_step(self.a, self.da), longest_step(self.rest, -self.da))
        return (min(primal, dual),) * 2 if self.barrier.is_joint else (primal, dual)


def longest_step(values: np.ndarray, change: np.ndarray) -> float:
    """The largest t with values + t * change >= 0; inf if there is none."""
    least = float((change / values).min())
    return -1 / least if least < 0 else np.inf


# --- the constraint |beta| <= 1 -------------------------------------------------------------------


class Barrier:
    """The constraint |beta| <= 1 in the steps; one subclass for each norm.

    g = sum_i w_i a_i y_i x_i for dual variables a of the rows; mu, `multiplier`, belongs to the
    constraint. Products of variables are about `unit` times the width of the rows' ones, and there
    are `n_products` of them. A step has to satisfy, beside the equations of the rows,

        d beta = shift + G dg,    G = diag(e) - c f f'

    where `linearise` sets e, c, f, and `inverse`, with G^-1 = diag(1/e) + inverse (f/e)(f/e)'.
    """

    n_products: int
    is_uniform = False  # whether e is a multiple of 1
    is_joint = False  # whether primal and dual variables have to go steps of the same length
    e: np.ndarray
    f: np.ndarray
    c: float
    inverse: float
    multiplier: float
    d_multiplier: float

    def __init__(self, g: np.ndarray, unit: float):
        self.g, self.unit = g, unit
        self.beta = np.zeros(len(g))

    def times(self, v: np.ndarray) -> np.ndarray:
        """G v."""
        return self.e * v - (self.c * float(self.f @ v)) * self.f

    def is_interior(self) -> bool:
        """Whether the point is off the boundary in spite of rounding."""
        return True

    def active(self) -> np.ndarray:
        """The coefficients that are not going to 0."""
        return np.ones(len(self.beta), dtype=bool)

    def products(self) -> float:
        """The sum of the products of the variables."""
        raise NotImplementedError

    def products_after(self, primal: float, dual: float) -> float:
        """The sum after steps of these lengths."""
        raise NotImplementedError

    def linearise(self) -> None:
        """Set e, f, c and inverse at the present point."""
        raise NotImplementedError

    def shift(self, width: float, *, corrected: bool) -> np.ndarray:
        """The shift of a step to products of width * unit.

        If corrected, the products of the changes of the last `direction` are taken into account.
        """
        raise NotImplementedError

    def direction(self, d_beta: np.ndarray, dg: np.ndarray) -> None:
        """Complete a step by the changes of all variables."""
        raise NotImplementedError

    def largest_steps(self) -> tuple[float, float]:
        """The longest steps of the primal and the dual variables that keep them feasible."""
        raise NotImplementedError

    def move(self, primal: float, dual: float) -> None:
        """Take the step."""
        raise NotImplementedError


class L1Barrier(Barrier):
    """The l1 norm, a linear program with 2 p + 1 products.

    beta = parts[0] - parts[1] with parts >= 0 and sum(parts) + rest = 1. Their dual variables
    are mu - g, mu + g and mu. All points are feasible for both problems.
    """

    d_parts: np.ndarray
    d_duals: np.ndarray
    d_rest: float

    def __init__(self, g: np.ndarray, unit: float):
        super().__init__(g, unit)
        self.multiplier = FIRST_MULTIPLIER * float(np.abs(g).max()) + unit
        self.n_products = 2 * len(g) + 1
        # Two rows: the positive and the negative parts; then what remains of the radius.
        self.parts = np.full((2, len(g)), 1 / self.n_products)
        self.rest = 1 / self.n_products
        self.duals = self.multiplier + np.array([[-1.0], [1.0]]) * g

    def active(self) -> np.ndarray:
        # One of two variables goes to 0: the smaller one in units of its bound.
        return (self.parts * self.multiplier > self.duals).any(axis=0)

    def products(self) -> float:
        return float(np.vdot(self.parts, self.duals)) + self.rest * self.multiplier

    def products_after(self, primal: float, dual: float) -> float:
        parts, duals = self.parts + primal * self.d_parts, self.duals + dual * self.d_duals
        rest = self.rest + primal * self.d_rest
        return float(np.vdot(parts, duals)) + rest * (self.multiplier + dual * self.d_multiplier)

    def linearise(self) -> None:
        self.ratio = self.parts / self.duals
        up, down = self.ratio
        self.e, self.f = up + down, up - down
        rest = self.rest / self.multiplier
        self.c = 1 / (float(self.e.sum()) + rest)
        # sum(e) - sum(f²/e), without differences of large numbers
        self.inverse = 1 / (4 * float((up / self.e) @ down) + rest)

    def shift(self, width: float, *, corrected: bool) -> np.ndarray:
        goal = width * self.unit
        wanted, rest = goal / self.duals - self.parts, goal / self.multiplier - self.rest
        if corrected:
            wanted -= self.d_parts * self.d_duals / self.duals
            rest -= self.d_rest * self.d_multiplier / self.multiplier
        self.wanted, self.wanted_rest = wanted, rest
        self.base = self.c * (float(wanted.sum()) + rest)
        return wanted[0] - wanted[1] - self.base * self.f

    def direction(self, d_beta: np.ndarray, dg: np.ndarray) -> None:
        self.d_multiplier = self.base + self.c * float(self.f @ dg)
        self.d_duals = self.d_multiplier + np.array([[-1.0], [1.0]]) * dg
        self.d_parts = self.wanted - self.ratio * self.d_duals
        # Rounding goes to the larger part.
        error = self.d_parts[0] - self.d_parts[1] - d_beta
        larger = self.parts[0] > self.parts[1]
        self.d_parts[0] -= np.where(larger, error, 0.0)
        self.d_parts[1] += np.where(larger, 0.0, error)
        self.d_rest = -float(self.d_parts.sum())
        self.dg = dg

    def largest_steps(self) -> tuple[float, float]:
        primal, dual = (
            longest_step(self.parts, self.d_parts),
            longest_step(self.duals, self.d_duals),
        )
        if self.d_rest < 0:
            primal = min(primal, -self.rest / self.d_rest)
        if self.d_multiplier < 0:
            dual = min(dual, -self.multiplier / self.d_multiplier)
        return primal, dual

    def move(self, primal: float, dual: float) -> None:
        self.parts = self.parts + primal * self.d_parts
        self.rest += primal * self.d_rest
        self.duals = self.duals + dual * self.d_duals
        self.multiplier += dual * self.d_multiplier
        self.g = self.g + dual * self.dg
        self.beta = self.parts[0] - self.parts[1]


class L2Barrier(Barrier):
    """The l2 norm: a second-order cone with the scaling of Nesterov and Todd.

    x = (1, beta) and z = (multiplier, -g) are in the cone {(t, v): |v| <= t}. W z = W^-1 x for
    the symmetric W with W² = eta² (2 w w' - J), where J = diag(1, -1, ..., -1)
    [Vandenberghe, 2010, section 4]. How far x and z are from the boundary is kept by itself: near
    the boundary it has no digits in the difference of the norms.
    """

    n_products = 1
    is_uniform = True
    is_joint = True
    d_beta: np.ndarray
    dg: np.ndarray

    def __init__(self, g: np.ndarray, unit: float):
        super().__init__(g, unit)
        norm = float(np.linalg.norm(g))
        self.multiplier = FIRST_MULTIPLIER * norm + unit
        # A number and its rounding error.
        self.room_x = (1.0, EPS)
        self.room_z = self._room(self.multiplier, g)

    def is_interior(self) -> bool:
        return self.room_x[0] > 0 and self.room_z[0] > 0

    def products(self) -> float:
        return self.multiplier - float(self.beta @ self.g)

    def products_after(self, primal: float, dual: float) -> float:
        multiplier = self.multiplier + dual * self.d_multiplier
        beta, g = self.beta + primal * self.d_beta, self.g + dual * self.dg
        return multiplier - float(beta @ g)

    @staticmethod
    def _room(top: float, v: np.ndarray) -> tuple[float, float]:
        """top² - |v|²."""
        norm = float(np.linalg.norm(v))
        return (top - norm) * (top + norm), 4 * EPS * top * top

    def _room_after(
        self,
        room: tuple[float, float],
        t: float,
        top: tuple[float, float],
        v: tuple[np.ndarray, np.ndarray],
    ) -> tuple[float, float]:
        """The room after a step of length t of (value, change) pairs.

        It is computed from its change and anew; the one with the smaller rounding error counts.
        """
        (top_0, d_top), (v_0, d) = top, v
        value, error = room
        # d_top² - |d|² and 2 (top d_top - v'd)
        length = float(np.linalg.norm(d))
        square = (d_top - length) * (d_top + length)
        change = t * (2 * (top_0 * d_top - float(v_0 @ d)) + t * square)
        size = t * (abs(top_0 * d_top) + float(np.abs(v_0) @ np.abs(d)))
        changed = value + change, error + EPS * (value + 4 * size)
        anew = self._room(top_0 + t * d_top, v_0 + t * d)
        return min(changed, anew, key=lambda pair: pair[1])

    def linearise(self) -> None:
        size_x, size_z = np.sqrt(self.room_x[0]), np.sqrt(self.room_z[0])
        x = np.append(1.0, self.beta) / size_x
        z = np.append(self.multiplier, self.g) / size_z  # J z
        # x'z of the scaled vectors; 1 at the centre
        inner = max(self.products() / (size_x * size_z), 1.0)
        self.w = (x + z) / np.sqrt(2 * (1 + inner))
        w1 = self.w[1:]
        square = float(w1 @ w1)
        self.w[0] = np.sqrt(1 + square)
        self.eta = np.sqrt(size_x / size_z)
        self.v = self.w.copy()
        self.v[0] += 1
        self.v /= np.sqrt(2 * self.v[0])
        self.point = self._times_W(np.append(self.multiplier, -self.g))
        self.square = size_x * size_z
        self.e = np.full(len(w1), self.eta**2)
        self.f = self.eta * w1
        self.c = 2 / (1 + 2 * square)
        self.inverse = 2.0

    def _times_W(self, z: np.ndarray) -> np.ndarray:
        product = 2 * float(self.v @ z) * self.v
        product[0] -= z[0]
        product[1:] += z[1:]
        return self.eta * product

    def _times_inverse(self, x: np.ndarray) -> np.ndarray:
        v = self.v.copy()
        v[1:] *= -1
        product = 2 * float(v @ x) * v
        product[0] -= x[0]
        product[1:] += x[1:]
        return product / self.eta

    def shift(self, width: float, *, corrected: bool) -> np.ndarray:
        point = self.point
        wanted = -_jordan(point, point)
        wanted[0] += width * self.unit
        if corrected:
            dx = self._times_inverse(np.append(0.0, self.d_beta))
            dz = self._times_W(np.append(self.d_multiplier, -self.dg))
            wanted -= _jordan(dx, dz)
        y = np.empty(len(point))
        y[0] = (point[0] * wanted[0] - point[1:] @ wanted[1:]) / self.square
        y[1:] = (wanted[1:] - y[0] * point[1:]) / point[0]
        self.wanted = self._times_inverse(y)
        return self.times(self.wanted[1:])

    def direction(self, d_beta: np.ndarray, dg: np.ndarray) -> None:
        # By w'd beta for d beta = G (wanted + dg), without its rounding errors.
        w = self.w
        along = float(w[1:] @ (self.wanted[1:] + dg))
        self.d_multiplier = float(self.wanted[0] + w[0] * self.c * along)
        self.d_beta, self.dg = d_beta, dg

    def largest_steps(self) -> tuple[float, float]:
        d, dg = self.d_beta, self.dg
        rise = self.multiplier * self.d_multiplier - float(self.g @ dg)
        dual = _first_root(self.room_z[0], rise, self.d_multiplier**2 - float(dg @ dg))
        return _first_root(self.room_x[0], -float(self.beta @ d), -float(d @ d)), dual

    def move(self, primal: float, dual: float) -> None:
        x, z = (1.0, 0.0), (self.multiplier, self.d_multiplier)
        self.room_x = self._room_after(self.room_x, primal, x, (self.beta, self.d_beta))
        self.room_z = self._room_after(self.room_z, dual, z, (self.g, self.dg))
        self.beta = self.beta + primal * self.d_beta
        self.multiplier += dual * self.d_multiplier
        self.g = self.g + dual * self.dg


def _jordan(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The product of the algebra of the cone: (x'z, x_0 z_1 + z_0 x_1)."""
    product = x[0] * z + z[0] * x
    product[0] = x @ z
    return product


def _first_root(room: float, half: float, square: float) -> float:
    """The first t > 0 with room + 2 half t + square t² = 0; inf if there is none."""
    under = half * half - square * room
    if under < 0:
        return np.inf
    root = np.sqrt(under) - half
    return room / root if root > 0 else np.inf
