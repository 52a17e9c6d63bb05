"""A fitted additive model as plain tables, of which other forms are made: ONNX, SQL, text.

All that a prediction needs is an intercept and, for each term, a table over the bins of one or two
features. A value x of an ordered feature is in bin ``#{e in edges: e < x}``; each table has a last
entry along each of its features, for missing values and for categories that `fit` has not seen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._features import feature_names
from sklearn_ensemble_theory._typing import FittedPredictor
from sklearn_ensemble_theory.boosting import AdditiveBoostingRegressor, LogitBoostClassifier

Additive = AdditiveBoostingRegressor | LogitBoostClassifier
LINKS = ("identity", "log", "logit", "softmax")


def rounded_down(edges: np.ndarray, real: np.dtype) -> np.ndarray:
    """The largest number of this type that is at most each edge.

    ``x <= edge`` holds for a number x of the type if and only if x is at most that number.
    """
    with np.errstate(over="ignore"):
        cuts = edges.astype(real)
    return np.where(cuts > edges, np.nextafter(cuts, real.type(-np.inf)), cuts)


@dataclass(frozen=True)
class PlainTerm:
    """The table of a term with K scores.

    `places` are the m edges of each of its one or two features, or its m categories. `values` are
    (B, K) or (A, B, K): an axis has m + 2 entries for m edges, m + 1 for m categories; the last one
    is that of missing values. `weights`, without the axis K, are of the training rows.
    """

    name: str
    features: tuple[int, ...]
    places: tuple[np.ndarray, ...]
    values: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class PlainModel:
    """What predicts: the inverse link of the intercept (K,) plus the terms.

    `categories` are those of categorical features, as values of Python, None for other features. Of
    a `link` with a name other than "identity", "log", "logit" and "softmax" only Python knows the
    inverse. `classes` are the labels, as values of Python; two of them where K is 1. None of a
    regressor, which predicts a share where the link is "logit".
    """

    names: list[str]
    categories: list[list | None]
    intercept: np.ndarray
    terms: list[PlainTerm]
    link: str
    classes: list | None

    @classmethod
    def of(cls, model: FittedPredictor) -> "PlainModel":
        """Read the tables of a fitted model."""
        if not isinstance(model, Additive):
            raise TypeError(
                f"model must be an additive model, such as L2BoostingRegressor; got "
                f"{type(model).__name__}. Of trees, other tools convert export.sklearn(model)."
            )
        check_is_fitted(model)
        names, terms = feature_names(model), []
        intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=float))
        if not np.isfinite(intercept).all():
            raise ValueError("The intercept is not finite.")
        parts = (model.term_names_, model.term_features_, model.shape_functions_)
        for name, features, (edges, values), weights in zip(*parts, model.bin_weights_):
            if not np.isfinite(values).all():
                raise ValueError(f"The values of the term {name!r} are not finite.")
            widths = [int(not model.missing_bins_[j]) for j in features]
            values = padded(np.asarray(values, dtype=float), widths)
            values = values.reshape(*values.shape[: len(features)], len(intercept))
            weights = padded(np.asarray(weights, dtype=float), widths)
            places = (edges,) if len(features) == 1 else tuple(edges)
            terms.append(PlainTerm(name, tuple(features), places, values, weights))
        categories = [
            None if known is None else python_values(known, f"Feature {name!r} has categories")
            for name, known in zip(names, model.categories_)
        ]
        classes = getattr(model, "classes_", None)
        classes = None if classes is None else python_values(classes, "The model has classes")
        return cls(names, categories, intercept, terms, model.link_, classes)

    def endings(self) -> list[str]:
        """What distinguishes the names of scores: nothing for one, the classes for several."""
        return [""] if len(self.intercept) == 1 else [f"_{label}" for label in self.classes or ()]

    def check_link(self) -> None:
        """Refuse a link that has no form outside Python."""
        if self.link not in LINKS:
            raise ValueError(
                "The inverse link of this model's loss has no form outside Python; the links with "
                f"one are {', '.join(LINKS)}."
            )

    def terms_that_matter(self) -> list[PlainTerm]:
        """The terms that are not 0 everywhere."""
        return [term for term in self.terms if term.values.any()]


def padded(table: np.ndarray, widths: list[int]) -> np.ndarray:
    """Append entries 0 for missing values to a table of a term, where these have no bin."""
    ends = [(0, width) for width in widths]
    return np.pad(table, ends + [(0, 0)] * (table.ndim - len(ends)))


def python_values(values: Iterable[Any], what: str) -> list:
    """Categories or labels as text, bools, ints and floats of Python, without NaN."""
    found = []
    for value in values:
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, str | bool | int | float):
            raise TypeError(
                f"{what} of the type {type(value).__name__}, which have no form outside Python; "
                "make text or numbers of them before fit."
            )
        if value == value:
            found.append(value)
    return found
