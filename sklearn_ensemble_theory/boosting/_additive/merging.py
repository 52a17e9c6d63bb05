"""Additive models that were fitted to different rows become one model.

- Their functions are averaged: the scores of the new model are the averages of theirs. It has the
  edges, the categories and the terms of all models.
- Or, of models in the same bins, the sums over rows that `L2BoostingRegressor.partial_fit` keeps
  are added, and a model is fitted to these: it is that of all rows.

No row leaves the place where its model was fitted. The sums have counts of rows in two bins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._categories import CategoricalColumns
from ..._features import Features
from ..._typing import ArrayLike
from .additive_fit import KnownSums
from .base import BaseAdditive
from .bins import FeatureBins
from .fitted_terms import AdditiveModel, AdditiveTerms


@dataclass(frozen=True)
class Merge:
    """A record of models that were averaged, with their shares in the averages."""

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
    """Merge additive models fitted to different rows, such as those of several hospitals.

    Parameters
    ----------
    models : sequence of n_models fitted estimators
        `L2BoostingRegressor`, `AdditiveBoostingRegressor` or `LogitBoostClassifier`, all of one
        class. For sums they have the same features, thresholds (`max_bins`) and categories.
    weights : array-like of shape (n_models,), default=None
        The weights of the models in averages; by default the weights of their training rows. Models
        that were read from JSON do not have these.
    method : {"average", "sums"}, default="average"
        "average": the intercept and the functions are averaged. Log-odds, scores and predictions of
        a regressor are then averages over the models. A feature has the edges and the categories of
        all models. Features that have names may differ: a term that a model does not have is 0
        there.

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
        If a model has other classes or another loss than the first. If a feature has categories in
        one model and numbers in another, or features without names differ in number. If "sums" are
        missing or of other bins.

    Notes
    -----
    "sums" loses nothing, and is possible for the squared error without pairs, where sums are all
    that a fit needs. An average has the bias of fits to few rows. The sums have, for each pair of
    features, the number of rows in each pair of their bins. That is less than the rows, but not
    anonymous: a count of 1 is a person. O(n_models P^2) for P cuts, in addition to the fit.

    How models of other bins and of other missing values are averaged is said in
    :ref:`merged-models` in the user guide.

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
    if not isinstance(models, Iterable) or not (models := list(models)):
        raise ValueError("models must have at least one model.")
    if not (isinstance(method, str) and method in ("average", "sums")):
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
        features, new.model_ = _average(models, weights)
        new.n_features_in_ = features.n
        if features.names is not None:
            new.feature_names_in_ = np.array(features.names, dtype=object)
    elif weights is not None:
        raise ValueError("weights are for method='average'; sums have the weights of the rows.")
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
                f"{features.label(differing[0])} is excluded from one of the two."
            )


# --- averages -------------------------------------------------------------------------------------


def _average(models: Sequence[BaseAdditive], weights: Any) -> tuple[Features, AdditiveModel]:
    for model in models:
        check_is_fitted(model)
    each = [model.model_.terms for model in models]
    for k, model in enumerate(models):
        own, other = (getattr(one, "classes_", ()) for one in (model, models[0]))
        if not np.array_equal(own, other):
            raise ValueError(f"models[{k}] has other classes than models[0].")
        if len({type(getattr(one, "loss_", None)) for one in (model, models[0])}) > 1:
            raise ValueError(f"models[{k}] has another loss than models[0].")
    features, columns_of = _all_features([Features.known_to(model) for model in models])
    columns = _all_categories(features, columns_of, each)
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

    # All edges that a model has; missing values have a bin where any model has one, and elsewhere
    # their value is 0.
    edges, missing = [np.empty(0)] * features.n, np.zeros(features.n, dtype=bool)
    allowed = np.zeros(features.n, dtype=bool)
    for terms, names in zip(each, columns_of):
        for own, j in enumerate(names):
            edges[j] = np.union1d(edges[j], terms.bins.edges[own])
            missing[j] |= terms.bins.missing[own]
            allowed[j] |= own not in terms.bins.single
    categories = [None] * features.n if columns is None else columns.categories
    bins = FeatureBins(edges, missing, categories, allowed)
    # The terms of all models, each with its number in every model that has it: pairs by their
    # features in the order of the first one.
    numbers: dict[tuple[int, ...], dict[int, int]] = {(j,): {} for j in range(features.n)}
    for k, (terms, names) in enumerate(zip(each, columns_of)):
        for t, own_members in enumerate(terms.features):
            numbers.setdefault(tuple(sorted(names[j] for j in own_members)), {})[k] = t
    # Tables of pairs have coarse bins.
    coarse: dict[int, np.ndarray] = {}
    for terms, names in zip(each, columns_of):
        for t in range(len(terms.bins.edges), len(terms.features)):
            for own, place in zip(terms.features[t], terms.functions[t][0]):
                if categories[names[own]] is None:
                    coarse[names[own]] = np.union1d(coarse.get(names[own], []), place)
    in_pairs = [bins.edges[j] if c is None else c for j, c in enumerate(bins.categories)]
    in_pairs = [coarse.get(j, place) for j, place in enumerate(in_pairs)]

    intercept: Any = sum(share * np.asarray(own.intercept) for share, own in zip(shares, each))
    functions: list[Any] = []
    all_weights = []
    for members, found in numbers.items():
        whole = [bins.edges[j] if (c := bins.categories[j]) is None else c for j in members]
        whole = whole if len(members) == 1 else [in_pairs[j] for j in members]
        shape = [len(e) + (bins.categories[j] is None) for e, j in zip(whole, members)]
        shape = [n + bool(bins.missing[j]) for n, j in zip(shape, members)]
        values: Any = np.zeros((*shape, *np.shape(intercept)))
        weight = np.zeros(shape)
        for k, t in found.items():
            table, rows = _in_bins(each[k], t, columns_of[k], members, whole, bins)
            values = values + shares[k] * table
            weight = weight + given[k] * (rows * ((units[k] or 1.0) / totals[k]))
        if len(found) < len(models):  # as if the rows of the others were distributed alike
            weight = weight * (given.sum() / weight.sum())
        # Of mean 0 over the rows of all models, whose distributions may differ.
        mean = np.tensordot(weight / weight.sum(), values, axes=weight.ndim)
        intercept = intercept + mean
        functions.append((whole[0] if len(members) == 1 else tuple(whole), values - mean))
        all_weights.append(weight)
    pair_maps = []
    for own, fine, known in zip(in_pairs, bins.edges, bins.categories):
        if known is None:
            lookup = np.append(np.searchsorted(own, fine), [len(own), len(own) + 1])
        else:
            lookup = np.arange(len(known) + 1)
        pair_maps.append(lookup.astype(np.uint16))
    terms = AdditiveTerms(
        bins,
        columns,
        list(numbers),
        functions,
        all_weights,
        pair_maps if len(numbers) > features.n else [],
        intercept if each[0].n_scores > 1 else float(intercept),
    )
    earlier = [edit for model in models for edit in model.edits_]
    record = Merge("merge_additive_models", tuple(shares.tolist()))
    has_offset = any(model.model_.has_offset for model in models)
    return features, AdditiveModel(terms, edits=[*earlier, record], has_offset=has_offset)


def _all_features(each: Sequence[Features]) -> tuple[Features, list[list[int]]]:
    """The features of all models, and the numbers among them of those of each model."""
    first = each[0]
    for k, own in enumerate(each):
        if (own.names is None) != (first.names is None):
            raise ValueError(f"Either models[0] or models[{k}] has no names of features.")
        if own.names is None and own.n != first.n:
            raise ValueError(
                f"models[{k}] was fitted to other features than models[0]: {own.n} without names, "
                f"and {first.n}."
            )
    if first.names is None:
        return first, [list(range(first.n))] * len(each)
    names = tuple(dict.fromkeys(name for own in each for name in own.names or ()))
    return Features(len(names), names), [[names.index(n) for n in own.names or ()] for own in each]


def _all_categories(
    features: Features, columns_of: Sequence[Sequence[int]], each: Sequence[AdditiveTerms]
) -> CategoricalColumns | None:
    found: list[np.ndarray | None] = [None] * features.n
    seen: dict[int, int] = {}
    for k, (terms, names) in enumerate(zip(each, columns_of)):
        for own, j in enumerate(names):
            known = None if terms.columns is None else terms.columns.categories[own]
            if (known is None) != (found[j] is None) and j in seen:
                raise ValueError(
                    f"models[{k}] has other categories of feature {features.label(j)} than "
                    f"models[{seen[j]}]: in one of the two it has numbers."
                )
            seen.setdefault(j, k)
            if found[j] is None:
                found[j] = known
            elif known is not None:
                mine, theirs = list(found), list(found)
                theirs[j] = known
                both = CategoricalColumns.known(features, mine) + CategoricalColumns.known(
                    features, theirs
                )
                found[j] = both.categories[j]
    columns = CategoricalColumns.known(features, found)
    return columns if columns.any else None


def _in_bins(
    terms: AdditiveTerms,
    t: int,
    names: Sequence[int],
    members: tuple[int, ...],
    whole: Sequence[np.ndarray],
    bins: FeatureBins,
) -> tuple[np.ndarray, np.ndarray]:
    """The table of a term in the bins of all models, and the weights of its rows there.

    The rows of a bin that is divided are spread evenly over its parts, which have its value.
    Unknown categories are those that the model has not seen.
    """
    own_members = terms.features[t]
    places = terms.functions[t][0] if len(members) > 1 else (terms.functions[t][0],)
    table = terms.bins.padded(terms.tables[t], *own_members)
    rows = terms.bins.padded(terms.weights[t], *own_members)
    axes = [[names[j] for j in own_members].index(j) for j in members]
    if axes == [1, 0]:
        table, rows = np.swapaxes(table, 0, 1), rows.T
    parts = []
    for axis, (i, j) in enumerate(zip(axes, members)):
        own, union = places[i], whole[axis]
        if bins.categories[j] is None:
            part = np.append(np.searchsorted(own, union), len(own))
            part = np.append(part, len(own) + 1) if bins.missing[j] else part
        else:
            number = {c: n for n, c in enumerate(own.tolist())}
            part = np.array([number.get(c, len(own)) for c in [*union.tolist(), None]])
        rows = rows / _along(np.bincount(part, minlength=rows.shape[axis]).clip(1), axis, rows.ndim)
        parts.append(part)
    return table[np.ix_(*parts)], rows[np.ix_(*parts)]


def _along(values: np.ndarray, axis: int, ndim: int) -> np.ndarray:
    """An array along one axis of a table."""
    return values.reshape([-1 if i == axis else 1 for i in range(ndim)])


def _checked_weights(weights: Any, n_models: int) -> np.ndarray:
    try:
        found = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
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
