"""Projected subgradient steps and the mean of the iterates [Shah, algorithms 1 and 2].

Both start from (0, 0), in the set of `BallProblem`: |beta| <= lambda and |b| <= B.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._margin_losses import MarginFunction
from sklearn_ensemble_theory.erm._ball.ball_problem import BallPoint, BallProblem


def subgradient_bound(problem: BallProblem) -> float:
    """L: no subgradient of F in the set is longer.

    A subgradient is -sum_i w_i y_i a_i (x_i, 1) with a_i at most the Lipschitz constant of phi on
    the scores that can occur.
    """
    slope = problem.phi.lipschitz(problem.largest_score)
    return slope * float(problem.weight @ problem.row_norms)


def stochastic_subgradient_bound(problem: BallProblem) -> float:
    """L for the gradient of one row that is drawn by its weight: the root of its mean square."""
    slope = problem.phi.lipschitz(problem.largest_score)
    return slope * float(np.sqrt(problem.weight @ problem.row_norms**2))


def averaged_gradient_descent(problem: BallProblem, n_steps: int) -> tuple[BallPoint, float]:
    """The mean of k iterates with the step of [Shah, theorem 26], and the bound 2 L R / sqrt(k).

    The gap is that of the mean and of the mean of the dual variables. It is below the bound, too:
    for every z of the set the mean of F(beta_s) + g_s'(z - beta_s) is at least the mean of
    F(beta_s) minus the bound, by the proof of the theorem, and at most the value of the mean dual
    variables at z.
    """
    L, R = subgradient_bound(problem), problem.largest_point
    # L is 0 where all rows are 0 and there is no intercept: F is constant.
    step = 2 * R / (L * np.sqrt(n_steps)) if L > 0 else 0.0
    beta, b = np.zeros(problem.p), 0.0
    sum_beta, sum_b, sum_a = np.zeros(problem.p), 0.0, np.zeros(problem.n)
    for _ in range(n_steps):
        sum_beta += beta
        sum_b += b
        a = -problem.phi.slope(problem.y * problem.scores(beta, b))
        sum_a += a
        g = problem.slope(a)
        beta = problem.ball.project(beta - step * g.beta)
        b = min(max(b - step * g.intercept, -problem.reach), problem.reach)
    beta, b, a = sum_beta / n_steps, sum_b / n_steps, sum_a / n_steps
    gap = problem.gap(beta, b, problem.y * problem.scores(beta, b), a)
    return BallPoint(beta, b, gap, n_steps, True), 2 * L * R / float(np.sqrt(n_steps))


class StochasticState(NamedTuple):
    """What a further step needs to know.

    Attributes
    ----------
    beta, intercept : float array of shape (p,), float
        The last iterate.
    sum_beta, sum_intercept : float array of shape (p,), float
        Sums of the iterates, by the weights of the rows.
    sum_weight : float
    sum_squares : float
        Sum of |g_s|² of all gradients so far.
    reach : float
        B, which does not change.
    n_steps : int
    """

    beta: np.ndarray
    intercept: float
    sum_beta: np.ndarray
    sum_intercept: float
    sum_weight: float
    sum_squares: float
    reach: float
    n_steps: int

    @classmethod
    def first(cls, n_features: int, reach: float) -> "StochasticState":
        return cls(np.zeros(n_features), 0.0, np.zeros(n_features), 0.0, 0.0, 0.0, reach, 0)

    @property
    def mean(self) -> tuple[np.ndarray, float]:
        """The mean of the iterates."""
        if self.sum_weight == 0:
            return self.beta, self.intercept
        return self.sum_beta / self.sum_weight, self.sum_intercept / self.sum_weight

    def bound(self, largest_point: float) -> float:
        """The bound of `next_steps` for these rows."""
        root = float(np.sqrt(2 * self.sum_squares))
        return 2 * largest_point * root / self.sum_weight if self.sum_weight else np.inf


def row_reader(X: Any) -> Any:
    """A function that gives the columns and the values of a row, dense or sparse."""
    if not sp.issparse(X):
        every = slice(None)
        return lambda i: (every, X[i])
    indptr, indices, data = X.indptr, X.indices, X.data

    def row(i):
        where = slice(indptr[i], indptr[i + 1])
        return indices[where], data[where]

    return row


def stochastic_steps(
    X: Any,
    y: np.ndarray,
    phi: MarginFunction,
    ball: Any,
    state: StochasticState,
    *,
    rows: np.ndarray,
    weight: np.ndarray | None = None,
    step: float | None = None,
    fit_intercept: bool = True,
) -> StochasticState:
    """One step for each of the given rows, in their order [Shah, algorithm 2].

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, p)
    y : float array of shape (n,)
        -1 and +1.
    phi : MarginFunction
    ball : L1Ball or L2Ball
    state : StochasticState
        Where to go on.
    rows : int array
        The rows, one for each step.
    weight : float array of shape (n,), default=None
        Factors of the losses; None is 1.
    step : float, default=None
        The length of all steps. None is sqrt(2) R / sqrt(sum_{r <= s} |g_r|²), which does not need
        the number of steps.
    fit_intercept : bool

    Returns
    -------
    StochasticState

    Notes
    -----
    With steps eta_s that do not increase, the proof of [Shah, theorem 27] gives

        sum_s w_s (f_s(beta_s) - f_s(z)) <= (2R)²/(2 eta_k) + sum_s eta_s |g_s|²/2,

    and sum_s |g_s|²/sqrt(sum_{r <= s} |g_r|²) <= 2 sqrt(sum_s |g_s|²). For eta_s as above both
    terms are sqrt(2) R sqrt(sum_s |g_s|²), so that the mean iterate is within
    2 sqrt(2) R sqrt(sum_s |g_s|²) / sum_s w_s of the optimum, in expectation.
    """
    beta, sum_beta = state.beta.copy(), state.sum_beta.copy()
    b, sum_b = state.intercept, state.sum_intercept
    squares, total, reach = state.sum_squares, state.sum_weight, state.reach
    longest = np.sqrt(2) * float(np.hypot(ball.radius, reach))
    read = row_reader(X)
    one = np.empty(1)
    for i in rows:
        w = 1.0 if weight is None else weight[i]
        columns, x = read(i)
        sum_beta += w * beta
        sum_b += w * b
        total += w
        one[0] = y[i] * (x @ beta[columns] + b)
        factor = w * y[i] * float(phi.slope(one)[0])
        squares += factor * factor * (float(x @ x) + fit_intercept)
        if factor == 0:
            continue
        eta = step if step is not None else longest / np.sqrt(squares)
        beta[columns] -= eta * factor * x
        beta = ball.project(beta)
        if fit_intercept:
            b = min(max(b - eta * factor, -reach), reach)
    n_steps = state.n_steps + len(rows)
    return StochasticState(beta, b, sum_beta, sum_b, total, squares, reach, n_steps)


def averaged_stochastic_descent(
    problem: BallProblem, n_steps: int, rng: np.random.RandomState
) -> tuple[BallPoint, float, StochasticState]:
    """The mean of k iterates with the step of [Shah, theorem 27], and the bound 2 L R / sqrt(k).

    Rows are drawn with probabilities equal to their weights. The gap is that of the mean.
    """
    L, R = stochastic_subgradient_bound(problem), problem.largest_point
    step = 2 * R / (L * np.sqrt(n_steps)) if L > 0 else 0.0
    ends = np.cumsum(problem.weight)
    rows = np.searchsorted(ends, rng.uniform(0, ends[-1], n_steps), side="right")
    state = stochastic_steps(
        problem.X,
        problem.y,
        problem.phi,
        problem.ball,
        StochasticState.first(problem.p, problem.reach),
        rows=np.minimum(rows, problem.n - 1),
        step=step,
        fit_intercept=problem.fit_intercept,
    )
    beta, b = state.mean
    m = problem.y * problem.scores(beta, b)
    gap = problem.gap(beta, b, m, -problem.phi.slope(m))
    return BallPoint(beta, b, gap, n_steps, True), 2 * L * R / float(np.sqrt(n_steps)), state
