"""Numbers of members and of rows that a guarantee asks for."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import ClassVar

from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators, bagging_stable_max_samples


class PACMembers(BaseEstimator):
    """So many members that bagging of empirical risk minimisers has optimal sample complexity.

    For the parameter `n_estimators`, of which "pac" is short for ``PACMembers()``: ceil(18 ln(2 n /
    delta)) members for n rows [Ghoshdastidar, theorem En.3; Larsen, 2023].

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

    _parameter_constraints: ClassVar[dict] = {"delta": [Interval(Real, 0, 1, closed="neither")]}

    def __init__(self, delta: float = 0.05) -> None:
        self.delta = delta

    def __call__(self, n_samples: int, n_features: int) -> int:
        """The number of members for so many rows; it does not depend on the features."""
        self._validate_params()
        return bagging_pac_n_estimators(n_samples, self.delta)


class StableSamples(BaseEstimator):
    """As many rows for each member as keep the mean of infinitely many members stable.

    For the parameter `max_samples`, of which "stable" is short for ``StableSamples()``, whatever
    the base learner [Soloff, Barber and Willett, 2024]. The rows have equal weight, and `bootstrap`
    is `True`, `False`, "bernoulli" or "poisson".

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
    found = given(n_samples, n_features)
    if not isinstance(found, Integral) or isinstance(found, bool) or found < 1:
        raise ValueError(f"{name} must return an integer of at least 1, got {found!r}.")
    return int(found)
