"""The rows of blocks, without copies that can be avoided."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory.ensembles._members import member_predictions
from sklearn_ensemble_theory.trees._sklearn_trees import single_precision_if_finite

# Rows that are predicted together: of so many values, or so many rows.
MOST_VALUES, LEAST_ROWS = 2**21, 2**10


def single_precision_rows(X: Any, rows: np.ndarray) -> np.ndarray | None:
    """Rows of X as trees store them, without an array of them in another precision.

    None leaves the check to the tree: sparse, non-numeric, missing or very large values.
    """
    if sp.issparse(X) or X.dtype.kind not in "fiub":
        return None
    found = np.empty((len(rows), X.shape[1]), dtype=np.float32)
    step = max(MOST_VALUES // X.shape[1], LEAST_ROWS)
    for i in range(0, len(rows), step):
        part = single_precision_if_finite(X[rows[i : i + step]])
        if part is None:
            return None
        found[i : i + step] = part
    return found


def other_rows(block: np.ndarray, b: int) -> np.ndarray:
    """The rows of all blocks but one."""
    return np.flatnonzero((block != b) & (block >= 0))


def block_predictions(
    member: Any, method: str, X: Any, block: np.ndarray, b: int, *, n_classes: int
) -> np.ndarray:
    """A member's predictions for the rows of the other blocks, without a copy of all of them."""
    rows = other_rows(block, b)
    step = max(MOST_VALUES // X.shape[1], LEAST_ROWS)
    parts = [
        member_predictions(member, method, X[rows[i : i + step]], n_classes=n_classes)
        for i in range(0, len(rows), step)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
