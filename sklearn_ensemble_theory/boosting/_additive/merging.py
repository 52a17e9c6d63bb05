"""Additive models that were fitted to different rows, in the same bins, become one model.

- Their functions are averaged: the scores of the new model are the averages of theirs.
- Or the sums over rows that `L2BoostingRegressor.partial_fit` keeps are added, and a model is
  fitted to these: it is that of all rows.

No row leaves the place where its model was fitted. The sums have counts of rows in two bins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._features import Features
from ..._typing import ArrayLike
from .base import BaseAdditive
from .bins import FeatureBins
from .squared_fit import fit_sums


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
        class, in the same bins: they were fitted with the same `bin_edges`, to the same features
        with the same categories, and have the same pairs.
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
    ...     L2BoostingRegressor(bin_edges=edges).partial_fit(X[part], y[part], refit=False)
    ...     for part in (slice(100), slice(100, 300))
    ... ]
    >>> model = merge_additive_models(sites, method="sums")
    >>> of_all = L2BoostingRegressor(bin_edges=edges).fit(X, y)
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
    if method == "sums":
        return _fit_to_sums(models, weights)
    return _average(models, weights)


def _check_same_bins(models: Sequence[Any], bins: Sequence[FeatureBins]) -> None:
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
                raise ValueError(f"{where.format('bins')}; fit all with the same bin_edges.")
        differing = np.setxor1d(bins[0].single, own.single)
        if len(differing):
            raise ValueError(
                f"models[{k}] has other terms than models[0]: feature "
                f"{features.label(differing[0])} is excluded from one of both."
            )


def _unfitted(model: Any) -> Any:
    """A clone that knows the columns of the model."""
    new = clone(model)
    for name in ("n_features_in_", "feature_names_in_", "classes_", "loss_", "_columns"):
        if hasattr(model, name):
            setattr(new, name, getattr(model, name))
    return new


# --- averages -------------------------------------------------------------------------------------


def _average(models: Sequence[Any], weights: Any) -> Any:
    for model in models:
        check_is_fitted(model)
    first, bins = models[0], [model._bins for model in models]
    _check_same_bins(models, bins)
    for k, model in enumerate(models):
        if not np.array_equal(getattr(model, "classes_", ()), getattr(first, "classes_", ())):
            raise ValueError(f"models[{k}] has other classes than models[0].")
        if type(getattr(model, "loss_", None)) is not type(getattr(first, "loss_", None)):
            raise ValueError(f"models[{k}] has another loss than models[0].")
        differing = {*model.term_names_} ^ {*first.term_names_}
        if differing:
            raise ValueError(
                f"models[{k}] has other terms than models[0]: one of both has no "
                f"{', '.join(map(repr, sorted(differing)))}. Fit all with the same interactions."
            )
        _check_same_cells(k, first, model)
    # Documents have no unit of the weights of bins; it cancels where shares are given.
    units = [getattr(model, "_weight_unit", None) for model in models]
    if weights is None and None in units:
        raise ValueError(
            f"models[{units.index(None)}] was read from JSON, which has no total weight of its "
            "rows; give weights."
        )
    totals = [(unit or 1.0) * m.bin_weights_[0].sum() for unit, m in zip(units, models)]
    given = _checked_weights(totals if weights is None else weights, len(models))
    shares = given / given.sum()

    new = _unfitted(first)
    # Missing values have a bin where any model has one; elsewhere their value is 0.
    missing = np.any([own.missing for own in bins], axis=0)
    allowed = ~np.isin(np.arange(len(missing)), bins[0].single)
    new._bins = FeatureBins(bins[0].edges, missing, bins[0].categories, allowed)
    for name in ("categories_", "bin_edges_", "term_features_", "_pair_maps"):
        setattr(new, name, list(getattr(first, name)))
    new.missing_bins_ = missing
    intercept: Any = sum(share * np.asarray(m.intercept_) for share, m in zip(shares, models))
    new.shape_functions_, new.bin_weights_ = [], []
    for t, term in enumerate(first.term_features_):
        values: Any = 0.0
        weight: Any = 0.0
        for k, (model, own) in enumerate(zip(models, bins)):
            place = model.term_features_.index(term)
            widths = [(0, int(missing[j] and not own.missing[j])) for j in term]
            table, rows = model.shape_functions_[place][1], model.bin_weights_[place]
            table = np.pad(table, widths + [(0, 0)] * (table.ndim - len(widths)))
            rows = np.pad(rows, widths) * ((units[k] or 1.0) / totals[k])
            values, weight = values + shares[k] * table, weight + given[k] * rows
        # Of mean 0 over the rows of all models, whose distributions may differ.
        mean = np.tensordot(weight / weight.sum(), values, axes=weight.ndim)
        intercept = intercept + mean
        new.shape_functions_.append((first.shape_functions_[t][0], values - mean))
        new.bin_weights_.append(weight)
    new.intercept_ = intercept if np.ndim(first.intercept_) else float(intercept)
    new._folds, new._segments, new._weight_unit = None, [], 1.0
    earlier = [edit for model in models for edit in model.edits_]
    new.edits_ = [*earlier, Merge("merge_additive_models", tuple(shares.tolist()))]
    return new


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


def _check_same_cells(k: int, first: Any, model: Any) -> None:
    """Refuse pairs in other coarse bins: they follow the weights where there are many bins."""
    for t in range(len(first._bins.edges), len(first.term_features_)):
        for j in first.term_features_[t]:
            pair = [each._pair_maps[j] for each in (first, model)]
            if not np.array_equal(*(each[: len(first._bins.edges[j]) + 1] for each in pair)):
                raise ValueError(
                    f"models[{k}] has other bins of feature {Features.known_to(first).label(j)} "
                    f"in the pair {first.term_names_[t]!r} than models[0]; use at most 64 bins."
                )


# --- sums -----------------------------------------------------------------------------------------


def _fit_to_sums(models: Sequence[Any], weights: Any) -> Any:
    if weights is not None:
        raise ValueError("weights are those of averages; sums have the weights of the rows.")
    chunks: list[Any] = [getattr(model, "_chunks", None) for model in models]
    for k, own in enumerate(chunks):
        if own is None:
            raise ValueError(
                f"models[{k}] has no sums over rows, which L2BoostingRegressor.partial_fit keeps "
                "and fit does not."
            )
    _check_same_bins(models, [own.bins for own in chunks])
    n_groups = [len(own.sums.sums.weight) for own in chunks]
    for k, n in enumerate(n_groups):
        if n != n_groups[0]:
            raise ValueError(
                f"models[{k}] has {n - 1} folds, but models[0] has {n_groups[0] - 1}: n_estimators "
                "and cv must give the same number in all."
            )
    total = reduce(add, chunks)
    if not total.sums.moderate():
        raise ValueError("The targets or weights of models are too large compared with models[0].")
    new = _unfitted(models[0])
    # As in every fit: scalars of NumPy would overflow, or have few digits.
    params = new.get_params(deep=False).items()
    new.set_params(**{k: v.item() for k, v in params if isinstance(v, np.number)})
    fit_sums(new, total.sums, n_groups[0] - 1, total.bins, new._columns, total.target)
    new._chunks, new._weight_unit = total, total.weight_unit
    return new
