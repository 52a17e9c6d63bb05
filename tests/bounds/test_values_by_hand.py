"""Values of bounds at arguments for which they are worked out by hand."""

import math

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds


def test_agnostic_boosting_by_hand():
    # c = 1 / sqrt(0.5 * 50) = 1/5: 0.1 + (1/5 + (1/5 + 1/10) / 0.5) / 2
    found = bounds.agnostic_boosting_error_bound(50, 0.1, 0.5, 0.1)
    assert found == pytest.approx(0.5, abs=1e-12)
    # Many rounds of the exact learner reach the least error of the class.
    assert bounds.agnostic_boosting_error_bound(10**12, 0.1) == pytest.approx(0.1, abs=1e-5)


def test_bagged_neighbors_risk_by_hand():
    # 4 * 4 * 9 * 4^-1 + 2 * (1/4) / (1 + 1/16 - 1/4)²
    found = bounds.bagged_neighbors_risk_bound(
        16, 4, 2, lipschitz=2.0, diameter=3.0, noise_variance=2.0
    )
    assert found == pytest.approx(36 + 0.5 / (13 / 16) ** 2, abs=1e-10)


def test_independent_neighbors_risk_by_hand():
    # 3 / (2 * 3) + 8 * 4 * (2 * 2 / 16)^1
    found = bounds.independent_neighbors_risk_bound(
        16, 2, 2, 3, lipschitz=2.0, diameter=1.0, noise_variance=3.0
    )
    assert found == pytest.approx(0.5 + 8, abs=1e-10)


def test_independent_neighbors_vote_by_hand():
    # v = (1 - 1/4) / (2 * 3) + 8 * 4 * (2 * 2 / 1024)^1 = 1/8 + 1/8
    found = bounds.independent_neighbors_vote_bound(1024, 2, 2, 3, n_classes=4, lipschitz=2.0)
    assert found == pytest.approx(math.sqrt(2 * 0.25), abs=1e-10)


def test_bounds_of_projections_by_hand():
    # sigma² s/n, and 2 tr / (n (s + 1)), size / (n s), R² / s
    found = bounds.projection_risk_bound(10, 4, 5.0, 3.0, 2.0)
    assert found == pytest.approx(0.8 + 2 / 10 * 5 * 3 / 5, abs=1e-12)
    found = bounds.projection_risk_bound(10, 4, 5.0, 3.0, 2.0, projection="coordinate")
    assert found == pytest.approx(0.8 + 5 * 3 / 40, abs=1e-12)
    found = bounds.random_features_bound(10, 4, 5.0, 3.0, 2.0)
    assert found == pytest.approx(0.8 + 5 * 3 / 4, abs=1e-12)


def test_greedy_boosting_by_hand():
    # [sqrt(2 * 32 * 1/4 / (1/2)) + 2] * 2 * 3 * 0.5 / 10 + (4 * 1 * (1/4)^4 / 32)^(1/5)
    found = bounds.greedy_boosting_risk_bound(32, 100, 2.0, 0.5, 3.0, 0.25, 0.5)
    expected = (math.sqrt(32) + 2) * 0.3 + (4 / 256 / 32) ** 0.2
    assert found == pytest.approx(expected, abs=1e-10)
    assert bounds.quadratic_boosting_bound(27, 0.5, 3.0) == pytest.approx(0.75, abs=1e-12)


def test_rounds_of_boosting_with_noisy_labels_by_hand():
    # 2 / (1/4 * 1/9 * sqrt(2/3))
    found = bounds.smooth_boosting_n_rounds(0.25, 1 / 3)
    assert found == pytest.approx(72 * math.sqrt(1.5), abs=1e-9)
    # eta = 1/10 and alpha = 0: s = log 9; c = min(2 * 0.5 * 0.2, 0.3) = 0.2 < s/8
    assert bounds.massart_boosting_n_rounds(0.1, 0.0, 0.5, 0.2, 0.3) == pytest.approx(50)
    # The step is s/8 where the gain is large.
    found = bounds.massart_boosting_n_rounds(0.1, 0.0, 0.5, 0.9, 0.8)
    assert found == pytest.approx(2 / (0.8 * math.log(9) / 8), abs=1e-9)


def test_behaviours_of_intervals_and_orthants_by_hand():
    found = bounds.behaviours("intervals", [0.0, 1.0])
    np.testing.assert_array_equal(np.unique(found, axis=0), [[-1, -1], [-1, 1], [1, -1], [1, 1]])
    found = bounds.behaviours("orthants", [[0.0], [1.0]])
    np.testing.assert_array_equal(np.unique(found, axis=0), [[-1, -1], [1, -1], [1, 1]])


def test_binomial_sums_against_exact_integers():
    """The sums of a window around the largest term, beside the sums of all terms."""
    for n, d in [(30, 4), (999, 300), (1000, 500), (1000, 800), (40_000, 3), (900, 899)]:
        exact = sum(math.comb(n, i) for i in range(d + 1))
        log_of_exact = exact.bit_length() * math.log(2) + math.log(exact / 2 ** exact.bit_length())
        found = bounds.sauer_shelah_bound(n, d, log=True)
        assert found == pytest.approx(log_of_exact, rel=1e-10)
