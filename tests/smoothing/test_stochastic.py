"""Stochastic boosting [Dombry and Esstafa, §3]: mean, variance and limits, by simulation."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from sklearn_ensemble_theory import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.smoothing import stochastic_variance_bound

from .learners import hat, loop

LEARNER = NadarayaWatsonRegressor(0.5)
# Averages of Nadaraya-Watson learners over subsets or features have slightly negative eigenvalues.
pytestmark = pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")


def make_data(n=8, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, p))
    return X, np.sin(3 * X[:, 0]) + 0.3 * rng.standard_normal(n), rng.uniform(-1, 1, size=(4, p))


def subset_matrices(learner, X, points, size):
    """g_j(x, xi) for every subset xi."""
    out = []
    for rows in combinations(range(len(X)), size):
        G = np.zeros((len(points), len(X)))
        G[:, rows] = hat(learner, X[list(rows)], points)
        out.append(G)
    return np.array(out)


def coordinate_matrices(learner, X, points):
    return np.array([hat(learner, X[:, [j]], points[:, [j]]) for j in range(X.shape[1])])


def simulate(matrices, y, rate, m, n_runs, rng):
    """[Dombry and Esstafa, eq. (19)] in n_runs copies: predictions after m rounds."""
    F = np.full((n_runs, matrices.shape[1]), y.mean())
    for _ in range(m):
        G = matrices[rng.integers(len(matrices), size=n_runs)]
        F += rate * np.einsum("rpj,rj->rp", G, y - F[:, : len(y)])
    return F


CASES = {
    "subsample": {"subsample": 0.5},
    "coordinates": {"variant": "random_feature"},
}


def matrices_of(case, X, points):
    if case == "subsample":
        return subset_matrices(LEARNER, X, points, len(X) // 2)
    return coordinate_matrices(LEARNER, X, points)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("rate", "m"), [(0.5, 4), (0.1, 20)])
def test_mean_and_variance(case, rate, m):
    X, y, new = make_data()
    points = np.vstack([X, new])
    matrices = matrices_of(case, X, points)
    runs = simulate(matrices, y, rate, m, 20_000, np.random.default_rng(1))
    model = LinearL2BoostingRegressor(
        LEARNER, learning_rate=rate, time=m * rate, random_state=0, **CASES[case]
    ).fit(X, y)
    # (21): the mean is deterministic boosting of the average learner.
    mean = model._path.predictor([m * rate]).predict(points)[:, 0] * model._scale
    errors = runs.std(axis=0) / np.sqrt(len(runs))
    assert (np.abs(runs.mean(axis=0) - mean) < 4 * errors + 1e-12).all()
    # A matrix indexed as (20) prints it, g_i(x_j), has another mean.
    transposed = np.swapaxes(matrices[:, : len(y)], 1, 2)
    wrong = simulate(transposed, y, rate, m, 2, np.random.default_rng(1))
    assert np.abs(wrong.mean(axis=0) - mean[: len(y)]).max() > 20 * errors.max()
    # Proposition 3.4 ii).
    assert runs.var(axis=0).max() <= stochastic_variance_bound(matrices, y, rate, m)
    assert runs.var(axis=0).max() > 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_estimator_draws_from_that_algorithm(case):
    X, y, new = make_data()
    m, rate = 6, 0.3
    points = np.vstack([X, new])
    exact = simulate(matrices_of(case, X, points), y, rate, m, 20_000, np.random.default_rng(1))
    make = LinearL2BoostingRegressor(
        LEARNER, learning_rate=rate, time=m * rate, n_subsamples=1, **CASES[case]
    )
    runs = np.array(
        [clone(make).set_params(random_state=s).fit(X, y).predict(points) for s in range(100)]
    )
    error = exact.std(axis=0) / np.sqrt(100)
    assert (np.abs(runs.mean(axis=0) - exact.mean(axis=0)) < 4 * error).all()
    np.testing.assert_allclose(runs.std(axis=0), exact.std(axis=0), rtol=0.4)


def test_rounds_are_stored():
    X, y, new = make_data(n=20)
    model = LinearL2BoostingRegressor(
        LEARNER, learning_rate=0.2, time=2.0, subsample=0.5, random_state=0
    ).fit(X, y)
    path = model.predict_path(new, [0.0, 0.2, 2.0])
    np.testing.assert_allclose(path[:, 0], y.mean())
    np.testing.assert_allclose(path[:, 2], model.predict(new))
    # Every learner is fitted to what the ones before it left.
    F = np.full(20, y.mean())
    for m, (learner, columns) in enumerate(model._predictor.learners):
        assert columns is None
        inner = learner.estimators[0]
        rows = [int(np.flatnonzero(np.isclose(X, row).all(axis=1))[0]) for row in _rows_of(inner)]
        assert len(set(rows)) == 10
        again = clone(LEARNER).fit(X[rows], (y - F)[rows]).predict(new)
        step = model.predict_path(new, [0.2 * m, 0.2 * (m + 1)])
        np.testing.assert_allclose(step[:, 1] - step[:, 0], 0.2 * again, atol=1e-10)
        F = F + 0.2 * clone(LEARNER).fit(X[rows], (y - F)[rows]).predict(X)
    with pytest.raises(ValueError, match="only 10 rounds"):
        model.predict_path(new, [3.0])


def _rows_of(smoother):
    return smoother._origin + smoother._weights.Z * smoother.bandwidth_


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_all_subsets_when_they_are_few(rate):
    """The average learner, enumerated, boosted as any other linear one."""
    X, y, new = make_data(n=7)
    points = np.vstack([X, new])
    G = subset_matrices(Ridge(1.0), X, points, 3).mean(axis=0)
    model = LinearL2BoostingRegressor(
        Ridge(1.0), subsample=0.5, n_subsamples=35, time=2.0, learning_rate=rate, random_state=0
    ).fit(X, y)
    n, F = 7, np.full(len(points), y.mean())
    steps = 8 if rate else 20_000
    for _ in range(steps):
        F = F + (rate or 2.0 / steps) * G @ (y - F[:n])
    mean = model._path.predictor([2.0]).predict(points)[:, 0] * model._scale
    np.testing.assert_allclose(mean, F, atol=1e-10 if rate else 1e-3)
    if rate == 0:
        np.testing.assert_array_equal(model.predict(points), mean)


@pytest.mark.slow
def test_drawn_subsets_approach_all_of_them():
    X, y, new = make_data(n=10)
    gaps = []
    exact = LinearL2BoostingRegressor(
        LEARNER, subsample=0.5, n_subsamples=300, time=2.0, random_state=0
    ).fit(X, y)  # 252 subsets
    for n_subsamples in (4, 150):
        model = LinearL2BoostingRegressor(
            LEARNER, subsample=0.5, n_subsamples=n_subsamples, time=2.0, random_state=1
        ).fit(X, y)
        gaps.append(np.abs(model.predict(new) - exact.predict(new)).max())
    assert gaps[1] < gaps[0]
    assert gaps[1] < 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_random_coordinates_of_splines_in_closed_form(weighted):
    """The low-rank form against the average of dense hat matrices, and against the loop."""
    X, y, new = make_data(n=30, p=3)
    w = np.random.default_rng(3).uniform(0.5, 2, size=30) if weighted else None
    spline = SmoothingSplineRegressor(df=4)
    dense = make_pipeline(spline)  # the same learner, but only its hat matrix is known
    times = [0.0, 0.5, 3.0, 40.0]
    for rate in (0.0, 0.5):
        kwargs = {
            "variant": "random_feature",
            "time": 1.0,
            "learning_rate": rate,
            "random_state": 0,
        }
        fast = LinearL2BoostingRegressor(spline, **kwargs).fit(X, y, w)
        slow = LinearL2BoostingRegressor(dense, **kwargs).fit(X, y, w)
        for quantity in ("training_error", "degrees_of_freedom"):
            np.testing.assert_allclose(
                getattr(fast, quantity)(times), getattr(slow, quantity)(times), rtol=1e-6
            )
        if rate == 0:
            np.testing.assert_allclose(
                fast.predict_path(new, times), slow.predict_path(new, times), atol=1e-7
            )
    mu = fast.eigenvalues_
    np.testing.assert_allclose(mu[:30], slow.eigenvalues_, atol=1e-10)
    np.testing.assert_allclose(mu[30:], 0, atol=1e-10)


def test_many_random_coordinates_share_their_knots():
    """Fewer knots a feature make a small decomposition, and a difference far below the noise."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 16))
    signal = np.sin(6 * X[:, 0]) + np.abs(X[:, 1] - 0.5)
    y, new = signal + 0.3 * rng.standard_normal(300), rng.random((50, 16))
    many, given = (
        LinearL2BoostingRegressor(
            SmoothingSplineRegressor(df=5, max_knots=knots), variant="random_feature", time=20.0
        ).fit(X, y)
        for knots in ("auto", 140)
    )
    sizes = [
        len(m.estimator_.linear_smoother().form(X, np.ones(300), True).coefficients)
        for m in (many, given)
    ]
    assert sizes[0] < 96 * 16 < 135 * 16 < sizes[1]
    assert np.abs(many.predict(new) - given.predict(new)).max() < 0.003


def test_one_feature_is_its_own_random_coordinate():
    X, y, new = make_data(n=30, p=1)
    plain = LinearL2BoostingRegressor(time=3.0).fit(X, y)
    random = LinearL2BoostingRegressor(time=3.0, variant="random_feature").fit(X, y)
    np.testing.assert_allclose(random.predict(new), plain.predict(new), atol=1e-9)
    m = 10
    rounds = LinearL2BoostingRegressor(
        time=1.0, variant="random_feature", learning_rate=0.1, random_state=0
    ).fit(X, y)
    path = loop(SmoothingSplineRegressor(df=5), X, y, 0.1, m, new)
    np.testing.assert_allclose(rounds.predict(new), path[:, -1], atol=1e-9)


def test_bound_vanishes_with_the_learning_rate():
    X, y, _ = make_data()
    matrices = coordinate_matrices(LEARNER, X, X)
    bounds = [
        stochastic_variance_bound(matrices, y, rate, round(1.0 / rate))
        for rate in (1e-2, 1e-3, 1e-4)
    ]
    np.testing.assert_allclose(np.log10(np.divide(bounds[1:], bounds[:-1])), -1, atol=0.2)
    assert stochastic_variance_bound(matrices, y, 1.0, 10_000) == np.inf
    with pytest.raises(ValueError, match="matrices must have shape"):
        stochastic_variance_bound(matrices[0], y, 0.1, 10)


def test_same_seed_same_model():
    X, y, new = make_data(n=30)
    for params in ({"subsample": 0.5}, {"variant": "random_feature"}):
        for rate in (0.0, 0.2):
            kwargs = {"learning_rate": rate, "time": 2.0, "n_subsamples": 10, **params}
            fits = [
                LinearL2BoostingRegressor(LEARNER, random_state=s, **kwargs).fit(X, y).predict(new)
                for s in (0, 0, 1)
            ]
            np.testing.assert_array_equal(fits[0], fits[1])
            if rate or "subsample" in params:
                assert np.abs(fits[0] - fits[2]).max() > 0
