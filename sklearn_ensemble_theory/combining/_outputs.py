"""Checks of targets of one or several columns."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

__all__ = ["checked_labels", "checked_targets"]


def checked_targets(y: Any) -> np.ndarray:
    """Targets of shape (n,), or (n, n_outputs) for more than one output."""
    y = y if hasattr(y, "shape") else np.asarray(y)
    if y.ndim == 2 and y.shape[1] > 1:
        return check_array(y, dtype="numeric", input_name="y")
    return column_or_1d(y, warn=True)


def checked_labels(y: ArrayLike) -> np.ndarray:
    """Labels of shape (n,), or indicators of several labels, of shape (n, n_outputs)."""
    if y is None:
        raise ValueError("A classifier requires y to be passed, but the target y is None.")
    y = np.asarray(y)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if y.ndim == 2 and y.shape[1] > 1:
        if type_of_target(y) != "multilabel-indicator":
            raise ValueError("y must have one column, or be an indicator of several labels.")
        return y
    return column_or_1d(y, warn=True)
