"""Trees over binned columns by scikit-learn's trees, fitted to the codes: the route without numba.

scikit-learn's tree reads the codes as numbers and cuts halfway between two codes of the node; the
cut in units of X is the edge at the integer part of that threshold.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory._compat import TREES_TRY_BOTH_SIDES
from sklearn_ensemble_theory._numerics.class_columns import aligned_columns
from sklearn_ensemble_theory._trees import on_grid
from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._binned.growth_options import GrowthOptions
from sklearn_ensemble_theory.trees._binned.tree_arrays import LEAF, NO_FEATURE, TreeArrays

__all__ = ["CodeTreeGrower", "grow_on_codes", "is_faster", "supports"]

# Seconds that scikit-learn takes for each row, feature and level, and histograms for a node.
SORTING, HISTOGRAMS = 7e-8, 6e-5


def supports(columns: BinnedColumns, options: GrowthOptions) -> bool:
    """Whether scikit-learn's trees have these options."""
    if options.l2_regularization > 0:
        return False
    if not columns.has_missing.any():
        return True
    if options.monotonic_cst is not None and np.any(options.monotonic_cst):
        return False
    # Growth by histograms takes the place of older releases where it can.
    is_variance = options.criterion == "squared_error" or (
        options.criterion == "gini" and options.n_classes == 2
    )
    return TREES_TRY_BOTH_SIDES or options.random_splits or not is_variance


def is_faster(columns: BinnedColumns, options: GrowthOptions) -> bool:
    """Whether a tree of this size has nodes so small that sorting their codes beats histograms."""
    n_leaves = columns.n_rows / options.min_samples_leaf
    if options.max_leaf_nodes:
        n_leaves = min(n_leaves, options.max_leaf_nodes)
    depth = min(options.max_depth, np.log2(max(n_leaves, 1)) + 1)
    n_nodes = min(2 * n_leaves, 2.0 ** (depth + 1))
    by_sorting = SORTING * columns.n_rows * columns.n_features * depth
    return supports(columns, options) and HISTOGRAMS * n_nodes > by_sorting


class CodeTreeGrower:
    """Grows these trees in the rounds of boosting (see `growth.HistogramGrower`)."""

    def __init__(self, columns: BinnedColumns, options: GrowthOptions) -> None:
        self.columns, self.options = columns, options

    def grow(
        self,
        gradient: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int | None = None,
        rank: np.ndarray | None = None,
    ) -> tuple[TreeArrays, np.ndarray]:
        # The seed decides between equally good splits.
        options = self.options if seed is None else replace(self.options, seed=seed)
        if rows is not None:
            gradient, weight = gradient[rows], None if weight is None else weight[rows]
        # A tree takes nodes as pure where the variance is below 2e-16: above it are differences,
        # below it the rounding errors of equal targets, if no target is larger than 1/16.
        exponent = int(np.frexp(np.max(np.abs(gradient)))[1]) + 4
        least = float(np.ldexp(options.min_impurity_decrease, -2 * exponent))
        options = replace(options, min_impurity_decrease=least)
        tree = grow_on_codes(self.columns, np.ldexp(gradient, -exponent), weight, rows, options)
        tree = replace(
            tree,
            value=np.ldexp(tree.value, exponent),
            impurity=np.ldexp(tree.impurity, 2 * exponent),
        )
        return tree, tree.leaves(self.columns)


def grow_on_codes(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """The tree that scikit-learn grows on the codes (see `growth.grow_tree`)."""
    codes = columns.codes if rows is None else columns.codes.T[:, rows].T
    X = codes.astype(np.float32)  # in Fortran order, as the codes
    has_missing = bool(columns.has_missing.any())
    if has_missing:
        X[codes == columns.missing] = np.nan
    total = float(len(X) if weight is None else weight.sum())
    parameters: dict[str, Any] = {
        "criterion": options.criterion,
        "splitter": "random" if options.random_splits else "best",
        "max_depth": options.max_depth,
        "max_leaf_nodes": options.max_leaf_nodes or None,
        "min_samples_split": options.min_samples_split,
        "min_samples_leaf": options.min_samples_leaf,
        # Rounding upwards would refuse a leaf of exactly this weight.
        "min_weight_fraction_leaf": float(
            np.clip(np.nextafter(options.min_weight_leaf / total, 0.0), 0.0, 0.5)
        ),
        "min_impurity_decrease": options.min_impurity_decrease,
        "max_features": options.max_features or None,
        "random_state": _GivenSeed(options.seed),
    }
    if 2 * options.min_weight_leaf > total:
        parameters["min_samples_split"] = max(len(X) + 1, 2)
    if options.monotonic_cst is not None:
        parameters["monotonic_cst"] = options.constraints(columns.n_features)
    tree: Any
    if options.n_classes:
        tree = DecisionTreeClassifier(**parameters)
    else:
        tree = DecisionTreeRegressor(**parameters)
        target = on_grid(np.asarray(target, dtype=np.float64))
    # Where it does not check X, the tree does not look for missing values either.
    tree.fit(X, target, sample_weight=weight, check_input=has_missing)
    value = tree.tree_.value[:, 0, :]
    if options.n_classes:  # some may not be among these rows
        value = aligned_columns(value, tree.classes_, options.n_classes)
    return _arrays_of(tree.tree_, value, columns)


def _arrays_of(tree: Any, value: np.ndarray, columns: BinnedColumns) -> TreeArrays:
    nodes = tree.__getstate__()["nodes"]
    left = nodes["left_child"].astype(np.int32)
    feature = nodes["feature"].astype(np.int32)
    inner = np.flatnonzero(left != LEAF)
    feature[left == LEAF] = NO_FEATURE
    code = np.full(len(nodes), -2, dtype=np.int32)
    threshold = np.full(len(nodes), -2.0)
    cuts = nodes["threshold"][inner]
    # Some releases have NaN where only missing values may go to the left: no value is below it.
    cuts[np.isnan(cuts)] = -1
    # A cut above the highest bin leaves only missing values on the right.
    code[inner] = np.clip(np.floor(cuts), -1, columns.missing - 1)
    threshold[inner] = columns.thresholds(feature[inner], code[inner])
    return TreeArrays(
        left=left,
        right=nodes["right_child"].astype(np.int32),
        feature=feature,
        code=code,
        threshold=threshold,
        missing_left=nodes["missing_go_to_left"].astype(np.uint8),
        impurity=nodes["impurity"].copy(),
        n_rows=nodes["n_node_samples"].astype(np.int64),
        weight=nodes["weighted_n_node_samples"].copy(),
        value=np.ascontiguousarray(value),
        depth=int(tree.max_depth),
    )


class _GivenSeed(np.random.RandomState):
    """Gives scikit-learn's splitter the seed of its own generator, which it draws by `randint`."""

    def __init__(self, seed: int) -> None:
        super().__init__(0)
        self._seed = seed

    def randint(self, *args: Any, **kwargs: Any) -> Any:
        return self._seed
