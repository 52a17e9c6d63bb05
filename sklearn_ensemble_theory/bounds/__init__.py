"""Bounds from theory, as functions with the arguments of the theorem.

A function cites a theorem as [Shah, theorem 7]: by the author of one of the works below and the
place there. Other works stand in the *References* of the functions that use them.

References
----------
F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

O. Bousquet, S. Boucheron and G. Lugosi (2004). "Introduction to statistical learning theory".
*Advanced Lectures on Machine Learning*, Springer.

D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
University of Munich.

C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
rate asymptotic".

R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.
"""

from sklearn_ensemble_theory._addresses import publish
from sklearn_ensemble_theory._documentation import documented

# Each name is written once, in `__all__`; tests/bounds/test_every_bound.py compares it with what
# these files define.
# ruff: noqa: F403, F405
from ._arguments import TEXTS
from ._averaged_risks import *
from ._behaviours import *
from ._concentration import *
from ._finite_classes import *
from ._gauge import *
from ._greedy import *
from ._linear_boosting_errors import *
from ._majority_votes import *
from ._margins import *
from ._neighbor_risks import *
from ._oracle_inequalities import *
from ._projections import *
from ._rademacher import *
from ._stability import *
from ._stochastic_boosting import *
from ._surrogate_losses import *
from ._votes import *
from ._weak_learning import *

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
    "bagging_stability",
    "bagging_stable_max_samples",
    "ball_excess_risk_bound",
    "ball_rademacher_bound",
    "ball_rademacher_complexity",
    "behaviours",
    "bootstrap_distinct_fraction",
    "bounded_sub_gaussian_parameter",
    "chernoff_tail",
    "conditional_surrogate_risk",
    "convex_aggregation_bound",
    "correlated_average_n_estimators",
    "correlated_average_variance",
    "cross_validation_oracle_bound",
    "distance_features_rademacher_bound",
    "divide_and_conquer_cost",
    "divide_and_conquer_n_blocks",
    "empirical_rademacher_complexity",
    "exponential_weights_bound",
    "finite_behaviours_rademacher_bound",
    "finite_class_bound",
    "frank_wolfe_bound",
    "frank_wolfe_n_rounds",
    "frank_wolfe_risk_bound",
    "gauge",
    "gaussian_sketch_n_estimators",
    "gaussian_sketch_risk",
    "gradient_descent_bound",
    "greedy_boosting_best_n_rounds",
    "greedy_boosting_bound",
    "greedy_boosting_gauge_bound",
    "greedy_boosting_risk_bound",
    "held_out_error_bound",
    "held_out_voting_error_bound",
    "histogram_class_bound",
    "hoeffding_deviation",
    "hoeffding_n_samples",
    "hoeffding_tail",
    "independent_neighbors_optimal_n_neighbors",
    "independent_neighbors_risk_bound",
    "independent_neighbors_vote_bound",
    "interval_stump_edge_bound",
    "interval_stump_error",
    "is_classification_calibrated",
    "jackknife_plus_coverage_bound",
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_distortion",
    "johnson_lindenstrauss_tail_bound",
    "kl_inverse",
    "l2_boosting_decay_rate",
    "l2_boosting_filter",
    "l2_boosting_new_point_error",
    "l2_boosting_squared_bias",
    "l2_boosting_training_error_bound",
    "l2_boosting_variance",
    "majority_vote_bound",
    "markov_tail",
    "massart_boosting_error_bound",
    "massart_boosting_n_rounds",
    "massart_confidence_threshold",
    "matching_pursuit_bound",
    "matching_pursuit_exponent",
    "matching_pursuit_kappa",
    "matching_pursuit_kappa_bracket",
    "mcdiarmid_deviation",
    "mcdiarmid_tail",
    "neighbors_vote_n_blocks",
    "oracle_selection_bound",
    "orthogonal_matching_pursuit_bound",
    "pac_bayes_margin_bound",
    "pac_n_samples_lower_bound",
    "pac_n_samples_upper_bound",
    "polar_gauge",
    "projection_bias_bound",
    "projection_moments",
    "projection_risk_bound",
    "quadratic_boosting_bound",
    "rademacher_contraction_bound",
    "rademacher_excess_risk_bound",
    "rademacher_margin_bound",
    "rademacher_union_bound",
    "random_features_bound",
    "random_features_moment_bound",
    "sauer_shelah_bound",
    "shattering_coefficient",
    "smooth_boosting_error_bound",
    "smooth_boosting_n_rounds",
    "stochastic_boosting_moments",
    "stone_conditions",
    "stone_lemma_constant",
    "stump_generalization_bound",
    "stump_rademacher_complexity",
    "stump_vc_dimension",
    "sub_gaussian_maximum_bound",
    "sub_gaussian_sum_parameter",
    "sub_gaussian_tail",
    "surrogate_risk",
    "symmetrization_bound",
    "uniform_deviation_bound",
    "vanishing_learning_rate_bound",
    "vc_dimension",
    "vc_excess_risk_bound",
    "vc_rademacher_bound",
    "vote_behaviours",
    "voting_error_bound",
    "voting_generalization_bound",
    "voting_vc_dimension_bound",
    "weak_learning_n_samples",
    "weighted_voting_generalization_bound",
]

publish(__name__, globals(), __all__)
for _name in __all__:
    documented(TEXTS)(globals()[_name])


def __dir__() -> list[str]:
    return __all__
