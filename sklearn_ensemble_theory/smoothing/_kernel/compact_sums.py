"""Averages with compact kernels: pairs of points in blocks of bounded memory, or moments."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from sklearn_ensemble_theory._numerics.scaling import largest_magnitude, power_of_two
from sklearn_ensemble_theory.smoothing._kernel.kernel_functions import kernel_slope, kernel_value
from sklearn_ensemble_theory.smoothing._kernel.points_within import SortedPoints, TreePoints
from sklearn_ensemble_theory.smoothing._kernel.window_moments import (
    FEW_ROWS,
    SMALLEST_SHARE,
    WindowSums,
    can_use_moments,
)

__all__ = ["compact_averages", "compact_weights", "kernel_totals", "pair_blocks", "query_blocks"]

PointIndex = SortedPoints | TreePoints

# A pair is a distance, a number, a kernel's value and what is computed on the way.
BYTES_PER_PAIR = 80
MOST_PAIRS = 1_000_000
MOST_QUERIES = 20_000
SMALLEST_PART = 1e-4
"""Averages that are a smaller part of the mean of all targets are computed from the pairs."""
POINTS_AT_A_TIME = 2**16
"""Many, as all rows near them are read for their moments."""


def pair_blocks(index: PointIndex, Z: np.ndarray) -> Iterator[slice]:
    """Slices of the rows of Z by the number of their neighbours within 1.

    A block has at most as many pairs as scikit-learn's `working_memory` has room for, but at least
    one row of Z.
    """
    limit = min(MOST_PAIRS, int(get_config()["working_memory"] * 2**20) // BYTES_PER_PAIR)
    for start in range(0, len(Z), MOST_QUERIES):
        totals = np.cumsum(index.counts(Z[start : start + MOST_QUERIES]))
        first, done = 0, 0
        while first < len(totals):
            stop = max(first + 1, int(np.searchsorted(totals, done + limit, side="right")))
            yield slice(start + first, start + stop)
            first, done = stop, totals[stop - 1]


def compact_weights(
    kernel: str,
    index: PointIndex,
    Z: np.ndarray,
    Z_train: np.ndarray,
    sample_weight: np.ndarray,
    shift: np.ndarray | None = None,
) -> sp.csr_matrix:
    """Rows of the weights of a compact kernel at Z, sparse (len(Z), n), one radius query.

    `index` is that of the rows of Z_train. A point without neighbours within the bandwidth takes
    the mean of its nearest training points. `shift` is None or the (len(Z), p) vectors from the
    points of evaluation to the points of prediction.
    """
    graph = index.within(Z)
    K = _with_data(graph, kernel_value(kernel, graph.data**2) * sample_weight[graph.indices])
    totals = _row_sums(K)
    isolated = totals <= 0.0
    inverse = 1.0 / np.where(isolated, 1.0, totals)
    weights = _scale_rows(K, inverse)
    if shift is not None:
        rows = np.repeat(np.arange(len(Z)), np.diff(graph.indptr))
        step = np.zeros(len(rows))
        for j in range(Z.shape[1]):  # a feature at a time, for memory
            step += (Z[rows, j] - Z_train[graph.indices, j]) * shift[rows, j]
        step *= kernel_slope(kernel, graph.data**2) * sample_weight[graph.indices]
        # (K_i / sum K)' = K'_i / sum K - (K_i / sum K) (sum K') / sum K
        slope = _scale_rows(_with_data(graph, step), np.where(isolated, 0.0, inverse))
        weights = sp.csr_matrix(weights + slope - _scale_rows(weights, _row_sums(slope)))
    if isolated.any():
        near = _nearest_weights(index, Z[isolated], sample_weight)
        places = np.argsort(np.r_[np.flatnonzero(~isolated), np.flatnonzero(isolated)])
        weights = sp.csr_matrix(sp.vstack([weights[~isolated], near]))[places]
    return weights


def compact_averages(
    kernel: str,
    rows: tuple[PointIndex, np.ndarray, np.ndarray],
    targets: np.ndarray,
    Z: np.ndarray,
    shift: np.ndarray | None = None,
) -> np.ndarray:
    """Averages of the targets, of shape (len(Z), n_outputs).

    Parameters
    ----------
    kernel : str
        A compact kernel.
    rows : tuple
        Index, scaled points and weights of the training rows.
    targets : float array of shape (n, n_outputs)
    Z : float array of shape (m, p)
    shift : float array of shape (m, p) or None
        As for `compact_weights`.
    """
    index, Z_train, weight = rows
    if index.is_sorted:
        if shift is not None:
            return _beyond_the_ends(kernel, index, Z_train, weight, targets, Z, shift)
        if can_use_moments(index):
            return _by_moments(kernel, index, Z_train, weight, targets, Z)
    out = np.empty((len(Z), targets.shape[1]))
    for part in pair_blocks(index, Z):
        shifts = None if shift is None else shift[part]
        out[part] = compact_weights(kernel, index, Z[part], Z_train, weight, shifts) @ targets
    return out


def kernel_totals(
    kernel: str, index: PointIndex, Z: np.ndarray, sample_weight: np.ndarray
) -> np.ndarray:
    """The sums of the kernel over the training rows, times their weights, at each row of Z."""
    totals = np.empty(len(Z))
    left = np.arange(len(Z))
    if index.is_sorted and can_use_moments(index):
        sums = WindowSums(kernel, index)
        weight = sample_weight[index.order]
        exact = []
        for rows in query_blocks(index, Z):
            many, few, windows = _by_size(index, Z[:, 0], rows)
            (found,), (plain,) = sums.sums(Z[many, 0], windows, [weight])
            totals[many] = found
            exact += [few, many[found < SMALLEST_SHARE * plain]]
        left = np.concatenate(exact)
    for part in pair_blocks(index, Z[left]):
        graph = index.within(Z[left[part]])
        values = kernel_value(kernel, graph.data**2) * sample_weight[graph.indices]
        totals[left[part]] = _row_sums(_with_data(graph, values))
    return totals


def _by_moments(kernel, index, Z_train, weight, targets, Z):
    """Averages inside the range of one feature."""
    out = np.empty((len(Z), targets.shape[1]))
    sums = WindowSums(kernel, index)
    top = power_of_two(weight.max())
    weight_in_order = weight[index.order] / top
    # About the mean, so that rounding errors are relative to the deviations from it.
    sizes = [power_of_two(largest_magnitude(y)) for y in targets.T]
    means = [
        (weight / top) @ (y / size) / weight_in_order.sum() for y, size in zip(targets.T, sizes)
    ]
    many, few, windows = _by_size(index, Z[:, 0], np.arange(len(Z)))
    z = Z[many, 0]
    (totals,), (plain,) = sums.sums(z, windows, [weight_in_order])
    safe = totals >= SMALLEST_SHARE * plain
    totals[~safe] = 1.0
    for j, (size, mean) in enumerate(zip(sizes, means)):
        values = targets[index.order, j] / size
        values -= mean
        values *= weight_in_order
        (found,), _ = sums.sums(z, windows, [values])
        (magnitude,), (plain,) = sums.sums(z, windows, [np.abs(values, out=values)])
        safe &= magnitude >= SMALLEST_SHARE * plain
        average = mean + found / totals
        safe &= np.abs(average) >= SMALLEST_PART * abs(mean)
        out[many, j] = size * average
    exact = np.concatenate([few, many[~safe]])
    for part in pair_blocks(index, Z[exact]):
        asked = exact[part]
        out[asked] = compact_weights(kernel, index, Z[asked], Z_train, weight) @ targets
    return out


def query_blocks(index: PointIndex, X: np.ndarray) -> Iterator[slice | np.ndarray]:
    """The rows of X, some at a time; rows of one feature in order, so that blocks have few rows."""
    step = POINTS_AT_A_TIME
    if not index.is_sorted:
        yield from (slice(start, start + step) for start in range(0, len(X), step))
        return
    order = np.argsort(X[:, 0], kind="stable")
    step = max(step, len(index.values) // 10)
    for start in range(0, len(X), step):
        yield order[start : start + step]


def _by_size(index, z, rows):
    """Points with many rows in their windows, those with few, and the windows of the former."""
    first, stop = index.windows(z[rows])
    many = stop - first > FEW_ROWS
    return rows[many], rows[~many], (first[many], stop[many])


def _beyond_the_ends(kernel, index, Z_train, weight, targets, Z, shift):
    """Averages outside the range of one feature: a line from each of its two ends."""
    out = np.empty((len(Z), targets.shape[1]))
    for side in (-1.0, 1.0):
        asked = np.flatnonzero(np.sign(shift[:, 0]) == side)
        if len(asked):
            end = Z[asked[:1]]
            level = compact_weights(kernel, index, end, Z_train, weight)
            moved = compact_weights(kernel, index, end, Z_train, weight, np.ones((1, 1)))
            out[asked] = level @ targets + shift[asked] * ((moved - level) @ targets)
    return out


def _nearest_weights(index: PointIndex, Z: np.ndarray, sample_weight: np.ndarray) -> sp.csr_matrix:
    """Rows that average the training points at the smallest distance, ties included."""
    graph = index.within(Z, index.nearest(Z) * (1.0 + 1e-12))
    K = _with_data(graph, sample_weight[graph.indices])
    return _scale_rows(K, 1.0 / _row_sums(K))


def _row_sums(matrix: sp.spmatrix) -> np.ndarray:
    """Sums of the rows of a sparse matrix as a flat array."""
    return np.asarray(matrix.sum(axis=1)).ravel()


def _scale_rows(matrix: sp.csr_matrix, factors: np.ndarray) -> sp.csr_matrix:
    """A CSR matrix with row i multiplied by factors[i]."""
    return _with_data(matrix, matrix.data * np.repeat(factors, np.diff(matrix.indptr)))


def _with_data(pattern: sp.csr_matrix, data: np.ndarray) -> sp.csr_matrix:
    return sp.csr_matrix((data, pattern.indices, pattern.indptr), shape=pattern.shape)
