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
    frank_wolfe_bound,
    frank_wolfe_n_rounds,
    frank_wolfe_risk_bound,
    gradient_descent_bound,
)
from sklearn_ensemble_theory.bounds._boosting.gauges import (
    gauge,
    polar_gauge,
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
from sklearn_ensemble_theory.bounds._complexity.behaviours import (
    n_behaviours,
    shattering_coefficient,
    vc_dimension,
)
from sklearn_ensemble_theory.bounds._complexity.finite_classes import (
    finite_class_bound,
    histogram_class_bound,
)
from sklearn_ensemble_theory.bounds._complexity.growth_bounds import (
    halfspace_shattering_coefficient,
    pac_n_samples_lower_bound,
    pac_n_samples_upper_bound,
    sauer_shelah_bound,
    vc_excess_risk_bound,
    vc_rademacher_bound,
)
from sklearn_ensemble_theory.bounds._complexity.linear_class_bounds import (
    distance_features_rademacher_bound,
    l1_ball_excess_risk_bound,
    l1_ball_rademacher_bound,
    l2_ball_excess_risk_bound,
    l2_ball_rademacher_bound,
)
from sklearn_ensemble_theory.bounds._complexity.rademacher import (
    empirical_rademacher_complexity,
    l1_ball_rademacher_complexity,
    l2_ball_rademacher_complexity,
    stump_rademacher_complexity,
)
from sklearn_ensemble_theory.bounds._complexity.rademacher_bounds import (
    finite_behaviours_rademacher_bound,
    rademacher_contraction_bound,
    rademacher_excess_risk_bound,
    rademacher_union_bound,
    symmetrization_bound,
    uniform_deviation_bound,
)
from sklearn_ensemble_theory.bounds._complexity.simple_classes import (
    halfspace_behaviours,
    interval_behaviours,
    orthant_behaviours,
    stump_behaviours,
    stump_vc_dimension,
    vote_behaviours,
)
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
from sklearn_ensemble_theory.bounds._concentration.bounded_variables import (
    azuma_hoeffding_tail,
    hoeffding_deviation,
    hoeffding_n_samples,
    hoeffding_tail,
    mcdiarmid_deviation,
    mcdiarmid_tail,
)
from sklearn_ensemble_theory.bounds._concentration.moment_tails import (
    chernoff_tail,
    markov_tail,
)
from sklearn_ensemble_theory.bounds._concentration.sub_gaussian import (
    bounded_sub_gaussian_parameter,
    sub_gaussian_maximum_bound,
    sub_gaussian_sum_parameter,
    sub_gaussian_tail,
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
    "averaged_projection_risk",
    "averaged_ridge_optimal_penalty",
    "averaged_ridge_risk",
    "averaged_ridge_risk_bound",
    "azuma_hoeffding_tail",
    "bagged_neighbors_optimal_max_samples",
    "bagged_neighbors_risk_bound",
    "bagged_neighbors_variance",
    "bagged_neighbors_variance_bound",
    "bagging_pac_n_estimators",
    "bootstrap_distinct_fraction",
    "bootstrap_distinct_fraction_limit",
    "bounded_sub_gaussian_parameter",
    "chernoff_tail",
    "coordinate_projection_bound",
    "coordinate_projection_moments",
    "correlated_average_n_estimators",
    "correlated_average_variance",
    "cross_validation_oracle_bound",
    "distance_features_rademacher_bound",
    "divide_and_conquer_cost",
    "divide_and_conquer_n_blocks",
    "empirical_rademacher_complexity",
    "finite_behaviours_rademacher_bound",
    "finite_class_bound",
    "frank_wolfe_bound",
    "frank_wolfe_n_rounds",
    "frank_wolfe_risk_bound",
    "gauge",
    "gaussian_projection_bound",
    "gaussian_projection_moments",
    "gaussian_sketch_n_estimators",
    "gaussian_sketch_risk",
    "gradient_descent_bound",
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "halfspace_behaviours",
    "halfspace_shattering_coefficient",
    "held_out_voting_error_bound",
    "histogram_class_bound",
    "hoeffding_deviation",
    "hoeffding_n_samples",
    "hoeffding_tail",
    "independent_neighbors_optimal_n_neighbors",
    "independent_neighbors_risk_bound",
    "independent_neighbors_vote_bound",
    "interval_behaviours",
    "interval_stump_edge_bound",
    "interval_stump_error",
    "is_classification_calibrated",
    "jackknife_plus_coverage_bound",
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_distortion",
    "johnson_lindenstrauss_tail_bound",
    "l1_ball_excess_risk_bound",
    "l1_ball_rademacher_bound",
    "l1_ball_rademacher_complexity",
    "l2_ball_excess_risk_bound",
    "l2_ball_rademacher_bound",
    "l2_ball_rademacher_complexity",
    "l2_boosting_decay_rate",
    "l2_boosting_new_point_error",
    "l2_boosting_residual_filter",
    "l2_boosting_squared_bias",
    "l2_boosting_test_variance",
    "l2_boosting_training_error_bound",
    "l2_boosting_training_variance",
    "l2_boosting_weight_filter",
    "markov_tail",
    "massart_boosting_error_bound",
    "massart_boosting_n_rounds",
    "massart_confidence_threshold",
    "matching_pursuit_bound",
    "matching_pursuit_kappa",
    "mcdiarmid_deviation",
    "mcdiarmid_tail",
    "n_behaviours",
    "neighbors_vote_n_blocks",
    "orthant_behaviours",
    "orthogonal_matching_pursuit_bound",
    "pac_n_samples_lower_bound",
    "pac_n_samples_upper_bound",
    "polar_gauge",
    "projection_bias_bound",
    "quadratic_boosting_bound",
    "rademacher_contraction_bound",
    "rademacher_excess_risk_bound",
    "rademacher_union_bound",
    "random_features_bound",
    "random_features_moment_bound",
    "sauer_shelah_bound",
    "shattering_coefficient",
    "smooth_boosting_n_rounds",
    "stochastic_boosting_covariance",
    "stochastic_boosting_limit_covariance",
    "stochastic_boosting_mean",
    "stone_conditions",
    "stone_lemma_constant",
    "stump_behaviours",
    "stump_generalization_bound",
    "stump_rademacher_complexity",
    "stump_vc_dimension",
    "sub_gaussian_maximum_bound",
    "sub_gaussian_sum_parameter",
    "sub_gaussian_tail",
    "surrogate_risk",
    "symmetrization_bound",
    "uniform_deviation_bound",
    "vanishing_learning_rate_residual_bound",
    "vanishing_learning_rate_weight_bound",
    "vc_dimension",
    "vc_excess_risk_bound",
    "vc_rademacher_bound",
    "vote_behaviours",
    "voting_error_bound",
    "voting_generalization_bound",
    "voting_vc_dimension_bound",
    "weighted_voting_generalization_bound",
]
