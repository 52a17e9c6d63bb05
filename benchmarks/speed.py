"""How long the estimators take, against the library that a user would pick instead.

    python benchmarks/speed.py                  every case
    python benchmarks/speed.py bagging          the cases of cases/bagging.py
    python benchmarks/speed.py bagged-trees     one case (shell patterns work: 'bagged-*')
    python benchmarks/speed.py --list

Each side of a case lives in a process of its own, which imports its own library and no other: two
OpenMP pools in one process can slow each other down by an order of magnitude. The process builds
the data from a seed, runs once untimed (its peak memory is read here) and is then asked for one
timed run at a time, in alternation with the other sides, so that a slow moment of the machine
falls on all of them. The table gives the median of each side's times and the median of the ratios
of neighbouring runs.

Writing a case
--------------
One file a subject in `cases/`; the file registers its cases when it is imported. Only NumPy and the
standard library are imported at the top of the file; everything else inside `setup`, so that no
process imports the library of another side::

    from cases import Case, Side, fit, friedman1, held_out_mse, register


    def ours(data, n_estimators, seed):
        from sklearn_ensemble_theory import BaggingRegressor

        return BaggingRegressor(n_estimators=n_estimators, random_state=seed)


    def sklearn(data, n_estimators, seed):
        from sklearn.ensemble import BaggingRegressor

        return BaggingRegressor(n_estimators=n_estimators, random_state=seed)


    register(
        Case(
            name="bagged-trees",                     # what is typed on the command line
            title="bagging of full regression trees",
            params={"n": 20_000, "p": 20, "n_estimators": 100},
            quick={"n": 1_000, "n_estimators": 10},  # what --quick replaces
            data=friedman1,                          # data(seed, n, p, ...) -> anything
            sides={"ours": ours, "scikit-learn": sklearn},   # the first side is ours
            run=fit,                                 # run(state, data) -> result: what is timed
            quality=held_out_mse, metric="test MSE", # quality(result, data) -> float, or None
            limit=0.9,                               # our time / the peer's, at most
        )
    )

The pieces of a case are plain functions. Beside the arguments above each gets those of the case's
params that it names, and `seed` and `threads` where it names them:

`data(seed, **params)`
    Build the data, with NumPy alone. Every side builds them anew from the same seed. `cases`
    offers `friedman1` and `two_classes`; both give `.X, .y, .X_test, .y_test`.
`setup(data, **params) -> state`
    Import the side's library and prepare, untimed: usually an estimator, not yet fitted. It is
    called before every run, so a run may change its state. A missing optional library (an
    ImportError for `lightgbm` or `xgboost`) is reported as such and is no failure.
`run(state, data, **params) -> result`
    What is timed: `fit`, `fit_predict` or your own.
`quality(result, data, **params) -> float`
    On the last result, untimed: `held_out_mse`, `held_out_error` for a fitted estimator,
    `mse_of_prediction`, `error_of_prediction` for predictions. `metric` names it.

A side whose `run` or `quality` differs from the case's is a `Side(setup, run=..., quality=...)`.
Further fields of a `Case`:

`vary={"n": (1_000, 10_000, 100_000)}`
    A row for each value of one param: time as a function of n, or Monte Carlo error as a function
    of the number of replications. Under numbers the table adds how the time grows: the exponent a
    of the least-squares fit time ~ value^a. The param stays in `params`; `quick` may hold a
    shorter tuple for it. `growth_limit` bounds our exponent.
`limit=0.9` or `limit={"scikit-learn": 0.9}`
    The required ratio of times, against all peers or by peer. The median is held against it.
`quality_margin=0.0`
    Our quality may be worse than the peer's by this much and no more; also by peer. Lower is
    better unless `higher_is_better=True`.
`runs=5`
    Timed runs a side; fewer where a run takes many seconds.
"""

import argparse
import contextlib
import fnmatch
import json
import math
import multiprocessing
import os
import statistics
import sys
import time
import traceback
from pathlib import Path

# Measure the checkout that this file belongs to, whatever is installed.
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import cases

EXTRAS = {"lightgbm": "benchmark", "xgboost": "benchmark", "dask": "dask", "matplotlib": "plot"}
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


# --- in the process of one side ---------------------------------------------------------------


def serve(pipe, subject, case_name, side_name, params):
    """Answer "run" with the seconds of one run and "quality" with a number, until the pipe ends."""
    os.dup2(2, 1)  # what a library prints must not land in the table
    state = {}
    try:
        case = cases.load(subject)[case_name]
        side = case.side(side_name)
        data = cases.call(case.data, **params)

        def run():
            prepared = cases.call(side.setup, data, **params)
            start = time.perf_counter()
            state["result"] = cases.call(side.run, prepared, data, **params)
            return time.perf_counter() - start

        cases.call(side.setup, data, **params)  # the imports are no memory of the method's
        reset_peak()
        before = memory("current")
        run()
        after = memory("peak")
        pipe.send(("ready", None if before is None or after is None else max(after - before, 0)))
        while (request := pipe.recv()) != "stop":
            if request == "run":
                state.clear()
                pipe.send(("seconds", run()))
            else:
                quality = side.quality and cases.call(side.quality, state["result"], data, **params)
                pipe.send(("quality", quality))
    except EOFError:
        pass  # the parent is gone
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library in EXTRAS:
            pipe.send(("missing", f"{library} not installed (extra: {EXTRAS[library]})"))
        else:
            pipe.send(("failed", traceback.format_exc()))
    except Exception:
        pipe.send(("failed", traceback.format_exc()))


def reset_peak():
    """Start the high-water mark of this process anew (Linux; elsewhere it runs from the start)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory(kind):
    """Resident bytes of this process, "current" or "peak"; None where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        values = dict(line.split(":", 1) for line in lines)
        return 1024 * int(values[{"current": "VmRSS", "peak": "VmHWM"}[kind]].split()[0])
    except (OSError, KeyError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


# --- in the process that asks -----------------------------------------------------------------


class Failed(Exception):
    """A side raised, or died."""


class Missing(Exception):
    """A side's optional library is not installed."""


class Worker:
    """The process of one side, asked by `ask`."""

    def __init__(self, subject, case, side, params):
        context = multiprocessing.get_context("spawn")
        self.name = side
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(theirs, subject, case.name, side, params)
        )
        self.process.start()
        theirs.close()

    def answer(self):
        try:
            kind, value = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode
            raise Failed(f"its process died (exit status {code})") from None
        if kind == "missing":
            raise Missing(value)
        if kind == "failed":
            raise Failed(value)
        return value

    def ask(self, request):
        with contextlib.suppress(BrokenPipeError):
            self.pipe.send(request)
        return self.answer()

    def close(self):
        with contextlib.suppress(BrokenPipeError, OSError):
            self.pipe.send("stop")
        self.pipe.close()
        self.process.join()
