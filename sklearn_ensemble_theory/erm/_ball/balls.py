"""The balls {|beta| <= radius}: projections, and all that differs between the two norms.

The projections onto balls and onto the simplex are public functions, `project_simplex` and its
like; each has a form without checks, of one vector or of all vectors along the last axis.
"""

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._scaling import largest_entry
from sklearn_ensemble_theory._typing import ArrayLike

# An array, or a sparse matrix by rows: SciPy's have no types.
Matrix: TypeAlias = Any
# Where sums of vectors may overflow, vectors are divided by a power of two.
LARGEST_RADIUS, SHRINK = 1e280, 2.0**100
# Columns that enter the working set in one round, at least.
NEW_COLUMNS = 40
# Steps of an inner problem.
INNER_ROUNDS = 2_000
# Gradient steps between searches over the faces of the ball, and faces in such a search.
FACE_EVERY, FACES = 25, 30
# The ridge that makes a singular matrix of second derivatives invertible, as a share of its trace.
RIDGE = 1e-13
# A point of which the norm misses the radius by less than this share is on the sphere.
ON_SPHERE = 1e-12


TEXTS = {
    "vectors": """
        v : array-like of shape (..., p)
            A vector, or an array whose last axis contains vectors, each of which is projected.
        """,
    "into_ball": """
        radius : float, default=1.0
            The radius of the ball, not negative.

        Returns
        -------
        z : ndarray of shape (..., p)
            The projections. Vectors in the ball are returned unchanged.
        """,
    "of_vectors": """
        Parameters
        ----------
        %(vectors)s
        %(into_ball)s
        """,
    "raises": """
        Raises
        ------
        ValueError
            If v contains NaN or infinity or has no last axis of positive length, or if the radius
            is negative or not finite.
        """,
}


@documented(TEXTS)
def project_simplex(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Project vectors onto the simplex of non-negative vectors with a given sum.

    Returns the z that minimises the Euclidean distance to v among all z with z >= 0 and
    ``sum(z) == radius``. The cost is O(p log p) for a vector of length p.

    Parameters
    ----------
    %(vectors)s
    radius : float, default=1.0
        The sum of z, not negative.

    Returns
    -------
    z : ndarray of shape (..., p)
        The projections.

    %(raises)s

    Notes
    -----
    z = (v - theta)+, where theta is such that the sum is right. It is found among p candidates
    after sorting [Held, Wolfe and Crowder, 1974].

    %(references_Shah)s

    M. Held, P. Wolfe and H. P. Crowder (1974). "Validation of subgradient optimization".
    *Mathematical Programming* 6, 62-88.

    Examples
    --------
    >>> from sklearn_ensemble_theory.erm import project_simplex
    >>> project_simplex([0.5, 1.0, -2.0])
    array([0.25, 0.75, 0.  ])
    """
    return simplex_projection(_checked_vectors(v, radius), radius)


@documented(TEXTS)
def project_l1_ball(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Project vectors onto the ball of the l1 norm.

    Returns the z that minimises the Euclidean distance to v among all z with
    ``sum(abs(z)) <= radius``. The cost is O(p log p) for a vector of length p.

    %(of_vectors)s

    %(raises)s

    Notes
    -----
    A vector outside of the ball is projected onto the sphere: z has the signs of v, and its
    absolute values are :func:`project_simplex` of the absolute values of v. It exists and is unique
    [Shah, proposition 22].

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.erm import project_l1_ball
    >>> project_l1_ball([3.0, -2.5, 0.5], radius=2.0)
    array([ 1.25, -0.75,  0.  ])
    """
    return l1_projection(_checked_vectors(v, radius), radius)


@documented(TEXTS)
def project_l2_ball(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Project vectors onto the ball of the Euclidean norm.

    Returns the z that minimises the Euclidean distance to v among all z of norm at most `radius`:
    v itself, or a multiple of it. The cost is O(p) for a vector of length p.

    %(of_vectors)s

    %(raises)s

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.erm import project_l2_ball
    >>> project_l2_ball([3.0, 4.0])
    array([0.6, 0.8])
    """
    return l2_projection(_checked_vectors(v, radius), radius)


def _checked_vectors(v: ArrayLike, radius: float) -> np.ndarray:
    try:
        v = np.asarray(v)
        if v.dtype.kind not in "iufO":
            raise TypeError(f"they are of {v.dtype}")
        v = v.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"v must be an array of numbers: {error}.") from None
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
    with np.errstate(over="ignore"):  # a tiny v is inside
        outside = norm > radius / top
    if not outside.any():
        return v.copy()
    return np.where(outside, unit * (radius / np.where(outside, norm, 1.0)), v)


# --- balls ----------------------------------------------------------------------------------------


def factored(H: np.ndarray) -> tuple[np.ndarray, bool]:
    """The Cholesky factor of H, with a ridge as small as possible."""
    mean = abs(float(np.trace(H))) / len(H) or 1.0
    # First without a ridge; each further try has one ten times as large.
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

    def dual_norm(self, g: np.ndarray) -> float:
        return float(np.linalg.norm(g))

    def steepest(self, g: np.ndarray) -> np.ndarray:
        """The point of norm 1 with the largest inner product with g, which is not 0."""
        return g / self.dual_norm(g)

    def row_size(self, X: Matrix) -> float:
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

    def dual_norm(self, g: np.ndarray) -> float:
        return float(np.abs(g).max())

    def steepest(self, g: np.ndarray) -> np.ndarray:
        """The point of norm 1 with the largest inner product with g, which is not 0."""
        k = int(np.abs(g).argmax())
        point = np.zeros(len(g))
        point[k] = np.sign(g[k])
        return point

    def row_size(self, X: Matrix) -> float:
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
        # Steps of 1/L; L is too small where the model at the new point lies above its bound.
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

    def _active_set(
        self, H: np.ndarray, constant: np.ndarray, z: np.ndarray, target: float
    ) -> tuple[np.ndarray, bool]:
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
                if growth > 0 and room > ON_SPHERE * self.radius:
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

    def _face_step(
        self, H: np.ndarray, slope: np.ndarray, signs: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """From z to the minimum on the face with these signs, or inside of the ball."""
        factor = factored(H)
        free = cho_solve(factor, -slope, check_finite=False)
        room = self.radius - np.abs(z).sum()
        # On the sphere the step stays in the face, by the multiplier of sum(signs * z).
        if room <= ON_SPHERE * self.radius and signs @ free > 0:
            normal = cho_solve(factor, signs, check_finite=False)
            free = free - (signs @ free) / (signs @ normal) * normal
        return free


Ball = L1Ball | L2Ball
BALLS: dict[str, type[Ball]] = {"l1": L1Ball, "l2": L2Ball}


def row_squares(X: Matrix) -> np.ndarray:
    """Sums of squares of the rows, dense or sparse."""
    if hasattr(X, "tocsr"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _largest_eigenvalue(H: np.ndarray) -> float:
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
