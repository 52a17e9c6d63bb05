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

from ._arguments import as_result, check_number, checked_numbers, in_floats, is_sharp

# Powers of 2 among which the best exponent is bracketed: any scale that a variable may have.
EXPONENTS = 2.0 ** np.arange(-200, 201)
# Of an interval, until it is as short as rounding errors.
HALVINGS = 80
# Deviations for which two terms of a power series are enough.
SMALL = 2.6e-3


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
    The exponent is convex in alpha. Its minimum is bracketed by powers of 2 and then found by
    Brent's method, with about 450 calls of `log_mgf` for each t. The rounding error of the
    difference log_mgf(alpha) - alpha t is added to it: cancellation does not lower the result.

    Parameters
    ----------
    t : float or array-like
        Threshold, in units of W.
    log_mgf : callable
        The function alpha -> log E exp(alpha W) of one number, or an upper bound on it that is
        convex. If it overflows or is not finite, alpha is not used.
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
    t: ArrayLike, sigma: ArrayLike, *, two_sided: bool = False, method: str = "source"
) -> float | np.ndarray:
    """Bound on P(W - E W >= t) for a sub-Gaussian variable W.

    W is sub-Gaussian with parameter sigma if E exp(alpha (W - E W)) <= exp(alpha² sigma² / 2) for
    all alpha [Shah, definition 1]. Then the probability is at most exp(-t² / (2 sigma²)), and
    P(|W - E W| >= t) at most twice that [Shah, proposition 2]. The variance of W is at most sigma².
    ``method="sharp"`` therefore takes the smaller of this and Cantelli's bound 1 / (1 + t²/sigma²),
    or for both sides Chebyshev's sigma²/t². These are smaller for t below 1.58 sigma, or 2.07
    sigma. Chebyshev's is attained at t = sigma, by random signs.

    Parameters
    ----------
    t : float or array-like
        Deviation, at least 0, in units of W. It broadcasts against `sigma`.
    sigma : float or array-like
        Parameter of W, at least 0, in units of W. A normal variable has its standard deviation.
    %(two_sided)s
    %(method)s

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
    >>> sub_gaussian_tail([1.0, 2.0, 3.0], sigma=1.0, method="sharp").round(4)
    array([0.5   , 0.1353, 0.0111])
    """
    t = checked_numbers("t", t, 0)
    sigma = checked_numbers("sigma", sigma, 0)
    return as_result(_sub_gaussian(t, sigma, two_sided, method))


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
def sub_gaussian_maximum_bound(
    n_variables: ArrayLike, sigma: ArrayLike, *, method: str = "source"
) -> float | np.ndarray:
    """Bound on the expected maximum of d sub-Gaussian variables of mean 0.

    It is sigma sqrt(2 log d) [Shah, proposition 5]. The variables need not be independent. For
    independent normal variables the ratio of the expected maximum and the bound tends to 1 as d
    grows. ``method="sharp"`` takes the smaller one of that and of sigma sqrt(d - 1), which is
    smaller for d = 2 and d = 3. The largest of d numbers is above their mean by at most sqrt(d - 1)
    of their standard deviations [Samuelson, 1968], and the expected mean of their squares is at
    most sigma². A random sign and its negative attain it for d = 2.

    Parameters
    ----------
    n_variables : int or array-like
        Number d of variables, at least 1. It broadcasts against `sigma`.
    sigma : float or array-like
        A parameter of all variables, at least 0.
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the variables; for the maximum of absolute values pass 2d.

    %(raises)s

    References
    ----------
    P. A. Samuelson (1968). "How deviant can you be?" *Journal of the American Statistical
    Association* 63.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import sub_gaussian_maximum_bound
    >>> round(sub_gaussian_maximum_bound(1_000, sigma=1.0), 3)
    3.717
    >>> sub_gaussian_maximum_bound([2, 3], sigma=1.0).round(3)
    array([1.177, 1.482])
    >>> sub_gaussian_maximum_bound([2, 3], sigma=1.0, method="sharp").round(3)
    array([1.   , 1.414])
    """
    d = checked_numbers("n_variables", n_variables, 1)
    sigma = checked_numbers("sigma", sigma, 0)
    factor = np.sqrt(2 * np.log(d))
    if is_sharp(method):
        factor = np.minimum(factor, np.sqrt(d - 1))
    return as_result(sigma * factor)


@in_floats
def hoeffding_tail(
    t: ArrayLike,
    n_samples: ArrayLike,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    two_sided: bool = False,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the probability that a mean of bounded variables exceeds its expectation by t.

    This is Hoeffding's inequality. The mean of n independent variables with values in [low, high]
    is at least t above its expectation with a probability of at most exp(-2 n t² / (high - low)²)
    [Shah, eq. (2.4)]. All parameters broadcast against each other.

    ``method="sharp"`` is for the same variables, with r = t / (high - low), the smaller one of

        exp(-n min_p kl(p + r || p))    and    1 / (1 + 4 n r²).

    The first is Hoeffding's bound before he simplifies it, for the worst expectation p [Hoeffding,
    1963, theorem 1], with kl as in `kl_inverse`. It is about exp(-n (2 r² + 4 r⁴/9)), and much
    smaller for large r. The second is Cantelli's inequality with the largest variance of the mean,
    and smaller for 4 n r² < 2.5. For both sides the first is doubled, and the second is 1 / (4 n
    r²), Chebyshev's.

    Parameters
    ----------
    t : float or array-like
        Deviation of the mean, at least 0, in units of the variables.
    n_samples : int or array-like
        Number n of variables, at least 1.
    %(interval)s
    %(two_sided)s
    %(method)s

    %(bound_on_probability)s

    See Also
    --------
    hoeffding_deviation : The t for which the bound is a given probability.
    hoeffding_n_samples : The n for which it is.
    mcdiarmid_tail : For variables in different intervals, with (high_i - low_i) / n.

    References
    ----------
    W. Hoeffding (1963). "Probability inequalities for sums of bounded random variables". *Journal
    of the American Statistical Association* 58.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import hoeffding_tail
    >>> round(hoeffding_tail(0.05, 1_000), 4)
    0.0067
    >>> hoeffding_tail([0.1, 0.5], 10).round(3)
    array([0.819, 0.007])
    >>> hoeffding_tail([0.1, 0.5], 10, method="sharp").round(3)
    array([0.714, 0.005])
    """
    t = checked_numbers("t", t, 0)
    n = checked_numbers("n_samples", n_samples, 1)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
    return as_result(_sub_gaussian(t, sigma / np.sqrt(n), two_sided, method, n))


@in_floats
def hoeffding_deviation(
    n_samples: ArrayLike,
    delta: ArrayLike = 0.05,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    two_sided: bool = False,
    method: str = "source",
) -> float | np.ndarray:
    """Deviation of a mean of bounded variables that has probability at most delta.

    It is (high - low) sqrt(log(1/delta) / (2n)), with 2/delta for deviations to both sides: the t
    for which `hoeffding_tail` is delta [Shah, eq. (2.4)]. All parameters broadcast. With
    ``method="sharp"`` it is the t for which the tail with this method is delta.

    Parameters
    ----------
    n_samples : int or array-like
        Number n of independent variables, at least 1.
    %(deltas)s
    %(interval)s
    %(two_sided)s
    %(method)s

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
    >>> hoeffding_deviation(10, [0.05, 0.5]).round(3)
    array([0.387, 0.186])
    >>> hoeffding_deviation(10, [0.05, 0.5], method="sharp").round(3)
    array([0.38 , 0.158])
    """
    n = checked_numbers("n_samples", n_samples, 1)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
    return as_result(sigma * (_standard_deviations(delta, two_sided, method, n) / np.sqrt(n)))


@in_floats
def hoeffding_n_samples(
    t: ArrayLike,
    delta: ArrayLike = 0.05,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    two_sided: bool = False,
    method: str = "source",
) -> float | np.ndarray:
    """Number of bounded variables whose mean deviates by t with probability at most delta.

    It is the smallest whole n with (high - low)² log(1/delta) / (2 t²) <= n, with 2/delta for
    deviations to both sides [Shah, eq. (2.4)]. All parameters broadcast. With ``method="sharp"`` it
    is the smallest n for which `hoeffding_tail` with this method is at most delta.

    Parameters
    ----------
    t : float or array-like
        Deviation of the mean, above 0, in units of the variables.
    %(deltas)s
    %(interval)s
    %(two_sided)s
    %(method)s

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
    >>> hoeffding_n_samples(0.1, 0.5), hoeffding_n_samples(0.1, 0.5, method="sharp")
    (35.0, 25.0)
    """
    t = checked_numbers("t", t, 0, open_low=True)
    sigma = np.asarray(bounded_sub_gaussian_parameter(low, high))
    n = (sigma / t) ** 2 * _twice_log_inverse(delta, two_sided)
    if is_sharp(method):
        share = t / sigma / 2
        exact = n / _exponent_ratio(share)
        moment = (sigma / t) ** 2 * (1 / np.asarray(delta) - (not two_sided))
        n = np.minimum(exact, moment)
    return as_result(np.maximum(np.ceil(n), 1.0))


@in_floats
def mcdiarmid_tail(
    t: ArrayLike, differences: ArrayLike, *, two_sided: bool = False, method: str = "source"
) -> float | np.ndarray:
    """Bound on the deviation of a function of independent variables with bounded differences.

    Suppose that no change of the i-th variable alone changes f by more than L_i. Then f(W_1, ...,
    W_n) is sub-Gaussian with parameter sqrt(sum_i L_i²) / 2. It is at least t above its expectation
    with a probability of at most exp(-2 t² / sum_i L_i²) [Shah, theorem 7]. This is McDiarmid's
    inequality. With L_i = (high_i - low_i) / n it is Hoeffding's inequality for the mean of
    variables in different intervals [Shah, eq. (2.4)]. The supremum over a class of the difference
    between risk and empirical risk has L_i = M / n for losses in [0, M] [Shah, §2.3]. The cost is
    O(n).

    ``method="sharp"`` is `hoeffding_tail` with this method for the n numbers L_i that are not 0 and
    r = t / (n l), with l their root mean square. A variable of mean 0 in an interval of length L
    has ln E exp(h W) <= psi(h L), psi(u) = ln((e^u - 1)/u) - 1 + u/(e^u - 1), which two values
    attain. The Legendre transform of psi at r is the least kl(p + r || p). The quotient psi'(u)/u
    decreases, because it is a quotient of power series with decreasing quotients of their
    coefficients. So psi is a concave function of u², and the sum of the psi(h L_i) is at most n
    psi(h l).

    Parameters
    ----------
    t : float or array-like
        Deviation, at least 0, in units of f. It broadcasts against the sums over the last axis of
        `differences`.
    %(differences)s
    %(two_sided)s
    %(method)s

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
    >>> round(mcdiarmid_tail(10, np.ones(50), method="sharp"), 4)
    0.0177
    """
    return _tail_of_ranges("differences", t, differences, two_sided, method)


@in_floats
def mcdiarmid_deviation(
    differences: ArrayLike,
    delta: ArrayLike = 0.05,
    *,
    two_sided: bool = False,
    method: str = "source",
) -> float | np.ndarray:
    """Deviation that a function with bounded differences has with probability at most delta.

    It is sqrt(sum_i L_i² log(1/delta) / 2), with 2/delta for deviations to both sides: the t for
    which `mcdiarmid_tail` is delta [Shah, theorem 7], also with ``method="sharp"``.

    Parameters
    ----------
    %(differences)s
    delta : float or array-like, default=0.05
        Probability, above 0 and at most 1. It broadcasts against the sums over the last axis of
        `differences`.
    %(two_sided)s
    %(method)s

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
    >>> round(mcdiarmid_deviation(np.ones(50), method="sharp"), 2)
    8.63
    """
    sigma = _half_norm("differences", differences)
    n = np.count_nonzero(differences, axis=-1)
    return as_result(sigma * _standard_deviations(delta, two_sided, method, n))


@in_floats
def azuma_hoeffding_tail(
    t: ArrayLike, ranges: ArrayLike, *, two_sided: bool = False, method: str = "source"
) -> float | np.ndarray:
    """Bound on the tail of a sum of bounded martingale differences.

    D_1, ..., D_n have conditional expectation 0 given the past, and given the past D_i is in an
    interval of length at most L_i, whose ends may depend on the past. Then the probability that
    their sum is at least t is at most exp(-2 t² / sum_i L_i²) [Shah, theorem 9].
    ``method="sharp"`` is that of `mcdiarmid_tail`, whose proof is for martingale differences.

    Parameters
    ----------
    t : float or array-like
        Threshold of the sum, at least 0. It broadcasts against the sums over the last axis of
        `ranges`.
    ranges : array-like of shape (..., n)
        The lengths L_i, at least 0. If all that is known is |D_i| <= c_i, they are
        2 c_i.
    %(two_sided)s
    %(method)s

    %(bound_on_probability)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import azuma_hoeffding_tail
    >>> round(azuma_hoeffding_tail(20, np.full(100, 2.0)), 4)
    0.1353
    >>> round(azuma_hoeffding_tail(20, np.full(100, 2.0), method="sharp"), 4)
    0.1347
    """
    return _tail_of_ranges("ranges", t, ranges, two_sided, method)


def _sub_gaussian(
    t: np.ndarray, sigma: np.ndarray, two_sided: bool, method: str, n: ArrayLike = np.inf
) -> np.ndarray:
    """min(1, exp(-z²/2)) for z = t/sigma, doubled for two sides; a constant has sigma = 0.

    Or the sharp form, for a mean of n variables.
    """
    sides = 1 + bool(two_sided)
    z = np.where(t > 0, t / sigma, 0.0)
    # Beyond z = 100 it is 0 as a float, and the square does not overflow.
    z = np.minimum(z, 100.0)
    exponent = z**2 / 2
    if not is_sharp(method):
        return np.minimum(1.0, sides * np.exp(-exponent))
    ratio = _exponent_ratio(np.where(z > 0, z / 2 / np.sqrt(n), 0.0))
    moment = 1 / (z**2 + (sides == 1))
    return np.minimum(np.minimum(1.0, moment), sides * np.exp(-exponent * ratio))


def _exponent_ratio(r: np.ndarray) -> np.ndarray:
    """The least kl(p + r || p) over p, divided by 2 r²; inf from r = 1 on."""
    u = _root(lambda u: _worst(u)[0], r)
    ratio = np.where(r > SMALL, _worst(u)[1] / (2 * r**2), 1 + 2 * r**2 / 9)
    return np.where(r >= 1, np.inf, ratio)


def _worst(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """r, and the least kl(p + r || p) over p: the slope and the Legendre transform there of psi.

    psi(u) = ln((e^u - 1)/u) - 1 + u/(e^u - 1), the largest ln E exp(u (W - E W)) for W in [0, 1].
    """
    e, rest = np.exp(-u), -np.expm1(-u)
    share = u * e / rest
    return (1 + e - share) / rest - 1 / u, share - u * share / rest - np.log(rest / u)


def _root(function: Callable[[np.ndarray], np.ndarray], value: np.ndarray) -> np.ndarray:
    """The largest u up to rounding for which an increasing function is below a value."""
    low, high = np.full(value.shape, 1e-2), np.full(value.shape, np.exp(700.0))
    for _ in range(HALVINGS):
        u = np.sqrt(low) * np.sqrt(high)
        is_below = function(u) < value
        low, high = np.where(is_below, u, low), np.where(is_below, high, u)
    return low


def _standard_deviations(
    delta: ArrayLike, two_sided: bool, method: str, n: ArrayLike
) -> np.ndarray:
    """The z at which `_sub_gaussian` is delta."""
    largest = np.sqrt(_twice_log_inverse(delta, two_sided))
    if not is_sharp(method):
        return largest
    # z = 2 r sqrt(n) for the r with n kl(p + r || p) = largest² / 2.
    level = np.asarray(largest**2 / 2 / n)
    small = np.sqrt(level / 2) * (1 - level / 18)
    exact = _worst(_root(lambda u: _worst(u)[1], level))[0]
    r = np.where(level > 2 * SMALL**2, exact, small)
    moment = np.sqrt(1 / np.asarray(delta, dtype=np.float64) - (not two_sided))
    return np.asarray(np.minimum(2 * r * np.sqrt(n), moment))


def _tail_of_ranges(
    name: str, t: ArrayLike, ranges: ArrayLike, two_sided: bool, method: str
) -> float | np.ndarray:
    deviations = checked_numbers("t", t, 0)
    sigma = _half_norm(name, ranges)
    n = np.count_nonzero(ranges, axis=-1)
    return as_result(_sub_gaussian(deviations, sigma, two_sided, method, n))


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
