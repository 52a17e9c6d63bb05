"""scikit-learn's test_stacking.py with our classes in place of its own."""

from functools import partial

from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

import sklearn_ensemble_theory as package

from ..sklearn_suite import load

suite = load(
    "sklearn.ensemble.tests.test_stacking",
    {name: getattr(package, name) for name in ("StackingClassifier", "StackingRegressor")},
    globals(),
)
# Members that the tests build: any will do, and small ones are faster.
suite.MLPClassifier = partial(MLPClassifier, max_iter=20)
suite.RandomForestClassifier = partial(RandomForestClassifier, n_estimators=10)
