"""Predictions for held-out rows, by any splitter: it may leave rows out, or repeat them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._compat import check_method_params, safe_split
from sklearn_ensemble_theory._numerics.class_columns import aligned_columns
from sklearn_ensemble_theory.combining._members import fit_named, raise_named
from sklearn_ensemble_theory.combining._shared_fits import KnownFits, sharing_groups

__all__ = ["HeldOutPredictions", "fit_and_hold_out", "predicted"]

# Name, estimator, method that predicts, parameters of fit.
Spec = tuple[str, Any, str, Mapping[str, Any]]
Split = tuple[np.ndarray, np.ndarray]


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
    members: list[Spec],
    X: Any,
    y: np.ndarray,
    splits: list[Split],
    classes: np.ndarray | None,
    *,
    share: bool,
    known: KnownFits | None,
    n_jobs: int | None,
    verbose: int,
) -> tuple[list[Any], HeldOutPredictions]:
    """Fit every member to all rows and to the training rows of every split.

    Parameters
    ----------
    members : list of (name, estimator, method, parameters of fit)
        No two of them are the same learner.
    X, y
        The rows that are fitted.
    splits : list of (train, test)
    classes : array of shape (K,) or None
        0, ..., K-1 for a classifier with one output.
    share : bool
        Whether a learner that several members contain is fitted once to the same rows. Those
        members are fitted one after the other.
    known : KnownFits or None
        Fits to all rows that are known from another ensemble; those made here are added.
    n_jobs, verbose
        As in joblib.

    Returns
    -------
    fitted : list of estimators
    held_out : HeldOutPredictions
    """
    X_parts, y = indexable(X, y)
    n_splits = len(splits)
    every = [[j] for j in range(len(members))]
    groups = sharing_groups([member for _, member, _, _ in members]) if share else every
    fitted = [None if known is None else known.find(spec[1], X, y) for spec in members]
    unknown = [[j for j in group if fitted[j] is None] for group in groups]
    unknown = [group for group in unknown if group]
    # The fits to all rows come first: with one job, generators are used as by scikit-learn.
    tasks = [delayed(_fit_group)([members[j] for j in group], X, y) for group in unknown]
    tasks += [
        delayed(_held_out_group)([members[j] for j in group], X_parts, y, split, number, classes)
        for group in groups
        for number, split in enumerate(splits)
    ]
    results = iter(Parallel(n_jobs=n_jobs, verbose=verbose)(tasks))
    for group in unknown:
        for j, model in zip(group, next(results)):
            fitted[j] = model
            if known is not None:
                known.add(members[j][1], model, X, y)
    parts: list[list[Any]] = [[] for _ in members]
    for group in groups:
        for _ in splits:
            for j, values in zip(group, next(results)):
                parts[j].append(values)
    rows = np.concatenate([test for _, test in splits])
    folds = np.repeat(np.arange(n_splits), [len(test) for _, test in splits])
    order = np.argsort(rows, kind="stable")
    predictions = [_joined(part, order) for part in parts]
    rows = rows[order]
    once = len(rows) == len(y) and bool((np.diff(rows) == 1).all())
    return fitted, HeldOutPredictions(rows, folds[order], predictions, once)


def _fit_group(specs: list[Spec], X: Any, y: np.ndarray) -> list[Any]:
    """Fit members that have learners in common to the same rows."""
    known = KnownFits(X, y) if len(specs) > 1 else None
    return [_fitted(member, X, y, params, name, known) for name, member, _, params in specs]


def _fitted(
    member: Any,
    X: Any,
    y: np.ndarray,
    params: Mapping[str, Any],
    name: str,
    known: KnownFits | None,
    place: str = "",
) -> Any:
    """A fitted clone of the member, or the known one."""
    if known is None:
        return fit_named(clone(member), X, y, params, name, place=place)
    fitted = known.find(member, X, y)
    if fitted is None:
        fitted = fit_named(clone(member), X, y, params, name, place=place, known=known)
        known.add(member, fitted, X, y)
    return fitted


def _held_out_group(
    specs: list[Spec],
    X: Any,
    y: np.ndarray,
    split: Split,
    number: int,
    classes: np.ndarray | None,
) -> list[Any]:
    """The predictions for the test rows of one split, of members with learners in common.

    The rows to train on are freed before the test rows are gathered.
    """
    train, test = split
    place = f"split {number} of cv"
    is_kernel = [bool(get_tags(member).input_tags.pairwise) for _, member, _, _ in specs]
    fitted = _fitted_to_split(specs, X, y, train, is_kernel, place)
    tested: dict[bool, Any] = {}
    values = []
    for (name, member, method, _), kernel, model in zip(specs, is_kernel, fitted):
        if kernel not in tested:
            tested[kernel], _ = safe_split(member, X, y, test, train)
        try:
            values.append(predicted(model, method, tested[kernel], classes))
        except Exception as error:
            raise_named(error, name, place)
    return values


def _fitted_to_split(
    specs: list[Spec],
    X: Any,
    y: np.ndarray,
    train: np.ndarray,
    is_kernel: list[bool],
    place: str,
) -> list[Any]:
    """The members, fitted to these rows; kernels to these columns of them as well."""
    trained: dict[bool, tuple[Any, Any]] = {}
    known, fitted = None, []
    for (name, member, _, params), kernel in zip(specs, is_kernel):
        if kernel not in trained:
            trained[kernel] = safe_split(member, X, y, train)
        X_train, y_train = trained[kernel]
        if known is None and len(specs) > 1:
            known = KnownFits(X_train, y_train)
        inside = check_method_params(X, params=params, indices=train)
        fitted.append(_fitted(member, X_train, y_train, inside, name, known, place))
    return fitted


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
