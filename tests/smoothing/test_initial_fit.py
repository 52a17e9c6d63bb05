"""Boosting from the fit of an estimator, against loops, matrix exponentials and unit vectors."""

import pickle

import numpy as np
import pytest
from scipy.linalg import expm
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.inspection import SmootherSpectrumDisplay
from sklearn_ensemble_theory.smoothing import Discrepancy, TimeCriterion

from .learners import LEARNERS, hat, loop, make_data

TREE = DecisionTreeRegressor(max_depth=2, random_state=0)
LINEAR = {
    "ridge": Ridge(2.0),
    "spline": SmoothingSplineRegressor(df=3),
    "neighbours": KNeighborsRegressor(6),
    "pipeline": make_pipeline(StandardScaler(), Ridge(1.0)),
}
some_learners = pytest.mark.parametrize("name", ["spline", "gaussian", "weighted neighbours"])
every_init = pytest.mark.parametrize("init", list(LINEAR))


def from_residuals(learner, init, X, y, points, rate, n_rounds, w=None):
    """The loop from the initial fit: shape (len(points), n_rounds + 1)."""
    params = {} if w is None else {"sample_weight": w}
    start = clone(init).fit(X, y, **params)
    path = loop(learner, X, y - start.predict(X), rate, n_rounds, points, init="zero", w=w)
    return start.predict(points)[:, None] + path


@some_learners
@pytest.mark.parametrize("init", [*LINEAR.values(), TREE], ids=str)
def test_closed_form_equals_the_loop(name, init):
    X, y, new = make_data()
    model = LinearL2BoostingRegressor(LEARNERS[name], learning_rate=0.3, time=3.0, init=init).fit(
        X, y
    )
    path = from_residuals(LEARNERS[name], init, X, y, new, 0.3, 10)
    np.testing.assert_allclose(model.predict(new), path[:, -1], atol=1e-8)
    times = [0.0, 0.3, 1.5]
    np.testing.assert_allclose(model.predict_path(new, times), path[:, [0, 1, 5]], atol=1e-8)
    rows = from_residuals(LEARNERS[name], init, X, y, X, 0.3, 10)
    errors = np.mean((y[:, None] - rows[:, [0, 1, 5]]) ** 2, axis=0)
    np.testing.assert_allclose(model.training_error(times), errors, atol=1e-10)


@some_learners
def test_theorem_2_7(name):
    """Z(t) = exp(-t L) Z_0 + (I - exp(-t L)) y on the training rows; solves Z' = -L Z + L y."""
    X, y, _ = make_data()
    S = hat(LEARNERS[name], X, X)
    start = clone(TREE).fit(X, y).predict(X)
    model = LinearL2BoostingRegressor(LEARNERS[name], time=1.0, init=TREE).fit(X, y)
    for t, found in zip([0.0, 0.5, 4.0], model.predict_path(X, [0.0, 0.5, 4.0]).T):
        E = expm(-t * S)
        np.testing.assert_allclose(found, E @ start + y - E @ y, atol=1e-8)
    h = 1e-4
    before, at, after = model.predict_path(X, [1 - h, 1.0, 1 + h]).T
    np.testing.assert_allclose((after - before) / (2 * h), S @ (y - at), atol=1e-6)


@pytest.mark.slow
@every_init
@some_learners
def test_hat_matrix_quantities(name, init):
    """Degrees of freedom, deleted residuals and expected errors from fits to unit vectors."""
    X, y, new = make_data(n=20)
    n, f = len(X), lambda x: np.sin(3 * x[:, 0]) + 1.0
    make = LinearL2BoostingRegressor(LEARNERS[name], init=LINEAR[init], time=2.0)
    for rate in (0.0, 0.25):
        make.set_params(learning_rate=rate)
        model = clone(make).fit(X, y)
        fits = [clone(make).fit(X, e) for e in np.eye(n)]
        H = np.column_stack([fit.predict(X) for fit in fits])
        G = np.column_stack([fit.predict(new) for fit in fits])
        np.testing.assert_allclose(H @ y, model.predict(X), atol=1e-7)
        df = np.trace(H)
        assert model.degrees_of_freedom(2.0)[0] == pytest.approx(df, abs=1e-7)
        rss = np.sum((y - H @ y) ** 2)
        for criterion, by_hand in {
            "gcv": rss / n / (1 - df / n) ** 2,
            "loo": np.mean(((y - H @ y) / (1 - np.diag(H))) ** 2),
        }.items():
            path = (
                clone(make)
                .set_params(time=TimeCriterion(criterion, times=[2.0]))
                .fit(X, y)
                .cv_results_["mean_score"]
            )
            assert path[0] == pytest.approx(by_hand, rel=1e-6)
        out = model.bias_variance(f, 0.5, [2.0], new)
        assert out.bias2[0] == pytest.approx(np.mean((f(X) - H @ f(X)) ** 2), abs=1e-9)
        residual = np.eye(n) - H
        assert out.variance_train[0] == pytest.approx(0.25 * np.sum(residual**2) / n, abs=1e-8)
        assert out.variance_test[0] == pytest.approx(0.25 * (1 + np.sum(H**2) / n), abs=1e-8)
        assert out.bias2_new[0] == pytest.approx(np.mean((f(new) - G @ f(X)) ** 2), abs=1e-8)
        variance = 0.25 * (1 + np.mean(np.sum(G**2, axis=1)))
        assert out.variance_new[0] == pytest.approx(variance, abs=1e-8)


@pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")
def test_a_defective_learner():
    """Repeated squaring has the same quantities."""
    X, y, _ = make_data(n=12)
    learner = NadarayaWatsonRegressor(0.02, kernel="uniform")
    neighbours = KNeighborsRegressor(1)
    for one in (learner, neighbours, KNeighborsRegressor(3)):
        make = LinearL2BoostingRegressor(one, init=Ridge(), time=1.5)
        model = clone(make).fit(X, y)
        H = np.column_stack([clone(make).fit(X, e).predict(X) for e in np.eye(12)])
        assert model.degrees_of_freedom(1.5)[0] == pytest.approx(np.trace(H), abs=1e-7)


@pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")
def test_the_mean_as_an_estimator_is_init_mean():
    """A ridge penalty so large that only the intercept is left: all that depends on y agrees."""
    X, y, new = make_data()
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    mean = Ridge(1e14)
    for learner in (SmoothingSplineRegressor(df=4), KNeighborsRegressor(4)):
        weight = None if "neighbors" in repr(type(learner)) else w
        for time in ("gcv", "loo", "aicc", 3.0):
            one = LinearL2BoostingRegressor(learner, time=time).fit(X, y, weight)
            two = LinearL2BoostingRegressor(learner, time=time, init=mean)
            if weight is None:
                two.set_params(init=make_pipeline(StandardScaler(), mean))
            two.fit(X, y, weight)
            both = one, two
            assert two.time_ == one.time_
            # Logarithms are of errors in units of the largest target: up to a constant.
            if isinstance(time, str):
                paths = [m.cv_results_["mean_score"] for m in both]
                paths = [path - path[0] * (time == "aicc") for path in paths]
                # Late deleted residuals are rounding errors times the time, divided by 1 - h_i.
                np.testing.assert_allclose(*paths, rtol=1e-5)
            np.testing.assert_allclose(two.predict(new), one.predict(new), atol=1e-8)
        times = [0.0, 1.0, 5.0]
        np.testing.assert_allclose(
            two.degrees_of_freedom(times), one.degrees_of_freedom(times), atol=1e-7
        )
        first, second = (m.bias_variance(lambda x: x[:, 0], 1.0, times, new) for m in (one, two))
        for key in first:
            np.testing.assert_allclose(first[key], second[key], atol=1e-6)
    none = LinearL2BoostingRegressor(init=None).fit(X, y)
    assert none.init_.predict(X)[0] == pytest.approx(y.mean())


def test_weights_are_copies_of_rows():
    X, y, new = make_data()
    w = np.random.default_rng(1).integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), w)
    for init in (Ridge(2.0), SmoothingSplineRegressor(df=3)):
        model = LinearL2BoostingRegressor(init=init, time="gcv")
        weighted = clone(model).fit(X, y, w)
        copied = clone(model).fit(X[copies], y[copies])
        assert weighted.time_ == copied.time_
        np.testing.assert_allclose(
            weighted.cv_results_["mean_score"], copied.cv_results_["mean_score"], rtol=1e-6
        )
        np.testing.assert_allclose(weighted.predict(new), copied.predict(new), atol=1e-8)
        np.testing.assert_allclose(
            weighted.init_.predict(new), clone(init).fit(X, y, w).predict(new), atol=1e-12
        )


def test_rows_stay_apart_where_the_init_cannot_merge_them():
    """Two equal rows, and an init that reads them one by one: the operator has both."""
    X, y, _ = make_data(n=15)
    X, y = np.vstack([X, X[:5]]), np.r_[y, y[:5] + 1.0]
    make = LinearL2BoostingRegressor(
        SmoothingSplineRegressor(df=3), init=KNeighborsRegressor(2), time=1.0
    )
    model = clone(make).fit(X, y)
    H = np.column_stack([clone(make).fit(X, e).predict(X) for e in np.eye(20)])
    assert model.degrees_of_freedom(1.0)[0] == pytest.approx(np.trace(H), abs=1e-7)


@pytest.mark.slow
def test_cross_validation_fits_the_init_in_every_fold():
    X, y, _ = make_data(n=40)
    times, cv = [0.0, 1.0, 10.0], KFold(4)
    for init in (TREE, Ridge()):
        model = LinearL2BoostingRegressor(init=init, time=CVChoice(times, cv=cv)).fit(X, y)
        for t, error in zip(times, model.cv_results_["mean_score"]):
            fixed = LinearL2BoostingRegressor(init=init, time=t)
            scores = cross_val_score(fixed, X, y, cv=cv, scoring="neg_mean_squared_error")
            assert error == pytest.approx(-scores.mean(), rel=1e-8)
        assert model.time_ == times[int(np.argmin(model.cv_results_["mean_score"]))]


def test_an_init_that_is_not_linear():
    X, y, _ = make_data()
    forest = RandomForestRegressor(5, random_state=0)
    for time in ("gcv", "loo", "aicc", "bic"):
        with pytest.raises(ValueError, match="init=RandomForestRegressor is not linear in y"):
            LinearL2BoostingRegressor(init=forest, time=time).fit(X, y)
    with pytest.raises(ValueError, match=r"'gmdl' .* not defined with an estimator as init"):
        LinearL2BoostingRegressor(init=Ridge(), time="gmdl").fit(X, y)
    model = LinearL2BoostingRegressor(init=forest, time=Discrepancy(0.05)).fit(X, y)
    assert model.training_error(model.time_)[0] <= 0.05**2
    for call in (
        lambda: model.degrees_of_freedom([1.0]),
        lambda: model.bias_variance(lambda x: x[:, 0], 1.0, [1.0]),
    ):
        with pytest.raises(ValueError, match="init=RandomForestRegressor is not linear in y"):
            call()
    with pytest.raises(ValueError, match="not diagonal in the eigenvectors"):
        SmootherSpectrumDisplay.from_estimator(model)


def test_terms():
    X, y, new = make_data()
    model = LinearL2BoostingRegressor(init=Ridge(), time=2.0).fit(X, y)
    residuals = y - model.init_.predict(X)
    boosted = LinearL2BoostingRegressor(init="zero", time=2.0).fit(X, residuals)
    np.testing.assert_allclose(
        model.predict(new), model.init_.predict(new) + boosted.predict(new), atol=1e-10
    )
    for j in range(2):
        np.testing.assert_allclose(
            model.component(j, new[:, j]), boosted.component(j, new[:, j]), atol=1e-10
        )
    assert not hasattr(model, "intercept_")
    with pytest.raises(AttributeError, match="not a constant plus the terms"):
        model.predict_terms(new)


def test_rounds_of_the_best_feature():
    X, y, new = make_data(p=3)
    params = {"variant": "best_feature", "learning_rate": 0.2}
    for init in (Ridge(), TREE):
        model = LinearL2BoostingRegressor(init=init, time=3.0, **params).fit(X, y)
        start = clone(init).fit(X, y)
        boosted = LinearL2BoostingRegressor(init="zero", time=3.0, **params)
        boosted.fit(X, y - start.predict(X))
        np.testing.assert_array_equal(model.selected_features_, boosted.selected_features_)
        np.testing.assert_allclose(
            model.predict(new), start.predict(new) + boosted.predict(new), atol=1e-10
        )
        with pytest.raises(ValueError, match="no degrees of freedom"):
            model.degrees_of_freedom([1.0])
        with pytest.raises(ValueError, match="time='gcv' needs degrees of freedom"):
            LinearL2BoostingRegressor(init=init, **params).fit(X, y)
        cv = LinearL2BoostingRegressor(init=init, time=CVChoice([0.0, 1.0], cv=3), **params)
        for t, error in zip([0.0, 1.0], cv.fit(X, y).cv_results_["mean_score"]):
            fixed = LinearL2BoostingRegressor(init=init, time=t, **params)
            scores = cross_val_score(fixed, X, y, cv=3, scoring="neg_mean_squared_error")
            assert error == pytest.approx(-scores.mean(), rel=1e-8)


@pytest.mark.slow
def test_random_rounds():
    X, y, new = make_data()
    params = {"subsample": 0.5, "learning_rate": 0.2, "time": 2.0, "random_state": 0}
    model = LinearL2BoostingRegressor(Ridge(), init=TREE, **params).fit(X, y)
    start = clone(TREE).fit(X, y)
    boosted = LinearL2BoostingRegressor(Ridge(), init="zero", **params)
    boosted.fit(X, y - start.predict(X))
    np.testing.assert_allclose(
        model.predict(new), start.predict(new) + boosted.predict(new), atol=1e-10
    )
    np.testing.assert_allclose(
        model.predict_path(new, [0.4]),
        start.predict(new)[:, None] + boosted.predict_path(new, [0.4]),
        atol=1e-10,
    )


def test_parameters_of_the_init():
    X, y, new = make_data()
    model = LinearL2BoostingRegressor(init=Ridge(), time="gcv")
    search = GridSearchCV(model, {"init__alpha": [0.1, 100.0], "init": [Ridge()]}, cv=3).fit(X, y)
    assert search.best_params_["init__alpha"] in (0.1, 100.0)
    assert len(set(search.cv_results_["mean_test_score"])) == 2
    assert search.best_estimator_.init_.alpha == search.best_params_["init__alpha"]
    with pytest.raises(NotFittedError):
        model.init.predict(X)  # the parameter is cloned
    copy = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(copy.predict(new), model.predict(new))
    np.testing.assert_array_equal(copy.degrees_of_freedom(1.0), model.degrees_of_freedom(1.0))
    with pytest.raises(ValueError, match="'init' parameter"):
        LinearL2BoostingRegressor(init="median").fit(X, y)


def test_an_init_that_interpolates():
    X, y, new = make_data()
    model = LinearL2BoostingRegressor(init=KNeighborsRegressor(1), time=5.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    np.testing.assert_allclose(model.predict(new), model.init_.predict(new))
    assert model.training_error([0.0, 5.0]) == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_units_of_y(scale):
    X, y, new = make_data()
    one = LinearL2BoostingRegressor(init=KNeighborsRegressor(3), time=3.0).fit(X, y)
    two = LinearL2BoostingRegressor(init=KNeighborsRegressor(3), time=3.0).fit(X, y * scale)
    np.testing.assert_allclose(two.predict(new) / scale, one.predict(new), rtol=1e-8)
    np.testing.assert_allclose(two.degrees_of_freedom(3.0), one.degrees_of_freedom(3.0))


def test_an_init_without_weights():
    X, y, _ = make_data()
    model = LinearL2BoostingRegressor(init=KNeighborsRegressor(3), time=1.0)
    with pytest.raises(ValueError, match="init=KNeighborsRegressor does not support sample_weight"):
        model.fit(X, y, sample_weight=np.arange(1.0, len(y) + 1))
    model.fit(X, y, sample_weight=np.full(len(y), 2.0))

    class TwoOutputs(Ridge):
        def predict(self, X):
            return np.column_stack([super().predict(X)] * 2)

    with pytest.raises(ValueError, match="init=TwoOutputs must predict one finite number"):
        model.set_params(init=TwoOutputs()).fit(X, y)


def test_metadata_routing():
    X, y, new = make_data()
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    plain = LinearL2BoostingRegressor(init=Ridge(), time=2.0).fit(X, y, w)
    without = Ridge().fit(X, y)
    with config_context(enable_metadata_routing=True):
        model = LinearL2BoostingRegressor(init=Ridge(), time=2.0)
        with pytest.raises(UnsetMetadataPassedError):
            model.fit(X, y, sample_weight=w)
        asked = model.set_params(init=Ridge().set_fit_request(sample_weight=True))
        np.testing.assert_allclose(
            asked.fit(X, y, sample_weight=w).predict(new), plain.predict(new)
        )
        refused = model.set_params(init=Ridge().set_fit_request(sample_weight=False))
        refused.fit(X, y, sample_weight=w)
        np.testing.assert_allclose(refused.init_.coef_, without.coef_)
