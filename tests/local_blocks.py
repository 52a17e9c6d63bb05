"""Blocks in the memory of the test: what `DaskBlocks` computes, without Dask."""

import numpy as np

from .surroundings import (
    ChunkedRows,
    RowChecks,
    applied,
    first_of,
    folds_by_hash,
    second_of,
    split_arguments,
    tree_sum,
)


class LocalBlocks:
    def __init__(self, blocks):
        self.blocks = list(blocks)

    def __len__(self):
        return len(self.blocks)

    def grouped(self):
        return self

    def repeated(self, value):
        return LocalBlocks([value] * len(self))

    def taken(self, numbers):
        return LocalBlocks([self.blocks[number] for number in numbers])

    def joined(self, others):
        return LocalBlocks([*self.blocks, *others.blocks])

    def map(self, function, *args):
        return LocalBlocks(self.each(function, *args))

    lazily = map

    def sum(self, function, *args):
        return tree_sum(self.each(function, *args))

    def step(self, function, *args):
        found = self.each(function, *args)
        return LocalBlocks([first_of(pair) for pair in found]), tree_sum(map(second_of, found))

    def each(self, function, *args):
        parts, shared = split_arguments(args, LocalBlocks)
        rows = zip(self.blocks, *(other.blocks for other in parts), strict=True)
        return [applied(function, shared, *blocks) for blocks in rows]


def rows_in_blocks(X, y, weight=None, *, cuts, is_classifier=False, **checks):
    """The rows that `_fit_chunks` gets of a Dask collection cut before the rows `cuts`."""
    weights = [None] * (len(cuts) + 1) if weight is None else np.split(weight, cuts)
    given = zip(range(len(cuts) + 1), np.split(X, cuts), np.split(y, cuts), weights)
    checks = RowChecks(X.shape[1], is_classifier, **checks)
    return ChunkedRows(LocalBlocks(given), checks, X[:0], weight is not None)


def hashed_folds(n_rows, n_splits):
    """The fold of each row in fits of blocks, for the same fit in memory."""
    return folds_by_hash(np.arange(n_rows), n_splits)
