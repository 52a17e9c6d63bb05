"""Linear boosting of Dask collections: the model of the same rows in memory."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import PredefinedSplit

from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.smoothing import Discrepancy, TimeCriterion

from ..local_blocks import hashed_folds

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

CHUNKS = {"even": (300,) * 4, "uneven": (1, 0, 1000, 199)}
TIMES = np.array([0.0, 0.3, 2.0, 20.0, 500.0])
BEST = {"variant": "best_feature", "learning_rate": 0.1}
FEW = SmoothingSplineRegressor(df=5, max_knots=25)
SPECS = {
    "gcv": {},
    "rounds": {"learning_rate": 0.5, "time": "bic"},
    "zero": {"init": "zero", "time": "aicc"},
    "gmdl": {
        "time": "gmdl",
        "estimator": SmoothingSplineRegressor(penalty=0.1, order=1, max_knots=60),
    },
    "discrepancy": {"time": Discrepancy(0.35)},
    "fixed": {"time": 7.0, "estimator": SmoothingSplineRegressor(df=3, max_knots=15)},
    "average": {"variant": "random_feature"},
}


def rows(p=1, n=1200, decimals=None):
    rng = np.random.default_rng(0)
    X = rng.random((n, p)) * np.arange(1, p + 1) + 5
    if decimals is not None:
        X[:, 0] = X[:, 0].round(decimals)
    y = 10 + np.sin(6 * X[:, 0]) + X[:, -1] + 0.3 * rng.standard_normal(n)
    return X, y, rng.integers(0, 4, n).astype(float)


def lazily(chunks, *arrays):
    return [da.from_array(a, chunks=(CHUNKS[chunks], *a.shape[1:])) for a in arrays]


def assert_same_results(model, expected):
    found, wanted = (getattr(m, "cv_results_", {"mean_score": 0.0}) for m in (model, expected))
    np.testing.assert_allclose(found["mean_score"], wanted["mean_score"], rtol=1e-9)


def assert_same(model, expected, X):
    assert model.n_estimators_ == expected.n_estimators_
    assert model.is_stable_ == expected.is_stable_
    np.testing.assert_allclose(model.time_, expected.time_, rtol=1e-8)
    assert hasattr(model, "cv_results_") == hasattr(expected, "cv_results_")
    for name, values in getattr(model, "cv_results_", {}).items():
        np.testing.assert_allclose(values, expected.cv_results_[name], rtol=1e-8)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.init_.predict(X), expected.init_.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)
    terms = expected.predict_terms(X)
    np.testing.assert_allclose(model.predict_terms(X), terms, rtol=0, atol=1e-9)
    for name in ("training_error", "degrees_of_freedom"):
        found, wanted = getattr(model, name)(TIMES), getattr(expected, name)(TIMES)
        np.testing.assert_allclose(found, wanted, rtol=1e-8)
    path = expected.predict_path(X, TIMES)
    np.testing.assert_allclose(model.predict_path(X, TIMES), path, rtol=0, atol=1e-9)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("p", "decimals"), [(1, None), (1, 2), (3, None)])
def test_model_in_memory(chunks, spec, p, decimals):
    X, y, weight = rows(p, decimals=decimals)
    for arrays in ((X, y, weight), (X, y)):
        params = {"estimator": FEW, **SPECS[spec]} if p > 1 else SPECS[spec]
        model = LinearL2BoostingRegressor(**params).fit(*lazily(chunks, *arrays))
        assert_same(model, LinearL2BoostingRegressor(**params).fit(*arrays), X)
    with pytest.raises(ValueError, match="in memory"):
        model.bias_variance(np.ones(len(X)), 1.0, TIMES)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("init", ["mean", "zero"])
@pytest.mark.parametrize(("p", "decimals"), [(1, 2), (3, None)])
@pytest.mark.parametrize("time", [6.0, "gcv", "cv"])
def test_best_feature_in_memory(chunks, init, p, decimals, time):
    X, y, weight = rows(p, decimals=decimals)
    params = {**BEST, "estimator": FEW, "init": init}
    kept = weight > 0
    folds = PredefinedSplit(hashed_folds(kept.sum(), 4))
    by_name = {"gcv": TimeCriterion("gcv", times=TIMES[:-1]), "cv": CVChoice(TIMES[:-1], cv=4)}
    model = LinearL2BoostingRegressor(**params, time=by_name.get(time, time))
    expected = clone(model)
    if time == "cv":
        expected.set_params(time__cv=folds)
    model.fit(*lazily(chunks, X, y, weight))
    expected.fit(X[kept], y[kept], weight[kept])
    np.testing.assert_array_equal(model.selected_features_, expected.selected_features_)
    found, wanted = model.feature_importances_, expected.feature_importances_
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
    assert_same_results(model, expected)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)
    early = TIMES[:2]
    for name in ("training_error", "degrees_of_freedom"):
        found, wanted = getattr(model, name)(early), getattr(expected, name)(early)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_data_frames_of_unknown_lengths_and_dtypes():
    X, y, _ = rows(2)
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b"]).assign(c=np.float32(3.0))
    lazy, target = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), 3)
    keep, kept = lazy["a"] > 5.2, (frame["a"] > 5.2).to_numpy()
    for params in ({"time": 9.0}, {**BEST, "time": 3.0}):
        model = LinearL2BoostingRegressor(**params).fit(lazy[keep], target[keep])
        expected = LinearL2BoostingRegressor(**params).fit(frame[kept], y[kept])
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        np.testing.assert_allclose(model.predict(frame), expected.predict(frame), atol=1e-9)
        np.testing.assert_allclose(model.predict(lazy).compute(), model.predict(frame), atol=1e-12)


@pytest.mark.parametrize(
    "params",
    [{}, {"variant": "random_feature"}, {**BEST, "time": TimeCriterion("bic", times=TIMES[:-1])}],
)
def test_more_values_than_are_known_one_by_one(params):
    X, y, _ = rows(1, n=6000)
    params = {"time": TIMES[:-1], **params}
    lazy = da.from_array(X, chunks=(2500, 1)), da.from_array(y, chunks=2500)
    model = LinearL2BoostingRegressor(**params).fit(*lazy)
    expected = LinearL2BoostingRegressor(**params).fit(X, y)
    assert_same_results(model, expected)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)


def test_criteria_count_every_row_where_equal_rows_cannot_be_found():
    X, y, _ = rows(2, n=400)
    twice, targets = np.r_[X, X], np.r_[y, y[::-1]]
    lazy = da.from_array(twice, chunks=(200, 2)), da.from_array(targets, chunks=200)
    model = LinearL2BoostingRegressor(FEW).fit(*lazy)
    merged = LinearL2BoostingRegressor(FEW).fit(twice, targets)
    errors, df = (
        merged.training_error(model.cv_results_["time"]),
        merged.degrees_of_freedom(model.cv_results_["time"]),
    )
    np.testing.assert_allclose(
        model.cv_results_["mean_score"], errors / (1 - df / 800) ** 2, rtol=1e-9
    )
    assert np.abs(merged.cv_results_["mean_score"] - model.cv_results_["mean_score"]).max() > 0.01
    np.testing.assert_allclose(model.training_error(TIMES), merged.training_error(TIMES), rtol=1e-9)
    path = merged.predict_path(X, TIMES)
    np.testing.assert_allclose(model.predict_path(X, TIMES), path, rtol=0, atol=1e-9)


def test_saved_models_have_no_gram_matrix():
    X, y, _ = rows(2, n=400)
    for params in ({}, {**BEST, "time": 3.0}):
        model = LinearL2BoostingRegressor(FEW, **params).fit(da.from_array(X, chunks=(100, 2)), y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.training_error([2.0]), model.training_error([2.0]))
        assert len(pickle.dumps(model)) < 60_000


def test_training_errors_are_those_of_the_rows():
    X, y, weight = rows(2, decimals=1)
    for params in ({}, BEST):
        model = LinearL2BoostingRegressor(**params, time=2.0).fit(*lazily("uneven", X, y, weight))
        residuals = y[:, None] - model.predict_path(X, TIMES[:3])
        expected = np.average(residuals**2, axis=0, weights=weight)
        np.testing.assert_allclose(model.training_error(TIMES[:3]), expected, rtol=1e-9)


@pytest.mark.parametrize("params", [{}, {**BEST, "time": 3.0}])
@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_units_of_y(params, scale):
    X, y, _ = rows(n=300)
    y[:100] = 0.0
    lazy = da.from_array(X, chunks=(100, 1)), da.from_array(scale * y, chunks=100)
    model = LinearL2BoostingRegressor(**params).fit(*lazy)
    expected = LinearL2BoostingRegressor(**params).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), atol=1e-9)


@pytest.mark.parametrize("params", [{}, BEST, {"init": "zero", "time": 3.0}])
def test_constant_targets_and_a_constant_feature(params):
    X = np.ones((60, 1))
    for y in (np.zeros(60), np.full(60, 3.0), np.arange(60.0)):
        lazy = da.from_array(X, chunks=(20, 1)), da.from_array(y, chunks=20)
        model = LinearL2BoostingRegressor(**params).fit(*lazy)
        expected = LinearL2BoostingRegressor(**params).fit(X, y)
        np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-12)


REFUSED = [
    ("estimator=Ridge", {"estimator": Ridge()}),
    ("penalty='gcv'", {"estimator": SmoothingSplineRegressor()}),
    ("df=1", {"estimator": SmoothingSplineRegressor(df=1)}),
    ("init=Ridge", {"init": Ridge()}),
    ("subsample=0.5", {"subsample": 0.5}),
    ("variant='random_feature'", {"variant": "random_feature", "learning_rate": 0.1}),
    ("variant='best_feature' needs learning_rate", {"variant": "best_feature"}),
    ("time='loo'", {"time": "loo"}),
    ("time='loo'", {**BEST, "time": "loo"}),
    ("time='cv'", {"time": "cv"}),
    ("cv must be an integer", {**BEST, "time": CVChoice(cv=[([0], [1])])}),
    ("noise_level", {"time": Discrepancy(-1.0)}),
    ("time must be", {"time": [-1.0]}),
]


def counted(X, y):
    seen = []

    def read(block):
        seen.append(len(block))
        return block

    return seen, da.from_array(X, chunks=(100, 1)).map_blocks(read, meta=X[:0]), y


def test_rows_are_read_twice_and_not_at_all_where_parameters_are_refused():
    seen, *lazy = counted(*rows(n=300)[:2])
    with dask.config.set(scheduler="synchronous"):
        for match, params in REFUSED:
            with pytest.raises(ValueError, match=match):
                LinearL2BoostingRegressor(**params).fit(*lazy)
        assert sum(seen) == 0
        for params in ({}, {**BEST, "time": CVChoice([0.0, 1.0])}):
            LinearL2BoostingRegressor(**params).fit(*lazy)
            assert sum(seen) == 600
            seen.clear()


def test_weights_are_routed_to_the_learner_or_refused():
    X, y, weight = rows(n=300)
    seen, *lazy = counted(X, y)
    with config_context(enable_metadata_routing=True):
        learner = SmoothingSplineRegressor(df=5).set_fit_request(sample_weight=False)
        model = LinearL2BoostingRegressor(learner).set_fit_request(sample_weight=True)
        with pytest.raises(ValueError, match="sample_weight must be requested"):
            model.fit(*lazy, sample_weight=weight)
        assert not seen
        learner.set_fit_request(sample_weight=True)
        model.fit(*lazy, sample_weight=weight)
    expected = LinearL2BoostingRegressor().fit(X, y, weight)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-9)


def test_folds_of_no_training_rows_are_refused():
    X = np.zeros((3, 1))
    lazy = da.from_array(X, chunks=(1, 1)), da.from_array(X[:, 0], chunks=1)
    only = np.array([1.0, 0.0, 0.0])
    model = LinearL2BoostingRegressor(**BEST, time="cv")
    with pytest.raises(ValueError, match="cv=5"):
        model.fit(*lazy, da.from_array(only, chunks=1))
