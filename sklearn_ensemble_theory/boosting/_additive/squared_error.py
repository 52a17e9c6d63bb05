"""The squared error as sums over bins: one pass over the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_ensemble_theory._blocks import Blocks, PassCount, SummedFields
from sklearn_ensemble_theory.boosting._additive.cuts import NormalizedCuts, RowState, TableState
from sklearn_ensemble_theory.boosting._additive.pairs import PairTerms
from sklearn_ensemble_theory.boosting._additive.phases import (
    LabelledRows,
    Stage,
    TableModel,
    WorkingResiduals,
    scores_at,
)
from sklearn_ensemble_theory.boosting._additive.sums import CutSums, StoredGram, cut_sums


class SquaredErrorFits:
    """The squared error.

    Parameters
    ----------
    sums : CutSums or list of CutSums
        Of the target, or of that of each model.
    gram : CountedGram or StoredGram
    n_splits : int
    max_cuts : int or None
        Of how many cuts each model keeps the rows of products.
    rows : BinnedRows, default=None
    y : array of shape (n,), default=None
        The rows, where they are at hand.
    offsets : list of arrays of shape (n,), default=None
        What was subtracted from y in the sums of each model.
    """

    n_scores = 1
    is_quadratic = True

    def __init__(self, sums, gram, n_splits=0, max_cuts=None, rows=None, y=None, offsets=None):
        self.offsets = offsets
        held_out = [None, *range(n_splits)]
        each = sums if isinstance(sums, list) else [sums] * len(held_out)
        self.cuts = [NormalizedCuts(own, gram, fold) for own, fold in zip(each, held_out)]
        self.gram, self.max_cuts, self.n_splits = gram, max_cuts, n_splits
        self.rows, self.y = rows, y
        weights = [self.cuts[0].weight, *(cuts.held_weight for cuts in self.cuts[1:])]
        self.per_square = 1.0 / np.array(weights)

    def start(self) -> list[TableModel]:
        p = len(self.cuts[0].layout.n_bins)
        return [TableModel(np.array([cuts.mean]), [[None] * p]) for cuts in self.cuts]

    def open(self, models: list, tolerance: float = 0.0, by_rows: bool = False) -> Stage:
        """The next stage; `tolerance` has no meaning here."""
        if by_rows:
            states = [[self._row_state(number, model)] for number, model in enumerate(models)]
        else:
            states = [
                [TableState(cuts, self.max_cuts, model.tables[0])]
                for cuts, model in zip(self.cuts, models)
            ]
        squares = np.array([states[0][0].start_squares, *(s[0].start_held for s in states[1:])])
        losses = np.maximum(squares, 0) * self.per_square
        return Stage(states, models, losses[1:], self.per_square, losses[0])

    def _row_state(self, number, model):
        rows = self.rows
        residual = self.y - scores_at(model, rows.codes)[:, 0]
        if self.offsets is not None:
            residual -= self.offsets[number]
        fold = rows.held_out[number]
        is_held = None if fold is None else rows.folds == fold
        return RowState(self.cuts[number], rows.codes, residual, rows.weight, is_held)

    def working_residuals(self, models: list, pairs=None) -> list[WorkingResiduals]:
        return squared_work(LabelledRows(self.rows, self.y), models, pairs, [0])

    def given(self, pairs) -> "SquaredErrorFits":
        """The risk of main effects that are added to pairs."""
        rows = self.rows
        offsets = [pairs.scores(rows.codes, k)[:, 0] for k in range(len(rows.held_out))]
        sums = [
            cut_sums(
                rows.codes,
                rows.layout,
                self.y - offset,
                sample_weight=rows.weight,
                left_weight=self.gram.left_weight,
                folds=rows.folds,
                n_folds=rows.n_groups,
            )
            for offset in offsets
        ]
        return SquaredErrorFits(
            sums, self.gram, self.n_splits, self.max_cuts, rows, self.y, offsets
        )


def squared_work(
    block: LabelledRows, models: Sequence[TableModel], pairs: Any, scores: Sequence[int]
) -> list[WorkingResiduals]:
    """The residuals of each model; `pairs` and `scores` have no meaning for the squared error."""
    residuals = [block.y - scores_at(model, block.rows.codes)[:, 0] for model in models]
    return [WorkingResiduals(block.rows.weight, None, residuals)]


@dataclass
class _TargetSums(SummedFields):
    """The sums with the targets minus the pairs of each of M models, by fold.

    Attributes
    ----------
    y, yy : array of shape (M, k)
    left_y : array of shape (M, k, P)
    """

    y: np.ndarray
    yy: np.ndarray
    left_y: np.ndarray


class ChunkedSquaredFits(SquaredErrorFits):
    """`SquaredErrorFits`, whose rows are in chunks.

    Parameters
    ----------
    blocks : Blocks
        Of `LabelledRows`.
    sums : CutSums
        Over all chunks.
    gram : StoredGram
    n_splits : int
    passes : PassCount
    """

    def __init__(
        self, blocks: Blocks, sums: CutSums, gram: StoredGram, n_splits: int, passes: PassCount
    ) -> None:
        super().__init__(sums, gram, n_splits)
        self.blocks, self.sums, self.passes = blocks, sums, passes

    def given(self, pairs: PairTerms) -> SquaredErrorFits:
        """The risk of main effects that are added to pairs; one pass."""
        self.passes.n += 1
        found = self.blocks.sum(_sums_minus_pairs, pairs, len(self.cuts))
        sums = [
            replace(self.sums, y=y, yy=yy, left_y=left_y)
            for y, yy, left_y in zip(found.y, found.yy, found.left_y)
        ]
        return SquaredErrorFits(sums, self.gram, self.n_splits)


def _sums_minus_pairs(block: LabelledRows, pairs: PairTerms, n_models: int) -> _TargetSums:
    rows = block.rows
    none = np.zeros((rows.n_groups, rows.layout.n_cuts))
    each = [
        cut_sums(
            rows.codes,
            rows.layout,
            block.y - pairs.scores(rows.codes, number)[:, 0],
            sample_weight=rows.weight,
            folds=rows.folds,
            n_folds=rows.n_groups,
            left_weight=none,
        )
        for number in range(n_models)
    ]
    return _TargetSums(*(np.array([getattr(s, n) for s in each]) for n in ("y", "yy", "left_y")))
