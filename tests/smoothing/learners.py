"""One linear learner of every kind, data for them, and the boosting loop written out."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sklearn_ensemble_theory import NadarayaWatsonRegressor, SmoothingSplineRegressor

LEARNERS = {
    "spline": SmoothingSplineRegressor(df=4),
    "spline of order 1": SmoothingSplineRegressor(penalty=0.5, order=1),
    "gaussian": NadarayaWatsonRegressor(0.4),
    "epanechnikov": NadarayaWatsonRegressor(0.6, kernel="epanechnikov"),
    "tricube": NadarayaWatsonRegressor(kernel="tricube"),
    "uniform": NadarayaWatsonRegressor(0.6, kernel="uniform"),
    "ridge": Ridge(alpha=3.0),
    "kernel ridge": KernelRidge(alpha=0.5, kernel="rbf", gamma=2.0),
    "neighbours": KNeighborsRegressor(4),
    "weighted neighbours": KNeighborsRegressor(5, weights="distance"),
    "gaussian process": GaussianProcessRegressor(
        RBF(0.7, "fixed") + WhiteKernel(0.5, "fixed"), optimizer=None
    ),
    "pipeline": make_pipeline(StandardScaler(), PolynomialFeatures(3), Ridge(alpha=5.0)),
}


def loop(learner, X, y, learning_rate, n_rounds, points, init="mean", w=None):
    """[Dombry and Esstafa, eq. (2)] at `points` after each of the rounds 0..n, nothing cached."""
    start = (np.average(y, weights=w)) if init == "mean" else 0.0
    params = {} if w is None else {"sample_weight": w}
    fitted, at_points = np.full(len(y), start), np.full(len(points), start)
    path = [at_points]
    for _ in range(n_rounds):
        model = clone(learner).fit(X, y - fitted, **params)
        fitted = fitted + learning_rate * model.predict(X)
        at_points = at_points + learning_rate * model.predict(points)
        path.append(at_points)
    return np.array(path).T


def hat(learner, X, points):
    """g_j(x) at the points, one fit to one unit vector at a time."""
    return np.column_stack([clone(learner).fit(X, e).predict(points) for e in np.eye(len(X))])


every_learner = pytest.mark.parametrize("name", LEARNERS)


def make_data(n=30, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, p))
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, -1] + 0.3 * rng.standard_normal(n)
    return X, y, rng.uniform(-1.3, 1.3, size=(15, p))
