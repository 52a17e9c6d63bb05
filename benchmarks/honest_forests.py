"""Confidence intervals for E[y | x] by honest and by ordinary forests, against the truth.

    python benchmarks/honest_forests.py
    python benchmarks/honest_forests.py --truth step --shares 0.1 0.2 --sets 50 --rows 5000

Each forest is fitted to subsamples, and its intervals are prediction +- 1.96
`standard_error`. For each truth and share of the rows in a tree, with and without `honesty`, the
program prints over 100 points and fresh training sets: the share of points in their interval, the
root mean squared bias and the standard deviation of the predictions, the standard error divided by
it, and the root mean squared error. Intervals have no correction of the bias: they cover where it
is small beside the standard deviation.
"""

import argparse
import warnings

import numpy as np

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.inspection import ensemble_std

# Name: (number of features, expectation of y); the noise has the standard deviation 1.
TRUTHS = {
    "constant": (5, lambda X: np.zeros(len(X))),
    "linear": (5, lambda X: X[:, 0] + X[:, 1]),
    "step": (5, lambda X: 2 / (1 + np.exp(-12 * (X[:, 0] - 0.5))) + X[:, 1]),
}


def simulate(truth, share, honesty, n_rows, n_trees, n_sets):
    """Print a line of the table."""
    p, expectation = TRUTHS[truth]
    points = np.random.default_rng(0).random((100, p))
    true = expectation(points)
    means, errors, noise = [], [], []
    for r in range(n_sets):
        rng = np.random.default_rng([1, r])
        X = rng.random((n_rows, p))
        y = expectation(X) + rng.standard_normal(n_rows)
        forest = RandomForestRegressor(
            n_trees,
            bootstrap=False,
            max_samples=share,
            honesty=honesty,
            random_state=r,
            n_jobs=-1,
        )
        forest.fit(X, y)
        means.append(forest.predict(points))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StandardErrorWarning)
            errors.append(forest.standard_error(points))
        noise.append(ensemble_std(forest, points) ** 2 / n_trees)
    means, errors = np.array(means), np.array(errors)
    bias2 = np.mean((means.mean(axis=0) - true) ** 2 - means.var(axis=0, ddof=1) / n_sets)
    variance = np.mean(means.var(axis=0, ddof=1))
    of_forest = np.sqrt(max(variance - np.mean(noise), 1e-12))
    covered = np.mean(np.abs(means - true) <= 1.96 * errors)
    print(
        f"{truth:9s} {share:5.2f} {honesty!s:7s} covered {covered:.3f}"
        f"  bias {np.sqrt(max(bias2, 0)):.3f}  deviation {np.sqrt(variance):.3f}"
        f"  error/deviation {np.sqrt(np.mean(errors**2)) / of_forest:.2f}"
        f"  rmse {np.sqrt(np.mean((means - true) ** 2)):.3f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--truth", nargs="*", choices=TRUTHS, default=list(TRUTHS))
    parser.add_argument("--shares", nargs="*", type=float, default=[0.1, 0.5])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--sets", type=int, default=20)
    given = parser.parse_args()
    for truth in given.truth:
        for share in given.shares:
            for honesty in (False, True):
                simulate(truth, share, honesty, given.rows, given.trees, given.sets)


if __name__ == "__main__":
    main()
