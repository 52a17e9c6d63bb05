"""Expected errors of boosted linear learners, from their matrix [Dombry and Esstafa, §2.3].

The targets are f(x_i) plus independent noise of standard deviation sigma. E_t = exp(-t S) is the
operator of the residuals, or (I - lambda S)^m; J = I - 11'/n if boosting starts from the mean of y,
and J = I if it starts from 0.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import check_number, checked_numbers, in_floats
from sklearn_ensemble_theory.bounds._smoothing.spectral_filters import (
    n_rounds,
    residual_filter,
    square_matrix,
    weight_filter,
)

__all__ = [
    "l2_boosting_new_point_error",
    "l2_boosting_squared_bias",
    "l2_boosting_test_variance",
    "l2_boosting_training_variance",
]

Init = Literal["mean", "zero"]


@in_floats
def l2_boosting_squared_bias(
    matrix: ArrayLike,
    f: ArrayLike,
    times: ArrayLike,
    *,
    learning_rate: float = 0.0,
    init: Init = "mean",
) -> np.ndarray:
    """The mean squared bias of boosting on the training rows, |E_t J f|² / n.

    [Dombry and Esstafa, proposition 2.12 ii)]; it is part of the training error and of the test
    error at the same points alike.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        S, which maps y to the fitted values of the learner.
    f : array-like of shape (n,)
        Values of the regression function at the training rows.
    times : array-like of shape (n_times,)
        Times of boosting.
    learning_rate : float in [0, 1], default=0.0
        lambda; 0 is the limit of small learning rates.
    init : {"mean", "zero"}, default="mean"
        Where boosting starts.

    Returns
    -------
    bias2 : ndarray of shape (n_times,)
        The squared bias.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or if the matrix is unstable and overflows.

    See Also
    --------
    LinearL2BoostingRegressor : `bias_variance` computes the errors for a fitted learner.

    Notes
    -----
    The cost is O(n³) once for symmetric matrices, and for each time otherwise.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_squared_bias
    >>> S = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> l2_boosting_squared_bias(S, [0.0, 2.0], [0, 1]).round(4)  # exp(-t)
    array([1.    , 0.3679])
    """
    S = square_matrix("matrix", matrix)
    values = _checked_values("f", f, len(S))
    start = values - values.mean() if _from_mean(init) else values
    return _over_times(S, times, learning_rate, lambda E: np.mean((E @ start) ** 2))


@in_floats
def l2_boosting_training_variance(
    matrix: ArrayLike,
    times: ArrayLike,
    *,
    sigma: float = 1.0,
    learning_rate: float = 0.0,
    init: Init = "mean",
) -> np.ndarray:
    """The part of the expected training error that is due to the noise.

    It is sigma² tr(E_t J E_t') / n [Dombry and Esstafa, proposition 2.12 ii)]. The expected
    training error is its sum with `l2_boosting_squared_bias`.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        S, which maps y to the fitted values of the learner.
    times : array-like of shape (n_times,)
        Times of boosting.
    sigma : float, default=1.0
        Standard deviation of the noise.
    learning_rate : float in [0, 1], default=0.0
        lambda; 0 is the limit of small learning rates.
    init : {"mean", "zero"}, default="mean"
        Where boosting starts.

    Returns
    -------
    variance : ndarray of shape (n_times,)
        In units of y squared; sigma² (1 - 1/n) at time 0 with `init="mean"`.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or if the matrix is unstable and overflows.

    Notes
    -----
    The cost is O(n³) for each time.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_training_variance
    >>> S = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> l2_boosting_training_variance(S, [0, 1]).round(4)  # exp(-t) / 2
    array([0.5   , 0.1839])
    """
    S = square_matrix("matrix", matrix)
    check_number("sigma", sigma, 0)
    J = _centring(len(S), init)
    return _over_times(S, times, learning_rate, lambda E: sigma**2 * np.sum((E @ J) ** 2) / len(S))


@in_floats
def l2_boosting_test_variance(
    matrix: ArrayLike,
    times: ArrayLike,
    *,
    sigma: float = 1.0,
    learning_rate: float = 0.0,
    init: Init = "mean",
) -> np.ndarray:
    """The part of the expected test error at the training points that is due to the noise.

    With new targets at the same points it is

        sigma² + sigma²/n + sigma² tr((I - E_t) J (I - E_t)') / n,

    without sigma²/n if boosting starts from 0 [Dombry and Esstafa, proposition 2.13, remark 2.14].
    The expected test error is its sum with `l2_boosting_squared_bias`.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        S, which maps y to the fitted values of the learner.
    times : array-like of shape (n_times,)
        Times of boosting.
    sigma : float, default=1.0
        Standard deviation of the noise.
    learning_rate : float in [0, 1], default=0.0
        lambda; 0 is the limit of small learning rates.
    init : {"mean", "zero"}, default="mean"
        Where boosting starts.

    Returns
    -------
    variance : ndarray of shape (n_times,)
        In units of y squared. It increases to 2 sigma² if S is symmetric and positive definite.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or if the matrix is unstable and overflows.

    Notes
    -----
    Part i) of the proposition is printed without the first sigma², the noise of the new targets,
    and remark 2.14 with another sum; see the errata. The cost is O(n³) for each time.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_test_variance
    >>> S = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> l2_boosting_test_variance(S, [0, 1, 100]).round(4)
    array([1.5   , 1.5774, 2.    ])
    """
    S = square_matrix("matrix", matrix)
    check_number("sigma", sigma, 0)
    J, n = _centring(len(S), init), len(S)
    of_the_mean = 1.0 / n if _from_mean(init) else 0.0

    def variance(E: np.ndarray) -> float:
        return sigma**2 * (1.0 + of_the_mean + np.sum((J - E @ J) ** 2) / n)

    return _over_times(S, times, learning_rate, variance)


@in_floats
def l2_boosting_new_point_error(
    matrix: ArrayLike,
    outputs: ArrayLike,
    f: ArrayLike,
    f_new: ArrayLike,
    times: ArrayLike,
    *,
    sigma: float = 1.0,
    learning_rate: float = 0.0,
    init: Init = "mean",
) -> np.ndarray:
    """The expected squared error at new points, averaged over them.

    With g(x) the outputs of the learner at x for each unit vector, and the weights w = P_t J y,

        (1 + 1/n) sigma² + mean over x of (f(x) - f-bar - g(x)' P_t J f)² + sigma² |J P_t' g(x)|²

    [Dombry and Esstafa, proposition 2.15], where P_t = (I - E_t) S^-1; without f-bar and sigma²/n
    if boosting starts from 0.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        S, which maps y to the fitted values of the learner.
    outputs : array-like of shape (n_new, n)
        g_j(x) at each new point x and for each training row j.
    f, f_new : array-like of shapes (n,) and (n_new,)
        Values of the regression function at the training rows and at the new points.
    times : array-like of shape (n_times,)
        Times of boosting.
    sigma : float, default=1.0
        Standard deviation of the noise.
    learning_rate : float in [0, 1], default=0.0
        lambda; 0 is the limit of small learning rates.
    init : {"mean", "zero"}, default="mean"
        Where boosting starts.

    Returns
    -------
    error : ndarray of shape (n_times,)
        In units of y squared, with the noise of the new targets.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or if the matrix is unstable and overflows.

    Notes
    -----
    S need not be invertible: P_t is the integral of E_s from 0 to t, or lambda times the sum of the
    powers of I - lambda S. The cost is O(n³ + n² n_new) for each time.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_new_point_error
    >>> S = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> middle = [[0.5, 0.5]]  # a new point where the learner is the mean
    >>> l2_boosting_new_point_error(S, middle, [0.0, 2.0], [1.0], [0, 5])
    array([1.5, 1.5])
    """
    S = square_matrix("matrix", matrix)
    n = len(S)
    G = checked_numbers("outputs", outputs)
    if G.ndim != 2 or G.shape[1] != n:
        raise ValueError(f"outputs must have shape (n_new, {n}), got {G.shape}.")
    values, new = _checked_values("f", f, n), _checked_values("f_new", f_new, len(G))
    check_number("sigma", sigma, 0)
    mean = values.mean() if _from_mean(init) else 0.0
    of_the_mean = 1.0 / n if _from_mean(init) else 0.0
    J = _centring(n, init)

    def error(P: np.ndarray) -> float:
        rows = G @ P @ J
        bias2 = np.mean((new - mean - rows @ values) ** 2)
        return bias2 + sigma**2 * (1.0 + of_the_mean + np.sum(rows**2) / len(G))

    return _over_times(S, times, learning_rate, error, weights=True)


def _over_times(
    S: np.ndarray,
    times: ArrayLike,
    learning_rate: float,
    quantity: Callable[[np.ndarray], float],
    *,
    weights: bool = False,
) -> np.ndarray:
    """A quantity of E_t, or of P_t, at each time."""
    t = np.atleast_1d(checked_numbers("times", times, 0.0))
    check_number("learning_rate", learning_rate, 0, 1)
    if t.ndim != 1:
        raise ValueError(f"times must be one-dimensional, got shape {t.shape}.")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = np.array([quantity(M) for M in _operators(S, t, learning_rate, weights)])
    if not np.isfinite(values).all():
        raise ValueError("matrix is unstable, and its powers overflow at these times.")
    return values


def _operators(
    S: np.ndarray, t: np.ndarray, learning_rate: float, weights: bool
) -> Iterator[np.ndarray]:
    """E_t, or P_t, at each time."""
    n = len(S)
    if np.abs(S - S.T).max() <= 1e-10 * np.abs(S).max():
        mu, U = scipy.linalg.eigh((S + S.T) / 2, check_finite=False)
        for values in (weight_filter if weights else residual_filter)(mu, t, learning_rate).T:
            yield (U * values) @ U.T
        return
    # [E, P; 0, I] is an exponential, or a power, of one matrix.
    step = np.zeros((2 * n, 2 * n)) if weights else -S
    if weights:
        step[:n, :n], step[:n, n:] = -S, np.eye(n)
    for time, m in zip(t, n_rounds(t, learning_rate or 1.0)):
        if learning_rate == 0:
            both = scipy.linalg.expm(time * step)
        else:
            both = np.linalg.matrix_power(np.eye(len(step)) + learning_rate * step, int(m))
        yield both[:n, n:] if weights else both


def _from_mean(init: str) -> bool:
    if init not in ("mean", "zero"):
        raise ValueError(f"init must be 'mean' or 'zero', got {init!r}.")
    return init == "mean"


def _centring(n: int, init: str) -> np.ndarray:
    """J."""
    return np.eye(n) - (1.0 / n if _from_mean(init) else 0.0)


def _checked_values(name: str, value: ArrayLike, n: int) -> np.ndarray:
    values = checked_numbers(name, value)
    if values.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {values.shape}.")
    return values
