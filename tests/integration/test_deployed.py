"""Additive models where there is no Python: DuckDB, the ONNX runtime, readers of their JSON."""

import numpy as np
import pytest

from ..boosting.deployed_data import KINDS, NAMES, assert_predicts, fitted, rows_of
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
    table = database.execute(model.to_sql("rows", dialect="duckdb", keep="id", **params)).df()
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
    table = database.execute(model.to_sql("rows", keep="id")).df()
    X[NAMES[:2]] = X[NAMES[:2]].astype(float)
    table = table.sort_values("id", ignore_index=True)
    assert_predicts(model, X[NAMES], as_found(model, table), 1e-12)
