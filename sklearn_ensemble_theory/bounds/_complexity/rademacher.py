"""Empirical Rademacher complexities, exactly or by simulation [Shah, §2.4, §3.5 and §3.6]."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.bounds._arguments import check_number, checked_rows, power_near_largest

__all__ = [
    "empirical_rademacher_complexity",
    "l1_ball_rademacher_complexity",
    "l2_ball_rademacher_complexity",
    "stump_rademacher_complexity",
]

# All 2^n vectors of signs are enumerated up to this number of points.
MOST_ENUMERATED = 16
# Numbers in the largest array of a chunk of sign vectors.
CHUNK = 1 << 22


def empirical_rademacher_complexity(
    behaviours: ArrayLike,
    *,
    n_draws: int = 10_000,
    random_state: RandomStateLike = None,
    return_std: bool = False,
) -> Any:
    """Empirical Rademacher complexity of finitely many behaviours on given points.

    It is the expectation of max_f (1/n) sum_i e_i f(z_i) over independent signs e_i
    [Shah, eq. (2.8)]: how well some function of the class agrees with random labels. Up to 16
    points it is computed exactly, over all signs, and otherwise as the mean over random signs.

    Parameters
    ----------
    behaviours : array-like of shape (n_functions, n_points)
        The values (f(z_1), ..., f(z_n)), a row for each function. The values of an infinite class
        may be replaced by those whose convex hull they are in [Shah, lemma 21].

    n_draws : int, default=10_000
        Number of draws of the signs for more than 16 points, at least 2.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    return_std : bool, default=False
        Whether the standard error of the mean over the draws is returned too; 0 for the exact
        value.

    Returns
    -------
    complexity : float
        The complexity, in units of the functions; a simulated mean below 0 is replaced by 0.

    std : float
        The standard error, if `return_std` is True.

    Raises
    ------
    ValueError
        If `behaviours` is not a finite array of two dimensions, or `n_draws` is below 2.

    See Also
    --------
    finite_behaviours_rademacher_bound : A bound by the number of behaviours.
    stump_rademacher_complexity : Of decision stumps, without a list of their behaviours.

    Notes
    -----
    The misclassification losses of classifiers with values -1 and 1 have half their complexity. The
    cost is O(n k) for each draw or vector of signs, with k functions; the memory is bounded.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    Two points that are shattered, and then only two of the four behaviours:

    >>> from sklearn_ensemble_theory.bounds import empirical_rademacher_complexity
    >>> empirical_rademacher_complexity([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    1.0
    >>> empirical_rademacher_complexity([[-1, -1], [1, 1]])
    0.5
    """
    rows = checked_rows("behaviours", behaviours)
    n, scale = rows.shape[1], power_near_largest(rows)

    def supremum(signs: np.ndarray) -> np.ndarray:
        return np.asarray((signs @ (rows / scale).T).max(axis=1) / n * scale)

    return _expected_supremum(supremum, n, len(rows), n_draws, random_state, return_std)


def stump_rademacher_complexity(
    X: ArrayLike,
    *,
    n_draws: int = 10_000,
    random_state: RandomStateLike = None,
    return_std: bool = False,
) -> Any:
    """Empirical Rademacher complexity of decision stumps on given points.

    The stumps are sgn(x_j - a) and sgn(a - x_j), for all features j and thresholds a
    [Shah, §4.2]. For each vector of signs the supremum over them is exact: it is the largest
    absolute value of S - 2 C over all cumulative sums C of the signs sorted by a feature, where S
    is their sum, divided by n.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points.

    n_draws : int, default=10_000
        Number of draws of the signs for more than 16 points, at least 2; up to 16 points all
        signs are enumerated.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    return_std : bool, default=False
        Whether the standard error of the mean over the draws is returned too; 0 for the exact
        value.

    Returns
    -------
    complexity : float
        The complexity, from 0 to 1.

    std : float
        The standard error, if `return_std` is True.

    Raises
    ------
    ValueError
        If `X` is not a finite array of two dimensions, or `n_draws` is below 2.

    See Also
    --------
    stump_behaviours : The list of the behaviours.

    Notes
    -----
    It is also the complexity of the convex hull, the votes of stumps with weights of sum at most 1
    [Shah, lemma 21], and times D of boosted stumps of variation norm at most D
    [Bach, eq. (10.14)]. The cost is O(n p) for each draw, after a sort of each feature.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_rademacher_complexity
    >>> round(stump_rademacher_complexity([[1.0], [2.0], [3.0], [4.0]]), 4)
    0.75
    """
    X = checked_rows("X", X)
    n = len(X)
    order = np.argsort(X, axis=0, kind="stable")
    columns = []
    for j, rows in enumerate(order.T):
        x = X[rows, j]
        columns.append((rows, np.flatnonzero(np.append(x[1:] > x[:-1], True))))

    def supremum(signs: np.ndarray) -> np.ndarray:
        total = signs.sum(axis=1)
        best = np.abs(total)
        for rows, ends in columns:
            sums = np.cumsum(signs[:, rows], axis=1)[:, ends]
            best = np.maximum(best, np.abs(total[:, None] - 2 * sums).max(axis=1))
        return np.asarray(best / n)

    return _expected_supremum(supremum, n, n, n_draws, random_state, return_std)


def l1_ball_rademacher_complexity(
    X: ArrayLike,
    radius: float = 1.0,
    *,
    n_draws: int = 10_000,
    random_state: RandomStateLike = None,
    return_std: bool = False,
) -> Any:
    """Empirical Rademacher complexity of linear functions of bounded l1 norm on given points.

    The functions are x'beta with an l1 norm of beta of at most lambda. The complexity is
    (lambda/n) E max_j |sum_i e_i x_ij|, that of the 2p vertices of the ball [Shah, §3.6]. With the
    outputs of weak learners as columns it is that of boosted functions whose variation norm is at
    most lambda [Bach, eq. (10.14)].

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points.

    radius : float, default=1.0
        The largest norm lambda, at least 0.

    n_draws : int, default=10_000
        Number of draws of the signs for more than 16 points, at least 2; up to 16 points all
        signs are enumerated.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    return_std : bool, default=False
        Whether the standard error of the mean over the draws is returned too; 0 for the exact
        value.

    Returns
    -------
    complexity : float
        The complexity, in units of x'beta.

    std : float
        The standard error, if `return_std` is True.

    Raises
    ------
    ValueError
        If `X` is not a finite array of two dimensions, or another parameter is outside its range.

    See Also
    --------
    l1_ball_rademacher_bound : A bound that needs no points.

    Notes
    -----
    The cost is O(n p) for each draw.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l1_ball_rademacher_complexity
    >>> l1_ball_rademacher_complexity([[1.0, 2.0], [1.0, 0.0]], radius=3.0)
    3.0
    """
    return _ball_complexity(X, radius, np.inf, n_draws, random_state, return_std)


def l2_ball_rademacher_complexity(
    X: ArrayLike,
    radius: float = 1.0,
    *,
    n_draws: int = 10_000,
    random_state: RandomStateLike = None,
    return_std: bool = False,
) -> Any:
    """Empirical Rademacher complexity of linear functions of bounded l2 norm on given points.

    The functions are x'beta with a Euclidean norm of beta of at most lambda. The complexity is
    (lambda/n) E ||sum_i e_i x_i|| [Shah, §3.5].

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points.

    radius : float, default=1.0
        The largest norm lambda, at least 0.

    n_draws : int, default=10_000
        Number of draws of the signs for more than 16 points, at least 2; up to 16 points all
        signs are enumerated.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    return_std : bool, default=False
        Whether the standard error of the mean over the draws is returned too; 0 for the exact
        value.

    Returns
    -------
    complexity : float
        The complexity, in units of x'beta.

    std : float
        The standard error, if `return_std` is True.

    Raises
    ------
    ValueError
        If `X` is not a finite array of two dimensions, or another parameter is outside its range.

    See Also
    --------
    l2_ball_rademacher_bound : A bound that needs no points.

    Notes
    -----
    It is at most lambda sqrt(sum_i ||x_i||²) / n, and at least 1 / sqrt(2) of that, by the
    inequality of Khintchine and Kahane. The cost is O(n p) for each draw.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    Orthogonal points, for which the bound lambda C / sqrt(n) is attained:

    >>> from sklearn_ensemble_theory.bounds import l2_ball_rademacher_complexity
    >>> l2_ball_rademacher_complexity([[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]])
    1.0
    """
    return _ball_complexity(X, radius, 2, n_draws, random_state, return_std)


def _ball_complexity(
    X: ArrayLike,
    radius: float,
    dual_norm: float,
    n_draws: int,
    random_state: RandomStateLike,
    return_std: bool,
) -> Any:
    X = checked_rows("X", X)
    check_number("radius", radius, 0)
    (n, p), scale = X.shape, power_near_largest(X)

    def supremum(signs: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(signs @ (X / scale), dual_norm, axis=1)
        with np.errstate(over="ignore"):
            return np.asarray(norms / n * scale * radius)

    return _expected_supremum(supremum, n, p, n_draws, random_state, return_std)


def _expected_supremum(
    supremum: Callable[[np.ndarray], np.ndarray],
    n: int,
    width: int,
    n_draws: int,
    random_state: RandomStateLike,
    return_std: bool,
) -> Any:
    """The mean of a function of n independent signs, for rows of signs; with its standard error.

    `width` is the number of columns of the largest array that the function makes.
    """
    check_number("n_draws", n_draws, 2, integral=True)
    rng = check_random_state(random_state)
    exact = n <= MOST_ENUMERATED
    n_rows = 2**n if exact else n_draws
    size = max(1, CHUNK // max(n, width))
    values = []
    for start in range(0, n_rows, size):
        stop = min(start + size, n_rows)
        if exact:
            bits = np.arange(start, stop)[:, None] >> np.arange(n) & 1
        else:
            bits = rng.randint(0, 2, (stop - start, n))
        values.append(supremum(2.0 * bits - 1.0))
    found = np.concatenate(values)
    if np.isinf(found).any():
        return (np.inf, np.inf) if return_std else np.inf
    scale = power_near_largest(found)
    # Rounding, or the draws, may leave a mean below 0.
    mean = max(0.0, float((found / scale).mean() * scale))
    std = 0.0 if exact else float((found / scale).std(ddof=1) * scale / np.sqrt(n_rows))
    return (mean, std) if return_std else mean
