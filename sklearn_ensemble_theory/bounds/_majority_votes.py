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
from typing import Any

import numpy as np
from scipy.special import betaincinv, rel_entr

from sklearn_ensemble_theory._rows import normalised_weights
from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import (
    as_result,
    check_number,
    check_option,
    checked_integers,
    checked_numbers,
)

# Halvings of [0, 1] after which an end is a floating-point number.
HALVINGS = 60
# What each inequality reads.
NEEDS = {
    "first-order": ("losses", "n_samples"),
    "tandem": ("tandem_losses", "n_pair_samples"),
    "c-bound": ("losses", "n_samples", "disagreements", "n_pair_samples"),
    "chebyshev-cantelli": ("losses", "n_samples", "tandem_losses", "n_pair_samples"),
}


def kl_inverse(
    mean: ArrayLike, divergence: ArrayLike, *, lower: bool = False
) -> float | np.ndarray:
    """The largest or smallest mean of a Bernoulli variable within a divergence of another.

    With kl(q || p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)), it is the largest p >= q with kl(q ||
    p) <= epsilon, or the smallest such p <= q. All parameters broadcast. The mean of n independent
    variables in [0, 1] is with probability 1 - delta one whose inverse for epsilon = ln(1/delta) /
    n is above their expectation: the Chernoff bound. By Pinsker's inequality it is at most q +
    sqrt(epsilon / 2), and for small q it is much less. The cost is 60 evaluations of kl.

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

    %(raises)s

    See Also
    --------
    held_out_error_bound : The exact limit for numbers of errors.

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

    It is the largest p for which a binomial variable of n trials of probability p is at most k with
    probability delta or more [Clopper and Pearson, 1934]. The error on a new row is at most that
    with probability at least 1 - delta over the held-out rows. No limit that holds for all p and
    grows with k is smaller. It is a quantile of the beta distribution. The cost is O(1).

    Parameters
    ----------
    n_errors : int or array-like of int
        Number k of errors, at most n.
    n_samples : int or array-like of int
        Number n of independent held-out rows, at least 1.
    %(delta)s

    Returns
    -------
    bound : float or ndarray
        The limit; 1 where k = n.

    %(raises)s

    See Also
    --------
    majority_vote_bound : From the errors of the members of a vote, without rows that are held out.

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


def majority_vote_bound(
    losses: ArrayLike | None = None,
    n_samples: ArrayLike | None = None,
    *,
    tandem_losses: ArrayLike | None = None,
    disagreements: ArrayLike | None = None,
    n_pair_samples: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    delta: float | None = None,
    method: str = "first-order",
) -> float:
    """Bound on the error of a weighted vote, by the losses of its members and of their pairs.

    Let r = sum_h rho_h E l_h, t = sum_hh' rho_h rho_h' E l_h l_h' and d = sum_hh' rho_h rho_h' E
    d_hh'. Here d_hh' = l_h (1 - l_h') + l_h' (1 - l_h) is 1 where exactly one of two members errs.
    The vote errs with probability at most

    - "first-order": 2 r, by Markov's inequality [Langford and Shawe-Taylor, 2002];
    - "tandem": 4 t, by Markov's inequality for the square [Masegosa et al., 2020];
    - "c-bound": 1 - (1 - 2r)² / (1 - 2d) for r < 1/2, by Cantelli's inequality
      [Germain et al., 2015, PAC-bound 1];
    - "chebyshev-cantelli": (t - 2 mu r + mu²) / (1/2 - mu)² for the best mu < 1/2
      [Wu et al., 2021].

    Parameters
    ----------
    losses : array-like of shape (n_members,), default=None
        Mean loss of each member on rows that it was not fitted to, in [0, 1]. It is the error rate,
        or for a vote with probabilities the mean of 1 - (the probability of the row's class). All
        methods but "tandem" need it.
    n_samples : int or array-like of shape (n_members,), default=None
        Number of these independent rows, at least 1; the smallest one is used.
    tandem_losses : array-like of shape (n_members, n_members), default=None
        Mean of l_h l_h' on rows that neither member of the pair was fitted to, in [0, 1]: how often
        both err. "tandem" and "chebyshev-cantelli" need it.
    disagreements : array-like of shape (n_members, n_members), default=None
        Mean of d_hh' on such rows, in [0, 1]; for two classes it is how often the two labels
        differ. "c-bound" needs it.
    n_pair_samples : int or array-like of shape (n_members, n_members), default=None
        Number of these independent rows, at least 1; the smallest one is used.
    weights : array-like of shape (n_members,), default=None
        Weights rho of the vote, not negative, divided by their sum. They may be chosen by the
        losses. None for equal weights.
    delta : float, default=None
        Probability of failure, above 0 and at most 1. None takes the losses for their
        expectations, as on given rows.
    method : {"first-order", "tandem", "c-bound", "chebyshev-cantelli"}, default="first-order"
        The inequality. Losses that it does not need are not read.

    Returns
    -------
    bound : float
        The bound, at most 1. That of "c-bound" is 1 where the limit of r is 1/2 or more.

    Raises
    ------
    ValueError
        If a parameter that the method needs is missing or outside its range, or if the shapes do
        not fit.

    See Also
    --------
    held_out_error_bound : From the errors of the vote itself on held-out rows.

    Notes
    -----
    With `delta` the bounds hold with probability 1 - delta over the rows, for all weights at once.
    The means r, and t or d, are then replaced by their limits: kl⁻¹ of the mean and (KL(rho ||
    uniform) + ln(2 sqrt(n) / delta)) / n, with n the smallest number of rows. Pairs have twice the
    divergence, and each of two limits has delta/2. Of d it is the lower limit; of r in
    "chebyshev-cantelli" the lower one where mu > 0 and the upper one where mu < 0.

    The bounds are valid for any number of classes. Members that err together attain the factor 2,
    and their tandem bound is twice as large; members that err independently have a tandem loss of
    L². With expectations, "c-bound" and "chebyshev-cantelli" agree, as d = 2 (r - t). The sources
    bound kl⁻¹ by larger terms that are easier to differentiate. The cost is O(n_members²).

    References
    ----------
    J. Langford and J. Shawe-Taylor (2002). "PAC-Bayes & margins". *Advances in Neural Information
    Processing Systems* 15.

    P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy (2015). "Risk bounds for the
    majority vote: from a PAC-Bayesian analysis to a learning algorithm". *Journal of Machine
    Learning Research* 16.

    A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin (2020). "Second order PAC-Bayesian bounds
    for the weighted majority vote". *Advances in Neural Information Processing Systems* 33.

    Y.-S. Wu, A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin (2021). "Chebyshev-Cantelli
    PAC-Bayes-Bennett inequality for the weighted majority vote". *Advances in Neural Information
    Processing Systems* 34.

    Examples
    --------
    Two members that err in 20 % of the rows each, and in 5 % both:

    >>> from sklearn_ensemble_theory.bounds import majority_vote_bound
    >>> pairs = dict(tandem_losses=[[0.2, 0.05], [0.05, 0.2]], n_pair_samples=1000)
    >>> majority_vote_bound([0.2, 0.2], 1000), majority_vote_bound(**pairs, method="tandem")
    (0.4, 0.5)
    >>> round(majority_vote_bound([0.2, 0.2], 1000, **pairs, method="chebyshev-cantelli"), 4)
    0.4857
    """
    check_option("method", method, NEEDS)
    given = {
        "losses": losses,
        "n_samples": n_samples,
        "tandem_losses": tandem_losses,
        "disagreements": disagreements,
        "n_pair_samples": n_pair_samples,
    }
    for name in NEEDS[method]:
        if given[name] is None:
            raise ValueError(f"method={method!r} needs {name}.")
    if delta is not None:
        check_number("delta", delta, 0, 1, open_low=True)
    size: int | None = None
    if "losses" in NEEDS[method]:
        loss, n = _checked_losses("losses", losses, "n_samples", n_samples, 1)
        size = len(loss)
    if "n_pair_samples" in NEEDS[method]:
        name = NEEDS[method][-2]
        pairs, n_pairs = _checked_losses(
            name, given[name], "n_pair_samples", n_pair_samples, 2, size
        )
        size = len(pairs)
    rho = _checked_weights(weights, size or 1)
    kl = max(0.0, float(rel_entr(rho, 1 / len(rho)).sum()))  # KL(rho || uniform)
    half = None if delta is None else max(delta / 2, 5e-324)  # the least float above 0
    if method == "first-order":
        return min(1.0, 2 * _limit(float(rho @ loss), n, kl, delta))
    if method == "tandem":
        return min(1.0, 4 * _limit(float(rho @ pairs @ rho), n_pairs, 2 * kl, delta))
    mean = float(rho @ loss)
    high = _limit(mean, n, kl, half)
    if method == "c-bound":
        d = _limit(float(rho @ pairs @ rho), n_pairs, 2 * kl, half, lower=True)
        if high >= 0.5 or d >= 0.5:
            return 1.0
        return max(0.0, 1 - (1 - 2 * high) ** 2 / (1 - 2 * d))
    low = _limit(mean, n, kl, half, lower=True)
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


def _limit(
    mean: float, n: float, divergence: float, delta: float | None, lower: bool = False
) -> float:
    """The largest or smallest expectation within (divergence + ln(2 sqrt(n) / delta)) / n."""
    mean = min(max(mean, 0.0), 1.0)
    if delta is None:
        return mean
    epsilon = (divergence + math.log(2) + math.log(n) / 2 - math.log(delta)) / n
    return float(kl_inverse(mean, epsilon, lower=lower))


def _checked_losses(
    name: str,
    losses: Any,
    n_name: str,
    n_samples: Any,
    n_dimensions: int,
    n_members: int | None = None,
) -> tuple[np.ndarray, float]:
    """Losses of members, or of pairs of them, and the smallest of their numbers of rows."""
    loss = checked_numbers(name, losses, 0, 1)
    size = len(loss) if n_members is None and loss.ndim else n_members
    each = "member" if n_dimensions == 1 else "pair of members"
    if not size or loss.shape != (size,) * n_dimensions:
        raise ValueError(f"{name} must have one number for each {each}, and at least one.")
    n = checked_integers(n_name, n_samples, 1)
    if n.ndim and n.shape != loss.shape:
        raise ValueError(f"{n_name} must be one number, or one for each {each}.")
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
