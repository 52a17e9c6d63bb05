"""Exact sums of targets and weights in the bins of all columns, of rows in blocks.

Targets and weights enter as integers, in units that are the same for all blocks, so that sums over
rows do not depend on how the rows are cut into blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._native.block_passes import RowTargets, follow_splits
from sklearn_ensemble_theory.trees._columns import MISSING

# Targets that differ by less than this share of their mean size are equal.
SAME = 2.0**-36
# What `RowTargets.count` counts: two sums in one integer, or each in its own.
_PACKED_TARGETS, _PACKED_WEIGHTS, _TARGETS, _WEIGHTS = range(4)
# Tables of nodes are filled together up to so many bytes.
_MOST_BYTES = 2**25
_EVERY_CODE = np.arange(MISSING + 1, dtype=np.uint8)


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


Split = tuple[int, int, int | np.ndarray, bool, int, int]


class TreeRequest(NamedTuple):
    """What the growth of a tree asks of each chunk.

    `splits` are (node, feature, code, missing_left, left, right) of nodes since the last request,
    parents first. For categories the code is an array of 256 truth values: whether each code goes
    to the left. The last ones may send children back: both of their children are their parent.
    Nodes are `counted` whose sums in bins, and `ranged` whose least and largest target, are asked
    for.
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


def given_targets(target: np.ndarray, weight: np.ndarray | None) -> RowTargets:
    """Targets that are known, with the weights of the rows."""
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    return RowTargets(None, None, None, np.ascontiguousarray(target, dtype=np.float64), weight)


def counted_nodes(
    codes: np.ndarray,
    rows: RowTargets,
    node: np.ndarray,
    counted: Sequence[int],
    tree: int,
    units: GridUnits,
    places: np.ndarray | None = None,
) -> np.ndarray:
    """The sums of a `TreeReply` over the rows of some nodes; O(n p) for all of them.

    - codes: uint8 (m, p), column after column.
    - node: that of each row.
    - tree: the number of the tree among the units.
    - places: the rows of the codes, int32 (n,); None for all.
    """
    n_kinds, p = 2 if units.weights is None else 3, codes.shape[1]
    cells = _EVERY_CODE[: units.n_bins + units.has_missing].astype(np.intp)
    cells[units.n_bins :] = MISSING
    sums = np.empty((len(counted), n_kinds, p, len(cells)), np.int64)
    size = max(1, _MOST_BYTES // (p * 16 * (MISSING + 1)))
    for first in range(0, len(counted), size):
        part = slice(first, first + size)
        slot = _by_node(node, -1)
        slot[list(counted[part])] = range(len(counted[part]))
        _count(codes.T, rows, node, slot, tree, units, places, cells, sums[part])
    return sums


def _by_node(node: np.ndarray, value: int) -> np.ndarray:
    """A number for each node of the type of `node`."""
    return np.full(256 ** min(node.itemsize, 2), value, np.int16)


def _count(codes, rows, node, slot, tree, units, places, cells, out):
    shape, n_bits = (len(out), len(codes), MISSING + 1), rows.n.bit_length()
    scale, weight_scale = 2.0 ** units.targets[tree], 1.0
    if units.weights is not None:
        weight_scale = 2.0 ** units.weights[tree]

    def tables(mode: int, bits: int = 0) -> np.ndarray | None:
        found = np.empty((*shape, 1 if mode == _PACKED_TARGETS else 2), np.int64)
        given = codes, places, node, slot, scale, weight_scale, units.whole
        return found[:, :, cells] if rows.count(*given, mode, bits, found) else None

    # The lower bits of a sum count the rows: two sums at the price of one.
    packed = tables(_PACKED_TARGETS if units.weights is None else _PACKED_WEIGHTS, n_bits)
    if packed is not None:
        out[:, 1] = packed[..., -1] & ((1 << n_bits) - 1)
        out[:, 0] = packed[..., 0]
        out[:, 0 if units.weights is None else 2] = packed[..., -1] >> n_bits
        return
    out[:, 0], out[:, 1] = np.moveaxis(tables(_TARGETS), -1, 0)
    if units.weights is not None:
        out[:, 2] = tables(_WEIGHTS)[..., 0]


def ranges_of_nodes(target: np.ndarray, node: np.ndarray, ranged: Sequence[int]) -> np.ndarray:
    """The ranges of a `TreeReply`."""
    ranges = np.full((len(ranged), 2), -np.inf)
    for i, pair in zip(ranged, ranges):
        some = target[node == i]
        if len(some):
            pair[:] = -some.min(), some.max()
    return ranges


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
    """The node of each row after the splits, a new array; O(n) for each.

    Codes and places are those of `counted_nodes`.
    """
    largest = max((split[5] for split in splits), default=0)
    node = node.astype(np.promote_types(node.dtype, np.min_scalar_type(largest)))
    # Children that go back to their parent come last.
    n_down = sum(left != right for _, _, _, _, left, right in splits)
    for part in (splits[:n_down], splits[n_down:]):
        if part:
            _follow(codes, node, part, places)
    return node


def _follow(codes, node, splits, places):
    goes_right = [
        ~goes_left(_EVERY_CODE, code, missing_left, MISSING)
        for _, _, code, missing_left, _, _ in splits
    ]
    follow_splits(
        codes.T,
        places,
        node,
        np.array([split[0] for split in splits], np.uint16),
        np.array([split[1] for split in splits], np.int32),
        np.array(goes_right, bool).reshape(-1, MISSING + 1).view(np.uint8),
        np.array([split[4:] for split in splits], np.uint16).reshape(-1, 2),
    )
