"""The tutorial "A new loss" of docs/tutorials.md: the page shows this file piece by piece."""

import numpy as np
import pytest

from sklearn_ensemble_theory import AdditiveBoostingRegressor, GradientBoostingRegressor
from sklearn_ensemble_theory.boosting.losses import Loss


class LogCoshLoss(Loss):
    """log cosh(u - y): half the square near y, the absolute error far from it; G2 = G1 = 1."""

    smoothness = 1.0
    lipschitz = 1.0

    def value(self, y, u):
        gap = np.abs(u - y)
        return gap + np.log1p(np.exp(-2.0 * gap)) - np.log(2.0)  # cosh would overflow

    def gradient(self, y, u):
        return np.tanh(u - y)

    def hessian(self, y, u):
        return 1.0 - np.tanh(u - y) ** 2


def test_derivatives_are_those_of_the_value():
    rng = np.random.default_rng(0)
    y, u = rng.normal(size=(2, 50))
    loss, h = LogCoshLoss(), 1e-5
    slope = (loss.value(y, u + h) - loss.value(y, u - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(y, u), slope, atol=1e-9)
    curvature = (loss.gradient(y, u + h) - loss.gradient(y, u - h)) / (2 * h)
    np.testing.assert_allclose(loss.hessian(y, u), curvature, atol=1e-9)
    assert np.isfinite(loss.value(y, 1e6 * u)).all()


def test_the_constant_is_optimal():
    y = np.random.default_rng(1).exponential(size=200)
    loss = LogCoshLoss()
    constant = loss.optimal_constant(y)
    assert loss.gradient(y, np.full(200, constant)).mean() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("cls", [GradientBoostingRegressor, AdditiveBoostingRegressor])
def test_boosting_lowers_the_risk_and_resists_outliers(cls):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (300, 3))
    truth = 2 * X[:, 0] + np.abs(X[:, 1])
    y = truth + 0.1 * rng.normal(size=300)
    y[::10] += 100.0  # one target in ten is wrong
    errors = {}
    for name, loss in (("squares", "squared_error"), ("log cosh", LogCoshLoss())):
        model = cls(n_estimators=60, loss=loss, learning_rate=0.2).fit(X, y)
        errors[name] = np.abs(model.predict(X) - truth)[y < 50].mean()
    assert 3 * errors["log cosh"] < errors["squares"]
