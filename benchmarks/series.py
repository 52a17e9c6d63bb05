"""Coverage, width and time of intervals of a time series at 90 %, beside MAPIE's EnbPI.

    python benchmarks/series.py                     20 series: some five minutes
    python benchmarks/series.py --series 2

Two features with smooth functions, and autoregressive errors with a correlation of 0.7, whose noise
doubles 500 steps after the 500 training rows. Targets become known in batches of 25. "before" and
"after" are the coverage of the 500 steps before the change and of the last 500 of 1,000 after it,
"width" the mean width in these phases. "ms" is the processor time of the intervals and the update
of a batch, the median over the series.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.ensemble import RandomForestRegressor as PeerForest

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.averaging import SeriesIntervals

N = 500
BATCH = 25


def series(seed):
    """Training rows, then 500 rows of the same noise and 1,000 of the double."""
    rng = np.random.default_rng(seed)
    n = 4 * N
    X, shocks, error = rng.random((n, 2)), rng.standard_normal(n), np.zeros(n)
    for t in range(1, n):
        error[t] = 0.7 * error[t - 1] + np.sqrt(1 - 0.7**2) * shocks[t]
    y = 2 * np.sin(6 * X[:, 0]) + 2 * X[:, 1] + np.where(np.arange(n) < 2 * N, 1, 2) * error
    return X, y


def fitted(X, y, seed):
    return RandomForestRegressor(
        100, bootstrap="moving_block", min_samples_leaf=5, oob_score=True, random_state=seed
    ).fit(X[:N], y[:N])


def jackknife_plus(X, y, seed):
    model = fitted(X, y, seed)
    model.predict_interval(X[:1])  # the trees are laid out
    ends, spent = [], 0.0
    for start in range(N, 4 * N, BATCH):
        begin = time.process_time()
        ends.append(model.predict_interval(X[start : start + BATCH]))
        spent += time.process_time() - begin
    return np.concatenate(ends), 1000 * spent / len(ends)


def enbpi(method, has_updates, window=None):
    def run(X, y, seed):
        intervals = SeriesIntervals(fitted(X, y, seed))
        intervals.predict_interval(X[:1], method=method)  # the trees are laid out
        ends, spent = [], 0.0
        for start in range(N, 4 * N, BATCH):
            part = slice(start, start + BATCH)
            begin = time.process_time()
            ends.append(intervals.predict_interval(X[part], method=method))
            if has_updates:
                intervals = intervals.update(X[part], y[part], window)
            spent += time.process_time() - begin
        return np.concatenate(ends), 1000 * spent / len(ends)

    return run


def peer(has_updates, optimize_beta):
    def run(X, y, seed):
        from mapie.regression import TimeSeriesRegressor
        from mapie.subsample import BlockBootstrap

        forest = PeerForest(10, min_samples_leaf=5, random_state=seed)
        cv = BlockBootstrap(10, length=8, overlapping=True, random_state=seed)
        model = TimeSeriesRegressor(forest, method="enbpi", cv=cv, agg_function="mean")
        model.fit(X[:N], y[:N])
        ends, spent = [], 0.0
        for start in range(N, 4 * N, BATCH):
            part = slice(start, start + BATCH)
            begin = time.process_time()
            options = {"ensemble": True, "optimize_beta": optimize_beta}
            _, found = model.predict(X[part], confidence_level=0.9, **options)
            ends.append(found[:, :, 0])
            if has_updates:
                model.update(X[part], y[part], ensemble=True)
            spent += time.process_time() - begin
        return np.concatenate(ends), 1000 * spent / len(ends)

    return run


SIDES = {
    "jackknife+": jackknife_plus,
    "enbpi, no updates": enbpi("narrowest", False),
    "enbpi": enbpi("narrowest", True),
    "enbpi, window 200": enbpi("narrowest", True, 200),
    "enbpi-symmetric": enbpi("symmetric", True),
    "MAPIE, no updates": peer(False, False),
    "MAPIE": peer(True, False),
    "MAPIE, optimize_beta": peer(True, True),
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=20)
    options = parser.parse_args(arguments)
    print("intervals              before  width   after  width     ms")
    for name, run in SIDES.items():
        rows, times = [], []
        for seed in range(options.series):
            X, y = series(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the peer, about its own parameters
                ends, spent = run(X, y, seed)
            hits = (ends[:, 0] <= y[N:]) & (y[N:] <= ends[:, 1])
            width = ends[:, 1] - ends[:, 0]
            first, last = slice(0, N), slice(2 * N, 3 * N)
            rows.append([hits[first].mean(), width[first].mean(), hits[last].mean()])
            rows[-1].append(width[last].mean())
            times.append(spent)
        a, b, c, d = np.mean(rows, axis=0)
        print(
            f"{name:22} {a:6.3f}  {b:5.2f}  {c:6.3f}  {d:5.2f}  {np.median(times):5.2f}", flush=True
        )

    return 0


if __name__ == "__main__":
    raise SystemExit(main())
