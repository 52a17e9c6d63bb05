"""Least squares over non-negative weights, the simplex and balls, exactly, by active sets.

All rows enter by one triangular factor: the R of a QR decomposition of the columns y - p_1, ...,
y - p_k, y, which has k + 1 rows. It contains what the Gram matrix does, without squaring the
condition number, so that nearly collinear candidates are told apart.

Every bounded set here is the convex hull of few points, or a ball. The point of a convex hull with
the smallest residual is found by one problem of non-negative least squares: for u = t v with v in
the simplex

    |E u|^2 + s^2 (sum(u) - 1)^2 = t^2 |E v|^2 + s^2 (t - 1)^2,

whose minimum over t, s^2 |E v|^2 / (s^2 + |E v|^2), increases with |E v|: the best u is a multiple
of the best v.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import brentq

__all__ = [
    "SQUARED_RULES",
    "nearest_in_hull",
    "nonnegative_least_squares",
    "residual_factor",
]

# Rows that are decomposed at a time.
CHUNK = 8192
# Correlations with the residual below this share of the largest possible are rounding.
TOLERANCE = 1e-13


def residual_factor(predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The triangular factor R of the columns y - p_1, ..., y - p_k, y with weighted rows.

    Parameters
    ----------
    predictions : array of shape (N, k)
    y : array of shape (N,)
    weight : array of shape (N,)
        Non-negative.

    Returns
    -------
    factor : array of shape (k + 1, k + 1)
        The sum of squares of [R, r] @ (v, 1 - sum(v)) is that of the weighted residuals y - P v.

    Notes
    -----
    O(N k^2), in pieces of `CHUNK` rows, with memory O(k^2) beside the arguments.
    """
    n, k = predictions.shape
    factor = np.zeros((0, k + 1))
    for start in range(0, n, CHUNK):
        rows = slice(start, start + CHUNK)
        root = np.sqrt(weight[rows])[:, None]
        block = np.empty((len(root), k + 1), order="F")
        block[:, k] = y[rows]
        block[:, :k] = block[:, k:] - predictions[rows]
        block *= root
        stacked = np.asfortranarray(np.vstack([factor, block]))
        (factor,) = qr(stacked, mode="r", overwrite_a=True, check_finite=False)
        factor = factor[: k + 1]
    return np.vstack([factor, np.zeros((k + 1 - len(factor), k + 1))])


def nonnegative_least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The w >= 0 that minimises |A w - b|, by the active-set method of Lawson and Hanson.

    Columns that depend linearly on those in use stay out, so that the result is a basic solution.
    Columns are scaled to norm 1 for the choice, and the solution on the final set is computed from
    A itself by a QR decomposition.

    Parameters
    ----------
    A : array of shape (m, k)
    b : array of shape (m,)

    Returns
    -------
    w : array of shape (k,)
    """
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    scale = np.where(norms > 0, norms, 1.0)
    U = A / scale
    k = U.shape[1]
    w = np.zeros(k)
    used: list[int] = []
    barred = norms == 0
    smallest = TOLERANCE * (np.linalg.norm(b) or 1.0)
    for _ in range(10 * k + 10):
        slope = U.T @ (b - U @ w)
        slope[barred] = -np.inf
        slope[used] = -np.inf
        j = int(np.argmax(slope))
        if not slope[j] > smallest:
            break
        tried = [*used, j]
        solution = _basic_solution(U[:, tried], b)
        if solution is None or solution[-1] <= 0:
            barred[j] = True  # dependent to rounding: it would not lower the residual
            continue
        used, barred = tried, norms == 0
        while solution.min() <= 0:
            # Back to the border of the cone, where a weight becomes 0 and its column leaves.
            old = w[used]
            falling = solution <= 0
            step = np.min(old[falling] / (old[falling] - solution[falling]))
            new = old + step * (solution - old)
            new[falling & (new <= TOLERANCE * new.max())] = 0.0
            w[used] = new
            used = [i for i, value in zip(used, new) if value > 0]
            remaining = _basic_solution(U[:, used], b)
            solution = w[used] if remaining is None else remaining
        w[:] = 0.0
        w[used] = solution
    return w / scale


def _basic_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """The least squares on independent columns of norm 1; None where they are dependent."""
    Q, R = qr(A, mode="economic", check_finite=False)
    diagonal = np.abs(np.diag(R))
    if len(diagonal) < A.shape[1] or diagonal[-1] <= 10 * TOLERANCE:
        return None
    return solve_triangular(R, Q.T @ b, check_finite=False)


def nearest_in_hull(E: np.ndarray) -> np.ndarray:
    """The v in the simplex with the smallest |E v|; see the top of the file.

    Parameters
    ----------
    E : array of shape (m, k)
        The points, as columns.
    """
    norms = np.sqrt(np.einsum("ij,ij->j", E, E))
    best = int(np.argmin(norms))
    v = np.zeros(E.shape[1])
    if norms[best] == 0:
        v[best] = 1.0
        return v
    A = np.vstack([E / norms[best], np.ones(len(v))])
    v = nonnegative_least_squares(A, np.append(np.zeros(len(E)), 1.0))
    return v / v.sum()


# --- the sets: functions of the factor, which return the weights -------------------------------


def _parts(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E, y): the residuals of the candidates and y itself, as short columns."""
    return factor[:, :-1], factor[:, -1]


def _nnls(factor: np.ndarray, radius: float, positive: bool) -> np.ndarray:
    E, y = _parts(factor)
    return nonnegative_least_squares(y[:, None] - E, y)


def _simplex(factor: np.ndarray, radius: float, positive: bool) -> np.ndarray:
    return nearest_in_hull(_parts(factor)[0])


def _l1(factor: np.ndarray, radius: float, positive: bool) -> np.ndarray:
    """The hull of 0 and radius e_j, or of +-radius e_j."""
    E, y = _parts(factor)
    k = E.shape[1]
    plus = radius * E + (1 - radius) * y[:, None]  # y - radius p_j
    if positive:
        return radius * nearest_in_hull(np.column_stack([plus, y]))[:k]
    v = nearest_in_hull(np.hstack([plus, 2 * y[:, None] - plus]))
    return radius * (v[:k] - v[k:])


def _l2(factor: np.ndarray, radius: float, positive: bool) -> np.ndarray:
    """Ridge weights, whose norm decreases with the penalty: the penalty of norm `radius`."""
    E, y = _parts(factor)
    P = y[:, None] - E
    path = _positive_ridge(P, y) if positive else _ridge(P, y)
    size = np.linalg.norm(P, 2)
    if size == 0:
        return np.zeros(P.shape[1])
    low, high = -36.0, float(np.log(np.linalg.norm(y) / (size * radius) + 1.0) + 1.0)

    def excess(log_penalty: float) -> float:
        norm = np.linalg.norm(path(size**2 * np.exp(log_penalty)))
        return float(norm) - radius

    if excess(low) <= 0:
        return path(size**2 * np.exp(low))
    w = path(size**2 * np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)))
    return w * (radius / np.linalg.norm(w))


def _ridge(P: np.ndarray, y: np.ndarray) -> Callable[[float], np.ndarray]:
    U, s, Vt = np.linalg.svd(P, full_matrices=False)
    turned = U.T @ y
    return lambda penalty: Vt.T @ (s * turned / (s**2 + penalty))


def _positive_ridge(P: np.ndarray, y: np.ndarray) -> Callable[[float], np.ndarray]:
    k = P.shape[1]
    target = np.append(y, np.zeros(k))
    return lambda penalty: nonnegative_least_squares(
        np.vstack([P, np.sqrt(penalty) * np.eye(k)]), target
    )


SQUARED_RULES = {"nnls": _nnls, "simplex": _simplex, "l1": _l1, "l2": _l2}
