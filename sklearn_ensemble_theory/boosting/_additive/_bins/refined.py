"""Bins that follow the data: more of them where a feature matters, and edges at jumps.

The bins of a step function cost bias where the function is steep, and an edge that misses a jump by
a share m of the rows costs about m times the squared jump. A first fit with few bins shows which
features matter and leaves partial residuals,

    y - sum of the functions of the other features,

of every feature. Features that lower the squared error by more than `CLEAR` times the variance of
the noise get many bins of equal weight, the others keep few. In every window of two bins, the best
threshold is compared with a straight line. Where it lowers the sum of squares by `CLEAR` times the
variance more than the line does, it is a jump: it becomes an edge, and its cut a candidate of its
own for the rounds that smooth.

In noise, the largest decrease over all thresholds of a window exceeds `CLEAR` times the variance
about once in 10,000 windows. It has to be rare: edges are chosen with all rows, so that the folds
of cross-validation do not see that edges follow noise.
"""

import numpy as np

from sklearn_ensemble_theory._bins import (
    ColumnCoder,
    bin_edges_from_quantiles,
    columns_in_one_piece,
    edges_of_sorted,
)
from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import FeatureBins

# Below this number of rows bins are quantiles.
MIN_ROWS = 10_000
FEW_BINS, MANY_BINS = 32, 240
CLEAR = 20.0
# Thresholds that are compared: quantiles of the feature, far more than there are bins.
_FINE_BINS = 2**13
# A window has two of the bins of at least so many rows.
_ROWS_OF_BIN = 500
# A side of a jump has at least so many rows (in units of the mean weight).
_MIN_ROWS_OF_SIDE = 5


def quantiles_by_use(X, sample_weight, used, n_many):
    """Edges of equal weight: `n_many` bins for the features that are used, few for the others."""
    return bin_edges_from_quantiles(X, np.where(used, n_many, FEW_BINS).tolist(), sample_weight)


def edges_at_jumps(X, partial_residual, sample_weight, edges, ordered):
    """Edges with the jumps put in, and for each feature which of its edges are jumps.

    Parameters
    ----------
    X : array of shape (n, p)
    partial_residual : callable
        Of j: the partial residuals of feature j, of shape (n,).
    sample_weight : array of shape (n,) or None
    edges : list of p arrays
    ordered : bool array of shape (p,)
        The features that are looked at.

    Returns
    -------
    edges : list of p arrays
    is_jump : list of p bool arrays

    Notes
    -----
    O(n log n) for each feature.
    """
    refined, flags = [], []
    weight = None
    if sample_weight is not None:  # in units in which the variance of a mean is that of 1/weight
        weight = sample_weight * row_units(sample_weight)
    for j, x in enumerate(columns_in_one_piece(X)):
        own = edges[j]
        found = np.empty(0)
        if ordered[j] and len(own):
            present = ~np.isnan(x)
            r, w, values = partial_residual(j), weight, x
            if not present.all():
                r, values = r[present], x[present]
                w = None if w is None else w[present]
            found = _jumps(values, r, w, own)
        both = np.union1d(own, found)
        refined.append(both)
        flags.append(np.isin(both, found))
    return refined, flags


def row_units(sample_weight):
    """The factor that gives weights the unit of rows: their sum is Kish's effective number."""
    return sample_weight.sum() / (sample_weight @ sample_weight)


def _jumps(x, r, w, edges):
    """The thresholds at which the partial residuals r jump; edges or others."""
    in_order = np.sort(x)
    fine = np.union1d(edges_of_sorted(in_order, None, _FINE_BINS), edges)
    windows = edges_of_sorted(
        in_order, None, int(np.clip(len(x) / _ROWS_OF_BIN, FEW_BINS, MANY_BINS))
    )
    fine = np.unique(np.concatenate([fine, windows]))
    codes = np.empty(len(x), dtype=np.uint16)
    ColumnCoder(fine, codes.dtype)(x, out=codes)
    mass = np.bincount(codes, weights=w, minlength=len(fine) + 1).astype(float)
    wr = r if w is None else w * r
    sums = np.bincount(codes, weights=wr, minlength=len(fine) + 1)
    starts = np.concatenate([[0], np.searchsorted(fine, windows) + 1])
    stops = np.append(starts[1:], len(mass))
    # The variance within bins is that of the noise, even where the function is steep.
    of_bin, sums_of_bin = np.add.reduceat(mass, starts), np.add.reduceat(sums, starts)
    explained = np.sum(sums_of_bin**2 / np.where(of_bin > 0, of_bin, 1.0))
    variance = max((wr @ r - explained) / mass.sum(), 0.0)
    candidates = []
    for first, last, number in zip(starts, np.append(stops[1:], stops[-1]), range(len(starts))):
        gain, at = _jump_in(mass[first:last], sums[first:last])
        if gain > CLEAR * variance and gain > 0:
            candidates.append((gain, number, fine[first + at]))
    found, taken = [], np.zeros(len(starts) + 2, dtype=bool)
    for _, number, threshold in sorted(candidates, reverse=True):
        if not taken[number : number + 2].any():  # the same jump in the window beside it
            found.append(threshold)
            taken[number : number + 2] = True
    return np.sort(found)


def _jump_in(mass, sums):
    """How much more the best threshold of a window explains than a line, and its position."""
    m, s = np.cumsum(mass), np.cumsum(sums)
    left, right = m[:-1], m[-1] - m[:-1]
    possible = np.flatnonzero(np.minimum(left, right) >= _MIN_ROWS_OF_SIDE)
    if not len(possible):
        return 0.0, 0
    left, right, sl = left[possible], right[possible], s[possible]
    centred = s[-1] ** 2 / m[-1]
    gains = sl**2 / left + (s[-1] - sl) ** 2 / right - centred
    best = int(gains.argmax())
    rank = m - 0.5 * mass - 0.5 * m[-1]  # of weighted mean 0
    length = mass @ rank**2
    line = (sums @ rank) ** 2 / length if length > 0 else 0.0
    return gains[best] - line, possible[best]


def jump_cuts(bins: FeatureBins, is_jump) -> np.ndarray:
    """The numbers of the cuts at jumps."""
    offsets = bins.layout().offsets
    return np.concatenate(
        [offsets[j] + np.flatnonzero(flags) for j, flags in enumerate(is_jump)] or [[]]
    ).astype(np.intp)
