"""Data of the tests of linear L2-boosting."""

import numpy as np
import pytest

from .learners import LEARNERS

every_learner = pytest.mark.parametrize("name", LEARNERS)


def make_data(n=30, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, p))
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, -1] + 0.3 * rng.standard_normal(n)
    return X, y, rng.uniform(-1.3, 1.3, size=(15, p))
