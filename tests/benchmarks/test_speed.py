"""The runner of the speed cases: what it measures, what it says, what it does when things fail."""

import ast
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

# Cases whose figures are known, that import nothing but NumPy and so start quickly.
TOYS = """
import os
import time

import numpy as np

from cases import Case, Side, register


def data(seed, n):
    return np.random.default_rng(seed).random(n)


def sleeper(seconds):
    def setup(data):
        print("a library talks while it is imported")
        return seconds

    return setup


def sleep(seconds, data):
    time.sleep(seconds)
    return data.sum()


def identity(result, data):
    return result


def missing(data):
    raise ModuleNotFoundError("No module named 'lightgbm'", name="lightgbm.basic")


def broken(data):
    raise RuntimeError("this side is broken")


def dies(seconds, data):
    os._exit(7)


def setup_n(data, n):
    return n / 5_000


def threads(data, threads):
    return 0.001 * threads


def threads_of_openmp(result, data):
    return float(os.environ["OMP_NUM_THREADS"])


def allocate(megabytes, data):
    return np.ones(megabytes * 2**17).sum()


def count(state, data, runs=[0]):
    runs[0] += 1
    time.sleep(0.02 / runs[0])
    return runs[0]


COMMON = {"data": data, "params": {"n": 10}, "run": sleep, "runs": 3}
QUALITY = {"quality": identity, "metric": "sum"}
register(Case("slower", "we take a tenth of the time", **COMMON, **QUALITY, limit=0.7,
              quality_margin=0.0, seconds_limit=10,
              sides={"ours": sleeper(0.02), "peer": sleeper(0.2)}))
register(Case("too-slow", "we take twice the time", **COMMON, limit={"peer": 0.9},
              sides={"ours": sleeper(0.04), "peer": sleeper(0.02), "absent": missing}))
register(Case("failing", "one side raises, another one dies", **COMMON, sides={
    "ours": sleeper(0.0), "raises": broken, "dies": Side(sleeper(0.0), run=dies)}))
register(Case("linear", "time grows as n", data, {"ours": setup_n}, sleep, params={"n": 10},
              vary={"n": (100, 300, 900)}, growth_limit=1.9, runs=2))
register(Case("memory", "64 MiB", data, {"ours": lambda data: 64}, allocate, params={"n": 10},
              memory_limit=32, runs=1))
register(Case("threads", "as the case says", data, {"ours": threads, "peer": threads},
              sleep, params={"n": 10, "threads": 3}, vary={"threads": (1, 3)}, runs=1,
              quality=threads_of_openmp, metric="threads", quality_ratio=0.5))
register(Case("first-run", "the peer without a warm-up", data, params={"n": 10}, run=count,
              sides={"ours": lambda data: [0], "peer": Side(lambda data: [0], warm_up=False)},
              runs=2, quality=identity, metric="runs", by_name=True))
"""


@pytest.fixture(scope="module")
def speed(tmp_path_factory):
    """Run `speed.py` on the toys: gives the finished process and what --json wrote."""
    folder = tmp_path_factory.mktemp("benchmarks")
    for name in ("speed.py", "measuring.py", "judging.py"):
        shutil.copy(BENCHMARKS / name, folder)
    (folder / "cases").mkdir()
    shutil.copy(BENCHMARKS / "cases" / "__init__.py", folder / "cases")
    (folder / "cases" / "toys.py").write_text(TOYS, encoding="utf-8")

    def run(*args):
        kept = folder / "kept.json"
        kept.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, folder / "speed.py", *args, "--json", kept],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        return done, json.loads(kept.read_text()) if kept.exists() else None

    return run


@pytest.mark.slow
def test_a_case_with_a_peer(speed):
    done, kept = speed("slower", "--runs", "5", "--threads", "1")
    assert done.returncode == 0, done.stderr
    row = kept["cases"][0]["rows"][0]
    assert row["params"] == {"n": 10, "seed": 0, "threads": 1}
    assert len(row["sides"]["ours"]["seconds"]) == len(row["sides"]["peer"]["seconds"]) == 5
    assert min(row["sides"]["ours"]["seconds"]) >= 0.015  # Windows counts in 15 ms
    assert len(row["sides"]["ours"]["cpu_seconds"]) == 5
    expected = np.random.default_rng(0).random(10).sum()
    assert row["sides"]["ours"]["quality"] == row["sides"]["peer"]["quality"] == expected
    [comparison] = row["comparisons"]
    assert comparison["ratio"] < 1
    assert comparison["cpu_ratio"] > 0
    texts = [text for text, _ in comparison["required"]]
    assert texts == ["ratio <= 0.7", "quality no worse", "ours <= 10 s"]
    assert all(met for _, met in comparison["required"][1:])
    assert "quality no worse: met" in done.stdout
    assert "a library talks" in done.stderr
    assert "a library talks" not in done.stdout
    assert kept["environment"]["threads"] == 1


@pytest.mark.slow
def test_a_missed_limit_and_a_missing_library_are_no_failure(speed):
    done, kept = speed("too-s*", "--runs", "1")
    assert done.returncode == 0, done.stderr
    assert "ratio <= 0.9: MISSED" in done.stdout
    assert "lightgbm is not installed (extra: benchmark)" in done.stdout
    assert kept["cases"][0]["rows"][0]["comparisons"][1]["ratio"] is None


@pytest.mark.slow
def test_quick_judges_nothing(speed):
    done, _ = speed("too-slow", "--runs", "1", "--quick")
    assert done.returncode == 0, done.stderr
    assert "MISSED" not in done.stdout


@pytest.mark.slow
def test_a_side_that_raises_or_dies_is_reported(speed):
    done, kept = speed("failing")
    assert done.returncode == 1
    sides = kept["cases"][0]["rows"][0]["sides"]
    assert len(sides["ours"]["seconds"]) == 3
    assert "this side is broken" in sides["raises"]["failed"]
    assert "exit status 7" in sides["dies"]["failed"]
    assert done.stdout.count("FAILED") == 2
    assert "failing: raises failed" in done.stderr


@pytest.mark.slow
def test_time_as_a_function_of_a_size(speed):
    done, kept = speed("linear")
    assert done.returncode == 0, done.stderr
    assert [row["params"]["n"] for row in kept["cases"][0]["rows"]] == [100, 300, 900]
    assert 0.3 < kept["cases"][0]["growth"]["ours"] < 1.7
    assert "linear n=300" in done.stdout
    assert "required at most 1.9: met" in done.stdout


@pytest.mark.slow
def test_threads_of_a_case_and_a_ratio_of_qualities(speed):
    done, kept = speed("threads")
    assert done.returncode == 0, done.stderr
    rows = kept["cases"][0]["rows"]
    assert [row["params"]["threads"] for row in rows] == [1, 3]
    assert [row["sides"]["ours"]["quality"] for row in rows] == [1, 3]
    assert done.stdout.count("threads ratio <= 0.5: MISSED") == 2
    _, kept = speed("threads", "--threads", "2")
    assert {row["sides"]["peer"]["quality"] for row in kept["cases"][0]["rows"]} == {2}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems say less")
def test_memory_of_a_run(speed):
    done, kept = speed("memory")
    assert done.returncode == 0, done.stderr
    assert 60 * 2**20 < kept["cases"][0]["rows"][0]["sides"]["ours"]["memory"] < 80 * 2**20
    assert "ours <= 32 MB: MISSED" in done.stdout


@pytest.mark.slow
def test_a_side_without_a_warm_up(speed):
    done, kept = speed("first-run")
    assert done.returncode == 0, done.stderr
    ours, peer = kept["cases"][0]["rows"][0]["sides"].values()
    assert (ours["quality"], peer["quality"]) == (3, 2)  # the runs of the process
    assert len(ours["seconds"]) == len(peer["seconds"]) == 2
    assert peer["seconds"][0] >= 0.015  # the first run slept longest
    assert peer["memory"] is None or peer["memory"] >= 0


@pytest.mark.slow
def test_some_cases_are_run_by_name(speed):
    done, kept = speed("first-r*")
    assert done.returncode == 0, done.stderr
    assert kept is None
    assert "left out, run by name: first-run" in done.stdout
    done, kept = speed("first-r*", "--quick", "--runs", "1")
    assert [case["case"] for case in kept["cases"]] == ["first-run"]
    assert "left out" not in done.stdout
    assert "the peer without a warm-up (run by name)" in speed("--list")[0].stdout


def test_list_and_wrong_names(speed):
    done, kept = speed("--list")
    assert done.returncode == 0
    assert kept is None
    assert "slower" in done.stdout
    assert "toys: we take a tenth of the time" in done.stdout
    done, _ = speed("slowest")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "speed.py: no case is called 'slowest'; --list shows them\n"
    assert speed("--runs", "0")[0].returncode == 2


# --- the real cases ---------------------------------------------------------------------------


@pytest.fixture
def cases(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("cases")


def all_cases(cases):
    return [case for subject in cases.subjects() for case in cases.load(subject).values()]


def test_real_cases_build_small_data(cases):
    names = [case.name for case in all_cases(cases)]
    assert "bagged-trees-regressor" in names
    for case in all_cases(cases):
        for params in case.settings(quick=True):
            data = cases.call(case.data, **{"threads": 1, **params}, seed=0)
            if hasattr(data, "X"):
                assert data.X.shape[0] == len(data.y) <= 10_000


def test_case_files_import_numpy_and_the_standard_library_alone():
    """Anything else at the top of a file would be imported by the processes of all sides."""
    allowed = {*sys.stdlib_module_names, "numpy", "cases"}
    for path in (BENCHMARKS / "cases").glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                roots = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                roots = {(node.module or "cases").split(".")[0]}
            else:
                continue
            assert roots <= allowed, f"{path.name} imports {roots - allowed}"


@pytest.mark.slow
def test_a_real_case_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "speed.py", "random-forest-regressor"]
        + ["--quick", "--runs", "1", "--threads", "1"],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "scikit-learn" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vary": {"m": (1, 2)}}, "not among its params"),
        ({"vary": {"n": (1,), "p": (2,)}}, "vary one parameter"),
        ({"quality": len}, "name the metric"),
        ({"quality_margin": 0.0}, "needs a quality"),
        ({"quality_ratio": 1.0}, "needs a quality"),
        (
            {"quality_ratio": 1.0, "quality": len, "metric": "R²", "higher_is_better": True},
            "lower is better",
        ),
        ({"growth_limit": 1.0}, "needs a parameter to vary"),
        ({"limit": {"nobody": 1.0}}, "not a peer"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(cases, wrong, message):
    fine = {"data": len, "sides": {"ours": len, "peer": len}, "run": len}
    with pytest.raises(ValueError, match=message):
        cases.Case("wrong", "title", **fine, params={"n": 1, "p": 2}, **wrong)
