"""A user's loss with a wrong derivative is refused before any round, and a right one never."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, RegressorMixin

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.losses._base import as_loss
from sklearn_ensemble_theory.boosting.losses._derivatives import check_derivatives

from .loss_cases import LogCosh, PseudoHuber


class Given:
    """A loss of these functions."""

    def __init__(self, value, gradient, hessian=None):
        self.value, self.gradient = value, gradient
        if hessian is not None:
            self.hessian = hessian


def in_single(function):
    return lambda y, u: function(y.astype(np.float32), u.astype(np.float32))


SQUARED = Given(lambda y, u: (y - u) ** 2 / 2, lambda y, u: u - y)
LOGISTIC = Given(
    lambda y, u: np.logaddexp(0, -y * u),
    lambda y, u: -y * expit(-y * u),
    lambda y, u: y**2 * expit(y * u) * expit(-y * u),
)
RIGHT = {
    "squared": SQUARED,
    "absolute, 0 at the kink": Given(lambda y, u: abs(y - u), lambda y, u: np.sign(u - y)),
    "absolute, -1 at the kink": Given(
        lambda y, u: abs(y - u), lambda y, u: np.where(u > y, 1.0, -1.0)
    ),
    "quantile": Given(
        lambda y, u: np.maximum(0.3 * (y - u), 0.7 * (u - y)),
        lambda y, u: np.where(y > u, -0.3, 0.7),
    ),
    "huber": Given(
        lambda y, u: np.where(abs(y - u) < 0.5, (y - u) ** 2 / 2, (abs(y - u) - 0.25) / 2),
        lambda y, u: np.clip(u - y, -0.5, 0.5),
    ),
    "hinge": Given(
        lambda y, u: np.maximum(0, 1 - y * u), lambda y, u: np.where(y * u < 1, -y, 0.0)
    ),
    "insensitive": Given(
        lambda y, u: np.maximum(0, abs(y - u) - 0.1),
        lambda y, u: np.sign(u - y) * (abs(y - u) > 0.1),
    ),
    "power": Given(
        lambda y, u: abs(y - u) ** 1.5, lambda y, u: 1.5 * np.sign(u - y) * abs(y - u) ** 0.5
    ),
    "flat": Given(lambda y, u: 0 * y, lambda y, u: 0 * u),
    "log-cosh": LogCosh(),
    "rough log-cosh": Given(
        lambda y, u: np.log(np.cosh(y - u)),  # infinite above 710
        lambda y, u: np.tanh(u - y),
    ),
    "narrow": Given(
        lambda y, u: np.hypot(1e-6, u - y), lambda y, u: (u - y) / np.hypot(1e-6, u - y)
    ),
    "not convex": Given(
        lambda y, u: np.log1p((y - u) ** 2), lambda y, u: 2 * (u - y) / (1 + (y - u) ** 2)
    ),
    "weighted by targets": Given(
        lambda y, u: np.where(y > 0, 1e3, 1.0) * (y - u) ** 2,
        lambda y, u: 2 * np.where(y > 0, 1e3, 1.0) * (u - y),
    ),
    "in other units": Given(lambda y, u: 1e-80 * (y - u) ** 2 / 2, lambda y, u: 1e-80 * (u - y)),
    "poisson": Given(lambda y, u: np.exp(u) - y * u, lambda y, u: np.exp(u) - y),
    "logistic": LOGISTIC,
    "single precision": Given(in_single(SQUARED.value), in_single(SQUARED.gradient)),
    "an estimate of the curvature": LogCosh(0.01),
}
UNITS = [1e-100, 1e-10, 1e-3, 1.0, 1e3, 1e6]


def targets(rng, n, unit):
    y = rng.standard_normal(n)
    return [
        unit * y,
        unit * (1e6 + y),
        rng.poisson(1.0, n) * unit,
        rng.choice([-unit, unit], n),
        np.full(n, unit),
        np.zeros(n),
        unit * rng.standard_cauchy(n),
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_right_losses_are_not_refused(name):
    rng = np.random.default_rng(0)
    for n in (1, 3, 40, 300):
        for unit in UNITS:
            for y in targets(rng, n, unit):
                near = y + 1e-3 * unit * rng.standard_normal(n)
                middle = np.full(n, np.median(y))
                for u in (np.zeros(n), middle, y, near, rng.standard_normal(n), middle + 30, None):
                    check_derivatives(as_loss(RIGHT[name]), y, u)


WRONG = {
    "sign": lambda right: lambda y, u: -right.gradient(y, u),
    "order": lambda right: lambda y, u: right.gradient(u, y),
    "factor": lambda right: lambda y, u: 2 * right.gradient(y, u),
    "one side": lambda right: lambda y, u: np.where(y > u, -1, 1) * right.gradient(y, u),
    "none": lambda right: lambda y, u: 0 * u,
    "NaN": lambda right: lambda y, u: np.where(y == y.max(), np.nan, right.gradient(y, u)),
    "shape": lambda right: lambda y, u: right.gradient(y, u)[:, None],
}
MESSAGES = {
    "sign": "has the opposite sign of the difference of its value",
    "one side": "has the opposite sign of the difference of its value",
    "order": "derivative of value.y, u. in the scores u, its second argument",
    "NaN": "returns NaN for y=",
    "shape": "must have shape",
}


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3, 1e6, 1e30])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["squared", "quantile", "log-cosh", "not convex"])
def test_wrong_gradients_are_refused(name, wrong, unit):
    right = RIGHT[name]
    loss = as_loss(Given(right.value, WRONG[wrong](right)))
    rng = np.random.default_rng(1)
    for n in (3, 200):
        y = unit * rng.standard_normal(n)
        for u in (np.zeros(n), np.full(n, y.mean())):
            message = MESSAGES.get(wrong, "is not the difference of its value")
            with pytest.raises(ValueError, match=message):
                check_derivatives(loss, y, u)


class Untouched(RegressorMixin, BaseEstimator):
    """A learner that must not be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("a round was made")

    def predict(self, X):
        raise AssertionError("a round was made")


CASES = [
    (GradientBoostingRegressor, {"estimator": Untouched()}, SQUARED),
    (GradientBoostingRegressor, {"step": "newton"}, PseudoHuber()),
    (GradientBoostingRegressor, {"n_estimators": "cv"}, SQUARED),
    (GradientBoostingRegressor, {"init": "zero", "estimator": Untouched()}, SQUARED),
    (GradientBoostingClassifier, {"estimator": Untouched()}, LOGISTIC),
    (AdditiveBoostingRegressor, {}, SQUARED),
    (AdditiveBoostingRegressor, {"n_estimators": "cv"}, PseudoHuber()),
    (FrankWolfeRegressor, {}, SQUARED),
    (FrankWolfeRegressor, {"estimator": Untouched(), "fit_intercept": False}, PseudoHuber()),
    (FrankWolfeRegressor, {"radius": "cv"}, SQUARED),
    (FrankWolfeClassifier, {}, LOGISTIC),
]


def rows(of_classes=False):
    rng = np.random.default_rng(0)
    X = rng.random((120, 3))
    y = 5 * X[:, 0] + rng.standard_normal(120)
    return X, (y > y.mean()).astype(int) if of_classes else y


@pytest.mark.parametrize("wrong", ["sign", "order", "NaN", "shape"])
@pytest.mark.parametrize(("cls", "params", "right"), CASES)
def test_every_family_says_what_is_wrong(cls, params, right, wrong):
    """Before, it was blamed on the learning rate, missing values or large coefficients."""
    of_classes = cls.__name__.endswith("Classifier")
    loss = Given(right.value, WRONG[wrong](right), getattr(right, "hessian", None))
    message = MESSAGES[wrong]
    model = cls(loss=loss, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(*rows(of_classes))
    X, y = rows(of_classes)
    if "offset" in model.fit.__code__.co_varnames and "init" not in params:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, offset=X[:, 1])


def test_a_gradient_without_a_number_in_a_later_round():
    """The values of leaves become targets, where 0 is divided by 0."""

    def gradient(y, u):
        with np.errstate(invalid="ignore"):
            return (u - y) / abs(u - y)

    X, y = rows()
    with pytest.raises(ValueError, match=r"Given.gradient\(y, u\) may be NaN for scores"):
        GradientBoostingRegressor(loss=Given(lambda y, u: abs(y - u), gradient)).fit(X, y)


def test_a_value_without_a_number():
    X, y = rows()
    loss = Given(lambda y, u: np.where(y > 0, np.nan, y), lambda y, u: u - y)
    with pytest.raises(ValueError, match=r"value\(y, u\) returns NaN for y="):
        GradientBoostingRegressor(loss=loss).fit(X, y)


@pytest.mark.parametrize("cls", [GradientBoostingRegressor, FrankWolfeRegressor])
def test_a_second_derivative_of_the_other_sign(cls):
    loss = Given(SQUARED.value, SQUARED.gradient, lambda y, u: -np.ones(len(u)))
    with pytest.raises(ValueError, match="the hessian of Given has the opposite sign"):
        cls(loss=loss).fit(*rows())


def test_a_loss_of_lists():
    """Cox's partial likelihood: the value at a row depends on the scores of the others."""

    def value(y, u):
        later = np.cumsum(np.exp(u[np.argsort(-y)]))[np.argsort(np.argsort(-y))]
        return np.log(later) - u

    def gradient(y, u):
        order = np.argsort(-y)
        shares = 1 / np.cumsum(np.exp(u[order]))
        return np.exp(u) * np.cumsum(shares[::-1])[::-1][np.argsort(order)] - 1

    X, y = rows()
    check_derivatives(as_loss(Given(value, gradient)), y, X[:, 1])
    with pytest.raises(ValueError, match="the gradient of Given"):
        check_derivatives(as_loss(Given(value, lambda y, u: -gradient(y, u))), y, X[:, 1])


class Softmax(losses.Loss):
    """The multinomial loss of three classes, as a subclass of a user."""

    sign = 1.0

    def n_scores(self, n_classes):
        return n_classes

    def value(self, y, u):
        return -np.log(softmax(u, axis=1)[np.arange(len(y)), y])

    def gradient(self, y, u):
        return self.sign * (softmax(u, axis=1) - np.eye(u.shape[1])[y])

    def initial_scores(self, y, sample_weight, n_classes):
        return np.zeros(n_classes)


class WrongSoftmax(Softmax):
    sign = -1.0


def test_several_scores():
    X, y = rows()
    codes = np.digitize(y, [1.0, 4.0])
    settings = {"n_estimators": 2, "max_depth": 2}
    model = GradientBoostingClassifier(loss=Softmax(), **settings).fit(X, codes)
    assert model.score(X, codes) > 0.6
    with pytest.raises(ValueError, match="the gradient of WrongSoftmax has the opposite sign"):
        GradientBoostingClassifier(loss=WrongSoftmax(), **settings).fit(X, codes)


def test_losses_of_the_package_are_not_looked_at(monkeypatch):
    def value(self, y, u):
        raise AssertionError("a check")

    monkeypatch.setattr(losses.SquaredLoss, "value", value)
    check_derivatives(losses.SquaredLoss(), np.zeros(3), np.zeros(3))


def test_few_evaluations():
    n_calls = []

    def value(y, u):
        n_calls.append(len(y))
        return SQUARED.value(y, u)

    y = np.random.default_rng(0).standard_normal(1000)
    check_derivatives(as_loss(Given(value, SQUARED.gradient)), y)
    assert n_calls == [1000] * len(n_calls)
    assert len(n_calls) <= 4


def test_a_weight_for_each_row():
    """A loss may hold weights of the rows of the fit: it is asked about all of them, not a few."""
    y = rows()[1]
    w = np.random.default_rng(3).random(120)
    loss = Given(lambda y, u: w * (y - u) ** 2, lambda y, u: 2 * w * (u - y))
    check_derivatives(as_loss(loss), y)


def test_blocks_of_rows():
    da = pytest.importorskip("dask.array")
    X, y = rows()
    chunked = da.from_array(X, chunks=(40, 3)), da.from_array(y, chunks=40)
    loss = Given(PseudoHuber().value, WRONG["sign"](PseudoHuber()), PseudoHuber().hessian)
    for model in (
        GradientBoostingRegressor(loss=loss, init="zero"),
        AdditiveBoostingRegressor(loss=loss),
    ):
        with pytest.raises(ValueError, match="has the opposite sign"):
            model.fit(*chunked)
