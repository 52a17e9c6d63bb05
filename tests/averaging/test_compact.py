"""Compact forests: the same answers to the last bit, from a small part of the bytes."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from sklearn.tree._tree import Tree

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.inspection import (
    compact,
    ensemble_std,
    forget_training_rows,
    oob_permutation_importances,
    partial_dependence,
    training_weights,
    unbiased_feature_importances,
)

ANSWERS = (
    *("predict", "predict_proba", "predict_log_proba", "apply", "standard_error"),
    *("predict_interval", "predict_quantiles", "predict_set"),
)
FUNCTIONS = (
    ensemble_std,
    lambda model, X: unbiased_feature_importances(model),
    lambda model, X: training_weights(model, X).toarray(),
)
ATTRIBUTES = "feature_importances_", "oob_score_"
SOME_COLUMNS = {"max_features": 0.6, "bootstrap_features": True}
FORESTS = {
    "regression": RandomForestRegressor(),
    "exact": RandomForestRegressor(max_bins=None),
    "binned": RandomForestRegressor(max_bins=63),
    "best first": RandomForestRegressor(max_bins=63, max_leaf_nodes=40),
    "small trees": ExtraTreesRegressor(max_depth=3, bootstrap=True),
    "extra": ExtraTreesClassifier(max_bins=63, bootstrap=True),
    "classes": RandomForestClassifier(min_samples_leaf=4),
    "binned classes": RandomForestClassifier(max_bins=63, class_weight="balanced"),
    "votes": RandomForestClassifier(voting="hard", max_features=None),
    "bagging": BaggingRegressor(DecisionTreeRegressor(), max_bins=63, **SOME_COLUMNS),
    "bagged classes": BaggingClassifier(DecisionTreeClassifier(max_depth=5), **SOME_COLUMNS),
    "pruned": RandomForestRegressor(max_bins=63, ccp_alpha=0.02),
    "categories": RandomForestRegressor(categorical_features=[0, 3]),
    "shallow categories": RandomForestRegressor(categorical_features=[0, 3], max_depth=4),
    "categories and classes": RandomForestClassifier(categorical_features=[0, 3]),
}


def data(forest, n=150, missing=0.1):
    X, y = make_friedman1(n, 8, noise=1.0, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    if getattr(forest, "categorical_features", None) == [0, 3]:
        X[:, [0, 3]] = np.floor(12 * X[:, [0, 3]])
    return X, (np.digitize(y, [11, 15]) if "Classifier" in type(forest).__name__ else y)


def fitted(name, **params):
    forest = clone(FORESTS[name]).set_params(n_estimators=25, random_state=0, **params)
    X, y = data(forest)
    return forest.fit(X, y), X


def answers(model, X):
    found = {}
    of_model = {name: lambda model, X, name=name: getattr(model, name)(X) for name in ANSWERS}
    for name, function in {**of_model, **dict(enumerate(FUNCTIONS))}.items():
        try:
            found[name] = function(model, X)
        except (AttributeError, ValueError) as error:  # what the ensemble does not have
            found[name] = np.array(str(error))
    for name in ATTRIBUTES:
        found[name] = np.array(getattr(model, name, "none"))
    members = list(zip(model.estimators_, model.estimators_features_))
    found["members"] = np.array([tree.predict(X[:, columns]) for tree, columns in members])
    own = X[:, model.estimators_features_[0]]
    found["decision_path"] = model.estimators_[0].decision_path(own).toarray()
    return found


@pytest.mark.filterwarnings("ignore::sklearn_ensemble_theory.averaging.StandardErrorWarning")
@pytest.mark.parametrize("name", FORESTS)
def test_all_answers_are_the_same_bits(name):
    forest, X = fitted(name)
    X = X[:30]
    before, one = answers(forest, X), forest.predict(X[:1])
    trees = [tree.tree_ for tree in forest.estimators_]
    smaller = compact(forest)
    for tree, member in zip(trees, forest.estimators_):  # the model itself has all of its nodes
        np.testing.assert_array_equal(member.tree_.impurity, tree.impurity)
    forest = smaller
    loaded = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(loaded.predict(X[:1]), one)
    for model in (forest, loaded):
        after = answers(model, X)
        for key, value in before.items():
            np.testing.assert_array_equal(after[key], value, err_msg=key)
    assert np.isfinite(before["standard_error"].astype(float)).all()
    # The nodes one by one: what is read, by the names of scikit-learn.
    for tree, member in zip(trees, loaded.estimators_):
        own, leaf = member.tree_, tree.children_left < 0
        assert not isinstance(own, Tree)
        for field in ("children_left", "children_right", "feature", "n_leaves", "max_depth"):
            np.testing.assert_array_equal(getattr(own, field), getattr(tree, field))
        went = tree.missing_go_to_left[~leaf]
        np.testing.assert_array_equal(own.missing_go_to_left[~leaf], went)
        np.testing.assert_array_equal(own.value[leaf], tree.value[leaf])
        assert np.isnan(own.value[~leaf]).all()


@pytest.mark.parametrize("name", ["exact", "binned"])
def test_rows_next_to_a_threshold_go_the_same_way(name):
    """Every threshold, in single precision the number at or below it, and those around it."""
    forest, X = fitted(name)
    rows = []
    for member in forest.estimators_[:3]:
        tree = member.tree_
        inner = np.flatnonzero(tree.children_left >= 0)
        near = np.clip(tree.threshold[inner], -1e9, 1e9).astype(np.float32)
        for value in (near, *(np.nextafter(near, np.float32(s * np.inf)) for s in (-1, 1))):
            part = np.resize(X, (len(inner), X.shape[1]))
            part[np.arange(len(inner)), tree.feature[inner]] = value
            rows.append(part)
    rows = np.concatenate(rows)
    leaves, found = forest.apply(rows), forest.predict(rows)
    forest = compact(forest)
    np.testing.assert_array_equal(forest.apply(rows), leaves)
    np.testing.assert_array_equal(forest.predict(rows), found)


def test_several_outputs_sparse_rows_and_paths():
    X, y = data(None, missing=0.0)
    Y = np.column_stack([y, y > 14])
    for forest, target in (
        (RandomForestRegressor(8, random_state=0), Y),
        (RandomForestClassifier(8, random_state=0), np.digitize(Y, [8, 14])),
    ):
        forest.fit(sp.csr_array(np.round(X)), target)
        model = compact(pickle.loads(pickle.dumps(forest)))
        for rows in (X, sp.csr_array(X)):
            np.testing.assert_array_equal(model.predict(rows), forest.predict(rows))
        (paths, ends), (full, same) = model.decision_path(X), forest.decision_path(X)
        assert (paths != full).nnz == 0
        assert (ends == same).all()
        theirs = export.sklearn(model)
        np.testing.assert_allclose(theirs.predict(X), forest.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs", "share"),
    [
        (RandomForestRegressor(max_bins=None), ensemble.RandomForestRegressor(), 0.15),
        (ExtraTreesRegressor(max_bins=255), ensemble.ExtraTreesRegressor(), 0.15),
        (RandomForestClassifier(max_bins=255), ensemble.RandomForestClassifier(), 0.1),
    ],
)
def test_size_against_scikit_learn(ours, theirs, share):
    X, y = data(ours, n=3_000)
    ours, theirs = (
        model.set_params(n_estimators=4, random_state=0).fit(X, y) for model in (ours, theirs)
    )
    full, size = (len(pickle.dumps(m)) for m in (forget_training_rows(ours), theirs))
    ours = compact(forget_training_rows(ours))
    small = len(pickle.dumps(ours))
    assert small < share * size
    assert small < share * full / 0.7
    # By hand, in bytes: of an inner node a feature, a threshold, a byte and two for the children,
    # and the bits of both kinds; of a leaf 8, or the number of one of few values.
    for tree in (member.tree_ for member in ours.estimators_):
        arrays = [a for a in vars(tree).values() if isinstance(a, np.ndarray)]
        inner, leaves = tree.node_count - tree.n_leaves, tree.n_leaves
        of_leaves = 8 * leaves if "Regressor" in type(ours).__name__ else leaves
        assert sum(a.nbytes for a in arrays) < 8.4 * inner + of_leaves + 200


def test_values_in_single_precision():
    forest, X = fitted("exact")
    before, size = forest.predict(X), len(pickle.dumps(compact(forest)))
    rounded = compact(forest, np.float32)
    assert len(pickle.dumps(rounded)) < size
    error = np.abs(rounded.predict(X) / before - 1)
    assert 0 < error.max() <= 2.0**-24
    # Single numbers lose nothing, and those beyond the range stay.
    values = np.arange(len(X)) / 16
    for y, dtype in (
        (values, np.float64),
        (values * 1e300, np.float32),
        (values * 1e-50, np.float32),
    ):
        forest = RandomForestRegressor(3, bootstrap=False, random_state=0).fit(X, y)
        before = forest.predict(X)
        tree = compact(forest, dtype).estimators_[0].tree_
        assert tree._rows.dtype == (np.float32 if y is values else np.float64)
        np.testing.assert_array_equal(forest.predict(X), before)


def test_equal_values_are_kept_once():
    X, y = data(None)
    forest = RandomForestRegressor(3, bootstrap=False, random_state=0).fit(X, np.round(y))
    tree = compact(forest).estimators_[0].tree_
    assert tree._rows.shape == (len(np.unique(np.round(y))), 1)
    assert tree._code.dtype == np.uint8


def test_a_stump_and_a_tree_of_one_leaf():
    X, y = data(None)
    for target, depth in ((y, 1), (np.ones(len(y)), None)):
        forest = RandomForestRegressor(3, max_depth=depth, random_state=0).fit(X, target)
        before = forest.predict(X), forest.feature_importances_
        forest = compact(forest)
        np.testing.assert_array_equal(forest.predict(X), before[0])
        np.testing.assert_array_equal(forest.feature_importances_, before[1])


@pytest.mark.parametrize("name", ["exact", "binned"])
def test_later_fits_and_conversions(name):
    forest, X = fitted(name, warm_start=True)
    _, y = data(forest)
    # The members of before are not changed.
    first = forest.estimators_[0]
    impurity, before = first.tree_.impurity.copy(), forest.predict(X)
    increases = oob_permutation_importances(forest, random_state=0).importances_mean
    forest = compact(forest)
    again = oob_permutation_importances(forest, random_state=0).importances_mean
    np.testing.assert_array_equal(again, increases)
    np.testing.assert_array_equal(first.tree_.impurity, impurity)
    with pytest.raises(AttributeError, match=r"no attribute 'impurity'; compact\(\) removed"):
        _ = forest.estimators_[0].tree_.impurity
    with pytest.raises(AttributeError, match="compact"):
        export_text(forest.estimators_[0], show_weights=True)
    theirs = export.sklearn(forest)
    assert all(isinstance(tree.tree_, Tree) for tree in theirs.estimators_)
    np.testing.assert_allclose(theirs.predict(X), before, rtol=1e-12)
    assert np.isnan(theirs.estimators_[0].tree_.weighted_n_node_samples).all()
    with pytest.raises(ValueError, match="not compact ones"):
        partial_dependence(forest, X, [0], method="recursion")
    by_brute = partial_dependence(forest, X, [0], grid_resolution=5).average
    expected = partial_dependence(fitted(name)[0], X, [0], grid_resolution=5, method="brute")
    np.testing.assert_array_equal(by_brute, expected.average)
    # A warm start adds trees of the usual kind, with the same predictions as without `compact`.
    forest.set_params(n_estimators=28).fit(X, y)
    whole = clone(forest).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), whole.predict(X))
    np.testing.assert_array_equal(compact(compact(forest)).predict(X), whole.predict(X))


@pytest.mark.parametrize("name", ["exact", "binned", "classes", "bagged classes"])
def test_skops(name):
    io = pytest.importorskip("skops.io")
    forest, X = fitted(name)
    forest.estimators_ = forest.estimators_[:3]
    dumped = io.dumps(compact(forest))
    trusted = io.get_untrusted_types(data=dumped)
    assert all(kind.startswith("sklearn_ensemble_theory.") for kind in trusted)
    restored = io.loads(dumped, trusted=trusted)
    np.testing.assert_array_equal(restored.predict(X), forest.predict(X))


def test_bad_input_changes_nothing():
    X, y = data(None, missing=0.0)
    neighbors = BaggingRegressor(KNeighborsRegressor(), 3).fit(X, y)
    with pytest.raises(ValueError, match="requires members that are trees, got KNeighbors"):
        compact(neighbors)
    forest = RandomForestRegressor(3).fit(X, y)
    for wrong in (np.float16, "float32", None, [1.0]):
        with pytest.raises(ValueError, match=r"dtype must be np\.float64 or np\.float32"):
            compact(forest, wrong)
    assert all(isinstance(tree.tree_, Tree) for tree in forest.estimators_)
    with pytest.raises(ValueError, match="not fitted"):
        compact(RandomForestRegressor())
