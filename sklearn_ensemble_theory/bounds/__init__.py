"""The theorems as pure functions."""

from sklearn_ensemble_theory.bounds._averaging import bagging_pac_n_estimators
from sklearn_ensemble_theory.bounds._greedy import (
    frank_wolfe_bound,
    greedy_boosting_best_n_rounds,
    greedy_boosting_bound,
    greedy_boosting_gauge_bound,
    greedy_boosting_risk_bound,
    matching_pursuit_bound,
    matching_pursuit_kappa,
    orthogonal_matching_pursuit_bound,
    quadratic_boosting_bound,
)

__all__ = [
    "bagging_pac_n_estimators",
    "frank_wolfe_bound",
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "matching_pursuit_bound",
    "matching_pursuit_kappa",
    "orthogonal_matching_pursuit_bound",
    "quadratic_boosting_bound",
]
