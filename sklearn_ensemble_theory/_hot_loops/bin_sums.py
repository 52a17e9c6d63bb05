"""Exact sums of targets and weights in the bins of all columns: the route without numba."""

import numpy as np

from sklearn_ensemble_theory._compat import HistogramBuilder
from sklearn_ensemble_theory._hot_loops.array_loops import _BUILDER_BINS, _BUILDER_CELL, inner

__all__ = ["BinSums", "GridTargets", "GridWeights"]

# Below so many rows bincount is as fast as scikit-learn's histograms.
_BUILDER_ROWS = 2**13
# bincount over all columns at once takes 8 bytes for each code.
_JOINT_CODES = 2**20
# Sums stay below 2^52, where doubles hold every integer.
_SUM_BITS = 52
# Two single precision numbers hold integers up to this size.
_PAIR = 2.0**48
# Whole weights of at most this sum leave enough bits to round the targets before they are weighted.
_WHOLE_SUM = 2.0**28
_LARGEST_EXPONENT = 1000
# Targets that differ by less than this share of their mean size are equal.
_SAME = 2.0**-36


class GridWeights:
    """Weights as multiples of a power of two whose sums are exact.

    Attributes
    ----------
    values : float array of shape (n,)
        Integers, ``weight * 2**exponent`` rounded.
    exponent : int
    whole : bool
        Whether a row of weight w shall be exactly the same as w equal rows.
    """

    def __init__(self, weight):
        self.weight = weight
        total = float(weight.sum())
        self.exponent = _exponent(total)
        self.values = np.rint(weight * 2.0**self.exponent)
        self.whole = total <= _WHOLE_SUM and bool(np.all(weight == np.rint(weight)))


class GridTargets:
    """Targets times weights as multiples of a power of two whose sums are exact.

    Equally good splits then tie exactly, sums do not depend on the order of the rows, and whole
    weights are equivalent to repeated rows: for them the targets are rounded before they are
    multiplied.

    Attributes
    ----------
    values : float array of shape (n,)
        Integers, ``weight * target * 2**exponent`` rounded.
    exponent : int
    mean_size : float
        The mean of the targets' absolute values.
    """

    def __init__(self, target, grid_weights=None):
        size = np.abs(target)
        weight = None if grid_weights is None else grid_weights.weight
        total = float(size.sum()) if weight is None else inner(size, weight)
        self.exponent = _exponent(total)
        self.target, self.weight = target, weight
        self.mean_size = total / (len(target) if weight is None else float(weight.sum()))
        values = np.multiply(target, 2.0**self.exponent, out=size)
        if weight is None:
            self.values = np.rint(values, out=values)
        elif grid_weights.whole:
            values = np.rint(values, out=values)
            self.values = np.multiply(values, weight, out=values)
        else:
            values = np.multiply(values, weight, out=values)
            self.values = np.rint(values, out=values)

    def all_equal(self, rows):
        """Whether the target is the same in all these rows, up to rounding."""
        some = self.target if rows is None else self.target.take(rows)
        return bool(np.ptp(some) <= _SAME * self.mean_size)

    def squared_errors(self, node, mean):
        """The weighted sum of (target - mean)² in each node, given the node of each row."""
        error = self.target - mean.take(node)
        error *= error
        if self.weight is not None:
            error *= self.weight
        return np.bincount(node, error, len(mean))


def _exponent(total):
    """The k for which total * 2^k is just below 2^52; 0 for a total of 0."""
    if not 0 < total < np.inf:
        return 0
    # Beyond this 2^k itself would overflow.
    return int(np.clip(_SUM_BITS - np.frexp(total)[1], -_LARGEST_EXPONENT, _LARGEST_EXPONENT))


class BinSums:
    """Sums over sets of rows in every bin of every column.

    Parameters
    ----------
    codes : uint8 array of shape (n, p), Fortran order
        Code 255 has a bin of its own, the last, where `has_missing`.
    n_bins : int
        Codes other than 255 are below this.
    has_missing : bool
    n_threads : int, default=1

    Attributes
    ----------
    width : int
        Number of bins of a column.
    """

    def __init__(self, codes, n_bins, has_missing, n_threads=1):
        self.codes, self.n_threads = codes, n_threads
        self.n, self.p = codes.shape
        self.n_bins, self.width = n_bins, n_bins + has_missing
        self.joint = None
        if self.n * self.p <= _JOINT_CODES and not self._takes_builder(self.n):
            columns = np.minimum(codes, n_bins) if has_missing else codes
            first = self.width * np.arange(self.p)
            self.joint = np.add(columns, first, order="C", dtype=np.intp)

    @staticmethod
    def _takes_builder(n):
        return HistogramBuilder is not None and n >= _BUILDER_ROWS

    def set_values(self, targets, weights):
        """The values to sum: `GridTargets` and `GridWeights` (None: weights of 1)."""
        kinds = [targets.values] if weights is None else [targets.values, weights.values]
        self.kinds = kinds
        self.builders = None
        if self._takes_builder(self.n) and all(_fits_pair(values) for values in kinds):
            self.all_rows = getattr(self, "all_rows", None)
            if self.all_rows is None:
                self.all_rows = np.arange(self.n, dtype=np.uint32)
            self.builders = [self._builder(values) for values in kinds]

    def _builder(self, values):
        # scikit-learn sums two single precision numbers in double precision: the value rounded,
        # and what the rounding lost.
        high = values.astype(np.float32)
        low = (values - high).astype(np.float32)
        return HistogramBuilder(self.codes, _BUILDER_BINS, high, low, False, self.n_threads)

    def total(self):
        """Sums over all rows: target, number of rows, and weight where there are weights."""
        return [
            float(self.kinds[0].sum()),
            float(self.n),
            *(float(w.sum()) for w in self.kinds[1:]),
        ]

    def of(self, rows, out):
        """Write the sums over some rows to `out`.

        Parameters
        ----------
        rows : int array, increasing, or None for all
        out : float array of shape (2 or 3, p, width)
            Targets, numbers of rows and, where there are weights, weights.
        """
        if self.builders is not None:
            self._by_builders(rows, out)
        elif self.joint is not None:
            joint = self.joint if rows is None else self.joint.take(rows, axis=0)
            self._by_bincount(joint.ravel(), rows, self.p, out)
        else:
            for j in range(self.p):
                column = self.codes[:, j] if rows is None else self.codes[:, j].take(rows)
                if self.width > self.n_bins:
                    column = np.minimum(column, self.n_bins)
                self._by_bincount(column, rows, 1, out[:, j : j + 1])

    def _by_bincount(self, codes, rows, n_columns, out):
        size = n_columns * self.width
        shape = (n_columns, self.width)
        out[1] = np.bincount(codes, minlength=size).reshape(shape)
        for values, place in zip(self.kinds, (0, 2)):
            values = values if rows is None else values.take(rows)
            if n_columns > 1:
                values = values.repeat(n_columns)
            out[place] = np.bincount(codes, values, size).reshape(shape)

    def _by_builders(self, rows, out):
        rows = self.all_rows if rows is None else rows.astype(np.uint32, copy=False)
        for builder, place in zip(self.builders, (0, 2)):
            found = np.frombuffer(builder.compute_histograms_brute(rows), dtype=_BUILDER_CELL)
            found = found.reshape(self.p, _BUILDER_BINS)
            parts = [(slice(self.n_bins), slice(self.n_bins))]
            if self.width > self.n_bins:
                parts.append((slice(_BUILDER_BINS - 1, None), slice(self.n_bins, None)))
            for source, goal in parts:
                cells = found[:, source]
                np.add(cells["sum_gradients"], cells["sum_hessians"], out=out[place, :, goal])
                if place == 0:
                    out[1, :, goal] = cells["count"]


def _fits_pair(values):
    return bool(values.min() >= -_PAIR and values.max() <= _PAIR)
