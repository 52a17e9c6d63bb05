"""The rules of weights as objects: alone, in a stack, in a search."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import StackingClassifier, StackingRegressor
from sklearn_ensemble_theory.combining import BestMember, GreedySelection, WeightedMean

REGRESSORS = [
    ("line", LinearRegression()),
    ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
    ("mean", DummyRegressor()),
]
CLASSIFIERS = [
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
]
RULES = [
    WeightedMean("l1", radius=0.7),
    WeightedMean("l2", loss="squared_error", positive=False),
    BestMember("r2"),
    GreedySelection(n_selections=7, n_bags=3, random_state=1),
]
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)


@each_rule
def test_a_rule_alone_is_that_of_a_stack(data, rule):
    X, y = data
    cv = KFold(4)
    P = np.column_stack([cross_val_predict(member, X, y, cv=cv) for _, member in REGRESSORS])
    folds = np.concatenate([np.full(len(test), k) for k, (_, test) in enumerate(cv.split(X))])
    alone = clone(rule).fit(P, y, folds=folds)
    stack = StackingRegressor(REGRESSORS, rule, cv=cv).fit(X, y)
    np.testing.assert_array_equal(alone.estimator_weights_, stack.estimator_weights_)
    for name, values in alone.cv_results_.items():
        np.testing.assert_array_equal(values, stack.cv_results_[name])
    assert not hasattr(rule, "estimator_weights_")  # a clone of it was fitted
    np.testing.assert_allclose(alone.predict(P), P @ alone.estimator_weights_)
    assert not hasattr(alone, "predict_proba")


def test_a_rule_alone_on_probabilities(iris):
    X, codes = iris
    y = np.array(["a", "b", "c"])[codes]
    each = [
        cross_val_predict(member, X, y, cv=5, method="predict_proba") for _, member in CLASSIFIERS
    ]
    P = np.stack(each, axis=1)
    alone = WeightedMean().fit(P, y)
    assert list(alone.classes_) == ["a", "b", "c"]
    stack = StackingClassifier(CLASSIFIERS, "simplex").fit(X, y)
    np.testing.assert_array_equal(alone.estimator_weights_, stack.estimator_weights_)
    proba = alone.predict_proba(P)
    assert log_loss(y, proba) <= min(log_loss(y, own) for own in each) + 1e-9
    np.testing.assert_array_equal(alone.predict(P), alone.classes_[proba.argmax(axis=1)])
    several = WeightedMean().fit([P, P], np.column_stack([y, y]))
    np.testing.assert_array_equal(several.estimator_weights_, [alone.estimator_weights_] * 2)
    assert several.predict([P, P]).shape == (150, 2)
    np.testing.assert_array_equal(several.predict_proba([P, P])[1], proba)


@each_rule
def test_clones_pickles_and_parameters(data, rule):
    stack = StackingRegressor(REGRESSORS, clone(rule))
    for name, value in rule.get_params().items():
        assert stack.get_params()[f"final_estimator__{name}"] == value
    stack.fit(*data)
    again = pickle.loads(pickle.dumps(stack))
    np.testing.assert_array_equal(again.predict(data[0]), stack.predict(data[0]))
    assert type(again.final_estimator_) is type(rule)
    assert clone(stack).final_estimator is not stack.final_estimator
    with pytest.raises(NotFittedError):
        rule.predict(np.zeros((3, 3)))


def test_a_search_reaches_the_parameters(data):
    X, y = data
    grid = {"final_estimator__radius": [0.1, 1.0], "final_estimator__weights": ["l1", "l2"]}
    search = GridSearchCV(StackingRegressor(REGRESSORS, WeightedMean("l1"), cv=3), grid, cv=2)
    best = search.fit(X, y).best_estimator_
    assert best.final_estimator.radius == search.best_params_["final_estimator__radius"] == 1
    names = GridSearchCV(
        StackingRegressor(REGRESSORS, cv=3), {"final_estimator": ["best", "nnls"]}, cv=2
    )
    assert names.fit(X, y).best_params_["final_estimator"] in ("best", "nnls")


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *((name, WeightedMean(name)) for name in ("nnls", "simplex", "l1", "l2", "uniform")),
        ("best", BestMember()),
        ("greedy", GreedySelection()),
    ],
)
def test_names_are_short_for_objects(data, name, rule):
    X, y = data
    by_name = StackingRegressor(REGRESSORS, name, cv=3).fit(X, y)
    by_object = StackingRegressor(REGRESSORS, rule, cv=3).fit(X, y)
    assert type(by_name.final_estimator_) is type(rule)
    np.testing.assert_array_equal(by_name.predict(X), by_object.predict(X))


def test_a_random_state_of_the_final_estimator_gives_the_same_bags_again(data):
    rule = GreedySelection(n_bags=3, n_selections=5, random_state=0)
    one, two = (StackingRegressor(REGRESSORS, rule).fit(*data) for _ in range(2))
    np.testing.assert_array_equal(one.estimator_weights_, two.estimator_weights_)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="P must be of shape"):
        WeightedMean().fit(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        WeightedMean().fit(np.zeros((3, 2)), np.zeros(4))
    with pytest.raises(ValueError, match="P has 3 probabilities for 2 classes"):
        WeightedMean().fit(np.full((4, 2, 3), 1 / 3), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="P must be of shape"):
        WeightedMean().fit([np.zeros((3, 2))] * 2, np.zeros(3))
