"""The number of rounds by cross-validation: the options of ``n_estimators="cv"``."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer_names

from sklearn_ensemble_theory._compat import Interval, StrOptions, check_constraints
from sklearn_ensemble_theory._typing import CVLike


class CVRounds(BaseEstimator):
    """Choose the number of rounds by cross-validation.

    ``n_estimators="cv"`` is short for ``n_estimators=CVRounds()``. Its options are the parameters
    of this object; a search reaches them by names such as ``n_estimators__rule``.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None, default=5
        The splits. An integer is the number of folds, which are drawn from a fixed seed; None is 5.
    max_estimators : int, default=10000
        The largest number of rounds that is compared.
    rule : {"minimum", "one_standard_error"}, default="minimum"
        Choose the number of rounds with the best mean over the folds, or the fewest rounds whose
        mean is within a standard error of the best.
    prediction : {"refit", "mean"}, default="refit"
        Return a fit of so many rounds to all rows, or the mean of the models of the folds.
    scoring : str, callable or None, default="loss"
        Compare the loss, a metric (a scorer or its name), or with None the estimator's `score`.

    Examples
    --------
    >>> from sklearn_ensemble_theory.boosting import CVRounds
    >>> CVRounds(cv=3, rule="one_standard_error")
    CVRounds(cv=3, rule='one_standard_error')
    """

    _parameter_constraints = {
        "cv": ["cv_object"],
        "max_estimators": [Interval(Integral, 1, None, closed="left")],
        "rule": [StrOptions({"minimum", "one_standard_error"})],
        "prediction": [StrOptions({"refit", "mean"})],
        "scoring": [StrOptions({"loss", *get_scorer_names()}), callable, None],
    }

    def __init__(
        self,
        cv: CVLike | None = 5,
        *,
        max_estimators: int = 10_000,
        rule: Literal["minimum", "one_standard_error"] = "minimum",
        prediction: Literal["refit", "mean"] = "refit",
        scoring: str | Callable | None = "loss",
    ) -> None:
        self.cv = cv
        self.max_estimators = max_estimators
        self.rule = rule
        self.prediction = prediction
        self.scoring = scoring

    @classmethod
    def of(cls, n_estimators: Any) -> Self | None:
        """The options that a value of `n_estimators` asks for, checked; None for a number."""
        if isinstance(n_estimators, str):
            return cls()
        if not isinstance(n_estimators, cls):
            return None
        check_constraints(n_estimators)
        return n_estimators
