"""scikit-learn's test_weight_boosting.py with our classes in place of its own."""

from sklearn_ensemble_theory import AdaBoostClassifier, AdaBoostRegressor

from ..sklearn_suite import load

load(
    "sklearn.ensemble.tests.test_weight_boosting",
    {"AdaBoostClassifier": AdaBoostClassifier, "AdaBoostRegressor": AdaBoostRegressor},
    globals(),
    left_out=[
        "test_iris",
        "test_sample_weights_infinite",
        "test_adaboost_decision_function",
        "test_adaboostclassifier_without_sample_weight",
    ],
)
