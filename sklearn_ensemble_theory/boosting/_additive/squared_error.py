"""The squared error as sums over bins: one pass over the rows, and another one given pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._blocks import Blocks, PassCount, SummedFields
from ..._rows import MemoryRows
from .cuts import CutRows, NormalizedCuts, RowState, TableState
from .pairs import PairTerms, WorkingResiduals, WorkOf
from .phases import BinnedRows, Stage, TableModel, cuts_in_memory
from .sums import CountedGram, CutSums, StoredGram, cut_sums


@dataclass
class _TargetSums(SummedFields):
    """The sums with the targets minus the pairs of each of M models, by fold."""

    y: np.ndarray  # (M, k)
    yy: np.ndarray  # (M, k)
    left_y: np.ndarray  # (M, k, P)


class SquaredError:
    """The risk of the squared error.

    Parameters
    ----------
    sums : CutSums or list of CutSums
        Of the target, or of that of each model.
    gram : CountedGram or StoredGram
    n_splits : int
    max_cuts : int or None
        Of how many cuts each model keeps the rows of products.
    blocks : MemoryRows or Blocks, default=None
        Of `BinnedRows`, where they can still be read.
    passes : PassCount, default=None
    pairs : PairTerms, default=None
        What was subtracted from y in the sums of each model.
    """

    n_scores = 1
    is_quadratic = True
    is_rough = False
    has_link = False
    unit = 1.0

    def __init__(
        self,
        sums: CutSums | list[CutSums],
        gram: CountedGram | StoredGram,
        n_splits: int,
        max_cuts: int | None = None,
        blocks: MemoryRows | Blocks | None = None,
        passes: PassCount | None = None,
        pairs: PairTerms | None = None,
    ) -> None:
        self.held_out = [None, *range(n_splits)]
        self.sums = sums if isinstance(sums, list) else [sums] * len(self.held_out)
        self.cuts = [NormalizedCuts(own, gram, k) for own, k in zip(self.sums, self.held_out)]
        self.gram, self.n_splits, self.max_cuts = gram, n_splits, max_cuts
        self.blocks, self.pairs = blocks, pairs
        self.passes = PassCount() if passes is None else passes
        self.rows = blocks.block if isinstance(blocks, MemoryRows) else None
        self.products: list[CutRows | None] = [None] * len(self.held_out)
        # Mean losses: of the first model over all rows, of the others over those they leave out.
        weights = [self.cuts[0].weight, *(cuts.held_weight for cuts in self.cuts[1:])]
        self.per_square = 1.0 / np.array(weights)

    @classmethod
    def of_rows(cls, rows: BinnedRows, max_memory: float) -> "SquaredError":
        """Sum over rows in memory, whose products of cuts are counted when they are needed."""
        options = {"sample_weight": rows.weight, "folds": rows.folds}
        sums = cut_sums(rows.codes, rows.layout, rows.y, n_folds=rows.n_groups, **options)
        max_cuts = cuts_in_memory(max_memory, rows)
        gram = CountedGram(rows.codes, rows.layout, sums.left_weight, max_cuts=max_cuts, **options)
        blocks = MemoryRows(rows, rows.codes.shape[1])
        return cls(sums, gram, rows.n_splits, max_cuts, blocks)

    def start(self) -> list[TableModel]:
        p = len(self.gram.layout.n_bins)
        return [TableModel(np.array([cuts.mean]), [[None] * p]) for cuts in self.cuts]

    def open(
        self, models: list[TableModel], tolerance: float = 0.0, by_rows: bool = False
    ) -> Stage:
        """Open the only stage; `tolerance` has no meaning here."""
        states: list[TableState | RowState] = []
        for number, (cuts, model) in enumerate(zip(self.cuts, models)):
            rows, fold = self.rows, self.held_out[number]
            if rows is None:
                states.append(TableState(cuts, self.max_cuts, model.tables[0]))
                continue
            # Of rows in memory the residuals are summed again.
            residual = rows.y - model.scores(rows.codes)[:, 0]
            if self.pairs is not None:
                residual -= self.pairs.scores(rows.codes, number)[:, 0]
            if by_rows:
                is_held = None if fold is None else rows.folds == fold
                states.append(RowState(cuts, rows.codes, residual, rows.weight, is_held))
                continue
            if any(table is not None for table in model.tables[0]):
                sums = cut_sums(
                    rows.codes,
                    rows.layout,
                    residual,
                    sample_weight=rows.weight,
                    folds=rows.folds,
                    n_folds=rows.n_groups,
                    left_weight=self.sums[number].left_weight,
                )
                cuts = NormalizedCuts(sums, self.gram, fold)
            state = TableState(cuts, self.max_cuts, rows=self.products[number])
            self.products[number] = state.rows
            states.append(state)
        squares = np.array([states[0].start_squares, *(s.start_held for s in states[1:])])
        losses = np.maximum(squares, 0) * self.per_square
        return Stage([[state] for state in states], models, losses, self.per_square)

    def work(self) -> WorkOf:
        """What computes the residuals beside which pairs are fitted."""
        return squared_work

    def given(self, pairs: PairTerms) -> "SquaredError":
        """Subtract the pairs from the targets of the main effects; one pass."""
        assert self.blocks is not None
        self.passes.n += 1
        found = self.blocks.sum(_sums_minus_pairs, pairs, len(self.cuts))
        sums = [
            replace(own, y=y, yy=yy, left_y=left_y)
            for own, y, yy, left_y in zip(self.sums, found.y, found.yy, found.left_y)
        ]
        risk = SquaredError(
            sums, self.gram, self.n_splits, self.max_cuts, self.blocks, self.passes, pairs
        )
        risk.products = self.products  # which do not depend on the target
        return risk


def _sums_minus_pairs(rows: BinnedRows, pairs: PairTerms, n_models: int) -> _TargetSums:
    none = np.zeros((rows.n_groups, rows.layout.n_cuts))  # the weights are known
    each = [
        cut_sums(
            rows.codes,
            rows.layout,
            rows.y - pairs.scores(rows.codes, number)[:, 0],
            sample_weight=rows.weight,
            folds=rows.folds,
            n_folds=rows.n_groups,
            left_weight=none,
        )
        for number in range(n_models)
    ]
    return _TargetSums(*(np.array([getattr(s, n) for s in each]) for n in ("y", "yy", "left_y")))


def squared_work(
    rows: BinnedRows,
    models: Sequence[TableModel],
    pairs: PairTerms | None,
    scores: Sequence[int],
) -> list[WorkingResiduals]:
    """Compute the residuals of each model; `pairs` and `scores` have no meaning here."""
    residuals = [rows.y - model.scores(rows.codes)[:, 0] for model in models]
    return [WorkingResiduals(rows.weight, None, residuals)]
