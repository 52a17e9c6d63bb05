"""Bounds on votes whose weights depend on the data, as those of boosting do."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from sklearn_ensemble_theory._weights import normalised_weights
from sklearn_ensemble_theory.bounds._arguments import check_number, checked_numbers
from sklearn_ensemble_theory.bounds._complexity.vote_complexity import _log_growth

__all__ = [
    "held_out_voting_error_bound",
    "stump_generalization_bound",
    "weighted_voting_generalization_bound",
]


def weighted_voting_generalization_bound(
    n_samples: int, n_members: int, vc_dimension: int, delta: float = 0.05
) -> float:
    """Bound on the error minus the training error of a weighted vote, for any weights.

    With probability at least 1 - delta over n independent rows, for all votes sign(sum_t b_t h_t)
    of T classifiers h_t from a class of VC dimension d and all real weights b_t at once,

        error <= training error + 2 sqrt(2 (T ln Phi_d(2n) + ln Phi_T(2n) + ln(2/delta)) / n)

    with Phi_d(N) = sum_{i <= d} (N choose i). It is an explicit form of the bound on AdaBoost of
    [Ghoshdastidar, theorem En.5], of order sqrt((d T log(dT) ln n + ln(1/delta)) / n).

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    n_members : int
        Number T of members: the largest possible one, if it depends on the data.

    vc_dimension : int
        VC dimension d of the class of the members.

    delta : float, default=0.05
        Probability of failure, above 0 and at most 1.

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
    voting_generalization_bound : A vote with weights that are fixed before the data.
    stump_generalization_bound : A smaller bound for decision stumps.

    Notes
    -----
    On 2n rows the T members give at most Phi_d(2n)^T different tuples of labels, and half-spaces
    through the origin of R^T divide the 2n tuples in at most Phi_T(2n) ways. The constants are
    those of the Vapnik-Chervonenkis inequality in [Bousquet, Boucheron and Lugosi, 2004].

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    O. Bousquet, S. Boucheron and G. Lugosi (2004). "Introduction to statistical learning theory".
    *Advanced Lectures on Machine Learning*, Springer.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import weighted_voting_generalization_bound
    >>> round(weighted_voting_generalization_bound(100_000, 10, 2), 3)
    0.167
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_members", n_members, 1, integral=True)
    check_number("vc_dimension", vc_dimension, 1, integral=True)
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

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    n_features : int
        Number p of features.

    n_members : int, default=1
        Number T of stumps: the largest possible one, if it depends on the data.

    delta : float, default=0.05
        Probability of failure, above 0 and at most 1.

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
    sklearn_ensemble_theory.erm.stump_dictionary : The stumps that differ on given rows.

    Notes
    -----
    With the exact number of stumps instead of a VC dimension, this is the bound on AdaBoost of
    [Ghoshdastidar, theorem En.5]. For one feature and distinct rows S = 2m is the number of
    different labels.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_generalization_bound
    >>> round(stump_generalization_bound(10_000, 10), 3)
    0.115
    >>> round(stump_generalization_bound(10_000, 10, n_members=20), 3)
    0.538
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_features", n_features, 1, integral=True)
    check_number("n_members", n_members, 1, integral=True)
    T, N = n_members, 2 * n_samples
    m = n_features * (N - 1) + 1
    log_growth = math.log(2 * m)
    if T > 1:
        log_multisets = -math.log(m + T) - float(betaln(float(T + 1), float(m)))
        log_growth = log_multisets + _log_growth([T], N)
    return _deviation(n_samples, log_growth, delta)


def _deviation(n_samples: int, log_growth: float, delta: float) -> float:
    """The Vapnik-Chervonenkis inequality for at most exp(log_growth) labellings of 2n rows."""
    check_number("delta", delta, 0, 1, open_low=True)
    return 2 * math.sqrt(2 * (log_growth + math.log(2) - math.log(delta)) / n_samples)


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

    Returns
    -------
    bound : float
        The bound, at most 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or the weights do not fit.

    See Also
    --------
    voting_error_bound : The bound from the error of a randomised classifier.

    Notes
    -----
    The deviation is Hoeffding's inequality for the mean error of the members, which is in [0, 1].

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

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
