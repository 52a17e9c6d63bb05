"""Fixtures that every test may use."""

import gc
import os
import sys
from pathlib import Path

# One thread of BLAS and OpenMP a process, because the test runner starts a process for each core.
# Before NumPy is imported: the worker processes inherit it.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import matplotlib  # noqa: E402
import pytest  # noqa: E402

import sklearn_ensemble_theory  # noqa: E402

matplotlib.use("Agg")


def pytest_configure(config):
    """Refuse to test another checkout than the one of the tests."""
    tested = Path(sklearn_ensemble_theory.__file__).resolve().parents[1]
    own = config.rootpath.resolve()
    if tested != own:
        raise pytest.UsageError(f"{own} imports the package of {tested}: run `python -m pytest`.")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Keep what is collected out of garbage collection.

    Thousands of tests and all modules are never garbage. Walks over them would take a third of the
    collection, and most of a second each between the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    """Close the figures of each test: pyplot keeps them, and warns of the 21st."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn's own test files ask for."""
    return 0
