"""Fixtures of several files."""

import pytest
from sklearn.datasets import load_diabetes, make_classification


@pytest.fixture(scope="module")
def regression():
    X, y = load_diabetes(return_X_y=True)
    return X[:300], y[:300] / 50, X[300:], y[300:] / 50


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]
