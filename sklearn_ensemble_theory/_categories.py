"""Columns of categories as numbers: one encoder for the additive models and for trees.

The categories of a column that occur in `fit` are numbered in increasing order, or by the names of
their types where they cannot be sorted. Missing values and categories that `fit` has not seen have
no number, NaN; the latter have the number `UNSEEN` in rows to predict by trees that send them to
both children (`Categories`). Where there may be no more than B numbers, the B - 1 categories of the
most rows have one each, and all others share the last.
"""

import copy
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse
from sklearn.base import clone
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._features import (
    CategoryOptions,
    Features,
    column_of,
    columns_of,
    is_frame,
    naming_columns,
)
from sklearn_ensemble_theory._learners import BinnedTree
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._typing import Estimator, Fitted

MAX_CATEGORIES = 2**16 - 2
# Of a column in trees: sets of bins have 256 bits, one of which is that of missing values.
MOST_CATEGORY_BINS = 255
# What stands in rows to predict for a category that goes to both children. Loops that do not know
# it take any number below 0 for a missing value.
UNSEEN = -1.0
# A sparse X of at most so many values, 16 MB in single precision, is binned as a dense one.
MOST_DENSE_VALUES = 2**22


class CategoricalColumns:
    """Which columns are categorical, and the numbers of their categories; at most `most` of them.

    - categories: those that occur in X, sorted if possible; None for other columns.
    - counts: the rows of each category.
    - has_mean: whether unseen categories have the number `UNSEEN` in rows to predict.
    """

    has_mean = False

    def __init__(self, X: Any, categorical_features: Any, most: int | None = None) -> None:
        self.features, self.most = Features.of(X), most
        self.has_mean = CategoryOptions.of(categorical_features).unseen == "mean"
        self.categories: list[np.ndarray | None] = [None] * self.features.n
        self.counts: list[np.ndarray | None] = [None] * self.features.n
        for j in np.flatnonzero(self.features.flags(categorical_features, X)).tolist():
            with self._naming(j):
                found = _occurring(column_of(X, j))
            self.keep(j, *found)

    @classmethod
    def known(cls, features: Features, categories: list[np.ndarray | None]) -> "CategoricalColumns":
        """Columns whose categories were found before; how many rows each had is not known."""
        columns = cls.__new__(cls)
        columns.features, columns.most, columns.categories = features, None, categories
        # The category NaN, of a column that had none, has no row.
        columns.counts = [
            None if c is None else np.array([int(v == v) for v in c.tolist()]) for c in categories
        ]
        return columns

    @contextmanager
    def _naming(self, j: int) -> Iterator[None]:
        """A TypeError for values that have no hash names the column."""
        try:
            yield
        except TypeError as error:
            raise TypeError(
                f"Feature {self.features.label(j)} is categorical and has values that cannot be "
                f"categories ({error}); make text of them, for example."
            ) from None

    def __add__(self, other: "CategoricalColumns") -> "CategoricalColumns":
        """The categories that occur here or there."""
        both = copy.copy(self)
        both.categories, both.counts = list(self.categories), list(self.counts)
        parts = (self.categories, self.counts, other.categories, other.counts)
        for j, (own, own_counts, theirs, their_counts) in enumerate(zip(*parts)):
            if own is not None and theirs is not None:
                pairs = [(own, own_counts), (theirs, their_counts)]
                found, _ = _occurring(np.concatenate([own, theirs]))
                counts = np.zeros(len(found), dtype=np.intp)
                for categories, rows in pairs:
                    numbers = _numbers(categories, found)
                    known = ~np.isnan(numbers)  # not the category that never occurs
                    counts[numbers[known].astype(np.intp)] += np.asarray(rows)[known]
                both.keep(j, found, counts)
        return both

    def keep(self, j: int, found: np.ndarray, counts: np.ndarray) -> None:
        """Make these the categories of a column, or refuse them."""
        if len(found) > MAX_CATEGORIES:
            raise ValueError(
                f"Feature {self.features.label(j)} has {len(found)} categories; at most "
                f"{MAX_CATEGORIES} are possible."
            )
        texts = {isinstance(value, str) for value in found} if found.dtype == object else ()
        if len(texts) > 1:
            raise TypeError(
                f"Feature {self.features.label(j)} is categorical and has both text and other "
                "values; make text of all of them, for example."
            )
        if not len(found):  # of no category only: one that never occurs
            found, counts = np.array([np.nan], dtype=object), np.zeros(1, dtype=np.intp)
        self.categories[j], self.counts[j] = found, counts

    @property
    def flags(self) -> np.ndarray:
        return np.array([c is not None for c in self.categories], dtype=bool)

    @property
    def any(self) -> bool:
        return bool(self.flags.any())

    def numbers(self, j: int) -> np.ndarray:
        """The number of each category of a column: its place, or the last one for the rarest."""
        counts = self.counts[j]
        assert counts is not None
        if self.most is None or len(counts) <= self.most:
            return np.arange(len(counts))
        kept = np.sort(np.argsort(-counts, kind="stable")[: self.most - 1])
        numbers = np.full(len(counts), self.most - 1)
        numbers[kept] = np.arange(self.most - 1)
        return numbers

    def warn_of_shared_bins(self, parameter: str) -> None:
        """Say which columns have more categories than numbers."""
        for j, counts in enumerate(self.counts):
            if counts is not None and self.most is not None and len(counts) > self.most:
                warn_user(
                    f"Feature {self.features.label(j)} has {len(counts)} categories, of which the "
                    f"{len(counts) - self.most + 1} of the fewest rows share a bin: there are "
                    f"{self.most} bins (see {parameter}).",
                    UserWarning,
                )

    def encode(self, X: Any, to_predict: bool = False) -> Any:
        """X as floats, with the number of each category; NaN for missing and unseen ones.

        With `has_mean` unseen ones are `UNSEEN` in rows `to_predict`. A sparse X stays sparse: what
        is not stored is 0 there, and has the number of this category; it must be finite in columns
        without categories. A column whose categories are text must have text, and no other one.
        """
        if issparse(X):
            return self._encode_sparse(X.tocsc(), to_predict)
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
            out = np.array(X, dtype=np.float64, order="F")
            for j in np.flatnonzero(self.flags).tolist():
                out[:, j] = self._codes(X[:, j], j, to_predict)
            return out
        out = np.empty(X.shape, order="F")
        for (j, categories), column in zip(enumerate(self.categories), columns_of(X), strict=True):
            if categories is not None:
                out[:, j] = self._codes(column, j, to_predict)
                continue
            if getattr(column.dtype, "kind", "") == "c":
                label = self.features.label(j)
                raise ValueError(
                    f"Complex data not supported: feature {label} has complex numbers."
                )
            with naming_columns(X, takes_categories=True, only=j):
                if not hasattr(column, "to_numpy"):
                    out[:, j] = np.asarray(column, dtype=np.float64)
                    continue
                try:
                    out[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
                except TypeError:  # polars has no such arguments
                    out[:, j] = np.asarray(column.to_numpy(), dtype=np.float64)
        return out

    def _encode_sparse(self, X: Any, to_predict: bool) -> csc_array:
        """O(stored values), and O(n) for each column of categories."""
        of_numbers = np.repeat(~self.flags, np.diff(X.indptr))
        assert_all_finite(X.data[of_numbers], input_name="X")
        values, rows = [np.empty(0)], [np.empty(0, dtype=np.intp)]
        for j, categories in enumerate(self.categories):
            if categories is None:
                own = slice(*X.indptr[j : j + 2])
                values.append(X.data[own].astype(np.float64))
                rows.append(X.indices[own])
            else:
                codes = self._codes(column_of(X, j), j, to_predict)
                rows.append(np.flatnonzero(codes))
                values.append(codes[rows[-1]])
        ends = np.cumsum([len(some) for some in rows])
        # Trees take no indices of 64 bits.
        index = np.int32 if max(ends[-1], *X.shape) < 2**31 else np.int64
        places = np.concatenate(rows).astype(index), ends.astype(index)
        return csc_array((np.concatenate(values), *places), shape=X.shape)

    def _codes(self, column: Any, j: int, to_predict: bool) -> np.ndarray:
        """The numbers of the categories of a column."""
        categories = self.categories[j]
        assert categories is not None
        with self._naming(j):
            codes = _numbers(column, categories)
        if np.isnan(codes).all():
            self._check_kind(column, j)
        if self.most is not None and len(categories) > self.most:
            known = ~np.isnan(codes)
            codes[known] = self.numbers(j)[codes[known].astype(np.intp)]
        if to_predict and self.has_mean:
            unknown = np.isnan(codes)
            if unknown.any():
                codes[unknown & ~_is_missing(column)] = UNSEEN
        return codes

    def _check_kind(self, column: Any, j: int) -> None:
        """Refuse a column of which no value is known because its type is another one."""
        values, missing = _values(column)
        known, counts = self.categories[j], self.counts[j]
        assert known is not None
        assert counts is not None
        texts = [{isinstance(v, str) for v in some} for some in (values[~missing], known)]
        if counts.any() and len(texts[0]) == len(texts[1]) == 1 and texts[0] != texts[1]:
            kinds = ["text" if True in one else "no text" for one in texts]
            raise TypeError(
                f"Feature {self.features.label(j)} had categories that are {kinds[1]} in fit, and "
                f"has {kinds[0]} now."
            )


def encoder_of(X: Any, categorical_features: Any, most: int) -> CategoricalColumns | None:
    """The encoder of trees for X as it is given; None where no column is categorical."""
    given = CategoryOptions.of(categorical_features).columns
    if given is None or (isinstance(given, str) and given == "from_dtype" and not is_frame(X)):
        return None
    columns = CategoricalColumns(_as_given(X), categorical_features, most)
    return columns if columns.any else None


def check_same_columns(estimator: Fitted, X: Any, learner: Any) -> None:
    """Refuse to continue a fit of a learner with X that has other categorical columns, by name.

    As in `predict`, a column whose categories are known may have another dtype. A learner that has
    fewer bins than a column has numbers is refused too.
    """
    known, takes = fitted_encoder(estimator), isinstance(learner, BinnedTree)
    if not (takes or known is not None):
        return
    categorical_features = learner.categorical_features if takes else None
    X = _as_given(X)
    features = Features.of(X)
    if features.n != estimator.n_features_in_:
        return  # refused by its number
    now = features.flags(categorical_features, X)
    before = np.zeros(features.n, dtype=bool) if known is None else known.flags
    by_dtype = isinstance(CategoryOptions.of(categorical_features).columns, str)
    for j in np.flatnonzero(now & ~before if by_dtype else now != before).tolist():
        kinds = ["categorical", "numerical"] if before[j] else ["numerical", "categorical"]
        raise ValueError(
            "categorical_features must be the same as in the previous fit with warm_start=True: "
            f"feature {features.label(j)} was {kinds[0]}, and is {kinds[1]} now."
        )
    if known is None or not takes:
        return
    for j in np.flatnonzero(before).tolist():
        n_numbers = known.numbers(j).max() + 1
        if n_numbers > learner.max_bins:
            raise ValueError(
                f"max_bins={learner.max_bins} must be at least {n_numbers} with warm_start=True: "
                f"so many bins feature {features.label(j)} has for its categories."
            )


def categories_of_blocks(
    blocks: Any, meta: Any, categorical_features: Any, most: int | None = None
) -> CategoricalColumns | None:
    """The encoder of rows in blocks, by one pass over them; None where no column is categorical."""
    columns = CategoricalColumns(meta, categorical_features, most)
    if not columns.any:
        return None
    found = blocks.sum(_categories_of_block, categorical_features, most)
    return columns if found is None else columns + found


def tree_categories_of_blocks(blocks: Any, meta: Any, tree: Any) -> CategoricalColumns | None:
    """The encoder of rows in blocks for a binned tree; None where no column is categorical."""
    if not isinstance(tree, BinnedTree):
        return None
    most = min(tree.max_bins, MOST_CATEGORY_BINS)
    columns = categories_of_blocks(blocks, meta, tree.categorical_features, most)
    if columns is not None:
        columns.warn_of_shared_bins("max_bins")
    return columns


def _categories_of_block(
    block: tuple[int, Any, Any, Any], categorical_features: Any, most: int | None
) -> CategoricalColumns:
    return CategoricalColumns(block[1], categorical_features, most)


def fitted_encoder(estimator: Estimator) -> CategoricalColumns | None:
    """What makes numbers of the categories that an estimator was given, if there are any."""
    return vars(estimator).get("_encoder")


def continued_encoder(estimator: Estimator, learner: Any) -> CategoricalColumns | None:
    """The encoder of the fit that goes on, with the learner's present wish of the unseen."""
    encoder = fitted_encoder(estimator)
    if encoder is not None and isinstance(learner, BinnedTree):
        encoder = copy.copy(encoder)
        encoder.has_mean = CategoryOptions.of(learner.categorical_features).unseen == "mean"
        give_encoder(estimator, encoder)
    return encoder


def give_encoder(estimator: Estimator, encoder: CategoricalColumns) -> None:
    vars(estimator)["_encoder"] = encoder


def fitted_categories(estimator: Fitted) -> list[np.ndarray | None]:
    """The categories of each categorical feature, None for the other features."""
    check_is_fitted(estimator)
    encoder = fitted_encoder(estimator)
    return [None] * estimator.n_features_in_ if encoder is None else encoder.categories


def numbered_learner(learner: Any, columns: CategoricalColumns | None) -> Any:
    """The learner for X as an array of numbers: it has the numbers of the categorical columns."""
    if columns is None:
        return learner
    numbers: Any = np.flatnonzero(columns.flags).tolist()
    if columns.has_mean:
        numbers = clone(CategoryOptions.of(learner.categorical_features)).set_params(
            columns=numbers
        )
    return clone(learner).set_params(categorical_features=numbers)


def encoded(columns: CategoricalColumns, X: Any, to_predict: bool = False) -> Any:
    """X as numbers, those of the categories among them; sparse where it is."""
    return columns.encode(_as_given(X, 1), to_predict)


def _as_given(X: Any, least: int = 0) -> Any:
    """X by columns, of any type; with at least so many rows."""
    if is_frame(X):
        return X
    return check_array(
        X, accept_sparse="csc", dtype=None, ensure_all_finite=False, ensure_min_samples=least
    )


def _values(column):
    """Return objects, or numbers, and which of them are missing."""
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

    def is_missing(value):
        try:
            return value is None or bool(value != value)
        except TypeError:  # pandas.NA is neither
            return True

    return values, np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def _is_missing(column):
    given = _by_dtype(column)
    return _values(column)[1] if given is None else given[1] < 0


def _by_dtype(column):
    """The categories of a pandas categorical column, and its codes; None for other columns."""
    codes = getattr(getattr(column, "cat", None), "codes", None)
    if codes is None:
        return None
    found = np.empty(len(column.cat.categories), dtype=object)
    found[:] = column.cat.categories.to_list()
    return found, codes.to_numpy()


def _occurring(column):
    """The categories of a column, and their numbers of rows."""
    given = _by_dtype(column)
    if given is not None:
        counts = np.bincount(given[1][given[1] >= 0], minlength=len(given[0])).tolist()
        count = {c: k for c, k in zip(given[0].tolist(), counts) if k}
    else:
        values, missing = _values(column)
        values = values[~missing]
        if values.dtype != object:
            return np.unique(values, return_counts=True)
        count = Counter(values.tolist())
    found = list(count)
    try:
        found.sort()
    except TypeError:
        found.sort(key=lambda v: (type(v).__name__, repr(v)))
    out = np.empty(len(found), dtype=object)
    out[:] = found
    return out, np.array([count[v] for v in found], dtype=np.intp)


def _numbers(column, categories):
    """The place of each value among the categories; NaN for missing and other ones."""
    given = _by_dtype(column)
    if given is not None:
        return np.append(_numbers(given[0], categories), np.nan)[given[1]]
    values, missing = _values(column)
    if values.dtype != object and categories.dtype != object:
        at = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        return np.where(~missing & (categories[at] == values), at, np.nan)
    number = {c: k for k, c in enumerate(categories.tolist())}
    codes = np.full(len(values), np.nan)
    for i in np.flatnonzero(~missing):
        codes[i] = number.get(values[i], np.nan)
    return codes
