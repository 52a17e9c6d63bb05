"""Importances of features by the rows that the trees of an ensemble are not fitted to."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._door import LARGEST_COUNT
from sklearn_ensemble_theory._running import MAX_SEED, in_order
from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.bounds._arguments import (
    check_integer,
    checked_generator,
)
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_one_output,
    check_rows_outside,
    kept_rows,
    kept_X,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    tree_input,
)
from sklearn_ensemble_theory.trees._tree_arrays import (
    Nodes,
    levels_of,
    member_nodes,
    read_by,
)

TOO_LARGE = "y is so large that importances in units of y squared are beyond the largest float."


# --- of a fitted ensemble -------------------------------------------------------------------------


def unbiased_importances(ensemble: Ensemble) -> np.ndarray:
    """Return the mean gains of the splits, with half of each square from out-of-bag rows."""
    X, y, trees = checked_trees(ensemble, "unbiased_feature_importances")
    members, spec = ensemble.members, ensemble.draws

    def make() -> np.ndarray:
        weight = spec.scheme.sample_weight
        unit = 1.0
        if ensemble.draws.n_classes:
            targets = np.equal(y[:, None], np.arange(spec.n_classes)).astype(float)
        else:
            # Gains do not change with a constant that is added; products stay in range.
            # Rows of weight 0 have no part in the fit, and may have any target.
            rows = slice(None) if weight is None else weight > 0
            unit = unit_of(y[rows])
            targets = (y / unit)[:, None]
            targets = targets - targets[rows].mean()
        total = np.zeros(ensemble.n_features)
        for member, nodes, features, seed in zip(members, trees, ensemble.columns, ensemble.seeds):
            part = X if features is None else X[:, features]
            # The rows of a member are drawn again from its seed instead of being stored.
            _, drawn, v = spec.draw(seed)
            v = spec.fit_weights(v, y[drawn])
            other = rows_outside(ensemble, seed)
            leaf = member.apply(read_by(member, part), check_input=False)
            w = np.ones(len(other)) if weight is None else weight[other]
            gains = unbiased_gains(
                nodes,
                node_means(nodes, leaf[drawn], v, targets[drawn]),
                node_means(nodes, leaf[other], w, targets[other]),
                part.shape[1],
            )
            if features is None:
                total += gains
            else:
                np.add.at(total, features, gains)  # a feature may have been drawn twice
        return total / len(members) * unit * unit

    training = kept_rows(ensemble, "unbiased_feature_importances")
    with np.errstate(over="ignore"):
        gains = training.derived("gains", members, make)
    if not np.isfinite(gains).all():
        raise ValueError(TOO_LARGE)
    return gains.copy()


def permutation_importances(
    ensemble: Ensemble, n_repeats: int, random_state: RandomStateLike
) -> Bunch:
    """Return the increase of the trees' loss at out-of-bag rows if a feature is permuted there."""
    check_integer("n_repeats", n_repeats, 1, LARGEST_COUNT)
    rng = checked_generator(random_state)
    X, y, _ = checked_trees(ensemble, "oob_permutation_importances")
    members, scheme = ensemble.members, ensemble.draws.scheme
    # A seed for each member: results do not depend on the number of jobs.
    seeds = rng.randint(MAX_SEED, size=len(members))
    y = np.asarray(y, dtype=np.float64)
    unit = 1.0
    if not ensemble.draws.n_classes:
        unit = unit_of(y if scheme.sample_weight is None else y[scheme.sample_weight > 0])
    outside = [rows_outside(ensemble, seed) for seed in ensemble.seeds]
    tasks = (
        delayed(_permuted_losses)(member, features, X[rows], y[rows], seed, int(n_repeats), unit)
        for member, features, rows, seed in zip(members, ensemble.columns, outside, seeds)
        # A member that is fitted to all rows says nothing of new ones.
        if len(rows)
    )
    total, counts = np.zeros((ensemble.n_features, len(y))), np.zeros(len(y))
    results = in_order(tasks, n_jobs=ensemble.n_jobs, prefer="threads")
    for increase, rows in zip(results, [rows for rows in outside if len(rows)]):
        total[:, rows] += increase
        counts[rows] += 1
    # Rows that all members are fitted to have no loss; each other row counts the same.
    known = np.flatnonzero(counts)
    if not len(known):
        raise ValueError(
            "oob_permutation_importances requires rows that are not drawn for every member: "
            f"all members are fitted to all {len(y)} rows of X."
        )
    means = total[:, known] / counts[known]
    error = scheme.error_of_mean(means, known)
    with np.errstate(over="ignore"):
        found = [each * unit * unit for each in (means.mean(axis=1), error)]
    if np.isinf(found).any():
        raise ValueError(TOO_LARGE)
    return Bunch(importances_mean=found[0], standard_error=found[1])


def checked_trees(
    ensemble: Ensemble, what: str, outside: bool = True
) -> tuple[np.ndarray, np.ndarray, list[Nodes]]:
    """Return the training rows as trees take them, their targets, and the members' nodes."""
    check_one_output(ensemble, what)
    if outside:
        check_rows_outside(ensemble, "Importances by out-of-bag rows")
    trees = member_nodes(ensemble.members)
    if trees is None:
        others = (m for m in ensemble.members if member_nodes([m]) is None)
        name = type(next(others)).__name__
        raise ValueError(f"estimator: {what} requires members that are trees, got {name}.")
    X = kept_X(ensemble, what)
    if sp.issparse(X):
        raise ValueError(f"{what} requires a dense X.")
    return tree_input(ensemble, X), kept_rows(ensemble, what).y, trees


def rows_outside(ensemble: Ensemble, seed: int) -> np.ndarray:
    """Return the rows of positive weight that the member of this seed is not fitted to."""
    scheme = ensemble.draws.scheme
    outside = scheme.is_outside(ensemble.draws.draw(seed)[1])
    if scheme.sample_weight is not None:
        outside &= scheme.sample_weight > 0
    return np.flatnonzero(outside)


def unit_of(y: np.ndarray) -> float:
    """Return a power of 2 of the size of y."""
    return power_of_two(float(np.abs(y).max(initial=0.0)) or 1.0)


# --- of one tree ----------------------------------------------------------------------------------


def node_means(
    nodes: Nodes, leaf: np.ndarray, weights: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(total weight, mean target) of the rows in each of m nodes; 0 where there are no rows."""
    left, right, m = np.asarray(nodes.left), np.asarray(nodes.right), len(nodes)
    columns = np.column_stack([weights, weights[:, None] * targets])
    sums = np.column_stack([np.bincount(leaf, column, minlength=m) for column in columns.T])
    # The sums of the leaves are added upwards, a level of inner nodes at a time.
    for inner in reversed(levels_of(left, right)):
        sums[inner] = sums[left[inner]] + sums[right[inner]]
    total = sums[:, :1]
    return total[:, 0], np.divide(
        sums[:, 1:], total, out=np.zeros((m, targets.shape[1])), where=total > 0
    )


def unbiased_gains(
    nodes: Nodes,
    fitted: tuple[np.ndarray, np.ndarray],
    outside: tuple[np.ndarray, np.ndarray],
    n_features: int,
) -> np.ndarray:
    """The gains of a tree's splits, summed by feature, with half of each square from other rows.

    A split of a node of weight w into l and r decreases the squared error, or the Gini index, by
    w_l |p_l|² + w_r |p_r|² - w |p|², with p the means of the rows that the tree was fitted to. With
    products p q in place of the squares, q the means of other rows, the gain has mean 0 for a
    feature that is independent of the target, as q then has the same mean in l, r and the node
    [Zhou and Hooker, 2021].

    `fitted` and `outside` are pairs (total, mean) as `node_means` returns them; the gains are
    divided by the total weight.
    """
    left, right = np.asarray(nodes.left), np.asarray(nodes.right)
    inner = np.flatnonzero(left >= 0)
    left, right = left[inner], right[inner]
    weight, p = fitted
    n_outside, q = outside
    weighted = weight * np.einsum("mk,mk->m", p, q)
    gain = weighted[left] + weighted[right] - weighted[inner]
    # A split without other rows on both sides is not known to gain anything.
    gain[(n_outside[left] == 0) | (n_outside[right] == 0)] = 0.0
    feature = np.asarray(nodes.feature)[inner]
    return np.bincount(feature, gain, minlength=n_features)[:n_features] / weight[0]


def _permuted_losses(
    member,
    features: np.ndarray | None,
    X: np.ndarray,
    y: np.ndarray,
    seed: int,
    n_repeats: int,
    unit: float,
) -> np.ndarray:
    """Mean increase of the loss at rows of X, by each feature that is permuted among them, (p, m).

    The loss is the squared error in these units, or 1 for a wrong class.
    """
    rng = np.random.RandomState(seed)
    classes = getattr(member, "classes_", None)

    def loss(rows: np.ndarray) -> np.ndarray:
        part = rows if features is None else rows[:, features]
        with np.errstate(all="ignore"):
            found = member.predict(read_by(member, part), check_input=False)
            if classes is not None:
                return (found != y).astype(float)
            return (found / unit - y / unit) ** 2

    increase = np.zeros((X.shape[1], len(X)))
    # Only features that the tree splits on can change its predictions.
    used = np.unique(member.tree_.feature[member.tree_.children_left >= 0])
    used = used if features is None else np.unique(features[used])
    before = loss(X)
    changed = X.copy()
    for j in used:
        for _ in range(n_repeats):
            changed[:, j] = X[rng.permutation(len(X)), j]
            increase[j] += loss(changed) - before
        changed[:, j] = X[:, j]
    return increase / n_repeats
