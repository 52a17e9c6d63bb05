"""L2-boosting of linear learners in closed form, against the loop and the differential equation."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    LinearL2BoostingRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.datasets import make_tent
from sklearn_ensemble_theory.smoothing import Discrepancy, TimeCriterion

from .learners import LEARNERS, every_learner, hat, loop, make_data

pytestmark = pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize("p", [1, 2])
def test_closed_form_equals_the_loop(name, p):
    X, y, new = make_data(p=p)
    points = np.vstack([X, new])
    all_rounds = {1.0: 4, 0.5: 6, 0.1: 20, 0.01: 60}
    for init in ("mean", "zero"):
        for rate in all_rounds if init == "mean" else (0.5,):
            m = all_rounds[rate]
            path = loop(LEARNERS[name], X, y, rate, m, points, init)
            model = LinearL2BoostingRegressor(
                LEARNERS[name], learning_rate=rate, time=m * rate, init=init
            ).fit(X, y)
            assert model.n_estimators_ == m
            np.testing.assert_allclose(model.predict(points), path[:, -1], rtol=0, atol=1e-8)
            rounds = np.array([0, 1, m // 2, m])
            np.testing.assert_allclose(
                model.predict_path(points, rounds * rate), path[:, rounds], rtol=0, atol=1e-8
            )
            np.testing.assert_allclose(
                model.training_error(rounds * rate),
                ((y[:, None] - path[: len(y), rounds]) ** 2).mean(axis=0),
                rtol=0,
                atol=1e-8,
            )


@every_learner
def test_distance_to_the_limit_is_of_order_lambda(name):
    X, y, new = make_data()
    times = np.linspace(0, 4, 41)[1:]
    limit = LinearL2BoostingRegressor(LEARNERS[name], time=1.0).fit(X, y).predict_path(new, times)
    rates = np.array([0.1, 0.05, 0.025, 0.0125])
    gaps = []
    for rate in rates:
        model = LinearL2BoostingRegressor(LEARNERS[name], learning_rate=rate, time=1.0).fit(X, y)
        # At whole numbers of rounds: elsewhere floor(t / lambda) alone makes a jump of order one.
        gaps.append(np.abs(model.predict_path(new, times) - limit).max())
    slope = np.polyfit(np.log(rates), np.log(gaps), 1)[0]
    assert slope == pytest.approx(1, abs=0.12)


@pytest.mark.slow
@every_learner
def test_limit_solves_the_differential_equation(name):
    """[Dombry and Esstafa, eq. (13)]: dZ/dt = sum_i (Y_i - Z(x_i)) g_i, from both starts."""
    X, y, new = make_data(n=25)
    points = np.vstack([X, new])
    G = hat(LEARNERS[name], X, points)
    times = np.array([0.0, 0.3, 1.0, 5.0])
    for init in ("mean", "zero"):
        start = y.mean() if init == "mean" else 0.0
        solution = solve_ivp(
            lambda t, Z: G @ (y - Z[: len(y)]),
            (0, 5),
            np.full(len(points), start),
            t_eval=times,
            rtol=1e-10,
            atol=1e-12,
        )
        model = LinearL2BoostingRegressor(LEARNERS[name], time=1.0, init=init).fit(X, y)
        np.testing.assert_allclose(model.predict_path(points, times), solution.y, atol=1e-7)


@pytest.mark.slow
@every_learner
def test_hat_matrix_quantities(name):
    """df and leave-one-out from the operator itself, built column by column."""
    n = 13
    X, y, _ = make_data(n=n)
    times = np.array([0.0, 0.5, 3.0])
    for init, rate in (("mean", 0.0), ("mean", 0.25), ("zero", 0.0)):
        make = LinearL2BoostingRegressor(LEARNERS[name], learning_rate=rate, time=1.0, init=init)
        H = np.stack(
            [clone(make).set_params(time=1.0).fit(X, e).predict_path(X, times) for e in np.eye(n)],
            axis=1,
        )  # H[i, j, t]
        model = clone(make).fit(X, y)
        df = np.trace(H, axis1=0, axis2=1)
        np.testing.assert_allclose(model.degrees_of_freedom(times), df, atol=1e-8)
        residual = y[:, None] - np.einsum("ijt,j->it", H, y)
        leverage = np.einsum("iit->it", H)
        expected = ((residual / (1 - leverage)) ** 2).mean(axis=0)
        by_loo = clone(make).set_params(time=TimeCriterion("loo", times=times)).fit(X, y)
        np.testing.assert_allclose(by_loo.cv_results_["mean_score"], expected, rtol=1e-7)
        rss = (residual**2).sum(axis=0)
        by_gcv = clone(make).set_params(time=times).fit(X, y)
        np.testing.assert_allclose(
            by_gcv.cv_results_["mean_score"], rss / n / (1 - df / n) ** 2, rtol=1e-7
        )
        assert by_gcv.time_ == times[np.argmin(by_gcv.cv_results_["mean_score"])]


@pytest.mark.slow
def test_loo_deletes_a_row_from_the_operator():
    """r_i / (1 - h_i) is y_i minus the prediction when y_i is replaced by its own prediction."""
    X, y, _ = make_data(n=15, p=1)
    model = LinearL2BoostingRegressor(time=TimeCriterion("loo", times=[2.0])).fit(X, y)
    error = 0.0
    for i in range(15):
        target = y.copy()
        for _ in range(2000):
            step = LinearL2BoostingRegressor(time=2.0).fit(X, target).predict(X[i : i + 1])[0]
            if abs(step - target[i]) < 1e-12:
                break
            target[i] = step
        error += (y[i] - target[i]) ** 2 / 15
    assert model.cv_results_["mean_score"][0] == pytest.approx(error, rel=1e-8)


def test_criteria_by_hand():
    X, y = make_tent(60, random_state=0)
    times = np.geomspace(0.1, 1000, 30)
    model = LinearL2BoostingRegressor(time=1.0).fit(X, y)
    rss, df = 60 * model.training_error(times), model.degrees_of_freedom(times)
    n, total = 60, ((y - y.mean()) ** 2).sum()
    S = rss / (n - df)
    F = (total - rss) / df / S
    expected = {
        "aicc": np.log(rss / n) + 1 + 2 * (df + 1) / (n - df - 2),
        "bic": np.log(rss / n) + np.log(n) * df / n,
        "gmdl": np.log(S) + df / n * np.log(F) + 2 * np.log(n) / n,
    }
    explains = 1 - rss / total >= df / n
    expected["gmdl"][~explains] = np.log(total / n) + np.log(n) / n
    for name, path in expected.items():
        fit = LinearL2BoostingRegressor(time=TimeCriterion(name, times=times)).fit(X, y)
        # The path is in units of the largest |y|, so logarithms differ by a constant.
        gap = fit.cv_results_["mean_score"] - path
        np.testing.assert_allclose(gap, gap[0], atol=1e-9)
        assert fit.time_ == times[np.argmin(path)]
    noise = LinearL2BoostingRegressor(time=Discrepancy(0.5, times=times)).fit(X, y)
    assert noise.time_ == times[np.flatnonzero(model.training_error(times) <= 0.25)[0]]
    never = LinearL2BoostingRegressor(time=Discrepancy(0.0, times=times)).fit(X, y)
    assert never.time_ == times[-1]


@pytest.mark.parametrize("name", ["spline", "kernel ridge", "neighbours"])
def test_cross_validation_by_refitting(name):
    X, y, _ = make_data(n=24)
    times = [0.5, 2.0, 8.0]
    folds = [(np.arange(24)[np.arange(24) % 3 != k], np.arange(k, 24, 3)) for k in range(3)]
    model = LinearL2BoostingRegressor(LEARNERS[name], time=CVChoice(times, cv=folds)).fit(X, y)
    errors = np.zeros(3)
    for train, test in folds:
        fit = LinearL2BoostingRegressor(LEARNERS[name], time=1.0).fit(X[train], y[train])
        errors += ((y[test, None] - fit.predict_path(X[test], times)) ** 2).sum(axis=0) / 24
    np.testing.assert_allclose(model.cv_results_["mean_score"], errors, rtol=1e-10)
    assert model.time_ == times[np.argmin(errors)]


def test_criteria_of_a_spline_equal_those_of_its_matrix():
    X, y, _ = make_data(p=1)
    y, times = y + 3.0, np.geomspace(0.1, 100, 20)
    pipeline = make_pipeline(SmoothingSplineRegressor(df=4))  # only its matrix is known
    for init in ("mean", "zero"):
        for name in ("gcv", "loo", "aicc", "bic", "gmdl"):
            spline, matrix = (
                LinearL2BoostingRegressor(
                    learner, time=TimeCriterion(name, times=times), init=init
                ).fit(X, y)
                for learner in (SmoothingSplineRegressor(df=4), pipeline)
            )
            np.testing.assert_allclose(
                spline.cv_results_["mean_score"], matrix.cv_results_["mean_score"], rtol=1e-7
            )


def test_time_zero_is_the_constant_and_time_infinity_interpolates():
    X, y = make_tent(40, random_state=1)
    model = LinearL2BoostingRegressor(time=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())
    zero = LinearL2BoostingRegressor(time=0, init="zero").fit(X, y)
    np.testing.assert_array_equal(zero.predict(X), 0)
    far = 1e13
    np.testing.assert_allclose(model.predict_path(X, [far])[:, 0], y, atol=1e-3)


def test_degrees_of_freedom_grow_from_1_to_n():
    X, y = make_tent(40, random_state=1)
    times = np.r_[0, np.geomspace(1e-3, 1e13, 60)]
    df = LinearL2BoostingRegressor(time=1.0).fit(X, y).degrees_of_freedom(times)
    assert df[0] == pytest.approx(1)
    assert (np.diff(df) >= -1e-9).all()
    assert (np.diff(df[df < 39.9]) > 0).all()
    assert df[-1] == pytest.approx(40, abs=0.01)
    # [Dombry and Esstafa, eq. (27)]: with S symmetric and the constant an eigenvector.
    model = LinearL2BoostingRegressor(time=1.0).fit(X, y)
    mu = model.eigenvalues_
    by_27 = 1 + (1 - np.exp(-np.outer(times[:40], mu[1:]))).sum(axis=1)
    np.testing.assert_allclose(df[:40], by_27, rtol=1e-10)


def test_eigenvalues_of_a_cubic_smoothing_spline():
    """mu_60 is about 6e-7 in [Dombry and Esstafa, §4] (5 degrees of freedom, n = 100).

    Over designs drawn from (26) it is around 6e-6 with a knot at every point, around 2e-6 with 63.
    """
    exact, fewer = [], []
    for seed in range(20):
        X, y = make_tent(100, random_state=seed)
        for values, learner in (
            (exact, SmoothingSplineRegressor(df=5)),
            (fewer, SmoothingSplineRegressor(df=5, max_knots=63)),
        ):
            mu = LinearL2BoostingRegressor(learner, time=1.0).fit(X, y).eigenvalues_
            np.testing.assert_allclose(mu[:2], 1)
            assert (mu[2:] < 1).all()
            values.append(mu[59])
    assert min(exact) > 4 * 6e-7
    assert 5e-6 < np.median(exact) < 8e-6
    assert 1e-6 < np.median(fewer) < 3e-6


@pytest.mark.slow
def test_tent_experiment():
    """[Dombry and Esstafa, §4]: the test error is least near t = 6."""
    times = np.geomspace(0.5, 50, 60)
    curves, gap = [], []
    for seed in range(30):
        X, y = make_tent(100, random_state=seed)
        new, y_new = make_tent(2000, random_state=1000 + seed)
        limit = LinearL2BoostingRegressor(time=1.0).fit(X, y).predict_path(new, times)
        tenth = LinearL2BoostingRegressor(time=1.0, learning_rate=0.1).fit(X, y)
        curves.append(((y_new[:, None] - limit) ** 2).mean(axis=0))
        rounds = ((y_new[:, None] - tenth.predict_path(new, times)) ** 2).mean(axis=0)
        gap.append(np.abs(rounds - curves[-1]).max() / curves[-1].min())
    best = times[np.argmin(np.mean(curves, axis=0))]
    assert 3 < best < 12
    assert np.median(gap) < 0.05


def test_fits_at_five_times():
    """[Dombry and Esstafa, figure 1]: t = 10 fits well, earlier is too smooth, later too rough."""
    times, x = [0, 1, 10, 100, 1000], np.linspace(-1, 1, 200)
    f = 1 - np.abs(2 * np.abs(x) - 1)
    errors, sizes, rough = [], [], []
    for seed in range(5):
        model = LinearL2BoostingRegressor(time=1.0).fit(*make_tent(100, random_state=seed))
        paths = model.predict_path(x[:, None], times)
        errors.append(((paths - f[:, None]) ** 2).mean(axis=0))
        sizes.append(model.training_error(times))
        rough.append((np.diff(paths, 2, axis=0) ** 2).sum(axis=0))
    assert (np.argmin(errors, axis=1) == 2).all()
    assert (np.diff(sizes, axis=1) < 0).all()
    assert (np.diff(rough, axis=1) > 0).all()


@every_learner
def test_weights_are_copies_of_rows(name):
    learner = LEARNERS[name]
    if name in ("neighbours", "weighted neighbours", "gaussian process"):
        X, y, _ = make_data(n=10)
        with pytest.raises(ValueError, match="does not support sample_weight"):
            LinearL2BoostingRegressor(learner, time=1.0).fit(X, y, np.arange(10.0))
        LinearL2BoostingRegressor(learner, time=1.0).fit(X, y, np.ones(10))
        return
    X, y, new = make_data(n=20, p=1)
    w = np.random.default_rng(5).integers(0, 4, size=20)
    XX, yy = np.repeat(X, w, axis=0), np.repeat(y, w)
    for time in (2.0, "gcv", "loo", "aicc", "bic", "gmdl"):
        if name == "pipeline" and time != 2.0:
            continue  # its copies are collapsed by nobody: the scaler sees them
        weighted = LinearL2BoostingRegressor(learner, time=time)
        if name == "pipeline":
            learner = make_pipeline(Ridge(alpha=5.0))
            weighted = LinearL2BoostingRegressor(learner, time=time)
        weighted = weighted.fit(X, y, w)
        repeated = LinearL2BoostingRegressor(learner, time=time).fit(XX, yy)
        assert weighted.time_ == pytest.approx(repeated.time_)
        np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-7)
        times = [0, 1.0, 3.0]
        np.testing.assert_allclose(
            weighted.degrees_of_freedom(times), repeated.degrees_of_freedom(times), rtol=1e-8
        )
        np.testing.assert_allclose(weighted.training_error(times), repeated.training_error(times))


@every_learner
def test_ties_equal_the_loop(name):
    X, y, new = make_data(n=20, p=1)
    X, y = np.vstack([X, X[:7]]), np.r_[y, y[:7] + 1.0]
    path = loop(LEARNERS[name], X, y, 0.2, 10, np.vstack([X, new]))
    model = LinearL2BoostingRegressor(LEARNERS[name], learning_rate=0.2, time=2.0).fit(X, y)
    np.testing.assert_allclose(model.predict(np.vstack([X, new])), path[:, -1], atol=1e-8)
    assert model.training_error([2.0])[0] == pytest.approx(np.mean((y - path[:27, -1]) ** 2))


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeRegressor(random_state=0),
        RandomForestRegressor(3, random_state=0),
        Lasso(0.01),
        make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=1)),
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_learner_that_is_not_linear_is_refused_by_name(learner):
    X, y, _ = make_data()
    model = LinearL2BoostingRegressor(learner)
    with pytest.raises(ValueError, match=f"{type(learner).__name__} is not linear in y"):
        model.fit(X, y)
    assert not hasattr(model, "time_")
