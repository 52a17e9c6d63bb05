"""Equalities of the theory of averaging, each with tests that notice an error of 5 %."""

from . import test_averaging_equalities as exact
from . import test_member_averages as members
from . import test_projection_moments as moments
from . import test_stone_conditions as stone
from . import test_subsampled_rows as rows

EQUALITIES = [
    ("averaged_projection_risk", moments.test_risk_of_averaged_projections_by_all_choices),
    ("averaged_projection_risk", moments.test_risk_of_averaged_projections_by_simulation),
    ("averaged_ridge_optimal_penalty", members.test_best_penalty_of_averaged_ridge),
    ("averaged_ridge_risk", members.test_risk_of_averaged_ridge_by_its_matrix),
    ("averaged_ridge_risk", members.test_risk_of_averaged_ridge_regressions),
    ("averaged_ridge_risk_bound", members.test_constants_of_the_ridge_bound),
    ("bagged_neighbors_optimal_max_samples", exact.test_best_subsample_size_by_search_over_all),
    ("bagged_neighbors_variance", rows.test_variance_of_bagged_neighbors_by_rational_numbers),
    ("bagged_neighbors_variance", rows.test_variance_of_bagged_neighbors_is_that_of_their_weights),
    (
        "bagged_neighbors_variance",
        rows.test_variance_is_the_chance_that_two_subsamples_have_the_same_nearest_row,
    ),
    ("bagged_neighbors_variance_bound", rows.test_variance_bounds_hold_for_all_schemes),
    ("bagging_pac_n_estimators", exact.test_pac_members_by_hand),
    ("bootstrap_distinct_fraction", rows.test_distinct_fraction_by_all_samples),
    ("bootstrap_distinct_fraction", rows.test_distinct_fraction_of_a_bootstrap_sample),
    ("bootstrap_distinct_fraction_limit", rows.test_limit_of_the_distinct_fraction),
    (
        "coordinate_projection_moments",
        moments.test_moments_of_coordinate_projections_by_all_choices,
    ),
    ("correlated_average_n_estimators", members.test_number_of_correlated_members_is_the_smallest),
    ("correlated_average_variance", members.test_variance_of_an_average_by_its_covariance_matrix),
    ("correlated_average_variance", members.test_variance_of_an_average_of_correlated_members),
    ("divide_and_conquer_cost", members.test_cost_of_blocks_counts_operations),
    ("divide_and_conquer_n_blocks", exact.test_number_of_blocks_that_keeps_the_rate),
    ("gaussian_projection_moments", moments.test_moments_of_gaussian_projections),
    ("gaussian_sketch_n_estimators", exact.test_number_of_sketches_is_the_smallest),
    ("gaussian_sketch_risk", exact.test_sketch_risk_by_hand),
    ("gaussian_sketch_risk", exact.test_sketch_risk_by_simulation),
    (
        "independent_neighbors_optimal_n_neighbors",
        members.test_best_number_of_neighbors_by_search_over_all,
    ),
    ("johnson_lindenstrauss_dimension", exact.test_dimension_is_the_smallest_of_the_lemma),
    ("johnson_lindenstrauss_distortion", exact.test_distortion_is_the_largest_relative_error),
    ("johnson_lindenstrauss_tail_bound", moments.test_tail_of_projected_distances),
    ("neighbors_vote_n_blocks", exact.test_best_number_of_voting_blocks_by_search_over_all),
    ("projection_bias_bound", moments.test_bias_bound_by_hand),
    ("random_features_moment_bound", moments.test_moment_of_random_features_stays_below_its_bound),
    ("stone_conditions", stone.test_conditions_by_hand),
    ("stone_conditions", stone.test_conditions_of_bernoulli_draws),
    ("stone_lemma_constant", stone.test_stones_lemma_holds_for_every_point),
    ("voting_error_bound", exact.test_vote_of_equal_errors_attains_twice_the_error),
]
