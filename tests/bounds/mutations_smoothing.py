"""Equalities of `bounds/_smoothing`, with a test that a constant wrong by 5 % must fail."""

from . import test_linear_boosting_theory as linear
from . import test_random_rounds as rounds

EQUALITIES = [
    (
        "l2_boosting_residual_filter",
        linear.test_residual_filter_is_what_the_loop_leaves_of_an_eigenvector,
    ),
    ("l2_boosting_residual_filter", linear.test_coefficients_of_the_smoothed_projection),
    ("l2_boosting_weight_filter", linear.test_weight_filter_sums_the_residuals),
    ("l2_boosting_decay_rate", linear.test_decay_rate_is_the_slope_of_the_logarithm),
    (
        "l2_boosting_training_error_bound",
        linear.test_share_of_the_training_error_that_is_left,
    ),
    (
        "vanishing_learning_rate_residual_bound",
        linear.test_distance_of_the_fitted_values_to_their_limit,
    ),
    ("l2_boosting_squared_bias", linear.test_expected_errors_are_those_of_simulations),
    ("l2_boosting_squared_bias", linear.test_squared_bias_of_an_eigenvector),
    ("l2_boosting_training_variance", linear.test_expected_errors_are_those_of_simulations),
    ("l2_boosting_training_variance", linear.test_variances_at_the_ends_and_their_eigenvalues),
    ("l2_boosting_test_variance", linear.test_expected_errors_are_those_of_simulations),
    ("l2_boosting_test_variance", linear.test_variances_at_the_ends_and_their_eigenvalues),
    ("l2_boosting_new_point_error", linear.test_expected_errors_are_those_of_simulations),
    (
        "l2_boosting_new_point_error",
        linear.test_new_point_error_at_the_training_points_is_the_test_error,
    ),
    ("stochastic_boosting_mean", rounds.test_mean_is_boosting_of_the_average_learner),
    ("stochastic_boosting_mean", rounds.test_mean_and_covariance_are_those_of_simulations),
    ("stochastic_boosting_covariance", rounds.test_covariance_by_enumeration),
    ("stochastic_boosting_covariance", rounds.test_mean_and_covariance_are_those_of_simulations),
    ("stochastic_boosting_limit_covariance", rounds.test_limit_covariance_is_the_leading_term),
]
