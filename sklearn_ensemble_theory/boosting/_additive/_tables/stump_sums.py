"""The sums over rows with no cut, one and two: all that boosting by stumps needs of the rows."""

from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import CountedGram
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import CutSums, cut_sums
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout

__all__ = ["StumpSums"]


@dataclass
class StumpSums:
    """The sums over rows from which the model is fitted without the rows.

    Attributes
    ----------
    sums : CutSums
        With one cut or none.
    gram : array of shape (k, P, P)
        With two cuts.
    """

    sums: CutSums
    gram: np.ndarray

    @classmethod
    def of(
        cls,
        codes: np.ndarray,
        layout: CutLayout,
        y: np.ndarray,
        weight: np.ndarray | None,
        folds: np.ndarray | None,
        n_groups: int,
    ) -> "StumpSums":
        """The sums over some rows in bins; O(n p^2)."""
        options = {"sample_weight": weight, "folds": folds}
        with np.errstate(over="ignore", invalid="ignore"):
            sums = cut_sums(codes, layout, y, n_folds=n_groups, **options)
            counted = CountedGram(codes, layout, sums.left_weight, **options)
            groups = [counted.whole(j) for j in range(len(layout.n_bins))]
            gram = np.concatenate([counted.block(group) for group in groups], axis=1)
        return cls(sums, gram)

    def __add__(self, other: "StumpSums") -> "StumpSums":
        with np.errstate(over="ignore", invalid="ignore"):
            return StumpSums(self.sums + other.sums, self.gram + other.gram)
