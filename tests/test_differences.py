"""The table of differences from scikit-learn holds for the classes of both."""

import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
import sklearn.ensemble
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.fixes import parse_version

import sklearn_ensemble_theory as package

from .estimators import SKLEARN_VERSION

EXTENSIONS = str(Path(__file__).parents[1] / "docs" / "_ext")
sys.path.insert(0, EXTENSIONS)
differences = importlib.import_module("differences")
sys.path.remove(EXTENSIONS)

NAMES = sorted(differences.DIFFERENCES)
each_class = pytest.mark.parametrize("name", NAMES)


def test_the_table_has_every_class_of_that_name():
    assert set(NAMES) == {name for name in package.__all__ if name in sklearn.ensemble.__all__}


@pytest.mark.skipif(
    parse_version("1.9") > SKLEARN_VERSION, reason="the defaults are those of scikit-learn 1.9"
)
@each_class
def test_parameters_of_scikit_learn_are_there_with_their_defaults(name):
    ours, theirs = differences.signatures(name)
    for parameter, given in theirs.items():
        assert ours[parameter].default == given.default, parameter
        assert ours[parameter].kind == given.kind, parameter
    for parameter in differences.further_parameters(name):
        assert ours[parameter].default is not inspect.Parameter.empty, parameter


@each_class
def test_methods_of_scikit_learn_are_there(name):
    ours, theirs = (getattr(m, name) for m in (package, sklearn.ensemble))
    public = [m for m in dir(theirs) if not m.startswith("_") and not m.endswith("_request")]
    assert [m for m in public if not hasattr(ours, m)] == []


def fitted(module, name, **params):
    cls = getattr(module, name)
    classes = name.endswith("Classifier")
    X, y = (load_digits if classes else load_diabetes)(return_X_y=True)
    X, y = X[:400], y[:400]
    if name.startswith(("Stacking", "Voting")):
        linear = LogisticRegression(max_iter=3000) if classes else Ridge()
        tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(
            max_depth=3, random_state=0
        )
        params["estimators"] = [("linear", linear), ("tree", tree)]
    else:
        rounds = "max_iter" if name.startswith("Hist") else "n_estimators"
        params |= {rounds: 8, "random_state": 0}
    return cls(**params).fit(X[::2], y[::2]).predict(X[1::2])


@pytest.mark.skipif(
    sklearn.__version__ < "1.9", reason="the semantics are those of scikit-learn 1.9"
)
@pytest.mark.filterwarnings("ignore")
@each_class
def test_models_are_the_same_where_the_table_says_so(name):
    same, params, _ = differences.DIFFERENCES[name]
    theirs, ours = fitted(sklearn.ensemble, name), fitted(package, name)
    assert np.array_equal(ours, theirs) == same
    if params:
        near = fitted(package, name, **params)
        if name.startswith("AdaBoost"):
            np.testing.assert_array_equal(near, theirs)
        elif is_classifier(getattr(package, name)()):  # up to splits that are equally good
            assert np.mean(near != theirs) < 0.2
        else:
            assert np.mean((near - theirs) ** 2) < 0.01 * np.var(theirs)
