"""Saved smoothing splines hold what predictions need."""

import pickle

import numpy as np
import pytest

from sklearn_ensemble_theory import SmoothingSplineRegressor


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(300, 1), (100, 3), (60, 8)])
@pytest.mark.parametrize("params", [{}, {"df": 4}, {"penalty": 1e-3}, {"penalty": 0.0}])
def test_pickles_are_small_and_complete(n, p, params):
    rng = np.random.default_rng(p)
    X = 5 + 3 * rng.uniform(size=(n, p))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(n)
    w = rng.uniform(0.5, 2, size=n)
    model = SmoothingSplineRegressor(**params).fit(X, y, w)
    saved = pickle.dumps(model)
    assert len(saved) < 3 * X.nbytes + 20_000
    loaded = pickle.loads(saved)
    x = np.r_[X[:20], X[:20] + 2]
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    S = loaded.smoother_matrix(x)
    np.testing.assert_array_equal(S, model.smoother_matrix(x))
    np.testing.assert_allclose(S @ y, model.predict(x), rtol=1e-7, atol=1e-7)
    trace = np.trace(loaded.smoother_matrix())
    assert trace == pytest.approx(loaded.degrees_of_freedom_, rel=1e-8)
    # Neither a parameter set afterwards nor the user's array changes the matrix.
    loaded.set_params(df=9)
    X += 1
    np.testing.assert_array_equal(model.smoother_matrix(x), loaded.smoother_matrix(x))
