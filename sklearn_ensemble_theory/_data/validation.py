"""scikit-learn's `validate_data`, with errors that name X and without NumPy's warnings."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data as sklearn_validate_data

__all__ = ["validate_data"]


def validate_data(estimator: Any, *data: Any, **options: Any) -> Any:
    """X, or (X, y), by scikit-learn's function of this name.

    Numbers near the largest float pass without the warning that their sum is not finite.

    Raises
    ------
    TypeError
        Also if X has values that are no numbers, such as pandas' NA; the message names X.
    ValueError
        Also if X has an integer that is too large for a float.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return sklearn_validate_data(estimator, *data, **options)
    except OverflowError:
        raise ValueError("X has an integer that is too large for a float64.") from None
    except TypeError as error:
        if "float() argument" not in str(error) and "boolean value of NA" not in str(error):
            raise
        raise TypeError(f"X must hold numbers: {error}.") from None
