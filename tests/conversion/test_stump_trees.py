"""Decision stumps as scikit-learn's trees: values, weights and impurities of their nodes."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.inspection import partial_dependence
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    export,
)

from ..erm.stump_search import without_side_search
from .counterparts import assert_same_predictions, diabetes

FIELDS = ("feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples")


def assert_same_nodes(tree, expected, weight=1.0):
    for name in FIELDS:
        factor = weight if name == "weighted_n_node_samples" else 1.0
        np.testing.assert_allclose(
            factor * getattr(tree, name), getattr(expected, name), rtol=1e-6, err_msg=name
        )
    np.testing.assert_allclose(tree.value, expected.value)


def test_the_nodes_of_a_regression_stump_are_those_of_a_tree():
    """Least squares has the same split in both, so that all fields can be compared."""
    X, targets, _ = diabetes()
    y, weight = targets["real"], np.arange(200) % 3 + 1.0
    for w in (None, weight):
        theirs = export.sklearn(DecisionStumpRegressor().fit(X, y, w))
        peer = DecisionTreeRegressor(max_depth=1).fit(X, y, w)
        scale = 1.0 if w is None else w.mean()
        assert_same_nodes(theirs.tree_, peer.tree_, scale)
        np.testing.assert_allclose(theirs.feature_importances_, peer.feature_importances_)


def test_the_nodes_of_a_classification_stump_are_those_of_a_tree():
    """A single feature with one best threshold by either criterion."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 1))
    y = np.where(X[:, 0] > 0.4, 1, 0) ^ (rng.random(150) < 0.1)
    peer = DecisionTreeClassifier(max_depth=1).fit(X, y)
    stump = DecisionStumpClassifier().fit(X, y)
    assert stump.threshold_ == pytest.approx(peer.tree_.threshold[0])
    assert_same_nodes(export.sklearn(stump).tree_, peer.tree_)


def test_a_constant_stump_is_a_leaf():
    for stump, y in [
        (DecisionStumpRegressor(), [1.0, 2.0, 6.0]),
        (DecisionStumpClassifier(), ["a", "b", "b"]),
    ]:
        stump.fit(np.zeros((3, 2)), y)
        theirs = export.sklearn(stump)
        assert theirs.tree_.node_count == 1
        assert theirs.get_depth() == 0
        assert_same_predictions(stump, theirs, np.ones((2, 2)))


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_targets_of_any_size(size):
    X, targets, X_new = diabetes()
    stump = DecisionStumpRegressor().fit(X, size * targets["real"])
    theirs = export.sklearn(stump)
    np.testing.assert_allclose(theirs.predict(X_new), stump.predict(X_new), rtol=1e-12)


@pytest.mark.parametrize("kind", ["two", "many"])
@pytest.mark.parametrize("by_sides", [True, False])
def test_the_weights_of_boosted_stumps(kind, by_sides, monkeypatch):
    """AdaBoost computed again from the votes: the shares of the weight on the two sides."""
    X, targets, X_new = diabetes()
    y = targets[kind]
    model = AdaBoostClassifier(n_estimators=6, variant="discrete")
    if not by_sides:  # as with more bins than that search has
        without_side_search(monkeypatch)
    model.fit(X, y)
    theirs = export.sklearn(model)
    assert type(theirs) is Peer
    assert_same_predictions(model, theirs, X_new)
    weight = np.full(len(y), 1 / len(y))
    for stump, member, alpha in zip(
        model.estimators_, theirs.estimators_, model.estimator_weights_
    ):
        left = X[:, stump.feature_] <= stump.threshold_
        tree = member.tree_
        expected = [1.0, weight[left].sum(), weight[~left].sum()]
        np.testing.assert_allclose(tree.weighted_n_node_samples / len(y), expected, rtol=1e-6)
        assert tree.n_node_samples.tolist() == [len(y), left.sum(), (~left).sum()]
        np.testing.assert_array_equal(member.predict(X_new), stump.predict(X_new))
        weight = weight * np.exp(alpha * (stump.predict(X) != y))
        weight /= weight.sum()


def test_partial_dependence_by_recursion():
    """Sums of stumps: the recursion is exact, and differs from brute force by the start only."""
    X, targets, _ = diabetes()
    for model, y in [
        (GradientBoostingRegressor(max_depth=1, n_estimators=20, random_state=0), "real"),
        (GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0), "two"),
    ]:
        model.fit(X, targets[y])
        options = {"response_method": "decision_function"} if y == "two" else {}
        for feature in (2, 8):
            brute = partial_dependence(model, X, [feature], method="brute", **options)
            fast = partial_dependence(
                export.sklearn(model), X, [feature], method="recursion", **options
            )
            np.testing.assert_allclose(fast["grid_values"][0], brute["grid_values"][0])
            expected = brute["average"] - model.initial_scores_
            np.testing.assert_allclose(fast["average"], expected, rtol=0, atol=1e-9)


def test_partial_dependence_of_deeper_trees():
    """Independent features: both are the same up to the error of a mean over the rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 3))
    y = 4 * np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2]
    model = GradientBoostingRegressor(n_estimators=50, random_state=0).fit(X, y)
    brute = partial_dependence(model, X, [0], method="brute", grid_resolution=20)["average"]
    theirs = export.sklearn(model)
    fast = partial_dependence(theirs, X, [0], method="recursion", grid_resolution=20)["average"]
    error = np.abs(fast + model.initial_scores_ - brute).max()
    assert error < 0.03 * np.ptp(brute)
