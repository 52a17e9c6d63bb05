"""Tools that know scikit-learn's classes only, with the results of `export.sklearn`.

`python -m pip install ".[test,integration]" && python -m pytest tests/integration` runs them; where
a tool is not installed, its tests are skipped.
"""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingClassifier as Peer
from sklearn.tree import export_text, plot_tree

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import export
from sklearn_ensemble_theory.inspection import shrink

from ..conversion import set_trees
from ..estimators import named

FORESTS = {"n_estimators": 5, "max_depth": 4, "max_bins": 64, "random_state": 0}
ROUNDS = {"n_estimators": 8, "random_state": 0}
# (class, target, parameters); what shap and treelite read, and what ONNX has beyond that.
TREE_MODELS = [
    ("RandomForestRegressor", "real", FORESTS),
    ("RandomForestClassifier", "many", FORESTS),
    ("ExtraTreesRegressor", "real", FORESTS),
    ("ExtraTreesClassifier", "two", FORESTS),
    ("GradientBoostingRegressor", "real", ROUNDS),
    ("GradientBoostingRegressor", "real", {**ROUNDS, "max_bins": None, "loss": "absolute_error"}),
    ("GradientBoostingRegressor", "real", {**ROUNDS, "step": "line_search"}),
    ("GradientBoostingClassifier", "two", ROUNDS),
]
SINGLE_TREES = [
    ("DecisionStumpRegressor", "real", {}),
    ("DecisionStumpClassifier", "many", {}),
    ("BinnedTreeRegressor", "real", {"max_depth": 3}),
    ("BinnedTreeClassifier", "many", {"max_depth": 3}),
]
OTHER_ENSEMBLES = [
    ("GradientBoostingClassifier", "many", ROUNDS),
    ("GradientBoostingClassifier", "two", {**ROUNDS, "loss": "exponential"}),
    ("BaggingRegressor", "real", {"n_estimators": 5, "max_bins": 64, "random_state": 0}),
    ("BaggingClassifier", "many", {"n_estimators": 5, "max_features": 0.5, "random_state": 0}),
    ("AdaBoostClassifier", "two", {"n_estimators": 8}),
    ("AdaBoostClassifier", "many", {"n_estimators": 8, "variant": "discrete"}),
    ("AdaBoostRegressor", "real", ROUNDS),
]


def data():
    X, y = load_diabetes(return_X_y=True)
    # Every value is one of single precision, which these tools read.
    X = X.astype(np.float32).astype(np.float64)
    return X, {"real": y, "many": np.digitize(y, [100, 180]), "two": (y > 120).astype(int)}


def models(cases):
    """Fitted when a test asks for one: where the tool is missing, nothing is fitted."""
    return pytest.mark.parametrize(("name", "kind", "params"), cases)


def fit(name, kind, params):
    X, targets = data()
    return named(name)(**params).fit(X, targets[kind]), X


def output(model, X):
    """What the tools predict: numbers or probabilities."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def raw_output(model, X):
    """What shap explains: of gradient boosting the scores."""
    is_score = type(model).__name__ == "GradientBoostingClassifier"
    return model.decision_function(X) if is_score else output(model, X)


def tool(name):
    """The module; skips the test where it is not installed, without importing anything else."""
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return pytest.importorskip(name)


# shap


@models([*TREE_MODELS, *SINGLE_TREES])
@pytest.mark.filterwarnings("ignore")
def test_shapley_values_of_scikit_learns_objects_add_up_to_the_prediction(name, kind, params):
    """The sum over the features and the expected value, to 1e-6; the latter is that of a fit."""
    shap = tool("shap")
    model, X = fit(name, kind, params)
    explainer = shap.TreeExplainer(export.sklearn(model))
    values = np.asarray(explainer.shap_values(X[:40]))
    scores = raw_output(model, X)
    found = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(found, scores[:40], rtol=1e-6, atol=1e-6)
    if name.startswith(("Decision", "Binned", "GradientBoosting")):
        # Of trees fitted to all rows: shap weighs the leaves by the weights of their rows.
        mean = np.ravel(explainer.expected_value)
        np.testing.assert_allclose(mean, np.ravel(scores.mean(axis=0)), rtol=1e-6, atol=1e-6)


@models([*TREE_MODELS, *(case for case in OTHER_ENSEMBLES if case[0] != "AdaBoostRegressor")])
@pytest.mark.filterwarnings("ignore")
def test_shapley_values_add_up_to_the_output(name, kind, params):
    """By the weights of the nodes, and by rows in their place; those of more classes in columns."""
    shap = tool("shap")
    model, X = fit(name, kind, params)
    boosts = hasattr(model, "decision_function")
    expected = model.decision_function(X[:40]) if boosts else output(model, X[:40])
    knows_weights = all(t["node_sample_weight"].all() for t in export.shap(model)["trees"])
    for background in [{"data": X[40:80]}, *([{}] if knows_weights else [])]:
        # With rows shap changes the weights in the dictionary itself.
        explainer = shap.TreeExplainer(export.shap(model), **background)
        values = np.asarray(explainer.shap_values(X[:40]))
        found = values.sum(axis=1) + explainer.expected_value
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_shapley_values_are_those_of_scikit_learns_model():
    """Exact trees of the same seed: also for the exponential loss, whose start shap misreads."""
    shap = tool("shap")
    X, targets = data()
    for loss in ("log_loss", "exponential"):
        params = {**ROUNDS, "loss": loss}
        peer = Peer(**params).fit(X, targets["two"])
        model = package.GradientBoostingClassifier(max_bins=None, **params).fit(X, targets["two"])
        found, expected = (
            shap.TreeExplainer(m).shap_values(X[:20]) for m in (export.sklearn(model), peer)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("model", "kind"), set_trees.CASES)
@pytest.mark.filterwarnings("ignore")
def test_shapley_values_of_categories_add_up(model, kind):
    """By weights and by rows in their place; of the trees of a forest they are those by hand."""
    shap = tool("shap")
    X, targets, new = set_trees.mixed()
    model = clone(model).fit(X, targets[kind])
    boosts = hasattr(model, "decision_function")
    expected = model.decision_function(new) if boosts else output(model, new)
    for background in [{}, {"data": export.shap(model, X[40:80])[1]}]:
        explained, numbers = export.shap(model, new)
        explainer = shap.TreeExplainer(explained, **background)
        values = np.asarray(explainer.shap_values(numbers))
        found = values.sum(axis=1) + explainer.expected_value
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-6, atol=1e-6)
    if type(model).__name__ == "RandomForestRegressor":
        by_weights = shap.TreeExplainer(export.shap(model, new)[0]).shap_values(numbers)
        trees = [set_trees.nodes_with_sets(tree) for tree in model.estimators_]
        for x, found in zip(model._encoder.encode(new), by_weights):
            by_hand = np.mean([set_trees.shapley_values(tree, x)[0] for tree in trees], axis=0)
            np.testing.assert_allclose(found, by_hand[:, 0], atol=1e-9)


# ONNX


@models([*TREE_MODELS, *SINGLE_TREES, *OTHER_ENSEMBLES])
@pytest.mark.filterwarnings("ignore")
def test_onnx(name, kind, params):
    """The runtime computes in single precision: agreement to 1e-5 of the largest value."""
    runtime = tool("onnxruntime")
    skl2onnx = tool("skl2onnx")
    model, X = fit(name, kind, params)
    theirs = export.sklearn(model)
    options = {id(theirs): {"zipmap": False}} if hasattr(model, "classes_") else None
    onnx = skl2onnx.to_onnx(theirs, X[:1].astype(np.float32), options=options)
    session = runtime.InferenceSession(onnx.SerializeToString(), providers=["CPUExecutionProvider"])
    *labels, values = session.run(None, {"X": X.astype(np.float32)})
    expected = output(model, X)
    size = np.abs(expected).max()
    np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=0, atol=1e-5 * size)
    for found in labels:
        np.testing.assert_array_equal(found, model.predict(X))


# treelite


@models([*TREE_MODELS, ("GradientBoostingClassifier", "many", ROUNDS)])
@pytest.mark.filterwarnings("ignore")
def test_treelite(name, kind, params):
    """Agreement to 1e-6 of the largest value."""
    treelite = tool("treelite")
    model, X = fit(name, kind, params)
    imported = treelite.sklearn.import_model(export.sklearn(model))
    found = np.asarray(treelite.gtil.predict(imported, X.astype(np.float32)))
    found = found.reshape(len(X), -1)
    expected = output(model, X).reshape(len(X), -1)
    if found.shape[1] == 1 and expected.shape[1] == 2:
        expected = expected[:, 1:]
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * size)


# scikit-learn's own


@models(SINGLE_TREES)
def test_text_and_figure_of_a_tree(name, kind, params):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model, X = fit(name, kind, params)
    theirs = export.sklearn(model)
    text = export_text(theirs)
    threshold = theirs.tree_.threshold[0]
    assert text.startswith(f"|--- feature_{theirs.tree_.feature[0]} <= {threshold:.2f}\n")
    assert text.count("class:" if kind == "many" else "value:") == theirs.get_n_leaves()
    figure, axes = pyplot.subplots()
    drawn = plot_tree(theirs, ax=axes)
    if name.startswith("Binned"):  # they are subclasses of scikit-learn's trees
        assert export_text(model) == text
        own = plot_tree(model, ax=axes)
        assert [box.get_text() for box in own] == [box.get_text() for box in drawn]
    assert f"samples = {len(X)}" in drawn[0].get_text()
    boxes = [box for box in drawn if "samples" in box.get_text()]
    assert len(boxes) == theirs.tree_.node_count
    pyplot.close(figure)


# imodels


@models([*TREE_MODELS[:4], *SINGLE_TREES[2:]])
@pytest.mark.filterwarnings("ignore")
def test_shrunk_values_are_those_of_imodels(name, kind, params):
    """imodels changes the values of scikit-learn's trees in place."""
    tool("imodels")
    hierarchical = pytest.importorskip("imodels.tree.hierarchical_shrinkage")
    model, X = fit(name, kind, params)
    wrap = hierarchical.HSTreeClassifier if kind != "real" else hierarchical.HSTreeRegressor
    for reg_param in (0.5, 20.0):
        peer = wrap(export.sklearn(model), reg_param=reg_param)
        found = peer.predict(X) if kind == "real" else peer.predict_proba(X)
        np.testing.assert_allclose(found, output(shrink(model, reg_param), X), atol=1e-9)
