"""Bounds from theory, as functions with the arguments of the theorem."""

from sklearn_ensemble_theory.bounds._averaging.bagged_neighbors import (
    bagged_neighbors_optimal_max_samples,
    bagged_neighbors_risk_bound,
    bagged_neighbors_variance_bound,
    bagging_pac_n_estimators,
    independent_neighbors_risk_bound,
    voting_error_bound,
)
from sklearn_ensemble_theory.bounds._averaging.blocks_and_sketches import (
    divide_and_conquer_n_blocks,
    gaussian_sketch_risk,
    independent_neighbors_vote_bound,
    neighbors_vote_n_blocks,
)
from sklearn_ensemble_theory.bounds._averaging.interval_coverage import (
    jackknife_plus_coverage_bound,
)
from sklearn_ensemble_theory.bounds._averaging.projected_risks import (
    coordinate_projection_bound,
    gaussian_projection_bound,
    johnson_lindenstrauss_dimension,
    johnson_lindenstrauss_distortion,
    random_features_bound,
)
from sklearn_ensemble_theory.bounds._boosting.calibration import (
    is_classification_calibrated,
    surrogate_risk,
)
from sklearn_ensemble_theory.bounds._boosting.gauges import gauge, polar_gauge
from sklearn_ensemble_theory.bounds._boosting.greedy_rates import (
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
from sklearn_ensemble_theory.bounds._boosting.noisy_label_bounds import (
    agnostic_boosting_error_bound,
    massart_boosting_error_bound,
    massart_boosting_n_rounds,
    massart_confidence_threshold,
    smooth_boosting_n_rounds,
)
from sklearn_ensemble_theory.bounds._complexity.finite_classes import finite_class_bound
from sklearn_ensemble_theory.bounds._complexity.vote_complexity import (
    cross_validation_oracle_bound,
    voting_generalization_bound,
    voting_vc_dimension_bound,
)
from sklearn_ensemble_theory.bounds._complexity.weighted_votes import (
    held_out_voting_error_bound,
    stump_generalization_bound,
    weighted_voting_generalization_bound,
)

__all__ = [
    "agnostic_boosting_error_bound",
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagged_neighbors_variance_bound",
    "bagging_pac_n_estimators",
    "coordinate_projection_bound",
    "cross_validation_oracle_bound",
    "divide_and_conquer_n_blocks",
    "finite_class_bound",
    "frank_wolfe_bound",
    "gauge",
    "gaussian_projection_bound",
    "gaussian_sketch_risk",
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "held_out_voting_error_bound",
    "independent_neighbors_risk_bound",
    "independent_neighbors_vote_bound",
    "is_classification_calibrated",
    "jackknife_plus_coverage_bound",
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_distortion",
    "massart_boosting_error_bound",
    "massart_boosting_n_rounds",
    "massart_confidence_threshold",
    "matching_pursuit_bound",
    "matching_pursuit_kappa",
    "neighbors_vote_n_blocks",
    "orthogonal_matching_pursuit_bound",
    "polar_gauge",
    "quadratic_boosting_bound",
    "random_features_bound",
    "smooth_boosting_n_rounds",
    "stump_generalization_bound",
    "surrogate_risk",
    "voting_error_bound",
    "voting_generalization_bound",
    "voting_vc_dimension_bound",
    "weighted_voting_generalization_bound",
]
