"""The first pass of gradient boosting over rows in chunks: bins, classes, the range of targets."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._bins import QuantileSketch, columns_with_missing
from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory.trees._sklearn_trees import check_single_precision


@dataclass
class RowSummary:
    """What the rows of one or several chunks have.

    Attributes
    ----------
    n_rows : int
    weight : float
        The sum of the weights.
    weighted : bool
        Whether there are weights.
    whole : bool
        Whether all weights are whole numbers.
    missing : bool array of shape (p,)
    sketch : QuantileSketch
    labels : array
        Of a classifier: the classes, in increasing order.
    label_weights : float array
    mean, low, high : float
        Of the targets of a regressor.
    """

    n_rows: int
    weight: float
    weighted: bool
    whole: bool
    missing: np.ndarray
    sketch: QuantileSketch
    labels: np.ndarray
    label_weights: np.ndarray
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: "RowSummary") -> "RowSummary":
        weight = self.weight + other.weight
        labels = np.concatenate([self.labels, other.labels])
        labels, number = np.unique(labels, return_inverse=True)
        label_weights = np.concatenate([self.label_weights, other.label_weights])
        return RowSummary(
            self.n_rows + other.n_rows,
            weight,
            self.weighted,
            self.whole and other.whole,
            self.missing | other.missing,
            self.sketch + other.sketch,
            labels,
            np.bincount(number.ravel(), label_weights, len(labels)),
            self.weight / weight * self.mean + other.weight / weight * other.mean,
            min(self.low, other.low),
            max(self.high, other.high),
        )


def summary_of_chunk(chunk: Rows, classifies: bool) -> RowSummary:
    """The summary of one chunk; O(n p), and a sort of at most 32,768 rows of each column."""
    X, y, weight = chunk.X, chunk.y, chunk.weight
    check_single_precision(X)
    whole = weight is None or bool(np.all(weight == np.rint(weight)))
    total = float(len(y) if weight is None else weight.sum())
    # Trees read single precision, and so do their bins.
    sketch = QuantileSketch.of(
        X.astype(np.float32, copy=False), weight, np.random.default_rng(chunk.block)
    )
    found = RowSummary(
        n_rows=len(y),
        weight=total,
        weighted=weight is not None,
        whole=whole,
        missing=columns_with_missing(X),
        sketch=sketch,
        labels=np.empty(0),
        label_weights=np.empty(0),
    )
    if classifies:
        check_classification_targets(y)
        found.labels, number = np.unique(y, return_inverse=True)
        found.label_weights = np.bincount(number.ravel(), weight, len(found.labels)).astype(float)
        return found
    found.low, found.high = float(y.min()), float(y.max())
    size = max(-found.low, found.high) or 1.0
    found.mean = float(np.average(y / size, weights=weight)) * size
    return found
