"""Trees tell any two different doubles apart, also where single precision has one number."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    FrankWolfeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SmoothBoostClassifier,
    export,
    inspection,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .engine import BinnedColumns, DeepTrees, LooseTrees, SmallTrees, nodes_of, packed_trees

FAMILIES = {
    "HistGradientBoosting": (
        HistGradientBoostingRegressor(learning_rate=0.3, min_samples_leaf=5),
        HistGradientBoostingClassifier(learning_rate=0.3, max_iter=20),
    ),
    "GradientBoosting": (
        GradientBoostingRegressor(max_depth=5, learning_rate=0.3),
        GradientBoostingClassifier(max_depth=5, learning_rate=0.3, n_estimators=20),
    ),
    "BinnedTree": (BinnedTreeRegressor(), BinnedTreeClassifier()),
    "RandomForest": (
        RandomForestRegressor(10, random_state=0),
        RandomForestClassifier(10, random_state=0),
    ),
    "ExtraTrees": (
        ExtraTreesRegressor(10, random_state=0),
        ExtraTreesClassifier(10, random_state=0),
    ),
    "Bagging": (
        BaggingRegressor(n_estimators=10, max_features=1.0, random_state=0),
        BaggingClassifier(n_estimators=10, random_state=0),
    ),
    "AdaBoost": (
        AdaBoostRegressor(DecisionTreeRegressor(max_depth=8), n_estimators=10, random_state=0),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=10, random_state=0),
    ),
}


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def numbers(n=500):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 0] * X[:, 2]


def test_unix_seconds(family):
    """Single precision has a number for 128 seconds there, and the wave a period of 300."""
    seconds = 5.0 * np.arange(500)
    y = np.sin(2 * np.pi * seconds / 300)
    model = FAMILIES[family][0].fit(1.7e9 + seconds[:, None], y)
    assert model.score(1.7e9 + seconds[:, None], y) > 0.85
    assert model.score(1.7e9 + seconds[:, None] + 1, y) > 0.85


def test_nanoseconds_and_identifiers(family):
    seconds = np.arange(500)
    labels = seconds // 25 % 2
    X = (1_700_000_000 + seconds)[:, None] * 1_000_000_000
    assert FAMILIES[family][1].fit(X, labels).score(X, labels) > 0.98
    # All of them are one number in single precision.
    ids = np.random.default_rng(0).integers(0, 40, 500)
    X, y = 1e9 + ids[:, None], np.random.default_rng(1).normal(size=40)[ids]
    assert FAMILIES[family][0].fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize(("shift", "scale"), [(1e8, 1), (0, 1e-8), (0, 1e-49), (0, 1e39)])
def test_units_and_origins_of_columns(family, shift, scale):
    X, y = numbers()
    model = FAMILIES[family][0]
    expected = model.fit(X, y).score(X, y)
    assert expected > 0.95
    moved = shift + scale * X
    assert model.fit(moved, y).score(moved, y) > expected - 0.01


def test_targets_far_from_zero(family):
    """The squares of 10^12 leave no digits for a spread of 1."""
    X, y = numbers()
    model = FAMILIES[family][0]
    expected = model.fit(X, y).score(X, y)
    assert model.fit(X, y + 1e12).score(X, y + 1e12) > expected - 0.01
    assert np.abs(model.predict(X) - 1e12).max() < 10


def test_values_are_as_good_as_their_ranks(family):
    """Cuts between neighbouring doubles, on both sides of 0, and beside values that are missing."""
    rng = np.random.default_rng(2)
    ranks = np.column_stack([rng.integers(0, 100, 400), rng.integers(0, 100, 400)]).astype(float)
    y = np.sin(ranks[:, 0]) + ranks[:, 1] / 50
    X = ranks.copy()
    X[:, 0] = np.where(ranks[:, 0] < 50, -1 + 2.0**-53 * ranks[:, 0], 1 + 2.0**-52 * ranks[:, 0])
    X[::7, 0] = ranks[::7, 0] = np.nan
    model = FAMILIES[family][0]
    if family in ("RandomForest", "ExtraTrees", "Bagging", "AdaBoost"):
        ranks += 1.7e9  # without it trees are grown in another way
    expected = model.fit(ranks, y).predict(ranks)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), expected)
    np.testing.assert_array_equal(again.predict(X[5:6]), expected[5:6])
    if hasattr(model, "staged_predict"):
        *_, last = model.staged_predict(X)
        np.testing.assert_array_equal(last, expected)


def walked(tree, X):
    """The values at rows, by comparisons of single numbers."""
    nodes, found = nodes_of(tree), []
    wide = [] if nodes.wide is None else nodes.wide.tolist()
    for row in X:
        at = 0
        while nodes.left[at] >= 0:
            j = nodes.feature[at]
            value = row[j] if j in wide else float(np.float32(np.clip(row[j], -1e38, 1e38)))
            goes_left = nodes.missing_left[at] if np.isnan(value) else value <= nodes.threshold[at]
            at = nodes.left[at] if goes_left else nodes.right[at]
        found.append(nodes.value[at, 0])
    return np.array(found)


@pytest.mark.parametrize(
    ("layout", "depth"), [(SmallTrees, 4), (DeepTrees, None), (LooseTrees, None)]
)
def test_trees_that_read_a_column_in_different_precision(layout, depth):
    """In one ensemble, as after a warm start: each in its own way."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 2))
    X[:, 0] = 1 + 1e-8 * X[:, 0]
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.normal(size=90)
    single = X.astype(np.float32)
    single[:, 0] += np.float32(2.0**-23) * rng.integers(-20, 20, 90)
    trees = [BinnedTreeRegressor(max_depth=depth).fit(Z, y) for Z in (X, single, single, X)]
    assert [nodes_of(tree).wide is None for tree in trees] == [False, True, True, False]
    cuts = nodes_of(trees[1])
    cuts = cuts.threshold[(cuts.feature == 0) & np.isfinite(cuts.threshold)]
    # Beside the thresholds, and where doubles are rounded to the one or the other number.
    near = np.concatenate([np.spacing(np.float32(1)) * k / 4 + cuts for k in range(-3, 4)])
    near = np.concatenate([near, np.nextafter(near, 2), np.nextafter(near, 0)])
    rows = np.vstack([X, np.column_stack([near, np.zeros(len(near))]), [[1e300, -1e300]]])
    expected = sum(walked(tree, rows) for tree in trees)
    sums = packed_trees(trees, n_rows=1 if layout is LooseTrees else None)
    assert type(sums) is layout
    out = np.zeros((len(rows), 1))
    sums.add(rows, out)
    np.testing.assert_allclose(out[:, 0], expected, rtol=1e-12)
    for tree in trees:
        np.testing.assert_array_equal(tree.predict(rows), walked(tree, rows))
        many = np.tile(rows, (8192 // len(rows) + 1, 1))  # laid out
        np.testing.assert_array_equal(tree.predict(many)[: len(rows)], walked(tree, rows))
        leaf = tree.apply(rows)
        np.testing.assert_array_equal(nodes_of(tree).value[leaf, 0], tree.predict(rows))
        # scikit-learn 1.6 leaves missing values out of the paths of its trees.
        known = ~np.isnan(rows).any(axis=1)
        passed = tree.decision_path(rows[known]).toarray()
        assert passed[np.arange(len(passed)), leaf[known]].all()


def test_equal_numbers_by_chance_are_read_in_single_precision():
    """Columns of a continuous distribution, of which some values are one number there."""
    X = np.random.default_rng(4).random((20_000, 3))
    assert len(np.unique(X[:, 0].astype(np.float32))) < len(X)
    X[:, 1] = np.round(X[:, 1], 2)
    X[:5000, 2] = 0.1
    for weight in (None, np.random.default_rng(5).integers(0, 3, len(X)).astype(float)):
        assert BinnedColumns.of(X, 255, weight).wide is None
        X[:5000, 2] += np.where(np.arange(5000) % 2, 1e-12, 0)
        np.testing.assert_array_equal(BinnedColumns.of(X, 255, weight).wide, [False, False, True])
        X[:5000, 2] = 0.1


def test_pruning():
    rng = np.random.default_rng(6)
    ranks = rng.integers(0, 50, (300, 2)).astype(float)
    y = np.sin(ranks[:, 0]) + rng.normal(size=300)
    X = 1 + 1e-12 * ranks
    tree = BinnedTreeRegressor(ccp_alpha=0.01)
    expected = tree.fit(ranks, y).predict(ranks)
    assert 1 < tree.get_n_leaves() < 50
    np.testing.assert_allclose(tree.fit(X, y).predict(X), expected, rtol=1e-12)
    path = tree.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(
        path.ccp_alphas, tree.cost_complexity_pruning_path(ranks, y).ccp_alphas, rtol=1e-9
    )


def test_averages_of_trees():
    """Rows out of bag, leaves, weights, quantiles and intervals, as on ranks."""
    rng = np.random.default_rng(7)
    ranks = rng.integers(0, 60, (200, 2)).astype(float)
    y = np.sin(ranks[:, 0]) + ranks[:, 1] / 50
    X, probes = 1.7e9 + ranks, ranks[:20] + 0.25
    given = {"n_estimators": 40, "oob_score": True, "random_state": 0, "max_bins": 255}
    for model in (
        RandomForestRegressor(**given),
        RandomForestRegressor(**given, honesty=0.5),
        ExtraTreesRegressor(**given, bootstrap=True),
    ):
        forest, expected = clone(model).fit(X, y), clone(model).fit(ranks, y)
        np.testing.assert_allclose(forest.oob_prediction_, expected.oob_prediction_, rtol=1e-12)
        rows = 1.7e9 + probes
        np.testing.assert_array_equal(forest.apply(rows), expected.apply(probes))
        paths, own = forest.decision_path(rows)[0], expected.decision_path(probes)[0]
        np.testing.assert_array_equal(paths.toarray(), own.toarray())
        for method in ("quantile", "normalized"):
            np.testing.assert_allclose(
                forest.predict_interval(rows, method=method),
                expected.predict_interval(probes, method=method),
                rtol=1e-9,
            )
        again = pickle.loads(pickle.dumps(inspection.compact(forest)))
        np.testing.assert_array_equal(again.predict(rows), forest.predict(rows))
        np.testing.assert_array_equal(again.predict(rows[:1]), forest.predict(rows[:1]))


def test_formats_of_single_precision_refuse_by_name(family):
    pd = pytest.importorskip("pandas")
    X, y = numbers(100)
    X = pd.DataFrame(X, columns=["plain", "seconds", "other"])
    X["seconds"] = 1.7e9 + np.arange(100)
    model = FAMILIES[family][0].fit(X, np.arange(100) // 10 + 0 * y)
    with pytest.raises(ValueError, match=r"single precision.* feature 'seconds'"):
        export.sklearn(model)
    with pytest.raises(ValueError, match="double precision"):
        inspection.partial_dependence(model, X, ["seconds"], method="recursion")
    if family in ("AdaBoost", "BinnedTree"):
        return
    # The trees of shap read double precision.
    found = export.shap(model)
    assert found["input_dtype"] is np.float64
    rows, total = X.to_numpy()[::7], np.atleast_1d(found["base_offset"])[0]
    for nodes in found["trees"]:
        total = total + np.array([nodes["value"][leaf_of(nodes, row), 0] for row in rows])
    np.testing.assert_allclose(total, model.predict(X.iloc[::7]), rtol=1e-9)
    # At all values, which are fewer than the resolution.
    average = inspection.partial_dependence(model, X, ["seconds"], grid_resolution=101).average
    assert average[0, 4] < 2
    assert average[0, 95] > 8


def leaf_of(nodes, row):
    at = 0
    while nodes["children_left"][at] >= 0:
        is_left = row[nodes["feature"][at]] <= nodes["threshold"][at]
        at = nodes["children_left" if is_left else "children_right"][at]
    return at


def test_other_ways_to_trees():
    """Exact trees of boosting, blocks of rows, rows given to stop by, and a continued fit."""
    seconds = np.arange(400.0)
    X, y = 1.7e9 + seconds[:, None], seconds // 20 % 2
    exact = GradientBoostingRegressor(max_bins=None, n_estimators=20, learning_rate=0.5)
    pruned = GradientBoostingRegressor(ccp_alpha=1e-6, n_estimators=20, learning_rate=0.5)
    absolute = GradientBoostingRegressor(
        BinnedTreeRegressor(criterion="absolute_error"), n_estimators=20, learning_rate=0.5
    )
    blocks = DivideAndConquerRegressor(DecisionTreeRegressor(), n_blocks=2, random_state=0)
    for model in (exact, pruned, absolute, blocks):
        assert model.fit(X, y).score(X, y) > 0.9
    assert exact.apply(X).max() > 2
    for model in (
        SmoothBoostClassifier(DecisionTreeClassifier(max_depth=5), random_state=0),
        FrankWolfeClassifier(DecisionTreeClassifier(max_depth=10), random_state=0),
    ):
        assert model.fit(X, y).score(X, y) > 0.9
    assert blocks.fit(X, y + 1e12).score(X, y + 1e12) > 0.9
    drawn = AdaBoostRegressor(BinnedTreeRegressor(), random_state=0)
    assert drawn.fit(X, y + 1e12).score(X, y + 1e12) > 0.9
    half = np.arange(400) % 2 == 0
    stopped = GradientBoostingRegressor(n_iter_no_change=3, n_estimators=50, max_depth=6)
    stopped.fit(X[half], y[half], X_val=X[~half], y_val=y[~half])
    assert stopped.score(X[~half], y[~half]) > 0.7
    continued = RandomForestRegressor(5, warm_start=True, random_state=0).fit(seconds[:, None], y)
    continued.set_params(n_estimators=10).fit(X, y)
    assert np.isfinite(continued.predict(X)).all()


def sparse_and_dense(missing=False):
    """Stored values that are one number in single precision, beyond it, or ordinary ones.

    Some are zeros, and some the sum of two that are stored.
    """
    rng = np.random.default_rng(8)
    X = np.where(rng.random((400, 5)) < 0.3, 1 + 1e-9 * rng.integers(0, 60, (400, 5)), 0.0)
    X[:, 3] = np.where(rng.random(400) < 0.2, rng.normal(size=400), 0)
    X[:, 4] *= 1e39
    y = np.sin(1e9 * X[:, 0]) + (X[:, 1] > 1 + 3e-8) + X[:, 3]
    if missing:
        X[::9, 2] = np.nan
    given = sparse.coo_array(X)
    twice, rows = given.data.copy(), np.arange(0, 400, 3)
    twice[::2] /= 2
    data = np.concatenate([twice, twice[::2], np.zeros(len(rows))])
    data[1 : len(twice) : 2] = given.data[1::2]
    row = np.concatenate([given.coords[0], given.coords[0][::2], rows])
    column = np.concatenate([given.coords[1], given.coords[1][::2], np.full(len(rows), 1)])
    order = np.argsort(row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=400))])
    S = sparse.csr_matrix((data[order], column[order], ends), shape=X.shape)
    assert S.nnz > given.nnz
    np.testing.assert_array_equal(S.toarray(), X)
    return S, X, y


SPARSE = {
    **{name: FAMILIES[name] for name in ("BinnedTree", "RandomForest", "ExtraTrees", "Bagging")},
    "AdaBoost": (*FAMILIES["AdaBoost"], SmoothBoostClassifier(DecisionTreeClassifier(max_depth=5))),
    "DivideAndConquer": (
        DivideAndConquerRegressor(DecisionTreeRegressor(), n_blocks=2, random_state=0),
        DivideAndConquerClassifier(DecisionTreeClassifier(), n_blocks=2, random_state=0),
    ),
    "GradientBoosting": (
        GradientBoostingRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=5),
        GradientBoostingClassifier(DecisionTreeRegressor(max_depth=3), n_estimators=5),
    ),
    "BaggedBins": (
        BaggingRegressor(BinnedTreeRegressor(), n_estimators=5, max_features=0.7, random_state=0),
        AdaBoostRegressor(BinnedTreeRegressor(max_depth=8), n_estimators=5, random_state=0),
        AdaBoostClassifier(BinnedTreeClassifier(max_depth=3), n_estimators=5, random_state=0),
    ),
}


@pytest.mark.parametrize(
    ("name", "missing"),
    [(name, False) for name in SPARSE]
    + [(name, True) for name in ("BinnedTree", "RandomForest", "ExtraTrees", "Bagging")],
)
def test_trees_of_sparse_rows_are_those_of_dense_ones(name, missing):
    """To the bit, in fit and predictions, also where zeros are stored, and values twice."""
    S, X, y = sparse_and_dense(missing)
    before = [part.copy() for part in (S.data, S.indices, S.indptr)]
    for model in SPARSE[name]:
        target = y if is_regressor(model) else (y > np.median(y)).astype(int)
        dense = clone(model).fit(X, target)
        for given in (S, S.tocsc()):
            fitted = clone(model).fit(given, target)
            for method in ("predict", "predict_proba", "apply", "decision_path"):
                if not hasattr(dense, method):
                    continue
                expected, found = getattr(dense, method)(X), getattr(fitted, method)(S)
                if method == "decision_path":
                    first = isinstance(expected, tuple)
                    expected, found = (
                        (each[0] if first else each).toarray() for each in (expected, found)
                    )
                np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(fitted.predict(X), dense.predict(S))
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(S[5:9]), dense.predict(X[5:9]))
    for part, kept in zip((S.data, S.indices, S.indptr), before):
        np.testing.assert_array_equal(part, kept)


def test_averages_of_trees_of_sparse_rows():
    """Out of bag, in blocks of rows, with honest leaves, and after a warm start."""
    S, X, y = sparse_and_dense()
    for model in (
        RandomForestRegressor(40, oob_score=True, random_state=0),
        RandomForestRegressor(60, oob_score=True, honesty=0.5, random_state=0),
        BaggingRegressor(n_estimators=40, oob_score=True, random_state=0),
    ):
        found, expected = clone(model).fit(S, y), clone(model).fit(X, y)
        np.testing.assert_array_equal(found.oob_prediction_, expected.oob_prediction_)
        np.testing.assert_array_equal(
            found.predict_interval(S[:9]), expected.predict_interval(X[:9])
        )
    started = RandomForestRegressor(5, warm_start=True, random_state=0)
    grown = [clone(started).fit(rows, y).set_params(n_estimators=9).fit(rows, y) for rows in (S, X)]
    np.testing.assert_array_equal(grown[0].predict(S), grown[1].predict(X))


@pytest.mark.parametrize("model", [AdaBoostRegressor, BaggingRegressor, RandomForestRegressor])
def test_a_warning_where_the_codes_of_a_sparse_x_are_too_many(model):
    """All columns but one have no stored values."""
    rng = np.random.default_rng(0)
    n, p = 300, 2**21
    merged = sparse.csc_matrix(1e9 + rng.permutation(n)[:, None] / 10)
    X = sparse.hstack([merged, sparse.csc_matrix((n, p))], format="csr")
    tree = DecisionTreeRegressor(max_depth=1, max_features=1)
    given = {"max_depth": 1, "max_features": 1}
    given = given if model is RandomForestRegressor else {"estimator": tree}
    with pytest.warns(UserWarning, match="merges values of a column"):
        model(n_estimators=1, **given).fit(X, rng.random(n))


@pytest.mark.parametrize("model", [RandomForestRegressor, BaggingRegressor, AdaBoostRegressor])
def test_a_large_constant_changes_no_tree(model):
    """The targets are multiples of 1/8, also about their mean: equal cuts tie as before."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.round(8 * X[:, 0]) / 8
    near, far = (model(random_state=0).fit(X, y + c).predict(X) - c for c in (0.0, 2.0**20))
    np.testing.assert_allclose(far, near, atol=1e-8)
