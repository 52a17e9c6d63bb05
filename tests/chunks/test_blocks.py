"""Blocks in memory: the functions of blocks, and sums in their order."""

from sklearn_ensemble_theory._chunks.blocks import LocalBlocks


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


def test_blocks_by_number():
    assert LocalBlocks("abc").taken([2, 0]).blocks == ["c", "a"]
