"""Cuts of binned features: their numbers, and how sums over bins become sums over cuts.

A *cut* of an ordered feature is a threshold c; its indicator L is 1 where the feature's bin is at
or below c. If the feature has a bin for missing values, that is its last bin, and its last cut V is
the indicator of the values that are present. A *cut* of a categorical feature is one of its
categories, with the indicator of that category; the last bin, of missing and unseen values, has
none.

A feature of B bins therefore has B - 1 cuts. They are numbered consecutively: those of feature j
are `offsets[j]`, ..., `offsets[j + 1] - 1`. P is the number of all cuts.
"""

import numpy as np


class CutLayout:
    """Which cuts there are.

    Parameters
    ----------
    n_bins : int array of shape (p,)
        The bins of each feature, that of missing values included.
    missing : bool array of shape (p,), default=None
        Which features have a bin for missing values, their last one.
    categorical : bool array of shape (p,), default=None
        Which features are categorical; they have such a bin.

    Attributes
    ----------
    offsets : int array of shape (p + 1,)
    valid_cut : int array of shape (P,)
        For each cut of an ordered feature with missing values, other than V, the number of V;
        -1 for all other cuts.
    """

    def __init__(self, n_bins, missing=None, categorical=None):
        self.n_bins = np.asarray(n_bins, dtype=np.intp)
        p = len(self.n_bins)
        self.missing = np.zeros(p, bool) if missing is None else np.asarray(missing, bool)
        self.categorical = (
            np.zeros(p, bool) if categorical is None else np.asarray(categorical, bool)
        )
        self.offsets = np.concatenate([[0], np.cumsum(self.n_bins - 1)]).astype(np.intp)
        self.valid_cut = np.full(self.offsets[-1], -1, dtype=np.intp)
        for j in np.flatnonzero(self.missing & ~self.categorical):
            last = self.offsets[j + 1] - 1
            self.valid_cut[self.offsets[j] : last] = last

    @property
    def n_cuts(self) -> int:
        return int(self.offsets[-1])

    def feature_of(self, cut: int) -> int:
        return int(np.searchsorted(self.offsets, cut, side="right")) - 1

    def cuts_of(self, j: int) -> slice:
        return slice(int(self.offsets[j]), int(self.offsets[j + 1]))

    def thresholds_of(self, j: int) -> slice:
        """The cuts of an ordered feature at its thresholds: all but V."""
        cuts = self.cuts_of(j)
        return slice(cuts.start, cuts.stop - bool(self.missing[j]))

    def sums_of_cuts(self, j: int, table: np.ndarray, axis: int = -1) -> np.ndarray:
        """Sums over the cuts of feature j from sums over its bins, along an axis of `table`.

        `table` may be overwritten.
        """
        if not self.categorical[j]:
            np.cumsum(table, axis=axis, out=table)
        return table[..., :-1] if axis == -1 else table[..., :-1, :]

    def products_of_own_cuts(self, j: int, left_weight: np.ndarray) -> np.ndarray:
        """L'WL* for two cuts of feature j, from w'L: shape (..., m, m)."""
        number = np.arange(left_weight.shape[-1])
        if self.categorical[j]:
            return left_weight[..., None] * (number[:, None] == number)
        return left_weight[..., np.minimum.outer(number, number)]
