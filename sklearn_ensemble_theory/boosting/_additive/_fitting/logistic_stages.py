"""Stages of the logistic loss, wherever the rows are.

The residuals are working residuals g/w, with the gradient g = y - p at the scores of the model and
weights w, the second derivatives p (1 - p) [Friedman, Hastie and Tibshirani 2000]; rounds of a
stage lower the quadratic that has this gradient and these weights. A stage ends when the scores
have moved by a given amount, and the next one computes gradients and weights again. The weights of
all models are those of the model of all rows: the tables of pairs of cuts are then counted once for
all folds, while every gradient is exact. Weights that have changed little since the stage before,
on average by no more than a given share, are kept, and with them all products of cuts: only
gradients are summed again.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax

from sklearn_ensemble_theory.boosting._additive._fitting.table_models import Stage, TableModel
from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import (
    CountedGram,
    StoredGram,
)
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout
from sklearn_ensemble_theory.boosting._additive._tables.normalized_cuts import NormalizedCuts
from sklearn_ensemble_theory.boosting._additive._tables.table_state import TableState

# Second derivatives are bounded from below by this: a row whose probability is 0 or 1 to rounding
# has a gradient of that size too.
_MIN_CURVATURE = 1e-5


class KnownWeights:
    """The weights of a stage, by what depends on nothing else.

    Parameters
    ----------
    gram : CountedGram or StoredGram
    n_models : int

    Attributes
    ----------
    rows : list of CutRows or None
        The products of cuts, by model.
    """

    def __init__(self, gram: CountedGram | StoredGram, n_models: int) -> None:
        self.gram = gram
        self.rows: list = [None] * n_models

    def table_state(
        self, cuts: NormalizedCuts, number: int, max_cuts: int | None = None
    ) -> TableState:
        """The state of a model, with the products that an earlier one of it has computed."""
        state = TableState(cuts, max_cuts, rows=self.rows[number])
        self.rows[number] = state.rows
        return state


class LogisticStages(ABC):
    """The logistic loss of two classes, one score, or of K classes, K scores.

    Parameters
    ----------
    layout : CutLayout
    class_weight : array of shape (n_groups, n_classes)
        The weight of each class in each fold.
    mean_weight : float
        Of a row.
    n_splits : int
    max_cuts : int or None
        Of how many cuts each model keeps the rows of products.

    Attributes
    ----------
    n_refreshes : int
        How many stages have been opened.
    """

    is_quadratic = False

    def __init__(
        self,
        layout: CutLayout,
        class_weight: np.ndarray,
        mean_weight: float,
        n_splits: int,
        max_cuts: int | None = None,
    ) -> None:
        self.layout, self.class_weight, self.mean_weight = layout, class_weight, mean_weight
        self.n_splits, self.max_cuts = n_splits, max_cuts
        self.n_classes = class_weight.shape[1]
        self.n_scores = 1 if self.n_classes == 2 else self.n_classes
        self.n_refreshes = 0
        self.known: list = [None] * self.n_scores
        weights = np.array([class_weight.sum(), *class_weight[:n_splits].sum(axis=1)])
        if not (weights > 0).all():
            raise ValueError("Every split of cv must have weight in its test set.")
        self.per_square = 0.5 / weights

    @property
    def held_out(self) -> list:
        """The fold that each model leaves out: none, then each in turn."""
        return [None, *range(self.n_splits)]

    def start(self) -> list[TableModel]:
        """Models of the class frequencies alone, of the rows that each is fitted to."""
        models = []
        for fold in self.held_out:
            groups = self.class_weight
            share = (groups if fold is None else np.delete(groups, fold, axis=0)).sum(axis=0)
            # a class that is absent from the training rows has not the probability 0
            share = np.maximum(share, 0.5 * self.mean_weight)
            log = np.log(share / share.sum())
            intercepts = log[1:] - log[0] if self.n_scores == 1 else log - log.mean()
            p = len(self.layout.n_bins)
            models.append(TableModel(intercepts, [[None] * p for _ in range(self.n_scores)]))
        return models

    def open(self, models: Sequence, tolerance: float = 0.0, by_rows: bool = False) -> Stage:
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
        self.n_refreshes += 1
        self._read(models)
        for score in range(self.n_scores):
            if self._moved(score, tolerance):
                self.known[score] = self._counted(score)
        models = [model.copy() for model in models]
        states: list = [[] for _ in models]
        for score in range(self.n_scores):
            for number, model in enumerate(models):
                state = self._state(score, number, by_rows)
                model.intercepts[score] += state.cuts.mean
                states[number].append(state)
        if self.n_scores > 1:
            for model in models:
                model.intercepts -= model.intercepts.mean()
        losses = self._losses()
        return Stage(states, models, losses[1:], self.per_square, losses[0])

    def _moved(self, score, tolerance):
        """Whether the products of cuts must be counted with new weights."""
        if self.known[score] is None or tolerance <= 0:
            return True
        change, total = self._change(score)
        return change > tolerance * total

    @abstractmethod
    def _read(self, models: Sequence) -> None:
        """Compute what the other methods need of the models at the rows."""

    @abstractmethod
    def _change(self, score: int) -> tuple[float, float]:
        """The sums over all rows of the change of the weights, and of the weights."""

    @abstractmethod
    def _counted(self, score: int) -> KnownWeights:
        """The present weights of a score."""

    @abstractmethod
    def _state(self, score: int, number: int, by_rows: bool) -> Any:
        """The state of one score of a model, with the weights that are known."""

    @abstractmethod
    def _losses(self) -> np.ndarray:
        """The mean losses of the first model over all rows, and of each over its held-out rows."""


def class_weights(
    y: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    folds: np.ndarray | None,
    n_groups: int,
) -> np.ndarray:
    """The weight of each class in each fold: (n_groups, n_classes)."""
    cell = y if folds is None else y + n_classes * folds.astype(np.intp)
    total = np.bincount(cell, weights=weight, minlength=n_groups * n_classes)
    return total.reshape(n_groups, n_classes).astype(float)


def probabilities_of(scores: np.ndarray) -> np.ndarray:
    """The probability of the second class, or of all: (n, n_scores)."""
    return softmax(scores, axis=1) if scores.shape[1] > 1 else expit(scores)


def curvature_of(probability: np.ndarray, n_scores: int) -> np.ndarray:
    """The second derivatives of the loss by one score: (n,)."""
    curvature = probability * (1 - probability)
    if n_scores > 1:  # as in the multinomial LogitBoost, steps times (K - 1) / K
        curvature *= n_scores / (n_scores - 1)
    return np.maximum(curvature, _MIN_CURVATURE)


def is_of_class(y: np.ndarray, score: int, n_scores: int) -> np.ndarray:
    """Whether each row is of the class whose probability rises with a score."""
    return y == (1 if n_scores == 1 else score)


def logistic_losses(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loss of each row: (n,)."""
    if scores.shape[1] == 1:
        return np.logaddexp(0, scores[:, 0]) - y * scores[:, 0]
    return logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
