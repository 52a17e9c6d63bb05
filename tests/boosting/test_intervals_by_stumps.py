"""Stumps learn intervals weakly, and a vote of three stumps is an interval [Ghoshdastidar]."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    VotingClassifier,
    bounds,
)
from sklearn_ensemble_theory.erm import stump_dictionary


def interval(n, first, last):
    """The rows 0 ... n - 1, and +1 on those from `first` to `last`."""
    x = np.arange(float(n))
    return x[:, None], np.where((x >= first) & (x <= last), 1.0, -1.0)


def test_three_stumps_vote_for_any_interval_and_two_do_not():
    x, _ = interval(9, 0, 0)
    outputs = stump_dictionary(x).outputs
    signed = np.hstack([outputs, -outputs])
    angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    weights = np.column_stack([np.cos(angles), np.sin(angles)])
    pairs = {
        tuple(labels)
        for pair in combinations_with_replacement(outputs.T, 2)
        for labels in np.where(weights @ np.array(pair) > 0, 1, -1)
    }
    votes = {tuple(np.sign(sum(three))) for three in combinations_with_replacement(signed.T, 3)}
    for first in range(1, 8):
        for last in range(first, 8):
            y = interval(9, first, last)[1]
            assert tuple(y) in votes
            assert tuple(y.astype(int)) not in pairs
            assert bounds.gauge(outputs, y).value == pytest.approx(3)


def test_the_best_stump_errs_on_at_most_a_third_of_any_weights():
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(300):
        first, last = np.sort(rng.integers(0, 12, 2))
        x, y = interval(12, first, last)
        weight = rng.dirichlet(np.full(12, 0.3))
        error = DecisionStumpClassifier().fit(x, y, sample_weight=weight).training_error_
        left, right = weight[:first].sum(), weight[last + 1 :].sum()
        # The stump that errs on the lightest of the three parts is one of those compared.
        assert error <= min(left, right, 1 - left - right) + 1e-12
        worst = max(worst, error)
    assert 0.25 < worst <= 1 / 3
    x, y = interval(9, 3, 5)  # equal parts: attained
    assert DecisionStumpClassifier().fit(x, y).training_error_ == pytest.approx(1 / 3)


def test_adaboost_on_intervals():
    """Edges of at least 1/6 in every round, and so no error after a known number of rounds."""
    rng = np.random.default_rng(0)
    n = 20
    n_rounds = int(np.ceil(np.log(n) / (2 * (1 / 6) ** 2)))
    for _ in range(5):
        first, last = np.sort(rng.integers(1, n - 1, 2))
        x, y = interval(n, first, last)
        model = AdaBoostClassifier(n_estimators=n_rounds).fit(x, y)
        assert model.edges_.min() >= 1 / 6 - 1e-9
        assert model.score(x, y) == 1
    x, y = interval(9, 3, 5)
    three = AdaBoostClassifier(n_estimators=3).fit(x, y)
    assert three.score(x, y) == 1
    np.testing.assert_allclose(three.edges_, [1 / 6, 1 / 4, 1 / 3])


def test_a_vote_of_minimisers_is_no_minimiser_over_votes():
    """[Ghoshdastidar] asks for a bound by the best of all votes, here without an error.

    Three best stumps are one stump, and err on a third. A minimiser over the votes does not.
    """
    x, y = interval(9, 3, 5)
    members = [(name, DecisionStumpClassifier()) for name in "abc"]
    vote = VotingClassifier(members).fit(x, y)
    assert vote.score(x, y) == pytest.approx(2 / 3)
    outputs = stump_dictionary(x).outputs
    signed = np.hstack([outputs, -outputs])
    votes = (np.sign(sum(three)) for three in combinations_with_replacement(signed.T, 3))
    assert min(np.mean(labels != y) for labels in votes) == 0
    d = bounds.voting_vc_dimension_bound([2, 2, 2])
    assert bounds.vc_excess_risk_bound(10**5, d) < 1 / 3
