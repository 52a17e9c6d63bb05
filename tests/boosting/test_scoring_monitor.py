"""`ScoringMonitor` of scikit-learn 1.9: the score of the model of each round on the rows fitted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AgnosticBoostClassifier,
    DecisionStumpRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MassartBoostClassifier,
    MatchingPursuitRegressor,
    SmoothBoostClassifier,
)

from ..estimators import SKLEARN_VERSION, boosters, parse_version, with_rounds

pytestmark = pytest.mark.skipif(
    parse_version("1.9") > SKLEARN_VERSION, reason="callbacks came with scikit-learn 1.9"
)
ROUNDS = 5
# Their rounds are on sums: there is no model of each.
ON_SUMS = {"AdditiveBoostingRegressor", "L2BoostingRegressor", "LogitBoostClassifier"}
STAGED = [
    *(
        with_rounds(cls, ROUNDS)
        for cls in boosters()
        if hasattr(cls, "staged_predict") and cls.__name__ not in ON_SUMS
    ),
    AdaBoostClassifier(n_estimators=ROUNDS, variant="real"),
    AdaBoostClassifier(GaussianNB(), n_estimators=ROUNDS),
    AgnosticBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0),
    MassartBoostClassifier(n_estimators=3, noise_rate="cv"),
    MatchingPursuitRegressor(ROUNDS, variant="weak", weakness=0.5, learning_rate=0.5),
    MatchingPursuitRegressor(ROUNDS, variant="orthogonal"),
]
REFITTED = [
    FrankWolfeRegressor(n_estimators=ROUNDS, radius=5.0),
    FrankWolfeRegressor(n_estimators=ROUNDS, radius=5.0, step="line_search", variant="pairwise"),
    FrankWolfeRegressor(n_estimators=ROUNDS, radius=5.0, loss="huber", step="line_search"),
    FrankWolfeClassifier(n_estimators=ROUNDS, radius=5.0),
    FrankWolfeRegressor(DecisionStumpRegressor(), n_estimators=ROUNDS, radius=5.0),
    FrankWolfeRegressor(Ridge(), n_estimators=3, radius=5.0, random_state=0),
    FrankWolfeClassifier(
        DecisionStumpRegressor(), n_estimators=ROUNDS, radius=5.0, variant="fully_corrective"
    ),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    y = X @ [3.0, -2.0, 1.5, 1.0, -0.8, 0.6] + X[:, 0] ** 2 + 0.5 * rng.standard_normal(80)
    return X, y


def target(model, y):
    return np.where(y > np.median(y), "up", "down") if is_classifier(model) else y


def monitored(model, X, y, sample_weight=None):
    """A fitted clone, its scores after each round, and the one at the end of the fit."""
    from sklearn.callback import ScoringMonitor

    scorer = "accuracy" if is_classifier(model) else "r2"
    monitor = ScoringMonitor(scoring=scorer)
    model = clone(model).set_callbacks(monitor)
    model.fit(X, y, sample_weight)
    log = monitor.get_logs().data
    rounds = [entry for entry in log if entry["task_name"] == "round" and scorer in entry]
    assert [entry["task_id"] for entry in rounds] == list(range(len(rounds)))
    (end,) = [entry[scorer] for entry in log if entry["task_name"] != "round"]
    return model, [entry[scorer] for entry in rounds], end


def score_of(model):
    return accuracy_score if is_classifier(model) else r2_score


def own_score(model, X, y, sample_weight):
    return {"score": model.score(X, y, sample_weight)}


@pytest.mark.parametrize("scoring", [own_score, None])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_estimators=ROUNDS, random_state=0),
        L2BoostingRegressor(ROUNDS, interactions=0),
        LogitBoostClassifier(ROUNDS, interactions=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scores_know_the_offset_of_the_fit(model, scoring, rows):
    """The score of the estimator, and a metric, which has no argument for it."""
    from sklearn.callback import ScoringMonitor

    X, y = rows
    y, offset, w = target(model, y), X[:, 0] ** 2, np.arange(len(y)) % 4
    metric = score_of(model).__name__.removesuffix("_score")
    name = metric if scoring is None else "score"
    monitor = ScoringMonitor(scoring=scoring or metric)
    model = clone(model).set_callbacks(monitor).fit(X, y, w, offset=offset)
    log = monitor.get_logs().data
    (end,) = [entry for entry in log if entry["task_name"] != "round"]
    expected = model.score(X, y, w, offset=offset)
    assert end[name] == pytest.approx(expected, rel=1e-10)
    assert "_rows_of_callbacks" not in vars(model)
    if hasattr(model, "estimators_"):
        stages = list(model.staged_predict(X, offset=offset))
        scores = [entry for entry in log if entry["task_name"] == "round"]
        for entry, stage in zip(scores, stages, strict=True):
            assert entry[name] == pytest.approx(r2_score(y, stage, sample_weight=w), rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", STAGED, ids=str)
def test_the_scores_are_those_of_staged_predictions(model, rows, weighted):
    X, y = rows
    y = target(model, y)
    # Rows of weight 0 are not fitted and must not be scored.
    w = np.random.default_rng(1).uniform(size=len(y)) * (np.arange(len(y)) % 9 > 0)
    w = w if weighted else None
    model, scores, end = monitored(model, X, y, w)
    expected = [score_of(model)(y, s, sample_weight=w) for s in model.staged_predict(X)]
    assert len(scores) > 2
    np.testing.assert_allclose(scores, expected, rtol=1e-10)
    assert end == pytest.approx(model.score(X, y, w), rel=1e-10)


@pytest.mark.parametrize("model", REFITTED, ids=str)
def test_the_scores_are_those_of_fits_of_fewer_rounds(model, rows):
    X, y = rows
    y = target(model, y)
    whole = clone(model).fit(X, y)
    fitted, scores, end = monitored(model, X, y)
    assert len(scores) == model.n_estimators
    expected = [
        clone(model).set_params(n_estimators=t + 1).fit(X, y).score(X, y)
        for t in range(len(scores))
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-10)
    assert end == pytest.approx(expected[-1], rel=1e-10)
    np.testing.assert_allclose(fitted.dual_gaps_, whole.dual_gaps_, rtol=1e-10, atol=1e-12)


def test_rows_held_out_to_stop_are_not_scored(rows):
    """A callback sees as many rows as are fitted; the end of the fit has the rounds kept."""
    X, y = rows
    model = SmoothBoostClassifier(n_estimators=9, n_iter_no_change=2, random_state=1)
    y = target(model, y)
    seen = []

    class Rows:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            seen.append((X, y, fitted_estimator))

    model = clone(model).set_callbacks(Rows()).fit(X, y)
    held_out = round(model.validation_fraction * len(y))
    assert {len(part) for each in seen for part in each[:2]} == {len(y) - held_out}
    for part, labels, _ in seen:
        match = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in part]
        np.testing.assert_array_equal(labels, y[match])
    np.testing.assert_array_equal(seen[-1][2].predict(X), model.predict(X))


def test_a_perfect_round_is_a_round():
    X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    for model in (AdaBoostClassifier(), AdaBoostRegressor(random_state=0)):
        fitted, scores, end = monitored(model, X, y if is_classifier(model) else 2.0 * y)
        assert fitted.stop_reason_ == "perfect"
        assert scores[-1] == end == 1.0


@pytest.mark.parametrize(
    "model", [SmoothBoostClassifier(n_estimators=3), MatchingPursuitRegressor(3)], ids=str
)
def test_several_parts_have_a_score_at_the_end_alone(model, rows):
    """Classes or targets are fitted one after another: no model has the first rounds of all."""
    X, y = rows
    y = np.digitize(y, [-1.0, 2.0]) if is_classifier(model) else np.column_stack([y, X[:, 0] - y])
    fitted, scores, end = monitored(model, X, y)
    assert scores == []
    assert end == pytest.approx(fitted.score(X, y))


@pytest.mark.parametrize(
    "model", [L2BoostingRegressor(n_estimators=20), LogitBoostClassifier(n_estimators=20)], ids=str
)
def test_rounds_on_sums_have_a_score_at_the_end_alone(model, rows):
    X, y = rows
    y = target(model, y)
    fitted, scores, end = monitored(model, X, y)
    assert scores == []
    assert end == fitted.score(X, y)
    assert "end of the fit" in type(model).__doc__


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostRegressor(n_estimators=2, random_state=0),
        MassartBoostClassifier(n_estimators=2),
        FrankWolfeRegressor(n_estimators=2),
        MatchingPursuitRegressor(2),
        GradientBoostingRegressor(n_estimators=2, n_iter_no_change=1, random_state=0),
        L2BoostingRegressor(n_estimators=2),
    ],
    ids=str,
)
def test_frames_are_scored_with_the_names_of_their_columns(model, rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcdef"))
    weight = np.arange(len(y)) % 4.0
    y = target(model, y)
    _, *named = monitored(model, frame, y, weight)  # any warning of missing names is an error
    _, *plain = monitored(model, X, y, weight)
    assert named == plain
