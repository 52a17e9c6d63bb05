"""BinnedTreeRegressor and BinnedTreeClassifier as scikit-learn's trees."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    export_text,
    plot_tree,
)
from sklearn.utils import get_tags

from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..estimators import TREES_TRY_BOTH_SIDES
from .engine import nodes_of

PAIRS = [
    (BinnedTreeRegressor, DecisionTreeRegressor),
    (BinnedTreeClassifier, DecisionTreeClassifier),
]
both = pytest.mark.parametrize(("binned", "exact"), PAIRS)


def few_values(n=400, missing=0.0, seed=0):
    """(X, classes, numbers); no column has more than 255 values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, (n, 5)) / 7.0
    signal = X[:, 0] + 3 * np.sin(X[:, 1]) + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.digitize(signal, [4, 8]), np.exp(signal / 5)


def target_of(kind, classes, numbers):
    return classes if issubclass(kind, DecisionTreeClassifier) else numbers


@both
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_impurity_of_the_exact_tree_at_every_depth(binned, exact, missing):
    if missing and not TREES_TRY_BOTH_SIDES:
        pytest.skip("this scikit-learn does not try all splits of missing values")
    X, classes, numbers = few_values(missing=missing)
    y = target_of(binned, classes, numbers)
    weight = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    criteria = ["gini", "log_loss"] if y is classes else ["squared_error", "poisson"]
    for criterion in criteria:
        for depth in (1, 2, 3, 5, None):
            params = {"criterion": criterion, "max_depth": depth, "random_state": 0}
            trees = [kind(**params).fit(X, y, weight).tree_ for kind in (binned, exact)]
            leaves = [tree.children_left < 0 for tree in trees]
            ours, theirs = (
                (tree.impurity * tree.weighted_n_node_samples)[leaf].sum()
                for tree, leaf in zip(trees, leaves)
            )
            # Ties may lead to other trees below, where the search is greedy.
            if depth is None or depth > 3:
                assert ours <= 1.02 * theirs + 1e-9
            else:
                assert ours == pytest.approx(theirs, rel=1e-9)


@both
@pytest.mark.parametrize(
    "params",
    [
        {"max_leaf_nodes": 7},
        {"min_samples_leaf": 0.05, "min_samples_split": 0.2},
        {"min_weight_fraction_leaf": 0.1},
        {"min_impurity_decrease": 0.02},
        {"ccp_alpha": 0.01},
        {"max_features": "sqrt", "max_depth": 4},
        {"max_features": 0.5, "max_leaf_nodes": 9},
    ],
)
def test_parameters_of_scikit_learns_trees(binned, exact, params):
    X, classes, numbers = few_values()
    y = target_of(binned, classes, numbers)
    ours = binned(random_state=3, **params).fit(X, y)
    theirs = exact(random_state=3, **params).fit(X, y)
    assert ours.max_features_ == theirs.max_features_
    if "max_features" in params:  # the draws are the same
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)
    else:  # ties are broken by the order of the features, and at random by scikit-learn
        assert ours.get_n_leaves() == pytest.approx(theirs.get_n_leaves(), rel=0.1)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.02)
        np.testing.assert_allclose(
            ours.feature_importances_, theirs.feature_importances_, atol=0.02
        )


@both
def test_class_weights_and_sample_weights(binned, exact):
    X, classes, _ = few_values()
    weight = np.random.default_rng(2).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    y = classes.astype(float) if exact is DecisionTreeRegressor else classes
    by_weight = binned(max_depth=5, max_bins=20).fit(X, y, weight)
    by_rows = binned(max_depth=5, max_bins=20).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_weight.predict(X), by_rows.predict(X))
    if y is classes:
        params = {"class_weight": {0: 3, 1: 1, 2: 0.5}, "max_depth": 4}
        ours, theirs = binned(**params).fit(X, y), exact(**params, random_state=0).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


def test_monotonic_constraints():
    X, classes, numbers = few_values(missing=0.0)
    grid = np.repeat(X[:20], 50, axis=0)
    grid[:, 0] = np.tile(np.linspace(-1, 10, 50), 20)
    constraints = [-1, 0, 0, 0, 0]
    tree = BinnedTreeRegressor(monotonic_cst=constraints).fit(X, numbers)
    assert (np.diff(tree.predict(grid).reshape(20, 50), axis=1) <= 1e-12).all()
    classifier = BinnedTreeClassifier(monotonic_cst=constraints).fit(X, classes > 0)
    proba = classifier.predict_proba(grid)[:, 1].reshape(20, 50)
    assert (np.diff(proba, axis=1) <= 1e-12).all()
    with pytest.raises(ValueError, match=r"monotonic_cst.*two classes only"):
        BinnedTreeClassifier(monotonic_cst=constraints).fit(X, classes)
    for wrong in ([1], [2, 0, 0, 0, 0]):
        with pytest.raises(ValueError, match="monotonic_cst"):
            BinnedTreeRegressor(monotonic_cst=wrong).fit(X, numbers)


def test_monotonic_constraints_with_missing_values():
    X, classes, numbers = few_values(missing=0.2)
    grid = np.repeat(X[:20], 50, axis=0)
    grid[:, 0] = np.tile(np.linspace(-1, 10, 50), 20)
    tree = BinnedTreeRegressor(monotonic_cst=[-1, 0, 0, 0, 0], max_depth=4).fit(X, numbers)
    assert (np.diff(tree.predict(grid).reshape(20, 50), axis=1) <= 1e-12).all()
    classifier = BinnedTreeClassifier(monotonic_cst=[-1, 0, 0, 0, 0], max_depth=4)
    classifier.fit(X, classes > 0)
    proba = classifier.predict_proba(grid)[:, 1].reshape(20, 50)
    assert (np.diff(proba, axis=1) <= 1e-12).all()
    assert classifier.score(X, classes > 0) > 0.7
    with pytest.raises(ValueError, match="splitter"):
        clone(tree).set_params(splitter="random").fit(X, numbers)
    tree.set_params(criterion="poisson")
    with pytest.raises(ValueError, match="without missing values"):
        tree.fit(X, numbers)


def test_regularised_values_shrink_to_the_mean():
    X, _, y = few_values()
    y = y + 100
    weight = np.random.default_rng(3).integers(1, 3, len(y)).astype(float)
    plain = BinnedTreeRegressor(max_depth=1).fit(X, y, weight)
    shrunk = BinnedTreeRegressor(max_depth=1, l2_regularization=50.0).fit(X, y, weight)
    mean = np.average(y, weights=weight)
    leaf = shrunk.apply(X)
    for i in np.unique(leaf):
        w = weight[leaf == i]
        expected = mean + (w @ (y[leaf == i] - mean)) / (w.sum() + 50)
        assert shrunk.tree_.value[i, 0, 0] == pytest.approx(expected)
    constant = clone(shrunk).set_params(l2_regularization=1e12).fit(X, y)
    np.testing.assert_allclose(constant.predict(X), y.mean(), rtol=1e-7)
    assert np.ptp(plain.predict(X)) > np.ptp(shrunk.predict(X)) > 0
    with pytest.raises(ValueError, match="l2_regularization"):
        BinnedTreeRegressor(criterion="poisson", l2_regularization=1.0).fit(X, y)
    with pytest.raises(ValueError, match="splitter"):
        BinnedTreeRegressor(splitter="random", l2_regularization=1.0).fit(X, y)


@pytest.mark.parametrize("size", [1e-150, 1e-9, 1e120])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_targets_of_any_size(size, criterion):
    X, _, y = few_values()
    tree = BinnedTreeRegressor(max_depth=4, criterion=criterion)
    expected = tree.fit(X, y).predict(X)
    np.testing.assert_allclose(tree.fit(X, size * y).predict(X), size * expected, rtol=1e-9)


def test_random_splits():
    X, y = make_classification(500, n_informative=8, random_state=0)
    trees = [
        BinnedTreeClassifier(splitter="random", random_state=seed).fit(X, y) for seed in range(4)
    ]
    assert all(tree.score(X, y) == 1.0 for tree in trees)
    first = {(tree.tree_.feature[0], tree.tree_.threshold[0]) for tree in trees}
    assert len(first) > 1


@both
def test_what_reads_a_tree(binned, exact):
    X, y = (
        load_iris(return_X_y=True)
        if exact is DecisionTreeClassifier
        else load_diabetes(return_X_y=True)
    )
    tree = binned(max_depth=3).fit(X, y)
    assert isinstance(tree, exact)
    assert export_text(tree).count("\n") == 2 * tree.get_n_leaves() - 2 + tree.get_n_leaves()
    plot_tree(tree)
    path = tree.decision_path(X)
    assert path.shape == (len(X), tree.tree_.node_count)
    np.testing.assert_array_equal(path.indices[path.indptr[1:] - 1], tree.apply(X))
    alphas = tree.cost_complexity_pruning_path(X, y).ccp_alphas
    pruned = clone(tree).set_params(ccp_alpha=alphas[-2]).fit(X, y)
    assert pruned.get_n_leaves() < tree.get_n_leaves()
    np.testing.assert_array_equal(tree.predict(X[:1]), tree.predict(X)[:1])


@both
@pytest.mark.parametrize("seen", [False, True])
def test_pickles_hold_arrays_only(binned, exact, seen):
    X, classes, numbers = few_values(missing=0.1)
    y = target_of(binned, classes, numbers)
    tree = binned(max_depth=6).fit(X, y)
    expected = clone(tree).fit(X, y).predict(X)
    if seen:
        tree.apply(X)  # makes `tree_`
    dumped = pickle.dumps(tree)
    for other in (pickle.loads(dumped), copy.deepcopy(tree)):
        np.testing.assert_array_equal(other.predict(X), expected)
    nodes = nodes_of(tree)
    assert nodes.is_built == seen
    np.testing.assert_array_equal(nodes.threshold, tree.tree_.threshold)
    np.testing.assert_array_equal(nodes.value, tree.tree_.value[:, 0, :])
    assert not hasattr(clone(tree), "tree_")


def test_wrong_input():
    X, classes, numbers = few_values()
    for wrong in (classes[:, None], classes[:, None, None]):
        with pytest.raises(ValueError, match="y must have one output"):
            BinnedTreeClassifier().fit(X, wrong, check_input=False)
    for y in (-numbers, np.zeros(len(X))):
        with pytest.raises(ValueError, match=r"y .*poisson"):
            BinnedTreeRegressor(criterion="poisson").fit(X, y)
    tree = BinnedTreeRegressor()
    with pytest.raises(ValueError, match="Input X contains infinity"):
        tree.fit(np.where(X[0, 0] == X, np.inf, X), numbers)
    assert not hasattr(tree, "tree_")
    for kind, y in [(BinnedTreeRegressor, numbers), (BinnedTreeClassifier, classes)]:
        for max_bins in (1, 65_536, None):
            with pytest.raises(ValueError, match="max_bins"):
                kind(max_bins=max_bins).fit(X, y)
        tags = get_tags(kind())
        assert tags.input_tags.allow_nan
        assert tags.input_tags.sparse
        assert tags.target_tags.multi_output


def test_no_check_of_the_input():
    X, classes, numbers = few_values()
    X = X.astype(np.float32)
    for kind, y in [(BinnedTreeRegressor, numbers), (BinnedTreeClassifier, classes)]:
        checked = kind(max_depth=4).fit(X, y)
        quick = kind(max_depth=4).fit(X, y, check_input=False)
        np.testing.assert_array_equal(quick.predict(X, check_input=False), checked.predict(X))


def test_shap_reads_the_trees():
    shap = pytest.importorskip("shap")
    X, classes, numbers = few_values()
    tree = BinnedTreeRegressor(max_depth=4).fit(X, numbers)
    explainer = shap.TreeExplainer(tree)
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, tree.predict(X))
    tree = BinnedTreeClassifier(max_depth=4).fit(X, classes)
    explainer = shap.TreeExplainer(tree)
    total = np.asarray(explainer.shap_values(X)).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, tree.predict_proba(X), atol=1e-12)


def test_skl2onnx_converts_the_trees():
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from skl2onnx.common import shape_calculator
    from skl2onnx.operator_converters import decision_tree

    skl2onnx.update_registered_converter(
        BinnedTreeRegressor,
        "BinnedTreeRegressor",
        shape_calculator.calculate_linear_regressor_output_shapes,
        decision_tree.convert_sklearn_decision_tree_regressor,
        options={"decision_path": [True, False], "decision_leaf": [True, False]},
    )
    X, _, numbers = few_values()
    X = X.astype(np.float32)
    tree = BinnedTreeRegressor(max_depth=4).fit(X, numbers)
    model = skl2onnx.to_onnx(tree, X[:1]).SerializeToString()
    (found,) = runtime.InferenceSession(model).run(None, {"X": X})
    np.testing.assert_allclose(found[:, 0], tree.predict(X), rtol=1e-6)
