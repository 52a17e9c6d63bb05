"""An ensemble of trees as a weighting of its training rows, and what follows from the weights.

At a query x the training row i has the weight w_i(x) of `_quantiles`, and the prediction is the
mean of the targets with these weights. Of a training row the trees count that it is out of bag
for, by which its weights are the proximities of [Rhodes, Cutler and Moon, 2023].
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._door import LARGEST_COUNT
from sklearn_ensemble_theory._native.inference import most_shared
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.bounds._arguments import check_integer
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_rows_outside,
    kept_rows,
    kept_X,
    outside_masks,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    tree_input,
)
from sklearn_ensemble_theory.ensembles._quantiles import (
    LeafFinder,
    check_trees,
    indicator_of_leaves,
    rows_of_leaves,
)

Proximity = Literal["leaves", "out_of_bag", "geometry-preserving"]
PROXIMITIES = ("leaves", "out_of_bag", "geometry-preserving")
# Leaves of queries that are looked up at once, and pairs of rows whose trees are counted at once.
LEAVES, PAIRS = 2**21, 2**18
# Weights and proximities that are computed at once: 48 MB.
ENTRIES = 2**22
# Raw scores of outliers are equal if they differ by less, as a share.
ROUNDING = 1e-9
DISTRIBUTION = "predict_distribution"
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int32)


# --- weights --------------------------------------------------------------------------------------


def training_weights(ensemble: Ensemble, X: MatrixLike | None = None) -> sp.csr_array:
    """Compute the weights of the training rows whose weighted mean is the prediction."""
    blocks = list(weight_blocks(ensemble, X, "training_weights"))
    weights = sp.vstack(blocks, format="csr")
    if X is None:
        n_without = int(np.count_nonzero(np.diff(weights.indptr) == 0))
        if n_without:
            warn_user(
                f"{n_without} training rows were drawn for every tree and have no weights; more "
                f"trees than n_estimators={len(ensemble.members)} leave every row out once."
            )
    return weights


def weight_blocks(ensemble: Ensemble, X, what: str) -> Iterator[sp.csr_array]:
    """The weights of blocks of queries, columns as the training rows; None is these themselves."""
    leaf_rows = rows_of_leaves(ensemble, what)
    every = leaf_blocks(ensemble, leaf_rows.finder, X, what, out_of_bag=X is None)
    for leaves in blocks_of_entries(every, np.diff(leaf_rows.first), len(leaf_rows.order)):
        found = leaf_rows.weights(leaves)
        if X is None:  # the trees outside of a row count for the others
            n_outside = np.maximum((leaves >= 0).sum(axis=1), 1)
            found.data *= np.repeat(leaves.shape[1] / n_outside, np.diff(found.indptr))
        columns = leaf_rows.order[found.indices].astype(found.indices.dtype)
        found = sp.csr_array((found.data, columns, found.indptr), shape=found.shape)
        found.sort_indices()
        yield found


def leaf_blocks(
    ensemble: Ensemble, finder: LeafFinder, X, what: str, out_of_bag: bool
) -> Iterator[np.ndarray]:
    """The leaves (m, T) of blocks of rows; -1 where a training row is not `out_of_bag`."""
    if X is None:
        X = kept_X(ensemble, what)
    if out_of_bag:
        check_rows_outside(ensemble, f"{what}: rows out of bag")
        masks = outside_masks(ensemble, None)
    X = tree_input(ensemble, X)
    step = max(1, LEAVES // len(ensemble.members))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        leaves = finder.leaves(X[rows])
        if out_of_bag:
            leaves[masks.numbers(rows) == 0] = -1
        yield leaves


def blocks_of_entries(
    blocks: Iterator[np.ndarray], sizes: np.ndarray, n: int
) -> Iterator[np.ndarray]:
    """The blocks of leaves, cut where their rows have many others, of n, in their leaves."""
    for leaves in blocks:
        entries = np.cumsum(np.minimum(sizes[leaves].sum(axis=1), n))
        cuts = np.searchsorted(entries, np.arange(ENTRIES, entries[-1], ENTRIES))
        yield from np.split(leaves, np.unique(cuts[cuts > 0]))


# --- proximities ----------------------------------------------------------------------------------


def proximity(
    ensemble: Ensemble,
    X,
    Z,
    method: Proximity,
) -> sp.csr_array:
    """Compute how often two rows fall into the same leaf of the trees."""
    return sp.vstack(list(proximity_blocks(ensemble, X, Z, method, "proximity")), format="csr")


def proximity_blocks(
    ensemble: Ensemble, X, Z, method: Proximity, what: str
) -> Iterator[sp.csr_array]:
    """The proximities of blocks of rows to all of Z."""
    if not isinstance(method, str) or method not in PROXIMITIES:
        raise ValueError(f"method must be one of {list(PROXIMITIES)}, got {method!r}.")
    if method != "leaves" and Z is not None:
        raise ValueError(
            f"Z must be None with method={method!r}, which compares with training rows."
        )
    if method == "out_of_bag" and X is not None:
        raise ValueError("X must be None with method='out_of_bag', which compares training rows.")
    if method == "geometry-preserving":
        yield from weight_blocks(ensemble, X, what)
        return
    only_outside = method == "out_of_bag"
    members = ensemble.members
    if X is None or Z is None:
        finder = rows_of_leaves(ensemble, what).finder
    else:  # the training rows may have been removed
        check_trees(ensemble, what)
        finder = LeafFinder(members, ensemble.columns)
    by_leaf = rows_by_leaf(ensemble, finder, Z, method, what)
    start, sizes = 0, np.append(np.diff(by_leaf.indptr), 0)
    every = leaf_blocks(ensemble, finder, X, what, only_outside)
    for leaves in blocks_of_entries(every, sizes, by_leaf.shape[1]):
        found = (indicator_of_leaves(leaves, finder.n_nodes) @ by_leaf).tocsr()
        found.sort_indices()
        if only_outside:
            found.data /= n_trees_outside(ensemble, found, start)
        else:
            found.data /= len(members)
        yield found
        start += len(leaves)


def rows_by_leaf(
    ensemble: Ensemble, finder: LeafFinder, Z, method: Proximity, what: str
) -> sp.csr_array:
    """1 where a leaf has a row of Z, of shape (n_nodes, n); None is the training rows."""

    def make() -> sp.csr_array:
        others = leaf_blocks(ensemble, finder, Z, what, method == "out_of_bag")
        parts = [indicator_of_leaves(leaves, finder.n_nodes) for leaves in others]
        return sp.vstack(parts).T.tocsr()

    if Z is not None:
        return make()
    # The rows of all leaves are found once for training rows.
    return kept_rows(ensemble, what).derived(method, ensemble.members, make)


def n_trees_outside(ensemble: Ensemble, pairs: sp.csr_array, start: int) -> np.ndarray:
    """How many trees are fitted to neither row of each pair; rows of `pairs` begin at `start`."""
    bits = outside_masks(ensemble, None).bits
    first = start + np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    counts = np.empty(pairs.nnz)
    for at in range(0, pairs.nnz, PAIRS):
        part = slice(at, at + PAIRS)
        counts[part] = BITS[bits[first[part]] & bits[pairs.indices[part]]].sum(axis=1)
    return counts


def kneighbors(
    ensemble: Ensemble,
    X,
    n_neighbors: int,
    return_distance: bool,
    method: Proximity,
) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
    """Find the training rows that are closest to each row by the trees."""
    check_integer("n_neighbors", n_neighbors, 1, LARGEST_COUNT)
    n = len(kept_rows(ensemble, "kneighbors").y)
    if n_neighbors > n - (X is None):
        raise ValueError(
            f"n_neighbors={n_neighbors} must be at most {n - (X is None)}, the number of other "
            "training rows."
        )
    if method == "leaves":
        near, found = by_shared_leaves(ensemble, X, n_neighbors, n)
        return (near, found) if return_distance else found
    distances: list[np.ndarray] = []
    indices: list[np.ndarray] = []
    for near in proximity_blocks(ensemble, X, None, method, "kneighbors"):
        for a, b in zip(near.indptr[:-1], near.indptr[1:]):
            number, share = near.indices[a:b], near.data[a:b]
            if X is None:
                is_other = number != len(indices)
                number, share = number[is_other], share[is_other]
            if len(share) > n_neighbors:
                # Those at the distance of the last one may be more than are returned.
                last = np.partition(share, -n_neighbors)[-n_neighbors]
                number, share = number[share >= last], share[share >= last]
            nearest = np.argsort(-share, kind="stable")[:n_neighbors]
            number, share = number[nearest], share[nearest]
            n_more = n_neighbors - len(number)
            if n_more:  # those of the lowest numbers that share no leaf
                taken = np.append(number, len(indices)) if X is None else number
                rest = np.setdiff1d(np.arange(n_neighbors + 1), taken)[:n_more]
                number, share = np.append(number, rest), np.append(share, np.zeros(n_more))
            indices.append(number)
            distances.append(1.0 - share)
    shape = len(indices), n_neighbors
    found = np.array(indices, dtype=np.intp).reshape(shape)
    if not return_distance:
        return found
    return np.clip(np.array(distances).reshape(shape), 0.0, 1.0), found


def by_shared_leaves(
    ensemble: Ensemble, X, n_neighbors: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """The distances and numbers of the training rows that share most leaves with each row of X."""
    finder, n_trees = rows_of_leaves(ensemble, "kneighbors").finder, len(ensemble.members)
    by_leaf = rows_by_leaf(ensemble, finder, None, "leaves", "kneighbors")
    first, rows = by_leaf.indptr.astype(np.int64), by_leaf.indices.astype(np.int32)
    counts, places = np.empty(n, dtype=np.int32), np.empty(n_trees + 1, dtype=np.int64)
    distances, indices, start = [], [], 0
    for leaves in leaf_blocks(ensemble, finder, X, "kneighbors", out_of_bag=False):
        m = len(leaves)
        own = np.arange(start, start + m) if X is None else np.full(m, -1)
        shared = np.empty((m, n_neighbors), dtype=np.int32)
        found = np.empty((m, n_neighbors), dtype=np.int64)
        most_shared(leaves, first, rows, own, counts, places, shared, found)
        distances.append(1.0 - shared / n_trees)
        indices.append(found.astype(np.intp, copy=False))
        start += m
    return np.vstack(distances), np.vstack(indices)


def outlier_scores(ensemble: Ensemble, method: Proximity) -> np.ndarray:
    """Score how far each training row is from the others of its class."""
    if not isinstance(method, str) or method not in PROXIMITIES[:2]:
        raise ValueError(f"method must be one of {list(PROXIMITIES[:2])}, got {method!r}.")
    y = kept_rows(ensemble, "outlier_scores").y
    label = np.zeros(len(y), dtype=np.intp)
    if ensemble.draws.n_classes:
        label = np.unique(y.reshape(len(y), -1), axis=0, return_inverse=True)[1].ravel()
    total, start = np.zeros(len(y)), 0
    for near in proximity_blocks(ensemble, None, None, method, "outlier_scores"):
        row = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
        same = label[start + row] == label[near.indices]
        sums = np.bincount(row, near.data**2 * same, minlength=near.shape[0])
        total[start : start + len(sums)] = sums
        start += len(sums)
    # A row that every tree is fitted to has no proximities out of bag, not even to itself.
    scores = np.divide(len(y), total, out=np.full(len(y), np.nan), where=total > 0)
    for k in range(label.max(initial=-1) + 1):
        own = (label == k) & (total > 0)
        if not own.any():
            continue
        median = np.median(scores[own])
        scores[own] -= median
        # The sums of equal rows differ by rounding, which is no spread.
        scores[own & (np.abs(scores) <= ROUNDING * median)] = 0.0
        spread = np.median(np.abs(scores[own])) or np.mean(np.abs(scores[own])) or 1.0
        scores[own] /= spread
    return scores


def impute(ensemble: Ensemble, X: MatrixLike | None = None) -> np.ndarray:
    """Fill in missing values by the weighted means of the training rows that have them."""
    rows_of_leaves(ensemble, "impute")
    known = kept_X(ensemble, "impute")
    if ensemble.encoder is not None:
        raise ValueError("impute requires features that are numbers; some of X are categorical.")
    rows = known if X is None else X
    if sp.issparse(known) or sp.issparse(rows):
        raise ValueError("impute requires a dense X.")
    with np.errstate(over="ignore"):  # of long doubles
        filled = np.array(rows, dtype=np.float64)
    is_known = ~np.isnan(known)
    values = np.where(is_known, known, 0.0).astype(np.float64)
    n_known = is_known.sum(axis=0)
    mean = np.divide(
        values.sum(axis=0), n_known, out=np.full(len(n_known), np.nan), where=n_known > 0
    )
    start = 0
    for weights in weight_blocks(ensemble, X, "impute"):
        part = filled[start : start + weights.shape[0]]
        total, share = weights @ values, weights @ is_known.astype(np.float64)
        means = np.tile(mean, (len(part), 1))
        np.divide(total, share, out=means, where=share > 0)
        part[:] = np.where(np.isnan(part), means, part)
        start += len(part)
    return filled


# --- the conditional distribution -----------------------------------------------------------------


def functional(
    ensemble: Ensemble, X, function: Callable[[np.ndarray, np.ndarray], Any]
) -> np.ndarray:
    """`function(y, weights)` of the weighted targets at each row."""
    if not callable(function):
        raise ValueError(f"function must be callable, got {function!r}.")
    rows_of_leaves(ensemble, DISTRIBUTION)
    y = np.asarray(kept_rows(ensemble, DISTRIBUTION).y, dtype=np.float64)
    found = []
    for weights in weight_blocks(ensemble, X, DISTRIBUTION):
        for a, b in zip(weights.indptr[:-1], weights.indptr[1:]):
            found.append(function(y[weights.indices[a:b]], weights.data[a:b]))
    shapes = {np.shape(each) for each in found}
    if len(shapes) > 1:
        raise ValueError(
            "function must return an array of one shape for all rows, got the shapes "
            f"{sorted(shapes)}."
        )
    return np.asarray(found)


def weighted_mean(
    ensemble: Ensemble, X, function: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The conditional mean of a function of the targets, which is called once for all of them."""
    if not callable(function):
        raise ValueError(f"function must be callable, got {function!r}.")
    y = np.asarray(kept_rows(ensemble, DISTRIBUTION).y, dtype=np.float64)
    values = np.asarray(function(y), dtype=np.float64)
    if values.shape[:1] != (len(y),):
        raise ValueError(
            f"function must return a value for each of the {len(y)} training rows, got the shape "
            f"{values.shape}."
        )
    return np.concatenate([w @ values for w in weight_blocks(ensemble, X, DISTRIBUTION)])


def distribution_function(ensemble: Ensemble, X, y: ArrayLike) -> np.ndarray:
    """F(y | x); of several targets, the probability that all of them are at most the values."""
    rows_of_leaves(ensemble, DISTRIBUTION)
    targets = kept_rows(ensemble, DISTRIBUTION).y
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers, got {y!r}.") from error
    one = values.ndim < targets.ndim
    values = values[None] if one else values
    if values.shape[1:] != targets.shape[1:] or np.isnan(values).any():
        shape = "(n_values,)" if targets.ndim == 1 else f"(n_values, {targets.shape[1]})"
        raise ValueError(f"y must be numbers other than NaN, of shape {shape}.")
    parts = []
    for weights in weight_blocks(ensemble, X, DISTRIBUTION):
        cdf = np.empty((weights.shape[0], len(values)))
        for j, value in enumerate(values):  # an indicator at a time: n numbers, not n k
            below = targets <= value
            cdf[:, j] = weights @ (below if below.ndim == 1 else below.all(axis=1)).astype(float)
        parts.append(cdf)
    found = np.clip(np.concatenate(parts), 0.0, 1.0)
    return found[:, 0] if one else found
