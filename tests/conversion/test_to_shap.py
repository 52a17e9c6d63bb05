"""The dictionary of trees that shap takes: summed by hand, it is the output of the ensemble."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sklearn_ensemble_theory as package

from .counterparts import diabetes

FEW = {"n_estimators": 6}
SEED = {**FEW, "random_state": 0}
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
CASES = [
    ("RandomForestRegressor", "real", SEED),
    ("RandomForestClassifier", "many", {**SEED, "max_bins": 32}),
    ("ExtraTreesRegressor", "real", SEED),
    ("ExtraTreesClassifier", "two", SEED),
    ("BaggingRegressor", "real", {**SEED, "max_features": 0.5}),
    ("BaggingRegressor", "real", {**SEED, "estimator": package.BinnedTreeRegressor(max_depth=4)}),
    ("BaggingClassifier", "many", {**SEED, "max_features": 0.5, "max_bins": 16}),
    ("BaggingClassifier", "two", {**SEED, "voting": "hard"}),
    ("GradientBoostingRegressor", "real", SEED),
    ("GradientBoostingRegressor", "real", {**SEED, "init": "zero", "step": "line_search"}),
    ("GradientBoostingClassifier", "many", SEED),
    ("GradientBoostingClassifier", "two", {**SEED, "loss": "exponential"}),
    ("AdaBoostClassifier", "two", FEW),
    ("AdaBoostClassifier", "two", {**FEW, "algorithm": "real", "estimator": TREE}),
    ("AdaBoostClassifier", "many", FEW),
    ("AdaBoostClassifier", "many", {**FEW, "algorithm": "discrete", "estimator": TREE}),
    ("SmoothBoostClassifier", "two", FEW),
    ("LPBoostClassifier", "many", {**FEW, "nu": 0.8}),
    ("LPBoostClassifier", "two", {**FEW, "estimator": package.BinnedTreeClassifier(max_depth=2)}),
]


def output(model, X):
    """What the sum of the trees is, in columns."""
    if hasattr(model, "decision_function"):
        found = model.decision_function(X)
    elif hasattr(model, "predict_proba"):
        found = model.predict_proba(X)
    else:
        found = model.predict(X)
    return found.reshape(len(X), -1)


def summed(explained, X):
    """The sum of the trees by the definition of shap's keys, row by row."""
    X = X.astype(explained["input_dtype"])
    total = np.zeros((len(X), explained["trees"][0]["value"].shape[1]))
    total += explained["base_offset"]
    for tree in explained["trees"]:
        for i, x in enumerate(X):
            node = 0
            while tree["children_left"][node] >= 0:
                value = x[tree["feature"][node]]
                side = "left" if value <= tree["threshold"][node] else "right"
                side = "default" if np.isnan(value) else side
                node = tree[f"children_{side}"][node]
            total[i] += tree["value"][node]
    return total


def assert_sum(model, X):
    np.testing.assert_allclose(summed(model.to_shap(), X), output(model, X), rtol=1e-9)


@pytest.mark.parametrize(("name", "kind", "params"), CASES)
def test_the_trees_add_up_to_the_output(name, kind, params):
    X, targets, new = diabetes()
    model = getattr(package, name)(**params).fit(X, targets[kind])
    assert_sum(model, new[:30])


@pytest.mark.parametrize("name", ["RandomForestRegressor", "GradientBoostingRegressor"])
def test_missing_values_go_where_the_tree_sends_them(name):
    X, targets, new = diabetes()
    X, new = X.copy(), new.copy()
    X[::3, 2] = new[::2, 2] = np.nan
    model = getattr(package, name)(n_estimators=6, random_state=0).fit(X, targets["real"])
    assert_sum(model, new[:30])


def test_several_targets_of_a_forest():
    X, targets, new = diabetes()
    Y = np.column_stack([targets["real"], -(targets["real"] ** 2)])
    model = package.RandomForestRegressor(**SEED).fit(X, Y)
    found = summed(model.to_shap(), new[:30])
    np.testing.assert_allclose(found, model.predict(new[:30]), rtol=1e-9)


def test_weights_of_nodes_are_those_of_the_rows_or_unknown():
    X, targets, _ = diabetes()
    forest = package.RandomForestRegressor(**SEED).fit(X, targets["real"])
    tree = forest.to_shap()["trees"][0]
    left, right = tree["children_left"], tree["children_right"]
    inner, weight = left >= 0, tree["node_sample_weight"]
    assert weight[0] == len(X)
    np.testing.assert_array_equal(weight[left[inner]] + weight[right[inner]], weight[inner])
    compact = forest.compact().to_shap()["trees"][0]
    assert not compact["node_sample_weight"].any()
    stumps = package.AdaBoostClassifier(n_estimators=2)
    told_apart = stumps.fit(X, targets["two"]).to_shap()["trees"][0]["node_sample_weight"]
    assert told_apart[0] == pytest.approx(len(X))
    assert told_apart[1:].sum() == pytest.approx(len(X))
    assert not stumps.fit(X, targets["many"]).to_shap()["trees"][0]["node_sample_weight"].any()


REFUSED = [
    ("BaggingRegressor", "real", {"estimator": LinearRegression()}, "a tree or a decision stump"),
    ("GradientBoostingRegressor", "real", {"init": DecisionTreeRegressor()}, "init=Decision"),
    ("GradientBoostingRegressor", "real", {"estimator": LinearRegression()}, "LinearRegression is"),
]


@pytest.mark.parametrize(("name", "kind", "params", "message"), REFUSED)
def test_what_is_no_sum_of_trees_is_refused(name, kind, params, message):
    X, targets, _ = diabetes()
    model = getattr(package, name)(n_estimators=6, **params).fit(X, targets[kind])
    with pytest.raises(ValueError, match=message):
        model.to_shap()


def test_rounds_that_are_no_votes_on_all_rows_are_refused():
    X, targets, _ = diabetes()
    model = package.MassartBoostClassifier(n_estimators=6).fit(X, targets["two"])
    model._votes[0].kinds[3] = "unconfident"
    with pytest.raises(ValueError, match="sums of votes"):
        model.to_shap()


@pytest.mark.parametrize("name", ["RandomForestRegressor", "GradientBoostingRegressor"])
def test_sets_of_categories_are_refused(name):
    X, targets, _ = diabetes()
    X = np.column_stack([X, targets["two"]])
    model = getattr(package, name)(n_estimators=2, categorical_features=[X.shape[1] - 1])
    with pytest.raises(ValueError, match="categorical_features"):
        model.fit(X, targets["real"]).to_shap()


def test_several_targets_of_a_classifier_are_refused():
    X, targets, _ = diabetes()
    Y = np.column_stack([targets["many"], targets["many"]])
    with pytest.raises(ValueError, match="several columns"):
        package.RandomForestClassifier(**SEED).fit(X, Y).to_shap()
