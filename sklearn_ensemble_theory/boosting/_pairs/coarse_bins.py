"""Coarse bins of pairs, merged from the bins of the main effects."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CoarseBins:
    """The coarse bin of every code.

    Attributes
    ----------
    maps : list of p uint16 arrays
        ``maps[j][code]`` is the coarse bin of a code of feature j.
    n_bins : int ndarray of shape (p,)
        Numbers of coarse bins.
    unordered : bool ndarray of shape (p,)
        Features whose bins are categories, in no order.
    """

    maps: list[np.ndarray]
    n_bins: np.ndarray
    unordered: np.ndarray

    def lookup(self) -> np.ndarray:
        """All maps in one array (p, m), filled up with zeros."""
        table = np.zeros((len(self.maps), max(map(len, self.maps), default=0)), dtype=np.uint16)
        for row, lookup in zip(table, self.maps):
            row[: len(lookup)] = lookup
        return table


def coarse_bins(codes, n_bins, max_bins, sample_weight=None, *, missing=None, categorical=None):
    """Merge neighbouring bins until a feature has at most `max_bins` ordered ones.

    The merged bins have about the same weight each; a feature that has no more bins keeps them.

    Parameters
    ----------
    codes : unsigned ndarray of shape (n, p), in Fortran order
    n_bins : int ndarray of shape (p,)
        The codes of feature j are below ``n_bins[j]``.
    max_bins : int
    sample_weight : ndarray of shape (n,), default=None
    missing : bool ndarray of shape (p,), default=None
        Features whose last code means a missing value. It keeps a bin of its own, the last one.
    categorical : bool ndarray of shape (p,), default=None
        Features whose codes are categories. All of them keep a bin of their own.

    Returns
    -------
    CoarseBins

    Notes
    -----
    O(n) for each feature that has bins to merge.
    """

    def weight_of(j):
        return np.bincount(codes[:, j], weights=sample_weight, minlength=n_bins[j])

    return merged_bins(weight_of, n_bins, max_bins, missing=missing, categorical=categorical)


def merged_bins(
    weight_of: Callable[[int], np.ndarray],
    n_bins: np.ndarray,
    max_bins: int,
    *,
    missing: np.ndarray | None = None,
    categorical: np.ndarray | None = None,
) -> CoarseBins:
    """`coarse_bins`, from the weight of the rows in each bin.

    Parameters
    ----------
    weight_of : callable
        Of the number of a feature; asked only for those that have bins to merge.
    n_bins, max_bins, missing, categorical
        See `coarse_bins`.
    """
    p = len(n_bins)
    missing = np.zeros(p, dtype=bool) if missing is None else np.asarray(missing)
    unordered = np.zeros(p, dtype=bool) if categorical is None else np.asarray(categorical)
    maps = []
    for j in range(p):
        n_ordered = int(n_bins[j]) - bool(missing[j])
        if unordered[j] or n_ordered <= max_bins:
            maps.append(np.arange(n_bins[j], dtype=np.uint16))
            continue
        weight = weight_of(j)[:n_ordered]
        middle = np.cumsum(weight) - weight / 2
        group = np.minimum(max_bins * middle / max(weight.sum(), 1e-300), max_bins - 1)
        _, merged = np.unique(group.astype(np.intp), return_inverse=True)
        last = [merged[-1] + 1] * bool(missing[j])
        maps.append(np.concatenate([merged, last]).astype(np.uint16))
    # Not the codes that occur: a test row may have another one.
    found = np.array([int(m[-1]) + 1 if len(m) else 0 for m in maps], dtype=np.intp)
    return CoarseBins(maps, found, unordered)
