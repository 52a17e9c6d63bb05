"""Choices among candidates by their held-out predictions: the best one, or a greedy sequence."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from sklearn_ensemble_theory.combining._stacking.held_out_risks import HeldOutRisk

__all__ = ["best_candidate", "greedy_weights", "make_score"]

# A risk that is lower by less than this share is as good: the earlier choice is kept.
SMALLEST_GAIN = 1e-12

Score = Callable[[np.ndarray, np.ndarray], float]  # (mixed predictions, rows) -> higher is better


class GivenValues(RegressorMixin, BaseEstimator):
    """A fitted regressor, for scorers: its predictions are the rows of X."""

    def __init__(self, is_fitted: bool = True) -> None:
        self.is_fitted = is_fitted

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X


class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """A fitted classifier, for scorers: its probabilities are the rows of X."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes
        self.classes_ = classes

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes)[np.argmax(X, axis=1)]


def make_score(
    scoring: Any, y: np.ndarray, weight: np.ndarray | None, classes: Any = None
) -> Score:
    """The metric `scoring` of scikit-learn as a function of predictions for some of the rows.

    Parameters
    ----------
    scoring : str or callable
        Name of a metric, or `scorer(estimator, X, y)`.
    y : array of shape (n,)
        Targets, or labels.
    weight : array of shape (n,) or None
        Given to the metric as `sample_weight`.
    classes : array of shape (K,), default=None
        The labels; None for numbers.
    """
    scorer = get_scorer(scoring)
    estimator = GivenValues() if classes is None else GivenProbabilities(classes)

    def score(predictions: np.ndarray, rows: np.ndarray) -> float:
        params = {} if weight is None else {"sample_weight": weight[rows]}
        return float(scorer(estimator, predictions[rows], y[rows], **params))

    return score


def best_candidate(risk: HeldOutRisk, score: Score | None, folds: list[np.ndarray]) -> int:
    """The candidate of smallest risk, or of the largest mean score over the folds; the first of
    equal ones.

    Parameters
    ----------
    risk : HeldOutRisk
    score : callable or None
    folds : list of int arrays
        The rows of each fold.
    """
    if score is None:
        return int(np.argmin(risk.weight @ risk.candidate_losses()))
    given = risk.given
    candidates = range(given.shape[1])
    mean = [np.mean([score(given[:, j], rows) for rows in folds]) for j in candidates]
    return int(np.argmax(mean))


def greedy_weights(
    risk: HeldOutRisk,
    score: Score | None,
    *,
    n_selections: int,
    n_bags: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Forward selection with replacement (Caruana et al. 2004): shares of the selections.

    Each selection adds the candidate with which the mean of the selected predictions is best; of
    the means along the way the best one is kept, so that it is at least as good as the best
    candidate. With bags, each selects from half of the candidates, drawn at random, and the shares
    are averaged.

    Parameters
    ----------
    risk : HeldOutRisk
    score : callable or None
        Higher is better; None lowers the risk.
    n_selections : int
    n_bags : int
        1 selects from all candidates.
    rng : RandomState
    """
    k = risk.given.shape[1]
    if n_bags == 1:
        return _selection(risk, score, np.arange(k), n_selections)
    bags = [np.sort(rng.permutation(k)[: (k + 1) // 2]) for _ in range(n_bags)]
    return np.mean([_selection(risk, score, bag, n_selections) for bag in bags], axis=0)


def _selection(
    risk: HeldOutRisk, score: Score | None, allowed: np.ndarray, n_selections: int
) -> np.ndarray:
    P = risk.predictions if score is None else risk.given
    every_row = np.arange(len(P))
    total = np.zeros_like(P[:, 0])
    counts = np.zeros(P.shape[1])
    best, best_value = counts, -np.inf
    for count in range(n_selections):
        if score is None:
            values = -risk.risks_with_one_more(total, count)[allowed]
        else:
            values = np.array([score((total + P[:, j]) / (count + 1), every_row) for j in allowed])
        chosen = allowed[int(np.argmax(values))]
        counts = counts.copy()
        counts[chosen] += 1
        total = total + P[:, chosen]
        if count == 0 or values.max() > best_value + SMALLEST_GAIN * abs(best_value):
            best, best_value = counts, values.max()
    return best / best.sum()
