"""The growth of a tree from the sums of chunks of rows, without the rows."""

from collections.abc import Generator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory.trees._binned._chunks.chunk_counts import TreeReply, TreeRequest
from sklearn_ensemble_theory.trees._binned.bin_sums import SAME
from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._binned.compiled_growth import thresholds_of
from sklearn_ensemble_theory.trees._binned.growth_options import GrowthOptions
from sklearn_ensemble_theory.trees._binned.histogram_growth import HistogramGrowth, NodeSplit
from sklearn_ensemble_theory.trees._binned.tree_arrays import LEAF, TreeArrays

__all__ = ["ChunkedGrowth", "Grid", "sum_bits"]

# So many nodes are searched together.
_GROUP = 16
# Only a gain below this share of the score can be one between equal targets.
_SUSPICIOUS = 1e-11
Requests = Generator[TreeRequest, TreeReply, None]


def sum_bits(n_rows: int) -> int:
    """The bits of sums over all rows: with the number of rows they mostly fit into 62."""
    return int(np.clip(62 - n_rows.bit_length(), 46, 52))


class Grid(NamedTuple):
    """Integers are values times 2^exponent; `mean_size` is the mean of the values' sizes."""

    exponent: int
    mean_size: float = 0.0


class _Bins(NamedTuple):
    n_bins: int
    width: int
    p: int


class _Settings(NamedTuple):
    """What the growth reads of a grower."""

    options: GrowthOptions
    order: np.ndarray
    constraints: np.ndarray
    constrained: bool
    seed: int = 0


class ChunkedGrowth(HistogramGrowth):
    """One tree while it grows: a level, or with `max_leaf_nodes` a split, for each request.

    Parameters
    ----------
    columns : BinnedColumns
        Without rows.
    options : GrowthOptions
        With the squared error, and without `max_features`.
    rank : int array of shape (p,)
        Of equally good splits the one of the feature of the lowest rank is taken.
    targets : Grid
    weights : Grid or None
    """

    def __init__(
        self,
        columns: BinnedColumns,
        options: GrowthOptions,
        rank: np.ndarray,
        targets: Grid,
        weights: Grid | None,
    ) -> None:
        constraints = options.constraints(columns.n_features)
        settings: Any = _Settings(options, np.argsort(rank), constraints, bool(constraints.any()))
        n_bins = int(columns.n_bins.max())
        bins: Any = _Bins(n_bins, n_bins + bool(columns.has_missing.any()), columns.n_features)
        grids: Any = targets, weights
        super().__init__(settings, columns, bins, *grids)
        self.splits: list[tuple[int, int, int, bool, int, int]] = []
        self.doubtful: list[int] = []

    # --- requests -------------------------------------------------------------------------

    def requests(self) -> Requests:
        """What is asked of the chunks, one after the other; the last request has no answer."""
        sums = (yield self.request(counted=[0])).sums.astype(np.float64)
        # Every feature has all rows in its bins.
        self.add(sums[0, :, 0].sum(axis=-1).tolist(), LEAF, (-np.inf, np.inf))
        if self.may_split(0):
            yield from self.by_gain(sums) if self.options.max_leaf_nodes else self.by_level(sums)

    def request(self, counted: Sequence[int] = (), ranged: Sequence[int] = ()) -> TreeRequest:
        """The request, with the splits since the last one."""
        splits, self.splits = self.splits, []
        return TreeRequest(splits, list(counted), list(ranged))

    def by_level(self, sums: np.ndarray) -> Requests:
        ids = [0]
        while ids:
            found = yield from self.found_splits(ids, sums)
            pairs = [self.split(i, split) for i, split in zip(ids, found) if split is not None]
            parents = [table for table, split in zip(sums, found) if split is not None]
            ids, sums = yield from self.opened(pairs, parents)

    def by_gain(self, sums: np.ndarray) -> Requests:
        heap: list[tuple[float, int, NodeSplit, np.ndarray]] = []
        ids, n_leaves = [0], 1
        while True:
            found = yield from self.found_splits(ids, sums)
            for i, split, table in zip(ids, found, sums):
                if split is not None:
                    heappush(heap, (-split.gain, i, split, table))
            if not heap:
                return
            _, i, best, table = heappop(heap)
            pair = self.split(i, best)
            n_leaves += 1
            if n_leaves == self.options.max_leaf_nodes:
                return
            ids, sums = yield from self.opened([pair], [table])

    def opened(
        self, pairs: list[tuple[int, int]], parents: list[np.ndarray]
    ) -> Generator[TreeRequest, TreeReply, tuple[list[int], np.ndarray]]:
        """The children that may be split, and their sums; the smaller of two is counted."""
        families = []
        for (left, right), parent in zip(pairs, parents):
            if self.may_split(left) or self.may_split(right):
                small = left if self.is_smaller(left, right) else right
                families.append((small, left, right, parent))
        if not families:
            return [], np.empty(0)
        reply = yield self.request(counted=[family[0] for family in families])
        ids, tables = [], []
        for (small, left, right, parent), counted in zip(families, reply.sums):
            for i in (left, right):
                if self.may_split(i):
                    ids.append(i)
                    tables.append(counted if i == small else parent - counted)
        return ids, np.array(tables, dtype=np.float64)

    def found_splits(
        self, ids: list[int], sums: np.ndarray
    ) -> Generator[TreeRequest, TreeReply, list[NodeSplit | None]]:
        """The best split of each node, None where there is none."""
        self.doubtful = []
        found: list[NodeSplit | None] = []
        with np.errstate(divide="ignore", invalid="ignore"):
            for first in range(0, len(ids), _GROUP):
                part = slice(first, first + _GROUP)
                found += self.search(ids[part], sums[part])
        if self.doubtful:
            reply = yield self.request(ranged=self.doubtful)
            spread = reply.ranges.sum(axis=1)
            for i, width in zip(self.doubtful, spread):
                if width <= SAME * self.targets.mean_size:
                    found[ids.index(i)] = None
        return found

    def is_worth(self, i: int, size: float, parent: float) -> bool:
        units = self.value_unit**2 * self.weight_unit
        least = self.options.min_impurity_decrease * self.totals[0][-1] * self.weight_unit
        if (size - parent + 1e-15 * size) * units < least:
            return False
        if not size - parent > _SUSPICIOUS * size:
            self.doubtful.append(i)
        return True

    def divide(self, i: int, left: int, right: int) -> None:
        place = self.feature[i], self.code[i], self.missing_left[i]
        self.splits.append((i, *place, left, right))

    # --- the result -----------------------------------------------------------------------

    def tree(self, moments: np.ndarray) -> tuple[TreeArrays, np.ndarray]:
        """The tree, and the number in it of each node as chunks know it.

        Parameters
        ----------
        moments : array of shape (nodes, 3)
            Sums of weights, of targets and of their squares in each leaf, as chunks number them.
        """
        moments = moments.copy()
        left, right = np.array(self.left), np.array(self.right)
        for i in np.flatnonzero(left != LEAF)[::-1].tolist():
            moments[i] = moments[left[i]] + moments[right[i]]
        m = len(left)
        order = np.arange(m) if self.options.max_leaf_nodes else self.preorder()
        number = np.empty(m + 1, dtype=np.int32)
        number[order], number[LEAF] = np.arange(m), LEAF
        inner = left[order] != LEAF
        feature, code = np.array(self.feature, np.int32)[order], np.array(self.code)[order]
        threshold = np.full(m, -2.0)
        threshold[inner] = thresholds_of(self.columns, feature[inner], code[inner])
        weight, moment, square = moments[order].T
        mean = moment / weight
        l2, bounds = self.options.l2_regularization, np.array(self.bounds)[order]
        value = np.clip(moment / (weight + l2), *(bounds.T * self.value_unit))
        tree = TreeArrays(
            left=number[left[order]],
            right=number[right[order]],
            feature=feature,
            code=code.astype(np.int16),
            threshold=threshold,
            missing_left=np.array(self.missing_left, dtype=np.uint8)[order],
            impurity=np.maximum(square / weight - mean * mean, 0.0),
            n_rows=np.array(self.totals)[order, 1].astype(np.int64),
            weight=weight,
            value=value[:, None],
            depth=max(self.depth),
        )
        return tree, number[:-1]
