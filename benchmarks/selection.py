"""Excess risk of the candidate that is selected by out-of-bag rows, and by folds.

    python benchmarks/selection.py                     80 data sets: ten minutes
    python benchmarks/selection.py --data-sets 5 --sizes 50

Friedman's first problem with noise of standard deviation 3; the excess risk is the mean squared
distance to the regression function on 2,000 new rows, in units of the variance of the noise. The
candidates are 12 random forests of 100 trees, of four sizes of their leaves and three numbers of
features for a split; bags of 10 trees on 30 % to 90 % of the rows, whose out-of-bag predictions are
means of 7 trees to 1; or a forest and least squares, which folds judge in both selections. "best"
is the least excess of each data set, "mean" that of a candidate drawn at random, and the standard
error that of the difference of the two selections.
"""

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import BaggingRegressor, RandomForestRegressor

SIGMA = 3.0
CANDIDATES = {
    "12 forests of 100 trees": [
        RandomForestRegressor(100, min_samples_leaf=leaf, max_features=share, oob_score=True)
        for leaf in (1, 3, 10, 30)
        for share in (0.2, 0.5, 1.0)
    ],
    "4 bags of 10 trees": [
        BaggingRegressor(
            DecisionTreeRegressor(), 10, max_samples=share, bootstrap=False, oob_score=True
        )
        for share in (0.3, 0.5, 0.7, 0.9)
    ],
    **{
        f"forest of {size} trees, line": [
            RandomForestRegressor(size, max_features=0.5, oob_score=True),
            LinearRegression(),
        ]
        for size in (10, 100)
    },
}


def drawn(n, rng):
    X = rng.random((n, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, f + 10 * X[:, 3] + 5 * X[:, 4]


def excesses(candidates, X, y, new, f, seed):
    """Of the best, of those that out-of-bag rows and folds select, and the mean."""
    excess, out_of_bag, folds = [], [], []
    for candidate in candidates:
        is_bag = hasattr(candidate, "oob_score")
        seeded = {"random_state": seed} if is_bag else {}
        model = clone(candidate).set_params(**seeded).fit(X, y)
        excess.append(np.mean((model.predict(new) - f) ** 2) / SIGMA**2)
        cheap = clone(candidate).set_params(**seeded, **({"oob_score": False} if is_bag else {}))
        folds.append(np.mean((cross_val_predict(cheap, X, y, cv=KFold(5)) - y) ** 2))
        out_of_bag.append(folds[-1])
        if is_bag:
            seen = np.isfinite(model.oob_prediction_)
            out_of_bag[-1] = np.mean((model.oob_prediction_ - y)[seen] ** 2)
    selected = [excess[np.argmin(loss)] for loss in (out_of_bag, folds)]
    return [min(excess), *selected, np.mean(excess)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=80)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200])
    given = parser.parse_args()
    # With 10 trees, a few rows are out of bag for none.
    warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
    print("| candidates | rows | best | out of bag | 5 folds | mean | standard error |")
    for name, candidates in CANDIDATES.items():
        for n in given.sizes:
            rng = np.random.default_rng(0)
            new, f = drawn(2_000, rng)
            found = []
            for seed in range(given.data_sets):
                X, mean = drawn(n, rng)
                y = mean + SIGMA * rng.standard_normal(n)
                found.append(excesses(candidates, X, y, new, f, seed))
            found = np.array(found)
            error = np.std(found[:, 1] - found[:, 2]) / np.sqrt(len(found))
            cells = " | ".join(f"{value:.3f}" for value in [*found.mean(axis=0), error])
            print(f"| {name} | {n} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
