"""scikit-learn's test_voting.py with our classes in place of its own."""

import sklearn_ensemble_theory as package

from ..sklearn_suite import load

load(
    "sklearn.ensemble.tests.test_voting",
    {name: getattr(package, name) for name in ("VotingClassifier", "VotingRegressor")},
    globals(),
)
