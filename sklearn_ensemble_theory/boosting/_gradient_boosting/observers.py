"""Who follows the rounds of a fit: the output of `verbose`, callbacks, and a monitor."""

from collections.abc import Callable
from copy import copy
from typing import Any

from sklearn_ensemble_theory.boosting._loop import RoundReports


class Observers(RoundReports):
    """Reports of the rounds, and a monitor; each of them may end the fit.

    Parameters
    ----------
    estimator : estimator
    n_rounds : int
        The number of rounds to come.
    monitor : callable or None
        ``monitor(i, model, variables)`` as in scikit-learn: the index of the round, a copy of the
        estimator as if the fit had ended with it, and a dict of the data and the scores.
    attributes, data : callable
        As for `RoundReports`.
    variables : callable
        ``variables()``, what a monitor may look at.
    """

    def __init__(
        self,
        estimator: Any,
        n_rounds: int,
        monitor: Callable[[int, Any, dict], Any] | None,
        *,
        attributes: Callable[[], dict],
        data: Callable[[], dict],
        variables: Callable[[], dict],
    ) -> None:
        super().__init__(estimator, n_rounds, data=data, attributes=attributes)
        self.monitor = monitor
        self.attributes, self.variables = attributes, variables

    def round_ends(self, index: int, note: Callable[[], str]) -> str | None:
        """Why the fit shall end, or None."""
        if self.end_round(note):
            return "callback"
        if self.monitor is not None:
            model = copy(self._estimator)
            vars(model).update(self.attributes())
            if self.monitor(index, model, self.variables()):
                return "monitor"
        return None
