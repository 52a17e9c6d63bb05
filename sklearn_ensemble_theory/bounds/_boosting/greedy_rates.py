"""Bounds of greedy boosting [Bach, §10.3.5 and §10.3.6].

Throughout, gamma is the gauge of the dictionary: gamma(u) is the least l1 norm of coefficients
that give u. Rates are evaluated at the number of rounds `t`, a number or an array; at t = 0 a rate
that has no value there is inf.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)
from sklearn_ensemble_theory.bounds._boosting.constrained_rates import over_rounds

__all__ = [
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "quadratic_boosting_bound",
]


@in_floats
def greedy_boosting_bound(t: ArrayLike, curvature: float, gauge: float, excess: float) -> Any:
    """Bound on F(u_t) - F(v) after t rounds of greedy boosting [Bach, eq. (10.9)].

    It is at most [Bach, proposition 10.1]

        (2 L C² gamma(u_0 - v)² (F(u_0) - F(v))^4 / t)^(1/5).

    Parameters
    ----------
    t : array-like
        Numbers of rounds.
    curvature : float
        L C²: F is L-smooth and every |psi| <= C. It is G2 R² for the mean of G2-smooth losses and
        outputs bounded by R.
    gauge : float
        gamma(u_0 - v).
    excess : float
        F(u_0) - F(v), or an upper bound on it.

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound after each number of rounds.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_bound
    >>> round(float(greedy_boosting_bound(32, curvature=0.25, gauge=2.0, excess=1.0)), 4)
    0.5743
    """
    t = checked_numbers("t", t, 0.0)
    check_number("curvature", curvature, 0)
    check_number("gauge", gauge, 0)
    check_number("excess", excess, -np.inf)
    return over_rounds(2 * curvature * gauge**2 * max(excess, 0.0) ** 4, t) ** 0.2


@in_floats
def greedy_boosting_gauge_bound(
    t: ArrayLike, curvature: float, risk_fall: ArrayLike, start: float = 0.0
) -> Any:
    """Bound on the gauge gamma(u_t) after t rounds of greedy boosting [Bach, eq. (10.9)].

    It is at most [Bach, proposition 10.1]

        gamma(u_0) + sqrt(t) / (L C²) * sqrt(2 L C² (F(u_0) - F(u_t))).

    Parameters
    ----------
    t : array-like
        Numbers of rounds.
    curvature : float
        L C²; see `greedy_boosting_bound`.
    risk_fall : array-like
        F(u_0) - F(u_t), or F(u_0) for a risk that is never negative.
    start : float, default=0.0
        gamma(u_0).

    Returns
    -------
    bound : ndarray
        The bound after each number of rounds.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_gauge_bound
    >>> round(float(greedy_boosting_gauge_bound(8, curvature=0.25, risk_fall=0.5)), 4)
    5.6569
    """
    t = checked_numbers("t", t, 0.0)
    check_number("curvature", curvature, 0, open_low=True)
    fall = np.maximum(checked_numbers("risk_fall", risk_fall), 0.0)
    check_number("start", start, 0)
    return as_result(start + np.sqrt(2 * t * fall / curvature))


@in_floats
def quadratic_boosting_bound(t: ArrayLike, curvature: float, gauge: float) -> Any:
    """Bound on F(u_t) - min F after t rounds of greedy boosting, for a quadratic F.

    It is at most L C² gamma(u_0 - u*)² / (2 t^(1/3)) [Bach, exercise 10.6].

    Parameters
    ----------
    t : array-like
        Numbers of rounds.
    curvature : float
        L C²; see `greedy_boosting_bound`.
    gauge : float
        gamma(u_0 - u*), with u* the minimiser of F.

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound after each number of rounds.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import quadratic_boosting_bound
    >>> quadratic_boosting_bound([1, 8], curvature=1.0, gauge=2.0)
    array([2., 1.])
    """
    t = checked_numbers("t", t, 0.0)
    check_number("curvature", curvature, 0)
    check_number("gauge", gauge, 0)
    return over_rounds(0.5 * curvature * gauge**2, np.cbrt(t))


@in_floats
def greedy_boosting_risk_bound(
    t: ArrayLike,
    n_samples: int,
    gauge: float,
    smoothness: float = 0.25,
    lipschitz: float = 1.0,
    loss_at_zero: float | None = None,
    rademacher: float = 1.0,
) -> Any:
    """Bound on the expected risk of greedy boosting after t rounds, beyond that of f.

    It is at most the second and third terms of [Bach, eq. (10.16)], by [Bach, proposition 10.2]:

        [sqrt(2 t G0/G2) + R gamma_1(f)] 2 G1 rho / sqrt(n) + ((R gamma_1(f))² 2 G2 G0^4 / t)^(1/5)

    The defaults are those of the logistic loss.

    Parameters
    ----------
    t : array-like
        Numbers of rounds of [Bach, eq. (10.9)].
    n_samples : int
        Number of rows.
    gauge : float
        R gamma_1(f): the competitor's variation norm times the bound R on the weak learners.
    smoothness, lipschitz : float
        The constants G2 and G1 of the loss.
    loss_at_zero : float, default=None
        G0, the largest loss at score 0; None is log 2 (natural logarithm).
    rademacher : float, default=1.0
        The constant rho of the Rademacher complexity in [Bach, eq. (10.15)].

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound after each number of rounds.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_risk_bound
    >>> round(float(greedy_boosting_risk_bound(1000, 10**8, gauge=1.0)), 4)
    0.1782
    """
    t = checked_numbers("t", t, 0.0)
    G0 = _checked_loss(n_samples, gauge, smoothness, lipschitz, loss_at_zero, rademacher)
    estimation = (np.sqrt(2 * t * G0 / smoothness) + gauge) * 2 * lipschitz * rademacher
    optimisation = over_rounds(2 * smoothness * gauge**2 * G0**4, t) ** 0.2
    return as_result(estimation / np.sqrt(n_samples) + optimisation)


@in_floats
def greedy_boosting_best_n_rounds(
    n_samples: int,
    gauge: float,
    smoothness: float = 0.25,
    lipschitz: float = 1.0,
    loss_at_zero: float | None = None,
    rademacher: float = 1.0,
) -> float:
    """Return the t that minimises `greedy_boosting_risk_bound`, of order n^(5/7) gauge^(4/7).

    The bound [Bach, eq. (10.16)] is A sqrt(t) + B t^(-1/5) plus a constant, which is least at
    t = (2 B / (5 A))^(10/7).

    Parameters
    ----------
    n_samples : int
        Number of rows.
    gauge : float
        R gamma_1(f): the competitor's variation norm times the bound R on the weak learners.
    smoothness, lipschitz : float
        The constants G2 and G1 of the loss.
    loss_at_zero : float, default=None
        G0, the largest loss at score 0; None is log 2 (natural logarithm).
    rademacher : float, default=1.0
        The constant rho of the Rademacher complexity in [Bach, eq. (10.15)].

    Returns
    -------
    t : float
        The optimal number of rounds, a real number.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_best_n_rounds
    >>> round(greedy_boosting_best_n_rounds(10**8, gauge=1.0))
    8250
    """
    G0 = _checked_loss(n_samples, gauge, smoothness, lipschitz, loss_at_zero, rademacher)
    for name, value in (("lipschitz", lipschitz), ("rademacher", rademacher), ("loss_at_zero", G0)):
        check_number(name, value, 0, open_low=True)
    A = np.sqrt(2 * G0 / smoothness) * 2 * lipschitz * rademacher / np.sqrt(n_samples)
    B = (2 * smoothness * gauge**2 * G0**4) ** 0.2
    return float((2 * B / (5 * A)) ** (10 / 7))


def _checked_loss(
    n_samples: int,
    gauge: float,
    smoothness: float,
    lipschitz: float,
    loss_at_zero: float | None,
    rademacher: float,
) -> float:
    """The loss at score 0, after a check of all constants."""
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("gauge", gauge, 0)
    check_number("smoothness", smoothness, 0, open_low=True)
    check_number("lipschitz", lipschitz, 0)
    check_number("rademacher", rademacher, 0)
    if loss_at_zero is None:
        return float(np.log(2.0))
    check_number("loss_at_zero", loss_at_zero, 0)
    return loss_at_zero
