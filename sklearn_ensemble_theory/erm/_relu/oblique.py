"""The best ±(w'x + b)+ over directions w: ascent on the sphere, with exact knots along each."""

import numpy as np

from sklearn_ensemble_theory._scaling import largest_magnitude, power_of_two
from sklearn_ensemble_theory.erm._relu.hinge_index import HingeIndex

# An ascent ends when a step gains less than this share.
SMALLEST_GAIN = 1e-6
MAX_HALVINGS = 20
# In standard deviations, or for the inner product in units of the largest deviation.
GRID = 2.0**-22


def best_oblique_hinge(X, target, weight, axis_hinge, criterion, n_starts, max_steps, random_state):
    """Weights, bias and coefficient of the best unit found.

    Parameters
    ----------
    X : float array of shape (n, p)
    target : float array of shape (n,)
        At most 1 in size.
    weight : float array of shape (n,)
    axis_hinge : Hinge
        The best along an axis; the result is no worse.
    criterion : {"squared_error", "inner_product"}
    n_starts, max_steps : int
    random_state : RandomState

    Returns
    -------
    weights : ndarray of shape (p,)
        Of Euclidean norm 1; zeros for a constant.
    bias : float
    coef : float
    """
    p = X.shape[1]
    Z, centre, scale = _standardised(X, weight, criterion)
    # The ascents see Z on a grid, so that they do not depend on the rounding of X: one that takes
    # another turn may end elsewhere. The unit that is returned is fitted to Z itself.
    rounded = np.round(Z / GRID) * GRID
    starts = [
        rounded.T @ (weight * (target - weight @ target)),
        *random_state.standard_normal((n_starts, p)),
    ]
    if axis_hinge.sign != 0:
        starts.insert(0, np.eye(p)[axis_hinge.feature])
    best = None
    for start in starts:
        norm = np.linalg.norm(start)
        if norm > 0:
            found = _ascend(rounded, target, weight, start / norm, criterion, max_steps)
            # A start that ends at the same unit must not replace it by rounding.
            if best is None or found[1].gain > best[1].gain * (1 + SMALLEST_GAIN):
                best = found
    if best is not None:
        best = best[0], _along(Z, target, weight, best[0], criterion)
    factor = 1.0 if criterion == "squared_error" else scale[0]
    if best is None or best[1].sign == 0 or not best[1].gain * factor > axis_hinge.gain:
        return _axis_unit(p, axis_hinge)
    direction, hinge = best
    # Lengths by way of the smallest scale: no square overflows or vanishes.
    weights = hinge.sign * direction * (scale.min() / scale)
    length = np.linalg.norm(weights)
    weights /= length
    with np.errstate(over="ignore", invalid="ignore"):
        coef = hinge.coef if criterion == "inner_product" else hinge.coef * length / scale.min()
        bias = -hinge.sign * hinge.knot * (scale.min() / length) - weights @ centre
    if not np.isfinite([coef, bias]).all():
        raise ValueError("X is so large or small, or y so large, that coefficients overflow.")
    return weights, bias, coef


def _standardised(X, weight, criterion):
    """Z = (X - centre) / scale in C order, whatever the order of X, its origin and its units.

    The fit does not depend on the units of the columns. The inner product does: there all columns
    have one scale.
    """
    # Powers of two are exact: no square overflows or vanishes.
    unit = np.array([power_of_two(largest_magnitude(column)) for column in X.T])
    Z = np.array(X / unit, dtype=np.float64, order="C")
    first = Z[0].copy()
    Z -= first
    mean = weight @ Z
    Z -= mean
    spread = np.sqrt(weight @ Z**2)
    spread[spread <= 1e-14] = 1.0
    centre = (first + mean) * unit
    if criterion == "squared_error":
        Z /= spread
        return Z, centre, unit * spread
    top = (unit * np.abs(Z).max(axis=0)).max() or 1.0
    Z *= unit / top
    return Z, centre, np.full(len(unit), top)


def _axis_unit(p, hinge):
    if hinge.sign == 0:
        return np.zeros(p), 1.0, hinge.coef
    return hinge.sign * np.eye(p)[hinge.feature], -hinge.sign * hinge.knot, hinge.coef


def _ascend(Z, target, weight, direction, criterion, max_steps):
    """Gradient ascent of the gain over the sphere; gives (direction, hinge)."""
    hinge = _along(Z, target, weight, direction, criterion)
    step = 1.0
    for _ in range(max_steps):
        slope = _gradient(Z, target, weight, direction, hinge, criterion)
        rounding = 1e-14 * np.linalg.norm(slope)
        slope -= (slope @ direction) * direction
        length = np.linalg.norm(slope)
        if not length > rounding:
            break
        slope /= length
        for _ in range(MAX_HALVINGS):
            trial = direction + step * slope
            trial /= np.linalg.norm(trial)
            found = _along(Z, target, weight, trial, criterion)
            if found.gain > hinge.gain * (1 + SMALLEST_GAIN):
                break
            step /= 2
        else:
            break
        direction, hinge, step = trial, found, 2 * step
    return direction, hinge


def _along(Z, target, weight, direction, criterion):
    return HingeIndex((Z @ direction)[:, None]).best(target, weight, criterion)


def _gradient(Z, target, weight, direction, hinge, criterion):
    """Derivative in the direction, at a fixed knot, of N²/D or |N|."""
    if hinge.sign == 0:
        return np.zeros(Z.shape[1])
    z = Z @ direction
    active = hinge.sign * (z - hinge.knot) > 0
    along = hinge.sign * ((weight * target * active) @ Z)
    if criterion == "inner_product":
        return hinge.coef * along
    heights = np.where(active, z - hinge.knot, 0.0)
    # The gain at the best coefficient a: its derivative is that of 2 a N - a² D at fixed a.
    return 2 * hinge.coef * along - 2 * hinge.coef**2 * ((weight * heights) @ Z)
