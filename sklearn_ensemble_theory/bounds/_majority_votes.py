"""Certificates of a weighted majority vote, from the losses of members on rows not fitted.

Member h has the loss l_h of a row, 1 where it errs and 0 where it does not, or 1 minus the
probability that it gives to the class of the row. The vote with weights rho, which are not negative
and sum to 1, errs only where Z = sum_h rho_h l_h is at least 1/2. Four inequalities for
P(Z >= 1/2) need nothing but the first two moments of Z, which are E Z = sum_h rho_h E l_h and
E Z² = sum_hh' rho_h rho_h' E l_h l_h': Markov's, that of the second moment, and that of Cantelli in
two forms. The losses are then bounded by their means on rows, for all rho at once: with probability
1 - delta [Seeger, 2002; Maurer, 2004],

    kl(sum_h rho_h mean_h || sum_h rho_h E l_h) <= (KL(rho || uniform) + ln(2 sqrt(n) / delta)) / n.

The rows may differ between members, and n is then the smallest of their numbers: exp(m kl) has for
m <= n rows at most the expectation 2 sqrt(m), by Jensen's inequality.
"""

import math

import numpy as np
from scipy.special import betaincinv, rel_entr

from sklearn_ensemble_theory._rows import normalised_weights
from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import as_result, check_number, checked_integers, checked_numbers

# Halvings of [0, 1] after which an end is a floating-point number.
HALVINGS = 60


def kl_inverse(
    mean: ArrayLike, divergence: ArrayLike, *, lower: bool = False
) -> float | np.ndarray:
    """The largest or smallest mean of a Bernoulli variable within a divergence of another.

    With kl(q || p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)), it is the largest p >= q with
    kl(q || p) <= epsilon, or the smallest such p <= q. All parameters broadcast.

    Parameters
    ----------
    mean : float or array-like
        q, in [0, 1].

    divergence : float or array-like
        epsilon, at least 0, in units of the natural logarithm.

    lower : bool, default=False
        Whether the smallest p is asked for.

    Returns
    -------
    p : float or ndarray
        The inverse, in [0, 1], to the rounding errors of kl, which are about 1e-16.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    held_out_error_bound : The exact limit for numbers of errors.

    Notes
    -----
    The mean of n independent variables in [0, 1] is with probability 1 - delta one whose inverse
    for epsilon = ln(1/delta) / n is above their expectation: the Chernoff bound. By Pinsker's
    inequality it is at most q + sqrt(epsilon / 2), and for small q it is much less. The cost is
    that of 60 evaluations of kl.

    References
    ----------
    M. Seeger (2002). "PAC-Bayesian generalisation error bounds for Gaussian process
    classification". *Journal of Machine Learning Research* 3.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import kl_inverse
    >>> round(kl_inverse(0.1, 0.01), 4), round(kl_inverse(0.1, 0.01, lower=True), 4)
    (0.1477, 0.0629)
    """
    q, epsilon = np.broadcast_arrays(
        checked_numbers("mean", mean, 0, 1), checked_numbers("divergence", divergence, 0)
    )
    inside, outside = q, np.full(q.shape, 0.0 if lower else 1.0)
    # kl grows from q to either end; the interval that holds the inverse is halved.
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        is_inside = rel_entr(q, middle) + rel_entr(1 - q, 1 - middle) <= epsilon
        inside, outside = np.where(is_inside, middle, inside), np.where(is_inside, outside, middle)
    return as_result(np.where(epsilon > 0, outside, q))


def held_out_error_bound(
    n_errors: ArrayLike, n_samples: ArrayLike, delta: float = 0.05
) -> float | np.ndarray:
    """Upper confidence limit of the error of one classifier, from its errors on held-out rows.

    It is the largest p for which a binomial variable of n trials of probability p is at most k
    with probability delta or more [Clopper and Pearson, 1934]. The error on a new row is at most
    that with probability at least 1 - delta over the held-out rows. No limit that holds for all p
    and grows with k is smaller.

    Parameters
    ----------
    n_errors : int or array-like of int
        Number k of errors, at most n.

    n_samples : int or array-like of int
        Number n of independent held-out rows, at least 1.

    delta : float, default=0.05
        Probability of failure, above 0 and at most 1.

    Returns
    -------
    bound : float or ndarray
        The limit; 1 where k = n.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    tandem_vote_bound : From the errors of the members of a vote, without rows that are held out.

    Notes
    -----
    It is a quantile of the beta distribution. The cost is O(1).

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934). "The use of confidence or fiducial limits illustrated in
    the case of the binomial". *Biometrika* 26.

    J. Langford (2005). "Tutorial on practical prediction theory for classification". *Journal of
    Machine Learning Research* 6.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import held_out_error_bound
    >>> round(held_out_error_bound(0, 100), 4), round(held_out_error_bound(10, 100), 4)
    (0.0295, 0.1637)
    """
    k = checked_integers("n_errors", n_errors, 0)
    n = checked_integers("n_samples", n_samples, 1, 2**53)
    check_number("delta", delta, 0, 1, open_low=True)
    k, n = np.broadcast_arrays(k, n)
    if np.any(k > n):
        raise ValueError("n_errors must be at most n_samples.")
    more = np.maximum(n - k, 1)
    # 1 - delta has few digits of a small delta, and 1 - p few of a small p.
    if delta > 1e-6:
        limit = betaincinv(k + 1, more, 1 - delta)
    else:
        limit = 1 - betaincinv(more, k + 1, delta)
    return as_result(np.where(k == n, 1.0, limit))


def first_order_vote_bound(
    losses: ArrayLike,
    n_samples: ArrayLike,
    weights: ArrayLike | None = None,
    delta: float | None = None,
) -> float:
    """First-order bound on the error of a weighted vote: twice the mean loss of its members.

    By Markov's inequality the vote errs with probability at most 2 sum_h rho_h E l_h. With
    probability 1 - delta over the rows, for all weights rho at once,

        error <= 2 kl⁻¹(sum_h rho_h mean_h, (KL(rho || uniform) + ln(2 sqrt(n) / delta)) / n).

    Parameters
    ----------
    losses : array-like of shape (n_members,)
        Mean loss of each member on rows that it was not fitted to, in [0, 1]: its error rate, or
        for a vote with probabilities the mean of 1 - (the probability of the row's class).

    n_samples : int or array-like of shape (n_members,)
        Number of these independent rows, at least 1; n is the smallest one.

    weights : array-like of shape (n_members,), default=None
        Weights rho of the vote, not negative, divided by their sum. They may be chosen by the
        losses. None for equal weights.

    delta : float, default=None
        Probability of failure, above 0 and at most 1. None takes the losses for their
        expectations, as on given rows.

    Returns
    -------
    bound : float
        The bound, at most 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or the shapes do not fit.

    See Also
    --------
    tandem_vote_bound : Smaller for members whose errors are not the same.

    Notes
    -----
    It is valid for any number of classes. Members that err together attain the factor 2, at an
    error of 1/2 on some rows. The cost is O(n_members).

    References
    ----------
    J. Langford and J. Shawe-Taylor (2002). "PAC-Bayes & margins". *Advances in Neural Information
    Processing Systems* 15.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import first_order_vote_bound
    >>> round(first_order_vote_bound([0.1, 0.2, 0.15], 1000, delta=0.05), 4)
    0.3918
    """
    loss, n = _checked_losses(losses, n_samples)
    rho = _checked_weights(weights, len(loss))
    _check_delta(delta)
    return min(1.0, 2 * _limit(float(rho @ loss), n, _divergence(rho), delta))


def tandem_vote_bound(
    tandem_losses: ArrayLike,
    n_samples: ArrayLike,
    weights: ArrayLike | None = None,
    delta: float | None = None,
) -> float:
    """Tandem bound on the error of a weighted vote, by pairs of members that err together.

    By Markov's inequality for the square, the vote errs with probability at most
    4 sum_hh' rho_h rho_h' E l_h l_h' [Masegosa et al., 2020]. With probability 1 - delta
    over the rows, for all weights rho at once,

        error <= 4 kl⁻¹(sum_hh' rho_h rho_h' mean_hh',
                        (2 KL(rho || uniform) + ln(2 sqrt(n) / delta)) / n).

    Parameters
    ----------
    tandem_losses : array-like of shape (n_members, n_members)
        Mean of l_h l_h' on rows that neither member of the pair was fitted to, in [0, 1]: how often
        both err. The diagonal has the losses of the members.

    n_samples : int or array-like of shape (n_members, n_members)
        Number of these independent rows, at least 1; n is the smallest one.

    weights : array-like of shape (n_members,), default=None
        Weights rho of the vote, not negative, divided by their sum. They may be chosen by the
        losses. None for equal weights.

    delta : float, default=None
        Probability of failure, above 0 and at most 1. None takes the losses for their
        expectations, as on given rows.

    Returns
    -------
    bound : float
        The bound, at most 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or the shapes do not fit.

    See Also
    --------
    first_order_vote_bound : Smaller for members that err together.
    chebyshev_cantelli_vote_bound : By the losses as well.

    Notes
    -----
    It is valid for any number of classes. Members that always err together have a tandem loss of
    L, and the bound 4 L is twice that of first order; members that err independently have L². The
    bound of [Masegosa et al., 2020] follows from this one by an inequality for kl⁻¹. The
    cost is O(n_members²).

    References
    ----------
    A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin (2020). "Second order PAC-Bayesian bounds
    for the weighted majority vote". *Advances in Neural Information Processing Systems* 33.

    Examples
    --------
    Two members that err in 20 % of the rows each, and in 5 % both:

    >>> from sklearn_ensemble_theory.bounds import tandem_vote_bound
    >>> tandem_vote_bound([[0.2, 0.05], [0.05, 0.2]], 1000)
    0.5
    """
    loss, n = _checked_pairs("tandem_losses", tandem_losses, "n_samples", n_samples)
    rho = _checked_weights(weights, len(loss))
    _check_delta(delta)
    return min(1.0, 4 * _limit(float(rho @ loss @ rho), n, 2 * _divergence(rho), delta))


def c_vote_bound(
    losses: ArrayLike,
    n_samples: ArrayLike,
    disagreements: ArrayLike,
    n_pair_samples: ArrayLike,
    weights: ArrayLike | None = None,
    delta: float | None = None,
) -> float:
    """C-bound on the error of a weighted vote, by its members' losses and disagreements.

    With r = sum_h rho_h E l_h and d = sum_hh' rho_h rho_h' E d_hh', where
    d_hh' = l_h (1 - l_h') + l_h' (1 - l_h) is 1 where exactly one of the two members errs, and with
    r < 1/2, the vote errs with probability at most 1 - (1 - 2r)² / (1 - 2d), by Cantelli's
    inequality. With probability 1 - delta over the rows, for all weights at once, r is at most and
    d at least the inverse of kl, each for delta/2 [Germain et al., 2015, PAC-bound 1].

    Parameters
    ----------
    losses : array-like of shape (n_members,)
        Mean loss of each member on rows that it was not fitted to, in [0, 1].

    n_samples : int or array-like of shape (n_members,)
        Number of these independent rows, at least 1; the smallest one is used.

    disagreements : array-like of shape (n_members, n_members)
        Mean of d_hh' on rows that neither member of the pair was fitted to, in [0, 1]. For two
        classes it is how often their labels differ.

    n_pair_samples : int or array-like of shape (n_members, n_members)
        Number of these independent rows, at least 1; the smallest one is used.

    weights : array-like of shape (n_members,), default=None
        Weights rho of the vote, not negative, divided by their sum. They may be chosen by the
        losses. None for equal weights.

    delta : float, default=None
        Probability of failure, above 0 and at most 1. None takes the losses for their
        expectations, as on given rows.

    Returns
    -------
    bound : float
        The bound, at most 1; 1 where the bound on r is 1/2 or more.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or the shapes do not fit.

    See Also
    --------
    chebyshev_cantelli_vote_bound : The same inequality, by tandem losses.

    Notes
    -----
    The source has two classes, where members that disagree are members of which exactly one errs;
    the proof needs the latter only, so that the bound is valid for any number of classes. With
    expectations it is that of `chebyshev_cantelli_vote_bound`, as d = 2 (r - tandem loss). The cost
    is O(n_members²).

    References
    ----------
    P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy (2015). "Risk bounds for the
    majority vote: from a PAC-Bayesian analysis to a learning algorithm". *Journal of Machine
    Learning Research* 16.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import c_vote_bound
    >>> round(c_vote_bound([0.2, 0.2], 1000, [[0, 0.3], [0.3, 0]], 1000), 4)
    0.4857
    """
    loss, n = _checked_losses(losses, n_samples)
    pairs, n_pairs = _checked_pairs(
        "disagreements", disagreements, "n_pair_samples", n_pair_samples, len(loss)
    )
    rho = _checked_weights(weights, len(loss))
    _check_delta(delta)
    half, kl = None if delta is None else delta / 2, _divergence(rho)
    r = _limit(float(rho @ loss), n, kl, half)
    d = _limit(float(rho @ pairs @ rho), n_pairs, 2 * kl, half, lower=True)
    if r >= 0.5 or d >= 0.5:
        return 1.0
    return max(0.0, 1 - (1 - 2 * r) ** 2 / (1 - 2 * d))


def chebyshev_cantelli_vote_bound(
    losses: ArrayLike,
    n_samples: ArrayLike,
    tandem_losses: ArrayLike,
    n_pair_samples: ArrayLike,
    weights: ArrayLike | None = None,
    delta: float | None = None,
) -> float:
    """Chebyshev-Cantelli bound on the error of a weighted vote, by losses and tandem losses.

    With r = sum_h rho_h E l_h and t = sum_hh' rho_h rho_h' E l_h l_h', the vote errs for every
    mu < 1/2 with probability at most (t - 2 mu r + mu²) / (1/2 - mu)²
    [Wu et al., 2021], and mu = 0 is the tandem bound. With probability 1 - delta over
    the rows, for all weights and all mu at once, r and t are within the inverses of kl, each for
    delta/2: t is at most its upper limit, r at least its lower limit where mu > 0 and at most its
    upper one where mu < 0. The best mu is inserted.

    Parameters
    ----------
    losses : array-like of shape (n_members,)
        Mean loss of each member on rows that it was not fitted to, in [0, 1].

    n_samples : int or array-like of shape (n_members,)
        Number of these independent rows, at least 1; the smallest one is used.

    tandem_losses : array-like of shape (n_members, n_members)
        Mean of l_h l_h' on rows that neither member of the pair was fitted to, in [0, 1].

    n_pair_samples : int or array-like of shape (n_members, n_members)
        Number of these independent rows, at least 1; the smallest one is used.

    weights : array-like of shape (n_members,), default=None
        Weights rho of the vote, not negative, divided by their sum. They may be chosen by the
        losses. None for equal weights.

    delta : float, default=None
        Probability of failure, above 0 and at most 1. None takes the losses for their
        expectations, as on given rows.

    Returns
    -------
    bound : float
        The bound, at most 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or the shapes do not fit.

    See Also
    --------
    tandem_vote_bound : By tandem losses alone, with all of delta for them.
    c_vote_bound : By disagreements in place of tandem losses.

    Notes
    -----
    With expectations the best mu gives Cantelli's inequality, (t - r²) / (t - r² + (1/2 - r)²). The
    source bounds both sums by inequalities that are easier to differentiate; the inverse of kl is
    never larger. The cost is O(n_members²).

    References
    ----------
    Y.-S. Wu, A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin (2021). "Chebyshev-Cantelli
    PAC-Bayes-Bennett inequality for the weighted majority vote". *Advances in Neural Information
    Processing Systems* 34.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import chebyshev_cantelli_vote_bound
    >>> pairs = [[0.2, 0.05], [0.05, 0.2]]
    >>> round(chebyshev_cantelli_vote_bound([0.2, 0.2], 1000, pairs, 1000), 4)
    0.4857
    """
    loss, n = _checked_losses(losses, n_samples)
    pairs, n_pairs = _checked_pairs(
        "tandem_losses", tandem_losses, "n_pair_samples", n_pair_samples, len(loss)
    )
    rho = _checked_weights(weights, len(loss))
    _check_delta(delta)
    half, kl = None if delta is None else delta / 2, _divergence(rho)
    mean = float(rho @ loss)
    low, high = _limit(mean, n, kl, half, lower=True), _limit(mean, n, kl, half)
    tandem = _limit(float(rho @ pairs @ rho), n_pairs, 2 * kl, half)
    # The best mu for a loss r is (r - 2t) / (1 - 2r). Above 0 it is that of the lower limit of r,
    # below 0 that of the upper one, and between these 0 is the best.
    r = low if low > 2 * tandem else min(high, 2 * tandem)
    if r >= 0.5:
        return 1.0
    mu = (r - 2 * tandem) / (1 - 2 * r)
    if mu >= 0.5:  # no variables have such moments
        return 1.0
    return min(1.0, max(0.0, tandem - 2 * mu * r + mu**2) / (0.5 - mu) ** 2)


# --- what they share ------------------------------------------------------------------------------


def _limit(
    mean: float, n: float, divergence: float, delta: float | None, lower: bool = False
) -> float:
    """The largest or smallest expectation within (divergence + ln(2 sqrt(n) / delta)) / n."""
    mean = min(max(mean, 0.0), 1.0)
    if delta is None:
        return mean
    epsilon = (divergence + math.log(2) + math.log(n) / 2 - math.log(delta)) / n
    return float(kl_inverse(mean, epsilon, lower=lower))


def _divergence(rho: np.ndarray) -> float:
    """KL(rho || uniform)."""
    return max(0.0, float(rel_entr(rho, 1 / len(rho)).sum()))


def _check_delta(delta: float | None) -> None:
    if delta is not None:
        check_number("delta", delta, 0, 1, open_low=True)


def _checked_losses(losses: ArrayLike, n_samples: ArrayLike) -> tuple[np.ndarray, float]:
    """Losses of members, and the smallest of their numbers of rows."""
    loss = checked_numbers("losses", losses, 0, 1)
    if loss.ndim != 1 or not len(loss):
        raise ValueError("losses must have one number for each of at least one member.")
    n = checked_integers("n_samples", n_samples, 1)
    if n.ndim and n.shape != loss.shape:
        raise ValueError("n_samples must be one number, or one for each member.")
    return loss, float(n.min())


def _checked_pairs(
    name: str, losses: ArrayLike, n_name: str, n_samples: ArrayLike, n_members: int | None = None
) -> tuple[np.ndarray, float]:
    """Losses of pairs of members, and the smallest of their numbers of rows."""
    loss = checked_numbers(name, losses, 0, 1)
    size = len(loss) if n_members is None and loss.ndim else n_members
    if not size or loss.shape != (size, size):
        raise ValueError(f"{name} must have one number for each pair of members.")
    n = checked_integers(n_name, n_samples, 1)
    if n.ndim and n.shape != loss.shape:
        raise ValueError(f"{n_name} must be one number, or one for each pair of members.")
    return loss, float(n.min())


def _checked_weights(weights: ArrayLike | None, n_members: int) -> np.ndarray:
    if weights is None:
        return np.full(n_members, 1 / n_members)
    rho = checked_numbers("weights", weights, 0)
    if rho.shape != (n_members,):
        raise ValueError("weights must have one number for each member.")
    if not rho.max() > 0:
        raise ValueError("weights must be positive for at least one member.")
    return normalised_weights(rho, n_members)
