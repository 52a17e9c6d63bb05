"""Forests of all rows of a Dask collection: rows are drawn one by one from all chunks."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson
from sklearn.base import clone

from sklearn_ensemble_theory import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import Bernoulli, StableSamples
from sklearn_ensemble_theory.inspection import ensemble_std, impute, proximity
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

ENGINE = "sklearn_ensemble_theory.averaging._forest_blocks"
N = 900
CHUNKINGS = [(1, 0, 299, 600), (300,) * 3, (0, 450, 0, 450)]
ALL_ROWS = {"bootstrap": "bernoulli", "max_samples": 1.0, "max_features": None}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def data(seed=0, n=N, missing=0.1):
    """Columns of numbers, of few values, of numbers of categories; some values are missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 1], X[:, 3] = np.round(X[:, 1]), rng.integers(0, 9, n)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 3] % 3 + 0.3 * rng.standard_normal(n)
    X[rng.random((n, 4)) < missing] = np.nan
    weight = rng.exponential(size=n)
    weight[::7] = 0.0
    return X, y, weight


def targets(kind, y):
    return np.digitize(y, [-0.5, 1.5]) if kind == "classes" else y > 0.5 if kind == "two" else y


def lazily(chunks, *arrays):
    return [a if a is None else da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


def small_rows(monkeypatch, n):
    monkeypatch.setattr(f"{ENGINE}.SMALL_ROWS", n)


def check_tree(one, other, rtol=1e-9):
    """The same nodes; numbers of rows and of targets up to rounding."""
    one, other = one.tree_, other.tree_
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("value", "weighted_n_node_samples"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(one.impurity, other.impurity, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(one.missing_go_to_left, other.missing_go_to_left)
    if hasattr(one, "threshold"):
        np.testing.assert_array_equal(one.threshold, other.threshold)


def check_bits(one, other, X):
    for a, b in zip(one.estimators_, other.estimators_, strict=True):
        check_tree(a, b, rtol=0)
        np.testing.assert_array_equal(a.tree_.impurity, b.tree_.impurity)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


# --- the tree of memory ---------------------------------------------------------------------------

REGRESSION = RandomForestRegressor, BinnedTreeRegressor
CLASSIFICATION = RandomForestClassifier, BinnedTreeClassifier
# In few rows two features often part the classes alike.
LARGE_LEAVES = {"max_depth": 3, "min_samples_leaf": 40}


@pytest.mark.parametrize("n_small", [10**6, 120, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("categories", [None, [3]])
@pytest.mark.parametrize(
    ("kinds", "of", "options"),
    [
        (REGRESSION, "numbers", {"min_samples_leaf": 10}),
        (REGRESSION, "numbers", {"max_depth": 3}),
        (REGRESSION, "numbers", {"min_weight_fraction_leaf": 0.05}),
        (REGRESSION, "numbers", {"min_impurity_decrease": 0.01}),
        (CLASSIFICATION, "classes", LARGE_LEAVES),
        (CLASSIFICATION, "two", LARGE_LEAVES),
        (CLASSIFICATION, "classes", {"criterion": "entropy", **LARGE_LEAVES}),
        (CLASSIFICATION, "two", {"min_impurity_decrease": 0.003, **LARGE_LEAVES}),
    ],
)
def test_a_tree_of_all_rows_is_that_of_memory(
    monkeypatch, kinds, of, options, categories, weighted, n_small
):
    """By sums in bins, by rows that are gathered, and by both."""
    small_rows(monkeypatch, n_small)
    forest, tree = kinds
    X, y, weight = data()
    y, weight = targets(of, y), weight if weighted else None
    model = forest(2, **ALL_ROWS, categorical_features=categories, random_state=0, **options)
    model.fit(*lazily(CHUNKINGS[0], X, y, weight))
    given = {"categorical_features": categories, "cat_smooth": 3.0, **options}
    expected = tree(**given).fit(X, y, sample_weight=weight)
    assert expected.tree_.node_count > 8
    for member in model.estimators_:
        check_tree(member, expected)


@pytest.mark.parametrize("n_small", [10**6, 100])
def test_pruning(monkeypatch, n_small):
    small_rows(monkeypatch, n_small)
    X, y, _ = data()
    model = RandomForestRegressor(1, **ALL_ROWS, ccp_alpha=0.02, min_samples_leaf=10)
    expected = BinnedTreeRegressor(ccp_alpha=0.02, min_samples_leaf=10).fit(X, y)
    check_tree(model.fit(*lazily(CHUNKINGS[0], X, y)).estimators_[0], expected)


# --- the draws, by a slow reference ---------------------------------------------------------------

MASK = 2**64 - 1


def mixed(x):
    """splitmix64, in integers of Python."""
    x = (x + 1) & MASK
    x = x * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def uniform(number, seed):
    return (mixed(mixed(number) ^ mixed(seed)) >> 11) * 2.0**-53


class SlowTree:
    """A regression tree of Poisson counts that draws features at each node, row by row."""

    def __init__(self, X, y, counts, seed, n_drawn):
        rows = np.flatnonzero(counts)
        self.X, self.y, self.w, self.n_drawn = X[rows], y[rows], counts[rows], n_drawn
        self.features, self.cuts, self.values = [], [], []
        self.grow(np.arange(len(rows)), mixed(seed))

    def grow(self, rows, key):
        y, w = self.y[rows], self.w[rows]
        at = len(self.features)
        self.features.append(-2)
        self.cuts.append(-2.0)
        self.values.append(np.average(y, weights=w))
        if len(rows) < 2 or np.ptp(y) == 0:
            return
        order = sorted(range(self.X.shape[1]), key=lambda j: mixed(mixed(j) ^ key))
        varies = [j for j in order if np.ptp(self.X[rows, j]) > 0]
        drawn = [j for j in order[: self.n_drawn] if j in varies] or varies[:1]
        best = (-np.inf, None, None)
        for j in drawn:
            x = self.X[rows, j]
            for cut in np.unique(x)[:-1]:
                left = x <= cut
                sides = [(y[s] @ w[s]) ** 2 / w[s].sum() for s in (left, ~left)]
                if sum(sides) > best[0] * (1 + 1e-9 * np.sign(best[0])):
                    best = sum(sides), j, cut
        if best[1] is None:
            return
        self.features[at], self.cuts[at] = best[1], best[2]
        goes = self.X[rows, best[1]] <= best[2]
        self.grow(rows[goes], mixed(key ^ 1))
        self.grow(rows[~goes], mixed(key ^ 2))


@pytest.mark.parametrize("chunks", [(70, 0, 50), (30,) * 4])
def test_rows_and_features_are_drawn_by_hashes(monkeypatch, chunks):
    small_rows(monkeypatch, 1)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 5))
    X[:, 3], X[:, 4] = 1.0, X[:, 0] > 0.8  # constant, and constant in many nodes
    y = X[:, 0] + rng.standard_normal(120)
    model = RandomForestRegressor(4, bootstrap="poisson", max_features=1, random_state=3)
    model.fit(*lazily(chunks, X, y))
    for member, seed in zip(model.estimators_, model.ensemble_.seeds.tolist()):
        u = [uniform(i, seed) for i in range(120)]
        slow = SlowTree(X, y, poisson.ppf(u, 1.0), seed, 1)
        np.testing.assert_array_equal(member.tree_.feature, slow.features)
        np.testing.assert_allclose(member.tree_.value.ravel(), slow.values, rtol=1e-9)
        cut = np.array(slow.features) >= 0
        assert (member.tree_.threshold[cut] >= np.array(slow.cuts)[cut] - 1e-6).all()


@pytest.mark.parametrize("share", [0.3, 2.0])
def test_poisson_counts_have_the_mean_of_the_weights(share):
    """The weight of the root is the number of draws; that of a leaf is of its rows."""
    rng = np.random.default_rng(0)
    n = 4000
    X, weight = (
        np.repeat(np.arange(4.0), n // 4)[:, None],
        np.repeat([1.0, 2.0, 5.0, 400.0], n // 4),
    )
    y = X[:, 0] + rng.random(n) * 1e-3
    model = RandomForestRegressor(20, bootstrap="poisson", max_depth=3)
    small = weight / weight.sum()
    model.set_params(max_samples=int(share * n), random_state=0)
    model.fit(*lazily((1500, 2500), X, y, weight))
    totals = np.zeros((20, 4))
    for b, member in enumerate(model.estimators_):
        tree = member.tree_
        leaf = member.apply(np.arange(4.0, dtype=np.float32)[:, None])
        totals[b] = tree.weighted_n_node_samples[leaf]
    expected = int(share * n) * small.reshape(4, -1).sum(axis=1)
    error = (totals.mean(axis=0) - expected) / np.sqrt(expected / 20)
    assert np.abs(error).max() < 4.5
    assert (np.abs(totals.var(axis=0, ddof=1) / expected - 1) < 1.6).all()


# --- any chunks, any passes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(3, bootstrap="poisson", max_features=2),
        RandomForestRegressor(3, bootstrap="bernoulli", max_samples=0.4, categorical_features=[3]),
        ExtraTreesRegressor(3, bootstrap="poisson", categorical_features=[3], max_features=2),
        RandomForestClassifier(3, bootstrap="poisson", class_weight="balanced"),
        ExtraTreesClassifier(3, bootstrap=Bernoulli(), criterion="log_loss"),
        RandomForestClassifier(3, bootstrap="poisson", class_weight={0: 1.0, 1: 3.0, 2: 0.5}),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_bits_for_any_chunks_and_passes(monkeypatch, model, weighted):
    small_rows(monkeypatch, 40)
    X, y, weight = data()
    y = targets("classes" if "Classifier" in type(model).__name__ else "numbers", y)
    weight = np.round(weight, 1) * 10 if weighted else None
    model.set_params(random_state=0).fit(*lazily(CHUNKINGS[0], X, y, weight))
    first = pickle.loads(pickle.dumps(model))
    for chunks in CHUNKINGS[1:]:
        check_bits(model.fit(*lazily(chunks, X, y, weight)), first, X)
    monkeypatch.setattr(f"{ENGINE}.MOST_CELLS", 1)
    monkeypatch.setattr(f"{ENGINE}.MOST_BYTES", 1)
    with dask.config.set(scheduler="threads"):
        check_bits(model.set_params(n_jobs=2).fit(*lazily(CHUNKINGS[0], X, y, weight)), first, X)


@pytest.mark.parametrize("bootstrap", ["poisson", "bernoulli"])
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_sorted_chunks_have_the_accuracy_of_memory(monkeypatch, bootstrap, kind):
    """A forest of single chunks has an R² of .2 here."""
    small_rows(monkeypatch, 300)
    rng = np.random.default_rng(0)
    X = np.sort(rng.random((2000, 1)), axis=0)
    X = np.hstack([X, rng.random((2000, 2))])
    y = 10 * X[:, 0] + X[:, 1]
    X_test = rng.random((500, 3))
    y_test = 10 * X_test[:, 0] + X_test[:, 1]
    model = kind(20, bootstrap=bootstrap, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # not even the one of chunks that are no random samples
        model.fit(*lazily((250,) * 8, X, y))
    memory = kind(20, bootstrap=bootstrap, max_bins=255, random_state=0).fit(X, y)
    scores = [each.score(X_test, y_test) for each in (model, memory)]
    assert scores[0] > 0.99
    assert abs(scores[0] - scores[1]) < 0.003


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e120])
@pytest.mark.parametrize("shift", [0.0, 1e7])
@pytest.mark.parametrize("n_small", [10**6, 100])
def test_targets_of_any_size(monkeypatch, scale, shift, n_small):
    small_rows(monkeypatch, n_small)
    X, y, _ = data()
    model = RandomForestRegressor(2, bootstrap="poisson", max_depth=4, random_state=0)
    usual = model.fit(*lazily(CHUNKINGS[0], X, y)).predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.fit(*lazily(CHUNKINGS[0], X, scale * (y + shift))).predict(X)
        assert np.isfinite(model.feature_importances_).all()
    np.testing.assert_allclose(found / scale - shift, usual, rtol=1e-6, atol=1e-6)


def test_one_target_far_from_all_others(monkeypatch):
    """In a tree that draws its row, sums are far above those that are expected."""
    small_rows(monkeypatch, 20)
    X, _, _ = data(missing=0.0)
    y = np.zeros(N)
    y[7] = 1.0
    model = RandomForestRegressor(
        100, bootstrap="poisson", max_samples=30, max_depth=1, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(*lazily(CHUNKINGS[0], X, y))
    roots = np.array([[m.tree_.value[0, 0, 0], m.tree_.impurity[0]] for m in model.estimators_])
    assert (roots[:, 0] > 0).any()
    np.testing.assert_allclose(roots[:, 1], roots[:, 0] * (1 - roots[:, 0]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
@pytest.mark.parametrize("large", [1e12, 1e20, 1e60])
@pytest.mark.parametrize("max_depth", [1, 4])
def test_rows_of_tiny_weights_are_not_lost(monkeypatch, max_depth, large, kind):
    """One row outweighs all others; trees that do not draw it are those of the others."""
    X, y, weight = data(missing=0.0)
    if kind is RandomForestClassifier:
        y = targets("classes", y)
    weight[11] = large
    model = kind(8, bootstrap="bernoulli", max_samples=0.5, max_depth=max_depth, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gathered, summed = (
            (small_rows(monkeypatch, n), clone(model).fit(*lazily(CHUNKINGS[0], X, y, weight)))[1]
            for n in (10**6, 10)
        )
    some = 0
    for one, other in zip(gathered.estimators_, summed.estimators_, strict=True):
        if one.tree_.weighted_n_node_samples[0] < large / 2:
            check_tree(one, other, rtol=1e-3)
            some += 1
    assert 0 < some < 8


@pytest.mark.parametrize("n_small", [10**6, 100])
def test_constant_targets_and_columns(monkeypatch, n_small):
    small_rows(monkeypatch, n_small)
    X, y, _ = data(missing=0.0)
    model = RandomForestRegressor(2, bootstrap="poisson", random_state=0)
    assert (model.fit(*lazily(CHUNKINGS[0], X, np.full(N, 0.1))).predict(X) == 0.1).all()
    model.fit(*lazily(CHUNKINGS[0], np.ones((N, 2)), y))
    assert [member.tree_.node_count for member in model.estimators_] == [1, 1]
    model = RandomForestClassifier(2, bootstrap="poisson", random_state=0)
    assert (model.fit(*lazily(CHUNKINGS[0], X, np.full(N, "a"))).predict(X) == "a").all()


# --- an ordinary forest ---------------------------------------------------------------------------


def test_frames_with_categories_and_labels(monkeypatch):
    small_rows(monkeypatch, 50)
    X, y, _ = data()
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    frame["kind"] = pd.Categorical(np.array([*"abcdefghi"])[np.nan_to_num(X[:, 3]).astype(int)])
    labels = pd.Series(np.array(["low", "high"])[(y > 0.5).astype(int)])
    lazy, lazy_labels = (dd.from_pandas(each, npartitions=3) for each in (frame, labels))
    model = RandomForestClassifier(10, bootstrap="poisson", random_state=0).fit(lazy, lazy_labels)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "kind"]
    assert model.score(frame, labels) > 0.95
    proba = model.predict_proba(lazy).compute()
    np.testing.assert_allclose(proba, model.predict_proba(frame), rtol=0, atol=1e-12)
    assert model.apply(frame).shape == (N, 10)
    assert abs(model.feature_importances_.sum() - 1) < 1e-12


def test_methods_of_the_forest(monkeypatch):
    small_rows(monkeypatch, 50)
    X, y, _ = data(missing=0.0)
    model = RandomForestRegressor(5, bootstrap="poisson", random_state=0)
    model.fit(*lazily(CHUNKINGS[0], X, y))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert export.frame(model)["importance"].tolist() == model.feature_importances_.tolist()
    assert ensemble_std(model, X).shape == (N,)
    for method in (proximity, impute, RandomForestRegressor.standard_error):
        with pytest.raises(ValueError, match="Dask collections"):
            method(model, X)
    with pytest.raises(ValueError, match="Dask collections"):
        model.set_params(warm_start=True, n_estimators=8).fit(X, y)


def test_sizes_from_the_theory():
    X, y, _ = data(missing=0.0)
    given = lazily(CHUNKINGS[0], X, y)
    model = RandomForestRegressor("pac", bootstrap="bernoulli", max_samples="stable", max_depth=1)
    model.fit(*given)
    assert len(model) == len(RandomForestRegressor("pac", max_depth=1).fit(X, y))
    drawn = [member.tree_.n_node_samples[0] for member in model.estimators_]
    assert np.mean(drawn) == pytest.approx(StableSamples()(N, 4, "bernoulli"), rel=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "absolute_error"},
        {"criterion": "poisson"},
        {"max_leaf_nodes": 8},
        {"monotonic_cst": [1, 0, 0, 0]},
        {"interaction_cst": "pairwise"},
        {"honesty": True},
        {"max_bins": None},
        {"max_bins": 256},
        {"oob_score": True},
        {"warm_start": True},
    ],
)
def test_what_is_refused_before_the_rows_are_read(options):
    def unread(block):
        raise AssertionError("rows were read")

    X, y, _ = data()
    lazy, y_lazy = lazily(CHUNKINGS[0], X, y)
    lazy = lazy.map_blocks(unread, dtype=float, meta=X[:0])
    with pytest.raises(ValueError, match=next(iter(options))):
        RandomForestRegressor(bootstrap="poisson", **options).fit(lazy, y_lazy)
    with pytest.raises(ValueError, match="class_weight"):
        RandomForestClassifier(bootstrap="poisson", class_weight="balanced_subsample").fit(
            lazy, y_lazy
        )


@pytest.mark.parametrize("n_small", [10**6, 5])
def test_what_is_refused_with_the_rows(monkeypatch, n_small):
    small_rows(monkeypatch, n_small)
    X, y, _ = data()
    # One row is expected in each tree.
    for bootstrap in ("poisson", "bernoulli"):
        with pytest.raises(ValueError, match="max_samples is so small"):
            RandomForestRegressor(50, bootstrap=bootstrap, max_samples=1).fit(
                *lazily(CHUNKINGS[0], X, y)
            )
        with pytest.raises(ValueError, match="max_samples is so small"):
            RandomForestClassifier(50, bootstrap=bootstrap, max_samples=1).fit(
                *lazily(CHUNKINGS[0], X, y > 0)
            )
    with pytest.raises(ValueError, match="2 columns"):
        RandomForestRegressor(5, bootstrap="poisson").fit(
            *lazily(CHUNKINGS[0], X, np.column_stack([y, y]))
        )
    with pytest.raises(ValueError, match="squared"):
        RandomForestRegressor(5, bootstrap="poisson").fit(*lazily(CHUNKINGS[0], X, 1e200 * y))
    with pytest.raises(ValueError, match="empty"):
        RandomForestRegressor(5, bootstrap=Bernoulli(empty="mean")).fit(*lazily(CHUNKINGS[0], X, y))


def test_one_chunk_is_the_fit_in_memory():
    X, y, _ = data(missing=0.0)
    model = RandomForestRegressor(3, bootstrap="poisson", random_state=0)
    found = model.fit(*lazily((N,), X, y)).predict(X)
    np.testing.assert_array_equal(found, model.fit(X, y).predict(X))
