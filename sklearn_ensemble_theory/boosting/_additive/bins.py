"""Columns as they come: numbers, missing values, and categories of data frames."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._bins import (
    ColumnCoder,
    QuantileSketch,
    bin_codes,
    bin_codes_by_blocks,
    bin_edges_from_quantiles,
    check_bin_edges,
    columns_in_one_piece,
    columns_with_missing,
    edges_of_sorted,
)
from sklearn_ensemble_theory._folds import (
    checked_n_splits,
    first_rows_of,
    folds_by_hash,
    row_numbers,
)
from sklearn_ensemble_theory._rows import ChunkedRows, Rows, is_frame
from sklearn_ensemble_theory._scaling import TargetScale, power_of_two
from sklearn_ensemble_theory.boosting._additive.pairs import own_folds
from sklearn_ensemble_theory.boosting._additive.phases import BinnedRows, LabelledRows, run_phase
from sklearn_ensemble_theory.boosting._additive.rounds import SmoothingRounds
from sklearn_ensemble_theory.boosting._additive.squared_error import SquaredErrorFits
from sklearn_ensemble_theory.boosting._additive.sums import CountedGram, CutLayout, cut_sums

MAX_CATEGORIES = 2**16 - 2


def _column(X, j):
    """Column j of an array or a frame."""
    if not is_frame(X):
        return X[:, j]
    return X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j)


def _dtypes(X):
    dtypes = X.dtypes
    return list(dtypes.values) if hasattr(dtypes, "values") else list(dtypes)


def _is_categorical(dtype):
    """Whether a dtype of pandas or polars is one of categories."""
    return str(dtype).split("(")[0] in ("category", "Categorical", "Enum")


class CategoricalColumns:
    """Which columns are categorical, and the numbers of their categories.

    Parameters
    ----------
    X : {array, data frame} of shape (n, p)
    categorical_features : "from_dtype", None, or array-like of bool, int or str
    feature_names : sequence of str or None

    Attributes
    ----------
    categories : list of p arrays or None
        The categories that occur in X, sorted where they can be.
    """

    def __init__(
        self, X: Any, categorical_features: Any, feature_names: Sequence[str] | None
    ) -> None:
        p = X.shape[1]
        flags = self._flags(X, p, categorical_features, feature_names)
        self.categories: list = [None] * p
        for j in np.flatnonzero(flags):
            self.categories[j] = _few_categories(_occurring(_column(X, j)), j)

    def __add__(self, other: "CategoricalColumns") -> "CategoricalColumns":
        """The categories that occur here or there."""
        both = copy.copy(self)
        both.categories = [
            None if own is None else _few_categories(_occurring(np.concatenate([own, theirs])), j)
            for j, (own, theirs) in enumerate(zip(self.categories, other.categories))
        ]
        return both

    @staticmethod
    def _flags(X, p, given, names):
        if given is None:
            return np.zeros(p, dtype=bool)
        if isinstance(given, str):
            if given != "from_dtype":
                raise ValueError(
                    "categorical_features must be 'from_dtype', None, or an array of bool, int or "
                    f"str; got {given!r}."
                )
            if not is_frame(X):
                return np.zeros(p, dtype=bool)
            return np.array([_is_categorical(d) for d in _dtypes(X)], dtype=bool)
        given = np.asarray(given)
        flags = np.zeros(p, dtype=bool)
        if given.ndim != 1:
            raise ValueError("categorical_features must have one dimension.")
        if given.size == 0:
            return flags
        if given.dtype.kind == "b":
            if len(given) != p:
                raise ValueError(
                    f"categorical_features has {len(given)} entries, but X has {p} features."
                )
            return given.astype(bool)
        if given.dtype.kind in "iu":
            if given.min() < -p or given.max() >= p:
                raise ValueError(
                    f"categorical_features has indices out of bounds for {p} features."
                )
            flags[given] = True
            return flags
        if given.dtype.kind in "UO":
            if names is None:
                raise ValueError("categorical_features has names, but X has no feature names.")
            position = {name: j for j, name in enumerate(names)}
            for name in given.tolist():
                if name not in position:
                    raise ValueError(
                        f"categorical_features has the name {name!r}, which is no feature of X."
                    )
                flags[position[name]] = True
            return flags
        raise ValueError("categorical_features must be an array of bool, int or str.")

    @property
    def any(self) -> bool:
        return any(c is not None for c in self.categories)

    def encode(self, X: Any) -> np.ndarray:
        """X as floats, with the number of each category; NaN for missing and unseen ones."""
        n, p = X.shape
        out = np.empty((n, p), order="F")
        for j, categories in enumerate(self.categories):
            column = _column(X, j)
            if categories is not None:
                out[:, j] = _numbers(column, categories)
                continue
            try:
                out[:, j] = _floats(column)
            except (TypeError, ValueError):
                raise ValueError(
                    f"Feature {j} has values that are no numbers and no categories; give it a "
                    "categorical dtype or name it in categorical_features."
                ) from None
        return out


def _few_categories(found, j):
    if len(found) > MAX_CATEGORIES:
        raise ValueError(
            f"Feature {j} has {len(found)} categories; at most {MAX_CATEGORIES} are possible."
        )
    # of no category only: one that never occurs
    return found if len(found) else np.array([np.nan], dtype=object)


def _floats(column):
    if hasattr(column, "to_numpy"):
        try:
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        except TypeError:  # polars has no such arguments
            return np.asarray(column.to_numpy(), dtype=np.float64)
    return np.asarray(column, dtype=np.float64)


def _values(column):
    """The values as an object array, and which are missing."""
    if hasattr(column, "to_list"):
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_list()
    else:
        values = np.asarray(column)
        if values.dtype.kind == "f":
            return values, np.isnan(values)
        if values.dtype.kind in "iub":
            return values, np.zeros(len(values), dtype=bool)
        values = values.astype(object)
    missing = np.fromiter((_is_missing(v) for v in values), dtype=bool, count=len(values))
    return values, missing


def _is_missing(value):
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither
        return True


def _occurring(column):
    values, missing = _values(column)
    values = values[~missing]
    if values.dtype != object:
        return np.unique(values)
    found = list(dict.fromkeys(values.tolist()))
    try:
        found.sort()
    except TypeError:
        found.sort(key=lambda v: (type(v).__name__, repr(v)))
    out = np.empty(len(found), dtype=object)
    out[:] = found
    return out


def _numbers(column, categories):
    values, missing = _values(column)
    if values.dtype != object and categories.dtype != object:
        at = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        return np.where(~missing & (categories[at] == values), at, np.nan)
    number = {c: k for k, c in enumerate(categories.tolist())}
    codes = np.full(len(values), np.nan)
    for i in np.flatnonzero(~missing):
        codes[i] = number.get(values[i], np.nan)
    return codes


BLOCK_ROWS = 2**14


@dataclass
class FeatureBins:
    """How values become bins.

    Attributes
    ----------
    edges : list of p increasing float arrays
        The thresholds of ordered features; between the numbers of neighbouring categories for the
        others.
    missing : bool array of shape (p,)
        Whether the feature has a last bin for missing values. A missing value of another feature
        has a code without a bin, ``len(edges[j]) + 1``.
    categories : list of p arrays or None
        The categories of each categorical feature, by their numbers.
    """

    edges: list
    missing: np.ndarray
    categories: list

    @classmethod
    def of(
        cls,
        edges: Sequence[np.ndarray],
        missing: np.ndarray,
        categories: Sequence[np.ndarray | None],
    ) -> "FeatureBins":
        """With the edges between categories put in."""
        own = [e if c is None else np.arange(len(c) - 1) + 0.5 for e, c in zip(edges, categories)]
        has = np.array([c is not None for c in categories], dtype=bool)
        return cls(own, np.asarray(missing, bool) | has, list(categories))

    @property
    def categorical(self) -> np.ndarray:
        return np.array([c is not None for c in self.categories], dtype=bool)

    @property
    def n_bins(self) -> np.ndarray:
        return np.array([len(e) + 1 for e in self.edges], dtype=np.intp) + self.missing

    def layout(self) -> CutLayout:
        return CutLayout(self.n_bins, self.missing, self.categorical)

    def codes(self, X: np.ndarray) -> np.ndarray:
        """The bin of every value; O(n p)."""
        return bin_codes(X, self.edges, missing=True)

    def codes_by_blocks(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Slices of rows with their `codes`, which stay in the processor's cache."""
        return bin_codes_by_blocks(X, self.edges, BLOCK_ROWS, missing=True)

    def padded(self, table: np.ndarray, *features: int) -> np.ndarray:
        """A table of a term with an entry 0 for missing values where these have no bin."""
        widths = [(0, 0 if self.missing[j] else 1) for j in features]
        widths += [(0, 0)] * (table.ndim - len(features))
        return np.pad(table, widths)


# Below this number of rows bins are quantiles.
MIN_ROWS = 10_000
FEW_BINS, MANY_BINS = 32, 240
CLEAR = 20.0
# Thresholds that are compared: quantiles of the feature, far more than there are bins.
_FINE_BINS = 2**13
# A window has two of the bins of at least so many rows.
_ROWS_OF_BIN = 500
# A side of a jump has at least so many rows (in units of the mean weight).
_MIN_ROWS_OF_SIDE = 5


def quantiles_by_use(X, sample_weight, used, n_many):
    """Edges of equal weight: `n_many` bins for the features that are used, few for the others."""
    return bin_edges_from_quantiles(X, np.where(used, n_many, FEW_BINS).tolist(), sample_weight)


def edges_at_jumps(X, partial_residual, sample_weight, edges, ordered):
    """Edges with the jumps put in, and for each feature which of its edges are jumps.

    Parameters
    ----------
    X : array of shape (n, p)
    partial_residual : callable
        Of j: the partial residuals of feature j, of shape (n,).
    sample_weight : array of shape (n,) or None
    edges : list of p arrays
    ordered : bool array of shape (p,)
        The features that are looked at.

    Returns
    -------
    edges : list of p arrays
    is_jump : list of p bool arrays

    Notes
    -----
    O(n log n) for each feature.
    """
    refined, flags = [], []
    weight = None
    if sample_weight is not None:  # in units in which the variance of a mean is that of 1/weight
        weight = sample_weight * row_units(sample_weight)
    for j, x in enumerate(columns_in_one_piece(X)):
        own = edges[j]
        found = np.empty(0)
        if ordered[j] and len(own):
            present = ~np.isnan(x)
            r, w, values = partial_residual(j), weight, x
            if not present.all():
                r, values = r[present], x[present]
                w = None if w is None else w[present]
            found = _jumps(values, r, w, own)
        both = np.union1d(own, found)
        refined.append(both)
        flags.append(np.isin(both, found))
    return refined, flags


def row_units(sample_weight):
    """The factor that gives weights the unit of rows: their sum is Kish's effective number."""
    return sample_weight.sum() / (sample_weight @ sample_weight)


def _jumps(x, r, w, edges):
    """The thresholds at which the partial residuals r jump; edges or others."""
    in_order = np.sort(x)
    fine = np.union1d(edges_of_sorted(in_order, None, _FINE_BINS), edges)
    windows = edges_of_sorted(
        in_order, None, int(np.clip(len(x) / _ROWS_OF_BIN, FEW_BINS, MANY_BINS))
    )
    fine = np.unique(np.concatenate([fine, windows]))
    codes = np.empty(len(x), dtype=np.uint16)
    ColumnCoder(fine, codes.dtype)(x, out=codes)
    mass = np.bincount(codes, weights=w, minlength=len(fine) + 1).astype(float)
    wr = r if w is None else w * r
    sums = np.bincount(codes, weights=wr, minlength=len(fine) + 1)
    starts = np.concatenate([[0], np.searchsorted(fine, windows) + 1])
    stops = np.append(starts[1:], len(mass))
    # The variance within bins is that of the noise, even where the function is steep.
    of_bin, sums_of_bin = np.add.reduceat(mass, starts), np.add.reduceat(sums, starts)
    explained = np.sum(sums_of_bin**2 / np.where(of_bin > 0, of_bin, 1.0))
    variance = max((wr @ r - explained) / mass.sum(), 0.0)
    candidates = []
    for first, last, number in zip(starts, np.append(stops[1:], stops[-1]), range(len(starts))):
        gain, at = _jump_in(mass[first:last], sums[first:last])
        if gain > CLEAR * variance and gain > 0:
            candidates.append((gain, number, fine[first + at]))
    found, taken = [], np.zeros(len(starts) + 2, dtype=bool)
    for _, number, threshold in sorted(candidates, reverse=True):
        if not taken[number : number + 2].any():  # the same jump in the window beside it
            found.append(threshold)
            taken[number : number + 2] = True
    return np.sort(found)


def _jump_in(mass, sums):
    """How much more the best threshold of a window explains than a line, and its position."""
    m, s = np.cumsum(mass), np.cumsum(sums)
    left, right = m[:-1], m[-1] - m[:-1]
    possible = np.flatnonzero(np.minimum(left, right) >= _MIN_ROWS_OF_SIDE)
    if not len(possible):
        return 0.0, 0
    left, right, sl = left[possible], right[possible], s[possible]
    centred = s[-1] ** 2 / m[-1]
    gains = sl**2 / left + (s[-1] - sl) ** 2 / right - centred
    best = int(gains.argmax())
    rank = m - 0.5 * mass - 0.5 * m[-1]  # of weighted mean 0
    length = mass @ rank**2
    line = (sums @ rank) ** 2 / length if length > 0 else 0.0
    return gains[best] - line, possible[best]


def jump_cuts(bins: FeatureBins, is_jump) -> np.ndarray:
    """The numbers of the cuts at jumps."""
    offsets = bins.layout().offsets
    return np.concatenate(
        [offsets[j] + np.flatnonzero(flags) for j, flags in enumerate(is_jump)] or [[]]
    ).astype(np.intp)


MIB = 2**20
AUTO_BINS = 64
# Refined bins have at least so many rows.
ROWS_OF_BIN = 150
# Smoothing rounds: how many at most, and how many without a new minimum before they end.
MAX_SMOOTHING_ROUNDS, SMOOTHING_PATIENCE = 2000, 40


@dataclass(frozen=True)
class CheckedRows:
    """The rows of one call of `fit` or `partial_fit`, those of weight 0 left out."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None  # None: all alike
    folds: np.ndarray | None  # None: no cross-validation
    n_splits: int
    columns: CategoricalColumns | None


def choose_bins(rows, y, max_bins, bin_edges, max_memory, *, keep_missing=False):
    """The bins of the features, and the numbers of the cuts at jumps.

    Parameters
    ----------
    rows : CheckedRows
    y : array of shape (n,) or None
        The target that refined bins follow; None for bins of equal weight.
    max_bins : int or "auto"
        With "auto", many rows and folds the bins are refined.
    bin_edges : array-like or None
    max_memory : float
    keep_missing : bool, default=False
        Whether every feature gets a bin for missing values; then bins are not refined.

    Returns
    -------
    bins : FeatureBins
    jumps : int array
    """
    X, weight, p = rows.X, rows.weight, rows.X.shape[1]
    categories = [None] * p if rows.columns is None else rows.columns.categories
    missing = np.ones(p, dtype=bool) if keep_missing else columns_with_missing(X)
    none = np.empty(0, dtype=np.intp)
    if bin_edges is not None:
        return FeatureBins.of(check_bin_edges(bin_edges, p), missing, categories), none
    refine = max_bins == "auto" and rows.n_splits > 0 and len(X) >= MIN_ROWS
    if not refine or keep_missing or y is None:
        n_bins = AUTO_BINS if max_bins == "auto" else max_bins
        edges = bin_edges_from_quantiles(X, n_bins, weight)
        return FeatureBins.of(edges, missing, categories), none
    return _refined_bins(rows, y, missing, categories, max_memory)


def _refined_bins(rows, y, missing, categories, max_memory):
    X, weight = rows.X, rows.weight
    few = FeatureBins.of(bin_edges_from_quantiles(X, FEW_BINS, weight), missing, categories)
    codes = few.codes(X)
    # one fold is held out, so that the number of rounds is known
    fold = np.minimum(rows.folds, 1)
    binned = BinnedRows(codes, few.layout(), weight, fold, 1)
    risk, _ = squared_risk(binned, y, max_memory)
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

    def partial_residual(j):
        return residual if tables[j] is None else residual + tables[j].take(codes[:, j])

    falls = sum(s.paths[0][0].falls_by_feature(few.layout()) for s in result.segments)
    if weight is None:
        noise = np.mean(residual**2)
    else:
        falls = falls * row_units(weight)
        noise = np.average(residual**2, weights=weight)
    used = falls > CLEAR * noise
    ordered = ~few.categorical
    edges = quantiles_by_use(X, weight, used & ordered, _many_bins(used, rows, max_memory))
    edges, is_jump = edges_at_jumps(X, partial_residual, weight, edges, ordered)
    bins = FeatureBins.of(edges, missing, categories)
    return bins, jump_cuts(bins, is_jump)


def _many_bins(used, rows, max_memory):
    """The bins of the features that are used, such that their sums fit into the memory."""
    copies = 3 * rows.n_splits + 2
    n_used = max(used.sum(), 1)
    n_bins = int(np.clip(len(rows.X) / ROWS_OF_BIN, AUTO_BINS, MANY_BINS))
    while n_bins > 2 * FEW_BINS:
        n_cuts = n_used * n_bins + (len(used) - n_used) * FEW_BINS
        if copies * n_used * n_bins * n_cuts * 8 / MIB <= max_memory:
            break
        n_bins //= 2
    return n_bins


def squared_risk(binned, y, max_memory):
    """The risk of the squared error of rows in bins, and its sums."""
    options = {"sample_weight": binned.weight, "folds": binned.folds}
    sums = cut_sums(binned.codes, binned.layout, y, n_folds=binned.n_groups, **options)
    max_cuts = cuts_in_memory(max_memory, binned)
    gram = CountedGram(binned.codes, binned.layout, sums.left_weight, max_cuts=max_cuts, **options)
    return SquaredErrorFits(sums, gram, binned.n_splits, max_cuts, binned, y), sums


def cuts_in_memory(max_memory, binned, n_scores=1):
    """Of how many cuts the sums with all cuts can be kept; None for all."""
    n_cuts, n_groups, n_splits = binned.layout.n_cuts, binned.n_groups, binned.n_splits
    # as counted, and as products of columns of each model, held-out rows apart
    copies = n_scores * (n_groups + 1 + 2 * n_splits)
    each = copies * n_cuts * 8 / MIB
    if each > max_memory:
        raise ValueError(
            f"max_memory={max_memory} MiB is less than the {each:.2g} MiB of the sums "
            f"over one of the {n_cuts} cuts with all others; use fewer bins."
        )
    return None if each * n_cuts <= max_memory else int(max_memory / each)


def rows_are_faster(risk, layout, smoothing):
    """Whether rounds cost less by the residuals of rows than by the products of cuts.

    Rough costs of all rounds, in elementary operations: of products, those for all cuts, which are
    counted for all models and for a loss that is not quadratic again and again; and of the steps.
    """
    if risk.rows is None or (risk.is_quadratic and not risk.n_splits):
        return False
    n, p = risk.rows.codes.shape
    n_cuts, n_models = layout.n_cuts, 1 + risk.n_splits
    n_rounds, n_countings = (100, 3) if smoothing else (1000, 3)
    products = n_cuts**2 * (3 * risk.n_splits + 2) * (1 if risk.is_quadratic else n_countings)
    width = n_cuts / max(p, 1) if smoothing else 1
    by_products = 2 * products + n_rounds * n_models * (2 * n_cuts * width + 4000)
    by_rows = n_rounds * n_models * (1.5 * n * p + 4 * n_cuts + 30_000)
    kept = n_cuts if risk.max_cuts is None else risk.max_cuts
    return by_rows < by_products or kept < min(n_cuts, 500)


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


@dataclass(frozen=True)
class ChunkedBins:
    """Rows in chunks, and what a first pass over them has found.

    Attributes
    ----------
    rows : ChunkedRows
        With the numbers of their rows, and weights of at most about 1.
    bins : FeatureBins
    columns : CategoricalColumns or None
    summary : ChunkSummary
    n_splits : int
        Folds of cross-validation; 0 for none.
    """

    rows: ChunkedRows
    bins: FeatureBins
    columns: CategoricalColumns | None
    summary: ChunkSummary
    n_splits: int


def bins_of_chunks(model: Any, rows: ChunkedRows, target_of: Callable[..., Any]) -> ChunkedBins:
    """The bins that an additive model's parameters ask for.

    Parameters
    ----------
    model : BaseAdditive
    rows : ChunkedRows
    target_of : callable
        What the summary keeps of (y, weight).
    """
    n_splits = checked_n_splits(model.cv) if model.n_estimators == "cv" else 0
    columns = categories_of_chunks(rows, model.categorical_features)
    rows = rows.knowing(allow_nan=True, encode=None if columns is None else columns.encode)
    p = rows.checks.n_features
    given = None if model.bin_edges is None else check_bin_edges(model.bin_edges, p)
    summary = rows.sum(summarise, given is None, target_of)
    categories = [None] * p if columns is None else columns.categories
    if given is None:
        given = summary.sketch.edges(AUTO_BINS if model.max_bins == "auto" else model.max_bins)
    rows = rows.knowing(
        first_rows=summary.first_rows,
        weight_unit=power_of_two(summary.high_weight),
        equal_weights=summary.low_weight == summary.high_weight,
    )
    bins = FeatureBins.of(given, summary.missing, categories)
    return ChunkedBins(rows, bins, columns, summary, n_splits)


def folds_of_chunk(chunk: Any, n_splits: int) -> Any:
    """The fold that tests on each row of a chunk; None without cross-validation."""
    return folds_by_hash(chunk.numbers, n_splits) if n_splits else None


def categories_of_chunks(rows: ChunkedRows, given: Any) -> CategoricalColumns | None:
    """The categories that occur in any chunk; None if no feature has any."""
    names = [str(name) for name in rows.meta.columns] if hasattr(rows.meta, "columns") else None
    empty = CategoricalColumns(rows.meta, given, names)
    if not empty.any:
        return None
    found = rows.given.sum(_categories_of_chunk, given, names)
    return empty if found is None else empty + found


def _categories_of_chunk(
    chunk: tuple[int, Any, Any, Any], given: Any, names: Sequence[str] | None
) -> CategoricalColumns:
    return CategoricalColumns(chunk[1], given, names)


def labelled_rows(
    chunk: Rows, bins: FeatureBins, y: np.ndarray, n_splits: int, with_pairs: bool
) -> LabelledRows:
    """A chunk in bins, with its targets y or the numbers of its classes."""
    codes, folds = bins.codes(chunk.X), folds_of_chunk(chunk, n_splits)
    rows = BinnedRows(codes, bins.layout(), chunk.weight, folds, n_splits)
    with_own = with_pairs and not n_splits
    return LabelledRows(rows, y, own_folds(row_numbers(chunk.numbers)) if with_own else None)
