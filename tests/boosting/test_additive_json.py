"""Additive models as JSON documents: the same model comes back, and nothing else is read."""

import bisect
import copy
import json
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    export,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting._additive.shapley import shapley_values
from sklearn_ensemble_theory.boosting.losses import HuberLoss, PoissonLoss
from sklearn_ensemble_theory.export._json import _FIELDS

from .deployed_data import KINDS, finite, fitted, rows_of

SCHEMA = Path(__file__).parents[2] / "docs" / "_static" / "additive-model-1.schema.json"


def strictly(text):
    """The document, by a reader that knows no NaN and no infinity."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def fits(value, schema, top):
    """Whether a value fits a schema, by the few keywords that ours has."""
    if "$ref" in schema:
        found = top
        for part in schema["$ref"].split("/")[1:]:
            found = found[part]
        if not fits(value, found, top):
            return False
    kinds = {
        "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
        "integer": int, "number": (int, float),
    }  # fmt: skip
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    is_bool = isinstance(value, bool)
    if names and not any(
        isinstance(value, kinds[n]) and (not is_bool or n == "boolean") for n in names
    ):
        return False
    tests = [
        "const" not in schema or value == schema["const"],
        "enum" not in schema or value in schema["enum"],
        "anyOf" not in schema or any(fits(value, s, top) for s in schema["anyOf"]),
        "oneOf" not in schema or sum(fits(value, s, top) for s in schema["oneOf"]) == 1,
        "not" not in schema or not fits(value, schema["not"], top),
        "minimum" not in schema or value >= schema["minimum"],
    ]
    if isinstance(value, list):
        tests += [fits(v, schema.get("items", {}), top) for v in value]
        tests += [schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf)]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        tests += [name in value for name in schema.get("required", [])]
        tests += [fits(v, known[name], top) for name, v in value.items() if name in known]
        if schema.get("additionalProperties") is False:
            tests += [name in known for name in value]
    return all(tests)


def document_of(model):
    text = export.json(model)
    document, schema = strictly(text), json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert fits(document, schema, schema)
    return text, document


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_comes_back(kind):
    """Predictions of the same bits; terms, tables and explanations; the document again."""
    model = fitted(kind)
    text, document = document_of(model)
    same = export.from_json(text)
    X = finite(rows_of(model, 3000))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    np.testing.assert_array_equal(same._scores(X), model._scores(X))
    np.testing.assert_array_equal(same.predict_terms(X), model.predict_terms(X))
    for found, expected in zip(shapley_values(same, X), shapley_values(model, X)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    pd.testing.assert_frame_equal(export.frame(same), export.frame(model))
    np.testing.assert_array_equal(same.term_importances_, model.term_importances_)
    np.testing.assert_array_equal(same.feature_importances_, model.feature_importances_)
    np.testing.assert_array_equal(same.feature_names_in_, model.feature_names_in_)
    assert same.term_names_ == model.term_names_
    assert same.get_params() == {
        k: [list(p) for p in v] if k == "interactions" else v for k, v in model.get_params().items()
    }
    assert export.json(same) == text
    assert export.sql(same, "rows") == export.sql(model, "rows")
    if kind == "two":
        for made in (pickle.loads(pickle.dumps(same)), copy.deepcopy(same)):
            np.testing.assert_array_equal(made.predict_proba(X), model.predict_proba(X))
        assert clone(same).get_params() == same.get_params()
        assert same.classes_.dtype == model.classes_.dtype
    assert document["link"] == model.link_
    assert json.loads(export.json(model, indent=1)) == document


def scores_by_the_schema(document, row):
    """What the schema says of a row, a dict by the names of the features, without NumPy."""
    scores = list(document["intercept"])
    for term in document["terms"]:
        entry = term["values"]
        for j in term["features"]:
            feature = document["features"][j]
            x = row[feature["name"]]
            if "categories" in feature:
                known = feature["categories"]["values"]
                entry = entry[known.index(x) if x in known else -1]
                continue
            edges = feature["edges"] if len(term["features"]) == 1 else feature["pair_edges"]
            if x is not None and x == x:
                entry = entry[bisect.bisect_left(edges, x)]
            elif feature["missing_bin"]:
                entry = entry[-1]
            else:
                break
        else:
            each = entry if isinstance(entry, list) else [entry]
            scores = [score + value for score, value in zip(scores, each)]
    return scores


def test_a_loss_that_is_an_object_becomes_a_name_with_its_link():
    rng = np.random.default_rng(0)
    X = rng.random((100, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    for loss in (PoissonLoss(), HuberLoss(0.5)):
        model = AdditiveBoostingRegressor(loss=loss, n_estimators=20).fit(X, y)
        same = export.from_json(export.json(model))
        np.testing.assert_array_equal(same.predict(X), model.predict(X))
        assert same.loss == ("poisson" if isinstance(loss, PoissonLoss) else "squared_error")


@pytest.mark.parametrize("kind", KINDS)
def test_other_readers_find_the_same_scores(kind):
    model = fitted(kind)
    X = finite(rows_of(model, 500))
    document = json.loads(export.json(model))
    found = [scores_by_the_schema(document, row) for row in X.to_dict("records")]
    expected = model._scores(X).reshape(len(X), -1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_numbers_without_names_and_standard_errors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * [1e-310, 1e300]
    y = np.sign(X[:, 0]) + rng.normal(size=200)
    model = L2BoostingRegressor(CVRounds(KFold(3), max_estimators=30)).fit(X, y)
    model.shape_standard_errors_[0][0] = np.nan
    text, document = document_of(model)
    assert document["terms"][0]["standard_errors"][0] == "NaN"
    assert "n_estimators" not in document["parameters"]  # an object
    same = export.from_json(text.encode())
    assert not hasattr(same, "feature_names_in_")
    assert same.n_estimators == "cv"
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    for found, expected in zip(same.shape_standard_errors_, model.shape_standard_errors_):
        np.testing.assert_array_equal(found, expected)
    # What is not kept is refused, by a message that says so.
    for call in (
        lambda: same.predict_path(X, [0]),
        lambda: next(same.staged_predict(X)),
    ):
        with pytest.raises(ValueError, match="read from JSON"):
            call()
    assert not hasattr(same, "stump_cuts_")
    with pytest.warns(UserWarning, match="partial_fit starts again"):
        same.set_params(n_estimators=5).partial_fit(X, y)
    assert same.fit(X, y).predict_path(X, [0, 5]).shape == (2, 200)


def test_staged_predictions_of_a_classifier_are_refused():
    model = fitted("two")
    same = export.from_json(export.json(model))
    with pytest.raises(ValueError, match="rounds of the fit, which a model that was read"):
        next(same.staged_predict_proba(finite(rows_of(model, 3))))
    same.set_params(held_out="cv")
    with pytest.raises(ValueError, match="read from JSON"):
        same.predict_set(finite(rows_of(model, 3)))


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        np.array([2**40, -3]),
        np.array([0.1, -np.inf], dtype=np.float32),
        np.array([0.1, np.inf]),
        np.array(["a", "é"]),
        np.array([3, 1.5], dtype=object),
        np.array([2**60, 1], dtype=np.uint64),
        [None, None],
    ],
)
def test_categories_of_every_kind(values):
    column = np.array([*values] * 10, dtype=None if values[0] is not None else object)
    X = pd.DataFrame({"a": pd.Categorical(column), "b": np.arange(20.0)})
    model = L2BoostingRegressor(30).fit(X, np.arange(20) % 2)
    text, _ = document_of(model)
    same = export.from_json(text)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert same.categories_[0].dtype == model.categories_[0].dtype
    assert export.json(same) == text
    if isinstance(values[0], str):
        with pytest.raises(TypeError, match="had categories that are text in fit"):
            same.predict(X.assign(a=np.arange(20)))
    # An array of one type, whose categories have it too.
    if not isinstance(values, list):
        data = np.asarray(values)[np.arange(20) % 2][:, None]
        model = L2BoostingRegressor(30, categorical_features=[0]).fit(data, np.arange(20) % 2)
        same = export.from_json(document_of(model)[0])
        np.testing.assert_array_equal(same.predict(data), model.predict(data))


def test_the_schema_has_the_fields_that_are_read():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for kind, (required, optional) in _FIELDS.items():
        own = schema if kind == "document" else schema["$defs"][kind]
        assert own["required"] == list(required)
        assert set(own["properties"]) == {*required, *optional}


def test_other_documents():
    model = fitted("real")
    text = export.json(model)
    for wrong in (None, 3, Path("model.json"), {"format": 1}):
        with pytest.raises(TypeError, match="text must be a str or bytes"):
            export.from_json(wrong)
    for wrong, message in [
        ("", "not JSON"),
        (text[:-1], "not JSON"),
        (b"\xff\xfe\xfd", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a": 1, "a": 2}', "a key twice"),
        ('{"a": NaN}', "NaN is not a number of JSON"),
        ("[]", "not a document of an additive model"),
        ("{}", "not a document of an additive model"),
        (text.replace('"version": 1', '"version": 2'), "version 2; this release .* version 1"),
        (text.replace('"version": 1', '"version": true'), "version True"),
        (text.replace('"version": 1', '"version": "1"'), "version '1'"),
    ]:
        with pytest.raises(ValueError, match=message):
            export.from_json(wrong)
    with pytest.raises(Exception, match="not fitted"):
        export.json(L2BoostingRegressor())


def changed(document, path, value):
    """The text of the document with another value at a place; ... removes the place."""
    document = copy.deepcopy(document)
    *parents, last = path
    place = document
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


BROKEN = [
    (["terms"], ..., "The document lacks ['terms']"),
    (["extra"], 1, "unknown fields ['extra']"),
    (["parameters"], [], "parameters must be an object"),
    (["parameters", "eval"], "1", "no parameters ['eval']"),
    (["parameters", "learning_rate"], "x", "The 'learning_rate' parameter"),
    (["named"], 1, "named must be true or false"),
    (["link"], "log", "not that of"),
    (["link"], "probit", "'probit' does not go with"),
    (["link"], ["logit"], "does not go with"),
    (["classes"], {"dtype": "str", "values": ["a", "b"]}, "A classifier must have classes"),
    (["intercept"], 3.0, "intercept must be lists of the shape (0,)"),
    (["intercept"], [True], "intercept must have numbers; got True"),
    (["intercept"], [10**400], "intercept must have finite numbers"),
    (["intercept"], ["1"], "must have numbers; got '1'"),
    (["features"], [], "features must be a list"),
    (["features", 0], 3, "features[0] must be an object"),
    (["features", 0, "name"], 3, "features[0].name must be text"),
    (["features", 0, "edges"], ..., "features[0] must have edges and missing_bin, or categories"),
    (["features", 0, "categories"], {"dtype": "str", "values": []}, "or categories"),
    (["features", 0, "missing_bin"], 0, "missing_bin must be true or false"),
    (["features", 0, "edges"], [2.0, 1.0], "features[0].edges must increase"),
    (["features", 0, "edges"], list(range(2**16)), "more than 65536 bins"),
    (["features", 0, "edges", 3], "x", "features[0].edges must have numbers; got 'x'"),
    (["features", 0, "pair_edges"], ..., "features[0].pair_edges"),
    (["features", 0, "pair_edges", 0], -99.5, "pair_edges must be among its edges"),
    (["features", 0, "importance"], ..., "All features must have an importance"),
    (["features", 2, "categories", "dtype"], "datetime64", "dtype is none of the known"),
    (["features", 2, "categories", "values"], 3, "values must be a list"),
    (["features", 2, "categories", "values", 0], ["x"], "values must be of the type"),
    (["features", 2, "categories", "values", 0], "Oslo", "values must differ"),
    (["features", 3, "categories"], {"dtype": "int8", "values": [1, 2, 3, 999]}, "exceed int8"),
    (["features", 3, "categories"], {"dtype": "int8", "values": [4, 2, 3, 9]}, "must increase"),
    (
        ["features", 3, "categories"],
        {"dtype": "float64", "values": [4, 5, 7, "NaN"]},
        "must not be NaN",
    ),
    (["terms", 1, "features"], [0], "terms[1].features must be [1]"),
    (["terms", 5, "features"], [0, 0], "terms[5].features must be two of the 5 features"),
    (["terms", 5, "features"], [0, True], "two of the 5"),
    (["terms", 5, "features"], [0, 9], "two of the 5"),
    (["terms", 0, "values"], [1.0], "terms[0].values must be lists of the shape"),
    (["terms", 0, "values", 2], [1.0], "terms[0].values must have numbers"),
    (["terms", 5, "values", 2], [1.0], "terms[5].values must be lists"),
    (["terms", 0, "weights", 2], -1, "terms[0].weights must be at least 0"),
    (["terms", 0, "weights"], 0, "terms[0].weights must be lists"),
    (["terms", 0, "standard_errors"], [0.0] * 3, "terms[0].standard_errors must be lists"),
    (["n_estimators"], -1, "n_estimators must be an integer"),
    (["n_estimators"], 1.5, "n_estimators must be an integer"),
    (["edits"], [1], "edits must be a list of texts"),
]


def test_broken_documents():
    """Each of the checks, by its message."""
    model = fitted("real")
    document = json.loads(export.json(model))
    document["features"][2]["categories"]["values"] = ["Bern", "L'Aquila", "Oslo", "x", "y"]
    export.from_json(json.dumps(document))
    for path, value, message in BROKEN:
        with pytest.raises(ValueError, match=re.escape(message)):
            export.from_json(changed(document, path, value))
    two = json.loads(export.json(fitted("two")))
    for value, message in [
        (None, "A classifier must have classes, and a regressor none"),
        ([1, 2], "classes must be an object"),
        ({"dtype": "str", "values": ["a"]}, "'logit' does not go with 1 classes and 1 scores"),
        ({"dtype": "int8", "values": [2, 1]}, "classes.values must increase"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            export.from_json(changed(two, ["classes"], value))
    # 1e999 is text of a number that no float has.
    text = json.dumps(document).replace(repr(document["intercept"][0]), "1e999", 1)
    with pytest.raises(ValueError, match="finite numbers"):
        export.from_json(text)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_any_value_in_any_place_is_refused_or_read():
    """Never another error than a ValueError, nor a model that does not predict."""
    X = np.arange(8.0)[:, None] % 3
    model = LogitBoostClassifier(5).fit(X, np.arange(8) % 2)
    document = json.loads(export.json(model))

    def places(value, path=()):
        yield path
        if isinstance(value, dict | list):
            for key in value if isinstance(value, dict) else range(len(value)):
                yield from places(value[key], (*path, key))

    n_read = 0
    for path in places(document):
        for value in (..., None, -1, 10**400, 1.5, "x", [], {}, True, [[1]], {"a": 1}):
            if not path:
                continue
            try:
                found = export.from_json(changed(document, path, value))
            except ValueError:
                continue
            n_read += 1
            assert np.isfinite(found.predict_proba(X)).all()
    assert n_read > 20
