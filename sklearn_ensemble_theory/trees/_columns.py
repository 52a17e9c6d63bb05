"""Columns of X as codes of one or two bytes: the number of the bin of each value."""

import os
from math import ceil
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_ensemble_theory._bins import columns_in_one_piece, edges_of_sorted, sorted_values
from sklearn_ensemble_theory._native.binning import EdgeTable, are_told_apart
from sklearn_ensemble_theory._rows import canonical, positive_rows
from sklearn_ensemble_theory._running import in_threads, shares

# The code of a missing value where codes have one byte; those of the bins are lower.
MISSING = 255
# The code of a node that sends a set of categories to the left.
SET = -3
# Codes have two bytes at most.
MOST_BINS = 2**16 - 1
_LARGEST = np.finfo(np.float32).max
# Fewer values are binned by one thread.
_LEAST_SHARED_VALUES = 2**18
# Threads that ask for a copy of the codes at once would each make one.
_one_copy = Lock()


def _new_lock() -> None:
    """After a fork: a thread that is not in the child may have held the lock."""
    global _one_copy
    _one_copy = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class BinnedColumns:
    """The columns of X, cut into bins, and a code for missing values.

    The loops of boosting take codes of one byte, for at most 255 bins; those of single trees take
    codes of two bytes, whatever the number of bins.

    Value x has the code ``#{e in edges: e < x}``, so that ``x <= edges[c]`` if and only if its code
    is at most c. Values are read in single precision, as scikit-learn's trees read them, but for
    those of wide columns, which it does not tell apart (`is_wide`).

    - codes: uint8 or uint16 (n, p), in Fortran order.
    - edges: p increasing float64 arrays.
    - n_bins: bins of values of each column, without the one of the missing values.
    - most_bins, any_missing: of all columns.
    - missing: the code of a missing value, at least the number of bins of any column; 255 where no
      more bins were asked for.
    - categorical: which columns have categories, whose bins are their numbers; None for none.
    - wide: which columns are read in double precision; None for none.
    """

    def __init__(
        self,
        codes: np.ndarray,
        edges: list[np.ndarray],
        has_missing: np.ndarray,
        missing: int = MISSING,
        categorical: np.ndarray | None = None,
        wide: np.ndarray | None = None,
    ) -> None:
        self.codes = codes
        self.n_rows, self.n_features = codes.shape
        self.missing = missing
        self.categorical, self.wide = categorical, wide
        self.edges = edges
        self.has_missing = has_missing
        self.n_bins = np.array([len(e) + 1 for e in edges], dtype=np.intp)
        self.most_bins, self.any_missing = int(self.n_bins.max()), bool(has_missing.any())
        # Whether the codes may be released by the growth of a tree, which is the only one.
        self.are_for_one_tree = False
        self._row_codes: np.ndarray | None = None
        self._in_two_bytes: BinnedColumns | None = None
        self._cuts: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        max_bins: int,
        sample_weight: np.ndarray | None = None,
        n_threads: int = 1,
        *,
        two_bytes: bool = False,
        categorical: np.ndarray | None = None,
    ) -> "BinnedColumns":
        """The columns of X in bins of about the same weight; NaN is a missing value.

        A column with no more than `max_bins` distinct values gets a bin for each of them; at most
        65,535, or 255 without `two_bytes`, the codes of two bytes. Rows of weight 0 have no
        influence on the edges; integer weights are equivalent to repeating rows. Columns are shared
        out among threads without any influence on the result. `categorical` columns hold numbers of
        categories, 0 to 254 and below `max_bins`: others, and infinite values, are a ValueError.

        O(n log n) per column (one sort); beside the codes, the memory of a few columns for each
        thread.
        """
        n, p = X.shape
        X = X.tocsc() if issparse(X) else X
        kept = None
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
            if sample_weight.min() <= 0:
                kept = positive_rows(sample_weight)
                sample_weight = sample_weight[kept]
            if np.all(sample_weight == sample_weight[0]):
                sample_weight = None
        codes = np.empty((n, p), dtype=np.uint16 if two_bytes else np.uint8, order="F")
        missing = max(max_bins, MISSING)
        if n * p < _LEAST_SHARED_VALUES:
            n_threads = 1
        found = in_threads(
            _bin_columns,
            [
                (X[:, a:b], max_bins, missing, kept, sample_weight, codes[:, a:b])
                for a, b in shares(p, n_threads)
            ],
        )
        edges = [each[0] for part in found for each in part]
        wide = np.array([each[2] for part in found for each in part], dtype=bool)
        for j in [] if categorical is None else np.flatnonzero(categorical).tolist():
            (x,) = columns_in_one_piece(X[:, j : j + 1], np.float32)
            edges[j], wide[j] = edges_of_numbers(x, j, min(max_bins, MISSING)), False
            EdgeTable(edges[j], missing).code(x, codes[:, j])
        has_missing = np.array([each[1] for part in found for each in part], dtype=bool)
        if kept is not None:
            has_missing |= (codes == missing).any(axis=0)
        return cls(codes, edges, has_missing, missing, categorical, wide if wide.any() else None)

    def coded(self, X: Any) -> "BinnedColumns":
        """Other rows in the same bins. O(n p)."""
        codes = np.empty(X.shape, dtype=self.codes.dtype, order="F")
        has_missing = np.zeros(X.shape[1], dtype=bool)
        with np.errstate(over="ignore"):  # beyond single precision is beyond all edges
            for j, x in enumerate(columns_in_one_piece(X, np.float32)):
                if self.wide is not None and self.wide[j]:
                    (x,) = columns_in_one_piece(X[:, j : j + 1])
                EdgeTable(self.edges[j], self.missing).code(x, codes[:, j])
                if self.categorical is not None and self.categorical[j]:
                    codes[(x > len(self.edges[j])) | (x < 0), j] = self.missing  # not seen before
                has_missing[j] = (codes[:, j] == self.missing).any()
        return type(self)(codes, self.edges, has_missing, self.missing, self.categorical, self.wide)

    def wide_columns(self) -> np.ndarray | None:
        """`wide` as `TreeArrays` has it, in an array of its own."""
        return None if self.wide is None else np.flatnonzero(self.wide)

    @property
    def in_bytes(self) -> bool:
        return self.codes.dtype == np.uint8

    @property
    def by_column(self) -> Any:
        """The codes as `BoostedTrees` takes them."""
        return self.codes.T

    @property
    def flags(self) -> np.ndarray | None:
        """`categorical` as compiled code takes it."""
        return None if self.categorical is None else self.categorical.astype(np.uint8)

    @property
    def row_codes(self) -> np.ndarray:
        """`codes` in C order, made when it is first asked for."""
        with _one_copy:
            if self._row_codes is None:
                self._row_codes = np.ascontiguousarray(self.codes)
            return self._row_codes

    def release(self) -> None:
        """Free the codes; the edges are kept."""
        self.codes, self._row_codes = self.codes[:0].copy(), None

    def in_one_byte(self) -> "BinnedColumns":
        """The same columns with codes of one byte, where they have at most 255 bins."""
        if self.missing > MISSING or self.codes.dtype == np.uint8:
            return self
        codes = self.codes.astype(np.uint8)
        return type(self)(codes, self.edges, self.has_missing, MISSING, self.categorical, self.wide)

    def in_two_bytes(self) -> "BinnedColumns":
        """The same columns with codes of two bytes, made when they are first asked for."""
        if self.codes.dtype == np.uint16:
            return self
        with _one_copy:
            if self._in_two_bytes is None:
                codes = self.codes.astype(np.uint16)
                self._in_two_bytes = type(self)(
                    codes, self.edges, self.has_missing, MISSING, self.categorical, self.wide
                )
            return self._in_two_bytes

    def thresholds(self, feature: np.ndarray, code: np.ndarray) -> np.ndarray:
        """The thresholds in units of X of the nodes of a tree, which cut after these codes.

        -inf below the first bin and inf after the last one; NaN for sets of categories; -2 for
        feature -2, a leaf. O(number of nodes), and O(number of edges) once.
        """
        if self._cuts is None:
            # The edges of each column between -inf and inf, and last what a leaf has.
            cuts = [np.concatenate([[-np.inf], edges, [np.inf]]) for edges in self.edges]
            ends = np.cumsum(self.n_bins + 1)
            first = np.concatenate([ends - self.n_bins - 1, 2 * [ends[-1]]])
            last = np.concatenate([ends - 1, 2 * [ends[-1]]])
            self._cuts = np.concatenate([*cuts, [-2.0]]), first, last
        values, first, last = self._cuts
        start = first[feature]
        found = values[np.minimum(np.maximum(start + 1 + code, start), last[feature])]
        if self.categorical is not None:
            found[code == SET] = np.nan
        return found

    def take_features(self, features: Any) -> "BinnedColumns":
        features = np.asarray(features)
        codes = np.asfortranarray(self.codes[:, features])
        edges = [self.edges[j] for j in np.arange(self.n_features)[features]]
        categorical = None if self.categorical is None else self.categorical[features]
        wide = None if self.wide is None else self.wide[features]
        return type(self)(codes, edges, self.has_missing[features], self.missing, categorical, wide)

    def take_rows(self, rows: Any) -> "BinnedColumns":
        """The rows with these indices, in this order, in the same bins."""
        codes = np.ascontiguousarray(self.codes.T[:, rows]).T
        return type(self)(
            codes, self.edges, self.has_missing, self.missing, self.categorical, self.wide
        )


def edges_of_numbers(x, j, n_bins):
    """The edges between the numbers of categories, all of which are bins."""
    values = np.unique(x[~np.isnan(x)])
    if len(values) and not (
        values[0] >= 0 and values[-1] < n_bins and (values == np.trunc(values)).all()
    ):
        raise ValueError(
            f"Feature {j} is categorical, and the tree needs the numbers 0 to {n_bins - 1} of its "
            f"categories here; it has {values[-1] if values[0] >= 0 else values[0]:g}. The "
            "ensembles whose documentation has categorical features make these numbers."
        )
    return np.arange(int(values[-1]) if len(values) else 0) + 0.5


def _bin_columns(X, max_bins, missing, kept, sample_weight, codes):
    """Write the codes of some columns; of each its edges, and whether it has NaN and is wide."""
    found = []
    for j, x, values, cumulated, wide in _columns_as_read(X, max_bins, kept, sample_weight):
        edges = np.empty(0)
        if len(values):
            if not np.isfinite(values[[0, -1]]).all():
                raise ValueError("Input X contains infinity.")
            edges = edges_of_sorted(values, cumulated, max_bins)
        EdgeTable(edges, missing).code(x, codes[:, j])
        misses = len(values) < (len(x) if kept is None else len(kept))
        found.append((edges, misses, wide))
    return found


def _columns_as_read(X, max_bins, kept, sample_weight):
    """(number, column, values as of `_in_order`, whether wide) of each column as it is read."""
    with np.errstate(over="ignore"):  # beyond single precision: of wide columns
        for j, x in enumerate(columns_in_one_piece(X, np.float32)):
            values, cumulated = _in_order(x, kept, sample_weight)
            if len(values) and _may_be_wide(X, j, values, max_bins, cumulated):
                (double,) = columns_in_one_piece(X[:, j : j + 1])
                in_double = _in_order(double, kept, sample_weight)
                if is_wide(*in_double, max_bins):
                    yield j, double, *in_double, True
                    continue
            yield j, x, values, cumulated, False


def scikit_learn_merges(X: Any, rows: np.ndarray | None = None) -> bool:
    """Whether scikit-learn's trees take different values of a column of X for one.

    They read single precision, and take values for equal that differ by at most 1e-7. Of columns of
    many values this is to be for a half of the neighbours. Of some rows if they are given. A sparse
    X is asked as the same array.
    """
    if issparse(X):
        X, rows = _columns_of_near_values(X if rows is None else X.tocsr()[rows]), None
    for _, _, values, _, wide in _columns_as_read(X, MOST_BINS, rows, None):
        if wide:
            return True
        with np.errstate(invalid="ignore"):  # of infinite values, which are refused later
            steps = values[1:] - values[:-1]
        n_equal = np.count_nonzero(steps == 0)
        n_merged, n_steps = np.count_nonzero(steps <= _LEAST_STEP) - n_equal, len(steps) - n_equal
        if n_merged > (0 if n_steps < _FEW_VALUES else n_steps / 2):
            return True
    return False


def _columns_of_near_values(X: Any) -> Any:
    """The columns of a sparse X of which scikit-learn's trees merge values, not only by chance.

    By chance it is at most a twentieth of the neighbours: of thousands of columns one nearly always
    has two such values, and trees on the codes of all zeros would take several times as long.
    O(nnz log nnz), without the zeros that are not stored.
    """
    columns, p = canonical(X.tocsc()), X.shape[1]
    owner = np.concatenate([np.repeat(np.arange(p), np.diff(columns.indptr)), np.arange(p)])
    values = np.concatenate([columns.data, np.zeros(p, dtype=columns.dtype)])
    order = np.lexsort((values, owner))
    owner, values = owner[order], values[order]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        near = single[1:] - single[:-1] <= _LEAST_STEP
    # Beside NaN nothing is near.
    differ = (values[1:] != values[:-1]) & ~np.isnan(values[1:]) & (owner[1:] == owner[:-1])
    n_steps, n_near = (
        np.bincount(owner[1:][each], minlength=p) for each in (differ, differ & near)
    )
    is_far = np.bincount(owner[np.isinf(single)], minlength=p) > 0
    return columns[:, np.flatnonzero(is_far | (n_near > n_steps * _NEAR_BY_CHANCE))]


def _in_order(x, kept, sample_weight):
    """The values of kept rows in order without NaN; running weights, None if all are equal."""
    used = x if kept is None else x[kept]
    if sample_weight is None:
        values = sorted_values(used)
    else:
        order = np.argsort(used)
        values = used[order]
    if len(values) and np.isnan(values[-1]):  # NaN comes last
        values = values[: np.searchsorted(values, np.nan)]
    if sample_weight is None:
        return values, None
    return values, np.cumsum(sample_weight[order[: len(values)]])


# With so few different values each is told from all others.
_FEW_VALUES = MISSING
# Beyond: different values that single precision takes for one are so by chance if they are two in
# one place, with at most this share of the weight, and at most this share of all values are.
_BY_CHANCE = 0.01
# So many of the neighbours among the values of a sparse column are near each other by chance.
_NEAR_BY_CHANCE = 0.05
# scikit-learn's trees do not tell values of a smaller difference apart.
_LEAST_STEP = 1e-7
# Rows of a column of many values that are looked at first.
_PARTS, _ROWS_OF_A_PART = 8, 1024


def _may_be_wide(X, j, values, max_bins, cumulated):
    """Whether column j of X, of these sorted values in single precision, could be wide. O(n).

    If not, no value occurs as often as one that different values have become, or each that does is
    one value. Of a column of many values this is looked up in parts of many rows.
    """
    if X.dtype == np.float32:
        return False
    if not -_LARGEST <= values[0] <= values[-1] <= _LARGEST:
        return True
    n, run = len(values), 2
    changes = values[1:] != values[:-1]
    n_changes = np.count_nonzero(changes)
    is_few = n_changes < _FEW_VALUES
    if cumulated is None and not is_few:
        run = max(2, ceil(n / (2 * max_bins)))
    if 2 * n_changes > n and not (values[run - 1 :] == values[: n - run + 1]).any():
        return False
    # All values, or every one that occurs so often, and others.
    often = values[np.append(np.flatnonzero(changes), n - 1)] if is_few else values[::run].copy()
    if issparse(X) or X.dtype != np.float64:
        (x,) = columns_in_one_piece(X[:, j : j + 1])
    elif is_few or len(X) <= 2 * _PARTS * _ROWS_OF_A_PART:
        x = X[:, j]
    else:
        first = np.linspace(0, len(X) - _ROWS_OF_A_PART, _PARTS).astype(int).tolist()
        x = np.concatenate([X[a : a + _ROWS_OF_A_PART, j] for a in first])
    return not are_told_apart(x, often)


def is_wide(values: np.ndarray, cumulated: np.ndarray | None, max_bins: int) -> bool:
    """Whether a column has to be read in double precision.

    Where it has a few values, these must stay apart in single precision. Where it has many, a
    single number may stand for two of them by chance, which draws of a continuous distribution do;
    but not for so much weight that bins become coarser, nor for many values. `values` are in
    increasing order, without NaN; `cumulated` are their running weights, None for 1, 2, ..., n.
    """
    if not len(values):
        return False
    last = np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)
    with np.errstate(over="ignore"):
        single = values[last].astype(np.float32)
    if not np.isfinite(single[[0, -1]]).all():
        return bool(np.isfinite(values[[0, -1]]).all())
    last_of_single = np.append(np.flatnonzero(single[1:] != single[:-1]), len(single) - 1)
    n_lost = len(last) - len(last_of_single)
    if n_lost == 0 or len(last) <= _FEW_VALUES:
        return n_lost > 0
    total = np.arange(1.0, len(values) + 1) if cumulated is None else cumulated
    share = np.diff(total[last[last_of_single]], prepend=0) / total[-1]
    n_values = np.diff(last_of_single, prepend=-1)
    coarse = (n_values > 1) & (share >= 1 / (2 * max_bins))
    if n_lost < _BY_CHANCE * len(last):
        coarse &= (n_values > 2) | (share >= _BY_CHANCE)
    return bool(coarse.any())
