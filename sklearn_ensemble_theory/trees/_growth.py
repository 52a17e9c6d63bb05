"""Growth of regression trees by histograms, with NumPy and scikit-learn's histogram builder.

The route of `growth.histogram_grower` without numba. The sums of targets and weights are exact
(`bin_sums`), so that another route that computes the same gains,

    S_left² / (W_left + l2) + S_right² / (W_right + l2),

finds the same splits. Ties, up to rounding, go to the feature of the lowest rank, to missing values
on the right, to the lowest code; among the leaves to be split next, to the one that is older.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._scaling import mean_from_first, within_range
from sklearn_ensemble_theory.trees import _compiled_growth, _sklearn_trees
from sklearn_ensemble_theory.trees._columns import BinnedColumns
from sklearn_ensemble_theory.trees._compiled_growth import thresholds_of
from sklearn_ensemble_theory.trees._histograms import (
    SAME,
    BinSums,
    GridTargets,
    GridWeights,
    TreeReply,
    TreeRequest,
    comparable_scores,
    score_of,
)
from sklearn_ensemble_theory.trees._options import GrowthOptions
from sklearn_ensemble_theory.trees._tree_arrays import LEAF, NO_FEATURE, TreeArrays

# So many nodes are searched together: fewer calls, and not much memory.
_GROUP = 16
# A gain is the difference of sums with this relative error.
_ROUNDING = 1e-15
# Only a gain below this share of the sums can be one between equal targets.
_SUSPICIOUS = 1e-11
# The rows of a node are a mask over all rows while they are at least this share of them.
_MASK_SHARE = 1 / 32


class NumpyHistogramGrower:
    """Grows trees on the same columns again and again (see `growth.HistogramGrower`).

    Parameters
    ----------
    columns : BinnedColumns
    options : GrowthOptions
        With the squared error.
    n_threads : int, default=1
        For the histograms.
    """

    def __init__(self, columns: BinnedColumns, options: GrowthOptions, n_threads: int = 1) -> None:
        self.columns, self.options, self.n_threads = columns, options, n_threads
        self.constraints = options.constraints(columns.n_features)
        self.constrained = bool(self.constraints.any())
        self._weights: GridWeights | None = None
        self._sums: BinSums | None = None

    def grow(
        self,
        gradient: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int | None = None,
        rank: np.ndarray | None = None,
    ) -> tuple[TreeArrays, np.ndarray]:
        """A tree and the leaf of every row; O(n p) for each level of the tree."""
        self.seed = self.options.seed if seed is None else seed
        self.order = np.arange(self.columns.n_features) if rank is None else np.argsort(rank)
        if rows is not None:
            columns = self.columns.take_rows(rows)
            weights = None if weight is None else GridWeights(weight[rows])
            sums = _sums_of(columns, self.n_threads)
            tree, _ = self._grown(columns, sums, gradient[rows], weights)
            return tree, tree.leaves(self.columns)
        if self._sums is None:
            self._sums = _sums_of(self.columns, self.n_threads)
        if weight is None:
            self._weights = None
        elif self._weights is None or self._weights.weight is not weight:
            self._weights = GridWeights(weight)
        return self._grown(self.columns, self._sums, gradient, self._weights)

    def _grown(self, columns, sums, gradient, weights):
        targets = GridTargets(gradient, weights)
        sums.set_values(targets, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            return HistogramGrowth(self, columns, sums, targets, weights).result()


def _sums_of(columns: BinnedColumns, n_threads: int) -> BinSums:
    n_bins, has_missing = int(columns.n_bins.max()), bool(columns.has_missing.any())
    return BinSums(columns.codes, n_bins, has_missing, n_threads)


class NodeSplit(NamedTuple):
    gain: float  # what the split gains, above 0 up to rounding
    feature: int
    code: int
    missing_left: bool
    left: list[float]  # sums of the target, rows and weights on the left


class HistogramGrowth:
    """One tree while it grows; its sums are in units of the grids of targets and weights."""

    def __init__(
        self,
        grower: NumpyHistogramGrower,
        columns: BinnedColumns,
        sums: BinSums,
        targets: GridTargets,
        weights: GridWeights | None,
    ) -> None:
        self.options, self.columns, self.sums = grower.options, columns, sums
        self.targets, self.weights, self.order = targets, weights, grower.order
        self.constraints = grower.constraints if grower.constrained else None
        self.weight_unit = weight_unit = 1.0 if weights is None else 2.0**-weights.exponent
        self.value_unit = 2.0**-targets.exponent / weight_unit
        self.l2 = (options := self.options).l2_regularization / weight_unit
        # On the grid a weight can vanish.
        least = 0.0 if weights is None else 1.0
        self.least_weight = max(options.min_weight_leaf / weight_unit * (1 - _ROUNDING), least)
        self.left: list[int] = []
        self.right: list[int] = []
        self.feature: list[int] = []
        self.code: list[int] = []
        self.missing_left: list[bool] = []
        self.totals: list[list[float]] = []  # of the target, of rows and, perhaps, of weights
        self.depth: list[int] = []
        self.bounds: list[tuple[float, float]] = []
        self.rows: dict[int, Any] = {}  # of the leaves
        self.parents: list[int] = []
        self.draws: FeatureDraws | None = None
        if options.max_features:
            self.draws = FeatureDraws(grower.seed, options.max_features, columns.n_features)

    # --- the tree -------------------------------------------------------------------------

    def result(self) -> tuple[TreeArrays, np.ndarray]:
        root = self.add(self.sums.total(), LEAF, (-np.inf, np.inf))
        self.rows[root] = None
        if self.may_split(root):
            grow = self.best_first if self.options.max_leaf_nodes else self.depth_first
            grow(self.histograms([root], [None]))
        order = np.arange(len(self.left)) if self.options.max_leaf_nodes else self.preorder()
        return self.arrays(order)

    def add(self, totals: list[float], parent: int, bounds: tuple[float, float]) -> int:
        self.left.append(LEAF)
        self.right.append(LEAF)
        self.feature.append(NO_FEATURE)
        self.code.append(NO_FEATURE)
        self.missing_left.append(False)
        self.totals.append(totals)
        self.depth.append(0 if parent == LEAF else self.depth[parent] + 1)
        self.parents.append(parent)
        self.bounds.append(bounds)
        return len(self.left) - 1

    def may_split(self, i: int) -> bool:
        options, n_rows = self.options, self.totals[i][1]
        return (
            self.depth[i] < options.max_depth
            and n_rows >= max(options.min_samples_split, 2 * options.min_samples_leaf)
            and self.totals[i][-1] >= 2 * self.least_weight
        )

    def depth_first(self, sums: np.ndarray) -> None:
        size = _GROUP if self.draws is None else 1
        stack = [([0], sums)]
        while stack:
            ids, sums = stack.pop()
            found = self.search(ids, sums)
            children, parents = [], []
            for i, split, table in zip(ids, found, sums):
                if split is not None:
                    children.append(self.split(i, split))
                    parents.append(table)
            stack.extend(reversed(list(self.open_groups(children, parents, size))))

    def best_first(self, sums: np.ndarray) -> None:
        n_leaves, waiting = 1, [([0], sums)]
        heap: list[tuple[float, int, NodeSplit, np.ndarray]] = []
        while True:
            for ids, tables in waiting:
                for i, split, table in zip(ids, self.search(ids, tables), tables):
                    if split is not None:
                        heappush(heap, (-split.gain, i, split, table))
            if not heap:
                return
            _, i, split, table = heappop(heap)
            pair = self.split(i, split)
            n_leaves += 1
            if n_leaves == self.options.max_leaf_nodes:
                return
            waiting = list(self.open_groups([pair], [table], 2 if self.draws is None else 1))

    def open_groups(
        self, pairs: list[tuple[int, int]], parents: list[np.ndarray], size: int
    ) -> Iterator[tuple[list[int], np.ndarray]]:
        """The children that may be split, in groups, with their histograms."""
        ids: list[int] = []
        above: list[Any] = []
        for pair, parent in zip(pairs, parents):
            for i, sibling in (pair, pair[::-1]):
                if self.may_split(i):
                    ids.append(i)
                    above.append((sibling, parent))
        if ids:
            sums = self.histograms(ids, above)
            for first in range(0, len(ids), size):
                part = slice(first, first + size)
                # A part of an array would keep all of it.
                yield ids[part], sums if len(ids) <= size else sums[part].copy()

    def histograms(self, ids: list[int], above: list[Any]) -> np.ndarray:
        """The sums in all bins for each of these nodes, of shape (nodes, 2 or 3, p, bins).

        Of two siblings the smaller is summed, the other is what remains of their parent.
        """
        n_kinds = 2 if self.weights is None else 3
        out = np.empty((len(ids), n_kinds, self.sums.p, self.sums.width))
        place = {i: at for at, i in enumerate(ids)}
        remaining = []
        for at, (i, family) in enumerate(zip(ids, above)):
            if family is None or self.is_smaller(i, family[0]):
                self.sums.of(self.indices(i), out[at])
            else:
                remaining.append((at, *family))
        for at, sibling, parent in remaining:
            if sibling in place:
                np.subtract(parent, out[place[sibling]], out=out[at])
            else:
                self.sums.of(self.indices(sibling), out[at])
                np.subtract(parent, out[at], out=out[at])
        return out

    def is_smaller(self, i: int, sibling: int) -> bool:
        return (self.totals[i][1], i) < (self.totals[sibling][1], sibling)

    # --- rows -----------------------------------------------------------------------------

    def indices(self, i: int) -> Any:
        """The rows of a node; None for all."""
        rows = self.rows[i]
        return rows if rows is None or rows.dtype != bool else np.flatnonzero(rows)

    def split(self, i: int, split: NodeSplit) -> tuple[int, int]:
        """Make two children of a leaf, and divide its rows."""
        totals = self.totals[i]
        left_totals = split.left
        right_totals = [a - b for a, b in zip(totals, left_totals)]
        left_bounds = right_bounds = low, high = self.bounds[i]
        if self.constraints is not None and self.constraints[split.feature]:
            middle = (self.mean(left_totals) + self.mean(right_totals)) / 2
            left_bounds, right_bounds = (low, middle), (middle, high)
            if self.constraints[split.feature] < 0:
                left_bounds, right_bounds = right_bounds, left_bounds
        left = self.add(left_totals, i, left_bounds)
        right = self.add(right_totals, i, right_bounds)
        self.left[i], self.right[i] = left, right
        self.feature[i], self.code[i] = split.feature, split.code
        self.missing_left[i] = split.missing_left
        self.divide(i, left, right)
        return left, right

    def divide(self, i: int, left: int, right: int) -> None:
        rows = self.rows.pop(i)
        column = self.columns.codes[:, self.feature[i]]
        if rows is not None and rows.dtype != bool:
            column = column.take(rows)
        goes = column <= self.code[i]
        if self.missing_left[i] and self.columns.has_missing[self.feature[i]]:
            goes |= column == self.columns.missing
        if rows is None:
            self.rows[left], self.rows[right] = goes, ~goes
        elif rows.dtype != bool:
            self.rows[left], self.rows[right] = rows[goes], rows[~goes]
        else:
            self.rows[left], self.rows[right] = rows & goes, rows > goes
        for child in (left, right):
            few = self.totals[child][1] < _MASK_SHARE * len(goes)
            if few and rows is not None and rows.dtype == bool and self.may_split(child):
                self.rows[child] = np.flatnonzero(self.rows[child])

    # --- search ---------------------------------------------------------------------------

    def search(self, ids: list[int], sums: np.ndarray) -> list[NodeSplit | None]:
        """The best split of each node, None where there is none."""
        allowed = None
        if self.draws is not None:
            (i,) = ids
            if self.targets.all_equal(self.indices(i)):
                return [None]
            # scikit-learn forgets where it grows best first.
            parent = LEAF if self.options.max_leaf_nodes else self.parents[i]
            allowed = self.draws.features(i, parent, *self.occupied(sums[0, 1]))
        n_bins = self.sums.n_bins
        # Axes: node, kind of sum, feature, direction of the missing values, bin.
        left = np.cumsum(sums[..., :n_bins], axis=-1)[:, :, :, None]
        if self.sums.width > n_bins:
            left = np.concatenate([left, left + sums[..., None, n_bins:]], axis=3)
        total = np.array([self.totals[i] for i in ids])
        right = total[:, :, None, None, None] - left
        gain = self.gains(ids, left, right)
        if allowed is not None:
            gain[0, ~allowed] = -np.inf
        flat = gain[:, self.order].reshape(len(ids), -1)
        best = flat.argmax(axis=1)
        allowed_at = flat[np.arange(len(ids)), best] > -np.inf
        place_in_order, direction, cell = np.unravel_index(best, gain.shape[1:])
        feature = self.order[place_in_order]
        left = left[np.arange(len(ids)), :, feature, direction, cell]
        size_of = score_of(left, self.l2) + score_of(total - left, self.l2)
        parent = score_of(total, self.l2)
        found: list[NodeSplit | None] = []
        for at, i in enumerate(ids):
            place = int(feature[at]), int(direction[at]), int(cell[at])
            size = float(size_of[at])
            if not allowed_at[at] or not self.is_worth(i, size, float(parent[at])):
                found.append(None)
                continue
            split_gain = size - float(parent[at])
            counts = sums[at, 1, place[0]]
            found.append(self.described(split_gain, place, counts, left[at].tolist()))
        return found

    def occupied(self, counts: np.ndarray) -> tuple[np.ndarray, Any]:
        """In how many bins each feature has values, and whether it has missing ones."""
        n_bins = self.sums.n_bins
        return np.count_nonzero(counts[:, :n_bins], axis=1), counts[:, n_bins:].any(axis=1)

    def gains(self, ids: list[int], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The scores on both sides, rounded for comparisons; -inf for cuts that are not allowed."""
        n_rows = self.options.min_samples_leaf
        forbidden = np.minimum(left[:, 1], right[:, 1]) < n_rows
        if self.least_weight > 0:
            forbidden |= np.minimum(left[:, -1], right[:, -1]) < self.least_weight
        if self.constraints is not None:
            means = below, above = [s[:, 0] / (s[:, -1] + self.l2) for s in (left, right)]
            low, high = np.array([self.bounds[i] for i in ids]).T[:, :, None, None, None]
            forbidden |= (below - above) * self.constraints[:, None, None] > 0
            for mean in means:
                outside = (mean < low) | (mean > high)
                forbidden |= outside & (self.constraints[:, None, None] != 0)
            # Missing values alone are on the right.
            forbidden[:, :, 1:] |= left[:, 1, :, :1] == 0
        gain = comparable_scores(score_of(left, self.l2) + score_of(right, self.l2))
        gain[forbidden] = -np.inf
        return gain

    def is_worth(self, i: int, size: float, parent: float) -> bool:
        """Whether the node is split, by the sums after and before."""
        units = self.value_unit**2 * self.weight_unit
        least = self.options.min_impurity_decrease * self.totals[0][-1] * self.weight_unit
        if (size - parent + _ROUNDING * size) * units < least:
            return False
        return size - parent > _SUSPICIOUS * size or not self.targets.all_equal(self.indices(i))

    def described(
        self, gain: float, place: tuple[int, int, int], counts: np.ndarray, left: list[float]
    ) -> NodeSplit:
        """The split after a bin: the cut is in the middle of the gap to the next occupied bin."""
        feature, direction, cell = place
        n_bins = self.sums.n_bins
        missing = counts[n_bins] if self.sums.width > n_bins else 0.0
        after = counts[cell + 1 : n_bins].nonzero()[0]
        # Cuts above the highest code leave only missing values on the right.
        all_values = self.columns.missing - 1
        code = cell + (1 + int(after[0])) // 2 if len(after) else all_values
        # Where no value is missing, a missing one will go where most rows go.
        missing_left = bool(direction) if missing else 2 * left[1] > counts.sum()
        return NodeSplit(gain, feature, code, missing_left, left)

    def mean(self, totals: list[float]) -> float:
        return totals[0] / (totals[-1] + self.l2)

    # --- the result -----------------------------------------------------------------------

    def preorder(self) -> np.ndarray:
        """The nodes in scikit-learn's order: a node, what is on its left, what is on its right."""
        order, stack = [], [0]
        while stack:
            i = stack.pop()
            order.append(i)
            if self.left[i] != LEAF:
                stack += (self.right[i], self.left[i])
        return np.array(order)

    def arrays(self, order: np.ndarray) -> tuple[TreeArrays, np.ndarray]:
        """The tree with its nodes in this order, and the leaf of each row."""
        m = len(order)
        number = np.empty(m + 1, dtype=np.int32)
        number[order] = np.arange(m)
        number[LEAF] = LEAF
        left, right = (number[np.array(part)[order]] for part in (self.left, self.right))
        feature = np.array(self.feature, dtype=np.int32)[order]
        code = np.array(self.code, dtype=np.int32)[order]
        threshold = np.full(m, -2.0)
        for i in np.flatnonzero(left != LEAF).tolist():
            inside = code[i] != self.columns.missing - 1
            threshold[i] = self.columns.edges[feature[i]][code[i]] if inside else np.inf
        totals = np.array(self.totals)[order]
        weight = totals[:, -1] * self.weight_unit
        bounds = np.array(self.bounds)[order]
        # Splits of features without a constraint may lead outside of them, as in scikit-learn.
        mean = totals[:, 0] / (totals[:, -1] + self.l2)
        value = np.minimum(np.maximum(mean, bounds[:, 0]), bounds[:, 1]) * self.value_unit
        node = self.leaf_of_rows(number)
        tree = TreeArrays(
            left=left,
            right=right,
            feature=feature,
            code=code,
            threshold=threshold,
            missing_left=np.array(self.missing_left, dtype=np.uint8)[order],
            impurity=self.impurities(node, left, right, totals),
            n_rows=totals[:, 1].astype(np.int64),
            weight=weight,
            value=value[:, None],
            depth=max(self.depth),
        )
        return tree, node

    def leaf_of_rows(self, number: np.ndarray) -> np.ndarray:
        node = np.zeros(self.columns.n_rows, dtype=np.min_scalar_type(len(number) - 2))
        for i, rows in self.rows.items():
            leaf = node.dtype.type(number[i])
            if rows is not None and rows.dtype == bool:
                node += rows * leaf
            elif rows is not None:
                node[rows] = leaf
        return node

    def impurities(
        self, node: np.ndarray, left: np.ndarray, right: np.ndarray, totals: np.ndarray
    ) -> np.ndarray:
        """The weighted variance of the target in each node, summed from the leaves upwards."""
        mean = totals[:, 0] / totals[:, -1] * self.value_unit
        weight = totals[:, -1] * self.weight_unit
        square = self.targets.squared_errors(node, mean)
        for i in np.flatnonzero(left != LEAF)[::-1].tolist():
            a, b = left[i], right[i]
            between = weight[a] * weight[b] / weight[i] * (mean[a] - mean[b]) ** 2
            square[i] = square[a] + square[b] + between
        return square / weight


# ---
# The growth of trees over binned columns, by the route that this process has.


class HistogramGrower(Protocol):
    """Grows trees for boosting, on the same columns in every round.

    The options may be replaced between trees by others of the same depth, leaves and features.
    """

    options: GrowthOptions

    def grow(
        self,
        gradient: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int | None = None,
        rank: np.ndarray | None = None,
    ) -> tuple[TreeArrays, np.ndarray]:
        """A tree fitted to the targets `gradient`.

        Parameters
        ----------
        gradient : float64 array of shape (n,)
        weight : float64 array of shape (n,) or None
        rows : int array, increasing, or None
            The rows that the tree is grown on; None for all.
        seed : int, default=None
            Of the draws of features, 0 to 2**31 - 2; None takes that of the options.
        rank : int array of shape (p,), default=None
            Of equally good splits the one of the feature of the lowest rank is taken; None is the
            order of the features. Where features are drawn, the seed decides.

        Returns
        -------
        tree : TreeArrays
        node : int array of shape (n,)
            The leaf of every one of the n rows.
        """
        ...


def grow_tree(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """Grow a tree; both routes give the same one up to ties and rounding.

    Parameters
    ----------
    columns : BinnedColumns
    target : array of shape (m,)
        Numbers (float64), or the classes 0 ... K-1 (integers).
    weight : float64 array of shape (m,) or None
    rows : int array of shape (m,) or None
        The rows of `columns` that target and weight belong to; None for all of them.
    options : GrowthOptions
    """
    # One class or row needs no search: scikit-learn's tree is a leaf.
    if uses_numba() and options.n_classes != 1 and len(target) > 1:
        return _compiled_growth.grow(columns, target, weight, rows, options)
    if _sklearn_trees.supports(columns, options):
        return _sklearn_trees.grow_on_codes(columns, target, weight, rows, options)
    return _grow_by_histograms(columns, target, weight, rows, options)


def _grow_by_histograms(columns, target, weight, rows, options):
    """A tree by least squares, for what scikit-learn's trees do not have.

    The Gini index of two classes is twice the variance of the codes 0 and 1.
    """
    if rows is not None:
        columns = columns.take_rows(rows)
    columns = columns.in_one_byte()
    target = np.asarray(target, dtype=np.float64)
    if not options.n_classes:
        return histogram_grower(columns, options, 1).grow(target, weight, None)[0]
    half = 0.5 * options.min_impurity_decrease
    options = replace(options, criterion="squared_error", n_classes=0, min_impurity_decrease=half)
    tree, _ = histogram_grower(columns, options, 1).grow(target, weight, None)
    shares = np.column_stack([1.0 - tree.value, tree.value])
    return replace(tree, value=shares, impurity=2.0 * tree.impurity)


def histogram_grower(
    columns: BinnedColumns, options: GrowthOptions, n_threads: int
) -> HistogramGrower:
    """What grows trees by least squares on these columns in every round of a boosting algorithm."""
    if uses_numba() and columns.codes.dtype == np.uint8:
        return _compiled_growth.CompiledHistogramGrower(columns, options, n_threads)
    if _sklearn_trees.is_faster(columns, options):
        return _sklearn_trees.CodeTreeGrower(columns, options)
    return NumpyHistogramGrower(columns, options, n_threads)


# ---
# The growth of a tree from the sums of chunks of rows, without the rows.


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


# ---
# Features drawn at the nodes of a tree, as scikit-learn draws them.


class FeatureDraws:
    """The features drawn at each node, by the generator and in the order of scikit-learn's trees.

    scikit-learn does not count features that are constant in the node, and remembers which are for
    the nodes below.

    Parameters
    ----------
    seed : int
        0 to 2**31 - 2.
    max_features, n_features : int
    """

    def __init__(self, seed, max_features, n_features):
        self.max_features = max_features
        self.state = seed or 1
        self.order = list(range(n_features))
        self.constant = [0] * n_features
        self.n_constant = {}

    def between(self, low, high):
        s = self.state
        s ^= (s << 13) & 0xFFFFFFFF
        s ^= s >> 17
        s ^= (s << 5) & 0xFFFFFFFF
        self.state = s
        return low + (s & 0x7FFFFFFF) % (high - low)

    def features(self, i, parent, n_values, has_missing):
        """A mask of the features to search in node i.

        Parameters
        ----------
        i, parent : int
            Any names of the nodes; a parent's features are drawn before its children's.
        n_values : int array of shape (p,)
            Numbers of distinct values in the node.
        has_missing : bool array of shape (p,)
        """
        is_constant = (n_values == 0) | ((n_values == 1) & ~has_missing)
        order = self.order
        allowed = np.zeros(len(order), dtype=bool)
        n_known = n_constant = self.n_constant.get(parent, 0)
        n_found = n_drawn = n_visited = 0
        end = len(order)
        while end > n_constant and (
            n_visited < self.max_features or n_visited <= n_found + n_drawn
        ):
            n_visited += 1
            at = self.between(n_drawn, end - n_found)
            if at < n_known:
                order[n_drawn], order[at] = order[at], order[n_drawn]
                n_drawn += 1
                continue
            at += n_found
            if is_constant[order[at]]:
                order[at], order[n_constant] = order[n_constant], order[at]
                n_found += 1
                n_constant += 1
                continue
            end -= 1
            order[end], order[at] = order[at], order[end]
            allowed[order[end]] = True
        order[:n_known] = self.constant[:n_known]
        self.constant[n_known:n_constant] = order[n_known:n_constant]
        self.n_constant[i] = n_constant
        return allowed


# Targets whose largest absolute value is outside this range are multiplied by a power of 2: their
# squares would overflow, or be so small that the tree takes every node as pure.
_USUAL_SIZES = (1e-3, 1e100)


def grown_arrays(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """`grow_tree` for targets of any size, whose regularised values shrink to the target's mean."""
    if options.n_classes:
        return grow_tree(columns, target, weight, rows, options)
    centre = 0.0
    if options.l2_regularization > 0:
        with np.errstate(over="ignore", invalid="ignore"):
            centre = float(np.average(target, weights=weight))
        if not np.isfinite(centre):  # the sum is beyond the largest float
            shares = None if weight is None else weight / weight.sum()
            centre = float(mean_from_first(target, shares))
        with np.errstate(over="ignore"):
            target = target - centre
        if not np.isfinite(target).all():
            raise ValueError("y has differences beyond the largest float; scale y.")
    size = float(np.max(np.abs(target), initial=0.0))
    if size == 0 or _USUAL_SIZES[0] <= size <= _USUAL_SIZES[1]:
        arrays = grow_tree(columns, target, weight, rows, options)
        return replace(arrays, value=arrays.value + centre) if centre else arrays
    exponent = int(np.frexp(size)[1])
    power = exponent if options.criterion == "poisson" else 2 * exponent
    with np.errstate(over="ignore", under="ignore"):
        scaled = replace(
            options,
            min_impurity_decrease=float(np.ldexp(options.min_impurity_decrease, -power)),
        )
        arrays = grow_tree(columns, np.ldexp(target, -exponent), weight, rows, scaled)
        return replace(
            arrays,
            value=within_range(np.ldexp(arrays.value, exponent) + centre),
            impurity=np.ldexp(arrays.impurity, power),
        )
