"""The fit of the squared error: from rows to bins, from bins to sums, from these to the model.

The rows are in memory or in blocks. Blocks are read twice, and once more if there are categories;
with pairs their bins stay where the rows are, and are read again and again.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..._blocks import Blocks, PassCount
from ..._categories import CategoricalColumns
from ..._rows import ChunkedRows, Rows
from ..._scaling import TargetScale
from .bins import (
    FeatureBins,
    TargetRange,
    TrainingRows,
    binned_block,
    bins_of_blocks,
    folds_of_block,
    rows_in_bins,
    unit_weights,
    weight_unit,
)
from .pairs import PairFit
from .phases import BinnedRows
from .squared_error import SquaredError
from .sums import RowsInBins, StoredGram, StumpSums

# Rows that are put into bins and summed at a time: their codes stay in the processor's cache.
_BLOCK_ROWS = 2**14


def fit_squares(model: Any, rows: TrainingRows) -> None:
    """Fit an additive model to rows in memory."""
    # Powers of two bring weights and targets near 1: squares do not overflow, and nothing is
    # rounded.
    weight, model._weight_unit = unit_weights(rows.weight), weight_unit(rows.weight)
    y = rows.y if rows.offset is None else rows.y - rows.offset
    rows = replace(rows, weight=weight, offset=None)
    target = TargetScale.in_powers_of_two(y, weight)
    monotonic = model._monotonic(rows.X.shape[1], rows.columns)
    # Rows become bins, in units of the target, and sums over bins; the rounds read only these.
    scaled = target(y)
    bins, jumps, binned = rows_in_bins(model, rows, scaled, scaled)
    risk = SquaredError.of_rows(binned, model.max_memory)
    _fit_risk(model, risk, bins, rows.columns, jumps, monotonic, target)
    model.__dict__.pop("n_passes_", None)


def fit_squares_of_blocks(model: Any, rows: ChunkedRows) -> None:
    """Fit an additive model to rows in blocks."""
    p = rows.n_features
    model._monotonic(p, None)  # refused before rows are read
    with_pairs = model._keeps_bins_for_pairs(p)
    found = bins_of_blocks(model, rows, TargetRange.of)
    bins, n_splits = found.bins, found.n_splits
    model._monotonic(p, found.columns)
    target, n_cuts = found.target.scale(), bins.layout().n_cuts
    model._check_memory_of_blocks(n_cuts, max(n_splits, 1), n_splits)
    model._progress().message(f"{n_cuts} cuts in {p} features")
    blocks, passes = None, PassCount(found.n_passes)
    # Without pairs the rows are put into bins and summed in one go, and nothing is kept.
    if with_pairs:
        passes.n += 1
        blocks = found.rows.map(targets_in_bins, bins, target, n_splits, True)
        sums = blocks.sum(_sums_of_bins)
    else:
        sums = found.rows.sum(_sums_of_block, bins, target, n_splits)
    fit_sums(model, sums, n_splits, bins, found.columns, target, blocks, passes)
    model.n_passes_ = passes.n


def fit_sums(
    model: Any,
    sums: StumpSums,
    n_splits: int,
    bins: FeatureBins,
    columns: CategoricalColumns | None,
    target: TargetScale,
    blocks: Blocks | None = None,
    passes: PassCount | None = None,
) -> None:
    """Fit an additive model to the sums over all rows, and pairs to the rows in blocks."""
    layout = bins.layout()
    for fold in range(n_splits):
        if not 0 < sums.sums.weight[fold] < sums.sums.weight.sum():
            raise ValueError(
                f"Split {fold} of cv has no weight in its training set or in its test set."
            )
    monotonic = model._monotonic(len(layout.n_bins), columns)
    gram = StoredGram(sums.gram(), layout)
    risk = SquaredError(sums.sums, gram, n_splits, blocks=blocks, passes=passes)
    _fit_risk(model, risk, bins, columns, (), monotonic, target)


def _fit_risk(
    model: Any,
    risk: SquaredError,
    bins: FeatureBins,
    columns: CategoricalColumns | None,
    jumps: np.ndarray | tuple,
    monotonic: np.ndarray | None,
    target: TargetScale,
) -> None:
    # Rows can still be read after `fit`, in memory or in blocks, but not after `partial_fit`.
    pair_fit, sums, layout = None, risk.sums[0], risk.gram.layout
    weights = sums.bin_weights(layout)
    if risk.blocks is not None:
        pair_fit = PairFit(
            risk.blocks,
            layout,
            1,
            risk.n_splits,
            is_quadratic=True,
            bin_weights=() if risk.rows is not None else [own.sum(axis=0) for own in weights],
            passes=risk.passes,
        )
    results = model._fit_models(risk, pair_fit, layout, jumps, monotonic)
    units = target.squares_in_units
    model._set_terms(bins, columns, weights, results, target.scale, target.mean, units)
    model._keep_rows_of_folds(risk.rows, np.subtract)
    # The importance of a feature: its share of the fall of the squared error in all rounds.
    falls = np.zeros(len(layout.n_bins))
    for phase in results[:2]:
        for segment in [] if phase is None else phase.segments:
            falls += segment.paths[0][0].falls_by_feature(layout)
    model.feature_importances_ = falls / falls.sum() if falls.any() else falls


# --- sums over rows in blocks ---------------------------------------------------------------------


def sums_of_rows(
    bins: FeatureBins,
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    folds: np.ndarray | None,
    n_groups: int,
) -> StumpSums:
    """Sum over rows, which are put into bins a few at a time."""

    def parts() -> Iterator[RowsInBins]:
        for rows, codes in bins.codes_by_blocks(X, _BLOCK_ROWS):
            w, f = (None if each is None else each[rows] for each in (weight, folds))
            yield codes, y[rows], w, f

    return StumpSums.of(parts(), bins.layout(), n_groups)


def _sums_of_block(block: Rows, bins: FeatureBins, target: TargetScale, n_splits: int) -> StumpSums:
    folds = folds_of_block(block, n_splits)
    return sums_of_rows(bins, block.X, target(block.y), block.weight, folds, max(n_splits, 1))


def targets_in_bins(
    block: Rows, bins: FeatureBins, target: TargetScale, n_splits: int, with_pairs: bool
) -> BinnedRows:
    return binned_block(block, bins, target(block.y), n_splits, with_pairs)


def _sums_of_bins(rows: BinnedRows) -> StumpSums:
    def parts() -> Iterator[RowsInBins]:
        for start in range(0, len(rows.y), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            w, f = (None if each is None else each[part] for each in (rows.weight, rows.folds))
            yield rows.codes[part], rows.y[part], w, f

    return StumpSums.of(parts(), rows.layout, rows.n_groups)
