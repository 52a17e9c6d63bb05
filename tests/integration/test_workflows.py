"""Tools that take any scikit-learn estimator, with estimators of this package as they are."""

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_classification, make_friedman1
from sklearn.model_selection import cross_val_score

from sklearn_ensemble_theory import (
    BaggingRegressor,
    DecisionStumpRegressor,
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    export,
)
from sklearn_ensemble_theory.averaging import SeriesIntervals

from .test_other_tools import tool


def rows():
    return load_diabetes(return_X_y=True)


@pytest.mark.filterwarnings("ignore")
def test_mapie():
    """Its split conformal intervals have the half-width of the formula for the held-out rows."""
    tool("mapie")
    from mapie.regression import SplitConformalRegressor

    X, y = rows()
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X[:200], y[:200])
    conformal = SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    conformal.conformalize(X[200:300], y[200:300])
    mean, intervals = conformal.predict_interval(X[300:])
    errors = np.sort(np.abs(y[200:300] - model.predict(X[200:300])))
    half = errors[int(np.ceil(0.9 * 101)) - 1]
    np.testing.assert_allclose(mean, model.predict(X[300:]))
    np.testing.assert_allclose(intervals[:, 0, 0], mean - half)
    np.testing.assert_allclose(intervals[:, 1, 0], mean + half)


@pytest.mark.filterwarnings("ignore")
def test_sets_of_mapie():
    """The same sets by the same scores; of adaptive ones MAPIE adds the last class to each."""
    tool("mapie")
    from mapie.classification import SplitConformalClassifier

    X, y = make_classification(900, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=0)
    model = RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(X[:300], y[:300])
    ours = VotingClassifier([("forest", model)], voting="soft", held_out="prefit")
    ours.fit(X[300:500], y[300:500])
    found = {}
    for score in ("lac", "aps"):
        peer = SplitConformalClassifier(model, confidence_level=0.8, conformity_score=score)
        peer.conformalize(X[300:500], y[300:500])
        found[score] = (
            ours.predict_set(X[500:], 0.8, method=score),
            peer.predict_set(X[500:])[1][:, :, 0],
        )
    np.testing.assert_array_equal(*found["lac"])
    ours, peers = (sets.sum(axis=1).mean() for sets in found["aps"])
    assert 0.9 < ours / peers < 1.05


@pytest.mark.filterwarnings("ignore")
def test_enbpi_of_mapie():
    """The same residuals before and after an update, and the same quantiles of them."""
    tool("mapie")
    from mapie.regression import TimeSeriesRegressor

    X, y = make_friedman1(400, noise=1.0, random_state=0)
    model = RandomForestRegressor(
        30, bootstrap="moving_block", oob_score=True, min_samples_leaf=3, random_state=0
    ).fit(X[:150], y[:150])
    intervals = SeriesIntervals(model).update(X[150:250], y[150:250], window=100)
    peer = TimeSeriesRegressor(model, method="enbpi", cv="prefit").fit(X[150:250], y[150:250])
    for stop in (250, 280, 300):
        if stop > 250:
            intervals = intervals.update(X[stop - 20 : stop], y[stop - 20 : stop])
            peer.update(X[stop - 20 : stop], y[stop - 20 : stop])
        np.testing.assert_allclose(intervals.residuals_, np.ravel(peer.conformity_scores_))
        new = X[300:]
        tails = peer.predict(new, confidence_level=0.8)[1][:, :, 0]
        for end, side in enumerate(("lower", "upper")):
            ours = intervals.predict_interval(new, 0.9, side=side)
            np.testing.assert_allclose(ours[:, end], tails[:, end])
        # The best of all beta is not wider than the best of a grid.
        best = peer.predict(new, confidence_level=0.8, optimize_beta=True)[1][:, :, 0]
        width = np.diff(intervals.predict_interval(new, 0.8))[0, 0]
        assert width <= np.diff(best)[0, 0] + 1e-9


@pytest.mark.filterwarnings("ignore")
def test_optuna():
    """The best value is the score of the best parameters."""
    optuna = tool("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = rows()

    def score(learning_rate, max_depth):
        model = GradientBoostingRegressor(
            n_estimators=10, learning_rate=learning_rate, max_depth=max_depth, random_state=0
        )
        return cross_val_score(model, X, y, cv=3).mean()

    def objective(trial):
        return score(
            trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
            trial.suggest_int("max_depth", 1, 4),
        )

    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=5)
    assert study.best_value == score(**study.best_params)
    assert study.best_value == max(trial.value for trial in study.trials)


@pytest.mark.filterwarnings("ignore")
def test_dask_as_backend_of_joblib():
    """The models are the same, bit for bit, as those fitted without it."""
    distributed = tool("distributed")
    X, y = rows()
    options = {"n_estimators": 6, "random_state": 0}
    models = [
        RandomForestRegressor(**options),
        BaggingRegressor(DecisionStumpRegressor(), **options),
    ]
    expected = [model.fit(X, y).predict(X) for model in models]
    cluster = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
    with (
        distributed.Client(**cluster, dashboard_address=None),
        joblib.parallel_config(backend="dask"),
    ):
        for model, predictions in zip(models, expected):
            model.set_params(n_jobs=2).fit(X, y)
            np.testing.assert_array_equal(model.predict(X), predictions)


@pytest.mark.filterwarnings("ignore")
def test_skops_file_of_a_converted_model():
    """It has no type of this package: what skops asks to be trusted is scikit-learn's."""
    tool("skops")
    from skops import io

    X, y = rows()
    for model in (
        RandomForestRegressor(4, max_bins=32, random_state=0),
        ExtraTreesClassifier(4, random_state=0),
    ):
        model.fit(X, y > 120 if hasattr(model, "predict_proba") else y)
        content = io.dumps(export.sklearn(model))
        assert b"sklearn_ensemble_theory" not in content
        trusted = io.get_untrusted_types(data=content)
        assert set(trusted) <= {"sklearn.tree._tree.Tree"}
        loaded = io.loads(content, trusted=trusted)
        np.testing.assert_allclose(loaded.predict(X), model.predict(X))
