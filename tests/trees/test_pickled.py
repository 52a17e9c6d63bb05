"""Pickles hold small trees in one block: what is loaded is what was dumped."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import sklearn_ensemble_theory as package

from .engine import grown_tree

CASES = {
    "HistGradientBoostingRegressor": {"max_iter": 6},
    "HistGradientBoostingClassifier": {"max_iter": 6, "categorical_features": ["a"]},
    "GradientBoostingRegressor": {"n_estimators": 6},
    "RandomForestClassifier": {"n_estimators": 6, "max_depth": 4, "max_bins": 64},
    "BaggingRegressor": {"n_estimators": 3},
}


def same(one, other):
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other
        assert type(one) is type(other)


@pytest.mark.parametrize("name", CASES)
def test_trees_are_the_same_after_loading(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd")).round(1)
    X["b"] = 1.7e9 + 5.0 * np.arange(300)
    X["a"] = X["a"].abs().round(0)
    y = X["a"] % 2 + X["c"] + rng.normal(size=300)
    model = getattr(package, name)(**CASES[name], random_state=0)
    model.fit(X, np.digitize(y, [0, 1]) if "Class" in name else y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert type(other.estimators_) is type(model.estimators_)
        assert np.shape(other.estimators_) == np.shape(model.estimators_)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        for a, b in zip(np.ravel(model.estimators_), np.ravel(other.estimators_)):
            assert a is not b
            assert a.get_params() == b.get_params()
            np.testing.assert_array_equal(a.tree_.impurity, b.tree_.impurity)
    assert all(
        a is b for a, b in zip(np.ravel(copy.copy(model).estimators_), np.ravel(model.estimators_))
    )


def test_a_block_has_the_arrays_of_each_tree():
    X, y = np.random.default_rng(0).normal(size=(2, 200, 3))
    model = package.HistGradientBoostingRegressor(max_iter=4).fit(X, y[:, 0])
    state = model.__getstate__()
    block, shape = state["estimators_"]
    assert shape == (4, 1)
    assert len(pickle.dumps(block)) < len(pickle.dumps(model.estimators_))
    for member, other in zip(model.estimators_.ravel(), block.members()):
        one, two = vars(grown_tree(member).arrays), vars(grown_tree(other).arrays)
        assert one.keys() == two.keys()
        for name, found in one.items():
            same(found, two[name])
    # Members that are not alike are dumped one by one.
    model.estimators_[2, 0].min_samples_leaf = 7
    assert model.__getstate__()["estimators_"] is model.estimators_
    again = pickle.loads(pickle.dumps(model))
    assert [tree.min_samples_leaf for tree in again.estimators_.ravel()] == [20, 20, 7, 20]


def test_a_damaged_block_is_refused():
    X, y = np.random.default_rng(0).normal(size=(2, 200, 3))
    model = package.HistGradientBoostingRegressor(max_iter=4).fit(X, y[:, 0])
    state = model.__getstate__()
    state["estimators_"][0].nodes.right[0] = 0
    with pytest.raises(ValueError, match="no tree over 3 columns"):
        type(model).__new__(type(model)).__setstate__(state)
