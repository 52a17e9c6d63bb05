"""Fixtures that every test may use."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn's own test files ask for."""
    return 0
