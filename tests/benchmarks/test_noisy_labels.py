"""The comparison with wrong labels: it runs, and its excess errors are what they say."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def comparison(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("noisy_labels")


@pytest.mark.filterwarnings("ignore:Soft margin")  # after so few rounds
def test_a_small_run(comparison, capsys):
    options = ["--data", "twonorm", "--rates", "0.2", "--seeds", "2", "--rounds", "4"]
    assert comparison.main(options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in lines[2:]] == list(comparison.METHODS)


def test_seeds_are_paired_and_labels_of_tests_are_clean(comparison):
    one, same = (comparison.errors_of("twonorm", 0.1, 3, ["AdaBoost"], 5) for _ in range(2))
    assert one == same
    X, X_test, _, y_test = comparison.drawn("twonorm", 3)
    assert (len(X), len(X_test)) == (300, 4000)
    assert np.mean(np.sign(X_test.sum(axis=1)) != y_test) < 0.035


def test_excess_error(comparison):
    excess = comparison.massart_errors_of("halfspace", 0, rows=500, rounds=20)
    assert all(0 < value < 0.3 for value in excess)
    rng = np.random.default_rng(0)
    _, f, eta = comparison.halfspace(100_000, rng)
    y = np.where(rng.random(100_000) < eta, -f, f)
    wrong = rng.random(100_000) < 0.1
    noisy = np.mean(np.where(wrong, -f, f) != y) - eta.mean()
    assert np.mean((1 - 2 * eta) * wrong) == pytest.approx(noisy, abs=0.005)
