"""The checks of one chunk of rows, where the chunk is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from sklearn_ensemble_theory._data.fit_inputs import checked_target
from sklearn_ensemble_theory._weights import check_usual_units, checked_weights, positive_rows

__all__ = ["CheckedChunk", "RowChecks", "of_checked"]


@dataclass(frozen=True)
class CheckedChunk:
    """The rows of positive weight of one chunk.

    Attributes
    ----------
    X : float array of shape (n, p)
    y : array of shape (n,) or (n, n_targets)
    weight : float64 array of shape (n,) or None
        In the units of `RowChecks.weight_unit`; None for equal ones.
    number : int
        That of the chunk.
    rows : range or int array of shape (n,)
        The numbers of these rows in all chunks, or in this one where those before are not known.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    number: int
    rows: range | np.ndarray


@dataclass(frozen=True)
class RowChecks:
    """What the rows must be, and how they become arrays.

    Parameters
    ----------
    n_features : int
    is_classifier : bool
    allow_nan : bool, default=False
        Whether X may have missing values.
    multi_output : bool, default=False
        Whether y may have several columns.
    encode : callable, default=None
        Makes numbers of X before the checks.
    classes : array, default=None
        The labels, in increasing order: y becomes their numbers.
    weight_unit : float, default=1
        What weights are divided by.
    equal_weights : bool, default=False
        Whether all positive weights are the same: chunks then have none.
    first_rows : mapping, default={}
        The number of the first row of each chunk.
    """

    n_features: int
    is_classifier: bool
    allow_nan: bool = False
    multi_output: bool = False
    encode: Callable[[Any], Any] | None = None
    classes: np.ndarray | None = None
    weight_unit: float = 1.0
    equal_weights: bool = False
    first_rows: Mapping[int, int] = field(default_factory=dict)

    def knowing(self, **facts: Any) -> "RowChecks":
        """The same checks, with what an earlier pass over the rows has found."""
        return replace(self, **facts)

    def __call__(self, number: int, X: Any, y: Any, weight: Any) -> CheckedChunk | None:
        """The rows of positive weight; None if there are none.

        Raises
        ------
        TypeError or ValueError
            As `fit` in memory does; the message ends with the number of the chunk.
        """
        try:
            return self._checked(number, X, y, weight)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} (in chunk {number} of the rows)") from error

    def _checked(self, number, X, y, weight):
        check_consistent_length(X, y, weight)
        if len(X) == 0:
            return None
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but {self.n_features} in its metadata.")
        X = self._numbers(X)
        y = self._target(y)
        if weight is not None:
            if not np.any(np.asarray(weight)):
                return None
            weight = checked_weights(weight, X)
            check_usual_units(weight)
            positive = positive_rows(weight)
            X, y, weight = X[positive], y[positive], weight[positive] / self.weight_unit
        if self.classes is not None:
            y = self._class_numbers(y)
        first = self.first_rows.get(number, 0)
        rows = range(first, first + len(X))
        return CheckedChunk(X, y, None if self.equal_weights else weight, number, rows)

    def _numbers(self, X):
        if self.encode is not None:
            X = self.encode(X)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return check_array(
                    X,
                    dtype=(np.float64, np.float32),
                    ensure_all_finite="allow-nan" if self.allow_nan else True,
                    input_name="X",
                )
        except OverflowError:
            raise ValueError("X has an integer that is too large for a float64.") from None

    def _target(self, y):
        y = checked_target(np.asarray(y), is_real=not self.is_classifier)
        y = check_array(
            y,
            ensure_2d=False,
            dtype=None if self.is_classifier else np.float64,
            input_name="y",
        )
        if not (self.multi_output and y.ndim == 2):
            y = column_or_1d(y)
        return y

    def _class_numbers(self, y):
        number = np.searchsorted(self.classes, y)
        known = self.classes.take(np.minimum(number, len(self.classes) - 1))
        if not np.array_equal(known, y):
            raise ValueError(f"y has labels that are not in classes: {np.unique(y[known != y])!r}.")
        return number


def of_checked(
    given: tuple[int, Any, Any, Any], checks: RowChecks, function: Callable[..., Any], *args: Any
) -> Any:
    """`function(chunk, *args)` of a chunk as it was given; None if it has no rows."""
    chunk = checks(*given)
    return None if chunk is None else function(chunk, *args)
