"""Outputs of trees on many rows, added to scores without being written out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba

__all__ = ["LeafOutputs", "add_multiple"]

# So many doubles fit the first cache of a processor, with what they are added to.
_BLOCK = 2048


def add_multiple(u: NDArray[Any], psi: Any, b: float) -> None:
    """u <- u + b psi in place; `psi` is an array of the shape of u, or `LeafOutputs`."""
    add_to = getattr(psi, "add_to", None)
    if add_to is not None:
        add_to(u, b)
        return
    if u.ndim > 1 or len(u) <= 4 * _BLOCK:
        u += b * psi
        return
    some = np.empty(_BLOCK)
    for first in range(0, len(u), _BLOCK):
        part = u[first : first + _BLOCK]
        part += np.multiply(psi[first : first + _BLOCK], b, out=some[: len(part)])


class LeafOutputs:
    """The outputs of one tree, or of a tree for each of K scores, by the leaves of the rows.

    ``np.asarray(outputs)`` is the array of the outputs.

    Parameters
    ----------
    values : list of K float arrays
        The values of the nodes of each tree.
    leaves : list of K int arrays of shape (n,)
        The node of each row.
    shape : (n,) or (n, K)
    """

    def __init__(
        self, values: list[NDArray[Any]], leaves: list[NDArray[Any]], shape: tuple[int, ...]
    ) -> None:
        self.values, self.leaves, self.shape = values, leaves, shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        columns = [values.take(leaf) for values, leaf in zip(self.values, self.leaves)]
        outputs = columns[0] if len(self.shape) == 1 else np.column_stack(columns)
        return outputs if dtype is None else outputs.astype(dtype, copy=False)

    def add_to(self, u: NDArray[Any], b: float) -> None:
        """u <- u + b psi in place. O(n)."""
        for values, leaf, scores in zip(self.values, self.leaves, u.T if u.ndim > 1 else [u]):
            _add_values(scores, b * values, leaf)


def _add_values(u: NDArray[Any], values: NDArray[Any], leaf: NDArray[Any]) -> None:
    """u += values[leaf]."""
    if len(u) <= 4 * _BLOCK:
        u += values.take(leaf)
        return
    if uses_numba() and u.flags.c_contiguous and u.dtype == values.dtype == np.float64:
        from sklearn_ensemble_theory._hot_loops.leaf_loops import add_leaf_values

        add_leaf_values(u, values, leaf)
        return
    for first in range(0, len(u), _BLOCK):
        part = slice(first, first + _BLOCK)
        u[part] += values.take(leaf[part])
