"""Kernel weights of Nadaraya and Watson: one row of non-negative weights, summing to one, a point.

Everything works in scaled coordinates z = x / h, so that a kernel is a function of one distance u.
Kernels need no normalising constant here, because the weights are normalised anyway.
"""

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

__all__ = [
    "COMPACT_KERNELS",
    "KERNELS",
    "compact_weights",
    "gaussian_weights",
    "kernel_slope",
    "kernel_value",
    "nearest_weights",
    "row_sums",
    "scale_rows",
    "scott_bandwidth",
]

COMPACT_KERNELS = ("epanechnikov", "tricube", "uniform")
KERNELS = ("gaussian", *COMPACT_KERNELS)


def kernel_value(kernel, u2):
    """K(u) as a function of u^2; the compact kernels vanish beyond u = 1."""
    if kernel == "gaussian":
        return np.exp(-0.5 * u2)
    if kernel == "uniform":
        return np.where(u2 <= 1.0, 1.0, 0.0)
    inside = np.minimum(u2, 1.0)
    if kernel == "epanechnikov":
        return 1.0 - inside
    return (1.0 - inside * np.sqrt(inside)) ** 3


def kernel_slope(kernel, u2):
    """K'(u) / u as a function of u^2: the gradient of K(|z - z_i|) is this times z - z_i."""
    if kernel == "gaussian":
        return -np.exp(-0.5 * u2)
    if kernel == "uniform":
        return np.zeros_like(u2)
    inside = np.minimum(u2, 1.0)
    if kernel == "epanechnikov":
        return np.where(u2 < 1.0, -2.0, 0.0)
    u = np.sqrt(inside)
    return -9.0 * u * (1.0 - inside * u) ** 2


def scott_bandwidth(X, sample_weight):
    """Scott's rule a feature: n^(-1/(p+4)) standard deviations; infinite where X is constant.

    An infinite bandwidth ignores the feature, which is right for one that never varies.
    """
    n, p = sample_weight.sum(), X.shape[1]
    # Standard deviations of numbers near 1e150 overflow: take them in units of the range.
    low = X.min(axis=0)
    width = X.max(axis=0) - low
    safe = np.where(width > 0, width, 1.0)
    Z = (X - low) / safe
    mean = sample_weight @ Z / n
    variance = sample_weight @ (Z - mean) ** 2 / n
    return np.where(width > 0, np.sqrt(variance) * safe * n ** (-1.0 / (p + 4)), np.inf)


def gaussian_weights(Z, Z_train, sample_weight, shift=None):
    """Rows of Gaussian weights at Z, dense (len(Z), n), extrapolated linearly by `shift`.

    Distances are taken relative to the nearest training point, so that a point far from all of
    them gets the nearest one's value instead of 0/0. `shift` is None or the (len(Z), p) vectors
    from the points of evaluation to the points asked for.
    """
    u2 = cdist(Z, Z_train, "sqeuclidean")
    u2 -= u2.min(axis=1, keepdims=True)
    K = np.exp(-0.5 * u2, out=u2)
    K *= sample_weight
    K /= K.sum(axis=1, keepdims=True)
    if shift is None:
        return K
    # d/dz of K_i / sum K along the shift, with K'_i = -K_i (z - z_i).
    along = (Z * shift).sum(axis=1, keepdims=True) - shift @ Z_train.T
    along -= (K * along).sum(axis=1, keepdims=True)
    return K * (1.0 - along)


def compact_weights(kernel, index, Z, Z_train, sample_weight, shift=None):
    """Rows of the weights of a compact kernel at Z, sparse (len(Z), n), one radius query.

    `index` is a fitted `NearestNeighbors` on Z_train. A point with nobody within the bandwidth
    takes the mean of its nearest training points.
    """
    graph = sp.csr_matrix(index.radius_neighbors_graph(Z, radius=1.0, mode="distance"))
    K = _with_data(graph, kernel_value(kernel, graph.data**2) * sample_weight[graph.indices])
    totals = row_sums(K)
    lost = np.flatnonzero(totals <= 0.0)
    slope = None
    if shift is not None:
        rows = np.repeat(np.arange(len(Z)), np.diff(graph.indptr))
        step = ((Z[rows] - Z_train[graph.indices]) * shift[rows]).sum(axis=1)
        step *= kernel_slope(kernel, graph.data**2) * sample_weight[graph.indices]
        slope = _with_data(graph, step)
    if not len(lost):
        weights = scale_rows(K, 1.0 / totals)
    else:
        weights = scale_rows(K, 1.0 / np.where(totals > 0.0, totals, 1.0)).tolil()
        weights[lost] = nearest_weights(index, Z[lost], sample_weight).tolil()
        weights = weights.tocsr()
        totals[lost] = 1.0
    if slope is not None:
        # (K_i / sum K)' = K'_i / sum K - (K_i / sum K) (sum K') / sum K
        slope = scale_rows(slope, np.where(np.isin(np.arange(len(Z)), lost), 0.0, 1.0 / totals))
        weights = weights + slope - scale_rows(weights, row_sums(slope))
    return sp.csr_matrix(weights)


def nearest_weights(index, Z, sample_weight):
    """Rows that average the training points at the smallest distance, ties included."""
    radius = index.kneighbors(Z, n_neighbors=1)[0].ravel()
    parts = [
        index.radius_neighbors_graph(Z[i : i + 1], radius=radius[i] * (1.0 + 1e-12))
        for i in range(len(Z))
    ]
    graph = sp.csr_matrix(sp.vstack(parts))
    K = _with_data(graph, sample_weight[graph.indices])
    return scale_rows(K, 1.0 / row_sums(K))


def row_sums(matrix):
    """Sums of the rows of a sparse matrix as a flat array."""
    return np.asarray(matrix.sum(axis=1)).ravel()


def scale_rows(matrix, factors):
    """A CSR matrix with row i multiplied by factors[i]."""
    return _with_data(matrix, matrix.data * np.repeat(factors, np.diff(matrix.indptr)))


def _with_data(pattern, data):
    return sp.csr_matrix((data, pattern.indices, pattern.indptr), shape=pattern.shape)
