"""Bounds whose values are worked out by hand: (function, test that has to notice 5 %)."""

from . import test_adaboost_rounds as adaboost
from . import test_boosting_comparisons as comparisons
from . import test_certificates as certificates
from . import test_growth as growth
from . import test_linear_boosting_theory as linear
from . import test_values_by_hand as by_hand

EQUALITIES = [
    ("adaboost_generalization_bound", adaboost.test_generalisation_bound_by_hand),
    ("adaboost_n_rounds", adaboost.test_no_training_error_after_the_number_of_rounds),
    ("adaboost_training_error_bound", adaboost.test_the_bounds_of_a_round_agree_for_small_edges),
    ("agnostic_boosting_error_bound", by_hand.test_agnostic_boosting_by_hand),
    ("bagged_neighbors_risk_bound", by_hand.test_bagged_neighbors_risk_by_hand),
    ("coordinate_projection_bound", by_hand.test_bounds_of_projections_by_hand),
    ("frank_wolfe_bound", comparisons.test_frank_wolfe_bound_holds_along_runs_and_by_hand),
    ("frank_wolfe_risk_bound", comparisons.test_expected_risk_of_frank_wolfe_is_below_its_bound),
    ("gaussian_projection_bound", by_hand.test_bounds_of_projections_by_hand),
    ("gradient_descent_bound", comparisons.test_gradient_descent_limits),
    ("greedy_boosting_bound", comparisons.test_simplified_bound_of_greedy_boosting),
    ("greedy_boosting_risk_bound", by_hand.test_greedy_boosting_by_hand),
    ("halfspace_behaviours", growth.test_halfspaces_in_general_position),
    ("independent_neighbors_risk_bound", by_hand.test_independent_neighbors_risk_by_hand),
    ("independent_neighbors_vote_bound", by_hand.test_independent_neighbors_vote_by_hand),
    ("interval_behaviours", by_hand.test_behaviours_of_intervals_and_orthants_by_hand),
    ("interval_stump_edge_bound", comparisons.test_the_edge_of_the_stump_found_on_a_sample),
    ("jackknife_plus_coverage_bound", by_hand.test_jackknife_plus_by_hand),
    ("massart_boosting_n_rounds", by_hand.test_rounds_of_boosting_with_noisy_labels_by_hand),
    ("orthant_behaviours", by_hand.test_behaviours_of_intervals_and_orthants_by_hand),
    ("quadratic_boosting_bound", by_hand.test_greedy_boosting_by_hand),
    ("random_features_bound", by_hand.test_bounds_of_projections_by_hand),
    ("smooth_boosting_n_rounds", by_hand.test_rounds_of_boosting_with_noisy_labels_by_hand),
    ("stump_behaviours", growth.test_stumps),
    ("stump_generalization_bound", certificates.test_number_of_labels_of_stumps),
    (
        "vanishing_learning_rate_weight_bound",
        linear.test_distance_of_the_weights_to_their_limit,
    ),
    ("vote_behaviours", growth.test_votes_of_classifiers),
    (
        "weighted_voting_generalization_bound",
        certificates.test_votes_of_a_class_of_known_dimension,
    ),
]
