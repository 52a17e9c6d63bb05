"""Neighbour queries in blocks of bounded memory, complete where distances tie."""

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors

from sklearn_ensemble_theory.averaging._neighbors.ranked_targets import RankedBlock

BLOCK_ENTRIES = 2**19  # neighbours held at a time: about 25 bytes each

# Where squares overflow, the trees give infinite distances, brute force gives the root of the
# largest number there is and row 0.
LARGEST_DISTANCE = 1.3e154

_MINKOWSKI = {
    **dict.fromkeys(["euclidean", "l2"], 2),
    **dict.fromkeys(["manhattan", "l1", "cityblock"], 1),
    **dict.fromkeys(["chebyshev", "infinity"], np.inf),
}


def index_points(points, n_neighbors, *, algorithm, leaf_size, metric, p, metric_params, n_jobs):
    """What answers `kneighbors` over the points: a `MinkowskiTree` where a k-d tree will do.

    Else scikit-learn's `NearestNeighbors`, which also refuses arguments that do not fit together.
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
    power = p if metric in ("minkowski", "p") else _MINKOWSKI.get(metric)
    # Beyond that "auto" means brute force to scikit-learn, as it does for more neighbours than half
    # of the points, where this tree is still the faster one.
    wanted = algorithm == "kd_tree" or (algorithm == "auto" and points.shape[1] <= 15)
    if not wanted or power is None or power < 1 or metric_params or sp.issparse(points):
        return nearest.fit(points)
    return MinkowskiTree(points, leaf_size, float(power), n_jobs)


class MinkowskiTree:
    """SciPy's k-d tree under the names of `NearestNeighbors`.

    For hundreds of neighbours a query it needs two thirds of the time of scikit-learn's tree, for
    features with many zeros a fifth. Splits slide to the midpoint: medians are slow to find among
    many equal values.
    """

    metric = "minkowski"

    def __init__(self, points, leaf_size, power, n_jobs):
        self.tree = KDTree(points, leafsize=leaf_size, balanced_tree=False)
        self.power, self.n_jobs = power, n_jobs

    def __getstate__(self):
        # Not the compiled tree, which not every format can hold: it is quickly built again.
        points, leaf_size = np.asarray(self.tree.data), int(self.tree.leafsize)
        return {"arguments": (points, leaf_size, self.power, self.n_jobs)}

    def __setstate__(self, state):
        self.__init__(*state["arguments"])

    def kneighbors(self, X, n_neighbors):
        workers = effective_n_jobs(self.n_jobs)
        X = X.toarray() if sp.issparse(X) else X
        found = self.tree.query(X, n_neighbors, p=self.power, workers=workers)
        return tuple(part.reshape(-1, n_neighbors) for part in found)


class NeighborSearch:
    """Neighbours among `n_points` points, asked block by block.

    Parameters
    ----------
    nearest : sklearn.neighbors.NearestNeighbors or MinkowskiTree
        Fitted to the points.
    n_points : int
        Distinct training points.
    counts : ndarray of shape (n_points,) or None
        Training rows that stand at each point; None if every point is one row.
    """

    def __init__(self, nearest, n_points, counts=None):
        self.nearest, self.n_points, self.counts = nearest, n_points, counts

    def blocks(self, X, n_ranks, own=None):
        """Yield (rows, RankedBlock) until every row of X had its turn; rows in no fixed order.

        `own` holds the point of each row of X among the training points: one row of that point is
        left out.
        """
        limit = self._available(X)
        # One more than the ranks shows whether the last of them is tied with rows farther on.
        k = min(n_ranks + 1 + (own is not None), self.n_points)
        if limit < min(n_ranks + (own is not None), self.n_points):
            raise ValueError(
                f"X holds only {limit} precomputed neighbors of some row, the weights reach to "
                f"{n_ranks} neighbors: store more of them, raise max_samples or weight_tol."
            )
        yield from self._blocks(X, np.arange(X.shape[0]), min(k, limit), limit, n_ranks, own)

    def _available(self, X):
        if self.nearest.metric == "precomputed" and sp.issparse(X):
            return int(np.diff(X.indptr).min())
        return self.n_points

    def _blocks(self, X, rows, k, limit, n_ranks, own):
        step = max(1, BLOCK_ENTRIES // k)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            whole = len(part) == X.shape[0]
            distances, points = self.nearest.kneighbors(X if whole else X[part], k)
            if not (distances[:, -1] < LARGEST_DISTANCE).all():
                raise ValueError(
                    "Distances between X and the training rows overflow or are not numbers: "
                    "rescale X."
                )
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
