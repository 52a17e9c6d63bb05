"""Neighbour queries in threads: the same bits for any `n_jobs`, and no thread of SciPy's own."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial import KDTree

from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor
from sklearn_ensemble_theory.averaging import _neighbor_search as search
from sklearn_ensemble_theory.averaging._neighbor_search import MinkowskiTree


@pytest.mark.parametrize("power", [1.0, 3.0, np.inf])
def test_same_bits_for_any_number_of_jobs(power, monkeypatch):
    monkeypatch.setattr(search, "_ENTRIES_OF_A_THREAD", 1)
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((400, 3)), rng.standard_normal((101, 3))
    alone = MinkowskiTree(X, 10, power, 1).kneighbors(queries, 7)
    for n_jobs in (2, 3, -1):
        found = MinkowskiTree(X, 10, power, n_jobs).kneighbors(queries, 7)
        for a, b in zip(alone, found):
            np.testing.assert_array_equal(a, b)
    one = MinkowskiTree(X, 10, power, 2).kneighbors(queries[:1], 1)
    assert [part.shape for part in one] == [(1, 1), (1, 1)]


def test_scipy_starts_no_threads(monkeypatch):
    workers = []
    query = KDTree.query

    def spy(self, x, *args, **kwargs):
        workers.append(kwargs.get("workers", 1))
        return query(self, x, *args, **kwargs)

    monkeypatch.setattr(KDTree, "query", spy)
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((3000, 2)), rng.standard_normal(3000)
    fits = [
        BaggedNearestNeighborsRegressor(max_samples=0.1, p=1, n_jobs=n).fit(X, y).predict(X)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*fits)
    assert set(workers) == {1}
    assert len(workers) > 2


INTERRUPTED = """
import sys
import numpy as np
from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor

rng = np.random.default_rng(0)
X, y = rng.standard_normal((20_000, 4)), rng.standard_normal(20_000)
model = BaggedNearestNeighborsRegressor(max_samples=0.01, p=1, n_jobs=2).fit(X, y)
model.predict(X[:500])
print("ready", flush=True)
try:
    while True:
        model.predict(X)
except KeyboardInterrupt:
    pass
model.n_jobs = 1
assert np.isfinite(model.predict(X[:100])).all()
print("alive", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process")
def test_an_interrupt_leaves_the_process_alive():
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "SKLEARN_ENSEMBLE_THEORY_NATIVE": "0"},
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.1)
            process.send_signal(signal.SIGINT)
            assert process.stdout.read() == "alive\n"
            assert process.wait(20) == 0
        finally:
            process.kill()
