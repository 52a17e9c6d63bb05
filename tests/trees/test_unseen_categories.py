"""Unseen categories that go to both children of a node: against a recursion, and the mean of y."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import export
from sklearn_ensemble_theory.inspection import compact
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor, Categories

from .engine import nodes_of

RNG = np.random.default_rng(0)
N, K = 400, 12
SHOP, KIND = RNG.integers(0, K, N), RNG.integers(0, 4, N)
EFFECT = 2 * RNG.standard_normal(K)
FRAME = pd.DataFrame(
    {
        "x": RNG.standard_normal(N),
        "shop": np.array([f"s{k:02}" for k in range(K)], dtype=object)[SHOP],
        "kind": np.array([*"abcd"], dtype=object)[KIND],
    }
)
FRAME.loc[RNG.random(N) < 0.1, "kind"] = None
Y = EFFECT[SHOP] + (KIND == 1) * FRAME["x"].to_numpy() + 0.3 * RNG.standard_normal(N)
WEIGHT = RNG.uniform(0.2, 2.0, N)
# Known rows, rows with one or with two unseen categories, and missing values beside them.
ROWS = FRAME.iloc[:60].copy()
ROWS.loc[10:29, "shop"] = "new"
ROWS.loc[20:39, "kind"] = "other"
ROWS.loc[40:44, "shop"] = None
ROWS.loc[25:27, "x"] = np.nan
IS_UNSEEN = np.zeros(60, dtype=bool)
IS_UNSEEN[10:40] = True

NAMES = ["shop", "kind"]
MEAN, MISSING = (Categories(NAMES, unseen=unseen) for unseen in ("mean", "missing"))
MANY = pd.concat([ROWS] * 60, ignore_index=True)  # which pay for other layouts of the nodes


def target(model):
    return np.digitize(Y, [-1.0, 1.5]) if is_classifier(model) else Y


def numbers_of(frame):
    """Numbers of categories, and -1 for unseen ones: as members read rows."""
    X = frame["x"].to_numpy(dtype=float)
    columns = [X]
    for name in NAMES:
        known = {value: k for k, value in enumerate(sorted(FRAME[name].dropna().unique()))}
        missing = frame[name].isna().to_numpy()
        codes = np.array([known.get(value, -1.0) for value in frame[name]])
        columns.append(np.where(missing, np.nan, codes))
    return np.column_stack(columns).astype(np.float32)


def by_recursion(nodes, row, node=0):
    """The values of a tree for one row, by the definition."""
    left, right = int(nodes.left[node]), int(nodes.right[node])
    if left < 0:
        return np.array(nodes.value[node])
    x = float(row[nodes.feature[node]])
    if not np.isnan(nodes.threshold[node]):
        goes_left = bool(nodes.missing_left[node]) if np.isnan(x) else x <= nodes.threshold[node]
        return by_recursion(nodes, row, left if goes_left else right)
    if x == -1:
        sides = np.array([by_recursion(nodes, row, child) for child in (left, right)])
        return np.average(sides, axis=0, weights=[nodes.weight[left], nodes.weight[right]])
    bit = 255 if np.isnan(x) else int(x)
    goes_left = nodes.members[node, bit]
    return by_recursion(nodes, row, left if goes_left else right)


def recursions(member, X):
    nodes = nodes_of(member)
    return np.array([by_recursion(nodes, row) for row in X])


# --- a tree ---------------------------------------------------------------------------------------

TREES = {
    "deep": BinnedTreeRegressor(random_state=0),
    "small": BinnedTreeRegressor(max_depth=3, random_state=0),
    "best first": BinnedTreeRegressor(max_leaf_nodes=20, random_state=0),
    "poisson": BinnedTreeRegressor(criterion="poisson", min_samples_leaf=5),
    "classes": BinnedTreeClassifier(random_state=0),
    "small classes": BinnedTreeClassifier(max_depth=3, criterion="entropy"),
    "random": BinnedTreeClassifier(splitter="random", max_features=2, random_state=0),
}


def values(tree, X):
    return tree.predict_proba(X) if is_classifier(tree) else tree.predict(X)[:, None]


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("name", TREES)
def test_trees_are_the_recursion(name, weight):
    tree = clone(TREES[name]).set_params(categorical_features=MEAN)
    y = np.exp(Y) if name == "poisson" else target(tree)
    tree.fit(FRAME, y, weight)
    expected = recursions(tree, numbers_of(ROWS))
    np.testing.assert_allclose(values(tree, ROWS), expected, rtol=1e-12, atol=1e-14)
    many = values(tree, MANY)
    np.testing.assert_array_equal(many, np.tile(values(tree, ROWS), (60, 1)))
    # Known categories, and missing ones, have the bits that they have without the wish.
    other = clone(tree).set_params(categorical_features=MISSING).fit(FRAME, y, weight)
    plain = clone(tree).set_params(categorical_features=NAMES).fit(FRAME, y, weight)
    np.testing.assert_array_equal(values(other, ROWS), values(plain, ROWS))
    np.testing.assert_array_equal(values(tree, ROWS)[~IS_UNSEEN], values(plain, ROWS)[~IS_UNSEEN])
    assert (values(tree, ROWS)[IS_UNSEEN] != values(plain, ROWS)[IS_UNSEEN]).any()
    assert tree.apply(ROWS).tolist() == plain.apply(ROWS).tolist()


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_tree_of_categories_alone_predicts_the_mean_of_y(weight):
    """The weighted mean over all leaves is that of the training targets, whatever the splits."""
    X, new = FRAME[NAMES], pd.DataFrame({"shop": ["new"], "kind": ["new"]})
    tree = BinnedTreeRegressor(categorical_features=MEAN, min_samples_leaf=4).fit(X, Y, weight)
    assert tree.get_n_leaves() > 10
    assert tree.predict(new) == pytest.approx([np.average(Y, weights=weight)], rel=1e-12)
    y = target(BinnedTreeClassifier())
    tree = BinnedTreeClassifier(categorical_features=MEAN).fit(X, y, weight)
    shares = np.bincount(y, weight) / (N if weight is None else weight.sum())
    np.testing.assert_allclose(tree.predict_proba(new)[0], shares, rtol=1e-12)
    assert tree.predict(new) == [shares.argmax()]


def test_repeated_rows_and_weights_are_the_same():
    rows = np.repeat(np.arange(N), 1 + SHOP % 3)
    tree = BinnedTreeRegressor(categorical_features=MEAN, max_depth=4, random_state=0)
    new = ROWS.iloc[10:25]  # values that are missing in `predict` only count rows
    weighted = clone(tree).fit(FRAME, Y, 1.0 + SHOP % 3).predict(new)
    repeated = clone(tree).fit(FRAME.iloc[rows], Y[rows]).predict(new)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


# --- ensembles ------------------------------------------------------------------------------------

FOREST = {"n_estimators": 7, "random_state": 0}
BOOSTED = {"n_estimators": 8, "random_state": 0}
AVERAGES = {
    "forest": package.RandomForestRegressor(**FOREST),
    "shallow": package.RandomForestRegressor(max_depth=3, **FOREST),
    "extra": package.ExtraTreesRegressor(**FOREST),
    "classes": package.RandomForestClassifier(**FOREST),
    "balanced": package.ExtraTreesClassifier(class_weight="balanced", max_depth=4, **FOREST),
    "votes": package.RandomForestClassifier(voting="hard", **FOREST),
    "honest": package.RandomForestRegressor(honesty=True, **FOREST),
    "bagging": package.BaggingRegressor(BinnedTreeRegressor(), max_features=2, **FOREST),
}


def with_wish(model, wish):
    name = "estimator__categorical_features"
    if name not in model.get_params() or "Forest" in type(model).__name__:
        name = "categorical_features"
    return clone(model).set_params(**{name: wish})


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_means_of_recursions(name):
    model = with_wish(AVERAGES[name], MEAN)
    model.fit(FRAME, target(model))
    X, parts = numbers_of(ROWS), []
    columns = getattr(model, "estimators_features_", None) or [slice(None)] * 7
    for member, own in zip(model.estimators_, columns):
        found = recursions(member, X[:, own])
        if name == "votes":
            found = np.eye(3)[found.argmax(axis=1)]
        parts.append(found)
    method = model.predict_proba if is_classifier(model) else model.predict
    expected = np.mean(parts, axis=0).reshape(method(ROWS).shape)
    for again in (method(ROWS), *np.split(method(MANY), 60)):
        np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-14)
    if not is_classifier(model):
        each = np.array(parts)[:, :, 0]
        deviations = package.inspection.ensemble_std(model, ROWS)
        np.testing.assert_allclose(deviations, each.std(axis=0, ddof=1), rtol=1e-6, atol=1e-9)
    if name == "forest":
        assert np.isfinite(model.predict_interval(ROWS)).all()


@pytest.mark.parametrize("name", ["forest", "classes", "shallow"])
def test_compact_forests_keep_the_shares(name):
    model = with_wish(AVERAGES[name], MEAN)
    model.fit(FRAME, target(model))
    small = pickle.loads(pickle.dumps(compact(model)))
    for rows in (ROWS, MANY):
        method = "predict_proba" if is_classifier(model) else "predict"
        whole, found = (getattr(each, method)(rows) for each in (model, small))
        np.testing.assert_array_equal(found, whole)
    again = compact(small)
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))


BOOSTERS = {
    "squared": package.GradientBoostingRegressor(**BOOSTED),
    "deep": package.GradientBoostingRegressor(max_depth=7, **BOOSTED),
    "absolute": package.GradientBoostingRegressor(loss="absolute_error", **BOOSTED),
    "classes": package.GradientBoostingClassifier(**BOOSTED),
    "histogram": package.HistGradientBoostingRegressor(max_iter=8, random_state=0),
    "histogram classes": package.HistGradientBoostingClassifier(max_iter=8, random_state=0),
}


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosting_adds_recursions(name):
    model = with_wish(BOOSTERS[name], MEAN)
    model.fit(FRAME, target(model))
    classes, X = is_classifier(model), numbers_of(ROWS)
    method = "decision_function" if classes else "predict"
    expected = model.initial_scores_ + np.zeros((len(X), model.estimators_.shape[1]))
    stages = []
    for step, members in zip(model.steps_, model.estimators_):
        added = [recursions(member, X)[:, 0] for member in members]
        expected = expected + step * np.column_stack(added)
        stages.append(expected)
    for rows, times in ((ROWS, 1), (MANY, 60)):
        found = getattr(model, method)(rows)
        np.testing.assert_allclose(found, np.squeeze(np.tile(stages[-1], (times, 1))), rtol=1e-10)
        staged = list(getattr(model, f"staged_{method}")(rows))
        np.testing.assert_allclose(
            staged, [np.squeeze(np.tile(each, (times, 1))) for each in stages], rtol=1e-10
        )
    plain = with_wish(model, NAMES).fit(FRAME, target(model))
    np.testing.assert_array_equal(
        getattr(model, method)(ROWS)[~IS_UNSEEN], getattr(plain, method)(ROWS)[~IS_UNSEEN]
    )
    # In every layout of the nodes a row has the same sum, whatever rows are around it.
    one_by_one = [getattr(model, method)(ROWS.iloc[[i]])[0] for i in range(5, 45, 4)]
    np.testing.assert_array_equal(one_by_one, getattr(model, method)(ROWS)[5:45:4])


def test_vectors_of_targets():
    y = np.column_stack([Y, Y**2])
    tree = BinnedTreeRegressor(categorical_features=MEAN, max_depth=5).fit(FRAME, y)
    np.testing.assert_allclose(tree.predict(ROWS), recursions(tree, numbers_of(ROWS)), rtol=1e-12)
    forest = package.RandomForestRegressor(categorical_features=MEAN, **FOREST).fit(FRAME, y)
    parts = [recursions(member, numbers_of(ROWS)) for member in forest.estimators_]
    for model in (forest, compact(forest)):
        np.testing.assert_allclose(model.predict(ROWS), np.mean(parts, axis=0), rtol=1e-12)
    labels = np.column_stack([y[:, 0] > 0, np.digitize(y[:, 1], [1, 3])]).astype(int)
    tree = BinnedTreeClassifier(categorical_features=MEAN, max_depth=5).fit(FRAME, labels)
    expected = recursions(tree, numbers_of(ROWS))
    np.testing.assert_allclose(np.hstack(tree.predict_proba(ROWS)), expected, atol=1e-14)
    model = package.GradientBoostingRegressor(categorical_features=MEAN, **BOOSTED).fit(FRAME, y)
    separate = model.predict(ROWS)
    assert separate.shape == (60, 2)
    assert (separate != with_wish(model, NAMES).fit(FRAME, y).predict(ROWS))[IS_UNSEEN].any()


@pytest.mark.parametrize("variant", ["discrete", "real"])
def test_adaboost_asks_its_members(variant):
    tree = BinnedTreeClassifier(max_depth=3, categorical_features=MEAN, random_state=0)
    model = package.AdaBoostClassifier(tree, n_estimators=6, variant=variant, random_state=0)
    model.fit(FRAME, (Y > 0).astype(int))
    scores = model.decision_function(ROWS)
    np.testing.assert_allclose(np.tile(scores, 60), model.decision_function(MANY), rtol=1e-12)
    if variant == "discrete":
        votes = [
            weight * np.where(recursions(member, numbers_of(ROWS)).argmax(axis=1) == 1, 1.0, -1.0)
            for weight, member in zip(model.estimator_weights_, model.estimators_)
        ]
        expected = np.sum(votes, axis=0)
        ratio = scores / expected
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


# --- forms of X, and life of a model --------------------------------------------------------------


def test_sparse_rows_are_those_of_arrays():
    X = np.column_stack([SHOP % 7, KIND, np.round(FRAME["x"] * (KIND > 1), 2)]).astype(float)
    X_new = X[:80].copy()
    X_new[:30, 0], X_new[20:40, 1] = 50, 9
    wish = Categories([0, 1], unseen="mean")
    for kind in (
        BinnedTreeRegressor(),
        package.RandomForestRegressor(**FOREST),
        package.RandomForestRegressor(max_depth=3, **FOREST),
        package.GradientBoostingRegressor(**BOOSTED),
    ):
        model = with_wish(kind, wish).fit(X, Y)
        for rows in (X_new, np.tile(X_new, (40, 1))):
            np.testing.assert_array_equal(model.predict(sp.csr_array(rows)), model.predict(rows))
        plain = with_wish(kind, [0, 1]).fit(X, Y)
        assert (plain.predict(X_new) != model.predict(X_new))[:40].any()
        np.testing.assert_array_equal(plain.predict(X_new)[40:], model.predict(X_new)[40:])


def test_large_sparse_rows(monkeypatch):
    """Trees that read a sparse X block by block find the unseen categories too."""
    monkeypatch.setattr("sklearn_ensemble_theory._rows.MOST_DENSE_VALUES", 0)
    X = np.column_stack([SHOP % 7, np.round(FRAME["x"] * (KIND > 1), 2)]).astype(float)
    X_new = X[:80].copy()
    X_new[:30, 0] = 50
    for kind in (
        package.RandomForestRegressor(**FOREST),
        package.RandomForestRegressor(max_depth=3, **FOREST),
        package.GradientBoostingRegressor(**BOOSTED),
    ):
        model = with_wish(kind, Categories([0], unseen="mean")).fit(X, Y)
        found = model.predict(sp.csr_array(X_new))
        np.testing.assert_allclose(found, model.predict(X_new), rtol=1e-12)


def test_dtype_columns_and_polars():
    frame = FRAME.assign(**{name: FRAME[name].astype("category") for name in NAMES})
    rows = ROWS.assign(**{name: ROWS[name].astype("category") for name in NAMES})
    model = package.GradientBoostingRegressor(
        categorical_features=Categories(unseen="mean"), **BOOSTED
    ).fit(frame, Y)
    by_name = package.GradientBoostingRegressor(categorical_features=MEAN, **BOOSTED)
    np.testing.assert_array_equal(model.predict(rows), by_name.fit(FRAME, Y).predict(ROWS))
    pl = pytest.importorskip("polars")
    given, new = (
        pl.DataFrame({"x": frame["x"].to_numpy()}).with_columns(
            pl.Series(name, frame[name].astype(object).where(frame[name].notna(), None).tolist())
            for name in NAMES
        )
        for frame in (FRAME, ROWS)
    )
    found = by_name.fit(given, Y).predict(new)
    np.testing.assert_array_equal(found, model.predict(rows))


def test_pickles_clones_and_searches():
    model = package.GradientBoostingRegressor(categorical_features=MEAN, **BOOSTED)
    assert model.get_params()["categorical_features__unseen"] == "mean"
    fitted = model.fit(FRAME, Y)
    assert fitted is model
    assert model.categorical_features is MEAN  # the object of the user, as it was
    expected = model.predict(ROWS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(ROWS), expected)
    np.testing.assert_array_equal(clone(model).fit(FRAME, Y).predict(ROWS), expected)
    assert clone(model).categorical_features is not MEAN
    search = GridSearchCV(model, {"categorical_features__unseen": ["missing", "mean"]}, cv=2)
    search.fit(FRAME, Y)
    # No fold has an unseen category: the first of two equal candidates wins.
    assert search.best_params_ == {"categorical_features__unseen": "missing"}
    new = FRAME.assign(shop=np.where(SHOP < 6, FRAME["shop"], "rare"))
    halves = [(np.flatnonzero(SHOP < 6), np.flatnonzero(SHOP >= 6))]
    search.set_params(cv=halves).fit(new, Y)
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0


@pytest.mark.parametrize(
    "model",
    [
        package.GradientBoostingRegressor(warm_start=True, **BOOSTED),
        package.RandomForestRegressor(warm_start=True, **FOREST),
    ],
)
def test_a_warm_start_takes_the_new_wish(model):
    model = with_wish(model, clone(MISSING)).fit(FRAME, Y)
    before = model.predict(ROWS)
    model.set_params(categorical_features__unseen="mean", n_estimators=9).fit(FRAME, Y)
    whole = with_wish(model, MEAN).set_params(warm_start=False).fit(FRAME, Y)
    np.testing.assert_array_equal(model.predict(ROWS), whole.predict(ROWS))
    assert (model.predict(ROWS) != before)[IS_UNSEEN].any()


def test_blocks_of_rows():
    dd = pytest.importorskip("dask.dataframe")
    tree = BinnedTreeRegressor(categorical_features=MEAN, max_depth=4, random_state=0)
    model = package.DivideAndConquerRegressor(tree, n_blocks=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask's own
        X = dd.from_pandas(FRAME, npartitions=2)
        y = dd.from_pandas(pd.Series(Y), npartitions=2)
        model.fit(X, y)
        lazy = model.predict(dd.from_pandas(ROWS, npartitions=1)).compute()
    np.testing.assert_array_equal(lazy, model.predict(ROWS))
    parts = [recursions(member, numbers_of(ROWS))[:, 0] for member in model.estimators_]
    expected = np.average(parts, axis=0, weights=model.block_weights_)
    np.testing.assert_allclose(model.predict(ROWS), expected, rtol=1e-9)


# --- what is refused ------------------------------------------------------------------------------


def test_refusals():
    with pytest.raises(ValueError, match="'unseen' parameter of Categories must be"):
        BinnedTreeRegressor(categorical_features=Categories(NAMES, unseen="mode")).fit(FRAME, Y)
    with pytest.raises(ValueError, match="name 'shops'"):
        BinnedTreeRegressor(categorical_features=Categories(["shops"])).fit(FRAME, Y)
    with pytest.raises(ValueError, match="'categorical_features' parameter of L2Boosting"):
        package.L2BoostingRegressor(categorical_features=MEAN).fit(FRAME, Y)
    model = package.GradientBoostingRegressor(categorical_features=MEAN, **BOOSTED).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"both children .* in 30 rows, the first of which is row"):
        export.shap(model, ROWS)
    _, numbers = export.shap(model, ROWS[~IS_UNSEEN])
    assert len(numbers) == 30
    with pytest.raises(ValueError, match="categorical features"):
        export.sklearn(model)


def test_columns_without_splits_change_nothing():
    """A forest whose trees never split on a category has the bits of missing values."""
    X = FRAME.assign(kind="a")
    model = BinnedTreeRegressor(categorical_features=Categories(["kind"], unseen="mean"))
    model.fit(X[["x", "kind"]], FRAME["x"])
    rows = X[["x", "kind"]].assign(kind="b")
    np.testing.assert_array_equal(model.predict(rows), model.predict(X[["x", "kind"]]))
