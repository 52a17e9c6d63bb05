"""Bagged nearest neighbours against explicit resampling, a plain reference and explicit refits."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsRegressor, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier as Classifier
from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor as Regressor
from sklearn_ensemble_theory import bagged_nearest_neighbors_weights as weights
from sklearn_ensemble_theory.averaging._neighbors import leave_one_out as loo
from sklearn_ensemble_theory.averaging._neighbors import search as _neighbor_search
from sklearn_ensemble_theory.averaging._neighbors.rank_laws import RANK_LAWS
from sklearn_ensemble_theory.averaging._neighbors.ranked_targets import merge_equal_rows

SCHEMES = [
    # max_samples, n_neighbors, bootstrap
    (12, 1, False),
    (12, 4, False),
    (40, 1, True),
    (15, 4, True),
    (0.2, 1, "bernoulli"),
    (0.1, 4, "bernoulli"),
]
schemes = pytest.mark.parametrize(("size", "k", "bootstrap"), SCHEMES)


def regression(n, d=2, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + noise * rng.standard_normal(n)


def reference(distances, Y, w):
    """Row by row: sort, average the targets of exact ties, weigh; the rest to the overall mean."""
    w = np.pad(w, (0, len(Y) - len(w)))
    predictions = []
    for row in np.round(distances, 9):
        ranked = np.empty_like(Y)
        order = np.argsort(row, kind="stable")
        for value in np.unique(row):
            tied = np.flatnonzero(row[order] == value)
            ranked[tied] = Y[order[tied]].mean(axis=0)
        predictions.append(w @ ranked + (1 - w.sum()) * Y.mean(axis=0))
    return np.array(predictions)


# --- the limit of bagging ---------------------------------------------------------------------


def resampled_shares(n, size, k, bootstrap, order, replications, rng):
    """For each replication and each of n rows: its share in the mean of the k nearest rows drawn.

    Where no more than M < k rows are drawn, the M of them; the shares of an empty draw are 1/n.
    """
    if bootstrap == "bernoulli":
        counts = (rng.random((replications, n)) < size).astype(int)
    elif bootstrap:
        counts = rng.multinomial(size, np.full(n, 1 / n), size=replications)
    else:
        counts = (rng.random((replications, n)).argsort(axis=1) < size).astype(int)
    counts = counts[:, order]
    nearer = np.cumsum(counts, axis=1) - counts
    used = np.clip(k - nearer, 0, counts)
    total = used.sum(axis=1, keepdims=True)
    shares = np.empty((replications, n))
    shares[:, order] = np.where(total > 0, used / np.maximum(total, 1), 1 / n)
    return shares


@schemes
def test_prediction_is_the_average_over_20000_resamples(size, k, bootstrap):
    n, replications = 40, 20_000
    X, y = regression(n)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.3, 0.5])]
    rng = np.random.default_rng(1)
    queries = rng.uniform(-1, 1, size=(4, 2))
    params = {"n_neighbors": k, "max_samples": size, "bootstrap": bootstrap}
    regressor = Regressor(**params).fit(X, y)
    classifier = Classifier(**params).fit(X, labels)
    onehot = labels[:, None] == classifier.classes_
    for query in queries:
        order = np.argsort(np.linalg.norm(X - query, axis=1))
        shares = resampled_shares(n, size, k, bootstrap, order, replications, rng)
        for ours, draws in [
            (regressor.predict([query])[0], shares @ y),
            (classifier.predict_proba([query])[0], shares @ onehot),
        ]:
            error = draws.std(axis=0) / math.sqrt(replications)
            assert (np.abs(draws.mean(axis=0) - ours) <= 4 * error + 1e-5).all()
            assert np.max(error) < 0.01


@pytest.mark.parametrize(("size", "k", "bootstrap"), SCHEMES[:4])
def test_scikit_learns_bagging_converges_to_ours(size, k, bootstrap):
    """The root mean square distance falls as one over the root of the number of replications."""
    X, y = regression(60)
    queries = regression(200, seed=1)[0]
    limit = Regressor(k, max_samples=size, bootstrap=bootstrap).fit(X, y).predict(queries)
    distances = []
    for replications in (10, 40, 160):
        bagging = BaggingRegressor(
            KNeighborsRegressor(k),
            n_estimators=replications,
            max_samples=size,
            bootstrap=bootstrap,
            random_state=0,
        )
        gap = bagging.fit(X, y).predict(queries) - limit
        distances.append(math.sqrt(np.mean(gap**2)))
    assert 1.5 < distances[0] / distances[1] < 2.7
    assert 1.5 < distances[1] / distances[2] < 2.7


def test_averaged_nearest_neighbor_is_consistent_where_one_neighbor_is_not():
    """[Ghoshdastidar, theorem En.2]: error rates 0.2 (Bayes) against 2 x 0.2 x 0.8 = 0.32."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6_000, 1))
    y = (rng.random(6_000) < np.where(X[:, 0] > 0, 0.8, 0.2)).astype(int)
    train, test = slice(0, 4_000), slice(4_000, None)
    errors = [
        1 - Classifier(max_samples=s, bootstrap=b).fit(X[train], y[train]).score(X[test], y[test])
        for s, b in [(1.0, False), (100, False), (100, True), (100, "bernoulli")]
    ]
    assert errors[0] > 0.29
    assert max(errors[1:]) < 0.225


def test_all_rows_are_plain_neighbors_and_one_row_is_the_mean():
    X, y = regression(50)
    queries = regression(30, seed=1)[0]
    for k in (1, 5):
        plain = KNeighborsRegressor(k).fit(X, y).predict(queries)
        ours = Regressor(k, max_samples=1.0).fit(X, y).predict(queries)
        np.testing.assert_allclose(ours, plain, rtol=1e-12)
    ours = Regressor(max_samples=1).fit(X, y).predict(queries)
    np.testing.assert_allclose(ours, y.mean(), rtol=1e-12)


# --- neighbours, metrics, ties ----------------------------------------------------------------


def canberra(a, b):
    return np.sum(np.abs(a - b) / (np.abs(a) + np.abs(b) + 1e-300))


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("minkowski", {"p": 2, "algorithm": "auto"}),
        ("minkowski", {"p": 2, "algorithm": "kd_tree"}),
        ("minkowski", {"p": 2, "algorithm": "ball_tree"}),
        ("minkowski", {"p": 2, "algorithm": "brute"}),
        ("minkowski", {"p": 3, "algorithm": "kd_tree"}),
        ("minkowski", {"p": 2, "metric_params": {"w": np.array([1.0, 9.0, 4.0])}}),
        ("manhattan", {"algorithm": "kd_tree"}),
        ("chebyshev", {"algorithm": "kd_tree"}),
        ("cosine", {}),
        ("seuclidean", {"metric_params": {"V": np.array([1.0, 2.0, 0.5])}}),
        (canberra, {}),
    ],
)
@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
def test_any_metric_and_algorithm_on_tied_data(metric, params, bootstrap):
    """Small integers: equal rows, and distances that tie between different rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(150, 3)) + np.array([0, 0, 7])
    y = rng.standard_normal((150, 2))
    queries = rng.integers(-2, 3, size=(20, 3)) + np.array([0, 0, 7])
    arguments = {"p": params["p"]} if "p" in params else {}
    arguments.update(params.get("metric_params", {}))
    distances = pairwise_distances(queries, X, metric=metric, **arguments)
    model = Regressor(max_samples=30, bootstrap=bootstrap, metric=metric, **params).fit(X, y)
    expected = reference(distances, y, model.weights_)
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-9, atol=1e-12)


def test_ties_are_averaged_over_all_orders_of_the_tied_rows():
    """Six rows in groups of two equal rows, two equal distances, one and one: all 720 orders."""
    X = np.array([[1.0], [1.0], [-1.0], [2.0], [2.0], [-5.0]])
    y = np.array([3.0, -7.0, 11.0, 0.5, 20.0, 100.0])
    w = weights(6, 3)
    query, predictions = 0.0, []
    for order in itertools.permutations(range(6)):
        order = np.array(order)
        nearest = order[np.argsort(np.abs(X[order, 0] - query), kind="stable")]
        predictions.append(w @ y[nearest[: len(w)]])
    ours = Regressor(max_samples=3).fit(X, y).predict([[query]])
    assert ours[0] == pytest.approx(np.mean(predictions), rel=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
def test_order_of_rows_does_not_matter(container, bootstrap):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(300, 3)).astype(float)
    y = rng.standard_normal(300)
    labels = rng.integers(0, 3, size=300)
    queries = container(rng.integers(0, 4, size=(64, 3)).astype(float))
    first = {}
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(300)
        for cls, target in ((Regressor, y), (Classifier, labels)):
            for size in (0.1, "loo"):
                model = cls(max_samples=size, bootstrap=bootstrap)
                model.fit(container(X[order]), target[order])
                proba = cls is Classifier
                found = model.predict_proba(queries) if proba else model.predict(queries)
                start = first.setdefault((cls, size), found)
                np.testing.assert_allclose(found, start, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("step", [0.1, 1 / 3, 0.7])
def test_ties_survive_the_rounding_of_decimal_grids(step):
    """Distances that are equal on paper differ in their last digits; they have to tie."""
    grid = np.arange(-8, 9) * step
    X = np.array(list(itertools.product(grid, grid)))
    y = np.random.default_rng(0).standard_normal(len(X))
    exact = pairwise_distances(np.rint(X[100:140] / step), np.rint(X / step))
    model = Regressor(max_samples=20).fit(X, y)
    expected = reference(exact, y, model.weights_)
    np.testing.assert_allclose(model.predict(X[100:140]), expected, rtol=1e-9)


@pytest.mark.parametrize("merge", [True, False])
def test_a_tie_that_straddles_the_cut_is_taken_whole(merge, monkeypatch):
    """400 rows at one distance, of which the weights reach only the first 18."""
    rng = np.random.default_rng(0)
    angle = np.arange(400) * (np.pi / 2)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]).round(9)
    X = np.vstack([ring, 3 + rng.random((100, 2)), [[0.01, 0.0]]])
    y = rng.standard_normal(len(X))
    if not merge:
        monkeypatch.setattr(
            "sklearn_ensemble_theory.averaging._neighbors.ranked_targets.merge_equal_rows",
            lambda X: (None, None),
        )
    model = Regressor(max_samples=0.5, weight_tol=1e-6).fit(X, y)
    assert len(model.weights_) < 25
    queries = np.array([[0.0, 0.0], [3.5, 3.5]])
    expected = reference(pairwise_distances(queries, X), y, model.weights_)
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-12)
    tied = y[:400].mean()  # all but the first weight goes to the mean of the ring
    rest = 1 - model.weights_[0] - model.mean_weight_
    by_hand = model.weights_[0] * y[-1] + rest * tied + model.mean_weight_ * y.mean()
    assert model.predict(queries)[0] == pytest.approx(by_hand, rel=1e-12)


def test_merging_equal_rows():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0], [2.0, 3.0], [2.0, 3.0], [1.0, 0.0]])
    first, point = merge_equal_rows(X)
    np.testing.assert_array_equal(X[first][point], X)
    assert len(first) == 3
    assert merge_equal_rows(X[[0, 1, 5]]) == (None, None)
    rng = np.random.default_rng(0)
    large = rng.integers(0, 9, size=(5_000, 4)).astype(float)
    first, point = merge_equal_rows(large)
    np.testing.assert_array_equal(large[first][point], large)
    assert len(first) == len(np.unique(large, axis=0))


def test_merging_survives_rows_that_share_a_hash(monkeypatch):
    X = np.array([[1.0], [2.0], [1.0], [3.0]])
    real = np.unique

    def collide(values, axis=None, **kwargs):
        return real(np.zeros_like(values) if axis is None else values, axis=axis, **kwargs)

    monkeypatch.setattr(np, "unique", collide)
    first, point = merge_equal_rows(X)
    np.testing.assert_array_equal(X[first][point], X)
    assert len(first) == 3


def test_a_row_written_twice_counts_twice():
    X, y = regression(30)
    twice = np.repeat(np.arange(30), 2)
    model = Regressor(max_samples=0.2, bootstrap="bernoulli").fit(X[twice], y[twice])
    queries = regression(10, seed=1)[0]
    i = np.arange(30)
    w = 0.8 ** (2 * i) * (1 - 0.8**2)  # the i-th row is hit by its first or its second copy
    order = np.argsort(pairwise_distances(queries, X), axis=1)
    expected = y[order] @ w + 0.8**60 * y.mean()
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-10)


@pytest.mark.parametrize("size", [0.1, "loo"])
def test_small_blocks_change_nothing(size, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(120, 2)).astype(float)
    y = rng.standard_normal(120)
    whole = Regressor(max_samples=size).fit(X, y)
    monkeypatch.setattr(_neighbor_search, "BLOCK_ENTRIES", 100)
    parts = Regressor(max_samples=size).fit(X, y)
    assert parts.max_samples_ == whole.max_samples_
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-12)


# --- the leave-one-out path -------------------------------------------------------------------


def refitted_error(model, X, Y, size):
    """Mean over the rows of the squared error of a model refitted without the row."""
    n, errors = len(X), []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        refit = clone(model).set_params(max_samples=size).fit(X[rest], Y[rest])
        if isinstance(model, Classifier):
            proba = refit.predict_proba(X[[i]])[0]
            errors.append(np.sum((proba - (refit.classes_ == Y[i])) ** 2))
        else:
            errors.append(np.sum((refit.predict(X[[i]])[0] - Y[i]) ** 2))
    return np.mean(errors)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("cls", [Regressor, Classifier])
@schemes
def test_leave_one_out_errors_are_those_of_explicit_refits(cls, size, k, bootstrap, tied):
    n = 40
    X, y = regression(n)
    if tied:
        X = np.round(2 * X)
    Y = np.digitize(y, [-0.2, 0.6]) if cls is Classifier else np.column_stack([y, y**2])
    model = cls(k, bootstrap=bootstrap, max_samples="loo").fit(X, Y)
    sizes, errors = model.loo_path_["max_samples"], model.loo_path_["error"]
    assert sizes[-1] == (1.0 if bootstrap == "bernoulli" else n)
    assert len(sizes) == len(errors) > 8
    for j in [0, 3, len(sizes) // 2, len(sizes) - 1]:
        left = sizes[j]
        if bootstrap != "bernoulli":
            left = max(k, round(int(left) * (n - 1) / n))  # the same share of n-1 rows
            assert abs(left - sizes[j]) <= 1
        expected = refitted_error(model, X, Y, left)
        assert errors[j] == pytest.approx(expected, rel=1e-9)
    assert model.max_samples_ == sizes[np.argmin(errors)]
    fixed = clone(model).set_params(max_samples=model.max_samples_).fit(X, Y)
    np.testing.assert_array_equal(fixed.predict(X), model.predict(X))
    assert not hasattr(fixed, "loo_path_")


def test_leave_one_out_finds_a_good_size():
    """Its test error is within 5 % of the best size's, and a quarter below plain neighbours'."""
    X, y = regression(600, noise=0.5)
    X_test, y_test = regression(1_000, seed=1, noise=0.0)
    model = Regressor(max_samples="loo").fit(X, y)

    def risk(size):
        prediction = Regressor(max_samples=size).fit(X, y).predict(X_test)
        return 0.25 + np.mean((prediction - y_test) ** 2)

    risks = {int(size): risk(int(size)) for size in model.loo_path_["max_samples"][1::2]}
    chosen = risk(model.max_samples_)
    assert chosen < 1.05 * min(risks.values())
    assert chosen < 0.75 * risk(600)


def test_users_grid():
    X, y = regression(50)
    model = Regressor(max_samples="loo", max_samples_grid=[20, 5, 5, 10]).fit(X, y)
    np.testing.assert_array_equal(model.loo_path_["max_samples"], [5, 10, 20])
    shares = Regressor(max_samples="loo", max_samples_grid=[0.4, 0.1, 0.2]).fit(X, y)
    np.testing.assert_array_equal(shares.loo_path_["max_samples"], [5, 10, 20])
    np.testing.assert_array_equal(shares.loo_path_["error"], model.loo_path_["error"])
    grid = Regressor(max_samples="loo", max_samples_grid=[5, 0.5])
    with pytest.raises(ValueError, match="max_samples_grid"):
        grid.fit(X, y)


@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
def test_default_grid_of_many_rows_starts_where_a_thousand_neighbors_suffice(bootstrap):
    n, k, tol = 10**6, 2, 1e-12
    law = RANK_LAWS[bootstrap]
    sizes, truncated = loo.default_grid(law, n, k, tol, n_features=12)
    scale = n if bootstrap == "bernoulli" else 1
    assert truncated
    assert 30 <= len(sizes) <= 33
    assert sizes[-1] * scale == n
    rate = int(n ** (12 / 14))
    assert any(round(size * scale) == rate for size in sizes)
    start = round(sizes[0] * scale)
    for s, enough in ((start, True), (start - 1, False)):
        assert (loo.count_ranks(law(n - 1, s / scale, k), tol) <= 1000) == enough
    few, truncated = loo.default_grid(law, 900, k, tol)
    assert not truncated
    assert round(few[0] * (900 if bootstrap == "bernoulli" else 1)) == k


def test_smallest_size_of_a_truncated_grid_warns(monkeypatch):
    monkeypatch.setattr(loo, "GRID_RANKS", 30)
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((80, 2)), rng.standard_normal(80)
    with pytest.warns(UserWarning, match="max_samples_grid") as caught:
        Regressor(max_samples="loo").fit(X, noise)
    assert caught[0].filename == __file__
    Regressor(max_samples="loo", max_samples_grid=[1, 2]).fit(X, noise)  # asked for: no warning


def test_choice_prefers_the_smaller_size_where_errors_agree_up_to_rounding():
    assert loo.best_size(np.array([2.0, 1.0 + 1e-14, 1.0, 1.5])) == 1


# --- targets, input, errors -------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.2, "loo"])
def test_several_outputs(size):
    X, y = regression(60)
    queries = regression(15, seed=1)[0]
    Y = np.column_stack([y, -2 * y])
    both = Regressor(max_samples=size).fit(X, Y).predict(queries)
    assert both.shape == (15, 2)
    one = Regressor(max_samples=size).fit(X, y).predict(queries)
    np.testing.assert_allclose(both, np.column_stack([one, -2 * one]), rtol=1e-12)
    assert Regressor().fit(X, y[:, None]).predict(queries).shape == (15, 1)

    labels = np.array(["a", "b", "c"])[np.digitize(y, [0, 0.5])]
    pairs = np.column_stack([labels, np.where(y > 0.3, "up", "down")])
    model = Classifier(max_samples=0.2).fit(X, pairs)
    for j, (classes, proba) in enumerate(zip(model.classes_, model.predict_proba(queries))):
        single = Classifier(max_samples=0.2).fit(X, pairs[:, j])
        np.testing.assert_array_equal(classes, single.classes_)
        np.testing.assert_allclose(proba, single.predict_proba(queries), rtol=1e-12)
        np.testing.assert_array_equal(model.predict(queries)[:, j], single.predict(queries))
    assert Classifier(max_samples="loo").fit(X, pairs).loo_path_["error"].ndim == 1
    with pytest.warns(DataConversionWarning, match="column-vector") as caught:
        Classifier().fit(X, labels[:, None])
    assert caught[0].filename == __file__


def test_a_tie_between_classes_goes_to_the_first_whatever_the_rounding():
    X = np.array([[-1.0], [1.0], [-2.0], [2.0], [-3.0], [3.0]])
    y = np.array([1, 0, 1, 0, 1, 0])
    for order in itertools.islice(itertools.permutations(range(6)), 0, 720, 17):
        model = Classifier(max_samples=2).fit(X[list(order)], y[list(order)])
        assert model.predict([[0.0]])[0] == 0


@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
def test_precomputed_distances(bootstrap):
    X, y = regression(80)
    queries = regression(12, seed=1)[0]
    params = {"max_samples": 20, "bootstrap": bootstrap}
    expected = Regressor(**params).fit(X, y).predict(queries)
    dense = Regressor(metric="precomputed", **params).fit(pairwise_distances(X), y)
    found = dense.predict(pairwise_distances(queries, X))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    graph = make_pipeline(
        KNeighborsTransformer(n_neighbors=79, mode="distance"),
        Regressor(metric="precomputed", **params),
    )
    np.testing.assert_allclose(graph.fit(X, y).predict(queries), expected, rtol=1e-9)


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_precomputed_graph_with_just_enough_neighbors(extra):
    X, y = regression(80)
    queries = regression(12, seed=1)[0]
    n_ranks = len(weights(80, 40))
    transformer = KNeighborsTransformer(n_neighbors=n_ranks - 1 + extra, mode="distance").fit(X)
    model = Regressor(max_samples=40, metric="precomputed").fit(transformer.transform(X), y)
    expected = Regressor(max_samples=40).fit(X, y).predict(queries)
    found = model.predict(transformer.transform(queries))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_precomputed_graph_with_too_few_neighbors_is_refused():
    X, y = regression(80)
    graph = KNeighborsTransformer(n_neighbors=5, mode="distance").fit_transform(X)
    model = Regressor(max_samples=20, metric="precomputed").fit(graph, y)
    with pytest.raises(ValueError, match="only 6 precomputed neighbors"):
        model.predict(graph)
    with pytest.raises(ValueError, match="only 6 precomputed neighbors"):
        Regressor(max_samples="loo", metric="precomputed").fit(graph, y)


@pytest.mark.parametrize("graph", [False, True])
def test_leave_one_out_of_precomputed_distances(graph):
    X, y = regression(60)
    X[7] = X[3]  # equal rows: neither may be taken for the other
    expected = Regressor(max_samples="loo", max_samples_grid=[5, 15, 60]).fit(X, y)
    model = Regressor(max_samples="loo", max_samples_grid=[5, 15, 60], metric="precomputed")
    distances = pairwise_distances(X)
    if graph:
        distances = KNeighborsTransformer(n_neighbors=59, mode="distance").fit_transform(X)
    found = model.fit(distances, y).loo_path_["error"]
    np.testing.assert_allclose(found, expected.loo_path_["error"], rtol=1e-9)


def test_rate_of_precomputed_distances_is_refused():
    with pytest.raises(ValueError, match="max_samples='rate'"):
        Regressor(metric="precomputed").fit(pairwise_distances(np.eye(5)), np.arange(5.0))


def test_sparse_queries_of_a_dense_fit():
    X, y = regression(200)
    queries = regression(10, seed=1)[0]
    model = Regressor(max_samples=50).fit(X, y)
    np.testing.assert_array_equal(model.predict(sp.csr_array(queries)), model.predict(queries))


def test_rate():
    for n, d, k, expected in [(100, 1, 1, 4), (100, 1, 9, 9), (1_000, 2, 1, 31), (3, 5, 2, 2)]:
        X = np.random.default_rng(0).standard_normal((n, d))
        assert Regressor(k).fit(X, X[:, 0]).max_samples_ == expected
        q = Regressor(k, bootstrap="bernoulli").fit(X, X[:, 0]).max_samples_
        assert q == pytest.approx(expected / n)


@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("size", [0.2, "loo"])
def test_scale_of_the_features_does_not_matter(scale, size):
    X, y = regression(60)
    expected = Regressor(max_samples=size).fit(X, y).predict(X[:9] + 0.01)
    found = Regressor(max_samples=size).fit(X * scale, y).predict((X[:9] + 0.01) * scale)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_scale_of_the_targets_does_not_matter(scale):
    X, y = regression(60)
    X = np.round(3 * X)
    plain = Regressor(max_samples="loo").fit(X, y)
    scaled = Regressor(max_samples="loo").fit(X, y * scale)
    assert scaled.max_samples_ == plain.max_samples_
    np.testing.assert_allclose(scaled.predict(X) / scale, plain.predict(X), rtol=1e-9)


def test_distances_that_overflow_are_refused_in_words():
    X, y = regression(60)
    for algorithm in ("auto", "kd_tree", "ball_tree", "brute"):
        model = Regressor(algorithm=algorithm).fit(X, y)
        with pytest.raises(ValueError, match="overflow or are not numbers: rescale X"):
            model.predict(X * 1e300)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 31}, "n_neighbors=31 must be at most n_samples=30"),
        ({"n_neighbors": 6, "max_samples": 5}, "n_neighbors=6 must be at most the number of rows"),
        ({"max_samples": 31}, "max_samples=31 must be at most n_samples=30"),
        ({"max_samples": 31, "bootstrap": "bernoulli"}, "max_samples=31"),
        ({"max_samples": "loo", "n_neighbors": 30}, "max_samples='loo'"),
        ({"max_samples": "loo", "max_samples_grid": [40]}, "max_samples_grid: max_samples=40"),
        ({"max_samples": "loo", "max_samples_grid": []}, "max_samples_grid"),
        ({"max_samples": "loo", "max_samples_grid": [[1]]}, "max_samples_grid"),
        ({"max_samples": "loo", "max_samples_grid": [0.5, 1.5]}, "max_samples_grid"),
        ({"max_samples": "loo", "max_samples_grid": ["a"]}, "max_samples_grid"),
        ({"metric": "haversine", "algorithm": "kd_tree"}, "haversine"),
    ],
)
@pytest.mark.parametrize("cls", [Regressor, Classifier])
def test_bad_combinations_are_named_and_leave_the_estimator_unfitted(cls, params, message):
    X, y = regression(30)
    model = cls(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, (y > 0).astype(int))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_more_draws_than_rows_with_replacement():
    X, y = regression(30)
    model = Regressor(max_samples=300, bootstrap=True).fit(X, y)
    assert model.weights_[0] == pytest.approx(1 - (1 - 1 / 30) ** 300)


def test_weights_that_are_cut_leave_their_mass_to_the_mean():
    X, y = regression(100)
    model = Regressor(max_samples=20, weight_tol=1e-2).fit(X, y)
    assert 1e-3 < model.mean_weight_ <= 1e-2
    assert model.mean_weight_ == pytest.approx(1 - model.weights_.sum())
    exact = Regressor(max_samples=20, weight_tol=0).fit(X, y).predict(X)
    assert np.abs(model.predict(X) - exact).max() <= 1e-2 * np.ptp(y)


def test_registry_of_laws_is_what_the_parameter_takes():
    X, y = regression(30)
    constraint = Regressor._parameter_constraints["bootstrap"][1]
    assert constraint.options == {name for name in RANK_LAWS if isinstance(name, str)}
    for bootstrap in (True, False):
        expected = Regressor(max_samples=5, bootstrap=bootstrap).fit(X, y)
        found = Regressor(max_samples=5, bootstrap=np.bool_(bootstrap)).fit(X, y)
        np.testing.assert_array_equal(found.weights_, expected.weights_)
