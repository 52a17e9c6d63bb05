"""Leave-one-out errors of kernel averages for many bandwidths [Dombry and Esstafa, example 2.3].

All bandwidths are one times factors, and what they share is computed once. There are two ways:

- by pairs (`_errors_by_pairs`): distances from some rows to all rows, in blocks that stay in the
  processor's cache. A Gaussian kernel of 1 / sqrt(2) of the bandwidth is the square of the kernel,
  so most of the exponentials are products;
- for many rows of one feature by sums over cells (`_errors_by_sums`), O(n) for each bandwidth. A
  row is subtracted from the sums that it is part of. Rows whose sums are then not exact are left
  to the pairs: those without much weight near them.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist

from sklearn_ensemble_theory._scaling import largest_magnitude, power_of_two

from ._compact_kernels import LARGEST_RANGE, SMALLEST_SHARE, SortedPoints, WindowSums, kernel_value
from ._gaussian_sums import BEYOND, LARGEST_LOSS, MANY_ROWS, PAIRS_AT_A_TIME, GaussianSums

# The leave-one-out error of a bandwidth is computed at no more rows than this, evenly spread.
LOO_ROWS = 1000
# Factors in ascending order, of which each is sqrt(2) times the one `LOO_STEPS` before.
LOO_STEPS = 2
LOO_FACTORS = 2.0 ** np.arange(-4.0, 2.01, 0.5 / LOO_STEPS)
# The relative error of a square is twice that of the number: 64 roundings at most.
MOST_SQUARES = 6
# Windows of compact kernels with no more rows are summed by pairs.
FEW_ROWS = 500
# A row is subtracted from a sum if this share of the sum is left.
SMALLEST_REST = 1e-2


def loo_errors_of_factors(
    kernel: str,
    Z: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    groups: np.ndarray | None,
    factors: np.ndarray,
) -> np.ndarray:
    """Mean squared leave-one-out error for bandwidths times each factor (1, or `LOO_FACTORS`).

    Row i is left out, or its group, and the rest is averaged. For a row without neighbours, that is
    the mean of the nearest rows. The coordinates Z are in bandwidths.
    """
    n = len(Z)
    scale = largest_magnitude(Y)  # squares of 1e150 overflow
    Y = Y / scale
    rows = np.arange(n) if n <= LOO_ROWS else np.linspace(0, n - 1, LOO_ROWS).astype(int)
    errors, left = np.zeros(len(factors)), rows
    range_ = Z[:, 0].max() - Z[:, 0].min()
    has_cells = Z.shape[1] == 1 and range_ < LARGEST_RANGE * factors.min()
    if has_cells and n >= MANY_ROWS and groups is None:
        errors, left = _errors_by_sums(kernel, Z, Y, w, factors, rows)
    errors += _errors_by_pairs(kernel, Z, Y, w, groups, factors, left)
    with np.errstate(over="ignore", under="ignore"):
        return errors / w[rows].sum() * scale * scale


# --- by pairs -------------------------------------------------------------------------------------


def _errors_by_pairs(
    kernel: str,
    Z: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    groups: np.ndarray | None,
    factors: np.ndarray,
    rows: np.ndarray,
) -> np.ndarray:
    """Sums of the squared errors of some rows, by their distances to all rows."""
    columns = w[:, None] * np.column_stack([np.ones(len(Y)), Y])
    errors = np.zeros(len(factors))
    step = max(1, PAIRS_AT_A_TIME // len(Z))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        u2 = cdist(Z[block], Z, "sqeuclidean")
        # Every kernel is zero at an infinite distance.
        if groups is None:
            u2[np.arange(len(block)), block] = np.inf
        else:
            u2[groups[block, None] == groups] = np.inf
        nearest = u2.min(axis=1, keepdims=True)
        counted = np.isfinite(nearest[:, 0])  # not a single row
        block, u2, nearest = block[counted], u2[counted], nearest[counted]
        for k, K in _kernel_values(kernel, u2, nearest, factors):
            sums = K @ columns
            isolated = sums[:, 0] <= 0
            if isolated.any():
                near = u2[isolated] <= nearest[isolated] * (1 + 1e-12)
                sums[isolated] = near @ columns
            residual = Y[block] - sums[:, 1:] / sums[:, :1]
            errors[k] += (w[block, None] * residual**2).sum()
    return errors


def _kernel_values(
    kernel: str, u2: np.ndarray, nearest: np.ndarray, factors: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (k, K) for each factor k, with K in an array that is used again; largest first."""
    K = np.empty_like(u2)
    if kernel != "gaussian":
        # All are functions of a power of u, which is computed once.
        exponent = 3 if kernel == "tricube" else 2
        power = u2 * np.sqrt(u2) if kernel == "tricube" else u2
        for k, factor in enumerate(factors):
            np.divide(power, factor**exponent, out=K)
            if kernel == "uniform":
                np.less_equal(K, 1.0, out=K, casting="unsafe")
            else:
                np.subtract(1.0, np.minimum(K, 1.0, out=K), out=K)
            if kernel == "tricube":
                np.multiply(K, K * K, out=K)
            yield k, K
        return
    # Relative to the nearest row: far from all of them every value of the kernel would be zero.
    # Distances to the others are not shorter.
    apart = u2 - nearest
    for chain in range(min(LOO_STEPS, len(factors))):
        for n_squares, k in enumerate(range(len(factors) - 1 - chain, -1, -LOO_STEPS)):
            if n_squares % (MOST_SQUARES + 1):
                np.multiply(K, K, out=K)
            else:
                np.exp(np.multiply(apart, -0.5 / factors[k] ** 2, out=K), out=K)
            yield k, K


# --- by sums over cells of one feature ------------------------------------------------------------


def _errors_by_sums(
    kernel: str, Z: np.ndarray, Y: np.ndarray, w: np.ndarray, factors: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the squared errors of rows of one feature, and the rows without exact sums."""
    order = np.argsort(Z[:, 0], kind="stable")
    weight = w / power_of_two(w.max())
    columns = np.column_stack([weight, weight[:, None] * Y]).T
    in_order = list(np.ascontiguousarray(columns[:, order]))
    magnitude = np.abs(columns).sum(axis=1).max()
    squares, safe = np.empty((len(factors), len(rows))), np.ones(len(rows), dtype=bool)
    for k, factor in enumerate(factors):
        if kernel == "gaussian":
            sums = GaussianSums(Z[order, 0] / factor).at(Z[rows, 0] / factor, in_order)
            plain = sums[0]
            lost = BEYOND * magnitude
        else:
            sums, plain = _compact_sums(kernel, Z / factor, columns, in_order, rows)
            lost = 0.0
        others = sums - columns[:, rows]  # K(0) = 1
        safe &= others[0] > np.maximum(SMALLEST_REST * plain, lost / LARGEST_LOSS)
        others[0, ~safe] = 1.0
        residual = Y[rows].T - others[1:] / others[0]
        squares[k] = (w[rows] * residual**2).sum(axis=0)
    return squares[:, safe].sum(axis=1), rows[~safe]


def _compact_sums(
    kernel: str, Z: np.ndarray, columns: np.ndarray, in_order: list[np.ndarray], rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the columns at the rows, and what the first must not be much smaller than."""
    points, z = SortedPoints(Z), Z[rows, 0]
    first, stop = points.windows(z)
    many = stop - first > FEW_ROWS
    sums, plain = np.empty((len(columns), len(rows))), np.empty(len(rows))
    windows = first[many], stop[many]
    sums[:, many], simple = WindowSums(kernel, points.values).sums(z[many], windows, in_order)
    # The first sum and its rounding errors, which are relative to the plain sum.
    plain[many] = np.maximum(sums[0, many], simple[0] * (SMALLEST_SHARE / SMALLEST_REST))
    graph = points.within(Z[rows[~many]])
    graph.data = kernel_value(kernel, graph.data**2)
    sums[:, ~many] = (graph @ columns.T).T
    plain[~many] = sums[0, ~many]
    return sums, plain
