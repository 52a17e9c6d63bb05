"""Categories of few rows in additive models: identifiers, rounds by hand, weights."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import log_loss

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier

from .l2_boosting_data import PLAIN


def with_identifier(n, seed):
    """A feature with a signal, and 600 categories without one."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(n), rng.integers(0, 600, n)])
    return X, 2 * np.sin(12 * X[:, 0]) + 0.7 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [600, 1200])
def test_identifiers_are_no_better_than_a_signal(n):
    """With means as they are R² is 0.06 and 0.37, and the log-loss 0.69 and 0.55."""
    (X, y), (new, truth) = with_identifier(n, 0), with_identifier(4000, 1)
    given = {"learning_rate": 0.03, "categorical_features": [1], **PLAIN}
    model = L2BoostingRegressor(300, **given).fit(X, y)
    assert model.score(new, truth) > 0.65
    alone = L2BoostingRegressor(300, **given, exclude=[1]).fit(X, y)
    assert model.score(new, truth) > alone.score(new, truth) - 0.01
    classifier = LogitBoostClassifier(300, **given).fit(X, y > 0)
    assert log_loss(truth > 0, classifier.predict_proba(new)) < 0.45


def weighted_rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.choice(6, 60, p=[0.5, 0.25, 0.1, 0.07, 0.05, 0.03]).astype(float)[:, None]
    weight = rng.integers(1, 4, 60).astype(float)
    return X, rng.standard_normal(60) + 2 * (X[:, 0] > 3), weight


def best_set(x, residual, weight):
    """The sides of the set of the largest gain of shrunk means, of all sets."""
    labels = np.unique(x)
    total = np.array([weight[x == c].sum() for c in labels])
    mean = np.array([np.average(residual[x == c], weights=weight[x == c]) for c in labels])
    shrunk, best, found = mean * total / (total + 10), 0.0, None
    for side in product([False, True], repeat=len(labels)):
        side = np.array(side)
        if not side.any() or side.all():
            continue
        gap = np.average(shrunk[side], weights=total[side]) - np.average(
            shrunk[~side], weights=total[~side]
        )
        gain = gap**2 * total[side].sum() * total[~side].sum()
        if gain > best:
            best, found = gain, np.isin(x, labels[side])
    return found


@pytest.mark.parametrize("unit", [0.5, 1.0, 3.0])
def test_rounds_by_hand(unit):
    """10 rows count in weights of rows, and the sides of a set get their own means."""
    X, y, weight = weighted_rows()
    weight *= unit
    model = L2BoostingRegressor(4, learning_rate=0.5, categorical_features=[0], **PLAIN)
    model.fit(X, y, weight)
    expected = np.full(len(y), np.average(y, weights=weight))
    for found in model.staged_predict(X):
        side = best_set(X[:, 0], y - expected, weight)
        for own in (side, ~side):
            expected[own] += 0.5 * np.average((y - expected)[own], weights=weight[own])
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rounds_of_log_odds_by_hand():
    """Ten rows are ten, whatever their second derivatives are."""
    X, y, weight = weighted_rows()
    y = y > 1
    model = LogitBoostClassifier(1, learning_rate=0.5, categorical_features=[0], **PLAIN)
    model.fit(X, y, weight)
    share = np.average(y, weights=weight)
    side = best_set(X[:, 0], y - share, weight)
    u = model.decision_function(X)
    for own in (side, ~side):
        step = 0.5 * np.average(y[own] - share, weights=weight[own]) / (share * (1 - share))
        np.testing.assert_allclose(np.diff(u[own]), 0, atol=1e-12)
        np.testing.assert_allclose(u[own][0] - np.log(share / (1 - share)), step, atol=0.02)


@pytest.mark.parametrize("estimator", [L2BoostingRegressor, LogitBoostClassifier])
def test_integer_weights_are_repeated_rows(estimator):
    X, y, weight = weighted_rows()
    y = y if estimator is L2BoostingRegressor else y > 1
    model = estimator(20, learning_rate=0.3, categorical_features=[0], **PLAIN)
    found = model.fit(X, y, weight).shape_functions_[0][1]
    times = weight.astype(int)
    again = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).shape_functions_[0][1]
    np.testing.assert_allclose(found, again, atol=1e-10)
