"""Tails from the mean and from the moment generating function [Shah, §2.1]."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from sklearn_ensemble_theory.bounds._arguments import as_result, check_number, checked_numbers

__all__ = ["chernoff_tail", "markov_tail"]

# Powers of 2 among which the best exponent is bracketed: any scale that a variable may have.
EXPONENTS = 2.0 ** np.arange(-200, 201)


def markov_tail(t: ArrayLike, mean: ArrayLike) -> float | np.ndarray:
    """Bound on P(W >= t) for a non-negative variable W, by Markov's inequality.

    It is min(1, E W / t) [Shah, §2.1]. Parameters broadcast against each other.

    Parameters
    ----------
    t : float or array-like
        Threshold, above 0, in units of W.

    mean : float or array-like
        Expectation of W, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound on the probability. It is attained by a variable on {0, t}.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import markov_tail
    >>> markov_tail([1.0, 4.0], mean=2.0)
    array([1. , 0.5])
    """
    t = checked_numbers("t", t, 0, open_low=True)
    mean = checked_numbers("mean", mean, 0)
    # min(mean, t) / t instead of min(1, mean / t): no overflow for small t.
    return as_result(np.minimum(mean, t) / t)


def chernoff_tail(
    t: ArrayLike, log_mgf: Callable[[float], float], *, alpha_max: float | None = None
) -> float | np.ndarray:
    """Bound on P(W >= t) by the moment generating function of W, the Chernoff bound.

    It is the infimum over alpha > 0 of exp(-alpha t) E exp(alpha W) [Shah, §2.1], and at most 1.

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

    Notes
    -----
    The exponent is convex in alpha, so that its minimum is bracketed by powers of 2 and then found
    by Brent's method, about 450 calls of `log_mgf` for each t. The rounding error of the difference
    log_mgf(alpha) - alpha t is added to it, so that cancellation does not lower the result.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

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
    if alpha_max is not None:
        check_number("alpha_max", alpha_max, 0, open_low=True)
        alphas = np.append(alphas[alphas < alpha_max], alpha_max)

    def exponent(alpha: float, threshold: float) -> float:
        try:
            value = float(log_mgf(float(alpha)))
        except OverflowError:
            return math.inf
        product = float(alpha) * threshold
        if not (math.isfinite(value) and math.isfinite(product)):
            return math.inf
        return value - product + 4 * np.finfo(float).eps * (abs(value) + abs(product))

    bounds = np.ones(thresholds.shape)
    with np.errstate(all="ignore"):
        for i, threshold in np.ndenumerate(thresholds):
            # alpha_max itself is not used: it is only the end of a bracket.
            inner = alphas if alpha_max is None else alphas[:-1]
            values = [exponent(alpha, threshold) for alpha in inner]
            best = int(np.argmin(values))
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
