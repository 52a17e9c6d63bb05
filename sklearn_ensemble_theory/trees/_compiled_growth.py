"""Growth of trees over binned columns by the compiled loops of `_hot_loops._growth`.

What the loops add up are integers, so that sums do not depend on the order of the rows: `grow`
makes them for one tree of any criterion, row by row; `CompiledHistogramGrower` for the regression
trees of boosting, by histograms, alone or with a team of threads.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory.trees._columns import BinnedColumns
from sklearn_ensemble_theory.trees._options import CRITERIA, GrowthOptions
from sklearn_ensemble_theory.trees._tree_arrays import LEAF, TreeArrays

# Sums of the integers stay below 2^62.
_SUM_BITS = 62
_NOTHING_32, _NOTHING_64 = np.zeros(1, np.int32), np.zeros(1, np.int64)
_NOTHING_REAL = np.zeros(1)


def integer_scale(total: float, bits: int) -> float:
    """The largest power of two that takes sums of at most `total` to integers below 2^bits."""
    if not total > 0:
        return 1.0
    return float(np.ldexp(1.0, min(bits - 1 - int(np.frexp(total)[1]), 1000)))


def grow(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """Grow a tree (see `_growth.grow_tree`). O(m p depth), at most; O(n p) memory for the codes."""
    from sklearn_ensemble_theory._hot_loops._growth import tree_loops

    columns = columns.in_two_bytes()
    m, p = len(target), columns.n_features
    n_classes = options.n_classes
    form, bits, integers, units = _integers(target, weight, options)
    if rows is None:
        chosen = np.arange(m, dtype=np.int32)
        by_row = target, weight
    else:
        chosen = np.array(rows, dtype=np.int32)
        by_row = _spread(target, rows, columns.n_rows), _spread(weight, rows, columns.n_rows)
    if n_classes:
        by_row = None, None
    targets = tuple(_NOTHING_REAL if one is None else padded(one) for one in by_row)
    target_unit, weight_unit, gain_unit, total = units
    n_drawn = options.max_features or p
    plan = (form, bits, CRITERIA[options.criterion], n_drawn, options.random_splits)
    plan += columns.missing, columns.most_bins
    limits = (
        options.max_depth,
        options.max_leaf_nodes,
        options.min_samples_split,
        options.seed,
    )
    # Rounding upwards would refuse a leaf of exactly this weight.
    least_weight = np.nextafter(options.min_weight_leaf, 0.0) / weight_unit
    rules = (
        CRITERIA[options.criterion],
        options.l2_regularization / weight_unit,
        options.min_samples_leaf,
        float(least_weight),
    )
    arguments = (
        (columns.row_codes.ravel(), columns.codes.T),
        (chosen, *integers),
        targets,
        (
            tuple(map(int, plan)),
            tuple(map(int, limits)),
            rules,
            (target_unit, weight_unit, gain_unit / total, float(options.min_impurity_decrease)),
            options.constraints(p),
        ),
    )
    capacity = _capacity(m, options)
    out = (
        np.empty((capacity, 5), np.int32),
        np.empty((capacity, 1 if weight is None else 2)),
        np.empty((capacity, max(n_classes, 1))),
    )
    n_classes_counted = n_classes if n_classes > 2 else 0
    shared = (*arguments, *_work(arguments[1], p, n_classes_counted, columns.missing + 1))
    n_nodes, depth = tree_loops.grow_nodes(shared, _order(m, options), out)
    # What the loops have read is freed before the fields of the nodes are made.
    del shared, arguments, integers, targets, chosen, by_row
    if columns.are_for_one_tree:
        columns.release()
    parts = [one[:n_nodes] for one in out]
    del out
    if n_classes == 1:
        parts[2][:] = 1.0  # the loops count the rows of the second of two classes
    return _arrays(columns, parts, depth)


def _capacity(m: int, options: GrowthOptions) -> int:
    """No tree has more nodes."""
    n_leaves = max(m // options.min_samples_leaf, 1)
    if options.max_leaf_nodes:
        n_leaves = min(n_leaves, options.max_leaf_nodes)
    if options.max_depth < 30:
        n_leaves = min(n_leaves, 2**options.max_depth)
    return 2 * n_leaves - 1


def _work(part, p, n_classes, n_cells):
    """Arrays for the loops, in which nothing is made; `n_classes` is 0 for means."""
    from sklearn_ensemble_theory._hot_loops._growth.small_node_loops import SMALL_ROWS

    size = len(part[0]) if n_classes else 1
    n_masses = max(n_classes, 1)
    histograms = (
        np.zeros(n_cells, np.int64),
        np.zeros(n_cells, np.int64),
        np.empty((n_cells if n_classes else 1, n_masses), np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.uint16),
        (np.empty(n_masses), np.empty(n_masses), np.empty(n_masses)),
        np.empty(n_cells, np.int32),
        np.zeros(n_cells // 32 + 1, np.int64),
    )
    drawing = (np.empty(p, np.int32), np.empty(p, np.int32), np.empty(1, np.int64), np.empty(1))
    small = (
        np.empty(SMALL_ROWS, np.uint64),
        np.empty((4, SMALL_ROWS)),
        np.empty((4, SMALL_ROWS), np.int32),
        np.empty((SMALL_ROWS + 1, 6), np.int64),
        np.empty((SMALL_ROWS + 1, 2)),
    )
    return histograms, tuple(map(np.empty_like, part)), drawing, small


def _order(m, options):
    """The nodes that wait to be visited, and the leaves that wait to be cut."""
    n_waiting = min(options.max_depth, m) + 2
    n_leaves = options.max_leaf_nodes and min(options.max_leaf_nodes, m)
    return (
        np.empty((n_waiting, 6), np.int64),
        np.empty((n_waiting, 2)),
        np.empty((n_leaves + 1, 5), np.int64),
        np.empty((n_leaves + 1, 4)),
    )


def padded(values: np.ndarray) -> np.ndarray:
    """As an array of at least two numbers: to the loops, one of a single number is none at all."""
    values = np.asarray(values, dtype=np.float64)
    return values if len(values) > 1 else np.append(values, 0.0)


def _spread(values, rows, n):
    """Values of some rows at their places among n."""
    if values is None:
        return None
    full = np.zeros(n)
    full[rows] = values
    return full


def _integers(target, weight, options):
    """The form of the rows' integers, the integers, and what their units are.

    Returns
    -------
    form, bits : int
    integers : (q, r, label)
    units : (target, weight, gain, total weight)
    """
    from sklearn_ensemble_theory._hot_loops._growth.cut_loops import CLASSES, PACKED, WIDE

    m, n_classes = len(target), options.n_classes
    if weight is None:
        whole, total = True, float(m)
        counts = np.ones(m, dtype=np.int64)
    else:
        counts = weight.astype(np.int64)
        total = float(weight.sum())
        whole = total < 2**40 and bool((counts == weight).all())
    bits = int(total if whole else m).bit_length()
    # The lower bits count the weight: that is the number of rows where all weights are 1, and is
    # not needed where a leaf may hold a single row.
    if n_classes <= 2 and whole and bits <= 24 and (weight is None or _rows_do_not_count(options)):
        if n_classes:
            q = ((target == 1).astype(np.int64) * counts << bits) + counts
            return (
                PACKED,
                bits,
                (q, _NOTHING_64, _NOTHING_32),
                (1.0, 1.0, _class_gain(1.0, options), total),
            )
        moments = target * counts
        scale = integer_scale(float(np.abs(moments).sum()), _SUM_BITS - bits)
        q = (np.rint(target * scale).astype(np.int64) * counts << bits) + counts
        unit = 1.0 / scale
        return PACKED, bits, (q, _NOTHING_64, _NOTHING_32), _units(unit, 1.0, total, options)
    bits = m.bit_length()
    weight_scale = 1.0 if whole else integer_scale(total, _SUM_BITS - bits)
    mass = counts if whole else np.maximum(np.rint(weight * weight_scale).astype(np.int64), 1)
    r = (mass << bits) + 1
    if n_classes > 2:
        label = np.ascontiguousarray(target, dtype=np.int32)
        unit = 1.0 / weight_scale
        return (
            CLASSES,
            bits,
            (_NOTHING_64, r, label),
            (unit, unit, _class_gain(unit, options), total),
        )
    if n_classes:
        q = np.where(target == 1, mass, 0)
        unit = 1.0 / weight_scale
        return WIDE, bits, (q, r, _NOTHING_32), (unit, unit, _class_gain(unit, options), total)
    moments = target if weight is None else target * weight
    scale = integer_scale(float(np.abs(moments).sum()), _SUM_BITS)
    q = np.rint(moments * scale).astype(np.int64)
    units = _units(1.0 / scale, 1.0 / weight_scale, total, options)
    return WIDE, bits, (q, r, _NOTHING_32), units


def _rows_do_not_count(options):
    return options.min_samples_leaf == 1 and options.min_samples_split <= 2


def _units(target, weight, total, options):
    """With S = target s and W = weight w: S²/W, or S log(S/W) up to a multiple of S."""
    gain = target * target / weight if options.criterion == "squared_error" else target
    return target, weight, gain, total


def _class_gain(unit, options):
    if options.criterion == "log_loss":
        return unit / np.log(2.0)
    # Of two classes half the Gini index is summed (see `cut_loops.node_score`).
    return 2.0 * unit if options.n_classes <= 2 else unit


def _arrays(columns, parts, depth):
    """The fields of the nodes; `parts`, what the loops have written, is emptied."""
    values, stats, links = parts.pop(), parts.pop(), parts.pop()
    left, right, feature = (links[:, i].copy() for i in range(3))
    inner = np.flatnonzero(left != LEAF)
    code = np.full(len(left), -2, dtype=np.int32)
    code[inner] = links[inner, 3] >> 1
    threshold = np.full(len(left), -2.0)
    threshold[inner] = columns.thresholds(feature[inner], code[inner])
    missing_left = (links[:, 3] & 1).astype(np.uint8)
    n_rows = links[:, 4].astype(np.int64)
    del links, inner
    impurity = stats[:, 0].copy()
    weight = stats[:, 1].copy() if stats.shape[1] > 1 else n_rows.astype(np.float64)
    del stats
    return TreeArrays(
        left=left,
        right=right,
        feature=feature,
        code=code,
        threshold=threshold,
        missing_left=missing_left,
        impurity=impurity,
        n_rows=n_rows,
        weight=weight,
        value=values.copy(),
        depth=int(depth),
    )


# --- the trees of boosting, by histograms ---------------------------------------------------------

# Deeper trees, and those with more leaves, are grown like those of a forest: they would need a
# histogram for each leaf.
_MOST_LEVELS, _MOST_LEAVES = 8, 512
# Fewer values are counted by one thread: threads would wait for each other.
LEAST_SHARED_VALUES = 2**21


class CompiledHistogramGrower:
    """Grows trees on the same columns again and again (see `_growth.HistogramGrower`).

    Parameters
    ----------
    columns : BinnedColumns
    options : GrowthOptions
        With the squared error.
    n_threads : int, default=1
    """

    def __init__(self, columns: BinnedColumns, options: GrowthOptions, n_threads: int = 1) -> None:
        self.columns, self.options = columns, options
        self.trees: Any = None
        is_small = options.max_depth <= _MOST_LEVELS
        if options.max_leaf_nodes:
            n_leaves = min(2 ** min(options.max_depth, 30), columns.n_rows, options.max_leaf_nodes)
            is_small = n_leaves <= _MOST_LEAVES
        if is_small and not options.max_features:
            from sklearn_ensemble_theory._native.boosted_trees import BoostedTrees

            team = ThreadTeam(n_threads)
            self.trees = BoostedTrees(columns.codes.T, columns.n_bins, options, team)
        # The weights of the last round, and how they are counted: mostly they stay the same.
        self._weight: np.ndarray | None = None
        self._units: WeightUnits | None = None

    def grow(
        self,
        gradient: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int | None = None,
        rank: np.ndarray | None = None,
    ) -> tuple[TreeArrays, np.ndarray]:
        """A tree and the leaf of every row; O(n p) for each level of the tree."""
        if self.trees is None:
            return self._grow_deep(gradient, weight, rows, seed)
        units = self._units
        if units is None or self._weight is not weight or rows is not None:
            n = len(gradient if rows is None else rows)
            chosen = weight if weight is None or rows is None else weight[rows]
            units = self._units = weight_units(chosen, n, self.options)
            self._weight = weight
        fields, leaf = self.trees.grow(
            gradient, weight, rows, rank, self.options, units, LEAST_SHARED_VALUES
        )
        inner = fields["left"] != LEAF
        threshold = np.full(len(inner), -2.0)
        threshold[inner] = self.columns.thresholds(fields["feature"][inner], fields["code"][inner])
        return TreeArrays(threshold=threshold, **fields), leaf

    def _grow_deep(self, gradient, weight, rows, seed):
        options = self.options if seed is None else replace(self.options, seed=seed)
        if rows is not None:
            gradient, weight = gradient[rows], None if weight is None else weight[rows]
        tree = grow(self.columns, gradient, weight, rows, options)
        return tree, tree.leaves(self.columns)


class WeightUnits(NamedTuple):
    """How sample weights enter the integers of the rows.

    Attributes
    ----------
    is_packed : bool
        Whether the weights are small whole numbers, which fit below the gradient into one integer.
    bits : int
        The lower bits of a packed integer; otherwise those that count the rows below a weight.
    scale : float
        The integer of weight 1.
    total : float
        The sum of the weights.
    """

    is_packed: bool
    bits: int
    scale: float
    total: float


def weight_units(weight: np.ndarray | None, n_rows: int, options: GrowthOptions) -> WeightUnits:
    """The units for the weights of n rows, None for weights of 1. O(n)."""
    if weight is None:
        return WeightUnits(True, n_rows.bit_length(), 1.0, float(n_rows))
    total = float(weight.sum())
    # Packed integers do not count rows.
    counts_rows = options.min_samples_leaf > 1 or options.min_samples_split > 2
    if total < 2**24 and not counts_rows and (np.trunc(weight) == weight).all():
        return WeightUnits(True, int(total).bit_length(), 1.0, total)
    bits = n_rows.bit_length()
    return WeightUnits(False, bits, integer_scale(total, _SUM_BITS - bits), total)
