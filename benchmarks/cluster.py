"""Fits of Dask collections on a local cluster: growth in chunks, rows and rounds, beside others.

    python benchmarks/cluster.py                          all rows but those named below, 5 min
    python benchmarks/cluster.py rounds memory            some of the rows
    python benchmarks/cluster.py chunks --chunks 10000    rows that take longer
    python benchmarks/cluster.py spill                    three times the workers' memory
    python benchmarks/cluster.py files --rows 5e7 --files 50 --workers 2 --repeats 2

- chunks: a fit of 200 rows a chunk, which is what Dask and the reading of chunks cost.
- rounds: what the scheduler holds, and what a round sends, of gradient boosting.
- rows, memory: seconds, and the bytes that the workers keep of a row.
- peers: gradient boosting beside LightGBM's and XGBoost's on the same cluster, and the fit in
  memory by one thread; the error on new rows is beside the time.
- adaboost: a round of AdaBoost in memory, on Dask's threads, and on the cluster.
- forests: trees of one chunk each, and of all chunks, of random and of sorted rows; the error on
  new rows and what the client receives.
- files: L2-boosting of Parquet files, beside one process that calls `partial_fit` file by file.
- spill: gradient boosting of rows that do not fit into the memory of the workers. It has a cluster
  of its own, takes five minutes or more, and writes some GB to the temporary folder.

The cluster has two processes of one thread. "CPU" are seconds of processors, of all processes; they
are what to compare where other programs use the cores.
"""

import argparse
import contextlib
import os
import pickle
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, SchedulerPlugin
from measuring import memory, reset_peak
from sklearn import set_config

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    RandomForestRegressor,
    _blocks,
)
from sklearn_ensemble_theory.erm import DecisionStumpClassifier

N_FEATURES = 10
COLUMNS = [f"x{j}" for j in range(N_FEATURES)]
A_CHUNK = 200  # rows, where the time of a chunk is that of Dask


def boosting(n_rounds, depth=3, **options):
    return GradientBoostingRegressor(
        n_estimators=n_rounds, max_depth=depth, max_bins=64, random_state=0, **options
    )


def truth(X):
    return 4 * np.sin(3 * X[:, 0]) + 2 * np.abs(X[:, 1]) + X[:, 2] * (X[:, 3] > 0.3)


def rows_in_memory(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    return X, (truth(X) + rng.standard_normal(n)).astype(np.float32)


def chunked(n, n_chunks):
    """Rows in memory, as lazy chunks."""
    size = -(-n // n_chunks)
    return [da.from_array(one, chunks=(size, *one.shape[1:])) for one in rows_in_memory(n)]


def made_on_workers(n, n_chunks):
    """Rows that each task makes, in place of reading a file."""
    size = -(-n // n_chunks)
    rng = da.random.default_rng(0)
    X = rng.standard_normal((n, N_FEATURES), chunks=(size, N_FEATURES), dtype=np.float32)
    return X, X.map_blocks(lambda block: truth(block).astype(np.float32), drop_axis=1, dtype="f4")


# --- what is measured -----------------------------------------------------------------------------


class Watched(SchedulerPlugin):
    """The tasks that the scheduler held at most, those that ran, and what blocks kept, in bytes."""

    name = "watched"

    def __init__(self, scheduler):
        self.scheduler, self.held, self.ran, self.kept = scheduler, 0, 0, 0

    def transition(self, key, start, finish, *args, **kwargs):
        if start == "processing" and finish == "memory":
            tasks = self.scheduler.tasks
            self.ran += 1
            self.held = max(self.held, len(tasks))
            if "added" in str(key) or "_sum" in str(key):
                names = "('_applied", "('_sum"
                kept = [one for one in tasks.values() if str(one.key).startswith(names)]
                self.kept = max(self.kept, sum(one.nbytes for one in kept if one.who_has))


@contextlib.contextmanager
def cluster(n_workers=2, **options):
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            **options,
        ) as own,
        Client(own) as client,
    ):
        client.run(lambda: __import__("sklearn_ensemble_theory.boosting"))
        yield client


def measured(client, fit):
    """The model; seconds on the clock, of the client and scheduler, and of the workers."""

    def of_workers():
        return sum(client.run(time.process_time).values()) if client else 0.0

    workers, own, start = of_workers(), time.process_time(), time.perf_counter()
    model = fit()
    seconds = time.perf_counter() - start
    own = time.process_time() - own
    return model, np.array([seconds, own, of_workers() - workers])


def watched(client, fit):
    """What Dask did in a fit: passes over blocks and bytes to the client too; and what it gave."""
    plugin, computed = Watched(client.cluster.scheduler), _blocks.computed
    plugin.passes = plugin.sent = 0

    def counted(tasks):
        found = computed(tasks)
        plugin.passes += 1
        plugin.sent += len(pickle.dumps(found))
        return found

    _blocks.computed = counted
    client.cluster.scheduler.add_plugin(plugin)
    try:
        return plugin, fit()
    finally:
        client.cluster.scheduler.remove_plugin(plugin.name)
        _blocks.computed = computed


def line(*parts):
    print("  ".join(map(str, parts)), flush=True)


def in_words(seconds):
    clock, own, workers = seconds
    return f"{clock:7.2f} s, CPU {own + workers:7.2f} s (client and scheduler {own:.2f})"


# --- rows of the table ----------------------------------------------------------------------------


def chunks(client, options):
    models = {"gradient boosting, 2 rounds": boosting(2, 2), "L2-boosting": L2BoostingRegressor(20)}
    for name, model in models.items():
        few = None
        for n in options.chunks:
            rows = chunked(A_CHUNK * n, n)
            _, seconds = measured(client, lambda model=model, rows=rows: model.fit(*rows))
            more = ""
            if few:
                a_chunk = 1e3 * (seconds - few[1]) / (n - few[0])
                more = f"a chunk more {a_chunk[0]:5.1f} ms, client and scheduler {a_chunk[1]:.2f}"
            few = few or (n, seconds)
            line(f"chunks  {name:28} {n:6} chunks {in_words(seconds)}", more)


def rounds(client, options):
    for n in options.rounds:
        rows = chunked(20_000, 8)
        found, (_, seconds) = watched(
            client, lambda n=n, rows=rows: measured(client, lambda: boosting(n).fit(*rows))
        )
        line(
            f"rounds  {n:4} rounds  {1e3 * seconds[0] / n:6.1f} ms a round,",
            f"CPU {1e3 * (seconds[1] + seconds[2]) / n:.1f} ms, tasks held {found.held},",
            f"of a round: passes {found.passes / n:.1f}, tasks {found.ran / n:.1f},",
            f"kB to the client {found.sent / n / 1e3:.0f}",
        )


def rows(client, options):
    for n in options.table_rows:
        n = int(n)
        table = made_on_workers(n, 16)
        few, more = (
            measured(client, lambda k=k, table=table: boosting(k).fit(*table))[1] for k in (2, 12)
        )
        a_round = 1e5 * (more - few)[1:].sum() / n
        reading = 1e6 * few[1:].sum() / n - 2 * a_round
        line(
            f"rows    {n:9} rows, 12 rounds {in_words(more)}",
            f"CPU of a row: to make it twice, check and code it {reading:.2f} µs,",
            f"a round {a_round:.3f} µs",
        )


def memory_of_rows(client, options):
    n = 1_000_000
    kinds = {"of single precision": np.float32, "of double precision": np.float64}
    for name, kind in kinds.items():
        X, y = made_on_workers(n, 16)
        y = y + da.random.default_rng(1).standard_normal(n, chunks=y.chunks)
        y = y.astype(kind)
        client.run(reset_peak)
        before = sum(client.run(memory, "current").values())
        found, _ = watched(client, lambda X=X, y=y: boosting(4).fit(X, y))
        peak = sum(client.run(memory, "peak").values())
        line(
            f"memory  {n} rows of {N_FEATURES} columns, targets {name}:",
            f"{found.kept / n:.1f} bytes a row kept, {(peak - before) / n:.0f} of the processes",
        )


def peers(client, options):
    n, n_rounds, depth = int(options.peer_rows), options.peer_rounds, 5
    X, y = rows_in_memory(n)
    lazy = [part.persist() for part in chunked(n, 8)]
    new = rows_in_memory(100_000, 1)
    sides = {
        "memory, 1 thread": (None, lambda: boosting(n_rounds, depth).fit(X, y)),
        "Dask": (client, lambda: boosting(n_rounds, depth).fit(*lazy)),
    }
    shape = {"n_estimators": n_rounds, "max_depth": depth, "learning_rate": 0.1, "max_bin": 64}
    with contextlib.suppress(ImportError):
        import lightgbm.dask

        shaped = {**shape, "num_leaves": 2**depth, "verbose": -1}
        sides["LightGBM's Dask"] = (
            client,
            lambda: lightgbm.dask.DaskLGBMRegressor(**shaped).fit(*lazy).to_local(),
        )
    with contextlib.suppress(ImportError):
        import xgboost.dask

        def with_xgboost():
            data = xgboost.dask.DaskQuantileDMatrix(client, *lazy, max_bin=64)
            params = {"max_depth": depth, "eta": 0.1, "max_bin": 64, "tree_method": "hist"}
            found = xgboost.dask.train(client, params, data, num_boost_round=n_rounds)
            return found["booster"]

        sides["XGBoost's Dask"] = (client, with_xgboost)
    found, models = {name: [] for name in sides}, {}
    for _ in range(options.repeats):
        for name, (of, fit) in sides.items():
            models[name], seconds = measured(of, fit)
            found[name].append(seconds)
    for name, seconds in found.items():
        model = models[name]
        X_new = new[0]
        if name.startswith("XGBoost"):
            X_new = xgboost.DMatrix(X_new)
        error = np.sqrt(np.mean((model.predict(X_new) - truth(new[0])) ** 2))
        middle = np.median(seconds, axis=0)
        line(f"peers   {name:18} {n} rows, {n_rounds} rounds {in_words(middle)}  error {error:.4f}")


def adaboost(client, options):
    n = int(options.adaboost_rows)
    X, y = made_on_workers(n, 4)
    noise = da.random.default_rng(1).standard_normal(n, chunks=X.chunks[0])
    X, y = dask.persist(X, (y + noise > 0).astype(np.int8))
    in_memory = dask.compute(X, y)
    threads = [da.from_array(one, chunks=(n // 4, *one.shape[1:])) for one in in_memory]
    sides = {
        "memory": (in_memory, "synchronous"),
        "threads": (threads, "threads"),
        "cluster": ((X, y), client.get),
    }
    stump, weights = DecisionStumpClassifier(max_bins=255), {}
    for name, (table, scheduler) in sides.items():
        seconds = []
        for k in (5, 35):
            model = AdaBoostClassifier(stump, n_estimators=k, variant="discrete")
            with dask.config.set(scheduler=scheduler, num_workers=2):
                seconds.append(measured(client, lambda model=model, t=table: model.fit(*t))[1])
        weights[name] = model.estimator_weights_
        clock, own, workers = 1e3 * (seconds[1] - seconds[0]) / 30
        line(f"adaboost {name:8} {n} rows {clock:6.1f} ms a round, CPU {own + workers:.1f} ms")
    same = np.array_equal(weights["threads"], weights["cluster"])
    line(f"adaboost same bits on both schedulers: {same}")


def forests(client, options):
    n = int(options.forest_rows)
    X, y = rows_in_memory(n)
    X_new = rows_in_memory(50_000, 1)[0]
    for name, order in {"random": np.arange(n), "sorted": np.argsort(X[:, 0])}.items():
        lazy = [
            da.from_array(one[order], chunks=(-(-n // 8), *one.shape[1:])).persist()
            for one in (X, y)
        ]
        for bootstrap in (True, "poisson"):
            model = RandomForestRegressor(16, bootstrap=bootstrap, random_state=0)
            found, (model, seconds) = watched(
                client, lambda m=model, lazy=lazy: measured(client, lambda: m.fit(*lazy))
            )
            error = np.sqrt(np.mean((model.predict(X_new) - truth(X_new)) ** 2))
            line(
                f"forests {name} rows, bootstrap={bootstrap!s:8} {n} rows {in_words(seconds)}",
                f"passes {found.passes}, {found.sent / 1e6:.0f} MB sent, error {error:.3f}",
            )


def write_files(folder, n_rows, n_files):
    for number, n in enumerate(np.diff(np.linspace(0, n_rows, n_files + 1).astype(int))):
        X, y = rows_in_memory(n, number)
        frame = pd.DataFrame(X, columns=COLUMNS).assign(y=y)
        frame.to_parquet(folder / f"part{number:05}.parquet", index=False)
    return sorted(folder.glob("*.parquet"))


def by_hand(paths, edges):
    model = L2BoostingRegressor("cv", max_bins=edges)
    set_config(working_memory=4096)
    for path in paths:
        chunk = pd.read_parquet(path)
        model.partial_fit(chunk[COLUMNS], chunk["y"], refit=path == paths[-1])
    return model


def files(client, options):
    import dask.dataframe as dd

    with tempfile.TemporaryDirectory() as temporary:
        paths = write_files(Path(temporary), int(options.rows), options.files)
        size = sum(path.stat().st_size for path in paths)
        line(f"files   {len(paths)} of {size / 1e6:.0f} MB together")

        def fit():
            frame = dd.read_parquet(paths)
            return L2BoostingRegressor("cv").fit(frame[COLUMNS], frame["y"])

        own, hand, given = [], [], []
        for _ in range(options.repeats):
            client.run(reset_peak)
            model, seconds = measured(client, fit)
            own.append(seconds)
            hand.append(measured(None, lambda: by_hand(paths, "auto"))[1])
            edges = model.bin_edges_
            given.append(measured(None, lambda edges=edges: by_hand(paths, edges))[1])
        peak = max(client.run(memory, "peak").values()) / 1e9
    for name, found in (("chunks", own), ("by hand", hand), ("by hand, bins given", given)):
        line(f"files   {name:20} {in_words(np.median(found, axis=0))}")
    line(f"files   memory of a worker {peak:.2f} GB")


def spill(options):
    """Three times the memory of the workers, as rows; what is kept of them is more than it, too."""
    limit = options.limit * 1e6
    n = int(3 * 2 * limit / (4 * N_FEATURES))
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(memory_limit=f"{options.limit}MB", local_directory=folder) as client,
    ):
        table = made_on_workers(n, max(16, n // 250_000))
        client.run(reset_peak)
        model, seconds = measured(client, lambda: boosting(3).fit(*table))

        def written(dask_worker):
            metrics = dask_worker.data.cumulative_metrics
            keys = [key for key in metrics if key[0] == "disk-write" and key[-1] == "bytes"]
            return sum(metrics[key] for key in keys)

        disk = sum(client.run(written).values())
        peak = max(client.run(memory, "peak").values())
    line(
        f"spill   {n} rows, {4 * N_FEATURES * n / 1e9:.1f} GB, 2 workers of {limit / 1e9:.1f} GB,",
        f"3 rounds: {in_words(seconds)}, {len(model.estimators_)} rounds, written",
        f"{disk / 1e9:.1f} GB, memory of a worker {peak / 1e9:.2f} GB",
    )


ROWS = {
    "chunks": chunks,
    "rounds": rounds,
    "rows": rows,
    "memory": memory_of_rows,
    "peers": peers,
    "adaboost": adaboost,
    "forests": forests,
    "files": files,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *ROWS, "spill"], help="rows to run")
    parser.add_argument("--chunks", type=int, nargs="+", default=[8, 100, 1000])
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--table-rows", type=float, nargs="+", default=[2.5e5, 1e6, 4e6])
    parser.add_argument("--peer-rows", type=float, default=4e5)
    parser.add_argument("--peer-rounds", type=int, default=50)
    parser.add_argument("--adaboost-rows", type=float, default=2e6)
    parser.add_argument("--forest-rows", type=float, default=4e5)
    parser.add_argument("--rows", type=float, default=2e6, help="of all files")
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--limit", type=int, default=500, help="MB of a worker, for spill")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.names or list(ROWS)
    if others := [name for name in names if name in ROWS]:
        with cluster(options.workers) as client:
            for name in others:
                ROWS[name](client, options)
    if "spill" in names:
        spill(options)


if __name__ == "__main__":
    main()
