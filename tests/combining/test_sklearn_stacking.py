"""scikit-learn's test_stacking.py with our classes in place of its own."""

import sklearn_ensemble_theory as package

from ..sklearn_suite import load

load(
    "sklearn.ensemble.tests.test_stacking",
    {name: getattr(package, name) for name in ("StackingClassifier", "StackingRegressor")},
    globals(),
)
