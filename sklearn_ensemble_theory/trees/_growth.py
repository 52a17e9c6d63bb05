"""Growth of trees over binned columns: forest trees, and those of boosting.

The compiled loops add up integers, so that sums do not depend on the order of the rows.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._native.boosted_trees import BoostedTrees
from sklearn_ensemble_theory._native.forest_trees import grow_tree as grow_arrays
from sklearn_ensemble_theory._rows import positive_rows
from sklearn_ensemble_theory._scaling import (
    far_mean,
    impurities_shifted_by,
    mean_from_first,
    within_range,
)
from sklearn_ensemble_theory.trees._columns import SET, BinnedColumns
from sklearn_ensemble_theory.trees._options import GrowthOptions, most_leaves
from sklearn_ensemble_theory.trees._tree_arrays import TreeArrays

# Sums of the integers stay below 2^62.
_SUM_BITS = 62
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
    """`grow_tree` for targets of any size and mean; regularised values shrink to their mean."""
    if options.n_classes:
        return grow_tree(columns, target, weight, rows, options)
    centre = 0.0
    # Regularised values shrink to 0, which is to be the mean.
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
    elif options.criterion == "squared_error":
        centre = far_mean(target)
        target = target - centre if centre else target
    size = float(np.max(np.abs(target), initial=0.0))
    if size == 0 or _USUAL_SIZES[0] <= size <= _USUAL_SIZES[1]:
        arrays = grow_tree(columns, target, weight, rows, options)
        return replace(arrays, value=arrays.value + centre) if centre else arrays
    exponent = int(np.frexp(size)[1])
    is_linear = options.criterion == "poisson" or options.has_quantiles
    power = exponent if is_linear else 2 * exponent
    with np.errstate(over="ignore", under="ignore"):
        scaled = replace(
            options,
            min_impurity_decrease=float(np.ldexp(options.min_impurity_decrease, -power)),
        )
        arrays = grow_tree(columns, np.ldexp(target, -exponent), weight, rows, scaled)
        return replace(
            arrays,
            value=within_range(np.ldexp(arrays.value, exponent) + centre),
            impurity=impurities_shifted_by(arrays.impurity, power),
        )


def grow_tree(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """Grow a tree. O(m p depth), at most; O(n p) memory for the codes.

    `target` has m numbers (float64), or classes 0 ... K-1 (integers), of these `rows` of `columns`,
    as the weight; None for all of them.
    """
    columns = columns.in_two_bytes()
    is_class = options.n_classes > 0
    if weight is not None and weight.min() <= 0:
        kept = positive_rows(weight)
        rows = kept if rows is None else rows[kept]
        target, weight = target[kept], weight[kept]
    if options.has_quantiles:
        order = np.argsort(target, kind="stable")
        rows = order if rows is None else np.asarray(rows)[order]
        target, weight = target[order], None if weight is None else weight[order]
    fields = grow_arrays(
        by_column=columns.codes.T,
        by_row=columns.row_codes,
        missing=columns.missing,
        n_bins=columns.most_bins,
        rows=None if rows is None else np.ascontiguousarray(rows, dtype=np.int32),
        target=None if is_class else np.ascontiguousarray(target, dtype=np.float64),
        classes=np.ascontiguousarray(target, dtype=np.int64) if is_class else None,
        weight=None if weight is None else np.ascontiguousarray(weight, dtype=np.float64),
        options=options,
        categorical=columns.flags,
    )
    if columns.are_for_one_tree:
        columns.release()
    return _tree_arrays(columns, fields)


def _tree_arrays(columns: BinnedColumns, fields: dict[str, Any]) -> TreeArrays:
    """The nodes with their thresholds; without sets where no node has one."""
    if "left_bins" in fields and not (fields["code"] == SET).any():
        fields = {**fields, "left_bins": None}
    return TreeArrays(
        threshold=columns.thresholds(fields["feature"], fields["code"]),
        wide=columns.wide_columns(),
        **fields,
    )


# --- the trees of boosting, by histograms ---------------------------------------------------------


class RiskArrays(NamedTuple):
    """A risk and the scores so far, as compiled rounds of boosting take them: C-contiguous."""

    loss: Any
    y: np.ndarray
    weight: np.ndarray
    scores: np.ndarray
    target: np.ndarray


class HistogramGrower:
    """Grows trees for boosting, by least squares on the same columns in every round.

    The options may be replaced between trees by others of the same depth, leaves and features. Deep
    trees, and trees over codes of two bytes, are grown one by one by `grow_tree`.
    """

    def __init__(self, columns: BinnedColumns, options: GrowthOptions, n_threads: int = 1) -> None:
        self.columns, self.options = columns, options
        self.trees: Any = None
        self.most_leaves = most_leaves(options.max_depth, options.max_leaf_nodes, columns.n_rows)
        if options.has_histograms(columns.n_rows) and columns.in_bytes:
            self.trees = BoostedTrees(
                columns.by_column, columns.n_bins, options, n_threads, columns.flags
            )
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
        """A tree fitted to the targets `gradient`, and the leaf of every one of the n rows.

        O(n p) for each level of the tree. `rows`, increasing, are those that the tree is grown on;
        None for all. `seed` is of the draws of features; None takes that of the options. Of equally
        good splits the one of the feature of the lowest `rank` is taken; None is the order of the
        features. Where `grow_tree` grows the tree, the seed decides.
        """
        if self.trees is None:
            return self._grow_alone(gradient, weight, rows, seed)
        units = self._units_of(len(gradient), weight, rows)
        fields, leaf = self.trees.grow(gradient, weight, rows, rank, self.options, units)
        return _tree_arrays(self.columns, fields), leaf

    @property
    def draws_features(self) -> bool:
        """Whether it knows of `features_per_tree`."""
        return self.trees is not None

    def boosts(self) -> bool:
        """Whether `boost` is for these columns and options."""
        return self.trees is not None and self.options.monotonic_cst is None

    def boost(
        self, risk: RiskArrays, weight: np.ndarray | None, ranks: np.ndarray, **options: Any
    ) -> tuple[list[TreeArrays], list[float], np.ndarray]:
        """Rounds of boosting (see `BoostedTrees.boost`): the trees, the risks, the last leaves.

        The scores and the target of `risk` are changed in place; `weight` and the ranks, (n_rounds,
        K, p), are as in `grow`, and `options` the others of `BoostedTrees.boost`.
        """
        fields, sizes, risks, leaf = self.trees.boost(
            risk.loss,
            risk.y,
            risk.weight,
            risk.scores.ravel(),
            risk.target.ravel(),
            weight,
            ranks,
            options=self.options,
            units=self._units_of(len(risk.y), weight, None),
            **options,
        )
        fields["threshold"] = self.columns.thresholds(fields["feature"], fields["code"])
        trees, start = [], 0
        for n_nodes, depth in sizes:
            part = slice(start, start + n_nodes)
            nodes = {k: field[part] for k, field in fields.items()}
            trees.append(TreeArrays(**nodes, depth=depth, wide=self.columns.wide_columns()))
            start += n_nodes
        return trees, risks, leaf

    def _units_of(
        self, n: int, weight: np.ndarray | None, rows: np.ndarray | None
    ) -> "WeightUnits":
        units = self._units
        if units is None or self._weight is not weight or rows is not None:
            chosen = weight if weight is None or rows is None else weight[rows]
            n = n if rows is None else len(rows)
            units = self._units = weight_units(chosen, n, self.options)
            self._weight = weight
        return units

    def _grow_alone(self, gradient, weight, rows, seed):
        options = self.options if seed is None else replace(self.options, seed=seed)
        if rows is not None:
            gradient, weight = gradient[rows], None if weight is None else weight[rows]
        tree = grow_tree(self.columns, gradient, weight, rows, options)
        return tree, tree.leaves(self.columns)


def integer_scale(total: float, bits: int) -> float:
    """The largest power of two that takes sums of at most `total` to integers below 2^bits."""
    if not total > 0:
        return 1.0
    return float(np.ldexp(1.0, min(bits - 1 - int(np.frexp(total)[1]), 1000)))


class WeightUnits(NamedTuple):
    """How sample weights enter the integers of the rows.

    `is_packed`: the weights are small whole numbers, which fit below the gradient into one integer.
    `bits`: the lower bits of a packed integer; otherwise those that count the rows below a weight.
    `scale`: the integer of weight 1. `total`: the sum of the weights.
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
