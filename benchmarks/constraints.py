"""Monotonic constraints of gradient boosting: errors beside HistGradientBoosting's.

    python benchmarks/constraints.py               some two minutes
    python benchmarks/constraints.py --samples 2

100 rounds on 2,000 rows, with trees of depth 3 and of 31 leaves, of at least 20 rows a leaf. "true"
and "many" satisfy the constraints, the latter with five of them in one function; "product" nearly
does; "wrong" does not: what rises and falls is constrained to rise. "train" is the mean squared
error on the training rows, "excess" that of the predictions from the noise-free function on fresh
rows. "bounds" is our trees with the bounds of larger ones: all that grows below a cut stays on its
side of the middle.
"""

import argparse
from unittest import mock

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from sklearn_ensemble_theory import GradientBoostingRegressor
from sklearn_ensemble_theory.trees import _weak_learners

# The features on [-1, 1], their true function and the signs.
TRUTHS = {
    "true": (
        lambda x: 3 * np.maximum(x[0], x[1]) + np.exp(x[2]) * (x[0] + 1) + np.sin(4 * x[3]),
        [1, 1, 1, 0, 0, 0],
    ),
    "many": (
        lambda x: 2 * np.tanh(2 * x[:5].sum(axis=0)) + (x[5] > 0) * x[6],
        [1, 1, 1, 1, 1, 0, 0],
    ),
    "product": (
        lambda x: (x[0] + 1) * (x[1] + 1) * (x[2] + 1) - (x[3] + 1) * (x[0] + 1) + np.sin(3 * x[4]),
        [1, 1, 1, -1, 0],
    ),
    "wrong": (
        lambda x: np.sin(5 * x[0]) + x[1] + 2 * x[0] * x[2] + np.cos(3 * x[3]),
        [1, 1, 0, 0, 0, 0],
    ),
}
SHAPES = {"depth 3": {"max_depth": 3}, "31 leaves": {"max_depth": None, "max_leaf_nodes": 31}}


def errors(truth, shape, seed, n=2000):
    """(train, excess) of our trees, of ours with bounds, and of HistGradientBoosting's."""
    f, signs = TRUTHS[truth]
    rng = np.random.default_rng(seed)
    X, fresh = rng.uniform(-1, 1, (n, len(signs))), rng.uniform(-1, 1, (5000, len(signs)))
    y = f(X.T) + 0.5 * rng.standard_normal(n)
    shared = {"min_samples_leaf": 20, "monotonic_cst": signs, **SHAPES[shape], "random_state": 0}
    ours = GradientBoostingRegressor(n_estimators=100, **shared).fit(X, y)
    with mock.patch.object(_weak_learners, "MOST_ORDERED", 0):
        bounded = GradientBoostingRegressor(n_estimators=100, **shared).fit(X, y)
    theirs = HistGradientBoostingRegressor(max_iter=100, early_stopping=False, **shared).fit(X, y)
    return [
        (np.mean((m.predict(X) - y) ** 2), np.mean((m.predict(fresh) - f(fresh.T)) ** 2))
        for m in (ours, bounded, theirs)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=10)
    n_samples = parser.parse_args().samples
    print(f"{'':20}{'ours':>18}{'bounds':>18}{'HistGradient':>18}  excess: ours / Hist")
    for shape in SHAPES:
        for truth in TRUTHS:
            found = np.array([errors(truth, shape, seed) for seed in range(n_samples)])
            cells = [f"{train:9.4f}{excess:9.4f}" for train, excess in found.mean(axis=0)]
            ratio = found[:, 0, 1] / found[:, 2, 1]
            spread = ratio.std() / np.sqrt(n_samples)
            print(f"{shape:10}{truth:10}{''.join(cells)}  {ratio.mean():.3f} +- {spread:.3f}")


if __name__ == "__main__":
    main()
