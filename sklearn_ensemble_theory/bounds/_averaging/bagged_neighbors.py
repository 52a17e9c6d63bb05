"""Bounds on averages and votes of nearest neighbours and of classifiers."""

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)
from sklearn_ensemble_theory.bounds._averaging.subsampled_rows import (
    bagged_neighbors_variance_bound,
)

__all__ = [
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagging_pac_n_estimators",
    "independent_neighbors_risk_bound",
    "voting_error_bound",
]


@in_floats
def bagged_neighbors_risk_bound(
    n_samples: int,
    max_samples: int,
    n_features: int,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of the bagged nearest neighbour without replacement.

    4 B^2 diam^2 s^(-2/d) + sigma^2 (s/n) / (1 + 1/n - s/n)^2: the squared distance to the nearest
    of s rows, and the variance bound of
    :func:`~sklearn_ensemble_theory.bounds.bagged_neighbors_variance_bound`.

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    max_samples : int
        Number s of rows drawn for each fit, at most n.

    n_features : int
        Dimension d of the inputs, at least 2.

    lipschitz : float, default=1.0
        Lipschitz constant B of the regression function, in units of y per unit of x.

    diameter : float, default=1.0
        Diameter of the set that the inputs come from.

    noise_variance : float, default=1.0
        Bound sigma^2 on the variance of y given x.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    bagged_neighbors_optimal_max_samples : The s that minimises it.

    Notes
    -----
    [Bach, §10.1.2], with the factor sigma^2 that is missing from the printed variance term.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagged_neighbors_risk_bound
    >>> round(bagged_neighbors_risk_bound(10_000, 100, 2), 4)
    0.0502
    """
    check_number("n_features", n_features, 2, integral=True)
    check_number("lipschitz", lipschitz, 0)
    check_number("diameter", diameter, 0, open_low=True)
    variance = bagged_neighbors_variance_bound(n_samples, max_samples, noise_variance)
    return float(4 * (lipschitz * diameter) ** 2 * max_samples ** (-2 / n_features) + variance)


@in_floats
def bagged_neighbors_optimal_max_samples(
    n_samples: int,
    n_features: int,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
) -> int:
    """Return the subsample size s that minimises the bound on the bagged nearest neighbour.

    The bound is :func:`~sklearn_ensemble_theory.bounds.bagged_neighbors_risk_bound`. The optimal s
    grows as n^(d/(d+2)), up to rounding, with a constant that depends on the problem:
    (8 B^2 diam^2 / (d sigma^2))^(d/(d+2)) where s is small compared with n.

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    n_features : int
        Dimension d of the inputs, at least 2.

    lipschitz : float, default=1.0
        Lipschitz constant B of the regression function.

    diameter : float, default=1.0
        Diameter of the set that the inputs come from.

    noise_variance : float, default=1.0
        Bound sigma^2 on the variance of y given x.

    Returns
    -------
    max_samples : int
        The size, from 1 to n; the smaller one if two are equally good.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The bound is that of [Bach, §10.1.2]. It is convex in s, so bisection on its differences finds
    the minimum in O(log n).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagged_neighbors_optimal_max_samples
    >>> bagged_neighbors_optimal_max_samples(10_000, 2)
    192
    """

    def bound(s: int) -> float:
        return bagged_neighbors_risk_bound(
            n_samples,
            s,
            n_features,
            lipschitz=lipschitz,
            diameter=diameter,
            noise_variance=noise_variance,
        )

    bound(1)  # checks the arguments
    low, high = 1, int(n_samples)
    while low < high:
        middle = (low + high) // 2
        if bound(middle + 1) < bound(middle):
            low = middle + 1
        else:
            high = middle
    return low


@in_floats
def independent_neighbors_risk_bound(
    n_samples: int,
    n_neighbors: int,
    n_features: int,
    n_estimators: int = 1,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of k-NN averaged over m independent data sets.

    sigma^2 / (k m) + 8 B^2 diam^2 (2k/n)^(2/d): averaging m independent fits divides the variance
    by m and does not change the bias.

    Parameters
    ----------
    n_samples : int
        Number n of rows of each data set.

    n_neighbors : int
        Number k of neighbours, at most n.

    n_features : int
        Dimension d of the inputs, at least 2.

    n_estimators : int, default=1
        Number m of data sets.

    lipschitz : float, default=1.0
        Lipschitz constant B of the regression function.

    diameter : float, default=1.0
        Diameter of the set that the inputs come from.

    noise_variance : float, default=1.0
        Bound sigma^2 on the variance of y given x.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, §10.1.1]. The printed bound has the variance term sigma^2 / k; the text (variance divided
    by m) and the optimal k derived there correspond to sigma^2 / (k m), as here.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import independent_neighbors_risk_bound
    >>> round(independent_neighbors_risk_bound(1000, 5, 2, n_estimators=4), 3)
    0.13
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_neighbors", n_neighbors, 1, n_samples, integral=True)
    check_number("n_features", n_features, 2, integral=True)
    check_number("n_estimators", n_estimators, 1, integral=True)
    check_number("lipschitz", lipschitz, 0)
    check_number("diameter", diameter, 0, open_low=True)
    check_number("noise_variance", noise_variance, 0)
    bias = 8 * (lipschitz * diameter) ** 2 * (2 * n_neighbors / n_samples) ** (2 / n_features)
    return float(noise_variance / (n_neighbors * n_estimators) + bias)


def voting_error_bound(error: ArrayLike) -> float | np.ndarray:
    """Bound on the error of a vote over randomised classifiers: min(1, 2 error).

    If a randomised classifier errs with probability `error`, over the data, the point and its own
    randomness, then the vote of any number of independent copies, and the limit of infinitely many,
    errs with at most twice that probability. Applied point by point to the class that the Bayes
    classifier does not choose, this proves [Ghoshdastidar, theorem En.1]: votes of consistent
    classifiers are consistent.

    Parameters
    ----------
    error : float or array-like of float
        Probability of error of the randomised classifier, in [0, 1].

    Returns
    -------
    bound : float or ndarray of float
        The bounds; a float where `error` is a float.

    Raises
    ------
    ValueError
        If `error` is outside [0, 1].

    Notes
    -----
    [Ghoshdastidar, theorem En.1], steps 2.1 and 3.1 of its proof, by Markov's inequality: the vote
    errs only where at least half of the copies do.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import voting_error_bound
    >>> voting_error_bound(0.1)
    0.2
    """
    return as_result(np.minimum(1.0, 2 * checked_numbers("error", error, 0, 1)))


def bagging_pac_n_estimators(n_samples: int, delta: float = 0.05) -> int:
    """Number of members with which bagging of empirical risk minimisers is an optimal PAC learner.

    For a class of VC dimension d whose best member makes no error, the majority vote of
    T = ceil(18 ln(2 n / delta)) empirical risk minimisers, fitted to bootstrap samples of
    n >= C (d + ln(1/delta)) / epsilon rows, has with probability 1 - delta a risk of at most
    epsilon [Ghoshdastidar, theorem En.3; Larsen, 2023]. Up to the constant C, no learner needs
    fewer rows.

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
    The cost is O(1).

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    K. G. Larsen (2023). "Bagging is an optimal PAC learner". *Conference on Learning Theory*.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators
    >>> bagging_pac_n_estimators(1000), bagging_pac_n_estimators(1000, delta=1e-6)
    (191, 386)
    """
    check_number("n_samples", n_samples, 1, integral=True)
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}.")
    # The logarithm of a quotient as a difference: 2 n / delta may overflow.
    return math.ceil(18 * (math.log(2 * n_samples) - math.log(delta)))
