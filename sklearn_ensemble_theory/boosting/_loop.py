"""The boosting loop, written once [Bach, §10.3.2].

    u_t = u_{t-1} + b_t psi(w_t)                                        [Bach, eq. (10.5)]

A weak learner, prepared with the rows beforehand, is an object with

    best(target, weight, scores) -> (predictor, psi), or None

(see `_learners.PreparedRounds`) that fits `target` by least squares under `weight`: psi holds
the predictor's outputs on the rows. For outputs of fixed weighted norm, such as -1 and +1, that is
the same as maximising the inner product of psi with weight * target = -F'(u), the weak learner of
[Bach, §10.3.1]. Where it returns None the loop ends.

A step rule (`steps.Step`) chooses b_t and makes the move; Frank-Wolfe's also shrinks the scores so
far.

The loop depends on no algorithm: AdaBoost, gradient boosting and matching pursuit are choices of
the risk, the learner and the step rule.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from sklearn_ensemble_theory._compat import safe_indexing
from sklearn_ensemble_theory._rows import Rows, kept_rows
from sklearn_ensemble_theory._running import Progress

from ._risk import RiskState
from .steps import Step

# Scores are looked at where the risk or a step is not below: a pass over the rows is not free.
LARGE = 1e100


class Risk(Protocol):
    """What the loop needs of a risk."""

    def at(self, u: np.ndarray) -> RiskState: ...


class WeakLearner(Protocol):
    """What the loop needs of a weak learner; targets and outputs have the shape of the scores."""

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray] | None: ...


class Observed(Protocol):
    """An estimator whose rounds callbacks and `verbose` follow: one with `CallbackSupportMixin`."""

    verbose: bool | int

    def _init_callback_context(self, *, max_subtasks: int) -> Any: ...


class Round(NamedTuple):
    """One round of boosting, counted from 0 over all fits of a warm-started model.

    - predictor: the member that the weak learner returned.
    - step: b_t.
    - risk: F(u_t), after the step.
    - first_order_gain: -F'(u_{t-1})' psi(w_t) over the risk's scale. With an exact weak learner
      over a symmetric dictionary it is the polar gauge gamma*(F'(u_{t-1})), which bounds the
      distance to the optimum [Bach, eq. (10.11)]; for AdaBoost it is e_t = 2 gamma_t, twice the
      edge. NaN where the step does not need it (`Step.needs_outputs`).
    - outputs: psi(w_t) on the training rows, or `LeafOutputs` where the step does not need them as
      an array; None for a round that was made before it was asked for.
    - details: the step's `StepResult.details`.
    """

    index: int  # type: ignore[assignment]
    predictor: Any
    step: float
    risk: float
    first_order_gain: float
    outputs: Any
    details: Any = None


class RoundIterator:
    """Iterator of the `Round` records that `next_round` makes, until it returns None."""

    def next_round(self) -> Round | None:
        """Make the next round; None where there is none."""
        raise NotImplementedError

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Round:
        # Learners, losses and steps of users are called here. Their StopIteration is an error: an
        # iterator that passed it on would end without one.
        try:
            made = self.next_round()
        except StopIteration as error:
            raise RuntimeError(
                "A weak learner, loss or step raised StopIteration in a round of boosting."
            ) from error
        if made is None:
            raise StopIteration
        return made


class BoostingRounds(RoundIterator):
    """Iterator of `Round` records, without end unless the learner or the step ends it.

    The risk may be any object with ``at(u)`` that returns a `RiskState`, the learner one with
    ``best(target, weight, scores)``, and the step any callable ``step(t, risk, u, psi, state,
    gain)`` that returns a `StepResult`, with a method ``move(u, psi, b)``.

    - u: scores on the training rows to start from, (n,) or (n, K); changed in place, so that it
      holds u_t when the t-th record is returned.
    - start: index of the first round.
    - state: the risk at the current scores; None before the first round.
    - stop_details: the `StepResult.details` of the step that ended the loop; None while it goes on,
      and where the learner had nothing to offer.
    - unseen: so many rounds may be made before the next one is returned (see `allow`).
    """

    def __init__(
        self, risk: Risk, learner: WeakLearner, step: Step, u: np.ndarray, start: int = 0
    ) -> None:
        self.risk, self.learner, self.step, self.u = risk, learner, step, u
        self.index = start
        self.state: RiskState | None = None
        self.stop_details: Any = None
        self.unseen = 0
        self._made: deque[Round] = deque()
        self._n_made = 0
        self._ended = False

    def next_round(self) -> Round | None:
        if self._ended:
            return None
        if self._made or self._make_several():
            return self._made.popleft()
        # The risk after a step is the one before the next: one pass over the rows a round.
        risk, u = self.risk, self.u
        if self.state is None:
            self.state = risk.at(u)
        state = self.state
        found = self.learner.best(state.target, state.weight, u)
        if found is None:
            self._ended = True
            return None
        predictor, psi = found
        gain = math.nan
        if getattr(self.step, "needs_outputs", True):
            psi = np.asarray(psi)
            gain = state.first_order_gain(psi)
        b, details = self.step(self.index, risk, u, psi, state, gain)
        if b is None:
            self._ended, self.stop_details = True, details
            return None
        self.state = state = None  # its arrays are free for those of the next one
        with np.errstate(over="ignore", invalid="ignore"):
            self.step.move(u, psi, b)
            self.state = risk.at(u)
        if not (self.state.value < LARGE and abs(float(b)) < LARGE):
            self._check_scores(psi, self.index)
        self.index += 1
        return Round(self.index - 1, predictor, b, self.state.value, gain, psi, details)

    def allow(self, n_rounds: int) -> None:
        """So many rounds may be made, unseen, before the next one is returned."""
        if not self._made:
            self.unseen = n_rounds

    def end(self) -> None:
        """Forget rounds that were made and will not be asked for, draws of the learner too."""
        if self._made and hasattr(self.learner, "draw_for"):
            width = 1 if self.u.ndim == 1 else self.u.shape[1]
            self.learner.draw_for(self._n_made - len(self._made), width)
        self._made.clear()

    def _make_several(self) -> bool:
        """Make unseen rounds in one piece, where the learner can; whether there are any."""
        several = getattr(self.learner, "several", None)
        if self.unseen < 2 or several is None:
            return False
        b, u = self.step.constant(), self.u
        if b is None or not abs(b) < LARGE:
            return False
        if self.state is None:
            self.state = self.risk.at(u)
        found = several(self.state.target, u, b, self.unseen, LARGE)
        if found is None:
            self.unseen = 0
            return False
        predictors, risks, psi = found
        self.unseen -= len(risks)
        self._n_made = len(risks)
        self.state = self.state._replace(value=risks[-1])
        for predictor, value in zip(predictors, risks):
            self._made.append(Round(self.index, predictor, b, value, math.nan, None))
            self.index += 1
        if not risks[-1] < LARGE:
            self._check_scores(psi, self.index - 1)
        return True

    def _check_scores(self, psi: Any, index: int) -> None:
        """ValueError for scores that overflow, or beyond what the risk's next targets need."""
        if np.isnan(np.asarray(psi)).any():  # of the learner's own: the ensemble says so
            return
        largest = getattr(self.risk, "largest_score", np.finfo(float).max)
        if not np.abs(self.u).max() <= largest:  # nan neither
            rate = self.step.rate(index)
            raise ValueError(
                f"learning_rate={rate:g} makes scores that overflow in round {index + 1}; use "
                "a smaller one."
            )


# --- reports: lines for `verbose`, and calls of callbacks, while a fit by rounds runs -------------


def rows_for_callbacks(
    X: Any, y: np.ndarray, rows: Rows, weighted: bool, part: np.ndarray | None = None
) -> dict:
    """The rows that are fitted, as the hooks of callbacks take them."""
    X, y, weight = rows.of(X), rows.of(y), rows.weights()
    if part is not None:
        X, y, weight = safe_indexing(X, part), safe_indexing(y, part), weight[part]
    return {
        "X": X,
        "y": y,
        "metadata": {"sample_weight": weight} if weighted else {},
    }


def begin_fit(
    estimator: Observed, X: Any, y: Any, sample_weight: Any, offset: Any = None
) -> Callable[[], None]:
    """Tell callbacks that a fit without models of its rounds begins; what is called at its end."""
    rows = {}
    if getattr(estimator, "_skl_callbacks", None):
        y = np.asarray(y)
        kept = kept_rows(X, y, sample_weight)
        rows = rows_for_callbacks(X, y, kept, sample_weight is not None)
        if offset is not None:
            known = kept.of(np.asarray(offset)) if np.ndim(offset) else offset
            vars(estimator)["_rows_of_callbacks"] = rows["X"], known
    context = estimator._init_callback_context(max_subtasks=0)
    context.call_on_fit_task_begin(estimator=estimator, **rows)

    def end() -> None:
        # The estimator itself is fitted: no attribute has to be added to its copy.
        context.call_on_fit_task_end(estimator=estimator, **rows, reconstruction_attributes={})
        vars(estimator).pop("_rows_of_callbacks", None)

    return end


class RoundReports:
    """Reports the rounds of one fit.

    - estimator: with the parameter `verbose` and the mixin `CallbackSupportMixin`.
    - n_parts: fits of at most `n_rounds` rounds, which may run in several threads: the classes of a
      classifier, for example.
    - data: ``data()``, a dict of the rows that are fitted, X, y in the user's labels, and metadata,
      for callbacks; see `rows_for_callbacks`.
    - attributes: the fitted attributes so far, for callbacks that need a fitted model:
      ``attributes()``, or ``attributes(so_far())`` where a round is reported with `so_far`. With
      several parts there is no model of the first rounds, and only the end of the fit has one.
    """

    def __init__(
        self,
        estimator: Observed,
        n_rounds: int,
        n_parts: int = 1,
        *,
        data: Callable[[], dict] | None = None,
        attributes: Callable[..., dict] | None = None,
    ) -> None:
        self._estimator = estimator
        # A context for each round costs more than a round of few rows.
        self._follows = bool(getattr(estimator, "_skl_callbacks", None))
        self._data = data() if self._follows and data is not None else {}
        self._attributes = attributes
        self._has_model = n_parts == 1
        self._context = estimator._init_callback_context(max_subtasks=n_rounds * n_parts)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)
        self._progress = Progress(
            type(estimator).__name__, n_rounds * n_parts, estimator.verbose, unit="rounds"
        )
        # Whether nothing is to be told: fast loops then do without reports.
        self.is_silent = not self._follows and not estimator.verbose
        self._task: Any = None
        self._ended = False
        self._lock = Lock()

    def begin_round(self) -> None:
        """Tell callbacks that a round begins; rounds of several parts begin when they end."""
        if self._follows:
            self._task = self._context.subcontext(task_name="round")
            self._task.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end_round(
        self,
        note: Callable[[], str] | None = None,
        so_far: Callable[[], Any] | None = None,
        **figures: float,
    ) -> bool:
        """Report a round, with what it reached; whether a callback asks for the end of the fit."""
        if self.is_silent:
            return False
        with self._lock:
            if self._estimator.verbose:
                reached = (f"{name} {value:.4g}" for name, value in figures.items())
                self._progress.advance(", ".join(reached) if note is None else note())
            if not self._follows:
                return False
            if self._task is None:
                self.begin_round()
            ends = self._end(self._task, self._has_model, so_far)
            self._task = None
            self._ended = self._ended or bool(ends)  # for all parts
            return self._ended

    def finish(self, reason: str, so_far: Callable[[], Any] | None = None) -> None:
        """Report the end of the fit, and why it ended."""
        self._progress.finish(reason)
        self._end(self._context, True, so_far)

    def _end(self, task: Any, has_model: bool, so_far: Callable[[], Any] | None) -> Any:
        attributes, model = self._attributes, {}
        if has_model and attributes is not None:
            # Called if a callback needs the model, and only then.
            model["reconstruction_attributes"] = lambda: (
                attributes() if so_far is None else attributes(so_far())
            )
        return task.call_on_fit_task_end(estimator=self._estimator, **self._data, **model)
