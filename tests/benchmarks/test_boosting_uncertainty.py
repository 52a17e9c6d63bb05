"""The benchmark of uncertainty: what it measures, on data and sides that are small."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("boosting_uncertainty")


def test_measures_of_the_true_distribution(script):
    rng = np.random.default_rng(0)
    scale = rng.uniform(1, 2, 4000)
    y = 1 + scale * rng.standard_normal(4000)
    law = stats.norm(np.ones(4000), scale)
    found = script.measures_of(script.of_distribution(law), y, np.repeat([0, 1], 2000))
    assert found["coverage"] == pytest.approx(0.9, abs=0.02)
    assert found["of tenth 0"] + found["of tenth 1"] == pytest.approx(2 * found["coverage"])
    assert found["cross"] == 0
    assert found["log score"] == pytest.approx(-law.logpdf(y).mean())
    z = (y - 1) / scale
    crps = scale * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - np.pi**-0.5)
    assert found["CRPS"] == pytest.approx(crps.mean(), rel=0.02)


def test_a_part_of_two_sides(script, monkeypatch, capsys):
    monkeypatch.setitem(script.SIMULATED, "even 500", (script.even, 60))
    monkeypatch.setattr(script, "in_own_process", script.measure)
    sides = ["quantiles, ours", "scikit-learn, two levels"]
    assert script.main(["intervals", "--data", "even 500", "--sets", "1", "--side", *sides]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line[13:45].strip() for line in lines] == sides
    assert "pinball" in lines[0]
    assert "coverage" in lines[1]
