"""The sums over rows from which L2-boosting by stumps is computed without the rows.

With weights w, targets y and the indicators L of cuts (`CutLayout`) they are, for each cut and each
pair of cuts,

    w'L,   L'Wy,   L'WL*        (and w'1, w'y, y'Wy)

Those of this module are with one cut or none; those with two are in `counted_gram.py`. All sums are
kept fold by fold: those of a training set are the total minus those of the fold held out, so that k
folds cost no more passes than none. P is the number of cuts, k that of the folds.
"""

from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout


@dataclass
class CutSums:
    """The sums with one cut or none, fold by fold."""

    weight: np.ndarray  # (k,)
    y: np.ndarray  # (k,)
    yy: np.ndarray  # (k,)
    left_weight: np.ndarray  # (k, P)
    left_y: np.ndarray  # (k, P)

    def __add__(self, other):
        return CutSums(*(mine + theirs for mine, theirs in zip(self._sums(), other._sums())))

    def _sums(self):
        return self.weight, self.y, self.yy, self.left_weight, self.left_y

    def moderate(self):
        """Whether products of two sums are safe from overflow."""
        return all((np.abs(a) < 1e150).all() for a in self._sums())

    def of_fold(self, fold):
        """Sums over the rows of one fold."""
        return CutSums(*(a[fold] for a in self._sums()))

    def without(self, fold):
        """Sums over the rows of all other folds; over all rows if `fold` is None."""
        if fold is None:
            return CutSums(*(a.sum(axis=0) for a in self._sums()))
        return CutSums(*(np.delete(a, fold, axis=0).sum(axis=0) for a in self._sums()))


def cut_sums(
    codes: np.ndarray,
    layout: CutLayout,
    y: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
    folds: np.ndarray | None = None,
    n_folds: int = 1,
    left_weight: np.ndarray | None = None,
) -> CutSums:
    """`CutSums` of n rows.

    Parameters
    ----------
    codes : integer ndarray of shape (n, p), in Fortran order
        Bins.
    layout : CutLayout
    y : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,), default=None
    folds : integer ndarray of shape (n,), default=None
        The fold of each row, below `n_folds`.
    n_folds : int, default=1
    left_weight : ndarray of shape (k, P), default=None
        w'L by fold, where it is known.
    """
    wy = y if sample_weight is None else sample_weight * y
    left_y = np.zeros((n_folds, layout.n_cuts))
    wanted = [(wy, left_y)]
    if left_weight is None:
        left_weight = np.zeros((n_folds, layout.n_cuts))
        wanted.append((sample_weight, left_weight))

    def per_fold(values):
        if folds is None:
            return np.atleast_1d(len(y) if values is None else values.sum()).astype(float)
        return np.bincount(folds, weights=values, minlength=n_folds).astype(float)

    used = np.flatnonzero(layout.n_bins > 1)
    for values, sums in wanted:
        for j, table in _tables_of_folds(codes, layout.n_bins, used, values, folds, n_folds):
            sums[:, layout.cuts_of(j)] = layout.sums_of_cuts(j, table)
    return CutSums(per_fold(sample_weight), per_fold(wy), per_fold(wy * y), left_weight, left_y)


def _tables_of_folds(codes, n_bins, used, values, folds, n_folds):
    """For each feature that is used, the sums of `values` by fold and bin: (k, B)."""
    if uses_numba():
        fold = np.zeros(len(codes), np.uint32) if folds is None else folds.astype(np.uint32)
        yield from zip(used, tables_of_pairs(fold, n_folds, codes, used, n_bins, values))
        return
    for j in used:
        bins = codes[:, j].astype(np.intp)
        if folds is not None:
            bins += n_bins[j] * folds.astype(np.intp)
        of_bin = np.bincount(bins, weights=values, minlength=n_folds * n_bins[j])
        yield j, of_bin.reshape(n_folds, n_bins[j])


def tables_of_pairs(first, n_first, codes, others, n_bins, weight):
    """The weight (None: the number) of the rows by `first` and by the bin of each other column.

    A list of arrays of shape (n_first, B). By compiled loops.
    """
    from sklearn_ensemble_theory._hot_loops.table_loops import add_counts, add_weights

    others = np.asarray(others, dtype=np.intp)
    widths = n_bins[others]
    starts = np.concatenate([[0], np.cumsum(n_first * widths)]).astype(np.intp)
    tables = np.zeros(starts[-1], dtype=np.int64 if weight is None else np.float64)
    if weight is None:
        add_counts(first, codes.T, others, widths, starts, tables)
    else:
        add_weights(first, codes.T, others, widths, weight, starts, tables)
    return [t.reshape(n_first, -1) for t in np.split(tables, starts[1:-1])]
