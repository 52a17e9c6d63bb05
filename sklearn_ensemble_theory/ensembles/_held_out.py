"""Predictions of rows that a model has not seen, and the intervals and sets that follow from them.

A stack has them by the splits of its members, a vote by splits of its own, and fitted members by
rows that are new to them. An interval, or a set of classes, around the prediction of the whole
model is that of split conformal prediction. Each held-out row counts once, whatever its weight in
the fit: rows with their weights are as exchangeable as rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sklearn_ensemble_theory._rows import Rows

from ._intervals import checked_coverage, interval_by_folds, one_of
from ._prediction_sets import SET_TEXTS, ClassPlaces, SetRule, set_by_folds


@dataclass(frozen=True)
class HeldOut:
    """What a model predicts for n rows that it has not seen.

    - y: targets, or positions of the classes.
    - predictions: numbers or probabilities of the classes, or a list of those of each member.
    - rows: the places of the rows among those that were fitted. A row that several splits hold out
      is there several times.
    - groups: codes of rows that belong together; of one row, if rows are held out several times.
    """

    y: np.ndarray
    predictions: Any
    rows: np.ndarray
    groups: np.ndarray | None

    @classmethod
    def of(
        cls, rows: Rows, groups: np.ndarray | None, held: np.ndarray, predictions: Any
    ) -> "HeldOut":
        """The groups are those of the rows of `fit`, which may be more."""
        if groups is not None:
            groups = groups[np.asarray(rows.numbers)][held]
        elif len(np.unique(held)) < len(held):
            groups = held
        codes = None if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
        return cls(rows.y[held], predictions, held, codes)

    def interval_around(
        self,
        at: np.ndarray,
        coverage: float,
        method: str,
        side: str,
        deviation: Callable[[np.ndarray], np.ndarray] | None = None,
        support: tuple[float, float] = (-np.inf, np.inf),
    ) -> np.ndarray:
        """The ends at new rows, of shape (m, 2), from the predictions there.

        Residuals are in units of `deviation` of the mean where there is one, and ends are values of
        `support`.
        """
        one_of("method", method, ("conformal",))
        one_of("side", side, ("both", "lower", "upper"))
        coverage = checked_coverage(coverage)
        if deviation is not None:
            off, fold = self.y - self.predictions, np.zeros(len(self.y), dtype=np.intp)
            off, scale, at = off / deviation(self.predictions), deviation(at)[:, None], at[:, None]
            given = fold, self.groups, (at, at), scale, coverage, side, support
            return interval_by_folds((-off, off), *given)
        # Residuals of huge targets are beyond the largest float; halves of both are not.
        off = self.y / 2 - self.predictions / 2
        fold, at = np.zeros(len(off), dtype=np.intp), at[:, None] / 2
        ends = interval_by_folds((-off, off), fold, self.groups, (at, at), None, coverage, side)
        with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
            return 2 * ends

    def set_around(self, at: np.ndarray, rule: SetRule) -> np.ndarray:
        """Whether each class is in the set, (m, K), from the probabilities of the new rows."""
        own, fold = (
            ClassPlaces.of_own(self.predictions, self.y),
            np.zeros(len(self.y), dtype=np.intp),
        )
        return set_by_folds(own, self.y, fold, self.groups, at[:, None], rule)


def obstacle_to_scores(y: np.ndarray) -> str | None:
    """Why rows of a fit give no intervals and sets: the error of who asks for them later."""
    if y.ndim == 1:
        return None
    return f"Intervals and sets by held-out rows require a single output; y had {y.shape[1]}."


class HoldsOut(Protocol):
    """An estimator with the parameter `held_out`, None for no held-out predictions."""

    held_out: Any


def held_out_is_set(advice: str) -> Callable[[HoldsOut], bool]:
    """The condition of methods that need held-out predictions, for `available_if`."""

    def check(owner: HoldsOut) -> bool:
        if owner.held_out is None:
            raise AttributeError(
                f"{type(owner).__name__} keeps no held-out predictions; set held_out={advice}."
            )
        return True

    return check


def held_out_of(found: HeldOut | str | None) -> HeldOut:
    """What a fit has kept; a ValueError where it could not, or had another `held_out`."""
    if found is None:
        raise ValueError("The model was fitted with held_out=None; fit it again.")
    if isinstance(found, str):
        raise ValueError(found)
    return found


TEXTS = SET_TEXTS | {
    "interval_parameters": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            The probability aimed at, on average over the rows.
        method : {"conformal"}, default="conformal"
            How the interval is computed.
        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite. A single end has residuals with their
            sign.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y; infinite, with a warning, if (n + 1) `coverage`
            > n for n held-out rows.

        Raises
        ------
        ValueError
            If y had several columns, or if a parameter is not valid.
        """,
    "of_intervals": """
        Parameters
        ----------
        %(interval_parameters)s
        """,
    "set_parameters": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        coverage : float, default=0.9
            The probability aimed at, on average over the rows.
        %(set_method)s

        %(sets)s

        Raises
        ------
        ValueError
            If y had several columns, or if a parameter is not valid.
        """,
    "references_of_intervals": """
        References
        ----------
        J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman (2018). "Distribution-free
        predictive inference for regression". *Journal of the American Statistical Association* 113.
        """,
}
