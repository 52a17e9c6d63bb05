"""Equalities of `bounds/_boosting`, with a test that a constant wrong by 5 % must fail."""

from . import test_adaboost_rounds as adaboost
from . import test_boosting_comparisons as comparisons
from . import test_greedy as greedy

EQUALITIES = [
    ("adaboost_normalizer", adaboost.test_normaliser_is_the_ratio_of_exponential_risks),
    (
        "adaboost_coefficient",
        adaboost.test_coefficient_is_that_of_the_fitted_vote_and_minimises_the_risk,
    ),
    ("adaboost_weights", adaboost.test_weights_follow_the_recursion),
    ("adaboost_exponential_risk", adaboost.test_exponential_risk_of_fitted_runs_is_the_product),
    ("adaboost_kappa_bound", adaboost.test_kappa_is_attained_by_a_bent_vector),
    ("interval_stump_error", comparisons.test_best_stump_for_an_interval_errs_on_the_least_part),
    ("interval_stump_error", comparisons.test_boosted_stumps_keep_the_edge_of_intervals),
    (
        "frank_wolfe_n_rounds",
        comparisons.test_number_of_rounds_at_which_both_errors_of_frank_wolfe_are_equal,
    ),
    (
        "matching_pursuit_kappa",
        comparisons.test_kappa_of_orthogonal_and_of_equally_correlated_columns,
    ),
    ("matching_pursuit_bound", greedy.test_where_the_pursuit_rates_are_tight),
    ("orthogonal_matching_pursuit_bound", greedy.test_where_the_pursuit_rates_are_tight),
    (
        "greedy_boosting_gauge_bound",
        greedy.test_the_gauge_bound_is_tight_and_the_risk_bound_is_not,
    ),
    (
        "greedy_boosting_best_n_rounds",
        greedy.test_best_number_of_rounds_minimises_the_risk_bound,
    ),
    ("surrogate_risk", comparisons.test_surrogate_risk_is_the_mean_loss),
    (
        "massart_confidence_threshold",
        comparisons.test_noise_under_the_measure_of_massart_boosting_at_the_threshold,
    ),
    ("massart_boosting_error_bound", comparisons.test_massart_bound_in_its_other_form),
]
