"""Primal-dual steps for the hinge loss over a ball, with the columns of a working set.

    min sum_i w_i xi_i  over |beta| <= 1, b, s >= 0, xi >= 0, s_i - xi_i = m_i - 1
    max sum_i w_i a_i - |sum_i w_i a_i y_i x_i|*  over sum_i w_i a_i y_i = 0, 0 <= a_i <= 1

where m_i = y_i (x_i'beta + b). Products s_i a_i and xi_i (1 - a_i) go to 0 together, by the
predictor and corrector of [Mehrotra, 1992]. Each step solves one system in min(n, p) unknowns.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve

from sklearn_ensemble_theory.erm._ball._hinge.barriers import longest_step
from sklearn_ensemble_theory.erm._ball.ball_problem import BallProblem
from sklearn_ensemble_theory.erm._ball.balls import factored

# Lengths |beta| |x_i| beyond have no digits left. The certificate is about the true radius.
RANGE = (1e-8, 1e10)
# Steps go to this share of the way to the boundary.
TO_BOUNDARY = 0.995
# Steps shorter than this are replaced by steps to products that are this much smaller.
SHORT, CENTRED = 0.1, 0.5


class InteriorPoint:
    """A strictly feasible point of both problems, in columns Z of X.

    Parameters
    ----------
    problem : BallProblem
    chosen : int array
        The columns.

    Attributes
    ----------
    unit : float
        The radius, unless it is extreme. The radius is 1 and Z are columns of X in these units.
    a : float array of shape (n,)
    barrier : L1Barrier or L2Barrier
        With beta, in the chosen columns and in units of `unit`.
    """

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
        self.by_rows = p > n
        up, down = self.weight[self.y > 0].sum(), self.weight[self.y < 0].sum()
        half = min(up, down) / 2
        self.a = np.full(n, 0.5)
        if problem.fit_intercept:
            self.a = np.where(self.y > 0, half / up, half / down)
        self.rest = 1 - self.a  # kept by itself: near 0 it has no digits as a difference
        self.offset = 0.0
        self.s, self.xi = np.ones(n), np.full(n, 2.0)
        g = self.Z.T @ (problem.signed * self.a)
        self.barrier = problem.ball.barrier(g, 1 / n)
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
        solve = self._solver(D)
        self._direction(solve, D, 0.0, corrected=False)
        primal, dual = (min(t, 1.0) for t in self._largest_steps())
        width = self.width()
        # What the products would be after this step. For the rows their changes are known, and the
        # sum over the ball is what remains of the linear function.
        after = self._products_after(primal, dual) / self.total
        centring = min(max(after / width, 0.0), 1.0) ** 3
        self._direction(solve, D, centring * width, corrected=True)
        primal, dual = (min(TO_BOUNDARY * t, 1.0) for t in self._largest_steps())
        if min(primal, dual) < SHORT:  # towards the middle, without terms of second order
            self._direction(solve, D, CENTRED * width, corrected=False)
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

    def _products_after(self, primal, dual):
        s, xi = self.s + primal * self.ds, self.xi + primal * self.dxi
        a, rest = self.a + dual * self.da, self.rest - dual * self.da
        rows = self.weight @ (s * a + xi * rest)
        return float(rows) + self.barrier.products_after(primal, dual)

    def _solver(self, D):
        """A function that solves the equations of a step for (da, d beta, db, dg).

        w da = D (k - dm), dm = y (Z d beta + db), d beta = shift + G dg, dg = Z'(y w da) and
        sum y w da = 0.
        """
        return self._solver_by_rows(D) if self.by_rows else self._solver_by_columns(D)

    def _solver_by_columns(self, D):
        """(G^-1 + Z'DZ) d beta + Z'D 1 db = G^-1 shift + Z'(D y k)."""
        Z, y, barrier = self.Z, self.y, self.barrier
        H, h, total = self.problem.gram(Z, D)
        u = barrier.f / barrier.e
        H += barrier.inverse * np.outer(u, u)
        H[np.diag_indices_from(H)] += 1 / barrier.e
        factor = factored(H)
        border = cho_solve(factor, h, check_finite=False)
        schur = total - float(h @ border)

        def solve(k, shift):
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

    def _balanced(self, da):
        """Without what rounding adds to sum y w da."""
        if not self.problem.fit_intercept:
            return da
        room = np.minimum(self.a, self.rest)
        error = float(self.problem.signed @ da) / float(self.weight @ room)
        return da - self.y * error * room

    def _solver_by_rows(self, D):
        """(1/D + y Z G Z' y) (w da) + y db = k - y Z shift."""
        Z, y, barrier = self.Z, self.y, self.barrier
        N = self._gram_of_rows()
        u = Z @ barrier.f
        N -= barrier.c * np.outer(u, u)
        N[np.diag_indices_from(N)] += 1 / D
        factor = factored(N)
        border = cho_solve(factor, np.ones(len(y)), check_finite=False)
        schur = float(border.sum())

        def solve(k, shift):
            change = cho_solve(factor, y * k - Z @ shift, check_finite=False)
            db = 0.0
            if self.problem.fit_intercept and schur > 0:
                db = float(change.sum()) / schur
                change = change - db * border
            da = self._balanced(y * change / self.weight)
            change = shift + barrier.times(Z.T @ (self.problem.signed * da))
            return da, change, db

        return solve

    def _gram_of_rows(self):
        """Z diag(e) Z'."""
        e = self.barrier.e
        if not hasattr(self, "_kernel") or not self.barrier.is_uniform:
            is_sparse = sp.issparse(self.Z)
            half = self.Z @ sp.diags(np.sqrt(e)) if is_sparse else self.Z * np.sqrt(e)
            kernel: Any = half @ half.T
            self._kernel = kernel.toarray() if is_sparse else kernel
            self._unit = e[0]
        return self._kernel * (e[0] / self._unit)

    def _direction(self, solve, D, width, *, corrected):
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

    def _largest_steps(self):
        primal, dual = self.barrier.largest_steps()
        primal = min(primal, longest_step(self.s, self.ds), longest_step(self.xi, self.dxi))
        dual = min(dual, longest_step(self.a, self.da), longest_step(self.rest, -self.da))
        return (min(primal, dual),) * 2 if self.barrier.is_joint else (primal, dual)
