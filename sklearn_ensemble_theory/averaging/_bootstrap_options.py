"""Sampling schemes as values of the parameter `bootstrap`: by name, or objects with options."""

from numbers import Integral
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


class MovingBlock(BaseEstimator):
    """Blocks of consecutive rows with replacement, for the parameter `bootstrap` and time series.

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

    def draws(self) -> "Draws":
        """What is drawn; an error for wrong options."""
        self._validate_params()
        return Draws(MovingBlocks, block_length=self.length)


class Bernoulli(BaseEstimator):
    """Each row by itself with the same probability, for the parameter `bootstrap`.

    ``bootstrap="bernoulli"`` is short for ``bootstrap=Bernoulli()``.

    Parameters
    ----------
    empty : {"redraw", "mean", "zero"}, default="redraw"
        What happens if no row is drawn: draw again; or let the member predict the mean of y (for
        classes, their frequencies); or 0 (the first class) [Ghoshdastidar, theorem En.2]. A member
        without rows is a constant and no tree, so that forests redraw, and `predict_quantiles` and
        importances by out-of-bag rows need "redraw".

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

    def draws(self) -> "Draws":
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


def draws_of(bootstrap: bool | str | MovingBlock | Bernoulli) -> Draws:
    """What a value of the parameter stands for."""
    if isinstance(bootstrap, MovingBlock | Bernoulli):
        return bootstrap.draws()
    return Draws(SCHEMES[bootstrap])
