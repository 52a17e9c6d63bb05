"""Coverage of the intervals and sets of stacks and votes at 90 %, and the time of their fits.

    python benchmarks/stacks.py                     100 data sets: some ten minutes
    python benchmarks/stacks.py --data-sets 5 --sizes 100
    python benchmarks/stacks.py --models "super learner*"

Friedman's first problem with noise of variance 1, and three classes of its target with a share of
wrong labels; new rows are 1,000 for each data set. Members are least squares (logistic regression)
and a forest of 20 trees. "cover" is the coverage with its standard error over the data sets,
"width" the mean length of the intervals or the mean number of classes, and "fit" the processor time
of the fit as a multiple of that of the same stack or vote without what intervals and sets need.
MAPIE's cross conformal intervals fit the whole stack to each of five folds. Super learners have
their default members, and always keep what intervals need: their "fit" is nan.
"""

import argparse
import time
import warnings
from fnmatch import fnmatch

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_ensemble_theory import (
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
    VotingClassifier,
    VotingRegressor,
)

REGRESSORS = [
    ("line", LinearRegression()),
    ("forest", RandomForestRegressor(20, min_samples_leaf=3, random_state=0)),
]
CLASSIFIERS = [
    ("logistic", LogisticRegression()),
    ("forest", RandomForestClassifier(20, min_samples_leaf=3, random_state=0)),
]


def drawn(n, rng, of_classes):
    X = rng.random((n, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n)
    if not of_classes:
        return X, y
    wrong = rng.random(n) < 0.15
    return X, np.where(wrong, rng.integers(0, 3, n), np.digitize(y, [12.0, 17.0]))


def seconds(model, X, y):
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def mapie(model, X, y, new):
    from mapie.regression import CrossConformalRegressor

    peer = CrossConformalRegressor(model, confidence_level=0.9, cv=5)
    start = time.process_time()
    peer.fit_conformalize(X, y)
    spent = time.process_time() - start
    return spent, peer.predict_interval(new)[1][:, :, 0]


STACK, VOTE = StackingRegressor(REGRESSORS), VotingRegressor(REGRESSORS)
SIDES = {
    "stack, ridge": (STACK, {"held_out": "cv"}),
    "stack, simplex": (clone(STACK).set_params(final_estimator="simplex"), {"held_out": "cv"}),
    "stack, ridge, MAPIE": (STACK, None),
    "mean": (VOTE, {"held_out": 5}),
    "stack of classifiers": (StackingClassifier(CLASSIFIERS), {"held_out": "cv"}),
    "weights of classifiers": (
        StackingClassifier(CLASSIFIERS, "simplex"),
        {"held_out": "cv"},
    ),
    "vote": (VotingClassifier(CLASSIFIERS, voting="soft"), {"held_out": 5}),
    "super learner": (SuperLearnerRegressor(random_state=0), {}),
    "super learner, classes": (SuperLearnerClassifier(random_state=0), {}),
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 200])
    parser.add_argument("--models", default="*", help="shell pattern of the names")
    options = parser.parse_args(arguments)
    print("model                   rows  cover   ±       width  fit")
    for n in options.sizes:
        for name, (plain, params) in SIDES.items():
            if not fnmatch(name, options.models):
                continue
            of_classes = is_classifier(plain)
            shares, sizes, times = [], [], []
            for seed in range(options.data_sets):
                rng = np.random.default_rng(seed)
                X, y = drawn(n, rng, of_classes)
                new, target = drawn(1000, rng, of_classes)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of the logistic regression
                    before = seconds(clone(plain), X, y) if params != {} else np.nan
                    if params is None:
                        spent, ends = mapie(clone(plain), X, y, new)
                    else:
                        model = clone(plain).set_params(**params)
                        spent = seconds(model, X, y)
                        ends = None if of_classes else model.predict_interval(new)
                if of_classes:
                    sets = model.predict_set(new)
                    shares.append(sets[np.arange(1000), target].mean())
                    sizes.append(sets.sum(axis=1).mean())
                else:
                    shares.append(np.mean((ends[:, 0] <= target) & (target <= ends[:, 1])))
                    sizes.append(np.mean(ends[:, 1] - ends[:, 0]))
                times.append(spent / before)
            error = np.std(shares, ddof=1) / np.sqrt(len(shares))
            print(
                f"{name:22}  {n:4d}  {np.mean(shares):.3f}  {error:.3f}  {np.mean(sizes):6.2f}  "
                f"{np.median(times):5.2f}",
                flush=True,
            )

    return 0


if __name__ == "__main__":
    raise SystemExit(main())
