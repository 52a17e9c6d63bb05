"""Bounds from theory, as functions with the arguments of the theorem."""

from sklearn_ensemble_theory.bounds._averaging import (
    bagged_neighbors_optimal_max_samples,
    bagged_neighbors_risk_bound,
    bagged_neighbors_variance_bound,
    bagging_pac_n_estimators,
    independent_neighbors_risk_bound,
    voting_error_bound,
)
from sklearn_ensemble_theory.bounds._blocks_and_sketches import (
    divide_and_conquer_n_blocks,
    gaussian_sketch_risk,
    independent_neighbors_vote_bound,
    neighbors_vote_n_blocks,
)
from sklearn_ensemble_theory.bounds._finite_classes import finite_class_bound
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
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagged_neighbors_variance_bound",
    "bagging_pac_n_estimators",
    "divide_and_conquer_n_blocks",
    "finite_class_bound",
    "frank_wolfe_bound",
    "gaussian_sketch_risk",
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "independent_neighbors_risk_bound",
    "independent_neighbors_vote_bound",
    "matching_pursuit_bound",
    "matching_pursuit_kappa",
    "neighbors_vote_n_blocks",
    "orthogonal_matching_pursuit_bound",
    "quadratic_boosting_bound",
    "voting_error_bound",
]
