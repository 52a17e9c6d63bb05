"""Bounds on votes of given classes of functions, and on choices by cross-validation."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, logsumexp

from sklearn_ensemble_theory.bounds._arguments import check_number, checked_numbers, in_floats

__all__ = [
    "cross_validation_oracle_bound",
    "log_binomial_sum",
    "voting_generalization_bound",
    "voting_vc_dimension_bound",
]


def voting_vc_dimension_bound(vc_dimensions: ArrayLike) -> int:
    """Bound on the VC dimension of a majority vote of classifiers from given classes.

    The labels that the vote gives to N points are determined by those of its members, so that it
    gives at most prod_t Phi_{d_t}(N) different ones, where Phi_d(N) = sum_{i <= d} (N choose i) is
    the Sauer-Shelah bound for a class of VC dimension d. The bound is the largest N for which the
    product is at least 2^N. For T classes of dimension d it is O(d T log(d T)), as stated in
    [Ghoshdastidar].

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

    Raises
    ------
    ValueError
        If `vc_dimensions` is empty or holds something other than integers of at least 1.

    See Also
    --------
    voting_generalization_bound : The bound on the error that follows.

    Notes
    -----
    The cost is O(D log D) for D the sum of the dimensions.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

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
    number of labellings instead of the VC dimension.

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    vc_dimensions : int or array-like of int
        VC dimensions of the classes of the members, one number for each member, at least 1.

    delta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    bound : float
        The bound on the difference. It says nothing where it is 1 or more.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    voting_vc_dimension_bound : The VC dimension of the class of votes.

    Notes
    -----
    The constants are those of the Vapnik-Chervonenkis inequality in [Bousquet, Boucheron and
    Lugosi, 2004]. The cost is O(D) for D the sum of the dimensions.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    O. Bousquet, S. Boucheron and G. Lugosi (2004). "Introduction to statistical learning theory".
    *Advanced Lectures on Machine Learning*, Springer.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import voting_generalization_bound
    >>> round(voting_generalization_bound(100_000, [3, 3, 11]), 3)
    0.123
    """
    dimensions = _checked_dimensions(vc_dimensions)
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("delta", delta, 0, 1, open_low=True)
    growth = _log_growth(dimensions, 2 * n_samples)
    return 2 * math.sqrt(2 * (growth + math.log(2) - math.log(delta)) / n_samples)


def _checked_dimensions(vc_dimensions: ArrayLike) -> list[int]:
    values = np.atleast_1d(np.asarray(vc_dimensions))
    if values.ndim > 1 or not values.size or values.dtype.kind not in "iu" or (values < 1).any():
        raise ValueError(
            f"vc_dimensions must be integers of at least 1, at least one, got {vc_dimensions!r}."
        )
    return [int(d) for d in values]


def _log_growth(dimensions: list[int], n: int) -> float:
    """The logarithm of prod_t Phi_{d_t}(n)."""
    return sum(dimensions.count(d) * log_binomial_sum(n, d) for d in set(dimensions))


def log_binomial_sum(n: int, d: int) -> float:
    """The logarithm of Phi_d(n) = sum_{i <= d} (n choose i)."""
    if d >= n:
        return n * math.log(2)
    # Terms that are further from the largest one are less than 1e-40 of it.
    near = 7 * math.isqrt(n) + 1
    i = np.arange(max(0, min(d, n // 2) - near), min(d, n // 2 + near) + 1.0)
    return float(logsumexp(-betaln(n - i + 1, i + 1))) - math.log(n + 1)


@in_floats
def cross_validation_oracle_bound(
    n_candidates: int, fold_sizes: ArrayLike, delta: float = 0.05, loss_bound: float = 1.0
) -> float:
    """Bound on the excess risk of the candidate that cross-validation chooses.

    Candidates are fitted to the training rows of each of v splits, and that with the smallest mean
    loss on the n held-out rows is chosen. With R_j the mean over the held-out rows of the risks of
    the fitted functions of candidate j, with probability at least 1 - delta

        R_chosen <= min_j R_j + sum_k (n_k/n) M sqrt(2 ln(c/delta) / n_k),

    where c is the number m of candidates for one split and 2 m v for several. For one split this is
    the bound for finite classes of functions of [Shah, theorem 6].

    Parameters
    ----------
    n_candidates : int
        Number m of candidates.

    fold_sizes : float or array-like of float
        Numbers n_k of the held-out rows of the v splits, at least 1. With weights, the effective
        numbers (sum w)^2 / sum w^2.

    delta : float, default=0.05
        Probability of failure, in (0, 1).

    loss_bound : float, default=1.0
        M: the loss of every candidate is in [0, M].

    Returns
    -------
    bound : float
        The bound on R_chosen - min_j R_j, in units of the loss; 0 for one candidate.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    Given its training rows, the losses of a split are independent, and Hoeffding's inequality holds
    for each candidate. With several splits the best candidate depends on the rows of all of them,
    so that both deviations are bounded for all candidates, by a union over 2 m v events. The
    bound is on the functions that were fitted to the splits; it assumes independent rows, and a
    held-out row in one split only. The cost is O(v).

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import cross_validation_oracle_bound
    >>> round(cross_validation_oracle_bound(10, 2_000), 3)
    0.073
    >>> round(cross_validation_oracle_bound(10, [2_000] * 5), 3)
    0.087
    """
    check_number("n_candidates", n_candidates, 1, integral=True)
    check_number("delta", delta, 0, 1, open_low=True)
    check_number("loss_bound", loss_bound, 0)
    sizes = np.atleast_1d(checked_numbers("fold_sizes", fold_sizes, 1))
    if sizes.ndim > 1 or not sizes.size:
        raise ValueError(f"fold_sizes must be at least one number, got {fold_sizes!r}.")
    if n_candidates == 1:
        return 0.0
    n_events = n_candidates if len(sizes) == 1 else 2 * n_candidates * len(sizes)
    log_events = math.log(n_events) - math.log(delta)
    deviations = loss_bound * np.sqrt(2 * log_events / sizes)
    return float(np.average(deviations, weights=sizes))
