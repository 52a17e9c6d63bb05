"""A fitted model for tools that do not know this package: `to_sklearn` and `to_shap`.

`to_sklearn` returns scikit-learn's own object.

An estimator with such a counterpart has the method by ``to_sklearn = to_sklearn``, names the
counterpart's class in `_sklearn_class` and makes the fitted object in `_counterpart()`. Two more
members are optional: `_obstacles()` yields, in words, what of the fitted model has no counterpart,
and `_other_meaning` names the parameters that mean something else there, so that the counterpart
keeps its defaults. A subclass of the user does not inherit the counterpart, because it may override
the predictions.

`to_shap` returns the trees of an ensemble, whose sum is its output, as the dictionary that
`shap.TreeExplainer` takes. An estimator has it by ``to_shap = to_shap`` and gives the terms of the
sum, `TreeTerms`, in `_tree_terms()`.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._features import Features


def to_sklearn(self: Any) -> Any:
    """The fitted model as the object of scikit-learn that makes the same predictions.

    For tools that know scikit-learn's classes only, such as `shap.TreeExplainer`, converters to
    ONNX or ``partial_dependence(..., method="recursion")``.

    Returns
    -------
    model : estimator
        A fitted ensemble or tree of scikit-learn's, of the class with the same name; for
        :class:`BinnedTreeClassifier` and :class:`DecisionStumpClassifier` a
        :class:`~sklearn.tree.DecisionTreeClassifier`, for those of real targets a
        :class:`~sklearn.tree.DecisionTreeRegressor`. Members that are scikit-learn's already,
        or of the user, are those of this model, not copies.

    Raises
    ------
    ValueError
        If nothing in scikit-learn makes these predictions; the message says what has no
        counterpart there. Nothing has been computed then.

    Notes
    -----
    Cost: O(nodes of the trees), without training data.

    The predictions of all methods that both objects have are the same up to rounding, with
    these exceptions. scikit-learn's trees read X in single precision: where a row's value is
    within the rounding of a threshold of a decision stump, whose comparison is exact, it may
    go to the other side. scikit-learn's gradient boosting refuses missing values, and predicts
    the second class where the score of two classes is exactly 0.

    Parameters that scikit-learn does not have are left out, so that a second `fit` of the
    returned object is scikit-learn's fit: with exact trees, for instance. What describes the
    training rows, such as `estimators_samples_`, is not part of it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(random_state=0).fit(X, y)
    >>> theirs = model.to_sklearn()
    >>> type(theirs).__module__.split(".")[0], type(theirs.estimators_[0, 0]).__name__
    ('sklearn', 'DecisionTreeRegressor')
    >>> bool(np.allclose(theirs.predict(X), model.predict(X), rtol=1e-12))
    True
    """
    check_is_fitted(self)
    name = type(self).__name__
    if "_sklearn_class" not in vars(type(self)):
        raise ValueError(
            f"{name} has no counterpart in scikit-learn: it is a subclass, which may override "
            "the predictions."
        )
    for reason in getattr(self, "_obstacles", tuple)():
        raise ValueError(f"{name} has no counterpart in scikit-learn: {reason}")
    model = self._counterpart()
    copy_attributes(self, model, "n_features_in_", "feature_names_in_")
    return model


def shared_parameters(estimator: Any, /, **changes: Any) -> dict[str, Any]:
    """The parameters that the counterpart has too; `changes` are those with another value there.

    A counterpart cannot continue the fit, so that `warm_start` is off.
    """
    known = set(estimator._sklearn_class().get_params(deep=False))
    known -= getattr(estimator, "_other_meaning", frozenset())
    own = {**estimator.get_params(deep=False), "warm_start": False, **changes}
    if isinstance(own.get("monotonic_cst"), dict) and hasattr(estimator, "n_features_in_"):
        own["monotonic_cst"] = Features.known_to(estimator).signs(own["monotonic_cst"])
    return {name: own[name] for name in known if name in own}


def sklearn_member(member: Any) -> Any:
    """A fitted member as scikit-learn's object, if its class names one, or the member itself."""
    if "_sklearn_class" in vars(type(member)):
        return member.to_sklearn()
    make_tree = getattr(getattr(member, "tree_", None), "sklearn_tree", None)
    if make_tree is not None:  # a compact tree
        member = copy(member)
        member.tree_ = make_tree()
    return member


def sklearn_learner(estimator: Any) -> Any:
    """A base learner that is not fitted as scikit-learn's, where it is a tree or stump of ours."""
    is_own = "_sklearn_class" in vars(type(estimator))
    unfitted = getattr(estimator, "_unfitted_counterpart", None) if is_own else None
    return estimator if unfitted is None else unfitted()


def copy_attributes(source: Any, model: Any, *names: str) -> None:
    """Set those of the fitted attributes that the source has."""
    for name in names:
        if hasattr(source, name):
            setattr(model, name, getattr(source, name))


# --- sums of trees --------------------------------------------------------------------------------


class TreeTerms(NamedTuple):
    """The output of an ensemble: `start` plus what each of its trees adds to the `width` sums."""

    start: np.ndarray  # (width,)
    members: Sequence[Any]
    outputs: Callable[[int, np.ndarray], np.ndarray]  # of tree t: values (m, K) -> (m, width)
    features: Sequence[np.ndarray | None] | None = None  # the columns of X that a member sees


def to_shap(self: Any) -> dict[str, Any]:
    """The trees of the ensemble as the dictionary that `shap.TreeExplainer` takes.

    For ensembles that shap does not know: bagging, AdaBoost, extra-trees, gradient boosting of
    several classes. The Shapley values and the expected value of a row add up to

    - `predict` of a regressor;
    - `predict_proba` of bagging and forests; with ``voting="hard"`` the shares of the votes;
    - `decision_function` of a classifier that boosts.

    Returns
    -------
    model : dict
        With the keys of shap: "trees", one dictionary of arrays for each, "base_offset" and the
        types. The values of nodes have a column for each output.

    Raises
    ------
    ValueError
        If the output is no sum of trees; the message says why.

    Notes
    -----
    Cost: O(nodes of the trees), without training data.

    Of most trees the weights of the training rows in each node are known; by them shap weighs the
    two sides of a split that is not on the path. Where they are not, of stumps that boost more
    than two classes and of trees after `compact`, the weights are 0, and shap asks for rows that
    take their place: ``shap.TreeExplainer(model.to_shap(), data=X)``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    >>> explained = model.to_shap()
    >>> len(explained["trees"]), explained["trees"][0]["value"].shape
    (10, (3, 1))

    With shap installed, ``shap.TreeExplainer(explained).shap_values(X)`` are the values.
    """
    check_is_fitted(self)
    terms = self._tree_terms()
    trees = []
    for t, member in enumerate(terms.members):
        nodes = _nodes_of(member)
        features = None if terms.features is None else terms.features[t]
        if features is not None:
            of_X = np.take(features, nodes["feature"], mode="clip")
            nodes["feature"] = np.where(nodes["children_left"] < 0, -2, of_X)
        nodes["value"] = np.ascontiguousarray(terms.outputs(t, nodes["value"]), dtype=np.float64)
        trees.append(nodes)
    if not trees:
        raise ValueError(
            f"{type(self).__name__} has no trees to explain: y has one class, or no estimator was "
            "kept."
        )
    # Stumps compare in double precision, trees in single.
    reads_double = all(hasattr(member, "_leaf_values") for member in terms.members)
    start = np.asarray(terms.start, dtype=np.float64)
    return {
        "trees": trees,
        "base_offset": start if len(start) > 1 else float(start[0]),
        "input_dtype": np.float64 if reads_double else np.float32,
        "internal_dtype": np.float64,
        "objective": None,
        "tree_output": "raw_value",
    }


def _nodes_of(member: Any) -> dict[str, np.ndarray]:
    """The arrays of shap of a fitted tree or stump, with the values (m, K) of the member's own."""
    if hasattr(member, "_leaf_values"):
        values, sides = member._leaf_values().reshape(2, -1), vars(member).get("_sides")
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
            f"to_shap requires an estimator that is a tree or a decision stump; "
            f"{type(member).__name__} is neither."
        )
    if getattr(tree, "sets", None) is not None:
        raise ValueError(
            "to_shap requires trees without nodes of categorical_features: the trees that shap "
            "takes cut at thresholds. Use columns of one category each, as of OneHotEncoder."
        )
    tree = tree.sklearn_tree() if hasattr(tree, "sklearn_tree") else tree  # a compact one
    if tree.n_outputs > 1 and hasattr(member, "classes_"):
        raise ValueError("to_shap requires a single target of a classifier; y has several columns.")
    left, right = tree.children_left, tree.children_right
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(tree.missing_go_to_left != 0, left, right),
        "feature": tree.feature,
        "threshold": tree.threshold,
        "node_sample_weight": np.nan_to_num(tree.weighted_n_node_samples),
        "value": tree.value[:, :, 0] if tree.n_outputs > 1 else tree.value[:, 0, :],
    }
