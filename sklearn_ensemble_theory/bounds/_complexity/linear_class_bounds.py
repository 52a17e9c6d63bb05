"""Bounds for linear functions in l1 and l2 balls, and for features of distances.

See [Shah, §3.5 and §3.6] and [Bach, §10.3.6].
"""

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory._numerics.margin_functions import MARGIN_FUNCTIONS
from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)
from sklearn_ensemble_theory.bounds._complexity.rademacher_bounds import (
    rademacher_excess_risk_bound,
)

__all__ = [
    "distance_features_rademacher_bound",
    "l1_ball_excess_risk_bound",
    "l1_ball_rademacher_bound",
    "l2_ball_excess_risk_bound",
    "l2_ball_rademacher_bound",
]


def l2_ball_rademacher_bound(
    n_samples: ArrayLike, radius: ArrayLike = 1.0, feature_bound: ArrayLike = 1.0
) -> float | np.ndarray:
    """Bound on the Rademacher complexity of linear functions of bounded l2 norm.

    It is lambda C / sqrt(n) for functions x'beta with a Euclidean norm of beta of at most lambda,
    on any n points of norm at most C [Shah, §3.5]. All parameters broadcast.

    Parameters
    ----------
    n_samples : int or array-like
        Number n of points, at least 1.

    radius : float or array-like, default=1.0
        The largest norm lambda of the coefficients, at least 0.

    feature_bound : float or array-like, default=1.0
        The largest Euclidean norm C of a point, at least 0; sqrt(p) for p features in [-1, 1].

    Returns
    -------
    bound : float or ndarray
        The bound, in units of x'beta. It is attained on orthogonal points of norm C.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    l2_ball_rademacher_complexity : The complexity on given points.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_ball_rademacher_bound
    >>> l2_ball_rademacher_bound(400, radius=2.0, feature_bound=3.0)
    0.3
    """
    n = checked_numbers("n_samples", n_samples, 1)
    radius = checked_numbers("radius", radius, 0)
    with np.errstate(over="ignore"):
        return as_result(radius * checked_numbers("feature_bound", feature_bound, 0) / np.sqrt(n))


@in_floats
def l1_ball_rademacher_bound(
    n_samples: ArrayLike,
    n_features: ArrayLike,
    radius: ArrayLike = 1.0,
    feature_bound: ArrayLike = 1.0,
) -> float | np.ndarray:
    """Bound on the Rademacher complexity of linear functions of bounded l1 norm.

    It is lambda C sqrt(2 log(2p) / n) for functions x'beta with an l1 norm of beta of at most
    lambda, on any n points with p features in [-C, C] [Shah, §3.6]. With the outputs of p weak
    learners as features it is the assumption [Bach, eq. (10.15)] on boosted functions of variation
    norm at most D = lambda, for R = C and the constant rho = sqrt(2 log(2p)). All parameters
    broadcast.

    Parameters
    ----------
    n_samples : int or array-like
        Number n of points, at least 1.

    n_features : int or array-like
        Number p of features, at least 1.

    radius : float or array-like, default=1.0
        The largest norm lambda of the coefficients, at least 0.

    feature_bound : float or array-like, default=1.0
        The largest absolute value C of a feature, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of x'beta.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    l1_ball_rademacher_complexity : The complexity on given points.
    greedy_boosting_risk_bound : What rho bounds.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l1_ball_rademacher_bound
    >>> round(l1_ball_rademacher_bound(400, 1_000, radius=2.0), 4)
    0.3899
    """
    n = checked_numbers("n_samples", n_samples, 1)
    p = checked_numbers("n_features", n_features, 1)
    radius = checked_numbers("radius", radius, 0)
    C = checked_numbers("feature_bound", feature_bound, 0)
    return as_result(radius * C * np.sqrt(2 * np.log(2 * p) / n))


def l2_ball_excess_risk_bound(
    n_samples: float,
    radius: float,
    feature_bound: float = 1.0,
    delta: float = 0.05,
    *,
    loss: str = "hinge",
) -> float:
    """Bound on the excess risk of a linear classifier of bounded l2 norm.

    With probability at least 1 - delta the expected loss of the minimiser of the empirical risk
    over ||beta|| <= lambda exceeds the least one by at most

        2 L lambda C / sqrt(n) + M sqrt(2 log(2/delta) / n)

    by [Shah, corollary 20], with M = phi(-lambda C) and L the Lipschitz constant of phi on scores
    of at most lambda C. For the hinge loss they are lambda C + 1 and 1 [Shah, §3.5].

    Parameters
    ----------
    n_samples : float
        Number n of independent rows, at least 1.

    radius : float
        The largest norm lambda, at least 0.

    feature_bound : float, default=1.0
        The largest Euclidean norm C of a row, at least 0; sqrt(p) for p features in [-1, 1].

    delta : float, default=0.05
        Probability that the bound does not hold, above 0 and at most 1.

    loss : {"hinge", "logistic", "exponential"}, default="hinge"
        The function phi of the margin; the logistic loss has the natural logarithm.

    Returns
    -------
    bound : float
        The bound, in units of the loss; inf where it is no float.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    l1_ball_excess_risk_bound : The same for the l1 norm.
    sklearn_ensemble_theory.BallConstrainedClassifier : The minimiser, with an intercept.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_ball_excess_risk_bound
    >>> round(l2_ball_excess_risk_bound(10_000, radius=1.0), 4)
    0.0743
    """
    _check_ball(n_samples, radius, feature_bound)
    complexity = l2_ball_rademacher_bound(n_samples, radius, feature_bound)
    return _excess_risk_bound(complexity, n_samples, radius * feature_bound, delta, loss)


def l1_ball_excess_risk_bound(
    n_samples: float,
    n_features: int,
    radius: float,
    feature_bound: float = 1.0,
    delta: float = 0.05,
    *,
    loss: str = "hinge",
) -> float:
    """Bound on the excess risk of a linear classifier of bounded l1 norm.

    With probability at least 1 - delta the expected loss of the minimiser of the empirical risk
    over ||beta||_1 <= lambda exceeds the least one by at most

        2 L lambda C sqrt(2 log(2p) / n) + M sqrt(2 log(2/delta) / n)

    by [Shah, corollary 20], with M = phi(-lambda C) and L the Lipschitz constant of phi on scores
    of at most lambda C. For the hinge loss they are lambda C + 1 and 1 [Shah, §3.6].

    Parameters
    ----------
    n_samples : float
        Number n of independent rows, at least 1.

    n_features : int
        Number p of features, at least 1.

    radius : float
        The largest norm lambda, at least 0.

    feature_bound : float, default=1.0
        The largest absolute value C of a feature, at least 0.

    delta : float, default=0.05
        Probability that the bound does not hold, above 0 and at most 1.

    loss : {"hinge", "logistic", "exponential"}, default="hinge"
        The function phi of the margin; the logistic loss has the natural logarithm.

    Returns
    -------
    bound : float
        The bound, in units of the loss; inf where it is no float.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    l2_ball_excess_risk_bound : The same for the l2 norm.
    sklearn_ensemble_theory.BallConstrainedClassifier : The minimiser, with an intercept.

    Notes
    -----
    If beta has s coefficients 1 / sqrt(s) and p - s zeros, the ball has to have lambda = sqrt(s),
    and lambda = 1 for the l2 norm, where C = sqrt(p) for features in [-1, 1]. The complexity of the
    l1 ball is then the smaller one where s < p / (2 log(2p)) [Shah, §3.6].

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    Five of 1,000 features count equally, or all of them do:

    >>> from sklearn_ensemble_theory.bounds import l1_ball_excess_risk_bound
    >>> from sklearn_ensemble_theory.bounds import l2_ball_excess_risk_bound
    >>> for s in (5, 1_000):
    ...     round(l1_ball_excess_risk_bound(10**6, 1_000, radius=s**0.5), 3)
    0.026
    0.335
    >>> round(l2_ball_excess_risk_bound(10**6, radius=1.0, feature_bound=1_000**0.5), 3)
    0.152
    """
    _check_ball(n_samples, radius, feature_bound)
    check_number("n_features", n_features, 1, integral=True)
    complexity = l1_ball_rademacher_bound(n_samples, n_features, radius, feature_bound)
    return _excess_risk_bound(complexity, n_samples, radius * feature_bound, delta, loss)


@in_floats
def distance_features_rademacher_bound(
    n_samples: ArrayLike,
    diameter: ArrayLike,
    cover_radius: ArrayLike,
    log_covering_number: ArrayLike,
    *,
    lipschitz: ArrayLike = 1.0,
    value_bound: ArrayLike | None = None,
) -> float | np.ndarray:
    """Bound on the Rademacher complexity of functions of the distance to a point.

    In a metric space of diameter D the functions are sigma(d(x, w)) for all points w of the space
    and one sigma with Lipschitz constant L on [0, D]. If N of them, the centres, are such that
    every point of the space is within r of a centre, the complexity is at most

        L r + (L D / 2) sqrt(2 log(N) / n),

    a solution of [Bach, exercise 10.7]. For the functions sigma(d(x, w)) and -sigma(d(x, w)), if
    |sigma| <= B, it is at most L r + B sqrt(2 log(2N) / n). All parameters broadcast; each r gives
    a bound, and the smallest one can be taken.

    Parameters
    ----------
    n_samples : int or array-like
        Number n of points, at least 1.

    diameter : float or array-like
        Diameter D, at least 0.

    cover_radius : float or array-like
        Radius r of the balls, at least 0.

    log_covering_number : float or array-like
        Natural logarithm of the number N of balls of radius r that cover the space, at least 0. A
        set of diameter D in Euclidean space of dimension d has N <= (1 + 2 D / r)^d; a finite space
        of m points has N = m for r = 0.

    lipschitz : float or array-like, default=1.0
        Lipschitz constant L, at least 0.

    value_bound : float or array-like, default=None
        Bound B on the absolute values of sigma, at least 0. If it is given, the bound is that for
        the functions of both signs, as for weak learners.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of sigma.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    greedy_boosting_risk_bound : What the complexity bounds.

    Notes
    -----
    With the centre nearest to w in the place of w the functions change by at most L r. The values
    of the N functions are in an interval of length L D, and its middle can be subtracted from all
    of them, as signs have mean 0; the rest is [Shah, lemma 12]. Of functions of both signs the
    middle cannot be subtracted.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    The unit square:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import distance_features_rademacher_bound
    >>> r, D = np.geomspace(1e-3, 1, 100), np.sqrt(2)
    >>> bound = distance_features_rademacher_bound(10_000, D, r, 2 * np.log1p(2 * D / r))
    >>> round(float(bound.min()), 3)
    0.04
    """
    n = checked_numbers("n_samples", n_samples, 1)
    D = checked_numbers("diameter", diameter, 0)
    r = checked_numbers("cover_radius", cover_radius, 0)
    log_number = checked_numbers("log_covering_number", log_covering_number, 0)
    L = checked_numbers("lipschitz", lipschitz, 0)
    if value_bound is None:
        return as_result(L * (r + D / 2 * np.sqrt(2 * log_number / n)))
    B = checked_numbers("value_bound", value_bound, 0)
    return as_result(L * r + B * np.sqrt(2 * (log_number + np.log(2)) / n))


def _check_ball(n_samples: float, radius: float, feature_bound: float) -> None:
    check_number("n_samples", n_samples, 1)
    check_number("radius", radius, 0)
    check_number("feature_bound", feature_bound, 0)


def _excess_risk_bound(
    complexity: float | np.ndarray, n_samples: float, reach: float, delta: float, loss: str
) -> float:
    """[Shah, corollary 20] for scores of at most `reach` in absolute value."""
    if loss not in MARGIN_FUNCTIONS:
        raise ValueError(f"loss must be one of {sorted(MARGIN_FUNCTIONS)}, got {loss!r}.")
    check_number("delta", delta, 0, 1, open_low=True)
    phi = MARGIN_FUNCTIONS[loss]
    L, M = phi.lipschitz(reach), phi.largest(reach)
    if not (np.isfinite(L) and np.isfinite(M)):
        return float("inf")
    return float(
        rademacher_excess_risk_bound(complexity, n_samples, delta, loss_bound=M, lipschitz=L)
    )
