"""Hierarchical shrinkage of the trees of an ensemble; out-of-bag rows choose how much."""

from copy import copy
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._running import in_order
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.ensembles._importances import rows_outside
from sklearn_ensemble_theory.ensembles._members import (
    FittedEnsemble,
    columns_of_members,
    leaf_outputs,
    tree_input,
)
from sklearn_ensemble_theory.ensembles._training_rows import (
    TrainingRows,
    check_rows_outside,
    kept_rows,
    kept_X,
)
from sklearn_ensemble_theory.trees._packed import PackedCache
from sklearn_ensemble_theory.trees._shrinkage import (
    check_shrinkable,
    checked_reg_params,
    held_out_loss,
    leaf_values,
    leaves_of,
    record_shrinkage,
    with_shrunk_values,
)

Ensemble = TypeVar("Ensemble", bound=FittedEnsemble)
WHAT = 'reg_param="cv"'


def shrunk_ensemble(ensemble: Ensemble, reg_param: float | str, reg_params: ArrayLike) -> Ensemble:
    """A copy of an ensemble whose trees are shrunk, all by the same parameter."""
    check_is_fitted(ensemble)
    grid = checked_reg_params(ensemble, reg_param, reg_params)
    # A member whose draw had no rows is a constant, which has nothing to shrink.
    kind = type(ensemble.estimator_)
    for member in ensemble.estimators_:
        if type(member) is kind:
            check_shrinkable(member)
    if not any(type(member) is kind for member in ensemble.estimators_):
        check_shrinkable(ensemble.estimators_[0])
    loss = None
    if grid is not None:
        loss = out_of_bag_losses(ensemble, grid)
        reg_param = grid[np.argmin(loss)]
    found = copy(ensemble)
    found.estimators_ = [
        with_shrunk_values(member, float(reg_param)) if type(member) is kind else member
        for member in ensemble.estimators_
    ]
    # What was derived from the members before holds them; a copy is without it. The residuals of a
    # window are those of the members before too.
    vars(found).update(_packed=PackedCache(), _training=copy(ensemble._training))
    if isinstance(found._training, TrainingRows):
        found._training.window = None
    record_shrinkage(found, float(reg_param), grid, loss)
    return found


def out_of_bag_losses(ensemble: FittedEnsemble, grid: np.ndarray) -> np.ndarray:
    """The loss of the mean of all members for each of G parameters, in one pass over the trees.

    A row finds its leaf once in each tree, and adds up the errors of the leaf for all parameters.
    The mean over the c members outside of a row varies more than that of all B members. With s² the
    variance of the errors of the c members, e their mean, which are independent draws,

        e² - s² (1/c - 1/B)

    has the mean of the squared error of B members. Without it few members shrink too much.
    """
    training = kept_rows(ensemble, WHAT)
    check_rows_outside(ensemble, f"{WHAT}: the losses")
    X, spec = tree_input(ensemble, kept_X(ensemble, WHAT)), ensemble._member_spec
    n_classes, n, n_members = spec.n_classes, X.shape[0], len(ensemble.estimators_)
    target = training.y.reshape(n, -1)
    n_outputs = target.shape[1] if n_classes else 0
    exponent = 0
    if n_classes:  # the codes of several outputs follow each other
        codes, target = target.astype(np.intp), np.zeros((n, n_classes))
        np.put_along_axis(target, codes, 1.0, axis=1)
    else:
        exponent = range_exponent(target)
        target = np.ldexp(target, -exponent, dtype=np.float64)
    method = ensemble._prediction_method(ensemble.estimator_)
    shares = leaf_outputs(ensemble.estimators_, n_classes, method == "vote") if n_classes else None

    def errors_outside(t: int, member: Any, features: np.ndarray | None, seed: int) -> tuple:
        rows = rows_outside(ensemble, seed)
        part = X[rows] if features is None else X[rows][:, features]
        if type(member) is not type(ensemble.estimator_):  # a constant
            constant = member.predict_proba if n_classes else member.predict
            row = np.reshape(constant(np.zeros((1, part.shape[1]))), (1, -1, 1))
            values = np.repeat(row, len(grid), axis=2)
            leaf = np.zeros(len(rows), dtype=np.intp)
        else:
            values, leaf = leaf_values(member, grid), leaves_of(member, part)
        if shares is not None:
            values = np.stack([shares(t, each) for each in np.moveaxis(values, 2, 0)], axis=2)
        if exponent:
            values = np.ldexp(values, -exponent)
        # The values of a leaf for all parameters lie side by side.
        found = values.reshape(len(values), -1)[leaf].reshape(len(rows), target.shape[1], len(grid))
        found -= target[rows, :, None]
        return rows, found

    tasks = (
        delayed(errors_outside)(t, *each)
        for t, each in enumerate(
            zip(ensemble.estimators_, columns_of_members(ensemble), ensemble._seeds)
        )
    )
    total, squares = np.zeros((2, n, target.shape[1], len(grid)))
    counts = np.zeros(n, dtype=np.intp)
    for rows, errors in in_order(tasks, n_jobs=ensemble.n_jobs, prefer="threads"):
        total[rows] += errors
        errors *= errors
        squares[rows] += errors
        counts[rows] += 1
    # Of a single member outside the variance is not known; such rows only serve without others.
    known = np.flatnonzero(counts >= np.clip(counts.max(), 1, 2))
    if not len(known):
        raise ValueError(
            f"{WHAT} requires rows that are not drawn for every member: all members are fitted to "
            f"all {n} rows of X. Use more members, or a number as reg_param."
        )
    c = counts[known, None, None]
    loss = (total[known] / c) ** 2
    loss -= (squares[known] / c - loss) * (c / np.maximum(c - 1, 1)) * (1 / c - 1 / n_members)
    weight = spec.scheme.sample_weight
    weight = None if weight is None else weight[known]
    return held_out_loss(target[known], loss, weight, n_outputs)
