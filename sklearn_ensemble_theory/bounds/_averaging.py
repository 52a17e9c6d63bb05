"""Bounds of the averaging wing."""

import math
from numbers import Integral, Real


def bagging_pac_n_estimators(n_samples, delta=0.05):
    """Members with which bagging of empirical risk minimisers is an optimal PAC learner.

    Theorem En.3 of [001], after Larsen: for a class of VC dimension d whose best member makes no
    error, the majority vote of T = ceil(18 ln(2 n / delta)) empirical risk minimisers, fitted to
    bootstrap samples of n >= C (d + ln(1/delta)) / epsilon rows, has with probability 1 - delta a
    risk of at most epsilon; no learner can do with fewer rows but for the constant C.

    Parameters
    ----------
    n_samples : int
        Number n of training rows, at least 1.

    delta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    n_estimators : int
        T, the number of members.

    Raises
    ------
    ValueError
        If `n_samples` is not an integer of at least 1 or `delta` is not in (0, 1).

    Notes
    -----
    Cost: O(1).

    References
    ----------
    .. [1] [001] theorem En.3.
    .. [2] K. G. Larsen, "Bagging is an optimal PAC learner", COLT 2023.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators
    >>> bagging_pac_n_estimators(1000), bagging_pac_n_estimators(1000, delta=1e-6)
    (191, 386)
    """
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of at least 1, got {n_samples!r}.")
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}.")
    # The logarithm of a quotient as a difference: 2 n / delta may overflow.
    return math.ceil(18 * (math.log(2 * n_samples) - math.log(delta)))
