"""Fits on a cluster of processes: workers that die, tasks that run once, bytes that are sent."""

import os
import signal
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingClassifier,
    BallConstrainedClassifier,
    DecisionStumpClassifier,
    DivideAndConquerRegressor,
    GradientBoostingRegressor,
    HistogramRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MatchingPursuitRegressor,
    RandomForestRegressor,
    SketchedLinearRegression,
)
from sklearn_ensemble_theory.boosting import CVRounds

from ..surroundings import room_of_worker

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")
sizeof = pytest.importorskip("dask.sizeof").sizeof

N, CHUNK = 6000, 1000


@pytest.fixture(scope="module")
def client():
    # A cluster gives up a worker that is away at this time after it was lost: away again, where
    # tests kill it again and again.
    patience = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows():
    rng = np.random.default_rng(0)
    X = rng.random((N, 4))
    product = 4 * (X[:, 2] - 0.5) * (X[:, 3] - 0.5)
    return X, np.sin(6 * X[:, 0]) + product + 0.3 * rng.standard_normal(N)


def lazy(X, y):
    return da.from_array(X, chunks=(CHUNK, 4)), da.from_array(y, chunks=CHUNK)


def classes(y):
    return (y > 0).astype(int)


def same(y):
    return y


MODELS = {
    "L2-boosting": (L2BoostingRegressor(CVRounds(max_estimators=200)), same),
    "LogitBoost": (LogitBoostClassifier(300, learning_rate=0.1), classes),
    "LogitBoost, pairs": (LogitBoostClassifier(30, max_bins=16, interactions=2), classes),
    "AdaBoost": (AdaBoostClassifier(n_estimators=20), classes),
    "gradient boosting": (GradientBoostingRegressor(n_estimators=5, max_depth=2), same),
    "gradient boosting by folds": (
        GradientBoostingRegressor(n_estimators=CVRounds(3, max_estimators=4), max_depth=2),
        same,
    ),
    "sketches": (SketchedLinearRegression(3, random_state=0, n_refinements=2), same),
    "pursuit": (MatchingPursuitRegressor(4), same),
    "pursuit by folds": (MatchingPursuitRegressor(CVRounds(max_estimators=4)), same),
    "ball": (BallConstrainedClassifier(radius=2.0), classes),
    "histogram": (HistogramRegressor(3), same),
    "blocks": (DivideAndConquerRegressor(LinearRegression(), n_blocks="rate"), same),
    "forest": (RandomForestRegressor(12, max_depth=4, random_state=0), same),
    "forest of all chunks": (
        RandomForestRegressor(4, bootstrap="poisson", max_depth=4, random_state=0),
        same,
    ),
}
# How often every chunk is read, if it is not kept.
PASSES = {"L2-boosting": 2, "pursuit": 1, "pursuit by folds": 2, "forest": 2}


def fitted(name, X, y):
    model, target_of = MODELS[name]
    model = clone(model)
    if name == "blocks" and hasattr(X, "numblocks"):
        model.set_params(n_blocks=X.numblocks[0])
    return model.fit(X, target_of(y))


def test_the_workers_are_processes(client):
    assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 2


class CountTasks(distributed.SchedulerPlugin):
    """How often each task was computed."""

    name = "count tasks"

    def __init__(self):
        self.counts = {}

    def transition(self, key, start, finish, *args, **kwargs):
        if start == "processing" and finish == "memory":
            self.counts[key] = self.counts.get(key, 0) + 1


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_computed_twice_and_only_sums_reach_the_client(client, name, monkeypatch):
    received = []
    get = distributed.Client.get

    def counted(self, *args, **kwargs):
        results = get(self, *args, **kwargs)
        received.append(sizeof(results))
        return results

    monkeypatch.setattr(distributed.Client, "get", counted)
    plugin = CountTasks()
    scheduler = client.cluster.scheduler
    scheduler.add_plugin(plugin)
    try:
        X, y = rows()
        fitted(name, *lazy(X, y))
    finally:
        scheduler.remove_plugin(plugin.name)
    by_chunk = [n for key, n in plugin.counts.items() if str(key).startswith("('_applied")]
    assert set(by_chunk) == {1}
    # A chunk is read in the task that needs it, and is none of its own.
    assert not any("array" in str(key) for key in plugin.counts)
    if name in PASSES:
        assert len(by_chunk) == PASSES[name] * (N // CHUNK)
    # Quantiles of the first pass, at most all values; sums and members do not grow with the rows.
    assert max(received[1:], default=0) < 3e6


def kill_once(block, flag):
    """Kill the process that computes it, the first time."""
    if len(block) and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.parametrize("name", ["L2-boosting", "forest"])  # sums, and members of the chunks
def test_a_worker_that_is_killed_in_a_fit_changes_nothing(client, name, tmp_path):
    X, y = rows()
    expected = fitted(name, *lazy(X, y)).predict(X)
    broken, target = lazy(X, y)
    broken = broken.map_blocks(kill_once, str(tmp_path / "killed"), dtype=float, meta=X[:0])
    found = fitted(name, broken, target).predict(X)
    assert (tmp_path / "killed").exists()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    client.wait_for_workers(2, timeout=120)


@pytest.mark.parametrize("name", ["gradient boosting", "gradient boosting by folds"])
def test_gradient_boosting_has_the_same_bits_wherever_the_chunks_are(client, name):
    """Chunks of a worker are counted together, but rounded sums are added in one order."""
    X, y = rows()
    model = fitted(name, *lazy(X, y))
    # In one worker, which has the same loops.
    scores, predictions = client.submit(boosted_in_one_thread, name, X, y).result()
    np.testing.assert_array_equal(model.train_score_, scores)
    np.testing.assert_array_equal(model.predict(X), predictions)


def boosted_in_one_thread(name, X, y):
    with dask.config.set(scheduler="synchronous"):
        model = fitted(name, *lazy(X, y))
    return model.train_score_, model.predict(X)


PERSISTED = {
    "arrays": lambda X, y: (X.persist(), y.persist()),
    "one of them": lambda X, y: (X.persist(), y),
    "what is made of them": lambda X, y: ((X / 2).persist() * 2, -(-y).persist()),
    "frames": lambda X, y: (dask.dataframe.from_dask_array(X).persist(), y.to_dask_dataframe()),
    "columns": lambda X, y: columns_of(da.concatenate([X, y[:, None]], axis=1).rechunk({1: -1})),
    "futures": lambda X, y: (da.concatenate([of_future(X, i) for i in range(6)]), y.persist()),
}


def columns_of(table):
    frame = dask.dataframe.from_dask_array(table, columns=list("abcdy")).persist()
    return frame[list("abcd")], frame["y"]


def of_future(X, i):
    part = X.blocks[i]
    future = distributed.default_client().compute(part)
    return da.from_delayed(dask.delayed(future), part.shape, part.dtype)


@pytest.mark.parametrize("kind", PERSISTED)
def test_chunks_that_are_on_workers_already(client, kind):
    pytest.importorskip("dask.dataframe")
    X, y = rows()
    given = PERSISTED[kind](*lazy(X, y))
    for name in ("sketches", "gradient boosting"):
        expected = fitted(name, *lazy(X, y)).predict(X)
        found = fitted(name, *given).predict(given[0].compute())
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


class KillWorker(distributed.SchedulerPlugin):
    """Kill a worker when so many tasks have been computed."""

    name = "kill a worker"

    def __init__(self, pid, after):
        self.pid, self.left = pid, after

    def transition(self, key, start, finish, *args, **kwargs):
        if start == "processing" and finish == "memory":
            self.left -= 1
            if self.left == 0:
                os.kill(self.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "name", ["gradient boosting", "gradient boosting by folds", "LogitBoost, pairs"]
)
def test_a_worker_that_is_killed_between_rounds_changes_nothing(client, name):
    """What it kept of its chunks is computed again."""
    X, y = rows()
    expected = fitted(name, *lazy(X, y)).predict(X)
    plugin = KillWorker(min(client.run(os.getpid).values()), after=60)
    scheduler = client.cluster.scheduler
    scheduler.add_plugin(plugin)
    try:
        found = fitted(name, *lazy(X, y)).predict(X)
    finally:
        scheduler.remove_plugin(plugin.name)
    assert plugin.left <= 0
    # Additive models add rounded sums of a worker's rows as they come.
    tolerance = 0 if name.startswith("gradient") else 1e-10
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    client.wait_for_workers(2, timeout=120)


def test_steps_of_rounds_with_a_file_between_them_survive_a_lost_worker(client, tmp_path):
    """A worker is killed at a random moment of the second step."""
    X, y = rows()
    expected = GradientBoostingRegressor(n_estimators=6, subsample=0.7, random_state=0)
    expected.fit(*lazy(X, y))
    file = tmp_path / "model.joblib"
    joblib.dump(clone(expected).set_params(warm_start=True, n_estimators=2).fit(*lazy(X, y)), file)
    after = int(np.random.default_rng().integers(15, 60))
    plugin = KillWorker(min(client.run(os.getpid).values()), after)
    scheduler = client.cluster.scheduler
    scheduler.add_plugin(plugin)
    try:
        found = joblib.load(file).set_params(n_estimators=6).fit(*lazy(X, y))
    finally:
        scheduler.remove_plugin(plugin.name)
    assert plugin.left <= 0
    message = f"killed after {after} tasks"
    np.testing.assert_array_equal(found.train_score_, expected.train_score_, message)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X), message)
    client.wait_for_workers(2, timeout=120)


class WatchRounds(distributed.SchedulerPlugin):
    """What the scheduler holds whenever blocks were summed: tasks, and bytes of their results."""

    name = "watch rounds"

    def __init__(self, scheduler):
        self.scheduler, self.n_tasks, self.nbytes = scheduler, [], []

    def transition(self, key, start, finish, *args, **kwargs):
        if str(key).startswith("('_sum_of_group") and finish == "memory":
            self.n_tasks.append(len(self.scheduler.tasks))
            tasks = self.scheduler.tasks.values()
            kept = [task for task in tasks if task.who_has and str(task.key).startswith("('_")]
            self.nbytes.append(sum(task.nbytes for task in kept))


def watched(client, model, X, y):
    scheduler = client.cluster.scheduler
    plugin = WatchRounds(scheduler)
    scheduler.add_plugin(plugin)
    try:
        return model.fit(X, y), plugin
    finally:
        scheduler.remove_plugin(plugin.name)


@pytest.mark.parametrize("cv", [False, True])
def test_the_tasks_of_gradient_boosting_do_not_grow_with_the_rounds(client, cv):
    most = []
    for n_rounds in (3, 40):
        rounds = CVRounds(2, max_estimators=n_rounds, prediction="mean") if cv else n_rounds
        model = GradientBoostingRegressor(n_estimators=rounds, max_depth=1)
        _, plugin = watched(client, model, *lazy(*rows()))
        most.append(max(plugin.n_tasks))
        assert len(plugin.n_tasks) > 4 * n_rounds
    # One more for the moves of earlier rounds, while those before them are still there.
    assert most[1] <= most[0] + 2


def bytes_written(dask_worker):
    """What a worker has written to its disk so far."""
    metrics = dask_worker.data.cumulative_metrics
    return sum(n for key, n in metrics.items() if key[0] == "disk-write" and key[-1] == "bytes")


def many_rows(n, p, chunk):
    """Targets of single precision, and columns."""
    rng = np.random.default_rng(0)
    X = rng.random((n, p), dtype=np.float32)
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    return da.from_array(X, chunks=(chunk, p)), da.from_array(y, chunks=chunk)


def test_gradient_boosting_keeps_few_bytes_a_row(client):
    n, p = 200_000, 10
    X, y = many_rows(n, p, 20_000)
    model = GradientBoostingRegressor(n_estimators=3, max_bins=32)
    _, plugin = watched(client, model, X, y)
    # Codes, and 4, 8 and 1 bytes for the target, the score and the node; histograms of a pass.
    assert p + 13 <= max(plugin.nbytes) / n <= 1.2 * (p + 12)


def test_rows_beyond_the_memory_of_the_workers_are_on_disk_and_the_model_is_the_same(client):
    """Three times their memory, as they are given."""
    X, y = many_rows(200_000, 10, 20_000)
    assert X.nbytes + y.nbytes > 3 * 2 * 1.4e6
    model = GradientBoostingRegressor(n_estimators=4, max_bins=32)
    expected = clone(model).fit(X, y)
    # By the bytes of the blocks alone, as a process has other memory, too.
    limits = {
        "distributed.worker.memory.target": 0.5,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
    }
    with (
        dask.config.set(limits),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="1.4MB",
        ) as cluster,
        distributed.Client(cluster) as own,
    ):
        found = clone(model).fit(X, y)
        written = own.run(bytes_written)
    np.testing.assert_array_equal(found.train_score_, expected.train_score_)
    assert all(written.values())


def test_a_fit_that_no_worker_has_room_for_says_what_it_needs(client, monkeypatch):
    X, y = lazy(*rows())
    model = GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(X, y)
    before = model.train_score_
    room = next(iter(client.run(room_of_worker).values()))
    assert room.on_disk > 0
    assert 0 < room.pausing < room.killing
    n_rows = int(room.killing / 80)
    large = da.zeros((n_rows, 10), chunks=(n_rows, 10))
    with pytest.raises(MemoryError, match=r"X: the largest chunk needs at least [\d.]+ GB"):
        model.fit(large, da.zeros(n_rows, chunks=n_rows))
    few = room._replace(pausing=room.own + 1e4, on_disk=0.0)
    monkeypatch.setattr(client, "run", lambda function, **options: {"one": few, "other": few})
    with pytest.raises(MemoryError, match=r"at least 0\.1 MB.*2 workers have 0\.0 MB of memory"):
        model.fit(X, y)
    assert model.train_score_ is before


def always_killed(block):
    if len(block):
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_chunks_that_kill_every_worker_end_in_an_error_and_leave_the_model(client, monkeypatch):
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 1)
    X, y = rows()
    model = L2BoostingRegressor(20).fit(X, y)
    before = model.predict(X)
    # One chunk: Dask suspects every task of a worker that dies.
    broken, target = lazy(X[:CHUNK], y[:CHUNK])
    broken = broken.map_blocks(always_killed, dtype=float, meta=X[:0])
    with pytest.raises(distributed.scheduler.KilledWorker, match=r"', 0"):
        model.fit(broken, target)
    np.testing.assert_array_equal(model.predict(X), before)
    client.wait_for_workers(2, timeout=120)


def test_joblib_tasks_on_the_workers(client):
    """Members and candidates are fitted by the workers: the same models, bit for bit."""
    X, y = rows()
    X, y = X[:500], y[:500]
    models = [
        BaggingClassifier(DecisionStumpClassifier(), n_estimators=6, random_state=0),
        GridSearchCV(RandomForestRegressor(4, random_state=0), {"max_depth": [1, 3]}, cv=3),
    ]
    for model in models:
        target = (y > 0).astype(int) if is_classifier(model) else y
        expected = clone(model).fit(X, target).predict(X)
        with joblib.parallel_config(backend="dask"):
            found = clone(model).set_params(n_jobs=2).fit(X, target).predict(X)
        np.testing.assert_array_equal(found, expected)


def test_no_process_is_left():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())
        X, y = lazy(*rows())
        with pytest.raises(ValueError, match="y contains NaN"):
            L2BoostingRegressor(20).fit(X, da.where(y > 0, y, np.nan))
    _, alive = psutil.wait_procs([psutil.Process(p) for p in workers if psutil.pid_exists(p)], 10)
    assert not alive
