"""Smoothing splines against their representation by a reproducing kernel, and against SciPy."""

import math
from collections import UserDict

import numpy as np
import pytest
from scipy.interpolate import BSpline, make_smoothing_spline
from sklearn.base import clone

from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor


def sobolev_kernel(x, z, r):
    """int_0^1 (x - u)_+^(r-1) (z - u)_+^(r-1) du / (r-1)!^2, by Gauss-Legendre between breaks."""
    nodes, weights = np.polynomial.legendre.leggauss(r)
    upper = np.minimum(x[:, None], z[None, :])[..., None]
    u = upper * (nodes + 1) / 2
    product = (x[:, None, None] - u) ** (r - 1) * (z[None, :, None] - u) ** (r - 1)
    return (product * weights).sum(axis=-1) * upper[..., 0] / 2 / math.factorial(r - 1) ** 2


def by_kernel(X, y, w, nus, r, x, interval=None):
    """The additive smoothing spline from its representer theorem: one dense linear system.

    The integral of the penalty is over the range of the data, or over an interval around it.
    """
    low, high = (X.min(axis=0), X.max(axis=0)) if interval is None else interval
    width = np.broadcast_to(high - low, X.shape[1:])
    Z, z = (X - low) / width, (x - low) / width
    p = X.shape[1]
    nus = np.asarray(nus) / width ** (2 * r - 1)
    K = sum(sobolev_kernel(Z[:, j], Z[:, j], r) / nus[j] for j in range(p))
    k = sum(sobolev_kernel(z[:, j], Z[:, j], r) / nus[j] for j in range(p))
    P = np.column_stack([np.ones(len(X)), *(Z[:, j] ** m for j in range(p) for m in range(1, r))])
    q = np.column_stack([np.ones(len(x)), *(z[:, j] ** m for j in range(p) for m in range(1, r))])
    m = P.shape[1]
    system = np.block([[K + np.diag(1 / w), P], [P.T, np.zeros((m, m))]])
    solution = np.linalg.solve(system, np.concatenate([y, np.zeros((m, *y.shape[1:]))]))
    return k @ solution[: len(X)] + q @ solution[len(X) :]


@pytest.mark.parametrize("r", [1, 2, 3])
def test_equals_the_kernel_form(r):
    rng = np.random.default_rng(r)
    X, w = rng.uniform(2, 5, size=(40, 1)), rng.uniform(0.5, 2, size=40)
    X[1] = X[0]  # a tie
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(40)
    x = rng.uniform(X.min(), X.max(), size=(60, 1))
    nu = 0.02
    model = SmoothingSplineRegressor(penalty=nu, order=r).fit(X, y, w)
    np.testing.assert_allclose(model.predict(x), by_kernel(X, y, w, [nu], r, x), atol=1e-7)
    S = model.smoother_matrix()
    np.testing.assert_allclose(S @ y, model.predict(X), atol=1e-11)
    assert model.degrees_of_freedom_ == pytest.approx(np.trace(S), rel=1e-10)
    # The r largest eigenvalues are 1, the others strictly between 0 and 1 (example 2.4).
    mu = model.eigenvalues_
    np.testing.assert_allclose(mu[:r], 1)
    assert (mu[r:] < 1).all()
    assert (mu > 0).all()
    assert len(mu) == 39


def test_equals_scipy_cubic():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, size=80))
    y = np.cos(x) + 0.2 * rng.standard_normal(80)
    new = np.linspace(0.5, 9.5, 50)
    ours = SmoothingSplineRegressor(penalty=0.7).fit(x[:, None], y).predict(new[:, None])
    np.testing.assert_allclose(ours, make_smoothing_spline(x, y, lam=0.7)(new), atol=1e-9)


def test_degree_is_2r_minus_1():
    """[Dombry and Esstafa, example 2.4] prints degree r + 1; 2r - 1 is right."""
    x = np.linspace(0, 1, 8)[:, None]
    y = np.random.default_rng(0).standard_normal(8)
    for r in (1, 2, 3):
        model = SmoothingSplineRegressor(penalty=1e-5, order=r).fit(x, y)
        inside = np.linspace(x[3, 0], x[4, 0], 12)
        values = model.predict(inside[:, None])
        fits = [
            np.abs(np.polyval(np.polyfit(inside, values, d), inside) - values).max()
            for d in (2 * r - 1, 2 * r - 2, r + 1)
        ]
        assert fits[0] < 1e-9
        assert fits[1] > 1e-5
        if r == 3:  # where the printed degree differs and is too low
            assert fits[2] > 1e-5


def test_penalty_is_the_integral():
    """At the optimum, a change along any spline g changes fit and penalty by opposite amounts."""
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-3, 3, size=(25, 1)), rng.standard_normal(25)
    nu = 0.3
    f = SmoothingSplineRegressor(penalty=nu).fit(X, y)
    g = SmoothingSplineRegressor(df=9).fit(X, rng.standard_normal(25))

    def second(model, u):
        h = 1e-3
        values = [model.predict((u + k * h)[:, None]) for k in (-1, 0, 1)]
        return (values[0] - 2 * values[1] + values[2]) / (h * h)

    u = np.linspace(X.min(), X.max(), 20_001)
    u = (u[1:] + u[:-1]) / 2
    integral = (second(f, u) * second(g, u)).mean() * np.ptp(X)
    gap = ((y - f.predict(X)) * g.predict(X)).sum()
    assert gap == pytest.approx(nu * integral, rel=1e-2)


def test_additive_equals_the_kernel_form():
    rng = np.random.default_rng(8)
    X, w = rng.uniform(0, 2, size=(60, 3)), rng.uniform(0.5, 2, size=60)
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(60)
    x = rng.uniform(0.3, 1.7, size=(30, 3))
    x = np.clip(x, X.min(axis=0), X.max(axis=0))
    by_df = SmoothingSplineRegressor(df=4).fit(X, y, w)
    np.testing.assert_allclose(
        by_df.predict(x), by_kernel(X, y, w, by_df.penalty_, 2, x), atol=1e-7
    )
    fixed = SmoothingSplineRegressor(penalty=0.4).fit(X, y, w)
    np.testing.assert_allclose(fixed.predict(x), by_kernel(X, y, w, [0.4] * 3, 2, x), atol=1e-7)
    chosen = SmoothingSplineRegressor().fit(X, y, w)
    np.testing.assert_allclose(
        chosen.predict(x), by_kernel(X, y, w, chosen.penalty_, 2, x), atol=1e-6
    )
    S = chosen.smoother_matrix()
    np.testing.assert_allclose(S @ y, chosen.predict(X), atol=1e-10)
    assert chosen.degrees_of_freedom_ == pytest.approx(np.trace(S), rel=1e-8)


@pytest.mark.parametrize("p", [1, 2])
def test_gcv_minimises_the_score(p):
    rng = np.random.default_rng(p)
    X = rng.uniform(size=(70, p))
    y = np.sin(8 * X[:, 0]) + 0.3 * rng.standard_normal(70)

    def score(penalties):
        # `penalty` is one number for all features: rescale them so that their penalties agree.
        Z = X / (penalties / penalties[0]) ** (1 / 3)
        model = SmoothingSplineRegressor(penalty=penalties[0]).fit(Z, y)
        rss = ((y - model.predict(Z)) ** 2).sum()
        return rss / (70 - model.degrees_of_freedom_) ** 2

    model = SmoothingSplineRegressor().fit(X, y)
    best = score(model.penalty_)
    for factor in (0.5, 0.9, 1.1, 2.0, 1e-3, 1e3):
        assert score(model.penalty_ * factor) > best


def test_df_from_a_line_to_an_interpolation():
    rng = np.random.default_rng(2)
    X, y = rng.uniform(size=(30, 1)), rng.standard_normal(30)
    line = SmoothingSplineRegressor(df=2).fit(X, y)
    np.testing.assert_allclose(
        line.predict(X), np.polyval(np.polyfit(X[:, 0], y, 1), X[:, 0]), atol=1e-10
    )
    for df in (2.5, 5, 12, 25):
        model = SmoothingSplineRegressor(df=df).fit(X, y)
        assert np.trace(model.smoother_matrix()) == pytest.approx(df, rel=1e-8)
    for df in (30, 1000):
        model = SmoothingSplineRegressor(df=df).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-6)


def inside_of_the_unit_interval():
    """Fifteen points in [0.2, 0.8], targets, and points of all of [0, 1]."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.2, 0.8, size=15))
    return x, np.sin(6 * x) + 0.2 * rng.standard_normal(15), np.linspace(0, 1, 101)


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_outside_equals_the_minimiser_over_the_unit_interval(r):
    """[Dombry and Esstafa, example 2.4] by the kernel of [0, 1], and by least squares."""
    x, y, new = inside_of_the_unit_interval()
    nu = {1: 1e-2, 2: 1e-4, 3: 1e-6, 4: 1e-8}[r]
    found = SmoothingSplineRegressor(penalty=nu, order=r).fit(x[:, None], y).predict(new[:, None])
    by_representer = by_kernel(x[:, None], y, np.ones(15), [nu], r, new[:, None], (0.0, 1.0))
    np.testing.assert_allclose(found, by_representer, atol=1e-7)

    # Least squares over splines of degree 2r - 1 on all of [0, 1], the penalty by quadrature.
    degree, breaks = 2 * r - 1, np.r_[0, x, 1]
    knots = np.r_[[0] * degree, breaks, [1] * degree]
    basis = BSpline(knots, np.eye(len(knots) - degree - 1), degree)
    nodes, weights = np.polynomial.legendre.leggauss(r)
    half = np.diff(breaks)[:, None] / 2
    u = breaks[:-1, None] + half * (1 + nodes)
    root = np.sqrt(nu * half * weights).reshape(-1, 1) * basis.derivative(r)(u.ravel())
    system, target = np.vstack([basis(x), root]), np.r_[y, np.zeros(len(root))]
    by_squares = basis(new) @ np.linalg.lstsq(system, target, rcond=1e-14)[0]
    np.testing.assert_allclose(found, by_squares, atol=1e-6)


@pytest.mark.parametrize("r", [3, 4, 5])
def test_natural_continuation_is_smooth_and_linear_is_not(r):
    """Beyond the data the r-th derivative is 0, and those before it are continuous there."""
    x, y, _ = inside_of_the_unit_interval()
    X, nu = x[:, None], 10.0 ** (-2 * r)
    steps = np.arange(12) * 0.02
    slopes = {}
    for name in ("natural", "linear"):
        model = SmoothingSplineRegressor(penalty=nu, order=r, extrapolation=name).fit(X, y)
        for end, side in ((x[0], -1), (x[-1], 1)):
            beyond = model.predict((end + side * steps)[:, None])
            degree = r - 1 if name == "natural" else 1
            size = np.abs(beyond).max()
            assert np.abs(np.diff(beyond, degree + 1)).max() < 1e-7 * size
            assert np.abs(np.diff(beyond, degree)).max() > 1e-5 * size
            h = 1e-3 * (x[-1] - x[-2] if side > 0 else x[1] - x[0])
            around = model.predict((end + h * np.arange(-4, 5))[:, None])
            second = np.diff(around, 2) / h**2
            slopes[name, side] = abs(second[-1] - second[0]) / np.abs(second).max()
    for side in (-1, 1):
        assert slopes["natural", side] < 0.02
        assert slopes["linear", side] > 0.9


def test_continuations_of_lines_and_constants_are_the_same():
    rng = np.random.default_rng(6)
    X, y = rng.uniform(size=(50, 2)), rng.standard_normal(50)
    x = rng.uniform(-2, 3, size=(40, 2))
    for order in (1, 2):
        natural, linear = (
            SmoothingSplineRegressor(df=6, order=order, extrapolation=name).fit(X, y)
            for name in ("natural", "linear")
        )
        np.testing.assert_array_equal(natural.predict(x), linear.predict(x))


def test_additive_and_boosted_splines_outside():
    rng = np.random.default_rng(1)
    X, w = rng.uniform(0.2, 0.8, size=(40, 2)), rng.uniform(0.5, 2, size=40)
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(40)
    x, interval = rng.uniform(size=(50, 2)), (np.zeros(2), np.ones(2))
    model = SmoothingSplineRegressor(penalty=1e-6, order=3).fit(X, y, w)
    expected = by_kernel(X, y, w, [1e-6] * 2, 3, x, interval)
    np.testing.assert_allclose(model.predict(x), expected, atol=1e-6)
    np.testing.assert_allclose(model.smoother_matrix(x) @ y, expected, atol=1e-6)

    # Boosting, by its loop over the dense weights of the kernel form.
    G = by_kernel(X, np.eye(40), w, [1e-4] * 2, 3, np.vstack([X, x]), interval)
    F = np.full(len(G), np.average(y, weights=w))
    for _ in range(20):
        F = F + 0.3 * G @ (y - F[:40])
    learner = SmoothingSplineRegressor(penalty=1e-4, order=3)
    boosted = LinearL2BoostingRegressor(learner, learning_rate=0.3, time=6.0).fit(X, y, w)
    np.testing.assert_allclose(boosted.predict(x), F[40:], atol=1e-6)


def test_linear_outside():
    rng = np.random.default_rng(6)
    X, y = rng.uniform(size=(50, 2)), rng.standard_normal(50)
    for order in (2, 3):
        model = SmoothingSplineRegressor(df=6, order=order, extrapolation="linear").fit(X, y)
        top = X.max(axis=0)
        far = model.predict(top + np.outer([0, 1e-5, 1, 2], [1.0, 1.0]))
        assert far[3] - far[2] == pytest.approx(far[2] - far[0], rel=1e-8)
        assert (far[1] - far[0]) / 1e-5 == pytest.approx(far[2] - far[0], rel=1e-3)
    model = SmoothingSplineRegressor(df=6, order=1).fit(X[:, :1], y)
    np.testing.assert_allclose(model.predict([[5.0]]), model.predict(X[:, :1].max(keepdims=True)))


@pytest.mark.parametrize("params", [{"df": 6}, {"penalty": 0.1}, {}, {"order": 1, "df": 4}])
@pytest.mark.parametrize("p", [1, 3])
def test_weights_count_rows(params, p):
    rng = np.random.default_rng(9)
    X, w = rng.uniform(size=(50, p)), rng.integers(0, 4, size=50)
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(50)
    weighted = SmoothingSplineRegressor(**params).fit(X, y, w)
    repeated = SmoothingSplineRegressor(**params).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    x = rng.uniform(-0.2, 1.2, size=(30, p))
    np.testing.assert_allclose(weighted.predict(x), repeated.predict(x), rtol=1e-7, atol=1e-9)
    assert weighted.degrees_of_freedom_ == pytest.approx(repeated.degrees_of_freedom_)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_near_ties(order):
    """Inside, and at the end, where derivatives to degree r - 1 continue the spline."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(size=60))
    y = np.sin(6 * x) + 0.2 * rng.standard_normal(60)
    new = np.linspace(-0.2, 1.2, 50)[:, None]
    model = SmoothingSplineRegressor(df=8, order=order)
    for place in (30, 59):
        target = np.r_[y, y[place] + 0.5]
        tied = clone(model).fit(np.r_[x, x[place]][:, None], target).predict(new)
        for gap in (0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-6):
            close = np.r_[x, x[place] + gap]
            near = clone(model).fit(close[:, None], target)
            np.testing.assert_allclose(near.predict(new), tied, atol=1e-5 + 300 * gap)
            assert near.degrees_of_freedom_ == pytest.approx(8)


def test_edge_cases():
    make = SmoothingSplineRegressor
    for params in ({}, {"df": 5}, {"penalty": 1.0}, {"penalty": 0.0}):
        two = make(**params).fit([[1.0], [3.0]], [0.0, 1.0])
        np.testing.assert_allclose(two.predict([[1.0], [2.0], [5.0]]), [0, 0.5, 2], atol=1e-9)
        X = np.column_stack([np.linspace(0, 1, 20), np.zeros(20)])
        flat = make(**params).fit(X, np.full(20, 7.0))
        np.testing.assert_allclose(flat.predict([[0.4, 0.0], [3.0, 5.0]]), 7.0)
        alone = make(**params).fit(X[:, :1], np.cos(X[:, 0]))
        both = make(**params).fit(X, np.cos(X[:, 0]))
        np.testing.assert_allclose(both.predict(X), alone.predict(X[:, :1]), atol=1e-5)
        same = make(**params).fit(np.ones((3, 1)), [1.0, 2.0, 3.0])
        np.testing.assert_allclose(same.predict([[1.0], [9.0]]), 2.0)
        # The same column twice: each carries half, the sum is determined.
        twice = make(**params).fit(X[:, [0, 0]], np.cos(3 * X[:, 0]))
        assert np.isfinite(twice.predict(X[:, [0, 0]])).all()
    y = np.cos(X[:, 0])
    np.testing.assert_allclose(
        make().fit(X, 1e150 * y).predict(X), 1e150 * make().fit(X, y).predict(X), rtol=1e-9
    )


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_of_x_does_not_matter(scale):
    rng = np.random.default_rng(11)
    X, y = rng.uniform(size=(30, 2)), rng.standard_normal(30)
    x = rng.uniform(-0.5, 1.5, size=(10, 2))
    for params in ({}, {"df": 4}):
        expected = SmoothingSplineRegressor(**params).fit(X, y).predict(x)
        scaled = SmoothingSplineRegressor(**params).fit(X * scale, y).predict(x * scale)
        np.testing.assert_allclose(scaled, expected, rtol=1e-6)


def test_several_outputs():
    rng = np.random.default_rng(12)
    X, Y = rng.uniform(size=(40, 2)), rng.standard_normal((40, 3))
    together = SmoothingSplineRegressor(df=4).fit(X, Y).predict(X)
    for k in range(3):
        one = SmoothingSplineRegressor(df=4).fit(X, Y[:, k]).predict(X)
        np.testing.assert_allclose(together[:, k], one, rtol=1e-10)


def test_quantile_knots_change_little():
    rng = np.random.default_rng(13)
    X = rng.exponential(size=(3000, 1))
    y = np.sin(3 * X[:, 0]) + 0.5 * rng.standard_normal(3000)
    few = SmoothingSplineRegressor(df=12).fit(X, y)
    more = SmoothingSplineRegressor(df=12, max_knots=500).fit(X, y)
    spread = np.std(more.predict(X))
    gaps = np.abs(few.predict(X) - more.predict(X)) / spread
    assert np.median(gaps) < 0.01
    assert np.sqrt(np.mean(gaps**2)) < 0.02


def test_messages():
    X, y = np.arange(6.0).reshape(-1, 1), np.arange(6.0)
    with pytest.raises(ValueError, match=r"df=1\.5 is below order=2"):
        SmoothingSplineRegressor(df=1.5).fit(X, y)
    with pytest.raises(ValueError, match="range of a feature of X overflows"):
        SmoothingSplineRegressor().fit([[-1.7e308], [1.7e308], [0]], [1, 2, 3])
    big = SmoothingSplineRegressor(df=4).fit(np.arange(6000.0)[:, None], np.arange(6000.0))
    with pytest.raises(ValueError, match="at most 5000 training rows"):
        big.smoother_matrix()


def test_df_and_penalty_are_not_both_given():
    X, y = np.linspace(0, 1, 30)[:, None], np.arange(30.0)
    with pytest.raises(ValueError, match="df and penalty must not both be given"):
        SmoothingSplineRegressor(df=4, penalty=1.0).fit(X, y)
    for penalty, message in (([1.0, -1.0], "penalty must be a list"), ([1.0, 2.0], "1 numbers")):
        with pytest.raises(ValueError, match=message):
            SmoothingSplineRegressor(penalty=penalty).fit(X, y)
    for penalty in (str, b"1", np.ndarray, range):
        with pytest.raises(ValueError, match="penalty must be array-like, not a"):
            SmoothingSplineRegressor(penalty=penalty).fit(X, y)
    with pytest.raises(ValueError, match="penalty must"):
        SmoothingSplineRegressor(penalty=UserDict()).fit(X, y)


def test_a_list_is_a_grid_and_fitted_numbers_give_the_same_model():
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(80)
    grid = SmoothingSplineRegressor(df=[2, 4, 8, 20]).fit(X, y)
    assert grid.df_ in grid.cv_results_["df"]
    scores = []
    for df in grid.cv_results_["df"]:
        one = SmoothingSplineRegressor(df).fit(X, y)
        rss = np.sum((y - one.predict(X)) ** 2)
        scores.append(rss / 80 / (1 - one.degrees_of_freedom_ / 80) ** 2)
    np.testing.assert_allclose(grid.cv_results_["mean_score"], scores, rtol=1e-8)
    assert grid.df_ == grid.cv_results_["df"][np.argmin(scores)]
    np.testing.assert_array_equal(
        SmoothingSplineRegressor(grid.df_).fit(X, y).predict(X), grid.predict(X)
    )
    for model in (grid, SmoothingSplineRegressor().fit(X, y)):
        again = SmoothingSplineRegressor(penalty=model.penalty_).fit(X, y)
        np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-8)
    columns = SmoothingSplineRegressor(penalty=[[1e-4], [1e-2], [1.0]]).fit(X, y)
    assert columns.cv_results_["penalty"].shape == (3, 2)
    assert columns.penalty_[0] == pytest.approx(columns.penalty_[1])
    with pytest.raises(ValueError, match="or a grid is not linear in y"):
        LinearL2BoostingRegressor(SmoothingSplineRegressor(df=[2, 4])).fit(X, y)
