"""Columns cut into bins: the edges of the bins, and the bin of each value.

A column's `edges` are increasing thresholds; value x falls in bin number ``#{e in edges: e < x}``,
so that ``x <= edges[c]`` is "bin c or lower", the left side of the stump with threshold
``edges[c]``.
A column with B bins has B - 1 edges; a constant column has none.

NaN is missing: it has no part in the edges, and where a caller asks for it the code ``B``, one
above that of the last bin. Other values must be finite; callers check that (`validate_data` does).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_ensemble_theory._native.binning import EdgeTable, sorted_floats
from sklearn_ensemble_theory._rows import positive_rows

# Values in a block of rows, few enough for the processor's cache.
_BLOCK_VALUES = 2**17
_MIN_BLOCK_ROWS = 1024
# With fewer rows NumPy sorts as fast as digits are counted.
_ROWS_SORTED_BY_DIGITS = 2_000
_COLUMNS_AT_ONCE = 4
# Quantiles are reached within this relative tolerance of the cumulative weight, so that the
# rounding of the weights' sum does not decide where an edge lies.
_RANK_TOLERANCE = 1e-12


def bin_edges_from_quantiles(
    X: np.ndarray,
    max_bins: int | Sequence[int],
    sample_weight: np.ndarray | None = None,
    n_tails: int = 0,
) -> list[np.ndarray]:
    """Edges of at most `max_bins` bins per column, of about the same weight each.

    A column with no more than `max_bins` distinct values gets one bin for each of them, and a value
    that holds more than a bin's share of the weight gets a bin of its own. Edges are halfway
    between neighbouring values of the data, as the thresholds of scikit-learn's trees are. NaN are
    ignored, and so are rows of weight 0; integer weights are equivalent to repeated rows. A column
    of one bin is not read.

    `n_tails` adds so many edges on each side, within the first and the last bin, for functions that
    are steep where values are far from the others: the outermost bins have a half, a quarter, ...
    of the weight of the others.

    O(n log n) per column (one sort), with the memory of four columns beside X.
    """
    kept = slice(None)
    if sample_weight is not None:
        kept = positive_rows(sample_weight)
        sample_weight = sample_weight[kept]
        if np.all(sample_weight == sample_weight[0]):
            sample_weight = None
    edges = []
    most = np.broadcast_to(max_bins, X.shape[1]).tolist()
    for x, max_bins_of_column in zip(columns_in_one_piece(X), most):
        if max_bins_of_column == 1:
            edges.append(np.empty(0))
            continue
        x = x[kept]
        if sample_weight is None:
            x.sort()
            cumulated = None
        else:
            order = np.argsort(x)
            x = x[order]
            cumulated = np.cumsum(sample_weight[order])
        if len(x) and np.isnan(x[-1]):  # sorted to the end
            x = x[: np.searchsorted(x, np.nan)]
            cumulated = None if cumulated is None else cumulated[: len(x)]
        edges.append(edges_of_sorted(x, cumulated, max_bins_of_column, n_tails))
    return edges


def columns_with_missing(X: Any) -> np.ndarray:
    """Tell whether each column has NaN: (p,). No array like X is made; X may be a CSC matrix."""
    found = np.zeros(X.shape[1], dtype=bool)
    if issparse(X):
        found[np.searchsorted(X.indptr, np.flatnonzero(np.isnan(X.data)), side="right") - 1] = True
        return found
    step = max(_MIN_BLOCK_ROWS, _BLOCK_VALUES // max(X.shape[1], 1))
    with np.errstate(invalid="ignore"):
        for start in range(0, len(X), step):
            found |= np.isnan(X[start : start + step].max(axis=0))  # a maximum with NaN is NaN
    return found


def columns_in_one_piece(X, dtype=np.float64):
    """Each column as a contiguous array, which may be overwritten and is valid until the next.

    Sorting such a column is several times faster than one with strides. Several are copied at once,
    a block of rows at a time, because a cache line of X in C order holds several columns.
    """
    n, p = X.shape
    buffer = np.empty((min(_COLUMNS_AT_ONCE, p), n), dtype=dtype)
    step = _BLOCK_VALUES // max(len(buffer), 1)
    X = X.tocsc() if issparse(X) else X
    for first in range(0, p, _COLUMNS_AT_ONCE):
        columns = buffer[: p - first]
        if issparse(X):
            columns[:] = X[:, first : first + len(columns)].toarray().T
            yield from columns
            continue
        for start in range(0, n, step):
            columns[:, start : start + step] = X[
                start : start + step, first : first + len(columns)
            ].T
        yield from columns


def edges_of_sorted(x, cumulated, max_bins, n_tails=0):
    """Edges of one sorted column; `cumulated` are the running weights, None for 1, 2, ..., n."""
    # Few values: an edge between any two. Otherwise edges at quantiles, and around values that hold
    # more than a bin's share.
    changes = x[1:] != x[:-1]
    if np.count_nonzero(changes) < max_bins:
        last_of_value = np.flatnonzero(changes)  # the largest value has no edge above it
    else:
        cut_above, alone = _values_to_cut(x, cumulated, max_bins)
        last_of_value = np.searchsorted(x, cut_above, side="right")
        if len(alone):
            around = [np.searchsorted(x, alone, side=side) for side in ("left", "right")]
            last_of_value = np.unique(np.concatenate([last_of_value, *around]))
        if n_tails:
            share = 0.5 ** np.arange(1, n_tails + 1) / max_bins
            low, high = (x[_ranks(each, cumulated, len(x))] for each in (share, 1 - share))
            outer = np.searchsorted(x, low, side="right"), np.searchsorted(x, high, side="left")
            last_of_value = np.unique(np.concatenate([last_of_value, *outer]))
        last_of_value = last_of_value[(last_of_value > 0) & (last_of_value < len(x))] - 1
    return middles(x[last_of_value].astype(np.float64), x[last_of_value + 1].astype(np.float64))


def middles(below, above):
    """Edges between numbers of which one is above the other."""
    middle = 0.5 * below + 0.5 * above  # the sum first could overflow
    # Neighbouring floats have no middle, and halving a subnormal number loses its last bit.
    return np.where((below <= middle) & (middle < above), middle, below)


def _values_to_cut(x, cumulated, max_bins):
    """Choose the values above which to cut, and those that get a bin of their own.

    A value that holds two quantiles or more gets a bin of its own; the bins that are left are
    divided among the other values, where again a value may hold two quantiles.
    """
    picked = x[_ranks(_shares(max_bins), cumulated, len(x))]  # increasing
    if (picked[1:] != picked[:-1]).all():  # no value is heavy
        return picked, x[:0]
    last = np.append(np.flatnonzero(x[1:] != x[:-1]), len(x) - 1)
    values = x[last]
    weight = np.diff(last + 1 if cumulated is None else cumulated[last], prepend=0)
    others = np.ones(len(values), dtype=bool)  # than those with a bin of their own
    n_alone = 0
    # Setting heavy values apart moves the quantiles of the others, which may show new heavy ones.
    # The loop ends at the latest where values apart, of two edges each, would take all bins.
    while others.any():
        own = np.flatnonzero(others)
        cumulated = np.cumsum(weight[own])
        rank = np.searchsorted(cumulated, _shares(max_bins - 2 * n_alone) * cumulated[-1])
        n_quantiles = np.bincount(rank, minlength=len(own))
        heavy = own[n_quantiles > 1]
        n_alone += len(heavy)
        if len(heavy) == 0 or 2 * n_alone >= max_bins:
            return values[own[n_quantiles > 0]], values[~others]
        others[heavy] = False
    return values, values


def _ranks(targets, cumulated, n):
    """The first places with these shares of the weight at or below them."""
    if cumulated is None:
        return np.ceil(targets * n).astype(np.intp) - 1
    return np.searchsorted(cumulated, targets * cumulated[-1])


def _shares(n_bins: int) -> np.ndarray:
    """The shares of the rows below the edges of so many bins."""
    return np.arange(1, n_bins) / n_bins * (1 - _RANK_TOLERANCE)


def check_bin_edges(
    bin_edges: Any, n_features: int, names: Sequence[str] | None = None
) -> list[np.ndarray]:
    """Edges given by a user as increasing, finite float64 arrays; errors use the `names`."""
    try:
        n_given = len(bin_edges)
    except TypeError:
        raise TypeError(
            "max_bins must be a number, 'auto' or a sequence with the edges of every feature."
        ) from None
    if n_given != n_features:
        raise ValueError(
            f"max_bins has edges for {n_given} features, but X has {n_features} features."
        )
    checked = []
    for j, given in enumerate(bin_edges):
        where = f"max_bins[{j}]" + ("" if names is None else f", of feature {names[j]!r},")
        try:
            edges = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{where} must be a sequence of numbers.") from None
        if edges.ndim != 1 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
            raise ValueError(f"{where} must be finite and strictly increasing; got {given!r}.")
        if len(edges) >= 2**16:
            raise ValueError(f"{where} makes more than {2**16} bins.")
        checked.append(edges)
    return checked


def labels_of_edges(edges: np.ndarray) -> list[str]:
    """Numbers of six digits, or of as many as tell the edges apart."""
    each: list[list[str]] = [[f"{edge:.{digits}g}" for edge in edges] for digits in range(6, 18)]
    return next(labels for labels in each if len(set(labels)) == len(labels))


def bin_codes(X: Any, edges: Sequence[np.ndarray], missing: bool = False) -> np.ndarray:
    """The bin of every value: (n, p), in Fortran order, uint8 if every code fits, else uint16.

    The same as ``np.searchsorted(edges[j], X[:, j], side="left")`` for each column j, but O(n p)
    whatever the number of bins. With `missing`, the code of NaN is ``len(edges[j]) + 1``. X may be
    a CSC matrix, of which a few columns at a time become dense.
    """
    coders, dtype = _coders(edges, missing)
    codes = np.empty(X.shape, dtype=dtype, order="F")
    _write_codes(X, codes, coders)
    return codes


def bin_codes_by_blocks(
    X: Any, edges: Sequence[np.ndarray], n_rows: int, missing: bool = False
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of at most `n_rows` rows with their `bin_codes`, valid until the next."""
    n, p = X.shape
    coders, dtype = _coders(edges, missing)
    codes = np.empty((min(n_rows, n), p), dtype=dtype, order="F")
    for start in range(0, n, n_rows):
        rows = slice(start, min(start + n_rows, n))
        own = codes[: rows.stop - start]
        _write_codes(X[rows], own, coders)
        yield rows, own


def _coders(edges, missing):
    """The tables that find the bins of each column, and a type for the codes."""
    largest = max((len(e) for e in edges), default=0) + missing
    dtype = np.dtype(np.uint8 if largest < 2**8 else np.uint16)
    return [EdgeTable(e, len(e) + 1 if missing else 0) for e in edges], dtype


def _write_codes(X, codes, coders):
    if issparse(X):
        for j, x in enumerate(columns_in_one_piece(X)):
            coders[j].code(x, codes[:, j])
        return
    for rows, x in _blocks(X):
        for j, coder in enumerate(coders):
            x[:] = X[rows, j]
            coder.code(x, codes[rows, j])


def sum_of_tables(
    X: Any,
    edges: Sequence[np.ndarray],
    tables: Sequence[np.ndarray | None],
    missing: bool = False,
) -> np.ndarray:
    """sum_j tables[j][bin of X[i, j]] for each row i, without an array of all the codes.

    Columns whose table is None are skipped. The tables may have a last axis, of several sums. X may
    be a CSC matrix.
    """
    used = [(j, table) for j, table in enumerate(tables) if table is not None]
    total = np.zeros((X.shape[0], *(used[0][1].shape[1:] if used else ())))
    coders, dtype = _coders([edges[j] for j, _ in used], missing)
    if issparse(X):
        codes = np.empty(X.shape[0], dtype=dtype)
        columns = columns_in_one_piece(X[:, [j for j, _ in used]]) if used else ()
        for coder, (_, table), x in zip(coders, used, columns):
            coder.code(x, codes)
            total += table.take(codes, axis=0)
        return total
    # Codes and values of a block stay in cache from one column to the next.
    for rows, x in _blocks(X):
        codes = np.empty(len(x), dtype=dtype)
        for coder, (j, table) in zip(coders, used):
            x[:] = X[rows, j]
            coder.code(x, codes)
            total[rows] += table.take(codes, axis=0)
    return total


def _blocks(X):
    """Yield slices of rows, with a buffer that a column of these rows is copied to."""
    n, p = X.shape
    step = max(_MIN_BLOCK_ROWS, _BLOCK_VALUES // max(p, 1))
    buffer = np.empty(min(step, n))
    for start in range(0, n, step):
        stop = min(start + step, n)
        yield slice(start, stop), buffer[: stop - start]


def sorted_values(x: np.ndarray) -> np.ndarray:
    """A column in increasing order, NaN last. O(n) in single precision."""
    if len(x) < _ROWS_SORTED_BY_DIGITS or x.dtype != np.float32:
        return np.sort(x)
    values = np.empty_like(x)
    sorted_floats(x, values)
    return values


# --- quantiles of columns that are read in chunks, from samples that add up ----------------------

# A chunk of at most `SAMPLE` rows enters whole, a larger one by a sample of so many rows, of which
# the points at `KEPT_OF_CHUNK` ranks are kept. A total of more than `MOST` points of a column is
# reduced to those at `KEPT` ranks.
SAMPLE = 2**15
KEPT_OF_CHUNK = 2**12
MOST = 2**17
KEPT = 2**14


@dataclass
class QuantileSketch:
    """Values of each column with their weights, sorted, without NaN; sketches of chunks add up.

    A sampled row stands for the weight of n/SAMPLE rows, and ranks that are kept are equally
    spaced. With probability 1 - delta the shares of the weight below any threshold are those of all
    rows up to sqrt(log(2/delta) / (2 m)) for m equally weighted rows in the samples [Massart 1990]
    plus 1/KEPT_OF_CHUNK plus 1/KEPT for each reduction: for 10^6 rows sampled and delta = 0.01,
    .0016, .0002 and .00006. Where no chunk has more than `SAMPLE` rows and all have at most `MOST`
    together, they are exact.
    """

    values: list[np.ndarray]
    weights: list[np.ndarray]

    @classmethod
    def of(
        cls, X: np.ndarray, weight: np.ndarray | None, rng: np.random.Generator
    ) -> "QuantileSketch":
        """Of one chunk; O(p SAMPLE log SAMPLE)."""
        n, share = len(X), 1.0
        is_sample = n > SAMPLE
        if is_sample:
            drawn = np.sort(rng.choice(n, SAMPLE, replace=False, shuffle=False))
            X, share = X[drawn], n / SAMPLE
            weight = None if weight is None else weight[drawn]
        values, weights = [], []
        for j in range(X.shape[1]):
            x = X[:, j].astype(np.float64)
            present = ~np.isnan(x)
            x = x[present]
            if weight is None:
                x.sort()
                w = np.full(len(x), share)
            else:
                order = np.argsort(x, kind="stable")
                x, w = x[order], share * weight[present][order]
            if is_sample:
                x, w = reduced(x, w, KEPT_OF_CHUNK, KEPT_OF_CHUNK)
            values.append(x)
            weights.append(w)
        return cls(values, weights)

    def __add__(self, other: "QuantileSketch") -> "QuantileSketch":
        values, weights = [], []
        for x, w, theirs, their_weights in zip(
            self.values, self.weights, other.values, other.weights
        ):
            x, w = np.concatenate([x, theirs]), np.concatenate([w, their_weights])
            order = np.argsort(x, kind="stable")  # two runs: linear time
            x, w = reduced(x[order], w[order], MOST, KEPT)
            values.append(x)
            weights.append(w)
        return QuantileSketch(values, weights)

    def edges(self, max_bins: int) -> list[np.ndarray]:
        """Edges of at most `max_bins` bins of each column; see `bin_edges_from_quantiles`."""
        edges = []
        for x, w in zip(self.values, self.weights):
            x, w = without_ties(x, w)
            edges.append(edges_of_sorted(x, np.cumsum(w), max_bins) if len(x) else np.empty(0))
        return edges


def without_ties(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct sorted values with the sums of their weights."""
    first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]])) if len(x) else x[:0]
    if len(first) == len(x):
        return x, w
    return x[first], np.add.reduceat(w, first)


def reduced(x: np.ndarray, w: np.ndarray, most: int, kept: int) -> tuple[np.ndarray, np.ndarray]:
    """About `kept` of more than `most` points, each of which has the weight since the last one."""
    if len(x) <= most:
        return x, w
    x, w = without_ties(x, w)
    if len(x) <= kept:
        return x, w
    cumulated = np.cumsum(w)
    targets = cumulated[-1] * (np.arange(kept) + 0.5) / kept
    is_picked = np.zeros(len(x), dtype=bool)
    is_picked[np.searchsorted(cumulated, targets)] = True
    is_picked[[0, -1]] = True
    # the weight between two points goes to the upper one: at most 1/kept of the whole
    return x[is_picked], np.diff(cumulated[is_picked], prepend=0.0)
