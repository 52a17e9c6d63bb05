"""Edits of a fitted additive model: other values of a term, smoother ones, monotonic ones, none.

Each function returns a new model; the one that it is given stays as it is. A term has weighted mean
0 over the training rows before and after, so that what an edit does to the mean of all predictions
is in the intercept, and `edits_` has a record of each edit.

The rounds of the fit, and the models of its folds, are of the model before. What is computed from
them is refused after an edit (`refuse_edited`), and standard errors of an edited term are NaN.

Features are smoothed over *ranks*: the place of a bin is the share of the weight below its middle.
The first and the last bin have no middle in units of the feature; and as the fit itself, the result
does not depend on these units.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._blocks import any_collection, checked_offset
from ..._compat import increasing_by_pooling
from ..._features import Features
from ..._running import warn_user
from ...smoothing._splines import SmoothingSplineRegressor

# A bin without weight takes part in isotonic regression with this share of the largest weight.
_LITTLE_WEIGHT = 1e-9
# Values that differ by less than this share of the largest one are the same in words.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Edit:
    """What was changed after the fit.

    Attributes
    ----------
    method : str
        The name of the method that was called.
    term : str
        The name of the term.
    before, after : ndarray
        The values of the term; those of a term that was removed are 0.
    shift : float or ndarray of shape (n_classes,)
        What was added to the intercept.
    arguments : dict
        The other arguments of the method.
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


def term_number(model: Any, name: Any) -> int:
    """The number of a term, by its name, its number or its features.

    Raises
    ------
    ValueError
        If there is no such term, or several.
    """
    check_is_fitted(model)
    names = model.term_names_
    if isinstance(name, Integral) and not isinstance(name, bool | np.bool_):
        number = int(name)
        if not 0 <= number < len(names):
            raise ValueError(f"There is no term {number}; the terms are 0 to {len(names) - 1}.")
        return number
    if isinstance(name, str):
        found = [t for t, each in enumerate(names) if each == name]
        if len(found) > 1:
            raise ValueError(f"Several terms have the name {name!r}; give the number of one.")
    elif isinstance(name, Sequence | np.ndarray) and 1 <= len(name) <= 2:
        features = Features.known_to(model)
        members = {features.place(one, "The term") for one in name}
        found = [t for t, each in enumerate(model.term_features_) if set(each) == members]
        name = tuple(name)
    else:
        raise ValueError(f"A term is given by its name, its number or its features; got {name!r}.")
    if not found:
        known = ", ".join(map(repr, names[:20])) + ", ..." * (len(names) > 20)
        raise ValueError(f"There is no term {name!r}; the terms are {known}.")
    return found[0]


def refuse_edited(model: Any, what: str) -> None:
    """Raise a ValueError where the functions are no longer those of the rounds."""
    if model.edits_:
        raise ValueError(
            f"{what} the fit, and this model was edited after it (see edits_). Ask the model "
            "before the edits."
        )


def edited_copy(model: Any) -> Any:
    """A copy whose terms can be replaced, without what is known of the fitted model alone."""
    new = copy.copy(model)
    for name in ("_chunks", "_kept", "feature_importances_"):
        new.__dict__.pop(name, None)
    new._folds, new._segments = None, []
    new.shape_functions_ = [(edges, values.copy()) for edges, values in model.shape_functions_]
    for name in ("term_features_", "bin_weights_", "edits_", "shape_standard_errors_"):
        if name in new.__dict__:
            setattr(new, name, list(getattr(model, name)))
    return new


def with_values(
    model: Any, t: int, values: np.ndarray, method: str, constant: Any = 0.0, **arguments: Any
) -> Any:
    """A copy of the model whose term t has these values, of mean 0 by a shift of the intercept.

    The intercept gains `constant` beside that.
    """
    new = edited_copy(model)
    edges, before = model.shape_functions_[t]
    weight = model.bin_weights_[t]
    if values.ndim > weight.ndim:  # what all classes have in common does not matter
        values = values - values.mean(axis=-1, keepdims=True)
    # All values are shifted, those of bins without weight too: the predictions are as asked for.
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.tensordot(weight / weight.sum(), values, axes=weight.ndim)
        after = values - shift
        shift = shift + constant
        intercept = model.intercept_ + shift
    if not np.isfinite(after).all() or not np.isfinite(intercept).all():
        raise ValueError(f"The values of the term {model.term_names_[t]!r} are too large.")
    new.shape_functions_[t] = (edges, after)
    new.intercept_ = intercept if np.ndim(intercept) else float(intercept)
    if "shape_standard_errors_" in new.__dict__:
        new.shape_standard_errors_[t] = np.full(after.shape, np.nan)
    shift = shift if shift.ndim else float(shift)
    record = Edit(method, model.term_names_[t], before.copy(), after.copy(), shift, arguments)
    new.edits_.append(record)
    return new


# --- the edits ------------------------------------------------------------------------------------


def set_term(model: Any, name: Any, values: Any) -> Any:
    """See `BaseAdditive.set_term`."""
    t = term_number(model, name)
    label, before = model.term_names_[t], model.shape_functions_[t][1]
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
    return with_values(model, t, given, "set_term")


def smooth_term(model: Any, name: Any, df: float) -> Any:
    """See `BaseAdditive.smooth_term`."""
    t, n = _ordered_feature(model, name, "smooth_term")
    values, weight = model.shape_functions_[t][1].copy(), model.bin_weights_[t][:n]
    spline = SmoothingSplineRegressor(df=df)
    spline._validate_params()
    if df < spline.order:
        raise ValueError(f"df={df} must be at least {spline.order}, that of a straight line.")
    seen = weight > 0
    if seen.sum() > 2:  # a line passes through the values of two bins
        ranks = ((np.cumsum(weight) - weight / 2) / weight.sum())[:, None]
        spline.fit(ranks[seen], values[:n][seen], weight[seen])
        values[:n] = spline.predict(ranks)
    return with_values(model, t, values, "smooth_term", df=df if isinstance(df, int) else float(df))


def monotonize_term(model: Any, name: Any, increasing: bool) -> Any:
    """See `BaseAdditive.monotonize_term`."""
    t, n = _ordered_feature(model, name, "monotonize_term")
    if not isinstance(increasing, bool | np.bool_):
        raise TypeError(f"increasing must be a bool, got {type(increasing).__name__}.")
    label, before = model.term_names_[t], model.shape_functions_[t][1]
    if before.ndim > 1:
        raise ValueError(
            "monotonize_term is possible for two classes only, where it makes the probability of "
            f"the second monotonic; the model has {before.shape[1]} classes."
        )
    terms = zip(model.term_features_, model.term_names_)
    pairs = [repr(name) for features, name in terms if len(features) == 2 and t in features]
    if pairs:
        warn_user(
            f"The function of {label!r} is made monotonic, but predictions need not be: the "
            f"feature is also in {', '.join(pairs)}.",
            UserWarning,
        )
    values, weight = before.copy(), model.bin_weights_[t][:n]
    sign = 1.0 if increasing else -1.0
    weight = np.maximum(weight, _LITTLE_WEIGHT * weight.max())
    values[:n] = sign * increasing_by_pooling(sign * values[:n], weight)
    return with_values(model, t, values, "monotonize_term", increasing=bool(increasing))


def remove_term(model: Any, name: Any) -> Any:
    """See `BaseAdditive.remove_term`."""
    t = term_number(model, name)
    # Its mean is in the intercept already.
    new = with_values(model, t, np.zeros_like(model.shape_functions_[t][1]), "remove_term")
    if len(model.term_features_[t]) == 2:
        # Features keep their place, as columns of X do; a pair goes.
        for name in (
            "term_features_",
            "shape_functions_",
            "bin_weights_",
            "shape_standard_errors_",
        ):
            if name in new.__dict__:
                del getattr(new, name)[t]
    return new


def refit_terms(
    model: Any, X: Any, y: Any, terms: Any, sample_weight: Any, groups: Any, offset: Any
) -> Any:
    """See `BaseAdditive.refit`."""
    check_is_fitted(model)
    if isinstance(terms, str) or not isinstance(terms, Sequence | np.ndarray) or not len(terms):
        raise ValueError(f"terms must be a list of terms; got {terms!r}.")
    chosen = sorted({term_number(model, name) for name in terms})
    names, features = model.term_names_, [model.term_features_[t] for t in chosen]
    for t in chosen:
        for j in model.term_features_[t]:
            if j not in chosen:
                raise ValueError(
                    f"The pair {names[t]!r} can only be fitted with the functions of its features; "
                    f"terms must have {names[j]!r} too."
                )
            if j in model._bins.single:
                raise ValueError(f"The model was fitted without the feature {names[j]!r}.")
    if np.ndim(model.intercept_):
        raise ValueError(
            f"refit needs a regressor or two classes; here are {len(model.intercept_)} classes."
        )
    if any_collection(X, y, sample_weight, groups, offset):
        raise TypeError("refit needs all rows in memory and was given a Dask collection.")

    # What the other terms say of the rows is known: an offset.
    X = model._checked_X(X)
    given_offset = checked_offset(offset, X)
    tables = [values for _, values in model.shape_functions_]
    others = [np.zeros_like(v) if t in chosen else v for t, v in enumerate(tables)]
    offset = model._sum_of_terms(X, 0.0, others)
    if given_offset is not None:
        offset = offset + given_offset
    # A fit in the bins of the model. Categories are numbers here, which another fit numbers again.
    pairs = [pair for pair in features if len(pair) == 2]
    given = {
        "bin_edges": model.bin_edges_,
        "categorical_features": [c is not None for c in model.categories_],
        "exclude": None,
        "include": [each[0] if len(each) == 1 else each for each in features],
        "interactions": pairs or 0,
        "monotonic_cst": Features.known_to(model).signs(model.monotonic_cst),
    }
    fitted = clone(model).set_params(**given)
    fitted.fit(X, y, sample_weight=sample_weight, groups=groups, offset=offset)
    if hasattr(model, "classes_") and not np.array_equal(fitted.classes_, model.classes_):
        raise ValueError(
            f"y has the classes {fitted.classes_.tolist()}, but the model was fitted to "
            f"{model.classes_.tolist()}."
        )
    for j in {j for pair in pairs for j in pair if model.categories_[j] is None}:
        merged = [each._pair_maps[j][: len(model.bin_edges_[j]) + 1] for each in (model, fitted)]
        if not np.array_equal(*merged):
            raise ValueError(
                f"Feature {names[j]!r} has so many bins that its pairs have merged ones, which "
                "differ for these rows; refit its pairs in a model of at most 64 bins."
            )
    new, constant = _with_missing_bins_of(model, fitted), fitted.intercept_ - model.intercept_
    for t in chosen:
        values = _in_bins_of(new, t, fitted)
        new = with_values(new, t, values, "refit", constant, n_rows=len(X))
        constant = 0.0
    return new


def _with_missing_bins_of(model: Any, other: Any) -> Any:
    """A copy of the model with bins of missing values, of value 0, where the other one has them."""
    new, had = edited_copy(model), model._bins.missing
    new._bins = copy.copy(model._bins)
    new._bins.missing = new.missing_bins_ = had | other._bins.missing
    for t, features in enumerate(new.term_features_):
        widths = [(0, int(new._bins.missing[j] and not had[j])) for j in features]
        edges, values = new.shape_functions_[t]
        new.shape_functions_[t] = edges, np.pad(values, widths)
        new.bin_weights_[t] = np.pad(new.bin_weights_[t], widths)
        if "shape_standard_errors_" in new.__dict__:
            new.shape_standard_errors_[t] = np.pad(new.shape_standard_errors_[t], widths)
    return new


def _in_bins_of(model: Any, t: int, other: Any) -> np.ndarray:
    """The values of a term of another model, fitted to numbers of the categories of this one.

    0 where the other model had no rows of the category, or with missing values.
    """
    features = model.term_features_[t]
    given = other.shape_functions_[other.term_features_.index(features)][1]
    values = np.zeros_like(model.shape_functions_[t][1])
    places = []
    for axis, j in enumerate(features):
        known = other.categories_[j]
        if known is None:
            places.append(np.arange(given.shape[axis]))
        else:
            places.append(np.append(known.astype(np.intp), values.shape[axis] - 1))
    values[np.ix_(*places)] = given
    return values


def _ordered_feature(model: Any, name: Any, method: str) -> tuple[int, int]:
    """The number of the term of an ordered feature, and of its bins but that of missing values."""
    t = term_number(model, name)
    label = model.term_names_[t]
    if len(model.term_features_[t]) == 2:
        raise ValueError(f"{method} needs the function of one feature; {label!r} is a pair.")
    if model.categories_[t] is not None:
        raise ValueError(f"{method} needs ordered bins; the feature {label!r} is categorical.")
    return t, len(model.bin_edges_[t]) + 1
