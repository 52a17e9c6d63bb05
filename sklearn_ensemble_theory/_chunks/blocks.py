"""Objects in blocks, one for each chunk of rows: functions of each block, and sums over all.

An algorithm that reads the rows through sums only is written once in terms of `Blocks`, and runs
on arrays in memory (`LocalBlocks`) and on Dask collections (`DaskBlocks`) alike. A block may be
None, for a chunk without rows; functions are not called for it.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Protocol

__all__ = ["Blocks", "DaskBlocks", "LocalBlocks"]

# How many results are added at a time: the depth of a sum over n blocks is log_8 n.
FAN_IN = 8


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

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["Blocks", Any]:
        """The function returns pairs: the first parts as `map` keeps them, the sum of the others.

        One pass over the blocks, for a loop whose next blocks depend on the sum of the last ones.
        """
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

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["LocalBlocks", Any]:
        pairs = self.each(function, *args)
        return LocalBlocks([first_of(pair) for pair in pairs]), added(map(second_of, pairs))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        parts, shared = _split(args, LocalBlocks)
        rows = zip(self.blocks, *(other.blocks for other in parts), strict=True)
        return [applied(function, shared, *blocks) for blocks in rows]


class DaskBlocks:
    """Blocks as delayed objects of Dask, computed by its current scheduler.

    Parameters
    ----------
    blocks : sequence of dask.delayed.Delayed
    paired : bool, default=False
        Whether each is a pair whose first part is the block: what `step` has computed, which is
        not taken apart by a task of its own.
    """

    def __init__(self, blocks: Sequence[Any], paired: bool = False) -> None:
        self.blocks, self.paired = list(blocks), paired

    def __len__(self) -> int:
        return len(self.blocks)

    def map(self, function: Callable[..., Any], *args: Any) -> "DaskBlocks":
        import dask

        return DaskBlocks(dask.persist(*self._tasks(function, args)))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return _tree_sum(self._tasks(function, args)).compute()

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["DaskBlocks", Any]:
        import dask
        from dask import delayed

        pairs = self._tasks(function, args)
        # Taken out of its pair where it is: the first part must not be sent with it.
        take = delayed(second_of, pure=False)
        *pairs, total = dask.persist(*pairs, _tree_sum([take(pair) for pair in pairs]))
        return DaskBlocks(pairs, paired=True), total.compute()

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        import dask

        return list(dask.compute(*self._tasks(function, args)))

    def _tasks(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        from dask import delayed

        parts, shared = _split(args, DaskBlocks)
        # One object for all tasks: it is sent to a worker once.
        paired = tuple(each.paired for each in (self, *parts))
        common = delayed((paired, shared), pure=False, traverse=False)
        call = delayed(_applied_to_parts, pure=False)
        rows = zip(self.blocks, *(other.blocks for other in parts), strict=True)
        return [call(function, common, *blocks) for blocks in rows]


def _tree_sum(tasks: list[Any]) -> Any:
    """The sum of results of tasks, `FAN_IN` at a time."""
    from dask import delayed

    add = delayed(added, pure=False)
    while len(tasks) > 1:
        groups = range(0, len(tasks), FAN_IN)
        tasks = [add(tasks[start : start + FAN_IN]) for start in groups]
    return tasks[0]


def _applied_to_parts(function: Callable[..., Any], common: Any, *blocks: Any) -> Any:
    """`applied` to blocks, some of which are the first part of a pair."""
    paired, shared = common
    found = [first_of(one) if is_pair else one for one, is_pair in zip(blocks, paired)]
    return applied(function, shared, *found)


def _split(args: Sequence[Any], kind: type) -> tuple[list[Any], tuple[Any, ...]]:
    """The arguments that are blocks, which come first, and the others."""
    parts = [arg for arg in args if isinstance(arg, kind)]
    return parts, tuple(args[len(parts) :])


def applied(function: Callable[..., Any], shared: tuple[Any, ...], *blocks: Any) -> Any:
    """The function of a block; None for a chunk without rows."""
    return None if blocks[0] is None else function(*blocks, *shared)


def added(results: Iterable[Any]) -> Any:
    """The sum of those that are not None, from the first to the last."""
    found = [one for one in results if one is not None]
    return reduce(operator.add, found) if found else None


def first_of(pair: tuple[Any, Any] | None) -> Any:
    """The first part of a pair; None for a chunk without rows."""
    return None if pair is None else pair[0]


def second_of(pair: tuple[Any, Any] | None) -> Any:
    """The second part of a pair; None for a chunk without rows."""
    return None if pair is None else pair[1]
