"""Objects in blocks, one for each chunk of rows: functions of each block, and sums over all.

An algorithm that reads the rows through sums only is written once in terms of `Blocks`, and runs
on arrays in memory (`LocalBlocks`) and on Dask collections (`DaskBlocks`) alike. A block may be
None, for a chunk without rows; functions are not called for it.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Protocol

__all__ = ["Blocks", "DaskBlocks", "LocalBlocks"]

# How many results are added at a time: the depth of a sum over n blocks is log_8 n.
FAN_IN = 8
# Common arguments of at most so many bytes go with each task, without a task of their own.
SMALL = 2**15


class Blocks(Protocol):
    """Objects in blocks.

    The arguments of a function come after the block: those that are `Blocks` themselves, of the
    same number, block by block, all others as they are. Functions are pure: a block may be
    computed again where a worker was lost.
    """

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Any], *args: Any) -> "Blocks":
        """The results as blocks, which are computed once and kept where the blocks are."""
        ...

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """The sum of the results, by ``+`` in the order of the blocks; None without any."""
        ...

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The results, which should be small, in the order of the blocks."""
        ...


class LocalBlocks:
    """Blocks in the memory of this process.

    Parameters
    ----------
    blocks : sequence
    """

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = list(blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def map(self, function: Callable[..., Any], *args: Any) -> "LocalBlocks":
        return LocalBlocks(self.each(function, *args))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return added(self.each(function, *args))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        parts, shared = _split(args, LocalBlocks)
        rows = zip(self.blocks, *(other.blocks for other in parts), strict=True)
        return [applied(function, shared, *blocks) for blocks in rows]


class DaskBlocks:
    """Blocks as delayed objects of Dask, computed by its current scheduler.

    Parameters
    ----------
    blocks : sequence of dask.delayed.Delayed
    """

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = list(blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def map(self, function: Callable[..., Any], *args: Any) -> "DaskBlocks":
        import dask

        return DaskBlocks(dask.persist(*self._tasks(function, args)))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        from dask import delayed

        tasks = self._tasks(function, args)
        add = delayed(added, pure=False)
        while len(tasks) > 1:
            groups = range(0, len(tasks), FAN_IN)
            tasks = [add(tasks[start : start + FAN_IN]) for start in groups]
        return tasks[0].compute()

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        import dask

        return list(dask.compute(*self._tasks(function, args)))

    def _tasks(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        from dask import delayed
        from dask.sizeof import sizeof

        parts, shared = _split(args, DaskBlocks)
        common = Common(shared)
        if sizeof(shared) > SMALL:  # one object for all tasks, which is sent to a worker once
            common = delayed(common, pure=False, traverse=False)
        call = delayed(applied_with, pure=False)
        rows = zip(self.blocks, *(other.blocks for other in parts), strict=True)
        return [call(function, common, *blocks) for blocks in rows]


class Common:
    """Arguments that all tasks have in common; Dask does not look for collections in them."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args


def applied_with(function: Callable[..., Any], common: Common, *blocks: Any) -> Any:
    """`applied` with common arguments."""
    return applied(function, common.args, *blocks)


def _split(args: Sequence[Any], kind: type) -> tuple[list[Any], tuple[Any, ...]]:
    """The arguments that are blocks, which come first, and the others."""
    parts = [arg for arg in args if isinstance(arg, kind)]
    return parts, tuple(args[len(parts) :])


def applied(function: Callable[..., Any], shared: tuple[Any, ...], *blocks: Any) -> Any:
    """The function of a block; None for a chunk without rows."""
    return None if blocks[0] is None else function(*blocks, *shared)


def added(results: Sequence[Any]) -> Any:
    """The sum of those that are not None, from the first to the last."""
    found = [one for one in results if one is not None]
    return reduce(operator.add, found) if found else None
