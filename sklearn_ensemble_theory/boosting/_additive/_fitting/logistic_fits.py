"""The logistic loss by Newton steps, as sums over bins.

The residuals are working residuals g/w, with the gradient g = y - p at the scores of the model and
weights w, the second derivatives p (1 - p) [Friedman, Hastie and Tibshirani 2000]; rounds of a
stage lower the quadratic that has this gradient and these weights. A stage ends when the scores
have moved by a given amount, and the next one computes gradients and weights again. The weights of
all models are those of the model of all rows: the tables of pairs of cuts are then counted once for
all folds, while every gradient is exact. Weights that have changed little since the stage before,
on average by no more than a given share, are kept, and with them all products of cuts: only
gradients are summed again.
"""

import numpy as np
from scipy.special import expit, logsumexp, softmax

from sklearn_ensemble_theory.boosting._additive._fitting.table_models import (
    Stage,
    TableModel,
    WorkingResiduals,
    scores_at,
)
from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import CountedGram
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import cut_sums
from sklearn_ensemble_theory.boosting._additive._tables.normalized_cuts import NormalizedCuts
from sklearn_ensemble_theory.boosting._additive._tables.row_state import RowState
from sklearn_ensemble_theory.boosting._additive._tables.table_state import TableState

__all__ = ["LogisticFits"]

# Second derivatives are bounded from below by this: a row whose probability is 0 or 1 to rounding
# has a gradient of that size too.
_MIN_CURVATURE = 1e-5


class _WeightsOfScore:
    """The weights of a stage and what depends on nothing else.

    Attributes
    ----------
    curvature, weight : array of shape (n,)
        The second derivatives of the loss, and those times the sample weights.
    left_weight : array of shape (k, P)
    gram : CountedGram
    rows : list of CutRows or None
        The products of cuts, by model.
    """

    def __init__(self, curvature, weight, n_models):
        self.curvature, self.weight = curvature, weight
        self.left_weight = self.gram = None
        self.rows: list = [None] * n_models


class LogisticFits:
    """The logistic loss of two classes, one score, or of K classes, K scores.

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

    is_quadratic = False

    def __init__(self, rows, y, n_classes, max_cuts=None, offsets=None):
        self.offsets = offsets
        self.rows, self.y, self.n_classes = rows, y, n_classes
        self.n_scores = 1 if n_classes == 2 else n_classes
        self.max_cuts, self.n_splits = max_cuts, rows.n_splits
        self.n_passes = self.n_countings = 0
        self.known: list = [None] * self.n_scores
        n = len(y)
        self.weight = np.ones(n) if rows.weight is None else rows.weight
        self.scores: list = []  # of each model at all rows: (n, n_scores)
        self.scored: list = []  # the models of these scores
        of_fold = [
            self.weight.sum() if fold is None else self.weight[rows.folds == fold].sum()
            for fold in rows.held_out
        ]
        if not (np.array(of_fold) > 0).all():
            raise ValueError("Every split of cv must have weight in its test set.")
        self.per_square = 0.5 / np.array(of_fold)

    def start(self) -> list[TableModel]:
        """Models of the class frequencies alone, of the rows that each is fitted to."""
        models = []
        for fold in self.rows.held_out:
            weight = self.weight if fold is None else self.weight * (self.rows.folds != fold)
            share = np.bincount(self.y, weights=weight, minlength=self.n_classes)
            # a class that is absent from the training rows has not the probability 0
            share = np.maximum(share, 0.5 * self.weight.mean()) / weight.sum()
            log = np.log(share / share.sum())
            intercepts = log[1:] - log[0] if self.n_scores == 1 else log - log.mean()
            p = len(self.rows.layout.n_bins)
            models.append(TableModel(intercepts, [[None] * p for _ in range(self.n_scores)]))
        return models

    def open(self, models: list, tolerance: float = 0.0, by_rows: bool = False) -> Stage:
        """The next stage.

        Parameters
        ----------
        models : list of TableModel
        tolerance : float, default=0
            The weights of the stage before are kept if they have changed by no more than this share
            on average.
        by_rows : bool, default=False
            Whether the states are those of rows.
        """
        self.n_passes += 1
        self._update_scores(models)
        probabilities = [self._probabilities(scores) for scores in self.scores]
        models = [model.copy() for model in models]
        states: list = [[] for _ in models]
        for score in range(self.n_scores):
            known = self._weights_of_stage(score, probabilities[0][:, score], tolerance)
            target = self.y == (1 if self.n_scores == 1 else score)
            for number, fold in enumerate(self.rows.held_out):
                residual = (target - probabilities[number][:, score]) / known.curvature
                cuts = NormalizedCuts(self._sums(residual, known), known.gram, fold)
                if by_rows:
                    is_held = None if fold is None else self.rows.folds == fold
                    residual -= cuts.mean
                    state = RowState(cuts, self.rows.codes, residual, known.weight, is_held)
                else:
                    state = TableState(cuts, self.max_cuts, rows=known.rows[number])
                    known.rows[number] = state.rows
                models[number].intercepts[score] += cuts.mean
                states[number].append(state)
        if self.n_scores > 1:
            for model in models:
                model.intercepts -= model.intercepts.mean()
        losses = self._losses()
        return Stage(states, models, losses[1:], self.per_square, losses[0])

    def working_residuals(self, models: list, pairs=None) -> list[WorkingResiduals]:
        """Working residuals, with the weights of the first model.

        Parameters
        ----------
        models : list of TableModel
        pairs : PairTerms, default=None
            Functions that are added to those of the models.
        """
        scores = [scores_at(model, self.rows.codes) for model in models]
        for number, own in enumerate(scores if pairs is not None else []):
            own += pairs.scores(self.rows.codes, number)
        probabilities = [self._probabilities(own) for own in scores]
        works = []
        for score in range(self.n_scores):
            curvature = self._curvature(probabilities[0][:, score])
            target = self.y == (1 if self.n_scores == 1 else score)
            works.append(
                WorkingResiduals(
                    self.weight * curvature,
                    self.weight,
                    [(target - p[:, score]) / curvature for p in probabilities],
                )
            )
        return works

    def given(self, pairs) -> "LogisticFits":
        """The risk of main effects that are added to pairs."""
        offsets = [pairs.scores(self.rows.codes, k) for k in range(len(self.rows.held_out))]
        return LogisticFits(self.rows, self.y, self.n_classes, self.max_cuts, offsets)

    def _curvature(self, probability):
        curvature = probability * (1 - probability)
        if self.n_scores > 1:  # as in the multinomial LogitBoost, steps times (K - 1) / K
            curvature *= self.n_classes / (self.n_classes - 1)
        return np.maximum(curvature, _MIN_CURVATURE)

    def _weights_of_stage(self, score, probability, tolerance):
        """The second derivatives of a score, with the sums that depend on nothing else."""
        curvature = self._curvature(probability)
        known = self.known[score]
        if known is not None and tolerance > 0:
            change = self.weight @ np.abs(curvature - known.curvature)
            if change <= tolerance * (self.weight @ curvature):
                return known
        self.n_countings += 1
        known = _WeightsOfScore(curvature, self.weight * curvature, len(self.rows.held_out))
        sums = self._sums(np.zeros(len(curvature)), known)
        known.left_weight = sums.left_weight
        known.gram = CountedGram(
            self.rows.codes,
            self.rows.layout,
            sums.left_weight,
            sample_weight=known.weight,
            folds=self.rows.folds,
            max_cuts=self.max_cuts,
        )
        self.known[score] = known
        return known

    def _sums(self, residual, known):
        rows = self.rows
        return cut_sums(
            rows.codes,
            rows.layout,
            residual,
            sample_weight=known.weight,
            left_weight=known.left_weight,
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

    def _probabilities(self, scores):
        if self.n_scores > 1:
            return softmax(scores, axis=1)
        return expit(scores)

    def _losses(self):
        """The mean losses of the first model over all rows, and of each over its held-out rows."""
        losses = []
        for scores, fold in zip(self.scores, self.rows.held_out):
            if self.n_scores == 1:
                loss = np.logaddexp(0, scores[:, 0]) - self.y * scores[:, 0]
            else:
                loss = logsumexp(scores, axis=1) - scores[np.arange(len(self.y)), self.y]
            kept = slice(None) if fold is None else self.rows.folds == fold
            losses.append(np.average(loss[kept], weights=self.weight[kept]))
        return np.array(losses)
