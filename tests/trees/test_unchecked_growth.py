"""scikit-learn's trees as members: grown without its checks they are those of its `fit`."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from .engine import fitted_in_units

TREES = [
    DecisionTreeRegressor(max_features=0.5, min_samples_leaf=3),
    DecisionTreeRegressor(criterion="poisson", max_leaf_nodes=11, min_samples_split=0.05),
    DecisionTreeClassifier(max_features="sqrt", ccp_alpha=0.01, min_impurity_decrease=1e-3),
    DecisionTreeClassifier(criterion="entropy", max_depth=4, min_weight_fraction_leaf=0.02),
    ExtraTreeRegressor(min_samples_leaf=0.01),
    ExtraTreeClassifier(max_features="log2"),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{type(tree).__name__}-{tree.criterion}")
def test_the_tree_and_its_attributes_are_those_of_fit(tree, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = np.exp(X[:, 0] + np.abs(X[:, 1]))
    if is_classifier(tree):
        y = np.digitize(y, [1.0, 2.0]) + 4
    params = {"check_input": False}
    if weighted:
        params["sample_weight"] = rng.integers(1, 4, 300)
    twins = [type(tree)(**{**tree.get_params(), "random_state": 5}) for _ in range(2)]
    expected = twins[0].fit(X, y, **params)
    monkeypatch.setattr(type(tree), "fit", None)
    with config_context(skip_parameter_validation=True):
        found = fitted_in_units(twins[1], X, y, **params)
    states = [fitted.tree_.__getstate__() for fitted in (expected, found)]
    assert states[0]["nodes"].tobytes() == states[1]["nodes"].tobytes()
    np.testing.assert_array_equal(states[0]["values"], states[1]["values"])
    assert vars(found).keys() == vars(expected).keys()
    for name in vars(found).keys() - {"tree_"}:
        np.testing.assert_array_equal(vars(found)[name], vars(expected)[name])
