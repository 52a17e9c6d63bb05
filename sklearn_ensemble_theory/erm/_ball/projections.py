"""Euclidean projections onto balls and onto the simplex."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

LARGEST_RADIUS, SHRINK = 1e280, 2.0**100


def project_simplex(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Project vectors onto the simplex of non-negative vectors with a given sum.

    Returns the z that minimises the Euclidean distance to v among all z with z >= 0 and
    ``sum(z) == radius``. The cost is O(p log p) for a vector of length p.

    Parameters
    ----------
    v : array-like of shape (..., p)
        A vector, or an array whose last axis contains vectors, each of which is projected.
    radius : float, default=1.0
        The sum of z, not negative.

    Returns
    -------
    z : ndarray of shape (..., p)
        The projections.

    Raises
    ------
    ValueError
        If v contains NaN or infinity or has no last axis of positive length, or if the radius is
        negative or not finite.

    Notes
    -----
    z = (v - theta)+, where theta is such that the sum is right. It is found among p candidates
    after sorting [Held, Wolfe and Crowder, 1974].

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    M. Held, P. Wolfe and H. P. Crowder (1974). "Validation of subgradient optimization".
    *Mathematical Programming* 6, 62-88.

    Examples
    --------
    >>> from sklearn_ensemble_theory.erm import project_simplex
    >>> project_simplex([0.5, 1.0, -2.0])
    array([0.25, 0.75, 0.  ])
    """
    v = _checked_vectors(v, radius)
    return simplex_projection(v, radius)


def project_l1_ball(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Project vectors onto the ball of the l1 norm.

    Returns the z that minimises the Euclidean distance to v among all z with
    ``sum(abs(z)) <= radius``. The cost is O(p log p) for a vector of length p.

    Parameters
    ----------
    v : array-like of shape (..., p)
        A vector, or an array whose last axis contains vectors, each of which is projected.
    radius : float, default=1.0
        The radius of the ball, not negative.

    Returns
    -------
    z : ndarray of shape (..., p)
        The projections. Vectors in the ball are returned unchanged.

    Raises
    ------
    ValueError
        If v contains NaN or infinity or has no last axis of positive length, or if the radius is
        negative or not finite.

    Notes
    -----
    A vector outside of the ball is projected onto the sphere: z has the signs of v and the
    absolute values that :func:`project_simplex` returns for those of v. It exists and is unique
    [Shah, proposition 22].

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.erm import project_l1_ball
    >>> project_l1_ball([3.0, -2.5, 0.5], radius=2.0)
    array([ 1.25, -0.75,  0.  ])
    """
    v = _checked_vectors(v, radius)
    return l1_projection(v, radius)


def project_l2_ball(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Project vectors onto the ball of the Euclidean norm.

    Returns the z that minimises the Euclidean distance to v among all z of norm at most `radius`:
    v itself, or a multiple of it. The cost is O(p) for a vector of length p.

    Parameters
    ----------
    v : array-like of shape (..., p)
        A vector, or an array whose last axis contains vectors, each of which is projected.
    radius : float, default=1.0
        The radius of the ball, not negative.

    Returns
    -------
    z : ndarray of shape (..., p)
        The projections. Vectors in the ball are returned unchanged.

    Raises
    ------
    ValueError
        If v contains NaN or infinity or has no last axis of positive length, or if the radius is
        negative or not finite.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.erm import project_l2_ball
    >>> project_l2_ball([3.0, 4.0])
    array([0.6, 0.8])
    """
    v = _checked_vectors(v, radius)
    return l2_projection(v, radius)


def _checked_vectors(v, radius):
    v = np.asarray(v, dtype=np.float64)
    if v.ndim == 0 or v.shape[-1] == 0:
        raise ValueError(f"v must have a last axis of positive length, got the shape {v.shape}.")
    if not np.isfinite(v).all():
        raise ValueError("v contains NaN or infinity.")
    if not (isinstance(radius, Real) and 0 <= radius < np.inf):
        raise ValueError(f"radius must be a finite number of at least 0, got {radius!r}.")
    return v


def simplex_projection(v: np.ndarray, radius: float) -> np.ndarray:
    """`project_simplex` without the checks."""
    # The projection does not change when a constant is added. With the largest entry at 0, the
    # entries that count are within the radius of it, so that their sums keep their digits.
    if radius > LARGEST_RADIUS:  # whose sums may overflow
        return SHRINK * simplex_projection(v / SHRINK, radius / SHRINK)
    half = v / 2 - v.max(axis=-1, keepdims=True) / 2  # whose differences do not overflow
    v = 2 * np.maximum(half, -radius / 2)
    ordered = -np.sort(-v, axis=-1)
    excess = np.cumsum(ordered, axis=-1) - radius
    count = np.arange(1, v.shape[-1] + 1)
    # The k largest entries stay positive for k up to the last one where this holds; always k = 1.
    last = np.sum(ordered * count > excess, axis=-1, keepdims=True) - 1
    last = np.maximum(last, 0)
    theta = np.take_along_axis(excess, last, axis=-1) / (last + 1)
    return np.maximum(v - theta, 0.0)


def l1_projection(v: np.ndarray, radius: float) -> np.ndarray:
    """`project_l1_ball` without the checks."""
    size = np.abs(v)
    with np.errstate(over="ignore"):  # an infinite norm is above the radius
        outside = size.sum(axis=-1, keepdims=True) > radius
    if not outside.any():
        return v.copy()
    return np.where(outside, np.copysign(simplex_projection(size, radius), v), v)


def l2_projection(v: np.ndarray, radius: float) -> np.ndarray:
    """`project_l2_ball` without the checks."""
    top = np.abs(v).max(axis=-1, keepdims=True)
    top = np.where(top > 0, top, 1.0)
    unit = v / top  # whose squares do not overflow
    norm = np.sqrt(np.sum(unit * unit, axis=-1, keepdims=True))
    outside = norm > radius / top
    if not outside.any():
        return v.copy()
    return np.where(outside, unit * (radius / np.where(outside, norm, 1.0)), v)
