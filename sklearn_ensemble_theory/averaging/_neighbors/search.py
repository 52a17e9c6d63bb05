"""Neighbour queries in blocks of bounded memory, complete where distances tie."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._hot_loops.teams import shares
from sklearn_ensemble_theory._parallel import in_order
from sklearn_ensemble_theory.averaging._neighbors.euclidean_tree import EuclideanTree
from sklearn_ensemble_theory.averaging._neighbors.ranked_targets import RankedBlock

_ENTRIES_OF_THREADS = 2**14  # fewer neighbours are found before threads have started
BLOCK_ENTRIES = 2**19  # neighbours held at a time: about 25 bytes each

# Where squares overflow, the trees return infinite distances, brute force returns the square root
# of the largest float and row 0.
LARGEST_DISTANCE = 1.3e154

_MINKOWSKI: dict[Any, float] = {
    **dict.fromkeys(["euclidean", "l2"], 2),
    **dict.fromkeys(["manhattan", "l1", "cityblock"], 1),
    **dict.fromkeys(["chebyshev", "infinity"], np.inf),
}


def index_points(
    points: Any,
    n_neighbors: int,
    *,
    algorithm: str,
    leaf_size: int,
    metric: str | Callable[..., float],
    p: float | None,
    metric_params: dict[str, Any] | None,
    n_jobs: int | None,
) -> "NearestNeighbors | MinkowskiTree":
    """A fitted index with a method `kneighbors`: a `MinkowskiTree` where a k-d tree is suitable.

    Otherwise scikit-learn's `NearestNeighbors`, which also refuses invalid combinations of
    arguments.
    """
    nearest = NearestNeighbors(
        n_neighbors=n_neighbors,
        algorithm=algorithm,
        leaf_size=leaf_size,
        metric=metric,
        p=p,
        metric_params=metric_params,
        n_jobs=n_jobs,
    )
    if metric in ("minkowski", "p") and p is None and "p" not in (metric_params or {}):
        raise ValueError(f"p must be a positive number with metric={metric!r}, got None.")
    power = p if metric in ("minkowski", "p") else _MINKOWSKI.get(metric)
    # Above 15 features "auto" is brute force in scikit-learn. It also is for more neighbours than
    # half of the points, where this tree is still faster.
    wanted = algorithm == "kd_tree" or (algorithm == "auto" and points.shape[1] <= 15)
    if not wanted or power is None or power < 1 or metric_params or sp.issparse(points):
        return nearest.fit(points)
    return MinkowskiTree(points, leaf_size, float(power), n_jobs)


class MinkowskiTree:
    """A k-d tree with the interface of `NearestNeighbors`.

    SciPy's, which is faster than scikit-learn's for hundreds of neighbours per query; for Euclidean
    distances an `EuclideanTree` where loops are compiled, which is several times as fast. SciPy's
    splits are at sliding midpoints: its medians are slow to find among many equal values.
    """

    metric = "minkowski"

    def __init__(self, points: np.ndarray, leaf_size: int, power: float, n_jobs: int | None):
        self._build(points, leaf_size, power, n_jobs)

    def _build(self, points: np.ndarray, leaf_size: int, power: float, n_jobs: int | None) -> None:
        self.points, self.leaf_size, self.power, self.n_jobs = points, leaf_size, power, n_jobs
        self.tree: ThreadedTree | EuclideanTree
        if power == 2 and uses_numba():
            self.tree = EuclideanTree(points, leaf_size)
        else:
            self.tree = ThreadedTree(points, leaf_size)

    def __getstate__(self) -> dict[str, Any]:
        # Not the tree, which not every format or machine can read: it is built again quickly.
        return {"arguments": (self.points, self.leaf_size, self.power, self.n_jobs)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._build(*state["arguments"])

    def kneighbors(self, X: Any, n_neighbors: int) -> tuple[np.ndarray, ...]:
        """Distances and indices of the nearest points, of shape (n_queries, n_neighbors) each."""
        workers = effective_n_jobs(self.n_jobs)
        X = X.toarray() if sp.issparse(X) else X
        found = self.tree.query(X, n_neighbors, p=self.power, workers=workers)
        return tuple(part.reshape(-1, n_neighbors) for part in found)


class ThreadedTree:
    """SciPy's k-d tree, queried in threads of joblib's.

    SciPy's own threads may end Python by a segmentation fault when they are interrupted.
    """

    def __init__(self, points: np.ndarray, leaf_size: int) -> None:
        self.tree = KDTree(points, leafsize=leaf_size, balanced_tree=False)

    def query(
        self, X: np.ndarray, n_neighbors: int, p: float = 2.0, workers: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the nearest points, the same for any number of workers."""
        query = partial(self.tree.query, k=n_neighbors, p=p, workers=1)
        parts = shares(len(X), workers)
        if len(parts) == 1 or len(X) * n_neighbors < _ENTRIES_OF_THREADS:
            return query(X)
        tasks = (delayed(query)(X[start:stop]) for start, stop in parts)
        distances, points = zip(*in_order(tasks, n_jobs=workers, prefer="threads"))
        return np.concatenate(distances), np.concatenate(points)


class NeighborSearch:
    """Neighbours among `n_points` points, found block by block.

    Parameters
    ----------
    nearest : sklearn.neighbors.NearestNeighbors or MinkowskiTree
        Fitted to the points.
    n_points : int
        Distinct training points.
    counts : ndarray of shape (n_points,) or None
        Training rows that share each point; None if every point is one row.
    """

    def __init__(
        self,
        nearest: NearestNeighbors | MinkowskiTree,
        n_points: int,
        counts: np.ndarray | None = None,
    ):
        self.nearest, self.n_points, self.counts = nearest, n_points, counts

    def blocks(
        self, X: Any, n_ranks: int, own: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, RankedBlock]]:
        """Yield (rows, RankedBlock) until every row of X is covered; rows in no fixed order.

        `own` holds the point of each row of X among the training points: one row of that point is
        left out.
        """
        limit = self._available(X)
        # One more than the ranks shows whether the last of them is tied with rows farther on.
        k = min(n_ranks + 1 + (own is not None), self.n_points)
        if limit < min(n_ranks + (own is not None), self.n_points):
            raise ValueError(
                f"X contains only {limit} precomputed neighbors of some row, but the weights are "
                f"positive for {n_ranks} neighbors. Store more neighbors, or increase max_samples "
                "or weight_tol."
            )
        yield from self._blocks(X, np.arange(X.shape[0]), min(k, limit), limit, n_ranks, own)

    def _available(self, X: Any) -> int:
        """The number of neighbours that are known for every row of X."""
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

    def _blocks(
        self,
        X: Any,
        rows: np.ndarray,
        k: int,
        limit: int,
        n_ranks: int,
        own: np.ndarray | None,
    ) -> Iterator[tuple[np.ndarray, RankedBlock]]:
        step = max(1, BLOCK_ENTRIES // k)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            distances, points = self._query(X, part, k)
            block = RankedBlock(
                distances, points, n_ranks, self.counts, None if own is None else own[part]
            )
            if k == limit or block.complete.all():
                yield part, block
                continue
            # A tie straddles the last rank of these rows: all of the tied rows are needed.
            if block.complete.any():
                yield part[block.complete], block.take(block.complete)
            part = part[~block.complete]
            yield from self._blocks(X, part, min(2 * k, limit), limit, n_ranks, own)
