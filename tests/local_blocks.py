"""Blocks in the memory of the test: what `DaskBlocks` computes, without Dask."""

from sklearn_ensemble_theory._blocks import added, applied, first_of, second_of, split_arguments


class LocalBlocks:
    def __init__(self, blocks):
        self.blocks = list(blocks)

    def __len__(self):
        return len(self.blocks)

    def grouped(self):
        return self

    def taken(self, numbers):
        return LocalBlocks([self.blocks[number] for number in numbers])

    def map(self, function, *args):
        return LocalBlocks(self.each(function, *args))

    def sum(self, function, *args):
        return added(self.each(function, *args))

    def step(self, function, *args):
        found = self.each(function, *args)
        return LocalBlocks([first_of(pair) for pair in found]), added(list(map(second_of, found)))

    def each(self, function, *args):
        parts, shared = split_arguments(args, LocalBlocks)
        rows = zip(self.blocks, *(other.blocks for other in parts), strict=True)
        return [applied(function, shared, *blocks) for blocks in rows]
