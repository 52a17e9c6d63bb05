"""scikit-learn's test_bagging.py with our classes in place of its own."""

import sklearn_ensemble_theory as package

from ..sklearn_suite import load

load(
    "sklearn.ensemble.tests.test_bagging",
    {name: getattr(package, name) for name in ("BaggingClassifier", "BaggingRegressor")},
    globals(),
    left_out=["test_warm_start_with_oob_score_fails", "test_draw_indices_using_sample_weight"],
)
