"""Standard errors, intervals, quantiles and sets of a model that may be inside of another.

The methods of these names belong to estimators of this package. scikit-learn's `Pipeline`,
`GridSearchCV` and `TransformedTargetRegressor` do not have them. The functions transform X as the
model does, ask the estimator inside, and take its answer back to the units of y.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._addresses import publish
from ._documentation import documented
from ._typing import ArrayLike, MatrixLike, Predictor

__all__ = [
    "confidence_interval",
    "predict_distribution",
    "predict_interval",
    "predict_quantiles",
    "predict_set",
    "standard_error",
]

# The estimators of this package that have each method; a test compares them with the classes.
FORESTS = "Bagging*, ExtraTrees*, RandomForest*"
ESTIMATORS = {
    "confidence_interval": "GradientBoosting*",
    "predict_distribution": f"{FORESTS}, GradientBoosting* (regressors)",
    "predict_interval": f"{FORESTS}, GradientBoosting*, AdditiveBoostingRegressor, "
    "L2BoostingRegressor, Stacking*, SuperLearner*, Voting* (regressors)",
    "predict_quantiles": f"{FORESTS}, GradientBoosting* (regressors)",
    "predict_set": f"{FORESTS}, GradientBoosting*, LogitBoostClassifier, Stacking*, "
    "SuperLearner*, Voting* (classifiers)",
    "standard_error": f"{FORESTS}, GradientBoosting*",
}
SIDES = {"lower": "upper", "upper": "lower"}

TEXTS = {
    "model": """
        Parameters
        ----------
        model : object
            A fitted estimator, pipeline, search such as `GridSearchCV`, `FrozenEstimator` or
            `TransformedTargetRegressor`, or one of them inside of another.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as `predict` of the model takes them.
        """,
    "options": """
        **options : dict
            Other arguments of the method of the estimator inside, for example `method`, or `offset`
            of gradient boosting. Features in them are those that the estimator inside was fitted
            to.
        """,
    "coverage_and_options": """
        coverage : float, default=0.9
            The probability aimed at, on average over the rows.
        %(options)s
        """,
    "raises": """
        Raises
        ------
        TypeError
            If the estimator inside does not have the method; the message names those that do.
        NotFittedError
            If the model is not fitted.
        ValueError
            As in the method.
        """,
    "raises_of_ends": """
        Raises
        ------
        TypeError
            If the estimator inside does not have the method; the message names those that do.
        NotFittedError
            If the model is not fitted.
        ValueError
            As in the method, or if the inverse of a transformation of y is not monotone.
        """,
}


@documented(TEXTS)
def standard_error(model: Predictor, X: MatrixLike, **options: Any) -> np.ndarray:
    """Compute standard errors of the predictions of a model.

    %(model)s
    %(options)s

    Returns
    -------
    error : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What `standard_error` of the estimator inside returns.

    %(raises)s

    See Also
    --------
    predict_interval : For new targets, which have noise.

    Notes
    -----
    A standard error has no counterpart on another scale of y. With a `TransformedTargetRegressor`
    it is a TypeError; use `confidence_interval` or `predict_interval`, or ask its `regressor_`, in
    units of the transformed target.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.uncertainty import standard_error
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0)
    >>> model = make_pipeline(StandardScaler(), forest).fit(X[:400], y[:400])
    >>> standard_error(model, X[400:402]).shape
    (2,)
    """
    inside, X, inverses = _inside(model, X, "standard_error")
    if inverses:
        raise TypeError(
            "standard_error cannot be in the units of y with a TransformedTargetRegressor. Use "
            "confidence_interval or predict_interval, or ask its regressor_, in units of the "
            "transformed target."
        )
    return inside.standard_error(X, **options)


@documented(TEXTS)
def confidence_interval(
    model: Predictor, X: MatrixLike, coverage: float = 0.9, **options: Any
) -> np.ndarray:
    """Compute intervals for the expectation of the prediction of a model over training sets.

    %(model)s
    coverage : float, default=0.9
        The probability aimed at.
    %(options)s

    Returns
    -------
    interval : ndarray of shape (n_samples, 2) or (n_samples, n_classes, 2)
        Lower and upper ends.

    %(raises_of_ends)s

    Notes
    -----
    With a `TransformedTargetRegressor` the interval is computed for the transformed target, and its
    ends are transformed back: the interval is for the inverse of the expected prediction.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_ensemble_theory import GradientBoostingRegressor
    >>> from sklearn_ensemble_theory.uncertainty import confidence_interval
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = GradientBoostingRegressor(n_estimators=30, held_out=5, random_state=0)
    >>> model = make_pipeline(StandardScaler(), boosting).fit(X[:400], y[:400])
    >>> confidence_interval(model, X[400:402]).shape
    (2, 2)
    """
    return _ends(model, X, "confidence_interval", {"coverage": coverage, **options})


@documented(TEXTS)
def predict_interval(
    model: Predictor, X: MatrixLike, coverage: float = 0.9, **options: Any
) -> np.ndarray:
    """Predict intervals that contain the target of a new row with a given probability.

    %(model)s
    %(coverage_and_options)s

    Returns
    -------
    interval : ndarray of shape (n_samples, 2)
        Lower and upper ends, in the units of y.

    %(raises_of_ends)s

    Notes
    -----
    With a `TransformedTargetRegressor` the interval is computed for the transformed target, and its
    ends are transformed back, which keeps the coverage. If the inverse decreases, the ends are
    swapped. An end that the inverse does not have, such as one outside of the domain of a Box-Cox
    transformation, is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import TransformedTargetRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.uncertainty import predict_interval
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0)
    >>> model = TransformedTargetRegressor(forest, func=np.log, inverse_func=np.exp)
    >>> low, high = predict_interval(model.fit(X[:400], y[:400]), X[400:402]).T
    >>> bool((low > 0).all())
    True
    """
    return _ends(model, X, "predict_interval", {"coverage": coverage, **options})


@documented(TEXTS)
def predict_quantiles(
    model: Predictor,
    X: MatrixLike,
    quantiles: float | Sequence[float] | ArrayLike = (0.05, 0.5, 0.95),
    **options: Any,
) -> np.ndarray:
    """Predict quantiles of the target.

    %(model)s
    quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
        Levels between 0 and 1, in any order.
    %(options)s

    Returns
    -------
    y : ndarray of shape (n_samples, n_quantiles) or (n_samples,)
        Quantiles, in the units of y; one dimension for a single number as `quantiles`.

    %(raises_of_ends)s

    Notes
    -----
    With a `TransformedTargetRegressor` the quantiles of the transformed target are transformed
    back; if the inverse decreases, those of the levels 1 - q.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.uncertainty import predict_quantiles
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(50, random_state=0)
    >>> search = GridSearchCV(forest, {"min_samples_leaf": [5, 10]}).fit(X[:400], y[:400])
    >>> predict_quantiles(search, X[400:402], [0.1, 0.9]).shape
    (2, 2)
    """
    inside, X, inverses = _inside(model, X, "predict_quantiles")
    found = inside.predict_quantiles(X, quantiles=quantiles, **options)
    mapped, increases = _in_units_of_y(found, inverses)
    if not increases:
        found = inside.predict_quantiles(X, quantiles=1 - np.asarray(quantiles), **options)
        mapped, _ = _in_units_of_y(found, inverses)
    return mapped


@documented(TEXTS)
def predict_distribution(model: Predictor, X: MatrixLike, **options: Any) -> Any:
    """Predict the distribution of the target given each row.

    %(model)s
    %(options)s

    Returns
    -------
    distribution : object
        What `predict_distribution` of the estimator inside returns.

    %(raises)s

    Notes
    -----
    With a `TransformedTargetRegressor` it is a TypeError; use `predict_quantiles`, or ask its
    `regressor_` for the distribution of the transformed target.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.uncertainty import predict_distribution
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0)
    >>> model = make_pipeline(StandardScaler(), forest).fit(X[:400], y[:400])
    >>> predict_distribution(model, X[400:402]).cdf(200.0).shape
    (2,)
    """
    inside, X, inverses = _inside(model, X, "predict_distribution")
    if inverses:
        raise TypeError(
            "predict_distribution cannot be in the units of y with a TransformedTargetRegressor. "
            "Use predict_quantiles, or ask its regressor_ for the distribution of the transformed "
            "target."
        )
    return inside.predict_distribution(X, **options)


@documented(TEXTS)
def predict_set(
    model: Predictor, X: MatrixLike, coverage: float = 0.9, **options: Any
) -> np.ndarray:
    """Predict sets of classes that contain the class of a new row with a given probability.

    %(model)s
    %(coverage_and_options)s

    Returns
    -------
    sets : ndarray of bool of shape (n_samples, n_classes)
        Whether each class of `classes_` is in the set.

    %(raises)s

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> from sklearn_ensemble_theory.uncertainty import predict_set
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0)
    >>> model = make_pipeline(StandardScaler(), forest).fit(X, y)
    >>> predict_set(model, X[:1], coverage=0.95)
    array([[ True, False, False]])
    """
    inside, X, _ = _inside(model, X, "predict_set")
    return inside.predict_set(X, coverage=coverage, **options)


# --- the estimator inside -------------------------------------------------------------------------


def can_ask(model: Predictor, name: str) -> bool:
    """Whether the function of this name has an answer for a fitted model."""
    try:
        layers = _layers(model, name)
    except TypeError:
        return False
    is_transformed = any(isinstance(each, TransformedTargetRegressor) for each in layers[:-1])
    return not is_transformed or name not in ("standard_error", "predict_distribution")


def _inside(model: Predictor, X: Any, name: str) -> tuple[Any, Any, list[Any]]:
    """The estimator with the method, X as it was fitted to; the transformers of y, inner first."""
    *outer, inside = _layers(model, name)
    inverses: list[Any] = []
    for layer in outer:
        if isinstance(layer, Pipeline):
            for _, step in layer.steps[:-1]:
                if hasattr(step, "transform"):  # not "passthrough", nor a sampler of rows to fit
                    X = step.transform(X)
        elif isinstance(layer, TransformedTargetRegressor):
            inverses.insert(0, layer.transformer_)
    return inside, X, inverses


def _layers(model: Predictor, name: str) -> list[Any]:
    """The model, what is inside of it, and so on to the estimator that has the method."""
    layers: list[Any] = [model]
    while not hasattr(last := layers[-1], name) or isinstance(last, type):
        if isinstance(last, FrozenEstimator):
            inside = last.estimator
        else:
            check_is_fitted(last)
            if isinstance(last, Pipeline):
                inside = last.steps[-1][1] if last.steps else None
                if inside is None or isinstance(inside, str):
                    raise TypeError(
                        f"{name} calls the last step of a pipeline, which is {inside!r} here; it "
                        f"must be an estimator with this method: {ESTIMATORS[name]}."
                    )
            elif isinstance(last, TransformedTargetRegressor):
                inside = last.regressor_
            elif hasattr(last, "best_estimator_"):
                inside = last.best_estimator_
            else:
                raise TypeError(_missing(last, name))
        layers.append(inside)
    return layers


def _missing(model: Predictor, name: str) -> str:
    """Why a fitted estimator does not have the method."""
    given = type(model).__name__
    if getattr(model, "refit", True) is False:
        return f"model must have the method {name}; {given} does not with refit=False."
    try:
        getattr(model, name)
    except AttributeError as error:
        if error.__cause__ is not None:  # a class that has the method, but not with these options
            return f"model must have the method {name}; {given} does not: {error.__cause__}"
    return (
        f"model must have the method {name}; {given} does not. These have it: {ESTIMATORS[name]}."
    )


# --- transformed targets --------------------------------------------------------------------------


def _ends(model: Predictor, X: Any, name: str, options: dict[str, Any]) -> np.ndarray:
    """The intervals of the estimator inside, in the units of y."""
    inside, X, inverses = _inside(model, X, name)
    found = getattr(inside, name)(X, **options)
    mapped, increases = _in_units_of_y(found, inverses)
    if increases:
        return mapped
    if options.get("side") in SIDES:  # the other end is wanted
        other = options | {"side": SIDES[options["side"]]}
        mapped, _ = _in_units_of_y(getattr(inside, name)(X, **other), inverses)
    return mapped[..., ::-1]


def _in_units_of_y(values: np.ndarray, transformers: list[Any]) -> tuple[np.ndarray, bool]:
    """Predictions through the inverses, in their order, and whether these increase.

    Infinite values stay infinite, and so become values that the inverses do not have. Inverses that
    are not monotone are a ValueError.
    """
    z = np.unique(values[np.isfinite(values)])
    if not transformers or not len(z):
        return values, True
    if len(z) == 1:  # two more numbers, as one has no direction
        step = 1e-3 * max(abs(z[0]), 1.0)
        z = np.array([z[0] - step, z[0], z[0] + step])
    y = z
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for transformer in transformers:
            is_known = np.isfinite(y)
            found = np.full(len(y), np.nan)
            if is_known.any():
                found[is_known] = np.ravel(transformer.inverse_transform(y[is_known][:, None]))
            y = found
    known = np.flatnonzero(~np.isnan(y))
    between = y[known]
    rounding = 1e-12 * np.abs(between[np.isfinite(between)]).max(initial=0.0)
    increases = bool((between[1:] >= between[:-1] - rounding).all())
    decreases = bool((between[1:] <= between[:-1] + rounding).all())
    is_gap = len(known) == 0 or known[-1] - known[0] + 1 > len(known)
    if is_gap or not (increases or decreases):
        names = ", ".join(type(each).__name__ for each in transformers)
        raise ValueError(
            f"Intervals and quantiles need a monotone inverse of the transformation of y; that of "
            f"{names} is not monotone from {z[0]:g} to {z[-1]:g}."
        )
    sign = 1.0 if increases else -1.0
    y[: known[0]], y[known[-1] + 1 :] = -sign * np.inf, sign * np.inf
    is_finite = np.isfinite(values)
    mapped = sign * values
    mapped[is_finite] = y[np.searchsorted(z, values[is_finite])]
    return mapped, increases


publish(__name__, globals(), __all__)
