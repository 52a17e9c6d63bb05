"""A k-d tree for Euclidean distances, queried by compiled loops."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Threads pay from so many neighbours on.
_ENTRIES_PER_THREAD = 2**16


class EuclideanTree:
    """The points of a k-d tree with the method `query` of `scipy.spatial.KDTree`.

    Parameters
    ----------
    points : float64 array of shape (n, d)
    leaf_size : int
        Small leaves save distances, large ones read them in order, which is faster: the leaves of
        the tree hold up to five times as many points.
    """

    def __init__(self, points: np.ndarray, leaf_size: int) -> None:
        from sklearn_ensemble_theory._hot_loops.neighbor_loops import build_tree

        n_levels = 0
        while (len(points) >> n_levels) > 5 * leaf_size:
            n_levels += 1
        self.arrays = build_tree(np.ascontiguousarray(points, dtype=np.float64), n_levels)

    def query(
        self, X: np.ndarray, n_neighbors: int, p: float = 2.0, workers: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the nearest points, of shape (n_queries, n_neighbors) each."""
        from sklearn_ensemble_theory._hot_loops.neighbor_loops import nearest_points

        X = np.ascontiguousarray(X, dtype=np.float64)
        distances = np.empty((len(X), n_neighbors))
        found = np.empty((len(X), n_neighbors), dtype=np.int64)

        def of_rows(rows):
            nearest_points(self.arrays, X[rows], n_neighbors, distances[rows], found[rows])

        n_parts = min(workers, 1 + distances.size // _ENTRIES_PER_THREAD)
        if n_parts == 1:
            of_rows(slice(None))
        else:
            bounds = np.linspace(0, len(X), n_parts + 1).astype(int)
            with ThreadPoolExecutor(n_parts) as pool:
                list(pool.map(of_rows, map(slice, bounds[:-1], bounds[1:])))
        return distances, found
