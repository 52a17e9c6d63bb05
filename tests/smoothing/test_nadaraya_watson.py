"""Nadaraya-Watson against its formula, written out."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import LinearL2BoostingRegressor, NadarayaWatsonRegressor
from sklearn_ensemble_theory.smoothing import bagged_smoother

FORMULAS = {
    "gaussian": lambda u: np.exp(-(u**2) / 2),
    "epanechnikov": lambda u: np.maximum(1 - u**2, 0),
    "tricube": lambda u: np.maximum(1 - u**3, 0) ** 3,
    "uniform": lambda u: (u <= 1) * 1.0,
}
every_kernel = pytest.mark.parametrize("kernel", FORMULAS)


def by_hand(kernel, X, y, w, h, x):
    """The formula; the mean over the nearest points where all its weights are zero."""
    out = []
    for point in x:
        u = np.sqrt((((X - point) / h) ** 2).sum(axis=1))
        k = w * FORMULAS[kernel](u)
        k = k if k.any() else w * (u <= u.min() * (1 + 1e-12))
        out.append((k @ y) / k.sum())
    return np.array(out)


@every_kernel
@pytest.mark.parametrize("p", [1, 3])
def test_equals_the_formula(kernel, p):
    rng = np.random.default_rng(p)
    X, w = rng.uniform(size=(80, p)), rng.uniform(0.5, 2, size=80)
    y = rng.standard_normal((80, 2))
    h = np.array([0.3, 0.5, 0.9])[:p]
    x = rng.uniform(-0.6, 1.6, size=(60, p))  # far enough to be without neighbours
    model = NadarayaWatsonRegressor(h, kernel=kernel).fit(X, y, w)
    expected = by_hand(kernel, X, y, w, h, x)
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-11)
    np.testing.assert_allclose(model.smoother_matrix(x) @ y, expected, rtol=1e-11)
    S = model.smoother_matrix()
    np.testing.assert_allclose(S @ y, by_hand(kernel, X, y, w, h, X), rtol=1e-11)
    assert model.degrees_of_freedom_ == pytest.approx(S.diagonal().sum(), rel=1e-12)


def test_outside_of_three_points():
    X, y, x = [[0.0], [0.5], [1.0]], [0.0, 1.0, 3.0], [[1.2], [1.5], [2.0]]
    model = NadarayaWatsonRegressor(0.3).fit(X, y)
    np.testing.assert_allclose(model.predict(x), [2.847, 2.969, 2.998], atol=5e-4)
    S = model.smoother_matrix(x)
    np.testing.assert_allclose(S, by_hand("gaussian", np.array(X), np.eye(3), 1, 0.3, x))
    np.testing.assert_allclose(model.smoother_matrix([[9.0]]), [[0, 0, 1]], atol=1e-9)
    line = NadarayaWatsonRegressor(0.3, extrapolation="linear").fit(X, y)
    np.testing.assert_allclose(line.predict(x), [2.963, 3.518, 4.442], atol=5e-4)
    np.testing.assert_allclose(line.smoother_matrix(x[1:2]), [[-0.012, -0.24, 1.253]], atol=5e-4)


@every_kernel
def test_many_neighbours_outside(kernel):
    """Windows at the ends whose sums are taken by moments."""
    rng = np.random.default_rng(2)
    X, y, w = rng.uniform(size=(2000, 1)), rng.standard_normal(2000), rng.uniform(size=2000)
    x = rng.uniform(-0.25, 1.25, size=(200, 1))
    model = NadarayaWatsonRegressor(0.2, kernel=kernel).fit(X, y, w)
    expected = by_hand(kernel, X, y, w, 0.2, x)
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-9, atol=1e-11)


@every_kernel
@pytest.mark.parametrize("p", [1, 2, 16])
def test_far_away_the_nearest_point_decides(kernel, p):
    """Squared distances in rational numbers: floats of them are all the same."""
    rng = np.random.default_rng(p)
    X, directions = rng.uniform(size=(50, p)), rng.standard_normal((3, p))
    X[1] = X[0]  # a tie, which is farthest in the first direction
    directions[0] = X[0] - 0.5
    X[:2] = 0.5 + 1.5 * p * directions[0] / np.linalg.norm(directions[0])
    exact = [[Fraction(value) for value in row] for row in X.tolist()]
    model = NadarayaWatsonRegressor(0.2, kernel=kernel).fit(X, np.eye(50))
    for far in (1e9, 1e100, 1e170, 1e306):
        x = far * directions
        for point, weights in zip(x.tolist(), model.predict(x)):
            point = [Fraction(value) for value in point]
            squares = [sum((a - b) ** 2 for a, b in zip(point, row)) for row in exact]
            least = min(squares)
            nearest = np.array([square == least for square in squares])
            np.testing.assert_allclose(weights, nearest / nearest.sum(), atol=1e-9)
    assert np.count_nonzero(model.predict(x[:1])) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")
@pytest.mark.parametrize("kernel", ["gaussian", "tricube"])
def test_half_subsamples_predict_the_rest_by_the_formula(kernel):
    """Three in four miss an extreme point, which is then predicted outside of their range."""
    rng = np.random.default_rng(4)
    X, y = rng.uniform(size=(8, 1)), rng.standard_normal(8)
    points = np.vstack([X, [[-0.3], [0.5], [1.4]]])
    halves = list(combinations(range(8), 4))
    ends = {int(X.argmin()), int(X.argmax())}
    assert np.mean([not ends <= set(rows) for rows in halves]) == pytest.approx(11 / 14)
    G = np.zeros((11, 8))
    for rows in map(list, halves):
        G[:, rows] += by_hand(kernel, X[rows], np.eye(4), 1.0, 0.3, points) / len(halves)
    learner = NadarayaWatsonRegressor(0.3, kernel=kernel)
    found = bagged_smoother(learner, X, points, subsample=0.5)
    np.testing.assert_allclose(found, G, atol=1e-12)
    assert found.min() >= 0
    F = np.full(11, y.mean())
    for _ in range(2000):  # Euler steps of the limit to time 2
        F = F + 0.001 * G @ (y - F[:8])
    boosted = LinearL2BoostingRegressor(learner, subsample=0.5, time=2.0, n_subsamples=70)
    np.testing.assert_allclose(boosted.fit(X, y).predict(points), F, atol=2e-3)


@every_kernel
def test_slope_is_the_derivative(kernel):
    """Outside, weights move along the derivative of the formula at the end of the range."""
    X, h, step = np.random.default_rng(1).uniform(size=(40, 1)), 0.37, 1e-6
    model = NadarayaWatsonRegressor(h, kernel=kernel, extrapolation="linear")
    model.fit(X, np.zeros(40))
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
    model = NadarayaWatsonRegressor(0.4, kernel=kernel, extrapolation="linear").fit(X, y)
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
    form = NadarayaWatsonRegressor(0.35, kernel=kernel).linear_smoother().form(X, w, False)
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
            np.repeat(X, w, axis=0), np.repeat(y, w), groups=np.repeat(np.arange(30), w)
        )
        np.testing.assert_allclose(weighted.predict(x), repeated.predict(x), rtol=1e-10)
        assert weighted.degrees_of_freedom_ == pytest.approx(repeated.degrees_of_freedom_)


@every_kernel
@pytest.mark.parametrize("bandwidth", ["scott", "loo"])
def test_only_the_ratios_of_weights_matter(kernel, bandwidth):
    rng = np.random.default_rng(5)
    X, y, w = rng.uniform(size=(60, 2)), rng.standard_normal(60), rng.gamma(1.0, size=60)
    x = rng.uniform(-0.5, 1.5, size=(40, 2))
    model = NadarayaWatsonRegressor(bandwidth, kernel=kernel).fit(X, y, w)
    for factor in (1024.0, 2.0**-10, 2.0**500):
        found = clone(model).fit(X, y, factor * w)
        np.testing.assert_array_equal(found.bandwidth_, model.bandwidth_)
        np.testing.assert_array_equal(found.predict(x), model.predict(x))
    ones = clone(model).fit(X, y, np.full(60, 7.0))
    np.testing.assert_allclose(ones.bandwidth_, clone(model).fit(X, y).bandwidth_, rtol=1e-12)


def test_scotts_rule_has_kishs_number_of_rows_unless_weights_count():
    rng = np.random.default_rng(5)
    X, y, w = rng.normal(size=(60, 2)), rng.standard_normal(60), rng.gamma(1.0, size=60)
    spread = np.sqrt(np.diag(np.cov(X.T, aweights=w, ddof=0)))
    expected = spread * (w.sum() ** 2 / (w**2).sum()) ** (-1 / 6)
    found = NadarayaWatsonRegressor().fit(X, y, w)
    np.testing.assert_allclose(found.bandwidth_, expected, rtol=1e-12)
    copies = rng.integers(1, 4, 60)
    counted = NadarayaWatsonRegressor().fit(X, y, 0.3 * copies).bandwidth_
    repeated = np.repeat(np.arange(60), copies)
    written = NadarayaWatsonRegressor().fit(X[repeated], y[repeated]).bandwidth_
    np.testing.assert_allclose(counted, written, rtol=1e-12)


@every_kernel
def test_loo_errors_by_deleting_rows(kernel):
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(40, 2))
    y = np.sin(5 * X[:, 0]) + 0.2 * rng.standard_normal(40)
    model = NadarayaWatsonRegressor("loo", kernel=kernel).fit(X, y)
    scott = NadarayaWatsonRegressor("scott", kernel=kernel).fit(X, y).bandwidth_
    factors = 2.0 ** np.arange(-4.0, 2.01, 0.25)
    best = factors[np.argmin(model.cv_results_["mean_score"])]
    np.testing.assert_allclose(model.bandwidth_, best * scott)
    for k in (0, 10, 24):
        h = scott * factors[k]
        error = 0.0
        for i in range(40):
            keep = np.arange(40) != i
            # The weights straight from the formula, so that no extrapolation plays a part.
            u = np.sqrt((((X[keep] - X[i]) / h) ** 2).sum(axis=1))
            K = FORMULAS[kernel](u)
            K = K if K.sum() > 0 else (u <= u.min() * (1 + 1e-12)) * 1.0
            error += (y[i] - K @ y[keep] / K.sum()) ** 2 / 40
        assert model.cv_results_["mean_score"][k] == pytest.approx(error, rel=1e-9)


@every_kernel
def test_rows_are_left_out_with_their_groups(kernel):
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(40, 2))
    y = np.sin(5 * X[:, 0]) + 0.2 * rng.standard_normal(40)
    w = rng.integers(1, 4, size=40) * 1.0
    w[3] = 0.0
    groups = rng.permutation(np.repeat(list("abcdefghij"), [1, 1, 1, 2, 3, 3, 5, 6, 8, 10]))
    grid = np.array([[0.1], [0.3], [1.0]])
    model = NadarayaWatsonRegressor(grid, kernel=kernel).fit(X, y, w, groups=groups)
    for h, found in zip(grid, model.cv_results_["mean_score"]):
        errors = np.zeros(40)
        for group in np.unique(groups):
            out, rest = groups == group, (groups != group) & (w > 0)
            for i in np.flatnonzero(out):
                # The weights straight from the formula, so that no extrapolation plays a part.
                u = np.sqrt((((X[rest] - X[i]) / h) ** 2).sum(axis=1))
                K = FORMULAS[kernel](u) * w[rest]
                K = K if K.sum() > 0 else (u <= u.min() * (1 + 1e-12)) * w[rest]
                errors[i] = (y[i] - K @ y[rest] / K.sum()) ** 2
        assert found == pytest.approx(np.average(errors, weights=w), rel=1e-9)
    # Whole weights are copies, which a group holds together.
    repeated = np.repeat(np.arange(40), w.astype(int))
    copies = clone(model).fit(X[repeated], y[repeated], groups=groups[repeated])
    np.testing.assert_allclose(
        copies.cv_results_["mean_score"], model.cv_results_["mean_score"], rtol=1e-9
    )
    with pytest.raises(ValueError, match="groups must contain at least 2 groups"):
        clone(model).fit(X, y, groups=np.zeros(40))


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


def test_a_grid_of_bandwidths_and_the_fitted_one():
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(60)
    loo = NadarayaWatsonRegressor("loo").fit(X, y)
    listed = NadarayaWatsonRegressor(loo.cv_results_["bandwidth"][::-1]).fit(X, y)
    np.testing.assert_allclose(
        listed.cv_results_["mean_score"][::-1], loo.cv_results_["mean_score"]
    )
    np.testing.assert_allclose(listed.bandwidth_, loo.bandwidth_)
    again = NadarayaWatsonRegressor(loo.bandwidth_).fit(X, y)
    np.testing.assert_allclose(again.predict(X), loo.predict(X), rtol=1e-12)
    column = NadarayaWatsonRegressor([[0.05], [0.2], [3.0]]).fit(X, y)
    assert column.cv_results_["bandwidth"].shape == (3, 2)
    results = column.cv_results_
    best = results["bandwidth"][np.argmin(results["mean_score"])]
    np.testing.assert_array_equal(column.bandwidth_, best)
    with pytest.raises(ValueError, match="not linear in y"):
        column.linear_smoother().check()
