"""The training rows in the leaves of an ensemble's trees, and quantiles of the target from them.

For a query x and tree b let L_b(x) be the leaf of x, and v_bi the weight with which row i was
fitted in tree b. The weight of row i at x is

    w_i(x) = 1/B sum_b v_bi 1{i in L_b(x)} / sum_{j in L_b(x)} v_bj,

and the distribution at x puts w_i(x) on the target of row i [Meinshausen, 2006].
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier, DummyRegressor

from sklearn_ensemble_theory._native.inference import fill_leaves, leaf_quantiles
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_one_output,
    kept_rows,
    kept_X,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    tree_input,
)
from sklearn_ensemble_theory.ensembles._training_rows import (
    OutsideMasks,
)
from sklearn_ensemble_theory.trees._packed import (
    AddedTrees,
    DeepTrees,
    fits_in_words,
    packed_places,
)
from sklearn_ensemble_theory.trees._tree_arrays import member_nodes, read_by

# Shares of 1 that are sums of at most some thousand terms are equal if they differ by less.
ROUNDING = 1e-12
# Leaves that are looked up at once, and those of training rows that are kept: 128 MB.
LEAVES = 2**21
KEPT_LEAVES = 2**25


def predicted_quantiles(ensemble: Ensemble, X, quantiles: ArrayLike) -> np.ndarray:
    """Return quantiles at the rows X, of shape (m, k), or (m,) for a single level."""
    try:
        if np.iscomplexobj(quantiles):
            raise TypeError
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        levels = np.empty(0)
    if levels.ndim != 1 or not levels.size or not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError(f"quantiles must be numbers from 0 to 1, got {quantiles!r}.")
    check_one_output(ensemble, "predict_quantiles")
    found = rows_of_leaves(ensemble, "predict_quantiles").quantiles(tree_input(ensemble, X), levels)
    return found[:, 0] if np.ndim(quantiles) == 0 else found


def rows_of_leaves(ensemble: Ensemble, what: str) -> "LeafRows":
    """Return the training rows of all leaves, found once for the same members."""
    members, spec = ensemble.members, ensemble.draws
    check_trees(ensemble, what)
    X, y = kept_X(ensemble, what), kept_rows(ensemble, what).y

    def make() -> LeafRows:
        finder = LeafFinder(members, ensemble.columns)
        draws = []
        for seed in ensemble.seeds:
            rows, weights = spec.draw_parts(seed)[1]
            draws.append((rows, spec.fit_weights(weights, y[rows])))
        # Quantiles need the rows of a leaf in order of their targets; nothing else has an order.
        is_number = y.ndim == 1 and not spec.n_classes
        order = np.argsort(y, kind="stable") if is_number else np.arange(len(y))
        targets = np.asarray(y, dtype=np.float64)[order]
        return LeafRows(finder, tree_input(ensemble, X), order, targets, draws)

    return kept_rows(ensemble, what).derived("leaf rows", members, make)


def check_trees(ensemble: Ensemble, what: str) -> None:
    """Raise an error if a member is no tree."""
    for member in ensemble.members:
        if member_nodes([member], of_any_output=True) is None:
            if ensemble.draws.empty != "redraw" and isinstance(
                member, DummyRegressor | DummyClassifier
            ):
                raise ValueError(
                    f"bootstrap: {what} requires members that are trees, and a member of no rows "
                    f"is a constant with Bernoulli({ensemble.draws.empty!r}); use "
                    "Bernoulli('redraw')."
                )
            name = type(member).__name__
            raise ValueError(f"estimator: {what} requires members that are trees, got {name}.")


class LeafFinder:
    """Finds the leaves of rows in all trees, as numbers of nodes over the whole ensemble."""

    def __init__(self, members: Sequence, features: Sequence[np.ndarray | None]) -> None:
        self.members, self.features = list(members), list(features)
        trees = member_nodes(members, of_any_output=True)
        assert trees is not None
        self.packed = None
        if fits_in_words(trees, features):
            self.packed = DeepTrees(AddedTrees(trees=trees, features=features))
            self.packed.values = np.empty(0)
        sizes = [len(tree) for tree in trees]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def n_nodes(self) -> int:
        return int(self.starts[-1])

    def leaves(self, X) -> np.ndarray:
        """Return the leaves of the rows of X, an int array of shape (m, T)."""
        leaves = np.empty((X.shape[0], len(self.members)), dtype=np.int64)
        if self.packed is not None and not sp.issparse(X):
            self.packed.leaves(X, leaves)
            return leaves
        X = X.tocsr() if sp.issparse(X) else X
        for t, (member, columns) in enumerate(zip(self.members, self.features)):
            rows = X if columns is None else X[:, columns]
            leaves[:, t] = member.apply(read_by(member, rows), check_input=False)
            if self.packed is not None:  # the numbers that dense rows get
                tree = member.tree_
                leaves[:, t] = packed_places(tree.children_left, tree.children_right)[leaves[:, t]]
        # Numbers over the whole ensemble: one sorted list serves the leaves of all trees.
        leaves += self.starts[:-1]
        return leaves


class LeafRows:
    """The rows of each leaf, by their places in `order`, and their shares.

    `targets` are those of the rows in this order, the increasing one of the targets for
    `quantiles`. `draws` has the rows, with their weights, that each tree was fitted to.
    """

    def __init__(
        self,
        finder: LeafFinder,
        X: np.ndarray | sp.csr_array,
        order: np.ndarray,
        targets: np.ndarray,
        draws: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self.finder, self.order, self.targets = finder, order, targets
        n, n_trees = len(order), len(draws)
        rank = np.empty(n, dtype=np.int32)
        rank[order] = np.arange(n, dtype=np.int32)
        leaves = np.empty((n_trees, n), dtype=np.int32)  # among the nodes of its tree
        step = max(1, LEAVES // n_trees)
        for start in range(0, n, step):
            found = finder.leaves(X[start : start + step]) - finder.starts[:-1]
            leaves[:, start : start + step] = found.T
        self._leaves = leaves if leaves.size <= KEPT_LEAVES else None
        # Beside the nodes an empty one, which stands for trees that do not count.
        self.first = np.zeros(finder.n_nodes + 2, dtype=np.int64)
        self.ends = np.cumsum([0, *(len(rows) for rows, _ in draws)])
        self.rank = np.empty(self.ends[-1], dtype=np.int32)
        self.share = np.empty(self.ends[-1])
        for t, (rows, weights) in enumerate(draws):
            own = slice(self.ends[t], self.ends[t + 1])
            sizes = self.first[finder.starts[t] + 1 : finder.starts[t + 1] + 1]
            entries = self.rank[own], self.share[own]
            drawn = rows.astype(np.int64, copy=False), weights.astype(np.float64, copy=False)
            fill_leaves(leaves[t], *drawn, rank, n_trees, sizes, *entries)
        np.cumsum(self.first, out=self.first)

    def drawn(self) -> Iterator[np.ndarray]:
        """The rows in the leaves of each tree, which have no order."""
        for start, end in itertools.pairwise(self.ends):
            yield self.order[self.rank[start:end]]

    def training_leaves(self, X, rows: np.ndarray) -> np.ndarray:
        """The leaves of some of the training rows X, of shape (len(rows), T)."""
        if self._leaves is None:
            return self.finder.leaves(X[rows])
        return self._leaves[:, rows].T + self.finder.starts[:-1]

    def quantiles(self, X, levels: np.ndarray) -> np.ndarray:
        """Return the smallest targets y with F(y | x) >= level, an array of shape (m, k)."""
        levels = np.maximum(levels - ROUNDING, 0.0)
        order = np.argsort(levels, kind="stable")
        found = np.empty((X.shape[0], len(levels)))
        step = max(1, LEAVES // len(self.finder.members))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            leaves = self.finder.leaves(X[rows])
            found[rows, order] = self._of_leaves(leaves, levels[order])
        return found

    def quantiles_outside(
        self, X, rows: np.ndarray, masks: OutsideMasks, levels: np.ndarray
    ) -> np.ndarray:
        """The same at some training rows, by the trees outside of each; the levels increase."""
        n_trees = len(self.finder.members)
        found = np.full((len(rows), len(levels)), np.nan)
        order = np.argsort(masks.counts, kind="stable")
        step = max(1, LEAVES // n_trees)
        for start in range(0, len(order), step):
            own = order[start : start + step]
            leaves = self.training_leaves(X, rows[own])
            leaves[~masks.numbers(own, bool)] = -1
            # The shares of k of T trees sum to k/T: rows outside of as many trees go together.
            counts, starts = np.unique(masks.counts[own], return_index=True)
            ends = np.append(starts[1:], len(own))
            for count, first, last in zip(counts, starts, ends):
                if count:
                    reached = np.maximum(levels * (count / n_trees) - ROUNDING, 0.0)
                    found[own[first:last]] = self._of_leaves(leaves[first:last], reached)
        return found

    def _of_leaves(self, leaves: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """The targets of these levels, in increasing order, for the leaves (m, T) of queries."""
        ranks = np.empty((len(leaves), len(levels)), dtype=np.int64)
        n = len(self.targets)
        leaves = np.where(leaves < 0, self.finder.n_nodes, leaves)
        leaf_quantiles(leaves, self.first, self.rank, self.share, n, levels, ranks)
        return self.targets[ranks]

    def weights(self, leaves: np.ndarray) -> sp.csr_array:
        """w_i(x) for the leaves of queries, of shape (m, n); columns by `order`, not sorted.

        A leaf of -1 is left out: the weights then sum to the share of the other trees.
        """
        n = len(self.order)
        rows_of_leaf = sp.csr_array(
            (self.share, self.rank, self.first), shape=(len(self.first) - 1, n)
        )
        # A product of sparse matrices adds up the shares that a row has in all trees.
        return (indicator_of_leaves(leaves, len(self.first) - 1) @ rows_of_leaf).tocsr()


def indicator_of_leaves(leaves: np.ndarray, n_nodes: int) -> sp.csr_array:
    """1 where a row is in a leaf, of shape (m, n_nodes), from the leaves (m, T); -1 is none."""
    used = leaves >= 0
    ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    at = leaves[used]
    return sp.csr_array((np.ones(len(at)), at, ends), shape=(len(leaves), n_nodes))
