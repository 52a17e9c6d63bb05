"""Memory of trees, forests and one-feature smoothers: of fits, of fitted models, of predictions.

X is in double precision and C order; figures are multiples of it where nothing else is said.
"""

import tracemalloc

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor as SklearnForest

from sklearn_ensemble_theory import (
    BaggingRegressor,
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
    ExtraTreesRegressor,
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.averaging import _divide_and_conquer as blocks
from sklearn_ensemble_theory.smoothing import _compact_kernels as compact
from sklearn_ensemble_theory.smoothing import _spline_basis as splines
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..trees.engine import BinnedColumns, nodes_of
from ..trees.engine import _binned_tree as tree_predictions

# Of scikit-learn's trees with one output.
BYTES_OF_A_NODE = 64 + 8


def traced(function):
    """(what `function` returns, bytes that are held at its end, bytes at its peak)."""
    tracemalloc.start()
    try:
        found = function()
        kept, peak = tracemalloc.get_traced_memory()
        return found, kept, peak
    finally:
        tracemalloc.stop()


def rows_of(n, p=20, classes=False):
    rng = np.random.default_rng(p)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + np.sin(2 * X[:, -1]) + 0.3 * rng.standard_normal(n)
    return X, (y > 0).astype(int) if classes else y


def fitted(model, X, y):
    """As `traced`, of a second fit: the loops have been compiled by the first one."""
    model.fit(X[:500], y[:500])
    return traced(lambda: model.fit(X, y))


def n_nodes(forest):
    return sum(member.tree_.node_count for member in forest.estimators_)


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestRegressor(3, max_bins=None, random_state=0),
        ExtraTreesRegressor(3, max_bins=None, random_state=0),
        BaggingRegressor(n_estimators=3, max_bins=None, random_state=0),
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_forests_keep_their_rows_once(forest):
    # scikit-learn's trees hold their nodes where tracemalloc does not see them.
    X, y = rows_of(4000)
    forest, kept, peak = fitted(forest, X, y)
    assert kept < 0.5 * X.nbytes + 3 * y.nbytes
    # Exact trees are grown on ranks: 20 bytes a value while the fit runs.
    assert peak < 3.2 * X.nbytes
    assert forest.ensemble_.rows.X.base is None  # no view of what the user may change


def test_single_precision_of_the_user_is_copied():
    X, y = rows_of(100)
    X = X.astype(np.float32)
    forest = RandomForestRegressor(1, max_bins=None, random_state=0).fit(X, y)
    assert not np.may_share_memory(forest.ensemble_.rows.X, X)
    np.testing.assert_array_equal(forest.ensemble_.rows.X, X)


def test_nodes_are_those_of_scikit_learn():
    X, y = rows_of(2000)
    ours = RandomForestRegressor(3, max_bins=None, random_state=0).fit(X, y)
    other = SklearnForest(3, random_state=0).fit(X, y)
    assert abs(n_nodes(ours) - n_nodes(other)) <= 0.02 * n_nodes(other)


@pytest.mark.parametrize("model_class", [RandomForestRegressor, RandomForestClassifier])
def test_binned_forests_hold_no_more_than_those_of_scikit_learn(model_class):
    X, y = rows_of(6000, classes=model_class is RandomForestClassifier)
    forest = model_class(3, max_bins=255, random_state=0)
    forest, kept, peak = fitted(forest, X, y)
    rows = 0.5 * X.nbytes + 4 * y.nbytes
    limit = (BYTES_OF_A_NODE + 8) * n_nodes(forest)
    assert kept < rows + limit
    assert peak < 1.75 * X.nbytes + limit  # with arrays for the nodes of the largest tree


def test_a_binned_tree_frees_the_codes_of_its_columns(monkeypatch):
    X, y = rows_of(20_000)
    left = []
    thresholds = BinnedColumns.thresholds

    def spy(columns, feature, code):
        left.append(columns.codes.size)
        return thresholds(columns, feature, code)

    monkeypatch.setattr(BinnedColumns, "thresholds", spy)
    tree, kept, peak = fitted(BinnedTreeRegressor(), X, y)
    assert left == [0, 0]
    assert kept < BYTES_OF_A_NODE * len(nodes_of(tree))
    # A tree with a leaf for nearly every row, 36 bytes a node, and arrays of which a quarter is
    # never written.
    assert peak < 1.6 * X.nbytes
    _, _, peak = fitted(BinnedTreeRegressor(max_depth=6), X, y)
    assert peak < X.nbytes


@pytest.mark.parametrize("tree_class", [BinnedTreeRegressor, BinnedTreeClassifier])
def test_a_binned_tree_predicts_in_parts(tree_class, monkeypatch):
    X, y = rows_of(20_000, classes=tree_class is BinnedTreeClassifier)
    tree = tree_class().fit(X, y)
    whole = tree.predict(X)
    monkeypatch.setattr(tree_predictions, "VALUES_AT_ONCE", 2**15)
    in_parts, _, peak = traced(lambda: tree.predict(X))
    np.testing.assert_array_equal(in_parts, whole)
    assert peak < 0.3 * X.nbytes
    assert not nodes_of(tree).is_built
    tree.tree_.apply(X[:1].astype(np.float32))  # from here on it is scikit-learn's
    np.testing.assert_array_equal(tree.predict(X), whole)


def test_every_part_is_checked(monkeypatch):
    X, y = rows_of(200)
    tree = BinnedTreeRegressor().fit(X, y)
    monkeypatch.setattr(tree_predictions, "VALUES_AT_ONCE", 100)
    expected = tree.predict(X.tolist())
    np.testing.assert_array_equal(tree.predict(X), expected)
    for i in (0, 150):
        wrong = X.copy()
        wrong[i, 3] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            tree.predict(wrong)
        wrong[i, 3] = 1e300  # beyond all thresholds
        np.testing.assert_array_equal(tree.predict(wrong), tree.predict(np.minimum(wrong, 1e9)))
    with pytest.raises(ValueError, match="20 features"):
        tree.predict(X[:, :7])
    missing = X.copy()
    missing[150:, 3] = np.nan
    np.testing.assert_array_equal(tree.predict(missing), tree.predict(missing.tolist()))


@pytest.mark.parametrize("ours", [DivideAndConquerRegressor, DivideAndConquerClassifier])
def test_blocks_are_predicted_in_parts(ours, monkeypatch):
    X, y = rows_of(8000, classes=ours is DivideAndConquerClassifier)
    model = ours(n_blocks=4, weighting="risk", random_state=0)
    expected = model.fit(X, y).block_risks_
    two_jobs = clone(model).set_params(n_jobs=2)
    with parallel_config("threading"):
        np.testing.assert_array_equal(two_jobs.fit(X, y).block_risks_, expected)
    monkeypatch.setattr(blocks, "MOST_VALUES", 2**13)
    model, _, peak = traced(lambda: model.fit(X, y))
    np.testing.assert_array_equal(model.block_risks_, expected)
    assert peak < 1.2 * X.nbytes


def test_a_spline_of_many_features(monkeypatch):
    X, y = rows_of(10_000, p=6)
    model = SmoothingSplineRegressor(df=3, max_knots=6).fit(X[:500], y[:500])
    whole = model.predict(X)
    monkeypatch.setattr(splines, "BLOCK", 3000)
    assert [part.stop - part.start for part in splines.row_blocks(*X.shape)] == [500] * 20
    in_parts, _, peak = traced(lambda: model.predict(X))
    np.testing.assert_allclose(in_parts, whole, rtol=1e-12, atol=1e-12)
    assert peak < 1.5 * X.nbytes


@pytest.mark.parametrize(
    "model",
    [
        LinearL2BoostingRegressor(SmoothingSplineRegressor(df=3, max_knots=30)),
        SmoothingSplineRegressor(max_knots=30),
        NadarayaWatsonRegressor(0.3, kernel="epanechnikov"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_smoothers_of_one_feature_take_100_bytes_a_row(model, monkeypatch):
    n = 20_000
    monkeypatch.setattr(splines, "BLOCK", 2000)
    monkeypatch.setattr(compact, "POINTS_AT_A_TIME", 2**9)
    X, y = rows_of(n, p=1)
    model, _, peak = fitted(model, X, y)
    assert peak < 100 * n
    assert traced(lambda: model.predict(X))[2] < 100 * n
