"""A tree estimator fitted to columns in bins: grown, pruned, with its fitted attributes."""

from typing import Any, Protocol

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory._compat import prune_tree
from sklearn_ensemble_theory._running import seeded
from sklearn_ensemble_theory._typing import TreeLearner
from sklearn_ensemble_theory.trees._columns import MISSING, BinnedColumns
from sklearn_ensemble_theory.trees._growth import grown_arrays
from sklearn_ensemble_theory.trees._options import (
    GrowthOptions,
    TreePlan,
    TreeShape,
    n_features_drawn,
)
from sklearn_ensemble_theory.trees._shrinkage import SHRINKAGE
from sklearn_ensemble_theory.trees._tree_arrays import (
    GrownTree,
    TreeArrays,
    give_grown,
    grown_tree,
)
from sklearn_ensemble_theory.trees._vector_growth import grown_classes, grown_vectors


class TreeInBins(TreeLearner, Protocol):
    max_features: Any


def grow_on(
    tree: TreeInBins,
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None = None,
    *,
    classes: Any = None,
) -> None:
    """Grow the tree on rows of columns in bins, prune it, and set the fitted attributes."""
    total = float(len(target) if weight is None else weight.sum())
    n_classes = 0 if classes is None else max(map(len, each_output(classes)))
    shape = TreeShape(len(target), total, columns.n_features, n_classes)
    plan = TreePlan.of(tree, columns.n_features)
    options = plan.options(shape, columns.any_missing, columns.categorical)
    features = None
    if options.features_per_tree:
        rank = seeded(options.seed).permutation(columns.n_features)
        features = np.flatnonzero(rank < options.features_per_tree)
        columns, options = columns.take_features(features), options.of_features(features)
    if target.ndim == 2:
        check_vectors(plan, columns, options)
        some = columns if rows is None else columns.take_rows(rows)
        if classes is None:
            arrays = grown_vectors(some, target, weight, options, plan.target_components)
        else:
            counts = [len(labels) for labels in classes]
            arrays = grown_classes(some, target, counts, weight, options)
    else:
        arrays = grown_arrays(columns, target, weight, rows, options)
    if features is not None:
        arrays.name_features(features)
    set_fitted(tree, arrays, shape, classes)
    if tree.ccp_alpha > 0:
        prune(tree)


def prune(tree: TreeInBins) -> None:
    """Minimal cost-complexity pruning by `ccp_alpha`, in place."""
    grown: Any = grown_tree(tree)
    wide, grown.tree = grown.nodes.wide, grown.copy_of_tree()
    prune_tree(tree)
    if wide is not None:
        arrays = TreeArrays.of(grown.tree, wide)
        give_grown(tree, GrownTree(arrays, grown.n_features, grown.n_classes))


def set_fitted(tree: TreeInBins, arrays: TreeArrays, shape: TreeShape, classes: Any) -> None:
    attributes = vars(tree)
    for name in SHRINKAGE:
        attributes.pop(name, None)
    attributes["n_features_in_"] = shape.n_features
    attributes["n_outputs_"] = arrays.value.shape[1]
    attributes["max_features_"] = n_features_drawn(tree.max_features, shape.n_features)
    counts: Any = 1
    if classes is not None:
        attributes["n_outputs_"] = len(each_output(classes))
        several = isinstance(classes, list)
        counts = [len(labels) for labels in classes] if several else len(classes)
        attributes["classes_"] = classes
        attributes["n_classes_"] = np.array(counts) if several else counts
    give_grown(tree, GrownTree(arrays, shape.n_features, counts))


def takes_targets(tree: TreeInBins) -> bool:
    """Whether y may have several columns."""
    return isinstance(tree, DecisionTreeClassifier) or tree.criterion == "squared_error"


def check_vectors(plan: TreePlan, columns: BinnedColumns, options: GrowthOptions) -> None:
    """Raise a ValueError for what trees of several targets do not have."""
    given = {
        "monotonic_cst": options.monotonic_cst is not None and np.any(options.monotonic_cst),
        "interaction_cst": options.interactions is not None,
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(f"y of several columns requires trees without {name}.")
    if not options.n_classes and plan.criterion != "squared_error":
        raise ValueError(
            f"criterion={plan.criterion!r} requires y of one column; for several use "
            "criterion='squared_error'."
        )
    if columns.missing > MISSING:
        raise ValueError(
            f"max_bins={plan.max_bins!r} requires y of one column; for several it is at most "
            f"{MISSING}."
        )


def each_output(classes: Any) -> list[np.ndarray]:
    return classes if isinstance(classes, list) else [classes]
