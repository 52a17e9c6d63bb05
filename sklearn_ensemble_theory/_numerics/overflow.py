"""Predictions beyond the range of floats: an error, not infinity, NaN and warnings."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

__all__ = ["finite_predictions"]

Method = TypeVar("Method", bound=Callable[..., Any])


def finite_predictions(method: Method) -> Method:
    """A method of X whose values are finite, or a ValueError; without NumPy's warnings."""

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

    return cast(Method, checked)
