"""Empirical risk minimisation over finitely many functions, or finitely many behaviours of them.

What counts is the logarithm of their number [Shah, §2.2]. An infinite class of VC dimension d has
at most Phi_d(n) = sum_{i <= d} (n choose i) behaviours on n rows, by the lemma of Sauer and Shelah,
instead of up to 2^n [Shah, §2.5].
"""

import math

import numpy as np
from scipy.special import betaln, logsumexp

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import (
    as_result,
    check_integer,
    check_number,
    checked_numbers,
    in_floats,
    is_sharp,
)
from ._concentration import hoeffding_deviation
from ._rademacher import finite_behaviours_rademacher_bound, rademacher_excess_risk_bound

# Of a sum of binomial coefficients.
MOST_TERMS = 10**6


@in_floats
def finite_class_bound(
    n_samples: float,
    log_n_hypotheses: float,
    delta: float = 0.05,
    *,
    loss_bound: float = 1.0,
    method: str = "source",
) -> float:
    """Bound on the excess risk of empirical risk minimisation over a finite class.

    With probability at least 1 - delta, the risk of the function of H with the least empirical
    risk exceeds the least risk in H by at most

        M sqrt(2 (log |H| + log(1/delta)) / n)

    for losses in [0, M], by Hoeffding's inequality and a union bound. From [Shah, theorem 6]. The
    class H must not depend on the rows. The constant cannot be improved: for two constant
    classifiers and small delta, the probability that the worse one is chosen is almost as large as
    the bound allows. ``method="sharp"`` is

        M sqrt(1 - (delta / (|H| - 1))^(2/n)),

    which is never above M. Take a function with excess risk M x. The difference between its loss
    and the loss of the best function is in [-M, M] with the mean M x. The mean of this difference
    over the rows is not positive with a probability of at most exp(-n kl(1/2 || (1 + x)/2)) = (1 -
    x²)^(n/2) [Hoeffding, 1963, theorem 1], for each of the |H| - 1 other functions.

    Parameters
    ----------
    n_samples : float
        Number n of independent rows. For weighted empirical risks, the square of the sum of the
        weights divided by the sum of their squares; for "sharp" their sum divided by the largest.
    log_n_hypotheses : float
        Natural logarithm of the number |H| of functions.
    %(delta)s
    loss_bound : float, default=1.0
        Bound M on the loss; 1 for the misclassification loss.
    %(method)s

    Returns
    -------
    bound : float
        The bound, in units of the loss; at most M, where it says nothing.

    %(raises)s

    References
    ----------
    W. Hoeffding (1963). "Probability inequalities for sums of bounded random variables". *Journal
    of the American Statistical Association* 58.

    Examples
    --------
    The histogram classifier with 10 x 10 cells:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import finite_class_bound
    >>> round(finite_class_bound(10_000, 100 * np.log(2)), 4)
    0.1203
    >>> [round(finite_class_bound(30, np.log(100), method=m), 4) for m in ("source", "sharp")]
    [0.7118, 0.6302]
    """
    check_number("n_samples", n_samples, 0, open_low=True)
    check_number("log_n_hypotheses", log_n_hypotheses, 0)
    check_number("delta", delta, 0, 1, open_low=True)
    check_number("loss_bound", loss_bound, 0)
    if not is_sharp(method):
        deviation = math.sqrt(2 * (log_n_hypotheses + math.log(1 / delta)) / n_samples)
        return loss_bound * min(1.0, deviation)
    if log_n_hypotheses == 0:
        return 0.0
    # log(|H| - 1)
    log_others = log_n_hypotheses + math.log(-math.expm1(-log_n_hypotheses))
    exponent = min(0.0, 2 * (math.log(delta) - log_others) / n_samples)
    return loss_bound * math.sqrt(-math.expm1(exponent))


@in_floats
def histogram_class_bound(
    n_samples: float,
    n_intervals: int,
    n_features: int = 2,
    delta: float = 0.05,
    *,
    n_classes: int = 2,
    method: str = "source",
) -> float:
    """Bound on the excess error of the histogram classifier.

    A box is divided into m^p cells, m intervals of each of p features, and each cell predicts its
    most frequent class. This is empirical risk minimisation over K^(m^p) classifiers. With
    probability at least 1 - delta its error exceeds the error of the best labels of the cells by at
    most

        sqrt(2 (m^p log K + log(1/delta)) / n)

    by [Shah, theorem 6], whose example has p = 2 and K = 2 [Shah, §2.2]. ``method="sharp"`` is that
    of `finite_class_bound`.

    Parameters
    ----------
    n_samples : float
        Number n of independent rows, above 0.
    n_intervals : int
        Number m of intervals of each feature, at least 1.
    n_features : int, default=2
        Number p of features, at least 1.
    %(delta)s
    n_classes : int, default=2
        Number K of classes, at least 2.
    %(method)s

    Returns
    -------
    bound : float
        The bound, at most 1, where it says nothing.

    %(raises)s

    See Also
    --------
    sklearn_ensemble_theory.HistogramClassifier : The classifier.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import histogram_class_bound
    >>> round(histogram_class_bound(10_000, 10), 4)
    0.1203
    >>> [round(histogram_class_bound(200, 10, method=m), 3) for m in ("source", "sharp")]
    [0.85, 0.717]
    """
    check_integer("n_intervals", n_intervals, 1)
    check_integer("n_features", n_features, 1)
    check_integer("n_classes", n_classes, 2)
    n_cells = float(n_intervals) ** n_features
    return min(
        1.0, finite_class_bound(n_samples, n_cells * math.log(n_classes), delta, method=method)
    )


@in_floats
def cross_validation_oracle_bound(
    n_candidates: int,
    fold_sizes: ArrayLike,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    *,
    method: str = "source",
) -> float:
    """Bound on the excess risk of the candidate that cross-validation chooses.

    Candidates are fitted to the training rows of each of v splits, and that with the smallest mean
    loss on the n held-out rows is chosen. With R_j the mean over the held-out rows of the risks of
    the fitted functions of candidate j, with probability at least 1 - delta

        R_chosen <= min_j R_j + sum_k (n_k/n) M sqrt(2 ln(c/delta) / n_k),

    where c is the number m of candidates for one split and 2 m v for several. For one split this is
    the bound for finite classes of functions of [Shah, theorem 6]. ``method="sharp"`` is that of
    `finite_class_bound` for one split, and has twice the `hoeffding_deviation` with this method at
    delta/c in each of several.

    Parameters
    ----------
    n_candidates : int
        Number m of candidates.
    fold_sizes : float or array-like of float
        Numbers n_k of the held-out rows of the v splits, at least 1. With weights, the effective
        numbers (sum w)^2 / sum w^2; for "sharp" and one split, sum w / max w.
    %(delta)s
    loss_bound : float, default=1.0
        M: the loss of every candidate is in [0, M].
    %(method)s

    Returns
    -------
    bound : float
        The bound on R_chosen - min_j R_j, in units of the loss, at most M; 0 for one candidate.

    %(raises)s

    See Also
    --------
    oracle_selection_bound : In expectation, with a faster rate, for example for the squared error.

    Notes
    -----
    Given its training rows, the losses of a split are independent, and Hoeffding's inequality holds
    for each candidate. With several splits the best candidate depends on the rows of all splits.
    Both deviations are therefore bounded for all candidates, by a union over 2 m v events. The
    bound is on the functions that were fitted to the splits; it assumes independent rows, and a
    held-out row in one split only. The cost is O(v).

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import cross_validation_oracle_bound
    >>> round(cross_validation_oracle_bound(10, 2_000), 3)
    0.073
    >>> round(cross_validation_oracle_bound(10, [2_000] * 5), 3)
    0.087
    >>> [round(cross_validation_oracle_bound(10, 20, method=m), 3) for m in ("source", "sharp")]
    [0.728, 0.636]
    """
    check_integer("n_candidates", n_candidates, 1)
    check_number("delta", delta, 0, 1, open_low=True)
    check_number("loss_bound", loss_bound, 0)
    sizes = np.atleast_1d(checked_numbers("fold_sizes", fold_sizes, 1))
    if sizes.ndim > 1 or not sizes.size:
        raise ValueError(f"fold_sizes must be at least one number, got {fold_sizes!r}.")
    if n_candidates == 1:
        return 0.0
    n_events = n_candidates if len(sizes) == 1 else 2 * n_candidates * len(sizes)
    if is_sharp(method):
        if len(sizes) == 1:
            log_number = math.log(n_candidates)
            return finite_class_bound(
                float(sizes[0]), log_number, delta, loss_bound=loss_bound, method=method
            )
        share = max(delta / n_events, 5e-324)  # the least float above 0
        exact = np.asarray(hoeffding_deviation(sizes, share, method=method))
        return float(np.average(2 * loss_bound * exact, weights=sizes))
    log_events = math.log(n_events) - math.log(delta)
    deviation = float(np.average(np.sqrt(2 * log_events / sizes), weights=sizes))
    return loss_bound * min(1.0, deviation)


def sauer_shelah_bound(
    n_samples: int, vc_dimension: int, *, polynomial: bool = False, log: bool = False
) -> float:
    """Bound on the number of behaviours of a class of VC dimension d on n points.

    It is sum_{i <= d} (n choose i), which is at most (n + 1)^d, the bound of the Sauer-Shelah lemma
    [Shah, lemma 13]. For n <= d the sum is 2^n. The sum is [Shah, lemma 13] as its proof has it,
    and attained by the class of all sets of at most d points. The cost is O(d).

    Parameters
    ----------
    n_samples : int
        Number n of points, at least 0.
    vc_dimension : int
        VC dimension d, at least 0.
    polynomial : bool, default=False
        Whether (n + 1)^d is returned instead of the sum.
    log : bool, default=False
        Whether the natural logarithm of the bound is returned.

    Returns
    -------
    bound : float
        The bound, a whole number, or its logarithm; inf where it is no float.

    %(raises)s

    See Also
    --------
    finite_behaviours_rademacher_bound : What the number of behaviours bounds.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import sauer_shelah_bound
    >>> sauer_shelah_bound(10, 2), sauer_shelah_bound(10, 2, polynomial=True)
    (56.0, 121.0)
    """
    check_integer("n_samples", n_samples, 0)
    check_integer("vc_dimension", vc_dimension, 0)
    if log:
        if polynomial:
            return vc_dimension * math.log1p(n_samples)
        return _log_binomial_sum(n_samples, vc_dimension)
    if polynomial:
        return _as_float((n_samples + 1) ** vc_dimension)
    if _log_binomial_sum(n_samples, vc_dimension) > 710.0:
        return math.inf
    # In integers, so that the number is exact where a float can hold it.
    term = total = 1
    for i in range(min(n_samples, vc_dimension)):
        term = term * (n_samples - i) // (i + 1)
        total += term
    return _as_float(total)


def _log_binomial_sum(n: int, d: int) -> float:
    """The logarithm of Phi_d(n) = sum_{i <= d} (n choose i)."""
    if d >= n:
        return n * math.log(2)
    # (n choose i) = 1 / ((n + 1) B(n - i + 1, i + 1)), in logarithms.
    # Terms that are further from the largest one are less than 1e-40 of it.
    near = 7 * math.isqrt(n) + 1
    i = np.arange(max(0, min(d, n // 2) - near), min(d, n // 2 + near) + 1.0)
    return float(logsumexp(-betaln(float(n) - i + 1, i + 1))) - math.log(n + 1)


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


@in_floats
def vc_rademacher_bound(
    n_samples: ArrayLike, vc_dimension: ArrayLike, *, method: str = "source"
) -> float | np.ndarray:
    """Bound on the Rademacher complexity by the VC dimension.

    For classifiers with values -1 and 1, and for their misclassification losses, it is
    sqrt(2 d log(n + 1) / n), by [Shah, lemma 12] and [Shah, lemma 13]. Parameters broadcast.
    ``method="sharp"`` is `finite_behaviours_rademacher_bound` with this method for the sum of
    `sauer_shelah_bound`. The misclassification losses have half of it.

    %(of_points)s
    %(vc_dimension)s
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, at most 1.

    %(raises)s

    See Also
    --------
    finite_behaviours_rademacher_bound : With the number of behaviours, which is smaller.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import vc_rademacher_bound
    >>> round(vc_rademacher_bound(10_000, 3), 4)
    0.0743
    >>> round(vc_rademacher_bound(10_000, 3, method="sharp"), 4)
    0.0719
    """
    n = checked_numbers("n_samples", n_samples, 1)
    d = checked_numbers("vc_dimension", vc_dimension, 0)
    if is_sharp(method):
        return finite_behaviours_rademacher_bound(n, _log_growth(n, d), method=method)
    return as_result(np.minimum(1.0, np.sqrt(2 * d * np.log1p(n) / n)))


@np.vectorize
def _log_growth(n: float, d: float) -> float:
    """The logarithm of the sum of `sauer_shelah_bound`, or a bound on it for a large d."""
    if d > MOST_TERMS and d < n:  # the sum is at most (e n / d)^d
        return min(n * math.log(2), d * (1 + math.log(n / d)))
    return _log_binomial_sum(math.ceil(n), math.ceil(d))


@in_floats
def vc_excess_risk_bound(
    n_samples: ArrayLike,
    vc_dimension: ArrayLike,
    delta: ArrayLike = 0.05,
    *,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the excess error of empirical risk minimisation over a class of VC dimension d.

    With probability at least 1 - delta over n independent rows, the error of the classifier with
    the fewest training errors exceeds the least error in the class by at most

        2 sqrt(2 d log(n + 1) / n) + sqrt(2 log(2/delta) / n)

    by [Shah, theorem 11] with `vc_rademacher_bound`. It is an explicit form of the rate
    O(sqrt(d log(n) / n)) of [Ghoshdastidar]. Parameters broadcast.

    ``method="sharp"`` is `rademacher_excess_risk_bound` with half of `vc_rademacher_bound`, both
    with this method: the losses, 0 and 1, have half the complexity of the classifiers.

    %(of_points)s
    %(vc_dimension)s
    %(deltas)s
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, at most 1, where it says nothing.

    %(raises)s

    See Also
    --------
    voting_generalization_bound : A bound for votes, over the training error.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import vc_excess_risk_bound
    >>> round(vc_excess_risk_bound(10_000, 3), 4)
    0.1758
    >>> round(vc_excess_risk_bound(10_000, 3, method="sharp"), 4)
    0.0963
    """
    n = checked_numbers("n_samples", n_samples, 1)
    delta = checked_numbers("delta", delta, 0, 1, open_low=True)
    complexity = vc_rademacher_bound(n, vc_dimension, method=method)
    if is_sharp(method):
        half = np.asarray(complexity) / 2
        return as_result(
            np.minimum(1.0, rademacher_excess_risk_bound(half, n, delta, method=method))
        )
    deviation = np.sqrt(2 * (np.log(2) - np.log(delta)) / n)
    return as_result(np.minimum(1.0, 2 * np.asarray(complexity) + deviation))


def pac_n_samples_upper_bound(
    vc_dimension: int, eps: float, delta: float = 0.05, *, method: str = "source"
) -> int:
    """Number of rows with which any classifier without training errors is accurate.

    If a classifier of a class of VC dimension d makes no error, then with

        n >= max((4 / eps) log2(2 / delta), (8 d / eps) log2(13 / eps))

    rows, with probability at least 1 - delta all classifiers of the class without training errors
    have an error of at most eps [Blumer et al., 1989]. It is the upper bound C_2 (d log(1/eps) +
    log(1/delta)) / eps of [Ghoshdastidar] on the sample size of empirical risk minimisation, with
    explicit constants. Logarithms have base 2. The proof bounds the probability by 2 Phi_d(2n)
    2^(-eps n / 2), where Phi_d is `sauer_shelah_bound`; ``method="sharp"`` is the smallest n for
    which that is at most delta.

    Parameters
    ----------
    vc_dimension : int
        VC dimension d, at least 1.
    eps : float
        Error, above 0 and at most 1.
    %(delta)s
    %(method)s

    %(rows_rounded_up)s

    See Also
    --------
    pac_n_samples_lower_bound : What no learner can go below.
    bagging_pac_n_estimators : Bagging, which needs fewer rows up to a constant.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler and M. K. Warmuth (1989). "Learnability and the
    Vapnik-Chervonenkis dimension". *Journal of the ACM*.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import pac_n_samples_upper_bound
    >>> pac_n_samples_upper_bound(2, eps=0.1)
    1124
    >>> pac_n_samples_upper_bound(2, eps=0.1, method="sharp")
    484
    """
    _check_pac(vc_dimension, 1, eps, 1.0, delta, 1.0)
    by_delta = 4 / eps * (1 - math.log2(delta))
    by_dimension = 8 * vc_dimension / eps * math.log2(13 / eps)
    most = _rounded_up(max(by_delta, by_dimension))
    if not is_sharp(method):
        return most

    def is_enough(n: int) -> bool:
        log_probability = math.log(2) + _log_binomial_sum(2 * n, vc_dimension)
        return log_probability - eps * n / 2 * math.log(2) <= math.log(delta)

    # The logarithm is concave in n: it is above that of delta, and then below.
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def pac_n_samples_lower_bound(vc_dimension: int, eps: float, delta: float = 0.01) -> int:
    """Number of rows that any learner of a class of VC dimension d needs.

    For a number of rows below

        max(((1 - eps) / eps) log(1/delta), (d - 1) / (32 eps))

    and any deterministic learner, some distribution of the points is hard. For a classifier of the
    class that makes no error on it, the learner's error exceeds eps with a probability above delta
    [Ehrenfeucht et al., 1989]. It is the lower bound C_1 (d + log(1/delta)) / eps of
    [Ghoshdastidar] with explicit constants. The first term comes from a single rare point, whose
    label is unknown unless it is drawn. The second term comes from d - 1 rare points with random
    labels, of which too few are drawn. Logarithms are natural.

    Parameters
    ----------
    vc_dimension : int
        VC dimension d, at least 2.
    eps : float
        Error, above 0 and at most 1/8.
    delta : float, default=0.01
        Probability of a larger error, above 0 and at most 1/100.

    Returns
    -------
    n_samples : int
        The number of rows, rounded up: fewer do not suffice.

    %(raises)s

    See Also
    --------
    pac_n_samples_upper_bound : What empirical risk minimisation needs at most.

    References
    ----------
    A. Ehrenfeucht, D. Haussler, M. Kearns and L. Valiant (1989). "A general lower bound on the
    number of examples needed for learning". *Information and Computation*.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import pac_n_samples_lower_bound
    >>> pac_n_samples_lower_bound(2, eps=0.1), pac_n_samples_lower_bound(1_000, eps=0.1)
    (42, 313)
    """
    _check_pac(vc_dimension, 2, eps, 0.125, delta, 0.01)
    by_delta = -(1 - eps) / eps * math.log(delta)
    return _rounded_up(max(by_delta, (vc_dimension - 1) / (32 * eps)))


def _check_pac(
    vc_dimension: int, least: int, eps: float, eps_max: float, delta: float, delta_max: float
) -> None:
    check_integer("vc_dimension", vc_dimension, least)
    check_number("eps", eps, 0, eps_max, open_low=True)
    check_number("delta", delta, 0, delta_max, open_low=True)


def _rounded_up(n: float) -> int:
    if not math.isfinite(n):
        raise ValueError("eps is too small: the number of rows is no float.")
    return math.ceil(n)
