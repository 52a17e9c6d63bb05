"""Tails of random variables, of their sums and maxima, and of functions of independent variables.

The order is that of [Shah, §2.1 to §2.3]: from the mean alone, from the moment generating function,
for sub-Gaussian variables, for means of bounded variables and for functions with bounded
differences, martingales last.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from sklearn_ensemble_theory._running import called
from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import as_result, check_number, checked_numbers, in_floats

# Powers of 2 among which the best exponent is bracketed: any scale that a variable may have.
EXPONENTS = 2.0 ** np.arange(-200, 201)


@in_floats
def markov_tail(t: ArrayLike, mean: ArrayLike) -> float | np.ndarray:
    """Bound on P(W >= t) for a non-negative variable W, by Markov's inequality.

    It is min(1, E W / t) [Shah, §2.1]. Parameters broadcast against each other.

    Parameters
    ----------
    t : float or array-like
        Threshold, at least 0, in units of W.
    mean : float or array-like
        Expectation of W, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound on the probability. It is attained by a variable on {0, t}.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import markov_tail
    >>> markov_tail([1.0, 4.0], mean=2.0)
    array([1. , 0.5])
    """
    t = checked_numbers("t", t, 0)
    mean = checked_numbers("mean", mean, 0)
    # min(mean, t) / t instead of min(1, mean / t): no overflow for small t.
    return as_result(np.where(t > 0, np.minimum(mean, t) / t, 1.0))


def chernoff_tail(
    t: ArrayLike, log_mgf: Callable[[float], float], *, alpha_max: float | None = None
) -> float | np.ndarray:
    """Bound on P(W >= t) by the moment generating function of W, the Chernoff bound.

    It is the infimum over alpha > 0 of exp(-alpha t) E exp(alpha W) [Shah, §2.1], and at most 1.
    The exponent is convex in alpha, so that its minimum is bracketed by powers of 2 and then found
    by Brent's method, about 450 calls of `log_mgf` for each t. The rounding error of the difference
    log_mgf(alpha) - alpha t is added to it, so that cancellation does not lower the result.

    Parameters
    ----------
    t : float or array-like
        Threshold, in units of W.
    log_mgf : callable
        The function alpha -> log E exp(alpha W) of one number, or an upper bound on it that is
        convex. Where it overflows or is not finite, alpha is not used.
    alpha_max : float, default=None
        The alphas are below this number, above 0; for variables whose exponential moments are
        finite only up to there. None is no limit.

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound on the probability.

    Raises
    ------
    TypeError
        If `log_mgf` is not callable.
    ValueError
        If another parameter is outside its range.

    See Also
    --------
    sub_gaussian_tail : The same for log E exp(alpha (W - E W)) = alpha² sigma² / 2.

    Examples
    --------
    The number of heads of 100 coins, for which P(W >= 70) is 0.00004:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import chernoff_tail
    >>> round(chernoff_tail(70, lambda alpha: 100 * (np.logaddexp(0, alpha) - np.log(2))), 5)
    0.00027
    """
    thresholds = checked_numbers("t", t)
    if not callable(log_mgf):
        raise TypeError(f"log_mgf must be callable, got {log_mgf!r}.")
    alphas = EXPONENTS
    # alpha_max itself is not used: it is only the end of a bracket.
    if alpha_max is not None:
        check_number("alpha_max", alpha_max, 0, open_low=True)
        alphas = np.append(alphas[alphas < alpha_max], alpha_max)

    def exponent(alpha: float, threshold: float) -> float:
        try:
            value = float(called("log_mgf", log_mgf, float(alpha)))
        except OverflowError:
            return math.inf
        product = float(alpha) * threshold
        if not (math.isfinite(value) and math.isfinite(product)):
            return math.inf
        # The two may cancel: the rounding error is added, so that the result stays a bound.
        return value - product + 4 * np.finfo(float).eps * (abs(value) + abs(product))

    bounds = np.ones(thresholds.shape)
    with np.errstate(all="ignore"):
        for i, threshold in np.ndenumerate(thresholds):
            inner = alphas if alpha_max is None else alphas[:-1]
            values = [exponent(alpha, threshold) for alpha in inner]
            best = int(np.argmin(values))
            # The exponent is convex: its minimum is between the neighbours of the best power.
            low, high = alphas[max(best - 1, 0)], alphas[min(best + 1, len(alphas) - 1)]
            found = minimize_scalar(
                exponent,
                bounds=(low, high),
                args=(float(threshold),),
                method="bounded",
                options={"xatol": 1e-9 * high},
            )
            bounds[i] = math.exp(min(0.0, values[best], float(found.fun)))
    return as_result(bounds)


@in_floats
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
        Parameter of W, at least 0, in units of W. A normal variable has its standard deviation.
    %(two_sided)s

    %(bound_on_probability)s

    See Also
    --------
    bounded_sub_gaussian_parameter : The parameter of a bounded variable.
    sub_gaussian_sum_parameter : The parameter of a sum.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import sub_gaussian_tail
    >>> sub_gaussian_tail([1.0, 2.0, 3.0], sigma=1.0).round(4)
    array([0.6065, 0.1353, 0.0111])
    """
    t = checked_numbers("t", t, 0)
    return as_result(_sub_gaussian(t, checked_numbers("sigma", sigma, 0), two_sided))


def bounded_sub_gaussian_parameter(low: ArrayLike, high: ArrayLike) -> float | np.ndarray:
    """Sub-Gaussian parameter of a variable with values in [low, high], by Hoeffding's lemma.

    It is (high - low) / 2 [Shah, lemma 3]. No smaller number holds for all variables with these
    values: a variable that is `low` or `high` with probability 1/2 has this standard deviation.

    Parameters
    ----------
    low, high : float or array-like
        Ends of the interval, low at most high. They broadcast against each other.

    Returns
    -------
    sigma : float or ndarray
        The parameter, in units of the variable.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bounded_sub_gaussian_parameter
    >>> bounded_sub_gaussian_parameter(-1, 1)
    1.0
    """
    low, high = checked_numbers("low", low), checked_numbers("high", high)
    if not np.all(low <= high):
        raise ValueError("low must be at most high.")
    return as_result(high / 2 - low / 2)


@in_floats
def sub_gaussian_sum_parameter(sigmas: ArrayLike, weights: ArrayLike = 1.0) -> float | np.ndarray:
    """Sub-Gaussian parameter of a weighted sum of independent variables or martingale differences.

    If the W_i are independent and sub-Gaussian with parameters sigma_i, sum_i gamma_i W_i is
    sub-Gaussian with parameter sqrt(sum_i gamma_i² sigma_i²) [Shah, proposition 4]. The same holds
    for a martingale difference sequence D_1, ..., D_n for which E(exp(alpha D_i) | the past) <=
    exp(alpha² sigma_i² / 2) [Shah, lemma 8]. For independent normal variables it is the standard
    deviation of the sum. The cost is O(n).

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

    %(raises)s

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
    # Without squares, which would overflow for large numbers.
    return as_result(np.hypot.reduce(np.abs(gamma * sigmas), axis=-1))


@in_floats
def sub_gaussian_maximum_bound(n_variables: ArrayLike, sigma: ArrayLike) -> float | np.ndarray:
    """Bound on the expected maximum of d sub-Gaussian variables of mean 0.

    It is sigma sqrt(2 log d) [Shah, proposition 5]. The variables need not be independent. For
    independent normal variables the ratio of the expected maximum and the bound tends to 1 as d
    grows.

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

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import sub_gaussian_maximum_bound
    >>> round(sub_gaussian_maximum_bound(1_000, sigma=1.0), 3)
    3.717
    """
    d = checked_numbers("n_variables", n_variables, 1)
    sigma = checked_numbers("sigma", sigma, 0)
    return as_result(sigma * np.sqrt(2 * np.log(d)))


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
    %(interval)s
    %(two_sided)s

    %(bound_on_probability)s

    See Also
    --------
    hoeffding_deviation : The t for which the bound is a given probability.
    hoeffding_n_samples : The n for which it is.
    mcdiarmid_tail : For variables in different intervals, with (high_i - low_i) / n.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import hoeffding_tail
    >>> round(hoeffding_tail(0.05, 1_000), 4)
    0.0067
    """
    t = checked_numbers("t", t, 0)
    n = checked_numbers("n_samples", n_samples, 1)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
    return as_result(_sub_gaussian(t, sigma / np.sqrt(n), two_sided))


@in_floats
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
    %(deltas)s
    %(interval)s
    %(two_sided)s

    Returns
    -------
    t : float or ndarray
        The deviation, in units of the variables.

    %(raises)s

    See Also
    --------
    hoeffding_n_samples : The n for a given deviation.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import hoeffding_deviation
    >>> round(hoeffding_deviation(1_000, two_sided=True), 4)
    0.0429
    """
    n = checked_numbers("n_samples", n_samples, 1)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
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
    %(deltas)s
    %(interval)s
    %(two_sided)s

    Returns
    -------
    n_samples : float or ndarray
        The number, a whole one of at least 1; inf where it is no float.

    %(raises)s

    See Also
    --------
    hoeffding_deviation : The deviation for a given n.

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


@in_floats
def mcdiarmid_tail(
    t: ArrayLike, differences: ArrayLike, *, two_sided: bool = False
) -> float | np.ndarray:
    """Bound on the deviation of a function of independent variables with bounded differences.

    If no change of the i-th variable alone changes f by more than L_i, then f(W_1, ..., W_n) is
    sub-Gaussian with parameter sqrt(sum_i L_i²) / 2, and the probability that it is at least t
    above its expectation is at most exp(-2 t² / sum_i L_i²) [Shah, theorem 7]. This is McDiarmid's
    inequality. With L_i = (high_i - low_i) / n it is Hoeffding's inequality for the mean of
    variables in different intervals [Shah, eq. (2.4)]. The supremum over a class of the difference
    between risk and empirical risk has L_i = M / n for losses in [0, M] [Shah, §2.3]. The cost is
    O(n).

    Parameters
    ----------
    t : float or array-like
        Deviation, at least 0, in units of f. It broadcasts against the sums over the last axis of
        `differences`.
    %(differences)s
    %(two_sided)s

    %(bound_on_probability)s

    See Also
    --------
    mcdiarmid_deviation : The t for which the bound is a given probability.

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


@in_floats
def mcdiarmid_deviation(
    differences: ArrayLike, delta: ArrayLike = 0.05, *, two_sided: bool = False
) -> float | np.ndarray:
    """Deviation that a function with bounded differences has with probability at most delta.

    It is sqrt(sum_i L_i² log(1/delta) / 2), with 2/delta for deviations to both sides: the t for
    which `mcdiarmid_tail` is delta [Shah, theorem 7].

    Parameters
    ----------
    %(differences)s
    delta : float or array-like, default=0.05
        Probability, above 0 and at most 1. It broadcasts against the sums over the last axis of
        `differences`.
    %(two_sided)s

    Returns
    -------
    t : float or ndarray
        The deviation, in units of the function.

    %(raises)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import mcdiarmid_deviation
    >>> round(mcdiarmid_deviation(np.ones(50)), 2)
    8.65
    """
    sigma = _half_norm("differences", differences)
    return as_result(sigma * np.sqrt(_twice_log_inverse(delta, two_sided)))


@in_floats
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
        The lengths L_i, at least 0. If all that is known is |D_i| <= c_i, they are
        2 c_i.
    %(two_sided)s

    %(bound_on_probability)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import azuma_hoeffding_tail
    >>> round(azuma_hoeffding_tail(20, np.full(100, 2.0)), 4)
    0.1353
    """
    return _tail_of_ranges("ranges", t, ranges, two_sided)


def _sub_gaussian(t: np.ndarray, sigma: np.ndarray, two_sided: bool) -> np.ndarray:
    """min(1, exp(-z²/2)), or min(1, 2 exp(-z²/2)), for z = t/sigma; a constant has sigma = 0."""
    z = np.where(t > 0, t / sigma, 0.0)
    # Beyond z = 100 it is 0 as a float, and the square does not overflow.
    return np.minimum(1.0, (1 + bool(two_sided)) * np.exp(-(np.minimum(z, 100.0) ** 2) / 2))


def _tail_of_ranges(
    name: str, t: ArrayLike, ranges: ArrayLike, two_sided: bool
) -> float | np.ndarray:
    deviations = checked_numbers("t", t, 0)
    return as_result(_sub_gaussian(deviations, _half_norm(name, ranges), two_sided))


def _half_norm(name: str, ranges: ArrayLike) -> np.ndarray:
    """sqrt(sum_i L_i²) / 2 over the last axis."""
    numbers = checked_numbers(name, ranges, 0)
    if not (numbers.ndim and numbers.size):
        raise ValueError(f"{name} must have a last axis with at least one number, got {ranges!r}.")
    return np.asarray(np.hypot.reduce(numbers / 2, axis=-1))


def _twice_log_inverse(delta: ArrayLike, two_sided: bool) -> np.ndarray:
    """2 log(1/delta), or 2 log(2/delta)."""
    delta = checked_numbers("delta", delta, 0, 1, open_low=True)
    return np.asarray(2 * (np.log(1 + bool(two_sided)) - np.log(delta)))
