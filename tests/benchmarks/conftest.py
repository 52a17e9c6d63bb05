"""What the tests of `compare.py` share."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    """Import a module of benchmarks/, or the package's `compare` or one of its modules."""
    monkeypatch.syspath_prepend(BENCHMARKS)

    def imported(name):
        ours = name.split(".")[0] == "compare"
        return importlib.import_module(f"sklearn_ensemble_theory.{name}" if ours else name)

    return imported


@pytest.fixture
def compare(module, tmp_path):
    """`compare.py`'s main, in this process, without parallel jobs, with its output in tmp_path."""
    main = module("compare.__main__").main
    return lambda *args: main([*args, "--n-jobs", "1", "--output", str(tmp_path / "output")])


@pytest.fixture
def write_csv(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write
