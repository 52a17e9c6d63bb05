"""The search for neighbours: sets of neighbours, metrics and ties; our tree."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier as Classifier
from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor as Regressor
from sklearn_ensemble_theory.averaging import Bernoulli, _neighbor_search
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights as weights
from sklearn_ensemble_theory.averaging._neighbor_search import (
    EuclideanTree,
    MinkowskiTree,
    RankedBlock,
    merge_equal_rows,
)

from .neighbor_data import regression


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
        monkeypatch.setattr(_neighbor_search, "merge_equal_rows", lambda X: (None, None))
    model = Regressor(max_samples=0.5).fit(X, y)
    assert len(model.weights_) < 45
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
    model = Regressor(max_samples=0.2, bootstrap=Bernoulli("mean")).fit(X[twice], y[twice])
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


# --- our tree, compared with brute force ----------------------------------------------------------


def point_sets():
    rng = np.random.default_rng(0)
    yield "uniform", rng.random((300, 3)), rng.random((15, 3))
    yield "one row", rng.random((1, 2)), rng.random((3, 2))
    yield "equal rows", np.ones((60, 2)), np.ones((4, 2))
    yield "grid", rng.integers(4, size=(250, 3)).astype(float), rng.integers(4, size=(9, 3)) * 1.0
    yield "line", np.arange(400.0)[:, None], np.array([[-5.0], [0.0], [200.5], [1e6]])
    near, far = rng.normal(size=(20, 2)), 1e6 + 1e-3 * rng.normal(size=(500, 2))
    yield "a far cluster", np.concatenate([near, far]), near[:5]


PROBLEMS = {name: rest for name, *rest in point_sets()}


@pytest.mark.parametrize("name", PROBLEMS)
def test_neighbors_are_those_of_brute_force(name):
    points, queries = PROBLEMS[name]
    distances = cdist(queries, points)
    for leaf_size in (1, 10):
        tree = EuclideanTree(points, leaf_size)
        for k in sorted({1, min(7, len(points)), len(points)}):
            got, found = tree.query(queries, k)
            assert_allclose(got, np.sort(distances, axis=1)[:, :k], rtol=1e-12, atol=1e-12)
            assert_allclose(np.take_along_axis(distances, found, axis=1), got, atol=1e-9)
            assert all(len(set(row)) == k for row in found.tolist())


def test_threads_change_nothing():
    rng = np.random.default_rng(1)
    points, queries = rng.random((200, 2)), rng.random((1500, 2))
    trees = [MinkowskiTree(points, 5, 2, n_jobs) for n_jobs in (1, 3)]
    for one, three in zip(*(tree.kneighbors(queries, 100) for tree in trees)):
        assert_array_equal(one, three)


@pytest.mark.parametrize("n", [1, 40, 200, 900])
def test_neighbors_are_sorted_by_every_bit(n):
    rng = np.random.default_rng(n)
    spread = rng.random(n)
    crowded = np.where(np.arange(n) % 9 == 0, 0.0, 1 + 1e-12 * rng.random(n))
    for values in (spread, crowded, np.ones(n), np.sort(spread)):
        got, found = EuclideanTree(values[:, None], 10).query(np.zeros((1, 1)), n)
        distances = np.sqrt(values * values)
        assert_array_equal(got[0], np.sort(distances))
        assert_array_equal(distances[found[0]], got[0])
        assert set(found[0]) == set(range(n))


@pytest.mark.parametrize("max_samples", ["rate", "loo"])
def test_predictions_of_the_tree_are_those_of_brute_force(max_samples):
    rng = np.random.default_rng(2)
    X, y = rng.random((400, 3)), rng.random((400, 2))
    X[100:200] = X[:100].round(1)
    X_new = np.concatenate([rng.random((50, 3)), X[90:110]])
    fast = Regressor(max_samples=max_samples).fit(X, y)
    slow = Regressor(max_samples=max_samples, algorithm="brute").fit(X, y)
    loaded = pickle.loads(pickle.dumps(fast))
    assert fast.max_samples_ == slow.max_samples_
    for model in (slow, loaded):
        assert_allclose(fast.predict(X_new), model.predict(X_new), rtol=1e-12)


def test_many_neighbours_in_20_dimensions_are_found_by_the_tree(monkeypatch):
    """Brute force sorts hundreds of neighbours slowly; with few of them it is as fast."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((600, 20)), rng.standard_normal(600)
    X[50:80] = X[:30]
    X_new = np.concatenate([rng.standard_normal((30, 20)), X[40:60]])
    slow = Regressor(max_samples="loo", algorithm="brute").fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(_neighbor_search, "NearestNeighbors", OnlyChecked)
        fast = Regressor(max_samples=[20, 40]).fit(X, y)
    grid = Regressor(max_samples=[20, 40], algorithm="brute").fit(X, y)
    scores = [model.cv_results_["mean_score"] for model in (fast, grid)]
    assert_allclose(*scores, rtol=1e-10)
    assert_allclose(fast.predict(X_new), grid.predict(X_new), rtol=1e-10)
    whole = Regressor(max_samples="loo").fit(X, y)
    assert_allclose(whole.predict(X_new), slow.predict(X_new), rtol=1e-10)
    for algorithm in ("brute", "auto"):  # few neighbours; brute force if it is asked for
        with monkeypatch.context() as patch:
            patch.setattr(_neighbor_search, "NearestNeighbors", OnlyChecked)
            size = 590 if algorithm == "auto" else 20
            with pytest.raises(AssertionError, match="brute force"):
                Regressor(max_samples=size, algorithm=algorithm).fit(X, y)


class OnlyChecked:
    """A search that is not to be used."""

    def __init__(self, **parameters):
        pass

    def fit(self, X):
        raise AssertionError("brute force")


def test_rows_without_their_own_point():
    rng = np.random.default_rng(3)
    points = np.array([rng.permutation(9)[:6] for _ in range(40)])
    distances = np.sort(rng.integers(4, size=(40, 6)), axis=1).astype(float)
    own = rng.integers(9, size=40)
    is_there = (points == own[:, None]).any(axis=1)
    assert is_there.any()
    assert not is_there.all()
    left_out = [list(row).index(k) if k in row else 5 for row, k in zip(points, own)]
    kept = [
        np.array([np.delete(row, at) for row, at in zip(rows, left_out)])
        for rows in (distances, points)
    ]
    found, expected = RankedBlock.of(distances, points, 3, None, own), RankedBlock.of(*kept, 3)
    for name in ("points", "starts", "complete"):
        assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("step", [1, 3, 20])
def test_ties_are_asked_for_at_once_or_twice(step, monkeypatch):
    """The first rows tell how many neighbours ties take: fewer calls, the same predictions."""
    rng = np.random.default_rng(0)
    X, y = np.round(step * rng.random((600, 4))), rng.random(600)
    model = Regressor(max_samples=60).fit(X, y)
    found = model.predict(X)
    monkeypatch.setattr(_neighbor_search, "PROBED", 10**6)
    assert_allclose(model.predict(X), found, rtol=1e-12)
