"""Estimators and draws of known bias and variance, quick enough for many repetitions."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class LinearSmoother(RegressorMixin, BaseEstimator):
    """S y with a given matrix, at the points of a fixed design."""

    def __init__(self, S=None):
        self.S = S

    def fit(self, X, y):
        self.fitted_ = self.S @ y
        return self

    def predict(self, X):
        return self.fitted_


class Scripted(ClassifierMixin, BaseEstimator):
    """Predicts the training targets, whatever X is."""

    def fit(self, X, y):
        self.y_ = np.asarray(y)
        return self

    def predict(self, X):
        return self.y_


@dataclass
class FixedDesign:
    """y = f + noise at points that do not change."""

    x: np.ndarray
    f: np.ndarray
    sigma: float

    def __call__(self, random_state):
        rng = np.random.RandomState(random_state)
        return self.x[:, None], self.f + self.sigma * rng.standard_normal(len(self.f)), self.f


@dataclass
class Script:
    """Labels at m points drawn from given probabilities (m, K); remembers what it returned."""

    probabilities: np.ndarray
    labels: np.ndarray

    def __post_init__(self):
        self.seen = []

    def __call__(self, random_state):
        rng = np.random.RandomState(random_state)
        u = rng.uniform(size=(len(self.probabilities), 1))
        codes = (u > np.cumsum(self.probabilities, axis=1)).sum(axis=1)
        self.seen.append(self.labels[codes])
        return np.zeros((len(codes), 1)), self.labels[codes]


def ridge_matrix(x, penalty):
    """The hat matrix of a ridge regression on a cubic polynomial."""
    Z = np.vander(x, 4)
    return Z @ np.linalg.solve(Z.T @ Z + penalty * np.eye(4), Z.T)
