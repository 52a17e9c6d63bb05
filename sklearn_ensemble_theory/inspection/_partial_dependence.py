"""Partial dependence without a prediction of all rows for each point of the grid.

scikit-learn's function makes the grid, checks the arguments, and serves whatever has no faster way
here. A sum of terms needs each term at the grid or as a mean over the rows; a tree needs the
training weights of its nodes (Friedman 2001, section 8.2).
"""

import itertools
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Protocol, cast

import numpy as np
from scipy.sparse import issparse
from sklearn import inspection
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._features import feature_names
from sklearn_ensemble_theory._learners import reads_single_precision
from sklearn_ensemble_theory._offsets import at_offset_zero
from sklearn_ensemble_theory._rows import (
    checked_weights,
    in_usual_units,
    rows_of,
    within_single_precision,
)
from sklearn_ensemble_theory._typing import AdditiveEstimator, ArrayLike, FittedPredictor
from sklearn_ensemble_theory.bounds._arguments import check_option
from sklearn_ensemble_theory.ensembles._ensemble import Ensemble
from sklearn_ensemble_theory.trees._tree_arrays import (
    LEAF,
    FittedNodes,
    in_single_precision,
    levels_of,
)

from ._additive_terms import features_of_terms


class _Zero(RegressorMixin, BaseEstimator):
    """Predicts 0: scikit-learn's function then does no more than to check and to make the grid."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def partial_dependence(
    estimator: FittedPredictor,
    X: ArrayLike,
    features: Any,
    *,
    method: str = "auto",
    response_method: str = "auto",
    kind: str = "average",
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> Bunch:
    """Compute partial dependence on one or two features, faster than scikit-learn's function.

    The mean prediction over the rows of X where the given features have the values of a grid.
    Additive models have it in closed form: their terms of these features, plus a constant. For
    trees, a walk through the nodes follows both branches of the other features, weighted by the
    training rows in them (Friedman 2001). scikit-learn does this for its own trees only.

    Parameters
    ----------
    estimator : fitted estimator
        Any estimator. It is faster for additive models (with `predict_terms`), for
        gradient boosting of trees, and for forests and bagging of regression trees. After a fit
        with an `offset` the predictions are for offset 0.
    X : array-like of shape (n_samples, n_features)
        Rows for the grid, and for means over the other features.
    features : int, str or list of them
        One feature or several.
    method : {"auto", "brute", "recursion"}, default="auto"
        `"brute"` is exact for the rows of X: in closed form for additive models, and else by a
        prediction of all rows for each point of the grid. `"recursion"` weighs the branches of
        trees by the weights that their nodes keep. These are the weights of the training rows, as
        drawn and with the `sample_weight` of the fit. In rounds of the second order they are
        multiplied by the curvature of the loss. With `sample_weight` it weighs them by the rows of
        X. `"auto"` is `"recursion"` if scikit-learn uses it for its own class, and else `"brute"`.
        scikit-learn does not use it for classifiers with `response_method="predict_proba"`, with
        `sample_weight`, or for other kinds than the average.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What of a classifier is averaged. Additive classifiers have the closed form for
        `"decision_function"`; `"auto"` is their probabilities, as in scikit-learn.
    kind : {"average", "individual", "both"}, default="average"
        As in scikit-learn. Others than the average are by brute force.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows of X in the means. With `method="recursion"` the rows go down every
        tree, and each branch counts by the weight of the rows in it; by training rows where no row
        of positive weight comes.
    **options : dict
        `categorical_features`, `feature_names`, `percentiles`, `grid_resolution` and
        `custom_values`, as in :func:`sklearn.inspection.partial_dependence`.

    Returns
    -------
    result : Bunch
        `grid_values`, a list with the values of each feature, and `average` of shape
        (n_outputs, len(values) of the first feature, ...). The constant that boosting starts from
        is in it, unlike in scikit-learn's recursion.

    Raises
    ------
    TypeError
        If X is sparse. The estimator may have been fitted to sparse rows.
    ValueError
        With `method="recursion"`: if the estimator is not a sum or mean of trees for regression or
        for scores, or for another kind than the average. Also if its scores do not start from a
        constant. With `sample_weight` also if X has values that are not numbers, or other columns
        than in the fit.

    See Also
    --------
    ShapeFunctionDisplay : Draws the terms of an additive model with their standard errors.

    Notes
    -----
    The cost for G points of the grid, n rows and p features is O(n p + G p) for additive models.
    For trees it is O(G) times the number of nodes (with `sample_weight` also a prediction of n
    rows). By brute force it is G predictions of n rows.

    References
    ----------
    J. H. Friedman (2001). "Greedy function approximation: a gradient boosting machine". *Annals of
    Statistics* 29(5), 1189-1232.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import GradientBoostingRegressor
    >>> from sklearn_ensemble_theory.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(random_state=0).fit(X, y)
    >>> result = partial_dependence(model, X, [2], grid_resolution=5)
    >>> result.average.shape, bool(result.average[0, -1] > result.average[0, 0])
    ((1, 5), True)
    """
    check_is_fitted(estimator)
    if issparse(X):
        raise TypeError(
            "X is sparse, and the grid of partial dependence needs the values of its columns: pass "
            "X.toarray(), or X[:1000].toarray() if X is too large."
        )
    check_option("method", method, ("auto", "brute", "recursion"))
    check_option("response_method", response_method, ("auto", "predict_proba", "decision_function"))
    check_option("kind", kind, ("average", "individual", "both"))
    named = np.asarray(features, dtype=object)
    if named.ndim > 1 or not all(isinstance(f, str | Integral | np.bool_) for f in named.flat):
        raise ValueError(
            f"features must be a number or name of a column, or a list; got {features!r:.100}."
        )
    estimator = at_offset_zero(estimator)
    brute = {"kind": kind, "sample_weight": sample_weight, "response_method": response_method}
    is_mean, scores = kind == "average", response_method == "decision_function"
    wanted = (
        method != "brute"
        and is_mean
        and (sample_weight is None or method == "recursion")
        and response_method != "predict_proba"
    )
    trees = weighted_trees(estimator) if wanted else None
    if method == "recursion" and trees is None:
        raise ValueError(
            "method='recursion' needs a sum or a mean of regression trees, not compact ones and "
            "none of columns that are read in double precision, from a constant, for "
            "kind='average' and the decision_function of a classifier. This "
            f"{type(estimator).__name__} {_obstacle(estimator, kind, response_method)}; use "
            "method='brute' for it."
        )
    additive = hasattr(estimator, "predict_terms") and hasattr(estimator, "intercept_")
    is_linear = additive and is_mean and (scores or not is_classifier(estimator))
    if trees is None and not is_linear:
        return inspection.partial_dependence(
            estimator, X, features, method="brute", **brute, **options
        )
    rows: Any = X if hasattr(X, "shape") else np.asarray(X)
    if len(rows.shape) != 2:
        raise ValueError(f"X must have two dimensions; got the shape {rows.shape}.")
    result = inspection.partial_dependence(_Zero(), rows, features, method="brute", **options)
    names = rows.columns if hasattr(rows, "columns") else options.get("feature_names")
    names = list(feature_names(estimator) if names is None else names)
    chosen = np.ravel(np.asarray(features, dtype=object)).tolist()
    if all(isinstance(f, bool | np.bool_) for f in chosen):
        chosen = np.flatnonzero(chosen).tolist()
    columns = [names.index(f) if isinstance(f, str) else int(f) for f in chosen]
    grid = list(itertools.product(*result.grid_values))
    if trees is not None:
        if any(isinstance(value, str) for value in itertools.chain(*result.grid_values)):
            raise ValueError("X must have numbers, not text, in the columns of features.")
        points = within_single_precision(np.array(grid, dtype=np.float64)).astype(np.float32)
        if sample_weight is None:
            found = recursion(trees, points, columns)
        else:
            weight = in_usual_units(checked_weights(sample_weight, rows))
            validate_data(cast(BaseEstimator, estimator), rows, reset=False, skip_check_array=True)
            found = recursion_by_rows(trees, points, columns, numbers(rows), weight)
    else:
        found = mean_of_terms(
            cast(AdditiveEstimator, estimator), rows, sample_weight, grid, columns
        )
    result.average = found.T.reshape(-1, *map(len, result.grid_values))
    return result


# --- sums of terms --------------------------------------------------------------------------------


def mean_of_terms(
    estimator: AdditiveEstimator, X: Any, sample_weight: Any, grid: list[tuple], columns: list[int]
) -> np.ndarray:
    """The mean of the scores at each point of the grid, (G,) or (G, n_classes)."""
    weight = None if sample_weight is None else checked_weights(sample_weight, X)
    moved: Any = rows_of(X, np.zeros(len(grid), dtype=np.intp)).copy()
    for j, values in zip(columns, zip(*grid)):
        if hasattr(moved, "iloc"):
            moved[moved.columns[j]] = list(values)  # a column of another type, where it has to be
        else:
            moved[:, j] = values
    over_rows = np.average(estimator.predict_terms(X), axis=0, weights=weight)
    at_grid = estimator.predict_terms(moved)
    total = np.asarray(estimator.intercept_) + np.zeros((len(grid), *over_rows.shape[1:]))
    for t, own in enumerate(features_of_terms(estimator)):
        inside = set(own) & set(columns)
        if not inside:
            total += over_rows[t]
        elif len(inside) == len(own):
            total += at_grid[:, t]
        else:
            total += mean_of_pair(estimator, t, inside.pop(), X, moved, weight)
    return total


def mean_of_pair(
    estimator: AdditiveEstimator, t: int, j: int, X: Any, moved: Any, weight: np.ndarray | None
) -> np.ndarray:
    """A pair at the grid of its feature j, as a mean over the rows' bins of the other feature."""
    terms = estimator.model_.terms
    pair, table = terms.features[t], terms.bins.padded(terms.tables[t], *terms.features[t])
    other = pair[1] if pair[0] == j else pair[0]
    bins = [
        terms.pair_maps[k].take(terms.codes(rows)[:, k]) for k, rows in ((other, X), (j, moved))
    ]
    axis = list(pair).index(other)
    share = np.bincount(bins[0], weight, minlength=table.shape[axis])
    return np.average(table, axis=axis, weights=share)[bins[1]]


# --- trees ----------------------------------------------------------------------------------------


class WeightedTrees:
    """Trees of one output: tree t adds to output t mod `width`, times its factor, from `start`."""

    def __init__(self, members, factors, start, features=None) -> None:
        self.members, self.factors, self.start = members, factors, np.atleast_1d(start)
        self.features = [None] * len(members) if features is None else features

    def __iter__(self) -> Iterator[tuple]:
        return zip(self.members, self.factors, self.features)


class _BoostedTrees(FittedPredictor, Protocol):
    loss_: Any
    steps_: np.ndarray
    initial_scores_: Any


def weighted_trees(estimator: FittedPredictor) -> WeightedTrees | None:
    """The trees of an ensemble whose scores are their sum; None for other estimators."""
    members = getattr(estimator, "estimators_", None)
    if members is None:
        return None
    if hasattr(estimator, "steps_") and hasattr(estimator, "initial_scores_"):
        boosted = cast(_BoostedTrees, estimator)
        start, trees = boosted.initial_scores_, list(np.ravel(members))
        if start is None or not all(map(_is_regression_tree, trees)):
            return None
        loss, is_scores = boosted.loss_, is_classifier(estimator)
        if not is_scores and loss.inverse_link(np.array([0.5])) != 0.5:
            return None  # predictions are no sum
        K = members.shape[1]
        return WeightedTrees(trees, np.repeat(boosted.steps_, K), np.broadcast_to(start, K))
    average: Ensemble | None = getattr(estimator, "ensemble_", None)
    if average is None or is_classifier(estimator) or not all(map(_is_regression_tree, members)):
        return None
    features = None if average.draws.all_features else average.features
    return WeightedTrees(members, np.full(len(members), 1.0 / len(members)), 0.0, features)


def _obstacle(estimator: FittedPredictor, kind: str, response_method: str) -> str:
    """What recursion lacks, of an estimator whose trees it does not take."""
    if kind != "average":
        return f"is asked for kind={kind!r}"
    if response_method == "predict_proba":
        return "is asked for response_method='predict_proba'"
    members = getattr(estimator, "estimators_", None)
    if members is None:
        return "is no ensemble"
    if not all(map(reads_single_precision, np.ravel(np.asarray(members, dtype=object)))):
        return "has members that are no trees of single precision"
    if not all(map(_is_regression_tree, np.ravel(np.asarray(members, dtype=object)))):
        return "has trees of classes, of several targets, of categories, or without their weights"
    return "does not sum or average its trees from a constant"


def _is_regression_tree(member: Any) -> bool:
    if not reads_single_precision(member) or is_classifier(member):
        return False
    # A compact tree has no weights of its nodes, one with sets of categories no thresholds.
    is_full = hasattr(getattr(member, "tree_", None), "compute_partial_dependence")
    return is_full and member.n_outputs_ == 1


def recursion(trees: WeightedTrees, grid: np.ndarray, columns: list[int]) -> np.ndarray:
    """The sums of the trees at the grid, (G, width)."""
    out = np.tile(trees.start.astype(float), (len(grid), 1))
    for t, (member, factor, own) in enumerate(trees):
        targets, points = _on_grid(own, grid, columns)
        found = np.zeros(len(grid))
        member.tree_.compute_partial_dependence(points, targets, found)
        out[:, t % out.shape[1]] += factor * found
    return out


def _on_grid(
    own: np.ndarray | None, grid: np.ndarray, columns: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """(features of a tree that have the values of the grid, their values)."""
    # Of a tree that was fitted to some of the columns, those have other numbers.
    places = [[j] if own is None else np.flatnonzero(own == j) for j in columns]
    pairs = [(k, place) for k, some in enumerate(places) for place in some]
    targets = np.array([place for _, place in pairs], dtype=np.intp)
    return targets, np.ascontiguousarray(grid[:, [k for k, _ in pairs]])


# --- trees whose branches have the weights of given rows ------------------------------------------

# Shares of points of the grid in nodes that are held at once: 32 MB of float64.
SHARES = 2**22


def numbers(X: Any) -> np.ndarray:
    """The rows as trees read them."""
    try:
        return in_single_precision(np.asarray(X, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must hold numbers for method='recursion' with sample_weight: {error}; use "
            "method='brute'."
        ) from error


def recursion_by_rows(
    trees: WeightedTrees, grid: np.ndarray, columns: list[int], X: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The same where branches have the weights of the rows of X in them."""
    out = np.tile(trees.start.astype(float), (len(grid), 1))
    for t, (member, factor, own) in enumerate(trees):
        targets, points = _on_grid(own, grid, columns)
        nodes = FittedNodes(member.tree_)
        rows = X if own is None else np.ascontiguousarray(X[:, own])
        left = left_shares(nodes, member.tree_.apply(rows), weight)
        step = max(1, SHARES // len(nodes))
        for first in range(0, len(points), step):
            part = slice(first, first + step)
            found = mean_at_points(nodes, left, targets, points[part])
            out[part, t % out.shape[1]] += factor * found
    return out


def left_shares(nodes: FittedNodes, leaves: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The share of the weight, or of the training rows', in each node that goes to the left."""
    total = np.bincount(leaves, weight, minlength=len(nodes))
    levels = levels_of(nodes.left, nodes.right)
    inner = np.concatenate(levels)
    for level in reversed(levels):  # numbers of nodes need not be in order
        total[level] = total[nodes.left[level]] + total[nodes.right[level]]
    trained = nodes.tree.weighted_n_node_samples
    is_empty = total[inner] == 0
    top = np.where(is_empty, trained[nodes.left[inner]], total[nodes.left[inner]])
    share = np.zeros(len(nodes))
    share[inner] = top / np.where(is_empty, trained[inner], total[inner])
    return share


def mean_at_points(
    nodes: FittedNodes, left: np.ndarray, targets: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """The mean of a tree at each point: `targets` have its values, other features all."""
    children = nodes.left, nodes.right
    column = np.full(nodes.tree.n_features, -1)
    column[targets] = np.arange(len(targets))
    share = np.zeros((len(nodes), len(points)))
    share[0] = 1.0
    for level in levels_of(*children):
        goes_left = np.repeat(left[level][:, None], len(points), axis=1)
        known = np.flatnonzero(column[nodes.feature[level]] >= 0)
        at = level[known]
        values = points.T[column[nodes.feature[at]]]
        below = values <= nodes.threshold[at][:, None]
        is_missing = np.isnan(values) & (nodes.missing_left[at] != 0)[:, None]
        goes_left[known] = below | is_missing
        share[children[0][level]] = share[level] * goes_left
        share[children[1][level]] = share[level] * (1.0 - goes_left)
    leaf = np.flatnonzero(children[0] == LEAF)
    return nodes.value[leaf, 0] @ share[leaf]
