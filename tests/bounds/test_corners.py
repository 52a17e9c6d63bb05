"""Limits of the arguments, as no penalty, no range, no round, or infinitely many members.

Each corner is compared with values near it, and a bound on losses is at most the largest loss.
"""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import bounds

MU, B = [1.0, 0.5, 0.0], [1.0, 2.0, 3.0]
D = np.array([[0.5, 0.1], [0.1, 0.5]])
NEAR = 1e-9
# function: arguments at the corner, the name of the one that is there, and a value near it
CORNERS = [
    ("averaged_ridge_risk", (MU, B, 0.0, 10, 2), 2, NEAR),
    ("averaged_ridge_risk", (MU, B, 0.1, 10, math.inf), 4, 10**9),
    ("averaged_projection_risk", (D, [1.0, 2.0], math.inf), 2, 10**9),
    ("azuma_hoeffding_tail", (1.0, [0.0, 0.0]), 1, [NEAR, NEAR]),
    ("azuma_hoeffding_tail", (0.0, [0.0, 0.0]), 1, [NEAR, NEAR]),
    ("bagged_neighbors_risk_bound", (100, 10, 2), "diameter", NEAR),
    ("bounded_sub_gaussian_parameter", (1.0, 1.0), 1, 1 + NEAR),
    ("correlated_average_variance", (math.inf, 0.3), 0, 10**9),
    ("correlated_average_variance", (math.inf, 0.0), 0, 10**9),
    ("gaussian_sketch_risk", (100, 5, 20, math.inf), 3, 10**9),
    ("hoeffding_deviation", (10, 0.05, 2.0, 2.0), 3, 2 + NEAR),
    ("hoeffding_n_samples", (0.1, 0.05, 2.0, 2.0), 3, 2 + NEAR),
    ("hoeffding_tail", (0.1, 10, 2.0, 2.0), 3, 2 + NEAR),
    ("independent_neighbors_risk_bound", (100, 5, 2, math.inf), 3, 10**9),
    ("independent_neighbors_vote_bound", (10**6, 5, 2, math.inf), 3, 10**12),
    ("johnson_lindenstrauss_tail_bound", (10, 0.0), 1, NEAR),
    ("markov_tail", (0.0, 1.0), 0, NEAR),
    ("massart_boosting_error_bound", (0.0, 0.1, 0.05, 0.2), 0, 1e-12),
    ("massart_boosting_n_rounds", (0.0, 0.05, 0.1, 0.2, 0.01), 0, 1e-12),
    ("massart_confidence_threshold", (0.0, 0.05), 0, 5e-324),
    ("mcdiarmid_deviation", ([0.0, 0.0],), 0, [NEAR, NEAR]),
    ("mcdiarmid_tail", (1.0, [0.0, 0.0]), 1, [NEAR, NEAR]),
    ("sub_gaussian_tail", (1.0, 0.0), 1, NEAR),
    ("vanishing_learning_rate_bound", (1.0, 0.0), 1, NEAR),
    ("vanishing_learning_rate_bound", (1.0, 0.0, 2.0), 1, NEAR),
    ("vanishing_learning_rate_bound", (0.0, 0.5), 0, NEAR),
]


@pytest.mark.parametrize(("name", "arguments", "place", "near"), CORNERS)
def test_a_corner_is_the_limit_of_what_is_near_it(name, arguments, place, near):
    function, named, others = getattr(bounds, name), {}, list(arguments)
    if isinstance(place, str):
        named = {place: 0.0}
    at_corner = function(*others, **named)
    if named:
        named = {place: near}
    else:
        others[place] = near
    beside = function(*others, **named)
    if at_corner == math.inf:
        assert beside > 700
    else:
        assert at_corner == pytest.approx(beside, abs=1e-6)


def test_no_penalty_is_least_squares():
    """The excess risk of averages of least squares fits, rank 2 of 3 columns, by simulation."""
    rng = np.random.default_rng(0)
    n, m, sigma = 12, 3, 0.5
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 3))
    f = np.sin(np.arange(n))
    mu, U = np.linalg.eigh(X @ X.T / n)
    mu = np.where(mu > 1e-12, mu, 0.0)
    exact = bounds.averaged_ridge_risk(mu, U.T @ f / np.sqrt(n), 0.0, n, m, sigma**2)
    targets = f + sigma * rng.standard_normal((4000 * m, n))
    fits = LinearRegression(fit_intercept=False).fit(X, targets.T).predict(X)
    errors = np.mean((fits.reshape(n, -1, m).mean(axis=2).T - f) ** 2, axis=1)
    assert exact == pytest.approx(errors.mean(), abs=3 * errors.std() / np.sqrt(len(errors)))


def test_constants_do_not_deviate():
    assert bounds.mcdiarmid_deviation([0, 0]) == 0
    assert bounds.mcdiarmid_tail([0.0, 1.0], [0, 0]).tolist() == [1.0, 0.0]
    assert bounds.sub_gaussian_tail([0.0, 1.0], 0.0, two_sided=True).tolist() == [1.0, 0.0]
    assert bounds.hoeffding_tail([0.0, 1e-9], 5, 2, 2).tolist() == [1.0, 0.0]
    assert bounds.hoeffding_n_samples(0.1, low=3, high=3) == 1
    assert bounds.markov_tail([0.0, 2.0], [0.0, 1.0]).tolist() == [1.0, 0.5]


def test_the_best_choices_at_the_corners():
    for n_estimators, noise in ((1, 0.0), (math.inf, 1.0)):
        found = bounds.averaged_ridge_optimal_penalty(
            100, n_estimators, noise_variance=noise, eigenvalue_decay=2.0
        )
        assert found == 0
    assert bounds.bagged_neighbors_optimal_max_samples(100, 2, diameter=0.0) == 1
    assert bounds.independent_neighbors_optimal_n_neighbors(100, 2, diameter=0.0) == 100
    # A square design: one sketch of any size is all of least squares.
    assert bounds.gaussian_sketch_n_estimators(5, 5, 5) == 1
    assert bounds.gaussian_sketch_risk(5, 5, 5) == bounds.gaussian_sketch_risk(5, 5, 50)


def test_before_the_first_round_the_bound_is_what_is_known_of_the_start():
    """A quadratic F = L |u - u*|² / 2 attains that of gradient descent, and greedy boosting's."""
    assert bounds.gradient_descent_bound(0, 3.0, 2.0) == 6.0
    assert bounds.quadratic_boosting_bound(0, 3.0, 2.0) == 6.0
    assert bounds.greedy_boosting_bound([0, 1], 3.0, 2.0, 0.7).max() == 0.7
    # The loss at 0 and the estimation error of one function.
    found = bounds.greedy_boosting_risk_bound(0, 100, 2.0, loss_at_zero=0.7)
    assert found == pytest.approx(0.7 + 2 * 2.0 / 10)


@pytest.mark.parametrize(
    ("name", "arguments", "largest"),
    [
        ("ball_excess_risk_bound", {"n_samples": 1, "radius": 2.0}, 3.0),
        ("ball_rademacher_bound", {"n_samples": 1, "n_features": 9, "norm": "l1"}, 1.0),
        ("cross_validation_oracle_bound", {"n_candidates": 9, "fold_sizes": [1, 1]}, 1.0),
        (
            "distance_features_rademacher_bound",
            {"n_samples": 1, "diameter": 2.0, "cover_radius": 1, "log_covering_number": 1},
            1.0,
        ),
        (
            "distance_features_rademacher_bound",
            {
                "n_samples": 1,
                "diameter": 2,
                "cover_radius": 1,
                "log_covering_number": 1,
                "value_bound": 3,
            },
            3.0,
        ),
        ("finite_behaviours_rademacher_bound", {"n_samples": 1, "log_n_behaviours": 5.0}, 1.0),
        ("finite_class_bound", {"n_samples": 1, "log_n_hypotheses": 5.0, "loss_bound": 2}, 2.0),
        ("rademacher_excess_risk_bound", {"complexity": 1.0, "n_samples": 9, "loss_bound": 2}, 2),
        ("rademacher_union_bound", {"complexities": [0.1] * 9, "n_samples": 1}, 1.0),
        ("uniform_deviation_bound", {"complexity": 1.0, "n_samples": 9, "loss_bound": 2.0}, 2.0),
        ("vc_rademacher_bound", {"n_samples": 1, "vc_dimension": 9}, 1.0),
    ],
)
def test_bounds_on_losses_and_complexities_are_at_most_the_largest_value(name, arguments, largest):
    assert getattr(bounds, name)(**arguments) == largest
