"""The laws of the random weights, against their moments and against drop-in scikit-learn."""

import numpy as np
import pytest
import sklearn.ensemble

from sklearn_ensemble_theory import BaggingRegressor
from sklearn_ensemble_theory.averaging._bagging.jackknife import infinitesimal_jackknife
from sklearn_ensemble_theory.averaging._bagging.sampling import Resampling, distinct

SCHEMES = [
    (True, 12),
    (True, 30),
    (False, 12),
    ("bernoulli", 0.4),
    ("bayesian", 20),
    ("poisson", 9),
]


def dense_draws(resampling, n_draws, seed=0):
    rng = np.random.RandomState(seed)
    weights = np.zeros((n_draws, resampling.n_samples))
    for row in weights:
        rows, v = resampling.draw(rng)
        assert (np.diff(rows) > 0).all()
        assert (v > 0).all()
        row[rows] = v
    return weights


@pytest.mark.parametrize(("scheme", "size"), SCHEMES)
def test_mean_and_noise_of_the_weights(scheme, size):
    n = 20
    resampling = Resampling(scheme, n, size)
    weights = dense_draws(resampling, 20_000)
    expected = size if scheme == "bernoulli" else size / n
    np.testing.assert_allclose(weights.mean(axis=0), expected, rtol=0.05)
    centred = weights - weights.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(centred.var(axis=0).sum(), resampling.noise, rtol=0.02)
    if scheme in (True, False, "bayesian"):
        np.testing.assert_allclose(weights.sum(axis=1), size)


@pytest.mark.parametrize("scheme", [True, "bayesian", "poisson"])
def test_a_weight_of_two_has_the_law_of_a_row_written_twice(scheme):
    """Means, variances and the chance of staying out, of the row's total weight."""
    weight = np.array([1.0, 2.0, 1.0, 0.0])
    weighted = dense_draws(Resampling.build(scheme, 4, 5, weight), 20_000)
    written = dense_draws(Resampling.build(scheme, 4, 5), 20_000)  # rows 0, 1, 1, 2
    twice = np.column_stack([written[:, 0], written[:, 1] + written[:, 2], written[:, 3]])
    assert not weighted[:, 3].any()
    np.testing.assert_allclose(weighted[:, :3].mean(0), twice.mean(0), rtol=0.04)
    np.testing.assert_allclose(weighted[:, :3].var(0), twice.var(0), rtol=0.05)
    np.testing.assert_allclose((weighted[:, :3] == 0).mean(0), (twice == 0).mean(0), atol=0.012)


def test_poisson_counts_are_independent():
    weights = dense_draws(Resampling("poisson", 6, 6), 20_000)
    np.testing.assert_allclose(np.corrcoef(weights.T), np.eye(6), atol=0.03)
    np.testing.assert_allclose(weights.var(axis=0), 1, rtol=0.05)


def test_bernoulli_weight_is_that_of_the_row_where_it_is_drawn():
    weights = dense_draws(Resampling.build("bernoulli", 3, 0.5, np.array([0.0, 0.3, 2.0])), 4000)
    assert set(np.unique(weights[:, 1])) == {0.0, 0.3}
    assert set(np.unique(weights[:, 2])) == {0.0, 2.0}
    assert not weights[:, 0].any()


def test_a_bag_is_never_empty():
    for scheme, size in [("bernoulli", 0.01), ("poisson", 0.02)]:
        weights = dense_draws(Resampling(scheme, 5, size), 500)
        assert (weights.sum(axis=1) > 0).all()


def test_dirichlet_with_concentrations_that_vanish_puts_all_on_one_row():
    weights = dense_draws(Resampling.build("bayesian", 3, 3, np.array([1e-300, 3e-300, 0.0])), 4000)
    assert ((weights > 0).sum(axis=1) == 1).all()
    np.testing.assert_allclose((weights > 0).mean(axis=0), [0.25, 0.75, 0], atol=0.03)


@pytest.mark.parametrize("n", [50, 5000])
def test_distinct_rows_and_counts(n):
    indices = np.random.default_rng(0).integers(0, n, 40)
    rows, counts = distinct(indices, n)
    np.testing.assert_array_equal(np.repeat(rows, counts), np.sort(indices))


@pytest.mark.parametrize("scheme", [True, False])
@pytest.mark.parametrize("max_samples", [None, 0.5, 30])
def test_the_draws_and_trees_are_those_of_scikit_learn(scheme, max_samples):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = X[:, 0] + rng.standard_normal(80)
    max_samples = max_samples or 1.0  # what None means, in every supported scikit-learn
    params = {"n_estimators": 4, "max_features": 0.6}
    params |= {"max_samples": max_samples, "bootstrap": scheme}
    ours = BaggingRegressor(**params, random_state=3).fit(X, y)
    theirs = sklearn.ensemble.BaggingRegressor(**params, random_state=3).fit(X, y)
    for a, b in zip(ours.estimators_samples_, theirs.estimators_samples_):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(ours.estimators_features_, theirs.estimators_features_):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.parametrize(("scheme", "size"), SCHEMES)
def test_jackknife_of_a_mean_is_its_textbook_standard_error(scheme, size):
    """The mean of y is linear in the weights: every scheme's scale must give sd / sqrt(n)."""
    y = np.random.default_rng(1).standard_normal(20) * 3
    resampling = Resampling(scheme, 20, size)
    weights = dense_draws(resampling, 20_000)
    means = weights @ y / weights.sum(axis=1)
    variance = infinitesimal_jackknife(
        weights, means[:, None], scale=resampling.jackknife_scale, noise=resampling.noise
    )
    # Without replacement the estimate is unbiased, with n - 1; the others divide by n.
    textbook = y.var(ddof=1 if scheme is False else 0) / 20
    tolerance = 0.15 if scheme in ("poisson", "bernoulli") else 0.03  # the ratio's own variance
    np.testing.assert_allclose(variance, textbook, rtol=tolerance)
