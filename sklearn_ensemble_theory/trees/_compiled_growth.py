"""Growth of trees over binned columns by the compiled loops of `_hot_loops._growth`.

What the loops add up are integers, so that sums do not depend on the order of the rows: `grow`
makes them for one tree of any criterion, row by row; `CompiledHistogramGrower` for the regression
trees of boosting, by histograms, alone or with a team of threads.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam, row_chunks, shares
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
_NOTHING = np.zeros(1, np.int64)


class CompiledHistogramGrower:
    """Grows trees on the same columns again and again (see `_growth.HistogramGrower`).

    Parameters
    ----------
    columns : BinnedColumns
    options : GrowthOptions
        With the squared error.
    n_threads : int, default=1

    Notes
    -----
    Memory: 25 bytes a row, and 2 KB for each leaf and feature.
    """

    def __init__(self, columns: BinnedColumns, options: GrowthOptions, n_threads: int = 1) -> None:
        self.columns, self.options = columns, options
        self.team = ThreadTeam(n_threads)
        n, p = columns.n_rows, columns.n_features
        self.n_leaves = max(min(2 ** min(options.max_depth, 30), n), 1)
        if options.max_leaf_nodes:
            self.n_leaves = min(self.n_leaves, options.max_leaf_nodes)
        self.by_histograms = not options.max_features and (
            self.n_leaves <= _MOST_LEAVES
            if options.max_leaf_nodes
            else options.max_depth <= _MOST_LEVELS
        )
        self.columns_data = (columns.codes.T, columns.n_bins, options.constraints(p))
        self.data = (*self.columns_data, np.arange(p))
        self._weights: _Weights | None = None
        self._tables: Any = None
        if self.by_histograms:
            m = 2 * self.n_leaves - 1
            self.nodes = (
                np.empty((m, 9), np.int64),
                np.empty((m, 3), np.int64),
                np.empty((m, 3)),
                np.empty((m, 3), np.int64),
            )
            self.found = (
                np.empty((2, 1, 6), np.int64),
                np.empty((2, 1, 1)),
                np.empty(self.n_leaves + 1, np.int64),
            )
            self.rows = (np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(1, np.int32))
            self.q = np.empty(n, np.int64)

    def grow(
        self,
        gradient: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int | None = None,
        rank: np.ndarray | None = None,
    ) -> tuple[TreeArrays, np.ndarray]:
        """A tree and the leaf of every row; O(n p) for each level of the tree."""
        if not self.by_histograms:
            return self._grow_deep(gradient, weight, rows, seed)
        if rank is not None:
            self.data = (*self.columns_data, rank)
        from sklearn_ensemble_theory._hot_loops._growth import boosted_tree_loops as loops

        weights = self._weights_of(weight, rows)
        size, square = self._sums_of_sizes(gradient, weight, rows)
        scale = integer_scale(size, _SUM_BITS - (weights.bits if weights.is_packed else 0))
        self._quantise(gradient, weights, scale)
        n_rows = 0
        if rows is not None:
            n_rows = len(rows)
            self.rows[0][:n_rows] = rows
        n_forms = 1 if weights.is_packed else 2
        tables, values = self._buffers(n_forms, n_rows)
        options = self._options(weights, scale)
        shared = self.rows, n_rows, tables
        targets = self.q, weights.r, gradient
        used = n_rows or self.columns.n_rows
        if self.team.n_threads > 1 and used * self.columns.n_features >= LEAST_SHARED_VALUES:
            n_nodes = grow_in_threads(
                self.team, self.data, targets, values, *shared, nodes=self.nodes, options=options
            )
        else:
            buffers = values, *self.found
            n_nodes = loops.grow_by_histograms(
                self.data, targets, buffers, *shared, self.nodes, options
            )
        return self._result(int(n_nodes), gradient, weights, scale, square, rows)

    def _grow_deep(self, gradient, weight, rows, seed):
        options = self.options if seed is None else replace(self.options, seed=seed)
        if rows is not None:
            gradient, weight = gradient[rows], None if weight is None else weight[rows]
        tree = grow(self.columns, gradient, weight, rows, options)
        return tree, tree.leaves(self.columns)

    def _weights_of(self, weight, rows):
        known = self._weights
        if known is None or known.weight is not weight or rows is not None:
            self._weights = _Weights(weight, rows, self.columns.n_rows, self.options)
        return self._weights

    def _sums_of_sizes(self, gradient, weight, rows):
        """Sums of the weighted sizes and squares of the gradients of the rows."""
        from sklearn_ensemble_theory._hot_loops._growth.histogram_loops import sum_of_sizes

        if rows is not None:
            gradient = gradient[rows]
            weight = None if weight is None else weight[rows]
        given = _NOTHING_REAL if weight is None else padded(weight)
        parts = self.team.run(
            sum_of_sizes, [(gradient, given, *chunk) for chunk in row_chunks(len(gradient))]
        )
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def _quantise(self, gradient, weights, scale):
        from sklearn_ensemble_theory._hot_loops._growth.cut_loops import PACKED, WIDE
        from sklearn_ensemble_theory._hot_loops._growth.histogram_loops import to_integers

        form = PACKED if weights.is_packed else WIDE
        shared = gradient, weights.given, weights.counts, scale, weights.bits, form, self.q
        self.team.run(to_integers, [(*shared, *chunk) for chunk in row_chunks(len(gradient))])

    def _buffers(self, n_forms, n_drawn):
        n, p = self.columns.codes.shape
        size = max(n // 2 + 1, n_drawn)
        known = self._tables
        if known is None or known[0].shape[1] != n_forms or len(known[1][0]) < size:
            tables = np.empty((self.n_leaves, n_forms, p, 256), np.int64)
            values = np.empty(size, np.int64), np.empty(size if n_forms == 2 else 1, np.int64)
            self._tables = tables, values
        return self._tables

    def _options(self, weights, scale):
        from sklearn_ensemble_theory._hot_loops._growth.cut_loops import PACKED, SQUARED_ERROR, WIDE

        options = self.options
        # In units of the integers, whose scale may have no finite square where gradients are tiny.
        least = float(options.min_impurity_decrease)
        least_gain = (
            least * weights.total * float(scale) * float(scale) * weights.unit if least else 0.0
        )
        return (
            (PACKED if weights.is_packed else WIDE, weights.bits),
            (options.max_depth, options.max_leaf_nodes, options.min_samples_split),
            (
                SQUARED_ERROR,
                options.l2_regularization / weights.unit,
                options.min_samples_leaf,
                float(np.nextafter(options.min_weight_leaf, 0.0)) / weights.unit,
            ),
            least_gain,
        )

    def _result(self, n_nodes, gradient, weights, scale, square, rows):
        from sklearn_ensemble_theory._hot_loops._growth import boosted_tree_loops as loops

        spans, sums, reals, _ = (one[:n_nodes] for one in self.nodes)
        # As scikit-learn numbers them: best first as they are made, else from the left.
        number = np.arange(n_nodes)
        if not self.options.max_leaf_nodes:
            loops.number_nodes(self.nodes, n_nodes, np.empty(n_nodes + 1, np.int64), number)
        node = np.empty(self.columns.n_rows, np.min_scalar_type(max(n_nodes - 1, 0)))
        moments = fill_in_threads(
            self.team,
            self.data,
            self.rows,
            self.nodes,
            number,
            node,
            gradient,
            weight=weights.given,
        )
        if weights.is_packed and len(weights.counts) > 1:
            # The lower bits hold weights, not rows.
            counted = np.bincount(node if rows is None else node[rows], minlength=n_nodes)
            sums[:, 2] = counted[number]
            for i in np.flatnonzero(spans[:, 5] != LEAF)[::-1].tolist():
                sums[i, 2] = sums[spans[i, 5], 2] + sums[spans[i, 6], 2]
        tree = self._arrays(spans, sums, reals, moments, number, weights, scale)
        return tree, node if rows is None else tree.leaves(self.columns)

    def _arrays(self, spans, sums, reals, moments, number, weights, scale):
        m = len(number)
        left, right = spans[:, 5], spans[:, 6]
        inner = np.flatnonzero(left != LEAF)
        for i in inner[::-1].tolist():
            moments[i] = moments[left[i]] + moments[right[i]]
        order = np.empty(m, np.intp)
        order[number] = np.arange(m)
        # Of the rows themselves: the integers are rounded.
        weight, moment, square = moments.T
        mean = moment / weight
        code = np.full(m, -2, np.int16)
        code[inner] = spans[inner, 8] >> 2
        threshold = np.full(m, -2.0)
        threshold[inner] = self.columns.thresholds(spans[inner, 7], code[inner])
        side = np.zeros(m, np.uint8)
        side[inner] = spans[inner, 8] & 3
        undecided = np.flatnonzero(side == 2)
        side[undecided] = 2 * sums[left[undecided], 2] > sums[undecided, 2]
        feature = np.full(m, -2, np.int32)
        feature[inner] = spans[inner, 7]
        renumbered = np.append(number, LEAF).astype(np.int32)
        # Cuts of features without a constraint may lead outside of the bounds, as in scikit-learn.
        value = moment / (weight + self.options.l2_regularization)
        bounds = reals[:, :2] / (scale * weights.unit)
        value = np.minimum(np.maximum(value, bounds[:, 0]), bounds[:, 1])
        return TreeArrays(
            left=renumbered[left[order]],
            right=renumbered[right[order]],
            feature=feature[order],
            code=code[order],
            threshold=threshold[order],
            missing_left=side[order],
            impurity=np.maximum(square / weight - mean * mean, 0.0)[order],
            n_rows=sums[order, 2],
            weight=weight[order],
            value=value[order][:, None],
            depth=int(spans[:, 4].max()),
        )


class _Weights:
    """Sample weights as the loops take them, which stay the same in all rounds.

    Attributes
    ----------
    is_packed : bool
        Whether the weights are small whole numbers, which fit below the gradient into one integer.
    bits : int
        The lower bits of a packed integer, or of r.
    unit : float
        The weight of one unit of the integers.
    given : float64 array
        The weights; of one element where all are 1.
    counts, r : int64 arrays
        Of one element where they are not needed.
    """

    def __init__(self, weight, rows, n, options):
        self.weight = weight
        self.given = _NOTHING_REAL if weight is None else padded(weight)
        self.counts = self.r = _NOTHING
        self.unit = 1.0
        self.is_packed = True
        used = n if rows is None else len(rows)
        if weight is None:
            self.total, self.bits = float(used), used.bit_length()
            return
        chosen = weight if rows is None else weight[rows]
        self.total = float(chosen.sum())
        # Numbers of rows are not in packed integers.
        counts_rows = options.min_samples_leaf > 1 or options.min_samples_split > 2
        if self.total < 2**24 and weight.max() < 2**24 and not counts_rows:
            counts = weight.astype(np.int64)
            if (counts == weight).all():
                self.counts = counts if len(counts) > 1 else np.append(counts, 0)
                self.bits = int(self.total).bit_length()
                return
        self.is_packed = False
        self.bits = used.bit_length()
        scale = integer_scale(self.total, _SUM_BITS - self.bits)
        self.unit = 1.0 / scale
        # Rows that are not used may have larger weights, which no integer holds.
        given = np.minimum(weight, self.total)
        self.r = (np.maximum(np.rint(given * scale), 1.0).astype(np.int64) << self.bits) + 1


# --- the same, shared out among threads -----------------------------------------------------------
#
# The same steps in the same order as `boosted_tree_loops.grow_by_histograms`, with the same result
# to the last bit: rows are parted in chunks, features are counted and searched in blocks. Leaves of
# one level are cut together, so that threads meet a few times for each level, not for each leaf.

# Fewer values are counted by one thread: threads would wait for each other.
LEAST_SHARED_VALUES = 2**21
_ALONE = ThreadTeam(1)


def grow_in_threads(
    team: ThreadTeam,
    data: Any,
    integers: Any,
    values: Any,
    rows: Any,
    n_rows: int,
    tables: np.ndarray,
    *,
    nodes: Any,
    options: Any,
) -> int:
    """Grow a tree; see `boosted_tree_loops.grow_by_histograms`."""
    return _SharedGrowth(team, data, integers, values, rows, tables, nodes, options).grow(n_rows)


class _SharedGrowth:
    def __init__(self, team, data, integers, values, rows, tables, nodes, options):
        self.team, self.data, self.integers, self.values = team, data, integers, values
        self.rows, self.tables, self.nodes = rows, tables, nodes
        self.plan, self.limits, self.rules, self.least = options
        self.n_forms = tables.shape[1]
        # Columns are counted in pairs.
        pairs = shares((len(data[0]) + 1) // 2, team.n_threads)
        self.blocks = [(2 * a, min(2 * b, len(data[0]))) for a, b in pairs]
        self.whole = [(0, len(data[0]))]
        self.n_nodes = self.n_tables = self.n_leaves = 1

    def grow(self, n_rows):
        from sklearn_ensemble_theory._hot_loops._growth import boosted_tree_loops as loops

        best_first, most = self.limits[1] > 0, self.limits[1]
        waiting = self._root(loops, n_rows)
        while waiting and (not best_first or self.n_leaves < most):
            if best_first:
                gains = [(-self.nodes[2][i, 2], i) for i in waiting]
                ready = [min(gains)[1]]
                waiting.remove(ready[0])
            else:
                ready, waiting = waiting, []
            waiting += self._expand(loops, ready)
        return self.n_nodes

    def _root(self, loops, n_rows):
        from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

        codes, n_bins = self.data[:2]
        is_all = n_rows == 0
        for form in range(self.n_forms):
            q, table = self.integers[form], self.tables[0, form]
            if is_all:
                tasks = [(codes, q, table, *block) for block in self.blocks]
                self.team.run(steps.count_all, tasks)
            else:
                chosen = self.rows[0][:n_rows]
                tasks = [(codes, chosen, q[chosen], table, *block) for block in self.blocks]
                self.team.run(steps.count_rows, tasks)
        totals = np.empty(3, np.int64)
        loops.total_of_table(self.tables, n_bins, self.plan, totals)
        loops.start_tree(self.nodes, totals, n_rows or len(self.integers[0]), is_all)
        if not self._may_be_cut(loops, 0):
            return []
        found = np.empty((1, 6), np.int64), np.empty((1, 1))
        steps.find_cuts(
            self.data,
            self.tables,
            self.nodes,
            0,
            self.plan,
            self.rules,
            0,
            len(codes),
            (found[0][0], found[1][0]),
        )
        return [0] if self._takes(loops, 0, found) else []

    def _takes(self, loops, node, found):
        status = loops.take_cut(node, self.nodes, found, self.least, self.rules, self.data[3])
        doubtful = status == loops.DOUBTFUL
        if doubtful and loops.all_equal(node, self.nodes, self.rows, self.integers[2]):
            return False
        return status != loops.NONE

    def _may_be_cut(self, loops, node):
        spans, sums = self.nodes[:2]
        return loops.may_be_cut(spans[node], sums[node], self.limits, self.rules)

    def _expand(self, loops, ready):
        """Cut these leaves; the children that can be cut in turn."""
        parents, allowed = [], {}
        for node in ready:
            loops.add_children(node, self.n_nodes, self.nodes, self.data[2], self.rules)
            pair = self.n_nodes, self.n_nodes + 1
            self.n_nodes += 2
            self.n_leaves += 1
            for child in pair:
                allowed[child] = self._may_be_cut(loops, child)
            if any(allowed[child] for child in pair):
                parents.append((node, pair))
        if not parents or (self.limits[1] and self.n_leaves >= self.limits[1]):
            return []
        self._part(loops, [node for node, _ in parents])
        return self._search(loops, parents, allowed)

    def _part(self, loops, parents):
        """Part the rows of these nodes, in chunks where there are fewer nodes than threads."""
        from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

        counted, parted, owners = [], [], []
        in_chunks = len(parents) < self.team.n_threads and self._is_large(parents)
        for node in parents:
            start, stop, which = self.nodes[0][node, :3].tolist()
            column, cut = self._cut_of(node)
            shared = column, cut >> 2, int(cut & 3 == 1), self.rows[which]
            to_rows = self.rows[loops.other_array(which)]
            for first, last in self._parts(start, stop) if in_chunks else [(start, stop)]:
                counted.append((*shared, first, last))
                parted.append((*shared, first, last, to_rows))
                owners.append((node, start, stop))
        if in_chunks:
            on_left = self.team.run(steps.count_left, counted)
        tasks, n_left, n_right = [], dict.fromkeys(parents, 0), dict.fromkeys(parents, 0)
        for k, ((node, start, stop), task) in enumerate(zip(owners, parted)):
            tasks.append((*task, start + n_left[node], stop - 1 - n_right[node]))
            if in_chunks:
                n_left[node] += on_left[k]
                n_right[node] += task[5] - task[4] - on_left[k]
        ends = self._team_for(parents).run(steps.part_rows, tasks)
        for (node, start, _), end in zip(owners, ends):
            n_left[node] = end - start
        for node in parents:
            loops.place_children(node, n_left[node], self.nodes)

    def _parts(self, start, stop):
        """A range of rows in parts for the threads."""
        return [(start + a, start + b) for a, b in shares(stop - start, self.team.n_threads)]

    def _is_large(self, parents):
        """Whether the rows of these nodes are worth the time in which threads meet."""
        spans = self.nodes[0]
        n_rows = sum(int(spans[node, 1] - spans[node, 0]) for node in parents)
        return n_rows * len(self.data[0]) >= LEAST_SHARED_VALUES

    def _team_for(self, parents):
        return self.team if self._is_large(parents) else _ALONE

    def _cut_of(self, node):
        spans = self.nodes[0]
        return self.data[0][spans[node, 7]], int(spans[node, 8])

    def _search(self, loops, parents, allowed):
        from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

        spans = self.nodes[0]
        gathered, tasks, found, offset = [], [], {}, 0
        is_large = self._is_large([node for node, _ in parents])
        team, blocks = (self.team, self.blocks) if is_large else (_ALONE, self.whole)
        in_parts = is_large and len(parents) < self.team.n_threads
        for node, (left, right) in parents:
            small = int(loops.smaller_child(node, self.nodes))
            large = left + right - small
            spans[small, 3], spans[large, 3] = self.n_tables, spans[node, 3]
            self.n_tables += 1
            start, stop, which = spans[small, :3].tolist()
            rows, size = self.rows[which], stop - start
            values = tuple(
                self.values[form][offset : offset + size] if form < self.n_forms else one
                for form, one in enumerate(self.values)
            )
            offset += size
            for form in range(self.n_forms):
                for first, last in self._parts(start, stop) if in_parts else [(start, stop)]:
                    out = values[form][first - start : last - start]
                    gathered.append((self.integers[form], rows, first, last, out))
            for child in (left, right):
                n_blocks = len(blocks)
                found[child] = np.empty((n_blocks, 6), np.int64), np.empty((n_blocks, 1))
            for k, (first, last) in enumerate(blocks):
                block = (
                    first,
                    last,
                    (found[small][0][k], found[small][1][k]),
                    (found[large][0][k], found[large][1][k]),
                )
                wanted = allowed[small], allowed[large]
                shared = self.data, self.tables, self.nodes, values, rows[start:stop], self.plan
                tasks.append((small, large, *shared, wanted, self.rules, block))
        team.run(steps.gather, gathered)
        team.run(loops.search_children, tasks)
        return [
            child
            for _, pair in parents
            for child in pair
            if allowed[child] and self._takes(loops, child, found[child])
        ]


def fill_in_threads(
    team: ThreadTeam,
    data: Any,
    rows: Any,
    nodes: Any,
    number: np.ndarray,
    node_of_row: np.ndarray,
    gradient: np.ndarray,
    *,
    weight: np.ndarray,
) -> np.ndarray:
    """Write the leaf of each row; the sums of weights, gradients and squares in the leaves, (m, 3).

    The rows of a node are one task, so that sums do not depend on the threads.
    """
    from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

    spans = nodes[0]
    moments = np.zeros((len(number), 3))
    leaves, pairs = [], []
    for node, (start, stop, which, _, _, left, right) in enumerate(
        spans[: len(number), :7].tolist()
    ):
        if stop == start:
            continue  # its rows are those of its parent, not parted
        shared = node_of_row, gradient, weight
        if left < 0:
            leaves.append((node, (rows[which], start, stop, int(number[node]), *shared)))
        elif spans[left, 0] == spans[left, 1]:
            column, cut = data[0][spans[node, 7]], int(spans[node, 8])
            ids = int(number[left]), int(number[right])
            task = (column, cut >> 2, int(cut & 3 == 1), rows[which], start, stop, ids, *shared)
            pairs.append((left, right, task))
    found = team.run(steps.fill_leaf, [task for _, task in leaves])
    for (node, _), both in zip(leaves, found):
        moments[node] += both
    found = team.run(steps.fill_leaves, [task for _, _, task in pairs])
    for (left, right, _), both in zip(pairs, found):
        moments[left] += both[0]
        moments[right] += both[1]
    return moments
