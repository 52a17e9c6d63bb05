"""L2-boosting of Parquet files through Dask, against reading them and a fit of one chunk at a time.

    python benchmarks/larger_than_memory.py                      5e6 rows in 10 files, 2 workers
    python benchmarks/larger_than_memory.py --rows 5e7 --files 50 --workers 1 2

The targets are an additive function of 10 float32 columns plus noise. "chunked" is a `fit` of the
Dask data frame, by workers of one thread each, with the peak of the memory of a worker; "by hand"
is one process that reads one file after the other and calls `partial_fit`, with the bins of the
same edges. The last columns compare with "reading", all files read once, plus "by hand" without it.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Compare the checkout that this file belongs to, whatever is installed.
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
from measuring import memory, reset_peak

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


def read_all(paths):
    start = time.perf_counter()
    for path in paths:
        pd.read_parquet(path)
    return time.perf_counter() - start


def by_hand(paths, edges):
    """The seconds that are not spent on reading, and the model."""
    model, seconds = L2BoostingRegressor("cv", bin_edges=edges, max_memory=4096), 0.0
    for path in paths:
        chunk = pd.read_parquet(path)
        start = time.perf_counter()
        model.partial_fit(chunk[COLUMNS], chunk["y"], refit=path == paths[-1])
        seconds += time.perf_counter() - start
    return seconds, model


def chunked(paths, n_workers):
    """The seconds, the peak of a worker's memory in bytes, and the model."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        warm_up = dd.read_parquet(paths[:n_workers]).partitions[:n_workers]
        L2BoostingRegressor("cv").fit(warm_up[COLUMNS], warm_up["y"])
        client.run(reset_peak)
        start = time.perf_counter()
        frame = dd.read_parquet(paths)
        model = L2BoostingRegressor("cv").fit(frame[COLUMNS], frame["y"])
        seconds = time.perf_counter() - start
        return seconds, max(client.run(memory, "peak").values()), model


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--folder", type=Path, help="where to keep the files, or where they are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths = sorted(folder.glob("*.parquet"))
        if not paths:
            paths = write_files(folder, int(options.rows), options.files)
        size = sum(path.stat().st_size for path in paths)
        print(f"{options.rows:.0e} rows in {len(paths)} files of {size / 2**20:.0f} MB", flush=True)
        results = {}
        for n_workers in options.workers:
            seconds, peak, model = chunked(paths, n_workers)
            results[n_workers] = seconds
            print(
                f"chunked, {n_workers} workers: {seconds:.1f} s, {peak / 2**30:.2f} GB a worker, "
                f"excess {excess(model):.2g}",
                flush=True,
            )
        reading = read_all(paths)
        seconds, by_one = by_hand(paths, model.bin_edges_)
        print(f"reading {reading:.1f} s, by hand {seconds:.1f} s, excess {excess(by_one):.2g}")
        for n_workers, own in results.items():
            print(
                f"{n_workers} workers: {own / (reading + seconds):.2f} of reading + by hand "
                "(required 1.3)"
            )


if __name__ == "__main__":
    main()
