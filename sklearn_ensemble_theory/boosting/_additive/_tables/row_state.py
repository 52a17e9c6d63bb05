"""The state of a model by its residuals at the rows, for few rows and many cuts.

A step on the tables of `TableState` costs as many operations as there are products of the cuts of
one feature with all cuts, after these were counted. Summing the residuals of n rows again in all
bins costs O(n p + P). With few rows that is less, and no products of cuts are kept.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._additive._tables.normalized_cuts import NormalizedCuts
from sklearn_ensemble_theory.boosting._additive._tables.table_state import tie_factors


class RowState:
    """The residuals of one model; the interface of `TableState`.

    Parameters
    ----------
    cuts : NormalizedCuts
    codes : unsigned integer array of shape (n, p), in Fortran order
    residual : float64 array of shape (n,)
        With weighted mean 0 over the training rows. It is changed in place.
    weight : array of shape (n,) or None
    is_held : bool array of shape (n,) or None
        The rows of the fold that is held out.
    """

    by_rows = True

    def __init__(
        self,
        cuts: NormalizedCuts,
        codes: np.ndarray,
        residual: np.ndarray,
        weight: np.ndarray | None,
        is_held: np.ndarray | None,
    ) -> None:
        self.cuts, self.codes, self.residual = cuts, codes, residual
        self.n_cuts = cuts.n_cuts
        self.preference = tie_factors(self.n_cuts)
        self.has_held = is_held is not None
        n = len(residual)
        self.weight = np.ones(n) if weight is None else weight
        self.group = np.zeros(n, np.uint8) if is_held is None else is_held.astype(np.uint8)
        squares = np.bincount(self.group, self.weight * residual**2, minlength=2)
        self.start_squares, self.start_held = float(squares[0]), float(squares[1])
        layout = cuts.layout
        self.first_bin = layout.offsets + np.arange(len(layout.offsets))
        self.values = np.empty(self.n_cuts * (1 + self.has_held))
        self._sum()

    def subtract(self, own, step):
        """Subtract ``sum_k step[k] z[own[k]]``, of cuts of one feature, from the residuals."""
        layout = self.cuts.layout
        first = own.start if isinstance(own, slice) else int(own[0])
        j = layout.feature_of(first)
        cuts = layout.cuts_of(j)
        coefficients = np.zeros(cuts.stop - cuts.start)
        if isinstance(own, slice):
            coefficients[own.start - cuts.start : own.stop - cuts.start] = step
        else:
            coefficients[own - cuts.start] = step
        self.residual -= self.cuts.table_of(j, coefficients).take(self.codes[:, j])
        self._sum()

    def _sum(self):
        """z'Wr for every cut, from the residuals."""
        cuts, layout = self.cuts, self.cuts.layout
        weighted = self.weight * self.residual
        if uses_numba():
            from sklearn_ensemble_theory._hot_loops.table_loops import sum_over_cuts

            sums = np.empty((2, self.n_cuts))
            sum_over_cuts(
                self.codes.T, self.group, weighted, layout.offsets, layout.categorical, sums
            )
        else:
            sums = self._sums_by_arrays(weighted)
        valid = cuts.valid_cut
        if (valid >= 0).any():
            sums = sums - cuts.valid_share * sums[:, valid] * (valid >= 0)
        n_all = self.n_cuts
        np.multiply(cuts.scale, sums[0], out=self.values[:n_all])
        self.values[:n_all] *= self.preference
        if self.has_held:
            total = weighted[self.group == 1].sum()
            np.multiply(cuts.scale, sums[1] - cuts.share * total, out=self.values[n_all:])

    def _sums_by_arrays(self, weighted):
        layout, first = self.cuts.layout, self.first_bin
        n_bins = int(first[-1])
        in_bin = np.zeros((2, n_bins))
        step = max(2**18 // max(len(layout.n_bins), 1), 1)
        for start in range(0, len(weighted), step):
            rows = slice(start, start + step)
            bins = self.codes[rows] + first[:-1] + n_bins * self.group[rows, None].astype(np.intp)
            each = np.broadcast_to(weighted[rows, None], bins.shape)
            in_bin += np.bincount(bins.ravel(), each.ravel(), 2 * n_bins).reshape(2, n_bins)
        # The sums run on from feature to feature: subtract those of the features before.
        cumulated = np.cumsum(in_bin, axis=1)
        before = cumulated[:, first[:-1]] - in_bin[:, first[:-1]]
        cumulated -= np.repeat(before, layout.n_bins, axis=1)
        for j in np.flatnonzero(layout.categorical):
            cumulated[:, first[j] : first[j + 1]] = in_bin[:, first[j] : first[j + 1]]
        return np.delete(cumulated, first[1:] - 1, axis=1)
