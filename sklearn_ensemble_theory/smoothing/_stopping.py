"""When boosting of a linear smoother stops, as its parameter `time` says."""

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._cv_choice import CVChoice
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._typing import ArrayLike, CVLike

from ._criteria import CRITERIA, TimePlan, checked_times

TEXTS = {
    "times": """
        times : array-like of shape (n_times,), default=None
            The times to compare. None takes the usual ones.
        """,
}


@documented(TEXTS)
class TimeCriterion(BaseEstimator):
    """Stop boosting at the time that minimises a criterion.

    As `time` of :class:`~sklearn_ensemble_theory.LinearL2BoostingRegressor`. Its name alone, such
    as ``time="loo"``, compares the usual times.

    Parameters
    ----------
    name : {"gcv", "loo", "aicc", "bic", "gmdl"}, default="gcv"
        The criterion.
    %(times)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import LinearL2BoostingRegressor
    >>> from sklearn_ensemble_theory.smoothing import TimeCriterion
    >>> model = LinearL2BoostingRegressor(time=TimeCriterion("loo", times=[1, 2, 4]))
    >>> model.get_params()["time__name"]
    'loo'
    """

    _parameter_constraints = {
        "name": [StrOptions({*CRITERIA, "loo"})],
        "times": ["array-like", None],
    }

    def __init__(
        self,
        name: Literal["gcv", "loo", "aicc", "bic", "gmdl"] = "gcv",
        *,
        times: ArrayLike | None = None,
    ) -> None:
        self.name = name
        self.times = times

    def checked(self) -> Self:
        """Return the object itself, after checking the types of its options."""
        self._validate_params()
        return self


@documented(TEXTS)
class Discrepancy(BaseEstimator):
    """Stop boosting when the residuals are as small as the noise (Morozov's principle).

    As `time` of :class:`~sklearn_ensemble_theory.LinearL2BoostingRegressor` it takes the first time
    at which the mean squared residual is at most `noise_level` squared, or else the last time.

    Parameters
    ----------
    noise_level : float, default=1.0
        Standard deviation of the noise, in units of y.
    %(times)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import LinearL2BoostingRegressor
    >>> from sklearn_ensemble_theory.smoothing import Discrepancy
    >>> LinearL2BoostingRegressor(time=Discrepancy(0.3)).get_params()["time__noise_level"]
    0.3
    """

    _parameter_constraints = {
        "noise_level": [Interval(Real, 0, None, closed="left")],
        "times": ["array-like", None],
    }

    def __init__(self, noise_level: float = 1.0, *, times: ArrayLike | None = None) -> None:
        self.noise_level = noise_level
        self.times = times

    def checked(self) -> Self:
        """Return the object itself, after checking the types of its options."""
        self._validate_params()
        return self


def time_plan(time: Any) -> TimePlan:
    if isinstance(time, Real):
        return TimePlan(time=float(time))
    if isinstance(time, str):
        return TimePlan(criterion=time)
    if isinstance(time, CVChoice):
        choice = time.checked()
        cv: CVLike = 5 if choice.cv is None else choice.cv
        return TimePlan(criterion="cv", times=_distinct(choice.values, "values"), cv=cv)
    if isinstance(time, Discrepancy):
        level = float(time.checked().noise_level)
        return TimePlan(criterion="discrepancy", times=_distinct(time.times), noise_level=level)
    if isinstance(time, TimeCriterion):
        return TimePlan(criterion=time.checked().name, times=_distinct(time.times))
    return TimePlan(criterion="gcv", times=_distinct(time, "time"))


def _distinct(times: ArrayLike | None, name: str = "times") -> np.ndarray | None:
    """The times in increasing order, once each; None for the usual ones."""
    return None if times is None else np.unique(checked_times(times, name))
