"""Ensemble methods whose theory is part of the code, as scikit-learn estimators."""

from sklearn_ensemble_theory._version import __version__
from sklearn_ensemble_theory.averaging import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
    bagged_nearest_neighbors_weights,
)
from sklearn_ensemble_theory.bounds import (
    bagged_neighbors_optimal_max_samples,
    bagged_neighbors_risk_bound,
    bagged_neighbors_variance_bound,
    bagging_pac_n_estimators,
    independent_neighbors_risk_bound,
    voting_error_bound,
)

__all__ = [
    "BaggedNearestNeighborsClassifier",
    "BaggedNearestNeighborsRegressor",
    "__version__",
    "bagged_nearest_neighbors_weights",
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagged_neighbors_variance_bound",
    "bagging_pac_n_estimators",
    "independent_neighbors_risk_bound",
    "voting_error_bound",
]
