"""Guarantees of boosting with noisy labels; `gamma` is the edge, 1/2 minus the weighted error."""

import math

from sklearn_ensemble_theory.bounds._arguments import check_number, in_floats

__all__ = [
    "agnostic_boosting_error_bound",
    "massart_boosting_error_bound",
    "massart_boosting_n_rounds",
    "massart_confidence_threshold",
    "smooth_boosting_n_rounds",
]


@in_floats
def smooth_boosting_n_rounds(kappa: float, gamma: float) -> float:
    """Bound on the number of rounds of SmoothBoost until the training error is below kappa.

    It is 2 / (kappa gamma² sqrt(1 - gamma)) (Servedio 2003), if every weak learner has an edge of
    at least gamma under the weights of its round.

    Parameters
    ----------
    kappa : float in (0, 1)
        The training error.
    gamma : float in (0, 1/2]
        The edge.

    Returns
    -------
    n_rounds : float
        Boosting ends after fewer rounds.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    With c = -log(1 - gamma)/2 and Phi(N) the integral of M(s) = min(1, exp(-c s)) from 0 to N, a
    step d with abs(d) <= 1 + theta satisfies Phi(N + d) - Phi(N) >= M(N) (d - gamma abs(d) / 2).
    Summed over the rounds and averaged over the rows, the right-hand side is at least gamma kappa
    for each round, and the left-hand side is at most 1/c <= 2/gamma in total.

    References
    ----------
    R. A. Servedio (2003). "Smooth boosting and learning with malicious noise". *Journal of Machine
    Learning Research* 4, 633-648.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import smooth_boosting_n_rounds
    >>> round(smooth_boosting_n_rounds(kappa=0.1, gamma=0.2))
    559
    """
    _check_inside("kappa", kappa, 0.0, 1.0)
    check_number("gamma", gamma, 0, 0.5, open_low=True)
    return 2.0 / (kappa * gamma**2 * math.sqrt(1.0 - gamma))


@in_floats
def agnostic_boosting_error_bound(
    n_rounds: int,
    optimum: float = 0.0,
    gamma: float = 1.0,
    slack: float = 0.0,
    learning_rate: float = 1.0,
) -> float:
    """Bound on the least training error over the rounds of agnostic boosting.

    In one of the rounds the error is at most

        optimum + (c + (c + slack)/gamma) / 2,   c = 1/sqrt(nu (1 - nu/2) n_rounds),

    where `optimum` is the least error of a class of classifiers, and the correlation of the weak
    learner with the relabelled rows is at least gamma times the largest in the class, minus
    `slack`.

    Parameters
    ----------
    n_rounds : int
        The number of rounds.
    optimum : float, default=0.0
        The least error of the class.
    gamma : float in (0, 1], default=1.0
        The share of the largest correlation that the weak learner finds; 1 for the learner that
        maximises it, such as the exact stump for the class of stumps.
    slack : float, default=0.0
        What the weak learner may fall short of that.
    learning_rate : float in (0, 2), default=1.0
        nu, the factor of each step.

    Returns
    -------
    bound : float

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    A step of nu times the correlation c lowers the potential, which is 1 at the start and never
    negative, by nu (1 - nu/2) c². So one of the rounds has a correlation of at most the c above,
    for the weak learner and for -sign(H). With the weights w = 1 where y H <= 0 and w < 1
    elsewhere, twice the difference of the errors of sign(H) and of any h is at most the mean of w y
    (h - sign(H)), the sum of their two correlations (after Kalai and Kanade 2009).

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
    check_number("n_rounds", n_rounds, 1, integral=True)
    check_number("optimum", optimum, 0, 1)
    check_number("slack", slack, 0)
    check_number("gamma", gamma, 0, 1, open_low=True)
    _check_inside("learning_rate", learning_rate, 0.0, 2.0)
    c = 1.0 / math.sqrt(learning_rate * (1 - learning_rate / 2) * n_rounds)
    return optimum + 0.5 * (c + (c + slack) / gamma)


@in_floats
def massart_confidence_threshold(noise_rate: float, alpha: float) -> float:
    """The score from which on Massart boosting leaves out a row.

    It is s = log((1 - eta)/eta) - log((1 + 2 alpha)/(1 - 2 alpha)). Where each label is wrong with
    a probability of at most eta given x, and abs(G(x)) < s, it is wrong with a probability of less
    than 1/2 - alpha under the measure min(1, exp(-y G(x))).

    Parameters
    ----------
    noise_rate : float in (0, 1/2)
        eta.
    alpha : float in [0, 1/2 - eta)
        The margin.

    Returns
    -------
    threshold : float

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The largest share of wrong labels at x is that of G(x) > 0 with the true label +1, where it is
    eta / (eta + (1 - eta) exp(-G(x))).

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import massart_confidence_threshold
    >>> round(massart_confidence_threshold(noise_rate=0.2, alpha=0.1), 3)
    0.981
    """
    _check_inside("noise_rate", noise_rate, 0.0, 0.5)
    check_number("alpha", alpha, 0)
    if not alpha < 0.5 - noise_rate:
        raise ValueError(
            f"alpha must be in [0, 1/2 - noise_rate), got {alpha!r} with noise_rate={noise_rate!r}."
        )
    margin = math.log1p(2 * alpha) - math.log1p(-2 * alpha)
    return math.log1p(-noise_rate) - math.log(noise_rate) - margin


@in_floats
def massart_boosting_error_bound(
    noise_rate: float, alpha: float, kappa: float = 0.0, tol: float = 0.0
) -> float:
    """Bound on the error of Massart boosting once the density of its measure is below kappa.

    With s the `massart_confidence_threshold`, it is

        1/(1 + exp(s)) + kappa + tol/(1 + exp(-s)),

    and 1/(1 + exp(s)) = eta (1 + 2 alpha) / (1 - 2 alpha (1 - 2 eta)) = eta (1 + O(alpha)).

    Parameters
    ----------
    noise_rate : float in (0, 1/2)
        eta, which no label's noise exceeds.
    alpha : float in [0, 1/2 - eta)
        The margin.
    kappa : float, default=0.0
        The density.
    tol : float, default=0.0
        The gain of moving confident scores towards 0 that is ignored.

    Returns
    -------
    bound : float
        On the share of rows whose label, noise included, is not predicted.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    Misclassified rows that are not confident have the measure 1, so their share is at most kappa.
    Moving the confident scores towards 0 gains at least P(wrong) - exp(-s) P(right) over them. If
    that is at most tol, P(wrong) is at most P(confident)/(1 + exp(s)) + tol/(1 + exp(-s)). Without
    this move the error among confident rows has no such bound.

    References
    ----------
    I. Diakonikolas, R. Impagliazzo, D. M. Kane, R. Lei, J. Sorrell and C. Tzamos (2021). "Boosting
    in the presence of Massart noise". *Proceedings of the 34th Conference on Learning Theory*,
    1585-1644.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import massart_boosting_error_bound
    >>> round(massart_boosting_error_bound(noise_rate=0.2, alpha=0.01, kappa=0.01), 4)
    0.2165
    """
    s = massart_confidence_threshold(noise_rate, alpha)
    check_number("kappa", kappa, 0, 1)
    check_number("tol", tol, 0)
    return 1.0 / (1.0 + math.exp(s)) + kappa + tol / (1.0 + math.exp(-s))


@in_floats
def massart_boosting_n_rounds(
    noise_rate: float, alpha: float, gamma: float, kappa: float, tol: float
) -> float:
    """Bound on the number of rounds of Massart boosting.

    With s the `massart_confidence_threshold` it is 2 / (c min(c, s/8)), where c is
    min(2 gamma kappa, tol), if every weak learner has an edge of at least gamma.

    Parameters
    ----------
    noise_rate, alpha : float
        As for `massart_confidence_threshold`.
    gamma : float in (0, 1/2]
        The edge under the measure, whose labels are wrong with a probability below 1/2 - alpha.
    kappa : float in (0, 1)
        Boosting ends where the density of the measure is below this, and
    tol : float
        no more than this is gained by moving confident scores towards 0; positive.

    Returns
    -------
    n_rounds : float

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The weak learner's vote gains at least 2 gamma kappa for the rows that are not confident. It is
    added to the scores of all rows only if that gains more than `tol`. A step b along a gain of c
    lowers the potential by at least b c - b²/2, and b = min(c, s/8).

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import massart_boosting_n_rounds
    >>> round(massart_boosting_n_rounds(0.2, 0.05, gamma=0.1, kappa=0.2, tol=0.01))
    20000
    """
    s = massart_confidence_threshold(noise_rate, alpha)
    check_number("gamma", gamma, 0, 0.5, open_low=True)
    _check_inside("kappa", kappa, 0.0, 1.0)
    check_number("tol", tol, 0, open_low=True)
    c = min(2 * gamma * kappa, tol)
    return 2.0 / (c * min(c, s / 8))


def _check_inside(name: str, value: float, low: float, high: float) -> None:
    check_number(name, value, low, high, open_low=True)
    if value == high:
        raise ValueError(f"{name} must be in ({low:g}, {high:g}), got {value!r}.")
