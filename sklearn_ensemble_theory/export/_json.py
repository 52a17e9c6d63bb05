"""An additive model as a JSON document, and back: terms, bins and categories, no code.

The document has what predictions, tables and explanations need; `_FIELDS` lists the fields, and
docs/_static/additive-model-1.schema.json describes them for other readers. Floats are written so
that reading gives the same bits. JSON has no infinite numbers and no NaN; they are the texts
"Infinity", "-Infinity" and "NaN", in standard errors and in categories only.

What is read is checked in full before a model is made of it. Nothing of it is executed: no class,
function or file is named in a document, but for the estimator, which has to be the one that reads.
"""

import math
from itertools import pairwise
from json import dumps, loads
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sklearn_ensemble_theory._categories import CategoricalColumns
from sklearn_ensemble_theory._compat import check_constraints
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory._version import __version__
from sklearn_ensemble_theory.boosting import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)
from sklearn_ensemble_theory.boosting._additive.bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive.fitted_terms import AdditiveModel, AdditiveTerms
from sklearn_ensemble_theory.boosting._additive.regressors import loss_of
from sklearn_ensemble_theory.bounds._arguments import check_integer

from ._plain import Additive, PlainModel, python_values

FORMAT, VERSION = "sklearn_ensemble_theory/additive-model", 1
# The fields of the document, of a feature, of a term, and of a list of labels: those that it must
# have, and those that it may have.
_FIELDS = {
    "document": (
        (
            "format",
            "version",
            "package",
            "estimator",
            "parameters",
            "link",
            "classes",
            "named",
            "intercept",
            "features",
            "terms",
            "n_smoothing_rounds",
            "n_estimators",
            "edits",
        ),
        ("has_offset",),
    ),
    "feature": (("name",), ("edges", "pair_edges", "missing_bin", "categories", "importance")),
    "term": (("features", "values", "weights"), ("standard_errors",)),
    "labels": (("dtype", "values"), ()),
}
_NOT_FINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_DTYPES = {
    "object",
    "numbers",
    "str",
    "bool",
    "float32",
    "float64",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
# What stands for a loss that is an object: it has the same predictions.
_LOSS_OF_LINK = {"identity": "squared_error", "log": "poisson", "logit": "binomial"}


_CLASSES = {
    cls.__name__: cls
    for cls in (AdditiveBoostingRegressor, L2BoostingRegressor, LogitBoostClassifier)
}


# --- writing --------------------------------------------------------------------------------------


def json(model: Additive, *, indent: int | None = None) -> str:
    """Write the model as a JSON document, which `from_json` reads.

    The document has parameters, bins, categories, classes, terms with their weights and
    standard errors, importances of features, and a text for each edit. It has no code. Its
    schema is published with the documentation.

    Parameters
    ----------
    model : estimator
        A fitted `AdditiveBoostingRegressor`, `L2BoostingRegressor` or `LogitBoostClassifier`.
    indent : int, default=None
        So many spaces for each level; None writes one line.

    Returns
    -------
    text : str
        The document, of version 1.

    Raises
    ------
    TypeError
        If categories or classes are neither text nor numbers nor bools.
    ValueError
        If a term has a value that is not finite, or `indent` is not from 0 to 100.

    Notes
    -----
    The model that is read predicts the same, bit for bit, and has `predict_terms`, `explain`,
    the displays and `frame`. The document does not keep the rounds (staged predictions,
    `predict_path`, ``stump_...``), the paths, the models of the folds (`predict_interval`,
    `predict_set`) and the state of `partial_fit`. Parameters that are objects, such as a splitter
    as `cv`, get their default. A `loss` that is an object becomes the name of one with the same
    link.

    Examples
    --------
    >>> from json import loads as parsed
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, export
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = L2BoostingRegressor(n_estimators=200).fit(X, y)
    >>> text = export.json(model)
    >>> parsed(text)["link"]
    'identity'
    >>> same = export.from_json(text)
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    if indent is not None:
        check_integer("indent", indent, 0, 100)
    plain = PlainModel.of(model)
    plain.check_link()
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        try:
            parameters[name] = _parameter(value)
        except TypeError:  # an object: a splitter, a loss
            if name == "loss":
                parameters[name] = _LOSS_OF_LINK[plain.link]
    features: list[dict[str, Any]] = []
    for j, (name, known) in enumerate(zip(plain.names, model.categories_)):
        if known is not None:
            own = {"categories": _labels(known, f"Feature {name!r} has categories")}
        else:
            edges, has_bin = model.shape_functions_[j][0], model.missing_bins_[j]
            own = {"edges": edges.tolist(), "missing_bin": bool(has_bin)}
        features.append({"name": name} | own)
    for entry, share in zip(features, getattr(model, "feature_importances_", ())):
        entry["importance"] = float(share)
    terms: list[dict[str, Any]] = []
    parts = model.term_features_, model.shape_functions_, model.bin_weights_
    for members, (edges, values), weights in zip(*parts):
        if len(members) == 2:
            for j, own_edges in zip(members, edges):
                if plain.categories[j] is None:
                    features[j]["pair_edges"] = own_edges.tolist()
        tables = {"values": values.tolist(), "weights": weights.tolist()}
        terms.append({"features": [int(j) for j in members]} | tables)
    for entry, errors in zip(terms, getattr(model, "shape_standard_errors_", ())):
        entry["standard_errors"] = _encoded(errors.tolist())
    classes = None
    if plain.classes is not None:
        classes = _labels(model.classes_, "The model has classes")
    document = {
        "format": FORMAT,
        "version": VERSION,
        "package": __version__,
        "estimator": type(model).__name__,
        "parameters": parameters,
        "link": plain.link,
        "classes": classes,
        "named": hasattr(model, "feature_names_in_"),
        "intercept": plain.intercept.tolist(),
        "features": features,
        "terms": terms,
        "n_smoothing_rounds": int(getattr(model, "n_smoothing_rounds_", 0)),
        "n_estimators": int(getattr(model, "n_estimators_", 0)),  # of an average
        "edits": [str(edit) for edit in getattr(model, "edits_", ())],
    }
    if model.model_.has_offset:
        document["has_offset"] = True
    return dumps(document, allow_nan=False, indent=indent)


def _parameter(value: Any) -> Any:
    """A parameter whose value JSON has; TypeError for another one."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_parameter(each) for each in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _parameter(each) for key, each in value.items()}
    raise TypeError


def _labels(values: np.ndarray, what: str) -> dict[str, Any]:
    dtype, plain = values.dtype.name, python_values(values, what)
    if values.dtype.kind == "U":
        dtype = "str"
    elif dtype == "object" and not all(isinstance(value, str) for value in plain):
        dtype = "numbers"
    if dtype not in _DTYPES:
        raise TypeError(f"{what} of the dtype {dtype}, which the document does not have.")
    return {"dtype": dtype, "values": _encoded(plain)}


def _encoded(values: Any) -> Any:
    """Numbers that are not finite as text, in lists of any depth."""
    if isinstance(values, list):
        return [_encoded(value) for value in values]
    if isinstance(values, float) and not math.isfinite(values):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(values, "NaN")
    return values


# --- reading --------------------------------------------------------------------------------------


def from_json(text: str | bytes) -> Any:
    """Read a model that `json` has written.

    Parameters
    ----------
    text : str or bytes
        The document.

    Returns
    -------
    model : estimator
        A fitted model of the class that the document names; see `json` for what it has.

    Raises
    ------
    TypeError
        If `text` is something else.
    ValueError
        If it is not JSON, has another version, or is not an additive model. If it is broken:
        missing or unknown fields, tables of other shapes, edges that do not increase, numbers that
        are not finite, and so on.

    Notes
    -----
    Nothing in the document is executed, so it may come from anyone. But you have to trust its
    predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, export
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = L2BoostingRegressor(50).fit(X, y)
    >>> same = export.from_json(export.json(model))
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    document = _parsed(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(
            f"This is not a document of an additive model, whose format is {FORMAT!r}."
        )
    version, name = document.get("version"), document.get("estimator")
    if version != VERSION or isinstance(version, bool):
        raise ValueError(
            f"The document has the version {_short(version)}; this release of "
            f"sklearn_ensemble_theory reads version {VERSION}."
        )
    cls = _CLASSES.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(
            f"The document is of the estimator {_short(name)}; additive models are "
            f"{', '.join(_CLASSES)}."
        )
    _check_fields(document, "document", "The document")

    # An estimator with the parameters of the fit, as far as JSON has them.
    parameters, model = document["parameters"], cls()
    _demand(isinstance(parameters, dict), "parameters must be an object.")
    unknown = [key for key in parameters if key not in model.get_params(deep=False)]
    _demand(not unknown, f"{cls.__name__} has no parameters {unknown}.")
    model = cls(**parameters)
    check_constraints(model)

    # Features: their names and bins.
    entries = document["features"]
    _demand(isinstance(entries, list) and entries, "features must be a list of features.")
    p, names, edges, missing = len(entries), [], [], []
    categories: list[Any] = []
    for j, entry in enumerate(entries):
        where = f"features[{j}]"
        _check_fields(entry, "feature", where)
        names.append(entry["name"])
        _demand(isinstance(names[-1], str), f"{where}.name must be text.")
        is_ordered = {"edges", "missing_bin"} <= set(entry) and "categories" not in entry
        has_categories = "categories" in entry and not {"edges", "missing_bin"} & set(entry)
        _demand(
            is_ordered or has_categories,
            f"{where} must have edges and missing_bin, or categories.",
        )
        if is_ordered:
            edges.append(_edges(entry["edges"], f"{where}.edges"))
            categories.append(None)
            missing.append(entry["missing_bin"])
            _demand(isinstance(missing[-1], bool), f"{where}.missing_bin must be true or false.")
        else:
            found = _read_labels(entry["categories"], f"{where}.categories")
            # A feature that had no category in `fit` has one that never occurs.
            categories.append(found if len(found) else np.array([np.nan], dtype=object))
            edges.append(np.empty(0))
            missing.append(True)
    bins = FeatureBins(edges, np.array(missing), categories)
    _demand(isinstance(document["named"], bool), "named must be true or false.")
    model.n_features_in_ = p
    if document["named"]:
        model.feature_names_in_ = np.array(names, dtype=object)
    known = Features(p, tuple(names) if document["named"] else None)
    columns = CategoricalColumns.known(known, categories)

    # Scores: how many, and what they mean.
    link, classes = document["link"], document["classes"]
    n_scores = len(document["intercept"]) if isinstance(document["intercept"], list) else 0
    intercept = _numbers(document["intercept"], (n_scores,), "intercept")
    n_classes = 0
    _demand(
        (classes is not None) == is_classifier(model),
        "A classifier must have classes, and a regressor none.",
    )
    if classes is not None:
        model.classes_ = _read_labels(classes, "classes")
        n_classes = len(model.classes_)
    numbers_fit = {
        "identity": n_classes == 0 and n_scores == 1,
        "log": n_classes == 0 and n_scores == 1,
        "logit": n_classes in (0, 2) and n_scores == 1,
        "softmax": n_classes == n_scores > 2,
    }
    _demand(
        isinstance(link, str) and numbers_fit.get(link),
        f"The link {_short(link)} does not go with {n_classes} classes and {n_scores} scores.",
    )
    if isinstance(model, AdditiveBoostingRegressor):
        model.loss_ = loss_of(model.loss)
    _demand(
        model.link_ == link,
        f"The link {_short(link)} is not that of {cls.__name__} with the parameters of the "
        "document, which has only those that are text, numbers, lists or dicts.",
    )

    # Terms: those of the features in their order, then pairs.
    given = document["terms"]
    _demand(isinstance(given, list) and len(given) >= p, "terms must have one for each feature.")
    term_features: list[tuple[int, ...]] = []
    functions: list[tuple[Any, np.ndarray]] = []
    all_weights: list[np.ndarray] = []
    errors: list[np.ndarray] = []
    pair_edges: dict[int, np.ndarray] = {}
    for t, term in enumerate(given):
        where = f"terms[{t}]"
        _check_fields(term, "term", where)
        members = term["features"]
        if t < p:
            _demand(members == [t], f"{where}.features must be [{t}].")
        else:
            is_pair = isinstance(members, list) and len(members) == 2
            inside = is_pair and all(type(j) is int and 0 <= j < p for j in members)
            _demand(
                inside and members[0] != members[1],
                f"{where}.features must be two of the {p} features.",
            )
        members, places = tuple(int(j) for j in members), []
        for j in members:
            place = edges[j] if categories[j] is None else categories[j]
            if t >= p and categories[j] is None:
                if j not in pair_edges:
                    own = f"features[{j}].pair_edges"
                    pair_edges[j] = _edges(entries[j].get("pair_edges"), own)
                    _demand(np.isin(pair_edges[j], place).all(), f"{own} must be among its edges.")
                place = pair_edges[j]
            places.append(place)
        shape = tuple(
            len(place) + (1 + bool(missing[j]) if categories[j] is None else 1)
            for j, place in zip(members, places)
        )
        weights = _numbers(term["weights"], shape, f"{where}.weights")
        _demand(
            (weights >= 0).all() and weights.any(),
            f"{where}.weights must be at least 0, not all 0.",
        )
        if n_scores > 1:
            shape = (*shape, n_scores)
        values = _numbers(term["values"], shape, f"{where}.values")
        if "standard_errors" in term:
            own = f"{where}.standard_errors"
            errors.append(_numbers(term["standard_errors"], shape, own, is_finite=False))
        term_features.append(members)
        all_weights.append(weights)
        functions.append((places[0] if t < p else tuple(places), values))
    _demand(len(errors) in (0, len(given)), "All terms must have standard_errors, or none.")
    # The coarse bin of each bin, missing values after all others.
    pair_maps = []
    for j, (own, known) in enumerate(zip(edges, categories)) if len(given) > p else ():
        coarse = pair_edges.get(j, own)
        lookup = np.append(np.searchsorted(coarse, own), [len(coarse), len(coarse) + 1])
        lookup = lookup if known is None else np.arange(len(known) + 1)
        pair_maps.append(lookup.astype(np.uint16))

    # What describes the fit.
    shares = [entry["importance"] for entry in entries if "importance" in entry]
    _demand(len(shares) in (0, p), "All features must have an importance, or none.")
    importances = _numbers(shares, (p,), "importance") if shares else None
    for name in ("n_smoothing_rounds", "n_estimators"):
        number = document[name]
        _demand(type(number) is int and number >= 0, f"{name} must be an integer of at least 0.")
    edits = document["edits"]
    _demand(
        isinstance(edits, list) and all(isinstance(edit, str) for edit in edits),
        "edits must be a list of texts.",
    )
    terms = AdditiveTerms(
        bins,
        columns if columns.any else None,
        term_features,
        functions,
        all_weights,
        pair_maps,
        float(intercept[0]) if n_scores == 1 else intercept,
        errors or None,
        None,
    )
    numbers = document["n_estimators"], document["n_smoothing_rounds"]
    has_offset = document.get("has_offset", False)
    _demand(isinstance(has_offset, bool), "has_offset must be true or false.")
    model.model_ = AdditiveModel(terms, *numbers, importances, edits=edits, has_offset=has_offset)
    return model


def _parsed(text: Any) -> Any:
    if not isinstance(text, str | bytes):
        raise TypeError(f"text must be a str or bytes; got {type(text).__name__}.")

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number of JSON")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("an object has a key twice")
        return found

    try:
        return loads(text, parse_constant=refuse, object_pairs_hook=distinct)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The text is not JSON: {error}.") from None


def _demand(holds: Any, message: str) -> None:
    if not holds:
        raise ValueError(f"The document is broken: {message}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:56]} ..."


def _check_fields(entry: Any, kind: str, where: str) -> None:
    required, optional = _FIELDS[kind]
    _demand(isinstance(entry, dict), f"{where} must be an object.")
    lacking = [name for name in required if name not in entry]
    _demand(not lacking, f"{where} lacks {lacking}.")
    unknown = [name for name in entry if name not in (*required, *optional)]
    _demand(not unknown, f"{where} has the unknown fields {unknown}.")


def _numbers(entry: Any, shape: tuple[int, ...], where: str, is_finite: bool = True) -> np.ndarray:
    found: list[float] = []

    def walk(part: Any, sizes: tuple[int, ...]) -> None:
        if sizes:
            fits = isinstance(part, list) and len(part) == sizes[0]
            _demand(fits, f"{where} must be lists of the shape {shape}.")
            for each in part:
                walk(each, sizes[1:])
            return
        if isinstance(part, str) and not is_finite:
            part = _NOT_FINITE.get(part, part)
        is_number = isinstance(part, int | float) and not isinstance(part, bool)
        _demand(is_number, f"{where} must have numbers; got {_short(part)}.")
        # an integer may be too large for a float, and 1e999 is read as infinity
        fits = abs(part) < 2**1024 or not isinstance(part, int)
        _demand(
            fits and (not is_finite or math.isfinite(part)),
            f"{where} must have finite numbers; got {_short(part)}.",
        )
        found.append(float(part))

    walk(entry, shape)
    return np.array(found, dtype=float).reshape(shape)


def _edges(entry: Any, where: str) -> np.ndarray:
    edges = _numbers(entry, (len(entry) if isinstance(entry, list) else 0,), where)
    _demand((np.diff(edges) > 0).all(), f"{where} must increase.")
    _demand(len(edges) < 2**16, f"{where} has more than {2**16} bins.")
    return edges


def _read_labels(entry: Any, where: str) -> np.ndarray:
    """Categories or classes, which differ."""
    _check_fields(entry, "labels", where)
    dtype, values = entry["dtype"], entry["values"]
    _demand(isinstance(dtype, str) and dtype in _DTYPES, f"{where}.dtype is none of the known.")
    _demand(isinstance(values, list), f"{where}.values must be a list.")
    if dtype == "numbers":  # of several types
        values = [_NOT_FINITE.get(v, v) if isinstance(v, str) else v for v in values]
    kind = "O" if dtype == "numbers" else np.dtype(dtype).kind
    if kind == "f":
        found = _numbers(values, (len(values),), f"{where}.values", is_finite=False)
        found = found.astype(dtype)
    else:
        kinds = {"numbers": (bool, int, float), "bool": (bool,), "object": (str,), "str": (str,)}
        fit = all(type(value) in kinds.get(dtype, (int,)) for value in values)
        _demand(fit, f"{where}.values must be of the type {dtype}.")
        if kind in "iu":
            kept = np.iinfo(dtype)
            fit = all(kept.min <= int(value) <= kept.max for value in values)
            _demand(fit, f"{where}.values exceed {dtype}.")
        found = np.array(values, dtype=object if kind == "O" else dtype)
    plain = found.tolist()
    _demand(len(set(plain)) == len(plain), f"{where}.values must differ.")
    _demand(all(value == value for value in plain), f"{where}.values must not be NaN.")
    _demand(
        kind in "UO" or all(a < b for a, b in pairwise(plain)),
        f"{where}.values must increase.",
    )
    return found
