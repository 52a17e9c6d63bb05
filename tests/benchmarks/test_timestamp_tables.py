"""The comparison of tables with timestamps: what is read, and one row by hand."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.model_selection import KFold

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script with a table of two files, with a row every five seconds and a wave."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("timestamp_tables")
    seconds = 5 * np.arange(400)
    frame = pd.DataFrame({"when": pd.to_datetime(1_583_748_873 + seconds, unit="s"), "size": 1.5})
    frame["level"] = np.exp(np.sin(2 * np.pi * seconds / 300))
    frame["state"] = np.where(frame["level"] > 1, "high", "low")
    frame["odd"] = "text"
    for k, part in enumerate((frame[:150], frame[150:])):
        path = tmp_path / "runs" / f"{k}.csv"
        path.parent.mkdir(exist_ok=True)
        part.to_csv(path, index=False, sep=";")
    given = {"files": ("runs/0.csv", "runs/1.csv"), "time": "when", "separator": ";"}
    level = {"is_regression": True, "is_logarithm": True, "left_out": ("odd", "state")}
    table = script.Table("", **given, target="level", **level)
    monkeypatch.setitem(script.TABLES, "level", table)
    monkeypatch.setattr(script, "N_FOLDS", 2)
    return script


def test_what_is_read(script, tmp_path):
    table = script.TABLES["level"]
    X, y = table.read(tmp_path, "seconds")
    assert X[:2].tolist() == [[1_583_748_873.0, 1.5], [1_583_748_878.0, 1.5]]
    np.testing.assert_allclose(y, np.sin(2 * np.pi * np.arange(400) / 60), atol=1e-12)
    assert table.read(tmp_path, "nanoseconds")[0][0, 0] == 1_583_748_873e9


def test_the_table(script, tmp_path, capsys):
    """Trees of double precision follow the wave, which single precision blurs."""
    assert script.main(["--table", "level", "--folder", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:26].strip() for line in lines[1::2]] == ["level, seconds", "level, nanoseconds"]
    X, y = script.TABLES["level"].read(tmp_path, "seconds")
    model, losses = sklearn.ensemble.RandomForestRegressor(random_state=0), []
    for train, test in KFold(2, shuffle=True, random_state=0).split(X):
        errors = model.fit(X[train], y[train]).predict(X[test]) - y[test]
        losses.append(np.mean(errors**2) / y[test].var())
    ours, peer = (float(number) for number in lines[2][56:].split()[:2])
    assert peer == pytest.approx(np.mean(losses), abs=1e-4)
    assert ours < 0.1 < 0.3 < peer
