"""Data frames that are handed on to base learners as they are."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sklearn_ensemble_theory._compat import safe_indexing
from sklearn_ensemble_theory._data.validation import validate_data
from sklearn_ensemble_theory._trees import is_tree, reads_single_precision

__all__ = [
    "columns_of",
    "is_frame",
    "names_checked",
    "reads_numbers",
    "rows_of",
    "validated",
]


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def reads_numbers(learner: Any, has_fast_path: Callable[[Any], bool]) -> bool:
    """Whether a base learner gets X as an array of numbers: the default, a tree, a fast path.

    Any other learner gets data frames and missing values as they are, and checks them.
    """
    return (
        learner is None
        or is_tree(learner)
        or reads_single_precision(learner)
        or has_fast_path(learner)
    )


def validated(estimator: Any, X: Any, *y: Any, as_frame: bool, **options: Any) -> Any:
    """X, and y where it is given, by `validate_data`.

    With `as_frame` X is a data frame and is returned as it is; only its shape and its names are
    checked, here and once.
    """
    if as_frame:
        options.update(dtype=None, ensure_all_finite=False)
    found = validate_data(estimator, X, *y, **options)
    if not as_frame:
        return found
    return (X, *found[1:]) if y else X


def rows_of(X: Any, rows: slice | np.ndarray) -> Any:
    """Rows of an array, a sparse matrix or a data frame."""
    if not is_frame(X):
        return X[rows]
    if isinstance(rows, slice):
        rows = np.arange(X.shape[0])[rows]
    return safe_indexing(X, rows)


def columns_of(X: Any, columns: np.ndarray) -> Any:
    """Columns of an array, a sparse matrix or a data frame, whose names are kept."""
    return safe_indexing(X, columns, axis=1) if is_frame(X) else X[:, columns]


@contextmanager
def names_checked(fitted_to_frames: bool, X: Any) -> Iterator[None]:
    """No warning of each member that X has no names, where the ensemble has given it."""
    if not fitted_to_frames or is_frame(X):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield
