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
from sklearn_ensemble_theory.bounds._boosting.adaboost_rounds import (
    adaboost_coefficient,
    adaboost_exponential_risk,
    adaboost_generalization_bound,
    adaboost_kappa_bound,
    adaboost_n_rounds,
    adaboost_normalizer,
    adaboost_training_error_bound,
    adaboost_weights,
)
from sklearn_ensemble_theory.bounds._boosting.calibration import (
    is_classification_calibrated,
    surrogate_risk,
)
from sklearn_ensemble_theory.bounds._boosting.constrained_rates import (
    distance_features_rademacher_bound,
    frank_wolfe_bound,
    frank_wolfe_n_rounds,
    frank_wolfe_risk_bound,
    gradient_descent_bound,
)
from sklearn_ensemble_theory.bounds._boosting.greedy_rates import (
    greedy_boosting_best_n_rounds,
    greedy_boosting_bound,
    greedy_boosting_gauge_bound,
    greedy_boosting_risk_bound,
    quadratic_boosting_bound,
)
from sklearn_ensemble_theory.bounds._boosting.interval_stumps import (
    interval_stump_edge_bound,
    interval_stump_error,
)
from sklearn_ensemble_theory.bounds._boosting.noisy_label_bounds import (
    agnostic_boosting_error_bound,
    massart_boosting_error_bound,
    massart_boosting_n_rounds,
    massart_confidence_threshold,
    smooth_boosting_n_rounds,
)
from sklearn_ensemble_theory.bounds._boosting.pursuit_rates import (
    matching_pursuit_bound,
    matching_pursuit_kappa,
    orthogonal_matching_pursuit_bound,
)
from sklearn_ensemble_theory.bounds._complexity.finite_classes import finite_class_bound
from sklearn_ensemble_theory.bounds._complexity.vote_complexity import (
    cross_validation_oracle_bound,
    voting_generalization_bound,
    voting_vc_dimension_bound,
)
from sklearn_ensemble_theory.bounds._smoothing.expected_errors import (
    l2_boosting_new_point_error,
    l2_boosting_squared_bias,
    l2_boosting_test_variance,
    l2_boosting_training_variance,
)
from sklearn_ensemble_theory.bounds._smoothing.random_rounds import (
    stochastic_boosting_covariance,
    stochastic_boosting_limit_covariance,
    stochastic_boosting_mean,
)
from sklearn_ensemble_theory.bounds._smoothing.small_learning_rates import (
    vanishing_learning_rate_residual_bound,
    vanishing_learning_rate_weight_bound,
)
from sklearn_ensemble_theory.bounds._smoothing.spectral_filters import (
    l2_boosting_decay_rate,
    l2_boosting_residual_filter,
    l2_boosting_training_error_bound,
    l2_boosting_weight_filter,
)

__all__ = [
    "adaboost_coefficient",
    "adaboost_exponential_risk",
    "adaboost_generalization_bound",
    "adaboost_kappa_bound",
    "adaboost_n_rounds",
    "adaboost_normalizer",
    "adaboost_training_error_bound",
    "adaboost_weights",
    "agnostic_boosting_error_bound",
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagged_neighbors_variance_bound",
    "bagging_pac_n_estimators",
    "coordinate_projection_bound",
    "cross_validation_oracle_bound",
    "distance_features_rademacher_bound",
    "divide_and_conquer_n_blocks",
    "finite_class_bound",
    "frank_wolfe_bound",
    "frank_wolfe_n_rounds",
    "frank_wolfe_risk_bound",
    "gaussian_projection_bound",
    "gaussian_sketch_risk",
    "gradient_descent_bound",
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "independent_neighbors_risk_bound",
    "independent_neighbors_vote_bound",
    "interval_stump_edge_bound",
    "interval_stump_error",
    "is_classification_calibrated",
    "jackknife_plus_coverage_bound",
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_distortion",
    "l2_boosting_decay_rate",
    "l2_boosting_new_point_error",
    "l2_boosting_residual_filter",
    "l2_boosting_squared_bias",
    "l2_boosting_test_variance",
    "l2_boosting_training_error_bound",
    "l2_boosting_training_variance",
    "l2_boosting_weight_filter",
    "massart_boosting_error_bound",
    "massart_boosting_n_rounds",
    "massart_confidence_threshold",
    "matching_pursuit_bound",
    "matching_pursuit_kappa",
    "neighbors_vote_n_blocks",
    "orthogonal_matching_pursuit_bound",
    "quadratic_boosting_bound",
    "random_features_bound",
    "smooth_boosting_n_rounds",
    "stochastic_boosting_covariance",
    "stochastic_boosting_limit_covariance",
    "stochastic_boosting_mean",
    "surrogate_risk",
    "vanishing_learning_rate_residual_bound",
    "vanishing_learning_rate_weight_bound",
    "voting_error_bound",
    "voting_generalization_bound",
    "voting_vc_dimension_bound",
]
