"""Weights of rows, and the estimators of others that an ensemble is made of.

Pipelines take no `sample_weight` unless metadata routing is enabled. Every ensemble says so, and
with routing gives their parts the weights that the same estimator gets alone.
"""

import inspect

import numpy as np
import pytest
import sklearn.ensemble
from sklearn import config_context, get_config
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sklearn_ensemble_theory as package

from .estimators import estimator_classes, make

# Ensembles that draw rows by the weights, where the base learner does not take them.
DRAW = {"AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"}
# Their base learners are regressors.
OF_REGRESSORS = {
    "FrankWolfeClassifier",
    "GradientBoostingClassifier",
}
# The last step of a pipeline gets its weights without routing.
LAST_STEP = {"LinearL2BoostingRegressor"}


def of_others():
    names = {"estimator", "estimators"}
    return [cls for cls in estimator_classes() if names & set(inspect.signature(cls).parameters)]


every_ensemble = pytest.mark.parametrize("cls", of_others(), ids=lambda c: c.__name__)


def learner_of(cls):
    classes = cls.__name__.endswith("Classifier") and cls.__name__ not in OF_REGRESSORS
    return LogisticRegression(C=10.0) if classes else Ridge(alpha=0.1)


def ensemble_of(cls, member):
    if hasattr(cls, "named_estimators"):
        other = learner_of(cls)
        if get_config()["enable_metadata_routing"]:
            other.set_fit_request(sample_weight=True)
        soft = {"voting": "soft"} if cls is package.VotingClassifier else {}
        return make(cls, estimators=[("one", member), ("other", other)], **soft)
    return make(cls, estimator=member)


def in_pipeline(member):
    return make_pipeline(FunctionTransformer(), member)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    return X, X[:, 0] + 0.4 * rng.standard_normal(60), rng.integers(1, 9, 60).astype(float)


def target_of(model, y):
    return (y > 0.5).astype(int) if is_classifier(model) else y


@every_ensemble
@pytest.mark.parametrize("kind", ["pipeline", "search"])
def test_weights_of_a_pipeline_name_routing(cls, kind, data):
    X, y, weight = data
    member = in_pipeline(learner_of(cls))
    member = GridSearchCV(member, {}, cv=2) if kind == "search" else member
    model = ensemble_of(cls, member)
    y = target_of(model, y)
    if cls.__name__ in DRAW:
        model.fit(X, y, sample_weight=weight)
        return
    if cls.__name__ in LAST_STEP:
        return
    with pytest.raises((TypeError, ValueError), match=r"enable_metadata_routing.*set_fit_request"):
        model.fit(X, y, sample_weight=weight)


@every_ensemble
def test_with_routing_a_pipeline_gets_the_weights_of_its_last_step(cls, data):
    X, y, weight = data
    alone = ensemble_of(cls, learner_of(cls))
    y = target_of(alone, y)
    with config_context(enable_metadata_routing=True):
        learner = learner_of(cls).set_fit_request(sample_weight=True)
        model = ensemble_of(cls, in_pipeline(learner)).fit(X, y, sample_weight=weight)
        plain = ensemble_of(cls, in_pipeline(learner)).fit(X, y)
    alone.fit(X, y, sample_weight=weight)
    scores = next(
        name
        for name in ("decision_function", "predict_proba", "predict")
        if hasattr(model, name) and hasattr(alone, name)
    )
    expected = getattr(alone, scores)(X)
    np.testing.assert_allclose(getattr(model, scores)(X), expected, rtol=1e-7, atol=1e-9)
    if cls is package.LPBoostClassifier:  # whose votes may be those of one member
        assert abs(plain.soft_margin_ - model.soft_margin_) > 1e-3
    else:
        assert np.abs(getattr(plain, scores)(X) - expected).max() > 1e-3


@config_context(enable_metadata_routing=True)
def test_with_routing_the_first_estimator_of_boosting_gets_weights(data):
    X, y, weight = data
    learner = Ridge().set_fit_request(sample_weight=True)
    model = package.GradientBoostingRegressor(init=in_pipeline(learner), n_estimators=3)
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        model.init_.predict(X), Ridge().fit(X, y, sample_weight=weight).predict(X)
    )


def test_the_first_estimator_of_boosting_names_routing(data):
    X, y, weight = data
    model = package.GradientBoostingRegressor(init=in_pipeline(Ridge()))
    with pytest.raises(ValueError, match=r"init=Pipeline: The initial.*enable_metadata_routing"):
        model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("name", [n for n in sklearn.ensemble.__all__ if hasattr(package, n)])
@pytest.mark.parametrize("negative", ["one", "all"])
def test_negative_weights_are_refused(name, negative, data):
    X, y, _ = data
    model = make(getattr(package, name))
    weight = np.ones(60)
    weight[: 1 if negative == "one" else 60] = -1.0
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        model.fit(X, target_of(model, y), sample_weight=weight)
