"""What is chosen by cross-validation: the options of ``n_estimators="cv"`` and ``radius="cv"``."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer_names

from sklearn_ensemble_theory._compat import Interval, StrOptions, check_constraints
from sklearn_ensemble_theory._typing import ArrayLike, CVLike


class CVRounds(BaseEstimator):
    """Choose the number of rounds by cross-validation.

    ``n_estimators="cv"`` is short for ``n_estimators=CVRounds()``. Its options are the parameters
    of this object; a search reaches them by names such as ``n_estimators__rule``.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None, default=5
        The splits. An integer is the number of folds, which are drawn from a fixed seed; None is 5.
        An additive model has its own parameter `cv`, because its folds make other choices too. Give
        only one of the two, and pass its `n_estimators_` back with this number as its `cv`.
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
        """Return the checked options for a value of `n_estimators`; None for a number."""
        if isinstance(n_estimators, str):
            return cls()
        if not isinstance(n_estimators, cls):
            return None
        check_constraints(n_estimators)
        return n_estimators


class CVChoice(BaseEstimator):
    """Choose the value of a parameter by cross-validation.

    ``radius="cv"`` is short for ``radius=CVChoice()``, and a list is short for
    ``radius=CVChoice(the list)``. So it is for every parameter whose description names this class.
    A search reaches its options by names such as ``radius__cv``.

    Parameters
    ----------
    values : array-like, default=None
        The candidates. None takes those that the description of the parameter names.
    cv : int, cross-validation generator or iterable, default=None
        The splits. An integer is the number of folds, and None is the default of the estimator.

    Examples
    --------
    >>> from sklearn_ensemble_theory import FrankWolfeRegressor
    >>> from sklearn_ensemble_theory.boosting import CVChoice
    >>> FrankWolfeRegressor(radius=CVChoice([0.1, 1, 10], cv=3)).get_params()["radius__cv"]
    3
    """

    _parameter_constraints = {"values": ["array-like", None], "cv": ["cv_object"]}

    def __init__(self, values: ArrayLike | None = None, *, cv: CVLike | None = None) -> None:
        self.values = values
        self.cv = cv

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """Return the checked options for the value of a parameter; None for a number.

        Every name counts as "cv": a parameter that also has names of criteria asks for them first.
        """
        if isinstance(value, str):
            return cls()
        if isinstance(value, Real) or value is None:
            return None
        return (value if isinstance(value, cls) else cls(value)).checked()

    def checked(self) -> Self:
        """Return the object itself, after checking the types of its options."""
        self._validate_params()
        return self

    def candidates(self, parameter: str) -> np.ndarray | None:
        """The candidates as positive numbers in increasing order; None if they are not given."""
        if self.values is None:
            return None
        try:
            values = np.asarray(self.values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{parameter} must be a list of positive numbers: {error}.") from None
        if values.ndim != 1 or not (len(values) and np.isfinite(values).all() and min(values) > 0):
            raise ValueError(f"{parameter} must be a list of positive numbers.")
        return np.sort(values)


def results_of_choice(parameter: str, values: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """`cv_results_` of scores of shape (n_values, n_splits), in each of which a split counts 1."""
    n_splits = scores.shape[1]
    # Squares of losses, which are squares already, could overflow, and so could their sum.
    with np.errstate(over="ignore"):
        mean = scores.mean(axis=1)
    error = np.full(len(scores), np.nan)
    if n_splits > 1:
        with np.errstate(invalid="ignore"):
            deviations = (scores - mean[:, None]) / np.sqrt(n_splits * (n_splits - 1))
        error = np.hypot.reduce(deviations, axis=1)
    found = {parameter: values, "mean_score": mean, "standard_error": error}
    return found | {f"split{k}_score": split for k, split in enumerate(scores.T)}
