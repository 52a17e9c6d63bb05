"""Bounds of the averaging wing."""

import math
from fractions import Fraction

import pytest

from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators


@pytest.mark.parametrize("n_samples", [1, 2, 10, 1000, 10**7])
@pytest.mark.parametrize("delta", [0.9, 0.5, 0.05, 1e-9])
def test_pac_members_are_the_least_that_the_theorem_allows(n_samples, delta):
    """T >= 18 ln(2 n / delta) [001, theorem En.3], turned around: exp(T / 18) >= 2 n / delta."""
    T = bagging_pac_n_estimators(n_samples, delta)
    needed = Fraction(2 * n_samples) / Fraction(delta)
    assert math.exp(T / 18) >= needed > math.exp((T - 1) / 18)


def test_pac_members_grow_with_the_logarithm():
    assert bagging_pac_n_estimators(1000) == bagging_pac_n_estimators(1000, 0.05) == 191
    growth = bagging_pac_n_estimators(10**9) - bagging_pac_n_estimators(10**6)
    assert abs(growth - 18 * math.log(1000)) <= 1
    assert bagging_pac_n_estimators(1, 1e-310) == math.ceil(
        18 * math.log(2) + 18 * 310 * math.log(10)
    )


@pytest.mark.parametrize("n_samples", [0, -3, 2.5, "many"])
def test_pac_members_refuse_a_bad_number_of_rows(n_samples):
    with pytest.raises(ValueError, match="n_samples"):
        bagging_pac_n_estimators(n_samples)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), "small"])
def test_pac_members_refuse_a_bad_probability(delta):
    with pytest.raises(ValueError, match="delta"):
        bagging_pac_n_estimators(100, delta)
