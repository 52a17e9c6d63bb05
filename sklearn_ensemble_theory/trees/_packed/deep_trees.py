"""Trees of any depth, laid out for the compiled walk: eight bytes a node, siblings together."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from sklearn_ensemble_theory.trees._packed.member_nodes import single_precision_cuts

__all__ = ["DeepTrees", "LeafOutputs", "column_of_tree"]

# leaf_outputs(t, value): what tree t adds to the sums for rows of its values; (m, K) -> (m, width).
LeafOutputs = Callable[[int, np.ndarray], np.ndarray]
# Numbers of X that are held in single precision at once: 16 MB.
CHUNK_SIZE = 2**22


def column_of_tree(t: int, width: int) -> int:
    """The column that the values of a tree are added to."""
    return t % width


class DeepTrees:
    """T trees one after the other.

    Parameters
    ----------
    trees, features, scale, width
        As in `ShallowTrees`.
    leaf_outputs : callable or None
        None: every tree adds one number.
    """

    is_kept: ClassVar[bool] = True
    is_compiled: ClassVar[bool] = True
    parallel_size: ClassVar[int] = 2**18

    def __init__(
        self,
        trees: Sequence[Any],
        features: Sequence[np.ndarray | None],
        scale: np.ndarray | None,
        width: int,
        leaf_outputs: LeafOutputs | None,
    ) -> None:
        from sklearn_ensemble_theory._hot_loops.predict_loops import pack_nodes

        sizes = [len(tree) for tree in trees]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.width = width
        self.shift = shift_of(trees, features)
        self.nodes = np.empty((self.starts[-1], 2), dtype=np.uint32)
        self.cuts = self.nodes.view(np.float32)
        vectors = None if leaf_outputs is None else VectorTable(width)
        number = np.int32 if vectors is not None else np.float64
        self.values = np.zeros(len(self.nodes), dtype=number)
        for t, (tree, columns) in enumerate(zip(trees, features)):
            own = slice(self.starts[t], self.starts[t + 1])
            left = np.ascontiguousarray(tree.left, dtype=np.int32)
            feature = np.ascontiguousarray(tree.feature, dtype=np.int32)
            if columns is not None:
                feature = np.take(columns, feature, mode="clip").astype(np.int32)
            position = np.empty(len(left), dtype=np.int32)
            words = np.empty(len(left), dtype=np.uint32)
            pack_nodes(
                left,
                np.ascontiguousarray(tree.right, dtype=np.int32),
                feature,
                np.ascontiguousarray(tree.missing_left, dtype=np.uint8),
                self.shift,
                position,
                words,
            )
            is_leaf = left < 0
            cuts = single_precision_cuts(tree.threshold)
            cuts[is_leaf] = np.inf
            self.nodes[own, 1] = words
            self.cuts[own, 0][position] = cuts
            if leaf_outputs is None or vectors is None:
                value = tree.value[:, 0]
                self.values[own][position] = value if scale is None else value * scale[t]
            else:
                found = vectors.rows_of(leaf_outputs(t, tree.value[is_leaf]))
                self.values[own][position[is_leaf]] = found
        self.table = None if vectors is None else vectors.table()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def add(self, X: np.ndarray, out: np.ndarray) -> None:
        """Add the outputs of all trees to `out`, in the order of the trees.

        Parameters
        ----------
        X : float array of shape (n, p)
            Read in single precision; NaN is a missing value.
        out : C-contiguous float array of shape (n, width)
        """
        chunk = max(1, CHUNK_SIZE // X.shape[1])
        for start in range(0, len(X), chunk):
            rows = slice(start, start + chunk)
            self._add(np.ascontiguousarray(X[rows], dtype=np.float32), out[rows], 0, len(self))

    def rounds(self, X: np.ndarray, out: np.ndarray) -> Iterator[np.ndarray]:
        """The same; `out` after each round: `width` trees, or one that adds vectors."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        step = self.width if self.table is None else 1
        for t in range(0, len(self), step):
            self._add(X, out, t, t + step)
            yield out

    def leaves(self, X: np.ndarray, out: np.ndarray) -> None:
        """The place of the leaf of each row in each tree, among the nodes of all trees.

        Parameters
        ----------
        X : float array of shape (n, p)
        out : C-contiguous int64 array of shape (n, T)
            Output.
        """
        from sklearn_ensemble_theory._hot_loops.predict_loops import deep_leaves

        chunk = max(1, CHUNK_SIZE // X.shape[1])
        for start in range(0, len(X), chunk):
            rows = slice(start, start + chunk)
            part = np.ascontiguousarray(X[rows], dtype=np.float32)
            deep_leaves(part, self.nodes, self.cuts, self.starts, self.shift, out[rows])

    def _add(self, X: np.ndarray, out: np.ndarray, first: int, stop: int) -> None:
        from sklearn_ensemble_theory._hot_loops import predict_loops

        starts = self.starts[first : stop + 1]
        if self.table is None:
            add: Any = predict_loops.add_deep_values
            values: Any = self.values
        else:
            add, values = predict_loops.add_deep_vectors, (self.values, self.table)
        add(X, self.nodes, self.cuts, starts, self.shift, values, out)


def shift_of(trees: Sequence[Any], features: Sequence[np.ndarray | None]) -> int:
    """Bits of a word for the feature and the direction of missing values."""
    largest = 0
    for tree, columns in zip(trees, features):
        found = tree.feature if columns is None else columns
        largest = max(largest, int(found.max(initial=0)))
    return max(1, largest.bit_length()) + 1


def fits_in_words(trees: Sequence[Any], features: Sequence[np.ndarray | None]) -> bool:
    """Whether the position of a node and a feature fit into 32 bits."""
    return max(map(len, trees)) < 2 ** (32 - shift_of(trees, features))


class VectorTable:
    """The distinct vectors that leaves add; the unit vectors, of pure leaves, are stored once."""

    def __init__(self, width: int) -> None:
        self.parts = [np.eye(width)]
        self.n_rows = width

    def rows_of(self, outputs: np.ndarray) -> np.ndarray:
        """The rows of the table that hold these vectors."""
        largest = outputs.argmax(axis=1)
        one = outputs[np.arange(len(outputs)), largest] == 1
        is_unit = one & (np.count_nonzero(outputs, axis=1) == 1)
        others = outputs[~is_unit]
        rows = largest
        rows[~is_unit] = self.n_rows + np.arange(len(others))
        self.parts.append(others)
        self.n_rows += len(others)
        return rows

    def table(self) -> np.ndarray:
        return np.concatenate(self.parts)
