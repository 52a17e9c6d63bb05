"""Additive models of a table against generalised linear models of statsmodels, with offsets."""

import numpy as np
import pytest

from sklearn_ensemble_theory import AdditiveBoostingRegressor, LogitBoostClassifier

sm = pytest.importorskip("statsmodels.api")


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "binomial"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_saturated_table(loss, weighted):
    rng = np.random.default_rng(0)
    group = rng.integers(7, size=900)
    offset = np.log(rng.uniform(0.2, 2, 900))
    weight = rng.integers(1, 4, 900).astype(float) if weighted else None
    mean = np.exp(offset + 0.2 * group - 1)
    family = {
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(sm.families.links.Log()),
        "tweedie": sm.families.Tweedie(sm.families.links.Log(), var_power=1.5),
        "binomial": sm.families.Binomial(),
    }[loss]
    y = {
        "poisson": rng.poisson(mean),
        "gamma": rng.gamma(2, mean / 2),
        "tweedie": rng.gamma(2, mean / 2) * (rng.random(900) < 0.5),
        "binomial": rng.random(900) < 1 / (1 + 1 / mean),
    }[loss].astype(float)
    design = np.eye(7)[group]
    glm = sm.GLM(y, design, family=family, offset=offset, freq_weights=weight)
    expected = glm.fit(tol=1e-14, maxiter=200).params
    X = group[:, None].astype(float)
    model = AdditiveBoostingRegressor(loss=loss, n_estimators=2000, learning_rate=1.0)
    model.fit(X, y, sample_weight=weight, offset=offset)
    scores = model.intercept_ + model.predict_terms(np.arange(7.0)[:, None])[:, 0]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-8)
    if loss == "binomial":
        classes = LogitBoostClassifier(2000, learning_rate=1.0)
        classes.fit(X, y, sample_weight=weight, offset=offset)
        found = classes.decision_function(np.arange(7.0)[:, None], offset=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_two_categories_that_add_up(loss):
    rng = np.random.default_rng(1)
    first, second = rng.integers(4, size=1500), rng.integers(5, size=1500)
    offset = np.log(rng.uniform(0.2, 2, 1500))
    mean = np.exp(offset + 0.3 * first - 0.2 * second)
    y = rng.poisson(mean) if loss == "poisson" else rng.gamma(2, mean / 2)
    family = (
        sm.families.Poisson() if loss == "poisson" else sm.families.Gamma(sm.families.links.Log())
    )
    design = np.column_stack([np.eye(4)[first], np.eye(5)[second][:, 1:]])
    expected = sm.GLM(y, design, family=family, offset=offset).fit(tol=1e-14, maxiter=200)
    model = AdditiveBoostingRegressor(
        loss=loss, n_estimators=6000, learning_rate=0.5, categorical_features=[0, 1]
    )
    X = np.column_stack([first, second]).astype(float)
    model.fit(X, y, offset=offset)
    np.testing.assert_allclose(model.predict(X, offset=offset), expected.predict(), rtol=1e-8)
