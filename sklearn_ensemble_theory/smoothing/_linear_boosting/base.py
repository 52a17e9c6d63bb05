"""From a learner and data to the closed form of its boosting, and from there to a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_ensemble_theory.smoothing._kernel.estimators import NadarayaWatsonRegressor
from sklearn_ensemble_theory.smoothing._linear_boosting.criteria import CRITERIA, discrepancy
from sklearn_ensemble_theory.smoothing._linear_boosting.dynamics import (
    DenseDynamics,
    LowRankDynamics,
    random_coordinate_form,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.learners import Bank, check_linear
from sklearn_ensemble_theory.smoothing._linear_boosting.spectral import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting.stochastic import row_subsets, rows_a_round
from sklearn_ensemble_theory.smoothing._spline.estimators import SmoothingSplineRegressor

__all__ = [
    "DENSE_ROWS",
    "Boosting",
    "criterion_path",
    "default_times",
    "fold_error",
    "whole_rounds",
]

DENSE_ROWS = 5000
"""Above this many rows no n x n matrix is built."""


@dataclass(frozen=True)
class Boosting:
    """What is boosted, and how; the data come later, whole or by folds."""

    learner: Any
    coordinates: str
    subsample: float
    n_subsamples: int
    init_mean: bool
    learning_rate: float
    seed: int
    n_jobs: int | None

    def dynamics(self, X, y, w, keyword):
        """The closed form for these rows; `keyword` names the learner's weights, if it gets any."""
        weights = w if keyword is not None else np.ones(len(w))
        whole = rows_a_round(self.subsample, len(y)) == len(y)
        if isinstance(self.learner, SmoothingSplineRegressor):
            self.learner._validate_params()
            self.learner._check_linear()
            if whole and (weights is w or (w == 1).all()):
                return self._of_splines(X, y, w)
        if len(y) > DENSE_ROWS:
            raise ValueError(
                f"{len(y)} rows: boosting {type(self.learner).__name__} in closed form needs a "
                f"matrix of n rows and columns, built for up to {DENSE_ROWS}. "
                "SmoothingSplineRegressor with df or penalty, all rows in each round, needs none."
            )
        return self._of_any(X, y, w, weights, keyword, whole)

    def _of_splines(self, X, y, w):
        if self.coordinates == "random":
            forms = [self.learner._centred_form(X[:, [j]], w) for j in range(X.shape[1])]
            design, T, mu = random_coordinate_form(forms, X, w)
        else:
            form = self.learner._centred_form(X, w)
            s = form.shrinkage(1.0)
            design, T, mu = form.design, form.T * np.sqrt(s), form.gamma * s
        return LowRankDynamics(design, T, mu, X, y, w, self.init_mean, self.learning_rate)

    def _of_any(self, X, y, w, weights, keyword, whole):
        rng = np.random.RandomState(self.seed)
        size = rows_a_round(self.subsample, len(y))
        subsets = row_subsets(len(y), size, self.n_subsamples, rng)
        columns = [None] if self.coordinates == "all" else [[j] for j in range(X.shape[1])]
        settings = [(rows, c) for rows in subsets for c in columns]
        bank = Bank(self.learner, X, weights, keyword, settings, self.n_jobs)
        metric = None
        if isinstance(self.learner, NadarayaWatsonRegressor):
            self.learner._check_linear()
            if whole and self.coordinates == "all":
                S, metric = clone(self.learner).fit(X, np.zeros(len(y)), weights)._metric_form()
                if weights is not w:
                    metric = None  # symmetric in the learner's weights, not in these
            else:
                S = bank.hat()
        else:
            params = {} if keyword is None else {keyword: weights}
            check_linear(self.learner, X if self.coordinates == "all" else X[:, :1], params)
            S = bank.hat()
        return DenseDynamics(bank, S, metric, y, w, self.init_mean, self.learning_rate)


def default_times(dynamics, learning_rate):
    """0 and 200 times in geometric progression, in units of the inverse of the largest |mu|.

    An unstable learner's fit grows exponentially: the times stop before it is all that is left.
    """
    mu = dynamics.eigenvalues
    unit = np.abs(mu).max() or 1.0
    times = np.r_[0.0, np.geomspace(1e-2, 1e6, 200) / unit]
    growth = -mu.real.min()
    if learning_rate > 0:
        growth = np.log(max(np.abs(1.0 - learning_rate * mu).max(), 1e-300)) / learning_rate
    return times[growth * times <= 20.0] if growth > 0 else times


def whole_rounds(times, learning_rate):
    """The times that a learning rate allows: whole numbers of rounds."""
    return np.unique(n_rounds(times, learning_rate)) * learning_rate


def criterion_path(name, dynamics, pure, times, noise_level):
    """The criterion at each time; `pure` is the sum of squares hidden by ties in X."""
    if name == "loo":
        path = dynamics.loo_error(times)
        return np.where(np.isfinite(path), path, np.inf)
    rss, df = dynamics.summary(times)
    if name == "discrepancy":
        return discrepancy((rss + pure) / dynamics.n, noise_level)
    # Rows count with the weight that they have on average.
    unit = dynamics.n_rows / dynamics.n
    return CRITERIA[name](rss * unit, df, dynamics.n_rows, dynamics.total * unit)


def fold_error(boosting, X, y, w, keyword, times, train, test):
    """Weighted squared error on one fold at each time."""
    dynamics = boosting.dynamics(X[train], y[train], w[train], keyword)
    prediction = dynamics.predictor(times).predict(X[test])
    with np.errstate(over="ignore", invalid="ignore"):
        error = w[test] @ (y[test, None] - prediction) ** 2
    return np.where(np.isfinite(error), error, np.inf)
