"""`to_sklearn`: a fitted model as scikit-learn's own object.

A class that has such a counterpart has the method ``to_sklearn = to_sklearn``, names the class of
the counterpart in `_sklearn_class` and defines `_counterpart()`. It may define `_obstacles()`: what
a fitted model has that the counterpart has not, in words. A subclass does not inherit the
counterpart, because it may override the predictions.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted


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
    obstacles = getattr(self, "_obstacles", tuple)
    for reason in obstacles():
        raise ValueError(f"{name} has no counterpart in scikit-learn: {reason}")
    model = self._counterpart()
    copy_attributes(self, model, "n_features_in_", "feature_names_in_")
    return model


class ToSklearnMixin(ABC):
    """The public method; a part of the estimators that have a counterpart."""

    _sklearn_class: Any
    # Parameters of the same name with other values there, in some release; their defaults are kept.
    _other_meaning: frozenset[str] = frozenset()

    to_sklearn = to_sklearn

    def _obstacles(self) -> Iterator[str]:
        """What scikit-learn has no counterpart of, in words."""
        yield from ()

    @abstractmethod
    def _counterpart(self) -> Any:
        """scikit-learn's fitted object."""


def shared_parameters(estimator: Any, /, **changes: Any) -> dict[str, Any]:
    """The parameters that the counterpart has too; `changes` are those with another value there.

    A counterpart cannot continue the fit, so that `warm_start` is off.
    """
    known = set(estimator._sklearn_class().get_params(deep=False))
    known -= getattr(estimator, "_other_meaning", frozenset())
    own = {**estimator.get_params(deep=False), "warm_start": False, **changes}
    return {name: own[name] for name in known if name in own}


def sklearn_member(member: Any) -> Any:
    """A fitted member as scikit-learn's object, if its class names one, or the member itself."""
    return member.to_sklearn() if "_sklearn_class" in vars(type(member)) else member


def sklearn_learner(estimator: Any) -> Any:
    """The same for a base learner that is not fitted: trees have an unfitted counterpart."""
    unfitted = getattr(estimator, "_unfitted_counterpart", None)
    is_own = "_sklearn_class" in vars(type(estimator))
    return unfitted() if is_own and unfitted is not None else estimator


def copy_attributes(source: Any, model: Any, *names: str) -> None:
    """Set those of the fitted attributes that the source has."""
    for name in names:
        if hasattr(source, name):
            setattr(model, name, getattr(source, name))
