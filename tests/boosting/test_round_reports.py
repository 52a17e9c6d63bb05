"""`verbose` and callbacks in every estimator that fits in rounds."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionStumpRegressor,
    FrankWolfeRegressor,
    MatchingPursuitRegressor,
    SmoothBoostClassifier,
)

from ..estimators import (
    SKLEARN_VERSION,
    boosters,
    estimator_classes,
    parse_version,
    with_rounds,
)
from ..surroundings import Progress

HAS_CALLBACKS = parse_version("1.9.dev0") <= SKLEARN_VERSION
ROUNDS = 6
# Their rounds are on sums: a stage of them is reported, not each.
ON_SUMS = {"AdditiveBoostingRegressor", "L2BoostingRegressor", "LogitBoostClassifier"}
MODELS = [
    *(with_rounds(cls, ROUNDS) for cls in boosters() if cls.__name__ not in ON_SUMS),
    AdaBoostClassifier(n_estimators=ROUNDS, variant="real"),
    FrankWolfeRegressor(DecisionStumpRegressor(), n_estimators=ROUNDS, radius=5.0),
    FrankWolfeRegressor(n_estimators=ROUNDS, radius=5.0, variant="fully_corrective"),
    MatchingPursuitRegressor(ROUNDS, variant="orthogonal"),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 8))
    y = X @ [3.0, -2.0, 1.5, 1.0, -0.8, 0.6, 0.5, 0.4] + X[:, 0] ** 2
    return X, y + 0.5 * rng.standard_normal(80)


def target(model, y):
    return (y > np.median(y)).astype(int) if is_classifier(model) else y


def outputs(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@every_model
def test_verbose_prints_and_changes_nothing(model, rows, capsys):
    X, y = rows
    y = target(model, y)
    silent = outputs(model.set_params(verbose=0).fit(X, y), X)
    assert capsys.readouterr().out == ""
    spoken = outputs(model.set_params(verbose=2).fit(X, y), X)
    np.testing.assert_allclose(spoken, silent, rtol=1e-12)
    lines = capsys.readouterr().out.splitlines()
    name = type(model).__name__
    rounds = [line for line in lines if line.startswith(f"{name}: ") and "/" in line]
    assert len(rounds) == len(lines) == ROUNDS
    assert rounds[0].startswith(f"{name}: 1/{ROUNDS} rounds, ")
    assert f"{ROUNDS}/{ROUNDS} rounds" in rounds[-1]
    model.set_params(verbose=1).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) == 1  # the fit takes less than two seconds
    model.set_params(verbose=0)
    with pytest.raises(ValueError, match="verbose"):
        type(model)(verbose="loud").fit(X, y)


PACES = {
    # Seconds of the preparation and of each of 200 rounds, and the largest ratio of an estimate.
    "slow start": (20.0, lambda t: 0.1, 1.01),
    "a first round of its own kind": (0.0, lambda t: 0.1 if t else 5.0, 1.01),
    "fast rounds": (1.0, lambda t: 0.02, 1.01),
    "one stall": (1.0, lambda t: 0.1 if t != 50 else 30.0, 1.01),
    "slower and slower": (1.0, lambda t: 0.1 + 0.001 * t, 2.0),
    "irregular": (1.0, lambda t: 0.1 + 0.1 * (t % 3), 1.6),
}


@pytest.mark.parametrize("name", PACES)
def test_the_time_that_is_left_is_that_of_recent_rounds(name, monkeypatch, capsys):
    start, pace, largest = PACES[name]
    now = 0.0
    monkeypatch.setattr("sklearn_ensemble_theory._running.time.monotonic", lambda: now)
    progress = Progress("Model", 200, verbose=2, unit="rounds")
    times = [pace(t) for t in range(200)]
    now = start
    for t in range(200):
        now += times[t]
        progress.advance()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 200
    found = [re.search(r"about (\S+) s for the rest", line) for line in lines]
    # The first rounds are no basis, the end needs no estimate.
    assert not any(found[:3])
    assert all(found[40:199])
    assert not found[199]
    for t in range(199):
        if found[t] and (name != "one stall" or t >= 50):
            truth = sum(times[t + 1 :])
            ratio = (float(found[t][1]) + 0.05) / (truth + 0.05)
            assert 1 / largest - 0.1 / truth < ratio < largest + 0.1 / truth, (t, ratio)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn 1.9 introduces callbacks")
@every_model
def test_callbacks_follow_the_rounds_and_end_them(model, rows):
    X, y = rows
    y = target(model, y)
    ended = []

    class After:
        """Ends the fit after so many rounds."""

        def __init__(self, n_rounds):
            self.n_rounds = n_rounds

        def setup(self, estimator, context):
            ended.clear()

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "round":
                ended.append(context.task_id)
                return len(ended) == self.n_rounds
            return False

    model = type(model)(**model.get_params(deep=False))
    whole = outputs(model.fit(X, y), X)
    followed = model.set_callbacks(After(100)).fit(X, y)
    assert ended == list(range(ROUNDS))
    np.testing.assert_allclose(outputs(followed, X), whole, rtol=1e-12)
    stopped = model.set_callbacks(After(3)).fit(X, y)
    assert ended == [0, 1, 2]
    assert stopped.stop_reason_ == "callback"
    short = type(model)(**model.get_params(deep=False))
    name = next(n for n in ("max_iter", "n_estimators") if hasattr(model, n))
    short.set_params(**{name: 3}).fit(X, y)
    np.testing.assert_allclose(outputs(stopped, X), outputs(short, X))


def test_the_classes_of_a_robust_booster_are_counted_together(rows, capsys):
    X, y = rows
    y = np.digitize(y, [-1.0, 2.0])
    model = SmoothBoostClassifier(n_estimators=4, verbose=2, n_jobs=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    n_rounds = sum(model.n_estimators_)
    assert len(lines) == n_rounds + (n_rounds < 12)
    assert lines[0].startswith("SmoothBoostClassifier: 1/12 rounds")
    assert lines[-1].startswith(f"SmoothBoostClassifier: {n_rounds}/12 rounds")


def test_an_early_end_is_reported_with_its_reason(rows, capsys):
    X, _ = rows
    exact = AdaBoostRegressor(LinearRegression(), verbose=1).fit(X, np.zeros(len(X)))
    assert exact.stop_reason_ == "perfect"
    assert capsys.readouterr().out.strip().endswith(", perfect")


def test_verbose_is_a_parameter_of_every_estimator_with_rounds():
    parameters = {
        cls.__name__: set(inspect.signature(cls).parameters) for cls in estimator_classes()
    }
    with_rounds = [name for name, known in parameters.items() if "n_estimators" in known]
    assert len(with_rounds) > 15
    silent = [name for name in with_rounds if "verbose" not in parameters[name]]
    # Averages of matrices that are computed for all members at once: there are no rounds.
    assert silent == ["RandomProjectionRegressor", "SketchedLinearRegression"]
