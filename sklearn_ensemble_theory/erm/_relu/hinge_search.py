"""The best hinge (x_j - c)+ or (c - x_j)+ over all features and all knots c, in O(n p) a round.

Write N(c) = sum w t (x - c)+ and D(c) = sum w (x - c)+². The best coefficient of the hinge with
knot c is N/D and lowers the weighted squares of t by N²/D. Between two neighbouring values of x,
N is linear and D quadratic, so the derivative of N²/D vanishes at one point, known in closed form:
the optimum over *all* real knots is found, not only over the data. |N| alone is largest at a
value of x.

Each column is cut into bins once. A round needs the sums over the bins only: they give N and D at
every edge. Inside a bin, N is the difference of two convex functions, each at most mass * width/4
below its chord, and D is monotone; so most bins are known to contain nothing better than the
best edge, and only the few others are searched row by row, the most promising first.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

TIE_TOLERANCE = 1e-12
# Squares below this share of the weight are rounding (columns are scaled to [0, 1]).
SMALLEST_SQUARE = 1e-26


class Hinge(NamedTuple):
    """x -> coef * (sign * (x[feature] - knot))+; sign 0 is the constant coef.

    `gain` is N²/D, or |N| for the largest inner product.
    """

    feature: int
    sign: int
    knot: float
    coef: float
    gain: float

    def outputs(self, column):
        """The hinge's values, from the column of its feature."""
        if self.sign == 0:
            return np.full(len(column), self.coef)
        return hinge_values(column, self.sign, self.knot, self.coef)


def hinge_values(column, sign, knot, coef):
    """coef * (sign * (column - knot))+; the difference of halves cannot overflow."""
    half = np.maximum(sign * (column / 2 - knot / 2), 0.0)
    return 2 * coef * half


class _HingeSearch(ABC):
    """Edges first, then the insides of bins that can contain a better knot, best bound first."""

    is_square: bool  # whether N²/D is maximised, not |N|

    def __init__(self, index, sums, deviation, weight):
        self.index, self.sums, self.deviation, self.weight = index, sums, deviation, weight

    @abstractmethod
    def at_edges(self):
        """The gains at the edges, and a function that gives the details of one."""

    @abstractmethod
    def bounds(self):
        """Upper bounds of the gains inside each bin."""

    @abstractmethod
    def in_bin(self, row, b, moment):
        """The details of the best knot inside a bin."""

    @staticmethod
    @abstractmethod
    def constant(total, whole):
        """The best constant, given the sums of weight * target and of the weights."""

    @staticmethod
    @abstractmethod
    def coefficient(first, square, half_span):
        """The coefficient of a hinge in units of its feature."""

    def run(self, moment, constant):
        """(row, z, N, D, gain) of the best hinge; None if none beats the constant's gain."""
        gains, details = self.at_edges()
        best = max(gains.max(initial=-np.inf), constant)
        bounds = np.where(self.index.inside, self.bounds(), -np.inf)
        row, b = np.nonzero(bounds > best)
        found = []
        for k in np.argsort(-bounds[row, b], kind="stable"):
            if bounds[row[k], b[k]] < best:
                break
            inner = self.in_bin(int(row[k]), int(b[k]), moment)
            found.append(inner)
            best = max(best, inner[-1])
        slack = TIE_TOLERANCE * abs(best)
        if not best > constant + slack:
            return None
        at = np.flatnonzero(gains >= best - slack)
        if len(at):
            found.append(details(*divmod(int(at[0]), gains.shape[1])))
        return min((f for f in found if f[-1] >= best - slack), key=lambda f: f[:2])


class _InnerProductSearch(_HingeSearch):
    """|N(c)|, in units of x: piecewise linear in c, so largest at a value of x."""

    is_square = False

    def __init__(self, index, sums, deviation, weight):
        span = np.tile(index.spans(), 2)[:, None]
        sums = sums._replace(mass=sums.mass * span, first=sums.first * span)
        super().__init__(index, sums, deviation * span, weight)
        self.span = span[:, 0]

    @staticmethod
    def constant(total, whole):
        return Hinge(0, 0, 0.0, _sign(total), abs(total))

    @staticmethod
    def coefficient(first, square, half_span):
        return _sign(first)

    def at_edges(self):
        size = np.abs(self.sums.first)

        def details(row, k):
            return row, self.index.edge(row, k), self.sums.first[row, k], 1.0, size[row, k]

        return size, details

    def bounds(self):
        size = np.abs(self.sums.first)
        return np.maximum(size[:, :-1], size[:, 1:]) + self.deviation

    def in_bin(self, row, b, moment):
        rows, u = self.index.inside_of(row, b)
        values = moment.take(rows)
        inner = u * np.cumsum(values) - np.cumsum(values * u)
        N = self.sums.first[row, b + 1] + u * self.sums.mass[row, b + 1] + inner * self.span[row]
        k = int(np.argmax(np.abs(N)))
        return row, self.index.edge(row, b + 1) - u[k], N[k], 1.0, abs(N[k])


class _LeastSquaresSearch(_HingeSearch):
    """N(c)²/D(c), over all real c between the least and the largest value of the column."""

    is_square = True

    def __init__(self, index, sums, deviation, weight):
        super().__init__(index, sums, deviation, weight)
        self.floor = SMALLEST_SQUARE * weight.sum()
        self.squares = index.squares(weight)

    @staticmethod
    def constant(total, whole):
        return Hinge(0, 0, 0.0, total / whole, total**2 / whole)

    @staticmethod
    def coefficient(first, square, half_span):
        return first / square / half_span / 2

    def at_edges(self):
        """Every edge, and the best knot of each bin that has no inside."""
        N, D = self.sums.first, self.squares.square
        S = self.index.in_atomic_bins(self.sums.mass)
        E, Q = self.squares.lever[:, 1:], self.index.in_atomic_bins(self.squares.weight)
        h = np.where(self.index.inside, 0.0, self.index.widths)
        u = best_between(N[:, 1:], S, D[:, 1:], E, Q, h)
        inner_N, inner_D = N[:, 1:] + S * u, D[:, 1:] + (2 * E + Q * u) * u
        N, D = np.concatenate([N, inner_N], axis=1), np.concatenate([D, inner_D], axis=1)
        gains = _gain(N, D, self.floor)
        n_edges = h.shape[1] + 1

        def details(row, k):
            if k < n_edges:
                z = self.index.edge(row, k)
            else:
                z = self.index.edge(row, k - n_edges + 1) - u[row, k - n_edges]
            return row, z, N[row, k], D[row, k], gains[row, k]

        return gains, details

    def bounds(self):
        size = np.abs(self.sums.first)
        N = np.maximum(size[:, :-1], size[:, 1:]) + self.deviation
        D = self.squares.square[:, 1:]
        known = self.floor < D
        return np.where(known, N**2 / np.where(known, D, 1.0), np.inf)

    def in_bin(self, row, b, moment):
        rows, v = self.index.inside_of(row, b)
        w, wt = self.weight.take(rows), moment.take(rows)
        # Knots from the upper edge down, at distances v; between two of them, rows as above.
        knots, ends = np.append(0.0, v), np.append(v, self.index.widths[row, b])
        upper = b + 1
        S = self.sums.mass[row, upper] + _running(wt)
        N = self.sums.first[row, upper] + knots * S - _running(wt * v)
        Q_inner, E_inner = _running(w), _running(w * v)
        Q_upper, E_upper = self.squares.weight[row, upper], self.squares.lever[row, upper]
        Q = Q_upper + Q_inner
        E = E_upper + knots * Q - E_inner
        D = self.squares.square[row, upper] + knots * (2 * E_upper + knots * Q_upper)
        D += np.maximum(knots * (knots * Q_inner - 2 * E_inner) + _running(w * v**2), 0.0)
        u = best_between(N, S, D, E, Q, np.maximum(ends - knots, 0.0))
        N, D = N + S * u, D + (2 * E + Q * u) * u
        gains = _gain(N, D, self.floor)
        k = int(np.argmax(gains))
        return row, self.index.edge(row, upper) - (knots[k] + u[k]), N[k], D[k], gains[k]


SEARCHES = {"squared_error": _LeastSquaresSearch, "inner_product": _InnerProductSearch}


def best_between(N, S, D, E, Q, h):
    """The u in [0, h] that maximises (N + S u)² / (D + 2 E u + Q u²), where it is inside.

    The derivative vanishes where N + S u = 0, the minimum, and at u = (S D - N E) / (N Q - S E).
    """
    bottom = N * Q - S * E
    flat = np.abs(bottom) <= 1e-14 * (np.abs(N) * Q + np.abs(S) * E)
    u = (S * D - N * E) / np.where(flat, 1.0, bottom)
    return np.where(flat | (D <= 0), h, np.clip(u, 0.0, h))


def _gain(N, D, floor):
    known = floor < D
    return np.where(known, N**2 / np.where(known, D, 1.0), 0.0)


def _running(values):
    """0, v_1, v_1 + v_2, ..."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _sign(value):
    return -1.0 if value < 0 else 1.0
