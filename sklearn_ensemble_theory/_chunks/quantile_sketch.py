"""Quantiles of columns that are read in chunks, from samples that add up.

A chunk of at most `SAMPLE` rows enters whole, a larger one by a random sample of so many rows
without replacement, each of which stands for the weight of n/SAMPLE rows; of the sample, the points
at `KEPT_OF_CHUNK` equally spaced ranks are kept. Points of chunks are concatenated; a total of more
than `MOST` of a column is reduced to those at `KEPT` equally spaced ranks. With probability
1 - delta the shares of the weight below any threshold are those of all rows up to
sqrt(log(2/delta) / (2 m)) for m equally weighted rows in the samples [Massart 1990] plus
1/KEPT_OF_CHUNK plus 1/KEPT for each reduction: for 10^6 rows sampled and delta = 0.01, .0016, .0002
and .00006. Where no chunk has more than `SAMPLE` rows and all have at most `MOST`, they are exact.
"""

from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._numerics.binning import edges_of_sorted

__all__ = ["QuantileSketch"]

SAMPLE = 2**15
KEPT_OF_CHUNK = 2**12
MOST = 2**17
KEPT = 2**14


@dataclass
class QuantileSketch:
    """Values of each column with their weights, sorted, without NaN.

    Attributes
    ----------
    values, weights : list of p arrays
    """

    values: list[np.ndarray]
    weights: list[np.ndarray]

    @classmethod
    def of(
        cls, X: np.ndarray, weight: np.ndarray | None, rng: np.random.Generator
    ) -> "QuantileSketch":
        """Of one chunk; O(p SAMPLE log SAMPLE).

        Parameters
        ----------
        X : float array of shape (n, p)
        weight : float array of shape (n,) or None
        rng : numpy.random.Generator
        """
        n, share = len(X), 1.0
        is_sample = n > SAMPLE
        if is_sample:
            drawn = np.sort(rng.choice(n, SAMPLE, replace=False, shuffle=False))
            X, share = X[drawn], n / SAMPLE
            weight = None if weight is None else weight[drawn]
        values, weights = [], []
        for j in range(X.shape[1]):
            x = X[:, j].astype(np.float64)
            present = ~np.isnan(x)
            x = x[present]
            if weight is None:
                x.sort()
                w = np.full(len(x), share)
            else:
                order = np.argsort(x, kind="stable")
                x, w = x[order], share * weight[present][order]
            if is_sample:
                x, w = reduced(x, w, KEPT_OF_CHUNK, KEPT_OF_CHUNK)
            values.append(x)
            weights.append(w)
        return cls(values, weights)

    def __add__(self, other: "QuantileSketch") -> "QuantileSketch":
        values, weights = [], []
        for x, w, theirs, their_weights in zip(
            self.values, self.weights, other.values, other.weights
        ):
            x, w = np.concatenate([x, theirs]), np.concatenate([w, their_weights])
            order = np.argsort(x, kind="stable")  # two runs: linear time
            x, w = reduced(x[order], w[order], MOST, KEPT)
            values.append(x)
            weights.append(w)
        return QuantileSketch(values, weights)

    def edges(self, max_bins: int) -> list[np.ndarray]:
        """Edges of at most `max_bins` bins of each column; see `bin_edges_from_quantiles`."""
        edges = []
        for x, w in zip(self.values, self.weights):
            x, w = without_ties(x, w)
            edges.append(edges_of_sorted(x, np.cumsum(w), max_bins) if len(x) else np.empty(0))
        return edges


def without_ties(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct sorted values with the sums of their weights."""
    first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]])) if len(x) else x[:0]
    if len(first) == len(x):
        return x, w
    return x[first], np.add.reduceat(w, first)


def reduced(x: np.ndarray, w: np.ndarray, most: int, kept: int) -> tuple[np.ndarray, np.ndarray]:
    """About `kept` of more than `most` points, each of which has the weight since the last one."""
    if len(x) <= most:
        return x, w
    x, w = without_ties(x, w)
    if len(x) <= kept:
        return x, w
    cumulated = np.cumsum(w)
    targets = cumulated[-1] * (np.arange(kept) + 0.5) / kept
    is_picked = np.zeros(len(x), dtype=bool)
    is_picked[np.searchsorted(cumulated, targets)] = True
    is_picked[[0, -1]] = True
    # the weight between two points goes to the upper one: at most 1/kept of the whole
    return x[is_picked], np.diff(cumulated[is_picked], prepend=0.0)
