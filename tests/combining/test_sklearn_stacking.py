"""scikit-learn's test_stacking.py with our classes in place of its own."""

from functools import partial

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neural_network import MLPClassifier

import sklearn_ensemble_theory as package

from ..sklearn_suite import load

suite = load(
    "sklearn.ensemble.tests.test_stacking",
    {
        "StackingClassifier": package.StackingClassifier,
        "StackingRegressor": package.StackingRegressor,
        # Members and final estimators: any will do, and small ones are faster.
        "RandomForestClassifier": partial(RandomForestClassifier, n_estimators=10),
        "RandomForestRegressor": partial(RandomForestRegressor, n_estimators=10),
    },
    globals(),
)
suite.MLPClassifier = partial(MLPClassifier, max_iter=20)
