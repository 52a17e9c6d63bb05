"""Models whose trees have sets of categories, and Shapley values of their trees by definition."""

import itertools
import math

import numpy as np

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..trees.engine import nodes_of

CATEGORICAL = {"categorical_features": [0, 1]}
FEW = {**CATEGORICAL, "n_estimators": 4, "random_state": 0}
SMALL = BinnedTreeClassifier(max_depth=3, **CATEGORICAL)
CASES = [
    (package.RandomForestRegressor(**FEW, max_depth=5), "real"),
    (package.RandomForestClassifier(**FEW, max_depth=5), "many"),
    (package.ExtraTreesRegressor(**FEW, max_depth=5), "real"),
    (package.GradientBoostingRegressor(**FEW), "real"),
    (package.GradientBoostingClassifier(**FEW), "many"),
    (package.HistGradientBoostingRegressor(max_iter=3, **CATEGORICAL), "real"),
    (
        package.BaggingRegressor(
            BinnedTreeRegressor(max_depth=4, **CATEGORICAL), 5, max_features=2, random_state=0
        ),
        "real",
    ),
    (package.BaggingClassifier(SMALL, 4, random_state=0), "two"),
    (package.AdaBoostClassifier(SMALL, n_estimators=3, variant="discrete"), "many"),
    (package.AdaBoostClassifier(SMALL, n_estimators=3, variant="real"), "two"),
]


def mixed(n=400):
    """X of two columns of categories and one of numbers, targets, and new rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, n), rng.integers(0, 6, n), rng.standard_normal(n)])
    effect = rng.standard_normal(9)
    y = effect[X[:, 0].astype(int)] * (1 + X[:, 1] % 2) + X[:, 2]
    X[rng.random(n) < 0.1, 0] = np.nan
    new = X[:30].copy()
    new[::7, 1] = 77.0  # not seen in fit
    cuts = np.quantile(y, [0.3, 0.7])
    targets = {"real": y, "two": (y > 0).astype(int), "many": np.digitize(y, cuts)}
    return X, targets, new


def nodes_with_sets(tree):
    """The nodes of a grown tree as `shapley_values` reads them; rows are the encoder's numbers."""
    arrays = nodes_of(tree)
    members = arrays.members

    def goes_left(i, x):
        value = x[arrays.feature[i]]
        if np.isnan(arrays.threshold[i]):
            return members[i, 255 if np.isnan(value) else int(value)]
        return arrays.missing_left[i] > 0 if np.isnan(value) else value <= arrays.threshold[i]

    return arrays.left, arrays.right, arrays.feature, arrays.weight, arrays.value, goes_left


def nodes_with_thresholds(tree):
    """The nodes of a tree for shap, in the same way."""
    left, right = tree["children_left"], tree["children_right"]

    def goes_left(i, x):
        value = x[tree["feature"][i]]
        if np.isnan(value):
            return tree["children_default"][i] == left[i]
        return np.float32(value) <= tree["threshold"][i]

    return left, right, tree["feature"], tree["node_sample_weight"], tree["value"], goes_left


def shapley_values(nodes, x):
    """Those of one row over all sets of features that are known, and the mean of the tree.

    Where a feature is not known, both children count by their weights.
    """
    left, right, feature, weight, value, goes_left = nodes

    def mean(known, i=0):
        if left[i] < 0:
            return value[i]
        if feature[i] in known:
            return mean(known, left[i] if goes_left(i, x) else right[i])
        sides = weight[left[i]], weight[right[i]]
        total = sides[0] * mean(known, left[i]) + sides[1] * mean(known, right[i])
        return total / sum(sides)

    p = len(x)
    found = []
    for j in range(p):
        others = [k for k in range(p) if k != j]
        parts = [
            (mean({*some, j}) - mean({*some})) / (p * math.comb(p - 1, size))
            for size in range(p)
            for some in itertools.combinations(others, size)
        ]
        found.append(sum(parts))
    return np.array(found), mean(set())
