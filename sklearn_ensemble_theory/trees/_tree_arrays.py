"""The nodes of a tree as arrays: grown here or read from scikit-learn's `Tree`, and made into one.

With them go what a tree says of rows: the leaves of rows in bins, the values of rows of numbers,
and outputs that are added to scores without being written out.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from sklearn_ensemble_theory._categories import UNSEEN
from sklearn_ensemble_theory._compat import make_tree
from sklearn_ensemble_theory._learners import fast_path, is_tree
from sklearn_ensemble_theory._native.prediction import (
    LooseNodes,
    add_leaf_values,
    check_nodes,
    leaves_of_codes,
)
from sklearn_ensemble_theory._rows import fits_single_precision
from sklearn_ensemble_theory.trees._columns import MISSING, SET, BinnedColumns

# scikit-learn's marks of a leaf: no children, no feature.
LEAF, NO_FEATURE = -1, -2
# Numbers of X that are held in single precision at once in predictions: 8 MB.
VALUES_AT_ONCE = 2**21
LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """The m nodes of a tree; node 0 is the root, a child comes after its parent.

    - left, right: children; -1 in leaves. `feature` is -2 there.
    - code: a row goes to the left where its code is at most this. -1 where only missing values do.
    - threshold: the same in units of X: a row goes to the left where its value is at most this. -2
      in leaves; -inf and inf where missing values are parted from all others.
    - missing_left: 1 where missing values go to the left.
    - value: (m, K), the mean of the target (K = 1), or the shares of the K classes, those of
      several outputs after each other, or the means of K targets.
    - depth: of the deepest leaf; the root has 0.
    - left_bins: (m, 32), a bit for each bin, the lowest first, where nodes have sets of categories:
      1 where the bin goes to the left. The last bit is that of missing and unknown values. These
      nodes have the code -3 and the threshold NaN. None where no node has a set.
    - wide: the columns whose values are read in double precision, because single precision does not
      tell those of the training rows apart; all others are read in single precision. None for none.
    - kept_shares: `left_share`, where the nodes have no weights.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    code: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    impurity: np.ndarray
    n_rows: np.ndarray
    weight: np.ndarray
    value: np.ndarray
    depth: int
    left_bins: np.ndarray | None = None
    wide: np.ndarray | None = None
    kept_shares: np.ndarray | None = None

    # Whether scikit-learn's `Tree` of these nodes is there, or would first have to be made.
    is_built: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.left)

    @property
    def is_leaf(self) -> np.ndarray:
        return self.left == LEAF

    @property
    def sets(self) -> np.ndarray | None:
        """The sets of the nodes that have one; None where none has."""
        return None if self.left_bins is None else self.left_bins[self.code == SET]

    @property
    def left_share(self) -> np.ndarray:
        """The share of the weight of each inner node that is on its left, (m,); 1 in leaves."""
        if self.kept_shares is not None:
            return self.kept_shares
        found, inner = np.ones(len(self)), np.flatnonzero(~self.is_leaf)
        left, right = self.weight[self.left[inner]], self.weight[self.right[inner]]
        # Of two children whose weights have underflowed nothing is known.
        shares = np.full(len(inner), 0.5)
        np.divide(left, left + right, out=shares, where=left + right > 0)
        found[inner] = shares
        return found

    def name_features(self, features: np.ndarray) -> None:
        """The nodes of a tree on these columns get the numbers of the columns among all."""
        is_cut = ~self.is_leaf
        self.feature[is_cut] = features[self.feature[is_cut]]
        if self.wide is not None:
            self.wide[:] = features[self.wide]

    def leaves(self, columns: BinnedColumns) -> np.ndarray:
        """The leaf of each row, in the smallest integer type that holds it. O(n depth)."""
        leaf = np.empty(len(columns.codes), dtype=np.int32)
        code = np.ascontiguousarray(self.code, dtype=np.int32)
        left, right, feature, missing_left = self.links()
        leaves_of_codes(
            columns.codes,
            left,
            right,
            feature,
            code,
            missing_left,
            columns.missing,
            leaf,
            self.left_bins,
        )
        return leaf.astype(np.min_scalar_type(len(self) - 1))

    @property
    def members(self) -> np.ndarray:
        """`left_bins` as truth values, (m, 256)."""
        assert self.left_bins is not None
        return np.unpackbits(self.left_bins, axis=1, bitorder="little").view(bool)

    def values_of_rows(self, X: np.ndarray) -> np.ndarray:
        """The values (n, K) of dense rows."""
        found: np.ndarray = self.value[self.leaves_of_rows(X)]
        if self.left_bins is not None:
            unseen = rows_with_unseen(X, set_columns([self], [None]))
            found[unseen] = mean_values(self, X[unseen])
        return found

    def leaves_of_rows(self, X: np.ndarray) -> np.ndarray:
        """The leaves of dense rows. O(n depth)."""
        leaf = np.empty((1, len(X)), dtype=np.int32)
        LooseNodes([loose_fields(self)]).leaves(rows_as_read(X, self.wide), 0, 1, leaf)
        return leaf[0]

    def links(self) -> list[np.ndarray]:
        """Children, features and directions of missing values, as compiled loops take them."""
        links = [np.ascontiguousarray(a, np.int32) for a in (self.left, self.right, self.feature)]
        return [*links, np.ascontiguousarray(self.missing_left, dtype=np.uint8)]

    @classmethod
    def of(cls, tree: Any, wide: np.ndarray | None) -> "TreeArrays":
        """The nodes of scikit-learn's `Tree`, without codes."""
        nodes = FittedNodes(tree)
        return cls(
            left=nodes.left,
            right=nodes.right,
            feature=nodes.feature,
            code=np.zeros(len(nodes), dtype=np.int32),
            threshold=nodes.threshold,
            missing_left=nodes.missing_left,
            impurity=tree.impurity,
            n_rows=tree.n_node_samples,
            weight=tree.weighted_n_node_samples,
            value=nodes.value,
            depth=nodes.depth,
            wide=wide,
        )

    def sklearn_tree(self, n_features: int, n_classes: Any = 1) -> Any:
        """The same tree as scikit-learn's `Tree`; one class is for regression. O(m)."""
        fields = {
            "left_child": self.left,
            "right_child": self.right,
            "feature": self.feature,
            "threshold": self.threshold,
            "impurity": self.impurity,
            "n_node_samples": self.n_rows,
            "weighted_n_node_samples": self.weight,
            "missing_go_to_left": self.missing_left,
        }
        values = by_output(self.value, n_classes)
        return make_tree(fields, values, self.depth, n_features, n_classes)


def in_single_precision(X: np.ndarray) -> np.ndarray:
    """Dense rows, C-contiguous; numbers beyond the range of single precision are its largest."""
    if X.dtype == np.float32:
        return np.ascontiguousarray(X)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.ascontiguousarray(X, dtype=np.float32)
        # Infinity would not be above the threshold that parts missing values from all others.
        if not np.isfinite(rows.sum()) and not fits_single_precision(X):
            rows = np.clip(rows, -LARGEST, LARGEST)
    return rows


def rows_as_read(X: Any, wide: np.ndarray | None) -> Any:
    """Rows in the precision in which trees read them: double in the columns `wide`.

    The values of all other columns of a dense X are those of single precision. A sparse X becomes
    a CSR matrix, all in one precision.
    """
    if issparse(X):
        X = X.tocsr()
        data = X.data if wide is not None else in_single_precision(X.data)
        return type(X)((data, X.indices, X.indptr), shape=X.shape)
    rows = in_single_precision(X)
    if wide is None or X.dtype == np.float32:
        return rows
    rows = rows.astype(np.float64)
    rows[:, wide] = X[:, wide]
    return rows


def reads_double(members: Sequence[Any]) -> bool:
    """Whether one of them is a tree in bins with a wide column."""
    grown = (grown_tree(member) for member in members)
    return any(each is not None and each.nodes.wide is not None for each in grown)


def read_by(member: Any, X: Any) -> Any:
    """Checked rows as this tree takes them without a check: scikit-learn's in single precision."""
    return rows_as_read(X, None) if is_tree(member) else X


def dense_blocks(X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """The rows of X in parts: of a sparse X small ones that are dense, else one."""
    is_sparse = issparse(X)
    X = X.tocsr() if is_sparse else X
    step = max(1, VALUES_AT_ONCE // X.shape[1] if is_sparse else X.shape[0])
    for start in range(0, max(X.shape[0], 1), step):
        rows = slice(start, start + step)
        yield rows, X[rows].toarray() if is_sparse else X


def wide_columns(
    trees: Sequence["Nodes"], features: Sequence[np.ndarray | None] | None = None
) -> np.ndarray | None:
    """The columns that one of the trees reads in double precision; None where none does."""
    found = []
    for tree, columns in zip(trees, features or [None] * len(trees)):
        if tree.wide is not None:
            found.append(tree.wide if columns is None else columns[tree.wide])
    return np.unique(np.concatenate(found)) if found else None


def set_columns(trees: Sequence["Nodes"], features: Sequence[np.ndarray | None]) -> np.ndarray:
    """The columns of X that nodes with sets of categories split."""
    found = [np.empty(0, dtype=np.intp)]
    for tree, columns in zip(trees, features):
        if tree.sets is not None:
            own = np.unique(tree.feature[np.isnan(tree.threshold)]).astype(np.intp)
            found.append(own if columns is None else columns[own])
    return np.unique(np.concatenate(found))


def rows_with_unseen(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The numbers of the rows that have `UNSEEN` in one of these columns of categories."""
    is_unseen = np.zeros(len(X), dtype=bool)
    for j in columns.tolist():
        is_unseen |= X[:, j] == UNSEEN
    return np.flatnonzero(is_unseen)


def mean_values(tree: "Nodes", X: np.ndarray) -> np.ndarray:
    """The values (n, K) of dense rows whose unseen categories go to both children of a node.

    A child counts with its share of the training weight in the node. The rows walk down together,
    level by level: O(leaves that they reach), and as much memory for some of the rows at a time.
    """
    arrays = readable(tree)
    found = np.zeros((len(X), arrays.value.shape[1]))
    step = max(1, VALUES_AT_ONCE // len(arrays))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        _add_mean_values(arrays, rows_as_read(X[rows], arrays.wide), found[rows])
    return found


def _add_mean_values(tree: TreeArrays, X: np.ndarray, out: np.ndarray) -> None:
    left_share = tree.left_share
    row, at, share = np.arange(len(X)), np.zeros(len(X), dtype=np.intp), np.ones(len(X))
    while len(row):
        ends = tree.left[at] < 0
        np.add.at(out, row[ends], share[ends, None] * tree.value[at[ends]])
        row, at, share = row[~ends], at[~ends], share[~ends]
        x = X[row, tree.feature[at]]
        goes_left = np.where(np.isnan(x), tree.missing_left[at] != 0, x <= tree.threshold[at])
        has_set = np.isnan(tree.threshold[at])
        if has_set.any():
            assert tree.left_bins is not None
            of_set, category = at[has_set], x[has_set]
            is_known = (category >= 0) & (category < MISSING)
            code = np.where(is_known, category, MISSING).astype(np.intp)
            goes_left[has_set] = tree.left_bins[of_set, code >> 3] >> (code & 7) & 1
        both = has_set & (x == UNSEEN)
        on_left, on_right = goes_left | both, ~goes_left | both
        p = left_share[at]
        sides = [np.where(both, each, 1.0) * share for each in (p, 1.0 - p)]
        at = np.concatenate([tree.left[at[on_left]], tree.right[at[on_right]]]).astype(np.intp)
        row = np.concatenate([row[on_left], row[on_right]])
        share = np.concatenate([sides[0][on_left], sides[1][on_right]])


def by_output(values: np.ndarray, n_classes: Any) -> np.ndarray:
    """Values (m, K) of nodes as scikit-learn's, (m, n_outputs, most classes of an output)."""
    if np.ndim(n_classes) == 0:
        # Several numbers in a node are the shares of classes, or the means of several outputs.
        return values[:, :, None] if n_classes == 1 else values[:, None, :]
    found = np.zeros((len(values), len(n_classes), max(n_classes)))
    found[:, np.arange(max(n_classes)) < np.reshape(n_classes, (-1, 1))] = values
    return found


def of_all_outputs(values: np.ndarray, n_classes: np.ndarray) -> np.ndarray:
    """The values (m, K) from scikit-learn's."""
    return values[:, np.arange(values.shape[2]) < np.reshape(n_classes, (-1, 1))]


class FittedNodes:
    """The nodes of scikit-learn's `Tree`, named as in `TreeArrays`: views, made when read."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.is_built: bool = getattr(tree, "is_built", True)  # False of a `CompactTree`
        self.depth: int = tree.max_depth
        # Of a `CompactTree`.
        self.sets: np.ndarray | None = getattr(tree, "sets", None)
        self.wide: np.ndarray | None = getattr(tree, "wide", None)

    # scikit-learn's trees have no sets of categories; those of compact ones are not written out.
    left_bins: ClassVar[None] = None

    def readable(self) -> TreeArrays:
        """The nodes of a `CompactTree` with sets, written out."""
        arrays: TreeArrays = self.tree.readable_tree().arrays
        return arrays

    def __len__(self) -> int:
        n_nodes: int = self.tree.node_count
        return n_nodes

    @property
    def left(self) -> np.ndarray:
        return self.tree.children_left

    @property
    def right(self) -> np.ndarray:
        return self.tree.children_right

    @property
    def feature(self) -> np.ndarray:
        return self.tree.feature

    @property
    def threshold(self) -> np.ndarray:
        return self.tree.threshold

    @property
    def missing_left(self) -> np.ndarray:
        return self.tree.missing_go_to_left

    @property
    def value(self) -> np.ndarray:
        values = self.tree.value
        return (
            values[:, 0, :] if values.shape[1] == 1 else of_all_outputs(values, self.tree.n_classes)
        )

    def values_of_rows(self, X: np.ndarray) -> np.ndarray:
        """The values (n, K) of dense rows."""
        found: np.ndarray = self.tree.predict(rows_as_read(X, self.wide))
        return found if found.ndim == 2 else of_all_outputs(found, self.tree.n_classes)


Nodes = TreeArrays | FittedNodes


def readable(nodes: Nodes) -> TreeArrays:
    """The nodes of a tree with sets as arrays."""
    return nodes.readable() if isinstance(nodes, FittedNodes) else nodes


def loose_fields(
    nodes: Nodes, columns: np.ndarray | None = None, places: np.ndarray | None = None
) -> tuple[Any, ...]:
    """What `LooseNodes` reads of a tree: its arrays where they are, if they have the types."""
    if isinstance(nodes, FittedNodes) and not nodes.is_built:
        tree = nodes.tree.readable_tree()
        nodes = tree.arrays if isinstance(tree, ArrayTree) else FittedNodes(tree)
    links = [nodes.left, nodes.right, nodes.feature]
    is_wide = None if nodes.wide is None else np.isin(np.arange(nodes.wide.max() + 1), nodes.wide)
    index = np.int32 if all(link.dtype == np.int32 for link in links) else np.int64
    return (
        *(np.asarray(link, dtype=index) for link in links),
        np.asarray(nodes.threshold, dtype=np.float64),
        np.asarray(nodes.missing_left, dtype=np.uint8),
        np.asarray(nodes.value, dtype=np.float64),
        nodes.left_bins,
        None if is_wide is None else is_wide.view(np.uint8),
        *(None if each is None else np.array(each, dtype=np.int64) for each in (columns, places)),
    )


class ArrayTree:
    """Takes the place, as `tree_`, of scikit-learn's `Tree`, which lacks what this tree has.

    That is sets of categories, and columns that are read in double precision. What it has is under
    scikit-learn's names. With sets it has no `threshold`: what reads thresholds would take sets for
    cuts.
    """

    is_built: ClassVar[bool] = True

    def __init__(self, arrays: TreeArrays, n_features: int, n_classes: Any) -> None:
        self.arrays, self.n_features = arrays, n_features
        self.value = by_output(arrays.value, n_classes)
        _, self.n_outputs, self.max_n_classes = self.value.shape
        self.n_classes = np.resize(n_classes, self.n_outputs)
        self.children_left, self.children_right = arrays.left, arrays.right
        self.feature, self.missing_go_to_left = arrays.feature, arrays.missing_left
        self.impurity, self.n_node_samples = arrays.impurity, arrays.n_rows
        self.weighted_n_node_samples = arrays.weight
        self.sets, self.wide = arrays.sets, arrays.wide
        if arrays.left_bins is None:
            self.threshold = arrays.threshold
        self.node_count, self.max_depth = len(arrays), arrays.depth
        self.n_leaves = int(np.count_nonzero(arrays.is_leaf))

    def predict(self, X: Any) -> np.ndarray:
        parts = [self.arrays.values_of_rows(rows) for _, rows in dense_blocks(X)]
        values = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return values if self.n_outputs == 1 else by_output(values, self.n_classes)

    def apply(self, X: Any) -> np.ndarray:
        if not issparse(X):
            return self.arrays.leaves_of_rows(X).astype(np.intp)
        return np.concatenate([self.apply(part) for _, part in dense_blocks(X)])

    def decision_path(self, X: np.ndarray) -> Any:
        """The nodes that rows pass, as a CSR matrix of ones. O(n depth)."""
        parents = np.full(self.node_count, LEAF)
        inner = np.flatnonzero(~self.arrays.is_leaf)
        for child in (self.children_left, self.children_right):
            parents[child[inner]] = inner
        at = self.apply(X)
        rows = np.arange(len(at))
        passed = [(rows, at)]
        while len(rows):  # from the leaves to the root
            above = parents[at]
            rows, at = rows[above != LEAF], above[above != LEAF]
            passed.append((rows, at))
        place = tuple(np.concatenate(each) for each in zip(*passed))
        shape = X.shape[0], self.node_count
        return csr_matrix((np.ones(len(place[0]), dtype=np.intp), place), shape=shape)

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        inner = np.flatnonzero(~self.arrays.is_leaf)
        mass = self.weighted_n_node_samples / self.weighted_n_node_samples[0] * self.impurity
        left, right = self.children_left[inner], self.children_right[inner]
        gains = mass[inner] - mass[left] - mass[right]
        total = np.bincount(self.feature[inner], gains, self.n_features)
        return total / total.sum() if normalize and total.sum() > 0 else total

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"This {type(self).__name__} has no attribute {name!r}: nodes of categorical_features "
            "have sets of categories, which scikit-learn's Tree and what reads it do not know."
        )


class GrownTree:
    """A grown tree: arrays until scikit-learn's `Tree` is asked for, from then on that tree.

    Its owner may change the values of scikit-learn's tree, so only one of the two is kept.
    `n_classes` are of each output; 1 for regression.
    """

    def __init__(self, arrays: TreeArrays, n_features: int, n_classes: Any) -> None:
        self.arrays: TreeArrays | None = arrays
        self.n_features, self.n_classes = n_features, n_classes
        self._tree: Any = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.arrays is not None:  # in a file anything may be
            left, right, feature, _ = self.arrays.links()
            check_nodes(left, right, feature, np.array([0, len(left)]), self.n_features)

    @property
    def tree(self) -> Any:
        """The tree as scikit-learn's."""
        arrays = self.arrays
        if arrays is not None and (arrays.left_bins is not None or arrays.wide is not None):
            return ArrayTree(arrays, self.n_features, self.n_classes)
        if arrays is not None and self._tree is None:
            self.tree = arrays.sklearn_tree(self.n_features, self.n_classes)
        return self._tree

    @tree.setter
    def tree(self, tree: Any) -> None:
        # In this order: another thread that finds no arrays finds the tree.
        self._tree = tree
        self.arrays = None

    @property
    def nodes(self) -> Nodes:
        """The nodes, without making scikit-learn's tree."""
        arrays = self.arrays
        return FittedNodes(self._tree) if arrays is None else arrays

    def copy_of_tree(self) -> Any:
        """Another `Tree` of scikit-learn's with the same nodes."""
        arrays = self.arrays
        if self.nodes.sets is not None:
            raise ValueError(
                "scikit-learn's trees have no nodes of categorical_features, which send sets of "
                "categories to the left."
            )
        if arrays is None:
            return deepcopy(self._tree) if self.nodes.is_built else self._tree.sklearn_tree()
        return arrays.sklearn_tree(self.n_features, self.n_classes)


# A fitted tree in bins keeps its nodes in one attribute, which these functions know.


def grown_tree(member: Any) -> GrownTree | None:
    """The nodes of a fitted tree in bins; None of another estimator."""
    return vars(member).get("_grown")


def give_grown(member: Any, grown: GrownTree) -> None:
    vars(member)["_grown"] = grown


def nodes_of(member: Any) -> Nodes:
    """The nodes of a fitted tree in bins, without making `tree_`."""
    grown: GrownTree = vars(member)["_grown"]
    return grown.nodes


def gives_nodes(member: Any) -> bool:
    """Whether the predictions of a tree in bins are those of its nodes: not of a subclass."""
    return fast_path(member).is_tree


def member_nodes(
    members: Sequence[Any], with_vectors: bool = False, of_any_output: bool = False
) -> list[Nodes] | None:
    """The nodes of each member; None where a member is no tree, or one of several outputs.

    These too `with_vectors`, where they are of this package, and all of them `of_any_output`.

    scikit-learn's own trees are read, and trees in bins of this package; a subclass of these may
    override the predictions.
    """
    found: list[Nodes] = []
    for member in members:
        alone = with_vectors or of_any_output or getattr(member, "n_outputs_", 1) == 1
        if gives_nodes(member) and alone:
            found.append(nodes_of(member))
        elif is_tree(member) and (of_any_output or member.n_outputs_ == 1):
            found.append(FittedNodes(member.tree_))
        else:
            return None
    return found


def levels_of(left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    """The inner nodes of each level from the root down: numbers of nodes need not be in order."""
    levels, frontier = [], np.zeros(1, dtype=np.intp)
    while len(frontier):
        inner = frontier[left[frontier] != LEAF]
        levels.append(inner)
        frontier = np.concatenate([left[inner], right[inner]])
    return levels


# --- outputs on many rows -------------------------------------------------------------------------

# So many doubles fit the first cache of a processor, with what they are added to.
_BLOCK = 2048


def add_multiple(u: NDArray[Any], psi: Any, b: float) -> None:
    """u <- u + b psi in place; `psi` is an array of the shape of u, or `LeafOutputs`."""
    add_to = getattr(psi, "add_to", None)
    if add_to is not None:
        add_to(u, b)
        return
    if u.ndim > 1 or len(u) <= 4 * _BLOCK:
        u += b * psi
        return
    some = np.empty(_BLOCK)
    for first in range(0, len(u), _BLOCK):
        part = u[first : first + _BLOCK]
        part += np.multiply(psi[first : first + _BLOCK], b, out=some[: len(part)])


class LeafOutputs:
    """The outputs of one tree, or of a tree for each of K scores, by the leaves of the rows.

    ``np.asarray(outputs)`` is the array of the outputs. For each tree there are the values of its
    nodes and the node of each row; the shape is (n,) or (n, K).
    """

    def __init__(
        self, values: list[NDArray[Any]], leaves: list[NDArray[Any]], shape: tuple[int, ...]
    ) -> None:
        self.values, self.leaves, self.shape = values, leaves, shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        columns = [values.take(leaf) for values, leaf in zip(self.values, self.leaves)]
        outputs = columns[0] if len(self.shape) == 1 else np.column_stack(columns)
        return outputs if dtype is None else outputs.astype(dtype, copy=False)

    def add_to(self, u: NDArray[Any], b: float) -> None:
        """u <- u + b psi in place. O(n)."""
        for values, leaf, scores in zip(self.values, self.leaves, u.T if u.ndim > 1 else [u]):
            steps = b * values
            if len(scores) <= 4 * _BLOCK:
                scores += steps.take(leaf)
            elif scores.flags.c_contiguous and scores.dtype == np.float64:
                add_leaf_values(scores, steps, leaf)
            else:
                # By blocks: the steps of all rows need not be written to memory and read again.
                for first in range(0, len(scores), _BLOCK):
                    part = slice(first, first + _BLOCK)
                    scores[part] += steps.take(leaf[part])


class VectorOutputs(LeafOutputs):
    """The outputs of one tree whose nodes hold a number for each of K scores."""

    def __init__(self, values: NDArray[Any], leaf: NDArray[Any]) -> None:
        super().__init__([values], [leaf], (len(leaf), values.shape[1]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        outputs = self.values[0].take(self.leaves[0], axis=0)
        return outputs if dtype is None else outputs.astype(dtype, copy=False)

    def add_to(self, u: NDArray[Any], b: float) -> None:
        """u <- u + b psi in place, by blocks that stay in the cache. O(n K)."""
        steps, leaf = b * self.values[0], self.leaves[0]
        size = max(1, 4 * _BLOCK // u.shape[1])
        for first in range(0, len(u), size):
            part = slice(first, first + size)
            u[part] += steps.take(leaf[part], axis=0)
