"""The nodes of fitted trees, wherever they are kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._compat import tree_state
from sklearn_ensemble_theory._trees import is_tree

__all__ = ["member_nodes", "single_precision_cuts"]


class FittedTreeNodes:
    """The nodes of scikit-learn's `Tree`, under the names of `TreeArrays`; views, not copies."""

    is_built = True

    def __init__(self, tree: Any) -> None:
        state = tree_state(tree)
        self.nodes, self.values = state["nodes"], state["values"]
        self.depth = state["max_depth"]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def left(self) -> np.ndarray:
        return self.nodes["left_child"]

    @property
    def right(self) -> np.ndarray:
        return self.nodes["right_child"]

    @property
    def feature(self) -> np.ndarray:
        return self.nodes["feature"]

    @property
    def threshold(self) -> np.ndarray:
        return self.nodes["threshold"]

    @property
    def missing_left(self) -> np.ndarray:
        return self.nodes["missing_go_to_left"]

    @property
    def value(self) -> np.ndarray:
        return self.values[:, 0, :]


def member_nodes(members: Sequence[Any]) -> list[Any] | None:
    """The nodes of each member, with the attributes of `TreeArrays`.

    In addition `is_built`: whether the member's `tree_` is there, or would first have to be made.

    None where a member is no tree of one output. scikit-learn's own trees are read; an estimator
    of this package that is a tree gives its arrays by a method `_node_arrays()`, which a subclass
    does not inherit.
    """
    found: list[Any] = []
    for member in members:
        if "_node_arrays" in vars(type(member)):
            found.append(member._node_arrays())
        elif is_tree(member) and member.n_outputs_ == 1:
            found.append(FittedTreeNodes(member.tree_))
        else:
            return None
    return found


def single_precision_cuts(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 that is at most the threshold.

    X is read in single precision, so x <= threshold holds exactly where x <= this.
    """
    with np.errstate(over="ignore", under="ignore"):
        cuts = threshold.astype(np.float32)
        above = cuts > threshold
        if above.any():
            cuts[above] = np.nextafter(cuts[above], np.float32(-np.inf))
    return cuts
