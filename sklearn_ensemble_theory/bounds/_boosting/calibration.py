"""Surrogate losses: risk and classification calibration [Shah, §3.3]."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory._numerics.margin_functions import MARGIN_FUNCTIONS
from sklearn_ensemble_theory._weights import normalised_weights
from sklearn_ensemble_theory.bounds._arguments import checked_numbers

__all__ = ["is_classification_calibrated", "surrogate_risk"]

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
    [Shah, theorem 18] states the "if". Conversely, with the derivatives phi'(0-) <= phi'(0+) from
    both sides, the derivative of the conditional risk at 0 from the right is
    eta phi'(0+) - (1 - eta) phi'(0-). If it is not negative for some eta > 1/2, no score above 0
    has a smaller risk than 0, by convexity, so that the wrong sign loses nothing. For it to be
    negative for all eta > 1/2, phi'(0-) = phi'(0+) is necessary (eta towards 1/2), and
    phi'(0+) < 0 (eta = 1).

    A kink at 0 is told from a derivative by how the difference of the quotients on both sides
    behaves for steps from 2^-10 down to 2^-20: it stays if there is a kink, and vanishes otherwise.
    A kink that is not at 0 but closer to it than 2^-20 is not seen as such.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

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

    Raises
    ------
    ValueError
        If the name of the loss is unknown, if targets are not -1 or +1, if scores are not finite
        or weights negative, or if the lengths differ.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

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
    if phi not in MARGIN_FUNCTIONS:
        raise ValueError(f"phi must be callable or one of {sorted(MARGIN_FUNCTIONS)}, got {phi!r}.")
    return MARGIN_FUNCTIONS[phi].value


def _evaluated(phi: Callable[[np.ndarray], ArrayLike], m: np.ndarray) -> np.ndarray:
    values = np.asarray(phi(m), dtype=np.float64)
    if values.shape != m.shape or not np.isfinite(values).all():
        raise ValueError("phi must return a finite number for each element of an array.")
    return values
