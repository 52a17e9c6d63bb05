"""Stability, bias and variance, by simulation [Dombry and Esstafa, propositions 2.11 to 2.15].

Each test also shows that the formula as printed fails it (see the errata).
"""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)

from .learners import LEARNERS, hat

pytestmark = pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")

N_SIMULATIONS = 20_000
CASES = {
    "spline": SmoothingSplineRegressor(df=4),
    "kernel ridge": LEARNERS["kernel ridge"],
    "gaussian": NadarayaWatsonRegressor(0.3),  # S is not symmetric
}


def f(X):
    return np.sin(4 * X[:, 0])


def setting(n=25):
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, size=(n, 1)), rng.uniform(-1, 1, size=(40, 1)), 0.3, rng


def simulate(learner, X, X_new, sigma, time, rng, init, rate=0.0):
    """Training, test and new-point errors of many samples; the operator is linear, so its matrix
    is found column by column and applied to all samples at once."""
    n = len(X)
    model = LinearL2BoostingRegressor(learner, time=time, init=init, learning_rate=rate)
    points = np.vstack([X, X_new])
    H = np.column_stack([model.fit(X, e).predict(points) for e in np.eye(n)])
    y = f(X)[:, None] + sigma * rng.standard_normal((n, N_SIMULATIONS))
    again = f(X)[:, None] + sigma * rng.standard_normal((n, N_SIMULATIONS))
    new = f(X_new)[:, None] + sigma * rng.standard_normal((len(X_new), N_SIMULATIONS))
    fitted = H @ y
    return (
        ((y - fitted[:n]) ** 2).mean(axis=0),
        ((again - fitted[:n]) ** 2).mean(axis=0),
        ((new - fitted[n:]) ** 2).mean(axis=0),
    )


def three_errors(sample):
    return 3 * sample.std() / np.sqrt(len(sample))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("init", "rate"), [("mean", 0.0), ("zero", 0.0), ("mean", 0.5)])
def test_expected_errors(name, init, rate):
    X, X_new, sigma, rng = setting()
    for time in (0.5, 4.0):
        samples = simulate(CASES[name], X, X_new, sigma, time, rng, init, rate)
        model = LinearL2BoostingRegressor(CASES[name], time=1.0, init=init, learning_rate=rate).fit(
            X, f(X)
        )
        out = model.bias_variance(f, sigma, [time], X_new)
        by_values = model.bias_variance(f(X), sigma, [time])
        assert by_values.test[0] == pytest.approx(out.test[0])
        for sample, value in zip(samples, (out.train, out.test, out.test_new)):
            assert abs(value[0] - sample.mean()) < three_errors(sample)
        assert out.train[0] == pytest.approx(out.bias2[0] + out.variance_train[0])


def test_proposition_2_13_as_printed_lacks_the_noise():
    """Part ii) of [Dombry and Esstafa, proposition 2.13] is right, part i) lacks a sigma^2."""
    X, X_new, sigma, rng = setting()
    learner, time, n = CASES["gaussian"], 4.0, len(X)
    _, test, _ = simulate(learner, X, X_new, sigma, time, rng, "mean")
    model = LinearL2BoostingRegressor(learner, time=1.0).fit(X, f(X))
    out = model.bias_variance(f, sigma, [time])
    printed = out.test[0] - sigma**2
    assert abs(out.test[0] - test.mean()) < three_errors(test)
    assert abs(printed - test.mean()) > 10 * three_errors(test)
    # The limits at time 0 and infinity.
    start, end = model.bias_variance(f, sigma, [0.0, 1e9]).variance_test
    assert start == pytest.approx(sigma**2 * (1 + 1 / n))
    spline = LinearL2BoostingRegressor(time=1.0).fit(X, f(X))
    assert spline.bias_variance(f, sigma, [1e14]).variance_test[0] == pytest.approx(2 * sigma**2)
    assert end <= 2 * sigma**2 * (1 + 1e-9)


def test_remark_2_14_as_printed():
    """Corrections of [Dombry and Esstafa, remark 2.14].

    From a zero start the variance of the fitted values is sum (1 - e^{-t mu})^2, not
    sum e^{-2 t mu}, the noise counts once more and there is no sigma^2/n; and the mean is not
    always the better start.
    """
    X, X_new, sigma, rng = setting()
    n, time = len(X), 4.0
    learner = CASES["kernel ridge"]
    S = hat(learner, X, X)
    mu, U = np.linalg.eigh((S + S.T) / 2)
    shrunk = np.exp(-2 * time * mu)
    bias2 = ((U.T @ f(X)) ** 2 * shrunk).sum() / n
    printed_train = bias2 + sigma**2 / n * shrunk.sum()
    printed_test = bias2 + sigma**2 / n + sigma**2 / n * shrunk.sum()
    corrected = bias2 + sigma**2 + sigma**2 / n * ((1 - np.exp(-time * mu)) ** 2).sum()
    train, test, _ = simulate(learner, X, X_new, sigma, time, rng, "zero")
    model = LinearL2BoostingRegressor(learner, time=1.0, init="zero").fit(X, f(X))
    out = model.bias_variance(f, sigma, [time])
    assert out.test[0] == pytest.approx(corrected, rel=1e-6)
    assert out.train[0] == pytest.approx(printed_train, rel=1e-6)  # this one is right
    assert abs(train.mean() - printed_train) < three_errors(train)
    assert abs(test.mean() - corrected) < three_errors(test)
    assert abs(test.mean() - printed_test) > 10 * three_errors(test)
    # "Always larger than from the mean": not when the mean of f is zero.
    values = f(X) - f(X).mean()
    start = {
        init: LinearL2BoostingRegressor(learner, time=1.0, init=init)
        .fit(X, values)
        .bias_variance(values, sigma, [time])
        .test[0]
        for init in ("mean", "zero")
    }
    assert start["zero"] < start["mean"]


def test_copies_of_rows_are_simulated_too():
    """The learner is fitted to means with smaller noise, the errors count every row."""
    X, X_new, sigma, rng = setting()
    X = np.vstack([X, X[:10], X[:4]])
    samples = simulate(CASES["spline"], X, X_new, sigma, 3.0, rng, "mean")
    model = LinearL2BoostingRegressor(CASES["spline"], time=1.0).fit(X, f(X))
    out = model.bias_variance(f, sigma, [3.0], X_new)
    for sample, value in zip(samples, (out.train, out.test, out.test_new)):
        assert abs(value[0] - sample.mean()) < three_errors(sample)


def test_shapes_of_the_curves():
    """Shapes in [Dombry and Esstafa, propositions 2.12 and 2.13]."""
    X, _, sigma, _ = setting()
    times = np.r_[0, np.geomspace(1e-3, 1e6, 100)]
    out = LinearL2BoostingRegressor(time=1.0).fit(X, f(X)).bias_variance(f, sigma, times)
    assert (np.diff(out.train) < 0).all()
    assert (np.diff(out.bias2) <= 1e-15).all()
    assert (np.diff(out.variance_test) > 0).all()
    assert out.test[1] < out.test[0]
    assert out.test[-1] > out.test[-2] > out.test.min()


def test_messages():
    X, X_new, _, _ = setting()
    model = LinearL2BoostingRegressor(time=1.0).fit(X, f(X))
    with pytest.raises(ValueError, match="one value for each row"):
        model.bias_variance(f(X)[:-1], 1.0, [1.0])
    with pytest.raises(ValueError, match="callable"):
        model.bias_variance(f(X), 1.0, [1.0], X_new)


# Stability, proposition 2.11


def test_an_unstable_learner_warns():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(size=(30, 1)), axis=0)
    learner = NadarayaWatsonRegressor(0.2, kernel="uniform")  # its transform is negative somewhere
    with pytest.warns(UserWarning, match=r"NadarayaWatsonRegressor is unstable: the eigenvalue -"):
        model = LinearL2BoostingRegressor(learner).fit(X, np.sin(6 * X[:, 0]))
    assert not model.is_stable_
    assert model.eigenvalues_.min() < 0
    with pytest.raises(ValueError, match="overflow"):
        model.predict_path(X, [1e5])
    assert LinearL2BoostingRegressor(Ridge()).fit(X, X[:, 0]).is_stable_


def test_a_zero_eigenvalue_keeps_fitted_values_bounded_only():
    """A zero eigenvalue with blocks of size one is stable [Dombry and Esstafa, proposition 2.11].

    The weights, and with independent g_j the predictions elsewhere, grow like t; the fitted values
    do not.
    """

    class Learner(Ridge):  # g_1(x) = 1/2 + x (x - 1), g_2(x) = 1/2 - x (x - 1) on x = 0, 1
        def fit(self, X, y):
            self.y_ = np.asarray(y)
            return self

        def predict(self, X):
            bump = X[:, 0] * (X[:, 0] - 1)
            return np.multiply.outer(0.5 + bump, self.y_[0]) + np.multiply.outer(
                0.5 - bump, self.y_[1]
            )

    X, y = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    model = LinearL2BoostingRegressor(Learner(), time=1.0).fit(X, y)
    assert model.is_stable_
    np.testing.assert_allclose(model.predict_path(X, [1.0, 1e6]), 0, atol=1e-9)
    middle = model.predict_path([[0.5]], [1.0, 10.0, 100.0])[0]
    np.testing.assert_allclose(middle, 0.5 * np.array([1.0, 10.0, 100.0]))
