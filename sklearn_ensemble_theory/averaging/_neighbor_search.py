"""The nearest training rows of points, in blocks of bounded memory, and averages of their targets.

Weights by rank need an order of the training rows around each point; where distances are equal
their order is arbitrary. Averaging over all orders of tied rows gives each rank that a tie covers
the mean target of the tied rows. What is computed here therefore depends on the data only, not on
the order of the rows; in return a tie that straddles the last rank must be found as a whole.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, cast

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors

from sklearn_ensemble_theory._native.neighbors import (
    PointTree,
    count_nearer,
    leave_out,
    means_by_rank,
    tie_starts,
)
from sklearn_ensemble_theory._running import in_threads, shares

from ._neighbor_weights import FilledShare

BLOCK_ENTRIES = 2**19  # neighbours held at a time: about 25 bytes each
# Fewer neighbours are found before threads of SciPy's tree, or of ours, have started.
_ENTRIES_OF_A_THREAD = 2**14
_ENTRIES_OF_A_EUCLIDEAN_THREAD = 2**16

# Of so many rows the neighbours are found first, to see whether ties take more of them.
PROBED = 64
# Of standard deviations: so many more neighbours are asked for where their weights differ.
MARGIN = 3

# With more features products of matrices are faster than our differences of coordinates.
MOST_EUCLIDEAN_FEATURES = 100

# Two neighbours whose distances differ by less than this share of the larger one are tied: rounding
# of a few units in the last place, and of decimal grids, is far below it; the gap of two rows
# that are not tied falls below it about R^2 d / 2 times in 10^10 points (R ranks, d features), and
# then only averages two neighbouring weights.
TIE_RTOL = 1e-10
# Where squares overflow, the trees return infinite distances, brute force returns the square root
# of the largest float and row 0.
LARGEST_DISTANCE = 1.3e154

_MINKOWSKI: dict[Any, float] = {
    **dict.fromkeys(["euclidean", "l2"], 2),
    **dict.fromkeys(["manhattan", "l1", "cityblock"], 1),
    **dict.fromkeys(["chebyshev", "infinity"], np.inf),
}


# --- training rows --------------------------------------------------------------------------------


class TrainingPoints(NamedTuple):
    """The distinct training rows: equal ones are merged once, before any query."""

    X: Any
    counts: np.ndarray | None  # training rows of each point, or their weight; None for one each
    of_row: np.ndarray  # the point of each training row
    sums: np.ndarray  # (n_outputs, n_points): of the targets, times the weights

    @classmethod
    def of(cls, X: Any, targets: np.ndarray, merge: bool, weight: np.ndarray | None) -> Self:
        """The points of the rows of X; equal rows are merged if X is dense and `merge` is True."""
        if weight is not None:
            targets = targets * weight
        merged = None
        if merge and not sp.issparse(X):
            first, merged = merge_equal_rows(X)
        if merged is None:
            return cls(X, weight, np.arange(X.shape[0]), targets)
        sums = np.array([np.bincount(merged, target) for target in targets])
        return cls(X[first], np.bincount(merged, weight), merged, sums)


def merge_equal_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """First row of every distinct row of X and the point of each row; (None, None) if all differ.

    Rows are compared by their bits, through a hash of each row that is sorted in O(n log n); -0.0
    is 0.0. Should two different rows share a hash, they are sorted in full.
    """
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)
    key = np.zeros(len(bits), dtype=np.uint64)
    # A multiplicative hash, a column at a time for all rows: sorting one number for each row is
    # much faster than sorting rows.
    for column in bits.T:
        key ^= column
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, point = np.unique(key, return_index=True, return_inverse=True)
    if len(first) == len(X):
        return None, None
    if not (bits == bits[first[point]]).all():
        _, first, point = np.unique(bits, axis=0, return_index=True, return_inverse=True)
        point = point.reshape(-1)
        if len(first) == len(X):
            return None, None
    return first, point


# --- rows that are left out -----------------------------------------------------------------------


class LeftOutRows:
    """What is left out with each row: the row, or a part of its weight."""

    def __init__(self, points: np.ndarray, weight: np.ndarray, targets: np.ndarray) -> None:
        self.points, self.weight, self.targets = points, weight, targets

    def total(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        return self.weight[rows]

    def total_target(self, output: int, rows: np.ndarray) -> np.ndarray:
        """The sum of the weighted targets that are left out with each row."""
        return self.weight[rows] * self.targets[output, rows]

    def places(self, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
        """What is left out at each of the points (len(rows), k) that are neighbours of the rows."""
        return points == self.points[rows, None]

    def weights(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        return np.where(places, self.weight[rows, None], 0.0)

    def sums(self, output: int, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The sums of the weighted targets that are left out at these places."""
        return self.weights(rows, places) * self.targets[output, rows, None]


class LeftOutGroups:
    """What is left out with each row: all rows of its group; with the methods of `LeftOutRows`.

    Of each pair of a point and a group that has rows there, the weight and the sums of the weighted
    targets are kept, in the order of the pairs' numbers: O(n) memory, and O(log n) to find one. The
    arguments are arrays (n,), but for the targets (n_outputs, n).
    """

    def __init__(
        self, points: np.ndarray, groups: np.ndarray, weight: np.ndarray, targets: np.ndarray
    ) -> None:
        self.groups, self.n_groups = groups, int(groups.max()) + 1
        self.pairs, place = np.unique(points * self.n_groups + groups, return_inverse=True)
        # The last entries are of pairs without rows.
        self.of_pairs = np.bincount(place, weight, len(self.pairs) + 1)
        self.targets_of_pairs = [
            np.bincount(place, weight * target, len(self.pairs) + 1) for target in targets
        ]
        self.of_groups = np.bincount(groups, weight)
        self.targets_of_groups = [np.bincount(groups, weight * target) for target in targets]

    def total(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        return self.of_groups[self.groups[rows]]

    def total_target(self, output: int, rows: np.ndarray) -> np.ndarray:
        return self.targets_of_groups[output][self.groups[rows]]

    def places(self, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
        wanted = points * self.n_groups + self.groups[rows, None]
        found = np.searchsorted(self.pairs, wanted)
        is_there = self.pairs[np.minimum(found, len(self.pairs) - 1)] == wanted
        return np.where(is_there, found, len(self.pairs))

    def weights(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        return self.of_pairs[places]

    def sums(self, output: int, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        return self.targets_of_pairs[output][places]


LeftOut = LeftOutRows | LeftOutGroups


# --- trees ----------------------------------------------------------------------------------------


class EuclideanTree:
    """A k-d tree for Euclidean distances."""

    def __init__(self, points: np.ndarray, leaf_size: int) -> None:
        points = np.ascontiguousarray(points, dtype=np.float64)
        self.tree = PointTree(points, min(leaf_size, len(points)))

    def query(self, X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the k nearest points, of shape (n_queries, k) each."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        distances, found = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int64)
        self.tree.nearest(X, distances, found)
        return distances, found


class MinkowskiTree:
    """A k-d tree with the interface of `NearestNeighbors`.

    An `EuclideanTree` for Euclidean distances; SciPy's for others, which is several times slower,
    but faster than scikit-learn's for hundreds of neighbours per query. SciPy's splits are at
    sliding midpoints: its medians are slow to find among many equal values.
    """

    metric = "minkowski"

    def __init__(self, points: np.ndarray, leaf_size: int, power: float, n_jobs: int | None):
        self._build(points, leaf_size, power, n_jobs)

    def _build(self, points: np.ndarray, leaf_size: int, power: float, n_jobs: int | None) -> None:
        self.points, self.leaf_size, self.power, self.n_jobs = points, leaf_size, power, n_jobs
        self.tree: KDTree | EuclideanTree
        if power == 2:
            self.tree = EuclideanTree(points, leaf_size)
        else:
            self.tree = KDTree(points, leafsize=leaf_size, balanced_tree=False)

    def __getstate__(self) -> dict[str, Any]:
        # Not the tree, which not every format or machine can read: it is built again quickly.
        return {"arguments": (self.points, self.leaf_size, self.power, self.n_jobs)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._build(*state["arguments"])

    def kneighbors(self, X: Any, n_neighbors: int) -> tuple[np.ndarray, ...]:
        """Distances and indices of the nearest points, of shape (n_queries, n_neighbors) each."""
        X = X.toarray() if sp.issparse(X) else X
        if not np.isfinite(X).all():  # in the units of the training rows, which may be tiny
            shape = len(X), n_neighbors
            return np.full(shape, np.inf), np.zeros(shape, dtype=np.int64)
        if isinstance(self.tree, EuclideanTree):
            query, n_entries = self.tree.query, _ENTRIES_OF_A_EUCLIDEAN_THREAD
        else:
            # Our threads: SciPy's own may end Python by a segmentation fault if interrupted.
            query = partial(self.tree.query, p=self.power, workers=1)
            n_entries = _ENTRIES_OF_A_THREAD
        n_parts = min(effective_n_jobs(self.n_jobs), 1 + len(X) * n_neighbors // n_entries)
        tasks = [(X[a:b], n_neighbors) for a, b in shares(len(X), max(n_parts, 1))]
        if len(tasks) == 1:  # no copies
            distances, points = query(*tasks[0])
            shape = len(X), n_neighbors
            return distances.reshape(shape), points.reshape(shape)
        found = in_threads(query, tasks)
        return tuple(np.concatenate(arrays).reshape(-1, n_neighbors) for arrays in zip(*found))


# --- the search -----------------------------------------------------------------------------------


class NeighborSearch:
    """Neighbours among the training points, found block by block.

    `n_neighbors` is how many are searched for at first, by which scikit-learn chooses the
    algorithm; the other settings are those of `NearestNeighbors`, which also refuses invalid
    combinations.
    """

    def __init__(
        self,
        points: TrainingPoints,
        n_neighbors: int,
        *,
        algorithm: str,
        leaf_size: int,
        metric: str | Callable[..., float],
        p: float | None,
        metric_params: dict[str, Any] | None,
        n_jobs: int | None,
    ) -> None:
        X = points.X
        self.X, self.n_points, self.counts = X, X.shape[0], points.counts
        nearest = NearestNeighbors(
            n_neighbors=min(n_neighbors, self.n_points),
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        is_minkowski = metric in ("minkowski", "p")
        power = p if is_minkowski else _MINKOWSKI.get(metric)
        # Above 15 features "auto" is brute force in scikit-learn. It also is for more neighbours
        # than half of the points, where our tree is still faster. Our tree is faster with more
        # features too, if there are many neighbours: brute force sorts them slowly.
        most_features = max(15, min(n_neighbors // 4, MOST_EUCLIDEAN_FEATURES) if power == 2 else 0)
        wanted = algorithm == "kd_tree" or (algorithm == "auto" and X.shape[1] <= most_features)
        self.nearest: NearestNeighbors | MinkowskiTree
        try:
            if is_minkowski and p is None and "p" not in (metric_params or {}):
                raise ValueError(f"p must be a positive number with metric={metric!r}, got None.")
            with np.errstate(over="ignore", invalid="ignore"):
                if not wanted or power is None or power < 1 or metric_params or sp.issparse(X):
                    self.nearest = nearest.fit(X)
                else:
                    self.nearest = MinkowskiTree(X, leaf_size, float(power), n_jobs)
                # What a query would refuse is refused by the fit.
                near = self.nearest.kneighbors(X[:1], min(2, self.n_points))[0]
            powers = is_minkowski and power is not None and 2 < power < np.inf
            if powers and self.n_points > 1 and not 0 < near[0, 1] < LARGEST_DISTANCE:
                raise ValueError("distances between rows of X overflow or vanish")
        except (TypeError, AttributeError, ValueError) as error:
            if callable(metric):  # the user's own error
                raise
            raise ValueError(
                f"metric={metric!r} cannot be used with algorithm={algorithm!r}, p={p!r} and "
                f"metric_params={metric_params!r}: {error}."
            ) from error

    def ranked_blocks(
        self,
        X: Any,
        n_ranks: int,
        own: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        rows: np.ndarray | None = None,
    ) -> Iterator[tuple[np.ndarray, "RankedBlock"]]:
        """Yield (rows, RankedBlock) until every row of X is covered; rows in no fixed order.

        `own` holds the point of each row of X among the training points: one row of that point is
        left out. Instead, `groups` holds the group of each training row, each of which is a point
        of its own; those of the same group are left out. Then `rows` are in groups of one size.
        """
        limit = self._available(X)
        n_left_out = int(own is not None)
        if groups is not None and rows is not None and len(rows):
            # A group may be far apart: more neighbours are asked for where too few are left.
            n_left_out = min(int((groups == groups[rows[0]]).sum()), 1 + n_ranks // 4)
        # One more than the ranks shows whether the last of them is tied with rows farther on.
        k = min(n_ranks + 1 + n_left_out, self.n_points)
        if limit < min(n_ranks + (own is not None), self.n_points):
            raise self._too_few(limit, n_ranks)

        def complete(rows, k):
            start, step = 0, PROBED
            while start < len(rows):
                part = rows[start : start + step]
                start += step
                distances, points = self._query(X, part, k)
                if groups is not None:
                    distances, points, n_others = without_own_group(distances, points, groups, part)
                    few = n_others < n_ranks + (k < limit)
                    if few.any():
                        if k == limit:
                            raise self._too_few(limit, n_ranks)
                        yield from complete(part[few], min(2 * k, limit))
                        if few.all():
                            continue
                    part, n_columns = part[~few], n_others[~few].min()
                    distances, points = distances[~few, :n_columns], points[~few, :n_columns]
                places = None if own is None else own[part]
                block = RankedBlock.of(distances, points, n_ranks, self.counts, places)
                asked, step = k, max(1, BLOCK_ENTRIES // k)
                if k < limit and 4 * np.count_nonzero(block.complete) < 3 * len(part):
                    # Most rows would be asked for twice.
                    k, step = min(k + k // 4 + 1, limit), PROBED
                if asked == limit or block.complete.all():
                    yield part, block
                    continue
                # A tie straddles the last rank of these rows: all of the tied rows are needed.
                if block.complete.any():
                    yield part[block.complete], block.take(block.complete)
                yield from complete(part[~block.complete], min(2 * asked, limit))

        yield from complete(np.arange(X.shape[0]) if rows is None else rows, min(k, limit))

    @staticmethod
    def _too_few(limit: int, n_ranks: int) -> ValueError:
        return ValueError(
            f"X contains only {limit} precomputed neighbors of some row, but the weights are "
            f"positive for {n_ranks} neighbors. Store more neighbors, or increase max_samples."
        )

    def weighted_blocks(
        self, X: Any, enough: float, left_out: LeftOut | None = None, rows: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, "WeightedBlock"]]:
        """Yield (rows, WeightedBlock) with neighbours of the weight `enough` for rows of X."""
        weights = self.counts
        assert weights is not None
        limit = self._available(X)
        # What as many neighbours weigh differs by three standard deviations at most, nearly always.
        n_near, spread = enough / weights.mean(), weights.std() / weights.mean()
        wanted = n_near + MARGIN * spread * np.sqrt(n_near) + 2 + (left_out is not None)
        wanted = int(min(wanted, self.n_points))
        rows = np.arange(X.shape[0]) if rows is None else rows
        pending = [(rows, min(wanted, limit))]
        # Rows whose neighbours weigh too little are asked for twice as many, all of them together.
        while pending:
            rows, k = pending.pop()
            step, unfinished = max(1, BLOCK_ENTRIES // k), []
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                distances, points = self._query(X, part, k)
                places = left = None
                if left_out is not None:
                    places = left_out.places(part, points)
                    left = left_out.weights(part, places)
                block = WeightedBlock(distances, points, weights, places, left)
                done = (block.known >= enough) | (k == self.n_points)
                if not done.all():
                    if k == limit:
                        raise ValueError(
                            f"X contains only {limit} precomputed neighbors of some row, whose "
                            f"weights sum to less than the {enough:.6g} that are required. Store "
                            "more neighbors, or increase max_samples."
                        )
                    unfinished.append(part[~done])
                if done.any():
                    yield part[done], block.take(done)
            if unfinished:
                pending.append((np.concatenate(unfinished), min(2 * k, limit)))

    def _available(self, X: Any) -> int:
        """Return the number of neighbours that are known for every row of X."""
        if self.nearest.metric == "precomputed" and sp.issparse(X):
            return int(np.diff(X.indptr).min())
        return self.n_points

    def _query(self, X: Any, part: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
        """Distances and numbers of the k nearest points of some rows of X."""
        whole = len(part) == X.shape[0]
        with np.errstate(over="ignore", invalid="ignore"):  # distances are checked
            found = self.nearest.kneighbors(X if whole else X[part], k)
        if not (found[0][:, -1] < LARGEST_DISTANCE).all():
            raise ValueError(
                "Distances between X and the training rows overflow or are not numbers: rescale X."
            )
        return found


def without_own_group(
    distances: np.ndarray, points: np.ndarray, groups: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The neighbours of each row with those of its own group last, and the number of the others."""
    is_own = groups[points] == groups[rows, None]
    order = np.argsort(is_own, axis=1, kind="stable")
    distances, points = (np.take_along_axis(each, order, axis=1) for each in (distances, points))
    return distances, points, points.shape[1] - is_own.sum(axis=1)


def new_distances(distances: np.ndarray) -> np.ndarray:
    """Tell whether each neighbour is farther than the one before, of shape (rows, k)."""
    starts = np.ones(distances.shape, dtype=bool)
    distances = np.ascontiguousarray(distances, np.float64)
    tie_starts(distances, 1 - TIE_RTOL, starts)
    return starts


class RankedBlock:
    """The neighbours of a block of rows, and their targets by rank.

    `starts` says whether each neighbour is farther than the one before. `counts` are the training
    rows of each point, None for one each; `own` are the points of which one row is left out.
    """

    def __init__(
        self,
        points: np.ndarray,
        starts: np.ndarray,
        n_ranks: int,
        counts: np.ndarray | None,
        own: np.ndarray | None,
    ) -> None:
        self.points, self.starts, self.n_ranks = points, starts, n_ranks
        self.counts, self.own = counts, own
        nearer = np.empty(len(points), dtype=np.int64)
        count_nearer(points, starts, counts, own, nearer)
        self.complete = nearer >= n_ranks

    @classmethod
    def of(
        cls,
        distances: np.ndarray,
        points: np.ndarray,
        n_ranks: int,
        counts: np.ndarray | None = None,
        own: np.ndarray | None = None,
    ) -> Self:
        """The block of these neighbours, without one training row of each row's point `own`."""
        points = np.ascontiguousarray(points, np.int64)
        own = None if own is None else own.astype(np.int64, copy=False)
        if own is not None and counts is None:
            # The own point is one row, and goes. It may be missing, if as many others are at
            # distance 0: then any of them can be left out.
            shape = len(points), points.shape[1] - 1
            kept = np.empty(shape), np.empty(shape, dtype=np.int64)
            leave_out(np.ascontiguousarray(distances, np.float64), points, own, *kept)
            (distances, points), own = kept, None
        counts = None if counts is None else counts.astype(np.int64, copy=False)
        return cls(points, new_distances(distances), n_ranks, counts, own)

    def take(self, mask: np.ndarray) -> Self:
        own = None if self.own is None else self.own[mask]
        return type(self)(self.points[mask], self.starts[mask], self.n_ranks, self.counts, own)

    def targets(self, sums: np.ndarray, own_targets: np.ndarray | None = None) -> np.ndarray:
        """Return the mean target at each rank, an array of shape (rows, n_ranks).

        `sums` are of the targets of each point, `own_targets` those of the rows left out.
        """
        ranked = np.empty((len(self.points), self.n_ranks))
        own = None if self.own is None else own_targets
        sums = np.ascontiguousarray(sums)
        means_by_rank(self.points, self.starts, self.counts, self.own, sums, own, ranked)
        return ranked


class WeightedBlock:
    """The neighbours of a block of rows of different weights.

    With the weight M_j of the j nearest, G(M_j) is the share that they fill (`_neighbor_weights`),
    and an average of n neighbours is sum_j (G(M_j) - G(M_{j-1})) m_j. Tied neighbours have the mean
    of their group as m_j, and the average then does not depend on their order.
    """

    def __init__(
        self,
        distances: np.ndarray,
        points: np.ndarray,
        weights: np.ndarray,
        places: np.ndarray | None = None,
        left: np.ndarray | None = None,
    ) -> None:
        self.points, self.starts = points, new_distances(distances)
        self.mass, self.places = weights[points], cast(np.ndarray, places)
        if left is not None:
            self.mass = np.maximum(self.mass - left, 0.0)
        self.cumulative = np.cumsum(self.mass, axis=1)
        # The weight before the last group, of which neighbours may be missing.
        last = (points.shape[1] - 1 - np.argmax(self.starts[:, ::-1], axis=1))[:, None]
        known = np.take_along_axis(self.cumulative, np.maximum(last - 1, 0), axis=1)
        self.known = np.where(last > 0, known, 0.0)[:, 0]

    def take(self, mask: np.ndarray) -> Self:
        if mask.all():
            return self
        block = object.__new__(type(self))
        for name in ("points", "starts", "mass", "cumulative", "known"):
            setattr(block, name, getattr(self, name)[mask])
        block.places = None if self.places is None else self.places[mask]
        return block

    @cached_property
    def least(self) -> np.ndarray:
        """The least weight of the j nearest rows, over the rows of the block."""
        return self.cumulative.min(axis=0)

    def filled(
        self, share: FilledShare, total: float | np.ndarray, enough: float = np.inf
    ) -> np.ndarray:
        """G for each of the first neighbours, those of the weight `enough` around every row.

        `total` is a number, or one for each row.
        """
        n_columns = min(int(np.searchsorted(self.least, enough)) + 1, self.points.shape[1])
        each = total[:, None] if isinstance(total, np.ndarray) else total
        return share(self.cumulative[:, :n_columns], each)

    def means(self, sums: np.ndarray, left: np.ndarray | None = None) -> "Means":
        """The mean target of each neighbour's group; 0 without any weight.

        `sums` are of the weighted targets at each point, of which `left` are left out.
        """
        values, mass = sums[self.points], self.mass
        if left is not None:
            values -= left
        heads = None if self.starts.all() else np.flatnonzero(self.starts)
        if heads is not None:
            values = np.add.reduceat(values.ravel(), heads)
            mass = np.add.reduceat(mass.ravel(), heads)
        means = np.divide(values, mass, out=np.zeros(mass.shape), where=mass > 0)
        if heads is not None:
            means = np.repeat(means, np.diff(heads, append=self.starts.size))
            means = means.reshape(self.starts.shape)
        return Means(means, means[:, :-1] - means[:, 1:])


class Means(NamedTuple):
    """The mean target of each neighbour, (rows, k), and how much it is above that of the next."""

    values: np.ndarray
    steps: np.ndarray

    def averaged(self, filled: np.ndarray, rest: float | np.ndarray) -> np.ndarray:
        """The averages, of which `rest` gets what the neighbours leave.

        By parts, sum_j G_j (m_j - m_{j+1}) with the rest after the last: G, `filled`, is all that
        depends on the size of the draws.
        """
        last = filled.shape[1] - 1
        averages = np.einsum("ij,ij->i", filled[:, :last], self.steps[:, :last])
        return averages + filled[:, last] * (self.values[:, last] - rest) + rest
