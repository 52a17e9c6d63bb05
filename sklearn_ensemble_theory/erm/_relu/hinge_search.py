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

from sklearn_ensemble_theory._hot_loops.array_loops import bin_masses, pack_columns

# With so few rows every value is an edge, and no bin has an inside.
ALL_EDGES = 1024
BINS = 256
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


class _Sums(NamedTuple):
    """Over the rows above each edge of each signed column, (2p, B + 1): sum w t, and N."""

    mass: np.ndarray
    first: np.ndarray


class _Squares(NamedTuple):
    """Likewise: sum w, sum w (x - c), and D."""

    weight: np.ndarray
    lever: np.ndarray
    square: np.ndarray


class HingeIndex:
    """The columns of X cut into bins once, for many searches.

    Parameters
    ----------
    X : float array of shape (n, p)
        Kept by reference, not copied.

    Notes
    -----
    O(n p log n) time; memory beside X: 20 n p bytes, and 8 n p more where columns share a table.
    Rows 0 ... p-1 of the arrays by edge belong to (x - c)+, rows p ... 2p-1 to (c - x)+, which is
    the same search in the mirrored column 1 - z.
    """

    def __init__(self, X):
        self.X = X
        n, p = self.n, self.p = X.shape
        self.low, self.high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
        self.half_span = self.high / 2 - self.low / 2
        self.varies = self.half_span > 1e-300
        limit = ALL_EDGES if n <= ALL_EDGES else BINS
        self.order = np.empty((p, n), dtype=np.int32 if n < 2**31 else np.int64)
        self.codes = np.zeros((p, n), dtype=np.int16)
        self.below = np.empty((p, n))  # distance to the upper edge of the row's bin
        edges, starts, insides = [], [], []
        for j in range(p):
            z = self.scaled(j)
            order = np.argsort(z)
            sorted_z = z[order]
            self.order[j] = order
            distinct = sorted_z[np.append(True, sorted_z[1:] > sorted_z[:-1])]
            if len(distinct) > limit:
                distinct = np.unique(sorted_z[np.linspace(0, n - 1, limit).astype(np.intp)])
            # A row at an edge belongs to the bin below it; the least value has a bin of width 0.
            upper = distinct
            starts.append(np.append(0, np.searchsorted(sorted_z, upper, side="right")))
            insides.append(np.searchsorted(sorted_z, upper, side="left") - starts[-1][:-1])
            edges.append(np.append(upper[0], upper))
            lengths = np.diff(starts[-1])
            self.codes[j, order] = np.repeat(np.arange(len(lengths)), lengths)
            self.below[j, order] = np.repeat(upper, lengths) - sorted_z
        self.n_bins = max(map(len, insides))
        # Columns with fewer edges are filled up with empty bins of width 0 at the top.
        self.edges = np.array([_padded(e, self.n_bins + 1) for e in edges])
        self.starts = np.array([_padded(s, self.n_bins + 1) for s in starts])
        self.width = np.diff(self.edges, axis=1)
        inside = np.zeros((p, self.n_bins), dtype=bool)
        for j, counts in enumerate(insides):
            inside[j, : len(counts)] = counts > 0
        self.widths = np.concatenate([self.width, self.width[:, ::-1]])
        self.inside = np.concatenate([inside, inside[:, ::-1]])
        self.packs = pack_columns(self.codes, self.n_bins)
        self._weight = None

    def scaled(self, j, rows=slice(None)):
        """Column j moved to [0, 1]."""
        column = self.X[rows, j] / 2 - self.low[j] / 2
        return column / self.half_span[j] if self.varies[j] else np.zeros_like(column)

    def _moments(self, values, power):
        """Sums of values * below**power by bin, shape (p, B)."""
        out = np.empty((self.p, self.n_bins))
        for j in range(self.p):
            weighted = values * self.below[j]
            if power == 2:
                weighted *= self.below[j]
            out[j] = np.bincount(self.codes[j], weighted, self.n_bins)
        return out

    def _masses(self, values):
        out = np.empty((self.p, self.n_bins))
        bin_masses(self.packs, slice(None), values, self.n_bins, out)
        return out

    def _sides(self, mass, moment):
        """(mass, sum of values * distance to the bin's lower edge), both orientations."""
        above = self.width * mass - moment
        return (
            np.concatenate([mass, mass[:, ::-1]]),
            np.concatenate([above, moment[:, ::-1]]),
        )

    def squares(self, weight):
        """Weight, lever and D at every edge; kept while the weights stay the same array."""
        if self._weight is not weight:
            mass, moment = self._masses(weight), self._moments(weight, 1)
            second = self._moments(weight, 2)
            w, first = self._sides(mass, moment)
            far = second - 2 * self.width * moment + self.width**2 * mass
            square = np.concatenate([far, second[:, ::-1]])
            above = _from_above(w)
            lever = _from_above(first + self.widths * above[:, 1:])
            total = _from_above(
                np.maximum(square, 0)
                + 2 * self.widths * lever[:, 1:]
                + self.widths**2 * above[:, 1:]
            )
            self._weight, self._squares = weight, _Squares(above, lever, total)
        return self._squares

    # --- the search -------------------------------------------------------------------------

    def best(self, target, weight, criterion="squared_error"):
        """The best hinge, or the constant where no hinge is better.

        Parameters
        ----------
        target : float array of shape (n,)
            At most about 1 in size: sums of squares must neither overflow nor vanish.
        weight : float array of shape (n,)
            Positive, sum 1.
        criterion : {"squared_error", "inner_product"}

        Returns
        -------
        Hinge
        """
        moment = weight * target
        positive = self._masses(np.maximum(moment, 0.0))
        negative = self._masses(np.maximum(-moment, 0.0))
        mass, first = self._sides(positive - negative, self._moments(moment, 1))
        mass = _from_above(mass)
        sums = _Sums(mass, _from_above(first + self.widths * mass[:, 1:]))
        deviation = np.maximum(positive, negative)
        deviation = np.concatenate([deviation, deviation[:, ::-1]]) * self.widths / 4
        search = SEARCHES[criterion](self, sums, deviation, weight)
        constant = search.constant(float(moment.sum()))
        found = search.run(moment, constant.gain)
        if found is None:
            return constant
        row, z, first, square, gain = found
        j, sign = row % self.p, 1 if row < self.p else -1
        z = z if sign == 1 else 1 - z
        knot = float(self.low[j] * (1 - z) + self.high[j] * z)
        coef = search.coefficient(first, square, self.half_span[j])
        return Hinge(int(j), sign, knot, float(coef), float(gain))

    def inside_of(self, row, b):
        """Rows of a bin by their distance below its upper edge, ascending: (rows, distances)."""
        j, mirrored = row % self.p, row >= self.p
        bin_ = self.n_bins - 1 - b if mirrored else b
        rows = self.order[j, self.starts[j, bin_] : self.starts[j, bin_ + 1]]
        below = self.below[j].take(rows)
        if mirrored:
            return rows, np.maximum(self.width[j, bin_] - below, 0.0)
        return rows[::-1], below[::-1]

    def edge(self, row, k):
        """z of the k-th edge in its own orientation; bin b lies between the edges b and b + 1."""
        j = row % self.p
        return self.edges[j, k] if row < self.p else 1 - self.edges[j, self.n_bins - k]

    def in_atomic_bins(self, above):
        """Sums over the rows above a bin without an inside, from those above the edges."""
        # Its rows lie at its upper edge; in the mirror, at its lower edge.
        return np.concatenate([above[: self.p, :-1], above[self.p :, 1:]])


class _HingeSearch(ABC):
    """Edges first, then the insides of bins that can contain a better knot, best bound first."""

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

    @abstractmethod
    def constant(self, total):
        """The best constant, given the sum of weight * target."""

    @abstractmethod
    def coefficient(self, first, square, half_span):
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

    def __init__(self, index, sums, deviation, weight):
        span = 2 * np.concatenate([index.half_span, index.half_span])[:, None]
        sums = _Sums(sums.mass * span, sums.first * span)
        super().__init__(index, sums, deviation * span, weight)
        self.span = span[:, 0]

    def constant(self, total):
        return Hinge(0, 0, 0.0, _sign(total), abs(total))

    def coefficient(self, first, square, half_span):
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

    def __init__(self, index, sums, deviation, weight):
        super().__init__(index, sums, deviation, weight)
        self.whole = weight.sum()
        self.floor = SMALLEST_SQUARE * self.whole
        self.squares = index.squares(weight)

    def constant(self, total):
        return Hinge(0, 0, 0.0, total / self.whole, total**2 / self.whole)

    def coefficient(self, first, square, half_span):
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


def _from_above(by_bin):
    """Sums over the bins above each edge: (.., B) -> (.., B + 1), 0 at the top edge."""
    out = np.zeros((by_bin.shape[0], by_bin.shape[1] + 1))
    np.cumsum(by_bin[:, ::-1], axis=1, out=out[:, -2::-1])
    return out


def _padded(values, length):
    return np.concatenate([values, np.repeat(values[-1:], length - len(values))])


def _sign(value):
    return -1.0 if value < 0 else 1.0
