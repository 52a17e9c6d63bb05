"""What every `fit` checks before any work: parameters by their values, and the target y."""

from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import RegressorMixin
from sklearn.utils import assert_all_finite

__all__ = ["check_parameters", "checked_inputs", "checked_target"]

LARGEST_COUNT = 2**31 - 1
LARGEST_INTEGER = 2**63 - 1


def checked_inputs(estimator: Any, y: Any) -> Any:
    """The y of `checked_target`, after `check_parameters`."""
    check_parameters(estimator)
    return checked_target(y, is_real=isinstance(estimator, RegressorMixin))


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that scikit-learn's constraints let through.

    Raises
    ------
    TypeError
        If an estimator is given as a class.
    ValueError
        If a count is above 2^31 - 1 or another integer above 2^63 - 1 in absolute value, or `cv`
        is no splitter and has no pairs of rows.
    """
    for name, value in estimator.__dict__.items():
        if value is None or isinstance(value, (bool, float, str)) or name[-1] == "_":
            continue
        if isinstance(value, (int, np.integer)):
            if not -LARGEST_COUNT <= value <= LARGEST_COUNT and name[0] != "_":
                _check_integer(estimator, name, value)
        elif name[0] != "_":
            _check_object(estimator, name, value)
            if isinstance(value, (dict, set, frozenset)):
                _check_is_array_like(estimator, name, value)


def _check_integer(estimator: Any, name: str, value: Any) -> None:
    if name == "random_state":  # up to 2^32 - 1, by scikit-learn's own check
        return
    constraints = getattr(estimator, "_parameter_constraints", {}).get(name, ())
    types = [getattr(one, "type", one) for one in constraints]
    is_count = Integral in types and Real not in types
    largest, text = (LARGEST_COUNT, "2**31") if is_count else (LARGEST_INTEGER, "2**63")
    if abs(int(value)) > largest:
        remedy = "" if is_count else "; give larger numbers as floats"
        raise ValueError(
            f"{name} must be an integer below {text} in absolute value{remedy}. Got one of "
            f"{int(value).bit_length()} bits."
        )


def _check_is_array_like(estimator: Any, name: str, value: Any) -> None:
    """Dictionaries and sets have a length, which is enough for scikit-learn's "array-like"."""
    constraints = getattr(estimator, "_parameter_constraints", {}).get(name, ())
    if "array-like" in constraints and type(value) not in constraints:
        raise ValueError(f"{name} must be array-like, not a {type(value).__name__}.")


def _check_object(estimator: Any, name: str, value: Any) -> None:
    for item in _items(value):
        if isinstance(item, type) and hasattr(item, "fit"):
            estimator._validate_params()  # scikit-learn's message, where it refuses the class too
            raise TypeError(
                f"{name} must have an estimator, not a class: got {item.__name__} instead of "
                f"{item.__name__}()."
            )
        if isinstance(item, int) and abs(item) > LARGEST_INTEGER:
            raise ValueError(
                f"{name} has an integer of {item.bit_length()} bits; give numbers of 2**63 and "
                "above as floats."
            )
    if name == "cv" and not _may_be_splits(value):
        raise ValueError(
            "cv must be an integer, a splitter or an iterable of pairs (train, test) of row "
            f"indices; got {type(value).__name__}."
        )


def _items(value: Any) -> Iterator[Any]:
    """The value, its members if it is a list, and the members of pairs there."""
    yield value
    if isinstance(value, (list, tuple)) and len(value) < 1000:
        for item in value:
            yield item
            if isinstance(item, (list, tuple)) and len(item) == 2:
                yield item[1]


def _may_be_splits(cv: Any) -> bool:
    if issparse(cv) or isinstance(cv, (dict, set, frozenset, bytes)):
        return False
    if isinstance(cv, np.ndarray):
        return cv.ndim > 1 or cv.dtype == object
    if isinstance(cv, (list, tuple)):
        return all(isinstance(one, Iterable) and len(list(one)) == 2 for one in cv[:1])
    return True  # scikit-learn judges what is neither a splitter nor an iterable


def checked_target(y: Any, *, is_real: bool) -> Any:
    """The target, cast to float64 where that may turn values into NaN or infinity.

    What is not cast is left to `validate_data`, which sees what is fitted.

    Parameters
    ----------
    y : array-like
    is_real : bool
        For a regressor: y must be numbers.

    Returns
    -------
    y : array-like
        The one given, unless it had to be cast.

    Raises
    ------
    TypeError
        If a regressor's y has values that are no numbers, such as pandas' NA.
    ValueError
        If y is sparse or has rows of different lengths, a regressor's has strings that are no
        numbers, or is not finite after the cast, or a classifier's has missing values, both strings
        and numbers, or numbers of 2^63 and above, which scikit-learn casts to integers.
    """
    if not is_real and isinstance(y, np.ndarray) and y.dtype.kind == "f":
        largest = float(np.fmax.reduce(np.abs(y), axis=None, initial=0.0))
        if largest >= 2.0**63:
            raise ValueError("y must have labels below 2**63 in absolute value, and none infinite.")
    if (
        type(y) is np.ndarray and y.dtype.kind in "fiub" and 2 < y.dtype.itemsize <= 8
    ) or y is None:
        return y
    if issparse(y):
        raise ValueError(
            "y must be a dense array: sparse multilabel-indicator for y is not supported; use "
            "y.toarray()."
        )
    try:
        array = np.asarray(y)
    except (TypeError, ValueError):
        array = np.asarray([None])
        if isinstance(y, (list, tuple)):
            raise _ragged() from None
    if array.dtype == object:
        values = array.ravel().tolist()
        kinds = set(map(type, values))
        if not kinds.isdisjoint((list, tuple, set)):
            raise _ragged()
        if not is_real:
            _check_labels(values, kinds)
    if not is_real:
        return y
    kind = array.dtype.kind
    if kind in "biu" or (kind == "f" and array.dtype.itemsize in (4, 8)) or kind == "c":
        return y
    return _cast_to_float(array)


def _ragged() -> ValueError:
    return ValueError("y must be a rectangular array: its rows have different lengths.")


def _cast_to_float(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "MmV":
        raise TypeError(f"y must hold numbers; got values of type {array.dtype}.")
    try:
        with np.errstate(all="ignore"):  # what overflows is infinite
            cast = array.astype(np.float64)
    except OverflowError:
        raise ValueError("y has an integer that is too large for a float64.") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"y must hold numbers: {error}.") from None
    with np.errstate(invalid="ignore"):
        assert_all_finite(cast, input_name="y")
    return cast


def _check_labels(values: list[Any], kinds: set[type]) -> None:
    """Refuse None, NaN and pandas' NA among labels, and labels that cannot be compared."""
    missing = [kind.__name__ for kind in kinds if kind.__name__ in ("NoneType", "NAType")]
    if float in kinds and any(one != one for one in values if isinstance(one, float)):
        missing.append("NaN")
    if missing:
        raise ValueError(f"y must not have missing values: Input y contains {missing[0]}.")
    if str in kinds and len(kinds) > 1 and not all(issubclass(kind, str) for kind in kinds):
        raise ValueError("y must not have both strings and numbers as labels.")
