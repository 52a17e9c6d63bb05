"""Weights of a vote that minimise the tandem bound on its error [Masegosa et al., 2020].

The bound is 4 U(q, e) with q = rho' L rho the mean tandem loss, e = (2 KL(rho || uniform) + ...)/n
and U the inverse of kl, which grows with both. L is the Gram matrix of the losses of the same rows,
so that q and KL are convex in rho: weights that minimise the bound minimise q + c KL for some c.
"""

import math

import numpy as np
from scipy.special import rel_entr, softmax

from sklearn_ensemble_theory.bounds import kl_inverse

# Probability of failure of the bound that is minimised; the weights hardly depend on it.
DELTA = 0.05
# How far q + c KL may be from its minimum, in units of the losses, and most steps to there.
GAP, NEWTON_STEPS = 1e-10, 100
# The c that are tried first, in units of 1/n, from nearly equal weights on.
SCALES = np.logspace(3, -2, 11)


def tandem_weights(tandem: np.ndarray, n_samples: int) -> tuple[np.ndarray, float]:
    """Weights of the smallest tandem bound, and a limit of what q + c KL is above its minimum.

    Parameters
    ----------
    tandem : ndarray of shape (n_members, n_members)
        Mean products of the losses of two members on the same rows.
    n_samples : int
        Number of these rows.
    """
    n_members = len(tandem)

    def bound(rho: np.ndarray) -> tuple[float, float]:
        """q, and the inverse of kl."""
        q = max(float(rho @ tandem @ rho), 1e-12)
        divergence = 2 * float(rel_entr(rho, 1 / n_members).sum())
        epsilon = (divergence + math.log(2 * math.sqrt(n_samples) / DELTA)) / n_samples
        return q, float(kl_inverse(min(q, 1.0), epsilon))

    # One optimum after the other, from large c to small ones; the bound need not be convex in c.
    logs = np.zeros(n_members)
    best, best_logs = math.inf, logs
    for c in SCALES / n_samples:
        logs, _ = minimise(tandem, c, logs)
        value = bound(softmax(logs))[1]
        if value < best:
            best, best_logs = value, logs
    # U is concave, and so below its tangent, which weighs q and KL by its slopes: minimising the
    # tangent never increases the bound.
    logs, gap = best_logs, 0.0
    for _ in range(50):
        q, p = bound(softmax(logs))
        if not q < p < 1:
            break
        c = 2 / (n_samples * math.log(p * (1 - q) / (q * (1 - p))))
        logs, gap = minimise(tandem, c, logs)
        if p - bound(softmax(logs))[1] <= 1e-12:
            break
    return softmax(logs), gap


def minimise(tandem: np.ndarray, c: float, logs: np.ndarray) -> tuple[np.ndarray, float]:
    """Logarithms of the weights that minimise rho' L rho + c sum rho ln rho, and the gap.

    The gap is that of Frank and Wolfe, gradient' rho - min gradient: a convex function is at most
    so much above its minimum over the simplex.
    """

    def value(logs: np.ndarray) -> float:
        rho = softmax(logs)
        return float(rho @ tandem @ rho + c * rel_entr(rho, 1.0).sum())

    gap = math.inf
    for _ in range(NEWTON_STEPS):
        logs = logs - logs.max()
        logs = logs - math.log(np.exp(logs).sum())
        rho = np.exp(logs)
        gradient = 2 * tandem @ rho + c * logs
        gap = float(gradient @ rho - gradient.min())
        if gap <= GAP:
            break
        # Newton's step for the logarithms, by which weights of any size are reached: for those
        # that are nearly 0 the gradient is nearly linear in them.
        slopes = np.diag(rho) - np.outer(rho, rho)
        step = np.linalg.solve(
            c * np.eye(len(rho)) + 2 * tandem @ slopes, gradient @ rho - gradient
        )
        descent, start, size = float(gradient @ slopes @ step), value(logs), 1.0
        while value(logs + size * step) > start + 0.25 * size * descent and size > 1e-6:
            size /= 2
        logs = logs + size * step
    return logs, gap
