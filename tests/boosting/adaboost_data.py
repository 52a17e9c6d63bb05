"""Data of the tests of AdaBoost."""

import numpy as np

VARIANTS = ["discrete", "real", "gentle"]


def noisy(n=400, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.standard_normal(n) > 1, 1, -1)
