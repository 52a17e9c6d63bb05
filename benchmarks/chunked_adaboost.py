"""The time of a round of AdaBoost on a Dask cluster of two processes, and in one process.

    python benchmarks/chunked_adaboost.py --rows 4000000 --rounds 40

Three fits of the same rows, of 10 columns of single precision, by stumps of 255 bins:

- memory: arrays, in one process (a round of stumps takes one thread);
- threads: Dask collections, on Dask's threads in one process, two of them;
- cluster: Dask collections, on a LocalCluster of two processes of one thread.

A round on the cluster is to take at most the time of one in a single process with two threads, the
better of the first two, plus 30 ms. Both parts, the time and the ratio, are printed; the fits take
turns, so that other work of the machine slows all of them.
"""

import argparse
import statistics
import time

import numpy as np

from sklearn_ensemble_theory import AdaBoostClassifier
from sklearn_ensemble_theory.boosting._loop import BoostingRounds
from sklearn_ensemble_theory.boosting._reweighting.adaboost_blocks import SummedRounds
from sklearn_ensemble_theory.erm import DecisionStumpClassifier

ALLOWED_OVERHEAD = 0.030


class Timed:
    """The times of the rounds that are taken from a class of rounds; the first is left out."""

    def __init__(self, rounds):
        self.rounds, self.plain, self.seconds = rounds, rounds.__next__, []

    def __enter__(self):
        def take(iterator):
            start = time.perf_counter()
            found = self.plain(iterator)
            self.seconds.append(time.perf_counter() - start)
            return found

        self.rounds.__next__ = take
        return self

    def __exit__(self, *error):
        self.rounds.__next__ = self.plain
        del self.seconds[:1]


def data(n_rows, n_chunks):
    """Lazy rows: X of shape (n_rows, 10) and labels."""
    import dask.array as da

    X = da.random.default_rng(0).standard_normal(
        (n_rows, 10), chunks=(-(-n_rows // n_chunks), 10), dtype=np.float32
    )
    noise = da.random.default_rng(1).standard_normal(n_rows, chunks=X.chunks[0])
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.5 * np.sin(3 * X[:, 3]) + noise > 0).astype(np.int8)
    return X, y


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()

    import dask
    from distributed import Client, LocalCluster

    model = AdaBoostClassifier(
        DecisionStumpClassifier(max_bins=255), n_estimators=options.rounds, variant="discrete"
    )
    times, models = {"memory": [], "threads": [], "cluster": []}, {}

    def fit(side, rounds, X, y):
        with Timed(rounds) as timed:
            start = time.perf_counter()
            models[side] = model.fit(X, y).estimator_weights_
            total = time.perf_counter() - start
        times[side].append(statistics.median(timed.seconds))
        print(
            f"  {side:8} {1e3 * times[side][-1]:7.1f} ms a round, {total:6.1f} s in all", flush=True
        )

    lazy = data(options.rows, options.chunks)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        for _ in range(options.repeats):
            with dask.config.set(scheduler="threads", num_workers=2):
                X, y = dask.compute(*lazy)
                fit("memory", BoostingRounds, X, y)
                del X, y
                fit("threads", SummedRounds, *lazy)
            with Client(cluster):
                fit("cluster", SummedRounds, *dask.persist(*lazy))
    same = np.array_equal(models["threads"], models["cluster"])
    found = {side: statistics.median(seconds) for side, seconds in times.items()}
    best = min(found["memory"], found["threads"])
    over = found["cluster"] - best
    print(f"cluster / memory {found['cluster'] / found['memory']:.2f}")
    print(f"cluster / threads {found['cluster'] / found['threads']:.2f}")
    print(f"cluster - best of one process {1e3 * over:.1f} ms, of 30 ms that are allowed")
    print(f"same bits on both schedulers: {same}")


if __name__ == "__main__":
    main()
