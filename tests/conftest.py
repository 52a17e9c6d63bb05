"""Fixtures that every test may use."""

import gc
import os

# One thread of BLAS and OpenMP a process, because the test runner starts a process for each core.
# Before NumPy is imported: the worker processes inherit it.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import matplotlib  # noqa: E402
import pytest  # noqa: E402

matplotlib.use("Agg")

# Thousands of collected tests and all modules are never garbage. Walks over them by the collector
# would take a third of the collection, and most of a second each between the tests.
gc.disable()


def pytest_collection_finish(session):
    """Leave out of all later walks what exists before the first test."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn's own test files ask for."""
    return 0


def pytest_terminal_summary(terminalreporter):
    """Say which route was tested."""
    from sklearn_ensemble_theory._native import why_not_native

    reason = why_not_native()
    terminalreporter.write_line(f"compiled code: {f'no, {reason}' if reason else 'yes'}")
