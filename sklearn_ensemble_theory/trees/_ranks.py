"""Exact trees on the ranks of the values of X, made once for all trees of an ensemble.

The trees are those of scikit-learn's own growth, bit for bit, in a fraction of the time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_ensemble_theory._bins import columns_in_one_piece
from sklearn_ensemble_theory._compat import LEAST_GAP, TREE_SORT, make_tree
from sklearn_ensemble_theory._learners import is_tree
from sklearn_ensemble_theory._native.exact_trees import (
    MOST_ROWS,
    Columns,
    Keys,
    Ranks,
    Stored,
    grow,
    keys_of,
    rank_values,
)
from sklearn_ensemble_theory._rows import canonical
from sklearn_ensemble_theory.trees._options import GrowthOptions

# Places of stored values are numbers of 31 bits.
MOST_STORED = 2**31 - 1
CRITERIA = "squared_error", "gini", "entropy", "log_loss"


def grows_on_ranks(tree: Any) -> bool:
    """Whether a tree of scikit-learn's has only parameters with which it is grown on ranks."""
    return (
        is_tree(tree)
        and tree.criterion in CRITERIA
        and isinstance(tree.splitter, str)
        and tree.max_leaf_nodes is None
        and tree.monotonic_cst is None
        and getattr(tree, "class_weight", None) is None
    )


def columns_for(tree: Any, X: Any) -> Columns | None:
    """The columns of X as the tree is grown on them; None where scikit-learn grows it."""
    if not grows_on_ranks(tree) or not 0 < X.shape[0] <= MOST_ROWS:
        return None
    if issparse(X):
        return stored_of(X)
    return keys_of_columns(X) if tree.splitter == "random" else ranks_of(X)


def keys_of_columns(X: np.ndarray) -> Keys | None:
    """The keys of random cuts. 8 bytes a value."""
    by_column = np.empty(X.shape[::-1], dtype=np.uint32)
    with np.errstate(over="ignore"):  # infinite in single precision: None
        for x, keys in zip(columns_in_one_piece(X, np.float32), by_column):
            if not np.isfinite(x).all():
                return None
            keys_of(x, keys)
    return Keys(by_column)


def ranks_of(X: np.ndarray) -> Ranks | None:
    """The columns of a dense X in single precision as ranks, or None; O(n p)."""
    n, p = X.shape
    by_column = np.empty((p, n), dtype=np.uint16 if n <= 2**16 else np.uint32)
    rank, values = np.empty(n, dtype=np.int32), np.empty(n * p, dtype=np.float32)
    room = np.empty(32 * n, dtype=np.uint8)
    first, near_at = np.zeros(p + 1, dtype=np.int64), np.full(p, -1, dtype=np.int64)
    near, n_words = [np.zeros(0, dtype=np.uint64)], 0
    with np.errstate(over="ignore"):  # infinite in single precision: None
        for j, x in enumerate(columns_in_one_piece(X, np.float32)):
            distinct = values[first[j] : first[j] + n]
            found = rank_values(x, rank, distinct, room)
            if not np.isfinite(distinct[[0, found - 1]]).all():
                return None
            by_column[j], first[j + 1] = rank, first[j] + found
            single = distinct[:found]
            is_near = single[1:] <= single[:-1] + np.float32(LEAST_GAP)
            if is_near.any():
                bits = np.zeros(-(-found // 64) * 64, dtype=bool)
                bits[: found - 1] = is_near
                near.append(np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64))
                near_at[j], n_words = n_words, n_words + len(near[-1])
    if np.diff(first).max() <= 2**16:
        by_column = by_column.astype(np.uint16, copy=False)
    if first[-1] <= len(values) // 2:
        values = values[: first[-1]].copy()  # which frees the rest
    return Ranks(by_column, values[: first[-1]], first, np.concatenate(near), near_at)


def stored_of(X: Any) -> Stored | None:
    """The stored values of a sparse X in single precision, or None; O(nnz log nnz)."""
    columns = canonical(X.tocsc())
    with np.errstate(over="ignore", under="ignore"):
        value = columns.data.astype(np.float32)
    if not np.isfinite(value).all() or len(value) >= MOST_STORED:
        return None
    kept = np.flatnonzero(value)
    owner = np.repeat(np.arange(X.shape[1]), np.diff(columns.indptr))[kept]
    row, value = columns.indices[kept].astype(np.int32), value[kept]
    order = np.lexsort((value, owner))
    first = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=X.shape[1]))])
    return Stored(X.shape[0], first, row[order], value[order])


def take_features(ranks: Columns, features: np.ndarray) -> Columns:
    if isinstance(ranks, Keys):
        return Keys(ranks.by_column[features])
    if isinstance(ranks, Stored):
        n, first, row, value = ranks.arrays
        places, starts = _places(first, features)
        return Stored(n, starts, row[places], value[places])
    _, values, first, near, near_at = ranks.arrays
    places, starts = _places(first, features)
    return Ranks(ranks.by_column[features], values[places], starts, near, near_at[features])


def _places(first: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the numbers of these columns are, and where each of the columns then begins."""
    sizes = np.diff(first)[features]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return np.arange(starts[-1]) + np.repeat(first[:-1][features] - starts[:-1], sizes), starts


@dataclass(frozen=True)
class RankedRows:
    """Rows of X as ranks, in order or as drawn, on which one tree is grown."""

    ranks: Columns
    rows: np.ndarray | None
    are_drawn: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(m, p)."""
        n, p = self.ranks.shape
        return n if self.rows is None else len(self.rows), p

    def grown(self, y: np.ndarray, weight: np.ndarray | None, options: GrowthOptions) -> Any:
        """scikit-learn's `Tree`; y are numbers, or codes where the options have classes."""
        rows = self.rows
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            rows, y, weight = kept if rows is None else rows[kept], y[kept], weight[kept]
        rows = None if rows is None else rows.astype(np.int32, copy=False)
        target = np.ascontiguousarray(y, dtype=np.int64 if options.n_classes else np.float64)
        numbers, codes = (None, target) if options.n_classes else (target, None)
        release = *TREE_SORT, LEAST_GAP
        fields, values, depth = grow(
            self.ranks, rows, self.are_drawn, numbers, codes, weight, options, *release
        )
        shape = self.ranks.shape[1], max(options.n_classes, 1)
        return make_tree(fields, values[:, None, :], depth, *shape)
