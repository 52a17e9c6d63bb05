"""Standard errors of forests against the truth: the standard deviation over fresh training sets.

    python benchmarks/standard_errors.py                    three problems, 100 and 500 trees
    python benchmarks/standard_errors.py --truth sine --trees 200 --rows 400 --sets 100
    python benchmarks/standard_errors.py --sets 200 --draws halves "disjoint halves"

For each problem, way of drawing rows and number of trees it prints the true standard deviation of
the mean of infinitely many trees (on average over 60 points), and for `standard_error`, for its
methods, and for the unbiased estimate with 0 in place of negative values: the mean divided by the
true one, that of their squares, the root mean squared relative error, and the share of points and
training sets where the prediction is within two standard errors of its expectation over training
sets. The last column has that share for the true standard deviation.
"""

import argparse
import warnings

import numpy as np

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.ensembles._jackknife import jackknife_variance
from sklearn_ensemble_theory.inspection import ensemble_std


def friedman(X):
    x1, x2, x3, x4, x5 = X.T[:5]
    return 10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5


# Name: (number of features, expectation of y, standard deviation of the noise).
TRUTHS = {
    "friedman": (5, friedman, 2.0),
    "linear": (5, lambda X: X[:, 0], 0.5),
    "sine": (1, lambda X: np.sin(6 * X[:, 0]), 0.5),
}
DRAWS = {
    "a quarter of the rows": {"bootstrap": False, "max_samples": 0.25},
    "bootstrap": {"bootstrap": True},
    "bootstrap, leaves of 5": {"bootstrap": True, "min_samples_leaf": 5},
    "halves": {"bootstrap": False, "max_samples": 0.5},
    "disjoint halves": {"bootstrap": "disjoint", "max_samples": 0.5},
    "disjoint quarters": {"bootstrap": "disjoint", "max_samples": 0.25},
}


def estimates(forest, points, methods):
    """Standard errors by name."""
    unbiased_method = "u-statistic" if forest.bootstrap == "disjoint" else "infinitesimal"
    unbiased = jackknife_variance(forest, points, unbiased_method)[0]
    found = {"unbiased or 0": np.sqrt(np.maximum(unbiased, 0.0))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StandardErrorWarning)
        for method in methods:
            found[method] = forest.standard_error(points, method=method)
    return found


def simulate(truth, draws, n_rows, n_trees, n_sets):
    """Print a line for each estimate."""
    p, expectation, noise = TRUTHS[truth]
    points = np.random.default_rng(0).random((60, p))
    methods = {
        True: ("auto", "infinitesimal", "jackknife"),
        False: ("auto", "jackknife"),
        "disjoint": ("auto",),
    }[DRAWS[draws]["bootstrap"]]
    means, spreads, found = [], [], {}
    for r in range(n_sets):
        rng = np.random.default_rng([1, r])
        X = rng.random((n_rows, p))
        y = expectation(X) + noise * rng.standard_normal(n_rows)
        forest = RandomForestRegressor(n_trees, random_state=r, **DRAWS[draws]).fit(X, y)
        means.append(forest.predict(points))
        spreads.append(ensemble_std(forest, points) ** 2 / n_trees)
        for name, errors in estimates(forest, points, methods).items():
            found.setdefault(name, []).append(errors)
    true = np.sqrt(np.maximum(np.var(means, axis=0, ddof=1) - np.mean(spreads, axis=0), 1e-12))
    # The mean over these sets is itself a mean of n_sets: the distance to the true one is larger.
    distance = np.abs(means - np.mean(means, axis=0)) / np.sqrt(1 - 1 / n_sets)
    for name, errors in found.items():
        errors = np.array(errors)
        wrong = np.sqrt(np.mean((errors / true - 1) ** 2))
        print(
            f"{truth:8s} {draws:22s} {n_trees:4d} trees  {name:13s} "
            f"true {true.mean():.3f}  mean/true {errors.mean() / true.mean():.2f}  "
            f"squared {np.mean(errors**2) / np.mean(true**2):.2f}  "
            f"relative error {wrong:.2f}  zeros {np.mean(errors == 0):.2f}  "
            f"covered {np.mean(distance <= 2 * errors):.3f}  "
            f"(by the true one {np.mean(distance <= 2 * true):.3f})",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--draws", nargs="+", default=list(DRAWS), choices=list(DRAWS))
    parser.add_argument("--truth", nargs="+", default=list(TRUTHS), choices=list(TRUTHS))
    options = parser.parse_args()
    for trees in options.trees:
        for truth in options.truth:
            for draws in options.draws:
                simulate(truth, draws, options.rows, trees, options.sets)
