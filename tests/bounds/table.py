"""A row for every function of `bounds`: all that the tests of this folder need to know of it.

A function with several cases has a row for each of them, "function: case".

A row has a valid call, in which each argument that is a number or an array of numbers is given, and
how its value is known: `value` is that of the call, worked out by hand, and the tests named are
those that have to fail if the value of the function is multiplied by 1.05. A function that returns
a number or numbers has one of the two. `negative` names the arguments of which an entry may be
negative (data, targets, deviations, ends of intervals), `slow` those with which the time grows, so
that huge numbers are not tried, `infinite` those that may be infinite.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import rel_entr, xlogy
from scipy.stats import chi2


class Bound(NamedTuple):
    valid: dict
    noticed_by: tuple  # "file::test" of this folder
    value: object
    negative: list
    slow: list
    infinite: list


def bound(valid, *noticed_by, value=None, negative="", slow="", infinite=""):
    return Bound(valid, noticed_by, value, negative.split(), slow.split(), infinite.split())


def call(**arguments):
    return arguments


_X = np.array([[0.1, 0.5], [0.4, -0.2], [0.9, 0.3], [-0.7, 0.8]])
_SIGNS = np.array([[1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
_S = np.array([[0.7, 0.2], [0.1, 0.6]])
_BINARY = np.array([[0, 0], [0, 1], [1, 0]])
_CONSTANTS = {"lipschitz": 2.0, "diameter": 1.5, "noise_variance": 0.5}


def _signs(log_mean):
    """The x of `finite_behaviours_rademacher_bound` for log(N)/n."""
    return brentq(
        lambda x: (xlogy(1 + x, 1 + x) + xlogy(1 - x, 1 - x)) / 2 - log_mean, 0, 1, xtol=1e-15
    )


def _exponent(r):
    """The least kl(p + r || p) over p."""
    return minimize_scalar(
        lambda p: rel_entr(p + r, p) + rel_entr(1 - p - r, 1 - p),
        bounds=(0, 1 - r),
        method="bounded",
        options={"xatol": 1e-12},
    ).fun


def _mean(n, delta):
    """The sharp deviation of a mean of n variables in [0, 1], for a small delta."""
    return brentq(lambda r: n * _exponent(r) + np.log(delta), 1e-9, 1 - 1e-9, xtol=1e-15)


def _log_growth(n, d):
    return math.log(sum(math.comb(n, i) for i in range(d + 1)))


def _zero_error(n, log_growth, delta):
    """2 (log2 S + log2(2/delta)) / n"""
    return 2 * (log_growth / math.log(2) + math.log2(2 / delta)) / n


def _first(is_enough):
    return next(n for n in range(1, 10**5) if is_enough(n))


def _pac(n):
    return 2 * sum(math.comb(2 * n, i) for i in range(6)) * 2 ** (-0.05 * n / 2) <= 0.01


def _pair(s, eps):
    return chi2.cdf(s * (1 - eps), s) + chi2.sf(s * (1 + eps), s)


# Of a mean of ten variables in [0, 1], the deviation 1/2; and that of n / log(N), x = 1/2.
_HALF = math.exp(-10 * _exponent(0.5))
_HALF_SIGNS = (1.5 * math.log(1.5) + 0.5 * math.log(0.5)) / 2
# Stumps on 100,000 rows of one feature: labels of one, and of votes of ten of them.
_N = 100_000
_TEN = math.log(math.comb(2 * _N + 9, 10)) + _log_growth(2 * _N, 10)
SHARP = {"method": "sharp"}


def _relative(n, log_growth, delta, e):
    A = (log_growth + math.log(4 / delta)) / n
    return 2 * A + 2 * math.sqrt(A * (A + e))


TABLE = {
    "adaboost_coefficient": bound(
        call(error=0.2),
        "test_adaboost_rounds::test_coefficient_is_that_of_the_fitted_vote_and_minimises_the_risk",
    ),
    "adaboost_exponential_risk": bound(
        call(edges=[0.1, 0.3]),
        "test_adaboost_rounds::test_exponential_risk_of_fitted_runs_is_the_product",
        negative="edges",
    ),
    "adaboost_generalization_bound": bound(
        call(n_samples=1000, n_rounds=5, vc_dimension=2, edge=0.1, delta=0.1),
        "test_adaboost_rounds::test_generalisation_bound_by_hand",
    ),
    "adaboost_kappa_bound": bound(
        call(n_rounds=3, kappa=0.2), "test_adaboost_rounds::test_kappa_is_attained_by_a_bent_vector"
    ),
    "adaboost_n_rounds": bound(
        call(n_samples=100, edge=0.1),
        "test_adaboost_rounds::test_no_training_error_after_the_number_of_rounds",
    ),
    "adaboost_normalizer": bound(
        call(error=0.2), "test_adaboost_rounds::test_normaliser_is_the_ratio_of_exponential_risks"
    ),
    "adaboost_training_error_bound": bound(
        call(edges=[0.1, 0.3]),
        "test_adaboost_rounds::test_the_bounds_of_a_round_agree_for_small_edges",
        negative="edges",
    ),
    "adaboost_weights": bound(
        call(weight=[0.3, 0.7], is_wrong=[True, False]),
        "test_adaboost_rounds::test_weights_follow_the_recursion",
    ),
    "agnostic_boosting_error_bound": bound(
        call(n_rounds=10, optimum=0.1, weakness=0.5, slack=0.1, learning_rate=0.5),
        "test_values_by_hand::test_agnostic_boosting_by_hand",
    ),
    "averaged_projection_risk": bound(
        call(
            projection=[[0.5, 0.1], [0.1, 0.5]], mean=[1.0, 2.0], n_estimators=3, noise_variance=0.5
        ),
        "test_projections::test_risk_of_averaged_projections_by_all_choices",
        "test_projections::test_risk_of_averaged_projections_by_simulation",
        negative="mean",
        infinite="n_estimators",
    ),
    "averaged_ridge_optimal_penalty": bound(
        call(
            n_samples=100,
            n_estimators=3,
            eigenvalue_decay=2.0,
            source_exponent=0.5,
            eigenvalue_scale=2.0,
            source_norm=1.5,
            noise_variance=0.5,
        ),
        "test_averages::test_best_penalty_of_averaged_ridge",
        infinite="n_estimators",
    ),
    "averaged_ridge_risk": bound(
        call(
            eigenvalues=[1.0, 0.5],
            coefficients=[1.0, 2.0],
            penalty=0.1,
            n_samples=10,
            n_estimators=2,
            noise_variance=0.5,
        ),
        "test_averages::test_risk_of_averaged_ridge_by_its_matrix",
        "test_averages::test_risk_of_averaged_ridge_regressions",
        negative="coefficients",
        infinite="n_estimators",
    ),
    "averaged_ridge_risk_bound": bound(
        call(
            n_samples=100,
            penalty=0.1,
            n_estimators=3,
            eigenvalue_decay=2.0,
            source_exponent=0.5,
            eigenvalue_scale=2.0,
            source_norm=1.5,
            noise_variance=0.5,
        ),
        "test_averages::test_constants_of_the_ridge_bound",
        infinite="n_estimators",
    ),
    "azuma_hoeffding_tail": bound(
        call(t=1.0, ranges=[1.0, 2.0]), "test_concentration::test_azuma_by_hand"
    ),
    "bagged_neighbors_optimal_max_samples": bound(
        call(n_samples=100, n_features=2, **_CONSTANTS),
        "test_averages::test_best_subsample_size_by_search_over_all",
    ),
    "bagged_neighbors_risk_bound": bound(
        call(n_samples=100, max_samples=10, n_features=2, **_CONSTANTS),
        "test_values_by_hand::test_bagged_neighbors_risk_by_hand",
    ),
    "bagged_neighbors_variance": bound(
        call(n_samples=100, max_samples=10, noise_variance=0.5),
        "test_neighbors::test_variance_of_bagged_neighbors_by_rational_numbers",
        "test_neighbors::test_variance_of_bagged_neighbors_is_that_of_their_weights",
        "test_neighbors::test_variance_is_the_chance_that_two_subsamples_have_the_same_nearest_row",
    ),
    "bagged_neighbors_variance_bound": bound(
        call(n_samples=100, max_samples=10, noise_variance=0.5),
        "test_neighbors::test_variance_bounds_hold_for_all_schemes",
    ),
    "bagging_pac_n_estimators": bound(
        call(n_samples=100, delta=0.1), "test_averages::test_pac_members_by_hand"
    ),
    "bagging_stability": bound(
        call(n_samples=101, max_samples=50), "test_stability::test_bound_by_hand"
    ),
    "bagging_stable_max_samples": bound(
        call(n_samples=300, stability=0.12), "test_stability::test_largest_subsample_by_hand"
    ),
    "ball_excess_risk_bound: l1": bound(
        call(n_samples=100, n_features=5, radius=2.0, delta=0.1, norm="l1"),
        "test_rademacher::test_excess_risks_of_balls_by_hand",
    ),
    "ball_excess_risk_bound: l2": bound(
        call(n_samples=100, radius=2.0, feature_bound=1.5, delta=0.1, norm="l2"),
        "test_rademacher::test_excess_risks_of_balls_by_hand",
    ),
    "ball_rademacher_bound: l1": bound(
        call(n_samples=100, n_features=5, radius=2.0, feature_bound=1.5, norm="l1"),
        "test_rademacher::test_complexities_of_balls_hold_and_are_attained",
    ),
    "ball_rademacher_bound: l2": bound(
        call(n_samples=100, radius=2.0, feature_bound=1.5, norm="l2"),
        "test_rademacher::test_complexities_of_balls_hold_and_are_attained",
    ),
    "ball_rademacher_complexity: l1": bound(
        call(X=_X, radius=2.0, norm="l1"),
        "test_rademacher::test_complexity_of_boosted_functions",
        "test_rademacher::test_complexity_of_l1_balls",
        negative="X",
    ),
    "ball_rademacher_complexity: l2": bound(
        call(X=_X, radius=2.0, norm="l2"),
        "test_rademacher::test_complexity_of_l2_balls",
        negative="X",
    ),
    "behaviours: halfspaces": bound(
        call(classifiers="halfspaces", X=_X),
        "test_growth::test_halfspaces_in_general_position",
        negative="X",
    ),
    "behaviours: intervals": bound(
        call(classifiers="intervals", X=[0.1, 0.5, 0.3]),
        "test_values_by_hand::test_behaviours_of_intervals_and_orthants_by_hand",
        negative="X",
    ),
    "behaviours: orthants": bound(
        call(classifiers="orthants", X=_X),
        "test_values_by_hand::test_behaviours_of_intervals_and_orthants_by_hand",
        negative="X",
    ),
    "behaviours: stumps": bound(
        call(classifiers="stumps", X=_X), "test_growth::test_stumps", negative="X"
    ),
    "bootstrap_distinct_fraction": bound(
        call(n_samples=10, ratio=0.5),
        "test_neighbors::test_distinct_fraction_by_all_samples",
        "test_neighbors::test_distinct_fraction_of_a_bootstrap_sample",
        "test_neighbors::test_limit_of_the_distinct_fraction",
        infinite="n_samples",
    ),
    "bounded_sub_gaussian_parameter": bound(
        call(low=0.0, high=2.0),
        "test_concentration::test_parameter_of_bounded_variables",
        negative="low",
    ),
    "chernoff_tail": bound(
        call(t=1.0, log_mgf=lambda a: a * a / 2, alpha_max=8.0),
        "test_concentration::test_chernoff_of_known_variables",
        negative="t",
    ),
    "conditional_surrogate_risk": bound(
        call(phi="hinge", eta=0.75, alpha=0.5), value=0.75, negative="alpha"
    ),
    "convex_aggregation_bound": bound(
        call(n_candidates=5, n_samples=63, value_bound=2.0),
        "test_oracle_inequalities::test_convex_aggregation_by_hand",
        value=31 / 16,
    ),
    "correlated_average_n_estimators": bound(
        call(excess=0.1, correlation=0.2, member_variance=2.0),
        "test_averages::test_number_of_correlated_members_is_the_smallest",
    ),
    "correlated_average_variance": bound(
        call(n_estimators=10, correlation=0.2, member_variance=2.0),
        "test_averages::test_variance_of_an_average_by_its_covariance_matrix",
        "test_averages::test_variance_of_an_average_of_correlated_members",
        infinite="n_estimators",
    ),
    "cross_validation_oracle_bound": bound(
        call(n_candidates=3, fold_sizes=[10, 20], delta=0.1, loss_bound=2.0),
        "test_growth::test_bounds_of_votes_and_of_finite_classes_by_hand",
    ),
    "distance_features_rademacher_bound": bound(
        call(
            n_samples=100,
            diameter=2.0,
            cover_radius=0.1,
            log_covering_number=2.0,
            lipschitz=1.5,
            value_bound=2.0,
        ),
        "test_rademacher::test_distance_features_by_hand",
    ),
    "divide_and_conquer_cost": bound(
        call(n_samples=100, n_blocks=10, exponent=2.0),
        "test_averages::test_cost_of_blocks_counts_operations",
    ),
    "divide_and_conquer_n_blocks": bound(
        call(n_samples=100, n_features=2),
        "test_averages::test_number_of_blocks_that_keeps_the_rate",
    ),
    "empirical_rademacher_complexity": bound(
        call(behaviours=_SIGNS),
        "test_rademacher::test_complexities_that_are_known",
        "test_rademacher::test_simulated_complexity",
        negative="behaviours",
    ),
    "exponential_weights_bound": bound(
        call(n_candidates=7, n_samples=9, value_bound=3.0),
        "test_oracle_inequalities::test_exponential_weights_by_hand",
        "test_oracle_inequalities::test_the_constant_of_exponential_weights_is_attained",
    ),
    "exponential_weights_bound: log-loss": bound(
        call(n_candidates=7, n_samples=9, exp_concavity=1.0),
        "test_oracle_inequalities::test_exponential_weights_by_hand",
    ),
    "finite_behaviours_rademacher_bound": bound(
        call(n_samples=100, log_n_behaviours=3.0, value_bound=2.0),
        "test_rademacher::test_finitely_many_behaviours",
    ),
    "finite_class_bound": bound(
        call(n_samples=100, log_n_hypotheses=3.0, delta=0.1, loss_bound=2.0),
        "test_growth::test_bounds_of_votes_and_of_finite_classes_by_hand",
    ),
    "frank_wolfe_bound": bound(
        call(n_rounds=10, curvature=0.5, radius=2.0),
        "test_boosting_comparisons::test_frank_wolfe_bound_holds_along_runs_and_by_hand",
    ),
    "frank_wolfe_n_rounds": bound(
        call(n_samples=1000, radius=2.0, smoothness=0.5, lipschitz=2.0, rademacher=1.5),
        "test_boosting_comparisons::test_number_of_rounds_at_which_both_errors_of_frank_wolfe_are_equal",
    ),
    "frank_wolfe_risk_bound": bound(
        call(
            n_rounds=10, n_samples=1000, radius=2.0, smoothness=0.5, lipschitz=2.0, rademacher=1.5
        ),
        "test_boosting_comparisons::test_expected_risk_of_frank_wolfe_is_below_its_bound",
    ),
    "gauge": bound(call(dictionary=np.eye(2), target=[1.0, 2.0]), negative="dictionary target"),
    "gaussian_sketch_n_estimators": bound(
        call(n_samples=100, n_features=5, sketch_size=20, excess=0.5),
        "test_averages::test_number_of_sketches_is_the_smallest",
    ),
    "gaussian_sketch_risk": bound(
        call(n_samples=100, n_features=5, sketch_size=20, n_estimators=3, noise_variance=0.5),
        "test_averages::test_sketch_risk_by_hand",
        "test_averages::test_sketch_risk_by_simulation",
        infinite="n_estimators",
    ),
    "gradient_descent_bound": bound(
        call(n_rounds=10, smoothness=2.0, distance=3.0),
        "test_boosting_comparisons::test_gradient_descent_limits",
    ),
    "greedy_boosting_best_n_rounds": bound(
        call(
            n_samples=1000,
            gauge=2.0,
            smoothness=0.5,
            lipschitz=2.0,
            loss_at_zero=0.7,
            rademacher=1.5,
        ),
        "test_greedy::test_best_number_of_rounds_minimises_the_risk_bound",
    ),
    "greedy_boosting_bound": bound(
        call(n_rounds=10, curvature=0.5, gauge=2.0, excess=0.7),
        "test_boosting_comparisons::test_simplified_bound_of_greedy_boosting",
        negative="excess",
    ),
    "greedy_boosting_gauge_bound": bound(
        call(n_rounds=10, curvature=0.5, risk_fall=2.0, start=0.7),
        "test_greedy::test_the_gauge_bound_is_tight_and_the_risk_bound_is_not",
        negative="risk_fall",
    ),
    "greedy_boosting_risk_bound": bound(
        call(
            n_rounds=10,
            n_samples=1000,
            gauge=2.0,
            smoothness=0.5,
            lipschitz=2.0,
            loss_at_zero=0.7,
            rademacher=1.5,
        ),
        "test_values_by_hand::test_greedy_boosting_by_hand",
    ),
    "held_out_error_bound": bound(
        call(n_errors=3, n_samples=20, delta=0.1),
        "test_majority_votes::test_limit_of_held_out_errors_is_exact",
    ),
    "held_out_voting_error_bound": bound(
        call(true_shares=[0.3, 0.9], sample_weight=[1.0, 2.0], delta=0.1),
        "test_certificates::test_bound_on_a_vote_by_hand",
    ),
    "histogram_class_bound": bound(
        call(n_samples=100, n_intervals=3, n_features=2, delta=0.1, n_classes=3),
        "test_rademacher::test_histogram_class_by_hand_and_by_simulation",
    ),
    "hoeffding_deviation": bound(
        call(n_samples=100, delta=0.1, low=-1.0, high=2.0),
        "test_concentration::test_hoeffding_and_its_inverses",
        negative="low high",
    ),
    "hoeffding_n_samples": bound(
        call(t=0.1, delta=0.1, low=-1.0, high=2.0),
        "test_concentration::test_number_of_samples_by_hand",
        negative="low high",
    ),
    "hoeffding_tail": bound(
        call(t=0.1, n_samples=100, low=-1.0, high=2.0),
        "test_concentration::test_hoeffding_and_its_inverses",
        "test_concentration::test_hoeffding_by_hand",
        negative="low high",
    ),
    "independent_neighbors_optimal_n_neighbors": bound(
        call(n_samples=100, n_features=2, n_estimators=3, **_CONSTANTS),
        "test_averages::test_best_number_of_neighbors_by_search_over_all",
    ),
    "independent_neighbors_risk_bound": bound(
        call(n_samples=100, n_neighbors=5, n_features=2, n_estimators=3, **_CONSTANTS),
        "test_values_by_hand::test_independent_neighbors_risk_by_hand",
        infinite="n_estimators",
    ),
    "independent_neighbors_vote_bound": bound(
        call(
            n_samples=100,
            n_neighbors=5,
            n_features=2,
            n_estimators=3,
            n_classes=3,
            lipschitz=2.0,
            diameter=1.5,
        ),
        "test_values_by_hand::test_independent_neighbors_vote_by_hand",
        infinite="n_estimators",
    ),
    "interval_stump_edge_bound": bound(
        call(n_samples=100, delta=0.1),
        "test_boosting_comparisons::test_the_edge_of_the_stump_found_on_a_sample",
    ),
    "interval_stump_error": bound(
        call(left=0.2, middle=0.3, right=0.5),
        "test_boosting_comparisons::test_best_stump_for_an_interval_errs_on_the_least_part",
        "test_boosting_comparisons::test_boosted_stumps_keep_the_edge_of_intervals",
    ),
    "is_classification_calibrated": bound(call(phi="hinge")),
    "jackknife_plus_coverage_bound": bound(call(coverage=0.9), value=0.8),
    "johnson_lindenstrauss_dimension": bound(
        call(n_samples=100, eps=0.2, delta=0.1),
        "test_averages::test_dimension_is_the_smallest_of_the_lemma",
    ),
    "johnson_lindenstrauss_distortion": bound(
        call(X=_X, projected=_X[:, :1]),
        "test_averages::test_distortion_is_the_largest_relative_error",
        negative="X projected",
    ),
    "johnson_lindenstrauss_tail_bound": bound(
        call(n_components=100, eps=0.2, n_samples=10),
        "test_projections::test_tail_of_projected_distances",
    ),
    "kl_inverse": bound(
        call(mean=0.2, divergence=0.1), "test_majority_votes::test_inverse_of_kl_by_roots"
    ),
    "l2_boosting_decay_rate": bound(
        call(matrix=_S),
        "test_linear_boosting::test_decay_rate_is_the_slope_of_the_logarithm",
        negative="matrix",
    ),
    "l2_boosting_filter: residuals": bound(
        call(eigenvalues=[0.5, 0.2], times=[1.0, 2.0], learning_rate=0.5),
        "test_linear_boosting::test_residual_filter_is_what_the_loop_leaves_of_an_eigenvector",
        "test_linear_boosting::test_coefficients_of_the_smoothed_projection",
        negative="eigenvalues",
    ),
    "l2_boosting_filter: weights": bound(
        call(eigenvalues=[0.5, 0.2], times=[1.0, 2.0], learning_rate=0.5, of="weights"),
        "test_linear_boosting::test_weight_filter_sums_the_residuals",
        negative="eigenvalues",
    ),
    "l2_boosting_new_point_error": bound(
        call(
            matrix=_S,
            outputs=_S,
            f=[1.0, 2.0],
            f_new=[1.0, 2.0],
            times=[1.0, 2.0],
            sigma=0.5,
            learning_rate=0.5,
        ),
        "test_linear_boosting::test_expected_errors_are_those_of_simulations",
        "test_linear_boosting::test_new_point_error_at_the_training_points_is_the_test_error",
        negative="matrix outputs f f_new",
    ),
    "l2_boosting_squared_bias": bound(
        call(matrix=_S, f=[1.0, 2.0], times=[1.0, 2.0], learning_rate=0.5),
        "test_linear_boosting::test_expected_errors_are_those_of_simulations",
        "test_linear_boosting::test_squared_bias_of_an_eigenvector",
        negative="matrix f",
    ),
    "l2_boosting_training_error_bound": bound(
        call(eigenvalues=[0.5, 0.2], times=[1.0, 2.0], learning_rate=0.5),
        "test_linear_boosting::test_share_of_the_training_error_that_is_left",
        negative="eigenvalues",
    ),
    "l2_boosting_variance: test": bound(
        call(matrix=_S, times=[1.0, 2.0], sigma=0.5, learning_rate=0.5),
        "test_linear_boosting::test_expected_errors_are_those_of_simulations",
        "test_linear_boosting::test_variances_at_the_ends_and_their_eigenvalues",
        negative="matrix",
    ),
    "l2_boosting_variance: training": bound(
        call(matrix=_S, times=[1.0, 2.0], sigma=0.5, learning_rate=0.5, error="training"),
        "test_linear_boosting::test_expected_errors_are_those_of_simulations",
        "test_linear_boosting::test_variances_at_the_ends_and_their_eigenvalues",
        negative="matrix",
    ),
    "majority_vote_bound: c-bound": bound(
        call(
            losses=[0.1, 0.2],
            n_samples=[100, 90],
            disagreements=[[0.0, 0.2], [0.2, 0.0]],
            n_pair_samples=[[100, 50], [50, 90]],
            weights=[1.0, 2.0],
            delta=0.1,
            method="c-bound",
        ),
        "test_majority_votes::test_c_bound_by_hand",
    ),
    "majority_vote_bound: chebyshev-cantelli": bound(
        call(
            losses=[0.1, 0.2],
            n_samples=[100, 90],
            tandem_losses=[[0.1, 0.05], [0.05, 0.2]],
            n_pair_samples=[[100, 50], [50, 90]],
            weights=[1.0, 2.0],
            delta=0.1,
            method="chebyshev-cantelli",
        ),
        "test_majority_votes::test_chebyshev_cantelli_bound_by_hand",
    ),
    "majority_vote_bound: first-order": bound(
        call(
            losses=[0.1, 0.2],
            n_samples=[100, 90],
            weights=[1.0, 2.0],
            delta=0.1,
            method="first-order",
        ),
        "test_majority_votes::test_first_order_bound_by_hand",
    ),
    "majority_vote_bound: tandem": bound(
        call(
            tandem_losses=[[0.1, 0.05], [0.05, 0.2]],
            n_pair_samples=[[100, 50], [50, 90]],
            weights=[1.0, 2.0],
            delta=0.1,
            method="tandem",
        ),
        "test_majority_votes::test_tandem_bound_by_hand",
    ),
    "markov_tail": bound(
        call(t=2.0, mean=1.0), "test_concentration::test_markov_holds_and_is_attained"
    ),
    "massart_boosting_error_bound": bound(
        call(noise_rate=0.2, margin=0.1, smoothness=0.1, tol=0.1),
        "test_boosting_comparisons::test_massart_bound_in_its_other_form",
    ),
    "massart_boosting_n_rounds": bound(
        call(noise_rate=0.2, margin=0.1, edge=0.1, smoothness=0.1, tol=0.1),
        "test_values_by_hand::test_rounds_of_boosting_with_noisy_labels_by_hand",
    ),
    "massart_confidence_threshold": bound(
        call(noise_rate=0.2, margin=0.1),
        "test_boosting_comparisons::test_noise_under_the_measure_of_massart_boosting_at_the_threshold",
    ),
    "matching_pursuit_bound": bound(
        call(n_rounds=10, gauge=2.0, learning_rate=0.5, weakness=0.5),
        "test_greedy::test_where_the_pursuit_rates_are_tight",
    ),
    "matching_pursuit_exponent": bound(
        # G / (2 + G) with G = 1.1523436882652335...
        call(learning_rate=1.0, weakness=1.0),
        value=0.3655514126060854,
    ),
    "matching_pursuit_kappa": bound(
        call(gram=np.eye(3)),
        "test_boosting_comparisons::test_kappa_of_orthogonal_and_of_equally_correlated_columns",
        negative="gram",
    ),
    "matching_pursuit_kappa_bracket": bound(call(gram=np.eye(3), n_starts=2), negative="gram"),
    "mcdiarmid_deviation": bound(
        call(differences=[1.0, 2.0], delta=0.1),
        "test_concentration::test_mcdiarmid_and_its_inverse",
    ),
    "mcdiarmid_tail": bound(
        call(t=1.0, differences=[1.0, 2.0]),
        "test_concentration::test_mcdiarmid_is_hoeffding_for_means",
    ),
    "neighbors_vote_n_blocks": bound(
        call(n_samples=100, n_features=2, n_classes=3, lipschitz=2.0, diameter=1.5),
        "test_averages::test_best_number_of_voting_blocks_by_search_over_all",
    ),
    "oracle_selection_bound": bound(
        call(n_candidates=8, fold_size=20, oracle_excess=0.1, value_bound=2.0, inflation=0.5),
        "test_oracle_inequalities::test_selection_by_hand",
    ),
    "oracle_selection_bound: constants": bound(
        call(n_candidates=8, fold_size=20, oracle_excess=0.1, loss_constants=[3.0, 2.0]),
        "test_oracle_inequalities::test_selection_by_hand",
    ),
    "orthogonal_matching_pursuit_bound": bound(
        call(n_rounds=10, gauge=2.0), "test_greedy::test_where_the_pursuit_rates_are_tight"
    ),
    "pac_bayes_margin_bound": bound(
        call(margins=[0.5, 0.2, 0.9], divergence=1.0, delta=0.1),
        "test_margins::test_pac_bayes_margin_bound_by_hand",
        negative="margins",
    ),
    "pac_n_samples_lower_bound": bound(
        call(vc_dimension=5, eps=0.05, delta=0.01), "test_finite_classes::test_the_two_sample_sizes"
    ),
    "pac_n_samples_upper_bound": bound(
        call(vc_dimension=5, eps=0.05, delta=0.01),
        "test_finite_classes::test_upper_sample_size_by_hand",
    ),
    "polar_gauge": bound(
        call(dictionary=np.eye(2), direction=[1.0, 2.0]),
        "test_gauge::test_polar_gauge_is_the_largest_product",
        negative="dictionary direction",
    ),
    "projection_bias_bound": bound(
        call(
            gram=np.eye(2),
            coefficients=[1.0, 2.0],
            first=0.5 * np.eye(2),
            second=0.5 * np.eye(2),
            n_samples=10,
        ),
        "test_projections::test_bias_bound_by_hand",
        negative="gram coefficients first second",
    ),
    "projection_moments: coordinate": bound(
        call(gram=np.eye(3), n_components=2, projection="coordinate"),
        "test_projections::test_moments_of_coordinate_projections_by_all_choices",
        negative="gram",
    ),
    "projection_moments: gaussian": bound(
        call(gram=np.eye(3), n_components=2),
        "test_projections::test_moments_of_gaussian_projections",
        negative="gram",
    ),
    "projection_risk_bound: coordinate": bound(
        call(n_samples=100, n_components=5, size=2, squared_norm=1, projection="coordinate"),
        "test_values_by_hand::test_bounds_of_projections_by_hand",
    ),
    "projection_risk_bound: gaussian": bound(
        call(n_samples=100, n_components=5, size=2.0, squared_norm=1.0, noise_variance=0.5),
        "test_values_by_hand::test_bounds_of_projections_by_hand",
    ),
    "quadratic_boosting_bound": bound(
        call(n_rounds=10, curvature=0.5, gauge=2.0),
        "test_values_by_hand::test_greedy_boosting_by_hand",
    ),
    "rademacher_contraction_bound": bound(
        call(complexity=0.1, lipschitz=2.0), "test_rademacher::test_contraction"
    ),
    "rademacher_excess_risk_bound": bound(
        call(complexity=0.1, n_samples=100, delta=0.1, loss_bound=2.0, lipschitz=2.0),
        "test_rademacher::test_excess_risk_bound_by_hand",
    ),
    "rademacher_margin_bound": bound(
        call(margins=[0.5, 0.2, 0.9], rademacher_complexity=0.1, delta=0.1),
        "test_margins::test_rademacher_margin_bound_by_hand",
        negative="margins",
    ),
    "rademacher_union_bound": bound(
        call(complexities=[0.1, 0.2], n_samples=100, value_bound=2.0),
        "test_rademacher::test_union_of_classes",
    ),
    "random_features_bound": bound(
        call(
            n_samples=100, n_components=5, squared_radius=2.0, squared_norm=1.0, noise_variance=0.5
        ),
        "test_values_by_hand::test_bounds_of_projections_by_hand",
    ),
    "random_features_moment_bound": bound(
        call(kernel=np.eye(3), n_components=2, squared_radius=1.0),
        "test_projections::test_moment_of_random_features_stays_below_its_bound",
        negative="kernel",
    ),
    "sauer_shelah_bound": bound(
        call(n_samples=10, vc_dimension=3),
        "test_growth::test_sauer_shelah_is_attained",
        "test_growth::test_sauer_shelah_numbers",
    ),
    "shattering_coefficient": bound(
        call(behaviours=_BINARY, n_points=1),
        "test_growth::test_counts_by_hand",
        negative="behaviours",
    ),
    "smooth_boosting_error_bound": bound(
        call(optimum=0.01, slack=0.3, edge=0.1),
        value=0.1,
    ),
    "smooth_boosting_n_rounds": bound(
        call(smoothness=0.1, edge=0.1),
        "test_values_by_hand::test_rounds_of_boosting_with_noisy_labels_by_hand",
    ),
    "stochastic_boosting_moments": bound(
        call(matrices=[_S, 0.5 * _S], y=[1.0, 2.0], time=1.5, learning_rate=0.5),
        "test_linear_boosting::test_covariance_by_enumeration",
        "test_linear_boosting::test_mean_and_covariance_are_those_of_simulations",
        "test_linear_boosting::test_mean_is_boosting_of_the_average_learner",
        negative="matrices y",
        slow="time learning_rate",
    ),
    "stochastic_boosting_moments: limit": bound(
        call(matrices=[_S, 0.5 * _S], y=[1.0, 2.0], time=1.0),
        "test_linear_boosting::test_limit_covariance_is_the_leading_term",
        negative="matrices y",
        slow="matrices time",
    ),
    "stone_conditions": bound(
        call(weights=[0.5, 0.5], distances=[[0.1, 0.2, 0.3]], radius=0.15),
        "test_neighbors::test_conditions_by_hand",
        "test_neighbors::test_conditions_of_bernoulli_draws",
    ),
    "stone_lemma_constant": bound(
        call(n_features=2), "test_neighbors::test_stones_lemma_holds_for_every_point"
    ),
    "stump_generalization_bound": bound(
        call(n_samples=100, n_features=3, n_members=2, delta=0.1),
        "test_certificates::test_number_of_labels_of_stumps",
    ),
    "stump_rademacher_complexity": bound(
        call(X=_X), "test_rademacher::test_complexity_of_stumps_by_hand", negative="X"
    ),
    "stump_vc_dimension": bound(call(n_features=3), "test_growth::test_vc_dimension_of_stumps"),
    "sub_gaussian_maximum_bound": bound(
        call(n_variables=5, sigma=2.0), "test_concentration::test_expected_maximum"
    ),
    "sub_gaussian_sum_parameter": bound(
        call(sigmas=[1.0, 2.0], weights=[1.0, -2.0]),
        "test_concentration::test_parameter_of_martingale_sums",
        "test_concentration::test_parameter_of_sums",
        negative="weights",
    ),
    "sub_gaussian_tail": bound(
        call(t=1.0, sigma=2.0),
        "test_concentration::test_sub_gaussian_tail_of_normal_and_bounded_variables",
    ),
    "surrogate_risk": bound(
        call(phi="hinge", y=[1.0, -1.0], scores=[0.5, 2.0], sample_weight=[1.0, 2.0]),
        "test_boosting_comparisons::test_surrogate_risk_is_the_mean_loss",
        negative="y scores",
    ),
    "symmetrization_bound": bound(
        call(complexity=0.1), "test_rademacher::test_symmetrization_of_one_function"
    ),
    "uniform_deviation_bound": bound(
        call(complexity=0.1, n_samples=100, delta=0.1, loss_bound=2.0),
        "test_rademacher::test_uniform_deviations_by_hand",
    ),
    "vanishing_learning_rate_bound: fitted values": bound(
        call(times=2.0, learning_rate=0.5),
        "test_linear_boosting::test_distance_of_the_fitted_values_to_their_limit",
    ),
    "vanishing_learning_rate_bound: weights": bound(
        call(times=2.0, learning_rate=0.5, matrix_norm=1.0),
        "test_linear_boosting::test_distance_of_the_weights_to_their_limit",
    ),
    "vc_dimension": bound(call(behaviours=_BINARY), "test_growth::test_counts_by_hand"),
    "vc_excess_risk_bound": bound(
        call(n_samples=100, vc_dimension=3, delta=0.1),
        "test_growth::test_vc_bound_on_the_excess_risk_by_hand",
    ),
    "vc_rademacher_bound": bound(
        call(n_samples=100, vc_dimension=3), "test_growth::test_vc_bound_on_the_complexity"
    ),
    "vote_behaviours": bound(
        call(members=[_SIGNS, _SIGNS], weights=[1.0, 2.0]),
        "test_growth::test_votes_of_classifiers",
        negative="members",
    ),
    "voting_error_bound": bound(
        call(error=0.2),
        "test_averages::test_vote_of_equal_errors_attains_twice_the_error",
    ),
    "voting_error_bound: excess": bound(call(error=0.25, bayes_error=0.2), value=0.3),
    "voting_generalization_bound": bound(
        call(n_samples=100, vc_dimensions=[2, 3], delta=0.1),
        "test_growth::test_bounds_of_votes_and_of_finite_classes_by_hand",
    ),
    "voting_vc_dimension_bound": bound(
        call(vc_dimensions=[2, 3]),
        "test_growth::test_bounds_of_votes_and_of_finite_classes_by_hand",
    ),
    "weak_learning_n_samples": bound(
        call(vc_dimension=2, edge=0.1, delta=0.1, best_error=0.2),
        "test_boosting_comparisons::test_rows_of_a_weak_learner",
        slow="vc_dimension",
    ),
    "weighted_voting_generalization_bound": bound(
        call(n_samples=100, n_members=2, vc_dimension=2, delta=0.1),
        "test_certificates::test_votes_of_a_class_of_known_dimension",
    ),
    "adaboost_generalization_bound: sharp": bound(
        call(n_samples=_N, n_rounds=3, vc_dimension=2, edge=0.5, delta=0.1, **SHARP),
        value=_zero_error(_N, 3 * _log_growth(2 * _N, 2) + _log_growth(2 * _N, 3), 0.1),
    ),
    "adaboost_n_rounds: sharp": bound(call(n_samples=1000, edge=0.4, **SHARP), value=14.0),
    "azuma_hoeffding_tail: sharp": bound(
        call(t=5.0, ranges=[3.0, 4.0], **SHARP), value=math.exp(-2 * _exponent(0.5**0.5))
    ),
    "bagged_neighbors_optimal_max_samples: sharp": bound(
        call(n_samples=100, n_features=2, **_CONSTANTS, **SHARP),
        "test_sharper::test_best_size_of_subsamples_by_search",
    ),
    "bagged_neighbors_risk_bound: sharp": bound(
        call(n_samples=4, max_samples=2, n_features=2, **_CONSTANTS, **SHARP),
        value=18 + 0.5 * 7 / 18,
    ),
    "ball_excess_risk_bound: l1, sharp": bound(
        call(n_samples=100, n_features=2, radius=2.0, delta=0.1, norm="l1", **SHARP),
        value=0.4 * 2**0.5 + 6 * _mean(100, 0.1),
    ),
    "ball_rademacher_bound: l1, sharp": bound(
        call(n_samples=100, n_features=2, radius=2.0, feature_bound=1.5, norm="l1", **SHARP),
        value=0.3 * 2**0.5,
    ),
    "cross_validation_oracle_bound: sharp": bound(
        call(n_candidates=2, fold_sizes=[10, 10], delta=8 * _HALF, loss_bound=2.0, **SHARP),
        value=2.0,
    ),
    "distance_features_rademacher_bound: sharp": bound(
        call(
            n_samples=100,
            diameter=2.0,
            cover_radius=0.1,
            log_covering_number=100 * _HALF_SIGNS - math.log(2),
            lipschitz=1.5,
            value_bound=2.0,
            **SHARP,
        ),
        value=1.15,
    ),
    "finite_behaviours_rademacher_bound: sharp": bound(
        call(n_samples=100, log_n_behaviours=100 * _HALF_SIGNS, value_bound=2.0, **SHARP), value=1.0
    ),
    "finite_class_bound: sharp": bound(
        call(n_samples=4, log_n_hypotheses=math.log(3), delta=0.5, loss_bound=2.0, **SHARP),
        value=2**0.5,
    ),
    "greedy_boosting_bound: sharp": bound(
        call(n_rounds=31, curvature=0.5, gauge=2.0, excess=0.8, **SHARP),
        value=0.8 / 32**0.2,
        negative="excess",
    ),
    "greedy_boosting_risk_bound: sharp": bound(
        call(n_rounds=10, n_samples=1000, gauge=2.0, loss_at_zero=0.8, **SHARP),
        value=(64**0.5 + 2) * 2 / 1000**0.5 + 0.8 / 21**0.2,
    ),
    "gradient_descent_bound: sharp": bound(
        call(n_rounds=10, smoothness=2.0, distance=3.0, **SHARP), value=3 / 7
    ),
    "held_out_voting_error_bound: sharp": bound(
        call(true_shares=[1.0, 1.0], sample_weight=[2.0, 2.0], delta=0.9, **SHARP),
        value=2 - 2 * 0.9**0.5,
    ),
    "histogram_class_bound: sharp": bound(
        call(n_samples=4.0, n_intervals=1, n_features=1, delta=0.25, **SHARP), value=0.5**0.5
    ),
    "hoeffding_deviation: sharp": bound(
        call(n_samples=10, delta=_HALF, low=0.0, high=2.0, **SHARP), value=1.0, negative="low high"
    ),
    "hoeffding_n_samples: sharp": bound(
        call(t=1.0, delta=_HALF**0.98, low=0.0, high=2.0, **SHARP), value=10.0, negative="low high"
    ),
    "hoeffding_tail: sharp": bound(
        call(t=1.0, n_samples=5, low=0.0, high=2.0, **SHARP), value=_HALF**0.5, negative="low high"
    ),
    "interval_stump_edge_bound: sharp": bound(
        call(n_samples=2000, delta=0.1, **SHARP),
        value=1 / 6 - _signs(math.log(4000) / 2000) - 2 * _mean(2000, 0.1),
    ),
    "johnson_lindenstrauss_dimension: sharp": bound(
        call(n_samples=20, eps=0.4, delta=0.1, **SHARP),
        value=_first(lambda s: s > 9 and 190 * _pair(s, 0.4) <= 0.1),
    ),
    "johnson_lindenstrauss_tail_bound: sharp": bound(
        call(n_components=100, eps=0.4, n_samples=10, **SHARP), value=45 * _pair(100, 0.4)
    ),
    "mcdiarmid_deviation: sharp": bound(
        call(differences=[2.0] * 10 + [0.0], delta=_HALF, **SHARP), value=10.0
    ),
    "mcdiarmid_tail: sharp": bound(
        call(t=5.0, differences=[3.0, 4.0], **SHARP),
        value=math.exp(-2 * _exponent(0.5**0.5)),
    ),
    "pac_n_samples_upper_bound: sharp": bound(
        call(vc_dimension=5, eps=0.05, delta=0.01, **SHARP), value=_first(lambda n: _pac(n))
    ),
    "projection_risk_bound: coordinate, sharp": bound(
        call(
            n_samples=100, n_components=4, size=2, squared_norm=1, projection="coordinate", **SHARP
        ),
        value=0.04 + 0.02 / 9,
    ),
    "projection_risk_bound: gaussian, sharp": bound(
        call(
            n_samples=100, n_components=5, size=2.0, squared_norm=1.0, noise_variance=0.5, **SHARP
        ),
        value=0.025 + 0.04 / 7,
    ),
    "quadratic_boosting_bound: sharp": bound(
        call(n_rounds=21, curvature=0.5, gauge=2.0, **SHARP), value=0.25
    ),
    "rademacher_excess_risk_bound: sharp": bound(
        call(
            complexity=0.01,
            n_samples=40,
            delta=math.exp(-40 * _exponent(0.25)),
            loss_bound=2.0,
            lipschitz=2.0,
            **SHARP,
        ),
        value=1.04,
    ),
    "rademacher_union_bound: sharp": bound(
        call(complexities=[0.1, 0.2], n_samples=100, value_bound=2.0, **SHARP), value=0.4
    ),
    "random_features_bound: sharp": bound(
        call(
            n_samples=100,
            n_components=4,
            squared_radius=2.0,
            squared_norm=1.0,
            noise_variance=0.5,
            **SHARP,
        ),
        value=0.02 + 2 / 9,
    ),
    "smooth_boosting_n_rounds: sharp": bound(
        call(smoothness=0.1, edge=0.25, **SHARP), value=80 / math.log(4 / 3)
    ),
    "stone_lemma_constant: sharp": bound(call(n_features=2, **SHARP), value=6.0),
    "stump_generalization_bound: relative": bound(
        call(n_samples=_N, n_features=1, n_members=10, delta=0.1, training_error=1e-4, **SHARP),
        value=_relative(_N, _TEN, 0.1, 1e-4),
    ),
    "sub_gaussian_maximum_bound: sharp": bound(
        call(n_variables=3, sigma=2.0, **SHARP), value=8**0.5
    ),
    "sub_gaussian_tail: sharp": bound(call(t=2.0, sigma=2.0, **SHARP), value=0.5),
    "uniform_deviation_bound: sharp": bound(
        call(complexity=0.1, n_samples=10, delta=_HALF, loss_bound=2.0, **SHARP), value=1.2
    ),
    "vc_excess_risk_bound: sharp": bound(
        call(n_samples=400, vc_dimension=1, delta=0.1, **SHARP),
        value=_signs(math.log(401) / 400) + 2 * _mean(400, 0.1),
    ),
    "vc_rademacher_bound: sharp": bound(
        call(n_samples=100, vc_dimension=3, **SHARP), value=_signs(_log_growth(100, 3) / 100)
    ),
    "voting_generalization_bound: sharp": bound(
        call(n_samples=1000, vc_dimensions=[2, 3], delta=0.1, **SHARP),
        value=_signs((_log_growth(1000, 2) + _log_growth(1000, 3)) / 1000) + _mean(1000, 0.1),
    ),
    "weak_learning_n_samples: sharp": bound(
        call(vc_dimension=5, edge=0.45, delta=0.01, **SHARP),
        value=_first(lambda n: _pac(n)),
        slow="vc_dimension",
    ),
    "weighted_voting_generalization_bound: sharp": bound(
        call(n_samples=_N, n_members=60, vc_dimension=2, delta=0.05, training_error=0.0, **SHARP),
        value=_zero_error(_N, 60 * _log_growth(2 * _N, 2) + _log_growth(2 * _N, 60), 0.05),
    ),
}
