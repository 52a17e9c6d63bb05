"""Projected descent: the mean of iterates of subgradient steps [Shah, algorithms 1 and 2]."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._running import called
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.bounds._arguments import check_integer, check_number, checked_numbers

from .balls import Ball, l1_projection, l2_projection, simplex_projection

# The projection onto each set, and its diameter for a radius of 1.
SETS: dict[str, tuple[Callable[[np.ndarray, float], np.ndarray], float]] = {
    "l1": (l1_projection, 2.0),
    "l2": (l2_projection, 2.0),
    "simplex": (simplex_projection, float(np.sqrt(2))),
}
# Squares of lengths in this range neither overflow nor vanish.
SMALLEST_LENGTH, LARGEST_LENGTH = 1e-150, 1e150


class Descent(NamedTuple):
    """What a further step needs to know.

    - x: the last iterate; `sum_x` and `sum_weight` are sums of those before it and of their
      weights.
    - sum_squares: sum of |g_s|² of all gradients so far.
    """

    x: np.ndarray
    sum_x: np.ndarray
    sum_weight: float
    sum_squares: float
    n_steps: int

    @classmethod
    def first(cls, x: np.ndarray) -> "Descent":
        return cls(x, np.zeros(len(x)), 0.0, 0.0, 0)

    @property
    def mean(self) -> np.ndarray:
        """The mean of the iterates."""
        return self.sum_x / self.sum_weight if self.sum_weight else self.x


def descend(
    state: Descent,
    gradient: Callable[[np.ndarray, Any], np.ndarray],
    project: Callable[[np.ndarray], np.ndarray],
    step: Callable[[int, float], float],
    samples: Iterable[Any],
    weight: np.ndarray | None = None,
) -> Descent:
    """One step for each sample; `step` gets its number and the sum of |g|² so far.

    `weight` are those of the iterates in the mean, and factors of the losses whose gradients these
    are; None is 1.
    """
    x, sum_x, total, squares, first = state.x, state.sum_x.copy(), *state[2:]
    s = first
    for s, u in enumerate(samples, first + 1):
        w = 1.0 if weight is None else weight[s - first - 1]
        sum_x += w * x
        total += w
        g = gradient(x, u)
        square = float(g @ g)
        if square > 0:  # the point stays where it is in the set otherwise
            squares += square
            x = project(x - step(s, squares) * g)
    return Descent(x, sum_x, total, squares, s)


def onto_product(ball: Ball, reach: float) -> Callable[[np.ndarray], np.ndarray]:
    """The projection of (beta, b) onto |beta| <= lambda and |b| <= reach, in place."""

    def project(x: np.ndarray) -> np.ndarray:
        x[:-1] = ball.project(x[:-1])
        x[-1] = min(max(x[-1], -reach), reach)
        return x

    return project


@documented()
def projected_gradient_descent(
    gradient: Callable[..., ArrayLike],
    start: ArrayLike,
    step_size: ArrayLike | Callable[[int], float] | Literal["adaptive"],
    n_iter: int,
    *,
    constraint: Literal["l1", "l2", "simplex"] | None = None,
    radius: float = 1.0,
    samples: Iterable[Any] | None = None,
) -> Bunch:
    """Minimise a convex function over a set by the mean of projected subgradient steps.

    With pi the projection onto the set, eta_s the step sizes and g_s a subgradient at beta_s,

        beta_{s+1} = pi(beta_s - eta_s g_s),    result = (beta_1 + ... + beta_k) / k,

    is (projected) gradient descent [Shah, algorithm 1], and with a g_s that has the expectation of
    a subgradient, such as the gradient of the loss of a random row, stochastic gradient descent
    [Shah, algorithm 2].

    Parameters
    ----------
    gradient : callable
        ``gradient(beta)`` returns a subgradient, of shape (p,), at the read-only beta. With
        `samples`, ``gradient(beta, u)`` returns one of the function for the sample u.
    start : array-like of shape (p,)
        beta_1; projected onto the set if it is not in it.
    step_size : float, array-like of shape (n_iter,), callable or "adaptive"
        eta_s > 0: the same for all steps, one for each step, or a function of s = 1, 2, ....
        "adaptive" is D / sqrt(2 (|g_1|² + ... + |g_s|²)), with D the diameter of the set, which
        depends on neither k nor L. The last one only counts for `last` and `bound`.
    n_iter : int
        k, the number of iterates in the mean, at least 1.
    constraint : {"l1", "l2", "simplex"} or None, default=None
        The set: a ball of this norm around 0, the simplex of non-negative vectors with the sum
        `radius`, or all vectors.
    radius : float, default=1.0
        The radius of the ball or the sum, from 1e-150 to 1e150. Not used with None.
    samples : iterable, default=None
        u_1, ..., u_k, such as the numbers of random rows. None for a gradient without samples.

    Returns
    -------
    Bunch
        `mean`, of shape (p,): the result. `last`, of shape (p,): beta_{k+1}. `gradient_norms`, of
        shape (k,): |g_s|. `bound`: the value at `mean` is at most this above the minimum over the
        set, with `samples` in expectation; inf with ``constraint=None``.

    Raises
    ------
    TypeError
        If `gradient` is not callable, or `samples` is not an iterable.
    ValueError
        If an argument is outside of its range, there are too few samples, or "adaptive" is given
        without a set. If a gradient, a step or an iterate is not finite or of another shape. If the
        largest entry of a gradient is not 0 and outside of 1e-150 to 1e150.

    See Also
    --------
    BallConstrainedClassifier : These algorithms for linear classifiers, with an intercept.
    project_l1_ball, project_l2_ball, project_simplex : The projections.

    Notes
    -----
    Suppose that no point of the set is longer than R and no subgradient longer than L (or in the
    mean square over the samples). Then eta = 2R / (L sqrt(k)) for all steps gives an excess of at
    most 2 L R / sqrt(k) [Shah, theorems 26 and 27]. `bound` is from the same proof, for any step
    sizes and the gradients that occurred: with D the diameter of the set, 2R for balls, it is

        (D²/2 (1/eta_1 + sum_{s > 1} (1/eta_s - 1/eta_{s-1})+) + sum_s eta_s |g_s|²/2) / k.

    A step costs a gradient and O(p), or O(p log p) for the l1 ball and the simplex. A gradient of 0
    moves nothing.

    %(references_Shah)s

    Examples
    --------
    The absolute loss of a linear function with coefficients in a ball; all rows, and one at a time:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.erm import projected_gradient_descent
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 3))
    >>> y = X @ [0.6, -0.3, 0.0] + 0.1 * rng.standard_normal(200)
    >>> def risk(beta):
    ...     return np.mean(abs(X @ beta - y))
    >>> def of_all(beta):
    ...     return X.T @ np.sign(X @ beta - y) / 200
    >>> def of_row(beta, i):
    ...     return X[i] * np.sign(X[i] @ beta - y[i])
    >>> found = projected_gradient_descent(
    ...     of_all, np.zeros(3), "adaptive", 1_000, constraint="l2"
    ... )
    >>> round(float(risk(found.mean)), 2), round(found.bound, 2)
    (0.08, 0.01)
    >>> found = projected_gradient_descent(
    ...     of_row, np.zeros(3), 0.05, 1_000, constraint="l1", samples=rng.integers(200, size=1_000)
    ... )
    >>> round(float(risk(found.mean)), 2), round(found.bound, 2)
    (0.08, 0.06)
    """
    if not callable(gradient):
        raise TypeError(f"gradient must be a function, got {type(gradient).__name__}.")
    check_integer("n_iter", n_iter, 1)
    if constraint is not None and constraint not in list(SETS):
        raise ValueError(f"constraint must be None or one of {sorted(SETS)}, got {constraint!r}.")
    check_number("radius", radius, SMALLEST_LENGTH, LARGEST_LENGTH)
    x = checked_numbers("start", start)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"start must be a vector, got shape {x.shape}.")
    if samples is not None and not isinstance(samples, Iterable):
        raise TypeError(f"samples must be an iterable, got {type(samples).__name__}.")
    n_iter = int(n_iter)
    project, diameter = _no_projection, np.inf
    if constraint is not None:
        onto, width = SETS[constraint]
        project, diameter = (lambda v: onto(v, float(radius))), width * float(radius)
    sizes = _step_sizes(step_size, n_iter, diameter)
    squares, inverse = np.zeros(n_iter), 0.0
    spent, previous = 0.0, 0.0
    s = 0

    def checked_gradient(beta: np.ndarray, u: Any) -> np.ndarray:
        nonlocal s
        s += 1
        beta = beta.view()  # which the function must not change
        beta.flags.writeable = False
        found = called("gradient", gradient, *([beta] if samples is None else [beta, u]))
        g = checked_numbers(f"gradient in step {s}", found)
        if g.shape != x.shape:
            raise ValueError(f"gradient must return {len(x)} finite numbers, got shape {g.shape}.")
        size = np.abs(g).max()
        if size > 0 and not SMALLEST_LENGTH <= size <= LARGEST_LENGTH:
            raise ValueError(f"gradient in step {s} has entries of size {size:.3g}; scale it.")
        squares[s - 1] = g @ g
        return g

    def checked_step(number: int, sum_squares: float) -> float:
        # Sums of the bound: the increases of 1/eta and eta |g|².
        nonlocal inverse, spent, previous
        found = checked_numbers(f"step_size in step {number}", sizes(number, sum_squares))
        if found.shape != () or not (found > 0 and 1 / float(found) < np.inf):
            raise ValueError(f"step_size in step {number} must be a number above 0, got {found}.")
        eta = float(found)
        inverse += max(1 / eta - previous, 0.0)
        previous = 1 / eta
        spent += eta * squares[number - 1]
        return eta

    rounds: Iterable[Any] = range(n_iter)
    if samples is not None:
        rounds = (u for _, u in zip(range(n_iter), samples))
    with np.errstate(over="ignore", invalid="ignore"):
        state = descend(Descent.first(project(x)), checked_gradient, project, checked_step, rounds)
    if state.n_steps < n_iter:
        raise ValueError(f"samples has {state.n_steps} elements; n_iter={n_iter} needs as many.")
    if not (np.isfinite(state.mean).all() and np.isfinite(state.x).all()):
        raise ValueError("The steps leave the range of numbers; use a smaller step_size.")
    bound = (diameter**2 / 2 * inverse + spent / 2) / n_iter if inverse else 0.0
    return Bunch(mean=state.mean, last=state.x, gradient_norms=np.sqrt(squares), bound=float(bound))


def _no_projection(v: np.ndarray) -> np.ndarray:
    return v


def _step_sizes(step_size: Any, n_iter: int, diameter: float) -> Callable[[int, float], float]:
    """The step size by the number of the step and the sum of |g|² so far."""
    if isinstance(step_size, str):
        if step_size != "adaptive":
            raise ValueError(f"step_size must be numbers or 'adaptive', got {step_size!r}.")
        if not np.isfinite(diameter):
            raise ValueError("step_size='adaptive' needs a constraint, which bounds the set.")
        return lambda s, sum_squares: diameter / np.sqrt(2 * sum_squares)
    if callable(step_size):
        return lambda s, sum_squares: called("step_size", step_size, s)
    sizes = checked_numbers("step_size", step_size, 0, open_low=True)
    if sizes.shape not in ((), (n_iter,)):
        raise ValueError(f"step_size must be a number, or {n_iter} of them, got {step_size!r}.")
    sizes = np.broadcast_to(sizes, n_iter)
    return lambda s, sum_squares: sizes[s - 1]
