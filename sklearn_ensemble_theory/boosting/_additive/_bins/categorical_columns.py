"""Columns as they come: numbers, missing values, and categories of data frames."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._rows import is_frame

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
