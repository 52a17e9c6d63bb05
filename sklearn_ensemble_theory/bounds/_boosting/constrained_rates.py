"""What greedy boosting is compared with [Bach, §10.3.5 and §10.3.6], and Rademacher complexity."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)

__all__ = [
    "frank_wolfe_bound",
    "frank_wolfe_n_rounds",
    "frank_wolfe_risk_bound",
    "gradient_descent_bound",
]


@in_floats
def gradient_descent_bound(t: ArrayLike, smoothness: ArrayLike, distance: ArrayLike) -> Any:
    """Bound on F(u_t) - min F after t steps of gradient descent of length 1/L.

    It is L |u_0 - u*|² / (2 t), for a convex and L-smooth F. [Bach, §10.3.5] compares it with
    greedy boosting: |u_0 - u*| is at most C gamma(u_0 - u*), so that it is at most
    L C² gamma(u_0 - u*)² / (2 t), where greedy boosting has `greedy_boosting_bound`, of order
    t^(-1/5). But the iterates are not combinations of t atoms.

    Parameters
    ----------
    t : array-like
        Numbers of steps, not negative; at 0 the bound is inf.
    smoothness : array-like
        L, or L C² if `distance` is in units of the gauge.
    distance : array-like
        The Euclidean distance |u_0 - u*|, or gamma(u_0 - u*).

    Returns
    -------
    bound : float or ndarray
        The bound, in units of F.

    Raises
    ------
    ValueError
        If a parameter is negative or not finite.

    Notes
    -----
    The source prints L C² gamma(u_0 - u*) / (2 t) for the second form; the gauge is squared.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gradient_descent_bound
    >>> gradient_descent_bound([1, 10], smoothness=1.0, distance=2.0)
    array([2. , 0.2])
    """
    t = checked_numbers("t", t, 0.0)
    smoothness = checked_numbers("smoothness", smoothness, 0.0)
    distance = checked_numbers("distance", distance, 0.0)
    return over_rounds(0.5 * smoothness * distance**2, t)


@in_floats
def frank_wolfe_bound(t: ArrayLike, curvature: float, radius: float) -> Any:
    """Bound on F(u_t) - min F over the ball of radius D after t rounds of Frank-Wolfe.

    It is at most 8 L C² D² / (t + 2). The bound of conditional gradients is
    2 L diameter² / (t + 2), for open-loop steps, line searches and short steps alike, and the
    diameter of the ball is at most 2 D C. [Bach, §10.3.6] states "an optimization error
    proportional to R² D²/t".

    Parameters
    ----------
    t : array-like
        Numbers of rounds, at least 1.
    curvature : float
        L C²; see `greedy_boosting_bound`.
    radius : float
        D, the radius of the ball.

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound after each number of rounds.

    Raises
    ------
    ValueError
        If a number of rounds is below 1, or if another parameter is negative or not finite.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import frank_wolfe_bound
    >>> frank_wolfe_bound([2, 6], curvature=1.0, radius=1.0)
    array([2., 1.])
    """
    t = checked_numbers("t", t, 1.0)
    check_number("curvature", curvature, 0)
    check_number("radius", radius, 0)
    return as_result(8.0 * curvature * radius**2 / (t + 2.0))


@in_floats
def frank_wolfe_risk_bound(
    t: ArrayLike,
    n_samples: int,
    radius: float,
    smoothness: float = 0.25,
    lipschitz: float = 1.0,
    rademacher: float = 1.0,
) -> Any:
    """Bound on the expected risk after t rounds of Frank-Wolfe, beyond the best in the ball.

    For every f with gamma_1(f) <= D, the expected risk exceeds that of f by at most

        2 G1 rho R D / sqrt(n) + 8 G2 R² D² / (t + 2).

    [Bach, §10.3.6] states both terms up to constants. The defaults are those of the logistic loss.

    Parameters
    ----------
    t : array-like
        Numbers of rounds, at least 1.
    n_samples : int
        Number n of rows.
    radius : float
        R D: the radius of the ball of the variation norm times the bound R on the weak learners.
    smoothness, lipschitz : float
        The constants G2 and G1 of the loss.
    rademacher : float, default=1.0
        The constant rho of the Rademacher complexity in [Bach, eq. (10.15)].

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound, in units of the loss.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    greedy_boosting_risk_bound : Boosting with early stopping, for which D need not be known.
    frank_wolfe_n_rounds : The number of rounds from which the first term is the larger one.

    Notes
    -----
    The first term bounds the expected largest difference between risk and empirical risk over the
    ball, by symmetrisation and contraction. The empirical risk of a fixed f has no bias.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import frank_wolfe_risk_bound
    >>> round(frank_wolfe_risk_bound(9998, 10**8, radius=1.0), 6)
    0.0004
    """
    t = checked_numbers("t", t, 1.0)
    check_number("n_samples", n_samples, 1, integral=True)
    _check_constants(radius, smoothness, lipschitz, rademacher)
    estimation = 2.0 * lipschitz * rademacher * radius / np.sqrt(n_samples)
    return as_result(estimation + 8.0 * smoothness * radius**2 / (t + 2.0))


@in_floats
def frank_wolfe_n_rounds(
    n_samples: int,
    radius: float,
    smoothness: float = 0.25,
    lipschitz: float = 1.0,
    rademacher: float = 1.0,
) -> float:
    """The number of rounds of Frank-Wolfe after which its two errors are equal.

    It is 4 G2 R D sqrt(n) / (G1 rho) - 2, at least 1: there the two terms of
    `frank_wolfe_risk_bound` are the same, and more rounds lower the bound to no less than half. For
    the logistic loss with rho = 1 it is R D sqrt(n) - 2, as [Bach, §10.3.6] takes it.

    Parameters
    ----------
    n_samples : int
        Number n of rows.
    radius : float
        R D, positive; see `frank_wolfe_risk_bound`.
    smoothness, lipschitz : float
        The constants G2 and G1 of the loss, the latter positive.
    rademacher : float, default=1.0
        The constant rho of the Rademacher complexity, positive.

    Returns
    -------
    n_rounds : float
        A real number.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import frank_wolfe_n_rounds
    >>> frank_wolfe_n_rounds(10_000, radius=5.0)
    498.0
    """
    check_number("n_samples", n_samples, 1, integral=True)
    _check_constants(radius, smoothness, lipschitz, rademacher)
    for name, value in (("lipschitz", lipschitz), ("rademacher", rademacher)):
        check_number(name, value, 0, open_low=True)
    equal = 4.0 * smoothness * radius * np.sqrt(n_samples) / (lipschitz * rademacher)
    return max(1.0, float(equal) - 2.0)


def over_rounds(top: float | np.ndarray, t: np.ndarray) -> Any:
    """top / t, inf at t = 0."""
    return as_result(np.where(t > 0, top / np.where(t > 0, t, 1.0), np.inf))


def _check_constants(radius: float, smoothness: float, lipschitz: float, rademacher: float) -> None:
    for name, value in (
        ("radius", radius),
        ("smoothness", smoothness),
        ("lipschitz", lipschitz),
        ("rademacher", rademacher),
    ):
        check_number(name, value, 0)
