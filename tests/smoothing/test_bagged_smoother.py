"""The matrix of bagged linear smoothers, compared with bagging by simulation and all subsets."""

import itertools

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingRegressor,
    LinearL2BoostingRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights
from sklearn_ensemble_theory.smoothing import bagged_smoother


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(11, 1))
    return X, np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(11), rng.uniform(size=(5, 1))


@pytest.mark.slow
@pytest.mark.parametrize("learner", [Ridge(0.1), KernelRidge(kernel="rbf", gamma=9.0, alpha=0.1)])
def test_limit_of_a_thousand_members(learner, data):
    X, y, new = data
    bagging = BaggingRegressor(learner, 1_000, max_samples=7, bootstrap=False, random_state=0)
    bagging.fit(X, y)
    members = np.array([e.predict(new) for e in bagging.estimators_])
    limit = bagged_smoother(learner, X, new, subsample=7 / 11) @ y  # all 330 subsets
    error = members.std(axis=0) / np.sqrt(1_000)
    assert (np.abs(bagging.predict(new) - limit) < 3 * error).all()
    assert (error < 0.05 * np.abs(limit).max()).all()


def test_all_subsets_and_weights(data):
    X, y, new = data
    w = np.arange(1.0, 12.0)
    learner = SmoothingSplineRegressor(df=3)
    subsets = [list(rows) for rows in itertools.combinations(range(11), 9)]
    expected = np.mean(
        [learner.fit(X[J], y[J], sample_weight=w[J]).predict(new) for J in subsets], axis=0
    )
    G = bagged_smoother(learner, X, new, subsample=9 / 11, sample_weight=w)
    np.testing.assert_allclose(G @ y, expected, atol=1e-10)


def test_nearest_neighbours_in_closed_form(data):
    X, _, new = data
    G = bagged_smoother(KNeighborsRegressor(1), X, new, subsample=4 / 11)
    ranks = np.argsort(np.argsort(np.abs(new - X.T), axis=1), axis=1)
    weights = np.zeros(11)
    closed = bagged_nearest_neighbors_weights(11, 4)
    weights[: len(closed)] = closed
    np.testing.assert_allclose(G, weights[ranks], atol=1e-12)


def test_boosting_starts_from_it(data):
    """One round at learning rate 1 from 0 is the bagged smoother: eigenvalues of its matrix."""
    X, y, _ = data
    G = bagged_smoother(Ridge(0.1), X, subsample=8 / 11)
    boosted = LinearL2BoostingRegressor(Ridge(0.1), subsample=8 / 11, time=1.0, n_subsamples=200)
    eigenvalues = np.sort(np.linalg.eigvals(G).real)[::-1]
    np.testing.assert_allclose(boosted.fit(X, y).eigenvalues_[:2].real, eigenvalues[:2], atol=1e-6)


def test_draws_are_seeded_and_all_rows_need_none(data):
    X, y, _ = data
    few = [
        bagged_smoother(Ridge(), X, subsample=0.5, n_subsamples=9, random_state=k)
        for k in (0, 0, 1)
    ]
    np.testing.assert_array_equal(few[0], few[1])
    assert np.abs(few[0] - few[2]).max() > 1e-3
    whole = bagged_smoother(Ridge(), X, subsample=1.0)
    np.testing.assert_allclose(whole @ y, Ridge().fit(X, y).predict(X))


def test_bad_arguments(data):
    X, _, new = data
    for match, learner, params in [
        ("not linear", DecisionTreeRegressor(max_depth=1, random_state=0), {}),
        ("subsample", Ridge(), {"subsample": 0.0}),
        ("less than one row", Ridge(), {"subsample": 0.01}),
        ("n_subsamples", Ridge(), {"n_subsamples": 0}),
        ("sample_weight", KNeighborsRegressor(2), {"sample_weight": np.arange(1.0, 12.0)}),
        ("sample_weight", Ridge(), {"sample_weight": np.arange(11.0)}),
        ("X_new", Ridge(), {"X_new": np.c_[new, new]}),
    ]:
        with pytest.raises(ValueError, match=match):
            bagged_smoother(learner, X, **params)
