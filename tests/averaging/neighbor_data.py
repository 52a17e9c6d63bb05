"""Data of the tests of bagged nearest neighbours, and a plain reference."""

import numpy as np
import pytest

SCHEMES = [
    # max_samples, n_neighbors, bootstrap
    (12, 1, False),
    (12, 4, False),
    (40, 1, True),
    (15, 4, True),
    (0.2, 1, "bernoulli"),
    (0.1, 4, "bernoulli"),
]
schemes = pytest.mark.parametrize(("size", "k", "bootstrap"), SCHEMES)


def regression(n, d=2, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + noise * rng.standard_normal(n)
