"""Votes of classifiers: their error by that of their members, and their complexity.

A vote of T classifiers, one from each of classes of VC dimensions d_1, ..., d_T, has at most
prod_t Phi_{d_t}(n) behaviours on n rows, and as many times Phi_T(n) if the weights of the members
depend on the data, as those of boosting do. The inequality of Vapnik and Chervonenkis turns these
numbers into errors on new rows.
"""

import math
from collections.abc import Callable
from numbers import Real

import numpy as np
from scipy.special import betaln

from sklearn_ensemble_theory._rows import normalised_weights
from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import as_result, check_integer, check_number, checked_numbers, is_sharp
from ._finite_classes import sauer_shelah_bound
from ._majority_votes import kl_inverse
from ._rademacher import finite_behaviours_rademacher_bound, uniform_deviation_bound

# Of the dimensions of one vote together, whose sums are added up one by one.
MOST_DIMENSIONS = 10**7


def voting_error_bound(error: ArrayLike, bayes_error: ArrayLike = 0.0) -> float | np.ndarray:
    """Bound on the error of a vote over randomised classifiers: twice their excess error.

    Suppose that a randomised classifier errs with probability `error`, over the data, the point and
    its own randomness. The vote of any number of independent copies, and the limit of infinitely
    many, then errs with at most twice that probability. For two classes only the excess over the
    error B of the Bayes classifier doubles:

        error of the vote <= min(1 - B, 2 error - B).

    Therefore votes of consistent classifiers are consistent [Ghoshdastidar, theorem En.1]. It is
    Markov's inequality, as in steps 2.1 and 3.1 of the proof there: the vote differs from the Bayes
    classifier only where at least half of the copies do. Let a copy differ from it at a point with
    probability a, and let the Bayes classifier err there with probability q <= 1/2. Then the copy
    has the excess (1 - 2q) a, and the vote at most (1 - 2q) 2 a.

    Parameters
    ----------
    error : float or array-like of float
        Probability of error of the randomised classifier, in [0, 1].
    bayes_error : float or array-like of float, default=0.0
        B, the least error that any classifier has, for two classes: at most 1/2 and at most
        `error`, or a lower bound on it. With 0 the bound is for any number of classes, of which the
        copies may choose more than one wrong one.

    Returns
    -------
    bound : float or ndarray of float
        The bounds; a float where both arguments are numbers.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import voting_error_bound
    >>> voting_error_bound(0.1)
    0.2
    >>> voting_error_bound(0.25), round(voting_error_bound(0.25, bayes_error=0.2), 2)
    (0.5, 0.3)
    """
    e = checked_numbers("error", error, 0, 1)
    bayes = checked_numbers("bayes_error", bayes_error, 0, 0.5)
    if np.any(bayes > e):
        raise ValueError(f"bayes_error must be at most error={error!r}, got {bayes_error!r}.")
    return as_result(np.minimum(1.0 - bayes, 2 * e - bayes))


def held_out_voting_error_bound(
    true_shares: ArrayLike,
    sample_weight: ArrayLike | None = None,
    delta: float | None = None,
    *,
    method: str = "source",
) -> float:
    """Bound on the error of a vote by twice the mean error of its members on given rows.

    A vote of any number of classes errs only on rows where the members for the true class have at
    most half of the votes. By Markov's inequality its error is at most twice the mean e of 1 -
    share, the error of a member drawn at random [Ghoshdastidar, theorem En.1]. On new rows, with
    probability at least 1 - delta over the given rows, it is at most

        2 (e + sqrt(ln(1/delta) / (2 n))).

    The deviation is Hoeffding's inequality for the mean error of the members, which is in [0, 1].
    With ``method="sharp"`` it is Chernoff's: at most 2 kl⁻¹(e, ln(1/delta) / n), by `kl_inverse`,
    which is much less for a small e. For unequal weights w of sum 1 it holds with n = 1 / max w,
    because ln(1 - p + p exp(t)) is convex in t.

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
    %(method)s

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

    A thousand rows in which the true class has 95 % of the votes:

    >>> shares = [0.95] * 1000
    >>> [round(held_out_voting_error_bound(shares, delta=0.05, method=m), 3)
    ...  for m in ("source", "sharp")]
    [0.177, 0.137]
    """
    sharp = is_sharp(method)
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
        if sharp:
            error = min(max(error, 0.0), 1.0)
            return min(1.0, 2 * float(kl_inverse(error, -math.log(delta) * float(weight.max()))))
        error += math.sqrt(-math.log(delta) / 2 * float(weight @ weight))
    return min(1.0, 2 * max(error, 0.0))


def bagging_pac_n_estimators(n_samples: int, delta: float = 0.05) -> int:
    """Number of members with which bagging of empirical risk minimisers is an optimal PAC learner.

    Take a class of VC dimension d whose best member makes no error, and n >= C (d + ln(1/delta)) /
    epsilon rows. With probability 1 - delta, the majority vote of T = ceil(18 ln(2 n / delta))
    empirical risk minimisers, fitted to bootstrap samples, has a risk of at most epsilon
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

    The labels that the vote gives to N points follow from the labels of its members. It therefore
    gives at most prod_t Phi_{d_t}(N) different labellings. Here Phi_d(N) = sum_{i <= d} (N choose
    i) is the Sauer-Shelah bound for a class of VC dimension d. The bound is the largest N for which
    the product is at least 2^N. For T classes of dimension d it is O(d T log(d T)), as stated in
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
    n_samples: int,
    vc_dimensions: ArrayLike,
    delta: float = 0.05,
    *,
    method: str = "source",
    training_error: float | None = None,
) -> float:
    """Bound on the difference between the error of a vote and its training error.

    With probability at least 1 - delta over n independent rows, for all members from the classes
    at once,

        error <= training error + 2 sqrt(2 (sum_t ln Phi_{d_t}(2n) + ln(2/delta)) / n),

    where Phi_d(N) = sum_{i <= d} (N choose i). It is the explicit form of the bound of order
    sqrt((d T log(d T) ln(2en) + ln(1/delta)) / n) of [Ghoshdastidar]. It is smaller, because it
    uses the number of labellings instead of the VC dimension. The constants are those of the
    Vapnik-Chervonenkis inequality in [Bousquet, Boucheron and Lugosi, 2004]. The cost is O(D) for D
    the sum of the dimensions.

    %(of_n_samples)s
    vc_dimensions : int or array-like of int
        VC dimensions of the classes of the members, one number for each member, at least 1.
    %(delta)s
    %(sharp_votes)s

    %(bound_on_difference)s

    See Also
    --------
    voting_vc_dimension_bound : The VC dimension of the class of votes.

    %(notes_on_sharp_votes)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import voting_generalization_bound
    >>> round(voting_generalization_bound(100_000, [3, 3, 11]), 3)
    0.123
    >>> round(voting_generalization_bound(100_000, [3, 3, 11], method="sharp"), 3)
    0.063
    """
    dimensions = _checked_dimensions(vc_dimensions)
    check_integer("n_samples", n_samples, 1)
    return _deviation(
        n_samples, lambda n: _log_growth(dimensions, n), delta, method, training_error
    )


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
    n_samples: int,
    n_members: int,
    vc_dimension: int,
    delta: float = 0.05,
    *,
    method: str = "source",
    training_error: float | None = None,
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
    %(sharp_votes)s

    %(bound_on_difference)s

    See Also
    --------
    voting_generalization_bound : A vote with weights that are fixed before the data.
    stump_generalization_bound : A smaller bound for decision stumps.

    %(notes_on_sharp_votes)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import weighted_voting_generalization_bound
    >>> round(weighted_voting_generalization_bound(100_000, 10, 2), 3)
    0.167

    Sixty members without training errors:

    >>> round(weighted_voting_generalization_bound(100_000, 60, 2), 3)
    0.397
    >>> round(
    ...     weighted_voting_generalization_bound(
    ...         100_000, 60, 2, method="sharp", training_error=0.0
    ...     ),
    ...     3,
    ... )
    0.057
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_members", n_members, 1)
    check_integer("vc_dimension", vc_dimension, 1)

    def log_growth(n: int) -> float:
        return n_members * _log_growth([vc_dimension], n) + _log_growth([n_members], n)

    return _deviation(n_samples, log_growth, delta, method, training_error)


def stump_generalization_bound(
    n_samples: int,
    n_features: int,
    n_members: int = 1,
    delta: float = 0.05,
    *,
    method: str = "source",
    training_error: float | None = None,
) -> float:
    """Bound on the error minus the training error of a decision stump, or of a vote of stumps.

    With probability at least 1 - delta over n independent rows of p features, for all stumps, or
    all votes sign(sum_t b_t h_t) of T stumps with any real weights b_t, at once

        error <= training error + 2 sqrt(2 (ln S + ln(2/delta)) / n),

    where S bounds the number of different labels that they give to 2n rows. Here m = p (2n - 1) + 1
    is the number of stumps that differ on 2n rows up to their sign. For one stump S = 2 m, and for
    T > 1 stumps S = (m + T - 1 choose T) Phi_T(2n); see `weighted_voting_generalization_bound`.
    With the exact number of stumps instead of a VC dimension, this is the bound on AdaBoost of
    [Ghoshdastidar, theorem En.5]. For one feature and distinct rows S = 2m is the number of
    different labels.

    %(of_n_samples)s
    n_features : int
        Number p of features.
    n_members : int, default=1
        Number T of stumps: the largest possible one, if it depends on the data.
    %(delta)s
    %(sharp_votes)s

    %(bound_on_difference)s

    See Also
    --------
    sklearn_ensemble_theory.erm.stump_dictionary : The stumps that differ on given rows.

    %(notes_on_sharp_votes)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_generalization_bound
    >>> round(stump_generalization_bound(10_000, 10), 3)
    0.115
    >>> round(stump_generalization_bound(10_000, 10, n_members=20), 3)
    0.538
    >>> round(stump_generalization_bound(10_000, 10, n_members=20, method="sharp"), 3)
    0.268
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_features", n_features, 1)
    check_integer("n_members", n_members, 1)
    T = n_members

    def log_growth(n: int) -> float:
        m = n_features * (n - 1) + 1
        if T == 1:
            return math.log(2 * m)
        # (m + T - 1 choose T) multisets of T of m stumps, times the votes of T given functions.
        log_multisets = -math.log(m + T) - float(betaln(float(T + 1), float(m)))
        return log_multisets + _log_growth([T], n)

    return _deviation(n_samples, log_growth, delta, method, training_error)


def _log_growth(dimensions: list[int], n: int) -> float:
    """The logarithm of prod_t Phi_{d_t}(n)."""
    return sum(dimensions.count(d) * sauer_shelah_bound(n, d, log=True) for d in set(dimensions))


def _deviation(
    n: int,
    log_growth: Callable[[int], float],
    delta: float,
    method: str,
    training_error: float | None,
) -> float:
    """Of the error from the training error, for at most exp(log_growth(N)) labellings of N rows."""
    check_number("delta", delta, 0, 1, open_low=True)
    if not is_sharp(method):
        if training_error is not None:
            raise ValueError('training_error is for method="sharp" only.')
        return min(1.0, 2 * math.sqrt(2 * (log_growth(2 * n) + math.log(2) - math.log(delta)) / n))
    # The complexity of the losses is half of that of classifiers with values -1 and 1.
    complexity = float(finite_behaviours_rademacher_bound(n, log_growth(n), method="sharp"))
    forms = [1.0, float(uniform_deviation_bound(complexity / 2, n, delta, method="sharp"))]
    if training_error is not None:
        check_number("training_error", training_error, 0, 1)
        A = (log_growth(2 * n) + math.log(4) - math.log(delta)) / n
        forms.append(2 * (A + math.sqrt(A * (A + training_error))))
        if training_error == 0:
            forms.append(2 * ((log_growth(2 * n) - math.log(delta)) / math.log(2) + 1) / n)
    return min(forms)
