"""Exact sums of targets and weights in the bins of all columns, of rows in blocks (`answered`).

Targets and weights enter as integers, in units that are the same for all blocks, so that sums over
rows do not depend on how the rows are cut into blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._native.boosted_trees import count_in_bins
from sklearn_ensemble_theory.trees._columns import MISSING

# Targets that differ by less than this share of their mean size are equal.
SAME = 2.0**-36
# Two integers in one have so many bits together, with their sums.
_PACKED_BITS = 62


def score_of(sums: np.ndarray, l2: float) -> np.ndarray:
    """S² / (W + l2), of sums whose second axis begins with S and ends with W."""
    score: np.ndarray = sums[:, 0] * sums[:, 0] / (sums[:, -1] + l2 if l2 else sums[:, -1])
    return score


def comparable_scores(scores: np.ndarray) -> np.ndarray:
    """Finite scores rounded to 33 bits, so that rounding errors break no tie."""
    above = (2.0**20 + 1) * scores  # Veltkamp's splitting
    rounded: np.ndarray = above - (above - scores)
    return rounded


class GridUnits(NamedTuple):
    """Powers of two that make integers of targets and weights, and the bins of a column.

    `targets` are the exponents for each of K trees, `weights` those for their weights, None where
    all are 1. `whole`: a row of weight w is exactly the same as w equal rows. Codes of values are
    below `n_bins`; `has_missing` adds one more bin.
    """

    targets: tuple[int, ...]
    weights: tuple[int, ...] | None
    whole: bool
    n_bins: int
    has_missing: bool


class IntegerRows(NamedTuple):
    """The integers of the rows of a chunk, for one tree.

    `values` are int64 arrays (n,): targets, and then numbers of rows and weights, with one array or
    more. The lower `bits` of each of them count the rows; 0 where they do not.
    """

    values: list[np.ndarray]
    bits: tuple[int, ...]


Split = tuple[int, int, int | np.ndarray, bool, int, int]


class TreeRequest(NamedTuple):
    """What the growth of a tree asks of each chunk.

    `splits` are (node, feature, code, missing_left, left, right) of nodes since the last request,
    parents first. For categories the code is an array of 256 truth values: whether each code goes
    to the left. Nodes are `counted` whose sums in bins, and `ranged` whose least and largest
    target, are asked for.
    """

    splits: list[Split]
    counted: list[int]
    ranged: list[int]


@dataclass
class TreeReply:
    """What chunks answer, which adds up.

    `sums`, (nodes, 2 or 3, p, bins), are of targets, numbers of rows and, perhaps, weights;
    `ranges`, (nodes, 2), are minus the least target, and the largest one.
    """

    sums: np.ndarray
    ranges: np.ndarray

    def __add__(self, other: "TreeReply") -> "TreeReply":
        return TreeReply(self.sums + other.sums, np.maximum(self.ranges, other.ranges))


def integer_rows(
    target: np.ndarray, weight: np.ndarray | None, tree: int, units: GridUnits
) -> IntegerRows:
    """The integers of the rows for the tree of this number, in O(n)."""
    values = target * 2.0 ** units.targets[tree]
    if weight is None:
        moments = np.rint(values, out=values).astype(np.int64)
        masses = None
    else:
        values = np.rint(values) * weight if units.whole else np.rint(values * weight)
        moments = values.astype(np.int64)
        assert units.weights is not None
        masses = np.rint(weight * 2.0 ** units.weights[tree]).astype(np.int64)
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
    """The node of each row after the splits, a new array, and the reply; O(n p) for sums."""
    if request.splits:
        node = after_splits(codes, node, request.splits, places)
    n_kinds = 2 if units.weights is None else 3
    shape = (len(request.counted), n_kinds, codes.shape[1], units.n_bins + units.has_missing)
    sums = np.empty(shape, np.int64)
    for i, out in zip(request.counted, sums):
        own, at = rows.values, places
        if i > 0:
            chosen = np.flatnonzero(node == i).astype(np.int32)
            own = [values.take(chosen) for values in own]
            at = chosen if places is None else places.take(chosen)
        _count(codes, IntegerRows(own, rows.bits), at, units, out)
    ranges = np.full((len(request.ranged), 2), -np.inf)
    for i, pair in zip(request.ranged, ranges):
        some = target[node == i]
        if len(some):
            pair[:] = -some.min(), some.max()
    return node, TreeReply(sums, ranges)


def goes_left(
    column: np.ndarray, code: int | np.ndarray, missing_left: bool, missing: int
) -> np.ndarray:
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


def _count(codes, rows, at, units, out):
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
