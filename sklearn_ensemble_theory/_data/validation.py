"""Errors in place of NumPy's warnings, infinity and NaN: of X, and of predictions for it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import validate_data as sklearn_validate_data

from sklearn_ensemble_theory._chunks.chunked_predictions import by_chunks
from sklearn_ensemble_theory._chunks.dask_collections import any_collection

__all__ = ["finite_predictions", "validate_data"]

Method = TypeVar("Method", bound=Callable[..., Any])


def validate_data(estimator: Any, *data: Any, **options: Any) -> Any:
    """X, or (X, y), by scikit-learn's function of this name.

    Numbers near the largest float pass without the warning that their sum is not finite.

    Raises
    ------
    TypeError
        Also if X has values that are no numbers, such as pandas' NA; the message names X. And if X
        or y is a Dask collection, of which all rows would be read into memory.
    ValueError
        Also if X has an integer that is too large for a float.
    """
    if any_collection(*data):
        raise TypeError(
            f"X and y must be in memory in this method of {type(estimator).__name__}, which was "
            "given a Dask collection; call .compute() on it if the rows fit into memory."
        )
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return sklearn_validate_data(estimator, *data, **options)
    except OverflowError:
        raise ValueError("X has an integer that is too large for a float64.") from None
    except TypeError as error:
        if "float() argument" not in str(error) and "boolean value of NA" not in str(error):
            raise
        raise TypeError(f"X must hold numbers: {error}.") from None


def finite_predictions(method: Method) -> Method:
    """A method of X whose values are finite, or a ValueError; without NumPy's warnings.

    Of Dask collections, chunk by chunk (`by_chunks`).
    """

    @wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            values = method(*args, **kwargs)
            if not np.isfinite(values).all():
                raise ValueError(
                    "X has rows for which the predictions are beyond the largest float: they are "
                    "too far outside of the training rows."
                )
        return values

    return by_chunks(cast(Method, checked))
