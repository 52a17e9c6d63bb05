"""Fixtures of several files."""

import pytest
from sklearn.datasets import make_classification, make_friedman1


@pytest.fixture(scope="module")
def regression():
    return make_friedman1(120, noise=1.0, random_state=0)


@pytest.fixture(scope="module")
def classification():
    return make_classification(
        150, 6, n_informative=4, n_classes=3, flip_y=0.1, class_sep=0.7, random_state=0
    )
