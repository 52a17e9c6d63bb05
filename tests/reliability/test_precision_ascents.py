"""Searches whose choices must not depend on the last bits: oblique units, pairwise Frank-Wolfe."""

import numpy as np
import pytest

from sklearn_ensemble_theory import FrankWolfeClassifier, FrankWolfeRegressor, ReLUUnitRegressor


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["squared_error", "inner_product"])
@pytest.mark.parametrize("seed", range(4))
def test_an_oblique_unit_does_not_depend_on_order_and_origin(criterion, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 4))
    y = np.maximum(X @ rng.standard_normal(4) + 0.3, 0) + 0.3 * rng.standard_normal(150)

    def outputs(X):
        unit = ReLUUnitRegressor(criterion, direction="oblique", random_state=0).fit(X, y)
        return unit.predict(np.ascontiguousarray(X))

    expected = outputs(X)
    np.testing.assert_array_equal(outputs(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(outputs(np.repeat(X, 2, axis=1)[:, ::2]), expected)
    for shift in (1.0, -30.0, 1000.0):
        np.testing.assert_allclose(outputs(X + shift), expected, atol=1e-9)
    if criterion == "squared_error":
        np.testing.assert_allclose(outputs(X * [1e-3, 1, 10, 1e5]), expected, atol=1e-9)


def test_an_oblique_unit_is_exact_on_its_direction():
    # The ascent sees X on a grid; the knot and the coefficient are those of X itself.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = rng.standard_normal(120) + np.maximum(X.sum(axis=1), 0)
    unit = ReLUUnitRegressor(direction="oblique", random_state=0).fit(X, y)
    z = (X @ unit.hidden_weights_)[:, None]
    axis = ReLUUnitRegressor().fit(z, y)
    np.testing.assert_allclose(unit.predict(X), axis.predict(z), atol=1e-10)


@pytest.mark.parametrize("options", [{"variant": "pairwise"}, {"variant": "fully_corrective"}])
@pytest.mark.parametrize("make", [FrankWolfeRegressor, FrankWolfeClassifier])
def test_last_bits_of_the_targets_change_last_bits_only(make, options):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 10))
        y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(100)
        # Classes have no last bits; those of the weights play the part.
        weight = np.ones(100), np.nextafter(np.ones(100), rng.integers(0, 3, 100))
        targets = (y, np.nextafter(y, np.inf))
        if make is FrankWolfeClassifier:
            targets = (y > 0, y > 0)
        coefs = [
            make(radius=3.0, n_estimators=40, **options).fit(X, t, w).coef_
            for t, w in zip(targets, weight)
        ]
        np.testing.assert_allclose(*coefs, atol=1e-8)
