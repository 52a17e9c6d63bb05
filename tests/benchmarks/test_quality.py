"""The table of test errors: the same rows on all sides, and the arithmetic of the difference."""

import csv
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def quality(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("quality")


@pytest.mark.slow
def test_a_small_run_as_a_user_calls_it(tmp_path):
    path = tmp_path / "errors.csv"
    command = ["--method", "forest", "--data", "friedman1", "--rows", "40", "--seeds", "2"]
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "quality.py", *command, "--output", path],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "100 %" in done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("friedman1")]
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    errors = {(row["side"], row["seed"]): float(row["error"]) for row in rows}
    # The same by hand, on rows drawn here.
    X, y = make_friedman1(4040, noise=1.0, random_state=1)
    peer = RandomForestRegressor(random_state=1).fit(X[:40], y[:40])
    mse = np.mean((peer.predict(X[40:]) - y[40:]) ** 2)
    assert errors["scikit-learn", "1"] == pytest.approx(mse)
    # Exact trees are scikit-learn's own.
    assert errors["ours", "1"] == pytest.approx(mse)
    mean = (errors["scikit-learn", "0"] + errors["scikit-learn", "1"]) / 2
    assert f"{mean:.4g}*" in line
    assert "worse" not in line


def test_difference_to_the_best_peer_worked_out_by_hand(quality, capsys):
    errors = {"ours": [3.0, 4.0, 5.0], "scikit-learn": [6.0, 6.0, 6.0], "LightGBM": [2.0, 2.0, 5.0]}
    # The gaps 1, 2, 0: mean 1, variance 1, made anew for each seed.
    best, gap, error = quality.judged("friedman1", errors, 100)
    assert (best, gap) == ("LightGBM", 1.0)
    assert error == pytest.approx(np.sqrt(1 / 3))
    # Halves of wine share rows: 89 of 178 are for tests.
    _, _, corrected = quality.judged("wine", errors, 100)
    assert corrected == pytest.approx(np.sqrt(1 / 3 + 1))
    quality.print_table("forest", {"friedman1": {k: errors[k] for k in list(errors)[:2]}}, 100)
    assert "worse" not in capsys.readouterr().out
    swapped = {"ours": errors["scikit-learn"], "scikit-learn": errors["ours"]}
    quality.print_table("forest", {"friedman1": swapped}, 100)
    assert "+2 ± 0.58  worse" in capsys.readouterr().out


def test_rows_of_a_seed(quality):
    X, X_test, y, y_test = quality.drawn("hastie", 3, 50)
    assert X.shape == (50, 10)
    assert X_test.shape == (4000, 10)
    assert set(y) == set(y_test) == {0, 1}
    again = quality.drawn("hastie", 3, 50, missing=0.2)
    assert np.isnan(again[0]).mean() == pytest.approx(0.2, abs=0.06)
    np.testing.assert_array_equal(again[2], y)
    X, X_test, y, _ = quality.drawn("wine", 0)
    assert len(X) == len(X_test) == 89
    assert set(y) == {0, 1, 2}


@pytest.mark.parametrize("method", ["boosting", "boosting-missing", "forest-bins"])
def test_sides_have_the_same_settings(quality, method):
    for name, side in quality.METHODS[method].installed().items():
        model = side("Classifier", 5)
        given = model.get_params()
        assert given["random_state"] == 5
        assert given.get("n_estimators", given.get("max_iter")) == 100
        if "learning_rate" in given:
            assert given["learning_rate"] == 0.1
            assert given.get("max_depth", 3) == 3, name


def test_a_peer_that_is_not_installed_is_left_out(quality, monkeypatch, capsys):
    monkeypatch.setitem(quality.MODULES, "LightGBM", "no_such_module")
    assert "LightGBM" not in quality.METHODS["boosting"].installed()
    assert quality.main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert "boosting: ours, scikit-learn, HistGradientBoosting, LightGBM, XGBoost" in shown
    assert "digits (classification)" in shown


@pytest.mark.parametrize("wrong", [["--seeds", "1"], ["--rows", "3"], ["--data", "whine"]])
def test_wrong_commands_get_status_2(quality, wrong):
    with pytest.raises(SystemExit, match="2"):
        quality.main(wrong)
