"""Blocks in memory: the functions of blocks, and sums in their order."""

import pytest

from .local_blocks import LocalBlocks
from .surroundings import DaskBlocks, GroupedBlocks, in_tree_order


def test_functions_get_blocks_first_and_other_arguments_after_them():
    blocks = LocalBlocks([1, 2, 3])
    doubled = blocks.map(lambda x, factor: factor * x, 2)
    assert doubled.each(lambda x: x) == [2, 4, 6]
    assert blocks.each(lambda x, y, z: (x, y, z), doubled, 7) == [(1, 2, 7), (2, 4, 7), (3, 6, 7)]


def test_sums_leave_out_chunks_without_rows_and_keep_the_order():
    blocks = LocalBlocks([None, "a", None, "b", "c"])
    assert blocks.sum(str.upper) == "ABC"
    assert LocalBlocks([None]).sum(str.upper) is None
    assert blocks.map(str.upper).blocks == [None, "A", None, "B", "C"]


def in_two(text, other, n):
    """A new block, and a value."""
    return other[:n], text.lower()


@pytest.mark.parametrize("n_blocks", [1, 3, 20])
def test_a_step_keeps_new_blocks_and_adds_values(n_blocks):
    texts = [None, *(chr(65 + i) * 3 for i in range(n_blocks - 1))]
    blocks = LocalBlocks(texts)
    expected, total = blocks.step(in_two, blocks, 2)
    assert total == ("".join(texts[1:]).lower() or None)
    assert expected.blocks == [text and text[:2] for text in texts]

    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        lazy = DaskBlocks([dask.delayed(text) for text in texts])
        found, lazy_total = lazy.step(in_two, lazy, 2)
        assert lazy_total == total
        assert found.each(str) == expected.each(str)
        again, lazy_total = found.step(in_two, lazy, 1)
        assert lazy_total == expected.step(in_two, blocks, 1)[1]
        assert again.map(str.lower).sum(str) == expected.step(in_two, blocks, 1)[0].sum(str.lower)


def test_blocks_by_number():
    assert LocalBlocks("abc").taken([2, 0]).blocks == ["c", "a"]


@pytest.mark.parametrize("n", [1, 8, 9, 70])
def test_parts_are_added_in_the_order_of_a_sum_over_blocks(n):
    dask = pytest.importorskip("dask")
    values = [None if i % 5 == 4 else 0.1 * (i + 1) ** 3 for i in range(n)]
    with dask.config.set(scheduler="synchronous"):
        expected = DaskBlocks([dask.delayed(value) for value in values]).sum(float)
    parts = {i: value for i, value in enumerate(values) if value is not None}
    assert in_tree_order(parts, n) == expected


def test_grouped_blocks_are_the_blocks():
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        blocks = DaskBlocks([dask.delayed(text) for text in ["A", None, "B", "C"]])
        groups = GroupedBlocks(blocks, [[0, 2], [1, 3]])
        new, total = groups.map(str.lower).step(in_two, groups, 1)
        assert total == "abc"
        assert new.blocks.each(str) == ["A", None, "B", "C"]
        assert new.sum(str) == "ABC"
        # Without a cluster there are no workers by which blocks could be grouped.
        assert blocks.grouped() is blocks


def joined(text, others):
    return text + "".join(others)


def test_repeated_blocks_are_one_object():
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        blocks = DaskBlocks([dask.delayed(text) for text in "ab"])
        same = blocks.repeated(["x", "y"])
        assert blocks.sum(joined, same) == "axybxy"
        assert GroupedBlocks(blocks, [[1], [0]]).sum(joined, GroupedBlocks(same, [])) == "bxyaxy"
    assert LocalBlocks("ab").sum(joined, LocalBlocks("ab").repeated("xy")) == "axybxy"
