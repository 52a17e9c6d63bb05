"""The terms of a fitted additive model, as the displays draw them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, cast

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._features import feature_names
from sklearn_ensemble_theory._typing import AdditiveEstimator, ArrayLike, Estimator

RUG = 500  # rows that a picture marks, at most
MISSING = {False: "missing", True: "missing or unseen"}  # by whether the feature is categorical


@dataclass(frozen=True)
class TermAxis:
    name: str
    edges: np.ndarray  # thresholds, increasing, or categories
    categorical: bool
    missing: bool  # whether a last bin, after the others, contains missing values
    limits: tuple[float, float] | None = None  # least and largest value, if known
    rows: np.ndarray | None = None  # some values, increasing, if known

    @property
    def n_bins(self) -> int:
        """Bins without that of missing values."""
        return len(self.edges) + (not self.categorical)

    @property
    def missing_label(self) -> str:
        """What the last bin contains."""
        return MISSING[self.categorical]

    def bounds(self) -> np.ndarray:
        """n_bins + 1 bounds of the bins: those of a numeric feature, or -0.5, 0.5, ...

        The first and the last bin of a numeric feature have no bound on one side. They end at the
        least and the largest value if these are known, and else are as wide as the bin beside them.
        """
        if self.categorical:
            return np.arange(self.n_bins + 1) - 0.5
        edges = np.asarray(self.edges, dtype=float)
        if len(edges) == 0:
            low, high = self.limits or (0.0, 1.0)
            return np.array([low, high if high > low else low + 1])
        # A single threshold of 0.5 or 1.5 is one between two codes, such as 0 and 1.
        single = 0.5 if edges[0] % 1 in (0, 0.5) and abs(edges[0]) < 10 else 0.5 * abs(edges[0])
        # The outer bins have no end: their neighbour's width is what a reader expects of them.
        widths = np.diff(edges) if len(edges) > 1 else np.array([single])
        low, high = edges[0] - widths[0], edges[-1] + widths[-1]
        if self.limits is not None:
            # The rows given need not be those of the fit: a limit inside the thresholds would cut
            # bins away.
            low = self.limits[0] if self.limits[0] < edges[0] else low
            high = self.limits[1] if self.limits[1] > edges[-1] else high
        return np.concatenate([[low], edges, [high]])


@dataclass(frozen=True)
class TermShape:
    """One term: its values in all bins of its feature, or cells of its two features."""

    name: str
    axes: tuple[TermAxis, ...]
    values: np.ndarray  # bins of each axis (the missing one last), then one column for each curve
    weights: np.ndarray | None = None  # training weight in each bin; None if unknown
    errors: np.ndarray | None = None  # standard errors, of the shape of the values
    importance: float | None = None
    of_class: str = ""  # the class of a map, where a figure has those of several

    @property
    def is_pair(self) -> bool:
        return len(self.axes) == 2


def check_additive(estimator: Estimator) -> AdditiveEstimator:
    """The estimator; what is not a fitted additive model is refused."""
    if not hasattr(estimator, "predict_terms"):
        raise TypeError(
            "estimator must be an additive model, such as L2BoostingRegressor; got "
            f"{type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    return cast(AdditiveEstimator, estimator)


def features_of_terms(estimator: AdditiveEstimator) -> list[tuple[int, ...]]:
    """Return the features of each term; one term for each feature if the model does not tell."""
    default = [(j,) for j in range(estimator.n_features_in_)]
    return [tuple(map(int, t)) for t in getattr(estimator, "term_features_", default)]


def names_of_terms(estimator: AdditiveEstimator) -> list[str]:
    return list(getattr(estimator, "term_names_", feature_names(estimator)))


def removed_terms(estimator: AdditiveEstimator) -> list[str]:
    """The names of the terms that `remove_terms` has removed, and no later edit has set."""
    last = {edit.term: edit for edit in getattr(estimator, "edits_", ()) if hasattr(edit, "term")}
    names = names_of_terms(estimator)
    is_used = dict(zip(names, (values.any() for _, values in estimator.shape_functions_)))
    return [
        term
        for term, edit in last.items()
        if edit.method == "remove_terms" and not is_used.get(term, False)
    ]


def column_of(X, j: int) -> Any:
    """Column j of an array, a list of rows or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    # Sparse matrices and arrays are indexed as they are, without a copy of all columns.
    return (X if hasattr(X, "shape") else np.asarray(X))[:, j]


def number_of_class(estimator: AdditiveEstimator, target) -> int | None:
    """The column of the scores of class `target`; None for all, or if there is only one score."""
    if not is_classifier(estimator):
        if target is not None:
            raise ValueError("target is for classifiers; it must be None for a regressor.")
        return None
    classes = estimator.classes_
    if target is None:
        return None
    found = np.flatnonzero(np.asarray(classes == target))
    if len(found) != 1:
        raise ValueError(f"target must be one of the classes {classes.tolist()}; got {target!r}.")
    if len(classes) > 2:
        return int(found[0])
    # The same terms with the opposite sign would be another picture of one model.
    if found[0] == 0:
        raise ValueError(
            "The terms of two classes are log-odds of the second one, which target must be: "
            f"{classes.tolist()[1]!r}."
        )
    return None


def scores_of_classes(estimator: AdditiveEstimator) -> list[str]:
    """Return a label for each score: one of a regressor and of two classes, K of K classes."""
    if not is_classifier(estimator) or len(estimator.classes_) <= 2:
        return [""]
    return [str(c) for c in estimator.classes_]


def unit_of_terms(estimator: AdditiveEstimator, k: int | None = None) -> str:
    """Return what the terms add to, for labels; k is the number of one of several classes."""
    if not is_classifier(estimator):
        is_log = getattr(estimator, "link_", "identity") == "log"
        return "logarithm of the prediction" if is_log else "prediction"
    if len(estimator.classes_) <= 2:
        return f"log-odds of {estimator.classes_[-1]}"
    return "score of each class" if k is None else f"score of {estimator.classes_[k]}"


def find_term(estimator: AdditiveEstimator, term) -> int:
    """The index of a term given by its index, its name, or the indices or names of a pair."""
    features, names = features_of_terms(estimator), names_of_terms(estimator)
    if isinstance(term, str):
        if term in names:
            return names.index(term)
        raise ValueError(f"terms contains {term!r}, which is not the name of a term of the model.")
    if isinstance(term, Integral):
        if 0 <= (t := int(term)) < len(names):
            return t
        raise ValueError(f"terms contains {term}; the model has the terms 0 to {len(names) - 1}.")
    try:
        # A pair is found by its features in either order.
        known = feature_names(estimator)
        pair = {known.index(f) if isinstance(f, str) else int(f) for f in term}
    except (TypeError, ValueError):
        raise ValueError(
            f"terms contains {term!r}, which is no index, name or pair of features."
        ) from None
    for t, indices in enumerate(features):
        if set(indices) == pair and len(indices) == len(term):
            return t
    raise ValueError(f"terms contains {term!r}, which is not a term of the model.")


def check_number_of(name: str, n: int) -> None:
    """Refuse what is not a number of terms or bars."""
    if not isinstance(n, Integral) or int(n) < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {n!r}.")


def chosen_terms(
    estimator: AdditiveEstimator, terms: Sequence[Any] | None, max_terms: int
) -> list[int]:
    """Return the indices of the given terms, or of the most important ones that are not zero."""
    if terms is not None:
        if isinstance(terms, str) or not hasattr(terms, "__iter__"):
            raise TypeError(f"terms must be a list of terms; got {terms!r}.")
        found = [find_term(estimator, term) for term in terms]
        if not found:
            raise ValueError("terms must not be empty.")
        return found
    check_number_of("max_terms", max_terms)
    sizes = getattr(estimator, "term_importances_", None)
    if sizes is None:
        sizes = [np.abs(values).max(initial=0.0) for _, values in estimator.shape_functions_]
    # A stable sort: terms of equal importance keep the order of the model.
    order: list[int] = [int(t) for t in np.argsort(-np.asarray(sizes, dtype=float), kind="stable")]
    # A figure of a constant model still has a panel.
    return [t for t in order if sizes[t] > 0][:max_terms] or order[:1]


def shapes_of_terms(
    estimator: AdditiveEstimator, indices: Sequence[int], k: int | None, X: ArrayLike | None
) -> list[TermShape]:
    """Return the terms with these indices; of class k, or with one curve for each class."""
    features, names = features_of_terms(estimator), names_of_terms(estimator)
    weights = getattr(estimator, "bin_weights_", None)
    # Those of values that were edited after the fit are not known: they are NaN.
    errors = getattr(estimator, "shape_standard_errors_", None)
    errors = [None] * len(names) if errors is None else errors
    errors = [None if each is None or np.isnan(each).all() else each for each in errors]
    importances = getattr(estimator, "term_importances_", None)
    n_scores = len(scores_of_classes(estimator))

    def curves(values) -> np.ndarray:
        values = np.asarray(values, dtype=float)
        # One axis of curves at the end, also for a single score, so that the panels need no cases.
        if n_scores == 1:
            return values[..., None]
        return values if k is None else values[..., [k]]

    shapes = []
    for t in indices:
        edges, values = estimator.shape_functions_[t]
        each = (edges,) if len(features[t]) == 1 else edges
        shapes.append(
            TermShape(
                names[t],
                tuple(_axis(estimator, j, e, X) for j, e in zip(features[t], each)),
                curves(values),
                None if weights is None else np.asarray(weights[t], dtype=float),
                None if errors[t] is None else curves(errors[t]),
                None if importances is None else float(importances[t]),
            )
        )
    classes = scores_of_classes(estimator)
    return [
        each if c is None else of_one_class(each, c, classes[c])
        for each in shapes
        for c in (range(n_scores) if each.is_pair and n_scores > 1 and k is None else [None])
    ]


def of_one_class(shape: TermShape, c: int, label: str) -> TermShape:
    errors = None if shape.errors is None else shape.errors[..., [c]]
    return replace(shape, values=shape.values[..., [c]], errors=errors, of_class=label)


def _axis(estimator: AdditiveEstimator, j: int, edges: ArrayLike, X) -> TermAxis:
    categories = getattr(estimator, "categories_", None)
    categorical = categories is not None and categories[j] is not None
    missing = getattr(estimator, "missing_bins_", None)
    limits = rows = None
    if X is not None and not categorical:
        column = np.asarray(column_of(X, j), dtype=float)
        # Missing values have a bin of their own, which is drawn apart.
        column = column[np.isfinite(column)]
        limits = (float(column.min()), float(column.max())) if len(column) else None
        # Of many rows every k-th in their order stands for all.
        rows = np.sort(column)[:: -(-len(column) // RUG)] if len(column) else column
    name = feature_names(estimator)[j]
    has_missing = missing is not None and bool(missing[j])
    return TermAxis(name, np.asarray(edges), categorical, has_missing, limits, rows)
