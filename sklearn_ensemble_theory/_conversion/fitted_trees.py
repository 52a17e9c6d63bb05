"""Fitted trees of scikit-learn's made of nodes and values that are known."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from sklearn_ensemble_theory._compat import make_tree, tree_state
from sklearn_ensemble_theory._numerics.class_columns import aligned_columns

__all__ = ["fitted_tree", "with_all_classes", "with_scaled_values"]


def fitted_tree(estimator: Any, tree: Any, classes: np.ndarray | None = None) -> Any:
    """One of scikit-learn's trees of one output, fitted to this `Tree`.

    Parameters
    ----------
    estimator : estimator
        Not fitted; it is the one that is returned.
    tree : Tree
    classes : array of shape (K,) or None
        The labels; None for regression.
    """
    estimator.tree_ = tree
    estimator.n_features_in_ = tree.n_features
    estimator.n_outputs_ = 1
    if classes is not None:
        estimator.classes_, estimator.n_classes_ = classes, len(classes)
    return estimator


def with_scaled_values(member: Any, factor: float) -> Any:
    """A copy of a fitted regression tree, whose predictions are multiplied by a factor."""
    state = tree_state(member.tree_)
    found = copy(member)
    found.tree_ = make_tree(
        state["nodes"], factor * state["values"], state["max_depth"], member.tree_.n_features
    )
    return found


def with_all_classes(member: Any, n_classes: Sequence[int]) -> Any:
    """A copy of a fitted classification tree, with values for all classes of its forest.

    Parameters
    ----------
    member : tree
        Whose `classes_` are codes of the forest's classes; those of one output follow those of the
        one before. Its rows may lack classes, which then have the share 0.
    n_classes : sequence of int
        The forest's numbers of classes, one for each output.
    """
    state = tree_state(member.tree_)
    known = member.classes_ if isinstance(member.classes_, list) else [member.classes_]
    values = np.zeros((len(state["values"]), len(n_classes), max(n_classes)))
    start = 0
    for k, (codes, count) in enumerate(zip(known, n_classes)):
        places = np.asarray(codes, dtype=np.intp) - start
        shares = state["values"][:, k, : len(places)]
        values[:, k, :count] = aligned_columns(shares, places, count)
        start += count
    found = copy(member)
    found.tree_ = make_tree(
        state["nodes"], values, state["max_depth"], member.tree_.n_features, list(n_classes)
    )
    classes = [np.arange(count) for count in n_classes]
    one = len(n_classes) == 1
    found.classes_ = classes[0] if one else classes
    found.n_classes_ = n_classes[0] if one else np.asarray(n_classes)
    return found
