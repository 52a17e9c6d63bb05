"""Boosting of weak classifiers: AdaBoost, stumps as weak learners, and labels with noise.

A round finds a weak classifier with the weighted error eps_t. Its edge is gamma_t = 1/2 - eps_t, so
that the correlation sum_i pi_i y_i psi_i of [Bach, §10.3.4] is 2 gamma_t. Logarithms are natural.
"""

import math
from typing import Any

import numpy as np

from sklearn_ensemble_theory._rows import normalised_weights
from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import (
    as_result,
    check_integer,
    check_number,
    checked_numbers,
    in_floats,
    is_sharp,
)
from ._finite_classes import pac_n_samples_upper_bound, vc_excess_risk_bound
from ._rademacher import finite_behaviours_rademacher_bound, rademacher_excess_risk_bound
from ._votes import voting_generalization_bound, weighted_voting_generalization_bound


def adaboost_normalizer(error: ArrayLike) -> Any:
    """The factor by which a round of AdaBoost lowers the exponential risk.

    It is Z = 2 sqrt(eps (1 - eps)) = sqrt(1 - 4 gamma²), the sum of the weights after the round if
    they are not normalised [Ghoshdastidar, theorem En.4]. From [Bach, §10.3.4] prints 1 - e² for
    the correlation e = 1 - 2 eps; it is the square root of that.

    Parameters
    ----------
    error : array-like of numbers in [0, 1]
        eps, the weighted error of the weak classifier.

    Returns
    -------
    normalizer : float or ndarray of the shape of error
        Z, in [0, 1]. It is 1 at eps = 1/2, where nothing is gained, and 0 at eps = 0 or 1.

    %(raises)s

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

    %(raises)s

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

    Let eps be the share of the misclassified rows in the weights. The weight of a row is divided by
    2 eps if it is misclassified, and by 2 (1 - eps) if not. It is the exponential update
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

    %(raises)s

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
    # The coefficient of the round is the one for which either group gets half of the weight.
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

    %(raises)s

    See Also
    --------
    adaboost_training_error_bound : exp(-2 sum gamma²), which is never below it.

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
    least gamma [Ghoshdastidar, theorem En.4]. It follows from 1 - x <= exp(-x) in each factor of
    `adaboost_exponential_risk`; the ratio of the two bounds of a round tends to 1 as the edge tends
    to 0.

    Parameters
    ----------
    edges : array-like of shape (..., n_rounds)
        gamma_t, or lower bounds on their absolute values, in [-1/2, 1/2].

    Returns
    -------
    bound : float or ndarray of the shape of edges
        The bound after each round, along the last axis.

    %(raises)s

    See Also
    --------
    adaboost_exponential_risk : The smaller bound that the proof goes through.

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
def adaboost_n_rounds(n_samples: int, edge: float, *, method: str = "source") -> int:
    """The number of rounds after which AdaBoost makes no error on the training rows.

    It is T = ceil(ln n / (2 gamma²)) [Ghoshdastidar, theorem En.4]: there the training error is
    below exp(-2 gamma² T) <= 1/n, and it is a multiple of 1/n. ``method="sharp"`` is the first T
    for which (1 - 4 gamma²)^(T/2), by `adaboost_exponential_risk`, is below 1/n.

    %(of_n_samples)s
    edge : float in (0, 1/2]
        The least edge gamma of a round.
    %(method)s

    Returns
    -------
    n_rounds : int
        T, at least 1. Fewer rounds may be enough.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_n_rounds
    >>> adaboost_n_rounds(1000, edge=1 / 6)
    125
    >>> [adaboost_n_rounds(1000, edge=0.4, method=m) for m in ("source", "sharp")]
    [22, 14]
    """
    check_integer("n_samples", n_samples, 1)
    check_number("edge", edge, 0, 0.5, open_low=True)
    most = max(1, math.ceil(math.log(n_samples) / (2.0 * edge**2)))
    if not is_sharp(method):
        return most
    log_factor = -0.5 * math.log1p(-4 * edge**2) if edge < 0.5 else math.inf
    return min(most, math.floor(math.log(n_samples) / log_factor) + 1)


def adaboost_generalization_bound(
    n_samples: int,
    n_rounds: int,
    vc_dimension: int,
    edge: float = 0.0,
    delta: float = 0.05,
    *,
    method: str = "source",
) -> float:
    """Bound on the error of AdaBoost's vote on new rows.

    With probability at least 1 - delta over n independent rows, if every edge is at least gamma,
    the error is at most

        exp(-2 gamma² T) + 2 sqrt(2 (T ln Phi_d(2n) + ln Phi_T(2n) + ln(2/delta)) / n),

    where Phi_d(N) = sum_{i <= d} (N choose i). It is the explicit form of [Ghoshdastidar, theorem
    En.5], of order sqrt((d T log(d T) ln n + ln(1/delta)) / n). ``method="sharp"`` is e plus the
    `weighted_voting_generalization_bound` with this method for the training error e. Here e is the
    largest multiple of 1/n that is at most (1 - 4 gamma²)^(T/2). From `adaboost_n_rounds` on e is
    0, and the deviation has no square root.

    %(of_n_samples)s
    n_rounds : int
        Number T of rounds.
    vc_dimension : int
        VC dimension d of the class of weak classifiers; 2 for stumps of both signs on one feature.
    edge : float in [0, 1/2], default=0.0
        The least edge gamma of a round. With 0 the bound is 1; the difference between the error and
        the training error is bounded by `weighted_voting_generalization_bound`.
    %(delta)s
    %(method)s

    Returns
    -------
    bound : float
        The bound on the error, at most 1, where it says nothing.

    %(raises)s

    Notes
    -----
    The vote is weighted with coefficients that depend on the rows. The labellings of N points that
    it gives are those of T weak classifiers, times those of a linear classifier on T variables
    without an intercept, of VC dimension T. This is the second term, which a vote with fixed
    weights (`voting_generalization_bound`) does not have; it does not change the order. The
    number of rounds need not be odd, as in the source: a vote of 0 may count as either class.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_generalization_bound
    >>> round(adaboost_generalization_bound(10**7, 101, vc_dimension=2, edge=1 / 6), 3)
    0.065
    >>> sharp = adaboost_generalization_bound(
    ...     10**5, 250, vc_dimension=2, edge=1 / 6, method="sharp"
    ... )
    >>> round(sharp, 2)
    0.23
    """
    check_integer("n_rounds", n_rounds, 1)
    check_number("edge", edge, 0, 0.5)
    if is_sharp(method):
        check_integer("n_samples", n_samples, 1)
        risk = (1.0 - 4.0 * edge**2) ** (n_rounds / 2)
        # A product that is a whole number but for rounding counts as that number.
        e = min(1.0, math.floor(risk * n_samples * (1 + 1e-9)) / n_samples)
        deviation = weighted_voting_generalization_bound(
            n_samples, n_rounds, vc_dimension, delta, method=method, training_error=e
        )
        return min(1.0, e + deviation)
    deviation = weighted_voting_generalization_bound(n_samples, n_rounds, vc_dimension, delta)
    return min(1.0, math.exp(-2.0 * edge**2 * n_rounds) + deviation)


def adaboost_kappa_bound(n_rounds: ArrayLike, kappa: float) -> Any:
    """Bound on the exponential risk of AdaBoost after t rounds, from kappa of the dictionary.

    It is (1 - kappa²)^(t/2) [Bach, §10.3.4], for weak classifiers that are the best of a
    dictionary. The columns of the dictionary, of -1 and +1, must span all vectors of length n.
    Every round then has a correlation of at least kappa sqrt(n) |pi|_2 >= kappa, whatever the
    weights pi. The source leaves the rate open. With the factor that it prints for a round the rate
    would be (1 - kappa²)^t, but the risk exceeds this: a round leaves sqrt(1 - e²) of the risk.

    %(of_rounds)s
    kappa : float in [0, 1]
        The constant of the dictionary; see `matching_pursuit_kappa`. It is 0 if the columns do not
        span.

    Returns
    -------
    bound : float or ndarray of the shape of n_rounds
        The bound, also on the training error.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import adaboost_kappa_bound
    >>> adaboost_kappa_bound([0, 2, 4], kappa=0.6).round(4)
    array([1.    , 0.64  , 0.4096])
    """
    t = checked_numbers("n_rounds", n_rounds, 0.0)
    check_number("kappa", kappa, 0, 1)
    return as_result((1.0 - kappa**2) ** (t / 2.0))


@in_floats
def interval_stump_error(left: ArrayLike, middle: ArrayLike, right: ArrayLike) -> Any:
    """The least error of a decision stump if the labels are those of an interval.

    The labels are b inside (s, t) and -b outside. A stump is constant on both sides of one
    threshold, so it errs on one of the three parts of the line. The best stump errs on the part of
    least probability: the error is min(left, middle, right), at most 1/3 [Ghoshdastidar]. The edge
    1/2 - error of the best stump is at least 1/6 for any weights of the rows. By
    `adaboost_n_rounds`, boosting these stumps makes no error on n rows after 18 ln n rounds. The
    interval itself is a vote of three stumps: those with the thresholds s and t, and a constant.

    Parameters
    ----------
    left, middle, right : array-like
        Probabilities of the parts of the line before, in and after the interval, or weights of
        their rows. Not negative; they need not sum to 1.

    Returns
    -------
    error : float or ndarray
        The least share of a part, at most 1/3.

    %(raises)s

    See Also
    --------
    interval_stump_edge_bound : The edge of the stump that is found on a sample.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import interval_stump_error
    >>> interval_stump_error(0.5, 0.3, 0.2)
    0.2
    """
    parts = np.broadcast_arrays(
        checked_numbers("left", left, 0.0),
        checked_numbers("middle", middle, 0.0),
        checked_numbers("right", right, 0.0),
    )
    largest = np.max(parts, axis=0)
    if not np.all(largest > 0):
        raise ValueError("left, middle and right must not all be 0.")
    return as_result(np.min(parts, axis=0) / largest / np.sum(parts / largest, axis=0))


def interval_stump_edge_bound(
    n_samples: int, delta: float = 0.05, *, method: str = "source"
) -> float:
    """Bound on the edge of the stump with the least training error, for labels of an interval.

    With probability at least 1 - delta over n independent rows, the error of that stump on new rows
    is at most 1/2 minus

        1/6 - 2 sqrt(2 (ln Phi_2(2n) + ln(4/delta)) / n) - sqrt(ln(2/delta) / (2n)).

    From [Ghoshdastidar] takes so many rows that the error of the stump found is within 1/12 of the
    least, which leaves an edge of 1/12. Here that difference is bounded. The stumps of both signs
    have VC dimension 2 (`voting_generalization_bound` at delta/2), and Hoeffding's inequality
    bounds the training error of the best stump minus its error. ``method="sharp"`` is 1/6 minus the
    excess of `rademacher_excess_risk_bound` with this method. The stumps have 2 n behaviours on n
    rows, so the complexity of their losses is at most half of `finite_behaviours_rademacher_bound`,
    about sqrt(ln(2n) / (2n)).

    %(of_n_samples)s
    %(delta)s
    %(method)s

    Returns
    -------
    edge : float
        The edge, below 1/6 and at least -1/2, that of an error of 1. It says nothing where it is 0
        or less, as it is for 5,000 rows.

    %(raises)s

    See Also
    --------
    interval_stump_error : The least error of a stump, at most 1/3.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import interval_stump_edge_bound
    >>> round(interval_stump_edge_bound(100_000), 4)
    0.115
    >>> [round(interval_stump_edge_bound(5_000, method=m), 4) for m in ("source", "sharp")]
    [-0.0406, 0.0714]
    """
    check_integer("n_samples", n_samples, 1)
    check_number("delta", delta, 0, 1, open_low=True)
    if is_sharp(method):
        losses = float(
            finite_behaviours_rademacher_bound(
                n_samples, math.log(2 * n_samples), 0.5, method=method
            )
        )
        excess = rademacher_excess_risk_bound(losses, n_samples, delta, method=method)
        return max(-0.5, 1.0 / 6.0 - float(excess))
    return max(-0.5, 1.0 / 6.0 - _excess_of_best(n_samples, 2, delta))


def _excess_of_best(
    n_samples: int, vc_dimension: int, delta: float, method: str = "source"
) -> float:
    """By how much the error of the classifier with the least training error exceeds the least."""
    if is_sharp(method):
        return float(vc_excess_risk_bound(n_samples, vc_dimension, delta, method=method))
    deviation = voting_generalization_bound(n_samples, vc_dimension, delta / 2.0)
    return deviation + math.sqrt(math.log(2.0 / delta) / (2.0 * n_samples))


def weak_learning_n_samples(
    vc_dimension: int,
    edge: float,
    delta: float = 0.05,
    *,
    best_error: float = 0.0,
    method: str = "source",
) -> int:
    """Number of rows with which a learner of a class has an edge of gamma: m(1/2 - gamma, delta).

    Suppose that a learner reaches every error eps from m(eps, delta) rows on, with probability at
    least 1 - delta. It is then a weak learner of edge gamma from m(1/2 - gamma, delta) rows on
    [Ghoshdastidar]. A class of VC dimension d whose best classifier has the error `best_error`
    leaves eps = 1/2 - gamma - `best_error` to the learner.

    Parameters
    ----------
    vc_dimension : int
        VC dimension d of the learner's class, at least 1.
    edge : float in (0, 1/2)
        The edge gamma.
    %(delta)s
    best_error : float, default=0.0
        The error of the best classifier of the class, below 1/2 - gamma. 0 if the labels are those
        of the class, 1/3 for stumps and labels of an interval (`interval_stump_error`).
    %(method)s

    %(rows_rounded_up)s

    See Also
    --------
    pac_n_samples_upper_bound : m(eps, delta) where the labels are those of the class.
    adaboost_n_rounds : Rounds of boosting with this edge.

    Notes
    -----
    For `best_error` = 0 the learner returns a classifier without training errors, and m is
    `pac_n_samples_upper_bound`. Otherwise it returns one with the fewest, and m is the least n with

        2 sqrt(2 (ln Phi_d(2n) + ln(4/delta)) / n) + sqrt(ln(2/delta) / (2n)) <= eps,

    the excess over the best error that `interval_stump_edge_bound` explains for stumps.
    ``method="sharp"`` takes `pac_n_samples_upper_bound` and `vc_excess_risk_bound`,
    with this method.

    Examples
    --------
    Stumps for labels of stumps, and for those of an interval with an edge of 1/12:

    >>> from sklearn_ensemble_theory.bounds import weak_learning_n_samples
    >>> weak_learning_n_samples(2, edge=1 / 12)
    191
    >>> weak_learning_n_samples(2, edge=1 / 12, best_error=1 / 3)
    35927
    >>> weak_learning_n_samples(2, edge=1 / 12, best_error=1 / 3, method="sharp")
    10176
    """
    check_integer("vc_dimension", vc_dimension, 1)
    _check_inside("edge", edge, 0.0, 0.5)
    check_number("delta", delta, 0, 1, open_low=True)
    check_number("best_error", best_error, 0)
    is_sharp(method)  # checks it
    eps = 0.5 - edge - best_error
    if eps <= 0:
        raise ValueError(
            f"best_error must be below 1/2 - edge = {0.5 - edge:g}, got {best_error!r}."
        )
    if best_error == 0:
        return pac_n_samples_upper_bound(vc_dimension, eps, delta, method=method)
    if eps < 1e-6:
        raise ValueError("1/2 - edge - best_error is too small: it must be at least 1e-6.")
    # The excess decreases with n: doubling, then halving the interval.
    high = 1
    while _excess_of_best(high, vc_dimension, delta, method) > eps:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if _excess_of_best(middle, vc_dimension, delta, method) > eps:
            low = middle
        else:
            high = middle
    return high


@in_floats
def smooth_boosting_n_rounds(smoothness: float, edge: float, *, method: str = "source") -> float:
    """Bound on the number of rounds of SmoothBoost until the training error is below kappa.

    It is 2 / (kappa gamma² sqrt(1 - gamma)) (Servedio 2003), if every weak learner has an edge of
    at least gamma under the weights of its round. With c = -log(1 - gamma)/2 and Phi(N) the
    integral of M(s) = min(1, exp(-c s)) from 0 to N, a step d with abs(d) <= 1 + theta satisfies
    Phi(N + d) - Phi(N) >= M(N) (d - gamma abs(d) / 2). Sum over the rounds and average over the
    rows. The right-hand side is at least gamma kappa for each round, and the left-hand side is at
    most 1/c <= 2/gamma in total. ``method="sharp"`` is the number of rounds that this leaves, 1 /
    (c gamma kappa).

    Parameters
    ----------
    smoothness : float in (0, 1)
        The training error.
    edge : float in (0, 1/2]
        The edge gamma.
    %(method)s

    Returns
    -------
    n_rounds : float
        Boosting ends after fewer rounds.

    %(raises)s

    References
    ----------
    R. A. Servedio (2003). "Smooth boosting and learning with malicious noise". *Journal of Machine
    Learning Research* 4, 633-648.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import smooth_boosting_n_rounds
    >>> round(smooth_boosting_n_rounds(smoothness=0.1, edge=0.2))
    559
    >>> round(smooth_boosting_n_rounds(smoothness=0.1, edge=0.2, method="sharp"))
    448
    """
    _check_inside("smoothness", smoothness, 0.0, 1.0)
    check_number("edge", edge, 0, 0.5, open_low=True)
    if is_sharp(method):
        return 2.0 / (-math.log1p(-edge) * edge * smoothness)
    return 2.0 / (smoothness * edge**2 * math.sqrt(1.0 - edge))


@in_floats
def smooth_boosting_error_bound(optimum: float, slack: float = 0.0, edge: float = 0.01) -> float:
    """Bound on the training error of SmoothBoost with a weak agnostic learner.

    A beta-weak agnostic learner of a class F has, under any weights of the rows, at most beta above
    the least error in F (Ben-David, Long and Mansour 2001). If F has the error `optimum` under
    equal weights, SmoothBoost reaches every training error of at least

        kappa = optimum / (1/2 - beta - gamma)

    with the edge gamma, in at most `smooth_boosting_n_rounds` rounds for kappa and gamma. No row
    has more than 1/kappa times its weight. In every round the least error in F is therefore at most
    optimum/kappa, and the edge of the weak learner at least 1/2 - beta - optimum/kappa = gamma.

    Parameters
    ----------
    optimum : float
        The least error in F on the rows, at least 0.
    slack : float, default=0.0
        beta, at least 0. Decision stumps are learners of intervals with 1/3: the best stump errs
        where the best interval does, and on the part of the line of the least weight.
    edge : float, default=0.01
        gamma, positive; beta + gamma has to be below 1/2. Smaller edges take more rounds.

    Returns
    -------
    bound : float
        kappa, the `smoothness` of SmoothBoost; at most 1, where it says nothing.

    %(raises)s

    See Also
    --------
    sklearn_ensemble_theory.SmoothBoostClassifier : The algorithm, with ``smoothness=kappa``.
    agnostic_boosting_error_bound : For learners that find a share of the largest correlation.

    Notes
    -----
    Ben-David, Long and Mansour (2001) have c optimum^c' for numbers c and c' that depend on beta.
    A bound that is linear in the optimum goes back to Gavinsky (2003); this one follows from that
    of Servedio (2003). The bound of agnostic boosting for the same learner, whose correlation is
    within 2 beta of the largest, tends to optimum + beta, which is larger for small optima.

    References
    ----------
    S. Ben-David, P. M. Long and Y. Mansour (2001). "Agnostic boosting". *Proceedings of the 14th
    Annual Conference on Computational Learning Theory*, 507-516.

    D. Gavinsky (2003). "Optimally-smooth adaptive boosting and application to agnostic learning".
    *Journal of Machine Learning Research* 4, 101-117.

    R. A. Servedio (2003). "Smooth boosting and learning with malicious noise". *Journal of Machine
    Learning Research* 4, 633-648.

    Examples
    --------
    Stumps, if the best interval misses 1 % of the labels; and agnostic boosting after many rounds:

    >>> from sklearn_ensemble_theory.bounds import agnostic_boosting_error_bound
    >>> from sklearn_ensemble_theory.bounds import smooth_boosting_error_bound
    >>> round(smooth_boosting_error_bound(0.01, slack=1 / 3, edge=0.05), 4)
    0.0857
    >>> round(agnostic_boosting_error_bound(10**6, optimum=0.01, slack=2 / 3), 3)
    0.345
    """
    check_number("optimum", optimum, 0, 1)
    check_number("slack", slack, 0)
    check_number("edge", edge, 0, open_low=True)
    left = 0.5 - slack - edge
    if left <= 0:
        raise ValueError(f"slack + edge must be below 1/2, got {slack!r} + {edge!r}.")
    return min(1.0, optimum / left)


@in_floats
def agnostic_boosting_error_bound(
    n_rounds: int,
    optimum: float = 0.0,
    weakness: float = 1.0,
    slack: float = 0.0,
    learning_rate: float = 1.0,
) -> float:
    """Bound on the least training error over the rounds of agnostic boosting.

    In one of the rounds the error is at most

        optimum + (c + (c + slack)/gamma) / 2,   c = 1/sqrt(nu (1 - nu/2) n_rounds),

    where `optimum` is the least error of a class of classifiers. The correlation of the weak
    learner with the relabelled rows must be at least gamma times the largest in the class, minus
    `slack`.

    Parameters
    ----------
    n_rounds : int
        The number of rounds.
    optimum : float, default=0.0
        The least error of the class.
    weakness : float in (0, 1], default=1.0
        gamma, the share of the largest correlation that the weak learner finds; 1 for the learner
        that maximises it, such as the exact stump for the class of stumps.
    slack : float, default=0.0
        What the weak learner may fall short of that.
    learning_rate : float in (0, 2), default=1.0
        nu, the factor of each step.

    Returns
    -------
    bound : float
        At most 1, where it says nothing.

    %(raises)s

    Notes
    -----
    A step of nu times the correlation c lowers the potential, which is 1 at the start and never
    negative, by nu (1 - nu/2) c². So one of the rounds has a correlation of at most the c above,
    for the weak learner and for -sign(H). The weights are w = 1 where y H <= 0 and w < 1 elsewhere.
    Twice the difference of the errors of sign(H) and of any h is at most the mean of w y (h -
    sign(H)), the sum of their two correlations (after Kalai and Kanade 2009).

    References
    ----------
    A. T. Kalai and V. Kanade (2009). "Potential-based agnostic boosting". *Advances in Neural
    Information Processing Systems* 22, 880-888.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import agnostic_boosting_error_bound
    >>> agnostic_boosting_error_bound(800, optimum=0.2)
    0.25
    """
    check_integer("n_rounds", n_rounds, 1)
    check_number("optimum", optimum, 0, 1)
    check_number("slack", slack, 0)
    check_number("weakness", weakness, 0, 1, open_low=True)
    _check_inside("learning_rate", learning_rate, 0.0, 2.0)
    c = 1.0 / math.sqrt(learning_rate * (1 - learning_rate / 2) * n_rounds)
    return min(1.0, optimum + 0.5 * (c + (c + slack) / weakness))


@in_floats
def massart_confidence_threshold(noise_rate: float, margin: float) -> float:
    """The score from which on Massart boosting leaves out a row.

    It is s = log((1 - eta)/eta) - log((1 + 2 alpha)/(1 - 2 alpha)). Suppose that each label is
    wrong with a probability of at most eta given x. If abs(G(x)) < s, it is wrong with a
    probability of less than 1/2 - alpha under the measure min(1, exp(-y G(x))). The largest share
    of wrong labels at x is that of G(x) > 0 with the true label +1, where it is eta / (eta + (1 -
    eta) exp(-G(x))).

    Parameters
    ----------
    noise_rate : float in [0, 1/2)
        eta.
    margin : float in [0, 1/2 - eta)
        The margin alpha.

    Returns
    -------
    threshold : float
        s; inf without noise, where no row is left out.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import massart_confidence_threshold
    >>> round(massart_confidence_threshold(noise_rate=0.2, margin=0.1), 3)
    0.981
    """
    check_number("noise_rate", noise_rate, 0)
    check_number("margin", margin, 0)
    if not noise_rate < 0.5:
        raise ValueError(f"noise_rate must be in [0, 0.5), got {noise_rate!r}.")
    if not margin < 0.5 - noise_rate:
        raise ValueError(
            f"margin must be in [0, 1/2 - noise_rate), got {margin!r} with "
            f"noise_rate={noise_rate!r}."
        )
    shift = math.log1p(2 * margin) - math.log1p(-2 * margin)
    if noise_rate == 0:
        return math.inf
    return math.log1p(-noise_rate) - math.log(noise_rate) - shift


@in_floats
def massart_boosting_error_bound(
    noise_rate: float, margin: float, smoothness: float = 0.0, tol: float = 0.0
) -> float:
    """Bound on the error of Massart boosting once the density of its measure is below kappa.

    With s the `massart_confidence_threshold`, it is

        1/(1 + exp(s)) + kappa + tol/(1 + exp(-s)),

    and 1/(1 + exp(s)) = eta (1 + 2 alpha) / (1 - 2 alpha (1 - 2 eta)) = eta (1 + O(alpha)).
    Misclassified rows that are not confident have the measure 1, so their share is at most kappa.
    Moving the confident scores towards 0 gains at least P(wrong) - exp(-s) P(right) over them. If
    that is at most tol, P(wrong) is at most P(confident)/(1 + exp(s)) + tol/(1 + exp(-s)). Without
    this move the error among confident rows has no such bound.

    Parameters
    ----------
    noise_rate : float in [0, 1/2)
        eta, which no label's noise exceeds.
    margin : float in [0, 1/2 - eta)
        The margin alpha.
    smoothness : float, default=0.0
        The density.
    tol : float, default=0.0
        The gain of moving confident scores towards 0 that is ignored.

    Returns
    -------
    bound : float
        On the share of rows whose label, noise included, is not predicted; at most 1.

    %(raises)s

    References
    ----------
    I. Diakonikolas, R. Impagliazzo, D. M. Kane, R. Lei, J. Sorrell and C. Tzamos (2021). "Boosting
    in the presence of Massart noise". *Proceedings of the 34th Conference on Learning Theory*,
    1585-1644.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import massart_boosting_error_bound
    >>> round(massart_boosting_error_bound(noise_rate=0.2, margin=0.01, smoothness=0.01), 4)
    0.2165
    """
    s = massart_confidence_threshold(noise_rate, margin)
    check_number("smoothness", smoothness, 0, 1)
    check_number("tol", tol, 0)
    return min(1.0, 1.0 / (1.0 + math.exp(s)) + smoothness + tol / (1.0 + math.exp(-s)))


@in_floats
def massart_boosting_n_rounds(
    noise_rate: float, margin: float, edge: float, smoothness: float, tol: float
) -> float:
    """Bound on the number of rounds of Massart boosting.

    With s the `massart_confidence_threshold` it is 2 / (c min(c, s/8)), where c is min(2 gamma
    kappa, tol), if every weak learner has an edge of at least gamma. The weak learner's vote gains
    at least 2 gamma kappa for the rows that are not confident. It is added to the scores of all
    rows only if that gains more than `tol`. A step b along a gain of c lowers the potential by at
    least b c - b²/2, and b = min(c, s/8).

    Parameters
    ----------
    noise_rate, margin : float
        As for `massart_confidence_threshold`.
    edge : float in (0, 1/2]
        The edge gamma under the measure, whose labels are wrong with a probability below
        1/2 - alpha.
    smoothness : float in (0, 1)
        Boosting ends where the density of the measure is below this, and
    tol : float
        no more than this is gained by moving confident scores towards 0; positive.

    Returns
    -------
    n_rounds : float

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import massart_boosting_n_rounds
    >>> round(massart_boosting_n_rounds(0.2, 0.05, edge=0.1, smoothness=0.2, tol=0.01))
    20000
    """
    s = massart_confidence_threshold(noise_rate, margin)
    check_number("edge", edge, 0, 0.5, open_low=True)
    _check_inside("smoothness", smoothness, 0.0, 1.0)
    check_number("tol", tol, 0, open_low=True)
    c = min(2 * edge * smoothness, tol)
    return 2.0 / (c * min(c, s / 8))


def _check_inside(name: str, value: float, low: float, high: float) -> None:
    check_number(name, value, low, high, open_low=True)
    if value == high:
        raise ValueError(f"{name} must be in ({low:g}, {high:g}), got {value!r}.")
