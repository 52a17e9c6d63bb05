"""scikit-learn's test_gradient_boosting.py with our classes in place of its own."""

import sklearn_ensemble_theory as package

from ..sklearn_suite import load

load(
    "sklearn.ensemble.tests.test_gradient_boosting",
    {
        name: getattr(package, name)
        for name in ("GradientBoostingClassifier", "GradientBoostingRegressor")
    },
    globals(),
    left_out=[
        "test_feature_importance_regression",
        "test_huber_overfit",
        "test_max_feature_regression",
        "test_more_verbose_output",
        "test_multinomial_error_exact_backward_compat",
        "test_squared_error_exact_backward_compat",
        "test_verbose_output",
    ],
)
