"""What a fit by rounds tells while it runs: lines for `verbose`, and calls of callbacks."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from sklearn_ensemble_theory._compat import safe_indexing
from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory._weights import PositiveRows, rows_of_positive_weight

__all__ = ["RoundReports", "begin_fit", "fitted_rows", "rows_for_callbacks"]


def fitted_rows(values: Any, kept: PositiveRows, part: np.ndarray | None = None) -> Any:
    """The rows that are fitted: those of positive weight, and of them the given part, if any."""
    rows = kept.rows
    if part is not None:
        rows = part if isinstance(rows, slice) else rows[part]
    return values if isinstance(rows, slice) else safe_indexing(values, rows)


def rows_for_callbacks(
    X: Any, y: np.ndarray, kept: PositiveRows, weighted: bool, part: np.ndarray | None = None
) -> dict:
    """The rows that are fitted, as the hooks of callbacks take them.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n, p)
        As the user gave it, so that the names of its columns are those of the fit.
    y : array of shape (n,) or (n, K)
        In the user's labels.
    kept : PositiveRows
    weighted : bool
        Whether the user gave weights.
    part : int array, default=None
        Which of the kept rows are fitted; all of them by default.
    """
    weight = kept.weight if part is None else kept.weight[part]
    return {
        "X": fitted_rows(X, kept, part),
        "y": fitted_rows(y, kept, part),
        "metadata": {"sample_weight": weight} if weighted else {},
    }


def begin_fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Callable[[], None]:
    """Tell callbacks that a fit without models of its rounds begins; what is called at its end."""
    rows = {}
    if getattr(estimator, "_skl_callbacks", None):
        kept = rows_of_positive_weight(sample_weight, X)
        rows = rows_for_callbacks(X, np.asarray(y), kept, sample_weight is not None)
    context = estimator._init_callback_context(max_subtasks=0)
    context.call_on_fit_task_begin(estimator=estimator, **rows)

    def end() -> None:
        # The estimator itself is fitted: no attribute has to be added to its copy.
        context.call_on_fit_task_end(estimator=estimator, **rows, reconstruction_attributes={})

    return end


class RoundReports:
    """Reports the rounds of one fit.

    Parameters
    ----------
    estimator : estimator
        With the parameter `verbose` and the mixin `CallbackSupportMixin`.
    n_rounds : int
        The largest number of rounds.
    n_parts : int, default=1
        Number of fits of so many rounds, which may run in several threads: the classes of a
        classifier, say.
    data : callable, default=None
        ``data()``, a dict of the rows that are fitted, X, y in the user's labels, and metadata, for
        callbacks; see `rows_for_callbacks`.
    attributes : callable, default=None
        The fitted attributes so far, for callbacks that need a fitted model: ``attributes()``, or
        ``attributes(so_far())`` where a round is reported with `so_far`. With several parts there
        is no model of the first rounds, and only the end of the fit has one.
    """

    def __init__(
        self,
        estimator: Any,
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
