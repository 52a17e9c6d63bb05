"""Blocks of Dask: groups by worker, and chunks that are read in the task that needs them."""

import numpy as np
import pytest

from .surroundings import DaskBlocks, GroupedBlocks, _blocks, own_graphs, row_blocks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def in_two(text, other, n):
    """A new block, and a value."""
    return other[:n], text.lower()


def joined(text, others):
    return text + "".join(others)


def test_grouped_blocks_are_the_blocks():
    blocks = DaskBlocks([dask.delayed(text) for text in ["A", None, "B", "C"]])
    groups = GroupedBlocks(blocks, [[0, 2], [1, 3]])
    new, total = groups.map(str.lower).step(in_two, groups, 1)
    assert total == "abc"
    assert new.blocks.each(str) == ["A", None, "B", "C"]
    assert new.sum(str) == "ABC"
    same = groups.repeated(["x", "y"])
    assert GroupedBlocks(blocks, [[3], [0]]).sum(joined, same) == "CxyAxy"
    # Without a cluster there are no workers by which blocks could be grouped.
    assert blocks.grouped() is blocks


def sources_of(X, y=None):
    """What the graphs of the chunks have in common; None if they are not read in other tasks."""
    found = own_graphs(row_blocks(X, X[:, 0] if y is None else y).blocks)
    return None if found is None else {key for each in found for key in each.sources}


X = np.arange(60.0).reshape(20, 3)


class Table:
    """Rows elsewhere, such as a file."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __getitem__(self, rows):
        return X[rows]


def test_chunks_that_share_nothing_but_a_source_are_read_in_other_tasks():
    assert sources_of(da.from_array(X, chunks=(5, 3)) + 1) == set()
    rows = da.from_array(Table(), chunks=(5, 3))
    assert len(sources_of(rows)) == 1
    blocks = row_blocks(rows, rows[:, 0])
    assert blocks.sum(lambda block: block[1].sum() + block[2].sum()) == X.sum() + X[:, 0].sum()
    assert blocks.each(lambda block: block[0]) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["one chunk was cut", "sums of other chunks"])
def test_what_several_chunks_need_is_computed_once(kind):
    rows = da.from_array(X, chunks=(5, 3))
    if kind == "one chunk was cut":
        rows = da.from_array(X, chunks=(20, 3)).map_blocks(np.sin).rechunk((5, 3))
    else:
        rows = rows - rows.mean(axis=0)
    assert sources_of(rows, da.ones(20, chunks=5)) is None
    expected = np.asarray(rows).sum(axis=0)
    found = row_blocks(rows, da.ones(20, chunks=5)).sum(lambda block: block[1].sum(axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-12)


class Counted:
    """A graph that notes how many chunks were read, and how many there were at once."""

    n_read = n_alive = most_alive = 0

    def __init__(self, own):
        self.own, self.sources = own, own.sources

    def read(self, values):
        Counted.n_read += 1
        return Chunk(self.own.read(values))


class Chunk(tuple):
    def __init__(self, parts):
        Counted.n_alive += 1
        Counted.most_alive = max(Counted.most_alive, Counted.n_alive)

    def __del__(self):
        Counted.n_alive -= 1


def test_many_chunks_are_read_by_few_tasks_which_hold_one_of_them_at_a_time(monkeypatch):
    monkeypatch.setattr(_blocks, "n_threads", lambda: 2)
    rows = da.from_array(np.ones((640, 1)), chunks=(1, 1))
    blocks = row_blocks(rows, rows[:, 0])
    blocks._own = [Counted(each) for each in own_graphs(blocks.blocks)]
    assert blocks.sum(lambda block: block[1].sum()) == 640
    assert (Counted.n_read, Counted.most_alive) == (640, 1)
    assert len(blocks._tasks(list, 64, len, ())) == 10
