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

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._arrays import bin_masses, pack_columns
from sklearn_ensemble_theory._native import uses_native
from sklearn_ensemble_theory._scaling import finite_ranges

TIE_TOLERANCE = 1e-12
# Squares below this share of the weight are rounding (columns are scaled to [0, 1]).
SMALLEST_SQUARE = 1e-26
# With so few rows every value is an edge, and no bin has an inside.
ALL_EDGES = 1024
BINS = 256
# Columns that a single search sorts at a time, where there are more rows than `ALL_EDGES`.
SEARCH_COLUMNS = 4

# The row of the signed columns, z, N, D and the gain of a hinge; z is the scaled knot there.
Found = tuple[int, float, float, float, float]


class Hinge(NamedTuple):
    """x -> coef * (sign * (x[feature] - knot))+; sign 0 is the constant coef.

    `gain` is N²/D, or |N| for the largest inner product.
    """

    feature: int
    sign: int
    knot: float
    coef: float
    gain: float

    def outputs(self, column: np.ndarray) -> np.ndarray:
        """The hinge's values, from the column of its feature."""
        if self.sign == 0:
            return np.full(len(column), self.coef)
        # The difference of halves cannot overflow.
        half = np.maximum(self.sign * (column / 2 - self.knot / 2), 0.0)
        return 2 * self.coef * half


# --- columns --------------------------------------------------------------------------------------


class HingeIndex:
    """The columns of X cut into bins once, for many searches.

    O(n p log n) time; memory beside X, which is not copied: 14 n p bytes, and 8 n p more without
    compiled loops. Rows 0 ... p-1 of the arrays by edge belong to (x - c)+, rows p ... 2p-1 to
    (c - x)+, which is the same search in the mirrored column 1 - z.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.X, self.compiled = X, uses_native()
        n, p = self.n, self.p = X.shape
        self.low, self.high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
        self.half_span = self.high / 2 - self.low / 2
        self.varies = self.half_span > 1e-300
        limit = ALL_EDGES if n <= ALL_EDGES else BINS
        self.order = np.empty((p, n), dtype=np.int32 if n < 2**31 else np.int64)
        self.codes = np.zeros((p, n), dtype=np.uint16)
        self.below = np.empty((p, n))  # distance to the upper edge of the row's bin
        edges, starts, insides = [], [], []
        for j in range(p):
            # Moved to [0, 1], in double precision also with NumPy 1, where a number does not widen
            # an array.
            z = X[:, j].astype(np.float64, copy=False) / 2 - self.low[j] / 2
            z = z / self.half_span[j] if self.varies[j] else np.zeros_like(z)
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
        self.packs: list | None = None
        # The weights of which `squares` are kept.
        self.weight: np.ndarray | None = None
        self.kept_squares: tuple[np.ndarray, np.ndarray, np.ndarray]

    def best(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        criterion: str = "squared_error",
        least_gain: float = -np.inf,
    ) -> Hinge:
        """The best hinge with a gain above `least_gain`, or the constant where none is better.

        The targets are at most about 1 in size: sums of squares must neither overflow nor vanish.
        """
        moment = weight * target
        is_square, total = criterion == "squared_error", float(moment.sum())
        if is_square:
            whole = weight.sum()
            constant = Hinge(0, 0, 0.0, total / whole, total**2 / whole)
        else:
            constant = Hinge(0, 0, 0.0, _sign(total), abs(total))
        least = max(constant.gain, least_gain)
        if self.compiled:
            found = self._compiled_search(moment, weight, is_square, least)
        else:
            search = _LeastSquaresSearch if is_square else _InnerProductSearch
            found = search(self, moment, weight).run(least)
        if found is None:
            return constant
        row, z, first, square, gain = found
        j, sign = row % self.p, 1 if row < self.p else -1
        z = z if sign == 1 else 1 - z
        knot = float(self.low[j] * (1 - z) + self.high[j] * z)
        coef = first / square / self.half_span[j] / 2 if is_square else _sign(first)
        return Hinge(int(j), sign, knot, float(coef), float(gain))

    def _compiled_search(
        self, moment: np.ndarray, weight: np.ndarray, is_square: bool, least: float
    ) -> Found | None:
        from sklearn_ensemble_theory._native.relu import best_hinge

        columns = self.order, self.codes, self.below, self.starts, self.edges, self.inside
        spans = None if is_square else self.spans()
        squares = self.squares(weight) if is_square else (None, None, None)
        floor = SMALLEST_SQUARE * weight.sum()
        return best_hinge(*columns, spans, *squares, moment, weight, floor, least, TIE_TOLERANCE)

    def spans(self) -> np.ndarray:
        """The ranges of the columns; ValueError where one is not finite."""
        with np.errstate(over="ignore"):
            return finite_ranges(2 * self.half_span)

    # --- sums by bin ------------------------------------------------------------------------------

    def masses(self, values: np.ndarray) -> np.ndarray:
        """Sums of values by bin: (p, B)."""
        if self.packs is None:
            self.packs = pack_columns(self.codes, self.n_bins)
        out = np.empty((self.p, self.n_bins))
        bin_masses(self.packs, slice(None), values, self.n_bins, out)
        return out

    def moments(self, values: np.ndarray, power: int) -> np.ndarray:
        """Sums of values * below**power by bin: (p, B)."""
        out = np.empty((self.p, self.n_bins))
        for j in range(self.p):
            weighted = values * self.below[j]
            if power == 2:
                weighted *= self.below[j]
            out[j] = np.bincount(self.codes[j], weighted, self.n_bins)
        return out

    def sides(self, mass: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(mass, sum of values * distance to the bin's lower edge), both orientations."""
        above = self.width * mass - moment
        return (
            np.concatenate([mass, mass[:, ::-1]]),
            np.concatenate([above, moment[:, ::-1]]),
        )

    def squares(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of w, of w (x - c), and D over the rows above each edge, (2p, B + 1).

        They are kept while the weights stay the same array.
        """
        if self.weight is weight:
            return self.kept_squares
        if self.compiled:
            from sklearn_ensemble_theory._native.relu import bin_moments

            out = np.zeros((self.p, self.n_bins, 3))
            bin_moments(self.codes, self.below, weight, out)
            mass, moment, second = np.moveaxis(out, 2, 0)
        else:
            mass = self.masses(weight)
            moment, second = self.moments(weight, 1), self.moments(weight, 2)
        w, first = self.sides(mass, moment)
        far = second - 2 * self.width * moment + self.width**2 * mass
        square = np.concatenate([far, second[:, ::-1]])
        # D at an edge is D at the edge above it, and what the way between the two adds.
        above = _from_above(w)
        lever = _from_above(first + self.widths * above[:, 1:])
        total = _from_above(
            np.maximum(square, 0) + 2 * self.widths * lever[:, 1:] + self.widths**2 * above[:, 1:]
        )
        self.weight, self.kept_squares = weight, (above, lever, total)
        return self.kept_squares

    # --- inside of a bin --------------------------------------------------------------------------

    def inside_of(self, row: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of a bin by their distance below its upper edge, ascending: (rows, distances)."""
        j, mirrored = row % self.p, row >= self.p
        bin_ = self.n_bins - 1 - b if mirrored else b
        rows = self.order[j, self.starts[j, bin_] : self.starts[j, bin_ + 1]]
        below = self.below[j].take(rows)
        if mirrored:
            return rows, np.maximum(self.width[j, bin_] - below, 0.0)
        return rows[::-1], below[::-1]

    def edge(self, row: int, k: int) -> float:
        """z of the k-th edge in its own orientation; bin b lies between the edges b and b + 1."""
        j = row % self.p
        return self.edges[j, k] if row < self.p else 1 - self.edges[j, self.n_bins - k]

    def in_atomic_bins(self, above: np.ndarray) -> np.ndarray:
        """Sums over the rows above a bin without an inside, from those above the edges."""
        # Its rows lie at its upper edge; in the mirror, at its lower edge.
        return np.concatenate([above[: self.p, :-1], above[self.p :, 1:]])


def best_of_columns(X: np.ndarray, target: np.ndarray, weight: np.ndarray, criterion: str) -> Hinge:
    """`HingeIndex.best` for a single search: a few columns at a time are sorted and in memory."""
    n, p = X.shape
    width = p if n <= ALL_EDGES else SEARCH_COLUMNS
    found, least = [], -np.inf
    for first in range(0, p, width):
        index = HingeIndex(X[:, first : first + width])
        hinge = index.best(target, weight, criterion, least)
        found.append(hinge._replace(feature=first + hinge.feature))
        # Hinges as good as the best one up to rounding are found too: the first of them is taken.
        del index  # before the next one takes its memory
        least = max(least, hinge.gain - 4 * TIE_TOLERANCE * abs(hinge.gain))
    hinges = [hinge for hinge in found if hinge.sign]
    if not hinges:
        return found[0]
    best = max(hinge.gain for hinge in hinges)
    tied = [hinge for hinge in hinges if hinge.gain >= best - TIE_TOLERANCE * abs(best)]
    return min(tied, key=lambda hinge: (-hinge.sign, hinge.feature))


# --- the search without compiled loops ------------------------------------------------------------


class _HingeSearch:
    """Edges first, then the insides of bins that can contain a better knot, best bound first."""

    def __init__(self, index: HingeIndex, moment: np.ndarray, weight: np.ndarray) -> None:
        self.index, self.moment, self.weight = index, moment, weight
        # Over the rows above each edge of each signed column, (2p, B + 1): sum w t, and N.
        positive = index.masses(np.maximum(moment, 0.0))
        negative = index.masses(np.maximum(-moment, 0.0))
        mass, first = index.sides(positive - negative, index.moments(moment, 1))
        self.mass = _from_above(mass)
        self.first = _from_above(first + index.widths * self.mass[:, 1:])
        # By how much N may leave its chord inside a bin.
        deviation = np.maximum(positive, negative)
        self.deviation = np.concatenate([deviation, deviation[:, ::-1]]) * index.widths / 4

    def at_edges(self) -> tuple[np.ndarray, Callable[[int, int], Found]]:
        """The gains at the edges, and a function that gives the details of one."""
        raise NotImplementedError

    def bounds(self) -> np.ndarray:
        """Upper bounds of the gains inside each bin."""
        raise NotImplementedError

    def in_bin(self, row: int, b: int) -> Found:
        """The best knot inside a bin."""
        raise NotImplementedError

    def run(self, least: float) -> Found | None:
        """The best hinge; None if none has a larger gain than this."""
        gains, details = self.at_edges()
        best = max(gains.max(initial=-np.inf), least)
        bounds = np.where(self.index.inside, self.bounds(), -np.inf)
        row, b = np.nonzero(bounds > best)
        found = []
        for k in np.argsort(-bounds[row, b], kind="stable"):
            if bounds[row[k], b[k]] < best:
                break
            inner = self.in_bin(int(row[k]), int(b[k]))
            found.append(inner)
            best = max(best, inner[-1])
        slack = TIE_TOLERANCE * abs(best)
        if not best > least + slack:
            return None
        at = np.flatnonzero(gains >= best - slack)
        if len(at):
            found.append(details(*divmod(int(at[0]), gains.shape[1])))
        return min((f for f in found if f[-1] >= best - slack), key=lambda f: f[:2])


class _InnerProductSearch(_HingeSearch):
    """|N(c)|, in units of x: piecewise linear in c, so largest at a value of x."""

    def __init__(self, index: HingeIndex, moment: np.ndarray, weight: np.ndarray) -> None:
        span = np.tile(index.spans(), 2)[:, None]
        super().__init__(index, moment, weight)
        self.mass, self.first = self.mass * span, self.first * span
        self.deviation, self.span = self.deviation * span, span[:, 0]

    def at_edges(self) -> tuple[np.ndarray, Callable[[int, int], Found]]:
        size = np.abs(self.first)

        def details(row: int, k: int) -> Found:
            return row, self.index.edge(row, k), self.first[row, k], 1.0, size[row, k]

        return size, details

    def bounds(self) -> np.ndarray:
        size = np.abs(self.first)
        return np.maximum(size[:, :-1], size[:, 1:]) + self.deviation

    def in_bin(self, row: int, b: int) -> Found:
        rows, u = self.index.inside_of(row, b)
        values = self.moment.take(rows)
        inner = u * np.cumsum(values) - np.cumsum(values * u)
        N = self.first[row, b + 1] + u * self.mass[row, b + 1] + inner * self.span[row]
        k = int(np.argmax(np.abs(N)))
        return row, self.index.edge(row, b + 1) - u[k], N[k], 1.0, abs(N[k])


class _LeastSquaresSearch(_HingeSearch):
    """N(c)²/D(c), over all real c between the least and the largest value of the column."""

    def __init__(self, index: HingeIndex, moment: np.ndarray, weight: np.ndarray) -> None:
        super().__init__(index, moment, weight)
        self.floor = SMALLEST_SQUARE * weight.sum()
        self.above, self.lever, self.square = index.squares(weight)

    def at_edges(self) -> tuple[np.ndarray, Callable[[int, int], Found]]:
        """Every edge, and the best knot of each bin that has no inside."""
        N, D = self.first, self.square
        S = self.index.in_atomic_bins(self.mass)
        E, Q = self.lever[:, 1:], self.index.in_atomic_bins(self.above)
        h = np.where(self.index.inside, 0.0, self.index.widths)
        u = best_between(N[:, 1:], S, D[:, 1:], E, Q, h)
        inner_N, inner_D = N[:, 1:] + S * u, D[:, 1:] + (2 * E + Q * u) * u
        N, D = np.concatenate([N, inner_N], axis=1), np.concatenate([D, inner_D], axis=1)
        gains = self._gain(N, D)
        n_edges = h.shape[1] + 1

        def details(row: int, k: int) -> Found:
            if k < n_edges:
                z = self.index.edge(row, k)
            else:
                z = self.index.edge(row, k - n_edges + 1) - u[row, k - n_edges]
            return row, z, N[row, k], D[row, k], gains[row, k]

        return gains, details

    def bounds(self) -> np.ndarray:
        # N is at most the larger of its two ends and its deviation, D is least at the upper edge.
        size = np.abs(self.first)
        N = np.maximum(size[:, :-1], size[:, 1:]) + self.deviation
        return self._gain(N, self.square[:, 1:], unknown=np.inf)

    def in_bin(self, row: int, b: int) -> Found:
        rows, v = self.index.inside_of(row, b)
        w, wt = self.weight.take(rows), self.moment.take(rows)
        # Knots from the upper edge down, at distances v; between two of them, rows as above.
        knots, ends = np.append(0.0, v), np.append(v, self.index.widths[row, b])
        upper = b + 1
        S = self.mass[row, upper] + _running(wt)
        N = self.first[row, upper] + knots * S - _running(wt * v)
        Q_inner, E_inner = _running(w), _running(w * v)
        Q_upper, E_upper = self.above[row, upper], self.lever[row, upper]
        Q = Q_upper + Q_inner
        E = E_upper + knots * Q - E_inner
        D = self.square[row, upper] + knots * (2 * E_upper + knots * Q_upper)
        D += np.maximum(knots * (knots * Q_inner - 2 * E_inner) + _running(w * v**2), 0.0)
        u = best_between(N, S, D, E, Q, np.maximum(ends - knots, 0.0))
        N, D = N + S * u, D + (2 * E + Q * u) * u
        gains = self._gain(N, D)
        k = int(np.argmax(gains))
        return row, self.index.edge(row, upper) - (knots[k] + u[k]), N[k], D[k], gains[k]

    def _gain(self, N: np.ndarray, D: np.ndarray, unknown: float = 0.0) -> np.ndarray:
        """N²/D where D is more than rounding."""
        known = self.floor < D
        return np.where(known, N**2 / np.where(known, D, 1.0), unknown)


def best_between(
    N: np.ndarray, S: np.ndarray, D: np.ndarray, E: np.ndarray, Q: np.ndarray, h: np.ndarray
) -> np.ndarray:
    """The u in [0, h] that maximises (N + S u)² / (D + 2 E u + Q u²), where it is inside.

    The derivative vanishes where N + S u = 0, the minimum, and at u = (S D - N E) / (N Q - S E).
    """
    bottom = N * Q - S * E
    flat = np.abs(bottom) <= 1e-14 * (np.abs(N) * Q + np.abs(S) * E)
    u = (S * D - N * E) / np.where(flat, 1.0, bottom)
    return np.where(flat | (D <= 0), h, np.clip(u, 0.0, h))


def _from_above(by_bin: np.ndarray) -> np.ndarray:
    """Sums over the bins above each edge: (.., B) -> (.., B + 1), 0 at the top edge."""
    out = np.zeros((by_bin.shape[0], by_bin.shape[1] + 1))
    np.cumsum(by_bin[:, ::-1], axis=1, out=out[:, -2::-1])
    return out


def _running(values: np.ndarray) -> np.ndarray:
    """0, v_1, v_1 + v_2, ..."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _padded(values: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([values, np.repeat(values[-1:], length - len(values))])


def _sign(value: float) -> float:
    return -1.0 if value < 0 else 1.0
