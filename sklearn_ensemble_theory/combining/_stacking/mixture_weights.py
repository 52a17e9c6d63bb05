"""The mixture of probabilities with the smallest log-loss, by Newton steps on the simplex.

With p_ij the probability that candidate j gives to the class of row i, the risk is

    F(v) = -sum_i w_i log (P v)_i,    F'(v) = -P^T (w / P v),    F''(v) = A^T A,
    A = diag(sqrt(w) / P v) P.

As A v = sqrt(w), the quadratic model of F at v is |A u - 2 sqrt(w)|^2 / 2 up to a constant: its
minimum over the simplex is the same problem as that of the squared loss (Kim, Carbonetto, Stephens
and Anitescu 2020 use such steps for mixtures). max_j (-F'(v))_j - 1 bounds F(v) - min F, since
<-F'(v), v> = 1.
"""

import numpy as np

from sklearn_ensemble_theory.combining._stacking.constrained_squares import nearest_in_hull

__all__ = ["best_mixture"]

MAX_STEPS = 100
# The bound on the distance to the minimum, in nats, at which the steps end.
TARGET_GAP = 1e-10


def best_mixture(P: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights of the mixture, and the bound on the distance of its log-loss to the minimum.

    Parameters
    ----------
    P : array of shape (n, k)
        Positive probabilities of the rows' own classes.
    weight : array of shape (n,)
        Of sum 1.

    Notes
    -----
    O(n k^2) a step; about ten steps.
    """
    k = P.shape[1]
    v = np.full(k, 1.0 / k)
    mixed = P @ v
    root = np.sqrt(weight)
    best, smallest = v, np.inf
    for _ in range(MAX_STEPS):
        slope = P.T @ (weight / mixed)  # -F'
        gap = max(float(slope.max()) - 1.0, 0.0)
        if gap < smallest:
            best, smallest = v, gap
        if gap <= TARGET_GAP:
            break
        A = P * (root / mixed)[:, None]
        direction = nearest_in_hull(_model_factor(A, root)) - v
        descent = float(slope @ direction)  # -F'(v; direction), positive for a descent
        if not descent > 0:
            break
        change = P @ direction
        step, moved = _armijo(mixed, change, weight, descent)
        if step == 0:
            break
        v, mixed = v + step * direction, moved
        v[v < 0] = 0.0
    return best / best.sum(), smallest


def _model_factor(A: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Columns with the inner products of 2 sqrt(w) - A_j, from the Gram matrix of A.

    The Gram matrix is enough here: the model is only a step, and the gap is measured at the point.
    """
    inner = A.T @ root
    gram = A.T @ A - 2 * (inner[:, None] + inner) + 4 * float(root @ root)
    values, vectors = np.linalg.eigh(gram)
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


def _armijo(
    mixed: np.ndarray, change: np.ndarray, weight: np.ndarray, descent: float
) -> tuple[float, np.ndarray]:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the risk enough; 0 for none."""
    step = 1.0
    while step > 1e-12:
        moved = mixed + step * change
        if (moved > 0).all() and weight @ np.log(moved / mixed) >= 1e-4 * step * descent - 1e-15:
            return step, moved
        step /= 2
    return 0.0, mixed
