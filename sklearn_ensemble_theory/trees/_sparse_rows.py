"""Sums of the trees of an ensemble for sparse rows: the columns that are cut become dense."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_ensemble_theory.trees._packed import TreeSums
from sklearn_ensemble_theory.trees._tree_arrays import VALUES_AT_ONCE, member_nodes, wide_columns

# Numbers of a block of rows that are dense at once: 2 MB, which the processor's cache holds.
NUMBERS_AT_ONCE = 2**18
LEAST_ROWS = 128


def dense_blocks(X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """The rows of X in parts, of a sparse X small ones that are dense."""
    is_sparse = issparse(X)
    X = X.tocsr() if is_sparse else X
    step = max(1, VALUES_AT_ONCE // X.shape[1] if is_sparse else X.shape[0])
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        yield rows, X[rows].toarray() if is_sparse else X


class SparseSums:
    """`TreeSums` of sparse rows, block by block.

    Parameters
    ----------
    used : int array
        The columns that the trees cut, in increasing order.
    sums : TreeSums
        Of the trees, on rows of these columns only.
    """

    def __init__(self, used: np.ndarray, sums: TreeSums) -> None:
        self.used, self.sums = used, sums
        self.parallel_size, self.most_rows = sums.parallel_size, sums.most_rows

    @classmethod
    def of(
        cls, members: Sequence[Any], pack: Callable[[list[np.ndarray]], TreeSums | None]
    ) -> SparseSums | None:
        """The sums of trees; None where the members are not all trees of one output.

        ``pack(features)`` calls `packed_trees` with these `features` of the members.
        """
        trees = member_nodes(members, with_vectors=True)
        if not trees:
            return None
        used = np.unique(np.concatenate([tree.feature[tree.left >= 0] for tree in trees]))
        used = used.astype(np.intp) if len(used) else np.zeros(1, dtype=np.intp)
        wide = wide_columns(trees)
        last = max(used[-1], 0 if wide is None else wide.max(initial=0))
        places = np.zeros(last + 1, dtype=np.intp)
        places[used] = np.arange(len(used))
        sums = pack([places] * len(trees))
        return None if sums is None else cls(used, sums)

    def __len__(self) -> int:
        return len(self.sums)

    def add(self, X: Any, out: np.ndarray) -> None:
        """Add the outputs of all trees to `out`, in the order of the trees.

        Parameters
        ----------
        X : sparse matrix of shape (n, p)
        out : C-contiguous float array of shape (n, width)
        """
        X, step = X.tocsr(), max(LEAST_ROWS, NUMBERS_AT_ONCE // len(self.used))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            self.sums.add(self._dense(X[rows]), out[rows])

    def rounds(self, X: Any, out: np.ndarray) -> Iterator[np.ndarray]:
        """The same; `out` after each round."""
        return self.sums.rounds(self._dense(X), out)

    def _dense(self, X: Any) -> np.ndarray:
        rows: np.ndarray = X[:, self.used].toarray()
        return rows
