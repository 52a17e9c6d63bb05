"""Sample weights: one check for every `fit`, and the forms in which algorithms need them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory._compat import check_sample_weight

__all__ = [
    "PositiveRows",
    "check_usual_units",
    "checked_weights",
    "in_usual_units",
    "normalised_weights",
    "positive_rows",
    "rows_of_positive_weight",
]

SMALLEST_WEIGHT = np.finfo(np.float64).tiny
SMALL_TOP, LARGE_TOP = 2.0**-400, 2.0**400


class PositiveRows(NamedTuple):
    """The rows of positive weight.

    Attributes
    ----------
    rows : slice or int array of shape (n_kept,)
        ``slice(None)`` where every row is kept, so that indexing makes no copy.
    weight : float array of shape (n_kept,)
        Their weights, as the user gave them up to a common power of 2.
    n_samples : int
        The number of rows that `fit` was given.
    """

    rows: slice | np.ndarray
    weight: np.ndarray
    n_samples: int

    @property
    def normalised(self) -> np.ndarray:
        """The weights divided by their sum."""
        return normalised_weights(self.weight, len(self.weight))

    def take(self, *arrays):
        """The kept rows of each array; a tuple if there is more than one array."""
        if isinstance(self.rows, slice):
            return arrays if len(arrays) > 1 else arrays[0]
        kept = tuple(array[self.rows] for array in arrays)
        return kept if len(kept) > 1 else kept[0]


def rows_of_positive_weight(
    sample_weight: ArrayLike | None, X: Any, *, as_given: bool = False
) -> PositiveRows:
    """Check `sample_weight` and find the rows to fit, those of positive weight.

    A weight counts as 0 if it is below 2e-308 times the largest. Where the largest is beyond
    2^400 or below 2^-400, so that sums or products of weights would overflow or vanish, all are
    divided by the power of 2 below it: their ratios are the same.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), float or None
    X : {array, sparse matrix} of shape (n, p)
    as_given : bool, default=False
        Whether weights are never divided, for `partial_fit`, which compares those of several calls.

    Returns
    -------
    PositiveRows

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or none is positive.
    """
    weight = checked_weights(sample_weight, X)
    weight = weight if as_given else in_usual_units(weight)
    smallest = weight.max() * SMALLEST_WEIGHT
    if weight.min() > smallest:
        return PositiveRows(slice(None), weight, len(weight))
    rows = np.flatnonzero(weight > smallest)
    if not len(rows):
        raise ValueError("sample_weight must be positive for at least one row.")
    return PositiveRows(rows, weight[rows], len(weight))


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> np.ndarray:
    """One non-negative finite number for each row of X.

    Raises
    ------
    ValueError
        If `sample_weight` is anything else.
    """
    try:
        if np.asarray(sample_weight).dtype.kind in "mM":
            raise TypeError("it has dates")
        with np.errstate(over="ignore", invalid="ignore"):
            weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            # Writable, because numba compiles its loops once more for arrays that are not.
            return np.require(weight, requirements=["C", "W"])
    except (TypeError, ValueError, OverflowError) as error:
        if "weight" in str(error):
            raise
        raise ValueError(f"sample_weight must have a number for each row: {error}.") from error


def in_usual_units(weight: Any) -> Any:
    """Non-negative weights, by a power of 2 if their sums or products could overflow or vanish."""
    top = float(np.max(np.asarray(weight), initial=0.0))
    if SMALL_TOP <= top <= LARGE_TOP or not 0 < top < np.inf:
        return weight
    # Not by one factor, which may be beyond the range of floats.
    return np.ldexp(weight, 1 - int(np.frexp(top)[1]))


def check_usual_units(weight: np.ndarray) -> None:
    """ValueError for weights that `in_usual_units` divides, where those of several calls add up."""
    if in_usual_units(weight) is not weight:
        raise ValueError(
            "The largest sample_weight must be between 2**-400 and 2**400, where weights of "
            "several calls are added."
        )


def normalised_weights(sample_weight: np.ndarray | None, n: int) -> np.ndarray:
    """Weights that sum to 1; divided by the largest first, so that 1e300 does not overflow.

    Raises
    ------
    ValueError
        If no weight is positive.
    """
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    top = np.max(sample_weight)
    if not top > 0:
        raise ValueError("sample_weight must be positive for at least one row.")
    weight = sample_weight / top
    return weight / weight.sum()


def positive_rows(weight: np.ndarray) -> slice | np.ndarray:
    """The rows of positive weight: ``slice(None)`` for all of them, or an index array."""
    positive = weight > 0
    return slice(None) if positive.all() else np.flatnonzero(positive)
