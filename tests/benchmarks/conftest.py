"""What the tests of `compare.py` share."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    """Import a module of benchmarks/."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.fixture
def compare(module, tmp_path):
    """`compare.py`'s main, in this process, without parallel jobs, with its output in tmp_path."""
    main = module("compare").main
    return lambda *args: main([*args, "--n-jobs", "1", "--output", str(tmp_path / "output")])


@pytest.fixture
def write_csv(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write
