"""The laws of the random weights, against their moments and against drop-in scikit-learn."""

import numpy as np
import pytest
import sklearn.ensemble

from sklearn_ensemble_theory import BaggingRegressor, RandomForestRegressor
from sklearn_ensemble_theory.averaging._sampling import (
    SCHEMES,
    AllRows,
    SamplingScheme,
    distinct_rows,
)
from sklearn_ensemble_theory.ensembles._jackknife import infinitesimal_jackknife

LAWS = [
    (True, 12),
    (True, 30),
    (False, 12),
    ("bernoulli", 0.4),
    ("bayesian", 20),
    ("poisson", 9),
]


def dense_draws(scheme, n_draws, seed=0):
    rng = np.random.RandomState(seed)
    weights = np.zeros((n_draws, scheme.n_samples))
    for row in weights:
        rows, v = scheme.draw(rng)
        assert (np.diff(rows) > 0).all()
        assert (v > 0).all()
        row[rows] = v
    return weights


@pytest.mark.parametrize(("scheme", "size"), LAWS)
def test_mean_and_noise_of_the_weights(scheme, size):
    n = 20
    resampling = SCHEMES[scheme](n, size)
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
    weighted = dense_draws(SCHEMES[scheme].of(4, 5, weight), 20_000)
    written = dense_draws(SCHEMES[scheme].of(4, 5), 20_000)  # rows 0, 1, 1, 2
    twice = np.column_stack([written[:, 0], written[:, 1] + written[:, 2], written[:, 3]])
    assert not weighted[:, 3].any()
    np.testing.assert_allclose(weighted[:, :3].mean(0), twice.mean(0), rtol=0.04)
    np.testing.assert_allclose(weighted[:, :3].var(0), twice.var(0), rtol=0.05)
    np.testing.assert_allclose((weighted[:, :3] == 0).mean(0), (twice == 0).mean(0), atol=0.012)


def test_poisson_counts_are_independent():
    weights = dense_draws(SCHEMES["poisson"](6, 6), 20_000)
    np.testing.assert_allclose(np.corrcoef(weights.T), np.eye(6), atol=0.03)
    np.testing.assert_allclose(weights.var(axis=0), 1, rtol=0.05)


def test_bernoulli_weight_is_that_of_the_row_where_it_is_drawn():
    weights = dense_draws(SCHEMES["bernoulli"].of(3, 0.5, np.array([0.0, 0.3, 2.0])), 4000)
    assert set(np.unique(weights[:, 1])) == {0.0, 0.3}
    assert set(np.unique(weights[:, 2])) == {0.0, 2.0}
    assert not weights[:, 0].any()


def test_a_bag_is_never_empty():
    for scheme, size in [("bernoulli", 0.01), ("poisson", 0.02)]:
        weights = dense_draws(SCHEMES[scheme](5, size), 500)
        assert (weights.sum(axis=1) > 0).all()


def test_dirichlet_with_concentrations_that_vanish_puts_all_on_one_row():
    weights = dense_draws(SCHEMES["bayesian"].of(3, 3, np.array([1e-300, 3e-300, 0.0])), 4000)
    assert ((weights > 0).sum(axis=1) == 1).all()
    np.testing.assert_allclose((weights > 0).mean(axis=0), [0.25, 0.75, 0], atol=0.03)


@pytest.mark.parametrize("n", [50, 5000])
def test_distinct_rows_and_counts(n):
    indices = np.random.default_rng(0).integers(0, n, 40)
    rows, counts = distinct_rows(indices, n)
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


@pytest.mark.parametrize(("scheme", "size"), LAWS)
def test_jackknife_of_a_mean_is_its_textbook_standard_error(scheme, size):
    """The mean of y is linear in the weights: every scheme's scale must give sd / sqrt(n)."""
    y = np.random.default_rng(1).standard_normal(20) * 3
    resampling = SCHEMES[scheme](20, size)
    weights = dense_draws(resampling, 20_000)
    means = weights @ y / weights.sum(axis=1)
    variance = infinitesimal_jackknife(
        weights, means[:, None], scale=resampling.jackknife_scale, noise=resampling.noise
    )
    # Without replacement the estimate is unbiased, with n - 1; the others divide by n.
    textbook = y.var(ddof=1 if scheme is False else 0) / 20
    tolerance = 0.15 if scheme in ("poisson", "bernoulli") else 0.03  # the ratio's own variance
    np.testing.assert_allclose(variance, textbook, rtol=tolerance)


class Block(SamplingScheme):
    """A scheme that only this file knows: s consecutive rows, the first row follows the last."""

    bootstrap = "block"

    def indices(self, rng):
        return (rng.randint(self.n_samples) + np.arange(self.size)) % self.n_samples

    @property
    def noise(self):
        return self.size * (1 - self.size / self.n_samples)

    @property
    def jackknife_scale(self):
        return 1.0


def test_a_new_scheme_is_a_class_and_an_entry_of_the_registry(monkeypatch):
    constraint = BaggingRegressor._parameter_constraints["bootstrap"][1]
    assert constraint.options == {name for name in SCHEMES if isinstance(name, str)}
    monkeypatch.setitem(SCHEMES, "block", Block)
    monkeypatch.setattr(constraint, "options", {*constraint.options, "block"})
    X = np.arange(20.0).reshape(-1, 1)
    params = {"bootstrap": "block", "max_samples": 8, "oob_score": True, "random_state": 0}
    for cls in (BaggingRegressor, RandomForestRegressor):
        bag = cls(n_estimators=50, **params).fit(X, X[:, 0])
        for tree, rows in zip(bag.estimators_, bag.estimators_samples_):
            np.testing.assert_array_equal(np.diff(rows) % 20, 1)
            assert tree.tree_.n_node_samples[0] == len(rows) == 8
        assert np.isfinite(bag.standard_error(X)).all()


@pytest.mark.parametrize("cls", [BaggingRegressor, RandomForestRegressor])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_booleans_of_numpy_are_booleans(cls, bootstrap):
    X, y = np.random.default_rng(0).random((2, 40, 1))
    params = {"n_estimators": 5, "max_samples": 12, "random_state": 0}
    ours = cls(bootstrap=np.bool_(bootstrap), **params).fit(X, y[:, 0])
    expected = cls(bootstrap=bootstrap, **params).fit(X, y[:, 0])
    for a, b in zip(ours.estimators_samples_, expected.estimators_samples_):
        np.testing.assert_array_equal(a, b)
        assert bootstrap or len(np.unique(a)) == 12


def test_rows_of_schemes_that_draw_weights_are_those_of_positive_weight():
    weight = np.array([0.0, 2.0, 0.5, 0.0, 1.0])
    for scheme in (SCHEMES["bayesian"], SCHEMES["bernoulli"], AllRows):
        drawn = scheme.of(5, None, weight)
        rows, v = drawn.draw(np.random.RandomState(0))
        np.testing.assert_array_equal(drawn.indices(np.random.RandomState(0)), rows)
        assert set(rows) <= {1, 2, 4}
        assert not drawn.draws_counts
        assert len(v) == len(rows)
    np.testing.assert_array_equal(AllRows.of(5, None, weight).draw(None)[1], [2.0, 0.5, 1.0])
    assert AllRows.of(5).noise == 0
    assert AllRows.of(5).jackknife_scale == np.inf
