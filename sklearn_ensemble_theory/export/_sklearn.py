"""Fitted models as scikit-learn's own objects."""

from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn import ensemble
from sklearn.base import is_classifier, is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._categories import fitted_encoder
from sklearn_ensemble_theory._compat import give_fitted_loss, make_tree
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory._learners import is_tree, reads_single_precision
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scaling import LARGEST
from sklearn_ensemble_theory._typing import Fitted, FittedPredictor
from sklearn_ensemble_theory.averaging import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.erm import DecisionStumpClassifier, DecisionStumpRegressor
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor
from sklearn_ensemble_theory.trees._sklearn_trees import (
    fitted_tree,
    with_all_classes,
    with_scaled_values,
)
from sklearn_ensemble_theory.trees._tree_arrays import member_nodes

from ._plain import rounded_down
from ._stump_rules import Stump, leaf_values

# scikit-learn's marks of a leaf.
NO_CHILD, NO_FEATURE, NO_THRESHOLD = -1, -2, -2.0
NO_CATEGORIES = "its trees have no categorical features."


def sklearn(model: Fitted) -> Any:
    """Convert a fitted model to a scikit-learn object with the same predictions.

    For tools that only support scikit-learn's classes, such as `shap.TreeExplainer`, converters to
    ONNX or ``partial_dependence(..., method="recursion")``.

    Parameters
    ----------
    model : estimator
        Fitted: bagging, a forest, gradient boosting, AdaBoost, a binned tree or a decision stump.

    Returns
    -------
    model : estimator
        A fitted ensemble or tree of scikit-learn's, of the class with the same name; for
        :class:`BinnedTreeClassifier` and :class:`DecisionStumpClassifier` a
        :class:`~sklearn.tree.DecisionTreeClassifier`, for trees and stumps of real targets a
        :class:`~sklearn.tree.DecisionTreeRegressor`. Members that are scikit-learn's already, or
        of the user, are shared with `model`, not copied.

    Raises
    ------
    ValueError
        If nothing in scikit-learn makes these predictions; the message says what has no
        counterpart there. Nothing has been computed then.

    Warns
    -----
    UserWarning
        If single precision does not tell apart two thresholds of decision stumps. The message
        names the features.

    Notes
    -----
    Cost: O(nodes of the trees), without training data.

    The predictions of all methods that both objects have are the same up to rounding.
    :ref:`counterparts` in the user guide lists the exceptions: values next to the threshold of a
    stump, missing values in scikit-learn's gradient boosting, and scores of exactly 0. Trees that
    read a column in double precision, such as seconds since 1970, have no counterpart, nor has a
    subclass of yours, which may override the predictions. A second `fit` of the returned object is
    scikit-learn's fit, for example with exact trees. What describes the training rows, such as
    `estimators_samples_`, is not part of it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import GradientBoostingRegressor, export
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(random_state=0).fit(X, y)
    >>> theirs = export.sklearn(model)
    >>> type(theirs).__module__.split(".")[0], type(theirs.estimators_[0, 0]).__name__
    ('sklearn', 'DecisionTreeRegressor')
    >>> bool(np.allclose(theirs.predict(X), model.predict(X), rtol=1e-12))
    True
    """
    check_is_fitted(model)
    known = COUNTERPARTS.get(type(model))
    if known is None:
        base = next((each for each in COUNTERPARTS if isinstance(model, each)), None)
        if base is not None:
            raise no_counterpart(
                model, f"it is a subclass of {base.__name__}, which may override the predictions."
            )
        names = ", ".join(sorted(each.__name__ for each in COUNTERPARTS))
        raise no_counterpart(model, f"export.sklearn knows {names}.")
    if reason := known.obstacle(model) or _obstacle_of_values(model):
        raise no_counterpart(model, reason)
    found = known.convert(model)
    copy_attributes(model, found, "n_features_in_", "feature_names_in_")
    if merged := _merged_columns(model):
        warn_user(
            "scikit-learn's trees read X in single precision, which does not tell apart some "
            f"thresholds of these features: {', '.join(merged)}. Predictions for rows between "
            "them differ; subtract a constant from the column before fit.",
            UserWarning,
        )
    return found


def _merged_columns(model: Fitted) -> list[str]:
    """The columns with thresholds of stumps that are the same in single precision."""
    thresholds: dict[int, set[float]] = {}
    for member, features in _members_of(model):
        if isinstance(member, Stump) and np.isfinite(member.threshold_):
            j = member.feature_ if features is None else int(features[member.feature_])
            thresholds.setdefault(j, set()).add(float(member.threshold_))
    label = Features.known_to(model).label
    return [
        label(j)
        for j, own in sorted(thresholds.items())
        if len(set(rounded_down(np.array([*own]), np.dtype(np.float32)).tolist())) < len(own)
    ]


def _members_of(model: Fitted) -> Iterator[tuple[Any, Any]]:
    """The members, each with the columns of X that it reads, or None for all."""
    members = getattr(model, "estimators_", [model])
    members = members.ravel() if isinstance(members, np.ndarray) else members
    yield from zip(members, getattr(model, "estimators_features_", [None] * len(members)))


def _obstacle_of_values(model: Fitted) -> str | None:
    """A column whose values trees of single precision do not tell apart, in words."""
    for member, features in _members_of(model):
        for tree in member_nodes([member], of_any_output=True) or ():
            for j in [] if tree.wide is None else np.intersect1d(tree.wide, tree.feature).tolist():
                column = Features.known_to(model).label(j if features is None else features[j])
                return (
                    "its trees read X in single precision, which does not tell the values of "
                    f"feature {column} apart."
                )
    return None


def no_counterpart(model: Fitted, reason: str) -> ValueError:
    """The error that says why."""
    return ValueError(f"{type(model).__name__} has no counterpart in scikit-learn: {reason}")


def shared_parameters(model: FittedPredictor, /, **changes: Any) -> dict[str, Any]:
    """The parameters that the counterpart has too, with these `changes`, and no `warm_start`."""
    of = COUNTERPARTS[type(model)]
    known = set(of.cls().get_params(deep=False)) - of.other_meaning
    own = {**model.get_params(deep=False), "warm_start": False, **changes}
    if isinstance(own.get("monotonic_cst"), dict) and hasattr(model, "n_features_in_"):
        own["monotonic_cst"] = Features.known_to(model).signs(own["monotonic_cst"])
    return {name: own[name] for name in known if name in own}


def sklearn_member(member: Any) -> Any:
    """A fitted member as scikit-learn's object, if its class has a counterpart, or itself."""
    if type(member) in COUNTERPARTS:
        return sklearn(member)
    make_tree = getattr(getattr(member, "tree_", None), "sklearn_tree", None)
    if make_tree is not None:  # a compact tree
        member = copy(member)
        member.tree_ = make_tree()
    return member


def sklearn_learner(estimator: FittedPredictor) -> Any:
    """A base learner that is not fitted as scikit-learn's, if it is a tree or stump of ours."""
    if type(estimator) in TREES:
        return COUNTERPARTS[type(estimator)].cls(**shared_parameters(estimator))
    if type(estimator) in STUMPS:
        return COUNTERPARTS[type(estimator)].cls(max_depth=1)
    return estimator


def copy_attributes(source: Any, model: Fitted, *names: str) -> None:
    """Set those of the fitted attributes that the source has."""
    for name in names:
        if hasattr(source, name):
            setattr(model, name, getattr(source, name))


# --- trees and stumps -----------------------------------------------------------------------------


def _obstacle_of_tree(model: BinnedTreeRegressor | BinnedTreeClassifier) -> str | None:
    return None if fitted_encoder(model) is None else NO_CATEGORIES


def _tree(model: BinnedTreeRegressor | BinnedTreeClassifier) -> Any:
    # Of a copy: scikit-learn's nodes, which `tree_` makes, are not to stay with the model.
    tree = deepcopy(model).tree_
    if getattr(tree, "sets", None) is not None:  # of categories that an ensemble has numbered
        raise no_counterpart(model, NO_CATEGORIES)
    tree = tree.sklearn_tree() if hasattr(tree, "sklearn_tree") else tree  # a compact one
    found = fitted_tree(sklearn_learner(model), tree, getattr(model, "classes_", None))
    found.max_features_ = model.max_features_
    return found


def _obstacle_of_stump(model: Stump) -> str | None:
    if not hasattr(model, "sides_"):
        return "it is a member of an ensemble that does not keep the weights of its two sides."
    return None


def _stump(model: Stump) -> Any:
    values, (rows, weights, within) = leaf_values(model), model.sides_.T
    mean = weights @ values
    n_rows = rows.sum()
    if isinstance(model, DecisionStumpClassifier):
        impurity = 1.0 - np.square(np.vstack([mean, values])).sum(axis=-1)  # Gini's index
    else:
        with np.errstate(over="ignore"):
            gap = values[0, 0] - values[1, 0]
            between = min(weights[0] * weights[1] * gap * gap, LARGEST)
        impurity = np.array([weights @ within + between, *within])
    fields: dict[str, Any] = {
        "left_child": [1, NO_CHILD, NO_CHILD],
        "right_child": [2, NO_CHILD, NO_CHILD],
        "feature": [model.feature_, NO_FEATURE, NO_FEATURE],
        "threshold": [model.threshold_, NO_THRESHOLD, NO_THRESHOLD],
        "impurity": impurity,
        "n_node_samples": [n_rows, *rows],
        "weighted_n_node_samples": [n_rows, *(n_rows * weights)],
    }
    nodes = np.vstack([mean, values])
    depth = 1
    if not np.isfinite(model.threshold_):  # constant: all rows are on the left, in a single leaf
        fields = {name: column[1:2] for name, column in fields.items()}
        nodes, depth = values[:1], 0
    n_features, n_values = model.n_features_in_, nodes.shape[1]
    tree = make_tree(fields, nodes[:, None, :], depth, n_features, n_values)
    found = fitted_tree(sklearn_learner(model), tree, getattr(model, "classes_", None))
    found.max_features_ = n_features
    return found


# --- bagging and forests --------------------------------------------------------------------------

Bagged = BaggingRegressor | BaggingClassifier
Forest = RandomForestRegressor | RandomForestClassifier | ExtraTreesRegressor | ExtraTreesClassifier


def _obstacle_of_average(model: Bagged | Forest) -> str | None:
    if isinstance(model, BaggingClassifier) and isinstance(model.classes_, list):
        return f"y has {len(model.classes_)} columns of labels, which it does not take."
    if not isinstance(model.bootstrap, bool | np.bool_):
        return f"bootstrap={model.bootstrap!r} weights the rows in a way that it does not have."
    is_hard = getattr(model, "voting", "soft") == "hard"
    if is_hard and hasattr(model.estimator_, "predict_proba"):
        return "voting='hard' counts votes, where it averages probabilities."
    return None


def _average(model: Bagged | Forest, members: list, **changes: Any) -> Any:
    """scikit-learn's ensemble of these members; `changes` are parameters with other values."""
    changes["n_estimators"] = len(members)
    if not isinstance(model.max_samples, Real | None):  # chosen by the fit
        changes["max_samples"] = len(model.estimators_samples_[0])
    found = COUNTERPARTS[type(model)].cls(**shared_parameters(model, **changes))
    found.estimator_, found.estimators_ = sklearn_learner(model.estimator_), members
    out_of_bag = "oob_score_", "oob_prediction_", "oob_decision_function_"
    copy_attributes(model, found, "classes_", "n_classes_", *out_of_bag)
    return found


def _bagging(model: Bagged) -> Any:
    found = _average(
        model,
        [sklearn_member(member) for member in model.estimators_],
        estimator=None if model.estimator is None else sklearn_learner(model.estimator),
        max_samples=1.0 if model.max_samples is None else model.max_samples,
        oob_score=bool(model.oob_score),
    )
    copy_attributes(model, found, "estimators_features_")
    return found


def _forest(model: Forest) -> Any:
    trees = [sklearn_member(tree) for tree in model.estimators_]
    if is_classifier(model):
        counts = [model.n_classes_] if model.n_outputs_ == 1 else model.n_classes_
        trees = [with_all_classes(tree, counts) for tree in trees]
    found = _average(model, trees)
    copy_attributes(model, found, "n_outputs_")
    return found


# --- boosting -------------------------------------------------------------------------------------

Boosted = (
    GradientBoostingRegressor
    | GradientBoostingClassifier
    | HistGradientBoostingRegressor
    | HistGradientBoostingClassifier
)
LOSSES = {
    ensemble.GradientBoostingRegressor: ("squared_error", "absolute_error", "huber", "quantile"),
    ensemble.GradientBoostingClassifier: ("log_loss", "exponential"),
}
OPTIONS_OF_TREES = (
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_depth",
    "min_impurity_decrease",
    "max_features",
    "max_leaf_nodes",
    "ccp_alpha",
    "monotonic_cst",
)


def _obstacle_of_boosting(model: Boosted) -> str | None:
    losses, learner = LOSSES[COUNTERPARTS[type(model)].cls], model.estimator_
    if not isinstance(model.loss, str) or model.loss not in losses:
        return f"loss={model.loss!r} is none of its losses, {', '.join(sorted(losses))}."
    if not reads_single_precision(learner):
        return (
            f"estimator={type(learner).__name__} is not a regression tree, the only base learner "
            "there."
        )
    if fitted_encoder(model) is not None:
        return NO_CATEGORIES
    if model.initial_scores_ is None and not is_tree(learner):
        return (
            f"init={type(model.init_).__name__} gets X in single precision there, and binned trees "
            "start from its predictions for X itself. max_bins=None has a counterpart."
        )
    if not len(model.estimators_):
        return "the model has no rounds."
    if model.estimators_[0, 0].n_outputs_ > 1:
        return "a tree has leaves for all scores. multi_output='separate' grows one for each."
    if is_regressor(model) and model.estimators_.shape[1] > 1:
        return "it has one target."
    return None


def _boosting(model: Boosted) -> Any:
    # One learning rate multiplies all trees there; steps of other lengths go into the leaves.
    steps = model.steps_
    same = bool((steps == steps[0]).all())
    rate = float(steps[0]) if same else 1.0
    changes = {name: getattr(model.estimator_, name) for name in OPTIONS_OF_TREES}
    if not isinstance(getattr(model, "n_estimators", 1), Real):  # chosen by the fit
        changes["n_estimators"] = len(model.estimators_)
    cls = COUNTERPARTS[type(model)].cls
    found = cls(**shared_parameters(model, learning_rate=rate, **changes))
    found.estimators_ = np.empty(model.estimators_.shape, dtype=object)
    for at, member in np.ndenumerate(model.estimators_):
        tree = sklearn_member(member)
        found.estimators_[at] = tree if same else with_scaled_values(tree, float(steps[at[0]]))
    copy_attributes(model, found, "classes_", "n_classes_", "init_", "max_features_")
    copy_attributes(model, found, "train_score_", "oob_improvement_", "oob_scores_")
    copy_attributes(model, found, "oob_score_", "n_trees_per_iteration_")
    found.n_estimators_ = len(model.estimators_)  # of all folds, for a mean of their models
    give_fitted_loss(found)
    return found


def _obstacle_of_adaboost(model: AdaBoostClassifier | AdaBoostRegressor) -> str | None:
    variant = getattr(model, "variant_", "discrete")
    if variant != "discrete":
        return (
            f"variant={variant!r} is not discrete AdaBoost (SAMME), the only one there. "
            "variant='discrete' has a counterpart."
        )
    return None


def _adaboost(model: AdaBoostClassifier | AdaBoostRegressor) -> Any:
    given = None if model.estimator is None else sklearn_learner(model.estimator)
    found = COUNTERPARTS[type(model)].cls(**shared_parameters(model, estimator=given))
    found.estimator_ = sklearn_learner(model.estimator_)
    found.estimators_ = [sklearn_member(member) for member in model.estimators_]
    copy_attributes(model, found, "classes_", "n_classes_")
    copy_attributes(model, found, "estimator_weights_", "estimator_errors_")
    return found


# --- the table ------------------------------------------------------------------------------------


class Counterpart(NamedTuple):
    """scikit-learn's class, the conversion, and what of a fitted model has no counterpart."""

    cls: type
    convert: Callable[[Any], Any]
    obstacle: Callable[[Any], str | None]  # in words; None if there is none
    other_meaning: frozenset[str] = frozenset()  # parameters that mean something else there


# Of the classes themselves: a subclass of the user may override the predictions.
TREES: dict[type, Counterpart] = {
    BinnedTreeRegressor: Counterpart(DecisionTreeRegressor, _tree, _obstacle_of_tree),
    BinnedTreeClassifier: Counterpart(DecisionTreeClassifier, _tree, _obstacle_of_tree),
}
STUMPS: dict[type, Counterpart] = {
    DecisionStumpRegressor: Counterpart(DecisionTreeRegressor, _stump, _obstacle_of_stump),
    DecisionStumpClassifier: Counterpart(DecisionTreeClassifier, _stump, _obstacle_of_stump),
}
COUNTERPARTS: dict[type, Counterpart] = {
    **TREES,
    **STUMPS,
    BaggingRegressor: Counterpart(ensemble.BaggingRegressor, _bagging, _obstacle_of_average),
    BaggingClassifier: Counterpart(ensemble.BaggingClassifier, _bagging, _obstacle_of_average),
    RandomForestRegressor: Counterpart(
        ensemble.RandomForestRegressor, _forest, _obstacle_of_average
    ),
    RandomForestClassifier: Counterpart(
        ensemble.RandomForestClassifier, _forest, _obstacle_of_average
    ),
    ExtraTreesRegressor: Counterpart(ensemble.ExtraTreesRegressor, _forest, _obstacle_of_average),
    ExtraTreesClassifier: Counterpart(ensemble.ExtraTreesClassifier, _forest, _obstacle_of_average),
    AdaBoostRegressor: Counterpart(ensemble.AdaBoostRegressor, _adaboost, _obstacle_of_adaboost),
    AdaBoostClassifier: Counterpart(
        ensemble.AdaBoostClassifier,
        _adaboost,
        _obstacle_of_adaboost,
        frozenset({"variant"}),
    ),
    # `criterion` is without effect here, and its default has changed its name there.
    **{
        ours: Counterpart(theirs, _boosting, _obstacle_of_boosting, frozenset({"criterion"}))
        for ours, theirs in (
            (GradientBoostingRegressor, ensemble.GradientBoostingRegressor),
            (GradientBoostingClassifier, ensemble.GradientBoostingClassifier),
            (HistGradientBoostingRegressor, ensemble.GradientBoostingRegressor),
            (HistGradientBoostingClassifier, ensemble.GradientBoostingClassifier),
        )
    },
}
