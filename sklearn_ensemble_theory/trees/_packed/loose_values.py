"""The values of rows in a tree that is not laid out."""

from typing import Any

import numpy as np

__all__ = ["values_of_rows"]


def values_of_rows(nodes: Any, X: np.ndarray) -> np.ndarray:
    """The values (n, K) of rows in single precision, by the compiled loop.

    Parameters
    ----------
    nodes : TreeArrays
    X : C-contiguous float32 array of shape (n, p)
    """
    from sklearn_ensemble_theory._hot_loops.predict_loops import leaves_in_arrays

    leaf = np.empty(len(X), dtype=np.int32)
    children = (
        np.ascontiguousarray(nodes.left, dtype=np.int32),
        np.ascontiguousarray(nodes.right, dtype=np.int32),
    )
    leaves_in_arrays(
        np.ascontiguousarray(X),
        children,
        np.ascontiguousarray(nodes.feature, dtype=np.int32),
        np.ascontiguousarray(nodes.threshold, dtype=np.float64),
        np.ascontiguousarray(nodes.missing_left, dtype=np.uint8),
        leaf,
    )
    return nodes.value[leaf]
