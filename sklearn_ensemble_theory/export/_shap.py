"""Sums of trees as the dictionary that `shap.TreeExplainer` takes."""

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._categories import CategoricalColumns, fitted_encoder
from sklearn_ensemble_theory._rows import validate_data
from sklearn_ensemble_theory._typing import FittedPredictor
from sklearn_ensemble_theory.averaging import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting._reweighting.votes import ALL, WeightedVotes, votes_of
from sklearn_ensemble_theory.ensembles._predictions import leaf_outputs
from sklearn_ensemble_theory.trees._packed import double_precision_cuts
from sklearn_ensemble_theory.trees._tree_arrays import (
    member_nodes,
    reads_double,
    rows_with_unseen,
)

from ._stump_rules import Stump, leaf_values

# Of the trees in all, where sets of categories make them grow: half a GB.
MOST_NODES = 2**21
Averaged = (
    BaggingRegressor
    | BaggingClassifier
    | RandomForestRegressor
    | RandomForestClassifier
    | ExtraTreesRegressor
    | ExtraTreesClassifier
)
Boosted = (
    GradientBoostingRegressor
    | GradientBoostingClassifier
    | HistGradientBoostingRegressor
    | HistGradientBoostingClassifier
)


class TreeTerms(NamedTuple):
    """The output of an ensemble: `start` plus what each of its trees adds to the `width` sums."""

    start: np.ndarray  # (width,)
    members: Sequence[Any]
    outputs: Callable[[int, np.ndarray], np.ndarray]  # of tree t: values (m, K) -> (m, width)
    features: Sequence[np.ndarray | None] | None = None  # the columns of X that a member sees


def shap(model: FittedPredictor, X: Any = None) -> Any:
    """Convert the trees of an ensemble to the dictionary that `shap.TreeExplainer` takes.

    For ensembles that shap does not support: bagging, AdaBoost, extra-trees, gradient boosting of
    several classes. The Shapley values and the expected value of a row add up to

    - `predict` of a regressor;
    - `predict_proba` of bagging and forests; with ``voting="hard"`` the shares of the votes;
    - `decision_function` of a classifier that boosts.

    Parameters
    ----------
    model : estimator
        Fitted: bagging, a forest, gradient boosting, or a classifier of weighted votes.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to explain, or to compare with; needed where features are categorical.

    Returns
    -------
    model : dict
        With the keys of shap: "trees", one dictionary of arrays for each, "base_offset" and the
        types. The values of nodes have a column for each output.
    numbers : ndarray of shape (n_samples, n_features)
        Only if X is given: X as these trees read it, with numbers in place of categories, NaN where
        they are missing or new.

    Raises
    ------
    ValueError
        If the output is no sum of trees, X is not given though features are categorical, or the
        trees would have more than two million nodes; the message says why.

    Notes
    -----
    Cost: O(nodes of the trees), without training data. A node with a set of categories becomes a
    chain of thresholds, and what is below it is repeated for each interval: :ref:`trees-for-shap`
    in the user guide has numbers.

    Of most trees the weights of the training rows in each node are known; by them shap weighs the
    two sides of a split that is not on the path. For stumps that boost more than two classes and
    for trees after `compact`, the weights are 0, and shap needs rows instead:
    ``shap.TreeExplainer(export.shap(model), data=X)``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import AdaBoostClassifier, export
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    >>> explained = export.shap(model)
    >>> len(explained["trees"]), explained["trees"][0]["value"].shape
    (10, (3, 1))

    With shap installed, ``shap.TreeExplainer(explained).shap_values(X)`` are the values. If
    features are categorical, use ``explained, numbers = export.shap(model, X)``; the values are
    ``shap.TreeExplainer(explained).shap_values(numbers)``.
    """
    check_is_fitted(model)
    encoder = fitted_encoder(model)
    if encoder is not None and X is None:
        raise ValueError(
            "export.shap requires X, the rows to explain, of a model with categorical features: it "
            "returns (model, numbers), and the trees of the model read the numbers."
        )
    terms = terms_of(model)
    trees: list[dict[str, np.ndarray]] = []
    is_wide = reads_double(terms.members)
    for t, member in enumerate(terms.members):
        nodes = _nodes_of(member)
        if is_wide:
            for tree in member_nodes([member], of_any_output=True) or ():
                nodes["threshold"] = double_precision_cuts(tree)
        features = None if terms.features is None else terms.features[t]
        if features is not None:
            of_X = np.take(features, nodes["feature"], mode="clip")
            nodes["feature"] = np.where(nodes["children_left"] < 0, -2, of_X)
        nodes["value"] = np.ascontiguousarray(terms.outputs(t, nodes["value"]), dtype=np.float64)
        trees.append(nodes)
    if not trees:
        raise ValueError(
            f"{type(model).__name__} has no trees to explain: y has one class, or no estimator was "
            "kept."
        )
    orders = {} if encoder is None else _orders(trees, encoder)
    room = MOST_NODES
    for t, nodes in enumerate(trees):
        if "members" in nodes:
            trees[t] = _with_thresholds(nodes, orders, room)
            room -= len(trees[t]["feature"])
    # Stumps compare in double precision, and so do all trees where one reads a column so.
    in_double = is_wide or all(isinstance(member, Stump) for member in terms.members)
    start = np.asarray(terms.start, dtype=np.float64)
    found = {
        "trees": trees,
        "base_offset": start if len(start) > 1 else float(start[0]),
        "input_dtype": np.float64 if in_double else np.float32,
        "internal_dtype": np.float64,
        "objective": None,
        "tree_output": "raw_value",
    }
    return found if X is None else (found, _numbers_of(model, X, orders))


@singledispatch
def terms_of(model: FittedPredictor) -> TreeTerms:
    """The sum of trees of a fitted ensemble, by its class."""
    raise ValueError(
        f"{type(model).__name__} is not a sum of trees for shap. export.shap takes bagging, "
        "forests, gradient boosting and weighted votes; of a single tree or stump pass "
        "export.sklearn(model), of an additive model call its `explain`."
    )


@terms_of.register
def _of_average(model: Averaged) -> TreeTerms:
    ensemble, outputs = model.ensemble_, None
    members, n_classes = ensemble.members, ensemble.draws.n_classes
    if n_classes:
        outputs = leaf_outputs(members, n_classes, ensemble.method == "vote")
    return TreeTerms(
        np.zeros(max(1, n_classes, getattr(model, "n_outputs_", 1))),
        members,
        lambda t, value: (value if outputs is None else outputs(t, value)) / len(members),
        ensemble.columns,
    )


@terms_of.register
def _of_boosting(model: Boosted) -> TreeTerms:
    members, start = model.estimators_, model.initial_scores_
    if start is None:
        raise ValueError(
            "export.shap requires scores that start from a constant; init="
            f"{type(model.init_).__name__} predicts them row by row."
        )
    in_vectors = members.size and getattr(members[0, 0], "n_outputs_", 1) > 1
    K = members[0, 0].n_outputs_ if in_vectors else members.shape[1]

    def outputs(t: int, value: np.ndarray) -> np.ndarray:
        if in_vectors:
            return model.steps_[t] * value
        # The trees of a round stand for one score after the other.
        return np.where(np.arange(K) == t % K, model.steps_[t // K] * value[:, :1], 0.0)

    return TreeTerms(np.broadcast_to(start, K), members.ravel().tolist(), outputs)


@terms_of.register
def _of_votes(model: WeightedVotes) -> TreeTerms:
    several = votes_of(model) if model.n_classes_ > 1 else ()
    if any(set(votes.kinds or ()) - {ALL} for votes in several):
        raise ValueError(
            f"export.shap requires scores that are sums of votes; some rounds of "
            f"{type(model).__name__} shrink them, or leave out the rows whose scores are large."
        )
    # Of several problems each has a score of its own, of one problem all scores are its.
    at = [(k, t) for k, votes in enumerate(several) for t in range(len(votes.members))]
    last = [votes.divisors()[-1] for votes in several]
    width = several[0].width if len(several) == 1 else len(several)

    def outputs(i: int, value: np.ndarray) -> np.ndarray:
        k, t = at[i]
        added = several[k].leaf_scores(t, value) / last[k]
        return added if len(several) == 1 else np.where(np.arange(width) == k, added, 0.0)

    return TreeTerms(np.zeros(width), [several[k].members[t] for k, t in at], outputs)


def _nodes_of(member: Any) -> dict[str, np.ndarray]:
    """The arrays of shap of a fitted tree or stump, with the values (m, K) of the member's own."""
    if isinstance(member, Stump):
        values, sides = leaf_values(member), getattr(member, "sides_", None)
        weight = np.zeros(2) if sides is None else sides[:, 0].sum() * sides[:, 1]
        leaf = {"children_left": -1, "children_right": -1, "children_default": -1}
        root = {"children_left": 1, "children_right": 2, "children_default": 2}
        nodes = {name: np.array([root[name], leaf[name], leaf[name]]) for name in root}
        nodes["feature"] = np.array([member.feature_, -2, -2])
        nodes["threshold"] = np.array([member.threshold_, -2.0, -2.0])
        nodes["node_sample_weight"] = np.array([weight.sum(), *weight])
        nodes["value"] = np.vstack([values[:1], values])
        if not np.isfinite(member.threshold_):  # all rows are on the left: a single leaf
            nodes = {name: array[1:2] for name, array in nodes.items()}
        return nodes
    tree = getattr(member, "tree_", None)
    if tree is None:
        raise ValueError(
            f"export.shap requires an estimator that is a tree or a decision stump; "
            f"{type(member).__name__} is neither."
        )
    tree = tree.readable_tree() if hasattr(tree, "readable_tree") else tree  # a compact one
    has_sets = getattr(tree, "sets", None) is not None
    if tree.n_outputs > 1 and hasattr(member, "classes_"):
        raise ValueError(
            "export.shap requires a single target of a classifier; y has several columns."
        )
    left, right = tree.children_left, tree.children_right
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(tree.missing_go_to_left != 0, left, right),
        "feature": tree.feature,
        "threshold": tree.arrays.threshold if has_sets else tree.threshold,
        "node_sample_weight": np.nan_to_num(tree.weighted_n_node_samples),
        "value": tree.value[:, :, 0] if tree.n_outputs > 1 else tree.value[:, 0, :],
        **({"members": tree.arrays.members} if has_sets else {}),
    }


# --- sets of categories as thresholds -------------------------------------------------------------


def _orders(
    trees: list[dict[str, np.ndarray]], encoder: CategoricalColumns
) -> dict[int, np.ndarray]:
    """The numbers of the categories of each feature in an order of few intervals."""
    found = {}
    for j in np.flatnonzero(encoder.flags).tolist():
        K = int(encoder.numbers(j).max()) + 1
        products = np.zeros((K, K))
        for nodes in trees:
            if "members" in nodes:
                at = np.flatnonzero((nodes["feature"] == j) & np.isnan(nodes["threshold"]))
                weight = nodes["node_sample_weight"][at]
                sets = nodes["members"][at, :K].astype(float)
                sets -= sets.mean(axis=1, keepdims=True)
                # After `compact` no weights are known.
                products += (sets.T * (weight if weight.any() else 1.0)) @ sets
        found[j] = np.argsort(np.linalg.eigh(products)[1][:, -1], kind="stable")
    return found


def _numbers_of(model: FittedPredictor, X: Any, orders: dict[int, np.ndarray]) -> np.ndarray:
    """X as numbers, those of categories in these orders."""
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": np.float64,
        "ensure_all_finite": "allow-nan",
    }
    X = validate_data(model, X, reset=False, **options)
    X = X.toarray() if issparse(X) else np.array(X)
    unseen = rows_with_unseen(X, np.array(list(orders), dtype=np.intp))
    if len(unseen):
        raise ValueError(
            "export.shap cannot say that unseen categories go to both children of a node "
            f'(Categories(unseen="mean")), and X has such categories in {len(unseen)} rows, the '
            f"first of which is row {unseen[0]}; leave these rows out, or make their categories "
            "missing values."
        )
    for j, order in orders.items():
        known = ~np.isnan(X[:, j])
        X[known, j] = np.argsort(order)[X[known, j].astype(np.intp)]
    return X


class _Piece(NamedTuple):
    """What is below an interval of numbers: a node, and of its weights this share.

    Of each feature the numbers that come here are `first` to `last` by `ranges`, all where it is
    not there.
    """

    node: int
    ranges: dict[int, tuple[int, int]]
    share: float
    first: int = 0


def _with_thresholds(
    nodes: dict[str, np.ndarray], orders: dict[int, np.ndarray], room: int
) -> dict[str, np.ndarray]:
    """The tree with thresholds of numbers in place of sets, balanced over their intervals.

    A feature's paths to all intervals of one side have together the weight of the side, and a row
    takes one of them. Shapley values are linear in both numbers, and stay what they were.
    """
    left, right, weight = (
        nodes[name] for name in ("children_left", "children_right", "node_sample_weight")
    )
    has_set = np.isnan(nodes["threshold"]) & (left >= 0)
    missing_left = nodes["children_default"] == left
    children: list[list[int]] = [[], []]
    found: list[tuple[int, float, float, bool]] = []  # node, threshold, weight, missing left
    # (the node above, its side, intervals, the node of their set, the interval of missing values)
    stack = [(-1, 0, [_Piece(0, {}, 1.0)], 0, 0)]
    while stack:
        above, side, pieces, source, missing = stack.pop()
        at = len(found)
        if above >= 0:
            children[side][above] = at
        if at == room:
            raise ValueError(
                f"The trees that shap takes have no sets of categories, and would have more than "
                f"{MOST_NODES:,} nodes without: use a model of fewer or smaller trees, or fewer "
                "categories (max_bins)."
            )
        for links in children:
            links.append(-1)
        if len(pieces) == 1:
            source, ranges, share, _ = pieces[0]
            if not has_set[source]:
                one = nodes["threshold"][source], share * weight[source], missing_left[source]
                found.append((source, *one))
                if left[source] >= 0:
                    for k, child in enumerate((left[source], right[source])):
                        stack.append((at, k, [_Piece(child, ranges, share)], 0, 0))
                continue
            pieces, missing = _intervals(nodes, orders, *pieces[0][:3])
        middle = len(pieces) // 2
        mass = sum(piece.share * weight[piece.node] for piece in pieces)
        found.append((source, pieces[middle].first - 0.5, mass, missing < middle))
        stack.append((at, 0, pieces[:middle], source, missing))
        stack.append((at, 1, pieces[middle:], source, missing - middle))
    source, threshold, mass, goes_left = (np.array(column) for column in zip(*found))
    below = [np.array(links) for links in children]
    return {
        "children_left": below[0],
        "children_right": below[1],
        "children_default": np.where(goes_left, *below),
        "feature": nodes["feature"][source],
        "threshold": threshold,
        "node_sample_weight": mass,
        "value": nodes["value"][source],
    }


def _intervals(
    nodes: dict[str, np.ndarray],
    orders: dict[int, np.ndarray],
    i: int,
    ranges: dict[int, tuple[int, int]],
    share: float,
) -> tuple[list[_Piece], int]:
    """The intervals of numbers that a set sends to one side, and which missing values belong to.

    A side to which no number that comes here goes has an interval below all of them: it keeps its
    weight.
    """
    j, members = int(nodes["feature"][i]), nodes["members"][i]
    first, last = ranges.get(j, (0, len(orders[j]) - 1))
    goes_left = members[orders[j][first : last + 1]]
    ends = np.flatnonzero(goes_left[1:] != goes_left[:-1]).tolist()
    starts = [first, *(first + end + 1 for end in ends)] if len(goes_left) else []
    found = [
        (start, stop - 1, bool(goes_left[start - first]))
        for start, stop in zip(starts, [*starts[1:], last + 1])
    ]
    sides = [one[2] for one in found]
    found = [(first, first - 1, side) for side in (True, False) if side not in sides] + found
    sides = [one[2] for one in found]
    pieces = [
        _Piece(
            int(nodes["children_left" if side else "children_right"][i]),
            {**ranges, j: (start, stop)},
            share / sides.count(side),
            start,
        )
        for start, stop, side in found
    ]
    return pieces, sides.index(bool(members[-1]))
