"""Linear L2-boosting: errors, edge cases, weights, jobs and metadata."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sklearn_ensemble_theory import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.smoothing import Discrepancy, TimeCriterion

from .learners import LEARNERS, every_learner, loop, make_data

pytestmark = pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")


def test_other_refusals():
    X, y, _ = make_data()
    fit = lambda **params: LinearL2BoostingRegressor(**params).fit(X, y)  # noqa: E731
    with pytest.raises(ValueError, match="not a regressor"):
        fit(estimator=LogisticRegression())
    with pytest.raises(ValueError, match="SmoothingSplineRegressor with penalty='gcv'"):
        fit(estimator=SmoothingSplineRegressor())
    with pytest.raises(ValueError, match="NadarayaWatsonRegressor with a bandwidth"):
        fit(estimator=NadarayaWatsonRegressor("loo"))
    with pytest.raises(ValueError, match=r"df=1\.5"):
        fit(estimator=SmoothingSplineRegressor(1.5))
    with pytest.raises(ValueError, match="noise_level"):
        fit(time=Discrepancy(-1.0))
    with pytest.raises(ValueError, match="'name' parameter of TimeCriterion"):
        fit(time=TimeCriterion("aic"))
    times = {"time": [-1.0], "times": TimeCriterion("loo", times=[-1.0])}
    for name, time in {**times, "values": CVChoice([-1.0])}.items():
        with pytest.raises(ValueError, match=f"{name} must be"):
            fit(time=time)
    with pytest.raises(ValueError, match=r"subsample=0\.01"):
        fit(subsample=0.01)
    with pytest.raises(ValueError, match="6000 rows and columns"):
        LinearL2BoostingRegressor(Ridge()).fit(np.arange(6000.0)[:, None], np.arange(6000.0))
    with pytest.raises(ValueError, match="times must be"):
        fit(time=1.0).predict_path(X, [np.nan])
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        LinearL2BoostingRegressor().fit(X[:1], y[:1])


@pytest.mark.slow
@every_learner
def test_edge_cases(name):
    learner = LEARNERS[name]
    if "neighbours" in name:
        learner = clone(learner).set_params(n_neighbors=2)
    make = LinearL2BoostingRegressor
    two = make(learner).fit([[0.0], [1.0]], [0.0, 1.0])
    assert np.isfinite(two.predict([[0.5], [3.0]])).all()
    np.testing.assert_allclose(make(learner).fit([[0.0], [1.0]], [2.0, 2.0]).predict([[0.3]]), 2)
    X, y, new = make_data(n=25)
    for time in ("gcv", "loo", "aicc", "bic", "gmdl", "cv", 3.0):
        flat = make(learner, time=time).fit(X, np.full(25, 4.0))
        np.testing.assert_allclose(flat.predict(new), 4.0)
    # A column of zeros changes nothing (a distance, a kernel and a spline do not see it).
    padded = make(learner, time=2.0).fit(np.column_stack([X, np.zeros(25)]), y)
    if name not in ("gaussian process", "pipeline", "tricube"):
        alone = make(learner, time=2.0).fit(X, y).predict(new)
        np.testing.assert_allclose(
            padded.predict(np.column_stack([new, np.zeros(15)])), alone, atol=1e-7
        )
    # Numbers of 1e150, and of 1e-150.
    one = make(learner).fit(X, y)
    for scale in (1e150, 1e-150):
        model = make(learner).fit(X, scale * y)
        assert model.time_ == one.time_
        np.testing.assert_allclose(model.predict(new), scale * one.predict(new), rtol=1e-6)
        assert np.isfinite(model.training_error([0, 1.0])).all()
    # Two x that nearly coincide, with different y.
    close = np.vstack([X, X[3] + 1e-12])
    model = make(learner, time=5.0).fit(close, np.r_[y, y[3] + 1.0])
    assert np.abs(model.predict(new)).max() < 100
    # No y at all.
    np.testing.assert_array_equal(make(learner).fit(X, np.zeros(25)).predict(new), 0)


@pytest.mark.slow
def test_sums_of_components():
    X, y, new = make_data(n=40, p=3)
    for learner in (SmoothingSplineRegressor(df=4), KernelRidge(kernel="rbf", alpha=0.3)):
        for rate in (0.0, 0.2):
            model = LinearL2BoostingRegressor(
                learner, variant="random_feature", time=4.0, learning_rate=rate, random_state=0
            ).fit(X, y)
            parts = sum(model.component(j, new[:, j]) for j in range(3))
            np.testing.assert_allclose(
                model.init_.predict(new) + parts, model.predict(new), atol=1e-10
            )
    # Random rows too: every subset of rows has a part for each feature.
    model = LinearL2BoostingRegressor(
        KernelRidge(kernel="rbf", alpha=0.3),
        variant="random_feature",
        subsample=0.5,
        n_subsamples=3,
        time=4.0,
        random_state=0,
    ).fit(X, y)
    parts = sum(model.component(j, new[:, j]) for j in range(3))
    np.testing.assert_allclose(model.init_.predict(new) + parts, model.predict(new), atol=1e-10)
    joint = LinearL2BoostingRegressor(SmoothingSplineRegressor(df=4), time=4.0).fit(X, y)
    parts = sum(joint.component(j, new[:, j]) for j in range(3))
    np.testing.assert_allclose(joint.init_.predict(new) + parts, joint.predict(new), atol=1e-10)
    with pytest.raises(AttributeError, match="additive"):
        LinearL2BoostingRegressor(Ridge(), time=1.0).fit(X, y).component(0, new[:, 0])
    with pytest.raises(ValueError, match="got 3"):
        joint.component(3, new[:, 0])


@pytest.mark.slow
def test_many_rows():
    """No n x n matrix: a spline learner needs less than 20 times the bytes of x."""
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200_000, 1))
    y = np.sin(3 * X[:, 0]) + 0.5 * rng.standard_normal(200_000)
    model = LinearL2BoostingRegressor()
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes
    sine = np.sin(3 * X[::100, 0])
    assert np.mean((model.predict(X[::100]) - sine) ** 2) < 1e-3


@pytest.mark.slow
def test_n_jobs():
    X, y, new = make_data()
    model = LinearL2BoostingRegressor(KernelRidge(), time="cv", random_state=3)
    one, two = (clone(model).set_params(n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.cv_results_["mean_score"], two.cv_results_["mean_score"])
    np.testing.assert_array_equal(one.predict(new), two.predict(new))


def test_n_jobs_with_several_blas_threads():
    """joblib's workers have fewer BLAS threads than the main process: the rounding differed."""
    X, y, new = make_data(n=120)
    model = LinearL2BoostingRegressor(KernelRidge(), time="cv")
    with threadpool_limits(2, user_api="blas"):
        one, two = (clone(model).set_params(n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.cv_results_["mean_score"], two.cv_results_["mean_score"])
    np.testing.assert_array_equal(one.predict(new), two.predict(new))


@pytest.mark.parametrize("name", ["spline", "gaussian", "kernel ridge"])
def test_splits_refer_to_all_rows_also_those_of_weight_zero(name):
    X, y, new = make_data(n=30)
    w = np.ones(30)
    w[[0, 7, 11, 29]] = 0
    kept = np.flatnonzero(w)
    folds = [(np.flatnonzero(np.arange(30) % 3 != k), np.arange(k, 30, 3)) for k in range(3)]
    position = np.full(30, -1)
    position[kept] = np.arange(len(kept))
    among_kept = [tuple(position[part][position[part] >= 0] for part in fold) for fold in folds]
    times = [0.5, 2.0, 8.0]

    def model(cv):
        return LinearL2BoostingRegressor(LEARNERS[name], time=CVChoice(times, cv=cv))

    weighted, dropped = model(folds).fit(X, y, w), model(among_kept).fit(X[kept], y[kept])
    np.testing.assert_array_equal(
        weighted.cv_results_["mean_score"], dropped.cv_results_["mean_score"]
    )
    np.testing.assert_array_equal(weighted.predict(new), dropped.predict(new))
    # An integer means folds of the rows that are fitted.
    weighted, dropped = model(4).fit(X, y, w), model(4).fit(X[kept], y[kept])
    np.testing.assert_array_equal(
        weighted.cv_results_["mean_score"], dropped.cv_results_["mean_score"]
    )


@pytest.mark.slow
def test_metadata_routing():
    X, y, new = make_data(n=20)
    w = np.random.default_rng(0).uniform(0.5, 2, size=20)
    plain = LinearL2BoostingRegressor(SmoothingSplineRegressor(df=3), time=2.0).fit(X, y, w)
    ridge = make_pipeline(StandardScaler(), Ridge())
    piped = LinearL2BoostingRegressor(ridge, time=2.0).fit(X, y, w)
    default = LinearL2BoostingRegressor(time=2.0).fit(X, y, w).predict(new)
    unweighted = LinearL2BoostingRegressor(SmoothingSplineRegressor(df=3), time=2.0).fit(X, y)
    with config_context(enable_metadata_routing=True):
        learner = SmoothingSplineRegressor(df=3)
        asks = clone(learner).set_fit_request(sample_weight=True)
        routed = LinearL2BoostingRegressor(asks, time=2.0).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(routed.predict(new), plain.predict(new), atol=1e-9)
        # The learner declines: only the mean and the criteria are weighted.
        declines = clone(learner).set_fit_request(sample_weight=False)
        half = LinearL2BoostingRegressor(declines, time=2.0).fit(X, y, sample_weight=w)
        assert half.init_.predict(new)[0] == pytest.approx(np.average(y, weights=w))
        assert np.abs(half.predict(new) - plain.predict(new)).max() > 1e-4
        path = loop(learner, X, y - half.init_.predict(X), 0.02, 100, new, init="zero")
        np.testing.assert_allclose(
            half.predict(new), half.init_.predict(new) + path[:, -1], atol=5e-3
        )
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            LinearL2BoostingRegressor(clone(learner)).fit(X, y, sample_weight=w)
        same = LinearL2BoostingRegressor(clone(learner), time=2.0).fit(X, y)
        np.testing.assert_allclose(same.predict(new), unweighted.predict(new))
        np.testing.assert_allclose(
            LinearL2BoostingRegressor(time=2.0).fit(X, y, sample_weight=w).predict(new), default
        )
        steps = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            Ridge().set_fit_request(sample_weight=True),
        )
        through = LinearL2BoostingRegressor(steps, time=2.0).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(through.predict(new), piped.predict(new), atol=1e-9)


@pytest.mark.parametrize("time", ["gcv", "cv", [0.5, 2.0, 8.0], Discrepancy(0.4)], ids=str)
def test_the_fitted_time_gives_the_same_model(time):
    X, y, new = make_data()
    model = LinearL2BoostingRegressor(time=time).fit(X, y)
    assert model.time_ in model.cv_results_["time"]
    given = clone(model).set_params(time=model.time_).fit(X, y)
    np.testing.assert_array_equal(given.predict(new), model.predict(new))
    assert not hasattr(given, "cv_results_")


def test_options_of_criteria_are_parameters():
    X, y, _ = make_data()
    model = LinearL2BoostingRegressor(time=TimeCriterion("loo", times=[1.0, 4.0]))
    search = GridSearchCV(model, {"time__name": ["gcv", "bic"]}, cv=3).fit(X, y)
    assert search.best_params_["time__name"] in ("gcv", "bic")
    level = clone(LinearL2BoostingRegressor(time=Discrepancy(0.3))).get_params()
    assert level["time__noise_level"] == 0.3
    assert repr(pickle.loads(pickle.dumps(level["time"]))) == "Discrepancy(noise_level=0.3)"
