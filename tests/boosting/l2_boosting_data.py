"""Data of the tests of L2-boosting of stumps, and the plain algorithm."""

import numpy as np

from sklearn_ensemble_theory import L2BoostingRegressor

# With a number as `n_estimators`: boosting of stumps alone, for which there are no folds.
PLAIN = {"smoothing_rounds": 0, "interactions": 0}


def quantile_edges(X, n_bins):
    """The thresholds of bins of equal weight."""
    return L2BoostingRegressor(1, max_bins=n_bins, **PLAIN).fit(X, X[:, 0]).bin_edges_


def left_of_cuts(X, edges):
    """Indicators of all cuts in all features (n, P), with each cut's feature and number."""
    names = [(j, c) for j, e in enumerate(edges) for c in range(len(e))]
    return np.column_stack([X[:, j] <= edges[j][c] for j, c in names]).astype(float), names


def plain_l2_boosting(X, y, edges, learning_rate, n_rounds, sample_weight=None):
    """Least squares on residuals over all stumps, round by round, over the rows.

    Returns the predictions on X after 0, 1, ... rounds and the stumps (j, c, left, right).
    """
    w = np.ones(len(y)) if sample_weight is None else sample_weight
    left, names = left_of_cuts(X, edges)
    left_weight = w @ left
    right_weight = w.sum() - left_weight
    prediction = np.full(len(y), np.average(y, weights=w))
    path, stumps = [prediction], []
    for _ in range(n_rounds):
        residual = w * (y - prediction)
        left_sum = residual @ left
        right_sum = residual.sum() - left_sum
        explained = left_sum**2 / left_weight + right_sum**2 / right_weight
        k = np.argmax(explained >= explained.max() * (1 - 1e-10))  # the first of those that tie
        a = learning_rate * left_sum[k] / left_weight[k]
        b = learning_rate * right_sum[k] / right_weight[k]
        prediction = prediction + np.where(left[:, k] == 1, a, b)
        path.append(prediction)
        stumps.append((*names[k], a, b))
    return np.array(path), stumps


def additive_data(n=300, p=5, decimals=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if decimals is not None:
        X = np.round(X, decimals)
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - np.maximum(X[:, 2], 0) + 0.5 * rng.standard_normal(n)
    return X, y
