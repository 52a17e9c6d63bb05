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

from dataclasses import dataclass, replace

import numpy as np

from sklearn_ensemble_theory._native.relu import best_hinge, bin_moments
from sklearn_ensemble_theory._scaling import finite_ranges

TIE_TOLERANCE = 1e-12
# Squares below this share of the weight are rounding (columns are scaled to [0, 1]).
SMALLEST_SQUARE = 1e-26
# With so few rows every value is an edge, and no bin has an inside.
ALL_EDGES = 1024
BINS = 256
# Columns that a single search sorts at a time, where there are more rows than `ALL_EDGES`.
SEARCH_COLUMNS = 4


@dataclass(frozen=True)
class Hinge:
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

    O(n p log n) time; memory beside X, which is not copied: 14 n p bytes. Rows 0 ... p-1 of the
    arrays by edge belong to (x - c)+, rows p ... 2p-1 to (c - x)+, which is the same search in the
    mirrored column 1 - z.
    """

    def __init__(self, X: np.ndarray) -> None:
        n, p = X.shape
        self.p = p
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
        columns = self.order, self.codes, self.below, self.starts, self.edges, self.inside
        spans = None if is_square else self.spans()
        squares = self.squares(weight) if is_square else (None, None, None)
        given = *columns, spans, *squares, moment, weight
        found = best_hinge(*given, SMALLEST_SQUARE * weight.sum(), least, TIE_TOLERANCE)
        if found is None:
            return constant
        row, z, first, square, gain = found
        j, sign = row % self.p, 1 if row < self.p else -1
        z = z if sign == 1 else 1 - z
        knot = float(self.low[j] * (1 - z) + self.high[j] * z)
        coef = first / square / self.half_span[j] / 2 if is_square else _sign(first)
        return Hinge(int(j), sign, knot, float(coef), float(gain))

    def spans(self) -> np.ndarray:
        """The ranges of the columns; ValueError where one is not finite."""
        with np.errstate(over="ignore"):
            return finite_ranges(2 * self.half_span)

    def squares(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of w, of w (x - c), and D over the rows above each edge, (2p, B + 1).

        They are kept while the weights stay the same array.
        """
        if self.weight is weight:
            return self.kept_squares
        out = np.zeros((self.p, self.n_bins, 3))
        bin_moments(self.codes, self.below, weight, out)
        mass, moment, second = np.moveaxis(out, 2, 0)
        # Of both orientations, from the lower edge of each bin.
        w = np.concatenate([mass, mass[:, ::-1]])
        first = np.concatenate([self.width * mass - moment, moment[:, ::-1]])
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


def best_of_columns(X: np.ndarray, target: np.ndarray, weight: np.ndarray, criterion: str) -> Hinge:
    """`HingeIndex.best` for a single search: a few columns at a time are sorted and in memory."""
    n, p = X.shape
    width = p if n <= ALL_EDGES else SEARCH_COLUMNS
    found, least = [], -np.inf
    for first in range(0, p, width):
        index = HingeIndex(X[:, first : first + width])
        hinge = index.best(target, weight, criterion, least)
        found.append(replace(hinge, feature=first + hinge.feature))
        # Hinges as good as the best one up to rounding are found too: the first of them is taken.
        del index  # before the next one takes its memory
        least = max(least, hinge.gain - 4 * TIE_TOLERANCE * abs(hinge.gain))
    hinges = [hinge for hinge in found if hinge.sign]
    if not hinges:
        return found[0]
    best = max(hinge.gain for hinge in hinges)
    tied = [hinge for hinge in hinges if hinge.gain >= best - TIE_TOLERANCE * abs(best)]
    return min(tied, key=lambda hinge: (-hinge.sign, hinge.feature))


def _from_above(by_bin: np.ndarray) -> np.ndarray:
    """Sums over the bins above each edge: (.., B) -> (.., B + 1), 0 at the top edge."""
    out = np.zeros((by_bin.shape[0], by_bin.shape[1] + 1))
    np.cumsum(by_bin[:, ::-1], axis=1, out=out[:, -2::-1])
    return out


def _padded(values: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([values, np.repeat(values[-1:], length - len(values))])


def _sign(value: float) -> float:
    return -1.0 if value < 0 else 1.0
