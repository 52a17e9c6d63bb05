"""The columns of X sorted and cut into bins, in which the best hinge is searched round by round."""

from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.array_loops import bin_masses, pack_columns
from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._scaling import finite_ranges
from sklearn_ensemble_theory.erm._relu.hinge_search import (
    SEARCHES,
    SMALLEST_SQUARE,
    TIE_TOLERANCE,
    Hinge,
)

# With so few rows every value is an edge, and no bin has an inside.
ALL_EDGES = 1024
BINS = 256
# Columns that a single search sorts at a time, where there are more rows than `ALL_EDGES`.
SEARCH_COLUMNS = 4


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
    O(n p log n) time; memory beside X: 14 n p bytes, and 8 n p more without compiled loops.
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
        self.codes = np.zeros((p, n), dtype=np.uint16)
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
        self._packs = None
        self._weight = None

    def scaled(self, j, rows=slice(None)):
        """Column j moved to [0, 1]."""
        # In double precision also with NumPy 1, where a number does not widen an array.
        column = self.X[rows, j].astype(np.float64, copy=False) / 2 - self.low[j] / 2
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
        if self._packs is None:
            self._packs = pack_columns(self.codes, self.n_bins)
        out = np.empty((self.p, self.n_bins))
        bin_masses(self._packs, slice(None), values, self.n_bins, out)
        return out

    def _three_moments(self, values):
        if uses_numba():
            from sklearn_ensemble_theory._hot_loops.relu_loops import bin_moments

            out = np.zeros((self.p, self.n_bins, 3))
            bin_moments(self.codes, self.below, values, out)
            return np.moveaxis(out, 2, 0)
        return self._masses(values), self._moments(values, 1), self._moments(values, 2)

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
            mass, moment, second = self._three_moments(weight)
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

    def best(self, target, weight, criterion="squared_error", least_gain=-np.inf):
        """The best hinge, or the constant where no hinge is better.

        Parameters
        ----------
        target : float array of shape (n,)
            At most about 1 in size: sums of squares must neither overflow nor vanish.
        weight : float array of shape (n,)
            Positive, sum 1.
        criterion : {"squared_error", "inner_product"}
        least_gain : float, default=-inf
            Only hinges with a larger gain are looked for.

        Returns
        -------
        Hinge
        """
        moment = weight * target
        search = SEARCHES[criterion]
        constant = search.constant(float(moment.sum()), weight.sum())
        least = max(constant.gain, least_gain)
        if uses_numba():
            found = self._compiled_search(moment, weight, search.is_square, least)
        else:
            found = search(self, *self._sums(moment), weight).run(moment, least)
        if found is None:
            return constant
        row, z, first, square, gain = found
        j, sign = row % self.p, 1 if row < self.p else -1
        z = z if sign == 1 else 1 - z
        knot = float(self.low[j] * (1 - z) + self.high[j] * z)
        coef = search.coefficient(first, square, self.half_span[j])
        return Hinge(int(j), sign, knot, float(coef), float(gain))

    def spans(self):
        """The ranges of the columns; ValueError where one is not finite."""
        with np.errstate(over="ignore"):
            return finite_ranges(2 * self.half_span)

    def _sums(self, moment):
        """The sums above the edges, and by how much N may leave its chord inside a bin."""
        positive = self._masses(np.maximum(moment, 0.0))
        negative = self._masses(np.maximum(-moment, 0.0))
        mass, first = self._sides(positive - negative, self._moments(moment, 1))
        mass = _from_above(mass)
        sums = _Sums(mass, _from_above(first + self.widths * mass[:, 1:]))
        deviation = np.maximum(positive, negative)
        return sums, np.concatenate([deviation, deviation[:, ::-1]]) * self.widths / 4

    def _compiled_search(self, moment, weight, is_square, constant):
        from sklearn_ensemble_theory._hot_loops.relu_loops import best_hinge

        columns = self.order, self.codes, self.below, self.starts, self.edges, self.inside
        if is_square:
            squares = tuple(self.squares(weight))
        else:
            squares = (np.ones((2 * self.p, self.n_bins + 1)),) * 3
        spans = self.half_span if is_square else self.spans()
        options = SMALLEST_SQUARE * weight.sum(), constant, TIE_TOLERANCE, is_square
        found = best_hinge((*columns, spans), squares, moment, weight, options)
        return None if found[0] < 0 else found

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


def best_of_columns(X, target, weight, criterion):
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


def _from_above(by_bin):
    """Sums over the bins above each edge: (.., B) -> (.., B + 1), 0 at the top edge."""
    out = np.zeros((by_bin.shape[0], by_bin.shape[1] + 1))
    np.cumsum(by_bin[:, ::-1], axis=1, out=out[:, -2::-1])
    return out


def _padded(values, length):
    return np.concatenate([values, np.repeat(values[-1:], length - len(values))])
