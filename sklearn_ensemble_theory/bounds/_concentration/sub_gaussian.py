"""Sub-Gaussian variables: their parameters, tails and expected maxima [Shah, §2.1 and §2.3]."""

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import as_result, checked_numbers

__all__ = [
    "bounded_sub_gaussian_parameter",
    "sub_gaussian_maximum_bound",
    "sub_gaussian_sum_parameter",
    "sub_gaussian_tail",
    "tail_of_standard_deviations",
]


def tail_of_standard_deviations(z: np.ndarray, two_sided: bool) -> np.ndarray:
    """min(1, exp(-z²/2)), or min(1, 2 exp(-z²/2)); beyond z = 100 it is 0 as a float."""
    return np.minimum(1.0, (1 + bool(two_sided)) * np.exp(-(np.minimum(z, 100.0) ** 2) / 2))


def sub_gaussian_tail(
    t: ArrayLike, sigma: ArrayLike, *, two_sided: bool = False
) -> float | np.ndarray:
    """Bound on P(W - E W >= t) for a sub-Gaussian variable W.

    W is sub-Gaussian with parameter sigma if E exp(alpha (W - E W)) <= exp(alpha² sigma² / 2) for
    all alpha [Shah, definition 1]. Then the probability is at most exp(-t² / (2 sigma²)), and
    P(|W - E W| >= t) at most twice that [Shah, proposition 2].

    Parameters
    ----------
    t : float or array-like
        Deviation, at least 0, in units of W. It broadcasts against `sigma`.

    sigma : float or array-like
        Parameter of W, above 0, in units of W. A normal variable has its standard deviation.

    two_sided : bool, default=False
        Whether deviations to both sides count.

    Returns
    -------
    bound : float or ndarray
        The bound on the probability, at most 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    bounded_sub_gaussian_parameter : The parameter of a bounded variable.
    sub_gaussian_sum_parameter : The parameter of a sum.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import sub_gaussian_tail
    >>> sub_gaussian_tail([1.0, 2.0, 3.0], sigma=1.0).round(4)
    array([0.6065, 0.1353, 0.0111])
    """
    t = checked_numbers("t", t, 0)
    sigma = checked_numbers("sigma", sigma, 0, open_low=True)
    with np.errstate(over="ignore"):
        return as_result(tail_of_standard_deviations(t / sigma, two_sided))


def bounded_sub_gaussian_parameter(low: ArrayLike, high: ArrayLike) -> float | np.ndarray:
    """Sub-Gaussian parameter of a variable with values in [low, high], by Hoeffding's lemma.

    It is (high - low) / 2 [Shah, lemma 3]. No smaller number holds for all variables with these
    values: a variable that is `low` or `high` with probability 1/2 has this standard deviation.

    Parameters
    ----------
    low, high : float or array-like
        Ends of the interval, low below high. They broadcast against each other.

    Returns
    -------
    sigma : float or ndarray
        The parameter, in units of the variable.

    Raises
    ------
    ValueError
        If an end is not finite or `low` is not below `high`.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bounded_sub_gaussian_parameter
    >>> bounded_sub_gaussian_parameter(-1, 1)
    1.0
    """
    low, high = checked_numbers("low", low), checked_numbers("high", high)
    if not np.all(low < high):
        raise ValueError("low must be below high.")
    return as_result(high / 2 - low / 2)


def sub_gaussian_sum_parameter(sigmas: ArrayLike, weights: ArrayLike = 1.0) -> float | np.ndarray:
    """Sub-Gaussian parameter of a weighted sum of independent variables or martingale differences.

    If the W_i are independent and sub-Gaussian with parameters sigma_i, sum_i gamma_i W_i is
    sub-Gaussian with parameter sqrt(sum_i gamma_i² sigma_i²) [Shah, proposition 4]. The same holds
    for a martingale difference sequence D_1, ..., D_n for which
    E(exp(alpha D_i) | the past) <= exp(alpha² sigma_i² / 2) [Shah, lemma 8].

    Parameters
    ----------
    sigmas : array-like of shape (..., n)
        Parameters sigma_i, at least 0; the sum is over the last axis.

    weights : float or array-like, default=1.0
        The gamma_i, of any sign; they broadcast against `sigmas`.

    Returns
    -------
    sigma : float or ndarray of shape (...)
        The parameter of the sum.

    Raises
    ------
    ValueError
        If a value is not finite, a parameter is negative, or `sigmas` is a number or empty.

    Notes
    -----
    For independent normal variables it is the standard deviation of the sum. The cost is O(n).

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    The mean of four variables with parameter 1:

    >>> from sklearn_ensemble_theory.bounds import sub_gaussian_sum_parameter
    >>> sub_gaussian_sum_parameter([1.0, 1.0, 1.0, 1.0], weights=1 / 4)
    0.5
    """
    sigmas = checked_numbers("sigmas", sigmas, 0)
    gamma = checked_numbers("weights", weights)
    if not sigmas.ndim or not sigmas.size:
        raise ValueError("sigmas must have a last axis with at least one parameter.")
    with np.errstate(over="ignore"):
        # Without squares, which would overflow for large numbers.
        return as_result(np.hypot.reduce(np.abs(gamma * sigmas), axis=-1))


def sub_gaussian_maximum_bound(n_variables: ArrayLike, sigma: ArrayLike) -> float | np.ndarray:
    """Bound on the expected maximum of d sub-Gaussian variables of mean 0.

    It is sigma sqrt(2 log d) [Shah, proposition 5]. The variables need not be independent.

    Parameters
    ----------
    n_variables : int or array-like
        Number d of variables, at least 1. It broadcasts against `sigma`.

    sigma : float or array-like
        A parameter of all variables, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the variables; for the maximum of absolute values pass 2d.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    For independent normal variables the ratio of the expected maximum and the bound tends to 1 as
    d grows.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import sub_gaussian_maximum_bound
    >>> round(sub_gaussian_maximum_bound(1_000, sigma=1.0), 3)
    3.717
    """
    d = checked_numbers("n_variables", n_variables, 1)
    sigma = checked_numbers("sigma", sigma, 0)
    with np.errstate(over="ignore"):
        return as_result(sigma * np.sqrt(2 * np.log(d)))
