"""Coverage by the size of the noise: the short version of the simulation, with its figures."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("adaptive_intervals")


@pytest.mark.slow
def test_normalized_intervals_cover_each_tenth_of_the_noise(benchmark):
    fits = [benchmark.one_fit("sine", 1000, 40, 5, False, seed, False) for seed in range(4)]
    shares = {name: np.mean([fit[name] for fit in fits], axis=0) for name in fits[0]}
    assert (np.abs(shares["normalized"][:10] - 0.9) < 0.06).all()
    assert shares["jackknife+"][:10].min() < 0.83
    for name in ("jackknife+", "conformal", "normalized", "quantile", "oracle"):
        assert 0.88 < shares[name][10] < 0.93


@pytest.mark.slow
def test_the_table(benchmark, capsys):
    sizes = ["--rows", "200", "--trees", "40", "--leaf", "5", "--fits", "1"]
    benchmark.main(["--problems", "jump", *sizes, "--skewed"])
    found = capsys.readouterr().out
    assert "jump, 40 trees with leaves of 5, 200 rows" in found
    assert "normalized" in found
