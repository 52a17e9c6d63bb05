"""Compare the test error of ensembles of trees with that of other libraries, at the same settings.

    python benchmarks/quality.py                         every method on every data set
    python benchmarks/quality.py --method forest --data friedman1 digits
    python benchmarks/quality.py --list

Nine data sets that scikit-learn can make or includes, 10 seeds. Made sets are drawn anew for each
seed; included ones are split anew, half of the rows for training. All sides get the same rows and
the same seed. Nothing is searched and nothing scaled: gradient boosting has 100 rounds of trees of
depth 3, learning rate 0.1, and leaves of one row; forests have 100 full trees. The trees of the
histogram peers are of the second order in the loss, as ours are in boosting-second-order.

The table contains the mean error over the seeds (the mean squared error, or the share of wrong
classes) and the mean difference to the best peer, with its standard error over the seeds; in
included sets the seeds share rows, and it is the corrected one of Nadeau and Bengio (2003). *worse*
marks a difference of more than one standard error. The best of several peers is chosen by its mean
error on the same test rows, which favours it, so some differences exceed one standard error by
chance. A library that is not installed is left out. It takes about seven minutes on one core.
"""

import argparse
import csv
import os
import sys
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

# Two OpenMP thread pools in one process slow each other down, so each has one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import sklearn.ensemble
from cases._histogram_peers import lightgbm, scikit_learn, xgboost
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.model_selection import train_test_split

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory.compare.data import BUNDLED
from sklearn_ensemble_theory.compare.show import Progress

ROWS, TEST_ROWS = 1_000, 4_000
MISSING = 0.2
BOOSTING = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3}
ROLES = {"classification": "Classifier", "regression": "Regressor"}

# --- data -------------------------------------------------------------------------------------


def made(make, **params):
    return lambda rows, seed: make(rows, random_state=seed, **params)


# name -> (task, function of the number of rows and the seed)
MADE = {
    "friedman1": ("regression", made(datasets.make_friedman1, noise=1.0)),
    "friedman2": ("regression", made(datasets.make_friedman2, noise=125.0)),
    "friedman3": ("regression", made(datasets.make_friedman3, noise=0.1)),
    "hastie": ("classification", made(datasets.make_hastie_10_2)),
    "classification": (
        "classification",
        made(datasets.make_classification, n_features=20, n_informative=8, flip_y=0.1),
    ),
}
TASKS = {name: task for name, (task, _) in (MADE | BUNDLED).items()}


def drawn(name, seed, rows=ROWS, missing=0.0):
    """X, test X, y, test y of one seed."""
    task, load = (MADE | BUNDLED)[name]
    if name in MADE:
        X, y = load(rows + TEST_ROWS, seed)
        sizes = {"train_size": rows, "shuffle": False}
    else:
        X, y = load(return_X_y=True)
        sizes = {"train_size": min(rows, len(y) // 2), "random_state": seed}
        sizes["stratify"] = y if task == "classification" else None
    if task == "classification":  # XGBoost wants classes from 0 on
        y = np.unique(y, return_inverse=True)[1]
    if missing:
        X = np.where(np.random.default_rng(seed).random(X.shape) < missing, np.nan, X)
    return train_test_split(X, y, **sizes)


# --- methods ----------------------------------------------------------------------------------


def model(make, library, name, role, seed):
    """A side of any method: `make` is given the class of this role."""
    return make(getattr(library, name + role), random_state=seed)


def boosted(cls, random_state, **params):
    chosen = {key: BOOSTING[key] for key in ("n_estimators", "learning_rate")}
    if cls.__module__.startswith("sklearn."):
        chosen["max_depth"] = BOOSTING["max_depth"]  # in ours, the default estimator has it
    return cls(random_state=random_state, **chosen, **params)


def forest(cls, random_state, **params):
    return cls(n_estimators=100, random_state=random_state, **params)


def histogram_peer(setup, name, role, seed):
    more = {} if setup is scikit_learn else {"threads": 1}
    peer = setup(name.format(role=role))(None, seed=seed, **BOOSTING, **more)
    if setup is lightgbm:
        # Where all classes are certain it fails without this bound, which HistGradientBoosting has.
        peer.set_params(min_child_weight=1e-3)
    return peer


HISTOGRAM_PEERS = {
    "HistGradientBoosting": partial(histogram_peer, scikit_learn, "HistGradientBoosting{role}"),
    "LightGBM": partial(histogram_peer, lightgbm, "LGBM{role}"),
    "XGBoost": partial(histogram_peer, xgboost, "XGB{role}"),
}
MODULES = {"LightGBM": "lightgbm", "XGBoost": "xgboost"}


@dataclass(frozen=True)
class Method:
    """`sides`: name -> function of the role and the seed that builds a model; the first is ours."""

    sides: dict
    tasks: tuple = tuple(ROLES)
    missing: float = 0.0

    def installed(self):
        names = [name for name in self.sides if find_spec(MODULES.get(name, "sklearn"))]
        return {name: self.sides[name] for name in names}


def forests(max_bins, tasks=tuple(ROLES), **params):
    ours = partial(forest, max_bins=max_bins, **params)
    theirs = partial(forest, **params)
    sides = {
        "ours": partial(model, ours, package, "RandomForest"),
        "scikit-learn": partial(model, theirs, sklearn.ensemble, "RandomForest"),
    }
    return Method(sides, tasks)


OURS = {"ours": partial(model, boosted, package, "GradientBoosting")}
SECOND_ORDER = {
    "ours": partial(model, partial(boosted, step="newton"), package, "GradientBoosting"),
}
EXACT_PEER = {
    "scikit-learn": partial(model, boosted, sklearn.ensemble, "GradientBoosting"),
}
METHODS = {
    "boosting": Method({**OURS, **EXACT_PEER, **HISTOGRAM_PEERS}),
    "boosting-second-order": Method({**SECOND_ORDER, **HISTOGRAM_PEERS}, ("classification",)),
    "boosting-missing": Method({**OURS, **HISTOGRAM_PEERS}, missing=MISSING),
    "forest": forests(None),
    "forest-bins": forests(2047),
    "forest-third-bins": forests(2047, ("regression",), max_features=1 / 3),
}


def error_of(method, side, name, seed, rows):
    """The test error of one side on one draw of one data set."""
    made_of = METHODS[method]
    X, X_test, y, y_test = drawn(name, seed, rows, made_of.missing)
    predicted = made_of.sides[side](ROLES[TASKS[name]], seed).fit(X, y).predict(X_test)
    if TASKS[name] == "classification":
        return float(np.mean(predicted != y_test))
    return float(np.mean((predicted - y_test) ** 2))


# --- the table --------------------------------------------------------------------------------


def standard_error(gaps, name, rows):
    """Of a mean over the seeds, which share rows in included sets (see `compare.folds`)."""
    shared = 0.0
    if name in BUNDLED:
        X, X_test, _, _ = drawn(name, 0, rows)
        shared = len(X_test) / len(X)
    return float(np.sqrt((1 / len(gaps) + shared) * np.var(gaps, ddof=1)))


def judged(name, errors, rows):
    """The best peer, the mean of our difference to it, its standard error."""
    peers = {side: np.mean(values) for side, values in errors.items() if side != "ours"}
    best = min(peers, key=peers.get)
    gaps = np.subtract(errors["ours"], errors[best])
    return best, float(gaps.mean()), standard_error(gaps, name, rows)


def print_table(method, results, rows):
    sides = list(METHODS[method].installed())
    print(f"\n{method}: {caption(method)}")
    header = "".join(f"  {side:>20}" for side in sides)
    print(f"{'':15}{header}  {'minus best peer':>21}")
    for name, errors in results.items():
        best, gap, error = judged(name, errors, rows)
        cells = "".join(
            f"  {f'{np.mean(errors[side]):.4g}' + ('*' if side == best else ' '):>20}"
            for side in sides
        )
        mark = "  worse" if gap > error else ""
        print(f"{name:15}{cells}  {f'{gap:+.2g} ± {error:.2g}':>21}{mark}")


def caption(method):
    missing = METHODS[method].missing
    given = f", {100 * missing:.0f} % of the values missing" if missing else ""
    return f"error on test rows{given}; * the best peer"


def write(path, results):
    """Every error as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["method", "dataset", "side", "seed", "error"])
        for method, by_name in results.items():
            for name, errors in by_name.items():
                for side, values in errors.items():
                    writer.writerows(
                        [method, name, side, seed, value] for seed, value in enumerate(values)
                    )


# --- the command ------------------------------------------------------------------------------


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="quality.py", description="Compare the test error of ensembles of trees with peers."
    )
    parser.add_argument("--method", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--data", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=10, help="from 2 on (default 10)")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"for training (default {ROWS})")
    parser.add_argument("--n-jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--output", type=Path, metavar="FILE.csv", help="every error")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--list", action="store_true", help="list methods, sides, data and stop")
    args = parser.parse_args(argv)
    if args.seeds < 2:
        parser.error("--seeds must be at least 2")
    if args.rows < 20:
        parser.error("--rows must be at least 20")
    return args


def main(argv=None):
    args = parse(argv)
    if args.list:
        for method, one in METHODS.items():
            print(f"{method}: {', '.join(one.sides)}")
        print(f"data: {', '.join(f'{name} ({task})' for name, task in TASKS.items())}")
        return 0
    jobs = [
        (method, side, name, seed, args.rows)
        for method in dict.fromkeys(args.method)
        for name in dict.fromkeys(args.data)
        if TASKS[name] in METHODS[method].tasks
        for side in METHODS[method].installed()
        for seed in range(args.seeds)
    ]
    results = {}
    progress = Progress(len(jobs), args.quiet)
    errors = Parallel(n_jobs=args.n_jobs, return_as="generator")(
        delayed(error_of)(*job) for job in jobs
    )
    for (method, side, name, *_), error in zip(jobs, errors):
        results.setdefault(method, {}).setdefault(name, {}).setdefault(side, []).append(error)
        progress.advance(f"{method}, {name}: {side}")
    for method, by_name in results.items():
        print_table(method, by_name, args.rows)
    if args.output:
        write(args.output, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
