"""Displays of linear L2-boosting: what they draw is what the model returns."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from sklearn_ensemble_theory import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.datasets import make_tent
from sklearn_ensemble_theory.inspection import BoostingPathDisplay, SmootherSpectrumDisplay


@pytest.fixture
def model():
    return LinearL2BoostingRegressor().fit(*make_tent(60, random_state=0))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def f(X):
    return 1 - np.abs(2 * np.abs(X[:, 0]) - 1)


def test_path(model):
    X, y = make_tent(50, random_state=1)
    times = np.geomspace(0.1, 100, 20)
    display = BoostingPathDisplay.from_estimator(model, X, y, f=f, sigma=0.5, times=times)
    assert list(display.lines_) == ["training", "test", "expected test"]
    for line in display.lines_.values():
        np.testing.assert_array_equal(line.get_xdata(), times)
    test = [np.mean((y - model.predict_path(X, [t])[:, 0]) ** 2) for t in times]
    np.testing.assert_allclose(display.lines_["test"].get_ydata(), test)
    np.testing.assert_allclose(display.lines_["training"].get_ydata(), model.training_error(times))
    np.testing.assert_allclose(
        display.lines_["expected test"].get_ydata(), model.bias_variance(f, 0.5, times).test
    )
    assert display.ax_.get_xscale() == "log"
    marked = display.ax_.lines[-1].get_xdata()
    np.testing.assert_allclose(marked, model.time_)
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax


def test_path_refusals(model):
    X, y = make_tent(50, random_state=1)
    with pytest.raises(ValueError, match="X_test and y_test must be given together"):
        BoostingPathDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="f and sigma must be given together"):
        BoostingPathDisplay.from_estimator(model, f=f)
    with pytest.raises(TypeError, match="got Ridge"):
        BoostingPathDisplay.from_estimator(Ridge().fit(X, y))
    with pytest.raises(NotFittedError):
        BoostingPathDisplay.from_estimator(LinearL2BoostingRegressor())


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_spectrum_of_a_spline(rate):
    X, y = make_tent(60, random_state=0)
    model = LinearL2BoostingRegressor(learning_rate=rate, time=1.0).fit(X, y)
    display = SmootherSpectrumDisplay.from_estimator(model, times=[0, 2, 50], n_vectors=2)
    assert len(display.axes_) == 4
    # The coefficients sum to the degrees of freedom [Dombry and Esstafa, §4].
    np.testing.assert_allclose(
        display.coefficients.sum(axis=0), model.degrees_of_freedom([0, 2, 50]), rtol=1e-9
    )
    assert list(display.first) == [1, 2]
    assert len(display.last) == 2
    # Vectors are eigenvectors: one boosting step of S applied to them multiplies by mu.
    order = np.argsort(X[:, 0])
    for index, u in {**display.first, **display.last}.items():
        assert np.linalg.norm(u) == pytest.approx(1)
        step = LinearL2BoostingRegressor(learning_rate=1, time=1, init="zero").fit(X[order], u)
        np.testing.assert_allclose(
            step.predict(X[order]), model.eigenvalues_[index - 1] * u, atol=1e-8
        )
    np.testing.assert_array_equal(display.x, X[order, 0])


def test_first_eigenvectors_are_smooth_and_last_ones_are_not(model):
    """[Dombry and Esstafa, figures 5 and 6], with the changes of sign of [Demmler and Reinsch]."""
    display = SmootherSpectrumDisplay.from_estimator(model, times=[1], n_vectors=6)
    assert list(display.first) + list(display.last) == [*range(1, 7), *range(55, 61)]
    for index, u in display.first.items():
        assert np.count_nonzero(np.diff(np.sign(u))) == index - 1
        assert u[1:] @ u[:-1] > 0.7
    for u in display.last.values():
        assert u[1:] @ u[:-1] < 0  # differences of neighbours


def test_spectrum_of_other_learners():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 2))
    learner = KernelRidge(kernel="rbf", alpha=0.5)
    model = LinearL2BoostingRegressor(learner, time=1.0).fit(X, X[:, 0])
    display = SmootherSpectrumDisplay.from_estimator(model)
    S = np.column_stack([learner.fit(X, e).predict(X) for e in np.eye(30)])
    for index, u in {**display.first, **display.last}.items():
        np.testing.assert_allclose(S @ u, model.eigenvalues_[index - 1] * u, atol=1e-9)
    assert display.axes_[2].get_xlabel() == "row"
    with pytest.raises(ValueError, match="axes must have 4 elements"):
        display.plot([plt.figure().add_subplot()])


# Learners known by their matrix only. The constant is an eigenvector of the first three; in
# the pipeline it shares its eigenvalue with the straight line.
MATRIX_LEARNERS = {
    "ridge": Ridge(alpha=3.0),
    "Nadaraya-Watson": NadarayaWatsonRegressor(0.3),
    "pipeline": make_pipeline(SmoothingSplineRegressor(df=4)),
    "kernel ridge": KernelRidge(kernel="rbf", alpha=0.5, gamma=50.0),
    "ridge without intercept": Ridge(alpha=3.0, fit_intercept=False),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")
@pytest.mark.parametrize("init", ["mean", "zero"])
@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MATRIX_LEARNERS)
def test_coefficients_of_a_matrix_are_those_of_the_operator(name, weighted, rate, init):
    """[Dombry and Esstafa, eq. (27)]: the constant's coefficient is 1, and the sum is df."""
    rng = np.random.default_rng(0)
    X, n = rng.uniform(size=(25, 1)), 25
    learner = MATRIX_LEARNERS[name]
    w = rng.integers(1, 4, size=n) if weighted else None
    times = np.array([0.0, 0.5, 2.0, 40.0])
    make = LinearL2BoostingRegressor(learner, time=1.0, init=init, learning_rate=rate)
    model = clone(make).fit(X, X[:, 0], w)
    display = SmootherSpectrumDisplay.from_estimator(model, times=times)
    assert display.coefficients.shape == (n, 4)
    df = model.degrees_of_freedom(times)
    np.testing.assert_allclose(display.coefficients.sum(axis=0), df, rtol=1e-9, atol=1e-9)
    # The boosting operator itself, column by column, in the basis of the eigenvectors.
    H = np.stack([clone(make).fit(X, e, w).predict_path(X, times) for e in np.eye(n)], axis=1)
    _, U = model._path.eigenvectors(np.arange(n))
    diagonal = [np.linalg.solve(U, H[:, :, k] @ U).diagonal() for k in range(4)]
    np.testing.assert_allclose(display.coefficients, np.transpose(diagonal), atol=1e-9)
    if init == "mean" and "kernel" not in name and "without" not in name:
        np.testing.assert_array_equal(display.coefficients[0], 1)
        np.testing.assert_allclose(np.ptp(display.first[1]), 0, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")
@pytest.mark.parametrize("init", ["mean", "zero"])
def test_coefficients_without_a_basis_of_eigenvectors(init):
    """The eigenvalues of the operator: the constant is an eigenvector of a defective matrix too."""
    X = np.random.default_rng(0).uniform(size=(25, 1))
    model = LinearL2BoostingRegressor(KNeighborsRegressor(4), time=1.0, init=init).fit(X, X[:, 0])
    times = np.array([0.0, 0.5, 2.0])
    coefficients = model._path.coefficients(times)
    np.testing.assert_allclose(coefficients.sum(axis=0), model.degrees_of_freedom(times), atol=1e-9)
    with pytest.raises(ValueError, match="basis of eigenvectors"):
        SmootherSpectrumDisplay.from_estimator(model)


def test_without_matplotlib(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="plot"):
        BoostingPathDisplay.from_estimator(model)
