"""Additive models where there is no Python: DuckDB, the ONNX runtime, readers of their JSON."""

import json
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier, export

from ..boosting.deployed_data import KINDS, NAMES, assert_predicts, finite, fitted, rows_of
from ..boosting.test_additive_json import SCHEMA
from ..boosting.test_additive_sql import as_found
from .test_other_tools import tool

# DuckDB


def answer(model, X, types, **params):
    """The rows of X in DuckDB, and what the query says of them."""
    database = tool("duckdb").connect()
    names = ['"' + name.replace('"', '""') + '"' for name in X.columns]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types))
    database.execute(f"CREATE TABLE rows (id INTEGER, {columns})")
    # NaN stays NaN, and None is NULL.
    database.register("frame", X.assign(id=np.arange(len(X))))
    casts = ", ".join(f"CAST({name} AS {kind})" for name, kind in zip(names, types))
    database.execute(f"INSERT INTO rows SELECT id, {casts} FROM frame")
    table = database.execute(export.sql(model, "rows", dialect="duckdb", keep="id", **params)).df()
    assert table["id"].is_unique
    assert len(table) == len(X)
    return table.sort_values("id", ignore_index=True)


@pytest.mark.parametrize("kind", KINDS)
def test_duckdb_predicts_the_same(kind):
    """NaN, NULL, infinite numbers, numbers of single precision, integers."""
    model = fitted(kind)
    types = ["DOUBLE", "DOUBLE", "VARCHAR", "INTEGER", "DOUBLE"]
    X = rows_of(model)
    assert_predicts(model, X, as_found(model, answer(model, X, types)), 1e-12)
    types[0] = types[1] = "REAL"
    X = rows_of(model, 3000, np.float32)
    assert_predicts(model, X, as_found(model, answer(model, X, types)), 1e-12)


def test_duckdb_reads_null_and_other_types_of_numbers():
    model = fitted("real")
    X = rows_of(model, 200)
    X[NAMES[0]], X[NAMES[1]], X[NAMES[4]] = np.arange(200) % 7 - 3, None, 0.25
    types = ["INTEGER", "DOUBLE", "VARCHAR", "BIGINT", "DECIMAL(9, 2)"]
    table = answer(model, X, types, with_terms=True)
    X[NAMES[1]] = np.nan
    assert_predicts(model, X, as_found(model, table), 1e-12)
    found = table[[f"term_{name}" for name in model.term_names_]].to_numpy(float)
    np.testing.assert_array_equal(found, model.predict_terms(X))


def test_the_standard_dialect_runs_in_duckdb():
    model = fitted("three")
    database = tool("duckdb").connect()
    X = rows_of(model, 500).assign(id=np.arange(500))
    X[NAMES[:2]] = X[NAMES[:2]].astype(object).where(X[NAMES[:2]].notna(), None)
    database.register("frame", X)
    names = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    kinds = ["DOUBLE", "DOUBLE", "VARCHAR", "INTEGER", "DOUBLE"]
    casts = ", ".join(f"CAST({n} AS {k}) AS {n}" for n, k in zip(names, kinds))
    database.execute(f"CREATE TABLE rows AS SELECT id, {casts} FROM frame")
    database.execute(f"UPDATE rows SET {names[0]} = NULL WHERE isnan({names[0]})")
    database.execute(f"UPDATE rows SET {names[1]} = NULL WHERE isnan({names[1]})")
    table = database.execute(export.sql(model, "rows", keep="id")).df()
    X[NAMES[:2]] = X[NAMES[:2]].astype(float)
    table = table.sort_values("id", ignore_index=True)
    assert_predicts(model, X[NAMES], as_found(model, table), 1e-12)


# ONNX


def run(made, X):
    """The outputs of the runtime by name, for a frame of rows."""
    session = tool("onnxruntime").InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names, kinds = [], {"tensor(float)": np.float32, "tensor(double)": np.float64}
    given = {}
    for entry in session.get_inputs():
        names.append(entry.name)
        if entry.name == "X" and "X" not in X.columns:
            given["X"] = X.to_numpy(kinds[entry.type])
        elif entry.type == "tensor(string)":
            text = [["" if v is None or v != v else v] for v in X[entry.name]]
            given[entry.name] = np.array(text, dtype=object)
        else:
            given[entry.name] = X[entry.name].to_numpy(kinds[entry.type], na_value=np.nan)[:, None]
    assert names in (["X"], list(X.columns))
    outputs = [each.name for each in session.get_outputs()]
    found = dict(zip(outputs, session.run(None, given)))
    if "variable" in found:
        assert found["variable"].shape == (len(X), 1)
        found["prediction"] = found.pop("variable")[:, 0]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-12)])
def test_the_onnx_runtime_predicts_the_same(kind, dtype, tolerance):
    """Columns of numbers and text, with values at edges, missing and infinite ones."""
    onnx = tool("onnx")
    model = fitted(kind)
    X = rows_of(model, dtype=np.dtype(dtype))
    # "" is a category of these data: where it is missing, another text that is none.
    X[NAMES[2]] = X[NAMES[2]].where(X[NAMES[2]].notna(), "missing")
    made = export.onnx(model, dtype=dtype, with_terms=True)
    onnx.checker.check_model(made, full_check=True)
    found = run(made, X)
    assert_predicts(model, X, found, tolerance)
    terms = model.predict_terms(finite(X))
    np.testing.assert_array_equal(found["terms"], terms.astype(dtype))


@pytest.mark.parametrize("opset", [None, 13, 21])
def test_onnx_of_a_matrix(opset):
    """Edges that single precision does not tell apart; categories that are numbers."""
    tool("onnx")
    rng = np.random.default_rng(0)
    edges = 1 + np.sort(rng.integers(0, 2000, 300)) * 2.0**-26
    edges = np.unique([*edges, -1e300, -1e-310, 1e-310, 1e300])
    X = np.stack([rng.choice(edges, 500), rng.integers(-2, 3, 500) / 4], axis=1)
    X[rng.random(500) < 0.1, 1] = np.nan
    params = {"max_bins": [edges, []], "categorical_features": [1], "interactions": [(0, 1)]}
    model = L2BoostingRegressor(50, **params).fit(X, rng.normal(size=500))
    model.shape_functions_[0] = (edges, rng.normal(size=len(edges) + 1))
    rows = pd.DataFrame(
        {"a": rng.choice([*edges[1:-1], 3e38, -3e38], 4000), "b": rng.integers(-3, 4, 4000) / 4}
    )
    rows.iloc[::7, 0], rows.iloc[::11, 1] = np.nan, np.nan
    for dtype in ("float32", "float64"):
        x = rows.astype(dtype)
        expected = model.predict(x.to_numpy())
        merges = pytest.warns(UserWarning, match="does not tell apart some thresholds of 'x0'")
        with merges if dtype == "float32" else nullcontext():
            made = export.onnx(model, dtype=dtype, target_opset=opset)
            by_column = export.onnx(model, dtype=dtype, inputs="columns")
        assert made.opset_import[0].version == (opset or 17)
        found = run(made, x)["prediction"]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        found = run(by_column, x.rename(columns={"a": "x0", "b": "x1"}))
        np.testing.assert_allclose(found["prediction"], expected, rtol=1e-6)


@pytest.mark.parametrize("classes", [["a", "b", "c"], [1.0, 2.0, 7.0], [True, False], [3, -1]])
def test_labels_in_onnx(classes):
    tool("onnx")
    X = np.arange(12.0)[:, None]
    y = np.array(classes * (12 // len(classes)))
    model = LogitBoostClassifier(20).fit(X, y)
    found = run(export.onnx(model), pd.DataFrame(X, columns=["x0"]))
    np.testing.assert_array_equal(found["label"], model.predict(X))
    assert set(found) == {"label", "probabilities", "scores"}


def test_onnx_of_a_model_without_any_term():
    tool("onnx")
    model = L2BoostingRegressor(3).fit([[0.0], [0.0], [0.0]], [1.0, 2.0, 6.0])
    found = run(export.onnx(model), pd.DataFrame({"x0": [0.0, np.nan]}))
    assert found["prediction"].tolist() == [3.0, 3.0]


def test_onnx_of_categories_of_other_kinds():
    """Bools, infinite numbers, and a feature that had no category."""
    tool("onnx")
    X = pd.DataFrame(
        {
            "flag": pd.Categorical([True, False] * 10),
            "dose": pd.Categorical([-np.inf, 0.25, np.inf, 2.5] * 5),
            "none": pd.Categorical([None] * 20),
        }
    )
    model = L2BoostingRegressor(50).fit(X, np.arange(20.0) % 4)
    rows = X.astype(object)
    rows.loc[3, ["flag", "dose"]] = None
    rows.loc[4, "dose"] = 0.3
    found = run(export.onnx(model), rows)["prediction"]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-6)


# JSON


@pytest.mark.parametrize("kind", KINDS)
def test_documents_fit_the_schema(kind):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = tool("jsonschema").Draft202012Validator
    validator.check_schema(schema)
    document = json.loads(export.json(fitted(kind)))
    validator(schema).validate(document)
    document["features"][0]["categories"] = {"dtype": "str", "values": []}
    assert not validator(schema).is_valid(document)


def test_duckdb_reads_booleans():
    """A column of booleans is one of numbers for the model, and not for the database."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(300) > 0.5, "b": rng.random(300)})
    model = L2BoostingRegressor(30).fit(X, 2.0 * X["a"] + X["b"])
    table = answer(model, X, ["BOOLEAN", "DOUBLE"])
    np.testing.assert_allclose(table["prediction"], model.predict(X), rtol=0, atol=1e-12)
