"""Folds of cross-validation by a hash of the row's number, whatever the chunks are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_ensemble_theory._chunks.blocks import added
from sklearn_ensemble_theory._chunks.row_checks import CheckedChunk

__all__ = [
    "FoldSums",
    "RowCounts",
    "checked_n_splits",
    "first_rows_of",
    "folds_by_hash",
    "held_out_by_hash",
    "row_counts",
    "sums_by_fold",
]

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


def held_out_by_hash(rows: range | np.ndarray, share: float, seed: int) -> np.ndarray:
    """Which rows are held out: each with probability `share`.

    Parameters
    ----------
    rows : integer array of shape (n,)
        As of `folds_by_hash`.
    share : float in (0, 1)
    seed : int
        Non-negative.

    Returns
    -------
    held : bool array of shape (n,)
    """
    numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
    hashes = _hashes(_hashes(numbers.astype(np.uint64)) ^ np.uint64(seed))
    return hashes < np.uint64(share * 2.0**64)


def _hashes(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64, in place: neighbouring numbers have unrelated hashes."""
    with np.errstate(over="ignore"):
        x += np.uint64(1)
        x *= np.uint64(0x9E3779B97F4A7C15)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return x


def checked_n_splits(cv: Any) -> int:
    """The number of folds; 5 for None.

    Raises
    ------
    ValueError
        If `cv` is anything but an integer of at least 2.
    """
    n_splits = 5 if cv is None else cv
    if not isinstance(n_splits, Integral) or n_splits < 2:
        raise ValueError(
            "cv must be an integer of at least 2 for rows in chunks, whose folds are drawn by a "
            f"hash of their numbers; got {cv!r}."
        )
    return int(n_splits)


def first_rows_of(lengths: Mapping[int, int]) -> dict[int, int]:
    """The number of the first row of each chunk, from the numbers of rows of each."""
    first, total = {}, 0
    for number in sorted(lengths):
        first[number] = total
        total += lengths[number]
    return first


@dataclass(frozen=True)
class RowCounts:
    """The numbers of rows of positive weight of chunks, by the numbers of the chunks."""

    lengths: dict[int, int]

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(self.lengths | other.lengths)


def row_counts(chunk: CheckedChunk) -> RowCounts:
    """That of one chunk."""
    return RowCounts({chunk.number: len(chunk.X)})


@dataclass(frozen=True)
class FoldSums:
    """Sums over the rows of each fold; None for a fold without rows."""

    folds: list[Any]

    def __add__(self, other: "FoldSums") -> "FoldSums":
        return FoldSums([added(pair) for pair in zip(self.folds, other.folds)])


def sums_by_fold(
    chunk: CheckedChunk,
    n_folds: int,
    fold_of: Callable[[Any], np.ndarray],
    function: Callable[..., Any],
    *args: Any,
) -> FoldSums:
    """`function(part, *args)` of the rows of each fold of a chunk.

    Parameters
    ----------
    chunk : CheckedChunk
    n_folds : int
    fold_of : callable
        The folds of rows of these numbers, from 0 to `n_folds` - 1.
    function : callable
    """
    if n_folds == 1:
        return FoldSums([function(chunk, *args)])
    fold, found, weight = fold_of(chunk.rows), [], chunk.weight
    rows = np.asarray(chunk.rows)
    for number in range(n_folds):
        own = np.flatnonzero(fold == number)
        some = None if weight is None else weight[own]
        part = replace(chunk, X=chunk.X[own], y=chunk.y[own], weight=some, rows=rows[own])
        found.append(function(part, *args) if len(own) else None)
    return FoldSums(found)
