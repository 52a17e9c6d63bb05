"""Fitted additive models and hard rows for their other forms: SQL, ONNX, JSON, text."""

from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)

# Names that have to be quoted, and text with quotes.
NAMES = ['the "age"', "dose; --", "city", "code", "none"]
CITIES = ["Oslo", "L'Aquila", 'the "Hague"', "São Paulo", ""]
CODES = [-2, 1, 5, 7]


@cache
def fitted(kind):
    """Regressors with three links, a classifier of two classes, or one of three."""
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            NAMES[0]: rng.normal(size=n),
            NAMES[1]: np.where(rng.random(n) < 0.2, np.nan, rng.exponential(size=n)),
            NAMES[2]: pd.Categorical.from_codes(rng.integers(-1, 5, n), CITIES),
            NAMES[3]: pd.Categorical.from_codes(rng.integers(0, 4, n), CODES),
            NAMES[4]: np.zeros(n),
        }
    )
    city, code = (X[name].cat.codes.to_numpy() for name in NAMES[2:4])
    a, b = X[NAMES[0]].to_numpy(), X[NAMES[1]].fillna(2.0).to_numpy()
    score = np.sin(2 * a) + 0.5 * b + 0.4 * city + a * (code == 2) + 0.5 * (city == code)
    params = {
        "max_bins": 24,
        "n_estimators": 80,
        "learning_rate": 0.2,
        "interactions": [(0, 1), (2, 0), (1, 3), (2, 3)],
    }
    if kind == "real":
        return L2BoostingRegressor(**params).fit(X, 1000 + 30 * score)
    if kind == "log":
        return AdditiveBoostingRegressor(loss="gamma", **params).fit(X, np.exp(score))
    if kind == "share":
        return AdditiveBoostingRegressor(loss="binomial", **params).fit(X, expit(score - 1))
    noisy = score + rng.logistic(size=n) / 2
    if kind == "two":
        return LogitBoostClassifier(**params).fit(X, np.where(noisy > 1, "it's", "no"))
    return LogitBoostClassifier(**params).fit(X, np.digitize(noisy, [0.5, 2]) * 10 - 5)


KINDS = ["real", "log", "share", "two", "three"]


def rows_of(model, n=10_000, dtype=np.float64, seed=1):
    """Rows with values at edges and beside them, missing ones, infinite ones, unseen categories."""
    rng = np.random.default_rng(seed)
    columns = {}
    for j, name in enumerate(model.feature_names_in_):
        known = model.categories_[j]
        if known is not None:
            unseen = "Atlantis" if isinstance(known[0], str) else 6
            values = np.array([*known, unseen, None], dtype=object)
            columns[name] = values[rng.integers(0, len(values), n)]
            continue
        edges = model.bin_edges_[j].astype(dtype)
        hard = np.concatenate(
            [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), [0.0, -0.0]]
        )
        values = rng.normal(size=n).astype(dtype)
        is_hard = rng.random(n) < 0.4
        values[is_hard] = rng.choice(hard, is_hard.sum())
        values[rng.random(n) < 0.1] = np.nan
        values[rng.random(n) < 0.02] = np.inf
        values[rng.random(n) < 0.02] = -np.inf
        columns[name] = values
    return pd.DataFrame(columns)


def finite(X):
    """The rows as `predict` takes them: large numbers in the place of infinite ones."""
    X = X.copy()
    for name in X.columns:
        if getattr(X[name].dtype, "kind", "") == "f":
            X[name] = X[name].clip(-1e30, 1e30)
    return X


def scores_of(model, X):
    """The scores of the rows, (n, K)."""
    scores = model._scores(finite(X))
    return scores.reshape(len(X), -1)


def assert_predicts(model, X, found, tolerance):
    """Compare `found`, a dict of columns `prediction`, or `label`, `probabilities` and `scores`."""
    X = finite(X)
    scores = scores_of(model, X)
    scale = max(np.abs(scores).max(), 1.0)
    if "prediction" in found:
        expected = model.predict(X)
        size = np.abs(expected) if model.link_ == "log" else 1.0
        assert np.max(np.abs(found["prediction"] - expected) / size) <= tolerance * scale
        return
    np.testing.assert_allclose(found["scores"], scores, rtol=0, atol=tolerance * scale)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(
        found["probabilities"], probabilities, rtol=0, atol=tolerance * scale
    )
    # Where two scores are equal up to rounding, either class is right.
    gap = np.abs(scores[:, 0])
    if scores.shape[1] > 1:
        ordered = np.sort(scores, axis=1)
        gap = ordered[:, -1] - ordered[:, -2]
    clear = gap > tolerance * scale
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(np.asarray(found["label"])[clear], model.predict(X)[clear])
