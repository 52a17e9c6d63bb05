"""The trees of an ensemble, laid out once for all predictions.

For each row the outputs of the trees are added in the order of the trees, by every route: all
routes, and any split of the rows over threads, give the same sums to the last bit.
"""

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from threading import Lock
from typing import Any, ClassVar, Protocol

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.trees._packed.compiled_route import uses_compiled_loops
from sklearn_ensemble_theory.trees._packed.deep_trees import (
    CHUNK_SIZE,
    DeepTrees,
    LeafOutputs,
    column_of_tree,
    fits_in_words,
)
from sklearn_ensemble_theory.trees._packed.loose_values import values_of_rows
from sklearn_ensemble_theory.trees._packed.member_nodes import member_nodes
from sklearn_ensemble_theory.trees._packed.shallow_trees import MAX_DEPTH, ShallowTrees

__all__ = ["PackedCache", "TreeSums", "add_in_threads", "each_tree", "packed_trees"]

# Laying out a node takes as long as a tenth of the way of a row through a tree; in addition a tree
# takes as long as so many nodes.
NODES_A_ROW = 10
NODES_A_TREE = 100


class TreeSums(Protocol):
    """Trees whose outputs are added up.

    Attributes
    ----------
    width : int
        Number of sums of a row.
    is_kept : bool
        Whether there is anything laid out, worth keeping for the next prediction.
    is_compiled : bool
        Whether it needs the compiled loops.
    parallel_size : int
        Fewer rows times trees are not shared out among threads.
    """

    width: int
    is_kept: ClassVar[bool]
    is_compiled: ClassVar[bool]
    parallel_size: ClassVar[int]

    def __len__(self) -> int: ...

    def add(self, X: np.ndarray, out: np.ndarray) -> None: ...

    def rounds(self, X: np.ndarray, out: np.ndarray) -> Iterator[np.ndarray]: ...


class LooseTrees:
    """The same sums from the trees themselves, one tree at a time, with nothing laid out."""

    is_kept: ClassVar[bool] = False
    is_compiled: ClassVar[bool] = False
    parallel_size: ClassVar[int] = 2**18

    def __init__(
        self,
        members: Sequence[Any],
        trees: Sequence[Any],
        features: Sequence[np.ndarray | None],
        scale: np.ndarray | None,
        width: int,
        leaf_outputs: LeafOutputs | None,
    ) -> None:
        self.predictors = [_predictor(*pair) for pair in zip(members, trees)]
        self.features, self.scale, self.width = features, scale, width
        self.leaf_outputs = leaf_outputs

    def __len__(self) -> int:
        return len(self.predictors)

    def add(self, X: np.ndarray, out: np.ndarray) -> None:
        chunk = max(1, CHUNK_SIZE // X.shape[1])
        for start in range(0, len(X), chunk):
            rows = slice(start, start + chunk)
            part = np.ascontiguousarray(X[rows], dtype=np.float32)
            with np.errstate(over="ignore", invalid="ignore"):  # callers see that it is infinite
                for t in range(len(self)):
                    self._add_tree(t, part, out[rows])

    def rounds(self, X: np.ndarray, out: np.ndarray) -> Iterator[np.ndarray]:
        X = np.ascontiguousarray(X, dtype=np.float32)
        for t in range(len(self)):
            self._add_tree(t, X, out)
            if self.leaf_outputs is not None or (t + 1) % self.width == 0:
                yield out

    def _add_tree(self, t: int, X: np.ndarray, out: np.ndarray) -> None:
        columns = self.features[t]
        found = self.predictors[t](X if columns is None else X[:, columns])
        if self.leaf_outputs is not None:
            out += self.leaf_outputs(t, found)
        else:
            values = found[:, 0] if self.scale is None else found[:, 0] * self.scale[t]
            out[:, column_of_tree(t, self.width)] += values


def _predictor(member: Any, nodes: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The values (n, K) of rows in single precision; no scikit-learn tree is made for them."""
    if nodes.is_built or not uses_numba():
        return member.tree_.predict
    return partial(values_of_rows, nodes)


def packed_trees(
    members: Sequence[Any],
    *,
    width: int = 1,
    features: Sequence[np.ndarray | None] | None = None,
    scale: np.ndarray | None = None,
    leaf_outputs: LeafOutputs | None = None,
    n_rows: int | None = None,
) -> TreeSums | None:
    """The sums of the trees' outputs, by the fastest route.

    Parameters
    ----------
    members : list of T fitted estimators
    width : int, default=1
        Number of sums of a row.
    features : list of T (int array or None), default=None
        The columns of X that a tree was fitted to; None for all of them.
    scale : float array of shape (T,), default=None
        Factors of the trees' values.
    leaf_outputs : callable, default=None
        ``leaf_outputs(t, value)``: what tree t adds to all `width` sums where its values are
        `value`, row by row: (m, K) -> (m, width). If None, tree t adds its (single) value, times
        its factor, to the sum of index t mod `width`.
    n_rows : int, default=None
        Rows to predict so far; None for many. For a few rows deep trees are not laid out.

    Returns
    -------
    sums : TreeSums
        None where the members are not all trees of one output.
    """
    if not len(members):
        return None
    trees = member_nodes(members)
    if trees is None:
        return None
    if features is None:
        features = [None] * len(trees)
    depth = max(tree.depth for tree in trees)
    if depth <= MAX_DEPTH and (leaf_outputs is None or width == 1):
        return ShallowTrees(trees, features, scale, width, leaf_outputs)
    if _pays(trees, n_rows) and fits_in_words(trees, features):
        return DeepTrees(trees, features, scale, width, leaf_outputs)
    return LooseTrees(members, trees, features, scale, width, leaf_outputs)


def _pays(trees: Sequence[Any], n_rows: int | None) -> bool:
    """Whether deep trees are to be laid out, for the compiled loops."""
    if n_rows is None:
        return uses_numba()
    n_nodes, n_trees = sum(map(len, trees)), len(trees)
    if NODES_A_ROW * n_rows * n_trees < n_nodes + NODES_A_TREE * n_trees:
        return False
    return uses_compiled_loops(n_rows * n_trees)


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
        1 if n_jobs == 1 or len(X) * len(sums) < sums.parallel_size else effective_n_jobs(n_jobs)
    )
    if n_threads == 1:
        sums.add(X, out)
        return out
    bounds = np.linspace(0, len(X), n_threads + 1).astype(int).tolist()
    # Each task writes its part of `out`: threads even where a context asks for processes.
    Parallel(n_jobs=n_threads, require="sharedmem")(
        delayed(sums.add)(X[a:b], out[a:b]) for a, b in itertools.pairwise(bounds)
    )
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
        """The trees laid out for one kind of prediction.

        Parameters
        ----------
        kind : str
        members : list of fitted estimators
        n_rows : int
            Rows that are now to be predicted.
        build : callable
            ``build(n_rows)`` calls `packed_trees` with the number of rows so far.
        """
        sums = self._found(kind, members)
        if sums is not None:
            return sums
        with self._lock:
            sums = self._found(kind, members)  # another thread may have made it
            if sums is not None:
                return sums
            self._n_rows += n_rows
            sums = build(self._n_rows)
            if sums is not None and sums.is_kept:
                self._kept[kind] = members, sums
            return sums

    def _found(self, kind: str, members: list[Any]) -> TreeSums | None:
        """What is kept, if it is of these members and its route is not switched off."""
        of, sums = self._kept.get(kind, (None, None))
        if of is None or sums is None or (sums.is_compiled and not uses_numba()):
            return None
        same = len(of) == len(members) and all(map(operator.is_, of, members))
        return sums if same else None
