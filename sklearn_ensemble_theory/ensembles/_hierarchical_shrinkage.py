"""Hierarchical shrinkage of the trees of an ensemble; out-of-bag rows choose how much."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._running import in_order
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_rows_outside,
    kept_rows,
    kept_X,
)
from sklearn_ensemble_theory.ensembles._out_of_bag_importances import rows_outside
from sklearn_ensemble_theory.ensembles._predictions import (
    leaf_outputs,
    tree_input,
)
from sklearn_ensemble_theory.trees._shrinkage import (
    check_shrinkable,
    held_out_loss,
    leaf_values,
    leaves_of,
    with_shrunk_values,
)

WHAT = 'reg_param="cv"'


class Shrinkage(NamedTuple):
    """Shrunk members, the parameter, and what it was chosen from: the losses of a grid, or None."""

    members: list[Any]
    reg_param: float
    grid: np.ndarray | None
    loss: np.ndarray | None


def shrunk_members(
    ensemble: Ensemble, reg_param: float | str, grid: np.ndarray | None
) -> Shrinkage:
    """The trees, all shrunk by the same parameter; that of the least loss if there is a grid."""
    # A member whose draw had no rows is a constant, which has nothing to shrink.
    kind = type(ensemble.learner)
    for member in ensemble.members:
        if type(member) is kind:
            check_shrinkable(member)
    if not any(type(member) is kind for member in ensemble.members):
        check_shrinkable(ensemble.members[0])
    loss = None
    if grid is not None:
        loss = out_of_bag_losses(ensemble, grid)
        reg_param = grid[np.argmin(loss)]
    members = [
        with_shrunk_values(member, float(reg_param)) if type(member) is kind else member
        for member in ensemble.members
    ]
    return Shrinkage(members, float(reg_param), grid, loss)


def out_of_bag_losses(ensemble: Ensemble, grid: np.ndarray) -> np.ndarray:
    """The loss of the mean of all members for each of G parameters, in one pass over the trees.

    A row finds its leaf once in each tree, and adds up the errors of the leaf for all parameters.
    The mean over the c members outside of a row varies more than that of all B members. With s² the
    variance of the errors of the c members, e their mean, which are independent draws,

        e² - s² (1/c - 1/B)

    has the mean of the squared error of B members. Without it few members shrink too much.
    """
    training = kept_rows(ensemble, WHAT)
    check_rows_outside(ensemble, f"{WHAT}: the losses")
    X, spec = tree_input(ensemble, kept_X(ensemble, WHAT)), ensemble.draws
    n_classes, n, n_members = spec.n_classes, X.shape[0], len(ensemble.members)
    target = training.y.reshape(n, -1)
    n_outputs = target.shape[1] if n_classes else 0
    exponent = 0
    if n_classes:  # the codes of several outputs follow each other
        codes, target = target.astype(np.intp), np.zeros((n, n_classes))
        np.put_along_axis(target, codes, 1.0, axis=1)
    else:
        exponent = range_exponent(target)
        target = np.ldexp(target, -exponent, dtype=np.float64)
    method = ensemble.method
    shares = leaf_outputs(ensemble.members, n_classes, method == "vote") if n_classes else None

    def errors_outside(t: int, member: Any, features: np.ndarray | None, seed: int) -> tuple:
        rows = rows_outside(ensemble, seed)
        part = X[rows] if features is None else X[rows][:, features]
        if type(member) is not type(ensemble.learner):  # a constant
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
        for t, each in enumerate(zip(ensemble.members, ensemble.columns, ensemble.seeds))
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
