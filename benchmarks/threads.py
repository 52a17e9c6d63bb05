"""How far threads shorten fits and predictions, and what the model of the design page expects.

    python benchmarks/threads.py                         100,000 and 1,000,000 rows, all cores
    python benchmarks/threads.py --rows 100000 --threads 1 2 4 8 --runs 9

The numbers of threads take turns; a line has the median over the runs of their seconds, as shares
of those of one thread in the same turn, and the seconds of processors as shares in the same way. A
share of 1 in the last column means that threads cost nothing. Run it where all cores are idle.

The model of a round of depth 3: 0.02 ms and 15 lists of tasks of 0.01 ms stay serial; the rest is
divided by the threads, but no faster than memory gives 320 bytes a row, once the numbers of all
rows exceed the last cache. Its bandwidth is measured first, by copies of a large array in as many
threads.
"""

import argparse
import itertools
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sklearn_ensemble_theory import GradientBoostingRegressor, RandomForestRegressor

N_FEATURES, N_ROUNDS, N_TREES = 20, 100, 50
SERIAL, LISTS, A_LIST, BYTES = 2e-5, 15, 1e-5, 320
COPIED = 2**24  # numbers of eight bytes, beyond all caches
CACHED = 2**18  # rows whose integers of gradients stay in the last cache


def data(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, N_FEATURES)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + rng.standard_normal(n)


def bandwidth(n_threads):
    """Bytes that are read and written in a second by copies of parts of an array in threads."""
    source, target = np.ones(COPIED), np.empty(COPIED)
    ends = np.linspace(0, COPIED, n_threads + 1).astype(int)
    parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
    best = np.inf
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))
            best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best


def expected(one, n, n_threads, speed):
    """The share of the seconds of one thread that the model gives for rounds of depth 3."""
    fixed = N_ROUNDS * (SERIAL + (LISTS * A_LIST if n_threads > 1 else 0.0))
    work = max(one - N_ROUNDS * SERIAL, 0.0)
    memory = N_ROUNDS * BYTES * n / speed if n > CACHED else 0.0
    return (fixed + max(work / n_threads, memory)) / one


def fits(X, y):
    """What is measured: the name, a function of the number of threads, whether there is a model."""
    boosting = GradientBoostingRegressor(n_estimators=N_ROUNDS, random_state=0)
    leaves = {"max_depth": None, "max_leaf_nodes": 31}
    forest = RandomForestRegressor(N_TREES, max_features=1 / 3, random_state=0)
    fitted = RandomForestRegressor(N_TREES, random_state=0).fit(X[:20_000], y[:20_000])

    def with_threads(model, **more):
        return lambda k: model.set_params(n_jobs=k, **more).fit(X, y)

    yield "boosting, depth 3", with_threads(boosting, max_depth=3, max_leaf_nodes=None), True
    yield "boosting, 31 leaves", with_threads(boosting, **leaves), False
    yield "forest", with_threads(forest), False
    yield "predictions of a forest", lambda k: fitted.set_params(n_jobs=k).predict(X), False


def timed(run, n_threads):
    cpu, start = time.process_time(), time.perf_counter()
    run(n_threads)
    return time.perf_counter() - start, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    powers = sorted({2**k for k in range(cores.bit_length()) if 2**k <= cores} | {cores})
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--threads", type=int, nargs="+", default=powers)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    numbers = sorted({1, *args.threads})
    speeds = {k: bandwidth(k) for k in numbers}
    print("memory, GB a second: " + ", ".join(f"{k}: {v / 1e9:.1f}" for k, v in speeds.items()))
    print(
        f"{'':26}{'rows':>9}{'threads':>8}{'seconds':>9}{'share':>7}{'model':>7}{'processors':>12}"
    )
    for n in args.rows:
        X, y = data(n)
        for name, run, has_model in fits(X, y):
            run(1)  # the first run of a process is another question
            turns = [[timed(run, k) for k in numbers] for _ in range(args.runs)]
            one = statistics.median(turn[0][0] for turn in turns)
            for j, k in enumerate(numbers):
                share, cpu = (
                    statistics.median(turn[j][part] / turn[0][part] for turn in turns)
                    for part in (0, 1)
                )
                seconds = statistics.median(turn[j][0] for turn in turns)
                model = f"{expected(one, n, k, speeds[k]):.2f}" if has_model else ""
                print(
                    f"{name:26}{n:>9}{k:>8}{seconds:>9.3f}{share:>7.2f}{model:>7}{cpu:>12.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
