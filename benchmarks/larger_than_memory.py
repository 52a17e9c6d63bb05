"""L2-boosting of Parquet files through Dask, against one process that reads file by file.

    python benchmarks/larger_than_memory.py                      5e6 rows in 10 files, 2 workers
    python benchmarks/larger_than_memory.py --rows 5e7 --files 50 --workers 1 2 --repeats 3

The targets are an additive function of 10 float32 columns plus noise. "chunked" is a `fit` of the
Dask data frame, by workers of one thread each, with the peak of the memory of a worker; "by hand"
is one process that reads one file after the other and calls `partial_fit`, with the bins of the
first file, and again with the bins given. The sides alternate; seconds are medians, on the clock
and of processors. Bins of all rows are only found by "chunked", which reads the files twice.
"""

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measuring import memory, reset_peak
from sklearn import set_config

from sklearn_ensemble_theory import L2BoostingRegressor

COLUMNS = [f"x{j}" for j in range(10)]


def truth(X):
    return 4 * np.sin(3 * X[:, 0]) + 2 * np.abs(X[:, 1]) + X[:, 2] + (X[:, 3] > 0.3)


def write_files(folder, n_rows, n_files):
    for number, n in enumerate(np.diff(np.linspace(0, n_rows, n_files + 1).astype(int))):
        rng = np.random.default_rng(number)
        X = rng.standard_normal((n, len(COLUMNS)), dtype=np.float32)
        frame = pd.DataFrame(X, columns=COLUMNS)
        frame["y"] = truth(X).astype(np.float32) + rng.standard_normal(n, dtype=np.float32)
        frame.to_parquet(folder / f"part{number:04}.parquet", index=False)
    return sorted(folder.glob("*.parquet"))


def excess(model):
    X = np.random.default_rng(10**6).standard_normal((100_000, len(COLUMNS)), dtype=np.float32)
    X = pd.DataFrame(X, columns=COLUMNS)
    return float(np.mean((model.predict(X) - truth(X.to_numpy())) ** 2))


def by_hand(paths, edges):
    """The seconds on the clock and of the processor, those of reading, and the model."""
    model, reading = L2BoostingRegressor("cv", max_bins=edges), 0.0
    set_config(working_memory=4096)
    start, cpu = time.perf_counter(), time.process_time()
    for path in paths:
        before = time.perf_counter()
        chunk = pd.read_parquet(path)
        reading += time.perf_counter() - before
        model.partial_fit(chunk[COLUMNS], chunk["y"], refit=path == paths[-1])
    return time.perf_counter() - start, time.process_time() - cpu, reading, model


@contextlib.contextmanager
def workers(number, paths):
    """A function that fits; its seconds, those of processors, and a worker's peak in bytes."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    def fit(some):
        frame = dd.read_parquet(some)
        return L2BoostingRegressor("cv").fit(frame[COLUMNS], frame["y"])

    def run():
        client.run(reset_peak)
        before = sum(client.run(time.process_time).values()) + time.process_time()
        start = time.perf_counter()
        model = fit(paths)
        seconds = time.perf_counter() - start
        cpu = sum(client.run(time.process_time).values()) + time.process_time() - before
        return seconds, cpu, max(client.run(memory, "peak").values()), model

    with (
        LocalCluster(
            n_workers=number, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        fit(paths[: 2 * number])
        yield run


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where to keep the files, or where they are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths = sorted(folder.glob("*.parquet"))
        if not paths:
            paths = write_files(folder, int(options.rows), options.files)
        size = sum(path.stat().st_size for path in paths)
        print(f"{len(paths)} files of {size / 2**20:.0f} MB", flush=True)
        for number in options.workers:
            compare(paths, number, options.repeats)


def compare(paths, number, repeats):
    """Measure the sides in alternation and print them."""
    own, hand, given = [], [], []
    with workers(number, paths) as run:
        for _ in range(repeats):
            own.append(run())
            hand.append(by_hand(paths, None))
            given.append(by_hand(paths, own[-1][-1].bin_edges_))
    print(f"{number} workers: a worker's memory {max(each[2] for each in own) / 2**30:.2f} GB")
    names = "chunked", "by hand", "by hand, bins given"
    for name, found in zip(names, (own, hand, given)):
        clock, cpu = (np.median([each[k] for each in found]) for k in range(2))
        line = f"{name:20} {clock:6.1f} s  {cpu:6.1f} s of processors  "
        ratios = [one[0] / each[0] for one, each in zip(own, found)]
        if found is not own:
            reading = np.median([each[2] for each in found])
            line += (
                f"reading {reading:.1f} s, chunked / it {np.median(ratios):.2f} (required 1.3)  "
            )
        print(line + f"excess {excess(found[-1][-1]):.2g}", flush=True)


if __name__ == "__main__":
    main()
