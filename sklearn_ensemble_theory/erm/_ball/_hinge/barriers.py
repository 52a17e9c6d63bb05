"""The constraint |beta| <= 1 in an interior-point method, for the two norms.

g = sum_i w_i a_i y_i x_i for dual variables a of the rows; mu is the multiplier of the constraint.
A step has to satisfy, beside the equations of the rows,

    d beta = shift + G dg,    G = diag(e) - c f f'

where `linearise` sets e, c, f, and `inverse`, with G^-1 = diag(1/e) + inverse (f/e)(f/e)'.
"""

import numpy as np

# The multiplier at the start, in units of the least feasible one.
FIRST_MULTIPLIER = 2.0

EPS = float(np.finfo(np.float64).eps)


class Barrier:
    """What both norms have.

    Parameters
    ----------
    g : float array of shape (p,)
    unit : float
        Products of variables are about this times the width of the rows' ones.

    Attributes
    ----------
    beta : float array of shape (p,)
    g : float array of shape (p,)
    multiplier : float
        mu.
    n_products : int
        The number of products of which the gap consists.
    is_uniform : bool
        Whether e is a multiple of 1.
    is_joint : bool
        Whether the primal and dual variables have to go steps of the same length.
    """

    n_products: int
    is_uniform = False
    is_joint = False
    e: np.ndarray
    f: np.ndarray
    c: float
    inverse: float
    multiplier: float

    def __init__(self, g: np.ndarray, unit: float):
        self.g, self.unit = g, unit
        self.beta = np.zeros(len(g))

    def times(self, v: np.ndarray) -> np.ndarray:
        """G v."""
        return self.e * v - (self.c * float(self.f @ v)) * self.f

    def is_interior(self) -> bool:
        """Whether the point is off the boundary in spite of rounding."""
        return True

    def active(self) -> np.ndarray:
        """The coefficients that are not going to 0."""
        return np.ones(len(self.beta), dtype=bool)

    def products(self) -> float:
        """The sum of the products of the variables."""
        raise NotImplementedError

    def products_after(self, primal: float, dual: float) -> float:
        """The sum after steps of these lengths."""
        raise NotImplementedError

    def linearise(self) -> None:
        """Set e, f, c and inverse at the present point."""
        raise NotImplementedError

    def shift(self, width: float, *, corrected: bool) -> np.ndarray:
        """The shift of a step to products of width * unit.

        If corrected, the products of the changes of the last `direction` are taken into account.
        """
        raise NotImplementedError

    def direction(self, d_beta: np.ndarray, dg: np.ndarray) -> None:
        """Complete a step by the changes of all variables."""
        raise NotImplementedError

    def largest_steps(self) -> tuple[float, float]:
        """The longest steps of the primal and the dual variables that keep them feasible."""
        raise NotImplementedError

    def move(self, primal: float, dual: float) -> None:
        """Take the step."""
        raise NotImplementedError


def longest_step(values: np.ndarray, change: np.ndarray) -> float:
    """The largest t with values + t * change >= 0; inf if there is none."""
    least = float((change / values).min())
    return -1 / least if least < 0 else np.inf


class L1Barrier(Barrier):
    """The l1 norm, a linear program with 2 p + 1 products.

    beta = parts[0] - parts[1] with parts >= 0 and sum(parts) + rest = 1. Their dual variables
    are mu - g, mu + g and mu. All points are feasible for both problems.
    """

    def __init__(self, g: np.ndarray, unit: float):
        super().__init__(g, unit)
        self.multiplier = FIRST_MULTIPLIER * float(np.abs(g).max()) + unit
        self.n_products = 2 * len(g) + 1
        # Two rows: the positive and the negative parts; then what remains of the radius.
        self.parts = np.full((2, len(g)), 1 / self.n_products)
        self.rest = 1 / self.n_products
        self.duals = self.multiplier + np.array([[-1.0], [1.0]]) * g

    def active(self) -> np.ndarray:
        # One of two variables goes to 0: the smaller one in units of its bound.
        return (self.parts * self.multiplier > self.duals).any(axis=0)

    def products(self) -> float:
        return float(np.vdot(self.parts, self.duals)) + self.rest * self.multiplier

    def products_after(self, primal: float, dual: float) -> float:
        parts, duals = self.parts + primal * self.d_parts, self.duals + dual * self.d_duals
        rest = self.rest + primal * self.d_rest
        return float(np.vdot(parts, duals)) + rest * (self.multiplier + dual * self.d_multiplier)

    def linearise(self) -> None:
        self.ratio = self.parts / self.duals
        up, down = self.ratio
        self.e, self.f = up + down, up - down
        rest = self.rest / self.multiplier
        self.c = 1 / (float(self.e.sum()) + rest)
        # sum(e) - sum(f²/e), without differences of large numbers
        self.inverse = 1 / (4 * float((up / self.e) @ down) + rest)

    def shift(self, width: float, *, corrected: bool) -> np.ndarray:
        goal = width * self.unit
        wanted, rest = goal / self.duals - self.parts, goal / self.multiplier - self.rest
        if corrected:
            wanted -= self.d_parts * self.d_duals / self.duals
            rest -= self.d_rest * self.d_multiplier / self.multiplier
        self.wanted, self.wanted_rest = wanted, rest
        self.base = self.c * (float(wanted.sum()) + rest)
        return wanted[0] - wanted[1] - self.base * self.f

    def direction(self, d_beta: np.ndarray, dg: np.ndarray) -> None:
        self.d_multiplier = self.base + self.c * float(self.f @ dg)
        self.d_duals = self.d_multiplier + np.array([[-1.0], [1.0]]) * dg
        self.d_parts = self.wanted - self.ratio * self.d_duals
        # Rounding goes to the larger part.
        error = self.d_parts[0] - self.d_parts[1] - d_beta
        larger = self.parts[0] > self.parts[1]
        self.d_parts[0] -= np.where(larger, error, 0.0)
        self.d_parts[1] += np.where(larger, 0.0, error)
        self.d_rest = -float(self.d_parts.sum())
        self.dg = dg

    def largest_steps(self) -> tuple[float, float]:
        primal, dual = (
            longest_step(self.parts, self.d_parts),
            longest_step(self.duals, self.d_duals),
        )
        if self.d_rest < 0:
            primal = min(primal, -self.rest / self.d_rest)
        if self.d_multiplier < 0:
            dual = min(dual, -self.multiplier / self.d_multiplier)
        return primal, dual

    def move(self, primal: float, dual: float) -> None:
        self.parts = self.parts + primal * self.d_parts
        self.rest += primal * self.d_rest
        self.duals = self.duals + dual * self.d_duals
        self.multiplier += dual * self.d_multiplier
        self.g = self.g + dual * self.dg
        self.beta = self.parts[0] - self.parts[1]


class L2Barrier(Barrier):
    """The l2 norm: a second-order cone with the scaling of Nesterov and Todd.

    x = (1, beta) and z = (multiplier, -g) are in the cone {(t, v): |v| <= t}. W z = W^-1 x for
    the symmetric W with W² = eta² (2 w w' - J), where J = diag(1, -1, ..., -1)
    [Vandenberghe, 2010, section 4]. How far x and z are from the boundary is kept by itself: near
    the boundary it has no digits in the difference of the norms.
    """

    n_products = 1
    is_uniform = True
    is_joint = True

    def __init__(self, g: np.ndarray, unit: float):
        super().__init__(g, unit)
        norm = float(np.linalg.norm(g))
        self.multiplier = FIRST_MULTIPLIER * norm + unit
        # A number and its rounding error.
        self.room_x = (1.0, EPS)
        self.room_z = self._room(self.multiplier, g)

    def is_interior(self) -> bool:
        return self.room_x[0] > 0 and self.room_z[0] > 0

    def products(self) -> float:
        return self.multiplier - float(self.beta @ self.g)

    def products_after(self, primal: float, dual: float) -> float:
        multiplier = self.multiplier + dual * self.d_multiplier
        beta, g = self.beta + primal * self.d_beta, self.g + dual * self.dg
        return multiplier - float(beta @ g)

    @staticmethod
    def _room(top, v):
        """top² - |v|²."""
        norm = float(np.linalg.norm(v))
        return (top - norm) * (top + norm), 4 * EPS * top * top

    def _room_after(self, room, t, top, v):
        """The same after a step, from its change or anew, with the smaller rounding error."""
        (top, d_top), (v, d) = top, v
        value, error = room
        # d_top² - |d|² and 2 (top d_top - v'd)
        square = (d_top - np.linalg.norm(d)) * (d_top + np.linalg.norm(d))
        change = t * (2 * (top * d_top - float(v @ d)) + t * square)
        size = t * (abs(top * d_top) + float(np.abs(v) @ np.abs(d)))
        changed = value + change, error + EPS * (value + 4 * size)
        anew = self._room(top + t * d_top, v + t * d)
        return min(changed, anew, key=lambda pair: pair[1])

    def linearise(self) -> None:
        size_x, size_z = np.sqrt(self.room_x[0]), np.sqrt(self.room_z[0])
        x = np.append(1.0, self.beta) / size_x
        z = np.append(self.multiplier, self.g) / size_z  # J z
        # x'z of the scaled vectors; 1 at the centre
        inner = max(self.products() / (size_x * size_z), 1.0)
        self.w = (x + z) / np.sqrt(2 * (1 + inner))
        w1 = self.w[1:]
        square = float(w1 @ w1)
        self.w[0] = np.sqrt(1 + square)
        self.eta = np.sqrt(size_x / size_z)
        self.v = self.w.copy()
        self.v[0] += 1
        self.v /= np.sqrt(2 * self.v[0])
        self.point = self._times_W(np.append(self.multiplier, -self.g))
        self.square = size_x * size_z
        self.e = np.full(len(w1), self.eta**2)
        self.f = self.eta * w1
        self.c = 2 / (1 + 2 * square)
        self.inverse = 2.0

    def _times_W(self, z):
        product = 2 * float(self.v @ z) * self.v
        product[0] -= z[0]
        product[1:] += z[1:]
        return self.eta * product

    def _times_inverse(self, x):
        v = self.v.copy()
        v[1:] *= -1
        product = 2 * float(v @ x) * v
        product[0] -= x[0]
        product[1:] += x[1:]
        return product / self.eta

    def shift(self, width: float, *, corrected: bool) -> np.ndarray:
        point = self.point
        wanted = -_jordan(point, point)
        wanted[0] += width * self.unit
        if corrected:
            dx = self._times_inverse(np.append(0.0, self.d_beta))
            dz = self._times_W(np.append(self.d_multiplier, -self.dg))
            wanted -= _jordan(dx, dz)
        y = np.empty(len(point))
        y[0] = (point[0] * wanted[0] - point[1:] @ wanted[1:]) / self.square
        y[1:] = (wanted[1:] - y[0] * point[1:]) / point[0]
        self.wanted = self._times_inverse(y)
        return self.times(self.wanted[1:])

    def direction(self, d_beta: np.ndarray, dg: np.ndarray) -> None:
        # By w'd beta for d beta = G (wanted + dg), without its rounding errors.
        w = self.w
        along = float(w[1:] @ (self.wanted[1:] + dg))
        self.d_multiplier = float(self.wanted[0] + w[0] * self.c * along)
        self.d_beta, self.dg = d_beta, dg

    def largest_steps(self) -> tuple[float, float]:
        d, dg = self.d_beta, self.dg
        rise = self.multiplier * self.d_multiplier - float(self.g @ dg)
        dual = _first_root(self.room_z[0], rise, self.d_multiplier**2 - float(dg @ dg))
        return _first_root(self.room_x[0], -float(self.beta @ d), -float(d @ d)), dual

    def move(self, primal: float, dual: float) -> None:
        x, z = (1.0, 0.0), (self.multiplier, self.d_multiplier)
        self.room_x = self._room_after(self.room_x, primal, x, (self.beta, self.d_beta))
        self.room_z = self._room_after(self.room_z, dual, z, (self.g, self.dg))
        self.beta = self.beta + primal * self.d_beta
        self.multiplier += dual * self.d_multiplier
        self.g = self.g + dual * self.dg


def _jordan(x, z):
    """The product of the algebra of the cone: (x'z, x_0 z_1 + z_0 x_1)."""
    product = x[0] * z + z[0] * x
    product[0] = x @ z
    return product


def _first_root(room, half, square):
    """The first t > 0 with room + 2 half t + square t² = 0; inf if there is none."""
    under = half * half - square * room
    if under < 0:
        return np.inf
    root = np.sqrt(under) - half
    return room / root if root > 0 else np.inf
