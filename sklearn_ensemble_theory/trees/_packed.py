"""Sums of the trees of an ensemble, laid out once for all predictions (`packed_trees`).

For each row the outputs of the trees are added in the order of the trees: each layout, and any
split of the rows over threads, gives the same sums to the last bit. The layouts are `LAYOUTS`:
compiled loops ask all inner nodes of trees of few leaves for many rows at a time, or walk down deep
ones, eight bytes a node. Few rows of deep trees are predicted from the trees as they are.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from sklearn_ensemble_theory._categories import UNSEEN
from sklearn_ensemble_theory._native import prediction
from sklearn_ensemble_theory._native.binning import EdgeTable
from sklearn_ensemble_theory._running import in_threads, shares
from sklearn_ensemble_theory.trees._tree_arrays import (
    FittedNodes,
    Nodes,
    in_single_precision,
    loose_fields,
    mean_values,
    member_nodes,
    rows_as_read,
    rows_with_unseen,
    set_columns,
    wide_columns,
)

# leaf_outputs(t, value): what tree t adds to the sums for rows of its values; (m, K) -> (m, width).
LeafFunction = Callable[[int, np.ndarray], np.ndarray]
# Numbers of X that are held in single precision at once: 16 MB.
CHUNK_SIZE = 2**22
# Of a sparse X so many numbers are dense at once, which the processor's cache holds.
SPARSE_CHUNK_SIZE = 2**19
LEAST_SPARSE_ROWS, MOST_SPARSE_ROWS = 256, 1024
# Rows of X that are transposed to single precision at once, for small trees.
CHUNK = 2048
# Leaves of a small tree: the bits of a word.
MOST_LEAVES = 32
# The same, of a tree over codes of a byte, and the thresholds of a column, which its codes number.
MOST_CODED_LEAVES, MOST_CODED_CUTS = 256, 254
# For so many rows, over all predictions, codes pay; and for so many in one of them.
MANY_ROWS, LEAST_CODED_ROWS = 2048, 256
# Rows of a block of codes.
CODED_BLOCK = 512
# The cut of a deep node of categories is a NaN, whose last bits are the number of its set.
NUMBERED = np.uint32(0x7FC00000)
MOST_SETS = 2**22
# The first power of two beyond single precision, which rounding takes for the next number there.
BEYOND = 2.0**128
# Laying out a node takes as long as a tenth of the way of a row through a tree; in addition a tree
# takes as long as so many nodes.
NODES_A_ROW = 10
NODES_A_TREE = 100


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """The thresholds of trees as numbers of single precision, and rows that compare with them.

    A value of a wide column becomes the number of different thresholds of the column below it, and
    a threshold the number of those below itself: x <= threshold holds exactly where it holds for
    these numbers, which single precision has up to 2^24. `thresholds` are the different ones of
    each wide column of X, in increasing order.
    """

    thresholds: dict[int, np.ndarray]

    @classmethod
    def of(cls, trees: Sequence[Nodes], features: Sequence[np.ndarray | None]) -> "Cuts":
        """The cuts of trees; `features` are the columns of X that each was fitted to."""
        wide = wide_columns(trees, features)
        if wide is None:
            return cls(thresholds={})
        found: dict[int, list[np.ndarray]] = {j: [] for j in wide.tolist()}
        for tree, columns in zip(trees, features):
            feature = _numbered(tree, columns)
            threshold = double_precision_cuts(tree)
            for j, parts in found.items():
                parts.append(threshold[(feature == j) & (tree.left >= 0)])
        return cls(thresholds={j: np.unique(np.concatenate(parts)) for j, parts in found.items()})

    @property
    def are_exact(self) -> bool:
        """Whether single precision has the numbers of all thresholds."""
        return all(len(each) < 2**24 for each in self.thresholds.values())

    def of_nodes(self, trees: Sequence[Nodes], features: Sequence[np.ndarray | None]) -> np.ndarray:
        """The cuts of the nodes of some of the trees; those of leaves are any numbers."""
        cuts = single_precision_cuts(np.concatenate([tree.threshold for tree in trees]))
        if self.thresholds:
            feature = np.concatenate([_numbered(*pair) for pair in zip(trees, features)])
            threshold = np.concatenate([double_precision_cuts(tree) for tree in trees])
            for j, known in self.thresholds.items():
                own = feature == j
                cuts[own] = np.searchsorted(known, threshold[own])
        return cuts

    def read(self, X: np.ndarray, by_column: bool = False) -> np.ndarray:
        """Rows, or their columns, that compare with the cuts: C-contiguous, single precision."""
        found = in_single_precision(X.T if by_column else X)
        if self.thresholds:
            found = found.copy() if np.may_share_memory(found, X) else found
            columns = found if by_column else found.T
            for j, known in self.thresholds.items():
                x = np.asarray(X[:, j], dtype=np.float64)
                columns[j] = np.where(np.isnan(x), np.nan, np.searchsorted(known, x))
        return found


def _numbered(tree: Nodes, columns: np.ndarray | None) -> np.ndarray:
    """The columns of X that the nodes of a tree cut."""
    return tree.feature if columns is None else np.take(columns, tree.feature, mode="clip")


def double_precision_cuts(tree: Nodes) -> np.ndarray:
    """The thresholds of a tree for values in double precision.

    Those of columns that the tree reads in single precision become the largest doubles that are not
    above them there.
    """
    threshold: np.ndarray = np.array(tree.threshold, dtype=np.float64)
    single = np.ones(len(threshold), dtype=bool)
    if tree.wide is not None:
        single = ~np.isin(tree.feature, tree.wide)
    single &= np.isfinite(threshold)
    below = single_precision_cuts(threshold[single])
    above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
    # A double in the middle of two neighbours is rounded to the even one.
    middle = 0.5 * below.astype(np.float64) + 0.5 * np.minimum(above, BEYOND)
    is_even = below.view(np.uint32) % 2 == 0
    threshold[single] = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return threshold


def single_precision_cuts(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 that is at most the threshold: x <= threshold exactly where x <= this."""
    with np.errstate(over="ignore", under="ignore"):
        cuts = threshold.astype(np.float32)
        above = cuts > threshold
        if above.any():
            cuts[above] = np.nextafter(cuts[above], np.float32(-np.inf))
    return cuts


@dataclass(frozen=True)
class ColumnsOfLeaves:
    """A `LeafFunction`: number k of a leaf of tree t, times `scale[t]`, for sum `places[t][k]`."""

    places: Sequence[np.ndarray]
    scale: np.ndarray
    width: int

    def __call__(self, t: int, value: np.ndarray) -> np.ndarray:
        found = np.zeros((len(value), self.width))
        found[:, self.places[t]] = self.scale[t] * value
        return found


@dataclass(frozen=True, kw_only=True)
class AddedTrees:
    """T trees, and what each adds to the `width` sums of a row.

    - trees: tree t adds its (single) value to the sum of index t mod `width`.
    - features: the columns of X that a tree was fitted to; None for all of them.
    - scale: factors of the trees' values.
    - leaf_outputs: ``leaf_outputs(t, value)``: what tree t adds to all `width` sums instead, if its
      values are `value`, row by row: (m, K) -> (m, width).
    """

    trees: Sequence[Nodes]
    width: int = 1
    features: Sequence[np.ndarray | None] | None = None
    scale: np.ndarray | None = None
    leaf_outputs: LeafFunction | None = None

    @property
    def columns(self) -> Sequence[np.ndarray | None]:
        """`features`, one for each tree."""
        return [None] * len(self.trees) if self.features is None else self.features

    @cached_property
    def cuts(self) -> Cuts:
        return Cuts.of(self.trees, self.columns)

    @cached_property
    def edges(self) -> dict[int, np.ndarray]:
        """The different cuts of each column of X that is cut, in increasing order."""
        left = np.concatenate([tree.left for tree in self.trees])
        feature = np.concatenate([_numbered(*pair) for pair in zip(self.trees, self.columns)])
        cuts = self.cuts.of_nodes(self.trees, self.columns).astype(np.float64)
        inner = left >= 0
        order = np.lexsort((cuts[inner], feature[inner]))
        feature, cuts = feature[inner][order], cuts[inner][order]
        is_first = np.ones(len(cuts), dtype=bool)
        is_first[1:] = (feature[1:] != feature[:-1]) | (cuts[1:] != cuts[:-1])
        feature, cuts = feature[is_first], cuts[is_first]
        names, starts = np.unique(feature, return_index=True)
        return dict(zip(names.tolist(), np.split(cuts, starts[1:])))

    @cached_property
    def set_columns(self) -> np.ndarray:
        """The columns of X that nodes with sets of categories split."""
        return set_columns(self.trees, self.columns)

    def add_means(self, X: np.ndarray, out: np.ndarray, first: int, stop: int) -> None:
        """Add the outputs of some trees for rows whose unseen categories go to both children.

        The mean is that of the tree's values: a vote of a tree is that of its mean shares.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # callers see that it is infinite
            for t in range(first, min(stop, len(self.trees))):
                columns = self.columns[t]
                rows = X if columns is None else X[:, columns]
                tree = self.trees[t]
                has_sets = tree.sets is not None
                values = mean_values(tree, rows) if has_sets else tree.values_of_rows(rows)
                if self.leaf_outputs is not None:
                    out += self.leaf_outputs(t, values)
                else:
                    factor = 1.0 if self.scale is None else self.scale[t]
                    out[:, t % out.shape[1]] += factor * values[:, 0]

    def rows_that_pay(self) -> float:
        """For so many rows deep trees are laid out."""
        # To read compact trees as they are, all their nodes would be written out as well.
        if any(isinstance(tree, FittedNodes) and not tree.is_built for tree in self.trees):
            return 0.0
        n_trees = len(self.trees)
        return (sum(map(len, self.trees)) / n_trees + NODES_A_TREE) / NODES_A_ROW


class TreeSums(ABC):
    """Trees whose outputs are added up to `width` sums a row, in a layout of their nodes.

    For more than `most_rows` over all predictions another layout pays; fewer rows times trees than
    `parallel_size` are not shared out among threads. `used` are the columns of a sparse X that the
    trees read, the only ones that become dense.
    """

    most_rows: float = np.inf
    used: np.ndarray | None = None
    parallel_size: ClassVar[int] = 2**18

    def __init__(self, given: AddedTrees) -> None:
        self.n_trees, self.width = len(given.trees), given.width
        self.adds_vectors = given.leaf_outputs is not None
        self.cuts = given.cuts
        # Kept where rows may have unseen categories.
        self.with_sets = given if len(given.set_columns) else None

    def __len__(self) -> int:
        return self.n_trees

    @classmethod
    @abstractmethod
    def takes(cls, given: AddedTrees, n_rows: int | None) -> bool:
        """Whether these trees fit the layout, and it pays for so many rows (None for many)."""

    def add(self, X: Any, out: np.ndarray) -> None:
        """Add the outputs of all trees to `out`, in the order of the trees."""
        X = X if self.used is None else X.tocsr()
        for rows in self._chunks(X):
            part, own = X[rows], out[rows]
            unseen = self._with_unseen(part)
            if not len(unseen):
                self._add(self._read_some(part), own, 0, len(self))
                continue
            before = own[unseen]
            self._add(self._read_some(part), own, 0, len(self))
            own[unseen] = self._plus_means(part, unseen, before, 0, len(self))

    def rounds(self, X: Any, out: np.ndarray) -> Iterator[np.ndarray]:
        """The same; `out` after each round: `width` trees, or one that adds vectors."""
        X = X if self.used is None else X.tocsr()
        unseen = self._with_unseen(X)
        rows = self._read(X if self.used is None else self._of_used(X).toarray())
        step = 1 if self.adds_vectors else self.width
        for t in range(0, len(self), step):
            before = out[unseen]
            self._add(rows, out, t, t + step)
            if len(unseen):
                out[unseen] = self._plus_means(X, unseen, before, t, t + step)
            yield out

    def _with_unseen(self, X: Any) -> np.ndarray:
        """The numbers of the rows that have unseen categories."""
        if self.with_sets is None or (self.used is not None and not (X.data == UNSEEN).any()):
            return np.empty(0, dtype=np.intp)
        X = X if self.used is None else self._of_used(X).toarray()
        return rows_with_unseen(X, self.with_sets.set_columns)

    def _plus_means(
        self, X: Any, unseen: np.ndarray, sums: np.ndarray, first: int, stop: int
    ) -> np.ndarray:
        """The sums of the rows with unseen categories, with the outputs of some trees.

        These rows are few, and have walked with the missing values among all others. What that
        added is replaced, so that the other rows are added as ever.
        """
        assert self.with_sets is not None
        X = X[unseen] if self.used is None else self._of_used(X[unseen]).toarray()
        self.with_sets.add_means(X, sums, first, stop)
        return sums

    def _chunks(self, X: Any) -> Iterator[slice]:
        """The rows that are read at once."""
        size = self._chunk_size(X.shape[1])
        if self.used is not None:
            size = SPARSE_CHUNK_SIZE // len(self.used)
            size = min(max(size, LEAST_SPARSE_ROWS), MOST_SPARSE_ROWS)
        return (slice(start, start + size) for start in range(0, X.shape[0], size))

    def _chunk_size(self, p: int) -> int:
        return max(1, CHUNK_SIZE // p)

    def _of_used(self, X: Any) -> Any:
        """The columns of a sparse X that are read, in single precision where they are read so."""
        X = X[:, self.used]
        X.sum_duplicates()
        if not self.cuts.thresholds:
            X.data = in_single_precision(X.data)
        return X

    def _read_some(self, X: Any) -> Any:
        return self._read(X if self.used is None else self._of_used(X).toarray())

    def _read(self, X: np.ndarray) -> np.ndarray:
        """Rows as the layout takes them."""
        return self.cuts.read(X)

    @abstractmethod
    def _add(self, rows: np.ndarray, out: np.ndarray, first: int, stop: int) -> None:
        """Add the outputs of the trees first, ..., stop - 1."""


class DeepTrees(TreeSums):
    """The nodes of all trees one after the other, siblings together; rows walk down."""

    @classmethod
    def takes(cls, given: AddedTrees, n_rows: int | None) -> bool:
        if not fits_in_words(given.trees, given.columns) or not given.cuts.are_exact:
            return False
        return n_rows is None or n_rows >= given.rows_that_pay()

    def __init__(self, given: AddedTrees) -> None:
        super().__init__(given)
        trees, features, width = given.trees, given.columns, given.width
        scale, leaf_outputs = given.scale, given.leaf_outputs
        sizes = [len(tree) for tree in trees]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_columns = n_columns_of(trees, features)
        self.shift = shift_of(self.n_columns)
        self.nodes = np.empty((self.starts[-1], 2), dtype=np.uint32)
        self.sets = sets_of(trees)
        vectors = None if leaf_outputs is None else VectorTable(width)
        number = np.int32 if vectors is not None else np.float64
        self.values = np.zeros(len(self.nodes), dtype=number)
        n_sets = 0
        for t, (tree, columns) in enumerate(zip(trees, features)):
            own = slice(self.starts[t], self.starts[t + 1])
            left = np.ascontiguousarray(tree.left, dtype=np.int32)
            feature = np.ascontiguousarray(_numbered(tree, columns), dtype=np.int32)
            position = np.empty(len(left), dtype=np.int32)
            words = np.empty(len(left), dtype=np.uint32)
            prediction.pack_nodes(
                left,
                np.ascontiguousarray(tree.right, dtype=np.int32),
                feature,
                np.ascontiguousarray(tree.missing_left, dtype=np.uint8),
                self.shift,
                position,
                words,
            )
            is_leaf = left < 0
            cuts = self.cuts.of_nodes([tree], [columns])
            cuts[is_leaf] = np.inf
            bits = cuts.view(np.uint32)
            if tree.sets is not None:
                numbers = np.arange(n_sets, n_sets + len(tree.sets), dtype=np.uint32)
                bits[np.isnan(cuts)] = NUMBERED + numbers
                n_sets += len(tree.sets)
            self.nodes[own, 1] = words
            self.nodes[own, 0][position] = bits
            if leaf_outputs is None or vectors is None:
                value = tree.value[:, 0]
                self.values[own][position] = value if scale is None else value * scale[t]
            else:
                found = vectors.rows_of(leaf_outputs(t, tree.value[is_leaf]))
                self.values[own][position[is_leaf]] = found
        self.table = None if vectors is None else vectors.table()
        prediction.check_sets(self.nodes, 0 if self.sets is None else len(self.sets))

    def _read(self, X: np.ndarray) -> np.ndarray:
        if X.shape[1] < self.n_columns:
            raise ValueError(f"The trees read {self.n_columns} columns; X has {X.shape[1]}.")
        return super()._read(X)

    def _read_some(self, X: Any) -> Any:
        """With the places of the stored values, where X is sparse."""
        if self.used is None:
            return self._read(X)
        X = self._of_used(X)
        rows, X = self._read(X.toarray()), X.tocsc()
        return rows, (X.indptr.astype(np.int32), X.indices.astype(np.int32), self._zero)

    @cached_property
    def _zero(self) -> np.ndarray:
        """0 as it is read in each column."""
        assert self.used is not None
        return self._read(np.zeros((1, len(self.used))))[0]

    def leaves(self, X: Any, out: np.ndarray) -> None:
        """The place (n, T) of the leaf of each row in each tree, among the nodes of all trees."""
        for rows in self._chunks(X):
            part, stored = _with_stored(self._read_some(X[rows]))
            trees = self.nodes, self.starts, self.shift
            prediction.deep_leaves(part, *trees, out[rows], self.sets, stored)

    def _add(self, rows: Any, out: np.ndarray, first: int, stop: int) -> None:
        trees = self.nodes, self.starts[first : stop + 1], self.shift
        rows, stored = _with_stored(rows)
        if self.table is None:
            prediction.add_deep_values(rows, *trees, self.values, out, self.sets, stored)
        else:
            values = self.values, self.table
            prediction.add_deep_vectors(rows, *trees, *values, out, self.sets, stored)


def _with_stored(rows: Any) -> tuple[np.ndarray, Any]:
    return rows if isinstance(rows, tuple) else (rows, None)


def packed_places(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where `pack_nodes` puts the nodes of a tree: the children of its inner nodes in a row."""
    inner = np.flatnonzero(left >= 0)
    places = np.zeros(len(left), dtype=np.int64)
    places[left[inner]] = 1 + 2 * np.arange(len(inner))
    places[right[inner]] = 2 + 2 * np.arange(len(inner))
    return places


def n_columns_of(trees: Sequence[Nodes], features: Sequence[np.ndarray | None]) -> int:
    """The number of columns up to the last one that a tree reads."""
    pairs = zip(trees, features)
    read = (tree.feature if columns is None else columns for tree, columns in pairs)
    return 1 + max(int(numbers.max(initial=0)) for numbers in read)


def shift_of(n_columns: int) -> int:
    """Bits of a word for the feature and the direction of missing values."""
    return max(1, (n_columns - 1).bit_length()) + 1


def fits_in_words(trees: Sequence[Nodes], features: Sequence[np.ndarray | None]) -> bool:
    """Whether a node and a feature fit into 32 bits, and the number of a set into a NaN."""
    n_sets = sum(len(tree.sets) for tree in trees if tree.sets is not None)
    shift = shift_of(n_columns_of(trees, features))
    return n_sets < MOST_SETS and max(map(len, trees)) < 2 ** (32 - shift)


class VectorTable:
    """The distinct vectors that leaves add; the unit vectors, of pure leaves, are stored once."""

    def __init__(self, width: int) -> None:
        self.parts = [np.eye(width)]
        self.n_rows = width

    def rows_of(self, outputs: np.ndarray) -> np.ndarray:
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


class SmallTrees(TreeSums):
    """T trees of at most 32 leaves, all of whose inner nodes are asked for many rows at a time.

    Each sends rows to the right past the leaves on its left; a row is in the first leaf that it has
    not passed (Lucchese et al. 2015, "QuickScorer").
    """

    parallel_size: ClassVar[int] = 2**22

    @classmethod
    def takes(cls, given: AddedTrees, n_rows: int | None) -> bool:
        return max(map(len, given.trees)) < 2 * MOST_LEAVES

    def __init__(self, given: AddedTrees) -> None:
        super().__init__(given)
        trees, scale, leaf_outputs = given.trees, given.scale, given.leaf_outputs
        sizes, left, right, feature, missing_left = joined(trees, given.columns)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.starts = np.empty_like(first)
        leaf = np.zeros(np.count_nonzero(left < 0), dtype=np.int64)
        self.nodes = np.zeros((len(left) - len(leaf), 4), dtype=np.uint32)
        cuts = self.cuts.of_nodes(trees, given.columns)
        prediction.small_nodes(
            left, right, feature, cuts, missing_left, first, self.starts, self.nodes, leaf
        )
        n_nodes = self.starts[-1]
        self.nodes, leaf = self.nodes[:n_nodes], leaf[: n_nodes + len(trees)]
        # Nodes of categories have the number of their set in place of a direction.
        self.sets = sets_of(trees)
        if self.sets is not None:
            has_set = np.isnan(cuts[left >= 0])
            self.nodes[has_set, 3] = 2 + np.arange(len(self.sets), dtype=np.uint32)
        if leaf_outputs is None:
            values = np.concatenate([tree.value[:, :1] for tree in trees])[leaf]
        else:
            outputs = [leaf_outputs(t, tree.value) for t, tree in enumerate(trees)]
            values = np.concatenate(outputs)[leaf]
        if scale is not None:
            values = values * np.repeat(scale, np.diff(self.starts) + 1)[:, None]
        self.values = np.ascontiguousarray(values, dtype=np.float64)

    def _chunk_size(self, p: int) -> int:
        return CHUNK

    def _of_used(self, X: Any) -> Any:
        return super()._of_used(X).tocsc()  # becomes an array in the order of columns

    def _read(self, X: np.ndarray) -> np.ndarray:
        return self.cuts.read(X, by_column=True)

    def _add(self, rows: np.ndarray, out: np.ndarray, first: int, stop: int) -> None:
        prediction.add_small_trees(
            rows, self.nodes, self.starts, self.values, first, stop, out, self.sets
        )


class CodedTrees(TreeSums):
    """T trees of at most 256 leaves over codes of a byte, for many rows.

    The code of a value is the number of the column's cuts below it, of which there are at most 254.
    A row passes leaves as in `SmallTrees`, but with a byte for eight leaves, so that a processor
    compares up to 64 rows at once. Few rows are added by another layout.
    """

    parallel_size: ClassVar[int] = 2**22

    @staticmethod
    def may_take(given: AddedTrees) -> bool:
        """Whether nothing but the number of cuts of a column is against it."""
        return (
            given.leaf_outputs is None
            and max(map(len, given.trees)) < 2 * MOST_CODED_LEAVES
            and all(tree.sets is None for tree in given.trees)
        )

    @classmethod
    def takes(cls, given: AddedTrees, n_rows: int | None) -> bool:
        if n_rows is None or n_rows < MANY_ROWS or not cls.may_take(given):
            return False
        return max(map(len, given.edges.values()), default=0) <= MOST_CODED_CUTS

    def __init__(self, given: AddedTrees) -> None:
        super().__init__(given)
        self.given = given
        sizes, left, right, feature, missing_left = joined(given.trees, given.columns)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        cuts = self.cuts.of_nodes(given.trees, given.columns)
        # A tree may be a single leaf; some column is read all the same.
        self.columns = np.array(list(given.edges) or [0], dtype=np.int32)
        edges = [given.edges.get(j, np.empty(0)) for j in self.columns.tolist()]
        self.tables = [EdgeTable(each, 255) for each in edges]
        column, code = np.zeros(len(left), dtype=np.int32), np.zeros(len(left), dtype=np.uint8)
        for k, (j, each) in enumerate(zip(self.columns, edges)):
            own = (feature == j) & (left >= 0)
            column[own], code[own] = k, np.searchsorted(each, cuts[own])
        self.starts, self.leaves = np.empty_like(first), np.empty_like(first)
        leaf = np.empty(len(left), dtype=np.int64)
        of_nodes = left, right, column, code, missing_left, first, self.starts, self.leaves
        for n_records in (lambda: 0, lambda: self.starts[-1]):  # counted, then written
            self.nodes = np.empty((n_records(), 2), dtype=np.uint32)
            prediction.coded_nodes(*of_nodes, self.nodes, leaf)
        values = np.concatenate([tree.value[:, 0] for tree in given.trees])[leaf[: self.leaves[-1]]]
        if given.scale is not None:
            values = values * np.repeat(given.scale, np.diff(self.leaves))
        self.values = np.ascontiguousarray(values, dtype=np.float64)

    @cached_property
    def few(self) -> TreeSums:
        """The layout for few rows."""
        return next(each for each in LAYOUTS if each.takes(self.given, None))(self.given)

    def add(self, X: Any, out: np.ndarray) -> None:
        if X.shape[0] >= LEAST_CODED_ROWS:
            super().add(X, out)
            return
        few = copy(self.few)
        few.width, few.used = self.width, self.used
        few.add(X, out)

    def _chunk_size(self, p: int) -> int:
        return 4 * CHUNK  # each chunk checks all records

    def _of_used(self, X: Any) -> Any:
        return super()._of_used(X).tocsc()  # becomes an array in the order of columns

    def _read(self, X: np.ndarray) -> np.ndarray:
        rows = self.cuts.read(X, by_column=True)
        shape = -(-X.shape[0] // CODED_BLOCK), len(self.columns), CODED_BLOCK
        # Loads of 64 bytes from other addresses take twice as long.
        room = np.zeros(int(np.prod(shape)) + 63, dtype=np.uint8)
        codes = room[-room.ctypes.data % 64 :][: len(room) - 63].reshape(shape)
        prediction.codes_of_blocks(rows, self.columns, self.tables, codes)
        return codes

    def _add(self, rows: np.ndarray, out: np.ndarray, first: int, stop: int) -> None:
        trees = self.nodes, self.starts, self.leaves, self.values
        prediction.add_coded_trees(rows, *trees, first, stop, out)


def sets_of(trees: Sequence[Nodes]) -> np.ndarray | None:
    """The sets of categories of all nodes that have one; None where none has."""
    found = [tree.sets for tree in trees if tree.sets is not None]
    return np.ascontiguousarray(np.concatenate(found)) if found else None


def joined(trees: Sequence[Nodes], features: Sequence[np.ndarray | None]) -> tuple[np.ndarray, ...]:
    """The numbers of nodes, and the nodes of all trees one after the other, features as of X."""
    left, right, missing_left = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("left", "right", "missing_left")
    )
    feature = np.concatenate([_numbered(*pair) for pair in zip(trees, features)])
    left, right, feature = (a.astype(np.int32, copy=False) for a in (left, right, feature))
    sizes = np.array([len(tree) for tree in trees])
    return sizes, left, right, feature, missing_left.astype(np.uint8, copy=False)


class LooseTrees(TreeSums):
    """The trees themselves, read where they are, with nothing laid out: for few rows."""

    @classmethod
    def takes(cls, given: AddedTrees, n_rows: int | None) -> bool:
        return True

    def __init__(self, given: AddedTrees) -> None:
        super().__init__(given)
        if DeepTrees.takes(given, None):
            self.most_rows = given.rows_that_pay()
        self.trees, self.leaf_outputs = given.trees, given.leaf_outputs
        scale = np.ones(len(self)) if given.scale is None else given.scale
        places: Sequence[np.ndarray | None] = [None] * len(self)
        if isinstance(self.leaf_outputs, ColumnsOfLeaves):
            places = self.leaf_outputs.places
            scale, self.leaf_outputs = self.leaf_outputs.scale, None
        self.scale = np.ascontiguousarray(scale, dtype=np.float64)
        fields = [loose_fields(*each) for each in zip(given.trees, given.columns, places)]
        self.nodes = prediction.LooseNodes(fields)
        self.wide = wide_columns(given.trees, given.columns)

    def _read(self, X: np.ndarray) -> np.ndarray:
        return rows_as_read(X, self.wide)

    def _add(self, rows: np.ndarray, out: np.ndarray, first: int, stop: int) -> None:
        stop = min(stop, len(self))
        if self.leaf_outputs is None:
            self.nodes.add(rows, first, stop, self.scale, out)
            return
        leaves = np.empty((stop - first, len(rows)), dtype=np.int32)
        self.nodes.leaves(rows, first, stop, leaves)
        with np.errstate(over="ignore", invalid="ignore"):  # callers see that it is infinite
            for t, leaf in enumerate(leaves, first):
                out += self.leaf_outputs(t, self.trees[t].value[leaf])


# --- the trees of an ensemble ---------------------------------------------------------------------

# The layouts in the order of their speed for many rows: the first that takes the trees is theirs.
LAYOUTS: tuple[type[TreeSums], ...] = (CodedTrees, SmallTrees, DeepTrees, LooseTrees)


def packed_trees(
    members: Sequence[Any], *, n_rows: int | None = None, for_sparse: bool = False, **given: Any
) -> TreeSums | None:
    """The trees' outputs, laid out if that pays; None if not all are trees of one output.

    `n_rows` are rows to predict so far, None for many: for a few rows deep trees are not laid out;
    trees over codes are for a known number of rows only. `given` are other parameters of
    `AddedTrees`.
    """
    if not len(members):
        return None
    trees = member_nodes(members, with_vectors=given.get("leaf_outputs") is not None)
    if trees is None:
        return None
    used, added = None, AddedTrees(trees=trees, **given)
    if for_sparse:
        used, features = columns_used(trees, added.columns)
        added = replace(added, features=features)
    sums = next(layout for layout in LAYOUTS if layout.takes(added, n_rows))(added)
    if n_rows is not None and n_rows < MANY_ROWS and CodedTrees.may_take(added):
        sums.most_rows = min(sums.most_rows, MANY_ROWS)
    sums.used = used
    return sums


def columns_used(
    trees: Sequence[Nodes], features: Sequence[np.ndarray | None]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The columns of X that are cut, and for each tree the places of its columns among these."""
    pairs = list(zip(trees, features))
    cut = [_numbered(tree, columns)[tree.left >= 0] for tree, columns in pairs]
    used = np.unique(np.concatenate([*cut, np.zeros(0 if any(map(len, cut)) else 1, np.intp)]))
    wide = wide_columns(trees, features)
    read = [used, *(columns for columns in features if columns is not None)]
    last = max(int(each.max(initial=0)) for each in (read if wide is None else [*read, wide]))
    places = np.zeros(last + 1, dtype=np.intp)
    places[used] = np.arange(len(used))
    return used.astype(np.intp), [
        places if columns is None else places[columns] for columns in features
    ]


def each_tree(sums: TreeSums) -> TreeSums:
    """The same trees, of which each adds its values to a column of its own."""
    apart = copy(sums)
    apart.width = len(sums)
    return apart


def add_in_threads(
    sums: TreeSums, X: np.ndarray, out: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """`sums.add(X, out)`, the rows shared out among threads where that pays; returns `out`."""
    n_threads = (
        1 if n_jobs == 1 or len(out) * len(sums) < sums.parallel_size else effective_n_jobs(n_jobs)
    )
    if n_threads == 1:
        sums.add(X, out)
        return out
    in_threads(sums.add, [(X[a:b], out[a:b]) for a, b in shares(len(out), n_threads)])
    return out


class PackedCache:
    """The laid-out trees of one fitted ensemble, made by the first prediction that pays for them.

    A copy or a pickle of it is empty. It holds for the list of members that it was made from: an
    ensemble whose list of members is changed gets new ones.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[str, tuple[list[Any], TreeSums]] = {}
        self._n_rows = 0

    def __getstate__(self) -> dict[str, int]:
        return {"n_rows": 0}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__()  # type: ignore[misc]

    def get(
        self,
        kind: str,
        members: list[Any],
        n_rows: int,
        build: Callable[[int], TreeSums | None],
    ) -> TreeSums | None:
        """The trees laid out for one kind of prediction, now of `n_rows` more rows."""
        # Rows are counted over all predictions until laying out pays; the lock is for that only.
        sums = self._found(kind, members)
        if sums is not None and sums.most_rows == np.inf:
            return sums
        with self._lock:
            self._n_rows += n_rows
            sums = self._found(kind, members)  # another thread may have made it
            if sums is None or self._n_rows >= sums.most_rows:
                sums = build(self._n_rows)
                if sums is not None:
                    self._kept[kind] = members, sums
            return sums

    def _found(self, kind: str, members: list[Any]) -> TreeSums | None:
        """What is kept, if it is of these members."""
        of, sums = self._kept.get(kind, (None, None))
        if of is None or sums is None:
            return None
        same = len(of) == len(members) and all(map(operator.is_, of, members))
        return sums if same else None
