"""Binned trees as weak learners of classes: columns cut into bins once, a tree in each round."""

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_ensemble_theory._weak_learners import ClassTask, PreparedRounds, Task, half_log_odds
from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._estimators.row_leaves import leaves_of_rows

__all__ = ["class_rounds"]


class _ClassRounds:
    """Base of the rounds: a tree grown on the shared columns, and the leaves of the rows.

    Parameters
    ----------
    tree : BinnedTreeClassifier
    X : float array of shape (n, p)
    weight : array of shape (n,) or None
        For the quantiles of the bins.
    task : Task
    """

    is_exact = False
    has_scale = True

    def __init__(self, tree: Any, X: np.ndarray, weight: np.ndarray | None, task: Any) -> None:
        self.columns = BinnedColumns.of(X, tree.max_bins, weight, wide=True)
        self.pattern = clone(tree)
        self.task = task

    def grown(
        self,
        codes: np.ndarray,
        weight: np.ndarray,
        classes: np.ndarray,
        rows: np.ndarray | None = None,
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """A fitted member, the leaf of every row, and the shares of the classes in each node."""
        member = copy(self.pattern)
        member._grow_on(self.columns, codes, weight, rows, classes=classes, n_classes=len(classes))
        arrays = member._node_arrays()
        return member, leaves_of_rows(arrays, self.columns), arrays.value


class _VoteRounds(_ClassRounds):
    """Margins are the values of votes (see `ClassTask`)."""

    task: ClassTask

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        codes = self.task.codes
        member, leaf, shares = self.grown(codes, weight, self.task.classes)
        right, wrong = self.task.vote_values
        return member, np.where(shares.argmax(axis=1)[leaf] == codes, right, wrong)


class _LogOddsRounds(_ClassRounds):
    """Outputs are half the log-odds of the second class (real AdaBoost)."""

    task: ClassTask

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        member, leaf, shares = self.grown(self.task.codes, weight, self.task.classes)
        return member, self.task.signs * half_log_odds(shares[:, -1])[leaf]


class _SignRounds(_ClassRounds):
    """Outputs -1 and +1, for targets that change in each round."""

    signs = np.array([-1, 1])

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        mass = weight * np.abs(target)
        rows = None if mass.min() > 0 else np.flatnonzero(mass)
        if rows is not None and not len(rows):
            rows, mass = None, weight
        chosen = slice(None) if rows is None else rows
        codes = (target[chosen] > 0).astype(np.intp)
        mass = mass[chosen] / mass[chosen].mean()
        member, leaf, shares = self.grown(codes, mass, self.signs, rows)
        return member, self.signs[shares.argmax(axis=1)][leaf].astype(float)


ROUNDS: dict[str, type[_ClassRounds]] = {
    "class_error": _VoteRounds,
    "class_log_odds": _LogOddsRounds,
    "signs": _SignRounds,
}


def class_rounds(
    tree: Any, X: np.ndarray, weight: np.ndarray | None, task: Task
) -> PreparedRounds | None:
    """Binned trees for a task of classes; None where clones are fitted instead.

    That is for other tasks, and for parameters that draw (each clone has a seed of its own), weigh
    classes or prune.
    """
    draws = tree.splitter == "random" or tree.max_features is not None
    if task.kind not in ROUNDS or draws or tree.class_weight is not None or tree.ccp_alpha > 0:
        return None
    rounds: Any = ROUNDS[task.kind](tree, X, weight, task)
    return rounds
