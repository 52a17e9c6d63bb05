"""The additive model of gradient boosting: initial scores, members and coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._learners import is_tree, predict_validated
from sklearn_ensemble_theory.boosting._gradient_boosting.drawn_scores import DrawnScores
from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk
from sklearn_ensemble_theory.boosting.losses import Loss
from sklearn_ensemble_theory.trees._packed import (
    PackedCache,
    TreeSums,
    add_in_threads,
    packed_trees,
)


class AdditiveModel:
    """What has been boosted so far, with its history.

    Parameters
    ----------
    loss : Loss
    init : float, ndarray of shape (K,), fitted estimator or "zero"
        What the scores start from.
    n_scores : int
        K, the number of scores of a row.
    predict_init : callable
        ``predict_init(init, loss, X)``, the predictions of an `init` that is an estimator, as the
        loss's link takes them.

    Attributes
    ----------
    members : list of lists of K fitted estimators
    steps, train_scores, validation_scores : lists of float
    in_bag_scores, oob_scores, oob_improvements : lists of float
        Risks on the rows that a round was fitted to, and on the others; 0 where rows were not
        drawn, or are not known.
    stop_reason : str
    packed : PackedCache
    n_jobs : int or None
        Threads that predict.
    """

    def __init__(
        self, loss: Loss, init: Any, n_scores: int, predict_init: Callable[[Any, Loss, Any], Any]
    ) -> None:
        self.loss, self.init, self.n_scores = loss, init, n_scores
        self.predict_init = predict_init
        self.members: list[list[Any]] = []
        self.steps: list[float] = []
        self.train_scores: list[float] = []
        self.in_bag_scores: list[float] = []
        self.oob_scores: list[float] = []
        self.oob_improvements: list[float] = []
        self.validation_scores: list[float] = []
        self.has_oob_scores = False
        self.stop_reason = "n_estimators"
        self.packed = PackedCache()
        self.n_jobs: int | None = 1

    @classmethod
    def of(cls, estimator: Any) -> AdditiveModel:
        """The model of a fitted estimator, to predict from."""
        model = cls(
            estimator.loss_,
            estimator._start,
            estimator.estimators_.shape[1],
            estimator._predict_init,
        )
        model.members = estimator.estimators_.tolist()
        model.steps = estimator.steps_.tolist()
        model.n_jobs = getattr(estimator, "n_jobs", 1)
        model.packed = getattr(estimator, "_packed", model.packed)
        return model

    @classmethod
    def to_continue(cls, estimator: Any) -> AdditiveModel:
        """The same with its history."""
        model = cls.of(estimator)
        factor, none = model.loss._deviance_factor, np.zeros(len(model.steps))
        model.train_scores = estimator.train_scores_.tolist()
        model.validation_scores = list(getattr(estimator, "validation_scores_", []))
        model.in_bag_scores = (estimator.train_score_ / factor).tolist()
        model.oob_scores = (getattr(estimator, "oob_scores_", none) / factor).tolist()
        model.has_oob_scores = hasattr(estimator, "oob_scores_")
        gains = getattr(estimator, "oob_improvement_", none)
        model.oob_improvements = (gains / factor).tolist()
        return model

    def record_drawn(self, drawn: DrawnScores | None, rows: np.ndarray | None, risk: float) -> None:
        """Add the scores of a round on the rows that it was fitted to and on the others."""
        found = (risk, 0.0, 0.0)
        if drawn is not None and rows is not None:
            found = drawn.after(rows, self.oob_scores[-1] if self.oob_scores else 0.0)
            self.has_oob_scores = True
        for scores, score in zip(
            (self.in_bag_scores, self.oob_scores, self.oob_improvements), found
        ):
            scores.append(score)

    def last_risks(self) -> str:
        """The risks after the last round, for messages."""
        note = f"risk {self.train_scores[-1]:.4g}"
        if self.validation_scores:
            note += f", validation {self.validation_scores[-1]:.4g}"
        return note

    def initial_scores(self, X: Any) -> np.ndarray:
        """u_0, an array to add to."""
        if hasattr(self.init, "predict"):
            found = self.loss.scores_from(self.predict_init(self.init, self.loss, X))
            return np.array(found, dtype=float, order="C")
        shape = (X.shape[0],) if self.n_scores == 1 else (X.shape[0], self.n_scores)
        return np.broadcast_to(0.0 if isinstance(self.init, str) else self.init, shape).copy()

    def staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The scores before the first round and after each, in one array that changes."""
        u = self.initial_scores(X)
        yield u
        sums = self._tree_sums(X)
        if sums is not None:
            for _ in sums.rounds(X, u.reshape(-1, self.n_scores)):
                yield u
            return
        for members, b in zip(self.members, self.steps):
            u += b * outputs(members, X)
            yield u

    def scores(self, X: Any) -> np.ndarray:
        """The scores after all rounds so far."""
        u = self.initial_scores(X)
        sums = self._tree_sums(X)
        if sums is not None:
            add_in_threads(sums, X, u.reshape(-1, self.n_scores), self.n_jobs)
            return u
        for members, b in zip(self.members, self.steps):
            u += b * outputs(members, X)
        return u

    def _tree_sums(self, X: Any) -> TreeSums | None:
        """The rounds as sums of trees; None where they are not all trees, or X is sparse."""
        if not _is_dense(X):
            return None
        members = [member for row in self.members for member in row]
        return self.packed.get(
            "scores",
            members,
            len(X),
            lambda n_rows: packed_rounds(members, self.steps, self.n_scores, n_rows),
        )


def packed_rounds(
    members: list[Any], steps: list[float], n_scores: int, n_rows: int | None = None
) -> TreeSums | None:
    """The sums of steps times outputs; None where the members are not all trees.

    `members` are those of all rounds, K = `n_scores` a round.
    """
    scale = np.repeat(np.asarray(steps, dtype=float), n_scores)
    return packed_trees(members, width=n_scores, scale=scale, n_rows=n_rows)


class HeldOut:
    """The validation rows and their scores, which follow the rounds."""

    def __init__(self, model: AdditiveModel, X: Any, y: np.ndarray, weight: Any) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.risk = EmpiricalRisk(model.loss, y, weight)
        self.scores = model.scores(X)

    def risk_after(self, members: list[Any], step: float, loss: Loss) -> float:
        """The validation risk, by the loss of the round, once this is added to the scores."""
        if loss is not self.risk.loss:
            self.risk = EmpiricalRisk(loss, self.y, self.weight)
        sums = packed_rounds(members, [step], len(members)) if _is_dense(self.X) else None
        if sums is None:
            self.scores += step * outputs(members, self.X)
        else:
            sums.add(self.X, self.scores.reshape(-1, len(members)))
        return self.risk.value(self.scores)


def outputs(members: list[Any], X: Any) -> np.ndarray:
    """psi of one round, for an X that is validated: (n,), or (n, K) for several scores."""
    columns = [np.asarray(_predict(member, X), dtype=float).ravel() for member in members]
    return columns[0] if len(members) == 1 else np.column_stack(columns)


def _is_dense(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind == "f"


def _predict(member: Any, X: Any) -> Any:
    if is_tree(member) and isinstance(X, np.ndarray):
        return member.predict(np.asarray(X, dtype=np.float32), check_input=False)
    if sp.issparse(X) and getattr(member, "_reads_single_precision", False):
        return member.tree_.predict(X)  # a binned tree, which is fitted to dense data only
    return predict_validated(member, X)
