"""Trees of depth at most 3: the outcomes of all nodes are the bits of an index into a table."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from sklearn_ensemble_theory.trees._packed.compiled_route import uses_compiled_loops
from sklearn_ensemble_theory.trees._packed.member_nodes import single_precision_cuts

__all__ = ["MAX_DEPTH", "ShallowTrees"]

MAX_DEPTH = 3
N_NODES = 2**MAX_DEPTH - 1
N_LEAVES = 2**MAX_DEPTH
BITS = 1 << np.arange(N_NODES)
# Rows of X that are transposed to single precision at once, and that NumPy processes at once.
CHUNK = 2048
NUMPY_CHUNK = 8192
# For at most so many rows NumPy computes all nodes of all trees at once: this many outcomes.
FEW_ROWS = 512
FEW_OUTCOMES = 2**16


def _leaf_of_outcomes() -> np.ndarray:
    """The leaf, 0 ... 7, for all outcomes of the nodes; bit k: node k sends the row right."""
    outcomes = np.arange(2**N_NODES)
    node = np.zeros_like(outcomes)
    for _ in range(MAX_DEPTH):
        node = 2 * node + 1 + (outcomes >> node & 1)
    return node - N_NODES


LEAF_OF_OUTCOMES = _leaf_of_outcomes()


class ShallowTrees:
    """T trees as complete trees of depth 3, whose padding sends no row anywhere else.

    Parameters
    ----------
    trees : list of T `TreeArrays`
    features : list of T (int array or None)
        The columns of X that the features of a tree stand for; None for all of them.
    scale : float array of shape (T,) or None
        Factors of the values.
    width : int
        Tree t adds to column t mod `width` of the sums.
    leaf_outputs : callable, default=None
        ``leaf_outputs(t, value)``: what tree t adds, instead of its values; for `width` 1.
    """

    is_kept: ClassVar[bool] = True
    is_compiled: ClassVar[bool] = False
    parallel_size: ClassVar[int] = 2**23

    def __init__(
        self,
        trees: Sequence[Any],
        features: Sequence[np.ndarray | None],
        scale: np.ndarray | None,
        width: int,
        leaf_outputs: Callable[[int, np.ndarray], np.ndarray] | None = None,
    ) -> None:
        T = len(trees)
        sizes = np.array([len(tree) for tree in trees])
        first = np.cumsum(sizes) - sizes
        left, right, feature, threshold, missing_left = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("left", "right", "feature", "threshold", "missing_left")
        )
        values = [tree.value for tree in trees]
        if leaf_outputs is not None:
            values = [leaf_outputs(t, value) for t, value in enumerate(values)]
        value = np.concatenate(values)
        if any(columns is not None for columns in features):
            feature = np.concatenate(
                [
                    tree.feature if columns is None else np.take(columns, tree.feature, mode="clip")
                    for tree, columns in zip(trees, features)
                ]
            )
        inner = left >= 0
        at = np.arange(len(left))
        offset = np.repeat(first, sizes)
        left, right = np.where(inner, left + offset, at), np.where(inner, right + offset, at)
        feature = np.where(inner, feature, 0).astype(np.int32)
        cuts = np.where(inner, single_precision_cuts(threshold), np.float32(np.inf))
        missing_left = np.where(inner, missing_left, 1).astype(np.uint8)

        # The node of each tree at each place of the complete tree, level by level.
        level = first[:, None]
        places = []
        for _ in range(MAX_DEPTH):
            places.append(level)
            level = np.stack([left[level], right[level]], axis=2).reshape(T, -1)
        place = np.hstack(places)
        self.width = width
        self.feature, self.cuts = feature[place], cuts[place]
        self.missing_left = missing_left[place]
        leaf_values = value[level, 0]
        if scale is not None:
            leaf_values = leaf_values * scale[:, None]
        self.table = leaf_values[:, LEAF_OF_OUTCOMES]

    def __len__(self) -> int:
        return len(self.table)

    def add(self, X: np.ndarray, out: np.ndarray) -> None:
        """Add the values of all trees to `out`, in the order of the trees.

        Parameters
        ----------
        X : float array of shape (n, p)
            Read in single precision; NaN is a missing value.
        out : C-contiguous float array of shape (n, width)
        """
        compiled = uses_compiled_loops(len(X) * len(self))
        if not compiled and len(X) <= FEW_ROWS:
            chunk = max(1, FEW_OUTCOMES // self.feature.size)
            for start in range(0, len(X), chunk):
                self._add_to_few_rows(X[start : start + chunk], out[start : start + chunk])
            return
        chunk = CHUNK if compiled else NUMPY_CHUNK
        for start in range(0, len(X), chunk):
            rows = slice(start, start + chunk)
            columns = np.ascontiguousarray(X[rows].T, dtype=np.float32)
            self._add_to_columns(columns, out[rows], slice(None), compiled)

    def rounds(self, X: np.ndarray, out: np.ndarray) -> Iterator[np.ndarray]:
        """The same, `width` trees at a time; `out` after each of these rounds.

        X is held in single precision meanwhile.
        """
        compiled = uses_compiled_loops(len(X) * len(self))
        columns = np.ascontiguousarray(X.T, dtype=np.float32)
        for t in range(0, len(self), self.width):
            self._add_to_columns(columns, out, slice(t, t + self.width), compiled)
            yield out

    def _add_to_columns(
        self, columns: np.ndarray, out: np.ndarray, trees: slice, compiled: bool
    ) -> None:
        tables = self.feature[trees], self.cuts[trees], self.missing_left[trees]
        if compiled:
            from sklearn_ensemble_theory._hot_loops.predict_loops import add_shallow_trees

            add_shallow_trees(columns, *tables, self.table[trees], out)
            return
        outcome = np.empty(columns.shape[1], dtype=np.uint8)
        right = np.empty(len(outcome), dtype=bool)
        for t, (feature, cuts, missing_left, values) in enumerate(
            zip(*(a.tolist() for a in tables), self.table[trees])
        ):
            outcome.fill(0)
            for node, bit in enumerate(BITS.tolist()):
                if cuts[node] == np.inf and missing_left[node]:  # no row goes to the right
                    continue
                if missing_left[node]:
                    np.greater(columns[feature[node]], cuts[node], out=right)
                else:
                    np.less_equal(columns[feature[node]], cuts[node], out=right)
                    np.logical_not(right, out=right)
                outcome |= np.left_shift(right.view(np.uint8), node) if bit > 1 else right
            out[:, t % self.width] += values.take(outcome)

    def _add_to_few_rows(self, X: np.ndarray, out: np.ndarray) -> None:
        """All nodes of all trees at once."""
        x = np.asarray(X, dtype=np.float32).take(self.feature.ravel(), axis=1)
        x = x.reshape(len(X), *self.feature.shape)
        right = np.where(self.missing_left, x > self.cuts, ~(x <= self.cuts))
        found = self.table[np.arange(len(self)), right @ BITS]
        found = found.reshape(len(X), -1, self.width)
        # A cumulative sum adds one number after the other.
        terms = np.concatenate([out[:, None], found], axis=1)
        with np.errstate(over="ignore", invalid="ignore"):  # means are checked
            out[:] = np.add.accumulate(terms, axis=1)[:, -1]
