"""Decision stumps as scikit-learn's trees of depth one."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._compat import make_tree
from sklearn_ensemble_theory._conversion import to_sklearn
from sklearn_ensemble_theory.trees._sklearn_trees import fitted_tree

# scikit-learn's marks of a leaf.
NO_CHILD, NO_FEATURE, NO_THRESHOLD = -1, -2, -2.0


def sides_of(
    on_left: np.ndarray, left_weight: float, impurities: Sequence[float] = (0.0, 0.0)
) -> np.ndarray:
    """What a tree states of the two sides beyond their values: an array of shape (2, 3).

    Its columns are the number of rows, the share of the weight, and the impurity; for classes the
    last follows from the shares, and is left out.
    """
    n_left = int(np.count_nonzero(on_left))
    rows = (n_left, len(on_left) - n_left)
    return np.column_stack([rows, (left_weight, 1.0 - left_weight), impurities])


def sides_of_targets(on_left: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same for real targets: the impurity is the variance of the targets of a side."""
    impurities, scale = [], np.max(np.abs(y), initial=0.0)
    for side in (on_left, ~on_left):
        w = weight[side]
        if not w.sum() > 0 or scale == 0:
            impurities.append(0.0)
            continue
        t = y[side] / scale  # squares of large targets overflow
        t = t - np.average(t, weights=w)
        with np.errstate(over="ignore", under="ignore"):
            impurities.append(float(np.average(t**2, weights=w) * scale * scale))
    return sides_of(on_left, float(weight[on_left].sum()), impurities)


def gini(shares: np.ndarray) -> np.ndarray:
    """The Gini index of classes with these shares, along the last axis."""
    return 1.0 - np.square(shares).sum(axis=-1)


class StumpTree:
    """`to_sklearn` of a stump; it defines the values of its sides, and their impurities.

    `fit` and the ensembles that know it set `_sides`, the array of `sides_of`.
    """

    feature_: int
    threshold_: float
    n_features_in_: int
    _sides: np.ndarray
    _sklearn_class: Any

    to_sklearn = to_sklearn

    def _leaf_values(self) -> np.ndarray:
        """The values of the two sides, in two rows, as a tree has them."""
        raise NotImplementedError

    def _impurities(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Of the root and of the two sides, from their values and shares of the weight."""
        raise NotImplementedError

    def _obstacles(self) -> Iterator[str]:
        if "_sides" not in vars(self):
            yield "it is a member of an ensemble that does not keep the weights of its two sides."

    def _unfitted_counterpart(self) -> Any:
        return self._sklearn_class(max_depth=1)

    def _counterpart(self) -> Any:
        values, (rows, weights) = self._leaf_values(), self._sides[:, :2].T
        mean = weights @ values
        n_rows = rows.sum()
        fields: dict[str, Any] = {
            "left_child": [1, NO_CHILD, NO_CHILD],
            "right_child": [2, NO_CHILD, NO_CHILD],
            "feature": [self.feature_, NO_FEATURE, NO_FEATURE],
            "threshold": [self.threshold_, NO_THRESHOLD, NO_THRESHOLD],
            "impurity": self._impurities(values, weights),
            "n_node_samples": [n_rows, *rows],
            "weighted_n_node_samples": [n_rows, *(n_rows * weights)],
        }
        nodes = np.vstack([mean, values])
        depth = 1
        if not np.isfinite(self.threshold_):  # constant: all rows are on the left, in a single leaf
            fields = {name: column[1:2] for name, column in fields.items()}
            nodes, depth = values[:1], 0
        n_features, n_values = self.n_features_in_, nodes.shape[1]
        tree = make_tree(fields, nodes[:, None, :], depth, n_features, n_values)
        classes = getattr(self, "classes_", None)
        found = fitted_tree(self._unfitted_counterpart(), tree, classes)
        found.max_features_ = n_features
        return found
