"""Edits of a fitted additive model: other values of a term, smoother ones, monotonic ones, none.

Each function returns a new record of the model; the one that it is given stays as it is. A term has
weighted mean 0 over the training rows before and after: what an edit does to the mean of all
predictions is in the intercept. `edits` has a record of each edit.

The rounds of the fit, and the models of its folds, are of the model before. What is computed from
them is refused after an edit (`refuse_edited`). A value that an edit leaves keeps its standard
error. That of a new value is NaN, unless the models of the folds are kept and the edit is a
function of the values: it is then applied to their values too.

Features are smoothed over *ranks*: the place of a bin is the share of the weight below its middle.
The first and the last bin have no middle in units of the feature; and as the fit itself, the result
does not depend on these units.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..._compat import increasing_by_pooling
from ..._features import Features
from ..._running import warn_user
from ...smoothing._splines import SmoothingSplineRegressor
from .fitted_terms import AdditiveModel, AdditiveTerms, FoldModels

# A bin without weight takes part in isotonic regression with this share of the largest weight.
_LITTLE_WEIGHT = 1e-9
# Values that differ by less than this share of the largest one are the same in words.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Edit:
    """What was changed after the fit, by the method of this name.

    - before, after: the values of the term; those of a term that was removed are 0.
    - shift: what was added to the intercept.
    - arguments: the other arguments of the method.
    """

    method: str
    term: str
    before: np.ndarray
    after: np.ndarray
    shift: Any
    arguments: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        call = ", ".join([repr(self.term), *(f"{k}={v!r}" for k, v in self.arguments.items())])
        # What predictions gain, whichever part of it is in the intercept.
        with np.errstate(over="ignore", invalid="ignore"):
            gain = np.abs(self.after + self.shift - self.before)
        changed = np.count_nonzero(gain > _ROUNDING * np.abs(self.before).max(initial=1e-300))
        what = f"{changed} of {gain.size} values changed by at most {gain.max():.3g}"
        return f"{self.method}({call}): {what}"


# --- models and their terms -----------------------------------------------------------------------


def term_number(terms: AdditiveTerms, features: Features, name: Any) -> int:
    """The number of a term, by its name, its number or its features."""
    names = terms.names(features)
    if isinstance(name, Integral) and not isinstance(name, bool | np.bool_):
        number = int(name)
        if not 0 <= number < len(names):
            raise ValueError(f"There is no term {number}; the terms are 0 to {len(names) - 1}.")
        return number
    if isinstance(name, str):
        found = [t for t, each in enumerate(names) if each == name]
        if len(found) > 1:
            raise ValueError(f"Several terms have the name {name!r}; give the number of one.")
    elif (
        isinstance(name, Sequence) or (isinstance(name, np.ndarray) and name.ndim > 0)
    ) and 1 <= len(name) <= 2:
        members = {features.place(one, "The term") for one in name}
        found = [t for t, each in enumerate(terms.features) if set(each) == members]
        name = tuple(name)
    else:
        raise ValueError(f"A term is given by its name, its number or its features; got {name!r}.")
    if not found:
        known = ", ".join(map(repr, names[:20])) + ", ..." * (len(names) > 20)
        raise ValueError(f"There is no term {name!r}; the terms are {known}.")
    return found[0]


def term_numbers(terms: AdditiveTerms, features: Features, given: Any) -> list[int]:
    """The numbers of several terms, each of them once."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    is_list = is_list or (isinstance(given, np.ndarray) and given.ndim > 0)
    if not is_list or not len(given):
        raise ValueError(f"terms must be a list of terms; got {given!r}.")
    return list(dict.fromkeys(term_number(terms, features, name) for name in given))


def refuse_edited(model: AdditiveModel, what: str) -> None:
    """Raise a ValueError where the functions are no longer those of the rounds."""
    if model.edits:
        raise ValueError(
            f"{what} the fit, and this model was edited after it (see edits_). Use the model "
            "before the edits."
        )


def with_values(
    model: AdditiveModel,
    t: int,
    label: str,
    values: np.ndarray,
    method: str,
    constant: Any = 0.0,
    errors: np.ndarray | None = None,
    folds: FoldModels | None = None,
    **arguments: Any,
) -> AdditiveModel:
    """The model whose term t has these values, of mean 0 by a shift of the intercept.

    The intercept also gains `constant`. `errors` are those of the new values; `folds` are as
    edited.
    """
    terms = model.terms
    (places, before), weight = terms.functions[t], terms.weights[t]
    if values.ndim > weight.ndim:  # what all classes have in common does not matter
        values = values - values.mean(axis=-1, keepdims=True)
    # All values are shifted, those of bins without weight too: the predictions are as asked for.
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.tensordot(weight / weight.sum(), values, axes=weight.ndim)
        after = values - shift
        is_left = np.abs(values - before) <= _ROUNDING * np.abs(before).max(initial=1e-300)
        shift = shift + constant
        intercept = terms.intercept + shift
    if not np.isfinite(after).all() or not np.isfinite(intercept).all():
        raise ValueError(f"The values of the term {label!r} are too large.")
    functions = list(terms.functions)
    functions[t] = places, after
    each = terms.errors
    if each is not None:
        found = np.where(is_left, each[t], np.nan) if errors is None else errors
        each = [*each[:t], found, *each[t + 1 :]]
    intercept = intercept if np.ndim(intercept) else float(intercept)
    terms = replace(terms, functions=functions, intercept=intercept, errors=each)
    shift = shift if shift.ndim else float(shift)
    record = Edit(method, label, before.copy(), after.copy(), shift, arguments)
    new = replace(model, terms=terms, edits=[*model.edits, record])
    if is_left.all():
        return new
    # What is known of the fitted model alone goes.
    return replace(new, folds=folds, importances=None)


def with_function(
    model: AdditiveModel,
    t: int,
    label: str,
    change: Callable[[np.ndarray], np.ndarray],
    method: str,
    **arguments: Any,
) -> AdditiveModel:
    """The model whose term of a feature is changed by a function of its values (B, C).

    The models of the folds, where they are kept, are changed alike.
    """
    terms, folds = model.terms, model.folds
    before = terms.tables[t]
    values = change(before.reshape(len(before), -1)).reshape(before.shape)
    if folds is None or terms.errors is None:
        return with_values(model, t, label, values, method, **arguments)
    tables = list(folds.tables)
    tables[t] = change(tables[t])
    tables[t] = tables[t] - (terms.weights[t] / terms.weights[t].sum()) @ tables[t]
    folds = replace(folds, tables=tables)
    errors = folds.errors(terms)[t]
    return with_values(model, t, label, values, method, 0.0, errors, folds, **arguments)


# --- the edits ------------------------------------------------------------------------------------


def set_term(model: AdditiveModel, features: Features, name: Any, values: Any) -> AdditiveModel:
    t = term_number(model.terms, features, name)
    label, before = model.terms.names(features)[t], model.terms.tables[t]
    if callable(values):
        values = values(before.copy())
        if values is None:
            raise ValueError(
                f"The function for the term {label!r} returned None; it must return the new values."
            )
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cSUmM":
            raise TypeError
        given = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"values of the term {label!r} must be real numbers.") from None
    if given.shape != before.shape:
        raise ValueError(
            f"values of the term {label!r} have the shape {given.shape}, but the term has the "
            f"shape {before.shape}, as in shape_functions_[{t}]."
        )
    if not np.isfinite(given).all():
        raise ValueError(f"values of the term {label!r} must be finite.")
    return with_values(model, t, label, given, "set_term")


def with_smoother_term(
    model: AdditiveModel, features: Features, name: Any, df: Any
) -> AdditiveModel:
    """See `smooth_term`."""
    t, label, n = _ordered_feature(model.terms, features, name, "smooth_term")
    least = SmoothingSplineRegressor().order
    if (
        not isinstance(df, int | float | np.number)
        or isinstance(df, bool)
        or not least <= df < np.inf
    ):
        raise ValueError(
            f"df={df!r} must be a finite number of at least {least}, that of a straight line."
        )
    weight = model.terms.weights[t][:n]
    spline, seen = SmoothingSplineRegressor(df=float(df)), weight > 0

    def smooth(values: np.ndarray) -> np.ndarray:
        values = values.copy()
        if seen.sum() > 2:  # a line passes through the values of two bins
            ranks = ((np.cumsum(weight) - weight / 2) / weight.sum())[:, None]
            spline.fit(ranks[seen], values[:n][seen], weight[seen])
            values[:n] = spline.predict(ranks)
        return values

    df = df if isinstance(df, int) else float(df)
    return with_function(model, t, label, smooth, "smooth_term", df=df)


def monotonize(
    model: AdditiveModel, features: Features, name: Any, increasing: Any
) -> AdditiveModel:
    terms = model.terms
    t, label, n = _ordered_feature(terms, features, name, "monotonize")
    if not isinstance(increasing, bool | np.bool_):
        raise TypeError(f"increasing must be a bool, got {type(increasing).__name__}.")
    before = terms.tables[t]
    if before.ndim > 1:
        raise ValueError(
            "monotonize is possible for two classes only, where it makes the probability of "
            f"the second monotonic; the model has {before.shape[1]} classes."
        )
    each = zip(terms.features, terms.names(features))
    pairs = [repr(name) for members, name in each if len(members) == 2 and t in members]
    if pairs:
        warn_user(
            f"The function of {label!r} is made monotonic, but predictions need not be: the "
            f"feature is also in {', '.join(pairs)}.",
            UserWarning,
        )
    sign, weight = 1.0 if increasing else -1.0, terms.weights[t][:n]
    weight = np.maximum(weight, _LITTLE_WEIGHT * weight.max())

    def pool(values: np.ndarray) -> np.ndarray:
        values = values.copy()
        for own in values.T:
            own[:n] = sign * increasing_by_pooling(sign * own[:n], weight)
        return values

    return with_function(model, t, label, pool, "monotonize", increasing=bool(increasing))


def remove_terms(model: AdditiveModel, features: Features, given: Any) -> AdditiveModel:
    for members in [model.terms.features[t] for t in term_numbers(model.terms, features, given)]:
        terms = model.terms
        t = terms.features.index(members)
        # Its mean is in the intercept already.
        label, none = terms.names(features)[t], np.zeros_like(terms.tables[t])
        model = with_values(model, t, label, none, "remove_terms")
        if len(members) == 2:  # features keep their place, as columns of X do; a pair goes
            model = replace(model, terms=_without(model.terms, t), folds=None)
    return model


def _without(terms: AdditiveTerms, t: int) -> AdditiveTerms:
    kept = [i for i in range(len(terms.features)) if i != t]
    return replace(
        terms,
        features=[terms.features[i] for i in kept],
        functions=[terms.functions[i] for i in kept],
        weights=[terms.weights[i] for i in kept],
        errors=None if terms.errors is None else [terms.errors[i] for i in kept],
    )


# --- terms that are fitted again ------------------------------------------------------------------


def refitted_terms(terms: AdditiveTerms, features: Features, given: Any) -> list[int]:
    """The numbers of the terms that `refit` is given, if they can be fitted."""
    chosen = sorted(term_numbers(terms, features, given))
    names = terms.names(features)
    for t in chosen:
        for j in terms.features[t]:
            if j not in chosen:
                raise ValueError(
                    f"The pair {names[t]!r} can only be fitted with the functions of its features; "
                    f"terms must have {names[j]!r} too."
                )
            if j in terms.bins.single:
                raise ValueError(f"The model was fitted without the feature {names[j]!r}.")
    if terms.n_scores > 1:
        raise ValueError(
            f"refit needs a regressor or two classes; here are {terms.n_scores} classes."
        )
    return chosen


def with_refitted(
    model: AdditiveModel,
    features: Features,
    chosen: Sequence[int],
    fitted: AdditiveTerms,
    n_rows: int,
) -> AdditiveModel:
    """The model whose chosen terms are those of another fit, in the same bins."""
    terms, names = model.terms, model.terms.names(features)
    pairs = [terms.features[t] for t in chosen if len(terms.features[t]) == 2]
    for j in {j for pair in pairs for j in pair if terms.bins.categories[j] is None}:
        n_bins = len(terms.bins.edges[j]) + 1
        one, other = (each.pair_maps[j][:n_bins] for each in (terms, fitted))
        if not np.array_equal(one, other):
            raise ValueError(
                f"Feature {names[j]!r} has so many bins that its pairs merge them, and differently "
                "for these rows; refit its pairs in a model of at most 64 bins."
            )
    constant = fitted.intercept - terms.intercept
    new = replace(model, terms=_with_missing_bins_of(terms, fitted), folds=None)
    for t in chosen:
        values = _in_bins_of(new.terms, t, fitted, fitted.tables)
        errors = None
        if fitted.errors is not None:
            errors = _in_bins_of(new.terms, t, fitted, fitted.errors)
        new = with_values(new, t, names[t], values, "refit", constant, errors, n_rows=n_rows)
        constant = 0.0
    return new


def _with_missing_bins_of(terms: AdditiveTerms, other: AdditiveTerms) -> AdditiveTerms:
    """Terms with bins of missing values, of value 0, where the other ones have them."""
    bins, had = copy.copy(terms.bins), terms.bins.missing
    bins.missing = had | other.bins.missing
    widths = [[(0, int(bins.missing[j] and not had[j])) for j in own] for own in terms.features]
    return replace(
        terms,
        bins=bins,
        functions=[(e, np.pad(v, w)) for (e, v), w in zip(terms.functions, widths)],
        weights=[np.pad(v, w) for v, w in zip(terms.weights, widths)],
        errors=None
        if terms.errors is None
        else [np.pad(v, w) for v, w in zip(terms.errors, widths)],
    )


def _in_bins_of(
    terms: AdditiveTerms, t: int, other: AdditiveTerms, tables: Sequence[np.ndarray]
) -> np.ndarray:
    """A table of a term of another model, fitted to numbers of the categories of this one.

    0 where the other model had no rows of the category, or with missing values.
    """
    members = terms.features[t]
    given = tables[other.features.index(members)]
    values = np.zeros_like(terms.tables[t])
    places = []
    for axis, j in enumerate(members):
        known = other.bins.categories[j]
        if known is None:
            places.append(np.arange(given.shape[axis]))
        else:
            places.append(np.append(known.astype(np.intp), values.shape[axis] - 1))
    values[np.ix_(*places)] = given
    return values


def _ordered_feature(
    terms: AdditiveTerms, features: Features, name: Any, method: str
) -> tuple[int, str, int]:
    """The term of an ordered feature: number, name, and bins but that of missing values."""
    t = term_number(terms, features, name)
    label = terms.names(features)[t]
    if len(terms.features[t]) == 2:
        raise ValueError(f"{method} needs the function of one feature; {label!r} is a pair.")
    if terms.bins.categories[t] is not None:
        raise ValueError(f"{method} needs ordered bins; the feature {label!r} is categorical.")
    return t, label, len(terms.bins.edges[t]) + 1
