"""Pairs of features in an additive model of rows in chunks: `PairsOfRows`, by passes over them.

The residuals are computed anew from the functions of the main effects and of the pairs, and kept
where the rows are while pairs are boosted on them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_ensemble_theory._blocks import Blocks, PassCount, SummedFields
from sklearn_ensemble_theory._folds import row_numbers
from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory.boosting._additive._bins.chunked_bins import folds_of_chunk
from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive._fitting.pair_terms import (
    OWN_FOLDS,
    PAIR_BINS,
    PairTerms,
    own_folds,
)
from sklearn_ensemble_theory.boosting._additive._fitting.table_models import (
    BinnedRows,
    LabelledRows,
    WorkingResiduals,
)
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout
from sklearn_ensemble_theory.boosting._pairs.coarse_bins import CoarseBins, merged_bins
from sklearn_ensemble_theory.boosting._pairs.detection import (
    DETECTION_BINS,
    DetectedPairs,
    pair_tables,
    strongest_pairs,
    table_values,
)
from sklearn_ensemble_theory.boosting._pairs.pair_cells import coarse_columns
from sklearn_ensemble_theory.boosting._pairs.pair_passes import (
    PairColumns,
    PairPasses,
    PairResiduals,
    ResidualSums,
    cell_weights,
    residual_sums,
    table_shape,
)

# Cells of the tables that a chunk returns at a time, of three numbers each: 12 MiB.
_CELLS_OF_A_PASS = 2**19

WorkOf = Callable[..., list[WorkingResiduals]]


def labelled_rows(
    chunk: Rows, bins: FeatureBins, y: np.ndarray, n_splits: int, with_pairs: bool
) -> LabelledRows:
    """A chunk in bins, with its targets y or the numbers of its classes."""
    codes, folds = bins.codes(chunk.X), folds_of_chunk(chunk, n_splits)
    rows = BinnedRows(codes, bins.layout(), chunk.weight, folds, n_splits)
    with_own = with_pairs and not n_splits
    return LabelledRows(rows, y, own_folds(row_numbers(chunk.numbers)) if with_own else None)


def weight_by_bin(rows: BinnedRows, weight: np.ndarray | None) -> np.ndarray:
    """The weight of the rows in each bin, feature by feature: (n_bins of all features,)."""
    n_bins = rows.layout.n_bins
    found = [np.bincount(rows.codes[:, j], weight, n_bins[j]) for j in range(len(n_bins))]
    return np.concatenate(found).astype(float)


@dataclass
class _CellWeights(SummedFields):
    """The weight of the rows in the cells of the pairs: (A, B) each."""

    tables: list[np.ndarray]


class PairsOfChunks:
    """What `fit_pairs` needs of rows in chunks.

    Parameters
    ----------
    blocks : Blocks
        Of `LabelledRows`, with folds.
    layout : CutLayout
    work_of : callable
        `squared_work` or `logistic_work`.
    n_scores : int
    n_splits : int
    bin_weights : list of p arrays
        The weight of the rows in each bin.
    passes : PassCount
    is_quadratic : bool
        Whether the weights are those of the rows.
    """

    def __init__(
        self,
        blocks: Blocks,
        layout: CutLayout,
        work_of: WorkOf,
        n_scores: int,
        n_splits: int,
        bin_weights: Sequence[np.ndarray],
        passes: PassCount,
        *,
        is_quadratic: bool,
    ) -> None:
        self.blocks, self.layout, self.work_of = blocks, layout, work_of
        self.n_scores, self.n_splits, self.bin_weights = n_scores, n_splits, bin_weights
        self.passes, self.is_quadratic = passes, is_quadratic
        self.models: list = []
        self.terms: PairTerms | None = None
        self.columns: Any = None

    def open(self, models: Sequence, terms: PairTerms | None) -> None:
        """Use the residuals of models and pairs, for all that follows."""
        self.models = [model.copy() for model in models]
        self.terms = None if terms is None else terms.copy()

    def strongest(self, score: int, n_pairs: int | str, features: np.ndarray) -> DetectedPairs:
        """The pairs that are found by the residuals of a score."""
        model, weights = self.models[:1], self.bin_weights
        if not self.is_quadratic:
            total = self._sum(_working_weights, self.work_of, model, score)
            weights = np.split(total, np.cumsum(self.layout.n_bins)[:-1])
        bins = self._bins(weights, DETECTION_BINS)

        def tables_of(pairs):
            total = self._sum(_detection_tables, self.work_of, model, score, pairs, bins)
            shapes = [(3, *table_shape(pair, bins)) for pair in pairs]
            starts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
            return [t.reshape(shape) for t, shape in zip(np.split(total, starts), shapes)]

        return strongest_pairs(
            tables_of, bins, features, n_pairs, random_state=0, cells_at_once=_CELLS_OF_A_PASS
        )

    def start(self, pairs: list) -> tuple[CoarseBins, list[np.ndarray]]:
        """The bins of the tables of pairs, and the weight of the rows in their cells."""
        self.pairs, self.bins = pairs, self._bins(self.bin_weights, PAIR_BINS)
        self.passes.n += 1
        self.columns, weights = self.blocks.step(_columns_of_pairs, pairs, self.bins)
        return self.bins, weights.tables

    def boosted(self, score: int) -> list[np.ndarray]:
        """What boosting on the residuals of a score adds to the tables: (K, A, B) for each pair."""
        self.passes.n += 1
        state, sums = self.blocks.step(
            _residuals_of_members,
            self.columns,
            self.work_of,
            self.models,
            self.terms,
            score,
            self.pairs,
            self.bins,
        )
        boost = PairPasses(self.columns, state, sums, self.pairs, self.bins, self.passes)
        return boost.run().tables

    def close(self) -> None:
        """Free the coarse bins of the rows."""
        self.columns = None

    def _sum(self, function, *args):
        self.passes.n += 1
        return self.blocks.sum(function, *args)

    def _bins(self, weights, max_bins):
        layout = self.layout
        return merged_bins(
            lambda j: weights[j],
            layout.n_bins,
            max_bins,
            missing=layout.missing,
            categorical=layout.categorical,
        )


def _working_weights(block: LabelledRows, work_of: WorkOf, models: Any, score: int) -> np.ndarray:
    return weight_by_bin(block.rows, work_of(block, models, None, [score])[0].weight)


def _detection_tables(
    block: LabelledRows, work_of: WorkOf, models: Any, score: int, pairs: list, bins: CoarseBins
) -> np.ndarray:
    """The tables of some pairs in one piece."""
    (work,) = work_of(block, models, None, [score])
    values = table_values(work.residuals[0], work.weight, work.frequency)
    tables = pair_tables(block.rows.codes, bins, pairs, values)
    return np.concatenate([table.ravel() for table in tables])


def _columns_of_pairs(
    block: LabelledRows, pairs: list, bins: CoarseBins
) -> tuple[PairColumns, _CellWeights]:
    rows = block.rows
    folds = rows.folds if rows.folds is not None else block.pair_folds
    assert folds is not None  # rows without folds have those of pairs
    columns = PairColumns(coarse_columns(rows.codes, rows.layout.n_bins, pairs, bins), folds)
    n_folds = rows.n_splits or OWN_FOLDS
    weights = cell_weights(columns, rows.weight, n_folds, pairs, bins)
    return columns, _CellWeights([table.sum(axis=0) for table in weights])


def _residuals_of_members(
    block: LabelledRows,
    columns: PairColumns,
    work_of: WorkOf,
    models: list,
    terms: PairTerms | None,
    score: int,
    pairs: list,
    bins: CoarseBins,
) -> tuple[PairResiduals, ResidualSums]:
    (work,) = work_of(block, models, terms, [score])
    own = work.residuals[1:] if block.rows.n_splits else work.residuals * OWN_FOLDS
    state = PairResiduals(np.array(own), work.weight)
    return state, residual_sums(state, columns, pairs, bins)
