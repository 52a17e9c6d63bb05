"""Bands of additive models: the short version of the simulation, with its figures."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bands(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("bands")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "n_fits", "classes"),
    [("smooth", 25, False), ("jump", 20, False), ("linear", 25, False), ("smooth", 12, True)],
)
def test_two_standard_errors_hold_the_values_of_new_samples(bands, truth, n_fits, classes):
    """With a third of the errors' size wrong, or those of sorted folds, one of these would fail."""
    of_mean, _, ratio = bands.coverage(truth, 400, 3, n_fits, classes)
    assert 0.9 < of_mean < 0.98
    assert 0.85 < ratio < 1.25


@pytest.mark.slow
def test_the_table(bands, capsys):
    assert bands.main(["--truths", "linear", "--sizes", "60", "--fits", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
