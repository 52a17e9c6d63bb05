"""What BLAS's threads cost a fit: the processor time with two and with one, on a busy machine too.

Threads that wait for others spin. Beside other busy processes those that have work wait for a
processor meanwhile, and a fit of many small products has taken 40 times the time.
"""

import statistics
import subprocess
import sys
import time

import numpy as np

from cases import Case, Side, register, split

# name -> (class, parameters, rows, columns)
LEARNERS = {
    "pursuit": (
        "MatchingPursuitRegressor",
        {"n_estimators": 60, "variant": "orthogonal"},
        *(1_500, 2_500),
    ),
    "frank-wolfe": (
        "FrankWolfeRegressor",
        {"radius": 2.0, "n_estimators": 300, "variant": "away"},
        *(1_500, 2_500),
    ),
    "l2-boosting": ("L2BoostingRegressor", {"n_estimators": "cv", "interactions": 3}, 5_000, 14),
    "logit-boost": ("LogitBoostClassifier", {"n_estimators": "cv"}, 30_000, 14),
    "linear-boosting": ("LinearL2BoostingRegressor", {}, 2_000, 5),
    "kernel-boosting": ("LinearL2BoostingRegressor", {"estimator": "kernel ridge"}, 600, 3),
    "splines": ("SmoothingSplineRegressor", {}, 5_000, 5),
    "projections": ("RandomProjectionRegressor", {}, 300, 1_000),
    "sketches": ("SketchedLinearRegression", {}, 100_000, 20),
    "histogram": ("HistogramRegressor", {}, 20_000, 3),
    "best-column": ("BestColumnRegressor", {}, 20_000, 50),
    "stump": ("DecisionStumpRegressor", {}, 20_000, 20),
}


def rows_for(seed, learner):
    name, _, n, p = LEARNERS[learner]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.standard_normal(n)
    return split(X, y > 0 if name.endswith("Classifier") else y, n)


def model(data, learner):
    import sklearn_ensemble_theory

    name, params, *_ = LEARNERS[learner]
    if "estimator" in params:
        from sklearn.kernel_ridge import KernelRidge

        params = {"estimator": KernelRidge(kernel="rbf")}
    return getattr(sklearn_ensemble_theory, name)(**params)


def fits(model, data, n_busy):
    """The median processor time of three fits beside so many busy processes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_busy)]
    try:
        seconds = []
        for _ in range(3):
            start = time.process_time()
            model.fit(data.X, data.y)
            time.sleep(0.1)  # threads go on spinning
            seconds.append(time.process_time() - start)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return statistics.median(seconds)


def fits_with_one_thread(model, data, n_busy):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        return fits(model, data, n_busy)


def processor_time(seconds, data):
    return seconds


for name, title, n_busy in (
    ("blas-threads", "two threads of BLAS and one", 0),
    ("busy-machine", "two threads of BLAS and one, beside two busy processes", 2),
):
    register(
        Case(
            name=name,
            title=f"processor time of fits with {title}",
            data=rows_for,
            params={"learner": "pursuit", "n_busy": n_busy, "threads": 2},
            quick={"learner": ("kernel-boosting",)},
            vary={"learner": tuple(LEARNERS)},
            sides={"ours": model, "one thread": Side(model, run=fits_with_one_thread)},
            run=fits,
            quality=processor_time,
            metric="CPU s",
            quality_ratio=1.2,
            runs=1,
        )
    )
