"""Weights of candidates from their predictions p_1, ..., p_k of held-out rows [Shah, §4.1].

The risk of weights v is the mean loss of sum_j v_j p_j. It is smallest over the weights v >= 0
("nnls"), those of sum 1 ("simplex") or of a norm of at most `radius` ("l1", "l2"):

- squared error: exactly, by active sets on a triangular factor of the predictions;
- absolute error and hinge: exactly, by a linear program;
- log-loss of mixed probabilities: by Newton steps on the simplex, each a problem of squared error;
- functions of the margin: by such Newton steps in every set; the hinge in the "l2" ball by an
  interior-point method, or by Newton steps for smoothed hinges where weights are non-negative.

A bound on the distance to the minimum comes with the weights. `greedy_weights` is a selection for
any loss or metric; `tandem_weights` are those of a vote with the smallest bound on its error.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import brentq, linprog
from scipy.special import rel_entr, softmax, xlogy

from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS, MarginFunction
from sklearn_ensemble_theory._scaling import largest_magnitude, power_of_two
from sklearn_ensemble_theory.bounds import kl_inverse
from sklearn_ensemble_theory.erm._ball.balls import L2Ball, factored
from sklearn_ensemble_theory.erm._ball.problem import BallProblem
from sklearn_ensemble_theory.erm._ball.solvers import line_search, solve_in_ball

SMALLEST_PROBABILITY = np.finfo(np.float64).eps
SMALLEST_MEAN = 1e-6

# --- risks --------------------------------------------------------------------------------------


class HeldOutRisk:
    """The mean loss of weighted predictions on n held-out rows.

    `predictions` are those of k candidates: numbers (n, k), or probabilities of K classes (n, k,
    K). y has targets, or positions of the classes; the weights have the sum 1.
    """

    rules: tuple[str, ...]  # the sets of weights over which the minimum is found

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        self.given, self.weight, self.unit = predictions, weight, 1.0
        if predictions.ndim == 2:
            # In units in which squares neither overflow nor vanish.
            self.unit = power_of_two(max(largest_magnitude(predictions), largest_magnitude(y)))
            predictions, y = predictions / self.unit, y / self.unit
        self.predictions, self.y = predictions, y

    @classmethod
    def largest_loss(cls, K: int) -> float:
        """No loss of probabilities of K classes is larger."""
        raise NotImplementedError

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        """The losses of the rows of predictions of shape (n, j) or (n, j, K), of shape (n, j)."""
        raise NotImplementedError

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        """(the weights of a rule, the bound on the distance of their risk to the minimum)."""
        raise NotImplementedError

    def solve_with_prior(self, share: float) -> tuple[np.ndarray, float]:
        """The weights of sum 1, drawn to equal ones by further rows with this share of the weight.

        The bound is on the distance to the smallest risk of all these rows.
        """
        raise NotImplementedError

    def candidate_losses(self) -> np.ndarray:
        """Return the losses of the candidates, of shape (n, k), in units of `unit`."""
        return self.losses(self.predictions)

    def in_units(self, losses: Any) -> Any:
        """Losses in the units of y; inf or 0 beyond the range of floats, without a warning."""
        return losses


class SquaredRisk(HeldOutRisk):
    """Squared differences of numbers, or of probabilities and the indicators of the classes."""

    rules = ("nnls", "simplex", "l1", "l2")

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        super().__init__(predictions, y, weight)
        self.target = self.y if predictions.ndim == 2 else np.eye(predictions.shape[2])[y]

    @classmethod
    def largest_loss(cls, K: int) -> float:
        return 2.0

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        squares = np.square(mixed - self.target[:, None])
        return squares.sum(axis=2) if squares.ndim == 3 else squares

    def in_units(self, losses: Any) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            return losses * self.unit * self.unit

    def factor(self) -> np.ndarray:
        """The residual factor of the rows, or of the rows and classes."""
        return residual_factor(*self._in_rows())

    def _in_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predictions, targets and weights, of probabilities a row for each row and class."""
        P, y, weight = self.predictions, self.target, self.weight
        if P.ndim == 3:
            weight = np.repeat(weight, P.shape[2])
            P, y = P.swapaxes(1, 2).reshape(-1, P.shape[1]), y.ravel()
        return P, y, weight

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        factor = self.factor()
        v = least_squares_weights(factor, rule, radius, positive)
        return v, least_squares_gap(factor, v, rule, radius, positive)

    def solve_with_prior(self, share: float) -> tuple[np.ndarray, float]:
        # k more rows, in which the weights would be 1 / k each: where all of the weight is on one
        # member, their mean square is about the smallest risk of a member.
        P, y, weight = self._in_rows()
        k = P.shape[1]
        smallest = float((self.weight @ self.candidate_losses()).min())
        more = np.sqrt(smallest) * (k * np.eye(k) - 1.0)
        factor = residual_factor(
            np.vstack([P, more]),
            np.append(y, np.zeros(k)),
            np.append(weight * (1 - share), np.full(k, share / k)),
        )
        v = least_squares_weights(factor, "simplex", 1.0, True)
        return v, least_squares_gap(factor, v, "simplex", 1.0, True)


class AbsoluteRisk(HeldOutRisk):
    """Absolute differences."""

    rules = ("nnls", "simplex", "l1")

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        return np.abs(mixed - self.y[:, None])

    def in_units(self, losses: Any) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            return losses * self.unit

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        P, y, weight = self.predictions, self.y, self.weight
        v, gap = least_absolute_weights(P, y, weight, rule, radius, positive)
        size = float(weight @ np.abs(y))
        return v, gap / size if size > 0 else gap


class LogRisk(HeldOutRisk):
    """Minus the logarithm of the probability of the class, probabilities at least 2e-16.

    The probabilities of weights v >= 0 are those of v divided by its sum, so that the optimum over
    every set is that over the simplex, in a length that the set has.
    """

    rules = ("nnls", "simplex", "l1", "l2")

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        super().__init__(predictions, y, weight)
        own = predictions[np.arange(len(y)), :, y]
        self.predictions = np.clip(own, SMALLEST_PROBABILITY, 1.0)

    @classmethod
    def largest_loss(cls, K: int) -> float:
        return float(-np.log(SMALLEST_PROBABILITY))

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        return -np.log(mixed)

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        return mixture_in_set(MixtureRows(self.predictions, self.weight), rule, radius)

    def solve_with_prior(self, share: float) -> tuple[np.ndarray, float]:
        # k more rows, each of whose class one member alone gives a probability.
        k = self.predictions.shape[1]
        rows = np.vstack([self.predictions, np.eye(k)])
        weight = np.append(self.weight * (1 - share), np.full(k, share / k))
        return best_mixture(MixtureRows(rows, weight))


class MarginRisk(HeldOutRisk):
    """phi of the margins [Shah, §3.3 and §4.1.1], summed over classes, each against the others.

    The score of a candidate is the difference of the two probabilities; two classes have one.
    """

    rules = ("nnls", "simplex", "l1", "l2")
    phi: MarginFunction

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        super().__init__(predictions, y, weight)
        K = predictions.shape[2]
        signs = np.where(np.arange(K) == y[:, None], 1.0, -1.0)[:, None]
        if K == 2:
            self.predictions = signs[..., 1] * (predictions[..., 1] - predictions[..., 0])
        else:
            self.predictions = signs * (2 * predictions - 1)

    @classmethod
    def largest_loss(cls, K: int) -> float:
        # Another class is certain.
        wrong, right = (float(value) for value in cls.phi.value(np.array([-1.0, 1.0])))
        return wrong if K == 2 else 2 * wrong + (K - 2) * right

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        values = self.phi.value(mixed)
        return values.sum(axis=2) if values.ndim == 3 else values

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        M, weight = self.predictions, self.weight
        if M.ndim == 3:  # a row for each row and class
            weight = np.repeat(weight, M.shape[2])
            M = M.swapaxes(1, 2).reshape(-1, M.shape[1])
        solver = least_hinge_weights if self.phi.is_piecewise_linear else least_margin_weights
        v, gap = solver(M, weight, self.phi, rule, radius, positive)
        return v, gap / float(weight.sum() * self.phi.value(np.zeros(1))[0])


class LogisticRisk(MarginRisk):
    """log(1 + exp(-m))."""

    phi = MARGIN_FUNCTIONS["logistic"]


class ExponentialRisk(MarginRisk):
    """exp(-m)."""

    phi = MARGIN_FUNCTIONS["exponential"]


class HingeRisk(MarginRisk):
    """(1 - m)+."""

    phi = MARGIN_FUNCTIONS["hinge"]


class DevianceRisk(HeldOutRisk):
    """Half the deviance of a mean m > 0 of counts or amounts.

    Predictions below a tiny share of the mean of y count as this share: a tree of a forest may
    predict 0, under which a count of 1 is impossible.
    """

    rules = ("simplex",)

    def __init__(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        super().__init__(predictions, y, weight)
        # Where no row of a fold has a count, the predictions tell the size of means.
        level = float(weight @ self.y) or float(weight @ self.predictions.mean(axis=1)) or 1.0
        self.predictions = np.maximum(self.predictions, SMALLEST_MEAN * level)

    @staticmethod
    def value(y: np.ndarray, m: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @staticmethod
    def derivatives(y: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first derivative by m, and the mean of the second one under the mean m."""
        raise NotImplementedError

    def losses(self, mixed: np.ndarray) -> np.ndarray:
        return self.value(self.y[:, None], mixed)

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        return least_deviance_weights(self.predictions, self.y, self.weight, self)


class PoissonRisk(DevianceRisk):
    """Half the deviance of counts, m - y + y log(y / m)."""

    @staticmethod
    def value(y: np.ndarray, m: np.ndarray) -> np.ndarray:
        return m - y + xlogy(y, y / m)

    @staticmethod
    def derivatives(y: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1 - y / m, 1 / m

    def in_units(self, losses: Any) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            return losses * self.unit


class GammaRisk(DevianceRisk):
    """Half the deviance of amounts, y / m - 1 - log(y / m).

    It is not convex in m: the weights are a point where no step lowers it.
    """

    @staticmethod
    def value(y: np.ndarray, m: np.ndarray) -> np.ndarray:
        ratio = y / m
        return ratio - 1 - np.log(ratio)

    @staticmethod
    def derivatives(y: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (1 - y / m) / m, 1 / m**2


RISKS = {
    "squared_error": SquaredRisk,
    "absolute_error": AbsoluteRisk,
    "log_loss": LogRisk,
    "logistic": LogisticRisk,
    "exponential": ExponentialRisk,
    "hinge": HingeRisk,
    "poisson": PoissonRisk,
    "gamma": GammaRisk,
}

# --- squared error ------------------------------------------------------------------------------

# Rows that are decomposed at a time.
CHUNK = 8192
# Correlations with the residual below this share of the largest possible are rounding.
TOLERANCE = 1e-13


def residual_factor(predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The triangular factor R of the columns y - p_1, ..., y - p_k, y with weighted rows.

    It contains what the Gram matrix does, without squaring the condition number, so that nearly
    collinear candidates are told apart. The sum of squares of [R, r] @ (v, 1 - sum(v)) is that of
    the weighted residuals y - P v. O(N k^2), in pieces of `CHUNK` rows, with memory O(k^2).
    """
    n, k = predictions.shape
    factor = np.zeros((0, k + 1))
    for start in range(0, n, CHUNK):
        rows = slice(start, start + CHUNK)
        root = np.sqrt(weight[rows])[:, None]
        block = np.empty((len(root), k + 1), order="F")
        block[:, k] = y[rows]
        block[:, :k] = block[:, k:] - predictions[rows]
        block *= root
        # The factor of the rows so far stands for them.
        stacked = np.asfortranarray(np.vstack([factor, block]))
        (factor,) = qr(stacked, mode="r", overwrite_a=True, check_finite=False)
        factor = factor[: k + 1]
    return np.vstack([factor, np.zeros((k + 1 - len(factor), k + 1))])


def least_squares_weights(
    factor: np.ndarray, rule: str, radius: float, positive: bool
) -> np.ndarray:
    """The weights of smallest squared error in the set of a rule, from the residual factor."""
    E, y = factor[:, :-1], factor[:, -1]
    k = E.shape[1]
    if rule == "simplex":
        return nearest_in_hull(E)
    if rule == "l1":  # the hull of 0 and radius e_j, or of +-radius e_j
        plus = radius * E + (1 - radius) * y[:, None]  # y - radius p_j
        if positive:
            return radius * nearest_in_hull(np.column_stack([plus, y]))[:k]
        v = nearest_in_hull(np.hstack([plus, 2 * y[:, None] - plus]))
        return radius * (v[:k] - v[k:])
    P = y[:, None] - E
    if rule == "nnls":
        return nonnegative_least_squares(P, y)

    # "l2": ridge weights, whose norm falls with the penalty: the penalty at which it is `radius`.
    size = np.linalg.norm(P, 2)
    if size == 0:
        return np.zeros(k)
    if positive:
        extended = np.append(y, np.zeros(k))

        def ridge(penalty: float) -> np.ndarray:
            rows = np.vstack([P, np.sqrt(penalty) * np.eye(k)])
            return nonnegative_least_squares(rows, extended)

    else:
        U, s, Vt = np.linalg.svd(P, full_matrices=False)
        turned = U.T @ y

        def ridge(penalty: float) -> np.ndarray:
            return Vt.T @ (s * turned / (s**2 + penalty))

    def excess(log_penalty: float) -> float:
        return float(np.linalg.norm(ridge(size**2 * np.exp(log_penalty)))) - radius

    # Between penalties that are rounding, and that make the norm smaller than the radius.
    low, high = -36.0, float(np.log(np.linalg.norm(y) / (size * radius) + 1.0) + 1.0)
    if excess(low) <= 0:
        return ridge(size**2 * np.exp(low))
    w = ridge(size**2 * np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)))
    return w * (radius / np.linalg.norm(w))


def least_squares_gap(
    factor: np.ndarray, v: np.ndarray, rule: str, radius: float, positive: bool
) -> float:
    """max <-F'(v), u - v> over the set of weights u, by the mean square of y.

    It bounds F(v) - min F, because F is convex. For "nnls", whose set is not bounded, u has a sum
    of at most twice that of v, or 1.
    """
    E, y = factor[:, :-1], factor[:, -1]
    downhill = 2 * (y[:, None] - E).T @ (E @ v + (1 - v.sum()) * y)
    size = float(y @ y)
    gap = linear_gap(downhill, v, rule, radius, positive)
    return gap / size if size > 0 else gap


def linear_gap(
    downhill: np.ndarray, v: np.ndarray, rule: str, radius: float, positive: bool
) -> float:
    """max <downhill, u - v> over the set of weights u; see `least_squares_gap`."""
    kept = np.maximum(downhill, 0.0)
    support = {
        "nnls": max(1.0, 2 * v.sum()) * kept.max(),
        "simplex": downhill.max(),
        "l1": radius * (kept if positive else np.abs(downhill)).max(),
        "l2": radius * np.linalg.norm(kept if positive else downhill),
    }[rule]
    return max(float(support - downhill @ v), 0.0)


def nearest_in_hull(E: np.ndarray) -> np.ndarray:
    """The v in the simplex with the smallest |E v|, for points E of shape (m, k), as columns.

    One problem of non-negative least squares: for u = t v with v in the simplex

        |E u|^2 + s^2 (sum(u) - 1)^2 = t^2 |E v|^2 + s^2 (t - 1)^2,

    whose minimum over t, s^2 |E v|^2 / (s^2 + |E v|^2), increases with |E v|.
    """
    norms = np.sqrt(np.einsum("ij,ij->j", E, E))
    best = int(np.argmin(norms))
    v = np.zeros(E.shape[1])
    if norms[best] == 0:
        v[best] = 1.0
        return v
    A = np.vstack([E / norms[best], np.ones(len(v))])
    v = nonnegative_least_squares(A, np.append(np.zeros(len(E)), 1.0))
    return v / v.sum()


def nonnegative_least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the w >= 0 that minimises |A w - b|, by the active-set method of Lawson and Hanson.

    Columns that depend linearly on those in use stay out, so that the result is a basic solution.
    """
    # Columns are scaled to norm 1 for the choice.
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    scale = np.where(norms > 0, norms, 1.0)
    U = A / scale
    k = U.shape[1]
    w = np.zeros(k)
    used: list[int] = []
    barred = norms == 0
    smallest = TOLERANCE * (np.linalg.norm(b) or 1.0)

    def solution_on(columns: list[int]) -> np.ndarray | None:
        """Return the least squares on these columns; None where they are dependent to rounding."""
        Q, R = qr(U[:, columns], mode="economic", check_finite=False)
        diagonal = np.abs(np.diag(R))
        if len(diagonal) < len(columns) or diagonal[-1] <= 10 * TOLERANCE:
            return None
        return solve_triangular(R, Q.T @ b, check_finite=False)

    # No set of columns comes again, as the residual falls; the limit is against rounding.
    for _ in range(10 * k + 10):
        # The column along which the residual falls fastest comes in.
        slope = U.T @ (b - U @ w)
        slope[barred] = -np.inf
        slope[used] = -np.inf
        j = int(np.argmax(slope))
        if not slope[j] > smallest:
            break
        solution = solution_on([*used, j])
        if solution is None or solution[-1] <= 0:
            barred[j] = True  # dependent to rounding: it would not lower the residual
            continue
        used, barred = [*used, j], norms == 0
        # Back to the border of the cone, where a weight becomes 0 and its column leaves.
        while solution.min() <= 0:
            old = w[used]
            falling = solution <= 0
            step = np.min(old[falling] / (old[falling] - solution[falling]))
            new = old + step * (solution - old)
            new[falling & (new <= TOLERANCE * new.max())] = 0.0
            w[used] = new
            used = [i for i, value in zip(used, new) if value > 0]
            remaining = solution_on(used)
            solution = w[used] if remaining is None else remaining
        w[:] = 0.0
        w[used] = solution
    return w / scale


# --- absolute error -----------------------------------------------------------------------------


def least_absolute_weights(
    P: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    rule: str,
    radius: float,
    positive: bool,
    low: float = -1.0,
) -> tuple[np.ndarray, float]:
    """The weights, and the difference of their risk to a lower bound on the smallest one.

    The loss of a residual r is max(low r, r): |r|, or the hinge for low = 0, y = 1 and margins P.
    SciPy's HiGHS solves the dual problem, with one constraint for each candidate and a basis of k
    rows,

        max_d  <y, d> - h(P^T d)    over low w_i <= d_i <= w_i,

    where h is the support function of the set of weights. The weights are the multipliers of the
    constraints, the dual value is the lower bound. P is of the order of 1, and `weight` of sum 1;
    the rule is "nnls", "simplex" or "l1".
    """
    n, k = P.shape
    signed = np.hstack([P, -P]) if rule == "l1" and not positive else P
    # Rows: signed_j^T d <= t, with t = 0 for "nnls", free for "simplex", t >= 0 at cost radius for
    # "l1". The variables are d / w, so that all bounds are `low` and 1.
    rows = (signed * weight[:, None] * n).T
    cost, least, most = {
        "nnls": (0.0, 0.0, 0.0),
        "simplex": (1.0, None, None),
        "l1": (radius, 0.0, None),
    }[rule]
    solution = linprog(
        np.append(-weight * n * y, cost * n) / n,
        A_ub=np.column_stack([rows, np.full(len(rows), -float(n))]) / n,
        b_ub=np.zeros(len(rows)),
        bounds=[(low, 1.0)] * n + [(least, most)],
        method="highs",
    )
    if solution.status != 0:
        raise ValueError(f"The weights of smallest risk were not found: {solution.message}")
    v = np.maximum(-solution.ineqlin.marginals, 0.0)
    if rule == "simplex":
        v /= v.sum()
    v = v[:k] - v[k:] if len(v) > k else v
    residual = y - P @ v
    risk = float(weight @ np.maximum(low * residual, residual))
    return v, max(risk + float(solution.fun), 0.0)


# --- log-loss -----------------------------------------------------------------------------------

MAX_STEPS = 100
# The bound on the distance to the minimum, in nats, at which the steps end.
TARGET_GAP = 1e-10


class Mixture(Protocol):
    """What `best_mixture` asks of rows; F is the log-loss of a mixture of k candidates."""

    @property
    def k(self) -> int: ...

    def model(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-F'(v) and F''(v)."""
        ...

    def fall(self, v: np.ndarray, move: np.ndarray) -> float:
        """F(v) - F(v + move); -inf if a probability is not above 0."""
        ...


class MixtureRows:
    """Rows in memory: probabilities P > 0 (n, k) of their classes, and weights of sum 1."""

    def __init__(self, P: np.ndarray, weight: np.ndarray) -> None:
        self.P, self.weight, self.k = P, weight, P.shape[1]

    def model(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mixed = self.P @ v
        A = self.P * (np.sqrt(self.weight) / mixed)[:, None]
        return self.P.T @ (self.weight / mixed), A.T @ A

    def fall(self, v: np.ndarray, move: np.ndarray) -> float:
        mixed = self.P @ v
        moved = mixed + self.P @ move
        if not (moved > 0).all():
            return -np.inf
        return float(self.weight @ np.log(moved / mixed))


def best_mixture(rows: Mixture) -> tuple[np.ndarray, float]:
    """The mixture of smallest log-loss, and a bound on the distance to the minimum.

    With p_ij > 0 the probability that candidate j gives to the class of row i, and weights w of sum
    1, the risk is

        F(v) = -sum_i w_i log (P v)_i,    F'(v) = -P^T (w / P v),    F''(v) = A^T A,
        A = diag(sqrt(w) / P v) P.

    As A v = sqrt(w), the quadratic model of F at v is |A u - 2 sqrt(w)|^2 / 2 up to a constant: its
    minimum over the simplex is the same problem as that of the squared loss (Kim, Carbonetto,
    Stephens and Anitescu 2020 use such steps for mixtures). max_j (-F'(v))_j - 1 bounds F(v) - min
    F, since <-F'(v), v> = 1. O(n k^2) a step; about ten steps.
    """
    k = rows.k
    v = np.full(k, 1.0 / k)
    best, smallest = v, np.inf
    # The gap need not fall with the risk: the point with the smallest one is kept.
    for _ in range(MAX_STEPS):
        slope, hessian = rows.model(v)
        gap = max(float(slope.max()) - 1.0, 0.0)
        if gap < smallest:
            best, smallest = v, gap
        if gap <= TARGET_GAP:
            break

        # The minimum of the model, from columns with the inner products of 2 sqrt(w) - A_j, where
        # A^T sqrt(w) = -F'. The Gram matrix is enough here: the model is only a step, the gap is
        # measured at the point.
        gram = hessian - 2 * (slope[:, None] + slope) + 4.0
        values, vectors = np.linalg.eigh(gram)
        direction = nearest_in_hull(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T) - v

        # The first of the steps 1, 1/2, 1/4, ... that lowers the risk enough (Armijo).
        descent = float(slope @ direction)  # -F'(v; direction)
        if not descent > 0:
            break
        step = 1.0
        while step > 1e-12:
            if rows.fall(v, step * direction) >= 1e-4 * step * descent - 1e-15:
                break
            step /= 2
        else:
            break
        v = np.maximum(v + step * direction, 0.0)
    return best / best.sum(), smallest


def mixture_in_set(rows: Mixture, rule: str, radius: float) -> tuple[np.ndarray, float]:
    """The best mixture in a length that the set of a rule has, and its bound."""
    v, gap = best_mixture(rows)
    if rule == "l1":
        v = v * min(radius, 1.0)
    elif rule == "l2":
        v = v * min(radius / float(np.linalg.norm(v)), 1.0)
    return v, gap


# --- deviances ----------------------------------------------------------------------------------


def least_deviance_weights(
    P: np.ndarray, y: np.ndarray, weight: np.ndarray, risk: DevianceRisk
) -> tuple[np.ndarray, float]:
    """The weights of sum 1 of smallest risk F, and a bound on F(v) - min F for a convex loss.

    Steps of Fisher's scoring: at the means m = P v with derivatives d and h, the model of F is that
    of squared errors of P u to m - d / h, with the weights w h, whose minimum over the simplex is
    exact. The bound is that of Frank and Wolfe, max_j <F', v - e_j>.
    """
    k = P.shape[1]
    v = np.full(k, 1.0 / k)
    best, smallest = v, np.inf
    for _ in range(MAX_STEPS):
        m = P @ v
        d, h = risk.derivatives(y, m)
        slope = P.T @ (weight * d)
        gap = max(float(slope @ v - slope.min()), 0.0)
        if gap < smallest:
            best, smallest = v, gap
        if gap <= TARGET_GAP:
            break
        factor = residual_factor(P, m - d / h, weight * h / float(weight @ h))
        direction = least_squares_weights(factor, "simplex", 1.0, True) - v
        descent = -float(slope @ direction)
        if not descent > 0:
            break
        start, step = float(weight @ risk.value(y, m)), 1.0
        while step > 1e-12:
            moved = P @ (v + step * direction)
            if float(weight @ risk.value(y, moved)) <= start - 1e-4 * step * descent + 1e-15:
                break
            step /= 2
        else:
            break
        v = np.maximum(v + step * direction, 0.0)
        v /= v.sum()
    return best, smallest


# --- functions of the margin --------------------------------------------------------------------

# A smoothed hinge is left for a narrower one at a gap of this share of its width.
STAGE_SHARE = 0.1
MAX_BALL_STEPS = 500
# With a ridge of this size, in units of the slope, a linear model has a minimum in digits.
FLAT_RIDGE = 1e-7


def least_margin_weights(
    M: np.ndarray, weight: np.ndarray, phi: MarginFunction, rule: str, radius: float, positive: bool
) -> tuple[np.ndarray, float]:
    """The weights of smallest F(v) = sum_i w_i phi((M v)_i), and a bound on F(v) - min F.

    A Newton step goes towards the minimum of the quadratic model of F at v over the set: with F'' =
    L L^T it is the problem of squared error |L^T u - (L^T v - L^-1 F')|². The bound is the duality
    gap for the dual variables -phi', which for a smoothed hinge includes what that is below the
    hinge. Where F has no minimum, as "nnls" with separated classes, it bounds the distance to the
    infimum only if that is near for weights of twice the sum.

    O(n k^2) a step; about ten steps, a hundred for the hinge. Its narrow smoothings have little
    curvature but on the sphere of the l2 ball; elsewhere `least_hinge_weights` has exact solvers.
    """
    k = M.shape[1]
    v = np.full(k, (min(radius, 1.0) if rule in ("l1", "l2") else 1.0) / k)
    best, smallest = v, np.inf
    for stage in phi.smoothed():
        for _ in range(MAX_STEPS):
            m = M @ v
            a = -stage.slope(m)
            downhill = M.T @ (weight * a)
            own = linear_gap(downhill, v, rule, radius, positive)
            gap = own if stage is phi else own + float(weight @ phi.fenchel(m, a))
            if gap < smallest:
                best, smallest = v, gap
            if gap <= TARGET_GAP:
                return best, smallest
            if stage is not phi and own <= STAGE_SHARE * stage.width:
                break
            H = M.T @ ((weight * stage.curvature(m))[:, None] * M)
            if stage is not phi:  # which may have no curvature at all
                H += FLAT_RIDGE * np.linalg.norm(downhill) * np.eye(k)
            L = np.tril(factored(H)[0])
            target = L.T @ v + solve_triangular(L, downhill, lower=True, check_finite=False)
            model = np.column_stack([target[:, None] - L.T, target])
            direction = least_squares_weights(model, rule, radius, positive) - v
            step = line_search(stage, m, M @ direction, weight)
            if step == 0:
                break
            v = v + step * direction
    return best, smallest


def least_hinge_weights(
    M: np.ndarray, weight: np.ndarray, phi: MarginFunction, rule: str, radius: float, positive: bool
) -> tuple[np.ndarray, float]:
    """As `least_margin_weights`, for the hinge: exactly where it is a linear program."""
    ones = np.ones(len(M))
    if rule == "l2" and not positive:
        total = float(weight.sum())
        ball = L2Ball(radius)
        problem = BallProblem(M, ones, weight / total, phi, ball, fit_intercept=False)
        point = solve_in_ball(problem, TARGET_GAP, MAX_BALL_STEPS)
        return point.beta, total * point.gap
    cone = "nnls" if rule == "l2" else rule
    v, gap = least_absolute_weights(M, ones, weight, cone, radius, positive, low=0.0)
    if rule != "l2" or np.linalg.norm(v) <= radius:
        return v, gap
    return least_margin_weights(M, weight, phi, rule, radius, positive)


# --- selection by any loss or metric ------------------------------------------------------------

# A risk that is lower by less than this share is as good: the earlier choice is kept.
SMALLEST_GAIN = 1e-12

Score = Callable[[np.ndarray, np.ndarray], float]  # (mixed predictions, rows) -> higher is better


def greedy_weights(
    risk: HeldOutRisk,
    score: Score | None,
    *,
    n_selections: int,
    n_bags: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Forward selection with replacement (Caruana et al. 2004): shares of the selections.

    Each selection adds the candidate with which the mean of the selected is best by the score, or
    the risk; the best mean on the way is kept. With several bags, each selects from half of the
    candidates, drawn at random, and the shares are averaged.
    """
    P = risk.predictions if score is None else risk.given
    n, k = P.shape[:2]
    bags = [np.arange(k)]
    if n_bags > 1:
        bags = [np.sort(rng.permutation(k)[: (k + 1) // 2]) for _ in range(n_bags)]
    shares = []
    for allowed in bags:
        total, counts = np.zeros_like(P[:, 0]), np.zeros(k)
        best, best_value = counts, -np.inf
        # A longer sequence may be worse: the best of the means on the way is kept.
        for count in range(n_selections):
            if score is None:
                mixed = (total[:, None] + P) / (count + 1)
                values = -(risk.weight @ risk.losses(mixed))[allowed]
            else:
                every = np.arange(n)
                values = np.array([score((total + P[:, j]) / (count + 1), every) for j in allowed])
            chosen = allowed[int(np.argmax(values))]
            counts = counts.copy()
            counts[chosen] += 1
            total = total + P[:, chosen]
            if count == 0 or values.max() > best_value + SMALLEST_GAIN * abs(best_value):
                best, best_value = counts, values.max()
        shares.append(best / best.sum())
    return np.mean(shares, axis=0) if n_bags > 1 else shares[0]


# --- the tandem bound on the error of a vote ----------------------------------------------------
# The bound [Masegosa et al., 2020] is 4 U(q, e) with q = rho' L rho the mean tandem loss,
# e = (2 KL(rho || uniform) + ...)/n and U the inverse of kl, which grows with both. L is the Gram
# matrix of the losses of the same rows, so that q and KL are convex in rho: weights that minimise
# the bound minimise q + c KL for some c.

# Probability of failure of the bound that is minimised; the weights hardly depend on it.
DELTA = 0.05
# How far q + c KL may be from its minimum, in units of the losses, and most steps to there.
TANDEM_GAP, NEWTON_STEPS = 1e-10, 100
# The c that are tried first, in units of 1/n, from nearly equal weights on.
SCALES = np.logspace(3, -2, 11)


def tandem_weights(tandem: np.ndarray, n_samples: int) -> tuple[np.ndarray, float]:
    """Weights of the smallest tandem bound, and a limit of what q + c KL is above its minimum.

    `tandem` has the mean products of the losses of two members on the same `n_samples` rows.
    """
    n_members = len(tandem)

    def bound(rho: np.ndarray) -> tuple[float, float]:
        """q, and the inverse of kl."""
        q = max(float(rho @ tandem @ rho), 1e-12)
        divergence = 2 * float(rel_entr(rho, 1 / n_members).sum())
        epsilon = (divergence + math.log(2 * math.sqrt(n_samples) / DELTA)) / n_samples
        return q, float(kl_inverse(min(q, 1.0), epsilon))

    # One optimum after the other, from large c to small ones; the bound need not be convex in c.
    logs = np.zeros(n_members)
    best, best_logs = math.inf, logs
    for c in SCALES / n_samples:
        logs, _ = entropic_minimum(tandem, c, logs)
        value = bound(softmax(logs))[1]
        if value < best:
            best, best_logs = value, logs
    # U is concave, and so below its tangent, which weighs q and KL by its slopes: minimising the
    # tangent never increases the bound.
    logs, gap = best_logs, 0.0
    for _ in range(50):
        q, p = bound(softmax(logs))
        if not q < p < 1:
            break
        c = 2 / (n_samples * math.log(p * (1 - q) / (q * (1 - p))))
        logs, gap = entropic_minimum(tandem, c, logs)
        if p - bound(softmax(logs))[1] <= 1e-12:
            break
    return softmax(logs), gap


def entropic_minimum(tandem: np.ndarray, c: float, logs: np.ndarray) -> tuple[np.ndarray, float]:
    """Logarithms of the weights that minimise rho' L rho + c sum rho ln rho, and the gap.

    The gap is that of Frank and Wolfe, gradient' rho - min gradient: a convex function is at most
    so much above its minimum over the simplex.
    """

    def value(logs: np.ndarray) -> float:
        rho = softmax(logs)
        return float(rho @ tandem @ rho + c * rel_entr(rho, 1.0).sum())

    gap = math.inf
    for _ in range(NEWTON_STEPS):
        logs = logs - logs.max()
        logs = logs - math.log(np.exp(logs).sum())
        rho = np.exp(logs)
        gradient = 2 * tandem @ rho + c * logs
        gap = float(gradient @ rho - gradient.min())
        if gap <= TANDEM_GAP:
            break
        # Newton's step for the logarithms, by which weights of any size are reached: for those
        # that are nearly 0 the gradient is nearly linear in them.
        slopes = np.diag(rho) - np.outer(rho, rho)
        step = np.linalg.solve(
            c * np.eye(len(rho)) + 2 * tandem @ slopes, gradient @ rho - gradient
        )
        descent, start, size = float(gradient @ slopes @ step), value(logs), 1.0
        while value(logs + size * step) > start + 0.25 * size * descent and size > 1e-6:
            size /= 2
        logs = logs + size * step
    return logs, gap


# --- what weights make of predictions -------------------------------------------------------------


def weighted_sums(weights: np.ndarray, tables: list[Any]) -> list[np.ndarray]:
    """For each output, the weighted sums of the members' predictions."""
    return [np.tensordot(table, v, (1, 0)) for table, v in zip(tables, np.atleast_2d(weights))]


def probabilities_of(
    sums: list[np.ndarray], weights: np.ndarray, link: MarginFunction | None
) -> list[np.ndarray]:
    """For each output, the probabilities that weighted sums of probabilities stand for."""
    tables = []
    for scores, v in zip(sums, np.atleast_2d(weights)):
        if link is not None:
            scores = link.probability(2 * scores - v.sum())
        # Weighted sums are no probabilities where weights are negative or do not sum to 1.
        scores = np.maximum(scores, 0.0)
        total = scores.sum(axis=1, keepdims=True)
        equal = np.full_like(scores, 1.0 / scores.shape[1])
        tables.append(np.divide(scores, total, out=equal, where=total > 0))
    return tables
