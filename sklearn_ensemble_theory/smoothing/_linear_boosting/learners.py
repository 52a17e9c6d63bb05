"""Any regressor that is linear in y, seen through its outputs g_j on the unit vectors (002, (4)).

A bank holds the learner in one or several settings: all the data; subsets of the rows; one feature
at a time. Its output is the average over the settings, which is the learner L-bar whose boosting is
the limit of the stochastic algorithm (002, corollary 3.5).
"""

import warnings

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

__all__ = ["Bank", "check_linear", "weight_keyword"]


def weight_keyword(estimator):
    """The name by which `estimator.fit` takes row weights, or None."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, Pipeline) and has_fit_parameter(estimator[-1], "sample_weight"):
        return f"{estimator.steps[-1][0]}__sample_weight"
    return None


def check_linear(estimator, X, fit_params):
    """Refuse, by name, a regressor whose predictions are not linear in y.

    Checked at training rows and halfway between pairs of them (a full tree interpolates, and so is
    linear at the rows themselves), at most 1,000 in all: L(0) = 0, and L(u + c v) = L(u) + c L(v)
    for random u, v and c = 1000. One target at a time, because a tree fitted to several targets
    shares its splits.
    """
    name = type(estimator).__name__
    if not is_regressor(estimator):
        raise ValueError(f"estimator={name} is not a regressor.")
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, len(X)))
    points = np.vstack([X, X / 2 + X[rng.permutation(len(X))] / 2])
    points = points[rng.permutation(len(points))[:1000]]

    def L(y):
        return np.asarray(clone(estimator).fit(X, y, **fit_params).predict(points))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about targets that nobody asked to be fitted
        zero, at_u, at_v, at_both = (L(y) for y in (np.zeros(len(X)), u, v, u + 1000.0 * v))
    size = max(np.abs(at_u).max(), np.abs(at_v).max(), 1e-3)
    if not all(np.isfinite(out).all() for out in (zero, at_u, at_v, at_both)):
        raise ValueError(f"estimator={name} predicts numbers that are not finite.")
    if (
        np.abs(zero).max() > 1e-8 * size
        or np.abs(at_u + 1000.0 * at_v - at_both).max() > 1e-6 * 1000.0 * size
    ):
        raise ValueError(
            f"estimator={name} is not linear in y: its fit to a sum of targets is not the sum of "
            "its fits. Boosting has a closed form for linear smoothers only."
        )


class Columns:
    """The learner fitted to each column of a matrix of targets."""

    def __init__(self, estimator, X, Y, fit_params, n_jobs=None):
        if Y.shape[1] == 1 or not get_tags(estimator).target_tags.multi_output:
            self.estimators = Parallel(n_jobs=n_jobs)(
                delayed(_fit)(estimator, X, y, fit_params) for y in Y.T
            )
        else:
            self.estimators = [_fit(estimator, X, Y, fit_params)]

    def predict(self, X):
        """Shape (len(X), number of targets)."""
        return np.column_stack([np.asarray(e.predict(X)) for e in self.estimators])


def _fit(estimator, X, y, fit_params):
    return clone(estimator).fit(X, np.ascontiguousarray(y), **fit_params)


class Bank:
    """A learner in equally likely settings (rows, columns); `None` stands for all of them."""

    def __init__(self, estimator, X, w, keyword, settings, n_jobs=None):
        self.estimator, self.X, self.w = estimator, X, w
        self.keyword, self.settings, self.n_jobs = keyword, settings, n_jobs

    def _data(self, setting):
        rows, columns = setting
        X = self.X if rows is None else self.X[rows]
        w = self.w if rows is None else self.w[rows]
        params = {} if self.keyword is None else {self.keyword: w}
        return (X if columns is None else X[:, columns]), params

    def fit_setting(self, setting, Y):
        """The learner in one setting, fitted to the columns of Y (all rows given)."""
        X, params = self._data(setting)
        targets = Y if setting[0] is None else Y[setting[0]]
        return Columns(self.estimator, X, targets, params, self.n_jobs)

    def fit(self, Y):
        """The learner fitted to the columns of Y in every setting."""
        return FittedBank([(self.fit_setting(s, Y), s[1]) for s in self.settings])

    def hats(self, X=None):
        """g_j(x_i) in each setting in turn: (len(X), number of training rows)."""
        X = self.X if X is None else X
        n = len(self.X)
        for setting in self.settings:
            rows, columns = setting
            inputs, params = self._data(setting)
            unit = Columns(self.estimator, inputs, np.eye(len(inputs)), params, self.n_jobs)
            G = unit.predict(X if columns is None else X[:, columns])
            if rows is None:
                yield G
            else:
                full = np.zeros((len(X), n))
                full[:, rows] = G
                yield full

    def hat(self, X=None):
        """The average of `hats`, g-bar_j(x_i)."""
        total = 0.0
        for G in self.hats(X):
            total = total + G
        return total / len(self.settings)


class FittedBank:
    """The average prediction of learners fitted in several settings."""

    def __init__(self, fitted):
        self.fitted = fitted

    def predict(self, X):
        """Shape (len(X), number of targets)."""
        total = 0.0
        for part in self.parts(X):
            total = total + part
        return total / len(self.fitted)

    def parts(self, X):
        """Predictions of each setting."""
        for columns_fit, columns in self.fitted:
            yield columns_fit.predict(X if columns is None else X[:, columns])
