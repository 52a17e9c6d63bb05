"""L2-boosting of a linear learner on the eigenvalues of its matrix [Dombry and Esstafa, §2].

The residuals of boosting with learning rate lambda are (I - lambda S)^m Y~ after m rounds, and
exp(-t S) Y~ at time t = lambda m in the limit of small rates: functions of the eigenvalues mu of S.
"""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)

__all__ = [
    "l2_boosting_decay_rate",
    "l2_boosting_residual_filter",
    "l2_boosting_training_error_bound",
    "l2_boosting_weight_filter",
    "n_rounds",
    "phi_1",
    "residual_filter",
    "square_matrix",
    "weight_filter",
]


def l2_boosting_residual_filter(
    eigenvalues: ArrayLike, times: ArrayLike, learning_rate: float = 0.0
) -> Any:
    """The share of an eigenvector's component of y that boosting has not fitted.

    It is (1 - lambda mu)^m with m = floor(t / lambda) rounds [Dombry and Esstafa, proposition 2.2],
    and exp(-t mu) in the limit of small learning rates [Dombry and Esstafa, proposition 2.5].

    Parameters
    ----------
    eigenvalues : array-like
        Eigenvalues mu of the matrix S of the learner, real.
    times : array-like
        Times t of boosting, not negative.
    learning_rate : float in [0, 1], default=0.0
        lambda; 0 is the limit.

    Returns
    -------
    share : float or ndarray of shape eigenvalues.shape + times.shape
        The factor of the component in the residuals. 1 minus it is the coefficient of the smoothed
        projection [Dombry and Esstafa, eq. (27)].

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    l2_boosting_weight_filter : The same for the weights of the learner's outputs.

    Notes
    -----
    S need not be symmetric, but diagonalisable. The cost is O(n_eigenvalues * n_times).

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_residual_filter
    >>> l2_boosting_residual_filter([1.0, 0.1], [0, 1, 10], learning_rate=0.5).round(4)
    array([[1.    , 0.25  , 0.    ],
           [1.    , 0.9025, 0.3585]])
    >>> l2_boosting_residual_filter([1.0, 0.1], 10).round(4)
    array([0.    , 0.3679])
    """
    mu, t = _checked_spectrum(eigenvalues, times, learning_rate)
    values = residual_filter(mu.ravel(), t.ravel(), learning_rate)
    return as_result(values.reshape(mu.shape + t.shape))


def l2_boosting_weight_filter(
    eigenvalues: ArrayLike, times: ArrayLike, learning_rate: float = 0.0
) -> Any:
    """The factor by which boosting maps an eigenvector's component of y to the weights.

    The boosted function is the mean plus sum_i w_i g_i, with g_i the learner's fit to the unit
    vector i. Along an eigenvector w is (1 - e)/mu times the component of y, where e is
    `l2_boosting_residual_filter` [Dombry and Esstafa, corollary 2.6].

    Parameters
    ----------
    eigenvalues : array-like
        Eigenvalues mu of the matrix S of the learner, real.
    times : array-like
        Times t of boosting, not negative.
    learning_rate : float in [0, 1], default=0.0
        lambda; 0 is the limit.

    Returns
    -------
    factor : float or ndarray of shape eigenvalues.shape + times.shape
        The factor; at mu = 0 the limit, t or lambda floor(t / lambda).

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    Computed without cancellation for small mu. The cost is O(n_eigenvalues * n_times).

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_weight_filter
    >>> l2_boosting_weight_filter([1.0, 0.0], [1, 10]).round(4)
    array([[ 0.6321,  1.    ],
           [ 1.    , 10.    ]])
    """
    mu, t = _checked_spectrum(eigenvalues, times, learning_rate)
    values = weight_filter(mu.ravel(), t.ravel(), learning_rate)
    return as_result(values.reshape(mu.shape + t.shape))


def l2_boosting_decay_rate(matrix: ArrayLike) -> float:
    """The exponential rate at which the training error of boosting decreases for the worst y.

    It is r = 2 min Re(mu) over the eigenvalues mu of S: the largest training error over y of a
    given length is exp(-r t), up to powers of t. The training error tends to 0 for every y if and
    only if r is positive [Dombry and Esstafa, proposition 2.12 i)].

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        S, which maps y to the fitted values of the learner.

    Returns
    -------
    rate : float
        r, per unit of time. Negative for an unstable learner, whose training error grows.

    Raises
    ------
    ValueError
        If `matrix` is not square, or not finite.

    Notes
    -----
    Powers of t up to 2 (s - 1) come with a Jordan block of size s. The eigenvalues of smoothers
    decrease fast, so that r is often so small that the limit is never seen. The cost is O(n³).

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_decay_rate
    >>> l2_boosting_decay_rate([[0.75, 0.25], [0.25, 0.75]])  # eigenvalues 1 and 1/2
    1.0
    """
    S = square_matrix("matrix", matrix)
    return 2.0 * float(scipy.linalg.eigvals(S, check_finite=False).real.min())


@in_floats
def l2_boosting_training_error_bound(
    eigenvalues: ArrayLike, times: ArrayLike, learning_rate: float = 0.0
) -> Any:
    """Bound on the share of the training error that is left, for a symmetric S.

    It is max_j exp(-2 t mu_j), or max_j (1 - lambda mu_j)^(2 m), for the training error as for its
    expectation [Dombry and Esstafa, proposition 2.12 iii)].

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        All eigenvalues of S, real.
    times : array-like
        Times t of boosting, not negative.
    learning_rate : float in [0, 1], default=0.0
        lambda; 0 is the limit.

    Returns
    -------
    bound : float or ndarray of the shape of times
        Of the training error divided by that at time 0.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    It is attained where y is its mean plus an eigenvector of the least eigenvalue.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_training_error_bound
    >>> l2_boosting_training_error_bound([1.0, 0.5, 6e-6], [1, 50]).round(4)
    array([1.    , 0.9994])
    """
    mu = checked_numbers("eigenvalues", eigenvalues)
    if mu.ndim != 1 or not mu.size:
        raise ValueError("eigenvalues must be one-dimensional, and at least one.")
    filters = np.asarray(l2_boosting_residual_filter(mu, times, learning_rate))
    return as_result(np.max(filters**2, axis=0))


def square_matrix(name: str, value: ArrayLike) -> np.ndarray:
    """A square matrix of finite numbers; a ValueError otherwise."""
    matrix = checked_numbers(name, value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}.")
    return matrix


def _checked_spectrum(
    eigenvalues: ArrayLike, times: ArrayLike, learning_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    check_number("learning_rate", learning_rate, 0, 1)
    return checked_numbers("eigenvalues", eigenvalues), checked_numbers("times", times, 0.0)


LARGEST_NUMBER = 2.0**62


def n_rounds(times: ArrayLike, learning_rate: float) -> np.ndarray:
    """floor(t / lambda) as integers, for t and lambda written in decimals: 0.3 / 0.1 is 3."""
    with np.errstate(over="ignore"):
        ratio = np.minimum(np.asarray(times, dtype=np.float64) / learning_rate, LARGEST_NUMBER)
    return np.floor(ratio * (1.0 + 4e-16) + 1e-12 * np.minimum(ratio, 1.0)).astype(np.int64)


def phi_1(z: ArrayLike) -> np.ndarray:
    """(exp(z) - 1) / z, and 1 at z = 0."""
    z = np.asarray(z)
    return np.divide(np.expm1(z), z, out=np.ones_like(z), where=z != 0)


def residual_filter(mu: np.ndarray, times: ArrayLike, learning_rate: float = 0.0) -> np.ndarray:
    """exp(-t mu) or (1 - lambda mu)^m: shape (len(mu), len(times))."""
    mu, times = np.asarray(mu)[:, None], np.asarray(times, dtype=np.float64)[None, :]
    with np.errstate(over="ignore", under="ignore"):
        if learning_rate == 0:
            return np.exp(-mu * times)
        return (1.0 - learning_rate * mu) ** n_rounds(times, learning_rate).astype(np.float64)


def weight_filter(mu: np.ndarray, times: ArrayLike, learning_rate: float = 0.0) -> np.ndarray:
    """(1 - residual_filter) / mu without cancellation: shape (len(mu), len(times))."""
    mu, times = np.asarray(mu)[:, None], np.asarray(times, dtype=np.float64)[None, :]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if learning_rate == 0:
            return times * phi_1(-mu * times)
        m = n_rounds(times, learning_rate).astype(np.float64)
        step = learning_rate * mu
        small = np.abs(step) < 0.5
        # m log(1 - lambda mu), and powers where the logarithm is inaccurate or does not exist.
        near = -np.expm1(m * _log1p(-np.where(small, step, 0.0)))
        far = 1.0 - (1.0 - step) ** m
        numerator = np.where(small, near, far)
        return np.divide(numerator, mu, out=m * learning_rate + 0 * numerator, where=mu != 0)


def _log1p(z: np.ndarray) -> np.ndarray:
    """log(1 + z); for complex z NumPy's log1p rounds 1 + z first."""
    if not np.iscomplexobj(z):
        return np.log1p(z)
    x, y = z.real, z.imag
    return 0.5 * np.log1p(x * (2.0 + x) + y * y) + 1j * np.arctan2(y, 1.0 + x)
