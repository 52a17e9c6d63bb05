"""Trees grown on ranks are scikit-learn's, bit for bit."""

import os
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    DivideAndConquerRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from .engine import (
    RankedRows,
    columns_for,
    fitted_in_units,
    grows_on_ranks,
    ranked_members,
    ranks_of,
    take_features,
)

N_RANDOM_TREES = int(os.environ.get("N_RANDOM_TREES", "100"))
KINDS = "normal", "few values", "many ties", "mixed", "constant", "tiny", "mostly zero"
TASKS = "numbers", "whole numbers", "few numbers", "one number", "two classes", "ten classes"


def random_columns(rng, kind, n, p):
    Z = rng.normal(size=(n, p))
    return {
        "normal": Z,
        "few values": rng.integers(0, 10, (n, p)) * 1.0,
        "many ties": Z.round(1),
        "mixed": np.where(np.arange(p) % 2 == 0, Z, Z.round()),
        "constant": np.where(np.arange(p) % 2 == 0, Z, 1.5),
        "tiny": 1e-6 * Z,
        "mostly zero": Z * (rng.random((n, p)) < 0.1),
    }[kind]


def random_target(rng, task, X):
    signal = X[:, 0] / (np.abs(X[:, 0]).max() + 1e-300) + np.sin(3 * X[:, -1])
    y = signal + 0.3 * rng.normal(size=len(X))
    if task.endswith("classes"):
        return np.digitize(y, np.linspace(-1, 1, 9 if task == "ten classes" else 1))
    rounded = {"whole numbers": np.floor(5 * y), "few numbers": y.round(1)}
    return np.full(len(y), 5.3) if task == "one number" else rounded.get(task, y)


def random_weight(rng, n):
    kind = rng.integers(3)
    if kind == 0:
        return None
    if kind == 1:  # of a bootstrap sample
        return np.bincount(rng.integers(0, n, n), minlength=n).astype(float)
    return rng.exponential(size=n) * (rng.random(n) < 0.8) + 1e-9


def random_tree(rng, is_classifier):
    parameters = {
        "max_features": [None, 0.4, "sqrt", 1][rng.integers(4)],
        "max_depth": [None, None, 3, 8][rng.integers(4)],
        "min_samples_leaf": int(rng.choice([1, 1, 1, 2, 5])),
        "min_samples_split": int(rng.choice([2, 2, 7])),
        "min_weight_fraction_leaf": float(rng.choice([0, 0, 0.02])),
        "min_impurity_decrease": float(rng.choice([0, 0, 0.001])),
        "ccp_alpha": float(rng.choice([0, 0, 0.001])),
        "random_state": int(rng.integers(1000)),
    }
    cuts = {"splitter": str(rng.choice(["best", "best", "random"]))}
    if not is_classifier:
        return DecisionTreeRegressor(**cuts, **parameters)
    criterion = str(rng.choice(["gini", "gini", "entropy"]))
    return DecisionTreeClassifier(criterion=criterion, **cuts, **parameters)


def on_ranks(tree, X, y, weight=None, rows=None):
    """A copy of the tree, as a member of an ensemble on some of the rows."""
    rows = np.arange(len(y)) if rows is None else rows
    y = y[rows] if y.dtype.kind == "i" else y[rows].astype(float)
    member = type(tree)(**tree.get_params())
    with config_context(skip_parameter_validation=True):
        members = ranked_members(tree, X, None, 1)
        return members.fit(member, rows, y, None if weight is None else weight[rows], None)


def assert_same(found, expected):
    """Trees of the same nodes, bit for bit, and the same fitted attributes."""
    one, other = found.tree_.__getstate__(), expected.tree_.__getstate__()
    for name in other["nodes"].dtype.names:
        np.testing.assert_array_equal(one["nodes"][name], other["nodes"][name], err_msg=name)
    np.testing.assert_array_equal(one["values"], other["values"])
    assert one["max_depth"] == other["max_depth"]
    assert vars(found).keys() == vars(expected).keys()
    for name in vars(found).keys() - {"tree_"}:
        np.testing.assert_array_equal(vars(found)[name], vars(expected)[name])


@pytest.mark.parametrize("part", range(10))
def test_random_trees(part):
    for seed in range(part, N_RANDOM_TREES, 10):
        rng = np.random.default_rng(seed)
        n, p = int(rng.choice([5, 20, 60, 200, 900])), int(rng.choice([1, 2, 3, 10, 30]))
        kind, task = rng.choice(KINDS), rng.choice(TASKS)
        X = random_columns(rng, kind, n, p)
        y, weight = random_target(rng, task, X), random_weight(rng, n)
        tree = random_tree(rng, task.endswith("classes"))
        rows = np.arange(n) if weight is None else np.flatnonzero(weight)
        expected = type(tree)(**tree.get_params()).fit(
            X.astype(np.float32)[rows], y[rows], None if weight is None else weight[rows]
        )
        assert_same(on_ranks(tree, X, y, weight, rows), expected)


@pytest.mark.parametrize("n", [3000, 70_000])
def test_many_rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[:, 1] = X[:, 1].round(2)
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n)
    tree = DecisionTreeRegressor(max_depth=5, random_state=0)
    assert ranks_of(X).by_column.dtype == (np.uint16 if n < 2**16 else np.uint32)
    assert_same(on_ranks(tree, X, y), tree.fit(X.astype(np.float32), y))


@pytest.mark.parametrize("few_ties", [0, 3, 40])
@pytest.mark.parametrize("kind", ["as it is", "drawn", "counted"])
def test_rows_drawn_with_replacement_and_few_ties(kind, few_ties):
    """Sums in another order choose the cut, and scikit-learn's order of tied rows gives the means.

    Several columns cut the rows into the same halves, so that their scores differ by rounding only.
    """
    n = 2500
    for seed in range(6):
        rng = np.random.default_rng([few_ties, seed])
        X = rng.permutation(n)[:, None] * np.ones(4) + 1.0
        X[:, 1] = rng.permutation(n)
        X[:, 2] **= 2  # the same order
        X[:, 3] = rng.normal(size=n).round(1) if seed == 5 else -X[:, 0]
        for j in range(3):
            X[rng.choice(n, few_ties), j] = X[rng.choice(n, few_ties), j]
        y = np.sin(X[:, 0] / 300) + X[:, 1] / n + rng.normal(size=n) + [0, 100][seed % 2]
        y = y.round(1) if seed == 4 else y
        rows = rng.integers(0, n, n)
        tree = DecisionTreeRegressor(max_depth=[3, 5, None][seed % 3], random_state=seed)
        if seed == 3:
            tree.set_params(max_features=2, min_samples_leaf=20, min_weight_fraction_leaf=0.02)
        expected = clone(tree)
        if kind == "drawn":
            found = clone(tree)
            with config_context(skip_parameter_validation=True):
                ranked_members(tree, X, None, 1).fit_drawn(found, rows, y[rows])
            expected.fit(X[rows], y[rows])
        elif kind == "counted":
            counts = np.bincount(rows, minlength=n)
            distinct = np.flatnonzero(counts)
            found = on_ranks(tree, X, y, counts.astype(float), distinct)
            expected.fit(X[distinct], y[distinct], counts[distinct])
        else:
            found = on_ranks(tree, X, y)
            expected.fit(X, y)
        assert_same(found, expected)


def test_a_forest_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8)).round(1)
    y = np.digitize(X[:, 0] + rng.normal(size=400), [-1, 1])
    parameters = {"n_estimators": 5, "random_state": 0, "criterion": "entropy"}
    found = RandomForestClassifier(**parameters).fit(X, y)
    expected = SklearnForest(**parameters).fit(X, y)
    for one, other in zip(found.estimators_, expected.estimators_):
        assert_same(one, other)


def own_class(base):
    """Trees of a class of its own, which keep their `fit`."""
    return type(base)("Own", (base,), {"__init__": base.__init__})


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize(
    ("ensemble", "tree"),
    [
        (AdaBoostClassifier(n_estimators=8), DecisionTreeClassifier),  # weights are not whole
        (AdaBoostRegressor(n_estimators=8), DecisionTreeRegressor),  # rows are repeated
        (DivideAndConquerRegressor(n_blocks=3), DecisionTreeRegressor),
        (AdaBoostClassifier(n_estimators=8), ExtraTreeClassifier),
    ],
)
def test_members_of_ensembles(ensemble, tree, digits):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(digits)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + rng.normal(size=300)
    y = np.where(y > 0, "up", "down") if is_classifier(ensemble) else y
    found, expected = (
        clone(ensemble).set_params(estimator=kind(max_depth=3), random_state=0).fit(X, y)
        for kind in (tree, own_class(tree))
    )
    assert len(found.estimators_) == len(expected.estimators_)
    for one, other in zip(found.estimators_, expected.estimators_):
        assert_same(one, other)


def test_members_of_some_rows_and_columns_are_those_of_their_fit():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 6)).round(1), rng.normal(size=300)
    bag = BaggingRegressor(
        DecisionTreeRegressor(min_samples_leaf=2), n_estimators=4, max_samples=0.5, bootstrap=False,
        max_features=4, bootstrap_features=True, random_state=0,
    ).fit(X, y)  # fmt: skip
    for member, rows, columns in zip(
        bag.estimators_, bag.estimators_samples_, bag.estimators_features_
    ):
        rows = np.sort(rows)
        expected = DecisionTreeRegressor(**member.get_params())
        assert_same(member, expected.fit(X[rows][:, columns].astype(np.float32), y[rows]))


def test_ranks_are_those_of_the_values_in_single_precision():
    X = np.array([[0.0, 1.0], [-0.0, 1.0 + 1e-9], [-2.5, 7.0], [1e-46, -1.0]])
    ranks = ranks_of(X)
    np.testing.assert_array_equal(ranks.by_column, [[1, 1, 0, 1], [1, 1, 2, 0]])
    np.testing.assert_array_equal(ranks.arrays[1], [-2.5, 0.0, -1.0, 1.0, 7.0])
    swapped = take_features(pickle.loads(pickle.dumps(ranks)), np.array([1, 0, 1]))
    np.testing.assert_array_equal(swapped.by_column, ranks.by_column[[1, 0, 1]])
    np.testing.assert_array_equal(swapped.arrays[1], [-1.0, 1.0, 7.0, -2.5, 0.0, -1.0, 1.0, 7.0])
    assert columns_for(ExtraTreeClassifier(), X).shape == (4, 2)
    for value in (np.nan, -np.nan, np.inf, 1e39):
        X[2, 1] = value
        assert ranks_of(X) is columns_for(ExtraTreeClassifier(), X) is None


@pytest.mark.parametrize(
    "tree",
    [
        DecisionTreeRegressor(criterion="absolute_error"),
        DecisionTreeRegressor(criterion="poisson"),
        DecisionTreeRegressor(max_leaf_nodes=5),
        DecisionTreeRegressor(monotonic_cst=[1, 0]),
        DecisionTreeClassifier(class_weight="balanced"),
        type("Own", (DecisionTreeRegressor,), {})(),
    ],
    ids=repr,
)
def test_trees_that_scikit_learn_grows(tree):
    assert not grows_on_ranks(tree)


# --- sparse X ------------------------------------------------------------------------------------


def grown_on(tree, columns, y, weight, features=None):
    """A copy of the tree, fitted to columns."""
    columns = columns if features is None else take_features(columns, features)
    rows = RankedRows(columns, None)
    with config_context(skip_parameter_validation=True):
        return fitted_in_units(clone(tree), rows, y, sample_weight=weight)


@pytest.mark.parametrize("seed", range(N_RANDOM_TREES))
def test_trees_on_stored_values_are_those_on_ranks(seed):
    """To the bit where sums are exact: classes, or whole numbers, with whole weights."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 200)), int(rng.integers(1, 12))
    X = random_columns(rng, str(rng.choice(KINDS)), n, p)
    X *= rng.random((n, p)) < rng.choice([0.05, 0.3, 0.9, 1.0])
    task = str(rng.choice(["whole numbers", "one number", "two classes", "ten classes"]))
    y = random_target(rng, task, X)
    y = np.floor(y) if task == "one number" else y
    tree = random_tree(rng, y.dtype.kind == "i")
    weight = None if rng.random() < 0.5 else np.bincount(rng.integers(0, n, n), minlength=n) + 0.0
    for features in (None, rng.permutation(p)[: p // 2 + 1]):
        found, expected = (
            grown_on(tree, columns_for(tree, rows), y, weight, features)
            for rows in (sparse.csr_array(X), X)
        )
        assert_same_tree(found.tree_, expected.tree_)


def assert_same_tree(found, expected):
    one, other = found.__getstate__(), expected.__getstate__()
    for name in other["nodes"].dtype.names:
        np.testing.assert_array_equal(one["nodes"][name], other["nodes"][name], name)
    np.testing.assert_array_equal(one["values"], other["values"])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        RandomForestClassifier(5, criterion="entropy", max_features=None, random_state=0),
        RandomForestRegressor(5, random_state=0, oob_score=True),
        ExtraTreesClassifier(5, random_state=0),
        ExtraTreesRegressor(5, random_state=0),
        BaggingRegressor(n_estimators=5, max_features=0.5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_ensembles_of_sparse_rows_are_those_of_dense_ones(model):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 80)) < 0.05, rng.normal(size=(600, 80)), 0)
    y = np.floor(3 * X[:, :20].sum(axis=1))
    S = sparse.csc_array(X)
    found, expected = clone(model).fit(S, y), clone(model).fit(X, y)
    for one, other in zip(found.estimators_, expected.estimators_):
        assert_same_tree(one.tree_, other.tree_)
    np.testing.assert_array_equal(found.predict(S), expected.predict(X))
    if hasattr(found, "oob_score_"):
        np.testing.assert_array_equal(found.oob_prediction_, expected.oob_prediction_)


def test_what_stored_values_are_grown_on():
    """Not a value beyond single precision; copies with repeated entries leave X as it is."""
    tree = DecisionTreeRegressor(random_state=0)
    X = sparse.csr_array(np.array([[0.0, 1e39], [1.0, 2.0]]))
    assert columns_for(tree, X) is None
    assert columns_for(tree.set_params(max_leaf_nodes=3), sparse.csr_array(np.eye(2))) is None
    twice = sparse.csc_matrix(([1.0, 2.0, 0.0], [1, 1, 0], [0, 3, 3]), shape=(2, 2))
    stored = columns_for(DecisionTreeRegressor(), twice)
    n, first, row, value = stored.arrays
    assert (n, first.tolist(), row.tolist(), value.tolist()) == (2, [0, 1, 1], [1], [3.0])
    assert twice.nnz == 3
    again = pickle.loads(pickle.dumps(stored))
    np.testing.assert_array_equal(again.arrays[2], row)
    # No column varies.
    none = columns_for(DecisionTreeRegressor(), sparse.csc_matrix((3, 2)))
    assert grown_on(DecisionTreeRegressor(), none, np.arange(3.0), None).get_n_leaves() == 1
