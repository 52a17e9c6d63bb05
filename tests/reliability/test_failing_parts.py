"""Members, callbacks and monitors that raise, memory that is short, and several threads."""

import gc
import threading
import weakref

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sklearn_ensemble_theory as package

from ..estimators import estimator_classes, make
from .equivariances import data_for, outputs
from .test_whole_fits import Interrupted

CLASSES = estimator_classes()
every_estimator = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)


class OutOfOrderError(BaseException):
    """What no `except Exception` catches."""


ERRORS = [MemoryError, OutOfOrderError, KeyboardInterrupt]


class FailingRegressor(DecisionTreeRegressor):
    """A tree whose fit raises what `failure` says, from its third call on."""

    failure = None
    n_calls = 0

    def fit(self, X, y, sample_weight=None, **params):
        cls = FailingRegressor
        cls.n_calls += 1
        if cls.failure is not None and cls.n_calls > 2:
            raise cls.failure("no more")
        return super().fit(X, y, sample_weight=sample_weight, **params)


class FailingClassifier(DecisionTreeClassifier):
    """The same for classes."""

    def fit(self, X, y, sample_weight=None, **params):
        cls = FailingRegressor
        cls.n_calls += 1
        if cls.failure is not None and cls.n_calls > 2:
            raise cls.failure("no more")
        return super().fit(X, y, sample_weight=sample_weight, **params)


@pytest.fixture
def failing(monkeypatch):
    """A function that says what members raise from their third fit on."""

    def start(error):
        monkeypatch.setattr(FailingRegressor, "n_calls", 0)
        monkeypatch.setattr(FailingRegressor, "failure", error)

    yield start
    start(None)


def _with_members(name):
    cls = getattr(package, name)
    by_classes = name.endswith("Classifier") and name != "GradientBoostingClassifier"
    member = FailingClassifier if by_classes else FailingRegressor
    if "estimators" in make(cls).get_params(deep=False):
        member = member(max_depth=2)
        return {"estimators": [(f"m{k}", clone(member)) for k in range(4)]}
    return {"estimator": member(max_depth=2)}


# The learner of LinearL2BoostingRegressor is a smoother, which is fitted once.
WITH_MEMBERS = [
    cls.__name__
    for cls in CLASSES
    if {"estimator", "estimators"} & set(make(cls).get_params(False))
    and cls is not package.LinearL2BoostingRegressor
]


@pytest.mark.parametrize(
    ("n_jobs", "error"), [(1, MemoryError), (1, OutOfOrderError), (2, KeyboardInterrupt)]
)
@pytest.mark.parametrize("name", WITH_MEMBERS)
def test_a_member_that_raises(name, n_jobs, error, failing):
    params = _with_members(name)
    cls = getattr(package, name)
    if hasattr(make(cls), "n_jobs"):
        params["n_jobs"] = n_jobs
    elif n_jobs > 1:
        pytest.skip("no n_jobs")
    model = make(cls, **params)
    data, other = data_for(model, 0), data_for(model, 1, n=40, p=4)
    with joblib.parallel_config("threading"):
        expected = outputs(model, data)
        before = joblib.hash(vars(model))
        failing(error)
        with pytest.raises(error):
            model.fit(other.X, other.y)
        failing(None)
        assert joblib.hash(vars(model)) == before
        for found, value in zip(outputs(model, data), expected, strict=True):
            np.testing.assert_array_equal(found, value)


@every_estimator
def test_memory_that_is_short(cls):
    """Refused at a random call: a MemoryError that changes nothing, or the right model."""
    model = make(cls)
    data, other = data_for(model, 0), data_for(model, 1, n=40, p=4)
    model.fit(data.X, data.y)
    before = joblib.hash(vars(model))
    expected = outputs(make(cls), other)[-1]
    trial = Interrupted(0)
    trial.run(make(cls).fit, other.X, other.y)
    for k in np.random.default_rng(0).integers(1, trial.n_calls + 1, 5):
        try:
            Interrupted(int(k), MemoryError).run(model.fit, other.X, other.y)
        except MemoryError:
            assert joblib.hash(vars(model)) == before
        else:
            np.testing.assert_array_equal(model.predict(other.Z), expected)
            model.fit(data.X, data.y)
            before = joblib.hash(vars(model))


BOOSTED_TREES = ["GradientBoostingClassifier", "GradientBoostingRegressor"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.__name__)
@pytest.mark.parametrize("name", BOOSTED_TREES)
def test_a_monitor_that_raises(name, error):
    model = make(getattr(package, name))
    data, other = data_for(model, 0), data_for(model, 1, n=40, p=4)
    model.fit(data.X, data.y)
    before = joblib.hash(vars(model))

    def monitor(i, estimator, variables):
        if i == 2:
            raise error

    with pytest.raises(error):
        model.fit(other.X, other.y, monitor=monitor)
    assert joblib.hash(vars(model)) == before


CALLED = [cls for cls in CLASSES if hasattr(cls, "set_callbacks")]


class FailingCallback:
    """A callback of scikit-learn's protocol, which raises at the end of the k-th task.

    It keeps the estimator that it is given.
    """

    def __init__(self, error, k=1):
        self.error, self.k, self.n_tasks = error, k, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        self.estimator = estimator

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.n_tasks += 1
        if self.n_tasks == self.k:
            raise self.error
        return False


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.__name__)
@pytest.mark.parametrize("cls", CALLED, ids=lambda c: c.__name__)
def test_a_callback_that_raises(cls, error):
    model = make(cls)
    data, other = data_for(model, 0), data_for(model, 1, n=40, p=4)
    model.fit(data.X, data.y)
    expected = outputs(make(cls), data)
    callback = FailingCallback(error)
    model.set_callbacks(callback)
    with pytest.raises(error):
        model.fit(other.X, other.y)
    assert model.n_features_in_ == data.X.shape[1]
    for found, value in zip(_predictions(model, data.Z), expected, strict=True):
        np.testing.assert_array_equal(found, value)
    callback.k = 0
    assert model.fit(other.X, other.y).n_features_in_ == 4


@pytest.mark.parametrize("cls", CALLED, ids=lambda c: c.__name__)
def test_what_a_callback_keeps(cls):
    """Fits work on another object, which afterwards has the state of the fit that it belongs to."""
    model, callback = make(cls), FailingCallback(None, k=0)
    model.set_callbacks(callback)
    data, other = data_for(model, 0), data_for(model, 1, n=40, p=4)
    model.fit(data.X, data.y)
    expected, kept = model.predict(data.Z), callback.estimator
    assert kept is not model
    np.testing.assert_array_equal(kept.predict(data.Z), expected)
    model.fit(other.X, other.y)
    np.testing.assert_array_equal(kept.predict(data.Z), expected)
    assert model.n_features_in_ == 4


def test_the_earlier_model_exists_until_the_new_one_is_complete():
    model = make(package.GradientBoostingRegressor)
    data, alive = data_for(model, 0), []
    model.fit(data.X, data.y)
    earlier = weakref.ref(model.estimators_[0, 0])

    def monitor(i, estimator, variables):
        alive.append(earlier() is not None)

    model.fit(data.X, data.y, monitor=monitor)
    del monitor
    gc.collect()
    assert alive == [True] * model.n_estimators
    assert earlier() is None


def _predictions(model, Z):
    methods = ("predict_proba", "decision_function", "predict")
    return [np.asarray(getattr(model, m)(Z)) for m in methods if hasattr(model, m)]


def in_threads(tasks):
    """Run the tasks at the same time; their results."""
    results = [None] * len(tasks)
    start = threading.Barrier(len(tasks))

    def run(k):
        start.wait()
        try:
            results[k] = tasks[k]()
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@every_estimator
def test_eight_threads_fit_clones_and_eight_predict(cls):
    model = make(cls)
    data = data_for(model, 0)
    others = [data_for(model, seed) for seed in (1, 2)]
    expected = outputs(model, data)
    fits = [outputs(clone(model), other) for other in others]

    def fit(k):
        return lambda: outputs(clone(model), others[k % 2])

    tasks = [fit(k) for k in range(8)] + [lambda: _predictions(model, data.Z)] * 8
    found = in_threads(tasks)
    for k, outcome in enumerate(found):
        for value, right in zip(outcome, fits[k % 2] if k < 8 else expected, strict=True):
            np.testing.assert_array_equal(value, right)
