"""Members with disjoint rows, and the variance of their mean by U-statistics."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import BaggingClassifier, BaggingRegressor, RandomForestRegressor
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.ensembles._jackknife import UStatistic, jackknife_variance
from sklearn_ensemble_theory.inspection import ensemble_std


def by_pairs(t, group, known):
    """Mean half squared differences within groups and between them, over pairs of known members."""
    halves = {True: [], False: []}
    for b, c in combinations(np.flatnonzero(known), 2):
        halves[bool(group[b] == group[c])].append((t[b] - t[c]) ** 2 / 2)
    # Within a group, a mean of unbiased variances by their degrees of freedom.
    squares, freedom = 0.0, 0
    for g in np.unique(group):
        own = t[(group == g) & known]
        if len(own) > 1:
            squares, freedom = squares + own.var() * len(own), freedom + len(own) - 1
    return squares / freedom - np.mean(halves[False]), halves


@pytest.mark.parametrize(("B", "M"), [(12, 3), (11, 3), (10, 2), (9, 7)])
def test_difference_of_pairs_is_that_of_loops(B, M):
    rng = np.random.default_rng(0)
    t, group = rng.standard_normal((B, 4)) + 7, np.arange(B) // M
    known = np.ones((B, 4))
    if M == 3:
        known[rng.integers(0, B, 4), np.arange(4)] = 0
    found, noise = UStatistic(B, M).covariance(t, known)
    for k in range(4):
        expected, halves = by_pairs(t[:, k], group, known[:, k] > 0)
        np.testing.assert_allclose(found[k], expected, rtol=1e-10)
        if (known[:, k] > 0).all() and B % M == 0:  # groups of one size: a mean over pairs
            np.testing.assert_allclose(expected, np.mean(halves[True]) - np.mean(halves[False]))
    many = rng.standard_normal((B, 40_000))
    estimates, noise = UStatistic(B, M).covariance(many, np.repeat(known[:, :1], 40_000, axis=1))
    np.testing.assert_allclose(estimates.var(), noise[0], rtol=0.05)
    assert abs(estimates.mean()) < 5 * np.sqrt(noise[0] / 40_000)


@pytest.mark.parametrize(("size", "M"), [(6, 2), (4, 3)])
def test_estimate_has_no_bias_for_a_nonlinear_statistic(size, M):
    """The largest of s of 12 numbers, 20,000 data sets; the mean of all subsamples is known."""
    n, B, n_sets = 12, 4 * M, 20_000
    rng = np.random.default_rng(1)
    y = rng.random((n_sets, n))
    # The mean over all subsamples, from the order statistics.
    subsets = np.array(list(combinations(range(n), size)))
    means = np.sort(y, axis=1) @ (np.bincount(subsets.max(axis=1), minlength=n) / len(subsets))
    orders = rng.permuted(np.broadcast_to(np.arange(n), (n_sets, B // M, n)), axis=2)
    parts = orders[:, :, : size * M].reshape(n_sets, B, size)
    t = np.take_along_axis(y[:, None], parts, axis=2).max(axis=2).T
    estimate = UStatistic(B, M).covariance(t, np.ones_like(t))[0]
    error = estimate.std() / np.sqrt(n_sets)
    assert error < 0.02 * means.var()
    np.testing.assert_allclose(estimate.mean(), means.var(), rtol=0.05)


def test_members_of_a_group_have_disjoint_rows():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    bag = BaggingRegressor(n_estimators=11, bootstrap="disjoint", max_samples=16, random_state=3)
    bag.fit(X, y)
    samples = [set(rows) for rows in bag.estimators_samples_]
    assert all(len(rows) == 16 for rows in samples)
    for first in range(0, 11, 3):
        for one, other in combinations(samples[first : first + 3], 2):
            assert not one & other
    assert samples[0] & samples[3]
    # More members go on with the group that is not complete.
    more = BaggingRegressor(
        n_estimators=4, bootstrap="disjoint", max_samples=16, random_state=3, warm_start=True
    ).fit(X, y)
    more.set_params(n_estimators=11).fit(X, y)
    np.testing.assert_array_equal(more.predict(X), bag.predict(X))
    # The default is two halves, and rows of weight 0 do not count.
    weight = np.r_[np.zeros(9), np.ones(41)]
    halves = BaggingRegressor(n_estimators=6, bootstrap="disjoint", max_samples=20)
    drawn = [set(rows) for rows in halves.fit(X, y, sample_weight=weight).estimators_samples_]
    assert min(map(min, drawn)) >= 9
    assert not drawn[0] & drawn[1]
    assert BaggingRegressor(n_estimators=2, bootstrap="disjoint").fit(X, y)._max_samples == 25


def test_groups_of_rows_are_disjoint():
    rng = np.random.default_rng(4)
    X, y, groups = rng.standard_normal((60, 2)), rng.standard_normal(60), np.arange(60) // 3
    bag = BaggingRegressor(n_estimators=40, bootstrap="disjoint", max_samples=5, random_state=0)
    bag.fit(X, y, groups=groups)
    drawn = [set(groups[rows]) for rows in bag.estimators_samples_]
    assert not drawn[0] & drawn[1]
    assert not drawn[2] & drawn[3]
    assert np.isfinite(bag.standard_error(X[:5], "u-statistic")).all()


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_standard_error_of_a_mean_is_the_textbook_one():
    """The mean of y: the variance of the mean is s²/n, in units in which y is huge as well."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 1)), rng.standard_normal(40)
    bag = BaggingRegressor(
        DummyRegressor(), 800, bootstrap="disjoint", max_samples=10, random_state=0
    ).fit(X, y)
    unbiased = jackknife_variance(bag.ensemble_, X[:1], "u-statistic")[0]
    np.testing.assert_allclose(unbiased, y.var(ddof=1) / 40, rtol=0.15)
    found = bag.standard_error(X[:1])
    np.testing.assert_allclose(found, np.sqrt(unbiased), rtol=0.05)
    huge = bag.fit(X, 1e100 * y).standard_error(X[:1])
    np.testing.assert_allclose(huge, 1e100 * found, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn_ensemble_theory.averaging.StandardErrorWarning")
def test_large_subsamples_have_no_bias_and_jackknives_have():
    """Halves of 60 rows of a noisy sine, 150 training sets: the mean of three estimates."""
    at = np.linspace(0.1, 0.9, 15)[:, None]
    means, found = {}, {"u-statistic": [], "infinitesimal": [], "jackknife": []}
    for r in range(150):
        rng = np.random.default_rng([6, r])
        X = rng.random((60, 1))
        y = np.sin(6 * X[:, 0]) + 0.5 * rng.standard_normal(60)
        for bootstrap, methods in [("disjoint", ["u-statistic"]), (False, list(found)[1:])]:
            bag = BaggingRegressor(
                DecisionTreeRegressor(min_samples_leaf=2),
                200,
                max_samples=0.5,
                bootstrap=bootstrap,
                random_state=r,
            ).fit(X, y)
            means.setdefault(bootstrap, []).append(bag.predict(at))
            for method in methods:
                found[method].append(jackknife_variance(bag.ensemble_, at, method)[0])
    truth = np.mean([np.var(m, axis=0, ddof=1).mean() for m in means.values()])
    ratio = {method: np.mean(each) / truth for method, each in found.items()}
    assert 0.9 < ratio["u-statistic"] < 1.1
    assert min(ratio["infinitesimal"], ratio["jackknife"]) > 1.15


def test_few_members_are_shrunk_to_the_law_of_the_training_rows():
    rng = np.random.default_rng(7)
    X = rng.random((200, 5))
    y = X.sum(axis=1) + 0.3 * rng.standard_normal(200)
    at = rng.random((50, 5))
    forest = RandomForestRegressor(120, bootstrap="disjoint", max_samples=0.2, random_state=0).fit(
        X, y
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StandardErrorWarning)
        found = forest.standard_error(at)
    unbiased = jackknife_variance(forest.ensemble_, at, "u-statistic")[0]
    assert (unbiased < 0).any()
    assert (found > 0).all()
    # Ratios differ less than the unbiased ones, around the same mean.
    spread = ensemble_std(forest, at) ** 2
    shrunk = found**2 / spread
    assert shrunk.std() < 0.5 * (unbiased / spread).std()
    np.testing.assert_allclose(shrunk.mean(), (unbiased / spread).mean(), rtol=0.4)


@pytest.mark.parametrize(
    ("given", "call", "message"),
    [
        ({"max_samples": 30}, None, "at most half of the 50 samples"),
        ({"max_samples": 0.6}, None, "at most half of the 50 samples"),
        ({"max_samples": 10, "n_estimators": 6}, "u-statistic", "n_estimators=7 at least"),
        ({"max_samples": 10}, "jackknife", "use method='u-statistic'"),
        ({"max_samples": 10}, "infinitesimal", "use method='u-statistic'"),
        ({"bootstrap": True}, "u-statistic", "requires members with disjoint rows"),
    ],
)
def test_errors_say_what_to_change(given, call, message):
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    bag = BaggingRegressor(**{"n_estimators": 20, "bootstrap": "disjoint", **given})
    with pytest.raises(ValueError, match=message):
        bag.fit(X, y).standard_error(X[:3], call)


def test_rows_of_different_weights_are_refused():
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((50, 2)), np.arange(50) % 2
    bag = BaggingClassifier(bootstrap="disjoint", max_samples=10, class_weight={0: 1, 1: 3})
    with pytest.raises(ValueError, match="rows of equal weight"):
        bag.fit(X, y)


def test_half_of_the_rows_is_half_of_those_with_a_weight():
    rng = np.random.default_rng(9)
    X, y, weight = rng.standard_normal((50, 2)), np.arange(50) % 5, (np.arange(50) < 30) * 1.0
    model = BaggingClassifier(n_estimators=4, bootstrap="disjoint", random_state=0)
    model.fit(X, y, sample_weight=weight)
    for pair in (model.estimators_samples_[:2], model.estimators_samples_[2:]):
        assert sorted(np.concatenate(pair)) == list(range(30))
