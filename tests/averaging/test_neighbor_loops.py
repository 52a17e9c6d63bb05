"""The compiled search for neighbours, compared with brute force and with SciPy's tree."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor
from sklearn_ensemble_theory._hot_loops import neighbor_loops as loops
from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled, uses_numba
from sklearn_ensemble_theory.averaging._neighbor_search import EuclideanTree, RankedBlock

compiled = pytest.mark.skipif(not uses_numba(), reason="compares the compiled route")


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
    tree = EuclideanTree(points, 5)
    k = 100 if uses_numba() else 1
    for one, three in zip(tree.query(queries, k), tree.query(queries, k, workers=3)):
        assert_array_equal(one, three)


@pytest.mark.parametrize("n", [1, 40, 200, 900])
def test_pairs_are_sorted_by_every_bit(n):
    rng = np.random.default_rng(n)
    spread = rng.random(n)
    crowded = np.where(np.arange(n) % 9 == 0, 0.0, 1 + 1e-12 * rng.random(n))
    for values in (spread, crowded, np.ones(n), np.sort(spread), np.full(n, np.inf)):
        keys, items = values.copy(), np.arange(n)
        spare = np.empty(n, np.int64), np.empty(n, np.int64)
        loops.sort_pairs(
            keys.view(np.int64), items, n, spare, np.empty(2**loops.LONG_DIGIT, np.int64)
        )
        assert_array_equal(keys, np.sort(values))
        assert_array_equal(items, np.argsort(values, kind="stable"))


@compiled
@pytest.mark.parametrize("max_samples", ["rate", "loo"])
def test_both_routes_give_the_same_predictions(max_samples):
    rng = np.random.default_rng(2)
    X, y = rng.random((400, 3)), rng.random((400, 2))
    X[100:200] = X[:100].round(1)
    X_new = np.concatenate([rng.random((50, 3)), X[90:110]])
    fast = BaggedNearestNeighborsRegressor(max_samples=max_samples).fit(X, y)
    with numba_disabled():
        slow = BaggedNearestNeighborsRegressor(max_samples=max_samples).fit(X, y)
        loaded = pickle.loads(pickle.dumps(fast))
    assert fast.max_samples_ == slow.max_samples_
    for model in (slow, loaded):
        assert_allclose(fast.predict(X_new), model.predict(X_new), rtol=1e-12)


@compiled
def test_rows_without_their_own_point():
    rng = np.random.default_rng(3)
    points = np.array([rng.permutation(9)[:6] for _ in range(40)])
    distances = np.sort(rng.integers(4, size=(40, 6)), axis=1).astype(float)
    own = rng.integers(9, size=40)
    fast = RankedBlock.of(distances, points, 3, None, own)
    with numba_disabled():
        slow = RankedBlock.of(distances, points, 3, None, own)
    is_there = (points == own[:, None]).any(axis=1)
    assert is_there.any()
    assert not is_there.all()
    for name in ("points", "starts", "complete", "slow"):
        assert_array_equal(getattr(fast, name), getattr(slow, name))
