"""The bins of rows in chunks: one pass over them, and another one for categories."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn_ensemble_theory._bins import check_bin_edges
from sklearn_ensemble_theory._folds import checked_n_splits, folds_by_hash
from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory.boosting._additive._bins.bin_choice import AUTO_BINS
from sklearn_ensemble_theory.boosting._additive._bins.categorical_columns import (
    CategoricalColumns,
)
from sklearn_ensemble_theory.boosting._additive._bins.chunk_summaries import (
    ChunkSummary,
    summarise,
)
from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import FeatureBins


@dataclass(frozen=True)
class ChunkedBins:
    """Rows in chunks, and what a first pass over them has found.

    Attributes
    ----------
    rows : ChunkedRows
        With the numbers of their rows, and weights of at most about 1.
    bins : FeatureBins
    columns : CategoricalColumns or None
    summary : ChunkSummary
    n_splits : int
        Folds of cross-validation; 0 for none.
    """

    rows: ChunkedRows
    bins: FeatureBins
    columns: CategoricalColumns | None
    summary: ChunkSummary
    n_splits: int


def bins_of_chunks(model: Any, rows: ChunkedRows, target_of: Callable[..., Any]) -> ChunkedBins:
    """The bins that an additive model's parameters ask for.

    Parameters
    ----------
    model : BaseAdditive
    rows : ChunkedRows
    target_of : callable
        What the summary keeps of (y, weight).
    """
    n_splits = checked_n_splits(model.cv) if model.n_estimators == "cv" else 0
    columns = categories_of_chunks(rows, model.categorical_features)
    rows = rows.knowing(allow_nan=True, encode=None if columns is None else columns.encode)
    p = rows.checks.n_features
    given = None if model.bin_edges is None else check_bin_edges(model.bin_edges, p)
    summary = rows.sum(summarise, given is None, target_of)
    categories = [None] * p if columns is None else columns.categories
    if given is None:
        given = summary.sketch.edges(AUTO_BINS if model.max_bins == "auto" else model.max_bins)
    rows = rows.knowing(
        first_rows=summary.first_rows,
        weight_unit=power_of_two(summary.high_weight),
        equal_weights=summary.low_weight == summary.high_weight,
    )
    bins = FeatureBins.of(given, summary.missing, categories)
    return ChunkedBins(rows, bins, columns, summary, n_splits)


def folds_of_chunk(chunk: Any, n_splits: int) -> Any:
    """The fold that tests on each row of a chunk; None without cross-validation."""
    return folds_by_hash(chunk.numbers, n_splits) if n_splits else None


def categories_of_chunks(rows: ChunkedRows, given: Any) -> CategoricalColumns | None:
    """The categories that occur in any chunk; None if no feature has any."""
    names = [str(name) for name in rows.meta.columns] if hasattr(rows.meta, "columns") else None
    empty = CategoricalColumns(rows.meta, given, names)
    if not empty.any:
        return None
    found = rows.given.sum(_categories_of_chunk, given, names)
    return empty if found is None else empty + found


def _categories_of_chunk(
    chunk: tuple[int, Any, Any, Any], given: Any, names: Sequence[str] | None
) -> CategoricalColumns:
    return CategoricalColumns(chunk[1], given, names)
