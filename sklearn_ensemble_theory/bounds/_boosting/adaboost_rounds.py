"""AdaBoost's rounds, training error and risk [Bach, §10.3.4; Ghoshdastidar, theorem En.4].

A round finds a weak classifier with the weighted error eps_t. Its edge is gamma_t = 1/2 - eps_t, so
that the correlation sum_i pi_i y_i psi_i of [Bach, §10.3.4] is 2 gamma_t. Logarithms are natural.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory._weights import normalised_weights
from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)
from sklearn_ensemble_theory.bounds._complexity.weighted_votes import (
    weighted_voting_generalization_bound,
)

__all__ = [
    "adaboost_coefficient",
    "adaboost_exponential_risk",
    "adaboost_generalization_bound",
    "adaboost_kappa_bound",
    "adaboost_n_rounds",
    "adaboost_normalizer",
    "adaboost_training_error_bound",
    "adaboost_weights",
]


def adaboost_normalizer(error: ArrayLike) -> Any:
    """The factor by which a round of AdaBoost lowers the exponential risk.

    It is Z = 2 sqrt(eps (1 - eps)) = sqrt(1 - 4 gamma²), the sum of the weights after the round if
    they are not normalised [Ghoshdastidar, theorem En.4].

    Parameters
    ----------
    error : array-like of numbers in [0, 1]
        eps, the weighted error of the weak classifier.

    Returns
    -------
    normalizer : float or ndarray of the shape of error
        Z, in [0, 1]. It is 1 at eps = 1/2, where nothing is gained, and 0 at eps = 0 or 1.

    Raises
    ------
    ValueError
        If an error is not in [0, 1].

    Notes
    -----
    [Bach, §10.3.4] prints 1 - e² for the correlation e = 1 - 2 eps; it is the square root of that.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_normalizer
    >>> adaboost_normalizer([0.5, 0.2, 0.0])
    array([1. , 0.8, 0. ])
    """
    error = checked_numbers("error", error, 0.0, 1.0)
    return as_result(2.0 * np.sqrt(error * (1.0 - error)))


def adaboost_coefficient(error: ArrayLike) -> Any:
    """The coefficient of a weak classifier in AdaBoost's vote, log((1 - eps)/eps) / 2.

    It minimises the exponential risk along the classifier [Bach, §10.3.4; Ghoshdastidar, theorem
    En.4]. `estimator_weights_` of `AdaBoostClassifier` is twice that, as in scikit-learn.

    Parameters
    ----------
    error : array-like of numbers in (0, 1)
        eps, the weighted error of the weak classifier.

    Returns
    -------
    coefficient : float or ndarray of the shape of error
        b, negative where the error is above 1/2.

    Raises
    ------
    ValueError
        If an error is not in (0, 1): at 0 and at 1 the coefficient is not finite.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_coefficient
    >>> round(adaboost_coefficient(0.2), 4)  # log(2)
    0.6931
    """
    error = checked_numbers("error", error, 0.0, 1.0, open_low=True, open_high=True)
    return as_result(0.5 * (np.log1p(-error) - np.log(error)))


def adaboost_weights(weight: ArrayLike, is_wrong: ArrayLike) -> np.ndarray:
    """The weights of the rows after a round of AdaBoost.

    The weight of a row is divided by 2 eps if its label is not predicted and by 2 (1 - eps) if it
    is, where eps is the share of the former in the weights. It is the exponential update
    [Ghoshdastidar, theorem En.4] with its coefficient and its normaliser inserted: afterwards the
    rows that were not predicted have half of the weight.

    Parameters
    ----------
    weight : array-like of shape (n_samples,)
        Weights before the round, not negative. They need not sum to 1.
    is_wrong : array-like of bool, of shape (n_samples,)
        Whether the weak classifier misses the label of the row.

    Returns
    -------
    weight : ndarray of shape (n_samples,)
        Weights after the round, with the sum 1.

    Raises
    ------
    ValueError
        If a weight is negative, if the shapes differ, or if either kind of rows has no weight.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_weights
    >>> adaboost_weights([0.25, 0.25, 0.25, 0.25], [True, False, False, False]).round(4)
    array([0.5   , 0.1667, 0.1667, 0.1667])
    """
    weight = checked_numbers("weight", weight, 0.0)
    wrong = np.asarray(is_wrong)
    if weight.ndim != 1 or wrong.shape != weight.shape or wrong.dtype.kind != "b":
        raise ValueError(
            "weight and is_wrong must be one-dimensional, of one length, the latter bool."
        )
    if not (weight[wrong].any() and weight[~wrong].any()):
        raise ValueError("weight must be positive on some rows with and some without is_wrong.")
    halves = np.empty_like(weight)
    for rows in (wrong, ~wrong):
        halves[rows] = 0.5 * normalised_weights(weight[rows], len(weight))
    return halves


def adaboost_exponential_risk(edges: ArrayLike) -> Any:
    """The exponential risk of AdaBoost after each round, from the edges of the rounds.

    The mean of exp(-y_i f_t(x_i)) is the product of sqrt(1 - 4 gamma_s²) over the rounds s up to t.
    The training error is at most that [Ghoshdastidar, theorem En.4].

    Parameters
    ----------
    edges : array-like of shape (..., n_rounds)
        gamma_t = 1/2 - eps_t, in [-1/2, 1/2].

    Returns
    -------
    risk : float or ndarray of the shape of edges
        The product over the rounds up to each one, along the last axis.

    Raises
    ------
    ValueError
        If an edge is not in [-1/2, 1/2].

    See Also
    --------
    adaboost_training_error_bound : exp(-2 sum gamma²), which is never below it.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_exponential_risk
    >>> adaboost_exponential_risk([0.3, 0.3, 0.4]).round(3)
    array([0.8  , 0.64 , 0.384])
    """
    edges = checked_numbers("edges", edges, -0.5, 0.5)
    factors = np.sqrt((1.0 - 2.0 * edges) * (1.0 + 2.0 * edges))
    return as_result(np.cumprod(factors, axis=-1) if factors.ndim else factors)


def adaboost_training_error_bound(edges: ArrayLike) -> Any:
    """Bound on the training error of AdaBoost after each round.

    It is exp(-2 sum_s gamma_s²) over the rounds s up to t; exp(-2 gamma² t) if every edge is at
    least gamma [Ghoshdastidar, theorem En.4].

    Parameters
    ----------
    edges : array-like of shape (..., n_rounds)
        gamma_t, or lower bounds on their absolute values, in [-1/2, 1/2].

    Returns
    -------
    bound : float or ndarray of the shape of edges
        The bound after each round, along the last axis.

    Raises
    ------
    ValueError
        If an edge is not in [-1/2, 1/2].

    See Also
    --------
    adaboost_exponential_risk : The smaller bound that the proof goes through.

    Notes
    -----
    It follows from 1 - x <= exp(-x) in each factor of `adaboost_exponential_risk`; the ratio of the
    two bounds of a round tends to 1 as the edge tends to 0.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import adaboost_training_error_bound
    >>> adaboost_training_error_bound(np.full(100, 1 / 6))[[0, 9, 99]].round(4)
    array([0.946 , 0.5738, 0.0039])
    """
    edges = checked_numbers("edges", edges, -0.5, 0.5)
    squares = edges**2
    return as_result(np.exp(-2.0 * (np.cumsum(squares, axis=-1) if squares.ndim else squares)))


@in_floats
def adaboost_n_rounds(n_samples: int, gamma: float) -> int:
    """The number of rounds after which AdaBoost makes no error on the training rows.

    It is T = ceil(ln n / (2 gamma²)) [Ghoshdastidar, theorem En.4]: there the training error is
    below exp(-2 gamma² T) <= 1/n, and it is a multiple of 1/n.

    Parameters
    ----------
    n_samples : int
        Number n of training rows, at least 1.
    gamma : float in (0, 1/2]
        The least edge of a round.

    Returns
    -------
    n_rounds : int
        T, at least 1. Fewer rounds may be enough.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_n_rounds
    >>> adaboost_n_rounds(1000, gamma=1 / 6)
    125
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("gamma", gamma, 0, 0.5, open_low=True)
    return max(1, math.ceil(math.log(n_samples) / (2.0 * gamma**2)))


def adaboost_generalization_bound(
    n_samples: int, n_rounds: int, vc_dimension: int, gamma: float = 0.0, delta: float = 0.05
) -> float:
    """Bound on the error of AdaBoost's vote on new rows.

    With probability at least 1 - delta over n independent rows, if every edge is at least gamma,
    the error is at most

        exp(-2 gamma² T) + 2 sqrt(2 (T ln Phi_d(2n) + ln Phi_T(2n) + ln(2/delta)) / n),

    where Phi_d(N) = sum_{i <= d} (N choose i). It is the explicit form of [Ghoshdastidar, theorem
    En.5], of order sqrt((d T log(d T) ln n + ln(1/delta)) / n).

    Parameters
    ----------
    n_samples : int
        Number n of training rows.
    n_rounds : int
        Number T of rounds.
    vc_dimension : int
        VC dimension d of the class of weak classifiers; 2 for stumps of both signs on one feature.
    gamma : float in [0, 1/2], default=0.0
        The least edge of a round. With 0 the bound is 1 or more; for the difference between the
        error and the training error subtract 1.
    delta : float, default=0.05
        Probability of failure, in (0, 1].

    Returns
    -------
    bound : float
        The bound on the error. It says nothing where it is 1 or more.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The vote is weighted with coefficients that depend on the rows. The labellings of N points that
    it gives are those of T weak classifiers, times those of a linear classifier on T variables
    without an intercept, of VC dimension T. This is the second term, which a vote with fixed
    weights (`voting_generalization_bound`) does not have; it does not change the order. The
    number of rounds need not be odd, as in the source: a vote of 0 may count as either class.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_generalization_bound
    >>> round(adaboost_generalization_bound(10**7, 101, vc_dimension=2, gamma=1 / 6), 3)
    0.065
    """
    check_number("n_rounds", n_rounds, 1, integral=True)
    check_number("gamma", gamma, 0, 0.5)
    deviation = weighted_voting_generalization_bound(n_samples, n_rounds, vc_dimension, delta)
    return math.exp(-2.0 * gamma**2 * n_rounds) + deviation


def adaboost_kappa_bound(t: ArrayLike, kappa: float) -> Any:
    """Bound on the exponential risk of AdaBoost after t rounds, from kappa of the dictionary.

    It is (1 - kappa²)^(t/2) [Bach, §10.3.4], for weak classifiers that are the best of a dictionary
    whose columns, -1 and +1, span all vectors of length n: then every round has a correlation of at
    least kappa sqrt(n) |pi|_2 >= kappa, whatever the weights pi.

    Parameters
    ----------
    t : array-like
        Numbers of rounds, not negative.
    kappa : float in [0, 1]
        The constant of the dictionary; see `matching_pursuit_kappa`. It is 0 if the columns do not
        span.

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound, also on the training error.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The source leaves the rate open; with the factor that it prints for a round it would be
    (1 - kappa²)^t, which the risk exceeds: a round leaves sqrt(1 - e²) of the risk.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_kappa_bound
    >>> adaboost_kappa_bound([0, 2, 4], kappa=0.6).round(4)
    array([1.    , 0.64  , 0.4096])
    """
    t = checked_numbers("t", t, 0.0)
    check_number("kappa", kappa, 0, 1)
    return as_result((1.0 - kappa**2) ** (t / 2.0))
