"""Honest trees: some of the rows drawn choose the splits, and the others are in the leaves.

Given the splits, the rows in a leaf are then independent draws of the target there, as the theory
of confidence intervals for forests needs [Wager and Athey, 2018].
"""

from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_ensemble_theory._compat import make_tree, tree_state
from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory.ensembles._importances import node_means
from sklearn_ensemble_theory.trees._tree_arrays import (
    LEAF,
    GrownTree,
    TreeArrays,
    by_output,
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

    A split with a side that none of the rows is on sends all rows to the other side: the tree is
    pruned to the nodes that have rows [Athey, Tibshirani and Wager, 2019], and they keep their
    numbers.

    Parameters
    ----------
    member : tree
        Of scikit-learn's or in bins.
    X : {array, CSR matrix} of float32 of shape (s, p)
    y : array of shape (s,) or (s, k)
        Targets, or codes of classes.
    weights : array of shape (s,)
        Positive.
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
    total, value = node_means(nodes, leaf, weights, targets)
    value *= unit

    inner = np.flatnonzero(np.asarray(nodes.left) != LEAF)
    goes_left = inner[total[nodes.right[inner]] == 0]
    goes_right = inner[(total[nodes.left[inner]] == 0) & (total[nodes.right[inner]] > 0)]
    counts: Any = 1
    if classes is not None:
        several = isinstance(labels, list)
        counts = [len(known) for known in classes] if several else len(classes[0])
        member.classes_ = classes if several else classes[0]
        member.n_classes_ = np.array(counts) if several else counts

    if isinstance(nodes, TreeArrays):
        threshold, missing_left = nodes.threshold.copy(), nodes.missing_left.copy()
        code = nodes.code.copy()
        code[goes_left], code[goes_right] = np.iinfo(code.dtype).max, -1
    else:
        state = tree_state(member.tree_)
        fields = state["nodes"].copy()
        threshold, missing_left = fields["threshold"], fields["missing_go_to_left"]
    threshold[goes_left], threshold[goes_right] = np.inf, -np.inf
    missing_left[goes_left], missing_left[goes_right] = 1, 0
    if isinstance(nodes, TreeArrays):
        arrays = replace(
            nodes, threshold=threshold, missing_left=missing_left, code=code, value=value
        )
        member._grown = GrownTree(arrays, member.n_features_in_, counts)
    else:
        member.tree_ = make_tree(
            fields, by_output(value, counts), state["max_depth"], member.n_features_in_, counts
        )
