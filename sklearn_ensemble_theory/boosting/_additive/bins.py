"""Bins of features: thresholds, missing values, categories; of rows in memory, and of blocks.

A feature has given bins, or quantiles of equal weight. With cross-validation and many rows in
memory the bins are *refined*: more of them where a feature matters, and edges at jumps. The bins of
a step function cost bias where the function is steep, and an edge that misses a jump by a share m
of the rows costs about m times the squared jump. A first fit with few bins shows which features
matter and leaves partial residuals,

    y - sum of the functions of the other features,

of every feature. Features that lower the squared error by more than `CLEAR` times the variance of
the noise get many bins of equal weight, the others keep few. In every window of two bins, the best
threshold is compared with a straight line. Where it lowers the sum of squares by `CLEAR` times the
variance more than the line does, it is a jump: it becomes an edge, and its cut a candidate of its
own for the rounds that smooth. Where rows tell little, as counts of rare events, a jump shows in
wider windows only, where the threshold is compared with a parabola. There a steep slope looks like
a jump too, and a line explains more than the threshold in the narrow windows around it.

In noise, the largest decrease over all thresholds of a window exceeds `CLEAR` times the variance
about once in 10,000 windows. It has to be rare: edges are chosen with all rows, so that the folds
of cross-validation do not see that edges follow noise.

Rows in blocks need one pass for their bins, and another one before it for categories.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._bins import (
    QuantileSketch,
    bin_codes,
    bin_codes_by_blocks,
    bin_edges_from_quantiles,
    columns_in_one_piece,
    columns_with_missing,
    edges_of_sorted,
)
from ..._categories import CategoricalColumns
from ..._folds import first_rows_of, folds_by_hash
from ..._native.binning import EdgeTable
from ..._rows import ChunkedRows, Rows, joined_labels, labels_of_block
from ..._scaling import TargetScale, power_of_two
from .additive_plan import MAX_SMOOTHING_ROUNDS, SMOOTHING_PATIENCE, Plan, Report
from .risk import SquaredError
from .rounds import MIB, BinnedRows, SmoothingRounds, run_phase
from .sums import CutLayout

# "auto": so many bins, and refined ones from so many rows on.
AUTO_BINS, MIN_ROWS = 64, 10_000
# More edges in the first and in the last of these bins.
N_TAILS = 6
FEW_BINS, MANY_BINS = 32, 240
CLEAR = 20.0
# Refined bins have at least so many rows.
ROWS_OF_BIN = 150
# Thresholds that are compared: quantiles of the feature, far more than there are bins.
_FINE_BINS = 2**13
# A window has two of the bins of at least so many rows.
_ROWS_OF_WINDOW_BIN = 500
# Windows of so many times two bins are looked at.
_WINDOW_WIDTHS = (1, 4, 16, 64)
# A side of a jump has at least so many rows (in units of the mean weight).
_MIN_ROWS_OF_SIDE = 5


# --- the bins of all features ---------------------------------------------------------------------


class FeatureBins:
    """How values become bins.

    - edges: the thresholds of ordered features, increasing.
    - missing: whether the feature has a last bin for missing values; categorical ones have. A
      missing value of another feature has a code without a bin, ``len(edges[j]) + 1``.
    - categories: of each categorical feature, by their numbers; its `edges` become those between
      neighbouring numbers.
    - allowed: the features that may have more than one bin, all by default; the others have it for
      all values, missing ones too.
    """

    def __init__(
        self,
        edges: Sequence[np.ndarray],
        missing: np.ndarray,
        categories: Sequence[np.ndarray | None],
        allowed: np.ndarray | None = None,
    ) -> None:
        if allowed is not None:
            edges = [e if may else np.empty(0) for e, may in zip(edges, allowed)]
            categories = [c if may else None for c, may in zip(categories, allowed)]
            missing = missing & allowed
        self.edges = [
            e if c is None else np.arange(len(c) - 1) + 0.5 for e, c in zip(edges, categories)
        ]
        self.categories = list(categories)
        self.categorical = np.array([c is not None for c in categories], dtype=bool)
        self.missing = np.asarray(missing, bool) | self.categorical
        none = np.empty(0, dtype=np.intp)
        self.single = none if allowed is None else np.flatnonzero(~allowed)

    def check_allowed(self, allowed: np.ndarray) -> None:
        """Refuse a later chunk whose terms are not those of the first one."""
        if not np.array_equal(np.flatnonzero(~allowed), self.single):
            raise ValueError(
                "exclude and include must leave out the same features in every call of partial_fit."
            )

    def layout(self) -> CutLayout:
        n_bins = np.array([len(e) + 1 for e in self.edges], dtype=np.intp) + self.missing
        return CutLayout(n_bins, self.missing, self.categorical)

    def codes(self, X: np.ndarray) -> np.ndarray:
        """The bin of every value; O(n p)."""
        codes = bin_codes(X, self.edges, missing=True)
        codes[:, self.single] = 0  # of missing values too, which these features do not tell apart
        return codes

    def codes_by_blocks(self, X: np.ndarray, n_rows: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of at most `n_rows` rows with their codes, valid until the next."""
        for rows, codes in bin_codes_by_blocks(X, self.edges, n_rows, missing=True):
            codes[:, self.single] = 0
            yield rows, codes

    def padded(self, table: np.ndarray, *features: int) -> np.ndarray:
        """Append an entry 0 for missing values to a table of a term, where these have no bin."""
        widths = [(0, 0 if self.missing[j] else 1) for j in features]
        widths += [(0, 0)] * (table.ndim - len(features))
        return np.pad(table, widths)


@dataclass(frozen=True)
class TrainingRows(Rows):
    """The rows of one call of `fit` or `partial_fit`, those of weight 0 left out.

    - folds: the fold that tests on each row; None without cross-validation.
    - classes: the labels whose numbers are in `y`; empty for a regressor.
    - splits: those that are no folds, such as of time series, as (train, test); None where `folds`
      has them. The test rows of the last one are then fold 0.
    """

    folds: np.ndarray | None = None
    n_splits: int = 0
    columns: CategoricalColumns | None = None
    classes: np.ndarray = field(default_factory=lambda: np.empty(0))
    splits: list[tuple[np.ndarray, np.ndarray]] | None = None


def choose_bins(
    plan: Plan, rows: TrainingRows, y: np.ndarray | None, *, keep_missing: bool = False
) -> tuple[FeatureBins, np.ndarray]:
    """The bins of the features, and the numbers of the cuts at jumps.

    With "auto", bins of many rows are refined by the target y, if it is given. With `keep_missing`
    every feature gets a bin for missing values, and none is refined.
    """
    X, weight, p = rows.X, rows.weight, rows.X.shape[1]
    categories: list[np.ndarray | None] = [None] * p
    if rows.columns is not None:
        categories = rows.columns.categories
    missing = np.ones(p, dtype=bool) if keep_missing else columns_with_missing(X)
    none, allowed = np.empty(0, dtype=np.intp), plan.allowed.features
    if plan.edges is not None:
        return FeatureBins(plan.edges, missing, categories, allowed), none
    is_auto = plan.max_bins == "auto"
    refine = is_auto and rows.n_splits > 0 and X.shape[0] >= MIN_ROWS
    if not refine or keep_missing or y is None:
        n_bins, n_tails = (AUTO_BINS, N_TAILS) if is_auto else (plan.max_bins, 0)
        each = np.where(allowed, n_bins, 1).tolist()
        edges = bin_edges_from_quantiles(X, each, weight, n_tails)
        return FeatureBins(edges, missing, categories, allowed), none
    return refined_bins(plan, rows, y, missing, categories)


def rows_in_bins(
    plan: Plan,
    rows: TrainingRows,
    y: np.ndarray,
    guide: np.ndarray | None,
    guide_weight: np.ndarray | None,
    report: Report,
) -> tuple[FeatureBins, np.ndarray, BinnedRows]:
    """Choose the bins, number the cuts at jumps, and put rows with targets y into the bins.

    Refined bins follow `guide`, which has weights of its own if they are given.
    """
    guided = rows if guide_weight is None else replace(rows, weight=guide_weight)
    bins, jumps = choose_bins(plan, guided, guide)
    layout = bins.layout()
    report(0).message(f"{layout.n_cuts} cuts in {len(bins.edges)} features")
    has_folds = plan.has_folds and rows.splits is None
    folds, n_splits = (rows.folds, rows.n_splits) if has_folds else (None, 0)
    binned = BinnedRows(
        bins.codes(rows.X),
        layout,
        y,
        rows.weight,
        folds,
        n_splits,
        groups=rows.groups,
        offset=rows.offset,
    )
    return bins, jumps, binned


def weight_unit(weight: np.ndarray | None) -> float:
    """What weights are divided by: they are then near 1, and equal ones are 1."""
    if weight is None:
        return 1.0
    return float(weight[0]) if np.all(weight == weight[0]) else power_of_two(weight.max())


def unit_weights(weight: np.ndarray | None) -> np.ndarray | None:
    """Bring weights near 1; None for equal ones, as counting is faster than adding."""
    if weight is None or np.all(weight == weight[0]):
        return None
    return weight / power_of_two(weight.max())


# --- refined bins ---------------------------------------------------------------------------------


def refined_bins(
    plan: Plan,
    rows: TrainingRows,
    y: np.ndarray,
    missing: np.ndarray,
    categories: list[np.ndarray | None],
) -> tuple[FeatureBins, np.ndarray]:
    """Choose bins that follow the data, and number the cuts at jumps."""
    X, weight = rows.X, rows.weight
    assert rows.folds is not None
    # A first fit with few bins; one fold is held out, so that the number of rounds is known.
    allowed = plan.allowed.features
    edges = bin_edges_from_quantiles(X, np.where(allowed, FEW_BINS, 1).tolist(), weight)
    few = FeatureBins(edges, missing, categories, allowed)
    codes, layout = few.codes(X), few.layout()
    binned = BinnedRows(codes, layout, y, weight, np.minimum(rows.folds, 1), 1)
    risk = SquaredError.of_rows(binned, plan.memory)
    result = run_phase(
        risk,
        risk.start(),
        SmoothingRounds,
        MAX_SMOOTHING_ROUNDS,
        patience=SMOOTHING_PATIENCE,
    )
    model = result.models[0]
    tables = model.tables[0]
    residual = y - model.intercepts[0]
    for j, table in enumerate(tables):
        if table is not None:
            residual -= table.take(codes[:, j])

    # Many bins for the features that lower the squared error, as far as their sums fit into memory.
    falls = sum(s.paths[0][0].falls_by_feature(layout) for s in result.segments)
    unit = 1.0
    if weight is None:
        noise = np.mean(residual**2)
    else:
        # The factor that gives weights the unit of rows: their sum is Kish's effective number.
        unit = weight.sum() / (weight @ weight)
        falls = falls * unit
        noise = np.average(residual**2, weights=weight)
    used = falls > CLEAR * noise
    copies = 3 * rows.n_splits + 2
    n_used = max(used.sum(), 1)
    n_many = int(np.clip(X.shape[0] / ROWS_OF_BIN, AUTO_BINS, MANY_BINS))
    # The products of the cuts in use with all cuts are kept for every model.
    while n_many > 2 * FEW_BINS:
        n_cuts = n_used * n_many + (np.count_nonzero(allowed) - n_used) * FEW_BINS
        if copies * n_used * n_many * n_cuts * 8 / MIB <= plan.memory:
            break
        n_many //= 2
    ordered = allowed & ~few.categorical
    n_bins = np.where(used & ordered, n_many, np.where(allowed, FEW_BINS, 1)).tolist()
    edges = bin_edges_from_quantiles(X, n_bins, weight)

    # Edges at the jumps of the partial residuals: O(n log n) for each feature.
    scaled = None if weight is None else weight * unit  # the variance of a mean is 1/weight
    refined, is_jump = [], []
    for j, x in enumerate(columns_in_one_piece(X)):
        own, found = edges[j], np.empty(0)
        if ordered[j] and len(own):
            r = residual if tables[j] is None else residual + tables[j].take(codes[:, j])
            present, w = ~np.isnan(x), scaled
            if not present.all():
                r, x = r[present], x[present]
                w = None if w is None else w[present]
            found = jumps_of(x, r, w, own)
        both = np.union1d(own, found)
        refined.append(both)
        is_jump.append(np.isin(both, found))
    bins = FeatureBins(refined, missing, categories, allowed)
    offsets = bins.layout().offsets
    jumps = [offsets[j] + np.flatnonzero(flags) for j, flags in enumerate(is_jump)]
    return bins, np.concatenate(jumps or [[]]).astype(np.intp)


def jumps_of(x: np.ndarray, r: np.ndarray, w: np.ndarray | None, edges: np.ndarray) -> np.ndarray:
    """Find the thresholds at which the partial residuals r jump; edges or others."""
    in_order = np.sort(x)
    fine = np.union1d(edges_of_sorted(in_order, None, _FINE_BINS), edges)
    n_windows = int(np.clip(len(x) / _ROWS_OF_WINDOW_BIN, FEW_BINS, MANY_BINS))
    windows = edges_of_sorted(in_order, None, n_windows)
    fine = np.unique(np.concatenate([fine, windows]))
    codes = np.empty(len(x), dtype=np.uint16)
    EdgeTable(fine, 0).code(x, codes)
    mass = np.bincount(codes, weights=w, minlength=len(fine) + 1).astype(float)
    wr = r if w is None else w * r
    sums = np.bincount(codes, weights=wr, minlength=len(fine) + 1)
    starts = np.concatenate([[0], np.searchsorted(fine, windows) + 1])
    # The variance within bins is that of the noise, even where the function is steep.
    of_bin, sums_of_bin = np.add.reduceat(mass, starts), np.add.reduceat(sums, starts)
    explained = np.sum(sums_of_bin**2 / np.where(of_bin > 0, of_bin, 1.0))
    variance = max((wr @ r - explained) / mass.sum(), 0.0)
    # How much more the best threshold of a window explains than a line; in wide windows, where
    # noise hides jumps from narrow ones, than a parabola, as functions bend there.
    ends = np.append(starts, len(mass))
    candidates = []
    for width in _WINDOW_WIDTHS:
        for number in range(0, max(len(starts) - width, width == 1), width):
            part = slice(ends[number], ends[min(number + 2 * width, len(starts))])
            gains = _explained_by_thresholds(mass[part], sums[part])
            best = int(gains.argmax()) if len(gains) else 0
            if not len(gains) or not gains[best] > CLEAR * variance:
                continue
            degree = 1 if width == 1 else 2
            gain = gains[best] - _explained_by_a_curve(mass[part], sums[part], degree)
            if gain > CLEAR * variance and gain > 0:
                candidates.append((width, -gain, part.start + best))
    found, taken, below = [], np.zeros(len(starts) + 2, dtype=bool), np.cumsum(mass)
    for width, _, cut in sorted(candidates):
        number = int(np.searchsorted(starts, cut, side="right"))
        if taken[number - 1 : number + 2].any():  # the same jump in a window beside it
            continue
        # What is a jump from afar may be a slope: then a line explains more than the threshold in
        # the narrow windows around it.
        for narrow in _WINDOW_WIDTHS[: _WINDOW_WIDTHS.index(width)]:
            half = narrow * below[-1] / len(starts)
            sides = np.searchsorted(below, [below[cut] - half, below[cut] + half])
            part = slice(sides[0], min(sides[1] + 1, len(mass)))
            gains = _explained_by_thresholds(mass[part], sums[part])
            own = gains[cut - part.start] if cut - part.start < len(gains) else 0.0
            if own < _explained_by_a_curve(mass[part], sums[part], 1) - variance:
                break
        else:
            found.append(fine[cut])
            taken[number] = True
    return np.sort(found)


def _explained_by_thresholds(mass: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The squares that each threshold explains beyond the mean; 0 with few rows on a side."""
    m, s = np.cumsum(mass), np.cumsum(sums)
    left, right, sl = m[:-1], m[-1] - m[:-1], s[:-1]
    gains = np.zeros(len(left))
    own = np.minimum(left, right) >= _MIN_ROWS_OF_SIDE
    left, right, sl = left[own], right[own], sl[own]
    gains[own] = sl**2 / left + (s[-1] - sl) ** 2 / right - s[-1] ** 2 / m[-1]
    return gains


def _explained_by_a_curve(mass: np.ndarray, sums: np.ndarray, degree: int) -> float:
    """The squares that a polynomial of the ranks explains beyond the mean."""
    present = mass > 0
    mass, sums = mass[present], sums[present]
    rank = 2 * (np.cumsum(mass) - 0.5 * mass) / mass.sum() - 1
    root = np.sqrt(mass)
    q, r = np.linalg.qr(root[:, None] * np.polynomial.legendre.legvander(rank, degree))
    own = np.abs(np.diag(r)) > 1e-9 * np.abs(r[0, 0])  # few distinct values have few powers
    return float(np.sum((q.T @ (sums / root))[1:][own[1:]] ** 2))


# --- rows in blocks -------------------------------------------------------------------------------


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
        return cls(labels_of_block(y))

    def __add__(self, other: "ClassLabels") -> "ClassLabels":
        return ClassLabels(joined_labels(self.labels, other.labels))


@dataclass
class BlockSummary:
    """What one or several blocks have.

    - lengths: the number of rows of positive weight of each block, by its number.
    - low_weight, high_weight: of the rows of positive weight.
    - sketch: of no columns where bins are given.
    - target: TargetRange or ClassLabels.
    """

    lengths: dict[int, int]
    low_weight: float
    high_weight: float
    missing: np.ndarray
    sketch: QuantileSketch
    target: Any

    @classmethod
    def of(cls, block: Rows, with_sketch: bool, target_of: Callable[..., Any]) -> "BlockSummary":
        weight = block.weight
        X = block.X if with_sketch else block.X[:, :0]
        return cls(
            {block.block: len(block.y)},
            1.0 if weight is None else float(weight.min()),
            1.0 if weight is None else float(weight.max()),
            columns_with_missing(block.X),
            QuantileSketch.of(X, weight, np.random.default_rng(block.block)),
            target_of(block.y, weight),
        )

    def __add__(self, other: "BlockSummary") -> "BlockSummary":
        return BlockSummary(
            self.lengths | other.lengths,
            min(self.low_weight, other.low_weight),
            max(self.high_weight, other.high_weight),
            self.missing | other.missing,
            self.sketch + other.sketch,
            self.target + other.target,
        )


@dataclass(frozen=True)
class BinnedBlocks:
    """Rows in blocks, and what the first passes over them have found.

    - rows: with the numbers of their rows, and weights of at most about 1.
    - target: TargetRange or ClassLabels.
    - n_passes: how often the rows were read, and will be to put them into bins.
    - weight_unit: see `weight_unit`.
    """

    rows: ChunkedRows
    bins: FeatureBins
    columns: CategoricalColumns | None
    target: Any
    n_splits: int
    n_passes: int
    weight_unit: float


def bins_of_blocks(
    plan: Plan,
    rows: ChunkedRows,
    columns: CategoricalColumns | None,
    n_splits: int,
    target_of: Callable[..., Any],
) -> BinnedBlocks:
    """Find the bins of rows in blocks: one pass.

    `columns` have the categories of all blocks; `target_of` keeps of (y, weight) what is needed.
    """
    rows = rows.knowing(allow_nan=True, encode=None if columns is None else columns.encode)
    given = plan.edges
    summary = rows.sum(BlockSummary.of, given is None, target_of)
    categories = [None] * rows.n_features if columns is None else columns.categories
    if given is None:
        given = summary.sketch.edges(AUTO_BINS if plan.max_bins == "auto" else plan.max_bins)
    equal, unit = summary.low_weight == summary.high_weight, power_of_two(summary.high_weight)
    rows = rows.knowing(
        first_rows=first_rows_of(summary.lengths), weight_unit=unit, equal_weights=equal
    )
    return BinnedBlocks(
        rows,
        FeatureBins(given, summary.missing, categories, plan.allowed.features),
        columns,
        summary.target,
        n_splits,
        n_passes=2 + (columns is not None),
        weight_unit=summary.high_weight if equal else unit,
    )


def folds_of_block(block: Rows, n_splits: int) -> np.ndarray | None:
    return folds_by_hash(block.numbers, n_splits) if n_splits else None


def binned_block(block: Rows, bins: FeatureBins, y: np.ndarray, n_splits: int) -> BinnedRows:
    """Put a block into bins, with its targets y or the numbers of its classes."""
    codes, folds = bins.codes(block.X), folds_of_block(block, n_splits)
    return BinnedRows(codes, bins.layout(), y, block.weight, folds, n_splits)
