"""The comparison of tables with categories: the same folds on all sides, and its arithmetic."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from sklearn_ensemble_theory import HistGradientBoostingClassifier

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIDES = ["scikit-learn", "HistGradientBoosting, ours"]


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """The script with one table of 60 rows, read from a file here and in this process."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("categorical_tables")
    rng = np.random.default_rng(0)
    kind = rng.choice([*"abc?"], 60)
    frame = pd.DataFrame({"kind": kind, "size": rng.random(60), "code": rng.integers(0, 3, 60)})
    frame["class"] = np.where(rng.random(60) < 0.2 + 0.6 * (kind == "a"), "yes", "no")
    frame["price"] = frame["size"] + (kind == "a")
    frame.to_csv(tmp_path / "small.csv", index=False)
    table = {"codes": ("code",), "left_out": ("price",)}
    priced = {"codes": ("code",), "left_out": ("class",), "is_regression": True}
    monkeypatch.setitem(script.TABLES, "small", script.Table("", "small.csv", "class", **table))
    monkeypatch.setitem(script.TABLES, "priced", script.Table("", "small.csv", "price", **priced))
    monkeypatch.setattr(script, "in_own_process", script.measure)
    monkeypatch.setattr(script, "N_FOLDS", 2)
    return script


def test_the_list(tables, capsys):
    assert tables.main(["--list"]) == 0
    names, sides = capsys.readouterr().out.splitlines()
    assert {"adult", "small"} <= set(names.removeprefix("tables: ").split("; "))
    assert sides.removeprefix("sides: ").split("; ") == list(tables.SIDES)


def test_what_is_read(tables, tmp_path):
    X, y = tables.TABLES["small"].read(tmp_path)
    assert [str(dtype) for dtype in X.dtypes] == ["category", "float64", "category"]
    assert list(X["kind"].cat.categories) == [*"abc"]  # "?" is a missing value
    assert list(X["code"].cat.categories) == [*"012"]
    assert list(np.unique(y)) == [0, 1]
    assert "missing" in set(tables.missing_as_text(X, ["kind"])["kind"])


def test_two_sides_of_small_tables(tables, tmp_path, capsys):
    options = ["--table", "small", "priced", "--folder", str(tmp_path), "--side", *SIDES]
    assert tables.main(options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("small: 60 rows, 2 of 3 columns")
    assert (
        sum(line.startswith("  HistGradientBoosting, ours - scikit-learn: ") for line in lines) == 2
    )
    # The same by hand.
    X, y = tables.TABLES["small"].read(tmp_path)
    folds = StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)
    model = HistGradientBoostingClassifier(random_state=0)
    losses = [
        log_loss(y[test], model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test]))
        for train, test in folds
    ]
    assert tables.measure("small", SIDES[1], tmp_path)["losses"] == pytest.approx(losses)


def test_standard_error(tables):
    """The variance of a mean over folds whose training rows are four fifths of all."""
    differences = np.array([0.1, 0.2, -0.1, 0.0, 0.3])
    variance = differences.var(ddof=1) * (1 / 5 + 1 / 4)
    assert tables.standard_error(differences) == pytest.approx(np.sqrt(variance))


def test_sides_that_are_not_installed(tables, monkeypatch):
    monkeypatch.setitem(tables.SIDES, "LightGBM", (tables.lightgbm, "no_such_library"))
    with pytest.raises(SystemExit, match="Not installed: LightGBM"):
        tables.main(["--side", "LightGBM"])
