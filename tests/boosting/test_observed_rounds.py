"""Gradient boosting as others see it: monitors, callbacks, data frames and missing values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from sklearn_ensemble_theory import GradientBoostingClassifier, GradientBoostingRegressor

from ..estimators import SKLEARN_VERSION, parse_version

needs_callbacks = pytest.mark.skipif(
    parse_version("1.9") > SKLEARN_VERSION, reason="callbacks came with scikit-learn 1.9"
)


def test_a_monitor_sees_the_model_of_the_round_and_may_end_the_fit(regression):
    X, y, *_ = regression
    seen = []

    def monitor(i, model, variables):
        seen.append((i, model.n_estimators_, model.predict(X)))
        np.testing.assert_allclose(variables["raw_predictions"], seen[-1][2])
        assert variables["sample_weight"] is None
        return i == 3

    model = GradientBoostingRegressor(n_estimators=9, random_state=0)
    model.fit(X, y, None, monitor)
    assert model.stop_reason_ == "monitor"
    assert [pair[:2] for pair in seen] == [(i, i + 1) for i in range(4)]
    np.testing.assert_allclose([s[2] for s in seen], list(model.staged_predict(X)))
    again = GradientBoostingRegressor(n_estimators=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@needs_callbacks
@pytest.mark.parametrize("weighted", [False, True])
def test_a_scoring_monitor_records_every_round(binary, weighted):
    from sklearn.callback import ScoringMonitor

    X, y, *_ = binary
    labels = np.where(y, "yes", "no")
    w = np.random.default_rng(0).uniform(size=len(y)) if weighted else None
    monitor = ScoringMonitor(scoring=["accuracy", "neg_log_loss"])
    model = GradientBoostingClassifier(n_estimators=4, random_state=0)
    model.set_callbacks(monitor).fit(X, labels, w)
    log = monitor.get_logs().data
    rounds = [entry for entry in log if entry["task_name"] == "round"]
    assert [entry["task_id"] for entry in rounds] == [0, 1, 2, 3]
    stages = list(model.staged_predict(X))
    expected = [np.average(stage == labels, weights=w) for stage in stages]
    np.testing.assert_allclose([entry["accuracy"] for entry in rounds], expected)
    whole = next(entry for entry in log if entry["task_name"] != "round")
    assert whole["accuracy"] == pytest.approx(expected[-1])
    assert np.all(np.diff([entry["neg_log_loss"] for entry in rounds]) > 0)


@needs_callbacks
def test_a_scoring_monitor_sees_the_rows_that_are_fitted(regression):
    from sklearn.callback import ScoringMonitor

    X, y, *_ = regression
    monitor = ScoringMonitor(scoring="neg_mean_squared_error")
    model = GradientBoostingRegressor(n_iter_no_change=2, n_estimators=5, random_state=0)
    model.set_callbacks(monitor).fit(X, y)
    found = [
        -e["neg_mean_squared_error"] for e in monitor.get_logs().data if e["task_name"] == "round"
    ]
    np.testing.assert_allclose(found, model.train_score_)


@pytest.fixture
def frame(regression):
    """A frame with a column of names and missing values, and its target."""
    X, y, *_ = regression
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["name"] = np.where(X[:, 1] > 0, "up", "down")
    frame.loc[::7, "a"] = np.nan
    return frame, y


def by_name(columns):
    choice = make_column_transformer((SimpleImputer(), columns))
    return make_pipeline(choice, Ridge(alpha=1e-3))


@pytest.mark.parametrize("settings", [{}, {"subsample": 0.5}, {"n_iter_no_change": 3}])
def test_base_learners_get_frames_as_they_are(frame, settings):
    X, y = frame
    settings = {"learning_rate": 0.5, "n_estimators": 5, "random_state": 0, **settings}
    model = GradientBoostingRegressor(by_name(["a", "b"]), **settings).fit(X, y)
    assert model.feature_names_in_.tolist() == list(X.columns)
    numbers = X[["a", "b"]].to_numpy()
    plain = make_pipeline(SimpleImputer(), Ridge(alpha=1e-3))
    same = GradientBoostingRegressor(plain, **settings).fit(numbers, y)
    np.testing.assert_allclose(model.predict(X), same.predict(numbers))
    np.testing.assert_allclose(model.train_score_, same.train_score_)
    stages = list(model.staged_predict(X))
    np.testing.assert_allclose(stages[-1], model.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "c", "name"]])


def test_frames_reach_the_initial_estimator_and_classifiers(frame):
    X, y = frame
    first = by_name(["a", "b"])
    model = GradientBoostingRegressor(by_name(["c"]), init=first, n_estimators=20)
    assert model.fit(X, y).score(X, y) > first.fit(X, y).score(X, y) + 0.1
    classifier = GradientBoostingClassifier(by_name(["a", "c"]), n_estimators=5, learning_rate=1.0)
    assert classifier.fit(X, y > np.median(y)).score(X, y > np.median(y)) > 0.6

    class Named(RegressorMixin, BaseEstimator):
        """The mean of the target by name, with weights."""

        def fit(self, X, y, sample_weight=None):
            assert isinstance(X, pd.DataFrame)
            self.up_, self.down_ = (
                np.average(y[X["name"] == n], weights=sample_weight[X["name"] == n])
                for n in ("up", "down")
            )
            return self

        def predict(self, X):
            return np.where(X["name"] == "up", self.up_, self.down_)

    w = np.arange(len(y)) % 3.0  # rows of weight 0 are left out of the frame
    model = GradientBoostingRegressor(Named(), n_estimators=1, learning_rate=1.0).fit(X, y, w)
    up = X["name"] == "up"
    expected = np.where(up, np.average(y[up], weights=w[up]), np.average(y[~up], weights=w[~up]))
    np.testing.assert_allclose(model.predict(X), expected)


def test_learners_that_cannot_use_missing_values_say_so(regression):
    X, y, *_ = regression
    X = X.copy()
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GradientBoostingRegressor(Ridge()).fit(X, y)

    class FirstColumn(RegressorMixin, BaseEstimator):
        """No check of its own."""

        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.asarray(X)[:, 0]

    with pytest.raises(ValueError, match="predicts values that are not finite, NaN"):
        GradientBoostingRegressor(FirstColumn(), n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        GradientBoostingRegressor(FirstColumn()).fit(np.where(np.isnan(X), np.inf, X), y)
