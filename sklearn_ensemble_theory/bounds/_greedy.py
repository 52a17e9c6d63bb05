"""Rates of greedy methods over a dictionary, and of those they are compared with.

Matching pursuit [Bach, §10.3.3], greedy boosting of smooth risks [Bach, §10.3.5 and §10.3.6], and
beside them gradient descent and Frank-Wolfe. gamma is the gauge of the dictionary: gamma(u) is the
least l1 norm of coefficients that give u. Rates are evaluated at the number t of rounds, a number
or an array; at t = 0 a rate that has no value there is what is known of the start.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import (
    as_result,
    check_integer,
    check_number,
    checked_numbers,
    in_floats,
    is_sharp,
)


@in_floats
def matching_pursuit_bound(
    n_rounds: ArrayLike, gauge: float, learning_rate: float = 1.0, weakness: float = 1.0
) -> Any:
    """Bound on the mean squared residual after t rounds of matching pursuit.

    With q = (2 - nu) theta and kappa = nu theta (2 + q) it is at most the smaller of

        gamma(y)² (1 + kappa t)^(-q / (2 + q)),   gamma(y)² M (1 + kappa t)^(-p),

    with p of :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_exponent` and a number M,
    for q >= 1. With learning rate nu = 1 and weakness theta = 1 these are (1 + 3 t)^(-1/3) and
    1.027 (1 + 3 t)^(-0.3656) times gamma(y)², below the gamma(y)² t^(-1/3) of [Bach, §10.3.3].
    Shrinkage improves the exponent, up to 0.61, and worsens the constant.

    %(of_rounds_and_gauge)s
    learning_rate : float in (0, 1], default=1.0
        nu, the factor of each step.
    weakness : float in (0, 1], default=1.0
        theta: each round's column has at least this share of the largest correlation.

    %(bound_after_rounds)s

    See Also
    --------
    sklearn_ensemble_theory.datasets.make_slow_pursuit : 0.3 times the bound is attained.

    Notes
    -----
    With a the mean squared residual and b >= gamma of it, a round with |c| >= theta a/b gives a' =
    a - nu (2 - nu) c² and b' = b + nu |c|. So a b^q never increases, and b²/a grows by kappa a
    round at least. The bound is a^(2 + q) = (a b^q)² (a/b²)^q. The correlations of later rounds
    with earlier residuals give a larger power than q: :ref:`rate-of-matching-pursuit` in the user
    guide has the proof. Its exponent is that of Sil'nichenko (2004) for nu = 1.

    %(references_of_pursuit)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_bound
    >>> matching_pursuit_bound([0, 7, 26], gauge=2.0).round(3)
    array([4.   , 1.327, 0.831])
    """
    nu, theta, t = learning_rate, weakness, checked_numbers("n_rounds", n_rounds, 0.0)
    check_number("gauge", gauge, 0)
    check_number("learning_rate", nu, 0, 1, open_low=True)
    check_number("weakness", theta, 0, 1, open_low=True)
    q = (2 - nu) * theta
    rounds = 1 + nu * theta * (2 + q) * t
    power, M = _power_of_mass(q)
    shares = rounds ** (-q / (2 + q)), M * rounds ** (-power / (2 + power))
    return as_result(gauge**2 * np.minimum(*shares))


def matching_pursuit_exponent(learning_rate: float = 1.0, weakness: float = 1.0) -> float:
    """The exponent p of the rate t^(-p) of matching pursuit's mean squared residual.

    It is G / (2 + G), where G is the root above q = (2 - nu) theta of

        G ((1 + G)^(1/(2 + G)) (1 + 1/(1 + G)) - 1) = q,

    if q >= 1, and q / (2 + q) for a weaker choice of columns. Without shrinkage it is 0.3656, twice
    the 0.182 of Klusowski and Siegel (2025) for the norm, who show that it cannot be much improved.
    Shrinkage improves it: up to 0.61 for small learning rates.

    Parameters
    ----------
    learning_rate : float in (0, 1], default=1.0
        nu, the factor of each step.
    weakness : float in (0, 1], default=1.0
        theta: each round's column has at least this share of the largest correlation.

    Returns
    -------
    exponent : float
        p, from 0 to 0.61.

    %(raises)s

    See Also
    --------
    matching_pursuit_bound : The rate, with its constant and its proof.

    %(references_of_pursuit)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_exponent
    >>> [round(matching_pursuit_exponent(nu), 4) for nu in (1, 0.5, 0.1)]
    [0.3656, 0.4977, 0.5897]
    """
    check_number("learning_rate", learning_rate, 0, 1, open_low=True)
    check_number("weakness", weakness, 0, 1, open_low=True)
    power, _ = _power_of_mass((2 - learning_rate) * weakness)
    return power / (2 + power)


def _power_of_mass(q: float) -> tuple[float, float]:
    """G with a <= C b^(-G) along every run from a <= b = 1, and M = C^(2/(2 + G))."""
    if q < 1:
        return q, 1.0

    def excess(G: float) -> float:
        return float(G * ((1 + G) ** (1 / (2 + G)) * (1 + 1 / (1 + G)) - 1) - q)

    G = float(brentq(excess, q, 4.0, xtol=1e-15))
    u = (1 + G) ** (1 / (2 + G))
    near, less = u ** -(G + 1), u ** (q - G)
    start = u - 1 + max(0.0, near * (1 - G * (1 - less) / (G - q))) / less
    C = max(1 / less, start / (near * (1 - G * np.log(u)) + (u - 1) * less))
    return G, float(C ** (2 / (2 + G)))


@in_floats
def orthogonal_matching_pursuit_bound(n_rounds: ArrayLike, gauge: float) -> Any:
    """Bound on the mean squared residual after t rounds of orthogonal matching pursuit.

    It is at most gamma(y)² / (1 + t); [Bach, exercise 10.5] states gamma(y)² / t. Least squares
    over the chosen columns makes y'r = r'r, so the largest correlation is at least r'r/gamma(y),
    whichever columns were chosen.

    %(of_rounds_and_gauge)s

    %(bound_after_rounds)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import orthogonal_matching_pursuit_bound
    >>> orthogonal_matching_pursuit_bound([0, 1, 3], gauge=2.0)
    array([4., 2., 1.])
    """
    check_number("gauge", gauge, 0)
    return as_result(gauge**2 / (1 + checked_numbers("n_rounds", n_rounds, 0.0)))


@in_floats
def greedy_boosting_bound(
    n_rounds: ArrayLike,
    curvature: float,
    gauge: float,
    excess: float,
    *,
    method: str = "source",
) -> Any:
    """Bound on F(u_t) - F(v) after t rounds of greedy boosting [Bach, eq. (10.9)].

    It is at most [Bach, proposition 10.1]

        (2 L C² gamma(u_0 - v)² (F(u_0) - F(v))^4 / t)^(1/5),

    and at most F(u_0) - F(v), as no round increases F. ``method="sharp"`` is

        (K g² a^4 / (5 t / 2 + K g² / a))^(1/5),   K = L C², g = gamma(u_0 - v), a = F(u_0) - F(v).

    With c the largest correlation, a round has c >= a/g, a' <= a - c²/(2 K) and g' <= g + c/K. So
    a sqrt(g) never increases, as (1 - x/2) sqrt(1 + x) <= 1, and K g²/a grows by 5/2 at least. The
    bound is a^5 = (a² g)² a/g², taken at the end for g and at the start for a² g.

    %(of_rounds)s
    curvature : float
        L C²: F is L-smooth and every |psi| <= C. It is G2 R² for the mean of G2-smooth losses and
        outputs bounded by R.
    gauge : float
        gamma(u_0 - v).
    excess : float
        F(u_0) - F(v), or an upper bound on it.
    %(method)s

    %(bound_after_rounds)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_bound
    >>> round(float(greedy_boosting_bound(32, curvature=0.25, gauge=2.0, excess=1.0)), 4)
    0.5743
    >>> bound = greedy_boosting_bound(32, curvature=0.25, gauge=2.0, excess=1.0, method="sharp")
    >>> round(float(bound), 4)
    0.4152
    """
    t = checked_numbers("n_rounds", n_rounds, 0.0)
    check_number("curvature", curvature, 0)
    check_number("gauge", gauge, 0)
    check_number("excess", excess, -np.inf)
    top = max(excess, 0.0)
    return as_result(_left_of_greedy_boosting(t, curvature * gauge**2, top, method))


def _left_of_greedy_boosting(t: np.ndarray, size: float, excess: float, method: str) -> Any:
    """The bound for `size` = L C² gamma²."""
    if is_sharp(method):
        total = 2.5 * t * excess + size
        return excess * (size / np.where(total > 0, total, 1.0)) ** 0.2
    return np.minimum(excess, _over_rounds(2 * size * excess**4, t) ** 0.2)


@in_floats
def greedy_boosting_gauge_bound(
    n_rounds: ArrayLike, curvature: float, risk_fall: ArrayLike, start: float = 0.0
) -> Any:
    """Bound on the gauge gamma(u_t) after t rounds of greedy boosting [Bach, eq. (10.9)].

    It is at most [Bach, proposition 10.1]

        gamma(u_0) + sqrt(t) / (L C²) * sqrt(2 L C² (F(u_0) - F(u_t))).

    %(of_rounds_and_curvature)s
    risk_fall : array-like
        F(u_0) - F(u_t), or F(u_0) for a risk that is never negative.
    start : float, default=0.0
        gamma(u_0).

    Returns
    -------
    bound : ndarray
        The bound after each number of rounds.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_gauge_bound
    >>> round(float(greedy_boosting_gauge_bound(8, curvature=0.25, risk_fall=0.5)), 4)
    5.6569
    """
    t = checked_numbers("n_rounds", n_rounds, 0.0)
    check_number("curvature", curvature, 0, open_low=True)
    fall = np.maximum(checked_numbers("risk_fall", risk_fall), 0.0)
    check_number("start", start, 0)
    return as_result(start + np.sqrt(2 * t * fall / curvature))


@in_floats
def quadratic_boosting_bound(
    n_rounds: ArrayLike, curvature: float, gauge: float, *, method: str = "source"
) -> Any:
    """Bound on F(u_t) - min F after t rounds of greedy boosting, for a quadratic F.

    It is at most L C² gamma(u_0 - u*)² / (2 t^(1/3)) [Bach, exercise 10.6], and before the first
    round at most that of t = 1, by smoothness. ``method="sharp"`` has 1 + 3 t instead of t, as
    `matching_pursuit_bound`. Let A be the difference divided by L C²/2, and g >= gamma(u_t - u*). A
    round has A' <= A - c² and g' = g + c with c >= A/g. So A g never increases, and g²/A grows by 3
    at least.

    %(of_rounds_and_curvature)s
    gauge : float
        gamma(u_0 - u*), with u* the minimiser of F.
    %(method)s

    %(bound_after_rounds)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import quadratic_boosting_bound
    >>> quadratic_boosting_bound([1, 8], curvature=1.0, gauge=2.0)
    array([2., 1.])
    >>> quadratic_boosting_bound([0, 21], curvature=1.0, gauge=2.0, method="sharp")
    array([2. , 0.5])
    """
    t = checked_numbers("n_rounds", n_rounds, 0.0)
    check_number("curvature", curvature, 0)
    check_number("gauge", gauge, 0)
    rounds = 3 * t + 1 if is_sharp(method) else np.maximum(t, 1.0)
    return as_result(0.5 * curvature * gauge**2 / np.cbrt(rounds))


@in_floats
def greedy_boosting_risk_bound(
    n_rounds: ArrayLike,
    n_samples: int,
    gauge: float,
    smoothness: float = 0.25,
    lipschitz: float = 1.0,
    loss_at_zero: float | None = None,
    rademacher: float = 1.0,
    *,
    method: str = "source",
) -> Any:
    """Bound on the expected risk of greedy boosting after t rounds, beyond that of f.

    It is at most the second and third terms of [Bach, eq. (10.16)], by [Bach, proposition 10.2]:

        [sqrt(2 t G0/G2) + R gamma_1(f)] 2 G1 rho / sqrt(n) + ((R gamma_1(f))² 2 G2 G0^4 / t)^(1/5)

    with at most G0 for the last term, the excess of the empirical risk over that of f, which is
    smaller with ``method="sharp"`` of `greedy_boosting_bound`. The defaults are those of the
    logistic loss.

    Parameters
    ----------
    n_rounds : int or array-like
        Number of rounds of [Bach, eq. (10.9)].
    %(n_samples)s
    %(gauge_of_f)s
    %(loss_constants)s
    %(loss_at_zero)s
    %(rho)s
    %(method)s

    %(bound_after_rounds)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_risk_bound
    >>> round(float(greedy_boosting_risk_bound(1000, 10**8, gauge=1.0)), 4)
    0.1782
    >>> round(float(greedy_boosting_risk_bound(1000, 10**8, gauge=1.0, method="sharp")), 4)
    0.1333
    """
    t = checked_numbers("n_rounds", n_rounds, 0.0)
    G0 = _checked_loss(n_samples, gauge, smoothness, lipschitz, loss_at_zero, rademacher)
    estimation = (np.sqrt(2 * t * G0 / smoothness) + gauge) * 2 * lipschitz * rademacher
    optimisation = _left_of_greedy_boosting(t, smoothness * gauge**2, G0, method)
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
    t = (2 B / (5 A))^(10/7). If B t^(-1/5) is above G0 there, no number of rounds is better than 0
    by this bound.

    %(of_n_samples)s
    %(gauge_of_f)s
    %(loss_constants)s
    %(loss_at_zero)s
    %(rho)s

    Returns
    -------
    t : float
        The optimal number of rounds, a real number.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_best_n_rounds
    >>> round(greedy_boosting_best_n_rounds(10**8, gauge=1.0))
    8250
    """
    G0 = _checked_loss(n_samples, gauge, smoothness, lipschitz, loss_at_zero, rademacher)
    for name, value in (("lipschitz", lipschitz), ("rademacher", rademacher), ("loss_at_zero", G0)):
        check_number(name, value, 0, open_low=True)
    # The bound is A t^(1/2) + B t^(-1/5) and a constant.
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
    check_integer("n_samples", n_samples, 1)
    check_number("gauge", gauge, 0)
    check_number("smoothness", smoothness, 0, open_low=True)
    check_number("lipschitz", lipschitz, 0)
    check_number("rademacher", rademacher, 0)
    if loss_at_zero is None:
        return float(np.log(2.0))
    check_number("loss_at_zero", loss_at_zero, 0)
    return loss_at_zero


@in_floats
def gradient_descent_bound(
    n_rounds: ArrayLike, smoothness: ArrayLike, distance: ArrayLike, *, method: str = "source"
) -> Any:
    """Bound on F(u_t) - min F after t steps of gradient descent of length 1/L.

    It is L |u_0 - u*|² / (2 t), for a convex and L-smooth F. [Bach, §10.3.5] compares it with
    greedy boosting. Because |u_0 - u*| is at most C gamma(u_0 - u*), it is at most L C² gamma(u_0 -
    u*)² / (2 t). For greedy boosting, `greedy_boosting_bound` is of order t^(-1/5). But the
    iterates are not combinations of t atoms. The source prints L C² gamma(u_0 - u*) / (2 t) for the
    second form; the gauge is squared. ``method="sharp"`` is L |u_0 - u*|² / (4 t + 2), which is
    attained [Drori and Teboulle, 2014].

    Parameters
    ----------
    n_rounds : int or array-like
        Number t of steps; at 0 the bound is L |u_0 - u*|² / 2, by smoothness.
    smoothness : array-like
        L, or L C² if `distance` is in units of the gauge.
    distance : array-like
        The Euclidean distance |u_0 - u*|, or gamma(u_0 - u*).
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, in units of F.

    %(raises)s

    References
    ----------
    Y. Drori and M. Teboulle (2014). "Performance of first-order methods for smooth convex
    minimization: a novel approach". *Mathematical Programming* 145.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gradient_descent_bound
    >>> gradient_descent_bound([1, 10], smoothness=1.0, distance=2.0)
    array([2. , 0.2])
    >>> gradient_descent_bound([1, 10], smoothness=1.0, distance=2.0, method="sharp").round(3)
    array([0.667, 0.095])
    """
    t = checked_numbers("n_rounds", n_rounds, 0.0)
    smoothness = checked_numbers("smoothness", smoothness, 0.0)
    distance = checked_numbers("distance", distance, 0.0)
    rounds = 2 * t + 1 if is_sharp(method) else np.maximum(t, 1.0)
    return as_result(0.5 * smoothness * distance**2 / rounds)


@in_floats
def frank_wolfe_bound(n_rounds: ArrayLike, curvature: float, radius: float) -> Any:
    """Bound on F(u_t) - min F over the ball of radius D after t rounds of Frank-Wolfe.

    It is at most 8 L C² D² / (t + 2). The bound of conditional gradients is
    2 L diameter² / (t + 2), for open-loop steps, line searches and short steps alike, and the
    diameter of the ball is at most 2 D C. [Bach, §10.3.6] states "an optimization error
    proportional to R² D²/t".

    %(of_rounds_and_curvature)s
    radius : float
        D, the radius of the ball.

    %(bound_after_rounds)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import frank_wolfe_bound
    >>> frank_wolfe_bound([2, 6], curvature=1.0, radius=1.0)
    array([2., 1.])
    """
    t = checked_numbers("n_rounds", n_rounds, 1.0)
    check_number("curvature", curvature, 0)
    check_number("radius", radius, 0)
    return as_result(8.0 * curvature * radius**2 / (t + 2.0))


@in_floats
def frank_wolfe_risk_bound(
    n_rounds: ArrayLike,
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
    The first term bounds the expected largest difference between risk and empirical risk over the
    ball, by symmetrisation and contraction. The empirical risk of a fixed f has no bias.

    %(of_rounds)s
    %(n_samples)s
    radius : float
        R D: the radius of the ball of the variation norm times the bound R on the weak learners.
    %(loss_constants)s
    %(rho)s

    Returns
    -------
    bound : float or ndarray of the shape of n_rounds
        The bound, in units of the loss.

    %(raises)s

    See Also
    --------
    greedy_boosting_risk_bound : Boosting with early stopping, for which D need not be known.
    frank_wolfe_n_rounds : The number of rounds from which the first term is the larger one.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import frank_wolfe_risk_bound
    >>> round(frank_wolfe_risk_bound(9998, 10**8, radius=1.0), 6)
    0.0004
    """
    t = checked_numbers("n_rounds", n_rounds, 1.0)
    check_integer("n_samples", n_samples, 1)
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

    %(of_n_samples)s
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

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import frank_wolfe_n_rounds
    >>> frank_wolfe_n_rounds(10_000, radius=5.0)
    498.0
    """
    check_integer("n_samples", n_samples, 1)
    _check_constants(radius, smoothness, lipschitz, rademacher)
    for name, value in (("lipschitz", lipschitz), ("rademacher", rademacher)):
        check_number(name, value, 0, open_low=True)
    equal = 4.0 * smoothness * radius * np.sqrt(n_samples) / (lipschitz * rademacher)
    return max(1.0, float(equal) - 2.0)


def _over_rounds(top: float | np.ndarray, t: np.ndarray) -> Any:
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
