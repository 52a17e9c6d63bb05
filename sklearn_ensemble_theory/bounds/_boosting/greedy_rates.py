"""Bounds of greedy approximation and of gradient boosting [Bach, §10.3.3 to §10.3.6].

Throughout, gamma is the gauge of the dictionary: gamma(u) is the least l1 norm of coefficients
that give u. Rates are evaluated at the number of rounds `t`, a number or an array; at t = 0 a rate
that has no value there is inf.
"""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# 2^(d-1) sign vectors are enumerated for the exact constant of d independent columns.
MAX_SIGN_VECTORS = 12


def matching_pursuit_bound(
    t: ArrayLike, gauge: float, learning_rate: float = 1.0, weakness: float = 1.0
) -> np.ndarray:
    """Bound on the mean squared residual after t rounds of matching pursuit.

    It is at most

        gamma(y)² (1 + nu (2 - nu) theta² t)^(-q / (2 + q)),   q = (2 - nu) theta.

    With learning rate nu = 1 and weakness theta = 1 this is gamma(y)² (1 + t)^(-1/3), which is
    below the gamma(y)² t^(-1/3) of [Bach, §10.3.3]; with nu = 1 alone it is Temlyakov's bound for
    weak greedy algorithms. Shrinkage improves the exponent, up to 1/2, and worsens the constant.

    Parameters
    ----------
    t : array-like
        Numbers of rounds.
    gauge : float
        gamma(y), for columns of mean square 1.
    learning_rate : float in (0, 1], default=1.0
        nu, the factor of each step.
    weakness : float in (0, 1], default=1.0
        theta: each round's column has at least this share of the largest correlation.

    Returns
    -------
    bound : ndarray of the shape of t
        The bound after each number of rounds.

    Notes
    -----
    With a_t the mean squared residual and g_t >= gamma of it, a round with |c| >= theta a/g gives
    a' = a - nu (2 - nu) c² and g' = g + nu |c|. So a g^q never increases, because (1 + x)^q (1 - q
    x) <= 1, and z = a/g² decreases at least as z' <= z - nu (2 - nu) theta² z². The bound is a^(2 +
    q) = (a g^q)² z^q.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_bound
    >>> matching_pursuit_bound([0, 7, 26], gauge=2.0).round(3)
    array([4.   , 2.   , 1.333])
    """
    nu, theta, t = learning_rate, weakness, np.asarray(t, dtype=float)
    q = (2 - nu) * theta
    return gauge**2 * (1 + nu * (2 - nu) * theta**2 * t) ** (-q / (2 + q))


def orthogonal_matching_pursuit_bound(t: ArrayLike, gauge: float) -> np.ndarray:
    """Bound on the mean squared residual after t rounds of orthogonal matching pursuit.

    It is at most gamma(y)² / (1 + t); [Bach, exercise 10.5] states gamma(y)² / t. Least squares
    over the chosen columns makes y'r = r'r, so the largest correlation is at least r'r/gamma(y),
    whichever columns were chosen.

    Parameters
    ----------
    t : array-like
        Numbers of rounds.
    gauge : float
        gamma(y), for columns of mean square 1.

    Returns
    -------
    bound : ndarray of the shape of t
        The bound after each number of rounds.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import orthogonal_matching_pursuit_bound
    >>> orthogonal_matching_pursuit_bound([0, 1, 3], gauge=2.0)
    array([4., 2., 1.])
    """
    return gauge**2 / (1 + np.asarray(t, dtype=float))


def matching_pursuit_kappa(gram: ArrayLike) -> float:
    """The constant kappa of the exponential rate (1 - kappa²)^t [Bach, §10.3.3].

    kappa |v| <= max_j |psi_j'v| for every v in the span of the columns, in the norm of mean
    squares, for columns of mean square 1. The value returned is at most 1/sqrt(r), where r is the
    rank of the columns; it is less than the largest possible kappa where the notes say so.

    Parameters
    ----------
    gram : array-like of shape (d, d)
        Mean products of the columns.

    Returns
    -------
    kappa : float
        The constant; 0 if all columns are 0.

    Notes
    -----
    For at most 12 linearly independent columns this is the largest kappa: 1/kappa² is the largest
    s'G^-1 s over sign vectors s, whose mean over all s is the trace of G^-1, at least d. So kappa
    is at most 1/sqrt(d), and r = d.

    Otherwise it is computed from the eigenvalues: kappa² = lambda/d with lambda the smallest
    positive eigenvalue, which is at most d/r. That is a valid constant but not always the largest:
    many columns in few dimensions can have a kappa close to 1.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_kappa
    >>> round(matching_pursuit_kappa(np.eye(4)), 6)  # orthonormal: 1/sqrt(rank)
    0.5
    >>> round(matching_pursuit_kappa(np.kron(np.eye(4), np.ones((2, 2)))), 6)  # each column twice
    0.5
    """
    gram = np.asarray(gram, dtype=float)
    gram = gram[:, np.diag(gram) > 0][np.diag(gram) > 0]
    d = len(gram)
    if d == 0:
        return 0.0
    values, vectors = np.linalg.eigh(gram)
    positive = values > d * np.finfo(float).eps * values[-1]
    if d <= MAX_SIGN_VECTORS and positive.all():
        signs = np.array([(1.0, *s) for s in product((-1.0, 1.0), repeat=d - 1)])
        return float(1 / np.sqrt(np.max(((signs @ vectors) ** 2) @ (1 / values))))
    return float(np.sqrt(values[positive][0] / d))


def greedy_boosting_bound(
    t: ArrayLike, curvature: float, gauge: float, excess: float
) -> np.ndarray:
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
    bound : ndarray of the shape of t
        The bound after each number of rounds.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_bound
    >>> round(float(greedy_boosting_bound(32, curvature=0.25, gauge=2.0, excess=1.0)), 4)
    0.5743
    """
    top = 2 * curvature * gauge**2 * max(excess, 0.0) ** 4
    return _over_rounds(top, t) ** 0.2


def greedy_boosting_gauge_bound(
    t: ArrayLike, curvature: float, risk_fall: ArrayLike, start: float = 0.0
) -> np.ndarray:
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

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_gauge_bound
    >>> round(float(greedy_boosting_gauge_bound(8, curvature=0.25, risk_fall=0.5)), 4)
    5.6569
    """
    fall = np.maximum(np.asarray(risk_fall, dtype=float), 0.0)
    return start + np.sqrt(2 * np.asarray(t, dtype=float) * fall / curvature)


def quadratic_boosting_bound(t: ArrayLike, curvature: float, gauge: float) -> np.ndarray:
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
    bound : ndarray of the shape of t
        The bound after each number of rounds.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import quadratic_boosting_bound
    >>> quadratic_boosting_bound([1, 8], curvature=1.0, gauge=2.0)
    array([2., 1.])
    """
    return _over_rounds(0.5 * curvature * gauge**2, np.cbrt(np.asarray(t, dtype=float)))


def greedy_boosting_risk_bound(
    t: ArrayLike,
    n_samples: int,
    gauge: float,
    smoothness: float = 0.25,
    lipschitz: float = 1.0,
    loss_at_zero: float | None = None,
    rademacher: float = 1.0,
) -> np.ndarray:
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
    bound : ndarray of the shape of t
        The bound after each number of rounds.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_risk_bound
    >>> round(float(greedy_boosting_risk_bound(1000, 10**8, gauge=1.0)), 4)
    0.1782
    """
    t = np.asarray(t, dtype=float)
    G0 = np.log(2.0) if loss_at_zero is None else loss_at_zero
    estimation = (np.sqrt(2 * t * G0 / smoothness) + gauge) * 2 * lipschitz * rademacher
    optimisation = _over_rounds(2 * smoothness * gauge**2 * G0**4, t) ** 0.2
    return estimation / np.sqrt(n_samples) + optimisation


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

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import greedy_boosting_best_n_rounds
    >>> round(greedy_boosting_best_n_rounds(10**8, gauge=1.0))
    8250
    """
    G0 = np.log(2.0) if loss_at_zero is None else loss_at_zero
    A = np.sqrt(2 * G0 / smoothness) * 2 * lipschitz * rademacher / np.sqrt(n_samples)
    B = (2 * smoothness * gauge**2 * G0**4) ** 0.2
    return float((2 * B / (5 * A)) ** (10 / 7))


def frank_wolfe_bound(t: ArrayLike, curvature: float, radius: float) -> np.ndarray:
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
    bound : ndarray of the shape of t
        The bound after each number of rounds.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import frank_wolfe_bound
    >>> frank_wolfe_bound([2, 6], curvature=1.0, radius=1.0)
    array([2., 1.])
    """
    return 8 * curvature * radius**2 / (np.asarray(t, dtype=float) + 2)


def _over_rounds(top: Any, t: ArrayLike) -> np.ndarray:
    """top / t, inf at t = 0."""
    t = np.asarray(t, dtype=float)
    return np.where(t > 0, top / np.where(t > 0, t, 1.0), np.inf)
