"""Values of parameters that are objects: sizes that a guarantee asks for, and ways to draw rows."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import ClassVar, Literal

from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory.averaging._sampling import (
    SCHEMES,
    Draws,
    IndependentRows,
    IndependentRowsOrNone,
    MovingBlocks,
)
from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators, bagging_stable_max_samples


class PACMembers(BaseEstimator):
    """Value of `n_estimators`: as many members as make bagging an optimal PAC learner.

    The short form is "pac". Bagging of empirical risk minimisers then has ceil(18 ln(2 n / delta))
    members for n rows, and optimal sample complexity [Ghoshdastidar, theorem En.3; Larsen, 2023].

    Parameters
    ----------
    delta : float, default=0.05
        Probability of failure.

    See Also
    --------
    sklearn_ensemble_theory.bounds.bagging_pac_n_estimators : The number itself.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    K. G. Larsen (2023). "Bagging is an optimal PAC learner". *Conference on Learning Theory*.

    Examples
    --------
    >>> from sklearn_ensemble_theory.averaging import PACMembers
    >>> PACMembers(delta=0.1)(1000, 5)
    179
    """

    counts_for: ClassVar[str] = "n_estimators"  # the parameter that takes the number
    _parameter_constraints: ClassVar[dict] = {"delta": [Interval(Real, 0, 1, closed="neither")]}

    def __init__(self, delta: float = 0.05) -> None:
        self.delta = delta

    def __call__(self, n_samples: int, n_features: int) -> int:
        """The number of members for so many rows; it does not depend on the features."""
        self._validate_params()
        return bagging_pac_n_estimators(n_samples, self.delta)


class StableSamples(BaseEstimator):
    """Value of `max_samples`: the most rows per member with which an ensemble is stable.

    A value of the parameter `max_samples`; "stable" is short for ``StableSamples()``. The mean of
    infinitely many members is then stable for any base learner [Soloff, Barber and Willett, 2024].
    It needs rows of equal weight, and `bootstrap` must be `True`, `False`, "bernoulli" or
    "poisson".

    Parameters
    ----------
    stability : float, default=0.1
        How much a prediction may change without one of the training rows, as a share of the range
        of the members' outputs (1 for probabilities).
    delta : float, default=0.05
        The share of the training rows for which it may change more.

    See Also
    --------
    sklearn_ensemble_theory.bounds.bagging_stable_max_samples : The number itself.
    sklearn_ensemble_theory.inspection.stability : What a fitted ensemble guarantees.

    References
    ----------
    J. A. Soloff, R. F. Barber and R. Willett (2024). "Bagging provides assumption-free stability".
    *Journal of Machine Learning Research* 25.

    Examples
    --------
    >>> from sklearn_ensemble_theory.averaging import StableSamples
    >>> StableSamples(stability=0.05)(1000, 5)
    404
    """

    counts_for: ClassVar[str] = "max_samples"
    _parameter_constraints: ClassVar[dict] = {
        "stability": [Interval(Real, 0, 1, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, stability: float = 0.1, delta: float = 0.05) -> None:
        self.stability = stability
        self.delta = delta

    def __call__(self, n_samples: int, n_features: int, bootstrap: bool | str = True) -> int:
        """The number of rows, or groups, of so many that a scheme may draw."""
        self._validate_params()
        return bagging_stable_max_samples(
            n_samples, self.stability, bootstrap=bootstrap, delta=self.delta
        )


def counted(name: str, given: Callable, n_samples: int, n_features: int) -> int:
    """What a parameter that is a function of (n_samples, n_features) stands for."""
    if isinstance(given, (PACMembers, StableSamples)) and given.counts_for != name:
        raise ValueError(f"{name} must not be {given!r}, which is a value of {given.counts_for}.")
    found = given(n_samples, n_features)
    if not isinstance(found, Integral) or isinstance(found, bool) or found < 1:
        raise ValueError(f"{name} must return an integer of at least 1, got {found!r}.")
    return int(found)


class MovingBlock(BaseEstimator):
    """Sampling scheme for `bootstrap` and time series: blocks of consecutive rows.

    ``bootstrap="moving_block"`` is short for ``bootstrap=MovingBlock()``.

    Parameters
    ----------
    length : int, default=None
        Number of rows of a block; None is ceil(n^(1/3)) [Künsch, 1989]. Choose it longer than the
        time over which rows are correlated.

    References
    ----------
    H. R. Künsch (1989). "The jackknife and the bootstrap for general stationary observations".
    *Annals of Statistics* 17.

    Examples
    --------
    >>> from sklearn_ensemble_theory.averaging import MovingBlock, RandomForestRegressor
    >>> RandomForestRegressor(bootstrap=MovingBlock(24)).get_params()["bootstrap__length"]
    24
    """

    _parameter_constraints: ClassVar[dict] = {
        "length": [None, Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, length: int | None = None) -> None:
        self.length = length

    def draws(self) -> Draws:
        """What is drawn; an error for wrong options."""
        self._validate_params()
        return Draws(MovingBlocks, block_length=self.length)


class Bernoulli(BaseEstimator):
    """Sampling scheme for `bootstrap`: each row is drawn independently, with the same probability.

    ``bootstrap="bernoulli"`` is short for ``bootstrap=Bernoulli()``.

    Parameters
    ----------
    empty : {"redraw", "mean", "zero"}, default="redraw"
        What happens if no row is drawn. "redraw" draws again. With "mean" the member predicts the
        mean of y (for classes, their frequencies), and with "zero" it predicts 0 (the first class)
        [Ghoshdastidar, theorem En.2]. Bagging and bagged neighbours take all three. Forests need
        "redraw", because a member without rows is a constant and no tree; so do
        `predict_quantiles` and importances by out-of-bag rows.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.averaging import BaggingRegressor, Bernoulli
    >>> BaggingRegressor(max_samples=0.01, bootstrap=Bernoulli(empty="mean"))
    BaggingRegressor(bootstrap=Bernoulli(empty='mean'), max_samples=0.01)
    """

    _parameter_constraints: ClassVar[dict] = {"empty": [StrOptions({"redraw", "mean", "zero"})]}

    def __init__(self, empty: Literal["redraw", "mean", "zero"] = "redraw") -> None:
        self.empty = empty

    def draws(self) -> Draws:
        """What is drawn; an error for wrong options."""
        self._validate_params()
        redraws = self.empty == "redraw"
        return Draws(IndependentRows if redraws else IndependentRowsOrNone, empty=self.empty)


BOOTSTRAP_CONSTRAINTS = [
    "boolean",
    StrOptions({name for name in SCHEMES if isinstance(name, str)}),
    MovingBlock,
    Bernoulli,
]
