"""The logistic loss of rows in chunks: each stage is one pass over their bins, or two.

The first sums gradients and losses, with the scores of the models computed again from their tables,
and how far the second derivatives are from those that the products of cuts have. Only if that is
too far, a second one counts the products again.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_ensemble_theory._blocks import Blocks, PassCount, SummedFields
from sklearn_ensemble_theory.boosting._additive._fitting.chunked_pairs import weight_by_bin
from sklearn_ensemble_theory.boosting._additive._fitting.logistic_stages import (
    KnownWeights,
    LogisticStages,
    class_weights,
    curvature_of,
    is_of_class,
    logistic_losses,
    probabilities_of,
)
from sklearn_ensemble_theory.boosting._additive._fitting.pair_terms import PairTerms
from sklearn_ensemble_theory.boosting._additive._fitting.table_models import (
    LabelledRows,
    TableModel,
    scores_at,
)
from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import StoredGram
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import cut_sums
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout
from sklearn_ensemble_theory.boosting._additive._tables.normalized_cuts import NormalizedCuts
from sklearn_ensemble_theory.boosting._additive._tables.stump_sums import StumpSums


@dataclass
class _RowTotals(SummedFields):
    """Sums over rows that no model changes."""

    n_rows: int
    class_weight: np.ndarray  # (k, n_classes)
    bin_weight: np.ndarray  # (n_bins of all features,)


@dataclass
class _GradientSums(SummedFields):
    """Sums over rows at the models of a stage, of K scores, M models and k folds.

    Attributes
    ----------
    y : array of shape (K, M, k)
        Gradients w (t - p).
    left_y : array of shape (K, M, k, P)
        The same left of each cut.
    squares, new_squares : array of shape (K, M, k)
        w (t - p)^2, divided by the second derivatives that are known, and by those of the stage.
    change, total : array of shape (K,)
        Absolute differences of these, and those of the stage.
    losses : array of shape (M, k)
    """

    y: np.ndarray
    left_y: np.ndarray
    squares: np.ndarray
    new_squares: np.ndarray
    change: np.ndarray
    total: np.ndarray
    losses: np.ndarray


class _WeightsOfModel(KnownWeights):
    """The sums over rows with second derivatives at the scores of a model."""

    def __init__(self, model, sums, gram, n_models):
        super().__init__(gram, n_models)
        self.model, self.sums = model, sums


class ChunkedLogisticFits(LogisticStages):
    """The logistic loss of rows in chunks.

    Parameters
    ----------
    blocks : Blocks
        Of `LabelledRows`.
    layout : CutLayout
    n_classes : int
    n_splits : int
    passes : PassCount

    Attributes
    ----------
    bin_weights : list of p arrays
        The weight of the rows in each bin.
    """

    rows = None

    def __init__(
        self, blocks: Blocks, layout: CutLayout, n_classes: int, n_splits: int, passes: PassCount
    ) -> None:
        passes.n += 1
        totals = blocks.sum(_row_totals, n_classes)
        by_class = totals.class_weight
        super().__init__(layout, by_class, by_class.sum() / totals.n_rows, n_splits)
        self.blocks, self.passes = blocks, passes
        self.bin_weights = np.split(totals.bin_weight, np.cumsum(layout.n_bins)[:-1])
        self.models: Sequence = []
        self.found: Any = None
        self.pairs: PairTerms | None = None

    def given(self, pairs: PairTerms) -> "ChunkedLogisticFits":
        """The risk of main effects that are added to pairs."""
        other = copy.copy(self)
        other.pairs, other.known, other.n_refreshes = pairs, [None] * self.n_scores, 0
        return other

    def _read(self, models):
        self.models = models
        self.passes.n += 1
        known = [None if each is None else each.model for each in self.known]
        self.found = self.blocks.sum(_gradient_sums, models, known, self.pairs)

    def _change(self, score):
        return self.found.change[score], self.found.total[score]

    def _counted(self, score):
        # One score at a time: these sums are the largest.
        self.passes.n += 1
        counted = self.blocks.sum(_weight_sums, self.models[0], score, self.pairs)
        self.found.squares[score] = self.found.new_squares[score]
        gram = StoredGram(counted.gram(), self.layout)
        return _WeightsOfModel(self.models[0].copy(), counted.sums, gram, len(self.models))

    def _state(self, score, number, by_rows):
        known, found = self.known[score], self.found
        sums = replace(
            known.sums,
            y=found.y[score, number],
            yy=found.squares[score, number],
            left_y=found.left_y[score, number],
        )
        cuts = NormalizedCuts(sums, known.gram, self.held_out[number])
        return known.table_state(cuts, number)

    def _losses(self):
        total, of_fold = self.found.losses.sum(axis=1), self.class_weight.sum(axis=1)
        held = [self.found.losses[1 + fold, fold] / of_fold[fold] for fold in range(self.n_splits)]
        return np.array([total[0] / of_fold.sum(), *held])


def _row_totals(block, n_classes):
    rows = block.rows
    groups = class_weights(block.y, n_classes, rows.weight, rows.folds, rows.n_groups)
    return _RowTotals(len(block.y), groups, weight_by_bin(rows, rows.weight))


def _gradient_sums(
    block: LabelledRows,
    models: Sequence[TableModel],
    known: Sequence,
    pairs: PairTerms | None,
) -> Any:
    """The sums over one block; `known` has the model of each score's second derivatives."""
    rows, y = block.rows, block.y
    n_scores, n_models = len(models[0].tables), len(models)
    n_groups, n_cuts = rows.n_groups, rows.layout.n_cuts
    weight = np.ones(len(y)) if rows.weight is None else rows.weight
    found = _GradientSums(
        np.empty((n_scores, n_models, n_groups)),
        np.empty((n_scores, n_models, n_groups, n_cuts)),
        np.empty((n_scores, n_models, n_groups)),
        np.empty((n_scores, n_models, n_groups)),
        np.empty(n_scores),
        np.empty(n_scores),
        np.empty((n_models, n_groups)),
    )

    def by_fold(values):
        folds = np.zeros(len(y), np.intp) if rows.folds is None else rows.folds
        return np.bincount(folds, weights=values, minlength=n_groups)

    curvature = _curvatures(rows, models[0], pairs)
    of_model = {id(models[0]): curvature}
    before = np.empty_like(curvature)
    for score, model in enumerate(known):
        if model is None:
            model = models[0]
        elif id(model) not in of_model:
            of_model[id(model)] = _curvatures(rows, model, pairs)
        before[:, score] = of_model[id(model)][:, score]
    of_model.clear()
    found.change[:] = weight @ np.abs(curvature - before)
    found.total[:] = weight @ curvature
    none = np.zeros((n_groups, n_cuts))
    for number, model in enumerate(models):
        scores = _scores_with_pairs(rows, model, pairs, number)
        found.losses[number] = by_fold(weight * logistic_losses(scores, y))
        gradient = -probabilities_of(scores)
        for score in range(n_scores):
            own = gradient[:, score] + is_of_class(y, score, n_scores)
            sums = cut_sums(
                rows.codes,
                rows.layout,
                own,
                sample_weight=rows.weight,
                folds=rows.folds,
                n_folds=n_groups,
                left_weight=none,
            )
            found.y[score, number], found.left_y[score, number] = sums.y, sums.left_y
            squares = weight * own**2
            found.squares[score, number] = by_fold(squares / before[:, score])
            found.new_squares[score, number] = by_fold(squares / curvature[:, score])
    return found


def _scores_with_pairs(rows, model, pairs, number):
    scores = scores_at(model, rows.codes)
    return scores if pairs is None else scores + pairs.scores(rows.codes, number)


def _curvatures(rows, model, pairs):
    """The second derivatives at the scores of a model of all rows: (n, n_scores)."""
    probabilities = probabilities_of(_scores_with_pairs(rows, model, pairs, 0))
    n_scores = probabilities.shape[1]
    return np.column_stack([curvature_of(p, n_scores) for p in probabilities.T])


def _weight_sums(
    block: LabelledRows, model: TableModel, score: int, pairs: PairTerms | None
) -> StumpSums:
    """The sums with two cuts over one block, with the second derivatives at a model."""
    rows = block.rows
    weight = _curvatures(rows, model, pairs)[:, score]
    if rows.weight is not None:
        weight = weight * rows.weight
    else:
        weight = np.ascontiguousarray(weight)
    block = rows.codes, np.zeros(len(weight)), weight, rows.folds
    return StumpSums.of([block], rows.layout, rows.n_groups)
