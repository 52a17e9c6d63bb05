"""Fits have one thread of BLAS for small work, and leave as many as there were."""

import threading

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_ensemble_theory import (
    BaggingRegressor,
    DecisionStumpRegressor,
    FrankWolfeRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
    StackingRegressor,
)

from ..estimators import estimator_classes, make, target_for
from ..surroundings import _door, _running, blas_threads_by_work, one_blas_thread, threads_for

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)


def n_threads():
    """The largest number of threads of a BLAS of this process."""
    return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")


@pytest.fixture(autouse=True)
def two_threads():
    """Two threads before a test, and after it; any thread may change the number meanwhile."""
    numbers = threadpool_limits(2, user_api="blas")
    release()
    is_set = n_threads() == 2
    try:
        if not is_set:
            pytest.skip("the threads of this BLAS cannot be set")
        yield
        assert n_threads() == 2
    finally:
        numbers.restore_original_limits()
        release()


def release():
    """End a context, before which threadpoolctl lets no other thread set numbers."""
    with threadpool_limits(user_api="blas"):
        pass


class Counting(RegressorMixin, BaseEstimator):
    """A member of a user, which notes the number of threads."""

    found: tuple = ()

    def fit(self, X, y):
        Counting.found = (*Counting.found, n_threads())
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


class CountingRidge(KernelRidge):
    found: tuple = ()

    def fit(self, X, y, sample_weight=None):
        CountingRidge.found = (*CountingRidge.found, n_threads())
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)
def test_one_thread_during_a_fit(cls, monkeypatch):
    found, check = [], _door.check_parameters

    def noted(estimator):
        if type(estimator) is cls:
            found.append(n_threads())
        check(estimator)

    monkeypatch.setattr(_door, "check_parameters", noted)
    model = make(cls)
    model.fit(X, target_for(model, (y > 0.5).astype(int), y))
    assert found == [2 if hasattr(model, "estimators") else 1]
    assert n_threads() == 2


@pytest.mark.parametrize(
    "model",
    [
        BaggingRegressor(Counting(), 2),
        BaggingRegressor(BaggingRegressor(Counting(), 2), 2),
        FrankWolfeRegressor(Counting(), n_estimators=2),
        StackingRegressor([("one", Counting())], cv=2, final_estimator="simplex"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_members_of_users_keep_their_threads(model):
    Counting.found = ()
    model.fit(X, y)
    assert set(Counting.found) == {2}


def test_members_of_ours_have_one_thread():
    assert not _door.fits_others(BaggingRegressor(DecisionStumpRegressor()))
    assert _door.fits_others(BaggingRegressor(KernelRidge()))


def test_a_smoother_of_few_rows_has_one_thread():
    CountingRidge.found = ()
    LinearL2BoostingRegressor(CountingRidge()).fit(X, y)
    assert set(CountingRidge.found) == {1}


def test_large_work(monkeypatch):
    with blas_threads_by_work():
        with threads_for(_running.SHARED_WORK):
            assert n_threads() == 2
            with threads_for(1.0):
                assert n_threads() == 1
            assert n_threads() == 2
        assert n_threads() == 1
        with one_blas_thread(), blas_threads_by_work(), threads_for(_running.SHARED_WORK):
            assert n_threads() == 1  # of a task whose bits are those of another process
    found = []
    thread = threading.Thread(target=lambda: found.append(shared_work()))
    thread.start()
    thread.join()
    assert found == [1]
    assert shared_work() == 2
    # The Gram matrix of the pursuit is large work here.
    expected = MatchingPursuitRegressor(4).fit(X, y).coef_
    monkeypatch.setattr(_running, "SHARED_WORK", 1.0)
    np.testing.assert_allclose(MatchingPursuitRegressor(4).fit(X, y).coef_, expected, rtol=1e-12)


def shared_work():
    with blas_threads_by_work(), threads_for(_running.SHARED_WORK):
        return n_threads()


class Failing:
    """A loss whose gradient raises in the third round."""

    n_calls = 0

    def value(self, y, u):
        return (y - u) ** 2 / 2

    def gradient(self, y, u):
        Failing.n_calls += 1
        if Failing.n_calls == 3:
            assert n_threads() == 1
            raise RuntimeError("in the third round")
        return u - y


def test_a_fit_that_raises():
    with pytest.raises(RuntimeError, match="third"):
        FrankWolfeRegressor(loss=Failing()).fit(X, y)
    assert n_threads() == 2


def test_an_interrupt_while_the_threads_are_restored(monkeypatch):
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        monkeypatch.setattr(_running._limit, "apply", interrupted)
    monkeypatch.undo()
    assert n_threads() == 1
    with one_blas_thread():
        assert n_threads() == 1
    assert n_threads() == 2


def interrupted():
    raise KeyboardInterrupt


def test_contexts_that_overlap_in_time():
    first_ends, second_ends = threading.Event(), threading.Event()
    begun = threading.Barrier(3)

    def wait(end):
        with one_blas_thread():
            begun.wait()
            end.wait()

    threads = [threading.Thread(target=wait, args=(end,)) for end in (first_ends, second_ends)]
    for thread in threads:
        thread.start()
    begun.wait()
    found = [n_threads()]
    for thread, end in zip(threads, (first_ends, second_ends)):
        end.set()
        thread.join()
        found.append(n_threads())
    assert found == [1, 1, 2]


def test_fits_in_threads():
    with parallel_config("threading"):
        BaggingRegressor(MatchingPursuitRegressor(4), 8, n_jobs=4).fit(X, y)
    assert n_threads() == 2
