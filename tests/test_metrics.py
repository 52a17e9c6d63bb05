"""Scores of distributions: closed forms against integrals, sums, simulations and quantiles."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory.ensembles._distributions import frozen_location_scale
from sklearn_ensemble_theory.metrics import crps, log_score, make_distribution_scorer

SKEWED = np.random.default_rng(0).gamma(2.0, size=70) - 2.0
CONTINUOUS = {
    "normal": stats.norm(1.5, 2.0),
    "normal by name": stats.norm(scale=0.01, loc=-3.0),
    "student": stats.t(4.5, 1.0, 0.5),
    "student, hardly a variance": stats.t(df=2.1),
    "student, nearly normal": stats.t(1e6, scale=3.0),
    "laplace": stats.laplace(-1.0, 2.0),
    "lognormal": stats.lognorm(0.7, scale=2.0),
    "lognormal, shifted": stats.lognorm(s=0.2, loc=1.0, scale=0.5),
    "gamma": stats.gamma(2.5, scale=1.5),
    "gamma, density without a bound": stats.gamma(0.3),
    "gamma, narrow": stats.gamma(1e4, scale=1e-3),
    "empirical": frozen_location_scale("empirical", 0.3, 2.0, SKEWED),
    "empirical, few": frozen_location_scale("empirical", 0.3, 2.0, np.array([-1.0, 0.0, 0.2])),
}
COUNTS = {
    "poisson": stats.poisson(3.3),
    "poisson, rare": stats.poisson(0.01),
    "poisson, many": stats.poisson(800.0),
    "poisson, shifted": stats.poisson(mu=2.0, loc=3),
    "negative binomial": stats.nbinom(2.3, 0.3),
    "negative binomial, with gaps": stats.nbinom(0.02, 0.01),
    "negative binomial, many": stats.nbinom(30.0, 0.01),
    "negative binomial, nearly poisson": stats.nbinom(1e5, 1 / (1 + 7e-5)),
    "negative binomial, nearly poisson and large": stats.nbinom(2e4, 1 / (1 + 0.05)),
}


def by_integral(distribution, y):
    """The definition, by Gauss between quantiles; the tails beyond are negligible."""
    levels = [1e-13, 1e-9, 1e-6, 1e-3, *np.linspace(0.01, 0.99, 99), 0.999, 1 - 1e-6, 1 - 1e-9]
    ends = np.unique([*distribution.ppf(levels), distribution.isf(1e-13), y])
    # In short pieces, because the smoothed law has breaks between these ends.
    ends = np.concatenate([np.linspace(*pair, 9)[:-1] for pair in pairwise(ends)] + [ends[-1:]])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t = (ends[1:, None] + ends[:-1, None] + np.diff(ends)[:, None] * nodes) / 2
    return (np.diff(ends) / 2) @ ((distribution.cdf(t) - (y <= t)) ** 2 @ weights)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_crps_of_continuous_laws_is_the_integral(name):
    distribution = CONTINUOUS[name]
    y = [*distribution.ppf([0.001, 0.3, 0.5, 0.99]), distribution.mean() - 4, 9.0]
    found = crps(y, distribution, per_row=True)
    expected = [by_integral(distribution, value) for value in y]
    np.testing.assert_allclose(found, expected, rtol=3e-6)


@pytest.mark.parametrize("name", COUNTS)
def test_crps_of_counts_is_the_sum(name):
    distribution = COUNTS[name]
    k = np.arange(-5, distribution.isf(1e-14) + 5)
    y = np.append(distribution.ppf([0.01, 0.5, 0.9]), [distribution.ppf(0.99) + 3, -2])
    # The distribution function is constant between integers.
    expected = ((distribution.cdf(k) - (y[:, None] <= k)) ** 2).sum(axis=1)
    np.testing.assert_allclose(crps(y, distribution, per_row=True), expected, rtol=1e-8)


def test_crps_of_counts_between_integers():
    for distribution in (stats.poisson(3.3), stats.nbinom(2.3, 0.3)):
        low, high = crps([2.0, 2.999999999], distribution, per_row=True)
        assert crps([2.25], distribution) == pytest.approx(0.75 * low + 0.25 * high)


@pytest.mark.parametrize("name", [*CONTINUOUS, *COUNTS])
def test_crps_is_that_of_a_sample(name):
    """E|Y - y| - E|Y - Y'| / 2 by simulation, with its standard error."""
    distribution = (CONTINUOUS | COUNTS)[name]
    n = 40_000
    Y, other = distribution.rvs((2, n), random_state=np.random.default_rng(1))
    y = float(distribution.ppf(0.8))
    terms = np.abs(Y - y) - np.abs(Y - other) / 2
    error = terms.std() / np.sqrt(n)
    assert crps([y], distribution) == pytest.approx(terms.mean(), abs=4.5 * error)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_crps_is_twice_the_pinball_loss_over_all_levels(name):
    distribution = CONTINUOUS[name]
    levels = (np.arange(4000) + 0.5) / 4000
    y = float(distribution.ppf(0.7))
    error = y - distribution.ppf(levels)
    pinball = np.maximum(levels * error, (levels - 1) * error)
    assert crps([y], distribution) == pytest.approx(2 * np.mean(pinball), rel=2e-3)


@pytest.mark.parametrize("score", [crps, log_score])
@pytest.mark.parametrize("name", ["normal", "student", "gamma", "empirical", "poisson"])
def test_scores_are_least_on_average_for_the_true_law(score, name):
    """Against the law in other units, over a sample of it."""
    truth = (CONTINUOUS | COUNTS)[name]
    y = truth.rvs(20_000, random_state=np.random.default_rng(2))
    other = {
        "normal": stats.norm(1.7, 2.2),
        "student": stats.t(4.5, 1.0, 0.6),
        "gamma": stats.gamma(2.9, scale=1.5),
        "empirical": frozen_location_scale("empirical", 0.3, 2.3, SKEWED),
        "poisson": stats.poisson(3.6),
    }[name]
    assert score(y, truth) < score(y, other)


def test_limits_of_the_crps():
    point = stats.norm([1.0, 2.0, 3.0], 1e-12)
    np.testing.assert_allclose(crps([0.0, 2.5, 3.0], point, per_row=True), [1, 0.5, 0], atol=1e-11)
    assert crps([0.0, 1e200, -1e308], stats.norm(0, 1), per_row=True)[1:] == pytest.approx(
        [1e200, 1e308]
    )
    assert crps([0.0], stats.t(1.0)) == np.inf  # no mean
    assert np.isfinite(crps([1.0], stats.lognorm(45.0)))
    # In other units; the lognormal law of log y.
    y = np.array([0.5, 2.0])
    for one, thousand in [
        (stats.gamma([2.0, 3.0], scale=1.0), stats.gamma([2.0, 3.0], scale=1e3)),
        (stats.lognorm([0.5, 1.0], scale=1.0), stats.lognorm([0.5, 1.0], scale=1e3)),
    ]:
        np.testing.assert_allclose(crps(1e3 * y, thousand), 1e3 * crps(y, one), rtol=1e-12)


def test_log_score_by_hand():
    y = np.array([1.0, 3.0, 0.0])
    found = log_score(y, stats.poisson([1.0, 2.0, 0.5]), per_row=True)
    np.testing.assert_allclose(found, [1.0, 2.0 - np.log(8 / 6), 0.5])
    w = [1.0, 0.0, 3.0]
    assert log_score(y, stats.poisson([1.0, 2.0, 0.5]), sample_weight=w) == pytest.approx(0.625)
    assert log_score([-1.0, 1.0], stats.expon()) == np.inf
    # Weight 0 also counts for nothing where the score is infinite.
    assert log_score([-1.0, 1.0], stats.expon(), sample_weight=[0, 2]) == pytest.approx(1.0)


def test_integer_weights_repeat_rows():
    rng = np.random.default_rng(3)
    y, mu, w = rng.normal(size=30), rng.normal(size=30), rng.integers(0, 4, 30)
    rows = np.repeat(np.arange(30), w)
    for score in (crps, log_score):
        expected = score(y[rows], stats.norm(mu[rows], 2.0))
        assert score(y, stats.norm(mu, 2.0), sample_weight=w) == pytest.approx(expected)


@pytest.mark.parametrize("score", [crps, log_score])
def test_bad_input_of_scores(score):
    law = stats.norm([0.0, 1.0])
    with pytest.raises(ValueError, match=r"parameters for the 3 values of y.* shape \(2,\)"):
        score([1.0, 2.0, 3.0], stats.norm(np.zeros(2), 1.0))
    with pytest.raises(ValueError, match="parameters for the 3 values of y"):
        score([1.0, 2.0, 3.0], stats.norm(np.zeros((2, 1))))
    with pytest.raises(ValueError, match="y must have one dimension"):
        score([[1.0, 2.0]], law)
    with pytest.raises(ValueError, match="y contains NaN"):
        score([1.0, np.nan], law)
    with pytest.raises(ValueError, match="outside of their range in row 1"):
        score([1.0, 2.0], stats.norm(0.0, [1.0, -1.0]))
    with pytest.raises(ValueError, match=r"(?i)weight"):
        score([1.0, 2.0], law, sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="sample_weight"):
        score([1.0, 2.0], law, sample_weight=[1.0])
    with pytest.raises(TypeError, match=r"closed forms .* got 'ndarray'|must have the method"):
        score([1.0, 2.0], np.zeros(2))


def test_crps_names_the_laws_it_has():
    with pytest.raises(TypeError, match=r"'laplace', 'lognorm'.*got 'expon'"):
        crps([1.0], stats.expon())


# --- scorers --------------------------------------------------------------------------------------


class NormalRidge(BayesianRidge):
    def predict_distribution(self, X, factor=1.0):
        mean, scale = self.predict(X, return_std=True)
        return stats.norm(mean, factor * scale)


def test_scorer_in_cross_validation_and_searches():
    X, y = load_diabetes(return_X_y=True)
    model = NormalRidge().fit(X[:300], y[:300])
    scorer = make_distribution_scorer(log_score, factor=1.5)
    expected = -log_score(y[300:], model.predict_distribution(X[300:], 1.5))
    assert scorer(model, X[300:], y[300:]) == expected
    w = np.arange(142.0)
    expected = -log_score(y[300:], model.predict_distribution(X[300:], 1.5), sample_weight=w)
    assert scorer(model, X[300:], y[300:], sample_weight=w) == expected
    splits = [(np.arange(300), np.arange(300, 442))]
    found = cross_val_score(NormalRidge(), X, y, scoring=make_distribution_scorer(crps), cv=splits)
    assert found == [-crps(y[300:], model.predict_distribution(X[300:]))]
    search = GridSearchCV(NormalRidge(), {"alpha_1": [1e-6, 1e-3]}, scoring=scorer, cv=2).fit(X, y)
    assert search.best_score_ < 0
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, y) == scorer(model, X, y)
    assert repr(again) == "make_distribution_scorer(log_score, factor=1.5)"


def test_scorer_of_a_pipeline():
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), NormalRidge()).fit(X, y)
    found = make_distribution_scorer(crps)(model, X, y)
    assert found == -crps(y, model[-1].predict_distribution(model[0].transform(X)))
    assert make_distribution_scorer(crps)(make_pipeline(model), X, y) == found


def test_scorer_of_a_search():
    X, y = load_diabetes(return_X_y=True)
    scorer = make_distribution_scorer(crps)
    inner = GridSearchCV(NormalRidge(), {"alpha_1": [1e-6, 1e3]}, scoring=scorer, cv=2)
    search = clone(inner).fit(X, y)
    expected = -crps(y, search.best_estimator_.predict_distribution(X))
    assert scorer(search, X, y) == expected
    assert search.score(X, y) == expected
    # Of a pipeline in a search, and of a search in a pipeline.
    pipeline = make_pipeline(StandardScaler(), NormalRidge())
    outer = GridSearchCV(pipeline, {"normalridge__alpha_1": [1e-6]}, scoring=scorer, cv=2)
    assert scorer(outer.fit(X, y), X, y) == scorer(outer.best_estimator_, X, y)
    nested = make_pipeline(StandardScaler(), inner).fit(X, y)
    assert np.isfinite(scorer(nested, X, y))
    assert cross_val_score(inner, X, y, scoring=scorer, cv=2).shape == (2,)
    unfit = clone(inner).set_params(refit=False).fit(X, y)
    with pytest.raises(TypeError, match="GridSearchCV does not with refit=False"):
        scorer(unfit, X, y)


def test_bad_input_of_scorers():
    with pytest.raises(TypeError, match="score must be a function"):
        make_distribution_scorer("crps")
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match=r"predict_distribution; LinearRegression does not"):
        make_distribution_scorer(crps)(LinearRegression().fit(X, y), X, y)
