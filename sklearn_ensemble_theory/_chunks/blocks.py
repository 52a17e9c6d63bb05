"""Objects in blocks, one for each chunk of rows: functions of each block, and sums over all.

An algorithm that reads the rows through sums only is written once in terms of `Blocks`, and runs
on arrays in memory (`LocalBlocks`) and on Dask collections (`DaskBlocks`) alike. A block may be
None, for a chunk without rows; functions are not called for it.
"""

import operator
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol
from uuid import uuid4

__all__ = [
    "Blocks",
    "DaskBlocks",
    "LocalBlocks",
    "PassCount",
    "Summands",
    "futures_of",
    "in_tree_order",
]

# How many results are added at a time: the depth of a sum over n blocks is log_8 n.
FAN_IN = 8
# In the place of what all calls share.
COMMON = object()
# Common arguments of at most so many bytes go with each task, without a task of their own.
SMALL = 2**15


class Summands(Protocol):
    """Objects in blocks.

    The arguments of a function come after the block: those that are blocks themselves, of the
    same number, block by block, all others as they are. Functions are pure: a block may be
    computed again where a worker was lost.
    """

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Any], *args: Any) -> "Summands":
        """The results as blocks, which are computed once and kept where the blocks are."""
        ...

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """The sum of the results, by ``+`` in the order of the blocks; None without any."""
        ...

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["Summands", Any]:
        """New blocks, kept where they are, and a sum: of results (new block, value)."""
        ...


class Blocks(Summands, Protocol):
    """Objects in blocks that can be taken apart."""

    def map(self, function: Callable[..., Any], *args: Any) -> "Blocks":
        """The results as blocks, which are computed once and kept where the blocks are."""
        ...

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["Blocks", Any]:
        """New blocks, kept where they are, and a sum: of results (new block, value)."""
        ...

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The results, which should be small, in the order of the blocks."""
        ...

    def taken(self, numbers: Sequence[int]) -> "Blocks":
        """The blocks of these numbers."""
        ...

    def grouped(self) -> Summands:
        """The same blocks, with one task for all blocks of a thread of a worker.

        Sums are added in an order that depends on where the blocks are.
        """
        ...


@dataclass
class PassCount:
    """How often blocks have been read, by all that read them."""

    n: int = 0


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

    def grouped(self) -> "LocalBlocks":
        return self

    def taken(self, numbers: Sequence[int]) -> "LocalBlocks":
        return LocalBlocks([self.blocks[number] for number in numbers])

    def map(self, function: Callable[..., Any], *args: Any) -> "LocalBlocks":
        return LocalBlocks(self.each(function, *args))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return added(self.each(function, *args))

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["LocalBlocks", Any]:
        found = self.each(function, *args)
        return LocalBlocks([first_of(pair) for pair in found]), added(list(map(second_of, found)))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        parts, shared = split_arguments(args, LocalBlocks)
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

    def grouped(self) -> Summands:
        from sklearn_ensemble_theory._chunks.grouped_blocks import GroupedBlocks, groups_by_thread

        groups = groups_by_thread(self.blocks)
        if groups is None:
            return self
        import dask

        calls = [(_itself, [self.blocks[number].key for number in group]) for group in groups]
        return GroupedBlocks(DaskBlocks(dask.persist(*_delayed_calls(calls, self.blocks))))

    def taken(self, numbers: Sequence[int]) -> "DaskBlocks":
        return DaskBlocks([self.blocks[number] for number in numbers], self.paired)

    def map(self, function: Callable[..., Any], *args: Any) -> "DaskBlocks":
        import dask

        return DaskBlocks(dask.persist(*self._tasks(function, args)))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return _tree_sum(self._tasks(function, args)).compute()

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["DaskBlocks", Any]:
        import dask

        pairs = self._tasks(function, args)
        # Taken out where the pair is: a sum of pairs would move the blocks between workers.
        values = _delayed_calls([(second_of, pair.key) for pair in pairs], pairs)
        if len(values) > FAN_IN:
            values = [_tree_sum(values)]
        kept = dask.persist(*pairs, *values)
        return DaskBlocks(kept[: len(pairs)], paired=True), added(_computed(kept[len(pairs) :]))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        import dask

        return list(dask.compute(*self._tasks(function, args)))

    def _tasks(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        parts, shared = split_arguments(args, DaskBlocks)
        paired = tuple(each.paired for each in (self, *parts))
        common, calls = _Common((paired, shared)), []
        for blocks in zip(self.blocks, *(other.blocks for other in parts), strict=True):
            calls.append((_applied_to_parts, function, COMMON, *(one.key for one in blocks)))
        return _delayed_calls(calls, [*self.blocks, *(b for o in parts for b in o.blocks)], common)


@dataclass(frozen=True)
class _Common:
    """What all tasks share: an object in which Dask looks for no keys."""

    value: Any


def _delayed_calls(calls: list[tuple], dependencies: list[Any], common: Any = None) -> list[Any]:
    """Delayed calls as one graph, which takes a fraction of the time of `dask.delayed` for each.

    A call is (function, arguments): keys of the dependencies, lists of them, or objects.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    name = f"{calls[0][0].__name__}-{uuid4().hex}"
    keys = [f"{name}-{i}" for i in range(len(calls))]
    graph: dict[str, tuple] = {}
    if not _is_small(common):  # one object for all tasks, which is sent to a worker once
        graph[f"{name}-common"] = (_itself, common)
        common = f"{name}-common"
    for key, call in zip(keys, calls):
        graph[key] = tuple(common if each is COMMON else each for each in call)
    layers = HighLevelGraph.from_collections(name, graph, dependencies=dependencies)
    return [Delayed(key, layers, layer=name) for key in keys]


def _is_small(common: Any) -> bool:
    try:
        return len(pickle.dumps(common)) <= SMALL
    except (AttributeError, TypeError, pickle.PicklingError):  # functions of a session
        return False


def _itself(common: Any) -> Any:
    return common


def futures_of(persisted: Sequence[Any]) -> list[Any] | None:
    """The futures of persisted objects; None without a cluster."""
    if "distributed" not in sys.modules:
        return None
    from distributed import futures_of

    by_key = {future.key: future for future in futures_of(list(persisted))}
    return [by_key[one.key] for one in persisted] if by_key else None


def _computed(persisted: Sequence[Any]) -> list[Any]:
    """The values of persisted objects, without a task for each."""
    futures = futures_of(persisted)
    if futures is not None:
        return list(futures[0].client.gather(futures))
    import dask

    return list(dask.compute(*persisted))


def in_tree_order(parts: Mapping[int, Any], n: int) -> Any:
    """The sum of the parts of n blocks, in the order in which a sum over blocks adds them."""
    values = [parts.get(number) for number in range(n)]
    while len(values) > 1:
        values = [added(values[start : start + FAN_IN]) for start in range(0, len(values), FAN_IN)]
    return values[0]


def _tree_sum(tasks: list[Any]) -> Any:
    """The sum of results of tasks, `FAN_IN` at a time."""
    while len(tasks) > 1:
        groups = [tasks[start : start + FAN_IN] for start in range(0, len(tasks), FAN_IN)]
        tasks = _delayed_calls([(added, [one.key for one in group]) for group in groups], tasks)
    return tasks[0]


def _applied_to_parts(function: Callable[..., Any], common: Any, *blocks: Any) -> Any:
    """`applied` to blocks, some of which are the first part of a pair."""
    paired, shared = common.value
    found = [first_of(one) if is_pair else one for one, is_pair in zip(blocks, paired)]
    return applied(function, shared, *found)


def split_arguments(args: Sequence[Any], kind: type) -> tuple[list[Any], tuple[Any, ...]]:
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


def first_of(pair: tuple[Any, Any] | None) -> Any:
    """The first part of a pair; None for a chunk without rows."""
    return None if pair is None else pair[0]


def second_of(pair: tuple[Any, Any] | None) -> Any:
    """The second part of a pair; None for a chunk without rows."""
    return None if pair is None else pair[1]
