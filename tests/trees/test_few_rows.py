"""Few rows are predicted from the trees as they are: the same bits, and no other node is read."""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import validate_data

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    _rows,
)
from sklearn_ensemble_theory.ensembles._predictions import leaf_outputs
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .engine import DeepTrees, LooseTrees, SmallTrees, grown_tree, member_nodes, packed_trees


def data(missing=0.1, n=600, p=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    X[:, 3] = 1.7e9 + 5.0 * np.arange(n)  # single precision does not tell these apart
    X[:, 4] = rng.integers(0, 12, size=n)
    y = X[:, 0] * X[:, 1] + np.isin(X[:, 4], [2, 3, 7, 11]) + np.sin(np.arange(n) / 4)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def fitted(tree, X, y, n_trees=7, **params):
    rows = [np.random.default_rng(t).integers(0, len(X), len(X)) for t in range(n_trees)]
    return [tree(random_state=t, **params).fit(X[r], y[r]) for t, r in enumerate(rows)]


def layouts(members, **given):
    """The trees as they are, and laid out for many rows."""
    loose, packed = packed_trees(members, n_rows=1, **given), packed_trees(members, **given)
    assert type(loose) is LooseTrees
    assert type(packed) is DeepTrees
    return loose, packed


def sums(trees, X, width):
    out = np.zeros((len(X), width))
    trees.add(X, out)
    return out


BINNED = {"max_bins": 255, "categorical_features": [4]}


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("tree", "params"),
    [(DecisionTreeRegressor, {}), (BinnedTreeRegressor, {}), (BinnedTreeRegressor, BINNED)],
)
def test_values_are_those_of_trees_that_are_laid_out(tree, params, n, dtype):
    X, y = data()
    members = fitted(tree, X, y, **params)
    rows = np.concatenate([X[:n], np.full((1, 5), np.nan)])
    rows = np.array(rows, dtype=dtype)
    alone = np.column_stack([member.predict(rows) for member in members])
    scale = np.linspace(0.3, 2, 7)
    for width, given in [(1, {}), (3, {}), (3, {"scale": scale})]:
        loose, packed = layouts(members, width=width, **given)
        found, expected = sums(loose, rows, width), np.zeros((n + 1, width))
        for t in range(7):
            expected[:, t % width] += alone[:, t] * (scale[t] if given else 1)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(found, sums(packed, rows, width))
        for one, other in zip(
            loose.rounds(rows, np.zeros((n + 1, width))),
            packed.rounds(rows, np.zeros((n + 1, width))),
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("votes", [False, True])
@pytest.mark.parametrize(
    ("tree", "params"),
    [(DecisionTreeClassifier, {}), (BinnedTreeClassifier, {}), (BinnedTreeClassifier, BINNED)],
)
def test_classes_and_columns(tree, params, votes):
    X, y = data()
    codes = np.digitize(y, [-0.3, 0.2, 0.8])
    columns = [np.array([4, 1, 0]), np.array([0, 2, 4]), np.array([3, 4])]
    params = {**params, "categorical_features": None} if params else {}
    members = [  # the second lacks a class
        tree(random_state=t, **params).fit(X[codes != t][:, c], codes[codes != t])
        for t, c in enumerate(columns, 1)
    ]
    outputs = leaf_outputs(members, 4, votes)
    loose, packed = layouts(members, width=4, features=columns, leaf_outputs=outputs)
    found = sums(loose, X[:50], 4)
    np.testing.assert_array_equal(found, sums(packed, X[:50], 4))
    expected = np.zeros((50, 4))
    for member, own in zip(members, columns):
        shares = member.predict_proba(X[:50, own])
        if votes:
            shares = shares == shares.max(axis=1, keepdims=True)
            shares &= shares.cumsum(axis=1) == 1
        expected[:, member.classes_] += shares
    np.testing.assert_array_equal(found, expected)


def test_trees_are_laid_out_when_rows_are_many():
    X, y = data(missing=0)
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    limit = (np.mean([len(nodes) for nodes in member_nodes(model.estimators_)]) + 100) / 10
    expected = np.mean([tree.predict(X) for tree in model.estimators_], axis=0)
    seen, first = 0, None
    while seen < limit + 2:
        np.testing.assert_allclose(model.predict(X[seen : seen + 1]), expected[seen], rtol=1e-12)
        seen += 1
        (_, kept), *others = model._packed._kept.values()
        assert not others
        first = first or kept
        assert kept is first if seen < limit else type(kept) is DeepTrees
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert not other._packed._kept


WRONG = {
    "a left child beyond the end": ("left", 10**6),
    "a right child beyond the end": ("right", 2**31 - 1),
    "a circle": ("right", 0),
    "no right child": ("right", -1),
    "no such feature": ("feature", 5),
    "a negative feature": ("feature", -2),
}


@pytest.mark.parametrize(("name", "number"), WRONG.values(), ids=list(WRONG))
def test_damaged_trees(name, number):
    """They are refused when they are loaded; and no loop reads what is not there."""
    X, y = data()
    tree = BinnedTreeRegressor(max_bins=255).fit(X, y)
    nodes = grown_tree(tree).arrays
    numbers = getattr(nodes, name).copy()
    numbers[0] = number
    grown_tree(tree).arrays = replace(nodes, **{name: numbers})
    with pytest.raises(ValueError, match="no tree over 5 columns"):
        pickle.loads(pickle.dumps(tree))
    rows = X.astype(np.float32)
    with pytest.raises(ValueError, match="lead to no leaf"):
        sums(packed_trees([tree], n_rows=1), rows, 1)
    with pytest.raises(ValueError):
        sums(packed_trees([tree]), rows, 1)


@pytest.mark.parametrize("depth", [None, 4])
def test_trees_that_their_owner_has_cut(depth):
    """Nodes to which nothing leads are left out, whatever the layout."""
    X, y = data(missing=0)
    X = X.astype(np.float32)
    members = fitted(DecisionTreeRegressor, X, y, max_depth=depth)
    for member in members:
        for node in member.tree_.children_left[0], member.tree_.children_right[0] + 2:
            member.tree_.children_left[node] = member.tree_.children_right[node] = -1
    expected = np.zeros((len(X), 1))
    for t, member in enumerate(members):
        expected[:, 0] += (1.0 + t) * member.predict(X)
    for n_rows, kind in [(1, LooseTrees), (None, DeepTrees)]:
        trees = packed_trees(members, n_rows=n_rows, scale=1.0 + np.arange(7))
        assert type(trees) is (SmallTrees if depth else kind)
        np.testing.assert_array_equal(sums(trees, X, 1), expected)


MODELS = {
    "HistGradientBoostingClassifier": {"max_iter": 5},
    "GradientBoostingRegressor": {"n_estimators": 5},
    "RandomForestClassifier": {"n_estimators": 5},
    "ExtraTreesRegressor": {"n_estimators": 5},
    "BaggingRegressor": {"n_estimators": 5},
    "AdaBoostClassifier": {"n_estimators": 5},
    "BinnedTreeRegressor": {},
}
X_FEW = np.random.default_rng(1).normal(size=(3, 5))
ROWS = {  # with names, where some estimators warn
    "one row": X_FEW[:1],
    "float32": X_FEW.astype(np.float32),
    "a list": X_FEW[:1].tolist(),
    "one-dimensional": X_FEW[0],
    "a stack": X_FEW[None],
    "no rows": X_FEW[:0],
    "fewer columns": X_FEW[:, :4],
    "more columns": np.c_[X_FEW, X_FEW[:, :1]],
    "missing": np.where(X_FEW > 1, np.nan, X_FEW),
    "infinite": np.where(X_FEW > 1, np.inf, X_FEW),
    "large": X_FEW * 1e300,
    "Fortran": np.asfortranarray(X_FEW),
    "columns apart": np.repeat(X_FEW, 2, axis=1)[:, ::2],
    "integers": X_FEW.astype(int),
    "half precision": X_FEW.astype(np.float16),
    "the other order of bytes": X_FEW.astype(X_FEW.dtype.newbyteorder()),
    "complex": X_FEW + 0j,
    "text": X_FEW.astype(str),
    "objects": X_FEW.astype(object),
    "masked": np.ma.masked_array(X_FEW),
    "sparse": sp.csr_matrix(X_FEW),
    "a frame": pd.DataFrame(X_FEW),
    "a frame with names": pd.DataFrame(X_FEW, columns=list("abcde")),
    "a frame with other names": pd.DataFrame(X_FEW, columns=list("abced")),
}


def outcome(model, X):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = model.predict(X)
        except (TypeError, ValueError) as error:
            found = f"{type(error).__name__}: {error}"
    return found, [str(each.message) for each in warned]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("has_names", [False, True])
def test_an_array_that_needs_no_conversion_is_not_checked_at_length(name, has_names, monkeypatch):
    """All other X, and all that is wrong, go the way of scikit-learn's checks."""
    cls = getattr(package.trees if name.startswith("Binned") else package, name)
    X, y = data(missing=0)
    X = pd.DataFrame(X, columns=list("abcde")) if has_names else X
    model = cls(**MODELS[name]).fit(X, y > 0.5 if "Class" in name else y)
    found = {kind: outcome(model, rows) for kind, rows in ROWS.items()}
    # Now with all checks, and each kind of rows for itself.
    checks = []

    def counted(*args, **kwargs):
        checks.append(args)
        return validate_data(*args, **kwargs)

    monkeypatch.setattr(_rows, "sklearn_validate_data", counted)
    assert outcome(model, X_FEW[:1])[0] == found["one row"][0]
    assert bool(checks) == has_names
    monkeypatch.setattr(_rows, "FEW_NUMBERS", 0)
    for kind, rows in ROWS.items():
        expected, warned = outcome(model, rows)
        assert found[kind][1] == warned, kind
        np.testing.assert_array_equal(found[kind][0], expected, err_msg=kind)
    assert len(checks) >= len(ROWS) - 2
    assert not isinstance(found["one row"][0], str)
    for kind in ("fewer columns", "more columns", "no rows", "one-dimensional", "complex"):
        assert isinstance(found[kind][0], str)
    with pytest.raises(NotFittedError):
        cls().predict(X_FEW)


def test_few_rows_of_fewer_columns():
    X, y = data(missing=0)
    loose, packed = layouts(fitted(DecisionTreeRegressor, X, y))
    for layout in (loose, packed):
        with pytest.raises(ValueError):
            sums(layout, X[:1, :2], 1)


@pytest.mark.parametrize("model", [RandomForestClassifier, GradientBoostingRegressor])
def test_compact_models_predict_few_rows(model):
    X, y = data(missing=0)
    params = {"max_leaf_nodes": 40} if model is GradientBoostingRegressor else {}
    model = model(n_estimators=3, random_state=0, **params).fit(X, np.round(y))
    expected = model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        np.concatenate([again.predict(x[None]) for x in X[:9]]), expected[:9]
    )
