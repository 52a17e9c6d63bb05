"""A fitted tree with what predictions need, in the smallest types that hold it exactly."""

from copy import copy
from typing import Any, ClassVar

import numpy as np

from sklearn_ensemble_theory._compat import make_tree
from sklearn_ensemble_theory.trees._columns import SET
from sklearn_ensemble_theory.trees._packed import single_precision_cuts
from sklearn_ensemble_theory.trees._tree_arrays import (
    LEAF,
    NO_FEATURE,
    ArrayTree,
    TreeArrays,
    give_grown,
    grown_tree,
    of_all_outputs,
)

REMOVED = ("impurity", "n_node_samples", "weighted_n_node_samples", "compute_partial_dependence")
# An odd number whose powers, modulo 2^64, spread over all bits.
HASH = np.uint64(0x9E3779B97F4A7C15)


class CompactTree:
    """Takes the place of scikit-learn's `Tree` as the `tree_` of a member.

    Of m nodes, inner ones keep their children as distances, their feature and their threshold in
    single precision, leaves their values, in `dtype` where single precision does not have them
    exactly. X is read in single precision, so that x <= t exactly where x is at most the largest
    single number that is at most t: rows go the same ways. Where some columns are read in double
    precision, the thresholds are kept so. Nodes have the same numbers. The arrays of `Tree` are
    made at each access, and a `Tree` at each call of `predict`, `apply` or `decision_path`; O(m).
    Nodes of categories keep the bytes of their sets that are not the same in all of them.
    """

    is_built: ClassVar[bool] = False
    wide: np.ndarray | None = None

    def __init__(self, tree: Any, dtype: type) -> None:
        is_leaf = tree.children_left == LEAF
        inner = np.flatnonzero(~is_leaf)
        self.node_count, self.max_depth = int(tree.node_count), int(tree.max_depth)
        self.n_features, self.n_outputs = int(tree.n_features), int(tree.n_outputs)
        self.n_leaves = len(is_leaf) - len(inner)
        self.n_classes = np.array(tree.n_classes)
        self.rows_are_alone = rows_are_alone(tree)
        self._importances = tree.compute_feature_importances(normalize=False)
        self._is_leaf = np.packbits(is_leaf)
        self._missing_left = np.packbits(tree.missing_go_to_left[inner] > 0)
        # A child comes after its parent, the left one mostly at once: its distances take a byte.
        self._left = in_few_bytes(tree.children_left[inner] - inner)
        self._right = in_few_bytes(tree.children_right[inner] - inner)
        self._feature = in_few_bytes(tree.feature[inner])
        arrays = getattr(tree, "arrays", tree)  # of a `ArrayTree`
        self.wide = getattr(arrays, "wide", None)
        threshold = arrays.threshold[inner]
        self._threshold = threshold if self.wide is not None else single_precision_cuts(threshold)
        sets: np.ndarray | None = getattr(arrays, "sets", None)
        self._some_set: np.ndarray | None = None
        if sets is not None:
            self._some_set = sets[0].copy()  # not a view, which would keep all of them
            self._differs = np.flatnonzero((sets != sets[0]).any(axis=0))
            self._bytes = sets[:, self._differs]
            self._shares = arrays.left_share[np.isnan(arrays.threshold)]

        value = tree.value[is_leaf]
        self._shape = value.shape[1:]
        rows = np.ascontiguousarray(value.reshape(len(value), -1))
        with np.errstate(over="ignore", under="ignore"):
            single = rows.astype(np.float32)
            # Half a unit in the last place; values beyond the range of single precision are not.
            allowed = 2.0**-24 * np.abs(rows) if dtype == np.float32 else 0.0
            if (np.abs(single - rows) <= allowed).all():
                rows = single
        # Equal values are kept once where that takes less, as those of pure leaves. A hash of the
        # bits is sorted in place of rows, at a tenth of the time; the table is used where it is
        # exact.
        bits = rows.view(f"u{rows.itemsize}")
        factors = HASH ** np.arange(bits.shape[1], dtype=np.uint64)
        _, first, code = np.unique(
            bits.astype(np.uint64) @ factors, return_index=True, return_inverse=True
        )
        table, code = rows[first], in_few_bytes(code)
        is_shorter = table.nbytes + code.nbytes < rows.nbytes
        is_exact = is_shorter and np.array_equal(bits[first][code], bits)
        self._rows: np.ndarray = table if is_exact else rows
        self._code: np.ndarray | None = code if is_exact else None

    def _places(self, leaves: bool) -> np.ndarray:
        """The numbers of the leaves, or of the inner nodes."""
        is_leaf = np.unpackbits(self._is_leaf, count=self.node_count).view(bool)
        return np.flatnonzero(is_leaf if leaves else ~is_leaf)

    def _of_inner(self, values: np.ndarray, at_leaves: float, dtype: type) -> np.ndarray:
        found: np.ndarray = np.full(self.node_count, at_leaves, dtype=dtype)
        found[self._places(leaves=False)] = values
        return found

    def _children(self, distance: np.ndarray) -> np.ndarray:
        inner = self._places(leaves=False)
        return self._of_inner(inner + distance, LEAF, np.int64)

    # Under scikit-learn's names.

    @property
    def children_left(self) -> np.ndarray:
        return self._children(self._left)

    @property
    def children_right(self) -> np.ndarray:
        return self._children(self._right)

    @property
    def feature(self) -> np.ndarray:
        return self._of_inner(self._feature, NO_FEATURE, np.int64)

    @property
    def threshold(self) -> np.ndarray:
        return self._of_inner(self._threshold, -2.0, np.float64)

    @property
    def sets(self) -> np.ndarray | None:
        """The sets of the nodes of categories, whose thresholds are NaN; None where none is."""
        if self._some_set is None:
            return None
        found = np.tile(self._some_set, (len(self._bytes), 1))
        found[:, self._differs] = self._bytes
        return found

    @property
    def left_share(self) -> np.ndarray:
        """`left_share` of the nodes that have a set; 1 in others."""
        found = np.ones(self.node_count)
        found[np.isnan(self.threshold)] = self._shares
        return found

    @property
    def missing_go_to_left(self) -> np.ndarray:
        n_inner = self.node_count - self.n_leaves
        return self._of_inner(np.unpackbits(self._missing_left, count=n_inner), 0, np.uint8)

    @property
    def value(self) -> np.ndarray:
        """The values of the nodes; NaN in inner ones."""
        rows = self._rows if self._code is None else self._rows[self._code]
        found = np.full((self.node_count, *self._shape), np.nan)
        found[self._places(leaves=True)] = rows.reshape(-1, *self._shape)
        return found

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """Those of the tree before."""
        total = self._importances.sum()
        return self._importances / total if normalize and total > 0 else self._importances.copy()

    def readable_tree(self) -> Any:
        """What finds the leaves of rows."""
        sets, left_bins, shares = self.sets, None, None
        if sets is None and self.wide is None:
            return self.sklearn_tree()
        threshold, nothing = self.threshold, np.full(self.node_count, np.nan)
        has_set = np.isnan(threshold)
        if sets is not None:
            left_bins = np.zeros((self.node_count, sets.shape[1]), dtype=np.uint8)
            left_bins[has_set] = sets
            shares = self.left_share
        arrays = TreeArrays(
            self.children_left,
            self.children_right,
            self.feature,
            np.where(has_set, SET, 0),
            threshold,
            self.missing_go_to_left,
            nothing,
            nothing,
            nothing,
            of_all_outputs(self.value, self.n_classes),
            self.max_depth,
            left_bins,
            self.wide,
            shares,
        )
        several = self.n_outputs > 1 and self.n_classes.max() > 1
        counts = self.n_classes.tolist() if several else int(self.n_classes[0])
        return ArrayTree(arrays, self.n_features, counts)

    def sklearn_tree(self) -> Any:
        """scikit-learn's `Tree`, without sets; impurities and weights NaN, numbers of rows 0."""
        fields = {
            "left_child": self.children_left,
            "right_child": self.children_right,
            "feature": self.feature,
            "threshold": self.threshold,
            "missing_go_to_left": self.missing_go_to_left,
            "impurity": np.nan,
            "weighted_n_node_samples": np.nan,
        }
        n_classes = self.n_classes.tolist()
        return make_tree(fields, self.value, self.max_depth, self.n_features, n_classes)

    def predict(self, X: Any) -> np.ndarray:
        return self.readable_tree().predict(X)

    def apply(self, X: Any) -> np.ndarray:
        return self.readable_tree().apply(X)

    def decision_path(self, X: Any) -> Any:
        return self.readable_tree().decision_path(X)

    def __getattr__(self, name: str) -> Any:
        reason = "; compact() removed what it is" if name in REMOVED else ""
        raise AttributeError(f"This {type(self).__name__} has no attribute {name!r}{reason}.")


def in_few_bytes(numbers: np.ndarray) -> np.ndarray:
    """Numbers of at least 0 in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def rows_are_alone(tree: Any) -> bool:
    """Whether most rows are in leaves that are pure, or hold fewer than 5."""
    if isinstance(tree, CompactTree):
        return tree.rows_are_alone
    leaves = tree.children_left == LEAF
    n_rows, impurity = tree.n_node_samples[leaves], tree.impurity[leaves]
    alone = (n_rows < 5) | (impurity <= 1e-9 * tree.impurity[0])
    return bool(2 * n_rows[alone].sum() > n_rows.sum())


def with_compact_tree(member: Any, dtype: type) -> Any:
    """A copy of a fitted tree, of scikit-learn's or in bins, with a `CompactTree`."""
    found = copy(member)
    grown = grown_tree(found)
    if grown is not None:
        give_grown(found, copy(grown))
    found.tree_ = CompactTree(found.tree_, dtype)
    return found
