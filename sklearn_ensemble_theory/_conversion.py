"""`to_sklearn`: a fitted model as scikit-learn's own object.

An estimator with such a counterpart has the method by ``to_sklearn = to_sklearn``, names the
counterpart's class in `_sklearn_class` and makes the fitted object in `_counterpart()`. Two more
members are optional: `_obstacles()` yields, in words, what of the fitted model has no counterpart,
and `_other_meaning` names the parameters that mean something else there, so that the counterpart
keeps its defaults. A subclass of the user does not inherit the counterpart, because it may override
the predictions.
"""

from copy import copy
from typing import Any

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
