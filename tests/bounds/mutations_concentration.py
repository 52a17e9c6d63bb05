"""Equalities of the concentration inequalities: (function, test that has to notice 5 %)."""

from . import test_concentration as tests

EQUALITIES = [
    ("azuma_hoeffding_tail", tests.test_azuma_by_hand),
    ("bounded_sub_gaussian_parameter", tests.test_parameter_of_bounded_variables),
    ("chernoff_tail", tests.test_chernoff_of_known_variables),
    ("hoeffding_deviation", tests.test_hoeffding_and_its_inverses),
    ("hoeffding_n_samples", tests.test_number_of_samples_by_hand),
    ("hoeffding_tail", tests.test_hoeffding_and_its_inverses),
    ("hoeffding_tail", tests.test_hoeffding_by_hand),
    ("markov_tail", tests.test_markov_holds_and_is_attained),
    ("mcdiarmid_deviation", tests.test_mcdiarmid_and_its_inverse),
    ("mcdiarmid_tail", tests.test_mcdiarmid_is_hoeffding_for_means),
    ("sub_gaussian_maximum_bound", tests.test_expected_maximum),
    ("sub_gaussian_sum_parameter", tests.test_parameter_of_martingale_sums),
    ("sub_gaussian_sum_parameter", tests.test_parameter_of_sums),
    ("sub_gaussian_tail", tests.test_sub_gaussian_tail_of_normal_and_bounded_variables),
]
