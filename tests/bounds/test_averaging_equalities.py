"""Functions of the bounds on averages that are exact or optimal, by other routes."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sklearn_ensemble_theory import bounds

from ..errata_parts import within


def test_sketch_risk_by_simulation():
    """Least squares on S X and S y for an orthonormal X: any X of this rank has the same risk."""
    n, d, s, m, sigma, draws = 12, 3, 8, 3, 1.5, 15_000
    rng = np.random.default_rng(0)
    X = np.eye(n)[:, :d]
    noise = sigma * rng.standard_normal((draws, 1, n, 1))
    S = rng.standard_normal((draws, m, s, n))
    SX = S @ X
    # X w = 0 without loss of generality: the estimator is linear and unbiased.
    normal = SX.swapaxes(2, 3) @ SX
    fits = np.linalg.solve(normal, SX.swapaxes(2, 3) @ (S @ noise)).mean(axis=1)[..., 0]
    errors = np.sum(fits**2, axis=1) / n
    assert within(errors, bounds.gaussian_sketch_risk(n, d, s, m, sigma**2))
    assert np.std(errors) / np.sqrt(draws) < 0.01 * errors.mean()


def test_sketch_risk_by_hand():
    # sigma^2 d/n = 0.4, and 90 / (10 m) times that.
    assert bounds.gaussian_sketch_risk(100, 10, 21, 9, 4.0) == pytest.approx(0.8, rel=1e-12)
    # All rows: about twice least squares with one sketch.
    assert bounds.gaussian_sketch_risk(100, 10, 100) == pytest.approx(0.1 * (1 + 90 / 89))


def test_number_of_sketches_is_the_smallest():
    for n, d, s, excess in ((1000, 10, 101, 1.0), (1000, 10, 40, 0.1), (50, 50, 60, 1.0)):
        m = bounds.gaussian_sketch_n_estimators(n, d, s, excess)
        assert m == int(m)
        allowed = (1 + excess) * d / n * (1 + 1e-12)
        assert bounds.gaussian_sketch_risk(n, d, s, int(m)) <= allowed
        assert m == 1 or bounds.gaussian_sketch_risk(n, d, s, int(m) - 1) > allowed
    assert bounds.gaussian_sketch_n_estimators(1000, 10, 101) == 11  # 990 / 90
    assert bounds.gaussian_sketch_n_estimators(100, 10, 20, 0.1) == 100  # 90 / 9 / 0.1
    for arguments, message in (
        ((10, 11, 20), "n_features"),
        ((100, 10, 11), "sketch_size"),
        ((100, 10, 20, 0.0), "excess"),
        ((100, 10, 20, 5e-324), "excess"),
    ):
        with pytest.raises(ValueError, match=message):
            bounds.gaussian_sketch_n_estimators(*arguments)


def test_distortion_is_the_largest_relative_error():
    rng = np.random.default_rng(0)
    X, S = rng.standard_normal((40, 12)), rng.standard_normal((12, 6)) / np.sqrt(6)
    ratios = pdist(X @ S, "sqeuclidean") / pdist(X, "sqeuclidean")
    found = bounds.johnson_lindenstrauss_distortion(X, X @ S)
    assert found == pytest.approx(np.abs(ratios - 1).max(), rel=1e-10)


def test_dimension_is_the_smallest_of_the_lemma():
    s = bounds.johnson_lindenstrauss_dimension(100, 0.25, 0.01)
    assert s == math.ceil(96 * math.log(10**6))  # 6 / eps^2 = 96 and n^2 / delta = 10^6


def test_best_subsample_size_by_search_over_all():
    for n, d, variance in ((200, 2, 0.5), (200, 4, 10.0)):
        sizes = range(1, n + 1)
        values = [
            bounds.bagged_neighbors_risk_bound(n, s, d, noise_variance=variance) for s in sizes
        ]
        best = bounds.bagged_neighbors_optimal_max_samples(n, d, noise_variance=variance)
        assert best == 1 + int(np.argmin(values))


def test_number_of_blocks_that_keeps_the_rate():
    assert bounds.divide_and_conquer_n_blocks(10_000, 2) == 100
    assert bounds.divide_and_conquer_n_blocks(4**12, 10) == 16  # n^(1/6)


def test_best_number_of_voting_blocks_by_search_over_all():
    for n, classes, lipschitz in ((400, 2, 0.2), (400, 5, 1.0)):
        options = {"n_classes": classes, "lipschitz": lipschitz}
        values = [
            bounds.independent_neighbors_vote_bound(n, k, 2, **options) for k in range(1, n + 1)
        ]
        assert bounds.neighbors_vote_n_blocks(n, 2, **options) == 1 + int(np.argmin(values))


def test_pac_members_by_hand():
    # 2 n / delta = e^4 within rounding: T = 72.
    assert bounds.bagging_pac_n_estimators(1, 2 * math.exp(-4) * (1 + 1e-12)) == 72
    assert bounds.bagging_pac_n_estimators(1000, 0.05) == math.ceil(18 * math.log(40_000))


def test_pac_members_learn_thresholds():
    """Bagged thresholds, d = 1: epsilon is (d + ln(1/delta)) / n up to a constant, here 1."""
    n, delta, rng = 60, 0.1, np.random.default_rng(0)
    T = bounds.bagging_pac_n_estimators(n, delta)
    risks = []
    for _ in range(1000):
        x = np.sort(rng.random(n))
        drawn = x[rng.integers(n, size=(T, n))]
        # Of the thresholds without an error, the one that is farthest from 0.5 on the right.
        thresholds = np.where(drawn > 0.5, drawn, 1.0).min(axis=1)
        risks.append(np.median(thresholds) - 0.5)
    assert np.mean(np.array(risks) <= (1 + math.log(1 / delta)) / n) >= 1 - delta


def test_vote_of_equal_errors_attains_twice_the_error():
    """The averaged classifier errs where half of the members do."""
    chance = np.where(np.arange(1000) < 140, 0.5, 0.0)
    assert (chance >= 0.5).mean() == bounds.voting_error_bound(chance.mean())
