"""Hierarchical shrinkage of fitted trees: the mean of a node moves towards those of its ancestors.

Nothing is fitted again: the values of all nodes are computed from the means and the weights that
the tree has, for many parameters at once where one of them is to be chosen.
"""

from copy import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import check_columns_of_tree, make_tree, tree_state
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import aligned_columns, is_tree
from sklearn_ensemble_theory._rows import positive_weights, rows_of
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, Fitted, MatrixLike
from sklearn_ensemble_theory.bounds._arguments import check_number, checked_numbers
from sklearn_ensemble_theory.trees._tree_arrays import (
    GrownTree,
    TreeArrays,
    give_grown,
    grown_tree,
    levels_of,
    read_by,
)

# What "cv" compares: from no shrinkage to what leaves little of splits of 100 rows.
REG_PARAMS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
# The fitted attributes, which a new fit removes.
SHRINKAGE = ("shrinkage_", "shrinkage_path_")
# Nodes of these criteria have medians and quantiles, not means.
QUANTILES = ("absolute_error", "quantile")


def shrunk_values(
    left: np.ndarray,
    right: np.ndarray,
    weight: np.ndarray,
    value: np.ndarray,
    reg_params: np.ndarray,
) -> np.ndarray:
    """The shrunk values (m, K, G) of the m nodes of a tree, for each of G parameters lambda.

    With t_0, ..., t_l the path from the root to a node, N the weights (m,) and E the values (m, K),

        f(t_l) = E(t_0) + sum_k (E(t_k) - E(t_{k-1})) / (1 + lambda / N(t_{k-1})).
    """
    exponent = range_exponent(value)
    value = np.ldexp(value, -exponent)
    # An edge adds -lambda / (N + lambda) times its difference to f - E: exactly 0 for lambda = 0,
    # where all values stay as they are, to the last bit.
    change = np.zeros((*value.shape, len(reg_params)))
    for inner in levels_of(left, right):
        total = weight[inner, None] + reg_params
        share = np.divide(reg_params, total, out=np.zeros_like(total), where=total > 0)[:, None]
        for child in (left[inner], right[inner]):
            step = (value[child] - value[inner])[:, :, None]
            change[child] = change[inner] - share * step
    change += value[:, :, None]
    return np.ldexp(change, exponent) if exponent else change


# --- fitted trees ---------------------------------------------------------------------------------


def arrays_of(member: Any) -> TreeArrays | None:
    """The nodes of a tree in bins whose `tree_` has not been made."""
    grown = grown_tree(member)
    return None if grown is None else grown.arrays


def leaves_of(member: Any, X: Any) -> np.ndarray:
    """The leaves of rows, without making `tree_`."""
    arrays = arrays_of(member)
    if arrays is None or issparse(X):
        return np.asarray(member.apply(read_by(member, X), check_input=False))
    return arrays.leaves_of_rows(X)


def check_shrinkable(member: Any) -> None:
    """Raise a ValueError unless this is a fitted tree of means, or of shares, with its weights."""
    name = type(member).__name__
    if not is_tree(member) and grown_tree(member) is None:
        raise ValueError(f"estimator: shrink requires members that are trees, got {name}.")
    if member.criterion in QUANTILES:
        raise ValueError(
            f"shrink requires nodes that hold means; those of criterion={member.criterion!r} hold "
            "quantiles. Use criterion='squared_error'."
        )
    if arrays_of(member) is None and not hasattr(member.tree_, "weighted_n_node_samples"):
        raise ValueError(
            "shrink requires the numbers of rows in the nodes, which compact() removed; call "
            "shrink before compact()."
        )


def shrunk_tree_values(member: Any, reg_params: np.ndarray) -> np.ndarray:
    """The values (m, K, G) of the nodes of a fitted tree: means, or shares of its classes."""
    arrays = arrays_of(member)
    if arrays is not None:
        left, right, weight, value = arrays.left, arrays.right, arrays.weight, arrays.value
    else:
        tree = member.tree_
        left, right, weight = tree.children_left, tree.children_right, tree.weighted_n_node_samples
        value = tree.value.reshape(tree.node_count, -1)
    found = shrunk_values(left, right, weight, value, reg_params)
    # Shrunk shares are means of shares; rounding may take them out of [0, 1].
    return np.clip(found, 0.0, 1.0) if is_classifier(member) else found


def leaf_values(member: Any, reg_params: np.ndarray) -> np.ndarray:
    """The values (m, K, G) as `shrunk_tree_values`, without what pads outputs of few classes."""
    values = shrunk_tree_values(member, reg_params)
    classes = getattr(member, "classes_", None)
    if arrays_of(member) is not None or not isinstance(classes, list):
        return values
    counts = [len(labels) for labels in classes]
    return values[:, (np.arange(max(counts)) < np.reshape(counts, (-1, 1))).ravel()]


def with_shrunk_values(member: Any, reg_param: float) -> Any:
    """A copy of a fitted tree, of scikit-learn's or in bins, with the shrunk values."""
    values = shrunk_tree_values(member, np.array([reg_param], dtype=np.float64))[:, :, 0]
    found, arrays = copy(member), arrays_of(member)
    grown = grown_tree(member)
    if grown is not None and arrays is not None:
        shrunk = replace(arrays, value=values)
        give_grown(found, GrownTree(shrunk, grown.n_features, grown.n_classes))
        return found
    if grown is not None:
        give_grown(found, copy(grown))
    tree, state = member.tree_, tree_state(member.tree_)
    found.tree_ = make_tree(
        state["nodes"],
        values.reshape(tree.value.shape),
        state["max_depth"],
        tree.n_features,
        list(tree.n_classes),
    )
    return found


# --- the choice of the parameter ------------------------------------------------------------------


def checked_reg_params(
    estimator: Fitted, reg_param: float | str, reg_params: ArrayLike
) -> np.ndarray | None:
    """The parameters to choose from; None where one is given."""
    check_not_shrunk(estimator, "shrink")
    if not isinstance(reg_param, str):
        check_number("reg_param", reg_param, 0.0)
        return None
    if reg_param != "cv":
        raise ValueError(f"reg_param must be a number of at least 0 or 'cv', got {reg_param!r}.")
    grid = np.unique(checked_numbers("reg_params", reg_params, 0.0))
    if not len(grid):
        raise ValueError("reg_params must have a value to choose.")
    return grid


def held_out_loss(
    target: np.ndarray, squares: np.ndarray, weight: np.ndarray | None, n_outputs: int
) -> np.ndarray:
    """The loss (G,) from squared errors (n, K, G) for targets (n, K), or indicators of classes.

    The Brier score, as a mean over outputs; with `n_outputs` 0, of real targets, 1 - R², also as a
    mean over the columns.
    """
    errors = np.average(squares, axis=0, weights=weight)
    if n_outputs:
        return errors.sum(axis=0) / n_outputs
    centred = target - np.average(target, axis=0, weights=weight)
    spread = np.average(centred**2, axis=0, weights=weight)
    return (errors / np.where(spread > 0, spread, 1.0)[:, None]).mean(axis=0)


def record_shrinkage(
    found: Any, reg_param: float, grid: np.ndarray | None, loss: np.ndarray | None
) -> None:
    """Set the fitted attributes of a shrunk estimator."""
    found.shrinkage_ = float(reg_param)
    if grid is not None and loss is not None:
        found.shrinkage_path_ = {"reg_param": grid, "loss": loss}


def check_not_shrunk(estimator: Fitted, what: str) -> None:
    """Raise a ValueError for an estimator that `shrink` has returned."""
    if hasattr(estimator, "shrinkage_"):
        raise ValueError(
            f"{what} requires the values before shrinkage, and this {type(estimator).__name__} has "
            f"been shrunk by reg_param={estimator.shrinkage_:.3g}; use the fitted estimator whose "
            "shrink returned it."
        )


def shrink(
    self: Any,
    reg_param: float | Literal["cv"] = "cv",
    X: MatrixLike | None = None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    reg_params: ArrayLike = REG_PARAMS,
    cv: Any = 5,
) -> Any:
    """Shrink the values of all nodes towards those of their ancestors.

    Let t_0, ..., t_l be the nodes that a row passes from the root to its leaf, N(t) the weight of
    the training rows in t and E(t) their mean of y. The shrunk tree predicts [Agarwal et al., 2022]

        E(t_0) + sum_k (E(t_k) - E(t_{k-1})) / (1 + lambda / N(t_{k-1})).

    Splits stay where they are.

    Parameters
    ----------
    reg_param : float or "cv", default="cv"
        lambda, in units of the rows' weights: at lambda = N(t) half of what a split of the node t
        says is left, 0 changes nothing. "cv" takes from `reg_params` the one of the smallest loss
        at held-out rows: of trees that are grown on the folds of X and y.
    X : array-like of shape (n_samples, n_features), default=None
        The training rows, for "cv".
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Their targets, for "cv".
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights, for "cv".
    reg_params : array-like of float, default=(0, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
        What "cv" compares.
    cv : int, cross-validation generator or iterable, default=5
        The folds.

    Returns
    -------
    shrunk : object
        Another fitted tree, with the attribute `shrinkage_`, the parameter. After "cv" also
        `shrinkage_path_`, a dict with the arrays `reg_param` and `loss`. The loss is 1 - R², or the
        Brier score (the sum of the squared errors of the probabilities), as means over the outputs.
        This tree stays as it is.

    Raises
    ------
    ValueError
        If `reg_param` or one of `reg_params` is negative. For "cv", if X and y are missing or
        differ from those of the fit. If the criterion is one of quantiles, or the tree has been
        shrunk before.

    Notes
    -----
    The shrunk tree is ridge regression on the tree's splits [Agarwal et al., 2022, theorem 1]. Each
    inner node t is a feature: N(t_r) in its left child, -N(t_l) in its right child and 0 elsewhere,
    divided by (N(t_l) N(t_r))^(1/2). Weights are those of the fit: integer weights are equivalent
    to repeated rows. A tree with `monotonic_cst` stays monotonic.

    Cost: O(nodes); of "cv" a fit for each fold, and no more for many `reg_params`.

    References
    ----------
    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu (2022). "Hierarchical shrinkage: improving
    the accuracy and interpretability of tree-based models". *Proceedings of the 39th International
    Conference on Machine Learning*.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory.trees import BinnedTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = BinnedTreeRegressor(max_leaf_nodes=30).fit(X[:300], y[:300])
    >>> shrunk = tree.shrink("cv", X[:300], y[:300])
    >>> shrunk.shrinkage_
    100.0
    >>> shrunk.score(X[300:], y[300:]) > tree.score(X[300:], y[300:])
    True
    """
    check_is_fitted(self)
    grid = checked_reg_params(self, reg_param, reg_params)
    check_shrinkable(self)
    loss = None
    if grid is not None:
        if X is None or y is None:
            raise ValueError('reg_param="cv" of a single tree requires X and y, to grow trees on.')
        loss = _loss_by_folds(self, X, np.asarray(y), sample_weight, grid, cv)
        reg_param = grid[np.argmin(loss)]
    found = with_shrunk_values(self, float(reg_param))
    record_shrinkage(found, float(reg_param), grid, loss)
    return found


def _loss_by_folds(
    tree: Any, X: Any, y: np.ndarray, sample_weight: Any, grid: np.ndarray, cv: Any
) -> np.ndarray:
    """The loss of trees that are grown on folds, for each parameter."""
    check_columns_of_tree(tree, X)  # the columns are those of the fit
    kept, weight = positive_weights(sample_weight, X)
    is_class = is_classifier(tree)
    splits = splits_of_rows(cv, X, y, kept, classifier=is_class)
    if not isinstance(kept, range):
        X, y = rows_of(X, kept), y[kept]
    columns = y.reshape(len(y), -1)
    if columns.shape[1] != tree.n_outputs_:
        raise ValueError(
            f"y must have {tree.n_outputs_} columns, as that of the fit; got {columns.shape[1]}."
        )
    classes = _classes_by_output(tree) if is_class else []
    if is_class:
        pairs = zip(columns.T, classes)
        target = np.hstack([np.equal(c[:, None], labels) for c, labels in pairs]).astype(float)
        if not (target.sum(axis=1) == len(classes)).all():
            raise ValueError("y has labels to which the tree was not fitted.")
    else:
        target = columns.astype(float)
    exponent = 0 if is_class else range_exponent(target)
    target = np.ldexp(target, -exponent)
    held_out, squares = [], []
    for train, test in splits:
        fold = clone(tree).fit(rows_of(X, train), y[train], sample_weight=weight[train])
        values = leaf_values(fold, grid)
        if is_class:  # a fold may lack a class, which has the share 0
            own, starts = _classes_by_output(fold), np.cumsum([0, *map(len, classes)])
            found = [a + np.searchsorted(c, o) for a, c, o in zip(starts, classes, own)]
            places = np.concatenate(found)
            each = np.moveaxis(values, 2, 0)
            values = np.stack([aligned_columns(v, places, starts[-1]) for v in each], axis=2)
        predicted = np.ldexp(values[fold.apply(rows_of(X, test))], -exponent)
        held_out.append(test)
        squares.append((predicted - target[test, :, None]) ** 2)
    rows = np.concatenate(held_out)
    return held_out_loss(target[rows], np.concatenate(squares), weight[rows], len(classes))


def _classes_by_output(tree: Any) -> list[np.ndarray]:
    return tree.classes_ if isinstance(tree.classes_, list) else [tree.classes_]
