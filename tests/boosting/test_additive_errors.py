"""Standard errors of shapes: the jackknife over folds, and simulations."""

import numpy as np
import pytest
from scipy.special import expit

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier

EDGES = [np.linspace(-0.8, 0.8, 9)] * 2


def test_errors_are_too_small_for_new_rows():
    """The number of rounds is chosen by the same folds, and the curves are centred by the rows."""
    rng = np.random.default_rng(2)
    shapes, errors = [], []
    for _ in range(40):
        X = rng.uniform(-1, 1, (200, 2))
        y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * rng.standard_normal(200)
        fitted = L2BoostingRegressor("cv", bin_edges=EDGES).fit(X, y)
        shapes.append(np.concatenate([values for _, values in fitted.shape_functions_]))
        errors.append(np.concatenate(fitted.shape_standard_errors_))
    found = np.sqrt(np.mean(np.square(errors), axis=0))
    assert 2 / 3 < np.mean(found / np.std(shapes, axis=0, ddof=1)) < 0.95


@pytest.mark.parametrize("model", [L2BoostingRegressor, LogitBoostClassifier])
def test_errors_are_those_of_new_targets(model):
    """Root mean squares over fits to new targets of the same rows, the number of rounds fixed.

    Errors from 5 groups are random: of 4 degrees of freedom, their mean is 6 % below that root.
    """
    rng = np.random.default_rng(1)
    n, n_fits = (200, 40) if model is L2BoostingRegressor else (800, 30)
    X = rng.uniform(-1, 1, (n, 2))
    truth = 2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    fit = model("cv", smoothing_rounds=15, max_estimators=1, bin_edges=EDGES).fit
    shapes, errors = [], []
    for _ in range(n_fits):
        noise = 0.5 * rng.standard_normal(n)
        y = truth + noise if model is L2BoostingRegressor else rng.random(n) < expit(truth)
        fitted = fit(X, y)
        shapes.append(np.concatenate([values for _, values in fitted.shape_functions_]))
        errors.append(np.concatenate(fitted.shape_standard_errors_))
    found = np.sqrt(np.mean(np.square(errors), axis=0))
    assert np.mean(found / np.std(shapes, axis=0, ddof=1)) == pytest.approx(1, abs=0.15)
