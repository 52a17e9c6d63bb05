"""X, y and weights from several Dask tables are paired by position, part by part, or refused."""

from contextlib import contextmanager
from operator import itemgetter

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DivideAndConquerClassifier,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MatchingPursuitRegressor,
)

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow", exc_type=ImportError)  # a new one refuses an old NumPy

N, PARTS = 600, 4
FEATURES = list("abcd")


def rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((N, 4)), columns=FEATURES)
    table["y"] = np.sin(6 * table["a"]) + table["b"]
    table["label"] = np.where(table["y"] > table["y"].median(), "high", "low")
    table["weight"] = rng.integers(0, 4, N).astype(float)
    table["text"] = "many bytes that are not read"
    return table


def files(folder, table, lengths=(150, 150, 150, 150)):
    """A table of one file for each part, whose index begins again in each."""
    folder.mkdir()
    ends = np.cumsum(lengths)
    for number, (start, end) in enumerate(zip(ends - lengths, ends)):
        part = table[start:end].reset_index(drop=True)
        part.to_parquet(folder / f"{number}.parquet")
    return dd.read_parquet(folder)


@pytest.fixture
def tables(tmp_path):
    """The features in one folder, and what belongs to them in another."""
    table = rows()
    X = files(tmp_path / "X", table[FEATURES])
    others = files(tmp_path / "y", table.drop(columns=FEATURES))
    assert not X.known_divisions
    return table, X, others


@contextmanager
def scheduler(name):
    if name != "distributed":
        with dask.config.set(scheduler=name):
            yield
        return
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


@pytest.mark.parametrize("name", ["synchronous", "threads", "distributed"])
def test_two_folders_are_paired_by_position(tables, tmp_path, name):
    table, X, others = tables
    one = files(tmp_path / "one", table)
    model = L2BoostingRegressor(200)
    with scheduler(name):
        expected = model.fit(one[FEATURES], one["y"], one["weight"]).predict(table[FEATURES])
        for _ in range(2):  # of pairs at random one may be right
            model.fit(X, others["y"], others["weight"])
            found = model.predict(table[FEATURES])
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert model.score(table[FEATURES], table["y"]) > 0.99


def assert_same_as_one_part(model, other, table, names, target, weight=None):
    """The model is that of the table in one part."""
    whole = dd.from_pandas(table, npartitions=1)
    weights = {} if weight is None else {"sample_weight": whole[weight]}
    other.fit(whole[names], target(whole), **weights)
    found, expected = (each.predict(table[names]) for each in (model, other))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


CASES = {
    "few columns of many": (["a"], itemgetter("y")),
    "an expression": (FEATURES, lambda others: np.exp(others["y"]) - others["weight"]),
    "a table of targets": (FEATURES, itemgetter(["y", "weight"])),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_of_each_table_does_not_matter(tables, case):
    table, X, others = tables
    names, target = CASES[case]
    cls = MatchingPursuitRegressor if case == "a table of targets" else L2BoostingRegressor
    model = cls(3).fit(X[names], target(others))
    assert_same_as_one_part(model, cls(3), table, names, target)


def test_an_array_of_a_table_has_the_chunks_that_are_read(tmp_path):
    table = rows()
    one = files(tmp_path / "one", table)
    target = one["y"].to_dask_array()
    assert target.numblocks[0] < PARTS  # Dask reads several files as one chunk
    model = L2BoostingRegressor(3).fit(one[["a"]].fillna(0), target)
    assert_same_as_one_part(model, L2BoostingRegressor(3), table, ["a"], itemgetter("y"))


def test_filters_of_both_tables(tables):
    table, X, others = tables
    above = table["y"].median()
    target = others["y"]
    model = L2BoostingRegressor(20).fit(
        X.map_partitions(lambda part, y: part[(y > above).to_numpy()], target, meta=X._meta),
        target[target > above],
    )
    kept = table[table["y"] > above]
    assert_same_as_one_part(model, L2BoostingRegressor(20), kept, FEATURES, itemgetter("y"))


def test_no_table_is_shuffled(tables):
    _, X, others = tables
    seen = []

    class Seen(dask.callbacks.Callback):
        def _pretask(self, key, dsk, state):
            seen.append(str(key))

    with Seen(), dask.config.set(scheduler="synchronous"):
        L2BoostingRegressor(5).fit(X, others["y"], others["weight"])
    assert seen
    assert not [key for key in seen if "shuffle" in key or "split" in key]


def test_columns_of_one_table_are_read_together(tmp_path):
    one = files(tmp_path / "one", rows())
    reads = []

    class Reads(dask.callbacks.Callback):
        def _pretask(self, key, dsk, state):
            if "read" in str(key) or "fused" in str(key):
                reads.append(str(key))

    with Reads(), dask.config.set(scheduler="synchronous"):
        L2BoostingRegressor(5).fit(one[["a"]], one["y"], one["weight"])
    assert len(reads) == 2 * len(set(reads))  # two passes, each with one task for what it reads
    assert len(set(reads)) <= PARTS


@pytest.mark.parametrize("cls", [L2BoostingRegressor, AdaBoostClassifier])
def test_parts_of_other_lengths_are_refused_with_the_cure(tables, tmp_path, cls):
    table, X, others = tables
    name = "y" if cls is L2BoostingRegressor else "label"
    model = cls().fit(X, others[name])
    before = {key: id(value) for key, value in vars(model).items()}
    uneven = files(tmp_path / "uneven", table, (150, 149, 151, 150))
    message = r"y has 1(49|51) rows and X has 150 \(in chunk [12] of.*merge"
    with pytest.raises(ValueError, match=message):
        model.fit(X, uneven[name])
    message = r"sample_weight has 1(49|51) rows and X has 150 \(in chunk [12] of.*merge"
    with pytest.raises(ValueError, match=message):
        model.fit(X, others[name], uneven["weight"])
    assert {key: id(value) for key, value in vars(model).items()} == before


def test_weights_of_classes_are_not_summed_over_rows_that_do_not_pair(tables, tmp_path):
    table, X, _ = tables
    uneven = files(tmp_path / "uneven", table, (150, 149, 151, 150))
    model = LogitBoostClassifier(class_weight="balanced")
    with pytest.raises(ValueError, match=r"y has 1(49|51) rows and X has 150"):
        model.fit(X, uneven["label"])


@pytest.mark.parametrize("cls", [L2BoostingRegressor, DivideAndConquerClassifier])
def test_another_number_of_parts_is_refused_with_the_cure(tables, tmp_path, cls):
    table, X, _ = tables
    three = files(tmp_path / "three", table, (200, 200, 200))
    with pytest.raises(ValueError, match=r"y has 3 chunks of rows, but X has 4.*merge"):
        cls().fit(X, three["y" if cls is L2BoostingRegressor else "label"])


def test_the_cure(tables, tmp_path):
    """Tables whose rows are in different parts, joined by a column that identifies rows."""
    table, _, _ = tables
    table["row"] = np.arange(N)
    shuffled = table.sample(frac=1, random_state=0)
    X = files(tmp_path / "left", table[[*FEATURES, "row"]])
    others = files(tmp_path / "right", shuffled[["y", "weight", "row"]], (200, 200, 200))
    both = dd.merge(X, others, on="row")
    model = MatchingPursuitRegressor(3).fit(both[FEATURES], both["y"], both["weight"])
    other = MatchingPursuitRegressor(3)  # which has no folds, that depend on the order of rows
    assert_same_as_one_part(model, other, table, FEATURES, itemgetter("y"), "weight")


def test_known_divisions_are_joined_by_the_index():
    table = rows()
    X = dd.from_pandas(table[FEATURES], npartitions=4)
    y = dd.from_pandas(table["y"], npartitions=3)
    model = L2BoostingRegressor(20).fit(X, y)
    assert_same_as_one_part(model, L2BoostingRegressor(20), table, FEATURES, itemgetter("y"))
