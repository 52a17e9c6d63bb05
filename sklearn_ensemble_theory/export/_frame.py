"""What a model has learned as a data frame of pandas."""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._features import feature_names
from sklearn_ensemble_theory._typing import Fitted
from sklearn_ensemble_theory.averaging import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.boosting import (
    AdditiveBoostingRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MatchingPursuitRegressor,
)
from sklearn_ensemble_theory.boosting._reweighting.votes import WeightedVotes, votes_of
from sklearn_ensemble_theory.combining import (
    StackingClassifier,
    StackingRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
)
from sklearn_ensemble_theory.ensembles._out_of_bag_importances import unbiased_importances

from ._stump_rules import Stump, rule

Columns = dict[str, Any]
Forest = RandomForestRegressor | RandomForestClassifier | ExtraTreesRegressor | ExtraTreesClassifier
Additive = AdditiveBoostingRegressor | L2BoostingRegressor | LogitBoostClassifier


def frame(model: Fitted) -> Any:
    """Return what a fitted model has learned, as a table.

    Parameters
    ----------
    model : estimator
        A fitted model; its family decides what the rows and columns are, see Notes.

    Returns
    -------
    table : pandas.DataFrame
        The table.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        If the model has no table; the message says which part is missing.

    Notes
    -----
    The rows of the table depend on the model. Additive models have a row for each value of
    `shape_functions_`, boosted decision stumps a row for each round. Frank-Wolfe and matching
    pursuit have a row for each column or member, stacks with learned weights and super learners a
    row for each member. Forests, and other models with `feature_importances_` (scikit-learn's too),
    have a row for each feature. :ref:`models-as-tables` in the user guide lists the columns. The
    cost is that of the table; for forests with `unbiased_importance` O(n_samples) a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import AdaBoostClassifier, export
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    >>> export.frame(model)[["feature", "threshold"]].head(2)
                    feature  threshold
    0          worst radius    16.7950
    1  worst concave points     0.1358
    """
    check_is_fitted(model)
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError("export.frame requires pandas: pip install pandas.") from error
    return DataFrame(columns_of(model))


@singledispatch
def columns_of(model: Fitted) -> Columns:
    """The columns of the table of a fitted model, by its class."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None:
        raise ValueError(
            f"{type(model).__name__} has no table: it has no terms, rules, weights or "
            "feature_importances_. The docstring of export.frame lists the models that have one."
        )
    return {"feature": feature_names(model), "importance": importances}


@columns_of.register
def _of_forest(model: Forest) -> Columns:
    table = {"feature": feature_names(model), "importance": model.feature_importances_}
    try:
        return table | {"unbiased_importance": unbiased_importances(model.ensemble_)}
    except ValueError:  # no out-of-bag rows
        return table


@columns_of.register
def _of_votes(model: WeightedVotes) -> Columns:
    names, with_classes, rows = feature_names(model), False, []
    several = votes_of(model)
    left: Any
    right: Any
    for k, votes in enumerate(several):
        for t, (member, weight) in enumerate(zip(votes.members, votes.coefficients)):
            feature, threshold, left, right = None, np.nan, np.nan, np.nan
            if isinstance(member, Stump):
                j, threshold, left, right = rule(member)
                feature = names[j]
            elif member is not None:
                raise ValueError(
                    f"A table of {type(model).__name__} requires an estimator that is a decision "
                    f"stump, got {type(member).__name__}."
                )
            one = np.ndim(left) == 0
            with_classes = with_classes or not one or len(several) > 1
            sides = [(k, left, right)] if one else zip(range(model.n_classes_), left, right)
            where = t + 1, feature, threshold
            rows += [(model.classes_[c], *where, a, b, weight) for c, a, b in sides]
    columns = ["class", "round", "feature", "threshold", "left", "right", "weight"]
    each = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    if not with_classes:
        del each["class"]
    return each


@columns_of.register
def _of_frank_wolfe(model: FrankWolfeRegressor | FrankWolfeClassifier) -> Columns:
    names = feature_names(model)
    if model.estimator is None:
        coef = np.ravel(model.coef_)
        used = np.flatnonzero(coef)
        return {"feature": [names[j] for j in used], "coefficient": coef[used]}
    table: Columns = {"member": range(len(model.estimators_))}
    if all(isinstance(member, Stump) for member in model.estimators_):
        rules = [rule(member) for member in model.estimators_]
        table["feature"] = [names[one[0]] for one in rules]
        for place, name in enumerate(("threshold", "left", "right")):
            table[name] = [one[1 + place] for one in rules]
    return table | {"weight": model.estimator_weights_}


@columns_of.register
def _of_pursuit(model: MatchingPursuitRegressor) -> Columns:
    names, single = feature_names(model), model.coef_.ndim == 1
    found: dict[str, list] = {name: [] for name in ("target", "feature", "round", "coefficient")}
    fitted = (model.active_, model.selected_, model.coef_)
    of_targets = [fitted] if single else zip(*fitted)
    for target, (active, selected, coef) in enumerate(of_targets):
        found["target"] += [target] * len(active)
        found["feature"] += [names[j] for j in active]
        found["round"] += [1 + int(np.argmax(selected == j)) for j in active]
        found["coefficient"] += coef[active].tolist()
    if single:
        del found["target"]
    return found


@columns_of.register
def _of_stack(model: StackingRegressor | StackingClassifier) -> Columns:
    if not hasattr(model, "cv_results_"):
        raise ValueError(
            f"{type(model).__name__} has a table if it learns weights of its members: use "
            "final_estimator='simplex', 'nnls' or 'best'."
        )
    return model.cv_results_


@columns_of.register
def _of_super_learner(model: SuperLearnerRegressor | SuperLearnerClassifier) -> Columns:
    return model.leaderboard_


@columns_of.register
def _of_terms(model: Additive) -> Columns:
    classes = getattr(model, "classes_", ())
    n_scores = len(classes) if len(classes) > 2 else 1
    errors = getattr(model, "shape_standard_errors_", None)
    with_pairs = any(len(features) == 2 for features in model.term_features_)
    columns: dict[str, list] = {"term": [], "from": [], "to": []}
    columns |= {"from_2": [], "to_2": []} if with_pairs else {}
    columns |= {"class": []} if n_scores > 1 else {}
    columns |= {"value": []} if errors is None else {"value": [], "standard_error": []}
    columns |= {"weight": []}
    for t, (features, name) in enumerate(zip(model.term_features_, model.term_names_)):
        edges, values = model.shape_functions_[t]
        weights = model.bin_weights_[t]
        places = (edges,) if len(features) == 1 else edges
        sides = [
            _sides(edge, size, model.categories_[j] is not None)
            for j, edge, size in zip(features, places, weights.shape)
        ]
        # The cells of a table in the order of its entries, the classes of each one after the other.
        cells = np.indices(weights.shape).reshape(weights.ndim, -1).repeat(n_scores, axis=1)
        for axis, ends in enumerate((("from", "to"), ("from_2", "to_2"))[: 1 + with_pairs]):
            for side, end in enumerate(ends):
                if axis < len(sides):
                    columns[end] += [sides[axis][side][i] for i in cells[axis]]
                else:
                    columns[end] += [np.nan] * cells.shape[1]
        columns["term"] += [name] * cells.shape[1]
        columns["value"] += values.ravel().tolist()
        columns["weight"] += weights.ravel().repeat(n_scores).tolist()
        if n_scores > 1:
            columns["class"] += list(classes) * weights.size
        if errors is not None:
            columns["standard_error"] += errors[t].ravel().tolist()
    return columns


def _sides(edges: Any, n_values: int, categorical: bool) -> tuple[list, list]:
    """Where the bins of a feature begin and end; the last one may be that of missing values."""
    lower = list(edges) if categorical else [-np.inf, *edges]
    upper = lower if categorical else [*edges, np.inf]
    missing = [np.nan] * (n_values - len(lower))
    return lower + missing, upper + missing
