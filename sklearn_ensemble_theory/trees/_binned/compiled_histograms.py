"""Growth of regression trees by compiled histograms: the route of boosting with numba."""

from typing import Any

import numpy as np

from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam, row_chunks
from sklearn_ensemble_theory.trees._binned import compiled_growth, threaded_histograms
from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._binned.compiled_growth import (
    integer_scale,
    padded,
    thresholds_of,
)
from sklearn_ensemble_theory.trees._binned.growth_options import GrowthOptions
from sklearn_ensemble_theory.trees._binned.threaded_histograms import (
    fill_in_threads,
    grow_in_threads,
)
from sklearn_ensemble_theory.trees._binned.tree_arrays import LEAF, TreeArrays

__all__ = ["CompiledHistogramGrower", "grower"]

_SUM_BITS = 62
# Deeper trees, and those with more leaves, are grown like those of a forest: they would need a
# histogram for each leaf.
_MOST_LEVELS, _MOST_LEAVES = 8, 512
_NOTHING = np.zeros(1, np.int64)
_NOTHING_REAL = np.zeros(1)


class CompiledHistogramGrower:
    """Grows trees on the same columns again and again (see `growth.HistogramGrower`).

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
        if (
            self.team.n_threads > 1
            and used * self.columns.n_features >= threaded_histograms.LEAST_SHARED_VALUES
        ):
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
        from dataclasses import replace

        options = self.options if seed is None else replace(self.options, seed=seed)
        if rows is not None:
            gradient, weight = gradient[rows], None if weight is None else weight[rows]
        tree = compiled_growth.grow(self.columns, gradient, weight, rows, options)
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
        threshold[inner] = thresholds_of(self.columns, spans[inner, 7], code[inner])
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


# What `growth.histogram_grower` calls.
grower = CompiledHistogramGrower
