"""The additive model of gradient boosting: initial scores, and members with their coefficients.

    u(x) = u_0(x) + sum_t b_t psi_t(x)                                   [Bach, eq. (10.5)]

`AdditiveModel` is what a fit adds rounds to and what a prediction sums; the fitted attributes of an
estimator are its lists as arrays. `DrawnScores` and `HeldOut` compute the risks of the rounds on
rows that they were not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets

from ..._compat import openmp_threads
from ..._learners import (
    checked_outputs,
    is_tree,
    predict_validated,
    predictions_of,
    probabilities_of,
)
from ..._rows import Rows
from ...trees._packed import PackedCache, TreeSums, add_in_threads, packed_trees
from .._risk import EmpiricalRisk
from ..losses import Loss

# A larger target cannot be squared and summed.
LARGEST_TARGET = 1e150


# --- targets: numbers, or -1 and +1 for two classes, or 0 ... K-1 for more ------------------------


def classes_of(y: np.ndarray) -> np.ndarray:
    """The labels of a classifier's targets, in increasing order."""
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y has 1 class, {classes[0]}; at least 2 classes are required.")
    return classes


def n_threads_of(n_jobs: int | None) -> int:
    """The threads of a fit or a prediction, as HistGradientBoosting counts them."""
    return openmp_threads() if n_jobs is None else effective_n_jobs(n_jobs)


def encoded(y, classes: np.ndarray | None) -> np.ndarray:
    """The targets as the loss takes them; `classes` is None for numbers."""
    if classes is None:
        # Contiguous and writable, as compiled code takes it.
        y = np.require(y, np.float64, ["C", "W"])
        if np.max(np.abs(y), initial=0.0) > LARGEST_TARGET:
            raise ValueError(f"y has values above {LARGEST_TARGET:g}, which cannot be squared.")
        return y
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if np.any(classes[codes] != y):
        raise ValueError("y_val has classes that are not in y.")
    return 2.0 * codes - 1.0 if len(classes) == 2 else codes


def decoded(y: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """The user's targets from those that the loss takes."""
    if classes is None:
        return y
    return classes[(y > 0).astype(int) if len(classes) == 2 else y]


# --- the model ------------------------------------------------------------------------------------


class AdditiveModel:
    """What has been boosted so far, with its history.

    Parameters
    ----------
    loss : Loss
    init : float, ndarray of shape (K,), fitted estimator or "zero"
        What the scores start from.
    n_scores : int
        K, the number of scores of a row.
    of_classes : bool
        Whether an `init` that is an estimator gives the probabilities of classes.
    has_vectors : bool, default=False
        Whether a round has one member for all scores.

    Attributes
    ----------
    members : list of lists of K fitted estimators, or of one
    steps, train_scores, validation_scores : lists of float
        Of validation rows the values of a metric, where one decides when to stop.
    judged_scores : list of float
        The same metric of training rows, where it is followed.
    in_bag_scores, oob_scores, oob_improvements : lists of float
        Risks on the rows that a round was fitted to, and on the others; 0 where rows were not
        drawn, or are not known.
    stop_reason : str
    n_jobs : int or None
        Threads that predict.
    """

    def __init__(
        self, loss: Loss, init, n_scores: int, of_classes: bool, has_vectors: bool = False
    ) -> None:
        self.loss, self.init, self.n_scores, self.of_classes = loss, init, n_scores, of_classes
        self.has_vectors = has_vectors
        self.members: list[list[Any]] = []
        self.steps: list[float] = []
        self.train_scores: list[float] = []
        self.in_bag_scores: list[float] = []
        self.oob_scores: list[float] = []
        self.oob_improvements: list[float] = []
        self.validation_scores: list[float] = []
        self.judged_scores: list[float] = []
        self.has_oob_scores = False
        self.stop_reason = "n_estimators"
        self.packed = PackedCache()
        self.n_jobs: int | None = 1

    # --- from and to the fitted attributes of an estimator ----------------------------------------

    @classmethod
    def of(cls, estimator) -> AdditiveModel:
        """The model of a fitted estimator, to predict from."""
        of_classes = hasattr(estimator, "classes_")
        n_members = estimator.estimators_.shape[1]
        n_scores = getattr(estimator, "_n_scores", n_members)
        has_vectors = n_members < n_scores
        model = cls(estimator.loss_, estimator._start, n_scores, of_classes, has_vectors)
        model.members = estimator.estimators_.tolist()
        model.steps = estimator.steps_.tolist()
        model.n_jobs, model.packed = estimator.n_jobs, estimator._packed
        return model

    @classmethod
    def to_continue(cls, estimator) -> AdditiveModel:
        """The model of a fitted estimator with its history, to add rounds to."""
        model = cls.of(estimator)
        factor, none = model.loss._deviance_factor, np.zeros(len(model.steps))
        model.train_scores = estimator.train_scores_.tolist()
        model.validation_scores = list(getattr(estimator, "validation_scores_", []))
        model.judged_scores = list(getattr(estimator, "_judged_scores", []))
        model.in_bag_scores = (estimator.train_score_ / factor).tolist()
        model.oob_scores = (getattr(estimator, "oob_scores_", none) / factor).tolist()
        model.has_oob_scores = hasattr(estimator, "oob_scores_")
        gains = getattr(estimator, "oob_improvement_", none)
        model.oob_improvements = (gains / factor).tolist()
        return model

    def attributes(self, learner, classes: np.ndarray | None, followed: bool) -> dict:
        """The fitted attributes after the rounds so far.

        Parameters
        ----------
        learner : estimator
            What was cloned in each round.
        classes : array or None
            The labels of a classifier.
        followed : bool
            Whether there are validation rows.
        """
        factor = self.loss._deviance_factor
        n_members = 1 if self.has_vectors else self.n_scores
        estimators = np.empty((len(self.members), n_members), dtype=object)
        for row, members in zip(estimators, self.members):
            row[:] = members
        found = {
            "_start": self.init,
            "_packed": PackedCache(),
            "_n_scores": self.n_scores,
            "estimator_": learner,
            "estimators_": estimators,
            "loss_": self.loss,
            "n_estimators_": len(self.members),
            "n_trees_per_iteration_": n_members,
            "steps_": np.array(self.steps),
            "stop_reason_": self.stop_reason,
            "train_score_": factor * np.array(self.in_bag_scores),
            "train_scores_": np.array(self.train_scores),
        }
        if classes is not None:
            found |= {"classes_": classes, "n_classes_": len(classes)}
        if followed:
            found["validation_scores_"] = np.array(self.validation_scores)
        if self.has_oob_scores:
            found["oob_improvement_"] = factor * np.array(self.oob_improvements)
            found["oob_scores_"] = factor * np.array(self.oob_scores)
            found["oob_score_"] = float(found["oob_scores_"][-1])
        return found

    # --- the history ------------------------------------------------------------------------------

    def first(self, n_rounds: int) -> AdditiveModel:
        """The model of the first rounds, without their history."""
        model = AdditiveModel(
            self.loss, self.init, self.n_scores, self.of_classes, self.has_vectors
        )
        model.members, model.steps = self.members[:n_rounds], self.steps[:n_rounds]
        return model

    def add_risks(self, risk: float, drawn: tuple[float, float, float] | None = None) -> None:
        """Record the risk after a round, and what `DrawnScores` found where rows were drawn."""
        self.train_scores.append(risk)
        in_bag, out_of_bag, gain = (risk, 0.0, 0.0) if drawn is None else drawn
        self.in_bag_scores.append(in_bag)
        self.oob_scores.append(out_of_bag)
        self.oob_improvements.append(gain)
        self.has_oob_scores |= drawn is not None

    def last_risks(self) -> str:
        """The risks after the last round, for messages."""
        note = f"risk {self.train_scores[-1]:.4g}"
        if self.validation_scores:
            note += f", validation {self.validation_scores[-1]:.4g}"
        return note

    # --- scores -----------------------------------------------------------------------------------

    def initial_scores(self, X) -> np.ndarray:
        """u_0, an array to add to."""
        if not hasattr(self.init, "predict"):
            shape = (X.shape[0],) if self.n_scores == 1 else (X.shape[0], self.n_scores)
            return np.broadcast_to(0.0 if isinstance(self.init, str) else self.init, shape).copy()
        if not self.of_classes and self.n_scores > 1:
            prediction = checked_outputs(self.init.predict(X), self.init, X)
            if prediction.shape != (X.shape[0], self.n_scores):
                raise ValueError(
                    f"init: {type(self.init).__name__} must predict {self.n_scores} targets, got "
                    f"shape {prediction.shape}."
                )
        elif not self.of_classes:
            prediction = predictions_of(self.init, X)
        elif not self.loss.probability:
            raise ValueError(
                f"init: {type(self.loss).__name__} gives no probabilities, so the scores cannot "
                f"start from the probabilities of {type(self.init).__name__}; use init=None or "
                "'zero'."
            )
        else:
            proba = probabilities_of(self.init, X)
            prediction = proba[:, 1] if proba.shape[1] == 2 else proba
        return np.array(self.loss.scores_from(prediction), dtype=float, order="C")

    def staged_scores(self, X) -> Iterator[np.ndarray]:
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

    def scores(self, X) -> np.ndarray:
        """The scores after all rounds so far."""
        u = self.initial_scores(X)
        if not self.members:
            return u
        # The trees of all rounds are summed in their order, in one pass over blocks of rows.
        sums = self._tree_sums(X)
        if sums is not None:
            add_in_threads(sums, X, u.reshape(-1, self.n_scores), n_threads_of(self.n_jobs))
            return u
        for members, b in zip(self.members, self.steps):
            u += b * outputs(members, X)
        return u

    def scores_of(self, rows: Rows, *, at_start: bool = False) -> np.ndarray:
        """The scores of rows of a fit, with their offset, after all rounds or before the first."""
        u = self.initial_scores(rows.X) if at_start else self.scores(rows.X)
        if rows.offset is not None:
            u += rows.offset
        return u

    def _tree_sums(self, X) -> TreeSums | None:
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

    `members` are those of all rounds, K = `n_scores` a round, or one for all scores.
    """
    if len(members) < n_scores * len(steps):

        def vectors(t: int, value: np.ndarray) -> np.ndarray:
            return steps[t] * value

        return packed_trees(members, width=n_scores, leaf_outputs=vectors, n_rows=n_rows)
    scale = np.repeat(np.asarray(steps, dtype=float), n_scores)
    return packed_trees(members, width=n_scores, scale=scale, n_rows=n_rows)


def outputs(members: list[Any], X) -> np.ndarray:
    """psi of one round, for an X that is validated: (n,), or (n, K) for several scores."""
    columns = []
    for member in members:
        if is_tree(member) and isinstance(X, np.ndarray):
            column = member.predict(np.asarray(X, dtype=np.float32), check_input=False)
        elif sp.issparse(X) and getattr(member, "_reads_single_precision", False):
            column = member.predict(X, check_input=False)
        else:
            column = predict_validated(member, X)
        columns.append(np.squeeze(np.asarray(column, dtype=float)).reshape(X.shape[0], -1))
    psi = np.hstack(columns)
    return psi[:, 0] if psi.shape[1] == 1 else psi


def _is_dense(X) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind == "f"


# --- risks on rows that a round was not fitted to -------------------------------------------------


class DrawnScores:
    """The risks of each round on the rows that were drawn for it, and on those left out.

    Where rounds are fitted to drawn rows, both need the losses of all rows: O(n) a round.

    Parameters
    ----------
    risk : EmpiricalRisk
    u : array of shape (n,) or (n, K)
        The scores that change with the rounds.
    is_first : bool
        Whether the next round is the first of all.
    """

    def __init__(self, risk: EmpiricalRisk, u: np.ndarray, is_first: bool) -> None:
        self.risk, self.u = risk, u
        self.before = None
        if is_first:
            loss = risk.loss.adapted(risk.y, u, risk.weight)
            self.before = loss.value(risk.y, u)

    def after(self, rows: np.ndarray, previous: float) -> tuple[float, float, float]:
        """The risks on the rows and on the others, and how much the latter fell from `previous`."""
        risk = self.risk
        inside = np.zeros(len(risk.y), dtype=bool)
        inside[rows] = True
        values = risk.scored_loss.value(risk.y, self.u)
        if self.before is not None:  # the first improvement is that over the initial scores
            previous, self.before = self.mean(self.before, ~inside), None
        out = self.mean(values, ~inside)
        return self.mean(values, inside), out, previous - out

    def mean(self, values: np.ndarray, part: np.ndarray) -> float:
        weight = self.risk.weight[part]
        return float(values[part] @ weight / weight.sum()) if weight.size else float("nan")


class Metric:
    """A scorer of scikit-learn's at scores of its rows that are known already.

    The scorer is given a copy of the estimator, whose predictions for these rows are made from the
    scores. For other rows it predicts as if the fit had ended.

    Parameters
    ----------
    scorer : callable
        ``scorer(estimator, X, y)``, greater is better.
    estimator : estimator
    attributes : callable
        Returns the fitted attributes after the rounds so far.
    X, y, weight
        The rows as the user gave them.
    """

    def __init__(
        self,
        scorer: Callable[..., float],
        estimator: Any,
        attributes: Callable[[], dict],
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
    ) -> None:
        self.scorer, self.estimator, self.attributes = scorer, estimator, attributes
        self.X, self.y = X, y
        self.weights = {} if weight is None else {"sample_weight": weight}

    def __call__(self, scores: np.ndarray) -> float:
        so_far = copy(self.estimator)
        so_far.__dict__.update(self.attributes(), _known_scores=(self.X, scores))
        try:
            return float(self.scorer(so_far, self.X, self.y, **self.weights))
        except TypeError as error:
            if not self.weights or "sample_weight" not in str(error):
                raise
            raise TypeError(
                f"scoring={self.estimator.scoring!r} takes no sample_weight, and the rows or the "
                "classes have weights: use a metric, or a function, that takes it."
            ) from error


class HeldOut:
    """The validation rows and their scores, which follow the rounds.

    What is known of them is their risk, or their `metric` where there is one. All risks are by the
    loss of the start: that of "huber" becomes flatter as residuals do, which lowers every risk.
    """

    def __init__(self, model: AdditiveModel, rows: Rows, metric: Metric | None = None) -> None:
        self.rows, self.metric = rows, metric
        self.scores, self.n_scores = model.scores_of(rows), model.n_scores
        start = model.scores_of(rows, at_start=True) if model.members else self.scores
        loss = model.loss.adapted(rows.y, start, rows.weight)
        self.risk = EmpiricalRisk(loss, rows.y, rows.weight)

    def score(self) -> float:
        """The risk or the metric at the scores so far."""
        return self.risk.value(self.scores) if self.metric is None else self.metric(self.scores)

    def score_after(self, members: list[Any], step: float) -> float:
        """The same once a round is added to the scores."""
        return self.scores_after([(members, step)])[0]

    def scores_after(self, rounds: list[tuple[list[Any], float]]) -> list[float]:
        """The same after each of some rounds."""
        members = [member for one, _ in rounds for member in one]
        found, steps, X = [], [step for _, step in rounds], self.rows.X
        sums = packed_rounds(members, steps, self.n_scores) if _is_dense(X) else None
        added = None if sums is None else sums.rounds(X, self.scores.reshape(-1, self.n_scores))
        for one, step in rounds:
            if added is None:
                self.scores += step * outputs(one, X)
            else:
                next(added)
            found.append(self.score())
        return found
