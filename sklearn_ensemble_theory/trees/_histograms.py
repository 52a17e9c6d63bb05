"""Exact sums of targets and weights in the bins of all columns, in memory and in blocks of rows.

Both are rounded to multiples of a power of two, whose sums are exact: as doubles in memory without
compiled code (`BinSums`), as integers in blocks (`answered`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._arrays import _BUILDER_BINS, _BUILDER_CELL, inner
from sklearn_ensemble_theory._compat import HistogramBuilder
from sklearn_ensemble_theory._native import uses_native
from sklearn_ensemble_theory.trees._columns import MISSING

# Below so many rows bincount is as fast as scikit-learn's histograms.
_BUILDER_ROWS = 2**13
# bincount over all columns at once takes 8 bytes for each code.
_JOINT_CODES = 2**20
_BLOCK = 2**13
# Sums stay below 2^52, where doubles hold every integer.
_SUM_BITS = 52
# Two single precision numbers hold integers up to this size.
_PAIR = 2.0**48
# Whole weights of at most this sum leave enough bits to round the targets before they are weighted.
_WHOLE_SUM = 2.0**28
_LARGEST_EXPONENT = 1000
# Targets that differ by less than this share of their mean size are equal.
SAME = 2.0**-36


def _row_blocks(n):
    """Slices of n rows whose temporary arrays stay in the processor's cache."""
    return (slice(first, min(first + _BLOCK, n)) for first in range(0, n, _BLOCK))


class GridWeights:
    """Weights as multiples of a power of two whose sums are exact.

    Attributes
    ----------
    exponent : int
    whole : bool
        Whether a row of weight w shall be exactly the same as w equal rows.
    """

    def __init__(self, weight):
        self.weight = weight
        self.sum = float(weight.sum())
        self.exponent = _exponent(self.sum)
        self.whole = self.sum <= _WHOLE_SUM and bool(np.all(weight == np.rint(weight)))

    def integers(self, part):
        """``weight * 2**exponent`` of some rows, rounded."""
        values = self.weight[part] * 2.0**self.exponent
        return np.rint(values, out=values)


class GridTargets:
    """Targets times weights as multiples of a power of two whose sums are exact.

    Equally good splits then tie exactly, sums do not depend on the order of the rows, and whole
    weights are equivalent to repeated rows: for them the targets are rounded before they are
    multiplied.

    Attributes
    ----------
    exponent : int
    mean_size : float
        The mean of the targets' absolute values.
    """

    def __init__(self, target, grid_weights=None):
        self.target, self.weight, self.whole = target, None, False
        if grid_weights is not None:
            self.weight, self.whole = grid_weights.weight, grid_weights.whole
        n = len(target)
        total = 0.0
        for part in _row_blocks(n):
            size = np.abs(target[part])
            total += float(size.sum()) if self.weight is None else inner(size, self.weight[part])
        self.exponent = _exponent(total)
        self.mean_size = total / (n if grid_weights is None else grid_weights.sum)

    def integers(self, part):
        """``weight * target * 2**exponent`` of some rows, rounded."""
        values = self.target[part] * 2.0**self.exponent
        if self.weight is None:
            return np.rint(values, out=values)
        if self.whole:
            values = np.rint(values, out=values)
            return np.multiply(values, self.weight[part], out=values)
        values *= self.weight[part]
        return np.rint(values, out=values)

    def all_equal(self, rows):
        """Whether the target is the same in all these rows, up to rounding."""
        some = self.target if rows is None else self.target.take(rows)
        return bool(np.ptp(some) <= SAME * self.mean_size)

    def squared_errors(self, node, mean):
        """The weighted sum of (target - mean)² in each node, given the node of each row."""
        total = np.zeros(len(mean))
        for part in _row_blocks(len(node)):
            nodes = node[part].astype(np.intp)
            error = self.target[part] - mean.take(nodes)
            error *= error
            if self.weight is not None:
                error *= self.weight[part]
            total += np.bincount(nodes, error, len(mean))
        return total


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
    codes : uint8 or uint16 array of shape (n, p), Fortran order
    n_bins : int
        Codes of values are below this; the others, of missing values, have a bin of their own, the
        last, where `has_missing`.
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
        self.joint = self.all_rows = self.weights = None
        if self.n * self.p <= _JOINT_CODES and not self._takes_builder(self.n):
            columns = np.minimum(codes, n_bins) if has_missing else codes
            first = self.width * np.arange(self.p)
            self.joint = np.add(columns, first, order="C", dtype=np.intp)

    def _takes_builder(self, n):
        is_byte = self.codes.dtype == np.uint8
        return HistogramBuilder is not None and is_byte and n >= _BUILDER_ROWS

    def set_values(self, targets, weights):
        """The values to sum: `GridTargets` and `GridWeights` (None: weights of 1)."""
        kinds = [targets] if weights is None else [targets, weights]
        self.values = self.builders = None
        if self._takes_builder(self.n):
            self._set_builders(kinds)
        if self.builders is None:
            self.values = [kind.integers(slice(None)) for kind in kinds]
            self.totals = [float(values.sum()) for values in self.values]

    def _set_builders(self, kinds):
        if self.all_rows is None:
            self.all_rows = np.arange(self.n, dtype=np.uint32)
        if self.weights is not None and self.weights[0] is kinds[-1]:
            found = [self._builder(kinds[0]), self.weights[1]]
        else:
            found = [self._builder(kind) for kind in kinds]
            # The weights stay the same from round to round.
            self.weights = (kinds[-1], found[-1]) if len(kinds) > 1 else None
        if all(one is not None for one in found):
            self.builders = [builder for builder, _ in found]
            self.totals = [total for _, total in found]

    def _builder(self, kind):
        """scikit-learn's builder and the sum of all values; None for values that are too large.

        The builder sums two single precision numbers in double precision: it is given the value
        rounded, and what the rounding lost.
        """
        high, low = np.empty((2, self.n), np.float32)
        total = 0.0
        for part in _row_blocks(self.n):
            values = kind.integers(part)
            total += float(values.sum())
            some = high[part]
            some[:] = values
            if some.max() > _PAIR or some.min() < -_PAIR:
                return None
            values -= some
            low[part] = values
        builder = HistogramBuilder(self.codes, _BUILDER_BINS, high, low, False, self.n_threads)
        return builder, total

    def total(self):
        """Sums over all rows: target, number of rows, and weight where there are weights."""
        return [self.totals[0], float(self.n), *self.totals[1:]]

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
            # Each column has bins of its own: one count for all.
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
        for values, place in zip(self.values, (0, 2)):
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


def score_of(sums: np.ndarray, l2: float) -> np.ndarray:
    """S² / (W + l2), of sums whose second axis begins with S and ends with W."""
    score: np.ndarray = sums[:, 0] * sums[:, 0] / (sums[:, -1] + l2 if l2 else sums[:, -1])
    return score


def comparable_scores(scores: np.ndarray) -> np.ndarray:
    """Finite scores rounded to 33 bits, so that rounding errors break no tie."""
    above = (2.0**20 + 1) * scores  # Veltkamp's splitting
    rounded: np.ndarray = above - (above - scores)
    return rounded


# --- what a block of rows answers while a tree grows ----------------------------------------------
#
# Targets and weights enter as integers, in units that are the same for all blocks, so that sums
# over rows do not depend on how the rows are cut into blocks.

# Two integers in one have so many bits together, with their sums.
_PACKED_BITS = 62


class GridUnits(NamedTuple):
    """Powers of two that make integers of targets and weights, and the bins of a column.

    Attributes
    ----------
    targets : tuple of K int
        The exponents for the targets of each of K trees.
    weight : int or None
        That for the weights; None where all weights are 1.
    whole : bool
        Whether a row of weight w is exactly the same as w equal rows.
    n_bins : int
        Codes of values are below this.
    has_missing : bool
        Whether there is one more bin, of missing values.
    """

    targets: tuple[int, ...]
    weight: int | None
    whole: bool
    n_bins: int
    has_missing: bool


class IntegerRows(NamedTuple):
    """The integers of the rows of a chunk, for one tree.

    Attributes
    ----------
    values : list of int64 arrays of shape (n,)
        Targets, and then numbers of rows and weights; with one array or more.
    bits : tuple of int
        The lower bits of each of the values count the rows; 0 where they do not, and nothing for
        the loops of NumPy, which count them apart.
    """

    values: list[np.ndarray]
    bits: tuple[int, ...]


Split = tuple[int, int, int | np.ndarray, bool, int, int]


class TreeRequest(NamedTuple):
    """What the growth of a tree asks of each chunk.

    Attributes
    ----------
    splits : list of (node, feature, code, missing_left, left, right)
        Splits of nodes since the last request, parents first. For categories the code is an array
        of 256 truth values: whether each code goes to the left.
    counted : list of int
        Nodes whose sums in bins are asked for.
    ranged : list of int
        Nodes whose least and largest target are asked for.
    """

    splits: list[Split]
    counted: list[int]
    ranged: list[int]


@dataclass
class TreeReply:
    """What chunks answer, which adds up.

    Attributes
    ----------
    sums : int64 array of shape (nodes, 2 or 3, p, bins)
        Targets, numbers of rows and, perhaps, weights.
    ranges : array of shape (nodes, 2)
        Minus the least target, and the largest one.
    """

    sums: np.ndarray
    ranges: np.ndarray

    def __add__(self, other: "TreeReply") -> "TreeReply":
        return TreeReply(self.sums + other.sums, np.maximum(self.ranges, other.ranges))


def integer_rows(
    target: np.ndarray, weight: np.ndarray | None, exponent: int, units: GridUnits
) -> IntegerRows:
    """The integers of the rows; O(n).

    Parameters
    ----------
    target : float array of shape (n,)
    weight : float array of shape (n,) or None
    exponent : int
        The one of `units.targets` for this tree.
    units : GridUnits
    """
    values = target * 2.0**exponent
    if weight is None:
        moments = np.rint(values, out=values).astype(np.int64)
        masses = None
    else:
        values = np.rint(values) * weight if units.whole else np.rint(values * weight)
        moments = values.astype(np.int64)
        assert units.weight is not None
        masses = np.rint(weight * 2.0**units.weight).astype(np.int64)
    if not uses_native():
        return IntegerRows([moments] if masses is None else [moments, masses], ())
    bits = len(target).bit_length()
    counts = moments if masses is None else masses
    size = float(np.abs(counts).sum(dtype=np.float64))
    if size >= 2.0 ** (_PACKED_BITS - bits):
        ones = np.ones(len(target), np.int64)
        return IntegerRows([moments, ones, *([] if masses is None else [masses])], (0, 0, 0))
    # The lower bits of a sum count the rows: two sums at the price of one.
    packed = (counts << bits) + 1
    if masses is None:
        return IntegerRows([packed], (bits,))
    return IntegerRows([moments, packed], (0, bits))


def answered(
    codes: np.ndarray,
    rows: IntegerRows,
    target: np.ndarray,
    node: np.ndarray,
    request: TreeRequest,
    units: GridUnits,
    places: np.ndarray | None = None,
) -> tuple[np.ndarray, TreeReply]:
    """The node of each row after the splits, a new array, and the reply; O(n p) for sums.

    Parameters
    ----------
    codes : uint8 array of shape (n, p), in Fortran order
        Or of more rows, some of which are asked.
    rows : IntegerRows
    target : float array of shape (n,)
    node : integer array of shape (n,)
        The node of each row before the splits.
    request : TreeRequest
    units : GridUnits
    places : int32 array of shape (n,), default=None
        The rows of `codes` that are asked; all by default.
    """
    if request.splits:
        node = after_splits(codes, node, request.splits, places)
    n_kinds = 2 if units.weight is None else 3
    shape = (len(request.counted), n_kinds, codes.shape[1], units.n_bins + units.has_missing)
    sums = np.empty(shape, np.int64)
    for i, out in zip(request.counted, sums):
        own, at = rows.values, places
        if i > 0:
            chosen = np.flatnonzero(node == i).astype(np.int32)
            own = [values.take(chosen) for values in own]
            at = chosen if places is None else places.take(chosen)
        count = _count_compiled if rows.bits else _count
        count(codes, IntegerRows(own, rows.bits), at, units, out)
    ranges = np.full((len(request.ranged), 2), -np.inf)
    for i, pair in zip(request.ranged, ranges):
        some = target[node == i]
        if len(some):
            pair[:] = -some.min(), some.max()
    return node, TreeReply(sums, ranges)


def goes_left(
    column: np.ndarray, code: int | np.ndarray, missing_left: bool, missing: int
) -> np.ndarray:
    """Which codes a split sends to the left."""
    if isinstance(code, np.ndarray):
        return code[np.minimum(column, MISSING)]
    goes: np.ndarray = column <= code
    if missing_left:
        goes |= column == missing
    return goes


def after_splits(
    codes: np.ndarray, node: np.ndarray, splits: Sequence[Split], places: np.ndarray | None = None
) -> np.ndarray:
    """The node of each row after the splits; the arguments are those of `answered`."""
    largest = max((split[5] for split in splits), default=0)
    node = node.astype(np.promote_types(node.dtype, np.min_scalar_type(largest)))
    # Parents come first, so that rows may move down several levels in one request.
    for i, feature, code, missing_left, left, right in splits:
        rows = np.flatnonzero(node == i)
        column = codes[:, feature].take(rows if places is None else places.take(rows))
        goes = goes_left(column, code, missing_left, MISSING)
        node[rows] = np.where(goes, node.dtype.type(left), node.dtype.type(right))
    return node


def _count_compiled(codes, rows, at, units, out):
    from sklearn_ensemble_theory._native.boosted_trees import count_in_bins

    p = codes.shape[1]
    tables = np.empty((len(rows.values), p, MISSING + 1), np.int64)
    for values, table in zip(rows.values, tables):
        count_in_bins(codes.T, at, values, table)
    cells = np.arange(units.n_bins + units.has_missing)
    cells[units.n_bins :] = MISSING
    tables = tables[:, :, cells]
    bits = max(rows.bits)
    if not bits:
        out[:] = tables
        return
    # The last one counts the rows in its lower bits; what is above them belongs to the other kind.
    out[1] = tables[-1] & ((1 << bits) - 1)
    out[0] = tables[0]
    out[0 if len(tables) == 1 else 2] = tables[-1] >> bits


def _count(codes, rows, at, units, out):
    for j in range(codes.shape[1]):
        column = codes[:, j] if at is None else codes[:, j].take(at)
        if units.has_missing:
            column = np.minimum(column, units.n_bins)
        width = out.shape[2]
        out[1, j] = np.bincount(column, minlength=width)
        for values, place in zip(rows.values, (0, 2)):
            # Sums below 2^53 are exact.
            out[place, j] = np.bincount(column, values.astype(np.float64), width)
