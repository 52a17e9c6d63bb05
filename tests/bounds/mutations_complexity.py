"""Equalities of the bounds by complexity: (function, test that has to notice 5 %)."""

from . import test_complexity as classes
from . import test_growth as growth
from . import test_rademacher_bounds as risks
from . import test_sample_sizes as sample_sizes

EQUALITIES = [
    ("cross_validation_oracle_bound", growth.test_bounds_of_votes_and_of_finite_classes_by_hand),
    ("distance_features_rademacher_bound", risks.test_distance_features_by_hand),
    ("empirical_rademacher_complexity", classes.test_complexities_that_are_known),
    ("empirical_rademacher_complexity", classes.test_simulated_complexity),
    ("finite_behaviours_rademacher_bound", classes.test_finitely_many_behaviours),
    ("finite_class_bound", growth.test_bounds_of_votes_and_of_finite_classes_by_hand),
    ("halfspace_shattering_coefficient", growth.test_halfspaces_in_general_position),
    ("histogram_class_bound", risks.test_histogram_class_by_hand_and_by_simulation),
    ("l1_ball_excess_risk_bound", risks.test_excess_risks_of_balls_by_hand),
    ("l1_ball_rademacher_bound", risks.test_l1_against_l2),
    ("l1_ball_rademacher_complexity", classes.test_complexity_of_boosted_functions),
    ("l1_ball_rademacher_complexity", classes.test_complexity_of_l1_balls),
    ("l2_ball_excess_risk_bound", risks.test_excess_risks_of_balls_by_hand),
    ("l2_ball_rademacher_bound", risks.test_complexities_of_balls_hold_and_are_attained),
    ("l2_ball_rademacher_complexity", classes.test_complexity_of_l2_balls),
    ("n_behaviours", growth.test_counts_by_hand),
    ("pac_n_samples_lower_bound", sample_sizes.test_the_two_sample_sizes),
    ("pac_n_samples_upper_bound", sample_sizes.test_upper_sample_size_by_hand),
    ("rademacher_contraction_bound", classes.test_contraction),
    ("rademacher_excess_risk_bound", risks.test_excess_risk_bound_by_hand),
    ("rademacher_union_bound", classes.test_union_of_classes),
    ("sauer_shelah_bound", growth.test_sauer_shelah_is_attained),
    ("sauer_shelah_bound", growth.test_sauer_shelah_numbers),
    ("shattering_coefficient", growth.test_counts_by_hand),
    ("stump_rademacher_complexity", classes.test_complexity_of_stumps_by_hand),
    ("stump_vc_dimension", growth.test_vc_dimension_of_stumps),
    ("symmetrization_bound", risks.test_symmetrization_of_one_function),
    ("uniform_deviation_bound", risks.test_uniform_deviations_by_hand),
    ("vc_dimension", growth.test_counts_by_hand),
    ("vc_excess_risk_bound", growth.test_vc_bound_on_the_excess_risk_by_hand),
    ("vc_rademacher_bound", growth.test_vc_bound_on_the_complexity),
    ("voting_generalization_bound", growth.test_bounds_of_votes_and_of_finite_classes_by_hand),
    ("voting_vc_dimension_bound", growth.test_bounds_of_votes_and_of_finite_classes_by_hand),
]
