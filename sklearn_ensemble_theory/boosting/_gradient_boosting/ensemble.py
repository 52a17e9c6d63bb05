"""The additive model of gradient boosting: initial scores, members and coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._trees import is_tree
from sklearn_ensemble_theory._weak_learners import predict_validated
from sklearn_ensemble_theory.boosting._core.risk import EmpiricalRisk
from sklearn_ensemble_theory.boosting.losses import Loss
from sklearn_ensemble_theory.trees._packed.packed_trees import (
    PackedCache,
    TreeSums,
    packed_trees,
)


class AdditiveModel:
    """What has been boosted so far, with its history.

    Parameters
    ----------
    loss : Loss
    init : float, ndarray of shape (K,) or fitted estimator
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
    stop_reason : str
    packed : PackedCache
    """

    def __init__(
        self, loss: Loss, init: Any, n_scores: int, predict_init: Callable[[Any, Loss, Any], Any]
    ) -> None:
        self.loss, self.init, self.n_scores = loss, init, n_scores
        self.predict_init = predict_init
        self.members: list[list[Any]] = []
        self.steps: list[float] = []
        self.train_scores: list[float] = []
        self.validation_scores: list[float] = []
        self.stop_reason = "n_estimators"
        self.packed = PackedCache()

    @classmethod
    def of(cls, estimator: Any) -> AdditiveModel:
        """The model of a fitted estimator, to predict from or to continue."""
        model = cls(
            estimator.loss_,
            estimator.init_,
            estimator.estimators_.shape[1],
            estimator._predict_init,
        )
        model.members = estimator.estimators_.tolist()
        model.steps = estimator.steps_.tolist()
        model.train_scores = estimator.train_scores_.tolist()
        model.validation_scores = list(getattr(estimator, "validation_scores_", []))
        model.packed = getattr(estimator, "_packed", model.packed)
        return model

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
        return np.broadcast_to(self.init, shape).copy()

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
            sums.add(X, u.reshape(-1, self.n_scores))
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
        self.X = X
        self.risk = EmpiricalRisk(model.loss, y, weight)
        self.scores = model.scores(X)

    def risk_after(self, members: list[Any], step: float) -> float:
        """The validation risk once a round has been added to the scores."""
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
        return member.predict(X, check_input=False)  # X is what a tree stores
    if sp.issparse(X) and getattr(member, "_reads_single_precision", False):
        return member.tree_.predict(X)  # a binned tree, which is fitted to dense data only
    return predict_validated(member, X)
