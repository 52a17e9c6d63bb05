"""Intervals and sets of stacks and votes, by how far off they are on held-out rows.

The prediction of a held-out row is that of members which are not fitted to it and, of a stack, of a
combination that is learned from the held-out rows of the other splits. The ends of an interval and
the classes of a set are those of split conformal prediction around the combination of the members
that are fitted to all rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory.ensembles._intervals import (
    checked_coverage,
    interval_by_folds,
    one_of,
)
from sklearn_ensemble_theory.ensembles._prediction_sets import ClassPlaces, SetRule, set_by_folds
from sklearn_ensemble_theory.ensembles._training_rows import unequal_weights


@dataclass(frozen=True)
class HeldOutRows:
    """The n held-out rows; one that several splits hold out is there several times.

    Attributes
    ----------
    y : array of shape (n,)
        Targets, or positions of the classes.
    groups : int array of shape (n,) or None
        Rows that belong together, in codes; those of one row, if rows are held out several times.
    predictions : Any
        Numbers or probabilities of the combination, or those of each member.
    """

    y: np.ndarray
    groups: np.ndarray | None
    predictions: Any

    @classmethod
    def of(
        cls, rows: Rows, groups: np.ndarray | None, held: np.ndarray, predictions: Any
    ) -> "HeldOutRows":
        """The groups are those of the rows of `fit`, which may be more."""
        if groups is not None:
            groups = groups[np.asarray(rows.numbers)][held]
        elif len(np.unique(held)) < len(held):
            groups = held
        codes = None if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
        return cls(rows.y[held], codes, predictions)


def obstacle_to_scores(y: np.ndarray, weight: np.ndarray | None) -> str | None:
    """Why rows of a fit give no intervals and sets: the error of who asks for them later."""
    what = "Intervals and sets by held-out rows"
    if y.ndim > 1:
        return f"{what} require a single output; y had {y.shape[1]}."
    if weight is not None and np.ptp(weight) > 0:
        return str(unequal_weights(what))
    return None


def held_out_rows(model: Any, what: str, advice: str) -> HeldOutRows:
    """What a fitted model knows of held-out rows, or a ValueError that says how to have it."""
    found = model._held_out
    if found is None:
        raise ValueError(f"{what} requires predictions for held-out rows; fit with {advice}.")
    if isinstance(found, str):
        raise ValueError(found)
    return found


def interval_around(
    rows: HeldOutRows, known: np.ndarray, at: np.ndarray, coverage: float, method: str, side: str
) -> np.ndarray:
    """The ends at new rows, of shape (m, 2), from predictions of the held-out and the new rows."""
    one_of("method", method, ("conformal",))
    one_of("side", side, ("both", "lower", "upper"))
    coverage = checked_coverage(coverage)
    # Residuals of huge targets are beyond the largest float; halves of both are not.
    off = rows.y / 2 - known / 2
    fold, at = np.zeros(len(off), dtype=np.intp), at[:, None] / 2
    ends = interval_by_folds((-off, off), fold, rows.groups, (at, at), None, coverage, side)
    with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
        return 2 * ends


def set_around(rows: HeldOutRows, known: np.ndarray, at: np.ndarray, rule: SetRule) -> np.ndarray:
    """Whether each class is in the set, (m, K), from the probabilities of held-out and new rows."""
    own, fold = ClassPlaces.of_own(known, rows.y), np.zeros(len(rows.y), dtype=np.intp)
    return set_by_folds(own, rows.y, fold, rows.groups, at[:, None], rule)
