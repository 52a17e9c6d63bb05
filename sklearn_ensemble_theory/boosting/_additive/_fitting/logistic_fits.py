"""The logistic loss of rows in memory, by Newton steps, as sums over bins."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory.boosting._additive._fitting.logistic_stages import (
    KnownWeights,
    LogisticStages,
    class_weights,
    curvature_of,
    is_of_class,
    logistic_losses,
    probabilities_of,
)
from sklearn_ensemble_theory.boosting._additive._fitting.table_models import (
    LabelledRows,
    TableModel,
    WorkingResiduals,
    scores_at,
)
from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import CountedGram
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import cut_sums
from sklearn_ensemble_theory.boosting._additive._tables.normalized_cuts import NormalizedCuts
from sklearn_ensemble_theory.boosting._additive._tables.row_state import RowState


class _WeightsOfRows(KnownWeights):
    """The second derivatives of the loss, and those times the sample weights."""

    def __init__(self, curvature, weight, gram, n_models):
        super().__init__(gram, n_models)
        self.curvature, self.weight = curvature, weight


class LogisticFits(LogisticStages):
    """The logistic loss of rows in memory, whose scores are kept from stage to stage.

    Parameters
    ----------
    rows : BinnedRows
    y : int array of shape (n,)
        The number of each row's class.
    n_classes : int
    max_cuts : int or None
    offsets : list of arrays of shape (n, n_scores), default=None
        Scores to which those of each model are added.
    """

    def __init__(self, rows, y, n_classes, max_cuts=None, offsets=None):
        self.rows, self.y, self.offsets = rows, y, offsets
        self.weight = np.ones(len(y)) if rows.weight is None else rows.weight
        by_class = class_weights(y, n_classes, rows.weight, rows.folds, rows.n_groups)
        super().__init__(rows.layout, by_class, self.weight.mean(), rows.n_splits, max_cuts)
        self.scores: list = []  # of each model at all rows: (n, n_scores)
        self.scored: list = []  # the models of these scores
        self.probabilities: list = []

    def working_residuals(self, models: list, pairs=None) -> list[WorkingResiduals]:
        """Working residuals, with the weights of the first model.

        Parameters
        ----------
        models : list of TableModel
        pairs : PairTerms, default=None
            Functions that are added to those of the models.
        """
        return logistic_work(LabelledRows(self.rows, self.y), models, pairs, range(self.n_scores))

    def given(self, pairs) -> "LogisticFits":
        """The risk of main effects that are added to pairs."""
        offsets = [pairs.scores(self.rows.codes, k) for k in range(len(self.held_out))]
        return LogisticFits(self.rows, self.y, self.n_classes, self.max_cuts, offsets)

    def _read(self, models):
        self._update_scores(models)
        self.probabilities = [probabilities_of(scores) for scores in self.scores]

    def _curvature(self, score):
        return curvature_of(self.probabilities[0][:, score], self.n_scores)

    def _change(self, score):
        curvature = self._curvature(score)
        change = self.weight @ np.abs(curvature - self.known[score].curvature)
        return change, self.weight @ curvature

    def _counted(self, score):
        curvature, rows = self._curvature(score), self.rows
        weight = self.weight * curvature
        sums = self._sums(np.zeros(len(curvature)), weight, None)
        gram = CountedGram(
            rows.codes,
            rows.layout,
            sums.left_weight,
            sample_weight=weight,
            folds=rows.folds,
            max_cuts=self.max_cuts,
        )
        return _WeightsOfRows(curvature, weight, gram, len(self.held_out))

    def _state(self, score, number, by_rows):
        known, fold = self.known[score], self.held_out[number]
        target = is_of_class(self.y, score, self.n_scores)
        residual = (target - self.probabilities[number][:, score]) / known.curvature
        sums = self._sums(residual, known.weight, known.gram.left_weight)
        cuts = NormalizedCuts(sums, known.gram, fold)
        if not by_rows:
            return known.table_state(cuts, number, self.max_cuts)
        is_held = None if fold is None else self.rows.folds == fold
        residual -= cuts.mean
        return RowState(cuts, self.rows.codes, residual, known.weight, is_held)

    def _sums(self, residual, weight, left_weight):
        rows = self.rows
        return cut_sums(
            rows.codes,
            rows.layout,
            residual,
            sample_weight=weight,
            left_weight=left_weight,
            folds=rows.folds,
            n_folds=rows.n_groups,
        )

    def _update_scores(self, models):
        """The scores of all rows, from those of the models of the stage before."""
        codes = self.rows.codes
        if not self.scores:
            self.scores = [np.tile(m.intercepts, (len(self.y), 1)) for m in models]
            for scores, offset in zip(self.scores, self.offsets or []):
                scores += offset
            self.scored = [None] * len(models)
        for number, (model, scores) in enumerate(zip(models, self.scores)):
            before = self.scored[number]
            for score in range(self.n_scores):
                shift = model.intercepts[score]
                if before is not None:
                    shift -= before.intercepts[score]
                    scores[:, score] += shift
                for j, table in enumerate(model.tables[score]):
                    known = None if before is None else before.tables[score][j]
                    if table is None or table is known:
                        change = None if known is None or table is known else -known
                    else:
                        change = table if known is None else table - known
                    if change is not None:
                        scores[:, score] += change.take(codes[:, j])
            self.scored[number] = TableModel(
                model.intercepts.copy(), [list(own) for own in model.tables]
            )

    def _losses(self):
        losses = []
        for scores, fold in zip(self.scores, self.held_out):
            loss = logistic_losses(scores, self.y)
            kept = slice(None) if fold is None else self.rows.folds == fold
            losses.append(np.average(loss[kept], weights=self.weight[kept]))
        return np.array(losses)


def logistic_work(
    block: LabelledRows, models: Sequence[TableModel], pairs: Any, scores: Sequence[int]
) -> list[WorkingResiduals]:
    """Working residuals of some of the scores, with the weights of the first model.

    Parameters
    ----------
    block : LabelledRows
    models : sequence of TableModel
    pairs : PairTerms or None
        Functions that are added to those of the models.
    scores : sequence of int
    """
    rows, n_scores = block.rows, len(models[0].tables)
    weight = np.ones(len(block.y)) if rows.weight is None else rows.weight
    probabilities = []
    for number, model in enumerate(models):
        own = scores_at(model, rows.codes)
        if pairs is not None:
            own += pairs.scores(rows.codes, number)
        probabilities.append(probabilities_of(own))
    works = []
    for score in scores:
        curvature = curvature_of(probabilities[0][:, score], n_scores)
        target = is_of_class(block.y, score, n_scores)
        residuals = [(target - p[:, score]) / curvature for p in probabilities]
        works.append(WorkingResiduals(weight * curvature, weight, residuals))
    return works
