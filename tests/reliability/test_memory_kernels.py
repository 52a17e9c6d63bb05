"""Compact kernels of Nadaraya-Watson: bounded memory, and the sums by moments against the pairs."""

import time
import tracemalloc

import numpy as np
import pytest
import sklearn

from sklearn_ensemble_theory import NadarayaWatsonRegressor
from sklearn_ensemble_theory.smoothing import _compact_kernels as compact

every_kernel = pytest.mark.parametrize("kernel", compact.POLYNOMIALS)


def peak_of(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def by_pairs(model, x):
    """The averages at x inside the range, with distances of the model's own scaled points."""
    z, w = (x - model._origin[0]) / model.bandwidth_[0], model._weights.sample_weight
    distances = np.abs(z[:, None] - model._weights.Z[:, 0])
    K = compact.kernel_value(model.kernel, distances**2) * w
    alone = np.flatnonzero(K.sum(axis=1) == 0)
    nearest = distances[alone].min(axis=1, keepdims=True) * (1 + 1e-12)
    K[alone] = (distances[alone] <= nearest) * w
    return (K @ model._targets) / K.sum(axis=1, keepdims=True)


LAYOUTS = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "far from 0": lambda rng, n: 1e6 + rng.uniform(size=n),
    "in clusters": lambda rng, n: rng.integers(0, 9, n) / 3 + 1e-3 * rng.standard_normal(n),
    "grid": lambda rng, n: np.round(rng.uniform(size=n), 2),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n) / 5,
}


@every_kernel
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bandwidth", [0.07, 0.3, 5.0])
def test_moments_are_the_sums_over_pairs(kernel, layout, bandwidth):
    rng = np.random.default_rng(len(layout))
    n = 1500
    x = LAYOUTS[layout](rng, n)
    y = np.column_stack([100 + np.sin(5 * x) + rng.standard_normal(n), 1e8 * rng.uniform(size=n)])
    w = rng.integers(0, 4, n) * rng.uniform(0.5, 1.5, n)
    model = NadarayaWatsonRegressor(bandwidth, kernel=kernel).fit(x[:, None], y, w)
    inside = model._weights.Z[:, 0] * bandwidth + model._origin[0]
    asked = np.clip(np.r_[x, rng.uniform(x.min(), x.max(), 300)], inside.min(), inside.max())
    np.testing.assert_allclose(
        model.predict(asked[:, None]), by_pairs(model, asked), rtol=1e-10, atol=0
    )
    S = model.smoother_matrix()
    assert model.degrees_of_freedom_ == pytest.approx(S.diagonal().sum(), rel=1e-10)


@every_kernel
def test_ties_at_the_edge_of_the_support(kernel):
    # Distances of one bandwidth, some of them rounded: hundreds of equal rows at each point.
    for step in (0.1, 0.25, 0.3):
        x = np.repeat(step * np.arange(12), 100)
        y = np.sin(x) + np.arange(len(x)) % 7
        model = NadarayaWatsonRegressor(2 * step, kernel=kernel).fit(x[:, None], y)
        expected = by_pairs(model, x)[:, 0]
        np.testing.assert_allclose(model.predict(x[:, None]), expected, rtol=1e-12)


def test_windows_have_the_distances_of_the_kernel():
    rng = np.random.default_rng(0)
    points = np.r_[0.0, 1.0, -1.0, 1 + 2.0**-52, -(2.0**-54), 2.0**-60, rng.uniform(-3, 3, 50)]
    near_ends = np.concatenate([np.nextafter(points + s, t) for s in (-1, 1) for t in (-9, 9)])
    points = np.r_[points, points + 1, points - 1, near_ends]
    index = compact.SortedPoints(points[:, None])
    for radius in (1.0, 0.3):
        first, stop = index.windows(points, radius)
        inside = np.abs(points[:, None] - index.values) <= radius
        np.testing.assert_array_equal(inside.sum(axis=1), stop - first)
        np.testing.assert_array_equal(inside.argmax(axis=1), first)


def test_rows_at_the_edge_do_not_drown_the_others():
    # 200 rows at almost one bandwidth, with a large y, and three rows near the point.
    x = np.r_[np.full(200, 0.0), 0.9999, 1.0, 1.1, 2.0]
    y = np.r_[np.full(200, 1e9), 1.0, 2.0, 3.0, 0.0]
    model = NadarayaWatsonRegressor(0.99999, kernel="tricube").fit(x[:, None], y)
    asked = np.array([0.999, 0.9998, 1.0])
    np.testing.assert_allclose(
        model.predict(asked[:, None]), by_pairs(model, asked)[:, 0], rtol=1e-10
    )


@every_kernel
def test_outside_the_range_of_one_feature(kernel):
    rng = np.random.default_rng(1)
    x, y = rng.uniform(size=(400, 1)), rng.standard_normal(400)
    model = NadarayaWatsonRegressor(0.3, kernel=kernel).fit(x, y)
    asked = np.array([[-3.0], [-0.1], [0.5], [1.7], [40.0]])
    np.testing.assert_allclose(model.predict(asked), model.smoother_matrix(asked) @ y, rtol=1e-9)


@every_kernel
def test_one_feature_takes_little_time_and_memory(kernel, monkeypatch):
    rng = np.random.default_rng(2)
    n = 50_000
    x, y = rng.uniform(size=(n, 1)), rng.standard_normal(n)
    model = NadarayaWatsonRegressor(0.3, kernel=kernel).fit(x, y)
    start = time.process_time()
    model.predict(x)
    assert time.process_time() - start < 2  # the pairs would take a minute
    # The pairs are 1.3e9. A block of points and one power of the rows are held.
    monkeypatch.setattr(compact, "POINTS_AT_A_TIME", 2**12)
    assert peak_of(lambda: model.predict(x[: n // 8])) < 100 * n
    assert peak_of(lambda: model.degrees_of_freedom_) < 100 * n


@every_kernel
@pytest.mark.parametrize("p", [2, 17])
def test_blocks_of_pairs_bound_the_memory(kernel, p, monkeypatch):
    rng = np.random.default_rng(3)
    n = 1500
    X, y = rng.uniform(size=(n, p)), rng.standard_normal(n)
    model = NadarayaWatsonRegressor(1.0 if p == 2 else 1.6, kernel=kernel).fit(X, y)
    asked = np.r_[X[:200], rng.uniform(-0.2, 1.2, size=(200, p))]
    whole = model.predict(asked)
    trace = model.degrees_of_freedom_
    model._trace = None
    monkeypatch.setattr(compact, "MOST_PAIRS", 10 * n)
    peak = peak_of(lambda: np.testing.assert_allclose(model.predict(asked), whole, rtol=1e-12))
    assert peak < 10 * n * compact.BYTES_PER_PAIR + 100 * 8 * n
    assert model.degrees_of_freedom_ == pytest.approx(trace, rel=1e-12)


def test_blocks_follow_working_memory():
    Z = np.zeros((100, 2))
    index = compact.TreePoints(Z)
    assert len(list(compact.pair_blocks(index, Z))) == 1
    with sklearn.config_context(working_memory=10 * 100 * compact.BYTES_PER_PAIR / 2**20):
        blocks = list(compact.pair_blocks(index, Z))
    assert [block.stop - block.start for block in blocks] == [10] * 10
    with sklearn.config_context(working_memory=1e-9):
        assert len(list(compact.pair_blocks(index, Z))) == 100


@every_kernel
def test_a_fit_makes_one_copy_of_x(kernel):
    rng = np.random.default_rng(4)
    X, y = rng.uniform(size=(20_000, 20)), rng.standard_normal(20_000)
    peak = peak_of(lambda: NadarayaWatsonRegressor(kernel=kernel).fit(X, y))
    assert peak < 1.35 * X.nbytes  # n times 8 bytes for y, weights and order are 0.05 each
