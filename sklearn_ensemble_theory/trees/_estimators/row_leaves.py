"""The leaves of rows that are there as codes."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._binned.tree_arrays import TreeArrays

__all__ = ["leaves_of_rows"]


def leaves_of_rows(arrays: TreeArrays, columns: BinnedColumns) -> np.ndarray:
    """The leaf of every row of the columns that a tree was grown on. O(n depth).

    Parameters
    ----------
    arrays : TreeArrays
        With codes.
    columns : BinnedColumns

    Returns
    -------
    leaves : int array of shape (n,)
    """
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops.bin_loops import leaf_numbers

        leaves = np.empty(columns.n_rows, dtype=np.int32)
        leaf_numbers(
            columns.row_codes,
            (arrays.left, arrays.right, arrays.feature),
            (arrays.code, arrays.missing_left),
            columns.missing,
            leaves,
        )
        return leaves
    return arrays.leaves(columns)
