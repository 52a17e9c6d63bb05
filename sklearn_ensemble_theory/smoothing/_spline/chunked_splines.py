"""Smoothing splines of rows in chunks: one pass for the knots, one for the sums over rows."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sklearn_ensemble_theory._bins import QuantileSketch
from sklearn_ensemble_theory._blocks import added
from sklearn_ensemble_theory._folds import (
    FoldSums,
    first_rows_of,
    folds_by_hash,
    sums_by_fold,
)
from sklearn_ensemble_theory._rows import ChunkedRows, Rows
from sklearn_ensemble_theory._scaling import feature_ranges, largest_magnitude
from sklearn_ensemble_theory.smoothing._spline.additive_design import AdditiveDesign
from sklearn_ensemble_theory.smoothing._spline.base import PenaltySpec, SplineFit, fit_sums
from sklearn_ensemble_theory.smoothing._spline.basis import (
    DENSE_VALUES,
    Factors,
    SplineBasis,
    demmler_reinsch,
)


@dataclass
class ValueSummary:
    """What a first pass finds of the features and the targets.

    Attributes
    ----------
    lengths : dict
        The number of rows of each chunk.
    weight : float
    mean : float array of shape (q,)
    largest : float
        The largest absolute value of the targets.
    low, high : float arrays of shape (p,)
    distinct : list of arrays or None
        The distinct values of each feature; None for more than `DENSE_VALUES` of them.
    sketch : QuantileSketch
    single : bool
        Whether y has no axis of targets.
    """

    lengths: dict[int, int]
    weight: float
    mean: np.ndarray
    largest: float
    low: np.ndarray
    high: np.ndarray
    distinct: list[np.ndarray | None]
    sketch: QuantileSketch
    single: bool

    @classmethod
    def of(cls, chunk: Rows) -> "ValueSummary":
        X, w = chunk.X.astype(np.float64, copy=False), chunk.weight
        Y = chunk.y.reshape(len(chunk.y), -1)
        largest = largest_magnitude(Y)
        return cls(
            {chunk.block: len(X)},
            float(len(X) if w is None else w.sum()),
            np.average(Y / largest, axis=0, weights=w) * largest,
            largest if Y.any() else 0.0,
            X.min(axis=0),
            X.max(axis=0),
            [_few(np.unique(x)) for x in X.T],
            QuantileSketch.of(X, None, np.random.default_rng(chunk.block)),
            chunk.y.ndim == 1,
        )

    def __add__(self, other: "ValueSummary") -> "ValueSummary":
        weight = self.weight + other.weight
        mean = self.weight / weight * self.mean + other.weight / weight * other.mean
        pairs = zip(self.distinct, other.distinct)
        return ValueSummary(
            self.lengths | other.lengths,
            weight,
            mean,
            max(self.largest, other.largest),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            [None if a is None or b is None else _few(np.union1d(a, b)) for a, b in pairs],
            self.sketch + other.sketch,
            self.single,
        )

    @property
    def n_rows(self) -> int:
        return sum(self.lengths.values())

    @property
    def first_rows(self) -> dict[int, int]:
        """The number of the first row of each chunk."""
        return first_rows_of(self.lengths)

    def values(self, j: int) -> np.ndarray:
        """Distinct values of feature j, sorted: all of them, or those of the sketch."""
        known = self.distinct[j]
        if known is not None:
            return known
        return np.unique(np.r_[self.low[j], self.sketch.values[j], self.high[j]])


def _few(values: np.ndarray) -> np.ndarray | None:
    return values if len(values) <= DENSE_VALUES else None


@dataclass
class SplineSums:
    """The sums over rows, with targets that are scaled and about their means.

    Attributes
    ----------
    gram : float array of shape (K, K)
        Empty for a single feature of few distinct values, unless it was asked for.
    moments : float array of shape (K, q)
    squares : float
        The sum of w y^2 over all targets.
    value_weights : list of float arrays
        The weight of each distinct value of each feature; empty for features of many.
    value_sums : float array of shape (n_values, q)
        For each distinct value of a single feature, the sums of w y.
    """

    gram: np.ndarray
    moments: np.ndarray
    squares: float
    value_weights: list[np.ndarray]
    value_sums: np.ndarray

    def __add__(self, other: "SplineSums") -> "SplineSums":
        weights = [a + b for a, b in zip(self.value_weights, other.value_weights)]
        return SplineSums(
            self.gram + other.gram,
            self.moments + other.moments,
            self.squares + other.squares,
            weights,
            self.value_sums + other.value_sums,
        )


def sums_of_splines(
    chunk: Rows,
    design: AdditiveDesign,
    distinct: list[np.ndarray | None],
    mean: np.ndarray,
    scale: float,
    with_gram: bool,
) -> SplineSums:
    """The sums of one chunk; `mean` is that of y / scale."""
    X = chunk.X.astype(np.float64, copy=False)
    w = np.ones(len(X)) if chunk.weight is None else chunk.weight
    Y = chunk.y.reshape(len(X), -1) / scale - mean
    weights: list[np.ndarray] = []
    value_sums = np.zeros((0, Y.shape[1]))
    for x, values in zip(X.T, distinct):
        if values is None:
            weights.append(np.zeros(0))
            continue
        number = np.searchsorted(values, x)
        weights.append(np.bincount(number, w, minlength=len(values)))
        if len(distinct) == 1:
            sums = [np.bincount(number, w * y, minlength=len(values)) for y in Y.T]
            value_sums = np.column_stack(sums)
    gram = design.gram(X, w) if with_gram or not len(value_sums) else np.zeros((0, 0))
    return SplineSums(
        gram, design.moments(X, w, Y), float(w @ (Y**2).sum(axis=1)), weights, value_sums
    )


class ChunkedSums:
    """The sums in the form that the fit reads.

    Parameters
    ----------
    by_fold : FoldSums
    design : AdditiveDesign
    summary : ValueSummary
    scale : float
    spec : PenaltySpec

    Attributes
    ----------
    sums : SplineSums
        Over all rows.
    folds : list of SplineSums
        Over the rows that each fold tests on, of those folds that have rows.
    mean : float array of shape (q,)
        Of y / scale.
    """

    def __init__(
        self,
        by_fold: FoldSums,
        design: AdditiveDesign,
        summary: ValueSummary,
        scale: float,
        spec: PenaltySpec,
    ) -> None:
        self.folds = [fold for fold in by_fold.folds if fold is not None]
        self.sums: SplineSums = added(self.folds)
        self.design, self.distinct, self.n_rows = design, summary.distinct, summary.n_rows
        self.scale, self.mean, self.single = scale, summary.mean / scale, summary.single
        self.weight, self.spec = summary.weight, spec

    def factors(self, spec: PenaltySpec) -> list[Factors]:
        found, df = [], spec.target_df
        parts = zip(self.design.bases, self.design.slices, self.distinct, self.sums.value_weights)
        for basis, own, values, weights in parts:
            gram = self.sums.gram[own, own] if values is None else None
            found.append(demmler_reinsch(basis, values, weights, gram=gram, target_df=df))
        return found

    def gram(self, design: AdditiveDesign) -> np.ndarray:
        return self.sums.gram

    def moments(self, design: AdditiveDesign) -> np.ndarray:
        return self.sums.moments

    def observations(self) -> tuple[float, int]:
        sums = self.sums.value_sums
        if not len(sums):
            return self.sums.squares, self.n_rows
        return float((sums**2 / self.sums.value_weights[0][:, None]).sum()), len(sums)


def fit_splines_of_chunks(rows: ChunkedRows, spec: PenaltySpec) -> tuple[SplineFit, bool]:
    """The fit, and whether y has no axis of targets.

    Parameters
    ----------
    rows : ChunkedRows
        They are read twice.
    spec : PenaltySpec
    """
    sums = sums_of_chunks(rows.knowing(multi_output=True), spec)
    return fit_sums(sums, spec, sums.mean, sums.scale), sums.single


def sums_of_chunks(
    rows: ChunkedRows, spec: PenaltySpec, *, with_gram: bool = False, n_splits: int = 1
) -> ChunkedSums:
    """The sums over rows for the splines of all features.

    Parameters
    ----------
    rows : ChunkedRows
        They are read twice.
    spec : PenaltySpec
    with_gram : bool, default=False
        Whether the Gram matrix is needed for a single feature as well.
    n_splits : int, default=1
        The number of folds by which the sums are taken.
    """
    summary = rows.sum(ValueSummary.of)
    feature_ranges(np.vstack([summary.low, summary.high]))
    p = len(summary.low)
    max_knots = spec.knots(p)
    bases = [SplineBasis.from_values(summary.values(j), spec.order, max_knots) for j in range(p)]
    design, scale = AdditiveDesign(tuple(bases)), summary.largest or 1.0
    args = (design, summary.distinct, summary.mean / scale, scale, with_gram)
    rows = rows.knowing(first_rows=summary.first_rows)
    fold_of = partial(folds_by_hash, n_splits=n_splits)
    by_fold = rows.sum(sums_by_fold, n_splits, fold_of, sums_of_splines, *args)
    return ChunkedSums(by_fold, design, summary, scale, spec)
