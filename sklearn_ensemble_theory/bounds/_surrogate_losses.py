"""Surrogate losses, and the linear functions in a ball that minimise them.

A convex phi of the margin takes the place of the 0-1 loss [Shah, §3.3]. The excess phi-risk of the
empirical minimiser in a ball follows from the ball's Rademacher complexity and from the slope and
the size of phi over the margins that occur there [Shah, §3.4 to §3.6].
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS
from sklearn_ensemble_theory._rows import normalised_weights
from sklearn_ensemble_theory._running import called
from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import (
    NORMS,
    as_result,
    check_integer,
    check_number,
    check_option,
    checked_numbers,
    in_floats,
    is_sharp,
)
from ._rademacher import finite_behaviours_rademacher_bound, rademacher_excess_risk_bound

# Points at which a phi of the user's is checked for convexity.
CHECKED = np.linspace(-4, 4, 81)
# One-sided difference quotients at 0 are compared over these steps.
LARGE_STEP, SMALL_STEP = 2.0**-10, 2.0**-20


def is_classification_calibrated(phi: str | Callable[[np.ndarray], ArrayLike]) -> bool:
    """Return whether a convex surrogate loss is classification calibrated.

    That is: for every probability eta of the class +1 but 1/2, scores alpha with the wrong sign
    have a larger smallest conditional risk eta phi(alpha) + (1 - eta) phi(-alpha) than all scores
    [Shah, definition 7]. For convex phi this is so if and only if phi is differentiable at 0 and
    phi'(0) < 0, which is checked by difference quotients.

    Parameters
    ----------
    phi : {"hinge", "logistic", "exponential"} or callable
        The loss as a function of the margin y h(x), for arrays; convex and not negative.

    Returns
    -------
    calibrated : bool
        Whether it is.

    Raises
    ------
    ValueError
        If the name is unknown, or if phi is negative, not finite or not convex at points of
        [-4, 4].

    Notes
    -----
    [Shah, theorem 18] states the "if". Conversely, the derivative of the conditional risk at 0 from
    the right, eta phi'(0+) - (1 - eta) phi'(0-), must be negative for all eta > 1/2. If it is not,
    no score above 0 has a smaller risk than 0, by convexity. For that phi'(0-) = phi'(0+) is
    necessary (eta towards 1/2), and phi'(0+) < 0 (eta = 1).

    To tell a kink at 0 from a derivative, the difference of the quotients on both sides is computed
    for steps from 2^-10 down to 2^-20. It stays if there is a kink, and vanishes if there is none.
    A kink that is not at 0 but closer to it than 2^-20 is not seen as such.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import is_classification_calibrated
    >>> is_classification_calibrated("hinge")
    True
    >>> is_classification_calibrated(lambda m: np.maximum(-m, 0.0))  # the loss of the perceptron
    False
    """
    phi = _as_function(phi)
    values = _evaluated(phi, CHECKED)
    size = float(values.max()) or 1.0
    if values.min() < 0:
        raise ValueError("phi must not be negative.")
    if np.diff(values, 2).min() < -1e-9 * size:
        raise ValueError("phi must be convex.")
    # A convex phi is calibrated where it has a derivative at 0, and that is negative.
    jumps = []
    at_zero = float(_evaluated(phi, np.zeros(1))[0])
    for h in (LARGE_STEP, SMALL_STEP):
        below, above = _evaluated(phi, np.array([-h, h]))
        jumps.append((above - 2 * at_zero + below) / h)
        slope = (above - at_zero) / h  # not below phi'(0+)
    rounding = 8 * np.finfo(np.float64).eps * size / SMALL_STEP
    # The jump of a function with a kink stays; |m|^(1 + s) has one of order h^s, with s > 0.1.
    is_differentiable = jumps[1] <= max(0.5 * jumps[0], rounding)
    return bool(is_differentiable and slope < -rounding)


def conditional_surrogate_risk(
    phi: str | Callable[[np.ndarray], ArrayLike], eta: ArrayLike, alpha: ArrayLike
) -> float | np.ndarray:
    """Return the conditional risk of a score for a surrogate loss.

    It is C_eta(alpha) = eta phi(alpha) + (1 - eta) phi(-alpha), the expected loss of the score
    alpha at a point where the class +1 has the probability eta [Shah, §3.3]. `eta` and `alpha`
    broadcast. The minimum over alpha is 1 - |2 eta - 1| for the hinge loss, 2 sqrt(eta (1 - eta))
    for the exponential one, and the entropy of eta for the logistic one.

    Parameters
    ----------
    phi : {"hinge", "logistic", "exponential"} or callable
        The loss as a function of the margin, for arrays; the logistic loss has the natural
        logarithm.
    eta : float or array-like
        The probability of +1, in [0, 1].
    alpha : float or array-like
        The score.

    Returns
    -------
    risk : float or ndarray
        The conditional risk, in units of the loss.

    %(raises)s

    See Also
    --------
    is_classification_calibrated : Whether scores of the wrong sign have a larger infimum.
    surrogate_risk : The mean over rows.
    sklearn_ensemble_theory.inspection.ConditionalRiskDisplay : The curve over alpha.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import conditional_surrogate_risk
    >>> conditional_surrogate_risk("hinge", eta=0.75, alpha=[-1.0, 0.0, 1.0]).tolist()
    [1.5, 1.0, 0.5]
    """
    eta, alpha = checked_numbers("eta", eta, 0, 1), checked_numbers("alpha", alpha)
    phi = _as_function(phi)
    try:
        eta, alpha = np.broadcast_arrays(eta, alpha)
    except ValueError:
        raise ValueError(
            f"eta and alpha must broadcast, got the shapes {eta.shape} and {alpha.shape}."
        ) from None
    above, below = _evaluated(phi, alpha), _evaluated(phi, -alpha)
    return as_result(eta * above + (1 - eta) * below)


def surrogate_risk(
    phi: str | Callable[[np.ndarray], ArrayLike],
    y: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the empirical risk of scores for a surrogate loss.

    It is the weighted mean of phi(y_i h(x_i)) [Shah, §3.3]. The three named losses bound the 0-1
    loss, log 2 times it for the logistic one.

    Parameters
    ----------
    phi : {"hinge", "logistic", "exponential"} or callable
        The loss as a function of the margin, for arrays: max(1 - m, 0), log(1 + exp(-m)) with the
        natural logarithm, exp(-m), or any other.
    y : array-like of shape (n_samples,)
        Targets, -1 and +1.
    scores : array-like of shape (n_samples,)
        Scores h(x_i), for instance of a `decision_function`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. If None, all rows count the same.

    Returns
    -------
    risk : float
        The risk, in units of the loss.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import surrogate_risk
    >>> surrogate_risk("hinge", [-1, 1], [-2.0, 0.5])  # (0 + 0.5) / 2
    0.25
    """
    y, u = checked_numbers("y", y), checked_numbers("scores", scores)
    if y.ndim != 1 or y.shape != u.shape:
        raise ValueError(f"y and scores must be of one length, got {y.shape} and {u.shape}.")
    if not np.all(np.abs(y) == 1):
        raise ValueError("y must be -1 or +1.")
    if sample_weight is not None:
        sample_weight = checked_numbers("sample_weight", sample_weight, 0)
        if sample_weight.shape != y.shape:
            raise ValueError("sample_weight must have the length of y.")
    weight = normalised_weights(sample_weight, len(y))
    return float(weight @ _evaluated(_as_function(phi), y * u))


def _as_function(phi: Any) -> Callable[[np.ndarray], ArrayLike]:
    if callable(phi):
        function: Callable[[np.ndarray], ArrayLike] = phi
        return function
    if not (isinstance(phi, str) and phi in MARGIN_FUNCTIONS):
        raise ValueError(f"phi must be callable or one of {sorted(MARGIN_FUNCTIONS)}, got {phi!r}.")
    return MARGIN_FUNCTIONS[phi].value


def _evaluated(phi: Callable[[np.ndarray], ArrayLike], m: np.ndarray) -> np.ndarray:
    try:
        values = np.asarray(called("phi", phi, m), dtype=np.float64)
    except TypeError as error:
        raise ValueError(f"phi must be a function of an array: {error}.") from error
    if values.shape != m.shape or not np.isfinite(values).all():
        raise ValueError("phi must return a finite number for each element of an array.")
    return values


@in_floats
def ball_rademacher_bound(
    n_samples: ArrayLike,
    radius: ArrayLike = 1.0,
    feature_bound: ArrayLike = 1.0,
    n_features: ArrayLike | None = None,
    *,
    norm: str = "l2",
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the Rademacher complexity of linear functions of bounded norm, on any points.

    The functions are x'beta, with a norm of beta of at most lambda. For the l2 norm and points of
    length at most C the bound is lambda C / sqrt(n) [Shah, §3.5]. For the l1 norm and p features in
    [-C, C] it is lambda C sqrt(2 log(2p) / n) [Shah, §3.6]. All parameters broadcast. If the
    features are the outputs of p weak learners, the bound for the l1 norm is the assumption [Bach,
    eq. (10.15)] on boosted functions of variation norm at most D = lambda, for R = C and rho =
    sqrt(2 log(2p)). For the l1 norm, ``method="sharp"`` replaces sqrt(2 log(2p)) by sqrt(p) or by
    the factor of `finite_behaviours_rademacher_bound` for 2p behaviours (the columns and their
    negatives), whichever is smaller. The largest of p squares is at most their sum.

    %(of_points)s
    radius : float or array-like, default=1.0
        The largest norm lambda of the coefficients, at least 0.
    %(feature_bounds)s
    %(n_features_of_l1_balls)s
    %(norm)s
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, in units of x'beta, at most lambda C. Orthogonal points of length C attain that
        of the l2 norm.

    %(raises)s

    See Also
    --------
    ball_rademacher_complexity : The complexity on given points.
    greedy_boosting_risk_bound : What rho bounds.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import ball_rademacher_bound
    >>> ball_rademacher_bound(400, radius=2.0, feature_bound=3.0)
    0.3
    >>> round(ball_rademacher_bound(400, radius=2.0, n_features=1_000, norm="l1"), 4)
    0.3899
    >>> [round(ball_rademacher_bound(20, n_features=2, norm="l1", method=m), 4)
    ...  for m in ("source", "sharp")]
    [0.3723, 0.3162]
    """
    n = checked_numbers("n_samples", n_samples, 1)
    radius = checked_numbers("radius", radius, 0)
    C = checked_numbers("feature_bound", feature_bound, 0)
    _check_norm(norm, n_features)
    if n_features is None:
        return as_result(radius * C / np.sqrt(n))
    p = checked_numbers("n_features", n_features, 1)
    several = finite_behaviours_rademacher_bound(n, np.log(2 * p), method=method)
    if is_sharp(method):
        several = np.minimum(several, np.sqrt(p / n))
    return as_result(radius * C * np.asarray(several))


def ball_excess_risk_bound(
    n_samples: float,
    radius: float,
    feature_bound: float = 1.0,
    n_features: int | None = None,
    delta: float = 0.05,
    *,
    norm: str = "l2",
    loss: str = "hinge",
    method: str = "source",
) -> float:
    """Bound on the excess risk of a linear classifier of bounded norm.

    With probability at least 1 - delta the expected loss of the minimiser of the empirical risk
    over ||beta|| <= lambda exceeds the least one by at most

        2 L R + M sqrt(2 log(2/delta) / n)

    by [Shah, corollary 20], where R is `ball_rademacher_bound`. On scores of at most lambda C, M =
    phi(-lambda C) is the largest loss and L the Lipschitz constant of phi. For the hinge loss they
    are lambda C + 1 and 1 [Shah, §3.5 and §3.6]. If beta has s coefficients 1 / sqrt(s) and p
    - s zeros, the l1 ball has to have lambda = sqrt(s); for the l2 norm lambda = 1, and C = sqrt(p)
    for features in [-1, 1]. The complexity of the l1 ball is the smaller one where s < p / (2
    log(2p)) [Shah, §3.6]. ``method="sharp"`` takes `ball_rademacher_bound` and
    `rademacher_excess_risk_bound` with this method.

    Parameters
    ----------
    %(n_rows)s
    radius : float
        The largest norm lambda, at least 0.
    %(feature_bound)s
    %(n_features_of_l1)s
    %(delta)s
    %(norm)s
    loss : {"hinge", "logistic", "exponential"}, default="hinge"
        The function phi of the margin; the logistic loss has the natural logarithm.
    %(method)s

    Returns
    -------
    bound : float
        The bound, in units of the loss; at most M, and inf where that is no float.

    %(raises)s

    See Also
    --------
    sklearn_ensemble_theory.BallConstrainedClassifier : The minimiser, with an intercept.

    Examples
    --------
    Five of 1,000 features count equally, or all of them do:

    >>> from sklearn_ensemble_theory.bounds import ball_excess_risk_bound
    >>> for s in (5, 1_000):
    ...     radius = s**0.5
    ...     round(ball_excess_risk_bound(10**6, radius, n_features=1_000, norm="l1"), 3)
    0.026
    0.335
    >>> round(ball_excess_risk_bound(10**6, radius=1.0, feature_bound=1_000**0.5), 3)
    0.152
    >>> few = dict(n_samples=1_000, radius=1.0, n_features=2, norm="l1")
    >>> [round(ball_excess_risk_bound(**few, method=m), 3) for m in ("source", "sharp")]
    [0.277, 0.244]
    """
    check_number("n_samples", n_samples, 1)
    check_number("radius", radius, 0)
    check_number("feature_bound", feature_bound, 0)
    check_number("delta", delta, 0, 1, open_low=True)
    check_option("loss", loss, MARGIN_FUNCTIONS)
    _check_norm(norm, n_features)
    if n_features is not None:
        check_integer("n_features", n_features, 1)
    complexity = ball_rademacher_bound(
        n_samples, radius, feature_bound, n_features, norm=norm, method=method
    )
    phi, reach = MARGIN_FUNCTIONS[loss], radius * feature_bound
    L, M = phi.lipschitz(reach), phi.largest(reach)
    if not (np.isfinite(L) and np.isfinite(M)):
        return float("inf")
    return float(
        rademacher_excess_risk_bound(
            complexity, n_samples, delta, loss_bound=M, lipschitz=L, method=method
        )
    )


def _check_norm(norm: str, n_features: ArrayLike | None) -> None:
    check_option("norm", norm, NORMS)
    if (norm == "l1") != (n_features is not None):
        needed = "is needed for" if norm == "l1" else "must be None for"
        raise ValueError(f"n_features {needed} norm={norm!r}.")
