"""Rows in blocks: functions of each block, and sums over all of them; Dask collections.

A block is what one chunk of the rows of a Dask collection has become, wherever it is: the checked
rows, their codes of bins, their scores. An algorithm that reads the rows through sums only is
written in terms of `Blocks`: `map`, `sum` and `step` apply a function to each block where it is,
and move nothing but sums. A block may be None, for a chunk without rows; functions are not called
for it. `_rows.py` has the checks of rows in blocks, `by_chunks` here their lazy predictions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from importlib import import_module
from inspect import signature
from numbers import Real
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from sklearn_ensemble_theory._categories import MOST_DENSE_VALUES, fitted_encoder
from sklearn_ensemble_theory._graphs import (
    COMMON,
    Common,
    OwnGraph,
    array_of_calls,
    computed,
    delayed_calls,
    futures_of,
    itself,
    n_threads,
    own_graphs,
    persisted,
    values_of,
)
from sklearn_ensemble_theory._running import reworded
from sklearn_ensemble_theory._typing import Estimator

# How many results are added at a time: the depth of a sum over n blocks is log_8 n.
FAN_IN = 8
# Of a larger offset no residual can be squared and summed.
LARGEST_OFFSET = 1e150
# The blocks that one task needs at once have at most this share of a worker's memory.
GROUP_SHARE = 1 / 8
# At most so many blocks are read by one task, a power of FAN_IN, and at least so many tasks are
# there for each thread.
TOGETHER, TASKS_OF_THREAD = FAN_IN**2, 4
# What to do with two tables whose chunks cannot be paired by position.
JOIN = (
    "Make one table of both, by a column that identifies rows (dask.dataframe.merge), and take X, "
    "y and the weights from it; or give both the same chunks."
)
# Dask's only value of a column whose categories it has not read.
UNKNOWN_CATEGORY = "__UNKNOWN_CATEGORIES__"


class Blocks(Protocol):
    """Objects in blocks: what an engine has to do, and all that an algorithm may ask of it.

    - The arguments of a function come after the block: first those that are blocks themselves, of
      the same number, then all others as they are, the same for every block. The engine sends a
      function, these arguments and sums; it never moves a block except to where it is read.
    - A block may be None, for a chunk without rows. No function is called for it: its result is
      None, and sums leave it out. So may a result be None, or the block of a new pair.
    - Functions are pure but for memos, are found by their module's name, and may be called again
      for the same block, at any place, where a result was lost. Their arguments never change.
    - Sums are added by ``+`` as by `TreeSum`, with `grouped` blocks in any order: these results are
      exact, or keep the parts of blocks apart.
    - Exceptions of functions reach the caller, of any of the blocks that raise one.
    - Blocks that nobody refers to are forgotten: the engine keeps no task or result of an earlier
      pass.

    ``tests/test_engines.py`` asks this of every engine, and has one of some fifty lines.
    """

    def __len__(self) -> int: ...

    def grouped(self) -> "Blocks":
        """The same blocks, of which an engine may sum those at one place together."""
        ...

    def map(self, function: Callable[..., Any], *args: Any) -> "Blocks":
        """The results as blocks, which are computed once and kept where the blocks are."""
        ...

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """The sum of the results; None without any."""
        ...

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["Blocks", Any]:
        """New blocks, kept where they are, and a sum: of results (new block, value)."""
        ...

    def repeated(self, value: Any) -> "Blocks":
        """As many blocks, all of which are this object, kept where the blocks are."""
        ...


class GivenBlocks(Blocks, Protocol):
    """Blocks (number, X, y, weight) as they are given: chunks of Dask, or batches.

    The numbers count from 0; X is an array or data frame, y and the weight of as many rows, or
    None. They may be read again at each use, and are never all in memory.
    """

    def map(self, function: Callable[..., Any], *args: Any) -> "GivenBlocks": ...

    def lazily(self, function: Callable[..., Any], *args: Any) -> "GivenBlocks":
        """The results as blocks, which are computed at each read and need not be kept."""
        ...

    def taken(self, numbers: Sequence[int]) -> "GivenBlocks":
        """The blocks with these numbers, which increase."""
        ...

    def joined(self, others: Any) -> "GivenBlocks":
        """These blocks, and after them others of the same kind."""
        ...

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The results, which should be small, in the order of the blocks."""
        ...


@dataclass
class PassCount:
    """How often blocks have been read, by all that read them."""

    n: int = 0


class SummedFields:
    """Base of dataclasses whose fields are numbers, arrays, or lists of these of one length."""

    def __add__(self, other: Self) -> Self:
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]
        return type(self)(
            *(_added_fields(getattr(self, name), getattr(other, name)) for name in names)
        )


def _added_fields(one: Any, other: Any) -> Any:
    if isinstance(one, list):
        return [a + b for a, b in zip(one, other, strict=True)]
    return one + other


class DaskBlocks:
    """Blocks as delayed objects of Dask, computed by its current scheduler.

    `paired` says that each is a pair whose first part is the block: what `step` has computed, which
    is not taken apart by a task of its own. Blocks that are not `kept` are computed at each read:
    inside the task that reads them, if they share nothing with each other.
    """

    def __init__(self, blocks: Sequence[Any], paired: bool = False, kept: bool = True) -> None:
        self.blocks, self.paired, self.kept = list(blocks), paired, kept
        self._own: list[OwnGraph] | None = None

    def __len__(self) -> int:
        return len(self.blocks)

    def grouped(self) -> Blocks:
        """The same blocks, with a task for many blocks of a worker, where they fit into its memory.

        A task costs Dask more than a millisecond: if an algorithm passes over the blocks again
        and again, as the rounds of boosting do, this saves most of the time of the scheduler. The
        blocks stay objects of their own, which Dask may write to disk or move. Sums are added in
        an order that depends on where the blocks are.
        """
        groups = groups_by_thread(self.blocks)
        return self if groups is None else GroupedBlocks(self, groups)

    def repeated(self, value: Any) -> "DaskBlocks":
        return DaskBlocks(
            persisted(delayed_calls([(itself, COMMON)], [], Common(value))) * len(self)
        )

    def taken(self, numbers: Sequence[int]) -> "DaskBlocks":
        return DaskBlocks([self.blocks[n] for n in numbers], self.paired, self.kept)

    def joined(self, others: "DaskBlocks") -> "DaskBlocks":
        return DaskBlocks([*self.blocks, *others.blocks])

    def lazily(self, function: Callable[..., Any], *args: Any) -> "DaskBlocks":
        """The results as blocks, which are computed at each read and not kept."""
        common, lists = self._common_of(args)
        calls = [
            (_applied_to_parts, function, COMMON, *(one.key for one in blocks))
            for blocks in zip(*lists, strict=True)
        ]
        return DaskBlocks(delayed_calls(calls, _flat(lists), common), kept=False)

    def map(self, function: Callable[..., Any], *args: Any) -> "DaskBlocks":
        return DaskBlocks(persisted(self._tasks(next, 1, function, args)))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return computed(_tree_sum(self._tasks(tree_sum, TOGETHER, function, args)))[0]

    def sum_of_groups(
        self, groups: list[list[int]], function: Callable[..., Any], *args: Any
    ) -> Any:
        """The sum over all blocks, with one task for each group of their numbers."""
        common, lists = self._common_of(args)
        calls = [
            (_sum_of_group, function, COMMON, *([one[i].key for i in group] for one in lists))
            for group in groups
        ]
        tasks = delayed_calls(calls, _flat(lists), common)
        # A few sums are added here: between workers, one more task would have to fetch them.
        return added(computed(tasks if len(tasks) <= FAN_IN else _tree_sum(tasks)))

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["DaskBlocks", Any]:
        pairs = self._tasks(next, 1, function, args)
        # Taken out where the pair is: a sum of pairs would move the blocks between workers.
        values = delayed_calls([(second_of, pair.key) for pair in pairs], pairs)
        if len(values) > FAN_IN:
            values = _tree_sum(values)
        kept = persisted([*pairs, *values])
        return DaskBlocks(kept[: len(pairs)], paired=True), added(values_of(kept[len(pairs) :]))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The results, which should be small, in the order of the blocks."""
        return _flat(computed(self._tasks(list, TOGETHER, function, args)))

    def _tasks(
        self,
        together: Callable[[Iterator[Any]], Any],
        most: int,
        function: Callable[..., Any],
        args: Sequence[Any],
    ) -> list[Any]:
        """A task for each block, or for up to `most` that are read one after the other.

        It returns `together` of their results.
        """
        common, lists = self._common_of(args)
        n, size, own = len(self), 1, None
        if not self.kept:
            if self._own is None:
                self._own = own_graphs(self.blocks) or []
            own = self._own or None
        keys = [[one.key for one in each] for each in lists]
        if own is not None:
            keys[0] = [one.sources for one in own]
            lists[0] = self.blocks[:1] if any(keys[0]) else []
            if len(lists) == 1:
                while size < most and n >= size * FAN_IN * TASKS_OF_THREAD * max(n_threads(), 1):
                    size *= FAN_IN
        calls = []
        for start in range(0, n, size):
            part = slice(start, start + size)
            graphs = None if own is None else Common(own[part])
            calls.append(
                (_applied_to_blocks, together, function, COMMON, graphs, *(k[part] for k in keys))
            )
        return delayed_calls(calls, _flat(lists), common, size)

    def _common_of(self, args: Sequence[Any]) -> tuple[Common, list[list[Any]]]:
        """What all calls share, and the blocks of each argument that is blocks, these first."""
        parts, shared = split_arguments(args, DaskBlocks)
        paired = tuple(each.paired for each in (self, *parts))
        return Common((paired, shared)), [each.blocks for each in (self, *parts)]


def _flat(lists: Sequence[list[Any]]) -> list[Any]:
    return [each for one in lists for each in one]


def in_tree_order(parts: Mapping[int, Any], n: int) -> Any:
    """The sum of the parts of n blocks, in the order in which a sum over blocks adds them."""
    values = [parts.get(number) for number in range(n)]
    while len(values) > 1:
        values = [added(values[start : start + FAN_IN]) for start in range(0, len(values), FAN_IN)]
    return values[0]


def _tree_sum(tasks: list[Any]) -> list[Any]:
    """The sum of results of tasks, `FAN_IN` at a time, as the only one."""
    while len(tasks) > 1:
        groups = [tasks[start : start + FAN_IN] for start in range(0, len(tasks), FAN_IN)]
        tasks = delayed_calls([(added, [one.key for one in group]) for group in groups], tasks)
    return tasks


class TreeSum:
    """A running sum in the order of a sum over blocks: `FAN_IN` at a time.

    Each level holds the sum of fewer than `FAN_IN` results of the level below it, and their number.
    """

    def __init__(self) -> None:
        self.levels: list[tuple[Any, int]] = []

    def add(self, value: Any, level: int = 0) -> None:
        if level == len(self.levels):
            self.levels.append((None, 0))
        total, n = self.levels[level]
        total, n = added([total, value]), n + 1
        if n < FAN_IN:
            self.levels[level] = total, n
        else:
            self.levels[level] = None, 0
            self.add(total, level + 1)

    def value(self) -> Any:
        """The sum of all that was added; the last call, as it empties the levels."""
        level = 0
        while level + 1 < len(self.levels):
            total, n = self.levels[level]
            if n:
                self.levels[level] = None, 0
                self.add(total, level + 1)
            level += 1
        return self.levels[-1][0] if self.levels else None


def tree_sum(results: Iterable[Any]) -> Any:
    """The sum of results in the order of a sum over blocks; holds one of them at a time."""
    total = TreeSum()
    for result in results:
        total.add(result)
    return total.value()


def _applied_to_parts(function: Callable[..., Any], common: Any, *blocks: Any) -> Any:
    """`applied` to blocks, some of which are the first part of a pair."""
    paired, shared = common.value
    found = [first_of(one) if is_pair else one for one, is_pair in zip(blocks, paired)]
    found = [one.value if isinstance(one, Common) else one for one in found]
    return applied(function, shared, *found)


def _applied_to_blocks(
    together: Callable[[Iterator[Any]], Any],
    function: Callable[..., Any],
    common: Any,
    own: Common | None,
    *lists: list[Any],
) -> Any:
    """`together` of the results for each block; `own` are graphs of the first list's blocks.

    No loop here has a name for a block while the next one is read.
    """

    def result(number: int) -> Any:
        first, *others = (each[number] for each in lists)
        if own is not None:
            first = own.value[number].read(first)
        return _applied_to_parts(function, common, first, *others)

    return together(map(result, range(len(lists[0]))))


def _sum_of_group(function: Callable[..., Any], common: Any, *lists: list[Any]) -> Any:
    return _applied_to_blocks(added, function, common, None, *lists)


def split_arguments(args: Sequence[Any], kind: type) -> tuple[list[Any], tuple[Any, ...]]:
    """The arguments that are blocks, which come first, and the others."""
    parts = [arg for arg in args if isinstance(arg, kind)]
    return parts, tuple(args[len(parts) :])


def applied(function: Callable[..., Any], shared: tuple[Any, ...], *blocks: Any) -> Any:
    """The function of a block; None for a chunk without rows."""
    return None if blocks[0] is None else function(*blocks, *shared)


def added(results: Iterable[Any]) -> Any:
    """The sum of those that are not None, from the first to the last."""
    total = None
    for one in results:
        if one is not None:
            total = one if total is None else total + one
    return total


def first_of(pair: tuple[Any, Any] | None) -> Any:
    """The first part of a pair; None for a chunk without rows."""
    return None if pair is None else pair[0]


def second_of(pair: tuple[Any, Any] | None) -> Any:
    """The second part of a pair; None for a chunk without rows."""
    return None if pair is None else pair[1]


class GroupedBlocks:
    """Blocks of which each group, a list of numbers, is summed by one task."""

    def __init__(self, blocks: DaskBlocks, groups: list[list[int]]) -> None:
        self.blocks, self.groups = blocks, groups

    def __len__(self) -> int:
        return len(self.blocks)

    def grouped(self) -> Blocks:
        return self

    def map(self, function: Callable[..., Any], *args: Any) -> "GroupedBlocks":
        return GroupedBlocks(self.blocks.map(function, *_ungrouped(args)), self.groups)

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.blocks.sum_of_groups(self.groups, function, *_ungrouped(args))

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["GroupedBlocks", Any]:
        blocks, total = self.blocks.step(function, *_ungrouped(args))
        return GroupedBlocks(blocks, self.groups), total

    def repeated(self, value: Any) -> "GroupedBlocks":
        return GroupedBlocks(self.blocks.repeated(value), self.groups)


def _ungrouped(args: Sequence[Any]) -> list[Any]:
    return [arg.blocks if isinstance(arg, GroupedBlocks) else arg for arg in args]


def groups_by_thread(blocks: Sequence[Any]) -> list[list[int]] | None:
    """The numbers of the persisted blocks of each thread of a worker; None without a cluster.

    All blocks of a group are in memory at once: each has at most a share of its worker's memory.
    """
    futures = futures_of(blocks)
    if futures is None:
        return None
    from distributed import wait

    wait(futures)
    client = futures[0].client
    places, sizes = client.who_has(futures), client.nbytes(summary=False)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    by_worker: dict[str, list[int]] = {}
    for number, future in enumerate(futures):
        places_of_block = places.get(future.key)
        if not places_of_block:  # it has failed, or was lost
            return None
        by_worker.setdefault(places_of_block[0], []).append(number)
    groups = []
    for worker, numbers in by_worker.items():
        n, most = (workers.get(worker, {}).get(name) for name in ("nthreads", "memory_limit"))
        nbytes = sum(sizes.get(futures[number].key, 0) for number in numbers)
        n = max(n or 1, 1)
        if most:
            n *= max(1, -int(-nbytes // (most * GROUP_SHARE)))
        groups += [part for part in (numbers[first::n] for first in range(n)) if part]
    return groups


# --- Dask collections: what X is, and its chunks beside those of y and of the weights ------------


def is_collection(X: Any) -> bool:
    """Whether X is an array, data frame or column of Dask. Dask is not imported for it."""
    if not hasattr(type(X), "__dask_graph__"):
        return False
    from dask import is_dask_collection

    return bool(is_dask_collection(X))


def any_collection(*data: Any) -> bool:
    return any(hasattr(type(one), "__dask_graph__") and is_collection(one) for one in data)


def check_has_rows(data: Any, name: str) -> None:
    """A TypeError for what is no array, data frame or series of Dask, such as a bag."""
    # Asked of the type: a delayed object has any attribute.
    if hasattr(type(data), "ndim") and hasattr(type(data), "to_delayed"):
        return
    raise TypeError(
        f"{name} must be a Dask array, data frame or series; got a {type(data).__name__} of Dask. "
        "Make one by dask.array.from_delayed, dask.dataframe.from_delayed or to_dataframe()."
    )


def _described(data: Any) -> str:
    shape = f" of shape {data.shape}" if hasattr(data, "numblocks") else ""
    return f"a Dask {type(data).__name__}{shape}"


def meta_of(X: Any) -> Any:
    """An array or data frame like X, which must have rows and columns, without rows."""
    check_has_rows(X, "X")
    if X.ndim != 2:
        cure = ""
        if X.ndim == 1:
            cure = "; use X[:, None]" if hasattr(X, "numblocks") else "; use X.to_frame()"
        raise ValueError(
            f"X must have two dimensions, rows and columns; got {_described(X)}{cure}."
        )
    meta = X._meta
    if hasattr(meta, "columns"):
        return meta
    return np.empty((0, X.shape[1]), dtype=X.dtype)


def row_blocks(X: Any, y: Any, sample_weight: Any = None) -> DaskBlocks:
    """Blocks (number, X, y, weight) of the chunks of rows.

    Arrays whose chunks are known and are not those of X are cut again. Columns of the table of X,
    and of tables whose divisions are known, are joined by the index; all others are paired by
    position. Chunks that do not fit are a TypeError or ValueError: of lengths that Dask does not
    know when a chunk is read. One number as the weight is that of all rows.
    """
    if isinstance(sample_weight, Real):
        return row_blocks(X, y).lazily(_with_weight, float(sample_weight))
    lengths = None
    if hasattr(X, "numblocks"):
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        lengths = X.chunks[0]
    if lengths is None:
        joined = _one_frame(X, y, sample_weight)
        if joined is not None:
            return joined
    own = _chunkings(X)
    others = {"y": y, "sample_weight": sample_weight}
    found = {name: _chunks_beside(one, name, own, lengths) for name, one in others.items()}
    for name, chunks in found.items():
        if not own.keys() & chunks.keys():
            raise ValueError(
                f"{name} has {max(chunks)} chunks of rows, but X has {max(own)}; they must be cut "
                f"at the same rows. {JOIN}"
            )
    numbers = [n for n in own if all(n in chunks for chunks in found.values())]
    if not numbers:
        raise ValueError(f"y and sample_weight must be cut at the same rows. {JOIN}")
    n = numbers[0]
    return _read_blocks(_block, *zip(own[n], *(chunks[n] for chunks in found.values())))


def _read_blocks(function: Callable[..., Any], *parts: Sequence[Any]) -> DaskBlocks:
    """Blocks of a function of their numbers and parts, which are chunks or objects in memory."""
    chunks = [part for each in parts for part in each if hasattr(part, "dask")]
    calls = [
        (function, number, *(part.key if hasattr(part, "dask") else part for part in each))
        for number, each in enumerate(parts)
    ]
    return DaskBlocks(delayed_calls(calls, chunks), kept=False)


def memory_block(X: Any, y: Any, weight: Any) -> DaskBlocks:
    """Rows in memory as one block."""
    from dask import delayed

    X = X if hasattr(X, "shape") else np.asarray(X)
    if isinstance(weight, Real):
        weight = np.full(X.shape[0], float(weight))
    return DaskBlocks([delayed(_block, pure=False)(0, X, y, weight)])


def _one_frame(X: Any, y: Any, weight: Any) -> DaskBlocks | None:
    """The blocks of one data frame with y and the weights as columns; None where X has no part.

    Columns of one table are then read together. Dask may also read single columns of several files
    as one chunk, so that y, read alone, would not have the chunks of X. Frames whose divisions are
    known are joined by their index, which is left to `row_blocks` where the chunks agree. So are
    two tables without known divisions: Dask would shuffle both by an index that need not be unique.
    """
    others = {"y": y, "weight": weight}
    others = {f"__{name}__": one for name, one in others.items() if one is not None}
    series = list(others.values())
    if not all(hasattr(one, "divisions") and getattr(one, "ndim", 0) == 1 for one in series):
        return None
    if not _of_one_table(X, *series):
        if not all(one.known_divisions for one in (X, *series)):
            return None
        if all(one.npartitions == X.npartitions for one in series):
            return None
    try:
        frame = X.assign(**others)
    except (NotImplementedError, ValueError):  # of another table
        return None
    return _read_blocks(_split_block, *((part, [*others]) for part in _delayed(frame)))


def _of_one_table(*frames: Any) -> bool:
    """Whether Dask reads data frames and series from one table, row by row in the same parts."""
    if not all(hasattr(each, "expr") for each in frames):  # of Dask 2024.8 with pandas 1
        return False
    dask_expr = type(frames[0]).__module__.rpartition(".")[0]
    aligned = import_module(f"{dask_expr}._expr").are_co_aligned
    return bool(aligned(*(each.expr for each in frames)))


def _split_block(number: int, frame: Any, names: list[str]) -> tuple[int, Any, Any, Any]:
    y, weight = (frame[name] if name in names else None for name in ("__y__", "__weight__"))
    return number, frame.drop(columns=names), y, weight


def _with_weight(block: tuple[int, Any, Any, Any], weight: float) -> tuple[int, Any, Any, Any]:
    number, X, y, _ = block
    return number, X, y, np.full(X.shape[0], weight)


def _block(number: int, X: Any, y: Any, weight: Any) -> tuple[int, Any, Any, Any]:
    if len(getattr(X, "shape", ())) != 2:
        raise TypeError(
            "X must be an array or data frame of two dimensions in each chunk; got "
            f"{type(X).__name__} (in chunk {number} of the rows)."
        )
    for name, column in (("y", y), ("sample_weight", weight)):
        if column is None:
            continue
        n = column.shape[0] if hasattr(column, "shape") else len(column)
        if n != X.shape[0]:
            raise ValueError(
                f"{name} has {n} rows and X has {X.shape[0]} (in chunk {number} of the rows). "
                f"{JOIN}"
            )
    return number, X, y, weight


def _delayed(collection: Any, **options: Any) -> list[Any]:
    found = list(np.ravel(np.asarray(collection.to_delayed(**options), dtype=object)))
    if options or all(one.key in one.dask for one in found):
        return found
    # The graph of chunks that are on workers already is empty after its optimisation.
    return _delayed(collection, optimize_graph=False)


def _as_cut(frame: Any) -> list[Any]:
    """The chunks of a data frame without further optimisation, also of releases of 2024."""
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    keys = frame.__dask_keys__()
    name = keys[0][0]
    graph = HighLevelGraph({name: dict(frame.__dask_graph__())}, {name: set()})
    return [Delayed(key, graph, layer=name) for key in keys]


def _chunkings(collection: Any) -> dict[int, list[Any]]:
    """The chunks by their number: as a table is cut, and with files that Dask reads together."""
    found = {}
    if hasattr(collection, "divisions") and hasattr(collection, "simplify"):
        chunks = _as_cut(collection.simplify())
        found[len(chunks)] = chunks
    chunks = _delayed(collection)
    found.setdefault(len(chunks), chunks)
    return found


def _chunks_beside(
    column: Any, name: str, own: dict[int, list[Any]], lengths: Any
) -> dict[int, list[Any]]:
    """The chunks of y or of the weights by their number, as `own`, those of X."""
    if column is None:
        return {n: [None] * n for n in own}
    if not is_collection(column):
        given, column = column, np.asarray(column)
        if column.ndim == 0:
            raise ValueError(f"{name} must have a value for each row of X; got {given!r:.100}.")
        if lengths is None or np.isnan(lengths).any():
            raise TypeError(
                f"{name} must be a Dask collection in the chunks of X; got "
                f"{type(given).__name__} in memory, which cannot be cut at the same rows because "
                "the lengths of the chunks of X are not known. Take both from one Dask table, or "
                "use X.to_dask_array(lengths=True), which reads X once."
            )
        if len(column) != sum(lengths):
            raise ValueError(f"X has {sum(lengths)} rows, but {name} has {len(column)}.")
        return {len(lengths): np.split(column, np.cumsum(lengths)[:-1])}
    check_has_rows(column, name)
    if column.ndim == 0:
        raise ValueError(f"{name} must have a value for each row of X; got {_described(column)}.")
    if hasattr(column, "rechunk"):
        if column.ndim == 2 and column.numblocks[1] > 1:
            column = column.rechunk({1: -1})
        known = lengths is not None and not np.isnan([*lengths, *column.chunks[0]]).any()
        if known and column.chunks[0] != lengths:
            if sum(column.chunks[0]) != sum(lengths):
                raise ValueError(
                    f"X has {sum(lengths)} rows, but {name} has {sum(column.chunks[0])}."
                )
            column = column.rechunk({0: lengths})
    return _chunkings(column)


# --- predictions for Dask collections: lazy, chunk by chunk ---------------------------------------

# Arguments that may have a value for each row.
OF_ROWS = ("offset", "by")

Method = TypeVar("Method", bound=Callable[..., Any])


def checked_offset(offset: Any, X: Any, name: str = "offset") -> np.ndarray | None:
    """One finite number for each row of X, or an error; None if there is no offset."""
    if offset is None:
        return None
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    try:
        if isinstance(offset, Real) and not isinstance(offset, bool):
            offset = np.full(n, float(offset))
        found = check_array(offset, ensure_2d=False, dtype=np.float64, input_name=name)
    except (TypeError, ValueError, OverflowError) as error:
        advice = "; of an exposure pass the logarithm, and leave out rows of exposure 0"
        advice = advice if "infinity" in str(error) else ""
        raise ValueError(
            f"{name} must have a finite number for each row: {str(error).rstrip('.')}{advice}."
        ) from error
    if found.shape != (n,):
        raise ValueError(f"{name} must have the shape ({n},), of the rows; got {found.shape}.")
    if np.max(np.abs(found), initial=0.0) > LARGEST_OFFSET:
        raise ValueError(f"{name} must have no number above {LARGEST_OFFSET:g} in absolute value.")
    return found


def by_chunks(method: Method) -> Method:
    """A method of X that returns a lazy Dask array where X is a Dask collection.

    Each chunk of rows is predicted by itself when it is computed. A large sparse X with categories
    is predicted some rows at a time. For other X the method is called as it is.
    """
    names = list(signature(method).parameters)[2:]  # without self and X
    place = min(names.index(name) if name in names else len(names) for name in OF_ROWS)

    @wraps(method)
    def predict(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > place:  # by name, as rows that are predicted apart have offsets of their own
            args, kwargs = args[:place], dict(zip(names[place:], args[place:]), **kwargs)
        offset, by = kwargs.get("offset"), kwargs.get("by")
        if hasattr(type(X), "__dask_graph__") and is_collection(X):
            refuse_values_of_rows("offset", offset is not None and not isinstance(offset, Real))
            refuse_values_of_rows("by", isinstance(by, tuple))
            return _lazily(method, self, X, args, kwargs)
        if isinstance(by, tuple):  # with a value for each row
            return method(self, X, *args, **kwargs)
        if issparse(X) and X.ndim == 2 and fitted_encoder(self) is not None:
            rows = max(MOST_DENSE_VALUES // max(X.shape[1], 1), 1)
            if X.shape[0] > rows:  # so many can be dense
                X, parts = X.tocsr(), []
                offset = checked_offset(offset, X)
                for start in range(0, X.shape[0], rows):
                    part = slice(start, start + rows)
                    own = kwargs if offset is None else {**kwargs, "offset": offset[part]}
                    parts.append(method(self, X[part], *args, **own))
                return np.concatenate(parts)
        return method(self, X, *args, **kwargs)

    # The name in tracebacks, and where scikit-learn looks for the caller of a member.
    predict.__code__ = predict.__code__.replace(co_name=method.__name__)  # type: ignore[attr-defined]
    return cast(Method, predict)


def refuse_values_of_rows(name: str, has_values: bool) -> None:
    """A ValueError where an argument has a value for each row, and X is a Dask collection."""
    if has_values:
        raise ValueError(
            f"{name} is of rows in memory, and X is a Dask collection; predict chunk by chunk, "
            f"each with its {name}."
        )


def _lazily(
    method: Callable[..., Any], model: Estimator, X: Any, args: tuple, kwargs: dict[str, Any]
) -> Any:
    """The result for all chunks; a list of them where the method returns one of several outputs."""
    # Of the results: their dtypes, and their columns.
    example = method(model, _example(model, X), *args, **kwargs)
    several = isinstance(example, list)
    found = [
        _lazily_called(_Prediction(method, args, kwargs, np.asarray(one)[:0], place), model, X)
        for place, one in enumerate(example if several else [example])
    ]
    return found if several else found[0]


def _lazily_called(call: "_Prediction", model: Estimator, X: Any) -> Any:
    # Not by `map_partitions` and `map_blocks`: Dask loses frames of delayed objects there, and its
    # release 2024.8 delayed arguments and chunks that are sparse arrays.
    lengths = None
    if hasattr(X, "numblocks"):
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        lengths = X.chunks[0]
    parts = _delayed(X)
    calls = [(call, part.key, COMMON, number) for number, part in enumerate(parts)]
    return array_of_calls(calls, parts, Common(model), call.like, lengths)


def _example(model: Estimator, X: Any) -> Any:
    """A row of the dtypes of X; categories are missing where Dask makes up values for them."""
    meta = meta_of(X)
    encoder = fitted_encoder(model)
    record = vars(model).get("model_")
    if encoder is None and record is not None:  # an additive model
        encoder = record.terms.columns
    is_coded = np.zeros(meta.shape[1], dtype=bool) if encoder is None else encoder.flags
    if not hasattr(meta, "columns"):
        row = np.ones((1, meta.shape[1]), meta.dtype)
        if row.dtype == object:
            row[:, is_coded] = None
        return row
    row = X._meta_nonempty.iloc[:1].copy()
    for name, dtype, coded in zip(row.columns, row.dtypes, is_coded):
        if (coded and dtype == "object") or UNKNOWN_CATEGORY in getattr(dtype, "categories", ()):
            row[name] = row[name].mask([True])
    return row


class _Prediction:
    """The method for one chunk, of no rows perhaps."""

    def __init__(
        self,
        method: Callable[..., Any],
        args: tuple,
        kwargs: dict[str, Any],
        like: np.ndarray,
        place: int,
    ) -> None:
        self.__name__ = method.__name__  # which Dask shows
        self.args, self.kwargs, self.like, self.place = args, kwargs, like, place

    def __call__(self, X: Any, model: Common, number: int) -> np.ndarray:
        """The result of the model in `model.value` for the chunk with this number."""
        if X.shape[0] == 0:
            return self.like
        try:
            found = getattr(model.value, self.__name__)(X, *self.args, **self.kwargs)
        except (TypeError, ValueError) as error:
            raise reworded(error, f"{error} (in chunk {number} of the rows)") from error
        return np.asarray(found[self.place] if isinstance(found, list) else found)
