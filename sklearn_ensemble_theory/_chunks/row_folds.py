"""Folds of cross-validation by a hash of the row's number, whatever the chunks are."""

import numpy as np

__all__ = ["folds_by_hash"]

# So few that they stay in the processor's cache.
_BLOCK_ROWS = 2**12


def folds_by_hash(rows: range | np.ndarray, n_splits: int) -> np.ndarray:
    """The fold that tests on each row, from 0 to `n_splits` - 1; about equally many in each.

    Parameters
    ----------
    rows : range or integer array of shape (n,)
        Numbers of the rows, counted over all chunks from 0.
    n_splits : int

    Returns
    -------
    folds : unsigned integer array of shape (n,)
    """
    folds = np.empty(len(rows), np.min_scalar_type(n_splits))
    for start in range(0, len(rows), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        some = rows[part]
        if isinstance(some, range):
            some = np.arange(some.start, some.stop)
        folds[part] = _hashes(some.astype(np.uint64)) % np.uint64(n_splits)
    return folds


def _hashes(x):
    """The finaliser of splitmix64: neighbouring numbers have unrelated hashes."""
    with np.errstate(over="ignore"):
        x += np.uint64(1)
        x *= np.uint64(0x9E3779B97F4A7C15)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return x
