"""The threads of compiled code: after a fork, at the end of Python, for several callers."""

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sklearn_ensemble_theory import GradientBoostingRegressor

from ..trees.engine import _columns
from .loops import Loss

N = 200_000


def risk(n_threads):
    """A sum over the chunks of some rows, and the negative gradient."""
    y = np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
    u, target = np.linspace(-2, 2, N), np.empty(N)
    return Loss("logistic").value(y, u, np.ones(1), target, n_threads), target.sum()


def test_the_number_of_threads_changes_no_bit():
    expected = risk(1)
    for n_threads in (0, 2, 3, 8, 1000):
        assert all(risk(n_threads) == expected for _ in range(20))


def test_several_callers_share_the_threads():
    expected = risk(1)
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(risk, [1, 2, 3, 4] * 50):
            assert found == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_process_starts_its_own_threads():
    expected = risk(4)
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        with context.Pool(2) as pool:
            found = pool.map_async(risk, [4] * 8).get(timeout=60)
        assert found == [expected] * 8
    assert risk(4) == expected


def test_python_ends_while_threads_wait():
    code = f"from {__name__} import risk; risk(4)"
    ended = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True)
    assert ended.returncode == 0, ended.stderr


def test_more_threads_than_any_machine_has():
    X, y = np.random.default_rng(0).random((20_000, 5)), np.arange(20_000) % 7.0
    one, many = (
        GradientBoostingRegressor(n_estimators=2, random_state=0, n_jobs=n).fit(X, y).predict(X)
        for n in (1, 100_000)
    )
    np.testing.assert_array_equal(one, many)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_while_codes_are_copied():
    columns = _columns.BinnedColumns.of(np.arange(12.0).reshape(6, 2), 4, two_bytes=True)
    with _columns._one_copy:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            os._exit(columns.row_codes.shape != (6, 2))
    assert os.waitpid(child, 0)[1] == 0
