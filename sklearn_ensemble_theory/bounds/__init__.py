"""Bounds from theory, as functions with the arguments of the theorem."""

from sklearn_ensemble_theory.bounds._averaging.bagged_neighbors import (
    bagged_neighbors_optimal_max_samples,
    bagged_neighbors_risk_bound,
    bagging_pac_n_estimators,
    independent_neighbors_risk_bound,
    voting_error_bound,
)
from sklearn_ensemble_theory.bounds._averaging.blocks_of_rows import (
    divide_and_conquer_cost,
    divide_and_conquer_n_blocks,
    independent_neighbors_optimal_n_neighbors,
    independent_neighbors_vote_bound,
    neighbors_vote_n_blocks,
)
from sklearn_ensemble_theory.bounds._averaging.gaussian_sketches import (
    gaussian_sketch_n_estimators,
    gaussian_sketch_risk,
)
from sklearn_ensemble_theory.bounds._averaging.interval_coverage import (
    jackknife_plus_coverage_bound,
)
from sklearn_ensemble_theory.bounds._averaging.member_averages import (
    averaged_ridge_optimal_penalty,
    averaged_ridge_risk,
    averaged_ridge_risk_bound,
    correlated_average_n_estimators,
    correlated_average_variance,
)
from sklearn_ensemble_theory.bounds._averaging.projected_distances import (
    johnson_lindenstrauss_dimension,
    johnson_lindenstrauss_distortion,
    johnson_lindenstrauss_tail_bound,
)
from sklearn_ensemble_theory.bounds._averaging.projected_risks import (
    coordinate_projection_bound,
    gaussian_projection_bound,
    random_features_bound,
)
from sklearn_ensemble_theory.bounds._averaging.projection_moments import (
    averaged_projection_risk,
    coordinate_projection_moments,
    gaussian_projection_moments,
    projection_bias_bound,
    random_features_moment_bound,
)
from sklearn_ensemble_theory.bounds._averaging.stone_conditions import (
    stone_conditions,
    stone_lemma_constant,
)
from sklearn_ensemble_theory.bounds._averaging.subsampled_rows import (
    bagged_neighbors_variance,
    bagged_neighbors_variance_bound,
    bootstrap_distinct_fraction,
    bootstrap_distinct_fraction_limit,
)
from sklearn_ensemble_theory.bounds._boosting.calibration import (
    is_classification_calibrated,
    surrogate_risk,
)
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

__all__ = [
    "agnostic_boosting_error_bound",
    "averaged_projection_risk",
    "averaged_ridge_optimal_penalty",
    "averaged_ridge_risk",
    "averaged_ridge_risk_bound",
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagged_neighbors_variance",
    "bagged_neighbors_variance_bound",
    "bagging_pac_n_estimators",
    "bootstrap_distinct_fraction",
    "bootstrap_distinct_fraction_limit",
    "coordinate_projection_bound",
    "coordinate_projection_moments",
    "correlated_average_n_estimators",
    "correlated_average_variance",
    "cross_validation_oracle_bound",
    "divide_and_conquer_cost",
    "divide_and_conquer_n_blocks",
    "finite_class_bound",
    "frank_wolfe_bound",
    "gaussian_projection_bound",
    "gaussian_projection_moments",
    "gaussian_sketch_n_estimators",
    "gaussian_sketch_risk",
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "independent_neighbors_optimal_n_neighbors",
    "independent_neighbors_risk_bound",
    "independent_neighbors_vote_bound",
    "is_classification_calibrated",
    "jackknife_plus_coverage_bound",
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_distortion",
    "johnson_lindenstrauss_tail_bound",
    "massart_boosting_error_bound",
    "massart_boosting_n_rounds",
    "massart_confidence_threshold",
    "matching_pursuit_bound",
    "matching_pursuit_kappa",
    "neighbors_vote_n_blocks",
    "orthogonal_matching_pursuit_bound",
    "projection_bias_bound",
    "quadratic_boosting_bound",
    "random_features_bound",
    "random_features_moment_bound",
    "smooth_boosting_n_rounds",
    "stone_conditions",
    "stone_lemma_constant",
    "surrogate_risk",
    "voting_error_bound",
    "voting_generalization_bound",
    "voting_vc_dimension_bound",
]
