"""Quantiles of columns that are read in chunks, from samples that add up.

A chunk of at most `SAMPLE` rows enters whole, a larger one by a random sample of so many rows
without replacement, each of which stands for the weight of n/SAMPLE rows. Samples of chunks are
concatenated; a total of more than `MOST` points of a column is reduced to the points at `KEPT`
equally spaced ranks. With probability 1 - delta the shares of the weight below any threshold are
those of all rows up to sqrt(log(2/delta) / (2 m)) for m equally weighted rows in the samples
[Massart 1990] plus 1/KEPT for each reduction: for 10^6 rows sampled and delta = 0.01, .0016 and
.00006. Where no chunk has more than `SAMPLE` rows and all have at most `MOST`, they are exact.
"""

from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._numerics.binning import edges_of_sorted

__all__ = ["QuantileSketch"]

SAMPLE = 2**15
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
        if n > SAMPLE:
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
            x, w = reduced(x[order], w[order])
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


def reduced(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most `MOST` points, each of which has the weight up to the one before it."""
    if len(x) <= MOST:
        return x, w
    x, w = without_ties(x, w)
    if len(x) <= KEPT:
        return x, w
    cumulated = np.cumsum(w)
    targets = cumulated[-1] * (np.arange(KEPT) + 0.5) / KEPT
    picked = np.unique(np.searchsorted(cumulated, targets))
    picked = np.union1d(picked, [0, len(x) - 1])
    # the weight between two points goes to the upper one: at most 1/KEPT of the whole
    return x[picked], np.diff(cumulated[picked], prepend=0.0)
