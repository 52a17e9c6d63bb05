"""What a chunk of rows computes while a tree grows: nodes of rows, and sums in bins.

Targets and weights enter as integers, in units that are the same for all chunks, so that sums over
rows do not depend on how the rows are cut into chunks.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.trees._binned.columns import MISSING

__all__ = ["GridUnits", "IntegerRows", "TreeReply", "TreeRequest", "answered", "integer_rows"]

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
        The lower bits of each of the values count the rows; 0 where they do not.
    """

    values: list[np.ndarray]
    bits: tuple[int, ...]


class TreeRequest(NamedTuple):
    """What the growth of a tree asks of each chunk.

    Attributes
    ----------
    splits : list of (node, feature, code, missing_left, left, right)
        Splits of nodes since the last request, parents first.
    counted : list of int
        Nodes whose sums in bins are asked for.
    ranged : list of int
        Nodes whose least and largest target are asked for.
    """

    splits: list[tuple[int, int, int, bool, int, int]]
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
    if not uses_numba():
        return IntegerRows([moments] if masses is None else [moments, masses], (0, 0))
    bits = len(target).bit_length()
    counts = moments if masses is None else masses
    size = float(np.abs(counts).sum(dtype=np.float64))
    if size >= 2.0 ** (_PACKED_BITS - bits):
        ones = np.ones(len(target), np.int64)
        return IntegerRows([moments, ones, *([] if masses is None else [masses])], (0, 0, 0))
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
) -> tuple[np.ndarray, TreeReply]:
    """The node of each row after the splits, a new array, and the reply; O(n p) for sums.

    Parameters
    ----------
    codes : uint8 array of shape (n, p), in Fortran order
    rows : IntegerRows
    target : float array of shape (n,)
    node : integer array of shape (n,)
        The node of each row before the splits.
    request : TreeRequest
    units : GridUnits
    """
    if request.splits:
        node = _after_splits(codes, node, request.splits)
    n_kinds = 2 if units.weight is None else 3
    shape = (len(request.counted), n_kinds, codes.shape[1], units.n_bins + units.has_missing)
    sums = np.empty(shape, np.int64)
    for i, out in zip(request.counted, sums):
        chosen = None if i == 0 else np.flatnonzero(node == i).astype(np.int32)
        if uses_numba():
            _count_compiled(codes, rows, chosen, units, out)
        else:
            _count(codes, rows, chosen, units, out)
    ranges = np.full((len(request.ranged), 2), -np.inf)
    for i, pair in zip(request.ranged, ranges):
        some = target[node == i]
        if len(some):
            pair[:] = -some.min(), some.max()
    return node, TreeReply(sums, ranges)


def _after_splits(codes, node, splits):
    largest = max(split[5] for split in splits)
    node = node.astype(np.promote_types(node.dtype, np.min_scalar_type(largest)))
    for i, feature, code, missing_left, left, right in splits:
        rows = np.flatnonzero(node == i)
        column = codes[:, feature].take(rows)
        goes = column <= code
        if missing_left:
            goes |= column == MISSING
        node[rows] = np.where(goes, node.dtype.type(left), node.dtype.type(right))
    return node


def _count_compiled(codes, rows, chosen, units, out):
    from sklearn_ensemble_theory._hot_loops._growth.histogram_loops import count_all, count_rows

    p = codes.shape[1]
    tables = np.empty((len(rows.values), p, MISSING + 1), np.int64)
    for values, table in zip(rows.values, tables):
        if chosen is None:
            count_all(codes.T, values, table, 0, p)
        else:
            count_rows(codes.T, chosen, values.take(chosen), table, 0, p)
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


def _count(codes, rows, chosen, units, out):
    for j in range(codes.shape[1]):
        column = codes[:, j] if chosen is None else codes[:, j].take(chosen)
        if units.has_missing:
            column = np.minimum(column, units.n_bins)
        width = out.shape[2]
        out[1, j] = np.bincount(column, minlength=width)
        for values, place in zip(rows.values, (0, 2)):
            values = values if chosen is None else values.take(chosen)
            # Sums below 2^53 are exact.
            out[place, j] = np.bincount(column, values.astype(np.float64), width)
