"""Columns of a sparse X in bins: the codes of what is stored, and those of what is not.

The bins are those of the same X as an array, and so are the trees that `HistogramGrower` grows on
them, to the bit. What is not stored has one code in each column, which is kept once: the sums of
these rows in a node are what the others leave of its own. Time and memory are those of the stored
values.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_ensemble_theory._bins import edges_of_sorted, middles
from sklearn_ensemble_theory._native.binning import code_different
from sklearn_ensemble_theory._native.boosted_trees import StoredCodes
from sklearn_ensemble_theory._rows import canonical
from sklearn_ensemble_theory.trees._columns import (
    MISSING,
    BinnedColumns,
    edges_of_numbers,
    is_wide,
)
from sklearn_ensemble_theory.trees._options import MAX_SEED, has_few_leaves, n_features_drawn


class SparseColumns(BinnedColumns):
    """`BinnedColumns` of a sparse X, whose `codes` are `StoredCodes`: for `HistogramGrower`."""

    codes: Any
    in_bytes = True

    @property
    def by_column(self) -> Any:
        return self.codes

    @classmethod
    def of(  # type: ignore[override]
        cls,
        X: Any,
        max_bins: int,
        sample_weight: np.ndarray | None = None,
        *,
        categorical: np.ndarray | None = None,
    ) -> "SparseColumns":
        """The columns of X in the bins of `BinnedColumns.of`; O(m log m) for m stored values."""
        n, p = X.shape
        values, rows, starts = _stored_values(X)
        first = starts.tolist()
        places = np.empty(len(values), dtype=np.intp)
        for a, z in pairwise(first):
            places[a:z] = a + np.argsort(values[a:z])
        values, rows = values[places], rows[places]
        # Columns of few different values, as most are, have a bin for each.
        codes, absent = np.empty(len(values), dtype=np.uint8), np.zeros(p, dtype=np.uint8)
        different, ends = np.empty(len(values) + p), np.zeros(p + 1, dtype=np.int64)
        code_different(values, starts, n, MISSING, different, ends, codes, absent)
        different = different[: ends[-1]]
        with np.errstate(over="ignore"):  # beyond single precision: of wide columns
            single = different.astype(np.float32).astype(np.float64)
        column = np.repeat(np.arange(p), np.diff(ends))
        wide = np.bincount(column[np.isinf(single)], minlength=p) > 0
        wide[column[1:][(single[1:] == single[:-1]) & (column[1:] == column[:-1])]] = True
        read = np.where(wide[column], different, single)
        between = middles(read[:-1], read[1:])
        edges = [between[a : max(z - 1, a)] for a, z in pairwise(ends.tolist())]
        n_missing = np.diff(np.concatenate([[0], np.cumsum(np.isnan(values))])[starts])
        weight = None
        if sample_weight is not None and not np.all(sample_weight == sample_weight[0]):
            weight = sample_weight
        others = np.diff(ends) > max_bins
        for j in np.flatnonzero(others if categorical is None else others | categorical).tolist():
            a, z = first[j : j + 2]
            mass = np.ones(z - a) if weight is None else weight[rows[a:z]]
            rest = (n if weight is None else weight.sum()) - mass.sum()
            known = slice(a, z - n_missing[j])
            x, mass = values[known], mass[: z - a - n_missing[j]]
            if z - a < n:
                place = np.searchsorted(x, 0.0)
                x, mass = np.insert(x, place, 0.0), np.insert(mass, place, rest)
            if categorical is not None and categorical[j]:
                edges[j], wide[j] = edges_of_numbers(x, j, max_bins), False
            else:
                cumulated = np.cumsum(mass)
                wide[j] = wide[j] and is_wide(x, cumulated, max_bins)
                edges[j] = edges_of_sorted(_as_read(x, wide[j]), cumulated, max_bins)
            codes[known] = np.searchsorted(edges[j], _as_read(values[known], wide[j]))
            absent[j] = np.searchsorted(edges[j], 0.0)
        codes[places], rows[places] = codes.copy(), rows.copy()
        stored = codes != np.repeat(absent, np.diff(starts))
        return cls(
            StoredCodes(
                n,
                np.concatenate([[0], np.cumsum(stored)])[starts],
                rows[stored],
                codes[stored],
                absent,
                np.array([len(e) + 1 for e in edges], dtype=np.intp),
                (n_missing > 0).astype(np.uint8),
            ),
            edges,
            n_missing > 0,
            MISSING,
            categorical,
            wide if wide.any() else None,
        )


def _stored_values(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The finite values other than 0 column by column, their rows, and where the columns begin."""
    X = canonical(X.tocsc())
    if np.isinf(X.data).any():
        raise ValueError("Input X contains infinity.")
    is_stored = X.data != 0
    starts = np.concatenate([[0], np.cumsum(is_stored)])[X.indptr]
    values = X.data[is_stored].astype(np.float64)
    return values, X.indices[is_stored].astype(np.int32), starts


def _as_read(x: np.ndarray, is_wide: bool) -> np.ndarray:
    return x if is_wide else x.astype(np.float32)


def grows_on_stored(tree: Any, X: Any) -> bool:
    """Whether the trees of boosting are grown on the stored values of X: those with histograms."""
    if tree.max_bins is None or tree.max_bins > MISSING:
        return False
    depth = MAX_SEED if tree.max_depth is None else int(tree.max_depth)
    draws = n_features_drawn(tree.max_features, X.shape[1]) < X.shape[1]
    return has_few_leaves(depth, int(tree.max_leaf_nodes or 0), X.shape[0]) and not draws
