"""A program for `test_killed_workers.py`: fits whose first task ends with the death of its worker.

    python -m tests.reliability.killed_workers

It reads names of estimators, one a line, and answers each with a dictionary, in one line:

error : str or None
    What the fit, or the prediction where that is what worker processes do, raised.
killed : bool
    Whether a worker was killed.
kept : bool
    Whether the earlier model is the same, bit for bit.
right : bool
    Whether the next fit and prediction, in other workers, are right.

Workers are forked, because other ones take seconds to start.
"""

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import joblib
import numpy as np
from joblib.externals.loky.backend.context import set_start_method
from joblib.parallel import BatchedCalls

from sklearn_ensemble_theory.averaging import _neighbor_search as search

from ..estimators import boosted_votes, estimator_classes, make
from .equivariances import data_for, outputs

# They fit by one process, and predict by several.
PREDICT_ONLY = ("BaggedNearestNeighborsClassifier", "BaggedNearestNeighborsRegressor")
# Their `n_jobs` are threads.
IN_THREADS = {
    "BaggedNearestNeighborsClassifier",
    "BaggedNearestNeighborsRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LinearL2BoostingRegressor",
    "SketchedLinearRegression",
    *(cls.__name__ for cls in boosted_votes()),
}
IN_PROCESSES = [
    cls.__name__
    for cls in estimator_classes()
    if "n_jobs" in make(cls).get_params(deep=False) and cls.__name__ not in IN_THREADS
]
MAIN = os.getpid()
SENTENCE = Path(tempfile.gettempdir()) / f"killed-workers-{MAIN}"  # the first to delete it dies
run_batch = BatchedCalls.__call__


def run_or_die(batch):
    """What a worker does with a task: it dies while it computes, before it answers."""
    if os.getpid() != MAIN and _is_the_first():
        threading.Timer(0.005, _die).start()
        run_batch(batch)
        _die()
    return run_batch(batch)


def _is_the_first():
    try:
        SENTENCE.unlink()
    except FileNotFoundError:
        return False
    return True


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def trial(name):
    cls = next(cls for cls in estimator_classes() if cls.__name__ == name)
    model = make(cls, n_jobs=2)
    large = data_for(model, 0, n=120)
    expected = outputs(make(cls), large)
    small = data_for(model, 1, n=40)
    model.fit(small.X, small.y)
    before = joblib.hash(vars(model))
    error = None
    SENTENCE.touch()
    try:
        with joblib.parallel_config("loky"):
            if name in PREDICT_ONLY:
                model.predict(large.X)
            else:
                model.fit(large.X, large.y)
    except BaseException as raised:
        error = type(raised).__name__
    killed = not SENTENCE.exists()
    SENTENCE.unlink(missing_ok=True)
    kept = joblib.hash(vars(model)) == before
    with joblib.parallel_config("loky"):
        found = outputs(model, large)
    right = all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    return {"error": error, "killed": killed, "kept": kept, "right": right}


def main():
    set_start_method("fork")
    BatchedCalls.__call__ = run_or_die
    search._ENTRIES_OF_A_THREAD = 1  # few queries are shared out as well
    for line in sys.stdin:
        print("answer", trial(line.strip()), flush=True)


if __name__ == "__main__":
    main()
