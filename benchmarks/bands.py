"""How many values of additive models lie within two of their standard errors, over fresh samples.

    python benchmarks/bands.py                     all truths and sizes: some five minutes
    python benchmarks/bands.py --truths jump --sizes 400 --fits 20

Five uniform features, of which three have functions of one kind, and noise of variance 1; for the
classifier, log-odds of 1.5 times their sum. For each sample the values of all functions at 50
points are compared with their mean over the samples (what the standard errors promise) and with the
true functions (where the bias of the fit counts too). "ratio" is the root of the mean estimated
variance over the mean variance of the values. "consecutive" takes folds of consecutive rows of a
table sorted by y or by the first feature; the others do not depend on the order of the rows.
"""

import argparse

import numpy as np
from scipy.special import expit
from sklearn.model_selection import KFold, StratifiedKFold

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds

TRUTHS = {
    "smooth": [lambda x: np.sin(2 * np.pi * x), lambda x: 4 * (x - 0.5) ** 2, np.exp],
    "jump": [lambda x: 1.0 * (x > 0.5), lambda x: 1.5 * (abs(x - 0.5) < 0.2), lambda x: x < 0.8],
    "linear": [lambda x: 2 * x, lambda x: -x, lambda x: 0.5 * x],
}
POINTS = (np.arange(50) + 0.5) / 50
FINE = (np.arange(20_000) + 0.5) / 20_000


def drawn(truth, n, p, seed, classes=False):
    """n rows of p >= 3 features, real targets or two classes, and the true functions (p, 50)."""
    rng = np.random.default_rng(seed)
    X, functions = rng.random((n, p)), np.zeros((p, 50))
    for j, f in enumerate(TRUTHS[truth]):
        functions[j] = f(POINTS) - f(FINE).mean()
    score = sum(f(X[:, j]) - f(FINE).mean() for j, f in enumerate(TRUTHS[truth]))
    if classes:
        return X, rng.random(n) < expit(1.5 * score), 1.5 * functions
    return X, score + rng.standard_normal(n), functions


def at_points(model, tables):
    """The tables of the features of a model at the points: (p, 50)."""
    bins = [np.searchsorted(edges, POINTS) for edges in model.bin_edges_]
    return np.array([table[own] for table, own in zip(tables, bins)])


def coverage(truth, n, p, n_fits, classes=False, order=None):
    """Shares of values within two errors of their means and of the truth, and the errors' ratio."""
    values, errors, truths = [], [], None
    for seed in range(n_fits):
        X, y, truths = drawn(truth, n, p, seed, classes)
        model = (LogitBoostClassifier if classes else L2BoostingRegressor)("cv")
        if order is not None:
            rows = np.argsort(y if order == "y" else X[:, 0], kind="stable")
            X, y = X[rows], y[rows]
            model.set_params(n_estimators=CVRounds(StratifiedKFold(5) if classes else KFold(5)))
        model.fit(X, y)
        values.append(at_points(model, [own for _, own in model.shape_functions_]))
        errors.append(at_points(model, model.shape_standard_errors_))
    values, errors = np.array(values), np.array(errors)
    spread = values.var(axis=0, ddof=1).mean()
    within = [np.mean(np.abs(values - c) <= 2 * errors) for c in (values.mean(axis=0), truths)]
    return *within, np.sqrt(np.mean(errors**2) / spread)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truths", nargs="+", choices=TRUTHS, default=list(TRUTHS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[400, 4000])
    parser.add_argument("--fits", type=int, default=100)
    options = parser.parse_args(arguments)
    print("model       truth   rows  folds                    of mean  of truth  ratio")
    for classes in (False, True):
        for truth in options.truths:
            for n in options.sizes:
                for order in (None, "x", "y") if not classes else (None,):
                    found = coverage(truth, n, 5, options.fits, classes, order)
                    folds = "of an integer" if order is None else f"consecutive, sorted by {order}"
                    name = "classifier" if classes else "regressor"
                    numbers = "{:8.3f} {:9.3f} {:6.2f}".format(*found)
                    print(f"{name:<11} {truth:<7} {n:>4}  {folds:<24}{numbers}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
