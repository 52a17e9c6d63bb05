"""Additive models that were fitted to different rows, in the same bins, become one model.

- Their functions are averaged: the scores of the new model are the averages of theirs.
- Or the sums over rows that `L2BoostingRegressor.partial_fit` keeps are added, and a model is
  fitted to these: it is that of all rows.

No row leaves the place where its model was fitted. The sums have counts of rows in two bins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._features import Features
from ..._typing import ArrayLike
from .additive_fit import KnownSums
from .base import BaseAdditive
from .bins import FeatureBins
from .fitted_terms import AdditiveModel


@dataclass(frozen=True)
class Merge:
    """A record of models that were averaged.

    Attributes
    ----------
    method : str
    weights : tuple of n_models float
        The shares of the models in the averages.
    """

    method: str
    weights: tuple[float, ...]

    def __repr__(self) -> str:
        shares = ", ".join(f"{weight:.3g}" for weight in self.weights)
        return f"{self.method}: {len(self.weights)} models averaged with the weights {shares}"


def merge_additive_models(
    models: Sequence[Any],
    weights: ArrayLike | None = None,
    *,
    method: Literal["average", "sums"] = "average",
) -> Any:
    """Merge additive models that were fitted to different rows, as of several hospitals.

    Parameters
    ----------
    models : sequence of n_models fitted estimators
        `L2BoostingRegressor`, `AdditiveBoostingRegressor` or `LogitBoostClassifier`, all of one
        class, in the same bins: they were fitted with the same thresholds (`max_bins`), to the same
        features with the same categories, and have the same pairs.
    weights : array-like of shape (n_models,), default=None
        The weights of the models in averages; by default those of their training rows,
        which models that were read from JSON do not know.
    method : {"average", "sums"}, default="average"
        "average": the intercept and the functions are averaged, so that log-odds, scores and
        predictions of a regressor are the averages of those of the models.

        "sums": the sums over rows that `L2BoostingRegressor.partial_fit` keeps are added, and a
        model with the parameters of the first one is fitted to them. It is the model that
        `partial_fit` finds for the rows of all models, up to rounding (about 1e-12: each model has
        its own unit of y). The models need not be fitted: ``partial_fit(X, y, refit=False)``
        suffices. `partial_fit` can go on.

    Returns
    -------
    model : estimator
        A new model. After "average" it has no rounds: no staged predictions, intervals, paths or
        standard errors; `edits_` says what was averaged.

    Raises
    ------
    ValueError
        If the bins, categories, classes or terms of a model are not those of the first one, or
        "sums" are not there.

    Notes
    -----
    An average of models has less variance than each of them, but the bias of fits to few rows:
    each was stopped, or regularised, for its own rows. "sums" has no such loss, and is possible for
    the squared error without pairs, where sums are all that a fit needs.

    The sums have, for each pair of features, the number of rows in each pair of their bins. That
    is less than the rows, but not anonymous: a count of 1 is a person. O(n_models P^2) for P cuts,
    beside the fit.

    A feature may have missing values in the rows of some models only. In averages, the value of
    those without is 0, as it is in their predictions. Where no model has seen missing values of a
    feature, the average is 0 for them too, the mean over the rows of all models.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> from sklearn_ensemble_theory.boosting import merge_additive_models
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 2))
    >>> y = X[:, 0] + rng.normal(scale=0.1, size=300)
    >>> edges = [np.linspace(0.1, 0.9, 9)] * 2
    >>> sites = [
    ...     L2BoostingRegressor(max_bins=edges).partial_fit(X[part], y[part], refit=False)
    ...     for part in (slice(100), slice(100, 300))
    ... ]
    >>> model = merge_additive_models(sites, method="sums")
    >>> of_all = L2BoostingRegressor(max_bins=edges).fit(X, y)
    >>> bool(np.allclose(model.predict(X), of_all.predict(X)))
    True
    """
    models = list(models)
    if not models:
        raise ValueError("models must have at least one model.")
    if method not in ("average", "sums"):
        raise ValueError(f"method must be 'average' or 'sums'; got {method!r}.")
    for k, model in enumerate(models):
        if not isinstance(model, BaseAdditive) or type(model) is not type(models[0]):
            raise ValueError(
                "models must be additive models of one class; "
                f"models[{k}] is {type(model).__name__}."
            )
    # A clone that knows the columns of the models.
    new = clone(models[0])
    for name in ("n_features_in_", "feature_names_in_", "classes_", "loss_"):
        if hasattr(models[0], name):
            setattr(new, name, getattr(models[0], name))
    if method == "average":
        new.model_ = _average(models, weights)
    elif weights is not None:
        raise ValueError("weights are those of averages; sums have the weights of the rows.")
    else:
        new.fit_to_sums(_added_sums(models))
    return new


def _check_same_bins(models: Sequence[BaseAdditive], bins: Sequence[FeatureBins]) -> None:
    """Refuse models whose features are not those of the first one, in the same bins."""
    features = Features.known_to(models[0])
    for k, (model, own) in enumerate(zip(models, bins)):
        other = Features.known_to(model)
        if (other.n, other.names) != (features.n, features.names):
            raise ValueError(f"models[{k}] was fitted to other features than models[0].")
        for j in range(features.n):
            where = f"models[{k}] has other {{}} of feature {features.label(j)} than models[0]"
            first, second = bins[0].categories[j], own.categories[j]
            if (first is None) != (second is None) or (
                first is not None and second is not None and not np.array_equal(first, second)
            ):
                raise ValueError(f"{where.format('categories')}.")
            if not np.array_equal(bins[0].edges[j], own.edges[j]):
                raise ValueError(
                    f"{where.format('bins')}; fit all with the same thresholds, max_bins."
                )
        differing = np.setxor1d(bins[0].single, own.single)
        if len(differing):
            raise ValueError(
                f"models[{k}] has other terms than models[0]: feature "
                f"{features.label(differing[0])} is excluded from one of both."
            )


# --- averages -------------------------------------------------------------------------------------


def _average(models: Sequence[BaseAdditive], weights: Any) -> AdditiveModel:
    for model in models:
        check_is_fitted(model)
    each = [model.model_.terms for model in models]
    features, first, bins = Features.known_to(models[0]), each[0], [terms.bins for terms in each]
    _check_same_bins(models, bins)
    names = first.names(features)
    for k, (model, terms) in enumerate(zip(models, each)):
        own, other = (getattr(one, "classes_", ()) for one in (model, models[0]))
        if not np.array_equal(own, other):
            raise ValueError(f"models[{k}] has other classes than models[0].")
        if len({type(getattr(one, "loss_", None)) for one in (model, models[0])}) > 1:
            raise ValueError(f"models[{k}] has another loss than models[0].")
        differing = {*terms.names(features)} ^ {*names}
        if differing:
            raise ValueError(
                f"models[{k}] has other terms than models[0]: one of both has no "
                f"{', '.join(map(repr, sorted(differing)))}. Fit all with the same interactions."
            )
        # Coarse bins of pairs follow the weights where there are many bins.
        for t in range(len(first.bins.edges), len(first.features)):
            for j in first.features[t]:
                n_bins = len(first.bins.edges[j]) + 1
                one, two = (each.pair_maps[j][:n_bins] for each in (first, terms))
                if not np.array_equal(one, two):
                    raise ValueError(
                        f"models[{k}] has other bins of feature {features.label(j)} in the pair "
                        f"{names[t]!r} than models[0]; use at most 64 bins."
                    )
    # Documents have no unit of the weights of bins; it cancels where shares are given.
    units = [terms.weight_unit for terms in each]
    if weights is None and None in units:
        raise ValueError(
            f"models[{units.index(None)}] was read from JSON, which has no total weight of its "
            "rows; give weights."
        )
    totals = [(unit or 1.0) * terms.weights[0].sum() for unit, terms in zip(units, each)]
    given = _checked_weights(totals if weights is None else weights, len(models))
    shares = given / given.sum()

    # Missing values have a bin where any model has one; elsewhere their value is 0.
    missing = np.any([own.missing for own in bins], axis=0)
    allowed = ~np.isin(np.arange(len(missing)), bins[0].single)
    intercept: Any = sum(share * np.asarray(own.intercept) for share, own in zip(shares, each))
    functions, all_weights = [], []
    for t, members in enumerate(first.features):
        values: Any = 0.0
        weight: Any = 0.0
        for k, (terms, own) in enumerate(zip(each, bins)):
            place = terms.features.index(members)
            widths = [(0, int(missing[j] and not own.missing[j])) for j in members]
            table, rows = terms.tables[place], terms.weights[place]
            table = np.pad(table, widths + [(0, 0)] * (table.ndim - len(widths)))
            rows = np.pad(rows, widths) * ((units[k] or 1.0) / totals[k])
            values, weight = values + shares[k] * table, weight + given[k] * rows
        # Of mean 0 over the rows of all models, whose distributions may differ.
        mean = np.tensordot(weight / weight.sum(), values, axes=weight.ndim)
        intercept = intercept + mean
        functions.append((first.functions[t][0], values - mean))
        all_weights.append(weight)
    terms = replace(
        first,
        bins=FeatureBins(bins[0].edges, missing, bins[0].categories, allowed),
        functions=functions,
        weights=all_weights,
        intercept=intercept if first.n_scores > 1 else float(intercept),
        errors=None,
        weight_unit=1.0,
    )
    earlier = [edit for model in models for edit in model.edits_]
    record = Merge("merge_additive_models", tuple(shares.tolist()))
    has_offset = any(model.model_.has_offset for model in models)
    return AdditiveModel(terms, edits=[*earlier, record], has_offset=has_offset)


def _checked_weights(weights: Any, n_models: int) -> np.ndarray:
    try:
        found = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("weights must be numbers.") from None
    if found.shape != (n_models,):
        raise ValueError(f"weights must have one number for each of {n_models} models.")
    if not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise ValueError("weights must be finite and not negative, and not all 0.")
    return found


# --- sums -----------------------------------------------------------------------------------------


def _added_sums(models: Sequence[BaseAdditive]) -> KnownSums:
    known: list[Any] = [getattr(model, "sums_", None) for model in models]
    for k, own in enumerate(known):
        if own is None:
            raise ValueError(
                f"models[{k}] has no sums over rows, which L2BoostingRegressor.partial_fit keeps "
                "and fit does not."
            )
    _check_same_bins(models, [own.bins for own in known])
    for k, own in enumerate(known):
        if own.n_groups != known[0].n_groups:
            raise ValueError(
                f"models[{k}] has {own.n_groups - 1} folds, but models[0] has "
                f"{known[0].n_groups - 1}: n_estimators must give the same number in all."
            )
    total: KnownSums = reduce(add, known)
    if not total.sums.moderate():
        raise ValueError("The targets or weights of models are too large compared with models[0].")
    return total
