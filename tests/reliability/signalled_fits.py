"""A program for `test_signals.py`: fits in processes of their own, some of which signals interrupt.

    python -m tests.reliability.signalled_fits SEED

It is the leader of a session. Its last line is a dictionary:

digests : dict
    Of the predictions of every estimator.
by_processes : dict
    The same for estimators with `n_jobs`, whose members two worker processes fit.
trials : list
    What became of each fit that a signal met.
"""

import os
import pickle
import signal
import sys
import threading
import time

import joblib
import numpy as np
from joblib.externals.loky import reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.tree import DecisionTreeRegressor

import sklearn_ensemble_theory as package

from ..estimators import estimator_classes, make, target_for
from .test_determinism import PARALLEL, digests

# name, parameters, rows of the second fit
CASES = [
    ("AdaBoostClassifier", {"n_estimators": 100}, 2000),
    ("LinearL2BoostingRegressor", {}, 200),
    ("RandomForestRegressor", {"n_estimators": 40, "n_jobs": 2}, 800),
]
# Small members: joblib can hang where a worker dies in the middle of a large result (see
# docs/reliability.md), whatever is fitted.
SMALL_TREE = DecisionTreeRegressor(max_depth=2)
IN_PROCESSES = (
    "BaggingRegressor",
    {"estimator": SMALL_TREE, "n_estimators": 40, "n_jobs": 2},
    4000,
)


def data_of(model, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(n)
    return X, target_for(model, (y > 0.5).astype(int), y)


def n_own_threads():
    """Threads that are not the package's or joblib's waiting ones, which fits share."""
    names = [t.name for t in threading.enumerate()]
    return sum(not n.startswith(("ensemble-helper", "ExecutorManager", "Queue")) for n in names)


def n_new_threads(before):
    """Threads that still run a second later; those of an interrupted pool end by themselves."""
    end = time.perf_counter() + 1
    while n_own_threads() > before and time.perf_counter() < end:
        time.sleep(0.01)
    return n_own_threads() - before


class Trials:
    """A fitted model and the fit of other data, which is disturbed at a random moment."""

    def __init__(self, name, params, n, seed):
        self.make = lambda: make(getattr(package, name), **params)
        self.model = self.make()
        self.name, self.rng = name, np.random.default_rng(seed)
        self.small, self.large = data_of(self.model, 40, 0), data_of(self.model, n, 1)
        self.make().fit(*self.large)  # compiles, and starts processes
        start = time.perf_counter()
        self.expected = self.make().fit(*self.large).predict(self.large[0])
        self.duration = time.perf_counter() - start
        self.model.fit(*self.small)
        self.state = joblib.hash(vars(self.model))

    def run(self, disturb):
        """Disturb a fit: what it raised, the delay in seconds, and whether the result is right."""
        n_threads = n_own_threads()
        moment = self.duration * self.rng.uniform(0, 0.9)
        sent = []

        def send():
            time.sleep(moment)
            sent.append(time.perf_counter())
            disturb()

        model = pickle.loads(pickle.dumps(self.model))
        before = joblib.hash(vars(model))
        sender = threading.Thread(target=send)
        error, caught = None, np.inf
        try:
            sender.start()
            model.fit(*self.large)
            caught = time.perf_counter()
            sender.join()
            time.sleep(0.1)  # a signal that came too late arrives here
        except (KeyboardInterrupt, TerminatedWorkerError) as raised:
            error, now = type(raised).__name__, time.perf_counter()
            late = caught < now
            caught = now
        else:
            late = True
        sender.join()
        if late:  # the fit was over
            right = bool(np.array_equal(model.predict(self.large[0]), self.expected))
        else:
            right = joblib.hash(vars(model)) == before
        with joblib.parallel_config("threading"):  # no new pool of processes
            model.fit(*self.large)
        right &= bool(np.array_equal(model.predict(self.large[0]), self.expected))
        return {
            "name": self.name,
            "error": None if late else error,
            "delay": caught - sent[0],
            "right": right,
            "threads": n_new_threads(n_threads),
        }


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def kill_a_worker():
    executor = reusable_executor._executor
    if executor is not None and executor._processes:
        os.kill(next(iter(executor._processes)), signal.SIGKILL)


def main(seed):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the parent ignores it
    found = {"digests": digests(estimator_classes()), "trials": []}
    with joblib.parallel_config("threading"):
        for case in CASES:
            trials = Trials(*case, seed)
            found["trials"] += [trials.run(interrupt) for _ in range(2)]
    # Worker processes take seconds to start: one pair for all estimators and the signal that kills
    # one of them, another pair for the interrupt.
    with joblib.parallel_config("loky"):
        found["by_processes"] = digests(PARALLEL, n_jobs=2)
        trials = Trials(*IN_PROCESSES, seed)
        found["trials"].append(trials.run(kill_a_worker))
        trials.make().fit(*trials.small)
        found["trials"].append(trials.run(interrupt))
    print()
    print(found)


if __name__ == "__main__":
    main(int(sys.argv[1]))
