"""Settings and learners of the tests of gradient boosting."""

import numpy as np
from sklearn.base import BaseEstimator

REGRESSION = ["squared_error", "absolute_error", "huber", "quantile", "poisson"]
BINARY = ["log_loss", "exponential", "hinge"]


class BestColumn(BaseEstimator):
    """The column of X, with a sign, that has the largest inner product with the target."""

    def fit(self, X, y):
        products = X.T @ y
        self.column_ = int(np.argmax(np.abs(products)))
        self.sign_ = np.sign(products[self.column_]) or 1.0
        return self

    def predict(self, X):
        return self.sign_ * X[:, self.column_]
