"""Least squares with a sketched matrix, and its refinement with all rows."""

from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from sklearn_ensemble_theory._scaling import power_of_two

# Below this reciprocal condition number of the (scaled) triangular factor it is decomposed again.
SMALLEST_RCOND = 1e-11


def check_sums(*sums: np.ndarray) -> None:
    """Raise a ValueError if a sum over rows has overflowed."""
    if not all(np.isfinite(values).all() for values in sums):
        raise ValueError("X or y has values so large that sums over rows overflow.")


class SketchedGram:
    """The matrix A'A + alpha I, as the product of a small factor with itself.

    Parameters
    ----------
    R : float array of shape (r, d)
        Triangular (trapezoidal for r < d), D R'R D the matrix.
    scale : float array of shape (d,)
        The diagonal of D, powers of 2.
    n_rows : int
        Number of rows of A.

    Attributes
    ----------
    rank : int
        Numerical rank.
    """

    def __init__(self, R: np.ndarray, scale: np.ndarray, n_rows: int) -> None:
        d = len(scale)
        self.factor, self.scale, self.rank = R, scale, d
        # R is its own triangular factor; `dtrcon` is missing in SciPy 1.10.
        norm = np.abs(R).sum(axis=0).max(initial=0.0)
        self.triangular = R.shape[0] == d and lapack.dgecon(R, norm)[0] > SMALLEST_RCOND
        if not self.triangular:
            # The solution of the smallest norm in the units of X.
            self.unit = scale.max(initial=0.0) or 1.0
            U, values, V = np.linalg.svd(R * (scale / self.unit), full_matrices=False)
            tol = 10 * np.finfo(float).eps * max(n_rows, d) * values.max(initial=0.0)
            self.rank = int((values > tol).sum())
            self.values = values[: self.rank, None]
            self.U, self.V = U[:, : self.rank], V[: self.rank]

    def solve(self, g: np.ndarray) -> np.ndarray:
        """The solution of (A'A + alpha I) x = g, of smallest norm; g of shape (d, q)."""
        if self.triangular:
            half = solve_triangular(self.factor, g / self.scale[:, None], trans="T")
            return solve_triangular(self.factor, half) / self.scale[:, None]
        turned = (self.V @ (g / self.unit)) / self.values**2
        return (self.V.T @ turned) / self.unit

    def least_squares(self, z: np.ndarray) -> np.ndarray:
        """argmin ||z - R D x||^2, of smallest norm; z of shape (r, q). Infinite if it overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.triangular:
                return solve_triangular(self.factor, z) / self.scale[:, None]
            return (self.V.T @ ((self.U.T @ z) / self.values)) / self.unit


def sketched_solution(
    A: np.ndarray, B: np.ndarray, alpha: float
) -> tuple[np.ndarray, SketchedGram]:
    """argmin ||B - A theta||^2 + alpha ||theta||^2, of the smallest norm; it overwrites A and B.

    Parameters
    ----------
    A : float array of shape (s, d)
    B : float array of shape (s, q)
    alpha : float

    Returns
    -------
    theta : float array of shape (d, q)
    gram : SketchedGram
        Of A'A + alpha I.

    Raises
    ------
    ValueError
        If A or B has elements that are not finite, because sums of rows overflowed.

    Notes
    -----
    O(s d^2), by a QR decomposition of (A, B), with columns in units of about their size.
    """
    s, d = A.shape
    check_sums(A, B)
    scale = np.array([power_of_two(x) for x in np.abs(A).max(axis=0, initial=0.0)])
    y_scale = np.array([power_of_two(x) for x in np.abs(B).max(axis=0, initial=0.0)])
    A /= scale
    B /= y_scale
    triangle: Any = np.linalg.qr(np.hstack([A, B]), mode="r")
    if alpha > 0:
        with np.errstate(over="ignore", under="ignore"):
            penalty = np.sqrt(alpha) / scale
        if not np.isfinite(penalty).all():
            raise ValueError("alpha is too large for the scale of X: sqrt(alpha) / X overflows.")
        below = np.hstack([np.diag(penalty), np.zeros((d, B.shape[1]))])
        triangle = np.linalg.qr(np.vstack([triangle, below]), mode="r")
    R, z = triangle[:d, :d], triangle[:d, d:]
    gram = SketchedGram(R, scale, s)
    with np.errstate(over="ignore", invalid="ignore"):
        return gram.least_squares(z) * y_scale, gram


def refined(
    theta: np.ndarray,
    grams: list[SketchedGram],
    data: Any,
    alpha: float,
    n_steps: int,
) -> np.ndarray:
    """Conjugate gradients on all rows, preconditioned by the mean of the sketched inverses.

    The first step goes to the minimum of ||y - Phi theta||^2 + alpha ||theta||^2 along the mean of
    the directions (Phi'S'S Phi + alpha I)^-1 Phi'(y - Phi theta).

    Parameters
    ----------
    theta : float array of shape (d, q)
    grams : list of SketchedGram
    data : object
        With `start(theta)`, Phi'(y - Phi theta); `squares(direction)`, the squared norms of
        Phi direction; and `step(length)`, Phi'(y - Phi theta) after theta += length * direction.
    alpha : float
    n_steps : int

    Notes
    -----
    O(n d q + m d^2 q) a step.
    """
    gradient = data.start(theta) - alpha * theta
    direction: Any = None
    slope_before: Any = None
    for _ in range(n_steps):
        step = sum(gram.solve(gradient) for gram in grams) / len(grams)
        slope = (gradient * step).sum(axis=0)
        if direction is None:
            direction = step
        else:
            # Where the slope no longer falls, what is left is rounding: start again.
            falls = slope < slope_before
            share = np.divide(slope, slope_before, out=np.zeros_like(slope), where=falls)
            direction = step + share * direction
        curvature = data.squares(direction) + ((alpha**0.5 * direction) ** 2).sum(axis=0)
        descent = (gradient * direction).sum(axis=0)
        length = np.divide(descent, curvature, out=np.zeros_like(slope), where=curvature > 0)
        theta = theta + length * direction
        gradient = data.step(length) - alpha * theta
        slope_before = slope
    return theta
