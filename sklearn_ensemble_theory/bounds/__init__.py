"""The theorems as pure functions."""

from sklearn_ensemble_theory.bounds._averaging import (
    bagged_neighbors_optimal_max_samples,
    bagged_neighbors_risk_bound,
    bagged_neighbors_variance_bound,
    bagging_pac_n_estimators,
    independent_neighbors_risk_bound,
    voting_error_bound,
)

__all__ = [
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagged_neighbors_variance_bound",
    "bagging_pac_n_estimators",
    "independent_neighbors_risk_bound",
    "voting_error_bound",
]
