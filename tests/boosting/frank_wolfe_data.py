"""Problems of the tests of Frank-Wolfe."""

import numpy as np


def problem(n=60, d=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 3, d) + rng.standard_normal(d)
    y = X[:, :4] @ [1.0, -0.5, 0.3, 0.2][:d] + 0.5 * rng.standard_normal(n) + 2
    weight = rng.uniform(0.2, 2, n)
    return X, y, weight / weight.sum()


def labels(y):
    return np.where(y > np.median(y), 1.0, -1.0)
