"""The additive model of gradient boosting: initial scores, and members with their coefficients.

    u(x) = u_0(x) + sum_t b_t psi_t(x)                                   [Bach, eq. (10.5)]

`AdditiveModel` is what a fit adds rounds to and what a prediction sums; the fitted attributes of an
estimator are its lists as arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._learners import (
    checked_outputs,
    grows_leaves,
    is_tree,
    numbers_of,
    predict_validated,
    probabilities_of,
)
from ..._rows import Rows
from ...trees._packed import ColumnsOfLeaves, PackedCache, TreeSums, add_in_threads, packed_trees
from ...trees._tree_arrays import member_nodes
from ..losses import Loss
from .plan import n_threads_of

# Numbers of sparse rows that are dense at once for the rounds that follow: 64 MB.
NUMBERS_OF_ROUNDS = 2**23


class AdditiveModel:
    """What has been boosted so far, with its history.

    - init: what the scores start from: a number, K numbers, a fitted estimator or "zero".
    - of_classes: an `init` that is an estimator gives the probabilities of classes.
    - has_vectors: a round has one member for all K = `n_scores` scores; otherwise K members.
    - validation_scores: of validation rows, values of a metric where one decides when to stop.
    - losses: that of `train_scores` in each round, where a parameter follows the scores.
    - judged_scores: the same metric of training rows, where it is followed.
    - first_scores: what early stopping knows before the first round of the training rows and of
      those held out, where the estimator reports it; larger is better.
    - in_bag_scores, oob_scores, oob_improvements: risks on the rows that a round was fitted to, and
      on the others; 0 where rows were not drawn, or are not known.
    - n_jobs: threads that predict.
    """

    def __init__(
        self, loss: Loss, init, n_scores: int, of_classes: bool, has_vectors: bool = False
    ) -> None:
        self.loss, self.init, self.n_scores, self.of_classes = loss, init, n_scores, of_classes
        self.has_vectors = has_vectors
        self.members: list[list[Any]] = []
        self.steps: list[float] = []
        self.losses: list[Loss] = []
        self.train_scores: list[float] = []
        self.in_bag_scores: list[float] = []
        self.oob_scores: list[float] = []
        self.oob_improvements: list[float] = []
        self.validation_scores: list[float] = []
        self.judged_scores: list[float] = []
        self.first_scores: tuple[list[float], list[float]] = ([], [])
        self.has_oob_scores = False
        self.stop_reason = "n_estimators"
        self.packed = PackedCache()
        self.n_jobs: int | None = 1

    # --- from and to the fitted attributes of an estimator ----------------------------------------

    def with_history(self, fitted: Mapping[str, Any]) -> AdditiveModel:
        """This model with the risks of its rounds, from the fitted attributes of the estimator."""
        factor, none = self.loss.deviance_factor, np.zeros(len(self.steps))
        self.losses = [self.loss] * len(self.steps)
        self.train_scores = fitted["train_scores_"].tolist()
        self.validation_scores = list(fitted.get("validation_scores_", []))
        self.in_bag_scores = (fitted["train_score_"] / factor).tolist()
        self.oob_scores = (fitted.get("oob_scores_", none) / factor).tolist()
        self.has_oob_scores = "oob_scores_" in fitted
        self.oob_improvements = (fitted.get("oob_improvement_", none) / factor).tolist()
        return self

    def attributes(self, learner, classes: np.ndarray | None, followed: bool) -> dict:
        """The fitted attributes after the rounds so far."""
        factor = self.loss.deviance_factor
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

    def drop_last(self, n_rounds: int) -> None:
        for history in (
            self.members,
            self.steps,
            self.losses,
            self.train_scores,
            self.validation_scores,  # may be fewer: of a warm start of a model without
            self.in_bag_scores,
            self.oob_scores,
            self.oob_improvements,
        ):
            del history[len(history) - n_rounds :]
        if self.losses:
            self.loss = self.losses[-1]

    def drop_after_best(self, losses: Sequence[float]) -> None:
        """Drop the rounds after the one of the least loss of the validation rows."""
        best = int(np.where(np.isnan(losses), np.inf, losses).argmin())
        self.drop_last(len(losses) - 1 - best)

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
            return np.full(shape, 0.0 if isinstance(self.init, str) else self.init, dtype=float)
        if not self.of_classes and self.n_scores > 1:
            prediction = checked_outputs(self.init.predict(X), self.init, X)
            if prediction.shape != (X.shape[0], self.n_scores):
                raise ValueError(
                    f"init: {type(self.init).__name__} must predict {self.n_scores} targets, got "
                    f"shape {prediction.shape}."
                )
        elif not self.of_classes:
            prediction = numbers_of(self.init.predict(X), self.init, X)
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
        if sp.issparse(X):
            added = added_rounds(self.members, self.steps, X, u.reshape(-1, self.n_scores))
        else:
            sums = self._tree_sums(X)
            added = None if sums is None else sums.rounds(X, u.reshape(-1, self.n_scores))
        if added is not None:
            for _ in added:
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
        """The rounds as sums of trees; None where they are not all trees."""
        if not _is_dense(X) and not sp.issparse(X):
            return None
        members = [member for row in self.members for member in row]
        for_sparse = sp.issparse(X)
        return self.packed.get(
            "scores of sparse rows" if for_sparse else "scores",
            members,
            X.shape[0],
            lambda n_rows: packed_rounds(members, self.steps, self.n_scores, n_rows, for_sparse),
        )


def packed_rounds(
    members: list[Any],
    steps: list[float],
    n_scores: int,
    n_rows: int | None = None,
    for_sparse: bool = False,
) -> TreeSums | None:
    """The sums of steps times outputs; None where the members are not all trees."""
    given: dict[str, Any] = {"width": n_scores, "n_rows": n_rows, "for_sparse": for_sparse}
    scale = np.asarray(steps, dtype=float)
    if len(members) < n_scores * len(steps):
        vectors = ColumnsOfLeaves([np.arange(n_scores)] * len(steps), scale, n_scores)
        return packed_trees(members, leaf_outputs=vectors, **given)
    return packed_trees(members, scale=np.repeat(scale, n_scores), **given)


def added_rounds(
    rounds: list[list[Any]], steps: list[float], X: Any, out: np.ndarray
) -> Iterator[np.ndarray] | None:
    """`out` (n, K) with the outputs of one round, of two, ...; None where not all are trees."""
    n_scores, members = out.shape[1], [member for one in rounds for member in one]
    if _is_dense(X):
        sums = packed_rounds(members, steps, n_scores)
        return None if sums is None else sums.rounds(X, out)
    nodes = member_nodes(members, with_vectors=len(members) < n_scores * len(rounds))
    if not nodes or not sp.issparse(X):
        return None
    n_columns = max(map(len, nodes)) * len(rounds[0])  # of a round, at most
    at_once = max(1, NUMBERS_OF_ROUNDS // (n_columns * X.shape[0]))

    def each(X: Any) -> Iterator[np.ndarray]:
        for t in range(0, len(rounds), at_once):
            some = [member for one in rounds[t : t + at_once] for member in one]
            sums = packed_rounds(some, steps[t : t + at_once], n_scores, for_sparse=True)
            assert sums is not None
            yield from sums.rounds(X, out)

    return each(X.tocsc())


def outputs(members: list[Any], X) -> np.ndarray:
    """psi of one round, for an X that is validated: (n,), or (n, K) for several scores."""
    columns = []
    for member in members:
        if is_tree(member) and isinstance(X, np.ndarray):
            column = member.predict(np.asarray(X, dtype=np.float32), check_input=False)
        elif sp.issparse(X) and grows_leaves(member) and not is_tree(member):
            column = member.predict(X, check_input=False)
        else:
            column = predict_validated(member, X)
        columns.append(np.squeeze(np.asarray(column, dtype=float)).reshape(X.shape[0], -1))
    psi = np.hstack(columns)
    return psi[:, 0] if psi.shape[1] == 1 else psi


def _is_dense(X) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind == "f"
