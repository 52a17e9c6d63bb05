"""Fits of batches: the model of all rows, one batch in memory at a time, and what is refused."""

import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

from sklearn_ensemble_theory import (
    BallConstrainedClassifier,
    HistogramClassifier,
    HistogramRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MatchingPursuitRegressor,
    SketchedLinearRegression,
)

from .estimators import POLARS_IS_READ, estimator_classes, make
from .local_blocks import LocalBlocks
from .surroundings import BatchBlocks, TreeSum, in_tree_order

ROWS = 10  # of a batch


def rows(p=3, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    return X, np.sin(6 * X[:, 0]) + X[:, -1] + 0.1 * rng.standard_normal(n)


def cut(*arrays, size=ROWS):
    """Batches of rows of the arrays, as tuples."""
    starts = range(0, len(arrays[0]), size)
    return [tuple(one[start : start + size] for one in arrays) for start in starts]


def read_twice(batches):
    return lambda: iter(batches)


BATCHED = [cls for cls in estimator_classes() if hasattr(cls, "fit_batches")]


# --- sums -----------------------------------------------------------------------------------------


class Term:
    """A term whose sums remember how they were added."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Term((self.value, other.value))


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 17, 63, 64, 65, 200, 511, 513, 585])
def test_sums_are_added_in_the_order_of_a_sum_over_chunks(n):
    parts = {number: Term(number) for number in range(n) if number % 11 != 5}
    total = TreeSum()
    for number in range(n):
        total.add(parts.get(number))
    assert total.value().value == in_tree_order(parts, n).value


def test_sums_of_nothing():
    total = TreeSum()
    assert total.value() is None
    total.add(None)
    assert total.value() is None


def times(block, factor, shift=0):
    return block * factor + shift


def halves(block, factor):
    return block * factor, block / 2


def test_blocks_are_read_again_and_results_kept():
    """Against the blocks in memory of other tests."""
    n_reads, values = [], [1.5, None, -4.0, 8.0]

    class Given:
        def __iter__(self):
            n_reads.append(1)
            return iter(values)

    given, expected = BatchBlocks(Given()), LocalBlocks(values)
    assert len(given) == len(expected)
    assert given.sum(times, 3) == expected.sum(times, 3)
    kept, total = given.step(halves, 2)
    other, same = expected.step(halves, 2)
    assert (list(kept.blocks), total) == (other.blocks, same)
    assert len(n_reads) == 3
    assert kept.each(times, 2) == other.each(times, 2)
    assert kept.grouped().sum(times, kept.repeated(2.0)) == other.sum(times, 2.0)
    assert len(n_reads) == 3
    lazy = given.lazily(times, kept, 1)
    assert len(n_reads) == 3
    assert list(lazy.blocks) == [one if one is None else one * (2 * one) + 1 for one in values]
    assert list(lazy.taken([0, 3]).blocks) == [5.5, 129.0]
    assert len(n_reads) == 5


# --- models ---------------------------------------------------------------------------------------


def test_exact_models_in_memory():
    """Models that do not depend on samples, folds or random numbers of a chunk."""
    X, y = rows(n=300)
    weight = np.arange(300) % 4.0
    edges = [np.linspace(0.1, 0.9, 9)] * 3
    for model in (
        L2BoostingRegressor(200, smoothing_rounds=0, interactions=0, max_bins=edges),
        MatchingPursuitRegressor(3),
        HistogramRegressor(4),
    ):
        expected = clone(model).fit(X, y, weight)
        model.fit_batches(cut(X, y, weight, size=37))
        np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)
    labels = np.where(y > 1, "high", "low")
    for model in (
        LogitBoostClassifier(50, smoothing_rounds=0, interactions=0, max_bins=edges),
        HistogramClassifier(4),
        BallConstrainedClassifier(3.0, class_weight={"high": 2.0, "low": 1.0}),
    ):
        expected = clone(model).fit(X, labels)
        assert model.fit_batches(read_twice(cut(X, labels, size=37))) is model
        assert model.classes_.tolist() == ["high", "low"]
        name = next(n for n in ("decision_function", "predict_proba") if hasattr(model, n))
        scores = [getattr(each, name)(X) for each in (model, expected)]
        np.testing.assert_allclose(*scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cls", BATCHED, ids=lambda c: c.__name__)
def test_one_batch_and_a_failed_fit(cls):
    X, y = rows(p=1 if cls.__name__ == "SmoothingSplineRegressor" else 3)
    y = (y > 1).astype(int) if is_classifier(make(cls)) else y
    model = make(cls).fit_batches([(X, y)])
    assert model.n_features_in_ == X.shape[1]
    before = model.predict(X)
    odd = cut(X, y)
    odd[4] = (np.where(odd[4][0] > 0.5, np.inf, odd[4][0]), odd[4][1])
    with pytest.raises(ValueError, match=r"infinity.*\(in batch 4\)"):
        model.fit_batches(odd)
    np.testing.assert_array_equal(model.predict(X), before)
    model.fit_batches(cut(X, y))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    again = clone(model).fit_batches(read_twice(cut(X, y))).predict(X)
    np.testing.assert_array_equal(again, model.fit_batches(cut(X, y)).predict(X))


def test_estimators_that_need_the_rows_say_so():
    others = [cls for cls in estimator_classes() if cls not in BATCHED]
    assert BATCHED
    assert others
    for cls in others:
        with pytest.raises(AttributeError, match=f"{cls.__name__} has no fit_batches.*in memory"):
            make(cls).fit_batches([])
        assert not hasattr(make(cls), "fit_batches")


def test_how_often_a_function_is_called():
    X, y = rows()
    calls = []

    def batches():
        calls.append(1)
        return iter(cut(X, y))

    SketchedLinearRegression(sketch_size=20, random_state=0).fit_batches(batches)
    assert len(calls) == 1 + 1  # for the columns of the first batch, and for the sums
    calls.clear()
    L2BoostingRegressor(20).fit_batches(batches)
    assert len(calls) == 1 + 2


# --- frames ---------------------------------------------------------------------------------------


def table(n=60):
    X, y = rows(n=n)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    kinds = np.where(np.arange(n) % 3 == 0, "odd", "usual")
    frame["kind"] = pd.Categorical(kinds, categories=["usual", "odd"])
    frame["target"], frame["size"] = y + (kinds == "odd"), np.arange(n) % 3 + 1.0
    return frame


PLAIN = {"smoothing_rounds": 0, "interactions": 0}


def model_of_table(frame):
    given = cut(frame.drop(columns=["target", "size"]), frame["target"], frame["size"])
    return L2BoostingRegressor(30, **PLAIN).fit_batches(given)


def frames_of(kind, frame):
    if kind == "pandas":
        return [one for (one,) in cut(frame)]
    if kind == "polars":
        pl = pytest.importorskip("polars")
        if not POLARS_IS_READ:
            pytest.skip("this scikit-learn does not read polars")
        # The categories of polars have one order for all batches.
        columns = {name: frame[name].tolist() for name in frame}
        whole = pl.DataFrame(columns).with_columns(pl.col("kind").cast(pl.Categorical))
        return [whole[start : start + ROWS] for start in range(0, len(frame), ROWS)]
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    batches = pa.Table.from_pandas(frame, preserve_index=False).to_batches(max_chunksize=ROWS)
    return batches if kind == "batches" else [pa.Table.from_batches([one]) for one in batches]


@pytest.mark.parametrize("kind", ["pandas", "polars", "batches", "tables"])
def test_frames_whose_columns_are_named(kind):
    frame = table()
    expected = model_of_table(frame)
    model = L2BoostingRegressor(30, **PLAIN)
    model.fit_batches(frames_of(kind, frame), target="target", sample_weight="size")
    X = frame[["a", "b", "c", "kind"]]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "kind"]
    assert model.categories_[3].tolist() == expected.categories_[3].tolist() == ["odd", "usual"]
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_record_batches_of_a_file(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    frame = table()
    frame.to_parquet(tmp_path / "rows.parquet")
    file = pq.ParquetFile(tmp_path / "rows.parquet")
    model = L2BoostingRegressor(30, **PLAIN)
    model.fit_batches(
        lambda: file.iter_batches(batch_size=ROWS), target="target", sample_weight="size"
    )
    X, expected = frame[["a", "b", "c", "kind"]], model_of_table(frame)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    scanned = ds.dataset(tmp_path / "rows.parquet").to_batches
    model.fit_batches(scanned, target="target", sample_weight="size")
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)


def test_a_file_of_text_is_closed_after_its_first_batch(tmp_path):
    frame = table().drop(columns=["kind", "size"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    readers = []

    def read():
        readers.append(pd.read_csv(tmp_path / "rows.csv", chunksize=ROWS))
        return readers[-1]

    model = L2BoostingRegressor(30, **PLAIN).fit_batches(read, target="target")
    X = frame[["a", "b", "c"]]
    expected = L2BoostingRegressor(30, **PLAIN).fit_batches(cut(X, frame["target"]))
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)
    assert [reader.handles.handle.closed for reader in readers] == [True] * 3


def test_a_lazy_frame_of_polars():
    pl = pytest.importorskip("polars")
    if not (POLARS_IS_READ and hasattr(pl.LazyFrame, "collect_batches")):
        pytest.skip("this polars has no batches of lazy frames, or scikit-learn does not read it")
    frame = table().drop(columns=["kind", "size"])
    lazy = pl.from_pandas(frame).lazy()
    model = L2BoostingRegressor(30, **PLAIN)
    model.fit_batches(
        lambda: lazy.collect_batches(chunk_size=20, maintain_order=True), target="target"
    )
    expected = L2BoostingRegressor(30, **PLAIN).fit_batches([frame], target="target")
    X = frame[["a", "b", "c"]]
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)
    with pytest.raises(TypeError, match=r"one LazyFrame.*collect_batches"):
        model.fit_batches(lazy, target="target")


def test_constraints_by_name_and_categories_by_name():
    frame = table()
    frame["kind"] = frame["kind"].astype(str)
    model = L2BoostingRegressor(
        30, monotonic_cst={"a": -1}, categorical_features=["kind"], **PLAIN
    ).fit_batches(frames_of("pandas", frame), target="target", sample_weight="size")
    assert model.categories_[3].tolist() == ["odd", "usual"]
    assert model.get_params()["monotonic_cst"] == {"a": -1}
    grid = frame[["a", "b", "c", "kind"]].iloc[[0] * 20].assign(a=np.linspace(0, 1, 20))
    assert (np.diff(model.predict(grid)) <= 0).all()


# --- what is refused ------------------------------------------------------------------------------


def generator():
    yield from cut(*rows())


@pytest.mark.parametrize(
    ("batches", "error", "message"),
    [
        (generator(), TypeError, "a generator, which ends after one pass.*function"),
        (iter([]), TypeError, "a list_iterator, which ends after one pass"),
        (7, TypeError, "must be an iterable of batches.*got int"),
        (lambda: 7, TypeError, "a function that returns int"),
        ("rows.csv", TypeError, r"got the name 'rows.csv': give a function that reads the files"),
        (Path("rows.csv"), TypeError, r"got the name 'rows.csv': give a function"),
        (["rows.csv"], TypeError, r"got the name 'rows.csv': .*to_batches.*\(in batch 0\)"),
        (
            SimpleNamespace(to_batches=list),
            TypeError,
            "SimpleNamespace: give its method to_batches",
        ),
        (rows()[0], TypeError, r"got one ndarray. Use for example batches=\[\(X, y\)\]"),
        ([], ValueError, "has no batches"),
        (lambda: iter([]), ValueError, "has no batches"),
        ([rows()[0]], TypeError, r"pair \(X, y\).*got ndarray.*target=.*in batch 0"),
        ([table()], TypeError, "got DataFrame.*target="),
        ([(*rows(), None, None)], TypeError, r"pair \(X, y\)"),
        ([(rows()[0], None)], ValueError, r"y is None.*in batch 0"),
        ([(rows()[1], rows()[1])], ValueError, r"two dimensions.*\(60,\) \(in batch 0"),
        ([rows(), (sp.csr_array(rows()[0]), rows()[1])], TypeError, "toarray.*in batch 1"),
        ([rows(), rows(p=4)], ValueError, "4 columns, and 3 in batch 0.*in batch 1"),
        ([rows(), (rows()[0], rows()[1][:5])], ValueError, r"inconsistent.*in batch 1"),
        ([rows(), (*rows(), rows()[1])], ValueError, "weights, and no weights in batch 0"),
        ([(*rows(), rows()[1] ** 2), rows()], ValueError, "no weights, and weights in batch 0"),
        ([rows(), (rows()[0].astype("M8[s]"), rows()[1])], TypeError, "dates.*in batch 1"),
        ([(np.array([["red", "1"]]), [1.0])], ValueError, "Feature 0: could not.*in batch 0"),
        ([(rows()[0], np.full(60, np.nan))], ValueError, "y contains NaN.*in batch 0"),
    ],
)
def test_batches_that_are_refused(batches, error, message):
    model = L2BoostingRegressor(20)
    with pytest.raises(error, match=message):
        model.fit_batches(batches)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.rename(columns={"b": "B"}), "no column 'b' and a column 'B' more.*'a', 'b'"),
        (lambda f: f[["b", "a", *f.columns[2:]]], "its columns in another order.*select"),
        (lambda f: f.drop(columns="target"), "target='target' must be the name of one column"),
        (lambda f: f.astype({"kind": str}), "column 'kind' is not categorical, and is so in"),
        (lambda f: f.assign(a="red"), "'a'.*could not convert"),
        (lambda f: f.to_numpy(), "must be a data frame where target='target'.*ndarray"),
    ],
)
def test_frames_that_are_refused(change, message):
    batches = frames_of("pandas", table())
    batches[3] = change(batches[3])
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}.*in batch 3"):
        L2BoostingRegressor(20).fit_batches(batches, target="target")


def test_names_of_files_are_no_tables():
    with pytest.raises(TypeError, match=r"got the name 'a.csv': give a function.*in batch 0"):
        L2BoostingRegressor(20).fit_batches(["a.csv", "b.csv"], target="y")


def test_names_in_some_batches_only():
    frame, y = table()[["a", "b", "c"]], table()["target"]
    named, plain = (frame, y), (frame.to_numpy(), y)
    for batches, message in (([named, plain], "no names, and names"), ([plain, named], "none in")):
        with pytest.raises(ValueError, match=f"{message}.*in batch 1"):
            L2BoostingRegressor(20).fit_batches(batches)


def test_names_of_columns_are_text():
    with pytest.raises(TypeError, match=r"sample_weight must be the name.*got ndarray"):
        L2BoostingRegressor().fit_batches([table()], target="target", sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="which need target"):
        L2BoostingRegressor().fit_batches([table()], sample_weight="size")


def test_passes_that_differ_are_refused():
    X, y = rows()
    batches, rng = cut(X, y), np.random.default_rng(0)
    model = L2BoostingRegressor(20)

    def shuffled():
        return iter([batches[k] for k in rng.permutation(len(batches))])

    with pytest.raises(ValueError, match=r"has other rows than in an earlier pass.*shuffled"):
        model.fit_batches(shuffled)
    once = iter(batches)
    with pytest.raises(ValueError, match=r"earlier pass.*function.*in batch 0"):
        model.fit_batches(lambda: once)
    lengths = iter([6, 6, 4])
    with pytest.raises(ValueError, match="ended after 4 batches, and had 6 before"):
        model.fit_batches(lambda: batches[: next(lengths)])
    lengths = iter([4, 4, 6])
    with pytest.raises(ValueError, match=r"earlier pass.*in batch 4"):
        model.fit_batches(lambda: batches[: next(lengths)])
    labels = np.where(y > 1, "high", "low").astype(object)
    several = iter([cut(X, labels), cut(X, labels), cut(X, labels, size=12)])
    with pytest.raises(ValueError, match=r"earlier pass.*in batch 0"):
        LogitBoostClassifier(20).fit_batches(lambda: next(several))


def test_an_error_of_reading_keeps_its_class_and_names_the_batch():
    def batches():
        yield from cut(*rows())[:2]
        raise FileNotFoundError("part.2.csv")

    with pytest.raises(FileNotFoundError, match=r"part.2.csv") as found:
        L2BoostingRegressor(20).fit_batches(batches)
    assert any("while batch 2 was read" in note for note in found.value.__notes__)


def test_parameters_that_need_the_rows():
    with pytest.raises(ValueError, match="held_out=None with batches"):
        L2BoostingRegressor(20, held_out="all" and cut(*rows())).fit_batches([rows()])
    with pytest.raises(ValueError, match="n_estimators"):
        L2BoostingRegressor(-1).fit_batches([rows()])


# --- memory ---------------------------------------------------------------------------------------


def made(n_batches, n_rows, p):
    """Batches that are made when they are asked for, and that nobody else keeps."""

    def batch(number):
        rng = np.random.default_rng(number)
        X = rng.random((n_rows, p))
        return X, X[:, 0] + X[:, 1] * (X[:, -1] > 0.5)

    return lambda: map(batch, range(n_batches))


def peak(function, *args):
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "model",
    [
        L2BoostingRegressor(50, max_bins=[[0.2, 0.4, 0.6, 0.8]] * 20, **PLAIN),
        SketchedLinearRegression(sketch_size=40, random_state=0),
        MatchingPursuitRegressor(5),
        HistogramRegressor(1),
    ],
    ids=lambda m: type(m).__name__,
)
def test_one_batch_is_in_memory_at_a_time(model):
    size = 20_000 * 20 * 8  # 3.2 MB
    few, many = (peak(clone(model).fit_batches, made(n, 20_000, 20)) for n in (3, 24))
    assert many < few + size / 4
    assert many < 4 * size  # of 24


def test_the_samples_of_quantiles_do_not_grow_with_the_batches():
    model = L2BoostingRegressor(50, **PLAIN)
    few, many = (peak(clone(model).fit_batches, made(n, 20_000, 3)) for n in (64, 128))
    assert many < 1.05 * few
    assert many < 3 * 8 * 2**20  # 8 MB a column


def test_a_query_of_duckdb():
    """As the guide says it for DuckDB 2, and for older ones."""
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow", exc_type=ImportError)
    frame = table().drop(columns=["kind", "size"])
    connection = duckdb.connect()
    connection.register("rows", frame)
    query = "SELECT a, b, c, target FROM rows ORDER BY a"

    def read():
        result = connection.sql(query)
        name = "to_arrow_reader" if hasattr(result, "to_arrow_reader") else "fetch_arrow_reader"
        return getattr(result, name)(20)

    model = L2BoostingRegressor(30, **PLAIN).fit_batches(read, target="target")
    expected = L2BoostingRegressor(30, **PLAIN).fit_batches([frame], target="target")
    X = frame[["a", "b", "c"]]
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)


@pytest.mark.filterwarnings("ignore")  # of Ray, of its own options
def test_a_dataset_of_ray():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data", exc_type=ImportError)
    frame = table().drop(columns=["kind", "size"])
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        rows = ray.data.from_pandas([frame[:30], frame[30:]])
        model = L2BoostingRegressor(30, **PLAIN)
        model.fit_batches(lambda: rows.iter_batches(batch_format="pandas"), target="target")
    finally:
        ray.shutdown()
    expected = L2BoostingRegressor(30, **PLAIN).fit_batches([frame], target="target")
    X = frame[["a", "b", "c"]]
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)
