"""Small data that several files of tests combine learners on."""

import numpy as np
import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.standard_normal(120)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    return (X + np.random.default_rng(1).standard_normal(X.shape))[order], y[order]
