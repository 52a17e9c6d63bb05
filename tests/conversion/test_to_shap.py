"""The dictionary of trees that shap takes: summed by hand, it is the output of the ensemble."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import export
from sklearn_ensemble_theory.inspection import compact

from ..trees.engine import nodes_of
from . import set_trees
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
    (
        "BaggingRegressor",
        "real",
        {**SEED, "estimator": package.trees.BinnedTreeRegressor(max_depth=4)},
    ),
    ("BaggingClassifier", "many", {**SEED, "max_features": 0.5, "max_bins": 16}),
    ("BaggingClassifier", "two", {**SEED, "voting": "hard"}),
    ("GradientBoostingRegressor", "real", SEED),
    ("GradientBoostingRegressor", "real", {**SEED, "init": "zero", "step": "line_search"}),
    ("GradientBoostingClassifier", "many", SEED),
    ("GradientBoostingClassifier", "two", {**SEED, "loss": "exponential"}),
    ("AdaBoostClassifier", "two", FEW),
    ("AdaBoostClassifier", "two", {**FEW, "variant": "real", "estimator": TREE}),
    ("AdaBoostClassifier", "many", FEW),
    ("AdaBoostClassifier", "many", {**FEW, "variant": "discrete", "estimator": TREE}),
    ("SmoothBoostClassifier", "two", FEW),
    ("LPBoostClassifier", "many", {**FEW, "nu": 0.8}),
    (
        "LPBoostClassifier",
        "two",
        {**FEW, "estimator": package.trees.BinnedTreeClassifier(max_depth=2)},
    ),
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
    np.testing.assert_allclose(summed(export.shap(model), X), output(model, X), rtol=1e-9)


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
    found = summed(export.shap(model), new[:30])
    np.testing.assert_allclose(found, model.predict(new[:30]), rtol=1e-9)


def test_weights_of_nodes_are_those_of_the_rows_or_unknown():
    X, targets, _ = diabetes()
    forest = package.RandomForestRegressor(**SEED).fit(X, targets["real"])
    tree = export.shap(forest)["trees"][0]
    left, right = tree["children_left"], tree["children_right"]
    inner, weight = left >= 0, tree["node_sample_weight"]
    assert weight[0] == len(X)
    np.testing.assert_array_equal(weight[left[inner]] + weight[right[inner]], weight[inner])
    smaller = export.shap(compact(forest))["trees"][0]
    assert not smaller["node_sample_weight"].any()
    stumps = package.AdaBoostClassifier(n_estimators=2)
    told_apart = export.shap(stumps.fit(X, targets["two"]))["trees"][0]["node_sample_weight"]
    assert told_apart[0] == pytest.approx(len(X))
    assert told_apart[1:].sum() == pytest.approx(len(X))
    assert not export.shap(stumps.fit(X, targets["many"]))["trees"][0]["node_sample_weight"].any()


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
        export.shap(model)


def test_models_that_are_no_sums_of_trees():
    X, targets, _ = diabetes()
    for model in (package.L2BoostingRegressor(2), package.DecisionStumpRegressor()):
        with pytest.raises(ValueError, match=f"{type(model).__name__} is not a sum of trees"):
            export.shap(model.fit(X, targets["real"]))


def test_rounds_that_are_no_votes_on_all_rows_are_refused():
    X, targets, _ = diabetes()
    model = package.MassartBoostClassifier(n_estimators=6).fit(X, targets["two"])
    model.votes_[0].kinds[3] = "unconfident"
    with pytest.raises(ValueError, match="sums of votes"):
        export.shap(model)


@pytest.mark.parametrize(("model", "kind"), set_trees.CASES)
def test_sets_of_categories_are_chains_of_thresholds(model, kind):
    """Rows of missing and of new categories among them; sparse rows have the same numbers."""
    X, targets, new = set_trees.mixed()
    model = clone(model).fit(X, targets[kind])
    explained, numbers = export.shap(model, new)
    np.testing.assert_allclose(summed(explained, numbers), output(model, new), rtol=1e-9)
    np.testing.assert_array_equal(np.isnan(numbers[:, 1]), new[:, 1] == 77)
    for tree in explained["trees"]:
        assert np.isfinite(tree["threshold"]).all()
        left, right = tree["children_left"], tree["children_right"]
        inner, weight = left >= 0, tree["node_sample_weight"]
        np.testing.assert_allclose(weight[left[inner]] + weight[right[inner]], weight[inner])
    with pytest.raises(ValueError, match=r"export\.shap requires X, the rows to explain"):
        export.shap(model)


@pytest.mark.parametrize("in_order", [True, False])
def test_shapley_values_of_chains_are_those_of_the_sets(in_order, monkeypatch):
    """By the definition, over all sets of features that are known; for any order of numbers."""
    if not in_order:
        plain = {0: np.arange(9), 1: np.arange(6)}
        monkeypatch.setattr("sklearn_ensemble_theory.export._shap._orders", lambda *_: plain)
    X, targets, new = set_trees.mixed()
    forest = package.RandomForestRegressor(**set_trees.FEW, max_depth=5)
    forest.fit(X, targets["real"])
    explained, numbers = export.shap(forest, new)
    of_encoder = forest._encoder.encode(new)
    grown = [len(nodes_of(tree)) for tree in forest.estimators_]
    for tree, member, m in zip(explained["trees"], forest.estimators_, grown):
        # Without the order sets are no intervals, and what is below is repeated.
        assert len(tree["feature"]) >= m * (1 if in_order else 1.5)
        for x, z in zip(of_encoder[:8], numbers):
            of_sets = set_trees.shapley_values(set_trees.nodes_with_sets(member), x)
            of_chains = set_trees.shapley_values(set_trees.nodes_with_thresholds(tree), z)
            values = [np.ravel(parts) for parts in of_sets]
            values[0], values[1] = values[0] / 4, values[1] / 4  # the mean of four trees
            np.testing.assert_allclose(np.ravel(of_chains[0]), values[0], atol=1e-12)
            np.testing.assert_allclose(np.ravel(of_chains[1]), values[1], atol=1e-12)


def test_the_order_of_numbers_keeps_trees_small():
    """As the guide says; in the order of the encoder there are 100,000 nodes."""
    rng = np.random.default_rng(0)
    C, Z = rng.integers(0, 30, (20_000, 8)), rng.standard_normal((20_000, 3))
    effect = rng.standard_normal((8, 30))
    y = sum(one[c] for one, c in zip(effect, C.T)) + Z[:, 0] * effect[0][C[:, 0]]
    X = np.column_stack([C, Z])
    y += Z.sum(axis=1) + rng.standard_normal(len(X))
    model = package.GradientBoostingRegressor(categorical_features=list(range(8)), random_state=0)
    explained, _ = export.shap(model.fit(X, y), X[:1])
    assert sum(len(tree.tree_.children_left) for tree in model.estimators_.ravel()) == 1500
    assert 3500 < sum(len(tree["feature"]) for tree in explained["trees"]) < 5000


def test_text_and_compact_trees():
    pd = pytest.importorskip("pandas")
    X, targets, new = set_trees.mixed()
    frames = []
    for rows in (X, new):
        frame = pd.DataFrame(rows, columns=["a", "b", "x"])
        known = frame["a"].notna()
        frame["a"] = frame["a"].map(lambda v: f"c{v:.0f}").where(known, None).astype(object)
        frames.append(frame)
    model = package.RandomForestRegressor(**{**set_trees.FEW, "categorical_features": ["a", "b"]})
    model.fit(frames[0], targets["real"])
    expected = model.predict(frames[1])[:, None]
    for one in (model, compact(model)):
        explained, numbers = export.shap(one, frames[1])
        np.testing.assert_allclose(summed(explained, numbers), expected, rtol=1e-6)
    assert not explained["trees"][0]["node_sample_weight"].any()


def test_rows_are_returned_as_numbers_without_categories():
    X, targets, new = diabetes()
    model = package.RandomForestRegressor(**SEED).fit(X, targets["real"])
    explained, numbers = export.shap(model, new)
    np.testing.assert_array_equal(numbers, new)
    assert explained.keys() == export.shap(model).keys()


def test_trees_that_would_be_too_large_are_refused(monkeypatch):
    X, targets, new = set_trees.mixed()
    model = package.RandomForestRegressor(**set_trees.FEW).fit(X, targets["real"])
    monkeypatch.setattr("sklearn_ensemble_theory.export._shap.MOST_NODES", 300)
    with pytest.raises(ValueError, match="more than 300 nodes"):
        export.shap(model, new)


def test_several_targets_of_a_classifier_are_refused():
    X, targets, _ = diabetes()
    Y = np.column_stack([targets["many"], targets["many"]])
    with pytest.raises(ValueError, match="several columns"):
        export.shap(package.RandomForestClassifier(**SEED).fit(X, Y))
