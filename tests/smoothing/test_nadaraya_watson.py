"""Nadaraya-Watson against its formula, written out."""

import numpy as np
import pytest

from sklearn_ensemble_theory import NadarayaWatsonRegressor

FORMULAS = {
    "gaussian": lambda u: np.exp(-(u**2) / 2),
    "epanechnikov": lambda u: np.maximum(1 - u**2, 0),
    "tricube": lambda u: np.maximum(1 - u**3, 0) ** 3,
    "uniform": lambda u: (u <= 1) * 1.0,
}
every_kernel = pytest.mark.parametrize("kernel", FORMULAS)


def by_hand(kernel, X, y, w, h, x):
    out = []
    for point in x:
        u = np.sqrt((((X - point) / h) ** 2).sum(axis=1))
        k = w * FORMULAS[kernel](u)
        out.append((k @ y) / k.sum())
    return np.array(out)


@every_kernel
@pytest.mark.parametrize("p", [1, 3])
def test_equals_the_formula_inside_the_box(kernel, p):
    rng = np.random.default_rng(p)
    X, w = rng.uniform(size=(80, p)), rng.uniform(0.5, 2, size=80)
    y = rng.standard_normal((80, 2))
    h = np.array([0.3, 0.5, 0.9])[:p]
    x = rng.uniform(0.2, 0.8, size=(25, p))
    model = NadarayaWatsonRegressor(h, kernel=kernel).fit(X, y, w)
    np.testing.assert_allclose(model.predict(x), by_hand(kernel, X, y, w, h, x), rtol=1e-12)
    S = model.smoother_matrix()
    np.testing.assert_allclose(S @ y, by_hand(kernel, X, y, w, h, X), rtol=1e-11)
    assert model.degrees_of_freedom_ == pytest.approx(S.diagonal().sum(), rel=1e-12)


@every_kernel
def test_slope_is_the_derivative(kernel):
    """Outside, weights move along the derivative of the formula at the end of the range."""
    X, h, step = np.random.default_rng(1).uniform(size=(40, 1)), 0.37, 1e-6
    model = NadarayaWatsonRegressor(h, kernel=kernel).fit(X, np.zeros(40))
    for end, side in ((X.min(), -1.0), (X.max(), 1.0)):
        level, moved = np.asarray(
            [
                by_hand(kernel, X, np.eye(40), np.ones(40), h, [[x]])[0]
                for x in (end, end - side * step)
            ]
        )
        found = model.smoother_matrix([[end], [end + 0.5 * side]])
        found = found if kernel == "gaussian" else found.toarray()
        np.testing.assert_allclose(found[0], level, rtol=1e-12)
        np.testing.assert_allclose(found[1] - level, 0.5 * (level - moved) / step, atol=1e-4)


@every_kernel
def test_extrapolates_along_the_tangent(kernel):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), rng.standard_normal(60)
    model = NadarayaWatsonRegressor(0.4, kernel=kernel).fit(X, y)
    corner = np.array([X[:, 0].max(), 0.5])
    step = 1e-6
    inside = model.predict([corner, corner - [step, 0]])
    slope = (inside[0] - inside[1]) / step
    outside = model.predict([corner + [1.0, 0], corner + [2.0, 0]])
    np.testing.assert_allclose(
        outside, inside[0] + slope * np.array([1.0, 2.0]), rtol=1e-4, atol=1e-4
    )
    # Both coordinates outside: linear in the shift from the corner of the box.
    top = X.max(axis=0)
    values = model.predict([top, top + [1, 2], top + [2, 4]])
    assert values[2] - values[1] == pytest.approx(values[1] - values[0], rel=1e-9)


@every_kernel
def test_similar_to_a_symmetric_matrix(kernel):
    rng = np.random.default_rng(3)
    X, w = rng.uniform(size=(40, 2)), rng.uniform(0.2, 3, size=40)
    form = NadarayaWatsonRegressor(0.35, kernel=kernel)._linear_form(X, w, False)
    S, metric = form.matrix, form.metric
    np.testing.assert_allclose(metric[:, None] * S, (metric[:, None] * S).T, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(S.sum(axis=1), 1, rtol=1e-12)


@every_kernel
def test_weights_count_rows(kernel):
    rng = np.random.default_rng(5)
    X, y, w = rng.uniform(size=(30, 1)), rng.standard_normal(30), rng.integers(0, 4, size=30)
    x = rng.uniform(-0.5, 1.5, size=(40, 1))
    for bandwidth in (0.1, "scott", "loo"):
        weighted = NadarayaWatsonRegressor(bandwidth, kernel=kernel).fit(X, y, w)
        repeated = NadarayaWatsonRegressor(bandwidth, kernel=kernel).fit(
            np.repeat(X, w, axis=0), np.repeat(y, w)
        )
        np.testing.assert_allclose(weighted.predict(x), repeated.predict(x), rtol=1e-10)
        assert weighted.degrees_of_freedom_ == pytest.approx(repeated.degrees_of_freedom_)


@every_kernel
def test_loo_errors_by_deleting_rows(kernel):
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(40, 2))
    y = np.sin(5 * X[:, 0]) + 0.2 * rng.standard_normal(40)
    model = NadarayaWatsonRegressor("loo", kernel=kernel).fit(X, y)
    scott = NadarayaWatsonRegressor("scott", kernel=kernel).fit(X, y).bandwidth_
    best = model.loo_factors_[np.argmin(model.loo_errors_)]
    np.testing.assert_allclose(model.bandwidth_, best * scott)
    for k in (0, 10, 24):
        h = scott * model.loo_factors_[k]
        error = 0.0
        for i in range(40):
            keep = np.arange(40) != i
            # The weights straight from the formula, so that no extrapolation plays a part.
            u = np.sqrt((((X[keep] - X[i]) / h) ** 2).sum(axis=1))
            K = FORMULAS[kernel](u)
            K = K if K.sum() > 0 else (u <= u.min() * (1 + 1e-12)) * 1.0
            error += (y[i] - K @ y[keep] / K.sum()) ** 2 / 40
        assert model.loo_errors_[k] == pytest.approx(error, rel=1e-9)


def test_a_point_without_neighbours_takes_the_nearest_ones_mean():
    X, y = [[0.0], [0.0], [1.0]], [1.0, 3.0, 10.0]
    model = NadarayaWatsonRegressor(0.1, kernel="tricube").fit(X, y)
    np.testing.assert_allclose(model.predict([[0.3], [0.7]]), [2.0, 10.0])


@every_kernel
def test_edge_cases(kernel):
    make = NadarayaWatsonRegressor
    # Two rows; constant y; a column of zeros, seen off zero at prediction.
    two = make(0.5, kernel=kernel).fit([[0.0], [1.0]], [0.0, 1.0])
    np.testing.assert_allclose(two.predict([[0.5]]), 0.5)
    X = np.column_stack([np.linspace(0, 1, 20), np.zeros(20)])
    model = make(kernel=kernel).fit(X, np.full(20, 7.0))
    np.testing.assert_allclose(model.predict([[0.4, 0.0], [3.0, 5.0]]), 7.0)
    assert np.isinf(model.bandwidth_[1])
    # All rows the same point.
    same = make(kernel=kernel).fit(np.ones((3, 2)), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(same.predict([[1.0, 1.0], [9.0, 9.0]]), 2.0)
    # y of 1e150, and two x that are 1e-12 apart.
    x = np.r_[np.linspace(0, 1, 20), 0.5, 0.5 + 1e-12][:, None]
    y = np.cos(x[:, 0])
    small = make("loo", kernel=kernel).fit(x, y).predict(x)
    large = make("loo", kernel=kernel).fit(x, 1e150 * y).predict(x)
    np.testing.assert_allclose(large, 1e150 * small, rtol=1e-12)
    assert abs(small[-1] - small[-2]) < 1e-9


@every_kernel
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_of_x_does_not_matter(kernel, scale):
    rng = np.random.default_rng(11)
    X, y = rng.uniform(size=(30, 2)), rng.standard_normal(30)
    x = rng.uniform(-0.5, 1.5, size=(10, 2))
    expected = NadarayaWatsonRegressor(kernel=kernel).fit(X, y).predict(x)
    scaled = NadarayaWatsonRegressor(kernel=kernel).fit(X * scale, y).predict(x * scale)
    np.testing.assert_allclose(scaled, expected, rtol=1e-9)


def test_many_rows_stay_sparse():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 1))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(20_000)
    model = NadarayaWatsonRegressor(0.002, kernel="epanechnikov").fit(X, y)
    S = model.smoother_matrix()
    assert S.nnz < 0.005 * 20_000**2
    np.testing.assert_allclose(S @ y, model.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="use another kernel"):
        NadarayaWatsonRegressor(0.002).fit(X, y).smoother_matrix()


def test_messages():
    X, y = np.arange(6.0).reshape(-1, 2), np.arange(3.0)
    with pytest.raises(ValueError, match="bandwidth must be a number or an array"):
        NadarayaWatsonRegressor([1.0, 2.0, 3.0]).fit(X, y)
    with pytest.raises(ValueError, match="bandwidth must be positive"):
        NadarayaWatsonRegressor([1.0, -2.0]).fit(X, y)
    with pytest.raises(ValueError, match="bandwidth is too small"):
        NadarayaWatsonRegressor(1e-200).fit(X, y)
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        NadarayaWatsonRegressor().fit(X, y, np.zeros(3))
