"""The two balls of coefficients {|beta| <= radius}: everything that differs between the norms."""

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sklearn_ensemble_theory._scaling import largest_entry
from sklearn_ensemble_theory.erm._ball._hinge.barriers import Barrier, L1Barrier, L2Barrier
from sklearn_ensemble_theory.erm._ball.projections import l1_projection, l2_projection

# Columns that enter the working set in one round, at least.
NEW_COLUMNS = 40
# Steps of an inner problem.
INNER_ROUNDS = 2_000
# Gradient steps between searches over the faces of the ball, and faces in such a search.
FACE_EVERY, FACES = 25, 30
# The ridge that makes a singular matrix of second derivatives invertible, as a share of its trace.
RIDGE = 1e-13


def factored(H: np.ndarray) -> Any:
    """The Cholesky factor of H, with a ridge as small as possible."""
    mean = abs(float(np.trace(H))) / len(H) or 1.0
    for power in range(14):
        try:
            if power == 0:
                return cho_factor(H, lower=True, check_finite=False)
            ridge = RIDGE * 10.0 ** (power - 1) * mean
            return cho_factor(H + ridge * np.eye(len(H)), lower=True, check_finite=False)
        except LinAlgError:
            continue
    return cho_factor(np.eye(len(H)) * mean, lower=True)


class L2Ball:
    """The ball of the Euclidean norm, whose dual norm is the same."""

    def __init__(self, radius: float):
        self.radius = radius

    def project(self, v: np.ndarray) -> np.ndarray:
        return l2_projection(v, self.radius)

    def norm(self, beta: np.ndarray) -> float:
        return float(np.linalg.norm(beta))

    @staticmethod
    def barrier(g: np.ndarray, unit: float) -> Barrier:
        return L2Barrier(g, unit)

    def program_columns(self, g: np.ndarray, active: np.ndarray, n_new: int) -> np.ndarray:
        """The working set of the interior-point method: all columns."""
        return np.arange(len(g))

    def dual_norm(self, g: np.ndarray) -> float:
        return float(np.linalg.norm(g))

    def row_size(self, X: Any) -> float:
        """C: the largest dual norm of a row."""
        return float(np.sqrt(row_squares(X).max()))

    def complexity(self, C: float, n_features: int, n_effective: float) -> float:
        """The bound on the Rademacher complexity of [Shah, §3.5]."""
        return self.radius * C / np.sqrt(n_effective)

    def working_set(self, beta: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The coefficients that may change in a Newton step."""
        return np.arange(len(beta))

    def quadratic_minimum(
        self, H: np.ndarray, c: np.ndarray, beta: np.ndarray, target: float
    ) -> np.ndarray:
        """The z in the ball that minimises c'(z - beta) + (z - beta)'H(z - beta)/2.

        (H + mu I) z = H beta - c for some mu >= 0, and mu = 0 or |z| = radius. Newton's method for
        1/|z| as a function of mu, which is nearly linear in mu [Moré and Sorensen, 1983].
        """
        v = H @ beta - c
        # |z| <= |v| / mu: no mu needs to be larger.
        low, high = 0.0, float(np.linalg.norm(v)) / self.radius
        mu = 0.0
        z = beta
        for _ in range(60):
            factor = factored(H + mu * np.eye(len(H)))
            z = cho_solve(factor, v, check_finite=False)
            with np.errstate(over="ignore", invalid="ignore"):
                norm = float(np.linalg.norm(z))
                slope = float(z @ cho_solve(factor, z, check_finite=False))
            if norm <= self.radius:
                high = mu
                if mu == 0 or norm >= self.radius * (1 - 1e-10):
                    break
            else:
                low = mu
            step = norm * norm / slope * (norm - self.radius) / self.radius if slope > 0 else np.inf
            mu += step
            if not low < mu < high:
                mu = (low + high) / 2
            if high - low <= 1e-15 * high:
                break
        return self.project(z)


class L1Ball:
    """The ball of the l1 norm, whose dual norm is the largest absolute value."""

    def __init__(self, radius: float):
        self.radius = radius

    def project(self, v: np.ndarray) -> np.ndarray:
        return l1_projection(v, self.radius)

    def norm(self, beta: np.ndarray) -> float:
        return float(np.abs(beta).sum())

    @staticmethod
    def barrier(g: np.ndarray, unit: float) -> Barrier:
        return L1Barrier(g, unit)

    def program_columns(self, g: np.ndarray, active: np.ndarray, n_new: int) -> np.ndarray:
        """The working set of the interior-point method: active columns and the next candidates."""
        size = np.abs(g)
        size[active] = -1.0
        if len(active) + n_new >= len(g):
            return np.arange(len(g))
        return np.union1d(active, np.argpartition(-size, n_new)[:n_new])

    def dual_norm(self, g: np.ndarray) -> float:
        return float(np.abs(g).max())

    def row_size(self, X: Any) -> float:
        """C: the largest dual norm of a row."""
        return largest_entry(X)

    def complexity(self, C: float, n_features: int, n_effective: float) -> float:
        """The bound on the Rademacher complexity of [Shah, §3.6]."""
        return self.radius * C * np.sqrt(2 * np.log(2 * n_features) / n_effective)

    def working_set(self, beta: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The active coefficients, and those that the conditions of an optimum miss most.

        At an optimum |g_j| = mu for the active ones and |g_j| <= mu for the others.
        """
        active = np.flatnonzero(beta)
        size = np.abs(g)
        mu = max(float(-(g[active] @ beta[active])) / self.radius, 0.0)
        missed = size > mu
        missed[active] = False
        others = np.flatnonzero(missed)
        n_new = max(NEW_COLUMNS, len(active) // 2)
        if len(others) > n_new:
            others = others[np.argpartition(-size[others], n_new)[:n_new]]
        return np.union1d(active, others)

    def quadratic_minimum(
        self, H: np.ndarray, c: np.ndarray, beta: np.ndarray, target: float
    ) -> np.ndarray:
        """A z in the ball with c'(z - beta) + (z - beta)'H(z - beta)/2 least up to `target`.

        Accelerated projected gradients, which find the face of the ball; the minimum on a face is
        a linear system.
        """
        L = _largest_eigenvalue(H) or 1.0
        z = beta.copy()
        slope = c  # the gradient at z
        Hz = H @ z
        constant = c - Hz
        look, Hlook, t = z, Hz, 1.0
        for k in range(1, INNER_ROUNDS + 1):
            new = self.project(look - (Hlook + constant) / L)
            Hnew = H @ new
            step = new - look
            if step @ (Hnew - Hlook) > L * (1 + 1e-10) * (step @ step):
                L *= 1.5
                continue
            if (look - new) @ (new - z) > 0:  # the momentum goes uphill
                t = 1.0
            t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
            ahead = (t - 1) / t_new
            look = new + ahead * (new - z)
            Hlook = Hnew + ahead * (Hnew - Hz)
            z, Hz, t = new, Hnew, t_new
            slope = Hz + constant
            if slope @ z + self.radius * self.dual_norm(slope) <= target:
                return z
            if k % FACE_EVERY == 0:
                z, done = self._active_set(H, constant, z, target)
                if done:
                    return z
                Hz = H @ z
                look, Hlook, t = z, Hz, 1.0
        return z

    def _active_set(self, H, constant, z, target):
        """Minimise z'Hz/2 + constant'z from z on, by changes of the face one at a time.

        Go towards the minimum on the face of the ball. A coefficient that reaches 0 leaves; at the
        minimum of a face, the one enters that lowers the model fastest.
        """
        z = z.copy()
        S = np.flatnonzero(z)
        entering = -1
        for _ in range(FACES):
            if len(S):
                slope = H[:, S] @ z[S] + constant
                signs = np.sign(z[S])
                signs[entering == S] = -np.sign(slope[entering])
                step = self._face_step(H[np.ix_(S, S)], slope[S], signs, z[S])
                if not np.isfinite(step).all():
                    return z, False
                away = signs * step < 0
                lengths = np.where(away, -z[S] / np.where(away, step, 1.0), np.inf)
                reach = max(float(lengths.min()), 0.0)
                room = self.radius - np.abs(z[S]).sum()
                growth = float(signs @ step)
                if growth > 0 and room > 1e-12 * self.radius:
                    reach = min(reach, room / growth)
                z[S] += min(reach, 1.0) * step
                z[S[lengths <= min(reach, 1.0)]] = 0.0
                z = self.project(z)
                S = np.flatnonzero(z)
                if reach < 1:
                    if reach == 0 and entering not in S:
                        return z, False
                    continue
            slope = H[:, S] @ z[S] + constant
            if slope @ z + self.radius * self.dual_norm(slope) <= target:
                return z, True
            outside = np.abs(slope)
            outside[S] = 0.0
            entering = int(outside.argmax())
            S = np.union1d(S, [entering])
        return z, False

    def _face_step(self, H, slope, signs, z):
        """From z to the minimum on the face with these signs, or inside of the ball."""
        factor = factored(H)
        free = cho_solve(factor, -slope, check_finite=False)
        room = self.radius - np.abs(z).sum()
        if room <= 1e-12 * self.radius and signs @ free > 0:
            normal = cho_solve(factor, signs, check_finite=False)
            free = free - (signs @ free) / (signs @ normal) * normal
        return free


BALLS = {"l1": L1Ball, "l2": L2Ball}


def row_squares(X: Any) -> np.ndarray:
    """Sums of squares of the rows, dense or sparse."""
    if hasattr(X, "tocsr"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _largest_eigenvalue(H):
    """Of a symmetric matrix, from below by a few steps of the power method."""
    v = H.sum(axis=1)
    if not v.any():
        v = np.ones(len(H))
    value = 0.0
    for _ in range(10):
        norm = np.linalg.norm(v)
        if norm == 0:
            return float(np.linalg.norm(H))
        v = v / norm
        w = H @ v
        value = float(v @ w)
        v = w
    return 1.02 * value if value > 0 else float(np.linalg.norm(H))
