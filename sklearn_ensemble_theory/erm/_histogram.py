"""Histograms: one prediction for each cell of a partition of a box [Shah, §2.2].

Each feature is cut into m intervals of equal length. A cell is a row of m-ary digits, the numbers
of the intervals; only the cells that hold rows are stored, in lexicographic order, so that the
memory does not depend on the number of all cells. What is known of the cells of some rows adds up:
rows may come in one call, in several calls of `partial_fit`, or in the blocks of a collection.
"""

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._batches import FitsBatches
from sklearn_ensemble_theory._blocks import SummedFields, by_chunks
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    Rows,
    checked_classes,
    joined_labels,
    kept_rows,
    labels_of_block,
    validate_data,
)
from sklearn_ensemble_theory._scaling import power_of_two, within_range
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike, available_if
from sklearn_ensemble_theory.bounds import finite_class_bound
from sklearn_ensemble_theory.bounds._arguments import check_option

# Numbers of bins times numbers of features; the edges take 1 GB.
MOST_EDGES = 2**27
# Keys of cells are at most this, which int64 holds.
MAX_KEY = 2**63 - 1


# --- cells ----------------------------------------------------------------------------------------


def edges_of_box(low: np.ndarray, high: np.ndarray, n_bins: int) -> np.ndarray:
    """The edges of intervals of equal length, of shape (p, n_bins + 1), increasing.

    Where `low` and `high` are equal, there is one bin for all numbers.
    """
    t = np.arange(n_bins + 1) / n_bins
    # The difference high - low could overflow.
    edges = low[:, None] * (1 - t) + high[:, None] * t
    # Rounding may take an edge below the one before it, or the last one off the end of the box.
    edges = np.maximum.accumulate(edges, axis=1)
    edges[:, -1] = high
    one_bin = low == high
    edges[one_bin, 0] = -np.inf
    edges[one_bin, 1:] = np.inf
    return edges


def bin_numbers(X: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each value: ``edges[j, r] <= x < edges[j, r + 1]`` is bin r of feature j.

    Values below the first edge are in the first bin, those from the last edge on in the last. The
    numbers have the smallest type that holds them and lie by columns, as the index reads them.
    """
    n_bins = edges.shape[1] - 1
    numbers = np.empty(X.shape, dtype=np.min_scalar_type(n_bins - 1), order="F")
    for j in range(X.shape[1]):
        inner = edges[j, 1:-1]
        numbers[:, j] = np.searchsorted(inner, np.ascontiguousarray(X[:, j]), side="right")
    return numbers


class CellIndex:
    """The search for the cell of a row, among the cells that hold rows.

    The bin numbers of a cell are the digits of its key in base `n_bins`. Where the key of all
    features would exceed 63 bits, it is cut into stages: the digits of the first features are
    replaced by their rank among those that occur, and the next digits appended to that rank. A
    stage has the features from `first` to `last`, and the sorted keys.
    """

    def __init__(self, n_bins: int, stages: list[tuple[int, int, np.ndarray]]) -> None:
        self.n_bins, self.stages = n_bins, stages
        self.n_cells = len(stages[-1][2])

    @classmethod
    def of(cls, numbers: np.ndarray, n_bins: int) -> tuple[Self, np.ndarray]:
        """The index of the cells that hold the rows of `numbers`, and the cell of each row.

        O(n p + n log n) operations, and O(n log n) more for every further stage.
        """
        n, p = numbers.shape
        rank, n_ranks, first, stages = np.zeros(n, dtype=np.int64), 1, 0, []
        while first < p:
            # As many digits as fit beside the rank.
            last, capacity = first + 1, n_ranks * n_bins
            while last < p and capacity * n_bins <= MAX_KEY:
                last, capacity = last + 1, capacity * n_bins
            keys = _append_digits(rank, numbers[:, first:last], n_bins)
            keys, rank = np.unique(keys, return_inverse=True)
            stages.append((first, last, keys))
            first, n_ranks = last, len(keys)
        return cls(n_bins, stages), rank

    def find(self, numbers: np.ndarray) -> np.ndarray:
        """The number of each row's cell, or -1 where the index does not have the cell.

        O(p + log n_cells) operations a row.
        """
        rank = np.zeros(len(numbers), dtype=np.int64)
        known = np.ones(len(numbers), dtype=bool)
        for first, last, keys in self.stages:
            key = _append_digits(rank, numbers[:, first:last], self.n_bins)
            # A row that is not known goes on with some rank, and is marked in the end.
            rank = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            known &= keys[rank] == key
        rank[~known] = -1
        return rank


def _append_digits(rank: np.ndarray, numbers: np.ndarray, n_bins: int) -> np.ndarray:
    key = rank
    for j in range(numbers.shape[1]):
        key = key * n_bins + numbers[:, j].astype(np.int64)
    return key


# --- what is known of the cells -------------------------------------------------------------------


class ClassTable(NamedTuple):
    """The weight of each class in each cell, of shape (n_cells, K)."""

    sums: np.ndarray

    @classmethod
    def of(
        cls, cell: np.ndarray, n_cells: int, codes: np.ndarray, weight: np.ndarray, n_classes: int
    ) -> Self:
        """The table of rows with these cells, classes (0 to K - 1) and weights."""
        sums = np.bincount(cell * n_classes + codes, weight, minlength=n_cells * n_classes)
        return cls(sums.reshape(n_cells, n_classes))

    @property
    def weight(self) -> np.ndarray:
        """The weight of each cell."""
        return self.sums.sum(axis=1)

    def merged(self, place: np.ndarray, other: Self, other_place: np.ndarray, n: int) -> Self:
        """The table of the rows of both, whose cells have these places among n."""
        sums = np.zeros((n, self.sums.shape[1]))
        sums[place] = self.sums
        sums[other_place] += other.sums
        return type(self)(sums)


class MeanTable(NamedTuple):
    """The weight, of shape (n_cells,), and the means of the targets, (n_cells, q), in each cell.

    Means instead of sums: they cannot overflow.
    """

    weight: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, cell: np.ndarray, n_cells: int, y: np.ndarray, weight: np.ndarray) -> Self:
        """The table of rows with these cells, targets of shape (n, q) and weights."""
        sums = np.bincount(cell, weight, minlength=n_cells)
        share = weight / np.where(sums > 0, sums, 1.0)[cell]
        means = [np.bincount(cell, share * column, minlength=n_cells) for column in y.T]
        return cls(sums, within_range(np.column_stack(means)))

    def merged(self, place: np.ndarray, other: Self, other_place: np.ndarray, n: int) -> Self:
        weights, means = np.zeros((2, n)), np.zeros((2, n, self.means.shape[1]))
        for k, (table, places) in enumerate(((self, place), (other, other_place))):
            weights[k, places], means[k, places] = table.weight, table.means
        weight = weights[0] + weights[1]
        share = (weights[1] / np.where(weight > 0, weight, 1.0))[:, None]
        return type(self)(weight, (1 - share) * means[0] + share * means[1])


@dataclass
class WeightSums(SummedFields):
    """The number of rows, the sum of their weights and that of the squares."""

    n: int
    total: float
    squares: float

    @classmethod
    def of(cls, weight: np.ndarray) -> "WeightSums":
        return cls(len(weight), float(weight.sum()), float(weight @ weight))

    @property
    def effective_n(self) -> float:
        return self.total**2 / self.squares


@dataclass
class CellSums:
    """What is known of the cells of some rows, in lexicographic order of their bin numbers."""

    cells: np.ndarray
    table: Any
    n_bins: int
    weights: WeightSums
    target_ndim: int

    @classmethod
    def of(
        cls, X: np.ndarray, y: np.ndarray, weight: np.ndarray, edges: np.ndarray, n_classes: int
    ) -> "CellSums":
        """Those of rows; `n_classes` is 0 for real targets. O(n p log m + n log n)."""
        numbers, n_bins = bin_numbers(X, edges), edges.shape[1] - 1
        index, cell = CellIndex.of(numbers, n_bins)
        table: ClassTable | MeanTable
        if n_classes:
            table = ClassTable.of(cell, index.n_cells, y, weight, n_classes)
        else:
            table = MeanTable.of(cell, index.n_cells, y.reshape(len(y), -1), weight)
        cells = _numbers_of_cells(numbers, cell, index.n_cells)
        return cls(cells, table, n_bins, WeightSums.of(weight), y.ndim)

    def __add__(self, other: "CellSums") -> "CellSums":
        both = np.concatenate([self.cells, other.cells])
        index, place = CellIndex.of(both, self.n_bins)
        n, first = index.n_cells, len(self.cells)
        table = self.table.merged(place[:first], other.table, place[first:], n)
        cells, weights = _numbers_of_cells(both, place, n), self.weights + other.weights
        return CellSums(cells, table, self.n_bins, weights, self.target_ndim)


def _numbers_of_cells(numbers: np.ndarray, cell: np.ndarray, n_cells: int) -> np.ndarray:
    """The bin numbers of each cell: those of one of its rows."""
    row = np.empty(n_cells, dtype=np.intp)
    row[cell] = np.arange(len(cell))
    return np.ascontiguousarray(numbers[row])


@dataclass
class RowRange:
    """What a first pass over blocks finds: the box, the weights, and the labels of a classifier."""

    low: np.ndarray
    high: np.ndarray
    weights: WeightSums
    classes: np.ndarray

    @classmethod
    def of(cls, block: Rows, is_classifier: bool) -> "RowRange":
        classes = block.y[:0].ravel()
        if is_classifier:
            classes = labels_of_block(block.y)
        low, high = block.X.min(axis=0), block.X.max(axis=0)
        return cls(low, high, WeightSums.of(block.weights()), classes)

    def __add__(self, other: "RowRange") -> "RowRange":
        return RowRange(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.weights + other.weights,
            joined_labels(self.classes, other.classes),
        )


def cells_of_block(block: Rows, edges: np.ndarray, n_classes: int) -> CellSums:
    return CellSums.of(block.X, block.y, block.weights(), edges, n_classes)


# --- estimators -----------------------------------------------------------------------------------


TEXTS = {
    "box": """
        box : array-like of shape (2,) or (n_features, 2), default=None
            Lower and upper ends of the box, for all features or for each one, in units of X. If
            None, they are the smallest and the largest value of each feature in the training rows
            (with `partial_fit`, in those of the first call). Values outside the box, in `fit` as in
            `predict`, belong to the nearest cell of its boundary.
        """,
    "partition": """
        n_bins_ : int
            The number m of intervals of each feature.
        bin_edges_ : ndarray of shape (n_features, n_bins_ + 1)
            The ends of the intervals of each feature. An interval contains its lower end. A feature
            that is constant in the training rows has one interval, from -inf to inf, if `box` is
            None.
        cells_ : ndarray of shape (n_cells, n_features)
            The cells with training rows, in lexicographic order: the number of the interval of each
            feature, from 0 to ``n_bins_ - 1``.
        """,
    "cell_shares_": """
        cell_shares_ : ndarray of shape (n_cells,)
            Share of the weight of the training rows in each of these cells.
        """,
    "rows_seen": """
        n_samples_seen_ : int
            Number of training rows of positive weight, over all calls of `partial_fit`.
        effective_n_samples_ : float
            The square of the sum of the weights divided by the sum of their squares: the number of
            training rows if their weights are equal, and less if they differ.
        %(names_in_fit)s
        """,
}


class BaseHistogram(FitsBatches, ReadsOnce, BaseEstimator):
    """The partition of a box into cells; its subclasses know what is learned in each cell."""

    _parameter_constraints: ClassVar[dict] = {
        "n_bins": [Interval(Integral, 1, None, closed="left"), StrOptions({"rate"})],
        "box": ["array-like", None],
    }
    n_features_in_: int

    def __init__(
        self, n_bins: int | Literal["rate"] = "rate", *, box: ArrayLike | None = None
    ) -> None:
        self.n_bins = n_bins
        self.box = box

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cells_")

    def _fit_rows(
        self,
        X: np.ndarray,
        target: np.ndarray,
        sample_weight: ArrayLike | None,
        classes: np.ndarray,
        *,
        first: bool,
    ) -> Self:
        """Add validated rows to the cells; `first` begins again."""
        rows = kept_rows(X, target, sample_weight, as_given=True)
        X, target = rows.X, rows.y
        # The largest weight of the first call is the unit of all weights: their squares, which
        # `effective_n_samples_` needs, neither overflow nor vanish.
        unit = power_of_two(rows.weights().max()) if first else self._weight_unit
        with np.errstate(over="ignore", under="ignore"):
            weight = np.maximum(rows.weights() / unit, np.finfo(np.float64).tiny)
            squares = float(weight @ weight) + (0.0 if first else self._cell_sums.weights.squares)
        if not math.isfinite(squares):
            raise ValueError(
                "sample_weight must not be more than 1e150 times as large as in the first call."
            )
        if first:
            low, high = self._box_of(X.min(axis=0), X.max(axis=0))
            edges = self._edges_of(low, high, WeightSums.of(weight).effective_n)
        else:
            edges = self.bin_edges_
        sums = CellSums.of(X, target, weight, edges, len(classes))
        self._set_cells(sums if first else self._cell_sums + sums, edges, unit, classes)
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks: for the box, the number of rows and the labels, if they are not
        given; and for the cells."""
        p, is_classifier = rows.checks.n_features, rows.checks.is_classifier
        box = self._box_of(np.zeros(p), np.zeros(p))  # refused before the rows are read
        rows, n = rows.knowing(multi_output=not is_classifier), 1.0
        classes = np.empty(0)
        if is_classifier or self.box is None or self.n_bins == "rate":
            seen = rows.sum(RowRange.of, is_classifier)
            box, n = self._box_of(seen.low, seen.high), seen.weights.effective_n
            classes = seen.classes
        edges = self._edges_of(*box, n)
        if is_classifier:
            rows = rows.knowing(classes=classes)
        sums = rows.sum(cells_of_block, edges, len(classes) if is_classifier else 0)
        self._set_cells(sums, edges, 1.0, classes)

    def _set_cells(
        self, sums: CellSums, edges: np.ndarray, weight_unit: float, classes: np.ndarray
    ) -> None:
        """Set the fitted attributes; a subclass adds those of its table."""
        self.n_bins_, self.bin_edges_, self.cells_ = sums.n_bins, edges, sums.cells
        self._index, _ = CellIndex.of(sums.cells, sums.n_bins)
        self._cell_sums, self._weight_unit = sums, weight_unit
        self.n_samples_seen_ = sums.weights.n
        self.effective_n_samples_ = sums.weights.effective_n
        weight = sums.table.weight
        self.cell_shares_ = weight / weight.sum()

    def _box_of(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper ends of the box, in double precision, for rows of this range."""
        if self.box is None:
            return low.astype(np.float64), high.astype(np.float64)
        p = len(low)
        try:
            box = check_array(self.box, dtype=np.float64, ensure_2d=False, input_name="box")
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"box must have finite numbers: {error}") from None
        if box.shape not in ((2,), (p, 2)):
            raise ValueError(
                f"box must have the shape (2,), or ({p}, 2) for X with {p} features, got the "
                f"shape {box.shape}."
            )
        low, high = np.broadcast_to(box, (p, 2)).T
        if not (low < high).all():
            raise ValueError("box must have lower ends that are less than the upper ends.")
        return low.copy(), high.copy()

    def _edges_of(self, low: np.ndarray, high: np.ndarray, n: float) -> np.ndarray:
        """The edges of the bins of each feature, for a number of rows."""
        p = len(low)
        if self.n_bins == "rate":
            # The power is correct to rounding only: 1000^(1/3) is 9.999...
            m = max(1, math.floor(n ** (1 / (p + 1))) - 1)
            # From 2^64 on, any n is less.
            while m ** min(p + 1, 64) < n * (1 - 1e-12):
                m += 1
        else:
            m = int(self.n_bins)
        if m * p > MOST_EDGES:
            raise ValueError(
                f"n_bins={m} for {p} features makes more than {MOST_EDGES:,} bins; use fewer."
            )
        return edges_of_box(low, high, m)

    @by_chunks
    def apply(self, X: ArrayLike) -> np.ndarray:
        """Find the cell of each row.

        O(p log n_bins + log n_cells) operations a row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        cell : ndarray of shape (n_samples,)
            Position of the cell in `cells_`, or -1 for a cell without training rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._index.find(bin_numbers(X, self.bin_edges_))


def _box_is_given(model: "HistogramClassifier") -> bool:
    if model.box is None:
        raise AttributeError(
            "error_bound: the bound is for a partition that does not depend on the data; set box."
        )
    return True


@documented(TEXTS)
class HistogramClassifier(ClassifierMixin, BaseHistogram):
    """Histogram classifier: the majority class in each cell of a grid.

    Each feature is cut into m intervals of equal length, which divides a box of p features into
    m^p cells. The prediction is the class with the largest weight in the cell of a row. It has the
    fewest errors on the training rows among all classifiers that are constant on each cell [Shah,
    §2.2]. Only finitely many such classifiers exist, so `error_bound` can bound the excess risk.

    Parameters
    ----------
    n_bins : int or "rate", default="rate"
        Number m of intervals of each feature. ``"rate"`` is the smallest m with
        ``m ** (n_features + 1) >= n_samples``. For two features it is n^(1/3) as in [Shah, §2.2].
        The exponent 1/(p + 1) extends it to p features: m grows, and the number of cells for each
        row, m^p/n, vanishes. At most 2^27 in all features. With `sample_weight`, n_samples is
        `effective_n_samples_`; with `partial_fit`, the first call determines m.
    %(box)s

    %(classes_attribute)s
    %(partition)s
    cell_proba_ : ndarray of shape (n_cells, n_classes)
        Weighted shares of the classes in each of these cells.
    %(cell_shares_)s
    class_prior_ : ndarray of shape (n_classes,)
        Weighted shares of the classes among all training rows; the prediction in empty cells.
    training_error_ : float
        Weighted share of errors on the training rows.
    %(rows_seen)s

    See Also
    --------
    HistogramRegressor : The mean of the targets in each cell.
    BinnedTreeClassifier : A partition that is chosen by the labels.
    bounds.finite_class_bound : The bound of `error_bound`.

    Notes
    -----
    A fit takes O(n p log m + n log n) operations, and O(n log n) more each time the numbers of the
    cells exceed 63 bits. Only cells with training rows are stored, at most n of the m^p. A call of
    `partial_fit` costs O(n_cells p) in addition.

    Dask collections are read twice: once for the range of the features, the number of rows and the
    labels, and once for the cells. A chunk sends the cells that hold its rows, p numbers of bins
    and the weights of the classes. The model is the same as from all rows in memory.

    Ties go to the first class. In cells without training rows all labels have the same empirical
    risk, and the prediction is the most frequent class of all rows.

    Integer weights are equivalent to repeated rows if `n_bins` is an int. In the number n of
    ``"rate"`` and of the bound, repeated rows would count as further observations.

    %(references_Shah)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import HistogramClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 2))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = HistogramClassifier(box=(0, 1)).fit(X, y)
    >>> model.n_bins_, len(model.cells_)
    (10, 100)
    >>> model.predict([[0.9, 0.2], [0.2, 0.9]])
    array([1, 0])
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the majority class of each cell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame.
        y : array-like of shape (n_samples,)
            Class labels; a Dask collection where X is one.
        %(sample_weight)s

        %(returns_self)s
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return self._fit_rows(X, codes, sample_weight, classes, first=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add training rows.

        The first call determines the box and the number of intervals, unless `box` and `n_bins`
        are given. After that, the result is the same as from one `fit` to all rows.

        %(of_dense_X)s
        %(y_classification)s
        classes : array-like of shape (n_classes,), default=None
            All labels that will occur. Required in the first call.
        %(sample_weight)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If `classes` is missing in the first call or differs from that of an earlier one, or if
            `y` has other labels.
        """
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known = checked_classes(classes) if classes is not None else self.classes_
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"classes={known.tolist()} must be the same as in the first call, "
                f"{self.classes_.tolist()}."
            )
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=first)
        check_classification_targets(y)
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(f"y has the labels {unknown.tolist()}, which are not in classes.")
        codes = np.searchsorted(known, y)
        return self._fit_rows(X, codes, sample_weight, known, first=first)

    def _set_cells(
        self, sums: CellSums, edges: np.ndarray, weight_unit: float, classes: np.ndarray
    ) -> None:
        super()._set_cells(sums, edges, weight_unit, classes)
        table, overall = sums.table, sums.table.sums.sum(axis=0)
        self.classes_ = classes
        self.cell_proba_ = table.sums / table.weight[:, None]
        self.class_prior_ = overall / overall.sum()
        errors = table.weight - table.sums.max(axis=1)
        self.training_error_ = float(errors.sum() / table.weight.sum())

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the majority class of the cell of each row.

        O(p log n_bins + log n_cells) operations a row.

        %(rows_to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions. In cells without training rows, the most frequent class of all.
        """
        proba = self.predict_proba(X)  # NotFittedError before `classes_` is looked for
        return self.classes_.take(proba.argmax(axis=1))

    @by_chunks
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict the class probabilities, the weighted shares of the classes in the row's cell.

        %(rows_to_predict)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`. In cells without training rows, the
            shares among all rows.
        """
        cell = self.apply(X)
        proba = self.cell_proba_[cell]
        proba[cell < 0] = self.class_prior_
        return proba

    @available_if(_box_is_given)
    def error_bound(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        method: Literal["excess_risk"] = "excess_risk",
        delta: float = 0.05,
    ) -> float:
        """Bound on the excess risk over the best classifier that is constant on the cells.

        There are K^(m^p) classifiers that are constant on the cells, for K classes. With
        probability at least 1 - delta over the training rows, the error on a new row exceeds the
        error of the best of them by at most

            sqrt(2 (m^p log K + log(1/delta)) / n)

        [Shah, theorem 6]. The partition must not depend on the data, so `box` must be given, and
        `n_bins` must not be chosen by the same rows. The rows must be independent, with the
        distribution of new ones. With weights, which must not depend on the rows, n is
        `effective_n_samples_`. The proof is the same, with one change: for weights w_i that sum to
        1, Hoeffding's inequality has the sum of the w_i^2 instead of 1/n.

        %(of_excess_risk)s
        delta : float, default=0.05
            Probability that the bound does not hold, above 0 and at most 1.

        Returns
        -------
        bound : float
            The bound, at most 1, where it says nothing.

        Raises
        ------
        ValueError
            If `delta` is outside its range.
        """
        check_is_fitted(self)
        check_option("method", method, ("excess_risk",))
        K, log_size = len(self.classes_), 0.0
        if K > 1:  # m^p log K, but no more than floats hold
            log_log = self.n_features_in_ * math.log(self.n_bins_) + math.log(math.log(K))
            log_size = math.exp(min(log_log, 700.0))
        return min(1.0, finite_class_bound(self.effective_n_samples_, log_size, delta))


@documented(TEXTS)
class HistogramRegressor(RegressorMixin, BaseHistogram):
    """Histogram regressor: the mean of the targets in each cell of a grid.

    Each feature is cut into m intervals of equal length, which divides a box of p features into
    m^p cells. The prediction is the weighted mean of the targets in the cell of a row. It has the
    least residual sum of squares among all functions that are constant on each cell of the
    partition of [Shah, §2.2].

    Parameters
    ----------
    n_bins : int or "rate", default="rate"
        Number m of intervals of each feature. ``"rate"`` is the smallest m with
        ``m ** (n_features + 1) >= n_samples``.
    %(box)s

    Attributes
    ----------
    %(partition)s
    cell_values_ : ndarray of shape (n_cells,) or (n_cells, n_outputs)
        Weighted means of the targets in each of these cells, in units of y.
    %(cell_shares_)s
    mean_ : float or ndarray of shape (n_outputs,)
        Weighted mean of all targets; the prediction in empty cells.
    n_outputs_ : int
        Number of outputs.
    %(rows_seen)s

    See Also
    --------
    HistogramClassifier : The majority class in each cell.
    BinnedTreeRegressor : A partition that is chosen by the targets.
    NadarayaWatsonRegressor : Means over neighbourhoods that move with the row.

    Notes
    -----
    The cost is as for `HistogramClassifier`: O(n p log m + n log n) operations for a fit, and
    memory for the cells with training rows only.

    Dask collections are read twice, or once if `box` and an int `n_bins` are given. A chunk sends
    the cells that hold its rows, p numbers of bins, the weight and the means. The model is the same
    as from all rows in memory, up to rounding.

    Integer weights are equivalent to repeated rows if `n_bins` is an int.

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import HistogramRegressor
    >>> model = HistogramRegressor(n_bins=2).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 5.0])
    >>> model.bin_edges_
    array([[0. , 1.5, 3. ]])
    >>> model.cell_values_
    array([0.5, 4.5])
    >>> model.predict([[-1], [1.5]])
    array([0.5, 4.5])
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the mean of each cell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; a Dask collection where X is one.
        %(sample_weight)s

        %(returns_self)s
        """
        return self._fit_targets(X, y, sample_weight, first=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add training rows.

        The first call determines the box and the number of intervals, unless `box` and `n_bins`
        are given. After that, the result is the same as from one `fit` to all rows, up to rounding.

        %(of_dense_X)s
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        %(sample_weight)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If `y` has another number of outputs than in the first call.
        """
        return self._fit_targets(X, y, sample_weight, first=not self.__sklearn_is_fitted__())

    def _fit_targets(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, first: bool
    ) -> Self:
        dtype = [np.float64, np.float32]
        X, y = validate_data(
            self, X, y, reset=first, dtype=dtype, multi_output=True, y_numeric=True
        )
        y = np.asarray(y, dtype=np.float64)
        if not first and y.shape[1:] != self.cell_values_.shape[1:]:
            raise ValueError(
                f"y must have the number of outputs of the first call, {self.n_outputs_}, got "
                f"the shape {y.shape}."
            )
        return self._fit_rows(X, y, sample_weight, np.empty(0), first=first)

    def _set_cells(
        self, sums: CellSums, edges: np.ndarray, weight_unit: float, classes: np.ndarray
    ) -> None:
        super()._set_cells(sums, edges, weight_unit, classes)
        weight, means = sums.table
        with np.errstate(over="ignore"):
            overall = within_range((weight / weight.sum()) @ means)
        single = sums.target_ndim == 1
        self.n_outputs_ = means.shape[1]
        self.cell_values_ = means[:, 0] if single else means
        self.mean_ = float(overall[0]) if single else overall

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the mean of the cell of each row.

        O(p log n_bins + log n_cells) operations a row.

        %(rows_to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions. In cells without training rows, the mean of all targets.
        """
        cell = self.apply(X)
        values = self.cell_values_[cell]
        values[cell < 0] = self.mean_
        return values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
