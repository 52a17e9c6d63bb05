"""Fitted models that have a counterpart in scikit-learn, and the comparison with it."""

import numpy as np
from sklearn.datasets import load_diabetes

import sklearn_ensemble_theory as package

METHODS = ("predict", "predict_proba", "decision_function")
STAGED = ("staged_predict", "staged_predict_proba", "staged_decision_function")


def diabetes():
    """Rows to fit and other rows, with real targets, three classes and two."""
    X, y = load_diabetes(return_X_y=True)
    X = X[:300] * np.linspace(1, 20, X.shape[1])
    y = y[:300]
    targets = {
        "real": y,
        "many": np.array(["a", "b", "c"])[np.digitize(y, [100, 180])],
        "two": np.where(y > 130, 7, 3),
    }
    return X[:200], {name: t[:200] for name, t in targets.items()}, X[200:]


def kinds_of_targets(cls):
    return ["real"] if cls.__name__.endswith("Regressor") else ["many", "two"]


def assert_same_number(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind in "fc":
        found = found.reshape(expected.shape)
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size)
    else:
        np.testing.assert_array_equal(found, expected)


def assert_same_predictions(model, theirs, X):
    """Every method that both have; at least one of them."""
    compared = 0
    for name in METHODS:
        if hasattr(model, name) and hasattr(theirs, name):
            compared += 1
            mine, other = getattr(model, name)(X), getattr(theirs, name)(X)
            pairs = zip(mine, other) if isinstance(mine, list) else [(mine, other)]
            for expected, found in pairs:
                assert_same_number(found, expected)
    for name in STAGED:
        if hasattr(model, name) and hasattr(theirs, name):
            stages = [*getattr(model, name)(X)]
            others = [*getattr(theirs, name)(X)]
            assert len(stages) == len(others)
            for expected, found in zip(stages, others):
                assert_same_number(found, expected)
    assert compared


def fitted(name, kind="real", **params):
    """The estimator of this name, fitted to the diabetes data."""
    X, targets, _ = diabetes()
    return getattr(package, name)(**params).fit(X, targets[kind])
