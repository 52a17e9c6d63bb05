"""Additive models as queries: SQLite predicts what `predict` does."""

import math
import sqlite3

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    export,
)

from .deployed_data import KINDS, NAMES, assert_predicts, finite, fitted, rows_of


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def database_of(X, types=()):
    """The rows in SQLite, as the table `the "rows"`, with their numbers in `id`."""
    database = sqlite3.connect(":memory:")
    try:
        database.execute("SELECT exp(1)")
    except sqlite3.OperationalError:  # built without mathematical functions
        database.create_function("exp", 1, math.exp)
    names = [*map(quoted, X.columns)]
    types = types or [
        "REAL" if getattr(X[name].dtype, "kind", "") == "f" else "TEXT" for name in X.columns
    ]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types))
    database.execute(f'CREATE TABLE "the ""rows""" (id INTEGER, {columns})')
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    places = ", ".join("?" * (len(names) + 1))
    database.executemany(
        f'INSERT INTO "the ""rows""" VALUES ({places})', [(i, *row) for i, row in enumerate(rows)]
    )
    return database


def query(database, sql):
    cursor = database.execute(sql)
    table = pd.DataFrame(cursor.fetchall(), columns=[c[0] for c in cursor.description])
    return table.sort_values("id", ignore_index=True)


def as_found(model, table):
    """The columns of a result as `assert_predicts` takes them."""
    if "prediction" in table:
        return {"prediction": table["prediction"].to_numpy(float)}
    classes = model.classes_
    scores = ["score"] if len(classes) == 2 else [f"score_{c}" for c in classes]
    return {
        "label": table["label"].to_numpy(),
        "probabilities": table[[f"probability_{c}" for c in classes]].to_numpy(float),
        "scores": table[scores].to_numpy(float),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_sqlite_predicts_the_same(kind):
    """On 10,000 rows with values at edges, missing and infinite ones, and unseen categories."""
    model = fitted(kind)
    X = rows_of(model)
    types = ["REAL", "REAL", "TEXT", "INTEGER", "REAL"]
    database = database_of(X, types)
    sql = export.sql(model, 'the "rows"', dialect="sqlite", keep="id", with_terms=kind == "three")
    table = query(database, sql)
    assert_predicts(model, X, as_found(model, table), 1e-12)
    if kind == "three":
        terms = model.predict_terms(finite(X))
        for t, name in enumerate(model.term_names_):
            for k, label in enumerate(model.classes_):
                found = table[f"term_{name}_{label}"].to_numpy(float)
                np.testing.assert_array_equal(found, terms[:, t, k])


def test_terms_of_a_regressor():
    model = fitted("real")
    X = rows_of(model, 300)
    sql = export.sql(model, 'the "rows"', dialect="sqlite", keep=["id"], with_terms=True)
    table = query(database_of(X), sql)
    terms = model.predict_terms(finite(X))
    found = table[[f"term_{name}" for name in model.term_names_]].to_numpy(float)
    np.testing.assert_array_equal(found, terms)
    np.testing.assert_allclose(table["prediction"], terms.sum(axis=1) + model.intercept_)


@pytest.mark.parametrize("scale", [1e-280, 1e-5, 1.0, 1e15, 1e300])
def test_every_edge_is_read_exactly(scale):
    """Thresholds of 18 digits, in the middle of the numbers that round to them."""
    rng = np.random.default_rng(0)
    edges = np.sort(scale * rng.normal(size=2000))
    X = np.concatenate([edges, np.nextafter(edges, np.inf)])[:, None]
    model = L2BoostingRegressor(1, max_bins=[edges]).fit(X, rng.normal(size=len(X)))
    model.shape_functions_ = [(edges, rng.normal(size=len(edges) + 1))]
    X = pd.DataFrame(X, columns=["x0"])
    table = query(database_of(X), export.sql(model, 'the "rows"', dialect="sqlite", keep="id"))
    np.testing.assert_allclose(table["prediction"], model.predict(X.to_numpy()), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_any_size(n_classes):
    """Probabilities are exponentials that do not overflow, and add up to 1."""
    X = np.arange(6.0)[:, None]
    model = LogitBoostClassifier(5).fit(X, np.arange(6) % n_classes)
    size = np.array([-1e4, -800, -1, 1, 800, 1e4])
    edges, values = model.shape_functions_[0]
    values = size if n_classes == 2 else np.stack([size, -size, 0 * size], axis=1)
    model.shape_functions_ = [(edges, values)]
    database = database_of(pd.DataFrame(X, columns=["x0"]))
    table = query(database, export.sql(model, 'the "rows"', dialect="sqlite", keep="id"))
    found = table[[f"probability_{c}" for c in range(n_classes)]].to_numpy()
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(table["label"], model.predict(X))


def test_exponentials_of_any_size():
    X = np.arange(4.0)[:, None]
    model = AdditiveBoostingRegressor(loss="poisson", n_estimators=1).fit(X, X[:, 0])
    model.shape_functions_ = [(model.shape_functions_[0][0], np.array([-1e6, -5.0, 5.0, 1e6]))]
    table = query(
        database_of(pd.DataFrame(X, columns=["x0"])),
        export.sql(model, 'the "rows"', dialect="sqlite", keep="id"),
    )
    found = table["prediction"].to_numpy()
    np.testing.assert_allclose(found[1:3], np.exp(model.intercept_ + np.array([-5.0, 5.0])))
    assert 0 <= found[0] < 1e-300
    assert 1e308 < found[3] < np.inf


def test_many_features_and_many_classes():
    """Sums and maxima are grouped: SQLite takes expressions of depth 1000 and 127 arguments."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 1500)).astype(float)
    model = L2BoostingRegressor(5, smoothing_rounds=0, interactions=0).fit(X, X[:, 0])
    model.shape_functions_ = [(e, rng.normal(size=len(v))) for e, v in model.shape_functions_]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(1500)])
    table = query(database_of(frame), export.sql(model, 'the "rows"', dialect="sqlite", keep="id"))
    np.testing.assert_allclose(table["prediction"], model.predict(X), rtol=0, atol=1e-10)
    x = np.arange(300.0)[:, None] % 150
    model = LogitBoostClassifier(1, smoothing_rounds=0, interactions=0).fit(x, x[:, 0].astype(int))
    frame = pd.DataFrame(x, columns=["x0"])
    table = query(database_of(frame), export.sql(model, 'the "rows"', dialect="sqlite", keep="id"))
    np.testing.assert_array_equal(table["label"], model.predict(x))


def test_a_model_without_any_term():
    X = pd.DataFrame({"x0": [0.0, 0.0, 0.0]})
    model = L2BoostingRegressor(3).fit(X.to_numpy(), [1.0, 2.0, 6.0])
    table = query(database_of(X), export.sql(model, 'the "rows"', dialect="sqlite", keep="id"))
    assert table["prediction"].tolist() == [3.0, 3.0, 3.0]


def test_text_in_a_column_of_numbers_is_missing():
    model = fitted("real")
    X = rows_of(model, 3)
    X[NAMES[0]] = [1.5, "1.5 kg", np.nan]
    for name in NAMES[1:]:
        X[name] = X[name].iloc[0]
    database = database_of(X, ["BLOB", "REAL", "TEXT", "INTEGER", "REAL"])
    table = query(database, export.sql(model, 'the "rows"', dialect="sqlite", keep="id"))
    found = table["prediction"]
    assert found[0] != found[1] == found[2]


def test_a_column_that_is_not_in_the_table_is_an_error():
    """SQLite reads a name in quotes that it does not know as a text."""
    model = fitted("real")
    database = database_of(rows_of(model, 3).drop(columns=NAMES[0]))
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute(export.sql(model, 'the "rows"', dialect="sqlite"))


def small(names=("a", "b"), classes=None):
    X = pd.DataFrame(np.eye(6)[:, : len(names)], columns=list(names))
    if classes is None:
        return L2BoostingRegressor(200).fit(X, np.arange(6.0))
    return LogitBoostClassifier(200).fit(X, np.array(classes * 2))


def test_names_of_columns():
    three = small(classes=["no", "No", "yes"])
    sql = export.sql(three, ["main", "q0"], dialect="duckdb")
    # One of two classes that DuckDB does not tell apart has its place as well.
    for name in ('"probability_No"', '"probability_no_2"', '"score_No"', '"score_no_5"'):
        assert f" AS {name}" in sql
    assert 'FROM "main"."q0" AS t' in sql
    assert sql.startswith("WITH q0_ AS MATERIALIZED (")
    assert ' AS "probability_no",' in export.sql(three, "rows")
    model = small()
    assert export.sql(model, "rows", keep=["a", "id"]).count(' AS "a"') == 1


def test_bad_input():
    with pytest.raises(Exception, match="not fitted"):
        export.sql(L2BoostingRegressor(), "rows")
    model = small()
    with pytest.raises(ValueError, match="dialect must be one of"):
        export.sql(model, "rows", dialect="mysql")
    for table in ("", ["main", 3], None, "a\0b"):
        with pytest.raises((TypeError, ValueError)):
            export.sql(model, table)
    with pytest.raises(ValueError, match="keep has 'Prediction', and 'prediction'"):
        export.sql(model, "rows", dialect="sqlite", keep=["id", "Prediction"])
    with pytest.raises(ValueError, match="keep has 'id'"):
        export.sql(model, "rows", keep=["id", "id"])
    # The same column after quoting: by case, or by the first 63 bytes.
    for names, dialects in [
        (("age", "Age"), ["sqlite", "duckdb"]),
        (("n" * 63 + "a", "n" * 64), ["postgres"]),
    ]:
        clashing = small(names)
        for dialect in ("ansi", "duckdb", "postgres", "sqlite"):
            if dialect in dialects:
                with pytest.raises(ValueError, match="are the same column"):
                    export.sql(clashing, "rows", dialect=dialect)
            else:
                assert "prediction" in export.sql(clashing, "rows", dialect=dialect)
    with pytest.raises(ValueError, match="the character of number 0"):
        export.sql(small(("a", "b\0")), "rows")


def test_bad_categories():
    days = pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"] * 3))
    model = L2BoostingRegressor(5).fit(pd.DataFrame({"day": days}), np.arange(6.0))
    with pytest.raises(TypeError, match="'day' has categories of the type Timestamp"):
        export.sql(model, "rows")
    x = pd.DataFrame({"x": pd.Categorical([1.5, np.inf] * 3)})
    with pytest.raises(ValueError, match="infinity"):
        export.sql(L2BoostingRegressor(5).fit(x, np.arange(6.0)), "rows")
    model = small()
    model.shape_functions_[1][1][0] = np.inf
    with pytest.raises(ValueError, match="The values of the term 'b' are not finite"):
        export.sql(model, "rows")


def test_categories_of_other_kinds():
    """Bools, floats, and a feature that had no category at all."""
    X = pd.DataFrame(
        {
            "flag": pd.Categorical([True, False] * 10),
            "dose": pd.Categorical([0.1, 0.2, 0.1, 2.5] * 5),
            "none": pd.Categorical([None] * 20),
        }
    )
    y = np.arange(20.0) % 4
    model = L2BoostingRegressor(50).fit(X, y)
    rows = X.astype(object)
    rows.loc[3, ["flag", "dose"]] = None
    rows.loc[4, "dose"] = 0.3
    table = query(
        database_of(rows, ["INTEGER", "REAL", "TEXT"]),
        export.sql(model, 'the "rows"', dialect="sqlite", keep="id"),
    )
    np.testing.assert_allclose(table["prediction"], model.predict(rows), rtol=1e-12)
