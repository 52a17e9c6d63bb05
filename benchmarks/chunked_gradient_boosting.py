"""The time of a round of gradient boosting on a Dask cluster of two processes, and in one process.

    python benchmarks/chunked_gradient_boosting.py --rows 200000 --chunks 8 --depth 3

A round is the difference of a fit with more rounds and one with few, divided by the rounds between.
The sides take turns; each line has the median and the least of the repeats, and the processor time
of all processes. A round on the cluster is to take at most that in memory plus 40 ms, and 15 ms for
each level of the trees.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from sklearn_ensemble_theory import GradientBoostingRegressor

FEW = 3


def seconds(X, y, depth, n_rounds, cpu):
    """Those of a fit, on the clock and of processors."""
    model = GradientBoostingRegressor(
        n_estimators=n_rounds, max_depth=depth, max_bins=64, random_state=0
    )
    before, start = cpu(), time.perf_counter()
    model.fit(X, y)
    return np.array([time.perf_counter() - start, cpu() - before])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=2e5)
    parser.add_argument("--chunks", type=int, default=8)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    import dask.array as da
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    n = int(options.rows)
    X = rng.standard_normal((n, 10), dtype=np.float32)
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * rng.standard_normal(n)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):

        def cpu():
            return sum(client.run(time.process_time).values()) + time.process_time()

        size = -(-n // options.chunks)
        lazy = [da.from_array(one, chunks=(size, *one.shape[1:])).persist() for one in (X, y)]
        sides = {"memory": (X, y), "cluster": lazy}
        found = {name: [] for name in sides}
        for repeat in range(options.repeats + 1):
            for name, rows in sides.items():
                few, more = (
                    seconds(*rows, options.depth, rounds, cpu)
                    for rounds in (FEW, FEW + options.rounds)
                )
                if repeat:  # the first one warms up
                    found[name].append((more - few) / options.rounds * 1e3)
    for name, rounds in found.items():
        clock, processors = np.transpose(rounds)
        print(
            f"{name:8} a round {np.median(clock):6.1f} ms (least {clock.min():.1f}), "
            f"of processors {np.median(processors):.1f} ms"
        )
    over = np.median(np.subtract(found["cluster"], found["memory"])[:, 0])
    print(f"over memory {over:.1f} ms (required {40 + 15 * options.depth})")


if __name__ == "__main__":
    main()
