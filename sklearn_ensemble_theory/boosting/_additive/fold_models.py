"""The models of the folds as tables, and how far off they are on the rows that they leave out.

They are what is left of the folds that have chosen the number of rounds. Intervals and sets of the
CV+ need nothing else, and no further fit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...ensembles._intervals import checked_coverage, interval_by_folds, one_of
from ...ensembles._training_rows import unequal_weights
from .edits import refuse_edited


@dataclass(frozen=True)
class LeftOutRows:
    """The n rows that a fold leaves out, each with the model of its fold.

    Attributes
    ----------
    scores : array of shape (n,) or (n, 4)
        Targets minus predictions, in the units of `FoldModels`, or the `ClassPlaces` of the rows'
        own classes.
    fold : unsigned array of shape (n,)
    groups : int array of shape (n,) or None
        Codes of the groups that rows belong to.
    codes : unsigned array of shape (n,) or None
        The own classes.
    """

    scores: np.ndarray
    fold: np.ndarray
    groups: np.ndarray | None
    codes: np.ndarray | None = None


@dataclass(frozen=True)
class FoldModels:
    """The models of K folds, with C scores each.

    Attributes
    ----------
    intercepts : array of shape (K * C,)
    tables : list of n_terms arrays of shape (B, K * C), or (A, B, K * C) for pairs
        The values of the terms, those of all models in each bin.
    scale, mean : float
        Predictions and residuals are in the units of the rounds, in which no target is far from 1;
        targets are these times `scale` plus `mean`.
    rows : LeftOutRows or None
        None where the rows have different weights, or were not in memory.
    are_weighted : bool
    """

    intercepts: np.ndarray
    tables: list[np.ndarray]
    scale: float
    mean: float
    rows: LeftOutRows | None = None
    are_weighted: bool = False


def fold_models_of(model: Any, what: str) -> tuple[FoldModels, LeftOutRows]:
    """What a fitted model keeps of its folds, or a ValueError that says how to have it."""
    check_is_fitted(model)
    refuse_edited(model, f"{what} require the folds of")
    found = model._folds
    if found is None:
        raise ValueError(
            f"{what} require the models of the folds of n_estimators='cv'; this model was fitted "
            "with a number of rounds, or read from JSON, which does not keep them."
        )
    if found.are_weighted:
        raise unequal_weights(what)
    if found.rows is None:
        raise ValueError(
            f"{what} require predictions for the rows of the folds, which are computed by fit of "
            "rows in memory only, not of Dask collections or by partial_fit."
        )
    return found, found.rows


def interval_of_folds(
    model: Any,
    X: Any,
    coverage: float,
    method: str,
    side: str,
    offset: Any,
    inverse_link: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Intervals of the CV+ by the models of the folds; see `L2BoostingRegressor`."""
    folds, rows = fold_models_of(model, "Prediction intervals")
    one_of("method", method, ("cv+",))
    one_of("side", side, ("both", "lower", "upper"))
    coverage = checked_coverage(coverage)
    at, off = inverse_link(model._scores_of_folds(X, folds, offset)), rows.scores
    ends = interval_by_folds((-off, off), rows.fold, rows.groups, (at, at), None, coverage, side)
    with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
        return folds.scale * ends + folds.mean
