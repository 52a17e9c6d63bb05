"""Fits to all rows, and predictions for held-out rows by any splitter.

A splitter may leave rows out, or hold them out several times: the predictions come with the rows
that they are for.
"""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._compat import check_method_params, safe_split
from sklearn_ensemble_theory._learners import aligned_columns, checked_outputs
from sklearn_ensemble_theory._rows import Rows

from ._members import KnownFits, fit_named, raise_named, sharing_groups

# Name, estimator, method that predicts, arguments of fit.
Member = tuple[str, Any, str, dict[str, Any]]
Split = tuple[np.ndarray, np.ndarray]


def fit_and_hold_out(
    members: list[Member],
    rows: Rows,
    splits: list[Split],
    classes: np.ndarray | None,
    *,
    share: bool,
    known: KnownFits | None,
    n_jobs: int | None,
    verbose: int,
) -> tuple[list[Any], list[Any], np.ndarray, np.ndarray]:
    """Fit every member to all rows and to the training rows of every split.

    With `share`, a learner that is several members, or a part of several, is fitted once to the
    same rows; those members are fitted one after the other. `known` has fits to all rows by another
    ensemble, to which those made here are added. `classes` are 0, ..., K-1 for a classifier with
    one output.

    Returns the members fitted to all rows; for each member its predictions for the rows that are
    held out, a list of them for several outputs; these rows, in increasing order, one that several
    splits hold out repeated; and the number of the split of each.
    """
    X, y = rows.X, rows.y
    fitted = [None if known is None else known.find(member, X, y) for _, member, _, _ in members]
    groups = [[j] for j in range(len(members))]
    if share:
        groups = sharing_groups([member for _, member, _, _ in members])
    unknown = [left for group in groups if (left := [j for j in group if fitted[j] is None])]
    # The fits to all rows come first: with one job, generators are used as by scikit-learn.
    tasks = [delayed(_fit_group)([members[j] for j in group], X, y) for group in unknown]
    (X_parts,) = indexable(X)
    tasks += [
        delayed(_hold_out)([members[j] for j in group], X_parts, y, split, number, classes)
        for group in groups
        for number, split in enumerate(splits)
    ]
    results = iter(Parallel(n_jobs=n_jobs, verbose=verbose)(tasks))

    for group in unknown:
        for j, model in zip(group, next(results)):
            fitted[j] = model
            if known is not None:
                known.add(members[j][1], model, X, y)
    # Results come in the order of the tasks.
    parts: list[list[Any]] = [[] for _ in members]
    for group in groups:
        for _ in splits:
            for j, values in zip(group, next(results)):
                parts[j].append(values)

    # From the order of the splits to that of the rows.
    held = np.concatenate([test for _, test in splits])
    folds = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    order = np.argsort(held, kind="stable")
    predictions: list[Any] = []
    for part in parts:
        if isinstance(part[0], list):  # for each output
            predictions.append([np.concatenate(output)[order] for output in zip(*part)])
        else:
            predictions.append(np.concatenate(part)[order])
    return fitted, predictions, held[order], folds[order]


def _fit_group(
    members: list[Member], X: Any, y: np.ndarray, train: np.ndarray | None = None, place: str = ""
) -> list[Any]:
    """Fit clones of members that have learners in common, each learner once, to the same rows."""
    fitted: list[Any] = []
    known = None
    taken: dict[bool, tuple[Any, np.ndarray]] = {}
    # The rows are gathered once for all of them; a fit of the first is known to those that follow.
    for name, member, _, params in members:
        rows = X, y
        if train is not None:
            # A member that takes a kernel matrix takes these columns of it as well.
            pairwise = get_tags(member).input_tags.pairwise
            if pairwise not in taken:
                taken[pairwise] = safe_split(member, X, y, train)
            rows = taken[pairwise]
            params = check_method_params(X, params=params, indices=train)
        if len(members) == 1:  # nothing to share
            return [fit_named(clone(member), *rows, params, name, place=place)]
        known = known or KnownFits(*rows)
        model = known.find(member, *rows)
        if model is None:
            model = fit_named(clone(member), *rows, params, name, place=place, known=known)
            known.add(member, model, *rows)
        fitted.append(model)
    return fitted


def _hold_out(
    members: list[Member],
    X: Any,
    y: np.ndarray,
    split: Split,
    number: int,
    classes: np.ndarray | None,
) -> list[Any]:
    """The predictions for the test rows of one split by members fitted to its training rows."""
    train, test = split
    place = f"split {number} of cv"
    # The rows to train on are freed before those to test on are gathered.
    fitted = _fit_group(members, X, y, train, place)
    taken: dict[bool, Any] = {}
    values: dict[int, Any] = {}
    for (name, member, method, _), model in zip(members, fitted):
        if id(model) in values:  # a learner that is several members predicts once
            continue
        pairwise = get_tags(member).input_tags.pairwise
        if pairwise not in taken:
            taken[pairwise], _ = safe_split(member, X, y, test, train)
        try:
            values[id(model)] = predicted(model, method, taken[pairwise], classes)
        except Exception as error:
            raise_named(error, name, place)
    return [values[id(model)] for model in fitted]


def predicted(
    member: Any, method: str, X: Any, classes: np.ndarray | None, labels: bool = False
) -> Any:
    """Call the method; its result has a column for each class also where the member saw fewer.

    A class that it has not seen has the probability 0 and the smallest of its scores. `classes` are
    as the member knows them, None where there are no columns for classes; with `labels` the member
    predicts labels, which become positions in `classes`.
    """
    values = getattr(member, method)(X)
    if not isinstance(values, list):  # probabilities for each output
        values = checked_outputs(values, member, X)
    if classes is None or not is_classifier(member):
        return values
    if method == "predict":
        return np.searchsorted(classes, values) if labels else values
    own = getattr(member, "classes_", classes)
    if isinstance(values, list) or len(own) == len(classes):
        return values
    if values.ndim == 1:  # scores of two of the classes
        values = np.column_stack([-values, values])
    # A score has no zero: the smallest one stands for a class that was not seen.
    fill = 0.0 if method == "predict_proba" else values.min()
    return aligned_columns(values, np.searchsorted(classes, own), len(classes), fill)
