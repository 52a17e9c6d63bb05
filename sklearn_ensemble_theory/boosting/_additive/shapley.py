"""Exact Shapley values of a fitted additive model, from its tables.

The background is the distribution of the training rows: v(S) is the mean prediction for rows whose
features in S are those of x and whose other features are those of a training row (the
"interventional" game). The Shapley values of a sum are the sums of those of its terms:

- a main effect f_j adds f_j(x_j) - E f_j(X_j) to feature j, and nothing to the others;
- a pair f_ab adds to a the mean of its two orders, half of v(a) - v() + v(ab) - v(b), that is of E
  f_ab(x_a, X_b) - E f_ab(X_a, X_b) + f_ab(x_a, x_b) - E f_ab(X_a, x_b). It is half of the term
  where the means over each of the two features are 0.

All means are over bins, with the training weights of the bins: no row of the background is needed,
and the values are exact.
"""

import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import AdditiveEstimator, ArrayLike

from ..._features import feature_names

# --- Shapley values -------------------------------------------------------------------------------


def shapley_values(estimator: AdditiveEstimator, X: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of each feature, and the mean prediction of the training rows, ``base``.

    ``base + values.sum(axis=1)`` is the prediction of a regressor, and the log-odds or scores of a
    classifier, for which values have a last axis of three or more classes.
    """
    features = [tuple(map(int, f)) for f in estimator.term_features_]
    # The same model with a feature's share of each term as its value: of the first feature of the
    # term, then of the second one, 0 for main effects.
    own: Any = copy.copy(estimator)
    other: Any = copy.copy(estimator)
    own.shape_functions_, other.shape_functions_ = [], []
    base = np.asarray(estimator.intercept_, dtype=float).squeeze()
    for (edges, values), weights in zip(estimator.shape_functions_, estimator.bin_weights_):
        values, weights = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
        mean, shares = _shares(values, weights)
        base = base + mean
        own.shape_functions_.append((edges, shares[0]))
        second = shares[-1] if len(shares) > 1 else np.zeros_like(shares[0])
        other.shape_functions_.append((edges, second))
    terms = own.predict_terms(X)
    result = np.zeros((terms.shape[0], estimator.n_features_in_, *terms.shape[2:]))
    for t, f in enumerate(features):
        result[:, f[0]] += terms[:, t]
    pairs = [t for t, f in enumerate(features) if len(f) == 2]
    if pairs:
        terms = other.predict_terms(X)
        for t in pairs:
            result[:, features[t][1]] += terms[:, t]
    return result, base


def _shares(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Average a term, and tabulate the Shapley values of each of its features."""
    total = weights.sum()
    extra = values.ndim - weights.ndim  # an axis of classes
    joint = (weights / total).reshape(weights.shape + (1,) * extra)
    mean = (joint * values).sum(axis=tuple(range(weights.ndim)))
    if weights.ndim == 1:
        return mean, [values - mean]
    # The marginal weights of each feature: v of a single feature does not see their dependence.
    of_a, of_b = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    given_a = (of_b * values).sum(axis=1, keepdims=True)
    given_b = (of_a * values).sum(axis=0, keepdims=True)
    both = values - mean
    difference = given_a - given_b
    return mean, [0.5 * (both + difference), 0.5 * (both - difference)]


def explain_terms(estimator: AdditiveEstimator, X: Any) -> Any:
    """`shapley_values` as a `shap.Explanation`."""
    check_is_fitted(estimator)
    try:
        from shap import Explanation
    except ImportError as error:
        raise ImportError(
            f"{type(estimator).__name__}.explain requires shap: pip install shap."
        ) from error
    values, base = shapley_values(estimator, X)
    classes = [str(c) for c in estimator.classes_] if values.ndim == 3 else None
    return Explanation(
        values,
        base_values=np.broadcast_to(base, (len(values), *base.shape)).copy(),
        data=X.toarray() if issparse(X) else np.asarray(X),
        feature_names=feature_names(estimator),
        output_names=classes,
    )
