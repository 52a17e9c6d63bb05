"""What trees on bins have to know of all rows in blocks, and the bins of their columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._bins import QuantileSketch, columns_with_missing
from sklearn_ensemble_theory._categories import CategoricalColumns
from sklearn_ensemble_theory._rows import Rows, check_same_kind, labels_of_block
from sklearn_ensemble_theory.trees._columns import MISSING, BinnedColumns, is_wide


@dataclass
class TargetSummary:
    """What is known of the targets and the weights of some rows."""

    n_rows: int
    weight: float
    weighted: bool
    whole: bool
    labels: np.ndarray
    label_weights: np.ndarray
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None, classifies: bool) -> TargetSummary:
        whole = weight is None or bool(np.all(weight == np.rint(weight)))
        total = float(len(y) if weight is None else weight.sum())
        none = np.empty(0)
        found = cls(len(y), total, weight is not None, whole, none, none)
        if classifies:
            found.labels, number = np.unique(y, return_inverse=True)
            counts = np.bincount(number.ravel(), weight, len(found.labels))
            found.label_weights = counts.astype(float)
            return found
        found.low, found.high = float(y.min()), float(y.max())
        size = max(-found.low, found.high) or 1.0
        found.mean = float(np.average(y / size, weights=weight)) * size
        return found

    def __add__(self, other: TargetSummary) -> TargetSummary:
        weight = self.weight + other.weight
        check_same_kind(self.labels, other.labels)
        labels = np.concatenate([self.labels, other.labels])
        labels, number = np.unique(labels, return_inverse=True)
        label_weights = np.concatenate([self.label_weights, other.label_weights])
        return TargetSummary(
            self.n_rows + other.n_rows,
            weight,
            self.weighted,
            self.whole and other.whole,
            labels,
            np.bincount(number.ravel(), label_weights, len(labels)),
            self.weight / weight * self.mean + other.weight / weight * other.mean,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def examples(self, n_classes: int) -> np.ndarray:
        """Targets as the loss takes them: each class, or the least, the mean and the largest."""
        if n_classes:
            return np.array([-1.0, 1.0]) if n_classes == 2 else np.arange(n_classes)
        return np.array([self.low, self.mean, self.high])


@dataclass
class RowSummary:
    """What the rows of one or several blocks have.

    `lengths` is the number of rows by block; `nbytes` are those of the targets and the weights
    `in_few_bytes`.
    """

    lengths: dict[int, int]
    nbytes: int
    targets: TargetSummary
    missing: np.ndarray
    sketch: QuantileSketch

    def __add__(self, other: RowSummary) -> RowSummary:
        return RowSummary(
            self.lengths | other.lengths,
            self.nbytes + other.nbytes,
            self.targets + other.targets,
            self.missing | other.missing,
            self.sketch + other.sketch,
        )


def summary_of_block(block: Rows, classifies: bool) -> RowSummary:
    """The summary of one block; O(n p), and a sort of at most 32,768 rows of each column."""
    X, y, weight = block.X, block.y, block.weight
    sketch = QuantileSketch.of(X, weight, np.random.default_rng(block.block))
    if classifies:
        labels_of_block(y)  # are classes
    targets = TargetSummary.of(y, weight, classifies)
    nbytes = sum(
        in_few_bytes(each).nbytes
        for each in (np.zeros(len(y)) if classifies else y, weight)
        if each is not None
    )
    return RowSummary({block.block: len(y)}, nbytes, targets, columns_with_missing(X), sketch)


def in_few_bytes(values: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest of three types, as a new array."""
    with np.errstate(invalid="ignore", over="ignore"):
        for kind in (np.int8, np.float32):
            small = values.astype(kind)
            if np.array_equal(small, values):
                return small
    return values.copy()


def bins_of_rows(
    summary: RowSummary, max_bins: int, encoder: CategoricalColumns | None
) -> BinnedColumns:
    """The bins of all rows, without codes."""
    sketch, wide = summary.sketch, np.zeros(len(summary.missing), dtype=bool)
    for j, (x, w) in enumerate(zip(sketch.values, sketch.weights)):
        wide[j] = x.dtype != np.float32 and is_wide(x, np.cumsum(w), max_bins)
        if not wide[j]:
            sketch.values[j] = x.astype(np.float32)
    edges = sketch.edges(max_bins)
    if encoder is not None:
        for j in np.flatnonzero(encoder.flags).tolist():
            edges[j] = np.arange(encoder.numbers(j).max()) + 0.5
    codes = np.empty((0, len(summary.missing)), np.uint8)
    flags = None if encoder is None else encoder.flags
    return BinnedColumns(
        codes, edges, summary.missing, MISSING, flags, wide if wide.any() else None
    )
