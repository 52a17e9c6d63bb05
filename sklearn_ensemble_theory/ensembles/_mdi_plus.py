"""MDI+: importances by ridge regression on the splits of each tree, beside the features themselves.

A tree is least squares on a feature psi_t for each inner node t: with N the weights of the rows in
nodes and l, r its children, (N_r / N_l)^(1/2) in l, -(N_l / N_r)^(1/2) in r and 0 elsewhere. These
are orthogonal, of squared norm N_t, and the mean decrease of impurity of feature k, as a share of
the impurity of the root, is the R² of the part of the fit that splits on k. MDI+ [Agarwal et al.,
2023] takes ridge regression in place of least squares, adds the column x_k, in units of its
standard deviation, to the splits on k, and leaves the row out at which it predicts.

Because the psi are orthogonal, everything is sums along the paths of rows. Ridge regression of any
target on the psi is hierarchical shrinkage of its means in the nodes, H; what is left of the
columns is G = Z - H Z, and of their Gram matrix the p x p matrix S = Z'W G + lambda I.
"""

from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._running import in_order
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.bounds._arguments import checked_numbers
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
)
from sklearn_ensemble_theory.ensembles._out_of_bag_importances import (
    checked_trees,
    node_means,
    unit_of,
)
from sklearn_ensemble_theory.trees._shrinkage import REG_PARAMS, leaves_of, shrunk_values
from sklearn_ensemble_theory.trees._tree_arrays import Nodes, levels_of

# Numbers of nodes that are shrunk at once: 32 MB.
NUMBERS_AT_ONCE = 2**22
# Without 0, at which a row that is alone in its leaf cannot be left out.
POSITIVE_REG_PARAMS = (*REG_PARAMS[1:], 1000.0)


def mdi_plus(ensemble: Ensemble, reg_params: ArrayLike) -> Bunch:
    """The gains of the parts of each tree's ridge regression, as a mean over the trees."""
    grid = np.unique(checked_numbers("reg_params", reg_params, 0.0, open_low=True))
    if not len(grid):
        raise ValueError("reg_params must have a value to choose.")
    X, y, trees = checked_trees(ensemble, "mdi_plus_importances", outside=False)
    spec = ensemble.draws
    weight = spec.scheme.sample_weight
    weight = np.ones(len(y)) if weight is None else weight
    rows = np.flatnonzero(weight)
    if ensemble.draws.n_classes:
        targets = np.equal(y[:, None], np.arange(spec.n_classes)).astype(float)
    else:
        targets = np.where(weight > 0, y / unit_of(y[rows]), 0.0)[:, None]
    columns = X.astype(np.float64)
    encoder = ensemble.encoder
    if encoder is not None:  # the numbers of categories have no order
        columns[:, np.asarray(encoder.flags, dtype=bool)] = 0.0

    def of_member(member: Any, nodes: Nodes, features: np.ndarray | None, seed: int) -> tuple:
        _, drawn, v = spec.draw(seed)
        fitted = np.zeros(len(y))
        fitted[drawn] = spec.fit_weights(v, y[drawn])
        own = columns if features is None else columns[:, features]
        leaf = leaves_of(member, X if features is None else X[:, features])
        return partial_gains(
            nodes, leaf[rows], fitted[rows], targets[rows], own[rows], weight[rows], grid
        )

    every = ensemble.columns
    tasks = (
        delayed(of_member)(*each) for each in zip(ensemble.members, trees, every, ensemble.seeds)
    )
    total, chosen = np.zeros(ensemble.n_features), []
    results = in_order(tasks, n_jobs=ensemble.n_jobs, prefer="threads")
    for features, (gains, reg_param) in zip(every, results):
        # A feature may have been drawn twice.
        np.add.at(total, np.arange(len(total)) if features is None else features, gains)
        chosen.append(reg_param)
    return Bunch(importances_mean=total / len(chosen), reg_params=np.array(chosen))


def partial_gains(
    nodes: Nodes,
    leaf: np.ndarray,
    fitted: np.ndarray,
    targets: np.ndarray,
    columns: np.ndarray,
    weight: np.ndarray,
    reg_params: np.ndarray,
) -> tuple[np.ndarray, float]:
    """(gains of the p parts of one tree's ridge regression, the penalty).

    A gain is the decrease of the squared error by the part, at rows that are left out, in units of
    the error without any part. The penalty has the smallest error of the whole regression. `fitted`
    are the weights of the fit, where a row of weight 0 is left out as it is, and `weight` those of
    the errors; missing values of `columns` count as the mean.
    """
    left, right = np.asarray(nodes.left), np.asarray(nodes.right)
    feature, n_targets = np.asarray(nodes.feature), targets.shape[1]
    W, w = fitted.sum(), fitted[:, None]
    targets = targets - fitted @ targets / W
    Z = _standardised(columns, fitted)
    N, means = node_means(nodes, leaf, fitted, np.hstack([targets, Z]))
    levels = levels_of(left, right)

    best: Any = None
    step = max(1, NUMBERS_AT_ONCE // means.size)
    for block in np.split(reg_params, np.arange(step, len(reg_params), step)):
        shrunk = shrunk_values(left, right, N, means, block)
        # The squared norm of the psi on the path to a node, in units of N + lambda, and its steps.
        norm, steps = np.zeros((2, len(N), len(block)))
        for inner in levels:
            for child, other in [(left[inner], right[inner]), (right[inner], left[inner])]:
                # A split with fitted rows on one side only has no psi: it is passed by a step of 0.
                odds = np.divide(N[other], N[child], out=np.zeros(len(inner)), where=N[child] > 0)
                steps[child] = odds[:, None] / (N[inner, None] + block)
                norm[child] = norm[inner] + steps[child]
        for g, reg_param in enumerate(block):
            G, rest = Z - shrunk[leaf, n_targets:, g], targets - shrunk[leaf, :n_targets, g]
            # Its eigenvalues are at least lambda, so that the inverse is as good as a solution.
            inverse = np.linalg.inv((w * Z).T @ G + reg_param * np.eye(Z.shape[1]))
            gamma, Q = inverse @ ((w * Z).T @ rest), G @ inverse
            h = 1 / W + norm[leaf, g] + np.einsum("ij,ij->i", G, Q)
            # Errors of the regression without the row, by the leverage of all its copies.
            left_out = (rest - G @ gamma) / np.maximum(1 - fitted * h, 1e-12)[:, None]
            loss = weight @ (left_out**2).sum(axis=1)
            if best is None or loss < best[0]:
                best = loss, float(reg_param), gamma, Q, steps[:, g], w * left_out
    _, reg_param, gamma, Q, steps, c = best

    # Of each part: its prediction, and by how much of c it changes when the row is left out. Rows
    # go up from their leaves to the root, and add what their parents split on.
    predicted, change = Z[:, :, None] * gamma, Z * Q
    own = means[:, :n_targets] - means[:, n_targets:] @ gamma
    parent = np.full(len(N), -1)
    for inner in levels:
        parent[left[inner]] = parent[right[inner]] = inner
    rows = np.arange(len(leaf))
    at = np.asarray(leaf, dtype=np.intp)
    while len(rows):
        above = parent[at]
        rows, at, above = rows[above >= 0], at[above >= 0], above[above >= 0]
        k = feature[above]
        share = (N[above] / (N[above] + reg_param))[:, None]
        predicted[rows, k] += share * (own[at] - own[above])
        step = share * (means[at, n_targets:] - means[above, n_targets:])
        change[rows, k] += steps[at] - np.einsum("ij,ij->i", step, Q[rows])
        at = above
    # The mean of the other rows, from which the parts start.
    null = targets + c / W
    before = weight @ (null**2).sum(axis=1)
    errors = null[:, None] - predicted + change[:, :, None] * c[:, None]
    # Row by row, so that a feature without part has exactly 0.
    gains = weight @ (null[:, None] ** 2 - errors**2).sum(axis=2)
    return gains / (before if before > 0 else 1.0), reg_param


def _standardised(columns: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Columns of weighted mean 0 and variance 1 at the fitted rows; missing values are 0."""
    known = np.isfinite(columns)
    values = np.where(known, columns, 0.0)
    mass = fitted @ known
    Z = np.where(known, values - (fitted @ values) / np.where(mass > 0, mass, 1.0), 0.0)
    # Constant columns stay what rounding leaves of them, in units of their size.
    scale = np.sqrt(fitted @ Z**2 / fitted.sum())
    is_constant = scale <= 1e-12 * np.abs(values).max(axis=0, initial=0.0)
    return np.where(is_constant, 0.0, Z / np.where(is_constant, 1.0, scale))
