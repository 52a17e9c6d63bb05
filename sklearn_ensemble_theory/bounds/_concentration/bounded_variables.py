"""Hoeffding's inequality and bounded differences, and what they give for n [Shah, §2.1, §2.3]."""

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import as_result, checked_numbers, in_floats
from sklearn_ensemble_theory.bounds._concentration.sub_gaussian import (
    bounded_sub_gaussian_parameter,
    tail_of_standard_deviations,
)

__all__ = [
    "azuma_hoeffding_tail",
    "hoeffding_deviation",
    "hoeffding_n_samples",
    "hoeffding_tail",
    "mcdiarmid_deviation",
    "mcdiarmid_tail",
]


@in_floats
def hoeffding_tail(
    t: ArrayLike,
    n_samples: ArrayLike,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    two_sided: bool = False,
) -> float | np.ndarray:
    """Bound on the probability that a mean of bounded variables exceeds its expectation by t.

    For n independent variables with values in [low, high] the probability that their mean is at
    least t above its expectation is at most exp(-2 n t² / (high - low)²) [Shah, eq. (2.4)], which
    is Hoeffding's inequality. All parameters broadcast against each other.

    Parameters
    ----------
    t : float or array-like
        Deviation of the mean, at least 0, in units of the variables.

    n_samples : int or array-like
        Number n of variables, at least 1.

    low, high : float or array-like, default=0.0 and 1.0
        Ends of the interval, low below high.

    two_sided : bool, default=False
        Whether deviations to both sides count; the bound is then doubled.

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
    hoeffding_deviation : The t for which the bound is a given probability.
    hoeffding_n_samples : The n for which it is.
    mcdiarmid_tail : For variables in different intervals, with (high_i - low_i) / n.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import hoeffding_tail
    >>> round(hoeffding_tail(0.05, 1_000), 4)
    0.0067
    """
    t = checked_numbers("t", t, 0)
    n = checked_numbers("n_samples", n_samples, 1)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
    return as_result(tail_of_standard_deviations(np.sqrt(n) * (t / sigma), two_sided))


def hoeffding_deviation(
    n_samples: ArrayLike,
    delta: ArrayLike = 0.05,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    two_sided: bool = False,
) -> float | np.ndarray:
    """Deviation of a mean of bounded variables that has probability at most delta.

    It is (high - low) sqrt(log(1/delta) / (2n)), with 2/delta for deviations to both sides: the t
    for which `hoeffding_tail` is delta [Shah, eq. (2.4)]. All parameters broadcast.

    Parameters
    ----------
    n_samples : int or array-like
        Number n of independent variables, at least 1.

    delta : float or array-like, default=0.05
        Probability, above 0 and at most 1.

    low, high : float or array-like, default=0.0 and 1.0
        Ends of the interval of the variables, low below high.

    two_sided : bool, default=False
        Whether deviations to both sides count.

    Returns
    -------
    t : float or ndarray
        The deviation, in units of the variables.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    hoeffding_n_samples : The n for a given deviation.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import hoeffding_deviation
    >>> round(hoeffding_deviation(1_000, two_sided=True), 4)
    0.0429
    """
    n = checked_numbers("n_samples", n_samples, 1)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
    with np.errstate(over="ignore"):
        return as_result(sigma * np.sqrt(_twice_log_inverse(delta, two_sided) / n))


@in_floats
def hoeffding_n_samples(
    t: ArrayLike,
    delta: ArrayLike = 0.05,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    two_sided: bool = False,
) -> float | np.ndarray:
    """Number of bounded variables whose mean deviates by t with probability at most delta.

    It is the smallest whole n with (high - low)² log(1/delta) / (2 t²) <= n, with 2/delta for
    deviations to both sides [Shah, eq. (2.4)]. All parameters broadcast.

    Parameters
    ----------
    t : float or array-like
        Deviation of the mean, above 0, in units of the variables.

    delta : float or array-like, default=0.05
        Probability, above 0 and at most 1.

    low, high : float or array-like, default=0.0 and 1.0
        Ends of the interval of the variables, low below high.

    two_sided : bool, default=False
        Whether deviations to both sides count.

    Returns
    -------
    n_samples : float or ndarray
        The number, a whole one of at least 1; inf where it is no float.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    hoeffding_deviation : The deviation for a given n.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    The error of a classifier to 2 %, by its errors on so many rows:

    >>> from sklearn_ensemble_theory.bounds import hoeffding_n_samples
    >>> hoeffding_n_samples(0.02, two_sided=True)
    4612.0
    """
    t = checked_numbers("t", t, 0, open_low=True)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
    n = (sigma / t) ** 2 * _twice_log_inverse(delta, two_sided)
    return as_result(np.maximum(np.ceil(n), 1.0))


def mcdiarmid_tail(
    t: ArrayLike, differences: ArrayLike, *, two_sided: bool = False
) -> float | np.ndarray:
    """Bound on the deviation of a function of independent variables with bounded differences.

    If no change of the i-th variable alone changes f by more than L_i, then f(W_1, ..., W_n) is
    sub-Gaussian with parameter sqrt(sum_i L_i²) / 2, and the probability that it is at least t
    above its expectation is at most exp(-2 t² / sum_i L_i²) [Shah, theorem 7]. This is McDiarmid's
    inequality.

    Parameters
    ----------
    t : float or array-like
        Deviation, at least 0, in units of f. It broadcasts against the sums over the last axis of
        `differences`.

    differences : array-like of shape (..., n)
        The L_i, at least 0 and not all 0.

    two_sided : bool, default=False
        Whether deviations to both sides count; the bound is then doubled.

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
    mcdiarmid_deviation : The t for which the bound is a given probability.

    Notes
    -----
    With L_i = (high_i - low_i) / n it is Hoeffding's inequality for the mean of variables in
    different intervals [Shah, eq. (2.4)]. The supremum over a class of the difference between risk
    and empirical risk has L_i = M / n for losses in [0, M] [Shah, §2.3]. The cost is O(n).

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    The number of empty cells, if 50 balls fall into cells at random: each ball changes it by at
    most 1.

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import mcdiarmid_tail
    >>> round(mcdiarmid_tail(10, np.ones(50)), 4)
    0.0183
    """
    return _tail_of_ranges("differences", t, differences, two_sided)


def mcdiarmid_deviation(
    differences: ArrayLike, delta: ArrayLike = 0.05, *, two_sided: bool = False
) -> float | np.ndarray:
    """Deviation that a function with bounded differences has with probability at most delta.

    It is sqrt(sum_i L_i² log(1/delta) / 2), with 2/delta for deviations to both sides: the t for
    which `mcdiarmid_tail` is delta [Shah, theorem 7].

    Parameters
    ----------
    differences : array-like of shape (..., n)
        The L_i, at least 0 and not all 0.

    delta : float or array-like, default=0.05
        Probability, above 0 and at most 1. It broadcasts against the sums over the last axis of
        `differences`.

    two_sided : bool, default=False
        Whether deviations to both sides count.

    Returns
    -------
    t : float or ndarray
        The deviation, in units of the function.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import mcdiarmid_deviation
    >>> round(mcdiarmid_deviation(np.ones(50)), 2)
    8.65
    """
    sigma = _half_norm("differences", differences)
    with np.errstate(over="ignore"):
        return as_result(sigma * np.sqrt(_twice_log_inverse(delta, two_sided)))


def azuma_hoeffding_tail(
    t: ArrayLike, ranges: ArrayLike, *, two_sided: bool = False
) -> float | np.ndarray:
    """Bound on the tail of a sum of bounded martingale differences.

    D_1, ..., D_n have conditional expectation 0 given the past, and given the past D_i is in an
    interval of length at most L_i, whose ends may depend on the past. Then the probability that
    their sum is at least t is at most exp(-2 t² / sum_i L_i²) [Shah, theorem 9].

    Parameters
    ----------
    t : float or array-like
        Threshold of the sum, at least 0. It broadcasts against the sums over the last axis of
        `ranges`.

    ranges : array-like of shape (..., n)
        The lengths L_i, at least 0 and not all 0. If all that is known is |D_i| <= c_i, they are
        2 c_i.

    two_sided : bool, default=False
        Whether deviations to both sides count; the bound is then doubled.

    Returns
    -------
    bound : float or ndarray
        The bound on the probability, at most 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import azuma_hoeffding_tail
    >>> round(azuma_hoeffding_tail(20, np.full(100, 2.0)), 4)
    0.1353
    """
    return _tail_of_ranges("ranges", t, ranges, two_sided)


def _tail_of_ranges(
    name: str, t: ArrayLike, ranges: ArrayLike, two_sided: bool
) -> float | np.ndarray:
    deviations = checked_numbers("t", t, 0)
    sigma = _half_norm(name, ranges)
    with np.errstate(over="ignore"):
        return as_result(tail_of_standard_deviations(deviations / sigma, two_sided))


def _half_norm(name: str, ranges: ArrayLike) -> np.ndarray:
    """sqrt(sum_i L_i²) / 2 over the last axis, which is not 0."""
    numbers = checked_numbers(name, ranges, 0)
    if not (numbers.ndim and numbers.size and np.all(numbers.max(axis=-1) > 0)):
        raise ValueError(f"{name} must have a last axis with a number above 0, got {ranges!r}.")
    return np.asarray(np.hypot.reduce(numbers / 2, axis=-1))


def _twice_log_inverse(delta: ArrayLike, two_sided: bool) -> np.ndarray:
    """2 log(1/delta), or 2 log(2/delta)."""
    delta = checked_numbers("delta", delta, 0, 1, open_low=True)
    return np.asarray(2 * (np.log(1 + bool(two_sided)) - np.log(delta)))
