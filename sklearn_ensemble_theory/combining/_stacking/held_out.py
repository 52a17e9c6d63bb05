"""Predictions for held-out rows, by any splitter: it may leave rows out, or repeat them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._compat import check_method_params, safe_split
from sklearn_ensemble_theory.combining._members import fit_named, raise_named
from sklearn_ensemble_theory.combining._outputs import aligned_columns

__all__ = ["HeldOutPredictions", "fit_and_hold_out", "predicted"]


@dataclass
class HeldOutPredictions:
    """Held-out predictions of all members.

    Attributes
    ----------
    rows : int array of shape (m,)
        The rows predicted, in increasing order; a row that several splits hold out is repeated.
    folds : int array of shape (m,)
        The number of the split.
    predictions : list
        For each member, an array of m rows, or a list of them for several outputs.
    every_row_once : bool
        Whether the rows are 0, ..., n-1.
    """

    rows: np.ndarray
    folds: np.ndarray
    predictions: list[Any]
    every_row_once: bool

    @property
    def fold_rows(self) -> list[np.ndarray]:
        """The positions of each split among the m rows."""
        return [np.flatnonzero(self.folds == fold) for fold in range(self.folds.max() + 1)]


def fit_and_hold_out(
    members: list[tuple[str, Any, str, Mapping[str, Any]]],
    X: Any,
    y: np.ndarray,
    splits: list[tuple[np.ndarray, np.ndarray]],
    classes: np.ndarray | None,
    *,
    n_jobs: int | None,
    verbose: int,
) -> tuple[list[Any], HeldOutPredictions]:
    """Fit every member to all rows and to the training rows of every split.

    Parameters
    ----------
    members : list of (name, estimator, method, parameters of fit)
    X, y
        The rows that are fitted.
    splits : list of (train, test)
    classes : array of shape (K,) or None
        0, ..., K-1 for a classifier with one output.
    n_jobs, verbose
        As in joblib.

    Returns
    -------
    fitted : list of estimators
    held_out : HeldOutPredictions
    """
    X_parts, y = indexable(X, y)
    n_splits = len(splits)
    # The fits to all rows come first: with one job, generators are used as by scikit-learn.
    tasks = [
        delayed(fit_named)(clone(member), X, y, params, name) for name, member, _, params in members
    ]
    tasks += [
        delayed(_held_out_part)(clone(member), X_parts, y, split, number, spec, classes)
        for name, member, method, params in members
        for number, split in enumerate(splits)
        for spec in [(name, method, params)]
    ]
    results = Parallel(n_jobs=n_jobs, verbose=verbose)(tasks)
    fitted, parts = results[: len(members)], results[len(members) :]
    rows = np.concatenate([test for _, test in splits])
    folds = np.repeat(np.arange(n_splits), [len(test) for _, test in splits])
    order = np.argsort(rows, kind="stable")
    predictions = [
        _joined(parts[n_splits * j : n_splits * (j + 1)], order) for j in range(len(members))
    ]
    rows = rows[order]
    once = len(rows) == len(y) and bool((np.diff(rows) == 1).all())
    return fitted, HeldOutPredictions(rows, folds[order], predictions, once)


def _held_out_part(
    member: Any,
    X: Any,
    y: np.ndarray,
    split: tuple[np.ndarray, np.ndarray],
    number: int,
    spec: tuple[str, str, Mapping[str, Any]],
    classes: np.ndarray | None,
) -> Any:
    """The predictions for the test rows of one split."""
    name, method, params = spec
    train, test = split
    place = f"split {number} of cv"
    X_train, y_train = safe_split(member, X, y, train)
    X_test, _ = safe_split(member, X, y, test, train)
    inside = check_method_params(X, params=params, indices=train)
    fit_named(member, X_train, y_train, inside, name, place=place)
    try:
        return predicted(member, method, X_test, classes)
    except Exception as error:
        raise_named(error, name, place)


def predicted(member: Any, method: str, X: Any, classes: np.ndarray | None) -> Any:
    """What the method returns, with a column for each class also where the member saw fewer.

    A class that it has not seen has the probability 0 and the smallest of its scores.

    Parameters
    ----------
    member : fitted estimator
    method : str
    X : rows
    classes : array of shape (K,) or None
        As the member knows them; None where there are no columns for classes.
    """
    values = getattr(member, method)(X)
    if classes is None or method == "predict" or not is_classifier(member):
        return values
    own = getattr(member, "classes_", classes)
    if isinstance(values, list) or len(own) == len(classes):
        return values
    if values.ndim == 1:  # scores of two of the classes
        values = np.column_stack([-values, values])
    fill = 0.0 if method == "predict_proba" else values.min()
    return aligned_columns(values, np.searchsorted(classes, own), len(classes), fill)


def _joined(parts: list[Any], order: np.ndarray) -> Any:
    """The predictions of all splits in the order of the rows."""
    if isinstance(parts[0], list):  # for each output
        return [np.concatenate([part[o] for part in parts])[order] for o in range(len(parts[0]))]
    return np.concatenate(parts)[order]
