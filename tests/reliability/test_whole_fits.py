"""A fit that fails or is interrupted leaves the estimator as it was, wherever that happens."""

import inspect
import pickle
import sys
import threading
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import sklearn_ensemble_theory

from ..estimators import estimator_classes, make, target_for

ROOT = str(Path(sklearn_ensemble_theory.__file__).parent)
CLASSES = estimator_classes()
every_estimator = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)


def data(seed, n, p):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)
    return X, y


def target(model, y):
    return target_for(model, (y > 0.5).astype(int), y)


class Interrupted:
    """Calls a function, with an error at the k-th call of a function of the package."""

    def __init__(self, k, error=KeyboardInterrupt):
        self.k, self.n_calls, self.error = k, 0, error

    def __call__(self, frame, event, arg):
        code = frame.f_code
        # Not in generators: an exception while one is closed is ignored.
        ours = code.co_filename.startswith(ROOT) and not code.co_flags & inspect.CO_GENERATOR
        if event == "call" and ours:
            self.n_calls += 1
            if self.n_calls == self.k:
                raise self.error
        return None

    def run(self, function, *args, **kwargs):
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return function(*args, **kwargs)
        finally:
            sys.settrace(before)


def check_interrupts(fit, model, n_places, seed=0):
    """Interrupt `fit`, which changes the model, at random calls; at last let it end."""
    before, in_bytes = joblib.hash(vars(model)), pickle.dumps(vars(model))
    for _ in range(2):  # the first run also compiles and fills caches
        trial = Interrupted(0)
        trial.run(fit, copied(model))
    rng = np.random.default_rng(seed)
    last = trial.n_calls // 2  # the copy has empty caches, and therefore more calls
    places = np.unique([1, last, *rng.integers(1, last + 1, n_places)])
    for k in places:
        with pytest.raises(KeyboardInterrupt):
            Interrupted(int(k)).run(fit, model)
        # The same bytes are the same model, and found sooner; the same model may have other bytes.
        is_same = pickle.dumps(vars(model)) == in_bytes or joblib.hash(vars(model)) == before
        assert is_same, f"changed by an interrupt at call {k}"


def copied(model):
    return pickle.loads(pickle.dumps(model))


@every_estimator
def test_an_interrupted_refit_changes_nothing(cls):
    X, y = data(0, 40, 4)
    model = make(cls)
    model.fit(X, target(model, y))
    other, y_other = data(1, 30, 3)
    y_other = target(model, y_other)
    check_interrupts(lambda m: m.fit(other, y_other), model, 8)
    model.fit(other, y_other)
    expected = make(cls).fit(other, y_other).predict(other)
    np.testing.assert_array_equal(model.predict(other), expected)


@every_estimator
def test_a_first_fit_that_fails_leaves_it_unfitted(cls):
    X, y = data(0, 40, 4)
    model = make(cls)
    y = target(model, y)
    before = joblib.hash(vars(model))
    with pytest.raises(ValueError, match=r"NaN|infin|sample"):
        model.fit(X, y[:-1])
    assert joblib.hash(vars(model)) == before
    wrong = np.full(len(X), np.inf)
    with pytest.raises(ValueError, match=r"NaN|infin|class"):
        model.fit(X, wrong)
    assert joblib.hash(vars(model)) == before


PARTIAL = [cls for cls in CLASSES if hasattr(cls, "partial_fit")]


@pytest.mark.parametrize("cls", PARTIAL, ids=lambda c: c.__name__)
def test_an_interrupted_partial_fit_changes_nothing(cls):
    # Settings with which the method exists.
    known = {
        "BallConstrainedClassifier": {"solver": "sgd"},
        "AdditiveBoostingRegressor": {"loss": "squared_error"},
    }
    X, y = data(0, 60, 4)
    model = make(cls, **known.get(cls.__name__, {}))
    y = target(model, y)
    classes = {"classes": [0, 1]} if is_classifier(model) else {}
    model.partial_fit(X[:40], y[:40], **classes)
    check_interrupts(lambda m: m.partial_fit(X[40:], y[40:]), model, 12)
    other = make(cls, **known.get(cls.__name__, {}))
    other.partial_fit(X[:40], y[:40], **classes).partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(model.partial_fit(X[40:], y[40:]).predict(X), other.predict(X))


WARM = [cls for cls in CLASSES if hasattr(make(cls), "warm_start")]


@pytest.mark.parametrize("cls", WARM, ids=lambda c: c.__name__)
def test_an_interrupted_warm_start_changes_nothing(cls):
    X, y = data(0, 60, 4)
    y = target(make(cls), y)
    rounds = "max_iter" if cls.__name__.startswith("Hist") else "n_estimators"
    params = {rounds: 20, "random_state": 3}
    if hasattr(make(cls), "oob_score"):
        params |= {"oob_score": True, "bootstrap": True}
    model = make(cls, warm_start=True, **params).fit(X, y)
    model.set_params(**{rounds: 25})
    check_interrupts(lambda m: m.fit(X, y), model, 12)
    whole = make(cls, **{**params, rounds: 25}).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).predict(X), whole.predict(X), atol=1e-12)


@pytest.mark.parametrize("cls", WARM, ids=lambda c: c.__name__)
def test_a_warm_start_with_other_columns_is_refused(cls):
    X, y = data(0, 60, 4)
    model = make(cls, warm_start=True)
    y = target(model, y)
    before = joblib.hash(vars(model.fit(X, y)))
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        model.fit(X[:, :3], y)
    frames = [pd.DataFrame(X, columns=[*names]) for names in ("abcd", "bacd")]
    other = make(cls, warm_start=True).fit(frames[0], y)
    with pytest.raises(ValueError, match="feature names should match"):
        other.fit(frames[1], y)
    assert joblib.hash(vars(model)) == before


@every_estimator
def test_two_threads_that_fit_one_instance(cls):
    """The estimator ends with one whole model of the two."""
    jobs = [data(0, 40, 4), data(1, 30, 3)]
    model = make(cls)
    jobs = [(X, target(model, y)) for X, y in jobs]
    expected = [make(cls).fit(X, y).predict(X) for X, y in jobs]
    for _ in range(2):
        threads = [threading.Thread(target=model.fit, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winner = [model.n_features_in_ == X.shape[1] for X, _ in jobs].index(True)
        np.testing.assert_array_equal(model.predict(jobs[winner][0]), expected[winner])
