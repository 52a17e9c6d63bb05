"""Additive models without Python: the time of their forms, and how far off these are.

    python benchmarks/deployment.py                         100,000 rows of ten features
    python benchmarks/deployment.py --rows 20000 --pairs 5

Each line has the seconds of one processor for all rows, the median of five runs, the largest
difference from the score of the model itself in units of the largest score, and the size of what is
handed over. The forms are `predict`, queries in SQLite and DuckDB, graphs in the ONNX runtime, and,
where ebm2onnx is installed, the graph that it makes of an ExplainableBoostingClassifier of
interpret with the same number of bins. A difference of the peer is one of logarithms of
probabilities, which are what its graph returns.
"""

import argparse
import sqlite3
import statistics
import time
from importlib.util import find_spec

import numpy as np

from sklearn_ensemble_theory import LogitBoostClassifier, export

N_FEATURES, N_BINS = 10, 64


def data(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    x = np.nan_to_num(X, nan=1.0).astype(float)
    score = np.sin(3 * x[:, :5]).sum(axis=1) + np.abs(x[:, 5]) + x[:, 6] * x[:, 7]
    return X, (score + rng.logistic(size=n) > 0.5).astype(int)


def report(name, size, run, expected):
    """Print a line; `run` returns the scores of all rows."""
    found, seconds = np.asarray(run(), dtype=float).ravel(), []
    for _ in range(5):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    far = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{name:34s} {statistics.median(seconds):8.3f} s   off {far:.0e}   {size / 1e3:7.0f} kB")


def onnx_session(made):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    content = made.SerializeToString()
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(content, options, providers=providers), len(content)


def queries(model, X, expected):
    """In the databases that are there; a row is read, and its score is returned."""
    names = ", ".join(f"x{j} REAL" for j in range(N_FEATURES))
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE items (id INTEGER PRIMARY KEY, {names})")
    places = ", ".join("?" * (N_FEATURES + 1))
    rows = [(i, *row) for i, row in enumerate(X.astype(float).tolist())]
    database.executemany(f"INSERT INTO items VALUES ({places})", rows)
    sql = export.sql(model, "items", dialect="sqlite", keep="id")
    ordered = f"SELECT score FROM ({sql}) ORDER BY id"
    run = lambda: [row[0] for row in database.execute(ordered)]  # noqa: E731
    report(f"SQLite {sqlite3.sqlite_version}", len(sql), run, expected)
    if find_spec("duckdb") is None:
        return
    import duckdb
    import pandas as pd

    database = duckdb.connect(config={"threads": 1})
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)])
    database.register("frame", frame.assign(id=np.arange(len(X))))
    database.execute("CREATE TABLE items AS SELECT * FROM frame")
    sql = export.sql(model, "items", dialect="duckdb", keep="id")
    ordered = f"SELECT score FROM ({sql}) ORDER BY id"
    run = lambda: database.execute(ordered).fetchnumpy()["score"]  # noqa: E731
    report(f"DuckDB {duckdb.__version__}", len(sql), run, expected)


def graphs(model, X, expected):
    for dtype in ("float32", "float64"):
        for inputs in ("matrix", "columns"):
            session, size = onnx_session(export.onnx(model, dtype=dtype, inputs=inputs))
            x = X.astype(dtype)
            given = {"X": x} if inputs == "matrix" else columns_of(x)
            run = lambda: session.run(["scores"], given)[0]  # noqa: B023, E731
            report(f"ONNX, {inputs} of {dtype}", size, run, expected)


def columns_of(X):
    return {f"x{j}": np.ascontiguousarray(X[:, j : j + 1]) for j in range(X.shape[1])}


def peers(train, X, interactions):
    import ebm2onnx
    from interpret.glassbox import ExplainableBoostingClassifier

    names = [f"x{j}" for j in range(N_FEATURES)]
    ebm = ExplainableBoostingClassifier(
        names, max_bins=N_BINS + 1, interactions=interactions, outer_bags=1, n_jobs=1
    )
    ebm.fit(*train)
    expected = ebm.decision_function(X)
    report("ExplainableBoostingClassifier", 0, lambda: ebm.decision_function(X), expected)
    made = ebm2onnx.to_onnx(ebm, dict.fromkeys(names, "float"), predict_proba=True)
    session, size = onnx_session(made)
    given = {name: column.ravel() for name, column in columns_of(X).items()}

    def run():
        probability = session.run(["probabilities"], given)[0].astype(float)
        return np.log(probability[:, 1]) - np.log(probability[:, 0])

    report("ebm2onnx, columns of float32", size, run, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=0)
    given = parser.parse_args()
    train, (X, _) = data(20_000, 0), data(given.rows, 1)
    # After smoothing rounds the values of all bins differ, as they do in the peer.
    params = {"max_bins": N_BINS, "interactions": given.pairs, "smoothing_rounds": 50}
    model = LogitBoostClassifier(300, **params).fit(*train)
    expected = model.decision_function(X)
    report("decision_function", 0, lambda: model.decision_function(X), expected)
    queries(model, X, expected)
    if find_spec("onnxruntime") and find_spec("onnx"):
        graphs(model, X, expected)
    if find_spec("ebm2onnx"):
        peers(train, X, given.pairs)


if __name__ == "__main__":
    main()
