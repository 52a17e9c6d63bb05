"""What a first pass over chunks of rows finds: their number, the bins of X, the range of y."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._bins import QuantileSketch, columns_with_missing
from sklearn_ensemble_theory._folds import first_rows_of
from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory._scaling import TargetScale


@dataclass
class TargetRange:
    """The weight, the weighted mean and the range of targets."""

    weight: float
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None) -> "TargetRange":
        size = max(abs(float(y.min())), abs(float(y.max()))) or 1.0
        mean = float(np.average(y / size, weights=weight)) * size
        total = len(y) if weight is None else weight.sum()
        return cls(float(total), mean, float(y.min()), float(y.max()))

    def __add__(self, other: "TargetRange") -> "TargetRange":
        weight = self.weight + other.weight
        mean = self.weight / weight * self.mean + other.weight / weight * other.mean
        return TargetRange(weight, mean, min(self.low, other.low), max(self.high, other.high))

    def scale(self) -> TargetScale:
        return TargetScale.of_range(self.mean, self.low, self.high)


@dataclass
class ClassLabels:
    """The labels that occur, in increasing order."""

    labels: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None) -> "ClassLabels":
        check_classification_targets(y)
        return cls(np.unique(y))

    def __add__(self, other: "ClassLabels") -> "ClassLabels":
        pair = self.labels, other.labels
        if len({_is_text(labels) for labels in pair}) > 1:
            raise TypeError("y has labels that are numbers and labels that are strings.")
        return ClassLabels(np.unique(np.concatenate(pair)))


def _is_text(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "USO"


@dataclass
class ChunkSummary:
    """What one or several chunks have.

    Attributes
    ----------
    lengths : dict
        The number of rows of positive weight of each chunk, by its number.
    low_weight, high_weight : float
        Of the rows of positive weight.
    missing : bool array of shape (p,)
    sketch : QuantileSketch
        Of no columns where bins are given.
    target : TargetRange or ClassLabels
    """

    lengths: dict[int, int]
    low_weight: float
    high_weight: float
    missing: np.ndarray
    sketch: QuantileSketch
    target: Any = field(default=None)

    def __add__(self, other: "ChunkSummary") -> "ChunkSummary":
        return ChunkSummary(
            self.lengths | other.lengths,
            min(self.low_weight, other.low_weight),
            max(self.high_weight, other.high_weight),
            self.missing | other.missing,
            self.sketch + other.sketch,
            self.target + other.target,
        )

    @property
    def first_rows(self) -> dict[int, int]:
        """The number of the first row of each chunk."""
        return first_rows_of(self.lengths)

    @property
    def n_rows(self) -> int:
        return sum(self.lengths.values())


def summarise(chunk: Rows, with_sketch: bool, target_of: Any) -> ChunkSummary:
    """The summary of one chunk.

    Parameters
    ----------
    chunk : Rows
    with_sketch : bool
        Whether bins are to be made of the quantiles.
    target_of : callable
        What to keep of (y, weight).
    """
    weight = chunk.weight
    X = chunk.X if with_sketch else chunk.X[:, :0]
    sketch = QuantileSketch.of(X, weight, np.random.default_rng(chunk.block))
    return ChunkSummary(
        {chunk.block: len(chunk.y)},
        1.0 if weight is None else float(weight.min()),
        1.0 if weight is None else float(weight.max()),
        columns_with_missing(chunk.X),
        sketch,
        target_of(chunk.y, weight),
    )
