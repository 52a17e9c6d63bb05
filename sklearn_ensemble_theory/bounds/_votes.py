"""Votes of classifiers: their error by that of their members, and their complexity.

A vote of T classifiers, one from each of classes of VC dimensions d_1, ..., d_T, has at most
prod_t Phi_{d_t}(n) behaviours on n rows, and as many times Phi_T(n) if the weights of the members
depend on the data, as those of boosting do. The inequality of Vapnik and Chervonenkis turns these
numbers into errors on new rows.
"""

import math
from numbers import Real

import numpy as np
from scipy.special import betaln

from sklearn_ensemble_theory._rows import normalised_weights
from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import as_result, check_integer, check_number, checked_numbers
from ._finite_classes import sauer_shelah_bound

# Of the dimensions of one vote together, whose sums are added up one by one.
MOST_DIMENSIONS = 10**7


def voting_error_bound(error: ArrayLike) -> float | np.ndarray:
    """Bound on the error of a vote over randomised classifiers: min(1, 2 error).

    If a randomised classifier errs with probability `error`, over the data, the point and its own
    randomness, then the vote of any number of independent copies, and the limit of infinitely many,
    errs with at most twice that probability. Applied point by point to the class that the Bayes
    classifier does not choose, this proves [Ghoshdastidar, theorem En.1]: votes of consistent
    classifiers are consistent. From [Ghoshdastidar, theorem En.1], steps 2.1 and 3.1 of its proof,
    by Markov's inequality: the vote errs only where at least half of the copies do.

    Parameters
    ----------
    error : float or array-like of float
        Probability of error of the randomised classifier, in [0, 1].

    Returns
    -------
    bound : float or ndarray of float
        The bounds; a float where `error` is a float.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import voting_error_bound
    >>> voting_error_bound(0.1)
    0.2
    """
    return as_result(np.minimum(1.0, 2 * checked_numbers("error", error, 0, 1)))


def held_out_voting_error_bound(
    true_shares: ArrayLike,
    sample_weight: ArrayLike | None = None,
    delta: float | None = None,
) -> float:
    """Bound on the error of a vote by twice the mean error of its members on given rows.

    A vote of any number of classes errs only on rows where the members for the true class have at
    most half of the votes. By Markov's inequality its error is at most twice the mean e of 1 -
    share, the error of a member drawn at random [Ghoshdastidar, theorem En.1]; on new rows, with
    probability at least 1 - delta over the given ones, at most

        2 (e + sqrt(ln(1/delta) / (2 n))).

    The deviation is Hoeffding's inequality for the mean error of the members, which is in [0, 1].

    Parameters
    ----------
    true_shares : array-like of shape (n_samples,)
        The share of the votes that the true class of each row gets, or its mean probability, in
        [0, 1].
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the rows. n is then (sum w)² / sum w².
    delta : float, default=None
        None bounds the error on the given rows. A number in (0, 1) bounds the probability of an
        error on a new row; the rows must be independent draws that were not used for the members.

    %(bound_at_most_1)s

    See Also
    --------
    voting_error_bound : The bound from the error of a randomised classifier.

    Examples
    --------
    Three members, of which one errs on the second row and two on the third:

    >>> from sklearn_ensemble_theory.bounds import held_out_voting_error_bound
    >>> round(held_out_voting_error_bound([1, 2 / 3, 1 / 3, 1]), 6)
    0.5
    """
    shares = checked_numbers("true_shares", true_shares, 0, 1)
    weight = np.ones_like(shares)
    if sample_weight is not None:
        weight = checked_numbers("sample_weight", sample_weight, 0)
    if shares.ndim != 1 or not len(shares):
        raise ValueError("true_shares must have one number for each of at least one row.")
    if weight.shape != shares.shape:
        raise ValueError("sample_weight must have one number for each row.")
    weight = normalised_weights(weight, len(weight))
    error = float(weight @ (1 - shares))
    if delta is not None:
        check_number("delta", delta, 0, 1, open_low=True)
        error += math.sqrt(-math.log(delta) / 2 * float(weight @ weight))
    return min(1.0, 2 * max(error, 0.0))


def bagging_pac_n_estimators(n_samples: int, delta: float = 0.05) -> int:
    """Number of members with which bagging of empirical risk minimisers is an optimal PAC learner.

    For a class of VC dimension d whose best member makes no error, the majority vote of T = ceil(18
    ln(2 n / delta)) empirical risk minimisers, fitted to bootstrap samples of n >= C (d +
    ln(1/delta)) / epsilon rows, has with probability 1 - delta a risk of at most epsilon
    [Ghoshdastidar, theorem En.3; Larsen, 2023]. Up to the constant C, no learner needs fewer rows.
    The cost is O(1).

    %(of_n_samples)s
    %(delta)s

    Returns
    -------
    n_estimators : int
        T, the number of members.

    %(raises)s

    References
    ----------
    K. G. Larsen (2023). "Bagging is an optimal PAC learner". *Conference on Learning Theory*.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators
    >>> bagging_pac_n_estimators(1000), bagging_pac_n_estimators(1000, delta=1e-6)
    (191, 386)
    """
    check_integer("n_samples", n_samples, 1)
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}.")
    # The logarithm of a quotient as a difference: 2 n / delta may overflow.
    return math.ceil(18 * (math.log(2 * n_samples) - math.log(delta)))


def voting_vc_dimension_bound(vc_dimensions: ArrayLike) -> int:
    """Bound on the VC dimension of a majority vote of classifiers from given classes.

    The labels that the vote gives to N points are determined by those of its members, so that it
    gives at most prod_t Phi_{d_t}(N) different ones, where Phi_d(N) = sum_{i <= d} (N choose i) is
    the Sauer-Shelah bound for a class of VC dimension d. The bound is the largest N for which the
    product is at least 2^N. For T classes of dimension d it is O(d T log(d T)), as stated in
    [Ghoshdastidar]. The cost is O(D log D) for D the sum of the dimensions.

    Parameters
    ----------
    vc_dimensions : int or array-like of int
        VC dimensions d_1, ..., d_T of the classes of the members, each at least 1; several members
        of one class are several numbers.

    Returns
    -------
    bound : int
        A number that the VC dimension of the class of votes does not exceed, for any fixed weights
        of the members.

    %(raises)s

    See Also
    --------
    voting_generalization_bound : The bound on the error that follows.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import voting_vc_dimension_bound
    >>> voting_vc_dimension_bound([3]), voting_vc_dimension_bound([3, 3, 3])
    (3, 40)
    """
    dimensions = _checked_dimensions(vc_dimensions)

    def shatters(n: int) -> bool:
        # A tolerance for rounding: both sides are logarithms of whole numbers.
        return _log_growth(dimensions, n) >= n * math.log(2) - 1e-9

    # True for the sum of the dimensions. The logarithm is concave in N: it changes once.
    low = sum(dimensions)
    high = 2 * low
    while shatters(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if shatters(middle) else (low, middle)
    return low


def voting_generalization_bound(
    n_samples: int, vc_dimensions: ArrayLike, delta: float = 0.05
) -> float:
    """Bound on the difference between the error of a vote and its training error.

    With probability at least 1 - delta over n independent rows, for all members from the classes
    at once,

        error <= training error + 2 sqrt(2 (sum_t ln Phi_{d_t}(2n) + ln(2/delta)) / n),

    where Phi_d(N) = sum_{i <= d} (N choose i). It is the explicit form of the bound of order
    sqrt((d T log(d T) ln(2en) + ln(1/delta)) / n) of [Ghoshdastidar], and smaller, as it uses the
    number of labellings instead of the VC dimension. The constants are those of the
    Vapnik-Chervonenkis inequality in [Bousquet, Boucheron and Lugosi, 2004]. The cost is O(D) for D
    the sum of the dimensions.

    %(of_n_samples)s
    vc_dimensions : int or array-like of int
        VC dimensions of the classes of the members, one number for each member, at least 1.
    %(delta)s

    %(bound_on_difference)s

    See Also
    --------
    voting_vc_dimension_bound : The VC dimension of the class of votes.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import voting_generalization_bound
    >>> round(voting_generalization_bound(100_000, [3, 3, 11]), 3)
    0.123
    """
    dimensions = _checked_dimensions(vc_dimensions)
    check_integer("n_samples", n_samples, 1)
    return _deviation(n_samples, _log_growth(dimensions, 2 * n_samples), delta)


def _checked_dimensions(vc_dimensions: ArrayLike) -> list[int]:
    values = np.atleast_1d(np.asarray(vc_dimensions))
    if values.ndim > 1 or not values.size or values.dtype.kind not in "iu" or (values < 1).any():
        raise ValueError(
            f"vc_dimensions must be integers of at least 1, at least one, got {vc_dimensions!r}."
        )
    dimensions = [int(d) for d in values]
    if sum(dimensions) > MOST_DIMENSIONS:
        raise ValueError(
            f"vc_dimensions must add up to at most {MOST_DIMENSIONS:_}; got {sum(dimensions):_}."
        )
    return dimensions


def weighted_voting_generalization_bound(
    n_samples: int, n_members: int, vc_dimension: int, delta: float = 0.05
) -> float:
    """Bound on the error minus the training error of a weighted vote, for any weights.

    With probability at least 1 - delta over n independent rows, for all votes sign(sum_t b_t h_t)
    of T classifiers h_t from a class of VC dimension d and all real weights b_t at once,

        error <= training error + 2 sqrt(2 (T ln Phi_d(2n) + ln Phi_T(2n) + ln(2/delta)) / n)

    with Phi_d(N) = sum_{i <= d} (N choose i). It is an explicit form of the bound on AdaBoost of
    [Ghoshdastidar, theorem En.5], of order sqrt((d T log(dT) ln n + ln(1/delta)) / n). On 2n rows
    the T members give at most Phi_d(2n)^T different tuples of labels, and half-spaces through the
    origin of R^T divide the 2n tuples in at most Phi_T(2n) ways. The constants are those of the
    Vapnik-Chervonenkis inequality in [Bousquet, Boucheron and Lugosi, 2004].

    %(of_n_samples)s
    n_members : int
        Number T of members: the largest possible one, if it depends on the data.
    vc_dimension : int
        VC dimension d of the class of the members.
    %(delta)s

    %(bound_on_difference)s

    See Also
    --------
    voting_generalization_bound : A vote with weights that are fixed before the data.
    stump_generalization_bound : A smaller bound for decision stumps.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import weighted_voting_generalization_bound
    >>> round(weighted_voting_generalization_bound(100_000, 10, 2), 3)
    0.167
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_members", n_members, 1)
    check_integer("vc_dimension", vc_dimension, 1)
    N = 2 * n_samples
    log_growth = n_members * _log_growth([vc_dimension], N) + _log_growth([n_members], N)
    return _deviation(n_samples, log_growth, delta)


def stump_generalization_bound(
    n_samples: int, n_features: int, n_members: int = 1, delta: float = 0.05
) -> float:
    """Bound on the error minus the training error of a decision stump, or of a vote of stumps.

    With probability at least 1 - delta over n independent rows of p features, for all stumps, or
    all votes sign(sum_t b_t h_t) of T stumps with any real weights b_t, at once

        error <= training error + 2 sqrt(2 (ln S + ln(2/delta)) / n),

    where S bounds the number of different labels that they give to 2n rows. With m = p (2n - 1) +
    1, the number of stumps that differ on 2n rows up to their sign, S = 2 m for one stump and S =
    (m + T - 1 choose T) Phi_T(2n) for T > 1 of them; see `weighted_voting_generalization_bound`.
    With the exact number of stumps instead of a VC dimension, this is the bound on AdaBoost of
    [Ghoshdastidar, theorem En.5]. For one feature and distinct rows S = 2m is the number of
    different labels.

    %(of_n_samples)s
    n_features : int
        Number p of features.
    n_members : int, default=1
        Number T of stumps: the largest possible one, if it depends on the data.
    %(delta)s

    %(bound_on_difference)s

    See Also
    --------
    sklearn_ensemble_theory.erm.stump_dictionary : The stumps that differ on given rows.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_generalization_bound
    >>> round(stump_generalization_bound(10_000, 10), 3)
    0.115
    >>> round(stump_generalization_bound(10_000, 10, n_members=20), 3)
    0.538
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_features", n_features, 1)
    check_integer("n_members", n_members, 1)
    T, N = n_members, 2 * n_samples
    m = n_features * (N - 1) + 1
    log_growth = math.log(2 * m)
    if T > 1:
        # (m + T - 1 choose T) multisets of T of m stumps, times the votes of T given functions.
        log_multisets = -math.log(m + T) - float(betaln(float(T + 1), float(m)))
        log_growth = log_multisets + _log_growth([T], N)
    return _deviation(n_samples, log_growth, delta)


def _log_growth(dimensions: list[int], n: int) -> float:
    """The logarithm of prod_t Phi_{d_t}(n)."""
    return sum(dimensions.count(d) * sauer_shelah_bound(n, d, log=True) for d in set(dimensions))


def _deviation(n_samples: int, log_growth: float, delta: float) -> float:
    """The Vapnik-Chervonenkis inequality for at most exp(log_growth) labellings of 2n rows."""
    check_number("delta", delta, 0, 1, open_low=True)
    log_ratio = log_growth + math.log(2) - math.log(delta)
    return min(1.0, 2 * math.sqrt(2 * log_ratio / n_samples))
