"""The squared error of rows in chunks, with pairs of features."""

from dataclasses import dataclass, replace

import numpy as np

from sklearn_ensemble_theory._blocks import Blocks, PassCount, SummedFields
from sklearn_ensemble_theory.boosting._additive._fitting.pair_terms import PairTerms
from sklearn_ensemble_theory.boosting._additive._fitting.squared_error_fits import SquaredErrorFits
from sklearn_ensemble_theory.boosting._additive._fitting.table_models import LabelledRows
from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import StoredGram
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import CutSums, cut_sums


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
