"""Minimise F(beta, b) = sum_i w_i phi(y_i (x_i'beta + b)) over |beta| <= lambda and |b| <= B.

The weights sum to 1. With an intercept, B is so large that the bound on b changes nothing: for
every beta in the ball some best b satisfies it, see `BallProblem`. It makes the set compact, as the
guarantees require.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._margin_losses import MarginFunction

from .balls import Ball, Matrix, row_squares

# Above this share of entries a sparse matrix of columns is made dense for its Gram matrix.
DENSE_SHARE = 0.1
# Values of X that are multiplied by weights at a time.
GRAM_VALUES = 2**18
POWER_STEPS = 8
# As a share of the weighted mean of the dual variables, which the risk is about.
LARGEST_ROUNDING = 1e-6
EPS = np.finfo(np.float64).eps


@dataclass(frozen=True)
class BallPoint:
    """A point of the set; F - min F is at most `gap` there.

    `converged` tells whether the gap is as small as asked for, or as rounding lets it be.
    """

    beta: np.ndarray
    intercept: float
    gap: float
    n_iter: int
    converged: bool


class Slope(NamedTuple):
    """The derivatives of F, or of its bound from below by dual variables a.

    That by the intercept is 0 where there is none.
    """

    beta: np.ndarray
    intercept: float


def without_rounding(total: float, size: float) -> float:
    """A sum, or 0 if it is a rounding error of its terms, which is not to be multiplied by B."""
    return 0.0 if abs(total) <= 4 * EPS * size else total


class BallSet:
    """The set of coefficients and intercepts, and what it takes to move in it.

    - C: the largest dual norm of a row: |x'beta| <= lambda C.
    - reach: B; 0 without an intercept.
    - start: the best intercept for beta = 0.

    Let W_+ and W_- be the weights of the classes, and `log_odds` log(W_+/W_-). For |s_i| <= r =
    lambda C the derivative of sum_i w_i phi(y_i (s_i + b)) in b is at least W_- |phi'(-(b - r))| -
    W_+ |phi'(b - r)|. That is not negative from b = r + log(W_+/W_-) on for the logistic function,
    from r + log(W_+/W_-)/2 on for the exponential one, and from r + 1 on for the hinge. The other
    side is the same with W_+ and W_- exchanged.
    """

    def __init__(self, phi: MarginFunction, ball: Ball, C: float, log_odds: float | None):
        self.phi, self.ball, self.C = phi, ball, C
        self.fit_intercept = log_odds is not None
        self.reach = self.start = 0.0
        if log_odds is not None:
            self.reach = phi.intercept_offset(log_odds) + ball.radius * C
            self.start = phi.best_constant(log_odds)

    @property
    def largest_score(self) -> float:
        """r: no score |x'beta + b| of the set is larger."""
        return self.ball.radius * self.C + self.reach

    @property
    def largest_point(self) -> float:
        """R: no (beta, b) of the set has a larger Euclidean norm."""
        return float(np.hypot(self.ball.radius, self.reach))

    def linear_gap(self, slope: Slope, beta: np.ndarray, intercept: float) -> float:
        """The most by which a linear function falls from a point on, over the set."""
        in_ball = slope.beta @ beta + self.ball.radius * self.ball.dual_norm(slope.beta)
        outside = slope.intercept * intercept + self.reach * abs(slope.intercept)
        return max(float(in_ball), 0.0) + max(outside, 0.0)

    def rounding_of(self, mass: float) -> float:
        """The size of gaps that are rounding errors, for the weighted mean of the dual variables.

        Larger ones than `LARGEST_ROUNDING` are not.
        """
        return min(16 * EPS * (1 + self.largest_score), LARGEST_ROUNDING) * mass

    def model_step(
        self,
        hessian: tuple[np.ndarray, np.ndarray, float],
        slope: Slope,
        chosen: np.ndarray,
        beta: np.ndarray,
        target: float,
    ) -> tuple[np.ndarray, float]:
        """The step of the chosen coefficients, beta, and of the intercept to a model's minimum.

        The model has these derivatives; its minimum without the intercept is up to `target`.
        `hessian` is what `BallProblem.gram` returns for the chosen columns, and is overwritten.
        """
        H, h, total = hessian
        c = slope.beta[chosen]
        # The intercept at its best for every beta: what remains is a model of beta alone.
        if self.fit_intercept and total > 0:
            H -= np.outer(h, h / total)
            c = c - h * (slope.intercept / total)
        step = self.ball.quadratic_minimum(H, c, beta, target) - beta
        db = 0.0
        if self.fit_intercept:
            if total > 0:
                db = -(slope.intercept + float(h @ step)) / total
            else:
                db = -self.reach * float(np.sign(slope.intercept))
        return step, db


class BallProblem(BallSet):
    """The rows of a problem: X, y of -1 and +1, both of them, and positive weights of sum 1."""

    def __init__(
        self,
        X: Matrix,
        y: np.ndarray,
        weight: np.ndarray,
        phi: MarginFunction,
        ball: Ball,
        *,
        fit_intercept: bool,
    ):
        log_odds = None
        if fit_intercept:
            log_odds = float(np.log(weight[y > 0].sum()) - np.log(weight[y < 0].sum()))
        super().__init__(phi, ball, ball.row_size(X), log_odds)
        self.X, self.y, self.weight = X, y, weight
        self.n, self.p = X.shape
        self.signed = weight * y

    @cached_property
    def row_norms(self) -> np.ndarray:
        """Euclidean norms of the rows (x_i, 1), or x_i without an intercept."""
        return np.sqrt(row_squares(self.X) + float(self.fit_intercept))

    @cached_property
    def largest_square(self) -> float:
        """The largest eigenvalue of X'WX, from below by a few steps of the power method."""
        v = np.ones(self.p)
        value = 0.0
        for _ in range(POWER_STEPS):
            v = self.X.T @ (self.weight * (self.X @ v))
            value = float(np.linalg.norm(v))
            if value == 0:
                break
            v /= value
        return value or float(self.weight @ self.row_norms**2) or 1.0

    def scores(self, beta: np.ndarray, intercept: float) -> np.ndarray:
        return self.X @ beta + intercept

    def slope(self, a: np.ndarray) -> Slope:
        """The derivatives where -phi' is a."""
        r = -self.signed * a
        total = float(r.sum()) if self.fit_intercept else 0.0
        return Slope(self.X.T @ r, without_rounding(total, float(np.abs(r).sum())))

    def gap(self, beta: np.ndarray, intercept: float, m: np.ndarray, a: np.ndarray) -> float:
        """The duality gap of a point with margins m and of dual variables a."""
        loss = float(self.weight @ self.phi.fenchel(m, a))
        return loss + self.linear_gap(self.slope(a), beta, intercept)

    def rounding(self, a: np.ndarray) -> float:
        """Gaps of this size are rounding errors, with the dual variables a."""
        return self.rounding_of(float(self.weight @ a))

    @cached_property
    def _columns(self) -> Matrix:
        return self.X.tocsc() if sp.issparse(self.X) else self.X

    def columns(self, chosen: np.ndarray) -> Matrix:
        """Some of the columns of X."""
        return self._columns if len(chosen) == self.p else self._columns[:, chosen]

    @staticmethod
    def gram(Z: Matrix, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Z'DZ, Z'd and the sum of d, for the diagonal D of d >= 0."""
        # Rows of curvature 0, as those beyond the kink of a smoothed hinge, count for nothing.
        rows = np.flatnonzero(d)
        if len(rows) < len(d) / 2:
            Z, d = (Z.tocsr() if sp.issparse(Z) else Z)[rows], d[rows]
        if sp.issparse(Z) and Z.nnz > DENSE_SHARE * Z.shape[0] * Z.shape[1]:
            Z = Z.toarray()
        if sp.issparse(Z):
            H = (Z.T @ sp.diags(d) @ Z).toarray()
        else:
            H, root = np.zeros((Z.shape[1], Z.shape[1])), np.sqrt(d)
            step = max(1, GRAM_VALUES // max(Z.shape[1], 1))
            buffer = np.empty((min(step, len(d)), Z.shape[1]))
            # Rows times the root of their weight, a cache's worth at a time.
            for start in range(0, len(d), step):
                part = Z[start : start + step]
                half = np.multiply(part, root[start : start + step, None], out=buffer[: len(part)])
                H += half.T @ half
        return H, np.asarray(Z.T @ d).ravel(), float(d.sum())
