"""Blocks of a cluster in groups: one task for all blocks of a thread of a worker.

A task costs Dask more than a millisecond. Where algorithms pass over the same blocks again and
again, such as the rounds of boosting, it saves most of the time of the scheduler.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sklearn_ensemble_theory._chunks.blocks import (
    DaskBlocks,
    added,
    applied,
    first_of,
    futures_of,
    second_of,
    split_arguments,
)

__all__ = ["GroupedBlocks", "groups_by_thread"]


class GroupedBlocks:
    """Blocks in lists, of which each is one object for Dask.

    Parameters
    ----------
    groups : DaskBlocks
        Of lists of blocks.
    """

    def __init__(self, groups: DaskBlocks) -> None:
        self.groups = groups

    def __len__(self) -> int:
        return len(self.groups)

    def map(self, function: Callable[..., Any], *args: Any) -> "GroupedBlocks":
        return GroupedBlocks(self.groups.map(_map_group, *_arguments(function, args)))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.groups.sum(_sum_group, *_arguments(function, args))

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["GroupedBlocks", Any]:
        groups, total = self.groups.step(_step_group, *_arguments(function, args))
        return GroupedBlocks(groups), total


def groups_by_thread(blocks: Sequence[Any]) -> list[list[int]] | None:
    """The numbers of the blocks of each thread of a worker; None without a cluster.

    Parameters
    ----------
    blocks : sequence of dask.delayed.Delayed
        Persisted ones, which are waited for.
    """
    futures = futures_of(blocks)
    if futures is None:
        return None
    from distributed import wait

    wait(futures)
    client = futures[0].client
    places, n_threads = client.who_has(futures), client.nthreads()
    by_worker: dict[str, list[int]] = {}
    for number, future in enumerate(futures):
        workers = places.get(future.key)
        if not workers:  # it has failed, or was lost
            return None
        by_worker.setdefault(workers[0], []).append(number)
    groups = []
    for worker, numbers in by_worker.items():
        n = n_threads.get(worker, 1)
        groups += [part for part in (numbers[first::n] for first in range(n)) if part]
    return groups


def _arguments(function: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, ...]:
    """Groups first, as `DaskBlocks` wants them, then the function and what all calls share."""
    parts, shared = split_arguments(args, GroupedBlocks)
    return *(part.groups for part in parts), function, shared


def _map_group(*args: Any) -> list[Any]:
    *lists, function, shared = args
    return [applied(function, shared, *blocks) for blocks in zip(*lists, strict=True)]


def _sum_group(*args: Any) -> Any:
    return added(_map_group(*args))


def _step_group(*args: Any) -> tuple[list[Any], Any]:
    pairs = _map_group(*args)
    return list(map(first_of, pairs)), added(list(map(second_of, pairs)))
