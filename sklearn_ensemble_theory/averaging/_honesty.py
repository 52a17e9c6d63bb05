"""Honest trees: some of the rows drawn choose the splits, and the others are in the leaves.

Given the splits, the rows in a leaf are then independent draws of the target there, as the theory
of confidence intervals for forests needs [Wager and Athey, 2018].
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from sklearn_ensemble_theory._compat import make_tree, tree_state
from sklearn_ensemble_theory._scaling import impurities_shifted_by, power_of_two
from sklearn_ensemble_theory.ensembles._out_of_bag_importances import node_means
from sklearn_ensemble_theory.trees._columns import SET
from sklearn_ensemble_theory.trees._tree_arrays import (
    LEAF,
    GrownTree,
    TreeArrays,
    by_output,
    give_grown,
    levels_of,
    member_nodes,
)


def drawn_for_leaves(
    rows: np.ndarray, units: np.ndarray | None, share: float, rng: np.random.RandomState
) -> np.ndarray:
    """Which of the distinct rows drawn are in the leaves: this share of them, or of their units.

    A row that was drawn several times, and the rows of a group, are on one side. A single unit is
    on both: its tree has at most one row, or the splits of one group.
    """
    known, unit = np.unique(rows if units is None else units[rows], return_inverse=True)
    if len(known) < 2:
        return np.ones(len(rows), dtype=bool)
    n = int(np.clip(round(share * len(known)), 1, len(known) - 1))
    chosen = np.zeros(len(known), dtype=bool)
    chosen[rng.permutation(len(known))[:n]] = True
    return chosen[unit]


def estimate_leaves(member: Any, X: Any, y: np.ndarray, weights: np.ndarray) -> None:
    """Give the nodes of a fitted tree, in place, the values of these rows instead of its own.

    The numbers of rows, their weights and impurities are those of these rows as well. A split with
    a side that none of the rows is on sends all rows to the other side: the tree is pruned to the
    nodes that have rows [Athey, Tibshirani and Wager, 2019].

    X has the s rows in float32, `y` their targets or codes of classes, `weights` are positive.
    """
    (nodes,) = member_nodes([member], of_any_output=True) or (None,)
    assert nodes is not None
    leaf = member.apply(X, check_input=False)
    labels = getattr(member, "classes_", None)
    unit, classes = 1.0, None
    if labels is None:
        targets = y.reshape(len(y), -1).astype(np.float64)
        unit = power_of_two(float(np.abs(targets).max()) or 1.0)  # no sum overflows
        targets = targets / unit
    else:
        # Rows that choose splits may lack a class of the others.
        columns = y.reshape(len(y), -1).T
        given = labels if isinstance(labels, list) else [labels]
        classes = [np.union1d(known, column) for known, column in zip(given, columns)]
        parts = [np.equal(column[:, None], known) for known, column in zip(classes, columns)]
        targets = np.hstack(parts).astype(np.float64)
    # What impurities are made of: squares about the mean of all rows, beside which they are not
    # small, or terms of the deviance. Those of shares are made of the shares.
    about = np.average(targets, axis=0, weights=weights)
    terms = targets[:, :0]
    if labels is None:
        is_deviance = member.criterion == "poisson"
        terms = xlogy(targets, targets) if is_deviance else (targets - about) ** 2
    total, found = node_means(nodes, leaf, weights, np.hstack([targets, terms]))
    value, terms = np.split(found, [targets.shape[1]], axis=1)
    n_rows = node_means(nodes, leaf, np.ones(len(y)), targets[:, :0])[0].astype(np.int64)

    # Nodes with rows, without those whose rows are all on one side: these become that side.
    left, right = np.asarray(nodes.left), np.asarray(nodes.right)
    stands_for, has_rows = np.arange(len(left)), n_rows > 0
    is_kept, levels = has_rows.copy(), levels_of(left, right)
    for inner in reversed(levels):
        goes_left, goes_right = has_rows[left[inner]], has_rows[right[inner]]
        one_side = inner[goes_left != goes_right]
        side = np.where(goes_left, left[inner], right[inner])[goes_left != goes_right]
        stands_for[one_side] = stands_for[side]
        is_kept[one_side] = False
    kept = np.flatnonzero(is_kept)
    number = np.cumsum(is_kept) - 1
    is_leaf = left[kept] == LEAF
    new_left = np.where(is_leaf, LEAF, number[stands_for[left[kept]]])
    new_right = np.where(is_leaf, LEAF, number[stands_for[right[kept]]])
    depth = len(levels_of(new_left, new_right)) - 1

    total, value, terms, n_rows = total[kept], value[kept], terms[kept], n_rows[kept]
    exponent = int(np.frexp(unit)[1]) - 1
    if classes is not None and member.criterion == "gini":
        impurity = value * (1.0 - value)
    elif classes is not None:
        impurity = -xlogy(value, value) / np.log(2.0)
    elif member.criterion == "poisson":
        impurity = impurities_shifted_by(terms - xlogy(value, value), exponent)
    else:
        impurity = impurities_shifted_by(terms - (value - about) ** 2, 2 * exponent)
    # Of several outputs the mean; rounding may leave a pure node less than 0.
    n_outputs = value.shape[1] if classes is None else len(classes)
    impurity = np.maximum(impurity.sum(axis=1) / n_outputs, 0.0)
    value *= unit
    counts: Any = 1
    if classes is not None:
        several = isinstance(labels, list)
        counts = [len(known) for known in classes] if several else len(classes[0])
        member.classes_ = classes if several else classes[0]
        member.n_classes_ = np.array(counts) if several else counts

    if isinstance(nodes, TreeArrays):
        bins = None if nodes.left_bins is None else nodes.left_bins[kept]
        arrays = replace(
            nodes,
            left=new_left.astype(nodes.left.dtype),
            right=new_right.astype(nodes.right.dtype),
            feature=nodes.feature[kept],
            code=nodes.code[kept],
            threshold=nodes.threshold[kept],
            missing_left=nodes.missing_left[kept],
            impurity=impurity,
            n_rows=n_rows,
            weight=total,
            value=value,
            depth=depth,
            left_bins=bins if (nodes.code[kept] == SET).any() else None,
        )
        give_grown(member, GrownTree(arrays, member.n_features_in_, counts))
    else:
        fields = tree_state(member.tree_)["nodes"][kept]
        fields["left_child"], fields["right_child"] = new_left, new_right
        fields["impurity"], fields["n_node_samples"] = impurity, n_rows
        fields["weighted_n_node_samples"] = total
        member.tree_ = make_tree(
            fields, by_output(value, counts), depth, member.n_features_in_, counts
        )
