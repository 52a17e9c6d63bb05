"""Least absolute deviations over non-negative weights, the simplex and l1 balls: linear programs.

The dual problem has one bounded variable for each row and one constraint for each candidate,

    max_d  <y, d> - h(P^T d)    over |d_i| <= w_i,

where h is the support function of the set of weights. SciPy's HiGHS solves it with a basis of k
rows; the weights are the multipliers of the constraints, and the dual value is a lower bound on the
minimal risk.
"""

import numpy as np
from scipy.optimize import linprog

__all__ = ["ABSOLUTE_RULES", "least_absolute_weights"]

ABSOLUTE_RULES = ("nnls", "simplex", "l1")


def least_absolute_weights(
    P: np.ndarray, y: np.ndarray, weight: np.ndarray, rule: str, radius: float, positive: bool
) -> tuple[np.ndarray, float]:
    """The weights, and the difference of their risk to the dual lower bound.

    Parameters
    ----------
    P : array of shape (n, k)
        Predictions, of the order of 1.
    y, weight : arrays of shape (n,)
        Targets, and weights of sum 1.
    rule : {"nnls", "simplex", "l1"}
    radius, positive
        Of "l1": the radius of the ball, and whether weights have to be non-negative.
    """
    n, k = P.shape
    signed = np.hstack([P, -P]) if rule == "l1" and not positive else P
    # Rows: signed_j^T d <= t, with t = 0 for "nnls", free for "simplex", t >= 0 at cost radius for
    # "l1". The variables are d / w, so that all bounds are -1 and 1.
    rows = (signed * weight[:, None] * n).T
    cost = {"nnls": 0.0, "simplex": 1.0, "l1": radius}[rule]
    low = {"nnls": 0.0, "simplex": None, "l1": 0.0}[rule]
    high = 0.0 if rule == "nnls" else None
    solution = linprog(
        np.append(-weight * n * y, cost * n) / n,
        A_ub=np.column_stack([rows, np.full(len(rows), -float(n))]) / n,
        b_ub=np.zeros(len(rows)),
        bounds=[(-1.0, 1.0)] * n + [(low, high)],
        method="highs",
    )
    if solution.status != 0:
        raise ValueError(f"The weights of the absolute error were not found: {solution.message}")
    v = np.maximum(-solution.ineqlin.marginals, 0.0)
    if rule == "simplex":
        v /= v.sum()
    v = v[:k] - v[k:] if len(v) > k else v
    risk = float(weight @ np.abs(y - P @ v))
    return v, max(risk + float(solution.fun), 0.0)
